#include "ruy_like/quantize/quantized_add.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "absl/status/status.h"
#include "ruy_like/base/no_memory.h"
#include "ruy_like/quantize/checks/checks.h"
#include "ruy_like/quantize/loops/blocks.h"
#include "ruy_like/quantize/loops/element_kernels.h"

namespace ruy_like {
namespace {

namespace qi = quantize_internal;

// Fractional bits of the factors of a sum in int32: with 15 a partial sum would
// reach 2^31.
constexpr int kBitsTo32 = 14;
// The same for a sum in uint8. 22 fit any two operands of the exact range. With
// fewer than 15 the rounding of the factors could be seen: 256 times half a
// unit is half of 2^-7 of a code.
constexpr int kMaxBitsTo8 = 22;
constexpr int kMinBitsTo8 = 15;
constexpr double kLargestSum = 1 << 30;
// A step ratio from which on the small operand spans at most one step.
constexpr double kCopyRatio = 256;

double StepOf(const FloatRange& range) {
  return (static_cast<double>(range.max) - range.min) / 255;
}

absl::Status ValidateRange(const char* name, const FloatRange& range) {
  if (std::isfinite(range.min) && std::isfinite(range.max) &&
      range.min <= range.max) {
    return absl::OkStatus();
  }
  return Invalid(name, " has the range [", range.min, ", ", range.max,
                 "], must be finite and in order");
}

// Both operands' spans and ranges, and dst, of elements T.
template <typename T>
absl::Status Validate(const RangedCodes& a, const RangedCodes& b,
                      absl::Span<T> c) {
  RUY_LIKE_RETURN_IF_ERROR(ValidateRange("a", a.range));
  RUY_LIKE_RETURN_IF_ERROR(ValidateRange("b", b.range));
  RUY_LIKE_RETURN_IF_ERROR(
      qi::CheckMemory({{"a", a.codes}, {"b", b.codes}}, {"c", c}));
  const std::size_t longer = std::max(a.codes.size(), b.codes.size());
  const std::size_t shorter = std::min(a.codes.size(), b.codes.size());
  if (longer != shorter && (shorter == 0 || longer % shorter != 0)) {
    return Invalid("a has ", a.codes.size(), " elements, b ", b.codes.size(),
                   ": one must divide the other");
  }
  if (c.size() != longer) {
    return Invalid("c has ", c.size(), " elements, the operands ", longer);
  }
  return absl::OkStatus();
}

// The operands of one call as its passes see them.
struct Operands {
  Operands(const RangedCodes& a, const RangedCodes& b, Context* context)
      : length(std::max(a.codes.size(), b.codes.size())),
        a(a.range),
        b(b.range),
        a_codes(a.codes, length),
        b_codes(b.codes, length),
        kernels(qi::ElementKernelsFor(qi::TargetsFor(context))),
        context(context) {}

  // body(a, b, i, n) for runs of n elements, on the Context's threads.
  template <typename Body>
  absl::Status ForEachRun(std::ptrdiff_t bytes_per_element,
                          const Body& body) const {
    return qi::ForEachRange(
        static_cast<std::ptrdiff_t>(length), 1, bytes_per_element, context,
        [&](std::ptrdiff_t first, std::ptrdiff_t last) {
          const auto end = static_cast<std::size_t>(last);
          for (auto i = static_cast<std::size_t>(first); i < end;) {
            const std::size_t n =
                std::min({a_codes.RunAt(i), b_codes.RunAt(i), end - i});
            body(a_codes.At(i), b_codes.At(i), i, n);
            i += n;
          }
        });
  }

  const std::size_t length;
  const FloatRange a, b;
  const qi::RepeatedBytes a_codes, b_codes;
  const qi::ElementKernels& kernels;
  Context* const context;
};

constexpr qi::IntRange kNoSums = {std::numeric_limits<std::int32_t>::max(),
                                  std::numeric_limits<std::int32_t>::min()};

// An operand in steps of `step`: a factor for its codes, and what code 0 stands
// for.
struct Term {
  double factor;
  double at_zero;
};

// With the code of 0 rounded to an integer. A range of one number has no such
// code.
Term TermOnGrid(const FloatRange& range, double step) {
  const double own = StepOf(range);
  if (own == 0) return {0, range.min / step};
  // Not from `own`, which is rounded: the code of a symmetric range's 0 is
  // 127.5 and must be one integer for all of them.
  const double width = static_cast<double>(range.max) - range.min;
  const double minus_zero_code = std::round(range.min * 255.0 / width);
  return {own / step, minus_zero_code * own / step};
}

std::int32_t RoundedTo32(double value) {
  return static_cast<std::int32_t>(std::round(value));
}

// The terms of codes in `range`, at the best precision that int32 has; none
// where that is not enough.
std::optional<qi::AddTerms> TermsTo8(const FloatRange& a, const FloatRange& b,
                                     const FloatRange& range) {
  const double step = StepOf(range);
  const double a_steps = StepOf(a) / step;
  const double b_steps = StepOf(b) / step;
  const double offset = (static_cast<double>(a.min) + b.min - range.min) / step;
  for (int bits = kMaxBitsTo8; bits >= kMinBitsTo8; --bits) {
    const double one = std::exp2(bits);
    const double a_factor = std::round(a_steps * one);
    const double b_factor = std::round(b_steps * one);
    const double at_zero = std::round(offset * one);
    if (255 * (a_factor + b_factor) + std::abs(at_zero) > kLargestSum) continue;
    return qi::AddTerms{RoundedTo32(a_factor), RoundedTo32(b_factor),
                        RoundedTo32(at_zero), bits};
  }
  return std::nullopt;
}

absl::Status AddTo8(const Operands& operands, const qi::AddTerms& terms,
                    absl::Span<std::uint8_t> c, qi::SharedRange* sums) {
  const bool streaming =
      qi::BypassesCaches(static_cast<std::ptrdiff_t>(3 * c.size()));
  return operands.ForEachRun(3, [&](const std::uint8_t* a,
                                    const std::uint8_t* b, std::size_t i,
                                    std::size_t n) {
    qi::IntRange part = kNoSums;
    operands.kernels.add_to_8(a, b, n, terms, streaming, c.data() + i, &part);
    if (sums != nullptr) sums->Extend(part);
  });
}

// Codes in a range that is narrow against the operands', so that int32 could
// not hold the factors.
absl::Status AddTo8ByTable(const Operands& operands, const FloatRange& range,
                           absl::Span<std::uint8_t> c) {
  const double step = StepOf(range);
  std::array<double, 256> a_table, b_table;
  for (int code = 0; code < 256; ++code) {
    a_table[code] = (static_cast<double>(operands.a.min) + operands.b.min -
                     range.min + code * StepOf(operands.a)) /
                    step;
    b_table[code] = code * StepOf(operands.b) / step;
  }
  return operands.ForEachRun(3, [&](const std::uint8_t* a_codes,
                                    const std::uint8_t* b_codes, std::size_t i,
                                    std::size_t n) {
    for (std::size_t j = 0; j < n; ++j) {
      const double value = a_table[a_codes[j]] + b_table[b_codes[j]];
      c[i + j] =
          static_cast<std::uint8_t>(std::clamp(std::round(value), 0.0, 255.0));
    }
  });
}

absl::Status WriteTo8(const Operands& operands, const FloatRange& range,
                      absl::Span<std::uint8_t> c) {
  if (!(StepOf(range) > 0)) {
    if (!c.empty()) std::memset(c.data(), 0, c.size());
    return absl::OkStatus();
  }
  const auto terms = TermsTo8(operands.a, operands.b, range);
  return terms.has_value() ? AddTo8(operands, *terms, c, nullptr)
                           : AddTo8ByTable(operands, range, c);
}

absl::StatusOr<Add8p8To8Result> AddExact(const Operands& operands,
                                         const FloatRange& full,
                                         absl::Span<std::uint8_t> c) {
  Add8p8To8Result result = {full, 1};
  const double a_step = StepOf(operands.a);
  const double b_step = StepOf(operands.b);
  const double larger = std::max(a_step, b_step);
  if (larger > 0 && larger >= kCopyRatio * std::min(a_step, b_step)) {
    const bool copy_a = a_step > b_step;
    const FloatRange& large = copy_a ? operands.a : operands.b;
    const FloatRange& small = copy_a ? operands.b : operands.a;
    const double middle = (static_cast<double>(small.min) + small.max) / 2;
    result.range = {static_cast<float>(large.min + middle),
                    static_cast<float>(large.max + middle)};
    if (result.range.min < result.range.max) {  // within a float's precision
      qi::AddTerms terms;                       // the codes themselves
      terms.shift = 1;
      (copy_a ? terms.a_factor : terms.b_factor) = 2;
      RUY_LIKE_RETURN_IF_ERROR(AddTo8(operands, terms, c, nullptr));
      return result;
    }
  }
  RUY_LIKE_RETURN_IF_ERROR(WriteTo8(operands, result.range, c));
  return result;
}

// [lo, hi] as floats. The operands' ranges have no sums outside of `full`, nor,
// at the end of what a float holds, floats.
FloatRange Within(const FloatRange& full, double lo, double hi) {
  return {static_cast<float>(std::clamp<double>(lo, full.min, full.max)),
          static_cast<float>(std::clamp<double>(hi, full.min, full.max))};
}

// Range of the sums, ignoring rounding.
absl::StatusOr<FloatRange> FindRange(const Operands& operands,
                                     const FloatRange& full) {
  const double a_step = StepOf(operands.a);
  const double b_step = StepOf(operands.b);
  const double unit = 255 * (a_step + b_step) / (kLargestSum - 256);
  qi::AddTerms terms;
  if (unit > 0) {
    terms.a_factor = RoundedTo32(a_step / unit);
    terms.b_factor = RoundedTo32(b_step / unit);
  }
  qi::SharedRange sums(kNoSums);
  RUY_LIKE_RETURN_IF_ERROR(operands.ForEachRun(
      2, [&](const std::uint8_t* a_codes, const std::uint8_t* b_codes,
             std::size_t, std::size_t n) {
        qi::IntRange part = kNoSums;
        operands.kernels.add_range(a_codes, b_codes, n, terms, &part);
        sums.Extend(part);
      }));
  const double base = static_cast<double>(operands.a.min) + operands.b.min;
  return Within(full, base + sums.range().min * unit,
                base + sums.range().max * unit);
}

FloatRange Union(const FloatRange& a, const FloatRange& b) {
  return {std::min(a.min, b.min), std::max(a.max, b.max)};
}

absl::StatusOr<Add8p8To8Result> AddTight(const Operands& operands,
                                         const FloatRange& full,
                                         const std::optional<FloatRange>& guess,
                                         absl::Span<std::uint8_t> c) {
  std::optional<qi::AddTerms> terms;
  if (guess.has_value() && guess->min < guess->max) {
    terms = TermsTo8(operands.a, operands.b, *guess);
  }
  FloatRange found;
  if (terms.has_value()) {
    qi::SharedRange sums(kNoSums);
    RUY_LIKE_RETURN_IF_ERROR(AddTo8(operands, *terms, c, &sums));
    const double one = std::exp2(terms->shift);
    // Less than the factors' rounding beyond the guess is within it.
    if (sums.range().min >= -256 && sums.range().max <= 255 * one + 256) {
      return Add8p8To8Result{*guess, 1};
    }
    const double unit = StepOf(*guess) / one;
    found = Within(full, guess->min + sums.range().min * unit,
                   guess->min + sums.range().max * unit);
  } else {
    RUY_LIKE_ASSIGN_OR_RETURN(found, FindRange(operands, full));
  }
  const FloatRange range = guess.has_value() ? Union(*guess, found) : found;
  RUY_LIKE_RETURN_IF_ERROR(WriteTo8(operands, range, c));
  return Add8p8To8Result{range, 2};
}

}  // namespace

absl::StatusOr<FloatRange> QuantizedAdd8p8To32(const RangedCodes& a,
                                               const RangedCodes& b,
                                               absl::Span<std::int32_t> c,
                                               Context* context) {
  return CatchNoMemory([&]() -> absl::StatusOr<FloatRange> {
    RUY_LIKE_RETURN_IF_ERROR(Validate(a, b, c));
    const double largest =
        std::max({a.range.max, -a.range.min, b.range.max, -b.range.min});
    const auto c_max = static_cast<float>(largest * (1 << 17));
    if (!std::isfinite(c_max)) {
      return Invalid("the sum of numbers up to ", largest,
                     " has no finite range");
    }
    if (c_max == 0) {
      if (!c.empty()) std::memset(c.data(), 0, c.size() * sizeof(c[0]));
      return FloatRange{0, 0};
    }
    const double step = static_cast<double>(c_max) / (std::int64_t{1} << 31);
    const Term a_term = TermOnGrid(a.range, step);
    const Term b_term = TermOnGrid(b.range, step);
    constexpr double kOne = 1 << kBitsTo32;
    const qi::AddTerms terms = {
        RoundedTo32(a_term.factor * kOne), RoundedTo32(b_term.factor * kOne),
        RoundedTo32((a_term.at_zero + b_term.at_zero) * kOne), kBitsTo32};
    const Operands operands(a, b, context);
    const bool streaming =
        qi::BypassesCaches(static_cast<std::ptrdiff_t>(6 * c.size()));
    RUY_LIKE_RETURN_IF_ERROR(operands.ForEachRun(
        6, [&](const std::uint8_t* a_codes, const std::uint8_t* b_codes,
               std::size_t i, std::size_t n) {
          operands.kernels.add_to_32(a_codes, b_codes, n, terms, streaming,
                                     c.data() + i);
        }));
    return FloatRange{-c_max, c_max};
  });
}

absl::StatusOr<Add8p8To8Result> QuantizedAdd8p8To8(
    const RangedCodes& a, const RangedCodes& b, const Add8p8To8Options& options,
    absl::Span<std::uint8_t> c, Context* context) {
  return CatchNoMemory([&]() -> absl::StatusOr<Add8p8To8Result> {
    RUY_LIKE_RETURN_IF_ERROR(Validate(a, b, c));
    const FloatRange full = {a.range.min + b.range.min,
                             a.range.max + b.range.max};
    if (!std::isfinite(full.min) || !std::isfinite(full.max)) {
      return Invalid("the sums' range [", full.min, ", ", full.max,
                     "] is not finite");
    }
    if (options.guess.has_value()) {
      RUY_LIKE_RETURN_IF_ERROR(ValidateRange("guess", *options.guess));
    }
    if (c.empty()) return Add8p8To8Result{full, 0};
    const Operands operands(a, b, context);
    switch (options.range) {
      case AddRange::kExact:
        return AddExact(operands, full, c);
      case AddRange::kTight:
        return AddTight(operands, full, options.guess, c);
    }
    return Invalid("unknown AddRange ", static_cast<int>(options.range));
  });
}

}  // namespace ruy_like
