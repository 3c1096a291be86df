// 64 KiB of stack are enough for a thread that multiplies or packs
// (doc/threading.md), on every path.
#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ruy_like/mul_plan.h"
#include "ruy_like/packed_matrix.h"
#include "test/support/mul_problem.h"
#include "test/support/mul_runner.h"
#include "test/support/product.h"
#include "test/support/sanitizers.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

constexpr std::size_t kStackBytes = 64 * 1024;

// The product's memory is not on that stack.
template <typename P>
bool RunAllWays(P* p, Context* context) {
  MulPlan plan;
  auto packed = Pack(p->lhs, Side::kLhs, PackOptions(), context);
  return p->Run(context).ok() && packed.ok() &&
         Mul(*packed, p->rhs, p->params, context, &p->dst).ok() &&
         plan.Prepare(p->lhs, p->rhs, p->params, 1, context, &p->dst).ok() &&
         plan.Run(0).ok() && plan.Finish().ok();
}

struct Products {
  struct Shape {
    std::ptrdiff_t rows, depth, cols;
  };
  bool Run(Context* context) {
    // Tiny, narrow, ragged, deep enough for pieces, swapped.
    for (const Shape& shape :
         {Shape{3, 5, 2}, Shape{300, 200, 1}, Shape{300, 200, 7},
          Shape{7, 300, 200}, Shape{67, 129, 61}, Shape{40, 9000, 40},
          Shape{200, 1500, 60}}) {
      for (const Order order : {Order::kColMajor, Order::kRowMajor}) {
        if (!RunAll(shape, order, context)) return false;
      }
    }
    return true;
  }
  bool RunAll(const Shape& s, Order order, Context* context) {
    FloatProduct f(s.rows, s.depth, s.cols, order);
    DoubleProduct d(s.rows, s.depth, s.cols, order);
    Int8Product q(s.rows, s.depth, s.cols, order);
    Product<std::uint8_t, std::uint8_t, std::int32_t, std::int32_t> raw(
        s.rows, s.depth, s.cols, order);
    ScaledProduct scaled(s.rows, s.depth, s.cols, order);
    q.lhs.set_zero_point(3);
    q.rhs.set_zero_point(-5);
    raw.lhs.set_cache_policy(CachePolicy::kAlwaysCache);
    return RunAllWays(&f, context) && RunAllWays(&d, context) &&
           RunAllWays(&q, context) && RunAllWays(&raw, context) &&
           RunAllWays(&scaled, context);
  }
};

struct Job {
  Context* context;
  bool right = false;
};

class SmallStackTest : public PathTest {
 protected:
  // On a thread with a stack of that size; whether `run` set Job::right.
  void RunOnSmallStack(void* (*run)(void* job)) {
    Job job = {&context_};
    pthread_attr_t attributes;
    pthread_t thread;
    ASSERT_EQ(pthread_attr_init(&attributes), 0);
    // 64-bit Arm's C library gives no thread less than 128 KiB.
    const std::size_t least = std::max<long>(sysconf(_SC_THREAD_STACK_MIN), 0);
    ASSERT_EQ(
        pthread_attr_setstacksize(&attributes, std::max(kStackBytes, least)),
        0);
    ASSERT_EQ(pthread_create(&thread, &attributes, run, &job), 0);
    ASSERT_EQ(pthread_join(thread, nullptr), 0);
    pthread_attr_destroy(&attributes);
    EXPECT_TRUE(job.right);
  }
};
RUY_LIKE_INSTANTIATE_PER_PATH(SmallStackTest);

TEST_P(SmallStackTest, IsEnough) {
  if (kSanitized) GTEST_SKIP() << "sanitizers need more";
  RunOnSmallStack([](void* argument) -> void* {
    Job* const job = static_cast<Job*>(argument);
    job->right = Products().Run(job->context);
    return nullptr;
  });
}

// And for the messages of errors.
TEST_P(SmallStackTest, IsEnoughForErrors) {
  if (kSanitized) GTEST_SKIP() << "sanitizers need more";
  RunOnSmallStack([](void* argument) -> void* {
    Job* const job = static_cast<Job*>(argument);
    FloatProduct product(3, 4, 5);
    product.params.set_clamp_min(1);
    product.params.set_clamp_max(0);
    job->right = !product.Run(job->context).ok();
    return nullptr;
  });
}

}  // namespace
}  // namespace ruy_like
