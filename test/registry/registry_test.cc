// Which kernel is chosen, pinned by tables that hold on any machine; and what
// the paths' kernel tables must look like.
#include "ruy_like/registry/registry.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "ruy_like/path.h"
#include "ruy_like/registry/amx_cost.h"

namespace ruy_like {
namespace {

using kernels::Family;
using kernels::Kernel;
using kernels::KernelTable;
using kernels::PanelFormat;

// Kernel names begin with the enumerator of their path.
std::string EnumeratorOf(Path path) {
#define RUY_LIKE_PATH(Enum, name, arch, features, flags) \
  if (path == Path::k##Enum) return #Enum;
#include "ruy_like/registry/paths.inc"
#undef RUY_LIKE_PATH
  return "";
}

std::vector<Kernel> AllKernelsOf(Path path) {
  const KernelTable table = KernelsOf(path);
  return std::vector<Kernel>(table.kernels, table.kernels + table.count);
}

// ## Tables

TEST(KernelTablesTest, CompiledPathsHaveKernelsAndOthersNone) {
  for (const Path path : PathsBestFirst(kAllPaths)) {
    const bool compiled = (CompiledPaths() & path) != Path::kNone;
    EXPECT_EQ(KernelsOf(path).count > 0, compiled) << PathName(path);
  }
  EXPECT_EQ(KernelsOf(Path::kNone).count, 0);
}

// doc/kernels.md has the grammar.
TEST(KernelTablesTest, NamesSayWhatTheKernelIs) {
  for (const Path path : PathsBestFirst(CompiledPaths())) {
    for (const Kernel& kernel : AllKernelsOf(path)) {
      const auto side = [&](const PanelFormat& format) {
        std::string name = InfoOf(format.scalar).kernel_name;
        const bool is_of_8_bits =
            kernel.family == Family::k8x8 ||
            kernel.family ==
                (&format == &kernel.lhs ? Family::k8x16 : Family::k16x8);
        if (is_of_8_bits && format.scalar == Scalar::kI16) name = "W16";
        if (format.range == ValueRange::kInt7) name.back() = '7';
        return name + (format.by_level   ? "ByLevel"
                       : format.in_place ? "InPlace"
                                         : "");
      };
      const std::string start = EnumeratorOf(path) + "_" + side(kernel.lhs) +
                                side(kernel.rhs) + "_" +
                                std::to_string(kernel.tile_rows) + "x" +
                                std::to_string(kernel.tile_cols);
      const std::string name = kernel.name;
      EXPECT_TRUE(absl::StartsWith(name, start + "x") &&
                  name.size() > start.size() + 1 &&
                  name.find_first_not_of("0123456789", start.size() + 1) ==
                      std::string::npos)
          << name << " should be " << start << "x<group>";
    }
  }
}

TEST(KernelTablesTest, ANameMeansOneKernel) {
  std::set<std::string> names;
  for (const Path path : PathsBestFirst(CompiledPaths())) {
    for (const Kernel& kernel : AllKernelsOf(path)) {
      EXPECT_TRUE(names.insert(kernel.name).second)
          << kernel.name << " stands in the tables twice";
    }
  }
}

TEST(KernelTablesTest, FormatsAreConsistent) {
  for (const Path path : PathsBestFirst(CompiledPaths())) {
    for (const Kernel& kernel : AllKernelsOf(path)) {
      SCOPED_TRACE(kernel.name);
      EXPECT_NE(kernel.run, nullptr);
      EXPECT_GT(kernel.tile_rows, 0);
      EXPECT_GT(kernel.tile_cols, 0);
      EXPECT_GT(kernel.max_cols, 0);
      EXPECT_GT(kernel.row_granularity, 0);
      EXPECT_LE(kernel.row_granularity, kernel.tile_rows);
      using kernels::KernelKind;
      const bool is_narrow = kernel.kind == KernelKind::kNarrowInPlace ||
                             kernel.kind == KernelKind::kNarrowPanels;
      EXPECT_EQ(is_narrow, kernel.max_cols != kernels::kNoLimit);
      EXPECT_EQ(kernel.lhs.in_place, kernel.kind == KernelKind::kNarrowInPlace);
      // A lone column may be read in place along with the lhs.
      EXPECT_EQ(kernel.rhs.in_place,
                kernel.kind == KernelKind::kRhsInPlace ||
                    (kernel.lhs.in_place && kernel.pack_rhs == nullptr));
      EXPECT_TRUE(!kernel.lhs.in_place || !kernel.rhs.in_place ||
                  kernel.max_cols == 1);
      EXPECT_EQ(kernel.pack_lhs == nullptr, kernel.lhs.in_place);
      EXPECT_EQ(kernel.pack_rhs == nullptr, kernel.rhs.in_place);
      for (const PanelFormat* format : {&kernel.lhs, &kernel.rhs}) {
        if (format->in_place) continue;
        const int tile =
            format == &kernel.lhs ? kernel.tile_rows : kernel.tile_cols;
        EXPECT_GT(format->width, 0);
        EXPECT_EQ(tile % format->width, 0) << "tiles are whole panels";
        EXPECT_GT(format->group, 0);
        EXPECT_EQ(format->depth_multiple % format->group, 0);
        // What pads depth relies on it.
        EXPECT_EQ(format->depth_multiple & (format->depth_multiple - 1), 0);
      }
      if (!kernel.lhs.in_place && !kernel.rhs.in_place) {
        EXPECT_EQ(kernel.lhs.depth_multiple, kernel.rhs.depth_multiple)
            << "both sides are padded alike";
      }
    }
  }
}

// ## Selection

// A product as the caller of Mul sees it. kRow, kCol: memory orders.
enum MemoryOrder { kRow, kCol };

KernelQuery MakeQuery(Scalar lhs, Scalar rhs, std::ptrdiff_t rows,
                      std::ptrdiff_t depth, std::ptrdiff_t cols,
                      MemoryOrder lhs_order = kRow,
                      MemoryOrder rhs_order = kCol,
                      MemoryOrder dst_order = kCol) {
  KernelQuery query;
  const Scalar accum = IsFloat(lhs) ? Scalar::kF32 : Scalar::kI32;
  query.family = FamilyOf(lhs, rhs, accum, accum);
  query.rows = rows;
  query.cols = cols;
  query.depth = depth;
  query.scalar = {lhs, rhs};
  query.depth_contiguous = {lhs_order == kRow, rhs_order == kCol};
  query.cached = {false, false};
  query.dst_col_major = dst_order == kCol;
  return query;
}

constexpr Scalar kI8 = Scalar::kI8;
constexpr Scalar kU8 = Scalar::kU8;
constexpr Scalar kI16 = Scalar::kI16;
constexpr Scalar kF32 = Scalar::kF32;
constexpr Scalar kF64 = Scalar::kF64;

struct Pin {
  const char* paths;  // permitted, next to portable
  KernelQuery query;
  const char* kernel;
  bool swap_sides;
};

void ExpectPins(const std::vector<Pin>& pins) {
  int pinned = 0;
  for (const Pin& pin : pins) {
    const Path permitted = ParsePaths(pin.paths).value();
    // The table is for compilers that build all of a line's paths.
    if ((permitted & ~CompiledPaths()) != Path::kNone) continue;
    ++pinned;
    const KernelChoice choice = SelectKernel(pin.query, permitted);
    const std::string what =
        std::string(pin.paths) + ": " + ScalarName(pin.query.scalar.lhs) +
        " x " + ScalarName(pin.query.scalar.rhs) + " " +
        std::to_string(pin.query.rows) + "x" + std::to_string(pin.query.depth) +
        "x" + std::to_string(pin.query.cols) +
        (pin.query.dst_col_major ? "" : ", dst row-major");
    ASSERT_NE(choice.kernel, nullptr) << what;
    EXPECT_STREQ(choice.kernel->name, pin.kernel) << what;
    EXPECT_EQ(choice.swap_sides, pin.swap_sides) << what;
  }
  if (pinned != 0) return;
#if defined(__x86_64__)
  FAIL() << "pinned nothing: of no line all paths are compiled";
#else
  GTEST_SKIP() << "these paths are for another processor";
#endif
}

constexpr char kUpToAvx512Vnni[] = "avx2,avxvnni,avx512,avx512vnni";
constexpr char kAll[] = "avx2,avxvnni,avx512,avx512vnni,amx";

TEST(SelectKernelTest, BestPathOfEachMachine) {
  const KernelQuery int8 = MakeQuery(kI8, kI8, 100, 100, 100);
  const KernelQuery floats = MakeQuery(kF32, kF32, 100, 100, 100);
  ExpectPins({
      {"portable", int8, "Portable_S8S8_4x4x1", false},
      {"avx2", int8, "Avx2_S8W16_16x6x2", false},
      {"avx2,avxvnni", int8, "AvxVnni_S8U8_16x6x4", false},
      {"avx2,avx512", int8, "Avx512_S8W16_48x8x2", false},
      {"avx2,avx512,avx512vnni", int8, "Avx512Vnni_S8U8_48x8x4", false},
      {kUpToAvx512Vnni, int8, "Avx512Vnni_S8U8_48x8x4", false},
      {kAll, int8, "Amx_S8S8InPlace_32x32x64", false},
      {"portable", floats, "Portable_F32F32_4x4x1", false},
      {"avx2", floats, "Avx2_F32F32InPlace_16x6x1", false},
      {"avx2,avxvnni", floats, "Avx2_F32F32InPlace_16x6x1", false},
      {"avx2,avx512", floats, "Avx512_F32F32InPlace_48x8x1", false},
      {kAll, floats, "Avx512_F32F32InPlace_48x8x1", false},
  });
}

TEST(SelectKernelTest, EveryFamily) {
  const KernelQuery by16 = MakeQuery(kI8, kI16, 100, 100, 100);
  const KernelQuery of16 = MakeQuery(kI16, kI8, 100, 100, 100);
  const KernelQuery doubles = MakeQuery(kF64, kF32, 100, 100, 100);
  ExpectPins({
      {"portable", by16, "Portable_S8S16_4x4x1", false},
      {"avx2", by16, "Avx2_S8S16_16x6x2", false},
      {"avx2,avxvnni", by16, "AvxVnni_S8S16_16x6x2", false},
      {"avx2,avx512", by16, "Avx512_S8S16_48x8x2", false},
      {kAll, by16, "Avx512Vnni_S8S16_48x8x2", false},
      {"portable", of16, "Portable_S16S8_4x4x1", false},
      {"avx2", of16, "Avx2_S16W16_16x6x2", false},
      {"avx2,avxvnni", of16, "AvxVnni_S16W16_16x6x2", false},
      {"avx2,avx512", of16, "Avx512_S16W16_48x8x2", false},
      {kAll, of16, "Avx512Vnni_S16W16_48x8x2", false},
      {"portable", doubles, "Portable_F64F64_4x4x1", false},
      {kAll, doubles, "Portable_F64F64_4x4x1", false},
  });
}

// A path that is permitted alone uses the lower ones that it includes.
TEST(SelectKernelTest, InheritedKernels) {
  const KernelQuery floats = MakeQuery(kF32, kF32, 100, 100, 100);
  ExpectPins({
      {"avxvnni", floats, "Avx2_F32F32InPlace_16x6x1", false},
      {"avx512vnni", floats, "Avx512_F32F32InPlace_48x8x1", false},
      {"amx", floats, "Avx512_F32F32InPlace_48x8x1", false},
      {"amx", MakeQuery(kI8, kI16, 99, 99, 99), "Avx512Vnni_S8S16_48x8x2",
       false},
  });
}

// Kernels write columns: a row-major dst is its transpose, column-major.
TEST(SelectKernelTest, RowMajorDstSwapsTheSides) {
  ExpectPins({
      {"avx512vnni", MakeQuery(kI8, kI8, 100, 100, 100, kRow, kCol, kRow),
       "Avx512Vnni_S8U8_48x8x4", true},
      {"avx512vnni", MakeQuery(kI8, kI16, 100, 100, 100, kRow, kCol, kRow),
       "Avx512Vnni_S16W16_48x8x2", true},
      {"avx512vnni", MakeQuery(kI16, kI8, 100, 100, 100, kRow, kCol, kRow),
       "Avx512Vnni_S8S16_48x8x2", true},
      {"avx2", MakeQuery(kF32, kF32, 100, 100, 100, kRow, kCol, kRow),
       "Avx2_F32F32InPlace_16x6x1", true},
  });
}

// AMX reads an rhs in place that is contiguous along depth, of either sign.
TEST(SelectKernelTest, AmxReadsTheRhsInPlaceIfItCan) {
  KernelQuery cached = MakeQuery(kI8, kI8, 100, 100, 100);
  cached.cached.rhs = true;
  KernelQuery cached_row_major = cached;
  cached_row_major.dst_col_major = false;
  KernelQuery cached_lhs = MakeQuery(kI8, kI8, 100, 100, 100, kRow, kCol, kRow);
  cached_lhs.cached.lhs = true;
  KernelQuery cached_by_rows = MakeQuery(kI8, kI8, 100, 100, 100, kCol);
  cached_by_rows.cached.rhs = true;
  ExpectPins({
      {"amx", MakeQuery(kI8, kI8, 100, 100, 100), "Amx_S8S8InPlace_32x32x64",
       false},
      {"amx", MakeQuery(kI8, kU8, 100, 100, 100), "Amx_S8U8InPlace_32x32x64",
       false},
      {"amx", MakeQuery(kU8, kU8, 100, 100, 100), "Amx_S8U8InPlace_32x32x64",
       false},
      {"amx", MakeQuery(kI8, kI8, 100, 100, 100, kRow, kRow),
       "Amx_S8S8_32x32x64", false},
      {"amx", MakeQuery(kI8, kI8, 100, 0, 100), "Amx_S8S8_32x32x64", false},
      // What is kept is the lhs, for either order of dst.
      {"amx", cached, "Amx_S8S8InPlace_32x32x64", true},
      {"amx", cached_row_major, "Amx_S8S8InPlace_32x32x64", true},
      {"amx", cached_lhs, "Amx_S8S8InPlace_32x32x64", false},
      {"amx", cached_by_rows, "Amx_S8S8_32x32x64", true},
      // Swapped, the lhs is the one on the right.
      {"amx", MakeQuery(kU8, kI8, 100, 100, 100, kRow, kCol, kRow),
       "Amx_S8U8InPlace_32x32x64", true},
      {"amx", MakeQuery(kI8, kI8, 100, 100, 100, kCol, kCol, kRow),
       "Amx_S8S8_32x32x64", true},
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
    return MakeQuery(kI8, kI8, rows, depth, cols);
  };
  ExpectPins({
      {kAll, product(16, 16, 16), kVnni, false},
      {kAll, product(20, 40, 20), kVnni, false},
      {kAll, product(16, 64, 16), kVnni, false},
      {kAll, product(32, 24, 32), kVnni, false},
      {kAll, product(32, 32, 32), kTiles, false},
      {kAll, product(33, 32, 33), kVnni, false},
      {kAll, product(48, 48, 48), kVnni, false},
      {kAll, product(48, 96, 48), kTiles, false},
      {kAll, product(64, 16, 64), kVnni, false},
      {kAll, product(64, 32, 64), kTiles, false},
      {kAll, product(64, 64, 64), kTiles, false},
      {kAll, product(96, 96, 96), kTiles, false},
      {kAll, product(128, 128, 128), kTiles, false},
      {kAll, product(32, 256, 32), kTiles, false},
      {kAll, product(512, 32, 512), kTiles, false},
      {kAll, product(512, 64, 512), kTiles, false},
      {kAll, product(32, 8, 512), kVnni, false},
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
    return MakeQuery(kI8, kI8, rows, depth, cols, kRow, kCol, dst);
  };
  ExpectPins({
      {kAll, product(1024, 1024, 1), kNarrow, false},
      {kAll, product(1024, 1024, 8), kNarrow, false},
      {kAll, product(1024, 1024, 9), kTiles, true},
      {kAll, product(1024, 1024, 12), kTiles, true},
      {kAll, product(1024, 1024, 16), kTiles, true},
      {kAll, product(256, 256, 16), kTiles, true},
      {kAll, product(4, 1024, 1024), kNarrow, true},
      {kAll, product(5, 1024, 1024), kTiles, false},
      {kAll, product(8, 1024, 1024), kTiles, false},
      {kAll, product(12, 1024, 1024), kTiles, false},
      {kAll, product(16, 1024, 1024), kTiles, false},
      {kAll, product(16, 256, 256), kTiles, false},
      // The transposes.
      {kAll, product(8, 1024, 1024, kRow), kNarrow, true},
      {kAll, product(9, 1024, 1024, kRow), kTiles, false},
      {kAll, product(1024, 1024, 4, kRow), kNarrow, false},
      {kAll, product(1024, 1024, 5, kRow), kTiles, true},
      // Too shallow for transposed stores; the wide side would be packed.
      {kAll, product(1024, 128, 16), kNarrow, false},
      // Without AMX all of them are narrow.
      {"avx512vnni", product(1024, 1024, 16), kNarrow, false},
      {"avx512vnni", product(16, 256, 256), kNarrow, true},
  });
}

// The panels of a lhs that is kept are AMX's even where the product is too
// small for tiles, and so are those of a rhs.
TEST(SelectKernelTest, SmallProductsOfAKeptOperandTakeItsPanels) {
  KernelQuery lhs = MakeQuery(kI8, kI8, 50, 40, 3);
  lhs.cached.lhs = true;
  KernelQuery wider = MakeQuery(kI8, kI8, 50, 40, 8);
  wider.cached.lhs = true;
  KernelQuery rhs = MakeQuery(kI8, kI8, 8, 40, 50, kRow, kCol, kRow);
  rhs.cached.rhs = true;
  KernelQuery other_rhs = MakeQuery(kI8, kI8, 8, 40, 8);
  other_rhs.cached.rhs = true;
  ExpectPins({
      {"amx", lhs, "Amx_S8U8_64x4x4", false},
      {"amx", wider, "Amx_S8U8_48x8x4", false},
      {"amx", rhs, "Amx_S8U8_48x8x4", true},
      {"amx", other_rhs, "Amx_S8U8_48x8x4", true},
      {"amx", MakeQuery(kI8, kI8, 50, 40, 8), "Avx512Vnni_S8InPlaceU8_16x16x16",
       false},
  });
}

// The wide lhs in place and dst's transpose, where that saves packing much.
TEST(SelectKernelTest, AmxReadsAWideLhsInPlaceIfDeep) {
  constexpr char kInPlace[] = "Amx_S8S8InPlace_32x32x64";
  const auto bytes = [](std::ptrdiff_t rows, std::ptrdiff_t depth,
                        std::ptrdiff_t cols, MemoryOrder rhs = kCol,
                        MemoryOrder dst = kCol) {
    return MakeQuery(kI8, kI8, rows, depth, cols, kRow, rhs, dst);
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
      {"amx", MakeQuery(kU8, kU8, 768, 768, 128), "Amx_S8U8InPlace_32x32x64",
       true},
      // For a row-major dst that is a wide rhs.
      {"amx", bytes(128, 768, 768, kCol, kRow), kInPlace, false},
      {"amx", bytes(768, 768, 128, kCol, kRow), kInPlace, true},
      // Not if it is shallow, not much wider, or either side is cached.
      {"amx", bytes(768, 255, 128), kInPlace, false},
      {"amx", bytes(255, 768, 128), kInPlace, false},
      {"amx", bytes(128, 768, 768), kInPlace, false},
      {"amx", cached_lhs, kInPlace, false},
      {"amx", cached_rhs, kInPlace, true},
  });
}

// Up to 16 columns (rows) the other side is read in place if it can be, and is
// on the left; the pack routine gives the narrow side the other signedness.
TEST(SelectKernelTest, NarrowProductsReadTheWideSideInPlace) {
  KernelQuery cached = MakeQuery(kI8, kI8, 1000, 500, 4);
  cached.cached.lhs = true;
  ExpectPins({
      {"avx512vnni", MakeQuery(kI8, kI8, 1000, 500, 1),
       "Avx512Vnni_S8InPlaceU8_16x16x16", false},
      {"avx512vnni", MakeQuery(kU8, kI8, 1000, 500, 1),
       "Avx512Vnni_U8InPlaceS8_16x16x16", false},
      {"avx512vnni", MakeQuery(kI8, kI8, 1000, 500, 16),
       "Avx512Vnni_S8InPlaceU8_16x16x16", false},
      {"avx512vnni", MakeQuery(kI8, kI8, 1000, 500, 17),
       "Avx512Vnni_S8U8_48x8x4", false},
      // Narrow on the left: swapped, for either order of dst.
      {"avx512vnni", MakeQuery(kI8, kI8, 4, 500, 1000),
       "Avx512Vnni_S8InPlaceU8_16x16x16", true},
      {"avx512vnni", MakeQuery(kI8, kU8, 4, 500, 1000, kRow, kCol, kRow),
       "Avx512Vnni_U8InPlaceS8_16x16x16", true},
      // Not contiguous along depth, or packed already.
      {"avx512vnni", MakeQuery(kI8, kI8, 1000, 500, 4, kCol),
       "Avx512Vnni_S8U8_64x4x4", false},
      {"avx512vnni", cached, "Avx512Vnni_S8U8_64x4x4", false},
      {"avx512vnni", MakeQuery(kI8, kI16, 1000, 500, 2),
       "Avx512Vnni_S8InPlaceS16_16x16x16", false},
      {"avx512vnni", MakeQuery(kI16, kI8, 1000, 500, 2),
       "Avx512Vnni_S16InPlaceW16_16x16x16", false},
      {"avx512vnni", MakeQuery(kF32, kF32, 1000, 500, 1),
       "Avx512_F32InPlaceF32_16x16x1", false},
      {"avx2", MakeQuery(kI8, kI8, 1000, 500, 1), "Avx2_S8InPlaceW16_16x1x16",
       false},
      {"avx2", MakeQuery(kF32, kF32, 1, 500, 1000),
       "Avx2_F32InPlaceF32_16x18x1", true},
      {"avxvnni", MakeQuery(kI8, kI8, 1000, 500, 1),
       "AvxVnni_S8InPlaceU8_16x16x16", false},
      {"portable", MakeQuery(kI8, kI8, 1000, 500, 1), "Portable_S8S8_4x4x1",
       false},
  });
}

KernelQuery InAnyOrder(KernelQuery query) {
  query.float_sums = FloatSums::kAnyOrder;
  return query;
}

// Up to four columns whose sums may be taken in any order have lanes along
// depth, if the large side can be read in place.
TEST(SelectKernelTest, NarrowProductsInAnyOrder) {
  const auto cols = [](std::ptrdiff_t cols, MemoryOrder rhs = kCol) {
    return InAnyOrder(MakeQuery(kF32, kF32, 1000, 500, cols, kRow, rhs));
  };
  KernelQuery cached = cols(1);
  cached.cached.lhs = true;
  ExpectPins({
      {"avx512", cols(1), "Avx512_F32InPlaceF32InPlace_4x1x16", false},
      {"avx512", cols(2), "Avx512_F32InPlaceF32_4x4x16", false},
      {"avx512", cols(4, kRow), "Avx512_F32InPlaceF32_4x4x16", false},
      {"avx512", cols(5), "Avx512_F32InPlaceF32_16x16x1", false},
      {"amx", cols(1), "Avx512_F32InPlaceF32InPlace_4x1x16", false},
      {"avx2", cols(1), "Avx2_F32InPlaceF32InPlace_4x1x8", false},
      {"avxvnni", cols(4), "Avx2_F32InPlaceF32_4x4x8", false},
      {"portable", cols(1), "Portable_F32F32_4x4x1", false},
      // One row by an operand that is contiguous along depth, and along rows.
      {"avx512", InAnyOrder(MakeQuery(kF32, kF32, 1, 500, 1000)),
       "Avx512_F32InPlaceF32InPlace_4x1x16", true},
      {"avx512",
       InAnyOrder(MakeQuery(kF32, kF32, 3, 500, 1000, kRow, kCol, kRow)),
       "Avx512_F32InPlaceF32_4x4x16", true},
      {"avx512", InAnyOrder(MakeQuery(kF32, kF32, 1, 500, 1000, kRow, kRow)),
       "Avx512_F32ByLevelF32_64x16x1", true},
      {"avx512", cached, "Avx512_F32F32_64x4x1", false},
      {"avx512", InAnyOrder(MakeQuery(kF32, kF32, 100, 100, 100)),
       "Avx512_F32F32InPlace_48x8x1", false},
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
    return MakeQuery(kF32, kF32, rows, depth, cols, lhs, rhs, dst);
  };
  const auto of = [](Scalar lhs, Scalar rhs) {
    return MakeQuery(lhs, rhs, 1000, 500, 96);
  };
  KernelQuery cached_lhs = floats(1000, 500, 48, kRow, kCol, kCol);
  cached_lhs.cached.lhs = true;
  KernelQuery cached_rhs = floats(100, 500, 100, kRow, kCol, kCol);
  cached_rhs.cached.rhs = true;
  ExpectPins({
      {"avx512", floats(100, 500, 100, kCol, kCol, kCol), kInPlace, false},
      {"avx512", floats(100, 500, 100, kRow, kRow, kCol), kPacked, false},
      {"avx512", floats(100, 500, 100, kRow, kRow, kRow), kInPlace, true},
      {"avx512", floats(100, 0, 100, kRow, kCol, kCol), kPacked, false},
      {"avx512", cached_rhs, kPacked, false},
      // 16-bit floats are widened in packing, where they lie as floats would.
      {"avx512", of(Scalar::kBF16, kF32), kInPlace, false},
      {"avx512", of(kF32, Scalar::kBF16), kInPlace, true},
      {"avx512", of(Scalar::kF16, Scalar::kF16), kPacked, false},
      // The wide lhs in place, and dst's transpose.
      {"avx512", floats(1000, 500, 48, kRow, kCol, kCol), kInPlace, true},
      {"avx512", floats(1000, 500, 48, kRow, kRow, kCol), kInPlace, true},
      // Not if it is shallow, not much wider, packed already, or if more is
      // lost on the other side's padding.
      {"avx512", floats(1000, 100, 48, kRow, kCol, kCol), kInPlace, false},
      {"avx512", floats(90, 500, 48, kRow, kCol, kCol), kInPlace, false},
      {"avx512", cached_lhs, kInPlace, false},
      {"avx512", floats(1000, 500, 49, kRow, kCol, kCol), kInPlace, false},
  });
}

KernelQuery WithCachedLhs(KernelQuery query) {
  query.cached.lhs = true;
  return query;
}

// For a few columns a packed large side has a kernel of its own, if its panels
// are those of the path's wide kernel.
// An operand whose rows (or, with sides swapped, columns) are contiguous is
// read as it lies by a product of few columns.
TEST(SelectKernelTest, NarrowProductsByLevel) {
  const auto cols = [](Scalar lhs, Scalar rhs, std::ptrdiff_t cols) {
    return MakeQuery(lhs, rhs, 1000, 500, cols, kCol);
  };
  const auto one_row = [](Scalar type) {
    return MakeQuery(type, type, 1, 500, 1000, kRow, kRow, kRow);
  };
  ExpectPins({
      {"avx512", cols(kF32, kF32, 1), "Avx512_F32ByLevelF32_64x16x1", false},
      {"avx512", cols(Scalar::kF16, kF32, 1), "Avx512_F32F32_64x4x1", false},
      {"avx512", one_row(kF32), "Avx512_F32ByLevelF32_64x16x1", true},
      {"avx2", cols(kF32, kF32, 1), "Avx2_F32ByLevelF32_64x16x1", false},
      {"avx2", cols(kF32, kF32, 16), "Avx2_F32ByLevelF32_64x16x1", false},
      {"avx2", one_row(kF32), "Avx2_F32ByLevelF32_64x16x1", true},
      {"avx2", WithCachedLhs(cols(kF32, kF32, 1)), "Avx2_F32F32_32x2x1", false},
      {"avx512vnni", cols(kI8, kU8, 1), "Avx512Vnni_S8ByLevelU8_64x2x1", false},
      {"avx512vnni", cols(kU8, kI8, 2), "Avx512Vnni_U8ByLevelS8_64x2x1", false},
      {"avx512vnni", one_row(kI8), "Avx512Vnni_S8ByLevelU8_64x2x1", true},
      {"avx512vnni", cols(kI8, kI8, 3), "Avx512Vnni_S8U8_64x4x4", false},
      {"avxvnni", cols(kI8, kU8, 2), "AvxVnni_S8ByLevelU8_32x2x1", false},
      {"avxvnni", cols(kU8, kI8, 1), "AvxVnni_U8ByLevelS8_32x2x1", false},
      {"avx512", one_row(kI8), "Avx512_S8ByLevelW16_32x2x1", true},
      {"avx512", cols(kU8, kI8, 2), "Avx512_U8ByLevelW16_32x2x1", false},
      {"avx2", one_row(kI8), "Avx2_S8ByLevelW16_16x2x1", true},
      {"avx2", cols(kU8, kU8, 2), "Avx2_U8ByLevelW16_16x2x1", false},
      {"avx2", cols(kI8, kI8, 3), "Avx2_S8W16_16x6x2", false},
  });
}

TEST(SelectKernelTest, NarrowProductsOfAPackedSide) {
  const auto cached = [](Scalar lhs, Scalar rhs, std::ptrdiff_t cols) {
    return WithCachedLhs(MakeQuery(lhs, rhs, 1000, 500, cols));
  };
  KernelQuery swapped = MakeQuery(kI8, kI8, 1, 500, 1000);
  swapped.cached.rhs = true;
  ExpectPins({
      {"avx512vnni", cached(kI8, kI8, 1), "Avx512Vnni_S8U8_64x4x4", false},
      {"avx512vnni", cached(kU8, kU8, 4), "Avx512Vnni_S8U8_64x4x4", false},
      {"avx512vnni", cached(kI8, kI8, 5), "Avx512Vnni_S8U8_48x8x4", false},
      {"avx512vnni", swapped, "Avx512Vnni_S8U8_64x4x4", true},
      {"avx512vnni", cached(kI8, kI16, 1), "Avx512Vnni_S8S16_64x4x2", false},
      {"avx512vnni", cached(kI16, kI8, 1), "Avx512Vnni_S16W16_64x4x2", false},
      {"avx512vnni", cached(kF32, kF32, 1), "Avx512_F32F32_64x4x1", false},
      {"avx512", cached(kI8, kI8, 1), "Avx512_S8W16_64x4x2", false},
      {"avxvnni", cached(kI8, kI8, 2), "AvxVnni_S8U8_32x2x4", false},
      {"avxvnni", cached(kI8, kI8, 3), "AvxVnni_S8U8_16x6x4", false},
      {"avxvnni", cached(kF32, kF32, 1), "Avx2_F32F32_32x2x1", false},
      {"avx2", cached(kI8, kI8, 1), "Avx2_S8W16_32x2x2", false},
      // The same on AMX's panels.
      {"amx", cached(kI8, kI8, 1), "Amx_S8U8_64x4x4", false},
      {"amx", cached(kI8, kI8, 4), "Amx_S8U8_64x4x4", false},
      {"amx", cached(kI8, kI8, 5), "Amx_S8S8InPlace_32x32x64", false},
      {"amx", cached(kF32, kF32, 1), "Avx512_F32F32_64x4x1", false},
      {"portable", cached(kI8, kI8, 1), "Portable_S8S8_4x4x1", false},
  });
}

// So that one cached operand, or one packed ahead, serves every width.
TEST(SelectKernelTest, APackedLargeSideLooksTheSameToEveryKernel) {
  for (const Path path : PathsBestFirst(CompiledPaths())) {
    for (const auto& [lhs, rhs] :
         {std::pair(kI8, kI8), std::pair(kI8, kI16), std::pair(kI16, kI8),
          std::pair(kF32, kF32)}) {
      const KernelQuery wide =
          WithCachedLhs(MakeQuery(lhs, rhs, 1000, 500, 100));
      const KernelChoice ahead = SelectKernelToPackFor(
          wide.family, path, Side::kLhs, ValueRange::kFull, ValueRange::kFull);
      ASSERT_NE(ahead.kernel, nullptr);
      const PackedLayout layout = LayoutFor(ahead, Side::kLhs, Side::kLhs);
      for (const std::ptrdiff_t cols : {1, 2, 3, 4, 5, 16, 17, 100}) {
        const KernelQuery query =
            WithCachedLhs(MakeQuery(lhs, rhs, 1000, 500, cols));
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

// Arm's paths: what is not a path's own is inherited, above all the narrow
// kernels of bytes, whose lanes SDOT fills where SMMLA would leave half empty.
TEST(SelectKernelTest, ArmPaths) {
  if ((CompiledPaths() & Path::kNeon) == Path::kNone) {
    GTEST_SKIP() << "not an Arm";
  }
  constexpr char kDot[] = "neon,neondot";
  constexpr char kAllArm[] = "neon,neondot,neoni8mm";
  const KernelQuery int8 = MakeQuery(kI8, kI8, 100, 100, 100);
  const KernelQuery uint8 = MakeQuery(kU8, kI8, 100, 100, 100);
  const KernelQuery floats = MakeQuery(kF32, kF32, 100, 100, 100);
  const auto column = [](Scalar lhs, Scalar rhs) {
    return MakeQuery(lhs, rhs, 1000, 500, 1);
  };
  const auto by_level = [](Scalar lhs, Scalar rhs, std::ptrdiff_t cols) {
    return MakeQuery(lhs, rhs, 1000, 500, cols, kCol);
  };
  ExpectPins({
      {"neon", int8, "Neon_S8S8_4x4x16", false},
      {kDot, int8, "NeonDot_S8S8_12x8x4", false},
      {kAllArm, int8, "NeonI8mm_S8S8_12x8x8", false},
      {kAllArm, uint8, "NeonI8mm_S8S8_12x8x8", false},
      {kAllArm, MakeQuery(kI8, kI8, 100, 100, 100, kRow, kCol, kRow),
       "NeonI8mm_S8S8_12x8x8", true},
      // A rhs that few rows read is not packed.
      {kDot, MakeQuery(kI8, kI8, 32, 32, 32), "NeonDot_S8S8InPlace_8x8x4",
       false},
      {kDot, MakeQuery(kU8, kI8, 32, 32, 32), "NeonDot_S8S8InPlace_8x8x4",
       false},
      {kDot, MakeQuery(kI8, kU8, 32, 32, 32), "NeonDot_S8S8_12x8x4", false},
      {kDot, MakeQuery(kI8, kI8, 33, 32, 32), "NeonDot_S8S8_12x8x4", false},
      {kAllArm, MakeQuery(kI8, kI8, 16, 32, 16), "NeonI8mm_S8S8InPlace_8x8x8",
       false},
      {kAllArm, MakeQuery(kI8, kI8, 17, 32, 17), "NeonI8mm_S8S8_12x8x8", false},
      {"neon", floats, "Neon_F32F32_12x8x1", false},
      {"neoni8mm", floats, "Neon_F32F32_12x8x1", false},
      {kAllArm, MakeQuery(kI8, kI16, 100, 100, 100), "Neon_W16S16_12x8x1",
       false},
      {kAllArm, MakeQuery(kI16, kI8, 100, 100, 100), "Neon_S16W16_12x8x1",
       false},
      {kAllArm, MakeQuery(kF64, kF32, 100, 100, 100), "Portable_F64F64_4x4x1",
       false},
      {"neon", column(kI8, kI8), "Neon_S8InPlaceS8InPlace_4x1x64", false},
      {"neon", column(kU8, kU8), "Neon_U8InPlaceU8InPlace_4x1x16", false},
      {"neon", column(kU8, kI8), "Neon_U8InPlaceU8_16x3x16", false},
      {kDot, column(kI8, kU8), "NeonDot_S8InPlaceS8_16x4x16", false},
      {kAllArm, column(kI8, kI8), "NeonDot_S8InPlaceS8InPlace_4x1x16", false},
      {kAllArm, column(kU8, kU8), "NeonDot_U8InPlaceU8InPlace_4x1x16", false},
      {kAllArm, column(kF32, kF32), "Neon_F32InPlaceF32_8x8x1", false},
      {kAllArm, MakeQuery(kF32, kF32, 8, 500, 1000), "Neon_F32InPlaceF32_8x8x1",
       true},
      {kAllArm, MakeQuery(kF32, kF32, 9, 500, 1000), "Neon_F32F32InPlace_8x8x1",
       false},
      {kAllArm, MakeQuery(kF32, kF32, 32, 32, 32), "Neon_F32F32InPlace_8x8x1",
       false},
      {kAllArm, MakeQuery(kF32, kF32, 32, 32, 32, kRow, kRow, kCol),
       "Neon_F32F32_12x8x1", false},
      {kAllArm, MakeQuery(kF32, kF32, 33, 32, 32), "Neon_F32F32_12x8x1", false},
      {kAllArm, column(kI8, kI16), "Neon_S8InPlaceS16_16x16x8", false},
      {kAllArm, column(kI16, kI8), "Neon_S16InPlaceW16_16x16x8", false},
      // Contiguous along its rows.
      {"neon", by_level(kI8, kU8, 1), "Neon_S8ByLevelS8_16x2x1", false},
      {"neon", by_level(kU8, kU8, 2), "Neon_U8ByLevelU8_16x2x1", false},
      {kDot, by_level(kI8, kI8, 1), "NeonDot_S8ByLevelS8_16x2x1", false},
      {kAllArm, by_level(kU8, kI8, 2), "NeonDot_U8ByLevelU8_16x2x1", false},
      {kAllArm, by_level(kI8, kI8, 3), "NeonI8mm_S8S8_12x8x8", false},
      {kAllArm, by_level(kF32, kF32, 1), "Neon_F32ByLevelF32_64x4x1", false},
      {kAllArm, by_level(kF32, kF32, 5), "Neon_F32F32_12x8x1", false},
      // A few columns, up to where packing takes fewer instructions.
      {"neon", MakeQuery(kI8, kI8, 256, 256, 3), "Neon_S8InPlaceS8_16x3x16",
       false},
      {"neon", MakeQuery(kI8, kI8, 256, 256, 4), "Neon_S8S8_4x4x16", false},
      {"neon", MakeQuery(kU8, kU8, 256, 256, 3), "Neon_U8InPlaceU8_16x3x16",
       false},
      {"neon", MakeQuery(kU8, kU8, 256, 256, 4), "Neon_S8S8_4x4x16", false},
      {kDot, MakeQuery(kI8, kI8, 256, 256, 4), "NeonDot_S8InPlaceS8_16x4x16",
       false},
      {kDot, MakeQuery(kI8, kI8, 256, 256, 5), "NeonDot_S8S8_12x8x4", false},
      {kDot, MakeQuery(kU8, kU8, 256, 256, 4), "NeonDot_U8InPlaceU8_16x4x16",
       false},
      {kDot, MakeQuery(kU8, kU8, 256, 256, 5), "NeonDot_S8S8_12x8x4", false},
      // Nor is a deep product turned round for the sake of its rhs in place.
      {kDot, MakeQuery(kI8, kI8, 256, 256, 32), "NeonDot_S8S8_12x8x4", false},
      {kAllArm, MakeQuery(kI8, kI8, 256, 256, 16), "NeonI8mm_S8S8_12x8x8",
       false},
      // Packed before: with the wide kernels' panels.
      {"neon", WithCachedLhs(column(kI8, kI8)), "Neon_S8S8_4x2x16", false},
      {kDot, WithCachedLhs(column(kI8, kI8)), "NeonDot_S8S8_16x4x4", false},
      {kAllArm, WithCachedLhs(column(kI8, kI8)), "NeonI8mm_S8S8_12x8x8", false},
      {kAllArm, WithCachedLhs(column(kF32, kF32)), "Neon_F32F32_16x2x1", false},
      {kAllArm, InAnyOrder(column(kF32, kF32)),
       "Neon_F32InPlaceF32InPlace_4x1x4", false},
  });
}

// ## Properties of every choice

// All that a query can differ in, over a few sizes.
std::vector<KernelQuery> ManyQueries() {
  constexpr Scalar kPairs[][2] = {{kI8, kI8},  {kI8, kU8},  {kU8, kU8},
                                  {kI8, kI16}, {kI16, kI8}, {kF32, kF32},
                                  {kF32, kF64}};
  constexpr std::ptrdiff_t kSizes[] = {1, 2, 4, 8, 16, 33, 200};
  std::vector<KernelQuery> queries;
  for (const auto& pair : kPairs) {
    for (const std::ptrdiff_t rows : kSizes) {
      for (const std::ptrdiff_t cols : kSizes) {
        for (const std::ptrdiff_t depth : {0, 1, 300}) {
          for (int bits = 0; bits < 32; ++bits) {
            KernelQuery query = MakeQuery(
                pair[0], pair[1], rows, depth, cols, bits & 1 ? kRow : kCol,
                bits & 2 ? kRow : kCol, bits & 4 ? kRow : kCol);
            query.cached = {(bits & 8) != 0, (bits & 16) != 0};
            queries.push_back(query);
          }
        }
      }
    }
  }
  return queries;
}

TEST(SelectKernelTest, AChoiceIsPermittedAndApplies) {
  for (const Path path : PathsBestFirst(CompiledPaths())) {
    for (const KernelQuery& query : ManyQueries()) {
      const KernelChoice choice = SelectKernel(query, path | Path::kPortable);
      ASSERT_NE(choice.kernel, nullptr);
      EXPECT_NE(choice.path & (path | Path::kPortable), Path::kNone);
      ASSERT_EQ(WhyNot(*choice.kernel, query, choice.swap_sides), "");
    }
  }
}

// The transposed problem is the same one.
TEST(SelectKernelTest, TheTransposeTakesTheSameKernel) {
  for (const Path path : PathsBestFirst(CompiledPaths())) {
    for (const KernelQuery& query : ManyQueries()) {
      // Either side of a square problem may be the right one.
      if (query.rows == query.cols) continue;
      KernelQuery transpose =
          MakeQuery(query.scalar.rhs, query.scalar.lhs, query.cols, query.depth,
                    query.rows, query.depth_contiguous.rhs ? kRow : kCol,
                    query.depth_contiguous.lhs ? kCol : kRow,
                    query.dst_col_major ? kRow : kCol);
      transpose.cached = {query.cached.rhs, query.cached.lhs};
      const Path permitted = path | Path::kPortable;
      const KernelChoice choice = SelectKernel(query, permitted);
      const KernelChoice other = SelectKernel(transpose, permitted);
      ASSERT_EQ(choice.kernel, other.kernel)
          << choice.kernel->name << " and " << other.kernel->name;
      ASSERT_NE(choice.swap_sides, other.swap_sides) << choice.kernel->name;
    }
  }
}

TEST(WhyNotTest, TellsWhy) {
  const KernelChoice choice =
      SelectKernel(MakeQuery(kF32, kF32, 50, 50, 50), Path::kPortable);
  ASSERT_NE(choice.kernel, nullptr);
  EXPECT_NE(WhyNot(*choice.kernel, MakeQuery(kI8, kI8, 50, 50, 50), false), "");
  EXPECT_EQ(WhyNot(*choice.kernel, MakeQuery(kF32, kF32, 9, 9, 9), false), "");
  EXPECT_NE(WhyNot(*choice.kernel,
                   MakeQuery(kF32, kF32, 9, 9, 9, kRow, kCol, kRow), false),
            "");
}

}  // namespace
}  // namespace ruy_like
