// Back-end: requantization for the paths whose trait is made of the compiler's
// vector types.
//
// Included by kernels/avx.cc, wasm128.cc and rvv128.cc, behind the trait,
// before what instantiates an epilogue: the specialisations, for SimdOfPath, of
// requantize.h's and epilogue_bytes.h's scalers. The former go lane by lane:
// they serve the few calls that the latter do not.
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

  RUY_LIKE_ALWAYS_INLINE void Prepare(Int fixedpoint, Int exponent,
                                      bool twice) {
    twice_ = twice;
    V::StoreAligned(fixedpoint_, fixedpoint);
    V::StoreAligned(exponent_, exponent);
  }
  RUY_LIKE_ALWAYS_INLINE Int Apply(Int x) const {
    alignas(16) int32_t lanes[V::kLanes];
    V::StoreAligned(lanes, x);
    for (int i = 0; i < V::kLanes; ++i) {
      lanes[i] = ScaleOne(lanes[i], fixedpoint_[i], exponent_[i], twice_);
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
