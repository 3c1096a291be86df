#include "example/decoder/weight_format.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "example/decoder/model_file.h"
#include "ruy_like/quantize/quantize.h"
#include "ruy_like/ruy_like.h"

namespace decoder {
namespace {

namespace rl = ruy_like;

std::vector<float> Widen(const Weights& weights) {
  std::vector<float> values;
  values.reserve(weights.values.size());
  for (const rl::BFloat16 value : weights.values) {
    values.push_back(static_cast<float>(value));
  }
  return values;
}

// Floats of 16 or 32 bits. Nothing is packed ahead: the kernel for a single
// column reads each weight once, where it lies.
template <typename T>
class FloatLinear final : public Linear {
 public:
  FloatLinear(int rows, int depth, std::vector<T> values)
      : rows_(rows), depth_(depth), values_(std::move(values)) {}

  absl::Status Multiply(const float* x, rl::Context* context,
                        float* y) override {
    auto dst = rl::ColMajor(y, rows_, 1);
    return Mul(rl::RowMajor(values_.data(), rows_, depth_),
               rl::ColMajor(x, depth_, 1), rl::MulParams<float, float>(),
               context, &dst);
  }
  std::size_t weight_bytes() const override {
    return values_.size() * sizeof(T);
  }

 private:
  const int rows_, depth_;
  const std::vector<T> values_;
};

absl::StatusOr<std::unique_ptr<Linear>> MakeFloat(const Weights& weights,
                                                  rl::Context* /*context*/) {
  return std::make_unique<FloatLinear<float>>(weights.rows, weights.depth,
                                              Widen(weights));
}

absl::StatusOr<std::unique_ptr<Linear>> MakeBFloat16(const Weights& weights,
                                                     rl::Context* /*context*/) {
  return std::make_unique<FloatLinear<rl::BFloat16>>(
      weights.rows, weights.depth, weights.values);
}

// Weights of 8 bits with a scale for each row; the column is quantized when it
// arrives, with a scale of its own.
class Int8Linear final : public Linear {
 public:
  Int8Linear(int rows, int depth)
      : rows_(rows),
        depth_(depth),
        values_(std::size_t{1} * rows * depth),
        x_(depth) {}

  absl::Status Quantize(const Weights& weights, rl::Context* context) {
    const std::vector<float> values = Widen(weights);
    const auto matrix = rl::RowMajor(values, rows_, depth_);
    const auto params =
        ChooseSymmetricChannels(matrix, rl::ChannelDimension::kRow, 8);
    if (!params.ok()) return params.status();
    for (const rl::QuantParams& row : *params) scales_.push_back(row.scale);
    auto stored = rl::RowMajor(values_, rows_, depth_);
    return QuantizeRows(matrix, absl::MakeConstSpan(*params), &stored, context);
  }

  absl::Status Multiply(const float* x, rl::Context* context,
                        float* y) override {
    const auto column = rl::ColMajor(x, depth_, 1);
    const auto params =
        ChooseSymmetricChannels(column, rl::ChannelDimension::kCol, 8);
    if (!params.ok()) return params.status();
    auto rhs = rl::ColMajor(x_, depth_, 1);
    absl::Status status =
        QuantizeColumns(column, absl::MakeConstSpan(*params), &rhs, context);
    if (!status.ok()) return status;
    rl::MulParams<std::int32_t, float> mul_params;
    mul_params.set_lhs_scale_perrow(scales_.data());
    mul_params.set_rhs_scale_percol(&params->front().scale);
    auto dst = rl::ColMajor(y, rows_, 1);
    return Mul(rl::RowMajor(std::as_const(values_), rows_, depth_), rhs,
               mul_params, context, &dst);
  }
  std::size_t weight_bytes() const override {
    return values_.size() + scales_.size() * sizeof(float);
  }

 private:
  const int rows_, depth_;
  std::vector<std::int8_t> values_;
  std::vector<float> scales_;
  std::vector<std::int8_t> x_;  // scratch
};

absl::StatusOr<std::unique_ptr<Linear>> MakeInt8(const Weights& weights,
                                                 rl::Context* context) {
  auto linear = std::make_unique<Int8Linear>(weights.rows, weights.depth);
  const absl::Status status = linear->Quantize(weights, context);
  if (!status.ok()) return status;
  return linear;
}

// Writes the 4-bit levels of a group and returns its scale: of some scales, the
// one with the least sum of squared errors. A level stands for
// (level - kZeroLevel) * scale.
constexpr int kZeroLevel = 8, kMostLevel = 15;
rl::BFloat16 ChooseLevels(const float* weights, int count,
                          std::uint8_t* levels) {
  float greatest = 0;
  for (int i = 0; i < count; ++i) {
    greatest = std::max(greatest, std::fabs(weights[i]));
  }
  rl::BFloat16 best(0.0f);
  float least = std::numeric_limits<float>::infinity();
  std::vector<std::uint8_t> tried(count);
  // With the first scale no weight is clamped; a finer one may clamp the
  // largest to be more exact for the others.
  constexpr int kScales = 13;
  constexpr float kCoarsest = 7, kStep = 0.25f;
  for (int step = 0; step < kScales; ++step) {
    const float divisor = kCoarsest + static_cast<float>(step) * kStep;
    const rl::BFloat16 rounded(greatest / divisor);
    const auto scale = static_cast<float>(rounded);
    float error = 0;
    for (int i = 0; i < count; ++i) {
      const float level =
          scale == 0 ? 0.0f : std::nearbyint(weights[i] / scale);
      tried[i] = static_cast<std::uint8_t>(
          std::min(std::max(level + kZeroLevel, 0.0f), float{kMostLevel}));
      const float difference = weights[i] - (tried[i] - kZeroLevel) * scale;
      error += difference * difference;
    }
    if (error < least) {
      least = error;
      best = rounded;
      std::copy(tried.begin(), tried.end(), levels);
    }
  }
  return best;
}

// Weights of 4 bits with a scale for each group of a row; the call quantizes
// the column.
class GroupLinear final : public Linear {
 public:
  absl::Status Pack(const Weights& weights, int group_size,
                    rl::Context* context) {
    const std::vector<float> values = Widen(weights);
    std::vector<std::uint8_t> levels(values.size());
    std::vector<rl::BFloat16> scales;
    for (int row = 0; row < weights.rows; ++row) {
      for (int k = 0; k < weights.depth; k += group_size) {
        const std::ptrdiff_t at = std::ptrdiff_t{1} * row * weights.depth + k;
        scales.push_back(ChooseLevels(values.data() + at,
                                      std::min(group_size, weights.depth - k),
                                      levels.data() + at));
      }
    }
    // Two in a byte, the first in its low half. A row begins with a byte.
    std::vector<std::uint8_t> bytes;
    for (int row = 0; row < weights.rows; ++row) {
      const std::uint8_t* const begin =
          levels.data() + std::ptrdiff_t{1} * row * weights.depth;
      for (int k = 0; k < weights.depth; k += 2) {
        const int high = k + 1 < weights.depth ? begin[k + 1] : 0;
        bytes.push_back(static_cast<std::uint8_t>(begin[k] | high << 4));
      }
    }
    rl::GroupWeights description;
    description.rows = weights.rows;
    description.depth = weights.depth;
    description.bits = 4;
    description.group_size = group_size;
    description.levels = bytes.data();
    description.set_scales(scales.data());
    description.zero_point = kZeroLevel;
    absl::StatusOr<rl::PackedGroupWeights> packed =
        PackGroupWeights(description, context);
    if (!packed.ok()) return packed.status();
    packed_ = *std::move(packed);
    bytes_ = bytes.size() + scales.size() * sizeof(scales[0]);
    return absl::OkStatus();
  }

  absl::Status Multiply(const float* x, rl::Context* context,
                        float* y) override {
    auto dst = rl::ColMajor(y, packed_.rows(), 1);
    return Mul(packed_, rl::ColMajor(x, packed_.depth(), 1),
               rl::GroupMulParams(), context, &dst);
  }
  std::size_t weight_bytes() const override { return bytes_; }

 private:
  rl::PackedGroupWeights packed_;
  std::size_t bytes_ = 0;
};

template <int kGroupSize>
absl::StatusOr<std::unique_ptr<Linear>> MakeGroups(const Weights& weights,
                                                   rl::Context* context) {
  auto linear = std::make_unique<GroupLinear>();
  const absl::Status status = linear->Pack(weights, kGroupSize, context);
  if (!status.ok()) return status;
  return linear;
}

constexpr WeightFormat kFormats[] = {
    {"float", "32 bits", 0, MakeFloat},
    {"bf16", "BFloat16, float activations", 0, MakeBFloat16},
    {"int8", "a scale a row; activations int8, a scale a column", 0.02,
     MakeInt8},
    {"4b G128", "a bf16 scale for 128 weights; activations as for int8", 0.2,
     MakeGroups<128>},
    {"4b G32", "a bf16 scale for 32 weights; activations as for int8", 0.1,
     MakeGroups<32>},
};

}  // namespace

absl::Span<const WeightFormat> AllFormats() { return kFormats; }

const WeightFormat* FindFormat(absl::string_view name) {
  for (const WeightFormat& format : kFormats) {
    if (name == format.name) return &format;
  }
  return nullptr;
}

}  // namespace decoder
