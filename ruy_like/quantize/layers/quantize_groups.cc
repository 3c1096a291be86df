// Tested in test/quantize/layers/quantize_groups_test.cc.
#include "ruy_like/quantize/quantize_groups.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ruy_like/base/checked_math.h"
#include "ruy_like/base/float_state.h"
#include "ruy_like/base/no_memory.h"
#include "ruy_like/quantize/checks/checks.h"

namespace ruy_like {
namespace {

namespace qi = quantize_internal;

using Result = absl::StatusOr<QuantizedGroups>;

absl::Status CheckSizes(std::ptrdiff_t rows, std::ptrdiff_t depth,
                        std::ptrdiff_t group_size, bool may_be_whole) {
  std::ptrdiff_t elements;
  if (rows <= 0 || depth <= 0 || !CheckedMul(rows, depth, &elements) ||
      elements > std::numeric_limits<std::ptrdiff_t>::max() / 8) {
    return Invalid("weights of ", rows, "x", depth);
  }
  if (group_size < (may_be_whole ? 0 : 16) || group_size % 16 != 0) {
    return Invalid("group_size = ", group_size, " is no multiple of 16");
  }
  return absl::OkStatus();
}

QuantizedGroups MakeGroups(std::ptrdiff_t rows, std::ptrdiff_t depth,
                           std::ptrdiff_t group_size, int bits) {
  QuantizedGroups groups;
  groups.rows = rows;
  groups.depth = depth;
  groups.group_size = group_size;
  groups.bits = bits;
  groups.zero_point = bits == 4 ? 8 : 0;
  const std::ptrdiff_t row_bytes = bits == 8 ? depth : (depth + 1) / 2;
  groups.levels.resize(static_cast<std::size_t>(rows * row_bytes));
  return groups;
}

// Into zeroed levels.
void SetLevel(std::ptrdiff_t row, std::ptrdiff_t k, int level,
              QuantizedGroups* groups) {
  if (groups->bits == 8) {
    groups->levels[static_cast<std::size_t>(row * groups->depth + k)] =
        static_cast<std::uint8_t>(level);
    return;
  }
  const std::ptrdiff_t at = row * ((groups->depth + 1) / 2) + k / 2;
  groups->levels[static_cast<std::size_t>(at)] |=
      static_cast<std::uint8_t>(level << (k % 2 == 0 ? 0 : 4));
}

// The level without its zero point.
int NearestLevel(float weight, float scale, int bits) {
  if (scale == 0) return 0;
  const float low = bits == 4 ? -8 : -127;
  const float high = bits == 4 ? 7 : 127;
  return static_cast<int>(
      std::min(high, std::max(low, std::nearbyint(weight / scale))));
}

double SquaredError(const std::vector<float>& weights, float scale, int bits) {
  double sum = 0;
  for (const float weight : weights) {
    const double error =
        weight - static_cast<double>(NearestLevel(weight, scale, bits)) * scale;
    sum += error * error;
  }
  return sum;
}

float ChooseScale(const std::vector<float>& weights, int bits,
                  GroupScaleSearch search) {
  float greatest = 0;
  for (const float weight : weights) {
    greatest = std::max(greatest, std::fabs(weight));
  }
  const float scale = greatest / (bits == 4 ? 7.0f : 127.0f);
  if (search == GroupScaleSearch::kNone || greatest == 0) return scale;
  // From the scale that makes the greatest magnitude level -8.3 to one that
  // cuts off a third of it.
  constexpr int kSteps = 24;
  float best = scale;
  double least = SquaredError(weights, scale, bits);
  for (int step = 0; step <= kSteps; ++step) {
    const float candidate =
        scale * (0.64f + 0.48f * static_cast<float>(step) / kSteps);
    const double error = SquaredError(weights, candidate, bits);
    if (error < least) {
      least = error;
      best = candidate;
    }
  }
  return best;
}

Result ImportGgml(const void* blocks, std::size_t bytes, std::ptrdiff_t rows,
                  std::ptrdiff_t depth, int bits) {
  constexpr std::ptrdiff_t kBlock = 32;
  RUY_LIKE_RETURN_IF_ERROR(
      CheckSizes(rows, depth, kBlock, /*may_be_whole=*/false));
  const std::ptrdiff_t block_bytes = 2 + kBlock * bits / 8;
  if (depth % kBlock != 0) {
    return Invalid("depth = ", depth, " is no multiple of ", kBlock);
  }
  const std::ptrdiff_t count = rows * (depth / kBlock);
  if (blocks == nullptr ||
      bytes / block_bytes < static_cast<std::size_t>(count)) {
    return Invalid(bytes, " bytes of blocks, or null; ", rows, "x", depth,
                   " weights take ", count * block_bytes);
  }
  QuantizedGroups groups = MakeGroups(rows, depth, kBlock, bits);
  const std::uint8_t* block = static_cast<const std::uint8_t*>(blocks);
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    const std::ptrdiff_t row = i / (depth / kBlock);
    const std::ptrdiff_t first = i % (depth / kBlock) * kBlock;
    // The format is little-endian.
    groups.half_scales.push_back(Float16::FromBits(
        static_cast<std::uint16_t>(block[0] | block[1] << 8)));
    for (std::ptrdiff_t k = 0; k < kBlock; ++k) {
      const int level = bits == 8 ? block[2 + k]
                        : k < 16  ? block[2 + k] & 15
                                  : block[2 + k - 16] >> 4;
      SetLevel(row, first + k, level, &groups);
    }
    block += block_bytes;
  }
  return groups;
}

int NibbleOf(std::uint32_t word, std::ptrdiff_t index) {
  return static_cast<int>(word >> (4 * index) & 15);
}

// The one of row `row` in its word; 16 for what kV1 refuses.
int GptqZeroPoint(std::uint32_t word, std::ptrdiff_t row,
                  GptqZeroPoints zero_points) {
  switch (zero_points) {
    case GptqZeroPoints::kV2:
      return NibbleOf(word, row % 8);
    case GptqZeroPoints::kV1:
      return NibbleOf(word, row % 8) + 1;
    case GptqZeroPoints::kV1Modulo16:
      return (NibbleOf(word, row % 8) + 1) % 16;
    default:
      return NibbleOf(word + 0x11111111u, row % 8);
  }
}

}  // namespace

GroupWeights QuantizedGroups::description() const {
  GroupWeights weights;
  weights.rows = rows;
  weights.depth = depth;
  weights.bits = bits;
  weights.group_size = group_size;
  weights.levels = levels.data();
  if (half_scales.empty()) {
    weights.set_scales(float_scales.data());
  } else {
    weights.set_scales(half_scales.data());
  }
  if (!zero_points.empty()) weights.zero_points = zero_points.data();
  weights.zero_point = zero_point;
  return weights;
}

Result QuantizeGroups(const Matrix<float>& weights, int bits,
                      std::ptrdiff_t group_size, GroupScaleSearch search) {
  const ScopedFloatState float_state(FloatState::kDefault);
  return CatchNoMemory([&]() -> Result {
    RUY_LIKE_RETURN_IF_ERROR(qi::CheckOperand("weights", qi::Erase(weights)));
    RUY_LIKE_RETURN_IF_ERROR(
        qi::CheckEnum("search", search, GroupScaleSearch::kMse));
    const std::ptrdiff_t rows = weights.layout().rows();
    const std::ptrdiff_t depth = weights.layout().cols();
    RUY_LIKE_RETURN_IF_ERROR(
        CheckSizes(rows, depth, group_size, /*may_be_whole=*/true));
    if (bits != 4 && bits != 8) {
      return Invalid("bits = ", bits);
    }
    QuantizedGroups groups = MakeGroups(rows, depth, group_size, bits);
    const std::ptrdiff_t size = group_size == 0 ? depth : group_size;
    std::vector<float> group;
    for (std::ptrdiff_t row = 0; row < rows; ++row) {
      for (std::ptrdiff_t first = 0; first < depth; first += size) {
        group.clear();
        for (std::ptrdiff_t k = first; k < std::min(depth, first + size); ++k) {
          group.push_back(Element(weights, row, k));
          if (!std::isfinite(group.back())) {
            return Invalid("the weight at (", row, ", ", k, ") is ",
                           group.back());
          }
        }
        const float scale = ChooseScale(group, bits, search);
        groups.float_scales.push_back(scale);
        for (std::size_t i = 0; i < group.size(); ++i) {
          SetLevel(row, first + static_cast<std::ptrdiff_t>(i),
                   NearestLevel(group[i], scale, bits) + groups.zero_point,
                   &groups);
        }
      }
    }
    return groups;
  });
}

Result ImportGgmlQ4_0(const void* blocks, std::size_t bytes,
                      std::ptrdiff_t rows, std::ptrdiff_t depth) {
  return CatchNoMemory(
      [&] { return ImportGgml(blocks, bytes, rows, depth, 4); });
}
Result ImportGgmlQ8_0(const void* blocks, std::size_t bytes,
                      std::ptrdiff_t rows, std::ptrdiff_t depth) {
  return CatchNoMemory(
      [&] { return ImportGgml(blocks, bytes, rows, depth, 8); });
}

Result ImportMatMulNBits(const std::uint8_t* b, const float* scales,
                         const std::uint8_t* zero_points, std::ptrdiff_t rows,
                         std::ptrdiff_t depth, std::ptrdiff_t block_size) {
  return CatchNoMemory([&]() -> Result {
    RUY_LIKE_RETURN_IF_ERROR(
        CheckSizes(rows, depth, block_size, /*may_be_whole=*/false));
    if (b == nullptr || scales == nullptr) {
      return Invalid(b == nullptr ? "b is null" : "scales is null");
    }
    const std::ptrdiff_t blocks = CeilDiv(depth, block_size);
    QuantizedGroups groups = MakeGroups(rows, depth, block_size, 4);
    groups.float_scales.assign(scales, scales + rows * blocks);
    for (std::ptrdiff_t row = 0; row < rows; ++row) {
      const std::uint8_t* const from = b + row * blocks * (block_size / 2);
      for (std::ptrdiff_t k = 0; k < depth; ++k) {
        SetLevel(row, k, k % 2 == 0 ? from[k / 2] & 15 : from[k / 2] >> 4,
                 &groups);
      }
      if (zero_points == nullptr) continue;
      for (std::ptrdiff_t block = 0; block < blocks; ++block) {
        const std::uint8_t pair =
            zero_points[row * ((blocks + 1) / 2) + block / 2];
        groups.zero_points.push_back(block % 2 == 0 ? pair & 15 : pair >> 4);
      }
    }
    return groups;
  });
}

Result ImportGptq(const std::int32_t* qweight, const Float16* scales,
                  const std::int32_t* qzeros, GptqZeroPoints zero_points,
                  std::ptrdiff_t rows, std::ptrdiff_t depth,
                  std::ptrdiff_t group_size) {
  return CatchNoMemory([&]() -> Result {
    RUY_LIKE_RETURN_IF_ERROR(
        CheckSizes(rows, depth, group_size, /*may_be_whole=*/false));
    RUY_LIKE_RETURN_IF_ERROR(
        qi::CheckEnum("zero_points", zero_points, GptqZeroPoints::kV1Words));
    if (qweight == nullptr || scales == nullptr || qzeros == nullptr) {
      return Invalid("qweight, scales or qzeros is null");
    }
    if (rows % 8 != 0 || depth % 8 != 0 || depth % group_size != 0) {
      return Invalid(rows, " rows of depth ", depth, " in groups of ",
                     group_size, " are not whole words and groups");
    }
    QuantizedGroups groups = MakeGroups(rows, depth, group_size, 4);
    for (std::ptrdiff_t row = 0; row < rows; ++row) {
      for (std::ptrdiff_t k = 0; k < depth; ++k) {
        const auto word =
            static_cast<std::uint32_t>(qweight[k / 8 * rows + row]);
        SetLevel(row, k, NibbleOf(word, k % 8), &groups);
      }
      for (std::ptrdiff_t group = 0; group < depth / group_size; ++group) {
        groups.half_scales.push_back(scales[group * rows + row]);
        const int zero_point = GptqZeroPoint(
            static_cast<std::uint32_t>(qzeros[(group * rows + row) / 8]), row,
            zero_points);
        if (zero_point > 15) {
          return Invalid("the zero point of row ", row, ", group ", group,
                         " is stored as 15, which stands for 0 or 16; see "
                         "GptqZeroPoints");
        }
        groups.zero_points.push_back(static_cast<std::uint8_t>(zero_point));
      }
    }
    return groups;
  });
}

}  // namespace ruy_like
