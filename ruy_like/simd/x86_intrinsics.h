// Back-end: <immintrin.h>, for every x86 kernel and pack file.
//
// GCC 12 writes "an undefined vector" in its AVX-512 header as a variable
// initialised with itself and then warns about it wherever an intrinsic is
// inlined (GCC bug 105593). The warning is turned off for that header alone;
// our own code keeps it.
#ifndef RUY_LIKE_SIMD_X86_INTRINSICS_H_
#define RUY_LIKE_SIMD_X86_INTRINSICS_H_

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
#else
#include <immintrin.h>
#endif

#endif  // RUY_LIKE_SIMD_X86_INTRINSICS_H_
