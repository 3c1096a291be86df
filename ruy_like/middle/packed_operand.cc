#include "ruy_like/middle/packed_operand.h"

#include "absl/strings/str_cat.h"

namespace ruy_like {
namespace {

// As in kernel names.
const char* PackedScalarName(Scalar scalar) {
  switch (scalar) {
    case Scalar::kI8:
      return "S8";
    case Scalar::kU8:
      return "U8";
    case Scalar::kI16:
      return "S16";
    case Scalar::kI32:
      return "S32";
    case Scalar::kF32:
      return "F32";
    case Scalar::kF64:
      return "F64";
  }
  return "?";
}

}  // namespace

bool operator==(const PackedLayout& a, const PackedLayout& b) {
  return a.path == b.path && a.family == b.family &&
         a.kernel_side == b.kernel_side && a.format.scalar == b.format.scalar &&
         a.format.in_place == b.format.in_place &&
         a.format.width == b.format.width && a.format.group == b.format.group &&
         a.format.depth_multiple == b.format.depth_multiple;
}

std::string LayoutName(const PackedLayout& layout) {
  const kernels::PanelFormat& format = layout.format;
  std::string name = absl::StrCat(PackedScalarName(format.scalar), " ",
                                  format.width, "x", format.group);
  if (format.depth_multiple != format.group) {
    absl::StrAppend(&name, ", depth by ", format.depth_multiple);
  }
  return name;
}

}  // namespace ruy_like
