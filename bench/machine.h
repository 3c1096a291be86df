// Benchmarks: what the results depend on, for the reports' headers.
#ifndef RUY_LIKE_BENCH_MACHINE_H_
#define RUY_LIKE_BENCH_MACHINE_H_

#include <fstream>
#include <string>

namespace ruy_like::bench {

// The processor's model as Linux tells it; "unknown" elsewhere.
inline std::string CpuModel() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  std::string line;
  while (std::getline(cpuinfo, line)) {
    if (line.compare(0, 10, "model name") != 0) continue;
    const std::size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

inline std::string CompilerName() {
#if defined(__clang__)
  return __VERSION__;  // says clang itself
#else
  return std::string("gcc ") + __VERSION__;
#endif
}

}  // namespace ruy_like::bench

#endif  // RUY_LIKE_BENCH_MACHINE_H_
