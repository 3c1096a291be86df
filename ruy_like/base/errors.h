// Base: how errors are made and passed on, as absl::Status.
#ifndef RUY_LIKE_BASE_ERRORS_H_
#define RUY_LIKE_BASE_ERRORS_H_

#include <utility>

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

}  // namespace ruy_like

#endif  // RUY_LIKE_BASE_ERRORS_H_
