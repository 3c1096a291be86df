// Tested in test/machine/cpu_features_test.cc.
#include "ruy_like/machine/cpu_features_arm.h"

#include <cstdint>

#include "ruy_like/os/processors.h"

namespace ruy_like {
namespace {

// Linux's numbers for 64-bit Arm, written out so that other hosts know them
// too.
constexpr int kHwcapAsimd = 1;
constexpr int kHwcapAsimdDp = 20;
constexpr int kHwcap2I8mm = 13;
constexpr int kHwcap2Bf16 = 14;
// And for 32-bit Arm.
constexpr int kHwcapNeon = 12;

constexpr bool Bit(uint64_t word, int bit) { return (word >> bit) & 1; }

// The numbers of Windows' IsProcessorFeaturePresent.
constexpr int kWindowsArmV82Dp = 43;
constexpr int kWindowsArmV82I8mm = 66;
constexpr int kWindowsArmV86Bf16 = 68;

}  // namespace

CpuFeatures ArmCpuFeaturesOfHwcaps(uint64_t hwcap, uint64_t hwcap2) {
  if (!Bit(hwcap, kHwcapAsimd)) return 0;
  CpuFeatures features = kCpuNeon;
  if (Bit(hwcap, kHwcapAsimdDp)) features |= kCpuNeonDot;
  if (Bit(hwcap2, kHwcap2I8mm)) features |= kCpuNeonI8mm;
  if (Bit(hwcap2, kHwcap2Bf16)) features |= kCpuNeonBf16;
  return features;
}

CpuFeatures Arm32CpuFeaturesOfHwcap(uint64_t hwcap) {
  return Bit(hwcap, kHwcapNeon) ? CpuFeatures{kCpuNeon32} : 0;
}

CpuFeatures ArmCpuFeaturesOfSysctls(bool (*has)(const char* name)) {
  // The first name is what macOS 11 calls it, which knows no others of these.
  if (!has("hw.optional.neon") && !has("hw.optional.AdvSIMD")) return 0;
  CpuFeatures features = kCpuNeon;
  if (has("hw.optional.arm.FEAT_DotProd")) features |= kCpuNeonDot;
  if (has("hw.optional.arm.FEAT_I8MM")) features |= kCpuNeonI8mm;
  if (has("hw.optional.arm.FEAT_BF16")) features |= kCpuNeonBf16;
  return features;
}

CpuFeatures ArmCpuFeaturesOfWindows(bool (*has)(int number)) {
  CpuFeatures features = kCpuNeon;
  if (has(kWindowsArmV82Dp)) features |= kCpuNeonDot;
  if (has(kWindowsArmV82I8mm)) features |= kCpuNeonI8mm;
  if (has(kWindowsArmV86Bf16)) features |= kCpuNeonBf16;
  return features;
}

CpuFeatures HostArmCpuFeatures() {
#if defined(__aarch64__)
  uint64_t hwcap = 0, hwcap2 = 0;
  os::GetHwcaps(&hwcap, &hwcap2);
  // A system says nothing by the others' ways.
  return ArmCpuFeaturesOfHwcaps(hwcap, hwcap2) |
         ArmCpuFeaturesOfSysctls(&os::HasSysctl) |
         ArmCpuFeaturesOfWindows(&os::HasWindowsFeature);
#elif defined(__arm__)
  uint64_t hwcap = 0, hwcap2 = 0;
  os::GetHwcaps(&hwcap, &hwcap2);
  return Arm32CpuFeaturesOfHwcap(hwcap);
#else
  return 0;
#endif
}

}  // namespace ruy_like
