#include "ruy_like/quantize/window.h"

#include <algorithm>
#include <limits>

#include "ruy_like/base/checked_math.h"
#include "ruy_like/base/no_memory.h"
#include "ruy_like/quantize/checks/checks.h"

namespace ruy_like {
namespace {

// Sizes up to here have sums and products of two that fit in ptrdiff_t.
constexpr std::ptrdiff_t kMaxSize = std::numeric_limits<std::int32_t>::max();

// One dimension of image and window.
struct Axis {
  const char* name;
  std::ptrdiff_t size, kernel, stride, dilation, pad_before, pad_after;

  std::ptrdiff_t Extent() const { return (kernel - 1) * dilation + 1; }
};

Axis Vertical(const TensorShape& input, const Window& window) {
  return {"height",
          input.height,
          window.kernel_height,
          window.stride_height,
          window.dilation_height,
          window.padding.top,
          window.padding.bottom};
}

Axis Horizontal(const TensorShape& input, const Window& window) {
  return {"width",
          input.width,
          window.kernel_width,
          window.stride_width,
          window.dilation_width,
          window.padding.left,
          window.padding.right};
}

absl::Status Validate(const Axis& axis) {
  const auto in_range = [](std::ptrdiff_t value, std::ptrdiff_t lowest) {
    return value >= lowest && value <= kMaxSize;
  };
  if (in_range(axis.size, 0) && in_range(axis.kernel, 1) &&
      in_range(axis.stride, 1) && in_range(axis.dilation, 1) &&
      in_range(axis.pad_before, 0) && in_range(axis.pad_after, 0)) {
    return absl::OkStatus();
  }
  return Invalid("a size is out of range: ", axis.name, " ", axis.size,
                 ", kernel ", axis.kernel, ", stride ", axis.stride,
                 ", dilation ", axis.dilation, ", padding ", axis.pad_before,
                 " and ", axis.pad_after);
}

absl::StatusOr<std::ptrdiff_t> OutputSize(const Axis& axis, bool round_up) {
  RUY_LIKE_RETURN_IF_ERROR(Validate(axis));
  const std::ptrdiff_t padded = axis.pad_before + axis.size + axis.pad_after;
  const std::ptrdiff_t steps_over = padded - axis.Extent();
  if (steps_over < 0) {
    return Invalid("the window covers ", axis.Extent(), " elements of ",
                   axis.name, ", but the padded image has ", padded);
  }
  if (!round_up) return steps_over / axis.stride + 1;
  const std::ptrdiff_t within = steps_over / axis.stride + 1;
  const bool begins_on_image =
      within * axis.stride < axis.pad_before + axis.size;
  return steps_over % axis.stride != 0 && begins_on_image ? within + 1 : within;
}

}  // namespace

absl::StatusOr<TensorShape> OutputShape(const TensorShape& input,
                                        const Window& window,
                                        std::ptrdiff_t channels) {
  return CatchNoMemory([&]() -> absl::StatusOr<TensorShape> {
    if (input.batch < 0 || channels < 0) {
      return Invalid("negative size: a batch of ", input.batch, ", ", channels,
                     " output channels");
    }
    RUY_LIKE_ASSIGN_OR_RETURN(
        const auto height,
        OutputSize(Vertical(input, window), window.round_up));
    RUY_LIKE_ASSIGN_OR_RETURN(
        const auto width,
        OutputSize(Horizontal(input, window), window.round_up));
    return TensorShape{input.batch, height, width, channels, input.order};
  });
}

absl::StatusOr<Padding> SamePadding(const TensorShape& input,
                                    const Window& window) {
  return CatchNoMemory([&]() -> absl::StatusOr<Padding> {
    Window unpadded = window;
    unpadded.padding = Padding();
    const auto total = [](const Axis& axis) {
      const std::ptrdiff_t outputs = CeilDiv(axis.size, axis.stride);
      if (outputs == 0) return std::ptrdiff_t{0};
      return std::max<std::ptrdiff_t>(
          (outputs - 1) * axis.stride + axis.Extent() - axis.size, 0);
    };
    const Axis vertical = Vertical(input, unpadded);
    const Axis horizontal = Horizontal(input, unpadded);
    RUY_LIKE_RETURN_IF_ERROR(Validate(vertical));
    RUY_LIKE_RETURN_IF_ERROR(Validate(horizontal));
    const std::ptrdiff_t rows = total(vertical), cols = total(horizontal);
    if (rows > kMaxSize || cols > kMaxSize) {
      return Invalid("padding of ", rows, " rows and ", cols,
                     " columns is too large");
    }
    return Padding{rows / 2, rows - rows / 2, cols / 2, cols - cols / 2};
  });
}

}  // namespace ruy_like
