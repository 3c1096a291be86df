// Everything that can be set for a product, to the value that is the default.
#include <cmath>
#include <iostream>

#include "ruy_like/ruy_like.h"

namespace rl = ruy_like;

int main() {
  const int8_t data[] = {1, 2, 3, 4};
  int8_t c[4];

  // Rows, columns and the stride in elements; of a pointer, array, span or
  // vector.
  auto lhs = rl::RowMajor(data, 2, 2, 2);
  lhs.set_zero_point(0);  // integers: the stored value that stands for 0
  lhs.set_cache_policy(rl::CachePolicy::kNeverCache);
  lhs.set_value_range(rl::ValueRange::kFull);  // kInt7: all are in [-63, 63]
  // The same one by one.
  rl::Matrix<const int8_t> rhs;
  rhs.set_data(data);
  rhs.mutable_layout()->set_rows(2);
  rhs.mutable_layout()->set_cols(2);
  rhs.mutable_layout()->set_stride(2);
  rhs.mutable_layout()->set_order(rl::Order::kColMajor);

  rl::Context context;
  context.set_max_num_threads(1);
  context.set_num_threads_strategy(rl::NumThreadsStrategy::kDefault);
  context.set_tuning(rl::Tuning::kAuto);  // kInOrder: for Arm's small cores
  context.set_float_sums(rl::FloatSums::kInOrder);  // kAnyOrder: faster
  context.set_executor(nullptr);                    // none but our own threads
  context.set_runtime_enabled_paths(rl::Path::kNone);  // all
  context.set_prepacked_cache_limit_bytes(~std::size_t{0});

  rl::PackOptions pack_options;
  pack_options.dst_order = rl::Order::kColMajor;
  pack_options.pack_for = rl::PackFor::kDefault;
  const auto packed = Pack(lhs, rl::Side::kLhs, pack_options, &context);

  rl::MulOptions options;
  options.max_num_threads = 0;  // those of the Context

  // The first four are for every dst.
  rl::MulParams<int32_t, int8_t> params;  // or uint8_t, int16_t
  params.set_bias(nullptr);  // int32_t, for each channel; a span is checked
  params.set_channel_dimension(rl::ChannelDimension::kRow);  // of dst; or kCol
  params.set_clamp_min(-128);  // inclusive; ReLU: dst's zero point
  params.set_clamp_max(127);
  // Multiplies by fixedpoint / 2^31 * 2^exponent.
  params.set_multiplier_fixedpoint(1 << 30);
  params.set_multiplier_exponent(1);
  // Or arrays: both, for each channel.
  params.set_multiplier_fixedpoint_perchannel(nullptr);
  params.set_multiplier_exponent_perchannel(nullptr);
  // kTwice: as gemmlowp does. kFloat: by scales, as ONNX Runtime does.
  params.set_multiplier_rounding(rl::MultiplierRounding::kOnce);
  params.set_rhs_scale(1);  // kFloat's alone; and the others of scales

  auto dst = rl::ColMajor(c, 2, 2);
  dst.set_zero_point(0);
  if (!Mul(*packed, rhs, params, &context, &dst, options).ok()) return 1;
  std::cout << dst;

  rl::Batch batch;
  batch.count = 1;
  batch.lhs_stride = batch.rhs_stride = batch.dst_stride = 0;
  batch.bias_stride = 0;
  batch.outer_count = 1;
  batch.lhs_outer_stride = batch.rhs_outer_stride = batch.dst_outer_stride = 0;
  batch.bias_outer_stride = 0;
  batch.factor_stride = batch.residual_stride = 0;  // of PostOps
  batch.factor_outer_stride = batch.residual_outer_stride = 0;
  if (!MulBatch(*packed, rhs, params, batch, &context, &dst).ok()) return 1;

  rl::MulParams<int32_t, int32_t> raw_params;
  raw_params.set_beta(0);  // dst = product + beta * dst

  rl::MulParams<int32_t, float> scaled_params;
  scaled_params.set_bias(nullptr);  // float
  scaled_params.set_lhs_scale(1);
  scaled_params.set_rhs_scale(1);
  // Or arrays: for each row of lhs, for each column of rhs, in any mix.
  scaled_params.set_lhs_scale_perrow(nullptr);
  scaled_params.set_rhs_scale_percol(nullptr);

  rl::MulParams<float, rl::BFloat16> float_params;  // or float, double, Float16
  float_params.set_bias(nullptr);  // float, as the accumulators
  float_params.set_clamp_min(rl::BFloat16(-INFINITY));
  float_params.set_clamp_max(rl::BFloat16(INFINITY));
  float_params.set_beta(rl::BFloat16(0));  // dst = product + beta * dst
  float_params.set_float_sums(rl::FloatSums::kOfContext);

  rl::GroupMulParams group_params;
  group_params.activation_scales = nullptr;       // int8: for each column
  group_params.activation_zero_points = nullptr;  // the same
  group_params.quantize =
      rl::ActivationScales::kPerColumn;  // floats; kPerGroup
  group_params.bias = nullptr;           // float
  group_params.channel_dimension = rl::ChannelDimension::kRow;
  group_params.clamp_min = -INFINITY;
  group_params.clamp_max = INFINITY;

  rl::PostOps post_ops;
  post_ops.activation = rl::Activation::kNone;
  post_ops.slope = 0;  // kLeakyRelu's; or one for each channel:
  post_ops.slope_perchannel = {};
  post_ops.factor = {};    // a Matrix, or PostOperand::PerChannel(values)
  post_ops.residual = {};  // the same; may be dst itself
  // Products of integers have zero points and a table besides.
  post_ops.lhs_zero_points = {};
  post_ops.rhs_zero_points = {};
  post_ops.table = {};
  float_params.set_post_ops(&post_ops);  // null: nothing
  group_params.post_ops = &post_ops;
  group_params.beta = 0;
}
