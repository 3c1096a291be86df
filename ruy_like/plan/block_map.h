// Plan: how a product is cut into blocks, and in which order they run.
//
// Called by plan.cc. Pure functions of shapes, formats and cache sizes: no
// state, no machine detection, no data. They assume sizes that were validated
// (> 0, products of two of them fit ptrdiff_t).
//
// ## Model
//
// A block is block_rows x block_cols of dst, run by one thread.
//
//                  block_cols
//              +----+----+----+----+
//              | rhs panel: stays  |            for each rhs panel:
//              | in L1 while lhs   |  depth       for each lhs panel:
//              | panels stream by  |                micro-kernel
//              +----+----+----+----+
//   +--------+ +----+----+----+----+
//   |lhs     | |                   |
//   |panels: | |        dst        |  accumulators: in registers
//   |L2      | |                   |
//   +--------+ +----+----+----+----+
//     depth
//
// So the lhs panels of a block fill at most half of L2 and its rhs panels a
// quarter. Blocks run in the order of BlockAt(), which stays in one row of
// blocks (its lhs stays in L2) while it walks to and fro over as many columns
// of blocks as have rhs panels that fit half of L3.
//
// ## Pieces
//
// Where an rhs panel of the whole depth is well over L1d, the depth is split
// into passes whose rhs panels fit. Then the block of the model above is a
// piece, piece_rows x piece_cols, and a block has many pieces, whose
// accumulators are saved between passes:
//
//   for each pass over depth:        Operands are read from memory once per
//     for each row of pieces:        block. For all rows but the first the rhs
//       for each piece of the row    is in L3, and perhaps the accumulators.
//
// With passes inside small blocks instead, every block would read the whole
// depth of both sides, which no cache holds, and the next block again
// (measured: doc/tuning.md).
//
// A block in pieces packs what it reads itself (blocks.cc says why). Blocks
// are in pieces, too, if there are several threads, or several pieces for one
// thread; then in one pass, if the depth is not split. Packing a side once for
// all threads is less work, but threads then wait for each other's panels and
// read them from each other's caches, which takes as long as packing them
// again.
//
// In one pass the lhs of a piece fills half of L2. For fast kernels
// (packs_small_pieces) it is packed an eighth of L2 at a time, if both
// operands and the packed lhs do not fit L2 together: the buffer is reused and
// stays there, while the rhs is read once for each row of pieces. A row of
// pieces has enough rows that the rhs is read at no more than kL3BytesPerNs.
#ifndef RUY_LIKE_PLAN_BLOCK_MAP_H_
#define RUY_LIKE_PLAN_BLOCK_MAP_H_

#include <algorithm>
#include <cstddef>

namespace ruy_like {

struct BlockMapParams {
  // dst's shape, and the padded depth.
  std::ptrdiff_t rows, cols, depth;
  // Bytes of one element of each packed side, 0.5 for 4 bits, and of an
  // accumulator.
  double lhs_element_bytes, rhs_element_bytes;
  int accum_bytes;
  // Micro-tile of the kernel; panel widths of the packed sides (1 for a side
  // that is read in place). Blocks begin at multiples of both (or of
  // row_granularity).
  int tile_rows, tile_cols;
  int lhs_panel_width, rhs_panel_width;
  // Where threads have few tiles, blocks may be multiples of this many rows:
  // whole panels, at most a tile.
  int row_granularity;
  // True if the kernel reads its lhs once, as one stream, so that it need not
  // fit a cache.
  bool streams_lhs;
  // The lhs is packed for this product, and the kernel so fast that packing
  // counts.
  bool packs_small_pieces;
  // depth_block is a multiple of this. 0: depth must not be split, nor blocks
  // run in pieces.
  int depth_multiple;
  // Depth must not be split: a group's sum is scaled as a whole.
  bool keeps_depth = false;
  // True if a side is packed for this product alone (not: read in place,
  // cached, packed by the caller).
  bool lhs_is_packed_here, rhs_is_packed_here;
  // Threads that will run blocks; >= 1.
  int thread_count;
  // Data caches: bytes of L1 and L2 that one core has for itself, and its share
  // of L3. 0: none, or not known (then 32 KiB, 512 KiB, L2's size are assumed).
  std::ptrdiff_t l1d_bytes, l2_bytes, l3_bytes;
  // Rough speed of the kernel on one core, multiply-adds per nanosecond, within
  // a factor of 2 or 3. 0: not known (kDefaultMacsPerNs). Decides the least
  // size of a piece of work, and the relative cost of a byte from beyond L2.
  int macs_per_ns;
};

// Consecutive ranges along rows or columns: range i is [Start(i), Start(i +
// 1)).
struct Cuts {
  // The first `extra` ranges have one unit more than the others; what exceeds
  // `size` is cut off.
  std::ptrdiff_t size, unit, units_each, extra;

  std::ptrdiff_t Start(std::ptrdiff_t i) const {
    return std::min(size, (units_each * i + std::min(extra, i)) * unit);
  }
};

// Along rows (and likewise columns) there are row_blocks ranges (row_cuts) of
// row_unit multiples, as even as possible: the first ones are one unit larger
// than the rest, if any, and only the last may end in a part of a unit.
struct BlockMap {
  Cuts row_cuts, col_cuts;
  std::ptrdiff_t rows, cols;
  // Blocks begin and end at multiples of these (or at the matrix's edge).
  std::ptrdiff_t row_unit, col_unit;
  std::ptrdiff_t row_blocks, col_blocks;
  // Sizes of the largest block: multiples of the units, even where that is more
  // than the matrix has.
  std::ptrdiff_t block_rows, block_cols;
  // True if blocks are run in pieces; and the sizes of these, from the block's
  // first row and column on: multiples of the units; else the block's sizes.
  bool in_pieces;
  std::ptrdiff_t piece_rows, piece_cols;
  // Depth of a pass: the whole depth, or a multiple of depth_multiple. The last
  // pass may have fewer.
  std::ptrdiff_t depth_block;
  // Columns of blocks in a slice, all of which is walked before the next one;
  // col_blocks if all rhs panels fit half of L3 or there is one row of blocks.
  std::ptrdiff_t slice_col_blocks;
};

struct BlockPosition {
  std::ptrdiff_t row_block, col_block;
};

// Part of dst: [start, end) in each direction.
struct BlockExtent {
  std::ptrdiff_t start_row, end_row, start_col, end_col;
};

// Nanoseconds that the product takes on one core, by a rough estimate.
double EstimateNs(const BlockMapParams& params);

// The number of threads, the caller included, that so much estimated work pays
// for: each gets at least kMinThreadNs of it. In [1, most].
int ThreadsWorth(double ns, int most);

// The same for a product, of which each thread gets at least one micro-tile.
// Looks at neither thread_count nor the caches.
int ChooseThreadCount(const BlockMapParams& params, int max_threads);

// With one thread, blocks are cut for the caches alone. With more, there are at
// least kMinBlocksPerThread blocks for each (one in pieces: every block packs
// what it reads), unless that would make blocks shorter than kMinBlockNs or
// smaller than a micro-tile; with more than kFewThreads threads some may have
// none. depth_block depends on the depth, formats, tile and caches only, so
// that a float result does not change with the other dimensions or the threads.
BlockMap MakeBlockMap(const BlockMapParams& params);

// All in one block, in one pass.
BlockMap OneBlock(std::ptrdiff_t rows, std::ptrdiff_t cols,
                  std::ptrdiff_t depth);

inline std::ptrdiff_t BlockCount(const BlockMap& map) {
  return map.row_blocks * map.col_blocks;
}

// The index-th block to run: a bijection from [0, BlockCount) to positions.
BlockPosition BlockAt(const BlockMap& map, std::ptrdiff_t index);

BlockExtent BlockRange(const BlockMap& map, BlockPosition position);

// A block's launch takes some 50 ns (counter, panel pointers, the kernel's
// prologue); this bounds its share. 100,000 multiply-adds at middling speed.
constexpr int kMinBlockNs = 500;
constexpr int kMinBlocksPerThread = 2;
// With more threads there are no spare blocks: they fill one to three rounds.
constexpr int kFewThreads = 16;
// Handing work to a spinning worker and back takes 0.2 to 0.5 microseconds;
// with less work than this on each side the gain is not reliable: float 64^3,
// 1640 ns for each of two threads by the estimate, takes as long on one;
// 33x77x129, 2050 ns, is 1.6 times as fast on two.
constexpr int kMinThreadNs = 2000;
constexpr int kDefaultMacsPerNs = 200;
// The rate at which a product may read an rhs from beyond L2.
constexpr int kL3BytesPerNs = 4;

}  // namespace ruy_like

#endif  // RUY_LIKE_PLAN_BLOCK_MAP_H_
