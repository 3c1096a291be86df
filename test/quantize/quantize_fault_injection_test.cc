// Faults in every public function of the quantization toolkit that returns a
// Status: on one thread, on a pool's and on an Executor's.
#include <gtest/gtest.h>

#include <cstdint>

#include "ruy_like/base/no_memory.h"
#include "ruy_like/quantize/quantize.h"
#include "test/quantize/fault_injection.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

// ## Element by element

constexpr TensorShape kTwoImages = {2, 16, 64, 128, TensorOrder::kNhwc};

Calls<World> ElementwiseCalls() {
  Calls<World> calls;
  calls.Ok("Quantize", [](World* w) {
    return Quantize<std::int8_t>(w->in.x, kParams, absl::MakeSpan(w->out->q),
                                 &w->context);
  });
  calls.Ok("QuantizeRows", [](World* w) {
    auto q = ColMajorOf(w->out->q, kChannels, 2048);
    return QuantizeRows(RowMajorOf(w->in.x, kChannels, 2048),
                        w->in.channel_params, &q, &w->context);
  });
  calls.Ok("Dequantize", [](World* w) {
    return Dequantize<std::uint8_t>(w->in.u, kUnsigned,
                                    absl::MakeSpan(w->out->f), &w->context);
  });
  calls.Ok("ChooseSymmetricChannels", [](World* w) {
    const auto params = ChooseSymmetricChannels(RowMajorOf(w->in.x, 4, 100),
                                                ChannelDimension::kRow, 8);
    if (params.ok()) Note(w, params->back());
    return params.status();
  });
  calls.Ok("DequantizeAcc", [](World* w) {
    auto x = ColMajorOf(w->out->f, kChannels, 2048);
    return DequantizeAcc(ColMajorOf(w->in.acc, kChannels, 2048), w->in.scales,
                         w->in.bias, ChannelDimension::kRow, &x, &w->context);
  });
  calls.Ok("Requantize", [](World* w) {
    return Requantize<std::int8_t>(w->in.acc, 0.001, kParams,
                                   absl::MakeSpan(w->out->q), &w->context);
  });
  calls.Ok("RequantizeToUsedRange", [](World* w) {
    return NoteOr(
        w, RequantizeToUsedRange(w->in.acc, 0.001, absl::MakeSpan(w->out->u),
                                 &w->context));
  });
  calls.Ok("QuantizedAdd8p8To32", [](World* w) {
    return NoteOr(w,
                  QuantizedAdd8p8To32({w->in.u, {-1, 1}}, {w->in.u, {0, 3}},
                                      absl::MakeSpan(w->out->i), &w->context),
                  &FloatRange::min, &FloatRange::max);
  });
  // Two passes that both write.
  calls.Ok("QuantizedAdd8p8To8", [](World* w) {
    Add8p8To8Options options;
    options.range = AddRange::kTight;
    options.guess = FloatRange{0, 0.5f};
    const auto sum =
        QuantizedAdd8p8To8({w->in.u, {-1, 1}}, {w->in.u, {0, 3}}, options,
                           absl::MakeSpan(w->out->u), &w->context);
    if (sum.ok()) Note(w, sum->range.min, sum->range.max);
    return sum.status();
  });
  calls.Ok("QuantizedMul", [](World* w) {
    return QuantizedMul(w->Input(kTwoImages), w->Input(kTwoImages), &w->context,
                        w->Output(kTwoImages));
  });
  calls.Ok("QuantizedAdd", [](World* w) {
    return QuantizedAdd(w->Input(kTwoImages), w->Input(kTwoImages), &w->context,
                        w->Output(kTwoImages));
  });
  calls.Ok("RequantizeTensor", [](World* w) {
    QuantParams other = kParams;
    other.scale *= 1.5f;
    return Requantize(w->Input(kTwoImages), &w->context,
                      w->OutputOf(&w->out->q, other, kTwoImages));
  });
  calls.Ok("Concat", [](World* w) {
    const auto part = w->Input();
    const decltype(part) parts[] = {part, part};
    return Concat(absl::MakeConstSpan(parts), TensorAxis::kBatch, &w->context,
                  w->Output(kTwoImages));
  });
  calls.Ok("MakeConv2D", [](World* w) {
    const float bias[] = {1, 1, 1, 1};
    return MakeConv2D<std::int8_t, std::int8_t>(
        RowMajorOf(w->in.x, 4, 100), bias, kParams, kParams, &w->context);
  });
  return calls;
}

// ## Numbers

Calls<World> NumberCalls() {
  Calls<World> calls;
  calls.Ok("ChooseSymmetric",
           [](World* w) { return NoteOr(w, ChooseSymmetric(3, 8)); });
  calls.Ok("ChooseAffine",
           [](World* w) { return NoteOr(w, ChooseAffine(-1, 3, 0, 255)); });
  calls.Ok("QuantizeMultiplier", [](World* w) {
    return NoteOr(w, QuantizeMultiplier(0.3), &QuantizedMultiplier::fixedpoint);
  });
  calls.Ok("SetMultipliers", [](World* w) {
    MulParams<std::int32_t, std::int8_t> params;
    const auto status = SetMultipliers(kParams, kParams, kParams, &params);
    if (status.ok()) {
      Note(w, params.multiplier_fixedpoint());
    }
    return status;
  });
  calls.Ok("SetMultipliersOfChannels", [](World* w) {
    MulParams<std::int32_t, std::int8_t> params;
    return SetMultipliers(
        w->in.channel_params, kParams, kParams,
        absl::MakeSpan(w->out->i.data(), kChannels),
        absl::MakeSpan(w->out->i.data() + kChannels, kChannels), &params);
  });
  calls.Ok("QuantizeBias", [](World* w) {
    return QuantizeBias(w->in.bias, kParams, w->in.channel_params,
                        absl::MakeSpan(w->out->i.data(), kChannels));
  });
  // All channels are dead, and reported.
  calls.Ok("FoldBatchNorm", [](World* w) {
    BatchNorm norm;
    norm.mean = norm.variance = norm.gamma = w->in.ones;
    norm.epsilon = 1;
    const auto report = FoldBatchNorm(
        norm, &w->weights, absl::MakeSpan(w->out->f).last(kChannels));
    if (report.ok()) {
      Note(w, report->max_gain, report->dead_channels.back());
    }
    return report.status();
  });
  calls.Ok("OutputShape", [](World* w) {
    return NoteOr(w, OutputShape(kImage, kKernel3x3, 5), &TensorShape::height);
  });
  calls.Ok("SamePadding", [](World* w) {
    return NoteOr(w, SamePadding(kImage, kKernel3x3), &Padding::top);
  });
  return calls;
}

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

Calls<World> CalibrationCalls() {
  Calls<World> calls;
  calls.Ok("Observe",
           [](World* w) { return w->observer.Observe(w->in.x, &w->context); });
  calls.Ok("ObserveLines", [](World* w) {
    auto x = ColMajorOf(w->in.x, 2000, 128);
    x.mutable_layout()->set_stride(2001);
    return w->observer.Observe(x, &w->context);
  });
  calls.Ok("ObserveWithRange", [](World* w) {
    const absl::Status status = w->ranged.SetRange(3);
    return status.ok() ? w->ranged.Observe(w->in.x, &w->context) : status;
  });
  calls.Ok("Merge", [](World* w) { return w->observer.Merge(w->other); });
  calls.Ok("MergeWithItself",
           [](World* w) { return w->observer.Merge(w->observer); });
  calls.Ok("MinMax",
           [](World* w) { return Calibrate(w, CalibrationMethod::kMinMax); });
  calls.Ok("Percentile", [](World* w) {
    return Calibrate(w, CalibrationMethod::kPercentile);
  });
  calls.Ok("Mse",
           [](World* w) { return Calibrate(w, CalibrationMethod::kMse); });
  calls.Ok("Aciq", [](World* w) {
    return Calibrate(w, CalibrationMethod::kAciqGauss);
  });
  calls.Ok("Entropy",
           [](World* w) { return Calibrate(w, CalibrationMethod::kEntropy); });
  calls.Ok("Threshold", [](World* w) {
    return NoteOr(w, w->other.Threshold(CalibrationOptions()));
  });
  calls.Ok("ChooseEntropyThreshold", [](World* w) {
    return Choose(w, [](const auto& h) -> absl::StatusOr<float> {
      const auto chosen = ChooseEntropyThreshold(h, 128);
      if (!chosen.ok()) return chosen.status();
      return chosen->threshold;
    });
  });
  calls.Ok("ChoosePercentileThreshold", [](World* w) {
    return Choose(
        w, [](const auto& h) { return ChoosePercentileThreshold(h, 99); });
  });
  calls.Ok("ChooseMseThreshold", [](World* w) {
    return Choose(w, [](const auto& h) { return ChooseMseThreshold(h, 127); });
  });
  calls.Ok("EqSearch", [](World* w) {
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
  });
  calls.Ok("EqSearchConv2D", [](World* w) {
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
  });
  calls.Ok("EqSearchNetwork", [](World* w) {
    // The arguments take memory, too.
    return CatchNoMemory([&]() -> absl::Status {
      EqOptions options;
      options.steps = 2;
      options.max_rounds = 1;
      std::vector<EqLayer> layers(2);
      layers[0].weights = RowMajorOf(w->in.x, 4, 32);
      layers[0].window = Square(2, 1, 1, 0);
      layers[1].weights = RowMajorOf(w->in.x, 3, 36);
      const std::vector<float> image(w->in.x.begin(), w->in.x.begin() + 128);
      const auto found = EqSearchNetwork(layers, {{{1, 4, 4, 8}, image}},
                                         options, &w->context);
      if (found.ok()) Note(w, found->back().search.cos_final);
      return found.status();
    });
  });
  return calls;
}

// ## What prepares a network

// Its results are checked elsewhere; what calls change is among the outputs.
Calls<World> PreparationCalls() {
  Calls<World> calls;
  calls.Ok("EqualizeLayers", [](World* w) {
    const EqualizedLayer layers[] = {
        {&w->first, w->bias, ChannelColumns::kInnermost},
        {&w->second, {}, ChannelColumns::kInnermost}};
    return EqualizeLayers(layers);
  });
  calls.Ok("AbsorbBias", [](World* w) {
    const auto ones = absl::MakeConstSpan(w->in.ones).first(4);
    float next_bias[5] = {};
    return AbsorbBias({&w->first, w->bias},
                      {&w->second, absl::MakeSpan(next_bias)}, ones, ones);
  });
  calls.Ok("MeansOfClippedNormals", [](World* w) {
    const auto ones = absl::MakeConstSpan(w->in.ones).first(4);
    return MeansOfClippedNormals(ones, ones);
  });
  calls.Ok("CorrectBias", [](World* w) {
    return CorrectBias(w->first, {kParams},
                       absl::MakeConstSpan(w->in.ones).first(6), w->bias);
  });
  calls.Ok("CorrectMeasuredBias", [](World* w) {
    return CorrectMeasuredBias(w->second, w->second, ChannelDimension::kCol,
                               w->bias);
  });
  calls.Ok("MovingAverageObserve",
           [](World* w) { return w->average.Observe(w->in.few()); });
  calls.Ok("MovingAverageObserveMatrix",
           [](World* w) { return w->average.Observe(w->first); });
  calls.Ok("ChannelObserverRows", [](World* w) {
    return w->channels.Observe(w->first, ChannelDimension::kRow);
  });
  calls.Ok("ChannelObserverColumns", [](World* w) {
    return w->channels.Observe(w->first, ChannelDimension::kCol);
  });
  calls.Ok("ChannelObserverMerge",
           [](World* w) { return w->channels.Merge(w->in.one_channel); });
  calls.Ok("ChooseNcnnEntropyThreshold", [](World* w) {
    return ChooseNcnnEntropyThreshold(
        w->in.calibration.tensors[0].observers[0].histogram(), 128);
  });
  calls.Ok("ReportLayer", [](World* w) {
    return ReportLayer("a layer", w->in.few(), {}, kParams);
  });
  calls.Ok("LayerReportTable", [](World* w) {
    return LayerReportTable(absl::MakeConstSpan(&w->in.report, 1));
  });
  calls.Ok("LayerReportJson", [](World* w) {
    return LayerReportJson(absl::MakeConstSpan(&w->in.report, 1));
  });
  calls.Ok("CalibrationToJson",
           [](World* w) { return CalibrationToJson(w->in.calibration); });
  calls.Ok("CalibrationToJsonOfEscapes",
           [](World* w) { return CalibrationToJson(w->in.escapes); });
  calls.Ok("CalibrationFromJson",
           [](World* w) { return CalibrationFromJson(w->in.json); });
  calls.Ok("CalibrationToNcnnTable",
           [](World* w) { return CalibrationToNcnnTable(w->in.calibration); });
  calls.Ok("CalibrationFromNcnnTable", [](World*) {
    return CalibrationFromNcnnTable("a_param_0 1 2\na 3\n");
  });
  calls.Ok("SaveCalibration", [](World* w) {
    return SaveCalibration(w->in.calibration, w->in.path);
  });
  calls.Ok("SaveNcnnTable", [](World* w) {
    return SaveNcnnTable(w->in.calibration, w->in.path);
  });
  return calls;
}

// ## Layers

// One pass over the output: Conv2D may leave it in part where it takes several.
absl::Status Convolve(World* w, TensorOrder order, Workspace* workspace) {
  const TensorShape shape = {1, 4, 16, kChannels, order};
  return Conv2D(w->Input(shape), w->in.kernel3x3, w->in.int_bias, kKernel3x3,
                workspace, &w->context, w->Output(shape));
}

constexpr TensorShape kColumn = {1024, 1, 1, kChannels, TensorOrder::kNhwc};

Calls<World> LayerCalls() {
  Calls<World> calls;
  calls.Ok("PackedWeights", [](World* w) {
    PackWeightsOptions options;
    options.groups = 4;
    return NoteOr(
        w,
        PackedWeights::Pack(RowMajorOf(w->in.q, kChannels, 1000),
                            w->in.channel_params, &w->context, options),
        &PackedWeights::channels);
  });
  calls.Ok("DepthwiseWeights", [](World* w) {
    return NoteOr(w,
                  DepthwiseWeights::Pack(ColMajorOf(w->in.q, kChannels, 9),
                                         w->in.channel_params),
                  &DepthwiseWeights::channels);
  });
  calls.Ok("QuantizedLayer", [](World* w) {
    const auto layer = QuantizedLayer::Make<std::int8_t, std::int8_t>(
        w->in.pointwise, w->in.int_bias, kParams, kParams);
    if (layer.ok()) Note(w, 1);
    return layer.status();
  });
  calls.Ok("FullyConnectedOfALayer", [](World* w) {
    return FullyConnected(w->Input(kColumn), w->in.layer, &w->context,
                          w->Output(kColumn));
  });
  calls.Ok("DepthwiseConv2DOfALayer", [](World* w) {
    return DepthwiseConv2D(w->Input(), w->in.depthwise_layer, kKernel3x3,
                           nullptr, &w->context,
                           w->OutputOf(&w->out->u, kUnsigned));
  });
  calls.Ok("FullyConnected", [](World* w) {
    return FullyConnected(w->Input(kColumn), w->in.pointwise, w->in.int_bias,
                          nullptr, &w->context, w->Output(kColumn));
  });
  calls.Ok("FullyConnectedToFloat", [](World* w) {
    return FullyConnected(w->Input(kColumn), w->in.pointwise, w->in.bias,
                          &w->workspace, &w->context,
                          w->OutputOf(&w->out->f, kParams, kColumn));
  });
  calls.Ok("Conv2DPointwise", [](World* w) {
    return Conv2D(w->Input(), w->in.pointwise, w->in.int_bias, Window(),
                  nullptr, &w->context, w->Output());
  });
  calls.Ok("Conv2D",
           [](World* w) { return Convolve(w, TensorOrder::kNhwc, nullptr); });
  calls.Ok("Conv2DNchw", [](World* w) {
    return Convolve(w, TensorOrder::kNchw, &w->workspace);
  });
  calls.Ok("DepthwiseConv2D", [](World* w) {
    return DepthwiseConv2D(w->Input(), w->in.depthwise, w->in.int_bias,
                           kKernel3x3, nullptr, &w->context,
                           w->OutputOf(&w->out->u, kUnsigned));
  });
  calls.Ok("DepthwiseConv2DNchw", [](World* w) {
    return DepthwiseConv2D(w->Input(kNchwImage), w->in.depthwise,
                           w->in.int_bias, kKernel3x3, &w->workspace,
                           &w->context, w->Output(kNchwImage));
  });
  calls.Ok("MaxPool2D", [](World* w) {
    return MaxPool2D(w->Input(), kKernel3x3, nullptr, &w->context, w->Output());
  });
  calls.Ok("AveragePool2DNchw", [](World* w) {
    return AveragePool2D(w->Input(kNchwImage), kKernel3x3, nullptr, &w->context,
                         w->Output(kNchwImage));
  });
  return calls;
}

std::vector<Calls<World>> AllCalls() {
  return {ElementwiseCalls(), CalibrationCalls(), LayerCalls()};
}

using QuantizeFaultInjectionTest = QuantizeFaultTest;
INSTANTIATE_TEST_SUITE_P(Threads, QuantizeFaultInjectionTest,
                         testing::Values(Threads::kOne, Threads::kPool,
                                         Threads::kExecutor),
                         ThreadsName);

TEST_P(QuantizeFaultInjectionTest, Allocations) {
  for (const auto& calls : AllCalls()) {
    TryKinds(calls, &Failures::first_allocation);
  }
}
TEST_P(QuantizeFaultInjectionTest, Threads) {
  for (const auto& calls : AllCalls()) {
    TryKinds(calls, &Failures::first_thread);
  }
}
// These use no threads.
TEST_P(QuantizeFaultInjectionTest, Numbers) {
  if (GetParam() != Threads::kOne) GTEST_SKIP() << "no threads";
  TryKinds(NumberCalls(), &Failures::first_allocation);
}
TEST_P(QuantizeFaultInjectionTest, Preparation) {
  if (GetParam() != Threads::kOne) GTEST_SKIP() << "no threads";
  TryEachKind(PreparationCalls());
}

}  // namespace
}  // namespace ruy_like
