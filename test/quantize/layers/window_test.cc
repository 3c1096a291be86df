#include "ruy_like/quantize/window.h"

#include <gtest/gtest.h>

#include <limits>

#include "test/quantize/reference_conv.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

TensorShape Image(std::ptrdiff_t height, std::ptrdiff_t width) {
  return {2, height, width, 5, TensorOrder::kNchw};
}

TEST(OutputShapeTest, Values) {
  const struct {
    std::ptrdiff_t height, width;
    Window window;
    std::ptrdiff_t out_height, out_width;
  } kCases[] = {
      {56, 56, Square(1, 1, 1, 0), 56, 56},
      {56, 57, Square(3, 1, 1, 1), 56, 57},
      {224, 224, Square(7, 2, 1, 3), 112, 112},
      {8, 9, Square(3, 2, 1, 0), 3, 4},
      {9, 11, Square(3, 1, 4, 0), 1, 3},
      {1, 2, Square(3, 1, 1, 1), 1, 2},
      {0, 4, Square(1, 1, 1, 1), 2, 6},
  };
  for (const auto& c : kCases) {
    ASSERT_VALUE(const auto shape,
                 OutputShape(Image(c.height, c.width), c.window, 7));
    EXPECT_EQ(shape, (TensorShape{2, c.out_height, c.out_width, 7,
                                  TensorOrder::kNchw}));
  }
}

TEST(OutputShapeTest, RoundUp) {
  Window window = Square(3, 2, 1, 0);
  window.round_up = true;
  EXPECT_EQ(OutputShape(Image(8, 7), window, 1)->height, 4);
  EXPECT_EQ(OutputShape(Image(8, 7), window, 1)->width, 3);
  // The last window would begin on the padding at the end.
  window = Square(2, 3, 1, 1);
  window.round_up = true;
  EXPECT_EQ(OutputShape(Image(2, 3), window, 1)->height, 1);
  EXPECT_EQ(OutputShape(Image(2, 3), window, 1)->width, 2);
}

// Also where the padding is wider than the window: what fits without rounding
// up counts with it, too, and one more at most.
TEST(OutputShapeTest, RoundingUpDropsNothing) {
  for (std::ptrdiff_t size = 0; size < 5; ++size) {
    for (std::ptrdiff_t kernel = 1; kernel < 4; ++kernel) {
      for (std::ptrdiff_t stride = 1; stride < 5; ++stride) {
        for (std::ptrdiff_t padding = 0; padding < 6; ++padding) {
          Window window = Square(kernel, stride, 1, padding);
          const auto down = OutputShape(Image(size, size), window, 1);
          window.round_up = true;
          const auto up = OutputShape(Image(size, size), window, 1);
          ASSERT_EQ(up.ok(), down.ok());
          if (!up.ok()) continue;
          // A window more, which begins before the padding at the end.
          const bool more = (size + 2 * padding - kernel) % stride != 0 &&
                            down->height * stride < padding + size;
          EXPECT_EQ(up->height, down->height + (more ? 1 : 0))
              << size << " " << kernel << " " << stride << " " << padding;
          EXPECT_EQ(up->width, up->height);
        }
      }
    }
  }
}

TEST(SamePaddingTest, ValuesAndShapes) {
  for (std::ptrdiff_t size = 1; size < 20; ++size) {
    for (std::ptrdiff_t kernel = 1; kernel < 6; ++kernel) {
      for (std::ptrdiff_t stride = 1; stride < 4; ++stride) {
        for (std::ptrdiff_t dilation = 1; dilation < 3; ++dilation) {
          Window window = Square(kernel, stride, dilation, 99);
          ASSERT_VALUE(const auto padding,
                       SamePadding(Image(size, size + 1), window));
          EXPECT_GE(padding.bottom, padding.top);
          EXPECT_LE(padding.bottom, padding.top + 1);
          window.padding = padding;
          ASSERT_VALUE(const auto shape,
                       OutputShape(Image(size, size + 1), window, 1));
          EXPECT_EQ(shape.height, (size + stride - 1) / stride);
          EXPECT_EQ(shape.width, (size + stride) / stride);
        }
      }
    }
  }
  const auto padding = SamePadding(Image(224, 224), Square(3, 2, 1, 0));
  EXPECT_EQ(padding->top, 0);
  EXPECT_EQ(padding->bottom, 1);
}

TEST(WindowTest, BadSizes) {
  const std::ptrdiff_t huge = std::numeric_limits<std::ptrdiff_t>::max();
  for (const Window& window :
       {Square(0, 1, 1, 0), Square(1, 0, 1, 0), Square(1, 1, 0, 0),
        Square(1, 1, 1, -1), Square(huge, 1, 1, 0), Square(2, 1, huge, 0),
        Square(1, huge, 1, 0), Square(1, 1, 1, huge), Square(5, 1, 1, 0)}) {
    EXPECT_CODE(kInvalid, OutputShape(Image(4, 4), window, 1));
  }
  EXPECT_FALSE(OutputShape(Image(-1, 4), Square(1, 1, 1, 0), 1).ok());
  EXPECT_FALSE(SamePadding(Image(4, 4), Square(0, 1, 1, 0)).ok());
  const std::ptrdiff_t large = std::numeric_limits<std::int32_t>::max();
  EXPECT_FALSE(SamePadding(Image(4, 4), Square(large, 1, large, 0)).ok());
}

}  // namespace
}  // namespace ruy_like
