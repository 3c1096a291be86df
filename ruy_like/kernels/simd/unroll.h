// Back-end: RUY_LIKE_UNROLL before a loop of constant count whose body indexes
// registers, which must not remain a loop; RUY_LIKE_UNROLL_STEPS before a panel
// kernel's loop over depth.
#ifndef RUY_LIKE_KERNELS_SIMD_UNROLL_H_
#define RUY_LIKE_KERNELS_SIMD_UNROLL_H_

#ifdef __clang__
#define RUY_LIKE_UNROLL _Pragma("clang loop unroll(full)")
#else
#define RUY_LIKE_UNROLL _Pragma("GCC unroll 16")
#endif

// Two steps a turn where vectors have 256 bits or fewer; with 512 bits nothing
// is gained.
#ifdef __AVX512F__
#define RUY_LIKE_UNROLL_STEPS
#elif defined(__clang__)
#define RUY_LIKE_UNROLL_STEPS _Pragma("clang loop unroll_count(2)")
#else
#define RUY_LIKE_UNROLL_STEPS _Pragma("GCC unroll 2")
#endif

#endif  // RUY_LIKE_KERNELS_SIMD_UNROLL_H_
