// MulPlan: a product on the threads of the caller.
// Runs under ThreadSanitizer too (label "concurrency").
#include "ruy_like/mul_plan.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "ruy_like/packed_matrix.h"
#include "test/support/executors.h"
#include "test/support/on_threads.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

class MulPlanTest : public ThreadedProductTest {};

TEST_F(MulPlanTest, APlanOnTheCallersThreads) {
  for (int threads = 1; threads <= 5; ++threads) {
    MulPlan plan;
    for (int repeat = 0; repeat < 3; ++repeat) {
      ASSERT_OK(product_.Prepare(threads, &context_, &plan));
      ExpectThreads(plan.num_threads(), threads);
      OnThreads(threads, [&plan](int i) { EXPECT_OK(plan.Run(i)); });
      ASSERT_OK(plan.Finish());
      product_.ExpectRight();
    }
  }
}

// A plan is the caller's threads' business: what the Context has does not
// matter to it. Numbers come twice, late or not at all.
TEST_F(MulPlanTest, APlanWhateverTheContextHas) {
  OnAllSortsOfThreads(&context_, [&] {
    MulPlan plan;
    ASSERT_OK(product_.Prepare(3, &context_, &plan));
    std::thread other([&plan] {
      EXPECT_OK(plan.Run(2));
      EXPECT_OK(plan.Run(2));
    });
    EXPECT_OK(plan.Run(0));
    other.join();
    ASSERT_OK(plan.Finish());
    product_.ExpectRight();
    EXPECT_CODE(kPrecondition, plan.Run(1));
    product_.ExpectUntouched();
  });
}

TEST_F(MulPlanTest, APlanWhoseThreadsDoNotCome) {
  MulPlan plan;
  for (const int comes : {-1, 0, 3}) {
    ASSERT_OK(product_.Prepare(4, &context_, &plan));
    if (comes >= 0) {
      EXPECT_OK(plan.Run(comes));
    }
    ASSERT_OK(plan.Finish());
    product_.ExpectRight();
  }
}

// The Context is free between Prepare and Finish; what was to be cached is.
TEST_F(MulPlanTest, APlanLeavesTheContextToOthers) {
  product_.lhs.set_cache_policy(CachePolicy::kAlwaysCache);
  MulPlan plan;
  ASSERT_OK(product_.Prepare(2, &context_, &plan));
  ThreadedProduct other;
  other.MulOn(&context_);
  EXPECT_OK(plan.Run(1));
  other.MulOn(&context_);
  EXPECT_EQ(context_.prepacked_cache_bytes(), 0u);
  ASSERT_OK(plan.Finish());
  EXPECT_GT(context_.prepacked_cache_bytes(), 0u);
  product_.ExpectRight();
}

// Where Mul would be refused as well; dst is right already, and Finish can be
// called again.
TEST_F(MulPlanTest, APlanThatWouldDeadlockIsFinishedLater) {
  ThreadedProduct planned;
  planned.lhs.set_cache_policy(CachePolicy::kAlwaysCache);
  MulPlan plan;
  ASSERT_OK(planned.Prepare(2, &context_, &plan));
  MulAfter([&] { EXPECT_CODE(kPrecondition, plan.Finish()); });
  planned.ExpectRight();
  EXPECT_EQ(context_.prepacked_cache_bytes(), 0u);
  EXPECT_OK(plan.Finish());
  EXPECT_GT(context_.prepacked_cache_bytes(), 0u);
}

TEST_F(MulPlanTest, APlanHoldsWhatItFoundInTheCache) {
  product_.lhs.set_cache_policy(CachePolicy::kAlwaysCache);
  product_.MulOn(&context_);
  const std::size_t bytes = context_.prepacked_cache_bytes();
  MulPlan plan;
  ASSERT_OK(product_.Prepare(1, &context_, &plan));
  context_.ClearPrepackedCache();
  // Would get the memory, were it free.
  std::vector<std::vector<char>> others;
  for (std::size_t size = bytes / 2; size <= bytes; size += 16) {
    others.emplace_back(size, 'x');
  }
  EXPECT_OK(plan.Run(0));
  ASSERT_OK(plan.Finish());
  product_.ExpectRight();
}

// A single product too; what the first one has kept, the second one finds.
TEST_F(MulPlanTest, APlanIsRepeated) {
  product_.lhs.set_cache_policy(CachePolicy::kAlwaysCache);
  MulPlan plan;
  EXPECT_CODE(kPrecondition, plan.Repeat());
  ASSERT_OK(product_.Prepare(2, &context_, &plan));
  EXPECT_CODE(kPrecondition, plan.Repeat());
  for (int repeat = 0; repeat < 3; ++repeat) {
    EXPECT_OK(plan.Run(1));
    ASSERT_OK(plan.Finish());
    product_.ExpectRight();
    EXPECT_GT(context_.prepacked_cache_bytes(), 0u);
    ASSERT_OK(plan.Repeat());
  }
}

TEST_F(MulPlanTest, APlanOfAPackedMatrix) {
  ASSERT_VALUE(auto packed, Pack(product_.lhs, Side::kLhs, {}, &context_));
  MulPlan plan;
  ASSERT_OK(plan.Prepare(packed, product_.rhs, product_.params, 2, &context_,
                         &product_.dst));
  EXPECT_OK(plan.Run(0));
  ASSERT_OK(plan.Finish());
  product_.ExpectRight();
}

TEST_F(MulPlanTest, APlansErrors) {
  MulPlan plan;
  EXPECT_EQ(plan.num_threads(), 0);
  EXPECT_CODE(kPrecondition, plan.Run(0));
  EXPECT_CODE(kPrecondition, plan.Finish());
  const auto prepare = [&](int threads) {
    return product_.Prepare(threads, &context_, &plan);
  };
  EXPECT_CODE(kInvalid, prepare(0));
  EXPECT_CODE(kPrecondition, plan.Run(0));
  ASSERT_OK(prepare(3));
  ExpectThreads(plan.num_threads(), 3);
  EXPECT_CODE(kInvalid, plan.Run(-1));
  EXPECT_CODE(kInvalid, plan.Run(3));
  ASSERT_OK(plan.Finish());
  product_.ExpectRight();
  EXPECT_CODE(kPrecondition, plan.Finish());
  product_.dst.mutable_layout()->set_rows(1);
  EXPECT_CODE(kInvalid, prepare(2));
  // An empty product is nothing to do.
  product_.lhs.mutable_layout()->set_rows(0);
  product_.dst.mutable_layout()->set_rows(0);
  ASSERT_OK(prepare(2));
  EXPECT_EQ(plan.num_threads(), 0);
  EXPECT_OK(plan.Run(1));
  EXPECT_OK(plan.Finish());
}

// A product too small to share is one thread's; the others return at once.
TEST_F(MulPlanTest, APlanForMoreThreadsThanPayOff) {
  context_.set_num_threads_strategy(NumThreadsStrategy::kDefault);
  FloatProduct small(8, 8, 8);
  MulPlan plan;
  ASSERT_OK(small.Prepare(64, &context_, &plan));
  EXPECT_EQ(plan.num_threads(), 1);
  for (int i = 63; i >= 0; --i) EXPECT_OK(plan.Run(i));
  ASSERT_OK(plan.Finish());
  small.ExpectIs(small.Expected());
}

// A small product, which is one block, is run once, whoever comes and how
// often; and by Finish if nobody does.
TEST_F(MulPlanTest, APlanRunsASmallProductOnce) {
  context_.set_num_threads_strategy(NumThreadsStrategy::kDefault);
  FloatProduct small(8, 8, 8);
  small.params.set_beta(1);
  MulPlan plan;
  for (int runs = 0; runs < 3; ++runs) {
    // Nothing is left of a product that is abandoned.
    for (int i = 0; i < 2; ++i) {
      ASSERT_OK(small.Prepare(2, &context_, &plan));
    }
    for (int i = 0; i < runs; ++i) EXPECT_OK(plan.Run(0));
    EXPECT_OK(plan.Run(1));
    ASSERT_OK(plan.Finish());
    small.ExpectIs(small.Expected());
  }
}

// Elements are read anew for every Repeat, by one Run or by Finish.
TEST_F(MulPlanTest, APlanRepeatsASmallProduct) {
  context_.set_num_threads_strategy(NumThreadsStrategy::kDefault);
  FloatProduct small(9, 7, 8);
  MulPlan plan;
  ASSERT_OK(small.Prepare(2, &context_, &plan));
  for (int repeat = 0; repeat < 4; ++repeat) {
    const auto expected = small.Expected();
    if (repeat % 2 == 0) {
      EXPECT_OK(plan.Run(0));
      small.lhs_values[3] += 1;
      EXPECT_OK(plan.Run(0));
    }
    ASSERT_OK(plan.Finish());
    small.ExpectIs(expected);
    small.rhs_values[5] += 1;
    ASSERT_OK(plan.Repeat());
  }
}

}  // namespace
}  // namespace ruy_like
