// Tested in test/quantize/quantized_add_test.cc.
#include "ruy_like/quantize/add_kernels.h"

#include "ruy_like/quantize/dispatch.h"
#include "ruy_like/quantize/rounding.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ruy_like/quantize/add_kernels.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "hwy/highway.h"
#include "ruy_like/quantize/map_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ruy_like {
namespace quantize_internal {
namespace HWY_NAMESPACE {

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
  Map2(a, b, n, c, hn::Lanes(DI()), AddTo32Op{terms}, streaming);
}

// Ends of ranges in vector lanes.
struct RangeLanes {
  explicit RangeLanes(const IntRange& range)
      : min(hn::Set(DI(), range.min)), max(hn::Set(DI(), range.max)) {}
  HWY_INLINE void Extend(VI value) {
    min = hn::Min(min, value);
    max = hn::Max(max, value);
  }
  void Store(IntRange* range) const {
    std::int32_t min_lanes[kMaxLanes], max_lanes[kMaxLanes];
    hn::StoreU(min, DI(), min_lanes);
    hn::StoreU(max, DI(), max_lanes);
    for (std::size_t lane = 0; lane < hn::Lanes(DI()); ++lane) {
      range->min = HWY_MIN(range->min, min_lanes[lane]);
      range->max = HWY_MAX(range->max, max_lanes[lane]);
    }
  }
  static void Extend(IntRange* range, std::int32_t value) {
    range->min = HWY_MIN(range->min, value);
    range->max = HWY_MAX(range->max, value);
  }
  VI min, max;
};

void AddTo8Range(const std::uint8_t* a, const std::uint8_t* b, std::size_t n,
                 const AddTerms& terms, std::uint8_t* c, IntRange* sums) {
  const DI di;
  const hn::Rebind<std::uint8_t, DI> du;
  const std::size_t lanes = hn::Lanes(di);
  RangeLanes range(*sums);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const VI sum = SumOf(a + i, b + i, terms);
    range.Extend(sum);
    // DemoteTo saturates what fits in 16 bits only.
    const VI code = hn::Min(Rounded(sum, terms), hn::Set(di, 255));
    hn::StoreU(hn::DemoteTo(du, code), du, c + i);
  }
  range.Store(sums);
  for (; i < n; ++i) {
    const std::int32_t sum = AddOne(a[i], b[i], terms);
    RangeLanes::Extend(sums, sum);
    c[i] = static_cast<std::uint8_t>(
        HWY_MIN(HWY_MAX(RoundedShift(sum, terms.shift), 0), 255));
  }
}

void AddTo8(const std::uint8_t* a, const std::uint8_t* b, std::size_t n,
            const AddTerms& terms, bool streaming, std::uint8_t* c,
            IntRange* sums) {
  if (!streaming) {
    AddTo8Range(a, b, n, terms, c, sums);
    return;
  }
  for (StreamedOutput<std::uint8_t> s(c, n); !s.done(); s.Next()) {
    AddTo8Range(a + s.first(), b + s.first(), s.count(), terms, s.staged(),
                sums);
  }
}

void AddRange(const std::uint8_t* a, const std::uint8_t* b, std::size_t n,
              const AddTerms& terms, IntRange* sums) {
  const std::size_t lanes = hn::Lanes(DI());
  RangeLanes range(*sums);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    range.Extend(SumOf(a + i, b + i, terms));
  }
  range.Store(sums);
  for (; i < n; ++i) RangeLanes::Extend(sums, AddOne(a[i], b[i], terms));
}

// With the bounds less the zero point: clamping comes before the zero point is
// added, and so also saturates.
template <typename Q>
struct RequantizeOp {
  RequantizeOp(QuantizedMultiplier multiplier, const QuantParams& params)
      : multiplier(multiplier),
        lowest(params.qmin - params.zero_point),
        highest(params.qmax - params.zero_point),
        zero_point(params.zero_point) {}

#if HWY_TARGET == HWY_SCALAR
  HWY_INLINE void operator()(const std::int32_t* in, Q* out) const {
    const std::int32_t scaled = MultiplyByQuantizedMultiplier(*in, multiplier);
    *out = static_cast<Q>(
        HWY_MIN(HWY_MAX(std::int64_t{scaled}, lowest), highest) + zero_point);
  }
#else
  using D64 = hn::Repartition<std::int64_t, DI>;

  // Of the even lanes of x.
  HWY_INLINE hn::Vec<D64> Scaled(VI x) const {
    const D64 d64;
    const auto product =
        hn::Add(hn::MulEven(x, hn::Set(DI(), multiplier.fixedpoint)),
                hn::Set(d64, std::int64_t{1} << (30 - multiplier.exponent)));
    const auto shifted = hn::ShiftRightSame(product, 31 - multiplier.exponent);
    return hn::Min(hn::Max(shifted, hn::Set(d64, lowest)),
                   hn::Set(d64, highest));
  }
  HWY_INLINE void operator()(const std::int32_t* HWY_RESTRICT in,
                             Q* HWY_RESTRICT out) const {
    const DI di;
    const hn::RebindToUnsigned<D64> u64;
    const hn::Rebind<Q, DI> dq;
    const VI x = hn::LoadU(di, in);
    const VI odd_x = hn::BitCast(di, hn::ShiftRight<32>(hn::BitCast(u64, x)));
    const VI even = hn::BitCast(di, Scaled(x));
    const VI odd = hn::BitCast(di, hn::ShiftLeft<32>(Scaled(odd_x)));
    const VI q = hn::Add(hn::OddEven(odd, even),
                         hn::Set(di, static_cast<std::int32_t>(zero_point)));
    hn::StoreU(hn::DemoteTo(dq, q), dq, out);
  }
#endif
  const QuantizedMultiplier multiplier;
  const std::int64_t lowest, highest, zero_point;
};

template <typename Q>
void Requantize(const std::int32_t* x, std::size_t n,
                QuantizedMultiplier multiplier, const QuantParams& params,
                bool streaming, Q* q) {
  Map(x, n, q, hn::Lanes(DI()), RequantizeOp<Q>(multiplier, params), streaming);
}

void Range32(const std::int32_t* x, std::size_t n, IntRange* range) {
  const std::size_t lanes = hn::Lanes(DI());
  RangeLanes in_lanes(*range);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    in_lanes.Extend(hn::LoadU(DI(), x + i));
  }
  in_lanes.Store(range);
  for (; i < n; ++i) RangeLanes::Extend(range, x[i]);
}

const AddKernels* GetAddKernels() {
  static constexpr AddKernels kKernels = {AddTo32,
                                          AddTo8,
                                          AddRange,
                                          Requantize<std::int8_t>,
                                          Requantize<std::uint8_t>,
                                          Requantize<std::int16_t>,
                                          Range32};
  return &kKernels;
}

}  // namespace HWY_NAMESPACE
}  // namespace quantize_internal
}  // namespace ruy_like
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ruy_like {
namespace quantize_internal {

HWY_EXPORT(GetAddKernels);

const AddKernels& AddKernelsFor(std::int64_t targets) {
  return *HWY_DISPATCH_TABLE(GetAddKernels)[TargetIndex(targets)]();
}

}  // namespace quantize_internal
}  // namespace ruy_like
#endif  // HWY_ONCE
