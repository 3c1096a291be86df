// Back-end: kernels of the AMX path. Families not listed are the
// AVX-512-VNNI path's, which every processor with AMX has. Products of two
// bfloat16 operands are tiles' always, whose sums have bits of their own.
//
// Tested in test/kernels/amx_kernel_test.cc.
#include "ruy_like/kernels/amx/amx_groups.h"
#include "ruy_like/kernels/amx/amx_kernel.h"
#include "ruy_like/kernels/kernel_names.h"
#include "ruy_like/kernels/kernel_tables.h"
#include "ruy_like/pack/pack_routines.h"

namespace ruy_like::kernels {
namespace {

// The lhs always becomes int8 (a kernel with an unsigned lhs would only save
// the flip while packing, which is free). Width and depth_multiple mean nothing
// for a side in place, and dot_width is only for the name.
constexpr PanelFormat kLhs = {Scalar::kI8, false, 16, 4, 64};
constexpr PanelFormat kInPlaceS8 = {Scalar::kI8, true, 0, 64, 0};
constexpr PanelFormat kInPlaceU8 = {Scalar::kU8, true, 0, 64, 0};
constexpr PanelFormat kPackedS8 = {Scalar::kI8, false, 16, 64, 64};

// 16 x 16 x 64 in 16 cycles, of which a good half at 2.5 GHz.
constexpr int kMacsPerNs = 1500;

// 0.1 ns an element of dst (doc/amx.md).
constexpr int kRowMajorDepth = 150;

constexpr Kernel Entry(const char* name, const PanelFormat& rhs,
                       PackFn* pack_rhs, KernelFn* run) {
  Kernel kernel = {};
  kernel.name = name;
  kernel.family = Family::k8x8;
  kernel.kind = rhs.in_place ? KernelKind::kRhsInPlace : KernelKind::kPanels;
  kernel.lhs = kLhs;
  kernel.rhs = rhs;
  kernel.tile_rows = 32;
  kernel.tile_cols = 32;
  kernel.row_granularity = 32;
  kernel.row_major_depth = rhs.in_place ? kRowMajorDepth : kNotRowMajor;
  kernel.multiplies_tiles = true;
  if (rhs.in_place) kernel.narrow_cols = 4;  // doc/amx.md
  kernel.macs_per_ns = kMacsPerNs;
  kernel.pack_lhs = PackAvx512_8_S8_16x4;
  kernel.pack_rhs = pack_rhs;
  kernel.run = run;
  return kernel;
}

// A kernel of AVX-512-VNNI on AMX's lhs panels, whose depth is in 64s: for
// products of a kept lhs that are too small for tiles. With panels of its own,
// weights that meet products of many sizes would be kept in two forms.
constexpr Kernel VnniEntry(const char* name, KernelKind kind, int rhs_width,
                           PackFn* pack_rhs, KernelFn* run) {
  const bool is_narrow = kind == KernelKind::kNarrowPanels;
  Kernel kernel =
      Entry(name, {Scalar::kU8, false, rhs_width, 4, 64}, pack_rhs, run);
  kernel.kind = kind;
  kernel.tile_rows = is_narrow ? 64 : 48;
  kernel.tile_cols = is_narrow ? 4 : 8;
  kernel.row_granularity = is_narrow ? 64 : 32;
  kernel.max_cols = is_narrow ? 4 : kNoLimit;
  kernel.for_kept_lhs = true;
  kernel.row_major_depth = is_narrow ? 0 : kNotRowMajor;
  kernel.multiplies_tiles = false;
  kernel.macs_per_ns = is_narrow ? 50 : 320;
  return kernel;
}

constexpr Kernel BFloat16Entry() {
  Kernel kernel =
      Entry("BF16BF16", {Scalar::kBF16, false, 16, 32, 32},
            PackAvx512_BF16_BF16_16x32, RunAmx<RhsKind::kPackedBF16>);
  kernel.family = Family::kF32;
  kernel.lhs = {Scalar::kBF16, false, 16, 2, 32};
  kernel.multiplies_tiles = false;  // it serves small products, too
  kernel.rounds_otherwise = true;
  kernel.macs_per_ns = kMacsPerNs / 2;
  kernel.pack_lhs = PackAvx512_BF16_BF16_16x2;
  return kernel;
}

// Fewer columns of group-scaled weights are AVX-512-VNNI's.
template <class Pack>
constexpr Kernel GroupTiles(const char* name, const PanelFormat& packed,
                            Pack pack_lhs) {
  Kernel kernel = GroupEntryOf<X86GroupOps, AmxGroupForm>(
      RunAmxGroups, name, packed, pack_lhs, kMacsPerNs / 3, kNoLimit);
  const bool is_bytes = packed.code_bits == 8;
  kernel.min_cols = is_bytes ? kMinGroupCols8 : kMinGroupCols4;
  kernel.min_group_elements = is_bytes ? 0 : kMinGroupElements4;
  kernel.row_granularity = kernel.tile_rows;
  return kernel;
}

constexpr Kernel kList[] = {
    BFloat16Entry(),
    Entry("S8S8InPlace", kInPlaceS8, nullptr, RunAmx<RhsKind::kInPlaceS8>),
    Entry("S8U8InPlace", kInPlaceU8, nullptr, RunAmx<RhsKind::kInPlaceU8>),
    Entry("S8S8", kPackedS8, PackAvx512_8_S8_16x64, RunAmx<RhsKind::kPackedS8>),
    VnniEntry("S8U8", KernelKind::kNarrowPanels, 1, PackAvx2_8_U8_1x1,
              RunAvx512Vnni_S8U8_64x4x4),
    VnniEntry("S8U8", KernelKind::kPanels, 8, PackAvx512_8_U8_8x4,
              RunAvx512Vnni_S8U8_48x8x4),
    GroupTiles("G4W8S8", kPackedCodes4, PackNibbles<>),
    GroupTiles("G8S8", kPackedCodes8, nullptr),
    GroupTiles("T4W8S8", kPackedTable4, PackByTable<X86Lookup<4>>),
    GroupTiles("T2W8S8", kPackedTable2, PackByTable<X86Lookup<2>>),
};
constexpr NamedKernels kTable("Amx", kList);

}  // namespace

KernelTable AmxKernels() { return TableOf(kTable.kernels); }

}  // namespace ruy_like::kernels
