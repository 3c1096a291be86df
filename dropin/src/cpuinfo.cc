#include "ruy/cpuinfo.h"

#include <cpuinfo.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>

namespace ruy {
namespace {

// Where the system has no description of its processors, cpuinfo writes to
// stderr and finds nothing.
bool Initialize() {
#if defined(RUY_LIKE_PROCESSORS_FILE)
  static const bool initialized =
      std::ifstream(RUY_LIKE_PROCESSORS_FILE).good() && cpuinfo_initialize();
  return initialized;
#else
  return cpuinfo_initialize();
#endif
}

int SizeOf(const cpuinfo_cache* cache) {
  constexpr std::uint32_t kMost = std::numeric_limits<int>::max();
  return cache == nullptr ? 0 : static_cast<int>(std::min(cache->size, kMost));
}

CpuCacheParams CachesOf(const cpuinfo_processor& processor) {
  const cpuinfo_cache* const l2 = processor.cache.l2;
  const bool l2_is_shared =
      l2 != nullptr && processor.core != nullptr &&
      l2->processor_count > processor.core->processor_count;
  CpuCacheParams caches;
  caches.local_cache_size =
      std::max(SizeOf(processor.cache.l1d), l2_is_shared ? 0 : SizeOf(l2));
  caches.last_level_cache_size = std::max(
      {caches.local_cache_size, SizeOf(l2), SizeOf(processor.cache.l3)});
  return caches;
}

// The smallest over all processors, as a thread may run on any.
CpuCacheParams DetectCaches() {
  CpuCacheParams smallest;
  if (Initialize()) {
    for (std::uint32_t i = 0; i < cpuinfo_get_processors_count(); ++i) {
      const CpuCacheParams caches = CachesOf(*cpuinfo_get_processor(i));
      const bool first = i == 0;
      if (first || caches.local_cache_size < smallest.local_cache_size) {
        smallest.local_cache_size = caches.local_cache_size;
      }
      if (first ||
          caches.last_level_cache_size < smallest.last_level_cache_size) {
        smallest.last_level_cache_size = caches.last_level_cache_size;
      }
    }
  }
  if (smallest.local_cache_size == 0) smallest.local_cache_size = 32 << 10;
  if (smallest.last_level_cache_size == 0) {
    smallest.last_level_cache_size = 512 << 10;
  }
  return smallest;
}

// The microarchitecture of the core that the calling thread runs on.
cpuinfo_uarch CurrentCore() {
  if (!Initialize()) return cpuinfo_uarch_unknown;
  const cpuinfo_uarch_info* const info =
      cpuinfo_get_uarch(cpuinfo_get_current_uarch_index());
  return info == nullptr ? cpuinfo_uarch_unknown : info->uarch;
}

}  // namespace

CpuInfo::CpuInfo() : cache_params_(DetectCaches()) {}

bool CpuInfo::NeonDotprod() {
  return Initialize() && cpuinfo_has_arm_neon_dot();
}

bool CpuInfo::Sse42() { return Initialize() && cpuinfo_has_x86_sse4_2(); }

bool CpuInfo::Avx() { return Initialize() && cpuinfo_has_x86_avx(); }

bool CpuInfo::Avx2Fma() {
  return Initialize() && cpuinfo_has_x86_avx2() && cpuinfo_has_x86_fma3();
}

bool CpuInfo::Avx512() {
  return Initialize() && cpuinfo_has_x86_avx512f() &&
         cpuinfo_has_x86_avx512bw() && cpuinfo_has_x86_avx512cd() &&
         cpuinfo_has_x86_avx512dq() && cpuinfo_has_x86_avx512vl();
}

bool CpuInfo::AvxVnni() { return Initialize() && cpuinfo_has_x86_avx512vnni(); }

const CpuCacheParams& CpuInfo::CacheParams() { return cache_params_; }

bool CpuInfo::CurrentCpuIsA55ish() {
  const cpuinfo_uarch core = CurrentCore();
  return core == cpuinfo_uarch_cortex_a53 ||
         core == cpuinfo_uarch_cortex_a55r0 || core == cpuinfo_uarch_cortex_a55;
}

bool CpuInfo::CurrentCpuIsX1() {
  return CurrentCore() == cpuinfo_uarch_cortex_x1;
}

}  // namespace ruy
