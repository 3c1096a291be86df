// Back-end: the pack routine behind every layout of Arm.
//
// Included by pack/neon.cc and pack/neon32.cc, which hand it their lists.
#ifndef RUY_LIKE_PACK_PACK_NEON_H_
#define RUY_LIKE_PACK_PACK_NEON_H_

#include "ruy_like/pack/pack_common.h"
#include "ruy_like/pack/pack_narrow.h"
#include "ruy_like/pack/pack_quads.h"
#include "ruy_like/pack/pack_rows_neon.h"
#include "ruy_like/simd/simd_neon.h"

namespace ruy_like::kernels {
namespace {

// Units of pack_narrow.h.
struct NeonUnit : SimdNeon {
  template <class Packed>
  RUY_LIKE_ALWAYS_INLINE static void StoreWidened(char* dst, Int x) {
    kernels::StoreWidened<SimdNeon, Packed>(dst, x);
  }
  // Adds a unit's elements to four 32-bit sums.
  template <int kBytes, Scalar kPacked>
  RUY_LIKE_ALWAYS_INLINE static Int AddSums(Int sums, Int x) {
    if constexpr (kBytes == 1 && kPacked == Scalar::kU8) {
      return vreinterpretq_s32_u32(vpadalq_u16(
          vreinterpretq_u32_s32(sums), vpaddlq_u8(vreinterpretq_u8_s32(x))));
    }
    if constexpr (kBytes == 1) x = SumBytePairs(x);
    return vpadalq_s16(sums, vreinterpretq_s16_s32(x));
  }
  RUY_LIKE_ALWAYS_INLINE static int32_t LaneSum(Int x) { return vaddvq_s32(x); }
};

template <int kSourceBytes, class Packed, int kWidth, int kDotWidth>
void PackAs(const PackArgs* args) {
  if constexpr (kWidth == 1) {
    PackNarrow<NeonUnit, kSourceBytes, Packed>(args);
  } else {
    PackNeon<Format<Quads<SimdNeon, kWidth / 4>, kWidth, Packed, kDotWidth,
                    kSourceBytes>>(args);
  }
}

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_PACK_PACK_NEON_H_
