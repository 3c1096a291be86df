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
  const int rows = Min(args.rows - row, kRows);
  alignas(64) float row_bias[kRows] = {};
  if (args.row_bias != nullptr) {
    __builtin_memcpy(row_bias, args.row_bias + row, rows * sizeof(float));
  }
  const bool has_bias = args.row_bias != nullptr || args.col_bias != nullptr;
  const bool is_float = args.dst_scalar == Scalar::kF32;
  const bool is_whole = is_float && args.dst_row_stride == 1 && rows == kRows;
  const Float low = Simd::SetFloat(args.clamp_min);
  const Float high = Simd::SetFloat(args.clamp_max);
  for (int c = 0; c < args.cols; ++c) {
    float* const values = out + c * kRows;
    const ptrdiff_t at = row * args.dst_row_stride + c * args.dst_col_stride;
    float* const to = is_whole ? static_cast<float*>(args.dst) + at : values;
    const Float scale = Simd::SetFloat(
        args.column_scales == nullptr ? 1.0f : args.column_scales[c]);
    RUY_LIKE_UNROLL
    for (int r = 0; r < kRows; r += Simd::kLanes) {
      Float x = Simd::MulFloat(Simd::LoadAligned(values + r), scale);
      if (has_bias) {
        x = Simd::AddFloat(x, args.row_bias != nullptr
                                  ? Simd::LoadAligned(row_bias + r)
                                  : Simd::SetFloat(args.col_bias[c]));
      }
      x = Simd::AtMost(high, Simd::AtLeast(low, x));  // a NaN stays
      __builtin_memcpy(to + r, &x, sizeof(x));
    }
    if (is_whole) continue;
    if (is_float) {
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

// Modulo 2^32, as the sums of products.
RUY_LIKE_ALWAYS_INLINE uint32_t SumLevels(const int8_t* levels, ptrdiff_t n) {
  uint32_t sum = 0;
  for (ptrdiff_t i = 0; i < n; ++i) sum += static_cast<uint32_t>(levels[i]);
  return sum;
}

// A step's 8 levels of one column, of kBytes bytes each.
template <int kBytes>
RUY_LIKE_ALWAYS_INLINE void PackGroupStep(const int8_t* levels, char* to) {
  if constexpr (kBytes == 1) {
    __builtin_memcpy(to, levels, kGroupStepLevels);
  } else {
    const int16_t words[kGroupStepLevels] = {levels[0], levels[2], levels[1],
                                             levels[3], levels[4], levels[6],
                                             levels[5], levels[7]};
    __builtin_memcpy(to, words, sizeof(words));
  }
}

// Packs a column's steps, the last one padded with zeros.
template <int kBytes>
RUY_LIKE_ALWAYS_INLINE void PackGroupSteps(const int8_t* values,
                                           ptrdiff_t depth, char* to,
                                           ptrdiff_t step_stride) {
  const ptrdiff_t rest = depth % kGroupStepLevels;
  const int8_t* const end = values + depth - rest;
  for (; values < end; values += kGroupStepLevels) {
    PackGroupStep<kBytes>(values, to);
    to += step_stride;
  }
  if (rest == 0) return;
  int8_t padded[kGroupStepLevels] = {};
  __builtin_memcpy(padded, values, rest);
  PackGroupStep<kBytes>(padded, to);
}

// A member of Ops where nothing is faster.
struct PlainGroupStarts {
  // For each of `cols` columns: minus `factor` times the sum of its n levels.
  static RUY_LIKE_ALWAYS_INLINE void SetStarts(const int8_t* values,
                                               ptrdiff_t col_stride, int cols,
                                               ptrdiff_t n, int32_t factor,
                                               int32_t* starts) {
    for (int c = 0; c < cols; ++c) {
      const uint32_t sum = SumLevels(values + c * col_stride, n);
      starts[c] = static_cast<int32_t>(0 - static_cast<uint32_t>(factor) * sum);
    }
  }
};

template <class Ops, int kBytes>
static void PackGroupColumns(const GroupColumnArgs& args) {
  for (int c = 0; c < args.cols && args.packed != nullptr; ++c) {
    PackGroupSteps<kBytes>(args.values + c * args.col_stride, args.depth,
                           args.packed + c * args.packed_col_stride,
                           args.step_stride);
  }
  int32_t* starts = args.starts;
  for (ptrdiff_t k = 0; k < args.depth; k += args.group_levels) {
    const ptrdiff_t left = args.depth - k;
    Ops::SetStarts(args.values + k, args.col_stride, args.cols,
                   left < args.group_levels ? left : args.group_levels,
                   args.factor, starts);
    starts += args.start_stride;
  }
}

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_GROUPS_GROUP_STORE_H_
