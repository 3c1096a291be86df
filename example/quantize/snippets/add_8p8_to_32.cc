// Two uint8 tensors of different ranges, added into int32.
#include <cstdint>
#include <cstdio>

#include "ruy_like/quantize/quantize.h"

int main() {
  const std::uint8_t a[] = {0, 64, 128, 255};  // over [-1, 1]
  const std::uint8_t b[] = {10, 20, 30, 40};   // over [0, 4]
  std::int32_t c[4];
  const auto range =
      ruy_like::QuantizedAdd8p8To32({a, {-1, 1}}, {b, {0, 4}}, c);
  if (!range.ok()) return 1;
  const double step = 2.0 * range->max / 4294967296.0;
  std::printf("range [%.0f, %.0f], step %.9g\n", range->min, range->max, step);
  for (int i = 0; i < 4; ++i) {
    std::printf("%9.6f + %8.6f = %9.6f  stored %5d = %9.6f\n",
                -1 + a[i] * 2 / 255.0, b[i] * 4 / 255.0,
                -1 + a[i] * 2 / 255.0 + b[i] * 4 / 255.0, c[i], c[i] * step);
  }
}
