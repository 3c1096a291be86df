// Back-end: the tiles of 256-bit registers and their pack routines, a template
// argument of the tables in tables_x86.h. tiles_avx512.h says what the members
// are.
#ifndef RUY_LIKE_KERNELS_TILES_AVX2_H_
#define RUY_LIKE_KERNELS_TILES_AVX2_H_

#include "ruy_like/kernels/panel/panel_ops.h"
#include "ruy_like/pack/pack_routines.h"
#include "ruy_like/simd/simd_avx2.h"

namespace ruy_like::kernels {
namespace {

struct Tiles256 {
  typedef Simd256 Simd;
  static constexpr int kVectors = 2, kCols = 6;
  static constexpr int kNarrowVectors = 4, kNarrowCols = 2;
  static constexpr int kOneColumnVectors = 6;
  static constexpr int kFloat16OneColumnVectors = 8;
  static constexpr int kByDepthCols = 4;
  typedef FloatOp<Simd256> PanelFloatOp;
  template <class Op>
  using ByHalves = Op;

  static constexpr PackFn* kLhsQuads = PackAvx2_8_S8_8x4;
  static constexpr PackFn* kLhsPairs8 = PackAvx2_8_S8_8x2;
  static constexpr PackFn* kLhsPairs16 = PackAvx2_16_S16_8x2;
  static constexpr PackFn* kLhsFloat = PackAvx2_F32_F32_8x1;
  static constexpr PackFn* kLhsBFloat16 = PackAvx2_BF16_BF16_8x2;
  static constexpr PackFn* kLhsFloat16 = PackAvx2_F16_F16_8x1;
  static constexpr PackFn* kRhsQuads = PackAvx2_8_U8_6x4;
  static constexpr PackFn* kRhsInt7 = PackAvx2_8_U7_6x4;
  static constexpr PackFn* kRhsPairs8 = PackAvx2_8_S16_6x2;
  static constexpr PackFn* kRhsPairs16 = PackAvx2_16_S16_6x2;
  static constexpr PackFn* kRhsFloat = PackAvx2_F32_F32_6x1;
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_TILES_AVX2_H_
