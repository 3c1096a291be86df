#include "ruy_like/quantize/conv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "test/quantize/expect_conv.h"
#include "test/quantize/reference_conv.h"
#include "test/support/count_allocations.h"
#include "test/support/guarded_buffer.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::FloatNear;
using testing::HasSubstr;

template <typename In, typename Out>
ConvProblem<In, Out> RandomConv(std::uint64_t seed) {
  Rng rng(seed);
  ConvProblem<In, Out> p;
  p.window = RandomWindow(&rng);
  p.groups = rng.OneIn(2) ? 1 : rng.Between(2, 4);
  p.in_shape = RandomShape(p.window, p.groups * rng.Between(1, 20), &rng);
  p.out_shape.channels = p.groups * rng.Between(1, 20);
  FillConvProblem(&rng, &p);
  return p;
}

template <typename In, typename Out>
void ExpectEqualsReference(const ConvProblem<In, Out>& p, Workspace* workspace,
                           Context* context) {
  PackWeightsOptions options;
  options.groups = p.groups;
  ExpectEqualsReference(
      p,
      PackedWeights::Pack(p.WeightMatrix(), p.weight_params, context, options),
      [](const auto&... args) { return Conv2D(args...); }, workspace, context);
}

class ConvTest : public PathTest {};
RUY_LIKE_INSTANTIATE_PER_PATH(ConvTest);

TEST_P(ConvTest, EqualsReference) {
  Workspace workspace;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    context_.set_max_num_threads(1 + static_cast<int>(seed % 3));
    ForEachLayerType([&](auto in, auto out, int i) {
      ExpectEqualsReference(
          RandomConv<decltype(in), decltype(out)>(seed + 1000 * i),
          i == 6 ? nullptr : &workspace, &context_);
    });
    if (HasFatalFailure()) return;
  }
}

// Patches of several parts, gathered by several threads.
TEST_P(ConvTest, LargeImagesEqualReference) {
  Workspace workspace;
  for (const TensorOrder order : {TensorOrder::kNhwc, TensorOrder::kNchw}) {
    for (const int threads : {1, 3}) {
      context_.set_max_num_threads(threads);
      Rng rng(7);
      ConvProblem<std::int8_t, std::int8_t> p;
      p.window.kernel_height = p.window.kernel_width = 3;
      p.window.padding = {1, 1, 1, 1};
      p.in_shape = {2, 37, 61, 48, order};
      p.out_shape.channels = 5;
      FillConvProblem(&rng, &p);
      ExpectEqualsReference(p, &workspace, &context_);
    }
  }
}

// Groups of few channels, and of numbers of channels around those of lanes and
// blocks of vectors; more groups than a vector has.
template <typename In, typename Out>
ConvProblem<In, Out> RandomGroupedConv(std::uint64_t seed) {
  constexpr std::ptrdiff_t kChannels[] = {1,  2,  3,  4,  5,  8,  9,
                                          12, 15, 16, 17, 24, 32, 40};
  Rng rng(seed);
  const auto channels = [&] {
    return kChannels[rng.Between(0, std::size(kChannels) - 1)];
  };
  ConvProblem<In, Out> p;
  p.window = RandomWindow(&rng);
  p.groups = rng.OneIn(2) ? rng.Between(2, 9) : rng.Between(10, 40);
  const std::ptrdiff_t in = channels();
  p.in_shape = RandomShape(p.window, p.groups * in, &rng);
  // Often as many, which fill vectors of outputs.
  p.out_shape.channels = p.groups * (rng.OneIn(2) ? in : channels());
  FillConvProblem(&rng, &p);
  for (QuantParams& w : p.weight_params) {
    if (!rng.OneIn(8)) w.zero_point = 0;
  }
  for (QuantParams& w : p.weight_params) {
    w.zero_point = p.weight_params[0].zero_point;
  }
  return p;
}

TEST_P(ConvTest, GroupsEqualReference) {
  Workspace workspace;
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    SCOPED_TRACE(seed);
    context_.set_max_num_threads(1 + static_cast<int>(seed % 3));
    ExpectEqualsReference(RandomGroupedConv<std::int8_t, std::int8_t>(seed),
                          &workspace, &context_);
    ExpectEqualsReference(
        RandomGroupedConv<std::uint8_t, std::uint8_t>(seed + 1000), nullptr,
        &context_);
    ExpectEqualsReference(
        RandomGroupedConv<std::uint8_t, std::int8_t>(seed + 2000), &workspace,
        &context_);
    ExpectEqualsReference(
        RandomGroupedConv<std::int8_t, std::uint8_t>(seed + 3000), &workspace,
        &context_);
    if (HasFatalFailure()) return;
  }
}

// Rows that several blocks and threads compute, widths around those of tiles,
// whole and partial vectors of output channels, strides and dilations beyond
// the window's size.
TEST_P(ConvTest, GroupedRowsEqualReference) {
  struct {
    std::ptrdiff_t groups, in, out, height, width, kernel, stride, dilation;
  } constexpr kCases[] = {
      {5, 4, 4, 61, 58, 3, 1, 1},  {4, 3, 3, 9, 12, 3, 2, 1},
      {6, 4, 3, 7, 5, 3, 1, 2},    {3, 8, 8, 90, 57, 3, 2, 1},
      {2, 8, 8, 11, 3, 3, 1, 1},   {2, 24, 24, 29, 31, 3, 1, 1},
      {2, 20, 80, 9, 14, 1, 1, 1}, {3, 80, 20, 9, 14, 1, 1, 1},
      {2, 32, 32, 21, 9, 1, 3, 1}, {2, 16, 13, 17, 19, 2, 5, 3},
      {2, 7, 15, 13, 2, 3, 1, 1},  {2, 36, 23, 10, 10, 3, 1, 1},
      {2, 9, 17, 40, 8, 3, 1, 17}, {2, 16, 16, 150, 150, 3, 1, 1},
  };
  Workspace workspace;
  std::uint64_t seed = 0;
  for (const auto& c : kCases) {
    SCOPED_TRACE(seed);
    for (const int threads : {1, 3}) {
      context_.set_max_num_threads(threads);
      Rng rng(++seed);
      ConvProblem<std::int8_t, std::int8_t> p;
      p.window.kernel_height = p.window.kernel_width = c.kernel;
      p.window.stride_height = p.window.stride_width = c.stride;
      p.window.dilation_height = p.window.dilation_width = c.dilation;
      const std::ptrdiff_t padding = c.kernel / 2 * c.dilation;
      p.window.padding = {padding, padding, padding, padding};
      p.groups = c.groups;
      p.in_shape = {2, c.height, c.width, c.groups * c.in, TensorOrder::kNhwc};
      p.out_shape.channels = c.groups * c.out;
      FillConvProblem(&rng, &p);
      for (QuantParams& w : p.weight_params) w.zero_point = 0;
      ExpectEqualsReference(p, &workspace, &context_);
      if (HasFatalFailure()) return;
    }
  }
}

// The first calls of several threads pack the same weights.
TEST(GroupedConvTest, ThreadsShareWeights) {
  Rng rng(13);
  ConvProblem<std::int8_t, std::int8_t> p;
  p.window.kernel_height = p.window.kernel_width = 3;
  p.groups = 32;
  p.in_shape = {1, 6, 7, 128, TensorOrder::kNhwc};
  p.out_shape.channels = 128;
  FillConvProblem(&rng, &p);
  for (QuantParams& w : p.weight_params) w.zero_point = 0;
  Context packing;
  PackWeightsOptions options;
  options.groups = p.groups;
  const auto weights =
      PackedWeights::Pack(p.WeightMatrix(), p.weight_params, &packing, options);
  ASSERT_TRUE(weights.ok()) << weights.status();
  constexpr int kThreads = 4;
  std::vector<std::vector<std::int8_t>> out(
      kThreads, std::vector<std::int8_t>(CountOf(p.out_shape)));
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      Context context;
      TensorView<std::int8_t> output{out[i].data(), p.out_shape, p.out_params};
      EXPECT_TRUE(Conv2D(p.Input(), *weights, BiasSpan<std::int8_t>(p.bias),
                         p.window, nullptr, &context, &output)
                      .ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(out, Each(ElementsAreArray(p.Reference())));
}

// An image that is zero gives zeros, padding or not.
TEST(ConvZeroPointTest, ImageOfZeroPointsGivesZero) {
  Context context;
  for (const TensorOrder order : {TensorOrder::kNhwc, TensorOrder::kNchw}) {
    Rng rng(11);
    ConvProblem<std::int8_t, std::int32_t> p;
    p.window.kernel_height = p.window.kernel_width = 3;
    p.window.padding = {2, 1, 1, 2};
    p.in_shape = {1, 6, 5, 4, order};
    p.out_shape.channels = 3;
    FillConvProblem(&rng, &p);
    p.input.assign(p.input.size(),
                   static_cast<std::int8_t>(p.in_params.zero_point));
    p.bias.clear();
    const auto weights =
        PackedWeights::Pack(p.WeightMatrix(), p.weight_params, &context);
    ASSERT_TRUE(weights.ok());
    std::vector<std::int32_t> out(CountOf(p.out_shape), 5);
    TensorView<std::int32_t> output{out.data(), p.out_shape, {}};
    ASSERT_TRUE(
        Conv2D(p.Input(), *weights, {}, p.window, nullptr, &context, &output)
            .ok());
    EXPECT_THAT(out, Each(0));
  }
}

// Quantized activations and weights, raw accumulators, floats: two channels on
// four positions.
TEST(ConvGoldenTest, DynamicQuantization) {
  const std::vector<std::int8_t> q_in = {32, -64, 16, 127, -8, 48, -127, 64};
  const std::vector<std::int8_t> q_w = {64, -127, 127, 5};
  QuantParams in_params, w0, w1;
  in_params.scale = 2.0f / 127;
  w0.scale = 0.6f / 127;
  w1.scale = 1.2f / 127;
  const TensorShape shape{1, 1, 4, 2, TensorOrder::kNchw};
  Context context;
  const auto weights = PackedWeights::Pack(
      MakeMatrix(q_w.data(), 2, 2, Order::kRowMajor), {w0, w1}, &context);
  ASSERT_TRUE(weights.ok()) << weights.status();
  const TensorView<const std::int8_t> input{q_in.data(), shape, in_params};

  std::vector<std::int32_t> acc(8);
  TensorView<std::int32_t> raw{acc.data(), shape, {}};
  ASSERT_TRUE(
      Conv2D(input, *weights, {}, Window(), nullptr, &context, &raw).ok());
  EXPECT_THAT(acc,
              ElementsAre(3064, -10192, 17153, 0, 4024, -7888, 1397, 16449));

  std::vector<float> out(8);
  TensorView<float> scaled{out.data(), shape, {}};
  const std::vector<float> bias = {0.1f, -0.2f};
  ASSERT_TRUE(
      Conv2D(input, *weights, bias, Window(), nullptr, &context, &scaled).ok());
  const std::vector<float> expected = {.327962f, -.658286f, 1.376186f,
                                       .1f,      .398772f,  -1.373737f,
                                       .007874f, 2.247616f};
  for (int i = 0; i < 8; ++i) EXPECT_NEAR(out[i], expected[i], 1e-5) << i;
}

TEST(ConvAllocationTest, SteadyStateAllocatesNothing) {
  if (!kCountsAllocations) GTEST_SKIP();
  for (const int variant : {0, 1, 2, 3}) {
    const TensorOrder order =
        variant % 2 == 0 ? TensorOrder::kNhwc : TensorOrder::kNchw;
    Rng rng(3);
    ConvProblem<std::int8_t, std::int8_t> p;
    p.window.kernel_height = p.window.kernel_width = 3;
    p.window.padding = {1, 1, 1, 1};
    p.groups = variant < 2 ? 1 : 8;
    p.in_shape = {1, 20, 20, 16, order};
    p.out_shape.channels = 24;
    FillConvProblem(&rng, &p);
    p.weight_params.assign(24, p.weight_params[0]);
    for (QuantParams& w : p.weight_params) w.zero_point = 0;
    Context context;
    Workspace workspace;
    PackWeightsOptions options;
    options.groups = p.groups;
    const auto weights = PackedWeights::Pack(p.WeightMatrix(), p.weight_params,
                                             &context, options);
    ASSERT_TRUE(weights.ok());
    std::vector<std::int8_t> out(CountOf(p.out_shape));
    TensorView<std::int8_t> output{out.data(), p.out_shape, p.out_params};
    long allocated = 0;
    for (int i = 0; i < 3; ++i) {
      const long before = allocation_count;
      ASSERT_TRUE(Conv2D(p.Input(), *weights, BiasSpan<std::int8_t>(p.bias),
                         p.window, &workspace, &context, &output)
                      .ok());
      allocated = allocation_count - before;
    }
    EXPECT_EQ(allocated, 0);
    EXPECT_GT(workspace.capacity_bytes(), 0u);
  }
}

// ## Bad input

class ConvErrorTest : public testing::Test {
 protected:
  ConvErrorTest() {
    Rng rng(5);
    p_.window.kernel_height = p_.window.kernel_width = 2;
    p_.groups = 2;
    p_.in_shape = {1, 4, 4, 6, TensorOrder::kNhwc};
    p_.out_shape.channels = 4;
    FillConvProblem(&rng, &p_);
    p_.bias.resize(4);
    PackWeightsOptions options;
    options.groups = 2;
    weights_ = PackedWeights::Pack(p_.WeightMatrix(), p_.weight_params,
                                   &context_, options)
                   .value();
    out_.assign(CountOf(p_.out_shape), 77);
    input_ = p_.Input();
    output_ = {out_.data(), p_.out_shape, p_.out_params};
    bias_ = p_.bias;
    window_ = p_.window;
  }

  void ExpectError(const std::string& message) {
    const absl::Status status =
        Conv2D(input_, weights_, BiasSpan<std::int8_t>(bias_), window_, nullptr,
               context_pointer_, &output_);
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(status.message(), HasSubstr(message));
    EXPECT_THAT(out_, Each(77));
  }

  ConvProblem<std::int8_t, std::int8_t> p_;
  Context context_;
  Context* context_pointer_ = &context_;
  PackedWeights weights_;
  std::vector<std::int8_t> out_;
  std::vector<std::int32_t> bias_;
  TensorView<const std::int8_t> input_;
  TensorView<std::int8_t> output_;
  Window window_;
};

TEST_F(ConvErrorTest, Works) {
  EXPECT_TRUE(Conv2D(input_, weights_, BiasSpan<std::int8_t>(bias_), window_,
                     nullptr, &context_, &output_)
                  .ok());
  EXPECT_THAT(out_, ElementsAreArray(p_.Reference()));
}
TEST_F(ConvErrorTest, NullContext) {
  context_pointer_ = nullptr;
  ExpectError("context is null");
}
TEST_F(ConvErrorTest, NullOutput) {
  TensorView<std::int8_t>* const none = nullptr;
  EXPECT_FALSE(
      Conv2D(input_, weights_, {}, window_, nullptr, &context_, none).ok());
}
TEST_F(ConvErrorTest, NullInputData) {
  input_.data = nullptr;
  ExpectError("input (1x4x4x6 NHWC) has null data");
}
TEST_F(ConvErrorTest, NullOutputData) {
  output_.data = nullptr;
  ExpectError("output (1x3x3x4 NHWC) has null data");
}
TEST_F(ConvErrorTest, EmptyWeights) {
  weights_ = PackedWeights();
  ExpectError("weights are empty");
}
TEST_F(ConvErrorTest, BiasOfAnotherSize) {
  bias_.resize(3);
  ExpectError("3 biases for weights of 4 channels");
}
TEST_F(ConvErrorTest, OutputOfAnotherShape) {
  output_.shape.height = 4;
  ExpectError("output is 1x4x3x4 NHWC, not 1x3x3x4 NHWC");
}
TEST_F(ConvErrorTest, OutputOfAnotherOrder) {
  output_.shape.order = TensorOrder::kNchw;
  ExpectError("output is 1x3x3x4 NCHW");
}
TEST_F(ConvErrorTest, UnknownOrder) {
  input_.shape.order = output_.shape.order = static_cast<TensorOrder>(7);
  ExpectError("unknown order 7");
}
TEST_F(ConvErrorTest, WindowLargerThanImage) {
  window_.dilation_height = 4;
  ExpectError("the window covers 5 elements of height");
}
TEST_F(ConvErrorTest, ZeroStride) {
  window_.stride_width = 0;
  ExpectError("stride 0");
}
TEST_F(ConvErrorTest, NegativePadding) {
  window_.padding.left = -1;
  ExpectError("padding -1 and 0");
}
TEST_F(ConvErrorTest, ChannelsThatGroupsDoNotDivide) {
  input_.shape.channels = 5;
  ExpectError("weights of depth 12 in 2 groups");
}
TEST_F(ConvErrorTest, WeightsOfAnotherKernel) {
  window_.kernel_width = 1;
  output_.shape.width = 4;
  std::vector<std::int8_t> larger(CountOf(output_.shape), 77);
  output_.data = larger.data();
  ExpectError("for a kernel of 2x1");
}
TEST_F(ConvErrorTest, SizesThatOverflow) {
  input_.shape.batch = output_.shape.batch =
      std::numeric_limits<std::ptrdiff_t>::max() / 64;
  ExpectError("overflow");
}
TEST_F(ConvErrorTest, NegativeBatch) {
  input_.shape.batch = output_.shape.batch = -1;
  ExpectError("negative size");
}
TEST_F(ConvErrorTest, BadScales) {
  for (const float bad : {0.0f, -1.0f, std::numeric_limits<float>::infinity(),
                          std::numeric_limits<float>::quiet_NaN()}) {
    input_.params.scale = bad;
    ExpectError("input");
    input_ = p_.Input();
    output_.params.scale = bad;
    ExpectError("output");
    output_.params = p_.out_params;
  }
}
TEST_F(ConvErrorTest, ZeroPointOutsideOfTheType) {
  input_.params.zero_point = 128;
  ExpectError("input");
}
TEST_F(ConvErrorTest, SharedMemory) {
  input_.data = out_.data() + out_.size() - 1;
  ExpectError("input and output share memory");
}

TEST(PackedWeightsTest, BadInput) {
  Context context;
  const std::vector<std::int8_t> data = {1, 2, 3, 4, 5, 64};
  Matrix<std::int8_t> matrix = MakeMatrix(data.data(), 3, 2, Order::kRowMajor);
  QuantParams params, seven_bits;
  seven_bits.qmin = -63;
  seven_bits.qmax = 63;
  const auto message = [&](const std::vector<QuantParams>& p, int groups) {
    PackWeightsOptions options;
    options.groups = groups;
    return std::string(
        PackedWeights::Pack(matrix, p, &context, options).status().message());
  };
  EXPECT_EQ(message({params}, 1), "");
  EXPECT_EQ(message({params}, 3), "");
  EXPECT_THAT(message({params}, 2), HasSubstr("3 channels in 2 groups"));
  EXPECT_THAT(message({params}, 0), HasSubstr("3 channels in 0 groups"));
  EXPECT_THAT(message({params, params}, 1), HasSubstr("2 QuantParams"));
  EXPECT_THAT(message({}, 1), HasSubstr("0 QuantParams"));
  EXPECT_THAT(message({seven_bits}, 1),
              HasSubstr("weight 64 of channel 2 is outside of [-63, 63]"));
  QuantParams shifted = params;
  shifted.zero_point = 1;
  EXPECT_THAT(message({params, params, shifted}, 1),
              HasSubstr("one zero point"));
  QuantParams no_scale = params;
  no_scale.scale = 0;
  EXPECT_THAT(message({no_scale}, 1), HasSubstr("weights"));
  EXPECT_FALSE(PackedWeights::Pack(matrix, {params}, nullptr).ok());
  matrix.set_data(nullptr);
  EXPECT_THAT(message({params}, 1), HasSubstr("null data"));
  matrix.mutable_layout()->set_stride(1);
  EXPECT_THAT(message({params}, 1), HasSubstr("stride"));
}

}  // namespace
}  // namespace ruy_like
