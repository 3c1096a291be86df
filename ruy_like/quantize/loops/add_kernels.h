// Quantization toolkit, internal: the vector loops of QuantizedAdd and
// Requantize.
//
// Called by quantized_add.cc and requantize.cc with checked arguments.
#ifndef RUY_LIKE_QUANTIZE_LOOPS_ADD_KERNELS_H_
#define RUY_LIKE_QUANTIZE_LOOPS_ADD_KERNELS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "ruy_like/quantize/loops/dispatch.h"
#include "ruy_like/quantize/loops/requantize_table.h"

namespace ruy_like::quantize_internal {

// sum = a * a_factor + b * b_factor + offset, and its nearest multiple of
// 2^shift divided by that, halves up. No sum leaves int32, 2^(shift - 1) added.
struct AddTerms {
  std::int32_t a_factor = 0;
  std::int32_t b_factor = 0;
  std::int32_t offset = 0;
  int shift = 0;  // in [1, 30]
};

struct IntRange {
  void Extend(const IntRange& other) {
    min = std::min(min, other.min);
    max = std::max(max, other.max);
  }

  std::int32_t min;
  std::int32_t max;
};

// A range that threads extend by what they find.
class SharedRange final {
 public:
  explicit SharedRange(const IntRange& range) : range_(range) {}
  void Extend(const IntRange& part) {
    const std::lock_guard<std::mutex> lock(mutex_);
    range_.Extend(part);
  }
  const IntRange& range() const { return range_; }

 private:
  std::mutex mutex_;
  IntRange range_;
};

// clamp(MultiplyByQuantizedMultiplier(x, multiplier) + zero point).
using RequantizeFunction = void(const std::int32_t* x, std::size_t n,
                                const RequantizeConstants& multiplier,
                                const QuantizedOutput& output, bool streaming,
                                void* q);

struct AddKernels {
  // The rounded sums. Elements need no alignment.
  void (*to_32)(const std::uint8_t* a, const std::uint8_t* b, std::size_t n,
                const AddTerms& terms, bool streaming, std::int32_t* c);
  // The same, clamped to [0, 255]. Extends *sums by all sums, not rounded.
  void (*to_8)(const std::uint8_t* a, const std::uint8_t* b, std::size_t n,
               const AddTerms& terms, bool streaming, std::uint8_t* c,
               IntRange* sums);
  // Extends *sums alone.
  void (*range)(const std::uint8_t* a, const std::uint8_t* b, std::size_t n,
                const AddTerms& terms, IntRange* sums);

  // Chosen by the type of the output: int8, uint8 or int16.
  ByScalar<RequantizeFunction> requantize;
  // Extends *range by all x.
  void (*range_32)(const std::int32_t* x, std::size_t n, IntRange* range);
};

// Those of the best of Highway's `targets` (dispatch.h).
const AddKernels& AddKernelsFor(std::int64_t targets);

}  // namespace ruy_like::quantize_internal

#endif  // RUY_LIKE_QUANTIZE_LOOPS_ADD_KERNELS_H_
