// Back-end: the pack routine behind every layout of Arm.
//
// Included by pack/neon.cc and pack/neon32.cc, which hand it their lists.
#ifndef RUY_LIKE_PACK_PACK_NEON_H_
#define RUY_LIKE_PACK_PACK_NEON_H_

#include "ruy_like/pack/pack_common.h"
#include "ruy_like/pack/pack_narrow.h"
#include "ruy_like/pack/pack_quads_neon.h"
#include "ruy_like/pack/pack_rows_neon.h"
#include "ruy_like/pack/pack_unit_neon.h"

namespace ruy_like::kernels {
namespace {

template <int kSourceBytes, class Packed, int kWidth, int kDepthGroup>
void PackAs(const PackArgs* args) {
  if constexpr (kWidth == 1) {
    PackNarrow<NeonUnit, kSourceBytes, Packed>(args);
  } else {
    PackNeon<Format<NeonQuads<kWidth / 4>, kWidth, Packed, kDepthGroup,
                    kSourceBytes>>(args);
  }
}

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_PACK_PACK_NEON_H_
