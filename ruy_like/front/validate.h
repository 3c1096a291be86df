// Front-end: everything that Mul refuses, in one place.
//
// Called by the front-end and quantize/ before anything is read or
// written. It looks at shapes and at per-channel multipliers, not at elements.
#ifndef RUY_LIKE_FRONT_VALIDATE_H_
#define RUY_LIKE_FRONT_VALIDATE_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "ruy_like/base/errors.h"
#include "ruy_like/erased_call.h"

namespace ruy_like {

inline bool IsColMajor(const Layout& layout) {
  return layout.order() == Order::kColMajor;
}
// InnerSize: elements of a row or column that lie side by side. OuterSize: how
// many such rows or columns there are.
inline std::ptrdiff_t InnerSize(const Layout& layout) {
  return IsColMajor(layout) ? layout.rows() : layout.cols();
}
inline std::ptrdiff_t OuterSize(const Layout& layout) {
  return IsColMajor(layout) ? layout.cols() : layout.rows();
}
inline bool IsEmpty(const Layout& layout) {
  return layout.rows() == 0 || layout.cols() == 0;
}

// ErasedMatrix::packed of an empty PackedMatrix: only its address is used, so
// that messages do not call it a Matrix.
const PackedOperand* NothingPacked();

// OK, or InvalidArgument (OutOfRange for sizes whose byte count overflows) with
// a message that names the operand and the values; std::bad_alloc where there
// is no memory for that.
//
// Sets *max_exponent to an upper bound of the multipliers' exponents (0 if dst
// is not quantized; undefined on an error), so that the call's arrays are read
// once.
absl::Status Validate(const MulCall& call, std::int8_t* max_exponent);

// Where no exponent is above this, kernels have no use for a closer bound
// (EpilogueArgs::max_exponent; kernels/epilogue/requantize.h).
constexpr std::int8_t kOrdinaryExponent = -2;
// Negative for a multiplier that is wrong or has a larger exponent.
inline std::int32_t SignsOfMultiplier(std::int32_t fixedpoint,
                                      std::int32_t exponent) {
  // Unsigned, because any int32 may stand there.
  const std::uint32_t bits = exponent;
  return fixedpoint | static_cast<std::int32_t>(bits + 31u) |
         static_cast<std::int32_t>(kOrdinaryExponent - bits);
}

// The part of it that concerns multipliers; dst is quantized.
absl::Status ValidateMultipliers(const MulCall& call,
                                 std::int8_t* max_exponent);

// The part of it that concerns one operand alone. needs_data: null data of a
// matrix that is not empty counts as an error.
absl::Status ValidateOperand(const char* name, const ErasedMatrix& matrix,
                             bool needs_data);

// True if a matrix shares at least one byte with another one. Exact also for
// interleaved sub-matrices of one buffer. Both must have valid layouts and data
// that is not null. Constant time unless the address ranges overlap, then
// linear in the smaller number of rows or columns.
bool SharesElements(const ErasedMatrix& a, const ErasedMatrix& b);
// The name of an input that shares at least one byte with the matrix: "lhs",
// "rhs", "bias" or another array's; null if none does. A residual that is dst
// itself is no such input.
const char* SharedInput(const MulCall& call, const ErasedMatrix& matrix);

// True if the residual of post-ops is dst itself, which it may be.
bool ResidualIsDst(const MulCall& call);

// Addresses [begin, end), gaps included. That of an empty matrix may end before
// it begins.
struct ByteSpan {
  std::uintptr_t begin, end;
};
inline bool Meet(const ByteSpan& a, const ByteSpan& b) {
  return a.begin < b.end && b.begin < a.end;
}
ByteSpan SpanOf(const ErasedMatrix& matrix);
// The spans of everything a product reads; empty ones for missing arrays.
constexpr int kInputs = 16;
void InputSpans(const MulCall& call, ByteSpan (*spans)[kInputs]);

// True if a matrix shares at least one byte with the `bytes` bytes at `data`.
bool SharesBytes(const ErasedMatrix& matrix, const void* data,
                 std::ptrdiff_t bytes);

}  // namespace ruy_like

#endif  // RUY_LIKE_FRONT_VALIDATE_H_
