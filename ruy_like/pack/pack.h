// Back-end contract: what a pack routine is given and what it must do.
//
// Called by packed/packed_side.cc for whole panels, by narrow_float.h for
// pieces, and by routines that pack activations (group_pack.h); implemented in
// pack/<path>.cc, one routine per packed layout (panel_format.h draws it) and
// vector width. Plain data only, like kernel.h.
#ifndef RUY_LIKE_PACK_PACK_H_
#define RUY_LIKE_PACK_PACK_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/scalar.h"

namespace ruy_like::kernels {

struct GroupPackArgs;  // kernels/groups/group_args.h

// Source and destination of packing `width` columns of a depth x width matrix.
struct PackArgs {
  // Element (depth 0, first column of the range). Nothing outside of the
  // depth x width range may be read.
  const void* src;
  Scalar src_scalar;
  // True: the elements of one column are adjacent, columns are `src_stride`
  // elements apart. False: the columns at one depth are adjacent, depths are
  // `src_stride` elements apart.
  bool depth_contiguous;
  ptrdiff_t src_stride;
  ptrdiff_t depth;
  ptrdiff_t width;  // > 0; whole panels, except at the end of a matrix
  // First panel of the range; the routine writes whole panels over the whole
  // padded depth, zeros where there is no source element (for rhs panels that
  // are multiplied by pairs of BF16, -0: panel_format.h).
  void* dst;
  ptrdiff_t padded_depth;  // multiple of the format's depth_multiple
  // Sum over depth of each column's elements as packed (after the shift),
  // modulo 2^32; `width` entries. Null if not needed.
  int32_t* sums;
  // For the routines of products with group-scaled weights, whose `dst` may be
  // null: values are then read in place. Else not set.
  const GroupPackArgs* groups;
};

// The shift: an 8-bit element whose source type is not the packed one (kU8 to
// kI8 or back; kU8 to kI16 goes through kI8) becomes x - 128 or x + 128; that
// of an int7 operand in kU8 panels of ValueRange::kInt7 becomes x + 64 (kI8) or
// x - 64 (kU8). run/product.cc shifts the zero point in the same way.
//
// A 16-bit float is widened to float, which is exact; a signalling NaN may
// become a quiet one. Denormals of Float16 become normal floats, those of
// BFloat16 denormal ones.

}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_PACK_PACK_H_
