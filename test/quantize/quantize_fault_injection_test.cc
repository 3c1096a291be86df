// Faults in every public function of the quantization toolkit that returns a
// Status: on one thread, on a pool's and on an Executor's.
#include <gtest/gtest.h>

#include <cstdint>

#include "ruy_like/quantize/quantize.h"
#include "test/quantize/fault_injection.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

// ## Element by element

constexpr TensorShape kTwoImages = {2, 16, 64, 128, TensorOrder::kNhwc};

const Kind kElementwise[] = {
    {"Quantize", kOk,
     [](World* w) {
       return Quantize<std::int8_t>(w->in.x, kParams, absl::MakeSpan(w->out->q),
                                    &w->context);
     }},
    {"QuantizeRows", kOk,
     [](World* w) {
       auto q = ColMajorOf(w->out->q, kChannels, 2048);
       return QuantizeRows(RowMajorOf(w->in.x, kChannels, 2048),
                           w->in.channel_params, &q, &w->context);
     }},
    {"Dequantize", kOk,
     [](World* w) {
       return Dequantize<std::uint8_t>(w->in.u, kUnsigned,
                                       absl::MakeSpan(w->out->f), &w->context);
     }},
    {"ChooseSymmetricChannels", kOk,
     [](World* w) {
       const auto params = ChooseSymmetricChannels(RowMajorOf(w->in.x, 4, 100),
                                                   ChannelDimension::kRow, 8);
       if (params.ok()) Note(w, params->back());
       return params.status();
     }},
    {"DequantizeAcc", kOk,
     [](World* w) {
       auto x = ColMajorOf(w->out->f, kChannels, 2048);
       return DequantizeAcc(ColMajorOf(w->in.acc, kChannels, 2048),
                            w->in.scales, w->in.bias, ChannelDimension::kRow,
                            &x, &w->context);
     }},
    {"Requantize", kOk,
     [](World* w) {
       return Requantize<std::int8_t>(w->in.acc, 0.001, kParams,
                                      absl::MakeSpan(w->out->q), &w->context);
     }},
    {"RequantizeToUsedRange", kOk,
     [](World* w) {
       return NoteOr(
           w, RequantizeToUsedRange(w->in.acc, 0.001, absl::MakeSpan(w->out->u),
                                    &w->context));
     }},
    {"QuantizedAdd8p8To32", kOk,
     [](World* w) {
       const auto range =
           QuantizedAdd8p8To32({w->in.u, {-1, 1}}, {w->in.u, {0, 3}},
                               absl::MakeSpan(w->out->i), &w->context);
       if (range.ok()) Note(w, range->min, range->max);
       return range.status();
     }},
    // Two passes that both write.
    {"QuantizedAdd8p8To8", kOk,
     [](World* w) {
       Add8p8To8Options options;
       options.range = AddRange::kTight;
       options.guess = FloatRange{0, 0.5f};
       const auto sum =
           QuantizedAdd8p8To8({w->in.u, {-1, 1}}, {w->in.u, {0, 3}}, options,
                              absl::MakeSpan(w->out->u), &w->context);
       if (sum.ok()) Note(w, sum->range.min, sum->range.max);
       return sum.status();
     }},
    {"QuantizedMul", kOk,
     [](World* w) {
       auto out = w->Output(kTwoImages);
       return QuantizedMul(w->Input(kTwoImages), w->Input(kTwoImages),
                           &w->context, &out);
     }},
    {"QuantizedAdd", kOk,
     [](World* w) {
       auto out = w->Output(kTwoImages);
       return QuantizedAdd(w->Input(kTwoImages), w->Input(kTwoImages),
                           &w->context, &out);
     }},
    {"RequantizeTensor", kOk,
     [](World* w) {
       QuantParams other = kParams;
       other.scale *= 1.5f;
       auto out = w->Image(w->out->q.data(), other, kTwoImages);
       return Requantize(w->Input(kTwoImages), &w->context, &out);
     }},
    {"Concat", kOk,
     [](World* w) {
       auto out = w->Output(kTwoImages);
       const auto part = w->Input();
       const decltype(part) parts[] = {part, part};
       return Concat(absl::MakeConstSpan(parts), TensorAxis::kBatch,
                     &w->context, &out);
     }},
    {"MakeConv2D", kOk,
     [](World* w) {
       const float bias[] = {1, 1, 1, 1};
       return MakeConv2D<std::int8_t, std::int8_t>(
           RowMajorOf(w->in.x, 4, 100), bias, kParams, kParams, &w->context);
     }},
};

// ## Numbers

const Kind kNumbers[] = {
    {"ChooseSymmetric", kOk,
     [](World* w) { return NoteOr(w, ChooseSymmetric(3, 8)); }},
    {"ChooseAffine", kOk,
     [](World* w) { return NoteOr(w, ChooseAffine(-1, 3, 0, 255)); }},
    {"QuantizeMultiplier", kOk,
     [](World* w) {
       const auto multiplier = QuantizeMultiplier(0.3);
       if (multiplier.ok()) {
         Note(w, multiplier->fixedpoint);
       }
       return multiplier.status();
     }},
    {"SetMultipliers", kOk,
     [](World* w) {
       MulParams<std::int32_t, std::int8_t> params;
       const auto status = SetMultipliers(kParams, kParams, kParams, &params);
       if (status.ok()) {
         Note(w, params.multiplier_fixedpoint());
       }
       return status;
     }},
    {"SetMultipliersOfChannels", kOk,
     [](World* w) {
       MulParams<std::int32_t, std::int8_t> params;
       return SetMultipliers(
           w->in.channel_params, kParams, kParams,
           absl::MakeSpan(w->out->i.data(), kChannels),
           absl::MakeSpan(w->out->i.data() + kChannels, kChannels), &params);
     }},
    {"QuantizeBias", kOk,
     [](World* w) {
       return QuantizeBias(w->in.bias, kParams, w->in.channel_params,
                           absl::MakeSpan(w->out->i.data(), kChannels));
     }},
    // All channels are dead, and reported.
    {"FoldBatchNorm", kOk,
     [](World* w) {
       BatchNorm norm;
       norm.mean = norm.variance = norm.gamma = w->in.ones;
       norm.epsilon = 1;
       const auto report = FoldBatchNorm(
           norm, &w->weights, absl::MakeSpan(w->out->f).last(kChannels));
       if (report.ok()) {
         Note(w, report->max_gain, report->dead_channels.back());
       }
       return report.status();
     }},
    {"OutputShape", kOk,
     [](World* w) {
       const auto shape = OutputShape(kImage, kKernel3x3, 5);
       if (shape.ok()) Note(w, shape->height);
       return shape.status();
     }},
    {"SamePadding", kOk,
     [](World* w) {
       const auto padding = SamePadding(kImage, kKernel3x3);
       if (padding.ok()) Note(w, padding->top);
       return padding.status();
     }},
};

// ## Calibration

// The state of the observer is part of the outputs (TryOnce).
template <typename Function>
absl::Status Choose(World* w, const Function& choose) {
  return NoteOr(w, choose(w->in.histogram()));
}
absl::Status Calibrate(World* w, CalibrationMethod method) {
  CalibrationOptions options;
  options.method = method;
  return NoteOr(w, w->other.ChooseParams(options));
}

const Kind kCalibration[] = {
    {"Observe", kOk,
     [](World* w) { return w->observer.Observe(w->in.x, &w->context); }},
    {"ObserveLines", kOk,
     [](World* w) {
       auto x = ColMajorOf(w->in.x, 2000, 128);
       x.mutable_layout()->set_stride(2001);
       return w->observer.Observe(x, &w->context);
     }},
    {"ObserveWithRange", kOk,
     [](World* w) {
       const absl::Status status = w->ranged.SetRange(3);
       return status.ok() ? w->ranged.Observe(w->in.x, &w->context) : status;
     }},
    {"Merge", kOk, [](World* w) { return w->observer.Merge(w->other); }},
    {"MergeWithItself", kOk,
     [](World* w) { return w->observer.Merge(w->observer); }},
    {"MinMax", kOk,
     [](World* w) { return Calibrate(w, CalibrationMethod::kMinMax); }},
    {"Percentile", kOk,
     [](World* w) { return Calibrate(w, CalibrationMethod::kPercentile); }},
    {"Mse", kOk,
     [](World* w) { return Calibrate(w, CalibrationMethod::kMse); }},
    {"Aciq", kOk,
     [](World* w) { return Calibrate(w, CalibrationMethod::kAciqGauss); }},
    {"Entropy", kOk,
     [](World* w) { return Calibrate(w, CalibrationMethod::kEntropy); }},
    {"Threshold", kOk,
     [](World* w) {
       return NoteOr(w, w->other.Threshold(CalibrationOptions()));
     }},
    {"ChooseEntropyThreshold", kOk,
     [](World* w) {
       return Choose(w, [](const auto& h) -> absl::StatusOr<float> {
         const auto chosen = ChooseEntropyThreshold(h, 128);
         if (!chosen.ok()) return chosen.status();
         return chosen->threshold;
       });
     }},
    {"ChoosePercentileThreshold", kOk,
     [](World* w) {
       return Choose(
           w, [](const auto& h) { return ChoosePercentileThreshold(h, 99); });
     }},
    {"ChooseMseThreshold", kOk,
     [](World* w) {
       return Choose(w,
                     [](const auto& h) { return ChooseMseThreshold(h, 127); });
     }},
    {"EqSearch", kOk,
     [](World* w) {
       EqOptions options;
       options.steps = 2;
       options.max_rounds = 2;
       const auto found = EqSearch(
           RowMajorOf(w->in.x, 16, 32), absl::MakeConstSpan(&w->activations, 1),
           options, &w->context, absl::MakeConstSpan(w->in.bias).first(16));
       if (found.ok()) {
         Note(w, found->cos_init, found->cos_final, found->rounds,
              found->weights.back().scale, found->activations.scale);
       }
       return found.status();
     }},
    {"EqSearchConv2D", kOk,
     [](World* w) {
       EqOptions options;
       options.steps = 2;
       options.max_rounds = 2;
       const Window window = Square(2, 1, 1, 0);
       const TensorView<const float> image = {w->in.x.data(), {1, 4, 4, 8}, {}};
       const auto found = EqSearchConv2D(RowMajorOf(w->in.x, 16, 32),
                                         absl::MakeConstSpan(&image, 1), window,
                                         options, &w->context);
       if (found.ok()) Note(w, found->cos_final, found->activations.scale);
       return found.status();
     }},
};

// ## What prepares a network

// Its results are checked elsewhere; what calls change is among the outputs.
const Kind kPreparation[] = {
    {"EqualizeLayers", kOk,
     [](World* w) {
       const EqualizedLayer layers[] = {
           {&w->first, w->bias, ChannelColumns::kInnermost},
           {&w->second, {}, ChannelColumns::kInnermost}};
       return EqualizeLayers(layers);
     }},
    {"CorrectBias", kOk,
     [](World* w) {
       return CorrectBias(w->first, {kParams},
                          absl::MakeConstSpan(w->in.ones).first(6), w->bias);
     }},
    {"CorrectMeasuredBias", kOk,
     [](World* w) {
       return CorrectMeasuredBias(w->second, w->second, ChannelDimension::kCol,
                                  w->bias);
     }},
    {"MovingAverageObserve", kOk,
     [](World* w) { return w->average.Observe(w->in.few()); }},
    {"MovingAverageObserveMatrix", kOk,
     [](World* w) { return w->average.Observe(w->first); }},
    {"ChannelObserverRows", kOk,
     [](World* w) {
       return w->channels.Observe(w->first, ChannelDimension::kRow);
     }},
    {"ChannelObserverColumns", kOk,
     [](World* w) {
       return w->channels.Observe(w->first, ChannelDimension::kCol);
     }},
    {"ChannelObserverMerge", kOk,
     [](World* w) { return w->channels.Merge(w->in.one_channel); }},
    {"ChooseNcnnEntropyThreshold", kOk,
     [](World* w) {
       return ChooseNcnnEntropyThreshold(
           w->in.calibration.tensors[0].observers[0].histogram(), 128);
     }},
    {"ReportLayer", kOk,
     [](World* w) { return ReportLayer("a layer", w->in.few(), {}, kParams); }},
    {"LayerReportTable", kOk,
     [](World* w) {
       return LayerReportTable(absl::MakeConstSpan(&w->in.report, 1));
     }},
    {"LayerReportJson", kOk,
     [](World* w) {
       return LayerReportJson(absl::MakeConstSpan(&w->in.report, 1));
     }},
    {"CalibrationToJson", kOk,
     [](World* w) { return CalibrationToJson(w->in.calibration); }},
    {"CalibrationToJsonOfEscapes", kOk,
     [](World* w) { return CalibrationToJson(w->in.escapes); }},
    {"CalibrationFromJson", kOk,
     [](World* w) { return CalibrationFromJson(w->in.json); }},
    {"CalibrationToNcnnTable", kOk,
     [](World* w) { return CalibrationToNcnnTable(w->in.calibration); }},
    {"CalibrationFromNcnnTable", kOk,
     [](World*) { return CalibrationFromNcnnTable("a_param_0 1 2\na 3\n"); }},
    {"SaveCalibration", kOk,
     [](World* w) { return SaveCalibration(w->in.calibration, w->in.path); }},
    {"SaveNcnnTable", kOk,
     [](World* w) { return SaveNcnnTable(w->in.calibration, w->in.path); }},
};

// ## Layers

// One pass over the output: Conv2D may leave it in part where it takes several.
absl::Status Convolve(World* w, TensorOrder order, Workspace* workspace) {
  const TensorShape shape = {1, 4, 16, kChannels, order};
  auto out = w->Output(shape);
  return Conv2D(w->Input(shape), w->in.kernel3x3, w->in.int_bias, kKernel3x3,
                workspace, &w->context, &out);
}

constexpr TensorShape kColumn = {1024, 1, 1, kChannels, TensorOrder::kNhwc};

const Kind kLayers[] = {
    {"PackedWeights", kOk,
     [](World* w) {
       PackWeightsOptions options;
       options.groups = 4;
       const auto weights =
           PackedWeights::Pack(RowMajorOf(w->in.q, kChannels, 1000),
                               w->in.channel_params, &w->context, options);
       if (weights.ok()) Note(w, weights->channels());
       return weights.status();
     }},
    {"DepthwiseWeights", kOk,
     [](World* w) {
       const auto weights = DepthwiseWeights::Pack(
           ColMajorOf(w->in.q, kChannels, 9), w->in.channel_params);
       if (weights.ok()) Note(w, weights->channels());
       return weights.status();
     }},
    {"QuantizedLayer", kOk,
     [](World* w) {
       const auto layer = QuantizedLayer::Make<std::int8_t, std::int8_t>(
           w->in.pointwise, w->in.int_bias, kParams, kParams);
       if (layer.ok()) Note(w, 1);
       return layer.status();
     }},
    {"FullyConnectedOfALayer", kOk,
     [](World* w) {
       auto out = w->Output(kColumn);
       return FullyConnected(w->Input(kColumn), w->in.layer, &w->context, &out);
     }},
    {"DepthwiseConv2DOfALayer", kOk,
     [](World* w) {
       auto out = w->Image(w->out->u.data(), kUnsigned);
       return DepthwiseConv2D(w->Input(), w->in.depthwise_layer, kKernel3x3,
                              nullptr, &w->context, &out);
     }},
    {"FullyConnected", kOk,
     [](World* w) {
       auto out = w->Output(kColumn);
       return FullyConnected(w->Input(kColumn), w->in.pointwise, w->in.int_bias,
                             nullptr, &w->context, &out);
     }},
    {"FullyConnectedToFloat", kOk,
     [](World* w) {
       auto out = w->Image(w->out->f.data(), kParams, kColumn);
       return FullyConnected(w->Input(kColumn), w->in.pointwise, w->in.bias,
                             &w->workspace, &w->context, &out);
     }},
    {"Conv2DPointwise", kOk,
     [](World* w) {
       auto out = w->Output();
       return Conv2D(w->Input(), w->in.pointwise, w->in.int_bias, Window(),
                     nullptr, &w->context, &out);
     }},
    {"Conv2D", kOk,
     [](World* w) { return Convolve(w, TensorOrder::kNhwc, nullptr); }},
    {"Conv2DNchw", kOk,
     [](World* w) { return Convolve(w, TensorOrder::kNchw, &w->workspace); }},
    {"DepthwiseConv2D", kOk,
     [](World* w) {
       auto out = w->Image(w->out->u.data(), kUnsigned);
       return DepthwiseConv2D(w->Input(), w->in.depthwise, w->in.int_bias,
                              kKernel3x3, nullptr, &w->context, &out);
     }},
    {"DepthwiseConv2DNchw", kOk,
     [](World* w) {
       auto out = w->Output(kNchwImage);
       return DepthwiseConv2D(w->Input(kNchwImage), w->in.depthwise,
                              w->in.int_bias, kKernel3x3, &w->workspace,
                              &w->context, &out);
     }},
    {"MaxPool2D", kOk,
     [](World* w) {
       auto out = w->Output();
       return MaxPool2D(w->Input(), kKernel3x3, nullptr, &w->context, &out);
     }},
    {"AveragePool2DNchw", kOk,
     [](World* w) {
       auto out = w->Output(kNchwImage);
       return AveragePool2D(w->Input(kNchwImage), kKernel3x3, nullptr,
                            &w->context, &out);
     }},
};

using QuantizeFaultInjectionTest = QuantizeFaultTest;
INSTANTIATE_TEST_SUITE_P(Threads, QuantizeFaultInjectionTest,
                         testing::Values(Threads::kOne, Threads::kPool,
                                         Threads::kExecutor),
                         ThreadsName);

TEST_P(QuantizeFaultInjectionTest, Allocations) {
  TryKinds(kElementwise, &Failures::first_allocation);
  TryKinds(kCalibration, &Failures::first_allocation);
  TryKinds(kLayers, &Failures::first_allocation);
}
TEST_P(QuantizeFaultInjectionTest, Threads) {
  TryKinds(kElementwise, &Failures::first_thread);
  TryKinds(kCalibration, &Failures::first_thread);
  TryKinds(kLayers, &Failures::first_thread);
}
// These use no threads.
TEST_P(QuantizeFaultInjectionTest, Numbers) {
  if (GetParam() != Threads::kOne) GTEST_SKIP() << "no threads";
  TryKinds(kNumbers, &Failures::first_allocation);
}
TEST_P(QuantizeFaultInjectionTest, Preparation) {
  if (GetParam() != Threads::kOne) GTEST_SKIP() << "no threads";
  TryEachKind(kPreparation);
}

}  // namespace
}  // namespace ruy_like
