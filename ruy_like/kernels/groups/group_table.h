// Back-end: the lines that products with group-scaled weights have in a path's
// table.
#ifndef RUY_LIKE_KERNELS_GROUPS_GROUP_TABLE_H_
#define RUY_LIKE_KERNELS_GROUPS_GROUP_TABLE_H_

#include "ruy_like/kernels/groups/group_kernel.h"
#include "ruy_like/kernels/groups/group_pack.h"
#include "ruy_like/kernels/groups/group_tile.h"

namespace ruy_like::kernels {
namespace {

template <class Ops>
constexpr GroupKernel GroupKernelOf(const char* name) {
  typedef typename Ops::Tile8 Tile8;
  GroupKernel kernel = {};
  kernel.name = name;
  kernel.tile_rows = Tile8::Panels(1) * kGroupPanelRows;
  kernel.tile_cols = Tile8::kMaxCols;
  kernel.stream_cols = Ops::Stream4::kMaxCols;
  kernel.max_stream_cols4 = Ops::kMaxStreamCols4;
  kernel.max_stream_cols8 = Ops::kMaxStreamCols8;
  kernel.interleaves_columns = Tile8::kInterleavesColumns;
  kernel.signed_levels = Tile8::kIsSigned;
  kernel.activation_bytes4 = Ops::Tile4::Codes::kActivationBytes;
  kernel.activation_bytes8 = Tile8::Codes::kActivationBytes;
  kernel.tile4 = RunGroupTiles<typename Ops::Tile4>;
  kernel.tile8 = RunGroupTiles<Tile8>;
  kernel.stream4 = RunGroupTiles<typename Ops::Stream4>;
  if constexpr (Ops::kMaxStreamCols8 != 0) {
    kernel.stream8 = RunGroupTiles<typename Ops::Stream8>;
  }
  kernel.widen4 = WidenNibbles;
  kernel.widen8 = MakeLevelsSigned;
  kernel.quantize = QuantizeActivations;
  kernel.copy_int8 = Ops::kCopyInt8;
  kernel.copy_floats = Ops::kCopyFloats;
  kernel.pack_columns4 =
      PackGroupColumns<Ops, Ops::Tile4::Codes::kActivationBytes>;
  kernel.pack_columns8 = PackGroupColumns<Ops, Tile8::Codes::kActivationBytes>;
  return kernel;
}

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_GROUPS_GROUP_TABLE_H_
