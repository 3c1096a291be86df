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

// What a detector makes of one photograph.
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

// A float network, with what calibration knows of it.
struct Calibrated {
  Network network;
  Calibration calibration;
  WeightScales scales;
};

// A row of the table: how a network is quantized.
struct Row {
  const char* name;
  bool is_equalized;
  IntOptions options;
  bool uses_scales = false;  // SearchScales'
  bool is_required = false;  // must overlap float's by 0.9
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
  return {
      {"int8-per-tensor", false, Options(mm, false, 8, false)},
      {"int8-per-tensor-bias", false, Options(mm, false, 8, true)},
      {"int8-minmax", false, Options(mm, true, 8, false)},
      {"int8-minmax-bias", false, Options(mm, true, 8, true)},
      {"int8-mse", false, Options(CalibrationMethod::kMse, true, 8, false)},
      {"int8-entropy", false,
       Options(CalibrationMethod::kEntropy, true, 8, false)},
      {"int8-eq", false, Options(mm, true, 8, false), true},
      {"equalized-per-tensor", true, Options(mm, false, 8, false)},
      {"equalized-per-tensor-bias", true, Options(mm, false, 8, true)},
      {"equalized-int8", true, Options(mm, true, 8, false), false, true},
      {"equalized-int8-bias", true, Options(mm, true, 8, true)},
      {"equalized-int7", true, Options(mm, true, 7, false)},
      {"equalized-eq", true, Options(mm, true, 8, false), true},
  };
}

std::vector<Row> SsdRows() {
  const auto mm = CalibrationMethod::kMinMax;
  const auto mse = CalibrationMethod::kMse;
  return {
      {"int8-per-tensor", false, Options(mm, false, 8, false)},
      {"int8-per-tensor-bias", false, Options(mm, false, 8, true)},
      {"int8-minmax", false, Options(mm, true, 8, false)},
      {"int8-minmax-bias", false, Options(mm, true, 8, true)},
      {"int8-mse", false, Options(mse, true, 8, false)},
      {"equalized-per-tensor", true, Options(mm, false, 8, false)},
      {"equalized-per-tensor-bias", true, Options(mm, false, 8, true)},
      {"equalized-int8", true, Options(mm, true, 8, false)},
      {"equalized-int8-bias", true, Options(mm, true, 8, true)},
      {"equalized-mse", true, Options(mse, true, 8, false)},
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
  bool Prepare(const std::vector<Photo>& photos, bool search_scales,
               std::string* error);
  void Print(const char* row, const Case& one, const std::vector<Box>& boxes);
  // Whether the boxes of all photographs agree: one line.
  Agreement Summarize(const char* row, const std::vector<Agreement>& all);
  bool RunFloatPhotos();
  bool RunIntPhotos(const Row& row, bool* good);
  void PrintTimes() const;
  void PrintMemory() const;

  const std::string name_;
  const Detector detector_;
  std::ofstream* const boxes_file_;
  ruy_like::Context context_;
  std::vector<Case> cases_;
  Calibrated plain_, equalized_;
  Times float_times_, int_times_;
  std::size_t int_weight_bytes_ = 0, int_activation_bytes_ = 0;
};

bool Report::Prepare(const std::vector<Photo>& photos, bool search_scales,
                     std::string* error) {
  std::vector<std::vector<float>> inputs;
  for (const Photo& photo : photos) {
    if (photo.name.rfind("calibration-", 0) == 0) {
      inputs.push_back(detector_.prepare(photo.rgb));
    } else {
      cases_.push_back({photo.name, detector_.prepare(photo.rgb), {}, {}});
    }
  }
  plain_.network = equalized_.network = detector_.network;
  if (!Equalize(&equalized_.network, error)) return false;
  for (Calibrated* one : {&plain_, &equalized_}) {
    if (!Calibrate(one->network, inputs, &context_, &one->calibration, error)) {
      return false;
    }
    // On two photographs: each takes some seconds.
    if (search_scales &&
        !SearchScales(one->network,
                      {inputs.begin(),
                       inputs.begin() +
                           std::min<std::ptrdiff_t>(
                               2, std::distance(inputs.begin(), inputs.end()))},
                      &context_, &one->scales, error)) {
      return false;
    }
  }
  return true;
}

void Report::Print(const char* row, const Case& one,
                   const std::vector<Box>& boxes) {
  for (const Box& b : boxes) {
    std::printf("  %-18s %-25s %.3f  [%6.1f %6.1f %6.1f %6.1f]  IoU %.3f\n",
                one.name.c_str(), row, b.score, b.left, b.top, b.right,
                b.bottom, BestOverlap(b, one.boxes));
    *boxes_file_ << one.name << " " << name_ << " " << row << " " << b.left
                 << " " << b.top << " " << b.right << " " << b.bottom << "\n";
  }
}

Agreement Report::Summarize(const char* row,
                            const std::vector<Agreement>& all) {
  Agreement sum;
  std::size_t boxes = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    sum.least = std::min(sum.least, all[i].least);
    sum.missed += all[i].missed;
    sum.extra += all[i].extra;
    boxes += cases_[i].boxes.size();
  }
  std::printf(
      "%s %s: of float's %zu boxes %d missed, least IoU of the others %.3f; "
      "%d boxes that float has not\n",
      name_.c_str(), row, boxes, sum.missed, sum.least, sum.extra);
  return sum;
}

// Finds the float network's boxes, and those of the equalized one. False where
// they are not the package's.
bool Report::RunFloatPhotos() {
  bool good = true;
  for (Case& one : cases_) {
    Times times;
    one.boxes = detector_.find_boxes(
        RunFloat(plain_.network, one.input, nullptr, &context_, &times));
    KeepBest(times, &float_times_);
    Print("float", one, one.boxes);
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
  std::vector<Agreement> all;
  for (const Case& one : cases_) {
    const std::vector<Box> boxes = detector_.find_boxes(
        RunFloat(equalized_.network, one.input, nullptr, &context_, nullptr));
    Print("equalized-float", one, boxes);
    all.push_back(Compare(one.boxes, boxes));
  }
  Summarize("equalized-float", all);
  return good;
}

// False on an error, which is printed. `good` becomes false where a required
// row is not.
bool Report::RunIntPhotos(const Row& row, bool* good) {
  const Calibrated& from = row.is_equalized ? equalized_ : plain_;
  IntOptions options = row.options;
  if (row.uses_scales) options.scales = &from.scales;
  IntNetwork network;
  std::string error;
  if (!network.Make(from.network, from.calibration, options, &context_,
                    &error)) {
    std::fprintf(stderr, "%s %s: %s\n", name_.c_str(), row.name, error.c_str());
    return false;
  }
  std::vector<Agreement> all;
  for (const Case& one : cases_) {
    Times times;
    const Outputs outputs = network.Run(one.input, &context_, &times, &error);
    if (outputs.empty()) {
      std::fprintf(stderr, "%s %s: %s\n", name_.c_str(), row.name,
                   error.c_str());
      return false;
    }
    KeepBest(times, &int_times_);
    const std::vector<Box> boxes = detector_.find_boxes(outputs);
    Print(row.name, one, boxes);
    all.push_back(Compare(one.boxes, boxes));
  }
  const Agreement sum = Summarize(row.name, all);
  if (row.is_required &&
      (sum.missed > 0 || sum.extra > 0 || !(sum.least >= 0.9f))) {
    std::printf("FAILED: %s %s: other boxes than float's, or IoU below 0.9\n",
                name_.c_str(), row.name);
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
  const bool search_scales = std::any_of(
      rows.begin(), rows.end(), [](const Row& row) { return row.uses_scales; });
  if (!Prepare(photos, search_scales, &error)) {
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
