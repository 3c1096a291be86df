// Back-end: tiles of floats with AVX's 256 bits, of lhs panels of 128.
//
// Included by kernels/avx.cc. A register holds a depth of two adjacent panels:
// the second is inserted from memory, which takes no more of the load ports
// than two loads do. So packing and the epilogue are those of 128 bits
// (simd_vectors.h), and only the product is wider. Without fused multiply-adds
// one multiplication and one addition a cycle bound it on Sandy Bridge:
//
//    4 panels x 4 columns, a step: 8 multiplications, 8 additions, 8 loads
#ifndef RUY_LIKE_KERNELS_PANEL_PANEL_TILE_AVX_H_
#define RUY_LIKE_KERNELS_PANEL_PANEL_TILE_AVX_H_

#include <stddef.h>

#include "ruy_like/kernels/panel/panel_ops.h"
#include "ruy_like/kernels/panel/panel_tile.h"
#include "ruy_like/simd/loops.h"
#include "ruy_like/simd/x86_intrinsics.h"

namespace ruy_like::kernels {
namespace {

// Four floats in each half, `stride` apart; the same ones in both where the
// second would belong to a panel that is not there.
RUY_LIKE_ALWAYS_INLINE __m256 LoadPair(const float* p, ptrdiff_t stride,
                                       bool single) {
  const __m256 first = _mm256_castps128_ps256(_mm_load_ps(p));
  return _mm256_insertf128_ps(first, _mm_load_ps(single ? p : p + stride), 1);
}

// float times float. V: the trait of 128 bits.
template <class V>
struct AvxFloatOp : FloatOp<V> {
  static constexpr TileKind kTileKind = TileKind::kOwn;
  static constexpr bool kFinishesTiles = false;

  template <class RhsSource, int kVectors, int kCols>
  struct Tile {
    static constexpr int kPairs = (kVectors + 1) / 2;
    static constexpr bool IsSingle(int pair) {
      return 2 * pair + 1 == kVectors;
    }

    static void Run(const TileArgs& args) {
      const float* start = static_cast<const float*>(args.start);
      __m256 acc[kCols][kPairs];
      RUY_LIKE_UNROLL
      for (int c = 0; c < kCols; ++c) {
        RUY_LIKE_UNROLL
        for (int i = 0; i < kPairs; ++i) {
          acc[c][i] =
              LoadPair(start + 2 * i * V::kLanes, V::kLanes, IsSingle(i));
        }
        start += args.start_col_stride;
      }
      const float* lhs = static_cast<const float*>(args.lhs);
      const ptrdiff_t stride =
          args.lhs_stride_bytes / static_cast<ptrdiff_t>(sizeof(float));
      typename RhsSource::template Cursor<kCols> rhs(args.rhs);
      RUY_LIKE_UNROLL_STEPS
      for (ptrdiff_t step = args.steps; step > 0; --step) {
        __m256 rows[kPairs];
        RUY_LIKE_UNROLL
        for (int i = 0; i < kPairs; ++i) {
          rows[i] = LoadPair(lhs + 2 * i * stride, stride, IsSingle(i));
        }
        RUY_LIKE_UNROLL
        for (int c = 0; c < kCols; ++c) {
          const __m256 column = _mm256_broadcast_ss(rhs.Column(c));
          RUY_LIKE_UNROLL
          for (int i = 0; i < kPairs; ++i) {
            acc[c][i] =
                _mm256_add_ps(_mm256_mul_ps(rows[i], column), acc[c][i]);
          }
        }
        lhs += V::kLanes;
        rhs.Advance();
      }
      float* result = static_cast<float*>(args.result);
      RUY_LIKE_UNROLL
      for (int c = 0; c < kCols; ++c) {
        RUY_LIKE_UNROLL
        for (int i = 0; i < kPairs; ++i) {
          if (IsSingle(i)) {
            _mm_store_ps(result, _mm256_castps256_ps128(acc[c][i]));
            result += V::kLanes;
          } else {
            _mm256_storeu_ps(result, acc[c][i]);
            result += 2 * V::kLanes;
          }
        }
      }
    }
  };
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_PANEL_PANEL_TILE_AVX_H_
