// Finds faces on photographs by two networks in float and in int8, and compares
// the boxes.
//
//   detect <package folder> <reference.txt> <file for boxes> <PPM>...
//
// reference.txt has the boxes that the package's own JavaScript finds
// (reference.mjs). Exits with 1 where float's boxes differ from those, or where
// those of an int8 network that is chosen for it differ from float's: another
// number, or an overlap of less than 0.9. Photographs named calibration-... are
// for calibration alone, the others are not calibrated on.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "example/detect/boxes.h"
#include "example/detect/detectors.h"
#include "example/detect/int_network.h"
#include "example/detect/network.h"

namespace detect {
namespace {

using ruy_like::CalibrationMethod;

struct Photo {
  std::string name;
  std::vector<unsigned char> rgb;
};

std::string StemOf(const std::string& path) {
  const std::string file = path.substr(path.rfind('/') + 1);
  return file.substr(0, file.rfind('.'));
}

bool Load(const std::string& path, Photo* photo) {
  std::ifstream file(path, std::ios::binary);
  std::string magic;
  std::ptrdiff_t width = 0, height = 0, most = 0;
  file >> magic >> width >> height >> most;
  file.get();
  photo->name = StemOf(path);
  photo->rgb.assign(std::istreambuf_iterator<char>(file), {});
  const bool good = magic == "P6" && width == kPhotoSize &&
                    height == kPhotoSize && most == 255 &&
                    photo->rgb.size() ==
                        static_cast<std::size_t>(kPhotoSize * kPhotoSize * 3);
  if (!good) {
    std::fprintf(stderr, "%s is no binary PPM of 416x416\n", path.c_str());
  }
  return good;
}

// A detector's input and results for one photograph.
struct Case {
  std::string name;
  std::vector<float> input;
  std::vector<Box> reference, boxes;  // of the package; of our float network
};

void LoadReference(const std::string& path, const std::string& network,
                   std::vector<Case>* cases) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string of, name;
    Box box = {};
    words >> of >> name >> box.score >> box.left >> box.top >> box.right >>
        box.bottom;
    for (Case& one : *cases) {
      if (words && of == network && one.name == name) {
        one.reference.push_back(box);
      }
    }
  }
}

// A change of the float network before it is quantized.
enum class Change {
  kNone,
  kRelu,       // ReLU6 becomes ReLU, which equalization needs
  kEqualized,  // Equalize
};
constexpr const char* kChangeNames[] = {"", "relu", "equalized"};
constexpr std::size_t kChanges = 3;

// A float network, with what calibration knows of it.
struct Calibrated {
  Network network;
  Calibration calibration;
  WeightScales scales;
  std::vector<Outputs> outputs;  // of each photograph
};

// A row of the table: how a network is quantized.
struct Row {
  const char* name;
  Change change;
  IntOptions options;
  bool uses_scales = false;  // SearchScales'
  // Where not 0, the network must find float's boxes alone, with this overlap.
  float required = 0;
};

IntOptions Options(CalibrationMethod method, bool per_channel, int bits,
                   bool correct_bias) {
  IntOptions options;
  options.method = method;
  options.per_channel = per_channel;
  options.weight_bits = bits;
  options.correct_bias = correct_bias;
  return options;
}

std::vector<Row> TinyRows() {
  const auto mm = CalibrationMethod::kMinMax;
  const Change none = Change::kNone, equalized = Change::kEqualized;
  return {
      {"int8-per-tensor", none, Options(mm, false, 8, false)},
      {"int8-per-tensor-bias", none, Options(mm, false, 8, true)},
      {"int8-minmax", none, Options(mm, true, 8, false)},
      {"int8-minmax-bias", none, Options(mm, true, 8, true)},
      {"int8-mse", none, Options(CalibrationMethod::kMse, true, 8, false)},
      {"int8-entropy", none,
       Options(CalibrationMethod::kEntropy, true, 8, false)},
      {"int8-eq", none, Options(mm, true, 8, false), true},
      {"equalized-per-tensor", equalized, Options(mm, false, 8, false)},
      {"equalized-per-tensor-bias", equalized, Options(mm, false, 8, true)},
      {"equalized-int8", equalized, Options(mm, true, 8, false), false, 0.9f},
      {"equalized-int8-bias", equalized, Options(mm, true, 8, true)},
      {"equalized-int7", equalized, Options(mm, true, 7, false)},
      {"equalized-eq", equalized, Options(mm, true, 8, false), true},
  };
}

std::vector<Row> SsdRows() {
  const auto mm = CalibrationMethod::kMinMax;
  const Change none = Change::kNone, relu = Change::kRelu,
               equalized = Change::kEqualized;
  return {
      {"int8-per-tensor", none, Options(mm, false, 8, false)},
      {"int8-per-tensor-bias", none, Options(mm, false, 8, true)},
      {"int8-minmax", none, Options(mm, true, 8, false)},
      {"int8-minmax-bias", none, Options(mm, true, 8, true), false, 0.8f},
      {"int8-mse", none, Options(CalibrationMethod::kMse, true, 8, false)},
      {"relu-per-tensor", relu, Options(mm, false, 8, false)},
      {"relu-int8", relu, Options(mm, true, 8, false)},
      {"equalized-per-tensor", equalized, Options(mm, false, 8, false)},
      {"equalized-per-tensor-bias", equalized, Options(mm, false, 8, true)},
      {"equalized-int8", equalized, Options(mm, true, 8, false)},
      {"equalized-int8-bias", equalized, Options(mm, true, 8, true)},
  };
}

double Sum(const Times& times) {
  double sum = 0;
  for (const double t : times) sum += t;
  return sum;
}

// Keeps those of the photograph that was quickest, by sum.
void KeepBest(const Times& times, Times* best) {
  if (best->empty() || Sum(times) < Sum(*best)) *best = times;
}

// Signal-to-noise ratio of all outputs for all photographs, in dB.
double Snr(const std::vector<Outputs>& reference,
           const std::vector<Outputs>& outputs) {
  double signal = 0, noise = 0;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    for (std::size_t o = 0; o < reference[i].size(); ++o) {
      for (std::size_t k = 0; k < reference[i][o].size(); ++k) {
        const auto value = static_cast<double>(reference[i][o][k]);
        const double error = value - static_cast<double>(outputs[i][o][k]);
        signal += value * value;
        noise += error * error;
      }
    }
  }
  return 10 * std::log10(signal / noise);
}

// All of one network, on all photographs.
class Report {
 public:
  Report(std::string name, Detector detector, std::ofstream* boxes_file)
      : name_(std::move(name)),
        detector_(std::move(detector)),
        boxes_file_(boxes_file) {
    context_.set_max_num_threads(1);
  }

  // 0, or the program's exit code.
  int Run(const std::vector<Photo>& photos, const std::string& reference,
          const std::vector<Row>& rows);

 private:
  bool Prepare(const std::vector<Photo>& photos, const std::vector<Row>& rows,
               std::string* error);
  bool ChangeNetwork(Change change, Network* network, std::string* error) const;
  // The boxes of outputs, printed, and how they agree with float's.
  Agreement FindBoxes(const std::string& row,
                      const std::vector<Outputs>& outputs);
  bool RunFloatPhotos();
  bool RunIntPhotos(const Row& row, bool* good);
  void PrintTimes() const;
  void PrintMemory() const;

  const std::string name_;
  const Detector detector_;
  std::ofstream* const boxes_file_;
  ruy_like::Context context_;
  std::vector<Case> cases_;
  Calibrated networks_[kChanges];  // those that rows use
  Times float_times_, int_times_;
  std::size_t int_weight_bytes_ = 0, int_activation_bytes_ = 0;
};

bool Report::ChangeNetwork(Change change, Network* network,
                           std::string* error) const {
  if (change == Change::kRelu) ReplaceRelu6(network);
  return change != Change::kEqualized || Equalize(network, error);
}

bool Report::Prepare(const std::vector<Photo>& photos,
                     const std::vector<Row>& rows, std::string* error) {
  std::vector<std::vector<float>> inputs;
  for (const Photo& photo : photos) {
    if (photo.name.rfind("calibration-", 0) == 0) {
      inputs.push_back(detector_.prepare(photo.rgb));
    } else {
      cases_.push_back({photo.name, detector_.prepare(photo.rgb), {}, {}});
    }
  }
  // On two photographs: each takes some seconds.
  const std::vector<std::vector<float>> searched(
      inputs.begin(),
      inputs.begin() + std::min<std::ptrdiff_t>(
                           2, static_cast<std::ptrdiff_t>(inputs.size())));
  for (const Row& row : rows) {
    Calibrated& one = networks_[static_cast<int>(row.change)];
    if (one.network.steps.empty()) {
      one.network = detector_.network;
      if (!ChangeNetwork(row.change, &one.network, error) ||
          !Calibrate(one.network, inputs, &context_, &one.calibration, error)) {
        return false;
      }
    }
    if (row.uses_scales && one.scales.empty() &&
        !SearchScales(one.network, searched, &context_, &one.scales, error)) {
      return false;
    }
  }
  return true;
}

Agreement Report::FindBoxes(const std::string& row,
                            const std::vector<Outputs>& outputs) {
  Agreement sum;
  std::size_t float_boxes = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    Case& one = cases_[i];
    const std::vector<Box> boxes = detector_.find_boxes(outputs[i]);
    if (row == "float") one.boxes = boxes;
    for (const Box& b : boxes) {
      std::printf("  %-18s %-25s %.3f  [%6.1f %6.1f %6.1f %6.1f]  IoU %.3f\n",
                  one.name.c_str(), row.c_str(), b.score, b.left, b.top,
                  b.right, b.bottom, BestOverlap(b, one.boxes));
      *boxes_file_ << one.name << " " << name_ << " " << row << " " << b.left
                   << " " << b.top << " " << b.right << " " << b.bottom << "\n";
    }
    const Agreement agreement = Compare(one.boxes, boxes);
    sum.least = std::min(sum.least, agreement.least);
    sum.missed += agreement.missed;
    sum.extra += agreement.extra;
    float_boxes += one.boxes.size();
  }
  if (row == "float") return sum;
  std::printf(
      "%s %s: of float's %zu boxes %d missed, least IoU of the others %.3f; "
      "%d boxes that float has not; SNR of outputs %.1f dB",
      name_.c_str(), row.c_str(), float_boxes, sum.missed, sum.least, sum.extra,
      Snr(networks_[0].outputs, outputs));
  return sum;
}

// Finds the boxes of the float network, and of those that are changed. False
// where the former are not the package's.
bool Report::RunFloatPhotos() {
  bool good = true;
  for (std::size_t change = 0; change < kChanges; ++change) {
    Calibrated& network = networks_[change];
    if (network.network.steps.empty()) continue;
    for (const Case& one : cases_) {
      Times times;
      network.outputs.push_back(
          RunFloat(network.network, one.input, nullptr, &context_, &times));
      if (change == 0) KeepBest(times, &float_times_);
    }
    if (change > 0) {
      FindBoxes(std::string(kChangeNames[change]) + "-float", network.outputs);
      std::printf("\n");
      continue;
    }
    FindBoxes("float", network.outputs);
    for (const Case& one : cases_) {
      const Agreement agreement = Compare(one.reference, one.boxes);
      bool same = one.boxes.size() == one.reference.size() &&
                  agreement.missed == 0 && agreement.least >= 0.999f;
      for (std::size_t i = 0; same && i < one.boxes.size(); ++i) {
        same = std::abs(one.boxes[i].score - one.reference[i].score) <= 1e-3f;
      }
      if (!same) {
        std::printf("FAILED: %s: float is not the package's result (%.4f)\n",
                    one.name.c_str(), agreement.least);
        good = false;
      }
    }
  }
  return good;
}

// False on an error, which is printed. `good` becomes false where the network
// is not what the row requires.
bool Report::RunIntPhotos(const Row& row, bool* good) {
  const Calibrated& from = networks_[static_cast<int>(row.change)];
  IntOptions options = row.options;
  if (row.uses_scales) options.scales = &from.scales;
  IntNetwork network;
  std::string error;
  std::vector<Outputs> outputs;
  bool runs =
      network.Make(from.network, from.calibration, options, &context_, &error);
  for (std::size_t i = 0; runs && i < cases_.size(); ++i) {
    Times times;
    outputs.push_back(network.Run(cases_[i].input, &context_, &times, &error));
    runs = !outputs.back().empty();
    KeepBest(times, &int_times_);
  }
  if (!runs) {
    std::fprintf(stderr, "%s %s: %s\n", name_.c_str(), row.name, error.c_str());
    return false;
  }
  const Agreement sum = FindBoxes(row.name, outputs);
  if (row.change == Change::kNone) {
    std::printf("\n");
  } else {
    std::printf(", of %s-float's %.1f dB\n",
                kChangeNames[static_cast<int>(row.change)],
                Snr(from.outputs, outputs));
  }
  if (row.required > 0 &&
      (sum.missed > 0 || sum.extra > 0 || !(sum.least >= row.required))) {
    std::printf("FAILED: %s %s: other boxes than float's, or IoU below %.1f\n",
                name_.c_str(), row.name, row.required);
    *good = false;
  }
  int_weight_bytes_ = std::max(int_weight_bytes_, network.weight_bytes());
  int_activation_bytes_ =
      std::max(int_activation_bytes_, network.activation_bytes());
  return true;
}

// One line for each step, or for all steps of a group.
void Report::PrintTimes() const {
  const char* const kinds[] = {"Conv2D", "DepthwiseConv2D", "Conv2D 1x1",
                               "leaky ReLU", "MaxPool2D"};
  std::vector<std::string> lines;
  std::vector<int> counts;
  std::vector<std::pair<double, double>> sums;
  for (std::size_t i = 0; i < detector_.network.steps.size(); ++i) {
    const Step& step = detector_.network.steps[i];
    std::string line = step.group;
    if (line.empty()) {
      char text[64];
      std::snprintf(text, sizeof(text), "%-6s %-16s %3tdx%3tdx%3td",
                    step.name.c_str(), kinds[static_cast<int>(step.kind)],
                    step.out.height, step.out.width, step.out.channels);
      line = text;
    }
    auto at = static_cast<std::size_t>(
        std::find(lines.begin(), lines.end(), line) - lines.begin());
    if (at == lines.size() || step.group.empty()) {
      at = lines.size();
      lines.push_back(line);
      counts.push_back(0);
      sums.emplace_back(0, 0);
    }
    ++counts[at];
    sums[at].first += float_times_[i];
    sums[at].second += int_times_[i];
  }
  std::printf("\n%-34s steps  float, ms  int8, ms\n", name_.c_str());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::printf("%-34s %5d %10.3f %9.3f\n", lines[i].c_str(), counts[i],
                sums[i].first, sums[i].second);
  }
  std::printf("%-34s %5zu %10.3f %9.3f\n", "all of them", float_times_.size(),
              Sum(float_times_), Sum(int_times_));
}

void Report::PrintMemory() const {
  std::size_t weights = 0;
  std::ptrdiff_t activations = 0;
  for (const Step& step : detector_.network.steps) {
    weights += step.weights.size() + step.bias.size();
    activations = std::max(activations, Count(step.in) + Count(step.out));
  }
  std::printf(
      "%s: bytes of weights and of activations: float %zu and %td (a layer's "
      "input and output), int8 %zu and %zu (with workspace)\n\n",
      name_.c_str(), 4 * weights, 4 * activations, int_weight_bytes_,
      int_activation_bytes_);
}

int Report::Run(const std::vector<Photo>& photos, const std::string& reference,
                const std::vector<Row>& rows) {
  std::string error;
  if (!Prepare(photos, rows, &error)) {
    std::fprintf(stderr, "%s: %s\n", name_.c_str(), error.c_str());
    return 2;
  }
  LoadReference(reference, name_, &cases_);
  std::printf(
      "%s: boxes: score, left, top, right, bottom; best overlap with a "
      "box of float\n",
      name_.c_str());
  bool good = RunFloatPhotos();
  for (const Row& row : rows) {
    if (!RunIntPhotos(row, &good)) return 2;
  }
  PrintTimes();
  PrintMemory();
  return good ? 0 : 1;
}

int Main(int argc, char** argv) {
  std::vector<Photo> photos;
  for (int i = 4; i < argc; ++i) {
    photos.emplace_back();
    if (!Load(argv[i], &photos.back())) return 2;
  }
  std::ofstream boxes_file(argv[3]);
  const struct {
    const char* name;
    std::vector<Row> rows;
  } networks[] = {{"tiny_face_detector", TinyRows()},
                  {"ssd_mobilenetv1", SsdRows()}};
  int result = 0;
  for (const auto& network : networks) {
    Detector detector;
    std::string error;
    if (!MakeDetector(argv[1], network.name, &detector, &error)) {
      std::fprintf(stderr, "%s\n", error.c_str());
      return 2;
    }
    Report report(network.name, std::move(detector), &boxes_file);
    result = std::max(result, report.Run(photos, argv[2], network.rows));
  }
  std::printf("%s\n", result == 0 ? "passed" : "FAILED");
  return result;
}

}  // namespace
}  // namespace detect

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr,
                 "usage: detect <package> <reference.txt> <boxes> <PPM>...\n");
    return 2;
  }
  return detect::Main(argc, argv);
}
