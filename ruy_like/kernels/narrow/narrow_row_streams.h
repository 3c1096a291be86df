// Back-end: the tiles of a product of one column, and their epilogue.
//
// Used by what multiplies one column by a lhs that it reads in place
// (narrow_dots.h, narrow_digits.h) and leaves its sums here. It does not
// multiply.
//
// ## Streams
//
// A tile's kStreams rows lie far apart, each in a stream of rows that follow
// each other. Segments of the streams are multiplied in turn:
//
//     lhs     row 0           | stream 0: segment, segment, ...   tile i has
//             row apart       | stream 1: segment, segment, ...   row i of each
//             row 2 * apart   | stream 2: segment, segment, ...   stream's
//             row 3 * apart   | stream 3: segment, segment, ...   segment
//
// so that memory is read as few long streams: rows next to each other would be
// streams of one row each.
//
// The epilogue runs when a segment of each stream has its sums: rarely, since
// memory is idle meanwhile.
#ifndef RUY_LIKE_KERNELS_NARROW_NARROW_ROW_STREAMS_H_
#define RUY_LIKE_KERNELS_NARROW_NARROW_ROW_STREAMS_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/epilogue/epilogue.h"
#include "ruy_like/kernels/kernel.h"
#include "ruy_like/simd/loops.h"

namespace ruy_like::kernels {
namespace {

// Streams, and rows of a tile: StoreLaneSums() takes four vectors.
constexpr int kStreams = 4;

// Consecutive tiles: the next one has the row below each of `rows`. Rows beyond
// the block repeat its last one; their sums are dropped.
struct StreamTiles {
  const char* rows[kStreams];  // of the first tile
  int count;
  int segment_rows;  // sums of a tile's rows are so many elements apart
};

// Runs a block of one column. Tiles::Run(tiles, sums) makes the sums of some
// tiles, the first row's at `sums`; the rhs_zero_point * lhs_sums term is
// already subtracted.
template <class V, typename Accum, class Tiles>
class RowStreamRunner {
 public:
  RowStreamRunner(const KernelArgs& args, Tiles* tiles)
      : args_(args), tiles_(tiles) {}

  RUY_LIKE_ALWAYS_INLINE void Run() {
    ptrdiff_t apart;
    for (ptrdiff_t row = 0; row < args_.rows; row += kStreams * apart) {
      const ptrdiff_t left = args_.rows - row;
      int segment_rows = kMaxSums / kStreams;
      if (left >= kMaxSums) {
        apart = left / kMaxSums * segment_rows;
      } else {
        apart = (left + kStreams - 1) / kStreams;
        segment_rows = static_cast<int>(apart);
        // The epilogue reads whole vectors.
        const int count = kStreams * segment_rows;
        for (int i = count; i % V::kLanes != 0; ++i) sums_[i] = 0;
      }
      for (ptrdiff_t i = 0; i < apart; i += segment_rows) {
        RunSegments(row + i, apart, segment_rows);
      }
    }
  }

 private:
  static constexpr int kMaxSums = 512;

  // A segment of each stream, `apart` rows apart; their sums one behind the
  // other.
  RUY_LIKE_ALWAYS_INLINE void RunSegments(ptrdiff_t first, ptrdiff_t apart,
                                          int segment_rows) {
    // Tiles whose rows are all in the block.
    const ptrdiff_t left = args_.rows - first - (kStreams - 1) * apart;
    const int whole = left > 0 ? Min(left, segment_rows) : 0;
    StreamTiles tiles;
    tiles.segment_rows = segment_rows;
    for (int i = 0; i < segment_rows; i += tiles.count) {
      tiles.count = i < whole ? whole : 1;
      for (int r = 0; r < kStreams; ++r) {
        const ptrdiff_t wanted = first + i + r * apart;
        const ptrdiff_t present = wanted < args_.rows ? wanted : args_.rows - 1;
        tiles.rows[r] = static_cast<const char*>(args_.lhs) +
                        present * args_.lhs_stride_bytes;
      }
      tiles_->Run(tiles, sums_ + i);
    }
    // Adjacent segments are stored as one.
    const int count = apart == segment_rows ? 1 : kStreams;
    const int rows = kStreams / count * segment_rows;
    for (int segment = 0; segment < count; ++segment) {
      const ptrdiff_t row = first + segment * apart;
      StoreTile<typename V::Base>(
          {sums_ + segment * rows, kMaxSums, Min(args_.rows - row, rows),
           /*cols=*/1, row, 0},
          *args_.epilogue);
    }
  }

  alignas(64) Accum sums_[kMaxSums];
  const KernelArgs& args_;
  Tiles* const tiles_;
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_NARROW_NARROW_ROW_STREAMS_H_
