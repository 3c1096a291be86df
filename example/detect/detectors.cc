#include "example/detect/detectors.h"

namespace detect {

bool MakeDetector(const std::string& folder, const std::string& name,
                  Detector* detector, std::string* error) {
  Weights weights;
  if (!LoadWeights(folder, name, &weights, error)) return false;
  if (name == "ssd_mobilenetv1") {
    const std::vector<float>& anchors = weights["Output/extra_dim"];
    if (anchors.size() != 4 * kSsdAnchors) {
      *error = name + ": no tensor Output/extra_dim of 5118 boxes";
      return false;
    }
    *detector = SsdMobileNet(anchors);
  } else {
    *detector = TinyFaceDetector();
  }
  return TakeWeights(weights, &detector->network, error);
}

}  // namespace detect
