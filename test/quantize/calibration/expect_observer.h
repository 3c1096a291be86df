// Compares observers, for tests.
#ifndef RUY_LIKE_TEST_QUANTIZE_CALIBRATION_EXPECT_OBSERVER_H_
#define RUY_LIKE_TEST_QUANTIZE_CALIBRATION_EXPECT_OBSERVER_H_

#include <gtest/gtest.h>

#include "ruy_like/quantize/observer.h"

namespace ruy_like {

// All that can be seen of an Observer, the moments to the last bit.
inline void ExpectSame(const Observer& a, const Observer& b) {
  EXPECT_EQ(a.finite_count(), b.finite_count());
  EXPECT_EQ(a.zero_count(), b.zero_count());
  EXPECT_EQ(a.nonfinite_count(), b.nonfinite_count());
  EXPECT_EQ(a.min(), b.min());
  EXPECT_EQ(a.max(), b.max());
  EXPECT_EQ(a.mean(), b.mean());
  EXPECT_EQ(a.standard_deviation(), b.standard_deviation());
  EXPECT_EQ(a.mean_magnitude(), b.mean_magnitude());
  EXPECT_EQ(a.histogram().bin_width, b.histogram().bin_width);
  EXPECT_EQ(a.histogram().bins, b.histogram().bins);
}

}  // namespace ruy_like

#endif  // RUY_LIKE_TEST_QUANTIZE_CALIBRATION_EXPECT_OBSERVER_H_
