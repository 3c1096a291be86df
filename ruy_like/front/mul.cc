// Tested in test/mul_test.cc.
#include "ruy_like/mul.h"

#include <cstdint>
#include <memory>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "ruy_like/base/hot.h"
#include "ruy_like/base/no_memory.h"
#include "ruy_like/front/kept_calls.h"
#include "ruy_like/front/validate.h"
#include "ruy_like/plan/context_impl.h"
#include "ruy_like/run/parallel.h"

namespace ruy_like::internal {

namespace {

absl::Status ValidateUnlessValid(const MulCall& call,
                                 std::int8_t* max_exponent) {
  *max_exponent = call.max_exponent;
  return call.is_valid ? absl::OkStatus() : Validate(call, max_exponent);
}

// With the Context locked.
RUY_LIKE_HOT absl::Status Run(const MulCall& call, bool is_validated,
                              std::int8_t max_exponent, ContextImpl* context)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex) {
  if (context->kept_calls == nullptr) {
    context->kept_calls = std::make_shared<KeptCalls>();
  }
  KeptCall* const kept = context->kept_calls->PlaceOf(call);
  if (kept->RunAgain(call, context)) return absl::OkStatus();
  absl::Status status;
  if (!is_validated) status = ValidateUnlessValid(call, &max_exponent);
  if (!status.ok() || IsEmpty(call.dst.layout)) return status;
  return kept->Run(call, max_exponent, context);
}

// A bad call is refused without waiting for the Context.
RUY_LIKE_HOT absl::Status ValidateAndMul(const MulCall& call,
                                         Context* context) {
  ContextImpl* impl = context->impl();
  if (impl->mutex.TryLock()) {
    MutexLock lock(&impl->mutex, std::adopt_lock);
    return Run(call, /*is_validated=*/false, 0, impl);
  }
  std::int8_t max_exponent;
  absl::Status status = ValidateUnlessValid(call, &max_exponent);
  if (!status.ok() || IsEmpty(call.dst.layout)) return status;
  RUY_LIKE_LOCK_FOR_CALL(impl);
  return Run(call, /*is_validated=*/true, max_exponent, impl);
}

}  // namespace

RUY_LIKE_HOT absl::Status MulErased(const MulCall& call, Context* context) {
  // Buffers are allocated without exceptions; this is for the small change of
  // shared pointers, and for messages.
  return CatchNoMemory([&] { return ValidateAndMul(call, context); });
}

absl::Status NullArgument(const char* name) {
  return CatchNoMemory([name] { return Invalid(name, " is null"); },
                       absl::StatusCode::kInvalidArgument);
}

absl::Status NoMemory() {
  return ErrorWithoutMessage(absl::StatusCode::kResourceExhausted);
}

}  // namespace ruy_like::internal
