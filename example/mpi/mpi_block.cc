// Fully connected layers split over MPI's ranks: by rows, by depth, and a block
// of two layers that communicates once. Each result is compared, bit for bit,
// with the whole product on one rank.
//
//   mpirun -n 4 ruy_like_mpi_block WEIGHTS
//
// Rank 0 writes the packed weights to the file WEIGHTS if there is none; all
// ranks map it. Exit codes: 0 all is well, 1 a result is wrong or the file
// cannot be used, 2 wrong usage.
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "example/mpi/shard_file.h"
#include "example/mpi/sharded_layers.h"
#include "ruy_like/quantize/multiplier.h"
#include "ruy_like/ruy_like.h"

namespace mpi_example {
namespace {

using ruy_like::Matrix;
using ruy_like::Order;

// Shards of each matrix of weights, for any number of ranks up to it; further
// ranks have nothing to do.
constexpr int kShards = 8;
constexpr int kInputs = 256, kHidden = 1000, kOutputs = 192, kColumns = 24;
// So deep that products of the most negative numbers leave int32.
constexpr int kDeep = 140000, kDeepOutputs = 3;

// Cut along rows and cut along depth: where in the file each matrix begins.
enum FileIndex {
  kFirstByRows = 0,
  kSecondByDepth = kShards,
  kDeepByDepth = 2 * kShards,
  kFileCount = 3 * kShards
};

std::int8_t RandomByte(std::mt19937* random) {
  return static_cast<std::int8_t>((*random)() >> 24);
}

// A row-major matrix that owns its elements.
struct Weights {
  Weights(int rows, int cols) : values(std::size_t{1} * rows * cols) {
    MakeSimpleLayout(rows, cols, Order::kRowMajor, view.mutable_layout());
    view.set_data(values.data());
  }
  std::vector<std::int8_t> values;
  Matrix<std::int8_t> view;
};

Weights RandomWeights(int rows, int cols, std::uint32_t seed) {
  Weights weights(rows, cols);
  std::mt19937 random(seed);
  for (std::int8_t& value : weights.values) {
    value = std::max<std::int8_t>(-127, RandomByte(&random));
  }
  return weights;
}

Weights FirstWeights() { return RandomWeights(kHidden, kInputs, 1); }
Weights SecondWeights() { return RandomWeights(kOutputs, kHidden, 2); }
Weights DeepWeights() {
  Weights weights(kDeepOutputs, kDeep);
  std::fill(weights.values.begin(), weights.values.end(), -127);
  return weights;
}

// Plausible scales: random weights and inputs then use most of int8's range.
absl::StatusOr<LayerParams> MakeParams(int rows, int depth, bool relu,
                                       std::uint32_t seed) {
  std::mt19937 random(seed);
  LayerParams params;
  params.output = {0.05f, relu ? -128 : 5, -128, 127};
  for (int row = 0; row < rows; ++row) {
    params.bias.push_back(static_cast<std::int32_t>(random() >> 16) - 32768);
    const double spread = 1 + (random() >> 8) / double{1 << 24};
    const auto multiplier =
        ruy_like::QuantizeMultiplier(spread * 0.01 / std::sqrt(depth));
    if (!multiplier.ok()) return multiplier.status();
    params.fixedpoint.push_back(multiplier->fixedpoint);
    params.exponent.push_back(multiplier->exponent);
  }
  return params;
}

// ## The file

// Appends the shards of one matrix, cut along rows or along depth.
absl::Status PackShards(const Weights& weights, bool by_rows,
                        ruy_like::Context* context,
                        std::vector<ruy_like::PackedMatrix<std::int8_t>>* to) {
  const ruy_like::Layout& whole = weights.view.layout();
  const std::ptrdiff_t size = by_rows ? whole.rows() : whole.cols();
  for (int i = 0; i < kShards; ++i) {
    const std::ptrdiff_t begin = size * i / kShards;
    const std::ptrdiff_t count = size * (i + 1) / kShards - begin;
    Matrix<std::int8_t> part = weights.view;
    part.set_data(weights.values.data() +
                  (by_rows ? ElementOffset(whole, begin, 0)
                           : ElementOffset(whole, 0, begin)));
    if (by_rows) {
      part.mutable_layout()->set_rows(count);
    } else {
      part.mutable_layout()->set_cols(count);
    }
    auto packed =
        Pack(part, ruy_like::Side::kLhs, ruy_like::PackOptions(), context);
    if (!packed.ok()) return packed.status();
    to->push_back(*std::move(packed));
  }
  return absl::OkStatus();
}

absl::Status WriteFile(const std::string& name, ruy_like::Context* context) {
  std::vector<ruy_like::PackedMatrix<std::int8_t>> shards;
  absl::Status status = PackShards(FirstWeights(), true, context, &shards);
  status.Update(PackShards(SecondWeights(), false, context, &shards));
  status.Update(PackShards(DeepWeights(), false, context, &shards));
  if (status.ok()) status = WriteShards(shards, name);
  return status;
}

// ## The comparison

std::uint32_t Checksum(const void* data, std::size_t bytes) {
  std::uint32_t sum = 2166136261u;  // FNV-1a
  const auto* const begin = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < bytes; ++i) sum = (sum ^ begin[i]) * 16777619u;
  return sum;
}

// The whole product in one call of Mul, as it would be without MPI.
template <typename Dst>
absl::Status MulWhole(const Weights& weights, const LayerParams* params,
                      const Matrix<std::int8_t>& activations,
                      ruy_like::Context* context, Tensor<Dst>* dst) {
  ruy_like::MulParams<std::int32_t, Dst> mul_params;
  if constexpr (sizeof(Dst) == 1) {
    mul_params.set_bias(params->bias.data());
    mul_params.set_multiplier_fixedpoint_perchannel(params->fixedpoint.data());
    mul_params.set_multiplier_exponent_perchannel(params->exponent.data());
    mul_params.set_clamp_min(static_cast<Dst>(params->output.qmin));
    mul_params.set_clamp_max(static_cast<Dst>(params->output.qmax));
  }
  return Mul(weights.view, activations, mul_params, context, &dst->view);
}

// Rank 0 prints what all ranks came to; kDataLoss if any of them differs from
// the whole product.
template <typename T>
absl::Status Compare(const char* name, const Tensor<T>& actual,
                     const Tensor<T>& expected, MPI_Comm ranks) {
  int rank = 0;
  MPI_Comm_rank(ranks, &rank);
  int equal = actual.values == expected.values;
  MPI_Allreduce(MPI_IN_PLACE, &equal, 1, MPI_INT, MPI_MIN, ranks);
  if (rank == 0) {
    std::cout << absl::StreamFormat(
        "%-10s %08x  %s\n", name,
        Checksum(actual.values.data(), actual.values.size() * sizeof(T)),
        equal ? "equal to the whole product" : "WRONG");
  }
  return equal ? absl::OkStatus()
               : absl::DataLossError(absl::StrCat(name, ": wrong result"));
}

// ## The products

struct Setup {
  ShardFile file;
  LayerParams first_params, second_params;
  MPI_Comm ranks;
};

// The block, and on the way a layer split by rows and one split by depth.
absl::Status RunBlock(const Setup& setup, ruy_like::Context* context) {
  const auto first =
      LoadPart(setup.file, kFirstByRows, kShards, true, setup.ranks);
  if (!first.ok()) return first.status();
  const auto second =
      LoadPart(setup.file, kSecondByDepth, kShards, false, setup.ranks);
  if (!second.ok()) return second.status();
  std::mt19937 random(3);
  Tensor<std::int8_t> input(kInputs, kColumns, -3);
  for (std::int8_t& value : input.values) value = RandomByte(&random);

  const auto hidden_zero =
      static_cast<std::int8_t>(setup.first_params.output.zero_point);
  const auto output_zero =
      static_cast<std::int8_t>(setup.second_params.output.zero_point);
  Tensor<std::int8_t> own_hidden(first->end - first->begin, kColumns,
                                 hidden_zero);
  absl::Status status = MulRows(*first, setup.first_params, input.view, context,
                                &own_hidden.view);
  if (!status.ok()) return status;
  Tensor<std::int32_t> sums(kOutputs, kColumns);
  status = MulDepth(*second, own_hidden.view, context, &sums, setup.ranks);
  if (!status.ok()) return status;
  Tensor<std::int8_t> output(kOutputs, kColumns, output_zero);
  Requantize(sums, setup.second_params, &output);

  Tensor<std::int8_t> hidden(kHidden, kColumns, hidden_zero);
  GatherRows(*first, own_hidden, &hidden, setup.ranks);
  Tensor<std::int8_t> whole_hidden(kHidden, kColumns, hidden_zero);
  Tensor<std::int8_t> whole_output(kOutputs, kColumns, output_zero);
  status = MulWhole(FirstWeights(), &setup.first_params, input.view, context,
                    &whole_hidden);
  status.Update(MulWhole(SecondWeights(), &setup.second_params,
                         whole_hidden.view, context, &whole_output));
  if (!status.ok()) return status;
  status = Compare("by rows", hidden, whole_hidden, setup.ranks);
  status.Update(Compare("block", output, whole_output, setup.ranks));
  return status;
}

// A product by depth alone, whose sums wrap around.
absl::Status RunDeep(const Setup& setup, ruy_like::Context* context) {
  const auto part =
      LoadPart(setup.file, kDeepByDepth, kShards, false, setup.ranks);
  if (!part.ok()) return part.status();
  Tensor<std::int8_t> input(kDeep, 2);
  for (int i = 0; i < kDeep; ++i) {
    input.values[i] = -128;
    input.values[kDeep + i] = static_cast<std::int8_t>(i % 7 - 128);
  }
  Tensor<std::int32_t> sums(kDeepOutputs, 2), whole(kDeepOutputs, 2);
  absl::Status status =
      MulDepth(*part, Rows(input.view, part->begin, part->end), context, &sums,
               setup.ranks);
  status.Update(MulWhole<std::int32_t>(DeepWeights(), nullptr, input.view,
                                       context, &whole));
  if (!status.ok()) return status;
  if (whole.values[0] > 0) {  // 127 * 128 * 140000 is more than 2^31
    return absl::InternalError("the deep product does not wrap around");
  }
  return Compare("by depth", sums, whole, setup.ranks);
}

absl::Status Run(const std::string& file_name, MPI_Comm ranks) {
  int rank = 0, size = 1;
  MPI_Comm_rank(ranks, &rank);
  MPI_Comm_size(ranks, &size);
  ruy_like::Context context;
  if (rank == 0) {
    std::cout << "ranks      " << size << ", of " << kShards << " shards\n";
    if (access(file_name.c_str(), F_OK) != 0) {
      const absl::Status status = WriteFile(file_name, &context);
      if (!status.ok()) return status;
    }
  }
  MPI_Barrier(ranks);
  absl::StatusOr<ShardFile> file = ShardFile::Map(file_name);
  if (!file.ok()) return file.status();
  if (file->count() != kFileCount) {
    return absl::DataLossError(file_name + " holds other weights");
  }
  absl::StatusOr<LayerParams> first = MakeParams(kHidden, kInputs, true, 4);
  if (!first.ok()) return first.status();
  absl::StatusOr<LayerParams> second = MakeParams(kOutputs, kHidden, false, 5);
  if (!second.ok()) return second.status();
  const Setup setup = {*std::move(file), *std::move(first), *std::move(second),
                       ranks};
  absl::Status status = RunBlock(setup, &context);
  if (status.ok()) status = RunDeep(setup, &context);
  return status;
}

}  // namespace
}  // namespace mpi_example

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int exit_code = 0;
  if (argc != 2) {
    std::cerr << "usage: ruy_like_mpi_block WEIGHTS\n";
    exit_code = 2;
  } else {
    const absl::Status status = mpi_example::Run(argv[1], MPI_COMM_WORLD);
    if (!status.ok()) {
      std::cerr << "ruy_like_mpi_block: " << status.message() << "\n";
      exit_code = 1;
      // The other ranks may be waiting for this one.
      MPI_Abort(MPI_COMM_WORLD, exit_code);
    }
  }
  MPI_Finalize();
  return exit_code;
}
