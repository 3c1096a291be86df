#include "ruy_like/quantize/concat.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "test/quantize/reference_conv.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

using View = TensorView<std::int8_t>;

class ConcatTest : public testing::TestWithParam<TensorOrder> {};
INSTANTIATE_TEST_SUITE_P(Orders, ConcatTest,
                         testing::Values(TensorOrder::kNhwc,
                                         TensorOrder::kNchw));

TEST_P(ConcatTest, EveryElementGoesToItsPlace) {
  const QuantParams params = {0.5f, 3, -128, 127},
                    other = {0.25f, -1, -128, 127};
  for (int axis = 0; axis < 4; ++axis) {
    std::ptrdiff_t sizes[3][4];
    std::vector<std::int8_t> data[3];
    std::vector<TensorView<const std::int8_t>> inputs;
    std::ptrdiff_t total[4] = {2, 3, 5, 4};
    total[axis] = 0;
    for (int i = 0; i < 3; ++i) {
      const std::ptrdiff_t plain[4] = {2, 3, 5, 4};
      std::copy(plain, plain + 4, sizes[i]);
      sizes[i][axis] = 2 * i + 1;
      total[axis] += 2 * i + 1;
      const TensorShape shape = {sizes[i][0], sizes[i][1], sizes[i][2],
                                 sizes[i][3], GetParam()};
      data[i] = RandomVector<std::int8_t>(CountOf(shape), i + 1);
      inputs.push_back({data[i].data(), shape, i == 1 ? other : params});
    }
    const TensorShape shape = {total[0], total[1], total[2], total[3],
                               GetParam()};
    std::vector<std::int8_t> out(CountOf(shape) + 1, 77);
    View output{out.data(), shape, params};
    ASSERT_OK(Concat(absl::MakeConstSpan(inputs), static_cast<TensorAxis>(axis),
                     nullptr, &output));
    std::ptrdiff_t before = 0;
    for (int i = 0; i < 3; ++i) {
      const auto& s = sizes[i];
      for (std::ptrdiff_t n = 0; n < s[0] * s[1] * s[2] * s[3]; ++n) {
        std::ptrdiff_t at[4] = {n / (s[1] * s[2] * s[3]),
                                n / (s[2] * s[3]) % s[1], n / s[3] % s[2],
                                n % s[3]};
        const int x =
            data[i][OffsetIn(inputs[i].shape, at[0], at[1], at[2], at[3])];
        at[axis] += before;
        // A quarter by a half, halves away from zero.
        const int expected =
            i != 1 ? x : (x + 1 + (x + 1 > 0 ? 1 : -1)) / 2 + 3;
        const bool is_tie = i == 1 && (x + 1) % 2 != 0;
        EXPECT_EQ(out[OffsetIn(shape, at[0], at[1], at[2], at[3])],
                  is_tie && x + 1 < 0 ? (x + 2) / 2 + 3 : expected)
            << axis << " " << i << " " << n;
      }
      before += s[axis];
    }
    EXPECT_EQ(out.back(), 77);
  }
}

TEST(ConcatErrorTest, BadArguments) {
  std::vector<std::int8_t> memory(64, 77);
  const QuantParams params;
  std::vector<View> inputs = {{memory.data(), {1, 1, 2, 4}, params},
                              {memory.data() + 8, {1, 1, 2, 2}, params}};
  View output{memory.data() + 16, {1, 1, 2, 6}, params};
  const auto message = [&](TensorAxis axis = TensorAxis::kChannels) {
    const absl::Status status =
        Concat(absl::MakeConstSpan(inputs), axis, nullptr, &output);
    EXPECT_CODE(kInvalid, status);
    return std::string(status.message());
  };
  EXPECT_THAT(message(static_cast<TensorAxis>(7)), HasSubstr("unknown axis 7"));
  EXPECT_THAT(message(TensorAxis::kWidth), HasSubstr("along other axes"));
  output.shape.channels = 7;
  EXPECT_THAT(message(), HasSubstr("inputs of 6 in all"));
  output.shape.channels = 6;
  output.data = memory.data() + 9;
  EXPECT_THAT(message(), HasSubstr("share memory"));
  output.data = memory.data() + 16;
  inputs[1].data = nullptr;
  EXPECT_THAT(message(), HasSubstr("null data"));
  inputs[1].data = memory.data() + 8;
  inputs[1].params.scale = 0;
  EXPECT_THAT(message(), HasSubstr("scale is 0"));
  inputs[1].params.scale = 1;
  inputs[1].shape.channels = -2;
  EXPECT_THAT(message(), HasSubstr("negative size"));
  inputs.clear();
  EXPECT_THAT(message(), HasSubstr("no inputs"));
  View* const null_output = nullptr;
  inputs = {{memory.data(), {1, 1, 2, 4}, params}};
  EXPECT_CODE(kInvalid, Concat(absl::MakeConstSpan(inputs),
                               TensorAxis::kChannels, nullptr, null_output));
  EXPECT_THAT(memory, Each(77));
}

}  // namespace
}  // namespace ruy_like
