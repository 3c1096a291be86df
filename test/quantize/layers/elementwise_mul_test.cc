#include "ruy_like/quantize/elementwise_mul.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "ruy_like/quantize/multiplier.h"
#include "test/quantize/reference_conv.h"
#include "test/support/guarded_buffer.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

QuantParams Params(float scale, std::int32_t zero_point) {
  QuantParams params;
  params.scale = scale;
  params.zero_point = zero_point;
  return params;
}

TensorShape Flat(std::ptrdiff_t count) { return {1, 1, 1, count}; }

TEST(QuantizedMulTest, Goldens) {
  const std::vector<std::int8_t> a = {-128, -1, 0, 63, 127, 100};
  const std::vector<std::int8_t> b = {127, -128, 5, 63, 127, -100};
  std::vector<std::int8_t> out(6);
  const auto run = [&](const QuantParams& pa, const QuantParams& pb,
                       const QuantParams& pc) {
    TensorView<std::int8_t> output{out.data(), Flat(6), pc};
    ASSERT_TRUE(
        QuantizedMul(TensorView<const std::int8_t>{a.data(), Flat(6), pa},
                     TensorView<const std::int8_t>{b.data(), Flat(6), pb},
                     nullptr, &output)
            .ok());
  };
  run(Params(0.5f, -1), Params(0.25f, 3), Params(1, 10));
  EXPECT_THAT(out, ElementsAre(-128, 10, 10, 127, 127, -128));
  run(Params(0.02f, -1), Params(0.03f, 3), Params(0.1f, -7));
  EXPECT_THAT(out, ElementsAre(-101, -7, -7, 16, 88, -69));
}

template <typename T>
T ReferenceProduct(T a, T b, const QuantParams& pa, const QuantParams& pb,
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

class QuantizedMulPathTest : public PathTest {
 protected:
  // At all lengths, misaligned, with multipliers of all exponents.
  template <typename T>
  void CompareAllLengths(std::uint64_t seed) {
    Rng rng(seed);
    for (std::size_t n = 0; n < 130; ++n) {
      for (std::size_t gap = 0; gap < 3; ++gap) {
        const QuantParams pa = RandomParams<T>(&rng, false);
        QuantParams pb = RandomParams<T>(&rng, false);
        const QuantParams pc = RandomParams<T>(&rng, true);
        pb.scale = static_cast<float>(
            std::ldexp(pb.scale, static_cast<int>(rng.Between(-40, 45))));
        GuardedBuffer a(n, Flush::kEnd), b(n, Flush::kEnd);
        GuardedBuffer out(n + gap, Flush::kEnd);
        for (std::size_t i = 0; i < n; ++i) {
          a.as<T>()[i] = static_cast<T>(rng.Next());
          b.as<T>()[i] = static_cast<T>(rng.Next());
        }
        const TensorShape shape = Flat(static_cast<std::ptrdiff_t>(n));
        TensorView<T> output{out.as<T>(), shape, pc};
        ASSERT_TRUE(QuantizedMul(TensorView<T>{a.as<T>(), shape, pa},
                                 TensorView<T>{b.as<T>(), shape, pb}, &context_,
                                 &output)
                        .ok());
        for (std::size_t i = 0; i < n; ++i) {
          ASSERT_EQ(out.as<T>()[i],
                    ReferenceProduct(a.as<T>()[i], b.as<T>()[i], pa, pb, pc))
              << n << " " << i;
        }
        ASSERT_TRUE(out.SlackIsIntact());
      }
    }
  }
};
RUY_LIKE_INSTANTIATE_PER_PATH(QuantizedMulPathTest);

TEST_P(QuantizedMulPathTest, EqualsReference) {
  CompareAllLengths<std::int8_t>(1);
  CompareAllLengths<std::uint8_t>(2);
}

TEST_P(QuantizedMulPathTest, LargeOnThreadsAndInPlace) {
  context_.set_max_num_threads(3);
  Rng rng(3);
  const std::ptrdiff_t n = 1000003;
  std::vector<std::int8_t> a = RandomVector<std::int8_t>(n, -128, 127, 4);
  const std::vector<std::int8_t> b = RandomVector<std::int8_t>(n, -128, 127, 5);
  const std::vector<std::int8_t> old = a;
  const QuantParams pa = Params(0.1f, 3), pb = Params(0.2f, -4),
                    pc = Params(2, 5);
  TensorView<std::int8_t> in_place{a.data(), Flat(n), pc};
  ASSERT_TRUE(QuantizedMul(TensorView<std::int8_t>{a.data(), Flat(n), pa},
                           TensorView<const std::int8_t>{b.data(), Flat(n), pb},
                           &context_, &in_place)
                  .ok());
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    ASSERT_EQ(a[i], ReferenceProduct(old[i], b[i], pa, pb, pc)) << i;
  }
}

TEST_P(QuantizedMulPathTest, Broadcast) {
  const TensorShape shape{2, 3, 4, 5};
  const QuantParams pa = Params(0.1f, 3), pb = Params(0.2f, -4),
                    pc = Params(2, 5);
  const std::vector<std::int8_t> a =
      RandomVector<std::int8_t>(120, -128, 127, 6);
  const std::vector<std::int8_t> b =
      RandomVector<std::int8_t>(10, -128, 127, 7);
  for (const TensorShape& b_shape :
       {TensorShape{1, 1, 1, 1}, TensorShape{1, 1, 1, 5},
        TensorShape{2, 1, 1, 5}}) {
    std::vector<std::int8_t> out(120);
    TensorView<std::int8_t> output{out.data(), shape, pc};
    ASSERT_TRUE(
        QuantizedMul(TensorView<const std::int8_t>{a.data(), shape, pa},
                     TensorView<const std::int8_t>{b.data(), b_shape, pb},
                     &context_, &output)
            .ok());
    for (int i = 0; i < 120; ++i) {
      const int image = b_shape.batch == 1 ? 0 : i / 60;
      const int b_index = b_shape.channels == 1 ? 0 : image * 5 + i % 5;
      ASSERT_EQ(out[i], ReferenceProduct(a[i], b[b_index], pa, pb, pc)) << i;
    }
  }
  // One channel: every element of a has its own.
  const TensorShape narrow{2, 3, 4, 1};
  std::vector<std::int8_t> out(24);
  TensorView<std::int8_t> output{out.data(), narrow, pc};
  ASSERT_TRUE(QuantizedMul(TensorView<const std::int8_t>{a.data(), narrow, pa},
                           TensorView<const std::int8_t>{
                               b.data(), TensorShape{2, 1, 1, 1}, pb},
                           &context_, &output)
                  .ok());
  for (int i = 0; i < 24; ++i) {
    ASSERT_EQ(out[i], ReferenceProduct(a[i], b[i / 12], pa, pb, pc)) << i;
  }
}

TEST(QuantizedMulTest, BadInputChangesNothing) {
  std::vector<std::int8_t> out(8, 77);
  const std::vector<std::int8_t> a(8, 1);
  const auto message = [&](TensorView<const std::int8_t> x,
                           TensorView<const std::int8_t> y,
                           TensorView<std::int8_t> z) {
    return std::string(QuantizedMul(x, y, nullptr, &z).message());
  };
  const TensorView<const std::int8_t> x{a.data(), Flat(4), Params(1, 0)};
  const TensorView<std::int8_t> z{out.data(), Flat(4), Params(1, 0)};
  auto bad = x;
  bad.data = nullptr;
  EXPECT_THAT(message(bad, x, z), HasSubstr("a (1x1x1x4 NHWC) has null"));
  EXPECT_THAT(message(x, bad, z), HasSubstr("b (1x1x1x4 NHWC) has null"));
  bad = x;
  bad.shape.channels = 3;
  EXPECT_THAT(message(x, bad, z), HasSubstr("b is 1x1x1x3"));
  EXPECT_THAT(message(bad, bad, z), HasSubstr("output is 1x1x1x4"));
  for (const float scale :
       {0.0f, -1.0f, std::numeric_limits<float>::quiet_NaN()}) {
    bad = x;
    bad.params.scale = scale;
    EXPECT_THAT(message(bad, x, z), HasSubstr("a"));
    EXPECT_THAT(message(x, bad, z), HasSubstr("b"));
    auto bad_out = z;
    bad_out.params.scale = scale;
    EXPECT_THAT(message(x, x, bad_out), HasSubstr("output"));
  }
  bad = x;
  bad.data = out.data() + 1;
  EXPECT_THAT(message(bad, x, z), HasSubstr("share memory"));
  EXPECT_THAT(message(x, bad, z), HasSubstr("share memory"));
  TensorView<std::int8_t>* const none = nullptr;
  EXPECT_FALSE(QuantizedMul(x, x, nullptr, none).ok());
  EXPECT_THAT(out, Each(77));
}

}  // namespace
}  // namespace ruy_like
