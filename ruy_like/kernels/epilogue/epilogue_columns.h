// Back-end: the epilogue of dst columns, once per SIMD width.
//
// Used by epilogue.h, which deals with both orders of dst and picks the
// routine. A tile is done one vector of rows at a time: what belongs to rows is
// loaded once and serves all columns, what belongs to columns is broadcast from
// memory.
#ifndef RUY_LIKE_KERNELS_EPILOGUE_EPILOGUE_COLUMNS_H_
#define RUY_LIKE_KERNELS_EPILOGUE_EPILOGUE_COLUMNS_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/epilogue/float_output.h"
#include "ruy_like/kernels/epilogue/requantize.h"
#include "ruy_like/kernels/kernel.h"
#include "ruy_like/simd/loops.h"

namespace ruy_like::kernels {
namespace {

// Raw accumulators on their way to dst: column-major. Columns start aligned to
// the vector and may be accessed up to a multiple of V::kLanes rows.
template <typename Accum>
struct SpilledTile {
  Accum* acc;
  ptrdiff_t col_stride;  // elements from column to column
  int rows, cols;
  ptrdiff_t row0, col0;  // the tile's place in the block

  // From (row, col) on, at most so many rows and columns.
  RUY_LIKE_ALWAYS_INLINE SpilledTile Part(int row, int col, int most_rows,
                                          int most_cols) const {
    return {
        acc + row + col * col_stride, col_stride, Min(rows - row, most_rows),
        Min(cols - col, most_cols),   row0 + row, col0 + col};
  }
};

// Finishes a tile, of integers with at most V::kLanes columns, into columns of
// `dst`, which are `dst_stride` elements apart. Not by value: copying a struct
// right after its fields were stored stalls on store forwarding. Routines copy
// it before they store: compilers must assume that stores change its fields.
template <typename Accum>
using StoreColumnsFn = void(const SpilledTile<Accum>& spilled,
                            const EpilogueArgs& e, void* dst,
                            ptrdiff_t dst_stride);

// ## Integers

// Addends of the accumulators of a vector of rows (or of columns): base +
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

// Terms that the columns of one vector of rows share.
template <class V, Scaling kScaling>
struct RowTerms {
  typename V::Int addends;
  Scaler<V, kScaling> scaler;

  // The scaled value of accumulators to which a column adds `column_addend`.
  RUY_LIKE_ALWAYS_INLINE typename V::Int Scaled(const int32_t* acc,
                                                int32_t column_addend) const {
    return scaler.Apply(
        V::Add(V::Add(addends, V::Set(column_addend)), V::LoadAligned(acc)));
  }
};

// The terms of n rows from `offset` on, at most a vector, where a part has one
// multiplier for each row or one for all: that of column col0.
template <class V, Scaling kScaling>
RUY_LIKE_ALWAYS_INLINE RowTerms<V, kScaling> LoadRowTerms(const EpilogueArgs& e,
                                                          ptrdiff_t offset,
                                                          int n,
                                                          ptrdiff_t col0) {
  const int32_t* bias = static_cast<const int32_t*>(e.bias);
  RowTerms<V, kScaling> terms;
  terms.addends = Addends<V>(0, e.channels_are_rows ? bias : nullptr,
                             e.rhs_zero_point, e.lhs_sums, offset, n);
  if constexpr (kScaling != Scaling::kIdentity) {
    if (e.per_channel && e.channels_are_rows) {
      const typename V::Mask mask = V::FirstLanes(n);
      terms.scaler.Prepare(V::LoadMasked(e.fixedpoint + offset, mask),
                           V::LoadMasked(e.exponent + offset, mask),
                           e.rounds_twice);
    } else {
      const ptrdiff_t channel = e.per_channel ? col0 : 0;
      terms.scaler.Prepare(V::Set(e.fixedpoint[channel]),
                           V::Set(e.exponent[channel]), e.rounds_twice);
    }
  }
  return terms;
}

// A single column of bytes, four vectors of rows at a time, for traits that
// pack those to bytes in order of rows (V::kBytesInOrder). Returns the number
// of rows done.
template <class V, typename Dst, Scaling kScaling>
RUY_LIKE_ALWAYS_INLINE int StoreByteColumn(const SpilledTile<int32_t>& tile,
                                           const EpilogueArgs& e,
                                           int32_t column_addend, Dst* dst) {
  // The zero point is added to 16-bit values; a value that saturates stays out
  // of any 8-bit range.
  const typename V::Int zero_point =
      V::Set16(static_cast<int16_t>(e.dst_zero_point));
  if (tile.rows < 4 * V::kLanes) return 0;
  const bool rows_differ =
      e.lhs_sums != nullptr ||
      (e.channels_are_rows && (e.per_channel || e.bias != nullptr));
  RowTerms<V, kScaling> terms =
      LoadRowTerms<V, kScaling>(e, tile.row0, V::kLanes, tile.col0);
  int row = 0;
  for (; row + 4 * V::kLanes <= tile.rows; row += 4 * V::kLanes) {
    typename V::Int scaled[4];
    RUY_LIKE_UNROLL
    for (int i = 0; i < 4; ++i) {
      const int from = row + i * V::kLanes;
      if (rows_differ) {
        terms = LoadRowTerms<V, kScaling>(e, tile.row0 + from, V::kLanes,
                                          tile.col0);
      }
      scaled[i] = terms.Scaled(tile.acc + from, column_addend);
    }
    V::StoreBytes(
        dst + row,
        V::ClampToBytes(
            V::AddSaturated16(V::SaturateToInt16(scaled[0], scaled[1]),
                              zero_point),
            V::AddSaturated16(V::SaturateToInt16(scaled[2], scaled[3]),
                              zero_point),
            static_cast<Dst>(e.clamp_min), static_cast<Dst>(e.clamp_max)));
  }
  return row;
}

template <class V, typename Dst, Scaling kScaling>
void StoreIntColumns(const SpilledTile<int32_t>& spilled, const EpilogueArgs& e,
                     void* dst, ptrdiff_t dst_stride) {
  const SpilledTile<int32_t> tile = spilled;
  const int32_t* column_bias =
      e.channels_are_rows ? nullptr : static_cast<const int32_t*>(e.bias);
  alignas(64) int32_t column_addends[V::kLanes];
  V::StoreAligned(column_addends, Addends<V>(e.zero_point_product, column_bias,
                                             e.lhs_zero_point, e.rhs_sums,
                                             tile.col0, tile.cols));
  const Clamp<V> clamp(e);
  int row = 0;
  if constexpr (sizeof(Dst) == 1 && V::kBytesInOrder) {
    if (tile.cols == 1 && e.dst_zero_point >= -(1 << 14) &&
        e.dst_zero_point <= 1 << 14) {
      row = StoreByteColumn<V, Dst, kScaling>(tile, e, column_addends[0],
                                              static_cast<Dst*>(dst));
    }
  }
  for (; row < tile.rows; row += V::kLanes) {
    const int n = Min(tile.rows - row, V::kLanes);
    const RowTerms<V, kScaling> terms =
        LoadRowTerms<V, kScaling>(e, tile.row0 + row, n, tile.col0);
    const int32_t* const from = tile.acc + row;
    Dst* const to = static_cast<Dst*>(dst) + row;
    for (int c = 0; c < tile.cols; ++c) {
      V::Store(to + c * dst_stride,
               clamp.Apply(
                   terms.Scaled(from + c * tile.col_stride, column_addends[c])),
               n);
    }
  }
}

// ## Integers by float scales, to floats or to integers

// Fills an array of V::kLanes with a value for each column of a part: those of
// `values` from `offset` on if there is one per column, else `single`.
template <class V>
RUY_LIKE_ALWAYS_INLINE void SpreadOverColumns(const float* values, float single,
                                              bool per_column, ptrdiff_t offset,
                                              int cols, float* result) {
  V::StoreAligned(
      result, per_column ? V::LoadMasked(values + offset, V::FirstLanes(cols))
                         : V::SetFloat(single));
}

// The steps after the scales: the rounding to an integer, the zero point and
// the bounds. The sum with 1.5 * 2^23 has the rounded value, which the bounds
// keep below 2^18, in its lower bits.
template <class V, typename Dst>
class ScaledOutput {
 public:
  explicit RUY_LIKE_ALWAYS_INLINE ScaledOutput(const EpilogueArgs& e)
      : low_(V::SetFloat(static_cast<float>(e.clamp_min - e.dst_zero_point))),
        high_(V::SetFloat(static_cast<float>(e.clamp_max - e.dst_zero_point))),
        excess_(V::Sub(V::BitsOf(V::SetFloat(k1p5x2p23)),
                       V::Set(e.dst_zero_point))) {}
  RUY_LIKE_ALWAYS_INLINE typename V::Int Apply(typename V::Float x) const {
    // In this order of arguments the bound takes the place of a NaN.
    x = V::AtMost(high_, V::AtLeast(x, low_));
    return V::Sub(V::BitsOf(V::AddFloat(x, V::SetFloat(k1p5x2p23))), excess_);
  }

 private:
  static constexpr float k1p5x2p23 = 12582912;

  typename V::Float low_, high_;
  typename V::Int excess_;
};

// Floats: the bounds alone.
template <class V>
class ScaledOutput<V, float> : public FloatOutput<V> {
 public:
  explicit RUY_LIKE_ALWAYS_INLINE ScaledOutput(const EpilogueArgs& e)
      : FloatOutput<V>(FloatBounds::Of(e)) {}
};

// The order of the scales matters for rounding (ScaleArgs::rhs_first); a
// template argument keeps the branch out of the loop.
template <class V, typename Dst, bool kRhsScaleFirst>
void StoreScaledColumns(const SpilledTile<int32_t>& spilled,
                        const EpilogueArgs& e, void* dst,
                        ptrdiff_t dst_stride) {
  const SpilledTile<int32_t> tile = spilled;
  typedef typename V::Float Float;
  const ScaleArgs& scales = *e.scales;
  // Floats have a bias of floats. At least one of row and column biases is -0:
  // adding that changes nothing, not even -0.
  constexpr bool kToFloat = static_cast<Dst>(1) / 2 != 0;
  const float* bias = kToFloat ? static_cast<const float*>(e.bias) : nullptr;
  const bool bias_in_rows = bias != nullptr && e.channels_are_rows;
  const bool bias_in_cols = bias != nullptr && !e.channels_are_rows;
  const int32_t* const int_bias = IntBias(e);
  const int32_t* const row_int_bias = e.channels_are_rows ? int_bias : nullptr;
  const int32_t* const col_int_bias = e.channels_are_rows ? nullptr : int_bias;
  alignas(64) int32_t column_addends[V::kLanes];
  alignas(64) float column_scales[V::kLanes];
  alignas(64) float column_biases[V::kLanes];
  V::StoreAligned(column_addends, Addends<V>(e.zero_point_product, col_int_bias,
                                             e.lhs_zero_point, e.rhs_sums,
                                             tile.col0, tile.cols));
  SpreadOverColumns<V>(scales.rhs, *scales.rhs, scales.rhs_per_col, tile.col0,
                       tile.cols, column_scales);
  SpreadOverColumns<V>(bias, -0.0f, bias_in_cols, tile.col0, tile.cols,
                       column_biases);
  const ScaledOutput<V, Dst> output(e);
  for (int row = 0; row < tile.rows; row += V::kLanes) {
    const int n = Min(tile.rows - row, V::kLanes);
    const typename V::Mask mask = V::FirstLanes(n);
    const ptrdiff_t offset = tile.row0 + row;
    const typename V::Int row_addends =
        Addends<V>(0, row_int_bias, e.rhs_zero_point, e.lhs_sums, offset, n);
    const Float row_scales = scales.lhs_per_row
                                 ? V::LoadMasked(scales.lhs + offset, mask)
                                 : V::SetFloat(*scales.lhs);
    const Float row_biases =
        bias_in_rows ? V::LoadMasked(bias + offset, mask) : V::SetFloat(-0.0f);
    for (int c = 0; c < tile.cols; ++c) {
      const Float column_scale = V::SetFloat(column_scales[c]);
      Float x = V::ToFloat(
          V::Add(V::Add(row_addends, V::Set(column_addends[c])),
                 V::LoadAligned(tile.acc + c * tile.col_stride + row)));
      x = V::MulFloat(x, kRhsScaleFirst ? column_scale : row_scales);
      x = V::MulFloat(x, kRhsScaleFirst ? row_scales : column_scale);
      if constexpr (kToFloat) {
        x = V::AddFloat(V::AddFloat(x, row_biases),
                        V::SetFloat(column_biases[c]));
      }
      V::Store(static_cast<Dst*>(dst) + c * dst_stride + row, output.Apply(x),
               n);
    }
  }
}

// The trait for floats made from integers, whose denormals must not be flushed:
// V, unless its instructions flush them.
template <class V>
struct DenormalTrait {
  typedef V Trait;
};

template <class V>
RUY_LIKE_ALWAYS_INLINE StoreColumnsFn<int32_t>* ChooseStoreScaledColumns(
    const EpilogueArgs& e) {
  typedef typename DenormalTrait<V>::Trait Trait;
  return e.scales->rhs_first ? StoreScaledColumns<Trait, float, true>
                             : StoreScaledColumns<Trait, float, false>;
}

template <class V, typename Dst>
constexpr StoreColumnsFn<int32_t>* kStoreIntColumns[] = {  // by Scaling
    StoreIntColumns<V, Dst, Scaling::kIdentity>,
    StoreIntColumns<V, Dst, Scaling::kSmall>,
    StoreIntColumns<V, Dst, Scaling::kUpToZero>,
    StoreIntColumns<V, Dst, Scaling::kSaturating>,
    StoreScaledColumns<typename DenormalTrait<V>::Trait, Dst, false>,
    StoreScaledColumns<typename DenormalTrait<V>::Trait, Dst, true>};

template <class V>
RUY_LIKE_ALWAYS_INLINE StoreColumnsFn<int32_t>* ChooseStoreIntColumns(
    Scalar dst_scalar, Scaling scaling) {
  const int i = static_cast<int>(scaling);
  switch (dst_scalar) {
    case Scalar::kI8:
      return kStoreIntColumns<V, int8_t>[i];
    case Scalar::kU8:
      return kStoreIntColumns<V, uint8_t>[i];
    case Scalar::kI16:
      return kStoreIntColumns<V, int16_t>[i];
    default:
      return kStoreIntColumns<V, int32_t>[i];
  }
}

// ## Floats

// Elements of a 16-bit type take the lower half of an int32_t, or an int16_t.
template <class V, Scalar kDst, typename Element>
void StoreFloatColumns(const SpilledTile<float>& spilled, const EpilogueArgs& e,
                       void* dst, ptrdiff_t dst_stride) {
  const SpilledTile<float> tile = spilled;
  typedef typename V::Float Float;
  const float* bias = static_cast<const float*>(e.bias);
  const FloatOutput<V> output(FloatBounds::Of(e));
  for (int row = 0; row < tile.rows; row += V::kLanes) {
    const int n = Min(tile.rows - row, V::kLanes);
    // Adding -0 changes nothing, not even -0.
    Float addend = V::SetFloat(-0.0f);
    if (bias != nullptr && e.channels_are_rows) {
      addend = V::LoadMasked(bias + tile.row0 + row, V::FirstLanes(n));
    }
    const float* from = tile.acc + row;
    Element* to = static_cast<Element*>(dst) + row;
    const auto store_columns = [&](auto bias_of_columns, auto count) {
      for (int c = 0; c < tile.cols; ++c) {
        if (bias_of_columns()) addend = V::SetFloat(bias[tile.col0 + c]);
        const Float x = output.Apply(V::AddFloat(V::LoadAligned(from), addend));
        if constexpr (Is16BitFloat(kDst)) {
          V::Store(to, V::template Round<kDst>(x), count());
        } else {
          V::Store(to, x, count());
        }
        from += tile.col_stride;
        to += dst_stride;
      }
    };
    // The common cases have loops without choices.
    const auto rows_left = [n] { return n; };
    if (bias != nullptr && !e.channels_are_rows) {
      store_columns(Constant<1>(), rows_left);
    } else if (n == V::kLanes) {
      store_columns(Constant<0>(), Constant<V::kLanes>());
    } else {
      store_columns(Constant<0>(), rows_left);
    }
  }
}

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_EPILOGUE_EPILOGUE_COLUMNS_H_
