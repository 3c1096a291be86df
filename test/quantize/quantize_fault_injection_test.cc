// Faults in every public function of the quantization toolkit that returns a
// Status: on one thread, on a pool's and on an Executor's. Every allocation, or
// every start of a thread, fails once, or from some point on. What comes back
// is a Status or the right result, outputs are untouched after an error,
// nothing leaks, and the next call works. hostile_arguments_test.cc has the
// calls that are wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "ruy_like/base/no_memory.h"
#include "ruy_like/executor.h"
#include "ruy_like/quantize/quantize.h"
#include "ruy_like/thread_pool.h"
#include "test/quantize/lcg.h"
#include "test/quantize/reference_conv.h"
#include "test/support/call_of.h"
#include "test/support/fail_each.h"
#include "test/support/heap.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

constexpr std::size_t kElements = std::size_t{1} << 18;
// Large enough for several threads in every layer.
constexpr TensorShape kImage = {1, 16, 64, 128, TensorOrder::kNhwc};
constexpr TensorShape kNchwImage = {1, 16, 64, 128, TensorOrder::kNchw};
constexpr std::ptrdiff_t kChannels = 128;
constexpr QuantParams kParams = {0.05f, 0, -128, 127};
constexpr QuantParams kUnsigned = {0.05f, 128, 0, 255};

const Window kKernel3x3 = Square(3, 1, 1, 1);

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

// Inputs of the calls: made once, without faults.
struct Inputs {
  Inputs()
      : x(GaussVector(kElements, 1)),
        acc(kElements),
        q(RandomVector<std::int8_t>(kElements, 2)),
        u(RandomVector<std::uint8_t>(kElements, 3)),
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
    const auto weights = RowMajorOf(q, kChannels, kChannels);
    pointwise = PackedWeights::Pack(weights, channel_params, &context).value();
    kernel3x3 = PackedWeights::Pack(RowMajorOf(q, kChannels, 9 * kChannels),
                                    channel_params, &context)
                    .value();
    depthwise =
        DepthwiseWeights::Pack(RowMajorOf(q, kChannels, 9), channel_params)
            .value();
    calibration.tensors = {{"a", {kParams}, {Observer()}}};
    escapes.tensors = {{std::string(60, '\n'), {}, {}}};
    auto& seen = calibration.tensors[0].observers;
    EXPECT_OK(seen[0].Observe(few()));
    one_channel = ChannelObserver(seen);
    report = ReportLayer("x", few(), {}, kParams).value();
    json = CalibrationToJson(calibration).value();
    layer = QuantizedLayer::Make<std::int8_t, std::int8_t>(pointwise, int_bias,
                                                           kParams, kParams)
                .value();
    depthwise_layer = QuantizedLayer::Make<std::int8_t, std::uint8_t>(
                          depthwise, int_bias, kParams, kUnsigned)
                          .value();
  }
  absl::Span<const float> few() const {
    return absl::MakeConstSpan(x).first(24);
  }
  MagnitudeHistogram histogram() const { return {bins, 1, 0}; }

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
  Calibration calibration, escapes;
  ChannelObserver one_channel;
  LayerReport report;
  std::string json;
  const std::string path = testing::TempDir() + "quantize_fault_injection";
};

// Outputs of the calls.
struct Outputs {
  Outputs() : f(kElements), i(kElements), q(kElements), u(kElements) {}
  // A copy, and bytes compared: loops that count take most of the time at -O0.
  void Paint() {
    static const Outputs painted = [] {
      Outputs outputs;
      // Weights of different size.
      for (std::size_t k = 0; k < outputs.f.size(); ++k) {
        outputs.f[k] = 1 + static_cast<float>(k % 7) / 4;
      }
      std::fill(outputs.i.begin(), outputs.i.end(), 77);
      std::fill(outputs.q.begin(), outputs.q.end(), std::int8_t{77});
      std::fill(outputs.u.begin(), outputs.u.end(), std::uint8_t{77});
      outputs.values.fill(77);
      return outputs;
    }();
    *this = painted;
  }
  bool operator==(const Outputs& other) const {
    return std::memcmp(f.data(), other.f.data(), f.size() * sizeof(f[0])) ==
               0 &&
           i == other.i && q == other.q && u == other.u &&
           values == other.values;
  }
  std::vector<float> f;
  std::vector<std::int32_t> i;
  std::vector<std::int8_t> q;
  std::vector<std::uint8_t> u;
  // The results of a call, or the state of an object that it changes.
  std::array<double, 20> values;
};

// One attempt. Made and taken away without faults.
struct World {
  World(const Inputs* inputs, Outputs* outputs, Executor* executor,
        Threads threads)
      : in(*inputs), out(outputs) {
    if (threads == Threads::kExecutor) context.set_executor(executor);
    // Four, on one processor too.
    if (threads != Threads::kOne) UseThreads(4, &context);
    EXPECT_OK(observer.Observe(absl::MakeConstSpan(in.x).first(99)));
    EXPECT_OK(other.Observe(absl::MakeConstSpan(in.x).last(5000)));
    weights = RowMajorOf(out->f, kChannels, 9);
    activations = ColMajorOf(in.x.data() + 64, 32, 40);
    float* const small = out->f.data() + 9 * kChannels;
    first = RowMajorOf(small, 4, 6);
    second = RowMajorOf(small + 24, 5, 4);
    bias = absl::MakeSpan(small + 44, 4);
  }
  TensorView<const std::int8_t> Input(const TensorShape& shape = kImage) const {
    return {in.q.data(), shape, kParams};
  }
  // Until the next one of this type is asked for.
  template <typename T>
  TensorView<T>* OutputOf(std::vector<T>* data, const QuantParams& params,
                          const TensorShape& shape = kImage) {
    return &(std::get<TensorView<T>>(outputs_) = {data->data(), shape, params});
  }
  TensorView<std::int8_t>* Output(const TensorShape& shape = kImage) {
    return OutputOf(&out->q, kParams, shape);
  }

  const Inputs& in;
  Outputs* out;
  Context context;
  Workspace workspace;
  Observer observer, other, ranged;
  MovingAverageObserver average;
  ChannelObserver channels;
  Matrix<float> weights;
  Matrix<float> activations;
  // Two small layers, of which the first has a bias.
  Matrix<float> first, second;
  absl::Span<float> bias;

 private:
  std::tuple<TensorView<std::int8_t>, TensorView<std::uint8_t>,
             TensorView<float>>
      outputs_;
};

// With the code without faults.
using Kind = NamedCall<World>;

// Writes what a call returned to the outputs, and takes no memory.
template <typename... Numbers>
void Note(World* w, Numbers... numbers) {
  double* value = w->out->values.data();
  ((*value++ = static_cast<double>(numbers)), ...);
}
void Note(World* w, const QuantParams& params) {
  Note(w, params.scale, params.zero_point, params.qmin, params.qmax);
}
// The result, or these members of it, if there is one.
template <typename T, typename... Members>
absl::Status NoteOr(World* w, const absl::StatusOr<T>& result,
                    Members... members) {
  if (!result.ok()) return result.status();
  if constexpr (sizeof...(Members) == 0) {
    Note(w, *result);
  } else {
    Note(w, std::invoke(members, *result)...);
  }
  return absl::OkStatus();
}

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

  // The observers' state, as outputs.
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
    *value++ = static_cast<double>(w->average.batches());
    *value++ = w->average.max() - w->average.min();
    *value++ = static_cast<double>(w->channels.channels().size());
  }

  // What a call leaves without faults, and what was there before.
  void Expect(const Kind& kind) {
    World world(inputs_, outputs_, executor_, GetParam());
    outputs_->Paint();
    NoteObservers(&world);
    *painted_ = *outputs_;
    EXPECT_CODE(kind.code, kind.call(&world)) << kind.name;
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
    long failed = 0;
    absl::Status status = CallWithFailures(kind, failures, &world, &failed);
    NoteObservers(&world);
    EXPECT_TRUE(*outputs_ == (status.ok() ? *expected_ : *painted_)) << status;
    if (!status.ok()) {
      outputs_->Paint();
      EXPECT_CODE(kind.code, kind.call(&world)) << "afterwards";
      NoteObservers(&world);
      EXPECT_TRUE(*outputs_ == *expected_) << "afterwards";
    }
    return failed > 0;
  }

  // Returns how many there were to fail, one at a time.
  long TryAll(const Kind& kind, long Failures::*first) {
    Expect(kind);
    return FailEach(kind.name, first, [&](const Failures& failures) {
      return TryOnce(kind, failures);
    });
  }

  // Each of which takes memory.
  void TryEachKind(const Calls<World>& kinds) {
    if (!kTestOwnsHeap) GTEST_SKIP() << "nothing can be made to fail here";
    for (const Kind& kind : kinds) {
      EXPECT_GT(TryAll(kind, &Failures::first_allocation), 0) << kind.name;
    }
  }
  void TryKinds(const Calls<World>& kinds, long Failures::*first) {
    if (!kTestOwnsHeap) GTEST_SKIP() << "nothing can be made to fail here";
    long sum = 0;
    for (const Kind& kind : kinds) sum += TryAll(kind, first);
    if (first == &Failures::first_allocation) {
      EXPECT_GT(sum, 0);
    } else if (GetParam() == Threads::kPool) {
      EXPECT_GT(sum, 0) << "no call used threads";
    }
  }

  static inline Inputs* inputs_ = nullptr;
  static inline Outputs *outputs_ = nullptr, *painted_ = nullptr,
                        *expected_ = nullptr;
  static inline PoolExecutor* executor_ = nullptr;
};

std::string ThreadsName(const testing::TestParamInfo<Threads>& info) {
  return info.param == Threads::kOne    ? "One"
         : info.param == Threads::kPool ? "Pool"
                                        : "Executor";
}

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
  // Weights are transformed in the call, or else, without memory, multiplied.
  calls.Ok("Conv2DByWinograd", [](World* w) {
    constexpr TensorShape kShape = {1, 16, 64, 16, TensorOrder::kNchw};
    w->context.set_runtime_enabled_paths(Path::kPortable | Path::kAvx2);
    const auto weights =
        PackedWeights::Pack(RowMajorOf(w->in.q, kChannels, 9 * 16),
                            w->in.channel_params, &w->context);
    if (!weights.ok()) return weights.status();
    return Conv2D(w->Input(kShape), *weights, w->in.int_bias, kKernel3x3,
                  &w->workspace, &w->context, w->Output(kNchwImage));
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
