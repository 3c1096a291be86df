// Quantization toolkit, internal: the vector loops of calibration.
//
// Called by observer.cc, chunk by chunk: a chunk is small enough to stay in the
// first-level cache between the two loops over it. And by eq_search.cc, for the
// sums that the cosine of a row of outputs is made of.
#ifndef RUY_LIKE_QUANTIZE_LOOPS_CALIBRATION_KERNELS_H_
#define RUY_LIKE_QUANTIZE_LOOPS_CALIBRATION_KERNELS_H_

#include <cstddef>
#include <cstdint>

namespace ruy_like::quantize_internal {

// Elements of a chunk: with the indices of two chunks and the partial
// histograms, 48 KB.
constexpr std::size_t kObserveChunk = 2048;

// Bins of a histogram. An element 0 has the index kObserveBins, and
// kObserveNothing counts nothing.
constexpr int kObserveBins = 2048;
constexpr std::uint16_t kObserveNothing = kObserveBins + 1;

// Partial histograms, used in turn: incrementing one counter twice in a row
// would wait for its own store. The last places are those of the indices above,
// and room that shifts each part by a cache line.
constexpr int kObserveParts = 4;
struct ObserveCounts {
  std::uint32_t parts[kObserveParts][kObserveBins + 16];
};

// Lanes in which a chunk's sums are taken, whatever the vector width, and then
// added up from the first to the last: the same bits on every target. With 8,
// an AVX-512 addition waits for the one before it (Zen 5: 0.14 ns an element).
constexpr int kSumLanes = 16;

// Statistics of a chunk. If a value is not finite, all_finite is false and
// the rest is undefined.
struct ChunkStats {
  bool all_finite;
  float absmax;
  float min;  // may be -0 for 0, as may max
  float max;
  double sum;
  double sum_of_squares;
  double sum_of_magnitudes;
};

// How magnitudes become bins.
struct ObserveScale {
  float range;   // bin floor(|x| / range * kObserveBins), in double precision
  float factor;  // where range is 0: bin floor(|x| * factor)
};

struct CalibrationKernels {
  // scan and index of kObserveChunk elements, while the indices of another
  // chunk are counted.
  //
  // Counting is scalar, one store an element, and a core that stores once a
  // cycle can not do better than an element a cycle. The vector work hides
  // behind that only where the two alternate within the reach of out-of-order
  // execution, which separate loops over a chunk do not.
  //
  // The indices are of no use unless the stats say that the elements are finite
  // and below 2^31 / factor.
  ChunkStats (*step)(const float* x, const ObserveScale& scale,
                     std::uint16_t* index, const std::uint16_t* counted,
                     ObserveCounts* counts);
  // n in [1, kObserveChunk].
  ChunkStats (*scan)(const float* x, std::size_t n);
  // index[i] is x[i]'s bin, at most the last one, or kObserveBins for 0. All x
  // finite, |x| * factor < 2^31. index has room for a multiple of 64 elements.
  void (*index)(const float* x, std::size_t n, const ObserveScale& scale,
                std::uint16_t* index);

  // y and q are column-major, of `stride` rows without gaps. For the rows
  // [first, last), summed over all columns:
  //
  //   dot[row] += y * q,  square[row] += q * q
  //
  // in double precision, column after column, so that the order of summation is
  // one for all of Highway's targets.
  void (*row_sums)(const float* y, const std::int32_t* q, std::ptrdiff_t stride,
                   std::ptrdiff_t cols, std::ptrdiff_t first,
                   std::ptrdiff_t last, double* dot, double* square);
};

// Those of the best of Highway's `targets` (dispatch.h).
const CalibrationKernels& CalibrationKernelsFor(std::int64_t targets);

}  // namespace ruy_like::quantize_internal

#endif  // RUY_LIKE_QUANTIZE_LOOPS_CALIBRATION_KERNELS_H_
