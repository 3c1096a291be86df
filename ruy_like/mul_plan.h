// Public: MulPlan, a product that the caller's own threads work on together.
//
// For hosts whose threads already run side by side (an OpenMP region, a worker
// of each NUMA node) and who would rather not hand work to yet another pool.
// Starts no thread, and never waits for one to come.
#ifndef RUY_LIKE_MUL_PLAN_H_
#define RUY_LIKE_MUL_PLAN_H_

#include <memory>

#include "absl/status/status.h"
#include "ruy_like/context.h"
#include "ruy_like/export.h"
#include "ruy_like/matrix.h"
#include "ruy_like/mul.h"
#include "ruy_like/mul_batch.h"
#include "ruy_like/mul_params.h"
#include "ruy_like/packed_matrix.h"

struct rl_plan;  // c/ruy_like.cc

namespace ruy_like {

// One product, or one batch, at a time, again and again:
//
//   one thread     plan.Prepare(lhs, rhs, params, n, &context, &dst)
//   --- barrier of the host ---
//   each thread    plan.Run(thread_id)         thread_id = 0, ..., n - 1
//   --- barrier of the host ---
//   one thread     plan.Finish()
//
// PrepareBatch is the same for a MulBatch. Where only the elements of the
// operands change from one product to the next, Repeat takes the place of
// Prepare: nothing is validated or planned again.
//
// The result is that of Mul. The Context's threads and Executor are not used;
// its paths and its prepacked cache are, during Prepare and Finish, so that
// other threads may use the Context in between. A plan has scratch memory of
// its own, which it keeps: reuse it.
//
// Every thread's Run returns when there is no more work to begin. Threads may
// be late or missing: the others, and finally Finish, do their work.
class RUY_LIKE_EXPORT MulPlan final {
 public:
  MulPlan();
  ~MulPlan();
  MulPlan(const MulPlan&) = delete;
  MulPlan& operator=(const MulPlan&) = delete;

  // Operands and parameters as of MulBatch. Errors are those of Mul,
  // and InvalidArgument for num_threads < 1; Run and Finish then do nothing and
  // return FailedPrecondition. Operands, dst, what mul_params points to and the
  // Context must stay valid until Finish. Abandons a product that was not
  // finished: its dst is partly written.
  template <typename LhsMatrix, typename RhsMatrix, typename Params,
            typename Dst>
  absl::Status Prepare(const LhsMatrix& lhs, const RhsMatrix& rhs,
                       const Params& mul_params, int num_threads,
                       Context* context, Matrix<Dst>* dst) {
    return PrepareErased(lhs, rhs, mul_params, nullptr, num_threads, context,
                         dst);
  }

  // The products of MulBatch: its errors, and otherwise as Prepare.
  template <typename LhsMatrix, typename RhsMatrix, typename Params,
            typename Dst>
  absl::Status PrepareBatch(const LhsMatrix& lhs, const RhsMatrix& rhs,
                            const Params& mul_params, const Batch& batch,
                            int num_threads, Context* context,
                            Matrix<Dst>* dst) {
    return PrepareErased(lhs, rhs, mul_params, &batch, num_threads, context,
                         dst);
  }

  // After Finish: prepares the last product or batch again. Operands, arrays of
  // parameters and dst must be at the same addresses; elements of the operands
  // and the bias may have changed, multipliers may not. It does not lock the
  // Context and allocates nothing, but for a single product with a cached
  // operand, or a packed one that no permitted path reads: then it may fail as
  // Prepare does, except in validation. FailedPrecondition unless the last call
  // other than Run was a successful Finish.
  absl::Status Repeat();

  // Threads that the prepared product has work for: Run returns at once for a
  // thread_id that is not below this. 0 when nothing is to be done.
  int num_threads() const;

  // From any threads, at once, each with a thread_id of its own below the
  // num_threads of Prepare; InvalidArgument for any other.
  absl::Status Run(int thread_id);

  // After all Runs have returned. dst is complete only now. FailedPrecondition
  // if something is to be cached or reported and waiting for the Context could
  // deadlock (mul.h); dst is complete then too, and Finish can be called again
  // from elsewhere.
  absl::Status Finish();

 private:
  struct Impl;
  // The C interface writes calls by itself.
  friend struct ::rl_plan;

  // Abandons the last product. Returns where the new one's call is to be
  // written, which saves a copy. Null where there is no memory.
  MulCall* NewCall();
  // `batch` is null for a single product.
  absl::Status PrepareCall(const Batch* batch, int num_threads,
                           Context* context);

  template <typename LhsMatrix, typename RhsMatrix, typename Params,
            typename Dst>
  absl::Status PrepareErased(const LhsMatrix& lhs, const RhsMatrix& rhs,
                             const Params& mul_params, const Batch* batch,
                             int num_threads, Context* context,
                             Matrix<Dst>* dst) {
    const auto prepare = [&](const auto& erase) {
      MulCall* const call = NewCall();
      if (call == nullptr) return internal::NoMemory();
      erase(call);
      return PrepareCall(batch, num_threads, context);
    };
    return internal::WithCall(lhs, rhs, mul_params, /*max_num_threads=*/0,
                              context, dst, prepare);
  }

  std::unique_ptr<Impl> impl_;  // null before the first Prepare
};

}  // namespace ruy_like

#endif  // RUY_LIKE_MUL_PLAN_H_
