#include "ruy_like/thread_pool.h"

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "ruy_like/base/cpu_placement.h"
#include "ruy_like/base/float_state.h"
#include "ruy_like/base/wait.h"
#include "ruy_like/os/process.h"
#include "ruy_like/os/wait.h"

namespace ruy_like {
namespace {

// Two lines: x86's adjacent-line prefetcher moves them as a pair.
constexpr std::size_t kSeparation = 128;

// After threads could not be started, calls of Execute until it tries again.
constexpr int kCallsBetweenStarts = 1000;

// The State of the pool whose tasks this thread runs; null outside of tasks. A
// nested Execute, of any pool, runs inline.
thread_local const void* in_execute = nullptr;

// How long to spin before sleeping, in nanoseconds.
using SpinTime = std::atomic<std::int64_t>;

// Tasks first, first + step, ... below count, of an array of derived tasks.
struct TaskRange {
  char* tasks;
  std::size_t stride;
  int first, step, count;

  void Run() const {
    for (int i = first; i < count; i += step) {
      reinterpret_cast<Task*>(tasks + i * stride)->Run();
    }
  }
};

// What a worker's slot can be:
//
//            caller hands a range over             somebody takes it
//   kIdle  ----------------------------> kReady ----------------------> kIdle
//     | ^ (woken without cause)            ^
//     v |                                  | (and the caller wakes it)
//   kAsleep -------------------------------+
//
// Worker and caller both try to take a kReady range; the exchange decides.
enum SlotState : std::uint32_t { kIdle, kAsleep, kReady, kQuit };

}  // namespace

// All that concerns one process's workers: replaced after a fork, when its
// mutex may be held and its threads be gone.
struct ThreadPool::State {
  struct alignas(kSeparation) Worker {
    std::atomic<std::uint32_t> slot{kIdle};
    bool must_wake = false;  // the caller's
    TaskRange range;         // written before kReady, read by who took it
    std::thread thread;
  };

  explicit State(int born_at) : forks(born_at) {}
  ~State();

  int EnsureWorkers(int count, const SpinTime& spin_time);
  void StartWorkers(int count, const SpinTime& spin_time);
  void WorkerLoop(Worker* worker, const SpinTime& spin_time);
  void FinishOne();
  void WaitForOthers(const SpinTime& spin_time);

  static bool Take(Worker* worker) {
    std::uint32_t expected = kReady;
    return worker->slot.load(std::memory_order_relaxed) == kReady &&
           worker->slot.compare_exchange_strong(expected, kIdle,
                                                std::memory_order_acquire,
                                                std::memory_order_relaxed);
  }

  const int forks;
  std::mutex mutex;  // held by the running Execute
  std::vector<std::unique_ptr<Worker>> workers;
  int calls_until_start = 0;
  // The caller leads; workers are in it while they are awake.
  CpuPlacement placement;
  // Ranges that workers took or may yet take, and whether the caller sleeps
  // until there are none.
  static constexpr std::uint32_t kCallerAsleep = 1u << 31;
  alignas(kSeparation) std::atomic<std::uint32_t> pending{0};
};

namespace {

SpinPacer NewPacer(const SpinTime& spin_time) {
  return SpinPacer(
      std::chrono::nanoseconds(spin_time.load(std::memory_order_relaxed)));
}

}  // namespace

ThreadPool::State::~State() {
  for (auto& worker : workers) {
    if (worker->slot.exchange(kQuit, std::memory_order_release) == kAsleep) {
      WakeOne(&worker->slot);
    }
  }
  for (auto& worker : workers) worker->thread.join();
}

int ThreadPool::State::EnsureWorkers(int count, const SpinTime& spin_time) {
  count = std::min(count, kMaxWorkers);
  if (static_cast<int>(workers.size()) >= count) {
    return static_cast<int>(workers.size());
  }
  if (!os::CanStartThreads()) return 0;
  // A handler of the host's would run on a worker, in its floating-point
  // environment, and hold up a product.
  struct Arguments {
    State* state;
    int count;
    const SpinTime& spin_time;
  } arguments{this, count, spin_time};
  os::CallWithSignalsBlocked(
      [](void* pointer) {
        const auto* const a = static_cast<const Arguments*>(pointer);
        a->state->StartWorkers(a->count, a->spin_time);
      },
      &arguments);
  return static_cast<int>(workers.size());
}

void ThreadPool::State::StartWorkers(int count, const SpinTime& spin_time) {
  try {
    while (static_cast<int>(workers.size()) < count) {
      auto worker = std::make_unique<Worker>();
      workers.reserve(workers.size() + 1);
      Worker* const raw = worker.get();
      worker->thread =
          std::thread([this, raw, &spin_time] { WorkerLoop(raw, spin_time); });
      workers.push_back(std::move(worker));
    }
  } catch (const std::exception&) {
    // No memory or no thread: the caller goes on with the threads it has.
  }
}

void ThreadPool::State::WorkerLoop(Worker* worker, const SpinTime& spin_time) {
  // A new thread inherits its creator's state.
  std::fesetenv(FE_DFL_ENV);
  in_execute = this;
  int cpu = placement.Enter();
  for (;;) {
    SpinPacer pacer = NewPacer(spin_time);
    for (;;) {
      const std::uint32_t slot = worker->slot.load(std::memory_order_relaxed);
      if (slot == kQuit) return;
      if (slot == kReady) break;
      if (slot == kIdle && pacer.Pause()) continue;
      std::uint32_t expected = kIdle;
      if (slot == kAsleep ||
          worker->slot.compare_exchange_strong(expected, kAsleep,
                                               std::memory_order_relaxed)) {
        placement.Leave(cpu);
        SleepWhileEquals(&worker->slot, kAsleep);
        cpu = placement.Enter();
        // Woken: even if the caller was faster and took the range back, more
        // work is likely.
        pacer = NewPacer(spin_time);
      }
    }
    if (!Take(worker)) continue;
    worker->range.Run();
    FinishOne();
  }
}

void ThreadPool::State::FinishOne() {
  // The range's last effect: after it the caller may reuse everything but this
  // word, which lives as long as the workers.
  if (pending.fetch_sub(1, std::memory_order_acq_rel) == (kCallerAsleep | 1u)) {
    WakeOne(&pending);
  }
}

void ThreadPool::State::WaitForOthers(const SpinTime& spin_time) {
  SpinPacer pacer = NewPacer(spin_time);
  for (;;) {
    const std::uint32_t seen = pending.load(std::memory_order_acquire);
    if ((seen & ~kCallerAsleep) == 0) break;
    if ((seen & kCallerAsleep) != 0) {
      SleepWhileEquals(&pending, seen);
    } else if (!pacer.Pause()) {
      pending.fetch_or(kCallerAsleep, std::memory_order_relaxed);
    }
  }
  pending.store(0, std::memory_order_relaxed);
}

ThreadPool::ThreadPool() : state_(new State(os::ForkCount())) {}

ThreadPool::~ThreadPool() {
  State* const state = state_.load(std::memory_order_acquire);
  // After a fork the old state's threads cannot be joined, nor its mutex
  // trusted: leave it.
  if (state->forks == os::ForkCount()) delete state;
}

ThreadPool::State* ThreadPool::CurrentState() {
  State* state = state_.load(std::memory_order_acquire);
  const int forks = os::ForkCount();
  if (state->forks == forks) return state;
  State* const fresh = new (std::nothrow) State(forks);
  if (fresh == nullptr) return nullptr;
  if (state_.compare_exchange_strong(state, fresh, std::memory_order_acq_rel)) {
    return fresh;
  }
  delete fresh;  // Another thread of the child was faster.
  return state;
}

int ThreadPool::EnsureWorkers(int count) {
  State* const state = CurrentState();
  if (state == nullptr) return 0;
  std::lock_guard<std::mutex> lock(state->mutex);
  state->calls_until_start = 0;
  return state->EnsureWorkers(count, spin_nanoseconds_);
}

bool ThreadPool::RunsThisThread() const {
  return in_execute != nullptr &&
         in_execute == state_.load(std::memory_order_relaxed);
}

float ThreadPool::spin_milliseconds() const {
  return spin_milliseconds_.load(std::memory_order_relaxed);
}

void ThreadPool::set_spin_milliseconds(float milliseconds) {
  const ScopedFloatState float_state(FloatState::kDefault);
  // Bounded so that it fits the clock; NaN counts as 0.
  constexpr float kDayMilliseconds = 86400e3f;
  const float bounded =
      milliseconds > 0 ? std::min(milliseconds, kDayMilliseconds) : 0.0f;
  spin_milliseconds_.store(bounded, std::memory_order_relaxed);
  spin_nanoseconds_.store(static_cast<std::int64_t>(1e6f * bounded),
                          std::memory_order_relaxed);
}

int ThreadPool::ExecuteImpl(int task_count, std::size_t stride,
                            Task* tasks) noexcept {
  char* const base = reinterpret_cast<char*>(tasks);
  State* const state =
      task_count <= 1 || in_execute != nullptr ? nullptr : CurrentState();
  if (state == nullptr) {
    TaskRange{base, stride, 0, 1, task_count}.Run();
    return 1;
  }
  std::lock_guard<std::mutex> lock(state->mutex);
  int available = static_cast<int>(state->workers.size());
  const int wanted = std::min(task_count - 1, kMaxWorkers);
  if (available < wanted && --state->calls_until_start < 0) {
    available = state->EnsureWorkers(wanted, spin_nanoseconds_);
    state->calls_until_start = available < wanted ? kCallsBetweenStarts : 0;
  }
  const int used = std::min(available, wanted);
  state->placement.SetLeader();
  state->pending.store(static_cast<std::uint32_t>(used),
                       std::memory_order_relaxed);
  for (int i = 0; i < used; i++) {
    State::Worker* const worker = state->workers[i].get();
    worker->range = TaskRange{base, stride, i + 1, used + 1, task_count};
    worker->must_wake =
        worker->slot.exchange(kReady, std::memory_order_acq_rel) == kAsleep;
  }
  // Only now, a wake-up being a system call that the spinning workers need not
  // wait for.
  for (int i = 0; i < used; i++) {
    if (state->workers[i]->must_wake) WakeOne(&state->workers[i]->slot);
  }
  in_execute = state;
  TaskRange{base, stride, 0, used + 1, task_count}.Run();
  // Backwards: the last workers were called last.
  std::uint32_t taken_back = 0;
  for (int i = used - 1; i >= 0; i--) {
    State::Worker* const worker = state->workers[i].get();
    if (State::Take(worker)) {
      worker->range.Run();
      ++taken_back;
    }
  }
  in_execute = nullptr;
  if (taken_back > 0) {
    state->pending.fetch_sub(taken_back, std::memory_order_acq_rel);
    // Maybe the worker is late because it waits for this very core, which it
    // will leave as soon as it runs.
    os::YieldThread();
  }
  state->WaitForOthers(spin_nanoseconds_);
  return used + 1;
}

}  // namespace ruy_like
