// The AMX kernel of weights with group scales, by its contract: sizes and
// numbers of columns that products do not bring to it, too. On tiles of this
// machine's own or with --emulate_amx (amx_emulation/amx_emulation.h), where
// how it uses tiles is looked at too.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "ruy_like/group_weights.h"
#include "ruy_like/kernels/groups/group_args.h"
#include "ruy_like/registry/registry.h"
#include "test/amx_emulation/amx_emulation.h"
#include "test/support/group_problem.h"
#include "test/support/guarded_buffer.h"
#include "test/support/test_util.h"

namespace ruy_like::kernels {
namespace {

ptrdiff_t StepsOf(const GroupSizes& sizes) {
  return sizes.groups == 0
             ? 0
             : (sizes.groups - 1) * sizes.group_steps + sizes.last_group_steps;
}

// The kernel of 8 bits; that of 4 multiplies the same panels.
const Kernel* AmxGroupKernel() {
  const KernelTable table = KernelsOf(Path::kAmx);
  for (int i = 0; i < table.count; ++i) {
    const Kernel& kernel = table.kernels[i];
    if (kernel.family == Family::kGroupScaled && kernel.pack_lhs == nullptr) {
      return &kernel;
    }
  }
  return nullptr;
}

// The corrections of a group's sums.
struct GroupKind {
  bool column_scales, row_zeros, column_zeros;
};
constexpr GroupKind kKinds[] = {{false, false, false}, {true, false, false},
                                {false, true, false},  {true, true, false},
                                {false, false, true},  {false, true, true}};
constexpr int kNumKinds = sizeof(kKinds) / sizeof(kKinds[0]);

// Arguments with random arrays, each of which ends at a guard page.
struct KernelCall {
  KernelArgs args = {};
  GroupArgs groups = {};
  EpilogueArgs epilogue = {};
  ScaleArgs column_scale = {};
  const float one = 1;
  const ptrdiff_t dst_rows;
  GuardedBuffer codes, scales, zeros, row_sums, activations, starts,
      group_scales, column_zeros, dst;

  KernelCall(ptrdiff_t rows, int cols, const GroupSizes& sizes,
             const GroupKind& kind, Rng* rng)
      : KernelCall(rows, cols, sizes, kind,
                   (rows + 15) / 16 * sizes.groups * 16,
                   StepsOf(sizes) * kGroupStepDepth,
                   8 * static_cast<ptrdiff_t>(rng->Between(0, 2)), rng) {}

  template <typename T>
  static void Fill(GuardedBuffer* buffer, int low, int high, Rng* rng) {
    for (std::size_t i = 0; i < buffer->bytes() / sizeof(T); ++i) {
      buffer->as<T>()[i] =
          static_cast<T>(rng->OneIn(4) ? (rng->OneIn(2) ? low : high)
                                       : rng->Between(low, high));
    }
  }

  std::vector<float> Expected() {
    std::vector<float> result(dst.bytes() / sizeof(float), kUnwritten);
    for (ptrdiff_t row = 0; row < args.rows; ++row) {
      for (int col = 0; col < args.cols; ++col) {
        result[row + col * dst_rows] = ExpectedElement(row, col);
      }
    }
    return result;
  }

  static constexpr float kUnwritten = 12345;

 private:
  KernelCall(ptrdiff_t rows, int cols, const GroupSizes& sizes,
             const GroupKind& kind, ptrdiff_t values, ptrdiff_t depth,
             ptrdiff_t gap, Rng* rng)
      : dst_rows(rows + gap),
        codes((rows + 15) / 16 * 16 * depth, Flush::kEnd),
        scales(values * 4, Flush::kEnd),
        zeros(values, Flush::kEnd),
        row_sums((rows + 79) / 16 * 16 * 4, Flush::kEnd),
        activations(depth == 0 ? 0 : (cols - 1) * (depth + gap) + depth,
                    Flush::kEnd),
        starts(sizes.groups * cols * 4, Flush::kEnd),
        group_scales(sizes.groups * cols * 4, Flush::kEnd),
        column_zeros(cols, Flush::kEnd),
        dst(((cols - 1) * dst_rows + rows) * 4, Flush::kEnd) {
    Fill<std::uint8_t>(&codes, 0, 255, rng);
    Fill<std::int8_t>(&activations, -128, 127, rng);
    Fill<std::uint8_t>(&zeros, 0, 255, rng);
    Fill<float>(&row_sums, -100000, 100000, rng);
    Fill<std::int32_t>(&starts, -100000, 100000, rng);
    Fill<std::int8_t>(&column_zeros, -128, 127, rng);
    for (GuardedBuffer* floats : {&scales, &group_scales}) {
      for (std::size_t i = 0; i < floats->bytes() / 4; ++i) {
        floats->as<float>()[i] = RandomFloat(rng);
      }
    }
    std::fill_n(dst.as<float>(), dst.bytes() / 4, kUnwritten);
    args.lhs = codes.data();
    args.lhs_stride_bytes = 16 * depth;
    args.rhs = activations.data();
    args.rhs_stride_bytes = depth + gap;
    args.rows = rows;
    args.cols = cols;
    args.depth = depth;
    args.first_pass = args.last_pass = true;
    args.epilogue = &epilogue;
    args.groups = &groups;
    groups.sizes = sizes;
    groups.scales = scales.data();
    groups.scale_type = Scalar::kF32;
    groups.starts = starts.as<std::int32_t>();
    groups.group_stride = cols;
    // Arrays that a kind does not use are null.
    if (kind.column_scales) groups.group_scales = group_scales.as<float>();
    if (kind.row_zeros) groups.zeros = zeros.as<std::uint8_t>();
    if (kind.column_zeros) {
      groups.row_sums = row_sums.as<float>();
      groups.column_zeros = column_zeros.as<std::int8_t>();
    }
    column_scale.rhs = &one;
    epilogue.dst = dst.data();
    epilogue.dst_row_stride = 1;
    epilogue.dst_col_stride = dst_rows;
    epilogue.dst_scalar = Scalar::kF32;
    epilogue.scales = &column_scale;
    epilogue.clamp_min_f = -kInf;
    epilogue.clamp_max_f = kInf;
  }

  float ExpectedElement(ptrdiff_t row, int col) {
    const std::uint8_t* code = codes.as<std::uint8_t>() +
                               row / 16 * args.lhs_stride_bytes + row % 16 * 4;
    const std::int8_t* activation =
        activations.as<std::int8_t>() + col * args.rhs_stride_bytes;
    float f = 0;
    for (ptrdiff_t group = 0; group < groups.sizes.groups; ++group) {
      const ptrdiff_t steps = group + 1 < groups.sizes.groups
                                  ? groups.sizes.group_steps
                                  : groups.sizes.last_group_steps;
      std::int64_t acc = 0;
      for (ptrdiff_t k = 0; k < steps * kGroupStepDepth; ++k) {
        acc += code[k / 4 * 64 + k % 4] * activation[k];
      }
      code += steps * 128;
      activation += steps * kGroupStepDepth;
      const ptrdiff_t of_row =
          (row / 16 * groups.sizes.groups + group) * 16 + row % 16;
      const ptrdiff_t of_column = group * args.cols + col;
      const std::int64_t start = groups.starts[of_column];
      float scale = scales.as<float>()[of_row];
      acc += groups.zeros != nullptr ? start * groups.zeros[of_row] : start;
      if (groups.group_scales != nullptr) {
        scale *= groups.group_scales[of_column];
      }
      f = std::fma(static_cast<float>(static_cast<std::int32_t>(acc)), scale,
                   f);
    }
    if (groups.column_zeros != nullptr && groups.column_zeros[col] != 0) {
      f = std::fma(static_cast<float>(-groups.column_zeros[col]),
                   groups.row_sums[row], f);
    }
    return f;
  }
};

class AmxGroupKernelTest : public PathTest {
 protected:
  // Fails fatally on an element that is wrong, or one outside of dst.
  void Check(ptrdiff_t rows, int cols, const GroupSizes& sizes,
             const GroupKind& kind) {
    if (HasFatalFailure()) return;
    KernelCall call(rows, cols, sizes, kind, &rng_);
    EmulatedTileUnit().ResetCounts();
    AmxGroupKernel()->run(&call.args);
    const std::vector<float> expected = call.Expected();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_TRUE(SameFloat(call.dst.as<float>()[i], expected[i]))
          << call.dst.as<float>()[i] << ", not " << expected[i] << ", row "
          << i % call.dst_rows << " of " << rows << ", column "
          << i / call.dst_rows << " of " << cols << ", groups " << sizes.groups
          << " of " << sizes.group_steps << " steps, the last "
          << sizes.last_group_steps << ", kind " << &kind - kKinds;
    }
    ASSERT_FALSE(EmulatedTileUnit().is_configured()) << "tiles not released";
    if (IsAmxEmulated() && sizes.groups != 0) {
      ASSERT_EQ(EmulatedTileUnit().counts().configurations, 1);
    }
  }

  Rng rng_{1};
};

TEST_P(AmxGroupKernelTest, AllNumbersOfColumns) {
  for (int cols = 1; cols <= AmxGroupKernel()->tile_cols; ++cols) {
    for (const ptrdiff_t rows : {1, 16, 31, 33, 64, 65, 145}) {
      for (const GroupKind& kind : kKinds) {
        Check(rows, cols, {3, 4, 4}, kind);
        Check(rows, cols, {2, 20, 3}, kind);
      }
    }
  }
}

// All ways to cut groups into chunks and rests, up to 32 steps, the last group
// of each size that it can have.
TEST_P(AmxGroupKernelTest, AllSizesOfGroups) {
  for (ptrdiff_t steps = 2; steps <= 32; steps += 2) {
    for (ptrdiff_t last = 1; last <= steps; ++last) {
      const GroupKind& kind = kKinds[last % kNumKinds];
      Check(33, 17, {3, steps, last}, kind);
      Check(20, 16, {2, steps, last}, kind);
    }
  }
  // Whole rows, of any number of steps.
  for (ptrdiff_t steps = 1; steps <= 40; ++steps) {
    Check(40, steps % 2 == 0 ? 20 : 11, {1, 0, steps},
          kKinds[steps % kNumKinds]);
    Check(40, steps % 2 == 0 ? 11 : 20, {1, steps, steps},
          kKinds[steps % kNumKinds]);
  }
}

TEST_P(AmxGroupKernelTest, NumbersOfGroups) {
  for (const ptrdiff_t groups : {0, 1, 2, 3, 4, 5, 30}) {
    for (const ptrdiff_t rows : {5, 32, 64, 130}) {
      for (const int cols : {16, 32}) {
        for (const GroupKind& kind : kKinds) {
          Check(rows, cols, {groups, 2, groups == 0 ? 0 : 2}, kind);
        }
      }
    }
  }
}

// Products for a block of rows: chunks are as few as can be, and have the same
// size where that takes no more of them.
TEST_P(AmxGroupKernelTest, Chunks) {
  if (!IsAmxEmulated()) GTEST_SKIP() << "tile instructions are not counted";
  const struct {
    GroupSizes sizes;
    int chunks;
  } kCases[] = {
      {{1, 0, 4}, 1},   {{5, 4, 4}, 5},  {{5, 4, 1}, 5},   {{3, 8, 8}, 3},
      {{2, 16, 16}, 4}, {{2, 16, 9}, 4}, {{2, 12, 12}, 4}, {{2, 20, 20}, 6},
      {{2, 12, 11}, 4}, {{1, 0, 38}, 5}, {{2, 20, 5}, 11},  // rests of one step
  };
  for (const auto& c : kCases) {
    for (const int cols : {16, 32}) {
      Check(/*rows=*/30, cols, c.sizes, kKinds[0]);
      EXPECT_EQ(EmulatedTileUnit().counts().products, 4 * c.chunks)
          << c.sizes.groups << " of " << c.sizes.group_steps << ", "
          << c.sizes.last_group_steps;
    }
  }
}

// Products by so many columns take the kernel, by fewer the next path's.
TEST_P(AmxGroupKernelTest, ServesManyColumns) {
  const struct {
    int bits;
    bool has_table;
    int least;  // by groups of 32 levels
    const char *many, *few;
  } kCodes[] = {{4, false, 68, "Amx_G4W8S8_64x32x8", "Avx512Vnni_G4S8_64x8x8"},
                {8, false, 9, "Amx_G8S8_64x32x8", "Avx512Vnni_G8S8_32x8x8"},
                {4, true, 68, "Amx_T4W8S8_64x32x8", "Avx512Vnni_T4S8_64x8x8"},
                {2, true, 68, "Amx_T2W8S8_64x32x8", "Avx512Vnni_T2S8_64x8x16"}};
  for (const auto& [bits, has_table, least, many, few] : kCodes) {
    RandomGroupWeights weights(40, 64, bits, 32, Scalar::kF32, false, 0, 1,
                               &rng_, has_table);
    const auto packed = PackGroupWeights(weights.description, &context_);
    ASSERT_TRUE(packed.ok()) << packed.status();
    for (const int cols : {1, least - 1, least, 100}) {
      const std::vector<float> values = RandomReals<float>(64 * cols, &rng_);
      std::vector<float> result(40 * cols);
      Matrix<float> dst = MakeMatrix(result.data(), 40, cols, Order::kColMajor);
      EmulatedTileUnit().ResetCounts();
      ASSERT_TRUE(
          Mul(*packed, MakeMatrix(values.data(), 64, cols, Order::kColMajor),
              GroupMulParams(), &context_, &dst, {/*max_num_threads=*/1})
              .ok());
      const bool is_many = cols >= least;
      EXPECT_EQ(context_.last_used_path(), Path::kAmx);
      const std::string kernel = context_.last_used_kernel();
      EXPECT_EQ(kernel == many, is_many) << bits << " bits, " << cols;
      if (cols == 1) {
        EXPECT_EQ(kernel, few);
      }
      if (!IsAmxEmulated()) continue;
      EXPECT_EQ(EmulatedTileUnit().counts().products > 0, is_many);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Paths, AmxGroupKernelTest,
    testing::ValuesIn(PathsBestFirst(DetectedPaths() & Path::kAmx)),
    [](const testing::TestParamInfo<Path>&) { return std::string("amx"); });

}  // namespace
}  // namespace ruy_like::kernels
