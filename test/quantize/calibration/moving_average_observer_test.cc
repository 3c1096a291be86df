#include "ruy_like/quantize/moving_average_observer.h"

#include <gtest/gtest.h>

#include <vector>

#include "test/support/test_util.h"

namespace ruy_like {
namespace {

TEST(MovingAverageObserverTest, FollowsTheFormula) {
  MovingAverageObserver observer(0.25f);
  const std::vector<std::vector<float>> batches = {
      {-1, 0.5f, 4}, {-3, 8, 1}, {2, 2.5f}};
  ASSERT_OK(observer.Observe(batches[0]));
  EXPECT_EQ(observer.min(), -1);
  EXPECT_EQ(observer.max(), 4);
  ASSERT_OK(observer.Observe(batches[1]));
  EXPECT_EQ(observer.min(), -1.5f);  // 0.75 * -1 + 0.25 * -3
  EXPECT_EQ(observer.max(), 5);
  // The whole batch is above 0.
  ASSERT_OK(observer.Observe(RowMajorOf(batches[2].data(), 2, 1)));
  EXPECT_EQ(observer.min(), -0.625f);  // 0.75 * -1.5 + 0.25 * 2
  EXPECT_EQ(observer.max(), 4.375f);   // 0.75 * 5 + 0.25 * 2.5
  EXPECT_EQ(observer.batches(), 3u);

  CalibrationOptions options;
  EXPECT_EQ(observer.ChooseParams(options).value(),
            ChooseSymmetric(4.375f, 8).value());
  options.scheme = QuantScheme::kAffineUnsigned;
  EXPECT_EQ(observer.ChooseParams(options).value(),
            ChooseAffine(-0.625f, 4.375f, 0, 255).value());
}

TEST(MovingAverageObserverTest, SkipsWhatIsNotFinite) {
  MovingAverageObserver observer(0.5f);
  EXPECT_CODE(kPrecondition, observer.ChooseParams({}));
  ASSERT_OK(observer.Observe(std::vector<float>{kInf, -kInf}));
  ASSERT_OK(observer.Observe(absl::Span<const float>()));
  EXPECT_EQ(observer.batches(), 0u);
  ASSERT_OK(observer.Observe(std::vector<float>{kInf, 1, 3}));
  EXPECT_EQ(observer.batches(), 1u);
  EXPECT_EQ(observer.min(), 1);
  EXPECT_EQ(observer.max(), 3);
  // A range without 0 is widened.
  CalibrationOptions options;
  options.scheme = QuantScheme::kAffineSigned;
  EXPECT_EQ(observer.ChooseParams(options).value(),
            ChooseAffine(0, 3, -128, 127).value());
}

TEST(MovingAverageObserverTest, Errors) {
  const std::vector<float> values = {1, 2};
  for (const float constant : {0.0f, -1.0f, 1.5f, kInf - kInf}) {
    MovingAverageObserver observer(constant);
    EXPECT_CODE(kInvalid, observer.Observe(values)) << constant;
    EXPECT_EQ(observer.batches(), 0u);
  }
  MovingAverageObserver observer;
  EXPECT_CODE(kInvalid, observer.Observe(absl::Span<const float>(
                            static_cast<const float*>(nullptr), 3)));
  ASSERT_OK(observer.Observe(values));
  CalibrationOptions options;
  options.bits = 1;
  EXPECT_CODE(kInvalid, observer.ChooseParams(options));
}

}  // namespace
}  // namespace ruy_like
