// Back-end: the last step of the float epilogue, after bias and old values, for
// all vector kernels: the clamp. Also tiles that are finished in registers.
//
// Used by every epilogue of floats. portable.cc has its own, in plain C++.
#ifndef RUY_LIKE_KERNELS_EPILOGUE_FLOAT_OUTPUT_H_
#define RUY_LIKE_KERNELS_EPILOGUE_FLOAT_OUTPUT_H_

#include <stddef.h>

#include "ruy_like/kernels/kernel.h"
#include "ruy_like/simd/loops.h"

namespace ruy_like::kernels {
namespace {

// A call's clamp.
struct FloatBounds {
  float low, high;

  static RUY_LIKE_ALWAYS_INLINE FloatBounds Of(const EpilogueArgs& e) {
    return {static_cast<float>(e.clamp_min_f),
            static_cast<float>(e.clamp_max_f)};
  }
  // True if the call has no clamp.
  static RUY_LIKE_ALWAYS_INLINE bool AreNone(const EpilogueArgs& e) {
    constexpr double kInfinity = __builtin_inf();
    return e.clamp_min_f == -kInfinity && e.clamp_max_f == kInfinity;
  }
};

// The same in registers.
template <class V>
class FloatOutput {
 public:
  explicit RUY_LIKE_ALWAYS_INLINE FloatOutput(const FloatBounds& bounds)
      : low_(V::SetFloat(bounds.low)), high_(V::SetFloat(bounds.high)) {}
  RUY_LIKE_ALWAYS_INLINE typename V::Float Apply(typename V::Float x) const {
    return V::AtMost(high_, V::AtLeast(low_, x));
  }

 private:
  typename V::Float low_, high_;
};

// Where a tile that is finished in registers goes.
template <class V>
struct FloatTile {
  // True if its last vector of rows may be incomplete.
  static constexpr bool kHasParts = V::kLanes >= 8;

  float* dst;  // the tile's first element; rows are adjacent
  ptrdiff_t dst_col_stride;
  const float* row_bias;  // of the tile's first row, or null
  FloatBounds bounds;
  bool is_plain;              // no bias, no bounds: accumulators are results
  int last_rows = V::kLanes;  // in the last vector; all if `is_plain`
};

// The first `rows` rows of vector v in each column of a tile, from `to` on.
template <class V, int kCols, int kVectors>
RUY_LIKE_ALWAYS_INLINE void FinishVector(
    const typename V::Float (&acc)[kCols][kVectors], int v,
    const FloatOutput<V>& output, typename V::Float addend, int rows, float* to,
    ptrdiff_t stride) {
  // Else GCC computes all columns' addresses before callers choose `rows`, and
  // spills them.
  asm volatile("" : "+r"(to));
  RUY_LIKE_UNROLL
  for (int c = 0; c < kCols; ++c) {
    V::Store(to, output.Apply(V::AddFloat(acc[c][v], addend)), rows);
    to += stride;
  }
}

// A tile that never left the registers.
template <class V, int kCols, int kVectors>
RUY_LIKE_ALWAYS_INLINE void FinishTile(
    const typename V::Float (&acc)[kCols][kVectors], const FloatTile<V>& tile) {
  float* to = tile.dst;
  const ptrdiff_t stride = tile.dst_col_stride;
  if (tile.is_plain) {
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; ++c) {
      RUY_LIKE_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        V::Store(to + v * V::kLanes, acc[c][v], V::kLanes);
      }
      to += stride;
    }
    return;
  }
  const FloatOutput<V> output(tile.bounds);
  RUY_LIKE_UNROLL
  for (int v = 0; v < kVectors; ++v) {
    const bool is_part = FloatTile<V>::kHasParts && v == kVectors - 1 &&
                         tile.last_rows < V::kLanes;
    // Adding -0 changes nothing, not even -0.
    typename V::Float addend = V::SetFloat(-0.0f);
    if (tile.row_bias != nullptr) {
      const float* const bias = tile.row_bias + v * V::kLanes;
      addend = is_part ? V::LoadMasked(bias, V::FirstLanes(tile.last_rows))
                       : V::LoadVector(bias);
    }
    if (is_part) {
      FinishVector(acc, v, output, addend, tile.last_rows, to, stride);
    } else {
      FinishVector(acc, v, output, addend, V::kLanes, to, stride);
    }
    to += V::kLanes;
  }
}

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_EPILOGUE_FLOAT_OUTPUT_H_
