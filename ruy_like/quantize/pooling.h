// Quantization toolkit, public: average and max pooling of quantized tensors.
//
// Values stay in the scale of the input; nothing is requantized.
#ifndef RUY_LIKE_QUANTIZE_POOLING_H_
#define RUY_LIKE_QUANTIZE_POOLING_H_

#include <cstdint>

#include "absl/status/status.h"
#include "ruy_like/context.h"
#include "ruy_like/export.h"
#include "ruy_like/quantize/checks/erased.h"
#include "ruy_like/quantize/tensor.h"
#include "ruy_like/quantize/window.h"
#include "ruy_like/quantize/workspace.h"

namespace ruy_like {

// The elements in an average where a window reaches beyond the image.
enum class AveragePadding : std::uint8_t {
  // Elements of the image alone (TensorFlow; ONNX: count_include_pad = 0).
  kExclude,
  // Padding, too, as elements that are zero (count_include_pad = 1); but not
  // what Window::round_up lets the last window see beyond it.
  kInclude,
};

namespace quantize_internal {

enum class Pooling : std::uint8_t { kMax, kAverage };

RUY_LIKE_EXPORT absl::Status Pool(const Erased& input, const Window& window,
                                  Pooling pooling,
                                  AveragePadding average_padding,
                                  Workspace* workspace, Context* context,
                                  const Erased& output);

}  // namespace quantize_internal

// output = the largest of the input elements of the same channel in the window,
// clamped to [output.qmin, output.qmax]. Padding is never the largest; a window
// on padding alone gives output.qmin.
//
// input and output have one type, int8_t or uint8_t, one order, scale and zero
// point; output's shape is OutputShape(input.shape, window, input channels). No
// `workspace`: memory is taken for the call where it is needed (kNchw). Null
// `context`: on this thread.
//
// InvalidArgument, with output untouched, for null, sizes that do not agree,
// bad or different QuantParams, memory that input and output share, a window of
// more than 2^22 elements; OutOfRange for tensors whose bytes cannot be
// counted; ResourceExhausted.
template <typename In, typename T>
absl::Status MaxPool2D(const TensorView<In>& input, const Window& window,
                       Workspace* workspace, Context* context,
                       TensorView<T>* output) {
  quantize_internal::CheckSameBytes<T, In>();
  return quantize_internal::Pool(
      input, window, quantize_internal::Pooling::kMax, AveragePadding::kExclude,
      workspace, context, output);
}

// output = the mean of the stored values, rounded half away from zero, clamped.
// A window on padding alone gives the zero point. Else as MaxPool2D.
template <typename In, typename T>
absl::Status AveragePool2D(
    const TensorView<In>& input, const Window& window, Workspace* workspace,
    Context* context, TensorView<T>* output,
    AveragePadding average_padding = AveragePadding::kExclude) {
  quantize_internal::CheckSameBytes<T, In>();
  return quantize_internal::Pool(input, window,
                                 quantize_internal::Pooling::kAverage,
                                 average_padding, workspace, context, output);
}

}  // namespace ruy_like

#endif  // RUY_LIKE_QUANTIZE_POOLING_H_
