// Back-end: the float kernel for narrow products, the lhs read in place.
//
// Used by tables_x86.h and avx512bf16.cc, which list NarrowFloatKernel<> in
// front of their panel kernel; called by run/blocks.cc through the table for
// products of at most as many columns as a rhs panel has. With more, each panel
// would transpose the lhs again: sides are swapped then, and the panel kernel
// reads what was the lhs in place. It handles depth-contiguous lhs only, and
// depth that is not split into passes.
//
// A float sum runs over depth one element after the other, as in the panel
// kernel (panel_kernel.h), so that a result does not depend on which of the two
// made it. Lanes can't run along depth then, they hold different rows; what is
// contiguous in memory has to be transposed on its way:
//
//      lhs, in place                 registers              accumulators
//      row 0   |a b c d ...|        |a e i m ...|  depth 0
//      row 1   |e f g h ...|   -->  |b f j n ...|  depth 1  x rhs -->  |....|
//      row 2   |i j k l ...|        |c g k o ...|  depth 2             rows
//      row 3   |m n o p ...|        |d h l p ...|  depth 3
//
// The transposition moves 32-bit words. In a lhs of 16-bit floats a word is two
// elements, which are widened afterwards, or multiplied as they are if there is
// an instruction for it. Of 8-bit floats pairs are moved, and then widened.
//
// Rows and depth that do not fill registers are packed into a small piece of
// panels instead, which the panel kernel's tiles multiply.
#ifndef RUY_LIKE_KERNELS_NARROW_NARROW_FLOAT_H_
#define RUY_LIKE_KERNELS_NARROW_NARROW_FLOAT_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/epilogue/epilogue.h"
#include "ruy_like/kernels/kernel.h"
#include "ruy_like/kernels/narrow/narrow_common.h"
#include "ruy_like/kernels/panel/indices.h"
#include "ruy_like/kernels/panel/panel_kernel.h"
#include "ruy_like/pack/pack.h"
#include "ruy_like/simd/loops.h"
#include "ruy_like/simd/widen_float8.h"

namespace ruy_like::kernels {
namespace {

// How words are multiplied: their elements, floats or 16-bit ones that are
// widened, by elements of a float rhs. Another such type: avx512bf16.cc.
template <class V, Scalar kLhs>
struct WidenedWords {
  typedef FloatOp<typename V::Base> Op;  // of tiles with the same sums
  static constexpr Scalar kScalar = kLhs;
  static constexpr Scalar kRhsScalar = Scalar::kF32;
  // Elements in a word of the lhs and 32-bit words of a rhs column for them.
  static constexpr int kDepth = kLhs == Scalar::kF32 ? 1 : 2;
  static constexpr int kRhsWords = kDepth;

  // acc[c][v] for all columns; rhs: the words of column 0, kRhsWidth apart.
  template <int kRhsWidth, int kCols, int kVectors>
  static RUY_LIKE_ALWAYS_INLINE void MultiplyAdd(
      typename V::Float words, const float* rhs, int v,
      typename V::Float (&acc)[kCols][kVectors]) {
    typename V::Float vectors[kDepth];
    if constexpr (kLhs == Scalar::kF32) {
      vectors[0] = words;
    } else {
      V::template WidenPairs<kLhs>(words, vectors);
    }
    RUY_LIKE_UNROLL
    for (int j = 0; j < kDepth; ++j) {
      RUY_LIKE_UNROLL
      for (int c = 0; c < kCols; ++c) {
        acc[c][v] = V::MulAddFloat(
            vectors[j], V::SetFloat(rhs[j * kRhsWidth + c]), acc[c][v]);
      }
    }
  }
};

// 8-bit floats, which are widened to bfloat16 in registers.
template <class V, Scalar kLhs>
struct Float8AsWords : WidenedWords<V, Scalar::kBF16> {
  static constexpr Scalar kScalar = kLhs;
};

template <class Words>
constexpr bool kIsFloat8 = AsBFloat16(Words::kScalar) != Words::kScalar;
template <class Words>
constexpr ptrdiff_t kElementBytes = BytesOf(Words::kScalar, 1);
// Bytes that a word takes in the lhs.
template <class Words>
constexpr ptrdiff_t kWordBytes = Words::kDepth* kElementBytes<Words>;
// Words in 16 bytes, which one load takes.
template <class Words>
constexpr int kLoadWords = static_cast<int>(16 / kWordBytes<Words>);
// Words of each row in a step of RunRows(): a line of memory, or 16 bytes of
// 8-bit floats, whose lines would unroll to ten times the instructions.
template <class Words>
constexpr int kLineWords = kIsFloat8<Words> ? kLoadWords<Words> : 16;

// How rows go through depth (doc/tuning.md).
enum class Walk {
  // Four words of each vector of rows in turn.
  kByWord,
  // A line of each row of one vector, then of the next: 16 rows, as many as
  // prefetchers follow. Their lines may share a set of L1, since they are used
  // up before the next vector's evict them. For a single column by rows that L2
  // does not hold.
  kByLine,
  // Too few rows for the others.
  kOneVector
};

struct RowsArgs {
  const char* lhs;       // the first row
  ptrdiff_t lhs_stride;  // in bytes
  const float* rhs;      // the panel
  ptrdiff_t words;       // of each row, a multiple of kLoadWords
  ptrdiff_t ahead;       // by line: bytes from what is read to the prefetched
  float* sums;           // column-major, all vectors of a column in turn
};

typedef void RowsFn(const RowsArgs& args);

// Adds the products of transposed words of vector v of rows.
template <class V, class Words, int kRhsWidth, int kCount, int kCols,
          int kVectors>
RUY_LIKE_ALWAYS_INLINE void MultiplyAddWords(
    const typename V::Float (&x)[kCount], const float* rhs, int v,
    typename V::Float (&acc)[kCols][kVectors]) {
  RUY_LIKE_UNROLL
  for (int i = 0; i < kCount; ++i) {
    Words::template MultiplyAdd<kRhsWidth>(
        x[i], rhs + i * Words::kRhsWords * kRhsWidth, v, acc);
  }
  RUY_LIKE_UNROLL
  for (int c = 0; c < kCols; ++c) V::HoldInRegister(acc[c][v]);
}

// The same of kCount words, a multiple of kLoadWords, where they lie.
template <class V, class Words, int kRhsWidth, int kCount, int kCols,
          int kVectors>
RUY_LIKE_ALWAYS_INLINE void AddWords(
    const char* lhs, ptrdiff_t stride, const float* rhs, int v,
    typename V::Float (&acc)[kCols][kVectors]) {
  constexpr int kLoads = kLoadWords<Words>;
  typename V::Float x[kCount];
  RUY_LIKE_UNROLL
  for (int i = 0; i < 4 * kCount / kLoads; ++i) {
    const int f = i % (kCount / kLoads) * kLoads;  // all of a row, one by one
    const int row = i / (kCount / kLoads);
    x[f + row] = V::InRegister(
        V::LoadFourWords(lhs + row * stride + kWordBytes<Words> * f, stride));
  }
  // Four words of rows i, i + 4, ... become word i of all rows.
  RUY_LIKE_UNROLL
  for (int f = 0; f < kCount; f += 4) V::TransposeParts(x + f);
  MultiplyAddWords<V, Words, kRhsWidth>(x, rhs, v, acc);
}

// The same of 16 bytes of 8-bit floats a row, for all vectors of rows.
template <class V, class Words, int kRhsWidth, int kCols, int kVectors>
RUY_LIKE_ALWAYS_INLINE void AddFloat8s(
    const char* const (&lhs)[kVectors], ptrdiff_t stride, const float* rhs,
    typename V::Float (&acc)[kCols][kVectors]) {
  // Transposed while they are bytes: half of the shuffles that words need.
  typename V::Int pairs[kVectors][4];
  RUY_LIKE_UNROLL
  for (int v = 0; v < kVectors; ++v) {
    RUY_LIKE_UNROLL
    for (int i = 0; i < 4; ++i) {
      pairs[v][i] = V::BitsOf(V::LoadFourWords(lhs[v] + i * stride, stride));
    }
    V::TransposePairs(pairs[v]);
    RUY_LIKE_UNROLL
    for (int i = 0; i < 4; ++i) V::HoldInRegister(pairs[v][i]);
  }
  // Chains of sums side by side.
  RUY_LIKE_UNROLL
  for (int i = 0; i < 4; ++i) {
    RUY_LIKE_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      typename V::Int lower, upper;
      SplitFloat8s<Words::kScalar>(pairs[v][i], &lower, &upper);
      V::Zip8(lower, upper);
      const typename V::Float x[] = {V::AsFloat(lower), V::AsFloat(upper)};
      MultiplyAddWords<V, Words, kRhsWidth>(
          x, rhs + 2 * i * Words::kRhsWords * kRhsWidth, v, acc);
    }
  }
}

template <class V>
RUY_LIKE_ALWAYS_INLINE void PrefetchRows(const char* rows, ptrdiff_t stride) {
  RUY_LIKE_UNROLL
  for (int i = 0; i < V::kLanes; ++i) {
    __builtin_prefetch(rows + i * stride, /*rw=*/0, /*locality=*/2);
  }
}

// The sums of kVectors vectors of rows and kCols columns of a rhs panel.
template <class V, class Words, int kRhsWidth, int kCols, int kVectors,
          Walk kWalk>
void RunRows(const RowsArgs& args) {
  constexpr int kLanes = V::kLanes;
  constexpr int kRhsStep = Words::kRhsWords * kRhsWidth;
  constexpr int kLine = kLineWords<Words>;
  constexpr int kLoads = kLoadWords<Words>;
  constexpr int kStep = kIsFloat8<Words> ? kLoads : V::kRowWords;
  // All of it in one function, without a lambda: else gcc keeps sums in memory.
  typename V::Float acc[kCols][kVectors];
  RUY_LIKE_UNROLL
  for (int i = 0; i < kCols * kVectors; ++i) {
    acc[i / kVectors][i % kVectors] = V::SetFloat(0);
  }
  const ptrdiff_t stride = args.lhs_stride;
  const ptrdiff_t ahead = args.ahead;
  const float* rhs = args.rhs;
  const char* lhs[kVectors];
  RUY_LIKE_UNROLL
  for (int v = 0; v < kVectors; ++v) lhs[v] = args.lhs + v * kLanes * stride;
  ptrdiff_t words = args.words;
  for (; words >= kLine; words -= kLine) {
    if constexpr (kIsFloat8<Words>) {
      AddFloat8s<V, Words, kRhsWidth>(lhs, stride, rhs, acc);
    } else if constexpr (kWalk == Walk::kByLine) {
      RUY_LIKE_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        PrefetchRows<V>(lhs[v] + ahead, stride);
        RUY_LIKE_UNROLL
        for (int w = 0; w < kLine; w += kStep) {
          AddWords<V, Words, kRhsWidth, kStep>(lhs[v] + kWordBytes<Words> * w,
                                               stride, rhs + w * kRhsStep, v,
                                               acc);
        }
      }
    } else {
      RUY_LIKE_UNROLL
      for (int w = 0; w < kLine; w += kStep) {
        RUY_LIKE_UNROLL
        for (int v = 0; v < kVectors; ++v) {
          AddWords<V, Words, kRhsWidth, kStep>(lhs[v] + kWordBytes<Words> * w,
                                               stride, rhs + w * kRhsStep, v,
                                               acc);
        }
      }
    }
    RUY_LIKE_UNROLL
    for (int v = 0; v < kVectors; ++v) lhs[v] += kLine * kWordBytes<Words>;
    rhs += kLine * kRhsStep;
  }
  for (; kLine > kLoads && words > 0; words -= kLoads) {
    RUY_LIKE_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      AddWords<V, Words, kRhsWidth, kLoads>(lhs[v], stride, rhs, v, acc);
      lhs[v] += 16;
    }
    rhs += kLoads * kRhsStep;
  }
  RUY_LIKE_UNROLL
  for (int i = 0; i < kCols * kVectors; ++i) {
    V::StoreAligned(args.sums + i * kLanes, acc[i / kVectors][i % kVectors]);
  }
}

// Vectors of rows at once; what registers hold, and 512 bits of 16 rows.
template <class V, class Words>
constexpr int VectorsOf(Walk walk, int cols, int rhs_width) {
  return walk == Walk::kOneVector                               ? 1
         : V::kLanes == 16 || cols > (kIsFloat8<Words> ? 2 : 3) ? 1
         : walk == Walk::kByWord && rhs_width == 1              ? 4
                                                                : 2;
}

// RunRows() for 1, 2 ... kRhsWidth columns.
template <class V, class Words, int kRhsWidth, Walk kWalk>
constexpr auto kRunRows = TableOf<RowsFn, kRhsWidth>([](auto cols) {
  constexpr Walk kLoop = kWalk == Walk::kOneVector ? Walk::kByWord : kWalk;
  constexpr int kVectors = VectorsOf<V, Words>(kWalk, cols(), kRhsWidth);
  return RunRows<V, Words, kRhsWidth, cols(), kVectors, kLoop>;
});

// The counterpart of PanelKernel<Words::Op, kMaxVectors, kRhsWidth>; kPackRows
// packs that one's lhs. With kRhsWidth 1 it is for a single column, in place.
template <class V, int kMaxVectors, int kRhsWidth, PackFn* kPackRows,
          class Words>
struct NarrowFloatKernel {
  typedef typename Words::Op Op;
  static constexpr int kLanes = V::kLanes;
  static constexpr int kMaxTileRows =
      VectorsOf<V, Words>(Walk::kByWord, 1, kRhsWidth) * kLanes;
  static constexpr int kPieceDepth = 64;
  // Elements that are loaded at once.
  static constexpr int kLoadDepth = kLoadWords<Words> * Words::kDepth;

  static constexpr Kernel Entry(const char* name, PackFn* pack_rhs) {
    Kernel kernel =
        NarrowFloatEntry(name, kRhsWidth, /*tile_rows=*/16, pack_rhs, Run);
    kernel.tile_cols = kernel.max_cols = kRhsWidth;
    kernel.lhs.scalar = Words::kScalar;
    kernel.rhs.scalar = Words::kRhsScalar;
    kernel.rhs.dot_width = Op::kDotWidth;
    kernel.rhs.depth_multiple = Op::kDepthMultiple;
    return kernel;
  }
  static constexpr Kernel ColumnEntry(const char* name) {
    static_assert(kRhsWidth == 1 && Words::kScalar == Scalar::kF32);
    Kernel kernel = Entry(name, /*pack_rhs=*/nullptr);
    kernel.lhs.dot_width = 1;  // only for the name
    kernel.rhs = {Scalar::kF32, /*in_place=*/true, 0, 0, 0};
    return kernel;
  }

  static void Run(const KernelArgs* args) {
    const int cols = static_cast<int>(args->cols);
    const ptrdiff_t stride = args->lhs_stride_bytes;
    const Walk walk = WalkOf(args->rows, stride, cols);
    RowsFn* run = kRunRows<V, Words, kRhsWidth, Walk::kByWord>.fns[cols - 1];
    if (walk == Walk::kOneVector) {
      run = kRunRows<V, Words, kRhsWidth, Walk::kOneVector>.fns[cols - 1];
    }
    if constexpr (kRhsWidth == 1) {
      if (walk == Walk::kByLine) {
        run = kRunRows<V, Words, kRhsWidth, Walk::kByLine>.fns[cols - 1];
      }
    }
    const int vectors = VectorsOf<V, Words>(walk, cols, kRhsWidth);
    const int tile_rows = Min(args->rows, vectors * kLanes);
    const ptrdiff_t whole =
        tile_rows < kLanes ? 0 : args->depth / kLoadDepth * kLoadDepth;
    alignas(64) float sums[kRhsWidth * kMaxTileRows];
    RowsArgs tile;
    tile.lhs_stride = stride;
    tile.rhs = static_cast<const float*>(args->rhs);
    tile.words = whole / Words::kDepth;
    tile.ahead =
        args->rows * stride > kNextRowsBytes ? tile_rows * stride : kAheadBytes;
    tile.sums = sums;
    for (ptrdiff_t row = 0; row < args->rows; row += tile_rows) {
      // The last rows may be multiplied twice.
      if (row > args->rows - tile_rows) row = args->rows - tile_rows;
      tile.lhs = static_cast<const char*>(args->lhs) + row * stride;
      if (whole > 0) {
        run(tile);
      } else {
        // Clearing the whole array takes 7 ns more for one column.
        for (int i = 0; i < cols * vectors * kLanes; ++i) sums[i] = 0;
      }
      for (ptrdiff_t k = whole; k < args->depth; k += kPieceDepth) {
        MultiplyPiece(*args, tile.lhs, tile_rows, k, vectors, sums);
      }
      StoreTile<typename Op::Simd>(
          {sums, vectors * kLanes, tile_rows, cols, row, 0}, *args->epilogue);
    }
  }

 private:
  // A larger lhs leaves L2.
  static constexpr ptrdiff_t kCachedBytes = 1 << 20;
  // From a larger one, in memory, the next tile's rows are prefetched, not the
  // next lines.
  static constexpr ptrdiff_t kNextRowsBytes = 32 << 20;
  static constexpr ptrdiff_t kAheadBytes = 256;

  static RUY_LIKE_ALWAYS_INLINE Walk WalkOf(ptrdiff_t rows, ptrdiff_t stride,
                                            int cols) {
    const Walk walk = kRhsWidth == 1 && (rows * stride > kCachedBytes ||
                                         SharesSets(stride, kMaxTileRows))
                          ? Walk::kByLine
                          : Walk::kByWord;
    return rows < VectorsOf<V, Words>(walk, cols, kRhsWidth) * kLanes
               ? Walk::kOneVector
               : walk;
  }

  // True if more than 8 lines of so many rows, a power of 2, share a set of L1:
  // rows (nearly) a multiple of 4096 bytes apart if they are 16.
  static RUY_LIKE_ALWAYS_INLINE bool SharesSets(ptrdiff_t stride, int rows) {
    return ((stride + 7) & (65536 / rows - 1)) < 15;
  }

  // Where the rhs's words for depth k begin, in words of a column.
  static constexpr RUY_LIKE_ALWAYS_INLINE ptrdiff_t RhsWord(ptrdiff_t k) {
    return k / Words::kDepth * Words::kRhsWords;
  }

  // Any number of rows up to a tile's, kPieceDepth elements from `k` on.
  static RUY_LIKE_NOINLINE void MultiplyPiece(const KernelArgs& args,
                                              const char* lhs, int rows,
                                              ptrdiff_t k, int vectors,
                                              float* sums) {
    constexpr const auto& tiles =
        kTileTable<Op, PackedRhs<Op, kRhsWidth>, kMaxVectors, kRhsWidth>.fns;
    alignas(64) float piece[kMaxVectors * kLanes * kPieceDepth];
    const ptrdiff_t depth = Min(args.depth - k, kPieceDepth);
    const ptrdiff_t padded =
        (depth + Op::kDotWidth - 1) / Op::kDotWidth * Op::kDotWidth;
    PackArgs pack;
    pack.src = lhs + k * kElementBytes<Words>;
    pack.src_scalar = Words::kScalar;
    pack.depth_contiguous = true;
    pack.src_stride = args.lhs_stride_bytes / kElementBytes<Words>;
    pack.depth = depth;
    pack.width = rows;
    pack.dst = piece;
    pack.padded_depth = padded;
    pack.sums = nullptr;
    kPackRows(&pack);
    TileArgs tile;
    tile.lhs = piece;
    tile.lhs_stride_bytes = padded * kLanes * sizeof(typename Op::Lhs);
    tile.steps = padded / Op::kStepDepth;
    tile.rhs = {static_cast<const float*>(args.rhs) + RhsWord(k) * kRhsWidth,
                args.rhs_stride_bytes};
    tile.start = tile.result = sums;
    tile.start_col_stride = vectors * kLanes;
    tiles[vectors - 1][args.cols - 1](tile);
  }
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_NARROW_NARROW_FLOAT_H_
