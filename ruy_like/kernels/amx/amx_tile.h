// Back-end: the AMX tile instructions, for amx_block.h and amx_kernel.h.
//
// Does not choose tiles, shapes or strides,
// and does not ask the OS for leave to use AMX state: the CPU detection has
// done that before a kernel of this path can be picked.
//
// Why not the compiler's intrinsics: gcc 12's are macros that paste the tile
// number into the assembly text, so a template argument cannot be passed; and
// its tile load and configuration load do not tell the compiler that they read
// memory (or only 8 bytes of it), so stores into a tile's source buffer may be
// dropped or moved behind the load.
#ifndef RUY_LIKE_KERNELS_AMX_AMX_TILE_H_
#define RUY_LIKE_KERNELS_AMX_AMX_TILE_H_

#include <stddef.h>

#include "ruy_like/kernels/amx/amx_tile_config.h"
#include "ruy_like/kernels/simd/loops.h"

namespace ruy_like {
namespace kernels {
namespace {

// "%c" prints a constant without the '$' of an immediate. All
// are volatile: they depend on each other through registers that the compiler
// does not know.
struct Tiles {
  static RUY_LIKE_ALWAYS_INLINE void Configure(const TileConfig& config) {
    asm volatile("ldtilecfg %0" : : "m"(config));
  }

  static RUY_LIKE_ALWAYS_INLINE void Release() { asm volatile("tilerelease"); }

  template <int kTile>
  static RUY_LIKE_ALWAYS_INLINE void Zero() {
    asm volatile("tilezero %%tmm%c0" : : "i"(kTile));
  }

  // Loads the tile's configured rows, `stride_bytes` apart.
  template <int kTile>
  static RUY_LIKE_ALWAYS_INLINE void Load(const void* src,
                                          ptrdiff_t stride_bytes) {
    asm volatile("tileloadd (%1,%2,1), %%tmm%c0"
                 :
                 : "i"(kTile), "r"(src), "r"(stride_bytes)
                 : "memory");
  }

  // The same with the hint that the lines will not be used again from L1.
  template <int kTile>
  static RUY_LIKE_ALWAYS_INLINE void LoadStreaming(const void* src,
                                                   ptrdiff_t stride_bytes) {
    asm volatile("tileloaddt1 (%1,%2,1), %%tmm%c0"
                 :
                 : "i"(kTile), "r"(src), "r"(stride_bytes)
                 : "memory");
  }

  template <int kTile>
  static RUY_LIKE_ALWAYS_INLINE void Store(void* dst, ptrdiff_t stride_bytes) {
    asm volatile("tilestored %%tmm%c0, (%1,%2,1)"
                 :
                 : "i"(kTile), "r"(dst), "r"(stride_bytes)
                 : "memory");
  }

  // C[m][n] += sum over k of A[m][4k..4k+3] . B[k][4n..4n+3]. AT&T syntax names
  // the operands in reverse: B, A, C.
  template <int kC, int kA, int kB>
  static RUY_LIKE_ALWAYS_INLINE void MulS8S8() {
    asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0"
                 :
                 : "i"(kC), "i"(kA), "i"(kB));
  }

  // The same with unsigned A and signed B.
  template <int kC, int kA, int kB>
  static RUY_LIKE_ALWAYS_INLINE void MulU8S8() {
    asm volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0"
                 :
                 : "i"(kC), "i"(kA), "i"(kB));
  }
};

}  // namespace
}  // namespace kernels
}  // namespace ruy_like

#endif  // RUY_LIKE_KERNELS_AMX_AMX_TILE_H_
