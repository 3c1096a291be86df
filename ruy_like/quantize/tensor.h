// Quantization toolkit, public: TensorView, how callers describe the
// activations that the network operations (conv.h, pooling.h, ...) read and
// write.
//
// Owns and checks no memory: the operations validate what they are given. A
// matrix product alone needs none of this, only Matrix.
#ifndef RUY_LIKE_QUANTIZE_TENSOR_H_
#define RUY_LIKE_QUANTIZE_TENSOR_H_

#include <cstddef>
#include <cstdint>

#include "ruy_like/quantize/quant_params.h"

namespace ruy_like {

// The index that runs fastest in memory: channels (kNhwc) or columns (kNchw).
enum class TensorOrder : std::uint8_t { kNhwc, kNchw };

// Counts of elements, in either order of memory. Elements lie without gaps.
struct TensorShape {
  std::ptrdiff_t batch = 1;
  std::ptrdiff_t height = 1;
  std::ptrdiff_t width = 1;
  std::ptrdiff_t channels = 1;
  TensorOrder order = TensorOrder::kNhwc;
};

inline bool operator==(const TensorShape& a, const TensorShape& b) {
  return a.batch == b.batch && a.height == b.height && a.width == b.width &&
         a.channels == b.channels && a.order == b.order;
}
inline bool operator!=(const TensorShape& a, const TensorShape& b) {
  return !(a == b);
}

// A view of a caller-owned buffer, aligned as T is. Inputs have T int8_t or
// uint8_t, const or not; outputs these, or int32_t (raw accumulators) or float
// where an operation says so, and `params` is then not used. FullyConnected and
// the convolutions have int16_t, too.
//
// params.qmin and qmax of an output are the bounds that its values are clamped
// to: a fused ReLU is a qmin equal to the zero point.
template <typename T>
struct TensorView {
  T* data = nullptr;
  TensorShape shape;
  QuantParams params;
};

}  // namespace ruy_like

#endif  // RUY_LIKE_QUANTIZE_TENSOR_H_
