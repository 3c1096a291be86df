// Every public operation of ruy_like::quantize with arguments that no sensible
// caller passes: each must give a Status and leave all memory as it was, also
// where there is no memory for that Status.
//
// What is merely wrong (sizes that differ, bad scales, ...) is in the tests of
// each operation; here is what could crash, hang, throw or overflow, and of
// each function that returns a Status at least one error.
#include <gtest/gtest.h>

#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "ruy_like/quantize/quantize.h"
#include "test/support/call_of.h"
#include "test/support/fail_each.h"
#include "test/support/heap.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

constexpr std::ptrdiff_t kHuge = std::numeric_limits<std::ptrdiff_t>::max();
constexpr std::int32_t kMostBias = std::numeric_limits<std::int32_t>::max();
constexpr float kMax = std::numeric_limits<float>::max();
constexpr float kTiny = std::numeric_limits<float>::denorm_min();

// All that the operations may read or write. Two images of 4x4x2 in either of
// the 8-bit arrays.
struct Memory {
  float f[64];
  float f_out[64];
  std::int8_t q[64];
  std::int8_t q_out[64];
  std::uint8_t u[64];
  std::uint8_t u_out[64];
  std::int32_t i[64];
  std::int32_t i_out[64];
};

struct World {
  World() {
    for (int i = 0; i < 64; ++i) {
      m.f[i] = static_cast<float>(i - 20) / 8;
      m.f_out[i] = 77;
      m.q[i] = static_cast<std::int8_t>(i - 20);
      m.u[i] = static_cast<std::uint8_t>(i);
      m.i[i] = 100 * i - 1000;
      m.q_out[i] = 77;
      m.u_out[i] = 77;
      m.i_out[i] = 77;
    }
    before = m;
    EXPECT_OK(seen.Observe(m.f));
    EXPECT_OK(ranged.SetRange(3));
  }

  // 3x4, or what a case makes of it.
  template <typename T>
  Matrix<T> MatrixOf(T* data, std::ptrdiff_t rows = 3, std::ptrdiff_t cols = 4,
                     Order order = Order::kRowMajor) {
    return MakeMatrix(data, rows, cols, order);
  }
  template <typename T>
  TensorView<T> Image(T* data,
                      TensorShape shape = {1, 4, 4, 2, TensorOrder::kNhwc}) {
    return {data, shape, QuantParams()};
  }

  // The same, to write to; until the next one of this type is asked for.
  template <typename... Args>
  auto* OutputMatrix(Args... args) {
    return Keep(MatrixOf(args...));
  }
  template <typename... Args>
  auto* Output(Args... args) {
    return Keep(Image(args...));
  }

  Memory m;
  // What it must still be in the end; for cases that change their input first.
  Memory before;
  // What calls use, made before memory fails.
  Context context;
  Workspace workspace;
  const PackedWeights packed2 = Packed(2), packed32 = Packed(32);
  const DepthwiseWeights depthwise =
      DepthwiseWeights::Pack(MatrixOf(m.q, 2, 1), {QuantParams()}).value();
  const std::vector<float> ones = std::vector<float>(3, 1);
  const std::vector<std::uint64_t> bins = std::vector<std::uint64_t>(2048, 1);
  const std::string no_file = testing::TempDir() + "hostile_arguments.none";
  Observer observer, seen, ranged;
  MovingAverageObserver average;
  ChannelObserver channels;

 private:
  // Two channels.
  PackedWeights Packed(std::ptrdiff_t depth) {
    return PackedWeights::Pack(MatrixOf(m.q, 2, depth), {QuantParams()},
                               &context)
        .value();
  }
  template <typename View>
  View* Keep(const View& view) {
    return &(std::get<View>(outputs_) = view);
  }
  std::tuple<Matrix<std::int8_t>, Matrix<float>, TensorView<std::int8_t>>
      outputs_;
};

using Case = NamedCall<World>;

void PrintTo(const Case& test_case, std::ostream* stream) {
  *stream << test_case.name;
}

template <typename T>
absl::Span<T> NullSpan(std::size_t size) {
  return absl::Span<T>(static_cast<T*>(nullptr), size);
}

Layout* LayoutOf(Matrix<float>* matrix) { return matrix->mutable_layout(); }

// ## Element-wise operations

void AddQuantizeCases(Calls<World>* calls) {
  const QuantParams good;

  calls->Invalid("params that are null", [](World* w) {
    return QuantizeRows(w->MatrixOf(w->m.f), NullSpan<const QuantParams>(3),
                        w->OutputMatrix(w->m.q_out));
  });
  calls->Ok("no params for no rows", [](World* w) {
    return QuantizeRows(w->MatrixOf(w->m.f, 0, 4), {},
                        w->OutputMatrix(w->m.q_out, 0, 4));
  });
  calls->Invalid("a scale without an inverse", [](World* w) {
    return Quantize<std::int8_t>(w->m.f, {kTiny, 0, -128, 127},
                                 absl::MakeSpan(w->m.q_out));
  });
  calls->Ok("huge and empty", [good](World* w) {
    auto x = w->MatrixOf(w->m.f, kHuge, 0, Order::kColMajor);
    return Quantize(x, good,
                    w->OutputMatrix(w->m.q_out, kHuge, 0, Order::kColMajor),
                    &w->context);
  });
  calls->Invalid("its own memory", [good](World* w) {
    auto* const inside = reinterpret_cast<std::int8_t*>(w->m.f) + 17;
    return Quantize<std::int8_t>(w->m.f, good, absl::MakeSpan(inside, 64));
  });
  calls->Invalid("dequantize to its own memory", [](World* w) {
    // One element on: in place would be allowed.
    auto* const x = reinterpret_cast<float*>(w->m.i) + 1;
    return Dequantize<std::int32_t>(absl::MakeConstSpan(w->m.i, 63),
                                    {1, 0, -100, 100}, absl::MakeSpan(x, 63));
  });
  calls->Invalid("scales that are null", [](World* w) {
    return DequantizeAcc(w->MatrixOf(w->m.i), NullSpan<const float>(3), {},
                         ChannelDimension::kRow, w->OutputMatrix(w->m.f_out));
  });
  calls->Invalid("a bias that is null", [](World* w) {
    return DequantizeAcc(w->MatrixOf(w->m.i), {1.0f}, NullSpan<const float>(4),
                         ChannelDimension::kCol, w->OutputMatrix(w->m.f_out));
  });
  calls->Invalid("channels of no bits", [](World* w) {
    return ChooseSymmetricChannels(w->MatrixOf(w->m.f), ChannelDimension::kRow,
                                   0);
  });
  calls->Add("scales of more channels than memory", kExhausted, [](World* w) {
    return ChooseSymmetricChannels(
        w->MatrixOf(w->m.f, kHuge, 0, Order::kColMajor), ChannelDimension::kRow,
        8);
  });
  calls->Invalid("requantize to its own memory", [good](World* w) {
    auto* const q = reinterpret_cast<std::int8_t*>(w->m.i);
    return Requantize<std::int8_t>(w->m.i, 1.0, good, absl::MakeSpan(q, 64));
  });
  calls->Invalid("requantize by infinity", [good](World* w) {
    return Requantize<std::int8_t>(w->m.i, double{kInf}, good,
                                   absl::MakeSpan(w->m.q_out));
  });
  calls->Invalid("requantize null", [good](World* w) {
    return Requantize<std::int8_t>(NullSpan<const std::int32_t>(64), 1.0, good,
                                   absl::MakeSpan(w->m.q_out));
  });
  calls->Invalid("used range by NaN", [](World* w) {
    return RequantizeToUsedRange(w->m.i, kNan, absl::MakeSpan(w->m.u_out));
  });
}

// ## Numbers

void AddNumberCases(Calls<World>* calls) {
  calls->Invalid("symmetric: NaN",
                 [](World*) { return ChooseSymmetric(kNan, 8); });
  calls->Invalid("affine: NaN",
                 [](World*) { return ChooseAffine(kNan, 1, 0, 255); });
  calls->Invalid("params: of another type", [](World*) {
    return ValidateQuantParams({1, 0, 0, 255}, -128, 127, "q");
  });
  calls->Invalid("multiplier: NaN",
                 [](World*) { return QuantizeMultiplier(kNan); });
  calls->Invalid("multipliers: no params", [](World*) {
    const QuantParams one;
    return SetMultipliers<std::int8_t>(one, one, one, nullptr);
  });
  calls->Invalid("multipliers: channels and no params", [](World* w) {
    const QuantParams channels[2] = {};
    return SetMultipliers<std::int8_t>(
        channels, QuantParams(), QuantParams(), absl::MakeSpan(w->m.i_out, 2),
        absl::MakeSpan(w->m.i_out + 2, 2), nullptr);
  });
}

void AddAddAndMulCases(Calls<World>* calls) {
  const auto add = [](World* w, FloatRange a, FloatRange b,
                      const Add8p8To8Options& options = {}) {
    return QuantizedAdd8p8To8({w->m.u, a}, {w->m.u, b}, options,
                              absl::MakeSpan(w->m.u_out), &w->context);
  };

  calls->Invalid("add: a sum that is not finite", [add](World* w) {
    return add(w, {0, kMax}, {0, kMax});
  });
  calls->Invalid("add: NaN", [add](World* w) {
    return add(w, {0, 1}, {kNan, 1});
  });
  calls->Invalid("add: a guess that is infinite", [add](World* w) {
    Add8p8To8Options options;
    options.range = AddRange::kTight;
    options.guess = FloatRange{-kInf, 1};
    return add(w, {0, 1}, {0, 1}, options);
  });
  calls->Invalid("add: to an operand", [](World* w) {
    return QuantizedAdd8p8To32(
        {absl::MakeConstSpan(reinterpret_cast<const std::uint8_t*>(w->m.i) + 9,
                             64),
         {0, 1}},
        {w->m.u, {0, 1}}, absl::MakeSpan(w->m.i));
  });
  calls->Invalid("add: to null", [](World* w) {
    return QuantizedAdd8p8To32({w->m.u, {0, 1}}, {w->m.u, {0, 1}},
                               NullSpan<std::int32_t>(64));
  });
  calls->Invalid("add: a range too large for 32 bits", [](World* w) {
    return QuantizedAdd8p8To32({w->m.u, {0, kMax}}, {w->m.u, {0, 1}},
                               absl::MakeSpan(w->m.i_out));
  });
  calls->Add(
      "mul: no images of more pixels than can be counted", kOutOfRange,
      [](World* w) {
        const TensorShape shape = {0, kHuge, kHuge, 2, TensorOrder::kNhwc};
        return QuantizedMul(w->Image(w->m.q, shape),
                            w->Image(w->m.q, {1, 1, 1, 2, TensorOrder::kNhwc}),
                            &w->context, w->Output(w->m.q_out, shape));
      });
  calls->Invalid("mul: null", [](World* w) {
    return QuantizedMul(w->Image(static_cast<std::int8_t*>(nullptr)),
                        w->Image(w->m.q), nullptr, w->Output(w->m.q_out));
  });
  calls->Invalid("mul: b overlaps the output", [](World* w) {
    return QuantizedMul(w->Image(w->m.q), w->Image(w->m.q_out + 1), nullptr,
                        w->Output(w->m.q_out));
  });
  calls->Invalid("sum: to null", [](World* w) {
    TensorView<std::int8_t>* const null = nullptr;
    return QuantizedAdd(w->Image(w->m.q), w->Image(w->m.q), nullptr, null);
  });
  calls->Invalid("requantize a tensor to null", [](World* w) {
    TensorView<std::int8_t>* const null = nullptr;
    return Requantize(w->Image(w->m.q), nullptr, null);
  });
  calls->Invalid("concat: nothing", [](World* w) {
    return Concat(absl::Span<const TensorView<const std::int8_t>>(),
                  TensorAxis::kBatch, nullptr, w->Output(w->m.q_out));
  });
  calls->Ok("mul: an empty tensor inside of another", [](World* w) {
    const TensorShape none = {0, 4, 4, 2, TensorOrder::kNhwc};
    return QuantizedMul(w->Image(w->m.q_out, none),
                        w->Image(w->m.q, {1, 1, 1, 2, TensorOrder::kNhwc}),
                        nullptr, w->Output(w->m.q + 1, none));
  });
}

// ## Weights, biases, norms

void AddWeightCases(Calls<World>* calls) {
  const auto pack = [](World* w, const Matrix<std::int8_t>& weights,
                       PackWeightsOptions options = {}) {
    const QuantParams params;
    return PackedWeights::Pack(weights, {params}, &w->context, options);
  };
  const auto set = [](absl::Span<const QuantParams> channels,
                      absl::Span<std::int32_t> fixedpoint,
                      absl::Span<int> exponent) {
    MulParams<std::int32_t, std::int8_t> params;
    return SetMultipliers(channels, QuantParams(), QuantParams(), fixedpoint,
                          exponent, &params);
  };

  calls->Add("pack: sizes that overflow", kOutOfRange, [pack](World* w) {
    return pack(w, w->MatrixOf(w->m.q, kHuge, 2, Order::kColMajor));
  });
  calls->Add("pack: huge and empty", kOutOfRange, [pack](World* w) {
    return pack(w, w->MatrixOf(w->m.q, kHuge, 0, Order::kColMajor));
  });
  calls->Invalid("pack: a huge number of groups of nothing", [pack](World* w) {
    PackWeightsOptions options;
    options.groups = kHuge;
    return pack(w, w->MatrixOf(w->m.q, kHuge, 0, Order::kColMajor), options);
  });
  calls->Invalid("pack: params that are null", [](World* w) {
    return PackedWeights::Pack(w->MatrixOf(w->m.q),
                               NullSpan<const QuantParams>(3), &w->context);
  });
  calls->Invalid("depthwise pack: no taps", [](World* w) {
    const QuantParams params;
    return DepthwiseWeights::Pack(
        w->MatrixOf(w->m.q, kHuge, 0, Order::kColMajor), {params});
  });
  calls->Invalid("bias: null", [](World* w) {
    return QuantizeBias(NullSpan<const float>(4), QuantParams(),
                        {QuantParams()}, absl::MakeSpan(w->m.i_out, 4));
  });
  calls->Invalid("bias: weights that are null", [](World* w) {
    return QuantizeBias(absl::MakeConstSpan(w->m.f, 4), QuantParams(),
                        NullSpan<const QuantParams>(4),
                        absl::MakeSpan(w->m.i_out, 4));
  });
  calls->Invalid("bias: to its own memory", [](World* w) {
    return QuantizeBias(
        absl::MakeConstSpan(w->m.f, 4), QuantParams(), {QuantParams()},
        absl::MakeSpan(reinterpret_cast<std::int32_t*>(w->m.f) + 1, 4));
  });
  calls->Invalid("multipliers: channels that are null", [set](World* w) {
    return set(NullSpan<const QuantParams>(2), absl::MakeSpan(w->m.i_out, 2),
               absl::MakeSpan(w->m.i_out + 2, 2));
  });
  calls->Invalid("multipliers: to null", [set](World* w) {
    const QuantParams channels[2] = {};
    return set(channels, absl::MakeSpan(w->m.i_out, 2), NullSpan<int>(2));
  });
  calls->Invalid("multipliers: both to one place", [set](World* w) {
    const QuantParams channels[2] = {};
    return set(channels, absl::MakeSpan(w->m.i_out, 2),
               absl::MakeSpan(w->m.i_out + 1, 2));
  });
}

// The folding of a norm of three channels, which a case changes first.
struct NormCall {
  World* w;
  BatchNorm norm;
  Matrix<float> weights;
  absl::Span<float> bias;
};

void AddNormCases(Calls<World>* calls) {
  const auto norm = [calls](const char* name, absl::StatusCode code,
                            void (*change)(NormCall*)) {
    calls->Add(name, code, [change](World* w) {
      NormCall call = {w,
                       {w->ones, w->ones, w->ones, w->ones},
                       w->MatrixOf(w->m.f_out),
                       absl::MakeSpan(w->m.f, 3)};
      change(&call);
      w->before = w->m;
      return FoldBatchNorm(call.norm, &call.weights, call.bias);
    });
  };
  norm("norm: a weight that is NaN", kInvalid,
       [](NormCall* c) { c->w->m.f_out[11] = kNan; });
  norm("norm: a bias that is infinite", kInvalid,
       [](NormCall* c) { c->w->m.f[2] = kInf; });
  norm("norm: results beyond float", kInvalid, [](NormCall* c) {
    float* const f = c->w->m.f_out;
    f[40] = f[41] = 1;
    f[42] = kMax;
    c->norm.gamma = absl::MakeConstSpan(f + 40, 3);
  });
  norm("norm: a bias that is null", kInvalid,
       [](NormCall* c) { c->bias = NullSpan<float>(3); });
  norm("norm: a mean that is null", kInvalid,
       [](NormCall* c) { c->norm.mean = NullSpan<const float>(3); });
  norm("norm: beta among the biases", kInvalid, [](NormCall* c) {
    c->norm.beta = absl::MakeConstSpan(c->w->m.f + 2, 3);
  });
  norm("norm: gamma among the weights", kInvalid, [](NormCall* c) {
    c->norm.gamma = absl::MakeConstSpan(c->w->m.f_out + 2, 3);
  });
  norm("norm: the bias among the weights", kInvalid,
       [](NormCall* c) { c->bias = absl::MakeSpan(c->w->m.f_out + 2, 3); });
}

void AddCorrectionCases(Calls<World>* calls) {
  calls->Invalid("equalize: nothing",
                 [](World*) { return EqualizeLayers({}); });
  calls->Invalid("correct: no params", [](World* w) {
    return CorrectBias(w->MatrixOf(w->m.f), {}, w->ones, {});
  });
  calls->Invalid("correct: by no bias", [](World* w) {
    const auto outputs = w->MatrixOf(w->m.f);
    return CorrectMeasuredBias(outputs, outputs, ChannelDimension::kRow, {});
  });
}

// ## Windows

// A layer on an image of 4x4x2 with kernels of 1x1, unless a case says more.
struct Layer {
  TensorShape in = {1, 4, 4, 2, TensorOrder::kNhwc};
  TensorShape out = in;
  Window window;
};

void AddWindowCases(Calls<World>* calls) {
  const auto window = [calls](const char* name, absl::StatusCode code,
                              void (*change)(Layer*)) {
    Layer layer;
    change(&layer);
    calls->Add(name, code, [layer](World* w) {
      const auto input = w->Image(w->m.q, layer.in);
      auto image = w->Image(w->m.q_out, layer.out);
      auto* const out = layer.out.batch < 0 ? nullptr : &image;
      Workspace* const workspace = &w->workspace;
      const absl::Status all[] = {
          Conv2D(input, w->packed2, {}, layer.window, workspace, &w->context,
                 out),
          DepthwiseConv2D(input, w->depthwise, {}, layer.window, workspace,
                          &w->context, out),
          DepthwiseConv2D(input, w->depthwise, {}, layer.window, nullptr,
                          nullptr, out),
          MaxPool2D(input, layer.window, workspace, nullptr, out),
          AveragePool2D(input, layer.window, nullptr, &w->context, out)};
      for (const absl::Status& status : all) {
        if (status.code() == kExhausted) return status;
        EXPECT_EQ(status.code(), all[0].code()) << status;
      }
      return all[0];
    });
  };
  window("window: dilation 0", kInvalid,
         [](Layer* l) { l->window.dilation_width = 0; });
  window("window: stride 0", kInvalid,
         [](Layer* l) { l->window.stride_height = 0; });
  window("window: kernel 0", kInvalid,
         [](Layer* l) { l->window.kernel_height = 0; });
  window("window: everything huge", kInvalid, [](Layer* l) {
    l->window.kernel_height = l->window.stride_height =
        l->window.dilation_height = l->window.padding.top = kHuge;
  });
  window("window: padding that gives other sizes", kInvalid,
         [](Layer* l) { l->window.padding.left = 1 << 20; });
  window("window: no images of more pixels than can be counted", kOutOfRange,
         [](Layer* l) {
           const std::ptrdiff_t size = std::numeric_limits<std::int32_t>::max();
           l->in = l->out = {0, size, size, 4, TensorOrder::kNchw};
         });
  window("window: to null", kInvalid, [](Layer* l) { l->out.batch = -1; });
  window("window: no images", kOk,
         [](Layer* l) { l->in.batch = l->out.batch = 0; });
}

void AddLayerCases(Calls<World>* calls) {
  const auto connect = [](World* w, const TensorShape& in,
                          const TensorShape& out,
                          absl::Span<const std::int32_t> bias) {
    TensorView<std::int32_t> output = {w->m.i_out, out, {}};
    return FullyConnected(w->Image(w->m.q, in), w->packed32, bias, nullptr,
                          &w->context, &output);
  };
  const TensorShape image = {1, 4, 4, 2, TensorOrder::kNhwc};
  const TensorShape result = {1, 1, 1, 2, TensorOrder::kNhwc};

  calls->Add("connected: no images of more pixels than can be counted",
             kOutOfRange, [=](World* w) {
               return connect(w, {0, kHuge, kHuge, 32, TensorOrder::kNhwc},
                              {0, 1, 1, 2, TensorOrder::kNhwc}, {});
             });
  calls->Invalid("connected: a bias that is null", [=](World* w) {
    return connect(w, image, result, NullSpan<const std::int32_t>(2));
  });
  calls->Invalid("connected: a bias in the output", [=](World* w) {
    return connect(w, image, result, absl::MakeConstSpan(w->m.i_out + 1, 2));
  });
  calls->Invalid("connected: a bias that leaves no room for the sums",
                 [=](World* w) {
                   return connect(w, image, result, {0, kMostBias});
                 });
  calls->Invalid("connected: a negative bias that leaves no room",
                 [=](World* w) {
                   return connect(w, image, result, {-kMostBias - 1, 0});
                 });
  calls->Ok("connected: the largest bias with room", [=](World* w) {
    // Sums of 32 products of at most 128 * 128.
    const absl::Status status =
        connect(w, image, result, {kMostBias - 32 * 128 * 128, 0});
    if (!status.ok()) return status;
    EXPECT_GT(w->m.i_out[0], 0);
    w->before = w->m;
    return status;
  });
  calls->Invalid(
      "conv: a bias that leaves no room for the sums", [=](World* w) {
        return Conv2D(w->Image(w->m.q), w->packed2, {kMostBias, 0}, Window(),
                      nullptr, &w->context, w->Output(w->m.q_out));
      });
  calls->Invalid("depthwise: a bias that leaves no room for the sums",
                 [=](World* w) {
                   return DepthwiseConv2D(w->Image(w->m.q), w->depthwise,
                                          {0, -kMostBias}, Window(), nullptr,
                                          &w->context, w->Output(w->m.q_out));
                 });
  calls->Ok("connected: a batch of nothing", [=](World* w) {
    return connect(w, {0, 4, 4, 2, TensorOrder::kNhwc},
                   {0, 1, 1, 2, TensorOrder::kNhwc}, {});
  });
  calls->Invalid("connected: to null", [=](World* w) {
    TensorView<std::int8_t>* const null = nullptr;
    return FullyConnected(w->Image(w->m.q), w->packed32, {}, nullptr,
                          &w->context, null);
  });
  calls->Invalid("conv: by no layer", [](World* w) {
    return Conv2D(w->Image(w->m.q), QuantizedLayer(), Window(), nullptr,
                  &w->context, w->Output(w->m.q_out));
  });
  calls->Invalid("layer: of no weights", [](World*) {
    return QuantizedLayer::Make<std::int8_t, std::int8_t>(
        PackedWeights(), {}, QuantParams(), QuantParams());
  });
  calls->Invalid("padding: stride 0", [=](World*) {
    Window window;
    window.stride_width = 0;
    return SamePadding(image, window);
  });
  calls->Invalid("output shape: negative channels",
                 [=](World*) { return OutputShape(image, Window(), -1); });
  calls->Invalid("output shape: negative batch", [=](World*) {
    return OutputShape({-1, 4, 4, 2, TensorOrder::kNhwc}, Window(), 1);
  });
}

// ## Calibration

void AddCalibrationCases(Calls<World>* calls) {
  const auto observe = [](World* w, std::ptrdiff_t rows, std::ptrdiff_t cols,
                          std::ptrdiff_t stride, Order order) {
    auto x = w->MatrixOf(w->m.f, rows, cols, order);
    LayoutOf(&x)->set_stride(stride);
    const absl::Status status = w->observer.Observe(x, &w->context);
    EXPECT_EQ(w->observer.finite_count() + w->observer.nonfinite_count(), 0u);
    return status;
  };
  const auto search = [](World* w, absl::Span<const Matrix<float>> activations,
                         absl::Span<const float> bias) {
    return EqSearch(w->MatrixOf(w->m.f), activations, EqOptions(), &w->context,
                    bias);
  };

  calls->Ok("observe: rows of nothing",
            [=](World* w) { return observe(w, 3, 0, 5, Order::kRowMajor); });
  calls->Ok("observe: very many rows of nothing", [=](World* w) {
    return observe(w, std::ptrdiff_t{1} << 50, 0, 1, Order::kRowMajor);
  });
  calls->Ok("observe: columns of nothing",
            [=](World* w) { return observe(w, 0, 3, 5, Order::kColMajor); });
  calls->Add("observe: sizes that overflow", kOutOfRange, [=](World* w) {
    return observe(w, kHuge, 3, 3, Order::kRowMajor);
  });
  calls->Invalid("observe: null", [](World* w) {
    return w->observer.Observe(NullSpan<const float>(7));
  });
  calls->Invalid("threshold: null bins", [](World*) {
    return ChooseEntropyThreshold({NullSpan<const std::uint64_t>(2048), 1, 0},
                                  128);
  });
  calls->Invalid("threshold: magnitudes beyond float", [](World* w) {
    return ChoosePercentileThreshold({w->bins, 1e308, 0}, 100);
  });
  calls->Invalid("threshold: nothing",
                 [](World*) { return ChooseMseThreshold({}, 127); });
  calls->Invalid("clip factor: no bits of a Gaussian",
                 [](World*) { return GaussianClipFactor(0); });
  calls->Invalid("clip factor: no bits of a Laplacian",
                 [](World*) { return LaplaceClipFactor(0); });
  calls->Invalid("set range: NaN",
                 [](World* w) { return w->observer.SetRange(kNan); });
  calls->Add("set range: too late", kPrecondition,
             [](World* w) { return w->seen.SetRange(1); });
  calls->Add("merge: of another range", kPrecondition,
             [](World* w) { return w->seen.Merge(w->ranged); });
  calls->Invalid("observer: threshold for no bits", [](World* w) {
    CalibrationOptions options;
    options.bits = 0;
    return w->seen.Threshold(options);
  });
  calls->Invalid("observer: unknown scheme", [](World* w) {
    CalibrationOptions options;
    options.scheme = static_cast<QuantScheme>(9);
    return w->seen.ChooseParams(options);
  });
  calls->Add("moving average: of nothing", kPrecondition,
             [](World* w) { return w->average.ChooseParams({}); });
  calls->Add("channel observer: of nothing", kPrecondition,
             [](World* w) { return w->channels.ChooseParams({}); });
  calls->Invalid("report: no params", [](World* w) {
    return ReportLayer("a layer", w->m.f, {}, {0, 0, 0, 0});
  });
  calls->Invalid("file: an unknown member",
                 [](World*) { return CalibrationFromJson("{\"x\": 1}"); });
  calls->Invalid("file: no factors",
                 [](World*) { return CalibrationFromNcnnTable("a\n"); });
  calls->Add("file: none", kNotFound,
             [](World* w) { return LoadCalibration(w->no_file); });
  calls->Add("file: no table", kNotFound,
             [](World* w) { return LoadNcnnTable(w->no_file); });
  calls->Invalid("search: a bias that is null", [=](World* w) {
    return search(w, {w->MatrixOf(w->m.f, 4, 5)}, NullSpan<const float>(3));
  });
  calls->Invalid("search: activations that are null", [=](World* w) {
    return search(w, NullSpan<const Matrix<float>>(2), {});
  });
  calls->Invalid("search: activations of nothing", [=](World* w) {
    return search(w, {w->MatrixOf(w->m.f, 4, 0)}, {});
  });
  calls->Invalid("search: no context", [](World* w) {
    return EqSearch(w->MatrixOf(w->m.f), {w->MatrixOf(w->m.f, 4, 5)}, {},
                    nullptr);
  });
  calls->Invalid("search: an infinite number of steps wide", [](World* w) {
    EqOptions options;
    options.beta = kInf;
    return EqSearch(w->MatrixOf(w->m.f), {w->MatrixOf(w->m.f, 4, 5)}, options,
                    &w->context);
  });
}

class HostileArgumentsTest : public testing::TestWithParam<Case> {};

TEST_P(HostileArgumentsTest, GiveAStatusAndChangeNothing) {
  World world;
  const absl::Status status = GetParam().call(&world);
  EXPECT_CODE(GetParam().code, status);
  if (!status.ok()) {
    EXPECT_FALSE(status.message().empty());
  }
  EXPECT_EQ(std::memcmp(&world.m, &world.before, sizeof(Memory)), 0);
}

TEST_P(HostileArgumentsTest, AlsoWhereMemoryFails) {
  if (!kTestOwnsHeap) GTEST_SKIP() << "nothing can be made to fail here";
  const long failures = FailEach(
      GetParam().name, &Failures::first_allocation,
      [](const Failures& failing) {
        World world;
        long failed = 0;
        (void)CallWithFailures(GetParam(), failing, &world, &failed);
        EXPECT_EQ(std::memcmp(&world.m, &world.before, sizeof(Memory)), 0);
        return failed > 0;
      });
  // The message of an error takes memory.
  if (GetParam().code != kOk) {
    EXPECT_GT(failures, 0);
  }
}

std::vector<Case> AllCases() {
  Calls<World> calls;
  for (const auto add : {AddQuantizeCases, AddNumberCases, AddAddAndMulCases,
                         AddWeightCases, AddNormCases, AddCorrectionCases,
                         AddWindowCases, AddLayerCases, AddCalibrationCases}) {
    add(&calls);
  }
  return {calls.begin(), calls.end()};
}

std::string NameOf(const testing::TestParamInfo<Case>& info) {
  std::string name;
  for (const char c : std::string(info.param.name)) {
    name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, HostileArgumentsTest,
                         testing::ValuesIn(AllCases()), NameOf);

}  // namespace
}  // namespace ruy_like
