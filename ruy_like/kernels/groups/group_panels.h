// Back-end: what tiles of products with group-scaled weights have in common:
// their arguments, how a block is cut into panels of columns for them, where
// panels lie, and how a group's integer sums become float ones.
#ifndef RUY_LIKE_KERNELS_GROUPS_GROUP_PANELS_H_
#define RUY_LIKE_KERNELS_GROUPS_GROUP_PANELS_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/groups/group_args.h"
#include "ruy_like/kernels/kernel.h"
#include "ruy_like/simd/loops.h"

namespace ruy_like::kernels {
namespace {

// A block's rows by one panel of its columns: GroupArgs' values of columns
// begin with the panel's first one.
struct GroupTileArgs : GroupArgs {
  const uint8_t* codes;
  ptrdiff_t panel_bytes;  // of codes
  // Panels that are read together lie as far apart as the block allows, not
  // side by side.
  bool reads_apart;
  const char* activations;
  // Bytes from one step to the next, or from one column to the next if columns
  // are not interleaved.
  ptrdiff_t activation_stride;
  ptrdiff_t rows;
  int cols;
  ptrdiff_t first_col;           // of the block
  const EpilogueArgs* epilogue;  // the block's
};

// Calls run(args) for each panel: of at most TileCols() columns, as even as
// possible or, if columns are interleaved, as they are packed.
template <class Form, class Run>
RUY_LIKE_ALWAYS_INLINE void ForGroupPanels(const KernelArgs& args, Run run) {
  const GroupArgs& groups = *args.groups;
  GroupTileArgs tile;
  static_cast<GroupArgs&>(tile) = groups;
  tile.codes = static_cast<const uint8_t*>(args.lhs);
  tile.panel_bytes = args.lhs_stride_bytes;
  tile.rows = args.rows;
  tile.epilogue = args.epilogue;
  tile.activation_stride = args.rhs_stride_bytes;
  const ptrdiff_t most = Form::TileCols(args.cols);
  ptrdiff_t panels = (args.cols + most - 1) / most;
  ptrdiff_t panel_cols = args.cols / panels;
  ptrdiff_t wider = args.cols % panels;
  if (Form::kInterleavesColumns) {
    const ptrdiff_t steps = args.depth / kGroupStepDepth;
    tile.activation_stride = args.rhs_stride_bytes / steps;
    panel_cols = tile.activation_stride /
                 (kGroupStepDepth * Form::Codes::kActivationBytes);
    // Without groups no activations are packed.
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
    if (groups.group_scales != nullptr) {
      tile.group_scales = groups.group_scales + col;
    }
    if (groups.column_zeros != nullptr) {
      tile.column_zeros = groups.column_zeros + col;
    }
    tile.first_col = col;
    run(tile);
    col += tile.cols;
  }
}

// For Codes: codes as they are packed, sums of 32 bits.
struct WithoutTable {
  static constexpr bool kSumsWords = false;
  static constexpr bool kByTable = false;
  static constexpr int kSteps = 1;
  static RUY_LIKE_ALWAYS_INLINE int LoadTable(const uint8_t* /*table*/) {
    return 0;
  }
};

// How the sums of a group are corrected. starts[c] is minus the sum of column
// c's activations, times the weights' zero point if it is the same for all.
enum GroupKind {
  // sum + starts; one scale per column
  kGroupPlain,
  // sum + starts; one scale per column and group
  kGroupColumnScales,
  // sum + starts * zeros[row]; either kind of scales
  kGroupRowZeros
};

// Where panels lie that are summed up together, `apart` panels from each other.
// Beyond the last panel it is repeated; those results are not stored.
template <int kPanels>
struct GroupPanels {
  const uint8_t* codes[kPanels];
  ptrdiff_t group_values[kPanels];  // index of a group's first scale

  GroupPanels() = default;
  RUY_LIKE_ALWAYS_INLINE GroupPanels(const GroupTileArgs& args, ptrdiff_t row,
                                     ptrdiff_t apart) {
    const ptrdiff_t last = (args.rows - 1) / kGroupPanelRows;
    for (int p = 0; p < kPanels; ++p) {
      const ptrdiff_t next = row / kGroupPanelRows + p * apart;
      const ptrdiff_t panel = next < last ? next : last;
      codes[p] = args.codes + panel * args.panel_bytes;
      group_values[p] = panel * args.sizes.groups * kGroupPanelRows;
    }
  }
};

// Vectors of rows of one column: their lanes of a value for each row, or of the
// value of column c.
template <class Form>
struct RowLanes {
  typedef typename Form::Simd Simd;
  typedef typename Simd::Int Int;
  typedef typename Simd::Float Float;
  static RUY_LIKE_ALWAYS_INLINE Int OfRows(const uint8_t* rows) {
    return Simd::LoadTo32(rows);
  }
  static RUY_LIKE_ALWAYS_INLINE Float OfColumns(const float* columns, int c) {
    return Simd::SetFloat(columns[c]);
  }
  static RUY_LIKE_ALWAYS_INLINE Int OfColumns(const int32_t* columns, int c) {
    return Simd::Set(columns[c]);
  }

  // The scales of a tile's rows for one group.
  template <int kPanels, int kVecs>
  static RUY_LIKE_ALWAYS_INLINE void LoadScales(const GroupTileArgs& args,
                                                const ptrdiff_t (&at)[kPanels],
                                                Float (&loaded)[kVecs]) {
    if (args.scale_type == Scalar::kF32) {
      LoadScalesAs<Scalar::kF32>(args.scales, at, loaded);
    } else if (args.scale_type == Scalar::kF16) {
      LoadScalesAs<Scalar::kF16>(args.scales, at, loaded);
    } else {
      LoadScalesAs<Scalar::kBF16>(args.scales, at, loaded);
    }
  }

 private:
  template <Scalar kType, int kPanels, int kVecs>
  static RUY_LIKE_ALWAYS_INLINE void LoadScalesAs(
      const void* scales, const ptrdiff_t (&at)[kPanels],
      Float (&loaded)[kVecs]) {
    constexpr int kPanelVecs = kVecs / kPanels;
    RUY_LIKE_UNROLL
    for (int v = 0; v < kVecs; ++v) {
      const ptrdiff_t i = at[v / kPanelVecs] + v % kPanelVecs * Simd::kLanes;
      if constexpr (kType == Scalar::kF32) {
        loaded[v] = Simd::LoadAligned(static_cast<const float*>(scales) + i);
      } else {
        loaded[v] = Simd::template LoadWidened<kType>(
            static_cast<const uint16_t*>(scales) + i);
      }
    }
  }
};

// The zero points of a vector of rows in one group, if they have any.
template <class Lanes, GroupKind kKind>
RUY_LIKE_ALWAYS_INLINE typename Lanes::Int LoadZeros(const GroupTileArgs& args,
                                                     ptrdiff_t at) {
  typedef typename Lanes::Simd Simd;
  if constexpr (kKind != kGroupRowZeros) return Simd::Set(0);
  return Simd::Sub(Lanes::OfRows(args.zeros + at), Simd::Set(args.zero_excess));
}

// float(dot) * scale + f for a vector of rows by column c, whose lanes are
// Lanes' (as RowLanes has them). `group`: index of the group's values of the
// first column. `dot` has the starts in it, unless rows have zero points.
template <class Lanes, GroupKind kKind>
RUY_LIKE_ALWAYS_INLINE typename Lanes::Float AddGroup(
    const GroupTileArgs& args, ptrdiff_t group, int c,
    const typename Lanes::Int& zeros, const typename Lanes::Float& of_rows,
    const typename Lanes::Int& dot, const typename Lanes::Float& f) {
  typedef typename Lanes::Simd Simd;
  typename Lanes::Int sum = dot;
  typename Lanes::Float scale = of_rows;
  if constexpr (kKind == kGroupRowZeros) {
    sum = Simd::Add(sum,
                    Simd::Mul(zeros, Lanes::OfColumns(args.starts + group, c)));
  }
  if (kKind == kGroupColumnScales ||
      (kKind == kGroupRowZeros && args.group_scales != nullptr)) {
    scale =
        Simd::MulFloat(scale, Lanes::OfColumns(args.group_scales + group, c));
  }
  return Simd::MulAddFloat(Simd::ToFloat(sum), scale, f);
}

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_GROUPS_GROUP_PANELS_H_
