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

#include "ruy_like/mul.h"
#include "ruy_like/mul_plan.h"
#include "ruy_like/packed_matrix.h"
#include "test/support/mul_problem.h"
#include "test/support/mul_runner.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

constexpr std::size_t kStackBytes = 64 * 1024;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kStackIsOurs = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool kStackIsOurs = false;
#else
constexpr bool kStackIsOurs = true;
#endif
#else
constexpr bool kStackIsOurs = true;
#endif

// A product with its memory, which is not on that stack.
template <typename Src, typename Accum, typename Dst>
struct Product {
  Product(std::ptrdiff_t rows, std::ptrdiff_t depth, std::ptrdiff_t cols,
          Order order)
      : lhs_data(rows * depth, Src{1}),
        rhs_data(depth * cols, Src{2}),
        result(rows * cols),
        lhs(MakeMatrix(lhs_data.data(), rows, depth, Order::kRowMajor)),
        rhs(MakeMatrix(rhs_data.data(), depth, cols, Order::kColMajor)),
        dst(MakeMatrix(result.data(), rows, cols, order)) {}
  bool Run(Context* context) {
    MulPlan plan;
    auto packed = Pack(lhs, Side::kLhs, PackOptions(), context);
    return Mul(lhs, rhs, params, context, &dst).ok() && packed.ok() &&
           Mul(*packed, rhs, params, context, &dst).ok() &&
           plan.Prepare(lhs, rhs, params, 1, context, &dst).ok() &&
           plan.Run(0).ok() && plan.Finish().ok();
  }

  std::vector<Src> lhs_data, rhs_data;
  std::vector<Dst> result;
  Matrix<Src> lhs, rhs;
  Matrix<Dst> dst;
  MulParams<Accum, Dst> params;
};

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
    Product<float, float, float> f(s.rows, s.depth, s.cols, order);
    Product<double, double, double> d(s.rows, s.depth, s.cols, order);
    Product<std::int8_t, std::int32_t, std::int8_t> q(s.rows, s.depth, s.cols,
                                                      order);
    Product<std::uint8_t, std::int32_t, std::int32_t> raw(s.rows, s.depth,
                                                          s.cols, order);
    Product<std::int8_t, std::int32_t, float> scaled(s.rows, s.depth, s.cols,
                                                     order);
    q.lhs.set_zero_point(3);
    q.rhs.set_zero_point(-5);
    raw.lhs.set_cache_policy(CachePolicy::kAlwaysCache);
    return f.Run(context) && d.Run(context) && q.Run(context) &&
           raw.Run(context) && scaled.Run(context);
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
  if (!kStackIsOurs) GTEST_SKIP() << "sanitizers need more";
  RunOnSmallStack([](void* argument) -> void* {
    Job* const job = static_cast<Job*>(argument);
    job->right = Products().Run(job->context);
    return nullptr;
  });
}

// And for the messages of errors.
TEST_P(SmallStackTest, IsEnoughForErrors) {
  if (!kStackIsOurs) GTEST_SKIP() << "sanitizers need more";
  RunOnSmallStack([](void* argument) -> void* {
    Job* const job = static_cast<Job*>(argument);
    Product<float, float, float> product(3, 4, 5, Order::kColMajor);
    product.params.set_clamp_min(1);
    product.params.set_clamp_max(0);
    job->right = !product.Run(job->context);
    return nullptr;
  });
}

}  // namespace
}  // namespace ruy_like
