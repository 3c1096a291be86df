// Tested in test/machine/cpu_features_test.cc.
#include <cpuinfo.h>

#include <set>

#include "ruy_like/machine/processor.h"
#include "ruy_like/os/processors.h"

namespace ruy_like {
namespace {

// The features that cpuinfo's oldest supported version (Debian 12's) knows.
constexpr CpuFeatures kFeaturesCpuinfoKnows =
    kCpuAvx2 | kCpuFma | kCpuF16c | kCpuAvx512 | kCpuAvx512Vnni;

static_assert(kCortexA35 == cpuinfo_uarch_cortex_a35 &&
                  kCortexA53 == cpuinfo_uarch_cortex_a53 &&
                  kCortexA55R0 == cpuinfo_uarch_cortex_a55r0 &&
                  kCortexA55 == cpuinfo_uarch_cortex_a55,
              "processor.h has cpuinfo's numbers");

ptrdiff_t SizeOf(const cpuinfo_cache* cache) {
  return cache == nullptr ? 0 : static_cast<ptrdiff_t>(cache->size);
}

// The number of cores with a processor that uses `cache`. cpuinfo's own count
// is of logical processors, and in a virtual machine of the host's.
int CoresSharing(const cpuinfo_cache* cache) {
  std::set<const cpuinfo_core*> cores;
  for (uint32_t i = 0; i < cpuinfo_get_processors_count(); ++i) {
    const cpuinfo_processor* processor = cpuinfo_get_processor(i);
    if (processor->cache.l3 == cache) cores.insert(processor->core);
  }
  return static_cast<int>(cores.size());
}

// cpuinfo writes to stderr where it finds no description of processors, and
// about a processor that it does not know.
bool Initialize() {
  static const bool initialized =
      os::ProcessorsAreDescribed() && cpuinfo_initialize();
  return initialized;
}

#if CPUINFO_ARCH_X86 || CPUINFO_ARCH_X86_64 || CPUINFO_ARCH_ARM || \
    CPUINFO_ARCH_ARM64
constexpr bool kCpuinfoKnowsProcessor = true;
#else
constexpr bool kCpuinfoKnowsProcessor = false;
#endif

}  // namespace

LibraryFeatures FeaturesByLibrary() {
  LibraryFeatures features;
  if (!Initialize()) return features;
  features.known = kFeaturesCpuinfoKnows;
  if (cpuinfo_has_x86_avx2()) features.found |= kCpuAvx2;
  if (cpuinfo_has_x86_fma3()) features.found |= kCpuFma;
  if (cpuinfo_has_x86_f16c()) features.found |= kCpuF16c;
  if (cpuinfo_has_x86_avx512f() && cpuinfo_has_x86_avx512bw() &&
      cpuinfo_has_x86_avx512dq() && cpuinfo_has_x86_avx512vl()) {
    features.found |= kCpuAvx512;
  }
  if (cpuinfo_has_x86_avx512vnni()) features.found |= kCpuAvx512Vnni;
  return features;
}

CacheSizes ReportedCacheSizes() {
  if (!kCpuinfoKnowsProcessor) return {};
  if (!Initialize() || cpuinfo_get_processors_count() == 0) return {};
  const cpuinfo_processor* first = cpuinfo_get_processor(0);
  CacheSizes sizes;
  sizes.l1d_bytes = SizeOf(first->cache.l1d);
  sizes.l2_bytes = SizeOf(first->cache.l2);
  sizes.l3_bytes = SizeOf(first->cache.l3);
  sizes.l3_sharing_cores = CoresSharing(first->cache.l3);
  return sizes;
}

std::vector<uint32_t> Microarchitectures() {
  std::vector<uint32_t> result;
  if (!CPUINFO_ARCH_ARM64 || !Initialize()) return result;
  for (uint32_t i = 0; i < cpuinfo_get_uarchs_count(); ++i) {
    result.push_back(cpuinfo_get_uarch(i)->uarch);
  }
  return result;
}

std::string ProcessorName() {
  const bool known = Initialize() && cpuinfo_get_packages_count() != 0;
  return known ? cpuinfo_get_package(0)->name : "unknown";
}

}  // namespace ruy_like
