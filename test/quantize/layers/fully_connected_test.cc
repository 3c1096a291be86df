#include "ruy_like/quantize/fully_connected.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ruy_like/quantize/bias.h"
#include "test/quantize/expect_conv.h"
#include "test/quantize/reference_conv.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

TensorShape Features(std::ptrdiff_t batch, std::ptrdiff_t count) {
  return {batch, 1, 1, count};
}

TEST(FullyConnectedTest, Golden) {
  Context context;
  Workspace workspace;
  const std::vector<std::int8_t> x = {1, -2, 3, 127, -128, 0};
  const std::vector<std::int8_t> w = {10, -20, 30, -127, 127, 5};
  const std::vector<std::int32_t> bias = {100, -200};
  ASSERT_VALUE(
      const auto weights,
      PackedWeights::Pack(RowMajorOf(w, 2, 3),
                          {ParamsOf(0.01f, 0), ParamsOf(0.02f, 0)}, &context));
  const TensorView<const std::int8_t> input{x.data(), Features(2, 3),
                                            ParamsOf(0.05f, -1)};
  std::vector<std::int32_t> acc(4);
  TensorView<std::int32_t> raw{acc.data(), Features(2, 2), {}};
  ASSERT_OK(FullyConnected(input, weights, bias, &workspace, &context, &raw));
  EXPECT_THAT(acc, ElementsAre(260, -561, 3950, -32580));

  std::vector<std::int8_t> out(4);
  TensorView<std::int8_t> output{out.data(), Features(2, 2), ParamsOf(0.2f, 3)};
  ASSERT_OK(
      FullyConnected(input, weights, bias, &workspace, &context, &output));
  EXPECT_THAT(out, ElementsAre(4, 0, 13, -128));

  output.params.qmin = 3;  // a fused ReLU
  ASSERT_OK(
      FullyConnected(input, weights, bias, &workspace, &context, &output));
  EXPECT_THAT(out, ElementsAre(4, 3, 13, 3));
}

// By TensorFlow Lite's rule: bias of int64, sums 3960000, -2231000, 684795 and
// 6384670, multipliers (28447 / 2^15) * 2^-8 and (20351 / 2^15) * 2^-8, rounded
// half up. With 31 bits three of the results would be 13430, -5413 and 15490.
TEST(FullyConnectedTest, GoldenOfInt16) {
  Context context;
  const std::vector<std::int16_t> x = {1000,   -2000, 30000,
                                       -32768, 32767, 12345};
  const std::vector<std::int8_t> w = {10, -20, 127, -127, 127, 5};
  const QuantParams in = {0.0003f, 0, -32768, 32767},
                    result = {0.00115f, 0, -32768, 32767};
  PackWeightsOptions options;
  options.for_int16 = true;
  ASSERT_VALUE(const auto weights,
               PackedWeights::Pack(RowMajorOf(w, 2, 3),
                                   {ParamsOf(0.013f, 0), ParamsOf(0.0093f, 0)},
                                   &context, options));
  ASSERT_VALUE(const auto bias, NarrowBias({100000, -2000000}));
  ASSERT_VALUE(const auto layer,
               (QuantizedLayer::Make<std::int16_t, std::int16_t>(weights, bias,
                                                                 in, result)));
  std::vector<std::int16_t> out(4);
  TensorView<std::int16_t> output{out.data(), Features(2, 2), result};
  const TensorView<const std::int16_t> input{x.data(), Features(2, 3), in};
  ASSERT_OK(FullyConnected(input, layer, &context, &output));
  EXPECT_THAT(out, ElementsAre(13429, -5412, 2322, 15489));
  output.params.qmin = 0;
  ASSERT_OK(FullyConnected(input, weights, bias, nullptr, &context, &output));
  EXPECT_THAT(out, ElementsAre(13429, 0, 2322, 15489));
}

TEST(FullyConnectedTest, WhatInt16Refuses) {
  Context context;
  const std::vector<std::int8_t> w(6, 127);
  const std::vector<std::int16_t> x(3, 1);
  std::vector<std::int32_t> out(2, 77);
  PackWeightsOptions options;
  options.for_int16 = true;
  const auto pack = [&](const QuantParams& params) {
    return PackedWeights::Pack(RowMajorOf(w, 2, 3), {params}, &context,
                               options);
  };
  ExpectStatus(pack(ParamsOf(1, 3)).status(), kInvalid, {"int16 is 3"});
  const auto run = [&](const PackedWeights& weights, std::int32_t zero_point,
                       std::vector<std::int32_t> bias) {
    TensorView<std::int32_t> output{out.data(), Features(1, 2), {}};
    return FullyConnected(
        TensorView<const std::int16_t>{
            x.data(), Features(1, 3), {1, zero_point, -32768, 32767}},
        weights, bias, nullptr, &context, &output);
  };
  ASSERT_VALUE(const auto weights, pack(ParamsOf(1, 0)));
  ExpectStatus(run(weights, -1, {}), kInvalid, {"zero point is -1"});
  // 3 * 127 * 32768 and this exceed int32 by 1.
  ExpectStatus(run(weights, 0, {0, -2134999040}), kInvalid, {"channel 1"});
  options.for_int16 = false;
  ExpectStatus(run(pack(ParamsOf(1, 0)).value(), 0, {}), kInvalid,
               {"input is int16", "packed for 8 bits"});
  EXPECT_THAT(out, Each(77));
  EXPECT_OK(run(weights, 0, {0, -2134999039}));
  const std::vector<std::int8_t> bytes(3, 1);
  TensorView<std::int32_t> output{out.data(), Features(1, 2), {}};
  ExpectStatus(
      FullyConnected(
          TensorView<const std::int8_t>{bytes.data(), Features(1, 3), {}},
          weights, {}, nullptr, &context, &output),
      kInvalid, {"input is int8", "packed for int16"});
  // As many weights as TensorFlow Lite adds up in int64.
  const std::vector<std::int8_t> deep(517, 127);
  options.for_int16 = true;
  ASSERT_VALUE(const auto too_deep,
               PackedWeights::Pack(RowMajorOf(deep, 1, 517), {ParamsOf(1, 0)},
                                   &context, options));
  ExpectStatus(QuantizedLayer::Make<std::int16_t, std::int32_t>(
                   too_deep, {}, {1, 0, -32768, 32767}, {})
                   .status(),
               kInvalid, {"may overflow int32", "65659", "65535 are safe"});
}

class FullyConnectedPathTest : public PathTest {};
RUY_LIKE_INSTANTIATE_PER_PATH(FullyConnectedPathTest);

template <typename In, typename Out>
void ExpectEqualsReference(std::uint64_t seed, Workspace* workspace,
                           Context* context) {
  Rng rng(seed);
  ConvProblem<In, Out> p;
  p.in_shape = Features(rng.Between(1, 20), rng.Between(1, 300));
  p.out_shape.channels = rng.Between(1, 70);
  FillConvProblem(&rng, &p);
  ASSERT_VALUE(const auto weights, PackWeights(p, context));
  std::vector<Out> out(CountOf(p.out_shape));
  TensorView<Out> output{out.data(), p.out_shape, p.out_params};
  // Not const, and an image that is to be flattened.
  TensorView<In> input{p.input.data(), p.in_shape, p.in_params};
  if (p.in_shape.channels % 6 == 0) {
    input.shape.height = 2;
    input.shape.width = 3;
    input.shape.channels = p.in_shape.channels / 6;
  }
  ASSERT_OK(FullyConnected(input, weights, BiasSpan<Out>(p.bias), workspace,
                           context, &output));
  ASSERT_TRUE(out == p.Reference()) << p.Describe();
  ExpectEndsInTable(p, weights, out,
                    [&](const QuantizedLayer& layer, auto* of_table) {
                      return FullyConnected(input, layer, context, of_table);
                    });

  for (const auto rounding :
       {MultiplierRounding::kOnce, MultiplierRounding::kFloat}) {
    p.rounding = rounding;
    ASSERT_VALUE(const auto layer,
                 QuantizedLayer::Make<In, Out>(weights, p.bias, p.in_params,
                                               p.out_params, rounding));
    std::fill(out.begin(), out.end(), Out{99});
    ASSERT_OK(FullyConnected(input, layer, context, &output));
    ASSERT_TRUE(out == p.Reference())
        << "of a layer made once, " << p.Describe();
  }
}

// Weights and inputs of seven bits are told to Mul: kernels for int7 take them.
TEST_P(FullyConnectedPathTest, SevenBitsAreUsed) {
  const std::string path = PathName(GetParam());
  if (path != "avx2" && path != "avx512") {
    GTEST_SKIP() << path << " has no kernels for int7";
  }
  Rng rng(7);
  std::vector<std::int8_t> w(64 * 96), x(32 * 96);
  for (std::int8_t& v : w) v = static_cast<std::int8_t>(rng.Between(-63, 63));
  for (std::int8_t& v : x) v = static_cast<std::int8_t>(rng.Between(-63, 63));
  for (const bool input_is_int7 : {false, true}) {
    const QuantParams seven = {0.01f, 0, -63, 63};
    ASSERT_VALUE(const auto weights, PackedWeights::Pack(RowMajorOf(w, 64, 96),
                                                         {seven}, &context_));
    const TensorView<const std::int8_t> input{
        x.data(), Features(32, 96),
        input_is_int7 ? seven : ParamsOf(0.05f, -1)};
    std::vector<std::int32_t> acc(32 * 64);
    TensorView<std::int32_t> raw{acc.data(), Features(32, 64), {}};
    ASSERT_OK(FullyConnected(input, weights, {}, nullptr, &context_, &raw));
    EXPECT_THAT(context_.last_used_kernel(),
                HasSubstr(input_is_int7 ? "_S7U7" : "_S7U8"));
  }
}

TEST_P(FullyConnectedPathTest, EqualsReference) {
  Workspace workspace;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    context_.set_max_num_threads(1 + static_cast<int>(seed % 2));
    ForEachLayerType([&](auto in, auto out, int i) {
      ExpectEqualsReference<decltype(in), decltype(out)>(
          seed, i == 1 ? nullptr : &workspace, &context_);
    });
    ExpectEqualsReference<std::int16_t, std::int16_t>(seed, &workspace,
                                                      &context_);
    ExpectEqualsReference<std::int16_t, std::int32_t>(seed, nullptr, &context_);
    if (HasFatalFailure()) return;
  }
}

// 33025 products of 255 * 255 fit in int32, 66311 of 127 * 255.
TEST(FullyConnectedTest, DepthsThatMayOverflow) {
  Context context;
  const auto run = [&](std::ptrdiff_t depth, const QuantParams& weight_params) {
    const std::vector<std::int8_t> w(depth, 127);
    const std::vector<std::int8_t> x(depth, 127);
    const auto weights =
        PackedWeights::Pack(RowMajorOf(w, 1, depth), {weight_params}, &context);
    EXPECT_OK(weights);
    std::int32_t out = -5;
    TensorView<std::int32_t> output{&out, Features(1, 1), {}};
    const absl::Status status = FullyConnected(
        TensorView<const std::int8_t>{x.data(), Features(1, depth),
                                      ParamsOf(1, -128)},
        *weights, {}, nullptr, &context, &output);
    if (status.ok()) {
      EXPECT_EQ(out, depth * 255 * (127 - weight_params.zero_point));
    } else {
      EXPECT_CODE(kInvalid, status);
      EXPECT_THAT(status.message(), HasSubstr("may overflow int32"));
      EXPECT_EQ(out, -5);
    }
    return status.ok();
  };
  const QuantParams symmetric = {1, 0, -127, 127};
  EXPECT_TRUE(run(66311, symmetric));
  EXPECT_FALSE(run(66312, symmetric));
  EXPECT_TRUE(run(33025, ParamsOf(1, -128)));
  EXPECT_FALSE(run(33026, ParamsOf(1, -128)));
}

TEST(FullyConnectedTest, BadInputChangesNothing) {
  Context context;
  const std::vector<std::int8_t> w(6, 1), x(6, 1);
  ASSERT_VALUE(
      const auto weights,
      PackedWeights::Pack(RowMajorOf(w, 2, 3), {QuantParams()}, &context));
  PackWeightsOptions grouped;
  grouped.groups = 2;
  ASSERT_VALUE(const auto in_groups,
               PackedWeights::Pack(RowMajorOf(w, 2, 3), {QuantParams()},
                                   &context, grouped));
  std::vector<std::int8_t> out(4, 77);
  const auto message = [&](const TensorShape& in, const TensorShape& result,
                           const PackedWeights& some_weights) {
    TensorView<std::int8_t> output{out.data(), result, {}};
    return std::string(
        FullyConnected(TensorView<const std::int8_t>{x.data(), in, {}},
                       some_weights, {}, nullptr, &context, &output)
            .message());
  };
  EXPECT_THAT(message(Features(2, 2), Features(2, 2), weights),
              HasSubstr("depth 3 between input 2x1x1x2"));
  EXPECT_THAT(message(Features(2, 3), Features(1, 2), weights),
              HasSubstr("output 1x1x1x2"));
  EXPECT_THAT(message(Features(2, 3), Features(2, 1), weights),
              HasSubstr("output 2x1x1x1"));
  EXPECT_THAT(message(Features(2, 3), Features(2, 2), in_groups),
              HasSubstr("2 groups"));
  EXPECT_THAT(message(Features(2, 3), Features(2, 2), PackedWeights()),
              HasSubstr("0 groups"));
  EXPECT_THAT(out, Each(77));
  EXPECT_EQ(message(Features(0, 3), Features(0, 2), weights), "");
  EXPECT_EQ(message(Features(2, 3), Features(2, 2), weights), "");
}

}  // namespace
}  // namespace ruy_like
