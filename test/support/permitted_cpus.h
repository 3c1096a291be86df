// Test support: the processors that a thread may run on, by Linux's calls.
#ifndef RUY_LIKE_TEST_SUPPORT_PERMITTED_CPUS_H_
#define RUY_LIKE_TEST_SUPPORT_PERMITTED_CPUS_H_

#include <gtest/gtest.h>
#include <sched.h>

#include <vector>

namespace ruy_like {

inline std::vector<int> ListPermittedCpus() {
  cpu_set_t set;
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return cpus;
  for (int i = 0; i < CPU_SETSIZE; i++) {
    if (CPU_ISSET(i, &set)) cpus.push_back(i);
  }
  return cpus;
}

// Binds this thread to `cpus`.
inline void Permit(const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(cpu, &set);
  ASSERT_EQ(sched_setaffinity(0, sizeof(set), &set), 0);
}

}  // namespace ruy_like

#endif  // RUY_LIKE_TEST_SUPPORT_PERMITTED_CPUS_H_
