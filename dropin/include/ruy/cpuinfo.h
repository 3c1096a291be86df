// Drop-in for ruy: CpuInfo, what the processor has.
#ifndef RUY_LIKE_DROPIN_RUY_CPUINFO_H_
#define RUY_LIKE_DROPIN_RUY_CPUINFO_H_

#include "ruy/dropin_visibility.h"

namespace ruy {

// Cache sizes in bytes.
struct CpuCacheParams final {
  // The largest cache that a core has to itself.
  int local_cache_size = 0;
  // The largest cache, shared with other cores or not.
  int last_level_cache_size = 0;
};

// The features of the processor and the operating system that ruy's paths of
// the same names need. Neither ruy_like's paths nor the environment variables
// that narrow them play a part.
class RUY_LIKE_DROPIN_EXPORT CpuInfo final {
 public:
  CpuInfo();
  RUY_LIKE_LOCAL ~CpuInfo() = default;
  CpuInfo(const CpuInfo&) = delete;
  CpuInfo& operator=(const CpuInfo&) = delete;

  // Arm; false elsewhere.
  bool NeonDotprod();

  // x86; false elsewhere.
  bool Sse42();
  bool Avx();
  bool Avx2Fma();
  bool Avx512();   // F, BW, CD, DQ and VL
  bool AvxVnni();  // AVX-512-VNNI, as in ruy

  // 32 KiB and 512 KiB where they cannot be detected.
  const CpuCacheParams& CacheParams();

  // True if the calling thread runs on a Cortex-A53 or A55, or on a Cortex-X1.
  bool CurrentCpuIsA55ish();
  bool CurrentCpuIsX1();

 private:
  CpuCacheParams cache_params_;
};

}  // namespace ruy

#endif  // RUY_LIKE_DROPIN_RUY_CPUINFO_H_
