// Middle-end: an operand in its packed form, as the prepacked cache and a
// PackedMatrix hold it.
//
// Made by tr_mul.cc (for the cache) and packed_matrix.cc, read by products
// through packed_side.h. Plain values, immutable once made.
//
// Panels and sums lie in one buffer:
//
//    | panels (kernels/kernel.h) | zeros to 64 bytes | sums | zeros to 64 |
//
// The sums, one int32 for each column, are there for integer operands alone.
#ifndef RUY_LIKE_MIDDLE_PACKED_OPERAND_H_
#define RUY_LIKE_MIDDLE_PACKED_OPERAND_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "ruy_like/base/allocator.h"
#include "ruy_like/kernels/kernel.h"
#include "ruy_like/middle/tr_mul_params.h"
#include "ruy_like/path.h"

namespace ruy_like {

struct PackedData {
  AlignedBuffer storage;  // holds the two below, unless somebody else does
  const void* panels = nullptr;
  const std::int32_t* sums = nullptr;  // one per column; or null
};

// Which kernels can read a packed operand.
struct PackedLayout {
  // The path that the kernels belong to.
  Path path;
  // Of the products that it is for, sides as the caller of Mul sees them.
  kernels::Family family;
  // The kernels' side, which is the caller's for a column-major dst and the
  // other one for a row-major dst.
  Side kernel_side;
  // With the depth multiple that both sides of the kernels share.
  kernels::PanelFormat format;
  // The same in the table of kernels, in that line which it was packed for. So
  // its address stands for path, kernel and kernel's side.
  const kernels::PanelFormat* kernel_format;
};

// Whether what reads the one can read the other: all but kernel_format is
// equal.
bool operator==(const PackedLayout& a, const PackedLayout& b);

// "S8 16x4": int8 elements, panels of 16 columns, groups of 4 levels;
// "S8 16x4, depth by 64" where depth is padded to more than a group.
std::string LayoutName(const PackedLayout& layout);

struct PackedOperand {
  PackedData data;
  PackedLayout layout;
  Side side;  // as the caller sees it
  Scalar scalar;
  std::int32_t zero_point;
  std::ptrdiff_t depth, width;
  // The whole of it, with the header that makes it a file: packed_image.h.
  const void* image;
  std::size_t image_bytes;
};

}  // namespace ruy_like

#endif  // RUY_LIKE_MIDDLE_PACKED_OPERAND_H_
