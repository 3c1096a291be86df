// Back-end: the NEON register operations that packing is made of.
//
// Included by pack_neon.h (anonymous namespace); used by the templates of
// pack_panels.h. The counterpart of pack_ymm.h, which explains the terms. A
// "register" is kRegs vectors here: it holds the quads of 4 * kRegs adjacent
// columns, 4 in each vector, so that a panel of 8 columns is written at once.
#ifndef RUY_LIKE_PACK_PACK_QUADS_NEON_H_
#define RUY_LIKE_PACK_PACK_QUADS_NEON_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/pack/pack_common.h"
#include "ruy_like/simd/neon.h"
#include "ruy_like/simd/simd_neon.h"

namespace ruy_like::kernels {
namespace {

// Transposes the 4x4 matrix of 32-bit elements.
RUY_LIKE_ALWAYS_INLINE void TransposeQuads(uint32x4_t m[4]) {
  int32x4_t x[4];
  for (int i = 0; i < 4; ++i) x[i] = vreinterpretq_s32_u32(m[i]);
  SimdNeon::Transpose(x);
  for (int i = 0; i < 4; ++i) m[i] = vreinterpretq_u32_s32(x[i]);
}

template <int kRegs>
struct NeonQuads {
  struct Reg {
    uint32x4_t v[kRegs];
  };
  static constexpr int kColumns = 4 * kRegs;
  static constexpr int kBlocksPerStep = 1;

  // Copies count <= kBytes bytes to dst and zeros behind them, kBytes in all.
  template <int kBytes>
  static void CopyPadded(char* dst, const char* src, int count) {
    __builtin_memset(dst, 0, kBytes);
    __builtin_memcpy(dst, src, static_cast<size_t>(count));
  }

  RUY_LIKE_ALWAYS_INLINE static Reg Zero() { return Splat(0); }
  RUY_LIKE_ALWAYS_INLINE static Reg Splat(uint32_t quad) {
    Reg a;
    for (int r = 0; r < kRegs; ++r) a.v[r] = vdupq_n_u32(quad);
    return a;
  }
  RUY_LIKE_ALWAYS_INLINE static Reg Add8(Reg a, const Reg& b) {
    for (int r = 0; r < kRegs; ++r) {
      a.v[r] = vreinterpretq_u32_u8(
          vaddq_u8(vreinterpretq_u8_u32(a.v[r]), vreinterpretq_u8_u32(b.v[r])));
    }
    return a;
  }
  RUY_LIKE_ALWAYS_INLINE static Reg And(Reg a, const Reg& b) {
    for (int r = 0; r < kRegs; ++r) a.v[r] = vandq_u32(a.v[r], b.v[r]);
    return a;
  }
  // The first `columns` quads all ones, the others zero.
  RUY_LIKE_ALWAYS_INLINE static Reg ColumnMask(int columns) {
    Reg a;
    for (int r = 0; r < kRegs; ++r) {
      const int32x4_t index = vreinterpretq_s32_u64(
          vcombine_u64(vcreate_u64(uint64_t{1} << 32),
                       vcreate_u64(2 + (uint64_t{3} << 32))));
      a.v[r] = vcltq_s32(index, vdupq_n_s32(columns - 4 * r));
    }
    return a;
  }

  // 16 bytes of columns kColumn, 4 + kColumn, one in each vector.
  template <int kWidth, int kColumn, typename Columns>
  RUY_LIKE_ALWAYS_INLINE static Reg LoadColumns(const Columns& columns,
                                                ptrdiff_t offset) {
    static_assert(kWidth == kColumns && kRegs <= 2, "");
    Reg a;
    a.v[0] = Load(columns.template At<kColumn>() + offset);
    if constexpr (kRegs == 2) {
      a.v[1] = Load(columns.template At<4 + kColumn>() + offset);
    }
    return a;
  }
  // In: v[i] from LoadColumns<i>. Out: v[j] holds quad j of all columns.
  RUY_LIKE_ALWAYS_INLINE static void Transpose(Reg v[4]) {
    for (int r = 0; r < kRegs; ++r) {
      uint32x4_t m[4] = {v[0].v[r], v[1].v[r], v[2].v[r], v[3].v[r]};
      TransposeQuads(m);
      for (int i = 0; i < 4; ++i) v[i].v[r] = m[i];
    }
  }

  // Quads of kColumns columns from 4 / kSrcBytes rows of one level each.
  template <int kSrcBytes>
  RUY_LIKE_ALWAYS_INLINE static Reg LoadRows(const char* src,
                                             ptrdiff_t stride) {
    Reg a;
    if constexpr (kSrcBytes == 1) {
      const uint8x16_t even =
          vzip1q_u8(LoadRow(src), LoadRow(src + 2 * stride));
      const uint8x16_t odd =
          vzip1q_u8(LoadRow(src + stride), LoadRow(src + 3 * stride));
      a.v[0] = vreinterpretq_u32_u8(vzip1q_u8(even, odd));
      if constexpr (kRegs == 2) {
        a.v[1] = vreinterpretq_u32_u8(vzip2q_u8(even, odd));
      }
    } else if constexpr (kSrcBytes == 2) {
      uint16x8_t even, odd;
      if constexpr (kRegs == 2) {
        even = vreinterpretq_u16_u32(Load(src));
        odd = vreinterpretq_u16_u32(Load(src + stride));
      } else {
        even = vreinterpretq_u16_u8(LoadEight(src));
        odd = vreinterpretq_u16_u8(LoadEight(src + stride));
      }
      a.v[0] = vreinterpretq_u32_u16(vzip1q_u16(even, odd));
      if constexpr (kRegs == 2) {
        a.v[1] = vreinterpretq_u32_u16(vzip2q_u16(even, odd));
      }
    } else {
      for (int r = 0; r < kRegs; ++r) a.v[r] = Load(src + 16 * r);
    }
    return a;
  }

  // Writes a block in the layout F.
  template <typename F>
  RUY_LIKE_ALWAYS_INLINE static void StoreBlock(char* dst, const Reg quads[4]) {
    static_assert(F::kWidth == kColumns, "");
    constexpr int kDepthGroupBytes = F::kDepthGroup * F::kSrcBytes;
    if constexpr (F::Packed::kWidensFloats) {
      static_assert(F::kDepthGroup == 1, "");
      for (int q = 0; q < 4; ++q) {
        for (int r = 0; r < kRegs; ++r) {
          char* const to = dst + 16 * (2 * q * kRegs + r);
          StoreLevelsOfFloats<F::Packed::kSource>(quads[q].v[r], to,
                                                  to + 16 * kRegs);
        }
      }
    } else if constexpr (F::kPacked == Scalar::kI16) {
      static_assert(F::kDepthGroup == 1, "");
      for (int q = 0; q < 4; ++q) {
        if constexpr (F::kSrcBytes == 1) {
          StoreLevelsOfBytes(dst + 32 * kRegs * q, quads[q]);
        } else {
          StoreLevelsOfWords(dst + 16 * kRegs * q, quads[q]);
        }
      }
    } else if constexpr (kDepthGroupBytes == 4) {
      for (int q = 0; q < 4; ++q) {
        for (int r = 0; r < kRegs; ++r) {
          Store(dst + 16 * (q * kRegs + r), quads[q].v[r]);
        }
      }
    } else if constexpr (kDepthGroupBytes == 8) {
      for (int half = 0; half < 2; ++half) {
        for (int r = 0; r < kRegs; ++r) {
          const uint32x4_t even = quads[2 * half].v[r];
          const uint32x4_t odd = quads[2 * half + 1].v[r];
          char* const to = dst + 32 * (half * kRegs + r);
          Store(to, vzip1q_u32(even, odd));
          Store(to + 16, vzip2q_u32(even, odd));
        }
      }
    } else {
      static_assert(kDepthGroupBytes == 16, "");
      for (int r = 0; r < kRegs; ++r) {
        uint32x4_t m[4] = {quads[0].v[r], quads[1].v[r], quads[2].v[r],
                           quads[3].v[r]};
        TransposeQuads(m);
        for (int c = 0; c < 4; ++c) Store(dst + 16 * (4 * r + c), m[c]);
      }
    }
  }

  // Sums over depth: one 32-bit sum for each column, made of 16-bit halves of a
  // quad where its elements are bytes (pack_ymm.h).
  RUY_LIKE_ALWAYS_INLINE static Reg SumHalvesS8(Reg quads) {
    for (int r = 0; r < kRegs; ++r) {
      quads.v[r] =
          vreinterpretq_u32_s16(vpaddlq_s8(vreinterpretq_s8_u32(quads.v[r])));
    }
    return quads;
  }
  RUY_LIKE_ALWAYS_INLINE static Reg SumHalvesU8(Reg quads) {
    for (int r = 0; r < kRegs; ++r) {
      quads.v[r] =
          vreinterpretq_u32_u16(vpaddlq_u8(vreinterpretq_u8_u32(quads.v[r])));
    }
    return quads;
  }
  RUY_LIKE_ALWAYS_INLINE static Reg SumWords(Reg quads) {
    for (int r = 0; r < kRegs; ++r) {
      quads.v[r] =
          vreinterpretq_u32_s32(vpaddlq_s16(vreinterpretq_s16_u32(quads.v[r])));
    }
    return quads;
  }
  RUY_LIKE_ALWAYS_INLINE static Reg Add16(Reg a, const Reg& b) {
    for (int r = 0; r < kRegs; ++r) {
      a.v[r] = vreinterpretq_u32_u16(vaddq_u16(vreinterpretq_u16_u32(a.v[r]),
                                               vreinterpretq_u16_u32(b.v[r])));
    }
    return a;
  }
  RUY_LIKE_ALWAYS_INLINE static Reg Add32(Reg a, const Reg& b) {
    for (int r = 0; r < kRegs; ++r) a.v[r] = vaddq_u32(a.v[r], b.v[r]);
    return a;
  }

  RUY_LIKE_ALWAYS_INLINE static Reg LoadSums(const int32_t* sums, int columns) {
    alignas(16) uint32_t all[kColumns] = {};
    __builtin_memcpy(all, sums, sizeof(int32_t) * static_cast<size_t>(columns));
    Reg a;
    for (int r = 0; r < kRegs; ++r) a.v[r] = vld1q_u32(all + 4 * r);
    return a;
  }
  RUY_LIKE_ALWAYS_INLINE static void StoreSums(int32_t* sums, int columns,
                                               const Reg& a) {
    if (columns == kColumns) {
      for (int r = 0; r < kRegs; ++r) {
        vst1q_s32(sums + 4 * r, vreinterpretq_s32_u32(a.v[r]));
      }
      return;
    }
    alignas(16) uint32_t all[kColumns];
    for (int r = 0; r < kRegs; ++r) vst1q_u32(all + 4 * r, a.v[r]);
    __builtin_memcpy(sums, all, sizeof(int32_t) * static_cast<size_t>(columns));
  }

 private:
  RUY_LIKE_ALWAYS_INLINE static uint32x4_t Load(const char* src) {
    return vreinterpretq_u32_u8(
        vld1q_u8(reinterpret_cast<const uint8_t*>(src)));
  }
  RUY_LIKE_ALWAYS_INLINE static void Store(char* dst, uint32x4_t x) {
    vst1q_u8(reinterpret_cast<uint8_t*>(dst), vreinterpretq_u8_u32(x));
  }
  RUY_LIKE_ALWAYS_INLINE static uint8x16_t LoadEight(const char* src) {
    return vcombine_u8(vld1_u8(reinterpret_cast<const uint8_t*>(src)),
                       vdup_n_u8(0));
  }
  // kColumns bytes.
  RUY_LIKE_ALWAYS_INLINE static uint8x16_t LoadRow(const char* src) {
    if constexpr (kRegs == 2) {
      return LoadEight(src);
    } else {
      uint32_t four;
      __builtin_memcpy(&four, src, sizeof(four));
      return vreinterpretq_u8_u32(vsetq_lane_u32(four, vdupq_n_u32(0), 0));
    }
  }

  // Four levels of bytes, widened, each level's columns together.
  RUY_LIKE_ALWAYS_INLINE static void StoreLevelsOfBytes(char* dst,
                                                        const Reg& quads) {
    const uint8x16_t order = vreinterpretq_u8_u64(vcombine_u64(
        vcreate_u64(0x0d0905010c080400), vcreate_u64(0x0f0b07030e0a0602)));
    uint32x4_t levels[2];
    for (int r = 0; r < kRegs; ++r) {
      levels[r] = vreinterpretq_u32_u8(
          vqtbl1q_u8(vreinterpretq_u8_u32(quads.v[r]), order));
    }
    if constexpr (kRegs == 2) {
      const uint32x4_t low = vzip1q_u32(levels[0], levels[1]);
      levels[1] = vzip2q_u32(levels[0], levels[1]);
      levels[0] = low;
    }
    for (int r = 0; r < kRegs; ++r) {
      const int8x16_t bytes = vreinterpretq_s8_u32(levels[r]);
      Store(dst + 32 * r, vreinterpretq_u32_s16(vmovl_s8(vget_low_s8(bytes))));
      Store(dst + 32 * r + 16, vreinterpretq_u32_s16(vmovl_high_s8(bytes)));
    }
  }
  // Widens the 16-bit floats in the lower halves of quads to `low`, the upper
  // ones to `high`.
  template <Scalar kSource>
  RUY_LIKE_ALWAYS_INLINE static void StoreLevelsOfFloats(uint32x4_t quads,
                                                         char* low,
                                                         char* high) {
    Store(low,
          vreinterpretq_u32_f32(SimdNeon::Widen<kSource>(vmovn_u32(quads))));
    Store(high, vreinterpretq_u32_f32(
                    SimdNeon::Widen<kSource>(vshrn_n_u32(quads, 16))));
  }
  // Two levels of words, each level's columns together.
  RUY_LIKE_ALWAYS_INLINE static void StoreLevelsOfWords(char* dst,
                                                        const Reg& quads) {
    const uint16x8_t low = vreinterpretq_u16_u32(quads.v[0]);
    const uint16x8_t high = vreinterpretq_u16_u32(quads.v[kRegs - 1]);
    const uint16x8_t even = vuzp1q_u16(low, high);
    const uint16x8_t odd = vuzp2q_u16(low, high);
    if constexpr (kRegs == 2) {
      Store(dst, vreinterpretq_u32_u16(even));
      Store(dst + 16, vreinterpretq_u32_u16(odd));
    } else {
      Store(dst, vreinterpretq_u32_u64(vzip1q_u64(vreinterpretq_u64_u16(even),
                                                  vreinterpretq_u64_u16(odd))));
    }
  }
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_PACK_PACK_QUADS_NEON_H_
