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
#include "ruy_like/simd/simd_avx512.h"
#include "ruy_like/simd/x86_intrinsics.h"

namespace ruy_like::kernels {
namespace {

inline constexpr int kSliceCols = 32;

enum class RhsKind { kInPlaceS8, kInPlaceU8, kPackedS8, kPackedBF16 };

constexpr bool IsInPlace(RhsKind kind) {
  return kind == RhsKind::kInPlaceS8 || kind == RhsKind::kInPlaceU8;
}
constexpr TileElements ElementsOf(RhsKind kind) {
  return kind == RhsKind::kPackedBF16  ? TileElements::kBF16
         : kind == RhsKind::kInPlaceU8 ? TileElements::kU8S8
                                       : TileElements::kS8S8;
}

// Up to 32 columns of dst. Column c, byte k lies at
//   data + c / 16 * tile_bytes + c % 16 * col_bytes + k / 64 * step_bytes
//        + k % 64
struct RhsSlice {
  const char* data;
  ptrdiff_t tile_bytes, col_bytes, step_bytes;
  ptrdiff_t steps;   // whole steps of 64 bytes
  const char* tail;  // the bytes after those: 32 columns x 64 bytes padded
                     // with zeros; null: there are none
  int cols;
};

RUY_LIKE_ALWAYS_INLINE const char* ColumnAddress(const RhsSlice& s, int c,
                                                 ptrdiff_t step) {
  return s.data + c / 16 * s.tile_bytes + c % 16 * s.col_bytes +
         step * s.step_bytes;
}

// Bytes of depth of a tile: those of a step; or all of a shallower in-place
// rhs, if they are a multiple of 4, so that nothing is copied (doc/amx.md). In
// this header depth is in bytes.
inline int TileBytes(const KernelArgs& args, RhsKind kind) {
  const bool fits =
      IsInPlace(kind) && args.depth < kStepBytes && args.depth % 4 == 0;
  return fits ? static_cast<int>(args.depth) : kStepBytes;
}

// The slice that starts at column `col0`, a multiple of 32. CopyTail() makes
// its tail.
inline RhsSlice MakeRhsSlice(const KernelArgs& args, RhsKind kind,
                             ptrdiff_t col0) {
  RhsSlice s = {};
  s.cols = Min(args.cols - col0, kSliceCols);
  s.steps = args.depth / TileBytes(args, kind);
  const char* rhs = static_cast<const char*>(args.rhs);
  if (!IsInPlace(kind)) {
    s.data = rhs + col0 / 16 * args.rhs_stride_bytes;
    s.tile_bytes = args.rhs_stride_bytes;
    s.col_bytes = kStepBytes;
    s.step_bytes = 16 * kStepBytes;
  } else {
    s.data = rhs + col0 * args.rhs_stride_bytes;
    s.tile_bytes = 16 * args.rhs_stride_bytes;
    s.col_bytes = args.rhs_stride_bytes;
    s.step_bytes = kStepBytes;
  }
  return s;
}

// Copies the bytes after the last whole step, at least one, to `tail` (32 x 64
// bytes).
inline void CopyTail(ptrdiff_t depth, char* tail, RhsSlice* s) {
  const int left = static_cast<int>(depth % kStepBytes);
  for (int c = 0; c < s->cols; ++c) {
    _mm512_store_si512(
        tail + c * kStepBytes,
        Simd512::LoadFirst(ColumnAddress(*s, c, s->steps), left));
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
  for (; k + kStepBytes <= depth; k += kStepBytes) {
    add(_mm512_loadu_si512(column + k));
  }
  add(Simd512::LoadFirst(column + k, static_cast<int>(depth - k)));
  return _mm512_reduce_add_epi32(sum);
}

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_AMX_AMX_RHS_H_
