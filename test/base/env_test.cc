// Tests ruy_like/base/env.h.
#include "ruy_like/base/env.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>

#include "test/support/environment.h"

namespace ruy_like {
namespace {

TEST(EnvTest, TableIsInTheOrderOfTheEnum) {
  int count = 0;
  const EnvVarInfo* vars = EnvVars(&count);
  ASSERT_GT(count, 0);
  for (int i = 0; i < count; ++i) {
    EXPECT_EQ(static_cast<int>(vars[i].var), i) << vars[i].name;
  }
}

TEST(EnvTest, NamesAreUniqueAndPrefixed) {
  int count = 0;
  const EnvVarInfo* vars = EnvVars(&count);
  std::set<std::string> names;
  for (int i = 0; i < count; ++i) {
    // But for the one whose name is ruy's.
    const std::string prefix =
        vars[i].var == EnvVar::kRuyPaths ? "RUY_PATHS" : "RUY_LIKE_";
    EXPECT_EQ(std::string(vars[i].name).rfind(prefix, 0), 0u) << vars[i].name;
    EXPECT_TRUE(names.insert(vars[i].name).second) << vars[i].name;
    EXPECT_GT(std::strlen(vars[i].description), 0u) << vars[i].name;
  }
}

TEST(EnvTest, ReadsTheValueAnew) {
  ASSERT_TRUE(SetEnvironment("RUY_LIKE_PATHS", "portable"));
  EXPECT_EQ(GetEnv(EnvVar::kPaths), "portable");
  ASSERT_TRUE(SetEnvironment("RUY_LIKE_PATHS", ""));
  EXPECT_EQ(GetEnv(EnvVar::kPaths), "");
  ASSERT_TRUE(UnsetEnvironment("RUY_LIKE_PATHS"));
  EXPECT_EQ(GetEnv(EnvVar::kPaths), "");
}

}  // namespace
}  // namespace ruy_like
