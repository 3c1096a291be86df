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

  absl::Status Multiply(const float* x, const rl::PostOps* post_ops,
                        rl::Context* context, float* y) override {
    rl::MulParams<float, float> params;
    params.set_post_ops(post_ops);
    auto dst = rl::ColMajor(y, rows_, 1);
    return Mul(rl::RowMajor(values_.data(), rows_, depth_),
               rl::ColMajor(x, depth_, 1), params, context, &dst);
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

  absl::Status Multiply(const float* x, const rl::PostOps* post_ops,
                        rl::Context* context, float* y) override {
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
    mul_params.set_post_ops(post_ops);
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

// Weights in groups of a row: the codes of each are indices into `levels`, and
// a weight is its level times the group's scale.
struct GroupFormat {
  int bits, group_size;
  std::int8_t levels[16];  // of the first 2^bits codes
  // Without a table a code stands for code - kZeroCode.
  bool has_table;
  bool scales_are_powers_of_2;
};
constexpr int kZeroCode = 8;

constexpr GroupFormat FourBits(int group_size) {
  return {4,
          group_size,
          {-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7},
          /*has_table=*/false,
          /*scales_are_powers_of_2=*/false};
}
constexpr GroupFormat kFourBits128 = FourBits(128), kFourBits32 = FourBits(32);
// Codes are floats of four bits (E2M1), here doubled to be integers.
constexpr GroupFormat kMxFp4 = {
    4,
    32,
    {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12},
    /*has_table=*/true,
    /*scales_are_powers_of_2=*/true};
constexpr GroupFormat kTwoBits32 = {
    2, 32, {-3, -1, 1, 3}, /*has_table=*/true, false};

// The scale to try after `step` others, for a group with this greatest
// magnitude. With the first one no weight is clamped by much; a finer one may
// clamp the largest to be more exact for the others.
rl::BFloat16 ScaleToTry(const GroupFormat& format, float greatest, int step) {
  if (format.scales_are_powers_of_2) {
    // The largest level is 1.5 * 2^3.
    return rl::BFloat16(
        greatest == 0 ? 0.0f
                      : std::ldexp(1.0f, std::ilogb(greatest) - 3 + step));
  }
  const float coarsest = format.bits == 2 ? 3 : 7;
  constexpr float kStep = 0.25f;
  return rl::BFloat16(greatest / (coarsest + static_cast<float>(step) * kStep));
}

// Writes the codes of a group, each of the nearest value, and returns its
// scale: of some, the one with the least sum of squared errors.
rl::BFloat16 ChooseCodes(const GroupFormat& format, const float* weights,
                         int count, std::uint8_t* codes) {
  float greatest = 0;
  for (int i = 0; i < count; ++i) {
    greatest = std::max(greatest, std::fabs(weights[i]));
  }
  rl::BFloat16 best(0.0f);
  float least = std::numeric_limits<float>::infinity();
  std::vector<std::uint8_t> tried(count);
  const int scales = format.scales_are_powers_of_2 ? 2 : 13;
  for (int step = 0; step < scales; ++step) {
    const rl::BFloat16 rounded = ScaleToTry(format, greatest, step);
    const auto scale = static_cast<float>(rounded);
    float error = 0;
    for (int i = 0; i < count; ++i) {
      float nearest = std::numeric_limits<float>::infinity();
      for (int code = 0; code < 1 << format.bits; ++code) {
        const float difference = weights[i] - format.levels[code] * scale;
        if (difference * difference < nearest) {
          nearest = difference * difference;
          tried[i] = static_cast<std::uint8_t>(code);
        }
      }
      error += nearest;
    }
    if (error < least) {
      least = error;
      best = rounded;
      std::copy(tried.begin(), tried.end(), codes);
    }
  }
  return best;
}

// The call quantizes the column.
class GroupLinear final : public Linear {
 public:
  absl::Status Pack(const GroupFormat& format, const Weights& weights,
                    rl::Context* context) {
    const std::vector<float> values = Widen(weights);
    std::vector<std::uint8_t> codes(values.size());
    std::vector<rl::BFloat16> scales;
    for (int row = 0; row < weights.rows; ++row) {
      for (int k = 0; k < weights.depth; k += format.group_size) {
        const std::ptrdiff_t at = std::ptrdiff_t{1} * row * weights.depth + k;
        scales.push_back(ChooseCodes(
            format, values.data() + at,
            std::min(format.group_size, weights.depth - k), codes.data() + at));
      }
    }
    // Two or four in a byte, the first in its lowest bits. A row begins with a
    // byte.
    const int in_byte = 8 / format.bits;
    std::vector<std::uint8_t> bytes;
    for (int row = 0; row < weights.rows; ++row) {
      const std::uint8_t* const begin =
          codes.data() + std::ptrdiff_t{1} * row * weights.depth;
      for (int k = 0; k < weights.depth; k += in_byte) {
        int byte = 0;
        for (int i = 0; i < in_byte && k + i < weights.depth; ++i) {
          byte |= begin[k + i] << i * format.bits;
        }
        bytes.push_back(static_cast<std::uint8_t>(byte));
      }
    }
    rl::GroupWeights description;
    description.rows = weights.rows;
    description.depth = weights.depth;
    description.bits = format.bits;
    description.group_size = format.group_size;
    description.levels = bytes.data();
    description.set_scales(scales.data());
    if (format.has_table) {
      description.table = format.levels;
    } else {
      description.zero_point = kZeroCode;
    }
    absl::StatusOr<rl::PackedGroupWeights> packed =
        PackGroupWeights(description, context);
    if (!packed.ok()) return packed.status();
    packed_ = *std::move(packed);
    bytes_ = bytes.size() + scales.size() * sizeof(scales[0]);
    return absl::OkStatus();
  }

  absl::Status Multiply(const float* x, const rl::PostOps* post_ops,
                        rl::Context* context, float* y) override {
    rl::GroupMulParams params;
    params.post_ops = post_ops;
    auto dst = rl::ColMajor(y, packed_.rows(), 1);
    return Mul(packed_, rl::ColMajor(x, packed_.depth(), 1), params, context,
               &dst);
  }
  std::size_t weight_bytes() const override { return bytes_; }

 private:
  rl::PackedGroupWeights packed_;
  std::size_t bytes_ = 0;
};

template <const GroupFormat& kFormat>
absl::StatusOr<std::unique_ptr<Linear>> MakeGroups(const Weights& weights,
                                                   rl::Context* context) {
  auto linear = std::make_unique<GroupLinear>();
  const absl::Status status = linear->Pack(kFormat, weights, context);
  if (!status.ok()) return status;
  return linear;
}

constexpr WeightFormat kFormats[] = {
    {"float", "32 bits", 0, MakeFloat},
    {"bf16", "BFloat16, float activations", 0, MakeBFloat16},
    {"int8", "a scale a row; activations int8, a scale a column", 0.02,
     MakeInt8},
    {"4b G128", "a bf16 scale for 128 weights; activations as for int8", 0.2,
     MakeGroups<kFourBits128>},
    {"4b G32", "a bf16 scale for 32 weights; activations as for int8", 0.1,
     MakeGroups<kFourBits32>},
    {"mxfp4", "E2M1, a power of 2 for 32 weights; activations as for int8", 0.1,
     MakeGroups<kMxFp4>},
    {"2b G32", "a bf16 scale for 32 weights; activations as for int8", 0.3,
     MakeGroups<kTwoBits32>},
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
