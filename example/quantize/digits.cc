#include "example/quantize/digits.h"

#include <cstddef>
#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace digits {
namespace {

// The grey level, 0 to 16, or -1.
int GreyLevel(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'g') return c - 'a' + 10;
  return -1;
}

bool ParseLine(const std::string& line, DataSet* data) {
  if (line.size() != 2 + kPixels || line[1] != ' ') return false;
  if (line[0] < '0' || line[0] > '9') return false;
  for (std::size_t i = 2; i < line.size(); ++i) {
    const int level = GreyLevel(line[i]);
    if (level < 0) return false;
    data->pixels.push_back(static_cast<float>(level) / 16);
  }
  data->labels.push_back(line[0] - '0');
  return true;
}

}  // namespace

absl::StatusOr<DataSet> LoadDigits(const std::string& file_name) {
  std::ifstream file(file_name);
  if (!file) return absl::NotFoundError("cannot read " + file_name);
  DataSet data;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (!ParseLine(line, &data)) {
      return absl::InvalidArgumentError(
          absl::StrCat(file_name, ":", number,
                       ": not a label, a space and 64 pixels of 0-9a-g"));
    }
  }
  if (file.bad()) return absl::DataLossError("error reading " + file_name);
  return data;
}

DataSet Slice(const DataSet& data, int begin, int end) {
  DataSet part;
  part.pixels.assign(data.pixels.begin() + std::ptrdiff_t{begin} * kPixels,
                     data.pixels.begin() + std::ptrdiff_t{end} * kPixels);
  part.labels.assign(data.labels.begin() + begin, data.labels.begin() + end);
  return part;
}

}  // namespace digits
