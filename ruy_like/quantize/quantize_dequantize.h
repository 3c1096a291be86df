// Quantization toolkit, public: float to stored integers and back, per tensor,
// per channel, and for the accumulators of an integer product.
//
// Q is int8_t, uint8_t, int16_t or int32_t throughout. Quantization rounds half
// away from zero and multiplies by float(1 / scale), computed once:
//
//   q = clamp(round(x * inverse scale) + zero point, qmin, qmax)
//   x = (q - zero point) * scale
//
// Rounding::kHalfToEven has ONNX's round(x / scale) instead, half to even.
// NaN gives the zero point, infinities saturate. The same bits on every path,
// thread count and platform: no contraction, no estimates, whatever the
// caller's floating-point state.
//
// A Context lends its threads and its permitted paths; without one, the work is
// done on this thread, on the paths that RUY_LIKE_PATHS permits. As with Mul,
// calls with one Context take turns, and a task that runs on a Context's own
// threads must not use it.
//
// Errors are InvalidArgument, with the destination untouched: null data, spans
// or matrices that differ in size or share memory (an int32 and a float operand
// of Dequantize and DequantizeAcc may be the same memory, of one layout),
// layouts or enumerators that are not valid, parameters that
// ValidateQuantParams refuses for Q, to quantize also scales below 2^-128,
// whose inverse no float holds. OutOfRange for matrices whose bytes cannot be
// counted. An empty tensor is OK.
#ifndef RUY_LIKE_QUANTIZE_QUANTIZE_DEQUANTIZE_H_
#define RUY_LIKE_QUANTIZE_QUANTIZE_DEQUANTIZE_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "ruy_like/context.h"
#include "ruy_like/export.h"
#include "ruy_like/matrix.h"
#include "ruy_like/mul_params.h"
#include "ruy_like/quantize/checks/erased.h"
#include "ruy_like/quantize/quant_params.h"

namespace ruy_like {
namespace quantize_internal {

RUY_LIKE_EXPORT absl::Status Quantize(const Erased& x,
                                      absl::Span<const QuantParams> params,
                                      ChannelDimension channels,
                                      const Erased& q, Context* context,
                                      Rounding rounding);
RUY_LIKE_EXPORT absl::Status Dequantize(const Erased& q,
                                        absl::Span<const QuantParams> params,
                                        ChannelDimension channels,
                                        const Erased& x, Context* context);

// False if `params` is empty.
RUY_LIKE_EXPORT bool SameZeroPoints(absl::Span<const QuantParams> params);

// The integer types of tensors.
template <typename Q>
constexpr void CheckStoredType() {
  static_assert(!IsFloat(internal::ScalarOf<std::remove_const_t<Q>>()),
                "quantized elements are int8, uint8, int16 or int32");
}

}  // namespace quantize_internal

// ## Spans

template <typename Q>
absl::Status Quantize(absl::Span<const float> x, const QuantParams& params,
                      absl::Span<Q> q, Context* context = nullptr,
                      Rounding rounding = Rounding::kHalfAwayFromZero) {
  quantize_internal::CheckStoredType<Q>();
  return quantize_internal::Quantize(x, {&params, 1}, ChannelDimension::kRow, q,
                                     context, rounding);
}

template <typename Q>
absl::Status Dequantize(absl::Span<const Q> q, const QuantParams& params,
                        absl::Span<float> x, Context* context = nullptr) {
  quantize_internal::CheckStoredType<Q>();
  return quantize_internal::Dequantize(q, {&params, 1}, ChannelDimension::kRow,
                                       x, context);
}

// ## Matrices, per channel and per tensor
//
// Both of one shape, each in either memory order with any stride; only elements
// are written, never the gaps. q gets the zero point too, and is then ready for
// Mul.

// params: one for each row or each column of x, or a single one for all. q gets
// the zero point if all have the same one (symmetric weights have 0); else its
// own is left alone, for Mul knows one zero point per matrix.
template <typename Q>
absl::Status QuantizeChannels(const Matrix<float>& x,
                              absl::Span<const QuantParams> params,
                              ChannelDimension channels, Matrix<Q>* q,
                              Context* context = nullptr,
                              Rounding rounding = Rounding::kHalfAwayFromZero) {
  quantize_internal::CheckStoredType<Q>();
  absl::Status status =
      quantize_internal::Quantize(x, params, channels, q, context, rounding);
  if (status.ok() && quantize_internal::SameZeroPoints(params)) {
    q->set_zero_point(static_cast<Q>(params[0].zero_point));
  }
  return status;
}

template <typename Q>
absl::Status DequantizeChannels(const Matrix<Q>& q,
                                absl::Span<const QuantParams> params,
                                ChannelDimension channels, Matrix<float>* x,
                                Context* context = nullptr) {
  quantize_internal::CheckStoredType<Q>();
  return quantize_internal::Dequantize(q, params, channels, x, context);
}

template <typename Q>
absl::Status QuantizeRows(const Matrix<float>& x,
                          absl::Span<const QuantParams> per_row, Matrix<Q>* q,
                          Context* context = nullptr,
                          Rounding rounding = Rounding::kHalfAwayFromZero) {
  return QuantizeChannels(x, per_row, ChannelDimension::kRow, q, context,
                          rounding);
}

template <typename Q>
absl::Status QuantizeColumns(const Matrix<float>& x,
                             absl::Span<const QuantParams> per_column,
                             Matrix<Q>* q, Context* context = nullptr,
                             Rounding rounding = Rounding::kHalfAwayFromZero) {
  return QuantizeChannels(x, per_column, ChannelDimension::kCol, q, context,
                          rounding);
}

// One set of parameters for the whole matrix.
template <typename Q>
absl::Status Quantize(const Matrix<float>& x, const QuantParams& params,
                      Matrix<Q>* q, Context* context = nullptr,
                      Rounding rounding = Rounding::kHalfAwayFromZero) {
  return QuantizeChannels(x, {&params, 1}, ChannelDimension::kRow, q, context,
                          rounding);
}

template <typename Q>
absl::Status Dequantize(const Matrix<Q>& q, const QuantParams& params,
                        Matrix<float>* x, Context* context = nullptr) {
  return DequantizeChannels(q, {&params, 1}, ChannelDimension::kRow, x,
                            context);
}

// ChooseSymmetric for the largest magnitude of each row or column of x: the
// usual way to quantize weights. InvalidArgument also for elements that are not
// finite.
RUY_LIKE_EXPORT absl::StatusOr<std::vector<QuantParams>>
ChooseSymmetricChannels(const Matrix<float>& x, ChannelDimension channels,
                        int bits,
                        ScaleRounding rounding = ScaleRounding::kExact);

// ## Accumulators

// x = float(acc) * scale + bias, each operation rounded by itself: the end of a
// layer that computes in integers and hands on floats. scale and bias have one
// value per channel (channels of Matrix rows or columns), or one for all; bias
// may be empty. InvalidArgument also for scales that are not positive and
// finite; biases may be any numbers.
RUY_LIKE_EXPORT absl::Status DequantizeAcc(const Matrix<std::int32_t>& acc,
                                           absl::Span<const float> scale,
                                           absl::Span<const float> bias,
                                           ChannelDimension channels,
                                           Matrix<float>* x,
                                           Context* context = nullptr);

}  // namespace ruy_like

#endif  // RUY_LIKE_QUANTIZE_QUANTIZE_DEQUANTIZE_H_
