// Back-end: requantization with WebAssembly's SIMD128, whose shifts take one
// count for all lanes.
//
// Included by kernels/wasm128.cc before what instantiates an epilogue: the
// specialisations, for SimdWasm, of requantize.h's and epilogue_bytes.h's
// scalers. The former work lane by lane in 64-bit scalars, as kernel.h's
// formula is written: they serve the few calls that the latter do not.
#ifndef RUY_LIKE_KERNELS_EPILOGUE_EPILOGUE_WASM_H_
#define RUY_LIKE_KERNELS_EPILOGUE_EPILOGUE_WASM_H_

#include <stdint.h>
#include <wasm_simd128.h>

#include "ruy_like/kernels/epilogue/epilogue_bytes.h"
#include "ruy_like/kernels/epilogue/requantize.h"
#include "ruy_like/simd/loops.h"
#include "ruy_like/simd/simd_wasm.h"

namespace ruy_like::kernels {
namespace {

struct WasmScaler {
  RUY_LIKE_ALWAYS_INLINE void Prepare(const int32_t* fixedpoint,
                                      const int32_t* exponent, bool twice,
                                      int lanes) {
    twice_ = twice;
    SimdWasm::StoreAligned(fixedpoint_,
                           SimdWasm::LoadMasked(fixedpoint, lanes));
    SimdWasm::StoreAligned(exponent_, SimdWasm::LoadMasked(exponent, lanes));
  }
  RUY_LIKE_ALWAYS_INLINE void PrepareOne(const int32_t* fixedpoint,
                                         const int32_t* exponent, bool twice) {
    twice_ = twice;
    SimdWasm::StoreAligned(fixedpoint_, SimdWasm::Set(*fixedpoint));
    SimdWasm::StoreAligned(exponent_, SimdWasm::Set(*exponent));
  }
  RUY_LIKE_ALWAYS_INLINE v128_t Apply(v128_t x) const {
    alignas(16) int32_t lanes[SimdWasm::kLanes];
    SimdWasm::StoreAligned(lanes, x);
    for (int i = 0; i < SimdWasm::kLanes; ++i) {
      const int shift = 31 - exponent_[i];
      int64_t scaled = static_cast<int64_t>(lanes[i]) * fixedpoint_[i] +
                       (static_cast<int64_t>(1) << (shift - 1));
      if (twice_ && shift > 31) scaled += lanes[i] < 0 ? -(1 << 30) : 1 << 30;
      scaled >>= shift;
      lanes[i] = scaled > INT32_MAX   ? INT32_MAX
                 : scaled < INT32_MIN ? INT32_MIN
                                      : static_cast<int32_t>(scaled);
    }
    return SimdWasm::LoadAligned(lanes);
  }

  alignas(16) int32_t fixedpoint_[SimdWasm::kLanes];
  alignas(16) int32_t exponent_[SimdWasm::kLanes];
  bool twice_;
};

template <>
struct Scaler<SimdWasm, Scaling::kSmall> : WasmScaler {};
template <>
struct Scaler<SimdWasm, Scaling::kUpToZero> : WasmScaler {};
template <>
struct Scaler<SimdWasm, Scaling::kSaturating> : WasmScaler {};

template <>
class ByteScaler<SimdWasm> {
 public:
  static constexpr bool kDoubles = true;

  explicit RUY_LIKE_ALWAYS_INLINE ByteScaler(const ByteScale<SimdWasm>& scale)
      : fixedpoint_(SimdWasm::LoadAligned(scale.even)),
        factors_(wasm_i32x4_make(Factor(scale.shift[0]), Factor(scale.shift[1]),
                                 Factor(scale.shift[2]),
                                 Factor(scale.shift[3]))),
        shift_(scale.shift[0]),
        shifts_are_equal_(wasm_i32x4_all_true(wasm_i32x4_eq(
            SimdWasm::LoadAligned(scale.shift), SimdWasm::Set(shift_)))) {}
  // Twice the scaled accumulators, rounded down.
  RUY_LIKE_ALWAYS_INLINE v128_t Apply(const int32_t* acc) const {
    const v128_t x = SimdWasm::LoadAligned(acc);
    // The upper 32 bits of the 64-bit products.
    const v128_t high = wasm_i32x4_shuffle(
        wasm_i64x2_extmul_low_i32x4(x, fixedpoint_),
        wasm_i64x2_extmul_high_i32x4(x, fixedpoint_), 1, 3, 5, 7);
    if (shifts_are_equal_) return wasm_i32x4_shr(high, shift_);
    // x * 2^(30 - shift) / 2^30: a shift by a count of each lane's own.
    return wasm_i32x4_shuffle(
        wasm_u64x2_shr(wasm_i64x2_extmul_low_i32x4(high, factors_), 30),
        wasm_u64x2_shr(wasm_i64x2_extmul_high_i32x4(high, factors_), 30), 0, 2,
        4, 6);
  }

 private:
  // 0 <= shift < 30, except in lanes beyond the rows.
  static RUY_LIKE_ALWAYS_INLINE int32_t Factor(int32_t shift) {
    return 1 << ((30 - shift) & 31);
  }

  v128_t fixedpoint_, factors_;
  int32_t shift_;
  bool shifts_are_equal_;
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_EPILOGUE_EPILOGUE_WASM_H_
