#include "ruy_like/base/cpu_limits.h"

#include <climits>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "ruy_like/os/processors.h"
#include "ruy_like/thread_pool.h"

#ifdef __linux__
#include <thread>

#include "test/support/permitted_cpus.h"
#endif

namespace ruy_like {
namespace {

constexpr double kNoQuota = std::numeric_limits<double>::infinity();

TEST(ThreadCountTest, IsWhatAffinityAndQuotaPermit) {
  const struct {
    int permitted;
    double quota;
    int reported;
    int count;
  } cases[] = {
      {8, kNoQuota, 8, 8},
      {2, kNoQuota, 8, 2},
      {8, 2.0, 8, 2},
      {8, 2.5, 8, 2},
      {8, 0.25, 8, 1},
      {8, 100.0, 8, 8},
      {INT_MAX, kNoQuota, 4, 4},
      {INT_MAX, 2.0, 4, 2},
      {INT_MAX, kNoQuota, 0, 1},
      {5000, kNoQuota, 5000, ThreadPool::kMaxWorkers + 1},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(ThreadCountFor(c.permitted, c.quota, c.reported), c.count)
        << c.permitted << " " << c.quota << " " << c.reported;
  }
}

TEST(DefaultThreadCountTest, IsWithinWhatThisProcessMayUse) {
  const int count = DefaultThreadCount();
  EXPECT_GE(count, 1);
  EXPECT_LE(count, os::CountPermittedCpus());
  EXPECT_LE(count, PermittedCpus());
}

#ifdef __linux__

// A thread that is bound does not stand for the others; the process does.
TEST(CountPermittedCpusTest, CountsWhatThreadsMayRunOn) {
  const std::vector<int> permitted = ListPermittedCpus();
  if (permitted.size() < 2) GTEST_SKIP() << "needs two processors";
  const int all = static_cast<int>(permitted.size());
  EXPECT_EQ(os::CountPermittedCpus(), all);
  std::thread([&] {
    Permit({permitted[0]});
    EXPECT_EQ(os::CountPermittedCpus(), all);
  }).join();
  Permit({permitted[0]});
  EXPECT_EQ(os::CountPermittedCpus(), 1);
  EXPECT_EQ(DefaultThreadCount(), 1);
  std::thread([&] {
    Permit(permitted);
    EXPECT_EQ(os::CountPermittedCpus(), all);
  }).join();
  Permit(permitted);
}

#endif  // __linux__

}  // namespace
}  // namespace ruy_like
