#include "ruy_like/quantize/channel_observer.h"

#include <gtest/gtest.h>

#include <vector>

#include "test/quantize/lcg.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

// Each channel is what an Observer of its values alone is; sizes around those
// of the blocks that are brought together.
TEST(ChannelObserverTest, EqualsAnObserverForEach) {
  for (const auto& [channels, values] :
       {std::pair<std::ptrdiff_t, std::ptrdiff_t>{1, 1},
        {3, 5},
        {16, 256},
        {17, 257},
        {33, 600}}) {
    for (const Order order : {Order::kRowMajor, Order::kColMajor}) {
      for (const ChannelDimension dimension :
           {ChannelDimension::kRow, ChannelDimension::kCol}) {
        const bool by_row = dimension == ChannelDimension::kRow;
        const std::ptrdiff_t rows = by_row ? channels : values;
        const std::ptrdiff_t cols = by_row ? values : channels;
        const std::ptrdiff_t gap = 3;
        std::vector<float> data = GaussVector((rows + gap) * (cols + gap), 5);
        Matrix<float> matrix = MakeMatrix(data.data(), rows, cols, order, gap);
        *ElementPtr(&matrix, 0, 0) = 0;
        *ElementPtr(&matrix, rows - 1, cols - 1) = kInf;
        ChannelObserver observer;
        ASSERT_OK(observer.Observe(matrix, dimension));
        ASSERT_OK(observer.Observe(matrix, dimension));
        ASSERT_EQ(observer.channels().size(),
                  static_cast<std::size_t>(channels));
        for (std::ptrdiff_t c = 0; c < channels; ++c) {
          std::vector<float> own;
          for (std::ptrdiff_t v = 0; v < values; ++v) {
            own.push_back(by_row ? Element(matrix, c, v)
                                 : Element(matrix, v, c));
          }
          Observer alone;
          ASSERT_OK(alone.Observe(own));
          ASSERT_OK(alone.Observe(own));
          const Observer& one = observer.channels()[c];
          EXPECT_EQ(one.finite_count(), alone.finite_count());
          EXPECT_EQ(one.nonfinite_count(), alone.nonfinite_count());
          EXPECT_EQ(one.zero_count(), alone.zero_count());
          EXPECT_EQ(one.min(), alone.min());
          EXPECT_EQ(one.max(), alone.max());
          EXPECT_EQ(one.histogram().bins, alone.histogram().bins);
          EXPECT_NEAR(one.mean(), alone.mean(), 1e-6);
        }
      }
    }
  }
}

TEST(ChannelObserverTest, ParamsAndMerge) {
  const float a[] = {1, -2, 10, 20}, b[] = {3, 0, -40, 5};
  ChannelObserver first, second;
  const auto row = ChannelDimension::kRow;
  EXPECT_CODE(kPrecondition, first.ChooseParams({}));
  ASSERT_OK(first.Observe(RowMajorOf(a, 2, 2), row));
  ASSERT_OK(second.Observe(RowMajorOf(b, 2, 2), row));
  ASSERT_OK(first.Merge(second));
  ASSERT_OK(first.Merge(ChannelObserver()));
  CalibrationOptions options;
  options.method = CalibrationMethod::kMinMax;
  ASSERT_VALUE(const auto params, first.ChooseParams(options));
  ASSERT_EQ(params.size(), 2u);
  EXPECT_EQ(params[0], ChooseSymmetric(3, 8).value());
  EXPECT_EQ(params[1], ChooseSymmetric(40, 8).value());
  ChannelObserver none;
  ASSERT_OK(none.Merge(first));
  EXPECT_EQ(none.ChooseParams(options).value(), params);
  // As after loading.
  EXPECT_EQ(ChannelObserver(first.channels()).ChooseParams(options).value(),
            params);
}

TEST(ChannelObserverTest, ErrorsObserveNothing) {
  const float a[] = {1, 2, 3, 4, 5, 6};
  const auto row = ChannelDimension::kRow;
  ChannelObserver observer;
  ASSERT_OK(observer.Observe(RowMajorOf(a, 2, 3), row));
  const auto unchanged = [&] {
    return observer.channels().size() == 2 &&
           observer.channels()[0].finite_count() == 3;
  };
  EXPECT_CODE(kInvalid, observer.Observe(RowMajorOf(a, 3, 2), row));
  EXPECT_TRUE(unchanged());
  EXPECT_CODE(kInvalid, observer.Observe(RowMajorOf(a, 2, 3),
                                         static_cast<ChannelDimension>(7)));
  EXPECT_CODE(kInvalid,
              observer.Observe(
                  RowMajorOf(static_cast<const float*>(nullptr), 2, 3), row));
  ChannelObserver three;
  ASSERT_OK(three.Observe(RowMajorOf(a, 3, 2), row));
  EXPECT_CODE(kPrecondition, observer.Merge(three));
  // The second channel's observer has another range.
  std::vector<Observer> ranged(2);
  ASSERT_OK(ranged[1].SetRange(3));
  EXPECT_CODE(kPrecondition, observer.Merge(ChannelObserver(ranged)));
  EXPECT_TRUE(unchanged());
  CalibrationOptions options;
  options.bits = 99;
  EXPECT_CODE(kInvalid, observer.ChooseParams(options));
}

}  // namespace
}  // namespace ruy_like
