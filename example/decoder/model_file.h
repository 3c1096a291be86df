// Example: the file of a small decoder's weights.
//
// Bytes of the file, all little-endian:
//
//   0   4 bytes      "RLDC"
//   4   uint32       version, 1
//   8   6 x uint32   vocabulary, dim, layers, heads, hidden, context
//   32  bfloat16     the matrices, each row-major, without gaps:
//         embedding    vocabulary x dim
//         of each layer:
//           qkv        3 * dim x dim      queries, keys, values; head by head
//           out        dim x dim
//           gate_up    2 * hidden x dim   the gate's rows, then those it gates
//           down       dim x hidden
//         logits       vocabulary x dim
//
// The file ends there. README.md draws what the matrices do.
#ifndef EXAMPLE_DECODER_MODEL_FILE_H_
#define EXAMPLE_DECODER_MODEL_FILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ruy_like/float16.h"

namespace decoder {

struct ModelShape {
  int head_dim() const { return dim / heads; }

  int vocabulary = 0;  // tokens; here a token is an ASCII character
  int dim = 0;         // elements of a token's vector; a multiple of 2 * heads
  int layers = 0;
  int heads = 0;
  int hidden = 0;   // elements between gate_up and down
  int context = 0;  // tokens that the model can see at once
};

// Row-major, without gaps.
struct Weights {
  int rows = 0, depth = 0;
  std::vector<ruy_like::BFloat16> values;
};

struct LayerWeights {
  Weights qkv, out, gate_up, down;
};

struct Model {
  ModelShape shape;
  Weights embedding, logits;
  std::vector<LayerWeights> layers;
};

// Reads a file's bytes. They are not trusted, and no memory is allocated that
// their number does not account for. InvalidArgument for another magic, version
// or a shape that no decoder has, DataLoss for a file that is shorter or longer
// than its header says or has weights that are not finite.
absl::StatusOr<Model> ParseModel(absl::string_view file);

// NotFound if it cannot be opened; messages begin with the file's name.
absl::StatusOr<std::string> ReadFile(const std::string& file_name);
absl::StatusOr<Model> ReadModel(const std::string& file_name);

}  // namespace decoder

#endif  // EXAMPLE_DECODER_MODEL_FILE_H_
