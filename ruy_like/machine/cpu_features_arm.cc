// Tested in test/machine/cpu_features_test.cc.
#include "ruy_like/machine/cpu_features_arm.h"

#include <cstddef>
#include <cstdint>

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#elif defined(__aarch64__) && defined(__APPLE__)
#include <sys/sysctl.h>
#endif

namespace ruy_like {
namespace {

// Linux's numbers for 64-bit Arm, written out so that other hosts know them
// too.
constexpr int kHwcapAsimd = 1;
constexpr int kHwcapAsimdDp = 20;
constexpr int kHwcap2I8mm = 13;

constexpr bool Bit(uint64_t word, int bit) { return (word >> bit) & 1; }

#if defined(__aarch64__) && defined(__APPLE__)
bool HasSysctl(const char* name) {
  int value = 0;
  size_t size = sizeof(value);
  return sysctlbyname(name, &value, &size, nullptr, 0) == 0 && value != 0;
}
#endif

}  // namespace

CpuFeatures ArmCpuFeaturesOfHwcaps(uint64_t hwcap, uint64_t hwcap2) {
  if (!Bit(hwcap, kHwcapAsimd)) return 0;
  CpuFeatures features = kCpuNeon;
  if (Bit(hwcap, kHwcapAsimdDp)) features |= kCpuNeonDot;
  if (Bit(hwcap2, kHwcap2I8mm)) features |= kCpuNeonI8mm;
  return features;
}

CpuFeatures ArmCpuFeaturesOfSysctls(bool (*has)(const char* name)) {
  // The first name is what macOS 11 calls it, which knows no others of these.
  if (!has("hw.optional.neon") && !has("hw.optional.AdvSIMD")) return 0;
  CpuFeatures features = kCpuNeon;
  if (has("hw.optional.arm.FEAT_DotProd")) features |= kCpuNeonDot;
  if (has("hw.optional.arm.FEAT_I8MM")) features |= kCpuNeonI8mm;
  return features;
}

CpuFeatures HostArmCpuFeatures() {
#if defined(__aarch64__) && defined(__linux__)
  return ArmCpuFeaturesOfHwcaps(getauxval(AT_HWCAP), getauxval(AT_HWCAP2));
#elif defined(__aarch64__) && defined(__APPLE__)
  return ArmCpuFeaturesOfSysctls(&HasSysctl);
#else
  return 0;
#endif
}

}  // namespace ruy_like
