// Back-end: tiles of products with group-scaled weights, for all paths.
//
// Included by kernels/<path>.cc. There is one template, GroupTile, for codes as
// they are packed and for codes that were widened to bytes before. A path says
// by a Form how a kernel reads codes and how large its tiles are:
//
//   Simd           vectors of kLanes 32-bit lanes: Int, Float, their operations
//   Codes          how codes are multiplied; OneColumnCodes: by one column
//   kMaxCols       the most columns of a tile
//   Panels(cols)   panels of codes that a tile of so many columns reads at once
//   kFloatsInRegisters      whether registers hold a tile's float sums as well
//                           as its integer ones; else floats stay in L1
//   Prefetches(cols)        whether codes are prefetched
//   kReadsApart    whether panels that come from memory are read far apart
//   kInterleavesColumns     whether panels of columns are interleaved
//   kIsSigned      codes are signed bytes
//
// and what group_sums.h asks of Codes.
//
// A group's sum is exact in integers; then it becomes a float and is multiplied
// and added in one rounding, in the order of groups. So results do not depend
// on the shape of tiles or on the instructions.
#ifndef RUY_LIKE_KERNELS_GROUPS_GROUP_TILE_H_
#define RUY_LIKE_KERNELS_GROUPS_GROUP_TILE_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/groups/group_panels.h"
#include "ruy_like/kernels/groups/group_store.h"
#include "ruy_like/kernels/groups/group_sums.h"
#include "ruy_like/simd/loops.h"

namespace ruy_like::kernels {
namespace {

// A Form as far as it says nothing else.
template <class S, class CodesT, int kCols = 2>
struct GroupForm {
  typedef S Simd;
  typedef CodesT Codes;
  typedef CodesT OneColumnCodes;
  static constexpr int kMaxCols = kCols;
  static constexpr int Panels(int /*cols*/) { return 1; }
  static constexpr bool kFloatsInRegisters = false;
  static constexpr bool Prefetches(int /*cols*/) { return false; }
  static constexpr bool kReadsApart = false;
  static constexpr bool kInterleavesColumns = true;
  static constexpr bool kIsSigned = false;
};

template <class Form, int kCols, GroupKind kKind>
struct GroupTile {
  typedef typename Form::Simd Simd;
  typedef typename Simd::Float Float;
  typedef GroupSums<Form, kCols> Sums;
  static constexpr int kPanels = Form::Panels(kCols);
  static constexpr int kRows = kPanels * kGroupPanelRows;
  static constexpr int kPanelVecs = Sums::kPanelVecs;
  static constexpr int kVecs = Sums::kVecs;
  static constexpr int kColVecs = Sums::kColVecs;
  static constexpr int kPrefetchBytes = 2048;
  static constexpr int32_t kNoStarts[kCols] = {};

  // Weights that come from memory and are read once: panels that lie far apart
  // are read together, as few long streams.
  static void RunAll(const GroupTileArgs& args) {
    const ptrdiff_t tiles = (args.rows + kRows - 1) / kRows;
    const ptrdiff_t apart = args.reads_apart ? tiles : 1;
    const ptrdiff_t row_step = args.reads_apart ? kGroupPanelRows : kRows;
    for (ptrdiff_t i = 0; i < tiles; ++i) Run(args, i * row_step, apart);
  }

 private:
  static RUY_LIKE_NOINLINE void Run(const GroupTileArgs& args, ptrdiff_t row,
                                    ptrdiff_t apart) {
    GroupPanels<kPanels> panels(args, row, apart);
    const uint8_t* const end = panels.codes[0] + args.panel_bytes;
    typename Sums::Activations activations(args);
    // The tile's vectors: by columns of the tile or, if panels are stored one
    // by one, of each panel. MakeColumns() makes columns of what are none yet.
    alignas(64) float out[kColVecs * kVecs * Simd::kLanes];
    const bool is_whole = kPanels == 1 || apart == 1;
    constexpr int kPanelFloats = kPanelVecs * Simd::kLanes;
    const ptrdiff_t col_floats = is_whole ? kVecs * Simd::kLanes : kPanelFloats;
    const ptrdiff_t panel_floats =
        is_whole ? kPanelFloats : kColVecs * kPanelFloats;
    const auto place = [&](int v, int c) {
      return out + v / kPanelVecs * panel_floats + c * col_floats +
             v % kPanelVecs * Simd::kLanes;
    };
    Float f[kVecs][kColVecs];
    RUY_LIKE_UNROLL
    for (int v = 0; v < kVecs; ++v) {
      RUY_LIKE_UNROLL
      for (int c = 0; c < kColVecs; ++c) {
        if constexpr (Form::kFloatsInRegisters) {
          f[v][c] = Simd::SetFloat(0);
        } else {
          Simd::StoreAligned(place(v, c), Simd::SetFloat(0));
        }
      }
    }
    ptrdiff_t of_columns = 0;
    for (ptrdiff_t group = 0; group < args.sizes.groups; ++group) {
      Sums sums;
      // The next tile's panels begin where these end, or the last of these.
      const ptrdiff_t left = end - panels.codes[0];
      sums.SumGroup(
          args, kKind == kGroupRowZeros ? kNoStarts : args.starts + of_columns,
          group + 1 < args.sizes.groups ? args.sizes.group_steps
                                        : args.sizes.last_group_steps,
          panels.codes,
          !is_whole || left > kPrefetchBytes
              ? kPrefetchBytes
              : kPrefetchBytes + (kPanels - 1) * args.panel_bytes,
          &activations);
      Float scales[kVecs];
      Sums::LoadScales(args, panels.group_values, scales);
      RUY_LIKE_UNROLL
      for (int v = 0; v < kVecs; ++v) {
        const typename Simd::Int zeros =
            LoadZeros<Sums, kKind>(args, panels.group_values[v / kPanelVecs] +
                                             v % kPanelVecs * Sums::kRowsOfVec);
        RUY_LIKE_UNROLL
        for (int c = 0; c < kColVecs; ++c) {
          if constexpr (Form::kFloatsInRegisters) {
            f[v][c] = AddGroup<Sums, kKind>(args, of_columns, c, zeros,
                                            scales[v], sums.Get(v, c), f[v][c]);
          } else {
            Simd::StoreAligned(
                place(v, c),
                AddGroup<Sums, kKind>(args, of_columns, c, zeros, scales[v],
                                      sums.Get(v, c),
                                      Simd::LoadAligned(place(v, c))));
          }
        }
      }
      RUY_LIKE_UNROLL
      for (int p = 0; p < kPanels; ++p) {
        panels.group_values[p] += kGroupPanelRows;
      }
      of_columns += args.group_stride;
      if constexpr (Form::Codes::kSumsWords && !Form::kFloatsInRegisters) {
        HoldInMemory(out);
      }
    }
    if constexpr (Form::kFloatsInRegisters) {
      RUY_LIKE_UNROLL
      for (int v = 0; v < kVecs; ++v) {
        RUY_LIKE_UNROLL
        for (int c = 0; c < kColVecs; ++c) {
          Simd::StoreAligned(place(v, c), f[v][c]);
        }
      }
    }
    Sums::MakeColumns(out);
    if (is_whole) {
      StoreGroupTile<Simd, kRows>(args, row, out);
      return;
    }
    for (int p = 0; p < kPanels && row < args.rows; ++p) {
      StoreGroupTile<Simd, kGroupPanelRows>(args, row, out + p * panel_floats);
      row += apart * kGroupPanelRows;
    }
  }
};

// The tile of as many columns as the panel has.
template <class Form, GroupKind kKind, int kCols = Form::kMaxCols>
RUY_LIKE_ALWAYS_INLINE void RunTilesOfKind(const GroupTileArgs& args) {
  if (kCols == 1 || args.cols == kCols) {
    GroupTile<Form, kCols, kKind>::RunAll(args);
  } else if constexpr (kCols > 1) {
    RunTilesOfKind<Form, kKind, kCols - 1>(args);
  }
}

template <class Form>
RUY_LIKE_ALWAYS_INLINE void RunTiles(const GroupTileArgs& args) {
  if (args.zeros != nullptr) {
    RunTilesOfKind<Form, kGroupRowZeros>(args);
  } else if (args.group_scales != nullptr) {
    RunTilesOfKind<Form, kGroupColumnScales>(args);
  } else {
    RunTilesOfKind<Form, kGroupPlain>(args);
  }
}

template <class Form>
static void RunGroupTiles(const KernelArgs* args) {
  ForGroupPanels<Form>(
      *args, [](const GroupTileArgs& tile)
                 __attribute__((always_inline)) { RunTiles<Form>(tile); });
}

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_GROUPS_GROUP_TILE_H_
