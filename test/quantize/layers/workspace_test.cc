#include "ruy_like/quantize/workspace.h"

#include <gtest/gtest.h>

#include <utility>

#include "test/support/heap.h"

namespace ruy_like {
namespace {

TEST(WorkspaceTest, GrowsAndKeepsItsMemory) {
  Workspace workspace;
  EXPECT_EQ(workspace.capacity_bytes(), 0u);
  void* const memory = workspace.Reserve(1000);
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(workspace.Reserve(10), memory);
  EXPECT_EQ(workspace.capacity_bytes(), 1000u);
}

TEST(WorkspaceTest, KeepsWhatItHasWhereThereIsNoMore) {
  if (!kTestOwnsHeap) GTEST_SKIP() << "allocations cannot be made to fail here";
  Workspace workspace;
  void* const memory = workspace.Reserve(1000);
  void* more = nullptr;
  {
    Failures failures;
    failures.first_allocation = 0;
    const FailureScope scope(failures);
    more = workspace.Reserve(2000);
  }
  EXPECT_EQ(more, nullptr);
  EXPECT_EQ(workspace.capacity_bytes(), 1000u);
  EXPECT_EQ(workspace.Reserve(1000), memory);
}

TEST(WorkspaceTest, CanBeUsedAfterItWasMovedFrom) {
  Workspace first;
  void* const memory = first.Reserve(1000);
  Workspace second(std::move(first));
  EXPECT_EQ(second.Reserve(1000), memory);
  // NOLINTBEGIN(bugprone-use-after-move): which is what is tested
  EXPECT_EQ(first.capacity_bytes(), 0u);
  EXPECT_NE(first.Reserve(1000), nullptr);
  // NOLINTEND(bugprone-use-after-move)
  first = std::move(second);
  EXPECT_EQ(first.Reserve(1000), memory);
}

}  // namespace
}  // namespace ruy_like
