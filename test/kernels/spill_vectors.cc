// Compiled with the options of a path, as kernels are, once for each path that
// SPILL_VECTORS names.
#include <immintrin.h>

#include <cstdint>

#ifdef __AVX512F__
using Vector = __m512i;
#else
using Vector = __m256i;
#endif

// Keeps more vectors across a call than there are registers, so that they must
// lie on the stack, and stores their sum.
__attribute__((noinline)) void SPILL_VECTORS(const std::int32_t* from,
                                             void (*call)(), std::int32_t* to) {
  constexpr int kVectors = 40;
  constexpr int kLanes = sizeof(Vector) / sizeof(std::int32_t);
  Vector vectors[kVectors];
#pragma GCC unroll 64
  for (int i = 0; i < kVectors; ++i) {
#ifdef __AVX512F__
    vectors[i] = _mm512_loadu_si512(from + i * kLanes);
#else
    vectors[i] =
        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i * kLanes));
#endif
  }
#pragma GCC unroll 64
  for (int i = 0; i < kVectors; ++i) asm volatile("" : "+v"(vectors[i]));
  call();
#pragma GCC unroll 64
  for (int i = 1; i < kVectors; ++i) {
#ifdef __AVX512F__
    vectors[0] = _mm512_add_epi32(vectors[0], vectors[i]);
#else
    vectors[0] = _mm256_add_epi32(vectors[0], vectors[i]);
#endif
  }
#ifdef __AVX512F__
  _mm512_storeu_si512(to, vectors[0]);
#else
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), vectors[0]);
#endif
}
