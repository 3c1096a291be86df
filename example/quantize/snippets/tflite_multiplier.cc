// A real multiplier as two integers, and what it makes of an accumulator:
// rounded once (as Mul does), and twice (as TensorFlow Lite did).
#include <cstdint>
#include <cstdio>

#include "ruy_like/quantize/quantize.h"

int main() {
  for (const double real : {0.5, 0.012, double{0.012f}, 3.7, 1e-10}) {
    const auto m = ruy_like::QuantizeMultiplier(real);
    if (!m.ok()) return 1;
    std::printf("%.9g = %d / 2^31 * 2^%d\n", real, m->fixedpoint, m->exponent);
  }
  const struct {
    std::int32_t x;
    double multiplier;
  } cases[] = {{100, 0.012}, {-7, 0.5}, {1, 0.25}, {-2, 0.25}, {4, 0.3125}};
  for (const auto& c : cases) {
    const auto m = ruy_like::QuantizeMultiplier(c.multiplier);
    if (!m.ok()) return 1;
    std::printf("%4d * %-6g = %5g  once: %2d  twice: %2d\n", c.x, c.multiplier,
                c.x * c.multiplier,
                ruy_like::MultiplyByQuantizedMultiplier(c.x, *m),
                ruy_like::MultiplyByQuantizedMultiplierLegacy(c.x, *m));
  }
}
