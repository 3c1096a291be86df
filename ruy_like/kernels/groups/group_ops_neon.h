// Back-end: the operations of group_tile.h for Arm, without and with SDOT.
#ifndef RUY_LIKE_KERNELS_GROUPS_GROUP_OPS_NEON_H_
#define RUY_LIKE_KERNELS_GROUPS_GROUP_OPS_NEON_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/groups/group_pack.h"
#include "ruy_like/kernels/groups/group_table.h"
#include "ruy_like/kernels/groups/group_tile.h"
#include "ruy_like/pack/pack_routines.h"
#include "ruy_like/simd/loops.h"
#include "ruy_like/simd/neon.h"
#include "ruy_like/simd/simd_neon.h"

namespace ruy_like::kernels {
namespace {

// Bytes: a part is four codes of each row.
struct NeonDotBase : WithoutTable {
  typedef int8x16_t Weights;      // of four rows
  typedef int8x16_t Activations;  // for each row
  static constexpr int kParts = 2;
  static constexpr int kActivationBytes = 1;
  static RUY_LIKE_ALWAYS_INLINE Weights LoadWeights(const uint8_t* p) {
    return vreinterpretq_s8_u8(vld1q_u8(p));
  }
  static RUY_LIKE_ALWAYS_INLINE Activations LoadActivations(const char* p) {
    int32_t quad;
    __builtin_memcpy(&quad, p, sizeof(quad));
    return vreinterpretq_s8_s32(vdupq_n_s32(quad));
  }
};

// A product of two int8 fits 16 bits. Each 32-bit lane sums two of a row's four
// values.
struct NeonWidenDot : NeonDotBase {
  struct Acc {
    int32x4_t first, second;  // rows 0 and 1, 2 and 3
  };
  static RUY_LIKE_ALWAYS_INLINE Acc Start(int32_t x) {
    const int32x4_t start = {x, 0, x, 0};
    return {start, start};
  }
  static RUY_LIKE_ALWAYS_INLINE int32x4_t Finish(const Acc& acc) {
    return vpaddq_s32(acc.first, acc.second);
  }
  static RUY_LIKE_ALWAYS_INLINE void Step(Acc& acc, Weights weights,
                                          Activations activations) {
    acc.first = vpadalq_s16(
        acc.first, vmull_s8(vget_low_s8(weights), vget_low_s8(activations)));
    acc.second = vpadalq_s16(acc.second, vmull_high_s8(weights, activations));
  }
};

template <class Dot>
struct NeonNibbles : HalvesOf<Dot> {
  typedef typename HalvesOf<Dot>::Weights Weights;
  static RUY_LIKE_ALWAYS_INLINE Weights LoadWeights(const uint8_t* p) {
    const uint8x16_t both = vld1q_u8(p);
    return {vreinterpretq_s8_u8(vandq_u8(both, vdupq_n_u8(15))),
            vreinterpretq_s8_u8(vshrq_n_u8(both, 4))};
  }
};

// 15 * 128 * 2 fits 16 bits: both halves share a widening addition.
struct NeonWidenNibbles : NeonNibbles<NeonWidenDot> {
  static RUY_LIKE_ALWAYS_INLINE void Step(Acc& acc, const Weights& weights,
                                          const Activations& activations) {
    int16x8_t first =
        vmull_s8(vget_low_s8(weights.low), vget_low_s8(activations.low));
    first = vmlal_s8(first, vget_low_s8(weights.high),
                     vget_low_s8(activations.high));
    acc.first = vpadalq_s16(acc.first, first);
    int16x8_t second = vmull_high_s8(weights.low, activations.low);
    second = vmlal_high_s8(second, weights.high, activations.high);
    acc.second = vpadalq_s16(acc.second, second);
  }
};

#ifdef __ARM_FEATURE_DOTPROD
struct NeonSdot : NeonDotBase {
  typedef int32x4_t Acc;
  static RUY_LIKE_ALWAYS_INLINE Acc Start(int32_t x) { return vdupq_n_s32(x); }
  static RUY_LIKE_ALWAYS_INLINE int32x4_t Finish(Acc acc) { return acc; }
  static RUY_LIKE_ALWAYS_INLINE void Step(Acc& acc, Weights weights,
                                          Activations activations) {
    acc = vdotq_s32(acc, weights, activations);
  }
};
#endif

// Codes of kBits from bit kShift on.
template <int kBits, int kShift>
RUY_LIKE_ALWAYS_INLINE uint8x16_t LookUp(uint8x16_t codes, uint8x16_t table) {
  if constexpr (kShift != 0) codes = vshrq_n_u8(codes, kShift);
  return vqtbl1q_u8(table, vandq_u8(codes, vdupq_n_u8((1 << kBits) - 1)));
}

// Codes of a table, as Base multiplies halves of a step.
template <class Base, int kBits>
struct NeonByTable : Base {
  static constexpr bool kByTable = true;
  static constexpr int kSteps = 4 / kBits;
  static RUY_LIKE_ALWAYS_INLINE uint8x16_t LoadTable(const uint8_t* table) {
    return vld1q_u8(table);
  }
  template <int kStep>
  static RUY_LIKE_ALWAYS_INLINE typename Base::Weights LoadWeights(
      const uint8_t* p, uint8x16_t table) {
    constexpr int kShift = 2 * kBits * kStep;
    const uint8x16_t codes = vld1q_u8(p);
    return {vreinterpretq_s8_u8(LookUp<kBits, kShift>(codes, table)),
            vreinterpretq_s8_u8(LookUp<kBits, kShift + kBits>(codes, table))};
  }
};

// PackByTable's Codes.
template <int kBits>
using NeonLookup = NeonByTable<NeonNibbles<NeonWidenDot>, kBits>;

// Codes of 8 bits as they are packed: their top bits are flipped here, while
// they are widened where that is done.
template <class Dot>
struct NeonFlippedBytes : Dot {
  static RUY_LIKE_ALWAYS_INLINE int8x16_t LoadWeights(const uint8_t* p) {
    return vreinterpretq_s8_u8(veorq_u8(vld1q_u8(p), vdupq_n_u8(0x80)));
  }
};

template <class CodesT>
struct NeonStreamForm : GroupForm<SimdNeon, CodesT> {
  static constexpr bool kReadsApart = true;
  static constexpr bool kIsSigned = CodesT::kParts == 2 || CodesT::kByTable;
  static constexpr bool FloatsInRegisters(int /*cols*/) { return true; }
  static constexpr bool Prefetches(int /*cols*/) { return CodesT::kParts == 1; }
};

// Float sums stay in L1: the integer ones and the weights fill the registers.
template <class CodesT, int kCols>
struct NeonTileForm : GroupForm<SimdNeon, CodesT, kCols> {
  static constexpr bool kIsSigned = true;
};

// For PackActivations.
struct NeonGroupOps : PlainGroupStarts {
  static constexpr PackFn* kCopyInt8 = PackNeon_8_S8_1x1;
  static constexpr PackFn* kCopyFloats = PackNeon_F32_F32_1x1;
};

// The kernels of a path: codes are read as they are packed for up to kMaxCols
// columns (kMaxNibbleCols of 4 bits), else widened in the order that Tile
// wants. Of any values of a table two products do not fit 16 bits: these are
// multiplied as halves of bytes.
template <class Dot, class Tile, int kMacsPerNs, int kTileMacsPerNs,
          int kMaxCols, int kMaxNibbleCols = kMaxCols,
          class Nibbles = NeonNibbles<Dot>, class Order = HalvesApart>
struct NeonGroupKernels {
  typedef NeonGroupOps Ops;
  template <int kBits>
  using ByTable = NeonStreamForm<NeonByTable<NeonNibbles<Dot>, kBits>>;
  static constexpr Kernel kList[] = {
      GroupEntry<Ops, NeonStreamForm<Nibbles>>("G4S8", kPackedCodes4, nullptr,
                                               kMacsPerNs, kMaxNibbleCols),
      GroupEntry<Ops, Tile>("G4W8S8", kPackedCodes4, PackNibbles<Order>,
                            kTileMacsPerNs),
      GroupEntry<Ops, NeonStreamForm<NeonFlippedBytes<Dot>>>(
          "G8S8", kPackedCodes8, nullptr, kMacsPerNs, kMaxCols),
      GroupEntry<Ops, Tile>("G8W8S8", kPackedCodes8, PackSignedCodes<Order>,
                            kTileMacsPerNs),
      GroupEntry<Ops, ByTable<4>>("T4S8", kPackedTable4, nullptr, kMacsPerNs,
                                  kMaxCols),
      GroupEntry<Ops, ByTable<2>>("T2S8", kPackedTable2, nullptr, kMacsPerNs,
                                  kMaxCols),
      GroupEntry<Ops, Tile>("T4W8S8", kPackedTable4,
                            PackByTable<NeonLookup<4>, Order>, kTileMacsPerNs),
      GroupEntry<Ops, Tile>("T2W8S8", kPackedTable2,
                            PackByTable<NeonLookup<2>, Order>, kTileMacsPerNs),
  };
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_GROUPS_GROUP_OPS_NEON_H_
