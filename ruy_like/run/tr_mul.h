// Run: one validated, type-erased product from kernel selection to the
// last block.
//
// Called by the front-end (mul.cc). Chooses the kernel (registry), the number
// of threads and the blocks (block_map), packs what is not read in place or
// found in the prepacked cache, and deals the blocks out over the thread pool.
// Knows no instruction set, and of a scalar type no more than its size, whether
// it is floating point, and what the flip of packing does to its zero point.
#ifndef RUY_LIKE_RUN_TR_MUL_H_
#define RUY_LIKE_RUN_TR_MUL_H_

#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "ruy_like/plan/context_impl.h"
#include "ruy_like/plan/tr_mul_params.h"

namespace ruy_like {

// Runs the product on the Context's threads, at most `max_num_threads` of them
// (0: no limit but the Context's own). `params` is changed (sides may be
// swapped). dst must not be empty. With dst untouched: ResourceExhausted when
// there is no memory, FailedPrecondition when an operand is packed for a path
// that is not permitted.
absl::Status TrMul(TrMulParams* params, int max_num_threads,
                   ContextImpl* context)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex);

// The same in parts, for threads that are the caller's (mul_plan.cc). Holds its
// own scratch memory; the Context is locked for the first part and for the
// report only.
class TrMulPlan final {
 public:
  TrMulPlan();
  ~TrMulPlan();

  // Where the next product is to be written before Prepare, which changes it.
  // What it points to must outlive Finish.
  TrMulParams* NewParams();
  // What is to be done before threads come in, for at most `max_threads`.
  // Errors as those of TrMul; the plan is then as before the first Prepare.
  absl::Status Prepare(int max_threads, ContextImpl* context)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex);

  // The following need a Prepare that was OK, with no Finish since.
  // How many threads pay off.
  int num_threads() const;
  // For each of these threads or some of them, with distinct numbers below
  // num_threads(), from several threads at once: works until no block is left.
  void Work(int thread);
  // After all Works, if HasReport(): hands on what is to be cached. Not always
  // done: locking the Context took 6 (int8) to 14 ns (float) of a 16x16x16
  // plan.
  bool HasReport() const;
  void Report(ContextImpl* context)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex);
  // In the end.
  void Finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ruy_like

#endif  // RUY_LIKE_RUN_TR_MUL_H_
