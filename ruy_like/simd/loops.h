// Back-end: macros for loops over registers, their edges and inlining.
//
// For the kernel and pack files of all paths; internal to the including
// translation unit. Knows no instruction set.
#ifndef RUY_LIKE_SIMD_LOOPS_H_
#define RUY_LIKE_SIMD_LOOPS_H_

#include <stdint.h>

// The one spelling of "inline this, at -O0 too". Inner loops keep registers in
// arrays, which compilers hold in registers only once everything around is one
// function; edges stay outside, by RUY_LIKE_NOINLINE. A function that is always
// inlined leaves no symbol behind, so that no translation unit can pick up a
// copy that was built for another instruction set.
#define RUY_LIKE_ALWAYS_INLINE inline __attribute__((always_inline))
#define RUY_LIKE_NOINLINE __attribute__((noinline))

// Marks the functions that panel kernels run around their tiles. Compiler and
// linker place them next to each other (base/hot.h says why). Without the
// mark they were up to 200 KB apart, and a small product could evict its own
// code from the instruction cache, depending on addresses (doc/tuning.md).
#define RUY_LIKE_HOT_KERNEL __attribute__((hot))

// RUY_LIKE_UNROLL before a loop of constant count whose body indexes registers,
// which must not remain a loop.
#ifdef __clang__
#define RUY_LIKE_UNROLL _Pragma("clang loop unroll(full)")
#else
#define RUY_LIKE_UNROLL _Pragma("GCC unroll 16")
#endif

// Before a loop that is to be unrolled by `count`.
#define RUY_LIKE_PRAGMA(text) _Pragma(#text)
#ifdef __clang__
#define RUY_LIKE_UNROLL_BY(count) \
  RUY_LIKE_PRAGMA(clang loop unroll_count(count))
#else
#define RUY_LIKE_UNROLL_BY(count) RUY_LIKE_PRAGMA(GCC unroll count)
#endif

// Before a panel kernel's loop over depth: unrolled by two where vectors have
// 256 bits or fewer; with 512 bits that gains nothing.
#ifdef __AVX512F__
#define RUY_LIKE_UNROLL_STEPS
#else
#define RUY_LIKE_UNROLL_STEPS RUY_LIKE_UNROLL_BY(2)
#endif

namespace ruy_like::kernels {
namespace {

// The smaller one, as int. std::min could leave a symbol behind.
template <typename Count>
constexpr RUY_LIKE_ALWAYS_INLINE int Min(Count a, int b) {
  return a < b ? static_cast<int>(a) : b;
}

// Makes the compiler store a variable and load it again: what registers have no
// room for is best in memory by intention, where loads are operands of other
// instructions.
template <typename T>
RUY_LIKE_ALWAYS_INLINE void HoldInMemory(T& x) {
  __asm__("" : "+m"(x));
}

// Stores the first n < 8 bytes.
RUY_LIKE_ALWAYS_INLINE void StoreFew(void* dst, uint64_t bytes, int n) {
  unsigned char* p = static_cast<unsigned char*>(dst);
  if (n & 4) {
    const uint32_t four = static_cast<uint32_t>(bytes);
    __builtin_memcpy(p, &four, 4);
    bytes >>= 32;
    p += 4;
  }
  if (n & 2) {
    const uint16_t two = static_cast<uint16_t>(bytes);
    __builtin_memcpy(p, &two, 2);
    bytes >>= 16;
    p += 2;
  }
  if (n & 1) *p = static_cast<unsigned char>(bytes);
}

// A constant as an argument: a call of it is a constant expression.
template <int kValue>
struct Constant {
  constexpr RUY_LIKE_ALWAYS_INLINE int operator()() const { return kValue; }
};

// Zips pairs of four vectors, then, in units twice as large, what lies side by
// side: four elements of each place come together, in order of places.
template <auto kZip, auto kZipUnits, class Vector>
RUY_LIKE_ALWAYS_INLINE void ZipFour(Vector* x) {
  kZip(x[0], x[1]);
  kZip(x[2], x[3]);
  kZipUnits(x[0], x[2]);
  kZipUnits(x[1], x[3]);
  const Vector second = x[2];
  x[2] = x[1];
  x[1] = second;
}

// Perfect shuffles of kCount vectors: in each, vectors i and i + kCount / 2
// become neighbours, whose elements zip(a, b) interleaves. log2(n) of them
// transpose n vectors of n elements.
template <int kCount, int kShuffles, class Vector, class Zip>
RUY_LIKE_ALWAYS_INLINE void ShufflePerfectly(Vector* v, Zip zip) {
  for (int shuffle = 0; shuffle < kShuffles; ++shuffle) {
    Vector next[kCount];
    for (int i = 0; i < kCount / 2; ++i) {
      next[2 * i] = v[i];
      next[2 * i + 1] = v[i + kCount / 2];
      zip(next[2 * i], next[2 * i + 1]);
    }
    for (int i = 0; i < kCount; ++i) v[i] = next[i];
  }
}

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_SIMD_LOOPS_H_
