// Back-end: kernels of the AVX2 + FMA path.
//
// Tested in test/kernels/panel_kernel_test.cc.
#include "ruy_like/kernels/groups/group_ops_x86.h"
#include "ruy_like/kernels/groups/group_table.h"
#include "ruy_like/kernels/kernel_tables.h"
#include "ruy_like/kernels/tables_x86.h"
#include "ruy_like/kernels/tiles_avx2.h"

namespace ruy_like::kernels {
namespace {

typedef MaddPath<Tiles256> Path;
constexpr auto kNames = FullNames("Avx2", Path::kList.kernels);
constexpr auto kTable = WithNames(Path::kList, kNames);
constexpr GroupKernel kGroupKernel =
    GroupKernelOf<MaddGroupOps<Simd256, 1, 4>>("Avx2_Groups_16x4");

}  // namespace

KernelTable Avx2Kernels() { return TableOf(kTable.kernels); }

const GroupKernel* Avx2GroupKernel() { return &kGroupKernel; }

}  // namespace ruy_like::kernels
