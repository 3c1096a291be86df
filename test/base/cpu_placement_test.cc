#include "ruy_like/base/cpu_placement.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "ruy_like/os/processors.h"
#include "test/support/permitted_cpus.h"

namespace {

// What the library asked the kernel for last, and how often.
cpu_set_t last_set;
std::atomic<int> set_count{0};
// True if the kernel's answers are to permit processors 1 to 7, and not 0.
std::atomic<bool> answers_no_cpu_0{false};

}  // namespace

// These take the place of the C library's.
extern "C" int sched_setaffinity(pid_t thread, size_t bytes,
                                 const cpu_set_t* set) noexcept {
  CPU_ZERO(&last_set);
  std::memcpy(&last_set, set, bytes);
  ++set_count;
  return static_cast<int>(syscall(SYS_sched_setaffinity, thread, bytes, set));
}
extern "C" int sched_getaffinity(pid_t thread, size_t bytes,
                                 cpu_set_t* set) noexcept {
  std::memset(set, 0, bytes);
  if (syscall(SYS_sched_getaffinity, thread, bytes, set) < 0) return -1;
  if (answers_no_cpu_0) {
    CPU_CLR_S(0, bytes, set);
    for (int cpu = 1; cpu < 8; ++cpu) CPU_SET_S(cpu, bytes, set);
  }
  return 0;
}

namespace ruy_like {
namespace {

class CpuPlacementTest : public testing::Test {
 protected:
  void SetUp() override {
    if (ListPermittedCpus().size() < 2) GTEST_SKIP() << "needs two processors";
    if (static_cast<long>(permitted_.size()) != sysconf(_SC_NPROCESSORS_ONLN)) {
      GTEST_SKIP() << "restricted to some processors: nothing is moved";
    }
  }
  void TearDown() override { Permit(permitted_); }

  // Calls `f` on a thread that is on `cpu` but may run anywhere.
  template <typename F>
  void RunOn(int cpu, F f) {
    std::thread([&] {
      Permit({cpu});
      Permit(permitted_);
      // It has no reason to leave: that one is free but for this thread.
      if (os::CurrentCpu() == cpu) {
        f();
      } else {
        GTEST_LOG_(INFO) << "moved by the kernel, nothing to test";
      }
    }).join();
  }

  const std::vector<int> permitted_ = ListPermittedCpus();
  CpuPlacement placement_;
};

TEST_F(CpuPlacementTest, LeavesTheLeaderAlone) {
  Permit({permitted_[0]});
  placement_.SetLeader();
  RunOn(permitted_[0], [this] {
    const int cpu = placement_.Enter();
    EXPECT_NE(cpu, permitted_[0]);
    EXPECT_EQ(ListPermittedCpus(), permitted_);
    placement_.Leave(cpu);
  });
}

// A set of some processors would stay with the thread: the kernel intersects it
// with those that a container is given later.
TEST_F(CpuPlacementTest, LeavesNoRestrictionBehind) {
  Permit({permitted_[0]});
  placement_.SetLeader();
  RunOn(permitted_[0], [this] {
    set_count = 0;
    placement_.Leave(placement_.Enter());
    EXPECT_EQ(set_count, 2);
    EXPECT_EQ(CPU_COUNT(&last_set), CPU_SETSIZE);
  });
}

// What the host or its container has restricted could not be put back.
TEST_F(CpuPlacementTest, ARestrictedThreadIsNotMoved) {
  Permit({permitted_[0]});
  placement_.SetLeader();
  RunOn(permitted_[0], [this] {
    set_count = 0;
    answers_no_cpu_0 = true;
    placement_.Leave(placement_.Enter());
    answers_no_cpu_0 = false;
    EXPECT_EQ(set_count, 0);
  });
}

TEST_F(CpuPlacementTest, MembersAvoidEachOther) {
  const int first = permitted_[1];
  int taken = -1;
  RunOn(first, [&] { taken = placement_.Enter(); });
  if (taken != first) return;
  RunOn(first, [&] { EXPECT_NE(placement_.Enter(), first); });
}

TEST_F(CpuPlacementTest, StaysWhereNobodyIs) {
  RunOn(permitted_[0], [this] {
    EXPECT_EQ(placement_.Enter(), permitted_[0]);
    placement_.Leave(permitted_[0]);
    EXPECT_EQ(placement_.Enter(), permitted_[0]);
  });
}

// The host may have left only one.
TEST_F(CpuPlacementTest, StaysWhereItMust) {
  Permit({permitted_[0]});
  placement_.SetLeader();
  EXPECT_EQ(placement_.Enter(), permitted_[0]);
  EXPECT_EQ(placement_.Enter(), permitted_[0]);
  EXPECT_EQ(ListPermittedCpus(), std::vector<int>{permitted_[0]});
}

TEST_F(CpuPlacementTest, LeavingUnknownIsHarmless) { placement_.Leave(-1); }

}  // namespace
}  // namespace ruy_like
