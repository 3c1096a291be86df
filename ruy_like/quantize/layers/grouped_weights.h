// Quantization toolkit, internal: the weights of a convolution that loops of
// the toolkit's own may compute, packed for them once the first call gives the
// kernel's size.
//
// Owned by PackedWeights, used by conv.cc.
#ifndef RUY_LIKE_QUANTIZE_LAYERS_GROUPED_WEIGHTS_H_
#define RUY_LIKE_QUANTIZE_LAYERS_GROUPED_WEIGHTS_H_

#include <cstddef>
#include <cstdint>
#include <forward_list>
#include <mutex>
#include <vector>

#include "absl/types/span.h"
#include "ruy_like/matrix.h"
#include "ruy_like/quantize/loops/grouped_layout.h"
#include "ruy_like/quantize/packed_weights.h"
#include "ruy_like/quantize/quant_params.h"
#include "ruy_like/quantize/tensor.h"
#include "ruy_like/quantize/workspace.h"

namespace ruy_like::quantize_internal {

// Thread-safe.
class GroupedWeights final {
 public:
  // A copy of valid weights.
  explicit GroupedWeights(const Matrix<std::int8_t>& weights);

  // Weights, whose zero point is 0, in that layout, of the rows' order that
  // goes with tensors of `order`. Made at the first call with these arguments,
  // and kept. Null without memory, and beyond a few layouts, since none is ever
  // dropped.
  const std::int8_t* For(const GroupedLayout& layout, TensorOrder order);

  // The same for winograd_kernels.h, of one group and kernels of 3x3: 4 * G g
  // Gt in blocks of so many output channels, the last one filled up with zeros,
  // in the order (block, point, pair of input channels, output channel, input
  // channel of the pair). 32 bytes for 9 weights.
  const std::int16_t* Winograd(std::ptrdiff_t block, TensorOrder order);

  // The same weights, of one input channel for each group, with their params,
  // which are the same in each call. Made at the first call; null without
  // memory.
  const DepthwiseWeights* Depthwise(absl::Span<const QuantParams> params);

  // The sum of each output channel's weights.
  const std::int32_t* sums() const { return sums_.data(); }

 private:
  struct Packed {
    GroupedForm form;
    std::ptrdiff_t taps;
    TensorOrder order;
    Workspace memory;
    const std::int8_t* data;
  };

  // The weights that pack(zeroed bytes) made at the first call.
  template <typename Function>
  const std::int8_t* Keep(const GroupedForm& form, std::ptrdiff_t taps,
                          TensorOrder order, std::ptrdiff_t bytes,
                          const Function& pack);
  void Pack(const GroupedLayout& layout, TensorOrder order,
            std::int8_t* to) const;
  void Transform(std::ptrdiff_t block, TensorOrder order,
                 std::int16_t* to) const;

  std::ptrdiff_t depth_;
  std::vector<std::int8_t> rows_;
  std::vector<std::int32_t> sums_;
  std::mutex mutex_;
  std::forward_list<Packed> packed_;
  DepthwiseWeights depthwise_;
  int count_ = 0;
};

}  // namespace ruy_like::quantize_internal

#endif  // RUY_LIKE_QUANTIZE_LAYERS_GROUPED_WEIGHTS_H_
