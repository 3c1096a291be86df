// Base: the one place that turns std::bad_alloc into a Status.
//
// Every public function that returns a Status is wrapped in it: not only
// packing takes memory, building the message of an error does, too. A wrapped
// function must leave nothing half done when it throws.
#ifndef RUY_LIKE_BASE_NO_MEMORY_H_
#define RUY_LIKE_BASE_NO_MEMORY_H_

#include <new>
#include <stdexcept>

#include "absl/status/status.h"

namespace ruy_like {

// An error without a message, which takes no memory.
inline absl::Status ErrorWithoutMessage(absl::StatusCode code) {
  return absl::Status(code, "");
}

// The result of function(), an absl::Status or a StatusOr; an error of code
// `code`, without a message, where it runs out of memory or asks a
// container for more elements than there are addresses.
template <typename Function>
auto CatchNoMemory(Function&& function,
                   absl::StatusCode code = absl::StatusCode::kResourceExhausted)
    -> decltype(function()) {
  try {
    return function();
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  return ErrorWithoutMessage(code);
}

}  // namespace ruy_like

#endif  // RUY_LIKE_BASE_NO_MEMORY_H_
