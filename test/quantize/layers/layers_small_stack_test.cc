// The stack that is enough for products (small_stack_test) is enough for
// convolutions and pooling, too, on every path.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "ruy_like/quantize/conv.h"
#include "ruy_like/quantize/depthwise_conv.h"
#include "ruy_like/quantize/pooling.h"
#include "test/quantize/expect_conv.h"
#include "test/quantize/reference_conv.h"
#include "test/support/sanitizers.h"
#include "test/support/small_stack.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

class LayersSmallStackTest : public PathTest {
 protected:
  using Problem = ConvProblem<std::int8_t, std::int8_t>;

  // 96 channels to 96.
  static Problem MakeProblem(TensorOrder order, std::ptrdiff_t kernel,
                             std::ptrdiff_t groups) {
    auto p = MakeConvProblem<std::int8_t, std::int8_t>(
        17, Square(kernel, 1, 1, 1), {1, 9, 20, 96, order}, 96, groups);
    for (QuantParams& w : p.weight_params) w.zero_point = 0;
    return p;
  }

  // run(&output) on a small stack gives the reference's output.
  template <typename Run>
  static void ExpectReference(const Problem& p, const Run& run) {
    const std::vector<std::int8_t> expected = p.Reference();
    std::vector<std::int8_t> out(expected.size());
    RunOnSmallStack([&] {
      TensorView<std::int8_t> output{out.data(), p.out_shape, p.out_params};
      run(&output);
    });
    EXPECT_TRUE(out == expected) << p.Describe();
  }
};
RUY_LIKE_INSTANTIATE_PER_PATH(LayersSmallStackTest);

TEST_P(LayersSmallStackTest, IsEnoughForConvolutions) {
  if (kSanitized) GTEST_SKIP() << "sanitizers need more";
  for (const TensorOrder order : {TensorOrder::kNhwc, TensorOrder::kNchw}) {
    for (const int groups : {1, 6, 24}) {
      const Problem p = MakeProblem(order, 3, groups);
      ExpectReference(p, [&](TensorView<std::int8_t>* output) {
        ASSERT_VALUE(const auto weights, PackWeights(p, &context_));
        EXPECT_OK(Conv2D(p.Input(), weights, BiasSpan<std::int8_t>(p.bias),
                         p.window, nullptr, &context_, output));
      });
    }
  }
}

TEST_P(LayersSmallStackTest, IsEnoughForDepthwiseConvolutionsAndPooling) {
  if (kSanitized) GTEST_SKIP() << "sanitizers need more";
  for (const TensorOrder order : {TensorOrder::kNhwc, TensorOrder::kNchw}) {
    for (const int kernel : {3, 5, 7, 9, 11}) {
      const Problem p = MakeProblem(order, kernel, /*groups=*/96);
      ExpectReference(p, [&](TensorView<std::int8_t>* output) {
        TensorView<std::int8_t> pooled = *output;
        pooled.params = p.in_params;
        EXPECT_OK(MaxPool2D(p.Input(), p.window, nullptr, &context_, &pooled));
        EXPECT_OK(
            AveragePool2D(p.Input(), p.window, nullptr, &context_, &pooled));
        ASSERT_VALUE(const auto weights,
                     DepthwiseWeights::Pack(p.WeightMatrix(), p.weight_params));
        EXPECT_OK(DepthwiseConv2D(p.Input(), weights,
                                  BiasSpan<std::int8_t>(p.bias), p.window,
                                  nullptr, &context_, output));
      });
    }
  }
}

}  // namespace
}  // namespace ruy_like
