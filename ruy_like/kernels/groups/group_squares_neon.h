// Back-end: products with group-scaled weights by SMMLA, whose accumulators are
// squares of two rows by two columns (panel_tile_squares_neon.h draws one).
//
// A widened panel has eight values of a row together, so that each 16 bytes of
// a step are two rows:
//
//    | row 0, values 0..7 | row 1, values 0..7 |  16 bytes
//    | row 2, values 0..7 | row 3, values 0..7 |
//      ...                                          128 bytes a step
//
// Packed activations are pairs of columns as they are. 16 rows by 6 columns
// take 24 accumulators, 3 registers of activations and those of the weights
// that are being multiplied. Float sums are squares as well, and become columns
// at the tile's end.
#ifndef RUY_LIKE_KERNELS_GROUPS_GROUP_SQUARES_NEON_H_
#define RUY_LIKE_KERNELS_GROUPS_GROUP_SQUARES_NEON_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/groups/group_ops_neon.h"
#include "ruy_like/kernels/groups/group_table.h"
#include "ruy_like/simd/loops.h"
#include "ruy_like/simd/neon.h"
#include "ruy_like/simd/simd_neon.h"

namespace ruy_like::kernels {
namespace {

struct NeonSquaresDot {
  static constexpr bool kSumsWords = false;
  static constexpr int kParts = 2;
  static constexpr int kActivationBytes = 1;
};

// Two values of 32 bits in each half.
template <typename T>
RUY_LIKE_ALWAYS_INLINE int32x4_t Twice(const T* values) {
  int64_t both;
  __builtin_memcpy(&both, values, sizeof(both));
  return vreinterpretq_s32_s64(vdupq_n_s64(both));
}

template <class Form, int kCols>
struct GroupSums<Form, kCols, NeonSquaresDot> {
  typedef SimdNeon Simd;
  typedef int32x4_t Int;
  typedef float32x4_t Float;
  typedef ActivationPanel<Form, NeonSquaresDot> Activations;
  static constexpr int kRowsOfVec = 2;
  static constexpr int kPanelVecs = kGroupPanelRows / 2;
  static constexpr int kVecs = kPanelVecs;  // of one panel
  static constexpr int kColVecs = (kCols + 1) / 2;
  int32x4_t squares[kVecs][kColVecs];

  RUY_LIKE_ALWAYS_INLINE void SumGroup(const GroupTileArgs& /*args*/,
                                       const int32_t* starts, ptrdiff_t steps,
                                       const uint8_t** codes,
                                       ptrdiff_t /*prefetch*/,
                                       Activations* activations) {
    RUY_LIKE_UNROLL
    for (int c = 0; c < kColVecs; ++c) {
      const int32x4_t start = OfColumns(starts, c);
      RUY_LIKE_UNROLL
      for (int v = 0; v < kVecs; ++v) squares[v][c] = start;
    }
    const int8_t* weights = reinterpret_cast<const int8_t*>(*codes);
    const int8_t* a = reinterpret_cast<const int8_t*>(activations->first);
    for (ptrdiff_t step = 0; step < steps; ++step) {
      int8x16_t columns[kColVecs];
      RUY_LIKE_UNROLL
      for (int p = 0; p < kColVecs; ++p) {
        const int8_t* const pair = a + p * 2 * kGroupStepDepth;
        columns[p] = 2 * p + 1 < kCols
                         ? vld1q_s8(pair)
                         : vcombine_s8(vld1_s8(pair), vdup_n_s8(0));
      }
      RUY_LIKE_UNROLL
      for (int r = 0; r < kVecs; ++r) {
        const int8x16_t rows = vld1q_s8(weights + r * 2 * kGroupStepDepth);
        RUY_LIKE_UNROLL
        for (int p = 0; p < kColVecs; ++p) {
          squares[r][p] = vmmlaq_s32(squares[r][p], rows, columns[p]);
        }
      }
      a += activations->step_stride;
      weights += kGroupPanelRows * kGroupStepDepth;
    }
    *codes = reinterpret_cast<const uint8_t*>(weights);
    activations->first = reinterpret_cast<const char*>(a);
  }

  RUY_LIKE_ALWAYS_INLINE int32x4_t Get(int v, int c) const {
    return squares[v][c];
  }

  // Each two rows' scales, of all of the panel's as floats.
  static RUY_LIKE_ALWAYS_INLINE void LoadScales(const GroupTileArgs& args,
                                                const ptrdiff_t (&at)[1],
                                                float32x4_t (&loaded)[kVecs]) {
    float32x4_t rows[kGroupPanelRows / 4];
    RowLanes<Form>::LoadScales(args, at, rows);
    RUY_LIKE_UNROLL
    for (int i = 0; i < kGroupPanelRows / 4; ++i) {
      loaded[2 * i] = vzip1q_f32(rows[i], rows[i]);
      loaded[2 * i + 1] = vzip2q_f32(rows[i], rows[i]);
    }
  }
  static RUY_LIKE_ALWAYS_INLINE int32x4_t OfRows(const uint8_t* rows) {
    const int32_t words[4] = {rows[0], rows[0], rows[1], rows[1]};
    return vld1q_s32(words);
  }
  // A missing odd column may be anything.
  static RUY_LIKE_ALWAYS_INLINE float32x4_t OfColumns(const float* columns,
                                                      int c) {
    return 2 * c + 1 < kCols ? vreinterpretq_f32_s32(Twice(columns + 2 * c))
                             : vdupq_n_f32(columns[2 * c]);
  }
  static RUY_LIKE_ALWAYS_INLINE int32x4_t OfColumns(const int32_t* columns,
                                                    int c) {
    return 2 * c + 1 < kCols ? Twice(columns + 2 * c)
                             : vdupq_n_s32(columns[2 * c]);
  }
  // Two columns take the place of their squares.
  static RUY_LIKE_ALWAYS_INLINE void MakeColumns(float* out) {
    for (int c = 0; c < kColVecs; ++c) {
      float32x4x2_t columns[kPanelVecs / 2];
      RUY_LIKE_UNROLL
      for (int v = 0; v < kPanelVecs / 2; ++v) {
        columns[v] = vld2q_f32(out + 8 * v);
      }
      RUY_LIKE_UNROLL
      for (int v = 0; v < kPanelVecs / 2; ++v) {
        vst1q_f32(out + 4 * v, columns[v].val[0]);
        vst1q_f32(out + kGroupPanelRows + 4 * v, columns[v].val[1]);
      }
      out += 2 * kGroupPanelRows;
    }
  }
};

// The order of widened codes: four values of four rows are joined with their
// next four to eight of each row.
struct NeonRowPairs {
  template <class Vector>
  static RUY_LIKE_ALWAYS_INLINE void Store(Vector first, Vector second, int at,
                                           uint8_t* step) {
    const uint32x4_t low = reinterpret_cast<uint32x4_t>(first);
    const uint32x4_t high = reinterpret_cast<uint32x4_t>(second);
    vst1q_u8(step + 2 * at, vreinterpretq_u8_u32(vzip1q_u32(low, high)));
    vst1q_u8(step + 2 * at + 16, vreinterpretq_u8_u32(vzip2q_u32(low, high)));
  }
  static void WidenNibbles(const uint8_t* codes, ptrdiff_t steps,
                           const uint8_t* shifts, uint8_t* widened) {
    uint8_t shift[4 * kGroupPanelRows] = {};
    if (shifts != nullptr) {
      for (int i = 0; i < 4 * kGroupPanelRows; ++i) shift[i] = shifts[i / 4];
    }
    for (ptrdiff_t step = 0; step < steps; ++step) {
      RUY_LIKE_UNROLL
      for (int i = 0; i < 64; i += 16) {
        const uint8x16_t both = vld1q_u8(codes + i);
        const uint8x16_t added = vld1q_u8(shift + i);
        Store(vaddq_u8(vandq_u8(both, vdupq_n_u8(15)), added),
              vaddq_u8(vshrq_n_u8(both, 4), added), i, widened);
      }
      codes += 64;
      widened += 128;
    }
  }
  static void MakeSigned(const uint8_t* codes, ptrdiff_t steps,
                         uint8_t* widened) {
    typedef NeonFlippedBytes<NeonDotBase> Codes;
    for (ptrdiff_t step = 0; step < steps; ++step) {
      RUY_LIKE_UNROLL
      for (int i = 0; i < 64; i += 16) {
        Store(Codes::LoadWeights(codes + i), Codes::LoadWeights(codes + 64 + i),
              i, widened);
      }
      codes += 128;
      widened += 128;
    }
  }
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_GROUPS_GROUP_SQUARES_NEON_H_
