// Tested in test/pack/pack_test.cc.
#include "ruy_like/pack/pack_neon.h"

namespace ruy_like {
namespace kernels {

RUY_LIKE_PACK_ROUTINES_Neon32(RUY_LIKE_DEFINE_PACK_ROUTINE)

}  // namespace kernels
}  // namespace ruy_like
