// Faults in calls of the quantization toolkit that return an error: their
// messages take memory.
#include <gtest/gtest.h>

#include <cstdint>

#include "ruy_like/quantize/quantize.h"
#include "test/quantize/fault_injection.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

template <typename T>
TensorView<T>* NoTensor() {
  return nullptr;
}

Calls<World> BadCalls() {
  Calls<World> calls;
  calls.Invalid("QuantizeWithoutScale", [](World* w) {
    return Quantize<std::int8_t>(w->in.x, {0, 0, -128, 127},
                                 absl::MakeSpan(w->out->q));
  });
  calls.Invalid("QuantizeOtherShape", [](World* w) {
    auto q = ColMajorOf(w->out->q, 3, 4);
    return Quantize(ColMajorOf(w->in.x, 4, 3), kParams, &q);
  });
  calls.Invalid("DequantizeOtherSize", [](World* w) {
    return Dequantize<std::uint8_t>(w->in.u, kUnsigned,
                                    absl::MakeSpan(w->out->f).first(3));
  });
  calls.Invalid("ChooseSymmetricChannelsOfNoBits", [](World* w) {
    return ChooseSymmetricChannels(RowMajorOf(w->in.x, 4, 100),
                                   ChannelDimension::kRow, 0);
  });
  calls.Invalid("DequantizeAccWithTooFewScales", [](World* w) {
    auto x = ColMajorOf(w->out->f, 4, 4);
    return DequantizeAcc(ColMajorOf(w->in.acc, 4, 4),
                         absl::MakeConstSpan(w->in.scales).first(2), {},
                         ChannelDimension::kRow, &x);
  });
  calls.Invalid("RequantizeByNan", [](World* w) {
    return Requantize<std::int8_t>(w->in.acc, double{kNan}, kParams,
                                   absl::MakeSpan(w->out->q));
  });
  calls.Invalid("RequantizeToUsedRangeByNan", [](World* w) {
    return RequantizeToUsedRange(w->in.acc, kNan, absl::MakeSpan(w->out->u));
  });
  calls.Invalid("QuantizedAddOfNan", [](World* w) {
    return QuantizedAdd8p8To32({w->in.u, {kNan, 1}}, {w->in.u, {0, 3}},
                               absl::MakeSpan(w->out->i));
  });
  calls.Invalid("QuantizedAddOfOtherSizes", [](World* w) {
    return QuantizedAdd8p8To8({w->in.u, {0, 1}},
                              {absl::MakeConstSpan(w->in.u).first(7), {0, 1}},
                              {}, absl::MakeSpan(w->out->u));
  });
  calls.Invalid("QuantizedMulToNull", [](World* w) {
    return QuantizedMul(w->Input(), w->Input(), nullptr,
                        NoTensor<std::int8_t>());
  });
  calls.Invalid("QuantizedAddToNull", [](World* w) {
    return QuantizedAdd(w->Input(), w->Input(), nullptr,
                        NoTensor<std::int8_t>());
  });
  calls.Invalid("RequantizeTensorToNull", [](World* w) {
    return Requantize(w->Input(), nullptr, NoTensor<std::int8_t>());
  });
  calls.Invalid("ConcatOfNothing", [](World* w) {
    return Concat(absl::Span<const TensorView<const std::int8_t>>(),
                  TensorAxis::kBatch, nullptr, w->Output({1, 1, 1, 1}));
  });
  calls.Invalid("ChooseSymmetricOfNan",
                [](World*) { return ChooseSymmetric(kNan, 8); });
  calls.Invalid("ChooseAffineOfNan",
                [](World*) { return ChooseAffine(kNan, 1, 0, 255); });
  calls.Invalid("ValidateQuantParams", [](World*) {
    return ValidateQuantParams(kUnsigned, -128, 127, "q");
  });
  calls.Invalid("QuantizeMultiplierOfNan",
                [](World*) { return QuantizeMultiplier(kNan); });
  calls.Invalid("SetMultipliersOfNull", [](World*) {
    return SetMultipliers<std::int8_t>(kParams, kParams, kParams, nullptr);
  });
  calls.Invalid("SetMultipliersOfTooFewChannels", [](World* w) {
    MulParams<std::int32_t, std::int8_t> params;
    return SetMultipliers(w->in.channel_params, kParams, kParams,
                          absl::MakeSpan(w->out->i.data(), 3),
                          absl::MakeSpan(w->out->i.data() + kChannels, 3),
                          &params);
  });
  calls.Invalid("SetMultipliersOfChannelsOfNull", [](World* w) {
    return SetMultipliers<std::int8_t>(
        w->in.channel_params, kParams, kParams,
        absl::MakeSpan(w->out->i.data(), kChannels),
        absl::MakeSpan(w->out->i.data() + kChannels, kChannels), nullptr);
  });
  calls.Invalid("QuantizeBiasOfOtherSize", [](World* w) {
    return QuantizeBias(w->in.bias, kParams, w->in.channel_params,
                        absl::MakeSpan(w->out->i.data(), 3));
  });
  calls.Invalid("FoldBatchNormOfOtherSize", [](World* w) {
    return FoldBatchNorm(BatchNorm(), &w->weights,
                         absl::MakeSpan(w->out->f).last(kChannels));
  });
  calls.Invalid("EqualizeLayersOfNothing",
                [](World*) { return EqualizeLayers({}); });
  calls.Invalid("CorrectBiasOfNothing", [](World* w) {
    return CorrectBias(w->first, {}, absl::MakeConstSpan(w->in.ones).first(6),
                       {});
  });
  calls.Invalid("CorrectMeasuredBiasOfNothing", [](World* w) {
    return CorrectMeasuredBias(w->first, w->second, ChannelDimension::kRow, {});
  });
  calls.Add("MovingAverageChooseParams", kPrecondition,
            [](World* w) { return w->average.ChooseParams({}); });
  calls.Add("ChannelObserverChooseParams", kPrecondition,
            [](World* w) { return w->channels.ChooseParams({}); });
  calls.Invalid("ReportLayerOfNoParams", [](World* w) {
    return ReportLayer("a layer", w->in.few(), {}, {0, 0, 0, 0});
  });
  calls.Invalid("CalibrationFromNoJson",
                [](World*) { return CalibrationFromJson("{\"x\": 1}"); });
  calls.Invalid("CalibrationFromNoNcnnTable",
                [](World*) { return CalibrationFromNcnnTable("a\n"); });
  calls.Add("LoadCalibrationOfNoFile", kNotFound,
            [](World* w) { return LoadCalibration(w->in.no_file); });
  calls.Add("LoadNcnnTableOfNoFile", kNotFound,
            [](World* w) { return LoadNcnnTable(w->in.no_file); });
  calls.Invalid("OutputShapeOfNothing",
                [](World*) { return OutputShape(kImage, Window(), -1); });
  calls.Invalid("SamePaddingOfNothing", [](World*) {
    Window window;
    window.stride_width = 0;
    return SamePadding(kImage, window);
  });
  calls.Invalid("SetRangeOfNan",
                [](World* w) { return w->observer.SetRange(kNan); });
  calls.Add("SetRangeTooLate", kPrecondition,
            [](World* w) { return w->observer.SetRange(1); });
  calls.Invalid("ObserveNull", [](World* w) {
    return w->observer.Observe(
        absl::Span<const float>(static_cast<const float*>(nullptr), 5));
  });
  calls.Add("MergeOfOtherRange", kPrecondition, [](World* w) {
    const absl::Status status = w->ranged.SetRange(3);
    return status.ok() ? w->observer.Merge(w->ranged) : status;
  });
  calls.Invalid("ThresholdOfNoBits", [](World* w) {
    CalibrationOptions options;
    options.bits = 0;
    return w->observer.Threshold(options);
  });
  calls.Invalid("ChooseParamsOfUnknownScheme", [](World* w) {
    CalibrationOptions options;
    options.scheme = static_cast<QuantScheme>(9);
    return w->observer.ChooseParams(options);
  });
  calls.Invalid("ChooseEntropyThresholdOfNoLevels", [](World* w) {
    return ChooseEntropyThreshold({w->in.bins, 1, 0}, 0);
  });
  calls.Invalid("ChoosePercentileThresholdOfNothing",
                [](World*) { return ChoosePercentileThreshold({}, 99); });
  calls.Invalid("ChooseMseThresholdOfNothing",
                [](World*) { return ChooseMseThreshold({}, 127); });
  calls.Invalid("GaussianClipFactor",
                [](World*) { return GaussianClipFactor(0); });
  calls.Invalid("LaplaceClipFactor",
                [](World*) { return LaplaceClipFactor(0); });
  calls.Invalid("EqSearchWithoutContext", [](World* w) {
    return EqSearch(w->weights, {w->activations}, {}, nullptr);
  });
  calls.Invalid("EqSearchOfOtherShape", [](World* w) {
    return EqSearch(w->weights, absl::MakeConstSpan(&w->activations, 1), {},
                    &w->context);
  });
  calls.Invalid("PackedWeightsOfThreeGroups", [](World* w) {
    PackWeightsOptions options;
    options.groups = 3;
    return PackedWeights::Pack(RowMajorOf(w->in.q, kChannels, 10),
                               w->in.channel_params, &w->context, options);
  });
  calls.Invalid("DepthwiseWeightsOfTooFewParams", [](World* w) {
    return DepthwiseWeights::Pack(
        ColMajorOf(w->in.q, kChannels, 9),
        absl::MakeConstSpan(w->in.channel_params).first(5));
  });
  calls.Invalid("QuantizedLayerOfNoWeights", [](World*) {
    return QuantizedLayer::Make<std::int8_t, std::int8_t>(PackedWeights(), {},
                                                          kParams, kParams);
  });
  calls.Invalid("Conv2DOfNoLayer", [](World* w) {
    return Conv2D(w->Input(), QuantizedLayer(), Window(), nullptr, &w->context,
                  w->Output());
  });
  calls.Invalid("FullyConnectedToNull", [](World* w) {
    return FullyConnected(w->Input(), w->in.pointwise, w->in.int_bias, nullptr,
                          &w->context, NoTensor<std::int8_t>());
  });
  calls.Invalid("FullyConnectedOfOtherShape", [](World* w) {
    return FullyConnected(w->Input(), w->in.pointwise, w->in.int_bias, nullptr,
                          &w->context, w->Output());
  });
  calls.Invalid("Conv2DToNull", [](World* w) {
    return Conv2D(w->Input(), w->in.pointwise, w->in.int_bias, Window(),
                  nullptr, &w->context, NoTensor<std::int8_t>());
  });
  calls.Invalid("Conv2DOfOtherShape", [](World* w) {
    return Conv2D(w->Input(), w->in.pointwise, w->in.int_bias, kKernel3x3,
                  nullptr, &w->context, w->Output());
  });
  calls.Invalid("DepthwiseConv2DToNull", [](World* w) {
    return DepthwiseConv2D(w->Input(), w->in.depthwise, w->in.int_bias,
                           kKernel3x3, nullptr, &w->context,
                           NoTensor<std::int8_t>());
  });
  calls.Invalid("DepthwiseConv2DOfOtherShape", [](World* w) {
    return DepthwiseConv2D(w->Input(), w->in.depthwise, w->in.int_bias,
                           Window(), nullptr, &w->context, w->Output());
  });
  calls.Invalid("MaxPool2DToNull", [](World* w) {
    return MaxPool2D(w->Input(), kKernel3x3, nullptr, &w->context,
                     NoTensor<std::int8_t>());
  });
  calls.Invalid("AveragePool2DToNull", [](World* w) {
    return AveragePool2D(w->Input(), kKernel3x3, nullptr, &w->context,
                         NoTensor<std::int8_t>());
  });
  calls.Invalid("MaxPool2DRequantizing", [](World* w) {
    return MaxPool2D(w->Input(), kKernel3x3, nullptr, &w->context,
                     w->OutputOf(&w->out->q, QuantParams()));
  });
  return calls;
}

using QuantizeFaultErrorsTest = QuantizeFaultTest;
INSTANTIATE_TEST_SUITE_P(Threads, QuantizeFaultErrorsTest,
                         testing::Values(Threads::kOne), ThreadsName);

TEST_P(QuantizeFaultErrorsTest, EachFailure) { TryEachKind(BadCalls()); }

}  // namespace
}  // namespace ruy_like
