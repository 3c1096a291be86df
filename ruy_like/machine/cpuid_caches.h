// Machine: cache sizes by CPUID, for builds without cpuinfo.
//
// Called by processor_cpuid.cc; a pure function of recorded data.
#ifndef RUY_LIKE_MACHINE_CPUID_CACHES_H_
#define RUY_LIKE_MACHINE_CPUID_CACHES_H_

#include "ruy_like/machine/cpu_features.h"

namespace ruy_like {

// From CPUID leaf 4 (Intel) or 0x8000001D (AMD) of the core that this runs on;
// zeros without either. `processors` is how many logical ones the machine has
// (0: not known): leaves report how many could share a cache at most.
CacheSizes CpuidCacheSizes(const CpuidSource& source, int processors);

}  // namespace ruy_like

#endif  // RUY_LIKE_MACHINE_CPUID_CACHES_H_
