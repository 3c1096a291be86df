// Back-end: from accumulators to dst, once per SIMD width.
//
// Called by every kernel of a width (panel, narrow, AMX) with one tile of raw
// accumulators that it spilled: StoreTile(). The formulas are kernel.h's. It
// does not know how the accumulators came about. Panel kernels have a faster
// one for common calls (panel_epilogue.h), the portable path has a scalar one
// of its own (portable.cc).
//
// epilogue_columns.h makes columns of dst. When dst's rows are the contiguous
// ones, the columns go to a small matrix instead, of bytes or of 32-bit
// elements, which is then transposed.
#ifndef RUY_LIKE_KERNELS_EPILOGUE_EPILOGUE_H_
#define RUY_LIKE_KERNELS_EPILOGUE_EPILOGUE_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/epilogue/epilogue_columns.h"
#include "ruy_like/kernels/epilogue/requantize.h"
#include "ruy_like/kernels/kernel.h"
#include "ruy_like/simd/loops.h"

namespace ruy_like::kernels {
namespace {

// Writes rows of dst from the columns in `square`, V::kLanes apart, whose
// elements have 32 bits: dst's, sign- or zero-extended.
template <class V>
void StoreTransposed(const int32_t* square, int rows, int cols, char* dst,
                     ptrdiff_t dst_stride_bytes, ptrdiff_t dst_element_bytes) {
  typename V::Int m[V::kLanes];
  for (int i = 0; i < V::kLanes; ++i) {
    m[i] = V::LoadAligned(square + i * V::kLanes);
  }
  V::Transpose(m);
  for (int i = 0; i < rows; ++i) {
    if (dst_element_bytes == 1) {
      V::Store(reinterpret_cast<int8_t*>(dst), m[i], cols);
    } else if (dst_element_bytes == 2) {
      V::Store(reinterpret_cast<int16_t*>(dst), m[i], cols);
    } else {
      V::Store(reinterpret_cast<int32_t*>(dst), m[i], cols);
    }
    dst += dst_stride_bytes;
  }
}

// Writes the first n <= 8 bytes of `row`.
RUY_LIKE_ALWAYS_INLINE void StoreRowBytes(char* dst, uint64_t row, int n) {
  if (n == 8) {
    __builtin_memcpy(dst, &row, 8);
    return;
  }
  for (int c = 0; c < n; ++c) dst[c] = static_cast<char>(row >> 8 * c);
}

// Writes 16 rows of at most 8 bytes, or fewer, from 8 columns, which start
// 16-byte aligned and `stride` apart, a multiple of 16.
template <class V>
RUY_LIKE_ALWAYS_INLINE void StoreSixteenRows(const int8_t* columns,
                                             ptrdiff_t stride, int rows,
                                             int cols, char* dst,
                                             ptrdiff_t dst_stride) {
  typedef typename V::Bytes16 Bytes;
  typename Bytes::Int pairs[8];
  for (int c = 0; c < 8; ++c) pairs[c] = Bytes::LoadBytes(columns + stride * c);
  // Rows 2i and 2i + 1 become pairs[i].
  ShufflePerfectly<8, 3>(pairs, [](auto& a, auto& b) { Bytes::Zip8(a, b); });
  for (int i = 0; i < 8; ++i) {
    if (2 * i >= rows) return;
    StoreRowBytes(dst, Bytes::template Half<0>(pairs[i]), cols);
    if (2 * i + 1 >= rows) return;
    StoreRowBytes(dst + dst_stride, Bytes::template Half<1>(pairs[i]), cols);
    dst += 2 * dst_stride;
  }
}

// The same of any number of rows.
template <class V>
void StoreTransposedBytes(const int8_t* columns, ptrdiff_t stride, int rows,
                          int cols, char* dst, ptrdiff_t dst_stride) {
  for (; rows > 0; rows -= 16) {
    StoreSixteenRows<V>(columns, stride, rows, cols, dst, dst_stride);
    columns += 16;
    dst += 16 * dst_stride;
  }
}

// Where a tile's first element goes.
template <typename Accum>
RUY_LIKE_ALWAYS_INLINE char* DstOf(const SpilledTile<Accum>& tile,
                                   const EpilogueArgs& e) {
  return static_cast<char*>(e.dst) +
         (tile.row0 * e.dst_row_stride + tile.col0 * e.dst_col_stride) *
             kScalarBytes[static_cast<int>(e.dst_scalar)];
}

// Row-major dst of bytes, `max_cols` columns at a time. Columns are finished as
// bytes, so that their transposition is short, and 64 rows at a time, so that
// calls for a single column pay off.
template <class V>
RUY_LIKE_NOINLINE void StoreRowMajorBytes(
    const SpilledTile<int32_t>& tile, const EpilogueArgs& e, int max_cols,
    StoreColumnsFn<int32_t>* store_columns) {
  constexpr int kMaxRows = 64;
  constexpr int kCols = 8;
  alignas(16) int8_t columns[kMaxRows * kCols];
  if (max_cols > kCols) max_cols = kCols;
  for (int row = 0; row < tile.rows; row += kMaxRows) {
    for (int col = 0; col < tile.cols; col += kCols) {
      const SpilledTile<int32_t> part = tile.Part(row, col, kMaxRows, kCols);
      for (int c = 0; c < part.cols; c += max_cols) {
        store_columns(part.Part(0, c, kMaxRows, max_cols), e,
                      columns + c * kMaxRows, kMaxRows);
      }
      StoreTransposedBytes<V>(columns, kMaxRows, part.rows, part.cols,
                              DstOf(part, e), e.dst_row_stride);
    }
  }
}

// Row-major dst, in squares of V::kLanes rows and columns, of which `max_cols`
// are finished at a time.
template <class V, typename Accum>
RUY_LIKE_NOINLINE void StoreRowMajor(const SpilledTile<Accum>& tile,
                                     const EpilogueArgs& e, int max_cols,
                                     StoreColumnsFn<Accum>* store_columns) {
  constexpr int kLanes = V::kLanes;
  // Float results are moved as bits. Not zeroed, which took 256 or 1024 bytes
  // of `rep stos` a tile: what is not there is moved, but never stored.
  alignas(64) int32_t square[kLanes * kLanes];
  const ptrdiff_t element_bytes = kScalarBytes[static_cast<int>(e.dst_scalar)];
  for (int col = 0; col < tile.cols; col += kLanes) {
    for (int row = 0; row < tile.rows; row += kLanes) {
      const SpilledTile<Accum> part = tile.Part(row, col, kLanes, kLanes);
      for (int c = 0; c < part.cols; c += max_cols) {
        store_columns(part.Part(0, c, kLanes, max_cols), e, square + c * kLanes,
                      kLanes);
      }
      StoreTransposed<V>(square, part.rows, part.cols, DstOf(part, e),
                         e.dst_row_stride * element_bytes, element_bytes);
    }
  }
}

// Cuts a tile of integers into parts of at most `max_cols` columns. Elements of
// a square have 32 bits, whatever dst's are: `store_columns` is for dst's own
// columns, `store_square` for those of a square.
template <class V>
RUY_LIKE_ALWAYS_INLINE void StoreParts(const SpilledTile<int32_t>& tile,
                                       const EpilogueArgs& e, int max_cols,
                                       StoreColumnsFn<int32_t>* store_columns,
                                       StoreColumnsFn<int32_t>* store_square) {
  if (e.dst_row_stride != 1) {
    return StoreRowMajor<V>(tile, e, max_cols, store_square);
  }
  for (int col = 0; col < tile.cols; col += max_cols) {
    const SpilledTile<int32_t> part = tile.Part(0, col, tile.rows, max_cols);
    store_columns(part, e, DstOf(part, e), e.dst_col_stride);
  }
}

// The same of floats, whose columns are one part: a call for each 8 or 16 of
// them would take as long as storing them.
template <class V>
RUY_LIKE_ALWAYS_INLINE void StoreWhole(const SpilledTile<float>& tile,
                                       const EpilogueArgs& e,
                                       StoreColumnsFn<float>* store_columns,
                                       StoreColumnsFn<float>* store_square) {
  if (e.dst_row_stride != 1) {
    return StoreRowMajor<V>(tile, e, V::kLanes, store_square);
  }
  store_columns(tile, e, DstOf(tile, e), e.dst_col_stride);
}

// The factor of rows' zero points in a column.
RUY_LIKE_ALWAYS_INLINE int32_t RowZeroFactor(const ZeroPointArgs& z,
                                             ptrdiff_t col) {
  const uint32_t rhs = z.rhs == nullptr ? 0 : z.rhs[col];
  uint32_t factor = static_cast<uint32_t>(z.depth) * rhs;
  if (z.lhs != nullptr) {
    factor += static_cast<uint32_t>(z.rhs_base) -
              static_cast<uint32_t>(z.rhs_sums[col]);
  }
  return static_cast<int32_t>(factor);
}

// Adds to raw accumulators what ZeroPointArgs says.
template <class V>
RUY_LIKE_NOINLINE void SubtractZeroPoints(const SpilledTile<int32_t>& tile,
                                          const ZeroPointArgs& zeros) {
  typedef typename V::Int Int;
  const ZeroPointArgs z = zeros;
  for (int c = 0; c < tile.cols; ++c) {
    const ptrdiff_t col = tile.col0 + c;
    const Int lhs_factor = V::Set(RowZeroFactor(z, col));
    const Int sum_factor = V::Set(z.rhs == nullptr ? 0 : z.rhs[col]);
    int32_t* const column = tile.acc + c * tile.col_stride;
    for (int row = 0; row < tile.rows; row += V::kLanes) {
      const typename V::Mask mask =
          V::FirstLanes(Min(tile.rows - row, V::kLanes));
      Int x = V::LoadAligned(column + row);
      if (z.lhs != nullptr) {
        x = V::Add(x, V::Mul(V::LoadMasked(z.lhs + tile.row0 + row, mask),
                             lhs_factor));
      }
      if (z.rhs != nullptr) {
        x = V::Sub(
            x, V::Mul(V::Sub(V::LoadMasked(z.lhs_sums + tile.row0 + row, mask),
                             V::Set(z.lhs_base)),
                      sum_factor));
      }
      V::StoreAligned(column + row, x);
    }
  }
}

// Writes a tile of dst from its raw accumulators, which it may overwrite.
template <class V>
RUY_LIKE_ALWAYS_INLINE void StoreTile(const SpilledTile<int32_t>& tile,
                                      const EpilogueArgs& e) {
  if (e.zeros != nullptr) SubtractZeroPoints<V>(tile, *e.zeros);
  const Scaling scaling = ChooseScaling(e);
  // A part has one multiplier for all of its columns, or one for each row.
  const bool one_column = e.output == Output::kFixedPoint &&
                          scaling != Scaling::kIdentity && e.per_channel &&
                          !e.channels_are_rows;
  const int max_cols = one_column ? 1 : V::kLanes;
  if (e.output == Output::kScaled) {
    StoreColumnsFn<int32_t>* const store = ChooseStoreScaledColumns<V>(e);
    return StoreParts<V>(tile, e, max_cols, store, store);
  }
  StoreColumnsFn<int32_t>* const store =
      ChooseStoreIntColumns<V>(e.dst_scalar, scaling);
  if (e.dst_row_stride != 1 &&
      kScalarBytes[static_cast<int>(e.dst_scalar)] == 1) {
    return StoreRowMajorBytes<V>(tile, e, max_cols, store);
  }
  StoreParts<V>(tile, e, max_cols, store,
                ChooseStoreIntColumns<V>(Scalar::kI32, scaling));
}
template <class V, Scalar kDst>
RUY_LIKE_NOINLINE void StoreFloat16Tile(const SpilledTile<float>& tile,
                                        const EpilogueArgs& e) {
  StoreWhole<V>(tile, e, StoreFloatColumns<V, kDst, int16_t>,
                StoreFloatColumns<V, kDst, int32_t>);
}
template <class V>
RUY_LIKE_ALWAYS_INLINE void StoreTile(const SpilledTile<float>& tile,
                                      const EpilogueArgs& e) {
  switch (e.dst_scalar) {
#define RUY_LIKE_FLOAT16(Enum, type) \
  case Scalar::Enum:                 \
    return StoreFloat16Tile<V, Scalar::Enum>(tile, e);
    RUY_LIKE_FLOAT16S(RUY_LIKE_FLOAT16)
#undef RUY_LIKE_FLOAT16
    default:
      break;
  }
  StoreWhole<V>(tile, e, StoreFloatColumns<V, Scalar::kF32, float>,
                StoreFloatColumns<V, Scalar::kF32, float>);
}

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_EPILOGUE_EPILOGUE_H_
