// When AMX's tiles are taken instead of AVX-512-VNNI's vectors: the estimates,
// and the selections that follow from them.
#include "ruy_like/registry/amx_cost.h"

#include <gtest/gtest.h>

#include <cstddef>

#include "ruy_like/path.h"
#include "ruy_like/registry/registry.h"
#include "test/registry/kernel_pins.h"

namespace ruy_like {
namespace {

// AMX reads an rhs in place that is contiguous along depth, of either sign.
TEST(SelectKernelTest, AmxReadsTheRhsInPlaceIfItCan) {
  const KernelQuery cached = WithCachedRhs(Bytes(100, 100, 100));
  KernelQuery cached_row_major = cached;
  cached_row_major.dst_col_major = false;
  const KernelQuery cached_lhs =
      WithCachedLhs(Query(kI8, kI8, 100, 100, 100, kRow, kCol, kRow));
  const KernelQuery cached_by_rows =
      WithCachedRhs(Query(kI8, kI8, 100, 100, 100, kCol));
  ExpectPins({
      {"amx", Bytes(100, 100, 100), "Amx_S8S8InPlace_32x32x64"},
      {"amx", Query(kI8, kU8, 100, 100, 100), "Amx_S8U8InPlace_32x32x64"},
      {"amx", Query(kU8, kU8, 100, 100, 100), "Amx_S8U8InPlace_32x32x64"},
      {"amx", Query(kI8, kI8, 100, 100, 100, kRow, kRow), "Amx_S8S8_32x32x64"},
      {"amx", Bytes(100, 0, 100), "Amx_S8S8_32x32x64"},
      // What is kept is the lhs, for either order of dst.
      {"amx", cached, "Amx_S8S8InPlace_32x32x64", true},
      {"amx", cached_row_major, "Amx_S8S8InPlace_32x32x64", true},
      {"amx", cached_lhs, "Amx_S8S8InPlace_32x32x64"},
      {"amx", cached_by_rows, "Amx_S8S8_32x32x64", true},
      // Swapped, the lhs is the one on the right.
      {"amx", Query(kU8, kI8, 100, 100, 100, kRow, kCol, kRow),
       "Amx_S8U8InPlace_32x32x64", true},
      {"amx", Query(kI8, kI8, 100, 100, 100, kCol, kCol, kRow),
       "Amx_S8S8_32x32x64", true},
  });
}

// Products of two bfloat16 operands, however small: their sums have bits of
// their own.
TEST(SelectKernelTest, AmxTakesAllOfBFloat16) {
  constexpr Scalar kBF16 = Scalar::kBF16;
  constexpr char kTiles[] = "Amx_BF16BF16_32x32x32";
  const KernelQuery cached = WithCachedLhs(Query(kBF16, kBF16, 1000, 500, 1));
  ExpectPins({
      {"amx", Query(kBF16, kBF16, 100, 100, 100), kTiles},
      {"amx", Query(kBF16, kBF16, 8, 8, 8, kRow, kCol, kRow), kTiles, true},
      {"amx", Query(kBF16, kBF16, 1000, 500, 1), kTiles},
      {"amx", Query(kBF16, kBF16, 1000, 500, 1, kCol), kTiles},
      {"amx", cached, kTiles},
      {"amx", Query(kBF16, kF32, 1000, 500, 1), "Avx512_BF16InPlaceF32_16x8x1"},
      {"avx512vnni", Query(kBF16, kBF16, 1000, 500, 1),
       "Avx512_BF16InPlaceF32_16x8x1"},
  });
}

// To set AMX up and to finish its blocks takes longer than small products do on
// AVX-512-VNNI: as amx_cost.h estimates.
TEST(SelectKernelTest, AmxIsNotForSmallProducts) {
  if ((CompiledPaths() & Path::kAmx) == Path::kNone) {
    GTEST_SKIP() << "the compiler builds no AMX";
  }
  // All that such a machine has but avxvnni, which some builds leave out.
  constexpr char kPaths[] = "avx2,avx512,avx512vnni,amx";
  constexpr char kVnni[] = "Avx512Vnni_S8U8_48x8x4";
  constexpr char kTiles[] = "Amx_S8S8InPlace_32x32x64";
  ExpectPins({
      {kPaths, Bytes(16, 16, 16), kVnni},
      {kPaths, Bytes(20, 40, 20), kVnni},
      {kPaths, Bytes(16, 64, 16), kVnni},
      {kPaths, Bytes(32, 24, 32), kVnni},
      {kPaths, Bytes(32, 32, 32), kTiles},
      {kPaths, Bytes(33, 32, 33), kVnni},
      {kPaths, Bytes(48, 48, 48), kVnni},
      {kPaths, Bytes(48, 96, 48), kTiles},
      {kPaths, Bytes(64, 16, 64), kVnni},
      {kPaths, Bytes(64, 32, 64), kTiles},
      {kPaths, Bytes(64, 64, 64), kTiles},
      {kPaths, Bytes(96, 96, 96), kTiles},
      {kPaths, Bytes(128, 128, 128), kTiles},
      {kPaths, Bytes(32, 256, 32), kTiles},
      {kPaths, Bytes(512, 32, 512), kTiles},
      {kPaths, Bytes(512, 64, 512), kTiles},
      {kPaths, Bytes(32, 8, 512), kVnni},
  });
  EXPECT_EQ(SelectKernel(Bytes(16, 16, 16), ParsePaths(kPaths).value()).path,
            Path::kAmx);
}

// What was measured of both on one core with AMX, lhs cached, GOP/s: the
// estimates name the faster one, and come near either's time. (32x256x32 and
// 512x32x512 with an earlier kernel of tiles alone. By the estimate the latter
// is for today's, extrapolated from 64x32x12544: 356 GOP/s of a sketch of it.)
TEST(AmxCostTest, NamesTheFasterOneOfEachProductThatWasMeasured) {
  struct Row {
    std::ptrdiff_t rows, depth, cols;
    double tiles, vnni;
  };
  const Row rows[] = {
      {32, 32, 32, 142, 135},   {48, 48, 48, 170, 223},
      {64, 32, 64, 213, 195},   {64, 64, 64, 426, 285},
      {96, 96, 96, 773, 341},   {128, 128, 128, 1225, 386},
      {512, 64, 512, 810, 341},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.rows);
    EXPECT_EQ(IsTooSmallForAmx(row.rows, row.depth, row.cols),
              row.vnni > row.tiles);
    const double ops = 2.0 * static_cast<double>(row.rows * row.depth) *
                       static_cast<double>(row.cols);
    const double tiles_ns = ops / row.tiles;
    const double vnni_ns = ops / row.vnni;
    EXPECT_NEAR(AmxNs(row.rows, row.depth, row.cols), tiles_ns, tiles_ns / 4);
    EXPECT_NEAR(VnniNs(row.rows, row.depth, row.cols), vnni_ns, vnni_ns / 5);
  }
  EXPECT_FALSE(IsTooSmallForAmx(32, 256, 32));   // 773 to 460
  EXPECT_FALSE(IsTooSmallForAmx(512, 32, 512));  // 237 to 318 before
}

// Tiles that read the wide side in place are faster than narrow kernels but for
// a few columns, or fewer rows; where either can.
TEST(SelectKernelTest, AmxTakesNarrowProductsButForAFewColumns) {
  constexpr char kNarrow[] = "Avx512Vnni_S8InPlaceU8_16x16x16";
  constexpr char kTiles[] = "Amx_S8S8InPlace_32x32x64";
  ExpectPins({
      {kAll, Bytes(1024, 1024, 1), kNarrow},
      {kAll, Bytes(1024, 1024, 8), kNarrow},
      {kAll, Bytes(1024, 1024, 9), kTiles, true},
      {kAll, Bytes(1024, 1024, 12), kTiles, true},
      {kAll, Bytes(1024, 1024, 16), kTiles, true},
      {kAll, Bytes(256, 256, 16), kTiles, true},
      {kAll, Bytes(4, 1024, 1024), kNarrow, true},
      {kAll, Bytes(5, 1024, 1024), kTiles},
      {kAll, Bytes(8, 1024, 1024), kTiles},
      {kAll, Bytes(12, 1024, 1024), kTiles},
      {kAll, Bytes(16, 1024, 1024), kTiles},
      {kAll, Bytes(16, 256, 256), kTiles},
      // The transposes.
      {kAll, Bytes(8, 1024, 1024, kCol, kRow), kNarrow, true},
      {kAll, Bytes(9, 1024, 1024, kCol, kRow), kTiles},
      {kAll, Bytes(1024, 1024, 4, kCol, kRow), kNarrow},
      {kAll, Bytes(1024, 1024, 5, kCol, kRow), kTiles, true},
      // Without AMX all of them are narrow.
      {"avx512vnni", Bytes(1024, 1024, 16), kNarrow},
      {"avx512vnni", Bytes(16, 400, 256), kNarrow, true},
  });
}

// The panels of a lhs that is kept are AMX's even where the product is too
// small for tiles, and so are those of a rhs.
TEST(SelectKernelTest, SmallProductsOfAKeptOperandTakeItsPanels) {
  const KernelQuery lhs = WithCachedLhs(Bytes(50, 40, 3));
  const KernelQuery wider = WithCachedLhs(Bytes(50, 40, 8));
  const KernelQuery rhs =
      WithCachedRhs(Query(kI8, kI8, 8, 40, 50, kRow, kCol, kRow));
  const KernelQuery other_rhs = WithCachedRhs(Bytes(8, 40, 8));
  ExpectPins({
      {"amx", lhs, "Amx_S8U8_64x4x4"},
      {"amx", wider, "Amx_S8U8_48x8x4"},
      {"amx", rhs, "Amx_S8U8_48x8x4", true},
      {"amx", other_rhs, "Amx_S8U8_48x8x4", true},
      {"amx", Bytes(50, 40, 8), "Avx512Vnni_S8U8_48x8x4"},
  });
}

// The wide lhs in place and dst's transpose, where that saves packing much.
TEST(SelectKernelTest, AmxReadsAWideLhsInPlaceIfDeep) {
  constexpr char kInPlace[] = "Amx_S8S8InPlace_32x32x64";
  const KernelQuery cached_lhs = WithCachedLhs(Bytes(768, 768, 32));
  const KernelQuery cached_rhs = WithCachedRhs(Bytes(768, 768, 32));
  ExpectPins({
      {"amx", Bytes(768, 768, 32), kInPlace, true},
      // Whatever the narrow side's order and padding.
      {"amx", Bytes(768, 768, 32, kRow), kInPlace, true},
      {"amx", Bytes(512, 4608, 25), kInPlace, true},
      {"amx", Query(kU8, kU8, 768, 768, 32), "Amx_S8U8InPlace_32x32x64", true},
      // For a row-major dst that is a wide rhs.
      {"amx", Bytes(32, 768, 768, kCol, kRow), kInPlace},
      {"amx", Bytes(768, 768, 32, kCol, kRow), kInPlace, true},
      // Not if it is shallow, hardly wider, read more than once, or if either
      // side is cached.
      {"amx", Bytes(768, 90, 32), kInPlace},
      {"amx", Bytes(36, 768, 32), kInPlace},
      {"amx", Bytes(768, 768, 33), kInPlace},
      {"amx", Bytes(32, 768, 768), kInPlace},
      {"amx", cached_lhs, kInPlace},
      {"amx", cached_rhs, kInPlace, true},
  });
}

}  // namespace
}  // namespace ruy_like
