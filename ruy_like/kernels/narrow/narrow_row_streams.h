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

// One segment of each stream.
struct StreamSegments {
  ptrdiff_t first;  // row of the first stream's
  ptrdiff_t apart;  // from its first row to that of the next stream's
  int rows;         // of each segment; sums are in order of segments
};

// Consecutive tiles: tile i, begin <= i < end, has row i of each stream's
// segment. Rows beyond the block repeat its last one; their sums are dropped.
struct TileRange {
  const StreamSegments* segments;
  int begin, end;

  RUY_LIKE_ALWAYS_INLINE const char* Row(const KernelArgs& args, int r) const {
    const ptrdiff_t wanted = segments->first + begin + r * segments->apart;
    const ptrdiff_t present = wanted < args.rows ? wanted : args.rows - 1;
    return static_cast<const char*>(args.lhs) + present * args.lhs_stride_bytes;
  }
};

// Runs a block of one column. Tiles::Run(range, sums) makes the sums of a range
// of tiles, the first row's at `sums`; the rhs_zero_point * lhs_sums term is
// already subtracted.
template <class V, typename Accum, class Tiles>
class RowStreamRunner {
 public:
  RowStreamRunner(const KernelArgs& args, Tiles* tiles)
      : args_(args), tiles_(tiles) {}

  RUY_LIKE_ALWAYS_INLINE void Run() {
    StreamSegments segments;
    ptrdiff_t apart;
    for (ptrdiff_t row = 0; row < args_.rows; row += kStreams * apart) {
      const ptrdiff_t left = args_.rows - row;
      if (left >= kMaxSums) {
        segments.rows = kMaxSums / kStreams;
        apart = left / kMaxSums * segments.rows;
      } else {
        apart = (left + kStreams - 1) / kStreams;
        segments.rows = static_cast<int>(apart);
        // The epilogue reads whole vectors.
        const int count = kStreams * segments.rows;
        for (int i = count; i % V::kLanes != 0; ++i) sums_[i] = 0;
      }
      segments.apart = apart;
      for (ptrdiff_t i = 0; i < apart; i += segments.rows) {
        segments.first = row + i;
        RunSegments(segments);
      }
    }
  }

 private:
  static constexpr int kMaxSums = 512;

  RUY_LIKE_ALWAYS_INLINE void RunSegments(const StreamSegments& segments) {
    // Tiles whose rows are all in the block.
    const ptrdiff_t left =
        args_.rows - segments.first - (kStreams - 1) * segments.apart;
    const int whole = left > 0 ? Min(left, segments.rows) : 0;
    if (whole > 0) tiles_->Run({&segments, 0, whole}, sums_);
    for (int i = whole; i < segments.rows; ++i) {
      tiles_->Run({&segments, i, i + 1}, sums_ + i);
    }
    // Adjacent segments are stored as one.
    const int count = segments.apart == segments.rows ? 1 : kStreams;
    const int rows = kStreams / count * segments.rows;
    for (int segment = 0; segment < count; ++segment) {
      const ptrdiff_t row = segments.first + segment * segments.apart;
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
