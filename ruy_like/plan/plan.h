// Plan: how a product is computed, as a value.
//
// Made from the KernelQuery alone: sizes, types, orders and policies, but no
// address. So a plan can be kept, and serves every product of the same query,
// whatever its operands and the threads that come. choose_plan.h makes and
// keeps plans for a Context, product.h carries them out, verbose.h prints them.
//
//   Plan ─┬─ choice       kernel, path, whether sides are swapped
//         ├─ side[2] ─┬─ source   where its panels come from
//         │           └─ shape    how its panels lie
//         ├─ map          blocks of dst, their pieces, passes over depth
//         ├─ threads
//         └─ scratch      bytes for all threads together, and for each
//
// Many products in one parallel region share a plan if they are alike, or have
// one each; threads then draw the blocks of all of them from one counter.
#ifndef RUY_LIKE_PLAN_PLAN_H_
#define RUY_LIKE_PLAN_PLAN_H_

#include <cstddef>
#include <cstdint>

#include "ruy_like/machine/cpu_features.h"
#include "ruy_like/packed/packed_side.h"
#include "ruy_like/plan/block_map.h"
#include "ruy_like/registry/registry.h"
#include "ruy_like/side.h"

namespace ruy_like {

// Where a kernel finds an operand.
enum class SideSource : std::uint8_t {
  kInPlace,        // where the caller keeps it; also one of depth 0
  kPackedByBlock,  // each block packs what it reads, in its thread's scratch
  kPackedOnce,     // packed for this product alone, once for all threads
  kKept,           // the same, and kept in the prepacked cache
  kCached,    // in the prepacked cache; kKept if it turns out to be missing
  kPrepacked  // packed by the caller, ahead of the product
};

struct SidePlan {
  SideSource source;
  SideShape shape;
  // Offsets in scratch memory, in bytes, multiples of kBufferAlignment; for
  // kPackedByBlock in each thread's own part.
  std::size_t panels_at, sums_at;
  std::size_t pass_sums_at;  // of kPackedByBlock: the sums of one pass
  // For kPackedOnce and kKept in several blocks: which parts are packed. Parts
  // are what blocks read or, unless 0, so many columns.
  std::size_t status_at;
  std::ptrdiff_t part_columns;
  std::size_t scratch_at;  // of shape.scratch_bytes, in each thread's part
};

// Sides are the kernel's: the caller's are swapped if the choice says so.
struct Plan {
  KernelChoice choice;
  SidePair<SidePlan> side;
  // The depth that the kernel is given, the true one if a side is in place; and
  // the padded depth of packed sides.
  std::ptrdiff_t kernel_depth, padded_depth;
  BlockMap map;
  int threads;
  // One block on the calling thread, whatever the limit of threads.
  bool is_small;
  // Scratch memory: `shared_bytes`, then `thread_bytes` for each thread, which
  // begin with the accumulators that are saved between passes over depth; and
  // the sum of that.
  std::size_t shared_bytes, thread_bytes, scratch_bytes;
  // Post-ops; null if the product has none. The kernel fills a
  // tile of at most so many rows and columns, which is small unless depth is
  // split, in each thread's part.
  kernels::PostOpFn* post_ops;
  std::ptrdiff_t tile_rows, tile_cols;
  std::size_t tile_at;
};

// How many threads a plan may have.
struct ThreadLimit {
  int most;    // at least 1
  bool force;  // exactly `most`, even if fewer would be as fast
};

// True if a block packs the rhs panels of a whole pass, for several rows of
// pieces; else those of one piece at a time.
inline bool KeepsRhs(const BlockMap& map) {
  return map.piece_rows < map.block_rows;
}

// Bytes of the accumulators of a piece that are saved between passes, aligned.
std::size_t PieceAccumBytes(const kernels::Kernel& kernel, std::ptrdiff_t rows,
                            std::ptrdiff_t cols);

// Nanoseconds that the product takes on one core, by a rough estimate.
double EstimateNs(const Plan& plan, const CacheSizes& caches);

// Pure. If the product is small, `limit` is ignored unless it forces.
void MakePlan(const KernelQuery& query, const KernelChoice& choice,
              const ThreadLimit& limit, const CacheSizes& caches, Plan* plan);

}  // namespace ruy_like

#endif  // RUY_LIKE_PLAN_PLAN_H_
