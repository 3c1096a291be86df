// Back-end: the AMX kernel's epilogue to a column-major float dst, for
// products of bfloat16.
//
// Included by amx_kernel.h. A unit is four vectors of accumulators, as in
// amx_byte_units.h, and goes straight to dst. Only whole blocks; the others go
// through amx_squares.h.
#ifndef RUY_LIKE_KERNELS_AMX_AMX_FLOAT_UNITS_H_
#define RUY_LIKE_KERNELS_AMX_AMX_FLOAT_UNITS_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/amx/amx_byte_units.h"
#include "ruy_like/kernels/amx/amx_tile.h"
#include "ruy_like/kernels/epilogue/float_output.h"
#include "ruy_like/simd/loops.h"
#include "ruy_like/simd/simd_avx512.h"

namespace ruy_like::kernels {
namespace {

struct FloatUnitArgs {
  BlockShape shape;
  const int32_t* acc;     // bits of floats, column by column
  const float* row_bias;  // of the block's rows; -0 where there is none
  float* dst;
  ptrdiff_t dst_col_stride;
  FloatBounds bounds;
};

// A unit is two columns of a block of 32 rows, or one of a block of 64.
class FloatUnits {
 public:
  typedef Simd512 V;
  static constexpr bool kHasUnits = true;

  explicit RUY_LIKE_ALWAYS_INLINE FloatUnits(const FloatUnitArgs& args)
      : acc_(reinterpret_cast<const float*>(args.acc)),
        dst_(args.dst),
        third_(args.shape == BlockShape::k32x32 ? args.dst_col_stride
                                                : 2 * V::kLanes),
        next_(args.shape == BlockShape::k32x32 ? 2 * args.dst_col_stride
                                               : args.dst_col_stride),
        output_(args.bounds) {
    const float* const second_pair =
        args.row_bias + (args.shape == BlockShape::k32x32 ? 0 : 2 * V::kLanes);
    bias_[0] = V::LoadAligned(args.row_bias);
    bias_[1] = V::LoadAligned(args.row_bias + V::kLanes);
    bias_[2] = V::LoadAligned(second_pair);
    bias_[3] = V::LoadAligned(second_pair + V::kLanes);
  }

  template <int kUnit>
  RUY_LIKE_ALWAYS_INLINE void Run() {
    Finish<0>(dst_);
    Finish<1>(dst_ + V::kLanes);
    Finish<2>(dst_ + third_);
    Finish<3>(dst_ + third_ + V::kLanes);
    acc_ += 4 * V::kLanes;
    dst_ += next_;
  }

  RUY_LIKE_ALWAYS_INLINE void EndStep() {}

 private:
  template <int kVector>
  RUY_LIKE_ALWAYS_INLINE void Finish(float* dst) const {
    const V::Float x = V::LoadAligned(acc_ + kVector * V::kLanes);
    _mm512_storeu_ps(dst, output_.Apply(V::AddFloat(x, bias_[kVector])));
  }

  const float* acc_;
  float* dst_;
  ptrdiff_t third_, next_;  // of a unit: its third vector, the next unit
  FloatOutput<V> output_;
  V::Float bias_[4];
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_AMX_AMX_FLOAT_UNITS_H_
