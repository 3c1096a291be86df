// Which kernel multiplies: the one place that looks into the paths' kernel
// tables.
//
// Called by the middle-end for each product, by tests and tools to enumerate.
// Selection is a pure function of the query and of the permitted paths, so that
// a test can pin its outcome on any host.
#ifndef RUY_LIKE_REGISTRY_H_
#define RUY_LIKE_REGISTRY_H_

#include <cstddef>
#include <string>

#include "ruy_like/kernels/kernel.h"
#include "ruy_like/path.h"
#include "ruy_like/tr_mul_params.h"

namespace ruy_like {

// The kernels of one path's own as compiled into this build; empty for a path
// that is not compiled in. `path` must be a single bit.
kernels::KernelTable KernelsOf(Path path);

// What selection depends on. Rows, columns and sides are as the caller of Mul
// sees them.
struct KernelQuery {
  kernels::Family family;
  std::ptrdiff_t rows, cols, depth;
  SidePair<Scalar> scalar;
  SidePair<bool> depth_contiguous;
  // The operand's packed form is or will be in the prepacked cache.
  SidePair<bool> cached;
  // Adjacent dst elements: in a column (true) or in a row.
  bool dst_col_major;
};

bool operator==(const KernelQuery& a, const KernelQuery& b);

KernelQuery MakeKernelQuery(const TrMulParams& params);

struct KernelChoice {
  const kernels::Kernel* kernel;  // never null while kPortable is permitted
  Path path;
  // The product is to be computed as dst^T = rhs^T * lhs^T: kernels write
  // columns, and narrow kernels want the narrow side on the right.
  bool swap_sides;
};

// The best permitted path that has a kernel for the query, of its own or of a
// lower path whose instructions it includes (whether that one is permitted or
// not), and of its kernels the first one that applies: narrow ones first, for
// they pack the small side only. Portable kernels apply to everything.
KernelChoice SelectKernel(const KernelQuery& query, Path permitted);

// Why `kernel`, with or without swapped sides, does not serve the query; empty
// when it does.
std::string WhyNot(const kernels::Kernel& kernel, const KernelQuery& query,
                   bool swap_sides);

}  // namespace ruy_like

#endif  // RUY_LIKE_REGISTRY_H_
