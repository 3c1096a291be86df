// Prints how the library sees this machine and its environment: processor,
// caches, available paths and why the others are not, the kernels of each path,
// environment variables.
//
//   ruy_like_info [--help]
//
// Looks behind the public headers, unlike the examples beside it: it is a tool.
#include <cstdio>
#include <string>

#include "ruy_like/base/env.h"
#include "ruy_like/kernels/kernel.h"
#include "ruy_like/machine/cpu_features.h"
#include "ruy_like/machine/processor.h"
#include "ruy_like/path.h"
#include "ruy_like/registry/registry.h"

namespace {

using ruy_like::Path;
using ruy_like::kernels::Family;
using ruy_like::kernels::Kernel;
using ruy_like::kernels::KernelTable;

const char* FamilyName(Family family) {
  switch (family) {
    case Family::k8x8:
      return "8 x 8 bits";
    case Family::k8x16:
      return "8 x 16 bits";
    case Family::k16x8:
      return "16 x 8 bits";
    case Family::kF32:
      return "float";
    case Family::kGroupScaled:
      return "group scales";
    case Family::kF64:
      return "double";
  }
  return "?";
}

void PrintMachine() {
  std::printf("processor   %s\n", ruy_like::ProcessorName().c_str());
  std::printf("features    %s\n",
              ruy_like::CpuFeatureNames(ruy_like::DetectCpuFeatures()).c_str());
  std::printf("loops for   %s\n",
              ruy_like::IssuesInOrder() ? "in-order cores" : "any core");
  const ruy_like::CacheSizes& caches = ruy_like::DetectedCacheSizes();
  std::printf("caches      L1d %td KiB, L2 %td KiB", caches.l1d_bytes / 1024,
              caches.l2_bytes / 1024);
  if (caches.l3_bytes != 0) {
    std::printf(", L3 %td KiB for %d cores", caches.l3_bytes / 1024,
                caches.l3_sharing_cores);
  }
  std::printf("\n");
}

void PrintPaths() {
  std::printf("\npaths, best first\n");
  for (const Path path :
       ruy_like::PathsBestFirst(ruy_like::PathsOfThisArchitecture())) {
    const std::string obstacle = ruy_like::PathObstacle(path);
    std::printf("  %-12s %s\n", ruy_like::PathName(path),
                obstacle.empty() ? "permitted" : obstacle.c_str());
  }
}

void PrintKernels() {
  std::printf("\nkernels, by path and types\n");
  for (const Path path : ruy_like::PathsBestFirst(ruy_like::CompiledPaths())) {
    const KernelTable table = ruy_like::KernelsOf(path);
    for (int i = 0; i < table.count; ++i) {
      const Kernel& kernel = table.kernels[i];
      std::printf("  %-12s %-12s %s", ruy_like::PathName(path),
                  FamilyName(kernel.family), kernel.name);
      if (kernel.max_cols != ruy_like::kernels::kNoLimit) {
        std::printf(", up to %d columns", kernel.max_cols);
      }
      if (kernel.max_rows != ruy_like::kernels::kNoLimit) {
        std::printf(", up to %d rows", kernel.max_rows);
      }
      std::printf("\n");
    }
  }
}

void PrintEnvironment() {
  std::printf("\nenvironment variables\n");
  int count = 0;
  const ruy_like::EnvVarInfo* const variables = ruy_like::EnvVars(&count);
  for (int i = 0; i < count; ++i) {
    const std::string value = ruy_like::GetEnv(variables[i].var);
    std::printf("  %s=%s\n      %s\n", variables[i].name, value.c_str(),
                variables[i].description);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) {
    const bool help = std::string(argv[1]) == "--help";
    std::fprintf(
        help ? stdout : stderr,
        "usage: ruy_like_info [--help]\n"
        "Prints what ruy_like makes of this machine and of its "
        "environment: processor, caches,\n"
        "which paths (instruction sets) products may take and why they "
        "may not take the others,\n"
        "the kernels of each path, environment variables.\n");
    return help ? 0 : 2;
  }
  std::printf("ruy_like    %s\n", RUY_LIKE_INFO_VERSION);
  PrintMachine();
  PrintPaths();
  PrintKernels();
  PrintEnvironment();
  return 0;
}
