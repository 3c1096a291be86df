// Example: two detectors of faces of the npm package @vladmandic/face-api, as
// float networks (network.h) with what is before and behind them.
//
// Facts about the networks (layers, anchors, means) are from the package's
// sources; the code is our own.
#ifndef RUY_LIKE_EXAMPLE_DETECT_DETECTORS_H_
#define RUY_LIKE_EXAMPLE_DETECT_DETECTORS_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "example/detect/boxes.h"
#include "example/detect/network.h"
#include "example/detect/weights.h"

namespace detect {

constexpr std::ptrdiff_t kPhotoSize = 416;  // pixels of a side

struct Detector {
  Network network;
  // The network's input of a photograph's RGB bytes.
  std::function<std::vector<float>(const std::vector<unsigned char>& rgb)>
      prepare;
  // Boxes whose score is above 1/2, best first.
  std::function<std::vector<Box>(const Outputs& outputs)> find_boxes;
};

// "tiny_face_detector": seven convolutions, all but the first and the last a
// depthwise 3x3 one followed by a 1x1 one, with leaky ReLU and pooling. Anchors
// of five sizes in 13x13 cells.
Detector TinyFaceDetector();

// "ssd_mobilenetv1": MobileNet's 13 depthwise 3x3 convolutions, each followed
// by a 1x1 one, and eight more convolutions, with ReLU6. Boxes are read off at
// six sizes of the image, from 32x32 pixels to 1x1. `anchors`: top, left,
// bottom and right of kSsdAnchors boxes, as shares of the image.
constexpr std::size_t kSsdAnchors = 5118;
Detector SsdMobileNet(const std::vector<float>& anchors);

// The detector of that name with the package's weights. False with a message.
bool MakeDetector(const std::string& folder, const std::string& name,
                  Detector* detector, std::string* error);

}  // namespace detect

#endif  // RUY_LIKE_EXAMPLE_DETECT_DETECTORS_H_
