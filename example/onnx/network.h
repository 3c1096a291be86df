// A network made of a Model: steps in the order of their execution, with
// constants computed, batch normalization folded and functions joined; in
// float.
//
// int_network.h makes it int8.
#ifndef RUY_LIKE_EXAMPLE_ONNX_NETWORK_H_
#define RUY_LIKE_EXAMPLE_ONNX_NETWORK_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "example/onnx/model_file.h"
#include "example/onnx/operators.h"
#include "ruy_like/quantize/quantize.h"

namespace onnx {

// The weights of Kind::kProduct: a convolution of images (NCHW, a row has
// its input channels outermost), or a matrix for the last dimension.
struct Product {
  bool is_conv = false;
  ruy_like::Window window;
  std::ptrdiff_t groups = 1;
  std::ptrdiff_t rows = 0, depth = 0;
  // Rows for each channel: several where DepthToSpace behind it makes pixels
  // of them (ConvTranspose).
  std::ptrdiff_t repeats = 1;
  std::vector<float> weights, bias;  // row-major; one per row
};

struct Step {
  Kind kind = Kind::kFloat;
  std::string name, op;
  // Tensors that are no constants, and the one that is written.
  std::vector<std::string> inputs;
  std::string output;
  // Several for a kFunction: the last one's output is the step's.
  std::vector<Node> nodes;
  Product product;  // of kProduct
  // The bounds of the output: a ReLU or Clip behind it.
  float lowest = -std::numeric_limits<float>::infinity();
  float highest = std::numeric_limits<float>::infinity();
};

// The tensors that steps have written, by name.
using Tensors = std::map<std::string, Tensor>;

struct Network {
  std::int64_t opset = 0;
  Budget budget;
  Input input;
  std::vector<std::string> outputs;
  std::vector<Step> steps;
  Tensors constants;
  std::map<std::string, Dims> dims;  // of all that is written
};

// `dims`: the input's, where not empty; else those of the file, whose open ones
// become 1. Errors name the node: InvalidArgument for nodes that read what none
// before them writes (so for cycles), that write twice and whose operands do
// not fit; Unimplemented for operators that are not known, all of them named,
// and networks of several inputs; ResourceExhausted beyond the budget.
absl::StatusOr<Network> MakeNetwork(Model model, Dims dims, Budget budget,
                                    ruy_like::Context* context);

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
// Is given the input and what each step writes, with its name.
using Watch =
    std::function<absl::Status(const std::string& name, const Tensor& tensor)>;

// The outputs, in their order. `watch` and `times` may be null.
absl::StatusOr<std::vector<Tensor>> RunFloat(const Network& network,
                                             const std::vector<float>& input,
                                             const Watch& watch,
                                             ruy_like::Context* context,
                                             Times* times);
// One step on what was written before, and a node alone.
absl::StatusOr<Tensor> RunStep(const Network& network, const Step& step,
                               const Tensors& written,
                               ruy_like::Context* context, Budget* budget);
absl::StatusOr<Tensor> RunNode(const Network& network, const Node& node,
                               const Tensors& written,
                               ruy_like::Context* context, Budget* budget);

// Cross-layer equalization of products between which there are only functions
// with f(s * x) = s * f(x), pooling, and values that move within their channel.
// Returns how many were equalized.
absl::StatusOr<std::size_t> Equalize(Network* network,
                                     ruy_like::Context* context);

}  // namespace onnx

#endif  // RUY_LIKE_EXAMPLE_ONNX_NETWORK_H_
