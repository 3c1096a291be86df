// Back-end: the AMX kernel's epilogue to 8-bit dst, cut into units.
//
// Included by amx_block.h, which runs units between tile products: the vector
// units are idle there. For quantized calls with an 8-bit dst, signed or
// unsigned, of either order, with multipliers along rows or columns: of fixed
// point with exponents <= 0, or float scales of one operand, the other's being
// 1. amx_squares.h serves all others.
//
// A block has 64 vectors of 16 accumulators. A unit makes one vector of bytes
// out of four of them; a round is four units:
//
//                     a unit's vectors            a round
//    dst col-major    32 rows of two columns      32 rows x 8 columns
//    dst row-major    16 rows of four columns     16 rows x 16 columns
//
// Units do not know dst or its edges: they write to a buffer of 1 KiB, from
// which amx_store_bytes.h copies the valid part to dst after the block's last
// unit. So one form serves both orders, all block shapes and all edges, and is
// straight-line instructions with constants in registers (doc/amx.md).
//
// ## Arithmetic
//
// A result is floor(v), v = x * fixedpoint * 2^(exponent - 31) + 1/2 + zero
// point. Units estimate 2^16 * v + 4 in float, to an int32 y that is off by
// less than 4 wherever clamping does not decide anyway. So the high half of y
// is the result, unless its low half is below 8: then the result may be one
// lower. (Where the conversion overflows, y is 0x80000000: below 8, too.) Units
// record which lanes are certain; those with uncertain lanes are repeated by
// the exact epilogue. doc/numerics.md has the proof.
//
// A random lane is uncertain one time in 8000. With multipliers of few bits,
// such as powers of two, nearly all would be. But if all multipliers of a call
// are multiples of 2^-15, the estimate is exact and even; then 1 is added
// instead of 4, and an even low half below 8 means overflow.
//
// Float scales round ties to even, and their product with an accumulator is
// rounded before that: where either decides, the lane is uncertain. If all are
// multiples of 2^-12, that is too often, and units do not serve the call.
//
// Rounding modes are encoded in the instructions: MXCSR is neither used nor
// changed.
#ifndef RUY_LIKE_KERNELS_AMX_AMX_BYTE_UNITS_H_
#define RUY_LIKE_KERNELS_AMX_AMX_BYTE_UNITS_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/amx/amx_tile.h"
#include "ruy_like/kernels/epilogue/requantize.h"
#include "ruy_like/kernels/kernel.h"
#include "ruy_like/simd/loops.h"
#include "ruy_like/simd/simd_avx512.h"
#include "ruy_like/simd/x86_intrinsics.h"

namespace ruy_like::kernels {
namespace {

inline constexpr int kUnits = 16;  // of a block
inline constexpr int kUnitsOfARound = 4;
inline constexpr int kRounds = 4;

// Where a round's accumulators are in the block, and their rows, in units of
// 16.
struct Round {
  int acc;            // index of the first one
  int first, second;  // rows of vectors 0, 2 and 1, 3 of each unit
};

// The order in which units visit a block's accumulators. Offsets in elements.
struct UnitWalk {
  Round rounds[kRounds];
  // From a unit's first vector to its second and third, and to the next unit.
  int second, third, next;
};

constexpr UnitWalk MakeUnitWalk(BlockShape shape, bool row_major) {
  const bool is_tall = shape == BlockShape::k64x16;
  const int column = is_tall ? 64 : 32;  // accumulators from column to column
  UnitWalk walk = {};
  for (int r = 0; r < kRounds; ++r) {
    Round& round = walk.rounds[r];
    // The rows (in units of 16) and the column at which the round starts.
    const int rows =
        row_major ? (is_tall ? r : r / 2) : (is_tall ? r / 2 * 2 : 0);
    const int col =
        row_major ? (is_tall ? 0 : r % 2 * 16) : (is_tall ? r % 2 * 8 : r * 8);
    round.acc = col * column + rows * 16;
    round.first = rows;
    round.second = row_major ? rows : rows + 1;
  }
  walk.second = row_major ? column : 16;
  walk.third = row_major ? 2 * column : column;
  walk.next = row_major ? 4 * column : 2 * column;
  return walk;
}

// Indexed by shape and by whether dst is row-major.
inline constexpr UnitWalk kUnitWalks[2][2] = {
    {MakeUnitWalk(BlockShape::k32x32, false),
     MakeUnitWalk(BlockShape::k32x32, true)},
    {MakeUnitWalk(BlockShape::k64x16, false),
     MakeUnitWalk(BlockShape::k64x16, true)}};

// Where the i-th vector of a block's 64 is, in the order of units.
inline int VectorAt(const UnitWalk& walk, int i) {
  return walk.rounds[i / 16].acc + i / 4 % 4 * walk.next +
         i / 2 % 2 * walk.third + i % 2 * walk.second;
}

// Multipliers as units need them: fixedpoint * 2^(exponent - 15).
RUY_LIKE_ALWAYS_INLINE __m512 UnitScales(__m512i fixedpoint, __m512i exponent) {
  constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  return _mm512_scalef_round_ps(
      _mm512_cvt_roundepi32_ps(fixedpoint, kNearest),
      _mm512_cvt_roundepi32_ps(
          _mm512_sub_epi32(exponent, _mm512_set1_epi32(15)), kNearest),
      kNearest);
}

// Float scales of a call, those of one operand. `values`: null if there are
// none, or both operands have some.
struct FloatScales {
  const float* values;
  bool per_channel;  // else element 0 is for all
  bool of_columns;

  static FloatScales Of(const EpilogueArgs& e) {
    if (e.output != Output::kRounded) return {};
    const ScaleArgs& s = *e.scales;
    if (!s.rhs_per_col && *s.rhs == 1) return {s.lhs, s.lhs_per_row, false};
    if (!s.lhs_per_row && *s.lhs == 1) return {s.rhs, s.rhs_per_col, true};
    return {};
  }
  // All of `count` are multiples of 2^-12.
  bool AreCoarse(ptrdiff_t count) const {
    for (ptrdiff_t i = 0; i < (per_channel ? count : 1); ++i) {
      const float scaled = values[i] * 4096;
      if (!(scaled == __builtin_rintf(scaled))) return false;
    }
    return true;
  }
};

// True if all multipliers, of which there are `count`, are multiples of 2^-15:
// the fixed points' last 16 - exponent bits are zero.
inline bool AreCoarse(const int32_t* fixedpoint, const int32_t* exponent,
                      ptrdiff_t count) {
  typedef Simd512 V;
  V::Int bits = V::Zero();
  for (ptrdiff_t i = 0; i < count; i += V::kLanes) {
    const V::Mask mask = V::FirstLanes(Min(count - i, V::kLanes));
    const V::Int above = V::Max(
        V::Add(V::LoadMasked(exponent + i, mask), V::Set(16)), V::Zero());
    bits = _mm512_or_si512(
        bits, V::ShiftLeft(V::LoadMasked(fixedpoint + i, mask), above));
  }
  return _mm512_test_epi32_mask(bits, bits) == 0;
}

// Constants of all units of a call.
struct UnitConstants {
  float offset;          // 2^16 * (zero point + 1/2), and 4 or 1
  int32_t certain_bits;  // a lane with any of these bits is certain
  int8_t low, high;
  int8_t flip;  // 128 for unsigned results, which are made as signed ones

  static bool CanServe(const EpilogueArgs& e, const FloatScales& scales,
                       ptrdiff_t channels) {
    const Scaling scaling = ChooseScaling(e);
    const int32_t zero_point = e.dst_zero_point - Down(e);
    return (e.dst_scalar == Scalar::kI8 || e.dst_scalar == Scalar::kU8) &&
           (scaling == Scaling::kSmall || scaling == Scaling::kUpToZero ||
            (scales.values != nullptr && !scales.AreCoarse(channels))) &&
           zero_point >= -255 && zero_point <= 255;
  }
  void Set(const EpilogueArgs& e, bool has_scales, ptrdiff_t channels) {
    const bool coarse = !has_scales && AreCoarse(e.fixedpoint, e.exponent,
                                                 e.per_channel ? channels : 1);
    const int32_t down = Down(e);
    offset = static_cast<float>((e.dst_zero_point - down) * 65536 + 32768 +
                                (coarse ? 1 : 4));
    certain_bits = coarse ? 0xfff9 : 0xfff8;
    low = static_cast<int8_t>(e.clamp_min - down);
    high = static_cast<int8_t>(e.clamp_max - down);
    flip = static_cast<int8_t>(down);
  }

 private:
  static int32_t Down(const EpilogueArgs& e) {
    return e.dst_scalar == Scalar::kU8 ? 128 : 0;
  }
};

// Memory that the units of one block read and write.
struct UnitArgs {
  const int32_t* acc;
  const UnitWalk* walk;
  const UnitConstants* constants;
  // Multipliers of the block's rows, padded to the rows of the shape; for
  // kPerVector those of the block's 64 vectors, in the order of units.
  const float* scales;
  char* bytes;     // kUnits * 64
  uint16_t* sure;  // kUnits: lanes that are certain in all four vectors
};

// kPerVector: multipliers belong to vectors (channels along columns), else to
// rows.
template <bool kPerVector>
class ByteUnits {
 public:
  typedef Simd512 V;
  static constexpr bool kHasUnits = true;

  explicit RUY_LIKE_ALWAYS_INLINE ByteUnits(const UnitArgs& args)
      : block_acc_(args.acc),
        round_(args.walk->rounds),
        second_(args.walk->second),
        third_(args.walk->third),
        next_(args.walk->next),
        scales_(args.scales),
        bytes_(args.bytes),
        sure_(args.sure),
        offset_(V::InRegister(_mm512_set1_ps(args.constants->offset))),
        certain_bits_(V::InRegister(V::Set(args.constants->certain_bits))),
        low_(V::InRegister(V::Set8(args.constants->low))),
        high_(V::InRegister(V::Set8(args.constants->high))),
        flip_(V::InRegister(V::Set8(args.constants->flip))),
        odd_bytes_(V::InRegister(_mm512_broadcast_i32x4(_mm_setr_epi8(
            1, 3, 5, 7, 9, 11, 13, 15, 1, 3, 5, 7, 9, 11, 13, 15)))) {}

  // Unit kUnit of a round, in turn.
  template <int kUnit>
  RUY_LIKE_ALWAYS_INLINE void Run() {
    if constexpr (kUnit == 0) StartRound();
    const int32_t* const c = acc_ + third_;
    if constexpr (kPerVector) {
      Finish(Estimate(acc_, _mm512_set1_ps(scales_[0])),
             Estimate(acc_ + second_, _mm512_set1_ps(scales_[1])),
             Estimate(c, _mm512_set1_ps(scales_[2])),
             Estimate(c + second_, _mm512_set1_ps(scales_[3])));
      scales_ += 4;
    } else {
      Finish(Estimate(acc_, a_), Estimate(acc_ + second_, b_), Estimate(c, a_),
             Estimate(c + second_, b_));
    }
    acc_ += next_;
  }

  RUY_LIKE_ALWAYS_INLINE void EndStep() {}

 private:
  RUY_LIKE_ALWAYS_INLINE void StartRound() {
    acc_ = block_acc_ + round_->acc;
    if constexpr (!kPerVector) {
      a_ = V::InRegister(_mm512_loadu_ps(scales_ + round_->first * V::kLanes));
      b_ = V::InRegister(_mm512_loadu_ps(scales_ + round_->second * V::kLanes));
    }
    ++round_;
  }

  // The results, in fixed point with 16 fractional bits.
  RUY_LIKE_ALWAYS_INLINE V::Int Estimate(const int32_t* acc,
                                         __m512 scale) const {
    constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
    const __m512 x =
        _mm512_cvt_roundepi32_ps(V::InRegister(V::LoadAligned(acc)), kNearest);
    return _mm512_cvt_roundps_epi32(
        _mm512_fmadd_round_ps(x, scale, offset_, kNearest), kNearest);
  }

  // The high word of each estimate is a result: words are saturated to bytes,
  // and every second byte is taken.
  RUY_LIKE_ALWAYS_INLINE void Finish(V::Int a, V::Int b, V::Int c, V::Int d) {
    V::Mask sure = _mm512_test_epi32_mask(a, certain_bits_);
    sure = _mm512_mask_test_epi32_mask(sure, b, certain_bits_);
    sure = _mm512_mask_test_epi32_mask(sure, c, certain_bits_);
    *sure_++ = _mm512_mask_test_epi32_mask(sure, d, certain_bits_);
    const V::Int bytes = _mm512_mask_shuffle_epi8(
        _mm512_shuffle_epi8(V::SaturateToInt8(a, b), odd_bytes_),
        0xff00ff00ff00ff00, V::SaturateToInt8(c, d), odd_bytes_);
    _mm512_store_si512(bytes_,
                       V::Xor(V::Min8(V::Max8(bytes, low_), high_), flip_));
    bytes_ += 64;
  }

  const int32_t* block_acc_;
  const int32_t* acc_;
  const Round* round_;
  ptrdiff_t second_, third_, next_;
  const float* scales_;
  char* bytes_;
  uint16_t* sure_;
  __m512 offset_;
  V::Int certain_bits_, low_, high_, flip_, odd_bytes_;
  __m512 a_, b_;
};

// All units of a block, without tile products in between.
template <class Units, class Args>
RUY_LIKE_NOINLINE void RunUnitsAlone(const Args& args) {
  Units units(args);
  for (int round = 0; round < kRounds; ++round) {
    units.template Run<0>();
    units.template Run<1>();
    units.template Run<2>();
    units.template Run<3>();
  }
}

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_AMX_AMX_BYTE_UNITS_H_
