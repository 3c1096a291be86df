// Back-end: declarations of every pack routine (the contract is in pack.h).
//
// Kernel tables (kernels/<path>.cc) name these functions in Kernel::pack_lhs
// and Kernel::pack_rhs; pack_test.cc tests the lists below, those of the pack
// files that the build compiles. A routine may run only where its path's CPU
// features are present; this header neither checks for them nor chooses a
// routine.
//
//   Pack<Path>_<source>_<packed>_<width>x<dot width>
//
//   Path    file pack/<path>.cc, built with that path's flags. Later paths
//           share the routines of earlier ones (AVX-VNNI uses Avx2's,
//           AVX-512-VNNI and AMX use Avx512's, all of 64-bit Arm Neon's).
//   source  8 = int8 or uint8, told apart by src_scalar; 16 = int16;
//           F32 = float, bfloat16 or float16, F64 = float or double, told
//           apart by src_scalar; BF16 = bfloat16, F16 = float16
//   packed  S8, U8, S16, F32, F64, BF16, F16: the element type in the panels;
//           U7: uint8 elements of range kInt7, made of an int7 source
//   width   columns per panel
//   dot width    elements of one column that lie together
//
// Every routine takes both orders of the source, any depth and width, and any
// padded_depth that is a multiple of its dot width (so the panels of a kernel
// that wants depth in multiples of 64 come from the same routine). Float
// routines ignore PackArgs::sums.
#ifndef RUY_LIKE_PACK_PACK_ROUTINES_H_
#define RUY_LIKE_PACK_PACK_ROUTINES_H_

#include "ruy_like/pack/pack.h"

// The routines of each pack/<name>.cc, by the path's Enum in paths.inc:
// R(Path, source, packed, width, dot_width). Panels of one column, for
// narrow kernels, are the same for any dot width: one routine serves all.

// Any processor.
#define RUY_LIKE_PACK_ROUTINES_Portable(R) \
  R(Portable, 8, S8, 4, 1)                 \
  R(Portable, 16, S16, 4, 1)               \
  R(Portable, F32, F32, 4, 1)              \
  R(Portable, F64, F64, 4, 1)

// x86 only; defined where the build compiles the path, like all below.
#define RUY_LIKE_PACK_ROUTINES_Avx(R) \
  R(Avx, 8, S8, 4, 2)                 \
  R(Avx, 8, S16, 4, 2)                \
  R(Avx, 16, S16, 4, 2)               \
  R(Avx, F32, F32, 4, 1)

#define RUY_LIKE_PACK_ROUTINES_Avx2(R) \
  R(Avx2, 8, S8, 8, 4)                 \
  R(Avx2, 8, U8, 6, 4)                 \
  R(Avx2, 8, U7, 6, 4)                 \
  R(Avx2, 8, S8, 8, 2)                 \
  R(Avx2, 8, S16, 6, 2)                \
  R(Avx2, 16, S16, 6, 2)               \
  R(Avx2, 16, S16, 8, 2)               \
  R(Avx2, F32, F32, 8, 1)              \
  R(Avx2, F32, F32, 6, 1)              \
  R(Avx2, 8, U8, 1, 1)                 \
  R(Avx2, 8, S8, 1, 1)                 \
  R(Avx2, 8, S16, 1, 1)                \
  R(Avx2, 16, S16, 1, 1)               \
  R(Avx2, F32, F32, 1, 1)              \
  R(Avx2, BF16, BF16, 8, 2)            \
  R(Avx2, F16, F16, 8, 1)              \
  R(Avx2, BF16, BF16, 1, 2)

#define RUY_LIKE_PACK_ROUTINES_Avx512(R) \
  R(Avx512, 8, S8, 16, 4)                \
  R(Avx512, 8, U8, 8, 4)                 \
  R(Avx512, 8, U7, 8, 4)                 \
  R(Avx512, 8, S8, 16, 64)               \
  R(Avx512, 8, S8, 16, 2)                \
  R(Avx512, 8, S16, 8, 2)                \
  R(Avx512, 16, S16, 8, 2)               \
  R(Avx512, 16, S16, 16, 2)              \
  R(Avx512, F32, F32, 16, 1)             \
  R(Avx512, F32, F32, 8, 1)              \
  R(Avx512, F16, F16, 16, 1)             \
  R(Avx512, BF16, BF16, 16, 2)           \
  R(Avx512, BF16, BF16, 8, 2)            \
  R(Avx512, BF16, BF16, 16, 32)

// 64-bit Arm only.
#define RUY_LIKE_PACK_ROUTINES_Neon(R) \
  R(Neon, 8, S8, 4, 16)                \
  R(Neon, 8, S8, 4, 4)                 \
  R(Neon, 8, S8, 8, 4)                 \
  R(Neon, 8, S8, 4, 8)                 \
  R(Neon, 8, S8, 8, 8)                 \
  R(Neon, 8, S16, 4, 1)                \
  R(Neon, 8, S16, 8, 1)                \
  R(Neon, 16, S16, 4, 1)               \
  R(Neon, 16, S16, 8, 1)               \
  R(Neon, F32, F32, 4, 1)              \
  R(Neon, F32, F32, 8, 1)              \
  R(Neon, BF16, BF16, 4, 4)            \
  R(Neon, BF16, BF16, 8, 4)            \
  R(Neon, 8, S8, 1, 1)                 \
  R(Neon, 8, U8, 1, 1)                 \
  R(Neon, 8, S16, 1, 1)                \
  R(Neon, 16, S16, 1, 1)               \
  R(Neon, F32, F32, 1, 1)

// 32-bit Arm only.
#define RUY_LIKE_PACK_ROUTINES_Neon32(R) \
  R(Neon32, 8, S8, 4, 16)                \
  R(Neon32, 8, S16, 4, 1)                \
  R(Neon32, 16, S16, 4, 1)               \
  R(Neon32, F32, F32, 4, 1)              \
  R(Neon32, 8, S8, 1, 1)                 \
  R(Neon32, 8, U8, 1, 1)                 \
  R(Neon32, 8, S16, 1, 1)                \
  R(Neon32, 16, S16, 1, 1)               \
  R(Neon32, F32, F32, 1, 1)

// WebAssembly only.
#define RUY_LIKE_PACK_ROUTINES_Wasm128(R) \
  R(Wasm128, 8, S8, 4, 2)                 \
  R(Wasm128, 8, S16, 4, 2)                \
  R(Wasm128, 16, S16, 4, 2)               \
  R(Wasm128, F32, F32, 4, 1)

// RISC-V only.
#define RUY_LIKE_PACK_ROUTINES_Rvv128(R) \
  R(Rvv128, 8, S8, 4, 1)                 \
  R(Rvv128, 16, S16, 4, 1)               \
  R(Rvv128, F32, F32, 4, 1)

namespace ruy_like::kernels {

#define RUY_LIKE_PACK_ROUTINE(Path, source, packed, width, dot_width) \
  void Pack##Path##_##source##_##packed##_##width##x##dot_width(      \
      const PackArgs* args);
// clang-format off
// clang-format would join these lines, which have no semicolons.
RUY_LIKE_PACK_ROUTINES_Portable(RUY_LIKE_PACK_ROUTINE)
RUY_LIKE_PACK_ROUTINES_Avx(RUY_LIKE_PACK_ROUTINE)
RUY_LIKE_PACK_ROUTINES_Avx2(RUY_LIKE_PACK_ROUTINE)
RUY_LIKE_PACK_ROUTINES_Avx512(RUY_LIKE_PACK_ROUTINE)
RUY_LIKE_PACK_ROUTINES_Neon(RUY_LIKE_PACK_ROUTINE)
RUY_LIKE_PACK_ROUTINES_Neon32(RUY_LIKE_PACK_ROUTINE)
RUY_LIKE_PACK_ROUTINES_Wasm128(RUY_LIKE_PACK_ROUTINE)
RUY_LIKE_PACK_ROUTINES_Rvv128(RUY_LIKE_PACK_ROUTINE)
// clang-format on
#undef RUY_LIKE_PACK_ROUTINE

}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_PACK_PACK_ROUTINES_H_
