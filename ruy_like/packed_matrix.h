// Public: PackedMatrix, an operand packed once, as a value; and Mul with it.
//
// For weights that outlive a Context, are used by several, or come from a file.
// (The prepacked cache, by contrast, recognises an operand by its address.)
#ifndef RUY_LIKE_PACKED_MATRIX_H_
#define RUY_LIKE_PACKED_MATRIX_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ruy_like/context.h"
#include "ruy_like/erased_call.h"
#include "ruy_like/export.h"
#include "ruy_like/matrix.h"
#include "ruy_like/mul.h"
#include "ruy_like/mul_params.h"
#include "ruy_like/path.h"
#include "ruy_like/scalar.h"
#include "ruy_like/side.h"

namespace ruy_like {

// Internal: packed_operand.h.
struct PackedOperand;

// The other types in the products that a matrix is packed for.
enum class PackFor : std::uint8_t {
  // 8-bit: another 8-bit operand. int16: an int8 one. float and 16-bit floats:
  // float accumulators. double: anything.
  kDefault,
  kInt16Operand,     // of an 8-bit matrix: the other operand is int16
  kDoubleProduct,    // of a float matrix: the other operand, the accumulator or
                     // dst is double
  kInt7Operand,      // of an 8-bit matrix: the other operand is int7. With one
                     // that is not, products are right but slow: on some paths
                     // each of them unpacks this matrix
  kBFloat16Operand,  // of a bfloat16 matrix: the other operand is bfloat16 and,
                     // if packed, packed for this too. Twice as fast on path
                     // avx512bf16; on neonbf16 and amx products of two bfloat16
                     // matrices unpack what is packed otherwise. With a float
                     // operand right but slow, as above
};

struct PackOptions {
  // dst's order in the products that this is for. The other order gives the
  // same results, slower for a shallow product (its dst is transposed on the
  // way out). If both operands are packed, it must be for the same order.
  Order dst_order = Order::kColMajor;
  PackFor pack_for = PackFor::kDefault;
};

enum class VerifyChecksum : bool { kNo, kYes };

namespace internal {

// PackedMatrix without its type.
class RUY_LIKE_EXPORT PackedMatrixBase {
 public:
  // Those of the Matrix that was packed.
  std::ptrdiff_t rows() const;
  std::ptrdiff_t cols() const;
  // The operand of Mul that it can be.
  Side side() const;
  // The path whose kernels read it; kNone for one that is default-constructed.
  // Mul needs a Context that permits that path, or one that inherits its
  // kernels (README.md, Paths).
  Path path() const;
  // How it is packed: "S8 16x4" for int8 in panels of 16 columns and groups of
  // 4 elements of a column, as in kernel names.
  std::string layout_name() const;
  // See PackOptions.
  Order dst_order() const;

  // The packed form as bytes, to be written to a file and given to FromBytes.
  // The same for the same matrix, path and options, on any machine of this byte
  // order. Valid as long as this PackedMatrix or a copy of it lives.
  absl::string_view Serialize() const;

 protected:
  PackedMatrixBase() = default;
  explicit PackedMatrixBase(std::shared_ptr<const PackedOperand> operand)
      : operand_(std::move(operand)) {}

  std::int32_t erased_zero_point() const;

 private:
  friend RUY_LIKE_EXPORT void ErasePacked(const PackedMatrixBase& matrix,
                                          Scalar scalar, ErasedMatrix* erased);

  std::shared_ptr<const PackedOperand> operand_;
};

RUY_LIKE_EXPORT void ErasePacked(const PackedMatrixBase& matrix, Scalar scalar,
                                 ErasedMatrix* erased);

using PackedOperandOr = absl::StatusOr<std::shared_ptr<const PackedOperand>>;

// Null buffer: memory of its own.
RUY_LIKE_EXPORT PackedOperandOr PackErased(const ErasedMatrix& matrix,
                                           Side side,
                                           const PackOptions& options,
                                           Context* context, void* buffer,
                                           std::size_t buffer_bytes);
RUY_LIKE_EXPORT absl::StatusOr<std::size_t> PackedBytesErased(
    const ErasedMatrix& matrix, Side side, const PackOptions& options,
    Context* context);
RUY_LIKE_EXPORT PackedOperandOr OperandFromBytes(const void* data,
                                                 std::size_t bytes,
                                                 Scalar scalar,
                                                 VerifyChecksum verify);

}  // namespace internal

// A packed lhs or rhs of elements T. Immutable: any number of threads and
// Contexts may use one at once. A copy shares the memory. Default-constructed
// it is 0x0.
template <typename T>
class PackedMatrix final : public internal::PackedMatrixBase {
 public:
  PackedMatrix() = default;
  // For Pack and FromBytes.
  explicit PackedMatrix(std::shared_ptr<const PackedOperand> operand)
      : PackedMatrixBase(std::move(operand)) {}

  T zero_point() const { return static_cast<T>(erased_zero_point()); }

  // A PackedMatrix from what Serialize gave. Refers to the bytes in place,
  // which must stay as they are while it or a copy of it lives; so a file may
  // be mapped, and its pages shared between processes. `data` must be aligned
  // to 64 bytes; bytes beyond the image are ignored. Reads the header alone,
  // unless the checksum of the data is to be verified (some 10 GB/s): then a
  // damaged file is recognised.
  //
  // InvalidArgument for a null or misaligned pointer, another element type, or
  // bytes that are no such image; DataLoss for one that is truncated or
  // damaged; OutOfRange for one whose header has sizes that no memory holds;
  // FailedPrecondition for one of another version, byte order or layout, or for
  // a path that this machine does not have.
  static absl::StatusOr<PackedMatrix> FromBytes(
      const void* data, std::size_t bytes,
      VerifyChecksum verify = VerifyChecksum::kYes) {
    internal::PackedOperandOr operand = internal::OperandFromBytes(
        data, bytes, internal::ScalarOf<T>(), verify);
    if (!operand.ok()) return operand.status();
    return PackedMatrix(*std::move(operand));
  }
};

// Packs `matrix` for the best path that the Context permits and that serves its
// type, on the Context's threads. The matrix's data is not needed afterwards;
// its zero point goes with it, its cache policy does not matter. A promised
// value range that is wrong is ignored. Errors are those of Mul for a bad
// operand; InvalidArgument for options that do not go with T; ResourceExhausted
// when there is no memory.
template <typename T>
absl::StatusOr<PackedMatrix<std::remove_const_t<T>>> Pack(
    const Matrix<T>& matrix, Side side, const PackOptions& options,
    Context* context) {
  ErasedMatrix erased;
  internal::Erase(matrix, &erased);
  internal::PackedOperandOr operand =
      internal::PackErased(erased, side, options, context, nullptr, 0);
  if (!operand.ok()) return operand.status();
  return PackedMatrix<std::remove_const_t<T>>(*std::move(operand));
}

// Bytes that Pack needs for `matrix`, whose data may still be null: the size of
// its Serialize().
template <typename T>
absl::StatusOr<std::size_t> PackedMatrixBytes(const Matrix<T>& matrix,
                                              Side side,
                                              const PackOptions& options,
                                              Context* context) {
  ErasedMatrix erased;
  internal::Erase(matrix, &erased);
  return internal::PackedBytesErased(erased, side, options, context);
}

// Packs into the caller's buffer, of at least PackedMatrixBytes() and aligned
// to 64 bytes, which must share no memory with the matrix and stay as it is
// while the result or a copy of it lives.
// Afterwards the buffer holds what Serialize gives: it may be a mapped file. On
// an error its contents are unspecified.
template <typename T>
absl::StatusOr<PackedMatrix<std::remove_const_t<T>>> PackInto(
    void* buffer, std::size_t buffer_bytes, const Matrix<T>& matrix, Side side,
    const PackOptions& options, Context* context) {
  if (buffer == nullptr) return internal::NullArgument("buffer");
  ErasedMatrix erased;
  internal::Erase(matrix, &erased);
  internal::PackedOperandOr operand = internal::PackErased(
      erased, side, options, context, buffer, buffer_bytes);
  if (!operand.ok()) return operand.status();
  return PackedMatrix<std::remove_const_t<T>>(*std::move(operand));
}

namespace internal {

template <typename T>
void Erase(const PackedMatrix<T>& matrix, ErasedMatrix* erased) {
  ErasePacked(matrix, ScalarOf<T>(), erased);
}

}  // namespace internal

// Mul with one or both operands packed: the same semantics and errors. Further
// errors: InvalidArgument for an operand that is packed for the other side, for
// other types, or (both packed) for another path or order of dst than the other
// operand; FailedPrecondition when the Context's paths do not have the kernels
// that it is packed for. dst must not share memory with the packed form.
//
// Value ranges never change a result, only speed. On a path with int7 kernels
// two kinds of products unpack one operand each time, which takes a byte of
// memory per element: a matrix that is packed for an int7 operand
// (kInt7Operand) by one that is not int7; and two packed matrices, one of them
// int7 and the other not packed for that.
template <typename Lhs, typename Rhs, typename Accum, typename ParamsDst,
          typename Dst>
absl::Status Mul(const PackedMatrix<Lhs>& lhs, const Matrix<Rhs>& rhs,
                 const MulParams<Accum, ParamsDst>& mul_params,
                 Context* context, Matrix<Dst>* dst,
                 const MulOptions& options = MulOptions()) {
  return internal::MulOperands(lhs, rhs, mul_params, context, dst, options);
}

template <typename Lhs, typename Rhs, typename Accum, typename ParamsDst,
          typename Dst>
absl::Status Mul(const Matrix<Lhs>& lhs, const PackedMatrix<Rhs>& rhs,
                 const MulParams<Accum, ParamsDst>& mul_params,
                 Context* context, Matrix<Dst>* dst,
                 const MulOptions& options = MulOptions()) {
  return internal::MulOperands(lhs, rhs, mul_params, context, dst, options);
}

template <typename Lhs, typename Rhs, typename Accum, typename ParamsDst,
          typename Dst>
absl::Status Mul(const PackedMatrix<Lhs>& lhs, const PackedMatrix<Rhs>& rhs,
                 const MulParams<Accum, ParamsDst>& mul_params,
                 Context* context, Matrix<Dst>* dst,
                 const MulOptions& options = MulOptions()) {
  return internal::MulOperands(lhs, rhs, mul_params, context, dst, options);
}

}  // namespace ruy_like

#endif  // RUY_LIKE_PACKED_MATRIX_H_
