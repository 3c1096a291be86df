// Tests ruy_like/machine/cpu_features.h: on recorded CPUID data of processors
// that the test machine need not be, and on the machine itself.
#include "ruy_like/machine/cpu_features.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "ruy_like/machine/cpu_features_arm.h"
#include "ruy_like/os/process.h"
#include "ruy_like/path.h"
#include "test/support/on_threads.h"

namespace ruy_like {
namespace {

constexpr CpuFeatures kHaswell = kCpuAvx | kCpuAvx2 | kCpuFma | kCpuF16c;
constexpr CpuFeatures kSkylakeX = kHaswell | kCpuAvx512;
constexpr CpuFeatures kCascadeLake = kSkylakeX | kCpuAvx512Vnni;
constexpr CpuFeatures kZen4Features = kCascadeLake | kCpuFastAvx512Bf16;
constexpr CpuFeatures kSapphireRapids = kCascadeLake | kCpuAvxVnni | kCpuAmx;

// XCR0 as Linux sets it on processors with that much state.
constexpr uint64_t kXcr0None = 0x3;  // x87, SSE
constexpr uint64_t kXcr0Avx = 0x7;
constexpr uint64_t kXcr0Avx512 = 0xe7;
constexpr uint64_t kXcr0Amx = 0x602e7;  // with PKRU

// The registers that matter, as the instruction returned them on a real CPU.
struct Recording {
  const char* name;
  uint32_t max_leaf;
  CpuidRegisters leaf1;
  CpuidRegisters leaf7_0;
  uint32_t leaf7_1_eax;
  uint64_t xcr0;
  CpuFeatures features;  // expected
};

const Recording kCoreI7_4770 = {
    "Haswell, Core i7-4770",
    0x0d,
    {0x000306c3, 0x00100800, 0x7ffafbff, 0xbfebfbff},
    {0x00000000, 0x000027ab, 0x00000000, 0x00000000},
    0,
    kXcr0Avx,
    kHaswell};
const Recording kCoreI9_7900X = {
    "Skylake-X, Core i9-7900X",
    0x16,
    {0x00050654, 0x10200800, 0x7ffefbbf, 0xbfebfbff},
    {0x00000000, 0xd39ffffb, 0x00000000, 0x00000000},
    0,
    kXcr0Avx512,
    kSkylakeX};
const Recording kXeon8280 = {"Cascade Lake, Xeon Platinum 8280",
                             0x16,
                             {0x00050657, 0x3b400800, 0x7ffefbff, 0xbfebfbff},
                             {0x00000000, 0xd39ffffb, 0x00000808, 0xbc000400},
                             0,
                             kXcr0Avx512,
                             kCascadeLake};
const Recording kIceLake = {"Ice Lake, 706E5",
                            0x1b,
                            {0x000706e5, 0x00100800, 0x7ffafbbf, 0xbfebfbff},
                            {0x00000000, 0xf2bf27ef, 0x40405f4e, 0xbc000410},
                            0,
                            kXcr0Avx512,
                            kCascadeLake};
const Recording kCoreI9_12900K = {
    "Alder Lake, Core i9-12900K",
    0x20,
    {0x00090672, 0x00800800, 0x7ffafbff, 0xbfebfbff},
    {0x00000001, 0x239ca7eb, 0x98c027ac, 0xfc1cc410},
    0x00400810,
    kXcr0Avx,
    kHaswell | kCpuAvxVnni};
const Recording kXeonW7_2475X = {
    "Sapphire Rapids, Xeon w7-2475X",
    0x20,
    {0x000806f8, 0x00800800, 0x7ffefbff, 0xbfebfbff},
    {0x00000002, 0xf3bfbffb, 0xbb417fee, 0xffdd4430},
    0x00001c30,
    kXcr0Amx,
    kSapphireRapids};
const Recording kZen2 = {"Zen 2, AMD 4700S",
                         0x10,
                         {0x00840f70, 0x00100800, 0x7ed8320b, 0x178bfbff},
                         {0x00000000, 0x219c91a9, 0x00400004, 0x00000000},
                         0,
                         kXcr0Avx,
                         kHaswell};
const Recording kZen3 = {"Zen 3, Ryzen 9 5900X",
                         0x10,
                         {0x00a20f10, 0x01180800, 0x7ed8320b, 0x178bfbff},
                         {0x00000000, 0x219c97a9, 0x0040068c, 0x00000000},
                         0,
                         kXcr0Avx,
                         kHaswell};
const Recording kZen4 = {"Zen 4, Ryzen 5 7600X",
                         0x10,
                         {0x00a60f12, 0x070c0800, 0x7ef8320b, 0x178bfbff},
                         {0x00000001, 0xf1bf97a9, 0x00405fce, 0x10000010},
                         0x00000020,
                         kXcr0Avx512,
                         kZen4Features};
const Recording kZen5 = {"Zen 5, EPYC B00F21 in a virtual machine",
                         0x1c,
                         {0x00b00f21, 0x00020800, 0xfffa3203, 0x178bfbff},
                         {0x00000001, 0xf1bf07ab, 0x00405fc6, 0x00000110},
                         0x00000030,
                         kXcr0Avx512,
                         kZen4Features | kCpuAvxVnni};

const Recording* const kRecordings[] = {
    &kCoreI7_4770,  &kCoreI9_7900X, &kXeon8280, &kIceLake, &kCoreI9_12900K,
    &kXeonW7_2475X, &kZen2,         &kZen3,     &kZen4,    &kZen5};

class RecordedCpuid : public CpuidSource {
 public:
  explicit RecordedCpuid(const Recording& recording) : recording_(recording) {}

  CpuidRegisters Cpuid(uint32_t leaf, uint32_t subleaf) const override {
    switch (leaf) {
      case 0:
        return recording_.leaf1.eax >> 20 == 0
                   ? CpuidRegisters{recording_.max_leaf, 0x756e6547, 0x6c65746e,
                                    0x49656e69}  // "GenuineIntel"
                   : CpuidRegisters{recording_.max_leaf, 0x68747541, 0x444d4163,
                                    0x69746e65};  // "AuthenticAMD"
      case 1:
        return recording_.leaf1;
      case 7:
        // Intel's processors answer leaves beyond the last one with the data of
        // the last one: who asks without looking gets rubbish.
        if (recording_.max_leaf < 7) break;
        if (subleaf == 0) return recording_.leaf7_0;
        if (subleaf == 1 && recording_.leaf7_0.eax >= 1) {
          return {recording_.leaf7_1_eax, 0, 0, 0};
        }
        break;
    }
    ADD_FAILURE() << recording_.name << ": leaf " << leaf << ", subleaf "
                  << subleaf << " does not exist";
    return {~0u, ~0u, ~0u, ~0u};
  }

  uint64_t Xcr0() const override {
    EXPECT_TRUE(recording_.leaf1.ecx & (1u << 27))
        << "XGETBV would be an illegal instruction";
    return recording_.xcr0;
  }

 private:
  const Recording recording_;
};

CpuFeatures FeaturesOf(const Recording& recording) {
  return X86CpuFeatures(RecordedCpuid(recording));
}

TEST(X86CpuFeaturesTest, RecordedProcessors) {
  for (const Recording* recording : kRecordings) {
    EXPECT_EQ(FeaturesOf(*recording), recording->features) << recording->name;
  }
}

// As Sandy Bridge has it: neither AVX2, FMA nor F16C.
TEST(X86CpuFeaturesTest, AvxAlone) {
  Recording recording = kCoreI7_4770;
  recording.leaf1.ecx &= ~(1u << 12 | 1u << 29);
  recording.leaf7_0.ebx &= ~(1u << 5);
  EXPECT_EQ(FeaturesOf(recording), kCpuAvx);
  EXPECT_EQ(PathsWithFeatures(kCpuAvx), Path::kPortable | Path::kAvx);
  recording.xcr0 = 3;
  EXPECT_EQ(FeaturesOf(recording), 0u);
}

TEST(X86CpuFeaturesTest, OperatingSystemThatEnablesNoAmx) {
  Recording recording = kXeonW7_2475X;
  // Linux before 5.16; then one half of the state only.
  for (uint64_t xcr0 : {0x2e7, 0x202e7, 0x402e7}) {
    recording.xcr0 = xcr0;
    EXPECT_EQ(FeaturesOf(recording), kSapphireRapids & ~kCpuAmx)
        << std::hex << xcr0;
  }
}

TEST(X86CpuFeaturesTest, VirtualMachineThatMasksXcr0) {
  Recording recording = kXeonW7_2475X;
  recording.xcr0 = kXcr0Avx;
  EXPECT_EQ(FeaturesOf(recording), kHaswell | kCpuAvxVnni);
  // Opmask state alone, or all but the upper registers, is not enough.
  for (uint64_t xcr0 : {0x27, 0x67, 0xa7}) {
    recording.xcr0 = xcr0;
    EXPECT_EQ(FeaturesOf(recording), kHaswell | kCpuAvxVnni)
        << std::hex << xcr0;
  }
  recording.xcr0 = kXcr0None;
  EXPECT_EQ(FeaturesOf(recording), 0u);
}

TEST(X86CpuFeaturesTest, VirtualMachineThatHidesBitsOfCpuid) {
  Recording recording = kXeonW7_2475X;
  recording.leaf7_0.edx &= ~(1u << 25);  // AMX-INT8, but not AMX-TILE
  EXPECT_EQ(FeaturesOf(recording), kSapphireRapids & ~kCpuAmx);
  recording = kXeonW7_2475X;
  recording.leaf7_0.ebx &= ~(1u << 31);  // AVX512VL
  EXPECT_EQ(FeaturesOf(recording), kSapphireRapids & ~kCpuAvx512);
  recording = kXeonW7_2475X;
  recording.leaf7_0.eax = 0;  // no subleaf 1, where AVX-VNNI is
  EXPECT_EQ(FeaturesOf(recording), kSapphireRapids & ~kCpuAvxVnni);
}

// Sapphire Rapids has AVX512-BF16, too, as slow as on all of Intel's.
TEST(X86CpuFeaturesTest, Bf16CountsWhereItIsFast) {
  Recording recording = kZen4;
  recording.leaf7_1_eax &= ~0x20u;
  EXPECT_EQ(FeaturesOf(recording), kCascadeLake);
  recording = kZen4;
  recording.xcr0 = kXcr0Avx;
  EXPECT_EQ(FeaturesOf(recording), kHaswell);
  EXPECT_NE(kXeonW7_2475X.leaf7_1_eax & 0x20, 0u);
}

TEST(X86CpuFeaturesTest, NoOsxsaveMeansNothingAndNoXgetbv) {
  Recording recording = kXeonW7_2475X;
  recording.leaf1.ecx &= ~(1u << 27);
  EXPECT_EQ(FeaturesOf(recording), 0u);
}

TEST(X86CpuFeaturesTest, LeavesBeyondTheLastAreNotAsked) {
  Recording recording = kXeonW7_2475X;
  recording.max_leaf = 6;
  EXPECT_EQ(FeaturesOf(recording), 0u);
}

// ## Arm

struct HwcapRecording {
  const char* name;
  uint64_t hwcap, hwcap2;
  Path paths;
};

constexpr Path kNeonPaths = Path::kPortable | Path::kNeon;
constexpr Path kNeonDotPaths = kNeonPaths | Path::kNeonDot;
constexpr Path kAllNeonPaths =
    kNeonDotPaths | Path::kNeonI8mm | Path::kNeonBf16;
constexpr Path kNeon32Paths = Path::kPortable | Path::kNeon32;

TEST(ArmCpuFeaturesTest, RecordedHwcaps) {
  // The auxiliary vector of Linux programs: the first three as an emulator of
  // these processors gave it (the last one with SVE off), the others made of
  // the bits that the kernel documents.
  for (const HwcapRecording& recording : {
           HwcapRecording{"Cortex-A53", 0x8fb, 0, kNeonPaths},
           HwcapRecording{"Cortex-A76", 0x119ffb, 0, kNeonDotPaths},
           HwcapRecording{"with i8mm and bf16", 0xecbffffb, 0x76181,
                          kAllNeonPaths},
           HwcapRecording{"bf16 without i8mm", 0x119ffb, 1 << 14,
                          kNeonDotPaths},
           HwcapRecording{"i8mm without dot products", 0x2, 1 << 13,
                          kNeonPaths},
           HwcapRecording{"no Advanced SIMD", uint64_t{1} << 20, 1 << 13,
                          Path::kPortable},
           HwcapRecording{"nothing", 0, 0, Path::kPortable},
       }) {
    EXPECT_EQ(PathNames(PathsWithFeatures(
                  ArmCpuFeaturesOfHwcaps(recording.hwcap, recording.hwcap2))),
              PathNames(recording.paths))
        << recording.name;
  }
}

TEST(ArmCpuFeaturesTest, RecordedHwcapsOf32Bits) {
  // As an emulator of these processors gave it, the last one without NEON. Of
  // the bits of 64-bit Arm none means NEON here, nor the other way round.
  for (const HwcapRecording& recording : {
           HwcapRecording{"Cortex-A9", 0x8b8d7, 0, kNeon32Paths},
           HwcapRecording{"Cortex-A15", 0x1fb8d7, 0, kNeon32Paths},
           HwcapRecording{"Cortex-A9 without NEON", 0x8a8d7, 0,
                          Path::kPortable},
           HwcapRecording{"a 64-bit processor's", 0x2, 0, Path::kPortable},
       }) {
    EXPECT_EQ(
        PathNames(PathsWithFeatures(Arm32CpuFeaturesOfHwcap(recording.hwcap))),
        PathNames(recording.paths))
        << recording.name;
  }
}

bool AppleM1(const char* name) {
  const std::string n = name;
  return n == "hw.optional.neon" || n == "hw.optional.AdvSIMD" ||
         n == "hw.optional.arm.FEAT_DotProd";
}
bool AppleM2(const char* name) {
  return AppleM1(name) || std::string(name) == "hw.optional.arm.FEAT_I8MM" ||
         std::string(name) == "hw.optional.arm.FEAT_BF16";
}
// Names no feature beyond the floating point ones.
bool OldSystemOnM1(const char* name) {
  return std::string(name) == "hw.optional.neon";
}
bool NoVariables(const char*) { return false; }

TEST(ArmCpuFeaturesTest, SysctlsOfApple) {
  EXPECT_EQ(ArmCpuFeaturesOfSysctls(&AppleM1), kCpuNeon | kCpuNeonDot);
  EXPECT_EQ(ArmCpuFeaturesOfSysctls(&AppleM2),
            kCpuNeon | kCpuNeonDot | kCpuNeonI8mm | kCpuNeonBf16);
  EXPECT_EQ(ArmCpuFeaturesOfSysctls(&OldSystemOnM1), CpuFeatures{kCpuNeon});
  EXPECT_EQ(ArmCpuFeaturesOfSysctls(&NoVariables), CpuFeatures{0});
}

bool SnapdragonX(int number) { return number == 43; }
bool WithI8mm(int number) { return number == 43 || number == 66; }
bool WithBf16(int number) { return WithI8mm(number) || number == 68; }
bool NoFeatures(int) { return false; }

// PF_ARM_V82_DP_INSTRUCTIONS_AVAILABLE, PF_ARM_V82_I8MM_INSTRUCTIONS_AVAILABLE,
// PF_ARM_V86_BF16_INSTRUCTIONS_AVAILABLE.
TEST(ArmCpuFeaturesTest, WindowsFeatures) {
  EXPECT_EQ(ArmCpuFeaturesOfWindows(&SnapdragonX), kCpuNeon | kCpuNeonDot);
  EXPECT_EQ(ArmCpuFeaturesOfWindows(&WithI8mm),
            kCpuNeon | kCpuNeonDot | kCpuNeonI8mm);
  EXPECT_EQ(ArmCpuFeaturesOfWindows(&WithBf16),
            kCpuNeon | kCpuNeonDot | kCpuNeonI8mm | kCpuNeonBf16);
  EXPECT_EQ(ArmCpuFeaturesOfWindows(&NoFeatures), CpuFeatures{kCpuNeon});
}

TEST(ArmCpuFeaturesTest, ThisMachine) {
#if defined(__aarch64__)
  EXPECT_NE(DetectCpuFeatures() & kCpuNeon, 0u);
  EXPECT_EQ(DetectCpuFeatures(), HostArmCpuFeatures());
#elif defined(__arm__)
  EXPECT_EQ(DetectCpuFeatures(), HostArmCpuFeatures());
  EXPECT_EQ(HostArmCpuFeatures() & ~CpuFeatures{kCpuNeon32}, 0u);
#else
  EXPECT_EQ(HostArmCpuFeatures(), 0u);
#endif
}

// Linux's bits are letters: IMAFDC without and with V.
TEST(RiscvCpuFeaturesTest, Hwcap) {
  EXPECT_EQ(RiscvCpuFeaturesOfHwcap(0x112d), CpuFeatures{0});
  EXPECT_EQ(RiscvCpuFeaturesOfHwcap(0x20112d), CpuFeatures{kCpuRvv});
  EXPECT_EQ(PathsWithFeatures(kCpuRvv), Path::kPortable | Path::kRvv128);
}

TEST(NarrowPathsTest, ArmNames) {
  std::string warning;
  EXPECT_EQ(NarrowPaths(kAllNeonPaths, "neondot", &warning),
            Path::kPortable | Path::kNeonDot);
  EXPECT_EQ(warning, "");
}

TEST(PathsWithFeaturesTest, FollowsFromTheRecordedProcessors) {
  const Path avx2 = Path::kPortable | Path::kAvx | Path::kAvx2;
  const Path avx512 = avx2 | Path::kAvx512;
  const Path avx512vnni = avx512 | Path::kAvx512Vnni;
  const struct {
    const Recording* recording;
    Path paths;
  } expectations[] = {
      {&kCoreI7_4770, avx2},
      {&kCoreI9_7900X, avx512},
      {&kXeon8280, avx512vnni},
      {&kIceLake, avx512vnni},
      {&kCoreI9_12900K, avx2 | Path::kAvxVnni},
      {&kXeonW7_2475X, avx512vnni | Path::kAvxVnni | Path::kAmx},
      {&kZen2, avx2},
      {&kZen3, avx2},
      {&kZen4, avx512vnni | Path::kAvx512Bf16},
      {&kZen5, avx512vnni | Path::kAvx512Bf16 | Path::kAvxVnni},
  };
  for (const auto& e : expectations) {
    EXPECT_EQ(PathNames(PathsWithFeatures(FeaturesOf(*e.recording))),
              PathNames(e.paths))
        << e.recording->name;
  }
  EXPECT_EQ(PathsWithFeatures(0), Path::kPortable);
}

TEST(NarrowPathsTest, NamesSelect) {
  const Path found = Path::kPortable | Path::kAvx2 | Path::kAvx512;
  const struct {
    const char* names;
    Path paths;
  } expectations[] = {
      {"", found},
      {" , ", found},
      {"avx2", Path::kPortable | Path::kAvx2},
      {"portable", Path::kPortable},
      {"avx2,avx512", found},
      {"amx", Path::kPortable},  // a good name, but not found here
      {"amx, avx512", Path::kPortable | Path::kAvx512},
  };
  for (const auto& e : expectations) {
    std::string warning = "left over";
    EXPECT_EQ(PathNames(NarrowPaths(found, e.names, &warning)),
              PathNames(e.paths))
        << "'" << e.names << "'";
    EXPECT_EQ(warning, "") << "'" << e.names << "'";
  }
}

TEST(NarrowPathsTest, BadNamesWarnAndArePassedOver) {
  const Path found = Path::kPortable | Path::kAvx2 | Path::kAvx512;
  std::string warning;
  EXPECT_EQ(NarrowPaths(found, "axv2,avx512", &warning),
            Path::kPortable | Path::kAvx512);
  EXPECT_NE(warning.find("'axv2'"), std::string::npos) << warning;
  EXPECT_EQ(NarrowPaths(found, "axv2", &warning), found);
  EXPECT_NE(warning.find("'axv2'"), std::string::npos) << warning;
}

int amx_questions = 0;
bool Grant() {
  ++amx_questions;
  return true;
}
bool Refuse() {
  ++amx_questions;
  return false;
}

TEST(WithoutRefusedAmxTest, AsksOnlyIfAPathNeedsIt) {
  const Path without = kAllPaths & ~Path::kAmx;
  amx_questions = 0;
  EXPECT_EQ(WithoutRefusedAmx(without, &Refuse), without);
  EXPECT_EQ(amx_questions, 0);
  EXPECT_EQ(WithoutRefusedAmx(kAllPaths, &Refuse), without);
  EXPECT_EQ(amx_questions, 1);
  EXPECT_EQ(WithoutRefusedAmx(kAllPaths, &Grant), kAllPaths);
  EXPECT_EQ(amx_questions, 2);
}

TEST(ThisMachineTest, CpuinfoAndCpuidAgree) {
  const CpuidSource* source = HostCpuidSource();
  if (source == nullptr) GTEST_SKIP() << "not an x86";
  EXPECT_EQ(DetectCpuFeatures(), X86CpuFeatures(*source));
}

TEST(ThisMachineTest, DetectedPathsAreRunnableAndHoldPortable) {
  const Path paths = DetectedPaths();
  EXPECT_EQ(paths & Path::kPortable, Path::kPortable);
  EXPECT_EQ(paths & ~CompiledPaths(), Path::kNone);
  EXPECT_EQ(paths & ~PathsWithFeatures(DetectCpuFeatures()), Path::kNone);
  EXPECT_EQ(DetectedPaths(Path::kNone), Path::kPortable);
  EXPECT_EQ(DetectedPaths(Path::kAvx2) & ~Path::kAvx2, Path::kPortable);
  RecordProperty("paths", PathNames(paths));
}

TEST(ThisMachineTest, DetectionIsThreadSafe) {
  if (!os::CanStartThreads()) GTEST_SKIP() << "no threads here";
  std::vector<Path> found(8, Path::kNone);
  OnThreads(8, [&found](int i) {
    DetectedCacheSizes();
    found[i] = DetectedPaths();
  });
  for (Path paths : found) EXPECT_EQ(paths, DetectedPaths());
}

TEST(CacheSizesTest, PlausibleSizesAreKept) {
  const CacheSizes zen5 = {48 << 10, 1 << 20, 32 << 20, 8};
  const CacheSizes sizes = PlausibleCacheSizes(zen5);
  EXPECT_EQ(sizes.l1d_bytes, zen5.l1d_bytes);
  EXPECT_EQ(sizes.l2_bytes, zen5.l2_bytes);
  EXPECT_EQ(sizes.l3_bytes, zen5.l3_bytes);
  EXPECT_EQ(sizes.l3_sharing_cores, 8);
}

void ExpectPlausible(const CacheSizes& sizes) {
  EXPECT_GE(sizes.l1d_bytes, 8 << 10);
  EXPECT_LE(sizes.l1d_bytes, 1 << 20);
  EXPECT_GE(sizes.l2_bytes, sizes.l1d_bytes);
  EXPECT_LE(sizes.l2_bytes, 64 << 20);
  EXPECT_TRUE(sizes.l3_bytes == 0 || sizes.l3_bytes >= sizes.l2_bytes);
  EXPECT_GE(sizes.l3_sharing_cores, 1);
}

TEST(CacheSizesTest, ImplausibleSizesAreReplaced) {
  for (ptrdiff_t l1d : {0, 1, 48 << 10, 1 << 30}) {
    for (ptrdiff_t l2 : {0, 4 << 10, 1 << 20, 1 << 30}) {
      for (ptrdiff_t l3 : {0, 4 << 10, 32 << 20}) {
        for (int cores : {-1, 0, 8}) {
          ExpectPlausible(PlausibleCacheSizes({l1d, l2, l3, cores}));
        }
      }
    }
  }
  const CacheSizes unknown = PlausibleCacheSizes({0, 0, 0, 0});
  EXPECT_EQ(unknown.l1d_bytes, 32 << 10);
  EXPECT_EQ(unknown.l2_bytes, 256 << 10);
  EXPECT_EQ(unknown.l3_bytes, 0);
  EXPECT_EQ(unknown.l3_sharing_cores, 1);
}

TEST(ThisMachineTest, CacheSizesArePlausible) {
  ExpectPlausible(DetectedCacheSizes());
}

TEST(CpuFeatureNamesTest, Names) {
  EXPECT_EQ(CpuFeatureNames(0), "");
  EXPECT_EQ(CpuFeatureNames(kCpuAvx2 | kCpuFma), "avx2 fma");
}

TEST(PathObstacleTest, NoneIfAndOnlyIfThePathIsThere) {
  for (const Path path : PathsBestFirst(kAllPaths)) {
    const bool is_there = (DetectedPaths() & path) != Path::kNone;
    EXPECT_EQ(PathObstacle(path).empty(), is_there) << PathName(path);
  }
}

}  // namespace
}  // namespace ruy_like
