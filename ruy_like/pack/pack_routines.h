// Back-end: declarations of every pack routine (the contract is in pack.h).
//
// Called by nobody directly: the kernel tables (kernels/<path>.cc) name these
// functions in Kernel::pack_lhs and Kernel::pack_rhs, and tests walk over them.
// A routine may run only where its path's CPU features are present; this
// header neither checks for them nor chooses a routine.
//
//   Pack<Path>_<source>_<packed>_<width>x<group>
//
//   Path    file pack/<path>.cc, built with that path's flags. Later paths
//           share the routines of the ones below them (AVX-VNNI uses Avx2's,
//           AVX-512-VNNI and AMX use Avx512's, all of Arm Neon's).
//   source  8 = int8 or uint8, told apart by src_scalar; 16 = int16;
//           F32 = float; F64 = float or double, told apart by src_scalar
//   packed  S8, U8, S16, F32, F64: the element type inside the panels; U7:
//           uint8 elements of range kInt7, made of an int7 source
//   width   columns per panel
//   group   depth levels of one column that lie together
//
// Every routine takes both orders of the source, any depth and width, and any
// padded_depth that is a multiple of its group (so the panels of a kernel that
// wants depth in multiples of 64 come from the same routine). Float routines
// ignore PackArgs::sums.
#ifndef RUY_LIKE_PACK_PACK_ROUTINES_H_
#define RUY_LIKE_PACK_PACK_ROUTINES_H_

#include "ruy_like/pack/pack.h"

namespace ruy_like {
namespace kernels {

// Any processor.
void PackPortable_8_S8_4x1(const PackArgs* args);
void PackPortable_16_S16_4x1(const PackArgs* args);
void PackPortable_F32_F32_4x1(const PackArgs* args);
void PackPortable_F64_F64_4x1(const PackArgs* args);

// x86 only; defined where the build compiles the path.
void PackAvx2_8_S8_8x4(const PackArgs* args);
void PackAvx2_8_U8_6x4(const PackArgs* args);
void PackAvx2_8_U7_6x4(const PackArgs* args);
void PackAvx2_8_S8_8x2(const PackArgs* args);
void PackAvx2_8_S16_6x2(const PackArgs* args);
void PackAvx2_16_S16_6x2(const PackArgs* args);
void PackAvx2_16_S16_8x2(const PackArgs* args);
void PackAvx2_F32_F32_8x1(const PackArgs* args);
void PackAvx2_F32_F32_6x1(const PackArgs* args);

// For the narrow kernels of every x86 path. In panels of one column levels
// follow each other whatever the group is: these serve any.
void PackAvx2_8_U8_1x1(const PackArgs* args);
void PackAvx2_8_S8_1x1(const PackArgs* args);
void PackAvx2_8_S16_1x1(const PackArgs* args);
void PackAvx2_16_S16_1x1(const PackArgs* args);
void PackAvx2_F32_F32_1x1(const PackArgs* args);

void PackAvx512_8_S8_16x4(const PackArgs* args);
void PackAvx512_8_U8_8x4(const PackArgs* args);
void PackAvx512_8_U7_8x4(const PackArgs* args);
void PackAvx512_8_S8_16x64(const PackArgs* args);
void PackAvx512_8_S8_16x2(const PackArgs* args);
void PackAvx512_8_S16_8x2(const PackArgs* args);
void PackAvx512_16_S16_8x2(const PackArgs* args);
void PackAvx512_16_S16_16x2(const PackArgs* args);
void PackAvx512_F32_F32_16x1(const PackArgs* args);
void PackAvx512_F32_F32_8x1(const PackArgs* args);

// 64-bit Arm only; the paths with further instructions take them too.
void PackNeon_8_S8_4x16(const PackArgs* args);
void PackNeon_8_S8_4x4(const PackArgs* args);
void PackNeon_8_S8_8x4(const PackArgs* args);
void PackNeon_8_S8_4x8(const PackArgs* args);
void PackNeon_8_S8_8x8(const PackArgs* args);
void PackNeon_8_S16_4x1(const PackArgs* args);
void PackNeon_8_S16_8x1(const PackArgs* args);
void PackNeon_16_S16_4x1(const PackArgs* args);
void PackNeon_16_S16_8x1(const PackArgs* args);
void PackNeon_F32_F32_4x1(const PackArgs* args);
void PackNeon_F32_F32_8x1(const PackArgs* args);

// For the narrow kernels of every Arm path.
void PackNeon_8_S8_1x1(const PackArgs* args);
void PackNeon_8_U8_1x1(const PackArgs* args);
void PackNeon_8_S16_1x1(const PackArgs* args);
void PackNeon_16_S16_1x1(const PackArgs* args);
void PackNeon_F32_F32_1x1(const PackArgs* args);

}  // namespace kernels
}  // namespace ruy_like

#endif  // RUY_LIKE_PACK_PACK_ROUTINES_H_
