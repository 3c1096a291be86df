// Base: marks functions that every product runs, from Mul to its kernel.
//
// Used on definitions of all layers above the kernels. Compiler and linker put
// marked functions next to each other. A small product runs 15 to 23 KB of
// code, nearly all of it once: scattered over the library, more of its lines
// fell on one set of the 32 KB instruction cache than that has ways
// (doc/tuning.md).
#ifndef RUY_LIKE_BASE_HOT_H_
#define RUY_LIKE_BASE_HOT_H_

#include "absl/base/attributes.h"

#define RUY_LIKE_HOT ABSL_ATTRIBUTE_HOT

#endif  // RUY_LIKE_BASE_HOT_H_
