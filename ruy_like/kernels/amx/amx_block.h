// Back-end: the tile products of the AMX kernel, one block of tiles at a time,
// with the epilogue of an earlier block between them.
//
// Included by amx_kernel.h, which says what to start from, where to leave the
// sums of the block before, and which block's epilogue is due. Knows tile
// numbers and addresses.
//
// The unit multiplies C[16 x 16 int32] += A[16 x 64 B] * B[16 x (16 x 4 B)].
// Rows of dst are contiguous in the common case, so they take the contiguous
// direction of C: B tiles are lhs panels, A tiles are columns of the rhs.
//
//                       lhs: packed 16x4, one 1 KiB tile per 64 levels
//                       B0 (rows 0..15)     B1 (rows 16..31)
//   rhs:  A0 (cols  0..15)  C00                 C01
//         A1 (cols 16..31)  C10                 C11
//
// A column of dst is thus one row of C0x next to one row of C1x: 64 bytes each.
// At most 16 columns are left: one A tile and four B tiles instead, because the
// product of a single pair waits for its own predecessor (52 cycles) where four
// accumulators keep the unit busy (16 cycles each). Either way a step of 64
// levels has four products. Panels that are missing are the last one again;
// nobody stores their sums.
//
//   tile number          0    1    2    3    4    5    6    7
//   k32x32, 17..32 cols  C00  C01  C10  C11  A0   A1   B0   B1
//   k64x16,  1..16 cols  C00  C01  C02  C03  A0   B0,3 B1   B2
//
// ## A stream of blocks
//
// Sums stay in their tiles until the next block's first step stores each one
// right before its first product, and loads the new start value. So loads and
// stores run beside products, and the epilogue is two blocks behind:
//
//   tile unit:     block i
//   first step:    stores the sums of block i - 1
//   vector units:  epilogue of block i - 2
//
// In a micro-benchmark that took a block of depth 256 from 349 to 261 cycles.
//
// Where the 16 units of that epilogue stand, by the steps of a block:
//
//   1, 2   four after each product of the first step
//   3, 4   two after each product of the second and third step
//   5..8   one after each product of four steps
//   more   one after every second product of eight steps
//
// All in one place is worst: 468 cycles against 313 at depth 128.
#ifndef RUY_LIKE_KERNELS_AMX_AMX_BLOCK_H_
#define RUY_LIKE_KERNELS_AMX_AMX_BLOCK_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/amx/amx_byte_units.h"
#include "ruy_like/kernels/amx/amx_rhs.h"
#include "ruy_like/kernels/amx/amx_start_values.h"
#include "ruy_like/kernels/amx/amx_tile.h"
#include "ruy_like/kernels/amx/amx_tile_config.h"
#include "ruy_like/kernels/simd/always_inline.h"

namespace ruy_like {
namespace kernels {
namespace {

// Which side's tile loads bypass L1: the one that is not found there again.
// kBoth is for deep blocks alone, of more than eight steps.
enum class Stream { kNone, kLhs, kRhs, kBoth };

struct TileBlock {
  const RhsGroup* rhs;
  const char* lhs[4];  // panels, at this pass's first level
  StartValues start;
  int32_t* sums_before;  // where the block before, or garbage, is to be stored
  // Columns of the next group to pull into L2 meanwhile, and the first one's
  // address. Where there are none the address means nothing.
  int prefetch_begin, prefetch_end;
  const char* prefetch;
};

// Where a step finds its tiles.
struct Cursor {
  const char* rhs;
  const char* tail;
  ptrdiff_t rhs_tile, rhs_col, rhs_step;
  const char* lhs[4];
  const char* prefetch;
  int prefetch_begin, prefetch_end;
  ptrdiff_t whole_steps;  // then comes the tail
};

// How many units stand after each product; kHalf: one after every second.
enum class Density { kNone, kHalf, kOne, kTwo, kFour };

template <bool kUnsignedRhs, BlockShape kShape, Stream kStream>
struct TileSteps {
  static constexpr int kATiles = kShape == BlockShape::k32x32 ? 2 : 1;
  static constexpr int kBTiles = 4 / kATiles;
  static constexpr int kAccBytes = kBTiles * 64;  // from column to column

  // The product of A tile a and B tile b.
  template <int a, int b>
  static RUY_LIKE_ALWAYS_INLINE void Mul() {
    constexpr int kB = 4 + kATiles + b % (4 - kATiles);
    if constexpr (kUnsignedRhs) {
      Tiles::MulU8S8<a * kBTiles + b, 4 + a, kB>();
    } else {
      Tiles::MulS8S8<a * kBTiles + b, 4 + a, kB>();
    }
  }

  template <int a>
  static RUY_LIKE_ALWAYS_INLINE void LoadA(const Cursor& at) {
    const char* const src = at.rhs + a * at.rhs_tile;
    if constexpr (kStream == Stream::kRhs || kStream == Stream::kBoth) {
      Tiles::LoadStreaming<4 + a>(src, at.rhs_col);
    } else {
      Tiles::Load<4 + a>(src, at.rhs_col);
    }
  }

  template <int b>
  static RUY_LIKE_ALWAYS_INLINE void LoadB(const Cursor& at) {
    constexpr int kB = 4 + kATiles + b % (4 - kATiles);
    if constexpr (kStream == Stream::kLhs || kStream == Stream::kBoth) {
      Tiles::LoadStreaming<kB>(at.lhs[b], 64);
    } else {
      Tiles::Load<kB>(at.lhs[b], 64);
    }
  }

  template <int a, int b>
  static RUY_LIKE_ALWAYS_INLINE void StoreSums(int32_t* sums) {
    Tiles::Store<a * kBTiles + b>(
        reinterpret_cast<char*>(sums) + a * 16 * kAccBytes + b * 64, kAccBytes);
  }

  template <int a, int b>
  static RUY_LIKE_ALWAYS_INLINE void Start(const StartValues& s) {
    if (s.values == nullptr) {
      Tiles::Zero<a * kBTiles + b>();
    } else {
      Tiles::Load<a * kBTiles + b>(s.values + a * s.a_stride + b * s.b_stride,
                                   s.col_stride * sizeof(int32_t));
    }
  }

  // The units that stand after a step's i-th product. kSecond: of two steps
  // with half a unit a product, the second one.
  template <Density kDensity, bool kSecond, int i, class Units>
  static RUY_LIKE_ALWAYS_INLINE void RunUnits(Units* units) {
    if constexpr (kDensity == Density::kFour) {
      units->StartRound();
      units->template Run<0>();
      units->template Run<1>();
      units->template Run<2>();
      units->template Run<3>();
    } else if constexpr (kDensity == Density::kTwo) {
      if constexpr (i % 2 == 0) units->StartRound();
      units->template Run<i % 2 * 2>();
      units->template Run<i % 2 * 2 + 1>();
    } else if constexpr (kDensity == Density::kOne) {
      if constexpr (i == 0) units->StartRound();
      units->template Run<i>();
    } else if constexpr (kDensity == Density::kHalf && i % 2 == 1) {
      if constexpr (!kSecond && i == 1) units->StartRound();
      units->template Run<i / 2 + 2 * kSecond>();
    }
  }

  // One product of a step: kFirst, of a block's first step.
  template <bool kFirst, Density kDensity, bool kSecond, int a, int b, int i,
            class Units>
  static RUY_LIKE_ALWAYS_INLINE void Product(const TileBlock& block,
                                             Units* units) {
    if constexpr (kFirst) {
      StoreSums<a, b>(block.sums_before);
      Start<a, b>(block.start);
    }
    Mul<a, b>();
    RunUnits<kDensity, kSecond, i>(units);
  }

  // 64 levels.
  template <bool kFirst, Density kDensity, bool kSecond, class Units>
  static RUY_LIKE_ALWAYS_INLINE void Step(const TileBlock& block, Cursor* at,
                                          Units* units) {
    if (at->whole_steps == 0) {
      at->rhs = at->tail;
      at->rhs_tile = 16 * kStepLevels;
      at->rhs_col = kStepLevels;
    }
    --at->whole_steps;
    LoadA<0>(*at);
    LoadB<0>(*at);
    Product<kFirst, kDensity, kSecond, 0, 0, 0>(block, units);
    if constexpr (kATiles == 2) {
      LoadA<1>(*at);
      Product<kFirst, kDensity, kSecond, 1, 0, 1>(block, units);
      LoadB<1>(*at);
      Product<kFirst, kDensity, kSecond, 0, 1, 2>(block, units);
      Product<kFirst, kDensity, kSecond, 1, 1, 3>(block, units);
    } else {
      LoadB<1>(*at);
      Product<kFirst, kDensity, kSecond, 0, 1, 1>(block, units);
      LoadB<2>(*at);
      Product<kFirst, kDensity, kSecond, 0, 2, 2>(block, units);
      LoadB<3>(*at);
      Product<kFirst, kDensity, kSecond, 0, 3, 3>(block, units);
    }
    PrefetchColumns(at->prefetch, at->prefetch_begin, at->prefetch_end,
                    at->rhs_col, at->rhs_tile);
    units->EndStep();
    at->prefetch += at->rhs_step;
    at->rhs += at->rhs_step;
    for (int b = 0; b < kBTiles; ++b) at->lhs[b] += 16 * kStepLevels;
  }

  template <class Units>
  static RUY_LIKE_ALWAYS_INLINE void PlainSteps(const TileBlock& block,
                                                Cursor* at, ptrdiff_t steps,
                                                Units* units) {
    for (; steps > 0; --steps) {
      Step<false, Density::kNone, false>(block, at, units);
    }
  }

  // The steps that all units stand in, after the first one.
  template <Density kDensity, class Units>
  static RUY_LIKE_ALWAYS_INLINE void UnitSteps(const TileBlock& block,
                                               Cursor* at, Units* units) {
    constexpr int kTurns = kDensity == Density::kTwo ? 2 : kRounds;
    for (int turn = 0; turn < kTurns; ++turn) {
      Step<false, kDensity, false>(block, at, units);
      if constexpr (kDensity == Density::kHalf) {
        Step<false, kDensity, true>(block, at, units);
      }
    }
  }

  // Not inlined: the copies in one caller would leave it no registers.
  template <class Units, class UnitsArg>
  __attribute__((noinline)) static void Run(const TileBlock& block,
                                            const UnitsArg& units_arg) {
    const RhsGroup& g = *block.rhs;
    // Tile loads count as reading and writing all of memory, so what steps need
    // is copied out of it.
    Cursor at = {g.data,
                 g.tail,
                 g.tile_bytes,
                 g.col_bytes,
                 g.step_bytes,
                 {block.lhs[0], block.lhs[1], block.lhs[2], block.lhs[3]},
                 block.prefetch,
                 block.prefetch_begin,
                 block.prefetch_end,
                 g.steps};
    const ptrdiff_t steps = g.steps + (g.tail != nullptr);
    Units units(units_arg);
    if constexpr (!Units::kHasUnits) {
      Step<true, Density::kNone, false>(block, &at, &units);
      PlainSteps(block, &at, steps - 1, &units);
    } else if (kStream != Stream::kBoth && steps <= 2) {
      Step<true, Density::kFour, false>(block, &at, &units);
      PlainSteps(block, &at, steps - 1, &units);
    } else {
      Step<true, Density::kNone, false>(block, &at, &units);
      ptrdiff_t done = 1;
      if (kStream != Stream::kBoth && steps <= 4) {
        UnitSteps<Density::kTwo>(block, &at, &units);
        done += 2;
      } else if (kStream != Stream::kBoth && steps <= 8) {
        UnitSteps<Density::kOne>(block, &at, &units);
        done += 4;
      } else {
        UnitSteps<Density::kHalf>(block, &at, &units);
        done += 8;
      }
      PlainSteps(block, &at, steps - done, &units);
    }
  }
};

template <bool kUnsignedRhs, class Units, class UnitsArg>
void RunTileBlock(BlockShape shape, Stream stream, const TileBlock& block,
                  const UnitsArg& units) {
  constexpr BlockShape kSquare = BlockShape::k32x32;
  constexpr bool kU = kUnsignedRhs;
  // Blocks of at most 16 columns are a call's last: what they read of the lhs
  // is not read again.
  if (shape == BlockShape::k64x16) {
    typedef TileSteps<kU, BlockShape::k64x16, Stream::kLhs> Steps;
    return Steps::template Run<Units>(block, units);
  }
  if constexpr (Units::kAnyStream) {
    switch (stream) {
      case Stream::kNone:
        return TileSteps<kU, kSquare, Stream::kNone>::template Run<Units>(
            block, units);
      case Stream::kRhs:
        return TileSteps<kU, kSquare, Stream::kRhs>::template Run<Units>(block,
                                                                         units);
      case Stream::kBoth:
        return TileSteps<kU, kSquare, Stream::kBoth>::template Run<Units>(
            block, units);
      case Stream::kLhs:
        break;
    }
  }
  TileSteps<kU, kSquare, Stream::kLhs>::template Run<Units>(block, units);
}

// Stores the sums of a shape's four accumulators.
inline void StoreTiles(BlockShape shape, int32_t* sums) {
  if (shape == BlockShape::k32x32) {
    typedef TileSteps<false, BlockShape::k32x32, Stream::kNone> Steps;
    Steps::StoreSums<0, 0>(sums);
    Steps::StoreSums<1, 0>(sums);
    Steps::StoreSums<0, 1>(sums);
    Steps::StoreSums<1, 1>(sums);
  } else {
    typedef TileSteps<false, BlockShape::k64x16, Stream::kNone> Steps;
    Steps::StoreSums<0, 0>(sums);
    Steps::StoreSums<0, 1>(sums);
    Steps::StoreSums<0, 2>(sums);
    Steps::StoreSums<0, 3>(sums);
  }
}

}  // namespace
}  // namespace kernels
}  // namespace ruy_like

#endif  // RUY_LIKE_KERNELS_AMX_AMX_BLOCK_H_
