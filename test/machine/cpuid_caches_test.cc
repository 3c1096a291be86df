// Tests ruy_like/machine/cpuid_caches.h on recorded CPUID data.
#include "ruy_like/machine/cpuid_caches.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>
#include <vector>

namespace ruy_like {
namespace {

struct Leaf {
  uint32_t leaf, subleaf;
  CpuidRegisters registers;
};

// What is not recorded is zero.
class RecordedLeaves : public CpuidSource {
 public:
  explicit RecordedLeaves(std::vector<Leaf> leaves)
      : leaves_(std::move(leaves)) {}
  CpuidRegisters Cpuid(uint32_t leaf, uint32_t subleaf) const override {
    for (const Leaf& l : leaves_) {
      if (l.leaf == leaf && l.subleaf == subleaf) return l.registers;
    }
    return {0, 0, 0, 0};
  }
  uint64_t Xcr0() const override { return 0; }

 private:
  const std::vector<Leaf> leaves_;
};

const RecordedLeaves kKabyLake({
    {0, 0, {0x16, 0x756e6547, 0x6c65746e, 0x49656e69}},
    {4, 0, {0x1c004121, 0x01c0003f, 0x0000003f, 0}},
    {4, 1, {0x1c004122, 0x01c0003f, 0x0000003f, 0}},
    {4, 2, {0x1c004143, 0x00c0003f, 0x000003ff, 0}},
    {4, 3, {0x1c03c163, 0x02c0003f, 0x00001fff, 6}},
    {0xb, 0, {1, 2, 0x100, 0}},
    {0xb, 1, {4, 8, 0x201, 0}},
    {0x80000000, 0, {0x80000008, 0, 0, 0}},
    {0x80000001, 0, {0, 0, 0x121, 0x2c100800}},
});

// In a virtual machine of two processors.
const RecordedLeaves kZen4({
    {0, 0, {0x1c, 0x68747541, 0x444d4163, 0x69746e65}},
    {0xb, 0, {0, 1, 0x100, 1}},
    {0xb, 1, {5, 2, 0x201, 1}},
    {0x80000000, 0, {0x80000021, 0x68747541, 0x444d4163, 0x69746e65}},
    {0x80000001, 0, {0x00a10f11, 0x40000000, 0x004003f3, 0x2fd3fbff}},
    {0x8000001d, 0, {0x00000121, 0x01c0003f, 0x0000003f, 0}},
    {0x8000001d, 1, {0x00000122, 0x01c0003f, 0x0000003f, 0}},
    {0x8000001d, 2, {0x00000143, 0x01c0003f, 0x000007ff, 2}},
    {0x8000001d, 3, {0x00004163, 0x03c0003f, 0x00007fff, 1}},
    {0x8000001e, 0, {1, 1, 0, 0}},
});

void ExpectSizes(const CacheSizes& sizes, const CacheSizes& expected) {
  EXPECT_EQ(sizes.l1d_bytes, expected.l1d_bytes);
  EXPECT_EQ(sizes.l2_bytes, expected.l2_bytes);
  EXPECT_EQ(sizes.l3_bytes, expected.l3_bytes);
  EXPECT_EQ(sizes.l3_sharing_cores, expected.l3_sharing_cores);
}

TEST(CpuidCacheSizesTest, RecordedProcessors) {
  constexpr ptrdiff_t kKiB = 1024;
  ExpectSizes(CpuidCacheSizes(kKabyLake, 8),
              {32 * kKiB, 256 * kKiB, 6144 * kKiB, 4});
  // The leaf itself speaks of 16 logical processors at most.
  ExpectSizes(CpuidCacheSizes(kKabyLake, 0),
              {32 * kKiB, 256 * kKiB, 6144 * kKiB, 8});
  ExpectSizes(CpuidCacheSizes(kZen4, 2),
              {32 * kKiB, 1024 * kKiB, 32768 * kKiB, 2});
}

TEST(CpuidCacheSizesTest, ProcessorsThatSayNothing) {
  ExpectSizes(CpuidCacheSizes(RecordedLeaves({}), 4), {0, 0, 0, 0});
  // Leaf 4 of zeros, as AMD's processors have it without leaf 0x8000001D.
  ExpectSizes(CpuidCacheSizes(RecordedLeaves({{0, 0, {0xd, 0, 0, 0}}}), 4), {});
}

TEST(CpuidCacheSizesTest, AnEndlessListEnds) {
  class Endless : public CpuidSource {
   public:
    CpuidRegisters Cpuid(uint32_t, uint32_t) const override {
      return {~0u, ~0u, ~0u, ~0u};
    }
    uint64_t Xcr0() const override { return ~uint64_t{0}; }
  };
  CpuidCacheSizes(Endless(), 4);
}

// cpuinfo, where this build has it, reports the same.
TEST(CpuidCacheSizesTest, ThisMachine) {
  const CpuidSource* const source = HostCpuidSource();
  if (source == nullptr) GTEST_SKIP() << "not an x86";
  const CacheSizes sizes = PlausibleCacheSizes(CpuidCacheSizes(
      *source, static_cast<int>(std::thread::hardware_concurrency())));
  EXPECT_EQ(sizes.l1d_bytes, DetectedCacheSizes().l1d_bytes);
  EXPECT_EQ(sizes.l2_bytes, DetectedCacheSizes().l2_bytes);
  EXPECT_EQ(sizes.l3_bytes, DetectedCacheSizes().l3_bytes);
}

}  // namespace
}  // namespace ruy_like
