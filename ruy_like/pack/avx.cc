// Tested in test/pack/pack_test.cc.
#include "ruy_like/simd/simd_sse.h"
// Behind the trait.
#include "ruy_like/pack/pack_vectors.h"

namespace ruy_like::kernels {

RUY_LIKE_PACK_ROUTINES_Avx(RUY_LIKE_DEFINE_PACK_ROUTINE)

}  // namespace ruy_like::kernels
