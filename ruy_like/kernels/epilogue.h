// Back-end: from accumulators to dst, once per SIMD width.
//
// Called by every kernel of a width (panel, narrow, AMX) with one tile of raw
// accumulators that it spilled: StoreIntTile() and StoreFloatTile(). The
// formulas are kernel.h's. It does not know how the accumulators came about;
// the portable path has a scalar epilogue of its own (portable.cc).
//
// A tile is done one vector of rows at a time: what belongs to rows is loaded
// once and serves all columns, what belongs to columns is broadcast from
// memory. That writes dst columns; when dst's rows are the contiguous ones, the
// columns go to a small square of 32-bit elements that is then transposed.
#ifndef RUY_LIKE_KERNELS_EPILOGUE_H_
#define RUY_LIKE_KERNELS_EPILOGUE_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/always_inline.h"
#include "ruy_like/kernels/kernel.h"
#include "ruy_like/kernels/requantize.h"

namespace ruy_like {
namespace kernels {
namespace {

// Accumulators, column-major, and where in the block they belong. Columns are
// `col_stride` apart, start aligned to the vector and may be read up to a
// multiple of V::kLanes rows.
template <typename Accum>
struct AccumTile {
  const Accum* acc;
  ptrdiff_t col_stride;
  int rows, cols;
  ptrdiff_t row0, col0;
};

// Finishes at most V::kLanes columns into columns of `dst`, which are
// `dst_stride` elements apart.
template <typename Accum>
using StoreColumnsFn = void(const AccumTile<Accum>& tile, const EpilogueArgs& e,
                            void* dst, ptrdiff_t dst_stride);

// ## Integers

// What is added to the accumulators of a vector of rows (or of columns): base +
// bias - zero_point * sums; null arrays count as 0.
template <class V>
RUY_LIKE_ALWAYS_INLINE typename V::Int Addends(int32_t base,
                                               const int32_t* bias,
                                               int32_t zero_point,
                                               const int32_t* sums,
                                               ptrdiff_t offset, int n) {
  const typename V::Mask mask = V::FirstLanes(n);
  typename V::Int result = V::Set(base);
  if (bias != nullptr) {
    result = V::Add(result, V::LoadMasked(bias + offset, mask));
  }
  if (sums != nullptr) {
    result = V::Sub(
        result, V::Mul(V::LoadMasked(sums + offset, mask), V::Set(zero_point)));
  }
  return result;
}

// The first n rows of one vector of rows, all columns.
template <class V, typename Dst, Scaling kScaling>
RUY_LIKE_ALWAYS_INLINE void StoreIntRows(
    const AccumTile<int32_t>& tile, int row, int n, typename V::Int row_addends,
    const int32_t* column_addends, const Scaler<V, kScaling>& scaler,
    const Clamp<V>& clamp, Dst* dst, ptrdiff_t dst_stride) {
  const int32_t* acc = tile.acc + row;
  const ptrdiff_t acc_stride = tile.col_stride;
  const int cols = tile.cols;
  dst += row;
  for (int c = 0; c < cols; ++c) {
    const typename V::Int x = V::Add(
        V::Add(row_addends, V::Set(column_addends[c])), V::LoadAligned(acc));
    V::Store(dst, clamp.Apply(scaler.Apply(x)), n);
    acc += acc_stride;
    dst += dst_stride;
  }
}

template <class V, typename Dst, Scaling kScaling>
void StoreIntColumns(const AccumTile<int32_t>& tile, const EpilogueArgs& e,
                     void* dst, ptrdiff_t dst_stride) {
  const int32_t* bias = static_cast<const int32_t*>(e.bias);
  const int32_t* row_bias = e.channels_are_rows ? bias : nullptr;
  const int32_t* column_bias = e.channels_are_rows ? nullptr : bias;
  alignas(64) int32_t column_addends[V::kLanes];
  V::StoreAligned(column_addends, Addends<V>(e.zero_point_product, column_bias,
                                             e.lhs_zero_point, e.rhs_sums,
                                             tile.col0, tile.cols));
  const Clamp<V> clamp(e);
  for (int row = 0; row < tile.rows; row += V::kLanes) {
    const int left = tile.rows - row;
    const int n = left < V::kLanes ? left : V::kLanes;
    const ptrdiff_t offset = tile.row0 + row;
    const typename V::Int row_addends =
        Addends<V>(0, row_bias, e.rhs_zero_point, e.lhs_sums, offset, n);
    Scaler<V, kScaling> scaler;
    if (e.per_channel && e.channels_are_rows) {
      const typename V::Mask mask = V::FirstLanes(n);
      scaler.Prepare(e.fixedpoint + offset, e.exponent + offset, mask);
    } else {
      const ptrdiff_t channel = e.per_channel ? tile.col0 : 0;
      scaler.PrepareOne(e.fixedpoint + channel, e.exponent + channel);
    }
    // Told apart so that the stores of whole vectors need no mask.
    if (n == V::kLanes) {
      StoreIntRows(tile, row, V::kLanes, row_addends, column_addends, scaler,
                   clamp, static_cast<Dst*>(dst), dst_stride);
    } else {
      StoreIntRows(tile, row, n, row_addends, column_addends, scaler, clamp,
                   static_cast<Dst*>(dst), dst_stride);
    }
  }
}

template <class V, typename Dst>
StoreColumnsFn<int32_t>* ChooseStoreIntColumns(Scaling scaling) {
  switch (scaling) {
    case Scaling::kIdentity:
      return StoreIntColumns<V, Dst, Scaling::kIdentity>;
    case Scaling::kNegative:
      return StoreIntColumns<V, Dst, Scaling::kNegative>;
    case Scaling::kUpToZero:
      return StoreIntColumns<V, Dst, Scaling::kUpToZero>;
    case Scaling::kSaturating:
      break;
  }
  return StoreIntColumns<V, Dst, Scaling::kSaturating>;
}

template <class V>
RUY_LIKE_ALWAYS_INLINE StoreColumnsFn<int32_t>* ChooseStoreIntColumns(
    Scalar dst_scalar, Scaling scaling) {
  switch (dst_scalar) {
    case Scalar::kI8:
      return ChooseStoreIntColumns<V, int8_t>(scaling);
    case Scalar::kU8:
      return ChooseStoreIntColumns<V, uint8_t>(scaling);
    case Scalar::kI16:
      return ChooseStoreIntColumns<V, int16_t>(scaling);
    default:
      return ChooseStoreIntColumns<V, int32_t>(scaling);
  }
}

// ## Floats

template <class V>
void StoreFloatColumns(const AccumTile<float>& tile, const EpilogueArgs& e,
                       void* dst, ptrdiff_t dst_stride) {
  typedef typename V::Float Float;
  const float* bias = static_cast<const float*>(e.bias);
  const Float low = V::SetFloat(static_cast<float>(e.clamp_min_f));
  const Float high = V::SetFloat(static_cast<float>(e.clamp_max_f));
  for (int row = 0; row < tile.rows; row += V::kLanes) {
    const int left = tile.rows - row;
    const int n = left < V::kLanes ? left : V::kLanes;
    // Adding it where there is no bias changes nothing, not even -0.
    Float addend = V::SetFloat(-0.0f);
    if (bias != nullptr && e.channels_are_rows) {
      addend = V::LoadMasked(bias + tile.row0 + row, V::FirstLanes(n));
    }
    for (int c = 0; c < tile.cols; ++c) {
      if (bias != nullptr && !e.channels_are_rows) {
        addend = V::SetFloat(bias[tile.col0 + c]);
      }
      const Float x = V::AddFloat(
          V::LoadAligned(tile.acc + c * tile.col_stride + row), addend);
      V::Store(static_cast<float*>(dst) + c * dst_stride + row,
               V::AtMost(high, V::AtLeast(low, x)), n);
    }
  }
}

// ## Both orders of dst

RUY_LIKE_ALWAYS_INLINE ptrdiff_t ElementBytes(Scalar scalar) {
  switch (scalar) {
    case Scalar::kI8:
    case Scalar::kU8:
      return 1;
    case Scalar::kI16:
      return 2;
    case Scalar::kI32:
    case Scalar::kF32:
      break;
    case Scalar::kF64:
      return 8;
  }
  return 4;
}

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

template <class V, typename Accum>
void StoreRowMajor(const AccumTile<Accum>& tile, const EpilogueArgs& e,
                   StoreColumnsFn<Accum>* store_columns) {
  // Float results are moved as the bits that they are.
  alignas(64) int32_t square[V::kLanes * V::kLanes] = {};
  const ptrdiff_t element_bytes = ElementBytes(e.dst_scalar);
  for (int row = 0; row < tile.rows; row += V::kLanes) {
    const int left = tile.rows - row;
    const AccumTile<Accum> part = {
        tile.acc + row, tile.col_stride, left < V::kLanes ? left : V::kLanes,
        tile.cols,      tile.row0 + row, tile.col0};
    store_columns(part, e, square, V::kLanes);
    StoreTransposed<V>(
        square, part.rows, part.cols,
        static_cast<char*>(e.dst) +
            (part.row0 * e.dst_row_stride + part.col0) * element_bytes,
        e.dst_row_stride * element_bytes, element_bytes);
  }
}

// Cuts a tile into parts of at most `max_cols` columns. Elements of a square
// have 32 bits, whatever dst's are: `store_columns` is for dst's own columns,
// `store_square` for those of a square.
template <class V, typename Accum>
RUY_LIKE_ALWAYS_INLINE void StoreTile(const AccumTile<Accum>& tile,
                                      const EpilogueArgs& e, int max_cols,
                                      StoreColumnsFn<Accum>* store_columns,
                                      StoreColumnsFn<Accum>* store_square) {
  for (int c = 0; c < tile.cols; c += max_cols) {
    const int left = tile.cols - c;
    const AccumTile<Accum> part = {
        tile.acc + c * tile.col_stride,    tile.col_stride, tile.rows,
        left < max_cols ? left : max_cols, tile.row0,       tile.col0 + c};
    if (e.dst_row_stride == 1) {
      store_columns(part, e,
                    static_cast<char*>(e.dst) +
                        (part.row0 + part.col0 * e.dst_col_stride) *
                            ElementBytes(e.dst_scalar),
                    e.dst_col_stride);
    } else {
      StoreRowMajor<V>(part, e, store_square);
    }
  }
}

// Writes rows x cols of dst at (row0, col0) of the block from the raw sums in
// `acc`, which are column-major, `acc_col_stride` apart. Columns of `acc` start
// aligned to the vector and may be read up to a multiple of V::kLanes rows.
template <class V>
RUY_LIKE_ALWAYS_INLINE void StoreIntTile(const int32_t* acc,
                                         ptrdiff_t acc_col_stride, int rows,
                                         int cols, ptrdiff_t row0,
                                         ptrdiff_t col0,
                                         const EpilogueArgs& e) {
  const Scaling scaling = ChooseScaling(e);
  // A part has one multiplier for all of its columns, or one for each row.
  const bool one_column =
      scaling != Scaling::kIdentity && e.per_channel && !e.channels_are_rows;
  StoreTile<V>(AccumTile<int32_t>{acc, acc_col_stride, rows, cols, row0, col0},
               e, one_column ? 1 : V::kLanes,
               ChooseStoreIntColumns<V>(e.dst_scalar, scaling),
               ChooseStoreIntColumns<V>(Scalar::kI32, scaling));
}

// As StoreIntTile(), for float accumulators and dst.
template <class V>
RUY_LIKE_ALWAYS_INLINE void StoreFloatTile(const float* acc,
                                           ptrdiff_t acc_col_stride, int rows,
                                           int cols, ptrdiff_t row0,
                                           ptrdiff_t col0,
                                           const EpilogueArgs& e) {
  StoreTile<V>(AccumTile<float>{acc, acc_col_stride, rows, cols, row0, col0}, e,
               V::kLanes, StoreFloatColumns<V>, StoreFloatColumns<V>);
}

}  // namespace
}  // namespace kernels
}  // namespace ruy_like

#endif  // RUY_LIKE_KERNELS_EPILOGUE_H_
