#include "example/decoder/model_file.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ruy_like/float16.h"

namespace decoder {
namespace {

constexpr absl::string_view kMagic = "RLDC";
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kHeaderBytes = 32, kWeightBytes = 2;
// No dimension is larger: products of two of them fit in 64 bits with room for
// the sum over kMostLayers.
constexpr std::uint32_t kLargestDimension = 1 << 20, kMostLayers = 1 << 10;

std::uint32_t LittleEndian(absl::string_view file, std::size_t at,
                           std::size_t bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = bytes; i-- > 0;) {
    value = value << 8 | static_cast<unsigned char>(file[at + i]);
  }
  return value;
}

absl::Status BadHeader(absl::string_view name, std::uint32_t value,
                       absl::string_view wanted) {
  return absl::InvalidArgumentError(
      absl::StrCat("bad model file: ", name, " is ", value, ", not ", wanted));
}

absl::StatusOr<ModelShape> ParseHeader(absl::string_view file) {
  if (!absl::StartsWith(file, kMagic)) {
    return absl::InvalidArgumentError(
        "bad model file: it does not begin with RLDC");
  }
  if (file.size() < kHeaderBytes) {
    return absl::DataLossError(absl::StrCat("bad model file: a header of ",
                                            kHeaderBytes, " bytes, of which ",
                                            file.size(), " are there"));
  }
  const std::uint32_t version = LittleEndian(file, 4, 4);
  if (version != kVersion) {
    return BadHeader("version", version, absl::StrCat(kVersion));
  }
  ModelShape shape;
  const struct {
    const char* name;
    int* value;
    std::uint32_t largest;
  } fields[] = {{"vocabulary", &shape.vocabulary, kLargestDimension},
                {"dim", &shape.dim, kLargestDimension},
                {"layers", &shape.layers, kMostLayers},
                {"heads", &shape.heads, kLargestDimension},
                {"hidden", &shape.hidden, kLargestDimension},
                {"context", &shape.context, kLargestDimension}};
  std::size_t at = 8;
  for (const auto& field : fields) {
    const std::uint32_t value = LittleEndian(file, at, 4);
    if (value < 1 || value > field.largest) {
      return BadHeader(field.name, value, absl::StrCat("1 to ", field.largest));
    }
    *field.value = static_cast<int>(value);
    at += 4;
  }
  // The halves of a head's elements are rotated together.
  if (shape.dim % (2 * shape.heads) != 0) {
    return BadHeader("dim", static_cast<std::uint32_t>(shape.dim),
                     absl::StrCat("a multiple of 2 * ", shape.heads, " heads"));
  }
  return shape;
}

std::uint64_t CountWeights(const ModelShape& shape) {
  const std::uint64_t dim = shape.dim;
  return 2 * dim * shape.vocabulary +
         shape.layers * (4 * dim * dim + 3 * dim * shape.hidden);
}

// Takes matrices off the front of the file's data.
class MatrixReader {
 public:
  explicit MatrixReader(absl::string_view data) : data_(data) {}

  absl::Status Read(const char* name, int rows, int depth, Weights* weights) {
    const std::size_t count = std::size_t{1} * rows * depth;
    weights->rows = rows;
    weights->depth = depth;
    weights->values.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      const auto value = ruy_like::BFloat16::FromBits(
          static_cast<std::uint16_t>(LittleEndian(data_, 2 * i, kWeightBytes)));
      if (!std::isfinite(static_cast<float>(value))) {
        return absl::DataLossError(absl::StrCat("bad model file: weight ", i,
                                                " of ", name, " is ",
                                                static_cast<float>(value)));
      }
      weights->values.push_back(value);
    }
    data_.remove_prefix(count * kWeightBytes);
    return absl::OkStatus();
  }

 private:
  absl::string_view data_;
};

}  // namespace

absl::StatusOr<Model> ParseModel(absl::string_view file) {
  const absl::StatusOr<ModelShape> header = ParseHeader(file);
  if (!header.ok()) return header.status();
  Model model;
  model.shape = *header;
  const ModelShape& shape = model.shape;
  const std::uint64_t bytes = kHeaderBytes + kWeightBytes * CountWeights(shape);
  if (bytes != file.size()) {
    return absl::DataLossError(
        absl::StrCat("bad model file: its header stands for ", bytes,
                     " bytes, the file has ", file.size()));
  }
  MatrixReader reader(file.substr(kHeaderBytes));
  const int dim = shape.dim;
  absl::Status status =
      reader.Read("embedding", shape.vocabulary, dim, &model.embedding);
  for (int i = 0; i < shape.layers && status.ok(); ++i) {
    LayerWeights& layer = model.layers.emplace_back();
    status = reader.Read("qkv", 3 * dim, dim, &layer.qkv);
    if (status.ok()) status = reader.Read("out", dim, dim, &layer.out);
    if (status.ok()) {
      status = reader.Read("gate_up", 2 * shape.hidden, dim, &layer.gate_up);
    }
    if (status.ok()) {
      status = reader.Read("down", dim, shape.hidden, &layer.down);
    }
  }
  if (status.ok()) {
    status = reader.Read("logits", shape.vocabulary, dim, &model.logits);
  }
  if (!status.ok()) return status;
  return model;
}

absl::StatusOr<std::string> ReadFile(const std::string& file_name) {
  std::ifstream file(file_name, std::ios::binary);
  if (!file) {
    return absl::NotFoundError(file_name + ": cannot be opened");
  }
  std::string contents;
  char buffer[1 << 16];
  while (file.read(buffer, sizeof(buffer)), file.gcount() > 0) {
    contents.append(buffer, static_cast<std::size_t>(file.gcount()));
  }
  // A directory opens, and then cannot be read.
  if (file.bad()) return absl::DataLossError(file_name + ": cannot be read");
  return contents;
}

absl::StatusOr<Model> ReadModel(const std::string& file_name) {
  const absl::StatusOr<std::string> contents = ReadFile(file_name);
  if (!contents.ok()) return contents.status();
  absl::StatusOr<Model> model = ParseModel(*contents);
  if (!model.ok()) {
    return absl::Status(
        model.status().code(),
        absl::StrCat(file_name, ": ", model.status().message()));
  }
  return model;
}

}  // namespace decoder
