// ruy_like::quantize, internal: what all operations check of the memory that
// callers hand them, as spans or otherwise.
//
// Knows bytes and names only; layouts and shapes are walk.h's and
// tensor_checks.h's.
#ifndef RUY_LIKE_QUANTIZE_MEMORY_CHECKS_H_
#define RUY_LIKE_QUANTIZE_MEMORY_CHECKS_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"

namespace ruy_like {
namespace quantize_internal {

// InvalidArgument, naming it, for a span of null that claims to have elements.
template <typename T>
absl::Status CheckSpan(const char* name, absl::Span<T> span) {
  if (span.data() != nullptr || span.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " (", span.size(), " elements) has null data"));
}

// InvalidArgument, naming both, if a byte belongs to both. What has no bytes
// shares none, wherever it points.
inline absl::Status CheckNoSharedBytes(const char* a_name, const void* a,
                                       std::size_t a_bytes, const char* b_name,
                                       const void* b, std::size_t b_bytes) {
  const auto a_begin = reinterpret_cast<std::uintptr_t>(a);
  const auto b_begin = reinterpret_cast<std::uintptr_t>(b);
  if (a_bytes == 0 || b_bytes == 0 || a_begin >= b_begin + b_bytes ||
      b_begin >= a_begin + a_bytes) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(a_name, " and ", b_name, " share memory"));
}

template <typename A, typename B>
absl::Status CheckNoSharedBytes(const char* a_name, absl::Span<A> a,
                                const char* b_name, absl::Span<B> b) {
  return CheckNoSharedBytes(a_name, a.data(), a.size() * sizeof(A), b_name,
                            b.data(), b.size() * sizeof(B));
}

}  // namespace quantize_internal
}  // namespace ruy_like

#endif  // RUY_LIKE_QUANTIZE_MEMORY_CHECKS_H_
