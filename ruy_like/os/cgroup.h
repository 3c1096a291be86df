// OS: how much processor time Linux's control groups grant this process.
//
// Called by linux.cc; a function of files, so that tests forge them.
#ifndef RUY_LIKE_OS_CGROUP_H_
#define RUY_LIKE_OS_CGROUP_H_

#include <string>

namespace ruy_like::os {

// Quota over period, in processors, of the strictest group among this process's
// group and those above it that are mounted; infinity without a limit, or
// where the files do not say. Reads cpu.max (version 2) and cpu.cfs_quota_us
// (version 1), found by /proc/self/cgroup and /proc/self/mountinfo, all with
// `root` before their names. Throws std::bad_alloc.
double CgroupCpuQuota(const std::string& root);

}  // namespace ruy_like::os

#endif  // RUY_LIKE_OS_CGROUP_H_
