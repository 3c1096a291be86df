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
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/buffer.h"
#include "bench/layer.h"
#include "bench/machine.h"
#include "bench/probes.h"
#include "bench/shapes.h"
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
  return RandomVector<std::int8_t>(size, -128, 127);
}

std::vector<float> RandomFloats(std::ptrdiff_t size) {
  std::mt19937 random;
  std::normal_distribution<float> gauss;
  std::vector<float> values(static_cast<std::size_t>(size));
  for (float& value : values) value = gauss(random);
  return values;
}

// Wall seconds of a call, the mean of so many.
template <typename Call>
double WallSeconds(const Call& call, int repeats = 1) {
  const Stopwatch stopwatch;
  for (int i = 0; i < repeats; ++i) DieUnlessOk(call());
  return stopwatch.Elapsed().wall / repeats;
}

template <typename Run>
void Register(const std::string& name, const Run& run) {
  benchmark::RegisterBenchmark(name.c_str(), run)->UseManualTime();
}

// ## Convolutions

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
        weight_params_(static_cast<std::size_t>(c.channels), {0.01f}),
        fixedpoint_(static_cast<std::size_t>(c.channels)),
        exponent_(static_cast<std::size_t>(c.channels)) {
    context_.set_max_num_threads(c.threads);
    input_ = RandomBytes(CountOf(c.input));
    output_.resize(static_cast<std::size_t>(c.channels * cols_));
    rhs_data_ = RandomBytes(depth_ * cols_);
    bias_.assign(static_cast<std::size_t>(c.channels), 1000);
    std::vector<std::int8_t> weights = RandomBytes(c.channels * depth_);
    PackWeightsOptions options;
    options.groups = c.groups;
    auto packed = PackedWeights::Pack(RowMajor(weights, c.channels, depth_),
                                      weight_params_, &context_, options);
    DieUnlessOk(packed.status());
    weights_ = *std::move(packed);
    SetUpProduct();
  }

  double Ops() const {
    return 2.0 * static_cast<double>(case_.channels) *
           static_cast<double>(depth_) * static_cast<double>(cols_);
  }

  absl::Status Conv() {
    auto output = Output();
    return Conv2D(Input(), weights_, bias_, case_.window, &workspace_,
                  &context_, &output);
  }

  QuantizedLayer MakeLayer() const {
    auto layer = QuantizedLayer::Make<std::int8_t, std::int8_t>(
        weights_, bias_, input_params_, output_params_);
    DieUnlessOk(layer.status());
    return *std::move(layer);
  }

  absl::Status Connect(const QuantizedLayer& layer) {
    auto output = Output();
    return FullyConnected(Input(), layer, &context_, &output);
  }

  // A grouped convolution counts as the products of all of its groups.
  absl::Status Product() {
    absl::Status status;
    for (std::ptrdiff_t i = 0; i < case_.groups; ++i) {
      status.Update(
          Mul(weights_.packed(i), rhs_, mul_params_, &context_, &dst_));
    }
    return status;
  }

  const char* Kernel() const { return context_.last_used_kernel(); }

  // Operations a second of a grouped convolution's inner step alone; 0 if it
  // has no probe.
  double Peak() {
    if (case_.groups == 1) return 0;
    const PeakProbe* const probe = FindPeakProbe(
        context_.last_used_path(), kernels::Family::k8x8, Feed::kRegisters);
    if (probe == nullptr) return 0;
    constexpr double kSeconds = 2e-4;
    return MeasurePeak(*probe, case_.threads, context_.mutable_thread_pool(),
                       kSeconds, 1)
        .by_wall;
  }

 private:
  TensorView<const std::int8_t> Input() const {
    return {input_.data(), case_.input, input_params_};
  }
  TensorView<std::int8_t> Output() {
    return {output_.data(), output_shape_, output_params_};
  }
  void SetUpProduct() {
    const bool nhwc = case_.input.order == TensorOrder::kNhwc;
    const std::ptrdiff_t rows = case_.channels / case_.groups;
    rhs_ = nhwc ? ColMajor(rhs_data_, depth_, cols_)
                : RowMajor(rhs_data_, depth_, cols_);
    rhs_.set_zero_point(static_cast<std::int8_t>(input_params_.zero_point));
    dst_ =
        nhwc ? ColMajor(output_, rows, cols_) : RowMajor(output_, rows, cols_);
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
  const QuantParams input_params_ = {0.05f, -3}, output_params_ = {2};
  std::vector<std::int8_t> input_, output_, rhs_data_;
  std::vector<std::int32_t> bias_;
  Context context_;
  Workspace workspace_;
  PackedWeights weights_;
  Matrix<std::int8_t> rhs_, dst_;
  MulParams<std::int32_t, std::int8_t> mul_params_;
};

// The operation and the equal product in turn, so many calls each.
template <typename Operation>
void RunBesideMul(ConvSetup* setup, int repeats, const Operation& operation,
                  benchmark::State* state) {
  const auto product = [&] { return setup->Product(); };
  // Brings memory, threads and caches to where they will be.
  DieUnlessOk(operation());
  DieUnlessOk(product());
  std::vector<double> seconds, mul, share, of_peak;
  for (auto _ : *state) {
    seconds.push_back(WallSeconds(operation, repeats));
    mul.push_back(WallSeconds(product, repeats));
    share.push_back(mul.back() / seconds.back());
    const double peak = setup->Peak();
    if (peak > 0) of_peak.push_back(setup->Ops() / seconds.back() / peak);
    state->SetIterationTime(seconds.back());
  }
  state->counters["GOP/s"] = setup->Ops() / Median(seconds) / 1e9;
  state->counters["mul_GOP/s"] = setup->Ops() / Median(mul) / 1e9;
  state->counters["share"] = Median(share);
  if (!of_peak.empty()) state->counters["of_peak"] = Median(of_peak);
  state->SetLabel(setup->Kernel());
}

void RunConv(const ConvCase& c, benchmark::State* state) {
  ConvSetup setup(c);
  RunBesideMul(
      &setup, 1, [&] { return setup.Conv(); }, state);
}

// A depthwise convolution of as many channels as the case's input has.
void RunDepthwise(const ConvCase& c, benchmark::State* state) {
  Context context;
  context.set_max_num_threads(c.threads);
  auto layer = BenchLayer::Make(c, /*is_depthwise=*/true, &context);
  DieUnlessOk(layer.status());
  const auto run = [&] { return layer->Run(&context); };
  DieUnlessOk(run());
  std::vector<double> seconds;
  for (auto _ : *state) {
    seconds.push_back(WallSeconds(run));
    state->SetIterationTime(seconds.back());
  }
  const auto outputs = static_cast<double>(layer->outputs());
  const auto taps = static_cast<double>(layer->depth());
  state->counters["GOP/s"] = 2.0 * outputs * taps / Median(seconds) / 1e9;
  state->counters["outputs/ns"] = outputs / Median(seconds) / 1e9;
}

// A layer on a square image, with a square kernel and as much padding as keeps
// the image's size.
struct LayerCase {
  const char* name;
  std::ptrdiff_t side, in_channels, out_channels, kernel, stride;
  std::ptrdiff_t groups = 1;
};

constexpr LayerCase kConvs[] = {
    {"1x1_56x56x64_256", 56, 64, 256, 1, 1},
    {"3x3_56x56x64_256", 56, 64, 256, 3, 1},
    {"3x3s2_56x56x64_128", 56, 64, 128, 3, 2},
    {"7x7s2_224x224x3_64", 224, 3, 64, 7, 2},
    {"3x3_8x8x16_32", 8, 16, 32, 3, 1},
};
// Layers of ResNeXt-50 (32x4d), RegNets and ShuffleNet.
constexpr LayerCase kGroupedConvs[] = {
    {"3x3_56x56x128_g32", 56, 128, 128, 3, 1, 32},
    {"3x3s2_56x56x256_g32", 56, 256, 256, 3, 2, 32},
    {"3x3_28x28x256_g32", 28, 256, 256, 3, 1, 32},
    {"3x3_14x14x512_g32", 14, 512, 512, 3, 1, 32},
    {"3x3_7x7x1024_g32", 7, 1024, 1024, 3, 1, 32},
    {"3x3_28x28x240_g10", 28, 240, 240, 3, 1, 10},
    {"1x1_28x28x240_60_g3", 28, 240, 60, 1, 1, 3},
    {"1x1_28x28x60_240_g3", 28, 60, 240, 1, 1, 3},
    {"1x1_28x28x256_g16", 28, 256, 256, 1, 1, 16},
    {"1x1_28x28x256_g8", 28, 256, 256, 1, 1, 8},
    {"1x1_14x14x480_g8", 14, 480, 480, 1, 1, 8},
};
constexpr LayerCase kDepthwiseConvs[] = {
    {"3x3_112x112x32", 112, 32, 32, 3, 1},
    {"3x3s2_112x112x64", 112, 64, 64, 3, 2},
    {"3x3_56x56x128", 56, 128, 128, 3, 1},
    {"3x3_28x28x96", 28, 96, 96, 3, 1},
    {"3x3_14x14x512", 14, 512, 512, 3, 1},
    {"3x3s2_14x14x512", 14, 512, 512, 3, 2},
    {"3x3_7x7x1024", 7, 1024, 1024, 3, 1},
    {"5x5_28x28x128", 28, 128, 128, 5, 1},
    {"5x5s2_28x28x128", 28, 128, 128, 5, 2},
};

// The names end in the threads where there are several numbers of them.
void RegisterLayers(const char* operation, absl::Span<const LayerCase> layers,
                    const std::vector<int>& thread_counts,
                    void (*run)(const ConvCase&, benchmark::State*)) {
  for (const TensorOrder order : {TensorOrder::kNhwc, TensorOrder::kNchw}) {
    for (const int threads : thread_counts) {
      for (const LayerCase& layer : layers) {
        ConvCase c = {{1, layer.side, layer.side, layer.in_channels, order},
                      layer.out_channels,
                      SquareWindow(layer.kernel, layer.stride),
                      threads,
                      layer.groups};
        std::string name = absl::StrCat(
            operation, order == TensorOrder::kNhwc ? "/nhwc/" : "/nchw/",
            layer.name);
        if (thread_counts.size() > 1) {
          absl::StrAppend(&name, "/", threads, "threads");
        }
        Register(name, [c, run](benchmark::State& state) { run(c, &state); });
      }
    }
  }
}

// ## FullyConnected

// A made layer on images of `depth` values, and the equal product.
void RunFullyConnected(std::ptrdiff_t batch, std::ptrdiff_t depth,
                       std::ptrdiff_t channels, benchmark::State* state) {
  // The product of a 1x1 convolution of so many pixels.
  ConvSetup setup({{batch, 1, 1, depth}, channels, Window()});
  const QuantizedLayer layer = setup.MakeLayer();
  // Products this short are timed in runs.
  RunBesideMul(
      &setup, 100, [&] { return setup.Connect(layer); }, state);
}

void RegisterFullyConnected() {
  const std::ptrdiff_t cases[][3] = {{1, 64, 64}, {1, 512, 512}, {16, 64, 64}};
  for (const auto& c : cases) {
    Register(absl::StrCat("FullyConnected/", c[0], "x", c[1], "x", c[2]),
             [c](benchmark::State& state) {
               RunFullyConnected(c[0], c[1], c[2], &state);
             });
  }
}

// ## EqSearch

// A search, and as many int32 products as are in it.
void RunEq(const Shape& c, benchmark::State* state) {
  const std::vector<float> w = RandomFloats(c.rows * c.depth);
  const std::vector<float> a = RandomFloats(c.depth * c.cols);
  const std::vector<std::int8_t> lhs_data = RandomBytes(c.rows * c.depth);
  const std::vector<std::int8_t> rhs_data = RandomBytes(c.depth * c.cols);
  std::vector<std::int32_t> dst_data(static_cast<std::size_t>(c.rows * c.cols));
  const Matrix<float> weights = RowMajor(w, c.rows, c.depth);
  const Matrix<float> activations = ColMajor(a, c.depth, c.cols);
  auto dst = ColMajor(dst_data, c.rows, c.cols);
  Context context;
  const auto product = [&] {
    return Mul(RowMajor(lhs_data, c.rows, c.depth),
               ColMajor(rhs_data, c.depth, c.cols),
               MulParams<std::int32_t, std::int32_t>(), &context, &dst);
  };
  DieUnlessOk(product());
  EqOptions options;
  options.max_rounds = 1;
  std::vector<double> search, mul, ratio;
  for (auto _ : *state) {
    std::ptrdiff_t products = 0;
    search.push_back(WallSeconds([&] {
      const auto result = EqSearch(weights, {activations}, options, &context);
      if (result.ok()) products = result->products;
      return result.status();
    }));
    const auto count = static_cast<int>(products);
    mul.push_back(count * WallSeconds(product, count));
    ratio.push_back(search.back() / mul.back());
    state->SetIterationTime(search.back());
  }
  state->counters["search_s"] = Median(search);
  state->counters["mul_s"] = Median(mul);
  state->counters["ratio"] = Median(ratio);
}

void RegisterEqs() {
  for (const Shape& shape : {Shape{256, 576, 3136}, Shape{512, 512, 512},
                             Shape{768, 3072, 128}, Shape{64, 147, 3136}}) {
    Register(absl::StrCat("EqSearch/", ShapeName(shape)),
             [shape](benchmark::State& state) { RunEq(shape, &state); });
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
  auto dst = ColMajor(dst_data, kSize, kSize);
  MulParams<std::int32_t, std::int8_t> params;
  params.set_multiplier_fixedpoint(1 << 30);
  params.set_multiplier_exponent(-7);
  constexpr int kTiers = 3;  // no promise, for the lhs, for both
  Context contexts[kTiers];
  std::vector<double> seconds[kTiers], gain[kTiers];
  for (auto _ : *state) {
    for (int tier = 0; tier < kTiers; ++tier) {
      auto lhs = RowMajor(lhs_data, kSize, kSize);
      auto rhs = ColMajor(rhs_data, kSize, kSize);
      lhs.set_cache_policy(CachePolicy::kAlwaysCache);
      if (tier > 0) lhs.set_value_range(ValueRange::kInt7);
      if (tier > 1) rhs.set_value_range(ValueRange::kInt7);
      seconds[tier].push_back(WallSeconds(
          [&] { return Mul(lhs, rhs, params, &contexts[tier], &dst); }));
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

void RegisterAll() {
  RegisterLayers("Conv2D", kConvs, {1, 2}, RunConv);
  RegisterLayers("GroupedConv2D", kGroupedConvs, {1, 2}, RunConv);
  RegisterLayers("DepthwiseConv2D", kDepthwiseConvs, {1, 2}, RunDepthwise);
  RegisterFullyConnected();
  RegisterEqs();
  Register("Int7/512x512x512",
           [](benchmark::State& state) { RunInt7(&state); });
}

}  // namespace
}  // namespace ruy_like::bench

int main(int argc, char** argv) {
  ruy_like::bench::RegisterAll();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::AddCustomContext("cpu_model", ruy_like::bench::CpuModel());
  benchmark::AddCustomContext("compiler", ruy_like::bench::CompilerName());
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
