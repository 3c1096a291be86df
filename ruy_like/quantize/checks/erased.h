// Quantization toolkit, part of its public headers but not for callers' use:
// spans, matrices and tensors without their element type, so that operations
// are compiled once and not in every caller.
#ifndef RUY_LIKE_QUANTIZE_CHECKS_ERASED_H_
#define RUY_LIKE_QUANTIZE_CHECKS_ERASED_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "absl/types/span.h"
#include "ruy_like/erased_call.h"
#include "ruy_like/matrix.h"
#include "ruy_like/quantize/quant_params.h"
#include "ruy_like/quantize/tensor.h"
#include "ruy_like/scalar.h"

namespace ruy_like::quantize_internal {

// One of the three, or a null pointer to a Matrix or TensorView: converted from
// them where a function without types is called.
struct Erased {
  Erased() = default;
  template <typename T>
  Erased(absl::Span<T> span)  // NOLINT
      : data(span.data()),
        scalar(internal::ScalarOf<std::remove_const_t<T>>()),
        is_const(std::is_const<T>::value) {
    MakeSimpleLayout(1, static_cast<std::ptrdiff_t>(span.size()),
                     Order::kRowMajor, &layout);
  }
  template <typename T>
  Erased(const Matrix<T>& matrix)  // NOLINT
      : data(matrix.data()),
        scalar(internal::ScalarOf<T>()),
        is_const(matrix.data_is_const()),
        layout(matrix.layout()) {}
  template <typename T>
  Erased(const TensorView<T>& tensor)  // NOLINT
      : data(tensor.data),
        scalar(internal::ScalarOf<std::remove_const_t<T>>()),
        is_const(std::is_const<T>::value),
        is_tensor(true),
        shape(tensor.shape),
        params(tensor.params) {}
  template <typename T>
  Erased(const T* pointer)  // NOLINT
      : Erased(pointer != nullptr ? Erased(*pointer) : Erased()) {
    is_null = pointer == nullptr;
  }

  const void* data = nullptr;
  Scalar scalar = Scalar::kF32;
  bool is_const = true;
  bool is_null = false;
  // Spans (as matrices of one row) and matrices.
  Layout layout;
  // Tensors.
  bool is_tensor = false;
  TensorShape shape;
  QuantParams params;
};

template <typename T>
constexpr bool IsByte() {
  return Is8Bit(internal::ScalarOf<std::remove_const_t<T>>());
}
template <typename... T>
constexpr void CheckBytes() {
  static_assert((IsByte<T>() && ...), "elements are int8 or uint8");
}
// Element-wise operations.
template <typename Out, typename... In>
constexpr void CheckSameBytes() {
  static_assert(IsByte<Out>() &&
                    (std::is_same<std::remove_const_t<In>, Out>::value && ...),
                "all tensors have elements of one type, int8 or uint8");
}
// Types of activations, whose QuantParams count.
constexpr bool IsActivation(Scalar scalar) {
  return Is8Bit(scalar) || scalar == Scalar::kI16;
}

// Layers.
template <typename In, typename Out>
constexpr void CheckLayerTypes() {
  constexpr bool kIsInt16 =
      std::is_same<std::remove_const_t<In>, std::int16_t>::value;
  static_assert(IsByte<In>() || kIsInt16,
                "inputs of layers are int8, uint8 or int16");
  static_assert(
      !std::is_const<Out>::value &&
          (std::is_same<Out, std::int32_t>::value ||
           (kIsInt16 ? std::is_same<Out, std::int16_t>::value
                     : IsByte<Out>() || std::is_same<Out, float>::value)),
      "outputs of layers are int8, uint8, int32 or float, those of "
      "int16 inputs int16 or int32");
}

}  // namespace ruy_like::quantize_internal

#endif  // RUY_LIKE_QUANTIZE_CHECKS_ERASED_H_
