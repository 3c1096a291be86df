// Back-end contract: what a kernel is given and what it must do.
//
// Called by run/blocks.cc with pieces of dst; implemented by one file per
// path (kernels/<path>.cc). Plain data only: no STL, no Abseil, no Context, no
// constructors, and no function that runs, because translation units that are
// built with different instruction sets all include this header and must not
// emit a symbol that another one could pick up.
//
// ## Sides
//
// Both operands are seen as depth x width matrices ("TrMul": the lhs arrives
// transposed). The lhs's width is dst's rows, the rhs's width is dst's columns.
//
// Packed panels are drawn in panel_format.h.
#ifndef RUY_LIKE_KERNELS_KERNEL_H_
#define RUY_LIKE_KERNELS_KERNEL_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/panel_format.h"
#include "ruy_like/scalar.h"

namespace ruy_like::kernels {

using ruy_like::Family;

// Results of accumulators; the formulas are below.
enum class Output : uint8_t {
  kRaw,         // integers: themselves
  kFixedPoint,  // integers: integers, by fixed-point multipliers
  kRounded,     // integers: integers, by float scales
  kScaled,      // integers, sums of groups: floats, by float scales
  kFloat        // floats: floats
};

// Scales of kRounded and kScaled.
struct ScaleArgs {
  const float* lhs;  // per row of the block, or element 0 for all
  const float* rhs;  // per column of the block, or element 0 for all
  bool lhs_per_row, rhs_per_col;
  bool rhs_first;
};

// Zero points that rows of lhs and columns of rhs have of their own, besides
// those of EpilogueArgs. Accumulators then lack, modulo 2^32,
//
//   depth * lhs[r] * rhs[c] - lhs[r] * (rhs_sums[c] - rhs_base)
//                           - rhs[c] * (lhs_sums[r] - lhs_base)
//
// where an array that is null counts as zeros. The sums are those of
// EpilogueArgs, null where the other side's array is; the bases are depth times
// the zero points of EpilogueArgs.
struct ZeroPointArgs {
  const int32_t *lhs, *rhs;
  const int32_t *lhs_sums, *rhs_sums;
  int32_t lhs_base, rhs_base, depth;
};

// ## Epilogue
//
// For integer accumulators, with raw = sum over k of packed_lhs * packed_rhs
// (modulo 2^32), the value at (r, c) is
//
//   acc = raw + bias[r or c] - lhs_zero_point * rhs_sums[c]
//             - rhs_zero_point * lhs_sums[r] + zero_point_product
//
// all modulo 2^32. The zero points and the sums are those of the elements *as
// packed*; zero_point_product = depth * lhs_zero_point * rhs_zero_point. A sums
// pointer is null when the other side's zero point is 0 (then it is not
// needed) or when its side is read in place (then the kernel makes them).
// A null bias is 0; `zeros` adds what it says. Then
//
//   scaled = acc                                                 for kRaw
//   scaled = (int64(acc) * fixedpoint + (1 << (30 - exponent)))
//                >> (31 - exponent)     for kFixedPoint (arithmetic shift, one
//                                       rounding, half toward +infinity)
//            with 1 << 30 added to the product, or subtracted where acc < 0,
//            if rounds_twice and exponent < 0 (numerics.md)
//   dst    = clamp(saturate_int32(scaled) + dst_zero_point)
//
// the last sum as if in int64. With exponent <= 0 everywhere `scaled` always
// fits int32: max_exponent says which variant may be used.
//
// Or, for kRounded, and for kScaled from the same acc without a bias,
//
//   x   = float(acc), to nearest, ties to even
//   x   = x * scales.lhs[r or 0], x = x * scales.rhs[c or 0]
//         (in that order, or in the other one if scales.rhs_first)
//   dst = clamp(round(x) + dst_zero_point)     for kRounded: to nearest, ties
//                                              to even; clamp_min for a NaN
//   dst = clamp(x + bias[r or c])              for kScaled: a NaN stays NaN
//
// each step rounded to float, none fused with another.
//
// For float accumulators, kFloat: dst = clamp(acc + bias), where a NaN stays
// NaN; nothing is fused. A dst of 16-bit floats is rounded to nearest, ties to
// even, after the clamp.
//
// dst is never read: what else a call asks for is post_ops.h's.
//
// Arrays are indexed relative to the block: element 0 belongs to the block's
// first row (or column). Arrays along *rows* may be read only for valid rows.
struct EpilogueArgs {
  void* dst;                 // element (0, 0) of the block
  ptrdiff_t dst_row_stride;  // elements between vertically adjacent ones
  ptrdiff_t dst_col_stride;  // elements between horizontally adjacent ones
                             // (one of the two strides is 1)
  Scalar dst_scalar;
  Output output;
  // Only the general epilogue (epilogue.h) can do what the call asks for;
  // shorter ones must hand it over. Set if `rounds_twice` or `zeros` is, for
  // kRounded, and for a dst of 16-bit floats.
  bool needs_general;
  bool rounds_twice;          // of kFixedPoint
  bool channels_are_rows;     // bias and multipliers run along dst's rows
  bool per_channel;           // multipliers are arrays, else use element 0
  int8_t max_exponent;        // upper bound on every exponent in the call
  const void* bias;           // per channel, or null
  Scalar bias_scalar;         // kI32; kF32 for floats; or kF64 in family kF64
  const int32_t* fixedpoint;  // >= 0; never null for quantized dst
  const int32_t* exponent;    // in [-31, 30]; never null for quantized dst
  const int32_t* lhs_sums;    // per row of the block, or null
  const int32_t* rhs_sums;    // per column of the block, or null
  int32_t lhs_zero_point;
  int32_t rhs_zero_point;
  int32_t zero_point_product;
  int32_t dst_zero_point;
  int32_t clamp_min, clamp_max;     // integer dst
  double clamp_min_f, clamp_max_f;  // float dst (float bounds are exact here)
  const ScaleArgs* scales;          // of kRounded, kScaled; else null
  const ZeroPointArgs* zeros;       // or null
};

struct GroupArgs;  // groups/group_args.h

// One block of the product: rows x cols of dst over a depth of `depth`.
struct KernelArgs {
  // First panel of the block at this pass's first depth position. For an
  // in-place side: the first element of the block's first column of that side.
  const void* lhs;
  const void* rhs;
  // Bytes from one panel to the next; for an in-place side, from one column of
  // that side to the next, or if it is read by depth, from one depth position
  // to the next.
  ptrdiff_t lhs_stride_bytes;
  ptrdiff_t rhs_stride_bytes;
  ptrdiff_t rows, cols;  // > 0; need not be multiples of the panel widths
  // Depth of this pass; > 0. A multiple of depth_multiple when both
  // sides are packed. With an in-place side it is the true depth: the kernel
  // must not read that side beyond it.
  ptrdiff_t depth;
  // Depth blocking: the product may come in several passes over depth. Between
  // passes the partial accumulators of the block live in `accum`, in a layout
  // of the kernel's own: one accumulator (4 bytes; 8 for kF64) for each element
  // of rows x cols, both rounded up to tile_rows and tile_cols. first_pass:
  // start from zero; last_pass: run the epilogue. `accum` is 64-byte aligned,
  // and null when both are set.
  bool first_pass, last_pass;
  void* accum;
  // Valid in every pass, since an in-place side's sums need its zero points;
  // but what lhs_sums and rhs_sums point to is complete only in the last one.
  const EpilogueArgs* epilogue;
  const GroupArgs* groups;  // of family kGroupScaled; else not set
};

typedef void KernelFn(const KernelArgs* args);

// Packs columns of one side into panels; see pack/pack.h.
struct PackArgs;
typedef void PackFn(const PackArgs* args);

// The products that a kernel is for.
enum class KernelKind : uint8_t {
  // All; both sides are packed. Operands are packed ahead for these.
  kPanels,
  // Products whose rhs can be read in place.
  kRhsInPlace,
  // Products of at most max_rows rows and max_cols columns both of whose sides
  // can be read in place.
  kBothInPlace,
  // Products of at most max_cols columns whose lhs can be read in place; the
  // rhs is packed, but a single column may be in place, too.
  kNarrowInPlace,
  // Products of at most max_cols columns; the lhs is packed as for the path's
  // kernel of kind kPanels.
  kNarrowPanels,
};

static const int kNoLimit = 0x7fffffff;
static const int kNotRowMajor = 0x7fffffff;

// One line of a path's kernel table: the Entry() of a kernel's template makes
// it. Each kernel sets by name what has no default here, and what is different.
struct Kernel {
  // `<Path>_<lhs><rhs>_<rows>x<cols>x<dot width>`, each side as the kernel
  // reads it: a type (S8, U7, BF16, ...; W16: 8 bits, widened), with InPlace or
  // ByDepth if it is read in place. doc/kernels.md has the grammar. Unique.
  const char* name;
  Family family;
  KernelKind kind;
  PanelFormat lhs, rhs;
  // Micro-tile: blocks are best a multiple of this many rows and columns. A
  // product of at most tile_cols columns reads the lhs once.
  int tile_rows, tile_cols;
  // Where threads have few tiles each, blocks may be multiples of this many
  // rows instead: whole panels.
  int row_granularity;
  // Applies only to products of at most this many columns; or kNoLimit. A path
  // uses its first applicable kernel, those of kind kNarrowInPlace first.
  int max_cols = kNoLimit;
  // The same where the lhs has fewer than 2^20 elements.
  int max_cols_of_small_lhs = kNoLimit;
  // With fewer columns products take the kernel of a lower path.
  int min_cols = 0;
  // If this one serves a product whose narrow side is wider, none of kind
  // kNarrowInPlace does; tiles that store a row-major dst: twice as wide.
  int narrow_cols = kNoLimit;
  // With group scales: applies only to products of at least so many columns
  // times depth of a group.
  int min_group_elements = 0;
  // Applies only to products of at most this many rows: with more, a rhs in
  // place would be read too often.
  int max_rows = kNoLimit;
  // Float sums are not taken in order of depth: only for products that permit
  // another order. The order depends on the depth and the number of columns
  // alone.
  bool any_order = false;
  // Sums of products of 16-bit floats are not those of fused multiply-adds of
  // the widened values. Such a kernel must serve every product of its operand
  // types, packed or in place: one by a kernel that widens would have other
  // bits.
  bool rounds_otherwise = false;
  // Only for a lhs that is cached or prepacked, and then for either order of
  // dst, so that the lhs has one packed form.
  bool for_kept_lhs = false;
  // Only for a lhs of at least so many elements.
  int min_lhs_elements = 0;
  // Family kGroupScaled: the form in which the caller packs the lhs. `lhs`
  // says how `run` reads it; pack_lhs widens one to the other, or is null if
  // they are the same panels.
  const PanelFormat* packed_lhs = nullptr;
  // Only for groups of at most this depth.
  int max_group_depth = kNoLimit;
  // Codes of a table: only where the greatest value is at most so much above
  // the least, which is 0 for `run`, or -127 if its values are signed.
  int max_table_span = kNoLimit;
  // The cost of a row-major dst, as a depth: products of this depth take as
  // long as transposing a tile. For a kernel for int7: the depth from which it
  // is faster than others. kNotRowMajor: the sides of such products are
  // swapped.
  int row_major_depth = kNotRowMajor;
  // Uses AMX's tile unit, whose configuration and large blocks have fixed
  // costs: products that are too small or too narrow go to a vector kernel if
  // one applies (registry/amx_cost.h).
  bool multiplies_tiles = false;
  // Rough speed on one core, multiply-adds per nanosecond, within a factor of 2
  // or 3; threads and block sizes are chosen by it.
  int macs_per_ns;
  // Each packs its side from any source element type of the family and from
  // both orders. Null for a side that is read in place.
  PackFn* pack_lhs;
  PackFn* pack_rhs;
  KernelFn* run;
  // The same with loops for cores that issue instructions in order
  // (machine/processor.h); null: `run` serves these, too.
  KernelFn* run_in_order = nullptr;
};

// A path's routine for what follows the product in a tile; see post_ops.h.
struct PostOpArgs;
typedef void PostOpFn(const PostOpArgs* args);

// A path's kernels, best first within a family.
struct KernelTable {
  const Kernel* kernels;
  int count;
  // Null: those of the best path that this one inherits.
  PostOpFn* post_ops = nullptr;
  // There if post_ops is: group_pack.h's QuantizeColumns.
  PackFn* quantize = nullptr;
};

}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_KERNEL_H_
