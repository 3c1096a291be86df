// Back-end: tiles of products with group-scaled weights, for all paths.
//
// Included by kernels/<path>.cc. There is one template, GroupTile, for codes as
// they are packed and for codes that were widened to bytes before. A path says
// by a Form how a kernel reads codes and how large its tiles are:
//
//   Simd           vectors of kLanes 32-bit lanes: Int, Float, their operations
//   Codes          how codes are multiplied; OneColumnCodes: by one column
//   kMaxCols       the most columns of a tile
//   TileCols(cols) the most of a tile where so many are cut into tiles
//   Panels(cols)   panels of codes that a tile of so many columns reads at once
//   FloatsInRegisters(cols) whether registers hold a tile's float sums as well
//                           as its integer ones; else floats stay in L1
//   Prefetches(cols)        whether codes that come from caches are prefetched
//   HasMemoryTile(cols)     whether weights from memory have a tile of their
//                           own, FromMemory<Form>'s; the same from L3 on where
//                           all codes are prefetched: memory gains more
//   Turns(cols)    of such tiles that take turns, group by group: more streams
//                  than registers have room for; if several, their floats stay
//                  in L1
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
  static constexpr int TileCols(ptrdiff_t /*cols*/) { return kCols; }
  static constexpr int Panels(int /*cols*/) { return 1; }
  static constexpr bool FloatsInRegisters(int /*cols*/) { return false; }
  static constexpr int Turns(int /*cols*/) { return 1; }
  static constexpr bool Prefetches(int /*cols*/) { return false; }
  static constexpr bool HasMemoryTile(int /*cols*/) { return false; }
  static constexpr bool kReadsMemory = false;
  static constexpr bool kReadsApart = false;
  static constexpr bool kInterleavesColumns = true;
  static constexpr bool kIsSigned = false;
};

// Weights that come from memory: codes and scales are prefetched.
template <class Form>
struct FromMemory : Form {
  static constexpr bool Prefetches(int /*cols*/) { return true; }
  static constexpr bool kReadsMemory = true;
};

template <class Form, int kCols, GroupKind kKind>
struct GroupTile {
  typedef typename Form::Simd Simd;
  typedef typename Simd::Float Float;
  typedef GroupSums<Form, kCols> Sums;
  static constexpr int kTurns = Form::kReadsMemory ? Form::Turns(kCols) : 1;
  static constexpr int kPanels = Form::Panels(kCols);
  static constexpr int kRows = kPanels * kGroupPanelRows;
  static constexpr int kPanelVecs = Sums::kPanelVecs;
  static constexpr int kVecs = Sums::kVecs;
  static constexpr int kColVecs = Sums::kColVecs;
  static constexpr int kPrefetchBytes = 2048;
  static constexpr int kPrefetchGroups = 32;  // of scales
  static constexpr int32_t kNoStarts[kCols] = {};

  // Weights from beyond L2 that are read once: panels that lie far apart are
  // read together, as few long streams.
  static void RunAll(const GroupTileArgs& args) {
    constexpr int kTurnRows = kTurns * kRows;
    const ptrdiff_t count = (args.rows + kTurnRows - 1) / kTurnRows;
    const ptrdiff_t apart = args.reads_apart ? count : 1;
    const ptrdiff_t row_step = args.reads_apart ? kGroupPanelRows : kTurnRows;
    for (ptrdiff_t i = 0; i < count; ++i) {
      Run(args, i * row_step, apart);
    }
  }

 private:
  // The tiles of all turns, which begin kPanels * apart panels from each other.
  static RUY_LIKE_NOINLINE void Run(const GroupTileArgs& args, ptrdiff_t row,
                                    ptrdiff_t apart) {
    constexpr bool kFloatsInRegisters =
        kTurns == 1 && Form::FloatsInRegisters(kCols);
    GroupPanels<kPanels> panels[kTurns];
    const ptrdiff_t turn_rows = kPanels * apart * kGroupPanelRows;
    for (int turn = 0; turn < kTurns; ++turn) {
      panels[turn] = GroupPanels<kPanels>(args, row + turn * turn_rows, apart);
    }
    const uint8_t* const end = panels[0].codes[0] + args.panel_bytes;
    typename Sums::Activations activations(args);
    // A tile's vectors: by columns of the tile or, if panels are stored one by
    // one, of each panel. MakeColumns() makes columns of what are none yet.
    alignas(64) float out[kTurns][kColVecs * kVecs * Simd::kLanes];
    const bool is_whole = kPanels == 1 || apart == 1;
    constexpr int kPanelFloats = kPanelVecs * Simd::kLanes;
    const ptrdiff_t col_floats = is_whole ? kVecs * Simd::kLanes : kPanelFloats;
    const ptrdiff_t panel_floats =
        is_whole ? kPanelFloats : kColVecs * kPanelFloats;
    const auto place = [&](int turn, int v, int c) {
      return out[turn] + v / kPanelVecs * panel_floats + c * col_floats +
             v % kPanelVecs * Simd::kLanes;
    };
    Float f[kVecs][kColVecs];
    if constexpr (kFloatsInRegisters) {
      RUY_LIKE_UNROLL
      for (int v = 0; v < kVecs; ++v) {
        RUY_LIKE_UNROLL
        for (int c = 0; c < kColVecs; ++c) f[v][c] = Simd::SetFloat(0);
      }
    } else {
      __builtin_memset(out, 0, sizeof(out));
    }
    ptrdiff_t of_columns = 0;
    for (ptrdiff_t group = 0; group < args.sizes.groups; ++group) {
      // The next tile's panels begin where these end, or the last of these.
      const ptrdiff_t left = end - panels[0].codes[0];
      const ptrdiff_t prefetch =
          !is_whole || left > kPrefetchBytes
              ? kPrefetchBytes
              : kPrefetchBytes + (kPanels - 1) * args.panel_bytes;
      const typename Sums::Activations of_group = activations;
      for (int turn = 0; turn < kTurns; ++turn) {
        activations = of_group;
        ptrdiff_t(&values)[kPanels] = panels[turn].group_values;
        Sums sums;
        sums.SumGroup(
            args,
            kKind == kGroupRowZeros ? kNoStarts : args.starts + of_columns,
            group + 1 < args.sizes.groups ? args.sizes.group_steps
                                          : args.sizes.last_group_steps,
            panels[turn].codes, prefetch, &activations);
        Float scales[kVecs];
        Sums::LoadScales(args, values, scales);
        RUY_LIKE_UNROLL
        for (int v = 0; v < kVecs; ++v) {
          const typename Simd::Int zeros = LoadZeros<Sums, kKind>(
              args, values[v / kPanelVecs] + v % kPanelVecs * Sums::kRowsOfVec);
          RUY_LIKE_UNROLL
          for (int c = 0; c < kColVecs; ++c) {
            const auto add = [&](const Float& to) {
              return AddGroup<Sums, kKind>(args, of_columns, c, zeros,
                                           scales[v], sums.Get(v, c), to);
            };
            if constexpr (kFloatsInRegisters) {
              f[v][c] = add(f[v][c]);
            } else {
              float* const at = place(turn, v, c);
              Simd::StoreAligned(at, add(Simd::LoadAligned(at)));
            }
          }
        }
        RUY_LIKE_UNROLL
        for (int p = 0; p < kPanels; ++p) {
          values[p] += kGroupPanelRows;
          if constexpr (Form::kReadsMemory) {
            __builtin_prefetch(
                static_cast<const char*>(args.scales) +
                kScalarBytes[static_cast<int>(args.scale_type)] *
                    (values[p] + kPrefetchGroups * kGroupPanelRows));
          }
        }
        if constexpr (Form::Codes::kSumsWords && !kFloatsInRegisters) {
          HoldInMemory(out);
        }
      }
      of_columns += args.group_stride;
    }
    if constexpr (kFloatsInRegisters) {
      RUY_LIKE_UNROLL
      for (int v = 0; v < kVecs; ++v) {
        RUY_LIKE_UNROLL
        for (int c = 0; c < kColVecs; ++c) {
          Simd::StoreAligned(place(0, v, c), f[v][c]);
        }
      }
    }
    for (int turn = 0; turn < kTurns && row < args.rows; ++turn) {
      Sums::MakeColumns(out[turn]);
      if (is_whole) {
        StoreGroupTile<Simd, kRows>(args, row, out[turn]);
        row += turn_rows;
        continue;
      }
      for (int p = 0; p < kPanels && row < args.rows; ++p) {
        StoreGroupTile<Simd, kGroupPanelRows>(args, row,
                                              out[turn] + p * panel_floats);
        row += apart * kGroupPanelRows;
      }
    }
  }
};

// The tile of as many columns as the panel has.
template <class Form, GroupKind kKind, int kCols = Form::kMaxCols>
RUY_LIKE_ALWAYS_INLINE void RunTilesOfKind(const GroupTileArgs& args) {
  if (kCols == 1 || args.cols == kCols) {
    if constexpr (Form::HasMemoryTile(kCols)) {
      if (args.reads_apart &&
          (args.lhs_is_in_memory || Form::Prefetches(kCols))) {
        return GroupTile<FromMemory<Form>, kCols, kKind>::RunAll(args);
      }
    }
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
