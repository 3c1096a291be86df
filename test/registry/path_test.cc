// Tests ruy_like/path.h.
#include "ruy_like/path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "test/support/test_util.h"

namespace ruy_like {
namespace {

using testing::IsEmpty;

TEST(PathTest, PathsAreDistinctBitsInOrderOfRank) {
  EXPECT_EQ(static_cast<uint32_t>(Path::kPortable), 1u);
  EXPECT_EQ(static_cast<uint32_t>(Path::kAvx), 2u);
  uint32_t all = 0;
  uint32_t previous = 0;
#define RUY_LIKE_PATH(Enum, name, arch, features, flags)       \
  {                                                            \
    const uint32_t bit = static_cast<uint32_t>(Path::k##Enum); \
    EXPECT_EQ(bit&(bit - 1), 0u) << #name;                     \
    EXPECT_GT(bit, previous) << #name;                         \
    previous = bit;                                            \
    all |= bit;                                                \
  }
#include "ruy_like/registry/paths.inc"
#undef RUY_LIKE_PATH
  EXPECT_EQ(all, static_cast<uint32_t>(kAllPaths));
}

TEST(PathTest, SetOperators) {
  Path paths = Path::kPortable | Path::kAvx512;
  EXPECT_EQ(paths & Path::kAvx512, Path::kAvx512);
  EXPECT_EQ(paths & Path::kAvx2, Path::kNone);
  EXPECT_EQ(paths & ~Path::kPortable, Path::kAvx512);
  EXPECT_EQ(~Path::kNone, kAllPaths);
  EXPECT_EQ(~kAllPaths, Path::kNone);
  paths |= Path::kAvx2;
  paths &= ~Path::kAvx512;
  EXPECT_EQ(paths, Path::kPortable | Path::kAvx2);
}

TEST(PathTest, CompiledPathsHoldPortable) {
  EXPECT_EQ(CompiledPaths() & Path::kPortable, Path::kPortable);
  EXPECT_EQ(CompiledPaths() & ~kAllPaths, Path::kNone);
}

TEST(PathTest, Rank) {
  EXPECT_THAT(PathsBestFirst(Path::kPortable | Path::kAvx512Vnni | Path::kAvx2),
              ElementsAre(Path::kAvx512Vnni, Path::kAvx2, Path::kPortable));
  EXPECT_THAT(PathsBestFirst(Path::kNone), IsEmpty());
  EXPECT_EQ(BestPath(kAllPaths), PathsBestFirst(kAllPaths).front());
  EXPECT_EQ(BestPath(Path::kPortable | Path::kAvx2), Path::kAvx2);
  EXPECT_EQ(BestPath(Path::kNone), Path::kNone);
}

TEST(PathTest, Names) {
  EXPECT_STREQ(PathName(Path::kPortable), "portable");
  EXPECT_STREQ(PathName(Path::kAvx512Vnni), "avx512vnni");
  EXPECT_STREQ(PathName(Path::kAmx), "amx");
  EXPECT_STREQ(PathName(Path::kNone), "none");
  EXPECT_STREQ(PathName(Path::kPortable | Path::kAvx2), "unknown");
  EXPECT_EQ(PathNames(Path::kAvx2 | Path::kPortable), "portable,avx2");
  EXPECT_EQ(PathNames(Path::kNone), "");
}

TEST(PathTest, ParseReadsBackEveryName) {
  for (Path path : PathsBestFirst(kAllPaths)) {
    ASSERT_VALUE(const auto parsed, ParsePaths(PathName(path)));
    EXPECT_EQ(parsed, path | Path::kPortable);
  }
  ASSERT_VALUE(const auto all, ParsePaths(PathNames(kAllPaths)));
  EXPECT_EQ(all, kAllPaths);
}

TEST(PathTest, ParsePassesOverBlanksAndEmptyNames) {
  for (const char* names : {" avx2 , avx512vnni", ",avx2,,avx512vnni,",
                            "avx512vnni,avx2,avx2,portable"}) {
    const auto parsed = ParsePaths(names);
    ASSERT_OK(parsed) << names;
    EXPECT_EQ(*parsed, Path::kPortable | Path::kAvx2 | Path::kAvx512Vnni);
  }
  ASSERT_VALUE(const auto none, ParsePaths(""));
  EXPECT_EQ(none, Path::kPortable);
}

TEST(PathTest, ParseRefusesWhatIsNoName) {
  for (const char* names : {"axv2", "portable,axv2", "avx512vnn", "AVX2",
                            "avx2 avx512", "none", "0x7"}) {
    const auto parsed = ParsePaths(names);
    ASSERT_FALSE(parsed.ok()) << names;
    EXPECT_CODE(kInvalid, parsed);
    EXPECT_THAT(std::string(parsed.status().message()), HasSubstr("avx512vnni"))
        << "the good names are missing";
  }
  EXPECT_THAT(std::string(ParsePaths("avx2,axv2").status().message()),
              HasSubstr("'axv2'"));
}

}  // namespace
}  // namespace ruy_like
