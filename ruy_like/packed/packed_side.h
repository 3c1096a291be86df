// Packed: one side of a product on its way to the kernel: where its panels
// lie, and the call of its pack routine.
//
// Used by product.cc and packed_matrix.cc. Decides nothing (what is cached,
// when it is packed), and owns no memory.
#ifndef RUY_LIKE_PACKED_PACKED_SIDE_H_
#define RUY_LIKE_PACKED_PACKED_SIDE_H_

#include <cstddef>
#include <cstdint>

#include "ruy_like/kernels/kernel.h"
#include "ruy_like/pack/pack.h"
#include "ruy_like/packed/operand.h"
#include "ruy_like/packed/packed_layout.h"
#include "ruy_like/packed/packed_operand.h"
#include "ruy_like/side.h"

namespace ruy_like {

struct PackedSide {
  PackedSide(const Operand& operand_arg, const kernels::Kernel& kernel,
             Side side);

  // An operand of depth 0 has neither panels nor sums of its own, however wide
  // it is: each of its panels is the same one of zeros, of at most so many
  // bytes.
  static constexpr std::size_t kMaxZeroPanelBytes = 16384;

  std::ptrdiff_t panels_bytes() const { return panels_bytes_; }
  // Whether the packed form has sums.
  bool HasSums() const {
    return ruy_like::HasSums(operand->scalar) && operand->depth > 0;
  }

  // Nothing is to be packed: kernels read the operand where it lies, or the
  // caller has packed it, or there is nothing of it.
  bool IsReady() const {
    return format->in_place || operand->packed != nullptr ||
           operand->depth == 0;
  }

  // Reads what has been packed before; not of depth 0.
  void Use(const PackedData& packed);

  // Size of a buffer for panels and sums as packed_operand.h draws it, with
  // sums whether this product needs them or not: the next one may have another
  // zero point.
  std::size_t PackedBytes() const;
  // Has Pack write to such a buffer, and *packed point into it. Zeroes what
  // Pack leaves out.
  void PackTo(void* buffer, PackedData* packed);

  // Offset in bytes of column `start` (the first of a panel) at depth `level`,
  // a multiple of the panel's group.
  std::ptrdiff_t Offset(std::ptrdiff_t start, std::ptrdiff_t level) const {
    // Every small product, which the division below would keep waiting.
    if (start == 0 && level == 0) return 0;
    if (format->by_level) {
      return level * stride_bytes + BytesOf(format->scalar, start);
    }
    const std::ptrdiff_t elements =
        format->in_place ? level : level * format->width;
    return (format->in_place ? start : start / format->width) * stride_bytes +
           BytesOf(format->scalar, elements);
  }

  // Packs columns [start, end), where `start` is the first of a panel, to
  // where `data` and `writable_sums` say.
  void Pack(std::ptrdiff_t start, std::ptrdiff_t end) const;

  // Packs levels [level, level + levels) of these columns as if they were the
  // whole padded depth: to `panels`, and their sums, unless that is null, to
  // `level_sums`, which begins with column `start`.
  void PackLevels(std::ptrdiff_t start, std::ptrdiff_t end,
                  std::ptrdiff_t level, std::ptrdiff_t levels, void* panels,
                  std::int32_t* level_sums) const;

  const Operand* operand;
  Side kernel_side;
  const kernels::PanelFormat* format;
  kernels::PackFn* pack;
  std::ptrdiff_t padded_depth;
  // From panel to panel; in place from column to column, or from level to
  // level if that is how it is read. 0 for depth 0.
  std::ptrdiff_t stride_bytes;
  // Where kernels read: packed panels, or the operand's own data.
  const char* data = nullptr;
  // One per column, or null.
  const std::int32_t* sums = nullptr;
  // Where Pack puts sums; null where they are not wanted.
  std::int32_t* writable_sums = nullptr;

 private:
  std::ptrdiff_t panels_bytes_ = 0;
};

}  // namespace ruy_like

#endif  // RUY_LIKE_PACKED_PACKED_SIDE_H_
