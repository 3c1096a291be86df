// Tested in test/registry/registry_test.cc.
#include "ruy_like/packed/packed_layout.h"

#include "absl/strings/str_cat.h"

namespace ruy_like {

bool operator==(const PackedLayout& a, const PackedLayout& b) {
  return a.path == b.path && a.family == b.family &&
         a.kernel_side == b.kernel_side && a.format == b.format;
}

std::string LayoutName(const PackedLayout& layout) {
  const kernels::PanelFormat& format = layout.format;
  std::string name = InfoOf(format.scalar).kernel_name;
  if (format.code_bits != 0) {
    name = absl::StrCat(format.by_table ? "T" : "G", format.code_bits);
  }
  if (format.range == ValueRange::kInt7) name.back() = '7';
  absl::StrAppend(&name, " ", format.width, "x", format.dot_width);
  if (format.depth_multiple != format.dot_width) {
    absl::StrAppend(&name, ", depth by ", format.depth_multiple);
  }
  return name;
}

}  // namespace ruy_like
