// Quantization toolkit, public: QuantParams, how a quantized tensor stands for
// real numbers, and how its scale and zero point follow from a range.
//
// Everything else in quantize/ includes this. Where the range comes from is
// calibration's business (observer.h), and how numbers are rounded that of
// quantize.h's operations.
#ifndef RUY_LIKE_QUANTIZE_QUANT_PARAMS_H_
#define RUY_LIKE_QUANTIZE_QUANT_PARAMS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ruy_like/export.h"
#include "ruy_like/scalar.h"

namespace ruy_like {

// real = scale * (stored - zero_point), for stored values in [qmin, qmax].
//
// scale is the step between neighbouring values, never its inverse: some tables
// of the field list 127 / threshold, to be inverted where they are read.
struct QuantParams {
  float scale = 1;
  std::int32_t zero_point = 0, qmin = -128, qmax = 127;
};

inline bool operator==(const QuantParams& a, const QuantParams& b) {
  return a.scale == b.scale && a.zero_point == b.zero_point &&
         a.qmin == b.qmin && a.qmax == b.qmax;
}
inline bool operator!=(const QuantParams& a, const QuantParams& b) {
  return !(a == b);
}

// The range of int8 values with these parameters, for Matrix::set_value_range.
inline ValueRange RangeOfInt8(const QuantParams& params) {
  return params.qmin >= -63 && params.qmax <= 63 ? ValueRange::kInt7
                                                 : ValueRange::kFull;
}

enum class ScaleRounding : std::uint8_t {
  kExact,
  // Up to the next power of two: a requantization by such scales is a shift.
  kPowerOfTwo,
};

// How real numbers become stored ones.
enum class Rounding : std::uint8_t {
  // x * float(1 / scale), halves away from zero.
  kHalfAwayFromZero,
  // x / scale, halves to even: ONNX's QuantizeLinear and DynamicQuantizeLinear.
  kHalfToEven,
};

// Zero point 0 and the range [-qmax, qmax], where qmax = 2^(bits - 1) - 1 (127
// for 8 bits, 63 for 7): -128 is never used. scale = absmax / qmax.
//
// A scale that would be 0 or subnormal counts as 0, and 0 gives scale 1: an
// all-zero tensor is stored as zeros. InvalidArgument for an absmax that is
// negative or not finite, for bits outside [2, 16], for an unknown rounding,
// and where no float is large enough a power of two.
RUY_LIKE_EXPORT absl::StatusOr<QuantParams> ChooseSymmetric(
    float absmax, int bits, ScaleRounding rounding = ScaleRounding::kExact);

// Maps [lo, hi], widened to include 0 (so that padding and ReLU are exact), to
// [qmin, qmax]. The zero point is a stored value: dequantizing it gives exactly
// 0. Either end of the range gives a zero point; the one that suffers
// less from cancellation is rounded (half away from zero). With kHalfToEven the
// scale and the zero point of ONNX's DynamicQuantizeLinear, in its order and in
// floats: (hi - lo) / (qmax - qmin) and qmin - lo / scale.
//
// lo == hi == 0, and a scale that would be subnormal, give scale 1 and the
// zero point nearest to 0. InvalidArgument for lo > hi, for bounds that are not
// finite, for qmin >= qmax or bounds outside [-2^23, 2^23], for a scale that no
// float holds, and for an unknown rounding.
RUY_LIKE_EXPORT absl::StatusOr<QuantParams> ChooseAffine(
    float lo, float hi, int qmin, int qmax,
    Rounding rounding = Rounding::kHalfAwayFromZero);

// InvalidArgument, naming `what`, unless scale is positive and finite, qmin <=
// qmax, and [qmin, qmax] and the zero point lie within [lowest, highest], what
// the stored type holds.
RUY_LIKE_EXPORT absl::Status ValidateQuantParams(const QuantParams& params,
                                                 std::int32_t lowest,
                                                 std::int32_t highest,
                                                 const char* what);

}  // namespace ruy_like

#endif  // RUY_LIKE_QUANTIZE_QUANT_PARAMS_H_
