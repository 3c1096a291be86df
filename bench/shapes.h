// Benchmarks: named lists of problem sizes, bench/shapes/*.txt.
//
// One problem a line, `rows depth cols`: lhs is rows x depth, rhs depth x cols;
// or `rows depth cols count`, a batch of so many. `#` starts a comment. For
// networks the lhs holds the weights and the columns are pixels or tokens.
#ifndef RUY_LIKE_BENCH_SHAPES_H_
#define RUY_LIKE_BENCH_SHAPES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace ruy_like::bench {

struct Shape {
  std::ptrdiff_t rows, depth, cols;
  std::ptrdiff_t count = 1;
};

// "rows x depth x cols" without blanks, of a batch behind "count:".
std::string ShapeName(const Shape& shape);

// Multiplications and additions, of all products.
double ShapeOps(const Shape& shape);

// The problems of directory/name.txt, or the one whose name (as of ShapeName)
// `name` is. The error names the file and the line.
absl::StatusOr<std::vector<Shape>> ReadShapes(const std::string& directory,
                                              const std::string& name);

}  // namespace ruy_like::bench

#endif  // RUY_LIKE_BENCH_SHAPES_H_
