// Tested in test/pack/pack_test.cc.
#include "ruy_like/pack/pack_neon.h"

namespace ruy_like::kernels {

RUY_LIKE_PACK_ROUTINES_Neon(RUY_LIKE_DEFINE_PACK_ROUTINE)

}  // namespace ruy_like::kernels
