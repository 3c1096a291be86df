// Which kernel is chosen, pinned by tables that hold on any machine; and what
// the paths' kernel tables must look like. Kernels for few columns or rows, and
// AMX, have files of their own: narrow_selection_test.cc, amx_cost_test.cc.
#include "ruy_like/registry/registry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ruy_like/path.h"
#include "test/registry/kernel_pins.h"

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
        if (kernel.family == Family::kGroupScaled) {
          if (&format == &kernel.rhs) {
            return std::string(format.scalar == Scalar::kI16  ? "W16"
                               : kernel.max_table_span == 254 ? "M8"
                                                              : "S8");
          }
          return absl::StrCat(kernel.packed_lhs->by_table ? "T" : "G",
                              kernel.packed_lhs->code_bits,
                              kernel.pack_lhs != nullptr ? "W8" : "");
        }
        return name + (format.by_depth   ? "ByDepth"
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
          << name << " should be " << start << "x<dot width>";
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
      const bool is_small = kernel.kind == KernelKind::kBothInPlace;
      const bool has_groups = kernel.family == Family::kGroupScaled;
      EXPECT_EQ(has_groups, kernel.packed_lhs != nullptr);
      if (!has_groups) {
        EXPECT_EQ(is_narrow || is_small, kernel.max_cols != kernels::kNoLimit);
      }
      EXPECT_EQ(kernel.lhs.in_place,
                is_small || kernel.kind == KernelKind::kNarrowInPlace);
      // A lone column may be read in place along with the lhs.
      EXPECT_EQ(kernel.rhs.in_place,
                kernel.kind == KernelKind::kRhsInPlace ||
                    (kernel.lhs.in_place && kernel.pack_rhs == nullptr));
      EXPECT_TRUE(!kernel.lhs.in_place || !kernel.rhs.in_place || is_small ||
                  kernel.max_cols == 1);
      // Weights with group scales may be read as they are packed.
      EXPECT_TRUE((kernel.pack_lhs == nullptr) == kernel.lhs.in_place ||
                  has_groups);
      EXPECT_EQ(kernel.pack_rhs == nullptr, kernel.rhs.in_place);
      for (const PanelFormat* format : {&kernel.lhs, &kernel.rhs}) {
        if (format->in_place) continue;
        const int tile =
            format == &kernel.lhs ? kernel.tile_rows : kernel.tile_cols;
        EXPECT_GT(format->width, 0);
        EXPECT_EQ(tile % format->width, 0) << "tiles are whole panels";
        EXPECT_GT(format->dot_width, 0);
        EXPECT_EQ(format->depth_multiple % format->dot_width, 0);
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

TEST(SelectKernelTest, BestPathOfEachMachine) {
  const KernelQuery int8 = Bytes(100, 100, 100);
  const KernelQuery floats = Query(kF32, kF32, 100, 100, 100);
  ExpectPins({
      {"portable", int8, "Portable_S8S8_4x4x1"},
      {"avx2", int8, "Avx2_S8W16_16x6x2"},
      {"avx2,avxvnni", int8, "AvxVnni_S8U8_16x6x4"},
      {"avx2,avx512", int8, "Avx512_S8W16_48x8x2"},
      {"avx2,avx512,avx512vnni", int8, "Avx512Vnni_S8U8_48x8x4"},
      {kUpToAvx512Vnni, int8, "Avx512Vnni_S8U8_48x8x4"},
      {kAll, int8, "Amx_S8S8InPlace_32x32x64"},
      {"portable", floats, "Portable_F32F32_4x4x1"},
      {"avx2", floats, "Avx2_F32F32InPlace_16x6x1"},
      {"avx2,avxvnni", floats, "Avx2_F32F32InPlace_16x6x1"},
      {"avx2,avx512", floats, "Avx512_F32F32InPlace_48x8x1"},
      {kAll, floats, "Avx512_F32F32InPlace_48x8x1"},
  });
}

TEST(SelectKernelTest, EveryFamily) {
  const KernelQuery by16 = Query(kI8, kI16, 100, 100, 100);
  const KernelQuery of16 = Query(kI16, kI8, 100, 100, 100);
  const KernelQuery doubles = Query(kF64, kF32, 100, 100, 100);
  ExpectPins({
      {"portable", by16, "Portable_S8S16_4x4x1"},
      {"avx2", by16, "Avx2_S8S16_16x6x2"},
      {"avx2,avxvnni", by16, "AvxVnni_S8S16_16x6x2"},
      {"avx2,avx512", by16, "Avx512_S8S16_48x8x2"},
      {kAll, by16, "Avx512Vnni_S8S16_48x8x2"},
      {"portable", of16, "Portable_S16S8_4x4x1"},
      {"avx2", of16, "Avx2_S16W16_16x6x2"},
      {"avx2,avxvnni", of16, "AvxVnni_S16W16_16x6x2"},
      {"avx2,avx512", of16, "Avx512_S16W16_48x8x2"},
      {kAll, of16, "Avx512Vnni_S16W16_48x8x2"},
      {"portable", doubles, "Portable_F64F64_4x4x1"},
      {kAll, doubles, "Portable_F64F64_4x4x1"},
  });
}

// A path that is permitted alone uses the lower ones that it includes.
TEST(SelectKernelTest, InheritedKernels) {
  const KernelQuery floats = Query(kF32, kF32, 100, 100, 100);
  ExpectPins({
      {"avxvnni", floats, "Avx2_F32F32InPlace_16x6x1"},
      {"avx512vnni", floats, "Avx512_F32F32InPlace_48x8x1"},
      {"amx", floats, "Avx512_F32F32InPlace_48x8x1"},
      {"amx", Query(kI8, kI16, 99, 99, 99), "Avx512Vnni_S8S16_48x8x2"},
  });
}

// Kernels write columns: a row-major dst is its transpose, column-major.
TEST(SelectKernelTest, RowMajorDstSwapsTheSides) {
  ExpectPins({
      {"avx512vnni", Query(kI8, kI8, 100, 100, 100, kRow, kCol, kRow),
       "Avx512Vnni_S8U8_48x8x4", true},
      {"avx512vnni", Query(kI8, kI16, 100, 100, 100, kRow, kCol, kRow),
       "Avx512Vnni_S16W16_48x8x2", true},
      {"avx512vnni", Query(kI16, kI8, 100, 100, 100, kRow, kCol, kRow),
       "Avx512Vnni_S8S16_48x8x2", true},
      {"avx2", Query(kF32, kF32, 100, 100, 100, kRow, kCol, kRow),
       "Avx2_F32F32InPlace_16x6x1", true},
  });
}

// Arm's paths: what is not a path's own is inherited, above all the narrow
// kernels of bytes, whose lanes SDOT fills where SMMLA would leave half empty.
TEST(SelectKernelTest, ArmPaths) {
  if ((CompiledPaths() & Path::kNeon) == Path::kNone) {
    GTEST_SKIP() << "not an Arm";
  }
  constexpr char kDot[] = "neon,neondot";
  constexpr char kAllArm[] = "neon,neondot,neoni8mm";
  constexpr char kBf16[] = "NeonBf16_BF16BF16_12x8x4";
  constexpr Scalar kBF16 = Scalar::kBF16;
  const KernelQuery int8 = Bytes(100, 100, 100);
  const KernelQuery uint8 = Query(kU8, kI8, 100, 100, 100);
  const KernelQuery floats = Query(kF32, kF32, 100, 100, 100);
  const auto column = [](Scalar lhs, Scalar rhs) {
    return Query(lhs, rhs, 1000, 500, 1);
  };
  const auto by_depth = [](Scalar lhs, Scalar rhs, std::ptrdiff_t cols) {
    return Query(lhs, rhs, 1000, 500, cols, kCol);
  };
  ExpectPins({
      {"neon", int8, "Neon_S8S8_4x4x16"},
      {kDot, int8, "NeonDot_S8S8_12x8x4"},
      {kAllArm, int8, "NeonI8mm_S8S8_12x8x8"},
      {kAllArm, uint8, "NeonI8mm_S8S8_12x8x8"},
      {kAllArm, Query(kI8, kI8, 100, 100, 100, kRow, kCol, kRow),
       "NeonI8mm_S8S8_12x8x8", true},
      // A rhs that few rows read is not packed.
      {kDot, Bytes(32, 32, 32), "NeonDot_S8S8InPlace_8x8x4"},
      {kDot, Query(kU8, kI8, 32, 32, 32), "NeonDot_S8S8InPlace_8x8x4"},
      {kDot, Query(kI8, kU8, 32, 32, 32), "NeonDot_S8S8_12x8x4"},
      {kDot, Bytes(33, 32, 32), "NeonDot_S8S8_12x8x4"},
      {kAllArm, Bytes(16, 32, 16), "NeonI8mm_S8S8InPlace_8x8x8"},
      {kAllArm, Bytes(17, 32, 17), "NeonI8mm_S8S8_12x8x8"},
      {"neon", floats, "Neon_F32F32_12x8x1"},
      {"neoni8mm", floats, "Neon_F32F32_12x8x1"},
      {"neonbf16", floats, "Neon_F32F32_12x8x1"},
      {"neonbf16", int8, "NeonI8mm_S8S8_12x8x8"},
      // Whatever the number of columns, since it rounds like no other.
      {"neonbf16", Query(kBF16, kBF16, 100, 100, 100), kBf16},
      {"neonbf16", Query(kBF16, kBF16, 100, 100, 100, kRow, kCol, kRow), kBf16,
       true},
      {"neonbf16", column(kBF16, kBF16), kBf16},
      {"neonbf16", InAnyOrder(column(kBF16, kBF16)), kBf16},
      {"neonbf16", WithCachedLhs(column(kBF16, kBF16)), kBf16},
      {"neonbf16", by_depth(kBF16, kBF16, 2), kBf16},
      {"neonbf16", Query(kBF16, kF32, 100, 100, 100), "Neon_F32F32_12x8x1"},
      {"neoni8mm", Query(kBF16, kBF16, 100, 100, 100), "Neon_F32F32_12x8x1"},
      {kAllArm, Query(kI8, kI16, 100, 100, 100), "Neon_W16S16_12x8x1"},
      {kAllArm, Query(kI16, kI8, 100, 100, 100), "Neon_S16W16_12x8x1"},
      {kAllArm, Query(kF64, kF32, 100, 100, 100), "Portable_F64F64_4x4x1"},
      {"neon", column(kI8, kI8), "Neon_S8InPlaceS8InPlace_4x1x64"},
      {"neon", column(kU8, kU8), "Neon_U8InPlaceU8InPlace_4x1x16"},
      {"neon", column(kU8, kI8), "Neon_U8InPlaceU8_16x3x16"},
      {kDot, column(kI8, kU8), "NeonDot_S8InPlaceS8_16x4x16"},
      {kAllArm, column(kI8, kI8), "NeonDot_S8InPlaceS8InPlace_4x1x16"},
      {kAllArm, column(kU8, kU8), "NeonDot_U8InPlaceU8InPlace_4x1x16"},
      {kAllArm, column(kF32, kF32), "Neon_F32InPlaceF32_8x8x1"},
      {kAllArm, Query(kF32, kF32, 2, 500, 1000), "Neon_F32InPlaceF32_8x8x1",
       true},
      {kAllArm, Query(kF32, kF32, 3, 500, 1000), "Neon_F32F32InPlace_8x8x1"},
      {kAllArm, Query(kF32, kF32, 1000, 500, 8), "Neon_F32F32InPlace_8x8x1",
       true},
      {kAllArm, Query(kF32, kF32, 64, 64, 6), "Neon_F32InPlaceF32_8x8x1"},
      {kAllArm, Query(kF32, kF32, 64, 64, 7), "Neon_F32F32_12x8x1"},
      {kAllArm, Query(kF32, kF32, 9, 500, 1000), "Neon_F32F32InPlace_8x8x1"},
      {kAllArm, Query(kF32, kF32, 32, 32, 32), "Neon_F32F32InPlace_8x8x1"},
      {kAllArm, Query(kF32, kF32, 32, 32, 32, kRow, kRow, kCol),
       "Neon_F32F32_12x8x1"},
      {kAllArm, Query(kF32, kF32, 33, 32, 32), "Neon_F32F32_12x8x1"},
      {kAllArm, column(kI8, kI16), "Neon_S8InPlaceS16_16x5x8"},
      {kAllArm, column(kI16, kI8), "Neon_S16InPlaceW16_16x5x8"},
      // Contiguous along its rows.
      {"neon", by_depth(kI8, kU8, 1), "Neon_S8ByDepthS8_16x2x1"},
      {"neon", by_depth(kU8, kU8, 2), "Neon_U8ByDepthU8_16x2x1"},
      {kDot, by_depth(kI8, kI8, 1), "NeonDot_S8ByDepthS8_16x2x1"},
      {kAllArm, by_depth(kU8, kI8, 2), "NeonDot_U8ByDepthU8_16x2x1"},
      {kAllArm, by_depth(kI8, kI8, 3), "NeonI8mm_S8S8_12x8x8"},
      {kAllArm, by_depth(kF32, kF32, 1), "Neon_F32ByDepthF32_64x4x1"},
      {kAllArm, by_depth(kF32, kF32, 5), "Neon_F32F32_12x8x1"},
      // A few columns, up to where packing takes fewer instructions.
      {"neon", Bytes(256, 256, 3), "Neon_S8InPlaceS8_16x3x16"},
      {"neon", Bytes(256, 256, 4), "Neon_S8S8_4x4x16"},
      {"neon", Query(kU8, kU8, 256, 256, 3), "Neon_U8InPlaceU8_16x3x16"},
      {"neon", Query(kU8, kU8, 256, 256, 4), "Neon_S8S8_4x4x16"},
      {kDot, Bytes(256, 256, 4), "NeonDot_S8InPlaceS8_16x4x16"},
      {kDot, Bytes(256, 256, 5), "NeonDot_S8S8_12x8x4"},
      {kDot, Query(kU8, kU8, 256, 256, 4), "NeonDot_U8InPlaceU8_16x4x16"},
      {kDot, Query(kU8, kU8, 256, 256, 5), "NeonDot_S8S8_12x8x4"},
      {kAllArm, Bytes(256, 256, 3), "NeonDot_S8InPlaceS8_16x4x16"},
      {kAllArm, Bytes(256, 256, 4), "NeonI8mm_S8S8_12x8x8"},
      {"neonbf16", Bytes(256, 256, 4), "NeonI8mm_S8S8_12x8x8"},
      {kAllArm, Query(kU8, kU8, 256, 256, 4), "NeonI8mm_S8S8_12x8x8"},
      // A few rows, by tiles that read the other side in place.
      {kDot, Bytes(2, 256, 256), "NeonDot_S8InPlaceS8_16x4x16", true},
      {kDot, Bytes(3, 256, 256), "NeonDot_S8S8InPlace_8x8x4"},
      {kAllArm, Bytes(2, 256, 256), "NeonI8mm_S8S8InPlace_8x8x8"},
      // Only a deep product is turned round for the sake of its rhs in place.
      {kAllArm, Bytes(256, 1024, 4), "NeonI8mm_S8S8InPlace_8x8x8", true},
      {kDot, Bytes(256, 256, 32), "NeonDot_S8S8_12x8x4"},
      {kAllArm, Bytes(256, 256, 16), "NeonI8mm_S8S8_12x8x8"},
      // Packed before: with the wide kernels' panels.
      {"neon", WithCachedLhs(column(kI8, kI8)), "Neon_S8S8_4x2x16"},
      {kDot, WithCachedLhs(column(kI8, kI8)), "NeonDot_S8S8_16x1x4"},
      {kAllArm, WithCachedLhs(column(kI8, kI8)), "NeonI8mm_S8S8_12x8x8"},
      {kAllArm, WithCachedLhs(column(kF32, kF32)), "Neon_F32F32_16x2x1"},
      {kAllArm, InAnyOrder(column(kF32, kF32)),
       "Neon_F32InPlaceF32InPlace_4x1x4"},
  });
}

// 32-bit Arm: 64-bit Arm's kernels, with tiles for half as many registers.
TEST(SelectKernelTest, Arm32Path) {
  if ((CompiledPaths() & Path::kNeon32) == Path::kNone) {
    GTEST_SKIP() << "not a 32-bit Arm";
  }
  constexpr char kPath[] = "neon32";
  ExpectPins({
      {kPath, Bytes(100, 100, 100), "Neon32_S8S8_4x4x16"},
      {kPath, Query(kU8, kI8, 100, 100, 100), "Neon32_S8S8_4x4x16"},
      {kPath, Query(kI8, kI16, 100, 100, 100), "Neon32_W16S16_12x4x1"},
      {kPath, Query(kI16, kI8, 100, 100, 100), "Neon32_S16W16_12x4x1"},
      {kPath, Query(kF32, kF32, 100, 100, 100), "Neon32_F32F32_12x4x1"},
      {kPath, Bytes(1000, 500, 1), "Neon32_S8InPlaceS8InPlace_4x1x16"},
      {kPath, Query(kU8, kU8, 1000, 500, 1),
       "Neon32_U8InPlaceU8InPlace_4x1x16"},
      {kPath, Query(kI8, kU8, 1000, 500, 1), "Neon32_S8InPlaceS8_16x2x16"},
      {kPath, Query(kF32, kF32, 1000, 500, 3), "Neon32_F32InPlaceF32_8x3x1"},
      {kPath, Query(kF32, kF32, 1000, 500, 4), "Neon32_F32F32_12x4x1"},
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
            KernelQuery query = Query(
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

TEST(SelectKernelTest, AChoiceIsPermitted) {
  for (const Path path : PathsBestFirst(CompiledPaths())) {
    for (const KernelQuery& query : ManyQueries()) {
      const KernelChoice choice = SelectKernel(query, path | Path::kPortable);
      ASSERT_NE(choice.kernel, nullptr);
      EXPECT_NE(choice.path & (path | Path::kPortable), Path::kNone);
    }
  }
}

// Hence builds for one machine leave these paths out (cmake/Paths.cmake).
TEST(SelectKernelTest, PathsTakeNoKernelsOfNarrowerVectors) {
  std::vector<KernelQuery> queries = ManyQueries();
  for (const KernelQuery& query : ManyQueries()) {
    if (query.scalar.lhs != kF32 || query.scalar.rhs != kF32) continue;
    for (const Scalar scalar : {Scalar::kBF16, Scalar::kF16}) {
      queries.push_back(query);
      queries.back().scalar.lhs = scalar;
      queries.push_back(queries.back());
      queries.back().scalar.rhs = scalar;
    }
  }
  const auto has = [](Path path) {
    return (CompiledPaths() & path) != Path::kNone;
  };
  const auto expect_none_of = [&](const std::vector<Path>& narrower,
                                  Path path) {
    if (!has(path)) return;
    std::vector<std::string> prefixes;
    for (const Path other : narrower) {
      prefixes.push_back(EnumeratorOf(other) + "_");
    }
    // A third of them, for time's sake.
    for (std::size_t i = 0; i < queries.size(); i += 3) {
      for (const FloatSums sums : {FloatSums::kInOrder, FloatSums::kAnyOrder}) {
        queries[i].float_sums = sums;
        const char* const kernel =
            SelectKernel(queries[i], path | Path::kPortable).kernel->name;
        for (const std::string& prefix : prefixes) {
          ASSERT_FALSE(absl::StartsWith(kernel, prefix))
              << PathName(path) << " takes " << kernel;
        }
      }
    }
  };
  // Weights in groups: the form that a narrower path has.
  const auto expect_groups_of = [&](Path narrower, Path path) {
    for (const Kernel& kernel : AllKernelsOf(narrower)) {
      if (kernel.family != Family::kGroupScaled) continue;
      const std::vector<Kernel> kernels = AllKernelsOf(path);
      EXPECT_TRUE(std::any_of(kernels.begin(), kernels.end(),
                              [&](const Kernel& other) {
                                return other.family == kernel.family &&
                                       other.packed_lhs->code_bits ==
                                           kernel.packed_lhs->code_bits &&
                                       other.packed_lhs->by_table ==
                                           kernel.packed_lhs->by_table;
                              }))
          << PathName(path) << " has nothing for " << kernel.name;
    }
  };
  if (has(Path::kAvx2)) {
    expect_none_of({Path::kAvx}, Path::kAvx2);
    expect_none_of({Path::kAvx}, Path::kAvxVnni);
  }
  if (!has(Path::kAvx512)) return;
  const std::vector<Path> narrower = {Path::kAvx, Path::kAvx2, Path::kAvxVnni};
  for (const Path path :
       {Path::kAvx512, Path::kAvx512Vnni, Path::kAvx512Bf16, Path::kAmx}) {
    expect_none_of(narrower, path);
  }
  for (const Path path : narrower) expect_groups_of(path, Path::kAvx512);
}

// The transposed problem is the same one.
TEST(SelectKernelTest, TheTransposeTakesTheSameKernel) {
  for (const Path path : PathsBestFirst(CompiledPaths())) {
    for (const KernelQuery& query : ManyQueries()) {
      // Either side of a square problem may be the right one.
      if (query.rows == query.cols) continue;
      KernelQuery transpose =
          Query(query.scalar.rhs, query.scalar.lhs, query.cols, query.depth,
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

}  // namespace
}  // namespace ruy_like
