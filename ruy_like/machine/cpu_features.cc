#include "ruy_like/machine/cpu_features.h"

#include <algorithm>
#include <cstdio>
#include <new>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "ruy_like/base/env.h"
#include "ruy_like/machine/cpu_features_arm.h"
#include "ruy_like/machine/processor.h"
#include "ruy_like/os/processors.h"
#include "ruy_like/path.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace ruy_like {
namespace {

constexpr bool Bit(uint64_t word, int bit) { return (word >> bit) & 1; }

// Bits of XCR0: the register state that an instruction set needs enabled.
constexpr uint64_t kXcr0Avx = 0x6;      // XMM, YMM
constexpr uint64_t kXcr0Avx512 = 0xe6;  // and opmask, ZMM 0-15, ZMM 16-31
constexpr uint64_t kXcr0Amx = 0x60000;  // tile configuration, tile data

// "AuthenticAMD", four bytes a register.
bool IsAmd(const CpuidRegisters& leaf0) {
  return leaf0.ebx == 0x68747541 && leaf0.edx == 0x69746e65 &&
         leaf0.ecx == 0x444d4163;
}

#if defined(__x86_64__)
class HostCpuid final : public CpuidSource {
 public:
  CpuidRegisters Cpuid(uint32_t leaf, uint32_t subleaf) const override {
    CpuidRegisters r;
    __cpuid_count(leaf, subleaf, r.eax, r.ebx, r.ecx, r.edx);
    return r;
  }
  uint64_t Xcr0() const override {
    // Not the intrinsic: it would need -mxsave for this file.
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t{high} << 32) | low;
  }
};
#endif

CpuFeatures emulated_features = 0;
bool (*emulated_amx_permitted)() = nullptr;

// Asks the system on demand, as that enlarges the process's signal frames, and
// never again.
bool AmxPermitted() {
  if ((emulated_features & kCpuAmx) != 0) {
    return emulated_amx_permitted == nullptr || emulated_amx_permitted();
  }
  static const bool permitted = os::RequestAmx();
  return permitted;
}

// An engine that lacks a feature refuses the module that uses it.
#if defined(__wasm__)
constexpr CpuFeatures kModuleFeatures = kCpuWasm128;
#else
constexpr CpuFeatures kModuleFeatures = 0;
#endif

CpuFeatures HostRiscvCpuFeatures() {
#if defined(__riscv)
  uint64_t hwcap = 0, hwcap2 = 0;
  os::GetHwcaps(&hwcap, &hwcap2);
  return RiscvCpuFeaturesOfHwcap(hwcap);
#else
  return 0;
#endif
}

Path FindMachinePaths() {
  std::string warning;
  const Path paths =
      NarrowPaths(CompiledPaths() & PathsWithFeatures(DetectCpuFeatures()),
                  GetEnv(EnvVar::kPaths), &warning);
  if (!warning.empty()) {
    std::fprintf(stderr, "ruy_like: RUY_LIKE_PATHS: %s\n", warning.c_str());
  }
  return paths;
}

}  // namespace

CpuFeatures X86CpuFeatures(const CpuidSource& source) {
  const CpuidRegisters leaf0 = source.Cpuid(0, 0);
  if (leaf0.eax < 7) return 0;
  const CpuidRegisters leaf1 = source.Cpuid(1, 0);
  if (!Bit(leaf1.ecx, 27)) return 0;  // OSXSAVE: XGETBV may be used
  const uint64_t xcr0 = source.Xcr0();
  const auto os_enables = [xcr0](uint64_t mask) {
    return (xcr0 & mask) == mask;
  };
  const CpuidRegisters leaf7 = source.Cpuid(7, 0);
  const uint32_t leaf7_1_eax = leaf7.eax >= 1 ? source.Cpuid(7, 1).eax : 0;

  CpuFeatures features = 0;
  if (os_enables(kXcr0Avx) && Bit(leaf1.ecx, 28)) {
    features |= kCpuAvx;
    if (Bit(leaf7.ebx, 5)) features |= kCpuAvx2;
    if (Bit(leaf1.ecx, 12)) features |= kCpuFma;
    if (Bit(leaf1.ecx, 29)) features |= kCpuF16c;
    if (Bit(leaf7_1_eax, 4)) features |= kCpuAvxVnni;
  }
  if (os_enables(kXcr0Avx512) && Bit(leaf7.ebx, 16)) {  // AVX512F
    if (Bit(leaf7.ebx, 17) && Bit(leaf7.ebx, 30) && Bit(leaf7.ebx, 31)) {
      features |= kCpuAvx512;  // DQ, BW, VL
    }
    if (Bit(leaf7.ecx, 11)) features |= kCpuAvx512Vnni;
    if (Bit(leaf7_1_eax, 5) && IsAmd(leaf0)) features |= kCpuFastAvx512Bf16;
  }
  if (os_enables(kXcr0Amx) && Bit(leaf7.edx, 24) && Bit(leaf7.edx, 25) &&
      Bit(leaf7.edx, 22)) {
    features |= kCpuAmx;  // AMX-TILE, AMX-INT8, AMX-BF16
  }
  return features;
}

const CpuidSource* HostCpuidSource() {
#if defined(__x86_64__)
  static const HostCpuid source;
  return &source;
#else
  return nullptr;
#endif
}

CpuFeatures RiscvCpuFeaturesOfHwcap(uint64_t hwcap) {
  return Bit(hwcap, 'V' - 'A') ? CpuFeatures{kCpuRvv} : 0;
}

CpuFeatures DetectCpuFeatures() {
  const CpuidSource* source = HostCpuidSource();
  if (source == nullptr) {
    return kModuleFeatures | HostArmCpuFeatures() | HostRiscvCpuFeatures();
  }
  const LibraryFeatures by_library = FeaturesByLibrary();
  return (by_library.found & by_library.known) |
         (X86CpuFeatures(*source) & ~by_library.known) | emulated_features;
}

void SetEmulatedCpuFeatures(CpuFeatures features, bool (*amx_permitted)()) {
  emulated_features = features;
  emulated_amx_permitted = amx_permitted;
}

CpuFeatures FeaturesOf(Path path) {
#define RUY_LIKE_PATH(Enum, name, arch, required, flags) \
  if (path == Path::k##Enum) return required;
#include "ruy_like/registry/paths.inc"
#undef RUY_LIKE_PATH
  return 0;
}

bool PermutesBytes(Path path) {
  if ((FeaturesOf(path) & kCpuAvx512Vnni) == 0) return false;
  static const bool has_vbmi = HostCpuidSource() != nullptr &&
                               Bit(HostCpuidSource()->Cpuid(7, 0).ecx, 1);
  return has_vbmi;
}

Path PathsWithFeatures(CpuFeatures features) {
  Path paths = Path::kNone;
#define RUY_LIKE_PATH(Enum, name, arch, required, flags) \
  if ((features & (required)) == (required)) paths |= Path::k##Enum;
#include "ruy_like/registry/paths.inc"
#undef RUY_LIKE_PATH
  return paths;
}

Path NarrowPaths(Path paths, const std::string& names, std::string* warning) {
  warning->clear();
  Path named = Path::kNone;
  for (absl::string_view name :
       absl::StrSplit(names, ',', absl::SkipWhitespace())) {
    const absl::StatusOr<Path> path = ParsePaths(name);
    if (path.ok()) {
      named |= *path;
    } else {
      *warning = std::string(path.status().message());
    }
  }
  return named == Path::kNone ? paths : paths & (named | Path::kPortable);
}

Path WithoutRefusedAmx(Path paths, bool (*amx_permitted)()) {
  const Path without_amx = paths & PathsWithFeatures(~CpuFeatures{kCpuAmx});
  if (without_amx == paths || amx_permitted()) return paths;
  return without_amx;
}

Path DetectedPaths(Path allowed) {
  return WithoutRefusedAmx(MachinePaths() & (allowed | Path::kPortable),
                           &AmxPermitted);
}

Path MachinePaths() {
  static const Path paths = FindMachinePaths();
  return paths;
}

bool MayRun(Path owner) {
  return WithoutRefusedAmx(owner, &AmxPermitted) == owner;
}

std::string CpuFeatureNames(CpuFeatures features) {
  std::string names;
  for (const CpuFeatureName& entry : kCpuFeatureNames) {
    if ((features & entry.feature) == 0) continue;
    absl::StrAppend(&names, names.empty() ? "" : " ", entry.name);
  }
  return names;
}

Path PathsOfThisArchitecture() {
  enum Architecture {
    any,
    x86,
    arm,
    arm32,
    riscv,
    wasm
  };  // as paths.inc calls them
#if defined(__x86_64__)
  constexpr Architecture kThis = x86;
#elif defined(__aarch64__)
  constexpr Architecture kThis = arm;
#elif defined(__arm__)
  constexpr Architecture kThis = arm32;
#elif defined(__riscv) && __riscv_xlen == 64
  constexpr Architecture kThis = riscv;
#elif defined(__wasm__)
  constexpr Architecture kThis = wasm;
#else
  constexpr Architecture kThis = any;
#endif
  Path paths = Path::kNone;
#define RUY_LIKE_PATH(Enum, name, arch, features, flags) \
  if ((arch) == any || (arch) == kThis) paths |= Path::k##Enum;
#include "ruy_like/registry/paths.inc"
#undef RUY_LIKE_PATH
  return paths;
}

std::string PathObstacle(Path path) {
  if ((PathsOfThisArchitecture() & path) == Path::kNone) {
    return "for other processors";
  }
  if ((CompiledPaths() & path) == Path::kNone) return "not compiled";
  const CpuFeatures missing = FeaturesOf(path) & ~DetectCpuFeatures();
  if (missing != 0) {
    return absl::StrCat("the machine lacks ", CpuFeatureNames(missing));
  }
  if ((MachinePaths() & path) == Path::kNone) {
    return "RUY_LIKE_PATHS leaves it out";
  }
  if ((DetectedPaths(path) & path) == Path::kNone) {
    return "the operating system refuses the use of AMX (a thread's "
           "alternate signal stack may be too small for its state)";
  }
  return "";
}

CacheSizes PlausibleCacheSizes(const CacheSizes& reported) {
  // The defaults are the smallest that an AVX2 core has; the bounds are a
  // factor of four and more around what was ever built.
  constexpr ptrdiff_t kKiB = 1024;
  CacheSizes sizes = reported;
  if (sizes.l1d_bytes < 8 * kKiB || sizes.l1d_bytes > 1024 * kKiB) {
    sizes.l1d_bytes = 32 * kKiB;
  }
  if (sizes.l2_bytes < 2 * sizes.l1d_bytes ||
      sizes.l2_bytes > 64 * 1024 * kKiB) {
    sizes.l2_bytes = 256 * kKiB;
  }
  if (sizes.l2_bytes < sizes.l1d_bytes) sizes.l2_bytes = sizes.l1d_bytes;
  if (sizes.l3_bytes < sizes.l2_bytes) sizes.l3_bytes = 0;
  if (sizes.l3_bytes == 0 || sizes.l3_sharing_cores < 1) {
    sizes.l3_sharing_cores = 1;
  }
  return sizes;
}

bool AllIssueInOrder(const std::vector<uint32_t>& microarchitectures) {
  const auto issues_in_order = [](uint32_t core) {
    return core == kCortexA35 || core == kCortexA53 || core == kCortexA55R0 ||
           core == kCortexA55;
  };
  return !microarchitectures.empty() &&
         std::all_of(microarchitectures.begin(), microarchitectures.end(),
                     issues_in_order);
}

// Throws nothing: a worker may be the first to ask, in the middle of a product.
// Without memory the usual loops run, which serve everywhere.
bool IssuesInOrder() {
  static const bool in_order = [] {
    try {
      return AllIssueInOrder(Microarchitectures());
    } catch (const std::bad_alloc&) {
      return false;
    }
  }();
  return in_order;
}

static CacheSizes& KnownCacheSizes() {
  static CacheSizes sizes = PlausibleCacheSizes(ReportedCacheSizes());
  return sizes;
}

const CacheSizes& DetectedCacheSizes() { return KnownCacheSizes(); }

void SetEmulatedCacheSizes(const CacheSizes& sizes) {
  KnownCacheSizes() = sizes;
}

}  // namespace ruy_like
