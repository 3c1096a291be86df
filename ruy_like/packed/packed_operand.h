// Packed: an operand in its packed form, as the prepacked cache and a
// PackedMatrix hold it.
//
// PackedData is made by product.cc for the cache, PackedOperand by
// packed_matrix.cc; products read them through packed_side.h. Plain values,
// immutable once made.
//
// Panels and sums lie in one buffer:
//
//    | panels (panel_format.h)  | zeros to 64 bytes | sums | zeros to 64 |
//
// Only integer operands have sums, one int32 for each column. A depth of 0 has
// neither panels nor sums.
#ifndef RUY_LIKE_PACKED_PACKED_OPERAND_H_
#define RUY_LIKE_PACKED_PACKED_OPERAND_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "ruy_like/base/allocator.h"
#include "ruy_like/erased_call.h"
#include "ruy_like/packed/packed_layout.h"
#include "ruy_like/scalar.h"

namespace ruy_like {

struct PackedData {
  AlignedBuffer storage;  // of panels and sums, unless they lie elsewhere
  const void* panels = nullptr;
  const std::int32_t* sums = nullptr;  // one per column; or null
};

// Never 0.
inline std::uint64_t NewPackedId() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

// The contents of an image's header (packed_image.h); layout.kernel_format is
// not among them.
struct ImageHeader {
  PackedLayout layout;
  // The operand that it can be, as the caller of Mul sees it. (Weights with
  // group scales can be either one: group_image.h.)
  Side side;
  Scalar scalar;
  std::int32_t zero_point;
  std::ptrdiff_t depth, width;
  std::size_t image_bytes;  // header included
  std::uint64_t data_checksum;
};

struct PackedOperand : ImageHeader {
  // No other one of the process has it, whose address may be the same later.
  std::uint64_t id = NewPackedId();
  const void* image;
  PackedData data;
};

}  // namespace ruy_like

#endif  // RUY_LIKE_PACKED_PACKED_OPERAND_H_
