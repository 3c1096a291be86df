// Quantization toolkit, public: ByteTable, any function of one value as a table
// of 256 bytes; and Requantize of 8-bit tensors, which is one.
//
// For activations that are not fused into the layer before them. ReLU and ReLU6
// need no table: they are an output's qmin and qmax.
#ifndef RUY_LIKE_QUANTIZE_BYTE_TABLE_H_
#define RUY_LIKE_QUANTIZE_BYTE_TABLE_H_

#include <array>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ruy_like/context.h"
#include "ruy_like/export.h"
#include "ruy_like/quantize/checks/erased.h"
#include "ruy_like/quantize/quant_params.h"
#include "ruy_like/quantize/tensor.h"
#include "ruy_like/scalar.h"

namespace ruy_like {

// 1 / (1 + exp(-x))
RUY_LIKE_EXPORT float Sigmoid(float x);
// x * min(max(x + 3, 0), 6) / 6
RUY_LIKE_EXPORT float HardSwish(float x);
// x, or slope * x below 0.
RUY_LIKE_EXPORT float LeakyRelu(float x, float slope);

// Immutable once made: any number of threads may use one at once.
class RUY_LIKE_EXPORT ByteTable final {
 public:
  // For tensors of elements In with the parameters `input`, into Out with
  // `output`; both are int8_t or uint8_t. The element for q is
  //
  //   clamp(round(function(input.scale * (q - input.zero_point)) *
  //               float(1 / output.scale)) + output.zero_point)
  //
  // to [output.qmin, output.qmax], rounded half away from zero, the zero point
  // for NaN: what TensorFlow Lite fills its tables with. `function` is called
  // once for every q that In holds. InvalidArgument for bad QuantParams and an
  // output.scale below 2^-128, whose inverse no float holds.
  template <typename In, typename Out, typename Function>
  static absl::StatusOr<ByteTable> Make(const QuantParams& input,
                                        const QuantParams& output,
                                        const Function& function) {
    quantize_internal::CheckBytes<In, Out>();
    float results[256];
    for (int bits = 0; bits < 256; ++bits) {
      const std::int64_t q = static_cast<In>(bits);
      results[bits] =
          function(input.scale * static_cast<float>(q - input.zero_point));
    }
    return MakeErased(internal::ScalarOf<In>(), input,
                      internal::ScalarOf<Out>(), output, results);
  }

  // The same for the identity in TensorFlow Lite's arithmetic for QUANTIZE of
  // 8-bit tensors, integers throughout:
  //
  //   clamp((q - input.zero_point) * (input.scale / output.scale) +
  //         output.zero_point)
  //
  // with MultiplyByQuantizedMultiplierLegacy (multiplier.h).
  template <typename In, typename Out>
  static absl::StatusOr<ByteTable> MakeRequantize(const QuantParams& input,
                                                  const QuantParams& output) {
    quantize_internal::CheckBytes<In, Out>();
    return MakeErased(internal::ScalarOf<In>(), input,
                      internal::ScalarOf<Out>(), output, nullptr);
  }

  // For ApplyTable: the element for q, by the bits of q.
  std::uint8_t operator[](std::uint8_t bits) const { return bytes_[bits]; }
  // All of them, by the bits of q: what PostOps::table takes, for products
  // whose dst are inputs of this table.
  absl::Span<const std::uint8_t> bytes() const { return bytes_; }
  Scalar in() const { return in_; }
  Scalar out() const { return out_; }
  const QuantParams& input() const { return input_; }
  const QuantParams& output() const { return output_; }

  // For the templates above: made from 256 results, by the bits of q; null:
  // from the identity. Both types are of 8 bits.
  static absl::StatusOr<ByteTable> MakeErased(Scalar in,
                                              const QuantParams& input,
                                              Scalar out,
                                              const QuantParams& output,
                                              const float* results);

 private:
  ByteTable() = default;

  std::array<std::uint8_t, 256> bytes_ = {};
  Scalar in_ = Scalar::kI8, out_ = Scalar::kI8;
  QuantParams input_, output_;
};

namespace quantize_internal {

RUY_LIKE_EXPORT absl::Status ApplyTable(const Erased& input,
                                        const ByteTable& table,
                                        Context* context, const Erased& output);
RUY_LIKE_EXPORT absl::Status RequantizeTensor(const Erased& input,
                                              Context* context,
                                              const Erased& output);

}  // namespace quantize_internal

// output[i] = table[input[i]]. output may be input itself, but not overlap it
// otherwise. Null `context`: on this thread. InvalidArgument, with output
// untouched, for null, sizes that differ, and tensors with other types or
// parameters than the table was made for; OutOfRange for tensors whose bytes
// cannot be counted.
template <typename In, typename Out>
absl::Status ApplyTable(const TensorView<In>& input, const ByteTable& table,
                        Context* context, TensorView<Out>* output) {
  quantize_internal::CheckBytes<In, Out>();
  return quantize_internal::ApplyTable(input, table, context, output);
}

// From input's parameters to output's: ApplyTable with MakeRequantize.
template <typename In, typename Out>
absl::Status Requantize(const TensorView<In>& input, Context* context,
                        TensorView<Out>* output) {
  quantize_internal::CheckBytes<In, Out>();
  return quantize_internal::RequantizeTensor(input, context, output);
}

}  // namespace ruy_like

#endif  // RUY_LIKE_QUANTIZE_BYTE_TABLE_H_
