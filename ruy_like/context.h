// Public: Context, what calls of Mul share: threads, permitted paths, scratch
// memory, packed constant operands.
//
// Knows nothing about products.
#ifndef RUY_LIKE_CONTEXT_H_
#define RUY_LIKE_CONTEXT_H_

#include <cstddef>
#include <memory>

#include "absl/status/status.h"
#include "ruy_like/export.h"
#include "ruy_like/mul_params.h"
#include "ruy_like/path.h"

namespace ruy_like {

class Executor;
class ThreadPool;
struct ContextImpl;

enum class NumThreadsStrategy {
  kDefault,             // as many threads as pay off, up to the maximum and
                        // the number of processors (with an Executor: up to
                        // its max_concurrency())
  kForceMaxNumThreads,  // always the maximum; for tests and measurements
};

// The cores that products run on, for kernels that have a loop for each kind;
// results are the same.
enum class Tuning {
  kAuto,        // kInOrder where all of the machine's cores are known as such
  kInOrder,     // Arm's Cortex-A35, A53, A55
  kOutOfOrder,  // all others
};

// Advice on calls of Mul, for speed; flags.
enum class PerformanceAdvisory : unsigned {
  kNone = 0,
  // An operand of more than 128 rows or columns is packed in every call,
  // although the other side has at most 128 and the values that were looked at
  // stay: CachePolicy, PackedMatrix.
  kRepeatedPacking = 1,
  // Rows or columns of an operand are a multiple of 4096 bytes apart, so that
  // they share few places of L1: a stride that is 64 bytes longer.
  kStrideOf4KiB = 2,
  // ValueRange::kInt7 was promised of other values, which are searched again in
  // every call.
  kBrokenPromise = 4,
  // AMX's tiles read an operand where it lies, which does not begin or go on at
  // multiples of 64 bytes.
  kUnaligned = 8,
};
constexpr PerformanceAdvisory operator|(PerformanceAdvisory a,
                                        PerformanceAdvisory b) {
  return static_cast<PerformanceAdvisory>(static_cast<unsigned>(a) |
                                          static_cast<unsigned>(b));
}
constexpr PerformanceAdvisory operator&(PerformanceAdvisory a,
                                        PerformanceAdvisory b) {
  return static_cast<PerformanceAdvisory>(static_cast<unsigned>(a) &
                                          static_cast<unsigned>(b));
}

// A Context may be used from several threads at once: calls of Mul take turns,
// and the setters wait for a running Mul (so a task that this Mul may wait for
// must not call them); the getters never wait. Use one Context per thread
// to run products side by side. Creating one is cheap: threads start and memory
// is taken when a product first needs them.
class RUY_LIKE_EXPORT Context final {
 public:
  // Constructors throw std::bad_alloc without memory; nothing else here throws.
  Context();
  // Runs on the workers of `pool`, which other Contexts may share: products
  // that want workers then take turns at them. Null: on workers of its own.
  explicit Context(std::shared_ptr<ThreadPool> pool);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // Threads that one Mul may use, the caller included. The default is 1, or
  // with an Executor its max_concurrency(), which is also an upper bound.
  // Values below 1 count as 1. Fewer are used if threads cannot be started and,
  // with the default strategy, if more do not pay off or there are fewer
  // processors that they may run on.
  int max_num_threads() const;
  void set_max_num_threads(int value);

  // The host's own threads to run on instead of a ThreadPool; null: the pool.
  // Borrowed: must stay valid while it is set, and until a max_num_threads()
  // that runs at the same time has returned.
  Executor* executor() const;
  void set_executor(Executor* executor);

  NumThreadsStrategy num_threads_strategy() const;
  void set_num_threads_strategy(NumThreadsStrategy value);

  // The order of floating-point sums for products whose MulParams leave it to
  // the Context; kOfContext means kInOrder, the default. A MulPlan keeps what
  // its Prepare found, of this and of the tuning.
  FloatSums float_sums() const;
  void set_float_sums(FloatSums value);

  Tuning tuning() const;
  void set_tuning(Tuning value);

  // Paths that Mul may take, a subset of what the processor has (and of what
  // RUY_LIKE_PATHS permits). The portable path is always in it. Paths that the
  // machine does not have are ignored; Path::kNone means all again.
  Path runtime_enabled_paths() const;
  void set_runtime_enabled_paths(Path paths);

  // The path that the last successful Mul took, and its kernel's
  // name, which names another path where the kernel is inherited from that one
  // (AVX-512-VNNI has no float kernel of its own). kNone and "" before the
  // first product that was not empty. A MulPlan's counts from its Prepare on.
  Path last_used_path() const;
  const char* last_used_kernel() const;
  // Threads of the last successful Mul: no more than could be started.
  int last_used_num_threads() const;

  // Advice on the calls of Mul since the last query. Products of at most 64^3
  // multiply-adds, batches and MulPlans are not looked at. RUY_LIKE_VERBOSE
  // prints what is new.
  PerformanceAdvisory performance_advisories();

  // The prepacked cache: packed forms of operands whose CachePolicy asks for
  // it. It recognises an operand by address, shape and types, not by value:
  // clear the cache before changing or freeing a cached operand's data. The
  // bytes are those of the packed buffers and of the bookkeeping for each.
  std::size_t prepacked_cache_bytes() const;
  // Least recently used entries are evicted to stay within the limit;
  // unlimited by default.
  std::size_t prepacked_cache_limit_bytes() const;
  void set_prepacked_cache_limit_bytes(std::size_t bytes);
  void ClearPrepackedCache();

  // The workers, for running the host's own tasks between products. Such a task
  // must not call Mul with this Context, or another one on the same pool, while
  // another thread does: Mul returns FailedPrecondition where it notices.
  ThreadPool* mutable_thread_pool();

  // Calls function(argument, i) for i = 0, ..., count - 1, exactly once each,
  // on as many threads as one Mul may use (the Executor's, else the pool's),
  // and returns when all have returned; what they wrote is then visible to the
  // caller. Takes its turn among the Context's calls of Mul. Calls may run one
  // after the other, so none may wait for another. They must not use this
  // Context.
  //
  // OK means that every call was made and none threw. A call that throws does
  // not keep the others from being made; its exception (the first one, if there
  // are several) is not passed on but becomes the result: ResourceExhausted for
  // std::bad_alloc, else Internal, "a parallel function threw: " and what().
  // This holds whatever an Executor does (executor.h).
  //
  // Errors before any call is made: FailedPrecondition where Mul would return
  // it, InvalidArgument for a null function, ResourceExhausted without memory
  // for more than 64 threads.
  absl::Status ParallelFor(int count, void (*function)(void* argument, int i),
                           void* argument);

  // For the library's own layers.
  ContextImpl* impl() { return impl_.get(); }

 private:
  std::unique_ptr<ContextImpl> impl_;
};

}  // namespace ruy_like

#endif  // RUY_LIKE_CONTEXT_H_
