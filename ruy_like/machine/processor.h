// Machine: its processor's caches and kinds of cores, and features by cpuinfo.
//
// Asked by cpu_features.cc and pipeline.cc. The library cpuinfo
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

// The numbers of the cores that issue in order (pipeline.h).
inline constexpr uint32_t kCortexA35 = 0x00300335;
inline constexpr uint32_t kCortexA53 = 0x00300353;
inline constexpr uint32_t kCortexA55R0 = 0x00300354;
inline constexpr uint32_t kCortexA55 = 0x00300355;

}  // namespace ruy_like

#endif  // RUY_LIKE_MACHINE_PROCESSOR_H_
