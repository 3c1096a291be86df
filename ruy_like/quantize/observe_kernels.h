// ruy_like::quantize, internal: the vector loops of Observer.
//
// Called by observer.cc, chunk by chunk. A chunk is small enough to stay in the
// first-level cache between the two loops over it.
#ifndef RUY_LIKE_QUANTIZE_OBSERVE_KERNELS_H_
#define RUY_LIKE_QUANTIZE_OBSERVE_KERNELS_H_

#include <cstddef>
#include <cstdint>

namespace ruy_like {
namespace quantize_internal {

// Elements of a chunk: with their indices and the sub-histograms, 44 KB.
constexpr std::size_t kObserveChunk = 2048;

// Bins of a histogram. Index kObserveBins is for what is not counted.
constexpr int kObserveBins = 2048;

// Lanes in which a chunk's sums are taken, whatever the vector width, and then
// added up from the first to the last: the same bits on every target. With 8,
// an AVX-512 addition waits for the one before it (Zen 5: 0.14 ns an element).
constexpr int kSumLanes = 16;

// Of finite values. Undefined, but for all_finite, where one is not.
struct ChunkStats {
  bool all_finite;
  float absmax;
  float min;  // may be -0 for 0, as may max
  float max;
  double sum;
  double sum_of_squares;
  double sum_of_magnitudes;
};

struct ObserveKernels {
  // n in [1, kObserveChunk].
  ChunkStats (*scan)(const float* x, std::size_t n);
  // index[i] = min(floor(|x[i]| * factor), kObserveBins - 1), or kObserveBins
  // for 0. All x finite, |x| * factor < 2^31. index has room for a multiple of
  // 64 elements.
  void (*index_by_factor)(const float* x, std::size_t n, float factor,
                          std::uint16_t* index);
  // The same with floor(|x[i]| / range * kObserveBins) in double precision.
  void (*index_by_range)(const float* x, std::size_t n, double range,
                         std::uint16_t* index);
};

// Those of the best of Highway's `targets` (dispatch.h).
const ObserveKernels& ObserveKernelsFor(std::int64_t targets);

}  // namespace quantize_internal
}  // namespace ruy_like

#endif  // RUY_LIKE_QUANTIZE_OBSERVE_KERNELS_H_
