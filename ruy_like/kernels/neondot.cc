// Back-end: kernels of the path with NEON's dot products. Families not listed
// are the NEON path's.
//
// Tested in test/kernels/panel_kernel_test.cc.
#include "ruy_like/kernels/epilogue/epilogue_neon.h"
#include "ruy_like/kernels/groups/group_ops_neon.h"
#include "ruy_like/kernels/kernel_names.h"
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

// By counts of instructions widening pays from 5 columns on.
using Groups = NeonGroupKernels<NeonSdot, NeonTileForm<NeonSdot, 4>, 40, 40,
                                /*kMaxCols=*/4>;

constexpr Kernel kList[] = {
    NarrowDotsKernel<S8S8Op>::ColumnEntry("S8InPlaceS8InPlace"),
    NarrowDotsKernel<U8U8Op>::ColumnEntry("U8InPlaceU8InPlace"),
    // The limits of columns are derived as in neon.cc.
    NarrowDotsKernel<S8S8Op>::Entry("S8InPlaceS8", Family::k8x8,
                                    PackNeon_8_S8_1x1, /*max_cols=*/4),
    NarrowDotsKernel<U8U8Op>::Entry("U8InPlaceU8", Family::k8x8,
                                    PackNeon_8_U8_1x1, /*max_cols=*/4),
    NarrowByDepthKernel<S8S8Op, /*kMaxCols=*/2>::Entry(
        "S8ByDepthS8", Family::k8x8, PackNeon_8_S8_1x1),
    NarrowByDepthKernel<U8U8Op, /*kMaxCols=*/2>::Entry(
        "U8ByDepthU8", Family::k8x8, PackNeon_8_U8_1x1),
    S8S8Narrow::Entry("S8S8", Family::k8x8, PackNeon_8_S8_4x4,
                      PackNeon_8_S8_1x1),
    WithLimits(S8S8RhsInPlace::Entry("S8S8InPlace", Family::k8x8,
                                     PackNeon_8_S8_4x4, nullptr),
               /*narrow_cols=*/2, /*row_major_depth=*/1000),
    WithInOrderLoop<NeonQuadsOp<Dot>, QuadsInOrder>(S8S8::Entry(
        "S8S8", Family::k8x8, PackNeon_8_S8_4x4, PackNeon_8_S8_8x4)),
};
constexpr NamedKernels kTable("NeonDot", kList, Groups::kList);

}  // namespace

KernelTable NeonDotKernels() { return TableOf(kTable.kernels); }

}  // namespace ruy_like::kernels
