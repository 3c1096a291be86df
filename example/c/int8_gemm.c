// Multiplies by weights that are packed once. A program in C, linked to
// ruy_like::c (doc/c.md).
#include <stdio.h>

#include "ruy_like/c/ruy_like.h"

enum { kRows = 2, kDepth = 3, kCols = 2 };

// A row-major matrix without gaps.
static rl_matrix row_major(void* data, int32_t type, ptrdiff_t rows,
                           ptrdiff_t cols) {
  rl_matrix matrix = {0};
  matrix.size = sizeof matrix;
  matrix.data = data;
  matrix.type = type;
  matrix.order = RL_ROW_MAJOR;
  matrix.rows = rows;
  matrix.cols = cols;
  return matrix;
}

int main(void) {
  int8_t weights[kRows * kDepth] = {1, 2, 3, 4, 5, 6};
  int8_t input[kDepth * kCols] = {1, 0, 0, 1, 1, 1};
  int32_t output[kRows * kCols];
  const rl_matrix lhs = row_major(weights, RL_INT8, kRows, kDepth);
  const rl_matrix rhs = row_major(input, RL_INT8, kDepth, kCols);
  const rl_matrix dst = row_major(output, RL_INT32, kRows, kCols);
  rl_matrix packed_lhs = {0};
  rl_pack_options options = {0};
  rl_context* context = NULL;
  rl_packed* packed = NULL;
  rl_status status;
  int i;

  options.size = sizeof options;
  options.side = RL_LHS;
  options.dst_order = RL_ROW_MAJOR;
  status = rl_context_create(&context);
  if (status == RL_OK) status = rl_pack(&lhs, &options, context, &packed);
  packed_lhs.size = sizeof packed_lhs;
  packed_lhs.packed = packed;
  if (status == RL_OK) {
    status = rl_mul(&packed_lhs, &rhs, NULL, context, &dst);
  }
  if (status == RL_OK) {
    for (i = 0; i < kRows; ++i) {
      printf("%d %d\n", output[i * kCols], output[i * kCols + 1]);
    }
  } else {
    fprintf(stderr, "%s\n", rl_last_error());
  }
  rl_packed_destroy(packed);
  rl_context_destroy(context);
  return status != RL_OK;
}
