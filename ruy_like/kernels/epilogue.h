// Back-end: from accumulators to dst, once per SIMD width.
//
// Called by every kernel of a width (panel, narrow, AMX) with one tile of raw
// accumulators that it spilled: StoreIntTile() and StoreFloatTile(). The
// formulas are kernel.h's. It does not know how the accumulators came about;
// the portable path has a scalar epilogue of its own (portable.cc).
//
// ## Requantization without 64-bit lanes
//
// A vector of 32-bit values makes two vectors of 64-bit products, of its even
// and of its odd lanes. Shifting them right by s = 31 - exponent >= 32 means to
// take the high halves and to shift those right by s - 32:
//
//    even:  | p0 high | p0 low |  | p2 high | p2 low | ...
//    odd:   | p1 high | p1 low |  | p3 high | p3 low | ...
//    InterleaveHigh:  | p0 high | p1 high | p2 high | p3 high | ...
//
// so that no 64-bit arithmetic shift is needed, which AVX2 lacks. A shift by
// 31 (exponent 0) becomes one by 32 when the products are doubled first. Only
// exponents > 0 need the 64-bit shifts and a saturation.
//
// A float32 estimate with a repair near ties was counted and rejected: 6
// instructions and a test against 7 here.
#ifndef RUY_LIKE_KERNELS_EPILOGUE_H_
#define RUY_LIKE_KERNELS_EPILOGUE_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/always_inline.h"
#include "ruy_like/kernels/kernel.h"

namespace ruy_like {
namespace kernels {
namespace {

// How accumulators are scaled: the cheapest way that a call's exponents allow.
enum class Scaling {
  kIdentity,   // not at all: raw dst, or the multiplier 1
  kNegative,   // every exponent <= -1
  kUpToZero,   // every exponent <= 0
  kSaturating  // any exponent
};

RUY_LIKE_ALWAYS_INLINE Scaling ChooseScaling(const EpilogueArgs& e) {
  if (e.dst_scalar == Scalar::kI32) return Scaling::kIdentity;
  if (e.max_exponent < 0) return Scaling::kNegative;
  if (e.max_exponent == 0) return Scaling::kUpToZero;
  // The default multiplier, 2^30 * 2^(1 - 31).
  if (!e.per_channel && e.fixedpoint[0] == 1 << 30 && e.exponent[0] == 1) {
    return Scaling::kIdentity;
  }
  return Scaling::kSaturating;
}

// Multipliers of one row vector (or of one column) and their application.
template <class V, Scaling kScaling>
struct Scaler {
  typedef typename V::Int Int;

  RUY_LIKE_ALWAYS_INLINE void Prepare(Int fixedpoint, Int exponent) {
    const Int shift = V::Sub(V::Set(31), exponent);
    const Int shift_even = V::ZeroExtendEven(shift);
    const Int shift_odd = V::OddToEven(shift);
    const Int one = V::Set64(1);
    fixedpoint_even_ = fixedpoint;
    fixedpoint_odd_ = V::OddToEven(fixedpoint);
    round_even_ =
        V::ShiftLeft64(one, V::ZeroExtendEven(V::Sub(shift, V::Set(1))));
    round_odd_ = V::ShiftLeft64(one, V::OddToEven(V::Sub(shift, V::Set(1))));
    if (kScaling == Scaling::kSaturating) {
      shift_even_ = shift_even;
      shift_odd_ = shift_odd;
    } else {
      // 1 where the shift is 31, else 0.
      const Int doubling = V::Max(V::Sub(V::Set(32), shift), V::Zero());
      shift_even_ = V::ZeroExtendEven(doubling);
      shift_odd_ = V::OddToEven(doubling);
      shift_high_ = V::Max(V::Sub(shift, V::Set(32)), V::Zero());
    }
  }

  RUY_LIKE_ALWAYS_INLINE Int Apply(Int x) const {
    Int even = V::Add64(V::MulEven(x, fixedpoint_even_), round_even_);
    Int odd =
        V::Add64(V::MulEven(V::OddToEven(x), fixedpoint_odd_), round_odd_);
    if (kScaling == Scaling::kSaturating) {
      even = V::SaturateToInt32(V::ShiftRightArith64(even, shift_even_));
      odd = V::SaturateToInt32(V::ShiftRightArith64(odd, shift_odd_));
      return V::InterleaveLow(even, odd);
    }
    if (kScaling == Scaling::kUpToZero) {
      even = V::ShiftLeft64(even, shift_even_);
      odd = V::ShiftLeft64(odd, shift_odd_);
    }
    return V::ShiftRightArith(V::InterleaveHigh(even, odd), shift_high_);
  }

 private:
  Int fixedpoint_even_, fixedpoint_odd_;
  Int round_even_, round_odd_;
  Int shift_even_, shift_odd_;
  Int shift_high_;
};

template <class V>
struct Scaler<V, Scaling::kIdentity> {
  typedef typename V::Int Int;
  RUY_LIKE_ALWAYS_INLINE void Prepare(Int, Int) {}
  RUY_LIKE_ALWAYS_INLINE Int Apply(Int x) const { return x; }
};

// clamp(scaled + zero_point) as min(max(scaled, low), high) + offset, exactly
// and in 32 bits: the clamp comes first, so that the sum can't overflow.
struct ClampTerms {
  int32_t low, high, offset;
};

RUY_LIKE_ALWAYS_INLINE ClampTerms MakeClampTerms(const EpilogueArgs& e) {
  const int64_t low = static_cast<int64_t>(e.clamp_min) - e.dst_zero_point;
  const int64_t high = static_cast<int64_t>(e.clamp_max) - e.dst_zero_point;
  // Bounds that no int32 reaches: everything is clamped to the same value.
  if (low > INT32_MAX) return {0, 0, e.clamp_min};
  if (high < INT32_MIN) return {0, 0, e.clamp_max};
  return {static_cast<int32_t>(low < INT32_MIN ? INT32_MIN : low),
          static_cast<int32_t>(high > INT32_MAX ? INT32_MAX : high),
          e.dst_zero_point};
}

// What is added to every accumulator of one row vector.
template <class V>
RUY_LIKE_ALWAYS_INLINE typename V::Int RowTerm(const EpilogueArgs& e,
                                               ptrdiff_t row,
                                               typename V::Mask mask) {
  typename V::Int sum = V::Set(e.zero_point_product);
  if (e.bias != nullptr && e.channels_are_rows) {
    sum = V::Add(
        sum, V::LoadMasked(static_cast<const int32_t*>(e.bias) + row, mask));
  }
  if (e.lhs_sums != nullptr) {
    sum = V::Sub(sum, V::Mul(V::LoadMasked(e.lhs_sums + row, mask),
                             V::Set(e.rhs_zero_point)));
  }
  return sum;
}

// What is added to every accumulator of one column.
RUY_LIKE_ALWAYS_INLINE int32_t ColumnTerm(const EpilogueArgs& e,
                                          ptrdiff_t col) {
  uint32_t sum = 0;
  if (e.bias != nullptr && !e.channels_are_rows) {
    sum += static_cast<uint32_t>(static_cast<const int32_t*>(e.bias)[col]);
  }
  if (e.rhs_sums != nullptr) {
    sum -= static_cast<uint32_t>(e.rhs_sums[col]) *
           static_cast<uint32_t>(e.lhs_zero_point);
  }
  return static_cast<int32_t>(sum);
}

// At most V::kLanes columns of StoreIntTile(), for one type and scaling.
template <class V, typename Dst, Scaling kScaling>
void StoreIntColumns(const int32_t* acc, ptrdiff_t acc_col_stride, int rows,
                     int cols, ptrdiff_t row0, ptrdiff_t col0,
                     const EpilogueArgs& e) {
  typedef typename V::Int Int;
  int32_t column_terms[V::kLanes];
  for (int c = 0; c < cols; ++c) column_terms[c] = ColumnTerm(e, col0 + c);
  const ClampTerms clamp = MakeClampTerms(e);
  const Int low = V::Set(clamp.low);
  const Int high = V::Set(clamp.high);
  const Int offset = V::Set(clamp.offset);
  const bool scales = kScaling != Scaling::kIdentity;
  const bool scales_by_column = scales && e.per_channel && !e.channels_are_rows;
  const bool columns_are_contiguous = e.dst_row_stride == 1;
  for (int r = 0; r < rows; r += V::kLanes) {
    const int n = rows - r < V::kLanes ? rows - r : V::kLanes;
    const typename V::Mask mask = V::FirstLanes(n);
    const Int row_term = RowTerm<V>(e, row0 + r, mask);
    Scaler<V, kScaling> scaler;
    if (scales && e.per_channel && e.channels_are_rows) {
      scaler.Prepare(V::LoadMasked(e.fixedpoint + row0 + r, mask),
                     V::LoadMasked(e.exponent + row0 + r, mask));
    } else if (scales) {
      scaler.Prepare(V::Set(e.fixedpoint[scales_by_column ? col0 : 0]),
                     V::Set(e.exponent[scales_by_column ? col0 : 0]));
    }
    Dst* dst = static_cast<Dst*>(e.dst) + (row0 + r) * e.dst_row_stride +
               col0 * e.dst_col_stride;
    Int transposed[V::kLanes];
    for (int c = 0; c < cols; ++c) {
      if (scales_by_column && c != 0) {
        scaler.Prepare(V::Set(e.fixedpoint[col0 + c]),
                       V::Set(e.exponent[col0 + c]));
      }
      Int x = V::LoadAligned(acc + c * acc_col_stride + r);
      x = V::Add(V::Add(x, row_term), V::Set(column_terms[c]));
      x = scaler.Apply(x);
      x = V::Add(V::Min(V::Max(x, low), high), offset);
      if (columns_are_contiguous) {
        V::Store(dst + c * e.dst_col_stride, x, n);
      } else {
        transposed[c] = x;
      }
    }
    if (!columns_are_contiguous) {
      for (int c = cols; c < V::kLanes; ++c) transposed[c] = V::Zero();
      V::Transpose(transposed);
      for (int i = 0; i < n; ++i) {
        V::Store(dst + i * e.dst_row_stride, transposed[i], cols);
      }
    }
  }
}

template <class V, typename Dst, Scaling kScaling>
void StoreInt(const int32_t* acc, ptrdiff_t acc_col_stride, int rows, int cols,
              ptrdiff_t row0, ptrdiff_t col0, const EpilogueArgs& e) {
  for (int c = 0; c < cols; c += V::kLanes) {
    StoreIntColumns<V, Dst, kScaling>(
        acc + c * acc_col_stride, acc_col_stride, rows,
        cols - c < V::kLanes ? cols - c : V::kLanes, row0, col0 + c, e);
  }
}

template <class V, typename Dst>
void StoreScaled(const int32_t* acc, ptrdiff_t acc_col_stride, int rows,
                 int cols, ptrdiff_t row0, ptrdiff_t col0,
                 const EpilogueArgs& e) {
  switch (ChooseScaling(e)) {
    case Scaling::kIdentity:
      return StoreInt<V, Dst, Scaling::kIdentity>(acc, acc_col_stride, rows,
                                                  cols, row0, col0, e);
    case Scaling::kNegative:
      return StoreInt<V, Dst, Scaling::kNegative>(acc, acc_col_stride, rows,
                                                  cols, row0, col0, e);
    case Scaling::kUpToZero:
      return StoreInt<V, Dst, Scaling::kUpToZero>(acc, acc_col_stride, rows,
                                                  cols, row0, col0, e);
    case Scaling::kSaturating:
      return StoreInt<V, Dst, Scaling::kSaturating>(acc, acc_col_stride, rows,
                                                    cols, row0, col0, e);
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
  switch (e.dst_scalar) {
    case Scalar::kI8:
      return StoreScaled<V, int8_t>(acc, acc_col_stride, rows, cols, row0, col0,
                                    e);
    case Scalar::kU8:
      return StoreScaled<V, uint8_t>(acc, acc_col_stride, rows, cols, row0,
                                     col0, e);
    case Scalar::kI16:
      return StoreScaled<V, int16_t>(acc, acc_col_stride, rows, cols, row0,
                                     col0, e);
    case Scalar::kI32:
      return StoreInt<V, int32_t, Scaling::kIdentity>(acc, acc_col_stride, rows,
                                                      cols, row0, col0, e);
    case Scalar::kF32:
    case Scalar::kF64:
      return;  // not a dst of integer accumulators
  }
}

// At most V::kLanes columns of StoreFloatTile().
template <class V>
void StoreFloatColumns(const float* acc, ptrdiff_t acc_col_stride, int rows,
                       int cols, ptrdiff_t row0, ptrdiff_t col0,
                       const EpilogueArgs& e) {
  typedef typename V::Float Float;
  const float* bias = static_cast<const float*>(e.bias);
  const Float low = V::SetFloat(static_cast<float>(e.clamp_min_f));
  const Float high = V::SetFloat(static_cast<float>(e.clamp_max_f));
  const bool columns_are_contiguous = e.dst_row_stride == 1;
  for (int r = 0; r < rows; r += V::kLanes) {
    const int n = rows - r < V::kLanes ? rows - r : V::kLanes;
    Float addend = V::ZeroFloat();
    if (bias != nullptr && e.channels_are_rows) {
      addend = V::LoadMasked(bias + row0 + r, V::FirstLanes(n));
    }
    float* dst = static_cast<float*>(e.dst) + (row0 + r) * e.dst_row_stride +
                 col0 * e.dst_col_stride;
    typename V::Int transposed[V::kLanes];
    for (int c = 0; c < cols; ++c) {
      if (bias != nullptr && !e.channels_are_rows) {
        addend = V::SetFloat(bias[col0 + c]);
      }
      Float x = V::LoadAligned(acc + c * acc_col_stride + r);
      // Without a bias nothing is added: -0 stays -0.
      if (bias != nullptr) x = V::AddFloat(x, addend);
      x = V::AtMost(high, V::AtLeast(low, x));
      if (columns_are_contiguous) {
        V::Store(dst + c * e.dst_col_stride, x, n);
      } else {
        transposed[c] = V::AsInt(x);
      }
    }
    if (!columns_are_contiguous) {
      for (int c = cols; c < V::kLanes; ++c) transposed[c] = V::Zero();
      V::Transpose(transposed);
      for (int i = 0; i < n; ++i) {
        V::Store(dst + i * e.dst_row_stride, V::AsFloat(transposed[i]), cols);
      }
    }
  }
}

// As StoreIntTile(), for float accumulators and dst.
template <class V>
RUY_LIKE_ALWAYS_INLINE void StoreFloatTile(const float* acc,
                                           ptrdiff_t acc_col_stride, int rows,
                                           int cols, ptrdiff_t row0,
                                           ptrdiff_t col0,
                                           const EpilogueArgs& e) {
  for (int c = 0; c < cols; c += V::kLanes) {
    StoreFloatColumns<V>(acc + c * acc_col_stride, acc_col_stride, rows,
                         cols - c < V::kLanes ? cols - c : V::kLanes, row0,
                         col0 + c, e);
  }
}

}  // namespace
}  // namespace kernels
}  // namespace ruy_like

#endif  // RUY_LIKE_KERNELS_EPILOGUE_H_
