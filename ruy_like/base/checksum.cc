// Tested in test/packed/packed_image_test.cc.
#include "ruy_like/base/checksum.h"

#include <cstring>

namespace ruy_like {
namespace {

constexpr std::size_t kLanes = 4;
constexpr std::size_t kBlockBytes = kLanes * sizeof(std::uint64_t);

// Odd, hence a bijection to multiply by; bits without pattern: 2^64 divided by
// the golden ratio.
constexpr std::uint64_t kMultiplier = 0x9e3779b97f4a7c15u;

// A bijection of either argument while the other one is fixed.
std::uint64_t Mix(std::uint64_t state, std::uint64_t word) {
  state = (state ^ word) * kMultiplier;
  // Carries the product's high bits, which depend on all, to the low ones.
  return state ^ (state >> 32);
}

// The first byte is the lowest, on every machine.
std::uint64_t LittleEndian(std::uint64_t word) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  return __builtin_bswap64(word);
#else
  return word;
#endif
}

void AddBlock(const unsigned char* block, std::uint64_t (&lanes)[kLanes]) {
  std::uint64_t words[kLanes];
  std::memcpy(words, block, kBlockBytes);
  for (std::size_t i = 0; i < kLanes; ++i) {
    lanes[i] = Mix(lanes[i], LittleEndian(words[i]));
  }
}

}  // namespace

std::uint64_t Checksum64(const void* data, std::size_t bytes,
                         std::uint64_t seed) {
  const unsigned char* next = static_cast<const unsigned char*>(data);
  std::uint64_t lanes[kLanes];
  for (std::size_t i = 0; i < kLanes; ++i) lanes[i] = Mix(seed, i + 1);
  std::size_t left = bytes;
  for (; left >= kBlockBytes; left -= kBlockBytes, next += kBlockBytes) {
    AddBlock(next, lanes);
  }
  if (left > 0) {
    unsigned char last[kBlockBytes] = {};
    std::memcpy(last, next, left);
    AddBlock(last, lanes);
  }
  std::uint64_t sum = Mix(seed, bytes);
  for (const std::uint64_t lane : lanes) sum = Mix(sum, lane);
  return Mix(sum, 0);
}

}  // namespace ruy_like
