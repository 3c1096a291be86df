// Quantization toolkit, internal: the vector loop of ApplyTable and Requantize.
//
// Called by byte_table.cc with checked arguments.
#ifndef RUY_LIKE_QUANTIZE_LOOPS_TABLE_KERNELS_H_
#define RUY_LIKE_QUANTIZE_LOOPS_TABLE_KERNELS_H_

#include <cstddef>
#include <cstdint>

#include "ruy_like/context.h"

namespace ruy_like::quantize_internal {

// to[i] = table[from[i]] of n elements without alignment; `to` may be `from`.
// The table has 256.
using TableFunction = void(const std::uint8_t* from, std::size_t n,
                           const std::uint8_t* table, std::uint8_t* to);

// That of the best paths that `context` permits.
TableFunction* TableKernelFor(const Context* context);

}  // namespace ruy_like::quantize_internal

#endif  // RUY_LIKE_QUANTIZE_LOOPS_TABLE_KERNELS_H_
