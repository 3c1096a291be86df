#include "bench/shapes.h"

#include <cstdio>
#include <fstream>
#include <sstream>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace ruy_like::bench {
namespace {

bool IsValid(const Shape& shape) {
  return shape.rows >= 1 && shape.depth >= 1 && shape.cols >= 1 &&
         shape.count >= 1;
}

}  // namespace

std::string ShapeName(const Shape& shape) {
  const std::string one =
      absl::StrCat(shape.rows, "x", shape.depth, "x", shape.cols);
  return shape.count == 1 ? one : absl::StrCat(shape.count, ":", one);
}

double ShapeOps(const Shape& shape) {
  return 2.0 * static_cast<double>(shape.count * shape.rows) *
         static_cast<double>(shape.depth) * static_cast<double>(shape.cols);
}

absl::StatusOr<std::vector<Shape>> ReadShapes(const std::string& directory,
                                              const std::string& name) {
  Shape one = {};
  char end;
  if (std::sscanf(name.c_str(), "%tdx%tdx%td%c", &one.rows, &one.depth,
                  &one.cols, &end) == 3 ||
      std::sscanf(name.c_str(), "%td:%tdx%tdx%td%c", &one.count, &one.rows,
                  &one.depth, &one.cols, &end) == 4) {
    if (!IsValid(one)) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, ": want numbers from 1 on"));
    }
    return std::vector<Shape>{one};
  }
  const std::string file_name = absl::StrCat(directory, "/", name, ".txt");
  std::ifstream file(file_name);
  if (!file) {
    return absl::NotFoundError(absl::StrCat("no shape file ", file_name));
  }
  std::vector<Shape> shapes;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::vector<std::ptrdiff_t> numbers;
    for (std::ptrdiff_t n; words >> n;) numbers.push_back(n);
    const bool is_read = words.eof();
    if (is_read && numbers.empty()) continue;  // blank
    numbers.resize(numbers.size() == 3 ? 4 : numbers.size(), 1);
    Shape shape = {};
    if (is_read && numbers.size() == 4) {
      shape = {numbers[0], numbers[1], numbers[2], numbers[3]};
    }
    if (!IsValid(shape)) {
      return absl::InvalidArgumentError(absl::StrCat(
          file_name, ":", number,
          ": want three numbers from 1 on, rows depth cols, or four, with the "
          "count of a batch"));
    }
    shapes.push_back(shape);
  }
  return shapes;
}

}  // namespace ruy_like::bench
