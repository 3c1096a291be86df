// MulExperts: the sums of single products, whatever the types, routing, threads
// and Executors; bad input is refused with nothing written.
#include "ruy_like/mul_experts.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "ruy_like/group_weights.h"
#include "ruy_like/packed_matrix.h"
#include "test/support/executors.h"
#include "test/support/expert_problem.h"
#include "test/support/sanitizers.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

class MulExpertsTest : public PathTest {};
RUY_LIKE_INSTANTIATE_PER_PATH(MulExpertsTest);

TEST_P(MulExpertsTest, HasTheBitsOfSingleProducts) {
  for (std::uint64_t seed = 0; seed < (kSanitized ? 60 : 300); ++seed) {
    UseThreads(static_cast<int>(seed % 4 + 1), &context_);
    CheckExperts(seed, {&context_});
    ASSERT_FALSE(HasFatalFailure());
  }
}

TEST_P(MulExpertsTest, AnyExecutorGivesACompleteResult) {
  TestExecutor executor(4, RunInOrder);
  TestExecutor lazy(4, [](int, auto, void*) {});
  UseThreads(4, &context_);
  for (TestExecutor* const e : {&executor, &lazy}) {
    context_.set_executor(e);
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      CheckExperts(seed, {&context_});
      ASSERT_FALSE(HasFatalFailure());
    }
  }
  context_.set_executor(nullptr);
}

// Three experts of 5x8 weights of 4 bits, one without pairs.
struct Call {
  std::vector<std::uint8_t> levels = std::vector<std::uint8_t>(5 * 4, 0x5a);
  std::vector<float> scales = std::vector<float>(5, 0.5f);
  std::vector<float> values = std::vector<float>(8 * 4, 1);
  std::vector<float> result = std::vector<float>(5 * 4, 7);
  std::vector<float> others = std::vector<float>(40, 7);
  std::vector<PackedGroupWeights> experts;
  std::vector<std::int32_t> counts = {3, 0, 2};
  std::vector<std::int32_t> sources = {0, 1, 3, 1, 0};
  std::vector<std::int32_t> targets = {0, 1, 2, 1, 0};
  absl::Span<const float> factors = {others.data(), 5};
  Matrix<float> activations = MakeMatrix(values.data(), 8, 4, Order::kColMajor);
  Matrix<float> dst = MakeMatrix(result.data(), 5, 4, Order::kColMajor);
  std::ptrdiff_t bias_stride = 0;
  GroupMulParams params;
  PostOps post_ops;
  Context context;

  PackedGroupWeights Expert(std::ptrdiff_t rows, std::ptrdiff_t group_size) {
    GroupWeights weights;
    weights.rows = rows;
    weights.depth = 8;
    weights.group_size = group_size;
    weights.levels = levels.data();
    weights.set_scales(scales.data());
    return *PackGroupWeights(weights, &context);
  }
  Call() { experts.assign(3, Expert(5, 16)); }
  absl::Status Run() {
    ExpertRouting routing;
    routing.counts = counts;
    routing.sources = sources;
    routing.targets = targets;
    routing.factors = factors;
    routing.bias_stride = bias_stride;
    return MulExperts(experts, activations, routing, params, &context, &dst);
  }
};

TEST(BadExpertsTest, ArgumentsAreRefused) {
  constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
  const struct {
    std::function<void(Call*)> spoil;
    absl::StatusCode code;
    const char* message;
  } cases[] = {
      {[](Call* c) { c->experts.clear(); }, kInvalid, "there are no experts"},
      {[](Call* c) { c->counts.pop_back(); }, kInvalid,
       "counts has 2 elements, not one for each of the 3 experts"},
      {[](Call* c) { c->counts[1] = -1; }, kInvalid,
       "the count of expert 1 is negative: -1"},
      {[=](Call* c) {
         c->counts = {kMost, kMost, kMost};
       },
       kOutOfRange, "pairs are too many"},
      {[](Call* c) { c->counts[1] = 1; }, kInvalid,
       "factors has 5 elements, not one for each of the 6 pairs"},
      {[](Call* c) { c->sources.pop_back(); }, kInvalid,
       "sources has 4 elements, not one for each of the 5 pairs"},
      {[](Call* c) { c->targets.push_back(0); }, kInvalid,
       "targets has 6 elements, not one for each of the 5 pairs"},
      {[](Call* c) { c->sources[3] = 4; }, kInvalid,
       "element 3 of sources is 4, but activations has 4 columns"},
      {[](Call* c) { c->sources[0] = -1; }, kInvalid,
       "element 0 of sources is -1"},
      {[](Call* c) { c->targets[4] = kMost; }, kInvalid,
       "element 4 of targets is 2147483647, but dst has 4 columns"},
      {[](Call* c) { c->sources.clear(); }, kInvalid,
       "activations has 4 columns for 5 pairs, and sources is empty"},
      {[](Call* c) { c->targets.clear(); }, kInvalid,
       "dst has 4 columns for 5 pairs, and targets is empty"},
      {[](Call* c) {
         c->activations = MakeMatrix(c->values.data(), 8, 4, Order::kRowMajor);
       },
       kInvalid, "activations must be column-major"},
      {[](Call* c) {
         c->dst = MakeMatrix(c->result.data(), 5, 4, Order::kRowMajor);
       },
       kInvalid, "dst must be column-major"},
      {[](Call* c) { c->bias_stride = -5; }, kInvalid,
       "bias_stride is negative: -5"},
      {[](Call* c) { c->activations.set_data(static_cast<float*>(nullptr)); },
       kInvalid, "expert 0: rhs"},
      {[](Call* c) { c->dst.set_data(static_cast<float*>(nullptr)); }, kInvalid,
       "expert 0: dst"},
      {[](Call* c) { c->activations.mutable_layout()->set_rows(7); }, kInvalid,
       "expert 0: dimensions do not match"},
      {[](Call* c) { c->dst.mutable_layout()->set_rows(4); }, kInvalid,
       "expert 0: dimensions do not match"},
      {[](Call* c) { c->experts[1] = c->Expert(4, 16); }, kInvalid,
       "expert 1: dimensions do not match"},
      {[](Call* c) { c->experts[2] = PackedGroupWeights(); }, kInvalid,
       "expert 2: dimensions do not match"},
      {[](Call* c) { c->params.channel_dimension = ChannelDimension::kCol; },
       kInvalid, "channels are along columns"},
      {[](Call* c) {
         c->post_ops.residual = c->dst;
         c->params.post_ops = &c->post_ops;
       },
       kInvalid, "the residual of experts' post-ops is a matrix"},
      {[](Call* c) { c->dst.set_data(c->values.data() + 12); }, kInvalid,
       "expert 0: dst"},
      {[](Call* c) {
         c->params.bias = c->others.data();
         c->bias_stride = 5;
         c->dst.set_data(c->others.data() + 14);
       },
       kInvalid, "expert 2: dst"},
      {[](Call* c) { c->dst.set_data(c->others.data() + 4); }, kInvalid,
       "dst shares elements with factors"},
  };
  for (const auto& c : cases) {
    Call call;
    c.spoil(&call);
    const std::vector<float> before[] = {call.result, call.values, call.others};
    const absl::Status status = call.Run();
    ExpectStatus(status, c.code, {c.message});
    EXPECT_EQ(call.result, before[0]) << c.message;
    EXPECT_EQ(call.values, before[1]) << c.message;
    EXPECT_EQ(call.others, before[2]) << c.message;
  }
  Call call;
  EXPECT_OK(call.Run());
  EXPECT_CODE(kInvalid,
              MulExperts(call.experts, call.activations, ExpertRouting(),
                         call.params, nullptr, &call.dst));
  EXPECT_CODE(kInvalid, MulExperts(call.experts, call.activations,
                                   ExpertRouting(), call.params, &call.context,
                                   static_cast<Matrix<float>*>(nullptr)));
}

// Those of columns would be the columns of pairs, not of dst.
TEST(BadExpertsTest, ZeroPointsOfPostOps) {
  Context context;
  std::vector<std::int8_t> values(8 * 8, 1);
  const auto matrix = MakeMatrix(values.data(), 8, 8, Order::kRowMajor);
  const std::vector<PackedMatrix<std::int8_t>> experts = {
      *Pack(matrix, Side::kLhs, PackOptions(), &context)};
  Matrix<std::int8_t> activations =
      MakeMatrix(values.data(), 8, 1, Order::kColMajor);
  std::vector<float> result(8, 7);
  Matrix<float> dst = MakeMatrix(result.data(), 8, 1, Order::kColMajor);
  const std::vector<std::int32_t> counts = {3}, columns = {0, 0, 0};
  ExpertRouting routing;
  routing.counts = counts;
  routing.sources = routing.targets = columns;
  const std::vector<std::int32_t> zero_points(8, 3);
  PostOps of_rows, of_columns;
  of_rows.lhs_zero_points = zero_points;
  of_columns.rhs_zero_points = absl::MakeConstSpan(zero_points).first(1);
  MulParams<std::int32_t, float> params;
  for (const PostOps* ops : {&of_rows, &of_columns}) {
    params.set_post_ops(ops);
    ExpectStatus(
        MulExperts(experts, activations, routing, params, &context, &dst),
        kInvalid, {"zero points of rows and columns"});
    EXPECT_EQ(result, std::vector<float>(8, 7));
  }
}

// One scale per group of a column serves experts with these groups alone.
TEST(BadExpertsTest, GroupsOfOtherSizes) {
  Call call;
  call.levels.resize(40 * 5);
  const auto expert = [&](std::ptrdiff_t group_size) {
    GroupWeights weights;
    weights.rows = 5;
    weights.depth = 48;
    weights.group_size = group_size;
    weights.levels = call.levels.data();
    std::vector<float> scales(15, 1.0f);
    weights.set_scales(scales.data());
    return *PackGroupWeights(weights, &call.context);
  };
  call.experts = {expert(32), expert(16), expert(16)};
  call.values.resize(48 * 4);
  call.activations = MakeMatrix(call.values.data(), 48, 4, Order::kColMajor);
  EXPECT_OK(call.Run());
  call.params.quantize = ActivationScales::kPerGroup;
  ExpectStatus(call.Run(), kInvalid, {"expert 2: its groups"});
}

// Sums are floats; without them dst has any type.
TEST(BadExpertsTest, SumsOfIntegers) {
  Context context;
  std::vector<std::int8_t> values(16, 1);
  std::vector<std::int32_t> result(4);
  const auto matrix = MakeMatrix(values.data(), 4, 4, Order::kColMajor);
  ASSERT_VALUE(const auto packed,
               Pack(matrix, Side::kLhs, PackOptions(), &context));
  const std::vector<PackedMatrix<std::int8_t>> experts = {packed};
  auto dst = MakeMatrix(result.data(), 4, 1, Order::kColMajor);
  ExpertRouting routing;
  const std::int32_t counts[] = {1}, columns[] = {2};
  routing.counts = counts;
  routing.sources = columns;
  const MulParams<std::int32_t, std::int32_t> params;
  EXPECT_OK(MulExperts(experts, matrix, routing, params, &context, &dst));
  EXPECT_EQ(result, std::vector<std::int32_t>(4, 4));
  const float factors[] = {2};
  routing.factors = factors;
  ExpectStatus(MulExperts(experts, matrix, routing, params, &context, &dst),
               kInvalid, {"not for int32"});
  // A step in which no token chose these experts, with results in rows.
  const std::int32_t none[] = {0};
  ExpertRouting empty;
  empty.counts = none;
  auto rows = MakeMatrix(result.data(), 4, 0, Order::kRowMajor);
  EXPECT_OK(MulExperts(experts, matrix, empty, params, &context, &rows));
}

}  // namespace
}  // namespace ruy_like
