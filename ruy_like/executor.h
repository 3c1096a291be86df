// Public: Executor, the host's own threads for a Context to run on.
//
// A host that has a thread pool implements this over it (example/executors/
// does so for four pools) and gives it to Context::set_executor. Called by the
// library (parallel.cc). It is not a scheduler: there is one call per product
// or packing, and each of its tasks works until nothing is left to do.
#ifndef RUY_LIKE_EXECUTOR_H_
#define RUY_LIKE_EXECUTOR_H_

namespace ruy_like {

// Used by one thread at a time for each Context that it is set on; give one to
// several Contexts only if ParallelFor may be called from several threads.
class Executor {
 public:
  virtual ~Executor() = default;

  // Threads that can work at the same time, the caller of ParallelFor included
  // if it takes part. Below 1 counts as 1. Asked for each product that is worth
  // more than one thread: must be cheap.
  virtual int max_concurrency() const = 0;

  // Calls function(argument, i) for i = 0, ..., count - 1, once each, on any
  // threads, and returns when all calls have. count is at most
  // max_concurrency(). `function` does not throw.
  //
  // The calls need not run at the same time: one after the other on one thread,
  // in any order, will do, and a call that begins late finds the work done by
  // the others. No call waits for one that has not begun.
  //
  // An implementation that breaks this contract costs speed, not results: calls
  // that are left out, also because ParallelFor throws, are made by the
  // caller's thread; those that are still running are waited for; those that
  // come twice, or begin after ParallelFor has returned or thrown, do no harm
  // while the Context exists. An exception of ParallelFor is not passed on.
  //
  // Two things that deadlock: a task of the host's pool that calls Mul with a
  // Context which has this Executor, while a Mul of another thread waits for
  // that task's thread; and a ParallelFor that waits, on a thread of the pool,
  // for other threads of it that are all doing the same. MulPlan avoids both.
  virtual void ParallelFor(int count, void (*function)(void* argument, int i),
                           void* argument) = 0;
};

}  // namespace ruy_like

#endif  // RUY_LIKE_EXECUTOR_H_
