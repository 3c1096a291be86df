// Reads Protocol Buffers' wire format, field by field, from memory.
//
// Files come from anywhere: nothing outside the given bytes is touched, nothing
// is allocated, and there is no recursion. A schema is the
// caller's (model_file.cc).
#ifndef RUY_LIKE_EXAMPLE_ONNX_WIRE_H_
#define RUY_LIKE_EXAMPLE_ONNX_WIRE_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace onnx {

// One message:
//
//   Wire wire(bytes);
//   while (wire.Next()) { ... wire.field() ... }
//   if (!wire.ok()) ...  // truncated, or not this format
class Wire {
 public:
  explicit Wire(absl::string_view bytes) : rest_(bytes) {}

  // Goes to the next field; false after the last one and where the bytes are
  // no message.
  bool Next() {
    if (!ok_ || rest_.empty()) return false;
    std::uint64_t tag = 0;
    ok_ = TakeVarint(&tag) && (tag >> 3) > 0 && (tag >> 3) < (1u << 29);
    if (!ok_) return false;
    field_ = static_cast<int>(tag >> 3);
    number_ = 0;
    bytes_ = {};
    is_bytes_ = false;
    switch (tag & 7) {
      case 0:
        ok_ = TakeVarint(&number_);
        break;
      case 1:
        ok_ = TakeFixed(8);
        break;
      case 2: {
        std::uint64_t size = 0;
        ok_ = TakeVarint(&size) && size <= rest_.size();
        is_bytes_ = true;
        if (ok_) bytes_ = Take(static_cast<std::size_t>(size));
        break;
      }
      case 5:
        ok_ = TakeFixed(4);
        break;
      default:
        ok_ = false;  // groups, which ONNX has none of
    }
    return ok_;
  }

  bool ok() const { return ok_; }
  int field() const { return field_; }
  // A message, string or packed array, rather than a number.
  bool is_bytes() const { return is_bytes_; }
  // The value of a varint, the bits of a float; 0 for bytes.
  std::uint64_t number() const { return number_; }
  absl::string_view bytes() const { return bytes_; }

  // The next of packed varints, which have no tags.
  bool NextPacked(std::uint64_t* value) {
    if (!ok_ || rest_.empty()) return false;
    return ok_ = TakeVarint(value);
  }

 private:
  absl::string_view Take(std::size_t size) {
    const absl::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  bool TakeVarint(std::uint64_t* value) {
    *value = 0;
    for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(Take(1)[0]);
      *value |= static_cast<std::uint64_t>(byte & 127) << shift;
      if (byte < 128) return shift < 63 || byte < 2;
    }
    return false;
  }

  // Little-endian.
  bool TakeFixed(std::size_t size) {
    if (rest_.size() < size) return false;
    const absl::string_view taken = Take(size);
    for (std::size_t i = size; i-- > 0;) {
      number_ = number_ << 8 | static_cast<unsigned char>(taken[i]);
    }
    return true;
  }

  absl::string_view rest_, bytes_;
  std::uint64_t number_ = 0;
  int field_ = 0;
  bool is_bytes_ = false, ok_ = true;
};

}  // namespace onnx

#endif  // RUY_LIKE_EXAMPLE_ONNX_WIRE_H_
