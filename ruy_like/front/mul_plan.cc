// Tested in test/mul_plan_test.cc.
#include "ruy_like/mul_plan.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <new>

#include "absl/strings/str_cat.h"
#include "ruy_like/base/allocator.h"
#include "ruy_like/base/no_memory.h"
#include "ruy_like/front/make_call.h"
#include "ruy_like/front/validate.h"
#include "ruy_like/front/validate_batch.h"
#include "ruy_like/plan/context_impl.h"
#include "ruy_like/plan/kept_plans.h"
#include "ruy_like/run/batch.h"
#include "ruy_like/run/parallel.h"
#include "ruy_like/run/product.h"
#include "ruy_like/side.h"

namespace ruy_like {
namespace {

absl::Status Failed(const char* message) {
  return CatchNoMemory(
      [message] { return absl::FailedPreconditionError(message); },
      absl::StatusCode::kFailedPrecondition);
}

}  // namespace

struct MulPlan::Impl {
  // kFinished: can be repeated.
  enum class State { kNone, kEmpty, kPrepared, kFinished };

  absl::Status Prepare(const Batch* wanted, int threads,
                       ContextImpl* context_impl);
  absl::Status PrepareProduct();
  absl::Status PrepareBatch(const Batch& wanted);
  int WorkingThreads() const {
    return batch != nullptr ? batch->threads() : product.num_threads();
  }
  void Work(int thread) {
    if (is_by_calls) {
      if (!is_done) product.WorkByCalls();
      is_done = true;
    } else if (batch != nullptr) {
      batch->Work(thread);
    } else {
      product.Work(thread);
    }
  }
  bool HasReport() const {
    return batch != nullptr ? BatchRun::HasReport() : product.HasReport();
  }
  void Report() ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex) {
    if (batch != nullptr) {
      batch->Print(*context);
    } else {
      product.Report(context);
    }
  }

  State state = State::kNone;
  // Stored here because the product refers to it.
  MulCall call;
  std::int8_t max_exponent = 0;
  bool is_empty = false;
  bool can_repeat = false;  // a product, by its own Repeat; it pins nothing
  // A product that is done by WorkByCalls: of one thread, who alone looks at
  // is_done until Finish.
  bool is_by_calls = false, is_done = false;
  ContextImpl* context = nullptr;
  int num_threads = 0;
  KeptPlans plans;
  ScratchArena arena, items;
  Product product;
  std::unique_ptr<BatchRun> batch;  // or null; refers to the others
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
  // Callers need not write what has a default: the last call's is not theirs.
  return new (&impl_->call) MulCall;
}

absl::Status MulPlan::PrepareCall(const Batch* batch, int num_threads,
                                  Context* context) {
  return CatchNoMemory(
      [&] { return impl_->Prepare(batch, num_threads, context->impl()); });
}

absl::Status MulPlan::Impl::Prepare(const Batch* wanted, int threads,
                                    ContextImpl* context_impl) {
  if (threads < 1) {
    return Invalid("num_threads must be at least 1, not ", threads);
  }
  batch = nullptr;
  is_by_calls = false;
  RUY_LIKE_RETURN_IF_ERROR(wanted == nullptr
                               ? Validate(call, &max_exponent)
                               : ValidateBatch(call, *wanted, &max_exponent));
  context = context_impl;
  num_threads = threads;
  is_empty = IsEmpty(call.dst.layout) ||
             (wanted != nullptr && ProductsOf(*wanted) == 0);
  if (is_empty) {
    state = State::kEmpty;
    return absl::OkStatus();
  }
  return wanted == nullptr ? PrepareProduct() : PrepareBatch(*wanted);
}

absl::Status MulPlan::Impl::PrepareProduct() {
  MakeTrMulParams(call, max_exponent, product.params());
  RUY_LIKE_LOCK_FOR_CALL(context);
  RUY_LIKE_RETURN_IF_ERROR(product.Prepare(
      Product::Workers::kCallers, num_threads, &plans, &arena, context));
  can_repeat = product.CanRepeat();
  is_by_calls = can_repeat && product.KeepCalls();
  is_done = false;
  state = State::kPrepared;
  return absl::OkStatus();
}

absl::Status MulPlan::Impl::PrepareBatch(const Batch& wanted) {
  TrMulParams first;
  MakeTrMulParams(call, max_exponent, &first);
  // Nothing checks promises about elements when the plan is run again.
  for (const Side side : kSides) {
    first.side[side].value_range = ValueRange::kFull;
  }
  RUY_LIKE_LOCK_FOR_CALL(context);
  batch = std::make_unique<BatchRun>();
  RUY_LIKE_RETURN_IF_ERROR(batch->Prepare(first, StepsOf(call, wanted),
                                          ProductsOf(wanted), num_threads,
                                          {&plans, &items, &arena}, context));
  batch->Remember(context);
  state = State::kPrepared;
  return absl::OkStatus();
}

absl::Status MulPlan::Repeat() {
  if (impl_ == nullptr || impl_->state != Impl::State::kFinished) {
    return Failed("no finished product to repeat");
  }
  if (impl_->is_empty) {
    impl_->state = Impl::State::kEmpty;
    return absl::OkStatus();
  }
  if (impl_->batch != nullptr) {
    impl_->batch->Restart();
  } else if (impl_->can_repeat) {
    impl_->product.Repeat(impl_->context);
    impl_->is_done = false;
  } else {
    return CatchNoMemory([this] { return impl_->PrepareProduct(); });
  }
  impl_->state = Impl::State::kPrepared;
  return absl::OkStatus();
}

int MulPlan::num_threads() const {
  return impl_ != nullptr && impl_->state == Impl::State::kPrepared
             ? impl_->WorkingThreads()
             : 0;
}

absl::Status MulPlan::Run(int thread_id) {
  if (impl_ == nullptr || (impl_->state != Impl::State::kPrepared &&
                           impl_->state != Impl::State::kEmpty)) {
    return Failed("no product is prepared");
  }
  if (thread_id < 0 || thread_id >= impl_->num_threads) {
    return CatchNoMemory(
        [&] {
          return Invalid("thread_id ", thread_id, " of ", impl_->num_threads,
                         " threads");
        },
        absl::StatusCode::kInvalidArgument);
  }
  if (thread_id < num_threads()) impl_->Work(thread_id);
  return absl::OkStatus();
}

absl::Status MulPlan::Finish() {
  if (impl_ == nullptr || (impl_->state != Impl::State::kPrepared &&
                           impl_->state != Impl::State::kEmpty)) {
    return Failed("no product is prepared");
  }
  if (impl_->state == Impl::State::kEmpty) {
    impl_->state = Impl::State::kFinished;
    return absl::OkStatus();
  }
  // The blocks that no thread has taken.
  impl_->Work(0);
  if (impl_->HasReport()) {
    if (!LockForCall(impl_->context)) {
      return CatchNoMemory([] { return DeadlockError(); },
                           absl::StatusCode::kFailedPrecondition);
    }
    MutexLock lock(&impl_->context->mutex, std::adopt_lock);
    impl_->Report();
  }
  impl_->state = Impl::State::kFinished;
  if (!impl_->can_repeat) impl_->product.Finish();
  return absl::OkStatus();
}

}  // namespace ruy_like
