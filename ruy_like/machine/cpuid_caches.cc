#include "ruy_like/machine/cpuid_caches.h"

#include <algorithm>

namespace ruy_like {
namespace {

constexpr uint32_t kIntelCaches = 4;
constexpr uint32_t kIntelTopology = 0xb;
constexpr uint32_t kExtendedLeaves = 0x80000000;
constexpr uint32_t kExtendedFeatures = 0x80000001;
constexpr uint32_t kAmdCaches = 0x8000001d;
constexpr uint32_t kAmdTopology = 0x8000001e;

// No processor has as many; ends the walk on an emulator's rubbish.
constexpr uint32_t kMaxCaches = 16;

// Bits first, ..., last of a register.
constexpr uint32_t Bits(uint32_t word, int first, int last) {
  return (word >> first) & ((uint32_t{2} << (last - first)) - 1);
}

// The leaf that lists caches, 0 if none does, and the logical processors of a
// core.
struct Leaves {
  uint32_t caches = 0;
  int threads_per_core = 1;
};

Leaves FindLeaves(const CpuidSource& source) {
  Leaves leaves;
  // AMD's processors have leaf 4, too, filled with zeros.
  const uint32_t max_extended = source.Cpuid(kExtendedLeaves, 0).eax;
  if (max_extended >= kAmdTopology &&
      max_extended < kExtendedLeaves + 0x10000 &&
      Bits(source.Cpuid(kExtendedFeatures, 0).ecx, 22, 22) != 0) {
    leaves.caches = kAmdCaches;
    leaves.threads_per_core =
        static_cast<int>(Bits(source.Cpuid(kAmdTopology, 0).ebx, 8, 15)) + 1;
    return leaves;
  }
  const uint32_t max_leaf = source.Cpuid(0, 0).eax;
  if (max_leaf < kIntelCaches) return leaves;
  leaves.caches = kIntelCaches;
  if (max_leaf >= kIntelTopology) {
    const CpuidRegisters topology = source.Cpuid(kIntelTopology, 0);
    // 1: the level of logical processors within a core.
    if (Bits(topology.ecx, 8, 15) == 1) {
      leaves.threads_per_core =
          std::max(static_cast<int>(Bits(topology.ebx, 0, 15)), 1);
    }
  }
  return leaves;
}

}  // namespace

CacheSizes CpuidCacheSizes(const CpuidSource& source, int processors) {
  CacheSizes sizes = {};
  const Leaves leaves = FindLeaves(source);
  if (leaves.caches == 0) return sizes;
  for (uint32_t i = 0; i < kMaxCaches; ++i) {
    const CpuidRegisters r = source.Cpuid(leaves.caches, i);
    const uint32_t type = Bits(r.eax, 0, 4);
    if (type == 0) break;
    if (type == 2) continue;  // instructions
    const ptrdiff_t bytes = ptrdiff_t{1} * (Bits(r.ebx, 0, 11) + 1) *
                            (Bits(r.ebx, 12, 21) + 1) *
                            (Bits(r.ebx, 22, 31) + 1) * (ptrdiff_t{1} + r.ecx);
    switch (Bits(r.eax, 5, 7)) {
      case 1:
        sizes.l1d_bytes = bytes;
        break;
      case 2:
        sizes.l2_bytes = bytes;
        break;
      case 3: {
        int sharing = static_cast<int>(Bits(r.eax, 14, 25)) + 1;
        if (processors > 0) sharing = std::min(sharing, processors);
        sizes.l3_bytes = bytes;
        sizes.l3_sharing_cores = std::max(sharing / leaves.threads_per_core, 1);
        break;
      }
      default:
        break;
    }
  }
  return sizes;
}

}  // namespace ruy_like
