// Back-end: what products with group-scaled weights do before they multiply:
// widening of panels, quantization and packing of activations. Plain loops,
// which compilers vectorize for each path.
#ifndef RUY_LIKE_KERNELS_GROUPS_GROUP_PACK_H_
#define RUY_LIKE_KERNELS_GROUPS_GROUP_PACK_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/groups/group_kernel.h"
#include "ruy_like/simd/loops.h"

namespace ruy_like::kernels {
namespace {

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

#endif  // RUY_LIKE_KERNELS_GROUPS_GROUP_PACK_H_
