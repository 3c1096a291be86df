// Test support for the fuzzers of products and images.
#ifndef RUY_LIKE_TEST_FUZZ_FUZZ_SUPPORT_H_
#define RUY_LIKE_TEST_FUZZ_FUZZ_SUPPORT_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "ruy_like/base/checksum.h"
#include "ruy_like/context.h"
#include "ruy_like/packed/image_header.h"
#include "ruy_like/path.h"
#include "test/fuzz/fuzz_input.h"

namespace ruy_like {

// The last 8 of the header's bytes are the checksum of those before.
inline void MakeHeaderChecksumRight(char* image) {
  constexpr std::uint64_t kHeaderSeed = 0x68656164;
  constexpr std::size_t kCovered = kImageHeaderBytes - sizeof(std::uint64_t);
  const std::uint64_t checksum = Checksum64(image, kCovered, kHeaderSeed);
  std::memcpy(image + kCovered, &checksum, sizeof(checksum));
}

// True for matrices that the fuzzers take memory for.
inline bool IsSmall(std::ptrdiff_t a, std::ptrdiff_t b) {
  constexpr std::ptrdiff_t kMost = 1 << 16;
  return a <= kMost && b <= kMost && a * b <= kMost;
}

// With a path, threads and a strategy that the input chooses.
inline Context* AnyContext(FuzzInput* input) {
  static Context* const context = new Context;
  static const std::vector<Path> paths = PathsBestFirst(kAllPaths);
  context->set_runtime_enabled_paths(
      paths[input->Below(static_cast<int>(paths.size()))]);
  context->set_max_num_threads(1 + input->Below(3));
  context->set_num_threads_strategy(
      input->Below(4) == 0 ? NumThreadsStrategy::kForceMaxNumThreads
                           : NumThreadsStrategy::kDefault);
  return context;
}

}  // namespace ruy_like

#endif  // RUY_LIKE_TEST_FUZZ_FUZZ_SUPPORT_H_
