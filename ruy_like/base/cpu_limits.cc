#include "ruy_like/base/cpu_limits.h"

#include <algorithm>
#include <climits>
#include <thread>

#include "ruy_like/os/process.h"
#include "ruy_like/os/processors.h"
#include "ruy_like/thread_pool.h"

namespace ruy_like {

int PermittedCpus() {
  static const int count = os::CountPermittedCpus();
  return count;
}

int ThreadCountFor(int permitted, double quota, int reported) {
  int count = permitted;
  if (count == INT_MAX) count = std::max(reported, 1);
  // Rounded down: one thread more than the quota covers, and all of them are
  // stopped for a part of each period, while the others wait for it.
  if (quota < count) count = static_cast<int>(quota);
  return std::clamp(count, 1, ThreadPool::kMaxWorkers + 1);
}

int DefaultThreadCount() {
  if (!os::CanStartThreads()) return 1;
  return ThreadCountFor(os::CountPermittedCpus(), os::CpuQuota(),
                        static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace ruy_like
