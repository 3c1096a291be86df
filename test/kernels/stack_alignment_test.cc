// Vectors of 32 and 64 bytes can be spilled to a stack that is aligned to 16,
// which is all that a caller promises. gcc on Windows needs an option for that
// (cmake/Paths.cmake).
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "ruy_like/machine/cpu_features.h"
#include "ruy_like/path.h"

// spill_vectors.cc
void SpillVectors_avx2(const std::int32_t*, void (*)(), std::int32_t*);
void SpillVectors_avx512(const std::int32_t*, void (*)(), std::int32_t*);

namespace ruy_like {
namespace {

void Nothing() {}
void (*volatile opaque)() = &Nothing;

using SpillFn = void(const std::int32_t*, void (*)(), std::int32_t*);

// Calls `spill` with a stack that is 16 bytes further down at each depth.
__attribute__((noinline)) void CallDeeper(int depth, SpillFn* spill,
                                          const std::int32_t* from,
                                          std::int32_t* to) {
  char here[24];
  asm volatile("" : : "r"(here) : "memory");
  if (depth > 0) {
    CallDeeper(depth - 1, spill, from, to);
  } else {
    spill(from, opaque, to);
  }
  asm volatile("" : : "r"(here) : "memory");
}

void TestSpilling(SpillFn* spill, int lanes) {
  constexpr int kVectors = 40;
  std::vector<std::int32_t> from(kVectors * lanes);
  for (std::size_t i = 0; i < from.size(); ++i) {
    from[i] = static_cast<std::int32_t>(i * 7919);
  }
  for (int depth = 0; depth < 12; ++depth) {
    std::vector<std::int32_t> to(lanes);
    CallDeeper(depth, spill, from.data(), to.data());
    for (int lane = 0; lane < lanes; ++lane) {
      std::int32_t sum = 0;
      for (int i = 0; i < kVectors; ++i) sum += from[i * lanes + lane];
      EXPECT_EQ(to[lane], sum) << "depth " << depth << ", lane " << lane;
    }
  }
}

TEST(StackAlignmentTest, Vectors32Bytes) {
  if ((DetectedPaths() & Path::kAvx2) == Path::kNone) GTEST_SKIP();
  TestSpilling(&SpillVectors_avx2, 8);
}

TEST(StackAlignmentTest, Vectors64Bytes) {
  if ((DetectedPaths() & Path::kAvx512) == Path::kNone) GTEST_SKIP();
  TestSpilling(&SpillVectors_avx512, 16);
}

}  // namespace
}  // namespace ruy_like
