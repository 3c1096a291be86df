// Tested in test/executor_test.cc.
#include "ruy_like/mul_plan.h"

#include <mutex>
#include <new>

#include "absl/strings/str_cat.h"
#include "ruy_like/front/make_call.h"
#include "ruy_like/front/validate.h"
#include "ruy_like/middle/context_impl.h"
#include "ruy_like/middle/parallel.h"
#include "ruy_like/middle/tr_mul.h"

namespace ruy_like {
namespace {

absl::Status NotPreparedError() {
  return absl::FailedPreconditionError("no product is prepared");
}

}  // namespace

struct MulPlan::Impl {
  enum class State { kNone, kEmpty, kPrepared };

  State state = State::kNone;
  // Kept here because the product refers to it.
  MulCall call;
  ContextImpl* context = nullptr;
  int num_threads = 0;
  TrMulPlan product;
};

MulPlan::MulPlan() : impl_(std::make_unique<Impl>()) {}
MulPlan::~MulPlan() = default;

MulCall* MulPlan::NewCall() {
  impl_->state = Impl::State::kNone;
  return &impl_->call;
}

absl::Status MulPlan::PrepareCall(int num_threads, Context* context) {
  if (num_threads < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("num_threads must be at least 1, not ", num_threads));
  }
  const MulCall& call = impl_->call;
  absl::Status status = Validate(call);
  if (!status.ok()) return status;
  impl_->context = context->impl();
  impl_->num_threads = num_threads;
  if (call.dst.layout.rows() == 0 || call.dst.layout.cols() == 0) {
    impl_->state = Impl::State::kEmpty;
    return status;
  }
  MakeTrMulParams(call, impl_->product.NewParams());
  if (!LockForCall(impl_->context)) return DeadlockError();
  MutexLock lock(&impl_->context->mutex, std::adopt_lock);
  try {
    status = impl_->product.Prepare(num_threads, impl_->context);
  } catch (const std::bad_alloc&) {
    status = absl::ResourceExhaustedError("no memory for the prepacked cache");
  }
  if (status.ok()) impl_->state = Impl::State::kPrepared;
  return status;
}

int MulPlan::num_threads() const {
  return impl_->state == Impl::State::kPrepared ? impl_->product.num_threads()
                                                : 0;
}

absl::Status MulPlan::Run(int thread_id) {
  if (impl_->state == Impl::State::kNone) return NotPreparedError();
  if (thread_id < 0 || thread_id >= impl_->num_threads) {
    return absl::InvalidArgumentError(absl::StrCat(
        "thread_id ", thread_id, " of ", impl_->num_threads, " threads"));
  }
  if (thread_id < num_threads()) impl_->product.Work(thread_id);
  return absl::OkStatus();
}

absl::Status MulPlan::Finish() {
  if (impl_->state == Impl::State::kNone) return NotPreparedError();
  if (impl_->state == Impl::State::kEmpty) {
    impl_->state = Impl::State::kNone;
    return absl::OkStatus();
  }
  // What nobody came for.
  impl_->product.Work(0);
  if (impl_->product.HasReport()) {
    if (!LockForCall(impl_->context)) return DeadlockError();
    MutexLock lock(&impl_->context->mutex, std::adopt_lock);
    impl_->product.Report(impl_->context);
  }
  impl_->state = Impl::State::kNone;
  impl_->product.Finish();
  return absl::OkStatus();
}

}  // namespace ruy_like
