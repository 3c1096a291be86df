#include "example/mpi/sharded_layers.h"

#include <algorithm>
#include <utility>

namespace mpi_example {

using ruy_like::Matrix;
using ruy_like::MulParams;

absl::StatusOr<Part> LoadPart(const ShardFile& file, int first, int count,
                              bool by_rows, MPI_Comm ranks) {
  int rank = 0, size = 1;
  MPI_Comm_rank(ranks, &rank);
  MPI_Comm_size(ranks, &size);
  const int begin = count * rank / size, end = count * (rank + 1) / size;
  Part part;
  std::ptrdiff_t at = 0;
  // Shards of lower ranks: only headers are read, for their sizes.
  for (int i = 0; i < end; ++i) {
    auto shard =
        file.Load(first + i, i >= begin ? ruy_like::VerifyChecksum::kYes
                                        : ruy_like::VerifyChecksum::kNo);
    if (!shard.ok()) return shard.status();
    if (i == begin) part.begin = at;
    at += by_rows ? shard->rows() : shard->cols();
    if (i >= begin) part.shards.push_back(*std::move(shard));
  }
  if (begin == end) part.begin = at;
  part.end = at;
  return part;
}

absl::Status MulRows(const Part& part, const LayerParams& params,
                     const Matrix<std::int8_t>& activations,
                     ruy_like::Context* context, Matrix<std::int8_t>* dst) {
  std::ptrdiff_t row = part.begin;
  for (const auto& shard : part.shards) {
    MulParams<std::int32_t, std::int8_t> mul_params;
    mul_params.set_bias(&params.bias[row]);
    mul_params.set_multiplier_fixedpoint_perchannel(&params.fixedpoint[row]);
    mul_params.set_multiplier_exponent_perchannel(&params.exponent[row]);
    mul_params.set_clamp_min(static_cast<std::int8_t>(params.output.qmin));
    mul_params.set_clamp_max(static_cast<std::int8_t>(params.output.qmax));
    Matrix<std::int8_t> rows =
        Rows(*dst, row - part.begin, row - part.begin + shard.rows());
    rows.set_data(ElementPtr(dst, row - part.begin, 0));
    const absl::Status status =
        Mul(shard, activations, mul_params, context, &rows);
    if (!status.ok()) return status;
    row += shard.rows();
  }
  return absl::OkStatus();
}

void GatherRows(const Part& part, const Tensor<std::int8_t>& own,
                Tensor<std::int8_t>* all, MPI_Comm ranks) {
  int size = 1;
  MPI_Comm_size(ranks, &size);
  const int rows = static_cast<int>(part.end - part.begin);
  std::vector<int> counts(size), offsets(size);
  MPI_Allgather(&rows, 1, MPI_INT, counts.data(), 1, MPI_INT, ranks);
  for (int i = 1; i < size; ++i) offsets[i] = offsets[i - 1] + counts[i - 1];
  // Rows of a column-major matrix are strided, so columns go one by one.
  const std::ptrdiff_t stride = all->view.layout().stride();
  for (std::ptrdiff_t col = 0; col < all->view.layout().cols(); ++col) {
    MPI_Allgatherv(own.values.data() + col * rows, rows, MPI_INT8_T,
                   all->values.data() + col * stride, counts.data(),
                   offsets.data(), MPI_INT8_T, ranks);
  }
}

absl::Status MulDepth(const Part& part, const Matrix<std::int8_t>& activations,
                      ruy_like::Context* context, Tensor<std::int32_t>* sums,
                      MPI_Comm ranks) {
  std::fill(sums->values.begin(), sums->values.end(), 0);
  MulParams<std::int32_t, std::int32_t> mul_params;
  mul_params.set_beta(1);  // one shard after the other, modulo 2^32
  std::ptrdiff_t k = 0;
  for (const auto& shard : part.shards) {
    const absl::Status status =
        Mul(shard, Rows(activations, k, k + shard.cols()), mul_params, context,
            &sums->view);
    if (!status.ok()) return status;
    k += shard.cols();
  }
  // As unsigned numbers: signed overflow is undefined, in MPI's sums too.
  MPI_Allreduce(MPI_IN_PLACE, sums->values.data(),
                static_cast<int>(sums->values.size()), MPI_UINT32_T, MPI_SUM,
                ranks);
  return absl::OkStatus();
}

void Requantize(const Tensor<std::int32_t>& sums, const LayerParams& params,
                Tensor<std::int8_t>* dst) {
  const std::size_t rows = params.bias.size();
  for (std::size_t i = 0; i < sums.values.size(); ++i) {
    const std::size_t row = i % rows;
    const auto with_bias =
        static_cast<std::int32_t>(static_cast<std::uint32_t>(sums.values[i]) +
                                  static_cast<std::uint32_t>(params.bias[row]));
    const std::int64_t value =
        std::int64_t{ruy_like::MultiplyByQuantizedMultiplier(
            with_bias, {params.fixedpoint[row], params.exponent[row]})} +
        params.output.zero_point;
    dst->values[i] = static_cast<std::int8_t>(std::clamp<std::int64_t>(
        value, params.output.qmin, params.output.qmax));
  }
}

}  // namespace mpi_example
