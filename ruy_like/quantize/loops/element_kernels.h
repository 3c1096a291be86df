// Quantization toolkit, internal: the vector loops over contiguous elements.
//
// Called by the element-wise operations with checked arguments. rounding.h has
// the same arithmetic for one element. Elements need no alignment; `streaming`
// says that results are written past the caches.
#ifndef RUY_LIKE_QUANTIZE_LOOPS_ELEMENT_KERNELS_H_
#define RUY_LIKE_QUANTIZE_LOOPS_ELEMENT_KERNELS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "ruy_like/quantize/loops/dispatch.h"
#include "ruy_like/quantize/loops/requantize_table.h"
#include "ruy_like/quantize/multiplier.h"
#include "ruy_like/quantize/quant_params.h"

namespace ruy_like::quantize_internal {

// ## Quantize, Dequantize, Requantize

// A factor or summand of DequantizeAcc: one value or, where `each` is not null,
// one per element.
struct PerElement {
  const float* each;
  float value;
};

using ConvertFunction = void(const void* from, std::size_t n,
                             const QuantParams& params, bool streaming,
                             void* to);
// clamp(MultiplyByQuantizedMultiplier(x, multiplier) + zero point).
using RequantizeFunction = void(const std::int32_t* x, std::size_t n,
                                const RequantizeConstants& multiplier,
                                const QuantizedOutput& output, bool streaming,
                                void* q);

// ## QuantizedAdd8p8To32 and QuantizedAdd8p8To8

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

// ## QuantizedAdd and QuantizedMul of tensors

// A multiplier below 1.
struct TwiceRounded {
  TwiceRounded() = default;
  explicit TwiceRounded(QuantizedMultiplier m)
      : fixedpoint(m.fixedpoint),
        right(-m.exponent),
        half(right > 0 ? 1 << (right - 1) : 0),
        // A shift by nothing rounds nothing.
        sign_mask(right > 0 ? -1 : 0) {}

  std::int32_t fixedpoint = 0, right = 0, half = 0, sign_mask = 0;
};

constexpr int kAddShift = 20;

struct PairArgs {
  std::int32_t a_zero_point, b_zero_point;
  QuantizedOutput output;
};
struct AddArgs : PairArgs {
  TwiceRounded a_multiplier, b_multiplier, out_multiplier;
};
struct MulArgs : PairArgs {
  RequantizeConstants multiplier;
};

// a, b and out are of one type.
template <typename Args>
using PairFunction = void(const void* a, const void* b, std::size_t n,
                          const Args& args, void* out);

// ## All of them

struct ElementKernels {
  const char* target;  // Highway's name of it
  // Floats to int8, uint8, int16 and int32, for each Rounding; and back.
  ByScalar<ConvertFunction> quantize[2], dequantize;
  void (*dequantize_acc)(const std::int32_t* acc, std::size_t n,
                         const PerElement& scale, const PerElement& bias,
                         bool streaming, float* x);
  // Chosen by the type of the output: int8, uint8 or int16.
  ByScalar<RequantizeFunction> requantize;
  // Extends *range by all x.
  void (*range_32)(const std::int32_t* x, std::size_t n, IntRange* range);

  // The rounded sums.
  void (*add_to_32)(const std::uint8_t* a, const std::uint8_t* b, std::size_t n,
                    const AddTerms& terms, bool streaming, std::int32_t* c);
  // The same, clamped to [0, 255]. Extends *sums by all sums, not rounded.
  void (*add_to_8)(const std::uint8_t* a, const std::uint8_t* b, std::size_t n,
                   const AddTerms& terms, bool streaming, std::uint8_t* c,
                   IntRange* sums);
  // Extends *sums alone.
  void (*add_range)(const std::uint8_t* a, const std::uint8_t* b, std::size_t n,
                    const AddTerms& terms, IntRange* sums);

  // int8 and uint8.
  ByScalar<PairFunction<AddArgs>> add;
  ByScalar<PairFunction<MulArgs>> multiply;
};

// Those of the best of Highway's `targets` (dispatch.h).
const ElementKernels& ElementKernelsFor(std::int64_t targets);

}  // namespace ruy_like::quantize_internal

#endif  // RUY_LIKE_QUANTIZE_LOOPS_ELEMENT_KERNELS_H_
