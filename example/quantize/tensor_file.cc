#include "example/quantize/tensor_file.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace ruy_like_calibrate {
namespace {

// .npy: magic, version (2 bytes), header length (2 bytes, from version 2 on 4,
// little-endian), header, data. The header is a Python dictionary.
constexpr absl::string_view kMagic("\x93NUMPY", 6);
constexpr std::size_t kVersionAt = 6, kLengthAt = 8;

absl::Status Bad(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("bad .npy file: ", what));
}

// A piece of the file for a message: short, and printable whatever it holds.
std::string Quote(absl::string_view text) {
  constexpr std::size_t kLongest = 40;
  return absl::StrCat("'", absl::CHexEscape(text.substr(0, kLongest)),
                      text.size() > kLongest ? "...'" : "'");
}

struct Header {
  std::string descr;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

// Reads the dictionary literal that NumPy writes: three keys, a string, a
// boolean and a tuple of integers, in any order.
class HeaderReader {
 public:
  explicit HeaderReader(absl::string_view text) : text_(text) {}

  absl::StatusOr<Header> Read() {
    if (!Take("{")) return Unexpected("'{'");
    bool has_descr = false, has_order = false, has_shape = false;
    while (!Take("}")) {
      std::string key;
      if (!ReadString(&key) || !Take(":")) return Unexpected("a key and ':'");
      bool* const seen = key == "descr"           ? &has_descr
                         : key == "fortran_order" ? &has_order
                         : key == "shape"         ? &has_shape
                                                  : nullptr;
      if (seen == nullptr) return Bad("unknown key " + Quote(key));
      if (*seen) return Bad(Quote(key) + " twice");
      *seen = true;
      const absl::Status status = ReadValue(seen == &has_descr, key);
      if (!status.ok()) return status;
      if (!Take(",")) {
        if (Take("}")) break;
        return Unexpected("',' or '}'");
      }
    }
    SkipBlanks();
    if (!text_.empty()) return Unexpected("the header's end");
    if (!has_descr) return Bad("no 'descr'");
    if (!has_order) return Bad("no 'fortran_order'");
    if (!has_shape) return Bad("no 'shape'");
    return std::move(header_);
  }

 private:
  absl::Status ReadValue(bool is_descr, absl::string_view key) {
    if (is_descr) {
      // A list here describes records of several fields.
      if (!ReadString(&header_.descr)) return Unexpected("a type in quotes");
      return absl::OkStatus();
    }
    if (key == "shape") return ReadShape();
    header_.fortran_order = Take("True");
    if (!header_.fortran_order && !Take("False")) {
      return Unexpected("True or False");
    }
    return absl::OkStatus();
  }

  absl::Status ReadShape() {
    if (!Take("(")) return Unexpected("a tuple");
    while (!Take(")")) {
      SkipBlanks();
      const auto is_digit = [](unsigned char c) {
        return std::isdigit(c) != 0;
      };
      const auto end = std::find_if_not(text_.begin(), text_.end(), is_digit);
      const auto length = static_cast<std::size_t>(end - text_.begin());
      std::int64_t size = 0;
      if (!absl::SimpleAtoi(text_.substr(0, length), &size)) {
        return Unexpected("a dimension");
      }
      text_.remove_prefix(length);
      header_.shape.push_back(size);
      if (!Take(",") && !absl::StartsWith(text_, ")")) {
        return Unexpected("',' or ')'");
      }
    }
    return absl::OkStatus();
  }

  bool ReadString(std::string* value) {
    SkipBlanks();
    if (text_.empty() || (text_[0] != '\'' && text_[0] != '"')) return false;
    const std::size_t end = text_.find(text_[0], 1);
    if (end == absl::string_view::npos) return false;
    *value = std::string(text_.substr(1, end - 1));
    text_.remove_prefix(end + 1);
    return true;
  }

  void SkipBlanks() { text_ = absl::StripLeadingAsciiWhitespace(text_); }
  bool Take(absl::string_view token) {
    SkipBlanks();
    return absl::ConsumePrefix(&text_, token);
  }
  absl::Status Unexpected(absl::string_view wanted) const {
    return Bad(absl::StrCat("its header has ",
                            text_.empty() ? "nothing" : Quote(text_),
                            " in place of ", wanted));
  }

  absl::string_view text_;
  Header header_;
};

// Elements of a tensor; -1 if they are more than memory could ever hold.
std::int64_t CountOf(const std::vector<std::int64_t>& shape) {
  // Zeros first: any other dimension is all right beside one.
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  std::int64_t count = 1;
  for (const std::int64_t size : shape) {
    if (__builtin_mul_overflow(count, size, &count)) return -1;
  }
  return count > INT64_MAX / 8 ? -1 : count;
}

template <typename T>
std::vector<float> Convert(absl::string_view bytes, bool swap) {
  std::vector<float> values(bytes.size() / sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i) {
    char element[sizeof(T)];
    std::memcpy(element, bytes.data() + i * sizeof(T), sizeof(T));
    if (swap) std::reverse(element, element + sizeof(T));
    T value;
    std::memcpy(&value, element, sizeof(T));
    values[i] = static_cast<float>(value);
  }
  return values;
}

// From the order in which the first index is innermost to that in which the
// last one is.
std::vector<float> FromFortranOrder(const std::vector<std::int64_t>& shape,
                                    const std::vector<float>& values) {
  std::vector<float> result;
  result.reserve(values.size());
  std::vector<std::int64_t> index(shape.size(), 0), step(shape.size(), 1);
  for (std::size_t i = 1; i < shape.size(); ++i) {
    step[i] = step[i - 1] * shape[i - 1];
  }
  std::int64_t from = 0;
  while (result.size() < values.size()) {
    result.push_back(values[from]);
    for (std::size_t i = shape.size(); i-- > 0;) {
      from += step[i];
      if (++index[i] < shape[i]) break;
      from -= step[i] * shape[i];
      index[i] = 0;
    }
  }
  return result;
}

bool HostIsLittleEndian() {
  const std::uint16_t one = 1;
  unsigned char first;
  std::memcpy(&first, &one, 1);
  return first == 1;
}

// The header's length field.
std::size_t LittleEndian(absl::string_view bytes) {
  std::size_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    value = value << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return value;
}

}  // namespace

absl::StatusOr<Tensor> ParseNpy(absl::string_view file) {
  if (!absl::StartsWith(file, kMagic)) return Bad("no magic bytes");
  if (file.size() <= kLengthAt) return Bad("truncated");
  const int version = static_cast<unsigned char>(file[kVersionAt]);
  if (version < 1 || version > 3) {
    return Bad(absl::StrCat("version ", version, " is not known"));
  }
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  if (file.size() < kLengthAt + length_bytes) return Bad("truncated");
  const std::size_t length = LittleEndian(file.substr(kLengthAt, length_bytes));
  file.remove_prefix(kLengthAt + length_bytes);
  if (file.size() < length) {
    return Bad(absl::StrCat("a header of ", length, " bytes, of which ",
                            file.size(), " are there"));
  }
  absl::StatusOr<Header> header = HeaderReader(file.substr(0, length)).Read();
  if (!header.ok()) return header.status();
  file.remove_prefix(length);

  const std::string& descr = header->descr;
  const bool is_float = descr == "<f4" || descr == ">f4" || descr == "=f4";
  const bool is_double = descr == "<f8" || descr == ">f8" || descr == "=f8";
  if (!is_float && !is_double) {
    return Bad("elements of type " + Quote(descr) +
               ", only float32 ('<f4') and float64 ('<f8') can be read");
  }
  const std::int64_t count = CountOf(header->shape);
  if (count < 0) return Bad("more elements than memory can hold");
  const std::size_t bytes =
      static_cast<std::size_t>(count) * (is_float ? 4 : 8);
  if (bytes != file.size()) {
    return absl::DataLossError(
        absl::StrCat("bad .npy file: ", count, " elements take ", bytes,
                     " bytes, the file has ", file.size()));
  }
  const bool swap =
      descr[0] != '=' && (descr[0] == '<') != HostIsLittleEndian();
  Tensor tensor;
  tensor.values =
      is_float ? Convert<float>(file, swap) : Convert<double>(file, swap);
  if (header->fortran_order && header->shape.size() > 1 && count > 0) {
    tensor.values = FromFortranOrder(header->shape, tensor.values);
  }
  tensor.shape = std::move(header->shape);
  return tensor;
}

absl::StatusOr<Tensor> ParseCsv(absl::string_view file) {
  Tensor tensor;
  std::int64_t lines = 0, columns = 0;
  int number = 0;
  bool may_be_heading = true;
  for (const absl::string_view line : absl::StrSplit(file, '\n')) {
    ++number;
    const std::vector<absl::string_view> fields =
        absl::StrSplit(line, absl::ByAnyChar(",; \t\r"), absl::SkipEmpty());
    if (fields.empty()) continue;
    const std::size_t begin = tensor.values.size();
    absl::string_view bad;
    for (const absl::string_view field : fields) {
      float value = 0;
      if (absl::SimpleAtof(field, &value)) {
        tensor.values.push_back(value);
      } else if (bad.empty()) {
        bad = field;
      }
    }
    const std::size_t numbers = tensor.values.size() - begin;
    const bool is_heading = may_be_heading && numbers == 0;
    may_be_heading = false;
    if (is_heading) continue;
    if (!bad.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", number, ": ", Quote(bad), " is not a number"));
    }
    const auto width = static_cast<std::int64_t>(numbers);
    if (lines > 0 && width != columns) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", number, ": ", width,
                       " numbers, the lines before have ", columns));
    }
    columns = width;
    ++lines;
  }
  tensor.shape = {lines, columns};
  return tensor;
}

absl::StatusOr<Tensor> ReadTensor(const std::string& file_name) {
  std::ifstream file(file_name, std::ios::binary);
  const auto failed = [&](const absl::Status& status) {
    return absl::Status(status.code(),
                        absl::StrCat(file_name, ": ", status.message()));
  };
  if (!file) return failed(absl::NotFoundError("cannot be opened"));
  std::string contents;
  char buffer[1 << 16];
  while (file.read(buffer, sizeof(buffer)), file.gcount() > 0) {
    contents.append(buffer, static_cast<std::size_t>(file.gcount()));
  }
  // A directory opens, and then cannot be read.
  if (file.bad()) return failed(absl::DataLossError("cannot be read"));
  const bool has_magic = absl::StartsWith(contents, kMagic);
  if (!has_magic && absl::EndsWith(file_name, ".npy")) {
    // Read as CSV, a line of text would pass for a heading without numbers.
    return failed(Bad("it does not begin with the format's magic string"));
  }
  absl::StatusOr<Tensor> tensor =
      has_magic ? ParseNpy(contents) : ParseCsv(contents);
  if (!tensor.ok()) return failed(tensor.status());
  return tensor;
}

}  // namespace ruy_like_calibrate
