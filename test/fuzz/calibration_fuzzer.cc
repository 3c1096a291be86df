// libFuzzer target: any bytes as a calibration, as JSON or, if the first byte
// is odd, as a table of ncnn's.
//
// What is read can be written and read again; JSON is then the same text.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ruy_like/quantize/calibration_file.h"
#include "test/fuzz/fuzz_input.h"

namespace ruy_like {
namespace {

using ReadFn = absl::StatusOr<Calibration>(absl::string_view text);
using WriteFn = absl::StatusOr<std::string>(const Calibration& calibration);

void Run(FuzzInput input) {
  const bool is_ncnn = input.Below(2) == 1;
  ReadFn* const read = is_ncnn ? CalibrationFromNcnnTable : CalibrationFromJson;
  WriteFn* const write = is_ncnn ? CalibrationToNcnnTable : CalibrationToJson;
  // Exactly as much as there is: what is read beyond is AddressSanitizer's.
  const std::vector<char> bytes(input.Rest(), input.Rest() + input.left());
  const auto calibration = read(absl::string_view(bytes.data(), bytes.size()));
  if (!calibration.ok()) {
    if (calibration.status().message().empty()) std::abort();
    return;
  }
  const auto text = write(*calibration);
  // A table that is read may have names that are too long for those of ncnn.
  if (!text.ok()) {
    if (!is_ncnn) std::abort();
    return;
  }
  const auto again = read(*text);
  if (!again.ok() || again->tensors.size() != calibration->tensors.size()) {
    std::abort();
  }
  if (is_ncnn) return;  // its factors are inverses, and rounded
  const auto text_again = write(*again);
  if (!text_again.ok() || *text_again != *text) std::abort();
}

}  // namespace
}  // namespace ruy_like

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  ruy_like::Run(ruy_like::FuzzInput(data, size));
  return 0;
}
