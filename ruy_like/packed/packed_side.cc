// Tested in test/packed_matrix_test.cc.
#include "ruy_like/packed/packed_side.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "ruy_like/base/allocator.h"
#include "ruy_like/base/checked_math.h"
#include "ruy_like/base/hot.h"
#include "ruy_like/diagnostics/trace.h"
#include "ruy_like/kernels/groups/group_args.h"
#include "ruy_like/kernels/kernel_facts.h"
#include "ruy_like/pack/pack.h"
#include "ruy_like/packed/group_image.h"

namespace ruy_like {

using kernels::Kernel;
using kernels::PackArgs;

namespace {

// Every panel of an operand of depth 0. The product of zeros is the zero
// accumulators that it asks for.
alignas(kBufferAlignment) constexpr char kZeroPanel
    [PackedSide::kMaxZeroPanelBytes] = {};

// Adds the time to the end of the scope, if that is asked for.
class PackTimer final {
 public:
  explicit PackTimer(std::atomic<std::int64_t>* sum_ns) : sum_ns_(sum_ns) {
    if (g_packing_is_timed) start_ = std::chrono::steady_clock::now();
  }
  ~PackTimer() {
    if (!g_packing_is_timed) return;
    const std::chrono::nanoseconds time =
        std::chrono::steady_clock::now() - start_;
    sum_ns_->fetch_add(time.count(), std::memory_order_relaxed);
  }
  PackTimer(const PackTimer&) = delete;
  PackTimer& operator=(const PackTimer&) = delete;

 private:
  std::atomic<std::int64_t>* const sum_ns_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace

bool g_packing_is_timed = false;

// With group scales: begins with column `start` of one side.
void PackedSide::MoveGroups(std::ptrdiff_t start, PackArgs* args,
                            kernels::GroupPackArgs* of_groups) const {
  args->groups = of_groups;
  if (operand->packed != nullptr) {
    const GroupImage& image = GroupImageOf(*operand->packed);
    const std::ptrdiff_t panel = start / kernels::kGroupPanelRows;
    args->src = static_cast<const char*>(image.data.panels) +
                panel * image.group_shape.panel_bytes;
    if (of_groups->zeros != nullptr) {
      of_groups->zeros +=
          panel * image.group_shape.groups() * kernels::kGroupPanelRows;
    }
    return;
  }
  // Values in place.
  if (shape->panels_bytes == 0) args->dst = nullptr;
  of_groups->starts += start;
  of_groups->group_scales += start;
  of_groups->scales += start;
}

SideShape::SideShape(const Kernel& kernel, Side kernel_side, Scalar scalar_arg,
                     std::ptrdiff_t depth_arg, std::ptrdiff_t width_arg)
    : side(kernel_side),
      scalar(scalar_arg),
      has_sums(HasSums(scalar_arg) && depth_arg > 0 &&
               kernel.packed_lhs == nullptr),
      format(&FormatOf(kernel, side)),
      pack(PackRoutineOf(kernel, side)),
      depth(depth_arg),
      width(width_arg),
      panel_width(format->width),
      groups(0),
      scratch_bytes(0),
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

void SideShape::SetGroups(std::ptrdiff_t group_count, bool in_place,
                          bool depth_contiguous) {
  groups = group_count;
  has_sums = depth > 0;
  const bool is_plain = format->width == 1 && format->scalar == Scalar::kI8;
  if (in_place) {
    stride_bytes = panels_bytes = 0;
    return;
  }
  // Panels as wide as each other, as far as possible.
  const std::ptrdiff_t panels = CeilDiv(width, format->width);
  panel_width = static_cast<int>(CeilDiv(width, panels));
  stride_bytes = BytesOf(format->scalar, padded_depth * panel_width);
  // Columns of 4 KiB, or a multiple, would share sets of L1.
  if (format->width == 1 && stride_bytes % 4096 == 0) stride_bytes += 64;
  panels_bytes = CeilDiv(width, panel_width) * stride_bytes;
  const bool is_int8 = scalar == Scalar::kI8;
  const bool copies = !depth_contiguous || scalar == Scalar::kBF16;
  const std::size_t column = depth + kernels::kGroupColGap;
  if (copies && !(is_int8 && is_plain)) {
    scratch_bytes = is_int8 ? column * kernels::kGroupByteCols
                            : column * kernels::kGroupFloatCols * sizeof(float);
  }
  if (!is_int8 && !is_plain) {
    scratch_bytes += kernels::kGroupFloatCols * depth;
  }
}

std::ptrdiff_t SideShape::Offset(std::ptrdiff_t start, std::ptrdiff_t k,
                                 std::ptrdiff_t stride) const {
  if (format->by_depth) return k * stride + BytesOf(format->scalar, start);
  return format->in_place
             ? start * stride + BytesOf(format->scalar, k)
             : start / panel_width * stride + PanelBytes(*format, k);
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

__attribute__((flatten)) RUY_LIKE_HOT void PackedSide::Pack(
    std::ptrdiff_t start, std::ptrdiff_t end, char* scratch) const {
  PackDepth(start, end, 0, shape->padded_depth,
            const_cast<char*>(data) + Offset(start, 0),
            writable_sums == nullptr ? nullptr : writable_sums + start,
            scratch);
}

RUY_LIKE_HOT void PackedSide::PackDepth(std::ptrdiff_t start,
                                        std::ptrdiff_t end, std::ptrdiff_t k,
                                        std::ptrdiff_t depth, void* panels,
                                        std::int32_t* pass_sums,
                                        char* scratch) const {
  PackArgs args;
  SetArgs(start, end, k, depth, panels, pass_sums, &args);
  const PackTimer timer(&pack_ns);
  kernels::GroupPackArgs of_groups;
  if (groups != nullptr) {
    of_groups = *groups;
    MoveGroups(start, &args, &of_groups);
    of_groups.scratch = scratch;
  }
  const TraceSpan span(TraceSpan::kPack,
                       shape->side == Side::kLhs ? "pack lhs" : "pack rhs",
                       start, start + args.width, args.depth);
  shape->pack(&args);
}

RUY_LIKE_HOT void PackedSide::SetArgs(std::ptrdiff_t start, std::ptrdiff_t end,
                                      std::ptrdiff_t k, std::ptrdiff_t depth,
                                      void* panels, std::int32_t* pass_sums,
                                      PackArgs* args) const {
  // The padding is at the end.
  args->depth = std::min(depth, operand->depth - k);
  const std::ptrdiff_t column_step =
      operand->depth_contiguous ? operand->stride : 1;
  const std::ptrdiff_t depth_step =
      operand->depth_contiguous ? 1 : operand->stride;
  args->src = static_cast<const char*>(operand->data) +
              BytesOf(operand->scalar, start * column_step + k * depth_step);
  args->src_scalar = operand->scalar;
  args->depth_contiguous = operand->depth_contiguous;
  args->src_stride = operand->stride;
  args->width = end - start;
  args->dst = panels;
  args->padded_depth = depth;
  args->sums = pass_sums;
}

}  // namespace ruy_like
