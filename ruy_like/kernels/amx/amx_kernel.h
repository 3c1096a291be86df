// Back-end: the AMX kernel of 8-bit operands and of bfloat16 by bfloat16.
//
// Included by kernels/amx.cc. It walks over a block of dst in blocks of tiles
// (amx_block.h), which make a stream: while one is multiplied, the
// accumulators of the one before leave the tiles, and the one before that gets
// its epilogue (amx_byte_units.h; amx_squares.h for rarer dst). It does not
// pack. doc/amx.md explains the choices.
//
// Up to kRangeRows rows at a time, columns of dst go in slices of 32; inside a
// slice the rows stream by:
//
//        slice 0    slice 1
//      +----------+----------+--
//      | 1st      | 4th      |      A slice's columns of the rhs stay in L1
//      +----------+----------+--    while the lhs panels come from L2.
//      | 2nd      | 5th      |
//      +----------+----------+--
//      | 3rd      | 6th      |
#ifndef RUY_LIKE_KERNELS_AMX_AMX_KERNEL_H_
#define RUY_LIKE_KERNELS_AMX_AMX_KERNEL_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/amx/amx_block.h"
#include "ruy_like/kernels/amx/amx_byte_units.h"
#include "ruy_like/kernels/amx/amx_float_units.h"
#include "ruy_like/kernels/amx/amx_rhs.h"
#include "ruy_like/kernels/amx/amx_squares.h"
#include "ruy_like/kernels/amx/amx_start_values.h"
#include "ruy_like/kernels/amx/amx_store_bytes.h"
#include "ruy_like/kernels/amx/amx_tile.h"
#include "ruy_like/kernels/kernel.h"
#include "ruy_like/simd/loops.h"

namespace ruy_like::kernels {
namespace {

enum class EpilogueRoute {
  kSquares,
  kBytesByRow,     // multipliers along rows, or one for all
  kBytesByVector,  // along columns
  kFloats          // whole blocks; the others as squares
};

// The state of a call, on its stack, nearly all of it in L1.
struct CallState {
  const KernelArgs* args;
  EpilogueArgs epilogue;  // without integer bias, sums and zero points
  EpilogueRoute route;
  FloatScales scales;
  bool row_major;
  UnitConstants constants;
  // Multipliers of the range's rows (kBytesByRow), or their bias (kFloats);
  // multipliers of the 64 vectors of a block, in the order of units, for the
  // last three slices (kBytesByVector).
  alignas(64) float row_scales[kRangeRows];
  float vector_scales[3][64];
  StartTerms terms;
  Block in_tiles;  // multiplied, not stored
  Block stored;    // without its epilogue
  int blocks;      // so far
  alignas(64) int32_t accumulators[2][kBlockElements];
  alignas(64) char bytes[kUnits * 64];
  alignas(32) uint16_t sure[kUnits];
  alignas(64) char tail[kSliceCols * kStepBytes];
};

// ## Multipliers

// Multipliers of `count` channels from the `first` one on, and zeros up to
// `padded`, a multiple of vectors.
inline void SetScales(const CallState& s, ptrdiff_t first, int count,
                      int padded, float* scales) {
  typedef Simd512 V;
  const EpilogueArgs& e = s.epilogue;
  const FloatScales& floats = s.scales;
  for (int i = 0; i < padded; i += V::kLanes) {
    const V::Mask mask =
        V::FirstLanes(i < count ? Min(count - i, V::kLanes) : 0);
    V::Float vector;
    if (floats.values != nullptr) {
      vector = V::MulFloat(V::SetFloat(65536),
                           floats.per_channel
                               ? V::LoadMasked(floats.values + first + i, mask)
                               : V::SetFloat(*floats.values));
    } else if (e.per_channel) {
      vector = UnitScales(V::LoadMasked(e.fixedpoint + first + i, mask),
                          V::LoadMasked(e.exponent + first + i, mask));
    } else {
      vector = UnitScales(V::Set(*e.fixedpoint), V::Set(*e.exponent));
    }
    _mm512_storeu_ps(scales + i, vector);
  }
}

inline void SetVectorMultipliers(BlockShape shape, ptrdiff_t col0, int cols,
                                 CallState* s) {
  if (s->route != EpilogueRoute::kBytesByVector) return;
  float by_column[kSliceCols];
  SetScales(*s, col0, cols, kSliceCols, by_column);
  const UnitWalk& walk = kUnitWalks[static_cast<int>(shape)][s->row_major];
  float* const to = s->vector_scales[col0 / kSliceCols % 3];
  for (int i = 0; i < 64; ++i) {
    const int col = VectorAt(walk, i) / RowsOf(shape);
    to[i] = by_column[col < cols ? col : 0];
  }
}

// ## Epilogues

inline void InitEpilogue(const KernelArgs& args, CallState* s) {
  EpilogueArgs& e = s->epilogue;
  e = *args.epilogue;
  if (IntBias(e) != nullptr) e.bias = nullptr;
  e.lhs_sums = nullptr;
  e.rhs_sums = nullptr;
  e.zero_point_product = 0;
  if (e.zeros != nullptr) {
    e.needs_general = e.rounds_twice || e.output != Output::kFixedPoint;
  }
  e.zeros = nullptr;
  s->row_major = e.dst_row_stride != 1;
  s->route = EpilogueRoute::kSquares;
  if (e.output == Output::kFloat) {
    if (!s->row_major && !e.needs_general &&
        (e.bias == nullptr || e.channels_are_rows)) {
      s->route = EpilogueRoute::kFloats;
    }
    return;
  }
  s->scales = FloatScales::Of(e);
  const bool has_scales = s->scales.values != nullptr;
  const bool of_columns =
      has_scales ? s->scales.of_columns : !e.channels_are_rows;
  const ptrdiff_t channels = of_columns ? args.cols : args.rows;
  if (!UnitConstants::CanServe(e, s->scales, channels)) return;
  s->route = of_columns && (has_scales ? s->scales.per_channel : e.per_channel)
                 ? EpilogueRoute::kBytesByVector
                 : EpilogueRoute::kBytesByRow;
  s->constants.Set(e, has_scales, channels);
}

inline UnitArgs UnitsOf(const Block& block, CallState* s) {
  return {block.accumulators,
          &kUnitWalks[static_cast<int>(block.shape)][s->row_major],
          &s->constants,
          s->route == EpilogueRoute::kBytesByRow
              ? s->row_scales + block.range_row
              : s->vector_scales[block.slice],
          s->bytes,
          s->sure};
}

inline bool IsWholeFloatBlock(const Block& block, const CallState& s) {
  return s.route == EpilogueRoute::kFloats &&
         block.rows * block.cols == kBlockElements;
}

inline FloatUnitArgs FloatUnitsOf(const Block& block, const CallState& s) {
  const EpilogueArgs& e = s.epilogue;
  return {
      block.shape,
      block.accumulators,
      s.row_scales + block.range_row,
      static_cast<float*>(e.dst) + block.row0 + block.col0 * e.dst_col_stride,
      e.dst_col_stride,
      FloatBounds::Of(e)};
}

// The range's row bias, as kFloats adds it: -0 changes no value.
inline void SetRowBias(const EpilogueArgs& e, ptrdiff_t row0, int rows,
                       float* row_bias) {
  const float* const bias = static_cast<const float*>(e.bias);
  for (int row = 0; row < rows; ++row) {
    row_bias[row] = bias == nullptr ? -0.0f : bias[row0 + row];
  }
}

// Repeats units with uncertain lanes, exactly.
RUY_LIKE_NOINLINE void RepairUnits(const Block& block, const CallState& s) {
  const UnitWalk& walk = kUnitWalks[static_cast<int>(block.shape)][s.row_major];
  const Squares squares = {&s.epilogue, block, 0, 0};
  for (int unit = 0; unit < kUnits; ++unit) {
    if (s.sure[unit] == 0xffff) continue;
    const int acc = VectorAt(walk, 4 * unit);
    const int row = acc % RowsOf(block.shape);
    const int col = acc / RowsOf(block.shape);
    if (s.row_major) {
      StorePart(squares, row, col, 4);
    } else {
      StorePart(squares, row, col, 2);
      StorePart(squares, row + Simd512::kLanes, col, 2);
    }
  }
}

// Stores the bytes that the block's units made. Not inlined: three callers.
RUY_LIKE_NOINLINE void StoreBytes(const Block& block, const CallState& s) {
  const EpilogueArgs& e = s.epilogue;
  int8_t* const dst = static_cast<int8_t*>(e.dst) +
                      block.row0 * e.dst_row_stride +
                      block.col0 * e.dst_col_stride;
  if (s.row_major) {
    StoreUnitsRowMajor(s.bytes, block.shape, block.rows, block.cols, dst,
                       e.dst_row_stride);
  } else {
    StoreUnitsColMajor(s.bytes, block.shape, block.rows, block.cols, dst,
                       e.dst_col_stride);
  }
  static_assert(sizeof(s.sure) == 32, "a vector of 256 bits");
  const __m256i sure =
      _mm256_load_si256(reinterpret_cast<const __m256i*>(s.sure));
  if (!_mm256_testc_si256(sure, _mm256_set1_epi8(-1))) RepairUnits(block, s);
}

// The epilogue of a stored block, without tile products in between.
RUY_LIKE_NOINLINE void FinishBlock(const Block& block, CallState* s) {
  if (block.cols == 0) return;
  if (IsWholeFloatBlock(block, *s)) {
    return RunUnitsAlone<FloatUnits>(FloatUnitsOf(block, *s));
  }
  if (s->route == EpilogueRoute::kSquares ||
      s->route == EpilogueRoute::kFloats) {
    Squares squares = {&s->epilogue, block, 0, 0};
    FinishSquares(&squares);
    return;
  }
  if (s->route == EpilogueRoute::kBytesByRow) {
    RunUnitsAlone<ByteUnits<false>>(UnitsOf(block, s));
  } else {
    RunUnitsAlone<ByteUnits<true>>(UnitsOf(block, s));
  }
  StoreBytes(block, *s);
}

// ## Blocks

// Multiplies the next block of the stream.
template <TileElements kElements>
void RunBlock(const BlockOperands& operands, const Block& block, CallState* s) {
  constexpr bool kIsFloat = kElements == TileElements::kBF16;
  const Block due = s->stored;
  if (kIsFloat && due.cols != 0 && IsWholeFloatBlock(due, *s)) {
    if constexpr (kIsFloat) {
      RunTileSteps<kElements, FloatUnits>(block.shape, operands,
                                          FloatUnitsOf(due, *s));
    }
  } else if (kIsFloat || due.cols == 0 || s->route == EpilogueRoute::kSquares) {
    Squares squares = {&s->epilogue, due, 0, 0};
    RunTileSteps<kElements, NoUnits>(block.shape, operands, &squares);
    FinishSquares(&squares);
  } else if constexpr (!kIsFloat) {
    const UnitArgs units = UnitsOf(due, s);
    if (s->route == EpilogueRoute::kBytesByRow) {
      RunTileSteps<kElements, ByteUnits<false>>(block.shape, operands, units);
    } else {
      RunTileSteps<kElements, ByteUnits<true>>(block.shape, operands, units);
    }
    StoreBytes(due, *s);
  }
  // Only the last pass has an epilogue.
  s->stored = s->in_tiles;
  if (!s->args->last_pass) s->stored.cols = 0;
  s->in_tiles = block;
}

// Ends the stream: afterwards tiles may be configured anew.
inline void Flush(CallState* s) {
  if (s->in_tiles.cols == 0) return;
  StoreTiles(s->in_tiles.shape, s->in_tiles.accumulators);
  FinishBlock(s->stored, s);
  if (s->args->last_pass) FinishBlock(s->in_tiles, s);
  s->stored.cols = 0;
  s->in_tiles.cols = 0;
}

// The range's rows of one column slice.
template <TileElements kElements>
void RunSlice(const RhsSlice& slice, ptrdiff_t row0, int rows, ptrdiff_t col0,
              CallState* s) {
  const KernelArgs& args = *s->args;
  const BlockShape shape = ShapeFor(slice.cols);
  const int block_rows = RowsOf(shape);
  BlockOperands operands;
  operands.rhs = slice;
  for (int row = 0; row < rows; row += block_rows) {
    Block block = {shape,
                   Min(rows - row, block_rows),
                   slice.cols,
                   row0 + row,
                   col0,
                   row,
                   static_cast<int>(col0 / kSliceCols % 3),
                   s->accumulators[s->blocks % 2]};
    for (int panel = 0; panel < 4; ++panel) {
      const ptrdiff_t first_row =
          row + 16 * panel < rows ? row + 16 * panel : (rows - 1) / 16 * 16;
      operands.lhs[panel] = static_cast<const char*>(args.lhs) +
                            (row0 + first_row) / 16 * args.lhs_stride_bytes;
    }
    // In `accum`, blocks lie in the order in which they are visited.
    int32_t* const saved =
        args.first_pass && args.last_pass
            ? nullptr
            : static_cast<int32_t*>(args.accum) +
                  static_cast<ptrdiff_t>(s->blocks) * kBlockElements;
    if (args.first_pass) {
      operands.start = MakeStart(shape, row, slice.cols, &s->terms);
    } else {
      AddTerms(s->terms, shape, row, slice.cols, /*accumulate=*/true, saved);
      operands.start = {saved, block_rows, 16 * block_rows, 16};
    }
    if (!args.last_pass) block.accumulators = saved;
    operands.previous_accumulators = s->in_tiles.cols != 0
                                         ? s->in_tiles.accumulators
                                         : s->accumulators[s->blocks % 2];
    RunBlock<kElements>(operands, block, s);
    ++s->blocks;
  }
}

// The kernel (KernelFn) for this kind of rhs and a lhs packed as kI8 16x4, or
// kBF16 16x2.
template <RhsKind kKind>
void RunAmx(const KernelArgs* depth_args) {
  KernelArgs byte_args = *depth_args;
  if (kKind == RhsKind::kPackedBF16) byte_args.depth *= 2;
  const KernelArgs* const args = &byte_args;
  CallState state;
  CallState* const s = &state;
  s->args = args;
  s->blocks = 0;
  s->in_tiles.cols = 0;
  s->stored = s->in_tiles;
  InitEpilogue(*args, s);
  const int tile_bytes = TileBytes(*args, kKind);
  int configured_cols = 0;
  for (ptrdiff_t row0 = 0; row0 < args->rows; row0 += kRangeRows) {
    const int rows = Min(args->rows - row0, kRangeRows);
    Flush(s);  // needs the multipliers of the rows before
    SetRowTerms(*args, row0, rows, &s->terms);
    if (s->route == EpilogueRoute::kBytesByRow) {
      SetScales(*s, row0, rows, (rows + 63) / 64 * 64, s->row_scales);
    } else if (s->route == EpilogueRoute::kFloats) {
      SetRowBias(s->epilogue, row0, rows, s->row_scales);
    }
    for (ptrdiff_t col0 = 0; col0 < args->cols; col0 += kSliceCols) {
      RhsSlice slice = MakeRhsSlice(*args, kKind, col0);
      if (slice.cols != configured_cols) {
        Flush(s);
        if (tile_bytes == kStepBytes) {
          Tiles::Configure(kTileConfigs.of[slice.cols]);
        } else {
          Tiles::Configure(MakeTileConfig(slice.cols, tile_bytes));
        }
        configured_cols = slice.cols;
      }
      if (args->depth % tile_bytes != 0) CopyTail(args->depth, s->tail, &slice);
      SetColumnTerms<kKind>(*args, slice, col0, &s->terms);
      SetVectorMultipliers(ShapeFor(slice.cols), col0, slice.cols, s);
      RunSlice<ElementsOf(kKind)>(slice, row0, rows, col0, s);
    }
  }
  Flush(s);
  Tiles::Release();
}

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_AMX_AMX_KERNEL_H_
