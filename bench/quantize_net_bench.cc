// The network operations of ruy_like::quantize beside the products in them.
//
//   quantize_net_bench [Google Benchmark's flags]
//
// Both run in turn within one loop, so that a share is a median of ratios
// within the same few milliseconds: the machine may be disturbed for a moment
// or for long. Counters:
//
//   GOP/s      of the operation: 2 * multiply-adds by the median wall time
//   mul_GOP/s  of the equal product by Mul, whose operands lie ready
//   share      the first as a part of the second
//   of_peak    (GroupedConv2D) the first as a part of what the path's inner
//   step
//              did from registers meanwhile
//   outputs/ns (DepthwiseConv2D, which has no equal product) output elements
//   search_s, mul_s, ratio   (EqSearch) seconds of a search, seconds of the
//              products in it, and the first by the second
//   int8_GMAC/s, ..., lhs_gain, both_gain   (Int7) without a promise, with one
//              for the lhs, for both; how many times faster than the first
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/machine.h"
#include "bench/probes.h"
#include "bench/stopwatch.h"
#include "benchmark/benchmark.h"
#include "ruy_like/packed_matrix.h"
#include "ruy_like/quantize/quantize.h"

namespace ruy_like::bench {
namespace {

void DieUnlessOk(const absl::Status& status) {
  if (status.ok()) return;
  std::cerr << status << "\n";
  std::exit(1);
}

std::vector<std::int8_t> RandomBytes(std::ptrdiff_t size) {
  std::mt19937 random;
  std::vector<std::int8_t> bytes(static_cast<std::size_t>(size));
  for (std::int8_t& byte : bytes) {
    byte = static_cast<std::int8_t>(random() >> 24);
  }
  return bytes;
}

std::vector<float> RandomFloats(std::ptrdiff_t size) {
  std::mt19937 random;
  std::normal_distribution<float> gauss;
  std::vector<float> values(static_cast<std::size_t>(size));
  for (float& value : values) value = gauss(random);
  return values;
}

template <typename T>
Matrix<T> SimpleMatrix(T* data, std::ptrdiff_t rows, std::ptrdiff_t cols,
                       Order order) {
  Matrix<T> matrix;
  MakeSimpleLayout(rows, cols, order, matrix.mutable_layout());
  matrix.set_data(data);
  return matrix;
}

// ## Convolutions

struct ConvCase {
  const char* name;
  TensorShape input;
  std::ptrdiff_t channels;  // of the output
  Window window;
  int threads;
  std::ptrdiff_t groups = 1;
};

// The convolution, and the product of the same size with rhs and dst in the
// order that the convolution has.
class ConvSetup final {
 public:
  explicit ConvSetup(const ConvCase& c)
      : case_(c),
        output_shape_(OutputShape(c.input, c.window, c.channels).value()),
        depth_(c.window.kernel_height * c.window.kernel_width *
               c.input.channels / c.groups),
        cols_(output_shape_.batch * output_shape_.height * output_shape_.width),
        weight_params_(static_cast<std::size_t>(c.channels)),
        fixedpoint_(static_cast<std::size_t>(c.channels)),
        exponent_(static_cast<std::size_t>(c.channels)) {
    context_.set_max_num_threads(c.threads);
    for (QuantParams& params : weight_params_) {
      params.scale = 0.01f;
    }
    input_params_.scale = 0.05f;
    input_params_.zero_point = -3;
    output_params_.scale = 2;
    input_ = RandomBytes(c.input.batch * c.input.height * c.input.width *
                         c.input.channels);
    output_.resize(static_cast<std::size_t>(c.channels * cols_));
    rhs_data_ = RandomBytes(depth_ * cols_);
    bias_.assign(static_cast<std::size_t>(c.channels), 1000);
    std::vector<std::int8_t> weights = RandomBytes(c.channels * depth_);
    const Matrix<std::int8_t> matrix =
        SimpleMatrix(weights.data(), c.channels, depth_, Order::kRowMajor);
    PackWeightsOptions options;
    options.groups = c.groups;
    auto packed =
        PackedWeights::Pack(matrix, weight_params_, &context_, options);
    DieUnlessOk(packed.status());
    weights_ = *std::move(packed);
    SetUpProduct();
  }

  double Ops() const {
    return 2.0 * static_cast<double>(case_.channels) *
           static_cast<double>(depth_) * static_cast<double>(cols_);
  }

  double TimeConv() {
    TensorView<std::int8_t> output{output_.data(), output_shape_,
                                   output_params_};
    const TensorView<const std::int8_t> input{input_.data(), case_.input,
                                              input_params_};
    const Stopwatch stopwatch;
    DieUnlessOk(Conv2D(input, weights_, bias_, case_.window, &workspace_,
                       &context_, &output));
    return stopwatch.Elapsed().wall;
  }

  QuantizedLayer MakeLayer() const {
    auto layer = QuantizedLayer::Make<std::int8_t, std::int8_t>(
        weights_, bias_, input_params_, output_params_);
    DieUnlessOk(layer.status());
    return *std::move(layer);
  }

  // So many calls.
  double TimeFullyConnected(const QuantizedLayer& layer, int repeats) {
    TensorView<std::int8_t> output{output_.data(), output_shape_,
                                   output_params_};
    const TensorView<const std::int8_t> input{input_.data(), case_.input,
                                              input_params_};
    const Stopwatch stopwatch;
    for (int i = 0; i < repeats; ++i) {
      DieUnlessOk(FullyConnected(input, layer, &context_, &output));
    }
    return stopwatch.Elapsed().wall;
  }

  // A grouped convolution counts as the products of all of its groups.
  double TimeMul(int repeats = 1) {
    const Stopwatch stopwatch;
    for (std::ptrdiff_t i = 0; i < repeats * case_.groups; ++i) {
      DieUnlessOk(Mul(weights_.packed(i % case_.groups), rhs_, mul_params_,
                      &context_, &dst_));
    }
    return stopwatch.Elapsed().wall;
  }

  const char* Kernel() const { return context_.last_used_kernel(); }

  // Operations a second of the path's inner step alone; 0 if it has no probe.
  double Peak() {
    const PeakProbe* const probe = FindPeakProbe(
        context_.last_used_path(), kernels::Family::k8x8, Feed::kRegisters);
    if (probe == nullptr) return 0;
    constexpr double kSeconds = 2e-4;
    return MeasurePeak(*probe, case_.threads, context_.mutable_thread_pool(),
                       kSeconds, 1)
        .by_wall;
  }

 private:
  void SetUpProduct() {
    const Order order = case_.input.order == TensorOrder::kNhwc
                            ? Order::kColMajor
                            : Order::kRowMajor;
    rhs_ = SimpleMatrix(rhs_data_.data(), depth_, cols_, order);
    rhs_.set_zero_point(static_cast<std::int8_t>(input_params_.zero_point));
    dst_ = SimpleMatrix(output_.data(), case_.channels / case_.groups, cols_,
                        order);
    mul_params_.set_bias(bias_.data());
    DieUnlessOk(SetMultipliers<std::int8_t>(
        weight_params_, input_params_, output_params_,
        absl::MakeSpan(fixedpoint_), absl::MakeSpan(exponent_), &mul_params_));
  }

  ConvCase case_;
  TensorShape output_shape_;
  std::ptrdiff_t depth_, cols_;
  std::vector<QuantParams> weight_params_;
  std::vector<std::int32_t> fixedpoint_;
  std::vector<int> exponent_;
  QuantParams input_params_, output_params_;
  std::vector<std::int8_t> input_, output_, rhs_data_;
  std::vector<std::int32_t> bias_;
  Context context_;
  Workspace workspace_;
  PackedWeights weights_;
  Matrix<std::int8_t> rhs_, dst_;
  MulParams<std::int32_t, std::int8_t> mul_params_;
};

void RunConv(const ConvCase& c, benchmark::State* state) {
  ConvSetup setup(c);
  // Brings memory, threads and caches to where they will be.
  setup.TimeConv();
  setup.TimeMul();
  std::vector<double> conv, mul, share, of_peak;
  for (auto _ : *state) {
    conv.push_back(setup.TimeConv());
    mul.push_back(setup.TimeMul());
    share.push_back(mul.back() / conv.back());
    const double peak = c.groups > 1 ? setup.Peak() : 0;
    if (peak > 0) of_peak.push_back(setup.Ops() / conv.back() / peak);
    state->SetIterationTime(conv.back());
  }
  state->counters["GOP/s"] = setup.Ops() / Median(conv) / 1e9;
  state->counters["mul_GOP/s"] = setup.Ops() / Median(mul) / 1e9;
  state->counters["share"] = Median(share);
  if (!of_peak.empty()) state->counters["of_peak"] = Median(of_peak);
  state->SetLabel(setup.Kernel());
}

// A depthwise convolution of as many channels as the case's input has.
void RunDepthwise(const ConvCase& c, benchmark::State* state) {
  const TensorShape shape =
      OutputShape(c.input, c.window, c.input.channels).value();
  const std::ptrdiff_t taps = c.window.kernel_height * c.window.kernel_width;
  const std::vector<std::int8_t> input_data = RandomBytes(
      c.input.batch * c.input.height * c.input.width * c.input.channels);
  const std::ptrdiff_t outputs =
      shape.batch * shape.height * shape.width * shape.channels;
  std::vector<std::int8_t> output_data(static_cast<std::size_t>(outputs));
  std::vector<std::int8_t> weight_data = RandomBytes(shape.channels * taps);
  for (std::int8_t& w : weight_data) w = std::max<std::int8_t>(w, -127);
  const std::vector<QuantParams> params(
      static_cast<std::size_t>(shape.channels),
      QuantParams{0.01f, 0, -127, 127});
  const auto weights = DepthwiseWeights::Pack(
      SimpleMatrix(static_cast<const std::int8_t*>(weight_data.data()),
                   shape.channels, taps, Order::kRowMajor),
      params);
  DieUnlessOk(weights.status());
  const TensorView<const std::int8_t> input{input_data.data(), c.input,
                                            QuantParams{0.05f, -3, -128, 127}};
  TensorView<std::int8_t> output{output_data.data(), shape,
                                 QuantParams{0.5f, 4, -128, 127}};
  const std::vector<std::int32_t> bias(static_cast<std::size_t>(shape.channels),
                                       1000);
  const auto layer = QuantizedLayer::Make<std::int8_t, std::int8_t>(
      *weights, bias, input.params, output.params);
  DieUnlessOk(layer.status());
  Context context;
  context.set_max_num_threads(c.threads);
  Workspace workspace;
  const auto run = [&] {
    DieUnlessOk(DepthwiseConv2D(input, *layer, c.window, &workspace, &context,
                                &output));
  };
  run();
  std::vector<double> seconds;
  for (auto _ : *state) {
    const Stopwatch stopwatch;
    run();
    seconds.push_back(stopwatch.Elapsed().wall);
    state->SetIterationTime(seconds.back());
  }
  state->counters["GOP/s"] =
      2.0 * static_cast<double>(outputs * taps) / Median(seconds) / 1e9;
  state->counters["outputs/ns"] =
      static_cast<double>(outputs) / Median(seconds) / 1e9;
}

Window Square(std::ptrdiff_t kernel, std::ptrdiff_t stride) {
  Window window;
  window.kernel_height = window.kernel_width = kernel;
  window.stride_height = window.stride_width = stride;
  const std::ptrdiff_t padding = kernel / 2;
  window.padding = {padding, padding, padding, padding};
  return window;
}

void RegisterConvs() {
  for (const TensorOrder order : {TensorOrder::kNhwc, TensorOrder::kNchw}) {
    for (const int threads : {1, 2}) {
      const auto image = [order](std::ptrdiff_t side, std::ptrdiff_t channels) {
        return TensorShape{1, side, side, channels, order};
      };
      const ConvCase cases[] = {
          {"1x1_56x56x64_256", image(56, 64), 256, Square(1, 1), threads},
          {"3x3_56x56x64_256", image(56, 64), 256, Square(3, 1), threads},
          {"3x3s2_56x56x64_128", image(56, 64), 128, Square(3, 2), threads},
          {"7x7s2_224x224x3_64", image(224, 3), 64, Square(7, 2), threads},
          {"3x3_8x8x16_32", image(8, 16), 32, Square(3, 1), threads},
      };
      for (const ConvCase& c : cases) {
        const std::string name = absl::StrCat(
            "Conv2D/", order == TensorOrder::kNhwc ? "nhwc/" : "nchw/", c.name,
            "/", threads, "threads");
        benchmark::RegisterBenchmark(
            name.c_str(), [c](benchmark::State& state) { RunConv(c, &state); })
            ->UseManualTime();
      }
    }
  }
}

// The grouped layers of ResNeXt-50 (32x4d), of RegNets and of ShuffleNet.
void RegisterGroupedConvs() {
  for (const TensorOrder order : {TensorOrder::kNhwc, TensorOrder::kNchw}) {
    const auto image = [order](std::ptrdiff_t side, std::ptrdiff_t channels) {
      return TensorShape{1, side, side, channels, order};
    };
    const ConvCase cases[] = {
        {"3x3_56x56x128_g32", image(56, 128), 128, Square(3, 1), 1, 32},
        {"3x3s2_56x56x256_g32", image(56, 256), 256, Square(3, 2), 1, 32},
        {"3x3_28x28x256_g32", image(28, 256), 256, Square(3, 1), 1, 32},
        {"3x3_14x14x512_g32", image(14, 512), 512, Square(3, 1), 1, 32},
        {"3x3_7x7x1024_g32", image(7, 1024), 1024, Square(3, 1), 1, 32},
        {"3x3_28x28x240_g10", image(28, 240), 240, Square(3, 1), 1, 10},
        {"1x1_28x28x240_60_g3", image(28, 240), 60, Square(1, 1), 1, 3},
        {"1x1_28x28x60_240_g3", image(28, 60), 240, Square(1, 1), 1, 3},
        {"1x1_28x28x256_g16", image(28, 256), 256, Square(1, 1), 1, 16},
        {"1x1_28x28x256_g8", image(28, 256), 256, Square(1, 1), 1, 8},
        {"1x1_14x14x480_g8", image(14, 480), 480, Square(1, 1), 1, 8},
    };
    for (const ConvCase& c : cases) {
      const std::string name =
          absl::StrCat("GroupedConv2D/",
                       order == TensorOrder::kNhwc ? "nhwc/" : "nchw/", c.name);
      benchmark::RegisterBenchmark(name.c_str(), [c](benchmark::State& state) {
        RunConv(c, &state);
      })->UseManualTime();
    }
  }
}

void RegisterDepthwise() {
  for (const TensorOrder order : {TensorOrder::kNhwc, TensorOrder::kNchw}) {
    const auto image = [order](std::ptrdiff_t side, std::ptrdiff_t channels) {
      return TensorShape{1, side, side, channels, order};
    };
    const ConvCase cases[] = {
        {"3x3_112x112x32", image(112, 32), 0, Square(3, 1), 1},
        {"3x3s2_112x112x64", image(112, 64), 0, Square(3, 2), 1},
        {"3x3_56x56x128", image(56, 128), 0, Square(3, 1), 1},
        {"3x3_28x28x96", image(28, 96), 0, Square(3, 1), 1},
        {"3x3_14x14x512", image(14, 512), 0, Square(3, 1), 1},
        {"3x3s2_14x14x512", image(14, 512), 0, Square(3, 2), 1},
        {"3x3_7x7x1024", image(7, 1024), 0, Square(3, 1), 1},
        {"5x5_28x28x128", image(28, 128), 0, Square(5, 1), 1},
        {"5x5s2_28x28x128", image(28, 128), 0, Square(5, 2), 1},
    };
    for (const ConvCase& c : cases) {
      const std::string name =
          absl::StrCat("DepthwiseConv2D/",
                       order == TensorOrder::kNhwc ? "nhwc/" : "nchw/", c.name);
      benchmark::RegisterBenchmark(name.c_str(), [c](benchmark::State& state) {
        RunDepthwise(c, &state);
      })->UseManualTime();
    }
  }
}

// ## FullyConnected

// A made layer on images of `depth` values, and the equal product.
void RunFullyConnected(std::ptrdiff_t batch, std::ptrdiff_t depth,
                       std::ptrdiff_t channels, benchmark::State* state) {
  // The product of a 1x1 convolution of so many pixels.
  const ConvCase c = {"", {batch, 1, 1, depth}, channels, Window(), 1};
  ConvSetup setup(c);
  const QuantizedLayer layer = setup.MakeLayer();
  // Products this short are timed in runs.
  constexpr int kRepeats = 100;
  std::vector<double> connected, mul, share;
  for (auto _ : *state) {
    connected.push_back(setup.TimeFullyConnected(layer, kRepeats) / kRepeats);
    mul.push_back(setup.TimeMul(kRepeats) / kRepeats);
    share.push_back(mul.back() / connected.back());
    state->SetIterationTime(connected.back());
  }
  state->counters["GOP/s"] = setup.Ops() / Median(connected) / 1e9;
  state->counters["mul_GOP/s"] = setup.Ops() / Median(mul) / 1e9;
  state->counters["share"] = Median(share);
  state->SetLabel(setup.Kernel());
}

void RegisterFullyConnected() {
  const std::ptrdiff_t cases[][3] = {{1, 64, 64}, {1, 512, 512}, {16, 64, 64}};
  for (const auto& c : cases) {
    const std::string name =
        absl::StrCat("FullyConnected/", c[0], "x", c[1], "x", c[2]);
    benchmark::RegisterBenchmark(name.c_str(), [c](benchmark::State& state) {
      RunFullyConnected(c[0], c[1], c[2], &state);
    })->UseManualTime();
  }
}

// ## EqSearch

struct EqCase {
  const char* name;
  std::ptrdiff_t rows, depth, cols;
};

// A search, and as many int32 products as are in it.
void RunEq(const EqCase& c, benchmark::State* state) {
  std::vector<float> w = RandomFloats(c.rows * c.depth);
  std::vector<float> a = RandomFloats(c.depth * c.cols);
  const Matrix<float> weights =
      SimpleMatrix(w.data(), c.rows, c.depth, Order::kRowMajor);
  const Matrix<float> activations =
      SimpleMatrix(a.data(), c.depth, c.cols, Order::kColMajor);
  std::vector<std::int8_t> lhs_data = RandomBytes(c.rows * c.depth);
  std::vector<std::int8_t> rhs_data = RandomBytes(c.depth * c.cols);
  std::vector<std::int32_t> dst_data(static_cast<std::size_t>(c.rows * c.cols));
  const Matrix<std::int8_t> lhs =
      SimpleMatrix(lhs_data.data(), c.rows, c.depth, Order::kRowMajor);
  const Matrix<std::int8_t> rhs =
      SimpleMatrix(rhs_data.data(), c.depth, c.cols, Order::kColMajor);
  Matrix<std::int32_t> dst =
      SimpleMatrix(dst_data.data(), c.rows, c.cols, Order::kColMajor);
  const MulParams<std::int32_t, std::int32_t> params;
  Context context;
  DieUnlessOk(Mul(lhs, rhs, params, &context, &dst));
  EqOptions options;
  options.max_rounds = 1;
  std::vector<double> search, mul, ratio;
  for (auto _ : *state) {
    const Stopwatch search_time;
    const auto result = EqSearch(weights, {activations}, options, &context);
    DieUnlessOk(result.status());
    search.push_back(search_time.Elapsed().wall);
    const Stopwatch mul_time;
    for (std::ptrdiff_t i = 0; i < result->products; ++i) {
      DieUnlessOk(Mul(lhs, rhs, params, &context, &dst));
    }
    mul.push_back(mul_time.Elapsed().wall);
    ratio.push_back(search.back() / mul.back());
    state->SetIterationTime(search.back());
  }
  state->counters["search_s"] = Median(search);
  state->counters["mul_s"] = Median(mul);
  state->counters["ratio"] = Median(ratio);
}

void RegisterEqs() {
  const EqCase cases[] = {{"256x576x3136", 256, 576, 3136},
                          {"512x512x512", 512, 512, 512},
                          {"768x3072x128", 768, 3072, 128},
                          {"64x147x3136", 64, 147, 3136}};
  for (const EqCase& c : cases) {
    const std::string name = absl::StrCat("EqSearch/", c.name);
    benchmark::RegisterBenchmark(name.c_str(), [c](benchmark::State& state) {
      RunEq(c, &state);
    })->UseManualTime();
  }
}

// ## Seven bits

// The same numbers, all in [-63, 63], multiplied without and with the promise
// that they are: int8 into int8, the lhs cached as weights are. Of interest
// where the path has no VNNI or the like: RUY_LIKE_PATHS=avx2.
void RunInt7(benchmark::State* state) {
  constexpr std::ptrdiff_t kSize = 512;
  std::vector<std::int8_t> lhs_data = RandomBytes(kSize * kSize);
  std::vector<std::int8_t> rhs_data = lhs_data;
  for (std::size_t i = 0; i < lhs_data.size(); ++i) {
    lhs_data[i] = static_cast<std::int8_t>(lhs_data[i] % 64);
    rhs_data[i] = static_cast<std::int8_t>(rhs_data[i] / 2 % 64);
  }
  std::vector<std::int8_t> dst_data(kSize * kSize);
  Matrix<std::int8_t> dst =
      SimpleMatrix(dst_data.data(), kSize, kSize, Order::kColMajor);
  MulParams<std::int32_t, std::int8_t> params;
  params.set_multiplier_fixedpoint(1 << 30);
  params.set_multiplier_exponent(-7);
  constexpr int kTiers = 3;  // no promise, for the lhs, for both
  Context contexts[kTiers];
  std::vector<double> seconds[kTiers], gain[kTiers];
  for (auto _ : *state) {
    for (int tier = 0; tier < kTiers; ++tier) {
      Matrix<std::int8_t> lhs =
          SimpleMatrix(lhs_data.data(), kSize, kSize, Order::kRowMajor);
      Matrix<std::int8_t> rhs =
          SimpleMatrix(rhs_data.data(), kSize, kSize, Order::kColMajor);
      lhs.set_cache_policy(CachePolicy::kAlwaysCache);
      if (tier > 0) lhs.set_value_range(ValueRange::kInt7);
      if (tier > 1) rhs.set_value_range(ValueRange::kInt7);
      const Stopwatch stopwatch;
      DieUnlessOk(Mul(lhs, rhs, params, &contexts[tier], &dst));
      seconds[tier].push_back(stopwatch.Elapsed().wall);
      gain[tier].push_back(seconds[0].back() / seconds[tier].back());
    }
    state->SetIterationTime(seconds[0].back());
  }
  constexpr double kGmac = 1e-9 * kSize * kSize * kSize;
  state->counters["int8_GMAC/s"] = kGmac / Median(seconds[0]);
  state->counters["lhs_int7_GMAC/s"] = kGmac / Median(seconds[1]);
  state->counters["both_int7_GMAC/s"] = kGmac / Median(seconds[2]);
  state->counters["lhs_gain"] = Median(gain[1]);
  state->counters["both_gain"] = Median(gain[2]);
  state->SetLabel(contexts[2].last_used_kernel());
}

void RegisterInt7() {
  benchmark::RegisterBenchmark("Int7/512x512x512", [](benchmark::State& state) {
    RunInt7(&state);
  })->UseManualTime();
}

}  // namespace
}  // namespace ruy_like::bench

int main(int argc, char** argv) {
  ruy_like::bench::RegisterConvs();
  ruy_like::bench::RegisterGroupedConvs();
  ruy_like::bench::RegisterDepthwise();
  ruy_like::bench::RegisterFullyConnected();
  ruy_like::bench::RegisterEqs();
  ruy_like::bench::RegisterInt7();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::AddCustomContext("cpu_model", ruy_like::bench::CpuModel());
  benchmark::AddCustomContext("compiler", ruy_like::bench::CompilerName());
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
