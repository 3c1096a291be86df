// Back-end: RUY_LIKE_UNROLL before a loop of constant count whose body indexes
// registers, which must not remain a loop.
#ifndef RUY_LIKE_KERNELS_UNROLL_H_
#define RUY_LIKE_KERNELS_UNROLL_H_

#ifdef __clang__
#define RUY_LIKE_UNROLL _Pragma("clang loop unroll(full)")
#else
#define RUY_LIKE_UNROLL _Pragma("GCC unroll 16")
#endif

#endif  // RUY_LIKE_KERNELS_UNROLL_H_
