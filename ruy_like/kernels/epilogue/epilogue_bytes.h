// Back-end: the epilogue of panel kernels to 8-bit columns, once per SIMD
// width.
//
// Used by panel_epilogue.h for the common quantized call: an 8-bit dst whose
// rows are the contiguous ones, multipliers that belong to rows (or one for
// all) and exponents <= -2. The accumulators come with every term added; this
// header scales, clamps and stores them, four vectors at a time. Everything
// else is epilogue.h's.
//
// ## Arithmetic
//
// With t = -1 - exponent >= 1 and h the high half of x * fixedpoint, kernel.h's
// formula is (h + 2^(t-1)) >> t, which equals ((h >> (t-1)) + 1) >> 1. The
// first shift is done in 32 bits; then two vectors are packed to 16 bits, with
// saturation, where the 1 comes together with the zero point and the second
// shift is done:
//
//    (saturate_int16(h >> (t-1)) + 1 + 2 * zero_point) >> 1
//
// A value that saturates stays out of any 8-bit range while |zero_point| <=
// 2^12. Unsigned results are made as signed ones, 128 lower. A vector of
// results takes 8.5 instructions, 14 in the general epilogue.
#ifndef RUY_LIKE_KERNELS_EPILOGUE_EPILOGUE_BYTES_H_
#define RUY_LIKE_KERNELS_EPILOGUE_EPILOGUE_BYTES_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/kernel.h"
#include "ruy_like/simd/loops.h"

namespace ruy_like::kernels {
namespace {

// The multipliers of one vector of rows.
template <class V>
struct ByteScale {
  alignas(64) int32_t even[V::kLanes];  // fixedpoint
  int32_t odd[V::kLanes];               // its odd lanes, moved to the even ones
  int32_t shift[V::kLanes];             // -2 - exponent

  // Lanes beyond the rows may hold 0 and 0.
  RUY_LIKE_ALWAYS_INLINE void Set(typename V::Int fixedpoint,
                                  typename V::Int exponent) {
    V::StoreAligned(even, fixedpoint);
    V::StoreAligned(odd, V::OddToEven(fixedpoint));
    V::StoreAligned(shift, V::Sub(V::Set(-2), exponent));
  }
};

// The same in registers: compilers must assume that stores of bytes change it
// in memory.
template <class V>
class ByteScaler {
 public:
  // True if what Apply() returns is to be halved, as 16-bit values.
  static constexpr bool kDoubles = true;

  explicit RUY_LIKE_ALWAYS_INLINE ByteScaler(const ByteScale<V>& scale)
      : even_(V::InRegister(V::LoadAligned(scale.even))),
        odd_(V::InRegister(V::LoadAligned(scale.odd))),
        shift_(V::InRegister(V::LoadAligned(scale.shift))) {}
  // One multiplier for all lanes; the second argument is -2 - exponent.
  RUY_LIKE_ALWAYS_INLINE ByteScaler(int32_t fixedpoint, int32_t shift)
      : even_(V::Set(fixedpoint)), odd_(even_), shift_(V::Set(shift)) {}
  // Twice the scaled accumulators, rounded down.
  RUY_LIKE_ALWAYS_INLINE typename V::Int Apply(const int32_t* acc) const {
    const typename V::Int x = V::InRegister(V::LoadAligned(acc));
    return V::ShiftRightArith(
        V::InterleaveHigh(V::MulEven(x, even_),
                          V::MulEven(V::OddToEven(x), odd_)),
        shift_);
  }

 private:
  typename V::Int even_, odd_, shift_;
};

// Constants of all rows and columns.
template <class V>
struct ByteBounds {
  // 16-bit lanes: the zero point; 1 + 2 * zero_point where scalers double.
  alignas(64) int32_t offset[V::kLanes];
  int32_t low[V::kLanes];  // 8-bit lanes, signed
  int32_t high[V::kLanes];
  int32_t flip[V::kLanes];  // 8-bit lanes: 0, or 128 for unsigned results

  static RUY_LIKE_ALWAYS_INLINE bool CanServe(const EpilogueArgs& e) {
    return (e.dst_scalar == Scalar::kI8 || e.dst_scalar == Scalar::kU8) &&
           e.dst_zero_point >= -(1 << 12) && e.dst_zero_point <= 1 << 12;
  }
  RUY_LIKE_ALWAYS_INLINE void Set(const EpilogueArgs& e) {
    const int32_t down = e.dst_scalar == Scalar::kU8 ? 128 : 0;
    const int32_t zero_point = e.dst_zero_point - down;
    V::StoreAligned(offset, V::Set16(static_cast<int16_t>(
                                ByteScaler<V>::kDoubles ? 1 + 2 * zero_point
                                                        : zero_point)));
    V::StoreAligned(low, V::Set8(static_cast<int8_t>(e.clamp_min - down)));
    V::StoreAligned(high, V::Set8(static_cast<int8_t>(e.clamp_max - down)));
    V::StoreAligned(flip, V::Set8(static_cast<int8_t>(down)));
  }
  // Results of four vectors, each one's bytes together.
  RUY_LIKE_ALWAYS_INLINE typename V::Int Apply(typename V::Int a,
                                               typename V::Int b,
                                               typename V::Int c,
                                               typename V::Int d) const {
    const typename V::Int bytes =
        V::SaturateToInt8(ToWords(a, b), ToWords(c, d));
    return V::JoinColumns(V::Xor(
        V::Min8(V::Max8(bytes, V::LoadAligned(low)), V::LoadAligned(high)),
        V::LoadAligned(flip)));
  }

 private:
  RUY_LIKE_ALWAYS_INLINE typename V::Int ToWords(typename V::Int a,
                                                 typename V::Int b) const {
    const typename V::Int sum =
        V::AddSaturated16(V::SaturateToInt16(a, b), V::LoadAligned(offset));
    if constexpr (ByteScaler<V>::kDoubles) {
      return V::Halve16(sum);
    } else {
      return sum;
    }
  }
};

// A tile of accumulators that are to become columns of dst.
template <class V>
struct ByteTile {
  const int32_t* acc;         // column-major, columns `acc_col_stride` apart
  ptrdiff_t acc_col_stride;   // at least `rows`, rounded up to vectors
  int rows;                   // 0: there is no tile
  const ByteScale<V>* scale;  // of its first vector
  const ByteBounds<V>* bounds;
  int8_t* dst;
  ptrdiff_t dst_col_stride;

  bool IsEmpty() const { return rows == 0; }
  // Two vectors of rows, of which the first n rows count, by two columns: `col`
  // and, unless it is the last one, the next.
  RUY_LIKE_ALWAYS_INLINE void StoreTwoByTwo(const ByteScaler<V>& low,
                                            const ByteScaler<V>& high, int row,
                                            int n, int col, bool last) const {
    const int32_t* const a = acc + col * acc_col_stride + row;
    const int32_t* const b = a + (last ? 0 : acc_col_stride);
    int8_t* const to = dst + col * dst_col_stride + row;
    V::StoreHalves(to, to + (last ? 0 : dst_col_stride),
                   bounds->Apply(low.Apply(a), high.Apply(a + V::kLanes),
                                 low.Apply(b), high.Apply(b + V::kLanes)),
                   n);
  }
  // One vector of rows by up to four columns. Missing columns repeat the last
  // one.
  RUY_LIKE_ALWAYS_INLINE void StoreOneByFour(const ByteScaler<V>& scaler,
                                             int row, int n, int col,
                                             int cols) const {
    const int second = cols < 2 ? 0 : 1;
    const int third = cols < 3 ? second : 2;
    const int fourth = cols < 4 ? third : 3;
    const int32_t* const a = acc + col * acc_col_stride + row;
    int8_t* const to = dst + col * dst_col_stride + row;
    V::StoreQuarters(to, to + second * dst_col_stride,
                     to + third * dst_col_stride, to + fourth * dst_col_stride,
                     bounds->Apply(scaler.Apply(a),
                                   scaler.Apply(a + second * acc_col_stride),
                                   scaler.Apply(a + third * acc_col_stride),
                                   scaler.Apply(a + fourth * acc_col_stride)),
                     n);
  }
};

// Stores a whole tile of `cols` columns.
template <class V>
RUY_LIKE_HOT_KERNEL __attribute__((noinline)) void StoreByteTile(
    const ByteTile<V>& tile, int cols) {
  const ByteTile<V> t = tile;
  int row = 0;
  for (; row + V::kLanes < t.rows; row += 2 * V::kLanes) {
    const int n = Min(t.rows - row, 2 * V::kLanes);
    const ByteScaler<V> low(t.scale[row / V::kLanes]);
    const ByteScaler<V> high(t.scale[row / V::kLanes + 1]);
    for (int col = 0; col < cols; col += 2) {
      t.StoreTwoByTwo(low, high, row, n, col, col + 1 == cols);
    }
  }
  if (row < t.rows) {
    const ByteScaler<V> scaler(t.scale[row / V::kLanes]);
    for (int col = 0; col < cols; col += 4) {
      t.StoreOneByFour(scaler, row, t.rows - row, col, cols - col);
    }
  }
}

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_EPILOGUE_EPILOGUE_BYTES_H_
