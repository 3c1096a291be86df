// Back-end: products of bytes of few columns whose lhs is contiguous along its
// rows instead of depth, read in place: AVX-512 with VNNI.
//
// narrow_by_level.h says for which products, and why strips of rows have their
// sums in memory. Here four levels are interleaved in registers, so that each
// lane has four levels of a row for the multiplication:
//
//      level k    |r0 r1 r2 ... r63|        |r0 x 4|r1 x 4|r2 x 4|r3 x 4| ...
//      level k+1  |r0 r1 r2 ... r63|   -->  |r4 x 4| ...
//      level k+2  |r0 r1 r2 ... r63|        |r8 x 4| ...
//      level k+3  |r0 r1 r2 ... r63|        |r12 x 4| ...
//
// Interleaving works in each 128 bits, so that vector i has rows 4i to 4i + 3
// of every 16; sums are put in order once a strip. The lhs's own sums, where
// they are wanted, are those of a column of ones.
#ifndef RUY_LIKE_KERNELS_NARROW_NARROW_BY_LEVEL_BYTES_H_
#define RUY_LIKE_KERNELS_NARROW_NARROW_BY_LEVEL_BYTES_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/epilogue/epilogue.h"
#include "ruy_like/kernels/kernel.h"
#include "ruy_like/kernels/narrow/narrow_common.h"
#include "ruy_like/simd/loops.h"

namespace ruy_like {
namespace kernels {
namespace {

// Some groups of four levels of a strip of rows.
struct QuadsArgs {
  const char* level[4];  // of the first group: its levels
  ptrdiff_t quad_bytes;  // from one group to the next
  const int32_t* rhs;    // a group of each column, then the next group
  ptrdiff_t rows;
  int32_t* sums;          // of the first column
  ptrdiff_t sums_stride;  // elements from one column to the next
};

typedef void QuadsFn(const QuadsArgs& args);

// Adds kQuads groups of levels to the sums of kCols columns.
template <class Op, int kCols, int kQuads>
void AddQuads(const QuadsArgs& args) {
  typedef typename Op::Simd V;
  typedef typename V::Int Int;
  constexpr int kRows = 4 * V::kLanes;
  Int rhs[kCols][kQuads];
  RUY_LIKE_UNROLL
  for (int i = 0; i < kCols * kQuads; ++i) {
    rhs[i % kCols][i / kCols] = V::InRegister(V::Set(args.rhs[i]));
  }
  const QuadsArgs a = args;
  const auto add = [&](ptrdiff_t row, const auto& load) {
    Int acc[kCols][4];
    int32_t* const sums = a.sums + row;
    RUY_LIKE_UNROLL
    for (int i = 0; i < 4 * kCols; ++i) {
      acc[i / 4][i % 4] =
          V::LoadAligned(sums + i / 4 * a.sums_stride + i % 4 * V::kLanes);
    }
    RUY_LIKE_UNROLL
    for (int q = 0; q < kQuads; ++q) {
      Int x[4];
      RUY_LIKE_UNROLL
      for (int i = 0; i < 4; ++i) {
        x[i] = load(a.level[i] + q * a.quad_bytes + row);
      }
      V::InterleaveLevels(x);
      RUY_LIKE_UNROLL
      for (int i = 0; i < 4 * kCols; ++i) {
        acc[i / 4][i % 4] =
            Op::MultiplyAdd(acc[i / 4][i % 4], x[i % 4], rhs[i / 4][q]);
      }
    }
    RUY_LIKE_UNROLL
    for (int i = 0; i < 4 * kCols; ++i) {
      V::StoreAligned(sums + i / 4 * a.sums_stride + i % 4 * V::kLanes,
                      acc[i / 4][i % 4]);
    }
  };
  ptrdiff_t row = 0;
  for (; row + kRows <= a.rows; row += kRows) {
    add(row, [](const char* p) { return V::Load(p); });
  }
  if (row < a.rows) {
    const int left = static_cast<int>(a.rows - row);
    add(row, [left](const char* p) { return V::LoadFirst(p, left); });
  }
}

// As many groups at once as registers hold the rhs of, and one.
struct QuadsFns {
  int most;
  QuadsFn* add_most;
  QuadsFn* add_one;
};
template <class Op, int kCols, int kQuads>
constexpr QuadsFns kQuadsFnsOf = {kQuads, AddQuads<Op, kCols, kQuads>,
                                  AddQuads<Op, kCols, 1>};
// By the number of columns, of which one may be that of the sums.
template <class Op>
constexpr QuadsFns kQuadsFns[] = {kQuadsFnsOf<Op, 1, 4>, kQuadsFnsOf<Op, 2, 4>,
                                  kQuadsFnsOf<Op, 3, 2>};

// Whole groups of levels of at most a vector of rows, whose sums stay in
// registers. The last of kCols columns is that of the sums, if kSums.
template <class Op, int kCols, bool kSums>
void MultiplyFewRows(const char* lhs, ptrdiff_t stride, int rows,
                     const char* rhs, ptrdiff_t rhs_stride, ptrdiff_t groups,
                     int32_t* sums, ptrdiff_t sums_stride) {
  typedef typename Op::Simd V;
  typedef typename V::Int Int;
  Int acc[kCols][4];
  RUY_LIKE_UNROLL
  for (int i = 0; i < 4 * kCols; ++i) acc[i / 4][i % 4] = V::Zero();
  const auto multiply = [&](const auto& load) {
    for (; groups > 0; --groups) {
      Int x[4];
      RUY_LIKE_UNROLL
      for (int i = 0; i < 4; ++i) x[i] = load(lhs + i * stride);
      V::InterleaveLevels(x);
      RUY_LIKE_UNROLL
      for (int c = 0; c < kCols; ++c) {
        int32_t group = 0x01010101;
        if (!kSums || c < kCols - 1) {
          __builtin_memcpy(&group, rhs + c * rhs_stride, sizeof(group));
        }
        const Int b = V::Set(group);
        RUY_LIKE_UNROLL
        for (int i = 0; i < 4; ++i) {
          acc[c][i] = Op::MultiplyAdd(acc[c][i], x[i], b);
        }
      }
      lhs += 4 * stride;
      rhs += 4;
    }
  };
  if (rows == 4 * V::kLanes) {
    multiply([](const char* p) { return V::Load(p); });
  } else {
    multiply([rows](const char* p) { return V::LoadFirst(p, rows); });
  }
  RUY_LIKE_UNROLL
  for (int i = 0; i < 4 * kCols; ++i) {
    V::StoreAligned(sums + i / 4 * sums_stride + i % 4 * V::kLanes,
                    acc[i / 4][i % 4]);
  }
}

// Op: NarrowQuadsOp.
template <class Op>
struct NarrowByLevelBytesKernel {
  typedef typename Op::Simd V;
  // Rows of bytes in a vector.
  static constexpr int kRows = 4 * V::kLanes;
  // For more columns packing is paid back: 4 took 1.4 times as long as packed.
  static constexpr int kMaxCols = 2;

  // The kernel's line in its path's table.
  static constexpr Kernel Entry(const char* name, PackFn* pack_rhs) {
    Kernel kernel = NarrowInPlaceEntry(
        name, Family::k8x8, Op::kLhsScalar,
        {Op::kRhsScalar, /*in_place=*/false, /*width=*/1, /*group=*/1,
         /*depth_multiple=*/4},
        kRows, pack_rhs, Run);
    kernel.lhs.by_level = true;
    kernel.tile_cols = kernel.max_cols = kernel.stream_cols = kMaxCols;
    return kernel;
  }

  static void Run(const KernelArgs* args) {
    alignas(64) int32_t sums[kMaxSums];
    const int cols = static_cast<int>(args->cols);
    const bool wants_sums = args->epilogue->rhs_zero_point != 0;
    const int all_cols = cols + (wants_sums ? 1 : 0);
    const int strip = kMaxSums / all_cols / kRows * kRows;
    for (ptrdiff_t row = 0; row < args->rows; row += strip) {
      const int rows = AtMost(args->rows - row, strip);
      QuadsArgs quads;
      quads.rows = rows;
      quads.sums = sums;
      quads.sums_stride = strip;
      AddStrip(*args, row, all_cols, quads);
      for (int c = 0; c < all_cols; ++c) PutInOrder(rows, sums + c * strip);
      if (wants_sums) {
        SubtractSums(args->epilogue->rhs_zero_point, cols, rows, strip, sums);
      }
      StoreTile<V>({sums, strip, rows, cols, row, 0}, *args->epilogue);
    }
  }

 private:
  static constexpr int kMaxSums = (16 << 10) / sizeof(int32_t);
  static constexpr int kMostQuads = 4;

  // All levels of a strip of rows.
  static void AddStrip(const KernelArgs& args, ptrdiff_t row, int all_cols,
                       QuadsArgs quads) {
    const QuadsFns& fns = kQuadsFns<Op>[all_cols - 1];
    const ptrdiff_t stride = args.lhs_stride_bytes;
    const char* const lhs = static_cast<const char*>(args.lhs) + row;
    ptrdiff_t k = 0;
    if (quads.rows <= kRows) {
      k = args.depth / 4 * 4;
      MultiplyFew(args, lhs, all_cols, quads);
    } else {
      // Whole vectors of rows: the last ones' sums lie between the others'.
      const ptrdiff_t end = (quads.rows + kRows - 1) / kRows * kRows;
      for (int c = 0; c < all_cols; ++c) {
        for (ptrdiff_t r = 0; r < end; r += V::kLanes) {
          V::StoreAligned(quads.sums + c * quads.sums_stride + r, V::Zero());
        }
      }
    }
    int32_t rhs[(kMaxCols + 1) * kMostQuads];
    quads.rhs = rhs;
    quads.quad_bytes = 4 * stride;
    while (k < args.depth) {
      const ptrdiff_t left = args.depth - k;
      const int count = left >= 4 * fns.most ? fns.most : 1;
      for (int i = 0; i < 4; ++i) {
        // A level that does not exist: another one, times 0.
        quads.level[i] = lhs + (k + (i < left ? i : 0)) * stride;
      }
      for (int q = 0; q < count; ++q) {
        LoadRhs(args, k + 4 * q, all_cols, rhs + q * all_cols);
      }
      (count == 1 ? fns.add_one : fns.add_most)(quads);
      k += 4 * count;
    }
  }

  // The whole groups of levels of at most a vector of rows.
  static void MultiplyFew(const KernelArgs& args, const char* lhs, int all_cols,
                          const QuadsArgs& quads) {
    const auto multiply = [&](auto* fn) {
      fn(lhs, args.lhs_stride_bytes, static_cast<int>(quads.rows),
         static_cast<const char*>(args.rhs), args.rhs_stride_bytes,
         args.depth / 4, quads.sums, quads.sums_stride);
    };
    const bool sums = all_cols > args.cols;
    if (all_cols == 1) return multiply(MultiplyFewRows<Op, 1, false>);
    if (all_cols == 3) return multiply(MultiplyFewRows<Op, 3, true>);
    if (sums) return multiply(MultiplyFewRows<Op, 2, true>);
    multiply(MultiplyFewRows<Op, 2, false>);
  }

  // Four levels of each column from k on; behind the depth's end zeros.
  static void LoadRhs(const KernelArgs& args, ptrdiff_t k, int all_cols,
                      int32_t* to) {
    const ptrdiff_t missing = args.depth - k < 4 ? 4 - (args.depth - k) : 0;
    for (int c = 0; c < all_cols; ++c) {
      if (c < args.cols) {
        __builtin_memcpy(
            to + c,
            static_cast<const char*>(args.rhs) + c * args.rhs_stride_bytes + k,
            sizeof(int32_t));
      } else {
        to[c] = 0x01010101 >> 8 * missing;
      }
    }
  }

  // A column's sums, from the order of interleaved levels to that of rows.
  static void PutInOrder(int rows, int32_t* sums) {
    for (int row = 0; row < rows; row += kRows) {
      typename V::Int x[4];
      for (int i = 0; i < 4; ++i) {
        x[i] = V::LoadAligned(sums + row + i * V::kLanes);
      }
      V::TransposeQuarters(x);
      for (int i = 0; i < 4; ++i) {
        V::StoreAligned(sums + row + i * V::kLanes, x[i]);
      }
    }
  }

  // The term of the rhs's zero point; the lhs's sums are behind the columns.
  static void SubtractSums(int32_t rhs_zero_point, int cols, int rows,
                           int strip, int32_t* sums) {
    const typename V::Int zero_point = V::Set(rhs_zero_point);
    for (int r = 0; r < rows; r += V::kLanes) {
      const typename V::Int term =
          V::Mul(V::LoadAligned(sums + cols * strip + r), zero_point);
      for (int c = 0; c < cols; ++c) {
        int32_t* const to = sums + c * strip + r;
        V::StoreAligned(to, V::Sub(V::LoadAligned(to), term));
      }
    }
  }
};

}  // namespace
}  // namespace kernels
}  // namespace ruy_like

#endif  // RUY_LIKE_KERNELS_NARROW_NARROW_BY_LEVEL_BYTES_H_
