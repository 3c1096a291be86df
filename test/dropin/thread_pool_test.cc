// Tests ruy::ThreadPool.
#include "ruy/thread_pool.h"

#include <gtest/gtest.h>

#include <limits>
#include <thread>
#include <vector>

#include "ruy/context.h"
#include "ruy/denormal.h"

namespace {

// Larger than its base, so that stepping by the base's size would not find the
// second task.
struct RecordTask : ruy::Task {
  void Run() override {
    ++runs;
    thread = std::this_thread::get_id();
    volatile float denormal = std::numeric_limits<float>::min();
    denormal = denormal / 2;
    suppressed = denormal == 0;
  }
  double padding[13] = {};
  int runs = 0;
  bool suppressed = false;
  std::thread::id thread;
};

class ThreadPoolTest : public testing::TestWithParam<int> {};

TEST_P(ThreadPoolTest, RunsEachTaskOnce) {
  ruy::ThreadPool pool;
  std::vector<RecordTask> tasks(GetParam());
  for (int pass = 1; pass <= 3; ++pass) {
    pool.Execute(GetParam(), tasks.data());
    for (const RecordTask& task : tasks) EXPECT_EQ(task.runs, pass);
    EXPECT_EQ(tasks[0].thread, std::this_thread::get_id());
  }
}

#if defined(__SSE2__) || defined(__aarch64__)
TEST_P(ThreadPoolTest, SuppressesDenormalsInAllTasksButTheFirst) {
  ruy::ThreadPool pool;
  std::vector<RecordTask> tasks(GetParam());
  pool.Execute(GetParam(), tasks.data());
  for (int i = 0; i < GetParam(); ++i) {
    EXPECT_EQ(tasks[i].suppressed, i != 0) << i;
  }
  ruy::ScopedSuppressDenormals suppress_denormals;
  pool.Execute(GetParam(), tasks.data());
  for (const RecordTask& task : tasks) EXPECT_TRUE(task.suppressed);
}
#endif

// 100: more than ExecuteImpl keeps on the stack.
INSTANTIATE_TEST_SUITE_P(Counts, ThreadPoolTest, testing::Values(1, 2, 5, 100));

TEST(ThreadPoolTest, NoTaskIsNothing) {
  ruy::ThreadPool pool;
  pool.Execute(0, static_cast<RecordTask*>(nullptr));
}

TEST(ThreadPoolTest, ContextsPoolAndItsSpinTime) {
  ruy::Context context;
  ruy::ThreadPool* const pool = context.mutable_thread_pool();
  pool->set_spin_milliseconds(0.5f);
  EXPECT_EQ(context.thread_pool().spin_milliseconds(), 0.5f);
  RecordTask tasks[2];
  pool->Execute(2, tasks);
  EXPECT_EQ(tasks[0].runs, 1);
  EXPECT_EQ(tasks[1].runs, 1);
}

}  // namespace
