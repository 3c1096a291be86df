// Machine: which CpuFeature bits an Arm processor has, asked of the operating
// system: user programs cannot read the identification registers everywhere.
//
// Called by cpu_features.cc. The decisions are pure functions of what the
// system reports, so that tests cover other machines than the one they run on.
// cpuinfo is not asked: the version of 2022 that Debian 12 has does not know
// the 8-bit matrix multiplication.
#ifndef RUY_LIKE_MACHINE_CPU_FEATURES_ARM_H_
#define RUY_LIKE_MACHINE_CPU_FEATURES_ARM_H_

#include <cstdint>

#include "ruy_like/machine/cpu_features.h"

namespace ruy_like {

// From Linux's auxiliary vector: AT_HWCAP and AT_HWCAP2.
CpuFeatures ArmCpuFeaturesOfHwcaps(uint64_t hwcap, uint64_t hwcap2);

// The same on 32-bit Arm, from AT_HWCAP, whose bits mean something else there.
CpuFeatures Arm32CpuFeaturesOfHwcap(uint64_t hwcap);

// From Apple's sysctl: `has(name)` is true for a variable that exists and is
// not 0.
CpuFeatures ArmCpuFeaturesOfSysctls(bool (*has)(const char* name));

// From Windows: `has(number)` is IsProcessorFeaturePresent. NEON is always
// there: every 64-bit Arm processor of the A profile has it.
CpuFeatures ArmCpuFeaturesOfWindows(bool (*has)(int number));

// Features of the processor that this runs on; 0 if it is not an Arm. At least
// NEON if it is a 64-bit one, also where the system is none of the above.
CpuFeatures HostArmCpuFeatures();

}  // namespace ruy_like

#endif  // RUY_LIKE_MACHINE_CPU_FEATURES_ARM_H_
