// Tested in test/mul_test.cc.
#include "ruy_like/mul.h"

#include <cstdint>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "ruy_like/base/hot.h"
#include "ruy_like/base/no_memory.h"
#include "ruy_like/front/make_call.h"
#include "ruy_like/front/validate.h"
#include "ruy_like/plan/context_impl.h"
#include "ruy_like/run/parallel.h"
#include "ruy_like/run/product.h"

namespace ruy_like::internal {

namespace {

RUY_LIKE_HOT absl::Status ValidateAndMul(const MulCall& call,
                                         Context* context) {
  std::int8_t max_exponent = call.max_exponent;
  absl::Status status;
  if (!call.is_valid) status = Validate(call, &max_exponent);
  if (!status.ok()) return status;
  if (IsEmpty(call.dst.layout)) return status;
  Product product;
  MakeTrMulParams(call, max_exponent, product.params());
  ContextImpl* impl = context->impl();
  if (!LockForCall(impl)) return DeadlockError();
  MutexLock lock(&impl->mutex, std::adopt_lock);
  return product.Run(call.max_num_threads, impl);
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
