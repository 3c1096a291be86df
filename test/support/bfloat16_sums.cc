#include "test/support/bfloat16_sums.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "test/support/flushing_multiply_add.h"

namespace ruy_like {
namespace {

double Flushed(double x) {
  return std::fabs(x) < 0x1p-126 ? std::copysign(0.0, x) : x;
}

// An operand, 0 beyond the end.
double At(const std::vector<BFloat16>& values, std::size_t k) {
  return k < values.size()
             ? Flushed(static_cast<double>(static_cast<float>(values[k])))
             : 0;
}

// x as a float, rounded to odd: what is not a float becomes the nearer one to
// 0, with its last bit set. Exponents are those of normal floats, with 0 below
// and infinity above.
float RoundToOdd(double x) {
  if (std::isnan(x)) return std::numeric_limits<float>::quiet_NaN();
  x = Flushed(x);
  std::uint64_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  constexpr std::uint64_t kBelowFloat = (std::uint64_t{1} << 29) - 1;
  if ((bits & kBelowFloat) != 0) bits |= kBelowFloat + 1;
  bits &= ~kBelowFloat;
  std::memcpy(&x, &bits, sizeof(bits));
  return std::fabs(x) < 0x1p128
             ? static_cast<float>(x)
             : std::copysign(std::numeric_limits<float>::infinity(),
                             x < 0 ? -1.0f : 1.0f);
}

// a + b, rounded to odd. In double it is rounded to odd first, of the same
// sign and the same side of every float as the exact sum.
float AddToOdd(float a, float b) {
  double sum = static_cast<double>(a) + static_cast<double>(b);
  if (!std::isfinite(sum)) return RoundToOdd(sum);
  const double part = sum - static_cast<double>(a);
  const double error =
      (static_cast<double>(a) - (sum - part)) + (static_cast<double>(b) - part);
  std::uint64_t bits;
  std::memcpy(&bits, &sum, sizeof(bits));
  if (error != 0 && (bits & 1) == 0) {
    bits += (error > 0) == (sum > 0) ? 1 : std::uint64_t(-1);
    std::memcpy(&sum, &bits, sizeof(bits));
  }
  return RoundToOdd(sum);
}

}  // namespace

float SumOfBfmmla(const std::vector<BFloat16>& row,
                  const std::vector<BFloat16>& column) {
  float sum = 0;
  for (std::size_t group = 0; group < row.size(); group += 4) {
    for (std::size_t k = group; k < group + 4; k += 2) {
      // Products are exact, unless their exponents are no float's.
      const float first = RoundToOdd(At(row, k) * At(column, k));
      const float second = RoundToOdd(At(row, k + 1) * At(column, k + 1));
      sum = AddToOdd(sum, AddToOdd(first, second));
    }
  }
  return sum;
}

float SumOfTdpbf16ps(const std::vector<BFloat16>& row,
                     const std::vector<BFloat16>& column) {
  float sum = 0;
  for (std::size_t tile = 0; tile < row.size(); tile += 32) {
    float even = 0, odd = 0;
    for (std::size_t k = tile; k < tile + 32; k += 2) {
      even = FlushingMultiplyAdd(static_cast<float>(At(row, k)),
                                 static_cast<float>(At(column, k)), even);
      odd = FlushingMultiplyAdd(static_cast<float>(At(row, k + 1)),
                                static_cast<float>(At(column, k + 1)), odd);
    }
    sum = FlushingSum(sum, FlushingSum(even, odd));
  }
  return sum;
}

BFloat16SumFn* OwnBFloat16Sum(Path path) {
  return path == Path::kNeonBf16 ? &SumOfBfmmla
         : path == Path::kAmx    ? &SumOfTdpbf16ps
                                 : nullptr;
}

}  // namespace ruy_like
