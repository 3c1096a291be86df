// 64 KiB of stack are enough for a thread that multiplies or packs
// (doc/threading.md), on every path.
#include "test/support/small_stack.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "ruy_like/mul_plan.h"
#include "ruy_like/packed_matrix.h"
#include "test/support/product.h"
#include "test/support/sanitizers.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

// The product's memory is not on that stack.
template <typename P>
bool RunAllWays(P* p, Context* context) {
  MulPlan plan;
  auto packed = Pack(p->lhs, Side::kLhs, PackOptions(), context);
  return p->Run(context).ok() && packed.ok() &&
         Mul(*packed, p->rhs, p->params, context, &p->dst).ok() &&
         p->Prepare(1, context, &plan).ok() && plan.Run(0).ok() &&
         plan.Finish().ok();
}

struct Products {
  bool Run(Context* context) {
    // Tiny, narrow, ragged, deep enough for pieces, swapped.
    for (const Shape& shape :
         {Shape{3, 5, 2}, Shape{300, 200, 1}, Shape{300, 200, 7},
          Shape{7, 300, 200}, Shape{67, 129, 61}, Shape{40, 9000, 40},
          Shape{200, 1500, 60}}) {
      for (const Order order : kOrders) {
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

class SmallStackTest : public PathTest {};
RUY_LIKE_INSTANTIATE_PER_PATH(SmallStackTest);

TEST_P(SmallStackTest, IsEnough) {
  if (kSanitized) GTEST_SKIP() << "sanitizers need more";
  RunOnSmallStack([this] { EXPECT_TRUE(Products().Run(&context_)); });
}

// And for the messages of errors.
TEST_P(SmallStackTest, IsEnoughForErrors) {
  if (kSanitized) GTEST_SKIP() << "sanitizers need more";
  RunOnSmallStack([this] {
    FloatProduct product(3, 4, 5);
    product.params.set_clamp_min(1);
    product.params.set_clamp_max(0);
    EXPECT_FALSE(product.Run(&context_).ok());
  });
}

}  // namespace
}  // namespace ruy_like
