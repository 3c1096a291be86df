// Test support: suites whose parameter is a kernel of the paths that this
// machine has (panel_kernel_test.cc, narrow_kernel_test.cc).
#ifndef RUY_LIKE_TEST_SUPPORT_KERNEL_TEST_H_
#define RUY_LIKE_TEST_SUPPORT_KERNEL_TEST_H_

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "ruy_like/kernels/kernel.h"
#include "ruy_like/path.h"
#include "ruy_like/registry/cpu_features.h"
#include "ruy_like/registry/registry.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace kernels {

struct KernelUnderTest {
  std::string name;  // path_family_kernel, _on_a53 or _on_a55
  std::shared_ptr<const Kernel> kernel;
};

inline void PrintTo(const KernelUnderTest& param, std::ostream* os) {
  *os << param.name;
}

inline const char* FamilyName(Family family) { return InfoOf(family).name; }

inline bool IsFloat(const Kernel& kernel) {
  return ruy_like::IsFloat(kernel.rhs.scalar);
}
inline bool IsInteger(const Kernel& kernel) { return !IsFloat(kernel); }
inline bool IsAny(const Kernel&) { return true; }

// Those kernels of the machine's paths, best path first, for which `wanted`;
// each of a kernel's routines as one of its own, its `run`.
template <typename Wanted>
std::vector<KernelUnderTest> KernelsUnderTest(Wanted wanted) {
  std::vector<KernelUnderTest> result;
  for (const Path path : PathsBestFirst(DetectedPaths())) {
    const KernelTable table = KernelsOf(path);
    for (int i = 0; i < table.count; ++i) {
      const Kernel& kernel = table.kernels[i];
      if (!wanted(kernel)) continue;
      const auto add = [&](KernelFn* run, const char* pipeline) {
        if (run == nullptr) return;
        const auto copy = std::make_shared<Kernel>(kernel);
        copy->run = run;
        result.push_back({std::string(PathName(path)) + "_" +
                              FamilyName(kernel.family) + "_" + kernel.name +
                              pipeline,
                          copy});
      };
      add(kernel.run, "");
      add(kernel.run_on_a53, "_on_a53");
      add(kernel.run_on_a55, "_on_a55");
    }
  }
  return result;
}

inline int UniformInt(Rng& random, int low, int high) {
  return static_cast<int>(random.Between(low, high));
}

}  // namespace kernels
}  // namespace ruy_like

#endif  // RUY_LIKE_TEST_SUPPORT_KERNEL_TEST_H_
