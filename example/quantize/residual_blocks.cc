// Two residual blocks from float weights to int8, the second one of stride 2
// with a projection on its skip, then global average pooling and a classifier.
//
//   ruy_like_residual_blocks [REPORT.json]
//
// doc/quantization.md has the steps. The weights are random, so there is
// nothing to recognise: what counts is how far the logits are from the float
// network's, on images that calibration has not seen. Fails where they are too
// far. The report has what each layer loses of the last image; plot.py draws
// it.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "ruy_like/quantize/quantize.h"
#include "ruy_like/ruy_like.h"

using ruy_like::QuantParams;
using ruy_like::RowMajor;
using ruy_like::TensorShape;
using ruy_like::TensorView;
using ruy_like::Window;
using Floats = std::vector<float>;

constexpr int kSize = 16, kIn = 8, kOut = 16, kClasses = 10;

// A convolution; weights in the order output channel, kernel row, kernel
// column, input channel.
struct Layer {
  int in, out, kernel, stride;
  Floats weights, bias;
};

Layer MakeLayer(int in, int out, int kernel, int stride, std::mt19937* random) {
  Layer layer = {in, out, kernel, stride, {}, {}};
  std::normal_distribution<float> normal;
  const int depth = kernel * kernel * in;
  for (int o = 0; o < out; ++o) {
    const float gain = 0.3f + 1.7f * (o % 5) / 4;  // channels differ
    for (int i = 0; i < depth; ++i) {
      layer.weights.push_back(gain * normal(*random) / std::sqrt(depth));
    }
    layer.bias.push_back(0.1f * normal(*random));
  }
  return layer;
}

Window WindowOf(const Layer& layer) {
  Window window;
  window.kernel_height = window.kernel_width = layer.kernel;
  window.stride_height = window.stride_width = layer.stride;
  const int padding = layer.kernel / 2;
  window.padding.top = window.padding.bottom = padding;
  window.padding.left = window.padding.right = padding;
  return window;
}

Floats Conv(const Layer& layer, int size, const Floats& x) {
  const int out_size = size / layer.stride, pad = layer.kernel / 2;
  Floats y;
  for (int i = 0; i < out_size; ++i) {
    for (int j = 0; j < out_size; ++j) {
      for (int o = 0; o < layer.out; ++o) {
        double sum = layer.bias[o];
        for (int r = 0; r < layer.kernel; ++r) {
          for (int c = 0; c < layer.kernel; ++c) {
            const int row = i * layer.stride + r - pad;
            const int col = j * layer.stride + c - pad;
            if (row < 0 || row >= size || col < 0 || col >= size) continue;
            for (int k = 0; k < layer.in; ++k) {
              sum += x[(row * size + col) * layer.in + k] *
                     layer.weights[((o * layer.kernel + r) * layer.kernel + c) *
                                       layer.in +
                                   k];
            }
          }
        }
        y.push_back(static_cast<float>(sum));
      }
    }
  }
  return y;
}

Floats Relu(Floats x) {
  for (float& v : x) v = std::max(v, 0.0f);
  return x;
}

Floats Sum(Floats a, const Floats& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

// The activations between layers:
//
//   X -a-> A -b-> B -+-> S -c-> C -d-> D -+-> T -> pool -> logits
//   |                |   |                |
//   +----------------+   +-projection-> P +
enum { kX, kA, kB, kS, kC, kD, kP, kT, kPool, kTensors };

TensorShape ShapeOf(int tensor) {
  if (tensor == kPool) return {1, 1, 1, kOut};
  if (tensor <= kS) return {1, kSize, kSize, kIn};
  return {1, kSize / 2, kSize / 2, kOut};
}

struct Net {
  Layer a, b, c, d, projection;
  Floats classes;

  // All tensors and the logits.
  Floats Run(const Floats& x, std::vector<Floats>* t) const {
    t->resize(kTensors);
    (*t)[kX] = x;
    (*t)[kA] = Relu(Conv(a, kSize, x));
    (*t)[kB] = Conv(b, kSize, (*t)[kA]);
    (*t)[kS] = Relu(Sum((*t)[kB], x));
    (*t)[kC] = Relu(Conv(c, kSize, (*t)[kS]));
    (*t)[kD] = Conv(d, kSize / 2, (*t)[kC]);
    (*t)[kP] = Conv(projection, kSize, (*t)[kS]);
    (*t)[kT] = Relu(Sum((*t)[kD], (*t)[kP]));
    const int pixels = kSize * kSize / 4;
    Floats& pool = (*t)[kPool];
    pool.assign(kOut, 0);
    for (int i = 0; i < pixels * kOut; ++i)
      pool[i % kOut] += (*t)[kT][i] / pixels;
    Floats logits(kClasses);
    for (int o = 0; o < kClasses; ++o) {
      for (int i = 0; i < kOut; ++i)
        logits[o] += classes[o * kOut + i] * pool[i];
    }
    return logits;
  }
};

// The value; ends the program if there is none.
template <typename T>
T Need(absl::StatusOr<T> value, const char* what) {
  if (!value.ok()) {
    std::printf("%s: %s\n", what, value.status().ToString().c_str());
    std::exit(1);
  }
  return *std::move(value);
}

// Writes a report of each tensor: float `t`, and what `q` stands for.
absl::Status WriteReport(const char* file_name, const std::vector<Floats>& t,
                         const TensorView<std::int8_t> (&q)[kTensors]) {
  constexpr const char* kNames[] = {"X", "A", "B", "S",   "C",
                                    "D", "P", "T", "pool"};
  std::vector<ruy_like::LayerReport> reports;
  for (int k = 0; k < kTensors; ++k) {
    Floats values(t[k].size());
    const absl::Status status =
        Dequantize(absl::MakeConstSpan(q[k].data, values.size()), q[k].params,
                   absl::MakeSpan(values));
    if (!status.ok()) return status;
    auto report = ruy_like::ReportLayer(kNames[k], t[k], values, q[k].params);
    if (!report.ok()) return report.status();
    reports.push_back(*std::move(report));
  }
  const auto table = ruy_like::LayerReportTable(reports);
  const auto json = ruy_like::LayerReportJson(reports);
  if (!table.ok() || !json.ok()) return table.status();
  std::printf("%s", table->c_str());
  std::ofstream file(file_name);
  file << *json;
  file.close();
  return file ? absl::OkStatus()
              : absl::DataLossError(absl::StrCat("cannot write ", file_name));
}

int main(int argc, char** argv) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  const Net net = {MakeLayer(kIn, kIn, 3, 1, &random),
                   MakeLayer(kIn, kIn, 3, 1, &random),
                   MakeLayer(kIn, kOut, 3, 2, &random),
                   MakeLayer(kOut, kOut, 3, 1, &random),
                   MakeLayer(kIn, kOut, 1, 2, &random),
                   MakeLayer(kOut, kClasses, 1, 1, &random).weights};
  const auto image = [&] {
    Floats x;
    for (int i = 0; i < kSize * kSize * kIn; ++i) x.push_back(normal(random));
    return x;
  };
  std::vector<Floats> t;
  ruy_like::Observer observers[kTensors];
  for (int i = 0; i < 64; ++i) {
    net.Run(image(), &t);
    for (int k = 0; k < kTensors; ++k) {
      if (!observers[k].Observe(absl::MakeConstSpan(t[k])).ok()) return 1;
    }
  }
  ruy_like::CalibrationOptions options;
  options.method = ruy_like::CalibrationMethod::kMinMax;
  options.scheme = ruy_like::QuantScheme::kAffineSigned;
  QuantParams params[kTensors];
  for (int k = 0; k < kTensors; ++k) {
    params[k] = Need(observers[k].ChooseParams(options), "params");
  }
  for (int k : {kA, kS, kC, kT}) params[k].qmin = params[k].zero_point;
  params[kPool] = params[kT];  // pooling keeps the scale

  ruy_like::Context context;
  ruy_like::Workspace workspace;
  const auto conv = [&](const Layer& layer, int from, int to) {
    return Need(ruy_like::MakeConv2D<std::int8_t, std::int8_t>(
                    RowMajor(layer.weights.data(), layer.out,
                             layer.kernel * layer.kernel * layer.in),
                    layer.bias, params[from], params[to], &context),
                "conv");
  };
  const auto a = conv(net.a, kX, kA), b = conv(net.b, kA, kB);
  const auto c = conv(net.c, kS, kC), d = conv(net.d, kC, kD);
  const auto projection = conv(net.projection, kS, kP);
  const auto classes = Need(ruy_like::MakeFullyConnected<std::int8_t, float>(
                                RowMajor(net.classes.data(), kClasses, kOut),
                                {}, params[kPool], QuantParams(), &context),
                            "classes");

  std::vector<std::int8_t> memory[kTensors];
  TensorView<std::int8_t> q[kTensors];
  for (int k = 0; k < kTensors; ++k) {
    memory[k].resize(t[k].size());
    q[k] = {memory[k].data(), ShapeOf(k), params[k]};
  }
  float result[kClasses];
  TensorView<float> output = {result, {1, 1, 1, kClasses}, {}};
  Window all;
  all.kernel_height = all.kernel_width = kSize / 2;
  double signal = 0, noise = 0;
  int agree = 0;
  for (int i = 0; i < 64; ++i) {
    const Floats x = image();
    const Floats logits = net.Run(x, &t);
    absl::Status status = Quantize(absl::MakeConstSpan(x), params[kX],
                                   absl::MakeSpan(memory[kX]), &context);
    const auto run = [&](const Layer& layer, const auto& quantized, int from,
                         int to) {
      status.Update(Conv2D(q[from], quantized, WindowOf(layer), &workspace,
                           &context, &q[to]));
    };
    run(net.a, a, kX, kA);
    run(net.b, b, kA, kB);
    status.Update(QuantizedAdd(q[kB], q[kX], &context, &q[kS]));
    run(net.c, c, kS, kC);
    run(net.d, d, kC, kD);
    run(net.projection, projection, kS, kP);
    status.Update(QuantizedAdd(q[kD], q[kP], &context, &q[kT]));
    status.Update(AveragePool2D(q[kT], all, &workspace, &context, &q[kPool]));
    status.Update(FullyConnected(q[kPool], classes, &context, &output));
    if (!status.ok()) {
      std::printf("%s\n", status.ToString().c_str());
      return 1;
    }
    int best = 0, best_float = 0;
    for (int o = 0; o < kClasses; ++o) {
      signal += logits[o] * logits[o];
      noise += (logits[o] - result[o]) * (logits[o] - result[o]);
      if (result[o] > result[best]) best = o;
      if (logits[o] > logits[best_float]) best_float = o;
    }
    agree += best == best_float;
  }
  const double snr = 10 * std::log10(signal / noise);
  std::printf("SNR of the logits %.1f dB, %d of 64 images in the same class\n",
              snr, agree);
  if (argc > 1) {
    const absl::Status status = WriteReport(argv[1], t, q);
    if (!status.ok()) {
      std::printf("%s\n", status.ToString().c_str());
      return 1;
    }
  }
  return snr > 30 && agree >= 62 ? 0 : 1;
}
