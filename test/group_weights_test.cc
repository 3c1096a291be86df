// Group-scaled weights, on every path: products against the oracle bit for bit,
// bad input, files.
#include "ruy_like/group_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ruy_like/base/allocator.h"
#include "ruy_like/base/checksum.h"
#include "ruy_like/machine/cpu_features.h"
#include "ruy_like/mul_plan.h"
#include "ruy_like/packed/group_image.h"
#include "ruy_like/registry/registry.h"
#include "test/support/group_problem.h"
#include "test/support/product.h"
#include "test/support/sanitizers.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

class GroupMulTest : public PathTest {};
RUY_LIKE_INSTANTIATE_PER_PATH(GroupMulTest);

TEST_P(GroupMulTest, RandomProducts) {
  UseThreads(8, &context_);
  for (std::uint64_t seed = 0; seed < 600 / kThinning && !HasFatalFailure();
       ++seed) {
    CheckGroupProduct(RandomGroupShape(seed), seed, {&context_});
  }
}

// Sizes around those of panels, tiles and steps.
TEST_P(GroupMulTest, Edges) {
  std::uint64_t seed = 0;
  for (const std::ptrdiff_t rows : {1, 15, 16, 17, 31, 32, 33, 63, 64, 65}) {
    for (const std::ptrdiff_t cols :
         {1, 2, 3, 4, 5, 6, 7, 12, 13, 16, 17, 31, 32, 33}) {
      for (const std::ptrdiff_t depth : {1, 7, 8, 9, 16, 31, 33, 128}) {
        if (++seed % kThinning != 0) continue;
        CheckGroupProduct({rows, depth, cols}, seed, {&context_});
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Sizes around those of blocks in which activations are copied that are not
// contiguous.
TEST_P(GroupMulTest, EdgesOfCopiedActivations) {
  UseThreads(3, &context_);
  std::uint64_t seed = 1000;
  for (const std::ptrdiff_t cols : {3, 4, 8, 16, 17, 63, 64, 65, 130}) {
    for (const std::ptrdiff_t depth : {1, 15, 16, 17, 255, 256, 257, 530}) {
      for (int types = 0; types < 8; types += kThinning) {
        CheckGroupProduct({17, depth, cols}, ++seed, {&context_});
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Weights that L2 does not hold, whose panels are read far apart, nor L3: a
// number of panels that fills no round of them, and fewer panels than a round
// has.
TEST_P(GroupMulTest, WeightsFromMemory) {
  const CacheSizes detected = DetectedCacheSizes();
  std::uint64_t seed = 3000;
  for (const std::ptrdiff_t l3_bytes : {1 << 20, 1 << 14}) {
    SetEmulatedCacheSizes({1 << 12, 1 << 13, l3_bytes, 1});
    for (const std::ptrdiff_t rows : {17, 143}) {
      const std::ptrdiff_t depth = (1 << 16) / rows + 1;
      for (int i = 0; i < 64 && !HasFatalFailure(); ++i) {
        if (++seed % kThinning != 0) continue;
        CheckGroupProduct({rows, depth, 1 + i % 8}, seed, {&context_});
      }
    }
  }
  SetEmulatedCacheSizes(detected);
}

// That rule looks at all weights of the process.
TEST(GroupImageTest, CountsTheBytesOfAll) {
  const std::ptrdiff_t before = GroupImageBytes();
  Context context;
  Rng rng(1);
  const RandomGroupWeights weights(17, 64, 4, 32, Scalar::kF16, false, 0, 0.1f,
                                   &rng);
  {
    const auto packed = PackGroupWeights(weights.description, &context);
    ASSERT_TRUE(packed.ok()) << packed.status();
    const absl::string_view bytes = packed->Serialize();
    const PackedGroupWeights copy = *packed;
    EXPECT_EQ(GroupImageBytes(), before + std::ptrdiff_t(bytes.size()));
    const auto loaded =
        PackedGroupWeights::FromBytes(bytes.data(), bytes.size());
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_EQ(GroupImageBytes(), before + 2 * std::ptrdiff_t(bytes.size()));
  }
  EXPECT_EQ(GroupImageBytes(), before);
}

// The greatest levels by the greatest activations, in the longest groups: no
// partial sum may saturate, and what wraps does so as the oracle's.
TEST_P(GroupMulTest, GreatestSums) {
  constexpr std::ptrdiff_t kRows = 17;
  struct Kind {
    int bits;
    int level = 0;  // of a table, the only one but 0
    bool has_zero_points = false;
  };
  // Sums of 16 bits hold 4 steps of codes of 4 bits, 2 with zero points, and 1
  // step of levels that span 63 or, for more columns than are streamed, 2, 21
  // and 63.
  for (const auto& [bits, level, has_zero_points] :
       {Kind{4}, Kind{4, 0, true}, Kind{8}, Kind{4, 127}, Kind{4, -128},
        Kind{2, 127}, Kind{2, -128}, Kind{4, 63}, Kind{2, 63}, Kind{4, 31},
        Kind{2, 31}, Kind{4, 24}, Kind{2, 3}, Kind{4, 1}}) {
    const bool is_wide = level == 0 || level > 63 || level < -63;
    std::int8_t table[16] = {};
    table[3] = table[15] = static_cast<std::int8_t>(level);
    // More columns than paths that widen codes stream, in short groups alone.
    for (const auto& [depth, cols] :
         {std::pair<std::ptrdiff_t, std::ptrdiff_t>(2048, 1),
          {2048, 7},
          {2056, 40},
          {65536, 1},
          {65552, 7}}) {
      if (!is_wide && depth > 2056) continue;
      for (const auto& [activation, activation_zero] :
           {std::pair(-128, 0), {127, 0}, {-128, 127}, {127, -100}}) {
        if (cols > 7 && activation_zero != 0) continue;
        std::vector<std::uint8_t> levels(kRows * depth,
                                         bits == 8 ? 0x7f : 0xff);
        const std::vector<float> scales(kRows, 1.0f);
        GroupWeights weights;
        weights.rows = kRows;
        weights.depth = depth;
        weights.bits = bits;
        weights.table = level == 0 ? nullptr : table;
        weights.levels = levels.data();
        weights.set_scales(scales.data());
        const std::vector<std::uint8_t> zero_points(kRows, 0);
        if (has_zero_points) weights.zero_points = zero_points.data();
        weights.zero_point = level < 0                 ? 127
                             : weights.LevelsAreInt8() ? -128
                                                       : 0;
        const std::vector<std::int8_t> values(
            depth * cols, static_cast<std::int8_t>(activation));
        const std::vector<std::int8_t> zeros(
            cols, static_cast<std::int8_t>(activation_zero));
        GroupMulParams params;
        params.activation_zero_points = zeros.data();
        const Matrix<std::int8_t> rhs =
            MakeMatrix(values.data(), depth, cols, Order::kColMajor);
        const auto packed = PackGroupWeights(weights, &context_);
        ASSERT_TRUE(packed.ok()) << packed.status();
        // All elements of dst are alike: the oracle's time is for one of them.
        weights.rows = 1;
        const std::vector<float> one = GroupReference(
            weights, MakeMatrix(values.data(), depth, 1, Order::kColMajor),
            params);
        EXPECT_EQ(MulTo<float>(*packed, rhs, params, &context_),
                  std::vector<float>(kRows * cols, one[0]))
            << bits << " bits, level " << level << ", zero points "
            << has_zero_points << ", depth " << depth << ", cols " << cols
            << ", activations " << activation << " - " << activation_zero;
      }
    }
  }
}

// A column's bits depend neither on the other columns nor on threads.
TEST_P(GroupMulTest, DoesNotDependOnTheBatch) {
  // More columns than any path streams.
  constexpr int kCols = 36;
  for (const int bits : {2, 4, 5, 8}) {
    Rng rng(7);
    const bool has_table = bits == 5;  // of 4 bits
    RandomGroupWeights weights(70, 300, has_table ? 4 : bits, 32, Scalar::kF16,
                               false, 0, 0.1f, &rng, has_table);
    const auto packed = PackGroupWeights(weights.description, &context_);
    ASSERT_TRUE(packed.ok());
    const std::vector<float> values = RandomReals<float>(300 * kCols, &rng);
    context_.set_max_num_threads(3);
    const auto first = [&](int cols) {
      return MulTo<float>(
          *packed, MakeMatrix(values.data(), 300, cols, Order::kColMajor),
          GroupMulParams(), &context_);
    };
    const std::vector<float> all = first(kCols);
    for (int cols = 1; cols <= kCols; ++cols) {
      EXPECT_TRUE(SameBits(first(cols), {all.begin(), all.begin() + 70 * cols}))
          << cols << " columns, " << bits << " bits";
    }
  }
}

// A path must not run the portable kernel, but for those that have none, and
// each of its kernels is reached.
TEST_P(GroupMulTest, ReachesEveryKernel) {
  const bool has_none =
      (GetParam() & (Path::kNeon32 | kPathsOfPanels)) != Path::kNone;
  std::set<std::string> reached;
  Rng rng(9);
  struct Codes {
    int bits;
    int greatest = 0;  // level of a table
  };
  for (const auto& [bits, greatest] :
       {Codes{4}, {8}, {4, 12}, {4, 127}, {2, 12}, {2, 127}}) {
    for (const std::ptrdiff_t depth : {40, (1 << 16) + 16}) {
      RandomGroupWeights weights(3, depth, bits, /*group_size=*/0, Scalar::kF32,
                                 false, 0, 1, &rng);
      const std::int8_t table[16] = {static_cast<std::int8_t>(greatest)};
      weights.description.table = greatest == 0 ? nullptr : table;
      const auto packed = PackGroupWeights(weights.description, &context_);
      ASSERT_TRUE(packed.ok()) << packed.status();
      for (const std::ptrdiff_t cols : {1, 3, 8, 16, 40, 130}) {
        // It has one kernel, which is slow there.
        if (kSanitized && GetParam() == Path::kPortable && cols > 8) continue;
        const std::vector<std::int8_t> values(depth * cols, 1);
        MulTo<float>(*packed,
                     MakeMatrix(values.data(), depth, cols, Order::kColMajor),
                     GroupMulParams(), &context_);
        EXPECT_EQ(context_.last_used_path(),
                  has_none ? Path::kPortable : GetParam());
        reached.insert(context_.last_used_kernel());
      }
    }
  }
  const kernels::KernelTable table = KernelsOf(GetParam());
  for (int i = 0; i < table.count; ++i) {
    if (table.kernels[i].family != Family::kGroupScaled) continue;
    EXPECT_EQ(reached.count(table.kernels[i].name), 1u)
        << table.kernels[i].name << " was not taken for any shape";
  }
  EXPECT_EQ(reached.count("Portable_G4S8_16x2x8"),
            has_none || GetParam() == Path::kPortable ? 1u : 0u);
}

// An element before the activations' scale, by sums in double. 4 bits, scales
// of float, zero points.
struct ExactElement {
  double value, magnitude;  // the sum of all groups, and of their magnitudes
  int groups;
};
ExactElement SumInDouble(RandomGroupWeights* weights,
                         const Matrix<std::int8_t>& rhs, std::ptrdiff_t row,
                         std::ptrdiff_t col, std::ptrdiff_t group_size) {
  const std::ptrdiff_t depth = weights->description.depth;
  const std::ptrdiff_t size = group_size == 0 ? depth : group_size;
  const std::ptrdiff_t groups =
      RandomGroupWeights::GroupCount(depth, group_size);
  ExactElement sum = {0, 0, static_cast<int>(groups)};
  for (std::ptrdiff_t g = 0; g < groups; ++g) {
    const std::ptrdiff_t at = row * groups + g;
    double acc = 0;
    for (std::ptrdiff_t k = g * size; k < std::min(depth, (g + 1) * size);
         ++k) {
      const int byte =
          weights->levels.as<std::uint8_t>()[row * ((depth + 1) / 2) + k / 2];
      const int level = k % 2 == 0 ? byte & 15 : byte >> 4;
      acc += (level - weights->zeros.as<std::uint8_t>()[at]) *
             Element(rhs, k, col);
    }
    const double term = acc * weights->scales.as<float>()[at];
    sum.value += term;
    sum.magnitude += std::fabs(term);
  }
  return sum;
}

// Against sums in double: an element is off by at most one float rounding for
// each group, the conversion of its sum and the product with the activations'
// scale. With groups of all kinds, the last one short, and scales that are tiny
// and huge.
TEST_P(GroupMulTest, ErrorsAreThoseOfFloatSums) {
  constexpr std::ptrdiff_t kRows = 21, kDepth = 300;
  Rng rng(17);
  for (const std::ptrdiff_t group_size : {0, 16, 48, 128}) {
    for (const int exponent : {-100, 0, 90}) {
      for (const std::ptrdiff_t cols : {1, 9}) {
        RandomGroupWeights weights(
            kRows, kDepth, /*bits=*/4, group_size, Scalar::kF32,
            /*has_zeros=*/true, /*gap=*/0, std::ldexp(1.0f, exponent), &rng);
        GuardedMatrix<std::int8_t> rhs(kDepth, cols, Order::kColMajor, 0);
        FillActivations(&rhs.matrix, &rng, 1);
        GuardedMatrix<float> dst(kRows, cols, Order::kColMajor, 0);
        const std::vector<float> a_scales = RandomReals<float>(cols, &rng);
        GroupMulParams params;
        params.activation_scales = a_scales.data();
        const auto packed = PackGroupWeights(weights.description, &context_);
        ASSERT_TRUE(packed.ok()) << packed.status();
        ASSERT_TRUE(
            Mul(*packed, rhs.matrix, params, &context_, &dst.matrix).ok());
        for (std::ptrdiff_t row = 0; row < kRows; ++row) {
          for (std::ptrdiff_t col = 0; col < cols; ++col) {
            const ExactElement exact =
                SumInDouble(&weights, rhs.matrix, row, col, group_size);
            const double scale = a_scales[col];
            const double error =
                std::fabs(Element(dst.matrix, row, col) - exact.value * scale);
            EXPECT_LE(error, std::ldexp(exact.groups + 2.01, -24) *
                                 exact.magnitude * std::fabs(scale))
                << row << ", " << col << ", group size " << group_size
                << ", scales up to 2^" << exponent;
          }
        }
      }
    }
  }
}

// Paths that stream weights read int8 activations where they lie: each
// product's anew.
TEST_P(GroupMulTest, BatchesOfInt8ActivationsInPlace) {
  constexpr std::ptrdiff_t kRows = 21, kDepth = 256, kCount = 5;
  Rng rng(29);
  const RandomGroupWeights weights(kRows, kDepth, 4, 32, Scalar::kF32, true, 0,
                                   0.1f, &rng);
  const auto packed = PackGroupWeights(weights.description, &context_);
  ASSERT_TRUE(packed.ok()) << packed.status();
  for (const std::ptrdiff_t cols : {1, 4, 30}) {
    const std::ptrdiff_t size = kDepth * cols;
    const auto values = RandomVector<std::int8_t>(size * kCount, cols);
    // The last stride is between activations that two products share each.
    for (const Batch& batch :
         {Batch{kCount, 0, size, kRows * cols},
          Batch{2, 0, 0, kRows * cols, 0, 2, 0, size, 2 * kRows * cols}}) {
      Matrix<const std::int8_t> rhs =
          MakeMatrix(values.data(), kDepth, cols, Order::kColMajor);
      std::vector<float> expected, results(kRows * cols * kCount);
      for (std::ptrdiff_t i = 0; i < batch.count * batch.outer_count; ++i) {
        rhs.set_data(values.data() + i % batch.count * batch.rhs_stride +
                     i / batch.count * batch.rhs_outer_stride);
        const auto one =
            MulTo<float>(*packed, rhs, GroupMulParams(), &context_);
        expected.insert(expected.end(), one.begin(), one.end());
      }
      results.resize(expected.size());
      rhs.set_data(values.data());
      Matrix<float> dst =
          MakeMatrix(results.data(), kRows, cols, Order::kColMajor);
      ASSERT_OK(
          MulBatch(*packed, rhs, GroupMulParams(), batch, &context_, &dst));
      EXPECT_TRUE(SameBits(results, expected)) << cols << " columns";
    }
  }
}

// Experts: packed weights of several sizes, some of 4 and some of 8 bits, and
// activations of several numbers of columns.
TEST_P(GroupMulTest, BatchesGroupsAndPlansGiveTheBitsOfSingleCalls) {
  using Item = BatchItem<PackedGroupWeights, Matrix<const float>, float, float>;
  constexpr std::ptrdiff_t kDepth = 300, kMostCols = 150;
  UseThreads(3, &context_);
  Rng rng(23);
  const std::vector<float> values =
      RandomReals<float>(kDepth * kMostCols, &rng);
  std::vector<Item> items;
  std::vector<std::vector<float>> results, expected;
  for (const std::ptrdiff_t cols : {1, 4, 37, 0, int{kMostCols}}) {
    RandomGroupWeights weights(100 + cols, kDepth,
                               cols % 2 == 0 ? 8
                               : cols == 1   ? 2
                                             : 4,
                               48, Scalar::kBF16, cols % 3 == 0, 0, 0.1f, &rng,
                               /*has_table=*/cols == 37);
    const auto packed = PackGroupWeights(weights.description, &context_);
    ASSERT_TRUE(packed.ok()) << packed.status();
    Item item;
    item.lhs = *packed;
    item.rhs = MakeMatrix(values.data(), kDepth, cols, Order::kColMajor);
    item.mul_params.quantize =
        cols == 4 ? ActivationScales::kPerGroup : ActivationScales::kPerColumn;
    results.emplace_back((100 + cols) * cols);
    expected.push_back(
        MulTo<float>(item.lhs, item.rhs, item.mul_params, &context_));
    items.push_back(std::move(item));
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    items[i].dst = MakeMatrix(results[i].data(), items[i].lhs.rows(),
                              items[i].rhs.layout().cols(), Order::kColMajor);
  }
  ASSERT_OK(MulGroup(items, &context_));
  for (std::size_t i = 0; i < items.size(); ++i) {
    EXPECT_TRUE(SameBits(results[i], expected[i])) << "product " << i;
  }

  // The same weights by the parts of a batch, in a plan that is run twice.
  const Item& last = items[4];
  const std::ptrdiff_t rows = last.lhs.rows();
  for (const std::ptrdiff_t cols : {1, 30}) {
    const Batch batch = {kMostCols / cols, 0, kDepth * cols, rows * cols};
    const Matrix<const float> rhs =
        MakeMatrix(values.data(), kDepth, cols, Order::kColMajor);
    std::vector<float> dst_values(rows * kMostCols);
    Matrix<float> dst =
        MakeMatrix(dst_values.data(), rows, cols, Order::kColMajor);
    ASSERT_OK(MulBatch(last.lhs, rhs, last.mul_params, batch, &context_, &dst));
    EXPECT_TRUE(SameBits(dst_values, expected[4])) << cols;
    MulPlan plan;
    ASSERT_OK(plan.PrepareBatch(last.lhs, rhs, last.mul_params, batch, 2,
                                &context_, &dst));
    for (int run = 0; run < 2; ++run) {
      std::fill(dst_values.begin(), dst_values.end(), 0);
      ASSERT_OK(plan.Run(0));
      ASSERT_OK(plan.Finish());
      EXPECT_TRUE(SameBits(dst_values, expected[4])) << cols;
      ASSERT_OK(plan.Repeat());
    }
  }
  MulPlan plan;
  ASSERT_OK(plan.Prepare(last.lhs, last.rhs, last.mul_params, 3, &context_,
                         &items[4].dst));
  for (int thread = 2; thread >= 0; --thread) ASSERT_OK(plan.Run(thread));
  ASSERT_OK(plan.Finish());
  EXPECT_TRUE(SameBits(results[4], expected[4]));
  EXPECT_STREQ(context_.last_used_kernel(), [&] {
    MulTo<float>(last.lhs, last.rhs, last.mul_params, &context_);
    return context_.last_used_kernel();
  }());
}

TEST_P(GroupMulTest, WhatIsNotFiniteMakesItsColumnNan) {
  for (const float bad : {std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::quiet_NaN()}) {
    for (const auto quantize :
         {ActivationScales::kPerColumn, ActivationScales::kPerGroup}) {
      Rng rng(3);
      RandomGroupWeights weights(20, 64, 4, 16, Scalar::kF32, false, 0, 1,
                                 &rng);
      const auto packed = PackGroupWeights(weights.description, &context_);
      ASSERT_TRUE(packed.ok());
      std::vector<float> values(64 * 2, 1.0f);
      values[64 + 40] = bad;
      GroupMulParams params;
      params.quantize = quantize;
      const auto result = MulTo<float>(
          *packed, MakeMatrix(values.data(), 64, 2, Order::kColMajor), params,
          &context_);
      for (int i = 0; i < 20; ++i) {
        EXPECT_TRUE(std::isfinite(result[i]));
        EXPECT_TRUE(std::isnan(result[20 + i]));
      }
    }
  }
}

// Ternary weights of 2 bits, and 4 bits of any levels, by hand.
TEST_P(GroupMulTest, ATableHasTheLevels) {
  const std::int8_t ternary[] = {-1, 0, 1, 2};
  const std::int8_t levels[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                  1,    13,   25,  38,  53,  69,  89,  113};
  const std::uint8_t codes2[] = {0b11'10'01'00, 0b00'00'00'10};
  const std::uint8_t codes4[] = {0xf0, 0x17};
  const float scale = 0.5f;
  const std::int8_t values[] = {3, 5, 7, -11, 13};
  GroupWeights weights;
  weights.rows = 1;
  weights.set_scales(&scale);
  weights.bits = 2;
  weights.depth = 5;  // -1 0 1 2 1
  weights.table = ternary;
  weights.levels = codes2;
  const auto product = [&] {
    return MulTo<float>(
        *PackGroupWeights(weights, &context_),
        ColMajorOf(std::vector<std::int8_t>(values, values + weights.depth),
                   weights.depth, 1),
        GroupMulParams(), &context_)[0];
  };
  EXPECT_EQ(product(), 0.5f * (-3 + 7 - 22 + 13));
  weights.zero_point = -2;  // 1 2 3 4 3
  EXPECT_EQ(product(), 0.5f * (3 + 10 + 21 - 44 + 39));
  weights.bits = 4;
  weights.depth = 4;  // -127 113 -10 -104
  weights.table = levels;
  weights.levels = codes4;
  weights.zero_point.reset();
  EXPECT_EQ(product(), 0.5f * (-381 + 565 - 70 + 1144));
}

// Without one the zero point is the middle of the levels.
TEST(GroupWeightsTest, DefaultZeroPoint) {
  Context context;
  std::vector<std::uint8_t> levels(16);
  for (int i = 0; i < 16; ++i) levels[i] = static_cast<std::uint8_t>(37 * i);
  const float scale = 0.5f;
  const std::int8_t table[4] = {-1, 0, 1, 2};
  for (const int bits : {2, 4, 8}) {
    GroupWeights weights;
    weights.table = bits == 2 ? table : nullptr;
    weights.rows = 1;
    weights.depth = 16;
    weights.bits = bits;
    weights.levels = levels.data();
    weights.set_scales(&scale);
    const auto by_default = PackGroupWeights(weights, &context);
    weights.zero_point = bits == 4 ? 8 : 0;
    const auto explicitly = PackGroupWeights(weights, &context);
    ASSERT_TRUE(by_default.ok() && explicitly.ok());
    EXPECT_EQ(by_default->Serialize(), explicitly->Serialize()) << bits;
  }
}

TEST_P(GroupMulTest, NoDepthAndNothing) {
  GroupWeights weights;
  // Rows without depth take no memory: packing does not go through them.
  weights.rows = std::numeric_limits<std::ptrdiff_t>::max() / 64;
  EXPECT_EQ(PackGroupWeights(weights, &context_)->rows(), weights.rows);
  weights.rows = 3;
  const auto packed = PackGroupWeights(weights, &context_);
  ASSERT_TRUE(packed.ok()) << packed.status();
  const float bias[] = {1, 2, 3};
  GroupMulParams params;
  params.bias = bias;
  // Columns of which some paths stream, and all tile.
  for (const std::ptrdiff_t cols : {1, 2, 40}) {
    const auto empty = MakeMatrix(static_cast<const float*>(nullptr), 0, cols,
                                  Order::kColMajor);
    const std::vector<float> result =
        MulTo<float>(*packed, empty, params, &context_);
    for (std::ptrdiff_t i = 0; i < 3 * cols; ++i) {
      EXPECT_EQ(result[i], bias[i % 3]);
    }
    EXPECT_THAT(
        MulTo<float>(PackedGroupWeights(), empty, GroupMulParams(), &context_),
        testing::IsEmpty());
  }
}

// ## What is refused

struct GroupErrorsTest : testing::Test {
  GroupErrorsTest() {
    weights.rows = 2;
    weights.depth = 32;
    weights.group_size = 16;
    weights.levels = levels;
    weights.set_scales(scales);
  }
  void ExpectRefused(
      const std::string& words,
      absl::StatusCode code = absl::StatusCode::kInvalidArgument) {
    ExpectStatus(PackGroupWeights(weights, &context).status(), code, {words});
  }

  Context context;
  GroupWeights weights;
  std::uint8_t levels[64] = {};
  float scales[4] = {1, 1, 1, 1};
  std::uint8_t zeros[4] = {};
  std::int8_t table[16] = {};
  std::int32_t order[32];
};

TEST_F(GroupErrorsTest, GroupSize) {
  for (const std::ptrdiff_t size : {-16, 1, 8, 17, 31}) {
    weights.group_size = size;
    ExpectRefused("group_size = " + std::to_string(size));
  }
}
TEST_F(GroupErrorsTest, EachField) {
  constexpr std::ptrdiff_t kMost = std::numeric_limits<std::ptrdiff_t>::max();
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  constexpr auto kOutOfRange = absl::StatusCode::kOutOfRange;
  const GroupWeights good = weights;
  auto& w = weights;
  const struct {
    std::function<void()> change;
    const char* words;
    absl::StatusCode code = kInvalid;
  } kCases[] = {
      {[&] { w.bits = 5; }, "5 bits"},
      {[&] { w.rows = -1; }, "-1x32"},
      {[&] { w.rows = kMost / 8; }, "larger than any memory", kOutOfRange},
      {[&] { w.depth = kMost - 3; }, "larger than any memory", kOutOfRange},
      {[&] { w.row_stride_bytes = 15; }, "row_stride_bytes = 15"},
      {[&] { w.row_stride_bytes = kMost; }, "overflow", kOutOfRange},
      {[&] { w.scale_stride = 1; }, "scale_stride = 1"},
      {[&] { w.levels = nullptr; }, "levels is null"},
      {[&] { w.scales = nullptr; }, "scales is null"},
      {[&] { scales[3] = -kInf; }, "row 1, group 1 is -inf"},
      {[&] { scales[3] = kInf; }, "row 1, group 1 is inf"},
      {[&] { scales[3] = kNan; }, "row 1, group 1 is nan"},
      {[&] { w.scale_type = Scalar::kF64; }, "scale_type"},
      {[&] { w.zero_point = 16; }, "zero_point = 16"},
      {[&] { w.zero_point = -1; }, "zero_point = -1"},
      {[&] { w.bits = 8, w.zero_point = 128; }, "zero_point = 128"},
      {[&] { w.zero_points = zeros, zeros[2] = 16; }, "row 1, group 0 is 16"},
      {[&] { w.bits = 2; }, "table is null of weights of 2 bits"},
      {[&] { w.bits = 8, w.table = table; }, "table is not null"},
      {[&] { w.table = table, w.zero_point = 128; }, "not in [-128, 127]"},
      {[&] { w.bits = 2, w.table = table, w.row_stride_bytes = 7; },
       "less than the 8 bytes"},
      {[&] { order[7] = 32; }, "depth_order[7] = 32 is not in [0, 32)"},
      {[&] { order[31] = -1; }, "depth_order[31] = -1"},
      {[&] { order[9] = 3; }, "depth_order[9] = 3 is there twice"},
  };
  for (const auto& c : kCases) {
    weights = good;
    scales[3] = 1;
    std::iota(order, order + 32, 0);
    w.depth_order = order;
    c.change();
    ExpectRefused(c.words, c.code);
  }
  ExpectStatus(PackGroupWeights(good, nullptr).status(), kInvalid,
               {"context is null"});
}

struct GroupMulErrorsTest : GroupErrorsTest {
  GroupMulErrorsTest() { packed = *PackGroupWeights(weights, &context); }

  PackedGroupWeights packed;
  float values[32 * 3] = {};
  float result[2 * 3] = {};
};

TEST_F(GroupMulErrorsTest, EachArgument) {
  Matrix<float> rhs, dst;
  GroupMulParams params;
  const struct {
    std::function<void()> change;
    const char* words;
  } kCases[] = {
      {[&] { rhs.mutable_layout()->set_rows(31); },
       "lhs columns = 32, rhs rows = 31"},
      {[&] { dst.mutable_layout()->set_rows(1); }, "dst is 1x3"},
      {[&] { dst.mutable_layout()->set_cols(2); }, "dst is 2x2"},
      {[&] { rhs.set_data(static_cast<float*>(nullptr)); }, "rhs"},
      {[&] { dst.set_data(static_cast<float*>(nullptr)); }, "dst"},
      {[&] { params.clamp_min = 3, params.clamp_max = 2; }, "clamp_min = 3"},
      {[&] { params.clamp_min = kNan; }, "clamp_min"},
      {[&] { params.channel_dimension = static_cast<ChannelDimension>(7); },
       "channel dimension 7"},
      {[&] { params.quantize = static_cast<ActivationScales>(7); },
       "quantize 7"},
      {[&] { params.activation_scales = scales; }, "activation_scales"},
      {[&] { rhs.set_zero_point(1); }, "zero point"},
      {[&] { rhs.set_data(result); }, "shares elements with rhs"},
      {[&] { params.bias = result; }, "shares elements with bias"},
  };
  for (const auto& c : kCases) {
    rhs = MakeMatrix(values, 32, 3, Order::kColMajor);
    dst = MakeMatrix(result, 2, 3, Order::kColMajor);
    params = GroupMulParams();
    for (float& value : result) value = 77;
    c.change();
    ExpectStatus(Mul(packed, rhs, params, &context, &dst),
                 absl::StatusCode::kInvalidArgument, {c.words});
    EXPECT_THAT(result, testing::Each(77));
  }
  rhs = MakeMatrix(values, 32, 3, Order::kColMajor);
  dst = MakeMatrix(result, 2, 3, Order::kColMajor);
  params = GroupMulParams();
  EXPECT_FALSE(Mul(packed, rhs, params, nullptr, &dst).ok());
  EXPECT_FALSE(
      Mul(packed, rhs, params, &context, static_cast<Matrix<float>*>(nullptr))
          .ok());
  EXPECT_FALSE(Mul(packed, rhs, params, &context, &dst, {-1}).ok());
}

// ## Files

// Weights of 4 bits without and with a table, of 2 bits, and of 4 bits with a
// depth order.
struct GroupFilesTest : testing::TestWithParam<int> {
  GroupFilesTest() {
    Rng rng(11);
    RandomGroupWeights weights(35, 100, GetParam() == 2 ? 2 : 4, 32,
                               Scalar::kBF16, true, 0, 1, &rng,
                               /*has_table=*/GetParam() == 1);
    if (GetParam() == 3) weights.Shuffle(&rng);
    packed = *PackGroupWeights(weights.description, &context);
    bytes = packed.Serialize().size();
    EXPECT_TRUE(AlignedBuffer::Allocate(bytes, &copy));
    image = static_cast<char*>(copy.data());
    std::memcpy(image, packed.Serialize().data(), bytes);
  }
  absl::Status Read(std::size_t size, VerifyChecksum verify) {
    return PackedGroupWeights::FromBytes(image, size, verify).status();
  }
  // The last 8 of the header's bytes are the checksum of those before.
  void MakeHeaderChecksumRight() {
    const std::uint64_t checksum = Checksum64(image, 120, 0x68656164);
    std::memcpy(image + 120, &checksum, sizeof(checksum));
  }

  Context context;
  PackedGroupWeights packed;
  std::size_t bytes;
  AlignedBuffer copy;
  char* image;
};

TEST_P(GroupFilesTest, ComeBack) {
  const auto read = PackedGroupWeights::FromBytes(image, bytes);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->rows(), 35);
  EXPECT_EQ(read->depth(), 100);
  EXPECT_EQ(read->bits(), GetParam() == 2 ? 2 : 4);
  EXPECT_EQ(read->group_size(), 32);
  EXPECT_EQ(read->Serialize().data(), image);
  std::vector<float> values(100);
  std::iota(values.begin(), values.end(), -40.0f);
  const Matrix<float> rhs = MakeMatrix(values.data(), 100, 1, Order::kColMajor);
  EXPECT_EQ(MulTo<float>(packed, rhs, GroupMulParams(), &context),
            MulTo<float>(*read, rhs, GroupMulParams(), &context));
}
// Readers of version 1 know no tables, those of version 2 no depth order, and
// the bytes of theirs were zeros.
TEST_P(GroupFilesTest, VersionIsTheOldestThatServes) {
  std::uint32_t version;
  std::memcpy(&version, image + 12, sizeof(version));
  EXPECT_EQ(version, GetParam() == 3 ? 3u : GetParam() == 0 ? 1u : 2u);
  EXPECT_EQ(image[58] != 0, GetParam() == 1 || GetParam() == 2);
  for (const std::uint32_t other : {0, 4}) {
    std::memcpy(image + 12, &other, sizeof(other));
    MakeHeaderChecksumRight();
    EXPECT_EQ(Read(bytes, VerifyChecksum::kNo).code(),
              absl::StatusCode::kFailedPrecondition);
  }
}
TEST_P(GroupFilesTest, DamageIsSeen) {
  for (std::size_t i = 0; i < bytes; i += i < 128 ? 1 : 61) {
    image[i] ^= 4;
    EXPECT_FALSE(Read(bytes, VerifyChecksum::kYes).ok()) << "byte " << i;
    image[i] ^= 4;
  }
  for (std::size_t size = 0; size < bytes; size += 37) {
    EXPECT_FALSE(Read(size, VerifyChecksum::kNo).ok()) << size << " bytes";
  }
  EXPECT_TRUE(Read(bytes, VerifyChecksum::kYes).ok());
  EXPECT_FALSE(PackedGroupWeights::FromBytes(nullptr, bytes).ok());
  EXPECT_FALSE(PackedGroupWeights::FromBytes(image + 4, bytes - 4).ok());
  if (GetParam() != 3) return;
  // Products would read outside of their activations.
  image[bytes - 448] = 100;
  ExpectStatus(Read(bytes, VerifyChecksum::kNo), absl::StatusCode::kDataLoss,
               {"depth_order[0] = 100 is not in [0, 100)"});
}
INSTANTIATE_TEST_SUITE_P(Codes, GroupFilesTest, testing::Values(0, 1, 2, 3));
// With a right checksum the header is believed only as far as it makes sense.
TEST_P(GroupFilesTest, ForgedHeaders) {
  const std::string header(image, 128);
  Rng rng(5);
  for (int i = 0; i < 20000; ++i) {
    std::memcpy(image, header.data(), header.size());
    for (int change = 0; change < 3; ++change) {
      image[16 + rng.Between(0, 60)] = static_cast<char>(
          rng.OneIn(2) ? rng.Next() : (rng.OneIn(2) ? 0 : 0xff));
    }
    MakeHeaderChecksumRight();
    const auto read =
        PackedGroupWeights::FromBytes(image, bytes, VerifyChecksum::kNo);
    if (read.ok()) {
      EXPECT_LE(read->Serialize().size(), bytes);
    }
  }
}

}  // namespace
}  // namespace ruy_like
