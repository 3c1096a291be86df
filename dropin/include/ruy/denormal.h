// Drop-in for ruy: ScopedSuppressDenormals.
#ifndef RUY_LIKE_DROPIN_RUY_DENORMAL_H_
#define RUY_LIKE_DROPIN_RUY_DENORMAL_H_

#include "ruy_like/base/denormals.h"

namespace ruy {

// While it lives, this thread's denormal operands and results count as zero.
using ScopedSuppressDenormals = ruy_like::ScopedSuppressDenormals;

}  // namespace ruy

#endif  // RUY_LIKE_DROPIN_RUY_DENORMAL_H_
