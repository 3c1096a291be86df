#include "ruy_like/quantize/byte_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "test/support/test_util.h"

namespace ruy_like {
namespace {

using View = TensorView<std::int8_t>;

std::vector<std::int8_t> AllBytes() {
  std::vector<std::int8_t> all(256);
  for (int i = 0; i < 256; ++i) all[i] = static_cast<std::int8_t>(i);
  return all;
}

TEST(ByteTableTest, FunctionsEqualTheirDefinition) {
  const QuantParams in = {0.05f, 7, -128, 127}, out = {0.02f, 100, 3, 250};
  const auto expect = [&](auto function, auto exact) {
    ASSERT_VALUE(const auto table,
                 ByteTable::Make<std::int8_t, std::uint8_t>(in, out, function));
    std::vector<std::int8_t> x = AllBytes();
    std::vector<std::uint8_t> y(256);
    TensorView<std::uint8_t> output{y.data(), {1, 4, 8, 8}, out};
    ASSERT_OK(
        ApplyTable(View{x.data(), {1, 4, 8, 8}, in}, table, nullptr, &output));
    for (int i = 0; i < 256; ++i) {
      // In double, so next to a tie another integer is as good.
      const double value = exact(0.05 * (x[i] - 7)) / 0.02 + 100;
      const double clamped = std::min(std::max(value, 3.0), 250.0);
      EXPECT_NEAR(y[i], clamped, 0.5 + 1e-4) << i;
    }
  };
  expect(Sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); });
  expect(HardSwish,
         [](double x) { return x * std::min(std::max(x + 3, 0.0), 6.0) / 6; });
  expect([](float x) { return LeakyRelu(x, 0.1f); },
         [](double x) { return x < 0 ? 0.1 * x : x; });
}

TEST(ByteTableTest, TiesAndWhatIsNoNumber) {
  const QuantParams in = {1, 0, -128, 127}, out = {2, 5, -100, 100};
  const auto table =
      ByteTable::Make<std::int8_t, std::int8_t>(in, out, [](float x) {
        if (x == 3) return kNan;
        if (x == 4) return kInf;
        if (x == 5) return -kInf;
        return x;
      });
  ASSERT_OK(table);
  std::vector<std::int8_t> x = {1, -1, 3, 4, 5, 127, -128};
  View in_place{x.data(), {1, 1, 1, 7}, out};
  ASSERT_OK(
      ApplyTable(View{x.data(), {1, 1, 1, 7}, in}, *table, nullptr, &in_place));
  // 0.5 and -0.5 away from zero; 63.5 and -64.
  EXPECT_THAT(x, ElementsAre(6, 4, 5, 100, -100, 69, -59));
}

class ByteTablePathTest : public PathTest {};
RUY_LIKE_INSTANTIATE_PER_PATH(ByteTablePathTest);

// Whole vectors and what is left of one, anywhere in memory, in place or not.
TEST_P(ByteTablePathTest, EveryByteAndLength) {
  const QuantParams params = {1, 0, -128, 127};
  const auto results = RandomVector<std::int8_t>(256, -128, 127, 1);
  ASSERT_VALUE(const auto table,
               (ByteTable::Make<std::int8_t, std::int8_t>(
                   params, params, [&](float x) -> float {
                     return results[static_cast<int>(x) & 255];
                   })));
  constexpr int kGap = 64;
  for (int n = 0; n <= 456; n += n < 200 ? 1 : 256) {
    for (const int at : {0, 1, 31, 63}) {
      const TensorShape shape = {1, 1, 1, n};
      std::vector<std::int8_t> x(at + n + kGap), y(at + n + kGap, 77);
      std::iota(x.begin(), x.end(), static_cast<std::int8_t>(7 * n));
      std::vector<std::int8_t> expected = y, in_place = x;
      for (int i = at; i < at + n; ++i) {
        in_place[i] = expected[i] = results[x[i] & 255];
      }
      View output{y.data() + at, shape, params};
      View both{x.data() + at, shape, params};
      ASSERT_OK(ApplyTable(both, table, &context_, &output));
      ASSERT_EQ(y, expected) << n << " at " << at;
      ASSERT_OK(ApplyTable(both, table, &context_, &both));
      ASSERT_EQ(x, in_place) << n << " at " << at;
    }
  }
}

// (q - zero point) * scales' quotient by two roundings, against doubles where
// these are not near a tie, and against known values where they are.
TEST(RequantizeTensorTest, AllValues) {
  const QuantParams in = {0.05f, 7, -128, 127};
  for (const float scale : {0.05f, 0.01f, 0.07f, 1.0f, 1e-7f}) {
    const QuantParams out = {scale, 120, 0, 255};
    std::vector<std::int8_t> x = AllBytes();
    std::vector<std::uint8_t> y(256);
    TensorView<std::uint8_t> output{y.data(), {1, 1, 1, 256}, out};
    ASSERT_OK(Requantize(View{x.data(), {1, 1, 1, 256}, in}, nullptr, &output));
    for (int i = 0; i < 256; ++i) {
      const double value = (x[i] - 7) * (static_cast<double>(0.05f) /
                                         static_cast<double>(scale)) +
                           120;
      EXPECT_NEAR(y[i], std::min(std::max(value, 0.0), 255.0), 0.5 + 1e-6)
          << i << " " << scale;
    }
  }
  std::vector<std::int8_t> x = {1, -1, 3, -3, 2};
  View in_place{x.data(), {1, 1, 1, 5}, {2, 0, -128, 127}};
  ASSERT_OK(Requantize(View{x.data(), {1, 1, 1, 5}, {1, 0, -128, 127}}, nullptr,
                       &in_place));
  // TensorFlow Lite's first rounding: half up.
  EXPECT_THAT(x, ElementsAre(1, 0, 2, -1, 1));
  // And its second one, half away from zero, of what the first has made.
  x = {1, -1, 2, -2, 3};
  in_place.params.scale = 4;
  ASSERT_OK(Requantize(View{x.data(), {1, 1, 1, 5}, {1, 0, -128, 127}}, nullptr,
                       &in_place));
  EXPECT_THAT(x, ElementsAre(1, 0, 1, -1, 1));
}

// A product that ends in the table is the product and then the table.
TEST(ByteTableTest, EndsProducts) {
  const QuantParams params = {0.05f, -3};
  ASSERT_VALUE(const auto table, (ByteTable::Make<std::int8_t, std::uint8_t>(
                                     params, {0.04f, 10, 0, 255}, HardSwish)));
  const auto x = RandomVector<std::int8_t>(70 * 33, -128, 127, 1);
  const auto w = RandomVector<std::int8_t>(33 * 50, -128, 127, 2);
  for (const Order order : {Order::kColMajor, Order::kRowMajor}) {
    Context context;
    MulParams<std::int32_t, std::int8_t> mul_params;
    mul_params.set_multiplier_exponent(-10);
    PostOps ops;
    std::vector<std::int8_t> plain(70 * 50), fused(70 * 50);
    const auto run = [&](std::vector<std::int8_t>* to) {
      auto dst = internal::MakeMatrix(to->data(), 70, 50, order, kNoGaps);
      dst.set_zero_point(-3);
      ASSERT_OK(Mul(RowMajorOf(x, 70, 33), ColMajorOf(w, 33, 50), mul_params,
                    &context, &dst));
    };
    run(&plain);
    ops.table = table.bytes();
    mul_params.set_post_ops(&ops);
    run(&fused);
    for (std::size_t i = 0; i < plain.size(); ++i) {
      ASSERT_EQ(static_cast<std::uint8_t>(fused[i]),
                table[static_cast<std::uint8_t>(plain[i])]);
    }
  }
}

TEST(ByteTableErrorTest, BadArguments) {
  const QuantParams params = {1, 0, -128, 127};
  const auto identity = [](float x) { return x; };
  const auto make = [&](const QuantParams& in, const QuantParams& out) {
    return ByteTable::Make<std::int8_t, std::int8_t>(in, out, identity);
  };
  QuantParams bad = params;
  bad.scale = 0;
  EXPECT_FALSE(make(bad, params).ok());
  EXPECT_FALSE(make(params, bad).ok());
  bad.scale = 1e-40f;
  EXPECT_FALSE(make(params, bad).ok());
  EXPECT_CODE(kInvalid, ByteTable::Make<std::int8_t, std::uint8_t>(
                            params, params, identity));
  ASSERT_VALUE(const auto table, make(params, params));
  std::vector<std::int8_t> memory(32, 77);
  const auto message = [&](const View& input, View output) {
    const absl::Status status = ApplyTable(input, table, nullptr, &output);
    EXPECT_CODE(kInvalid, status);
    return std::string(status.message());
  };
  const View input{memory.data(), {1, 1, 1, 8}, params};
  View output{memory.data() + 7, {1, 1, 1, 8}, params};
  EXPECT_THAT(message(input, output), HasSubstr("share memory"));
  output.data = memory.data() + 8;
  View other = output;
  other.params.scale = 2;
  EXPECT_THAT(message(input, other), HasSubstr("was made for other"));
  EXPECT_THAT(message(other, output), HasSubstr("was made for other"));
  other = output;
  other.shape.channels = 9;
  EXPECT_THAT(message(input, other), HasSubstr("output is 1x1x1x9"));
  other = output;
  other.data = nullptr;
  EXPECT_THAT(message(input, other), HasSubstr("null data"));
  View* const null_output = nullptr;
  EXPECT_FALSE(ApplyTable(input, table, nullptr, null_output).ok());
  EXPECT_FALSE(Requantize(input, nullptr, null_output).ok());
  EXPECT_THAT(memory, Each(77));
}

}  // namespace
}  // namespace ruy_like
