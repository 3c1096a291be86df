// Back-end: the panel kernel for int8 where Arm has no dot products: products
// in 16 bits, added in pairs.
//
// Included by kernels/neon.cc and neon32.cc, which list NeonBytesKernel in
// their tables. Only its tile and the order in which it takes rows and columns
// are its own; results, formats and epilogue are PanelKernel<>'s
// (panel_kernel.h).
//
// ## Tile
//
// Lanes run along depth; 4 rows by 4 columns are 16 accumulators, whose lanes
// are added up at the end. For 16 elements of a row and a column:
//
//    SMULL   p,   lhs[0..7],  rhs[0..7]
//    SMLAL2  p,   lhs[8..15], rhs[8..15]      sums of two products, 16 bits
//    SADALP  acc, p
//
// would do, but (-128) * (-128) twice is 2^15 and overflows. So the upper eight
// elements of the rhs come as ~r = -r - 1, and are subtracted:
//
//    SMLSL2  p,   lhs[8..15], ~rhs[8..15]     -l * (-r - 1) = l * r + l
//
// whose sums lie in -32640 .. 32640. The excess, a row's sum of its upper-half
// elements, is subtracted where tiles end. Both are made here, from panels of
// plain elements: a rhs panel's complement once for its rows, the excess once
// for all columns, of up to kMaxEpilogueVectors panels of rows at a time, on 64
// bits by the first tile that reads the rows, if it is whole. Of a single lhs
// panel the complement is made instead, and each tile sums up its columns.
#ifndef RUY_LIKE_KERNELS_PANEL_PANEL_TILE_BYTES_NEON_H_
#define RUY_LIKE_KERNELS_PANEL_PANEL_TILE_BYTES_NEON_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/kernel.h"
#include "ruy_like/kernels/panel/panel_kernel.h"
#include "ruy_like/kernels/panel/panel_ops_neon.h"
#include "ruy_like/kernels/panel/panel_rhs.h"
#include "ruy_like/simd/loops.h"
#include "ruy_like/simd/neon.h"
#include "ruy_like/simd/simd_neon.h"

namespace ruy_like::kernels {
namespace {

// Columns whose accumulators are in registers at once, and rows whose products
// are. A tile of more columns goes over its depth more than once.
constexpr int kBytesColumnsAtOnce = RUY_LIKE_NEON_64 ? 4 : 2;
constexpr int kBytesRowsAtOnce = RUY_LIKE_NEON_64 ? 4 : 1;

// Moves a pointer on by 16 bytes. 32-bit Arm's loads and stores take no offset,
// but advance the pointer.
template <typename T>
RUY_LIKE_ALWAYS_INLINE void MoveOn(T** p) {
  *p += 16;
  if (!RUY_LIKE_NEON_64) asm("" : "+r"(*p));
}
RUY_LIKE_ALWAYS_INLINE int8x16_t LoadNext(const int8_t** p) {
  const int8x16_t vector = vld1q_s8(*p);
  MoveOn(p);
  return vector;
}

// Arguments of a tile with a complemented rhs.
struct ComplementedTileArgs : TileArgs {
  const int32_t* row_excess;    // subtracted from all of a row's accumulators
  ptrdiff_t result_col_stride;  // elements from one column of it to the next
};

// Ends a tile of four rows: adds the start values to its sums of products.
template <int kCols>
RUY_LIKE_ALWAYS_INLINE void EndBytesTile(const TileArgs& args,
                                         int32x4_t (&sums)[kCols][1],
                                         ptrdiff_t result_col_stride) {
  const int32_t* const start = static_cast<const int32_t*>(args.start);
  RUY_LIKE_UNROLL
  for (int c = 0; c < kCols; ++c) {
    int32x4_t& sum = sums[c][0];
    sum = vaddq_s32(sum, vld1q_s32(start + c * args.start_col_stride));
    if (args.column_start != nullptr) {
      sum = vaddq_s32(sum, vdupq_n_s32(args.column_start[c]));
    }
  }
  if (args.finish != nullptr) {
    return FinishTile(sums, *static_cast<const NeonIntTile*>(args.finish));
  }
  int32_t* const result = static_cast<int32_t*>(args.result);
  RUY_LIKE_UNROLL
  for (int c = 0; c < kCols; ++c) {
    vst1q_s32(result + c * result_col_stride, sums[c][0]);
  }
}

// Sums over the upper half of each 16 elements, of four rows or columns.
template <bool kWanted_>
struct UpperSums {
  static constexpr bool kWanted = kWanted_;
  // A sum of at most kMaxDepth / 16 int8 fits 16 bits.
  RUY_LIKE_ALWAYS_INLINE void Add(int i, int8x16_t bytes) {
    if constexpr (kWanted) sums[i] = vaddw_high_s8(sums[i], bytes);
  }
  RUY_LIKE_ALWAYS_INLINE int32x4_t Total() const {
    return SimdNeon::LaneSums(vpaddlq_s16(sums[0]), vpaddlq_s16(sums[1]),
                              vpaddlq_s16(sums[2]), vpaddlq_s16(sums[3]));
  }

  int16x8_t sums[4] = {};
};

// The side whose upper-half elements are complemented. Tiles with a
// complemented rhs are given ComplementedTileArgs.
enum class Complemented { kNeither, kLhs, kRhs };

template <Complemented kComplemented, class RhsSource, int kCols>
struct BytesTile {
  static void Run(const TileArgs& args) { RunInline(args); }

  static RUY_LIKE_ALWAYS_INLINE void RunInline(const TileArgs& args) {
    int32x4_t sums[kCols][1];
    Multiply(static_cast<const int8_t*>(args.lhs), args.rhs, args.steps, sums);
    if constexpr (kComplemented == Complemented::kRhs) {
      const ComplementedTileArgs& complemented =
          static_cast<const ComplementedTileArgs&>(args);
      const int32x4_t excess = vld1q_s32(complemented.row_excess);
      RUY_LIKE_UNROLL
      for (int c = 0; c < kCols; ++c) {
        sums[c][0] = vsubq_s32(sums[c][0], excess);
      }
      EndBytesTile(args, sums, complemented.result_col_stride);
    } else {
      EndBytesTile(args, sums, 4);
    }
  }

  // The sums of products of four rows and kCols columns. kSumsRows: writes the
  // excess of the rows, too.
  template <bool kSumsRows = false>
  static RUY_LIKE_ALWAYS_INLINE void Multiply(const int8_t* lhs,
                                              const RhsColumns& rhs_columns,
                                              ptrdiff_t steps,
                                              int32x4_t (&sums)[kCols][1],
                                              int32_t* excess = nullptr) {
    if constexpr (kCols > kBytesColumnsAtOnce) {
      constexpr int kFirst = kBytesColumnsAtOnce;
      int32x4_t first[kFirst][1], rest[kCols - kFirst][1];
      BytesTile<kComplemented, RhsSource, kFirst>::Multiply(lhs, rhs_columns,
                                                            steps, first);
      BytesTile<kComplemented, RhsSource, kCols - kFirst>::Multiply(
          lhs,
          {static_cast<const int8_t*>(rhs_columns.data) + 16 * kFirst,
           rhs_columns.stride_bytes},
          steps, rest);
      for (int c = 0; c < kCols; ++c) {
        sums[c][0] = c < kFirst ? first[c][0] : rest[c - kFirst][0];
      }
    } else {
      MultiplyAtOnce<kSumsRows>(lhs, rhs_columns, steps, sums, excess);
    }
  }

 private:
  static constexpr bool kSumsCols = kComplemented == Complemented::kLhs;

  template <bool kSumsRows>
  static RUY_LIKE_ALWAYS_INLINE void MultiplyAtOnce(
      const int8_t* lhs, const RhsColumns& rhs_columns, ptrdiff_t steps,
      int32x4_t (&sums)[kCols][1], int32_t* excess) {
    int32x4_t acc[kCols][4];
    UpperSums<kSumsRows || kSumsCols> upper;
    typename RhsSource::template Cursor<kCols> rhs(rhs_columns);
    if (steps > 0) {
      Step<true, kSumsRows>(&lhs, rhs, acc, upper);
    } else {
      RUY_LIKE_UNROLL
      for (int c = 0; c < kCols; ++c) {
        RUY_LIKE_UNROLL
        for (int r = 0; r < 4; ++r) acc[c][r] = vdupq_n_s32(0);
      }
    }
    // By hand: compilers unroll no loop with KeepInOrder().
    for (--steps; steps > 0; --steps) {
      rhs.Advance();
      Step<false, kSumsRows>(&lhs, rhs, acc, upper);
    }
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; ++c) {
      sums[c][0] =
          SimdNeon::LaneSums(acc[c][0], acc[c][1], acc[c][2], acc[c][3]);
    }
    if constexpr (kSumsRows || kSumsCols) {
      const int32x4_t total = upper.Total();
      if (kSumsRows) vst1q_s32(excess, total);
      RUY_LIKE_UNROLL
      for (int c = 0; kSumsCols && c < kCols; ++c) {
        sums[c][0] = vsubq_s32(sums[c][0], vdupq_n_s32(total[c]));
      }
    }
  }

  // The first step sets the accumulators, others add to them. Advances lhs.
  template <bool kFirst, bool kSumsRows, class Upper>
  static RUY_LIKE_ALWAYS_INLINE void Step(
      const int8_t** lhs, const typename RhsSource::template Cursor<kCols>& rhs,
      int32x4_t (&acc)[kCols][4], Upper& upper) {
    RUY_LIKE_UNROLL
    for (int row = 0; row < 4; row += kBytesRowsAtOnce) {
      int8x16_t rows[kBytesRowsAtOnce];
      RUY_LIKE_UNROLL
      for (int r = 0; r < kBytesRowsAtOnce; ++r) {
        rows[r] = LoadNext(lhs);
        if (kSumsRows) upper.Add(row + r, rows[r]);
      }
      RUY_LIKE_UNROLL
      for (int c = 0; c < kCols; c += 2) {
        if (c + 1 < kCols) {
          AddColumns<kFirst, 2>(rows, rhs, row, c, acc, upper);
        } else {
          AddColumns<kFirst, 1>(rows, rhs, row, c, acc, upper);
        }
      }
    }
  }

  // Rows from `row` and columns from `first` on.
  template <bool kFirst, int kColumns, class Upper>
  static RUY_LIKE_ALWAYS_INLINE void AddColumns(
      const int8x16_t (&rows)[kBytesRowsAtOnce],
      const typename RhsSource::template Cursor<kCols>& rhs, int row, int first,
      int32x4_t (&acc)[kCols][4], Upper& upper) {
    // Loaded side by side, which takes one instruction.
    int8x16_t columns[kColumns];
    RUY_LIKE_UNROLL
    for (int c = 0; c < kColumns; ++c) {
      columns[c] = vld1q_s8(rhs.Column(first + c));
    }
    RUY_LIKE_UNROLL
    for (int c = 0; kSumsCols && row == 0 && c < kColumns; ++c) {
      upper.Add(first + c, columns[c]);
    }
    if constexpr (Upper::kWanted && kColumns == 2) {
      // More products at once would leave no registers for sums.
      AddProducts<kFirst, 1>(rows, {columns[0]}, row, first, acc);
      AddProducts<kFirst, 1>(rows, {columns[1]}, row, first + 1, acc);
    } else {
      AddProducts<kFirst, kColumns>(rows, columns, row, first, acc);
    }
  }

  // Dependent instructions stand apart, for cores that issue in order.
  template <bool kFirst, int kColumns>
  static RUY_LIKE_ALWAYS_INLINE void AddProducts(
      const int8x16_t (&rows)[kBytesRowsAtOnce],
      const int8x16_t (&columns)[kColumns], int row, int first,
      int32x4_t (&acc)[kCols][4]) {
    constexpr bool kExact = kComplemented == Complemented::kNeither;
    int16x8_t products[kColumns][kBytesRowsAtOnce];
    RUY_LIKE_UNROLL
    for (int c = 0; c < kColumns; ++c) {
      RUY_LIKE_UNROLL
      for (int r = 0; r < kBytesRowsAtOnce; ++r) {
        products[c][r] =
            vmull_s8(vget_low_s8(rows[r]), vget_low_s8(columns[c]));
        SimdNeon::KeepInOrder(products[c][r]);
      }
    }
    if constexpr (kExact) AddPairs<kFirst>(products, row, first, acc);
    RUY_LIKE_UNROLL
    for (int c = 0; c < kColumns; ++c) {
      RUY_LIKE_UNROLL
      for (int r = 0; r < kBytesRowsAtOnce; ++r) {
        int16x8_t& p = products[c][r];
        p = kExact ? vmull_high_s8(rows[r], columns[c])
                   : vmlsl_high_s8(p, rows[r], columns[c]);
        SimdNeon::KeepInOrder(p);
      }
    }
    AddPairs<kFirst && !kExact>(products, row, first, acc);
  }

  template <bool kFirst, int kColumns>
  static RUY_LIKE_ALWAYS_INLINE void AddPairs(
      const int16x8_t (&products)[kColumns][kBytesRowsAtOnce], int row,
      int first, int32x4_t (&acc)[kCols][4]) {
    RUY_LIKE_UNROLL
    for (int c = 0; c < kColumns; ++c) {
      RUY_LIKE_UNROLL
      for (int r = 0; r < kBytesRowsAtOnce; ++r) {
        int32x4_t& sum = acc[first + c][row + r];
        sum = kFirst ? vpaddlq_s16(products[c][r])
                     : vpadalq_s16(sum, products[c][r]);
        SimdNeon::KeepInOrder(sum);
      }
    }
  }
};

// int8 times int8, 16 elements a step.
template <Complemented kComplemented>
struct NeonBytesOp : NeonIntOp<int8_t, 16> {
  static constexpr TileKind kTileKind = TileKind::kOwn;
  static constexpr int kSinglePanelWidth = 1;
  template <class RhsSource, int kVectors, int kCols>
  using Tile = BytesTile<kComplemented, RhsSource, kCols>;
};

struct NeonBytesKernel
    : PanelKernel<NeonBytesOp<Complemented::kNeither>, 1, 4> {
  typedef PanelKernel<NeonBytesOp<Complemented::kNeither>, 1, 4> Base;
  typedef PanelKernel<NeonBytesOp<Complemented::kLhs>, 1, 4> OneLhsPanel;
  typedef NeonBytesOp<Complemented::kRhs> Op;
  typedef PackedRhs<Op, 4> RhsSource;
  typedef BytesTile<Complemented::kRhs, RhsSource, 4> Tile;

  static constexpr Kernel Entry(const char* name, Family family,
                                PackFn* pack_lhs, PackFn* pack_rhs) {
    Kernel kernel = Base::Entry(name, family, pack_lhs, pack_rhs);
    // Eight multiply-adds a cycle at 2.5 GHz.
    kernel.macs_per_ns = 20;
    kernel.run = Run;
    return kernel;
  }

  static void Run(const KernelArgs* args) {
    // A deeper panel does not fit the buffer of its complement, which does not
    // pay for a single column.
    if (args->depth > kMaxDepth || args->cols == 1) return Base::Run(args);
    if (args->rows <= 4) return RunOneLhsPanel(args);
    const ptrdiff_t panels = (args->rows + 3) / 4;
    for (ptrdiff_t panel = 0; panel < panels; panel += kMaxEpilogueVectors) {
      const ptrdiff_t left = panels - panel;
      RunRows(*args, panel,
              left < kMaxEpilogueVectors ? static_cast<int>(left)
                                         : kMaxEpilogueVectors);
    }
  }

 private:
  // 16 KiB of a rhs panel, which with one of the lhs fit L1.
  static constexpr ptrdiff_t kMaxDepth = 4096;
  // Rows of the tiles that are finished together.
  static constexpr int kStoredRows = 12;

  // For few columns the complement does not pay.
  static void RunOneLhsPanel(const KernelArgs* args) {
    if constexpr (RUY_LIKE_NEON_64) {
      if (args->cols > 8) {
        alignas(16) int8_t complemented[4 * kMaxDepth];
        Complement(static_cast<const int8_t*>(args->lhs), args->depth / 16,
                   complemented);
        KernelArgs with_complement = *args;
        with_complement.lhs = complemented;
        return OneLhsPanel::Run(&with_complement);
      }
    }
    Base::Run(args);
  }

  static void RunRows(const KernelArgs& args, ptrdiff_t first_panel,
                      int panels) {
    alignas(16) int8_t complemented[4 * kMaxDepth];
    alignas(16) int32_t excess[4 * kMaxEpilogueVectors];
    const ptrdiff_t first_row = 4 * first_panel;
    const ptrdiff_t rows_left = args.rows - first_row;
    const ptrdiff_t rows = rows_left < 4 * panels ? rows_left : 4 * panels;
    Epilogue epilogue(args, first_row, rows);
    ComplementedTileArgs tile;
    static_cast<TileArgs&>(tile) = FirstTile(args, first_panel);
    const char* const lhs = static_cast<const char*>(tile.lhs);
    const bool finishes = args.last_pass && epilogue.FinishesTiles();
    const bool finishes_rows = finishes && args.first_pass && rows % 4 == 0;
    const bool sums_in_tiles =
        RUY_LIKE_NEON_64 && finishes_rows && args.cols >= 4;
    for (int i = 0; i < panels && !sums_in_tiles; ++i) {
      SumUpperHalves(
          reinterpret_cast<const int8_t*>(lhs + i * args.lhs_stride_bytes),
          tile.steps, excess + 4 * i);
    }
    int32_t* saved = static_cast<int32_t*>(args.accum);
    const ptrdiff_t padded_cols = (args.cols + 3) / 4 * 4;
    if (saved != nullptr) saved += first_row * padded_cols;
    // Tiles that are not finished in registers go to the epilogue three tiles
    // at a time: a call costs as much as a tile.
    alignas(16) int32_t spilled[4 * kStoredRows];
    for (ptrdiff_t col = 0; col < args.cols; col += 4) {
      const int cols =
          args.cols - col < 4 ? static_cast<int>(args.cols - col) : 4;
      Complement(static_cast<const int8_t*>(args.rhs) +
                     col / 4 * args.rhs_stride_bytes,
                 tile.steps, complemented);
      tile.rhs = {complemented, 0};
      if (args.first_pass) tile.column_start = epilogue.ColumnStart(col, cols);
      tile.lhs = lhs;
      if (finishes_rows && cols == 4) {
        const Epilogue::Finish finish = epilogue.FinishAt(first_row, col);
        const int32_t* const start = epilogue.Start(first_row);
        const bool sums_rows = sums_in_tiles && col == 0;
        if (finish.finish->how == TileFinish::kBytesByRow) {
          FinishRows(tile, start, excess, BytesOf(finish), panels, sums_rows);
        } else {
          FinishRows(tile, start, excess, finish, panels, sums_rows);
        }
        continue;
      }
      for (ptrdiff_t row = 0; row < rows; row += kStoredRows) {
        const int left = rows - row < kStoredRows ? static_cast<int>(rows - row)
                                                  : kStoredRows;
        const bool finishes_tiles = finishes && left % 4 == 0;
        for (int r = 0; r < left; r += 4) {
          Epilogue::Finish finish;
          if (finishes_tiles) {
            finish = epilogue.FinishAt(first_row + row + r, col);
            tile.finish = &finish;
          }
          tile.row_excess = excess + row + r;
          tile.start =
              args.first_pass ? epilogue.Start(first_row + row + r) : saved;
          tile.start_col_stride = args.first_pass ? 0 : 4;
          tile.result = args.last_pass ? spilled + r : saved;
          tile.result_col_stride = args.last_pass ? kStoredRows : 4;
          // Inlined it takes 40 instructions fewer: registers are saved once.
          if (cols == 4) {
            Tile::RunInline(tile);
          } else {
            kTilesOfHeight<Op, RhsSource, 1, 4>.fns[cols - 1](tile);
          }
          if (saved != nullptr) saved += 4 * cols;
          tile.lhs = static_cast<const char*>(tile.lhs) + args.lhs_stride_bytes;
        }
        tile.finish = nullptr;
        if (args.last_pass && !finishes_tiles) {
          epilogue.Store(spilled, kStoredRows, left, cols, first_row + row,
                         col);
        }
      }
    }
  }

  static RUY_LIKE_ALWAYS_INLINE void MoveDown(ByteTile<SimdNeon>* tile) {
    tile->dst += 4;
    ++tile->scale;
  }
  static RUY_LIKE_ALWAYS_INLINE void MoveDown(NeonIntTile* tile) {
    Epilogue::Move(1, 0, tile);
  }

  // All rows of four columns, in registers until they are results. `start` and
  // `excess`, which is made here if sums_rows, have an element per row.
  template <class Finish>
  static RUY_LIKE_ALWAYS_INLINE void FinishRows(const TileArgs& tile,
                                                const int32_t* start,
                                                int32_t* excess,
                                                const Finish& finish,
                                                int panels, bool sums_rows) {
    if constexpr (RUY_LIKE_NEON_64) {
      if (sums_rows) {
        return FinishRowsOf<true>(tile, start, excess, finish, panels);
      }
    }
    FinishRowsOf<false>(tile, start, excess, finish, panels);
  }

  // A template by how tiles finish: a branch for each tile took 3% more
  // instructions at 64^3.
  template <bool kSumsRows, class Finish>
  static RUY_LIKE_NOINLINE void FinishRowsOf(const TileArgs& tile,
                                             const int32_t* start,
                                             int32_t* excess, Finish finish,
                                             int panels) {
    int32x4_t column_start[4] = {};
    if (tile.column_start != nullptr) {
      for (int c = 0; c < 4; ++c) {
        column_start[c] = vdupq_n_s32(tile.column_start[c]);
      }
    }
    const int8_t* lhs = static_cast<const int8_t*>(tile.lhs);
    for (; panels > 0; --panels) {
      int32x4_t sums[4][1];
      Tile::Multiply<kSumsRows>(lhs, tile.rhs, tile.steps, sums, excess);
      const int32x4_t row_start =
          vsubq_s32(vld1q_s32(start), vld1q_s32(excess));
      RUY_LIKE_UNROLL
      for (int c = 0; c < 4; ++c) {
        sums[c][0] =
            vaddq_s32(sums[c][0], vaddq_s32(row_start, column_start[c]));
      }
      FinishTile(sums, finish);
      MoveDown(&finish);
      lhs += tile.lhs_stride_bytes;
      start += 4;
      excess += 4;
    }
  }

  // Sums over the upper half of each 16 elements, for the rows of a lhs panel.
  static RUY_LIKE_NOINLINE void SumUpperHalves(const int8_t* panel,
                                               ptrdiff_t steps, int32_t* sums) {
    UpperSums<true> upper;
    RUY_LIKE_UNROLL_STEPS
    for (; steps > 0; --steps) {
      // Loaded side by side, which takes two instructions.
      int8x16_t rows[4];
      RUY_LIKE_UNROLL
      for (int r = 0; r < 4; ++r) rows[r] = LoadNext(&panel);
      asm("" : "+w"(rows[0]), "+w"(rows[1]), "+w"(rows[2]), "+w"(rows[3]));
      RUY_LIKE_UNROLL
      for (int r = 0; r < 4; ++r) upper.Add(r, rows[r]);
    }
    vst1q_s32(sums, upper.Total());
  }

  // A panel with its upper-half elements complemented.
  static RUY_LIKE_NOINLINE void Complement(const int8_t* panel, ptrdiff_t steps,
                                           int8_t* to) {
    const int8x16_t flip = vcombine_s8(vdup_n_s8(0), vdup_n_s8(-1));
    RUY_LIKE_UNROLL_STEPS
    for (; steps > 0; --steps) {
      int8x16_t columns[4];
      RUY_LIKE_UNROLL
      for (int c = 0; c < 4; ++c) {
        columns[c] = veorq_s8(LoadNext(&panel), flip);
      }
      RUY_LIKE_UNROLL
      for (int c = 0; c < 4; ++c) {
        vst1q_s8(to, columns[c]);
        MoveOn(&to);
      }
    }
  }
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_PANEL_PANEL_TILE_BYTES_NEON_H_
