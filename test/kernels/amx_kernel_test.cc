// The AMX kernels, on tiles of this machine's own or with --emulate_amx
// (amx_emulation/amx_emulation.h), where how they use tiles is looked at too.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "test/amx_emulation/amx_emulation.h"
#include "test/support/kernel_harness.h"

namespace ruy_like::kernels {
namespace {

class AmxKernelTest : public KernelTest {
 protected:
  void Check(const KernelProblem& problem) override {
    if (HasFatalFailure()) return;
    EmulatedTileUnit().ResetCounts();
    KernelTest::Check(problem);
    if (!IsAmxEmulated()) return;
    ASSERT_FALSE(EmulatedTileUnit().is_configured()) << "tiles not released";
    ASSERT_GT(EmulatedTileUnit().counts().products, 0);
  }
};

TEST_P(AmxKernelTest, Edges) {
  CheckSizes({1, 15, 16, 17, 31, 32, 33, 47, 49, 64, 65, 97},
             {1, 2, 15, 16, 17, 31, 32, 33, 48, 49, 65},
             {1, 4, 63, 64, 65, 127, 192, 250});
}

// Depths that tiles are configured for, and their neighbours.
TEST_P(AmxKernelTest, ShallowDepths) {
  std::vector<ptrdiff_t> depths(68);
  std::iota(depths.begin(), depths.end(), 1);
  CheckSizes({70}, {5, 32, 50}, depths);
}

// Every mixture of the options of the epilogue, on a shape with all kinds of
// tile blocks but for one.
TEST_P(AmxKernelTest, Epilogues) {
  for (int i = 0; i < 1500; ++i) {
    Check(Draw(i % 3 == 0 ? 50 : 83, i % 2 == 0 ? 37 : 20, 70));
  }
}

// Every way in which a quantized epilogue can go, with results that spread over
// dst's range: both orders, types and directions of channels, sizes around the
// edges of squares, of quarters of them and of tiles, and several passes.
TEST_P(AmxKernelTest, QuantizedEpilogues) {
  int i = 3000;
  const int sizes[] = {1, 3, 4, 5, 12, 15, 16, 17, 29, 32, 33, 50, 64, 65};
  for (const Scalar dst : {Scalar::kI8, Scalar::kU8, Scalar::kI16}) {
    for (int bits = 0; bits < 16; ++bits) {
      for (const int rows : sizes) {
        for (const int cols : {sizes[i % 14], sizes[i / 14 % 14]}) {
          KernelProblem p = {rows, cols, /*depth=*/276};
          if (i++ % 3 == 0) p.passes = {64, 192, 20};
          p.dst_scalar = dst;
          p.col_major = (bits & 1) == 0;
          p.channels_are_rows = (bits & 2) != 0;
          p.per_channel = (bits & 4) != 0;
          // What the fast one takes, and what it leaves to the general one.
          p.exponents = {dst == Scalar::kI16 ? -6 : -14, bits & 8 ? -2 : 0};
          p.dst_gap = i % 2 * 5;
          p.rhs_gap = i % 5;
          p.dst_zero_point = dst == Scalar::kI16  ? 0
                             : dst == Scalar::kU8 ? 100
                                                  : i % 20;
          p.lhs_zero_point = i % 7 == 0 ? 3 : 0;
          if (i % 4 == 0) p.clamp_min = -33, p.clamp_max = 90;
          Check(p);
        }
      }
    }
  }
}

// Zero points that the fast epilogue's floats have no room for, or just.
TEST_P(AmxKernelTest, FarDstZeroPoints) {
  for (const int32_t zero_point :
       {-40000, -256, -255, -128, -127, 255, 256, 383, 384, 40000}) {
    for (const bool col_major : {false, true}) {
      for (const Scalar dst : {Scalar::kI8, Scalar::kU8}) {
        KernelProblem p = {40, 36, 64};
        p.dst_scalar = dst;
        p.col_major = col_major;
        p.dst_zero_point = zero_point;
        p.exponents = {-3, -2};
        Check(p);
      }
    }
  }
}

// Long streams of tile blocks, more rows than one range has (512), tile loads
// that bypass L1 or not and all densities of the epilogue's units.
TEST_P(AmxKernelTest, ManyBlocks) {
  for (const int rows : {20, 100, 600}) {
    for (const int cols : {5, 64, 75, 200}) {
      for (const int depth : {33, 180, 320, 1111, 3100}) {
        if (rows * depth > 400 * 1111) continue;  // tests want to end
        KernelProblem p = Draw(rows, cols, depth);
        p.passes.clear();
        Check(p);
        if (!IsAmxEmulated()) continue;
        const TileCounts& counts = EmulatedTileUnit().counts();
        EXPECT_LE(counts.configurations, rows > 512 ? 4 : 2);
        // Loads of the lhs's tiles bypass L1: one for two products in blocks
        // of 32 columns, else one for each. In deep blocks of 32 columns those
        // of the rhs do, too.
        EXPECT_GE(counts.streaming_loads, counts.products / 2);
        if (cols == 64) {
          EXPECT_EQ(counts.streaming_loads,
                    depth < 48 * 64 ? counts.products / 2 : counts.products);
        }
      }
    }
  }
}

TEST_P(AmxKernelTest, DepthPasses) {
  for (const int rows : {1, 16, 33, 64, 90, 530}) {
    for (const int cols : {1, 16, 17, 40, 70}) {
      for (const std::vector<ptrdiff_t>& passes :
           {std::vector<ptrdiff_t>{64, 64},
            {64, 1},
            {128, 64, 77},
            {192, 320}}) {
        for (int i = 0; i < (rows > 512 ? 1 : 4); ++i) {
          KernelProblem p =
              Draw(rows, cols,
                   std::accumulate(passes.begin(), passes.end(), ptrdiff_t{0}));
          p.passes = passes;
          Check(p);
        }
      }
    }
  }
}

TEST_P(AmxKernelTest, ExtremeValues) {
  for (const Fill fill : {Fill::kLowest, Fill::kHighest, Fill::kAlternating}) {
    for (const int depth : {64, 100, 3000}) {
      for (int i = 0; i < 8; ++i) {
        KernelProblem p = Draw(35, 34, depth);
        p.lhs_fill = p.rhs_fill = fill;
        Check(p);
      }
    }
  }
}

// Accumulators that wrap around: 140,000 * 128 * 128 > 2^31.
TEST_P(AmxKernelTest, DeepWraps) {
  for (const Scalar dst : {Scalar::kI32, Scalar::kI8}) {
    KernelProblem p = {17, 3, 140000};
    p.lhs_fill = p.rhs_fill = Fill::kLowest;
    p.dst_scalar = dst;
    p.lhs_zero_point = 3;
    p.exponents = {-20, -14};
    Check(p);
  }
}

// Accumulators and multipliers, one of each a channel, for which scaling is to
// be right.
struct Scalings {
  std::vector<int32_t> acc, fixedpoint, exponent;

  // Near `result` - 1/2, on either side or exactly there, where a multiplier
  // can take an accumulator at all.
  void AddNearTies(int result, int64_t multiplier, int exp) {
    const double x =
        multiplier == 0 ? 0 : std::ldexp(result - 0.5, 31 - exp) / multiplier;
    if (std::abs(x) > 2147483000.0) return;
    const int32_t nearest = static_cast<int32_t>(std::lround(x));
    for (const int32_t off : {-1, 0, 1}) Add(nearest + off, multiplier, exp);
  }
  // The same by the multiplier's choice.
  void AddNearTiesOf(int result, int32_t x, int exp) {
    const double multiplier =
        x == 0 ? 0 : std::ldexp(result - 0.5, 31 - exp) / x;
    if (multiplier < 1 || multiplier > 2147483000.0) return;
    const int64_t nearest = std::lround(multiplier);
    for (const int off : {-1, 0, 1}) Add(x, nearest + off, exp);
  }
  void Add(int32_t x, int64_t multiplier, int exp) {
    acc.push_back(x);
    fixedpoint.push_back(static_cast<int32_t>(multiplier));
    exponent.push_back(exp);
  }
};

// Results as near to their rounding's ties as int32 allows, for every exponent
// that estimates serve, of every kind of multiplier; and overflow. Operands are
// zeros, so that accumulators are the bias.
TEST_P(AmxKernelTest, NearTies) {
  const auto pick = [this](int64_t low, int64_t high) {
    return rng_.Between(low, high);
  };
  const auto bit = [&pick] { return int64_t{1} << pick(0, 30); };
  constexpr int64_t kMost = INT32_MAX;
  int variant = 0;
  for (int exponent = -31; exponent <= 0; ++exponent) {
    for (int kind = 0; kind < 7; ++kind) {
      ++variant;
      const int32_t zero_points[] = {-255, -128, 0, 3, 127, 128, 255, 383};
      const int32_t zero_point = zero_points[variant / 4 % 8];
      Scalings s;
      for (int i = 0; i < 150; ++i) {
        const int64_t edge = pick(0, 1) == 0 ? -128 : 127;
        const int result = static_cast<int>(
            (i % 4 == 0 ? edge + pick(-2, 2) : pick(-130, 258)) - zero_point);
        const int64_t multipliers[] = {pick(1 << 30, kMost), pick(0, kMost),
                                       bit(), kMost - pick(0, 99),
                                       std::min(kMost, bit() | bit() | bit())};
        if (kind < 5) s.AddNearTies(result, multipliers[kind], exponent);
        if (kind == 5) {
          const int64_t most = (int64_t{1} << pick(1, 31)) - 1;
          s.AddNearTiesOf(result, static_cast<int32_t>(pick(-most, most)),
                          exponent);
        }
        if (kind == 6 || i == 0) {
          s.Add(static_cast<int32_t>(pick(-kMost - 1, kMost)),
                i % 2 == 0 ? pick(0, kMost) : bit(), exponent);
        }
      }
      const ptrdiff_t channels = static_cast<ptrdiff_t>(s.acc.size());
      KernelProblem p = {1, 1, 64};
      p.lhs_fill = p.rhs_fill = Fill::kZero;
      p.dst_scalar = variant % 2 == 0 ? Scalar::kI8 : Scalar::kU8;
      p.dst_zero_point = zero_point;
      p.channels_are_rows = (variant & 4) != 0;
      (p.channels_are_rows ? p.rows : p.cols) = channels;
      p.col_major = (variant & 8) == 0;
      p.dst_gap = 0;
      p.exponents = {exponent, 0};
      const auto run = KernelRun::Make(kernel(), p, &rng_);
      for (ptrdiff_t i = 0; i < channels; ++i) {
        run->SetBias(i, s.acc[i]);
        run->SetMultiplier(i, s.fixedpoint[i], s.exponent[i]);
      }
      run->Execute();
      ASSERT_TRUE(run->Check());
    }
  }
}

RUY_LIKE_INSTANTIATE_PER_KERNEL(AmxKernelTest, KernelShape::kTiles);

}  // namespace
}  // namespace ruy_like::kernels
