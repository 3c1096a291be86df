// Quantization toolkit, public: sums of quantized tensors with scales of their
// own, in the arithmetic of TensorFlow's quantized graphs: uint8 codes with a
// range, to int32 over a wide range that follows from the operands', or to
// uint8.
//
// An operand may be shorter than the other one: of one element, which is added
// to all, or as long as the other one's last dimension (any divisor of its
// length), which is repeated.
//
// Errors are InvalidArgument, with the destination untouched: null data,
// lengths that do not go together, a destination of another length than the
// longer operand or sharing memory with one, a min above its max, ranges that
// are not finite or whose sum is not. Empty operands are OK. On the Context and
// its threads see quantize_dequantize.h.
#ifndef RUY_LIKE_QUANTIZE_QUANTIZED_ADD_H_
#define RUY_LIKE_QUANTIZE_QUANTIZED_ADD_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ruy_like/context.h"
#include "ruy_like/export.h"

namespace ruy_like {

struct FloatRange {
  float min = 0;
  float max = 0;
};

inline bool operator==(const FloatRange& a, const FloatRange& b) {
  return a.min == b.min && a.max == b.max;
}

// Code q stands for min + q * (max - min) / 255. Borrowed.
struct RangedCodes {
  absl::Span<const std::uint8_t> codes;
  FloatRange range;
};

// c stands for the returned range in 2^32 steps: value = c * max / 2^31. The
// range is symmetric and 2^17 times as wide as the wider operand's, so that
// 2^17 such sums can be added up before they overflow; 15 bits are left for
// each operand.
//
//   c = (a * a_factor + b * b_factor + offset + 2^13) >> 14
//
// with an operand's zero code rounded to an integer, as TensorFlow has it: that
// shifts an operand by up to half a step, and makes its 0 exact.
//
// All-zero ranges give zeros and the range [0, 0].
RUY_LIKE_EXPORT absl::StatusOr<FloatRange> QuantizedAdd8p8To32(
    const RangedCodes& a, const RangedCodes& b, absl::Span<std::int32_t> c,
    Context* context = nullptr);

enum class AddRange : std::uint8_t {
  // [a.min + b.min, a.max + b.max]: one pass. Where one operand's step is at
  // least 256 times the other one's, its codes are taken as they are, and the
  // range is shifted by the middle of the other one's.
  kExact,
  // The range of the sums. With a guess of it, one pass if that covers it,
  // else a second one over the union of both; without a guess always two.
  kTight,
};

struct Add8p8To8Options {
  AddRange range = AddRange::kExact;
  std::optional<FloatRange> guess;  // kTight
};

struct Add8p8To8Result {
  FloatRange range;  // of c, coded as the operands are
  int passes = 0;    // over the operands: 1 or 2, 0 for none
};

// c = clamp(round((a + b - range.min) * 255 / (range.max - range.min)), 0,
// 255), for the real numbers a and b that the operands' codes stand for. At
// most 1 off that, and only within 2^-7 of where the rounding turns.
//
// A range of one number, [x, x], has codes 0. InvalidArgument also for a guess
// whose min is above its max or that is not finite.
RUY_LIKE_EXPORT absl::StatusOr<Add8p8To8Result> QuantizedAdd8p8To8(
    const RangedCodes& a, const RangedCodes& b, const Add8p8To8Options& options,
    absl::Span<std::uint8_t> c, Context* context = nullptr);

}  // namespace ruy_like

#endif  // RUY_LIKE_QUANTIZE_QUANTIZED_ADD_H_
