// Packed: one side of a product on its way to the kernel: where its panels
// lie, and the call of its pack routine.
//
// Used by what runs products (product.cc) and by packed_matrix.cc. Decides
// nothing (what is cached, when it is packed), and owns no memory.
#ifndef RUY_LIKE_PACKED_PACKED_SIDE_H_
#define RUY_LIKE_PACKED_PACKED_SIDE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "ruy_like/kernels/kernel.h"
#include "ruy_like/pack/pack.h"
#include "ruy_like/packed/operand.h"
#include "ruy_like/packed/packed_operand.h"
#include "ruy_like/side.h"

namespace ruy_like {

// How an operand of these sizes lies for one side of a kernel. No address of
// the operand, so that it also serves other operands of the same sizes.
struct SideShape {
  SideShape() = default;
  SideShape(const kernels::Kernel& kernel, Side kernel_side, Scalar scalar,
            std::ptrdiff_t depth, std::ptrdiff_t width);
  // For a product with group-scaled weights, completes the activations' side.
  // They are values in place if `in_place`, and depth_contiguous if they are.
  void SetGroups(std::ptrdiff_t group_count, bool in_place,
                 bool depth_contiguous);

  // Where to find columns from `start` (the first of a panel) on at depth
  // `k`, a multiple of dot_width: an offset in bytes. `stride` is
  // that of a PackedSide, or of panels of less depth.
  std::ptrdiff_t Offset(std::ptrdiff_t start, std::ptrdiff_t k,
                        std::ptrdiff_t stride) const;
  // Size of a buffer for panels and sums as packed_operand.h draws it.
  std::size_t PackedBytes() const;
  // One value for each column; with group scales two more for each group.
  std::size_t SumsBytes() const {
    return has_sums ? (1 + 2 * groups) * width * sizeof(std::int32_t) : 0;
  }

  Side side;
  Scalar scalar;  // of the operand
  bool has_sums;  // in its packed form
  const kernels::PanelFormat* format;
  kernels::PackFn* pack;  // null in place
  std::ptrdiff_t depth, width;
  int panel_width;  // columns of a panel in this product
  // For activations the groups of the weights, else 0; and the bytes of
  // scratch memory that packing them takes.
  std::ptrdiff_t groups;
  std::size_t scratch_bytes;
  std::ptrdiff_t padded_depth;  // in place the depth
  // From panel to panel; 0 in place, and for depth 0, where all panels are one.
  std::ptrdiff_t stride_bytes;
  std::ptrdiff_t panels_bytes;  // 0 in place and for depth 0
};

// An operand of that shape, and its panels.
struct PackedSide {
  // All panels of an operand of depth 0 are one panel of zeros, of at most this
  // many bytes; it has no panels or sums of its own.
  static constexpr std::size_t kMaxZeroPanelBytes = 16384;

  // Both must outlive this. Afterwards ReadInPlace, Use or PackTo says where
  // the panels are. Not a constructor: compilers copy what they assign as
  // vectors, right after its fields were stored, which stalls on store
  // forwarding.
  void Init(const Operand& operand_arg, const SideShape& shape_arg) {
    operand = &operand_arg;
    shape = &shape_arg;
    stride_bytes = shape_arg.stride_bytes;
    data = nullptr;
    sums = nullptr;
    writable_sums = nullptr;
    groups = nullptr;
    pack_ns.store(0, std::memory_order_relaxed);
  }

  // Reads the operand where it lies, or zeros for one of depth 0.
  void ReadInPlace();
  // Reads what has been packed before.
  void Use(const PackedData& packed);
  // Makes Pack write to a buffer of shape->PackedBytes(), with sums even if
  // this product does not need them (the next one may have another zero point),
  // and *packed point into it. Zeroes what Pack does not write.
  void PackTo(void* buffer, PackedData* packed);

  std::ptrdiff_t Offset(std::ptrdiff_t start, std::ptrdiff_t k) const {
    // The case of every small product, without a division.
    return (start | k) == 0 ? 0 : shape->Offset(start, k, stride_bytes);
  }

  // Packs columns [start, end), where `start` is the first of a panel, to
  // where `data` and `writable_sums` say. `scratch`: shape->scratch_bytes.
  void Pack(std::ptrdiff_t start, std::ptrdiff_t end,
            char* scratch = nullptr) const;

  // Packs elements [k, k + depth) of these columns as if they were the
  // whole padded depth: to `panels`, and their sums, unless that is null, to
  // `pass_sums`, which begins with column `start`.
  void PackDepth(std::ptrdiff_t start, std::ptrdiff_t end, std::ptrdiff_t k,
                 std::ptrdiff_t depth, void* panels, std::int32_t* pass_sums,
                 char* scratch = nullptr) const;

  // For an operand without groups that is packed again and again: what
  // Pack(0, shape->width) tells the routine.
  void SetArgs(kernels::PackArgs* args) const {
    SetArgs(0, shape->width, 0, shape->padded_depth, const_cast<char*>(data),
            writable_sums, args);
  }

  void SetArgs(std::ptrdiff_t start, std::ptrdiff_t end, std::ptrdiff_t k,
               std::ptrdiff_t depth, void* panels, std::int32_t* pass_sums,
               kernels::PackArgs* args) const;
  void MoveGroups(std::ptrdiff_t start, kernels::PackArgs* args,
                  kernels::GroupPackArgs* of_groups) const;

  const Operand* operand;
  const SideShape* shape;
  // From panel to panel; in place from column to column, or from depth to
  // depth if that is how it is read.
  std::ptrdiff_t stride_bytes;
  // Where kernels read: packed panels, or the operand's own data.
  const char* data;
  // One per column, or null.
  const std::int32_t* sums;
  // Where Pack writes sums; null if not needed.
  std::int32_t* writable_sums;
  // With group scales: what the routine is told besides, for the whole operand.
  const kernels::GroupPackArgs* groups;
  // Packing since Init, of all threads together, if g_packing_is_timed.
  mutable std::atomic<std::int64_t> pack_ns;
};

// For RUY_LIKE_VERBOSE=summary: set by verbose.cc before main; not to be
// written afterwards.
extern bool g_packing_is_timed;

}  // namespace ruy_like

#endif  // RUY_LIKE_PACKED_PACKED_SIDE_H_
