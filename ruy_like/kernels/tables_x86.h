// Back-end: the kernels of x86's vector paths, written once for 256 and for 512
// bits.
//
// Included by the x86 paths' files except amx.cc, which choose from the lists
// here. Tiles is Tiles256 (tiles_avx2.h) or Tiles512 (tiles_avx512.h), Dot has
// the multiply-adds: MaddDot (panel_ops.h) or a path's own instructions.
// kernel_names.h puts the path before each name and the tile behind it.
#ifndef RUY_LIKE_KERNELS_TABLES_X86_H_
#define RUY_LIKE_KERNELS_TABLES_X86_H_

#include "ruy_like/kernels/kernel_names.h"
#include "ruy_like/kernels/narrow/narrow_by_depth.h"
#include "ruy_like/kernels/narrow/narrow_digits.h"
#include "ruy_like/kernels/narrow/narrow_dots.h"
#include "ruy_like/kernels/narrow/narrow_float.h"
#include "ruy_like/kernels/narrow/narrow_panels.h"
#include "ruy_like/kernels/narrow/small_in_place.h"
#include "ruy_like/kernels/panel/panel_kernel.h"
#include "ruy_like/kernels/panel/panel_widen.h"
#include "ruy_like/pack/pack_routines.h"
#include "ruy_like/simd/simd_avx2.h"

namespace ruy_like::kernels {
namespace {

template <class Tiles, class Op>
using PanelsOf = PanelKernel<Op, Tiles::kVectors, Tiles::kCols>;
template <class Tiles, class Op,
          int kOneColumnVectors = Tiles::kOneColumnVectors>
using NarrowPanelsOf =
    NarrowPanelKernel<Op, kOneColumnVectors, Tiles::kNarrowVectors,
                      Tiles::kNarrowCols>;

template <class Tiles, class Op, class FlippedOp = Op>
using ByDepthOf =
    NarrowByDepthKernel<Op, Tiles::kByDepthCols, FlippedOp, /*kLargeCols=*/8>;

// Bytes by bytes without VNNI: int7 exactly by bytes, others widened to int16.
template <class Tiles>
struct MaddKernels {
  typedef typename Tiles::Simd V;
  typedef MaddDot<V> Dot;
  typedef WideningPanelKernel<V, Dot, Tiles::kVectors, Tiles::kCols> S8S16;
  typedef NarrowPanelsOf<Tiles, PairsOp<V, Dot, int8_t>> S8S16Narrow;
  typedef PanelsOf<Tiles, Int7TwoQuadsOp<V, Dot>> S7U7;
  typedef PanelsOf<Tiles, Int7QuadsOp<V, Dot>> S7U8;
  typedef NarrowPanelsOf<Tiles, Int7QuadsOp<V, Dot>> S7U8Narrow;

  static constexpr Kernel kList[] = {
      NarrowDigitsKernel<V, Dot, int8_t>::Entry("S8InPlaceW16",
                                                PackAvx2_8_S16_1x1),
      NarrowDigitsKernel<V, Dot, uint8_t>::Entry("U8InPlaceW16",
                                                 PackAvx2_8_S16_1x1),
      NarrowDotsKernel<NarrowPairsOp<V, Dot, int8_t>>::Entry(
          "S8InPlaceW16", Family::k8x8, PackAvx2_8_S16_1x1),
      NarrowDotsKernel<NarrowPairsOp<V, Dot, uint8_t>>::Entry(
          "U8InPlaceW16", Family::k8x8, PackAvx2_8_S16_1x1),
      ByDepthOf<Tiles, NarrowPairsOp<V, Dot, int8_t>>::Entry(
          "S8ByDepthW16", Family::k8x8, PackAvx2_8_S16_1x1),
      ByDepthOf<Tiles, NarrowPairsOp<V, Dot, uint8_t>>::Entry(
          "U8ByDepthW16", Family::k8x8, PackAvx2_8_S16_1x1),
      S7U8Narrow::Entry("S7U8", Family::k8x8, Tiles::kLhsQuads,
                        PackAvx2_8_U8_1x1),
      S7U7::Entry("S7U7", Family::k8x8, Tiles::kLhsQuads, Tiles::kRhsInt7),
      S7U8::Entry("S7U8", Family::k8x8, Tiles::kLhsQuads, Tiles::kRhsQuads),
      S8S16Narrow::Entry("S8W16", Family::k8x8, Tiles::kLhsPairs8,
                         PackAvx2_8_S16_1x1),
      S8S16::Entry("S8W16", Family::k8x8, Tiles::kLhsPairs8, Tiles::kRhsPairs8),
  };
};

// Bytes by bytes with VNNI.
template <class Tiles, class Dot>
struct QuadsKernels {
  typedef typename Tiles::Simd V;
  typedef QuadsOp<V, Dot> Op;
  typedef PanelsOf<Tiles, typename Tiles::template ByHalves<Op>> S8U8;
  typedef NarrowPanelsOf<Tiles, Op> S8U8Narrow;

  static constexpr Kernel kList[] = {
      NarrowDotsKernel<NarrowQuadsOp<V, Dot, int8_t>>::Entry(
          "S8InPlaceU8", Family::k8x8, PackAvx2_8_U8_1x1),
      NarrowDotsKernel<NarrowQuadsOp<V, Dot, uint8_t>>::Entry(
          "U8InPlaceS8", Family::k8x8, PackAvx2_8_S8_1x1),
      ByDepthOf<Tiles, NarrowQuadsOp<V, Dot, int8_t>,
                FlippedQuadsOp<V, Dot>>::Entry("S8ByDepthU8", Family::k8x8,
                                               PackAvx2_8_U8_1x1),
      ByDepthOf<Tiles, NarrowQuadsOp<V, Dot, uint8_t>>::Entry(
          "U8ByDepthS8", Family::k8x8, PackAvx2_8_S8_1x1),
      S8U8Narrow::Entry("S8U8", Family::k8x8, Tiles::kLhsQuads,
                        PackAvx2_8_U8_1x1),
      S8U8::Entry("S8U8", Family::k8x8, Tiles::kLhsQuads, Tiles::kRhsQuads),
  };
};

// int8 by int16 and int16 by int8. S8S16: the panel kernel whose lhs is int8.
template <class Tiles, class Dot, class S8S16, class S16S16>
struct PairsKernels {
  typedef typename Tiles::Simd V;
  typedef PairsOp<V, Dot, int8_t> S8Op;
  typedef PairsOp<V, Dot, int16_t> S16Op;

  static constexpr Kernel kList[] = {
      NarrowDotsKernel<NarrowPairsOp<V, Dot, int8_t>>::Entry(
          "S8InPlaceS16", Family::k8x16, PackAvx2_16_S16_1x1),
      ByDepthOf<Tiles, NarrowPairsOp<V, Dot, int8_t>>::Entry(
          "S8ByDepthS16", Family::k8x16, PackAvx2_16_S16_1x1),
      NarrowPanelsOf<Tiles, S8Op>::Entry(
          "S8S16", Family::k8x16, Tiles::kLhsPairs8, PackAvx2_16_S16_1x1),
      S8S16::Entry("S8S16", Family::k8x16, Tiles::kLhsPairs8,
                   Tiles::kRhsPairs16),
      NarrowDotsKernel<NarrowPairsOp<V, Dot, int16_t>>::Entry(
          "S16InPlaceW16", Family::k16x8, PackAvx2_8_S16_1x1),
      ByDepthOf<Tiles, NarrowPairsOp<V, Dot, int16_t>>::Entry(
          "S16ByDepthW16", Family::k16x8, PackAvx2_8_S16_1x1),
      NarrowPanelsOf<Tiles, S16Op>::Entry(
          "S16W16", Family::k16x8, Tiles::kLhsPairs16, PackAvx2_8_S16_1x1),
      S16S16::Entry("S16W16", Family::k16x8, Tiles::kLhsPairs16,
                    Tiles::kRhsPairs8),
  };
};

// 16-bit floats by floats, the lhs kept packed: its panels have half of the
// bytes of floats. Where floats fit a core's cache they are multiplied faster,
// being widened already (doc/tuning.md).
template <class Tiles, Scalar kLhs>
struct KeptFloat16Kernels {
  typedef WidenedLhsOp<typename Tiles::PanelFloatOp, kLhs> Op;
  typedef WidenedLhsOp<FloatOp<typename Tiles::Simd>, kLhs> NarrowOp;
  static constexpr PackFn* kPackLhs =
      kLhs == Scalar::kBF16 ? Tiles::kLhsBFloat16 : Tiles::kLhsFloat16;
  static constexpr const char* kName =
      kLhs == Scalar::kBF16 ? "BF16F32" : "F16F32";

  // In the templates the elements are int16_t.
  static constexpr Kernel OfFloat16(Kernel kernel) {
    kernel.lhs.scalar = kLhs;
    kernel.for_kept_lhs = true;
    kernel.min_lhs_elements = 1 << 20;
    return kernel;
  }
  static constexpr Kernel kList[] = {
      OfFloat16(
          NarrowPanelsOf<Tiles, NarrowOp, Tiles::kFloat16OneColumnVectors>::
              Entry(kName, Family::kF32, kPackLhs, PackAvx2_F32_F32_1x1)),
      OfFloat16(PanelsOf<Tiles, Op>::Entry(kName, Family::kF32, kPackLhs,
                                           Tiles::kRhsFloat)),
  };
};

template <class Tiles>
struct FloatKernels {
  typedef typename Tiles::Simd V;
  typedef typename Tiles::PanelFloatOp Op;
  typedef NarrowDotsKernel<NarrowFloatsOp<V, Scalar::kF32>> AnyOrder;
  template <class Words>
  using InPlaceOf = NarrowFloatKernel<V, Tiles::kVectors, Tiles::kCols,
                                      Tiles::kLhsFloat, Words>;
  template <Scalar kLhs>
  using InPlace = InPlaceOf<WidenedWords<V, kLhs>>;
  template <Scalar kLhs>
  using Float8InPlace = InPlaceOf<Float8AsWords<V, kLhs>>;
  // With 256 bits on all paths: four vectors of 512 would be 64 rows.
  typedef NarrowFloatKernel<Simd256, 4, /*kRhsWidth=*/1, PackAvx2_F32_F32_8x1,
                            WidenedWords<Simd256, Scalar::kF32>>
      ColumnInPlace;
  template <Scalar kLhs>
  using ByDepth = NarrowByDepthKernel<NarrowFloatsOp<V, kLhs>>;
  typedef PanelKernel<Op, Tiles::kVectors, Tiles::kCols, InPlaceRhs<Op>>
      InPlaceRhsKernel;
  typedef NarrowPanelsOf<Tiles, FloatOp<V>, /*kOneColumnVectors=*/4> Narrow;

  static constexpr Kernel kList[] = {
      AnyOrder::ColumnEntry("F32InPlaceF32InPlace"),
      AnyOrder::AnyOrderEntry("F32InPlaceF32", PackAvx2_F32_F32_1x1),
      ColumnInPlace::ColumnEntry("F32InPlaceF32InPlace"),
      InPlace<Scalar::kF32>::Entry("F32InPlaceF32", Tiles::kRhsFloat),
      InPlace<Scalar::kBF16>::Entry("BF16InPlaceF32", Tiles::kRhsFloat),
      InPlace<Scalar::kF16>::Entry("F16InPlaceF32", Tiles::kRhsFloat),
      Float8InPlace<Scalar::kE4M3>::Entry("E4M3InPlaceF32", Tiles::kRhsFloat),
      Float8InPlace<Scalar::kE5M2>::Entry("E5M2InPlaceF32", Tiles::kRhsFloat),
      ByDepth<Scalar::kF32>::Entry("F32ByDepthF32", Family::kF32,
                                   PackAvx2_F32_F32_1x1),
      ByDepth<Scalar::kBF16>::Entry("BF16ByDepthF32", Family::kF32,
                                    PackAvx2_F32_F32_1x1),
      ByDepth<Scalar::kF16>::Entry("F16ByDepthF32", Family::kF32,
                                   PackAvx2_F32_F32_1x1),
      SmallInPlaceKernel<Op, /*kByDepth=*/false>::Entry("F32ByDepthF32InPlace"),
      SmallInPlaceKernel<Op, /*kByDepth=*/true>::Entry("F32ByDepthF32ByDepth"),
      Narrow::Entry("F32F32", Family::kF32, Tiles::kLhsFloat,
                    PackAvx2_F32_F32_1x1),
      InPlaceRhsKernel::Entry("F32F32InPlace", Family::kF32, Tiles::kLhsFloat,
                              nullptr),
      PanelsOf<Tiles, Op>::Entry("F32F32", Family::kF32, Tiles::kLhsFloat,
                                 Tiles::kRhsFloat),
  };
};

// All families, without VNNI.
template <class Tiles>
struct MaddPath {
  typedef typename Tiles::Simd V;
  typedef MaddKernels<Tiles> Bytes;
  typedef PairsKernels<Tiles, MaddDot<V>, typename Bytes::S8S16,
                       PanelsOf<Tiles, PairsOp<V, MaddDot<V>, int16_t>>>
      Pairs;
  static constexpr auto kList =
      Join(Bytes::kList, Pairs::kList,
           KeptFloat16Kernels<Tiles, Scalar::kBF16>::kList,
           KeptFloat16Kernels<Tiles, Scalar::kF16>::kList,
           FloatKernels<Tiles>::kList);
};

// Families of integers; Dot::Quads() and Dot::Pairs() do not saturate.
template <class Tiles, class Dot>
struct VnniPath {
  template <class Lhs>
  using PairsTiles =
      PanelsOf<Tiles, typename Tiles::template ByHalves<
                          PairsOp<typename Tiles::Simd, Dot, Lhs>>>;
  typedef QuadsKernels<Tiles, Dot> Bytes;
  typedef PairsKernels<Tiles, Dot, PairsTiles<int8_t>, PairsTiles<int16_t>>
      Pairs;
  static constexpr auto kList = Join(Bytes::kList, Pairs::kList);
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_TABLES_X86_H_
