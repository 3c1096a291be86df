// Tested in test/quantize/calibration/observer_test.cc.
#include "ruy_like/quantize/loops/calibration_kernels.h"

#include <atomic>
#include <cstring>

#include "ruy_like/quantize/loops/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ruy_like/quantize/loops/calibration_kernels.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "ruy_like/quantize/loops/map_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ruy_like::quantize_internal::HWY_NAMESPACE {

// ## Observer

constexpr std::int32_t kInfinityBits = 0x7f800000;

// The sums of kSumLanes elements at a time.
struct Sums {
  static constexpr std::size_t kLanes = hn::MaxLanes(hn::ScalableTag<double>());
  static constexpr std::size_t kVectors =
      kLanes > kSumLanes ? 1 : kSumLanes / kLanes;
  using D = hn::CappedTag<double, kSumLanes>;
  using V = hn::Vec<D>;

  Sums() {
    for (std::size_t v = 0; v < kVectors; ++v) {
      sum[v] = squares[v] = magnitudes[v] = hn::Zero(D());
    }
  }
  HWY_INLINE void Add(const float* x) {
    const D d;
    const hn::Rebind<float, D> df;
    for (std::size_t v = 0; v < kVectors; ++v) {
      const V value = hn::PromoteTo(d, hn::LoadU(df, x + v * hn::Lanes(d)));
      sum[v] = hn::Add(sum[v], value);
      // A float's square is an exact double: fused or not is the same.
      squares[v] = hn::MulAdd(value, value, squares[v]);
      magnitudes[v] = hn::Add(magnitudes[v], hn::Abs(value));
    }
  }
  static void Store(const V* from, double* to) {
    const D d;
    for (std::size_t v = 0; v < kVectors; ++v) {
      hn::StoreU(from[v], d, to + v * hn::Lanes(d));
    }
  }
  V sum[kVectors], squares[kVectors], magnitudes[kVectors];
};

inline double SumOfLanes(const double* lanes) {
  double sum = 0;
  for (int i = 0; i < kSumLanes; ++i) sum += lanes[i];
  return sum;
}

inline std::int32_t MagnitudeBits(float x) {
  std::int32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return bits & 0x7fffffff;
}

// Scan's statistics, as it goes over blocks of kBlock elements.
struct Scanner {
  static constexpr std::size_t kBlock = 2 * kSumLanes;
  using DF = hn::CappedTag<float, kBlock>;
  using DI = hn::RebindToSigned<DF>;

  explicit Scanner(float first)
      : min(hn::Set(DF(), first)), max(min), magnitude(hn::Zero(DI())) {}

  HWY_INLINE void Add(const float* x) {
    const DF df;
    const DI di;
    const std::size_t lanes = hn::Lanes(df);
    for (std::size_t j = 0; j < kBlock; j += lanes) {
      const auto value = hn::LoadU(df, x + j);
      min = hn::Min(min, value);
      max = hn::Max(max, value);
      magnitude = hn::Max(magnitude, hn::BitCast(di, hn::Abs(value)));
    }
    sums.Add(x);
    sums.Add(x + kSumLanes);
  }

  // With the n < kBlock elements at `x` that are left.
  ChunkStats Finish(const float* x, std::size_t n) const {
    alignas(64) float min_lanes[kBlock], max_lanes[kBlock];
    alignas(64) std::int32_t magnitude_lanes[kBlock];
    alignas(64) double sum[kSumLanes], squares[kSumLanes],
        magnitudes[kSumLanes];
    hn::StoreU(min, DF(), min_lanes);
    hn::StoreU(max, DF(), max_lanes);
    hn::StoreU(magnitude, DI(), magnitude_lanes);
    Sums::Store(sums.sum, sum);
    Sums::Store(sums.squares, squares);
    Sums::Store(sums.magnitudes, magnitudes);
    ChunkStats stats;
    stats.min = min_lanes[0];
    stats.max = max_lanes[0];
    std::int32_t absmax = 0;
    for (std::size_t lane = 0; lane < hn::Lanes(DF()); ++lane) {
      stats.min = HWY_MIN(stats.min, min_lanes[lane]);
      stats.max = HWY_MAX(stats.max, max_lanes[lane]);
      absmax = HWY_MAX(absmax, magnitude_lanes[lane]);
    }
    for (std::size_t i = 0; i < n; ++i) {
      const double value = x[i];
      stats.min = HWY_MIN(stats.min, x[i]);
      stats.max = HWY_MAX(stats.max, x[i]);
      absmax = HWY_MAX(absmax, MagnitudeBits(x[i]));
      sum[i % kSumLanes] += value;
      squares[i % kSumLanes] += value * value;
      magnitudes[i % kSumLanes] += value < 0 ? -value : value;
    }
    stats.all_finite = absmax < kInfinityBits;
    std::memcpy(&stats.absmax, &absmax, sizeof(absmax));
    stats.sum = SumOfLanes(sum);
    stats.sum_of_squares = SumOfLanes(squares);
    stats.sum_of_magnitudes = SumOfLanes(magnitudes);
    return stats;
  }

  hn::Vec<DF> min, max;
  hn::Vec<DI> magnitude;  // bits: ordered like the numbers, NaN last
  Sums sums;
};

ChunkStats Scan(const float* HWY_RESTRICT x, std::size_t n) {
  Scanner scanner(x[0]);
  std::size_t i = 0;
  for (; i + Scanner::kBlock <= n; i += Scanner::kBlock) scanner.Add(x + i);
  return scanner.Finish(x + i, n - i);
}

// index = min(scaled, last bin), or kObserveBins where the element is 0.
template <class DI, class V, class M>
HWY_INLINE void StoreIndex(DI di, V scaled, M is_zero, std::uint16_t* index) {
  const hn::Rebind<std::uint16_t, DI> du;
  const auto bin = hn::Min(scaled, hn::Set(di, kObserveBins - 1));
  const auto counted = hn::IfThenElse(is_zero, hn::Set(di, kObserveBins), bin);
  hn::StoreU(hn::DemoteTo(du, counted), du, index);
}

struct IndexByFactorOp {
  using DF = Scanner::DF;
  static std::size_t LanesPerCall() { return hn::Lanes(DF()); }
  HWY_INLINE void operator()(const float* x, std::uint16_t* index) const {
    const DF df;
    const hn::RebindToSigned<decltype(df)> di;
    const auto magnitude = hn::Abs(hn::LoadU(df, x));
    const auto scaled =
        hn::ConvertTo(di, hn::Mul(magnitude, hn::Set(df, factor)));
    StoreIndex(di, scaled, hn::RebindMask(di, hn::Eq(magnitude, hn::Zero(df))),
               index);
  }
  float factor;
};

struct IndexByRangeOp {
  using DD = Sums::D;
  explicit IndexByRangeOp(float range)
      : bins_per_unit(kObserveBins / static_cast<double>(range)) {}
  static std::size_t LanesPerCall() { return hn::Lanes(DD()); }
  HWY_INLINE void operator()(const float* x, std::uint16_t* index) const {
    const DD dd;
    const hn::Rebind<float, decltype(dd)> df;
    const hn::Rebind<std::int32_t, decltype(dd)> di;
    const auto magnitude = hn::Abs(hn::LoadU(df, x));
    // A quotient of floats that is no integer is 2^-25 or more from the next
    // one, and a product with the inverse is within 2^-40 of it: the summand
    // carries the latter over the integer that it may be just short of, and no
    // other.
    const auto quotient =
        hn::Mul(hn::PromoteTo(dd, magnitude), hn::Set(dd, bins_per_unit));
    // In bounds before it becomes an integer: x may be far beyond the range.
    const auto bin = hn::Min(hn::Add(quotient, hn::Set(dd, 0x1p-30)),
                             hn::Set(dd, kObserveBins - 1));
    const auto scaled = hn::DemoteTo(di, bin);
    StoreIndex(di, scaled, hn::RebindMask(di, hn::Eq(magnitude, hn::Zero(df))),
               index);
  }
  double bins_per_unit;
};

void Index(const float* x, std::size_t n, const ObserveScale& scale,
           std::uint16_t* index) {
  if (scale.range == 0) {
    const IndexByFactorOp op = {scale.factor};
    return MapLanes(n, index, op.LanesPerCall(), op, x);
  }
  const IndexByRangeOp op(scale.range);
  MapLanes(n, index, op.LanesPerCall(), op, x);
}

// A page ahead, for the hardware's own prefetch stops at the end of each: a
// third less time out of memory (Zen 5). May point beyond the end.
constexpr std::size_t kPrefetchElements = 1024;

template <class IndexOp>
ChunkStats StepBy(const float* HWY_RESTRICT x, const IndexOp& op,
                  std::uint16_t* HWY_RESTRICT index,
                  const std::uint16_t* HWY_RESTRICT counted,
                  ObserveCounts* HWY_RESTRICT counts) {
  constexpr std::size_t kBlock = Scanner::kBlock;
  static_assert(kObserveChunk % kBlock == 0, "");
  Scanner scanner(x[0]);
  for (std::size_t i = 0; i < kObserveChunk; i += kBlock) {
    for (std::size_t j = i; j < i + kBlock; j += 64 / sizeof(float)) {
      hwy::Prefetch(x + j + kPrefetchElements);
    }
    scanner.Add(x + i);
    for (std::size_t j = i; j < i + kBlock; j += op.LanesPerCall()) {
      op(x + j, index + j);
    }
    // Else gcc makes two loops of this one, and nothing is hidden.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    for (std::size_t j = i; j < i + kBlock; j += 4) {
      std::uint64_t four;
      std::memcpy(&four, counted + j, sizeof(four));
      ++counts->parts[0][four & 0xffff];
      ++counts->parts[1][(four >> 16) & 0xffff];
      ++counts->parts[2][(four >> 32) & 0xffff];
      ++counts->parts[3][four >> 48];
    }
  }
  return scanner.Finish(nullptr, 0);
}

ChunkStats Step(const float* x, const ObserveScale& scale, std::uint16_t* index,
                const std::uint16_t* counted, ObserveCounts* counts) {
  return scale.range == 0
             ? StepBy(x, IndexByFactorOp{scale.factor}, index, counted, counts)
             : StepBy(x, IndexByRangeOp(scale.range), index, counted, counts);
}

// ## Sums of a row of outputs

// The rows [first, last) of some columns. Two vectors of rows at a time: with
// more, the sums leave the registers.
void SumColumns(const float* y, const std::int32_t* q, std::ptrdiff_t stride,
                std::ptrdiff_t cols, std::ptrdiff_t first, std::ptrdiff_t last,
                double* dot, double* square) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> df;
  const hn::Rebind<std::int32_t, decltype(d)> di;
  const auto lanes = static_cast<std::ptrdiff_t>(hn::Lanes(d));
  // As far ahead as the same rows of the columns that follow. May point beyond
  // the end.
  const std::ptrdiff_t ahead = cols * stride;
  std::ptrdiff_t row = first;
  for (; row + 2 * lanes <= last; row += 2 * lanes) {
    auto dot0 = hn::LoadU(d, dot + row);
    auto dot1 = hn::LoadU(d, dot + row + lanes);
    auto square0 = hn::LoadU(d, square + row);
    auto square1 = hn::LoadU(d, square + row + lanes);
    const float* y_at = y + row;
    const std::int32_t* q_at = q + row;
    for (std::ptrdiff_t col = 0; col < cols; ++col) {
      hwy::Prefetch(y_at + ahead);
      hwy::Prefetch(q_at + ahead);
      const auto y0 = hn::PromoteTo(d, hn::LoadU(df, y_at));
      const auto y1 = hn::PromoteTo(d, hn::LoadU(df, y_at + lanes));
      const auto q0 = hn::PromoteTo(d, hn::LoadU(di, q_at));
      const auto q1 = hn::PromoteTo(d, hn::LoadU(di, q_at + lanes));
      dot0 = hn::Add(dot0, hn::Mul(y0, q0));
      dot1 = hn::Add(dot1, hn::Mul(y1, q1));
      square0 = hn::Add(square0, hn::Mul(q0, q0));
      square1 = hn::Add(square1, hn::Mul(q1, q1));
      y_at += stride;
      q_at += stride;
    }
    hn::StoreU(dot0, d, dot + row);
    hn::StoreU(dot1, d, dot + row + lanes);
    hn::StoreU(square0, d, square + row);
    hn::StoreU(square1, d, square + row + lanes);
  }
  for (; row < last; ++row) {
    for (std::ptrdiff_t col = 0; col < cols; ++col) {
      const double value = q[row + col * stride];
      const double product = static_cast<double>(y[row + col * stride]) * value;
      dot[row] += product;
      square[row] += value * value;
    }
  }
}

// As many columns at a time as stay in the first-level cache: a vector of rows
// is but a part of a column, and the next vectors find the rest there.
void RowSums(const float* y, const std::int32_t* q, std::ptrdiff_t stride,
             std::ptrdiff_t cols, std::ptrdiff_t first, std::ptrdiff_t last,
             double* dot, double* square) {
  constexpr std::ptrdiff_t kElements = 2048;
  const std::ptrdiff_t step = HWY_MAX(kElements / HWY_MAX(last - first, 1), 8);
  for (std::ptrdiff_t col = 0; col < cols; col += step) {
    SumColumns(y + col * stride, q + col * stride, stride,
               HWY_MIN(step, cols - col), first, last, dot, square);
  }
}

const CalibrationKernels* GetCalibrationKernels() {
  static constexpr CalibrationKernels kKernels = {Step, Scan, Index, RowSums};
  return &kKernels;
}

}  // namespace ruy_like::quantize_internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ruy_like::quantize_internal {

HWY_EXPORT(GetCalibrationKernels);

const CalibrationKernels& CalibrationKernelsFor(std::int64_t targets) {
  return *HWY_DISPATCH_TABLE(GetCalibrationKernels)[TargetIndex(targets)]();
}

}  // namespace ruy_like::quantize_internal
#endif  // HWY_ONCE
