// Back-end: the members of a 128-bit trait that ByteRows (byte_rows.h) needs,
// by x86's shuffles: for the traits of both widths.
#ifndef RUY_LIKE_SIMD_BYTES_X86_H_
#define RUY_LIKE_SIMD_BYTES_X86_H_

#include <stdint.h>

#include "ruy_like/simd/loops.h"
#include "ruy_like/simd/x86_intrinsics.h"

namespace ruy_like::kernels {
namespace {

struct BytesX86 {
  typedef __m128i Int;

  static RUY_LIKE_ALWAYS_INLINE Int LoadBytes(const int8_t* p) {
    return _mm_load_si128(reinterpret_cast<const __m128i*>(p));
  }
  static RUY_LIKE_ALWAYS_INLINE void Zip8(Int& a, Int& b) {
    const Int low = _mm_unpacklo_epi8(a, b);
    b = _mm_unpackhi_epi8(a, b);
    a = low;
  }
  template <int kHalf>
  static RUY_LIKE_ALWAYS_INLINE uint64_t Half(Int x) {
    return static_cast<uint64_t>(kHalf == 0 ? _mm_cvtsi128_si64(x)
                                            : _mm_extract_epi64(x, 1));
  }
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_SIMD_BYTES_X86_H_
