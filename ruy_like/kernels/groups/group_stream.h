// Back-end: products with group-scaled weights that read the packed panels as
// they are: each byte of them once for all columns of an activation panel.
//
// Part of group_tile.h, which says what a path's Ops has. This file uses its
// streaming members:
//
//   ColumnNibbles  sums of 8 products in each lane, of packed nibbles, for one
//                  column: Acc, Weights, Activations, Step, Finish
//   Nibbles        the same for more columns
//   Bytes          the same of packed 8-bit levels, if kMaxStreamCols8 != 0
//   kStreamCols    the most columns of an activation panel
//   kMaxStreamCols4, kMaxStreamCols8, kMaxStreamCols4Zeros,
//   kMaxStreamCols8Zeros  see GroupKernel
//   StreamPanels(cols)  panels that are read at once
//   kOneColumnPanels8   the same for one column and levels of 8 bits
#ifndef RUY_LIKE_KERNELS_GROUPS_GROUP_STREAM_H_
#define RUY_LIKE_KERNELS_GROUPS_GROUP_STREAM_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/groups/group_common.h"
#include "ruy_like/kernels/groups/group_kernel.h"
#include "ruy_like/kernels/groups/group_store.h"
#include "ruy_like/simd/loops.h"

namespace ruy_like::kernels {
namespace {

// Packed levels of 8 bits, by a path's sums of four products.
template <class Dot>
struct StreamedBytes : Dot {
  struct Weights {
    typename Dot::Weights low, high;  // levels 0 to 3 of a step, 4 to 7
  };
  static constexpr int kStepBytes = 128;
  static RUY_LIKE_ALWAYS_INLINE Weights LoadWeights(const uint8_t* p) {
    return {Dot::LoadWeights(p), Dot::LoadWeights(p + 64)};
  }
  static RUY_LIKE_ALWAYS_INLINE void Step(
      typename Dot::Acc& acc, const Weights& weights,
      const typename Dot::Activations& low,
      const typename Dot::Activations& high) {
    Dot::Step(acc, weights.low, low);
    Dot::Step(acc, weights.high, high);
  }
};

// Activations of a panel of kCols columns, as Dot loads them.
template <class Ops, class Dot, int kCols>
struct ActivationPanel {
  static constexpr ptrdiff_t kColBytes =
      kGroupStepLevels * Dot::kActivationBytes;
  static constexpr ptrdiff_t kStepStride =
      Ops::kInterleavesColumns ? kCols * kColBytes : kColBytes;
  const char* first;  // of the next step
  ptrdiff_t col_stride;

  explicit RUY_LIKE_ALWAYS_INLINE ActivationPanel(const GroupTileArgs& args)
      : first(static_cast<const char*>(args.activations)),
        col_stride(Ops::kInterleavesColumns ? kColBytes
                                            : args.activation_col_stride) {}
  // The offset of four levels of column c, the first or the second ones of a
  // step.
  RUY_LIKE_ALWAYS_INLINE ptrdiff_t At(int c, int quad) const {
    return c * (Ops::kInterleavesColumns ? kColBytes : col_stride) +
           quad * (kColBytes / 2);
  }
};

// The scales of a tile's rows for one group.
template <class Simd, Scalar kType, int kPanels, int kVecs>
RUY_LIKE_ALWAYS_INLINE void LoadScalesAs(
    const void* scales, const ptrdiff_t (&at)[kPanels],
    typename Simd::Float (&loaded)[kVecs]) {
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

template <class Simd, int kPanels, int kVecs>
RUY_LIKE_ALWAYS_INLINE void LoadScales(const GroupTileArgs& args,
                                       const ptrdiff_t (&at)[kPanels],
                                       typename Simd::Float (&loaded)[kVecs]) {
  if (args.scale_type == Scalar::kF32) {
    LoadScalesAs<Simd, Scalar::kF32>(args.scales, at, loaded);
  } else if (args.scale_type == Scalar::kF16) {
    LoadScalesAs<Simd, Scalar::kF16>(args.scales, at, loaded);
  } else {
    LoadScalesAs<Simd, Scalar::kBF16>(args.scales, at, loaded);
  }
}

// How a tile corrects the dot products of a group. starts[c] is minus the sum
// of column c's activations, times the weights' common zero point if they have
// no zero points per row.
enum StreamKind {
  // dot + starts; one scale per column
  kStreamPlain,
  // dot + starts; one scale per column and group
  kStreamColumnGroupScales,
  // dot + starts * zeros[row]
  kStreamRowZeros,
  // One of the above sums, less activation_zeros[c] * (the same sum of the last
  // column, whose activations are all 1)
  kStreamActivationZeros
};

// Packed levels by kCols columns, of which kDstCols have results.
template <class Ops, class Levels, int kCols, StreamKind kKind>
struct StreamTile {
  typedef typename Ops::Simd Simd;
  typedef typename Simd::Int Int;
  typedef typename Simd::Float Float;
  typedef typename Levels::Acc Acc;
  static constexpr bool kActivationZeros = kKind == kStreamActivationZeros;
  static constexpr bool kRowZeros =
      kKind == kStreamRowZeros || kActivationZeros;
  static constexpr int kDstCols = kActivationZeros ? kCols - 1 : kCols;
  static constexpr bool kHasOneResult = kDstCols == 1;
  static constexpr int kPanels = kHasOneResult && Levels::kStepBytes == 128
                                     ? Ops::kOneColumnPanels8
                                     : Ops::StreamPanels(kCols);
  static constexpr int kRows = kPanels * kGroupPanelRows;
  static constexpr int kPanelVecs = kGroupPanelRows / Simd::kLanes;
  static constexpr int kVecs = kPanels * kPanelVecs;
  typedef ActivationPanel<Ops, Levels, kCols> Activations;
  // 128 is subtracted again from 8-bit levels and from their zero points.
  static constexpr bool kSigned =
      Ops::kSignedLevels && Levels::kStepBytes == 128;
  // Prefetches kPrefetchBytes ahead. AVX-512 reads one column, or levels of 8
  // bits, faster without (doc/tuning.md).
  static constexpr bool kPrefetches =
      Simd::kLanes == 16 ? Levels::kStepBytes == 64 && !kHasOneResult
                         : Levels::kStepBytes == 64 || Simd::kLanes == 8;
  static constexpr int kPrefetchBytes = 2048;

  static RUY_LIKE_ALWAYS_INLINE void Dots(ptrdiff_t steps,
                                          const uint8_t** levels,
                                          Activations* from, ptrdiff_t prefetch,
                                          Acc (&acc)[kVecs][kCols]) {
    const char* a = from->first;
    for (ptrdiff_t step = 0; step < steps; ++step) {
      typename Levels::Weights weights[kVecs];
      RUY_LIKE_UNROLL
      for (int v = 0; v < kVecs; ++v) {
        const uint8_t* const p = levels[v / kPanelVecs];
        if (kPrefetches && v % kPanelVecs == 0) {
          for (int line = 0; line < Levels::kStepBytes; line += 64) {
            __builtin_prefetch(p + prefetch + line);
          }
        }
        weights[v] = Levels::LoadWeights(p + v % kPanelVecs * 4 * Simd::kLanes);
      }
      RUY_LIKE_UNROLL
      for (int c = 0; c < kCols; ++c) {
        const typename Levels::Activations low =
            Levels::LoadActivations(a + from->At(c, 0));
        const typename Levels::Activations high =
            Levels::LoadActivations(a + from->At(c, 1));
        RUY_LIKE_UNROLL
        for (int v = 0; v < kVecs; ++v) {
          Levels::Step(acc[v][c], weights[v], low, high);
        }
      }
      a += from->kStepStride;
      RUY_LIKE_UNROLL
      for (int p = 0; p < kPanels; ++p) levels[p] += Levels::kStepBytes;
    }
    from->first = a;
  }

  // Whether starts are to be multiplied by zero points of the rows.
  static RUY_LIKE_ALWAYS_INLINE bool HasRowZeros(const GroupTileArgs& args) {
    return kKind == kStreamRowZeros ||
           (kActivationZeros && args.zeros != nullptr);
  }

  static RUY_LIKE_ALWAYS_INLINE Int SumOf(const GroupTileArgs& args, Int zero,
                                          ptrdiff_t of_column, const Acc& acc) {
    const Int sum = Levels::Finish(acc);
    if constexpr (kRowZeros) {
      return Simd::Add(sum, Simd::Mul(zero, Simd::Set(args.starts[of_column])));
    }
    return sum;
  }

  static RUY_LIKE_ALWAYS_INLINE Float AddGroup(const GroupTileArgs& args,
                                               ptrdiff_t of_column, Float scale,
                                               Int sum, Float f) {
    if (kKind == kStreamColumnGroupScales ||
        (kKind == kStreamRowZeros && args.column_group_scales != nullptr)) {
      scale = Simd::MulFloat(
          scale, Simd::SetFloat(args.column_group_scales[of_column]));
    }
    return Simd::MulAddFloat(Simd::ToFloat(sum), scale, f);
  }

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
    const uint8_t* const end = panels.levels[0] + args.panel_bytes;
    Activations activations(args);
    Float f[kVecs][kDstCols];
    RUY_LIKE_UNROLL
    for (int v = 0; v < kVecs; ++v) {
      RUY_LIKE_UNROLL
      for (int c = 0; c < kDstCols; ++c) f[v][c] = Simd::SetFloat(0);
    }
    for (ptrdiff_t group = 0; group < args.groups; ++group) {
      Acc acc[kVecs][kCols];
      RUY_LIKE_UNROLL
      for (int c = 0; c < kCols; ++c) {
        RUY_LIKE_UNROLL
        for (int v = 0; v < kVecs; ++v) {
          acc[v][c] = Levels::Start(
              HasRowZeros(args) ? 0 : args.starts[group * kCols + c]);
        }
      }
      // The next tile's panels begin where these end, or the last of these.
      const ptrdiff_t left = end - panels.levels[0];
      Dots(group + 1 < args.groups ? args.group_steps : args.last_group_steps,
           panels.levels, &activations,
           apart != 1 || left > kPrefetchBytes
               ? kPrefetchBytes
               : kPrefetchBytes + (kPanels - 1) * args.panel_bytes,
           acc);
      Float scales[kVecs];
      LoadScales<Simd>(args, panels.group_values, scales);
      RUY_LIKE_UNROLL
      for (int v = 0; v < kVecs; ++v) {
        Int zero = Simd::Set(0);
        if (HasRowZeros(args)) {
          zero = Ops::LoadBytes(static_cast<const uint8_t*>(args.zeros) +
                                panels.group_values[v / kPanelVecs] +
                                v % kPanelVecs * Simd::kLanes);
          if (kSigned) zero = Simd::Sub(zero, Simd::Set(128));
        }
        const auto sum_of = [&](int c) {
          return SumOf(args, zero, group * kCols + c, acc[v][c]);
        };
        const Int level_sums = sum_of(kCols - 1);
        RUY_LIKE_UNROLL
        for (int c = 0; c < kDstCols; ++c) {
          Int sum = sum_of(c);
          if constexpr (kActivationZeros) {
            sum = Simd::Sub(
                sum,
                Simd::Mul(level_sums, Simd::Set(args.activation_zeros[c])));
          }
          f[v][c] = AddGroup(args, group * kCols + c, scales[v], sum, f[v][c]);
        }
      }
      RUY_LIKE_UNROLL
      for (int p = 0; p < kPanels; ++p) {
        panels.group_values[p] += kGroupPanelRows;
      }
    }
    // By columns of the tile or, if panels are stored one by one, of each
    // panel.
    alignas(64) float out[kDstCols * kRows];
    const ptrdiff_t col_floats = apart == 1 ? kRows : kGroupPanelRows;
    const ptrdiff_t panel_floats =
        apart == 1 ? kGroupPanelRows : kDstCols * kGroupPanelRows;
    RUY_LIKE_UNROLL
    for (int v = 0; v < kVecs; ++v) {
      RUY_LIKE_UNROLL
      for (int c = 0; c < kDstCols; ++c) {
        Simd::StoreAligned(out + v / kPanelVecs * panel_floats +
                               c * col_floats + v % kPanelVecs * Simd::kLanes,
                           f[v][c]);
      }
    }
    if (apart == 1) {
      StoreGroupTile<Simd, kRows>(args, row, out);
    } else {
      for (int p = 0; p < kPanels && row < args.rows; ++p) {
        StoreGroupTile<Simd, kGroupPanelRows>(args, row,
                                              out + p * panel_floats);
        row += apart * kGroupPanelRows;
      }
    }
  }
};

template <class Ops, class Levels, int kCols>
RUY_LIKE_ALWAYS_INLINE void RunStreamTiles(const GroupTileArgs& args) {
  if (args.kind == kGroupTileActivationZeros) {
    if constexpr (kCols > 1) {
      StreamTile<Ops, Levels, kCols, kStreamActivationZeros>::RunAll(args);
    }
  } else if (args.zeros != nullptr) {
    StreamTile<Ops, Levels, kCols, kStreamRowZeros>::RunAll(args);
  } else if (args.column_group_scales != nullptr) {
    StreamTile<Ops, Levels, kCols, kStreamColumnGroupScales>::RunAll(args);
  } else {
    StreamTile<Ops, Levels, kCols, kStreamPlain>::RunAll(args);
  }
}

// The tile of as many columns as the panel has.
template <class Ops, class OneColumn, class Columns, int kCols>
RUY_LIKE_ALWAYS_INLINE void RunStreamCols(const GroupTileArgs& args) {
  if constexpr (kCols == 1) {
    RunStreamTiles<Ops, OneColumn, 1>(args);
  } else if (args.cols + (args.kind == kGroupTileActivationZeros ? 1 : 0) ==
             kCols) {
    RunStreamTiles<Ops, Columns, kCols>(args);
  } else {
    RunStreamCols<Ops, OneColumn, Columns, kCols - 1>(args);
  }
}

template <class Ops>
static void RunStream4(const GroupTileArgs& args) {
  RunStreamCols<Ops, typename Ops::ColumnNibbles, typename Ops::Nibbles,
                Ops::kStreamCols>(args);
}

template <class Ops>
static void RunStream8(const GroupTileArgs& args) {
  RunStreamCols<Ops, typename Ops::Bytes, typename Ops::Bytes,
                Ops::kStreamCols>(args);
}

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_GROUPS_GROUP_STREAM_H_
