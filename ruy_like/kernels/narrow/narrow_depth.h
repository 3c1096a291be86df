// Back-end: adds a range of depth of rows that lie side by side to sums of a
// few columns.
//
// Included by narrow_by_depth.h, which cuts a product into strips of rows:
// AddAll() is for strips with sums in memory, tiles are for a few rows whose
// sums stay in registers. Does not know the epilogue.
#ifndef RUY_LIKE_KERNELS_NARROW_NARROW_DEPTH_H_
#define RUY_LIKE_KERNELS_NARROW_NARROW_DEPTH_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/narrow/narrow_ops.h"
#include "ruy_like/kernels/panel/indices.h"
#include "ruy_like/simd/loops.h"

namespace ruy_like::kernels {
namespace {

constexpr int kMostColsAtOnce = 5;

template <class V>
constexpr int kHalfOfRegisters = V::kLanes == 8 ? 8 : 16;

// A range of depth of some rows, and some columns.
template <class Accum>
struct DepthArgs {
  const char* lhs;       // at the first depth position
  ptrdiff_t lhs_stride;  // bytes from one depth position to the next
  // The columns, contiguous along depth, and the bytes from one dot to
  // the next: 4, or for the last column 0 if it is one of ones.
  const char* rhs[kMostColsAtOnce];
  ptrdiff_t last_rhs_step;
  int32_t rhs_zero_point;
  ptrdiff_t depth;
  int rows;
  Accum start[kMostColsAtOnce];  // of each column's sums
  Accum* sums;                   // of the first column, steps interleaved
  ptrdiff_t sums_stride;         // elements from one column to the next
};

template <class Op>
using DepthArgsOf = DepthArgs<typename Op::Accum>;
template <class Op>
using DepthFn = void(DepthArgsOf<Op>& args);

template <class Op>
constexpr ptrdiff_t kStepBytes = Op::kStep * sizeof(typename Op::Lhs);

// One dot of one step of rows, of which only `depth` elements are there.
template <class Op, class Load>
RUY_LIKE_ALWAYS_INLINE void LoadDepth(
    const char* lhs, ptrdiff_t stride, int depth, const Load& load,
    typename Op::Vector (&x)[DepthOf<Op>::kDepth]) {
  RUY_LIKE_UNROLL
  for (int i = 0; i < DepthOf<Op>::kDepth; ++i) {
    x[i] =
        i < depth
            ? load(reinterpret_cast<const typename Op::Lhs*>(lhs + i * stride))
            : DepthOf<Op>::SetAll(0);
  }
  DepthOf<Op>::Interleave(x);
}

// Adds kDotsAtOnce dots to the sums of kCols columns. A dot of the
// depth's end may lack elements, and is then alone.
template <class Op, int kCols, int kDotsAtOnce>
RUY_LIKE_NOINLINE void AddDots(const DepthArgsOf<Op>& args) {
  typedef DepthOf<Op> Depth;
  typedef typename Op::Simd V;
  typedef typename Op::Vector Vector;
  constexpr int kDepth = Depth::kDepth;
  Vector rhs[kCols][kDotsAtOnce];
  RUY_LIKE_UNROLL
  for (int c = 0; c < kCols; ++c) {
    const ptrdiff_t step = c == kCols - 1 ? args.last_rhs_step : 4;
    RUY_LIKE_UNROLL
    for (int g = 0; g < kDotsAtOnce; ++g) {
      rhs[c][g] = Depth::LoadRhs(args.rhs[c] + g * step, args.rhs_zero_point);
      // Else they come from the stack.
      if constexpr (kCols * (kDepth + kDotsAtOnce) + kDepth <=
                    2 * kHalfOfRegisters<V> - 2) {
        V::HoldInRegister(rhs[c][g]);
      }
    }
  }
  const char* lhs[kDotsAtOnce];
  RUY_LIKE_UNROLL
  for (int g = 0; g < kDotsAtOnce; ++g) {
    lhs[g] = args.lhs + g * kDepth * args.lhs_stride;
  }
  const ptrdiff_t stride = args.lhs_stride;
  const int depth =
      kDepth == 1 || kDotsAtOnce > 1 ? kDepth : Min(args.depth, kDepth);
  const ptrdiff_t sums_stride = args.sums_stride;
  typename Op::Accum* const sums = args.sums;
  const auto add = [&](ptrdiff_t row, const auto& load) {
    Vector acc[kCols][kDepth];
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; ++c) {
      RUY_LIKE_UNROLL
      for (int i = 0; i < kDepth; ++i) {
        acc[c][i] =
            V::LoadAligned(sums + c * sums_stride + row + i * V::kLanes);
      }
    }
    RUY_LIKE_UNROLL
    for (int g = 0; g < kDotsAtOnce; ++g) {
      Vector x[kDepth];
      LoadDepth<Op>(
          lhs[g] + row * static_cast<ptrdiff_t>(sizeof(typename Op::Lhs)),
          stride, depth, load, x);
      RUY_LIKE_UNROLL
      for (int c = 0; c < kCols; ++c) {
        RUY_LIKE_UNROLL
        for (int i = 0; i < kDepth; ++i) {
          acc[c][i] = Op::MultiplyAdd(acc[c][i], x[i], rhs[c][g]);
        }
      }
    }
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; ++c) {
      RUY_LIKE_UNROLL
      for (int i = 0; i < kDepth; ++i) {
        V::StoreAligned(sums + c * sums_stride + row + i * V::kLanes,
                        acc[c][i]);
      }
    }
  };
  const int rows = args.rows;
  int row = 0;
  for (; row + Op::kStep <= rows; row += Op::kStep) {
    add(row, [](const typename Op::Lhs* p) { return Op::LoadLhs(p); });
  }
  if (row < rows) {
    const int left = rows - row;
    add(row, [left](const typename Op::Lhs* p) {
      return Op::LoadFirstLhs(p, left);
    });
  }
}

// Adds a dot to a tile's sums. kRagged: of the last step there are only
// `last_rows` rows.
template <class Op, bool kRagged, int kCols, int kSteps, int kDepth>
RUY_LIKE_ALWAYS_INLINE void AddToTile(
    const char* lhs, ptrdiff_t stride, int last_rows,
    const char* const (&rhs)[kCols], int32_t zero_point, int depth,
    typename Op::Vector (&acc)[kCols][kSteps][kDepth]) {
  typedef typename Op::Simd V;
  typename Op::Vector y[kCols];
  RUY_LIKE_UNROLL
  for (int c = 0; c < kCols; ++c) {
    y[c] = DepthOf<Op>::LoadRhs(rhs[c], zero_point);
    if constexpr (kSteps * kDepth > 1) V::HoldInRegister(y[c]);
  }
  RUY_LIKE_UNROLL
  for (int s = 0; s < kSteps; ++s) {
    const auto load = [last_rows, s](const typename Op::Lhs* p) {
      return kRagged && s == kSteps - 1 ? Op::LoadFirstLhs(p, last_rows)
                                        : Op::LoadLhs(p);
    };
    typename Op::Vector x[kDepth];
    LoadDepth<Op>(lhs + s * kStepBytes<Op>, stride, depth, load, x);
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; ++c) {
      RUY_LIKE_UNROLL
      for (int i = 0; i < kDepth; ++i) {
        acc[c][s][i] = Op::MultiplyAdd(acc[c][s][i], x[i], y[c]);
        V::HoldInRegister(acc[c][s][i]);
      }
    }
  }
}

// All depth of at most kSteps steps of rows; the sums stay in registers. Only
// the last step may be incomplete: if loads of a part are cheap, or of a single
// one.
template <class Op, int kCols, int kSteps, bool kRagged>
RUY_LIKE_ALWAYS_INLINE void MultiplyTile(const DepthArgsOf<Op>& args) {
  typedef DepthOf<Op> Depth;
  constexpr int kDepth = Depth::kDepth;
  typename Op::Vector acc[kCols][kSteps][kDepth];
  RUY_LIKE_UNROLL
  for (int c = 0; c < kCols; ++c) {
    RUY_LIKE_UNROLL
    for (int i = 0; i < kSteps * kDepth; ++i) {
      acc[c][i / kDepth][i % kDepth] = Depth::SetAll(args.start[c]);
    }
  }
  const ptrdiff_t stride = args.lhs_stride;
  const ptrdiff_t last_step = args.last_rhs_step;
  const int32_t zero_point = args.rhs_zero_point;
  const int last_rows = args.rows - (kSteps - 1) * Op::kStep;
  const char* lhs = args.lhs;
  const char* rhs[kCols];
  RUY_LIKE_UNROLL
  for (int c = 0; c < kCols; ++c) rhs[c] = args.rhs[c];
  ptrdiff_t left = args.depth;
  for (; left >= kDepth; left -= kDepth) {
    AddToTile<Op, kRagged>(lhs, stride, last_rows, rhs, zero_point, kDepth,
                           acc);
    lhs += kDepth * stride;
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; ++c) rhs[c] += c == kCols - 1 ? last_step : 4;
  }
  if (kDepth > 1 && left > 0) {
    AddToTile<Op, kRagged>(lhs, stride, last_rows, rhs, zero_point,
                           static_cast<int>(left), acc);
  }
  typename Op::Accum* const sums = args.sums;
  const ptrdiff_t sums_stride = args.sums_stride;
  RUY_LIKE_UNROLL
  for (int c = 0; c < kCols; ++c) {
    RUY_LIKE_UNROLL
    for (int i = 0; i < kSteps * kDepth; ++i) {
      Depth::Store(sums + c * sums_stride + i / kDepth * Op::kStep +
                       i % kDepth * Op::Simd::kLanes,
                   acc[c][i / kDepth][i % kDepth]);
    }
  }
}
template <class Op, int kCols, int kSteps>
void RunDepthTile(DepthArgsOf<Op>& args) {
  if (DepthOf<Op>::kMasks || (kSteps == 1 && args.rows < Op::kStep)) {
    MultiplyTile<Op, kCols, kSteps, true>(args);
  } else {
    MultiplyTile<Op, kCols, kSteps, false>(args);
  }
}

constexpr int PowerOf2UpTo(int n) {
  return n < 2 ? 1 : 2 * PowerOf2UpTo(n / 2);
}

// The routines for an operation's number of columns.
template <class Op, int kCols>
struct DepthFns {
  typedef typename Op::Simd V;
  static constexpr int kDepth = DepthOf<Op>::kDepth;
  static constexpr int kHalf = kHalfOfRegisters<V>;
  // Dots at once. With floats their rhs and the sums are in registers.
  static constexpr int kDotsAtOnce =
      kDepth > 1   ? (V::kLanes == 4 ? 16 / kCols : 8) / kDepth
      : kCols == 1 ? 8
      : kCols == 2 ? kHalf / 2
                   : kHalf / 4;
  // The most steps of rows whose sums are in registers.
  static constexpr int kMostSteps = kDepth == 1 && kCols == 1 && V::kLanes != 16
                                        ? 8
                                        : PowerOf2UpTo(kHalf / kDepth / kCols);

  // Adds all of the depth to sums in memory; moves on by them.
  static void AddAll(DepthArgsOf<Op>& args) {
    const auto advance = [&args](int dots) {
      args.lhs += dots * kDepth * args.lhs_stride;
      for (int c = 0; c < kCols; ++c) {
        args.rhs[c] += dots * (c == kCols - 1 ? args.last_rhs_step : 4);
      }
      args.depth -= dots * kDepth;
    };
    while (args.depth >= kDotsAtOnce * kDepth) {
      AddDots<Op, kCols, kDotsAtOnce>(args);
      advance(kDotsAtOnce);
    }
    while (args.depth > 0) {
      AddDots<Op, kCols, 1>(args);
      advance(1);
    }
  }
};

// The same by the number of columns less 1, for 1 to kMaxCols.
template <class Op>
struct DepthFnsOf {
  int most_steps;
  DepthFn<Op>* add;
  DepthFn<Op>* const* tiles;  // by the number of steps less 1
};
template <class Op, int kCols>
constexpr auto kDepthTiles =
    TableOf<DepthFn<Op>, DepthFns<Op, kCols>::kMostSteps>([](auto steps) {
      constexpr int kSteps = steps();
      constexpr int kRun = DepthOf<Op>::kMasks ? kSteps : PowerOf2UpTo(kSteps);
      return RunDepthTile<Op, kCols, kRun>;
    });
template <class Op, int kCols>
constexpr DepthFnsOf<Op> kDepthFnsFor = {DepthFns<Op, kCols>::kMostSteps,
                                         DepthFns<Op, kCols>::AddAll,
                                         kDepthTiles<Op, kCols>.fns};
template <class Op, int kMaxCols>
constexpr auto kDepthFns = TableOf<const DepthFnsOf<Op>, kMaxCols>(
    [](auto cols) { return &kDepthFnsFor<Op, cols()>; });

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_NARROW_NARROW_DEPTH_H_
