// A network from float to integers on real data: trains it, folds its batch
// norms, calibrates it by each method, runs it in integers, and prints what
// that costs and saves. run.sh builds and runs it.
//
//   ruy_like_digits --data=example/quantize/digits.txt
//
// Exit codes: 0 all is well, 1 something failed (with --check: an aim was
// missed), 2 a flag is wrong. --help lists the flags.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <functional>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "example/command_line.h"
#include "example/quantize/calibration.h"
#include "example/quantize/calibration_methods.h"
#include "example/quantize/digits.h"
#include "example/quantize/float_net.h"
#include "example/quantize/quantized_net.h"
#include "example/quantize/trainer.h"
#include "ruy_like/quantize/quantize.h"
#include "ruy_like/ruy_like.h"

ABSL_FLAG(std::string, data, "example/quantize/digits.txt",
          "the images, in the form that README.md describes");
ABSL_FLAG(int, epochs, 60, "passes over the training images");
ABSL_FLAG(uint32_t, seed, 1, "of the weights at the start");
ABSL_FLAG(bool, narrow, false,
          "train a network with a quarter of the channels, which quantization "
          "costs more");
ABSL_FLAG(std::string, json, "", "a file to write the table to, as JSON");
ABSL_FLAG(std::string, save_tensors, "",
          "a directory to write each layer's input to, as .npy, as of the "
          "calibration images; for ruy_like_calibrate");
ABSL_FLAG(bool, short, false,
          "try a single calibration method, and time nothing; for tests");
ABSL_FLAG(bool, check, false,
          "fail unless float reaches 97%, int8 per channel is within 0.5 "
          "points of it and int7 with EQ within 1");

namespace digits {
namespace {

using ruy_like::CalibrationMethod;

constexpr int kTrainingImages = 1198;  // two thirds; the rest is held out
constexpr int kCalibrationImages = 100;
// The best of at least so many runs, in at least so long.
constexpr int kTimedRuns = 5;
constexpr double kTimedMilliseconds = 40;

// ## One line of the table

struct Result {
  std::string network, method;  // method: empty where none was used
  double accuracy = 0;          // of the held-out images
  double snr_db = 0;            // of the logits; NaN for float
  std::size_t weight_bytes = 0;
  double milliseconds = 0;  // for all held-out images, best of some runs
};

using Run = std::function<absl::StatusOr<std::vector<float>>()>;

// Runs the network several times and compares its logits with the labels and
// (unless empty) with those of the float network.
absl::StatusOr<Result> Measure(std::string network, std::string method,
                               std::size_t weight_bytes,
                               const std::vector<int>& labels,
                               const std::vector<float>& float_logits,
                               const Run& run) {
  Result result = {std::move(network), std::move(method), 0, NAN,
                   weight_bytes,       INFINITY};
  std::vector<float> logits;
  double total = 0;
  for (int i = 0; i < kTimedRuns || total < kTimedMilliseconds; ++i) {
    const auto start = std::chrono::steady_clock::now();
    auto output = run();
    const std::chrono::duration<double, std::milli> elapsed =
        std::chrono::steady_clock::now() - start;
    if (!output.ok()) return output.status();
    logits = *std::move(output);
    result.milliseconds = std::min(result.milliseconds, elapsed.count());
    total += elapsed.count();
    if (absl::GetFlag(FLAGS_short)) break;
  }
  int right = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const float* const row = &logits[i * kClasses];
    right += std::max_element(row, row + kClasses) - row == labels[i];
  }
  result.accuracy = static_cast<double>(right) / labels.size();
  if (!float_logits.empty()) {
    double signal = 0, noise = 0;
    for (std::size_t i = 0; i < logits.size(); ++i) {
      const double error = static_cast<double>(logits[i]) - float_logits[i];
      signal += static_cast<double>(float_logits[i]) * float_logits[i];
      noise += error * error;
    }
    result.snr_db = 10 * std::log10(signal / noise);
  }
  return result;
}

// ## All networks

// The network and data that every line of the table uses.
struct Experiment {
  FloatNet folded;
  Calibration calibration;
  DataSet held_out;
  std::vector<float> float_logits;
  std::vector<Result> results;
  ruy_like::Context context;
};

absl::Status MeasureFloat(Experiment* experiment) {
  std::size_t weights = 0;
  for (const Layer& layer : experiment->folded) {
    weights += layer.weights.size() + layer.bias.size();
  }
  auto result =
      Measure("float", "", weights * sizeof(float), experiment->held_out.labels,
              {}, [&]() -> absl::StatusOr<std::vector<float>> {
                auto tensors = RunLayers(
                    experiment->folded, experiment->held_out.pixels,
                    experiment->held_out.count(), &experiment->context);
                if (!tensors.ok()) return tensors.status();
                experiment->float_logits = tensors->back();
                return std::move(tensors->back());
              });
  if (!result.ok()) return result.status();
  experiment->results.push_back(*std::move(result));
  return absl::OkStatus();
}

absl::Status MeasureQuantized(const std::string& network,
                              const std::string& method,
                              absl::Span<const QuantizedLayer> layers,
                              bool dynamic, Experiment* experiment) {
  const auto net =
      QuantizedNet::Make(experiment->folded, layers, &experiment->context);
  if (!net.ok()) return net.status();
  const DataSet& images = experiment->held_out;
  auto result =
      Measure(network, method, net->weight_bytes(), images.labels,
              experiment->float_logits, [&] {
                return dynamic ? net->RunDynamic(images.pixels, images.count(),
                                                 &experiment->context)
                               : net->Run(images.pixels, images.count(),
                                          &experiment->context);
              });
  if (!result.ok()) return result.status();
  experiment->results.push_back(*std::move(result));
  return absl::OkStatus();
}

// Scales of weights and activations by themselves.
absl::StatusOr<std::vector<QuantizedLayer>> ChooseScales(
    const ruy_like::CalibrationOptions& activations,
    const WeightOptions& weights, const Experiment& experiment) {
  const auto inputs = experiment.calibration.InputParams(activations);
  if (!inputs.ok()) return inputs.status();
  return ChooseParams(experiment.folded, *inputs, weights);
}

absl::Status MeasureAllQuantized(Experiment* experiment) {
  using ruy_like::QuantScheme;
  const struct {
    const char* name;
    WeightOptions weights;
    QuantScheme activations;
    int activation_bits;
    bool eq;
  } kinds[] = {
      {"int8 per tensor", {8, false}, QuantScheme::kAffineSigned, 8, false},
      {"int8 per channel", {8, true}, QuantScheme::kAffineSigned, 8, false},
      {"int7", {7, true}, QuantScheme::kSymmetric, 7, false},
      {"int7 + EQ", {7, true}, QuantScheme::kSymmetric, 7, true},
      // Levels of [-7, 7], stored as int8: what 4 bits cost, not what they
      // save.
      {"int4 weights", {4, true}, QuantScheme::kAffineSigned, 8, false},
  };
  for (const auto& kind : kinds) {
    for (const CalibrationMethod method : kCalibrationMethods) {
      if (absl::GetFlag(FLAGS_short) && method != CalibrationMethod::kEntropy) {
        continue;
      }
      ruy_like::CalibrationOptions options;
      options.method = method;
      options.scheme = kind.activations;
      options.bits = kind.activation_bits;
      const auto layers =
          kind.eq ? experiment->calibration.SearchScales(
                        experiment->folded, method, kind.weights.bits,
                        &experiment->context)
                  : ChooseScales(options, kind.weights, *experiment);
      if (!layers.ok()) return layers.status();
      const absl::Status status = MeasureQuantized(
          kind.name, CalibrationMethodName(method), *layers, false, experiment);
      if (!status.ok()) return status;
    }
  }
  const std::vector<ruy_like::QuantParams> unused(experiment->folded.size());
  const auto layers = ChooseParams(experiment->folded, unused, {8, true});
  if (!layers.ok()) return layers.status();
  return MeasureQuantized("int8 dynamic", "", *layers, true, experiment);
}

// ## Output

void PrintTable(const std::vector<Result>& results) {
  std::cout << absl::StreamFormat("\n%-17s %-14s %9s %9s %14s %10s\n",
                                  "network", "calibration", "accuracy",
                                  "SNR, dB", "weights, bytes", "time, ms");
  for (const Result& result : results) {
    std::cout << absl::StreamFormat(
        "%-17s %-14s %8.2f%% %9s %14d %10.2f\n", result.network,
        result.method.empty() ? "-" : result.method, 100 * result.accuracy,
        std::isnan(result.snr_db) ? "-"
                                  : absl::StrFormat("%.1f", result.snr_db),
        result.weight_bytes, result.milliseconds);
  }
}

absl::Status WriteJson(const std::string& file_name, int images,
                       const std::vector<Result>& results) {
  std::ofstream file(file_name);
  file << "{\"images\": " << images << ",\n \"networks\": [";
  const char* separator = "\n";
  for (const Result& result : results) {
    file << separator
         << absl::StreamFormat(
                "  {\"network\": \"%s\", \"method\": \"%s\", "
                "\"accuracy\": %.6f, \"snr_db\": %s, \"weight_bytes\": %d, "
                "\"milliseconds\": %.3f}",
                result.network, result.method, result.accuracy,
                std::isfinite(result.snr_db)
                    ? absl::StrFormat("%.3f", result.snr_db)
                    : "null",
                result.weight_bytes, result.milliseconds);
    separator = ",\n";
  }
  file << "\n]}\n";
  file.close();
  if (!file) return absl::DataLossError("cannot write " + file_name);
  return absl::OkStatus();
}

// NumPy's format, version 1: little-endian floats, images x values of each.
absl::Status WriteNpy(const std::string& file_name,
                      const std::vector<float>& values, int images) {
  std::string header =
      absl::StrCat("{'descr': '<f4', 'fortran_order': False, 'shape': (",
                   images, ", ", values.size() / images, "), }");
  constexpr std::size_t kPreamble = 10, kAlignment = 64;
  header.append(kAlignment - 1 - (kPreamble + header.size()) % kAlignment, ' ');
  header += '\n';
  std::ofstream file(file_name, std::ios::binary);
  file << "\x93NUMPY" << '\1' << '\0' << static_cast<char>(header.size() & 255)
       << static_cast<char>(header.size() >> 8) << header;
  file.write(reinterpret_cast<const char*>(values.data()),
             static_cast<std::streamsize>(values.size() * sizeof(float)));
  file.close();
  if (!file) return absl::DataLossError("cannot write " + file_name);
  return absl::OkStatus();
}

// ## From data to table

absl::Status Prepare(const DataSet& data, Experiment* experiment) {
  const DataSet training = Slice(data, 0, kTrainingImages);
  const DataSet calibration = Slice(data, 0, kCalibrationImages);
  experiment->held_out = Slice(data, kTrainingImages, data.count());
  TrainOptions options;
  options.epochs = absl::GetFlag(FLAGS_epochs);
  options.seed = absl::GetFlag(FLAGS_seed);
  options.narrow = absl::GetFlag(FLAGS_narrow);
  const auto start = std::chrono::steady_clock::now();
  auto net = Train(training, options, &experiment->context);
  if (!net.ok()) return net.status();
  const std::chrono::duration<double> elapsed =
      std::chrono::steady_clock::now() - start;
  std::cout << absl::StreamFormat(
      "trained on %d images in %.1f s (products by %s)\n", training.count(),
      elapsed.count(), experiment->context.last_used_kernel());

  const auto reports = FoldBatchNorms(&*net);
  if (!reports.ok()) return reports.status();
  std::cout << "folded " << reports->size()
            << " batch norms; largest gain / median gain:";
  for (const auto& report : *reports) {
    std::cout << absl::StreamFormat(" %.1f", report.max_over_median);
  }
  std::cout << "\ncalibrating on " << calibration.count()
            << " images, testing on " << experiment->held_out.count() << "\n";
  experiment->folded = *std::move(net);
  auto tensors = RunLayers(experiment->folded, calibration.pixels,
                           calibration.count(), &experiment->context);
  if (!tensors.ok()) return tensors.status();
  tensors->pop_back();  // the logits, which nothing quantizes
  const std::string directory = absl::GetFlag(FLAGS_save_tensors);
  for (std::size_t i = 0; !directory.empty() && i < tensors->size(); ++i) {
    const absl::Status status =
        WriteNpy(absl::StrCat(directory, "/layer", i + 1, "_input.npy"),
                 (*tensors)[i], calibration.count());
    if (!status.ok()) return status;
  }
  return experiment->calibration.Observe(*std::move(tensors),
                                         calibration.count());
}

// The aims of --check. The method is the one that a user should begin with.
absl::Status CheckAims(const std::vector<Result>& results) {
  const double float_accuracy = results.front().accuracy;
  if (float_accuracy < 0.97) {
    return absl::FailedPreconditionError("float does not reach 97%");
  }
  const struct {
    const char* network;
    double tolerance;
  } aims[] = {{"int8 per channel", 0.005}, {"int7 + EQ", 0.01}};
  for (const auto& aim : aims) {
    bool found = false;
    for (const Result& result : results) {
      if (result.network != aim.network || result.method != "entropy") continue;
      found = true;
      if (result.accuracy < float_accuracy - aim.tolerance) {
        return absl::FailedPreconditionError(absl::StrFormat(
            "%s, %s: %.2f%% is not within %.1f points of %.2f%%",
            result.network, result.method, 100 * result.accuracy,
            100 * aim.tolerance, 100 * float_accuracy));
      }
    }
    if (!found) return absl::InternalError("an aim without a result");
  }
  std::cout << "\nall aims are met\n";
  return absl::OkStatus();
}

absl::Status RunAll() {
  const auto data = LoadDigits(absl::GetFlag(FLAGS_data));
  if (!data.ok()) return data.status();
  if (data->count() <= kTrainingImages) {
    return absl::InvalidArgumentError(absl::StrCat(
        "only ", data->count(), " images in ", absl::GetFlag(FLAGS_data)));
  }
  Experiment experiment;
  absl::Status status = Prepare(*data, &experiment);
  if (status.ok()) status = MeasureFloat(&experiment);
  if (status.ok()) status = MeasureAllQuantized(&experiment);
  if (!status.ok()) return status;
  PrintTable(experiment.results);
  const std::string json = absl::GetFlag(FLAGS_json);
  if (!json.empty()) {
    status = WriteJson(json, experiment.held_out.count(), experiment.results);
  }
  if (status.ok() && absl::GetFlag(FLAGS_check)) {
    status = CheckAims(experiment.results);
  }
  return status;
}

}  // namespace
}  // namespace digits

int main(int argc, char** argv) {
  constexpr char kSource[] = "quantize/main.cc";
  if (command_line::WantsHelp(argc, argv)) {
    std::cout << "Trains a small network on handwritten digits and quantizes "
                 "it.\n\nFlags:\n";
    command_line::PrintFlags(kSource);
    return 0;
  }
  absl::Status status = command_line::ParseFlags(argc, argv, kSource, nullptr);
  if (status.ok()) status = digits::RunAll();
  if (status.ok()) return 0;
  std::cerr << "ruy_like_digits: " << status.message() << "\n";
  return absl::IsInvalidArgument(status) || absl::IsNotFound(status) ? 2 : 1;
}
