// Base: how errors are made and passed on, as absl::Status.
#ifndef RUY_LIKE_BASE_ERRORS_H_
#define RUY_LIKE_BASE_ERRORS_H_

#include <utility>

#include "absl/base/attributes.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

// Ends the function with the error of `expression`, an absl::Status, if it is
// one.
#define RUY_LIKE_RETURN_IF_ERROR(expression)           \
  do {                                                 \
    absl::Status status_of_macro = (expression);       \
    if (!status_of_macro.ok()) return status_of_macro; \
  } while (false)

// Gives `variable`, which may be a declaration, the value of an expression, an
// absl::StatusOr, or ends the function with its error.
#define RUY_LIKE_ASSIGN_OR_RETURN(variable, ...) \
  RUY_LIKE_ASSIGN_OR_RETURN_AT(__LINE__, variable, __VA_ARGS__)
#define RUY_LIKE_ASSIGN_OR_RETURN_AT(line, variable, ...) \
  RUY_LIKE_ASSIGN_OR_RETURN_BY(line, variable, __VA_ARGS__)
#define RUY_LIKE_ASSIGN_OR_RETURN_BY(line, variable, ...)                  \
  auto status_or_##line = (__VA_ARGS__);                                   \
  if (!status_or_##line.ok()) return std::move(status_or_##line).status(); \
  variable = *std::move(status_or_##line)

namespace ruy_like {

// InvalidArgument, with all parts in a row as its message.
template <typename... Parts>
absl::Status Invalid(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

// The same for ResourceExhausted, behind "no memory ".
template <typename... Parts>
absl::Status OutOfMemory(const Parts&... parts) {
  return absl::ResourceExhaustedError(absl::StrCat("no memory ", parts...));
}

// Invalid for checks of each product, which are inlined: wording must not cost
// one of a few elements much.
#define RUY_LIKE_INLINE ABSL_ATTRIBUTE_ALWAYS_INLINE inline
template <typename... Parts>
ABSL_ATTRIBUTE_COLD ABSL_ATTRIBUTE_NOINLINE absl::Status Wrong(
    const Parts&... parts) {
  return Invalid(parts...);
}

// "unknown <what> <number>" for an enumerator beyond `last`, the last one.
template <typename Enum>
RUY_LIKE_INLINE absl::Status CheckEnum(const char* what, Enum value,
                                       Enum last) {
  return value <= last ? absl::OkStatus()
                       : Wrong("unknown ", what, " ", static_cast<int>(value));
}

// An error with `parts` in front of its message.
template <typename... Parts>
absl::Status WithPrefix(const absl::Status& status, const Parts&... parts) {
  return absl::Status(status.code(), absl::StrCat(parts..., status.message()));
}

}  // namespace ruy_like

#endif  // RUY_LIKE_BASE_ERRORS_H_
