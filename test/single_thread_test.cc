// A maximum number of threads is a permission: where threads cannot be started
// at all, as in WebAssembly without -pthread, the caller's thread does the
// work. And large buffers go back to the system, on every one.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ruy_like/base/allocator.h"
#include "ruy_like/os/process.h"
#include "ruy_like/ruy_like.h"
#include "ruy_like/thread_pool.h"

namespace ruy_like {
namespace {

struct CountingTask final : Task {
  void Run() override { ++runs; }
  int runs = 0;
};

TEST(SingleThreadTest, ManyThreadsAreAPermissionOnly) {
  constexpr int kSize = 64;
  std::vector<std::int8_t> lhs_data(kSize * kSize, 3);
  std::vector<std::int8_t> rhs_data(kSize * kSize, -5);
  std::vector<std::int32_t> dst_data(kSize * kSize);
  Matrix<std::int8_t> lhs, rhs;
  Matrix<std::int32_t> dst;
  MakeSimpleLayout(kSize, kSize, Order::kRowMajor, lhs.mutable_layout());
  MakeSimpleLayout(kSize, kSize, Order::kColMajor, rhs.mutable_layout());
  MakeSimpleLayout(kSize, kSize, Order::kColMajor, dst.mutable_layout());
  lhs.set_data(lhs_data.data());
  rhs.set_data(rhs_data.data());
  dst.set_data(dst_data.data());
  Context context;
  context.set_max_num_threads(4);
  context.set_num_threads_strategy(NumThreadsStrategy::kForceMaxNumThreads);
  const absl::Status status =
      Mul(lhs, rhs, MulParams<std::int32_t, std::int32_t>(), &context, &dst);
  ASSERT_TRUE(status.ok()) << status;
  for (const std::int32_t value : dst_data) ASSERT_EQ(value, -15 * kSize);
  if (!os::CanStartThreads()) {
    EXPECT_EQ(context.last_used_num_threads(), 1);
  }
}

TEST(SingleThreadTest, PoolRunsAllTasks) {
  ThreadPool pool;
  const int workers = pool.EnsureWorkers(3);
  EXPECT_EQ(workers, os::CanStartThreads() ? 3 : 0);
  CountingTask tasks[5];
  pool.Execute(5, tasks);
  for (const CountingTask& task : tasks) EXPECT_EQ(task.runs, 1);
  EXPECT_EQ(DefaultThreadCount() == 1 || os::CanStartThreads(), true);
}

// 32 GiB in all, which a 32-bit heap does not have.
TEST(SingleThreadTest, LargeBuffersAreGivenBack) {
  for (int i = 0; i < 2048; ++i) {
    AlignedBuffer buffer;
    ASSERT_TRUE(AlignedBuffer::Allocate(std::size_t{16} << 20, &buffer)) << i;
    static_cast<char*>(buffer.data())[i] = 1;
  }
}

}  // namespace
}  // namespace ruy_like
