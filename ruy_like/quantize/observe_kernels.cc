#include "ruy_like/quantize/observe_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ruy_like/quantize/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ruy_like/quantize/observe_kernels.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ruy_like {
namespace quantize_internal {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

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

ChunkStats Scan(const float* HWY_RESTRICT x, std::size_t n) {
  const hn::CappedTag<float, 2 * kSumLanes> df;
  const hn::RebindToSigned<decltype(df)> di;
  const std::size_t lanes = hn::Lanes(df);
  auto min = hn::Set(df, x[0]);
  auto max = min;
  auto magnitude = hn::Zero(di);  // bits: ordered like the numbers, NaN last
  Sums sums;
  std::size_t i = 0;
  for (; i + 2 * kSumLanes <= n; i += 2 * kSumLanes) {
    for (std::size_t j = i; j < i + 2 * kSumLanes; j += lanes) {
      const auto value = hn::LoadU(df, x + j);
      min = hn::Min(min, value);
      max = hn::Max(max, value);
      magnitude = hn::Max(magnitude, hn::BitCast(di, hn::Abs(value)));
    }
    sums.Add(x + i);
    sums.Add(x + i + kSumLanes);
  }
  alignas(64) float min_lanes[2 * kSumLanes], max_lanes[2 * kSumLanes];
  alignas(64) std::int32_t magnitude_lanes[2 * kSumLanes];
  alignas(64) double sum[kSumLanes], squares[kSumLanes], magnitudes[kSumLanes];
  hn::StoreU(min, df, min_lanes);
  hn::StoreU(max, df, max_lanes);
  hn::StoreU(magnitude, di, magnitude_lanes);
  Sums::Store(sums.sum, sum);
  Sums::Store(sums.squares, squares);
  Sums::Store(sums.magnitudes, magnitudes);
  ChunkStats stats;
  stats.min = stats.max = x[0];
  std::int32_t absmax = 0;
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    stats.min = HWY_MIN(stats.min, min_lanes[lane]);
    stats.max = HWY_MAX(stats.max, max_lanes[lane]);
    absmax = HWY_MAX(absmax, magnitude_lanes[lane]);
  }
  for (std::size_t lane = 0; i < n; ++i, ++lane) {
    const double value = x[i];
    stats.min = HWY_MIN(stats.min, x[i]);
    stats.max = HWY_MAX(stats.max, x[i]);
    absmax = HWY_MAX(absmax, MagnitudeBits(x[i]));
    sum[lane % kSumLanes] += value;
    squares[lane % kSumLanes] += value * value;
    magnitudes[lane % kSumLanes] += value < 0 ? -value : value;
  }
  stats.all_finite = absmax < kInfinityBits;
  std::memcpy(&stats.absmax, &absmax, sizeof(absmax));
  stats.sum = SumOfLanes(sum);
  stats.sum_of_squares = SumOfLanes(squares);
  stats.sum_of_magnitudes = SumOfLanes(magnitudes);
  return stats;
}

// index = min(scaled, last bin), or kObserveBins where the element is 0.
template <class DI, class V, class M>
HWY_INLINE void StoreIndex(DI di, V scaled, M is_zero, std::uint16_t* index) {
  const hn::Rebind<std::uint16_t, DI> du;
  const auto bin = hn::Min(scaled, hn::Set(di, kObserveBins - 1));
  const auto counted = hn::IfThenElse(is_zero, hn::Set(di, kObserveBins), bin);
  hn::StoreU(hn::DemoteTo(du, counted), du, index);
}

HWY_INLINE void IndexByFactorStep(const float* x, float factor,
                                  std::uint16_t* index) {
  const hn::ScalableTag<float> df;
  const hn::RebindToSigned<decltype(df)> di;
  const auto magnitude = hn::Abs(hn::LoadU(df, x));
  const auto scaled =
      hn::ConvertTo(di, hn::Mul(magnitude, hn::Set(df, factor)));
  StoreIndex(di, scaled, hn::RebindMask(di, hn::Eq(magnitude, hn::Zero(df))),
             index);
}

HWY_INLINE void IndexByRangeStep(const float* x, double range,
                                 std::uint16_t* index) {
  const hn::ScalableTag<double> dd;
  const hn::Rebind<float, decltype(dd)> df;
  const hn::Rebind<std::int32_t, decltype(dd)> di;
  const auto magnitude = hn::Abs(hn::LoadU(df, x));
  const auto share = hn::Div(hn::PromoteTo(dd, magnitude), hn::Set(dd, range));
  // In bounds before it becomes an integer: x may be far beyond the range.
  const auto bin = hn::Min(hn::Mul(share, hn::Set(dd, kObserveBins)),
                           hn::Set(dd, kObserveBins - 1));
  const auto scaled = hn::DemoteTo(di, bin);
  StoreIndex(di, scaled, hn::RebindMask(di, hn::Eq(magnitude, hn::Zero(df))),
             index);
}

void IndexByFactor(const float* x, std::size_t n, float factor,
                   std::uint16_t* index) {
  const std::size_t lanes = hn::Lanes(hn::ScalableTag<float>());
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    IndexByFactorStep(x + i, factor, index + i);
  }
  if (i == n) return;
  float tail[HWY_MAX_BYTES / sizeof(float)] = {};
  std::memcpy(tail, x + i, (n - i) * sizeof(float));
  IndexByFactorStep(tail, factor, index + i);
}

void IndexByRange(const float* x, std::size_t n, double range,
                  std::uint16_t* index) {
  const std::size_t lanes = hn::Lanes(hn::ScalableTag<double>());
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) IndexByRangeStep(x + i, range, index + i);
  if (i == n) return;
  float tail[HWY_MAX_BYTES / sizeof(float)] = {};
  std::memcpy(tail, x + i, (n - i) * sizeof(float));
  IndexByRangeStep(tail, range, index + i);
}

const ObserveKernels* GetObserveKernels() {
  static constexpr ObserveKernels kKernels = {Scan, IndexByFactor,
                                              IndexByRange};
  return &kKernels;
}

}  // namespace HWY_NAMESPACE
}  // namespace quantize_internal
}  // namespace ruy_like
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ruy_like {
namespace quantize_internal {

HWY_EXPORT(GetObserveKernels);

const ObserveKernels& ObserveKernelsFor(std::int64_t targets) {
  return *HWY_DISPATCH_TABLE(GetObserveKernels)[TargetIndex(targets)]();
}

}  // namespace quantize_internal
}  // namespace ruy_like
#endif  // HWY_ONCE
