// Back-end: what tiles of products with group-scaled weights are given, and how
// a block is cut into panels of columns for them.
#ifndef RUY_LIKE_KERNELS_GROUPS_GROUP_PANELS_H_
#define RUY_LIKE_KERNELS_GROUPS_GROUP_PANELS_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/groups/group_args.h"
#include "ruy_like/kernels/kernel.h"
#include "ruy_like/simd/loops.h"

namespace ruy_like::kernels {
namespace {

// A block's rows by one panel of its columns. Other fields are GroupArgs',
// moved to the panel's first column.
struct GroupTileArgs {
  const uint8_t* codes;
  ptrdiff_t panel_bytes;  // of codes
  // Panels that are read together lie as far apart as the block allows, not
  // side by side.
  bool reads_apart;
  const void* scales;
  Scalar scale_type;
  const uint8_t* zeros;
  const float* row_sums;
  ptrdiff_t groups, group_steps, last_group_steps;
  const char* activations;
  // Bytes from one step to the next, or from one column to the next if columns
  // are not interleaved.
  ptrdiff_t activation_stride;
  const int32_t* starts;
  const float* column_group_scales;
  ptrdiff_t group_stride;
  const int8_t* column_zeros;
  ptrdiff_t rows;
  int cols;
  ptrdiff_t first_col;           // of the block
  const EpilogueArgs* epilogue;  // the block's
};

// Calls run(args) for each panel: of at most kMaxCols columns, as even as
// possible or, if columns are interleaved, as they are packed.
template <class Form, class Run>
RUY_LIKE_ALWAYS_INLINE void ForGroupPanels(const KernelArgs& args, Run run) {
  const GroupArgs& groups = *args.groups;
  GroupTileArgs tile;
  tile.codes = static_cast<const uint8_t*>(args.lhs);
  tile.panel_bytes = args.lhs_stride_bytes;
  tile.scales = groups.scales;
  tile.scale_type = groups.scale_type;
  tile.zeros = groups.zeros;
  tile.row_sums = groups.row_sums;
  tile.groups = groups.sizes.groups;
  tile.group_steps = groups.sizes.group_steps;
  tile.last_group_steps = groups.sizes.last_group_steps;
  tile.group_stride = groups.group_stride;
  tile.rows = args.rows;
  tile.epilogue = args.epilogue;
  tile.activation_stride = args.rhs_stride_bytes;
  ptrdiff_t panels = (args.cols + Form::kMaxCols - 1) / Form::kMaxCols;
  ptrdiff_t panel_cols = args.cols / panels;
  ptrdiff_t wider = args.cols % panels;
  if (Form::kInterleavesColumns) {
    const ptrdiff_t steps = args.depth / kGroupStepLevels;
    tile.activation_stride = args.rhs_stride_bytes / steps;
    panel_cols = tile.activation_stride /
                 (kGroupStepLevels * Form::Codes::kActivationBytes);
    // Of no groups there are no activations either.
    if (panel_cols == 0) panel_cols = Form::kMaxCols;
    panels = (args.cols + panel_cols - 1) / panel_cols;
    wider = 0;
  }
  tile.reads_apart = Form::kReadsApart && groups.lhs_is_large && panels == 1;
  ptrdiff_t col = 0;
  for (ptrdiff_t panel = 0; panel < panels; ++panel) {
    tile.cols = static_cast<int>(panel_cols + (panel < wider ? 1 : 0));
    if (args.cols - col < tile.cols) {
      tile.cols = static_cast<int>(args.cols - col);
    }
    tile.activations =
        static_cast<const char*>(args.rhs) +
        (Form::kInterleavesColumns ? panel : col) * args.rhs_stride_bytes;
    tile.starts = groups.starts + col;
    tile.column_group_scales =
        groups.group_scales == nullptr ? nullptr : groups.group_scales + col;
    tile.column_zeros =
        groups.column_zeros == nullptr ? nullptr : groups.column_zeros + col;
    tile.first_col = col;
    run(tile);
    col += tile.cols;
  }
}

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_GROUPS_GROUP_PANELS_H_
