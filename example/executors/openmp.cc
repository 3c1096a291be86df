// An Executor over OpenMP, whose runtime keeps its threads from one parallel
// region to the next. Inside of another parallel region OpenMP gives one
// thread, unless nesting is on: there, use a MulPlan instead.
#include <omp.h>

#include <algorithm>

#include "example/executors/try_executor.h"

class OpenMpExecutor final : public ruy_like::Executor {
 public:
  int max_concurrency() const override { return omp_get_max_threads(); }
  void ParallelFor(int count, void (*function)(void* argument, int i),
                   void* argument) override {
    // One call each, dealt out so that a late thread finds nothing to do.
#pragma omp parallel for schedule(dynamic, 1) num_threads(count)
    for (int i = 0; i < count; ++i) function(argument, i);
  }
};

int main() {
  omp_set_num_threads(std::max(2, omp_get_num_procs()));
  OpenMpExecutor executor;
  return TryExecutor("OpenMP", &executor);
}
