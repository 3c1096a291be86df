// The operators that this example knows: a table of what each computes in
// float, and of how it becomes int8.
//
// network.h puts them together. Sizes come from files: each tensor that is made
// here is made by Call::Make, which keeps to a Budget.
#ifndef RUY_LIKE_EXAMPLE_ONNX_OPERATORS_H_
#define RUY_LIKE_EXAMPLE_ONNX_OPERATORS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "example/onnx/model_file.h"
#include "ruy_like/quantize/quantize.h"

namespace onnx {

// How int_network.h computes a step.
enum class Kind {
  kProduct,   // Conv2D or FullyConnected
  kFunction,  // a ByteTable
  kMove,      // bytes to other places: Reshape, Transpose, ...
  kPool,      // MaxPool2D, AveragePool2D
  kAdd,       // QuantizedAdd
  kMul,       // QuantizedMul
  kConcat,    // Concat
  kFloat,     // not: in float, between quantized neighbours
};

// The most that a file may ask for. `work`: multiplications, or the like, of a
// run.
struct Budget {
  std::int64_t elements = std::int64_t{1} << 27;  // of one tensor
  std::int64_t work = std::int64_t{1} << 42;
};

// A node with its inputs; null where one is left out.
struct Call {
  const Node& node;
  std::int64_t opset;
  std::vector<const Tensor*> inputs;
  ruy_like::Context* context;
  Budget* budget;

  // Zeros. InvalidArgument for negative sizes, ResourceExhausted beyond the
  // budget, which `work` for each element is taken from.
  absl::StatusOr<Tensor> Make(Dims dims, std::int64_t work = 1) const;
  // Null where left out.
  const Tensor* Get(std::size_t i) const {
    return i < inputs.size() ? inputs[i] : nullptr;
  }
  // Integers that older versions have as an attribute, newer ones as an input.
  std::vector<std::int64_t> Integers(const std::string& attribute,
                                     std::size_t input) const;
  absl::Status Error(absl::string_view what) const;
};

struct Operator {
  const char* name;
  Kind kind;
  std::size_t min_inputs, max_inputs;
  // Each element of the output is a function of one element of each input.
  bool is_elementwise;
  // Null where network.cc makes a product or a constant of it.
  absl::StatusOr<Tensor> (*run)(const Call& call);
};

// Null for an operator that is not known.
const Operator* FindOperator(const Node& node);

std::ptrdiff_t CountOf(const Dims& dims);
std::string ToString(const Dims& dims);

// A convolution's or pool's window over images of NCHW `dims`, as the node's
// attributes have it.
absl::StatusOr<ruy_like::Window> WindowOf(const Node& node, const Dims& dims,
                                          std::ptrdiff_t kernel_height,
                                          std::ptrdiff_t kernel_width);
// The shape of an image with four dims, which are NCHW.
ruy_like::TensorShape ImageShape(const Dims& dims);

}  // namespace onnx

#endif  // RUY_LIKE_EXAMPLE_ONNX_OPERATORS_H_
