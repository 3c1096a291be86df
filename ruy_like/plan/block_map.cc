#include "ruy_like/plan/block_map.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ruy_like/base/checked_math.h"

namespace ruy_like {
namespace {

using std::ptrdiff_t;

// Bytes per ns from beyond L2, a few times as many from within.
constexpr double kBytesPerNs = 50;

struct Caches {
  ptrdiff_t l1d, l2, l3;
};

Caches KnownCaches(const BlockMapParams& params) {
  Caches caches;
  caches.l1d = params.l1d_bytes > 0 ? params.l1d_bytes : 32 << 10;
  caches.l2 = params.l2_bytes > 0 ? params.l2_bytes : 512 << 10;
  caches.l3 = std::max(params.l3_bytes, caches.l2);
  return caches;
}

// As many units of `unit_bytes` as fit `bytes`, at least one. Saturating sizes
// come in as doubles: a whole panel of a deep product may exceed any cache.
ptrdiff_t UnitsWithin(ptrdiff_t bytes, double unit_bytes) {
  const double units = static_cast<double>(bytes) / unit_bytes;
  return units < 1.0 ? 1 : static_cast<ptrdiff_t>(units);
}

// Blocks must begin at panels of both sides as well as at tiles.
ptrdiff_t Unit(int tile, int panel_width) {
  return std::lcm(static_cast<ptrdiff_t>(tile),
                  static_cast<ptrdiff_t>(panel_width));
}

// The unit of blocks along rows. Where several threads have few tiles
// each, one tile more or less is much: 512 rows on two threads are 6 and 5
// tiles of 48, at best 1.78 times as fast as one thread. Tiles then give way to
// what the kernel's granularity allows: 64 rows of f32 that each thread packs
// for itself, 1.84 to 1.99 times as fast on two threads in pairs of
// panels, 1.63 to 1.70 in tiles of three (64x1024x64 to 64x16384x64).
ptrdiff_t RowUnit(const BlockMapParams& params) {
  constexpr ptrdiff_t kFewTiles = 2;
  constexpr ptrdiff_t kManyTilesPerThread = 16;
  const ptrdiff_t unit = Unit(params.tile_rows, params.lhs_panel_width);
  const ptrdiff_t tiles = CeilDiv(params.rows, unit);
  const bool tiles_are_few = params.thread_count > 1 && tiles >= kFewTiles &&
                             tiles < kManyTilesPerThread * params.thread_count;
  return tiles_are_few ? Unit(params.row_granularity, params.lhs_panel_width)
                       : unit;
}

// Depth of a pass. Must not look at rows, cols or the threads; see the header.
//
// The whole depth, as long as one rhs panel is not much larger than L1d; else
// even passes for which it fits. But a pass must read at least kMinReads times
// as many operand bytes as it moves accumulator bytes, which matters for AMX:
// 32x32 accumulators per 64 bytes of a depth. There it has not been measured.
//
// Where splitting can be avoided a panel may be larger, up to 4/3 of L1d.
ptrdiff_t DepthBlock(const BlockMapParams& params, const Caches& caches) {
  constexpr int kMinReads = 64;
  const ptrdiff_t depth = params.depth;
  if (params.depth_multiple == 0 || params.keeps_depth) return depth;
  const auto depth_bytes = [](int columns, double element_bytes) {
    return std::max<ptrdiff_t>(1,
                               static_cast<ptrdiff_t>(columns * element_bytes));
  };
  const ptrdiff_t lhs_bytes =
      depth_bytes(params.tile_rows, params.lhs_element_bytes);
  const ptrdiff_t rhs_bytes =
      depth_bytes(params.tile_cols, params.rhs_element_bytes);
  const ptrdiff_t accum_bytes = static_cast<ptrdiff_t>(params.tile_rows) *
                                params.tile_cols * params.accum_bytes;
  const ptrdiff_t floor =
      CeilDiv(2 * kMinReads * accum_bytes, lhs_bytes + rhs_bytes);
  const ptrdiff_t fit = std::max<ptrdiff_t>(3, caches.l1d / rhs_bytes);
  const ptrdiff_t most = std::max(floor, depth <= fit / 3 * 4 ? depth : fit);
  // Even passes, of whole cache lines of whatever is packed: else 64x16384x64
  // loses 2% (int8, not cached).
  constexpr ptrdiff_t kLine = 64;
  const ptrdiff_t pass_depth = CeilDiv(depth, CeilDiv(depth, most));
  const ptrdiff_t multiple = Unit(params.depth_multiple, kLine);
  return std::min(CeilDiv(pass_depth, multiple) * multiple, depth);
}

// Counted in units.
struct Grid {
  ptrdiff_t row_units, col_units;
};

Grid GridOf(const BlockMapParams& params, const BlockMap& map) {
  return {CeilDiv(params.rows, map.row_unit),
          CeilDiv(params.cols, map.col_unit)};
}

// As many units of one side as fit `bytes`, but at least one. A last unit that
// the matrix has only a part of counts as that part.
ptrdiff_t FitUnits(ptrdiff_t size, ptrdiff_t unit, double depth_bytes,
                   ptrdiff_t bytes) {
  if (static_cast<double>(size) * depth_bytes <= static_cast<double>(bytes)) {
    return CeilDiv(size, unit);
  }
  return UnitsWithin(bytes, static_cast<double>(unit) * depth_bytes);
}

// The largest block, or piece of one, whose panels fit the caches. The rhs gets
// a quarter of L2: freshly packed panels are then still there when they are
// used, and so they are for the next row of blocks.
Grid LargestWithinL2(const BlockMapParams& params, const Caches& caches,
                     const BlockMap& map) {
  const double depth = static_cast<double>(map.depth_block);
  return {params.streams_lhs
              ? CeilDiv(params.rows, map.row_unit)
              : FitUnits(params.rows, map.row_unit,
                         depth * params.lhs_element_bytes, caches.l2 / 2),
          FitUnits(params.cols, map.col_unit, depth * params.rhs_element_bytes,
                   caches.l2 / 4)};
}

int MacsPerNs(const BlockMapParams& params) {
  return params.macs_per_ns > 0 ? params.macs_per_ns : kDefaultMacsPerNs;
}

// True if the lhs is best packed in small pieces: see the header.
bool WantsSmallPieces(const BlockMapParams& params, const Caches& caches,
                      const BlockMap& map) {
  if (!params.packs_small_pieces || params.depth_multiple == 0 ||
      map.depth_block < params.depth) {
    return false;
  }
  const double depth = static_cast<double>(params.depth);
  const double lhs =
      static_cast<double>(params.rows) * depth * params.lhs_element_bytes;
  const double rhs =
      static_cast<double>(params.cols) * depth * params.rhs_element_bytes;
  return 2 * lhs + rhs > static_cast<double>(caches.l2);
}

// Their rows, in units.
ptrdiff_t SmallPiece(const BlockMapParams& params, const Caches& caches,
                     const BlockMap& map) {
  const ptrdiff_t by_l3 = static_cast<ptrdiff_t>(
      MacsPerNs(params) * params.rhs_element_bytes / kL3BytesPerNs);
  return std::max(
      CeilDiv(by_l3, map.row_unit),
      FitUnits(params.rows, map.row_unit,
               static_cast<double>(params.depth) * params.lhs_element_bytes,
               caches.l2 / 8));
}

// The largest block in pieces. A pass's rhs panels stay in L3. Accumulators
// that are saved cost little wherever they lie, being read and written once a
// pass, but they are memory: within half of the share of L3 they are about
// square, if the matrix lets them, so that packing both sides anew for each
// block costs little too (2% at 8 MiB, f32).
Grid LargestInPieces(const BlockMapParams& params, const Caches& caches,
                     const BlockMap& map, const Grid& grid) {
  const ptrdiff_t bytes = std::max(caches.l2, caches.l3 / 2);
  Grid largest = {
      grid.row_units,
      FitUnits(params.cols, map.col_unit,
               static_cast<double>(map.depth_block) * params.rhs_element_bytes,
               bytes)};
  if (map.depth_block == params.depth) return largest;
  const double elements = static_cast<double>(bytes) / params.accum_bytes;
  const double side = std::sqrt(elements);
  const auto units_within = [&](ptrdiff_t other_units, ptrdiff_t other_unit,
                                ptrdiff_t unit) {
    const double other = static_cast<double>(other_units * other_unit);
    const double size = std::max(side, elements / other);
    return std::max<ptrdiff_t>(1, static_cast<ptrdiff_t>(size) / unit);
  };
  largest.col_units =
      std::min(largest.col_units,
               units_within(grid.row_units, map.row_unit, map.col_unit));
  largest.row_units = units_within(std::min(largest.col_units, grid.col_units),
                                   map.col_unit, map.row_unit);
  return largest;
}

// Sets the fewest blocks that are at most so large.
void SetBlocks(const Grid& grid, const Grid& largest, BlockMap* map) {
  map->row_blocks =
      CeilDiv(grid.row_units, std::min(grid.row_units, largest.row_units));
  map->col_blocks =
      CeilDiv(grid.col_units, std::min(grid.col_units, largest.col_units));
}

// The size of even pieces of which none is larger than `largest`.
ptrdiff_t EvenPiece(ptrdiff_t units, ptrdiff_t largest) {
  return CeilDiv(units, CeilDiv(units, largest));
}

// A number of even blocks, at least `blocks` (in [1, units]), for which the
// largest is as small as that number allows: 7 units in 5 blocks would be
// 2 2 1 1 1, no faster than 2 2 2 1; so it makes them 7.
ptrdiff_t EvenBlocksAtLeast(ptrdiff_t units, ptrdiff_t blocks) {
  const ptrdiff_t tight = CeilDiv(units, CeilDiv(units, blocks));
  return tight == blocks ? blocks : CeilDiv(units, units / blocks);
}

// Estimates the threads' time, in multiply-adds per unit of depth, for a split.
// Only decides between similar ones, so it need not be precise.
class CostModel {
 public:
  CostModel(const BlockMapParams& params, const BlockMap& map, const Grid& grid)
      : params_(params), map_(map), grid_(grid) {
    constexpr double kLaunchNs = 50;
    // A word that another core has changed: 50 ns under one L3, twice that
    // beyond.
    constexpr double kDrawNs = 100;
    const double rate = MacsPerNs(params);
    // Read once per block; packing costs the same again.
    const auto read = [&](double element_bytes, bool is_packed_here) {
      return rate / kBytesPerNs * element_bytes * (is_packed_here ? 2 : 1);
    };
    row_read_ = read(params.lhs_element_bytes, params.lhs_is_packed_here);
    col_read_ = read(params.rhs_element_bytes, params.rhs_is_packed_here);
    launch_ = rate * kLaunchNs / static_cast<double>(params.depth);
    draw_ = rate * kDrawNs / static_cast<double>(params.depth);
  }

  // Sets the blocks' rows, also for all splits of the columns that follow.
  void SetRowBlocks(ptrdiff_t row_blocks) {
    row_blocks_ = row_blocks;
    rows_ = Size(CeilDiv(grid_.row_units, row_blocks), map_.row_unit,
                 params_.rows, params_.lhs_panel_width);
  }

  // With many threads, these draw from the counter at the same time, each
  // waiting for the ones before, and that is more than what blocks to spare
  // could even out.
  double Cost(ptrdiff_t col_blocks) const {
    const double cols =
        Size(CeilDiv(grid_.col_units, col_blocks), map_.col_unit, params_.cols,
             params_.rhs_panel_width);
    const double block =
        rows_ * cols + rows_ * row_read_ + cols * col_read_ + launch_;
    // The busiest thread's blocks, and a part of one for the uneven end that
    // dynamic dealing leaves: so little of it in pieces that blocks are few
    // until there is much to do.
    const double uneven_end = map_.in_pieces ? 0.08 : 0.25;
    const ptrdiff_t rounds =
        CeilDiv(row_blocks_ * col_blocks, params_.thread_count);
    const double cost = (static_cast<double>(rounds) + uneven_end) * block;
    return params_.thread_count <= kFewThreads
               ? cost
               : cost +
                     static_cast<double>((rounds - 1) * params_.thread_count) *
                         draw_;
  }

 private:
  // Size of the largest block, in whole panels, as far as the matrix goes.
  static double Size(ptrdiff_t units, ptrdiff_t unit, ptrdiff_t all,
                     ptrdiff_t panel) {
    return static_cast<double>(
        units * unit <= all ? units * unit : CeilDiv(all, panel) * panel);
  }

  const BlockMapParams& params_;
  const BlockMap& map_;
  const Grid& grid_;
  double row_read_, col_read_, launch_, draw_;
  ptrdiff_t row_blocks_;
  double rows_;
};

// The splits that are tried for a number of threads: a series of row splits,
// each with a few column splits.
struct Splits {
  ptrdiff_t targets[4];  // numbers of blocks to come close to; 0: none
  // With so many threads a block too many for one round of all of them costs
  // more than a thread without a block, so a target is the most: every size
  // that blocks' rows can have is tried. (int8 768x768x128, cached, on 64
  // threads by bench/scaling.py: 22x with 192 blocks, 50x with 64.) Else it is
  // the least, and the series is geometric: trying all would take longer than a
  // small product does (some 5 ns each).
  bool targets_are_most;

  // For `row_blocks` rows of blocks, at least `least` and at most `units`.
  ptrdiff_t ColBlocks(ptrdiff_t target, ptrdiff_t row_blocks, ptrdiff_t least,
                      ptrdiff_t units) const {
    const ptrdiff_t wanted = std::min(
        std::max(least, targets_are_most ? target / row_blocks
                                         : CeilDiv(target, row_blocks)),
        std::max(least, units));
    // As even as possible: 7 units in at most 5 blocks are 2 2 2 1.
    return targets_are_most ? CeilDiv(units, CeilDiv(units, wanted))
                            : EvenBlocksAtLeast(units, wanted);
  }
  // The next number of rows of blocks to try; 0: no more.
  ptrdiff_t NextRowBlocks(ptrdiff_t row_blocks, ptrdiff_t units,
                          ptrdiff_t most) const {
    if (targets_are_most) {
      const ptrdiff_t rows = CeilDiv(units, row_blocks);
      const ptrdiff_t next = rows == 1 ? 0 : CeilDiv(units, rows - 1);
      return next <= most ? next : 0;
    }
    const ptrdiff_t enough = targets[1];
    const ptrdiff_t next =
        std::min(enough, row_blocks + std::max<ptrdiff_t>(1, row_blocks / 2));
    return row_blocks == units || row_blocks >= enough || next > most
               ? 0
               : EvenBlocksAtLeast(units, std::min(next, units));
  }
};

// Splits further than the caches ask for, to occupy all threads evenly.
void SplitForThreads(const BlockMapParams& params, const Grid& grid,
                     BlockMap* map) {
  const ptrdiff_t threads = params.thread_count;
  const double macs = static_cast<double>(params.rows) *
                      static_cast<double>(params.cols) *
                      static_cast<double>(params.depth);
  // The split that the caches ask for is always allowed; further splits keep
  // blocks above kMinBlockNs.
  const ptrdiff_t least = map->row_blocks * map->col_blocks;
  const double min_macs = static_cast<double>(kMinBlockNs) * MacsPerNs(params);
  const double most_by_work = std::min(macs / min_macs, 1e9);
  const ptrdiff_t most = std::min(static_cast<ptrdiff_t>(most_by_work),
                                  grid.row_units * grid.col_units);
  if (most <= least) return;
  const bool are_few = threads <= kFewThreads;
  Splits splits = {{threads, 2 * threads, 3 * threads, 0}, true};
  ptrdiff_t enough = 0;
  if (are_few) {
    enough = map->in_pieces ? threads : kMinBlocksPerThread * threads;
    // So many blocks leave no thread idle for long, however they divide.
    constexpr ptrdiff_t kPlenty = 32;
    if (least >= kPlenty * threads ||
        (least >= enough && least % threads == 0)) {
      return;
    }
    const ptrdiff_t many = std::max(enough, CeilDiv(least, threads) * threads);
    splits = {
        {std::min(threads, most), many, many + threads, many + 2 * threads},
        false};
  }
  // Fewer than enough blocks leave threads idle when one is disturbed, which no
  // estimate foresees: such a split is a last resort.
  CostModel model(params, *map, grid);
  model.SetRowBlocks(map->row_blocks);
  double best = model.Cost(map->col_blocks);
  bool best_is_enough = least >= enough;
  const ptrdiff_t min_col_blocks = map->col_blocks;
  for (ptrdiff_t row_blocks = map->row_blocks; row_blocks != 0;
       row_blocks = splits.NextRowBlocks(row_blocks, grid.row_units, most)) {
    model.SetRowBlocks(row_blocks);
    ptrdiff_t tried = 0;
    for (const ptrdiff_t target : splits.targets) {
      if (target == 0) break;
      const ptrdiff_t col_blocks =
          splits.ColBlocks(target, row_blocks, min_col_blocks, grid.col_units);
      const ptrdiff_t blocks = row_blocks * col_blocks;
      if (col_blocks == tried || col_blocks < min_col_blocks || blocks > most) {
        continue;
      }
      tried = col_blocks;
      const double cost = model.Cost(col_blocks);
      const bool is_enough = blocks >= enough;
      if (is_enough != best_is_enough ? is_enough : cost < best) {
        best = cost;
        best_is_enough = is_enough;
        map->row_blocks = row_blocks;
        map->col_blocks = col_blocks;
      }
    }
  }
}

// Columns of blocks of a slice, whose rhs panels, over the whole depth, fill
// half of the L3 that the threads have together; evenly cut.
ptrdiff_t SliceColBlocks(const BlockMapParams& params, const Caches& caches,
                         const BlockMap& map) {
  if (map.row_blocks == 1) return map.col_blocks;  // nothing is reused
  const double bytes_per_block = static_cast<double>(map.block_cols) *
                                 static_cast<double>(params.depth) *
                                 params.rhs_element_bytes;
  const ptrdiff_t most =
      UnitsWithin(caches.l3 / 2 * params.thread_count, bytes_per_block);
  return CeilDiv(map.col_blocks, CeilDiv(map.col_blocks, most));
}

Cuts EvenCuts(ptrdiff_t size, ptrdiff_t unit, ptrdiff_t blocks) {
  const ptrdiff_t units = CeilDiv(size, unit);
  return {size, unit, units / blocks, units % blocks};
}

}  // namespace

double EstimateNs(const BlockMapParams& params) {
  const double rows = static_cast<double>(params.rows);
  const double cols = static_cast<double>(params.cols);
  const double depth = static_cast<double>(params.depth);
  const double multiply_ns = rows * cols * depth / MacsPerNs(params);
  // With few columns or rows, reading the operands is what takes the time.
  const double bytes = depth * (rows * params.lhs_element_bytes +
                                cols * params.rhs_element_bytes);
  return std::max(multiply_ns, bytes / kBytesPerNs);
}

int ThreadsWorth(double ns, int most) {
  return static_cast<int>(
      std::max(1.0, std::min(ns / kMinThreadNs, static_cast<double>(most))));
}

int ChooseThreadCount(const BlockMapParams& params, int max_threads) {
  const double tiles =
      std::ceil(static_cast<double>(params.rows) / params.tile_rows) *
      std::ceil(static_cast<double>(params.cols) / params.tile_cols);
  return ThreadsWorth(
      EstimateNs(params),
      static_cast<int>(std::min(tiles, static_cast<double>(max_threads))));
}

BlockMap MakeBlockMap(const BlockMapParams& params) {
  const Caches caches = KnownCaches(params);
  BlockMap map;
  map.rows = params.rows;
  map.cols = params.cols;
  map.row_unit = RowUnit(params);
  map.col_unit = Unit(params.tile_cols, params.rhs_panel_width);
  map.depth_block = DepthBlock(params, caches);
  const Grid grid = GridOf(params, map);
  Grid within_l2 = LargestWithinL2(params, caches, map);
  if (WantsSmallPieces(params, caches, map)) {
    within_l2.row_units =
        std::min(within_l2.row_units, SmallPiece(params, caches, map));
  }
  map.in_pieces =
      map.depth_block < params.depth ||
      (params.depth_multiple != 0 &&
       (params.thread_count > 1 || within_l2.row_units < grid.row_units ||
        within_l2.col_units < grid.col_units));
  SetBlocks(
      grid,
      map.in_pieces ? LargestInPieces(params, caches, map, grid) : within_l2,
      &map);
  if (params.thread_count > 1) SplitForThreads(params, grid, &map);
  const ptrdiff_t row_units = CeilDiv(grid.row_units, map.row_blocks);
  const ptrdiff_t col_units = CeilDiv(grid.col_units, map.col_blocks);
  map.block_rows = row_units * map.row_unit;
  map.block_cols = col_units * map.col_unit;
  map.piece_rows = map.block_rows;
  map.piece_cols = map.block_cols;
  if (map.in_pieces) {
    map.piece_rows = EvenPiece(row_units, within_l2.row_units) * map.row_unit;
    map.piece_cols = EvenPiece(col_units, within_l2.col_units) * map.col_unit;
  }
  map.slice_col_blocks = SliceColBlocks(params, caches, map);
  map.row_cuts = EvenCuts(map.rows, map.row_unit, map.row_blocks);
  map.col_cuts = EvenCuts(map.cols, map.col_unit, map.col_blocks);
  return map;
}

BlockMap OneBlock(ptrdiff_t rows, ptrdiff_t cols, ptrdiff_t depth) {
  BlockMap map;
  map.row_cuts = {rows, rows, 1, 0};
  map.col_cuts = {cols, cols, 1, 0};
  map.rows = map.row_unit = map.block_rows = map.piece_rows = rows;
  map.cols = map.col_unit = map.block_cols = map.piece_cols = cols;
  map.row_blocks = map.col_blocks = map.slice_col_blocks = 1;
  map.in_pieces = false;
  map.depth_block = depth;
  return map;
}

BlockPosition BlockAt(const BlockMap& map, ptrdiff_t index) {
  //   row_blocks = 3, col_blocks = 5, slice_col_blocks = 3:
  //
  //      0  1  2 | 13 14
  //      5  4  3 | 12 11
  //      6  7  8 |  9 10
  const ptrdiff_t slice_blocks = map.slice_col_blocks * map.row_blocks;
  const ptrdiff_t slice = index / slice_blocks;
  const ptrdiff_t first_col = slice * map.slice_col_blocks;
  const ptrdiff_t width =
      std::min(map.slice_col_blocks, map.col_blocks - first_col);
  const ptrdiff_t within = index - slice * slice_blocks;
  const ptrdiff_t row = within / width;
  const ptrdiff_t col = within - row * width;
  BlockPosition position;
  position.row_block = slice % 2 == 0 ? row : map.row_blocks - 1 - row;
  position.col_block = first_col + (row % 2 == 0 ? col : width - 1 - col);
  return position;
}

BlockExtent BlockRange(const BlockMap& map, BlockPosition position) {
  return BlockExtent{map.row_cuts.Start(position.row_block),
                     map.row_cuts.Start(position.row_block + 1),
                     map.col_cuts.Start(position.col_block),
                     map.col_cuts.Start(position.col_block + 1)};
}

}  // namespace ruy_like
