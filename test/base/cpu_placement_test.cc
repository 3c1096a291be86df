#include "ruy_like/base/cpu_placement.h"

#include <sched.h>

#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace ruy_like {
namespace {

std::vector<int> ListPermittedCpus() {
  cpu_set_t set;
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return cpus;
  for (int i = 0; i < CPU_SETSIZE; i++) {
    if (CPU_ISSET(i, &set)) cpus.push_back(i);
  }
  return cpus;
}

void Permit(const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(cpu, &set);
  ASSERT_EQ(sched_setaffinity(0, sizeof(set), &set), 0);
}

class CpuPlacementTest : public testing::Test {
 protected:
  void SetUp() override {
    if (ListPermittedCpus().size() < 2) GTEST_SKIP() << "needs two processors";
  }
  void TearDown() override { Permit(permitted_); }

  // Calls `f` on a thread that is on `cpu` but may run anywhere.
  template <typename F>
  void RunOn(int cpu, F f) {
    std::thread([&] {
      Permit({cpu});
      Permit(permitted_);
      // It has no reason to leave: that one is free but for this thread.
      if (CurrentCpu() == cpu) {
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
