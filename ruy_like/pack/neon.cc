#include "ruy_like/pack/pack_narrow.h"
#include "ruy_like/pack/pack_quads_neon.h"
#include "ruy_like/pack/pack_routines.h"
#include "ruy_like/pack/pack_unit_neon.h"
#include "ruy_like/pack/pack_whole_neon.h"

namespace ruy_like {
namespace kernels {

// Format<registers, width, packed type, group, source element bytes>.

void PackNeon_8_S8_4x16(const PackArgs* args) {
  PackNeon<Format<NeonQuads<1>, 4, Scalar::kI8, 16, 1>>(args);
}

void PackNeon_8_S8_4x4(const PackArgs* args) {
  PackNeon<Format<NeonQuads<1>, 4, Scalar::kI8, 4, 1>>(args);
}

void PackNeon_8_S8_8x4(const PackArgs* args) {
  PackNeon<Format<NeonQuads<2>, 8, Scalar::kI8, 4, 1>>(args);
}

void PackNeon_8_S8_4x8(const PackArgs* args) {
  PackNeon<Format<NeonQuads<1>, 4, Scalar::kI8, 8, 1>>(args);
}

void PackNeon_8_S8_8x8(const PackArgs* args) {
  PackNeon<Format<NeonQuads<2>, 8, Scalar::kI8, 8, 1>>(args);
}

void PackNeon_8_S16_4x1(const PackArgs* args) {
  PackNeon<Format<NeonQuads<1>, 4, Scalar::kI16, 1, 1>>(args);
}

void PackNeon_8_S16_8x1(const PackArgs* args) {
  PackNeon<Format<NeonQuads<2>, 8, Scalar::kI16, 1, 1>>(args);
}

void PackNeon_16_S16_4x1(const PackArgs* args) {
  PackNeon<Format<NeonQuads<1>, 4, Scalar::kI16, 1, 2>>(args);
}

void PackNeon_16_S16_8x1(const PackArgs* args) {
  PackNeon<Format<NeonQuads<2>, 8, Scalar::kI16, 1, 2>>(args);
}

void PackNeon_F32_F32_4x1(const PackArgs* args) {
  PackNeon<Format<NeonQuads<1>, 4, Scalar::kF32, 1, 4>>(args);
}

void PackNeon_F32_F32_8x1(const PackArgs* args) {
  PackNeon<Format<NeonQuads<2>, 8, Scalar::kF32, 1, 4>>(args);
}

// PackNarrow<units, source element bytes, packed type>.

void PackNeon_8_S8_1x1(const PackArgs* args) {
  PackNarrow<NeonUnit, 1, Scalar::kI8>(args);
}

void PackNeon_8_U8_1x1(const PackArgs* args) {
  PackNarrow<NeonUnit, 1, Scalar::kU8>(args);
}

void PackNeon_8_S16_1x1(const PackArgs* args) {
  PackNarrow<NeonUnit, 1, Scalar::kI16>(args);
}

void PackNeon_16_S16_1x1(const PackArgs* args) {
  PackNarrow<NeonUnit, 2, Scalar::kI16>(args);
}

void PackNeon_F32_F32_1x1(const PackArgs* args) {
  PackNarrow<NeonUnit, 4, Scalar::kF32>(args);
}

}  // namespace kernels
}  // namespace ruy_like
