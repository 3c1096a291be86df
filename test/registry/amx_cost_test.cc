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
  KernelQuery cached = Query(kI8, kI8, 100, 100, 100);
  cached.cached.rhs = true;
  KernelQuery cached_row_major = cached;
  cached_row_major.dst_col_major = false;
  KernelQuery cached_lhs = Query(kI8, kI8, 100, 100, 100, kRow, kCol, kRow);
  cached_lhs.cached.lhs = true;
  KernelQuery cached_by_rows = Query(kI8, kI8, 100, 100, 100, kCol);
  cached_by_rows.cached.rhs = true;
  ExpectPins({
      {"amx", Query(kI8, kI8, 100, 100, 100), "Amx_S8S8InPlace_32x32x64"},
      {"amx", Query(kI8, kU8, 100, 100, 100), "Amx_S8U8InPlace_32x32x64"},
      {"amx", Query(kU8, kU8, 100, 100, 100), "Amx_S8U8InPlace_32x32x64"},
      {"amx", Query(kI8, kI8, 100, 100, 100, kRow, kRow), "Amx_S8S8_32x32x64"},
      {"amx", Query(kI8, kI8, 100, 0, 100), "Amx_S8S8_32x32x64"},
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
  KernelQuery cached = Query(kBF16, kBF16, 1000, 500, 1);
  cached.cached.lhs = true;
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
  constexpr char kVnni[] = "Avx512Vnni_S8U8_48x8x4";
  constexpr char kTiles[] = "Amx_S8S8InPlace_32x32x64";
  const auto product = [](std::ptrdiff_t rows, std::ptrdiff_t depth,
                          std::ptrdiff_t cols) {
    return Query(kI8, kI8, rows, depth, cols);
  };
  ExpectPins({
      {kAll, product(16, 16, 16), kVnni},
      {kAll, product(20, 40, 20), kVnni},
      {kAll, product(16, 64, 16), kVnni},
      {kAll, product(32, 24, 32), kVnni},
      {kAll, product(32, 32, 32), kTiles},
      {kAll, product(33, 32, 33), kVnni},
      {kAll, product(48, 48, 48), kVnni},
      {kAll, product(48, 96, 48), kTiles},
      {kAll, product(64, 16, 64), kVnni},
      {kAll, product(64, 32, 64), kTiles},
      {kAll, product(64, 64, 64), kTiles},
      {kAll, product(96, 96, 96), kTiles},
      {kAll, product(128, 128, 128), kTiles},
      {kAll, product(32, 256, 32), kTiles},
      {kAll, product(512, 32, 512), kTiles},
      {kAll, product(512, 64, 512), kTiles},
      {kAll, product(32, 8, 512), kVnni},
  });
  EXPECT_EQ(SelectKernel(product(16, 16, 16), ParsePaths(kAll).value()).path,
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

// With what a row-major dst cost the kernel that was measured, 768x768x128 was
// faster without it, 3072x768x128 and 1024x1024x49 with it.
TEST(AmxCostTest, KnowsWhenARowMajorDstPaid) {
  EXPECT_FALSE(RowMajorPaysOnAmx(128, 768, 768, 200));
  EXPECT_TRUE(RowMajorPaysOnAmx(128, 768, 3072, 200));
  EXPECT_TRUE(RowMajorPaysOnAmx(49, 1024, 1024, 200));
  EXPECT_TRUE(RowMajorPaysOnAmx(128, 768, 768, kRowMajorBlockNs));
  EXPECT_FALSE(RowMajorPaysOnAmx(1024, 256, 2048, kRowMajorBlockNs));
}

// Tiles that read the wide side in place are faster than narrow kernels but for
// a few columns, or fewer rows; where either can.
TEST(SelectKernelTest, AmxTakesNarrowProductsButForAFewColumns) {
  constexpr char kNarrow[] = "Avx512Vnni_S8InPlaceU8_16x16x16";
  constexpr char kTiles[] = "Amx_S8S8InPlace_32x32x64";
  const auto product = [](std::ptrdiff_t rows, std::ptrdiff_t depth,
                          std::ptrdiff_t cols, MemoryOrder dst = kCol) {
    return Query(kI8, kI8, rows, depth, cols, kRow, kCol, dst);
  };
  ExpectPins({
      {kAll, product(1024, 1024, 1), kNarrow},
      {kAll, product(1024, 1024, 8), kNarrow},
      {kAll, product(1024, 1024, 9), kTiles, true},
      {kAll, product(1024, 1024, 12), kTiles, true},
      {kAll, product(1024, 1024, 16), kTiles, true},
      {kAll, product(256, 256, 16), kTiles, true},
      {kAll, product(4, 1024, 1024), kNarrow, true},
      {kAll, product(5, 1024, 1024), kTiles},
      {kAll, product(8, 1024, 1024), kTiles},
      {kAll, product(12, 1024, 1024), kTiles},
      {kAll, product(16, 1024, 1024), kTiles},
      {kAll, product(16, 256, 256), kTiles},
      // The transposes.
      {kAll, product(8, 1024, 1024, kRow), kNarrow, true},
      {kAll, product(9, 1024, 1024, kRow), kTiles},
      {kAll, product(1024, 1024, 4, kRow), kNarrow},
      {kAll, product(1024, 1024, 5, kRow), kTiles, true},
      // Too shallow for transposed stores; the wide side would be packed.
      {kAll, product(1024, 128, 16), kNarrow},
      // Without AMX all of them are narrow.
      {"avx512vnni", product(1024, 1024, 16), kNarrow},
      {"avx512vnni", product(16, 256, 256), kNarrow, true},
  });
}

// The panels of a lhs that is kept are AMX's even where the product is too
// small for tiles, and so are those of a rhs.
TEST(SelectKernelTest, SmallProductsOfAKeptOperandTakeItsPanels) {
  KernelQuery lhs = Query(kI8, kI8, 50, 40, 3);
  lhs.cached.lhs = true;
  KernelQuery wider = Query(kI8, kI8, 50, 40, 8);
  wider.cached.lhs = true;
  KernelQuery rhs = Query(kI8, kI8, 8, 40, 50, kRow, kCol, kRow);
  rhs.cached.rhs = true;
  KernelQuery other_rhs = Query(kI8, kI8, 8, 40, 8);
  other_rhs.cached.rhs = true;
  ExpectPins({
      {"amx", lhs, "Amx_S8U8_64x4x4"},
      {"amx", wider, "Amx_S8U8_48x8x4"},
      {"amx", rhs, "Amx_S8U8_48x8x4", true},
      {"amx", other_rhs, "Amx_S8U8_48x8x4", true},
      {"amx", Query(kI8, kI8, 50, 40, 8), "Avx512Vnni_S8InPlaceU8_16x16x16"},
  });
}

// The wide lhs in place and dst's transpose, where that saves packing much.
TEST(SelectKernelTest, AmxReadsAWideLhsInPlaceIfDeep) {
  constexpr char kInPlace[] = "Amx_S8S8InPlace_32x32x64";
  const auto bytes = [](std::ptrdiff_t rows, std::ptrdiff_t depth,
                        std::ptrdiff_t cols, MemoryOrder rhs = kCol,
                        MemoryOrder dst = kCol) {
    return Query(kI8, kI8, rows, depth, cols, kRow, rhs, dst);
  };
  KernelQuery cached_lhs = bytes(768, 768, 128);
  cached_lhs.cached.lhs = true;
  KernelQuery cached_rhs = bytes(768, 768, 128);
  cached_rhs.cached.rhs = true;
  ExpectPins({
      {"amx", bytes(768, 768, 128), kInPlace, true},
      // Whatever the narrow side's order and padding.
      {"amx", bytes(768, 768, 128, kRow), kInPlace, true},
      {"amx", bytes(512, 4608, 49), kInPlace, true},
      {"amx", bytes(256, 256, 128), kInPlace, true},
      {"amx", Query(kU8, kU8, 768, 768, 128), "Amx_S8U8InPlace_32x32x64", true},
      // For a row-major dst that is a wide rhs.
      {"amx", bytes(128, 768, 768, kCol, kRow), kInPlace},
      {"amx", bytes(768, 768, 128, kCol, kRow), kInPlace, true},
      // Not if it is shallow, not much wider, or either side is cached.
      {"amx", bytes(768, 255, 128), kInPlace},
      {"amx", bytes(255, 768, 128), kInPlace},
      {"amx", bytes(128, 768, 768), kInPlace},
      {"amx", cached_lhs, kInPlace},
      {"amx", cached_rhs, kInPlace, true},
  });
}

}  // namespace
}  // namespace ruy_like
