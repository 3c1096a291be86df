#include "ruy_like/pack/pack_columns64.h"
#include "ruy_like/pack/pack_panels.h"
#include "ruy_like/pack/pack_routines.h"
#include "ruy_like/pack/pack_ymm.h"
#include "ruy_like/pack/pack_zmm.h"

namespace ruy_like {
namespace kernels {

// Format<register, width, packed type, group, source element bytes[, range]>.
// Panels of 8 columns take 256-bit registers: their transposition then needs no
// shuffle across halves.

void PackAvx512_8_S8_16x4(const PackArgs* args) {
  Pack<Format<Zmm, 16, Scalar::kI8, 4, 1>>(args);
}

void PackAvx512_8_U8_8x4(const PackArgs* args) {
  Pack<Format<Ymm, 8, Scalar::kU8, 4, 1>>(args);
}

void PackAvx512_8_U7_8x4(const PackArgs* args) {
  Pack<Format<Ymm, 8, Scalar::kU8, 4, 1, ValueRange::kInt7>>(args);
}

void PackAvx512_8_S8_16x64(const PackArgs* args) {
  Pack16x64<Scalar::kI8>(args);
}

void PackAvx512_8_U8_16x64(const PackArgs* args) {
  Pack16x64<Scalar::kU8>(args);
}

void PackAvx512_8_S8_16x2(const PackArgs* args) {
  Pack<Format<Zmm, 16, Scalar::kI8, 2, 1>>(args);
}

void PackAvx512_8_S16_8x2(const PackArgs* args) {
  Pack<Format<Ymm, 8, Scalar::kI16, 2, 1>>(args);
}

void PackAvx512_16_S16_8x2(const PackArgs* args) {
  Pack<Format<Ymm, 8, Scalar::kI16, 2, 2>>(args);
}

void PackAvx512_16_S16_16x2(const PackArgs* args) {
  Pack<Format<Zmm, 16, Scalar::kI16, 2, 2>>(args);
}

void PackAvx512_F32_F32_16x1(const PackArgs* args) {
  Pack<Format<Zmm, 16, Scalar::kF32, 1, 4>>(args);
}

void PackAvx512_F32_F32_8x1(const PackArgs* args) {
  Pack<Format<Ymm, 8, Scalar::kF32, 1, 4>>(args);
}

}  // namespace kernels
}  // namespace ruy_like
