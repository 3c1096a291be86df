// Quantization toolkit, internal: a grouped convolution by the direct loops of
// grouped_kernels.h instead of one product per group.
//
// Called by conv.cc with checked arguments.
#ifndef RUY_LIKE_QUANTIZE_LAYERS_GROUPED_CONV_H_
#define RUY_LIKE_QUANTIZE_LAYERS_GROUPED_CONV_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "ruy_like/context.h"
#include "ruy_like/quantize/checks/erased.h"
#include "ruy_like/quantize/layers/layer_data.h"
#include "ruy_like/quantize/layers/scratch.h"
#include "ruy_like/quantize/loops/grouped_kernels.h"
#include "ruy_like/quantize/window.h"

namespace ruy_like::quantize_internal {

// One call. All arguments outlive it.
class GroupedConvolution final {
 public:
  GroupedConvolution(const LayerCall& call, const Layer& layer,
                     const Window& window);

  // Whether the loops can run it, and faster than products.
  bool Applies() const { return weights_ != nullptr; }
  // Both only if Applies().
  void Place(Carver* carver);
  absl::Status Run();

 private:
  // Chooses kernels_, and sets weights_ if the loops apply.
  void Plan();

  const LayerCall& call_;
  const Layer& layer_;
  const Window& window_;
  const GroupedKernels* kernels_;
  const Erased output_;
  NhwcTensors tensors_;
  GroupedLayout layout_;
  std::ptrdiff_t staged_height_ = 0, staged_width_ = 0;
  const std::int8_t* weights_ = nullptr;
  std::uint8_t* staged_ = nullptr;
};

}  // namespace ruy_like::quantize_internal

#endif  // RUY_LIKE_QUANTIZE_LAYERS_GROUPED_CONV_H_
