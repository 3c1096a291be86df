// Machine: its processor's caches and kinds of cores, and features by cpuinfo.
//
// Asked by cpu_features.cc, plans and Context. The library cpuinfo
// answers (processor_cpuinfo.cc), or where a build has none, CPUID alone
// (processor_cpuid.cc); cmake/Library.cmake chooses.
#ifndef RUY_LIKE_MACHINE_PROCESSOR_H_
#define RUY_LIKE_MACHINE_PROCESSOR_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ruy_like/machine/cpu_features.h"

namespace ruy_like {

// The features that cpuinfo is asked for, and which of them it found.
struct LibraryFeatures {
  CpuFeatures known = 0;  // 0: cpuinfo reports nothing
  CpuFeatures found = 0;
};
LibraryFeatures FeaturesByLibrary();

// As reported: what is not known is 0 (PlausibleCacheSizes).
CacheSizes ReportedCacheSizes();

// The kinds of cores that the machine has, each once, in cpuinfo's numbers
// (cpuinfo_uarch); empty if not known, and on other processors than 64-bit Arm.
std::vector<uint32_t> Microarchitectures();

// The processor's name, for people; "unknown" if not known.
std::string ProcessorName();

// ## Cores that issue instructions in the order of the program
//
// They depend far more on that order than cores that look for independent
// instructions by themselves, so some kernels have a second loop for them
// (Kernel::run_in_order), with the same results. Context's products take it
// where all cores are such, unless Tuning says otherwise. Which kernel serves a
// product does not depend on it.

inline constexpr uint32_t kCortexA35 = 0x00300335;
inline constexpr uint32_t kCortexA53 = 0x00300353;
inline constexpr uint32_t kCortexA55R0 = 0x00300354;
inline constexpr uint32_t kCortexA55 = 0x00300355;

// True if all of a machine's Microarchitectures() are these. False where there
// are larger cores as well, which do most of the work.
bool AllIssueInOrder(const std::vector<uint32_t>& microarchitectures);

// This machine's. Found out at the first call (false if that lacks memory);
// thread-safe, throws nothing.
bool IssuesInOrder();

}  // namespace ruy_like

#endif  // RUY_LIKE_MACHINE_PROCESSOR_H_
