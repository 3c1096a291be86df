// Back-end contract of products with group-scaled weights
// (Family::kGroupScaled): what kernel.h and pack.h leave out. Plain data only.
//
// The weights are the kernel's lhs, packed by the caller; the activations are
// its rhs.
//
// ## Packed weights
//
// One form for all paths: panels of kGroupPanelRows rows, the last one padded
// with zero codes. A step is 8 positions of depth; the last group of a row is
// padded to whole steps, of 2 bits to pairs of them. Codes are unsigned: those
// of 4 bits as they are, those of 8 bits with 128 added, as their zero points.
// Codes of 2 bits, and of 4 if the weights have a table, are indices into it:
// the codes found there are those of 8 bits, and so are their zero points. For
// each panel
//
//   2 steps, 2 bits: 64 bytes; byte 4 * row + i has code 4 * q + i in bits 2 *
//   q step, 4 bits: 64 bytes; byte 4 * row + i has code i in its low nibble and
//                 code 4 + i in its high one
//   step, 8 bits: 128 bytes; byte 4 * row + i has code i, byte
//                 64 + 4 * row + i has code 4 + i
//
// Scales are in an array of their own, 16 for each panel and group; so are zero
// points, unless all are the same. Kernels of few columns read panels as they
// are packed. With more columns others are faster that read bytes: pack_lhs
// then widens each panel once for all columns, or looks up its values, to the
// layout of 8 bits or, for SMMLA, with a row's eight codes together.
//
// ## Packed activations
//
// int8, or int16 in the order 0 2 1 3 4 6 5 7 of each step. In panels of
// several columns these alternate, step by step. Panels of one column are what
// int8 activations are that lie contiguously along a depth of whole steps:
// these are read in place. pack_rhs also makes what kernels need of each
// column:
//
//   starts         for each group: minus `factor` times the sum of the
//                  column's values in it
//   group_scales   of quantized activations: for each group, or
//   scales         for the whole column
#ifndef RUY_LIKE_KERNELS_GROUPS_GROUP_ARGS_H_
#define RUY_LIKE_KERNELS_GROUPS_GROUP_ARGS_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/kernel.h"
#include "ruy_like/scalar.h"

namespace ruy_like::kernels {

enum { kGroupPanelRows = 16, kGroupStepDepth = 8 };

// As PackGroupWeights makes them: 64 bytes have a dot of each row.
constexpr PanelFormat PackedCodes(int code_bits, bool by_table) {
  return {Scalar::kU8,
          /*in_place=*/false,
          kGroupPanelRows,
          /*dot_width=*/32 / code_bits,
          code_bits == 2 ? 2 * kGroupStepDepth : kGroupStepDepth,
          ValueRange::kFull,
          /*by_depth=*/false,
          code_bits,
          by_table};
}
static constexpr PanelFormat kPackedCodes4 = PackedCodes(4, false);
static constexpr PanelFormat kPackedCodes8 = PackedCodes(8, false);
static constexpr PanelFormat kPackedTable4 = PackedCodes(4, true);
static constexpr PanelFormat kPackedTable2 = PackedCodes(2, true);

// Steps that sums of 16 bits hold of values up to `greatest` by any int8: each
// adds four products, of which two are a VPMADDUBSW's.
constexpr ptrdiff_t WordStepsOf(int greatest) {
  return INT16_MAX / (4 * 128 * (greatest < 1 ? 1 : greatest));
}

// A row's groups.
struct GroupSizes {
  ptrdiff_t groups;
  ptrdiff_t group_steps;  // in each but the last one
  ptrdiff_t last_group_steps;
};

// A kernel computes, for each row and column,
//
//   f = 0; for each group g, in order: f = fma(float(acc_g), scale_g, f)
//   f = fma(-column_zero, row_sum, f), for columns whose zero point is not 0
//   dst = clamp(f * column scale + bias), then rounded if it is BFloat16
//
// where acc_g is the sum of products of codes and activations, plus starts (or
// zeros * starts), and scale_g the weights' scale or, with group_scales, its
// product with the column's, rounded. Column scales are the epilogue's
// ScaleArgs::rhs. Arrays begin with the block's first row and column.
struct GroupArgs {
  GroupSizes sizes;
  // The weights come from beyond L2: panels that are read together are best far
  // apart.
  bool lhs_is_large;
  bool lhs_is_in_memory;  // all of the process do not fit L3
  // For each panel and group a value of each row: scales of scale_type, and
  // zero points, or null if they are the same for all.
  const void* scales;
  Scalar scale_type;
  const uint8_t* zeros;
  // The excess of zero points over the values that are multiplied.
  int32_t zero_excess;
  const uint8_t* table;  // of GroupPackArgs
  // Steps whose products with any int8 add up in 16 bits.
  ptrdiff_t word_steps;
  const float* row_sums;  // of the weights of each row; with column_zeros
  // A group's values of columns are group_stride from the next one's.
  const int32_t* starts;
  const float* group_scales;  // or null
  ptrdiff_t group_stride;
  const int8_t* column_zeros;  // zero points per column, or null
};

// Further arguments of these kernels' pack routines (PackArgs::groups).
struct GroupPackArgs {
  GroupSizes sizes;
  // ## Weights, widened
  const uint8_t* zeros;  // as in GroupArgs, of the range's first panel
  // The value of each code, as `run` multiplies it: with 128 added, signed, or
  // less the least one (Kernel::max_table_span), which is 0 or, signed, -127.
  alignas(16) uint8_t table[16];
  // ## Activations: results as in GroupArgs, of the range's first column
  // The element at each depth position, or null for their own order.
  const int32_t* depth_order;
  int32_t factor;
  bool has_group_scales;
  int32_t* starts;
  float* group_scales;
  float* scales;
  ptrdiff_t group_stride;
  int panel_cols;         // columns of a panel
  ptrdiff_t panel_bytes;  // from panel to panel
  // SideShape::scratch_bytes bytes.
  char* scratch;
};

// Codes of 4 bits whose zero points are subtracted while they are widened have
// this one added, so that they are at least 1.
enum { kGroupShiftedZero = 16, kGroupGreatestShifted = 15 + kGroupShiftedZero };

// Columns that are gathered or quantized at once, such that rows of floats are
// 64 bytes long, those of bytes up to 64; and elements between them, since
// columns should not share sets of L1.
enum { kGroupFloatCols = 16, kGroupByteCols = 64, kGroupColGap = 16 };

}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_GROUPS_GROUP_ARGS_H_
