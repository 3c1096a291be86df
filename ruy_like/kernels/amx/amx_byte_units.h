// Back-end: the AMX kernel's epilogue to 8-bit dst, cut into units.
//
// Included by amx_block.h, which runs units between tile products: the vector
// units are idle there. For quantized calls with an 8-bit dst of either type
// and order, multipliers along either, exponents <= -2; all others are
// amx_squares.h's. The arithmetic is epilogue_bytes.h's.
//
// A block has 64 vectors of 16 accumulators. A unit makes one vector of bytes
// out of four of them; a round is four units:
//
//                     a unit's vectors            a round
//    dst col-major    32 rows of two columns      32 rows x 8 columns
//    dst row-major    16 rows of four columns     16 rows x 16 columns
//
// Units know nothing of dst's edges and of its memory: they leave their bytes
// in a buffer of 1 KiB, of which StoreBytes() writes what exists once a block
// is through. So one form serves both orders, all shapes of blocks and all
// edges, and is straight code: its constants are in registers (reading them
// from memory took 374 to 416 cycles a block at depth 128, this 314:
// doc/amx.md).
#ifndef RUY_LIKE_KERNELS_AMX_AMX_BYTE_UNITS_H_
#define RUY_LIKE_KERNELS_AMX_AMX_BYTE_UNITS_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/amx/amx_tile_config.h"
#include "ruy_like/kernels/epilogue/epilogue_bytes.h"
#include "ruy_like/kernels/kernel.h"
#include "ruy_like/kernels/simd/always_inline.h"
#include "ruy_like/kernels/simd/simd_avx512.h"
#include "ruy_like/kernels/simd/x86_intrinsics.h"

namespace ruy_like {
namespace kernels {
namespace {

inline constexpr int kUnits = 16;  // of a block
inline constexpr int kUnitsOfARound = 4;
inline constexpr int kRounds = 4;

// Where a round's accumulators are in the block, and whose rows they are.
struct Round {
  int acc;            // of its first vector
  int first, second;  // vectors of rows: of vectors 0, 2 and 1, 3 of each unit
};

// How the units of a shape of block and of an order of dst walk.
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
    // Vectors of rows and column that the round starts at.
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

// What the units of one block read and write.
struct UnitArgs {
  const int32_t* acc;
  const UnitWalk* walk;
  const ByteBounds<Simd512>* bounds;
  // Multipliers of the block's rows: fixedpoint and -2 - exponent, padded to
  // the rows of the shape. Or those of the units' vectors, in the order of
  // units.
  const int32_t* fixedpoint;
  const int32_t* shift;
  char* bytes;  // kUnits * 64
};

// kPerVector: multipliers belong to vectors (channels along columns), else to
// rows.
template <bool kPerVector>
class ByteUnits {
 public:
  typedef Simd512 V;
  static constexpr bool kHasUnits = true;
  // Multipliers of vectors are rare: not worth code for each way to stream.
  static constexpr bool kAnyStream = !kPerVector;

  explicit RUY_LIKE_ALWAYS_INLINE ByteUnits(const UnitArgs& args)
      : block_acc_(args.acc),
        round_(args.walk->rounds),
        second_(args.walk->second),
        third_(args.walk->third),
        next_(args.walk->next),
        fixedpoint_(args.fixedpoint),
        shift_(args.shift),
        bytes_(args.bytes),
        half_(V::InRegister(V::Set16(1 << 14))),
        zero_point_(
            V::InRegister(V::Halve16(V::LoadAligned(args.bounds->offset)))),
        low_(Kept(args.bounds->low)),
        high_(Kept(args.bounds->high)),
        flip_(Kept(args.bounds->flip)) {}

  // Before the four units of the next round.
  RUY_LIKE_ALWAYS_INLINE void StartRound() {
    acc_ = block_acc_ + round_->acc;
    if constexpr (!kPerVector) {
      const int first = round_->first * V::kLanes;
      const int second = round_->second * V::kLanes;
      a_ = Multiplier(fixedpoint_ + first, shift_ + first);
      b_ = Multiplier(fixedpoint_ + second, shift_ + second);
    }
    ++round_;
  }

  // The round's next unit.
  template <int kUnit>
  RUY_LIKE_ALWAYS_INLINE void Run() {
    const int32_t* const c = acc_ + third_;
    V::Int bytes;
    if constexpr (kPerVector) {
      bytes = Bytes(Multiplier(fixedpoint_[0], shift_[0]).Apply(acc_),
                    Multiplier(fixedpoint_[1], shift_[1]).Apply(acc_ + second_),
                    Multiplier(fixedpoint_[2], shift_[2]).Apply(c),
                    Multiplier(fixedpoint_[3], shift_[3]).Apply(c + second_));
      fixedpoint_ += 4;
      shift_ += 4;
    } else {
      bytes = Bytes(a_.Apply(acc_), b_.Apply(acc_ + second_), a_.Apply(c),
                    b_.Apply(c + second_));
    }
    _mm512_store_si512(bytes_, bytes);
    bytes_ += 64;
    acc_ += next_;
  }

  RUY_LIKE_ALWAYS_INLINE void EndStep() {}

 private:
  // As epilogue_bytes.h's ByteScaler, out of unaligned arrays.
  struct Multiplier {
    Multiplier() = default;
    RUY_LIKE_ALWAYS_INLINE Multiplier(const int32_t* fixedpoint,
                                      const int32_t* shift_by)
        : even(V::InRegister(_mm512_loadu_si512(fixedpoint))),
          odd(V::InRegister(V::OddToEven(even))),
          shift(V::InRegister(_mm512_loadu_si512(shift_by))) {}
    RUY_LIKE_ALWAYS_INLINE Multiplier(int32_t fixedpoint, int32_t shift_by)
        : even(V::Set(fixedpoint)), odd(even), shift(V::Set(shift_by)) {}
    RUY_LIKE_ALWAYS_INLINE V::Int Apply(const int32_t* acc) const {
      const V::Int x = V::InRegister(V::LoadAligned(acc));
      return V::ShiftRightArith(
          V::InterleaveHigh(V::MulEven(x, even),
                            V::MulEven(V::OddToEven(x), odd)),
          shift);
    }
    V::Int even, odd, shift;
  };

  // Hidden from the compiler, which would read it from memory again: tile
  // instructions may have changed that, as far as it knows.
  static RUY_LIKE_ALWAYS_INLINE V::Int Kept(const int32_t* p) {
    return V::InRegister(V::LoadAligned(p));
  }

  // epilogue_bytes.h's ((x + 1) >> 1) + zero point, of 16-bit x: the rounding
  // multiplication by 2^14 / 2^15 is that shift, and leaves only one of the two
  // instructions to the port that everything else here waits for.
  RUY_LIKE_ALWAYS_INLINE V::Int Halved(V::Int a, V::Int b) const {
    return _mm512_add_epi16(
        _mm512_mulhrs_epi16(V::SaturateToInt16(a, b), half_), zero_point_);
  }
  RUY_LIKE_ALWAYS_INLINE V::Int Bytes(V::Int a, V::Int b, V::Int c,
                                      V::Int d) const {
    const V::Int bytes = V::SaturateToInt8(Halved(a, b), Halved(c, d));
    return V::Xor(V::Min8(V::Max8(bytes, low_), high_), flip_);
  }

  const int32_t* block_acc_;
  const int32_t* acc_;
  const Round* round_;
  ptrdiff_t second_, third_, next_;
  const int32_t* fixedpoint_;
  const int32_t* shift_;
  char* bytes_;
  V::Int half_, zero_point_, low_, high_, flip_;
  Multiplier a_, b_;
};

// Units with no product beside them.
template <bool kPerVector>
__attribute__((noinline)) void RunUnitsAlone(const UnitArgs& args) {
  ByteUnits<kPerVector> units(args);
  for (int round = 0; round < kRounds; ++round) {
    units.StartRound();
    units.template Run<0>();
    units.template Run<1>();
    units.template Run<2>();
    units.template Run<3>();
  }
}

// ## From the units' bytes to dst

// A column-major dst: `bytes` has dwords in order of row quarter and vector.
inline void StoreByteColumns(const char* bytes, BlockShape shape, int rows,
                             int cols, int8_t* dst, ptrdiff_t dst_stride) {
  const int units = shape == BlockShape::k64x16 ? 8 : 16;  // of 32 rows
  for (int row = 0; row < rows; row += 32) {
    const int n = rows - row < 32 ? rows - row : 32;
    const __mmask32 mask = n == 32 ? ~__mmask32{0} : (__mmask32{1} << n) - 1;
    int8_t* to = dst + row;
    for (int col = 0; col < cols; col += 2) {
      const Simd512::Int two =
          Simd512::GroupColumns(_mm512_load_si512(bytes + col * 32));
      _mm256_mask_storeu_epi8(to, mask, _mm512_castsi512_si256(two));
      if (col + 1 < cols) {
        _mm256_mask_storeu_epi8(to + dst_stride, mask,
                                _mm512_extracti64x4_epi64(two, 1));
      }
      to += 2 * dst_stride;
    }
    bytes += units * 64;
  }
}

// The first `rows` rows of a quarter of a square: 0, 4, 8 and 12 are in `m`.
RUY_LIKE_ALWAYS_INLINE void StoreEveryFourthRow(__m512i m, int rows,
                                                __mmask16 mask, int8_t* dst,
                                                ptrdiff_t dst_stride) {
  if (rows > 0) _mm_mask_storeu_epi8(dst, mask, _mm512_castsi512_si128(m));
  dst += 4 * dst_stride;
  if (rows > 4) {
    _mm_mask_storeu_epi8(dst, mask, _mm512_extracti32x4_epi32(m, 1));
  }
  dst += 4 * dst_stride;
  if (rows > 8) {
    _mm_mask_storeu_epi8(dst, mask, _mm512_extracti32x4_epi32(m, 2));
  }
  dst += 4 * dst_stride;
  if (rows > 12) {
    _mm_mask_storeu_epi8(dst, mask, _mm512_extracti32x4_epi32(m, 3));
  }
}

// A round's 16 rows x 16 columns, of which rows x cols exist. Within each
// quarter of a unit's bytes, which has rows 4q..4q+3 of four columns, a byte
// shuffle puts the four columns of a row together:
//
//    rows:     0 1 2 3         columns:  0 1 2 3
//            +--------                 +--------
//    col 0   | a b c d         row 0   | a e i m
//    col 1   | e f g h   ->    row 1   | b f j n
//    col 2   | i j k l         row 2   | c g k o
//    col 3   | m n o p         row 3   | d h l p
//
// Eight unpack instructions of 32 and 64 bits then make registers of whole
// rows, 16 bytes each: r, 4+r, 8+r, 12+r.
inline void StoreByteSquare(const char* bytes, int rows, int cols, int8_t* dst,
                            ptrdiff_t dst_stride) {
  const __m512i by_row = _mm512_broadcast_i32x4(
      _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
  const __m512i q0 = _mm512_shuffle_epi8(_mm512_load_si512(bytes), by_row);
  const __m512i q1 = _mm512_shuffle_epi8(_mm512_load_si512(bytes + 64), by_row);
  const __m512i q2 =
      _mm512_shuffle_epi8(_mm512_load_si512(bytes + 128), by_row);
  const __m512i q3 =
      _mm512_shuffle_epi8(_mm512_load_si512(bytes + 192), by_row);
  const __m512i a = _mm512_unpacklo_epi32(q0, q1);
  const __m512i b = _mm512_unpackhi_epi32(q0, q1);
  const __m512i c = _mm512_unpacklo_epi32(q2, q3);
  const __m512i d = _mm512_unpackhi_epi32(q2, q3);
  const __mmask16 mask = Simd512::FirstLanes(cols < 16 ? cols : 16);
  StoreEveryFourthRow(_mm512_unpacklo_epi64(a, c), rows, mask, dst, dst_stride);
  dst += dst_stride;
  StoreEveryFourthRow(_mm512_unpackhi_epi64(a, c), rows - 1, mask, dst,
                      dst_stride);
  dst += dst_stride;
  StoreEveryFourthRow(_mm512_unpacklo_epi64(b, d), rows - 2, mask, dst,
                      dst_stride);
  dst += dst_stride;
  StoreEveryFourthRow(_mm512_unpackhi_epi64(b, d), rows - 3, mask, dst,
                      dst_stride);
}

inline void StoreByteRows(const char* bytes, BlockShape shape, int rows,
                          int cols, int8_t* dst, ptrdiff_t dst_stride) {
  const int squares_across = shape == BlockShape::k64x16 ? 1 : 2;
  for (int row = 0; row < rows; row += 16) {
    for (int square = 0; square < squares_across; ++square) {
      const int left = cols - 16 * square;
      if (left > 0) {
        StoreByteSquare(bytes + square * 256, rows - row, left,
                        dst + row * dst_stride + 16 * square, dst_stride);
      }
    }
    bytes += squares_across * 256;
  }
}

}  // namespace
}  // namespace kernels
}  // namespace ruy_like

#endif  // RUY_LIKE_KERNELS_AMX_AMX_BYTE_UNITS_H_
