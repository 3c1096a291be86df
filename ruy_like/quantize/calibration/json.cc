// Tested in test/quantize/calibration/calibration_file_test.cc.
#include "ruy_like/quantize/calibration/json.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "ruy_like/quantize/checks/checks.h"

namespace ruy_like::quantize_internal {
namespace {

constexpr std::size_t kMaxStringBytes = 4096;

void AppendUtf8(std::uint32_t point, std::string* text) {
  if (point < 0x80) {
    text->push_back(static_cast<char>(point));
    return;
  }
  const int more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
  constexpr std::uint32_t kLead[] = {0, 0xc0, 0xe0, 0xf0};
  text->push_back(static_cast<char>(kLead[more] | (point >> (6 * more))));
  for (int i = more - 1; i >= 0; --i) {
    text->push_back(static_cast<char>(0x80 | ((point >> (6 * i)) & 0x3f)));
  }
}

}  // namespace

bool IsUtf8(absl::string_view text) {
  const auto byte_at = [&](std::size_t i) -> std::uint32_t {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
  };
  for (std::size_t i = 0; i < text.size();) {
    const std::uint32_t lead = byte_at(i++);
    const int more = lead < 0x80 ? 0 : lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
    std::uint32_t point = more == 0 ? lead : lead & (0x3fu >> more);
    for (int j = 0; j < more; ++j) {
      if ((byte_at(i) & 0xc0) != 0x80) return false;
      point = point << 6 | (byte_at(i++) & 0x3f);
    }
    constexpr std::uint32_t kLeast[] = {0, 0x80, 0x800, 0x10000};
    if ((lead >= 0x80 && lead < 0xc0) || lead >= 0xf8 || point < kLeast[more] ||
        point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) {
      return false;
    }
  }
  return true;
}

std::string JsonString(absl::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      absl::StrAppend(&result, "\\", absl::string_view(&c, 1));
    } else if (static_cast<unsigned char>(c) < 0x20) {
      // Not appended by StrAppendFormat, which may not throw std::bad_alloc.
      result += absl::StrFormat("\\u%04x", c);
    } else {
      result.push_back(c);
    }
  }
  result.push_back('"');
  return result;
}

std::string JsonNumber(float number) {
  std::string text = absl::StrFormat("%.6g", number);
  float again = 0;
  if (!absl::SimpleAtof(text, &again) || again != number) {
    text = absl::StrFormat("%.9g", number);
  }
  return text;
}

void JsonReader::Fail(absl::string_view message) {
  if (!ok()) return;
  const auto line =
      1 + std::count(text_.begin(),
                     text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n');
  status_ = Invalid("line ", line, ": ", message);
}

void JsonReader::SkipBlanks() {
  at_ = std::min(text_.find_first_not_of(" \t\n\r", at_), text_.size());
}

bool JsonReader::Take(char c) {
  if (!ok()) return false;
  SkipBlanks();
  if (at_ == text_.size() || text_[at_] != c) return false;
  ++at_;
  return true;
}

void JsonReader::Begin(char bracket) {
  if (!Take(bracket)) Fail(absl::StrCat("expected ", std::string(1, bracket)));
  is_first_ = true;
}

bool JsonReader::Next(char bracket) {
  const bool is_first = is_first_;
  is_first_ = false;
  if (!ok() || Take(bracket)) return false;
  if (!is_first && !Take(',')) {
    Fail(absl::StrCat("expected , or ", std::string(1, bracket)));
  }
  return ok();
}

void JsonReader::ReadObject(std::vector<Member> members) {
  Begin('{');
  std::string name;
  while (Next('}')) {
    Read(&name);
    if (!Take(':')) return Fail("expected a member's name and :");
    const auto member =
        std::find_if(members.begin(), members.end(),
                     [&](const Member& known) { return known.name == name; });
    if (member == members.end()) {
      return Fail(absl::StrCat("unknown member ", JsonString(name)));
    }
    if (member->is_read) return Fail(absl::StrCat(name, " is there twice"));
    member->is_read = true;
    member->read();
  }
  for (const Member& member : members) {
    if (member.is_read || member.is_optional) continue;
    Fail(absl::StrCat(member.name, " is missing"));
  }
}

bool JsonReader::ReadCodeUnit(std::uint32_t* unit) {
  const absl::string_view digits = text_.substr(at_, 4);
  at_ += digits.size();
  return digits.size() == 4 &&
         std::all_of(digits.begin(), digits.end(), absl::ascii_isxdigit) &&
         absl::SimpleHexAtoi(digits, unit);
}

// Reads the rest of an escape, after the backslash.
bool JsonReader::ReadEscape(std::string* value) {
  if (at_ == text_.size()) return false;
  const char c = text_[at_++];
  constexpr absl::string_view kNames = "\"\\/bfnrt";
  constexpr absl::string_view kCharacters = "\"\\/\b\f\n\r\t";
  if (const std::size_t i = kNames.find(c); i != absl::string_view::npos) {
    value->push_back(kCharacters[i]);
    return true;
  }
  std::uint32_t unit;
  if (c != 'u' || !ReadCodeUnit(&unit)) return false;
  if (unit >= 0xd800 && unit < 0xdc00) {  // the first half of a pair
    std::uint32_t second;
    if (text_.substr(at_, 2) != "\\u") return false;
    at_ += 2;
    if (!ReadCodeUnit(&second) || second < 0xdc00 || second >= 0xe000) {
      return false;
    }
    unit = 0x10000 + ((unit - 0xd800) << 10) + (second - 0xdc00);
  } else if (unit >= 0xdc00 && unit < 0xe000) {
    return false;
  }
  AppendUtf8(unit, value);
  return true;
}

void JsonReader::Read(std::string* value) {
  value->clear();
  if (!Take('"')) return Fail("expected a string");
  while (at_ < text_.size() && value->size() <= kMaxStringBytes) {
    const char c = text_[at_++];
    if (c == '"') {
      if (!IsUtf8(*value)) Fail("a string that is not UTF-8");
      return;
    }
    if (c == '\\') {
      if (!ReadEscape(value)) return Fail("a wrong escape in a string");
    } else if (static_cast<unsigned char>(c) < 0x20) {
      return Fail("a control character in a string");
    } else {
      value->push_back(c);
    }
  }
  Fail(at_ < text_.size() ? "a string that is too long"
                          : "a string without an end");
}

// Empty if there is no number.
absl::string_view JsonReader::NumberToken() {
  if (!ok()) return {};
  SkipBlanks();
  const std::size_t begin = at_;
  // Those of `characters` that come next, at most `most`.
  const auto take = [this](absl::string_view characters, std::size_t most) {
    const std::size_t end = text_.find_first_not_of(characters, at_);
    const absl::string_view taken =
        text_.substr(at_, std::min(end - at_, most));
    at_ += taken.size();
    return taken;
  };
  constexpr absl::string_view kDigits = "0123456789";
  const std::size_t any = text_.size();
  (void)take("-", 1);
  const absl::string_view whole = take(kDigits, any);
  bool valid = !whole.empty() && (whole.size() == 1 || whole[0] != '0');
  if (!take(".", 1).empty()) valid &= !take(kDigits, any).empty();
  if (!take("eE", 1).empty()) {
    (void)take("+-", 1);
    valid &= !take(kDigits, any).empty();
  }
  return valid ? text_.substr(begin, at_ - begin) : absl::string_view();
}

void JsonReader::Read(float* value) {
  const absl::string_view token = NumberToken();
  if (token.empty() || !absl::SimpleAtof(token, value) ||
      !std::isfinite(*value)) {
    Fail("expected a number that a float holds");
  }
}

template <typename T>
void JsonReader::ReadInteger(T* value) {
  const absl::string_view token = NumberToken();
  if (token.empty() || !absl::SimpleAtoi(token, value)) {
    Fail(absl::StrCat("expected an integer of ", 8 * sizeof(T), " bits"));
  }
}
void JsonReader::Read(std::int64_t* value) { ReadInteger(value); }
void JsonReader::Read(std::uint64_t* value) { ReadInteger(value); }
void JsonReader::Read(std::int32_t* value) { ReadInteger(value); }

void JsonReader::End() {
  if (!ok()) return;
  SkipBlanks();
  if (at_ < text_.size()) Fail("more text after the end");
}

}  // namespace ruy_like::quantize_internal
