// Tested in test/quantize/layers/quantized_add_test.cc.
#include "ruy_like/quantize/loops/add_kernels.h"

#include "ruy_like/quantize/loops/dispatch.h"
#include "ruy_like/quantize/loops/rounding.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ruy_like/quantize/loops/add_kernels.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "hwy/highway.h"
#include "ruy_like/quantize/loops/map_lanes-inl.h"
#include "ruy_like/quantize/loops/requantize-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ruy_like::quantize_internal::HWY_NAMESPACE {

using DI = hn::ScalableTag<std::int32_t>;
using VI = hn::Vec<DI>;

// sum of Lanes(DI()) elements, without rounding.
HWY_INLINE VI SumOf(const std::uint8_t* a, const std::uint8_t* b,
                    const AddTerms& terms) {
  const DI di;
  const hn::Rebind<std::uint8_t, DI> du;
  const VI a_term =
      hn::Mul(hn::PromoteTo(di, hn::LoadU(du, a)), hn::Set(di, terms.a_factor));
  const VI b_term =
      hn::Mul(hn::PromoteTo(di, hn::LoadU(du, b)), hn::Set(di, terms.b_factor));
  return hn::Add(hn::Add(a_term, b_term), hn::Set(di, terms.offset));
}

HWY_INLINE VI Rounded(VI sum, const AddTerms& terms) {
  const DI di;
  const VI half = hn::Set(di, std::int32_t{1} << (terms.shift - 1));
  return hn::ShiftRightSame(hn::Add(sum, half), terms.shift);
}

struct AddTo32Op {
  HWY_INLINE void operator()(const std::uint8_t* a, const std::uint8_t* b,
                             std::int32_t* c) const {
    hn::StoreU(Rounded(SumOf(a, b, terms), terms), DI(), c);
  }
  const AddTerms terms;
};

void AddTo32(const std::uint8_t* a, const std::uint8_t* b, std::size_t n,
             const AddTerms& terms, bool streaming, std::int32_t* c) {
  Map(n, c, hn::Lanes(DI()), AddTo32Op{terms}, streaming, a, b);
}

// Extends *range by n values: vector(i) has those from i on, one(i) the i-th.
template <class Vector, class One>
HWY_INLINE void ExtendRange(std::size_t n, const Vector& vector, const One& one,
                            IntRange* range) {
  const DI di;
  const std::size_t lanes = hn::Lanes(di);
  VI min = hn::Set(di, range->min), max = hn::Set(di, range->max);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const VI values = vector(i);
    min = hn::Min(min, values);
    max = hn::Max(max, values);
  }
  std::int32_t min_lanes[kMaxLanes], max_lanes[kMaxLanes];
  hn::StoreU(min, di, min_lanes);
  hn::StoreU(max, di, max_lanes);
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    range->Extend({min_lanes[lane], max_lanes[lane]});
  }
  for (; i < n; ++i) {
    const std::int32_t value = one(i);
    range->Extend({value, value});
  }
}

void AddTo8Range(const std::uint8_t* a, const std::uint8_t* b, std::size_t n,
                 const AddTerms& terms, std::uint8_t* c, IntRange* sums) {
  const auto vector = [&](std::size_t i) HWY_ATTR {
    const hn::Rebind<std::uint8_t, DI> du;
    const VI sum = SumOf(a + i, b + i, terms);
    // DemoteTo saturates what fits in 16 bits only.
    const VI code = hn::Min(Rounded(sum, terms), hn::Set(DI(), 255));
    hn::StoreU(hn::DemoteTo(du, code), du, c + i);
    return sum;
  };
  const auto one = [&](std::size_t i) {
    const std::int32_t sum = AddOne(a[i], b[i], terms);
    c[i] = static_cast<std::uint8_t>(
        HWY_MIN(HWY_MAX(RoundedShift(sum, terms.shift), 0), 255));
    return sum;
  };
  ExtendRange(n, vector, one, sums);
}

void AddTo8(const std::uint8_t* a, const std::uint8_t* b, std::size_t n,
            const AddTerms& terms, bool streaming, std::uint8_t* c,
            IntRange* sums) {
  ForChunks(n, c, streaming,
            [&](std::size_t first, std::size_t count, std::uint8_t* to) {
              AddTo8Range(a + first, b + first, count, terms, to, sums);
            });
}

void AddRange(const std::uint8_t* a, const std::uint8_t* b, std::size_t n,
              const AddTerms& terms, IntRange* sums) {
  ExtendRange(
      n, [&](std::size_t i) HWY_ATTR { return SumOf(a + i, b + i, terms); },
      [&](std::size_t i) { return AddOne(a[i], b[i], terms); }, sums);
}

template <typename Q, class Form>
struct RequantizeOp {
  HWY_INLINE void operator()(const std::int32_t* HWY_RESTRICT in,
                             Q* HWY_RESTRICT out) const {
    const DI di;
    const hn::Rebind<Q, DI> dq;
    const VI q = RequantizeToOutput(di, hn::LoadU(di, in), r, Form(), output);
    hn::StoreU(hn::DemoteTo(dq, q), dq, out);
  }
  const RequantizeVectors<DI> r;
  const QuantizedOutput output;
};

template <typename Q>
void Requantize(const std::int32_t* x, std::size_t n,
                const RequantizeConstants& constants,
                const QuantizedOutput& output, bool streaming, void* q) {
  WithForm(constants.form(), [&](auto form) HWY_ATTR {
    const RequantizeOp<Q, decltype(form)> op = {{DI(), constants}, output};
    Map(n, static_cast<Q*>(q), hn::Lanes(DI()), op, streaming, x);
  });
}

void Range32(const std::int32_t* x, std::size_t n, IntRange* range) {
  ExtendRange(
      n, [x](std::size_t i) HWY_ATTR { return hn::LoadU(DI(), x + i); },
      [x](std::size_t i) { return x[i]; }, range);
}

const AddKernels* GetAddKernels() {
  static constexpr AddKernels kKernels = {
      AddTo32,
      AddTo8,
      AddRange,
      {Requantize<std::int8_t>, Requantize<std::uint8_t>,
       Requantize<std::int16_t>},
      Range32};
  return &kKernels;
}

}  // namespace ruy_like::quantize_internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ruy_like::quantize_internal {

HWY_EXPORT(GetAddKernels);

const AddKernels& AddKernelsFor(std::int64_t targets) {
  return *HWY_DISPATCH_TABLE(GetAddKernels)[TargetIndex(targets)]();
}

}  // namespace ruy_like::quantize_internal
#endif  // HWY_ONCE
