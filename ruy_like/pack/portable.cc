// Tested in test/pack/pack_test.cc.
#include "ruy_like/float8.h"
#include "ruy_like/pack/pack_routines.h"

namespace ruy_like::kernels {
namespace {

constexpr int kWidth = 4;

// Integers (1 / 2 is 0 there) have sums: only they have zero points.
template <typename Packed>
constexpr bool kHasSums = Packed(1) / 2 == 0;

// Packs the kWidth x 1 layout: depth k of a panel is its kWidth columns side by
// side. 8-bit elements are combined with `flip` (0 or 0x80) by exclusive or.
//
// The inner loops have a constant trip count, which compilers unroll or
// vectorise. Missing columns of the last panel read column 0 of that panel and
// are then replaced by zero, so that one loop serves both.
template <typename Src, typename Packed>
void Pack(const PackArgs* args, int flip) {
  const Src* src = static_cast<const Src*>(args->src);
  Packed* dst = static_cast<Packed*>(args->dst);
  const ptrdiff_t depth_step = args->depth_contiguous ? 1 : args->src_stride;
  const ptrdiff_t column_step = args->depth_contiguous ? args->src_stride : 1;
  for (ptrdiff_t first = 0; first < args->width; first += kWidth) {
    const Src* columns[kWidth];
    bool present[kWidth];
    for (int w = 0; w < kWidth; ++w) {
      present[w] = first + w < args->width;
      columns[w] = src + (present[w] ? first + w : first) * column_step;
    }
    uint32_t sums[kWidth] = {0, 0, 0, 0};
    for (ptrdiff_t k = 0; k < args->depth; ++k, dst += kWidth) {
      for (int w = 0; w < kWidth; ++w) {
        Packed value;
        if constexpr (sizeof(Packed) == 1) {
          value = static_cast<Packed>(columns[w][k * depth_step] ^ flip);
        } else {
          value = static_cast<Packed>(columns[w][k * depth_step]);
        }
        dst[w] = present[w] ? value : Packed(0);
        if constexpr (kHasSums<Packed>) sums[w] += static_cast<uint32_t>(value);
      }
    }
    for (ptrdiff_t k = args->depth; k < args->padded_depth; ++k) {
      for (int w = 0; w < kWidth; ++w) *dst++ = Packed(0);
    }
    if (!kHasSums<Packed> || args->sums == nullptr) continue;
    for (int w = 0; w < kWidth && present[w]; ++w) {
      args->sums[first + w] = static_cast<int32_t>(sums[w]);
    }
  }
}

}  // namespace

void PackPortable_8_S8_4x1(const PackArgs* args) {
  if (args->src_scalar == Scalar::kU8) {
    Pack<uint8_t, int8_t>(args, 0x80);
  } else {
    Pack<int8_t, int8_t>(args, 0);
  }
}

void PackPortable_16_S16_4x1(const PackArgs* args) {
  Pack<int16_t, int16_t>(args, 0);
}

void PackPortable_F32_F32_4x1(const PackArgs* args) {
  switch (args->src_scalar) {
#define RUY_LIKE_FLOAT16(Enum, type) \
  case Scalar::Enum:                 \
    return Pack<type, float>(args, 0);
    RUY_LIKE_FLOAT16S(RUY_LIKE_FLOAT16)
    RUY_LIKE_FLOAT8S(RUY_LIKE_FLOAT16)
#undef RUY_LIKE_FLOAT16
    default:
      return Pack<float, float>(args, 0);
  }
}

void PackPortable_F64_F64_4x1(const PackArgs* args) {
  if (args->src_scalar == Scalar::kF64) {
    Pack<double, double>(args, 0);
  } else {
    Pack<float, double>(args, 0);
  }
}

}  // namespace ruy_like::kernels
