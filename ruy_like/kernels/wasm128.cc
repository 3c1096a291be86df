// Back-end: kernels of the WebAssembly path, with SIMD128.
//
// Bytes are widened to 16 bits, as on AVX2: the lhs by its loads, the rhs while
// it is packed. i32x4.dot_i16x8_s then sums two products exactly. Relaxed SIMD
// has a dot product of bytes, but its result is the engine's choice where an
// intermediate sum leaves 16 bits, so that it cannot be used.
//
// Tested in test/kernels/panel_kernel_test.cc.
#include "ruy_like/simd/simd_wasm.h"
// Behind the trait.
#include "ruy_like/kernels/epilogue/epilogue_vectors.h"
#include "ruy_like/kernels/kernel_names.h"
#include "ruy_like/kernels/kernel_tables.h"
#include "ruy_like/kernels/panel/panel_kernel.h"
#include "ruy_like/pack/pack_routines.h"

namespace ruy_like::kernels {
namespace {

// 2 x 4 accumulators, 2 vectors of the lhs, one of the rhs and a product are 12
// registers, of x86's 15 that V8 allocates.
template <class Op>
using Panels = PanelKernel<Op, 2, 4>;
using S8S16 = Panels<PairsOp<SimdWasm, MaddDot<SimdWasm>, int8_t>>;
using S16S16 = Panels<PairsOp<SimdWasm, MaddDot<SimdWasm>, int16_t>>;
using F32F32 = Panels<FloatOp<SimdWasm>>;

constexpr Kernel kList[] = {
    S8S16::Entry("S8W16", Family::k8x8, PackWasm128_8_S8_4x2,
                 PackWasm128_8_S16_4x2),
    S8S16::Entry("S8S16", Family::k8x16, PackWasm128_8_S8_4x2,
                 PackWasm128_16_S16_4x2),
    S16S16::Entry("S16W16", Family::k16x8, PackWasm128_16_S16_4x2,
                  PackWasm128_8_S16_4x2),
    F32F32::Entry("F32F32", Family::kF32, PackWasm128_F32_F32_4x1,
                  PackWasm128_F32_F32_4x1),
};
constexpr NamedKernels kTable("Wasm128", kList);

}  // namespace

KernelTable Wasm128Kernels() { return TableOf(kTable.kernels); }

}  // namespace ruy_like::kernels
