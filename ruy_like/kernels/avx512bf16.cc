// Back-end: kernels of the path with AVX512-BF16: bfloat16 by bfloat16.
//
// VDPBF16PS adds two products to each 32-bit lane, first that of the upper
// halves, then that of the lower ones, each as one fused multiply-add that
// rounds to nearest even and takes denormals for zeros, whatever MXCSR says.
// Float products are made of the same steps (FloatState::kFlushDenormals), so
// that with each pair's first element in the upper half (panel_format.h)
// results have the bits of float products of the widened values.
//
// Other kernels of this path are avx512vnni's and avx512's.
//
// Tested in test/float16_mul_test.cc.
#include "ruy_like/kernels/kernel_tables.h"
#include "ruy_like/kernels/tables_x86.h"
#include "ruy_like/kernels/tiles_avx512.h"

namespace ruy_like::kernels {
namespace {

struct BFloat16PairsOp : WithHalves<FloatOp<Simd512>> {
  typedef int16_t Lhs;  // a BFloat16's bits
  typedef int16_t Rhs;
  typedef __m512i LhsVector;
  typedef __m512i RhsVector;
  static constexpr int kDotWidth = 2, kStepDepth = 2, kDepthMultiple = 2;

  static RUY_LIKE_ALWAYS_INLINE __m512i LoadLhs(const int16_t* p) {
    return Simd512::LoadAligned(reinterpret_cast<const int32_t*>(p));
  }
  static RUY_LIKE_ALWAYS_INLINE __m512i LoadRhs(const int16_t* p, ptrdiff_t) {
    int32_t pair;
    __builtin_memcpy(&pair, p, sizeof(pair));
    return Simd512::Set(pair);
  }
  static RUY_LIKE_ALWAYS_INLINE __m512 MultiplyAdd(__m512 acc, __m512i lhs,
                                                   __m512i rhs) {
    return _mm512_dpbf16_ps(acc, reinterpret_cast<__m512bh>(lhs),
                            reinterpret_cast<__m512bh>(rhs));
  }
  static RUY_LIKE_ALWAYS_INLINE __m256 MultiplyAdd(__m256 acc, __m256i lhs,
                                                   __m256i rhs) {
    return _mm256_dpbf16_ps(acc, reinterpret_cast<__m256bh>(lhs),
                            reinterpret_cast<__m256bh>(rhs));
  }
};

// Words of a lhs that is read in place: two elements, the first in the lower
// half.
struct BFloat16PairWords {
  typedef BFloat16PairsOp Op;
  static constexpr Scalar kScalar = Scalar::kBF16;
  static constexpr Scalar kRhsScalar = Scalar::kBF16;
  static constexpr int kDepth = 2;
  static constexpr int kRhsWords = 1;

  template <int kRhsWidth, int kCols, int kVectors>
  static RUY_LIKE_ALWAYS_INLINE void MultiplyAdd(
      __m512 words, const float* rhs, int v, __m512 (&acc)[kCols][kVectors]) {
    const __m512i pairs = Simd512::SwapWords(Simd512::BitsOf(words));
    const auto* const rhs_pairs = reinterpret_cast<const int16_t*>(rhs);
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; ++c) {
      acc[c][v] =
          Op::MultiplyAdd(acc[c][v], pairs, Op::LoadRhs(rhs_pairs + 2 * c, 0));
    }
  }
};

// The line of a kernel whose elements are int16_t for the compiler.
constexpr Kernel OfBFloat16(Kernel kernel) {
  kernel.lhs.scalar = kernel.rhs.scalar = Scalar::kBF16;
  return kernel;
}

typedef PanelsOf<Tiles512, BFloat16PairsOp> Panels;
typedef NarrowPanelsOf<Tiles512, BFloat16PairsOp> NarrowPanels;

typedef NarrowFloatKernel<Simd512, Tiles512::kVectors, Tiles512::kCols,
                          PackAvx512_BF16_BF16_16x2, BFloat16PairWords>
    InPlace;

constexpr Kernel kList[] = {
    InPlace::Entry("BF16InPlaceBF16", PackAvx512_BF16_BF16_8x2),
    OfBFloat16(NarrowPanels::Entry("BF16BF16", Family::kF32,
                                   PackAvx512_BF16_BF16_16x2,
                                   PackAvx2_BF16_BF16_1x2)),
    OfBFloat16(Panels::Entry("BF16BF16", Family::kF32,
                             PackAvx512_BF16_BF16_16x2,
                             PackAvx512_BF16_BF16_8x2)),
};
constexpr NamedKernels kTable("Avx512Bf16", kList);

}  // namespace

KernelTable Avx512Bf16Kernels() { return TableOf(kTable.kernels); }

}  // namespace ruy_like::kernels
