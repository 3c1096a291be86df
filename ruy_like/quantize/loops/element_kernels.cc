// Tested in test/quantize/layers/quantize_dequantize_test.cc.
#include "ruy_like/quantize/loops/element_kernels.h"

#include <type_traits>

#include "ruy_like/quantize/loops/rounding.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ruy_like/quantize/loops/element_kernels.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "ruy_like/quantize/loops/map_lanes-inl.h"
#include "ruy_like/quantize/loops/requantize-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ruy_like::quantize_internal::HWY_NAMESPACE {

// ## Quantize and Dequantize

// x as a float that Truncated makes the stored value less its zero point. NaN
// becomes 0.
template <Rounding kRounding>
struct ScaledOp {
  explicit ScaledOp(const QuantParams& params)
      : factor(kRounding == Rounding::kHalfToEven ? params.scale
                                                  : InverseScale(params)) {}
  template <class DF>
  HWY_INLINE hn::Vec<DF> operator()(DF df, const float* HWY_RESTRICT in) const {
    const auto x = hn::LoadU(df, in);
    if constexpr (kRounding == Rounding::kHalfToEven) {
      const auto scaled = hn::Div(x, hn::Set(df, factor));
      return hn::IfThenElseZero(hn::Eq(scaled, scaled), scaled);
    } else {
      const auto scaled = hn::Mul(x, hn::Set(df, factor));
      const auto number = hn::IfThenElseZero(hn::Eq(scaled, scaled), scaled);
      // The largest float below 1/2: 1/2 itself would carry 0.49999997 up to 1.
      return hn::Add(number,
                     hn::CopySignToAbs(hn::Set(df, 0.49999997f), number));
    }
  }
  template <class V>
  static HWY_INLINE V Truncated(V v) {
    return kRounding == Rounding::kHalfToEven ? hn::Round(v) : hn::Trunc(v);
  }
  float factor;
};

// 8 and 16 bits: the bounds less the zero point are exact floats.
template <Rounding kRounding>
struct ClampedOp {
  explicit ClampedOp(const QuantParams& params)
      : scaled(params),
        lowest(static_cast<float>(params.qmin - params.zero_point)),
        highest(static_cast<float>(params.qmax - params.zero_point)) {}
  // The stored value less the zero point: an integer as a float.
  HWY_INLINE hn::Vec<hn::ScalableTag<float>> operator()(
      const float* HWY_RESTRICT in) const {
    const hn::ScalableTag<float> df;
    return scaled.Truncated(hn::Min(
        hn::Max(scaled(df, in), hn::Set(df, lowest)), hn::Set(df, highest)));
  }
  ScaledOp<kRounding> scaled;
  float lowest, highest;
};

// The bits of `magic` + an integer hold that integer, times a power of two, in
// the low bits of the fraction. Below 2^22 in magnitude that is exact, and
// cheaper than ConvertTo, which looks for values that do not fit.
constexpr float kMagic = 12582912;  // 1.5 * 2^23: the integer itself
constexpr std::int32_t kMagicBits = 0x4b400000;
constexpr float kMagicOf256 = 49152;  // 1.5 * 2^15: 256 times the integer

template <typename Q, Rounding kRounding>
struct QuantizeOp {
  explicit QuantizeOp(const QuantParams& params)
      : clamped(params), offset(params.zero_point - kMagicBits) {}
  static std::size_t LanesPerCall() {
    return hn::Lanes(hn::ScalableTag<float>());
  }
  HWY_INLINE void operator()(const float* HWY_RESTRICT in,
                             Q* HWY_RESTRICT out) const {
    const hn::ScalableTag<float> df;
    const hn::RebindToSigned<decltype(df)> di;
    const hn::Rebind<Q, decltype(df)> dq;
    const auto in_low_bits = hn::Add(clamped(in), hn::Set(df, kMagic));
    const auto q = hn::Add(hn::BitCast(di, in_low_bits), hn::Set(di, offset));
    hn::StoreU(hn::DemoteTo(dq, q), dq, out);
  }
  ClampedOp<kRounding> clamped;
  std::int32_t offset;
};

// 32 bits: the sum with the zero point needs a double.
template <Rounding kRounding>
struct QuantizeOp<std::int32_t, kRounding> {
  explicit QuantizeOp(const QuantParams& params)
      : scaled(params),
        lowest(params.qmin),
        highest(params.qmax),
        zero_point(params.zero_point) {}
  static std::size_t LanesPerCall() {
    return hn::Lanes(hn::ScalableTag<double>());
  }
  HWY_INLINE void operator()(const float* HWY_RESTRICT in,
                             std::int32_t* HWY_RESTRICT out) const {
    const hn::ScalableTag<double> dd;
    const hn::Rebind<float, decltype(dd)> df;
    const hn::Rebind<std::int32_t, decltype(dd)> di;
    const auto rounded = scaled.Truncated(scaled(df, in));
    const auto sum =
        hn::Add(hn::PromoteTo(dd, rounded), hn::Set(dd, zero_point));
    const auto q =
        hn::Min(hn::Max(sum, hn::Set(dd, lowest)), hn::Set(dd, highest));
    hn::StoreU(hn::DemoteTo(di, q), di, out);
  }
  ScaledOp<kRounding> scaled;
  double lowest, highest, zero_point;
};

template <class D, class DW>
HWY_INLINE hn::Vec<D> FloatsOf(D df, hn::Vec<DW> wide, DW) {
  if constexpr (sizeof(hn::TFromD<DW>) == sizeof(double)) {
    return hn::DemoteTo(df, wide);
  } else {
    return hn::ConvertTo(df, wide);
  }
}

template <typename Q>
struct DequantizeOp {
  // A type that holds q less the zero point.
  using Wide = std::conditional_t<sizeof(Q) == 4, double, std::int32_t>;
  explicit DequantizeOp(const QuantParams& params)
      : scale(params.scale), zero_point(params.zero_point) {}
  static std::size_t LanesPerCall() {
    return hn::Lanes(hn::ScalableTag<Wide>());
  }
  HWY_INLINE void operator()(const Q* HWY_RESTRICT in,
                             float* HWY_RESTRICT out) const {
    const hn::ScalableTag<Wide> dw;
    const hn::Rebind<float, decltype(dw)> df;
    const hn::Rebind<Q, decltype(dw)> dq;
    const auto difference =
        hn::Sub(hn::PromoteTo(dw, hn::LoadU(dq, in)), hn::Set(dw, zero_point));
    hn::StoreU(hn::Mul(FloatsOf(df, difference, dw), hn::Set(df, scale)), df,
               out);
  }
  float scale;
  Wide zero_point;
};

#if HWY_TARGET != HWY_SCALAR

// From a vector of which each block has a word of each of four vectors, to the
// words of one vector after those of another.
struct WordOrder {
  static constexpr std::size_t kWords =
      hn::MaxLanes(hn::ScalableTag<std::int32_t>());
  constexpr WordOrder() {
    constexpr std::size_t kBlocks = kWords / 4;
    for (std::size_t i = 0; i < kWords; ++i) {
      index[i] = static_cast<std::int32_t>(i % kBlocks * 4 + i / kBlocks);
    }
  }
  std::int32_t index[kWords] = {};
};
constexpr WordOrder kWordOrder;

// Four vectors of floats to one of bytes, with one store and a third of the
// shuffles that each of them would need by itself.
template <Rounding kRounding>
class FourVectors {
  using DF = hn::ScalableTag<float>;
  using DI = hn::RebindToSigned<DF>;
  using D16 = hn::Repartition<std::uint16_t, DF>;
  using D8 = hn::Repartition<std::uint8_t, DF>;

 public:
  explicit FourVectors(const QuantParams& params)
      : clamped_(params),
        zero_point_(
            hn::Set(D8(), static_cast<std::uint8_t>(params.zero_point))),
        bytes_of_block_(hn::LoadDup128(D8(), kBytesOfBlock)),
        words_(hn::SetTableIndices(DI(), kWordOrder.index)) {}
  static std::size_t LanesPerCall() { return hn::Lanes(D8()); }

  HWY_INLINE hn::Vec<D8> operator()(const float* HWY_RESTRICT in) const {
    const std::size_t lanes = hn::Lanes(DF());
    // Each 32-bit lane gets a byte of each vector.
    const auto first = hn::OddEven(Bits(in + lanes, kMagicOf256),  //
                                   Bits(in, kMagic));
    const auto second = hn::OddEven(Bits(in + 3 * lanes, kMagicOf256),
                                    Bits(in + 2 * lanes, kMagic));
    const auto all = hn::OddEven(
        hn::BitCast(D16(), hn::ShiftLeft<16>(hn::BitCast(DI(), second))),
        hn::BitCast(D16(), first));
    // Modulo 256: the sum is in bounds.
    const auto q = hn::Add(hn::BitCast(D8(), all), zero_point_);
    const auto by_vector = hn::TableLookupBytes(q, bytes_of_block_);
    return hn::BitCast(
        D8(), hn::TableLookupLanes(hn::BitCast(DI(), by_vector), words_));
  }

 private:
  // The same for the bytes of a block.
  alignas(16) static constexpr std::uint8_t kBytesOfBlock[16] = {
      0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};

  HWY_INLINE hn::Vec<D8> Bits(const float* HWY_RESTRICT in, float magic) const {
    return hn::BitCast(D8(), hn::Add(clamped_(in), hn::Set(DF(), magic)));
  }

  const ClampedOp<kRounding> clamped_;
  const hn::Vec<D8> zero_point_;
  const hn::Vec<D8> bytes_of_block_;
  const decltype(hn::SetTableIndices(
      DI(), static_cast<const std::int32_t*>(nullptr))) words_;
};

// Two pages ahead, for the hardware's own prefetch stops at the end of each.
constexpr std::size_t kPrefetchElements = 2048;

template <bool kStream, bool kPrefetch, class Fours>
HWY_INLINE std::size_t QuantizeFours(const Fours& op, const float* x,
                                     std::size_t i, std::size_t n,
                                     std::uint8_t* q) {
  const hn::ScalableTag<std::uint8_t> d8;
  const std::size_t step = Fours::LanesPerCall();
  for (; i + step <= n; i += step) {
    for (std::size_t j = 0; kPrefetch && j < step; j += 64 / sizeof(float)) {
      hwy::Prefetch(x + i + j + kPrefetchElements);
    }
    if (kStream) {
      hn::Stream(op(x + i), d8, q + i);
    } else {
      hn::StoreU(op(x + i), d8, q + i);
    }
  }
  return i;
}

template <bool kStream, class Fours>
HWY_INLINE std::size_t QuantizeManyFours(const Fours& op, const float* x,
                                         std::size_t i, std::size_t n,
                                         std::uint8_t* q) {
  if (n > kPrefetchElements) {
    i = QuantizeFours<kStream, true>(op, x, i, n - kPrefetchElements, q);
  }
  return QuantizeFours<kStream, false>(op, x, i, n, q);
}

template <typename Q, Rounding kRounding>
void QuantizeBytes(const float* x, std::size_t n, const QuantParams& params,
                   bool streaming, Q* q) {
  const FourVectors<kRounding> op(params);
  const QuantizeOp<Q, kRounding> one(params);
  auto* const bytes = reinterpret_cast<std::uint8_t*>(q);
  std::size_t i = 0;
  if (streaming) {
    i = HWY_MIN(n, (~reinterpret_cast<std::uintptr_t>(q) + 1) % 64);
    MapLanes(i, q, one.LanesPerCall(), one, x);
    i = QuantizeManyFours<true>(op, x, i, n, bytes);
    hwy::FlushStream();
  } else {
    i = QuantizeManyFours<false>(op, x, i, n, bytes);
  }
  MapLanes(n - i, q + i, one.LanesPerCall(), one, x + i);
}

#endif  // HWY_TARGET != HWY_SCALAR

template <typename Q, Rounding kRounding>
void Quantize(const void* from, std::size_t n, const QuantParams& params,
              bool streaming, void* q) {
  const auto* const x = static_cast<const float*>(from);
#if HWY_TARGET != HWY_SCALAR
  if constexpr (sizeof(Q) == 1) {
    QuantizeBytes<Q, kRounding>(x, n, params, streaming, static_cast<Q*>(q));
    return;
  }
#endif
  using Op = QuantizeOp<Q, kRounding>;
  Map(n, static_cast<Q*>(q), Op::LanesPerCall(), Op(params), streaming, x);
}

template <typename Q>
void Dequantize(const void* q, std::size_t n, const QuantParams& params,
                bool streaming, void* x) {
  using Op = DequantizeOp<Q>;
  Map(n, static_cast<float*>(x), Op::LanesPerCall(), Op(params), streaming,
      static_cast<const Q*>(q));
}

// A value from an array or the same everywhere.
template <bool kEach>
HWY_INLINE hn::Vec<hn::ScalableTag<float>> LoadPerElement(
    const PerElement& operand, std::size_t i) {
  const hn::ScalableTag<float> df;
  return kEach ? hn::LoadU(df, operand.each + i) : hn::Set(df, operand.value);
}

template <bool kEachScale, bool kEachBias>
void DequantizeAccRange(const std::int32_t* acc, std::size_t n,
                        const PerElement& scale, const PerElement& bias,
                        float* x) {
  const hn::ScalableTag<float> df;
  const hn::RebindToSigned<decltype(df)> di;
  const std::size_t lanes = hn::Lanes(df);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto scaled = hn::Mul(hn::ConvertTo(df, hn::LoadU(di, acc + i)),
                                LoadPerElement<kEachScale>(scale, i));
    hn::StoreU(hn::Add(scaled, LoadPerElement<kEachBias>(bias, i)), df, x + i);
  }
  // Not by MapLanes, whose padded copies make lines of 30 elements take 1.8
  // times as long. The flags say that there is an array.
  // NOLINTBEGIN(clang-analyzer-core.NullDereference)
  for (; i < n; ++i) {
    x[i] = DequantizeAccOne(acc[i], kEachScale ? scale.each[i] : scale.value,
                            kEachBias ? bias.each[i] : bias.value);
  }
  // NOLINTEND(clang-analyzer-core.NullDereference)
}

inline PerElement Advanced(PerElement operand, std::size_t count) {
  if (operand.each != nullptr) operand.each += count;
  return operand;
}

void DequantizeAcc(const std::int32_t* acc, std::size_t n,
                   const PerElement& scale, const PerElement& bias,
                   bool streaming, float* x) {
  const auto range =
      scale.each != nullptr
          ? (bias.each != nullptr ? DequantizeAccRange<true, true>
                                  : DequantizeAccRange<true, false>)
          : (bias.each != nullptr ? DequantizeAccRange<false, true>
                                  : DequantizeAccRange<false, false>);
  ForChunks(n, x, streaming,
            [&](std::size_t first, std::size_t count, float* to) {
              range(acc + first, count, Advanced(scale, first),
                    Advanced(bias, first), to);
            });
}

template <Rounding kRounding>
constexpr ByScalar<ConvertFunction> kQuantize = {
    Quantize<std::int8_t, kRounding>, Quantize<std::uint8_t, kRounding>,
    Quantize<std::int16_t, kRounding>, Quantize<std::int32_t, kRounding>};

// ## Sums of codes, and requantization

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

void AddTo32(const std::uint8_t* a, const std::uint8_t* b, std::size_t n,
             const AddTerms& terms, bool streaming, std::int32_t* c) {
  const auto op = [terms](const std::uint8_t* x, const std::uint8_t* y,
                          std::int32_t* to) HWY_ATTR {
    hn::StoreU(Rounded(SumOf(x, y, terms), terms), DI(), to);
  };
  Map(n, c, hn::Lanes(DI()), op, streaming, a, b);
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

// ## Pairs of elements

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

const ElementKernels* GetElementKernels() {
  static const ElementKernels kKernels = {
      hwy::TargetName(HWY_TARGET),
      {kQuantize<Rounding::kHalfAwayFromZero>,
       kQuantize<Rounding::kHalfToEven>},
      {Dequantize<std::int8_t>, Dequantize<std::uint8_t>,
       Dequantize<std::int16_t>, Dequantize<std::int32_t>},
      DequantizeAcc,
      {Requantize<std::int8_t>, Requantize<std::uint8_t>,
       Requantize<std::int16_t>},
      Range32,
      AddTo32,
      AddTo8,
      AddRange,
      {Add<std::int8_t>, Add<std::uint8_t>},
      {Multiply<std::int8_t>, Multiply<std::uint8_t>}};
  return &kKernels;
}

}  // namespace ruy_like::quantize_internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ruy_like::quantize_internal {

HWY_EXPORT(GetElementKernels);

const ElementKernels& ElementKernelsFor(std::int64_t targets) {
  return *HWY_DISPATCH_TABLE(GetElementKernels)[TargetIndex(targets)]();
}

}  // namespace ruy_like::quantize_internal
#endif  // HWY_ONCE
