// Packed: which kernels can read an operand that is packed ahead of products.
//
// Made by the registry for a kernel, kept with the operand, compared by the
// registry when a product comes.
#ifndef RUY_LIKE_PACKED_PACKED_LAYOUT_H_
#define RUY_LIKE_PACKED_PACKED_LAYOUT_H_

#include <string>

#include "ruy_like/kernels/panel_format.h"
#include "ruy_like/path.h"
#include "ruy_like/side.h"

namespace ruy_like {

struct PackedLayout {
  // The path that the kernels belong to; kNone: kernels of all paths read it.
  Path path;
  // Family of the products that it is for; sides as the caller of Mul sees
  // them.
  Family family;
  // The kernels' side, which is the caller's for a column-major dst and the
  // other one for a row-major dst.
  Side kernel_side;
  // Its depth multiple is the one that both sides of the kernels share.
  kernels::PanelFormat format;
  // The format in the kernel table's line that the operand was packed for. Its
  // address identifies path, kernel and kernel's side.
  const kernels::PanelFormat* kernel_format;
};

// True if the same kernels read both: all fields but kernel_format are equal.
bool operator==(const PackedLayout& a, const PackedLayout& b);

// "S8 16x4": int8 elements, panels of 16 columns, dots of 4;
// "S8 16x4, depth by 64" where depth is padded to more than those; "S7 8x4,
// depth by 8" where the elements are int7.
std::string LayoutName(const PackedLayout& layout);

}  // namespace ruy_like

#endif  // RUY_LIKE_PACKED_PACKED_LAYOUT_H_
