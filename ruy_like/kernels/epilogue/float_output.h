// Back-end: the last step of the float epilogue, after bias and old values, for
// all vector kernels: the clamp. Also the destination of a tile that is
// finished in registers.
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
  FloatOutput() = default;
  explicit RUY_LIKE_ALWAYS_INLINE FloatOutput(const FloatBounds& bounds)
      : low_(V::SetFloat(bounds.low)), high_(V::SetFloat(bounds.high)) {}
  RUY_LIKE_ALWAYS_INLINE typename V::Float Apply(typename V::Float x) const {
    return V::AtMost(high_, V::AtLeast(low_, x));
  }

 private:
  typename V::Float low_, high_;
};

// Where a tile that is finished in registers goes.
struct FloatTile {
  float* dst;  // the tile's first element; rows are adjacent
  ptrdiff_t dst_col_stride;
  const float* row_bias;  // of the tile's first row, or null
  FloatBounds bounds;
  bool is_plain;  // no bias, no bounds: accumulators are results
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_EPILOGUE_FLOAT_OUTPUT_H_
