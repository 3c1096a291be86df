// Back-end: kernels of the AVX-512 path (F, BW, DQ, VL; no VNNI).
//
// Tested in test/kernels/panel_kernel_test.cc.
#include "ruy_like/kernels/epilogue/post_loops.h"
#include "ruy_like/kernels/groups/group_ops_x86.h"
#include "ruy_like/kernels/kernel_tables.h"
#include "ruy_like/kernels/tables_x86.h"
#include "ruy_like/kernels/tiles_avx512.h"

namespace ruy_like::kernels {
namespace {

typedef MaddPath<Tiles512> Path;
constexpr NamedKernels kTable("Avx512", Path::kList.kernels,
                              MaddGroupKernels<Simd512, 2, 6>::kList);

}  // namespace

KernelTable Avx512Kernels() {
  return TableOf(kTable.kernels, PostLoops<Simd512>::Run,
                 QuantizeColumns<X86GroupOps>);
}

}  // namespace ruy_like::kernels
