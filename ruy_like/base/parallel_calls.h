// Base: the calls function(argument, i) of one parallel loop, and the
// gate through which an Executor's threads come to make them.
//
// Used by parallel.cc. Knows nothing of pools and of how many threads to use.
#ifndef RUY_LIKE_BASE_PARALLEL_CALLS_H_
#define RUY_LIKE_BASE_PARALLEL_CALLS_H_

#include <atomic>
#include <cstdint>
#include <exception>

#include "absl/status/status.h"

namespace ruy_like {

// Makes function(argument, i) for i = 0, ..., count - 1, exactly once each,
// however many threads come for them and whenever they do.
class ParallelCalls final {
 public:
  // Calls below `dealt` are made by those who own them (MakeOwn); the others
  // are drawn from a counter.
  ParallelCalls(int count, int dealt, void (*function)(void* argument, int i),
                void* argument)
      : function_(function), argument_(argument), count_(count), next_(dealt) {}

  // Makes call i, below `dealt`, then draws.
  void MakeOwn(int i) {
    Make(i);
    Draw();
  }
  // Makes calls until all have been begun.
  void Draw();

  // After all have returned: OK unless one threw. If the first exception is
  // std::bad_alloc: ResourceExhausted, else Internal.
  absl::Status status() const;

 private:
  // Keeps an exception: it must reach neither the pool's nor the host's
  // threads.
  void Make(int i) noexcept;

  void (*const function_)(void*, int);
  void* const argument_;
  const int count_;
  // 64 bits: each thread draws once more than there are calls.
  std::atomic<std::int64_t> next_;
  std::atomic<bool> has_thrown_{false};
  std::exception_ptr exception_;  // the first one
};

// The function that an Executor is given, and its argument. Part of the
// Context: an Executor that throws may have begun calls, and may begin others
// even after the loop is over. Those find the gate closed, or make calls of a
// later loop, which does not matter since calls are drawn.
class ExecutorGate final {
 public:
  // From now on Enter(this, i) draws from *calls.
  void Open(ParallelCalls* calls) { calls_.store(calls); }
  // Returns when nobody is inside. Those who enter later do nothing.
  void Close();

  static void Enter(void* gate, int i);

 private:
  std::atomic<ParallelCalls*> calls_{nullptr};
  std::atomic<int> inside_{0};
};

}  // namespace ruy_like

#endif  // RUY_LIKE_BASE_PARALLEL_CALLS_H_
