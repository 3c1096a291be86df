// Which products take a kernel that reads one side in place, and which a kernel
// for few columns.
#include <gtest/gtest.h>

#include <cstddef>

#include "ruy_like/path.h"
#include "ruy_like/registry/registry.h"
#include "test/registry/kernel_pins.h"

namespace ruy_like {
namespace {

// Up to 16 columns (rows) the other side is read in place if it can be, and is
// on the left; the pack routine gives the narrow side the other signedness.
TEST(SelectKernelTest, NarrowProductsReadTheWideSideInPlace) {
  const KernelQuery cached = WithCachedLhs(Bytes(1000, 500, 4));
  ExpectPins({
      {"avx512vnni", Bytes(1000, 500, 1), "Avx512Vnni_S8InPlaceU8_16x16x16"},
      {"avx512vnni", Query(kU8, kI8, 1000, 500, 1),
       "Avx512Vnni_U8InPlaceS8_16x16x16"},
      {"avx512vnni", Bytes(1000, 500, 16), "Avx512Vnni_S8InPlaceU8_16x16x16"},
      {"avx512vnni", Bytes(1000, 500, 17), "Avx512Vnni_S8U8_48x8x4"},
      // To add up the lanes of results takes longer than to pack a small depth.
      {"avx512vnni", Bytes(1000, 351, 16), "Avx512Vnni_S8U8_48x8x4"},
      {"avx512vnni", Bytes(1000, 352, 16), "Avx512Vnni_S8InPlaceU8_16x16x16"},
      {"avxvnni", Bytes(256, 16, 4), "AvxVnni_S8U8_16x6x4"},
      {"avx2", Bytes(2, 64, 500), "Avx2_S8W16_32x2x2", true},
      {"avx2", Bytes(1000, 72, 2), "Avx2_S8InPlaceW16_16x16x16"},
      {"avx2", Bytes(1000, 16, 1), "Avx2_S8W16_32x2x2"},
      {"avx512", Query(kI8, kI16, 400, 64, 8), "Avx512_S8S16_48x8x2"},
      // Narrow on the left: swapped, for either order of dst.
      {"avx512vnni", Bytes(4, 500, 1000), "Avx512Vnni_S8InPlaceU8_16x16x16",
       true},
      {"avx512vnni", Query(kI8, kU8, 4, 500, 1000, kRow, kCol, kRow),
       "Avx512Vnni_U8InPlaceS8_16x16x16", true},
      // Not contiguous along depth, or packed already.
      {"avx512vnni", Query(kI8, kI8, 1000, 500, 9, kCol),
       "Avx512Vnni_S8U8_48x8x4"},
      {"avx512vnni", cached, "Avx512Vnni_S8U8_64x4x4"},
      {"avx512vnni", Query(kI8, kI16, 1000, 500, 2),
       "Avx512Vnni_S8InPlaceS16_16x16x16"},
      {"avx512vnni", Query(kI16, kI8, 1000, 500, 2),
       "Avx512Vnni_S16InPlaceW16_16x16x16"},
      {"avx512vnni", Query(kF32, kF32, 1000, 500, 1),
       "Avx512_F32InPlaceF32InPlace_16x1x1"},
      {"avx512vnni", Query(kF32, kF32, 1000, 500, 2),
       "Avx512_F32InPlaceF32_16x8x1"},
      {"avx2", Bytes(1000, 500, 1), "Avx2_S8InPlaceW16_16x1x16"},
      {"avx2", Query(kF32, kF32, 1, 500, 1000),
       "Avx2_F32InPlaceF32InPlace_16x1x1", true},
      {"avxvnni", Bytes(1000, 500, 1), "AvxVnni_S8InPlaceU8_16x16x16"},
      {"portable", Bytes(1000, 500, 1), "Portable_S8S8_4x4x1"},
  });
}

// Up to four columns whose sums may be taken in any order have lanes along
// depth, if the large side can be read in place.
TEST(SelectKernelTest, NarrowProductsInAnyOrder) {
  const auto cols = [](std::ptrdiff_t cols, MemoryOrder rhs = kCol) {
    return InAnyOrder(Query(kF32, kF32, 1000, 500, cols, kRow, rhs));
  };
  const KernelQuery cached = WithCachedLhs(cols(1));
  ExpectPins({
      {"avx512", cols(1), "Avx512_F32InPlaceF32InPlace_4x1x16"},
      {"avx512", cols(2), "Avx512_F32InPlaceF32_4x4x16"},
      {"avx512", cols(4, kRow), "Avx512_F32InPlaceF32_4x4x16"},
      {"avx512", cols(5), "Avx512_F32InPlaceF32_16x8x1"},
      {"amx", cols(1), "Avx512_F32InPlaceF32InPlace_4x1x16"},
      {"avx2", cols(1), "Avx2_F32InPlaceF32InPlace_4x1x8"},
      {"avxvnni", cols(4), "Avx2_F32InPlaceF32_4x4x8"},
      {"portable", cols(1), "Portable_F32F32_4x4x1"},
      // One row by an operand that is contiguous along depth, and along rows.
      {"avx512", InAnyOrder(Query(kF32, kF32, 1, 500, 1000)),
       "Avx512_F32InPlaceF32InPlace_4x1x16", true},
      {"avx512", InAnyOrder(Query(kF32, kF32, 3, 500, 1000, kRow, kCol, kRow)),
       "Avx512_F32InPlaceF32_4x4x16", true},
      {"avx512", InAnyOrder(Query(kF32, kF32, 1, 500, 1000, kRow, kRow)),
       "Avx512_F32ByDepthF32_64x16x1", true},
      {"avx512", cached, "Avx512_F32F32_64x4x1"},
      {"avx512", InAnyOrder(Query(kF32, kF32, 100, 100, 100)),
       "Avx512_F32F32InPlace_48x8x1"},
  });
}

// Small float products pack nothing where one side is contiguous along its
// width, as a column-major lhs is.
TEST(SelectKernelTest, SmallProductsReadBothSidesInPlace) {
  constexpr char kColumns[] = "Avx512_F32ByDepthF32InPlace_48x64x1";
  constexpr char kLevels[] = "Avx512_F32ByDepthF32ByDepth_48x64x1";
  const auto floats = [](std::ptrdiff_t rows, std::ptrdiff_t cols,
                         MemoryOrder lhs, MemoryOrder rhs, MemoryOrder dst) {
    return Query(kF32, kF32, rows, 100, cols, lhs, rhs, dst);
  };
  const KernelQuery cached = WithCachedLhs(floats(16, 16, kCol, kCol, kCol));
  ExpectPins({
      {"avx512", floats(16, 16, kCol, kCol, kCol), kColumns},
      {"avx512", floats(64, 64, kCol, kCol, kCol), kColumns},
      {"avx512", floats(16, 16, kRow, kRow, kRow), kColumns, true},
      {"avx512", floats(16, 16, kCol, kRow, kCol), kLevels},
      {"avx512", floats(16, 16, kCol, kRow, kRow), kLevels, true},
      {"avx2", floats(16, 16, kCol, kCol, kCol),
       "Avx2_F32ByDepthF32InPlace_24x64x1"},
      {"avx512", floats(65, 20, kCol, kRow, kCol), "Avx512_F32F32_48x8x1"},
      {"avx512", floats(20, 65, kCol, kCol, kCol),
       "Avx512_F32F32InPlace_48x8x1"},
      // Both sides contiguous along depth, or one of them cached.
      {"avx512", floats(16, 16, kRow, kCol, kCol),
       "Avx512_F32F32InPlace_48x8x1"},
      {"avx512", cached, "Avx512_F32F32InPlace_48x8x1"},
  });
}

// Float kernels read a rhs in place that is contiguous along depth. A row-major
// dst is worth it where it saves packing a much wider side.
TEST(SelectKernelTest, FloatsReadTheRhsInPlaceIfItCan) {
  constexpr char kInPlace[] = "Avx512_F32F32InPlace_48x8x1";
  constexpr char kPacked[] = "Avx512_F32F32_48x8x1";
  const auto floats = [](std::ptrdiff_t rows, std::ptrdiff_t depth,
                         std::ptrdiff_t cols, MemoryOrder lhs, MemoryOrder rhs,
                         MemoryOrder dst) {
    return Query(kF32, kF32, rows, depth, cols, lhs, rhs, dst);
  };
  const auto of = [](Scalar lhs, Scalar rhs) {
    return Query(lhs, rhs, 1000, 500, 96);
  };
  const KernelQuery cached_lhs =
      WithCachedLhs(floats(1000, 500, 48, kRow, kCol, kCol));
  const KernelQuery cached_rhs =
      WithCachedRhs(floats(100, 500, 100, kRow, kCol, kCol));
  ExpectPins({
      {"avx512", floats(100, 500, 100, kCol, kCol, kCol), kInPlace},
      {"avx512", floats(100, 500, 100, kRow, kRow, kCol), kPacked},
      {"avx512", floats(100, 500, 100, kRow, kRow, kRow), kInPlace, true},
      {"avx512", floats(100, 0, 100, kRow, kCol, kCol), kPacked},
      {"avx512", cached_rhs, kPacked},
      // 16-bit floats are widened in packing, where they lie as floats would.
      {"avx512", of(Scalar::kBF16, kF32), kInPlace},
      {"avx512", of(kF32, Scalar::kBF16), kInPlace, true},
      {"avx512", of(Scalar::kF16, Scalar::kF16), kPacked},
      // The wide lhs in place, and dst's transpose.
      {"avx512", floats(1000, 500, 48, kRow, kCol, kCol), kInPlace, true},
      {"avx512", floats(1000, 500, 48, kRow, kRow, kCol), kInPlace, true},
      // Not if it is shallow for so many columns, hardly wider, packed already,
      // or if more is lost on the other side's padding.
      {"avx512", floats(1000, 150, 48, kRow, kCol, kCol), kInPlace},
      {"avx512", floats(1000, 165, 48, kRow, kCol, kCol), kInPlace, true},
      {"avx512", floats(1000, 320, 96, kRow, kCol, kCol), kInPlace},
      {"avx512", floats(1000, 340, 96, kRow, kCol, kCol), kInPlace, true},
      {"avx512", floats(60, 400, 48, kRow, kCol, kCol), kInPlace},
      {"avx512", floats(90, 400, 48, kRow, kCol, kCol), kInPlace, true},
      {"avx512", cached_lhs, kInPlace},
      {"avx512", floats(1000, 600, 52, kRow, kCol, kCol), kInPlace},
      // Beyond L2 packing takes longer.
      {"avx512", floats(1000, 700, 52, kRow, kCol, kCol), kInPlace, true},
      // Few columns, but more than a narrow kernel has.
      {"avx512", floats(1000, 165, 9, kRow, kCol, kCol), kInPlace, true},
      {"avx512", floats(1000, 150, 9, kRow, kCol, kCol), kInPlace},
      {"avx2", floats(1000, 256, 9, kRow, kCol, kCol),
       "Avx2_F32F32InPlace_16x6x1"},
      {"avx2", floats(1000, 64, 8, kRow, kCol, kCol),
       "Avx2_F32F32InPlace_16x6x1", true},
  });
}

// 16-bit floats are widened where they are read, as far as few columns go.
TEST(SelectKernelTest, NarrowProductsOf16BitFloats) {
  const auto cols = [](Scalar lhs, Scalar rhs, std::ptrdiff_t cols) {
    return Query(lhs, rhs, 1000, 500, cols);
  };
  constexpr Scalar kBF16 = Scalar::kBF16, kF16 = Scalar::kF16;
  ExpectPins({
      {"avx512", cols(kBF16, kBF16, 1), "Avx512_BF16InPlaceF32_16x8x1"},
      {"avx512", cols(kBF16, kF32, 8), "Avx512_BF16InPlaceF32_16x8x1"},
      {"avx512", cols(kBF16, kF32, 9), "Avx512_F32F32InPlace_48x8x1"},
      {"avx512", cols(kF16, kF32, 1), "Avx512_F16InPlaceF32_16x8x1"},
      {"avx512", Query(kF32, kF16, 1, 500, 1000), "Avx512_F16InPlaceF32_16x8x1",
       true},
      {"avx512", WithCachedLhs(cols(kBF16, kF32, 1)), "Avx512_F32F32_64x4x1"},
      {"avx2", cols(kBF16, kBF16, 6), "Avx2_BF16InPlaceF32_16x6x1"},
      {"avx2", cols(kF16, kF16, 2), "Avx2_F16InPlaceF32_16x6x1"},
  });
}

// With AVX512-BF16 what is packed of two bfloat16 operands stays as it is.
TEST(SelectKernelTest, BFloat16ByBFloat16) {
  constexpr Scalar kBF16 = Scalar::kBF16;
  const auto product = [](Scalar lhs, Scalar rhs, std::ptrdiff_t cols) {
    return Query(lhs, rhs, 1000, 500, cols);
  };
  constexpr char kWide[] = "Avx512Bf16_BF16BF16_48x8x2";
  constexpr char kNarrow[] = "Avx512Bf16_BF16BF16_64x4x2";
  ExpectPins({
      {"avx512bf16", product(kBF16, kBF16, 100), kWide},
      {"avx512bf16", WithCachedLhs(product(kBF16, kBF16, 100)), kWide},
      {"avx512bf16", WithCachedLhs(product(kBF16, kBF16, 4)), kNarrow},
      {"avx512bf16", Query(kBF16, kBF16, 90, 90, 90, kRow, kCol, kRow), kWide,
       true},
      {"avx512bf16", product(kBF16, kBF16, 1),
       "Avx512Bf16_BF16InPlaceBF16_16x8x2"},
      {"avx512bf16", product(kBF16, kBF16, 8),
       "Avx512Bf16_BF16InPlaceBF16_16x8x2"},
      {"avx512bf16", product(kBF16, kBF16, 9), kWide},
      {"avx512bf16", product(kBF16, kF32, 1), "Avx512_BF16InPlaceF32_16x8x1"},
      {"avx512bf16", product(kBF16, kF32, 100), "Avx512_F32F32InPlace_48x8x1"},
      {"avx512bf16", product(kF32, kBF16, 96), "Avx512_F32F32InPlace_48x8x1",
       true},
      {"avx512bf16", product(Scalar::kF16, Scalar::kF16, 100),
       "Avx512_F32F32_48x8x1"},
      {"avx512vnni", product(kBF16, kBF16, 100), "Avx512_F32F32_48x8x1"},
      {"avx512bf16", Bytes(100, 100, 100), "Avx512Vnni_S8U8_48x8x4"},
  });
}

// An operand whose rows (or, with sides swapped, columns) are contiguous is
// read as it lies by a product of few columns.
TEST(SelectKernelTest, NarrowProductsByDepth) {
  const auto cols = [](Scalar lhs, Scalar rhs, std::ptrdiff_t cols) {
    return Query(lhs, rhs, 1000, 500, cols, kCol);
  };
  const auto large = [](Scalar lhs, Scalar rhs, std::ptrdiff_t cols) {
    return Query(lhs, rhs, 1024, 1024, cols, kCol);
  };
  const auto one_row = [](Scalar type) {
    return Query(type, type, 1, 500, 1000, kRow, kRow, kRow);
  };
  ExpectPins({
      {"avx512", cols(kF32, kF32, 1), "Avx512_F32ByDepthF32_64x16x1"},
      {"avx512", cols(Scalar::kF16, kF32, 1), "Avx512_F16ByDepthF32_64x16x1"},
      {"avx2", cols(Scalar::kBF16, kF32, 16), "Avx2_BF16ByDepthF32_64x16x1"},
      {"avx512", one_row(kF32), "Avx512_F32ByDepthF32_64x16x1", true},
      {"avx2", cols(kF32, kF32, 1), "Avx2_F32ByDepthF32_64x16x1"},
      {"avx2", cols(kF32, kF32, 16), "Avx2_F32ByDepthF32_64x16x1"},
      {"avx2", one_row(kF32), "Avx2_F32ByDepthF32_64x16x1", true},
      {"avx2", WithCachedLhs(cols(kF32, kF32, 1)), "Avx2_F32F32_32x2x1"},
      {"avx512vnni", cols(kI8, kU8, 1), "Avx512Vnni_S8ByDepthU8_64x8x1"},
      {"avx512vnni", cols(kU8, kI8, 2), "Avx512Vnni_U8ByDepthS8_64x8x1"},
      {"avx512vnni", one_row(kI8), "Avx512Vnni_S8ByDepthU8_64x8x1", true},
      {"avx512vnni", cols(kI8, kI8, 3), "Avx512Vnni_S8ByDepthU8_64x8x1"},
      {"avx512vnni", cols(kI8, kI8, 9), "Avx512Vnni_S8U8_48x8x4"},
      {"avx512vnni", cols(kI8, Scalar::kI16, 6),
       "Avx512Vnni_S8ByDepthS16_32x8x1"},
      {"avx2", cols(Scalar::kI16, kI8, 4), "Avx2_S16ByDepthW16_16x8x1"},
      {"avxvnni", cols(kI8, kU8, 2), "AvxVnni_S8ByDepthU8_32x8x1"},
      {"avxvnni", cols(kU8, kI8, 1), "AvxVnni_U8ByDepthS8_32x8x1"},
      {"avx512", one_row(kI8), "Avx512_S8ByDepthW16_32x8x1", true},
      {"avx512", cols(kU8, kI8, 2), "Avx512_U8ByDepthW16_32x8x1"},
      {"avx2", one_row(kI8), "Avx2_S8ByDepthW16_16x8x1", true},
      {"avx2", cols(kU8, kU8, 2), "Avx2_U8ByDepthW16_16x8x1"},
      {"avx2", cols(kI8, kI8, 3), "Avx2_S8ByDepthW16_16x8x1"},
      {"avx2", cols(kI8, kI8, 5), "Avx2_S8W16_16x6x2"},
      // Packing a large one takes longer.
      {"avx2", large(kI8, kI8, 8), "Avx2_S8ByDepthW16_16x8x1"},
      {"avx2", large(kI8, kI8, 9), "Avx2_S8W16_16x6x2"},
  });
}

// For a few columns a packed large side has a kernel of its own, if its panels
// are those of the path's wide kernel.
TEST(SelectKernelTest, NarrowProductsOfAPackedSide) {
  const auto cached = [](Scalar lhs, Scalar rhs, std::ptrdiff_t cols) {
    return WithCachedLhs(Query(lhs, rhs, 1000, 500, cols));
  };
  const KernelQuery swapped = WithCachedRhs(Bytes(1, 500, 1000));
  ExpectPins({
      {"avx512vnni", cached(kI8, kI8, 1), "Avx512Vnni_S8U8_64x4x4"},
      {"avx512vnni", cached(kU8, kU8, 4), "Avx512Vnni_S8U8_64x4x4"},
      {"avx512vnni", cached(kI8, kI8, 5), "Avx512Vnni_S8U8_48x8x4"},
      {"avx512vnni", swapped, "Avx512Vnni_S8U8_64x4x4", true},
      {"avx512vnni", cached(kI8, kI16, 1), "Avx512Vnni_S8S16_64x4x2"},
      {"avx512vnni", cached(kI16, kI8, 1), "Avx512Vnni_S16W16_64x4x2"},
      {"avx512vnni", cached(kF32, kF32, 1), "Avx512_F32F32_64x4x1"},
      {"avx512", cached(kI8, kI8, 1), "Avx512_S8W16_64x4x2"},
      {"avxvnni", cached(kI8, kI8, 2), "AvxVnni_S8U8_32x2x4"},
      {"avxvnni", cached(kI8, kI8, 3), "AvxVnni_S8U8_16x6x4"},
      {"avxvnni", cached(kF32, kF32, 1), "Avx2_F32F32_32x2x1"},
      {"avx2", cached(kI8, kI8, 1), "Avx2_S8W16_32x2x2"},
      // The same on AMX's panels.
      {"amx", cached(kI8, kI8, 1), "Amx_S8U8_64x4x4"},
      {"amx", cached(kI8, kI8, 4), "Amx_S8U8_64x4x4"},
      {"amx", cached(kI8, kI8, 5), "Amx_S8S8InPlace_32x32x64"},
      {"amx", cached(kF32, kF32, 1), "Avx512_F32F32_64x4x1"},
      {"portable", cached(kI8, kI8, 1), "Portable_S8S8_4x4x1"},
  });
}

// So that one cached operand, or one packed ahead, serves every width.
TEST(SelectKernelTest, APackedLargeSideLooksTheSameToEveryKernel) {
  for (const Path path : PathsBestFirst(CompiledPaths())) {
    for (const auto& [lhs, rhs] :
         {std::pair(kI8, kI8), std::pair(kI8, kI16), std::pair(kI16, kI8),
          std::pair(kF32, kF32), std::pair(Scalar::kBF16, Scalar::kBF16)}) {
      const KernelQuery wide = WithCachedLhs(Query(lhs, rhs, 1000, 500, 100));
      const KernelChoice ahead = SelectKernelToPackFor(
          wide.family, path, Side::kLhs, {lhs, ValueRange::kFull, 1000 * 500},
          {rhs, ValueRange::kFull, 0});
      ASSERT_NE(ahead.kernel, nullptr);
      const PackedLayout layout = LayoutFor(ahead, Side::kLhs, Side::kLhs);
      for (const std::ptrdiff_t cols : {1, 2, 3, 4, 5, 16, 17, 100}) {
        const KernelQuery query =
            WithCachedLhs(Query(lhs, rhs, 1000, 500, cols));
        const KernelChoice choice = SelectKernel(query, path);
        ASSERT_NE(choice.kernel, nullptr);
        // Rows and columns as called: the narrow side is on the right already.
        EXPECT_EQ(LayoutName(LayoutFor(choice, Side::kLhs, Side::kLhs)),
                  LayoutName(layout))
            << choice.kernel->name << ", " << ahead.kernel->name;
        EXPECT_EQ(SelectKernelForPacked(query, {&layout, nullptr}, path).kernel,
                  choice.kernel)
            << choice.kernel->name;
      }
    }
  }
}

}  // namespace
}  // namespace ruy_like
