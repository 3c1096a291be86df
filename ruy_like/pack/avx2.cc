#include "ruy_like/pack/pack_narrow.h"
#include "ruy_like/pack/pack_panels.h"
#include "ruy_like/pack/pack_routines.h"
#include "ruy_like/pack/pack_unit_x86.h"
#include "ruy_like/pack/pack_ymm.h"

namespace ruy_like {
namespace kernels {

// Format<register, width, packed type, group, source element bytes[, range]>.

void PackAvx2_8_S8_8x4(const PackArgs* args) {
  Pack<Format<Ymm, 8, Scalar::kI8, 4, 1>>(args);
}

void PackAvx2_8_U8_6x4(const PackArgs* args) {
  Pack<Format<Ymm, 6, Scalar::kU8, 4, 1>>(args);
}

void PackAvx2_8_U7_6x4(const PackArgs* args) {
  Pack<Format<Ymm, 6, Scalar::kU8, 4, 1, ValueRange::kInt7>>(args);
}

void PackAvx2_8_S8_8x2(const PackArgs* args) {
  Pack<Format<Ymm, 8, Scalar::kI8, 2, 1>>(args);
}

void PackAvx2_8_S16_6x2(const PackArgs* args) {
  Pack<Format<Ymm, 6, Scalar::kI16, 2, 1>>(args);
}

void PackAvx2_16_S16_6x2(const PackArgs* args) {
  Pack<Format<Ymm, 6, Scalar::kI16, 2, 2>>(args);
}

void PackAvx2_16_S16_8x2(const PackArgs* args) {
  Pack<Format<Ymm, 8, Scalar::kI16, 2, 2>>(args);
}

void PackAvx2_F32_F32_8x1(const PackArgs* args) {
  Pack<Format<Ymm, 8, Scalar::kF32, 1, 4>>(args);
}

void PackAvx2_F32_F32_6x1(const PackArgs* args) {
  Pack<Format<Ymm, 6, Scalar::kF32, 1, 4>>(args);
}

// PackNarrow<units, source element bytes, packed type>.

void PackAvx2_8_U8_1x1(const PackArgs* args) {
  PackNarrow<X86Unit, 1, Scalar::kU8>(args);
}

void PackAvx2_8_S8_1x1(const PackArgs* args) {
  PackNarrow<X86Unit, 1, Scalar::kI8>(args);
}

void PackAvx2_8_S16_1x1(const PackArgs* args) {
  PackNarrow<X86Unit, 1, Scalar::kI16>(args);
}

void PackAvx2_16_S16_1x1(const PackArgs* args) {
  PackNarrow<X86Unit, 2, Scalar::kI16>(args);
}

void PackAvx2_F32_F32_1x1(const PackArgs* args) {
  PackNarrow<X86Unit, 4, Scalar::kF32>(args);
}

}  // namespace kernels
}  // namespace ruy_like
