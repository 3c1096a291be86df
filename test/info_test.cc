// Tests example/ruy_like_info.cc: it leaves nothing out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "ruy_like/base/env.h"
#include "ruy_like/machine/cpu_features.h"
#include "ruy_like/registry/registry.h"
#include "test/support/subprocess.h"

namespace ruy_like {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

TEST(InfoTest, TellsAll) {
  const ProgramResult result =
      RunProgram("env -u RUY_LIKE_PATHS " INFO_PROGRAM);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, ContainsRegex("processor +[^ ]"));
  EXPECT_THAT(result.out, HasSubstr(CpuFeatureNames(DetectCpuFeatures())));
  EXPECT_THAT(result.out,
              HasSubstr(absl::StrCat(
                  "L1d ", DetectedCacheSizes().l1d_bytes / 1024, " KiB")));
  EXPECT_THAT(result.out, ContainsRegex("\nloops for +any core\n"));
  for (const Path path : PathsBestFirst(PathsOfThisArchitecture())) {
    EXPECT_THAT(result.out,
                ContainsRegex(absl::StrCat("\n  ", PathName(path), " +[^ ]")));
    const kernels::KernelTable table = KernelsOf(path);
    for (int i = 0; i < table.count; ++i) {
      EXPECT_THAT(result.out, HasSubstr(table.kernels[i].name));
    }
  }
  // Not those of other processors.
  for (const Path path : PathsBestFirst(~PathsOfThisArchitecture())) {
    EXPECT_THAT(result.out,
                testing::Not(HasSubstr(absl::StrCat(PathName(path), " "))));
  }
  int count = 0;
  const EnvVarInfo* const variables = EnvVars(&count);
  for (int i = 0; i < count; ++i) {
    EXPECT_THAT(result.out, HasSubstr(absl::StrCat(variables[i].name, "=")));
    EXPECT_THAT(result.out, HasSubstr(variables[i].description));
  }
}

TEST(InfoTest, HasHelpAndNoOtherArguments) {
  const ProgramResult help = RunProgram(INFO_PROGRAM " --help");
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_EQ(help.err, "");
  EXPECT_THAT(help.out, HasSubstr("usage: ruy_like_info"));
  const ProgramResult unknown = RunProgram(INFO_PROGRAM " --nonsense");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_EQ(unknown.out, "");
  EXPECT_EQ(unknown.err, help.out);
}

TEST(InfoTest, TellsWhatTheEnvironmentForbids) {
  const ProgramResult result =
      RunProgram("RUY_LIKE_PATHS=portable " INFO_PROGRAM);
  EXPECT_THAT(result.out, ContainsRegex("\n  portable +permitted\n"));
  EXPECT_THAT(result.out, HasSubstr("RUY_LIKE_PATHS=portable\n"));
  if ((DetectedPaths() & Path::kAvx2) == Path::kNone) GTEST_SKIP();
  EXPECT_THAT(result.out,
              ContainsRegex("\n  avx2 +RUY_LIKE_PATHS leaves it out\n"));
}

}  // namespace
}  // namespace ruy_like
