// A few products, for verbose_test.cc and trace_test.cc to look at from
// outside.
//
//   observed_program [--many] [--batches] [--groups] [--fork] [--descriptors]
//       [--privileged]
//
// Tells on stdout, for each product, what the Context says about it: path,
// kernel, threads. --many: 1500 small products more. --batches: a MulBatch on
// one thread, one on two that is dealt out in blocks, a MulGroup,
// a MulPlan of a batch. --groups: products with group-scaled weights on either
// side, the second one's many columns on two threads. --fork: a
// child process multiplies too. --descriptors: lists what a program that is
// executed inherits.
// --privileged: exits with 77 unless it runs with more rights than its caller.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "ruy_like/ruy_like.h"

namespace {

using ruy_like::ColMajor;
using ruy_like::Context;
using ruy_like::Matrix;
using ruy_like::RowMajor;

void Check(const absl::Status& status, const Context& context) {
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    std::exit(1);
  }
  std::printf("%s,%s,%d\n", ruy_like::PathName(context.last_used_path()),
              context.last_used_kernel(), context.last_used_num_threads());
}

void UseTwoThreads(Context* context) {
  context->set_max_num_threads(2);
  context->set_num_threads_strategy(
      ruy_like::NumThreadsStrategy::kForceMaxNumThreads);
}

// Quantized, everything set that can be, by two threads.
void MulQuantized() {
  constexpr int kRows = 200, kDepth = 150, kCols = 300;
  const std::vector<std::int8_t> lhs_data(kRows * kDepth, 3);
  const std::vector<std::uint8_t> rhs_data(kDepth * kCols, 7);
  const std::vector<std::int32_t> bias(kCols, 5), fixedpoint(kCols, 1 << 30),
      exponent(kCols, -3);
  std::vector<std::int8_t> dst_data(kRows * kCols);
  auto lhs = RowMajor(lhs_data, kRows, kDepth);
  auto rhs = RowMajor(rhs_data, kDepth, kCols);
  auto dst = ColMajor(dst_data, kRows, kCols);
  lhs.set_zero_point(1);
  rhs.set_zero_point(128);
  dst.set_zero_point(-4);
  ruy_like::MulParams<std::int32_t, std::int8_t> mul_params;
  mul_params.set_channel_dimension(ruy_like::ChannelDimension::kCol);
  mul_params.set_bias(bias.data());
  mul_params.set_multiplier_fixedpoint_perchannel(fixedpoint.data());
  mul_params.set_multiplier_exponent_perchannel(exponent.data());
  Context context;
  UseTwoThreads(&context);
  Check(Mul(lhs, rhs, mul_params, &context, &dst), context);
}

// dst is row-major, so that the sides are swapped; the lhs is cached.
void MulFloat(int rows, int depth, int cols, int times) {
  const std::vector<float> lhs_data(rows * depth, 1.5f);
  const std::vector<float> rhs_data(depth * cols, 2.5f);
  std::vector<float> dst_data(rows * cols);
  auto lhs = RowMajor(lhs_data, rows, depth);
  const auto rhs = RowMajor(rhs_data, depth, cols);
  auto dst = RowMajor(dst_data, rows, cols);
  lhs.set_cache_policy(ruy_like::CachePolicy::kAlwaysCache);
  Context context;
  for (int i = 0; i < times; ++i) {
    Check(Mul(lhs, rhs, ruy_like::MulParams<float, float>(), &context, &dst),
          context);
  }
}

// The lhs packed ahead; once through Mul, once through a MulPlan.
void MulPacked() {
  constexpr int kRows = 48, kDepth = 64, kCols = 5;
  const std::vector<std::int8_t> lhs_data(kRows * kDepth, 3);
  const std::vector<std::int8_t> rhs_data(kDepth * kCols, -7);
  std::vector<std::int32_t> dst_data(kRows * kCols);
  const auto lhs = RowMajor(lhs_data, kRows, kDepth);
  const auto rhs = ColMajor(rhs_data, kDepth, kCols);
  auto dst = ColMajor(dst_data, kRows, kCols);
  const ruy_like::MulParams<std::int32_t, std::int32_t> mul_params;
  Context context;
  const auto packed = Pack(lhs, ruy_like::Side::kLhs, {}, &context);
  if (!packed.ok()) std::exit(1);
  Check(Mul(*packed, rhs, mul_params, &context, &dst), context);
  ruy_like::MulPlan plan;
  if (!plan.Prepare(*packed, rhs, mul_params, 2, &context, &dst).ok() ||
      !plan.Run(0).ok()) {
    std::exit(1);
  }
  Check(plan.Finish(), context);
}

// One matrix for all operands.
void MulBatches() {
  constexpr int kSize = 80;
  const std::vector<float> values(6 * kSize * kSize, 1.5f);
  std::vector<float> dst_data(6 * kSize * kSize);
  const ruy_like::MulParams<float, float> mul_params;
  Context context;
  const auto mul_batch = [&](int count, int size) {
    auto dst = ColMajor(dst_data.data(), size, size);
    const ruy_like::Batch batch = {count, size * size, 0, size * size};
    Check(MulBatch(RowMajor(values.data(), size, size),
                   ColMajor(values.data(), size, size), mul_params, batch,
                   &context, &dst),
          context);
  };
  mul_batch(5, 24);
  UseTwoThreads(&context);
  mul_batch(3, kSize);
  std::vector<ruy_like::BatchItem<Matrix<float>, Matrix<float>, float, float>>
      products;
  for (const int rows : {10, 0, 60}) {
    products.push_back({RowMajor(values.data(), rows, kSize),
                        ColMajor(values.data(), kSize, 30), mul_params,
                        ColMajor(dst_data.data() + 100 * rows, rows, 30)});
  }
  Check(MulGroup(products, &context), context);
  auto dst = ColMajor(dst_data.data(), 24, 24);
  ruy_like::MulPlan plan;
  if (!plan.PrepareBatch(RowMajor(values.data(), 24, 24),
                         ColMajor(values.data(), 24, 24), mul_params,
                         {2, 24 * 24, 0, 24 * 24}, 2, &context, &dst)
           .ok() ||
      !plan.Run(0).ok()) {
    std::exit(1);
  }
  Check(plan.Finish(), context);
}

// 4 bits by int8, and floats by 8 bits.
void MulGroupScaled() {
  constexpr int kRows = 300, kDepth = 256, kMany = 200;
  const std::vector<std::uint8_t> levels(kRows * kDepth, 0x97);
  const std::vector<float> scales(kRows * kDepth / 32, 0.5f);
  const std::vector<float> values(kDepth * kMany, 1.5f);
  const std::vector<std::int8_t> int8s(kDepth, 3);
  std::vector<float> dst_data(kRows * kMany);
  Context context;
  for (const int bits : {4, 8}) {
    ruy_like::GroupWeights weights;
    weights.rows = kRows;
    weights.depth = kDepth;
    weights.bits = bits;
    weights.group_size = bits == 4 ? 32 : 0;
    weights.levels = levels.data();
    weights.set_scales(scales.data());
    const auto packed = ruy_like::PackGroupWeights(weights, &context);
    if (!packed.ok()) std::exit(1);
    if (bits == 4) {
      auto dst = ColMajor(dst_data.data(), kRows, 1);
      Check(Mul(*packed, ColMajor(int8s.data(), kDepth, 1),
                ruy_like::GroupMulParams(), &context, &dst),
            context);
    } else {
      UseTwoThreads(&context);
      auto dst = RowMajor(dst_data.data(), kMany, kRows);
      Check(Mul(RowMajor(values.data(), kMany, kDepth), *packed,
                ruy_like::GroupMulParams(), &context, &dst),
            context);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  bool many = false;
  bool batches = false;
  bool groups = false;
  bool fork_child = false;
  bool descriptors = false;
  bool privileged = false;
  bool hold = false;
  for (int i = 1; i < argc; ++i) {
    many |= std::string(argv[i]) == "--many";
    batches |= std::string(argv[i]) == "--batches";
    groups |= std::string(argv[i]) == "--groups";
    fork_child |= std::string(argv[i]) == "--fork";
    descriptors |= std::string(argv[i]) == "--descriptors";
    hold |= std::string(argv[i]) == "--hold";
    privileged |= std::string(argv[i]) == "--privileged";
  }
  if (privileged && geteuid() == getuid()) return 77;
  MulQuantized();
  MulFloat(60, 50, 40, 2);
  MulPacked();
  if (many) MulFloat(5, 6, 7, 1500);
  if (batches) MulBatches();
  if (groups) MulGroupScaled();
  if (descriptors) {
    std::printf("descriptors\n");
    std::fflush(stdout);
    if (std::system("ls -l /proc/self/fd") != 0) return 1;
  }
  // Until nobody writes to its input any more.
  while (hold && std::getchar() != EOF) {
  }
  if (fork_child) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      MulFloat(30, 20, 10, 1);
      return 0;
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0) return 1;
  }
  return 0;
}
