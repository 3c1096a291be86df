// Back-end: packing for the paths whose trait is made of the compiler's vector
// types.
//
// Included by pack/avx.cc, wasm128.cc and rvv128.cc, behind the trait, which
// hand it their lists.
#ifndef RUY_LIKE_PACK_PACK_VECTORS_H_
#define RUY_LIKE_PACK_PACK_VECTORS_H_

#include "ruy_like/pack/pack_common.h"
#include "ruy_like/pack/pack_panels.h"
#include "ruy_like/pack/pack_quads.h"

namespace ruy_like::kernels {
namespace {

template <int kSourceBytes, class Packed, int kWidth, int kDotWidth>
void PackAs(const PackArgs* args) {
  Pack<Format<Quads<SimdOfPath, kWidth / 4>, kWidth, Packed, kDotWidth,
              kSourceBytes>>(args);
}

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_PACK_PACK_VECTORS_H_
