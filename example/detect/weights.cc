#include "example/detect/weights.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

namespace detect {
namespace {

std::string ReadFile(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The text behind "key": in a JSON object that has the key once; null without.
const char* ValueOf(const std::string& object, const std::string& key) {
  const std::string quoted = "\"" + key + "\":";
  const std::size_t at = object.find(quoted);
  return at == std::string::npos ? nullptr
                                 : object.c_str() + at + quoted.size();
}

// One tensor's entry in the manifest.
struct Entry {
  std::string name;
  std::size_t count = 1;
  std::size_t bytes_each = 1;
  double scale = 1, min = 0;  // of one byte
};

// False for what is no entry of a type known here. `most`: of count.
bool ParseEntry(const std::string& text, std::size_t most, Entry* entry) {
  const char* const name = ValueOf(text, "name");
  const char* shape = ValueOf(text, "shape");
  if (name == nullptr || *name != '"' || shape == nullptr || *shape != '[') {
    return false;
  }
  const char* const name_end = std::strchr(name + 1, '"');
  if (name_end == nullptr) return false;
  entry->name.assign(name + 1, name_end);
  for (++shape; *shape >= '0' && *shape <= '9';) {
    char* end;
    const std::size_t length = std::strtoul(shape, &end, 10);
    if (length == 0 || entry->count > most / length) return false;
    entry->count *= length;
    shape = end + (*end == ',' ? 1 : 0);
  }
  const char* const scale = ValueOf(text, "scale");
  const char* const min = ValueOf(text, "min");
  if (scale != nullptr && min != nullptr) {
    entry->scale = std::strtod(scale, nullptr);
    entry->min = std::strtod(min, nullptr);
    return text.find("\"dtype\":\"uint8\"") != std::string::npos;
  }
  entry->bytes_each = 4;
  return text.find("\"quantization\"") == std::string::npos &&
         text.find("\"dtype\":\"float32\"") != std::string::npos;
}

// A little-endian float.
float FloatAt(const char* bytes) {
  std::uint32_t bits = 0;
  for (int i = 3; i >= 0; --i) {
    bits = bits << 8 | static_cast<unsigned char>(bytes[i]);
  }
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

}  // namespace

bool LoadWeights(const std::string& folder, const std::string& network,
                 Weights* weights, std::string* error) {
  const std::string stem = folder + "/model/" + network + "_model";
  const std::string manifest = ReadFile(stem + "-weights_manifest.json");
  const std::string bytes = ReadFile(stem + ".bin");
  weights->clear();
  std::size_t used = 0;
  // Entries are the objects of the array "weights". A tensor's parameters are
  // an object within its entry, which some tensors lack: they must not be
  // looked for beyond the entry's end.
  std::size_t at = manifest.find("\"weights\"");
  while ((at = manifest.find_first_of("{]", at)) != std::string::npos &&
         manifest[at] == '{') {
    std::size_t end = at;
    for (int depth = 0; end < manifest.size(); ++end) {
      if (manifest[end] == '{') ++depth;
      if (manifest[end] == '}' && --depth == 0) break;
    }
    Entry entry;
    if (!ParseEntry(manifest.substr(at, end - at), bytes.size(), &entry)) {
      *error = stem + "-weights_manifest.json: tensor " +
               std::to_string(weights->size()) + " is of an unknown form";
      return false;
    }
    if (entry.count > (bytes.size() - used) / entry.bytes_each) {
      *error = stem + ".bin is too short for " + entry.name;
      return false;
    }
    std::vector<float>& tensor = (*weights)[entry.name];
    tensor.resize(entry.count);
    for (float& value : tensor) {
      value = entry.bytes_each == 4
                  ? FloatAt(bytes.data() + used)
                  : static_cast<float>(static_cast<unsigned char>(bytes[used]) *
                                           entry.scale +
                                       entry.min);
      used += entry.bytes_each;
    }
    at = end;
  }
  if (!weights->empty() && used == bytes.size()) return true;
  *error = stem + "-weights_manifest.json has " +
           std::to_string(weights->size()) + " tensors of " +
           std::to_string(used) + " bytes, " + stem + ".bin has " +
           std::to_string(bytes.size());
  return false;
}

}  // namespace detect
