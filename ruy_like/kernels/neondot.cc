// Back-end: kernels of the path with NEON's dot products. Families not listed
// are the NEON path's.
//
// Tested in test/kernels/panel_kernel_test.cc.
#include "ruy_like/kernels/epilogue/epilogue_neon.h"
#include "ruy_like/kernels/groups/group_ops_neon.h"
#include "ruy_like/kernels/kernel_tables.h"
#include "ruy_like/kernels/narrow/narrow_by_depth.h"
#include "ruy_like/kernels/narrow/narrow_dots.h"
#include "ruy_like/kernels/narrow/narrow_panels.h"
#include "ruy_like/kernels/narrow/narrow_simd_neon.h"
#include "ruy_like/kernels/panel/panel_kernel.h"
#include "ruy_like/kernels/panel/panel_ops_neon.h"
#include "ruy_like/kernels/panel/panel_tile_columns_neon.h"
#include "ruy_like/kernels/panel/panel_tile_in_order_neon.h"
#include "ruy_like/pack/pack_routines.h"

namespace ruy_like::kernels {
namespace {

struct Dot {
  // Both sides are int8; none of these saturates.
  static RUY_LIKE_ALWAYS_INLINE int32x4_t Quads(int32x4_t acc, int32x4_t rhs,
                                                int32x4_t lhs) {
    return vdotq_s32(acc, vreinterpretq_s8_s32(lhs), vreinterpretq_s8_s32(rhs));
  }
  template <int kLane>
  static RUY_LIKE_ALWAYS_INLINE int32x4_t QuadsByLane(int32x4_t acc,
                                                      int32x4_t lhs,
                                                      int32x4_t rhs) {
    return vdotq_laneq_s32(acc, vreinterpretq_s8_s32(lhs),
                           vreinterpretq_s8_s32(rhs), kLane);
  }
  static RUY_LIKE_ALWAYS_INLINE int32x4_t Bytes(int32x4_t acc, int32x4_t a,
                                                int32x4_t b, const int8_t*) {
    return vdotq_s32(acc, vreinterpretq_s8_s32(a), vreinterpretq_s8_s32(b));
  }
  static RUY_LIKE_ALWAYS_INLINE int32x4_t Bytes(int32x4_t acc, int32x4_t a,
                                                int32x4_t b, const uint8_t*) {
    return vreinterpretq_s32_u32(vdotq_u32(vreinterpretq_u32_s32(acc),
                                           vreinterpretq_u8_s32(a),
                                           vreinterpretq_u8_s32(b)));
  }
};

using S8S8 = PanelKernel<NeonQuadsOp<Dot>, 3, 8>;
using ColumnsOp = NeonQuadsColumnsOp<Dot>;
using S8S8RhsInPlace = PanelKernel<ColumnsOp, 2, 8, InPlaceRhs<ColumnsOp>>;
// By counts of instructions the wide tiles are better from two columns on.
using S8S8Narrow = NarrowPanelKernel<QuadsOp<SimdNeon, Dot, int8_t>, 6, 4, 1>;
using S8S8Op = NarrowBytesOp<NarrowSimdNeonDot, Dot, int8_t>;
using U8U8Op = NarrowBytesOp<NarrowSimdNeonDot, Dot, uint8_t>;

constexpr Kernel kKernels[] = {
    NarrowDotsKernel<S8S8Op>::ColumnEntry("NeonDot_S8InPlaceS8InPlace_4x1x16"),
    NarrowDotsKernel<U8U8Op>::ColumnEntry("NeonDot_U8InPlaceU8InPlace_4x1x16"),
    // The limits of columns are derived as in neon.cc.
    NarrowDotsKernel<S8S8Op>::Entry("NeonDot_S8InPlaceS8_16x4x16", Family::k8x8,
                                    PackNeon_8_S8_1x1, /*max_cols=*/4),
    NarrowDotsKernel<U8U8Op>::Entry("NeonDot_U8InPlaceU8_16x4x16", Family::k8x8,
                                    PackNeon_8_U8_1x1, /*max_cols=*/4),
    NarrowByDepthKernel<S8S8Op, /*kMaxCols=*/2>::Entry(
        "NeonDot_S8ByDepthS8_16x2x1", Family::k8x8, PackNeon_8_S8_1x1),
    NarrowByDepthKernel<U8U8Op, /*kMaxCols=*/2>::Entry(
        "NeonDot_U8ByDepthU8_16x2x1", Family::k8x8, PackNeon_8_U8_1x1),
    S8S8Narrow::Entry("NeonDot_S8S8_16x1x4", Family::k8x8, PackNeon_8_S8_4x4,
                      PackNeon_8_S8_1x1),
    WithLimits(S8S8RhsInPlace::Entry("NeonDot_S8S8InPlace_8x8x4", Family::k8x8,
                                     PackNeon_8_S8_4x4, nullptr),
               /*narrow_cols=*/2, /*row_major_depth=*/1000),
    WithInOrderLoop<NeonQuadsOp<Dot>, QuadsInOrder>(
        S8S8::Entry("NeonDot_S8S8_12x8x4", Family::k8x8, PackNeon_8_S8_4x4,
                    PackNeon_8_S8_8x4)),
    // With group scales: by counts of instructions widening pays from 5 columns
    // on.
    GroupEntry<NeonGroupOps, NeonStreamForm<NeonSdotNibbles>>(
        "NeonDot_G4S8_16x2x8", kPackedCodes4, nullptr, 40, /*max_cols=*/4),
    GroupEntry<NeonGroupOps, NeonTileForm<NeonSdot, 4>>(
        "NeonDot_G4W8S8_16x4x8", kPackedCodes4, PackNibbles<WidenNibbles>, 40),
    GroupEntry<NeonGroupOps, NeonStreamForm<NeonFlippedBytes<NeonSdot>>>(
        "NeonDot_G8S8_16x2x8", kPackedCodes8, nullptr, 40, /*max_cols=*/4),
    GroupEntry<NeonGroupOps, NeonTileForm<NeonSdot, 4>>(
        "NeonDot_G8W8S8_16x4x8", kPackedCodes8,
        PackSignedCodes<MakeCodesSigned>, 40),
    GroupEntry<NeonGroupOps, NeonStreamForm<NeonByTable<NeonSdotNibbles, 4>>>(
        "NeonDot_T4S8_16x2x8", kPackedTable4, nullptr, 40, /*max_cols=*/4),
    GroupEntry<NeonGroupOps, NeonStreamForm<NeonByTable<NeonSdotNibbles, 2>>>(
        "NeonDot_T2S8_16x2x16", kPackedTable2, nullptr, 40, /*max_cols=*/4),
    GroupEntry<NeonGroupOps, NeonTileForm<NeonSdot, 4>>(
        "NeonDot_T4W8S8_16x4x8", kPackedTable4, PackByTable<NeonLookup<4>>, 40),
    GroupEntry<NeonGroupOps, NeonTileForm<NeonSdot, 4>>(
        "NeonDot_T2W8S8_16x4x8", kPackedTable2, PackByTable<NeonLookup<2>>, 40),
};

}  // namespace

KernelTable NeonDotKernels() { return TableOf(kKernels); }

}  // namespace ruy_like::kernels
