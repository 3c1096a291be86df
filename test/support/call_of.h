// Test support: the calls of a table, of which some return an absl::Status and
// others a StatusOr.
#ifndef RUY_LIKE_TEST_SUPPORT_CALL_OF_H_
#define RUY_LIKE_TEST_SUPPORT_CALL_OF_H_

#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ruy_like {

// A function of an Argument* that returns either.
template <typename Argument>
class CallOf final {
 public:
  template <typename Function>
  CallOf(Function function)  // NOLINT(google-explicit-constructor)
      : call_([function](Argument* argument) {
          return StatusOf(function(argument));
        }) {}
  absl::Status operator()(Argument* argument) const { return call_(argument); }

 private:
  static absl::Status StatusOf(absl::Status status) { return status; }
  template <typename T>
  static absl::Status StatusOf(const absl::StatusOr<T>& result) {
    return result.status();
  }

  std::function<absl::Status(Argument*)> call_;
};

}  // namespace ruy_like

#endif  // RUY_LIKE_TEST_SUPPORT_CALL_OF_H_
