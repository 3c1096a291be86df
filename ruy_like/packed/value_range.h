// Packed: whether an operand's values are what its caller promised.
//
// Used where a kernel is chosen that would be wrong for other values, and where
// an operand is packed for such a kernel. A promise that is not kept costs this
// look and the faster kernel, and never a wrong result.
#ifndef RUY_LIKE_PACKED_VALUE_RANGE_H_
#define RUY_LIKE_PACKED_VALUE_RANGE_H_

#include "ruy_like/packed/operand.h"

namespace ruy_like {

// Whether all elements of an 8-bit operand that is not packed are of kInt7
// (scalar.h). Reads each element once, up to the first run that has others, at
// about the speed of memory. Gaps between columns (or levels) are not read.
bool HoldsInt7(const Operand& operand);

}  // namespace ruy_like

#endif  // RUY_LIKE_PACKED_VALUE_RANGE_H_
