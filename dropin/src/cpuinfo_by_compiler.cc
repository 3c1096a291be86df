// CpuInfo for builds without the library cpuinfo, by what compilers offer.
#include <algorithm>
#include <cstddef>
#include <limits>

#include "ruy/cpuinfo.h"
#include "ruy/platform.h"
#include "ruy_like/machine/cpu_features.h"

#if RUY_PLATFORM_X86
#define RUY_LIKE_DROPIN_HAS(feature) (__builtin_cpu_supports(feature) != 0)
#else
#define RUY_LIKE_DROPIN_HAS(feature) false
#endif

namespace ruy {
namespace {

int Bounded(std::ptrdiff_t bytes) {
  constexpr std::ptrdiff_t kMost = std::numeric_limits<int>::max();
  return static_cast<int>(std::min(bytes, kMost));
}

// ruy_like's sizes are of one core, or of the cluster that shares an L2.
CpuCacheParams DetectCaches() {
  const ruy_like::CacheSizes& sizes = ruy_like::DetectedCacheSizes();
  CpuCacheParams caches;
  caches.local_cache_size = Bounded(std::max(sizes.l1d_bytes, sizes.l2_bytes));
  caches.last_level_cache_size =
      std::max(caches.local_cache_size, Bounded(sizes.l3_bytes));
  return caches;
}

}  // namespace

CpuInfo::CpuInfo() : cache_params_(DetectCaches()) {}

bool CpuInfo::NeonDotprod() {
  return (ruy_like::DetectCpuFeatures() & ruy_like::kCpuNeonDot) != 0;
}

bool CpuInfo::Sse42() { return RUY_LIKE_DROPIN_HAS("sse4.2"); }

bool CpuInfo::Avx() { return RUY_LIKE_DROPIN_HAS("avx"); }

bool CpuInfo::Avx2Fma() {
  return RUY_LIKE_DROPIN_HAS("avx2") && RUY_LIKE_DROPIN_HAS("fma");
}

bool CpuInfo::Avx512() {
  return RUY_LIKE_DROPIN_HAS("avx512f") && RUY_LIKE_DROPIN_HAS("avx512bw") &&
         RUY_LIKE_DROPIN_HAS("avx512cd") && RUY_LIKE_DROPIN_HAS("avx512dq") &&
         RUY_LIKE_DROPIN_HAS("avx512vl");
}

bool CpuInfo::AvxVnni() { return RUY_LIKE_DROPIN_HAS("avx512vnni"); }

const CpuCacheParams& CpuInfo::CacheParams() { return cache_params_; }

// Without cpuinfo the kinds of cores are not known.
bool CpuInfo::CurrentCpuIsA55ish() { return false; }
bool CpuInfo::CurrentCpuIsX1() { return false; }

}  // namespace ruy
