// Back-end: packing for the paths whose trait is made of the compiler's vector
// types.
//
// Included by pack/avx.cc, wasm128.cc and rvv128.cc, behind the trait, which
// hand it their lists. Panels of four columns are packed one after the other, a
// quad of each column at a time (pack_ymm.h explains the terms): whole ones in
// registers, those at the edges of depth and width element by element.
#ifndef RUY_LIKE_PACK_PACK_VECTORS_H_
#define RUY_LIKE_PACK_PACK_VECTORS_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/pack/pack_blocks.h"
#include "ruy_like/pack/pack_common.h"
#include "ruy_like/pack/pack_quads.h"

namespace ruy_like::kernels {
namespace {

template <typename F>
struct VectorsPacker {
  typedef typename F::V V;
  typedef typename V::Reg Reg;
  static constexpr int kQuadDepth = 4 / F::kSrcBytes;
  static constexpr int kQuadBytes = kQuadDepth * F::kWidth * F::kPackedBytes;

  const PackArgs args;
  const uint32_t flip;  // exclusive or of bytes, as those of all columns
  // Bytes from one depth to the next, and from one column.
  const ptrdiff_t depth_step, column_step;
  Reg sums;
  char* dst;

  explicit VectorsPacker(const PackArgs* of)
      : args(*of),
        flip(F::kSrcBytes == 1 && of->src_scalar == Scalar::kU8 ? 0x80808080
                                                                : 0),
        depth_step((of->depth_contiguous ? 1 : of->src_stride) * F::kSrcBytes),
        column_step((of->depth_contiguous ? of->src_stride : 1) * F::kSrcBytes),
        dst(static_cast<char*>(of->dst)) {}

  RUY_LIKE_ALWAYS_INLINE void AddToSums(const Reg& quad) {
    if constexpr (F::Packed::kHasSums) {
      sums = V::Add32(
          sums, V::SumWords(F::kSrcBytes == 1 ? V::SumHalvesS8(quad) : quad));
    }
  }
  RUY_LIKE_ALWAYS_INLINE void Pack(Reg quad) {
    if constexpr (F::kSrcBytes == 1) quad = V::Xor(quad, V::Splat(flip));
    AddToSums(quad);
    V::template StoreQuad<F>(dst, quad);
    dst += kQuadBytes;
  }

  // The quad of a column of which `depth` elements exist; the others are 0.
  RUY_LIKE_ALWAYS_INLINE uint32_t LoadQuad(const char* src,
                                           ptrdiff_t depth) const {
    constexpr int kBits = 8 * F::kSrcBytes;
    uint32_t quad = 0;
    for (int k = 0; k < kQuadDepth && k < depth; ++k) {
      uint32_t element = 0;
      __builtin_memcpy(&element, src + k * depth_step, F::kSrcBytes);
      if (F::kSrcBytes == 1) element ^= flip & 0xff;
      quad |= element << (k * kBits);
    }
    return quad;
  }
  // `depth` elements of `columns` columns, to `end` at most.
  RUY_LIKE_ALWAYS_INLINE void PackEdge(const char* src, ptrdiff_t depth,
                                       int columns, const char* end) {
    for (; depth > 0; depth -= kQuadDepth) {
      uint32_t quads[F::kWidth] = {};
      for (int c = 0; c < columns; ++c) {
        quads[c] = LoadQuad(src + c * column_step, depth);
      }
      const Reg quad = V::Set(quads);
      AddToSums(quad);
      if (end - dst >= kQuadBytes) {
        V::template StoreQuad<F>(dst, quad);
        dst += kQuadBytes;
      } else {
        alignas(16) char part[kQuadBytes];
        V::template StoreQuad<F>(part, quad);
        for (int i = 0; dst < end; ++i) *dst++ = part[i];
      }
      src += kQuadDepth * depth_step;
    }
  }

  RUY_LIKE_ALWAYS_INLINE void PackPanel(const char* src, int columns) {
    char* const end = dst + args.padded_depth * F::kWidth * F::kPackedBytes;
    sums = V::Zero();
    ptrdiff_t left = args.depth;
    if (columns == F::kWidth && args.depth_contiguous) {
      Columns<F::kWidth> all(src, column_step);
      for (; left >= F::kBlockDepth; left -= F::kBlockDepth) {
        Reg block[1][4];
        LoadColumnBlocks<F, 1>(all, block);
        for (int q = 0; q < 4; ++q) Pack(block[0][q]);
        all.Advance(16);
      }
      src = all.template At<0>();
    } else if (columns == F::kWidth) {
      for (; left >= kQuadDepth; left -= kQuadDepth) {
        Pack(V::template LoadRows<F::kSrcBytes>(src, depth_step));
        src += kQuadDepth * depth_step;
      }
    }
    PackEdge(src, left, columns, end);
    ZeroFrom(dst, 0, end - dst);
    dst = end;
  }
};

template <int kSourceBytes, class Packed, int kWidth, int kDotWidth>
void PackAs(const PackArgs* args) {
  typedef Quads<SimdOfPath, 1> V;
  VectorsPacker<Format<V, kWidth, Packed, kDotWidth, kSourceBytes>> packer(
      args);
  const char* src = static_cast<const char*>(args->src);
  for (ptrdiff_t first = 0; first < args->width; first += kWidth) {
    const int columns = Min(args->width - first, kWidth);
    packer.PackPanel(src, columns);
    if (Packed::kHasSums && args->sums != nullptr) {
      V::StoreSums(args->sums + first, columns, packer.sums);
    }
    src += kWidth * packer.column_step;
  }
}

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_PACK_PACK_VECTORS_H_
