// What the operating system or the heap refuses to a process's first products,
// in processes of their own (test/support/limited_program.cc).
#include <gtest/gtest.h>

#include <string>

#include "test/support/heap.h"
#include "test/support/subprocess.h"

namespace ruy_like {
namespace {

// cpuinfo tells on stderr of what it has no memory for.
int ExitCode(const std::string& arguments) {
  const ProgramResult result =
      RunProgram("timeout 60 " LIMITED_PROGRAM " " + arguments);
  return result.exit_code;
}

// Also of what is made once in a process: the machine's description, paths.
TEST(LimitsTest, EachAllocationOfTheFirstProduct) {
  if (!kTestOwnsHeap) GTEST_SKIP() << "allocations cannot fail here";
  constexpr int kNothingFailed = 3;
  int code = 0;
  int n = 0;
  for (; n < 2000 && (code = ExitCode("allocation " + std::to_string(n))) == 0;
       ++n) {
  }
  EXPECT_EQ(code, kNothingFailed) << "allocation " << n;
  EXPECT_GT(n, 5);
}

void ExpectLimited(const std::string& limit) {
  if (!kTestOwnsHeap) GTEST_SKIP() << "sanitizers need them";
  const int code = ExitCode(limit);
  if (code == 77) GTEST_SKIP() << "no such limit here";
  EXPECT_EQ(code, 0);
}

TEST(LimitsTest, AddressSpace) { ExpectLimited("memory"); }
TEST(LimitsTest, Threads) { ExpectLimited("threads"); }

}  // namespace
}  // namespace ruy_like
