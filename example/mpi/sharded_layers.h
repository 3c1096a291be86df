// Example: int8 layers whose weights are split over the ranks of MPI, with
// results that do not depend on how many ranks there are.
//
// In the convention of Mul, dst = weights * activations:
//
//   by rows    Each rank has some rows of the weights, hence some channels of
//              dst, which it requantizes itself. No sum crosses ranks.
//   by depth   Each rank has some columns of the weights and the activations
//              that meet them. The int32 partial sums are added over all ranks
//              (MPI_Allreduce), and only then requantized.
//
// Two layers in a row, the first split by rows and the second by depth,
// communicate once: what a rank makes in the first is just what it needs in the
// second. (Where activations are rows, the first is the split by columns, the
// second by rows.)
//
// Partial sums wrap modulo 2^32 in Mul and as unsigned integers in MPI, so that
// they may be added in any order and grouping: every number of ranks gives the
// same bits.
#ifndef EXAMPLE_MPI_SHARDED_LAYERS_H_
#define EXAMPLE_MPI_SHARDED_LAYERS_H_

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "example/mpi/shard_file.h"
#include "ruy_like/quantize/multiplier.h"
#include "ruy_like/quantize/quant_params.h"
#include "ruy_like/ruy_like.h"

namespace mpi_example {

// The parameters that are not split: a few bytes for each channel.
struct LayerParams {
  ruy_like::QuantParams output;          // its qmin may be a ReLU's
  std::vector<std::int32_t> bias;        // one per row
  std::vector<std::int32_t> fixedpoint;  // multipliers, one per row
  std::vector<int> exponent;
};

// A column-major matrix that owns its elements.
template <typename T>
struct Tensor {
  Tensor(std::ptrdiff_t rows, std::ptrdiff_t cols, T zero_point = 0)
      : values(static_cast<std::size_t>(rows * cols)) {
    MakeSimpleLayout(rows, cols, ruy_like::Order::kColMajor,
                     view.mutable_layout());
    view.set_data(values.data());
    view.set_zero_point(zero_point);
  }
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;

  std::vector<T> values;
  ruy_like::Matrix<T> view;
};

// A rank's part of one matrix of weights: consecutive shards. Shards are cut
// when the file is written, as many for any number of ranks.
struct Part {
  std::ptrdiff_t begin = 0, end = 0;  // rows, or elements of depth
  std::vector<ruy_like::PackedMatrix<std::int8_t>> shards;
};

// This rank's shards of images [first, first + count) in the file.
absl::StatusOr<Part> LoadPart(const ShardFile& file, int first, int count,
                              bool by_rows, MPI_Comm ranks);

// This rank's rows of the layer: dst is (part.end - part.begin) x columns.
absl::Status MulRows(const Part& part, const LayerParams& params,
                     const ruy_like::Matrix<std::int8_t>& activations,
                     ruy_like::Context* context,
                     ruy_like::Matrix<std::int8_t>* dst);

// All rows on every rank, from each rank's own.
void GatherRows(const Part& part, const Tensor<std::int8_t>& own,
                Tensor<std::int8_t>* all, MPI_Comm ranks);

// The raw sums of the whole product on every rank. `activations` holds this
// rank's part of the depth alone.
absl::Status MulDepth(const Part& part,
                      const ruy_like::Matrix<std::int8_t>& activations,
                      ruy_like::Context* context, Tensor<std::int32_t>* sums,
                      MPI_Comm ranks);

// Bias, multiplier, zero point and clamp, as Mul's own epilogue has them.
void Requantize(const Tensor<std::int32_t>& sums, const LayerParams& params,
                Tensor<std::int8_t>* dst);

// Rows [begin, end) of a matrix.
template <typename T>
ruy_like::Matrix<T> Rows(const ruy_like::Matrix<T>& matrix,
                         std::ptrdiff_t begin, std::ptrdiff_t end) {
  ruy_like::Matrix<T> rows = matrix;
  rows.set_data(matrix.data() + ElementOffset(matrix.layout(), begin, 0));
  rows.mutable_layout()->set_rows(end - begin);
  return rows;
}

}  // namespace mpi_example

#endif  // EXAMPLE_MPI_SHARDED_LAYERS_H_
