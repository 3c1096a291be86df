// Groups: which path's kernel multiplies group-scaled weights.
#ifndef RUY_LIKE_GROUPS_CHOOSE_GROUP_KERNEL_H_
#define RUY_LIKE_GROUPS_CHOOSE_GROUP_KERNEL_H_

#include "ruy_like/kernels/groups/group_kernel.h"
#include "ruy_like/path.h"

namespace ruy_like {

struct GroupKernelChoice {
  const kernels::GroupKernel* kernel;
  Path path;  // the permitted path it was chosen for
};

// The kernel of the best permitted path, which has one of its own or else that
// of the best lower path whose instructions it includes. `permitted` holds
// kPortable.
GroupKernelChoice ChooseGroupKernel(Path permitted);

}  // namespace ruy_like

#endif  // RUY_LIKE_GROUPS_CHOOSE_GROUP_KERNEL_H_
