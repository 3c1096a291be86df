// A network of convolutions in float, which runs step by step, and what is done
// to its weights before it is quantized (int_network.h).
//
// Knows nothing of faces: detectors.h makes the networks.
#ifndef RUY_LIKE_EXAMPLE_DETECT_NETWORK_H_
#define RUY_LIKE_EXAMPLE_DETECT_NETWORK_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "example/detect/weights.h"
#include "ruy_like/quantize/quantize.h"

namespace detect {

enum class Kind { kConv, kDepthwise, kPointwise, kLeaky, kPool };
constexpr float kLeakySlope = 0.1f;

// The activation that is fused with a convolution.
enum class Activation { kNone, kRelu, kRelu6 };

struct Step {
  Kind kind = Kind::kConv;
  std::string name;  // of the layer, and its line in the table of times
  std::string group;
  // Names of tensors; empty where there is none. That of batch normalization is
  // what its four tensors begin with.
  std::string filter_name, bias_name, norm_name;
  ruy_like::Window window;
  ruy_like::TensorShape in, out;
  Activation activation = Activation::kNone;
  // The activations that it reads: 0 for the network's input, i + 1 for what
  // step i writes.
  std::size_t source = 0;
  // The step is an output of the network, which stays float when the network
  // is quantized. The step behind it has the same source.
  bool is_output = false;
  // One row per output channel and, in TensorFlow's order, channels innermost:
  // a column-major matrix. Bias is empty or has an element per output channel.
  std::vector<float> weights, bias;
};

bool HasWeights(const Step& step);
ruy_like::Matrix<const float> WeightsOf(const Step& step);
ruy_like::Matrix<float> MutableWeightsOf(Step* step);
std::ptrdiff_t Count(const ruy_like::TensorShape& shape);

// The steps of a network, in the order in which they run.
struct Network {
  ruy_like::TensorShape input;
  std::vector<Step> steps;
};

// Adds a step behind the last one that is no output, and returns it. Padding is
// the window's; `channels` of the output.
Step* AddStep(Kind kind, const std::string& name,
              const ruy_like::Window& window, std::ptrdiff_t channels,
              Network* network);

// Gives each step its tensors, with batch normalization folded into them. False
// with a message where one is missing or of another size.
bool TakeWeights(const Weights& weights, Network* network, std::string* error);

// ReLU in the place of ReLU6.
void ReplaceRelu6(Network* network);

// Cross-layer equalization. A chain ends where activations have several
// readers. ReLU6 becomes ReLU, because 6 would be another bound in each
// channel: otherwise the float network computes the same as before. False with
// a message.
bool Equalize(Network* network, std::string* error);

class Stopwatch {
 public:
  double Milliseconds() const {
    const std::chrono::duration<double, std::milli> elapsed =
        std::chrono::steady_clock::now() - start_;
    return elapsed.count();
  }

 private:
  std::chrono::steady_clock::time_point start_ =
      std::chrono::steady_clock::now();
};

// Milliseconds of each step.
using Times = std::vector<double>;
// The results of the steps that are outputs, in their order.
using Outputs = std::vector<std::vector<float>>;
// Is given the input and then what each step writes, in float.
using Watch = std::function<void(const std::vector<float>& activations)>;

// The network in float: 1x1 convolutions and those of all channels by Mul, the
// others by plain loops along channels. `watch` and `times` may be null.
Outputs RunFloat(const Network& network, const std::vector<float>& input,
                 const Watch& watch, ruy_like::Context* context, Times* times);

// The scales of each step's weights by EqSearchConv2D, on what the float
// network makes of these inputs; none for steps without a product over
// channels. False with a message.
using WeightScales = std::vector<std::vector<ruy_like::QuantParams>>;
bool SearchScales(const Network& network,
                  const std::vector<std::vector<float>>& inputs,
                  ruy_like::Context* context, WeightScales* scales,
                  std::string* error);

}  // namespace detect

#endif  // RUY_LIKE_EXAMPLE_DETECT_NETWORK_H_
