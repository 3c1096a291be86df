// Back-end: the stores of tiles of products with group-scaled weights: scales
// of columns, bias, clamp, conversion.
#ifndef RUY_LIKE_KERNELS_GROUPS_GROUP_STORE_H_
#define RUY_LIKE_KERNELS_GROUPS_GROUP_STORE_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/float16.h"
#include "ruy_like/kernels/groups/group_panels.h"
#include "ruy_like/simd/loops.h"

namespace ruy_like::kernels {
namespace {

template <int kRows, typename T>
RUY_LIKE_ALWAYS_INLINE void StoreGroupColumn(const T* values, int rows,
                                             ptrdiff_t stride, T* dst) {
  if (stride == 1 && rows == kRows) {
    __builtin_memcpy(dst, values, kRows * sizeof(T));
    return;
  }
  if (stride == 1) {
    __builtin_memcpy(dst, values, rows * sizeof(T));
    return;
  }
  for (int r = 0; r < rows; ++r) dst[r * stride] = values[r];
}

// Stores the rows from `row` on, at most kRows, of `out`, which has kRows
// values for each column, aligned to vectors, and is overwritten.
template <class Simd, int kRows>
static RUY_LIKE_NOINLINE void StoreGroupTile(const GroupTileArgs& args,
                                             ptrdiff_t row, float* out) {
  typedef typename Simd::Float Float;
  const EpilogueArgs& epilogue = *args.epilogue;
  const int rows = Min(args.rows - row, kRows);
  const float* const bias = static_cast<const float*>(epilogue.bias);
  alignas(64) float row_bias[kRows] = {};
  if (bias != nullptr && epilogue.channels_are_rows) {
    __builtin_memcpy(row_bias, bias + row, rows * sizeof(float));
  }
  const bool is_float = epilogue.dst_scalar == Scalar::kF32;
  const bool is_whole =
      is_float && epilogue.dst_row_stride == 1 && rows == kRows;
  const Float low = Simd::SetFloat(static_cast<float>(epilogue.clamp_min_f));
  const Float high = Simd::SetFloat(static_cast<float>(epilogue.clamp_max_f));
  for (int c = 0; c < args.cols; ++c) {
    float* const values = out + c * kRows;
    const ptrdiff_t col = args.first_col + c;
    const ptrdiff_t at =
        row * epilogue.dst_row_stride + col * epilogue.dst_col_stride;
    float* const to =
        is_whole ? static_cast<float*>(epilogue.dst) + at : values;
    const ScaleArgs& scales = *epilogue.scales;
    const Float scale =
        Simd::SetFloat(scales.rhs[scales.rhs_per_col ? col : 0]);
    // Not by 0: a row's sum may be infinite.
    const int zero = args.column_zeros == nullptr ? 0 : args.column_zeros[c];
    RUY_LIKE_UNROLL
    for (int r = 0; r < kRows; r += Simd::kLanes) {
      Float x = Simd::LoadAligned(values + r);
      if (zero != 0) {
        x = Simd::MulAddFloat(Simd::SetFloat(static_cast<float>(-zero)),
                              Simd::LoadAligned(args.row_sums + row + r), x);
      }
      x = Simd::MulFloat(x, scale);
      if (bias != nullptr) {
        x = Simd::AddFloat(x, epilogue.channels_are_rows
                                  ? Simd::LoadAligned(row_bias + r)
                                  : Simd::SetFloat(bias[col]));
      }
      x = Simd::AtMost(high, Simd::AtLeast(low, x));  // a NaN stays
      __builtin_memcpy(to + r, &x, sizeof(x));
    }
    if (is_whole) continue;
    if (is_float) {
      StoreGroupColumn<kRows>(values, rows, epilogue.dst_row_stride,
                              static_cast<float*>(epilogue.dst) + at);
    } else {
      uint16_t halves[kRows];
      uint32_t bits[kRows];
      __builtin_memcpy(bits, values, sizeof(bits));
      for (int r = 0; r < kRows; ++r) {
        halves[r] = float16_internal::RoundToBFloat16(bits[r]);
      }
      StoreGroupColumn<kRows>(halves, rows, epilogue.dst_row_stride,
                              static_cast<uint16_t*>(epilogue.dst) + at);
    }
  }
}

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_GROUPS_GROUP_STORE_H_
