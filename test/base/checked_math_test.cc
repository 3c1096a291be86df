#include "ruy_like/base/checked_math.h"

#include <cstddef>
#include <limits>

#include "gtest/gtest.h"

namespace ruy_like {
namespace {

constexpr std::ptrdiff_t kMax = std::numeric_limits<std::ptrdiff_t>::max();
constexpr std::size_t kMaxSize = std::numeric_limits<std::size_t>::max();

TEST(CheckedMathTest, ResultsThatFit) {
  std::ptrdiff_t result = 0;
  EXPECT_TRUE(CheckedAdd<std::ptrdiff_t>(kMax - 1, 1, &result));
  EXPECT_EQ(result, kMax);
  EXPECT_TRUE(CheckedMul<std::ptrdiff_t>(kMax / 2, 2, &result));
  EXPECT_EQ(result, kMax - 1);
}

TEST(CheckedMathTest, OverflowIsReported) {
  std::ptrdiff_t result = 0;
  EXPECT_FALSE(CheckedAdd<std::ptrdiff_t>(kMax, 1, &result));
  EXPECT_FALSE(CheckedMul<std::ptrdiff_t>(kMax, 2, &result));
  std::size_t unsigned_result = 0;
  EXPECT_FALSE(CheckedMul<std::size_t>(kMaxSize / 2 + 1, 2, &unsigned_result));
}

TEST(SaturatingTest, StopsAtTheLargestValue) {
  EXPECT_EQ(SaturatingAdd(kMaxSize - 5, 4), kMaxSize - 1);
  EXPECT_EQ(SaturatingAdd(kMaxSize - 5, 5), kMaxSize);
  EXPECT_EQ(SaturatingAdd(kMaxSize - 5, 6), kMaxSize);
  EXPECT_EQ(SaturatingAdd(kMaxSize, kMaxSize), kMaxSize);
  EXPECT_EQ(SaturatingMul(kMaxSize / 2, 2), kMaxSize - 1);
  EXPECT_EQ(SaturatingMul(kMaxSize / 2 + 1, 2), kMaxSize);
  EXPECT_EQ(SaturatingMul(2, kMaxSize / 2 + 1), kMaxSize);
  EXPECT_EQ(SaturatingMul(kMaxSize, 0), 0u);
  EXPECT_EQ(SaturatingMul(0, kMaxSize), 0u);
}

TEST(CeilDivTest, RoundsUpWithoutOverflow) {
  EXPECT_EQ(CeilDiv(0, 7), 0);
  EXPECT_EQ(CeilDiv(7, 7), 1);
  EXPECT_EQ(CeilDiv(8, 7), 2);
  EXPECT_EQ(CeilDiv(kMax, 2), kMax / 2 + 1);
}

TEST(CheckedMathTest, RoundUpToPowerOf2) {
  EXPECT_EQ(RoundUpToPowerOf2(0, 16), 0);
  EXPECT_EQ(RoundUpToPowerOf2(1, 16), 16);
  EXPECT_EQ(RoundUpToPowerOf2(16, 16), 16);
  EXPECT_EQ(RoundUpToPowerOf2(17, 16), 32);
  EXPECT_EQ(RoundUpToPowerOf2(5, 1), 5);
}

}  // namespace
}  // namespace ruy_like
