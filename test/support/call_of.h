// Test support: the calls of a table, of which some return an absl::Status and
// others a StatusOr.
#ifndef RUY_LIKE_TEST_SUPPORT_CALL_OF_H_
#define RUY_LIKE_TEST_SUPPORT_CALL_OF_H_

#include <functional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "test/support/test_util.h"

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
  std::function<absl::Status(Argument*)> call_;
};

// A call and the code that it gives.
template <typename Argument>
struct NamedCall {
  const char* name;
  absl::StatusCode code;
  CallOf<Argument> call;
};

// The lines of a table.
template <typename Argument>
class Calls final {
 public:
  void Add(const char* name, absl::StatusCode code, CallOf<Argument> call) {
    lines_.push_back({name, code, std::move(call)});
  }
  void Ok(const char* name, CallOf<Argument> call) {
    Add(name, kOk, std::move(call));
  }
  void Invalid(const char* name, CallOf<Argument> call) {
    Add(name, kInvalid, std::move(call));
  }
  auto begin() const { return lines_.begin(); }
  auto end() const { return lines_.end(); }

 private:
  std::vector<NamedCall<Argument>> lines_;
};

}  // namespace ruy_like

#endif  // RUY_LIKE_TEST_SUPPORT_CALL_OF_H_
