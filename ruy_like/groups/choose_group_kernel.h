// Groups: which path's kernel multiplies group-scaled weights.
#ifndef RUY_LIKE_GROUPS_CHOOSE_GROUP_KERNEL_H_
#define RUY_LIKE_GROUPS_CHOOSE_GROUP_KERNEL_H_

#include <cstddef>

#include "ruy_like/kernels/groups/group_kernel.h"
#include "ruy_like/path.h"

namespace ruy_like {

struct GroupKernelChoice {
  const kernels::GroupKernel* kernel;
  Path path;   // the permitted path it was chosen for
  Path owner;  // the path whose kernel it is
};

// The kernel of the best permitted path for weights of `bits` and `cols`
// columns: its own or, if it has none or the columns are too few for it, that
// of the best lower path whose instructions it includes. `permitted` holds
// kPortable. Does not ask the operating system (MayRun()).
GroupKernelChoice ChooseGroupKernel(Path permitted, int bits,
                                    std::ptrdiff_t cols);

// The same, of the kernels that `may_run` permits, by the owner. Owners that it
// refuses are taken out of `*permitted`.
GroupKernelChoice ChooseGroupKernelThatMayRun(int bits, std::ptrdiff_t cols,
                                              bool (*may_run)(Path),
                                              Path* permitted);

}  // namespace ruy_like

#endif  // RUY_LIKE_GROUPS_CHOOSE_GROUP_KERNEL_H_
