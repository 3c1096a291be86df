// Back-end: the pack routines of products with group-scaled weights, which
// widen panels of codes and quantize, gather and sum up activations. Plain
// loops, which compilers vectorize for each path.
#ifndef RUY_LIKE_KERNELS_GROUPS_GROUP_PACK_H_
#define RUY_LIKE_KERNELS_GROUPS_GROUP_PACK_H_

#include <stddef.h>
#include <stdint.h>

#include <type_traits>

#include "ruy_like/float16.h"
#include "ruy_like/kernels/groups/group_args.h"
#include "ruy_like/pack/pack.h"
#include "ruy_like/simd/loops.h"

namespace ruy_like::kernels {
namespace {

// ## Weights

// The order of widened codes: four values of all rows, then their next four.
// SMMLA's path has another (NeonRowPairs).
struct HalvesApart {
  // Steps of a panel from nibbles to bytes. `shifts`: null or, per row, what is
  // added to each code.
  static void WidenNibbles(const uint8_t* __restrict codes, ptrdiff_t steps,
                           const uint8_t* __restrict shifts,
                           uint8_t* __restrict widened) {
    uint8_t shift[64] = {};
    if (shifts != nullptr) {
      for (int i = 0; i < 64; ++i) shift[i] = shifts[i / 4];
    }
    for (ptrdiff_t step = 0; step < steps; ++step) {
      for (int i = 0; i < 64; ++i) {
        widened[i] = (codes[i] & 15) + shift[i];
        widened[64 + i] = (codes[i] >> 4) + shift[i];
      }
      codes += 64;
      widened += 128;
    }
  }
  static void MakeSigned(const uint8_t* codes, ptrdiff_t steps,
                         uint8_t* widened) {
    for (ptrdiff_t i = 0; i < steps * 128; ++i) widened[i] = codes[i] ^ 0x80;
  }
  template <class Vector>
  static RUY_LIKE_ALWAYS_INLINE void Store(const Vector& low,
                                           const Vector& high, int at,
                                           uint8_t* step) {
    __builtin_memcpy(step + at, &low, sizeof(low));
    __builtin_memcpy(step + 64 + at, &high, sizeof(high));
  }
};

template <class Order = HalvesApart>
static void PackSignedCodes(const PackArgs* args) {
  Order::MakeSigned(static_cast<const uint8_t*>(args->src),
                    (args->width + kGroupPanelRows - 1) / kGroupPanelRows *
                        (args->padded_depth / kGroupStepDepth),
                    static_cast<uint8_t*>(args->dst));
}

template <class Order = HalvesApart>
static void PackNibbles(const PackArgs* args) {
  const GroupSizes sizes = args->groups->sizes;
  const ptrdiff_t panels =
      (args->width + kGroupPanelRows - 1) / kGroupPanelRows;
  const uint8_t* codes = static_cast<const uint8_t*>(args->src);
  uint8_t* to = static_cast<uint8_t*>(args->dst);
  const uint8_t* zeros = args->groups->zeros;
  if (zeros == nullptr) {
    Order::WidenNibbles(codes, panels * (args->padded_depth / kGroupStepDepth),
                        nullptr, to);
    return;
  }
  for (ptrdiff_t i = 0; i < panels * sizes.groups; ++i) {
    const bool is_last = (i + 1) % sizes.groups == 0;
    const ptrdiff_t steps =
        is_last ? sizes.last_group_steps : sizes.group_steps;
    uint8_t shifts[kGroupPanelRows];
    for (int row = 0; row < kGroupPanelRows; ++row) {
      shifts[row] = kGroupShiftedZero - zeros[row];
    }
    Order::WidenNibbles(codes, steps, shifts, to);
    codes += steps * 4 * kGroupPanelRows;
    to += steps * 8 * kGroupPanelRows;
    zeros += kGroupPanelRows;
  }
}

// Steps of panels whose values a table has, by Codes (group_sums.h) of halves.
template <class Codes, class Order = HalvesApart>
static void PackByTable(const PackArgs* args) {
  constexpr int kVectorBytes = sizeof(typename Codes::Weights) / 2;
  const auto table = Codes::LoadTable(args->groups->table);
  const uint8_t* codes = static_cast<const uint8_t*>(args->src);
  const uint8_t* const end =
      codes + (args->width + kGroupPanelRows - 1) / kGroupPanelRows *
                  kGroupPanelRows * args->padded_depth / (2 * Codes::kSteps);
  uint8_t* to = static_cast<uint8_t*>(args->dst);
  const auto look_up = [&](auto step) {
    RUY_LIKE_UNROLL
    for (int i = 0; i < 64; i += kVectorBytes) {
      const auto values =
          Codes::template LoadWeights<decltype(step)::value>(codes + i, table);
      Order::Store(values.low, values.high, i, to);
    }
    to += kGroupPanelRows * kGroupStepDepth;
  };
  for (; codes < end; codes += 64) {
    look_up(std::integral_constant<int, 0>());
    if constexpr (Codes::kSteps == 2) look_up(std::integral_constant<int, 1>());
  }
}

// ## Activations

// Quantizes n floats; returns their scale. The rule is doc/numerics.md's.
// Adding 1.5 * 2^23 rounds to the nearest integer, ties to even, which is then
// in the lowest bits.
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

// A step's 8 values of one column, of kBytes bytes each.
template <int kBytes>
RUY_LIKE_ALWAYS_INLINE void PackGroupStep(const int8_t* values, char* to) {
  if constexpr (kBytes == 1) {
    __builtin_memcpy(to, values, kGroupStepDepth);
  } else {
    const int16_t words[kGroupStepDepth] = {values[0], values[2], values[1],
                                            values[3], values[4], values[6],
                                            values[5], values[7]};
    __builtin_memcpy(to, words, sizeof(words));
  }
}

// Packs a column's steps, with zeros behind its depth.
template <int kBytes>
RUY_LIKE_ALWAYS_INLINE void PackGroupSteps(const int8_t* values,
                                           ptrdiff_t depth,
                                           ptrdiff_t padded_depth, char* to,
                                           ptrdiff_t step_stride) {
  const ptrdiff_t rest = depth % kGroupStepDepth;
  const int8_t* const end = values + depth - rest;
  for (; values < end; values += kGroupStepDepth) {
    PackGroupStep<kBytes>(values, to);
    to += step_stride;
  }
  int8_t padded[kGroupStepDepth] = {};
  __builtin_memcpy(padded, values, rest);
  for (ptrdiff_t k = depth - rest; k < padded_depth; k += kGroupStepDepth) {
    PackGroupStep<kBytes>(padded, to);
    to += step_stride;
    __builtin_memset(padded, 0, sizeof(padded));
  }
}

// A member of Ops where nothing is faster.
struct PlainGroupStarts {
  // For each of `cols` columns: minus `factor` times the sum of its n values,
  // modulo 2^32 as the sums of products.
  static RUY_LIKE_ALWAYS_INLINE void SetStarts(const int8_t* values,
                                               ptrdiff_t col_stride, int cols,
                                               ptrdiff_t n, int32_t factor,
                                               int32_t* starts) {
    for (int c = 0; c < cols; ++c) {
      uint32_t sum = 0;
      for (ptrdiff_t i = 0; i < n; ++i) {
        sum += static_cast<uint32_t>(values[c * col_stride + i]);
      }
      starts[c] = static_cast<int32_t>(0 - static_cast<uint32_t>(factor) * sum);
    }
  }
};

// Element k of column c lies at from[k * along + c * across], with a depth
// order that of the element which it names.
template <typename From, typename To>
RUY_LIKE_ALWAYS_INLINE void GatherColumns(const PackArgs& args) {
  const ptrdiff_t along = args.depth_contiguous ? 1 : args.src_stride;
  const ptrdiff_t across = args.depth_contiguous ? args.src_stride : 1;
  const From* const from = static_cast<const From*>(args.src);
  const int32_t* const order = args.groups->depth_order;
  To* to = static_cast<To*>(args.dst);
  for (ptrdiff_t k = 0; k < args.depth; ++k) {
    const From* const at = from + (order == nullptr ? k : order[k]) * along;
    for (ptrdiff_t c = 0; c < args.width; ++c) {
      const From value = at[c * across];
      if constexpr (sizeof(From) == 2) {
        to[c * args.padded_depth + k] = float16_internal::FloatOfBits(
            float16_internal::WidenBFloat16(value));
      } else {
        to[c * args.padded_depth + k] = value;
      }
    }
  }
  for (ptrdiff_t c = 0; c < args.width; ++c, to += args.padded_depth) {
    for (ptrdiff_t k = args.depth; k < args.padded_depth; ++k) to[k] = 0;
  }
}

// Copies columns to contiguous ones, padded_depth elements from each other and
// padded with zeros; floats of 16 bits are widened.
template <class Ops>
RUY_LIKE_ALWAYS_INLINE void CopyColumns(const PackArgs& args) {
  const bool is_int8 = args.src_scalar == Scalar::kI8;
  // The routines transpose squares of 16 bytes: half of one must be there.
  const int least_cols = args.depth_contiguous ? 1 : is_int8 ? 8 : 4;
  PackFn* const copy = is_int8 ? Ops::kCopyInt8 : Ops::kCopyFloats;
  if (copy != nullptr && args.width >= least_cols &&
      args.groups->depth_order == nullptr) {
    copy(&args);
  } else if (is_int8) {
    GatherColumns<int8_t, int8_t>(args);
  } else if (args.src_scalar == Scalar::kBF16) {
    GatherColumns<uint16_t, float>(args);
  } else {
    GatherColumns<float, float>(args);
  }
}

// Quantizes one column, `c` of those that args is for.
RUY_LIKE_ALWAYS_INLINE void QuantizeColumn(const PackArgs& args, ptrdiff_t c,
                                           const float* values,
                                           int8_t* quantized) {
  const GroupPackArgs& groups = *args.groups;
  if (!groups.has_group_scales) {
    groups.scales[c] = QuantizeActivations(values, args.depth, quantized);
    return;
  }
  groups.scales[c] = 1;
  const ptrdiff_t group_depth = groups.sizes.group_steps * kGroupStepDepth;
  float* scale = groups.group_scales + c;
  for (ptrdiff_t k = 0; k < args.depth; k += group_depth) {
    const ptrdiff_t left = args.depth - k;
    *scale =
        QuantizeActivations(values + k, Min(left, group_depth), quantized + k);
    scale += groups.group_stride;
  }
}

// Some of the columns, from `first` on, as int8 values, each contiguous.
struct GroupColumns {
  const int8_t* values;
  ptrdiff_t stride;
  bool are_packed;  // they are in their places already
};

template <class Ops, bool kIsPlain>
RUY_LIKE_ALWAYS_INLINE GroupColumns MakeGroupColumns(const PackArgs& args,
                                                     ptrdiff_t first, int cols,
                                                     char* packed) {
  const GroupPackArgs& groups = *args.groups;
  const bool is_int8 = args.src_scalar == Scalar::kI8;
  PackArgs copy = args;
  copy.src = static_cast<const char*>(args.src) +
             first * (args.depth_contiguous ? args.src_stride : 1) *
                 kScalarBytes[static_cast<int>(args.src_scalar)];
  copy.width = cols;
  copy.sums = nullptr;
  char* scratch = groups.scratch;
  ptrdiff_t stride = args.src_stride;
  const bool copies = !args.depth_contiguous ||
                      args.src_scalar == Scalar::kBF16 ||
                      groups.depth_order != nullptr;
  if (copies) {
    copy.dst = is_int8 && kIsPlain ? packed : scratch;
    stride =
        is_int8 && kIsPlain ? groups.panel_bytes : args.depth + kGroupColGap;
    copy.padded_depth = stride;
    CopyColumns<Ops>(copy);
    copy.src = copy.dst;
    scratch += kGroupFloatCols * stride * sizeof(float);
  }
  if (is_int8) {
    return {static_cast<const int8_t*>(copy.src), stride, copies && kIsPlain};
  }
  const ptrdiff_t to_stride = kIsPlain ? groups.panel_bytes : args.depth;
  int8_t* const to = reinterpret_cast<int8_t*>(kIsPlain ? packed : scratch);
  for (int c = 0; c < cols; ++c) {
    int8_t* const column = to + c * to_stride;
    QuantizeColumn(args, first + c,
                   static_cast<const float*>(copy.src) + c * stride, column);
    for (ptrdiff_t k = args.depth; k < to_stride; ++k) column[k] = 0;
  }
  return {to, to_stride, kIsPlain};
}

// A PackFn: columns of floats as int8 values side by side, and their scales.
template <class Ops>
static void QuantizeColumns(const PackArgs* args) {
  char* const dst = static_cast<char*>(args->dst);
  for (ptrdiff_t first = 0; first < args->width; first += kGroupFloatCols) {
    MakeGroupColumns<Ops, true>(*args, first,
                                Min(args->width - first, kGroupFloatCols),
                                dst + first * args->groups->panel_bytes);
  }
}

// A PackFn. Ops has
//   kCopyInt8, kCopyFloats  routines for panels of one column, or null
//   SetStarts               see PlainGroupStarts
template <class Ops, class Form>
static void PackActivations(const PackArgs* args) {
  constexpr int kBytes = Form::Codes::kActivationBytes;
  constexpr bool kIsPlain = !Form::kInterleavesColumns && kBytes == 1;
  constexpr ptrdiff_t kColBytes = kGroupStepDepth * kBytes;
  const GroupPackArgs& groups = *args->groups;
  char* const dst = static_cast<char*>(args->dst);
  const ptrdiff_t group_depth = groups.sizes.group_steps * kGroupStepDepth;
  const int most =
      args->src_scalar == Scalar::kI8 ? kGroupByteCols : kGroupFloatCols;
  for (ptrdiff_t first = 0; first < args->width; first += most) {
    const int cols = Min(args->width - first, most);
    const GroupColumns columns = MakeGroupColumns<Ops, kIsPlain>(
        *args, first, cols, dst + (kIsPlain ? first * groups.panel_bytes : 0));
    for (int c = 0; c < cols && dst != nullptr && !columns.are_packed; ++c) {
      const ptrdiff_t panel = (first + c) / groups.panel_cols;
      const ptrdiff_t in_panel = (first + c) % groups.panel_cols;
      PackGroupSteps<kBytes>(
          columns.values + c * columns.stride, args->depth, args->padded_depth,
          dst + panel * groups.panel_bytes + in_panel * kColBytes,
          groups.panel_cols * kColBytes);
    }
    int32_t* starts = groups.starts + first;
    for (ptrdiff_t k = 0; k < args->depth; k += group_depth) {
      const ptrdiff_t left = args->depth - k;
      Ops::SetStarts(columns.values + k, columns.stride, cols,
                     Min(left, group_depth), groups.factor, starts);
      starts += groups.group_stride;
    }
  }
}

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_GROUPS_GROUP_PACK_H_
