// OS: which processors threads may use, and what the system says of their
// instructions.
#ifndef RUY_LIKE_OS_PROCESSORS_H_
#define RUY_LIKE_OS_PROCESSORS_H_

#include <cstdint>
#include <string>

namespace ruy_like::os {

// How many processors threads may run on: by the affinity of the process's
// first thread or of the calling one, whichever permits more; INT_MAX if not
// known.
int CountPermittedCpus();

// The number of the processor that this thread runs on; -1 if not known.
int CurrentCpu();

// Has the system move this thread to a processor that it may run on and whose
// bit in avoided[cpu / 64] is not set, and then lets it run on all again. Does
// nothing where there is none among the first `count`, where the thread may not
// run on every processor that is online (a restriction could not be put back as
// it was), or where the system has no such call.
void MoveOff(const std::uint64_t* avoided, int count);

// How many processors' time the process may use: a container's quota over its
// period (Windows: the job's hard limit), which need not be whole; a large
// number where there is no limit.
double CpuQuota();

// CpuQuota of Linux. Quota over period, in processors, of the strictest group
// among this process's group and those above it that are mounted; infinity
// without a limit, or where the files do not say. Reads cpu.max (version 2) and
// cpu.cfs_quota_us (version 1), found by /proc/self/cgroup and
// /proc/self/mountinfo, all with `root` before their names, so that tests forge
// them. Throws std::bad_alloc.
double CgroupCpuQuota(const std::string& root);

// Asks the system for the use of AMX tile data, which enlarges the signal
// frames of the whole process. False where it refuses or does not know the
// question: without its permission the instructions fault.
bool RequestAmx();

// Linux's auxiliary vector, AT_HWCAP and AT_HWCAP2; false elsewhere.
bool GetHwcaps(std::uint64_t* hwcap, std::uint64_t* hwcap2);

// True if a variable of sysctl with this name exists and is not 0. False where
// the system has no such names, which are Apple's.
bool HasSysctl(const char* name);

// False where the system describes processors in a file that is missing, as
// Linux does in a jail without /proc.
bool ProcessorsAreDescribed();

// Windows' IsProcessorFeaturePresent; false elsewhere.
bool HasWindowsFeature(int number);

}  // namespace ruy_like::os

#endif  // RUY_LIKE_OS_PROCESSORS_H_
