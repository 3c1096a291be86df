// Reads tensors from files, for ruy_like_calibrate: NumPy's .npy and CSV.
//
// Files are not trusted: whatever they hold, the answer is their numbers or a
// Status that says what is wrong, and no memory is taken that the file's own
// size does not account for.
#ifndef EXAMPLE_QUANTIZE_TENSOR_FILE_H_
#define EXAMPLE_QUANTIZE_TENSOR_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ruy_like_calibrate {

struct Tensor {
  std::vector<std::int64_t> shape;  // empty: a single number
  std::vector<float> values;        // in C order: the last index is innermost
};

// Parses .npy of versions 1, 2 and 3: float32 or float64 of either byte order,
// in C or Fortran order. Doubles are rounded to float; those too large become
// infinities. InvalidArgument for anything else, DataLoss for a file that is
// shorter or longer than its header says.
absl::StatusOr<Tensor> ParseNpy(absl::string_view file);

// Parses numbers separated by commas, semicolons or blanks, in one or several
// lines of as many each; "nan" and "inf" are numbers. A first line in which
// nothing is a number is a heading and is left out, empty lines are too.
// InvalidArgument names the line. Shape: lines x numbers in a line.
absl::StatusOr<Tensor> ParseCsv(absl::string_view file);

// Reads a file of either kind: .npy by its first bytes, else CSV. NotFound if
// it cannot be opened. Messages begin with the file's name.
absl::StatusOr<Tensor> ReadTensor(const std::string& file_name);

}  // namespace ruy_like_calibrate

#endif  // EXAMPLE_QUANTIZE_TENSOR_FILE_H_
