// Finds faces on photographs in float and in int8, and compares the boxes.
//
//   detect <package folder> <reference.txt> <file for boxes> <PPM>...
//
// reference.txt has the boxes that the package's own JavaScript finds
// (reference.mjs). Exits with 1 where float's boxes differ from those, or where
// a box of the equalized int8 network overlaps float's by less than 0.9.
// Photographs named calibration-... are for calibration alone, the others are
// not calibrated on.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "example/detect/detector.h"

namespace detect {
namespace {

using ruy_like::CalibrationMethod;

struct Photo {
  std::string name;
  std::vector<float> input;
  std::vector<Box> reference, boxes;  // of the package; of our float network
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
  const std::vector<unsigned char> rgb{std::istreambuf_iterator<char>(file),
                                       {}};
  if (magic != "P6" || width != kSize || height != kSize || most != 255 ||
      rgb.size() != static_cast<std::size_t>(kSize * kSize * 3)) {
    std::fprintf(stderr, "%s is no binary PPM of 416x416\n", path.c_str());
    return false;
  }
  photo->name = StemOf(path);
  photo->input = Normalize(rgb);
  return true;
}

void LoadReference(const std::string& path, std::vector<Photo>* photos) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string name;
    Box box = {};
    words >> name >> box.score >> box.left >> box.top >> box.right >>
        box.bottom;
    for (Photo& photo : *photos) {
      if (words && photo.name == name) photo.reference.push_back(box);
    }
  }
}

bool IsForCalibration(const Photo& photo) {
  return photo.name.rfind("calibration-", 0) == 0;
}

// A float network with Observers of its input and of all steps.
struct Calibrated {
  Weights weights;
  std::vector<ruy_like::Observer> observers;
};

void Calibrate(const std::vector<Photo>& photos, ruy_like::Context* context,
               Calibrated* network) {
  network->observers.resize(Steps().size() + 1);
  for (const Photo& photo : photos) {
    if (!IsForCalibration(photo)) continue;
    auto observer = network->observers.begin();
    RunFloat(
        photo.input, &network->weights,
        [&](const std::vector<float>& x) {
          const absl::Status status =
              observer++->Observe(absl::MakeConstSpan(x), context);
          if (!status.ok()) std::exit(1);
        },
        context, nullptr);
  }
}

// Scales of the weights by the cosine of each layer's output, on two of the
// photographs for calibration: each takes some seconds.
bool SearchScales(const std::vector<Photo>& photos, Weights* weights,
                  ruy_like::Context* context, WeightScales* scales,
                  std::string* error) {
  std::vector<std::vector<float>> inputs;
  for (const Photo& photo : photos) {
    if (IsForCalibration(photo) && inputs.size() < 2) {
      inputs.push_back(photo.input);
    }
  }
  return detect::SearchScales(inputs, weights, context, scales, error);
}

// The least overlap of boxes with their partners; 0 where numbers differ.
float LeastOverlap(const std::vector<Box>& a, const std::vector<Box>& b) {
  if (a.size() != b.size()) return 0;
  float least = 1;
  for (const Box& x : a) {
    float best = 0;
    for (const Box& y : b) best = std::max(best, Overlap(x, y));
    least = std::min(least, best);
  }
  return least;
}

void Print(const char* who, const Photo& photo, const std::vector<Box>& boxes,
           std::ofstream* file) {
  for (const Box& b : boxes) {
    std::printf("  %-18s %-22s %.3f  [%6.1f %6.1f %6.1f %6.1f]  IoU %.3f\n",
                photo.name.c_str(), who, b.score, b.left, b.top, b.right,
                b.bottom,
                LeastOverlap({b}, {photo.boxes.empty() ? b : photo.boxes[0]}));
    *file << photo.name << " " << who << " " << b.left << " " << b.top << " "
          << b.right << " " << b.bottom << "\n";
  }
}

double Sum(const Times& times) {
  double sum = 0;
  for (const double t : times) sum += t;
  return sum;
}

void PrintTimes(const Times& float_times, const Times& int_times) {
  const char* const kinds[] = {"Conv2D", "DepthwiseConv2D", "Conv2D 1x1",
                               "leaky ReLU", "MaxPool2D"};
  const std::vector<Step> steps = Steps();
  std::printf(
      "\nlayer                     output        float, ms  int8, ms\n");
  for (std::size_t i = 0; i < steps.size(); ++i) {
    std::printf("%-6s %-16s %3tdx%3tdx%3td %10.3f %10.3f\n",
                steps[i].name.c_str(), kinds[static_cast<int>(steps[i].kind)],
                steps[i].shape.height, steps[i].shape.width,
                steps[i].shape.channels, float_times[i], int_times[i]);
  }
  std::printf("all of them %36.3f %10.3f\n", Sum(float_times), Sum(int_times));
}

// Finds the float network's boxes. False where they are not the package's.
bool RunFloatPhotos(std::vector<Photo>* photos, Weights* weights,
                    ruy_like::Context* context, std::ofstream* boxes_file,
                    Times* best_times) {
  bool good = true;
  std::printf("boxes: score, left, top, right, bottom; overlap with float's\n");
  for (Photo& photo : *photos) {
    Times times;
    photo.boxes =
        FindBoxes(RunFloat(photo.input, weights, nullptr, context, &times));
    if (best_times->empty() || Sum(times) < Sum(*best_times)) {
      *best_times = times;
    }
    Print("float", photo, photo.boxes, boxes_file);
    const float overlap = LeastOverlap(photo.reference, photo.boxes);
    if (overlap < 0.999f ||
        (!photo.boxes.empty() &&
         std::abs(photo.boxes[0].score - photo.reference[0].score) > 1e-3f)) {
      std::printf("FAILED: %s: float is not the package's result (%.4f)\n",
                  photo.name.c_str(), overlap);
      good = false;
    }
  }
  return good;
}

// The least overlap with float on all photographs, negative on an error, which
// is printed. `best_times`: of the photograph that was quickest, by sum.
float RunIntPhotos(const std::vector<Photo>& photos, Calibrated* network,
                   const IntOptions& options, ruy_like::Context* context,
                   std::ofstream* boxes_file, Times* best_times) {
  IntDetector detector;
  std::string error;
  float least = 1;
  if (!detector.Make(network->observers, &network->weights, options, context,
                     &error)) {
    std::fprintf(stderr, "%s: %s\n", options.name, error.c_str());
    return -1;
  }
  for (const Photo& photo : photos) {
    Times times;
    const std::vector<float> result =
        detector.Run(photo.input, context, &times, &error);
    if (result.empty()) {
      std::fprintf(stderr, "%s: %s\n", options.name, error.c_str());
      return -1;
    }
    if (best_times->empty() || Sum(times) < Sum(*best_times)) {
      *best_times = times;
    }
    const std::vector<Box> boxes = FindBoxes(result);
    Print(options.name, photo, boxes, boxes_file);
    least = std::min(least, LeastOverlap(photo.boxes, boxes));
  }
  std::printf(
      "%s: least IoU with float %.3f; %zu bytes of weights, %zu of "
      "activations\n",
      options.name, least, detector.weight_bytes(),
      detector.activation_bytes());
  return least;
}

int Main(int argc, char** argv) {
  Calibrated network;
  std::string error;
  if (!LoadWeights(argv[1], &network.weights, &error)) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return 2;
  }
  std::vector<Photo> photos;
  for (int i = 4; i < argc; ++i) {
    photos.emplace_back();
    if (!Load(argv[i], &photos.back())) return 2;
  }
  LoadReference(argv[2], &photos);
  std::ofstream boxes_file(argv[3]);
  ruy_like::Context context;
  context.set_max_num_threads(1);

  Calibrated equalized = network;
  if (!Equalize(&equalized.weights, &error)) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return 2;
  }
  WeightScales scales, equalized_scales;
  if (!SearchScales(photos, &network.weights, &context, &scales, &error) ||
      !SearchScales(photos, &equalized.weights, &context, &equalized_scales,
                    &error)) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return 2;
  }
  Calibrate(photos, &context, &network);
  Calibrate(photos, &context, &equalized);
  photos.erase(std::remove_if(photos.begin(), photos.end(), IsForCalibration),
               photos.end());
  Times float_times, int_times;
  bool good = RunFloatPhotos(&photos, &network.weights, &context, &boxes_file,
                             &float_times);
  const struct {
    IntOptions options;
    bool is_equalized, is_required;
  } all[] = {
      {{"int8-per-tensor", CalibrationMethod::kMinMax, false, 8}, false, false},
      {{"int8-minmax", CalibrationMethod::kMinMax, true, 8}, false, false},
      {{"int8-mse", CalibrationMethod::kMse, true, 8}, false, false},
      {{"int8-entropy", CalibrationMethod::kEntropy, true, 8}, false, false},
      {{"int8-eq", CalibrationMethod::kMinMax, true, 8, &scales}, false, false},
      {{"equalized-per-tensor", CalibrationMethod::kMinMax, false, 8},
       true,
       false},
      {{"equalized-int8", CalibrationMethod::kMinMax, true, 8}, true, true},
      {{"equalized-int7", CalibrationMethod::kMinMax, true, 7}, true, false},
      {{"equalized-eq", CalibrationMethod::kMinMax, true, 8, &equalized_scales},
       true,
       false},
  };
  for (const auto& row : all) {
    const float least =
        RunIntPhotos(photos, row.is_equalized ? &equalized : &network,
                     row.options, &context, &boxes_file, &int_times);
    if (least < 0) return 2;
    if (row.is_required && !(least >= 0.9f)) {
      std::printf("FAILED: %s: below 0.9\n", row.options.name);
      good = false;
    }
  }
  PrintTimes(float_times, int_times);
  std::size_t floats = 0;
  for (const auto& tensor : network.weights.tensors) {
    floats += tensor.second.size();
  }
  std::printf("float weights: %zu bytes\n%s\n", 4 * floats,
              good ? "passed" : "FAILED");
  return good ? 0 : 1;
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
