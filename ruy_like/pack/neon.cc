// Tested in test/pack/pack_test.cc.
#include "ruy_like/pack/pack_common.h"
#include "ruy_like/pack/pack_narrow.h"
#include "ruy_like/pack/pack_quads_neon.h"
#include "ruy_like/pack/pack_rows_neon.h"
#include "ruy_like/pack/pack_unit_neon.h"

namespace ruy_like {
namespace kernels {
namespace {

template <int kSourceBytes, class Packed, int kWidth, int kGroup>
void PackAs(const PackArgs* args) {
  if constexpr (kWidth == 1) {
    PackNarrow<NeonUnit, kSourceBytes, Packed>(args);
  } else {
    PackNeon<
        Format<NeonQuads<kWidth / 4>, kWidth, Packed, kGroup, kSourceBytes>>(
        args);
  }
}

}  // namespace

RUY_LIKE_PACK_ROUTINES_Neon(RUY_LIKE_DEFINE_PACK_ROUTINE)

}  // namespace kernels
}  // namespace ruy_like
