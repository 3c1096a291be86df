// Back-end: adds some levels of rows that lie side by side to sums of a few
// columns.
//
// Included by narrow_by_level.h, which cuts a product into strips of rows:
// AddAll() is for strips with sums in memory, tiles are for a few rows whose
// sums stay in registers. Does not know the epilogue.
#ifndef RUY_LIKE_KERNELS_NARROW_NARROW_LEVELS_H_
#define RUY_LIKE_KERNELS_NARROW_NARROW_LEVELS_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/narrow/narrow_ops.h"
#include "ruy_like/kernels/panel/indices.h"
#include "ruy_like/simd/loops.h"

namespace ruy_like::kernels {
namespace {

constexpr int kMostLevelCols = 5;  // at once

template <class V>
constexpr int kHalfOfRegisters = V::kLanes == 8 ? 8 : 16;

// Some levels of some rows, and some columns.
template <class Accum>
struct LevelsArgs {
  const char* lhs;       // the first level
  ptrdiff_t lhs_stride;  // bytes from one level to the next
  // The columns, contiguous along depth, and the bytes from one dot to
  // the next: 4, or for the last column 0 if it is one of ones.
  const char* rhs[kMostLevelCols];
  ptrdiff_t last_rhs_step;
  int32_t rhs_zero_point;
  ptrdiff_t levels;
  int rows;
  Accum start[kMostLevelCols];  // of each column's sums
  Accum* sums;                  // of the first column, steps interleaved
  ptrdiff_t sums_stride;        // elements from one column to the next
};

template <class Op>
using LevelsArgsOf = LevelsArgs<typename Op::Accum>;
template <class Op>
using LevelsFn = void(LevelsArgsOf<Op>& args);

template <class Op>
constexpr ptrdiff_t kStepBytes = Op::kStep * sizeof(typename Op::Lhs);

// One dot of one step of rows, of which only `levels` levels are there.
template <class Op, class Load>
RUY_LIKE_ALWAYS_INLINE void LoadLevels(
    const char* lhs, ptrdiff_t stride, int levels, const Load& load,
    typename Op::Vector (&x)[LevelsOf<Op>::kLevels]) {
  RUY_LIKE_UNROLL
  for (int i = 0; i < LevelsOf<Op>::kLevels; ++i) {
    x[i] =
        i < levels
            ? load(reinterpret_cast<const typename Op::Lhs*>(lhs + i * stride))
            : LevelsOf<Op>::SetAll(0);
  }
  LevelsOf<Op>::Interleave(x);
}

// Adds kDotsAtOnce dots to the sums of kCols columns. A dot of the
// depth's end may lack levels, and is then alone.
template <class Op, int kCols, int kDotsAtOnce>
RUY_LIKE_NOINLINE void AddDots(const LevelsArgsOf<Op>& args) {
  typedef LevelsOf<Op> Levels;
  typedef typename Op::Simd V;
  typedef typename Op::Vector Vector;
  constexpr int kLevels = Levels::kLevels;
  Vector rhs[kCols][kDotsAtOnce];
  RUY_LIKE_UNROLL
  for (int c = 0; c < kCols; ++c) {
    const ptrdiff_t step = c == kCols - 1 ? args.last_rhs_step : 4;
    RUY_LIKE_UNROLL
    for (int g = 0; g < kDotsAtOnce; ++g) {
      rhs[c][g] = Levels::LoadRhs(args.rhs[c] + g * step, args.rhs_zero_point);
      // Else they come from the stack.
      if constexpr (kCols * (kLevels + kDotsAtOnce) + kLevels <=
                    2 * kHalfOfRegisters<V> - 2) {
        V::HoldInRegister(rhs[c][g]);
      }
    }
  }
  const char* lhs[kDotsAtOnce];
  RUY_LIKE_UNROLL
  for (int g = 0; g < kDotsAtOnce; ++g) {
    lhs[g] = args.lhs + g * kLevels * args.lhs_stride;
  }
  const ptrdiff_t stride = args.lhs_stride;
  const int levels =
      kLevels == 1 || kDotsAtOnce > 1 ? kLevels : Min(args.levels, kLevels);
  const ptrdiff_t sums_stride = args.sums_stride;
  typename Op::Accum* const sums = args.sums;
  const auto add = [&](ptrdiff_t row, const auto& load) {
    Vector acc[kCols][kLevels];
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; ++c) {
      RUY_LIKE_UNROLL
      for (int i = 0; i < kLevels; ++i) {
        acc[c][i] =
            V::LoadAligned(sums + c * sums_stride + row + i * V::kLanes);
      }
    }
    RUY_LIKE_UNROLL
    for (int g = 0; g < kDotsAtOnce; ++g) {
      Vector x[kLevels];
      LoadLevels<Op>(
          lhs[g] + row * static_cast<ptrdiff_t>(sizeof(typename Op::Lhs)),
          stride, levels, load, x);
      RUY_LIKE_UNROLL
      for (int c = 0; c < kCols; ++c) {
        RUY_LIKE_UNROLL
        for (int i = 0; i < kLevels; ++i) {
          acc[c][i] = Op::MultiplyAdd(acc[c][i], x[i], rhs[c][g]);
        }
      }
    }
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; ++c) {
      RUY_LIKE_UNROLL
      for (int i = 0; i < kLevels; ++i) {
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
template <class Op, bool kRagged, int kCols, int kSteps, int kLevels>
RUY_LIKE_ALWAYS_INLINE void AddToTile(
    const char* lhs, ptrdiff_t stride, int last_rows,
    const char* const (&rhs)[kCols], int32_t zero_point, int levels,
    typename Op::Vector (&acc)[kCols][kSteps][kLevels]) {
  typedef typename Op::Simd V;
  typename Op::Vector y[kCols];
  RUY_LIKE_UNROLL
  for (int c = 0; c < kCols; ++c) {
    y[c] = LevelsOf<Op>::LoadRhs(rhs[c], zero_point);
    if constexpr (kSteps * kLevels > 1) V::HoldInRegister(y[c]);
  }
  RUY_LIKE_UNROLL
  for (int s = 0; s < kSteps; ++s) {
    const auto load = [last_rows, s](const typename Op::Lhs* p) {
      return kRagged && s == kSteps - 1 ? Op::LoadFirstLhs(p, last_rows)
                                        : Op::LoadLhs(p);
    };
    typename Op::Vector x[kLevels];
    LoadLevels<Op>(lhs + s * kStepBytes<Op>, stride, levels, load, x);
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; ++c) {
      RUY_LIKE_UNROLL
      for (int i = 0; i < kLevels; ++i) {
        acc[c][s][i] = Op::MultiplyAdd(acc[c][s][i], x[i], y[c]);
        V::HoldInRegister(acc[c][s][i]);
      }
    }
  }
}

// All levels of at most kSteps steps of rows; the sums stay in registers. Only
// the last step may be incomplete: if loads of a part are cheap, or of a single
// one.
template <class Op, int kCols, int kSteps, bool kRagged>
RUY_LIKE_ALWAYS_INLINE void MultiplyTile(const LevelsArgsOf<Op>& args) {
  typedef LevelsOf<Op> Levels;
  constexpr int kLevels = Levels::kLevels;
  typename Op::Vector acc[kCols][kSteps][kLevels];
  RUY_LIKE_UNROLL
  for (int c = 0; c < kCols; ++c) {
    RUY_LIKE_UNROLL
    for (int i = 0; i < kSteps * kLevels; ++i) {
      acc[c][i / kLevels][i % kLevels] = Levels::SetAll(args.start[c]);
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
  ptrdiff_t left = args.levels;
  for (; left >= kLevels; left -= kLevels) {
    AddToTile<Op, kRagged>(lhs, stride, last_rows, rhs, zero_point, kLevels,
                           acc);
    lhs += kLevels * stride;
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; ++c) rhs[c] += c == kCols - 1 ? last_step : 4;
  }
  if (kLevels > 1 && left > 0) {
    AddToTile<Op, kRagged>(lhs, stride, last_rows, rhs, zero_point,
                           static_cast<int>(left), acc);
  }
  typename Op::Accum* const sums = args.sums;
  const ptrdiff_t sums_stride = args.sums_stride;
  RUY_LIKE_UNROLL
  for (int c = 0; c < kCols; ++c) {
    RUY_LIKE_UNROLL
    for (int i = 0; i < kSteps * kLevels; ++i) {
      Levels::Store(sums + c * sums_stride + i / kLevels * Op::kStep +
                        i % kLevels * Op::Simd::kLanes,
                    acc[c][i / kLevels][i % kLevels]);
    }
  }
}
template <class Op, int kCols, int kSteps>
struct LevelsTile {
  static void Run(LevelsArgsOf<Op>& args) {
    if (LevelsOf<Op>::kMasks || (kSteps == 1 && args.rows < Op::kStep)) {
      MultiplyTile<Op, kCols, kSteps, true>(args);
    } else {
      MultiplyTile<Op, kCols, kSteps, false>(args);
    }
  }
};

constexpr int PowerOf2UpTo(int n) {
  return n < 2 ? 1 : 2 * PowerOf2UpTo(n / 2);
}

// The routines for an operation's number of columns.
template <class Op, int kCols>
struct LevelsFns {
  typedef typename Op::Simd V;
  static constexpr int kLevels = LevelsOf<Op>::kLevels;
  static constexpr int kHalf = kHalfOfRegisters<V>;
  // Dots at once. With floats their rhs and the sums are in registers.
  static constexpr int kDotsAtOnce =
      kLevels > 1  ? (V::kLanes == 4 ? 16 / kCols : 8) / kLevels
      : kCols == 1 ? 8
      : kCols == 2 ? kHalf / 2
                   : kHalf / 4;
  // The most steps of rows whose sums are in registers.
  static constexpr int kMostSteps =
      kLevels == 1 && kCols == 1 && V::kLanes != 16
          ? 8
          : PowerOf2UpTo(kHalf / kLevels / kCols);

  // Adds all levels to sums in memory; moves on by them.
  static void AddAll(LevelsArgsOf<Op>& args) {
    const auto advance = [&args](int dots) {
      args.lhs += dots * kLevels * args.lhs_stride;
      for (int c = 0; c < kCols; ++c) {
        args.rhs[c] += dots * (c == kCols - 1 ? args.last_rhs_step : 4);
      }
      args.levels -= dots * kLevels;
    };
    while (args.levels >= kDotsAtOnce * kLevels) {
      AddDots<Op, kCols, kDotsAtOnce>(args);
      advance(kDotsAtOnce);
    }
    while (args.levels > 0) {
      AddDots<Op, kCols, 1>(args);
      advance(1);
    }
  }
};

// The same by the number of columns less 1, for 1 to kMaxCols.
template <class Op>
struct LevelsFnsOf {
  int most_steps;
  LevelsFn<Op>* add;
  LevelsFn<Op>* const* tiles;  // by the number of steps less 1
};
template <class Op, int kCols>
constexpr auto kLevelsTiles =
    TableOf<LevelsFn<Op>, LevelsFns<Op, kCols>::kMostSteps>([](auto steps) {
      constexpr int kSteps = steps();
      return LevelsTile < Op, kCols,
             LevelsOf<Op>::kMasks ? kSteps : PowerOf2UpTo(kSteps) > ::Run;
    });
template <class Op, int kCols>
constexpr LevelsFnsOf<Op> kLevelsFnsFor = {LevelsFns<Op, kCols>::kMostSteps,
                                           LevelsFns<Op, kCols>::AddAll,
                                           kLevelsTiles<Op, kCols>.fns};
template <class Op, int kMaxCols>
constexpr auto kLevelsFns = TableOf<const LevelsFnsOf<Op>, kMaxCols>(
    [](auto cols) { return &kLevelsFnsFor<Op, cols()>; });

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_NARROW_NARROW_LEVELS_H_
