// Uses the drop-in in the way of a TFLite-like runtime: its own parameter
// structs translated at each call by templates over the kind of quantization,
// one Context behind a backend object, constant weights cached, and the
// Context's thread pool for operators other than products.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "matrices.h"
#include "ruy/context.h"
#include "ruy/denormal.h"
#include "ruy/matrix.h"
#include "ruy/mul_params.h"
#include "ruy/profiler/instrumentation.h"
#include "ruy/reference_mul.h"
#include "ruy/ruy.h"
#include "ruy/thread_pool.h"

namespace {

using dropin_test::RandomValues;

// The runtime's own types.

enum class Quantization { kFloat, kUniform, kPerRow };

template <typename T>
struct Operand {
  bool row_major = false;
  int rows = 0;
  int cols = 0;
  T zero_point = 0;
  bool is_constant = false;
};

template <typename Accum, typename Dst>
struct GemmParams {
  const Accum* bias = nullptr;
  Accum fixedpoint = 0;
  int exponent = 0;
  const Accum* fixedpoint_per_row = nullptr;
  const int* exponent_per_row = nullptr;
  Dst clamp_min = 0;
  Dst clamp_max = 0;
};

class Backend {
 public:
  Backend() : context_(new ruy::Context) {}
  ruy::Context* context() const { return context_.get(); }
  void SetMaxNumThreads(int count) { context_->set_max_num_threads(count); }

 private:
  const std::unique_ptr<ruy::Context> context_;
};

template <typename T, typename Pointer>
ruy::Matrix<T> MakeMatrix(const Operand<T>& operand, Pointer data) {
  ruy::Matrix<T> matrix;
  ruy::MakeSimpleLayout(
      operand.rows, operand.cols,
      operand.row_major ? ruy::Order::kRowMajor : ruy::Order::kColMajor,
      matrix.mutable_layout());
  matrix.set_data(data);
  matrix.set_zero_point(operand.zero_point);
  if (operand.is_constant) {
    matrix.set_cache_policy(ruy::CachePolicy::kCacheIfLargeSpeedup);
  }
  return matrix;
}

template <Quantization kQuantization, typename Accum, typename Dst>
struct Translate {
  static void Run(const GemmParams<Accum, Dst>& from,
                  ruy::MulParams<Accum, Dst>* to) {
    to->set_multiplier_fixedpoint(from.fixedpoint);
    to->set_multiplier_exponent(from.exponent);
  }
};
template <typename Dst>
struct Translate<Quantization::kPerRow, std::int32_t, Dst> {
  static void Run(const GemmParams<std::int32_t, Dst>& from,
                  ruy::MulParams<std::int32_t, Dst>* to) {
    to->set_multiplier_fixedpoint_perchannel(from.fixedpoint_per_row);
    to->set_multiplier_exponent_perchannel(from.exponent_per_row);
  }
};
template <>
struct Translate<Quantization::kFloat, float, float> {
  static void Run(const GemmParams<float, float>&,
                  ruy::MulParams<float, float>*) {}
};

template <Quantization kQuantization, typename Lhs, typename Rhs,
          typename Accum, typename Dst>
void Gemm(const Operand<Lhs>& lhs, const Lhs* lhs_data, const Operand<Rhs>& rhs,
          const Rhs* rhs_data, const Operand<Dst>& dst, Dst* dst_data,
          const GemmParams<Accum, Dst>& params, Backend* backend) {
  ruy::profiler::ScopeLabel label("Gemm %dx%dx%d", lhs.rows, lhs.cols,
                                  rhs.cols);
  ruy::MulParams<Accum, Dst> mul_params;
  Translate<kQuantization, Accum, Dst>::Run(params, &mul_params);
  mul_params.set_bias(params.bias);
  mul_params.set_clamp_min(params.clamp_min);
  mul_params.set_clamp_max(params.clamp_max);
  const ruy::Matrix<Lhs> ruy_lhs = MakeMatrix(lhs, lhs_data);
  const ruy::Matrix<Rhs> ruy_rhs = MakeMatrix(rhs, rhs_data);
  ruy::Matrix<Dst> ruy_dst = MakeMatrix(dst, dst_data);
  ruy::Mul(ruy_lhs, ruy_rhs, mul_params, backend->context(), &ruy_dst);

  // The result by definition.
  std::vector<Dst> expected(dst.rows * dst.cols);
  ruy_dst.set_data(expected.data());
  ruy::ReferenceMul(ruy_lhs, ruy_rhs, mul_params, &ruy_dst);
  for (int i = 0; i < dst.rows * dst.cols; ++i) {
    if (kQuantization == Quantization::kFloat) {
      EXPECT_NEAR(dst_data[i], expected[i], 1e-4) << i;
    } else {
      EXPECT_EQ(dst_data[i], expected[i]) << i;
    }
  }
}

// The shapes of a layer: row-major weights, column-major activations.
constexpr int kRows = 33, kDepth = 65, kCols = 5;
template <typename T>
Operand<T> Weights(T zero_point = 0) {
  return {true, kRows, kDepth, zero_point, true};
}
template <typename T>
Operand<T> Activations(T zero_point = 0) {
  return {false, kDepth, kCols, zero_point, false};
}
template <typename T>
Operand<T> Result(T zero_point = 0) {
  return {false, kRows, kCols, zero_point, false};
}

class TflitePatternTest : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { backend_.SetMaxNumThreads(GetParam()); }

  template <Quantization kQuantization, typename Lhs, typename Rhs,
            typename Accum, typename Dst>
  void Layer(const Operand<Lhs>& lhs, const Operand<Rhs>& rhs,
             const Operand<Dst>& dst, GemmParams<Accum, Dst> params) {
    const auto weights = RandomValues<Lhs>(kRows * kDepth, 1);
    const auto bias = RandomValues<Accum>(kRows, 2);
    params.bias = bias.data();
    std::vector<Dst> result(kRows * kCols);
    // Several times: the weights come out of the cache then.
    for (unsigned pass = 0; pass < 3; ++pass) {
      const auto activations = RandomValues<Rhs>(kDepth * kCols, 3 + pass);
      Gemm<kQuantization>(lhs, weights.data(), rhs, activations.data(), dst,
                          result.data(), params, &backend_);
    }
    backend_.context()->ClearPrepackedCache();
  }

  Backend backend_;
};

TEST_P(TflitePatternTest, Float) {
  GemmParams<float, float> params;
  params.clamp_min = -1;
  params.clamp_max = 6;
  Layer<Quantization::kFloat>(Weights<float>(), Activations<float>(),
                              Result<float>(), params);
}

TEST_P(TflitePatternTest, Uint8WithZeroPoints) {
  GemmParams<std::int32_t, std::uint8_t> params;
  params.fixedpoint = 1234567890;
  params.exponent = -10;
  params.clamp_min = 10;
  params.clamp_max = 250;
  Layer<Quantization::kUniform>(Weights<std::uint8_t>(121),
                                Activations<std::uint8_t>(130),
                                Result<std::uint8_t>(100), params);
}

TEST_P(TflitePatternTest, Int8PerChannel) {
  std::vector<std::int32_t> fixedpoints;
  std::vector<int> exponents;
  for (int row = 0; row < kRows; ++row) {
    fixedpoints.push_back((1 << 30) + 1000003 * row);
    exponents.push_back(-12 + row % 4);
  }
  GemmParams<std::int32_t, std::int8_t> params;
  params.fixedpoint_per_row = fixedpoints.data();
  params.exponent_per_row = exponents.data();
  params.clamp_min = -128;
  params.clamp_max = 127;
  Layer<Quantization::kPerRow>(Weights<std::int8_t>(),
                               Activations<std::int8_t>(-7),
                               Result<std::int8_t>(3), params);
}

TEST_P(TflitePatternTest, Int8TimesInt16) {
  std::vector<std::int32_t> fixedpoints(kRows, 1 << 30);
  std::vector<int> exponents(kRows, -8);
  GemmParams<std::int32_t, std::int16_t> params;
  params.fixedpoint_per_row = fixedpoints.data();
  params.exponent_per_row = exponents.data();
  params.clamp_min = -32768;
  params.clamp_max = 32767;
  Layer<Quantization::kPerRow>(Weights<std::int8_t>(),
                               Activations<std::int16_t>(),
                               Result<std::int16_t>(), params);
}

// An operator of the runtime's own on the Context's workers.
struct AddTask : ruy::Task {
  AddTask(const float* a, const float* b, float* sum, int begin, int end)
      : a(a), b(b), sum(sum), begin(begin), end(end) {}
  void Run() override {
    for (int i = begin; i < end; ++i) sum[i] = a[i] + b[i];
  }
  const float* a;
  const float* b;
  float* sum;
  int begin, end;
};

TEST_P(TflitePatternTest, OtherOperatorsOnTheThreadPool) {
  constexpr int kSize = 1001;
  const auto a = RandomValues<float>(kSize, 1);
  const auto b = RandomValues<float>(kSize, 2);
  std::vector<float> sum(kSize);
  const int task_count = backend_.context()->max_num_threads();
  std::vector<AddTask> tasks;
  for (int i = 0; i < task_count; ++i) {
    tasks.emplace_back(a.data(), b.data(), sum.data(), kSize * i / task_count,
                       kSize * (i + 1) / task_count);
  }
  backend_.context()->mutable_thread_pool()->Execute(task_count, tasks.data());
  for (int i = 0; i < kSize; ++i) EXPECT_EQ(sum[i], a[i] + b[i]) << i;
}

TEST_P(TflitePatternTest, ProductInADenormalScope) {
  auto suppress = std::make_unique<ruy::ScopedSuppressDenormals>();
  GemmParams<float, float> params;
  params.clamp_min = -100;
  params.clamp_max = 100;
  Layer<Quantization::kFloat>(Weights<float>(), Activations<float>(),
                              Result<float>(), params);
  suppress.reset();
}

INSTANTIATE_TEST_SUITE_P(Threads, TflitePatternTest, testing::Values(1, 2, 3));

}  // namespace
