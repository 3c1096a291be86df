// Back-end: kernels of the path for RISC-V's vector extension, whose registers
// have 128 bits or more.
//
// Epilogue, packing and floats are wasm128's source, compiled for these
// registers; integers have tiles of their own.
//
// Tested in test/kernels/panel_kernel_test.cc.
#include "ruy_like/simd/simd_rvv.h"
// Behind the trait.
#include "ruy_like/kernels/epilogue/epilogue_vectors.h"
#include "ruy_like/kernels/kernel_names.h"
#include "ruy_like/kernels/kernel_tables.h"
#include "ruy_like/kernels/panel/panel_kernel.h"
#include "ruy_like/kernels/panel/panel_tile_rvv.h"
#include "ruy_like/pack/pack_routines.h"

namespace ruy_like::kernels {
namespace {

template <typename Lhs, typename Rhs>
using Integers = PanelKernel<RvvOp<SimdRvv, Lhs, Rhs>, 4, 4>;
using S8S8 = Integers<int8_t, int8_t>;
using S8S16 = Integers<int8_t, int16_t>;
using S16S8 = Integers<int16_t, int8_t>;
using F32F32 = PanelKernel<FloatOp<SimdRvv>, 4, 4>;

constexpr Kernel kList[] = {
    S8S8::Entry("S8S8", Family::k8x8, PackRvv128_8_S8_4x1, PackRvv128_8_S8_4x1),
    S8S16::Entry("S8S16", Family::k8x16, PackRvv128_8_S8_4x1,
                 PackRvv128_16_S16_4x1),
    S16S8::Entry("S16S8", Family::k16x8, PackRvv128_16_S16_4x1,
                 PackRvv128_8_S8_4x1),
    F32F32::Entry("F32F32", Family::kF32, PackRvv128_F32_F32_4x1,
                  PackRvv128_F32_F32_4x1),
};
constexpr NamedKernels kTable("Rvv128", kList);

}  // namespace

KernelTable Rvv128Kernels() { return TableOf(kTable.kernels); }

}  // namespace ruy_like::kernels
