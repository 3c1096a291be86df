#include "ruy_like/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <chrono>
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
#include "ruy_like/os/mutex.h"
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

// Tasks n, n + threads, ... below count of an array of derived tasks are thread
// n's.
struct Tasks {
  char* first;
  std::size_t stride;
  int threads, count;

  void Run(int n) const {
    for (int i = n; i < count; i += threads) {
      reinterpret_cast<Task*>(first + i * stride)->Run();
    }
  }
};

// Threads have numbers: 0 is the caller, worker n the n-th one. Tasks are
// handed over along a tree, and their ends are counted along the same one:
//
//                  0                        Each thread first hands over to its
//        /      /     \      \              children, then runs its own tasks.
//       1      2       3      4             The last to end of a thread and its
//    / | | \            ...                 children counts as one end for the
//   5 6  7  8       17 18 19 20             parent.
//
// A caller that wakes 191 workers by itself takes longer than the int8 product
// 3072x768x128 takes on them, and so do 191 ends that are counted in one word;
// with 4 children it is three or four steps (bench/scaling.py: 22% of linear by
// the caller alone, 67% with 2 children, 70% with 4, 69% with 8).
constexpr int kChildren = 4;

int Parent(int number) { return (number - 1) / kChildren; }
int FirstChild(int number) { return number * kChildren + 1; }
// One past the last child of `number`; none if that is the first one.
int ChildrenEnd(int number, int threads) {
  return std::max(std::min(FirstChild(number) + kChildren, threads),
                  FirstChild(number));
}
std::uint32_t ChildCount(int number, int threads) {
  return static_cast<std::uint32_t>(ChildrenEnd(number, threads) -
                                    FirstChild(number));
}

// States of a worker's slot:
//
//           parent hands its tasks over            somebody takes them
//   kIdle  ----------------------------> kReady ----------------------> kIdle
//     | ^ (woken without cause)            ^
//     v |                                  | (and the parent wakes it)
//   kAsleep -------------------------------+
//
// Worker and caller both try to take what is kReady; the exchange decides.
enum SlotState : std::uint32_t { kIdle, kAsleep, kReady, kQuit };

// A caller that has taken a worker's tasks back wakes that one's children only
// if the tasks took longer than this: waking is a system call of 2 to 5 us, and
// mostly no work is left.
constexpr std::chrono::microseconds kWorthWaking{5};

}  // namespace

// All that concerns one process's workers: replaced after a fork, when its
// mutex may be held and its threads be gone.
struct ThreadPool::State {
  struct alignas(kSeparation) Worker {
    std::atomic<std::uint32_t> slot{kIdle};
    Tasks tasks;  // written before it is ready; in the slot's line
    // How many of this worker and its children have not finished; set by the
    // thread that took the tasks.
    alignas(kSeparation) std::atomic<std::uint32_t> unfinished{0};
    std::thread thread;
  };

  explicit State(int born_at) : forks(born_at) {}
  ~State();

  int EnsureWorkers(int count, const SpinTime& spin_time);
  void StartWorkers(int count, const SpinTime& spin_time);
  void WorkerLoop(int number, Worker* worker, const SpinTime& spin_time);

  Worker& At(int number) { return *workers[number - 1]; }
  bool HandOverIfAwake(int number, const Tasks& tasks);
  void HandOver(int number, int end_number, const Tasks& tasks);
  void Finish(int number);
  void RunTakenBack(int number, const Tasks& tasks);
  bool TakeBack(const Tasks& tasks);
  void WaitForOthers(const Tasks& tasks, const SpinTime& spin_time);

  static bool Take(Worker* worker) {
    std::uint32_t expected = kReady;
    return worker->slot.load(std::memory_order_relaxed) == kReady &&
           worker->slot.compare_exchange_strong(expected, kIdle,
                                                std::memory_order_acquire,
                                                std::memory_order_relaxed);
  }

  const int forks;
  os::NativeMutex mutex;  // held by the running Execute
  std::vector<std::unique_ptr<Worker>> workers;
  int calls_until_start = 0;
  // The caller leads; workers are in it while they are awake.
  CpuPlacement placement;
  // How many of the caller's children have unfinished tasks below them; and
  // whether the caller sleeps until none has.
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
      os::WakeOne(&worker->slot);
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
      const int number = static_cast<int>(workers.size()) + 1;
      worker->thread = std::thread([this, number, raw, &spin_time] {
        WorkerLoop(number, raw, spin_time);
      });
      workers.push_back(std::move(worker));
    }
  } catch (const std::exception&) {
    // No memory or no thread: the caller goes on with the threads it has.
  }
}

void ThreadPool::State::WorkerLoop(int number, Worker* worker,
                                   const SpinTime& spin_time) {
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
      if (pacer.Pause()) continue;
      std::uint32_t seen = kIdle;
      if (!worker->slot.compare_exchange_strong(seen, kAsleep,
                                                std::memory_order_relaxed)) {
        continue;
      }
      placement.Leave(cpu);
      while (worker->slot.load(std::memory_order_relaxed) == kAsleep) {
        os::SleepWhileEquals(&worker->slot, kAsleep);
      }
      cpu = placement.Enter();
      // Woken: even if the caller was faster and took the tasks back, more work
      // is likely.
      pacer = NewPacer(spin_time);
    }
    if (!Take(worker)) continue;
    const Tasks tasks = worker->tasks;
    worker->unfinished.store(1 + ChildCount(number, tasks.threads),
                             std::memory_order_relaxed);
    HandOver(FirstChild(number), ChildrenEnd(number, tasks.threads), tasks);
    tasks.Run(number);
    Finish(number);
  }
}

bool ThreadPool::State::HandOverIfAwake(int number, const Tasks& tasks) {
  At(number).tasks = tasks;
  std::uint32_t expected = kIdle;
  return At(number).slot.compare_exchange_strong(expected, kReady,
                                                 std::memory_order_acq_rel);
}

// Gives workers [number, end_number) their tasks.
void ThreadPool::State::HandOver(int number, int end_number,
                                 const Tasks& tasks) {
  int asleep[kChildren];
  int sleepers = 0;
  for (; number < end_number; ++number) {
    if (HandOverIfAwake(number, tasks)) continue;
    // It stays asleep until somebody wakes it.
    At(number).slot.store(kReady, std::memory_order_release);
    asleep[sleepers++] = number;
  }
  // Only now, a wake-up being a system call that the spinning workers need not
  // wait for.
  for (int i = 0; i < sleepers; ++i) os::WakeOne(&At(asleep[i]).slot);
}

// Counts the end of a worker's own tasks. Its last effect: after that the
// caller may reuse everything but `pending`, which lives as long as the
// workers.
void ThreadPool::State::Finish(int number) {
  std::atomic<std::uint32_t>& own = At(number).unfinished;
  // Mostly it is the last one of its part of the tree, and nobody else counts.
  if (own.load(std::memory_order_acquire) != 1 &&
      own.fetch_sub(1, std::memory_order_acq_rel) != 1) {
    return;
  }
  while ((number = Parent(number)) != 0) {
    if (At(number).unfinished.fetch_sub(1, std::memory_order_acq_rel) != 1) {
      return;
    }
  }
  if (pending.fetch_sub(1, std::memory_order_acq_rel) == (kCallerAsleep | 1u)) {
    os::WakeOne(&pending);
  }
}

// Runs the tasks of a worker that has not begun, and sees to its children,
// which nobody has called: those that are awake are, those asleep only if that
// is worth while.
void ThreadPool::State::RunTakenBack(int number, const Tasks& tasks) {
  At(number).unfinished.store(1 + ChildCount(number, tasks.threads),
                              std::memory_order_relaxed);
  int asleep[kChildren];
  int sleepers = 0;
  for (int child = FirstChild(number);
       child < ChildrenEnd(number, tasks.threads); ++child) {
    if (!HandOverIfAwake(child, tasks)) asleep[sleepers++] = child;
  }
  if (sleepers == 0) {
    tasks.Run(number);
  } else {
    const auto start = std::chrono::steady_clock::now();
    tasks.Run(number);
    const bool wake = std::chrono::steady_clock::now() - start > kWorthWaking;
    for (int i = 0; i < sleepers; ++i) {
      if (wake) {
        HandOver(asleep[i], asleep[i] + 1, tasks);
      } else {
        RunTakenBack(asleep[i], tasks);
      }
    }
  }
  Finish(number);
}

// Runs what has been handed over and not begun; whether there was any. Parents
// come before their children.
bool ThreadPool::State::TakeBack(const Tasks& tasks) {
  bool any = false;
  for (int number = 1; number < tasks.threads; ++number) {
    if (pending.load(std::memory_order_relaxed) == 0) break;
    if (!Take(&At(number))) continue;
    RunTakenBack(number, tasks);
    any = true;
  }
  return any;
}

void ThreadPool::State::WaitForOthers(const Tasks& tasks,
                                      const SpinTime& spin_time) {
  // A worker that has been handed its tasks meanwhile may sleep.
  constexpr int kPausesPerLook = 64;
  SpinPacer pacer = NewPacer(spin_time);
  for (int pauses = 1;; ++pauses) {
    const std::uint32_t seen = pending.load(std::memory_order_acquire);
    if ((seen & ~kCallerAsleep) == 0) break;
    if ((seen & kCallerAsleep) != 0) {
      os::SleepWhileEquals(&pending, seen);
    } else if (!pacer.Pause()) {
      pending.fetch_or(kCallerAsleep, std::memory_order_relaxed);
    } else if (pauses % kPausesPerLook == 0) {
      TakeBack(tasks);
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
  std::lock_guard<os::NativeMutex> lock(state->mutex);
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
    Tasks{base, stride, 1, task_count}.Run(0);
    return 1;
  }
  std::lock_guard<os::NativeMutex> lock(state->mutex);
  int available = static_cast<int>(state->workers.size());
  const int wanted = std::min(task_count - 1, kMaxWorkers);
  if (available < wanted && --state->calls_until_start < 0) {
    available = state->EnsureWorkers(wanted, spin_nanoseconds_);
    state->calls_until_start = available < wanted ? kCallsBetweenStarts : 0;
  }
  const int used = std::min(available, wanted);
  state->placement.SetLeader();
  const Tasks all = {base, stride, used + 1, task_count};
  state->pending.store(ChildCount(0, all.threads), std::memory_order_relaxed);
  state->HandOver(FirstChild(0), ChildrenEnd(0, all.threads), all);
  in_execute = state;
  all.Run(0);
  // Maybe a worker is late because it waits for this very core, which it will
  // leave as soon as it runs.
  if (state->TakeBack(all)) os::YieldThread();
  state->WaitForOthers(all, spin_nanoseconds_);
  in_execute = nullptr;
  return used + 1;
}

}  // namespace ruy_like
