// Tested in test/pack/pack_test.cc.
#include "ruy_like/pack/pack_common.h"
#include "ruy_like/pack/pack_narrow.h"
#include "ruy_like/pack/pack_panels.h"
#include "ruy_like/pack/pack_unit_x86.h"
#include "ruy_like/pack/pack_ymm.h"

namespace ruy_like::kernels {
namespace {

template <int kSourceBytes, class Packed, int kWidth, int kDepthGroup>
void PackAs(const PackArgs* args) {
  if constexpr (kWidth == 1) {
    PackNarrow<X86Unit, kSourceBytes, Packed>(args);
    if constexpr (Packed::kScalar == Scalar::kBF16) PadRhsPairs<kWidth>(args);
  } else {
    Pack<Format<Ymm, kWidth, Packed, kDepthGroup, kSourceBytes>>(args);
  }
  if constexpr (Packed::kScalar == Scalar::kF32) PadFloats<kWidth>(args);
}

}  // namespace

RUY_LIKE_PACK_ROUTINES_Avx2(RUY_LIKE_DEFINE_PACK_ROUTINE)

}  // namespace ruy_like::kernels
