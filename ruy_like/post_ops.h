// Public: PostOps, what follows a product within the same call, and zero points
// of rows and columns.
#ifndef RUY_LIKE_POST_OPS_H_
#define RUY_LIKE_POST_OPS_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "ruy_like/activation.h"
#include "ruy_like/matrix.h"
#include "ruy_like/scalar.h"

namespace ruy_like {

// Nothing; or a matrix of dst's shape, in either order with any stride, of
// floats or of dst's type; or one float per channel (MulParams'
// channel_dimension). Borrows the elements.
class PostOperand final {
 public:
  PostOperand() = default;
  template <typename T>
  PostOperand(const Matrix<T>& matrix)  // NOLINT: implicit
      : PostOperand(matrix.data(), internal::ScalarOf<T>(), matrix.layout()) {}
  PostOperand(const void* data, Scalar scalar, const Layout& layout)
      : data_(data), scalar_(scalar), layout_(layout), kind_(Kind::kMatrix) {}
  static PostOperand PerChannel(absl::Span<const float> values) {
    PostOperand operand;
    operand.data_ = values.data();
    operand.kind_ = Kind::kPerChannel;
    operand.channels_ = static_cast<std::ptrdiff_t>(values.size());
    return operand;
  }

  bool is_none() const { return kind_ == Kind::kNone; }
  bool is_per_channel() const { return kind_ == Kind::kPerChannel; }
  const void* data() const { return data_; }
  Scalar scalar() const { return scalar_; }
  // A matrix's.
  const Layout& layout() const { return layout_; }
  // The number of values per channel.
  std::ptrdiff_t channels() const { return channels_; }

 private:
  enum class Kind : unsigned char { kNone, kMatrix, kPerChannel };

  const void* data_ = nullptr;
  Scalar scalar_ = Scalar::kF32;
  Layout layout_;
  Kind kind_ = Kind::kNone;
  std::ptrdiff_t channels_ = 0;
};

// dst = clamp(activation(acc + beta * dst + bias) * factor + residual)
//
// where acc is the sum of products, scaled if the product is, and each further
// step is rounded to float. For products whose dst is float or a 16-bit float
// and whose accumulators are not double. Bits do not depend on path, threads
// nor batch: doc/numerics.md.
//
// Products of integers may have zero points of rows and columns, for any dst,
// and a table, for a dst of 8 bits. They are the same for all products of a
// MulBatch.
//
// A plain struct: set what differs from the defaults. Given to MulParams and
// GroupMulParams by pointer; must stay valid during the call.
struct PostOps {
  Activation activation = Activation::kNone;
  // kLeakyRelu's: one slope, or one per channel. ReLU has 0, or a clamp.
  float slope = 0;
  absl::Span<const float> slope_perchannel;
  PostOperand factor;
  // May be dst itself: the same matrix, with dst's order and stride. Otherwise
  // neither operand may share elements with dst.
  PostOperand residual;
  // A zero point for each row of lhs, for each column of rhs, in place of the
  // Matrix's, which must be 0. Of 8-bit operands; any values. Empty: none.
  absl::Span<const std::int32_t> lhs_zero_points, rhs_zero_points;
  // 256 bytes: a dst of 8 bits becomes table[dst], its bits as an index. dst's
  // zero point and bounds are those before the table. Empty: none.
  absl::Span<const std::uint8_t> table;
};

}  // namespace ruy_like

#endif  // RUY_LIKE_POST_OPS_H_
