// Back-end: the lines that products with group-scaled weights have in a path's
// table.
//
//   G4S8      few columns: codes as they are packed
//   G4W8S8    more columns: codes of 4 bits, widened to bytes
//   T4W8S8    codes of 4 bits and, T2W8S8, of 2, whose values a table has
//   G8S8      codes of 8 bits; G8W8S8 where their sign is restored before
//   M8        for S8: magnitudes of activations, their signs put on values
//   W16       for S8: activations that are widened to 16 bits
#ifndef RUY_LIKE_KERNELS_GROUPS_GROUP_TABLE_H_
#define RUY_LIKE_KERNELS_GROUPS_GROUP_TABLE_H_

#include <type_traits>

#include "ruy_like/kernels/groups/group_args.h"
#include "ruy_like/kernels/groups/group_pack.h"
#include "ruy_like/kernels/groups/group_tile.h"
#include "ruy_like/kernels/kernel_names.h"

namespace ruy_like::kernels {
namespace {

// Kernel::max_table_span of Codes that look values up.
template <class Codes, class = void>
constexpr int kMaxSpan = kNoLimit;
template <class Codes>
constexpr int kMaxSpan<Codes, std::void_t<decltype(Codes::kMaxValue)>> =
    Codes::kMaxValue;

// pack_lhs: nullptr if codes are read as they are packed. Its type says so: GCC
// with -fsanitize=undefined does not compare functions in constant expressions.
template <class Ops, class Form, class Pack>
constexpr Kernel GroupEntryOf(KernelFn* run, const char* name,
                              const PanelFormat& packed, Pack pack_lhs,
                              int macs_per_ns, int max_cols) {
  constexpr bool kReadsPacked = std::is_same<Pack, decltype(nullptr)>::value;
  constexpr int kBytes = Form::Codes::kActivationBytes;
  Kernel kernel = {};
  kernel.name = name;
  kernel.family = Family::kGroupScaled;
  kernel.kind = KernelKind::kPanels;
  kernel.packed_lhs = &packed;
  kernel.lhs = kReadsPacked ? packed : kPackedCodes8;
  kernel.lhs.depth_multiple = packed.depth_multiple;
  if (Form::kIsSigned) kernel.lhs.scalar = Scalar::kI8;
  kernel.rhs = {kBytes == 1 ? Scalar::kI8 : Scalar::kI16, false,
                Form::kInterleavesColumns ? Form::kMaxCols : 1, kGroupStepDepth,
                packed.depth_multiple};
  kernel.tile_rows = Form::Panels(1) * kGroupPanelRows;
  kernel.tile_cols = Form::kMaxCols < max_cols ? Form::kMaxCols : max_cols;
  kernel.row_granularity = kGroupPanelRows;
  kernel.max_cols = max_cols;
  // Nibbles that are multiplied in place sum up to 16 times as much as codes.
  if (packed == kPackedCodes4 && kReadsPacked) {
    kernel.max_group_depth = 1 << 16;
  }
  if (packed.by_table) kernel.max_table_span = kMaxSpan<typename Form::Codes>;
  kernel.macs_per_ns = macs_per_ns;
  kernel.pack_lhs = pack_lhs;
  kernel.pack_rhs = PackActivations<Ops, Form>;
  kernel.run = run;
  return kernel;
}

template <class Ops, class Form, class Pack>
constexpr Kernel GroupEntry(const char* name, const PanelFormat& packed,
                            Pack pack_lhs, int macs_per_ns,
                            int max_cols = kNoLimit) {
  return GroupEntryOf<Ops, Form>(RunGroupTiles<Form>, name, packed, pack_lhs,
                                 macs_per_ns, max_cols);
}

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_GROUPS_GROUP_TABLE_H_
