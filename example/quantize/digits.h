// Example: the data set, 1,797 handwritten digits of 8x8 pixels.
//
// Called by the example's main program. README.md names source and licence of
// digits.txt.
#ifndef EXAMPLE_QUANTIZE_DIGITS_H_
#define EXAMPLE_QUANTIZE_DIGITS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace digits {

inline constexpr int kSide = 8;  // pixels along each side
inline constexpr int kPixels = kSide * kSide;
inline constexpr int kClasses = 10;

struct DataSet {
  int count() const { return static_cast<int>(labels.size()); }

  std::vector<float> pixels;  // count x kPixels, each in [0, 1]
  std::vector<int> labels;    // count, each in [0, kClasses)
};

// Reads a file of one image a line: the label, a space, and 64 pixels in rows,
// each one of 0-9a-g for 0 to 16. InvalidArgument names the first bad line;
// NotFound if there is no such file.
absl::StatusOr<DataSet> LoadDigits(const std::string& file_name);

// Images [begin, end).
DataSet Slice(const DataSet& data, int begin, int end);

}  // namespace digits

#endif  // EXAMPLE_QUANTIZE_DIGITS_H_
