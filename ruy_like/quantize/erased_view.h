// ruy_like::quantize, part of the public headers: spans and matrices with their
// element type erased, so that operations are compiled once and not in every
// caller. Not for callers' use.
#ifndef RUY_LIKE_QUANTIZE_ERASED_VIEW_H_
#define RUY_LIKE_QUANTIZE_ERASED_VIEW_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "ruy_like/context.h"
#include "ruy_like/export.h"
#include "ruy_like/matrix.h"
#include "ruy_like/mul_params.h"
#include "ruy_like/quantize/quant_params.h"

namespace ruy_like {
namespace quantize_internal {

enum class ElementType : std::uint8_t { kF32, kI8, kU8, kI16, kI32 };

template <typename T>
constexpr ElementType TypeOf() {
  using Element = typename std::remove_const<T>::type;
  static_assert(std::is_same<Element, float>::value ||
                    std::is_same<Element, std::int8_t>::value ||
                    std::is_same<Element, std::uint8_t>::value ||
                    std::is_same<Element, std::int16_t>::value ||
                    std::is_same<Element, std::int32_t>::value,
                "elements are float, int8, uint8, int16 or int32");
  if (std::is_same<Element, float>::value) return ElementType::kF32;
  if (std::is_same<Element, std::int8_t>::value) return ElementType::kI8;
  if (std::is_same<Element, std::uint8_t>::value) return ElementType::kU8;
  if (std::is_same<Element, std::int16_t>::value) return ElementType::kI16;
  return ElementType::kI32;
}

// A span is a matrix of one row. A null Matrix* has no data and rows = -1.
struct View {
  const void* data = nullptr;
  ElementType type = ElementType::kF32;
  bool is_const = true;
  Layout layout;
};

template <typename T>
View ViewOf(absl::Span<T> span) {
  View view;
  view.data = span.data();
  view.type = TypeOf<T>();
  view.is_const = std::is_const<T>::value;
  MakeSimpleLayout(1, static_cast<std::ptrdiff_t>(span.size()),
                   Order::kRowMajor, &view.layout);
  return view;
}

template <typename T>
View ViewOf(const Matrix<T>& matrix) {
  View view;
  view.data = matrix.data();
  view.type = TypeOf<T>();
  view.is_const = matrix.data_is_const();
  view.layout = matrix.layout();
  return view;
}

template <typename T>
View ViewOf(const Matrix<T>* matrix) {
  if (matrix != nullptr) return ViewOf(*matrix);
  View view;
  view.layout.set_rows(-1);
  return view;
}

RUY_LIKE_EXPORT absl::Status Quantize(const View& x,
                                      absl::Span<const QuantParams> params,
                                      ChannelDimension channels, const View& q,
                                      Context* context);
RUY_LIKE_EXPORT absl::Status Dequantize(const View& q,
                                        absl::Span<const QuantParams> params,
                                        ChannelDimension channels,
                                        const View& x, Context* context);

// False of none.
RUY_LIKE_EXPORT bool SameZeroPoints(absl::Span<const QuantParams> params);

}  // namespace quantize_internal
}  // namespace ruy_like

#endif  // RUY_LIKE_QUANTIZE_ERASED_VIEW_H_
