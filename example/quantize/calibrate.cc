// ruy_like_calibrate: which scale each calibration method gives a tensor, and
// what quantizing by it does to the values.
//
//   ruy_like_calibrate --bits=8 --json=out.json --plot=plots tensor.npy ...
//
// Exit codes: 0 all is well, 1 the plot could not be drawn, 2 a file or a flag
// is wrong. --help lists the flags.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "example/command_line.h"
#include "example/quantize/calibration_methods.h"
#include "example/quantize/tensor_file.h"
#include "ruy_like/quantize/quantize.h"

ABSL_FLAG(int, bits, 8, "of the quantized values, 2 to 16");
ABSL_FLAG(std::string, methods, "all",
          "names of calibration methods, separated by commas");
ABSL_FLAG(double, percentile, 99.99, "what the method of that name keeps");
ABSL_FLAG(std::string, range, "symmetric",
          "symmetric: [-T, T] and zero point 0; affine: what lies within it of "
          "[smallest value, largest value]");
ABSL_FLAG(std::string, json, "", "a file to write the results to");
ABSL_FLAG(std::string, plot, "",
          "a directory for pictures of histograms and thresholds (needs "
          "python3 with matplotlib)");
ABSL_FLAG(std::string, plot_script, RUY_LIKE_PLOT_SCRIPT,
          "the script that draws them");

namespace ruy_like_calibrate {
namespace {

using ruy_like::CalibrationMethod;

enum ExitCode { kOk = 0, kFailed = 1, kUsage = 2 };

struct Options {
  int bits;
  bool affine;
  double percentile;
  std::vector<CalibrationMethod> methods;
};

struct MethodResult {
  const char* name;
  float threshold;
  ruy_like::QuantParams params;
  double snr_db;  // infinite if nothing was lost
  double cosine;
};

struct TensorResult {
  std::string file;
  std::vector<std::int64_t> shape;
  std::size_t count;
  std::uint64_t nonfinite, zeros;
  float min, max;
  float histogram_range;
  std::vector<std::uint64_t> histogram;
  std::vector<MethodResult> methods;
};

absl::StatusOr<Options> ReadOptions() {
  Options options;
  options.bits = absl::GetFlag(FLAGS_bits);
  if (options.bits < 2 || options.bits > 16) {
    return absl::InvalidArgumentError(
        absl::StrCat("--bits=", options.bits, ": must be from 2 to 16"));
  }
  const std::string range = absl::GetFlag(FLAGS_range);
  options.affine = range == "affine";
  if (!options.affine && range != "symmetric") {
    return absl::InvalidArgumentError(
        absl::StrCat("--range=", range, ": must be one of symmetric, affine"));
  }
  options.percentile = absl::GetFlag(FLAGS_percentile);
  if (!(options.percentile > 0 && options.percentile <= 100)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--percentile=", options.percentile,
                     ": must be above 0 and at most 100"));
  }
  const std::string names = absl::GetFlag(FLAGS_methods);
  std::string all;
  for (const CalibrationMethod method : kCalibrationMethods) {
    absl::StrAppend(&all, all.empty() ? "" : ", ",
                    CalibrationMethodName(method));
    if (names == "all") options.methods.push_back(method);
  }
  if (names == "all") return options;
  for (const absl::string_view name : absl::StrSplit(names, ',')) {
    const auto found = std::find_if(
        std::begin(kCalibrationMethods), std::end(kCalibrationMethods),
        [&](CalibrationMethod method) {
          return name == CalibrationMethodName(method);
        });
    if (found == std::end(kCalibrationMethods)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--methods: '", name, "' is not one of all, ", all));
    }
    options.methods.push_back(*found);
  }
  return options;
}

// ## One tensor

// Two passes, so that the histogram ends at the largest magnitude.
absl::StatusOr<ruy_like::Observer> Observe(const std::vector<float>& values) {
  ruy_like::Observer range, observer;
  absl::Status status = range.Observe(values);
  if (status.ok() && range.absmax() > 0) {
    status = observer.SetRange(range.absmax());
  }
  if (status.ok()) status = observer.Observe(values);
  if (!status.ok()) return status;
  return observer;
}

// Quantizes and dequantizes, and sets what that leaves of the values.
absl::Status MeasureLoss(const std::vector<float>& values,
                         MethodResult* result) {
  std::vector<std::int16_t> quantized(values.size());
  std::vector<float> restored(values.size());
  absl::Status status = ruy_like::Quantize(
      absl::MakeConstSpan(values), result->params, absl::MakeSpan(quantized));
  status.Update(ruy_like::Dequantize(absl::Span<const std::int16_t>(quantized),
                                     result->params, absl::MakeSpan(restored)));
  if (!status.ok()) return status;
  double signal = 0, noise = 0, product = 0, squares = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double x = values[i], y = restored[i];
    if (!std::isfinite(x)) continue;
    signal += x * x;
    noise += (x - y) * (x - y);
    product += x * y;
    squares += y * y;
  }
  result->snr_db = noise == 0 ? INFINITY : 10 * std::log10(signal / noise);
  // Two zero vectors have one direction, one of them has none.
  result->cosine = signal == 0 && squares == 0 ? 1
                   : signal == 0 || squares == 0
                       ? 0
                       : product / std::sqrt(signal * squares);
  return absl::OkStatus();
}

// Everything about one file's tensor.
absl::StatusOr<TensorResult> Calibrate(const Options& options,
                                       const std::string& file) {
  const auto tensor = ReadTensor(file);
  if (!tensor.ok()) return tensor.status();
  const auto failed = [&](const absl::Status& status) {
    return absl::Status(status.code(),
                        absl::StrCat(file, ": ", status.message()));
  };
  const auto observer = Observe(tensor->values);
  if (!observer.ok()) return failed(observer.status());
  const ruy_like::MagnitudeHistogram histogram = observer->histogram();
  TensorResult result = {file,
                         tensor->shape,
                         tensor->values.size(),
                         observer->nonfinite_count(),
                         observer->zero_count(),
                         observer->min(),
                         observer->max(),
                         observer->absmax(),
                         {histogram.bins.begin(), histogram.bins.end()},
                         {}};
  for (const CalibrationMethod method : options.methods) {
    ruy_like::CalibrationOptions calibration;
    calibration.method = method;
    calibration.bits = options.bits;
    calibration.percentile = options.percentile;
    if (options.affine) {
      calibration.scheme = ruy_like::QuantScheme::kAffineSigned;
    }
    const auto threshold = observer->Threshold(calibration);
    if (!threshold.ok()) return failed(threshold.status());
    const auto params = observer->ChooseParams(calibration);
    if (!params.ok()) return failed(params.status());
    MethodResult of_method = {CalibrationMethodName(method), *threshold,
                              *params, 0, 0};
    const absl::Status status = MeasureLoss(tensor->values, &of_method);
    if (!status.ok()) return failed(status);
    result.methods.push_back(std::move(of_method));
  }
  return result;
}

// ## Output

void Print(const Options& options, const TensorResult& tensor) {
  std::cout << absl::StreamFormat(
      "%s: %d values (%s), %d zeros, %d not finite, from %g to %g; %d bits\n",
      tensor.file, tensor.count, absl::StrJoin(tensor.shape, " x "),
      tensor.zeros, tensor.nonfinite, tensor.min, tensor.max, options.bits);
  std::cout << absl::StreamFormat("%-14s %12s %14s %10s %9s %10s\n", "method",
                                  "threshold", "scale", "zero point", "SNR, dB",
                                  "cosine");
  for (const MethodResult& method : tensor.methods) {
    std::cout << absl::StreamFormat(
        "%-14s %12.6g %14.8g %10d %9.3f %10.7f\n", method.name,
        method.threshold, method.params.scale, method.params.zero_point,
        method.snr_db, method.cosine);
  }
}

// A JSON string: file names may hold anything.
std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      absl::StrAppendFormat(&quoted, "\\u%04x", static_cast<unsigned>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

// JSON knows no infinity.
std::string Number(double value) {
  return std::isfinite(value) ? absl::StrFormat("%.9g", value) : "null";
}

absl::Status WriteJson(const std::string& name, const Options& options,
                       const std::vector<TensorResult>& tensors) {
  std::ofstream file(name);
  file << "{\"tensors\": [";
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const TensorResult& tensor = tensors[i];
    file << (i == 0 ? "\n" : ",\n") << " {\"file\": " << Quoted(tensor.file)
         << ", \"shape\": [" << absl::StrJoin(tensor.shape, ", ")
         << "], \"count\": " << tensor.count << ", \"zeros\": " << tensor.zeros
         << ", \"nonfinite\": " << tensor.nonfinite
         << ",\n  \"min\": " << Number(tensor.min)
         << ", \"max\": " << Number(tensor.max)
         << ", \"bits\": " << options.bits << ",\n  \"methods\": [";
    for (std::size_t j = 0; j < tensor.methods.size(); ++j) {
      const MethodResult& method = tensor.methods[j];
      file << (j == 0 ? "\n" : ",\n") << "   {\"name\": \"" << method.name
           << "\", \"threshold\": " << Number(method.threshold)
           << ", \"scale\": " << Number(method.params.scale)
           << ", \"zero_point\": " << method.params.zero_point
           << ", \"qmin\": " << method.params.qmin
           << ", \"qmax\": " << method.params.qmax
           << ", \"snr_db\": " << Number(method.snr_db)
           << ", \"cosine\": " << Number(method.cosine) << "}";
    }
    file << "],\n  \"histogram\": {\"range\": "
         << Number(tensor.histogram_range) << ", \"bins\": ["
         << absl::StrJoin(tensor.histogram, ",") << "]}}";
  }
  file << "\n]}\n";
  file.close();
  if (!file) {
    return absl::DataLossError(
        absl::StrCat("--json=", name, ": cannot be written"));
  }
  return absl::OkStatus();
}

// Runs the script, without a shell: names may hold anything.
absl::Status Plot(const std::string& json, const std::string& directory) {
  const std::string script = absl::GetFlag(FLAGS_plot_script);
  std::cout.flush();
  const pid_t child = fork();
  if (child == 0) {
    const std::string out = "--out=" + directory;
    execlp("python3", "python3", script.c_str(), out.c_str(), "--",
           json.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
    return absl::UnavailableError(
        absl::StrCat("--plot: python3 ", script, " failed"));
  }
  return absl::OkStatus();
}

absl::Status Draw(const Options& options,
                  const std::vector<TensorResult>& tensors) {
  const std::string directory = absl::GetFlag(FLAGS_plot);
  std::string json = absl::GetFlag(FLAGS_json);
  if (!json.empty()) return Plot(json, directory);
  // mkstemp replaces six X.
  json = "/tmp/ruy_like_calibrate_" + std::string(6, 'X');
  const int descriptor = mkstemp(json.data());
  if (descriptor < 0) return absl::UnavailableError("no temporary file");
  close(descriptor);
  absl::Status status = WriteJson(json, options, tensors);
  if (status.ok()) status = Plot(json, directory);
  unlink(json.c_str());
  return status;
}

ExitCode Refuse(const absl::Status& status, ExitCode code) {
  std::cerr << "ruy_like_calibrate: " << status.message() << "\n";
  return code;
}

ExitCode Run(const std::vector<std::string>& files) {
  const auto options = ReadOptions();
  if (!options.ok()) return Refuse(options.status(), kUsage);
  if (files.empty()) {
    return Refuse(
        absl::InvalidArgumentError("no file is given; --help lists the flags"),
        kUsage);
  }
  std::vector<TensorResult> tensors;
  for (const std::string& file : files) {
    auto tensor = Calibrate(*options, file);
    if (!tensor.ok()) return Refuse(tensor.status(), kUsage);
    tensors.push_back(*std::move(tensor));
  }
  for (const TensorResult& tensor : tensors) Print(*options, tensor);
  absl::Status status;
  const std::string json = absl::GetFlag(FLAGS_json);
  if (!json.empty()) status = WriteJson(json, *options, tensors);
  if (!status.ok()) return Refuse(status, kUsage);
  if (!absl::GetFlag(FLAGS_plot).empty()) {
    status = Draw(*options, tensors);
  }
  return status.ok() ? kOk : Refuse(status, kFailed);
}

}  // namespace
}  // namespace ruy_like_calibrate

int main(int argc, char** argv) {
  constexpr char kSource[] = "quantize/calibrate.cc";
  if (command_line::WantsHelp(argc, argv)) {
    std::cout << "Calibrates tensors in .npy (float32, float64) and CSV "
                 "files.\n\n  ruy_like_calibrate [FLAG]... FILE...\n\nFlags:\n";
    command_line::PrintFlags(kSource);
    std::cout << "\nExit codes: 0 all is well, 1 no plot, 2 wrong flag or "
                 "file.\n";
    return ruy_like_calibrate::kOk;
  }
  std::vector<std::string> files;
  const absl::Status status =
      command_line::ParseFlags(argc, argv, kSource, &files);
  if (!status.ok()) {
    return ruy_like_calibrate::Refuse(status, ruy_like_calibrate::kUsage);
  }
  return ruy_like_calibrate::Run(files);
}
