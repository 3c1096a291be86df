#include "ruy_like/pack/define_pack_routine.h"
#include "ruy_like/pack/pack_columns64.h"
#include "ruy_like/pack/pack_panels.h"
#include "ruy_like/pack/pack_ymm.h"
#include "ruy_like/pack/pack_zmm.h"

namespace ruy_like {
namespace kernels {
namespace {

// Panels of 8 columns take 256-bit registers: their transposition then needs no
// shuffle across halves.
template <int kWidth>
struct Registers {
  typedef Ymm Type;
};
template <>
struct Registers<16> {
  typedef Zmm Type;
};

template <int kSourceBytes, class Packed, int kWidth, int kGroup>
RUY_LIKE_ALWAYS_INLINE void PackAs(const PackArgs* args) {
  if constexpr (kGroup == 64) {
    Pack16x64<Packed::kScalar>(args);
  } else {
    Pack<Format<typename Registers<kWidth>::Type, kWidth, Packed::kScalar,
                kGroup, kSourceBytes, Packed::kRange>>(args);
  }
}

}  // namespace

RUY_LIKE_PACK_ROUTINES_Avx512(RUY_LIKE_DEFINE_PACK_ROUTINE)

}  // namespace kernels
}  // namespace ruy_like
