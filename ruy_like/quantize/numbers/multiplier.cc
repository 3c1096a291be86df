#include "ruy_like/quantize/multiplier.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ruy_like/base/no_memory.h"
#include "ruy_like/quantize/checks/checks.h"

namespace ruy_like {
namespace {

constexpr int kMinExponent = -31;
constexpr int kMaxExponent = 30;
constexpr std::int32_t kMaxInt32 = std::numeric_limits<std::int32_t>::max();
constexpr std::int32_t kMinInt32 = std::numeric_limits<std::int32_t>::min();

// Finite, for valid scales.
double RealMultiplier(float lhs, float rhs, float dst) {
  return static_cast<double>(lhs) * static_cast<double>(rhs) /
         static_cast<double>(dst);
}

}  // namespace

absl::StatusOr<QuantizedMultiplier> QuantizeMultiplier(double multiplier) {
  return CatchNoMemory([&]() -> absl::StatusOr<QuantizedMultiplier> {
    if (!std::isfinite(multiplier) || multiplier < 0) {
      return Invalid("a multiplier must be finite and not negative: ",
                     multiplier);
    }
    // A double is 1.fraction * 2^(exponent - kBias), with the fraction's 52
    // bits below. By these bits and not by frexp, ldexp and llround, for layers
    // with a scale per channel have their multipliers made in each call.
    constexpr int kFractionBits = 52, kBias = 1023;
    std::uint64_t bits;
    std::memcpy(&bits, &multiplier, sizeof(bits));
    bits &= ~(std::uint64_t{1} << 63);  // -0
    QuantizedMultiplier result;
    result.exponent = static_cast<int>(bits >> kFractionBits) - kBias + 1;
    constexpr std::uint64_t kOne = std::uint64_t{1} << kFractionBits;
    constexpr int kDropped = kFractionBits - 30;
    std::uint64_t fixedpoint =
        ((bits & (kOne - 1)) | kOne) + (std::uint64_t{1} << (kDropped - 1));
    fixedpoint >>= kDropped;
    if (fixedpoint == std::uint64_t{1} << 31) {  // rounded up to 1
      fixedpoint >>= 1;
      ++result.exponent;
    }
    // So are 0 and what is below the normal numbers.
    if (result.exponent < kMinExponent) return QuantizedMultiplier();
    if (result.exponent > kMaxExponent) {
      return QuantizedMultiplier{kMaxInt32, kMaxExponent};
    }
    result.fixedpoint = static_cast<std::int32_t>(fixedpoint);
    return result;
  });
}

QuantizedMultiplier RoundTo15Bits(QuantizedMultiplier multiplier) {
  constexpr std::int64_t kUnit = 1 << 16;
  const std::int64_t units = (multiplier.fixedpoint + kUnit / 2) / kUnit;
  multiplier.fixedpoint =
      static_cast<std::int32_t>(std::min<std::int64_t>(units, 32767) * kUnit);
  return multiplier;
}

std::int32_t SaturatingRoundingDoublingHighMul(std::int32_t a, std::int32_t b) {
  if (a == kMinInt32 && b == kMinInt32) return kMaxInt32;
  const std::int64_t product = static_cast<std::int64_t>(a) * b;
  const std::int64_t half = std::int64_t{1} << 30;
  const std::int64_t nudged = product + (product >= 0 ? half : 1 - half);
  // Truncates toward zero, which an arithmetic shift would not.
  return static_cast<std::int32_t>(nudged / (std::int64_t{1} << 31));
}

std::int32_t RoundingDivideByPowerOfTwo(std::int32_t x, int exponent) {
  const std::int64_t mask = (std::int64_t{1} << exponent) - 1;
  const std::int64_t remainder = x & mask;
  const std::int64_t threshold = (mask >> 1) + (x < 0 ? 1 : 0);
  const std::int64_t quotient = static_cast<std::int64_t>(x) >> exponent;
  return static_cast<std::int32_t>(quotient + (remainder > threshold ? 1 : 0));
}

std::int32_t MultiplyByQuantizedMultiplierLegacy(
    std::int32_t x, QuantizedMultiplier multiplier) {
  const int left = std::max(multiplier.exponent, 0);
  const int right = std::max(-multiplier.exponent, 0);
  const auto shifted = static_cast<std::int32_t>(std::clamp<std::int64_t>(
      x * (std::int64_t{1} << left), kMinInt32, kMaxInt32));
  return RoundingDivideByPowerOfTwo(
      SaturatingRoundingDoublingHighMul(shifted, multiplier.fixedpoint), right);
}

namespace quantize_internal {

absl::StatusOr<QuantizedMultiplier> ProductMultiplier(const QuantParams& lhs,
                                                      const QuantParams& rhs,
                                                      const QuantParams& dst,
                                                      std::int32_t lowest,
                                                      std::int32_t highest) {
  return CatchNoMemory([&]() -> absl::StatusOr<QuantizedMultiplier> {
    RUY_LIKE_RETURN_IF_ERROR(CheckScale("lhs", lhs.scale));
    RUY_LIKE_RETURN_IF_ERROR(CheckScale("rhs", rhs.scale));
    RUY_LIKE_RETURN_IF_ERROR(CheckScale("dst", dst.scale));
    RUY_LIKE_RETURN_IF_ERROR(CheckBounds("dst", dst, lowest, highest));
    return QuantizeMultiplier(RealMultiplier(lhs.scale, rhs.scale, dst.scale));
  });
}

absl::Status ProductMultipliers(absl::Span<const QuantParams> channels,
                                const QuantParams& other,
                                const QuantParams& dst, std::int32_t lowest,
                                std::int32_t highest,
                                absl::Span<std::int32_t> fixedpoint,
                                absl::Span<int> exponent) {
  return CatchNoMemory([&]() -> absl::Status {
    RUY_LIKE_RETURN_IF_ERROR(
        CheckScale("the operand without channels", other.scale));
    RUY_LIKE_RETURN_IF_ERROR(CheckScale("dst", dst.scale));
    RUY_LIKE_RETURN_IF_ERROR(CheckBounds("dst", dst, lowest, highest));
    RUY_LIKE_RETURN_IF_ERROR(CheckData({"channels", channels}));
    RUY_LIKE_RETURN_IF_ERROR(
        CheckMemory({{"fixedpoint", fixedpoint}}, {"exponent", exponent}));
    for (const QuantParams& channel : channels) {
      RUY_LIKE_RETURN_IF_ERROR(CheckScale("a channel", channel.scale));
    }
    if (fixedpoint.size() != channels.size() ||
        exponent.size() != channels.size()) {
      return Invalid(channels.size(), " channels, but ", fixedpoint.size(),
                     " fixed points and ", exponent.size(),
                     " exponents to write");
    }
    for (std::size_t c = 0; c < channels.size(); ++c) {
      // Never an error: products and quotients of positive floats are finite
      // doubles.
      RUY_LIKE_ASSIGN_OR_RETURN(
          const auto multiplier,
          QuantizeMultiplier(
              RealMultiplier(channels[c].scale, other.scale, dst.scale)));
      fixedpoint[c] = multiplier.fixedpoint;
      exponent[c] = multiplier.exponent;
    }
    return absl::OkStatus();
  });
}

}  // namespace quantize_internal
}  // namespace ruy_like
