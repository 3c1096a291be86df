// MulBatch, MulGroup and plans of batches: bad input is refused as a whole, by
// the product's number, with nothing written.
#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "ruy_like/mul_batch.h"
#include "ruy_like/mul_plan.h"
#include "ruy_like/packed_matrix.h"
#include "test/support/batch_problem.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

using std::ptrdiff_t;

constexpr ptrdiff_t kHuge = std::numeric_limits<ptrdiff_t>::max() / 4;

class BadBatchTest : public testing::Test {
 protected:
  // Refused, with nothing written.
  template <typename Problem>
  void ExpectRefused(Problem* problem, absl::StatusCode code,
                     const char* message) {
    const auto before = problem->result;
    for (const int threads : {1, 4}) {
      context_.set_max_num_threads(threads);
      const absl::Status status = problem->Run(&context_);
      ExpectStatus(status, code, {message});
      EXPECT_EQ(problem->result, before);
      MulPlan plan;
      EXPECT_EQ(problem->Prepare(threads, &context_, &plan), status);
      ExpectNothingPrepared(&plan);
      EXPECT_EQ(problem->result, before);
    }
  }
  static void ExpectNothingPrepared(MulPlan* plan) {
    EXPECT_EQ(plan->num_threads(), 0);
    EXPECT_CODE(kPrecondition, plan->Run(0));
    EXPECT_CODE(kPrecondition, plan->Finish());
    EXPECT_CODE(kPrecondition, plan->Repeat());
  }

  Context context_;
  BatchProblem<Float> problem_{{4, 5, 6}, 3, {1}};
};

TEST_F(BadBatchTest, NegativeNumbers) {
  problem_.batch.count = -1;
  ExpectRefused(&problem_, kInvalid, "count is negative: -1");
  problem_.batch.count = 3;
  problem_.batch.outer_count = -1;
  ExpectRefused(&problem_, kInvalid, "outer_count is negative: -1");
  for (ptrdiff_t Batch::*stride :
       {&Batch::lhs_stride, &Batch::rhs_stride, &Batch::dst_stride,
        &Batch::bias_stride, &Batch::lhs_outer_stride, &Batch::rhs_outer_stride,
        &Batch::dst_outer_stride, &Batch::bias_outer_stride}) {
    BatchProblem<Float> problem({4, 5, 6}, 3, {1});
    problem.batch.*stride = -40;
    ExpectRefused(&problem, kInvalid, "_stride is negative: -40");
  }
}

TEST_F(BadBatchTest, SizesThatOverflow) {
  for (ptrdiff_t Batch::*stride : {&Batch::lhs_stride, &Batch::rhs_stride,
                                   &Batch::dst_stride, &Batch::bias_stride}) {
    for (const ptrdiff_t value : {kHuge / 4, kHuge}) {
      BatchProblem<Float> problem({4, 5, 6}, 3, {1});
      problem.batch.*stride = value;
      ExpectRefused(&problem, kOutOfRange, "overflows");
    }
  }
  problem_.batch.count = std::numeric_limits<ptrdiff_t>::max();
  ExpectRefused(&problem_, kOutOfRange, "overflows");
  problem_.batch.outer_count = 2;
  ExpectRefused(&problem_, kOutOfRange, "times 2 products overflow");
  problem_.batch.count = 3;
  problem_.batch.rhs_outer_stride = kHuge;
  ExpectRefused(&problem_, kOutOfRange, "2 times with rhs_outer_stride");
}

// Dst of 2 x 3 elements, without gaps, in any order of the levels' strides.
TEST_F(BadBatchTest, LevelsWhoseDstMeet) {
  const auto strides = [](BatchProblem<Float>* problem, ptrdiff_t inner,
                          ptrdiff_t outer) {
    problem->batch.count = problem->batch.outer_count = 2;
    problem->batch.dst_stride = inner;
    problem->batch.dst_outer_stride = outer;
  };
  for (const auto& apart : {std::pair{6, 12}, {12, 6}, {6, 13}, {20, 6}}) {
    BatchProblem<Float> problem({2, 5, 3}, 8, {});
    strides(&problem, apart.first, apart.second);
    EXPECT_OK(problem.Run(&context_)) << apart.first << ", " << apart.second;
  }
  for (const auto& meeting :
       {std::pair{6, 6}, {6, 5}, {6, 11}, {11, 6}, {6, 0}, {0, 6}, {7, 6}}) {
    BatchProblem<Float> problem({2, 5, 3}, 8, {});
    strides(&problem, meeting.first, meeting.second);
    ExpectRefused(&problem, kInvalid, "dst shares elements with the dst of");
  }
}

// Its stride is not used: no stride is too large.
TEST_F(BadBatchTest, OneProductMayHaveAnyStride) {
  constexpr ptrdiff_t kMost = std::numeric_limits<ptrdiff_t>::max();
  problem_.batch = {1, kMost, kMost, kMost, kMost};
  EXPECT_OK(problem_.Run(&context_));
  MulPlan plan;
  EXPECT_OK(problem_.Prepare(1, &context_, &plan));
  EXPECT_OK(plan.Finish());
}

TEST_F(BadBatchTest, WhatMulRefuses) {
  problem_.rhs.mutable_layout()->set_rows(4);
  ExpectRefused(&problem_, kInvalid, "product 0: dimensions do not match");
}

TEST_F(BadBatchTest, NullPointers) {
  EXPECT_CODE(kInvalid, MulBatch(problem_.lhs, problem_.rhs, problem_.params,
                                 problem_.batch, nullptr, &problem_.dst));
  EXPECT_CODE(kInvalid, MulBatch(problem_.lhs, problem_.rhs, problem_.params,
                                 problem_.batch, &context_,
                                 static_cast<Matrix<float>*>(nullptr)));
  EXPECT_CODE(kInvalid, MulGroup(std::vector<FloatGroupProduct>(), nullptr));
}

TEST_F(BadBatchTest, PlansThatAreNotReady) {
  MulPlan plan;
  ExpectNothingPrepared(&plan);
  EXPECT_CODE(kInvalid, problem_.Prepare(0, &context_, &plan));
  EXPECT_CODE(kInvalid, problem_.Prepare(1, nullptr, &plan));
  ExpectNothingPrepared(&plan);
  ASSERT_OK(problem_.Prepare(2, &context_, &plan));
  EXPECT_CODE(kPrecondition, plan.Repeat());
  EXPECT_CODE(kInvalid, plan.Run(-1));
  EXPECT_CODE(kInvalid, plan.Run(2));
  EXPECT_OK(plan.Finish());
  EXPECT_CODE(kPrecondition, plan.Run(0));
  EXPECT_OK(plan.Repeat());
  // Another one is prepared, in vain.
  problem_.batch.count = -1;
  EXPECT_CODE(kInvalid, problem_.Prepare(2, &context_, &plan));
  ExpectNothingPrepared(&plan);
}

TEST_F(BadBatchTest, PlansOfNothing) {
  MulPlan plan;
  problem_.batch.count = 0;
  const auto before = problem_.result;
  ASSERT_OK(problem_.Prepare(2, &context_, &plan));
  for (int repeat = 0; repeat < 2; ++repeat) {
    EXPECT_EQ(plan.num_threads(), 0);
    EXPECT_OK(plan.Run(1));
    EXPECT_OK(plan.Finish());
    EXPECT_OK(plan.Repeat());
  }
  EXPECT_EQ(problem_.result, before);
}

TEST_F(BadBatchTest, AStrideOfAPackedMatrix) {
  ASSERT_VALUE(const auto lhs, Pack(problem_.lhs, Side::kLhs, {}, &context_));
  ExpectStatus(MulBatch(lhs, problem_.rhs, problem_.params, problem_.batch,
                        &context_, &problem_.dst),
               kInvalid, {"lhs_stride is 23"});
}

TEST_F(BadBatchTest, DstThatShareElements) {
  for (const ptrdiff_t stride : {0, 1, 23}) {
    problem_.batch.dst_stride = stride;
    ExpectRefused(&problem_, kInvalid,
                  "product 1: dst shares elements with the dst of product 0");
  }
  problem_.batch.dst_stride = 24;
  EXPECT_OK(problem_.Run(&context_));
}

// By brute force over all elements.
TEST_F(BadBatchTest, DstMayLieInEachOthersGaps) {
  int shared = 0;
  for (const ptrdiff_t gap : {0, 1, 5, 9}) {
    for (ptrdiff_t count = 2; count <= 5; ++count) {
      for (ptrdiff_t stride = 0; stride <= 40; ++stride) {
        BatchProblem<Float> problem({3, 2, 4}, count, {0, gap, true, true});
        problem.batch.dst_stride = stride;
        problem.result.assign(400, 77.f);
        problem.dst.set_data(problem.result.data());
        std::vector<int> writers(400);
        bool is_shared = false;
        for (ptrdiff_t i = 0; i < count; ++i) {
          for (int row = 0; row < 3; ++row) {
            for (int col = 0; col < 4; ++col) {
              is_shared |=
                  ++writers[i * stride +
                            ElementOffset(problem.dst.layout(), row, col)] > 1;
            }
          }
        }
        shared += is_shared;
        EXPECT_EQ(problem.Run(&context_).ok(), !is_shared)
            << "gap " << gap << ", count " << count << ", stride " << stride;
      }
    }
  }
  EXPECT_GT(shared, 50);
}

// The operand of one product is the dst of another.
TEST_F(BadBatchTest, DstOfAnotherProductsOperand) {
  std::vector<float> memory(400, 1.f);
  problem_.lhs.set_data(memory.data());  // 3 x 23 elements
  problem_.batch.lhs_stride = 23;
  problem_.dst.set_data(memory.data() + 46);  // the third one's
  problem_.batch.dst_stride = 30;
  const auto before = memory;
  ExpectStatus(problem_.Run(&context_), kInvalid,
               {"product 0: dst shares elements with lhs of product 2"});
  EXPECT_EQ(memory, before);
  // Between the operands' elements there is room.
  problem_.batch.lhs_stride = 60;
  problem_.batch.dst_stride = 60;
  problem_.dst.set_data(memory.data() + 30);
  EXPECT_OK(problem_.Run(&context_));
}

TEST_F(BadBatchTest, DstOfAnotherProductsBias) {
  std::vector<float> memory(400, 1.f);
  problem_.params.set_bias(memory.data());
  problem_.batch.bias_stride = 100;
  problem_.dst.set_data(memory.data() + 8);
  problem_.batch.dst_stride = 90;  // the second one's is 98 to 121
  ExpectStatus(problem_.Run(&context_), kInvalid,
               {"product 1: dst shares elements with bias of product 1"});
}

TEST_F(BadBatchTest, GroupsNameTheProduct) {
  std::vector<float> rows(17 * 100);
  const struct {
    std::function<void(GroupProblem*)> spoil;
    const char* message;
  } cases[] = {
      {[](auto* g) {
         g->products[5].lhs.set_data(static_cast<float*>(nullptr));
       },
       "product 5: lhs"},
      {[](auto* g) { g->products[3].dst.mutable_layout()->set_rows(1); },
       "product 3: dimensions do not match"},
      {[](auto* g) { g->products[7].dst.set_data(g->result[6].data() + 5); },
       "product 7: dst shares elements with the dst of product 6"},
      {[](auto* g) { g->products[1].rhs.set_data(g->result[6].data()); },
       "product 6: dst shares elements with rhs of product 1"},
      {[](auto* g) { g->products[0].mul_params.set_bias(g->result[7].data()); },
       "product 7: dst shares elements with bias of product 0"},
      // dst in each other's gaps, and an operand in one of them.
      {[&](auto* g) {
         auto& products = g->products;
         products[0].dst = MakeMatrix(rows.data(), 5, 3, Order::kColMajor, 90);
         products[7].dst =
             MakeMatrix(rows.data() + 10, 17, 23, Order::kColMajor, 45);
         products[1].rhs.set_data(rows.data() + 12);
       },
       "product 7: dst shares elements with rhs of product 1"}};
  for (const auto& c : cases) {
    GroupProblem group(8);
    c.spoil(&group);
    const auto before = group.result;
    const absl::Status status = MulGroup(group.products, &context_);
    ExpectStatus(status, kInvalid);
    EXPECT_EQ(status.message().find(c.message), 0u) << status;
    EXPECT_EQ(group.result, before);
  }
  EXPECT_CODE(kInvalid, MulGroup(GroupProblem(3).products, &context_, {-1}));
}

TEST_F(BadBatchTest, DstOfAGroupMayLieInEachOthersGaps) {
  GroupProblem group(2);
  std::vector<float> rows(400);
  group.products[0].dst = MakeMatrix(rows.data(), 5, 3, Order::kColMajor, 90);
  group.products[1] = group.products[0];
  group.products[1].dst.set_data(rows.data() + 5);
  EXPECT_OK(MulGroup(group.products, &context_));
  group.products[1].dst.set_data(rows.data() + 4);
  ExpectStatus(MulGroup(group.products, &context_), kInvalid,
               {"product 1: dst shares elements with the dst of product 0"});
}

}  // namespace
}  // namespace ruy_like
