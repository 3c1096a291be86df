// Back-end: the one spelling of "inline this, at -O0 too".
//
// For the per-ISA kernel and pack headers. A function so marked leaves no
// symbol behind, whatever the optimisation level, so that no translation unit
// can pick up a copy that was built for another instruction set.
#ifndef RUY_LIKE_KERNELS_SIMD_ALWAYS_INLINE_H_
#define RUY_LIKE_KERNELS_SIMD_ALWAYS_INLINE_H_

// Inner loops keep registers in arrays, which compilers hold in registers only
// once everything around is one function; edges are kept out of it by
// RUY_LIKE_NOINLINE.
#define RUY_LIKE_ALWAYS_INLINE inline __attribute__((always_inline))
#define RUY_LIKE_NOINLINE __attribute__((noinline))

#endif  // RUY_LIKE_KERNELS_SIMD_ALWAYS_INLINE_H_
