// Weights with group scales, against values written down by hand.
#include "ruy_like/quantize/quantize_groups.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "ruy_like/context.h"
#include "ruy_like/group_weights.h"
#include "ruy_like/matrix.h"
#include "ruy_like/reference_group_mul.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

// The values that the codes stand for.
std::vector<float> Values(const QuantizedGroups& groups) {
  const GroupWeights weights = groups.description();
  const std::ptrdiff_t size =
      groups.group_size == 0 ? groups.depth : groups.group_size;
  const std::ptrdiff_t count = (groups.depth + size - 1) / size;
  std::vector<float> values;
  for (std::ptrdiff_t row = 0; row < groups.rows; ++row) {
    for (std::ptrdiff_t k = 0; k < groups.depth; ++k) {
      const std::ptrdiff_t at = row * count + k / size;
      values.push_back(static_cast<float>(QuantizedValue(weights, row, k) -
                                          GroupZeroPoint(weights, at)) *
                       GroupScale(weights, at));
    }
  }
  return values;
}

TEST(QuantizeGroupsTest, RoundsToNearest) {
  // Two groups; the second is short, with scale 2 and 0.25.
  std::vector<float> weights(19, 0.0f);
  weights[0] = 14;
  weights[1] = -14;
  weights[2] = 2.9f;
  weights[3] = -3.1f;
  weights[16] = 1.75f;
  weights[17] = 0.3f;
  weights[18] = -0.6f;
  ASSERT_VALUE(const auto groups,
               QuantizeGroups(RowMajorOf(weights, 1, 19), 4, 16));
  EXPECT_THAT(groups.float_scales, ElementsAre(2, 0.25f));
  EXPECT_THAT(groups.levels, ElementsAre(0x1f, 0x69, 0x88, 0x88, 0x88, 0x88,
                                         0x88, 0x88, 0x9f, 0x06));
  const std::vector<float> values = Values(groups);
  EXPECT_EQ(values[0], 14);
  EXPECT_EQ(values[1], -14);
  EXPECT_EQ(values[2], 2);
  EXPECT_EQ(values[3], -4);
  EXPECT_EQ(values[17], 0.25f);
  EXPECT_EQ(values[18], -0.5f);
}

TEST(QuantizeGroupsTest, EightBits) {
  const std::vector<float> weights = {-127, 63.4f, 0.6f};
  ASSERT_VALUE(const auto groups,
               QuantizeGroups(ColMajorOf(weights, 1, 3), 8, 0));
  EXPECT_THAT(groups.float_scales, ElementsAre(1));
  EXPECT_THAT(Values(groups), ElementsAre(-127, 63, 1));
}

TEST(QuantizeGroupsTest, ZerosHaveScaleZero) {
  const std::vector<float> weights(16, 0.0f);
  ASSERT_VALUE(const auto groups,
               QuantizeGroups(RowMajorOf(weights, 1, 16), 4, 16));
  EXPECT_THAT(groups.float_scales, ElementsAre(0));
}

TEST(QuantizeGroupsTest, TheSearchErrsLess) {
  Rng rng(1);
  std::vector<float> weights(8 * 64);
  for (float& weight : weights) {
    weight = static_cast<float>(rng.Signed() * rng.Signed() * rng.Signed());
  }
  double error[2];
  for (const auto search : {GroupScaleSearch::kNone, GroupScaleSearch::kMse}) {
    ASSERT_VALUE(const auto groups,
                 QuantizeGroups(RowMajorOf(weights, 8, 64), 4, 32, search));
    const std::vector<float> values = Values(groups);
    double sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      sum += (values[i] - weights[i]) * (values[i] - weights[i]);
    }
    error[search == GroupScaleSearch::kMse] = sum;
  }
  EXPECT_LT(error[1], 0.95 * error[0]);
}

TEST(QuantizeGroupsTest, BadInput) {
  std::vector<float> weights(32, 1.0f);
  const auto works = [](const float* data, int bits, std::ptrdiff_t group) {
    return QuantizeGroups(RowMajorOf(data, 1, 32), bits, group).ok();
  };
  EXPECT_TRUE(works(weights.data(), 4, 16));
  EXPECT_FALSE(works(weights.data(), 5, 16));
  EXPECT_FALSE(works(weights.data(), 4, 17));
  EXPECT_FALSE(works(weights.data(), 4, -16));
  EXPECT_FALSE(works(nullptr, 4, 16));
  weights[7] = kInf;
  EXPECT_FALSE(works(weights.data(), 4, 16));
}

TEST(ImportTest, GgmlQ4_0) {
  std::vector<std::uint8_t> block(18);
  block[0] = 0x00;  // 0.5 as a float16
  block[1] = 0x38;
  for (int i = 0; i < 16; ++i) {
    block[2 + i] = static_cast<std::uint8_t>((15 - i) << 4 | i);
  }
  ASSERT_VALUE(const auto groups,
               ImportGgml(GgmlType::kQ4_0, block.data(), block.size(), 1, 32));
  const std::vector<float> values = Values(groups);
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(values[i], 0.5f * static_cast<float>(i - 8));
    EXPECT_EQ(values[16 + i], 0.5f * static_cast<float>(7 - i));
  }
  EXPECT_FALSE(ImportGgml(GgmlType::kQ4_0, block.data(), 17, 1, 32).ok());
  EXPECT_FALSE(ImportGgml(GgmlType::kQ4_0, block.data(), 18, 1, 31).ok());
  EXPECT_FALSE(ImportGgml(GgmlType::kQ4_0, nullptr, 18, 1, 32).ok());
}

TEST(ImportTest, GgmlQ8_0) {
  std::vector<std::uint8_t> blocks(2 * 34);
  for (int block = 0; block < 2; ++block) {
    blocks[34 * block + 1] = block == 0 ? 0x3c : 0x40;  // 1 and 2
    for (int i = 0; i < 32; ++i) {
      blocks[34 * block + 2 + i] = static_cast<std::uint8_t>(i - 16);
    }
  }
  ASSERT_VALUE(const auto groups, ImportGgml(GgmlType::kQ8_0, blocks.data(),
                                             blocks.size(), 2, 32));
  const std::vector<float> values = Values(groups);
  for (int i = 0; i < 32; ++i) {
    EXPECT_EQ(values[i], static_cast<float>(i - 16));
    EXPECT_EQ(values[32 + i], static_cast<float>(2 * (i - 16)));
  }
}

TEST(ImportTest, MatMulNBits) {
  // Depth 20 in blocks of 16: the second block's last 12 are padding.
  std::vector<std::uint8_t> b(16, 0xff);
  b[0] = 0x21;
  b[8] = 0x43;
  b[9] = 0x65;
  const float scales[] = {1, 10};
  const std::uint8_t zero_points[] = {0x51};  // 1 and 5
  MatMulNBits arrays;
  arrays.rows = 1;
  arrays.depth = 20;
  arrays.block_size = 16;
  arrays.b = b.data();
  arrays.scales = scales;
  arrays.zero_points = zero_points;
  ASSERT_VALUE(const auto groups, ImportMatMulNBits(arrays));
  std::vector<float> expected(20, 14);
  expected[0] = 0;
  expected[1] = 1;
  expected[16] = -20;
  expected[17] = -10;
  expected[18] = 0;
  expected[19] = 10;
  EXPECT_EQ(Values(groups), expected);
  // The same zero points as floats, and ones between codes, by which levels are
  // two steps apart; one far from 0 takes 8 bits.
  const Float16 half_zeros[] = {static_cast<Float16>(1.0f),
                                static_cast<Float16>(5.0f)};
  arrays.zero_points = half_zeros;
  arrays.zero_point_type = Scalar::kF16;
  ASSERT_VALUE(const auto by_halves, ImportMatMulNBits(arrays));
  EXPECT_EQ(Values(by_halves), expected);
  EXPECT_TRUE(by_halves.table.empty());
  float float_zeros[] = {1.5f, 0.5f};
  arrays.zero_points = float_zeros;
  arrays.zero_point_type = Scalar::kF32;
  ASSERT_VALUE(const auto by_floats, ImportMatMulNBits(arrays));
  EXPECT_EQ(Values(by_floats)[1], 0.5f);
  EXPECT_EQ(Values(by_floats)[16], 25);
  EXPECT_EQ(by_floats.bits, 4);
  float_zeros[1] = 0.3f;  // 5 / 16 at the nearest
  ASSERT_VALUE(const auto near, ImportMatMulNBits(arrays));
  EXPECT_EQ(Values(near)[0], -0.5f);
  EXPECT_EQ(Values(near)[16], 30 - 3.125f);
  float_zeros[1] = -70.2f;
  ASSERT_VALUE(const auto far, ImportMatMulNBits(arrays));
  EXPECT_EQ(far.bits, 8);
  EXPECT_NEAR(Values(far)[16], 732, 762.0f / 254);
  float_zeros[0] = kNan;
  ExpectStatus(ImportMatMulNBits(arrays).status(), kInvalid,
               {"row 0, group 0", "nan"});

  arrays.zero_points = nullptr;
  arrays.zero_point_type = Scalar::kU8;
  ASSERT_VALUE(const auto symmetric, ImportMatMulNBits(arrays));
  EXPECT_EQ(Values(symmetric)[0], -7);
  const auto expect_refused = [&](auto MatMulNBits::*field, auto value,
                                  const char* words) {
    MatMulNBits bad = arrays;
    bad.*field = value;
    ExpectStatus(ImportMatMulNBits(bad).status(), kInvalid, {words});
  };
  expect_refused(&MatMulNBits::b, nullptr, "b is null");
  expect_refused(&MatMulNBits::scales, nullptr, "scales is null");
  expect_refused(&MatMulNBits::block_size, 8, "block_size = 8");
  expect_refused(&MatMulNBits::block_size, 0, "block_size = 0 is no positive");
  // Larger than depth is fine, but bytes that cannot be counted are not: their
  // count modulo 2^64 would be a few bytes in front of b.
  MatMulNBits large = arrays;
  large.rows = 4;
  large.block_size = std::numeric_limits<std::ptrdiff_t>::max() / 16 * 16;
  ExpectStatus(ImportMatMulNBits(large).status(), kInvalid, {"block_size"});
  expect_refused(&MatMulNBits::rows, 0, "0x20");
  expect_refused(&MatMulNBits::bits, 3, "bits = 3");
  expect_refused(&MatMulNBits::scale_type, Scalar::kBF16, "scale_type");
  expect_refused(&MatMulNBits::zero_point_type, Scalar::kI8, "zero_point_type");
  // The type of zero points that are not there may be any of the three.
  arrays.zero_point_type = Scalar::kF32;
  EXPECT_OK(ImportMatMulNBits(arrays).status());
}

TEST(ImportTest, MatMulNBitsOfTwoAndEight) {
  // Depth 16 in one block; scales of float16.
  const std::uint8_t two[] = {0b11'10'01'00, 0xff, 0xff, 0xff};
  std::vector<std::uint8_t> eight(16, 128);
  eight[0] = 0;
  eight[1] = 255;
  const Float16 scale = static_cast<Float16>(0.5f);
  std::uint8_t zero_point = 0xf1;  // of 2 bits 1
  MatMulNBits arrays;
  arrays.bits = 2;
  arrays.rows = 1;
  arrays.depth = arrays.block_size = 16;
  arrays.b = two;
  arrays.scales = &scale;
  arrays.scale_type = Scalar::kF16;
  ASSERT_VALUE(const auto of_two, ImportMatMulNBits(arrays));
  EXPECT_EQ(Values(of_two)[0], -1);
  EXPECT_EQ(Values(of_two)[3], 0.5f);
  arrays.zero_points = &zero_point;
  ASSERT_VALUE(const auto zero_of_two, ImportMatMulNBits(arrays));
  EXPECT_EQ(Values(zero_of_two)[0], -0.5f);
  EXPECT_EQ(Values(zero_of_two)[3], 1);
  arrays.bits = 8;
  arrays.b = eight.data();
  ASSERT_VALUE(const auto zero_of_eight, ImportMatMulNBits(arrays));
  EXPECT_EQ(Values(zero_of_eight)[0], -0.5f * 241);
  EXPECT_EQ(Values(zero_of_eight)[1], 7);
  arrays.zero_points = nullptr;
  ASSERT_VALUE(const auto of_eight, ImportMatMulNBits(arrays));
  EXPECT_EQ(Values(of_eight)[0], -64);
  EXPECT_EQ(Values(of_eight)[1], 63.5f);
  EXPECT_EQ(Values(of_eight)[2], 0);
}

TEST(ImportTest, Gptq) {
  // Eight rows of depth 16, one group; word [i][row] has levels 8i to 8i + 7.
  std::vector<std::int32_t> qweight(16, 0x44444444);
  qweight[3] = 0x76543210;
  qweight[8 + 3] = static_cast<std::int32_t>(0xfedcba98);
  std::vector<Float16> scales(8, static_cast<Float16>(1.0f));
  scales[3] = static_cast<Float16>(0.5f);
  const std::int32_t qzeros[] = {0x33337333};  // 4, but 8 for row 3
  const auto import = [&](std::int32_t zeros, GptqZeroPoints zero_points,
                          std::ptrdiff_t rows = 8) {
    return ImportGptq(qweight.data(), scales.data(), &zeros, zero_points, rows,
                      16, 16);
  };
  ASSERT_VALUE(const auto groups, import(qzeros[0], GptqZeroPoints::kV1));
  const std::vector<float> values = Values(groups);
  for (int row = 0; row < 8; ++row) {
    for (int k = 0; k < 16; ++k) {
      EXPECT_EQ(values[16 * row + k],
                row == 3 ? 0.5f * static_cast<float>(k - 8) : 0)
          << row << " " << k;
    }
  }
  EXPECT_FALSE(import(qzeros[0], GptqZeroPoints::kV1, 7).ok());
  EXPECT_FALSE(ImportGptq(qweight.data(), scales.data(), nullptr,
                          GptqZeroPoints::kV1, 8, 16, 16)
                   .ok());

  // The same zero points as other writers store them.
  ASSERT_VALUE(const auto v2, import(0x44448444, GptqZeroPoints::kV2));
  EXPECT_EQ(v2.zero_points, groups.zero_points);
  for (const auto v1 :
       {GptqZeroPoints::kV1Modulo16, GptqZeroPoints::kV1Words}) {
    ASSERT_VALUE(const auto same, import(qzeros[0], v1));
    EXPECT_EQ(same.zero_points, groups.zero_points);
  }
  // 8, 0, 0, 8, 15, 1, 8, 0: less 1 each, and as a word that borrows.
  const std::vector<std::uint8_t> asymmetric = {8, 0, 0, 8, 15, 1, 8, 0};
  constexpr std::uint32_t kStored = 0x081f8008, kEach = 0xf70e7ff7;
  const auto signed_of = [](std::uint32_t word) {
    return static_cast<std::int32_t>(word);
  };
  const struct {
    std::uint32_t word;
    GptqZeroPoints zero_points;
  } kWriters[] = {{kStored, GptqZeroPoints::kV2},
                  {kEach, GptqZeroPoints::kV1Modulo16},
                  {kStored - 0x11111111u, GptqZeroPoints::kV1Words}};
  for (const auto& writer : kWriters) {
    ASSERT_VALUE(const auto read,
                 import(signed_of(writer.word), writer.zero_points));
    EXPECT_EQ(read.zero_points, asymmetric);
  }
  ExpectStatus(import(signed_of(kEach), GptqZeroPoints::kV1).status(), kInvalid,
               {"row 1, group 0", "15"});
}

// Groups 1 0 1 0 ... of depth 32: even elements are the second group.
TEST(ImportTest, GptqActOrder) {
  std::vector<std::int32_t> qweight(4 * 8);
  for (int i = 0; i < 4; ++i) {
    for (int row = 0; row < 8; ++row) {
      qweight[8 * i + row] = 0x11111111 * (4 * i % 16 + (row == 2 ? 1 : 0));
    }
  }
  std::vector<Float16> scales(16, static_cast<Float16>(1.0f));
  for (int row = 0; row < 8; ++row) {
    scales[8 + row] = static_cast<Float16>(2.0f);
  }
  const std::int32_t qzeros[] = {0, 0};
  std::vector<std::int32_t> g_idx(32);
  for (int k = 0; k < 32; ++k) g_idx[k] = 1 - k % 2;
  const auto import = [&] {
    return ImportGptq(qweight.data(), scales.data(), qzeros,
                      GptqZeroPoints::kV2, 8, 32, 16, g_idx.data());
  };
  ASSERT_VALUE(const auto groups, import());
  const std::vector<float> values = Values(groups);
  for (int k = 0; k < 32; ++k) {
    const std::ptrdiff_t from = groups.depth_order[k];
    EXPECT_EQ(from, k < 16 ? 2 * k + 1 : 2 * (k - 16));
    EXPECT_EQ(values[2 * 32 + k],
              static_cast<float>(((from / 8 * 4) % 16 + 1) * (k < 16 ? 1 : 2)));
  }
  // Products gather: the activations are in the file's order.
  Context context;
  ASSERT_VALUE(const auto packed,
               PackGroupWeights(groups.description(), &context));
  std::vector<std::int8_t> x(32);
  for (int k = 0; k < 32; ++k) x[k] = static_cast<std::int8_t>(k * k % 19);
  std::vector<float> result(8);
  Matrix<float> dst = MakeMatrix(result.data(), 8, 1, Order::kColMajor);
  const Matrix<std::int8_t> rhs = MakeMatrix(x.data(), 32, 1, Order::kColMajor);
  ASSERT_OK(Mul(packed, rhs, GroupMulParams(), &context, &dst));
  float expected = 0;
  for (int k = 0; k < 32; ++k) {
    expected += static_cast<float>(x[k] * ((k / 8 * 4) % 16 + 1) *
                                   (g_idx[k] == 0 ? 1 : 2));
  }
  EXPECT_EQ(result[2], expected);
  g_idx[5] = 1;
  ExpectStatus(import().status(), kInvalid, {"16 elements of group 1"});
  g_idx[5] = 2;
  ExpectStatus(import().status(), kInvalid, {"g_idx[5] = 2 of 2 groups"});
  for (int k = 0; k < 32; ++k) g_idx[k] = k / 16;
  EXPECT_TRUE(import()->depth_order.empty());
}

TEST(ImportTest, Awq) {
  // Row r has code r + 1 at depth 3, else 0, and zero point r.
  std::vector<std::int32_t> qweight(16);
  qweight[3] = static_cast<std::int32_t>(0x86427531);
  const std::int32_t qzeros[] = {0x75316420};
  const std::vector<Float16> scales(8, static_cast<Float16>(2.0f));
  ASSERT_VALUE(const auto groups,
               ImportAwq(qweight.data(), scales.data(), qzeros, 8, 16, 16));
  const std::vector<float> values = Values(groups);
  for (int row = 0; row < 8; ++row) {
    EXPECT_EQ(values[16 * row + 3], 2) << row;
    EXPECT_EQ(values[16 * row + 4], static_cast<float>(-2 * row)) << row;
  }
  EXPECT_FALSE(ImportAwq(nullptr, scales.data(), qzeros, 8, 16, 16).ok());
  EXPECT_FALSE(
      ImportAwq(qweight.data(), scales.data(), qzeros, 7, 16, 16).ok());
}

// Minima, fifth bits, E8M0 and E4M3.
TEST(ImportTest, GgmlBlocksByHand) {
  const auto first = [](GgmlType type, std::vector<std::uint8_t> block,
                        std::size_t bytes, int k = 0) {
    block.resize(bytes);
    const bool is_long = type == GgmlType::kNVFP4 || type == GgmlType::kQ2_0;
    const auto groups =
        ImportGgml(type, block.data(), bytes, 1, is_long ? 64 : 32);
    return groups.ok() ? Values(*groups)[k] : kNan;
  };
  // 3 * 1 - 8, 31 * 1 - 16 and 19 * 0.5 - 8 by float16 1, 0.5 and -8.
  EXPECT_EQ(first(GgmlType::kQ4_1, {0, 0x3c, 0, 0xc8, 3}, 20), -5);
  EXPECT_EQ(first(GgmlType::kQ5_0, {0, 0x3c, 1, 0, 0, 0, 15}, 22), 15);
  EXPECT_EQ(first(GgmlType::kQ5_1, {0, 0x38, 0, 0xc8, 1, 0, 0, 0, 3}, 24),
            1.5f);
  // Constant blocks: -8.
  EXPECT_EQ(first(GgmlType::kQ4_1, {0, 0, 0, 0xc8, 3}, 20, 5), -8);
  EXPECT_EQ(first(GgmlType::kQ2_0, {0, 0x3c, 0b11'00'00'00}, 18, 3), 2);
  EXPECT_EQ(first(GgmlType::kIQ4_NL, {0, 0x3c, 0x0f}, 18), 113);
  EXPECT_EQ(first(GgmlType::kIQ4_NL, {0, 0x3c, 0x0f}, 18, 16), -127);
  EXPECT_EQ(first(GgmlType::kMXFP4, {128, 0xf7}, 17), 12);
  EXPECT_EQ(first(GgmlType::kMXFP4, {128, 0xf7}, 17, 16), -12);
  EXPECT_EQ(first(GgmlType::kMXFP4, {0, 2}, 17), 0x1p-127f);
  EXPECT_EQ(first(GgmlType::kNVFP4, {56, 57, 1, 126, 0xa3}, 36), 1.5f);
  EXPECT_EQ(first(GgmlType::kNVFP4, {56, 57, 1, 126, 0xa3}, 36, 8), -1);
  std::vector<std::uint8_t> block(36);
  block[0] = 0xff;
  ExpectStatus(ImportGgml(GgmlType::kMXFP4, block.data(), 17, 1, 32).status(),
               kInvalid, {"row 0, group 0 is nan"});
  block[0] = 0;
  block[2] = 0x7f;
  ExpectStatus(ImportGgml(GgmlType::kNVFP4, block.data(), 36, 1, 64).status(),
               kInvalid, {"row 0, group 2 is nan"});
  ExpectStatus(
      ImportGgml(static_cast<GgmlType>(77), block.data(), 36, 1, 64).status(),
      kInvalid, {"type"});
}

// Packed and multiplied as they are.
TEST(ImportTest, Multiplies) {
  Rng rng(2);
  std::vector<float> weights(10 * 40);
  for (float& weight : weights) weight = static_cast<float>(rng.Signed());
  ASSERT_VALUE(const auto groups,
               QuantizeGroups(RowMajorOf(weights, 10, 40), 4, 16));
  Context context;
  ASSERT_VALUE(const auto packed,
               PackGroupWeights(groups.description(), &context));
  std::vector<float> column(40, 1.0f), result(10);
  Matrix<float> dst = ColMajorOf(result, 10, 1);
  ASSERT_OK(
      Mul(packed, ColMajorOf(column, 40, 1), GroupMulParams(), &context, &dst));
  const std::vector<float> values = Values(groups);
  for (int row = 0; row < 10; ++row) {
    double sum = 0;
    for (int k = 0; k < 40; ++k) sum += values[40 * row + k];
    EXPECT_NEAR(result[row], sum, 1e-5);
  }
}

}  // namespace
}  // namespace ruy_like
