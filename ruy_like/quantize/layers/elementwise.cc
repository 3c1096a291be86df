// QuantizedAdd and QuantizedMul, and their loops for each of Highway's targets.
#include <algorithm>
#include <cstring>

#include "ruy_like/base/no_memory.h"
#include "ruy_like/quantize/checks/checks.h"
#include "ruy_like/quantize/elementwise_add.h"
#include "ruy_like/quantize/elementwise_mul.h"
#include "ruy_like/quantize/loops/blocks.h"
#include "ruy_like/quantize/loops/dispatch.h"
#include "ruy_like/quantize/loops/requantize_table.h"
#include "ruy_like/quantize/multiplier.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ruy_like/quantize/layers/elementwise.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "hwy/highway.h"
#include "ruy_like/quantize/loops/map_lanes-inl.h"
#include "ruy_like/quantize/loops/requantize-inl.h"

#ifndef RUY_LIKE_QUANTIZE_LAYERS_ELEMENTWISE_ONCE_
#define RUY_LIKE_QUANTIZE_LAYERS_ELEMENTWISE_ONCE_
namespace ruy_like::quantize_internal {

// A multiplier below 1.
struct TwiceRounded {
  TwiceRounded() = default;
  explicit TwiceRounded(QuantizedMultiplier m)
      : fixedpoint(m.fixedpoint),
        right(-m.exponent),
        half(right > 0 ? 1 << (right - 1) : 0),
        // A shift by nothing rounds nothing.
        sign_mask(right > 0 ? -1 : 0) {}

  std::int32_t fixedpoint = 0, right = 0, half = 0, sign_mask = 0;
};

constexpr int kAddShift = 20;

struct PairArgs {
  std::int32_t a_zero_point, b_zero_point;
  QuantizedOutput output;
};
struct AddArgs : PairArgs {
  TwiceRounded a_multiplier, b_multiplier, out_multiplier;
};
struct MulArgs : PairArgs {
  RequantizeConstants multiplier;
};

// a, b and out are of one type.
template <typename Args>
using PairFunction = void(const void* a, const void* b, std::size_t n,
                          const Args& args, void* out);
struct PairKernels {
  ByScalar<PairFunction<AddArgs>> add;
  ByScalar<PairFunction<MulArgs>> multiply;
};

}  // namespace ruy_like::quantize_internal
#endif  // RUY_LIKE_QUANTIZE_LAYERS_ELEMENTWISE_ONCE_

HWY_BEFORE_NAMESPACE();
namespace ruy_like::quantize_internal::HWY_NAMESPACE {

// x * fixedpoint / 2^31, half up, and that by 2^right, half away from zero, for
// |x| <= 2^30.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V MultiplyRoundingTwice(D d, V x, const TwiceRounded& m) {
#if HWY_TARGET == HWY_SCALAR  // which has no pairs of lanes
  const V high = hn::Set(d, static_cast<std::int32_t>(
                                (std::int64_t{hn::GetLane(x)} * m.fixedpoint +
                                 (std::int64_t{1} << 30)) >>
                                31));
#else
  const hn::Repartition<std::int64_t, D> d64;
  const hn::Repartition<std::uint64_t, D> du64;
  const V fixedpoint = hn::Set(d, m.fixedpoint);
  const auto round = hn::Set(d64, std::int64_t{1} << 30);
  const V odd_x = hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(du64, x)));
  const auto even = hn::Add(hn::MulEven(x, fixedpoint), round);
  const auto odd = hn::Add(hn::MulEven(odd_x, fixedpoint), round);
  // Bits 31 to 62 of each.
  const V high =
      hn::OddEven(hn::BitCast(d, hn::ShiftLeft<1>(odd)),
                  hn::BitCast(d, hn::ShiftRight<31>(hn::BitCast(du64, even))));
#endif
  const V sign = hn::And(hn::ShiftRight<31>(high), hn::Set(d, m.sign_mask));
  const V rounded = hn::Add(hn::Add(high, sign), hn::Set(d, m.half));
  return rounded >> hn::Set(d, m.right);
}

template <typename T>
void Add(const void* a, const void* b, std::size_t n, const AddArgs& args,
         void* out) {
  const hn::ScalableTag<std::int32_t> d;
  const hn::Rebind<T, decltype(d)> db;
  const auto scaled = [&](const T* from, std::int32_t zero_point,
                          const TwiceRounded& multiplier) HWY_ATTR {
    const auto x =
        hn::Sub(hn::PromoteTo(d, hn::LoadU(db, from)), hn::Set(d, zero_point));
    return MultiplyRoundingTwice(d, hn::ShiftLeft<kAddShift>(x), multiplier);
  };
  const auto op = [&](const T* x, const T* y, T* to) HWY_ATTR {
    const auto sum = hn::Add(scaled(x, args.a_zero_point, args.a_multiplier),
                             scaled(y, args.b_zero_point, args.b_multiplier));
    const auto q = hn::Add(MultiplyRoundingTwice(d, sum, args.out_multiplier),
                           hn::Set(d, args.output.zero_point));
    const auto clamped = hn::Min(hn::Max(q, hn::Set(d, args.output.lowest)),
                                 hn::Set(d, args.output.highest));
    hn::StoreU(hn::DemoteTo(db, clamped), db, to);
  };
  MapLanes(n, static_cast<T*>(out), hn::Lanes(d), op, static_cast<const T*>(a),
           static_cast<const T*>(b));
}

template <typename T>
void Multiply(const void* a, const void* b, std::size_t n, const MulArgs& args,
              void* out) {
  const hn::ScalableTag<std::int32_t> d;
  const hn::Rebind<T, decltype(d)> db;
  const auto a_zero = hn::Set(d, args.a_zero_point);
  const auto b_zero = hn::Set(d, args.b_zero_point);
  const RequantizeVectors<hn::ScalableTag<std::int32_t>> r(d, args.multiplier);
  WithForm(args.multiplier.form(), [&](auto form) HWY_ATTR {
    const auto op = [&](const T* x, const T* y, T* to) HWY_ATTR {
      const auto product =
          hn::Mul(hn::Sub(hn::PromoteTo(d, hn::LoadU(db, x)), a_zero),
                  hn::Sub(hn::PromoteTo(d, hn::LoadU(db, y)), b_zero));
      const auto q =
          RequantizeToOutput(d, product, r, decltype(form)(), args.output);
      hn::StoreU(hn::DemoteTo(db, q), db, to);
    };
    MapLanes(n, static_cast<T*>(out), hn::Lanes(d), op,
             static_cast<const T*>(a), static_cast<const T*>(b));
  });
}

const PairKernels* GetPairKernels() {
  static constexpr PairKernels kKernels = {
      {Add<std::int8_t>, Add<std::uint8_t>},
      {Multiply<std::int8_t>, Multiply<std::uint8_t>}};
  return &kKernels;
}

}  // namespace ruy_like::quantize_internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ruy_like::quantize_internal {

HWY_EXPORT(GetPairKernels);

namespace {

// ## Pairs of elements: b may be shorter than a, and is then repeated

// Which elements of b go with those of a: lines of a, in order, see consecutive
// parts of b, each part for some lines in a row.
struct Broadcast {
  std::ptrdiff_t line;      // elements of a that see a contiguous part of b
  std::ptrdiff_t b_line;    // 1: one element for the whole line
  std::ptrdiff_t repeated;  // lines in a row that see the same part of b
  std::ptrdiff_t b_count;   // elements of b, which begins again behind them
};

absl::Status ChooseBroadcast(const TensorShape& a, const TensorShape& b,
                             Broadcast* broadcast) {
  const std::ptrdiff_t count = ElementCount(a);
  if (a == b) {
    *broadcast = {count, count, 1, count};
    return absl::OkStatus();
  }
  if (ElementCount(b) == 1) {
    *broadcast = {count, 1, 1, 1};
    return absl::OkStatus();
  }
  if (a.order == b.order && b.height == 1 && b.width == 1 &&
      b.channels == a.channels && (b.batch == 1 || b.batch == a.batch)) {
    const std::ptrdiff_t pixels = a.height * a.width;
    const std::ptrdiff_t b_count = b.batch * b.channels;
    if (a.order == TensorOrder::kNhwc) {
      *broadcast = {a.channels, a.channels,
                    b.batch == 1 ? a.batch * pixels : pixels, b_count};
    } else {
      *broadcast = {pixels, 1, 1, b_count};
    }
    return absl::OkStatus();
  }
  return Invalid("b is ", Describe(b), ", which does not go with a of ",
                 Describe(a));
}

// Disjoint, or the same elements.
absl::Status CheckAliasing(const char* name, const Erased& input,
                           const Erased& output) {
  if (input.data == output.data &&
      ElementCount(input.shape) == ElementCount(output.shape)) {
    return absl::OkStatus();
  }
  return CheckDisjoint({name, input}, {"output", output});
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
  RUY_LIKE_RETURN_IF_ERROR(CheckAliasing("a", a, output));
  RUY_LIKE_RETURN_IF_ERROR(CheckAliasing("b", b, output));
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
    const std::ptrdiff_t offset = piece.line * lines.inner + piece.begin;
    const std::ptrdiff_t b_first =
        piece.line / broadcast.repeated * broadcast.b_line % broadcast.b_count;
    if (broadcast.b_line > 1 || broadcast.line == 1) {
      kernel(a_data + offset, b_data + b_first + piece.begin,
             static_cast<std::size_t>(piece.count), to + offset);
      return;
    }
    // One element of b for all.
    constexpr std::ptrdiff_t kChunk = 512;
    std::uint8_t same[kChunk];
    std::memset(same, b_data[b_first], kChunk);
    for (std::ptrdiff_t i = 0; i < piece.count; i += kChunk) {
      kernel(a_data + offset + i, same,
             static_cast<std::size_t>(std::min(kChunk, piece.count - i)),
             to + offset + i);
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
                      const ByScalar<PairFunction<Args>> PairKernels::*table,
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
    const PairKernels* const kernels =
        HWY_DISPATCH_TABLE(GetPairKernels)[TargetIndex(TargetsFor(context))]();
    PairFunction<Args>* const kernel = (kernels->*table)[a.scalar];
    return ForEachPair(a, b, broadcast, output, context,
                       [&](const void* x, const void* y, std::size_t n,
                           void* to) { kernel(x, y, n, args, to); });
  });
}

}  // namespace

absl::Status QuantizedAdd(const Erased& a, const Erased& b, Context* context,
                          const Erased& output) {
  return RunPairs<AddArgs>(
      a, b, context, output, &PairKernels::add, [&](AddArgs* args) {
        return MakeAdder(a.params, b.params, output.params, args);
      });
}

absl::Status QuantizedMul(const Erased& a, const Erased& b, Context* context,
                          const Erased& output) {
  return RunPairs<MulArgs>(
      a, b, context, output, &PairKernels::multiply, [&](MulArgs* args) {
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
#endif  // HWY_ONCE
