// Tested in test/machine/cpuid_caches_test.cc.
#include <string>
#include <thread>

#include "ruy_like/machine/cpuid_caches.h"
#include "ruy_like/machine/processor.h"

namespace ruy_like {

LibraryFeatures FeaturesByLibrary() { return {}; }

CacheSizes ReportedCacheSizes() {
  const CpuidSource* const source = HostCpuidSource();
  if (source == nullptr) return {};
  return CpuidCacheSizes(*source,
                         static_cast<int>(std::thread::hardware_concurrency()));
}

std::vector<uint32_t> Microarchitectures() { return {}; }

std::string ProcessorName() {
  constexpr uint32_t kFirstLeaf = 0x80000002, kLastLeaf = 0x80000004;
  const CpuidSource* const source = HostCpuidSource();
  if (source == nullptr || source->Cpuid(0x80000000, 0).eax < kLastLeaf) {
    return "unknown";
  }
  std::string name;
  for (uint32_t leaf = kFirstLeaf; leaf <= kLastLeaf; ++leaf) {
    const CpuidRegisters registers = source->Cpuid(leaf, 0);
    for (const uint32_t word :
         {registers.eax, registers.ebx, registers.ecx, registers.edx}) {
      for (int shift = 0; shift < 32; shift += 8) {
        name += static_cast<char>((word >> shift) & 0xff);
      }
    }
  }
  return name.substr(0, name.find('\0'));
}

}  // namespace ruy_like
