// Test support: batches drawn from a seed, against single calls.
#ifndef RUY_LIKE_TEST_SUPPORT_RANDOM_BATCH_H_
#define RUY_LIKE_TEST_SUPPORT_RANDOM_BATCH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ruy_like/context.h"

namespace ruy_like {

// Draws types, layouts, parameters and both strides of each operand, of dst and
// of the bias by themselves: 0, apart or overlapping. Multiplies with MulBatch
// and with a MulPlan that is repeated with other elements, by way of each of
// the contexts, and fails fatally where dst's memory is not what single calls
// in new Contexts of the same paths leave. Returns the types, with "groups" for
// weights with group scales.
void CheckBatch(std::uint64_t seed, const std::vector<Context*>& contexts,
                std::string* types = nullptr);

}  // namespace ruy_like

#endif  // RUY_LIKE_TEST_SUPPORT_RANDOM_BATCH_H_
