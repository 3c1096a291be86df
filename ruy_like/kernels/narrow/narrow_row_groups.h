// Back-end: which rows of a product of one column make a tile, and their
// epilogue.
//
// Used by what multiplies one column by a lhs that it reads in place
// (narrow_column.h, narrow_digits.h) and leaves its sums here. It does not
// multiply.
//
// ## Streams
//
// A tile's kStreams rows lie far apart, in groups of rows that follow each
// other:
//
//     lhs     row 0           | stream 0: group, group, ...   tile i of the
//             row apart       | stream 1: group, group, ...   groups has row i
//             row 2 * apart   | stream 2: group, group, ...   of each
//             row 3 * apart   | stream 3: group, group, ...
//
// so that memory is read as few long streams: rows next to each other would be
// streams of one row each.
//
// The epilogue runs when a group of each stream has its sums: rarely, since
// memory is idle meanwhile.
#ifndef RUY_LIKE_KERNELS_NARROW_NARROW_ROW_GROUPS_H_
#define RUY_LIKE_KERNELS_NARROW_NARROW_ROW_GROUPS_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/epilogue/epilogue.h"
#include "ruy_like/kernels/kernel.h"
#include "ruy_like/simd/loops.h"

namespace ruy_like::kernels {
namespace {

// Streams, and rows of a tile: StoreLaneSums() takes four vectors.
constexpr int kStreams = 4;

// One group of rows of each stream.
struct RowGroups {
  ptrdiff_t first;  // row of the first one
  ptrdiff_t apart;  // from its first row to that of the next
  int rows;         // of each group; sums are in order of groups
};

// Consecutive tiles: tile i, begin <= i < end, has row i of each stream's
// group. Rows beyond the block repeat its last one; their sums are dropped.
struct TileRange {
  const RowGroups* groups;
  int begin, end;

  RUY_LIKE_ALWAYS_INLINE const char* Row(const KernelArgs& args, int r) const {
    const ptrdiff_t wanted = groups->first + begin + r * groups->apart;
    const ptrdiff_t present = wanted < args.rows ? wanted : args.rows - 1;
    return static_cast<const char*>(args.lhs) + present * args.lhs_stride_bytes;
  }
};

// Runs a block of one column. Tiles::Run(range, sums) makes the sums of a range
// of tiles, the first row's at `sums`; the rhs_zero_point * lhs_sums term is
// already subtracted.
template <class V, class Tiles>
class RowGroupRunner {
 public:
  RowGroupRunner(const KernelArgs& args, Tiles* tiles)
      : args_(args), tiles_(tiles) {}

  RUY_LIKE_ALWAYS_INLINE void Run() {
    RowGroups groups;
    ptrdiff_t apart;
    for (ptrdiff_t row = 0; row < args_.rows; row += kStreams * apart) {
      const ptrdiff_t left = args_.rows - row;
      if (left >= kMaxSums) {
        groups.rows = kMaxSums / kStreams;
        apart = left / kMaxSums * groups.rows;
      } else {
        apart = (left + kStreams - 1) / kStreams;
        groups.rows = static_cast<int>(apart);
        // The epilogue reads whole vectors.
        const int count = kStreams * groups.rows;
        for (int i = count; i % V::kLanes != 0; ++i) sums_[i] = 0;
      }
      groups.apart = apart;
      for (ptrdiff_t i = 0; i < apart; i += groups.rows) {
        groups.first = row + i;
        RunGroups(groups);
      }
    }
  }

 private:
  static constexpr int kMaxSums = 512;

  RUY_LIKE_ALWAYS_INLINE void RunGroups(const RowGroups& groups) {
    // Tiles whose rows are all in the block.
    const ptrdiff_t left =
        args_.rows - groups.first - (kStreams - 1) * groups.apart;
    const int whole = left > 0 ? Min(left, groups.rows) : 0;
    if (whole > 0) tiles_->Run({&groups, 0, whole}, sums_);
    for (int i = whole; i < groups.rows; ++i) {
      tiles_->Run({&groups, i, i + 1}, sums_ + i);
    }
    // Adjacent groups are stored as one.
    const int count = groups.apart == groups.rows ? 1 : kStreams;
    const int rows = kStreams / count * groups.rows;
    for (int group = 0; group < count; ++group) {
      const ptrdiff_t row = groups.first + group * groups.apart;
      StoreTile<typename V::Base>(
          {sums_ + group * rows, kMaxSums, Min(args_.rows - row, rows),
           /*cols=*/1, row, 0},
          *args_.epilogue);
    }
  }

  alignas(64) int32_t sums_[kMaxSums];
  const KernelArgs& args_;
  Tiles* const tiles_;
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_NARROW_NARROW_ROW_GROUPS_H_
