// Back-end: requantization for the paths whose trait is made of the compiler's
// vector types.
//
// Included by kernels/avx.cc, wasm128.cc and rvv128.cc, behind the trait,
// before what instantiates an epilogue: the specialisations, for SimdOfPath, of
// requantize.h's and epilogue_bytes.h's scalers. The former are written lane by
// lane in 64-bit scalars, as kernel.h's formula is: they serve the few calls
// that the latter do not.
#ifndef RUY_LIKE_KERNELS_EPILOGUE_EPILOGUE_VECTORS_H_
#define RUY_LIKE_KERNELS_EPILOGUE_EPILOGUE_VECTORS_H_

#include <stdint.h>

#include "ruy_like/kernels/epilogue/epilogue_bytes.h"
#include "ruy_like/kernels/epilogue/requantize.h"
#include "ruy_like/simd/loops.h"

namespace ruy_like::kernels {
namespace {

template <class V>
struct LaneScaler {
  typedef typename V::Int Int;

  RUY_LIKE_ALWAYS_INLINE void Prepare(const int32_t* fixedpoint,
                                      const int32_t* exponent, bool twice,
                                      int lanes) {
    twice_ = twice;
    V::StoreAligned(fixedpoint_, V::LoadMasked(fixedpoint, lanes));
    V::StoreAligned(exponent_, V::LoadMasked(exponent, lanes));
  }
  RUY_LIKE_ALWAYS_INLINE void PrepareOne(const int32_t* fixedpoint,
                                         const int32_t* exponent, bool twice) {
    twice_ = twice;
    V::StoreAligned(fixedpoint_, V::Set(*fixedpoint));
    V::StoreAligned(exponent_, V::Set(*exponent));
  }
  RUY_LIKE_ALWAYS_INLINE Int Apply(Int x) const {
    alignas(16) int32_t lanes[V::kLanes];
    V::StoreAligned(lanes, x);
    for (int i = 0; i < V::kLanes; ++i) {
      const int shift = 31 - exponent_[i];
      int64_t scaled = static_cast<int64_t>(lanes[i]) * fixedpoint_[i] +
                       (static_cast<int64_t>(1) << (shift - 1));
      if (twice_ && shift > 31) scaled += lanes[i] < 0 ? -(1 << 30) : 1 << 30;
      scaled >>= shift;
      lanes[i] = scaled > INT32_MAX   ? INT32_MAX
                 : scaled < INT32_MIN ? INT32_MIN
                                      : static_cast<int32_t>(scaled);
    }
    return V::LoadAligned(lanes);
  }

  alignas(16) int32_t fixedpoint_[V::kLanes];
  alignas(16) int32_t exponent_[V::kLanes];
  bool twice_;
};

template <>
struct Scaler<SimdOfPath, Scaling::kSmall> : LaneScaler<SimdOfPath> {};
template <>
struct Scaler<SimdOfPath, Scaling::kUpToZero> : LaneScaler<SimdOfPath> {};
template <>
struct Scaler<SimdOfPath, Scaling::kSaturating> : LaneScaler<SimdOfPath> {};

template <>
class ByteScaler<SimdOfPath> {
 public:
  static constexpr bool kDoubles = true;

  explicit RUY_LIKE_ALWAYS_INLINE ByteScaler(const ByteScale<SimdOfPath>& scale)
      : fixedpoint_(SimdOfPath::LoadAligned(scale.even)),
        shifts_(SimdOfPath::LoadAligned(scale.shift)) {}
  // Twice the scaled accumulators, rounded down.
  RUY_LIKE_ALWAYS_INLINE SimdOfPath::Int Apply(const int32_t* acc) const {
    return shifts_.Apply(
        SimdOfPath::MultiplyHigh(SimdOfPath::LoadAligned(acc), fixedpoint_));
  }

 private:
  SimdOfPath::Int fixedpoint_;
  SimdOfPath::LaneShifts shifts_;
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_EPILOGUE_EPILOGUE_VECTORS_H_
