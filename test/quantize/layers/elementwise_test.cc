// QuantizedAdd and QuantizedMul: each in the same tests, against an oracle of
// its own.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "ruy_like/quantize/elementwise_add.h"
#include "ruy_like/quantize/elementwise_mul.h"
#include "ruy_like/quantize/multiplier.h"
#include "test/quantize/expect_conv.h"
#include "test/quantize/reference_conv.h"
#include "test/support/guarded_buffer.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

TensorShape Flat(std::ptrdiff_t count) { return {1, 1, 1, count}; }

// ## Sums: nothing of the library's arithmetic

// value / 2^shift, rounded half away from zero.
std::int64_t DivideAway(std::int64_t value, int shift) {
  if (shift == 0) return value;
  const std::int64_t half = std::int64_t{1} << (shift - 1);
  return value >= 0 ? (value + half) >> shift : -((-value + half) >> shift);
}

// value * multiplier, for a multiplier in [0, 1), in TensorFlow Lite's two
// steps.
std::int64_t Times(std::int64_t value, double multiplier) {
  if (multiplier == 0) return 0;
  int exponent;
  const double fraction = std::frexp(multiplier, &exponent);
  auto fixed = static_cast<std::int64_t>(std::round(fraction * 2147483648.0));
  if (fixed == std::int64_t{1} << 31) {
    fixed /= 2;
    ++exponent;
  }
  if (exponent < -31) return 0;
  const std::int64_t product = value * fixed;
  // Half a unit and 1 less for negative products, then towards zero.
  const std::int64_t nudge =
      product >= 0 ? 1 << 30 : 1 - (std::int64_t{1} << 30);
  return DivideAway((product + nudge) / (std::int64_t{1} << 31), -exponent);
}

struct Sum {
  template <typename... Args>
  static absl::Status Run(const Args&... args) {
    return QuantizedAdd(args...);
  }
  template <typename T>
  static T Reference(T a, T b, const QuantParams& pa, const QuantParams& pb,
                     const QuantParams& pc) {
    const double common = 2.0 * std::max(pa.scale, pb.scale);
    const std::int64_t x =
        Times((a - pa.zero_point) * 1048576, pa.scale / common);
    const std::int64_t y =
        Times((b - pb.zero_point) * 1048576, pb.scale / common);
    const std::int64_t sum =
        Times(x + y, common / (1048576.0 * static_cast<double>(pc.scale))) +
        pc.zero_point;
    return static_cast<T>(std::clamp<std::int64_t>(sum, pc.qmin, pc.qmax));
  }
  // One operand counts little, nothing, or more than the other.
  static void Vary(Rng* rng, const QuantParams& pa, QuantParams* pb,
                   QuantParams* pc) {
    pb->scale = static_cast<float>(
        std::ldexp(pb->scale, static_cast<int>(rng->Between(-36, 20))));
    pc->scale = std::max({pc->scale, pa.scale / 100, pb->scale / 100});
  }
};

struct Product {
  template <typename... Args>
  static absl::Status Run(const Args&... args) {
    return QuantizedMul(args...);
  }
  template <typename T>
  static T Reference(T a, T b, const QuantParams& pa, const QuantParams& pb,
                     const QuantParams& pc) {
    const QuantizedMultiplier multiplier =
        QuantizeMultiplier(static_cast<double>(pa.scale) *
                           static_cast<double>(pb.scale) /
                           static_cast<double>(pc.scale))
            .value();
    const std::int64_t value =
        std::int64_t{MultiplyByQuantizedMultiplier(
            (a - pa.zero_point) * (b - pb.zero_point), multiplier)} +
        pc.zero_point;
    return static_cast<T>(std::clamp<std::int64_t>(value, pc.qmin, pc.qmax));
  }
  // Multipliers of all exponents.
  static void Vary(Rng* rng, const QuantParams&, QuantParams* pb,
                   QuantParams*) {
    pb->scale = static_cast<float>(
        std::ldexp(pb->scale, static_cast<int>(rng->Between(-40, 45))));
  }
};

template <class Op>
std::vector<std::int8_t> ResultOf(const std::vector<std::int8_t>& a,
                                  const QuantParams& pa,
                                  const std::vector<std::int8_t>& b,
                                  const QuantParams& pb, const QuantParams& pc,
                                  Context* context = nullptr) {
  const TensorShape shape = Flat(static_cast<std::ptrdiff_t>(a.size()));
  std::vector<std::int8_t> out(a.size());
  TensorView<std::int8_t> output{out.data(), shape, pc};
  EXPECT_OK(Op::Run(TensorView<const std::int8_t>{a.data(), shape, pa},
                    TensorView<const std::int8_t>{b.data(), shape, pb}, context,
                    &output));
  return out;
}

TEST(QuantizedAddTest, KnownSums) {
  // -63 + 31, 0.5 - 32.75, 1 + 0.5 (a half, away from zero), 32.5 + 15,
  // 64.5 + 31, 51 - 25.75; each + 10.
  EXPECT_THAT(ResultOf<Sum>({-128, -1, 0, 63, 127, 100}, ParamsOf(0.5f, -2),
                            {127, -128, 5, 63, 127, -100}, ParamsOf(0.25f, 3),
                            ParamsOf(1, 10)),
              ElementsAre(-22, -22, 12, 58, 106, 35));
}

TEST(QuantizedMulTest, Goldens) {
  const std::vector<std::int8_t> a = {-128, -1, 0, 63, 127, 100};
  const std::vector<std::int8_t> b = {127, -128, 5, 63, 127, -100};
  EXPECT_THAT(ResultOf<Product>(a, ParamsOf(0.5f, -1), b, ParamsOf(0.25f, 3),
                                ParamsOf(1, 10)),
              ElementsAre(-128, 10, 10, 127, 127, -128));
  EXPECT_THAT(ResultOf<Product>(a, ParamsOf(0.02f, -1), b, ParamsOf(0.03f, 3),
                                ParamsOf(0.1f, -7)),
              ElementsAre(-101, -7, -7, 16, 88, -69));
}

class ElementwisePathTest : public PathTest {
 protected:
  // At all lengths, misaligned, against the ends of the arrays.
  template <class Op, typename T>
  void CompareAllLengths(std::uint64_t seed) {
    Rng rng(seed);
    for (std::size_t n = 0; n < 130; ++n) {
      for (std::size_t gap = 0; gap < 3; ++gap) {
        const QuantParams pa = RandomParams<T>(&rng, false);
        QuantParams pb = RandomParams<T>(&rng, false);
        QuantParams pc = RandomParams<T>(&rng, true);
        Op::Vary(&rng, pa, &pb, &pc);
        GuardedBuffer a(n, Flush::kEnd), b(n, Flush::kEnd);
        GuardedBuffer out(n + gap, Flush::kEnd);
        for (std::size_t i = 0; i < n; ++i) {
          a.as<T>()[i] = static_cast<T>(rng.Next());
          b.as<T>()[i] = static_cast<T>(rng.Next());
        }
        const TensorShape shape = Flat(static_cast<std::ptrdiff_t>(n));
        TensorView<T> output{out.as<T>(), shape, pc};
        ASSERT_OK(Op::Run(TensorView<T>{a.as<T>(), shape, pa},
                          TensorView<T>{b.as<T>(), shape, pb}, &context_,
                          &output));
        for (std::size_t i = 0; i < n; ++i) {
          ASSERT_EQ(out.as<T>()[i],
                    Op::Reference(a.as<T>()[i], b.as<T>()[i], pa, pb, pc))
              << n << " " << i;
        }
        ASSERT_TRUE(out.SlackIsIntact());
      }
    }
  }

  template <class Op>
  void CompareInPlaceOnThreads() {
    context_.set_max_num_threads(3);
    const std::ptrdiff_t n = 1000003;
    const auto a = RandomVector<std::int8_t>(n, 4);
    const auto b = RandomVector<std::int8_t>(n, 5);
    for (const bool into_b : {false, true}) {
      std::vector<std::int8_t> x = a, y = b;
      std::vector<std::int8_t>& result = into_b ? y : x;
      TensorView<std::int8_t> in_place{result.data(), Flat(n), pc_};
      ASSERT_OK(Op::Run(TensorView<std::int8_t>{x.data(), Flat(n), pa_},
                        TensorView<std::int8_t>{y.data(), Flat(n), pb_},
                        &context_, &in_place));
      for (std::ptrdiff_t i = 0; i < n; ++i) {
        ASSERT_EQ(result[i], Op::Reference(a[i], b[i], pa_, pb_, pc_)) << i;
      }
    }
  }

  // One element, one 1x1 image, one such image for each image: both orders.
  template <class Op>
  void CompareBroadcasts() {
    for (const TensorOrder order : {TensorOrder::kNhwc, TensorOrder::kNchw}) {
      for (const std::ptrdiff_t b_batch : {1, 2}) {
        for (const std::ptrdiff_t b_channels : {1, 70}) {
          const TensorShape shape = {
              2, 5, 300, b_channels == 1 && b_batch == 2 ? 1 : 70, order};
          const TensorShape b_shape = {b_batch, 1, 1, b_channels, order};
          const auto a = RandomVector<std::int8_t>(CountOf(shape), 6);
          const auto b = RandomVector<std::int8_t>(b_batch * b_channels, 7);
          std::vector<std::int8_t> out(a.size());
          TensorView<std::int8_t> output{out.data(), shape, pc_};
          ASSERT_OK(
              Op::Run(TensorView<const std::int8_t>{a.data(), shape, pa_},
                      TensorView<const std::int8_t>{b.data(), b_shape, pb_},
                      &context_, &output));
          for (std::ptrdiff_t i = 0; i < CountOf(shape); ++i) {
            const std::ptrdiff_t image = i / (1500 * shape.channels);
            const std::ptrdiff_t channel = order == TensorOrder::kNhwc
                                               ? i % shape.channels
                                               : i / 1500 % shape.channels;
            const std::int8_t value = b[OffsetIn(b_shape, image % b_batch, 0, 0,
                                                 channel % b_channels)];
            ASSERT_EQ(out[i], Op::Reference(a[i], value, pa_, pb_, pc_)) << i;
          }
        }
      }
    }
  }

  const QuantParams pa_ = ParamsOf(0.1f, 3), pb_ = ParamsOf(0.2f, -4),
                    pc_ = ParamsOf(0.3f, 5);
};
RUY_LIKE_INSTANTIATE_PER_PATH(ElementwisePathTest);

TEST_P(ElementwisePathTest, SumsEqualReference) {
  CompareAllLengths<Sum, std::int8_t>(1);
  CompareAllLengths<Sum, std::uint8_t>(2);
}
TEST_P(ElementwisePathTest, ProductsEqualReference) {
  CompareAllLengths<Product, std::int8_t>(1);
  CompareAllLengths<Product, std::uint8_t>(2);
}
TEST_P(ElementwisePathTest, InPlaceOnThreads) {
  CompareInPlaceOnThreads<Sum>();
  CompareInPlaceOnThreads<Product>();
}
TEST_P(ElementwisePathTest, Broadcasts) {
  CompareBroadcasts<Sum>();
  CompareBroadcasts<Product>();
}

// All pairs of values, with sums that fall on ties and on both clamps.
TEST_P(ElementwisePathTest, SumsOfAllPairs) {
  std::vector<std::int8_t> a(65536), b(65536);
  for (int i = 0; i < 65536; ++i) {
    a[i] = static_cast<std::int8_t>(i >> 8);
    b[i] = static_cast<std::int8_t>(i);
  }
  for (const float b_scale : {0.5f, 0.25f, 0.1f, 0.3f}) {
    const QuantParams pa = ParamsOf(0.5f, -3), pb = ParamsOf(b_scale, 7),
                      pc = ParamsOf(1, 2);
    const auto out = ResultOf<Sum>(a, pa, b, pb, pc, &context_);
    for (int i = 0; i < 65536; ++i) {
      ASSERT_EQ(out[i], Sum::Reference(a[i], b[i], pa, pb, pc)) << i;
    }
  }
}

template <class Op>
class ElementwiseErrorTest : public testing::Test {};
using Operations = testing::Types<Sum, Product>;
TYPED_TEST_SUITE(ElementwiseErrorTest, Operations);

TYPED_TEST(ElementwiseErrorTest, BadInputChangesNothing) {
  using View = TensorView<std::int8_t>;
  std::vector<std::int8_t> memory(64, 77);
  const QuantParams params = ParamsOf(0.1f, 0);
  const View a{memory.data(), Flat(8), params};
  const View b{memory.data() + 8, Flat(8), params};
  const View output{memory.data() + 16, Flat(8), params};
  const auto message = [&](const View& x, const View& y, View out) {
    const absl::Status status =
        TypeParam::Run(x, y, static_cast<Context*>(nullptr), &out);
    EXPECT_CODE(kInvalid, status);
    return std::string(status.message());
  };
  EXPECT_CODE(kInvalid, TypeParam::Run(a, b, static_cast<Context*>(nullptr),
                                       static_cast<View*>(nullptr)));
  View bad = output;
  bad.data = memory.data() + 1;
  EXPECT_THAT(message(a, b, bad), HasSubstr("a and output share memory"));
  bad.data = memory.data() + 9;
  EXPECT_THAT(message(a, b, bad), HasSubstr("b and output share memory"));
  bad = output;
  bad.shape.channels = 7;
  EXPECT_THAT(message(a, b, bad), HasSubstr("output is 1x1x1x7"));
  bad = b;
  bad.shape.channels = 7;
  EXPECT_THAT(message(a, bad, output), HasSubstr("does not go with a"));
  bad = a;
  bad.data = nullptr;
  EXPECT_THAT(message(bad, b, output), HasSubstr("a (1x1x1x8 NHWC) has null"));
  EXPECT_THAT(message(a, bad, output), HasSubstr("b (1x1x1x8 NHWC) has null"));
  bad = a;
  bad.params.zero_point = 128;
  EXPECT_THAT(message(bad, b, output), HasSubstr("zero point"));
  for (const float scale : {0.0f, -1.0f, kNan}) {
    const auto with_scale = [&](View view) {
      view.params.scale = scale;
      return view;
    };
    EXPECT_THAT(message(with_scale(a), b, output), HasSubstr("a"));
    EXPECT_THAT(message(a, with_scale(b), output), HasSubstr("b"));
    EXPECT_THAT(message(a, b, with_scale(output)), HasSubstr("output"));
  }
  EXPECT_THAT(memory, Each(77));
  View empty = output;
  empty.shape.channels = 0;
  View no_output = empty;
  EXPECT_OK(
      TypeParam::Run(empty, empty, static_cast<Context*>(nullptr), &no_output));
}

TEST(QuantizedAddTest, OutputScaleTooSmall) {
  std::int8_t x = 1, result = 77;
  const TensorView<std::int8_t> a{&x, Flat(1), ParamsOf(0.1f, 0)};
  TensorView<std::int8_t> output{&result, Flat(1), ParamsOf(1e-9f, 0)};
  const absl::Status status = QuantizedAdd(a, a, nullptr, &output);
  EXPECT_THAT(std::string(status.message()), HasSubstr("too small for a sum"));
  EXPECT_EQ(result, 77);
}

}  // namespace
}  // namespace ruy_like
