// Back-end: the tiles of 512-bit registers and their pack routines, a template
// argument of the tables in tables_x86.h. tiles_avx2.h has the same members.
#ifndef RUY_LIKE_KERNELS_TILES_AVX512_H_
#define RUY_LIKE_KERNELS_TILES_AVX512_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/panel/panel_ops.h"
#include "ruy_like/pack/pack_routines.h"
#include "ruy_like/simd/simd_avx512.h"

namespace ruy_like::kernels {
namespace {

// Broadcasts the rhs as integers: Zen 4 splits a 512-bit VBROADCASTSS into two
// steps, one of them on the multiplication pipes (doc/tuning.md).
struct Broadcast512FloatOp : WithHalves<FloatOp<Simd512>> {
  static RUY_LIKE_ALWAYS_INLINE __m512 LoadRhs(const float* p, ptrdiff_t) {
    int32_t bits;
    __builtin_memcpy(&bits, p, sizeof(bits));
    return _mm512_castsi512_ps(_mm512_set1_epi32(bits));
  }
};

struct Tiles512 {
  typedef Simd512 Simd;
  // The tile of panel kernels: vectors of rows, and columns.
  static constexpr int kVectors = 3, kCols = 8;
  // Tile of narrow kernels, and its vectors of integers for a single column.
  static constexpr int kNarrowVectors = 4, kNarrowCols = 4;
  static constexpr int kOneColumnVectors = 4;
  // The same of 16-bit floats, which take half of the loads.
  static constexpr int kFloat16OneColumnVectors = 8;
  // Columns of integers up to which a small lhs by depth is read in place; with
  // more it is packed (doc/tuning.md).
  static constexpr int kByDepthCols = 8;
  typedef Broadcast512FloatOp PanelFloatOp;
  // Operations whose half vectors have instructions of their own.
  template <class Op>
  using ByHalves = WithHalves<Op>;

  static constexpr PackFn* kLhsQuads = PackAvx512_8_S8_16x4;
  static constexpr PackFn* kLhsPairs8 = PackAvx512_8_S8_16x2;
  static constexpr PackFn* kLhsPairs16 = PackAvx512_16_S16_16x2;
  static constexpr PackFn* kLhsFloat = PackAvx512_F32_F32_16x1;
  static constexpr PackFn* kLhsBFloat16 = PackAvx512_BF16_BF16_16x2;
  static constexpr PackFn* kLhsFloat16 = PackAvx512_F16_F16_16x1;
  static constexpr PackFn* kRhsQuads = PackAvx512_8_U8_8x4;
  static constexpr PackFn* kRhsInt7 = PackAvx512_8_U7_8x4;
  static constexpr PackFn* kRhsPairs8 = PackAvx512_8_S16_8x2;
  static constexpr PackFn* kRhsPairs16 = PackAvx512_16_S16_8x2;
  static constexpr PackFn* kRhsFloat = PackAvx512_F32_F32_8x1;
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_TILES_AVX512_H_
