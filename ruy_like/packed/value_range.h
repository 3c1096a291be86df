// Packed: whether an operand's values are what its caller promised.
//
// Used where a kernel is chosen that is exact only for these values, and where
// an operand is packed for such a kernel. A broken promise costs this check and
// the faster kernel, but never gives a wrong result.
#ifndef RUY_LIKE_PACKED_VALUE_RANGE_H_
#define RUY_LIKE_PACKED_VALUE_RANGE_H_

#include "ruy_like/packed/operand.h"

namespace ruy_like {

// True if all elements of an 8-bit operand, which is not packed, are in the
// range of kInt7 (scalar.h). Reads each element once, at about memory
// bandwidth, up to the first run with other values. Gaps between columns (or
// elements) are not read.
bool HoldsInt7(const Operand& operand);

}  // namespace ruy_like

#endif  // RUY_LIKE_PACKED_VALUE_RANGE_H_
