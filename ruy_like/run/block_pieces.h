// Run: a block in pieces: their order, the passes over a depth that is
// split, and the packing of what each of them reads.
//
// Used by product.cc, one BlockPieces a product, shared by its threads, each of
// which brings its own scratch. Does not choose sizes (block_map.h has the
// model and the reasons), deal out blocks, or allocate.
//
// A side that is not packed yet is packed in the middle of the product, by each
// block for itself: what is read of it next is small enough to be still in the
// cache, the same scratch serves what comes after it, and little of it ever
// goes to memory.
//
// One thread's scratch; only what is needed, panels of a side that is packed
// here, sums if it has them:
//
//   | saved accumulators | lhs panels | rhs panels | sums of rows and columns |
//   | of the block       | of a row   | of the     | of the block; those of   |
//   |                    | of pieces  | block      | the last pass            |
//
// Panels hold one pass. Of the rhs those of a piece do where there is but one
// row of pieces.
#ifndef RUY_LIKE_RUN_BLOCK_PIECES_H_
#define RUY_LIKE_RUN_BLOCK_PIECES_H_

#include <cstddef>
#include <cstdint>

#include "ruy_like/kernels/kernel.h"
#include "ruy_like/packed/packed_side.h"
#include "ruy_like/plan/block_map.h"
#include "ruy_like/plan/tr_mul_params.h"

namespace ruy_like {

class BlockPieces final {
 public:
  // How the product treats a side.
  struct SideUse {
    bool packs;  // here; else side.data and side.sums hold all of it
    bool sums;   // are wanted, if it is packed here
  };

  // `kernel`, `side` and `map` must outlive this. accum: of one accumulator.
  // kernel_depth: as kernels see it.
  BlockPieces(const kernels::Kernel& kernel, const SidePair<PackedSide>& side,
              const BlockMap& map, Scalar accum, std::ptrdiff_t kernel_depth,
              const SidePair<SideUse>& use);

  // Scratch memory of each thread, a multiple of kBufferAlignment.
  std::size_t scratch_bytes() const { return scratch_bytes_; }

  // Runs a block. `epilogue` is the block's; its sums matter for sides that are
  // not packed here. `scratch` is aligned to kBufferAlignment.
  void Run(const BlockExtent& block, const kernels::EpilogueArgs& epilogue,
           char* scratch) const;

 private:
  // Where things lie in the scratch; panels and sums of a side only if needed.
  struct SideOffsets {
    std::size_t panels, sums, last_sums;
  };
  // Part of a pass.
  struct Levels {
    std::ptrdiff_t start, count;
  };
  // Panels that a kernel may read.
  struct Panels {
    const char* data;
    std::ptrdiff_t stride_bytes;
  };

  std::size_t AddToScratch(std::ptrdiff_t bytes);
  // Bytes of a piece's accumulators, rounded up to their alignment.
  std::size_t AccumFootprint(std::ptrdiff_t rows, std::ptrdiff_t cols) const;
  // With the padding at the end of the depth.
  std::ptrdiff_t PackedLevels(Side side, Levels levels) const;
  // Columns [start, end) of a side; its first one in the block is `origin`.
  void Pack(Side side, std::ptrdiff_t origin, std::ptrdiff_t start,
            std::ptrdiff_t end, Levels levels, char* scratch) const;
  Panels PanelsAt(Side side, std::ptrdiff_t origin, std::ptrdiff_t start,
                  Levels levels, const char* scratch) const;
  std::ptrdiff_t PanelsOffset(Side side, std::ptrdiff_t origin,
                              std::ptrdiff_t start, Levels levels) const;
  // One row of pieces of a pass; returns the accumulators of the next one.
  char* RunPieces(const BlockExtent& pieces, std::ptrdiff_t first_row,
                  Levels levels, const kernels::EpilogueArgs& epilogue,
                  char* accum, char* scratch) const;

  const kernels::Kernel& kernel_;
  const SidePair<PackedSide>& side_;
  const BlockMap& map_;
  SidePair<SideUse> use_;
  Scalar accum_;
  std::ptrdiff_t depth_;  // as kernels see it
  // All of a pass's rhs panels: there is more than one row of pieces.
  bool keeps_rhs_;
  SidePair<SideOffsets> offsets_;
  std::size_t scratch_bytes_ = 0;
};

}  // namespace ruy_like

#endif  // RUY_LIKE_RUN_BLOCK_PIECES_H_
