// Tested in test/quantize/layers/quantize_groups_test.cc.
#include "ruy_like/quantize/quantize_groups.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "ruy_like/base/checked_math.h"
#include "ruy_like/base/float_state.h"
#include "ruy_like/base/no_memory.h"
#include "ruy_like/quantize/checks/checks.h"

namespace ruy_like {
namespace {

namespace qi = quantize_internal;

using Result = absl::StatusOr<QuantizedGroups>;

absl::Status CheckSizes(std::ptrdiff_t rows, std::ptrdiff_t depth,
                        std::ptrdiff_t group_size,
                        const char* name = "group_size") {
  std::ptrdiff_t elements;
  if (rows <= 0 || depth <= 0 || !CheckedMul(rows, depth, &elements) ||
      elements > std::numeric_limits<std::ptrdiff_t>::max() / 8) {
    return Invalid("weights of ", rows, "x", depth);
  }
  if (group_size < 16 || group_size % 16 != 0) {
    return Invalid(name, " = ", group_size, " is no positive multiple of 16");
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
  groups.levels.resize(
      static_cast<std::size_t>(rows * groups.description().RowBytes()));
  return groups;
}

// Codes of a row from a byte's first one on, `first`.
void SetCodes(const std::uint8_t* codes, std::ptrdiff_t count,
              std::ptrdiff_t row, std::ptrdiff_t first,
              QuantizedGroups* groups) {
  const int bits = groups->bits;
  const int of_byte = 8 / bits;
  std::uint8_t* byte = groups->levels.data() +
                       row * CeilDiv(groups->depth, of_byte) + first / of_byte;
  if (bits == 8) {
    std::copy_n(codes, count, byte);
    return;
  }
  for (std::ptrdiff_t e = 0; e < count; e += of_byte, ++byte) {
    int together = codes[e];
    for (int i = 1; i < of_byte && e + i < count; ++i) {
      together |= codes[e + i] << (i * bits);
    }
    *byte = static_cast<std::uint8_t>(together);
  }
}

// The code without its zero point.
int NearestCode(float weight, float scale, int bits) {
  if (scale == 0) return 0;
  const float low = bits == 4 ? -8 : -127;
  const float high = bits == 4 ? 7 : 127;
  // Rounded by an addition, which no call of a function is.
  constexpr float kWhole = 0x1.8p23f;
  return static_cast<int>(std::min(high, std::max(low, weight / scale)) +
                          kWhole - kWhole);
}

double SquaredError(const std::vector<float>& weights, float scale, int bits) {
  double sum = 0;
  for (const float weight : weights) {
    const double error =
        weight - static_cast<double>(NearestCode(weight, scale, bits)) * scale;
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
  // From the scale that makes the greatest magnitude code -8.3 to one that
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

// ## Other libraries' formats

// Codes of whole units of `unit` codes each, `count` or some more. A unit's
// bytes have one code each in their lowest bits, then the next ones above.
void ReadCodes(const std::uint8_t* bytes, std::ptrdiff_t count, int bits,
               int unit, std::uint8_t* codes) {
  if (bits == 8) {
    std::copy_n(bytes, count, codes);
    return;
  }
  const int unit_bytes = unit * bits / 8;
  const int mask = (1 << bits) - 1;
  for (const std::uint8_t* const end = codes + count; codes < end;
       bytes += unit_bytes) {
    for (int shift = 0; shift < 8; shift += bits, codes += unit_bytes) {
      for (int i = 0; i < unit_bytes; ++i) {
        codes[i] = static_cast<std::uint8_t>(bytes[i] >> shift & mask);
      }
    }
  }
}

// A row's codes and some more, whose units are bytes.
std::vector<std::uint8_t> CodesOf(const std::uint8_t* bytes,
                                  std::ptrdiff_t count, int bits) {
  std::vector<std::uint8_t> codes(static_cast<std::size_t>(count + 8));
  ReadCodes(bytes, count, bits, 8 / bits, codes.data());
  return codes;
}

enum class BlockScale { kF16, kE8M0, kE4M3 };

struct GgmlFormat {
  int block, bytes;  // elements and bytes of a block
  int group;         // elements of a scale
  int bits, unit;    // ReadCodes()'s
  // Bytes of a block; -1 for what it does not have. Fifth bits of codes are in
  // four bytes, from the lowest one on.
  int scale_at, codes_at, minimum_at, fifth_bits_at;
  BlockScale scale;
  const std::int8_t* table;  // or null
  int zero_point;            // if there is no minimum
};

constexpr std::int8_t kTernary[] = {-1, 0, 1, 2};
constexpr std::int8_t kIq4Nl[] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                  1,    13,   25,  38,  53,  69,  89,  113};
// Doubled: scales are halved.
constexpr std::int8_t kE2M1[] = {0, 1,  2,  3,  4,  6,  8,  12,
                                 0, -1, -2, -3, -4, -6, -8, -12};
constexpr BlockScale kF16 = BlockScale::kF16;

// By GgmlType.
constexpr GgmlFormat kGgmlFormats[] = {
    {32, 18, 32, 4, 32, 0, 2, -1, -1, kF16, nullptr, 8},
    {32, 20, 32, 4, 32, 0, 4, 2, -1, kF16, nullptr, 0},
    {32, 22, 32, 4, 32, 0, 6, -1, 2, kF16, nullptr, 16},
    {32, 24, 32, 4, 32, 0, 8, 2, 4, kF16, nullptr, 0},
    {32, 34, 32, 8, 1, 0, 2, -1, -1, kF16, nullptr, 0},
    {64, 18, 64, 2, 4, 0, 2, -1, -1, kF16, kTernary, 0},
    {256, 66, 256, 2, 128, 64, 0, -1, -1, kF16, kTernary, 0},
    {32, 18, 32, 4, 32, 0, 2, -1, -1, kF16, kIq4Nl, 0},
    {32, 17, 32, 4, 32, 0, 1, -1, -1, BlockScale::kE8M0, kE2M1, 0},
    {64, 36, 16, 4, 16, 0, 4, -1, -1, BlockScale::kE4M3, kE2M1, 0},
};

// Little-endian.
Float16 HalfAt(const std::uint8_t* bytes) {
  return Float16::FromBits(
      static_cast<std::uint16_t>(bytes[0] | bytes[1] << 8));
}

// Appends half of the scale. False for a NaN.
bool AppendE2M1Scale(BlockScale type, std::uint8_t byte,
                     QuantizedGroups* groups) {
  if (type == BlockScale::kE8M0) {
    // 2^(byte - 128), which begins as denormals.
    groups->bfloat_scales.push_back(BFloat16::FromBits(
        static_cast<std::uint16_t>(byte < 2 ? 0x20 << byte : (byte - 1) << 7)));
    return byte != 0xff;
  }
  const int exponent = byte >> 3;
  const int fraction = (byte & 7) + (exponent == 0 ? 0 : 8);
  groups->half_scales.push_back(static_cast<Float16>(
      std::ldexp(static_cast<float>(fraction), std::max(exponent, 1) - 11)));
  return byte < 0x7f;
}

// The weights that those of `groups` stand for, with zero points of float.
std::vector<float> WithFloatZeroPoints(const QuantizedGroups& groups,
                                       const std::vector<float>& zeros) {
  std::vector<float> weights;
  const std::ptrdiff_t row_bytes = groups.description().RowBytes();
  const std::ptrdiff_t count = CeilDiv(groups.depth, groups.group_size);
  for (std::ptrdiff_t row = 0; row < groups.rows; ++row) {
    const std::vector<std::uint8_t> codes = CodesOf(
        groups.levels.data() + row * row_bytes, groups.depth, groups.bits);
    for (std::ptrdiff_t k = 0; k < groups.depth; ++k) {
      const auto at =
          static_cast<std::size_t>(row * count + k / groups.group_size);
      weights.push_back(
          (static_cast<float>(codes[static_cast<std::size_t>(k)]) - zeros[at]) *
          groups.float_scales[at]);
    }
  }
  return weights;
}

// Gives codes of 0 to `greatest`, with float scales, zero points of any value.
// Codes become values `steps` apart, from `base` on.
Result SetZeroPoints(const std::vector<float>& zeros, int greatest,
                     QuantizedGroups groups) {
  const std::ptrdiff_t count = CeilDiv(groups.depth, groups.group_size);
  float least = 0, most = 0;
  for (std::size_t i = 0; i < zeros.size(); ++i) {
    if (!std::isfinite(zeros[i])) {
      const auto at = static_cast<std::ptrdiff_t>(i);
      return Invalid("the zero point, or minimum, of row ", at / count,
                     ", group ", at % count, " is ", zeros[i]);
    }
    least = std::min(least, zeros[i]);
    most = std::max(most, zeros[i]);
  }
  const auto is_exact = [&](int steps) {
    const auto scale = static_cast<float>(steps);
    return std::all_of(zeros.begin(), zeros.end(), [=](float zero) {
      return zero * scale == std::nearbyint(zero * scale);
    });
  };
  int most_steps = 1;
  while (2 * most_steps * greatest <= 255) most_steps *= 2;
  int steps = 1;
  while (steps < most_steps && !is_exact(steps)) steps *= 2;
  const auto base_for = [&] {
    return std::max(-128.0f,
                    -128 - std::nearbyint(least * static_cast<float>(steps)));
  };
  const auto fits = [&] {
    const auto scale = static_cast<float>(steps);
    return base_for() + std::max(scale * static_cast<float>(greatest),
                                 std::nearbyint(most * scale)) <=
           127;
  };
  if (steps == most_steps && steps > 1 && !fits()) steps /= 2;
  if (!fits()) {
    const std::vector<float> weights = WithFloatZeroPoints(groups, zeros);
    return QuantizeGroups(RowMajor(weights.data(), groups.rows, groups.depth),
                          8, groups.group_size);
  }
  // Without a table if 4 bits do.
  const bool is_plain =
      groups.bits == 4 && steps == 1 && least >= 0 && most <= 15;
  const int base = is_plain ? 0 : static_cast<int>(base_for());
  for (float& scale : groups.float_scales) scale /= static_cast<float>(steps);
  groups.zero_points.clear();
  for (const float zero : zeros) {
    groups.zero_points.push_back(static_cast<std::uint8_t>(
        static_cast<int>(std::nearbyint(zero * static_cast<float>(steps))) +
        base));
  }
  groups.table.clear();
  if (groups.bits == 8) {
    for (std::uint8_t& code : groups.levels) {
      code = static_cast<std::uint8_t>(code * steps + base);
    }
  } else if (!is_plain) {
    for (int code = 0; code <= greatest; ++code) {
      groups.table.push_back(static_cast<std::int8_t>(code * steps + base));
    }
  }
  return groups;
}

Result ImportBlocks(const GgmlFormat& format, const void* blocks,
                    std::size_t bytes, std::ptrdiff_t rows,
                    std::ptrdiff_t depth) {
  RUY_LIKE_RETURN_IF_ERROR(CheckSizes(rows, depth, format.group));
  if (depth % format.block != 0) {
    return Invalid("depth = ", depth, " is no multiple of ", format.block);
  }
  const std::ptrdiff_t row_blocks = depth / format.block;
  if (blocks == nullptr) return Invalid("blocks is null");
  if (bytes / static_cast<std::size_t>(format.bytes) <
      static_cast<std::size_t>(rows * row_blocks)) {
    return Invalid(bytes, " bytes of blocks; ", rows, "x", depth,
                   " weights take ", rows * row_blocks * format.bytes);
  }
  const bool has_fifth_bits = format.fifth_bits_at >= 0;
  const bool has_minima = format.minimum_at >= 0;
  QuantizedGroups groups =
      MakeGroups(rows, depth, format.group, has_fifth_bits ? 8 : format.bits);
  groups.zero_point = format.zero_point;
  if (format.table != nullptr) {
    groups.table.assign(format.table, format.table + (1 << format.bits));
  }
  std::vector<float> zeros;
  const std::uint8_t* block = static_cast<const std::uint8_t*>(blocks);
  for (std::ptrdiff_t i = 0; i < rows * row_blocks;
       ++i, block += format.bytes) {
    const std::ptrdiff_t row = i / row_blocks;
    const std::ptrdiff_t first = i % row_blocks * format.block;
    bool is_constant = false;
    if (has_minima) {
      const auto scale = static_cast<float>(HalfAt(block + format.scale_at));
      const auto minimum =
          static_cast<float>(HalfAt(block + format.minimum_at));
      is_constant = scale == 0;
      groups.float_scales.push_back(is_constant ? -minimum : scale);
      zeros.push_back(is_constant ? 1 : -minimum / scale);
    } else if (format.scale == BlockScale::kF16) {
      groups.half_scales.push_back(HalfAt(block + format.scale_at));
    } else {
      for (int group = 0; group < format.block / format.group; ++group) {
        if (AppendE2M1Scale(format.scale, block[format.scale_at + group],
                            &groups)) {
          continue;
        }
        return Invalid("the scale of row ", row, ", group ",
                       first / format.group + group, " is nan");
      }
    }
    if (is_constant) continue;
    std::uint8_t codes[256], fifth_bits[32];
    ReadCodes(block + format.codes_at, format.block, format.bits, format.unit,
              codes);
    if (has_fifth_bits) {
      ReadCodes(block + format.fifth_bits_at, 32, 1, 8, fifth_bits);
      for (int e = 0; e < 32; ++e) {
        codes[e] = static_cast<std::uint8_t>(codes[e] | fifth_bits[e] << 4);
      }
    }
    SetCodes(codes, format.block, row, first, &groups);
  }
  if (!has_minima) return groups;
  return SetZeroPoints(zeros, has_fifth_bits ? 31 : 15, std::move(groups));
}

Result ImportNBits(const MatMulNBits& arrays) {
  const auto [bits, rows, depth, block_size, b, scales, scale_type, zero_points,
              zero_point_type] = arrays;
  RUY_LIKE_RETURN_IF_ERROR(CheckSizes(rows, depth, block_size, "block_size"));
  // The last block of a row is stored whole.
  std::ptrdiff_t elements;
  if (!CheckedMul(rows * CeilDiv(depth, block_size), block_size, &elements) ||
      elements > std::numeric_limits<std::ptrdiff_t>::max() / 8) {
    return Invalid("block_size = ", block_size, " of weights of ", rows, "x",
                   depth);
  }
  if (bits != 2 && bits != 4 && bits != 8) {
    return Invalid("bits = ", bits, "; 2, 4 and 8 are possible");
  }
  if (b == nullptr || scales == nullptr) {
    return Invalid(b == nullptr ? "b is null" : "scales is null");
  }
  const auto is_float = [](Scalar type) {
    return type == Scalar::kF32 || type == Scalar::kF16;
  };
  if (!is_float(scale_type)) {
    return Invalid("scale_type is neither kF32 nor kF16");
  }
  const bool has_floats = zero_points != nullptr && is_float(zero_point_type);
  if (!is_float(zero_point_type) && zero_point_type != Scalar::kU8) {
    return Invalid("zero_point_type is neither kU8 nor kF32 nor kF16");
  }
  const std::ptrdiff_t blocks = CeilDiv(depth, block_size);
  const auto floats = [count = rows * blocks](const void* from, Scalar type) {
    if (type == Scalar::kF32) {
      const auto* const values = static_cast<const float*>(from);
      return std::vector<float>(values, values + count);
    }
    const auto* const values = static_cast<const Float16*>(from);
    return std::vector<float>(values, values + count);
  };
  QuantizedGroups groups = MakeGroups(rows, depth, block_size, bits);
  if (bits == 2) {
    groups.table = {0, 1, 2, 3};
    groups.zero_point = 2;
  }
  if (scale_type == Scalar::kF32 || has_floats) {
    groups.float_scales = floats(scales, scale_type);
  } else {
    const auto* const halves = static_cast<const Float16*>(scales);
    groups.half_scales.assign(halves, halves + rows * blocks);
  }
  // Codes of 8 bits become int8.
  const std::uint8_t flip = bits == 8 && !has_floats ? 0x80 : 0;
  const std::ptrdiff_t row_bytes = blocks * (block_size * bits / 8);
  const std::ptrdiff_t zero_bytes = (blocks * bits + 7) / 8;
  const auto row_codes = [code_bits = bits, flip](const std::uint8_t* bytes,
                                                  std::ptrdiff_t count) {
    std::vector<std::uint8_t> codes = CodesOf(bytes, count, code_bits);
    for (std::uint8_t& code : codes) code ^= flip;
    return codes;
  };
  for (std::ptrdiff_t row = 0; row < rows; ++row) {
    SetCodes(row_codes(b + row * row_bytes, depth).data(), depth, row, 0,
             &groups);
    if (zero_points == nullptr || has_floats) continue;
    const auto zeros = row_codes(
        static_cast<const std::uint8_t*>(zero_points) + row * zero_bytes,
        blocks);
    groups.zero_points.insert(groups.zero_points.end(), zeros.begin(),
                              zeros.begin() + blocks);
  }
  if (!has_floats) return groups;
  return SetZeroPoints(floats(zero_points, zero_point_type), (1 << bits) - 1,
                       std::move(groups));
}

int NibbleOf(std::int32_t word, std::ptrdiff_t index) {
  return static_cast<int>(static_cast<std::uint32_t>(word) >> (4 * index) & 15);
}

// The one of row `row` in its word; 16 for what kV1 refuses.
int GptqZeroPoint(std::int32_t word, std::ptrdiff_t row,
                  GptqZeroPoints zero_points) {
  const int stored = NibbleOf(word, row % 8);
  switch (zero_points) {
    case GptqZeroPoints::kV2:
      return stored;
    case GptqZeroPoints::kV1:
      return stored + 1;
    case GptqZeroPoints::kV1Modulo16:
      return (stored + 1) % 16;
    default:
      return NibbleOf(static_cast<std::int32_t>(
                          static_cast<std::uint32_t>(word) + 0x11111111u),
                      row % 8);
  }
}

// Elements of depth in the order of their groups; none if that is as they are.
absl::StatusOr<std::vector<std::int32_t>> OrderByGroup(
    const std::int32_t* g_idx, std::ptrdiff_t depth,
    std::ptrdiff_t group_size) {
  std::vector<std::int32_t> order;
  if (g_idx == nullptr) return order;
  if (depth > std::numeric_limits<std::int32_t>::max()) {
    return Invalid("g_idx of ", depth, " elements");
  }
  order.resize(static_cast<std::size_t>(depth));
  std::vector<std::ptrdiff_t> counts(
      static_cast<std::size_t>(depth / group_size));
  bool is_sorted = true;
  for (std::ptrdiff_t k = 0; k < depth; ++k) {
    const std::ptrdiff_t group = g_idx[k];
    if (group < 0 || group >= depth / group_size) {
      return Invalid("g_idx[", k, "] = ", group, " of ", depth / group_size,
                     " groups");
    }
    std::ptrdiff_t& members = counts[static_cast<std::size_t>(group)];
    if (members == group_size) {
      return Invalid("g_idx has more than ", group_size, " elements of group ",
                     group);
    }
    const std::ptrdiff_t at = group * group_size + members++;
    order[static_cast<std::size_t>(at)] = static_cast<std::int32_t>(k);
    is_sorted = is_sorted && at == k;
  }
  if (is_sorted) order.clear();
  return order;
}

// Words of eight nibbles: code(row, k), and zero_point(row, group), 16 for one
// that is refused.
template <class Code, class ZeroPoint>
Result ImportWords(const Float16* scales, std::ptrdiff_t rows,
                   std::ptrdiff_t depth, std::ptrdiff_t group_size,
                   const Code& code, const ZeroPoint& zero_point) {
  QuantizedGroups groups = MakeGroups(rows, depth, group_size, 4);
  std::vector<std::uint8_t> codes(static_cast<std::size_t>(depth));
  for (std::ptrdiff_t row = 0; row < rows; ++row) {
    for (std::ptrdiff_t k = 0; k < depth; ++k) {
      codes[static_cast<std::size_t>(k)] =
          static_cast<std::uint8_t>(code(row, k));
    }
    SetCodes(codes.data(), depth, row, 0, &groups);
    for (std::ptrdiff_t group = 0; group < depth / group_size; ++group) {
      groups.half_scales.push_back(scales[group * rows + row]);
      const int zero = zero_point(row, group);
      if (zero > 15) {
        return Invalid("the zero point of row ", row, ", group ", group,
                       " is stored as 15, which stands for 0 or 16; see "
                       "GptqZeroPoints");
      }
      groups.zero_points.push_back(static_cast<std::uint8_t>(zero));
    }
  }
  return groups;
}

absl::Status CheckWords(const void* qweight, const void* scales,
                        const void* qzeros, std::ptrdiff_t rows,
                        std::ptrdiff_t depth, std::ptrdiff_t group_size) {
  RUY_LIKE_RETURN_IF_ERROR(CheckSizes(rows, depth, group_size));
  if (qweight == nullptr || scales == nullptr || qzeros == nullptr) {
    return Invalid("qweight, scales or qzeros is null");
  }
  if (rows % 8 == 0 && depth % 8 == 0 && depth % group_size == 0) {
    return absl::OkStatus();
  }
  return Invalid(rows, " rows of depth ", depth, " in groups of ", group_size,
                 " are not whole words and groups");
}

}  // namespace

GroupWeights QuantizedGroups::description() const {
  GroupWeights weights;
  weights.rows = rows;
  weights.depth = depth;
  weights.bits = bits;
  weights.group_size = group_size;
  weights.levels = levels.data();
  if (!table.empty()) weights.table = table.data();
  if (!half_scales.empty()) {
    weights.set_scales(half_scales.data());
  } else if (!bfloat_scales.empty()) {
    weights.set_scales(bfloat_scales.data());
  } else {
    weights.set_scales(float_scales.data());
  }
  if (!zero_points.empty()) weights.zero_points = zero_points.data();
  weights.zero_point = zero_point;
  if (!depth_order.empty()) weights.depth_order = depth_order.data();
  return weights;
}

Result QuantizeGroups(const Matrix<float>& weights, int bits,
                      std::ptrdiff_t group_size, GroupScaleSearch search) {
  const ScopedFloatState float_state(FloatState::kDefault);
  return CatchNoMemory([&]() -> Result {
    RUY_LIKE_RETURN_IF_ERROR(qi::CheckOperand("weights", weights));
    RUY_LIKE_RETURN_IF_ERROR(
        CheckEnum("search", search, GroupScaleSearch::kMse));
    const std::ptrdiff_t rows = weights.layout().rows();
    const std::ptrdiff_t depth = weights.layout().cols();
    // 0: a row is one group.
    RUY_LIKE_RETURN_IF_ERROR(
        CheckSizes(rows, depth, group_size == 0 ? 16 : group_size));
    if (bits != 4 && bits != 8) {
      return Invalid("bits = ", bits, "; 4 and 8 are possible");
    }
    QuantizedGroups groups = MakeGroups(rows, depth, group_size, bits);
    const std::ptrdiff_t size = group_size == 0 ? depth : group_size;
    const std::ptrdiff_t step = weights.layout().order() == Order::kColMajor
                                    ? weights.layout().stride()
                                    : 1;
    std::vector<float> group;
    std::vector<std::uint8_t> codes;
    for (std::ptrdiff_t row = 0; row < rows; ++row) {
      for (std::ptrdiff_t first = 0; first < depth; first += size) {
        group.resize(static_cast<std::size_t>(std::min(depth - first, size)));
        const float* const from =
            weights.data() + ElementOffset(weights.layout(), row, first);
        bool is_finite = true;
        for (std::size_t i = 0; i < group.size(); ++i) {
          group[i] = from[static_cast<std::ptrdiff_t>(i) * step];
          is_finite &= std::fabs(group[i]) <= std::numeric_limits<float>::max();
        }
        if (!is_finite) {
          const auto at =
              std::find_if_not(group.begin(), group.end(),
                               [](float w) { return std::isfinite(w); });
          return Invalid("the weight at (", row, ", ",
                         first + (at - group.begin()), ") is ", *at);
        }
        const float scale = ChooseScale(group, bits, search);
        groups.float_scales.push_back(scale);
        codes.resize(group.size());
        for (std::size_t i = 0; i < group.size(); ++i) {
          codes[i] = static_cast<std::uint8_t>(
              NearestCode(group[i], scale, bits) + groups.zero_point);
        }
        SetCodes(codes.data(), static_cast<std::ptrdiff_t>(codes.size()), row,
                 first, &groups);
      }
    }
    return groups;
  });
}

Result ImportGgml(GgmlType type, const void* blocks, std::size_t bytes,
                  std::ptrdiff_t rows, std::ptrdiff_t depth) {
  const ScopedFloatState float_state(FloatState::kDefault);
  return CatchNoMemory([&]() -> Result {
    RUY_LIKE_RETURN_IF_ERROR(CheckEnum("type", type, GgmlType::kNVFP4));
    return ImportBlocks(kGgmlFormats[static_cast<int>(type)], blocks, bytes,
                        rows, depth);
  });
}

Result ImportMatMulNBits(const MatMulNBits& arrays) {
  const ScopedFloatState float_state(FloatState::kDefault);
  return CatchNoMemory([&] { return ImportNBits(arrays); });
}

Result ImportGptq(const std::int32_t* qweight, const Float16* scales,
                  const std::int32_t* qzeros, GptqZeroPoints zero_points,
                  std::ptrdiff_t rows, std::ptrdiff_t depth,
                  std::ptrdiff_t group_size, const std::int32_t* g_idx) {
  return CatchNoMemory([&]() -> Result {
    RUY_LIKE_RETURN_IF_ERROR(
        CheckWords(qweight, scales, qzeros, rows, depth, group_size));
    RUY_LIKE_RETURN_IF_ERROR(
        CheckEnum("zero_points", zero_points, GptqZeroPoints::kV1Words));
    auto order = OrderByGroup(g_idx, depth, group_size);
    if (!order.ok()) return order.status();
    Result groups = ImportWords(
        scales, rows, depth, group_size,
        [&](std::ptrdiff_t row, std::ptrdiff_t k) {
          if (!order->empty()) k = (*order)[static_cast<std::size_t>(k)];
          return NibbleOf(qweight[k / 8 * rows + row], k % 8);
        },
        [&](std::ptrdiff_t row, std::ptrdiff_t group) {
          return GptqZeroPoint(qzeros[(group * rows + row) / 8], row,
                               zero_points);
        });
    if (groups.ok()) groups->depth_order = *std::move(order);
    return groups;
  });
}

Result ImportAwq(const std::int32_t* qweight, const Float16* scales,
                 const std::int32_t* qzeros, std::ptrdiff_t rows,
                 std::ptrdiff_t depth, std::ptrdiff_t group_size) {
  return CatchNoMemory([&]() -> Result {
    RUY_LIKE_RETURN_IF_ERROR(
        CheckWords(qweight, scales, qzeros, rows, depth, group_size));
    // Where a word has each of its eight rows.
    constexpr int kPlaces[] = {0, 4, 1, 5, 2, 6, 3, 7};
    const auto nibble = [&](const std::int32_t* words, std::ptrdiff_t row,
                            std::ptrdiff_t i) {
      return NibbleOf(words[(i * rows + row) / 8], kPlaces[row % 8]);
    };
    return ImportWords(
        scales, rows, depth, group_size,
        [&](std::ptrdiff_t row, std::ptrdiff_t k) {
          return nibble(qweight, row, k);
        },
        [&](std::ptrdiff_t row, std::ptrdiff_t group) {
          return nibble(qzeros, row, group);
        });
  });
}

}  // namespace ruy_like
