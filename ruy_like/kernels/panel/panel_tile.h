// Back-end: the inner loop of the panel kernel: one tile over depth.
//
// Included by panel_kernel.h, which draws the tile, and by what runs the same
// tiles in another order (panel_widen.h, narrow_float.h). Computes a tile's
// accumulators from their start values. Does not know blocks, passes or edges
// of rows; a tile for every number of panels and columns is an instance of its
// own, found in kTileTable.
#ifndef RUY_LIKE_KERNELS_PANEL_PANEL_TILE_H_
#define RUY_LIKE_KERNELS_PANEL_PANEL_TILE_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/panel/panel_lanes.h"
#include "ruy_like/kernels/panel/panel_rhs.h"
#include "ruy_like/simd/loops.h"

namespace ruy_like::kernels {
namespace {

struct TileArgs {
  const void* lhs;             // first of the tile's lhs panels
  ptrdiff_t lhs_stride_bytes;  // from one to the next
  RhsColumns rhs = {nullptr, 0};
  ptrdiff_t steps;                 // depth / kStepDepth
  const void* start = nullptr;     // first accumulators; as `result` lies
  ptrdiff_t start_col_stride = 0;  // elements to the next column's; 0: the same
  const int32_t* column_start = nullptr;  // added to all of a column, or null
  void* result = nullptr;  // column-major, columns one below the other
  // Where a tile that copies its lhs stores the vectors that it loads.
  void* lhs_copy = nullptr;
  ptrdiff_t lhs_copy_stride_bytes = 0;  // from one lhs panel to the next
  // Where a tile that is finished in registers goes, an Epilogue::Finish, or
  // null: to `result`.
  const void* finish = nullptr;
  bool prefetches_lhs = false;  // as the lhs comes from L2
};

typedef void TileFn(const TileArgs& args);

// In place of a deferred tile (panel_epilogue.h) and of its epilogue's steps.
struct NothingDeferred {};
struct NoEpilogueSteps {
  explicit RUY_LIKE_ALWAYS_INLINE NoEpilogueSteps(const NothingDeferred&) {}
  static constexpr int Count(int) { return 0; }
  static constexpr bool kOneStart = false;
};

// Start values of a tile's accumulators. kOneStart: the same for all columns.
template <class Op, bool kOneStart, int kVectors, int kCols>
RUY_LIKE_ALWAYS_INLINE void StartTile(
    const TileArgs& args, typename Op::Vector (&acc)[kCols][kVectors]) {
  typedef typename Op::Accum Accum;
  typedef typename Op::Simd V;
  const Accum* start = static_cast<const Accum*>(args.start);
  // A start that all columns share is read once: reading it for each column
  // takes half a cycle more per accumulator.
  const ptrdiff_t start_col_stride = args.start_col_stride;
  if (kOneStart || start_col_stride == 0) {
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; ++c) {
      RUY_LIKE_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        acc[c][v] = V::LoadAligned(start + v * V::kLanes);
      }
    }
  } else {
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; ++c) {
      RUY_LIKE_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        acc[c][v] =
            V::LoadAligned(start + c * start_col_stride + v * V::kLanes);
      }
    }
  }
  if constexpr (Op::Epilogue::kHasColumnStart) {
    if (args.column_start != nullptr) {
      RUY_LIKE_UNROLL
      for (int c = 0; c < kCols; ++c) {
        RUY_LIKE_UNROLL
        for (int v = 0; v < kVectors; ++v) {
          acc[c][v] = V::Add(acc[c][v], V::Set(args.column_start[c]));
        }
      }
    }
  }
}

// Finishes a tile in registers or stores its accumulators.
template <class Op, int kVectors, int kCols>
RUY_LIKE_ALWAYS_INLINE void EndTile(
    const TileArgs& args, const typename Op::Vector (&acc)[kCols][kVectors]) {
  typedef typename Op::Accum Accum;
  typedef typename Op::Simd V;
  if constexpr (Op::kFinishesTiles) {
    if (args.finish != nullptr) {
      return FinishTile(
          acc, *static_cast<const typename Op::Epilogue::Finish*>(args.finish));
    }
  }
  Accum* result = static_cast<Accum*>(args.result);
  RUY_LIKE_UNROLL
  for (int c = 0; c < kCols; ++c) {
    RUY_LIKE_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      V::StoreAligned(result + (c * kVectors + v) * V::kLanes, acc[c][v]);
    }
  }
}

// A tile's lhs panels along depth, by one pointer or by one to each.
template <bool kEach, int kVectors>
class LhsPanels {
 public:
  explicit RUY_LIKE_ALWAYS_INLINE LhsPanels(const TileArgs& args)
      : stride_(args.lhs_stride_bytes) {
    RUY_LIKE_UNROLL
    for (int v = 0; v < kPointers; ++v) {
      panels_[v] = static_cast<const char*>(args.lhs) + v * stride_;
    }
  }
  RUY_LIKE_ALWAYS_INLINE const void* Panel(int v) const {
    return kEach ? panels_[v % kPointers] : panels_[0] + v * stride_;
  }
  RUY_LIKE_ALWAYS_INLINE void Advance(ptrdiff_t bytes) {
    RUY_LIKE_UNROLL
    for (int v = 0; v < kPointers; ++v) {
      panels_[v] += bytes;
      // Without the barrier GCC computes each from its start and a common
      // offset.
      if constexpr (kEach) asm("" : "+r"(panels_[v]));
    }
  }

 private:
  static constexpr int kPointers = 1 + kEach * (kVectors - 1);
  const char* panels_[kPointers];
  const ptrdiff_t stride_;
};

template <class Op>
RUY_LIKE_ALWAYS_INLINE typename Op::LhsVector LoadLhs(const typename Op::Lhs* p,
                                                      int sub_step) {
  if constexpr (Op::kSubSteps == 1) {
    return Op::LoadLhs(p);
  } else {
    return Op::LoadLhs(p, sub_step);
  }
}
// `offset_bytes` beyond the column's first dot.
template <class Op>
RUY_LIKE_ALWAYS_INLINE typename Op::RhsVector LoadRhs(
    const typename Op::Rhs* column, ptrdiff_t offset_bytes,
    ptrdiff_t dot_bytes) {
  return Op::LoadRhs(reinterpret_cast<const typename Op::Rhs*>(
                         reinterpret_cast<const char*>(column) + offset_bytes),
                     dot_bytes);
}

// kSubSteps sub-steps, from `sub_step` on, of a tile of few columns: these are
// held in registers, and each vector of the lhs is loaded right before its
// multiplications.
template <class Op, int kSubSteps, int kVectors, int kCols, class Panels,
          class Cursor>
RUY_LIKE_ALWAYS_INLINE void MultiplyAddByRows(
    const Panels& lhs, const Cursor& rhs, int sub_step,
    typename Op::Vector (&acc)[kCols][kVectors]) {
  typename Op::RhsVector rhs_vectors[kSubSteps][kCols];
  RUY_LIKE_UNROLL
  for (int i = 0; i < kSubSteps * kCols; ++i) {
    rhs_vectors[i / kCols][i % kCols] =
        LoadRhs<Op>(rhs.Column(i % kCols),
                    (sub_step + i / kCols) * rhs.kDotBytes, rhs.kDotBytes);
  }
  RUY_LIKE_UNROLL
  for (int v = 0; v < kVectors; ++v) {
    const auto panel = static_cast<const typename Op::Lhs*>(lhs.Panel(v));
    typename Op::LhsVector lhs_vectors[kSubSteps];
    if constexpr (kSubSteps == 1) {
      lhs_vectors[0] = LoadLhs<Op>(panel, sub_step);
    } else {
      Op::LoadSubSteps(panel, lhs_vectors);
    }
    RUY_LIKE_UNROLL
    for (int i = 0; i < kSubSteps * kCols; ++i) {
      typename Op::Vector& sum = acc[i % kCols][v];
      sum = Op::MultiplyAdd(sum, lhs_vectors[i / kCols],
                            rhs_vectors[i / kCols][i % kCols]);
    }
  }
}

// A lhs of more bytes comes from L2, out of which it is prefetched (from L1
// that would cost up to 8%), so many bytes ahead (doc/tuning.md).
constexpr ptrdiff_t kSmallLhsBytes = 16 << 10, kPrefetchBytes = 512;

// Multiplies a step. Prefetches lhs panels `part` modulo kParts; -1: none.
template <class Op, int kVectors, int kCols, bool kCopiesLhs, bool kEndsInHalf,
          int kParts, class Panels, class Cursor>
RUY_LIKE_ALWAYS_INLINE void MultiplyStep(
    const TileArgs& args, int part, Panels& lhs, Cursor& rhs, char*& lhs_copy,
    typename Op::Vector (&acc)[kCols][kVectors]) {
  typedef typename Op::Lhs Lhs;
  typedef typename Op::Simd V;
  // With one column both elements of a 32-bit word are multiplied at once; with
  // more columns that takes too many registers (doc/tuning.md).
  constexpr int kSubSteps = kCols == 1 && kVectors > 1 ? Op::kSubSteps : 1;
  RUY_LIKE_UNROLL
  for (int sub_step = 0; sub_step < Op::kSubSteps; sub_step += kSubSteps) {
    // Else compilers load and widen all sub-steps' lhs first, and spill it.
    if constexpr (Op::kSubSteps > 1) asm volatile("" ::: "memory");
    if constexpr (Op::kSubSteps > 1 && kVectors > kCols) {
      MultiplyAddByRows<Op, kSubSteps, kVectors, kCols>(lhs, rhs, sub_step,
                                                        acc);
      continue;
    }
    typename Op::LhsVector lhs_vectors[kVectors];
    RUY_LIKE_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      lhs_vectors[v] =
          LoadLhs<Op>(static_cast<const Lhs*>(lhs.Panel(v)), sub_step);
      if (sub_step == 0 && v % kParts == part) {
        __builtin_prefetch(static_cast<const char*>(lhs.Panel(v)) +
                           kPrefetchBytes);
      }
      if constexpr (kCopiesLhs) {
        V::StoreAligned(reinterpret_cast<typename Op::Accum*>(
                            lhs_copy + v * args.lhs_copy_stride_bytes),
                        lhs_vectors[v]);
      }
    }
    if constexpr (kCopiesLhs) lhs_copy += sizeof(typename Op::Vector);
    if constexpr (Op::kTileKind == TileKind::kByLane) {
      MultiplyAddByLanes<Op, kCols, kVectors>(rhs, lhs_vectors, acc);
    } else {
      RUY_LIKE_UNROLL
      for (int c = 0; c < kCols; ++c) {
        const typename Op::RhsVector rhs_vector =
            LoadRhs<Op>(rhs.Column(c), sub_step * rhs.kDotBytes, rhs.kDotBytes);
        RUY_LIKE_UNROLL
        for (int v = 0; v < kVectors; ++v) {
          if constexpr (kEndsInHalf) {
            if (v == kVectors - 1) {
              acc[c][v] = V::WithLowHalf(Op::MultiplyAdd(
                  V::LowHalf(acc[c][v]), V::LowHalf(lhs_vectors[v]),
                  V::LowHalf(rhs_vector)));
              continue;
            }
          }
          acc[c][v] = Op::MultiplyAdd(acc[c][v], lhs_vectors[v], rhs_vector);
          if constexpr (Op::kSubSteps > 1) V::HoldInRegister(acc[c][v]);
        }
      }
    }
  }
  lhs.Advance(V::kLanes * Op::kStepDepth * sizeof(Lhs));
  rhs.Advance();
}

// The product of a tile, and between its steps the deferred epilogue of the one
// before, if any. kEndsInHalf: only the lower half of the last vector is
// multiplied; its upper rows are undefined.
template <class Op, class RhsSource, int kVectors, int kCols,
          class EpilogueSteps, bool kCopiesLhs, bool kEndsInHalf = false,
          class DeferredTile>
RUY_LIKE_ALWAYS_INLINE void MultiplyTile(const TileArgs& args,
                                         const DeferredTile& deferred) {
  typedef typename Op::Vector Vector;
  typedef typename Op::Lhs Lhs;
  typedef typename Op::Simd V;
  constexpr int kEpilogueSteps = EpilogueSteps::Count(kCols);
  // Steps that read a line of each lhs panel.
  constexpr int kLineSteps =
      64 / Min(V::kLanes * Op::kStepDepth * int{sizeof(Lhs)}, 64);
  constexpr bool kPrefetches = V::kLanes >= 8 && kLineSteps <= 2 &&
                               kVectors > 1 && kCols >= 6 && !kCopiesLhs;
  Vector acc[kCols][kVectors];
  StartTile<Op, EpilogueSteps::kOneStart>(args, acc);
  LhsPanels<Op::kPointsToLhsPanels, kVectors> lhs(args);
  typename RhsSource::template Cursor<kCols> rhs(args.rhs);
  char* lhs_copy = kCopiesLhs ? static_cast<char*>(args.lhs_copy) : nullptr;
  // Steps of the product and of the epilogue alternate.
  const EpilogueSteps epilogue_steps(deferred);
  ptrdiff_t steps_between = 0;
  if constexpr (kEpilogueSteps > 0) steps_between = args.steps / kEpilogueSteps;
  ptrdiff_t steps = args.steps - steps_between * (kEpilogueSteps - 1);
  for (int epilogue_step = 0;
       epilogue_step == 0 || epilogue_step < kEpilogueSteps; ++epilogue_step) {
    if (kPrefetches && args.prefetches_lhs) {
      for (; steps >= kLineSteps; steps -= kLineSteps) {
        RUY_LIKE_UNROLL
        for (int part = 0; part < kLineSteps; ++part) {
          MultiplyStep<Op, kVectors, kCols, kCopiesLhs, kEndsInHalf,
                       kLineSteps>(args, part, lhs, rhs, lhs_copy, acc);
        }
      }
    }
    RUY_LIKE_UNROLL_STEPS
    for (; steps > 0; --steps) {
      MultiplyStep<Op, kVectors, kCols, kCopiesLhs, kEndsInHalf, kLineSteps>(
          args, -1, lhs, rhs, lhs_copy, acc);
    }
    if constexpr (kEpilogueSteps > 0) {
      if (!deferred.IsEmpty()) epilogue_steps.Run(epilogue_step);
      steps = steps_between;
    }
  }
  EndTile<Op>(args, acc);
}

template <class Op, class RhsSource, int kVectors, int kCols,
          bool kCopiesLhs = false, bool kEndsInHalf = false>
void RunTile(const TileArgs& args) {
  if constexpr (Op::kTileKind == TileKind::kOwn) {
    Op::template Tile<RhsSource, kVectors, kCols>::Run(args);
  } else {
    MultiplyTile<Op, RhsSource, kVectors, kCols, NoEpilogueSteps, kCopiesLhs,
                 kEndsInHalf>(args, NothingDeferred());
  }
}

// RunTile() for kVectors lhs panels and every number of columns from 1 to
// kMaxCols.
template <class Op, class RhsSource, int kVectors, int kMaxCols>
constexpr auto kTilesOfHeight = TableOf<TileFn, kMaxCols>([](auto cols) {
  return RunTile<Op, RhsSource, kVectors, cols()>;
});

// The same for every height up to kMaxVectors.
template <class Op, class RhsSource, int kMaxVectors, int kMaxCols>
constexpr auto kTileTable =
    TableOf<TileFn* const, kMaxVectors>([](auto vectors) {
      return kTilesOfHeight<Op, RhsSource, vectors(), kMaxCols>.fns;
    });

// True if the lower half of a tile's last vector holds all of its rows.
template <class Op>
RUY_LIKE_ALWAYS_INLINE bool EndsInHalf(int tile_vectors, ptrdiff_t rows_left) {
  constexpr int kLanes = Op::Simd::kLanes;
  return Op::kMultipliesHalves &&
         rows_left <= tile_vectors * kLanes - kLanes / 2;
}

// RunTile() for such a tile of every height, with kCols columns; tiles with
// fewer are rare.
template <class Op, class RhsSource, int kMaxVectors, int kCols>
constexpr auto kHalfTiles = TableOf<TileFn, kMaxVectors>([](auto vectors) {
  return RunTile<Op, RhsSource, vectors(), kCols, /*kCopiesLhs=*/false,
                 /*kEndsInHalf=*/true>;
});

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_PANEL_PANEL_TILE_H_
