#include "ruy_like/quantize/conv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "test/quantize/expect_conv.h"
#include "test/quantize/reference_conv.h"
#include "test/support/count_allocations.h"
#include "test/support/on_threads.h"
#include "test/support/sanitizers.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

using testing::FloatNear;

template <typename In, typename Out>
ConvProblem<In, Out> RandomConv(std::uint64_t seed) {
  Rng rng(seed);
  ConvProblem<In, Out> p;
  p.window = RandomWindow(&rng);
  p.groups = rng.OneIn(2) ? 1 : rng.Between(2, 4);
  // As many groups as channels are a depthwise convolution, for any types.
  p.in_shape = RandomShape(
      p.window, p.groups * (rng.OneIn(4) ? 1 : rng.Between(1, 20)), &rng);
  p.out_shape.channels = p.groups * rng.Between(1, 20);
  FillConvProblem(&rng, &p);
  return p;
}

template <typename In, typename Out>
void ExpectEqualsReference(const ConvProblem<In, Out>& p, Workspace* workspace,
                           Context* context) {
  ExpectEqualsReference(
      p, PackWeights(p, context),
      [](const auto&... args) { return Conv2D(args...); }, workspace, context);
}

class ConvTest : public PathTest {};
RUY_LIKE_INSTANTIATE_PER_PATH(ConvTest);

TEST_P(ConvTest, EqualsReference) {
  Workspace workspace;
  for (std::uint64_t seed = 0; seed < 60 / kThinning; ++seed) {
    SCOPED_TRACE(seed);
    context_.set_max_num_threads(1 + static_cast<int>(seed % 3));
    ForEachLayerType([&](auto in, auto out, int i) {
      ExpectEqualsReference(
          RandomConv<decltype(in), decltype(out)>(seed + 1000 * i),
          i == 6 ? nullptr : &workspace, &context_);
    });
    if (seed % 4 < 2) {
      ExpectEqualsReference(RandomConv<std::int16_t, std::int16_t>(seed),
                            &workspace, &context_);
    } else if (seed % 4 == 2) {
      ExpectEqualsReference(RandomConv<std::int16_t, std::int32_t>(seed),
                            nullptr, &context_);
    }
    if (HasFatalFailure()) return;
  }
}

// Patches of several parts, gathered by several threads.
TEST_P(ConvTest, LargeImagesEqualReference) {
  Workspace workspace;
  for (const TensorOrder order : {TensorOrder::kNhwc, TensorOrder::kNchw}) {
    for (const int threads : {1, 3}) {
      if (kSanitized && threads == 1) continue;
      context_.set_max_num_threads(threads);
      ExpectEqualsReference(
          MakeConvProblem<std::int8_t, std::int8_t>(7, Square(3, 1, 1, 1),
                                                    {2, 37, 61, 48, order}, 5),
          &workspace, &context_);
      ExpectEqualsReference(
          MakeConvProblem<std::int16_t, std::int16_t>(
              8, Square(3, 1, 1, 1), {1, 37, 61, 24, order}, 5),
          &workspace, &context_);
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
  for (std::uint64_t seed = 0; seed < 24 / kThinning; ++seed) {
    SCOPED_TRACE(seed);
    context_.set_max_num_threads(1 + static_cast<int>(seed % 3));
    ForEachByteType([&](auto in, auto out, int i) {
      ExpectEqualsReference(
          RandomGroupedConv<decltype(in), decltype(out)>(seed + 1000 * i),
          i == 1 ? nullptr : &workspace, &context_);
    });
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
      {6, 2, 2, 9, 17, 3, 1, 1},   {5, 2, 2, 9, 17, 3, 1, 1},
      {34, 2, 5, 7, 6, 3, 2, 1},   {6, 5, 5, 9, 17, 1, 1, 1},
  };
  Workspace workspace;
  std::uint64_t seed = 0;
  for (const auto& c : kCases) {
    SCOPED_TRACE(seed);
    for (const int threads : {1, 3}) {
      if (kSanitized && threads == 1) continue;
      context_.set_max_num_threads(threads);
      const Window window =
          Square(c.kernel, c.stride, c.dilation, c.kernel / 2 * c.dilation);
      auto p = MakeConvProblem<std::int8_t, std::int8_t>(
          ++seed, window,
          {2, c.height, c.width, c.groups * c.in, TensorOrder::kNhwc},
          c.groups * c.out, c.groups);
      for (QuantParams& w : p.weight_params) w.zero_point = 0;
      ExpectEqualsReference(p, &workspace, &context_);
      if (HasFatalFailure()) return;
    }
  }
}

// The first calls of several threads pack the same weights.
TEST(GroupedConvTest, ThreadsShareWeights) {
  auto p = MakeConvProblem<std::int8_t, std::int8_t>(
      13, Square(3, 1, 1, 0), {1, 6, 7, 128, TensorOrder::kNhwc}, 128, 32);
  for (QuantParams& w : p.weight_params) w.zero_point = 0;
  Context packing;
  ASSERT_VALUE(const auto weights, PackWeights(p, &packing));
  constexpr int kThreads = 4;
  std::vector<std::vector<std::int8_t>> out(
      kThreads, std::vector<std::int8_t>(CountOf(p.out_shape)));
  OnThreads(kThreads, [&](int i) {
    Context context;
    TensorView<std::int8_t> output{out[i].data(), p.out_shape, p.out_params};
    EXPECT_OK(Conv2D(p.Input(), weights, BiasSpan<std::int8_t>(p.bias),
                     p.window, nullptr, &context, &output));
  });
  EXPECT_THAT(out, Each(ElementsAreArray(p.Reference())));
}

// An image that is zero gives zeros, padding or not.
TEST(ConvZeroPointTest, ImageOfZeroPointsGivesZero) {
  Context context;
  for (const TensorOrder order : {TensorOrder::kNhwc, TensorOrder::kNchw}) {
    Window window = Square(3, 1, 1, 0);
    window.padding = {2, 1, 1, 2};
    auto p = MakeConvProblem<std::int8_t, std::int32_t>(11, window,
                                                        {1, 6, 5, 4, order}, 3);
    p.input.assign(p.input.size(),
                   static_cast<std::int8_t>(p.in_params.zero_point));
    p.bias.clear();
    ASSERT_VALUE(const auto weights, PackWeights(p, &context));
    std::vector<std::int32_t> out(CountOf(p.out_shape), 5);
    TensorView<std::int32_t> output{out.data(), p.out_shape, {}};
    ASSERT_OK(
        Conv2D(p.Input(), weights, {}, p.window, nullptr, &context, &output));
    EXPECT_THAT(out, Each(0));
  }
}

// Quantized activations and weights, raw accumulators, floats: two channels on
// four positions.
TEST(ConvGoldenTest, DynamicQuantization) {
  const std::vector<std::int8_t> q_in = {32, -64, 16, 127, -8, 48, -127, 64};
  const std::vector<std::int8_t> q_w = {64, -127, 127, 5};
  const QuantParams in_params = {2.0f / 127}, w0 = {0.6f / 127},
                    w1 = {1.2f / 127};
  const TensorShape shape{1, 1, 4, 2, TensorOrder::kNchw};
  Context context;
  ASSERT_VALUE(const auto weights,
               PackedWeights::Pack(RowMajorOf(q_w, 2, 2), {w0, w1}, &context));
  const TensorView<const std::int8_t> input{q_in.data(), shape, in_params};

  std::vector<std::int32_t> acc(8);
  TensorView<std::int32_t> raw{acc.data(), shape, {}};
  ASSERT_OK(Conv2D(input, weights, {}, Window(), nullptr, &context, &raw));
  EXPECT_THAT(acc,
              ElementsAre(3064, -10192, 17153, 0, 4024, -7888, 1397, 16449));

  std::vector<float> out(8);
  TensorView<float> scaled{out.data(), shape, {}};
  const std::vector<float> bias = {0.1f, -0.2f};
  ASSERT_OK(Conv2D(input, weights, bias, Window(), nullptr, &context, &scaled));
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
    auto p = MakeConvProblem<std::int8_t, std::int8_t>(
        3, Square(3, 1, 1, 1), {1, 20, 20, 16, order}, 24, variant < 2 ? 1 : 8);
    p.weight_params.assign(24, p.weight_params[0]);
    for (QuantParams& w : p.weight_params) w.zero_point = 0;
    Context context;
    Workspace workspace;
    ASSERT_VALUE(const auto weights, PackWeights(p, &context));
    std::vector<std::int8_t> out(CountOf(p.out_shape));
    TensorView<std::int8_t> output{out.data(), p.out_shape, p.out_params};
    long allocated = 0;
    for (int i = 0; i < 3; ++i) {
      const long before = allocation_count;
      ASSERT_OK(Conv2D(p.Input(), weights, BiasSpan<std::int8_t>(p.bias),
                       p.window, &workspace, &context, &output));
      allocated = allocation_count - before;
    }
    EXPECT_EQ(allocated, 0);
    EXPECT_GT(workspace.capacity_bytes(), 0u);
  }
}

// ## Bad input

// A call that succeeds, of which each case spoils something.
struct Call {
  absl::Status Run() {
    return Conv2D(input, weights, BiasSpan<std::int8_t>(bias), window, nullptr,
                  context, &output);
  }

  Context* context;
  PackedWeights weights;
  std::vector<std::int32_t> bias;
  TensorView<const std::int8_t> input;
  TensorView<std::int8_t> output;
  Window window;
};

TEST(ConvErrorTest, BadInputChangesNothing) {
  constexpr std::ptrdiff_t kHuge = PTRDIFF_MAX / 64;
  const struct {
    const char* message;
    void (*spoil)(Call* call);
  } kCases[] = {
      {"context is null", [](Call* c) { c->context = nullptr; }},
      {"input (1x4x4x6 NHWC) has null data",
       [](Call* c) { c->input.data = nullptr; }},
      {"output (1x3x3x4 NHWC) has null data",
       [](Call* c) { c->output.data = nullptr; }},
      {"weights are empty", [](Call* c) { c->weights = PackedWeights(); }},
      {"3 biases for weights of 4 channels",
       [](Call* c) { c->bias.resize(3); }},
      {"output is 1x4x3x4 NHWC, not 1x3x3x4 NHWC",
       [](Call* c) { c->output.shape.height = 4; }},
      {"output is 1x3x3x4 NCHW",
       [](Call* c) { c->output.shape.order = TensorOrder::kNchw; }},
      {"unknown order 7",
       [](Call* c) {
         c->input.shape.order = c->output.shape.order =
             static_cast<TensorOrder>(7);
       }},
      {"the window covers 5 elements of height",
       [](Call* c) { c->window.dilation_height = 4; }},
      {"stride 0", [](Call* c) { c->window.stride_width = 0; }},
      {"padding -1 and 0", [](Call* c) { c->window.padding.left = -1; }},
      {"weights of depth 12 in 2 groups",
       [](Call* c) { c->input.shape.channels = 5; }},
      {"for a kernel of 2x1",
       [](Call* c) {
         c->window.kernel_width = 1;
         c->output.shape.width = 4;
       }},
      {"overflow",
       [](Call* c) { c->input.shape.batch = c->output.shape.batch = kHuge; }},
      {"negative size",
       [](Call* c) { c->input.shape.batch = c->output.shape.batch = -1; }},
      {"input", [](Call* c) { c->input.params.zero_point = 128; }},
      {"input and output share memory",
       [](Call* c) { c->input.data = c->output.data + 35; }},
  };
  auto p = MakeConvProblem<std::int8_t, std::int8_t>(
      5, Square(2, 1, 1, 0), {1, 4, 4, 6, TensorOrder::kNhwc}, 4, 2);
  p.bias.resize(4);
  Context context;
  // As many as the largest of the outputs has.
  std::vector<std::int8_t> out(48, 77);
  const Call good = {
      &context,  PackWeights(p, &context).value(),        p.bias,
      p.Input(), {out.data(), p.out_shape, p.out_params}, p.window};
  const auto expect_error = [&](Call* call, const char* message) {
    const absl::Status status = call->Run();
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(status.message(), HasSubstr(message));
    EXPECT_THAT(out, Each(77));
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.message);
    Call call = good;
    c.spoil(&call);
    expect_error(&call, c.message);
  }
  for (const float bad : {0.0f, -1.0f, kInf, kNan}) {
    Call bad_input = good, bad_output = good;
    bad_input.input.params.scale = bad_output.output.params.scale = bad;
    expect_error(&bad_input, "input");
    expect_error(&bad_output, "output");
  }
  TensorView<std::int8_t>* const none = nullptr;
  EXPECT_CODE(kInvalid, Conv2D(good.input, good.weights, {}, good.window,
                               nullptr, &context, none));
  Call call = good;
  EXPECT_OK(call.Run());
  out.resize(CountOf(p.out_shape));
  EXPECT_THAT(out, ElementsAreArray(p.Reference()));
}

TEST(PackedWeightsTest, BadInput) {
  Context context;
  const std::vector<std::int8_t> data = {1, 2, 3, 4, 5, 64};
  Matrix<std::int8_t> matrix = RowMajorOf(data, 3, 2);
  const QuantParams params, seven_bits = {1, 0, -63, 63};
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
  const QuantParams shifted = {1, 1}, no_scale = {0};
  EXPECT_THAT(message({params, params, shifted}, 1),
              HasSubstr("one zero point"));
  EXPECT_THAT(message({no_scale}, 1), HasSubstr("weights"));
  EXPECT_FALSE(PackedWeights::Pack(matrix, {params}, nullptr).ok());
  matrix.set_data(nullptr);
  EXPECT_THAT(message({params}, 1), HasSubstr("null data"));
  matrix.mutable_layout()->set_stride(1);
  EXPECT_THAT(message({params}, 1), HasSubstr("stride"));
}

}  // namespace
}  // namespace ruy_like
