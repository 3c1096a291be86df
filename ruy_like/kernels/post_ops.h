// Back-end contract: what follows the product in a tile of dst, by one routine
// of the path for all of its kernels.
//
// Called by run/blocks.cc for calls that ask for it: a kernel has then written
// its accumulators, without bias and bounds, to a small buffer that is still in
// a near cache; the routine makes dst of them. Plain data only, as kernel.h.
//
//   float    x = acc + beta * dst + bias
//            x = activation(x) * factor + residual
//            dst = clamp(x), rounded to dst's type
//   double   dst = clamp(acc + beta * dst + bias), rounded to dst's type
//   int32    dst = clamp(acc + beta * dst + bias), modulo 2^32 before the clamp
//
//   8 bits   dst = table[dst], where the kernel has made dst of the
//            accumulators, or table[tile], where the tile has bytes in dst's
//            layout: the routine takes no terms but the table
//
// Each product and each sum is rounded by itself, and is there only if its term
// is. A NaN stays one.
#ifndef RUY_LIKE_KERNELS_POST_OPS_H_
#define RUY_LIKE_KERNELS_POST_OPS_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/activation.h"
#include "ruy_like/kernels/kernel.h"
#include "ruy_like/scalar.h"

namespace ruy_like::kernels {

// A matrix that is read element by element: (r, c) is r * row_stride + c *
// col_stride elements after the first. A stride of 0: one value per column, per
// row, or for all.
struct PostTerm {
  const void* data;  // null: no term
  Scalar scalar;
  ptrdiff_t row_stride, col_stride;
};

// The terms that a call asks for: of the whole dst, or from a tile's first
// element on.
struct PostOpTerms {
  Activation activation;
  bool accumulates;  // beta * dst is added
  double beta;       // exact for every type of dst
  PostTerm slope;    // of kLeakyRelu
  PostTerm factor, residual;
  const uint8_t* table;  // of 256 bytes, or null
};

// A call's demands on its plan: bits.
enum PostOpNeeds : uint8_t {
  kNeedsNothing = 0,
  kNeedsTile = 1,  // something follows the kernel
  // Zero points of the other side's rows or columns.
  kNeedsLhsSums = 2,
  kNeedsRhsSums = 4
};

struct PostOpArgs {
  ptrdiff_t rows, cols;
  // The accumulators, float, double or int32: columns without gaps, or rows if
  // those of dst are contiguous, tile_stride elements apart. 64-byte aligned;
  // tile_stride is a multiple of 16. For a table: the bytes to look up; null
  // stands for those of dst.
  const void* tile;
  Scalar tile_scalar;
  ptrdiff_t tile_stride;
  // dst, bias and bounds of the tile.
  const EpilogueArgs* epilogue;
  PostOpTerms terms;
  // For a table: the processor has VPERMI2B (PermutesBytes of the machine).
  bool permutes_bytes;
};

}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_POST_OPS_H_
