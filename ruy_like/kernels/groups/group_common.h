// Back-end: what tiles of products with group-scaled weights have in common:
// where their panels lie, and how a group's integer sums become float ones.
#ifndef RUY_LIKE_KERNELS_GROUPS_GROUP_COMMON_H_
#define RUY_LIKE_KERNELS_GROUPS_GROUP_COMMON_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/groups/group_kernel.h"
#include "ruy_like/simd/loops.h"

namespace ruy_like::kernels {
namespace {

// Where a tile's panels lie, `apart` panels from each other. Beyond the last
// panel it is repeated; those results are not stored.
template <int kPanels>
struct GroupPanels {
  const uint8_t* levels[kPanels];
  ptrdiff_t group_values[kPanels];  // index of a group's first scale

  RUY_LIKE_ALWAYS_INLINE GroupPanels(const GroupTileArgs& args, ptrdiff_t row,
                                     ptrdiff_t apart) {
    const ptrdiff_t last = (args.rows - 1) / kGroupPanelRows;
    for (int p = 0; p < kPanels; ++p) {
      const ptrdiff_t next = row / kGroupPanelRows + p * apart;
      const ptrdiff_t panel = next < last ? next : last;
      levels[p] = args.levels + panel * args.panel_bytes;
      group_values[p] = panel * args.groups * kGroupPanelRows;
    }
  }
};

// Vectors of rows of one column: their lanes of a value for each row, or of the
// value of column c.
template <class Simd>
struct RowLanes {
  typedef typename Simd::Int Int;
  typedef typename Simd::Float Float;
  static RUY_LIKE_ALWAYS_INLINE Float OfRows(const float* rows) {
    return Simd::LoadAligned(rows);
  }
  static RUY_LIKE_ALWAYS_INLINE Int OfRows(const int32_t* rows) {
    return Simd::LoadAligned(rows);
  }
  static RUY_LIKE_ALWAYS_INLINE Float OfColumns(const float* columns, int c) {
    return Simd::SetFloat(columns[c]);
  }
  static RUY_LIKE_ALWAYS_INLINE Int OfColumns(const int32_t* columns, int c) {
    return Simd::Set(columns[c]);
  }
};

// float(sum) * scale + f for a vector of widened weights by activations, whose
// lanes are Lanes' (as RowLanes has them). `rows` and `columns` are where the
// group's values of these rows and of the first column lie in their arrays;
// kKind is a GroupTileKind. `sum` has the starts in it, but for
// kGroupTileGeneral.
template <class Simd, class Lanes, int kKind>
RUY_LIKE_ALWAYS_INLINE typename Simd::Float AddGroup(const GroupTileArgs& args,
                                                     ptrdiff_t rows,
                                                     ptrdiff_t columns, int c,
                                                     typename Simd::Float scale,
                                                     typename Simd::Int sum,
                                                     typename Simd::Float f) {
  if constexpr (kKind == kGroupTileGeneral) {
    const typename Simd::Int zeros =
        Lanes::OfRows(static_cast<const int32_t*>(args.zeros) + rows);
    sum = Simd::Add(
        sum, Simd::Mul(zeros, Lanes::OfColumns(args.starts + columns, c)));
  }
  if constexpr (kKind == kGroupTileActivationZeros ||
                kKind == kGroupTileGeneral) {
    const int32_t* const level_sums = args.sums + rows;
    sum = Simd::Sub(sum, Simd::Mul(Lanes::OfRows(level_sums),
                                   Lanes::OfColumns(args.activation_zeros, c)));
  }
  if constexpr (kKind == kGroupTileColumnGroupScales ||
                kKind == kGroupTileGeneral) {
    scale = Simd::MulFloat(
        scale, Lanes::OfColumns(args.column_group_scales + columns, c));
  }
  return Simd::MulAddFloat(Simd::ToFloat(sum), scale, f);
}

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_GROUPS_GROUP_COMMON_H_
