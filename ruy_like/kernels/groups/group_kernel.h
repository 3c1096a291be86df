// Back-end contract of products with group-scaled weights: what their kernels
// are given and what they must do. Plain data only, as in kernel.h.
//
// Called by groups/group_product.cc; one kernel per path, in kernels/<path>.cc
// or kernels/groups/<path>.cc.
//
// ## Packed weights
//
// One form for all paths: panels of kGroupPanelRows rows, the last one padded
// with zero levels. A step is 8 levels of depth; the last group of a row is
// padded to whole steps. Levels are unsigned: 4-bit ones as they are, 8-bit
// ones with 128 added, as their zero points. For each panel
//
//   step, 4 bits: 64 bytes; byte 4 * row + i has level i in its low nibble and
//                 level 4 + i in its high one
//   step, 8 bits: 128 bytes; byte 4 * row + i has level i, byte
//                 64 + 4 * row + i has level 4 + i
//
// Scales are in an array of their own, 16 for each panel and group; so are zero
// points, unless all are the same. A kernel has two forms, that of AMX the
// second one alone. The streaming one, for few columns, reads panels as they
// are packed. The other one, for many, reads "widened" panels: in the layout of
// 8 bits or, for SMMLA, with a row's eight levels together. Panels packed
// otherwise are widened once for all columns.
//
// ## Packed activations
//
// Panels of n columns. With `interleaves_columns`: for each step, 8 levels of
// each column in turn. Otherwise each column lies by itself, the last step
// padded with zeros; int8 activations that the caller has in this form are not
// packed at all.
#ifndef RUY_LIKE_KERNELS_GROUPS_GROUP_KERNEL_H_
#define RUY_LIKE_KERNELS_GROUPS_GROUP_KERNEL_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/kernel.h"
#include "ruy_like/scalar.h"

namespace ruy_like::kernels {

enum { kGroupPanelRows = 16, kGroupStepLevels = 8 };

// dst of one panel of columns and some rows:
//
//   f = 0; for each group g, in order: f = fma(float(acc_g), scale_g, f)
//   f = fma(-column_zero, row_sum, f), for columns whose zero point is not 0
//   dst = clamp(f * column_scales + bias), then rounded if it is BFloat16
//
// where scale_g is the weights' scale or, with column_group_scales, its product
// with the column's, rounded. Arrays start at the block's first row and the
// panel's first column.
struct GroupTileArgs {
  // ## Weights
  const uint8_t* codes;
  ptrdiff_t panel_bytes;  // of codes
  // Panels that are read together lie as far apart as the block allows, not
  // side by side.
  bool reads_apart;
  // For each panel and group a value of each row: scales of scale_type, as they
  // are packed; zero points, or null if they are the same for all.
  const void* scales;
  Scalar scale_type;
  const uint8_t* zeros;
  const float* row_sums;  // of the weights of each row; with column_zeros
  ptrdiff_t groups, group_steps, last_group_steps;
  // ## Activations; starts and scales of a group are group_stride apart from
  // the next one's
  const void* activations;
  // Bytes from one step to the next, or from one column to the next if columns
  // are not interleaved.
  ptrdiff_t activation_stride;
  const int32_t* starts;
  const float* column_group_scales;  // or null
  ptrdiff_t group_stride;
  const int8_t* column_zeros;  // zero points per column, or null
  const float* column_scales;
  // ## dst
  ptrdiff_t rows;
  int cols;
  void* dst;
  ptrdiff_t dst_row_stride, dst_col_stride;  // elements
  Scalar dst_scalar;                         // kF32 or kBF16
  const float* row_bias;  // per row, or null; at most one of the two
  const float* col_bias;
  float clamp_min, clamp_max;
};

typedef void GroupTileFn(const GroupTileArgs& args);

// Columns of int8 activations, to be packed into their places in a panel.
struct GroupColumnArgs {
  const int8_t* values;  // `depth` of each column
  ptrdiff_t col_stride;  // of `values`, elements
  int cols;
  ptrdiff_t depth;
  ptrdiff_t group_levels;  // of each group but the last
  // The first column's first step; null: only `starts` are to be set.
  char* packed;
  ptrdiff_t packed_col_stride, step_stride;  // of `packed`, bytes
  // starts[g * start_stride + c] becomes minus `factor` times the sum of column
  // c's group g.
  int32_t* starts;
  ptrdiff_t start_stride;
  int32_t factor;
};

typedef void GroupColumnFn(const GroupColumnArgs& args);

struct GroupKernel {
  const char* name;
  int tile_rows;    // a multiple of kGroupPanelRows
  int tile_cols;    // of an activation panel
  int stream_cols;  // the most of an activation panel of the streaming form
  // With fewer columns, by weights of 4 and of 8 bits, products take the kernel
  // of the next lower path.
  ptrdiff_t min_cols4, min_cols8;
  // The most columns for which the streaming form is the fastest, with weights
  // of 4 and of 8 bits.
  ptrdiff_t max_stream_cols4, max_stream_cols8;
  bool interleaves_columns;
  bool signed_levels;  // widened panels of 8 bits: 128 is subtracted again
  // Bytes of a packed activation for widened panels of 4 and of 8 bits. With 2
  // bytes: int16, levels 0 2 1 3 4 6 5 7 of each step.
  int activation_bytes4, activation_bytes8;
  // Multiply widened panels of weights of 4 and of 8 bits.
  GroupTileFn* tile4;
  GroupTileFn* tile8;
  // Multiply packed panels by activation panels of at most stream_cols columns.
  // Null if max_stream_cols4 (8) is 0.
  GroupTileFn* stream4;
  GroupTileFn* stream8;
  // One panel's steps from nibbles to bytes, or (8 bits) to signed ones.
  // `shifts`: null or, per row, what is added to each level.
  void (*widen4)(const uint8_t* levels, ptrdiff_t steps, const uint8_t* shifts,
                 uint8_t* widened);
  void (*widen8)(const uint8_t* levels, ptrdiff_t steps, uint8_t* widened);
  // Quantizes n floats; returns their scale (doc/numerics.md).
  float (*quantize)(const float* values, ptrdiff_t n, int8_t* quantized);
  // Packing into panels of one column: int8, and floats of 16 and 32 bits, as
  // floats. Null: the path has none.
  PackFn* copy_int8;
  PackFn* copy_floats;
  // Pack activations for widened or streamed panels, by the weights' bits.
  GroupColumnFn* pack_columns4;
  GroupColumnFn* pack_columns8;
};

#define RUY_LIKE_PATH(Enum, name, arch, features, flags) \
  const GroupKernel* Enum##GroupKernel();
#include "ruy_like/registry/paths.inc"
#undef RUY_LIKE_PATH

}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_GROUPS_GROUP_KERNEL_H_
