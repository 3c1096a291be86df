// Tested in test/packed_matrix_test.cc.
#include "ruy_like/packed/packed_side.h"

#include <algorithm>
#include <cstring>

#include "ruy_like/base/allocator.h"
#include "ruy_like/base/checked_math.h"
#include "ruy_like/base/hot.h"
#include "ruy_like/diagnostics/pack_meter.h"
#include "ruy_like/diagnostics/trace.h"
#include "ruy_like/kernels/kernel_facts.h"
#include "ruy_like/pack/pack.h"

namespace ruy_like {

using kernels::Kernel;
using kernels::PackArgs;

namespace {

// Every panel of an operand of depth 0. The product of zeros is the zero
// accumulators that it asks for.
alignas(kBufferAlignment) constexpr char kZeroPanel
    [PackedSide::kMaxZeroPanelBytes] = {};

}  // namespace

SideShape::SideShape(const Kernel& kernel, Side kernel_side, Scalar scalar_arg,
                     std::ptrdiff_t depth_arg, std::ptrdiff_t width_arg)
    : side(kernel_side),
      scalar(scalar_arg),
      has_sums(HasSums(scalar_arg) && depth_arg > 0),
      format(&FormatOf(kernel, side)),
      pack(PackRoutineOf(kernel, side)),
      depth(depth_arg),
      width(width_arg),
      padded_depth(depth_arg),
      stride_bytes(0),
      panels_bytes(0) {
  if (format->in_place) return;
  // Both sides are padded to the same depth.
  const std::ptrdiff_t multiple = DepthMultiple(kernel);
  padded_depth = std::max(RoundUpToPowerOf2(depth, multiple), multiple);
  if (depth == 0) return;
  stride_bytes = PanelBytes(*format, padded_depth);
  panels_bytes = CeilDiv(width, format->width) * stride_bytes;
}

std::ptrdiff_t SideShape::Offset(std::ptrdiff_t start, std::ptrdiff_t level,
                                 std::ptrdiff_t stride) const {
  if (format->by_level) return level * stride + BytesOf(format->scalar, start);
  return format->in_place
             ? start * stride + BytesOf(format->scalar, level)
             : start / format->width * stride + PanelBytes(*format, level);
}

std::size_t SideShape::PackedBytes() const {
  return ScratchArena::Footprint(panels_bytes) +
         ScratchArena::Footprint(SumsBytes());
}

RUY_LIKE_HOT void PackedSide::ReadInPlace() {
  if (shape->depth == 0) {
    data = kZeroPanel;
    return;
  }
  data = static_cast<const char*>(operand->data);
  stride_bytes = BytesOf(operand->scalar, operand->stride);
}

RUY_LIKE_HOT void PackedSide::Use(const PackedData& packed) {
  if (shape->depth == 0) {
    data = kZeroPanel;
    return;
  }
  data = static_cast<const char*>(packed.panels);
  sums = packed.sums;
}

void PackedSide::PackTo(void* buffer, PackedData* packed) {
  char* const panels = static_cast<char*>(buffer);
  char* const panels_end = panels + shape->panels_bytes;
  char* const sums_begin =
      panels + ScratchArena::Footprint(shape->panels_bytes);
  std::memset(panels_end, 0, sums_begin - panels_end);
  packed->panels = panels;
  if (shape->has_sums) {
    char* const sums_end = sums_begin + shape->SumsBytes();
    std::memset(sums_end, 0, panels + shape->PackedBytes() - sums_end);
    writable_sums = reinterpret_cast<std::int32_t*>(sums_begin);
    packed->sums = writable_sums;
  }
  Use(*packed);
}

RUY_LIKE_HOT void PackedSide::Pack(std::ptrdiff_t start,
                                   std::ptrdiff_t end) const {
  PackLevels(start, end, 0, shape->padded_depth,
             const_cast<char*>(data) + Offset(start, 0),
             writable_sums == nullptr ? nullptr : writable_sums + start);
}

RUY_LIKE_HOT void PackedSide::PackLevels(std::ptrdiff_t start,
                                         std::ptrdiff_t end,
                                         std::ptrdiff_t level,
                                         std::ptrdiff_t levels, void* panels,
                                         std::int32_t* level_sums) const {
  PackArgs args;
  // The padding is at the end.
  args.depth = std::min(levels, operand->depth - level);
  const PackSpan pack_span(operand);
  const TraceSpan span(TraceSpan::kPack,
                       shape->side == Side::kLhs ? "pack lhs" : "pack rhs",
                       start, end, args.depth);
  const std::ptrdiff_t column_step =
      operand->depth_contiguous ? operand->stride : 1;
  const std::ptrdiff_t level_step =
      operand->depth_contiguous ? 1 : operand->stride;
  args.src = static_cast<const char*>(operand->data) +
             BytesOf(operand->scalar, start * column_step + level * level_step);
  args.src_scalar = operand->scalar;
  args.depth_contiguous = operand->depth_contiguous;
  args.src_stride = operand->stride;
  args.width = end - start;
  args.dst = panels;
  args.padded_depth = levels;
  args.sums = level_sums;
  shape->pack(&args);
}

}  // namespace ruy_like
