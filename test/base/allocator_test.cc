#include "ruy_like/base/allocator.h"

#include <cstdint>
#include <cstring>
#include <utility>

#include "gtest/gtest.h"

namespace ruy_like {
namespace {

bool IsAligned(const void* pointer, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(pointer) % alignment == 0;
}

TEST(AlignedBufferTest, SizesAroundTheMappingThreshold) {
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  for (const std::size_t bytes :
       {std::size_t{1}, std::size_t{63}, std::size_t{64}, 4 * kMiB - 1,
        4 * kMiB, 4 * kMiB + 1, 6 * kMiB, 6 * kMiB + 4097, 33 * kMiB}) {
    SCOPED_TRACE(bytes);
    AlignedBuffer buffer;
    ASSERT_TRUE(AlignedBuffer::Allocate(bytes, &buffer));
    EXPECT_EQ(buffer.bytes(), bytes);
    EXPECT_TRUE(IsAligned(buffer.data(), kBufferAlignment));
#ifdef __linux__  // with transparent huge pages
    if (bytes >= 4 * kMiB) {
      EXPECT_TRUE(IsAligned(buffer.data(), 2 * kMiB));
    }
#endif
    std::memset(buffer.data(), 0x5a, bytes);
  }
}

TEST(AlignedBufferTest, ManyLargeOnesDoNotOverlap) {
  // Freeing and cutting mappings must not reach into a neighbour.
  constexpr std::size_t kBytes = (std::size_t{4} << 20) + 1;
  AlignedBuffer buffers[8];
  for (int round = 0; round < 4; round++) {
    for (int i = 0; i < 8; i++) {
      ASSERT_TRUE(AlignedBuffer::Allocate(kBytes + i * 5000, &buffers[i]));
      std::memset(buffers[i].data(), i, buffers[i].bytes());
    }
    for (int i = round % 2; i < 8; i += 2) buffers[i] = AlignedBuffer();
    for (int i = 1 - round % 2; i < 8; i += 2) {
      const char* bytes = static_cast<const char*>(buffers[i].data());
      EXPECT_EQ(bytes[0], i);
      EXPECT_EQ(bytes[buffers[i].bytes() - 1], i);
    }
  }
}

TEST(AlignedBufferTest, MoveLeavesTheSourceEmpty) {
  AlignedBuffer a;
  ASSERT_TRUE(AlignedBuffer::Allocate(100, &a));
  const void* data = a.data();
  AlignedBuffer b = std::move(a);
  EXPECT_EQ(b.data(), data);
  EXPECT_EQ(b.bytes(), 100u);
  EXPECT_EQ(a.data(), nullptr);
  EXPECT_EQ(a.bytes(), 0u);
  AlignedBuffer c;
  c = std::move(b);
  EXPECT_EQ(c.data(), data);
  EXPECT_EQ(c.bytes(), 100u);
}

TEST(AlignedBufferTest, NothingIsAnEmptyBuffer) {
  AlignedBuffer buffer;
  ASSERT_TRUE(AlignedBuffer::Allocate(100, &buffer));
  ASSERT_TRUE(AlignedBuffer::Allocate(0, &buffer));
  EXPECT_EQ(buffer.data(), nullptr);
  EXPECT_EQ(buffer.bytes(), 0u);
}

TEST(AlignedBufferTest, FailureKeepsTheOldBuffer) {
  AlignedBuffer buffer;
  ASSERT_TRUE(AlignedBuffer::Allocate(100, &buffer));
  const void* data = buffer.data();
  for (const std::size_t bytes : {SIZE_MAX, SIZE_MAX - (std::size_t{2} << 20),
                                  std::size_t{PTRDIFF_MAX}, SIZE_MAX / 2 + 1}) {
    EXPECT_FALSE(AlignedBuffer::Allocate(bytes, &buffer)) << bytes;
  }
  EXPECT_EQ(buffer.data(), data);
  EXPECT_EQ(buffer.bytes(), 100u);
}

TEST(ScratchArenaTest, FootprintRoundsUpAndSaturates) {
  EXPECT_EQ(ScratchArena::Footprint(0), 0u);
  EXPECT_EQ(ScratchArena::Footprint(1), 64u);
  EXPECT_EQ(ScratchArena::Footprint(64), 64u);
  EXPECT_EQ(ScratchArena::Footprint(65), 128u);
  EXPECT_EQ(ScratchArena::Footprint(SIZE_MAX), SIZE_MAX - 63);
  EXPECT_EQ(ScratchArena::Footprint(SIZE_MAX - 63), SIZE_MAX - 63);
  EXPECT_EQ(ScratchArena::Footprint(SIZE_MAX - 64), SIZE_MAX - 63);
}

TEST(ScratchArenaTest, PiecesAreAlignedAndApart) {
  ScratchArena arena;
  ASSERT_TRUE(arena.Reserve(ScratchArena::Footprint(1) +
                            ScratchArena::Footprint(100) +
                            ScratchArena::Footprint(64)));
  char* a = static_cast<char*>(arena.Take(1));
  char* b = static_cast<char*>(arena.Take(100));
  char* c = static_cast<char*>(arena.Take(64));
  EXPECT_TRUE(IsAligned(a, 64));
  EXPECT_EQ(b, a + 64);
  EXPECT_EQ(c, b + 128);
  std::memset(a, 1, 1);
  std::memset(b, 2, 100);
  std::memset(c, 3, 64);
  EXPECT_EQ(a[0], 1);
  EXPECT_EQ(b[99], 2);
  ASSERT_TRUE(arena.Reserve(64));
  EXPECT_EQ(arena.Take(64), a);
}

TEST(ScratchArenaTest, ReusesTheLargestBlockSoFar) {
  ScratchArena arena;
  ASSERT_TRUE(arena.Reserve(100000));
  const std::size_t capacity = arena.capacity_bytes();
  void* const block = arena.Take(64);
  for (int i = 0; i < 10000; i++) {
    ASSERT_TRUE(arena.Reserve(i % 5 == 0 ? 100000 : 64));
    EXPECT_EQ(arena.Take(64), block);
  }
  EXPECT_EQ(arena.capacity_bytes(), capacity);
}

TEST(ScratchArenaTest, OneHugeCallDoesNotPinItsMemory) {
  constexpr std::size_t kHuge = std::size_t{64} << 20;
  constexpr std::size_t kUsual = 200000;
  ScratchArena arena;
  ASSERT_TRUE(arena.Reserve(kHuge));
  for (int i = 1; i < ScratchArena::kShrinkAfterCalls; i++) {
    ASSERT_TRUE(arena.Reserve(i == 7 ? kUsual : 64));
  }
  EXPECT_GE(arena.capacity_bytes(), kHuge);
  ASSERT_TRUE(arena.Reserve(64));
  // The largest of the recent calls still fits without growing again.
  EXPECT_GE(arena.capacity_bytes(), kUsual);
  EXPECT_LT(arena.capacity_bytes(), 2 * kUsual);
  EXPECT_NE(arena.Take(64), nullptr);
}

TEST(ScratchArenaTest, ALargeCallNowAndThenKeepsItsMemory) {
  constexpr std::size_t kHuge = std::size_t{64} << 20;
  ScratchArena arena;
  for (int i = 0; i < 2000; i++) {
    ASSERT_TRUE(arena.Reserve(i % 200 == 0 ? kHuge : 64));
    ASSERT_GE(arena.capacity_bytes(), kHuge);
  }
}

TEST(ScratchArenaTest, FailureLeavesItUsable) {
  ScratchArena arena;
  ASSERT_TRUE(arena.Reserve(1000));
  EXPECT_FALSE(arena.Reserve(ScratchArena::Footprint(SIZE_MAX)));
  EXPECT_FALSE(arena.Reserve(SIZE_MAX / 2 + 1));
  ASSERT_TRUE(arena.Reserve(1000));
  EXPECT_NE(arena.Take(900), nullptr);
}

}  // namespace
}  // namespace ruy_like
