// Convolutions of 3x3 that paths without dot products of bytes compute by
// winograd_kernels.h: the bits of the direct way.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "ruy_like/quantize/byte_table.h"
#include "ruy_like/quantize/conv.h"
#include "ruy_like/quantize/layer.h"
#include "ruy_like/quantize/loops/winograd_kernels.h"
#include "test/quantize/expect_conv.h"
#include "test/quantize/reference_conv.h"
#include "test/support/on_threads.h"
#include "test/support/sanitizers.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

using quantize_internal::WinogradKernelsFor;

class WinogradConvTest : public PathTest {
 protected:
  template <typename In, typename Out>
  void ExpectReference(const ConvProblem<In, Out>& p, Workspace* workspace) {
    ExpectEqualsReference(
        p, PackWeights(p, &context_),
        [](const auto&... args) { return Conv2D(args...); }, workspace,
        &context_);
  }
  // True if one call, on this path, runs no product.
  template <typename In>
  bool RunsNoProduct(const ConvProblem<In, std::int8_t>& p) {
    const auto weights = PackWeights(p, &context_).value();
    std::vector<std::int8_t> out(CountOf(p.out_shape));
    TensorView<std::int8_t> output{out.data(), p.out_shape, p.out_params};
    Context context;
    Restrict(&context);
    EXPECT_OK(Conv2D(p.Input(), weights, BiasSpan<std::int8_t>(p.bias),
                     p.window, nullptr, &context, &output));
    return context.last_used_path() == Path::kNone;
  }
};
RUY_LIKE_INSTANTIATE_PER_PATH(WinogradConvTest);

Window Kernel3x3(Rng* rng) {
  Window window = Square(3, 1, 1, 0);
  for (std::ptrdiff_t* side : {&window.padding.top, &window.padding.bottom,
                               &window.padding.left, &window.padding.right}) {
    *side = rng->Between(0, rng->OneIn(4) ? 5 : 1);
  }
  return window;
}

// The loops take no zero point of weights.
template <typename Problem>
void MakeSymmetric(Problem* p) {
  for (QuantParams& w : p->weight_params) w.zero_point = 0;
}

template <typename In, typename Out>
ConvProblem<In, Out> RandomProblem(std::uint64_t seed) {
  Rng rng(seed);
  const std::ptrdiff_t most = rng.OneIn(8) ? 256 : 40;
  ConvProblem<In, Out> p;
  p.window = Kernel3x3(&rng);
  // Odd numbers of channels and images of few tiles are for products.
  p.in_shape = {rng.Between(1, 2), rng.Between(3, 14), rng.Between(3, 17),
                rng.Between(8, most / 2) * 2 + rng.OneIn(8),
                rng.OneIn(3) ? TensorOrder::kNchw : TensorOrder::kNhwc};
  p.out_shape.channels =
      rng.OneIn(4) ? rng.Between(16, 70) : rng.Between(2, 9) * 8;
  FillConvProblem(&rng, &p);
  if (!rng.OneIn(8)) MakeSymmetric(&p);
  return p;
}

TEST_P(WinogradConvTest, EqualsReference) {
  Workspace workspace;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    context_.set_max_num_threads(1 + static_cast<int>(seed % 3));
    ForEachLayerType([&](auto in, auto out, int i) {
      ExpectReference(
          RandomProblem<decltype(in), decltype(out)>(seed + 1000 * i),
          i == 1 ? nullptr : &workspace);
    });
    if (HasFatalFailure()) return;
  }
}

// The paths that need them have loops, and others none; what they are not for
// goes to products.
TEST_P(WinogradConvTest, RunsOnPathsWithoutDotProducts) {
  const bool has_loops = WinogradKernelsFor(&context_) != nullptr;
#if HWY_ARCH_X86_64
  EXPECT_EQ(has_loops,
            GetParam() == Path::kAvx2 || GetParam() == Path::kAvx512);
#endif
  const auto problem = [](std::ptrdiff_t size, std::ptrdiff_t in,
                          std::ptrdiff_t out, const Window& window) {
    auto p = MakeConvProblem<std::int8_t, std::int8_t>(
        3, window, {1, size, size, in, TensorOrder::kNhwc}, out);
    MakeSymmetric(&p);
    return p;
  };
  const Window window = Square(3, 1, 1, 1);
  EXPECT_EQ(RunsNoProduct(problem(14, 32, 32, window)), has_loops);
  auto few_tiles = problem(5, 32, 32, window);
  EXPECT_EQ(RunsNoProduct(few_tiles), has_loops);
  for (std::int8_t& w : few_tiles.weights) w /= 3;
  for (QuantParams& w : few_tiles.weight_params) w.qmin = -(w.qmax = 63);
  EXPECT_FALSE(RunsNoProduct(few_tiles));  // products of int7 are faster
  EXPECT_FALSE(RunsNoProduct(problem(14, 33, 32, window)));
  EXPECT_FALSE(RunsNoProduct(problem(14, 14, 32, window)));
  EXPECT_FALSE(RunsNoProduct(problem(14, 32, 30, window)));
  EXPECT_FALSE(RunsNoProduct(problem(3, 32, 32, window)));
  EXPECT_FALSE(RunsNoProduct(problem(14, 32, 32, Square(3, 2, 1, 1))));
  EXPECT_FALSE(RunsNoProduct(problem(14, 32, 32, Square(3, 1, 2, 1))));
  EXPECT_FALSE(RunsNoProduct(problem(14, 32, 32, Square(1, 1, 1, 0))));
}

// Several calls of the kernel by several threads.
TEST_P(WinogradConvTest, LargeImagesEqualReference) {
  Workspace workspace;
  for (const TensorOrder order : {TensorOrder::kNhwc, TensorOrder::kNchw}) {
    auto p = MakeConvProblem<std::int8_t, std::uint8_t>(
        7, Square(3, 1, 1, 1), {1, 53, 67, 16, order}, 32);
    MakeSymmetric(&p);
    for (const int threads : {1, 3}) {
      if (kSanitized && threads == 1) continue;
      context_.set_max_num_threads(threads);
      ExpectReference(p, &workspace);
    }
  }
}

// The largest distances from zero points, of signs that add up in each of the
// transforms, and as many channels as sums allow, or more.
template <typename In>
ConvProblem<In, std::int8_t> ExtremeProblem(std::ptrdiff_t channels,
                                            int signs) {
  auto p = MakeConvProblem<In, std::int8_t>(
      5, Square(3, 1, 1, 0), {1, 8, 8, channels, TensorOrder::kNhwc}, 32);
  p.in_params.zero_point = std::numeric_limits<In>::max();
  p.weight_params.assign(1, {0.01f, 0, -128, 127});
  // Without clamps that hide bits: the sum is some 2^30.
  p.out_params = {p.in_params.scale * 0.01f * 0x1p22f, 0, -128, 127};
  p.bias.clear();
  for (std::size_t i = 0; i < p.input.size(); ++i) {
    p.input[i] = (signs >> (i / channels % 2) & 1) != 0
                     ? std::numeric_limits<In>::lowest()
                     : std::numeric_limits<In>::max();
  }
  for (std::size_t i = 0; i < p.weights.size(); ++i) {
    p.weights[i] = (signs >> (2 + i / channels % 2) & 1) != 0 ? -128 : 127;
  }
  return p;
}

TEST_P(WinogradConvTest, ExtremeValuesEqualReference) {
  for (int signs = 0; signs < 16; ++signs) {
    SCOPED_TRACE(signs);
    ExpectReference(ExtremeProblem<std::uint8_t>(64, signs), nullptr);
    ExpectReference(ExtremeProblem<std::int8_t>(64, signs), nullptr);
    if (HasFatalFailure()) return;
  }
  // 9 * 128 * 255 * 1826 is less than 2^29, with 1828 channels more.
  const auto most = ExtremeProblem<std::uint8_t>(1826, 15);
  const auto too_many = ExtremeProblem<std::uint8_t>(1828, 15);
  ExpectReference(most, nullptr);
  ExpectReference(too_many, nullptr);
  EXPECT_EQ(RunsNoProduct(most), WinogradKernelsFor(&context_) != nullptr);
  EXPECT_FALSE(RunsNoProduct(too_many));
}

TEST_P(WinogradConvTest, EndsInATable) {
  for (const TensorOrder order : {TensorOrder::kNhwc, TensorOrder::kNchw}) {
    auto p = MakeConvProblem<std::int8_t, std::int8_t>(
        3, Square(3, 1, 1, 1), {1, 14, 15, 32, order}, 32);
    MakeSymmetric(&p);
    ASSERT_VALUE(const auto weights, PackWeights(p, &context_));
    ASSERT_VALUE(const auto table,
                 (ByteTable::Make<std::int8_t, std::uint8_t>(
                     p.out_params, {0.02f, 30, 0, 255}, HardSwish)));
    ASSERT_VALUE(const auto layer,
                 (QuantizedLayer::Make<std::int8_t, std::uint8_t>(
                     weights, BiasSpan<std::uint8_t>(p.bias), p.in_params,
                     table.output(), MultiplierRounding::kOnce, &table)));
    std::vector<std::uint8_t> out(CountOf(p.out_shape)), expected;
    TensorView<std::uint8_t> output{out.data(), p.out_shape, table.output()};
    ASSERT_OK(Conv2D(p.Input(), layer, p.window, nullptr, &context_, &output));
    for (const std::int8_t x : p.Reference()) {
      expected.push_back(table[static_cast<std::uint8_t>(x)]);
    }
    EXPECT_EQ(out, expected);
  }
}

// One PackedWeights, by several threads at once.
TEST_P(WinogradConvTest, ThreadsShareWeights) {
  auto p = MakeConvProblem<std::int8_t, std::int8_t>(
      13, Square(3, 1, 1, 0), {1, 8, 9, 32, TensorOrder::kNhwc}, 32);
  MakeSymmetric(&p);
  ASSERT_VALUE(const auto weights, PackWeights(p, &context_));
  constexpr int kThreads = 4;
  std::vector<std::vector<std::int8_t>> out(
      kThreads, std::vector<std::int8_t>(CountOf(p.out_shape)));
  OnThreads(kThreads, [&](int i) {
    Context context;
    Restrict(&context);
    TensorView<std::int8_t> output{out[i].data(), p.out_shape, p.out_params};
    EXPECT_OK(Conv2D(p.Input(), weights, BiasSpan<std::int8_t>(p.bias),
                     p.window, nullptr, &context, &output));
  });
  for (const auto& of_thread : out) EXPECT_TRUE(of_thread == p.Reference());
}

}  // namespace
}  // namespace ruy_like
