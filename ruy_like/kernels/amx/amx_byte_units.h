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
// in a buffer of 1 KiB, of which amx_store_bytes.h writes what exists once a
// block is through. So one form serves both orders, all shapes of blocks and
// all edges, and is straight code: its constants are in registers (reading them
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

// By shape and by whether dst is row-major.
inline constexpr UnitWalk kUnitWalks[2][2] = {
    {MakeUnitWalk(BlockShape::k32x32, false),
     MakeUnitWalk(BlockShape::k32x32, true)},
    {MakeUnitWalk(BlockShape::k64x16, false),
     MakeUnitWalk(BlockShape::k64x16, true)}};

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

}  // namespace
}  // namespace kernels
}  // namespace ruy_like

#endif  // RUY_LIKE_KERNELS_AMX_AMX_BYTE_UNITS_H_
