// Tested in test/quantize/quantize_dequantize_test.cc.
#include "ruy_like/quantize/walk.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "ruy_like/quantize/memory_checks.h"

namespace ruy_like {
namespace quantize_internal {
namespace {

std::ptrdiff_t InnerSize(const Layout& layout) {
  return layout.order() == Order::kColMajor ? layout.rows() : layout.cols();
}

std::ptrdiff_t OuterSize(const Layout& layout) {
  return layout.order() == Order::kColMajor ? layout.cols() : layout.rows();
}

bool IsEmpty(const Layout& layout) {
  return layout.rows() == 0 || layout.cols() == 0;
}

std::string Shape(const Layout& layout) {
  return absl::StrCat(layout.rows(), "x", layout.cols());
}

Steps StepsOf(const Layout& layout, Order line_order) {
  return layout.order() == line_order ? Steps{layout.stride(), 1}
                                      : Steps{1, layout.stride()};
}

PairWalk WalkInOrder(const View& src, const View& dst, Order order) {
  PairWalk walk;
  const Layout& layout = dst.layout;
  const bool by_column = order == Order::kColMajor;
  walk.lines.count = by_column ? layout.cols() : layout.rows();
  walk.lines.inner = by_column ? layout.rows() : layout.cols();
  walk.src = StepsOf(src.layout, order);
  walk.dst = StepsOf(dst.layout, order);
  return walk;
}

}  // namespace

std::ptrdiff_t BytesOf(ElementType type) {
  switch (type) {
    case ElementType::kI8:
    case ElementType::kU8:
      return 1;
    case ElementType::kI16:
      return 2;
    case ElementType::kI32:
    case ElementType::kF32:
      break;
  }
  return 4;
}

std::int32_t LowestOf(ElementType type) {
  switch (type) {
    case ElementType::kI8:
      return std::numeric_limits<std::int8_t>::min();
    case ElementType::kU8:
      return 0;
    case ElementType::kI16:
      return std::numeric_limits<std::int16_t>::min();
    case ElementType::kI32:
    case ElementType::kF32:
      break;
  }
  return std::numeric_limits<std::int32_t>::min();
}

std::int32_t HighestOf(ElementType type) {
  switch (type) {
    case ElementType::kI8:
      return std::numeric_limits<std::int8_t>::max();
    case ElementType::kU8:
      return std::numeric_limits<std::uint8_t>::max();
    case ElementType::kI16:
      return std::numeric_limits<std::int16_t>::max();
    case ElementType::kI32:
    case ElementType::kF32:
      break;
  }
  return std::numeric_limits<std::int32_t>::max();
}

std::size_t ExtentBytes(const View& view) {
  const Layout& layout = view.layout;
  if (IsEmpty(layout)) return 0;
  return static_cast<std::size_t>(
      ((OuterSize(layout) - 1) * layout.stride() + InnerSize(layout)) *
      BytesOf(view.type));
}

absl::Status ValidateView(const char* name, const View& view) {
  const Layout& layout = view.layout;
  if (layout.rows() < 0 || layout.cols() < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, " is null or has a negative dimension: ", Shape(layout)));
  }
  if (layout.order() != Order::kColMajor &&
      layout.order() != Order::kRowMajor) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, " has an unknown order ", static_cast<int>(layout.order())));
  }
  if (layout.stride() < InnerSize(layout)) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, " (", Shape(layout), ") has stride ", layout.stride(),
        ", below its ", InnerSize(layout), " elements"));
  }
  std::ptrdiff_t bytes;
  if (__builtin_mul_overflow(layout.stride(), OuterSize(layout), &bytes) ||
      __builtin_mul_overflow(bytes, std::ptrdiff_t{8}, &bytes)) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " (", Shape(layout), ", stride ", layout.stride(),
                     ") is too large: its byte count overflows"));
  }
  if (view.data == nullptr && !IsEmpty(layout)) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " (", Shape(layout), ") has null data"));
  }
  return absl::OkStatus();
}

absl::Status ValidatePair(const char* src_name, const View& src,
                          const char* dst_name, const View& dst) {
  absl::Status status = ValidateView(src_name, src);
  if (!status.ok()) return status;
  status = ValidateView(dst_name, dst);
  if (!status.ok()) return status;
  if (src.layout.rows() != dst.layout.rows() ||
      src.layout.cols() != dst.layout.cols()) {
    return absl::InvalidArgumentError(
        absl::StrCat(src_name, " is ", Shape(src.layout), ", ", dst_name,
                     " is ", Shape(dst.layout)));
  }
  if (IsEmpty(dst.layout)) return absl::OkStatus();
  if (dst.is_const) {
    return absl::InvalidArgumentError(absl::StrCat(
        dst_name, " was set from a pointer to const: it can not be written"));
  }
  return CheckNoSharedBytes(src_name, src.data, ExtentBytes(src), dst_name,
                            dst.data, ExtentBytes(dst));
}

PairWalk WalkAlongDst(const View& src, const View& dst) {
  PairWalk walk = WalkInOrder(src, dst, dst.layout.order());
  if (walk.src.element == 1 && walk.src.line == walk.lines.inner &&
      walk.dst.line == walk.lines.inner) {
    walk.lines = {1, walk.lines.count * walk.lines.inner};
  }
  return walk;
}

PairWalk WalkChannels(const View& src, const View& dst,
                      ChannelDimension channels) {
  return WalkInOrder(
      src, dst,
      channels == ChannelDimension::kRow ? Order::kRowMajor : Order::kColMajor);
}

}  // namespace quantize_internal
}  // namespace ruy_like
