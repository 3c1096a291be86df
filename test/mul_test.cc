// Mul against the reference, on every path: types, orders, shapes, strides.
// What happens to the accumulators is mul_epilogue_test.cc's subject, extreme
// elements extreme_values_test.cc's; floats that are not numbers
// float_mul_test.cc's.
#include "ruy_like/mul.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "ruy_like/registry/registry.h"
#include "test/support/mul_problem.h"
#include "test/support/mul_runner.h"
#include "test/support/sanitizers.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

using kernels::Family;

// One below, at and one above the multiples of tile sizes, and small ones.
constexpr std::ptrdiff_t kEdges[] = {1,  2,  3,  5,  7,  8,  9,  15,
                                     16, 17, 31, 32, 33, 47, 48, 49,
                                     63, 64, 65, 95, 96, 97};

// One line of each family of kernels, with different signs.
const std::vector<Types>& TypesOfEachFamily() {
  static const auto* const types = new std::vector<Types>{
      {Scalar::kI8, Scalar::kI8, Scalar::kI32, Scalar::kI8},
      {Scalar::kU8, Scalar::kI8, Scalar::kI32, Scalar::kI32},
      {Scalar::kU8, Scalar::kU8, Scalar::kI32, Scalar::kU8},
      {Scalar::kI8, Scalar::kI16, Scalar::kI32, Scalar::kI16},
      {Scalar::kI16, Scalar::kI8, Scalar::kI32, Scalar::kI32},
      {Scalar::kF32, Scalar::kF32, Scalar::kF32, Scalar::kF32},
      {Scalar::kF32, Scalar::kF64, Scalar::kF64, Scalar::kF64}};
  return *types;
}

// Zero points that are neither 0 nor the middle, where the type allows any.
void SetZeroPoints(MulProblem* problem) {
  for (MatrixSpec* spec : {&problem->lhs, &problem->rhs, &problem->dst}) {
    if (Is8Bit(spec->scalar)) {
      spec->zero_point = static_cast<std::int32_t>(LowestOf(spec->scalar) + 77);
    }
  }
}

Family FamilyOf(const Types& types) {
  return ruy_like::FamilyOf(types.lhs, types.rhs, types.accum, types.dst);
}

class MulTest : public PathTest {};
RUY_LIKE_INSTANTIATE_PER_PATH(MulTest);

TEST_P(MulTest, AllTypesInAllOrders) {
  constexpr std::ptrdiff_t kShapes[][3] = {
      {1, 1, 1},   {2, 3, 5},   {5, 17, 1}, {1, 17, 5},   {16, 32, 16},
      {17, 33, 9}, {49, 65, 7}, {3, 9, 65}, {50, 130, 25}};
  int count = 0;
  for (const Types& types : AllTypes()) {
    for (int orders = 0; orders < 8; ++orders) {
      for (const auto& shape : kShapes) {
        MulProblem p = MakeProblem(types, shape[0], shape[1], shape[2]);
        SetOrders(orders, &p);
        if (++count % 2 == 0) SetZeroPoints(&p);
        p.data_seed = count;
        ASSERT_TRUE(CheckProblem(p, &context_));
      }
    }
  }
}

TEST_P(MulTest, SizesAroundTileEdges) {
  int count = 0;
  for (const Types& types : TypesOfEachFamily()) {
    for (const std::ptrdiff_t rows : kEdges) {
      for (const std::ptrdiff_t cols : kEdges) {
        // A stride that is prime to the number of edges: each depth meets each
        // of the others before long.
        const std::ptrdiff_t depth = kEdges[(7 * ++count) % std::size(kEdges)];
        if (count % kThinning != 0) continue;
        MulProblem p = MakeProblem(types, rows, depth, cols);
        if (count % 2 == 0) p.dst.order = Order::kRowMajor;
        if (count % 3 == 0) SetZeroPoints(&p);
        p.data_seed = count;
        ASSERT_TRUE(CheckProblem(p, &context_));
      }
    }
  }
}

TEST_P(MulTest, EveryDepth) {
  constexpr std::ptrdiff_t kShapes[][2] = {{1, 1}, {17, 9}, {50, 2}, {2, 50}};
  for (const Types& types : TypesOfEachFamily()) {
    for (std::ptrdiff_t depth = 0; depth <= 130; depth += kThinning) {
      for (const auto& shape : kShapes) {
        MulProblem p = MakeProblem(types, shape[0], depth, shape[1]);
        SetOrders(static_cast<int>(depth % 8), &p);
        if (depth % 3 == 0) SetZeroPoints(&p);
        ASSERT_TRUE(CheckProblem(p, &context_));
      }
    }
  }
}

// Shapes for which packing does not pay: kernels that read in place.
TEST_P(MulTest, NarrowProducts) {
  for (const Types& types : AllTypes()) {
    for (int orders = 0; orders < 8; orders += kThinning) {
      for (const std::ptrdiff_t narrow : {1, 2, 5}) {
        for (const std::ptrdiff_t depth : {63, 300}) {
          for (const bool narrow_rows : {false, true}) {
            const std::ptrdiff_t wide = depth == 63 ? 200 : 7;
            MulProblem p = MakeProblem(types, narrow_rows ? narrow : wide,
                                       depth, narrow_rows ? wide : narrow);
            SetOrders(orders, &p);
            if (narrow % 2 == 0) SetZeroPoints(&p);
            p.lhs.gap = narrow % 3;
            ASSERT_TRUE(CheckProblem(p, &context_));
          }
        }
      }
    }
  }
}

// To beyond the width up to which narrow kernels serve.
TEST_P(MulTest, EveryNarrowWidth) {
  for (const Types& types : AllTypes()) {
    if (types.dst != Scalar::kI32 && FamilyOf(types) != Family::kF32) continue;
    for (std::ptrdiff_t narrow = 1; narrow <= 18; narrow += kThinning) {
      for (const std::ptrdiff_t depth : {1, 15, 16, 33, 130}) {
        for (int orders = 0; orders < 8; ++orders) {
          const bool narrow_rows = (narrow + depth) % 2 == 0;
          const std::ptrdiff_t wide = 19 + depth % 16;
          MulProblem p = MakeProblem(types, narrow_rows ? narrow : wide, depth,
                                     narrow_rows ? wide : narrow);
          SetOrders(orders, &p);
          if (narrow % 3 == 0) SetZeroPoints(&p);
          ASSERT_TRUE(CheckProblem(p, &context_));
        }
      }
    }
  }
}

TEST_P(MulTest, StridesWithGaps) {
  constexpr std::ptrdiff_t kGaps[] = {0, 1, 3, 64};
  for (const Types& types : AllTypes()) {
    for (int i = 0; i < 64; i += kThinning) {
      MulProblem p = MakeProblem(types, 19, 37, 21);
      SetOrders(i % 8, &p);
      p.lhs.gap = kGaps[i % 4];
      p.rhs.gap = kGaps[i / 4 % 4];
      p.dst.gap = kGaps[i / 16];
      p.lhs.flush = p.rhs.flush = p.dst.flush =
          i % 3 == 0 ? Flush::kStart : Flush::kEnd;
      p.data_seed = i;
      ASSERT_TRUE(CheckProblem(p, &context_));
    }
  }
}

// In a vector the stride plays no part; it may be anything from the inner
// dimension on.
TEST_P(MulTest, VectorsWithAnyStride) {
  constexpr std::ptrdiff_t kShapes[][3] = {{1, 40, 40}, {40, 1, 40},
                                           {40, 40, 1}, {1, 1, 40},
                                           {40, 1, 1},  {1, 40, 1}};
  for (const Types& types : TypesOfEachFamily()) {
    for (const auto& shape : kShapes) {
      for (int orders = 0; orders < 8; ++orders) {
        for (const std::ptrdiff_t gap : {0, 5}) {
          MulProblem p = MakeProblem(types, shape[0], shape[1], shape[2]);
          SetOrders(orders, &p);
          p.lhs.gap = p.rhs.gap = p.dst.gap = gap;
          SetZeroPoints(&p);
          ASSERT_TRUE(CheckProblem(p, &context_));
        }
      }
    }
  }
}

// Large enough for several blocks, also along depth.
TEST_P(MulTest, SeveralBlocks) {
  constexpr std::ptrdiff_t kShapes[][3] = {
      {300, 70, 290}, {97, 6000, 50}, {700, 33, 20}, {20, 33, 700}};
  for (const Types& types : TypesOfEachFamily()) {
    for (const auto& shape : kShapes) {
      MulProblem p = MakeProblem(types, shape[0], shape[1], shape[2]);
      SetZeroPoints(&p);
      p.bias = BiasKind::kModerate;
      ASSERT_TRUE(CheckProblem(p, &context_));
    }
  }
}

TEST_P(MulTest, DepthZeroGivesTheEpilogueOfZero) {
  for (const Types& types : AllTypes()) {
    for (const bool bias : {false, true}) {
      for (int orders = 0; orders < 8; ++orders) {
        MulProblem p = MakeProblem(types, 9, 0, 19);
        SetOrders(orders, &p);
        SetZeroPoints(&p);
        if (bias) p.bias = BiasKind::kModerate;
        ASSERT_TRUE(CheckProblem(p, &context_));
      }
    }
  }
}

TEST_P(MulTest, EmptyDstIsANoOp) {
  constexpr std::ptrdiff_t kShapes[][3] = {
      {0, 5, 7}, {7, 5, 0}, {0, 5, 0}, {0, 0, 7}, {0, 0, 0}};
  for (const Types& types : AllTypes()) {
    for (const auto& shape : kShapes) {
      MulProblem p = MakeProblem(types, shape[0], shape[1], shape[2]);
      p.lhs.gap = p.rhs.gap = p.dst.gap = 1;
      ASSERT_TRUE(CheckProblem(p, &context_));
    }
  }
}

TEST_P(MulTest, OperandsOfDepthZeroMayBeNull) {
  const auto lhs =
      MakeMatrix(static_cast<std::int8_t*>(nullptr), 2, 0, Order::kRowMajor);
  const auto rhs =
      MakeMatrix(static_cast<std::int8_t*>(nullptr), 0, 3, Order::kColMajor);
  std::vector<std::int32_t> values(6, -1);
  auto dst = MakeMatrix(values.data(), 2, 3, Order::kColMajor);
  MulParams<std::int32_t, std::int32_t> params;
  ASSERT_TRUE(Mul(lhs, rhs, params, &context_, &dst).ok());
  EXPECT_EQ(values, std::vector<std::int32_t>(6, 0));
}

// Sums of products beyond 32 bits wrap; the zero points make the terms 9 bits
// wide.
TEST_P(MulTest, DeepSumsWrap) {
  constexpr std::ptrdiff_t kShapes[][3] = {
      {1, 140000, 1}, {3, 140000, 2}, {20, 100003, 7}};
  for (const Types& types : IntegerTypes()) {
    if (types.dst != Scalar::kI32) continue;
    for (const auto& shape : kShapes) {
      MulProblem p = MakeProblem(types, shape[0], shape[1], shape[2]);
      p.lhs.fill = p.rhs.fill = Fill::kLowest;
      ASSERT_TRUE(CheckProblem(p, &context_));
      if (Is8Bit(types.lhs)) p.lhs.zero_point = HighestOf(types.lhs);
      if (Is8Bit(types.rhs)) p.rhs.zero_point = HighestOf(types.rhs);
      ASSERT_TRUE(CheckProblem(p, &context_));
    }
  }
}

// A path is what it is called: it runs its own kernels where it has some. (Of
// a size that is not too small for AMX.)
TEST_P(MulTest, RunsThePathsOwnKernels) {
  for (const Types& types : AllTypes()) {
    MulProblem p = MakeProblem(types, 64, 64, 64);
    ASSERT_TRUE(CheckProblem(p, &context_));
    const Family family = FamilyOf(types);
    // Doubles are for the portable path alone.
    EXPECT_EQ(context_.last_used_path(),
              family == Family::kF64 ? Path::kPortable : GetParam())
        << TypesName(p);
    const std::string kernel = context_.last_used_kernel();
    bool has_some = false, is_own = false;
    const kernels::KernelTable table = KernelsOf(GetParam());
    // Kernels of 16-bit floats serve no other ones.
    const auto reads = [](const kernels::PanelFormat& format, Scalar scalar) {
      return !Is16BitFloat(format.scalar) || format.scalar == scalar;
    };
    for (int i = 0; i < table.count; ++i) {
      const kernels::Kernel& own = table.kernels[i];
      has_some =
          has_some || (own.family == family && reads(own.lhs, types.lhs) &&
                       reads(own.rhs, types.rhs));
      is_own = is_own || kernel == table.kernels[i].name;
    }
    EXPECT_EQ(is_own, has_some) << TypesName(p) << " by " << kernel;
  }
}

// No kernel hides behind others: each one is reached through Mul.
TEST_P(MulTest, ReachesEveryKernel) {
  std::set<std::string> reached;
  constexpr std::ptrdiff_t kSizes[] = {1, 3, 8, 16, 50};
  int count = 0;
  for (const Types& types : AllTypes()) {
    for (int orders = 0; orders < 8; ++orders) {
      for (const std::ptrdiff_t rows : kSizes) {
        for (const std::ptrdiff_t cols : kSizes) {
          MulProblem p = MakeProblem(types, rows, 70, cols);
          SetOrders(orders, &p);
          ++count;
          if (count % 2 == 0) SetZeroPoints(&p);
          if (count % 3 == 0) p.lhs.cache_policy = CachePolicy::kAlwaysCache;
          ASSERT_TRUE(CheckProblem(p, &context_));
          reached.insert(context_.last_used_kernel());
          // Kernels for float sums in any order.
          if (!p.IsInteger()) {
            p.float_sums = FloatSums::kAnyOrder;
            ASSERT_TRUE(CheckProblem(p, &context_));
            reached.insert(context_.last_used_kernel());
          }
          // Kernels for int7 on one side, on both.
          if (!Is8Bit(types.lhs) || !Is8Bit(types.rhs)) continue;
          p.lhs.int7 = Int7::kKept;
          if (count % 3 == 0) p.rhs.int7 = Int7::kKept;
          ASSERT_TRUE(CheckProblem(p, &context_));
          reached.insert(context_.last_used_kernel());
        }
      }
    }
  }
  const kernels::KernelTable table = KernelsOf(GetParam());
  // Kernels for large weights that are kept.
  for (int i = 0; i < table.count; ++i) {
    const kernels::Kernel& large = table.kernels[i];
    if (large.min_lhs_elements == 0 || reached.count(large.name) != 0) continue;
    for (const Types& types : AllTypes()) {
      if (FamilyOf(types) != large.family || types.lhs != large.lhs.scalar) {
        continue;
      }
      constexpr std::ptrdiff_t kRows = 1024;
      for (const std::ptrdiff_t cols : {1, 8}) {
        MulProblem p =
            MakeProblem(types, kRows, large.min_lhs_elements / kRows, cols);
        p.lhs.cache_policy = CachePolicy::kAlwaysCache;
        ASSERT_TRUE(CheckProblem(p, &context_));
        reached.insert(context_.last_used_kernel());
      }
    }
  }
  for (int i = 0; i < table.count; ++i) {
    EXPECT_EQ(reached.count(table.kernels[i].name), 1u)
        << table.kernels[i].name << " was not taken for any shape";
  }
}

}  // namespace
}  // namespace ruy_like
