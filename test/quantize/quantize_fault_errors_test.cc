// Faults in calls of the quantization toolkit that return an error: their
// messages take memory.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "ruy_like/quantize/quantize.h"
#include "test/quantize/fault_injection.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kPrecondition = absl::StatusCode::kFailedPrecondition;
constexpr auto kNotFound = absl::StatusCode::kNotFound;

template <typename T>
TensorView<T>* NoTensor() {
  return nullptr;
}

const Kind kErrors[] = {
    {"QuantizeWithoutScale", kInvalid,
     [](World* w) {
       return Quantize<std::int8_t>(w->in.x, {0, 0, -128, 127},
                                    absl::MakeSpan(w->out->q));
     }},
    {"QuantizeOtherShape", kInvalid,
     [](World* w) {
       auto q = ColMajorOf(w->out->q, 3, 4);
       return Quantize(ColMajorOf(w->in.x, 4, 3), kParams, &q);
     }},
    {"DequantizeOtherSize", kInvalid,
     [](World* w) {
       return Dequantize<std::uint8_t>(w->in.u, kUnsigned,
                                       absl::MakeSpan(w->out->f).first(3));
     }},
    {"ChooseSymmetricChannelsOfNoBits", kInvalid,
     [](World* w) {
       return ChooseSymmetricChannels(RowMajorOf(w->in.x, 4, 100),
                                      ChannelDimension::kRow, 0);
     }},
    {"DequantizeAccWithTooFewScales", kInvalid,
     [](World* w) {
       auto x = ColMajorOf(w->out->f, 4, 4);
       return DequantizeAcc(ColMajorOf(w->in.acc, 4, 4),
                            absl::MakeConstSpan(w->in.scales).first(2), {},
                            ChannelDimension::kRow, &x);
     }},
    {"RequantizeByNan", kInvalid,
     [](World* w) {
       return Requantize<std::int8_t>(w->in.acc, double{kNan}, kParams,
                                      absl::MakeSpan(w->out->q));
     }},
    {"RequantizeToUsedRangeByNan", kInvalid,
     [](World* w) {
       return RequantizeToUsedRange(w->in.acc, kNan, absl::MakeSpan(w->out->u));
     }},
    {"QuantizedAddOfNan", kInvalid,
     [](World* w) {
       return QuantizedAdd8p8To32({w->in.u, {kNan, 1}}, {w->in.u, {0, 3}},
                                  absl::MakeSpan(w->out->i))
           .status();
     }},
    {"QuantizedAddOfOtherSizes", kInvalid,
     [](World* w) {
       return QuantizedAdd8p8To8(
                  {w->in.u, {0, 1}},
                  {absl::MakeConstSpan(w->in.u).first(7), {0, 1}}, {},
                  absl::MakeSpan(w->out->u))
           .status();
     }},
    {"QuantizedMulToNull", kInvalid,
     [](World* w) {
       return QuantizedMul(w->Input(), w->Input(), nullptr,
                           NoTensor<std::int8_t>());
     }},
    {"QuantizedAddToNull", kInvalid,
     [](World* w) {
       return QuantizedAdd(w->Input(), w->Input(), nullptr,
                           NoTensor<std::int8_t>());
     }},
    {"RequantizeTensorToNull", kInvalid,
     [](World* w) {
       return Requantize(w->Input(), nullptr, NoTensor<std::int8_t>());
     }},
    {"ConcatOfNothing", kInvalid,
     [](World* w) {
       auto out = w->Output({1, 1, 1, 1});
       return Concat(absl::Span<const TensorView<const std::int8_t>>(),
                     TensorAxis::kBatch, nullptr, &out);
     }},
    {"ChooseSymmetricOfNan", kInvalid,
     [](World*) { return ChooseSymmetric(kNan, 8); }},
    {"ChooseAffineOfNan", kInvalid,
     [](World*) { return ChooseAffine(kNan, 1, 0, 255); }},
    {"ValidateQuantParams", kInvalid,
     [](World*) { return ValidateQuantParams(kUnsigned, -128, 127, "q"); }},
    {"QuantizeMultiplierOfNan", kInvalid,
     [](World*) { return QuantizeMultiplier(kNan); }},
    {"SetMultipliersOfNull", kInvalid,
     [](World*) {
       return SetMultipliers<std::int8_t>(kParams, kParams, kParams, nullptr);
     }},
    {"SetMultipliersOfTooFewChannels", kInvalid,
     [](World* w) {
       MulParams<std::int32_t, std::int8_t> params;
       return SetMultipliers(w->in.channel_params, kParams, kParams,
                             absl::MakeSpan(w->out->i.data(), 3),
                             absl::MakeSpan(w->out->i.data() + kChannels, 3),
                             &params);
     }},
    {"SetMultipliersOfChannelsOfNull", kInvalid,
     [](World* w) {
       return SetMultipliers<std::int8_t>(
           w->in.channel_params, kParams, kParams,
           absl::MakeSpan(w->out->i.data(), kChannels),
           absl::MakeSpan(w->out->i.data() + kChannels, kChannels), nullptr);
     }},
    {"QuantizeBiasOfOtherSize", kInvalid,
     [](World* w) {
       return QuantizeBias(w->in.bias, kParams, w->in.channel_params,
                           absl::MakeSpan(w->out->i.data(), 3));
     }},
    {"FoldBatchNormOfOtherSize", kInvalid,
     [](World* w) {
       return FoldBatchNorm(BatchNorm(), &w->weights,
                            absl::MakeSpan(w->out->f).last(kChannels));
     }},
    {"EqualizeLayersOfNothing", kInvalid,
     [](World*) { return EqualizeLayers({}); }},
    {"CorrectBiasOfNothing", kInvalid,
     [](World* w) {
       return CorrectBias(w->first, {},
                          absl::MakeConstSpan(w->in.ones).first(6), {});
     }},
    {"CorrectMeasuredBiasOfNothing", kInvalid,
     [](World* w) {
       return CorrectMeasuredBias(w->first, w->second, ChannelDimension::kRow,
                                  {});
     }},
    {"MovingAverageChooseParams", kPrecondition,
     [](World* w) { return w->average.ChooseParams({}); }},
    {"ChannelObserverChooseParams", kPrecondition,
     [](World* w) { return w->channels.ChooseParams({}); }},
    {"ReportLayerOfNoParams", kInvalid,
     [](World* w) {
       return ReportLayer("a layer", w->in.few(), {}, {0, 0, 0, 0});
     }},
    {"CalibrationFromNoJson", kInvalid,
     [](World*) { return CalibrationFromJson("{\"x\": 1}"); }},
    {"CalibrationFromNoNcnnTable", kInvalid,
     [](World*) { return CalibrationFromNcnnTable("a\n"); }},
    {"LoadCalibrationOfNoFile", kNotFound,
     [](World* w) { return LoadCalibration(w->in.no_file); }},
    {"LoadNcnnTableOfNoFile", kNotFound,
     [](World* w) { return LoadNcnnTable(w->in.no_file); }},
    {"OutputShapeOfNothing", kInvalid,
     [](World*) { return OutputShape(kImage, Window(), -1); }},
    {"SamePaddingOfNothing", kInvalid,
     [](World*) {
       Window window;
       window.stride_width = 0;
       return SamePadding(kImage, window);
     }},
    {"SetRangeOfNan", kInvalid,
     [](World* w) { return w->observer.SetRange(kNan); }},
    {"SetRangeTooLate", kPrecondition,
     [](World* w) { return w->observer.SetRange(1); }},
    {"ObserveNull", kInvalid,
     [](World* w) {
       return w->observer.Observe(
           absl::Span<const float>(static_cast<const float*>(nullptr), 5));
     }},
    {"MergeOfOtherRange", kPrecondition,
     [](World* w) {
       const absl::Status status = w->ranged.SetRange(3);
       return status.ok() ? w->observer.Merge(w->ranged) : status;
     }},
    {"ThresholdOfNoBits", kInvalid,
     [](World* w) {
       CalibrationOptions options;
       options.bits = 0;
       return w->observer.Threshold(options);
     }},
    {"ChooseParamsOfUnknownScheme", kInvalid,
     [](World* w) {
       CalibrationOptions options;
       options.scheme = static_cast<QuantScheme>(9);
       return w->observer.ChooseParams(options);
     }},
    {"ChooseEntropyThresholdOfNoLevels", kInvalid,
     [](World* w) {
       return ChooseEntropyThreshold({w->in.bins, 1, 0}, 0);
     }},
    {"ChoosePercentileThresholdOfNothing", kInvalid,
     [](World*) { return ChoosePercentileThreshold({}, 99); }},
    {"ChooseMseThresholdOfNothing", kInvalid,
     [](World*) { return ChooseMseThreshold({}, 127); }},
    {"GaussianClipFactor", kInvalid,
     [](World*) { return GaussianClipFactor(0); }},
    {"LaplaceClipFactor", kInvalid,
     [](World*) { return LaplaceClipFactor(0); }},
    {"EqSearchWithoutContext", kInvalid,
     [](World* w) {
       return EqSearch(w->weights, {w->activations}, {}, nullptr);
     }},
    {"EqSearchOfOtherShape", kInvalid,
     [](World* w) {
       return EqSearch(w->weights, absl::MakeConstSpan(&w->activations, 1), {},
                       &w->context);
     }},
    {"PackedWeightsOfThreeGroups", kInvalid,
     [](World* w) {
       PackWeightsOptions options;
       options.groups = 3;
       return PackedWeights::Pack(RowMajorOf(w->in.q, kChannels, 10),
                                  w->in.channel_params, &w->context, options);
     }},
    {"DepthwiseWeightsOfTooFewParams", kInvalid,
     [](World* w) {
       return DepthwiseWeights::Pack(
           ColMajorOf(w->in.q, kChannels, 9),
           absl::MakeConstSpan(w->in.channel_params).first(5));
     }},
    {"QuantizedLayerOfNoWeights", kInvalid,
     [](World*) {
       return QuantizedLayer::Make<std::int8_t, std::int8_t>(
           PackedWeights(), {}, kParams, kParams);
     }},
    {"Conv2DOfNoLayer", kInvalid,
     [](World* w) {
       auto out = w->Output();
       return Conv2D(w->Input(), QuantizedLayer(), Window(), nullptr,
                     &w->context, &out);
     }},
    {"FullyConnectedToNull", kInvalid,
     [](World* w) {
       return FullyConnected(w->Input(), w->in.pointwise, w->in.int_bias,
                             nullptr, &w->context, NoTensor<std::int8_t>());
     }},
    {"FullyConnectedOfOtherShape", kInvalid,
     [](World* w) {
       auto out = w->Output();
       return FullyConnected(w->Input(), w->in.pointwise, w->in.int_bias,
                             nullptr, &w->context, &out);
     }},
    {"Conv2DToNull", kInvalid,
     [](World* w) {
       return Conv2D(w->Input(), w->in.pointwise, w->in.int_bias, Window(),
                     nullptr, &w->context, NoTensor<std::int8_t>());
     }},
    {"Conv2DOfOtherShape", kInvalid,
     [](World* w) {
       auto out = w->Output();
       return Conv2D(w->Input(), w->in.pointwise, w->in.int_bias, kKernel3x3,
                     nullptr, &w->context, &out);
     }},
    {"DepthwiseConv2DToNull", kInvalid,
     [](World* w) {
       return DepthwiseConv2D(w->Input(), w->in.depthwise, w->in.int_bias,
                              kKernel3x3, nullptr, &w->context,
                              NoTensor<std::int8_t>());
     }},
    {"DepthwiseConv2DOfOtherShape", kInvalid,
     [](World* w) {
       auto out = w->Output();
       return DepthwiseConv2D(w->Input(), w->in.depthwise, w->in.int_bias,
                              Window(), nullptr, &w->context, &out);
     }},
    {"MaxPool2DToNull", kInvalid,
     [](World* w) {
       return MaxPool2D(w->Input(), kKernel3x3, nullptr, &w->context,
                        NoTensor<std::int8_t>());
     }},
    {"AveragePool2DToNull", kInvalid,
     [](World* w) {
       return AveragePool2D(w->Input(), kKernel3x3, nullptr, &w->context,
                            NoTensor<std::int8_t>());
     }},
    {"MaxPool2DRequantizing", kInvalid,
     [](World* w) {
       auto out = w->Image(w->out->q.data(), QuantParams());
       return MaxPool2D(w->Input(), kKernel3x3, nullptr, &w->context, &out);
     }},
};

using QuantizeFaultErrorsTest = QuantizeFaultTest;
INSTANTIATE_TEST_SUITE_P(Threads, QuantizeFaultErrorsTest,
                         testing::Values(Threads::kOne), ThreadsName);

TEST_P(QuantizeFaultErrorsTest, EachFailure) { TryEachKind(kErrors); }

}  // namespace
}  // namespace ruy_like
