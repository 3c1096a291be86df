// Quantization toolkit, internal: JSON, read along a known structure.
//
// No tree is built and nothing recurses: the caller asks for the value that
// must come next, so depth and memory are those of its own structure, whatever
// the text. RFC 8259, strictly; a member that the caller does not know is an
// error.
#ifndef RUY_LIKE_QUANTIZE_CALIBRATION_JSON_H_
#define RUY_LIKE_QUANTIZE_CALIBRATION_JSON_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace ruy_like::quantize_internal {

bool IsUtf8(absl::string_view text);

// `text`, which is UTF-8, in quotation marks.
std::string JsonString(absl::string_view text);
// The fewest digits that give `number` again, which is finite.
std::string JsonNumber(float number);

// After an error each call returns false or nothing, and status() says the
// first one, with its line.
class JsonReader final {
 public:
  explicit JsonReader(absl::string_view text) : text_(text) {}

  // An expected member and the function that reads its value.
  struct Member {
    Member(absl::string_view member_name, std::function<void()> read_value,
           bool optional = false)
        : name(member_name),
          read(std::move(read_value)),
          is_optional(optional) {}

    absl::string_view name;
    std::function<void()> read;
    bool is_optional;
    bool is_read = false;
  };
  // A member whose value goes to *value.
  template <typename T>
  Member To(absl::string_view name, T* value) {
    return {name, [this, value] { Read(value); }};
  }

  // An object of these members, in any order, each once.
  void ReadObject(std::vector<Member> members);
  // An array; read_element() is called for each element.
  template <typename ReadElement>
  void ReadArray(const ReadElement& read_element) {
    Begin('[');
    while (Next(']')) read_element();
  }
  // An array of as many numbers as there are.
  template <typename Numbers>
  void ReadNumbers(Numbers* numbers) {
    auto number = numbers->begin();
    ReadArray([&] {
      if (number == numbers->end())
        return Fail("the array has too many elements");
      Read(&*number++);
    });
    if (number != numbers->end()) Fail("the array has too few elements");
  }

  void Read(std::string* value);  // of at most 4096 bytes
  void Read(float* value);        // finite
  void Read(std::int64_t* value);
  void Read(std::uint64_t* value);
  void Read(std::int32_t* value);
  // Nothing but blanks follows.
  void End();

  bool ok() const { return status_.ok(); }
  const absl::Status& status() const { return status_; }
  // An error of the caller's, where reading stands.
  void Fail(absl::string_view message);

 private:
  void SkipBlanks();
  bool Take(char c);
  void Begin(char bracket);
  bool Next(char bracket);
  bool ReadEscape(std::string* value);
  bool ReadCodeUnit(std::uint32_t* unit);
  absl::string_view NumberToken();
  template <typename T>
  void ReadInteger(T* value);

  const absl::string_view text_;
  std::size_t at_ = 0;
  bool is_first_ = false;  // of an object or array that has just begun
  absl::Status status_;
};

}  // namespace ruy_like::quantize_internal

#endif  // RUY_LIKE_QUANTIZE_CALIBRATION_JSON_H_
