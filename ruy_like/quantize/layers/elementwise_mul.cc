// The operation, and its loop for each of Highway's targets.
#include "ruy_like/quantize/elementwise_mul.h"

#include "ruy_like/base/no_memory.h"
#include "ruy_like/quantize/layers/element_pairs.h"
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
HWY_EXPORT(GetMultiply);

absl::Status QuantizedMul(const Erased& a, const Erased& b, Context* context,
                          const Erased& output) {
  return CatchNoMemory([&]() -> absl::Status {
    Broadcast broadcast;
    absl::Status status = CheckElementPairs(a, b, output, &broadcast);
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
    return ForEachPair(a, b, broadcast, output, context,
                       [&](const void* x, const void* y, std::size_t n,
                           void* to) { kernel(x, y, n, args, to); });
  });
}

}  // namespace quantize_internal
}  // namespace ruy_like
#endif  // HWY_ONCE
