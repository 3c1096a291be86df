// Tested in test/pack/pack_test.cc.
#include "ruy_like/pack/pack_common.h"
#include "ruy_like/pack/pack_panels.h"
#include "ruy_like/pack/pack_tiles.h"
#include "ruy_like/pack/pack_ymm.h"
#include "ruy_like/pack/pack_zmm.h"

namespace ruy_like::kernels {
namespace {

template <int kSourceBytes, class Packed, int kWidth, int kDotWidth>
void PackAs(const PackArgs* args) {
  if constexpr (kDotWidth * Packed::kBytes == 64) {
    PackTiles<Packed::kScalar>(args);
  } else if constexpr (kWidth == 16) {
    Pack<Format<Zmm, kWidth, Packed, kDotWidth, kSourceBytes>>(args);
  } else {
    // Transposing 8 columns needs no shuffle across halves in 256 bits.
    Pack<Format<Ymm, kWidth, Packed, kDotWidth, kSourceBytes>>(args);
    if constexpr (Packed::kScalar == Scalar::kBF16) PadRhsPairs<kWidth>(args);
  }
  if constexpr (Packed::kScalar == Scalar::kF32) PadFloats<kWidth>(args);
}

}  // namespace

RUY_LIKE_PACK_ROUTINES_Avx512(RUY_LIKE_DEFINE_PACK_ROUTINE)

}  // namespace ruy_like::kernels
