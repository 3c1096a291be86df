// A network as an ONNX file describes it: nodes that read and write named
// tensors.
//
// Only what the format says; network.h checks that the nodes fit together, and
// operators.h what each of them computes.
#ifndef RUY_LIKE_EXAMPLE_ONNX_MODEL_FILE_H_
#define RUY_LIKE_EXAMPLE_ONNX_MODEL_FILE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace onnx {

using Dims = std::vector<std::ptrdiff_t>;
constexpr std::size_t kMaxRank = 16;

// Row-major, which for images is NCHW. No dims: a single value.
struct Tensor {
  Dims dims;
  std::vector<float> values;
  // Integers are shapes and axes in these networks. They are kept as floats,
  // exact up to 2^24; larger ones are read only where they stand for "to the
  // end" (2^31 - 1 and more).
  bool is_integer = false;
};

struct Attribute {
  float f = 0;
  std::int64_t i = 0;
  std::string s;
  Tensor t;
  std::vector<std::int64_t> ints;
};

struct Node {
  std::string op, name, domain;
  // An input that is left out is "".
  std::vector<std::string> inputs, outputs;
  std::map<std::string, Attribute> attributes;

  const Attribute* Find(const std::string& attribute) const;
  std::int64_t Int(const std::string& attribute, std::int64_t otherwise) const;
  float Float(const std::string& attribute, float otherwise) const;
  std::vector<std::int64_t> Ints(const std::string& attribute) const;
  std::string Text(const std::string& attribute) const;
};

struct Input {
  std::string name;
  Dims dims;  // -1 where the file leaves a size open
};

struct Model {
  std::int64_t opset = 0;  // of ONNX's own operators
  std::vector<Node> nodes;
  std::map<std::string, Tensor> constants;
  std::vector<Input> inputs;  // other than constants
  std::vector<std::string> outputs;
};

// Tensors of float, double, int32 and int64 within the file. InvalidArgument
// for bytes that are no such file, Unimplemented for tensors that lie in other
// files or have other types; each names what is wrong.
absl::StatusOr<Model> ReadModel(absl::string_view bytes);
absl::StatusOr<Model> LoadModel(const std::string& path);

}  // namespace onnx

#endif  // RUY_LIKE_EXAMPLE_ONNX_MODEL_FILE_H_
