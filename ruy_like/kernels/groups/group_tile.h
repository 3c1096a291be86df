// Back-end: tiles of products with group-scaled weights, for all paths.
//
// Included by kernels/<path>.cc. A path gives Ops, which has
//
//   Simd           vectors of kLanes 32-bit lanes: Int, Float, their operations
//   Dot4, Dot8     sums of four products in each lane, of widened 4- and 8-bit
//                  levels: Acc, Weights, Activations, and kActivationBytes
//   kTilePanels x kTileCols  the tile of widened panels
//   kFloatsInRegisters       whether registers hold a tile's float sums as well
//                            as its integer ones; else floats stay in L1
//   kTilePrefetchBytes       how far ahead widened panels are prefetched, or 0
//   kInterleavesColumns      see group_kernel.h
//   kCopyInt8, kCopyFloats   see GroupKernel
//   SetStarts      see PlainGroupStarts (group_pack.h)
//   and what group_stream.h lists
//
// A group's sum is exact in integers; then it becomes a float and is multiplied
// and added in one rounding, in the order of groups. So results do not depend
// on the shape of tiles or on the instructions.
#ifndef RUY_LIKE_KERNELS_GROUPS_GROUP_TILE_H_
#define RUY_LIKE_KERNELS_GROUPS_GROUP_TILE_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/groups/group_common.h"
#include "ruy_like/kernels/groups/group_kernel.h"
#include "ruy_like/kernels/groups/group_pack.h"
#include "ruy_like/kernels/groups/group_store.h"
#include "ruy_like/kernels/groups/group_stream.h"
#include "ruy_like/simd/loops.h"

namespace ruy_like::kernels {
namespace {

// A tile's integer sums of one group: kVecs vectors, of kRowsOfVec rows each,
// by kColVecs. Specialised for a Dot whose accumulators span several columns.
template <class Ops, class Dot, int kCols>
struct GroupSums : RowLanes<typename Ops::Simd> {
  typedef typename Ops::Simd Simd;
  typedef typename Simd::Int Int;
  typedef typename Simd::Float Float;
  static constexpr int kRowsOfVec = Simd::kLanes;
  static constexpr int kPanelVecs = kGroupPanelRows / kRowsOfVec;
  static constexpr int kVecs = Ops::kTilePanels * kPanelVecs;
  static constexpr int kColVecs = kCols;
  typename Dot::Acc acc[kVecs][kColVecs];

  // From each column's start, or from 0 if `starts` is null.
  RUY_LIKE_ALWAYS_INLINE void Start(const int32_t* starts) {
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; ++c) {
      RUY_LIKE_UNROLL
      for (int v = 0; v < kVecs; ++v) {
        acc[v][c] = Dot::Start(starts == nullptr ? 0 : starts[c]);
      }
    }
  }

  // Moves the pointers on.
  RUY_LIKE_ALWAYS_INLINE void AddSteps(ptrdiff_t steps, const uint8_t** levels,
                                       ActivationPanel<Ops, Dot, kCols>* from) {
    const char* a = from->first;
    for (ptrdiff_t step = 0; step < steps; ++step) {
      RUY_LIKE_UNROLL
      for (int quad = 0; quad < 2; ++quad) {
        if (Ops::kTilePrefetchBytes != 0) {
          RUY_LIKE_UNROLL
          for (int p = 0; p < Ops::kTilePanels; ++p) {
            __builtin_prefetch(levels[p] + quad * 64 + Ops::kTilePrefetchBytes);
          }
        }
        typename Dot::Weights weights[kVecs];
        RUY_LIKE_UNROLL
        for (int v = 0; v < kVecs; ++v) {
          weights[v] = Dot::LoadWeights(levels[v / kPanelVecs] + quad * 64 +
                                        v % kPanelVecs * 4 * Simd::kLanes);
        }
        RUY_LIKE_UNROLL
        for (int c = 0; c < kCols; ++c) {
          const typename Dot::Activations activation =
              Dot::LoadActivations(a + from->At(c, quad));
          RUY_LIKE_UNROLL
          for (int v = 0; v < kVecs; ++v) {
            Dot::Step(acc[v][c], weights[v], activation);
          }
        }
      }
      a += from->kStepStride;
      RUY_LIKE_UNROLL
      for (int p = 0; p < Ops::kTilePanels; ++p) levels[p] += 128;
    }
    from->first = a;
  }

  RUY_LIKE_ALWAYS_INLINE Int Get(int v, int c) const {
    return Dot::Finish(acc[v][c]);
  }

  // Reorders a tile's vectors to columns, which they are here.
  static RUY_LIKE_ALWAYS_INLINE void MakeColumns(float* /*out*/) {}
};

// Up to kTilePanels panels of widened levels by kCols columns.
template <class Ops, class Dot, int kKind, int kCols>
struct WidenedTile {
  typedef typename Ops::Simd Simd;
  typedef typename Simd::Float Float;
  typedef GroupSums<Ops, Dot, kCols> Sums;
  static constexpr int kPanels = Ops::kTilePanels;
  static constexpr int kRows = kPanels * kGroupPanelRows;
  static constexpr int kPanelVecs = Sums::kPanelVecs;
  static constexpr int kVecs = Sums::kVecs;
  static constexpr int kColVecs = Sums::kColVecs;

  static void RunAll(const GroupTileArgs& args) {
    for (ptrdiff_t row = 0; row < args.rows; row += kRows) Run(args, row);
  }

 private:
  static RUY_LIKE_NOINLINE void Run(const GroupTileArgs& args, ptrdiff_t row) {
    GroupPanels<kPanels> panels(args, row, /*apart=*/1);
    ActivationPanel<Ops, Dot, kCols> activations(args);
    // Vectors of the tile; MakeColumns() reorders them to columns.
    alignas(64) float out[kColVecs * kVecs * Simd::kLanes];
    const auto place = [&](int v, int c) {
      return out + (c * kVecs + v) * Simd::kLanes;
    };
    Float f[kVecs][kColVecs];
    RUY_LIKE_UNROLL
    for (int v = 0; v < kVecs; ++v) {
      RUY_LIKE_UNROLL
      for (int c = 0; c < kColVecs; ++c) {
        if constexpr (Ops::kFloatsInRegisters) {
          f[v][c] = Simd::SetFloat(0);
        } else {
          Simd::StoreAligned(place(v, c), Simd::SetFloat(0));
        }
      }
    }
    for (ptrdiff_t group = 0; group < args.groups; ++group) {
      Sums sums;
      sums.Start(kKind == kGroupTileGeneral ? nullptr
                                            : args.starts + group * kCols);
      sums.AddSteps(
          group + 1 < args.groups ? args.group_steps : args.last_group_steps,
          panels.levels, &activations);
      RUY_LIKE_UNROLL
      for (int v = 0; v < kVecs; ++v) {
        const ptrdiff_t at = panels.group_values[v / kPanelVecs] +
                             group * kGroupPanelRows +
                             v % kPanelVecs * Sums::kRowsOfVec;
        const Float scale =
            Sums::OfRows(static_cast<const float*>(args.scales) + at);
        RUY_LIKE_UNROLL
        for (int c = 0; c < kColVecs; ++c) {
          if constexpr (Ops::kFloatsInRegisters) {
            f[v][c] = AddGroup<Simd, Sums, kKind>(
                args, at, group * kCols, c, scale, sums.Get(v, c), f[v][c]);
          } else {
            float* const sum = place(v, c);
            Simd::StoreAligned(
                sum, AddGroup<Simd, Sums, kKind>(args, at, group * kCols, c,
                                                 scale, sums.Get(v, c),
                                                 Simd::LoadAligned(sum)));
          }
        }
      }
    }
    if constexpr (Ops::kFloatsInRegisters) {
      RUY_LIKE_UNROLL
      for (int v = 0; v < kVecs; ++v) {
        RUY_LIKE_UNROLL
        for (int c = 0; c < kColVecs; ++c) {
          Simd::StoreAligned(place(v, c), f[v][c]);
        }
      }
    }
    Sums::MakeColumns(out);
    StoreGroupTile<Simd, kRows>(args, row, out);
  }
};

// The tile of as many columns as the panel has.
template <class Ops, class Dot, int kKind, int kCols>
RUY_LIKE_ALWAYS_INLINE void RunWidenedCols(const GroupTileArgs& args) {
  if (args.cols == kCols) {
    WidenedTile<Ops, Dot, kKind, kCols>::RunAll(args);
  } else if constexpr (kCols > 1) {
    RunWidenedCols<Ops, Dot, kKind, kCols - 1>(args);
  }
}

template <class Ops, class Dot, bool kRowZeros>
static void RunWidened(const GroupTileArgs& args) {
  if (args.kind == kGroupTilePlain) {
    RunWidenedCols<Ops, Dot, kGroupTilePlain, Ops::kTileCols>(args);
  } else if (args.kind == kGroupTileColumnGroupScales) {
    RunWidenedCols<Ops, Dot, kGroupTileColumnGroupScales, Ops::kTileCols>(args);
  } else if (args.kind == kGroupTileActivationZeros) {
    RunWidenedCols<Ops, Dot, kGroupTileActivationZeros, Ops::kTileCols>(args);
  } else if constexpr (kRowZeros) {
    RunWidenedCols<Ops, Dot, kGroupTileGeneral, Ops::kTileCols>(args);
  }
}

// The dot products of a column of ones are the sums of levels.
template <class Ops, class Dot>
static void SumWidened(const GroupTileArgs& args) {
  typedef typename Ops::Simd Simd;
  typedef typename Simd::Int Int;
  typedef GroupSums<Ops, Dot, 1> Sums;
  constexpr int kRows = Ops::kTilePanels * kGroupPanelRows;
  const bool has_row_zeros = args.kind == kGroupTileGeneral;
  for (ptrdiff_t row = 0; row < args.rows; row += kRows) {
    GroupPanels<Ops::kTilePanels> panels(args, row, /*apart=*/1);
    ActivationPanel<Ops, Dot, 1> ones(args);
    for (ptrdiff_t group = 0; group < args.groups; ++group) {
      Sums sums;
      sums.Start(has_row_zeros ? nullptr : args.starts + group);
      sums.AddSteps(
          group + 1 < args.groups ? args.group_steps : args.last_group_steps,
          panels.levels, &ones);
      // Integers, which MakeColumns() moves as they are.
      alignas(64) float out[Sums::kVecs * Simd::kLanes];
      for (int v = 0; v < Sums::kVecs; ++v) {
        const ptrdiff_t at = panels.group_values[v / Sums::kPanelVecs] +
                             group * kGroupPanelRows +
                             v % Sums::kPanelVecs * Sums::kRowsOfVec;
        Int sum = sums.Get(v, 0);
        if (has_row_zeros) {
          const Int zero =
              Sums::OfRows(static_cast<const int32_t*>(args.zeros) + at);
          sum = Simd::Add(sum, Simd::Mul(zero, Simd::Set(args.starts[group])));
        }
        __builtin_memcpy(out + v * Simd::kLanes, &sum, sizeof(sum));
      }
      Sums::MakeColumns(out);
      for (int p = 0; p < Ops::kTilePanels; ++p) {
        __builtin_memcpy(
            args.sums + panels.group_values[p] + group * kGroupPanelRows,
            out + p * kGroupPanelRows, kGroupPanelRows * sizeof(float));
      }
    }
  }
}

// `n` is a multiple of a panel's number of scales.
template <class Simd>
static void WidenScales(const uint16_t* float16s, ptrdiff_t n, float* floats) {
  for (ptrdiff_t i = 0; i < n; i += Simd::kLanes) {
    Simd::StoreAligned(floats + i,
                       Simd::template LoadWidened<Scalar::kF16>(float16s + i));
  }
}

template <class Ops>
constexpr GroupKernel GroupKernelOf(const char* name) {
  GroupKernel kernel = {};
  kernel.name = name;
  kernel.tile_rows = Ops::kTilePanels * kGroupPanelRows;
  kernel.tile_cols = Ops::kTileCols;
  kernel.stream_cols = Ops::kStreamCols;
  kernel.max_stream_cols4 = Ops::kMaxStreamCols4;
  kernel.max_stream_cols8 = Ops::kMaxStreamCols8;
  kernel.max_stream_cols4_zeros = Ops::kMaxStreamCols4Zeros;
  kernel.max_stream_cols8_zeros = Ops::kMaxStreamCols8Zeros;
  kernel.interleaves_columns = Ops::kInterleavesColumns;
  kernel.signed_levels = Ops::kSignedLevels;
  kernel.activation_bytes4 = Ops::Dot4::kActivationBytes;
  kernel.activation_bytes8 = Ops::Dot8::kActivationBytes;
  kernel.tile4 = RunWidened<Ops, typename Ops::Dot4, /*kRowZeros=*/false>;
  kernel.tile8 = RunWidened<Ops, typename Ops::Dot8, /*kRowZeros=*/true>;
  kernel.sum4 = SumWidened<Ops, typename Ops::Dot4>;
  kernel.sum8 = SumWidened<Ops, typename Ops::Dot8>;
  kernel.stream4 = RunStream4<Ops>;
  if constexpr (Ops::kMaxStreamCols8 != 0) kernel.stream8 = RunStream8<Ops>;
  kernel.widen4 = WidenNibbles;
  kernel.widen8 = MakeLevelsSigned;
  kernel.quantize = QuantizeActivations;
  kernel.widen_scales = WidenScales<typename Ops::Simd>;
  kernel.copy_int8 = Ops::kCopyInt8;
  kernel.copy_floats = Ops::kCopyFloats;
  kernel.pack_columns4 = PackGroupColumns<Ops, Ops::Dot4::kActivationBytes>;
  kernel.pack_columns8 = PackGroupColumns<Ops, Ops::Dot8::kActivationBytes>;
  return kernel;
}

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_GROUPS_GROUP_TILE_H_
