// Back-end: the tile products of the AMX kernel, one block of tiles at a time,
// with the epilogue of an earlier block between them.
//
// Included by amx_kernel.h, which passes start values, where to store the
// accumulators of the block before, and the block whose epilogue is due. Knows
// only tile numbers and addresses.
//
// The tile unit does C[16 x 16 int32] += A[16 x 64 B] * B[16 x (16 x 4 B)], or
// the same of float sums of bfloat16, whose steps of 64 bytes are a depth of
// 32. Rows of dst are contiguous in the common case, so they take the
// contiguous direction of C: B tiles are lhs panels, A tiles are columns of the
// rhs.
//
//                       lhs: packed 16x4, one 1 KiB tile per depth of 64
//                       B0 (rows 0..15)     B1 (rows 16..31)
//   rhs:  A0 (cols  0..15)  C00                 C01
//         A1 (cols 16..31)  C10                 C11
//
// A column of dst is thus one row of Cx0 next to one row of Cx1: 64 bytes each.
// Where at most 16 columns are left, a block has one A tile and four B tiles: a
// product waits for the one before it into the same accumulator (52 cycles),
// and four accumulators keep the unit busy (16 cycles each). Either way a step
// of depth 64 has four products. Missing panels repeat the last one; their
// accumulators are not stored to dst.
//
//   tile number          0    1    2    3    4    5    6    7
//   k32x32, 17..32 cols  C00  C01  C10  C11  A0   A1   B0   B1
//   k64x16,  1..16 cols  C00  C01  C02  C03  A0   B0,3 B1   B2
//
// ## A stream of blocks
//
// Accumulators stay in their tiles until the next block's first step stores
// each one right before its first product, and loads the new start value. So
// loads and stores overlap with products, and the epilogue is two blocks
// behind:
//
//   tile unit:     block i
//   first step:    stores the accumulators of block i - 1
//   vector units:  epilogue of block i - 2
//
// Where that epilogue's 16 units (amx_byte_units.h) run, by the number of steps
// of a block:
//
//   1      four after each product
//   2, 3   two after each product of the first two steps
//   4..8   one after each product of the first four steps
//   more   one after every second product of the second step to the ninth
//
// Measured: doc/amx.md.
#ifndef RUY_LIKE_KERNELS_AMX_AMX_BLOCK_H_
#define RUY_LIKE_KERNELS_AMX_AMX_BLOCK_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/amx/amx_byte_units.h"
#include "ruy_like/kernels/amx/amx_rhs.h"
#include "ruy_like/kernels/amx/amx_start_values.h"
#include "ruy_like/kernels/amx/amx_tile.h"
#include "ruy_like/simd/loops.h"

namespace ruy_like::kernels {
namespace {

// A block's operands at the beginning of this pass. Steps advance a copy.
struct BlockOperands {
  RhsSlice rhs;
  const char* lhs[4];  // panels
  StartValues start;
  // Where the first step stores the accumulators of the block before; before
  // the first block they are garbage.
  int32_t* previous_accumulators;
};

// Tile loads of the lhs bypass L1, which has the rhs's slice; with kDeep those
// of the rhs do as well, as neither stays in L1 (doc/amx.md).
template <TileElements kElements, BlockShape kShape, bool kDeep>
struct TileSteps {
  static constexpr int kATiles = kShape == BlockShape::k32x32 ? 2 : 1;
  static constexpr int kBTiles = 4 / kATiles;
  static constexpr int kAccBytes = kBTiles * 64;  // from column to column

  // A step's i-th product is that of A tile A(i) and B tile B(i), into
  // accumulator C(i).
  static constexpr int A(int i) { return i % kATiles; }
  static constexpr int B(int i) { return i / kATiles; }
  static constexpr int C(int i) { return A(i) * kBTiles + B(i); }
  // The number of the tile that B tile b is in.
  static constexpr int BTile(int b) { return 4 + kATiles + b % (4 - kATiles); }

  template <int i>
  static RUY_LIKE_ALWAYS_INLINE void StoreAccumulators(int32_t* to) {
    Tiles::Store<C(i)>(
        reinterpret_cast<char*>(to) + A(i) * 16 * kAccBytes + B(i) * 64,
        kAccBytes);
  }

  template <int i>
  static RUY_LIKE_ALWAYS_INLINE void Start(const StartValues& s) {
    if (s.values == nullptr) {
      Tiles::Zero<C(i)>();
    } else {
      Tiles::Load<C(i)>(s.values + A(i) * s.a_stride + B(i) * s.b_stride,
                        s.col_stride * sizeof(int32_t));
    }
  }

  // Runs units kUnit .. kEnd - 1, counted from the start of a round.
  template <int kUnit, int kEnd, class Units>
  static RUY_LIKE_ALWAYS_INLINE void RunUnits(Units* units) {
    if constexpr (kUnit < kEnd) {
      units->template Run<kUnit % kUnitsOfARound>();
      RunUnits<kUnit + 1, kEnd>(units);
    }
  }

  // The i-th product of a step (kFirst: of the block's first step), then its
  // share of the step's kUnitsOfStep units, the first of which is kUnit.
  template <bool kFirst, int kUnitsOfStep, int kUnit, int i, class Units>
  static RUY_LIKE_ALWAYS_INLINE void Product(const BlockOperands& at,
                                             Units* units) {
    if constexpr (B(i) == 0) {
      Tiles::Load<4 + A(i), kDeep>(at.rhs.data + A(i) * at.rhs.tile_bytes,
                                   at.rhs.col_bytes);
    }
    if constexpr (A(i) == 0) {
      Tiles::Load<BTile(B(i)), /*kStreams=*/true>(at.lhs[B(i)], 64);
    }
    if constexpr (kFirst) {
      StoreAccumulators<i>(at.previous_accumulators);
      Start<i>(at.start);
    }
    Tiles::Multiply<kElements, C(i), 4 + A(i), BTile(B(i))>();
    RunUnits<kUnit + i * kUnitsOfStep / 4, kUnit + (i + 1) * kUnitsOfStep / 4>(
        units);
  }

  // One step: four products of depth 64.
  template <bool kFirst, int kUnitsOfStep, int kUnit, class Units>
  static RUY_LIKE_ALWAYS_INLINE void Step(BlockOperands* at, Units* units) {
    if (at->rhs.steps == 0) {
      at->rhs.data = at->rhs.tail;
      at->rhs.tile_bytes = 16 * kStepBytes;
      at->rhs.col_bytes = kStepBytes;
    }
    --at->rhs.steps;
    Product<kFirst, kUnitsOfStep, kUnit, 0>(*at, units);
    Product<kFirst, kUnitsOfStep, kUnit, 1>(*at, units);
    Product<kFirst, kUnitsOfStep, kUnit, 2>(*at, units);
    Product<kFirst, kUnitsOfStep, kUnit, 3>(*at, units);
    units->EndStep();
    at->rhs.data += at->rhs.step_bytes;
    for (int b = 0; b < kBTiles; ++b) at->lhs[b] += 16 * kStepBytes;
  }

  // Runs the steps that contain units. If a step has whole rounds, the block's
  // first step, which the caller has run, was one of them; else units begin in
  // the second. Returns the number of steps run.
  template <int kUnitsOfStep, class Units>
  static RUY_LIKE_ALWAYS_INLINE int UnitSteps(BlockOperands* at, Units* units) {
    constexpr int kSteps = kUnits / kUnitsOfStep;
    if constexpr (kUnitsOfStep >= kUnitsOfARound) {
      for (int step = 1; step < kSteps; ++step) {
        Step<false, kUnitsOfStep, 0>(at, units);
      }
      return kSteps - 1;
    } else {
      for (int step = 0; step < kSteps; step += 2) {
        Step<false, kUnitsOfStep, 0>(at, units);
        Step<false, kUnitsOfStep, kUnitsOfStep>(at, units);
      }
      return kSteps;
    }
  }

  // Not inlined: several copies in one caller would spill registers.
  template <class Units, class UnitsArg>
  RUY_LIKE_NOINLINE static void Run(const BlockOperands& block,
                                    const UnitsArg& units_arg) {
    // To the compiler tile loads read and write all of memory: a local copy can
    // stay in registers.
    BlockOperands at = block;
    const ptrdiff_t steps = at.rhs.steps + (at.rhs.tail != nullptr);
    Units units(units_arg);
    ptrdiff_t done = 1;
    if constexpr (!Units::kHasUnits) {
      Step<true, 0, 0>(&at, &units);
    } else if (kDeep || steps > 8) {
      Step<true, 0, 0>(&at, &units);
      done += UnitSteps<2>(&at, &units);
    } else if (steps > 3) {
      Step<true, 4, 0>(&at, &units);
      done += UnitSteps<4>(&at, &units);
    } else if (steps > 1) {
      Step<true, 8, 0>(&at, &units);
      done += UnitSteps<8>(&at, &units);
    } else {
      Step<true, 16, 0>(&at, &units);
    }
    for (ptrdiff_t left = steps - done; left > 0; --left) {
      Step<false, 0, 0>(&at, &units);
    }
  }
};

template <TileElements kElements, class Units, class UnitsArg>
void RunTileSteps(BlockShape shape, const BlockOperands& block,
                  const UnitsArg& units) {
  constexpr TileElements kE = kElements;
  constexpr BlockShape kSquare = BlockShape::k32x32;
  constexpr int kDeepSteps = 48;
  if (shape == BlockShape::k64x16) {
    TileSteps<kE, BlockShape::k64x16, false>::template Run<Units>(block, units);
  } else if (block.rhs.steps < kDeepSteps) {
    TileSteps<kE, kSquare, false>::template Run<Units>(block, units);
  } else {
    TileSteps<kE, kSquare, true>::template Run<Units>(block, units);
  }
}

// Stores a shape's four accumulators.
inline void StoreTiles(BlockShape shape, int32_t* to) {
  const ptrdiff_t col_bytes = RowsOf(shape) * sizeof(int32_t);
  const bool is_square = shape == BlockShape::k32x32;
  char* const first = reinterpret_cast<char*>(to);
  char* const third = first + (is_square ? 16 * col_bytes : 128);
  Tiles::Store<0>(first, col_bytes);
  Tiles::Store<1>(first + 64, col_bytes);
  Tiles::Store<2>(third, col_bytes);
  Tiles::Store<3>(third + 64, col_bytes);
}

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_AMX_AMX_BLOCK_H_
