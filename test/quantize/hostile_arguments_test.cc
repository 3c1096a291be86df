// Every public operation of ruy_like::quantize with arguments that no sensible
// caller passes: each must give a Status and leave all memory as it was.
//
// What is merely wrong (sizes that differ, bad scales, ...) is in the tests of
// each operation; here is what could crash, hang, throw or overflow.
#include <gtest/gtest.h>

#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <ostream>
#include <string>
#include <vector>

#include "ruy_like/quantize/quantize.h"
#include "test/support/call_of.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

constexpr std::ptrdiff_t kHuge = std::numeric_limits<std::ptrdiff_t>::max();
constexpr std::int32_t kMostBias = std::numeric_limits<std::int32_t>::max();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kMax = std::numeric_limits<float>::max();
constexpr float kTiny = std::numeric_limits<float>::denorm_min();
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kOutOfRange = absl::StatusCode::kOutOfRange;
constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;
constexpr auto kOk = absl::StatusCode::kOk;

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

  // Two channels.
  PackedWeights Packed(std::ptrdiff_t depth) {
    return PackedWeights::Pack(MatrixOf(m.q, 2, depth), {QuantParams()},
                               &context)
        .value();
  }
  DepthwiseWeights Depthwise() {
    return DepthwiseWeights::Pack(MatrixOf(m.q, 2, 1), {QuantParams()}).value();
  }

  Memory m;
  // What it must still be in the end; for cases that change their input first.
  Memory before;
  Context context;
};

struct Case {
  const char* name;
  absl::StatusCode expected;
  CallOf<World> call;
};

void PrintTo(const Case& test_case, std::ostream* stream) {
  *stream << test_case.name;
}

template <typename T>
absl::Span<T> NullSpan(std::size_t size) {
  return absl::Span<T>(static_cast<T*>(nullptr), size);
}

Layout* LayoutOf(Matrix<float>* matrix) { return matrix->mutable_layout(); }

// ## Element-wise operations

std::vector<Case> QuantizeCases() {
  const QuantParams good;
  return {
      {"params that are null", kInvalid,
       [](World* w) {
         auto q = w->MatrixOf(w->m.q_out);
         return QuantizeRows(w->MatrixOf(w->m.f),
                             NullSpan<const QuantParams>(3), &q);
       }},
      {"no params for no rows", kOk,
       [](World* w) {
         auto q = w->MatrixOf(w->m.q_out, 0, 4);
         return QuantizeRows(w->MatrixOf(w->m.f, 0, 4), {}, &q);
       }},
      {"a scale without an inverse", kInvalid,
       [](World* w) {
         return Quantize<std::int8_t>(w->m.f, {kTiny, 0, -128, 127},
                                      absl::MakeSpan(w->m.q_out));
       }},
      {"unknown order", kInvalid,
       [good](World* w) {
         auto x = w->MatrixOf(w->m.f);
         LayoutOf(&x)->set_order(static_cast<Order>(9));
         auto q = w->MatrixOf(w->m.q_out);
         return Quantize(x, good, &q);
       }},
      {"a stride whose bytes overflow", kOutOfRange,
       [good](World* w) {
         auto x = w->MatrixOf(w->m.f);
         LayoutOf(&x)->set_stride(kHuge / 4);
         auto q = w->MatrixOf(w->m.q_out);
         return Quantize(x, good, &q);
       }},
      {"huge and empty", kOk,
       [good](World* w) {
         auto x = w->MatrixOf(w->m.f, kHuge, 0, Order::kColMajor);
         auto q = w->MatrixOf(w->m.q_out, kHuge, 0, Order::kColMajor);
         return Quantize(x, good, &q, &w->context);
       }},
      {"its own memory", kInvalid,
       [good](World* w) {
         auto* const inside = reinterpret_cast<std::int8_t*>(w->m.f) + 17;
         return Quantize<std::int8_t>(w->m.f, good, absl::MakeSpan(inside, 64));
       }},
      {"dequantize to its own memory", kInvalid,
       [](World* w) {
         auto* const x = reinterpret_cast<float*>(w->m.i);
         return Dequantize<std::int32_t>(w->m.i, {1, 0, -100, 100},
                                         absl::MakeSpan(x, 64));
       }},
      {"scales that are null", kInvalid,
       [](World* w) {
         auto x = w->MatrixOf(w->m.f_out);
         return DequantizeAcc(w->MatrixOf(w->m.i), NullSpan<const float>(3), {},
                              ChannelDimension::kRow, &x);
       }},
      {"a bias that is null", kInvalid,
       [](World* w) {
         auto x = w->MatrixOf(w->m.f_out);
         return DequantizeAcc(w->MatrixOf(w->m.i), {1.0f},
                              NullSpan<const float>(4), ChannelDimension::kCol,
                              &x);
       }},
      {"scales of more channels than memory", kExhausted,
       [](World* w) {
         return ChooseSymmetricChannels(
             w->MatrixOf(w->m.f, kHuge, 0, Order::kColMajor),
             ChannelDimension::kRow, 8);
       }},
      {"requantize to its own memory", kInvalid,
       [good](World* w) {
         auto* const q = reinterpret_cast<std::int8_t*>(w->m.i);
         return Requantize<std::int8_t>(w->m.i, 1.0, good,
                                        absl::MakeSpan(q, 64));
       }},
      {"requantize by infinity", kInvalid,
       [good](World* w) {
         return Requantize<std::int8_t>(w->m.i, double{kInf}, good,
                                        absl::MakeSpan(w->m.q_out));
       }},
      {"requantize null", kInvalid,
       [good](World* w) {
         return Requantize<std::int8_t>(NullSpan<const std::int32_t>(64), 1.0,
                                        good, absl::MakeSpan(w->m.q_out));
       }},
      {"used range by NaN", kInvalid,
       [](World* w) {
         return RequantizeToUsedRange(w->m.i, kNan, absl::MakeSpan(w->m.u_out));
       }},
  };
}

std::vector<Case> AddAndMulCases() {
  const auto add = [](World* w, FloatRange a, FloatRange b,
                      const Add8p8To8Options& options = {}) {
    return QuantizedAdd8p8To8({w->m.u, a}, {w->m.u, b}, options,
                              absl::MakeSpan(w->m.u_out), &w->context);
  };
  return {
      {"add: a sum that is not finite", kInvalid,
       [add](World* w) {
         return add(w, {0, kMax}, {0, kMax});
       }},
      {"add: NaN", kInvalid,
       [add](World* w) {
         return add(w, {0, 1}, {kNan, 1});
       }},
      {"add: a guess that is infinite", kInvalid,
       [add](World* w) {
         Add8p8To8Options options;
         options.range = AddRange::kTight;
         options.guess = FloatRange{-kInf, 1};
         return add(w, {0, 1}, {0, 1}, options);
       }},
      {"add: to an operand", kInvalid,
       [](World* w) {
         return QuantizedAdd8p8To32(
                    {absl::MakeConstSpan(
                         reinterpret_cast<const std::uint8_t*>(w->m.i) + 9, 64),
                     {0, 1}},
                    {w->m.u, {0, 1}}, absl::MakeSpan(w->m.i))
             .status();
       }},
      {"add: to null", kInvalid,
       [](World* w) {
         return QuantizedAdd8p8To32({w->m.u, {0, 1}}, {w->m.u, {0, 1}},
                                    NullSpan<std::int32_t>(64))
             .status();
       }},
      {"add: a range too large for 32 bits", kInvalid,
       [](World* w) {
         return QuantizedAdd8p8To32({w->m.u, {0, kMax}}, {w->m.u, {0, 1}},
                                    absl::MakeSpan(w->m.i_out))
             .status();
       }},
      {"mul: no images of more pixels than can be counted", kOutOfRange,
       [](World* w) {
         const TensorShape shape = {0, kHuge, kHuge, 2, TensorOrder::kNhwc};
         auto out = w->Image(w->m.q_out, shape);
         return QuantizedMul(w->Image(w->m.q, shape),
                             w->Image(w->m.q, {1, 1, 1, 2, TensorOrder::kNhwc}),
                             &w->context, &out);
       }},
      {"mul: null", kInvalid,
       [](World* w) {
         auto out = w->Image(w->m.q_out);
         return QuantizedMul(w->Image(static_cast<std::int8_t*>(nullptr)),
                             w->Image(w->m.q), nullptr, &out);
       }},
      {"mul: b overlaps the output", kInvalid,
       [](World* w) {
         auto out = w->Image(w->m.q_out);
         return QuantizedMul(w->Image(w->m.q), w->Image(w->m.q_out + 1),
                             nullptr, &out);
       }},
      {"mul: an empty tensor inside of another", kOk,
       [](World* w) {
         const TensorShape none = {0, 4, 4, 2, TensorOrder::kNhwc};
         auto out = w->Image(w->m.q + 1, none);
         return QuantizedMul(w->Image(w->m.q_out, none),
                             w->Image(w->m.q, {1, 1, 1, 2, TensorOrder::kNhwc}),
                             nullptr, &out);
       }},
  };
}

// ## Weights, biases, norms

std::vector<Case> WeightCases() {
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
  return {
      {"pack: unknown order of weights", kInvalid,
       [pack](World* w) {
         auto weights = w->MatrixOf(w->m.q);
         weights.mutable_layout()->set_order(static_cast<Order>(9));
         return pack(w, weights);
       }},
      {"pack: unknown order of activations", kInvalid,
       [pack](World* w) {
         PackWeightsOptions options;
         options.order = static_cast<TensorOrder>(9);
         return pack(w, w->MatrixOf(w->m.q), options);
       }},
      {"pack: sizes that overflow", kOutOfRange,
       [pack](World* w) {
         return pack(w, w->MatrixOf(w->m.q, kHuge, 2, Order::kColMajor));
       }},
      {"pack: huge and empty", kOutOfRange,
       [pack](World* w) {
         return pack(w, w->MatrixOf(w->m.q, kHuge, 0, Order::kColMajor));
       }},
      {"pack: a huge number of groups of nothing", kInvalid,
       [pack](World* w) {
         PackWeightsOptions options;
         options.groups = kHuge;
         return pack(w, w->MatrixOf(w->m.q, kHuge, 0, Order::kColMajor),
                     options);
       }},
      {"pack: params that are null", kInvalid,
       [](World* w) {
         return PackedWeights::Pack(
             w->MatrixOf(w->m.q), NullSpan<const QuantParams>(3), &w->context);
       }},
      {"depthwise pack: no taps", kInvalid,
       [](World* w) {
         const QuantParams params;
         return DepthwiseWeights::Pack(
             w->MatrixOf(w->m.q, kHuge, 0, Order::kColMajor), {params});
       }},
      {"bias: null", kInvalid,
       [](World* w) {
         return QuantizeBias(NullSpan<const float>(4), QuantParams(),
                             {QuantParams()}, absl::MakeSpan(w->m.i_out, 4));
       }},
      {"bias: weights that are null", kInvalid,
       [](World* w) {
         return QuantizeBias(absl::MakeConstSpan(w->m.f, 4), QuantParams(),
                             NullSpan<const QuantParams>(4),
                             absl::MakeSpan(w->m.i_out, 4));
       }},
      {"bias: to its own memory", kInvalid,
       [](World* w) {
         return QuantizeBias(
             absl::MakeConstSpan(w->m.f, 4), QuantParams(), {QuantParams()},
             absl::MakeSpan(reinterpret_cast<std::int32_t*>(w->m.f) + 1, 4));
       }},
      {"multipliers: channels that are null", kInvalid,
       [set](World* w) {
         return set(NullSpan<const QuantParams>(2),
                    absl::MakeSpan(w->m.i_out, 2),
                    absl::MakeSpan(w->m.i_out + 2, 2));
       }},
      {"multipliers: to null", kInvalid,
       [set](World* w) {
         const QuantParams channels[2] = {};
         return set(channels, absl::MakeSpan(w->m.i_out, 2), NullSpan<int>(2));
       }},
      {"multipliers: both to one place", kInvalid,
       [set](World* w) {
         const QuantParams channels[2] = {};
         return set(channels, absl::MakeSpan(w->m.i_out, 2),
                    absl::MakeSpan(w->m.i_out + 1, 2));
       }},
  };
}

// The folding of a norm of three channels, which a case changes first.
struct NormCall {
  World* w;
  BatchNorm norm;
  Matrix<float> weights;
  absl::Span<float> bias;
};

Case NormCase(const char* name, absl::StatusCode expected,
              void (*change)(NormCall* call)) {
  return {name, expected, [change](World* w) {
            const std::vector<float> ones(3, 1);
            NormCall call = {w,
                             {ones, ones, ones, ones},
                             w->MatrixOf(w->m.f_out),
                             absl::MakeSpan(w->m.f, 3)};
            change(&call);
            w->before = w->m;
            return FoldBatchNorm(call.norm, &call.weights, call.bias);
          }};
}

std::vector<Case> NormCases() {
  return {
      NormCase("norm: unknown order", kInvalid,
               [](NormCall* c) {
                 LayoutOf(&c->weights)->set_order(static_cast<Order>(9));
               }),
      NormCase(
          "norm: a stride whose bytes overflow", kOutOfRange,
          [](NormCall* c) { LayoutOf(&c->weights)->set_stride(kHuge / 2); }),
      NormCase("norm: a weight that is NaN", kInvalid,
               [](NormCall* c) { c->w->m.f_out[11] = kNan; }),
      NormCase("norm: a bias that is infinite", kInvalid,
               [](NormCall* c) { c->w->m.f[2] = kInf; }),
      NormCase("norm: results beyond float", kInvalid,
               [](NormCall* c) {
                 float* const f = c->w->m.f_out;
                 f[40] = f[41] = 1;
                 f[42] = kMax;
                 c->norm.gamma = absl::MakeConstSpan(f + 40, 3);
               }),
      NormCase("norm: a bias that is null", kInvalid,
               [](NormCall* c) { c->bias = NullSpan<float>(3); }),
      NormCase("norm: a mean that is null", kInvalid,
               [](NormCall* c) { c->norm.mean = NullSpan<const float>(3); }),
      NormCase("norm: beta among the biases", kInvalid,
               [](NormCall* c) {
                 c->norm.beta = absl::MakeConstSpan(c->w->m.f + 2, 3);
               }),
      NormCase("norm: gamma among the weights", kInvalid,
               [](NormCall* c) {
                 c->norm.gamma = absl::MakeConstSpan(c->w->m.f_out + 2, 3);
               }),
      NormCase(
          "norm: the bias among the weights", kInvalid,
          [](NormCall* c) { c->bias = absl::MakeSpan(c->w->m.f_out + 2, 3); }),
  };
}

// ## Windows

// A layer on an image of 4x4x2 with kernels of 1x1, unless a case says more.
struct Layer {
  TensorShape in = {1, 4, 4, 2, TensorOrder::kNhwc};
  TensorShape out = in;
  Window window;
};

Case WindowCase(const char* name, absl::StatusCode expected,
                const std::function<void(Layer*)>& change) {
  Layer layer;
  change(&layer);
  return {name, expected, [layer](World* w) {
            const auto weights = w->Packed(2);
            const auto depthwise = w->Depthwise();
            const auto input = w->Image(w->m.q, layer.in);
            auto out = w->Image(w->m.q_out, layer.out);
            Workspace workspace;
            std::vector<absl::Status> all = {
                Conv2D(input, weights, {}, layer.window, &workspace,
                       &w->context, &out),
                DepthwiseConv2D(input, depthwise, {}, layer.window, &workspace,
                                &w->context, &out),
                DepthwiseConv2D(input, depthwise, {}, layer.window, nullptr,
                                nullptr, &out),
                MaxPool2D(input, layer.window, &workspace, nullptr, &out),
                AveragePool2D(input, layer.window, nullptr, &w->context, &out)};
            for (const absl::Status& status : all) {
              EXPECT_EQ(status.code(), all[0].code()) << status;
            }
            return all[0];
          }};
}

std::vector<Case> WindowCases() {
  return {
      WindowCase("window: dilation 0", kInvalid,
                 [](Layer* l) { l->window.dilation_width = 0; }),
      WindowCase("window: stride 0", kInvalid,
                 [](Layer* l) { l->window.stride_height = 0; }),
      WindowCase("window: kernel 0", kInvalid,
                 [](Layer* l) { l->window.kernel_height = 0; }),
      WindowCase("window: everything huge", kInvalid,
                 [](Layer* l) {
                   l->window.kernel_height = l->window.stride_height =
                       l->window.dilation_height = l->window.padding.top =
                           kHuge;
                 }),
      WindowCase("window: padding that gives other sizes", kInvalid,
                 [](Layer* l) { l->window.padding.left = 1 << 20; }),
      WindowCase("window: no images of more pixels than can be counted",
                 kOutOfRange,
                 [](Layer* l) {
                   const std::ptrdiff_t size =
                       std::numeric_limits<std::int32_t>::max();
                   l->in = l->out = {0, size, size, 4, TensorOrder::kNchw};
                 }),
      WindowCase("window: no images", kOk,
                 [](Layer* l) { l->in.batch = l->out.batch = 0; }),
  };
}

std::vector<Case> LayerCases() {
  const auto connect = [](World* w, const TensorShape& in,
                          const TensorShape& out,
                          absl::Span<const std::int32_t> bias) {
    const auto weights = w->Packed(32);
    TensorView<std::int32_t> output = {w->m.i_out, out, {}};
    return FullyConnected(w->Image(w->m.q, in), weights, bias, nullptr,
                          &w->context, &output);
  };
  const TensorShape image = {1, 4, 4, 2, TensorOrder::kNhwc};
  const TensorShape result = {1, 1, 1, 2, TensorOrder::kNhwc};
  return {
      {"connected: no images of more pixels than can be counted", kOutOfRange,
       [=](World* w) {
         return connect(w, {0, kHuge, kHuge, 32, TensorOrder::kNhwc},
                        {0, 1, 1, 2, TensorOrder::kNhwc}, {});
       }},
      {"connected: a bias that is null", kInvalid,
       [=](World* w) {
         return connect(w, image, result, NullSpan<const std::int32_t>(2));
       }},
      {"connected: a bias in the output", kInvalid,
       [=](World* w) {
         return connect(w, image, result,
                        absl::MakeConstSpan(w->m.i_out + 1, 2));
       }},
      {"connected: a bias that leaves no room for the sums", kInvalid,
       [=](World* w) {
         return connect(w, image, result, {0, kMostBias});
       }},
      {"connected: a negative bias that leaves no room", kInvalid,
       [=](World* w) {
         return connect(w, image, result, {-kMostBias - 1, 0});
       }},
      {"connected: the largest bias with room", kOk,
       [=](World* w) {
         // Sums of 32 products of at most 128 * 128.
         const absl::Status status =
             connect(w, image, result, {kMostBias - 32 * 128 * 128, 0});
         EXPECT_GT(w->m.i_out[0], 0);
         w->before = w->m;
         return status;
       }},
      {"conv: a bias that leaves no room for the sums", kInvalid,
       [=](World* w) {
         const auto weights = w->Packed(2);
         auto out = w->Image(w->m.q_out);
         return Conv2D(w->Image(w->m.q), weights, {kMostBias, 0}, Window(),
                       nullptr, &w->context, &out);
       }},
      {"depthwise: a bias that leaves no room for the sums", kInvalid,
       [=](World* w) {
         auto out = w->Image(w->m.q_out);
         return DepthwiseConv2D(w->Image(w->m.q), w->Depthwise(),
                                {0, -kMostBias}, Window(), nullptr, &w->context,
                                &out);
       }},
      {"average pool: unknown padding", kInvalid,
       [=](World* w) {
         auto out = w->Image(w->m.q_out);
         return AveragePool2D(w->Image(w->m.q), Window(), nullptr, nullptr,
                              &out, static_cast<AveragePadding>(9));
       }},
      {"connected: a batch of nothing", kOk,
       [=](World* w) {
         return connect(w, {0, 4, 4, 2, TensorOrder::kNhwc},
                        {0, 1, 1, 2, TensorOrder::kNhwc}, {});
       }},
      {"output shape: negative channels", kInvalid,
       [=](World*) { return OutputShape(image, Window(), -1); }},
      {"output shape: negative batch", kInvalid,
       [=](World*) {
         return OutputShape({-1, 4, 4, 2, TensorOrder::kNhwc}, Window(), 1);
       }},
  };
}

// ## Calibration

std::vector<Case> CalibrationCases() {
  const auto observe = [](World* w, std::ptrdiff_t rows, std::ptrdiff_t cols,
                          std::ptrdiff_t stride, Order order) {
    auto x = w->MatrixOf(w->m.f, rows, cols, order);
    LayoutOf(&x)->set_stride(stride);
    Observer observer;
    const absl::Status status = observer.Observe(x, &w->context);
    EXPECT_EQ(observer.finite_count() + observer.nonfinite_count(), 0u);
    return status;
  };
  const auto search = [](World* w, absl::Span<const Matrix<float>> activations,
                         absl::Span<const float> bias) {
    return EqSearch(w->MatrixOf(w->m.f), activations, EqOptions(), &w->context,
                    bias);
  };
  return {
      {"observe: rows of nothing", kOk,
       [=](World* w) { return observe(w, 3, 0, 5, Order::kRowMajor); }},
      {"observe: very many rows of nothing", kOk,
       [=](World* w) {
         return observe(w, std::ptrdiff_t{1} << 50, 0, 1, Order::kRowMajor);
       }},
      {"observe: columns of nothing", kOk,
       [=](World* w) { return observe(w, 0, 3, 5, Order::kColMajor); }},
      {"observe: sizes that overflow", kOutOfRange,
       [=](World* w) { return observe(w, kHuge, 3, 3, Order::kRowMajor); }},
      {"observe: null", kInvalid,
       [](World*) { return Observer().Observe(NullSpan<const float>(7)); }},
      {"threshold: null bins", kInvalid,
       [](World*) {
         return ChooseEntropyThreshold(
             {NullSpan<const std::uint64_t>(2048), 1, 0}, 128);
       }},
      {"threshold: magnitudes beyond float", kInvalid,
       [](World*) {
         const std::vector<std::uint64_t> bins(2048, 1);
         return ChoosePercentileThreshold({bins, 1e308, 0}, 100);
       }},
      {"search: a bias that is null", kInvalid,
       [=](World* w) {
         return search(w, {w->MatrixOf(w->m.f, 4, 5)},
                       NullSpan<const float>(3));
       }},
      {"search: activations that are null", kInvalid,
       [=](World* w) {
         return search(w, NullSpan<const Matrix<float>>(2), {});
       }},
      {"search: activations of nothing", kInvalid,
       [=](World* w) { return search(w, {w->MatrixOf(w->m.f, 4, 0)}, {}); }},
      {"search: weights whose bytes overflow", kOutOfRange,
       [](World* w) {
         auto weights = w->MatrixOf(w->m.f);
         LayoutOf(&weights)->set_stride(kHuge / 2);
         return EqSearch(weights, {w->MatrixOf(w->m.f, 4, 5)}, EqOptions(),
                         &w->context);
       }},
      {"search: an infinite number of steps wide", kInvalid,
       [](World* w) {
         EqOptions options;
         options.beta = kInf;
         return EqSearch(w->MatrixOf(w->m.f), {w->MatrixOf(w->m.f, 4, 5)},
                         options, &w->context);
       }},
  };
}

class HostileArgumentsTest : public testing::TestWithParam<Case> {};

TEST_P(HostileArgumentsTest, GiveAStatusAndChangeNothing) {
  World world;
  const absl::Status status = GetParam().call(&world);
  EXPECT_EQ(status.code(), GetParam().expected) << status;
  if (!status.ok()) {
    EXPECT_FALSE(status.message().empty());
  }
  EXPECT_EQ(std::memcmp(&world.m, &world.before, sizeof(Memory)), 0);
}

std::vector<Case> AllCases() {
  std::vector<Case> all;
  for (const auto& cases :
       {QuantizeCases(), AddAndMulCases(), WeightCases(), NormCases(),
        WindowCases(), LayerCases(), CalibrationCases()}) {
    all.insert(all.end(), cases.begin(), cases.end());
  }
  return all;
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
