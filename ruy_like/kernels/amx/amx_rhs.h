// Back-end: where the AMX kernel finds the rhs, packed or in place.
//
// Included by amx_kernel.h. Describes slices of at most 32 columns as A tiles.
// For an in-place rhs it copies the depth's last, incomplete step and sums the
// columns. Does not multiply.
#ifndef RUY_LIKE_KERNELS_AMX_AMX_RHS_H_
#define RUY_LIKE_KERNELS_AMX_AMX_RHS_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/amx/amx_tile.h"
#include "ruy_like/kernels/kernel.h"
#include "ruy_like/simd/loops.h"
#include "ruy_like/simd/x86_intrinsics.h"

namespace ruy_like::kernels {
namespace {

inline constexpr int kSliceCols = 32;

enum class RhsKind { kInPlaceS8, kInPlaceU8, kPackedS8 };

// Up to 32 columns of dst. Column c, level k lies at
//   data + c / 16 * tile_bytes + c % 16 * col_bytes + k / 64 * step_bytes
//        + k % 64
struct RhsSlice {
  const char* data;
  ptrdiff_t tile_bytes, col_bytes, step_bytes;
  ptrdiff_t steps;   // whole steps of 64 levels
  const char* tail;  // the levels after those: 32 columns x 64 bytes padded
                     // with zeros; null: there are none
  int cols;
};

RUY_LIKE_ALWAYS_INLINE const char* ColumnAddress(const RhsSlice& s, int c,
                                                 ptrdiff_t step) {
  return s.data + c / 16 * s.tile_bytes + c % 16 * s.col_bytes +
         step * s.step_bytes;
}

// Pulls one step of columns begin..end-1 into L2; `address` is that of the
// first one.
RUY_LIKE_ALWAYS_INLINE void PrefetchColumns(const char* address, int begin,
                                            int end, ptrdiff_t col_bytes,
                                            ptrdiff_t tile_bytes) {
  for (int c = begin; c < end; ++c) {
    _mm_prefetch(address, _MM_HINT_T1);
    address += c == 15 ? tile_bytes - 15 * col_bytes : col_bytes;
  }
}

// Depth levels of a tile: those of a step; or all levels of a shallower
// in-place rhs, if they are a multiple of 4, so that nothing is copied
// (doc/amx.md).
inline int TileLevels(const KernelArgs& args, RhsKind kind) {
  const bool fits = kind != RhsKind::kPackedS8 && args.depth < kStepLevels &&
                    args.depth % 4 == 0;
  return fits ? static_cast<int>(args.depth) : kStepLevels;
}

// The slice that starts at column `col0`, a multiple of 32; empty beyond the
// last one. CopyTail() makes its tail.
inline RhsSlice MakeRhsSlice(const KernelArgs& args, RhsKind kind,
                             ptrdiff_t col0) {
  RhsSlice s = {};
  if (col0 >= args.cols) return s;
  s.cols = Min(args.cols - col0, kSliceCols);
  s.steps = args.depth / TileLevels(args, kind);
  const char* rhs = static_cast<const char*>(args.rhs);
  if (kind == RhsKind::kPackedS8) {
    s.data = rhs + col0 / 16 * args.rhs_stride_bytes;
    s.tile_bytes = args.rhs_stride_bytes;
    s.col_bytes = kStepLevels;
    s.step_bytes = 16 * kStepLevels;
  } else {
    s.data = rhs + col0 * args.rhs_stride_bytes;
    s.tile_bytes = 16 * args.rhs_stride_bytes;
    s.col_bytes = args.rhs_stride_bytes;
    s.step_bytes = kStepLevels;
  }
  return s;
}

RUY_LIKE_ALWAYS_INLINE __mmask64 TailMask(ptrdiff_t depth) {
  return (uint64_t{1} << depth % kStepLevels) - 1;
}

// Copies the levels after the last whole step, at least one, to `tail` (32 x 64
// bytes).
inline void CopyTail(ptrdiff_t depth, char* tail, RhsSlice* s) {
  const __mmask64 mask = TailMask(depth);
  for (int c = 0; c < s->cols; ++c) {
    _mm512_store_si512(
        tail + c * kStepLevels,
        _mm512_maskz_loadu_epi8(mask, ColumnAddress(*s, c, s->steps)));
  }
  s->tail = tail;
}

// Sum of one in-place column, modulo 2^32.
template <bool kUnsigned>
int32_t ColumnSum(const char* column, ptrdiff_t depth) {
  __m512i sum = _mm512_setzero_si512();
  const auto add = [&sum](__m512i x) {
    const __m512i ones = _mm512_set1_epi8(1);
    sum = kUnsigned ? _mm512_dpbusd_epi32(sum, x, ones)
                    : _mm512_dpbusd_epi32(sum, ones, x);
  };
  ptrdiff_t k = 0;
  for (; k + kStepLevels <= depth; k += kStepLevels) {
    add(_mm512_loadu_si512(column + k));
  }
  add(_mm512_maskz_loadu_epi8(TailMask(depth), column + k));
  return _mm512_reduce_add_epi32(sum);
}

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_AMX_AMX_RHS_H_
