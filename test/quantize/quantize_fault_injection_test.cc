// Every allocation and every start of a thread fails once, or from some point
// on, in every public function of the quantization toolkit that returns a
// Status: on one thread, on a pool's and on an Executor's. What comes back is a
// Status or the right result, outputs are untouched after an error, nothing
// leaks, and the next call works.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <new>
#include <string>
#include <vector>

#include "ruy_like/executor.h"
#include "ruy_like/quantize/quantize.h"
#include "ruy_like/thread_pool.h"
#include "test/quantize/lcg.h"
#include "test/support/heap.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr std::size_t kElements = std::size_t{1} << 18;
// Large enough for several threads in every layer.
constexpr TensorShape kImage = {1, 16, 64, 128, TensorOrder::kNhwc};
constexpr std::ptrdiff_t kChannels = 128;
constexpr QuantParams kParams = {0.05f, 0, -128, 127};
constexpr QuantParams kUnsigned = {0.05f, 128, 0, 255};

// Runs the calls on threads of its own.
class PoolExecutor final : public Executor {
 public:
  PoolExecutor() { pool_.EnsureWorkers(kThreads - 1); }
  int max_concurrency() const override { return kThreads; }
  void ParallelFor(int count, void (*function)(void*, int),
                   void* argument) override {
    Call calls[kThreads];
    for (int i = 0; i < count; ++i) {
      calls[i].function = function;
      calls[i].argument = argument;
      calls[i].index = i;
    }
    pool_.Execute(count, calls);
  }

 private:
  static constexpr int kThreads = 4;
  struct Call final : Task {
    void Run() override { function(argument, index); }
    void (*function)(void*, int) = nullptr;
    void* argument = nullptr;
    int index = 0;
  };
  ThreadPool pool_;
};

enum class Threads { kOne, kPool, kExecutor };

// What calls read: made once, without faults.
struct Inputs {
  Inputs()
      : x(GaussVector(kElements, 1)),
        acc(kElements),
        q(RandomVector<std::int8_t>(kElements, -128, 127, 2)),
        u(RandomVector<std::uint8_t>(kElements, 0, 255, 3)),
        channel_params(kChannels, kParams),
        scales(kChannels, 0.25f),
        bias(kChannels, 0.5f),
        int_bias(kChannels, 3),
        ones(kChannels, 1),
        bins(2048) {
    for (std::size_t i = 0; i < kElements; ++i) acc[i] = q[i] * 1000;
    for (std::size_t c = 0; c < channel_params.size(); ++c) {
      channel_params[c].scale *= 1 + static_cast<float>(c) / 100;
    }
    for (std::size_t i = 0; i < bins.size(); ++i) bins[i] = 2048 - i;
    Context context;
    const auto weights =
        MakeMatrix(q.data(), kChannels, kChannels, Order::kRowMajor);
    pointwise = PackedWeights::Pack(weights, channel_params, &context).value();
    kernel3x3 = PackedWeights::Pack(MakeMatrix(q.data(), kChannels,
                                               9 * kChannels, Order::kRowMajor),
                                    channel_params, &context)
                    .value();
    depthwise = DepthwiseWeights::Pack(
                    MakeMatrix(q.data(), kChannels, 9, Order::kRowMajor),
                    channel_params)
                    .value();
    layer = QuantizedLayer::Make<std::int8_t, std::int8_t>(pointwise, int_bias,
                                                           kParams, kParams)
                .value();
    depthwise_layer = QuantizedLayer::Make<std::int8_t, std::uint8_t>(
                          depthwise, int_bias, kParams, kUnsigned)
                          .value();
  }
  std::vector<float> x;
  std::vector<std::int32_t> acc;
  std::vector<std::int8_t> q;
  std::vector<std::uint8_t> u;
  std::vector<QuantParams> channel_params;
  std::vector<float> scales, bias;
  std::vector<std::int32_t> int_bias;
  std::vector<float> ones;
  std::vector<std::uint64_t> bins;
  PackedWeights pointwise, kernel3x3;
  DepthwiseWeights depthwise;
  QuantizedLayer layer, depthwise_layer;
};

// What calls write.
struct Outputs {
  Outputs() : f(kElements), i(kElements), q(kElements), u(kElements) {}
  void Paint() {
    std::fill(f.begin(), f.end(), 0.5f);
    std::fill(i.begin(), i.end(), 77);
    std::fill(q.begin(), q.end(), std::int8_t{77});
    std::fill(u.begin(), u.end(), std::uint8_t{77});
    values.fill(77);
  }
  bool operator==(const Outputs& other) const {
    return f == other.f && i == other.i && q == other.q && u == other.u &&
           values == other.values;
  }
  std::vector<float> f;
  std::vector<std::int32_t> i;
  std::vector<std::int8_t> q;
  std::vector<std::uint8_t> u;
  // What a call returns, or the state of an object that it changes.
  std::array<double, 16> values;
};

// One attempt. Made and taken away without faults.
struct World {
  World(const Inputs* inputs, Outputs* outputs, Executor* executor,
        Threads threads)
      : in(*inputs), out(outputs) {
    if (threads == Threads::kExecutor) context.set_executor(executor);
    if (threads != Threads::kOne) context.set_max_num_threads(4);
    const auto observe = observer.Observe(absl::MakeConstSpan(in.x).first(99));
    EXPECT_TRUE(observe.ok());
    const auto other_observed =
        other.Observe(absl::MakeConstSpan(in.x).last(5000));
    EXPECT_TRUE(other_observed.ok());
    weights = MakeMatrix(out->f.data(), kChannels, 9, Order::kRowMajor);
    activations = MakeMatrix(in.x.data() + 64, 32, 40, Order::kColMajor);
  }
  TensorView<const std::int8_t> Input(TensorOrder order) const {
    TensorShape shape = kImage;
    shape.order = order;
    return {in.q.data(), shape, kParams};
  }
  template <typename T>
  TensorView<T> Image(T* data, const QuantParams& params,
                      const TensorShape& shape = kImage) const {
    return {data, shape, params};
  }

  const Inputs& in;
  Outputs* out;
  Context context;
  Workspace workspace;
  Observer observer, other, ranged;
  Matrix<float> weights;
  Matrix<float> activations;
};

constexpr auto kOk = absl::StatusCode::kOk;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kPrecondition = absl::StatusCode::kFailedPrecondition;

struct Kind {
  const char* name;
  absl::StatusCode code;  // without faults
  absl::Status (*call)(World* world);
};

// Writes what a call returned to the outputs, and takes no memory.
void Note(World* w, std::initializer_list<double> values) {
  std::copy(values.begin(), values.end(), w->out->values.begin());
}
void Note(World* w, const QuantParams& params) {
  Note(w, {params.scale, static_cast<double>(params.zero_point),
           static_cast<double>(params.qmin), static_cast<double>(params.qmax)});
}
template <typename T>
absl::Status NoteOr(World* w, const absl::StatusOr<T>& result) {
  if (result.ok()) Note(w, *result);
  return result.status();
}
absl::Status NoteNumber(World* w, const absl::StatusOr<float>& result) {
  if (result.ok()) Note(w, {*result});
  return result.status();
}

Window Kernel3x3() {
  Window window;
  window.kernel_height = window.kernel_width = 3;
  window.padding = {1, 1, 1, 1};
  return window;
}

// ## Element by element

const Kind kElementwise[] = {
    {"Quantize", kOk,
     [](World* w) {
       return Quantize<std::int8_t>(w->in.x, kParams, absl::MakeSpan(w->out->q),
                                    &w->context);
     }},
    {"QuantizeRows", kOk,
     [](World* w) {
       auto q = MakeMatrix(w->out->q.data(), kChannels, 2048, Order::kColMajor);
       return QuantizeRows(
           MakeMatrix(w->in.x.data(), kChannels, 2048, Order::kRowMajor),
           w->in.channel_params, &q, &w->context);
     }},
    {"Dequantize", kOk,
     [](World* w) {
       return Dequantize<std::uint8_t>(w->in.u, kUnsigned,
                                       absl::MakeSpan(w->out->f), &w->context);
     }},
    {"ChooseSymmetricChannels", kOk,
     [](World* w) {
       const auto params = ChooseSymmetricChannels(
           MakeMatrix(w->in.x.data(), 4, 100, Order::kRowMajor),
           ChannelDimension::kRow, 8);
       if (params.ok()) Note(w, params->back());
       return params.status();
     }},
    {"DequantizeAcc", kOk,
     [](World* w) {
       auto x = MakeMatrix(w->out->f.data(), kChannels, 2048, Order::kColMajor);
       return DequantizeAcc(
           MakeMatrix(w->in.acc.data(), kChannels, 2048, Order::kColMajor),
           w->in.scales, w->in.bias, ChannelDimension::kRow, &x, &w->context);
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
       if (range.ok()) Note(w, {range->min, range->max});
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
       if (sum.ok()) Note(w, {sum->range.min, sum->range.max});
       return sum.status();
     }},
    {"QuantizedMul", kOk,
     [](World* w) {
       const TensorShape shape = {2, 16, 64, 128, TensorOrder::kNhwc};
       auto out = w->Image(w->out->q.data(), kParams, shape);
       return QuantizedMul(w->Image(w->in.q.data(), kParams, shape),
                           w->Image(w->in.q.data(), kParams, shape),
                           &w->context, &out);
     }},
    {"QuantizedAdd", kOk,
     [](World* w) {
       const TensorShape shape = {2, 16, 64, 128, TensorOrder::kNhwc};
       auto out = w->Image(w->out->q.data(), kParams, shape);
       return QuantizedAdd(w->Image(w->in.q.data(), kParams, shape),
                           w->Image(w->in.q.data(), kParams, shape),
                           &w->context, &out);
     }},
    {"RequantizeTensor", kOk,
     [](World* w) {
       const TensorShape shape = {2, 16, 64, 128, TensorOrder::kNhwc};
       QuantParams other = kParams;
       other.scale *= 1.5f;
       auto out = w->Image(w->out->q.data(), other, shape);
       return Requantize(w->Image(w->in.q.data(), kParams, shape), &w->context,
                         &out);
     }},
    {"Concat", kOk,
     [](World* w) {
       const TensorShape shape = {2, 16, 64, 128, TensorOrder::kNhwc};
       const TensorShape half = {1, 16, 64, 128, TensorOrder::kNhwc};
       auto out = w->Image(w->out->q.data(), kParams, shape);
       const auto part = w->Image(w->in.q.data(), kParams, half);
       const decltype(part) parts[] = {part, part};
       return Concat(absl::MakeConstSpan(parts), TensorAxis::kBatch,
                     &w->context, &out);
     }},
    {"MakeConv2D", kOk,
     [](World* w) {
       const float bias[] = {1, 1, 1, 1};
       return MakeConv2D<std::int8_t, std::int8_t>(
                  MakeMatrix(w->in.x.data(), 4, 100, Order::kRowMajor), bias,
                  kParams, kParams, &w->context)
           .status();
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
         Note(w, {static_cast<double>(multiplier->fixedpoint)});
       }
       return multiplier.status();
     }},
    {"SetMultipliers", kOk,
     [](World* w) {
       MulParams<std::int32_t, std::int8_t> params;
       const auto status = SetMultipliers(kParams, kParams, kParams, &params);
       if (status.ok()) {
         Note(w, {static_cast<double>(params.multiplier_fixedpoint())});
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
                           absl::MakeSpan(w->out->i.data(), kChannels))
           .status();
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
         Note(w, {report->max_gain, report->dead_channels.back() * 1.0});
       }
       return report.status();
     }},
    {"OutputShape", kOk,
     [](World* w) {
       const auto shape = OutputShape(kImage, Kernel3x3(), 5);
       if (shape.ok()) Note(w, {static_cast<double>(shape->height)});
       return shape.status();
     }},
    {"SamePadding", kOk,
     [](World* w) {
       const auto padding = SamePadding(kImage, Kernel3x3());
       if (padding.ok()) Note(w, {static_cast<double>(padding->top)});
       return padding.status();
     }},
};

// ## Calibration

// The state of the observer is part of the outputs (TryOnce).
template <typename Function>
absl::Status Choose(World* w, const Function& choose) {
  const MagnitudeHistogram histogram = {w->in.bins, 1, 0};
  return NoteNumber(w, choose(histogram));
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
       auto x = MakeMatrix(w->in.x.data(), 2000, 128, Order::kColMajor);
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
       return NoteNumber(w, w->other.Threshold(CalibrationOptions()));
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
       const auto found =
           EqSearch(MakeMatrix(w->in.x.data(), 16, 32, Order::kRowMajor),
                    absl::MakeConstSpan(&w->activations, 1), options,
                    &w->context, absl::MakeConstSpan(w->in.bias).first(16));
       if (found.ok()) {
         Note(w, {found->cos_init, found->cos_final, found->rounds * 1.0,
                  found->weights.back().scale, found->activations.scale});
       }
       return found.status();
     }},
};

// ## Layers

// One pass over the output: Conv2D may leave it in part where it takes several.
absl::Status Convolve(World* w, TensorOrder order, Workspace* workspace) {
  auto out = w->Image(w->out->q.data(), kParams,
                      {1, 4, 16, kChannels, TensorOrder::kNhwc});
  auto in = w->Input(order);
  in.shape.height = 4;
  in.shape.width = 16;
  out.shape.order = order;
  return Conv2D(in, w->in.kernel3x3, w->in.int_bias, Kernel3x3(), workspace,
                &w->context, &out);
}

const Kind kLayers[] = {
    {"PackedWeights", kOk,
     [](World* w) {
       PackWeightsOptions options;
       options.groups = 4;
       const auto weights = PackedWeights::Pack(
           MakeMatrix(w->in.q.data(), kChannels, 1000, Order::kRowMajor),
           w->in.channel_params, &w->context, options);
       if (weights.ok()) Note(w, {weights->channels() * 1.0});
       return weights.status();
     }},
    {"DepthwiseWeights", kOk,
     [](World* w) {
       const auto weights = DepthwiseWeights::Pack(
           MakeMatrix(w->in.q.data(), kChannels, 9, Order::kColMajor),
           w->in.channel_params);
       if (weights.ok()) Note(w, {weights->channels() * 1.0});
       return weights.status();
     }},
    {"QuantizedLayer", kOk,
     [](World* w) {
       const auto layer = QuantizedLayer::Make<std::int8_t, std::int8_t>(
           w->in.pointwise, w->in.int_bias, kParams, kParams);
       if (layer.ok()) Note(w, {1});
       return layer.status();
     }},
    {"FullyConnectedOfALayer", kOk,
     [](World* w) {
       const TensorShape shape = {1024, 1, 1, kChannels, TensorOrder::kNhwc};
       auto out = w->Image(w->out->q.data(), kParams, shape);
       return FullyConnected(w->Image(w->in.q.data(), kParams, shape),
                             w->in.layer, &w->context, &out);
     }},
    {"DepthwiseConv2DOfALayer", kOk,
     [](World* w) {
       auto out = w->Image(w->out->u.data(), kUnsigned);
       return DepthwiseConv2D(w->Input(TensorOrder::kNhwc),
                              w->in.depthwise_layer, Kernel3x3(), nullptr,
                              &w->context, &out);
     }},
    {"FullyConnected", kOk,
     [](World* w) {
       const TensorShape shape = {1024, 1, 1, kChannels, TensorOrder::kNhwc};
       auto out = w->Image(w->out->q.data(), kParams, shape);
       return FullyConnected(w->Image(w->in.q.data(), kParams, shape),
                             w->in.pointwise, w->in.int_bias, nullptr,
                             &w->context, &out);
     }},
    {"FullyConnectedToFloat", kOk,
     [](World* w) {
       const TensorShape shape = {1024, 1, 1, kChannels, TensorOrder::kNhwc};
       auto out = w->Image(w->out->f.data(), kParams, shape);
       return FullyConnected(w->Image(w->in.q.data(), kParams, shape),
                             w->in.pointwise, w->in.bias, &w->workspace,
                             &w->context, &out);
     }},
    {"Conv2DPointwise", kOk,
     [](World* w) {
       auto out = w->Image(w->out->q.data(), kParams);
       return Conv2D(w->Input(TensorOrder::kNhwc), w->in.pointwise,
                     w->in.int_bias, Window(), nullptr, &w->context, &out);
     }},
    {"Conv2D", kOk,
     [](World* w) { return Convolve(w, TensorOrder::kNhwc, nullptr); }},
    {"Conv2DNchw", kOk,
     [](World* w) { return Convolve(w, TensorOrder::kNchw, &w->workspace); }},
    {"DepthwiseConv2D", kOk,
     [](World* w) {
       auto out = w->Image(w->out->u.data(), kUnsigned);
       return DepthwiseConv2D(w->Input(TensorOrder::kNhwc), w->in.depthwise,
                              w->in.int_bias, Kernel3x3(), nullptr, &w->context,
                              &out);
     }},
    {"DepthwiseConv2DNchw", kOk,
     [](World* w) {
       auto in = w->Input(TensorOrder::kNchw);
       auto out = w->Image(w->out->q.data(), kParams, in.shape);
       return DepthwiseConv2D(in, w->in.depthwise, w->in.int_bias, Kernel3x3(),
                              &w->workspace, &w->context, &out);
     }},
    {"MaxPool2D", kOk,
     [](World* w) {
       auto out = w->Image(w->out->q.data(), kParams);
       return MaxPool2D(w->Input(TensorOrder::kNhwc), Kernel3x3(), nullptr,
                        &w->context, &out);
     }},
    {"AveragePool2DNchw", kOk,
     [](World* w) {
       auto in = w->Input(TensorOrder::kNchw);
       auto out = w->Image(w->out->q.data(), kParams, in.shape);
       return AveragePool2D(in, Kernel3x3(), nullptr, &w->context, &out);
     }},
};

// ## Errors, whose messages take memory

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
       auto q = MakeMatrix(w->out->q.data(), 3, 4, Order::kColMajor);
       return Quantize(MakeMatrix(w->in.x.data(), 4, 3, Order::kColMajor),
                       kParams, &q);
     }},
    {"DequantizeOtherSize", kInvalid,
     [](World* w) {
       return Dequantize<std::uint8_t>(w->in.u, kUnsigned,
                                       absl::MakeSpan(w->out->f).first(3));
     }},
    {"ChooseSymmetricChannelsOfNoBits", kInvalid,
     [](World* w) {
       return ChooseSymmetricChannels(
                  MakeMatrix(w->in.x.data(), 4, 100, Order::kRowMajor),
                  ChannelDimension::kRow, 0)
           .status();
     }},
    {"DequantizeAccWithTooFewScales", kInvalid,
     [](World* w) {
       auto x = MakeMatrix(w->out->f.data(), 4, 4, Order::kColMajor);
       return DequantizeAcc(
           MakeMatrix(w->in.acc.data(), 4, 4, Order::kColMajor),
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
       return RequantizeToUsedRange(w->in.acc, kNan, absl::MakeSpan(w->out->u))
           .status();
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
       return QuantizedMul(w->Input(TensorOrder::kNhwc),
                           w->Input(TensorOrder::kNhwc), nullptr,
                           NoTensor<std::int8_t>());
     }},
    {"QuantizedAddToNull", kInvalid,
     [](World* w) {
       return QuantizedAdd(w->Input(TensorOrder::kNhwc),
                           w->Input(TensorOrder::kNhwc), nullptr,
                           NoTensor<std::int8_t>());
     }},
    {"RequantizeTensorToNull", kInvalid,
     [](World* w) {
       return Requantize(w->Input(TensorOrder::kNhwc), nullptr,
                         NoTensor<std::int8_t>());
     }},
    {"ConcatOfNothing", kInvalid,
     [](World* w) {
       auto out = w->Image(w->out->q.data(), kParams, {1, 1, 1, 1});
       return Concat(absl::Span<const TensorView<const std::int8_t>>(),
                     TensorAxis::kBatch, nullptr, &out);
     }},
    {"ChooseSymmetricOfNan", kInvalid,
     [](World*) { return ChooseSymmetric(kNan, 8).status(); }},
    {"ChooseAffineOfNan", kInvalid,
     [](World*) { return ChooseAffine(kNan, 1, 0, 255).status(); }},
    {"ValidateQuantParams", kInvalid,
     [](World*) { return ValidateQuantParams(kUnsigned, -128, 127, "q"); }},
    {"QuantizeMultiplierOfNan", kInvalid,
     [](World*) { return QuantizeMultiplier(kNan).status(); }},
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
                           absl::MakeSpan(w->out->i.data(), 3))
           .status();
     }},
    {"FoldBatchNormOfOtherSize", kInvalid,
     [](World* w) {
       return FoldBatchNorm(BatchNorm(), &w->weights,
                            absl::MakeSpan(w->out->f).last(kChannels))
           .status();
     }},
    {"OutputShapeOfNothing", kInvalid,
     [](World*) { return OutputShape(kImage, Window(), -1).status(); }},
    {"SamePaddingOfNothing", kInvalid,
     [](World*) {
       Window window;
       window.stride_width = 0;
       return SamePadding(kImage, window).status();
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
       return w->observer.Threshold(options).status();
     }},
    {"ChooseParamsOfUnknownScheme", kInvalid,
     [](World* w) {
       CalibrationOptions options;
       options.scheme = static_cast<QuantScheme>(9);
       return w->observer.ChooseParams(options).status();
     }},
    {"ChooseEntropyThresholdOfNoLevels", kInvalid,
     [](World* w) {
       return ChooseEntropyThreshold({w->in.bins, 1, 0}, 0).status();
     }},
    {"ChoosePercentileThresholdOfNothing", kInvalid,
     [](World*) { return ChoosePercentileThreshold({}, 99).status(); }},
    {"ChooseMseThresholdOfNothing", kInvalid,
     [](World*) { return ChooseMseThreshold({}, 127).status(); }},
    {"GaussianClipFactor", kInvalid,
     [](World*) { return GaussianClipFactor(0).status(); }},
    {"LaplaceClipFactor", kInvalid,
     [](World*) { return LaplaceClipFactor(0).status(); }},
    {"EqSearchWithoutContext", kInvalid,
     [](World* w) {
       return EqSearch(w->weights, {w->activations}, {}, nullptr).status();
     }},
    {"EqSearchOfOtherShape", kInvalid,
     [](World* w) {
       return EqSearch(w->weights, absl::MakeConstSpan(&w->activations, 1), {},
                       &w->context)
           .status();
     }},
    {"PackedWeightsOfThreeGroups", kInvalid,
     [](World* w) {
       PackWeightsOptions options;
       options.groups = 3;
       return PackedWeights::Pack(
                  MakeMatrix(w->in.q.data(), kChannels, 10, Order::kRowMajor),
                  w->in.channel_params, &w->context, options)
           .status();
     }},
    {"DepthwiseWeightsOfTooFewParams", kInvalid,
     [](World* w) {
       return DepthwiseWeights::Pack(
                  MakeMatrix(w->in.q.data(), kChannels, 9, Order::kColMajor),
                  absl::MakeConstSpan(w->in.channel_params).first(5))
           .status();
     }},
    {"QuantizedLayerOfNoWeights", kInvalid,
     [](World*) {
       return QuantizedLayer::Make<std::int8_t, std::int8_t>(
                  PackedWeights(), {}, kParams, kParams)
           .status();
     }},
    {"Conv2DOfNoLayer", kInvalid,
     [](World* w) {
       auto out = w->Image(w->out->q.data(), kParams);
       return Conv2D(w->Input(TensorOrder::kNhwc), QuantizedLayer(), Window(),
                     nullptr, &w->context, &out);
     }},
    {"FullyConnectedToNull", kInvalid,
     [](World* w) {
       return FullyConnected(w->Input(TensorOrder::kNhwc), w->in.pointwise,
                             w->in.int_bias, nullptr, &w->context,
                             NoTensor<std::int8_t>());
     }},
    {"FullyConnectedOfOtherShape", kInvalid,
     [](World* w) {
       auto out = w->Image(w->out->q.data(), kParams);
       return FullyConnected(w->Input(TensorOrder::kNhwc), w->in.pointwise,
                             w->in.int_bias, nullptr, &w->context, &out);
     }},
    {"Conv2DToNull", kInvalid,
     [](World* w) {
       return Conv2D(w->Input(TensorOrder::kNhwc), w->in.pointwise,
                     w->in.int_bias, Window(), nullptr, &w->context,
                     NoTensor<std::int8_t>());
     }},
    {"Conv2DOfOtherShape", kInvalid,
     [](World* w) {
       auto out = w->Image(w->out->q.data(), kParams);
       return Conv2D(w->Input(TensorOrder::kNhwc), w->in.pointwise,
                     w->in.int_bias, Kernel3x3(), nullptr, &w->context, &out);
     }},
    {"DepthwiseConv2DToNull", kInvalid,
     [](World* w) {
       return DepthwiseConv2D(w->Input(TensorOrder::kNhwc), w->in.depthwise,
                              w->in.int_bias, Kernel3x3(), nullptr, &w->context,
                              NoTensor<std::int8_t>());
     }},
    {"DepthwiseConv2DOfOtherShape", kInvalid,
     [](World* w) {
       auto out = w->Image(w->out->q.data(), kParams);
       return DepthwiseConv2D(w->Input(TensorOrder::kNhwc), w->in.depthwise,
                              w->in.int_bias, Window(), nullptr, &w->context,
                              &out);
     }},
    {"MaxPool2DToNull", kInvalid,
     [](World* w) {
       return MaxPool2D(w->Input(TensorOrder::kNhwc), Kernel3x3(), nullptr,
                        &w->context, NoTensor<std::int8_t>());
     }},
    {"AveragePool2DToNull", kInvalid,
     [](World* w) {
       return AveragePool2D(w->Input(TensorOrder::kNhwc), Kernel3x3(), nullptr,
                            &w->context, NoTensor<std::int8_t>());
     }},
    {"MaxPool2DRequantizing", kInvalid,
     [](World* w) {
       auto out = w->Image(w->out->q.data(), QuantParams());
       return MaxPool2D(w->Input(TensorOrder::kNhwc), Kernel3x3(), nullptr,
                        &w->context, &out);
     }},
};

class QuantizeFaultInjectionTest : public testing::TestWithParam<Threads> {
 protected:
  static void SetUpTestSuite() {
    if (!kTestOwnsHeap) return;
    inputs_ = new Inputs;
    outputs_ = new Outputs;
    painted_ = new Outputs;
    expected_ = new Outputs;
    executor_ = new PoolExecutor;
  }
  static void TearDownTestSuite() {
    delete inputs_;
    delete outputs_;
    delete painted_;
    delete expected_;
    delete executor_;
    inputs_ = nullptr;
    outputs_ = painted_ = expected_ = nullptr;
    executor_ = nullptr;
  }

  // What the observers have seen, as outputs.
  static void NoteObservers(World* w) {
    double* value = &w->out->values[6];
    for (const Observer* observer : {&w->observer, &w->ranged}) {
      *value++ = static_cast<double>(observer->finite_count());
      *value++ = static_cast<double>(observer->zero_count());
      *value++ = observer->max() - observer->min();
      *value++ = observer->mean() + observer->standard_deviation();
      const absl::Span<const std::uint64_t> bins = observer->histogram().bins;
      double sum = 0;
      for (std::size_t i = 0; i < bins.size(); ++i) {
        sum += static_cast<double>(bins[i]) * static_cast<double>(i + 1);
      }
      *value++ = sum;
    }
  }

  // What a call leaves without faults, and what was there before.
  void Expect(const Kind& kind) {
    World world(inputs_, outputs_, executor_, GetParam());
    outputs_->Paint();
    NoteObservers(&world);
    *painted_ = *outputs_;
    const absl::Status status = kind.call(&world);
    EXPECT_EQ(status.code(), kind.code) << status;
    NoteObservers(&world);
    *expected_ = *outputs_;
    if (kind.code != kOk) {
      EXPECT_TRUE(*expected_ == *painted_);
    }
  }

  // One kind of call with one set of failures. False once nothing failed.
  bool TryOnce(const Kind& kind, const Failures& failures) {
    World world(inputs_, outputs_, executor_, GetParam());
    outputs_->Paint();
    absl::Status status;
    bool escaped = false;
    long failed = 0;
    {
      const FailureScope scope(failures);
      try {
        status = kind.call(&world);
      } catch (const std::bad_alloc&) {
        escaped = true;
      }
      failed = scope.failed();
    }
    EXPECT_FALSE(escaped) << "std::bad_alloc";
    EXPECT_TRUE(
        status.code() == kind.code ||
        (failed > 0 && status.code() == absl::StatusCode::kResourceExhausted))
        << status;
    NoteObservers(&world);
    EXPECT_TRUE(*outputs_ == (status.ok() ? *expected_ : *painted_)) << status;
    if (!status.ok()) {
      outputs_->Paint();
      status = kind.call(&world);
      EXPECT_EQ(status.code(), kind.code) << "afterwards: " << status;
      NoteObservers(&world);
      EXPECT_TRUE(*outputs_ == *expected_) << "afterwards";
    }
    return failed > 0;
  }

  // Returns how many there were to fail, one at a time.
  long TryAll(const Kind& kind, long Failures::*first) {
    Expect(kind);
    long n = 0;
    for (const Failing failing : {Failing::kAllFrom, Failing::kOne}) {
      for (n = 0;; ++n) {
        SCOPED_TRACE(testing::Message()
                     << kind.name << ", failure " << n
                     << (failing == Failing::kOne ? "" : " and all after it"));
        Failures failures;
        failures.*first = n;
        failures.failing = failing;
        // What the C library keeps of threads that have ended grows for some
        // calls, a leak with each call.
        bool more = true;
        bool grows = true;
        for (int repeat = 0; grows && repeat < 10; ++repeat) {
          const long live_bytes = LiveBytes();
          more = TryOnce(kind, failures);
          grows = LiveBytes() > live_bytes;
        }
        EXPECT_FALSE(grows) << "leaks";
        if (!more || HasFailure()) break;
        EXPECT_LT(n, 1000);
      }
    }
    return n;
  }

  template <std::size_t kCount>
  void TryKinds(const Kind (&kinds)[kCount], long Failures::*first) {
    if (!kTestOwnsHeap) GTEST_SKIP() << "nothing can be made to fail here";
    long sum = 0;
    for (const Kind& kind : kinds) sum += TryAll(kind, first);
    if (first == &Failures::first_allocation) {
      EXPECT_GT(sum, 0);
    } else if (GetParam() == Threads::kPool) {
      EXPECT_GT(sum, 0) << "no call used threads";
    }
  }

  static Inputs* inputs_;
  static Outputs *outputs_, *painted_, *expected_;
  static PoolExecutor* executor_;
};
Inputs* QuantizeFaultInjectionTest::inputs_ = nullptr;
Outputs* QuantizeFaultInjectionTest::outputs_ = nullptr;
Outputs* QuantizeFaultInjectionTest::painted_ = nullptr;
Outputs* QuantizeFaultInjectionTest::expected_ = nullptr;
PoolExecutor* QuantizeFaultInjectionTest::executor_ = nullptr;

INSTANTIATE_TEST_SUITE_P(Threads, QuantizeFaultInjectionTest,
                         testing::Values(Threads::kOne, Threads::kPool,
                                         Threads::kExecutor),
                         [](const auto& info) {
                           return std::string(
                               info.param == Threads::kOne    ? "One"
                               : info.param == Threads::kPool ? "Pool"
                                                              : "Executor");
                         });

TEST_P(QuantizeFaultInjectionTest, Elementwise) {
  TryKinds(kElementwise, &Failures::first_allocation);
}
TEST_P(QuantizeFaultInjectionTest, Calibration) {
  TryKinds(kCalibration, &Failures::first_allocation);
}
TEST_P(QuantizeFaultInjectionTest, Layers) {
  TryKinds(kLayers, &Failures::first_allocation);
}
TEST_P(QuantizeFaultInjectionTest, ThreadsOfElementwise) {
  TryKinds(kElementwise, &Failures::first_thread);
}
TEST_P(QuantizeFaultInjectionTest, ThreadsOfCalibration) {
  TryKinds(kCalibration, &Failures::first_thread);
}
TEST_P(QuantizeFaultInjectionTest, ThreadsOfLayers) {
  TryKinds(kLayers, &Failures::first_thread);
}
// These use no threads.
TEST_P(QuantizeFaultInjectionTest, Numbers) {
  if (GetParam() != Threads::kOne) GTEST_SKIP() << "no threads";
  TryKinds(kNumbers, &Failures::first_allocation);
}
TEST_P(QuantizeFaultInjectionTest, Errors) {
  if (GetParam() != Threads::kOne) GTEST_SKIP() << "no threads";
  TryKinds(kErrors, &Failures::first_allocation);
}

}  // namespace
}  // namespace ruy_like
