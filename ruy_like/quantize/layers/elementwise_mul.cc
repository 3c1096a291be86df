// The operation, and its loop for each of Highway's targets.
#include "ruy_like/quantize/elementwise_mul.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "ruy_like/base/no_memory.h"
#include "ruy_like/quantize/checks/checks.h"
#include "ruy_like/quantize/loops/blocks.h"
#include "ruy_like/quantize/loops/dispatch.h"
#include "ruy_like/quantize/loops/requantize_table.h"
#include "ruy_like/quantize/multiplier.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ruy_like/quantize/layers/elementwise_mul.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "hwy/highway.h"
#include "ruy_like/quantize/loops/map_lanes-inl.h"
#include "ruy_like/quantize/loops/requantize-inl.h"

#ifndef RUY_LIKE_QUANTIZE_LAYERS_ELEMENTWISE_MUL_ONCE_
#define RUY_LIKE_QUANTIZE_LAYERS_ELEMENTWISE_MUL_ONCE_
namespace ruy_like {
namespace quantize_internal {

// a, b and out are of one type.
struct MulArgs {
  std::int32_t a_zero_point, b_zero_point;
  RequantizeConstants multiplier;
  QuantizedOutput output;
};
using MulFunction = void(const void* a, const void* b, std::size_t n,
                         const MulArgs& args, void* out);

}  // namespace quantize_internal
}  // namespace ruy_like
#endif  // RUY_LIKE_QUANTIZE_LAYERS_ELEMENTWISE_MUL_ONCE_

HWY_BEFORE_NAMESPACE();
namespace ruy_like {
namespace quantize_internal {
namespace HWY_NAMESPACE {

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

const ByScalar<MulFunction>* GetMultiply() {
  static constexpr auto kKernels =
      ByScalar<MulFunction>()
          .With<std::int8_t>(Multiply<std::int8_t>)
          .With<std::uint8_t>(Multiply<std::uint8_t>);
  return &kKernels;
}

}  // namespace HWY_NAMESPACE
}  // namespace quantize_internal
}  // namespace ruy_like
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ruy_like {
namespace quantize_internal {
namespace {

// Elements of b for so many elements of a; the next ones of a have the next
// ones of b, or the same.
struct Broadcast {
  std::ptrdiff_t line;      // elements of a that see a contiguous part of b
  std::ptrdiff_t b_line;    // 1: one element for the whole line
  std::ptrdiff_t repeated;  // lines in a row that see the same part of b
};

absl::Status ChooseBroadcast(const TensorShape& a, const TensorShape& b,
                             Broadcast* broadcast) {
  const std::ptrdiff_t count = ElementCount(a);
  if (a == b) {
    *broadcast = {count, count, 1};
    return absl::OkStatus();
  }
  if (ElementCount(b) == 1) {
    *broadcast = {count, 1, 1};
    return absl::OkStatus();
  }
  if (a.order == TensorOrder::kNhwc && b.order == TensorOrder::kNhwc &&
      b.height == 1 && b.width == 1 && b.channels == a.channels &&
      (b.batch == 1 || b.batch == a.batch)) {
    const std::ptrdiff_t pixels = a.height * a.width;
    *broadcast = {a.channels, a.channels,
                  b.batch == 1 ? a.batch * pixels : pixels};
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "b is ", Describe(b), ", which does not go with a of ", Describe(a)));
}

// Disjoint, or the same elements.
absl::Status CheckAliasing(const char* name, const Erased& input,
                           const Erased& output) {
  if (input.data == output.data &&
      ElementCount(input.shape) == ElementCount(output.shape)) {
    return absl::OkStatus();
  }
  return CheckDisjoint(name, BytesOf(input), "output", BytesOf(output));
}

absl::Status CheckOperands(const Erased& a, const Erased& b,
                           const Erased& output) {
  absl::Status status = CheckOperand("a", a);
  if (status.ok()) status = CheckOperand("b", b);
  if (status.ok()) status = CheckOperand("output", output);
  if (!status.ok()) return status;
  if (output.shape != a.shape) {
    return absl::InvalidArgumentError(
        absl::StrCat("output is ", Describe(output), ", a is ", Describe(a)));
  }
  status = CheckAliasing("a", a, output);
  if (status.ok()) status = CheckAliasing("b", b, output);
  return status;
}

}  // namespace

HWY_EXPORT(GetMultiply);

absl::Status QuantizedMul(const Erased& a, const Erased& b, Context* context,
                          const Erased& output) {
  return CatchNoMemory([&]() -> absl::Status {
    absl::Status status = CheckOperands(a, b, output);
    Broadcast broadcast;
    if (status.ok()) status = ChooseBroadcast(a.shape, b.shape, &broadcast);
    if (!status.ok()) return status;
    const auto multiplier =
        ProductMultiplier(a.params, b.params, output.params,
                          LowestOf(output.scalar), HighestOf(output.scalar));
    if (!multiplier.ok()) return multiplier.status();
    if (ElementCount(a.shape) == 0) return absl::OkStatus();
    const MulArgs args = {
        a.params.zero_point,
        b.params.zero_point,
        RequantizeConstants(*multiplier),
        {output.params.zero_point, output.params.qmin, output.params.qmax}};
    MulFunction* const kernel = (*HWY_DISPATCH_TABLE(
        GetMultiply)[TargetIndex(TargetsFor(context))]())[a.scalar];
    const auto* const a_data = static_cast<const std::uint8_t*>(a.data);
    const auto* const b_data = static_cast<const std::uint8_t*>(b.data);
    auto* const to = static_cast<std::uint8_t*>(const_cast<void*>(output.data));
    const Lines lines = {ElementCount(a.shape) / broadcast.line,
                         broadcast.line};
    return ForEachPiece(lines, 3, context, [&](const Piece& piece) {
      const std::ptrdiff_t offset = piece.line * lines.inner + piece.begin;
      if (broadcast.b_line > 1 || broadcast.line == 1) {
        const std::ptrdiff_t b_offset =
            piece.line / broadcast.repeated * broadcast.b_line + piece.begin;
        kernel(a_data + offset, b_data + b_offset,
               static_cast<std::size_t>(piece.count), args, to + offset);
        return;
      }
      // One element of b for all.
      constexpr std::ptrdiff_t kChunk = 512;
      std::uint8_t same[kChunk];
      std::memset(same, *b_data, kChunk);
      for (std::ptrdiff_t i = 0; i < piece.count; i += kChunk) {
        kernel(a_data + offset + i, same,
               static_cast<std::size_t>(std::min(kChunk, piece.count - i)),
               args, to + offset + i);
      }
    });
  });
}

}  // namespace quantize_internal
}  // namespace ruy_like
#endif  // HWY_ONCE
