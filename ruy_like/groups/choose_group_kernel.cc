// Tested in test/group_weights_test.cc.
#include "ruy_like/groups/choose_group_kernel.h"

#include <cstddef>

#include "ruy_like/machine/cpu_features.h"

namespace ruy_like {
namespace {

using kernels::GroupKernel;

struct PathGroupKernel {
  Path path;
  CpuFeatures features;
  const GroupKernel* (*kernel)();
};

// Worst first.
constexpr PathGroupKernel kPathKernels[] = {
#define RUY_LIKE_PATH(Enum, name, arch, features, flags) \
  {Path::k##Enum, features, &kernels::Enum##GroupKernel},
#include "ruy_like/compiled_paths.inc"
#undef RUY_LIKE_PATH
};
constexpr int kCount = sizeof(kPathKernels) / sizeof(kPathKernels[0]);

}  // namespace

GroupKernelChoice ChooseGroupKernel(Path permitted, int bits,
                                    std::ptrdiff_t cols) {
  for (int i = kCount - 1; i > 0; --i) {
    const PathGroupKernel& path = kPathKernels[i];
    if ((permitted & path.path) == Path::kNone) continue;
    for (int j = i; j > 0; --j) {
      const PathGroupKernel& from = kPathKernels[j];
      if ((from.features & ~path.features) != 0) continue;
      const GroupKernel* const kernel = from.kernel();
      if (kernel == nullptr) continue;
      if (cols < (bits == 4 ? kernel->min_cols4 : kernel->min_cols8)) continue;
      return {kernel, path.path, from.path};
    }
  }
  return {kPathKernels[0].kernel(), Path::kPortable, Path::kPortable};
}

GroupKernelChoice ChooseGroupKernelThatMayRun(int bits, std::ptrdiff_t cols,
                                              bool (*may_run)(Path),
                                              Path* permitted) {
  for (;;) {
    const GroupKernelChoice choice = ChooseGroupKernel(*permitted, bits, cols);
    if (may_run(choice.owner)) return choice;
    *permitted = *permitted & ~choice.owner;
  }
}

}  // namespace ruy_like
