// Quantizes the network of an ONNX file and compares: int8 with float, and
// float with ONNX Runtime where reference.mjs has been there.
//
//   ruy_like_onnx --model=FILE --inputs=FOLDER [FLAG]...
//
// Exit codes: 0 all is well, 1 float differs from ONNX Runtime or the best int8
// network is worse than required, 2 wrong flags, files or networks.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "example/command_line.h"
#include "example/onnx/int_network.h"

ABSL_FLAG(std::string, model, "", "the ONNX file");
ABSL_FLAG(std::string, shape, "",
          "the input's, as 1x3x48x192; else the file's, open sizes being 1");
ABSL_FLAG(std::string, inputs, "",
          "a folder of <name>.f32, raw little-endian floats, or <name>.ppm, "
          "binary RGB; those named calibration-... are for calibration alone, "
          "and if there are any, the others are not calibrated on. <name>.ref "
          "has ONNX Runtime's outputs");
ABSL_FLAG(int, generate, 0, "so many inputs of noise instead");
ABSL_FLAG(double, mean, 0.5, "of pictures, subtracted from values in [0, 1]");
ABSL_FLAG(double, deviation, 0.5, "by which they are then divided");
ABSL_FLAG(std::string, out, "",
          "a folder for calibration.json, report.txt, report.json, layers.txt");
ABSL_FLAG(double, percentile, 99.99, "what the method of that name keeps");
ABSL_FLAG(int, eq_seconds, 20, "time for the search of scales (EQ)");
ABSL_FLAG(double, require_db, 0, "SQNR that the best int8 network must have");

namespace onnx {
namespace {

using ruy_like::CalibrationMethod;
using Values = std::vector<float>;

// ## Inputs

struct Case {
  std::string name;
  Values input, reference;  // ONNX Runtime's outputs; may be empty
};

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Floats as a little-endian machine writes them; all that have ONNX Runtime
// are.
Values ReadFloats(const std::string& path) {
  const std::string bytes = ReadFile(path);
  Values values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

// Planes of red, green and blue.
Values ReadPicture(const std::string& path) {
  const std::string bytes = ReadFile(path);
  std::istringstream header(bytes);
  std::string magic;
  std::size_t width = 0, height = 0, most = 0;
  header >> magic >> width >> height >> most;
  if (!header || magic != "P6" || most != 255 || width == 0 ||
      height > bytes.size() / 3 / width) {
    return {};
  }
  const std::size_t begin = bytes.size() - width * height * 3;
  Values values;
  for (std::size_t c = 0; c < 3; ++c) {
    for (std::size_t i = 0; i < width * height; ++i) {
      const auto byte = static_cast<unsigned char>(bytes[begin + i * 3 + c]);
      values.push_back(
          static_cast<float>((byte / 255.0 - absl::GetFlag(FLAGS_mean)) /
                             absl::GetFlag(FLAGS_deviation)));
    }
  }
  return values;
}

absl::StatusOr<std::vector<Case>> ReadCases(const Network& network) {
  const auto count = static_cast<std::size_t>(CountOf(network.input.dims));
  std::vector<Case> cases;
  std::uint32_t state = 1;
  for (int i = 0; i < absl::GetFlag(FLAGS_generate); ++i) {
    cases.push_back({absl::StrCat("noise-", i), Values(count), {}});
    for (float& value : cases.back().input) {
      state = state * 1664525u + 1013904223u;
      value = static_cast<float>(state >> 8) / 8388608.0f - 1.0f;
    }
  }
  const std::string folder = absl::GetFlag(FLAGS_inputs);
  std::error_code error;
  if (!folder.empty()) {
    for (const auto& file :
         std::filesystem::directory_iterator(folder, error)) {
      const std::filesystem::path& path = file.path();
      const bool is_picture = path.extension() == ".ppm";
      if (!is_picture && path.extension() != ".f32") continue;
      std::filesystem::path reference = path;
      reference.replace_extension(".ref");
      cases.push_back(
          {path.stem().string(),
           is_picture ? ReadPicture(path.string()) : ReadFloats(path.string()),
           ReadFloats(reference.string())});
      if (cases.back().input.size() != count) {
        return absl::InvalidArgumentError(
            absl::StrCat(path.string(), " has ", cases.back().input.size(),
                         " values, the input ", ToString(network.input.dims)));
      }
    }
  }
  if (error || cases.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("no inputs in '", folder, "'"));
  }
  std::sort(cases.begin(), cases.end(),
            [](const Case& a, const Case& b) { return a.name < b.name; });
  return cases;
}

// ## Comparison

Values Joined(const std::vector<Tensor>& outputs) {
  Values all;
  for (const Tensor& output : outputs) {
    all.insert(all.end(), output.values.begin(), output.values.end());
  }
  return all;
}

// How like outputs are, over all inputs.
class Likeness {
 public:
  // `row`: values of one decision, whose largest is it; of single values that
  // they are above 1/2.
  void Add(const Values& expected, const Values& actual, std::size_t row) {
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const auto a = static_cast<double>(expected[i]);
      const auto b = static_cast<double>(actual[i]);
      aa_ += a * a;
      bb_ += b * b;
      ab_ += a * b;
      noise_ += (a - b) * (a - b);
    }
    const auto decide = [row](const Values& values, std::size_t at) {
      const auto first = values.begin() + static_cast<std::ptrdiff_t>(at);
      if (row == 1) return static_cast<std::ptrdiff_t>(*first > 0.5f);
      return std::max_element(first, first + static_cast<std::ptrdiff_t>(row)) -
             first;
    };
    for (std::size_t at = 0; at + row <= expected.size(); at += row) {
      ++decisions_;
      agreed_ += decide(expected, at) == decide(actual, at) ? 1 : 0;
    }
  }

  double cosine() const { return ab_ / std::sqrt(aa_ * bb_); }
  double snr_db() const { return 10 * std::log10(aa_ / noise_); }
  std::string ToString() const {
    char text[80];
    std::snprintf(
        text, sizeof(text), "%9.6f %8.1f %8.2f%%", cosine(), snr_db(),
        100.0 * static_cast<double>(agreed_) /
            static_cast<double>(std::max<std::ptrdiff_t>(decisions_, 1)));
    return text;
  }

 private:
  double aa_ = 0, bb_ = 0, ab_ = 0, noise_ = 0;
  std::ptrdiff_t decisions_ = 0, agreed_ = 0;
};

double Sum(const Times& times) {
  double sum = 0;
  for (const double t : times) sum += t;
  return sum;
}

// Those of the input that was quickest.
void KeepBest(const Times& times, Times* best) {
  if (best->empty() || Sum(times) < Sum(*best)) *best = times;
}

// ## Networks

struct Row {
  const char* name;
  bool equalized, searched;
  IntOptions options;
};

std::vector<Row> Rows() {
  const auto options = [](CalibrationMethod method, bool per_channel,
                          bool correct_bias) {
    IntOptions made;
    made.method = method;
    made.percentile = absl::GetFlag(FLAGS_percentile);
    made.per_channel = per_channel;
    made.correct_bias = correct_bias;
    return made;
  };
  const auto mm = CalibrationMethod::kMinMax;
  return {
      {"per tensor, min-max", false, false, options(mm, false, false)},
      {"per channel, min-max", false, false, options(mm, true, false)},
      {"the same, bias correction", false, false, options(mm, true, true)},
      {"per channel, KL", false, false,
       options(CalibrationMethod::kEntropy, true, false)},
      {"per channel, percentile", false, false,
       options(CalibrationMethod::kPercentile, true, false)},
      {"per channel, MSE", false, false,
       options(CalibrationMethod::kMse, true, false)},
      {"weights by EQ, min-max", false, true, options(mm, true, false)},
      {"the same, bias correction", false, true, options(mm, true, true)},
      {"equalized, per tensor", true, false, options(mm, false, false)},
      {"equalized, per channel", true, false, options(mm, true, false)},
      {"the same, bias correction", true, false, options(mm, true, true)},
  };
}

// A float network, and what is known of it.
struct Calibrated {
  Network network;
  Activations activations;
  WeightScales scales;
};

class Comparison {
 public:
  absl::Status Prepare();
  absl::Status CompareWithReference();
  // 0 or 1, the exit code.
  absl::StatusOr<int> Run();

 private:
  absl::Status RunFloats();
  absl::StatusOr<Likeness> RunRow(const Row& row, IntNetwork* made);
  absl::Status Write(const Row& row, IntNetwork* made);
  void PrintTimes(const IntNetwork& made) const;
  const Calibrated& For(const Row& row) const {
    return networks_[row.equalized ? 1 : 0];
  }

  ruy_like::Context context_;
  Calibrated networks_[2];  // as it is, and equalized
  std::size_t equalized_ = 0, row_ = 1;
  std::vector<Case> cases_;
  std::vector<Values> outputs_;  // of cases_
  Times float_times_, int_times_;
  bool has_reference_ = false, before_softmax_ = false;
  Likeness reference_;
};

absl::Status Comparison::Prepare() {
  context_.set_max_num_threads(1);
  auto model = LoadModel(absl::GetFlag(FLAGS_model));
  if (!model.ok()) return model.status();
  Dims dims;
  for (absl::string_view word :
       absl::StrSplit(absl::GetFlag(FLAGS_shape), 'x', absl::SkipEmpty())) {
    std::int64_t size = 0;
    if (!absl::SimpleAtoi(word, &size)) size = -1;
    dims.push_back(static_cast<std::ptrdiff_t>(size));
  }
  auto made = MakeNetwork(*std::move(model), dims, {}, &context_);
  if (!made.ok()) return made.status();
  networks_[0].network = *std::move(made);
  auto all = ReadCases(networks_[0].network);
  if (!all.ok()) return all.status();
  std::vector<Values> inputs;
  for (Case& one : *all) {
    if (one.name.rfind("calibration-", 0) == 0) {
      inputs.push_back(std::move(one.input));
    } else {
      cases_.push_back(std::move(one));
    }
  }
  if (inputs.empty()) {
    for (const Case& one : cases_) inputs.push_back(one.input);
  }
  absl::Status status = CompareWithReference();
  if (!status.ok()) return status;
  // A softmax hides what is lost: int8 and float are compared before it.
  Network& network = networks_[0].network;
  if (network.outputs.size() == 1 && network.steps.back().op == "Softmax" &&
      network.steps.back().output == network.outputs[0]) {
    network.outputs = network.steps.back().inputs;
    network.steps.pop_back();
    before_softmax_ = true;
  }
  networks_[1].network = network;
  const auto equalized = Equalize(&networks_[1].network, &context_);
  if (!equalized.ok()) return equalized.status();
  equalized_ = *equalized;
  for (Calibrated& one : networks_) {
    auto activations = Calibrate(one.network, inputs, &context_);
    if (!activations.ok()) return activations.status();
    one.activations = *std::move(activations);
  }
  // On two inputs: each layer takes a hundred products of them a round.
  inputs.resize(std::min<std::size_t>(inputs.size(), 2));
  auto scales = SearchScales(
      networks_[0].network, inputs,
      std::chrono::seconds(absl::GetFlag(FLAGS_eq_seconds)), &context_);
  if (!scales.ok()) return scales.status();
  networks_[0].scales = *std::move(scales);
  return absl::OkStatus();
}

// Rows of classes, or maps and single values that are decisions by themselves.
std::size_t RowOf(const std::vector<Tensor>& outputs) {
  const Dims& dims = outputs[0].dims;
  return dims.size() < 4 && outputs.size() == 1 && !dims.empty()
             ? static_cast<std::size_t>(dims.back())
             : 1;
}

absl::Status Comparison::CompareWithReference() {
  for (const Case& one : cases_) {
    if (one.reference.empty()) continue;
    const auto outputs =
        RunFloat(networks_[0].network, one.input, nullptr, &context_, nullptr);
    if (!outputs.ok()) return outputs.status();
    const Values values = Joined(*outputs);
    if (one.reference.size() != values.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat(one.name, ".ref has ", one.reference.size(),
                       " values, not ", values.size()));
    }
    has_reference_ = true;
    reference_.Add(one.reference, values, RowOf(*outputs));
  }
  return absl::OkStatus();
}

absl::Status Comparison::RunFloats() {
  for (const Case& one : cases_) {
    Times times;
    const auto outputs =
        RunFloat(networks_[0].network, one.input, nullptr, &context_, &times);
    if (!outputs.ok()) return outputs.status();
    outputs_.push_back(Joined(*outputs));
    row_ = RowOf(*outputs);
    KeepBest(times, &float_times_);
  }
  return absl::OkStatus();
}

absl::StatusOr<Likeness> Comparison::RunRow(const Row& row, IntNetwork* made) {
  const Calibrated& from = For(row);
  IntOptions options = row.options;
  if (row.searched) options.scales = &from.scales;
  auto network =
      IntNetwork::Make(from.network, from.activations, options, &context_);
  if (!network.ok()) return network.status();
  *made = *std::move(network);
  Likeness likeness;
  for (std::size_t i = 0; i < cases_.size(); ++i) {
    Times times;
    const auto outputs = made->Run(cases_[i].input, nullptr, &context_, &times);
    if (!outputs.ok()) return outputs.status();
    likeness.Add(outputs_[i], Joined(*outputs), row_);
    KeepBest(times, &int_times_);
  }
  return likeness;
}

// The calibration, and how each step's output differs from float's on the
// first input.
absl::Status Comparison::Write(const Row& row, IntNetwork* made) {
  const std::string folder = absl::GetFlag(FLAGS_out);
  const Calibrated& from = For(row);
  std::filesystem::create_directories(folder);
  ruy_like::Calibration calibration;
  for (const auto& [name, params] : made->params()) {
    ruy_like::CalibratedTensor tensor = {name, params, {}};
    const auto observer = from.activations.observers.find(name);
    if (observer != from.activations.observers.end()) {
      tensor.observers.push_back(observer->second);
    }
    calibration.tensors.push_back(std::move(tensor));
  }
  absl::Status status =
      SaveCalibration(calibration, folder + "/calibration.json");
  std::map<std::string, Values> expected;
  status.Update(RunFloat(
                    from.network, cases_[0].input,
                    [&](const std::string& name, const Tensor& x) {
                      expected[name] = x.values;
                      return absl::OkStatus();
                    },
                    &context_, nullptr)
                    .status());
  std::vector<ruy_like::LayerReport> reports;
  const auto watch = [&](const std::string& name, const Tensor& x) {
    const auto params = made->params().find(name);
    auto report =
        ReportLayer(name, expected[name], x.values,
                    params == made->params().end() ? ruy_like::QuantParams()
                                                   : params->second[0]);
    if (report.ok()) reports.push_back(*std::move(report));
    return report.status();
  };
  status.Update(made->Run(cases_[0].input, watch, &context_, nullptr).status());
  const auto table = LayerReportTable(reports);
  const auto json = LayerReportJson(reports);
  status.Update(table.status());
  status.Update(json.status());
  if (!status.ok()) return status;
  std::ofstream(folder + "/report.txt") << *table;
  std::ofstream(folder + "/report.json") << *json;
  std::ofstream layers(folder + "/layers.txt");
  layers << "float, ms  int8, ms  step\n";
  for (std::size_t i = 0; i < from.network.steps.size(); ++i) {
    const Step& step = from.network.steps[i];
    char text[40];
    std::snprintf(text, sizeof(text), "%9.3f %9.3f  ", float_times_[i],
                  int_times_[i]);
    layers << text << step.op << " '" << step.name << "' "
           << ToString(from.network.dims.at(step.output))
           << (made->IsInt(i) ? "" : " (float)") << "\n";
  }
  return absl::OkStatus();
}

// A line for each kind of step.
void Comparison::PrintTimes(const IntNetwork& made) const {
  struct Line {
    int count = 0;
    double float_ms = 0, int_ms = 0;
  };
  std::map<std::string, Line> lines;
  const std::vector<Step>& steps = networks_[0].network.steps;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Product& product = steps[i].product;
    std::string name = steps[i].op;
    if (steps[i].nodes.size() > 1) name = "function of several nodes";
    if (steps[i].kind == Kind::kProduct && product.is_conv) {
      absl::StrAppend(&name, " ", product.window.kernel_height, "x",
                      product.window.kernel_width,
                      product.groups > 1 ? ", groups" : "");
    }
    Line& line = lines[name + (made.IsInt(i) ? "" : " (float)")];
    ++line.count;
    line.float_ms += float_times_[i];
    line.int_ms += int_times_[i];
  }
  std::printf("\n%-32s steps float, ms  int8, ms\n", "");
  for (const auto& [name, line] : lines) {
    std::printf("%-32s %5d %9.3f %9.3f\n", name.c_str(), line.count,
                line.float_ms, line.int_ms);
  }
  std::printf("%-32s %5zu %9.3f %9.3f\n", "all of them", steps.size(),
              Sum(float_times_), Sum(int_times_));
}

absl::StatusOr<int> Comparison::Run() {
  absl::Status status = RunFloats();
  if (!status.ok()) return status;
  std::printf("%zu inputs, %zu steps; %zu products equalized%s\n",
              cases_.size(), networks_[0].network.steps.size(), equalized_,
              before_softmax_ ? "; int8 is compared before the softmax" : "");
  std::printf("%-32s   cosine SQNR, dB     top-1       ms\n", "");
  if (has_reference_) {
    std::printf("%-32s %s\n", "float, beside ONNX Runtime",
                reference_.ToString().c_str());
  }
  std::printf("%-32s %37.3f\n", "float", Sum(float_times_));
  const std::vector<Row> rows = Rows();
  const Row* best = nullptr;
  double best_db = -HUGE_VAL;
  for (const Row& row : rows) {
    if (row.equalized && equalized_ == 0) continue;
    IntNetwork made;
    int_times_.clear();
    const auto likeness = RunRow(row, &made);
    if (!likeness.ok()) return likeness.status();
    std::printf("%-32s %s %8.3f\n", row.name, likeness->ToString().c_str(),
                Sum(int_times_));
    if (likeness->snr_db() > best_db) {
      best_db = likeness->snr_db();
      best = &row;
    }
  }
  if (best == nullptr) return absl::InternalError("outputs are not finite");
  IntNetwork made;
  int_times_.clear();
  const auto likeness = RunRow(*best, &made);
  if (!likeness.ok()) return likeness.status();
  PrintTimes(made);
  if (!absl::GetFlag(FLAGS_out).empty()) {
    status = Write(*best, &made);
    if (!status.ok()) return status;
  }
  int result = 0;
  if (has_reference_ && !(reference_.snr_db() >= 60)) {
    std::printf("FAILED: float is not what ONNX Runtime computes\n");
    result = 1;
  }
  if (!(best_db >= absl::GetFlag(FLAGS_require_db))) {
    std::printf("FAILED: below %.1f dB\n", absl::GetFlag(FLAGS_require_db));
    result = 1;
  }
  return result;
}

int Main(int argc, char** argv) {
  constexpr char kSource[] = "onnx/main.cc";
  if (command_line::WantsHelp(argc, argv)) {
    command_line::PrintFlags(kSource);
    return 0;
  }
  absl::Status status = command_line::ParseFlags(argc, argv, kSource, nullptr);
  Comparison comparison;
  if (status.ok()) status = comparison.Prepare();
  absl::StatusOr<int> result = 2;
  if (status.ok()) result = comparison.Run();
  if (!result.ok()) status = result.status();
  if (status.ok()) return *result;
  std::cerr << status.message() << "\n";
  return 2;
}

}  // namespace
}  // namespace onnx

int main(int argc, char** argv) { return onnx::Main(argc, argv); }
