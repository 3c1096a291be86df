// Weights that others wrote: blocks of ggml and of ONNX Runtime, which give the
// scale of a 4-bit block the sign that makes the value of greatest magnitude
// level -8. Imported, packed and multiplied on every path.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "ruy_like/quantize/quantize_groups.h"
#include "ruy_like/reference_group_mul.h"
#include "test/quantize/lcg.h"
#include "test/support/product.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

class ForeignWeightsTest : public PathTest {};
RUY_LIKE_INSTANTIATE_PER_PATH(ForeignWeightsTest);

// Four rows of 64, made of GaussVector(4 * 64, 7) by
//   ggml_quantize_chunk(GGML_TYPE_Q4_0, floats, blocks, 0, 4, 64, nullptr)
// of ggml 0.25.1 (npm: @node-llama-cpp/linux-x64 3.22.1, libggml-base.so).
constexpr std::uint8_t kQ40[] = {
    0x05, 0xb4, 0xa6, 0x76, 0xbc, 0x37, 0x4c, 0x84, 0xa6, 0x78, 0xc9, 0x54,
    0x80, 0xcd, 0x7b, 0xbb, 0x96, 0x7a, 0x2e, 0xb5, 0x3a, 0xfa, 0x7a, 0x8e,
    0xaa, 0xe0, 0xc9, 0xb4, 0x95, 0x7e, 0x77, 0x88, 0xc8, 0x98, 0x68, 0xca,
    0xb4, 0x34, 0xcd, 0x9e, 0x5e, 0x5a, 0xd3, 0x36, 0x97, 0x6a, 0x35, 0x97,
    0x07, 0x62, 0xa3, 0x96, 0x37, 0x46, 0xc4, 0xb5, 0xd7, 0x67, 0x75, 0xb5,
    0x85, 0x69, 0xca, 0x8c, 0xb7, 0x7b, 0x8a, 0x96, 0xb6, 0x6b, 0xb0, 0x96,
    0x4e, 0x34, 0x49, 0x5c, 0x44, 0x5b, 0xe7, 0x70, 0x39, 0x7c, 0xb8, 0xf8,
    0xa9, 0x49, 0x9b, 0x73, 0xb3, 0x6a, 0x5e, 0x34, 0xe8, 0x34, 0xa4, 0x6a,
    0xfa, 0xbb, 0x48, 0x46, 0xbb, 0x48, 0xbc, 0x90, 0x2b, 0x54, 0x5a, 0x37,
    0xd9, 0xb4, 0x97, 0x69, 0x4b, 0xcb, 0x98, 0x82, 0xaa, 0x69, 0x39, 0xa0,
    0xc6, 0x7b, 0xb0, 0xcc, 0x2b, 0xab, 0xcc, 0xb4, 0x98, 0xcb, 0x1c, 0x7b,
    0x55, 0x50, 0x6a, 0x67, 0x1d, 0xa7, 0x6a, 0x63, 0x57, 0x59, 0x77, 0xaa};

// The first two of those rows, as GGML_TYPE_Q8_0.
constexpr std::uint8_t kQ80[] = {
    0x0d, 0x24, 0x24, 0x25, 0xc6, 0x10, 0xc6, 0x3f, 0x1e, 0x00, 0xf5, 0x3e,
    0x7f, 0xaa, 0xd3, 0xcf, 0x1f, 0xd9, 0xe2, 0x18, 0xcc, 0x53, 0x3d, 0xfa,
    0xe3, 0x0c, 0xc6, 0x30, 0x03, 0xc8, 0x0c, 0xcd, 0xf4, 0x18, 0x39, 0x25,
    0xd9, 0xe6, 0xe4, 0xa6, 0xe0, 0x7f, 0xf3, 0x3e, 0x2d, 0xa4, 0x16, 0xfc,
    0x04, 0xf9, 0x03, 0xe6, 0x4c, 0x8d, 0x18, 0x08, 0xe3, 0xa3, 0xc8, 0xca,
    0xf5, 0x10, 0x0e, 0xfe, 0xbd, 0xf2, 0x1a, 0xc5, 0xbd, 0x24, 0x54, 0x5c,
    0x66, 0x27, 0xa9, 0xe2, 0xf4, 0x27, 0xd2, 0xee, 0xed, 0x9c, 0xb4, 0xdb,
    0xeb, 0xe6, 0x3e, 0x16, 0xd7, 0xd8, 0x51, 0xb8, 0x13, 0xdf, 0xad, 0x17,
    0x81, 0xdf, 0x24, 0x0a, 0xb5, 0xc0, 0xd0, 0x25, 0x0e, 0x17, 0x33, 0x33,
    0x2a, 0xf7, 0xe4, 0xc1, 0x0a, 0xce, 0xe4, 0x19, 0x19, 0xcc, 0x7f, 0x23,
    0xa9, 0x25, 0x08, 0xcd, 0xff, 0x25, 0xc7, 0xfc, 0xcf, 0x0b, 0xfa, 0xee,
    0xd4, 0x22, 0xc9, 0xf0};

// A row of 64, of TQ2_0 of 256, made of GaussVector(64, 9) in the same way.
constexpr std::uint8_t kQ41[] = {
    0xac, 0x32, 0x3f, 0xc0, 0x96, 0x98, 0xfa, 0xa9, 0xbd, 0x9e,
    0xb9, 0xe6, 0x36, 0x9b, 0x67, 0xc7, 0x70, 0xa8, 0x7d, 0xd0,
    0xcb, 0x33, 0x1f, 0xbf, 0xf7, 0x8d, 0x24, 0xbd, 0x98, 0xa9,
    0xb6, 0x37, 0x8c, 0xf0, 0x98, 0x4a, 0xa7, 0x49, 0x49, 0xb5};
constexpr std::uint8_t kQ50[] = {
    0x3f, 0x30, 0x34, 0x42, 0xdc, 0xa8, 0xe9, 0xed, 0x80, 0x0d, 0x14,
    0xd6, 0x2e, 0x7a, 0x49, 0xe2, 0x9b, 0x2c, 0xa0, 0x0d, 0xb5, 0x41,
    0x7e, 0xaf, 0xc5, 0x92, 0x84, 0x68, 0x00, 0xf4, 0xb6, 0x85, 0xce,
    0xad, 0x83, 0xa0, 0xe5, 0x0f, 0xcf, 0x6a, 0xb1, 0x6c, 0x7d, 0x94};
constexpr std::uint8_t kQ51[] = {
    0x75, 0x2e, 0x3f, 0xc0, 0x7e, 0x62, 0xff, 0xaa, 0x3c, 0x20, 0xf6, 0x52,
    0x6a, 0x2e, 0x72, 0xed, 0x5c, 0x27, 0xce, 0x8f, 0xe0, 0x51, 0xfb, 0xa1,
    0x8b, 0x2f, 0x1f, 0xbf, 0x3a, 0x6d, 0x7b, 0x97, 0xff, 0x0b, 0x59, 0x7a,
    0x41, 0x52, 0x7c, 0x5f, 0x1a, 0xf0, 0x30, 0x95, 0x4e, 0x93, 0x82, 0x6b};
constexpr std::uint8_t kIQ4NL[] = {
    0x26, 0x24, 0x74, 0x65, 0xd8, 0x86, 0x8b, 0x6c, 0x96, 0xc4, 0x13, 0x69,
    0x44, 0x95, 0x40, 0x86, 0x5b, 0xa0, 0x9c, 0xa3, 0x08, 0x71, 0xec, 0x32,
    0x56, 0x46, 0x3a, 0xd8, 0x62, 0x0f, 0x57, 0xc4, 0x59, 0xc5, 0xc6, 0x4b};
constexpr std::uint8_t kMXFP4[] = {
    0x7e, 0x9b, 0x9a, 0x40, 0x09, 0x02, 0x93, 0x19, 0x4b, 0xdc, 0x91, 0xcb,
    0x1a, 0xbe, 0x09, 0xb2, 0x2e, 0x7d, 0x70, 0x17, 0xed, 0x67, 0x42, 0x53,
    0x6b, 0xe0, 0x26, 0x7f, 0x41, 0xd5, 0x49, 0xd4, 0xd3, 0x5c};
constexpr std::uint8_t kNVFP4[] = {
    0x2b, 0x29, 0x29, 0x2a, 0xdd, 0x1b, 0xc0, 0xba, 0xf3, 0xa5, 0x3a, 0xfc,
    0xfa, 0xaa, 0xd6, 0x20, 0xd1, 0x0a, 0xc2, 0x35, 0x60, 0xf7, 0x1c, 0x56,
    0x92, 0x32, 0x3b, 0xc0, 0x27, 0x71, 0x3e, 0xc5, 0x43, 0xc4, 0xd5, 0x5e};
constexpr std::uint8_t kQ20[] = {0x3f, 0x40, 0x55, 0x55, 0x55, 0x14,
                                 0x55, 0x55, 0x54, 0x55, 0x99, 0x55,
                                 0x52, 0x55, 0x46, 0x15, 0x59, 0x55};
constexpr std::uint8_t kTQ20[] = {
    0x55, 0x59, 0x95, 0x59, 0x95, 0x55, 0x45, 0x55, 0x55, 0x51, 0x65,
    0x45, 0x44, 0x55, 0x55, 0x54, 0x59, 0x55, 0x55, 0x55, 0x45, 0x55,
    0x55, 0x45, 0x54, 0x69, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x59,
    0x54, 0x59, 0x55, 0x04, 0x55, 0x15, 0x51, 0x65, 0x15, 0x5a, 0x55,
    0x55, 0x55, 0x95, 0x51, 0x56, 0x55, 0x55, 0x49, 0x55, 0x56, 0x59,
    0x45, 0x98, 0x55, 0x55, 0x45, 0x95, 0x55, 0x51, 0x56, 0x08, 0x41};

// Their products, in double, of what dequantize_row_* of that library gives by
// activations of (37 * k + 11) % 255 - 127.
constexpr struct {
  GgmlType type;
  const std::uint8_t* blocks;
  std::size_t bytes;
  double product;
  double tolerance = 1e-3;  // minima are rounded: 32 halves of a step of 0.25
} kOthers[] = {
    {GgmlType::kQ4_1, kQ41, sizeof(kQ41), -113.744384765625, 8},
    {GgmlType::kQ5_0, kQ50, sizeof(kQ50), -42.92041015625},
    {GgmlType::kQ5_1, kQ51, sizeof(kQ51), -55.71612548828125, 8},
    {GgmlType::kIQ4_NL, kIQ4NL, sizeof(kIQ4NL), -79.96484375},
    {GgmlType::kMXFP4, kMXFP4, sizeof(kMXFP4), -53.125},
    {GgmlType::kNVFP4, kNVFP4, sizeof(kNVFP4), 61.0625},
    {GgmlType::kQ2_0, kQ20, sizeof(kQ20), -121.013671875},
    {GgmlType::kTQ2_0, kTQ20, sizeof(kTQ20), -626.390625},
};

// Four rows of 48 in blocks of 32, made of GaussVector(4 * 48, 8) by ONNX
// Runtime's symmetric rule: scale = m / -8 for the value m of greatest
// magnitude, level = clamp(round(w / scale) + 8, 0, 15); 8 beyond the row.
constexpr std::uint8_t kNBits[] = {
    0xa8, 0x45, 0x59, 0x68, 0x8d, 0x94, 0x57, 0xa9, 0xea, 0x4c, 0x78, 0x79,
    0x77, 0x68, 0x75, 0x80, 0x29, 0x42, 0x24, 0x90, 0x4b, 0xda, 0x88, 0xb3,
    0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x37, 0x68, 0xba, 0x4c,
    0xc3, 0x78, 0xaf, 0x4c, 0x68, 0x70, 0x4b, 0xb5, 0x87, 0xb4, 0xa5, 0x65,
    0xb3, 0x1c, 0x64, 0xe9, 0x38, 0xe1, 0x70, 0x9b, 0x88, 0x88, 0x88, 0x88,
    0x88, 0x88, 0x88, 0x88, 0x75, 0x83, 0x8d, 0x63, 0xba, 0xd1, 0x77, 0xbb,
    0x86, 0x9c, 0x97, 0x3a, 0xa5, 0x86, 0x07, 0xab, 0x94, 0xa7, 0x0b, 0x98,
    0x56, 0x78, 0x9a, 0x51, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88,
    0x51, 0x7b, 0x74, 0xb2, 0xa5, 0xc8, 0x47, 0x48, 0x56, 0x12, 0x07, 0xf1,
    0x68, 0xc7, 0x5c, 0x2b, 0x6b, 0x87, 0xb8, 0x05, 0x98, 0x5e, 0x6f, 0x95,
    0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88};
constexpr float kNBitsScales[] = {0.363766968f,  -0.333592325f, 0.307641357f,
                                  -0.181821883f, -0.328179359f, 0.264975846f,
                                  -0.261318535f, 0.262775242f};

// MatMulNBits of those (K = 48, N = 4, bits = 4, block_size = 32,
// accuracy_level = 1) by two rows of activations, element i of which is (37 * i
// + 11) % 255 - 127, as onnxruntime-node 1.30.0 gives it.
constexpr float kNBitsProduct[] = {112.359978f,  633.258972f, -495.142212f,
                                   -316.07785f,  83.9510117f, 653.01355f,
                                   -482.321075f, -431.306183f};

// More of MatMulNBits (K = 32, N = 2, block_size = 16): B of bytes (73 * i +
// 19) % 256, by one row of activations as above, as onnxruntime-node 1.30.0
// gives it (float16 ones rounded).
constexpr float kBlockScales[] = {0.5f, 0.25f, -0.125f, 1.0f};
constexpr std::uint8_t kZeros8[] = {3, 200, 128, 77};
constexpr std::uint8_t kZeros4[] = {0x51, 0xc7};
constexpr std::uint8_t kZeros2[] = {0b0110, 0b1101};
constexpr float kFloatZeros[] = {1.5f, 7.25f, 0.5f, 12.0f};
constexpr struct {
  int bits;
  const void* zero_points;
  Scalar zero_point_type;
  bool has_half_scales;
  float products[2];
  float tolerance = 0;
} kMoreNBits[] = {
    {8, kZeros8, Scalar::kU8, false, {20262.25f, 31539.875f}},
    {8, nullptr, Scalar::kU8, false, {35352.75f, 27918.875f}},
    {4, kFloatZeros, Scalar::kF32, false, {1165.0625f, -144.1875f}},
    {4, kZeros4, Scalar::kU8, true, {1150.0f, -323.75f}, 0.5f},
    {2, kZeros2, Scalar::kU8, false, {156.75f, -606.75f}},
    {2, nullptr, Scalar::kU8, true, {139.0f, -563.375f}},
};

// Each weight is off by half a level, or by one where the level at the greatest
// magnitude's other side would be 8.
void ExpectNear(const QuantizedGroups& groups,
                const std::vector<float>& weights) {
  const GroupWeights description = groups.description();
  const std::ptrdiff_t count = groups.depth / groups.group_size;
  int negative = 0;
  for (std::ptrdiff_t row = 0; row < groups.rows; ++row) {
    for (std::ptrdiff_t k = 0; k < groups.depth; ++k) {
      const std::ptrdiff_t at = row * count + k / groups.group_size;
      const int level = GroupLevel(description, row, k);
      const float scale = GroupScale(description, at);
      const float value =
          scale * static_cast<float>(level - GroupZeroPoint(description, at));
      EXPECT_LE(std::fabs(value - weights[row * groups.depth + k]),
                std::fabs(scale) * (level == 15 ? 1.0f : 0.51f))
          << row << ", " << k;
      negative += scale < 0 ? 1 : 0;
    }
  }
  EXPECT_EQ(negative > 0, groups.bits == 4);
}

// Both sides, as the oracle does.
void ExpectProductsOfReference(const QuantizedGroups& groups,
                               Context* context) {
  const GroupWeights weights = groups.description();
  ASSERT_VALUE(const auto packed, PackGroupWeights(weights, context));
  Rng rng(3);
  for (const std::ptrdiff_t cols : {1, 3, 40}) {
    const std::vector<float> values =
        RandomReals<float>(groups.depth * cols, &rng);
    const auto rhs = ColMajorOf(values, groups.depth, cols);
    const auto lhs = RowMajorOf(values, cols, groups.depth);
    std::vector<float> expected(groups.rows * cols);
    Matrix<float> reference = ColMajorOf(expected, groups.rows, cols);
    ReferenceGroupMul(weights, rhs, GroupMulParams(), &reference);
    EXPECT_EQ(MulTo<float>(packed, rhs, GroupMulParams(), context), expected);
    std::vector<float> result(groups.rows * cols);
    Matrix<float> dst = RowMajorOf(result, cols, groups.rows);
    ASSERT_OK(Mul(lhs, packed, GroupMulParams(), context, &dst));
    EXPECT_EQ(result, expected);
  }
}

TEST_P(ForeignWeightsTest, GgmlQ4_0) {
  ASSERT_VALUE(const auto groups,
               ImportGgml(GgmlType::kQ4_0, kQ40, sizeof(kQ40), 4, 64));
  ExpectNear(groups, GaussVector(4 * 64, 7));
  ExpectProductsOfReference(groups, &context_);
}

TEST_P(ForeignWeightsTest, GgmlQ8_0) {
  ASSERT_VALUE(const auto groups,
               ImportGgml(GgmlType::kQ8_0, kQ80, sizeof(kQ80), 2, 64));
  ExpectNear(groups, GaussVector(2 * 64, 7));
  ExpectProductsOfReference(groups, &context_);
}

TEST(ForeignWeightsNamesTest, ThoseOfVersion02Serve) {
  ASSERT_VALUE(const auto q4, ImportGgmlQ4_0(kQ40, sizeof(kQ40), 4, 64));
  ASSERT_VALUE(const auto q4_now,
               ImportGgml(GgmlType::kQ4_0, kQ40, sizeof(kQ40), 4, 64));
  EXPECT_EQ(q4.levels, q4_now.levels);
  ASSERT_VALUE(const auto q8, ImportGgmlQ8_0(kQ80, sizeof(kQ80), 2, 64));
  EXPECT_EQ(q8.bits, 8);
  ASSERT_VALUE(const auto n,
               ImportMatMulNBits(kNBits, kNBitsScales, nullptr, 4, 48, 32));
  EXPECT_EQ(n.group_size, 32);
  EXPECT_EQ(n.zero_point, 8);
}

TEST_P(ForeignWeightsTest, GgmlsOthers) {
  for (const auto& other : kOthers) {
    SCOPED_TRACE(static_cast<int>(other.type));
    const std::ptrdiff_t depth = other.type == GgmlType::kTQ2_0 ? 256 : 64;
    ASSERT_VALUE(const auto groups,
                 ImportGgml(other.type, other.blocks, other.bytes, 1, depth));
    ExpectProductsOfReference(groups, &context_);
    std::vector<std::int8_t> x(depth);
    for (int k = 0; k < depth; ++k) {
      x[k] = static_cast<std::int8_t>((37 * k + 11) % 255 - 127);
    }
    ASSERT_VALUE(const auto packed,
                 PackGroupWeights(groups.description(), &context_));
    EXPECT_NEAR(MulTo<float>(packed, ColMajorOf(x, depth, 1), GroupMulParams(),
                             &context_)[0],
                other.product, other.tolerance);
  }
}

TEST_P(ForeignWeightsTest, MatMulNBits) {
  MatMulNBits arrays;
  arrays.rows = 4;
  arrays.depth = 48;
  arrays.b = kNBits;
  arrays.scales = kNBitsScales;
  ASSERT_VALUE(const auto groups, ImportMatMulNBits(arrays));
  ExpectProductsOfReference(groups, &context_);
  std::vector<std::int8_t> x(2 * 48);
  for (int i = 0; i < 2 * 48; ++i) {
    x[i] = static_cast<std::int8_t>((37 * i + 11) % 255 - 127);
  }
  ASSERT_VALUE(const auto packed,
               PackGroupWeights(groups.description(), &context_));
  const std::vector<float> y =
      MulTo<float>(packed, ColMajorOf(x, 48, 2), GroupMulParams(), &context_);
  for (int i = 0; i < 8; ++i) EXPECT_NEAR(y[i], kNBitsProduct[i], 1e-3) << i;
}

TEST_P(ForeignWeightsTest, MatMulNBitsOfOtherBits) {
  std::vector<std::uint8_t> b(2 * 32);
  for (int i = 0; i < 64; ++i) b[i] = static_cast<std::uint8_t>(73 * i + 19);
  const std::vector<Float16> half_scales(std::begin(kBlockScales),
                                         std::end(kBlockScales));
  std::vector<std::int8_t> x(32);
  for (int k = 0; k < 32; ++k) {
    x[k] = static_cast<std::int8_t>((37 * k + 11) % 255 - 127);
  }
  for (const auto& one : kMoreNBits) {
    SCOPED_TRACE(one.products[0]);
    MatMulNBits arrays;
    arrays.bits = one.bits;
    arrays.rows = 2;
    arrays.depth = 32;
    arrays.block_size = 16;
    arrays.b = b.data();
    arrays.scales = kBlockScales;
    if (one.has_half_scales) {
      arrays.scales = half_scales.data();
      arrays.scale_type = Scalar::kF16;
    }
    arrays.zero_points = one.zero_points;
    arrays.zero_point_type = one.zero_point_type;
    ASSERT_VALUE(const auto groups, ImportMatMulNBits(arrays));
    ExpectProductsOfReference(groups, &context_);
    ASSERT_VALUE(const auto packed,
                 PackGroupWeights(groups.description(), &context_));
    const std::vector<float> y =
        MulTo<float>(packed, ColMajorOf(x, 32, 1), GroupMulParams(), &context_);
    for (int row = 0; row < 2; ++row) {
      EXPECT_NEAR(y[row], one.products[row], one.tolerance) << row;
    }
  }
}

}  // namespace
}  // namespace ruy_like
