// Back-end: kernels of the path for x86 processors with AVX but without AVX2
// and FMA.
//
// Epilogue and packing are those of wasm128 and rvv128, compiled for these
// registers. Bytes are widened to 16 bits as on AVX2: the lhs by its loads, the
// rhs while it is packed; PMADDWD of 128 bits then sums two products exactly.
// Floats have tiles of 256 bits.
//
// Tested in test/kernels/panel_kernel_test.cc.
#include "ruy_like/simd/simd_sse.h"
// Behind the trait.
#include "ruy_like/kernels/epilogue/epilogue_vectors.h"
#include "ruy_like/kernels/kernel_names.h"
#include "ruy_like/kernels/kernel_tables.h"
#include "ruy_like/kernels/panel/panel_kernel.h"
#include "ruy_like/kernels/panel/panel_tile_avx.h"
#include "ruy_like/pack/pack_routines.h"

namespace ruy_like::kernels {
namespace {

// 2 x 4 accumulators, 2 vectors of the lhs, one of the rhs and a product are 12
// of 16 registers.
template <typename Lhs>
using Integers = PanelKernel<PairsOp<SimdSse, MaddDot<SimdSse>, Lhs>, 2, 4>;
using S8S16 = Integers<int8_t>;
using S16S16 = Integers<int16_t>;
using F32F32 = PanelKernel<AvxFloatOp<SimdSse>, 4, 4>;

constexpr Kernel kList[] = {
    S8S16::Entry("S8W16", Family::k8x8, PackAvx_8_S8_4x2, PackAvx_8_S16_4x2),
    S8S16::Entry("S8S16", Family::k8x16, PackAvx_8_S8_4x2, PackAvx_16_S16_4x2),
    S16S16::Entry("S16W16", Family::k16x8, PackAvx_16_S16_4x2,
                  PackAvx_8_S16_4x2),
    F32F32::Entry("F32F32", Family::kF32, PackAvx_F32_F32_4x1,
                  PackAvx_F32_F32_4x1),
};
constexpr NamedKernels kTable("Avx", kList);

}  // namespace

KernelTable AvxKernels() { return TableOf(kTable.kernels); }

}  // namespace ruy_like::kernels
