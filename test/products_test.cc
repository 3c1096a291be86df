// Products with checksums that another processor made: products.txt was written
// on an x86 and holds for every path of every processor, since integer results
// are the same everywhere, bit for bit.
//
// An entry is a seed of RandomProblem() and the checksum of dst with its gaps.
// Only integer products, with integer or scaled float results, are in it: a
// float sum may be rounded differently on another path.
//
//   products_test            compares, on all paths of this machine
//   products_test --print    writes the file as this machine's best path has it
#include <gtest/gtest.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "ruy_like/base/checksum.h"
#include "ruy_like/context.h"
#include "ruy_like/machine/cpu_features.h"
#include "ruy_like/path.h"
#include "test/support/mul_problem.h"
#include "test/support/mul_runner.h"

namespace ruy_like {
namespace {

constexpr int kProducts = 500;

std::string ChecksumOf(const MulProblem& problem, Context* context) {
  MulRunner runner(problem);
  const testing::AssertionResult result = runner.Check(context);
  EXPECT_TRUE(result);
  context->ClearPrepackedCache();
  const std::vector<char> bytes = runner.DstBytes();
  char text[17];
  std::snprintf(text, sizeof(text), "%016" PRIx64,
                Checksum64(bytes.data(), bytes.size(), /*seed=*/1));
  return text;
}

void PrintFile() {
  Context context;
  int products = 0;
  for (std::uint64_t seed = 1; products < kProducts; ++seed) {
    const MulProblem problem = RandomProblem(seed);
    if (!problem.IsInteger()) continue;
    const bool ends_line = ++products % 3 == 0 || products == kProducts;
    std::printf("%" PRIu64 " %s%s", seed, ChecksumOf(problem, &context).c_str(),
                ends_line ? "\n" : "  ");
  }
}

TEST(ProductsTest, AreThoseOfTheFile) {
  for (const Path path : PathsBestFirst(DetectedPaths())) {
    SCOPED_TRACE(PathName(path));
    Context context;
    context.set_runtime_enabled_paths(path | Path::kPortable);
    std::ifstream file(PRODUCTS_FILE);
    std::uint64_t seed;
    std::string checksum;
    int products = 0;
    for (; file >> seed >> checksum; ++products) {
      const MulProblem problem = RandomProblem(seed);
      ASSERT_TRUE(problem.IsInteger()) << seed;
      ASSERT_EQ(ChecksumOf(problem, &context), checksum)
          << "seed " << seed << ": " << Describe(problem);
    }
    EXPECT_EQ(products, kProducts) << PRODUCTS_FILE;
  }
}

}  // namespace
}  // namespace ruy_like

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc == 2 && std::string(argv[1]) == "--print") {
    ruy_like::PrintFile();
    return 0;
  }
  return RUN_ALL_TESTS();
}
