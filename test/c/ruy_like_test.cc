// The C interface against ReferenceMul, by the problems of the C++ tests, and
// what it refuses. Both libraries are in this program; only rl_ functions
// compute.
#include "ruy_like/c/ruy_like.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "ruy_like/ruy_like.h"
#include "test/c/calls.h"
#include "test/support/group_problem.h"
#include "test/support/mul_problem.h"
#include "test/support/mul_runner.h"
#include "test/support/typed_mul.h"

namespace ruy_like {
namespace {

using testing::HasSubstr;
using testing::StrEq;
rl_params ParamsOf(const Call& call) {
  const MulProblem& p = *call.problem;
  rl_params params = Struct<rl_params>();
  params.accum_type = TypeOf(p.accum);
  params.channel_dim = static_cast<int>(p.channel_dimension);
  params.bias = call.bias;
  params.has_clamp = p.clamp ? 1 : 0;
  params.clamp_min = p.clamp_min;
  params.clamp_max = p.clamp_max;
  if (!p.IsInteger()) params.float_sums = 2 - static_cast<int>(p.float_sums);
  if (p.IsQuantized() && !p.HasScales() &&
      p.multiplier != MultiplierKind::kDefault) {
    params.multiplier_fixedpoint = call.fixedpoint;
    params.multiplier_exponent = call.exponent;
    params.multiplier_per_channel = p.multiplier == MultiplierKind::kPerChannel;
  }
  if (p.IsQuantized()) {
    params.multiplier_rounding = static_cast<int>(p.rounding);
  }
  if (p.HasScales()) {
    const bool lhs = p.lhs_scale != ScaleKind::kDefault;
    const bool rhs = p.rhs_scale != ScaleKind::kDefault;
    params.lhs_scale = lhs ? call.lhs_scales : nullptr;
    params.rhs_scale = rhs ? call.rhs_scales : nullptr;
    params.lhs_scale_per_row = p.lhs_scale == ScaleKind::kPerChannel;
    params.rhs_scale_per_col = p.rhs_scale == ScaleKind::kPerChannel;
  }
  if (p.Accumulates()) params.beta = p.beta;
  return params;
}
// A packed operand as a file would give it.
struct Packed {
  std::unique_ptr<GuardedBuffer> buffer;
  PackedPtr packed;

  absl::Status Make(int side, const MulProblem& problem, rl_context* context,
                    rl_matrix* matrix) {
    const MatrixSpec& other = side == RL_LHS ? problem.rhs : problem.lhs;
    rl_pack_options options = Struct<rl_pack_options>();
    options.side = side;
    options.dst_order = static_cast<int>(problem.packed_for);
    if (other.int7 == Int7::kKept && matrix->type <= RL_UINT8) {
      options.pack_for = RL_PACK_FOR_INT7;
    } else if (matrix->type == RL_FLOAT32 &&
               (other.scalar == Scalar::kF64 || problem.accum == Scalar::kF64 ||
                problem.dst.scalar == Scalar::kF64)) {
      options.pack_for = RL_PACK_FOR_DOUBLE;
    } else if (other.scalar == Scalar::kI16) {
      options.pack_for = RL_PACK_FOR_INT16;
    }
    std::size_t bytes = 0;
    absl::Status status =
        StatusOf(rl_packed_size(matrix, &options, context, &bytes));
    if (!status.ok()) return status;
    // A promise of int7 that does not hold is found out by packing.
    const bool may_differ = matrix->value_range == RL_INT7;
    rl_packed* made = nullptr;
    status = StatusOf(rl_pack(matrix, &options, context, &made));
    if (!status.ok()) return status;
    const PackedPtr owned(made);
    const void* image = nullptr;
    std::size_t image_bytes = 0;
    EXPECT_EQ(rl_packed_to_bytes(made, &image, &image_bytes), RL_OK);
    EXPECT_TRUE(image_bytes == bytes || may_differ)
        << image_bytes << " bytes, not " << bytes;
    buffer = std::make_unique<GuardedBuffer>(image_bytes, Flush::kEnd);
    std::memcpy(buffer->data(), image, image_bytes);
    buffer->MakeReadOnly();
    rl_packed* mapped = nullptr;
    status =
        StatusOf(rl_packed_from_bytes(buffer->data(), image_bytes, matrix->type,
                                      /*verify=*/1, &mapped));
    packed.reset(mapped);
    *matrix = Struct<rl_matrix>();
    matrix->packed = mapped;
    return status;
  }
};

absl::Status MulByC(const Call& call, rl_context* context) {
  const MulProblem& p = *call.problem;
  rl_matrix lhs = MatrixOf(p.lhs, p.rows, p.depth, call.lhs);
  rl_matrix rhs = MatrixOf(p.rhs, p.depth, p.cols, call.rhs);
  const rl_matrix dst = MatrixOf(p.dst, p.rows, p.cols, call.dst);
  const rl_params params = ParamsOf(call);
  if (p.entry_point == EntryPoint::kPlan) {
    rl_plan* plan = nullptr;
    EXPECT_EQ(rl_plan_create(&plan), RL_OK);
    const PlanPtr owned(plan);
    absl::Status status = StatusOf(rl_plan_prepare(
        plan, &lhs, &rhs, &params, nullptr, p.num_threads, context, &dst));
    for (int i = 0; i < p.num_threads && status.ok(); ++i) {
      status = StatusOf(rl_plan_run(plan, i));
    }
    return status.ok() ? StatusOf(rl_plan_finish(plan)) : status;
  }
  Packed packed_lhs, packed_rhs;
  absl::Status status;
  if (p.entry_point == EntryPoint::kPackedLhs ||
      p.entry_point == EntryPoint::kPackedBoth) {
    status = packed_lhs.Make(RL_LHS, p, context, &lhs);
  }
  if (status.ok() && (p.entry_point == EntryPoint::kPackedRhs ||
                      p.entry_point == EntryPoint::kPackedBoth)) {
    status = packed_rhs.Make(RL_RHS, p, context, &rhs);
  }
  if (!status.ok()) return status;
  return StatusOf(rl_mul(&lhs, &rhs, &params, context, &dst));
}

void ExpectRight(const MulProblem& problem) {
  const ContextPtr context = NewContext(problem.num_threads);
  MulRunner runner(problem);
  ASSERT_TRUE(runner.CheckBy(
      [&](const Call& call) { return MulByC(call, context.get()); }));
}

TEST(CInterface, MultipliesAllTypes) {
  for (const Types& types : AllTypes()) {
    for (const int orders : {1, 6}) {
      MulProblem problem = MakeProblem(types, {5, 19, 7});
      SetOrders(orders, &problem);
      ASSERT_NO_FATAL_FAILURE(ExpectRight(problem));
    }
  }
}

TEST(CInterface, MultipliesRandomProblems) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    ASSERT_NO_FATAL_FAILURE(ExpectRight(RandomProblem(seed))) << seed;
  }
}

// An int8 product with a dst that must stay as it is, and its pieces to break.
struct SmallCall {
  alignas(8) std::int8_t a[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  alignas(8) std::int8_t b[32] = {1, -1, 1, -1, 2, 2};
  alignas(8) std::int8_t c[32];
  std::int32_t fixedpoint[8] = {}, exponent[8] = {};
  float scale[8] = {};
  alignas(8) double bias[8] = {};
  rl_matrix lhs, rhs, dst;
  rl_params params = Struct<rl_params>();
  rl_post_ops post_ops = {};
  ContextPtr context = NewContext();

  SmallCall() {
    std::memset(c, 0x5a, sizeof(c));
    const MatrixSpec spec = {Scalar::kI8, Order::kRowMajor};
    lhs = MatrixOf(spec, 3, 4, a);
    rhs = MatrixOf(spec, 4, 5, b);
    dst = MatrixOf(spec, 3, 5, c);
  }
  rl_status Run() { return rl_mul(&lhs, &rhs, &params, context.get(), &dst); }
  bool DstIsUntouched() const {
    for (const std::int8_t byte : c) {
      if (byte != 0x5a) return false;
    }
    return true;
  }
};

TEST(CInterface, RefusesBadCalls) {
  SmallCall good;
  ASSERT_EQ(good.Run(), RL_OK) << rl_last_error();
  EXPECT_EQ(good.c[0], 1 * 1 - 2 * 0 + 2 * 2);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const struct {
    const char* text;  // a part of it
    std::function<void(SmallCall*)> spoil;
    rl_status code = RL_INVALID_ARGUMENT;
  } lines[] = {
      {"lhs has an unknown type 0", [](auto* c) { c->lhs.type = 0; }},
      {"rhs has an unknown type 11", [](auto* c) { c->rhs.type = 11; }},
      {"dst has an unknown type -1", [](auto* c) { c->dst.type = -1; }},
      {"lhs has an unknown type 64",
       [](auto* c) { c->lhs.type = RL_GROUP_WEIGHTS; }},
      {"lhs has an unknown order 256", [](auto* c) { c->lhs.order = 256; }},
      {"dst has an unknown order -1", [](auto* c) { c->dst.order = -1; }},
      {"unknown cache_policy 256", [](auto* c) { c->rhs.cache_policy = 256; }},
      {"unknown value_range 2", [](auto* c) { c->rhs.value_range = 2; }},
      {"lhs has zero_point = 128, beyond int8",
       [](auto* c) { c->lhs.zero_point = 128; }},
      {"dst has zero_point = -129, beyond int8",
       [](auto* c) { c->dst.zero_point = -129; }},
      {"null data", [](auto* c) { c->lhs.data = nullptr; }},
      {"negative dimension", [](auto* c) { c->lhs.rows = -3; }},
      {"negative dimension", [](auto* c) { c->rhs.cols = PTRDIFF_MIN; }},
      {"stride below", [](auto* c) { c->lhs.stride = 3; }},
      {"stride below", [](auto* c) { c->lhs.stride = -4; }},
      {"byte count overflows", [](auto* c) { c->lhs.stride = PTRDIFF_MAX; },
       RL_OUT_OF_RANGE},
      {"do not match", [](auto* c) { c->rhs.rows = 3; }},
      {"shares elements", [](auto* c) { c->dst.data = c->lhs.data; }},
      {"accumulator has an unknown type 11",
       [](auto* c) { c->params.accum_type = 11; }},
      {"lhs int8, rhs int8, accumulator float, dst int8",
       [](auto* c) { c->params.accum_type = RL_FLOAT32; }},
      {"no such product",
       [](auto* c) {
         c->lhs.type = RL_FLOAT32;
         c->lhs.cols = c->rhs.rows = 1;
       }},
      {"lhs is not aligned to int16 elements",
       [](auto* c) {
         c->lhs.type = RL_INT16;
         c->lhs.data = c->a + 1;
       }},
      {"bias is not aligned",
       [](auto* c) {
         c->params.bias = reinterpret_cast<const char*>(c->bias) + 2;
       }},
      {"multiplier_exponent is not aligned",
       [](auto* c) {
         c->params.multiplier_exponent =
             reinterpret_cast<const std::int32_t*>(c->a + 1);
       }},
      {"rhs_scale is not aligned",
       [](auto* c) {
         c->dst.type = RL_FLOAT32;
         c->dst.rows = c->dst.cols = c->lhs.rows = c->rhs.cols = 1;
         c->params.rhs_scale = reinterpret_cast<const float*>(c->a + 2);
       }},
      {"activation, factor and residual are for",
       [](auto* c) {
         c->post_ops = Struct<rl_post_ops>();
         c->post_ops.activation = RL_SIGMOID;
         c->params.post_ops = &c->post_ops;
       }},
      {"post_ops has size = 0",
       [](auto* c) {
         c->dst.type = RL_FLOAT32;
         c->dst.rows = c->dst.cols = c->lhs.rows = c->rhs.cols = 1;
         c->params.post_ops = &c->post_ops;
       }},
      {"unknown float_sums 3",
       [](auto* c) {
         c->lhs.type = c->rhs.type = c->dst.type = RL_FLOAT32;
         c->params.float_sums = 3;
       }},
      {"unknown multiplier_rounding 3",
       [](auto* c) { c->params.multiplier_rounding = 3; }},
      {"sets multiplier_exponent",
       [](auto* c) {
         c->params.multiplier_rounding = RL_ROUND_FLOAT;
         c->params.multiplier_exponent = c->exponent;
       }},
      {"sets multiplier_rounding",
       [](auto* c) {
         c->lhs.type = c->rhs.type = c->dst.type = RL_FLOAT32;
         c->params.multiplier_rounding = RL_ROUND_FLOAT;
       }},
      {"unknown channel_dim 2", [](auto* c) { c->params.channel_dim = 2; }},
      {"unknown has_clamp -1", [](auto* c) { c->params.has_clamp = -1; }},
      {"max_num_threads is negative",
       [](auto* c) { c->params.max_num_threads = -1; }},
      {"clamp_min = 1.5 is not whole",
       [](auto* c) {
         c->params.has_clamp = 1;
         c->params.clamp_min = 1.5;
         c->params.clamp_max = 100;
       }},
      {"above clamp_max",
       [](auto* c) {
         c->params.has_clamp = 1;
         c->params.clamp_min = 1;
       }},
      {"NaN",
       [=](auto* c) {
         c->params.has_clamp = 1;
         c->params.clamp_min = nan;
       }},
      {"sets beta", [](auto* c) { c->params.beta = 1; }},
      {"sets beta", [=](auto* c) { c->params.beta = nan; }},
      {"sets float_sums", [](auto* c) { c->params.float_sums = 1; }},
      {"sets lhs_scale", [](auto* c) { c->params.lhs_scale = c->scale; }},
      {"sets activation_scales",
       [](auto* c) { c->params.activation_scales = 1; }},
      {"sets activation_zero_points",
       [](auto* c) { c->params.activation_zero_points = c->a; }},
      {"half set",
       [](auto* c) {
         c->params.multiplier_fixedpoint = c->fixedpoint;
         c->params.multiplier_per_channel = 1;
       }},
      {"multiplier_exponent is 31",
       [](auto* c) {
         c->exponent[0] = 31;
         c->params.multiplier_exponent = c->exponent;
       }},
      {"sets multiplier_fixedpoint",
       [](auto* c) {
         c->dst.type = RL_INT32;
         c->dst.rows = c->dst.cols = c->lhs.rows = c->rhs.cols = 1;
         c->params.multiplier_fixedpoint = c->fixedpoint;
       }},
      {"lhs has size = 0", [](auto* c) { c->lhs.size = 0; }},
      {"rhs has size = 8", [](auto* c) { c->rhs.size = 8; }},
      {"dst has size", [](auto* c) { c->dst.size = SIZE_MAX; }},
      {"params has size", [](auto* c) { --c->params.size; }},
  };
  for (const auto& line : lines) {
    SmallCall call;
    line.spoil(&call);
    EXPECT_EQ(call.Run(), line.code) << line.text;
    EXPECT_THAT(rl_last_error(), HasSubstr(line.text));
    EXPECT_TRUE(call.DstIsUntouched()) << line.text;
  }
}

TEST(CInterface, KnowsTheProductsOfTheList) {
  SmallCall call;
  call.lhs.rows = call.lhs.cols = call.rhs.rows = call.rhs.cols = 1;
  call.dst.rows = call.dst.cols = 1;
  int known = 0;
  for (int lhs = 0; lhs < kNumScalars; ++lhs) {
    for (int rhs = 0; rhs < kNumScalars; ++rhs) {
      for (int accum = 0; accum < kNumScalars; ++accum) {
        for (int dst = 0; dst < kNumScalars; ++dst) {
          call.lhs.type = lhs + 1;
          call.rhs.type = rhs + 1;
          call.dst.type = dst + 1;
          call.params.accum_type = accum + 1;
          const bool is_known =
              FindProduct(static_cast<Scalar>(lhs), static_cast<Scalar>(rhs),
                          static_cast<Scalar>(accum),
                          static_cast<Scalar>(dst)) != nullptr;
          known += is_known;
          ASSERT_EQ(call.Run() == RL_OK, is_known) << rl_last_error();
        }
      }
    }
  }
  EXPECT_EQ(known, AllTypes().size());
  // The accumulator that a 0 stands for.
  for (const Types& types : AllTypes()) {
    call.lhs.type = TypeOf(types.lhs);
    call.rhs.type = TypeOf(types.rhs);
    call.dst.type = TypeOf(types.dst);
    call.params.accum_type = 0;
    ASSERT_EQ(call.Run(), RL_OK) << rl_last_error();
  }
}

// A struct of a later version of the header: more fields, which are 0 or not.
TEST(CInterface, StructsMayGrow) {
  SmallCall call;
  struct {
    rl_matrix matrix;
    std::ptrdiff_t more[4];
  } later = {};
  later.matrix = call.lhs;
  later.matrix.size = sizeof(later);
  EXPECT_EQ(
      rl_mul(&later.matrix, &call.rhs, nullptr, call.context.get(), &call.dst),
      RL_OK)
      << rl_last_error();
  EXPECT_FALSE(call.DstIsUntouched());
  later.more[3] = 1;
  EXPECT_EQ(
      rl_mul(&later.matrix, &call.rhs, nullptr, call.context.get(), &call.dst),
      RL_INVALID_ARGUMENT);
  EXPECT_THAT(rl_last_error(), HasSubstr("and sets a field that version"));
}

// A copy of the first `bytes` bytes of a struct, whose size they are. Nothing
// beyond can be read.
template <typename T>
class Older final {
 public:
  Older(const T& given, std::size_t bytes)
      : buffer_(bytes, Flush::kEnd),
        struct_(reinterpret_cast<T*>(buffer_.data())) {
    std::memcpy(buffer_.data(), &given, bytes);
    struct_->size = bytes;
  }
  T* get() { return struct_; }

 private:
  GuardedBuffer buffer_;
  T* const struct_;
};

// A program that was built with the first version of the header.
TEST(CInterface, OlderStructsAreAccepted) {
  SmallCall call;
  rl_context* const context = call.context.get();
  call.params.has_clamp = 1;
  call.params.clamp_min = -3;
  call.params.clamp_max = 4;
  Older<rl_params> params(call.params, offsetof(rl_params, post_ops));
  ASSERT_EQ(rl_mul(&call.lhs, &call.rhs, params.get(), context, &call.dst),
            RL_OK)
      << rl_last_error();
  EXPECT_EQ(call.c[0], 4);  // 5, clamped

  rl_batch given = Struct<rl_batch>();
  given.count = 1;
  Older<rl_batch> batch(given, offsetof(rl_batch, factor_stride));
  EXPECT_EQ(rl_mul_batch(&call.lhs, &call.rhs, nullptr, batch.get(), context,
                         &call.dst),
            RL_OK)
      << rl_last_error();
  EXPECT_EQ(call.c[0], 5);

  Older<rl_info> info(rl_info(), offsetof(rl_info, default_threads));
  EXPECT_EQ(rl_get_info(info.get()), RL_OK) << rl_last_error();
  EXPECT_EQ(info.get()->compiled_paths, PathNames(CompiledPaths()));

  // Neither that size nor this one.
  for (const std::size_t size : {0, 112, 121, 127}) {
    call.params.size = size;
    EXPECT_EQ(call.Run(), RL_INVALID_ARGUMENT) << size;
    EXPECT_THAT(rl_last_error(), HasSubstr("params has size = "));
  }
}

TEST(CInterface, ClampsBeyondTheTypeHaveNoEffect) {
  SmallCall call;
  call.params.has_clamp = 1;
  call.params.clamp_min = 3;
  call.params.clamp_max = std::numeric_limits<double>::infinity();
  ASSERT_EQ(call.Run(), RL_OK) << rl_last_error();
  EXPECT_EQ(*std::min_element(call.c, call.c + 15), 3);
  for (const double low : {-129.0, -4294967295.0, -4294967296.0, -1e300}) {
    call.params.clamp_min = low;
    call.params.clamp_max = -low;
    ASSERT_EQ(call.Run(), RL_OK) << rl_last_error();
    EXPECT_LT(*std::min_element(call.c, call.c + 15), 0) << low;
  }
  // Nor may a bound that is not whole pass for one that is.
  for (const double bound : {0.5, 126.5, 1e-300, -2.25}) {
    call.params.clamp_min = bound;
    EXPECT_EQ(call.Run(), RL_INVALID_ARGUMENT) << bound;
    EXPECT_THAT(rl_last_error(), HasSubstr("is not whole"));
  }
}

TEST(CInterface, ErrorsAreOfTheirThread) {
  SmallCall call;
  call.lhs.type = 0;
  ASSERT_EQ(call.Run(), RL_INVALID_ARGUMENT);
  std::thread([] { EXPECT_THAT(rl_last_error(), StrEq("")); }).join();
  EXPECT_THAT(rl_last_error(), HasSubstr("unknown type"));
}

TEST(CInterface, PackedOperands) {
  SmallCall call;
  rl_packed* made = nullptr;
  rl_context* const context = call.context.get();
  ASSERT_EQ(rl_pack(&call.lhs, nullptr, context, &made), RL_OK);
  const PackedPtr packed(made);
  rl_matrix lhs = Struct<rl_matrix>();
  lhs.packed = made;
  // Not to be packed, multiplied as the other side, or written to.
  EXPECT_EQ(rl_pack(&lhs, nullptr, context, &made), RL_INVALID_ARGUMENT);
  EXPECT_EQ(rl_mul(&call.lhs, &lhs, nullptr, context, &call.dst),
            RL_INVALID_ARGUMENT);
  EXPECT_EQ(rl_mul(&lhs, &call.rhs, nullptr, context, &lhs),
            RL_INVALID_ARGUMENT);
  EXPECT_TRUE(call.DstIsUntouched());
  EXPECT_EQ(rl_mul(&lhs, &call.rhs, nullptr, context, &call.dst), RL_OK);
  EXPECT_EQ(call.c[0], 5);

  std::ptrdiff_t rows = 0, cols = 0;
  ASSERT_EQ(rl_packed_shape(packed.get(), &rows, &cols), RL_OK);
  EXPECT_EQ(rows, 3);
  EXPECT_EQ(cols, 4);

  // Bytes.
  const void* data = nullptr;
  std::size_t bytes = 0;
  ASSERT_EQ(rl_packed_to_bytes(packed.get(), &data, &bytes), RL_OK);
  GuardedBuffer copy(bytes, Flush::kEnd);
  std::memcpy(copy.data(), data, bytes);
  made = nullptr;
  const auto read = [&](std::size_t size, int type) {
    return rl_packed_from_bytes(copy.data(), size, type, 1, &made);
  };
  EXPECT_EQ(read(bytes, RL_INT16), RL_INVALID_ARGUMENT);
  EXPECT_EQ(read(bytes, RL_GROUP_WEIGHTS), RL_INVALID_ARGUMENT);
  EXPECT_EQ(read(bytes, 0), RL_INVALID_ARGUMENT);
  EXPECT_EQ(read(bytes - 1, RL_INT8), RL_DATA_LOSS);
  copy.data()[bytes - 64] ^= 1;
  EXPECT_EQ(read(bytes, RL_INT8), RL_DATA_LOSS);
  EXPECT_EQ(made, nullptr);

  // A buffer of the caller's that is too small.
  rl_pack_options options = Struct<rl_pack_options>();
  options.buffer = copy.data();
  options.buffer_bytes = 64;
  EXPECT_EQ(rl_pack(&call.lhs, &options, context, &made), RL_INVALID_ARGUMENT);
  options.side = 2;
  EXPECT_EQ(rl_pack(&call.lhs, &options, context, &made), RL_INVALID_ARGUMENT);
}

// Weights with group scales on either side, against the C++ interface's bits.
TEST(CInterface, GroupWeights) {
  constexpr std::ptrdiff_t kRows = 21, kDepth = 96, kCols = 3;
  Rng rng(1);
  const ContextPtr context = NewContext();
  Context cpp_context;
  for (const int bits : {4, 8}) {
    const RandomGroupWeights random(kRows, kDepth, bits, 32, Scalar::kF16,
                                    /*has_zeros=*/true, 0, 0.1f, &rng);
    const GroupWeights& given = random.description;
    rl_group_weights weights = Struct<rl_group_weights>();
    weights.rows = kRows;
    weights.depth = kDepth;
    weights.bits = bits;
    weights.group_size = 32;
    weights.levels = given.levels;
    weights.row_stride_bytes = given.row_stride_bytes;
    weights.scales = given.scales;
    weights.scale_type = RL_FLOAT16;
    weights.scale_stride = given.scale_stride;
    weights.zero_points = given.zero_points;
    rl_packed* made = nullptr;
    ASSERT_EQ(rl_pack_groups(&weights, context.get(), &made), RL_OK)
        << rl_last_error();
    const PackedPtr packed(made);
    const auto cpp_packed = PackGroupWeights(given, &cpp_context);
    ASSERT_TRUE(cpp_packed.ok());
    rl_matrix operand = Struct<rl_matrix>();
    operand.packed = made;

    std::vector<float> x(kDepth * kCols), y(kRows * kCols), z(kRows * kCols);
    for (float& value : x) value = static_cast<float>(rng.Signed());
    std::vector<float> bias(kRows, 0.5f);
    GroupMulParams cpp_params;
    cpp_params.bias = bias.data();
    cpp_params.clamp_max = 0.75f;
    cpp_params.quantize = ActivationScales::kPerGroup;
    rl_params params = Struct<rl_params>();
    params.bias = bias.data();
    params.has_clamp = 1;
    params.clamp_min = -std::numeric_limits<double>::infinity();
    params.clamp_max = 0.75;
    params.activation_scales = RL_SCALE_PER_GROUP;
    const MatrixSpec floats = {Scalar::kF32};
    // As the lhs, columns of activations; as the rhs, rows of them.
    rl_matrix matrix = MatrixOf(floats, kDepth, kCols, x.data());
    rl_matrix dst = MatrixOf(floats, kRows, kCols, y.data());
    ASSERT_EQ(rl_mul(&operand, &matrix, &params, context.get(), &dst), RL_OK)
        << rl_last_error();
    auto cpp_dst = MakeMatrix(z.data(), kRows, kCols, Order::kColMajor);
    ASSERT_TRUE(Mul(*cpp_packed,
                    MakeMatrix(x.data(), kDepth, kCols, Order::kColMajor),
                    cpp_params, &cpp_context, &cpp_dst)
                    .ok());
    EXPECT_EQ(y, z);
    matrix =
        MatrixOf({Scalar::kF32, Order::kRowMajor}, kCols, kDepth, x.data());
    dst = MatrixOf({Scalar::kF32, Order::kRowMajor}, kCols, kRows, y.data());
    params.channel_dim = RL_PER_COL;
    y.assign(y.size(), 0);
    ASSERT_EQ(rl_mul(&matrix, &operand, &params, context.get(), &dst), RL_OK)
        << rl_last_error();
    EXPECT_EQ(y, z);  // the transposed product

    // Int8 activations with a scale each; without an array they are refused.
    const std::vector<std::int8_t> q(kDepth * kCols, 3);
    const float scales[kCols] = {1, 2, 4};
    rl_params int8_params = Struct<rl_params>();
    int8_params.lhs_scale = scales;
    const rl_matrix int8s =
        MatrixOf({Scalar::kI8, Order::kRowMajor}, kCols, kDepth, q.data());
    EXPECT_EQ(rl_mul(&int8s, &operand, &int8_params, context.get(), &dst),
              RL_INVALID_ARGUMENT);
    int8_params.lhs_scale_per_row = 1;
    ASSERT_EQ(rl_mul(&int8s, &operand, &int8_params, context.get(), &dst),
              RL_OK)
        << rl_last_error();
    EXPECT_EQ(y[kRows], 2 * y[0]);

    // Types and calls that there are none of.
    const rl_matrix doubles = MatrixOf({Scalar::kF64}, 1, kDepth, bias.data());
    EXPECT_EQ(rl_mul(&doubles, &operand, nullptr, context.get(), &dst),
              RL_INVALID_ARGUMENT);
    // A batch of two, of the same weights.
    std::vector<float> both(2 * y.size());
    rl_batch batch = Struct<rl_batch>();
    batch.count = 2;
    batch.dst_stride = y.size();
    dst.data = both.data();
    ASSERT_EQ(
        rl_mul_batch(&matrix, &operand, &params, &batch, context.get(), &dst),
        RL_OK)
        << rl_last_error();
    dst.data = y.data();
    EXPECT_TRUE(std::equal(z.begin(), z.end(), both.begin() + y.size()));
    EXPECT_EQ(rl_mul(&operand, &operand, nullptr, context.get(), &dst),
              RL_INVALID_ARGUMENT);
    params.multiplier_exponent = params.multiplier_fixedpoint =
        reinterpret_cast<const std::int32_t*>(scales);
    EXPECT_EQ(rl_mul(&matrix, &operand, &params, context.get(), &dst),
              RL_INVALID_ARGUMENT);

    std::ptrdiff_t rows = 0, depth = 0;
    ASSERT_EQ(rl_packed_shape(packed.get(), &rows, &depth), RL_OK);
    EXPECT_EQ(rows, kRows);
    EXPECT_EQ(depth, kDepth);
    // Bytes.
    const void* data = nullptr;
    std::size_t bytes = 0;
    ASSERT_EQ(rl_packed_to_bytes(packed.get(), &data, &bytes), RL_OK);
    EXPECT_EQ(absl::string_view(static_cast<const char*>(data), bytes),
              cpp_packed->Serialize());
    ASSERT_EQ(rl_packed_from_bytes(data, bytes, RL_GROUP_WEIGHTS, 1, &made),
              RL_OK);
    rl_packed_destroy(made);
    weights.scale_type = RL_FLOAT64;
    EXPECT_EQ(rl_pack_groups(&weights, context.get(), &made),
              RL_INVALID_ARGUMENT);
    weights.scale_type = RL_FLOAT16;
    // 5 bits, 2 without a table of levels, 8 with one.
    const std::int8_t table[4] = {-1, 0, 1, 2};
    for (const int bad_bits : {5, 2, 8}) {
      weights.bits = bad_bits;
      weights.table = bad_bits == 8 ? table : nullptr;
      EXPECT_EQ(rl_pack_groups(&weights, context.get(), &made),
                RL_INVALID_ARGUMENT);
    }
    weights.bits = 2;
    ASSERT_EQ(rl_pack_groups(&weights, context.get(), &made), RL_OK)
        << rl_last_error();
    rl_packed_destroy(made);
  }
}
TEST(CInterface, Contexts) {
  SmallCall call;
  rl_context* const context = call.context.get();
  EXPECT_THAT(rl_context_last_path(context), StrEq("none"));
  EXPECT_THAT(rl_context_last_kernel(context), StrEq(""));
  EXPECT_EQ(rl_context_set_paths(context, "portable"), RL_OK);
  call.lhs.cache_policy = RL_ALWAYS_CACHE;
  EXPECT_EQ(call.Run(), RL_OK);
  EXPECT_THAT(rl_context_last_path(context), StrEq("portable"));
  EXPECT_THAT(rl_context_last_kernel(context), HasSubstr("Portable"));
  EXPECT_EQ(rl_context_clear_cache(context), RL_OK);
  EXPECT_EQ(rl_context_set_paths(context, nullptr), RL_OK);
  EXPECT_EQ(rl_context_set_paths(context, "avx3"), RL_INVALID_ARGUMENT);
  EXPECT_THAT(rl_last_error(), HasSubstr("avx3"));
  EXPECT_EQ(rl_context_set_threads(context, 0), RL_INVALID_ARGUMENT);
  rl_executor executor = Struct<rl_executor>();
  EXPECT_EQ(rl_context_set_executor(context, &executor), RL_INVALID_ARGUMENT);
  EXPECT_EQ(rl_context_set_executor(context, nullptr), RL_OK);
}

TEST(CInterface, SettingsOfContexts) {
  const ContextPtr context = NewContext();
  const struct {
    int setting;
    std::int64_t at_first, good, bad;
  } lines[] = {
      {RL_MAX_THREADS, 1, 3, 0},
      {RL_MAX_THREADS, 3, 2, std::int64_t{1} << 32},
      {RL_FORCE_THREADS, 0, 1, 2},
      {RL_FLOAT_SUMS, RL_SUM_IN_ORDER, RL_SUM_IN_ANY_ORDER, 3},
      {RL_TUNING, RL_TUNE_AUTO, RL_TUNE_IN_ORDER, -1},
      {RL_CACHE_LIMIT_BYTES, PTRDIFF_MAX, 1000, -1},
      {RL_SPIN_MICROSECONDS, 2000, 150, -1},
  };
  std::int64_t value = 0;
  for (const auto& line : lines) {
    const auto get = [&] {
      EXPECT_EQ(rl_context_get(context.get(), line.setting, &value), RL_OK);
      return value;
    };
    EXPECT_EQ(get(), line.at_first) << line.setting;
    EXPECT_EQ(rl_context_set(context.get(), line.setting, line.good), RL_OK);
    EXPECT_EQ(rl_context_set(context.get(), line.setting, line.bad),
              RL_INVALID_ARGUMENT);
    EXPECT_THAT(rl_last_error(), HasSubstr(", not in ["));
    EXPECT_EQ(get(), line.good) << line.setting;
  }
  for (const int setting : {RL_CACHE_BYTES, RL_LAST_THREADS, RL_ADVISORIES}) {
    EXPECT_EQ(rl_context_get(context.get(), setting, &value), RL_OK);
    EXPECT_EQ(value, 0);
    EXPECT_EQ(rl_context_set(context.get(), setting, 0), RL_INVALID_ARGUMENT);
    EXPECT_THAT(rl_last_error(), HasSubstr("cannot be set"));
  }
  for (const int setting : {0, RL_ADVISORIES + 1, -1}) {
    EXPECT_EQ(rl_context_set(context.get(), setting, 1), RL_INVALID_ARGUMENT);
    EXPECT_EQ(rl_context_get(context.get(), setting, &value),
              RL_INVALID_ARGUMENT);
    EXPECT_THAT(rl_last_error(), HasSubstr("unknown setting"));
  }
  SmallCall call;
  call.lhs.cache_policy = RL_ALWAYS_CACHE;
  ASSERT_EQ(call.Run(), RL_OK);
  EXPECT_EQ(rl_context_get(call.context.get(), RL_CACHE_BYTES, &value), RL_OK);
  EXPECT_GT(value, 0);
  EXPECT_EQ(rl_context_get(call.context.get(), RL_LAST_THREADS, &value), RL_OK);
  EXPECT_EQ(value, 1);
}

// One context's workers serve another one, which outlives it.
TEST(CInterface, SharedWorkers) {
  ContextPtr first = NewContext(2);
  EXPECT_EQ(rl_context_set(first.get(), RL_SPIN_MICROSECONDS, 77), RL_OK);
  rl_context* made = nullptr;
  ASSERT_EQ(rl_context_create_sharing(first.get(), &made), RL_OK);
  const ContextPtr second(made);
  first.reset();
  std::int64_t value = 0;
  EXPECT_EQ(rl_context_get(made, RL_SPIN_MICROSECONDS, &value), RL_OK);
  EXPECT_EQ(value, 77);
  EXPECT_EQ(rl_context_set_threads(made, 2), RL_OK);
  int calls[16] = {};
  ASSERT_EQ(rl_context_parallel_for(
                made, 16,
                [](void* argument, int i) { ++static_cast<int*>(argument)[i]; },
                calls),
            RL_OK);
  for (const int count : calls) EXPECT_EQ(count, 1);
}

TEST(CInterface, Info) {
  rl_info info = Struct<rl_info>();
  ASSERT_EQ(rl_get_info(&info), RL_OK);
  EXPECT_EQ(info.compiled_paths, PathNames(CompiledPaths()));
  EXPECT_EQ(info.paths, PathNames(Context().runtime_enabled_paths()));
  EXPECT_GT(info.l1d_bytes, 0);
  EXPECT_GE(info.default_threads, 1);
  info.size = 4;
  EXPECT_EQ(rl_get_info(&info), RL_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace ruy_like
