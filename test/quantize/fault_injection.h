// Test support: calls of the quantization toolkit in which every allocation, or
// every start of a thread, fails once, or from some point on. What comes back
// is a Status or the right result, outputs are untouched after an error,
// nothing leaks, and the next call works.
#ifndef RUY_LIKE_TEST_QUANTIZE_FAULT_INJECTION_H_
#define RUY_LIKE_TEST_QUANTIZE_FAULT_INJECTION_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

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

// What calls read: made once, without faults.
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
  const std::string no_file = path + ".none";
};

// What calls write.
struct Outputs {
  Outputs() : f(kElements), i(kElements), q(kElements), u(kElements) {}
  void Paint() {
    // Weights of different size.
    for (std::size_t k = 0; k < f.size(); ++k) {
      f[k] = 1 + static_cast<float>(k % 7) / 4;
    }
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
inline void Note(World* w, const QuantParams& params) {
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

class QuantizeFaultTest : public testing::TestWithParam<Threads> {
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

inline std::string ThreadsName(const testing::TestParamInfo<Threads>& info) {
  return info.param == Threads::kOne    ? "One"
         : info.param == Threads::kPool ? "Pool"
                                        : "Executor";
}

}  // namespace ruy_like

#endif  // RUY_LIKE_TEST_QUANTIZE_FAULT_INJECTION_H_
