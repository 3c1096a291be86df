// A maximum number of threads is a permission: where threads cannot be started
// at all, as in WebAssembly without -pthread, the caller's thread does the
// work. And large buffers go back to the system, on every one.
#include <gtest/gtest.h>

#include <cstddef>

#include "ruy_like/base/allocator.h"
#include "ruy_like/os/process.h"
#include "ruy_like/thread_pool.h"
#include "test/support/product.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

struct CountingTask final : Task {
  void Run() override { ++runs; }
  int runs = 0;
};

TEST(SingleThreadTest, ManyThreadsAreAPermissionOnly) {
  RawProduct product(64, 64, 64);
  Context context;
  UseThreads(4, &context);
  ASSERT_OK(product.Run(&context));
  product.ExpectIs(product.Expected());
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
