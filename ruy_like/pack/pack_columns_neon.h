// Back-end: packing of depth-contiguous sources on Arm.
//
// Used by pack_rows_neon.h in place of the general routine (pack_panels.h),
// which is left with 16-bit and widened elements that need sums or have edges.
// Edges must cost little, since small products spend as long in packing as in
// multiplying: missing columns of a last panel are loads of its last one,
// masked to 0; the elements after the last whole block are two overlapping
// loads, put in order by TBL, which makes missing ones 0.
#ifndef RUY_LIKE_PACK_PACK_COLUMNS_NEON_H_
#define RUY_LIKE_PACK_PACK_COLUMNS_NEON_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/pack/pack_blocks.h"
#include "ruy_like/pack/pack_common.h"
#include "ruy_like/pack/pack_quads.h"
#include "ruy_like/simd/neon.h"
#include "ruy_like/simd/simd_neon.h"

namespace ruy_like::kernels {
namespace {

// Writes a block of 16 bytes of each column. Panels of four columns whose
// dots are quads use the store that interleaves four vectors, which is faster
// on most cores (doc/tuning.md).
template <typename F>
RUY_LIKE_ALWAYS_INLINE void WriteBlock(typename F::V::Reg (&v)[4], char* dst) {
  typedef typename F::V V;
  constexpr int kRegs = F::kWidth / 4;
  constexpr int kDotBytes = F::kDotWidth * F::kSrcBytes;
  if constexpr (kDotBytes == 16) {
    for (int r = 0; r < kRegs; ++r) {
      for (int c = 0; c < 4; ++c) {
        SimdNeon::StoreBytes(dst + 64 * r + 16 * c, v[c].v[r]);
      }
    }
  } else if constexpr (kDotBytes == 8) {
    for (int r = 0; r < kRegs; ++r) {
      for (int pair = 0; pair < 2; ++pair) {
        int32x4_t a = v[2 * pair].v[r], b = v[2 * pair + 1].v[r];
        SimdNeon::Zip64(a, b);
        char* const to = dst + 32 * r + 16 * pair;
        SimdNeon::StoreBytes(to, a);
        SimdNeon::StoreBytes(to + 32 * kRegs, b);
      }
    }
  } else if constexpr (kDotBytes == 4 && kRegs == 1) {
    const int32x4x4_t four = {{v[0].v[0], v[1].v[0], v[2].v[0], v[3].v[0]}};
    vst4q_s32(reinterpret_cast<int32_t*>(dst), four);
  } else {
    V::Transpose(v);
    V::template StoreBlock<F>(dst, v);
  }
}

// The last bytes of columns, fewer than 16.
class TailLoader {
 public:
  explicit RUY_LIKE_ALWAYS_INLINE TailLoader(int bytes) : bytes_(bytes) {
    // Byte i of a column is byte i of the first load or, from its end on, of
    // the second one.
    const int load = bytes >= 8 ? 8 : bytes >= 4 ? 4 : 16;
    const uint8x16_t i = vreinterpretq_u8_u64(vcombine_u64(
        vcreate_u64(0x0706050403020100), vcreate_u64(0x0f0e0d0c0b0a0908)));
    const uint8x16_t second =
        vaddq_u8(i, vdupq_n_u8(static_cast<uint8_t>(2 * load - bytes)));
    const uint8x16_t order = vbslq_u8(
        vcltq_u8(i, vdupq_n_u8(static_cast<uint8_t>(load))), i, second);
    order_ =
        vornq_u8(order, vcltq_u8(i, vdupq_n_u8(static_cast<uint8_t>(bytes))));
  }

  // Returns the tail's bytes, in the order of the loads; the others are
  // undefined.
  RUY_LIKE_ALWAYS_INLINE uint8x16_t Load(const char* p) const {
    const uint8_t* const first = reinterpret_cast<const uint8_t*>(p);
    if (bytes_ >= 8) {
      return vcombine_u8(vld1_u8(first), vld1_u8(first + bytes_ - 8));
    }
    uint64_t both;
    if (bytes_ >= 4) {
      uint32_t low, high;
      __builtin_memcpy(&low, p, 4);
      __builtin_memcpy(&high, p + bytes_ - 4, 4);
      both = low | uint64_t{high} << 32;
    } else {
      // Up to three, some of them the same one.
      const int middle = bytes_ / 2, last = bytes_ - 1;
      both = first[0] | uint64_t{first[middle]} << 8 * middle |
             uint64_t{first[last]} << 8 * last;
    }
    return vcombine_u8(vcreate_u8(both), vdup_n_u8(0));
  }
  // The bytes of Load() in order, then zeros.
  RUY_LIKE_ALWAYS_INLINE uint8x16_t InOrder(uint8x16_t loaded) const {
    return vqtbl1q_u8(loaded, order_);
  }

 private:
  const int bytes_;
  uint8x16_t order_;
};

// A panel without edges, whose elements are not changed.
template <typename F>
RUY_LIKE_ALWAYS_INLINE void PackPlainPanel(const PackArgs& args,
                                           const char* src, char* dst) {
  typedef typename F::V V;
  Columns<F::kWidth> columns(src, args.src_stride * F::kSrcBytes);
  for (ptrdiff_t left = args.depth * F::kSrcBytes; left > 0; left -= 16) {
    typename V::Reg v[4];
    RUY_LIKE_UNROLL
    for (int i = 0; i < 4; ++i) {
      v[i] = V::template LoadColumns<F::kWidth>(columns, i, 0);
    }
    WriteBlock<F>(v, dst);
    columns.Advance(16);
    dst += F::kBlockBytes;
  }
}

// Packs the blocks of any other panel. kSums: bytes, of which sums are wanted.
// kWhole: all columns exist.
template <typename F, bool kSums, bool kWhole>
class PanelPacker {
  typedef typename F::V V;
  static constexpr int kWidth = F::kWidth;
  // Blocks whose bytes are summed in 16-bit lanes: a lane adds two of each.
  static constexpr ptrdiff_t kStretch = 64;

 public:
  RUY_LIKE_ALWAYS_INLINE PanelPacker(const char* src, ptrdiff_t stride,
                                     int columns, bool shifts)
      : flip_(vdupq_n_u8(shifts ? 0x80 : 0)) {
    RUY_LIKE_UNROLL
    for (int w = 0; w < kWidth; ++w) {
      const bool exists = w < columns;
      columns_[w] = src + (exists ? w : columns - 1) * stride;
      mask_[w] = vdupq_n_u8(exists ? 0xff : 0);
      if (kSums) total_[w] = vdupq_n_s32(0);
    }
  }

  // Blocks of `bytes` bytes, a multiple of 16, of each column.
  RUY_LIKE_ALWAYS_INLINE void PackWhole(ptrdiff_t bytes, char* dst) {
    for (ptrdiff_t k = 0; k < bytes;) {
      const ptrdiff_t end =
          kSums && bytes - k > 16 * kStretch ? k + 16 * kStretch : bytes;
      int16x8_t sums[kWidth];
      RUY_LIKE_UNROLL
      for (int w = 0; w < kWidth; ++w) sums[w] = vdupq_n_s16(0);
      for (; k < end; k += 16) {
        typename V::Reg v[4];
        RUY_LIKE_UNROLL
        for (int w = 0; w < kWidth; ++w) {
          const uint8x16_t bytes16 =
              vld1q_u8(reinterpret_cast<const uint8_t*>(columns_[w] + k));
          v[w % 4].v[w / 4] = Finish(bytes16, w, &sums[w]);
        }
        WriteBlock<F>(v, dst);
        dst += F::kBlockBytes;
      }
      AddUp(sums);
    }
  }

  // The rest of each column, whose first `packed` bytes are done, to a block of
  // which `room` bytes may be written, a multiple of 16.
  void PackTail(ptrdiff_t packed, int bytes, char* dst, ptrdiff_t room) {
    const TailLoader tail(bytes);
    int16x8_t sums[kWidth];
    typename V::Reg v[4];
    RUY_LIKE_UNROLL
    for (int w = 0; w < kWidth; ++w) {
      sums[w] = vdupq_n_s16(0);
      uint8x16_t column = tail.Load(columns_[w] + packed);
      if (F::kSrcBytes == 1) column = veorq_u8(column, flip_);
      column = tail.InOrder(column);
      v[w % 4].v[w / 4] = Clear(column, w, &sums[w]);
    }
    AddUp(sums);
    if (room >= F::kBlockBytes) return WriteBlock<F>(v, dst);
    alignas(16) char block[F::kBlockBytes];
    WriteBlock<F>(v, block);
    for (ptrdiff_t i = 0; i < room; i += 16) {
      SimdNeon::StoreBytes(dst + i, SimdNeon::LoadBytes(block + i));
    }
  }

  // Sums of the columns that exist.
  void StoreSums(int columns, int32_t* sums) const {
    if constexpr (kSums) {
      typename V::Reg all;
      RUY_LIKE_UNROLL
      for (int w = 0; w < kWidth; w += 4) {
        all.v[w / 4] = SimdNeon::LaneSums(total_[w], total_[w + 1],
                                          total_[w + 2], total_[w + 3]);
      }
      V::StoreSums(sums, columns, all);
    }
  }

 private:
  RUY_LIKE_ALWAYS_INLINE int32x4_t Finish(uint8x16_t column, int w,
                                          int16x8_t* sum) const {
    if (F::kSrcBytes == 1) column = veorq_u8(column, flip_);
    return Clear(column, w, sum);
  }
  RUY_LIKE_ALWAYS_INLINE int32x4_t Clear(uint8x16_t column, int w,
                                         int16x8_t* sum) const {
    if (w > 0 && !kWhole) column = vandq_u8(column, mask_[w]);
    if (kSums) *sum = vpadalq_s8(*sum, vreinterpretq_s8_u8(column));
    return vreinterpretq_s32_u8(column);
  }
  RUY_LIKE_ALWAYS_INLINE void AddUp(const int16x8_t (&sums)[kWidth]) {
    if (!kSums) return;
    RUY_LIKE_UNROLL
    for (int w = 0; w < kWidth; ++w) {
      total_[w] = vpadalq_s16(total_[w], sums[w]);
    }
  }

  const char* columns_[kWidth];
  const uint8x16_t flip_;  // makes int8 of uint8
  uint8x16_t mask_[kWidth];
  int32x4_t total_[kWidth];
};

// A panel of `columns` columns.
template <typename F, bool kSums, bool kWhole>
RUY_LIKE_NOINLINE void PackAnyPanel(const PackArgs& args, const char* src,
                                    int columns, bool shifts, char* dst,
                                    int32_t* sums) {
  const ptrdiff_t bytes = args.depth * F::kSrcBytes;
  const ptrdiff_t whole = bytes & -16;
  const ptrdiff_t panel_bytes = args.padded_depth * F::kWidth * F::kPackedBytes;
  PanelPacker<F, kSums, kWhole> packer(src, args.src_stride * F::kSrcBytes,
                                       columns, shifts);
  packer.PackWhole(whole, dst);
  ptrdiff_t written = whole / 16 * F::kBlockBytes;
  if (whole < bytes) {
    packer.PackTail(whole, static_cast<int>(bytes - whole), dst + written,
                    panel_bytes - written);
    written += F::kBlockBytes;
  }
  ZeroFrom(dst, written, panel_bytes);
  packer.StoreSums(columns, sums);
}

// True if PackColumnPanels() packs all depth-contiguous sources; else only
// those without edges and sums.
template <typename F>
constexpr bool kPacksAllColumns = F::kPackedBytes == F::kSrcBytes &&
                                  (F::kSrcBytes == 1 || F::kSrcBytes == 4);

// Packs a depth-contiguous source, panel after panel, or returns false and does
// nothing.
template <typename F>
RUY_LIKE_ALWAYS_INLINE bool PackColumnPanels(const PackArgs* args) {
  const bool shifts = F::kSrcBytes == 1 && args->src_scalar != Scalar::kI8;
  int32_t* const sums = F::Packed::kHasSums ? args->sums : nullptr;
  const bool plain = sums == nullptr && !shifts &&
                     args->depth * F::kSrcBytes % 16 == 0 &&
                     args->padded_depth == args->depth;
  if (!kPacksAllColumns<F> && (!plain || args->width % F::kWidth != 0)) {
    return false;
  }
  const ptrdiff_t panel_stride =
      F::kWidth * args->src_stride * static_cast<ptrdiff_t>(F::kSrcBytes);
  const char* src = static_cast<const char*>(args->src);
  char* dst = static_cast<char*>(args->dst);
  for (ptrdiff_t first = 0; first < args->width; first += F::kWidth) {
    const int columns = Min(args->width - first, F::kWidth);
    if (plain && columns == F::kWidth) {
      PackPlainPanel<F>(*args, src, dst);
    } else if constexpr (kPacksAllColumns<F>) {
      // A select of the function would take more instructions.
      const bool whole = columns == F::kWidth;
      if (sums == nullptr && whole) {
        PackAnyPanel<F, false, true>(*args, src, columns, shifts, dst, nullptr);
      } else if (sums == nullptr) {
        PackAnyPanel<F, false, false>(*args, src, columns, shifts, dst,
                                      nullptr);
      } else if constexpr (F::kSrcBytes == 1) {
        if (whole) {
          PackAnyPanel<F, true, true>(*args, src, columns, shifts, dst,
                                      sums + first);
        } else {
          PackAnyPanel<F, true, false>(*args, src, columns, shifts, dst,
                                       sums + first);
        }
      }
    }
    src += panel_stride;
    dst += args->padded_depth * F::kWidth * F::kPackedBytes;
  }
  return true;
}

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_PACK_PACK_COLUMNS_NEON_H_
