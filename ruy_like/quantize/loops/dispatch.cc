// Tested in test/quantize/layers/quantize_dequantize_test.cc.
#include "ruy_like/quantize/loops/dispatch.h"

namespace ruy_like::quantize_internal {
namespace {

constexpr bool Has(Path paths, Path any_of) {
  return (paths & any_of) != Path::kNone;
}

std::int64_t SupportedTargets() {
  // Once: it asks CPUID, which a virtual machine answers in microseconds.
  static const std::int64_t supported = hwy::SupportedTargets();
  return supported;
}

}  // namespace

Path PermittedPaths(const Context* context) {
  static const Path by_default = Context().runtime_enabled_paths();
  return context == nullptr ? by_default : context->runtime_enabled_paths();
}

std::int64_t PermittedTargets(Path paths) {
  std::int64_t targets = HWY_STATIC_TARGET;
#if HWY_ARCH_X86
  constexpr Path kPathsOf256Bits = Path::kAvx2 | Path::kAvxVnni;
  // AVX-512 and what is newer.
  constexpr Path kPathsOf512Bits =
      kAllPaths & ~(Path::kPortable | Path::kAvx | kPathsOf256Bits);
  if (Has(paths, kPathsOf512Bits)) targets |= HWY_AVX3 | HWY_AVX2;
  if (Has(paths, kPathsOf256Bits)) targets |= HWY_AVX2;
#else
  (void)paths;
#endif
  return targets & SupportedTargets();
}

bool PermitsVnni(const Context* context) {
#if HWY_ARCH_X86
  constexpr Path kWithoutVnni = Path::kPortable | Path::kAvx | Path::kAvx2 |
                                Path::kAvxVnni | Path::kAvx512;
  return Has(PermittedPaths(context), kAllPaths & ~kWithoutVnni);
#else
  (void)context;
  return false;
#endif
}

}  // namespace ruy_like::quantize_internal
