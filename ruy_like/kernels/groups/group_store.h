// Back-end: what surrounds the tiles of group_tile.h: widening of panels,
// quantization of activations, and the stores. Plain loops, which compilers
// vectorize for each path.
#ifndef RUY_LIKE_KERNELS_GROUPS_GROUP_STORE_H_
#define RUY_LIKE_KERNELS_GROUPS_GROUP_STORE_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/float16.h"
#include "ruy_like/kernels/groups/group_kernel.h"
#include "ruy_like/simd/loops.h"

namespace ruy_like::kernels {
namespace {

// Column scale, bias and clamp of kRows values.
template <int kRows>
RUY_LIKE_ALWAYS_INLINE void FinishGroupColumn(const GroupTileArgs& args, int c,
                                              const float* row_bias,
                                              float* values) {
  const float scale =
      args.column_scales == nullptr ? 1.0f : args.column_scales[c];
  for (int r = 0; r < kRows; ++r) values[r] *= scale;
  if (row_bias != nullptr) {
    for (int r = 0; r < kRows; ++r) values[r] += row_bias[r];
  } else if (args.col_bias != nullptr) {
    const float bias = args.col_bias[c];
    for (int r = 0; r < kRows; ++r) values[r] += bias;
  }
  // A NaN stays.
  for (int r = 0; r < kRows; ++r) {
    const float x = values[r] < args.clamp_min ? args.clamp_min : values[r];
    values[r] = x > args.clamp_max ? args.clamp_max : x;
  }
}

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
// values for each column.
template <int kRows>
static RUY_LIKE_NOINLINE void StoreGroupTile(const GroupTileArgs& args,
                                             ptrdiff_t row, float* out) {
  const int rows = AtMost(args.rows - row, kRows);
  alignas(64) float padded_bias[kRows];
  const float* row_bias = nullptr;
  if (args.row_bias != nullptr) {
    row_bias = args.row_bias + row;
    if (rows < kRows) {
      for (int r = 0; r < kRows; ++r) padded_bias[r] = 0;
      __builtin_memcpy(padded_bias, row_bias, rows * sizeof(float));
      row_bias = padded_bias;
    }
  }
  for (int c = 0; c < args.cols; ++c) {
    float* const values = out + c * kRows;
    FinishGroupColumn<kRows>(args, c, row_bias, values);
    const ptrdiff_t at = row * args.dst_row_stride + c * args.dst_col_stride;
    if (args.dst_scalar == Scalar::kF32) {
      StoreGroupColumn<kRows>(values, rows, args.dst_row_stride,
                              static_cast<float*>(args.dst) + at);
    } else {
      uint16_t halves[kRows];
      uint32_t bits[kRows];
      __builtin_memcpy(bits, values, sizeof(bits));
      for (int r = 0; r < kRows; ++r) {
        halves[r] = float16_internal::RoundToBFloat16(bits[r]);
      }
      StoreGroupColumn<kRows>(halves, rows, args.dst_row_stride,
                              static_cast<uint16_t*>(args.dst) + at);
    }
  }
}

static void WidenNibbles(const uint8_t* __restrict levels, ptrdiff_t steps,
                         const uint8_t* __restrict shifts,
                         uint8_t* __restrict widened) {
  if (shifts == nullptr) {
    for (ptrdiff_t step = 0; step < steps; ++step) {
      for (int i = 0; i < 64; ++i) {
        widened[i] = levels[i] & 15;
        widened[64 + i] = levels[i] >> 4;
      }
      levels += 64;
      widened += 128;
    }
    return;
  }
  uint8_t shift[64];
  for (int i = 0; i < 64; ++i) shift[i] = shifts[i / 4];
  for (ptrdiff_t step = 0; step < steps; ++step) {
    for (int i = 0; i < 64; ++i) {
      widened[i] = (levels[i] & 15) + shift[i];
      widened[64 + i] = (levels[i] >> 4) + shift[i];
    }
    levels += 64;
    widened += 128;
  }
}

static void MakeLevelsSigned(const uint8_t* levels, ptrdiff_t steps,
                             uint8_t* widened) {
  for (ptrdiff_t i = 0; i < steps * 128; ++i) widened[i] = levels[i] ^ 0x80;
}

// The rule is doc/numerics.md's. Adding 1.5 * 2^23 rounds to the nearest
// integer, ties to even, which is then in the lowest bits.
static float QuantizeActivations(const float* values, ptrdiff_t n,
                                 int8_t* quantized) {
  constexpr uint32_t kMagnitude = 0x7fffffff;
  constexpr uint32_t kInfinity = 0x7f800000;
  constexpr float kLeast = 0x1p-120f;
  uint32_t greatest = 0;
  for (ptrdiff_t i = 0; i < n; ++i) {
    uint32_t bits;
    __builtin_memcpy(&bits, values + i, sizeof(bits));
    bits &= kMagnitude;
    greatest = bits > greatest ? bits : greatest;
  }
  float magnitude;
  __builtin_memcpy(&magnitude, &greatest, sizeof(magnitude));
  if (greatest >= kInfinity || magnitude < kLeast) {
    for (ptrdiff_t i = 0; i < n; ++i) quantized[i] = 0;
    return greatest >= kInfinity ? __builtin_nanf("") : 0.0f;
  }
  constexpr float kRound = 0x1.8p23f;
  constexpr int32_t kRoundBits = 0x4b400000;
  const float inverse = 127.0f / magnitude;
  for (ptrdiff_t i = 0; i < n; ++i) {
    const float rounded = values[i] * inverse + kRound;
    int32_t bits;
    __builtin_memcpy(&bits, &rounded, sizeof(bits));
    quantized[i] = static_cast<int8_t>(bits - kRoundBits);
  }
  return magnitude / 127.0f;
}

static int32_t SumActivations(const int8_t* values, ptrdiff_t n) {
  int32_t sum = 0;
  for (ptrdiff_t i = 0; i < n; ++i) sum += values[i];
  return sum;
}

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_GROUPS_GROUP_STORE_H_
