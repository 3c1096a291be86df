// Tested in test/pack/pack_test.cc.
#include "ruy_like/pack/pack_common.h"
#include "ruy_like/pack/pack_narrow.h"
#include "ruy_like/pack/pack_panels.h"
#include "ruy_like/pack/pack_partial.h"
#include "ruy_like/pack/pack_ymm.h"
#include "ruy_like/simd/simd_sse.h"

namespace ruy_like::kernels {
namespace {

// Units of pack_narrow.h.
struct X86Unit : SimdSse {
  template <class Packed>
  RUY_LIKE_ALWAYS_INLINE static void StoreWidened(char* dst, Int x) {
    if constexpr (Packed::kWidensFloats) {
      _mm256_storeu_ps(reinterpret_cast<float*>(dst),
                       Simd256::Widen<Packed::kSource>(As<__m128i>(x)));
    } else {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst),
                          _mm256_cvtepi8_epi16(As<__m128i>(x)));
    }
  }
  RUY_LIKE_ALWAYS_INLINE static Int SwapWords(Int pairs) {
    return As<Int>(_mm_or_si128(_mm_slli_epi32(As<__m128i>(pairs), 16),
                                _mm_srli_epi32(As<__m128i>(pairs), 16)));
  }
  // Adds a unit's elements to four 32-bit sums.
  template <int kBytes, Scalar kPacked>
  RUY_LIKE_ALWAYS_INLINE static Int AddSums(Int sums, Int x) {
    if constexpr (kBytes == 1 && kPacked == Scalar::kU8) {
      x = As<Int>(_mm_maddubs_epi16(As<__m128i>(x), _mm_set1_epi8(1)));
    } else if constexpr (kBytes == 1) {
      x = SumBytePairs(x);
    }
    return Add(sums, SumWordPairs(x));
  }
  RUY_LIKE_ALWAYS_INLINE static int32_t LaneSum(Int x) {
    x = Add(x, UpperHalf(x));
    return Add(x, OddToEven(x))[0];
  }
};

template <int kSourceBytes, class Packed, int kWidth, int kDotWidth>
void PackAs(const PackArgs* args) {
  if constexpr (kWidth == 1) {
    PackNarrow<X86Unit, kSourceBytes, Packed>(args);
    if constexpr (Packed::kScalar == Scalar::kBF16) PadRhsPairs<kWidth>(args);
  } else {
    Pack<Format<Ymm, kWidth, Packed, kDotWidth, kSourceBytes>>(args);
  }
  if constexpr (Packed::kScalar == Scalar::kF32) PadFloats<kWidth>(args);
}

}  // namespace

RUY_LIKE_PACK_ROUTINES_Avx2(RUY_LIKE_DEFINE_PACK_ROUTINE)

}  // namespace ruy_like::kernels
