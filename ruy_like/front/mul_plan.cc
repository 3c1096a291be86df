// Tested in test/mul_plan_test.cc.
#include "ruy_like/mul_plan.h"

#include <cstdint>
#include <mutex>
#include <new>

#include "absl/strings/str_cat.h"
#include "ruy_like/base/allocator.h"
#include "ruy_like/base/no_memory.h"
#include "ruy_like/front/make_call.h"
#include "ruy_like/front/validate.h"
#include "ruy_like/plan/context_impl.h"
#include "ruy_like/plan/kept_plans.h"
#include "ruy_like/run/parallel.h"
#include "ruy_like/run/product.h"

namespace ruy_like {
namespace {

absl::Status NotPreparedError() {
  return CatchNoMemory(
      [] { return absl::FailedPreconditionError("no product is prepared"); },
      absl::StatusCode::kFailedPrecondition);
}

}  // namespace

struct MulPlan::Impl {
  enum class State { kNone, kEmpty, kPrepared };

  absl::Status Prepare(int threads, ContextImpl* context_impl);

  State state = State::kNone;
  // Kept here because the product refers to it.
  MulCall call;
  ContextImpl* context = nullptr;
  int num_threads = 0;
  KeptPlans plans;
  ScratchArena arena;
  Product product;
};

MulPlan::MulPlan() = default;
MulPlan::~MulPlan() = default;

MulCall* MulPlan::NewCall() {
  if (impl_ == nullptr) {
    try {
      impl_ = std::make_unique<Impl>();
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  }
  impl_->state = Impl::State::kNone;
  impl_->product.Finish();
  return &impl_->call;
}

absl::Status MulPlan::PrepareCall(int num_threads, Context* context) {
  return CatchNoMemory(
      [&] { return impl_->Prepare(num_threads, context->impl()); });
}

absl::Status MulPlan::Impl::Prepare(int threads, ContextImpl* context_impl) {
  if (threads < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("num_threads must be at least 1, not ", threads));
  }
  std::int8_t max_exponent;
  absl::Status status = Validate(call, &max_exponent);
  if (!status.ok()) return status;
  context = context_impl;
  num_threads = threads;
  if (call.dst.layout.rows() == 0 || call.dst.layout.cols() == 0) {
    state = State::kEmpty;
    return status;
  }
  MakeTrMulParams(call, max_exponent, product.params());
  if (!LockForCall(context)) return DeadlockError();
  MutexLock lock(&context->mutex, std::adopt_lock);
  status = product.Prepare(Product::Workers::kCallers, threads, &plans, &arena,
                           context);
  if (status.ok()) state = State::kPrepared;
  return status;
}

int MulPlan::num_threads() const {
  return impl_ != nullptr && impl_->state == Impl::State::kPrepared
             ? impl_->product.num_threads()
             : 0;
}

absl::Status MulPlan::Run(int thread_id) {
  if (impl_ == nullptr || impl_->state == Impl::State::kNone) {
    return NotPreparedError();
  }
  if (thread_id < 0 || thread_id >= impl_->num_threads) {
    return CatchNoMemory(
        [&] {
          return absl::InvalidArgumentError(absl::StrCat(
              "thread_id ", thread_id, " of ", impl_->num_threads, " threads"));
        },
        absl::StatusCode::kInvalidArgument);
  }
  if (thread_id < num_threads()) impl_->product.Work(thread_id);
  return absl::OkStatus();
}

absl::Status MulPlan::Finish() {
  if (impl_ == nullptr || impl_->state == Impl::State::kNone) {
    return NotPreparedError();
  }
  if (impl_->state == Impl::State::kEmpty) {
    impl_->state = Impl::State::kNone;
    return absl::OkStatus();
  }
  // What nobody came for.
  impl_->product.Work(0);
  if (impl_->product.HasReport()) {
    if (!LockForCall(impl_->context)) {
      return CatchNoMemory([] { return DeadlockError(); },
                           absl::StatusCode::kFailedPrecondition);
    }
    MutexLock lock(&impl_->context->mutex, std::adopt_lock);
    impl_->product.Report(impl_->context);
  }
  impl_->state = Impl::State::kNone;
  impl_->product.Finish();
  return absl::OkStatus();
}

}  // namespace ruy_like
