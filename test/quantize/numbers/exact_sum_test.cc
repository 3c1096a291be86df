#include "ruy_like/quantize/numbers/exact_sum.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "test/support/test_util.h"

namespace ruy_like {
namespace {

using quantize_internal::ExactSum;

TEST(ExactSum, NothingIsLost) {
  ExactSum sum;
  EXPECT_EQ(sum.value(), 0);
  sum.Add(0x1p268);
  sum.Add(0x1p-298);
  sum.Add(-0x1p268);
  EXPECT_EQ(sum.value(), 0x1p-298);
  sum.Add(-0x1p-298);
  EXPECT_EQ(sum.value(), 0);
  sum.Add(-1e-5);
  EXPECT_EQ(sum.value(), -1e-5);
  sum.Add(1e300 / 1e220);
  sum.Add(-1e80);
  EXPECT_NE(sum.value(), 0);
}

TEST(ExactSum, EveryOrderGivesTheSame) {
  Rng rng(1);
  std::vector<double> values(500);
  for (double& value : values) {
    value = rng.Signed() * std::exp2(rng.Between(-200, 200));
  }
  ExactSum forward, backward, even, odd;
  for (std::size_t i = 0; i < values.size(); ++i) {
    forward.Add(values[i]);
    backward.Add(values[values.size() - 1 - i]);
    (i % 2 == 0 ? even : odd).Add(values[i]);
  }
  even.Add(odd);
  EXPECT_EQ(forward.value(), backward.value());
  EXPECT_EQ(forward.value(), even.value());
}

// Against integers: multiples of 2^-60 that a 128-bit integer adds up exactly.
TEST(ExactSum, EqualsIntegers) {
  Rng rng(2);
  ExactSum sum;
  __int128 exact = 0;
  for (int i = 0; i < 10000; ++i) {
    const std::int64_t term =
        static_cast<std::int64_t>(rng.Next()) >> rng.Between(11, 60);
    exact += term;
    sum.Add(static_cast<double>(term) * 0x1p-60);
    if (i % 100 == 0) {
      const double expected = static_cast<double>(exact) * 0x1p-60;
      EXPECT_NEAR(sum.value(), expected, std::abs(expected) * 0x1p-51);
    }
  }
}

TEST(ExactSum, ManyAdditionsCarry) {
  ExactSum doubled;
  doubled.Add(1 - 0x1p-53);
  for (int i = 0; i < 62; ++i) doubled.Add(ExactSum(doubled));
  EXPECT_EQ(doubled.value(), (1 - 0x1p-53) * 0x1p62);
}

}  // namespace
}  // namespace ruy_like
