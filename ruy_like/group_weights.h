// Public: weights of 2, 4 or 8 bits with a scale for each group of a row,
// packed ahead (PackedGroupWeights), and Mul with them.
//
// For layers of language models. doc/numerics.md has the arithmetic, whose
// results are the same bits on every path; reference_group_mul.h is its oracle.
#ifndef RUY_LIKE_GROUP_WEIGHTS_H_
#define RUY_LIKE_GROUP_WEIGHTS_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ruy_like/context.h"
#include "ruy_like/erased_call.h"
#include "ruy_like/export.h"
#include "ruy_like/float16.h"
#include "ruy_like/matrix.h"
#include "ruy_like/mul.h"
#include "ruy_like/mul_batch.h"
#include "ruy_like/mul_params.h"
#include "ruy_like/packed_matrix.h"
#include "ruy_like/post_ops.h"
#include "ruy_like/scalar.h"
#include "ruy_like/side.h"

namespace ruy_like {

// Describes rows x depth weights, stored as codes. The weight at (r, k), in
// group g = k / group_size, is
//
//   (value[r, k] - zero_point[r, g]) * scale[r, g]
//
// A plain struct: set what differs from the defaults. All pointers are borrowed
// and needed by PackGroupWeights alone.
struct GroupWeights {
  std::ptrdiff_t rows = 0;
  std::ptrdiff_t depth = 0;
  // 4: unsigned codes 0 to 15, two in a byte, the one of even k in the low
  // nibble. (Codes of -8 to 7 in two's complement become these by flipping the
  // top bit of each nibble, with 8 added to the zero point.) 8: int8. 2: codes
  // 0 to 3, which need a table, four in a byte, the first in the lowest bits.
  int bits = 4;
  // If not null, value[r, k] is table[code] instead of the code: 16 values for
  // 4 bits, 4 for 2 bits; not for 8 bits. So {-1, 0, 1, 2} are ternary
  // weights of 2 bits, and any 16 values of int8 those of a format of 4 bits.
  const std::int8_t* table = nullptr;
  // Elements in a group: a multiple of 16, or 0 for the whole row. The last
  // group of a row may be shorter.
  std::ptrdiff_t group_size = 0;
  // The codes. Row r starts at levels + r * row_stride_bytes; 0 stands for the
  // bytes of a row. Bits of a row's last byte beyond its depth are ignored.
  const void* levels = nullptr;
  std::ptrdiff_t row_stride_bytes = 0;
  // Finite, of either sign, one per (row, group): group g of row r has element
  // r * scale_stride + g. A scale_stride of 0 stands for the number of groups.
  const void* scales = nullptr;
  Scalar scale_type = Scalar::kF32;  // or kBF16, kF16
  std::ptrdiff_t scale_stride = 0;
  // If not null, one per (row, group), indexed like the scales: uint8 of 0 to
  // 15 for 4 bits without a table, else int8. If null, all are zero_point, in
  // the same range; by default the middle of the codes: 8 for 4 bits without a
  // table, else 0.
  const void* zero_points = nullptr;
  std::optional<int> zero_point;
  // If not null, `depth` values: element k of each row is multiplied by element
  // depth_order[k] of a column of activations. Each of 0 to depth - 1 is there
  // once. So groups can be of elements that are not neighbours (the act-order
  // of GPTQ); those of activations (ActivationScales::kPerGroup) are the same.
  const std::int32_t* depth_order = nullptr;

  // The zero point of all groups where zero_points is null.
  int CommonZeroPoint() const {
    return zero_point.value_or(LevelsAreInt8() ? 0 : 8);
  }
  // True: values are int8; false: codes of 0 to 15.
  bool LevelsAreInt8() const { return bits != 4 || table != nullptr; }
  // The bytes of a row without a gap.
  std::ptrdiff_t RowBytes() const {
    const std::ptrdiff_t codes = bits == 2 ? 4 : bits == 4 ? 2 : 1;
    return depth / codes + (depth % codes != 0 ? 1 : 0);
  }

  void set_scales(const float* values) {
    scales = values;
    scale_type = Scalar::kF32;
  }
  void set_scales(const BFloat16* values) {
    scales = values;
    scale_type = Scalar::kBF16;
  }
  void set_scales(const Float16* values) {
    scales = values;
    scale_type = Scalar::kF16;
  }
};

// Internal: packed/group_image.h.
struct GroupImage;

// Packed weights. Immutable: any number of threads and Contexts may use one at
// once. A copy shares the memory. There is one packed form for all paths and
// for both sides of a product. Default-constructed it is 0x0.
class RUY_LIKE_EXPORT PackedGroupWeights final {
 public:
  PackedGroupWeights() = default;
  // For PackGroupWeights and FromBytes.
  explicit PackedGroupWeights(std::shared_ptr<const GroupImage> image)
      : image_(std::move(image)) {}

  std::ptrdiff_t rows() const;
  std::ptrdiff_t depth() const;
  int bits() const;
  // 0 for the whole row.
  std::ptrdiff_t group_size() const;

  // The packed form as bytes, to be written to a file and given to FromBytes:
  // the same for the same weights on any machine of this byte order. Valid as
  // long as this object or a copy of it lives.
  absl::string_view Serialize() const;

  // Weights from what Serialize gave. Refers to the bytes in place, which must
  // stay as they are while the result or a copy of it lives, so that a file may
  // be mapped. `data` must be aligned to 64 bytes; bytes beyond the image are
  // ignored. Reads the header alone, and the depth order, unless the checksum
  // of the data is to be verified.
  //
  // InvalidArgument for a null or misaligned pointer or bytes that are no such
  // image; DataLoss for one that is truncated or damaged; OutOfRange for sizes
  // that no memory holds; FailedPrecondition for another version or byte order.
  static absl::StatusOr<PackedGroupWeights> FromBytes(
      const void* data, std::size_t bytes,
      VerifyChecksum verify = VerifyChecksum::kYes);

  // For the library's own layers; null when default-constructed.
  const GroupImage* image() const { return image_.get(); }

 private:
  std::shared_ptr<const GroupImage> image_;
};

// Packs the weights. InvalidArgument, with a message that names the value, for
// negative sizes, other bits, 2 bits without a table or 8 with one, a group
// size that is no multiple of 16, strides less than a row, null arrays, scales
// that are not finite, zero points out of range, and a depth order that is no
// permutation; OutOfRange for sizes that overflow; ResourceExhausted when there
// is no memory.
RUY_LIKE_EXPORT absl::StatusOr<PackedGroupWeights> PackGroupWeights(
    const GroupWeights& weights, Context* context);

// Mul's settings apart from the product itself:
//
//   dst = clamp(weights * activations + beta * dst + bias)
//
// or, with post_ops, more (post_ops.h). Pointers are borrowed and must
// stay valid during Mul. Below, a "column" is a column of the activations, or a
// row where they are the lhs.
struct GroupMulParams {
  // The scale of each column of int8 activations, or null for 1. Any value is
  // valid.
  const float* activation_scales = nullptr;
  // The zero point of each column of int8 activations, or null for 0.
  const std::int8_t* activation_zero_points = nullptr;
  // How float and bf16 activations are quantized.
  ActivationScales quantize = ActivationScales::kPerColumn;
  // One value per row or column of dst, or null for none.
  const float* bias = nullptr;
  ChannelDimension channel_dimension = ChannelDimension::kRow;
  // Inclusive bounds of dst's values, before they are rounded to dst's type. A
  // NaN stays NaN.
  float clamp_min = -std::numeric_limits<float>::infinity();
  float clamp_max = std::numeric_limits<float>::infinity();
  // The factor of dst's old elements. With 0 they are not read.
  float beta = 0;
  const PostOps* post_ops = nullptr;
};

namespace internal {

RUY_LIKE_EXPORT void EraseWeights(const PackedGroupWeights& weights, Side side,
                                  ErasedMatrix* erased);

template <>
struct CallOf<GroupMulParams> {
  template <typename LhsMatrix, typename RhsMatrix, typename Dst>
  static constexpr bool Check() {
    constexpr bool kAreLhs = std::is_same<LhsMatrix, PackedGroupWeights>::value;
    using Activation = std::remove_const_t<typename ElementOf<
        std::conditional_t<kAreLhs, RhsMatrix, LhsMatrix>>::Type>;
    static_assert(std::is_same<Activation, std::int8_t>::value ||
                      std::is_same<Activation, float>::value ||
                      std::is_same<Activation, BFloat16>::value,
                  "activations are int8_t, float or BFloat16");
    static_assert(
        std::is_same<Dst, float>::value || std::is_same<Dst, BFloat16>::value,
        "dst is float or BFloat16");
    return true;
  }

  template <typename T, typename Dst>
  static void Fill(const PackedGroupWeights& lhs, const Matrix<T>& rhs,
                   const GroupMulParams& params, const Matrix<Dst>& dst,
                   int max_num_threads, MulCall* call) {
    EraseWeights(lhs, Side::kLhs, &call->lhs);
    Erase(rhs, &call->rhs);
    Erase(dst, &call->dst);
    Complete(params, /*weights_are_lhs=*/true, max_num_threads, call);
  }
  template <typename T, typename Dst>
  static void Fill(const Matrix<T>& lhs, const PackedGroupWeights& rhs,
                   const GroupMulParams& params, const Matrix<Dst>& dst,
                   int max_num_threads, MulCall* call) {
    Erase(lhs, &call->lhs);
    EraseWeights(rhs, Side::kRhs, &call->rhs);
    Erase(dst, &call->dst);
    Complete(params, /*weights_are_lhs=*/false, max_num_threads, call);
  }

 private:
  // All but the matrices.
  RUY_LIKE_EXPORT static void Complete(const GroupMulParams& params,
                                       bool weights_are_lhs,
                                       int max_num_threads, MulCall* call);
};

template <typename T, typename Accum, typename Dst>
struct ItemParams<PackedGroupWeights, Matrix<T>, Accum, Dst> {
  using Type = GroupMulParams;
};
template <typename T, typename Accum, typename Dst>
struct ItemParams<Matrix<T>, PackedGroupWeights, Accum, Dst> {
  using Type = GroupMulParams;
};

}  // namespace internal

// dst = clamp(weights * rhs + bias): dst is rows x cols, rhs depth x cols, of
// int8_t, float or BFloat16, dst of float or BFloat16; each in either order
// with any stride. Errors as of Mul of plain matrices: a Status, with dst
// untouched. A column's bits depend neither on the other columns, nor on
// threads, nor on the path. Zero points of Matrix are not used and must be 0.
template <typename Activation, typename Dst>
absl::Status Mul(const PackedGroupWeights& lhs, const Matrix<Activation>& rhs,
                 const GroupMulParams& params, Context* context,
                 Matrix<Dst>* dst, const MulOptions& options = MulOptions()) {
  return internal::MulOperands(lhs, rhs, params, context, dst, options);
}

// The same with the weights, which are still rows x depth, on the right:
// dst = clamp(lhs * transpose(weights) + bias), lhs is n x depth, dst n x rows.
template <typename Activation, typename Dst>
absl::Status Mul(const Matrix<Activation>& lhs, const PackedGroupWeights& rhs,
                 const GroupMulParams& params, Context* context,
                 Matrix<Dst>* dst, const MulOptions& options = MulOptions()) {
  return internal::MulOperands(lhs, rhs, params, context, dst, options);
}

}  // namespace ruy_like

#endif  // RUY_LIKE_GROUP_WEIGHTS_H_
