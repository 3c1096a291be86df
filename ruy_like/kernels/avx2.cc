// Back-end: kernels of the AVX2 + FMA path.
//
// Tested in test/kernels/panel_kernel_test.cc.
#include "ruy_like/kernels/epilogue/post_loops.h"
#include "ruy_like/kernels/groups/group_ops_x86.h"
#include "ruy_like/kernels/kernel_tables.h"
#include "ruy_like/kernels/tables_x86.h"
#include "ruy_like/kernels/tiles_avx2.h"

namespace ruy_like::kernels {
namespace {

typedef MaddPath<Tiles256> Path;
constexpr NamedKernels kTable("Avx2", Path::kList.kernels,
                              MaddGroupKernels<Simd256, 1, 4>::kList);

}  // namespace

KernelTable Avx2Kernels() {
  return TableOf(kTable.kernels, PostLoops<Simd256>::Run,
                 QuantizeColumns<X86GroupOps>);
}

}  // namespace ruy_like::kernels
