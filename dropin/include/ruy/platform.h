// Drop-in for ruy: RUY_PLATFORM_*, each defined as 0 or 1.
//
// For code that selects its own SIMD by them. They tell what this translation
// unit is compiled for, not what the machine has, and ruy_like itself does not
// look at them.
#ifndef RUY_LIKE_DROPIN_RUY_PLATFORM_H_
#define RUY_LIKE_DROPIN_RUY_PLATFORM_H_

// Operating systems.

#ifdef __APPLE__
#define RUY_PLATFORM_APPLE 1
#else
#define RUY_PLATFORM_APPLE 0
#endif

#ifdef __Fuchsia__
#define RUY_PLATFORM_FUCHSIA 1
#else
#define RUY_PLATFORM_FUCHSIA 0
#endif

#ifdef __EMSCRIPTEN__
#define RUY_PLATFORM_EMSCRIPTEN 1
#else
#define RUY_PLATFORM_EMSCRIPTEN 0
#endif

// Processors; at most one of them is 1.

#if defined(__x86_64__) || defined(__i386__)
#define RUY_PLATFORM_X86 1
#else
#define RUY_PLATFORM_X86 0
#endif

#ifdef __arm__
#define RUY_PLATFORM_ARM_32 1
#else
#define RUY_PLATFORM_ARM_32 0
#endif

#ifdef __aarch64__
#define RUY_PLATFORM_ARM_64 1
#else
#define RUY_PLATFORM_ARM_64 0
#endif

#define RUY_PLATFORM_ARM (RUY_PLATFORM_ARM_32 || RUY_PLATFORM_ARM_64)

#ifdef __powerpc__
#define RUY_PLATFORM_PPC 1
#else
#define RUY_PLATFORM_PPC 0
#endif

// SIMD extensions that the compiler was told to use.

#if RUY_PLATFORM_ARM && defined(__ARM_NEON)
#define RUY_PLATFORM_NEON 1
#else
#define RUY_PLATFORM_NEON 0
#endif

#define RUY_PLATFORM_NEON_32 (RUY_PLATFORM_NEON && RUY_PLATFORM_ARM_32)
#define RUY_PLATFORM_NEON_64 (RUY_PLATFORM_NEON && RUY_PLATFORM_ARM_64)

// Every compiler that builds ruy_like knows the x86 intrinsics.
#define RUY_PLATFORM_X86_ENHANCEMENTS (!RUY_PLATFORM_EMSCRIPTEN)

#if RUY_PLATFORM_X86 && defined(__AVX__)
#define RUY_PLATFORM_AVX 1
#else
#define RUY_PLATFORM_AVX 0
#endif

#if RUY_PLATFORM_X86 && defined(__AVX2__) && defined(__FMA__)
#define RUY_PLATFORM_AVX2_FMA 1
#else
#define RUY_PLATFORM_AVX2_FMA 0
#endif

#if RUY_PLATFORM_X86 && defined(__AVX512F__) && defined(__AVX512CD__) && \
    defined(__AVX512DQ__) && defined(__AVX512BW__) && defined(__AVX512VL__)
#define RUY_PLATFORM_AVX512 1
#else
#define RUY_PLATFORM_AVX512 0
#endif

#endif  // RUY_LIKE_DROPIN_RUY_PLATFORM_H_
