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

namespace ruy_like {

using kernels::Kernel;
using kernels::PackArgs;

namespace {

// Every panel of an operand of depth 0. The product of zeros is the zero
// accumulators that it asks for.
alignas(kBufferAlignment) constexpr char kZeroPanel
    [PackedSide::kMaxZeroPanelBytes] = {};

}  // namespace

RUY_LIKE_HOT PackedSide::PackedSide(const Operand& operand_arg,
                                    const Kernel& kernel, Side side)
    : operand(&operand_arg),
      kernel_side(side),
      format(&FormatOf(kernel, side)),
      pack(side == Side::kLhs ? kernel.pack_lhs : kernel.pack_rhs) {
  if (format->in_place) {
    padded_depth = operand->depth;
    data = static_cast<const char*>(operand->data);
    stride_bytes = BytesOf(format->scalar, operand->stride);
    return;
  }
  // Both sides are padded to the same depth.
  const std::ptrdiff_t multiple = DepthMultiple(kernel);
  if (operand->depth == 0) {
    padded_depth = multiple;
    stride_bytes = 0;
    data = kZeroPanel;
    return;
  }
  padded_depth = RoundUpToPowerOf2(operand->depth, multiple);
  stride_bytes = BytesOf(format->scalar, padded_depth * format->width);
  panels_bytes_ = CeilDiv(operand->width, format->width) * stride_bytes;
  if (operand->packed != nullptr) Use(operand->packed->data);
}

RUY_LIKE_HOT void PackedSide::Use(const PackedData& packed) {
  if (operand->depth == 0) return;
  data = static_cast<const char*>(packed.panels);
  sums = packed.sums;
}

std::size_t PackedSide::PackedBytes() const {
  const std::size_t sums_bytes =
      HasSums() ? operand->width * sizeof(std::int32_t) : 0;
  return ScratchArena::Footprint(panels_bytes_) +
         ScratchArena::Footprint(sums_bytes);
}

void PackedSide::PackTo(void* buffer, PackedData* packed) {
  char* const panels = static_cast<char*>(buffer);
  char* const panels_end = panels + panels_bytes_;
  char* const sums_begin = panels + ScratchArena::Footprint(panels_bytes_);
  std::memset(panels_end, 0, sums_begin - panels_end);
  packed->panels = panels;
  if (HasSums()) {
    char* const sums_end = sums_begin + operand->width * sizeof(std::int32_t);
    std::memset(sums_end, 0, panels + PackedBytes() - sums_end);
    writable_sums = reinterpret_cast<std::int32_t*>(sums_begin);
    packed->sums = writable_sums;
  }
  Use(*packed);
}

RUY_LIKE_HOT void PackedSide::Pack(std::ptrdiff_t start,
                                   std::ptrdiff_t end) const {
  PackLevels(start, end, 0, padded_depth,
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
                       kernel_side == Side::kLhs ? "pack lhs" : "pack rhs",
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
  pack(&args);
}

}  // namespace ruy_like
