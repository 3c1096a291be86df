#include <algorithm>

#include "ruy_like/base/no_memory.h"
#include "ruy_like/quantize/checks/checks.h"
#include "ruy_like/quantize/elementwise_add.h"
#include "ruy_like/quantize/elementwise_mul.h"
#include "ruy_like/quantize/loops/blocks.h"
#include "ruy_like/quantize/loops/element_kernels.h"
#include "ruy_like/quantize/multiplier.h"

namespace ruy_like::quantize_internal {
namespace {

// ## Pairs of elements: b may be shorter than a, and is then repeated

// Pairs elements of b with those of a: line by line, one of `period`
// consecutive elements of b after the other, again and again.
struct Broadcast {
  std::ptrdiff_t line;     // elements of a
  std::ptrdiff_t period;   // of b, which divides it
  std::ptrdiff_t b_count;  // all, after which the first ones follow
};

absl::Status ChooseBroadcast(const TensorShape& a, const TensorShape& b,
                             Broadcast* broadcast) {
  const std::ptrdiff_t count = ElementCount(a), b_count = ElementCount(b);
  if (a == b || b_count == 1) {
    *broadcast = {count, b_count, b_count};
    return absl::OkStatus();
  }
  if (a.order == b.order && b.height == 1 && b.width == 1 &&
      b.channels == a.channels && (b.batch == 1 || b.batch == a.batch)) {
    const std::ptrdiff_t pixels = a.height * a.width;
    if (a.order == TensorOrder::kNhwc) {
      *broadcast = {b.batch == 0 ? 0 : count / b.batch, a.channels, b_count};
    } else {
      *broadcast = {pixels, 1, b_count};
    }
    return absl::OkStatus();
  }
  return Invalid("b is ", Describe(b), ", which does not go with a of ",
                 Describe(a));
}

// InvalidArgument unless a, b and output are valid, of shapes that go together,
// and output is an operand itself or shares no memory with it.
absl::Status CheckElementPairs(const Erased& a, const Erased& b,
                               const Erased& output, Broadcast* broadcast) {
  RUY_LIKE_RETURN_IF_ERROR(CheckOperand("a", a));
  RUY_LIKE_RETURN_IF_ERROR(CheckOperand("b", b));
  RUY_LIKE_RETURN_IF_ERROR(CheckOperand("output", output));
  if (output.shape != a.shape) {
    return Invalid("output is ", Describe(output), ", a is ", Describe(a));
  }
  RUY_LIKE_RETURN_IF_ERROR(
      CheckDisjoint({"a", a}, {"output", output}, /*in_place=*/true));
  RUY_LIKE_RETURN_IF_ERROR(
      CheckDisjoint({"b", b}, {"output", output}, /*in_place=*/true));
  return ChooseBroadcast(a.shape, b.shape, broadcast);
}

// kernel(a, b, n, to) for runs of n bytes that cover all of a, which has
// elements.
template <typename Kernel>
absl::Status ForEachPair(const Erased& a, const Erased& b,
                         const Broadcast& broadcast, const Erased& output,
                         Context* context, const Kernel& kernel) {
  const auto* const a_data = static_cast<const std::uint8_t*>(a.data);
  const auto* const b_data = static_cast<const std::uint8_t*>(b.data);
  auto* const to = static_cast<std::uint8_t*>(const_cast<void*>(output.data));
  const Lines lines = {ElementCount(a.shape) / broadcast.line, broadcast.line};
  return ForEachPiece(lines, 3, context, [&](const Piece& piece) {
    const std::uint8_t* const part =
        b_data + piece.line * broadcast.period % broadcast.b_count;
    const auto end = static_cast<std::size_t>(piece.begin + piece.count);
    const RepeatedBytes repeated(
        {part, static_cast<std::size_t>(broadcast.period)},
        static_cast<std::size_t>(lines.inner));
    const std::ptrdiff_t line = piece.line * lines.inner;
    for (auto i = static_cast<std::size_t>(piece.begin); i < end;) {
      const std::size_t n = std::min(repeated.RunAt(i), end - i);
      const std::ptrdiff_t at = line + static_cast<std::ptrdiff_t>(i);
      kernel(a_data + at, repeated.At(i), n, to + at);
      i += n;
    }
  });
}

// ## The operations

absl::Status MakeAdder(const QuantParams& a, const QuantParams& b,
                       const QuantParams& output, AddArgs* args) {
  const double a_scale = a.scale, b_scale = b.scale;
  const double common = 2 * std::max(a_scale, b_scale);
  RUY_LIKE_ASSIGN_OR_RETURN(const auto a_multiplier,
                            QuantizeMultiplier(a_scale / common));
  RUY_LIKE_ASSIGN_OR_RETURN(const auto b_multiplier,
                            QuantizeMultiplier(b_scale / common));
  RUY_LIKE_ASSIGN_OR_RETURN(
      const auto out_multiplier,
      QuantizeMultiplier(
          common / ((1 << kAddShift) * static_cast<double>(output.scale))));
  // The others are 1/2 at most.
  if (out_multiplier.exponent > 0) {
    return Invalid("output: scale is ", output.scale,
                   ", too small for a sum of scales ", a.scale, " and ",
                   b.scale);
  }
  args->a_multiplier = TwiceRounded(a_multiplier);
  args->b_multiplier = TwiceRounded(b_multiplier);
  args->out_multiplier = TwiceRounded(out_multiplier);
  return absl::OkStatus();
}

// The operation of the table's kernels. make_args(&args) makes the multipliers.
template <typename Args, typename MakeArgs>
absl::Status RunPairs(const Erased& a, const Erased& b, Context* context,
                      const Erased& output,
                      const ByScalar<PairFunction<Args>> ElementKernels::*table,
                      const MakeArgs& make_args) {
  return CatchNoMemory([&]() -> absl::Status {
    Broadcast broadcast;
    RUY_LIKE_RETURN_IF_ERROR(CheckElementPairs(a, b, output, &broadcast));
    Args args;
    args.a_zero_point = a.params.zero_point;
    args.b_zero_point = b.params.zero_point;
    args.output = {output.params.zero_point, output.params.qmin,
                   output.params.qmax};
    RUY_LIKE_RETURN_IF_ERROR(make_args(&args));
    if (ElementCount(a.shape) == 0) return absl::OkStatus();
    PairFunction<Args>* const kernel =
        (ElementKernelsFor(TargetsFor(context)).*table)[a.scalar];
    return ForEachPair(a, b, broadcast, output, context,
                       [&](const void* x, const void* y, std::size_t n,
                           void* to) { kernel(x, y, n, args, to); });
  });
}

}  // namespace

absl::Status QuantizedAdd(const Erased& a, const Erased& b, Context* context,
                          const Erased& output) {
  return RunPairs<AddArgs>(
      a, b, context, output, &ElementKernels::add, [&](AddArgs* args) {
        return MakeAdder(a.params, b.params, output.params, args);
      });
}

absl::Status QuantizedMul(const Erased& a, const Erased& b, Context* context,
                          const Erased& output) {
  return RunPairs<MulArgs>(
      a, b, context, output, &ElementKernels::multiply, [&](MulArgs* args) {
        RUY_LIKE_ASSIGN_OR_RETURN(
            const auto multiplier,
            ProductMultiplier(a.params, b.params, output.params,
                              LowestOf(output.scalar),
                              HighestOf(output.scalar)));
        args->multiplier = RequantizeConstants(multiplier);
        return absl::OkStatus();
      });
}

}  // namespace ruy_like::quantize_internal
