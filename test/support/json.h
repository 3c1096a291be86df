// Test support: reads JSON, strictly, into a tree.
#ifndef RUY_LIKE_TEST_SUPPORT_JSON_H_
#define RUY_LIKE_TEST_SUPPORT_JSON_H_

#include <cctype>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

namespace ruy_like {

struct Json {
  enum Type { kNull, kNumber, kString, kArray, kObject };
  Type type = kNull;
  double number = 0;
  std::string string;
  std::vector<Json> array;
  std::map<std::string, Json> object;

  // A member; a null if there is none.
  const Json& operator[](const std::string& name) const {
    static const Json null;
    const auto found = object.find(name);
    return found == object.end() ? null : found->second;
  }
};

// Knows what the library writes: no escapes, true, false or null.
class JsonReader final {
 public:
  explicit JsonReader(const std::string& text) : text_(text) {}

  // False: the text is not JSON.
  bool Read(Json* value) {
    return ReadValue(value) && (SkipBlanks(), at_ == text_.size());
  }

 private:
  void SkipBlanks() {
    while (at_ < text_.size() && std::isspace(text_[at_])) ++at_;
  }
  bool Take(char c) {
    SkipBlanks();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  bool ReadValue(Json* value) {
    if (Take('[')) {
      value->type = Json::kArray;
      if (Take(']')) return true;
      do {
        value->array.emplace_back();
        if (!ReadValue(&value->array.back())) return false;
      } while (Take(','));
      return Take(']');
    }
    if (Take('{')) {
      value->type = Json::kObject;
      if (Take('}')) return true;
      do {
        std::string name;
        if (!Take('"') || !ReadString(&name) || !Take(':') ||
            !ReadValue(&value->object[name])) {
          return false;
        }
      } while (Take(','));
      return Take('}');
    }
    if (Take('"')) {
      value->type = Json::kString;
      return ReadString(&value->string);
    }
    return ReadNumber(value);
  }

  // After the opening quote.
  bool ReadString(std::string* value) {
    const std::size_t end = text_.find('"', at_);
    if (end == std::string::npos) return false;
    *value = text_.substr(at_, end - at_);
    at_ = end + 1;
    return value->find_first_of("\\\n") == std::string::npos;
  }

  bool ReadNumber(Json* value) {
    const char* const begin = text_.c_str() + at_;
    char* end = nullptr;
    value->type = Json::kNumber;
    value->number = std::strtod(begin, &end);
    at_ += end - begin;
    return end != begin;
  }

  const std::string& text_;
  std::size_t at_ = 0;
};

}  // namespace ruy_like

#endif  // RUY_LIKE_TEST_SUPPORT_JSON_H_
