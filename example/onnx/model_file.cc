// The numbers of fields are those of ONNX's schema (onnx.proto).
#include "example/onnx/model_file.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "example/onnx/wire.h"

namespace onnx {
namespace {

constexpr std::size_t kMaxFileBytes = std::size_t{1} << 28;
constexpr std::size_t kMaxNodes = 1 << 16;

absl::Status NotOnnx(absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("no ONNX file: ", what, " is truncated or malformed"));
}

// The value whose bits are `bits`.
template <typename T, typename Bits>
T Cast(Bits bits) {
  static_assert(sizeof(T) == sizeof(Bits), "one size");
  T value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// Little-endian elements of `size` bytes, as decode(bits) makes floats of them.
template <typename Decode>
bool TakeArray(absl::string_view bytes, std::size_t size, const Decode& decode,
               std::vector<float>* values) {
  if (bytes.size() % size != 0) return false;
  for (std::size_t at = 0; at < bytes.size(); at += size) {
    std::uint64_t bits = 0;
    for (std::size_t i = size; i-- > 0;) {
      bits = bits << 8 | static_cast<unsigned char>(bytes[at + i]);
    }
    values->push_back(decode(bits));
  }
  return true;
}

// A repeated number: one, or packed ones.
template <typename Add>
bool TakeNumbers(const Wire& wire, const Add& add) {
  if (!wire.is_bytes()) {
    add(static_cast<std::int64_t>(wire.number()));
    return true;
  }
  Wire packed(wire.bytes());
  std::uint64_t value = 0;
  while (packed.NextPacked(&value)) add(static_cast<std::int64_t>(value));
  return packed.ok();
}

enum DataType { kFloat = 1, kInt32 = 6, kInt64 = 7, kDouble = 11 };

float DecodeFloat(std::uint64_t bits) {
  return Cast<float>(static_cast<std::uint32_t>(bits));
}
float DecodeDouble(std::uint64_t bits) {
  return static_cast<float>(Cast<double>(bits));
}
float DecodeInt32(std::uint64_t bits) {
  return static_cast<float>(
      Cast<std::int32_t>(static_cast<std::uint32_t>(bits)));
}
float DecodeInt64(std::uint64_t bits) {
  return static_cast<float>(static_cast<std::int64_t>(bits));
}

// True if a float holds each integer, or it stands for "to the end".
bool IntegersFit(const std::vector<float>& values) {
  for (const float value : values) {
    const float size = std::abs(value);
    if (size > 16777216.0f && size < 2147483647.0f) return false;
  }
  return true;
}

absl::Status ReadTensor(absl::string_view bytes, std::string* name,
                        Tensor* tensor) {
  Wire wire(bytes);
  std::int64_t type = 0;
  bool good = true, external = false;
  absl::string_view raw;
  std::vector<float>& values = tensor->values;
  while (good && wire.Next()) {
    switch (wire.field()) {
      case 1:  // dims
        good = TakeNumbers(wire, [&](std::int64_t n) {
          tensor->dims.push_back(static_cast<std::ptrdiff_t>(n));
        });
        break;
      case 2:
        type = static_cast<std::int64_t>(wire.number());
        break;
      case 4:  // float_data
        if (wire.is_bytes()) {
          good = TakeArray(wire.bytes(), 4, DecodeFloat, &values);
        } else {
          values.push_back(DecodeFloat(wire.number()));
        }
        break;
      case 5:  // int32_data
      case 7:  // int64_data
        good = TakeNumbers(wire, [&](std::int64_t n) {
          values.push_back(static_cast<float>(n));
        });
        break;
      case 8:
        name->assign(wire.bytes().data(), wire.bytes().size());
        break;
      case 9:
        raw = wire.bytes();
        break;
      case 10:  // double_data
        good = TakeArray(wire.bytes(), 8, DecodeDouble, &values);
        break;
      case 13:  // external_data
        external = true;
        break;
      case 14:  // data_location
        external = external || wire.number() != 0;
        break;
      default:
        break;
    }
  }
  const std::string what = absl::StrCat("tensor '", *name, "'");
  if (!good || !wire.ok()) return NotOnnx(what);
  if (external) {
    return absl::UnimplementedError(
        absl::StrCat(what, " lies in another file, which is not read"));
  }
  const auto take_raw = [&](std::size_t size, float (*decode)(std::uint64_t)) {
    return TakeArray(raw, size, decode, &values);
  };
  switch (type) {
    case kFloat:
      good = take_raw(4, DecodeFloat);
      break;
    case kDouble:
      good = take_raw(8, DecodeDouble);
      break;
    case kInt32:
    case kInt64:
      tensor->is_integer = true;
      good =
          type == kInt32 ? take_raw(4, DecodeInt32) : take_raw(8, DecodeInt64);
      good = good && IntegersFit(values);
      break;
    default:
      return absl::UnimplementedError(absl::StrCat(
          what, " has data type ", type,
          "; float (1), int32 (6), int64 (7) and double (11) are read"));
  }
  // No product of sizes overflows that stays below the number of values.
  const auto most =
      static_cast<std::ptrdiff_t>(std::max<std::size_t>(values.size(), 1));
  good = good && tensor->dims.size() <= kMaxRank;
  std::ptrdiff_t count = 1;
  for (const std::ptrdiff_t dim : tensor->dims) {
    good = good && dim >= 0 && dim <= most / std::max<std::ptrdiff_t>(count, 1);
    if (good) count *= dim;
  }
  if (good && count == static_cast<std::ptrdiff_t>(values.size())) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      what, " has ", values.size(),
      " values, which are not as many as its shape says or out of range"));
}

absl::Status ReadAttribute(absl::string_view bytes, const Node& node,
                           std::string* name, Attribute* attribute) {
  Wire wire(bytes);
  bool good = true;
  std::string ignored;
  while (good && wire.Next()) {
    switch (wire.field()) {
      case 1:
        name->assign(wire.bytes().data(), wire.bytes().size());
        break;
      case 2:
        attribute->f = DecodeFloat(wire.number());
        break;
      case 3:
        attribute->i = static_cast<std::int64_t>(wire.number());
        break;
      case 4:
        attribute->s.assign(wire.bytes().data(), wire.bytes().size());
        break;
      case 5: {
        const absl::Status status =
            ReadTensor(wire.bytes(), &ignored, &attribute->t);
        if (!status.ok()) return status;
        break;
      }
      case 8:
        good = TakeNumbers(
            wire, [&](std::int64_t n) { attribute->ints.push_back(n); });
        break;
      default:  // among them graphs, which no operator known here has
        break;
    }
  }
  if (good && wire.ok()) return absl::OkStatus();
  return NotOnnx(
      absl::StrCat("attribute '", *name, "' of node '", node.name, "'"));
}

absl::Status ReadNode(absl::string_view bytes, Node* node) {
  Wire wire(bytes);
  const auto text = [&wire] { return std::string(wire.bytes()); };
  // Attributes may come before the name that their errors mention.
  std::vector<absl::string_view> attributes;
  while (wire.Next()) {
    switch (wire.field()) {
      case 1:
        node->inputs.push_back(text());
        break;
      case 2:
        node->outputs.push_back(text());
        break;
      case 3:
        node->name = text();
        break;
      case 4:
        node->op = text();
        break;
      case 5:
        attributes.push_back(wire.bytes());
        break;
      case 7:
        node->domain = text();
        break;
      default:
        break;
    }
  }
  if (!wire.ok()) return NotOnnx(absl::StrCat("node '", node->name, "'"));
  if (node->name.empty() && !node->outputs.empty()) {
    node->name = node->outputs[0];
  }
  for (const absl::string_view one : attributes) {
    std::string name;
    Attribute attribute;
    const absl::Status status = ReadAttribute(one, *node, &name, &attribute);
    if (!status.ok()) return status;
    node->attributes[name] = std::move(attribute);
  }
  return absl::OkStatus();
}

// A ValueInfoProto, whose sizes are four messages deep.
bool ReadInput(absl::string_view bytes, Input* input) {
  Wire info(bytes);
  bool good = true;
  while (good && info.Next()) {
    if (info.field() == 1) input->name = std::string(info.bytes());
    if (info.field() != 2) continue;
    Wire type(info.bytes());
    while (good && type.Next()) {
      if (type.field() != 1) continue;  // a tensor
      Wire tensor(type.bytes());
      while (good && tensor.Next()) {
        if (tensor.field() != 2) continue;
        Wire shape(tensor.bytes());
        while (good && shape.Next()) {
          if (shape.field() != 1) continue;
          Wire dim(shape.bytes());
          std::ptrdiff_t size = -1;
          while (dim.Next()) {
            if (dim.field() == 1) {
              size = static_cast<std::ptrdiff_t>(dim.number());
            }
          }
          good = dim.ok();
          input->dims.push_back(size > 0 ? size : -1);
        }
        good = good && shape.ok();
      }
      good = good && tensor.ok();
    }
    good = good && type.ok();
  }
  return good && info.ok();
}

absl::Status ReadGraph(absl::string_view bytes, Model* model) {
  Wire wire(bytes);
  while (wire.Next()) {
    absl::Status status;
    if (wire.field() == 1) {
      if (model->nodes.size() == kMaxNodes) {
        return absl::InvalidArgumentError(
            absl::StrCat("more than ", kMaxNodes, " nodes"));
      }
      model->nodes.emplace_back();
      status = ReadNode(wire.bytes(), &model->nodes.back());
    } else if (wire.field() == 5) {
      std::string name;
      Tensor tensor;
      status = ReadTensor(wire.bytes(), &name, &tensor);
      model->constants[name] = std::move(tensor);
    } else if (wire.field() == 11 || wire.field() == 12) {
      Input port;
      if (!ReadInput(wire.bytes(), &port)) {
        return NotOnnx(absl::StrCat("input or output '", port.name, "'"));
      }
      if (wire.field() == 12) {
        model->outputs.push_back(port.name);
      } else {
        model->inputs.push_back(std::move(port));
      }
    } else if (wire.field() == 15) {
      status = absl::UnimplementedError("sparse initializers are not read");
    }
    if (!status.ok()) return status;
  }
  return wire.ok() ? absl::OkStatus() : NotOnnx("the graph");
}

}  // namespace

const Attribute* Node::Find(const std::string& attribute) const {
  const auto found = attributes.find(attribute);
  return found == attributes.end() ? nullptr : &found->second;
}

std::int64_t Node::Int(const std::string& attribute,
                       std::int64_t otherwise) const {
  const Attribute* const found = Find(attribute);
  return found == nullptr ? otherwise : found->i;
}

float Node::Float(const std::string& attribute, float otherwise) const {
  const Attribute* const found = Find(attribute);
  return found == nullptr ? otherwise : found->f;
}

std::vector<std::int64_t> Node::Ints(const std::string& attribute) const {
  const Attribute* const found = Find(attribute);
  return found == nullptr ? std::vector<std::int64_t>() : found->ints;
}

std::string Node::Text(const std::string& attribute) const {
  const Attribute* const found = Find(attribute);
  return found == nullptr ? std::string() : found->s;
}

absl::StatusOr<Model> ReadModel(absl::string_view bytes) {
  if (bytes.size() > kMaxFileBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a file of ", bytes.size(), " bytes, of at most ", kMaxFileBytes));
  }
  Model model;
  bool has_graph = false;
  Wire wire(bytes);
  while (wire.Next()) {
    if (wire.field() == 7) {
      if (has_graph) return NotOnnx("the model, with two graphs,");
      has_graph = true;
      const absl::Status status = ReadGraph(wire.bytes(), &model);
      if (!status.ok()) return status;
    } else if (wire.field() == 8) {
      Wire opset(wire.bytes());
      std::string domain;
      std::int64_t version = 0;
      while (opset.Next()) {
        if (opset.field() == 1) domain = std::string(opset.bytes());
        if (opset.field() == 2) {
          version = static_cast<std::int64_t>(opset.number());
        }
      }
      if (!opset.ok()) return NotOnnx("an operator set");
      if (domain.empty() || domain == "ai.onnx") model.opset = version;
    }
  }
  if (!wire.ok() || !has_graph) return NotOnnx("the model");
  if (model.opset < 1) {
    return absl::InvalidArgumentError(
        "the version of the operators is missing");
  }
  // Older files list constants among the inputs.
  std::vector<Input> inputs;
  for (Input& input : model.inputs) {
    if (model.constants.count(input.name) == 0) {
      inputs.push_back(std::move(input));
    }
  }
  model.inputs = std::move(inputs);
  return model;
}

absl::StatusOr<Model> LoadModel(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(absl::StrCat("cannot read ", path));
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  absl::StatusOr<Model> model = ReadModel(bytes);
  if (model.ok()) return model;
  return absl::Status(model.status().code(),
                      absl::StrCat(path, ": ", model.status().message()));
}

}  // namespace onnx
