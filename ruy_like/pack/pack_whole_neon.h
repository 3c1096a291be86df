// Back-end: packing on Arm of what is whole: all levels and columns of panels,
// with elements as they are and no sums.
//
// Used by pack/neon.cc in front of the general routine (pack_panels.h), which
// it calls for everything else. Small products spend as long in packing as in
// multiplying: 16 columns of 32 bytes take 145 instructions here, 340 there.
#ifndef RUY_LIKE_PACK_PACK_WHOLE_NEON_H_
#define RUY_LIKE_PACK_PACK_WHOLE_NEON_H_

#include <arm_neon.h>
#include <stddef.h>
#include <stdint.h>

#include "ruy_like/pack/pack_blocks.h"
#include "ruy_like/pack/pack_common.h"
#include "ruy_like/pack/pack_panels.h"
#include "ruy_like/pack/pack_quads_neon.h"

namespace ruy_like {
namespace kernels {
namespace {

RUY_LIKE_ALWAYS_INLINE void StoreVector(char* dst, uint32x4_t x) {
  vst1q_u8(reinterpret_cast<uint8_t*>(dst), vreinterpretq_u8_u32(x));
}

// Writes a block. Panels of four columns whose groups are
// quads: by the store that interleaves four vectors, for which the models of
// llvm-mca say, against eight permutations and four stores, cycles a block on
// Neoverse N1 5 and 6, N2 3.4 and 6, V1 3.4 and 2.6, V2 6 and 3, Cortex-A55 12
// and 22, A510 8 and 13.
template <typename F>
RUY_LIKE_ALWAYS_INLINE void CopyBlock(const Columns<F::kWidth>& columns,
                                      char* dst) {
  typedef typename F::V V;
  typename V::Reg v[4] = {V::template LoadColumns<F::kWidth, 0>(columns, 0),
                          V::template LoadColumns<F::kWidth, 1>(columns, 0),
                          V::template LoadColumns<F::kWidth, 2>(columns, 0),
                          V::template LoadColumns<F::kWidth, 3>(columns, 0)};
  constexpr int kRegs = F::kWidth / 4;
  constexpr int kGroupBytes = F::kGroup * F::kSrcBytes;
  if constexpr (kGroupBytes == 16) {
    for (int r = 0; r < kRegs; ++r) {
      for (int c = 0; c < 4; ++c) StoreVector(dst + 64 * r + 16 * c, v[c].v[r]);
    }
  } else if constexpr (kGroupBytes == 8) {
    for (int r = 0; r < kRegs; ++r) {
      for (int pair = 0; pair < 2; ++pair) {
        const uint64x2_t a = vreinterpretq_u64_u32(v[2 * pair].v[r]);
        const uint64x2_t b = vreinterpretq_u64_u32(v[2 * pair + 1].v[r]);
        char* const to = dst + 32 * r + 16 * pair;
        StoreVector(to, vreinterpretq_u32_u64(vzip1q_u64(a, b)));
        StoreVector(to + 32 * kRegs, vreinterpretq_u32_u64(vzip2q_u64(a, b)));
      }
    }
  } else if constexpr (kGroupBytes == 4 && kRegs == 1) {
    const uint32x4x4_t four = {{v[0].v[0], v[1].v[0], v[2].v[0], v[3].v[0]}};
    vst4q_u32(reinterpret_cast<uint32_t*>(dst), four);
  } else {
    V::Transpose(v);
    V::template StoreBlock<F>(dst, v);
  }
}

// Packs what it can from args' first column on; returns how many columns.
template <typename F>
ptrdiff_t PackWholePanels(const PackArgs* args) {
  const ptrdiff_t bytes = args->depth * F::kSrcBytes;
  const bool shifts = F::kSrcBytes == 1 && args->src_scalar != Scalar::kI8;
  if (!args->depth_contiguous || args->sums != nullptr || shifts ||
      bytes % 16 != 0 || args->padded_depth != args->depth) {
    return 0;
  }
  const ptrdiff_t stride = args->src_stride * F::kSrcBytes;
  const ptrdiff_t whole = args->width / F::kWidth * F::kWidth;
  const char* src = static_cast<const char*>(args->src);
  char* dst = static_cast<char*>(args->dst);
  for (ptrdiff_t first = 0; first < whole; first += F::kWidth) {
    Columns<F::kWidth> columns(src, stride);
    for (ptrdiff_t left = bytes; left > 0; left -= 16) {
      CopyBlock<F>(columns, dst);
      columns.Advance(16);
      dst += F::kBlockBytes;
    }
    src += F::kWidth * stride;
  }
  return whole;
}

template <typename F>
RUY_LIKE_ALWAYS_INLINE void PackNeon(const PackArgs* args) {
  const ptrdiff_t done = PackWholePanels<F>(args);
  if (done == 0) return Pack<F>(args);
  if (done == args->width) return;
  PackArgs rest = *args;
  rest.width -= done;
  rest.src = static_cast<const char*>(args->src) +
             done * args->src_stride * F::kSrcBytes;
  rest.dst = static_cast<char*>(args->dst) +
             done * args->padded_depth * F::kPackedBytes;
  Pack<F>(&rest);
}

}  // namespace
}  // namespace kernels
}  // namespace ruy_like

#endif  // RUY_LIKE_PACK_PACK_WHOLE_NEON_H_
