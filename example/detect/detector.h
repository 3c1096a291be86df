// Example: the tiny face detector of the npm package @vladmandic/face-api, in
// float and in int8.
//
// Facts about the network (its layers, anchors and means) are from the
// package's sources; the code is our own. Seven convolutions, all but the first
// and the last a depthwise 3x3 one followed by a 1x1 one.
#ifndef RUY_LIKE_EXAMPLE_DETECT_DETECTOR_H_
#define RUY_LIKE_EXAMPLE_DETECT_DETECTOR_H_

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ruy_like/quantize/quantize.h"

namespace detect {

constexpr std::ptrdiff_t kSize = 416;  // pixels of a side of the photograph

// The float weights as the package has them, by name.
struct Weights {
  std::map<std::string, std::vector<float>> tensors;
  std::size_t stored_bytes = 0;
};
// From <folder>/model/tiny_face_detector_model*. False with a message.
bool LoadWeights(const std::string& folder, Weights* weights,
                 std::string* error);

// In pixels of the photograph.
struct Box {
  float score, left, top, right, bottom;
};
// Area shared by that covered.
float Overlap(const Box& a, const Box& b);
// Those boxes of the network's last output (13x13 cells of 25 values) whose
// score is above 1/2, best first, without those that overlap a better one by
// more than 0.4.
std::vector<Box> FindBoxes(const std::vector<float>& output);

// Inputs of the network: RGB of 0 to 255 less the means, by 255.
std::vector<float> Normalize(const std::vector<unsigned char>& rgb);

enum class Kind { kConv, kDepthwise, kPointwise, kLeaky, kPool };
struct Step {
  Kind kind;
  std::string name;  // of the weights
  ruy_like::Window window;
  ruy_like::TensorShape shape;  // of the output
};
// What the network does, one after the other.
std::vector<Step> Steps();

// A step's weights as one row per output channel.
ruy_like::Matrix<float> WeightsOf(const Step& step, Weights* weights);
std::vector<float> BiasOf(const Step& step, const Weights& weights);

// Cross-layer equalization of all convolutions: leaky ReLU and pooling are
// between them, and the depthwise ones have no bias. The float network gives
// the same boxes afterwards. False with a message.
bool Equalize(Weights* weights, std::string* error);

// Milliseconds of each step.
using Times = std::vector<double>;

// Is given the input and then each step's output, in float.
using Watch = std::function<void(const std::vector<float>& activations)>;

// The network in float: 1x1 and the first convolution by Mul, the others by
// plain loops along channels. `watch` may be null.
std::vector<float> RunFloat(const std::vector<float>& input, Weights* weights,
                            const Watch& watch, ruy_like::Context* context,
                            Times* times);

// The scales of each step's weights by EqSearchConv2D, on what the float
// network makes of these inputs; none for steps without a product over
// channels. False with a message.
using WeightScales = std::vector<std::vector<ruy_like::QuantParams>>;
bool SearchScales(const std::vector<std::vector<float>>& inputs,
                  Weights* weights, ruy_like::Context* context,
                  WeightScales* scales, std::string* error);

struct IntOptions {
  const char* name;
  ruy_like::CalibrationMethod method;
  bool per_channel;
  int weight_bits;
  const WeightScales* scales = nullptr;  // SearchScales'
};

// The network in int8, made once.
class IntDetector {
 public:
  // False with a message.
  bool Make(const std::vector<ruy_like::Observer>& observers, Weights* weights,
            const IntOptions& options, ruy_like::Context* context,
            std::string* error);
  // The last layer's float output; empty with a message.
  std::vector<float> Run(const std::vector<float>& input,
                         ruy_like::Context* context, Times* times,
                         std::string* error);
  // Weights, biases and scales; the two buffers of activations.
  std::size_t weight_bytes() const { return weight_bytes_; }
  std::size_t activation_bytes() const {
    return buffers_[0].size() + buffers_[1].size() +
           workspace_.capacity_bytes();
  }

 private:
  std::vector<Step> steps_;
  // Those of the input, then those of each step's output.
  std::vector<ruy_like::QuantParams> params_;
  std::vector<ruy_like::QuantizedLayer> layers_;  // one a step, some empty
  std::vector<ruy_like::ByteTable> tables_;       // one a kLeaky
  std::vector<std::int8_t> buffers_[2];
  ruy_like::Workspace workspace_;
  std::size_t weight_bytes_ = 0;
};

}  // namespace detect

#endif  // RUY_LIKE_EXAMPLE_DETECT_DETECTOR_H_
