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
      kInt8,
      {Scalar::kU8, Scalar::kI8, Scalar::kI32, Scalar::kI32},
      {Scalar::kU8, Scalar::kU8, Scalar::kI32, Scalar::kU8},
      {Scalar::kI8, Scalar::kI16, Scalar::kI32, Scalar::kI16},
      {Scalar::kI16, Scalar::kI8, Scalar::kI32, Scalar::kI32},
      kFloat,
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
  CheckEach(AllTypes(), kAllOrders,
            {{1, 1, 1},
             {2, 3, 5},
             {5, 17, 1},
             {1, 17, 5},
             {16, 32, 16},
             {17, 33, 9},
             {49, 65, 7},
             {3, 9, 65},
             {50, 130, 25}},
            &context_, [](MulProblem* p, int count) {
              if (count % 2 == 0) SetZeroPoints(p);
              p->data_seed = count;
            });
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
        MulProblem p = MakeProblem(types, {rows, depth, cols});
        if (count % 2 == 0) p.dst.order = Order::kRowMajor;
        if (count % 3 == 0) SetZeroPoints(&p);
        p.data_seed = count;
        ASSERT_TRUE(CheckProblem(p, &context_));
      }
    }
  }
}

TEST_P(MulTest, EveryDepth) {
  for (int depth = 0; depth <= 130; depth += kThinning) {
    CheckEach(TypesOfEachFamily(), {depth % 8},
              {{1, depth, 1}, {17, depth, 9}, {50, depth, 2}, {2, depth, 50}},
              &context_, [depth](MulProblem* p, int) {
                if (depth % 3 == 0) SetZeroPoints(p);
              });
  }
}

// Shapes for which packing does not pay: kernels that read in place.
TEST_P(MulTest, NarrowProducts) {
  for (const std::ptrdiff_t narrow : {1, 2, 5}) {
    for (int orders = 0; orders < 8; orders += kThinning) {
      CheckEach(AllTypes(), {orders},
                {{200, 63, narrow},
                 {narrow, 63, 200},
                 {7, 300, narrow},
                 {narrow, 300, 7}},
                &context_, [narrow](MulProblem* p, int) {
                  if (narrow % 2 == 0) SetZeroPoints(p);
                  p->lhs.gap = narrow % 3;
                });
    }
  }
}

// To beyond the width up to which narrow kernels serve.
TEST_P(MulTest, EveryNarrowWidth) {
  std::vector<Types> some;
  for (const Types& types : AllTypes()) {
    if (types.dst == Scalar::kI32 || FamilyOf(types) == Family::kF32) {
      some.push_back(types);
    }
  }
  for (std::ptrdiff_t narrow = 1; narrow <= 18; narrow += kThinning) {
    for (const std::ptrdiff_t depth : {1, 15, 16, 33, 130}) {
      const std::ptrdiff_t wide = 19 + depth % 16;
      CheckEach(some, kAllOrders,
                {(narrow + depth) % 2 == 0 ? Shape{narrow, depth, wide}
                                           : Shape{wide, depth, narrow}},
                &context_, [narrow](MulProblem* p, int) {
                  if (narrow % 3 == 0) SetZeroPoints(p);
                });
    }
  }
}

TEST_P(MulTest, StridesWithGaps) {
  constexpr std::ptrdiff_t kGaps[] = {0, 1, 3, 64};
  for (int i = 0; i < 64; i += kThinning) {
    CheckEach(AllTypes(), {i % 8}, {{19, 37, 21}}, &context_,
              [&](MulProblem* p, int) {
                p->lhs.gap = kGaps[i % 4];
                p->rhs.gap = kGaps[i / 4 % 4];
                p->dst.gap = kGaps[i / 16];
                p->lhs.flush = p->rhs.flush = p->dst.flush =
                    i % 3 == 0 ? Flush::kStart : Flush::kEnd;
                p->data_seed = i;
              });
  }
}

// In a vector the stride plays no part; it may be anything from the inner
// dimension on.
TEST_P(MulTest, VectorsWithAnyStride) {
  const std::vector<Shape> shapes = {{1, 40, 40}, {40, 1, 40}, {40, 40, 1},
                                     {1, 1, 40},  {40, 1, 1},  {1, 40, 1}};
  for (const std::ptrdiff_t gap : {0, 5}) {
    CheckEach(TypesOfEachFamily(), kAllOrders, shapes, &context_,
              [gap](MulProblem* p, int) {
                p->lhs.gap = p->rhs.gap = p->dst.gap = gap;
                SetZeroPoints(p);
              });
  }
}

// Large enough for several blocks, also along depth.
TEST_P(MulTest, SeveralBlocks) {
  CheckEach(TypesOfEachFamily(), kPlainOrders,
            {{300, 70, 290}, {97, 6000, 50}, {700, 33, 20}, {20, 33, 700}},
            &context_, [](MulProblem* p, int) {
              SetZeroPoints(p);
              p->bias = BiasKind::kModerate;
            });
}

TEST_P(MulTest, DepthZeroGivesTheEpilogueOfZero) {
  for (const BiasKind bias : {BiasKind::kNone, BiasKind::kModerate}) {
    CheckEach(AllTypes(), kAllOrders, {{9, 0, 19}}, &context_,
              [bias](MulProblem* p, int) {
                SetZeroPoints(p);
                p->bias = bias;
              });
  }
}

TEST_P(MulTest, EmptyDstIsANoOp) {
  CheckEach(
      AllTypes(), kPlainOrders,
      {{0, 5, 7}, {7, 5, 0}, {0, 5, 0}, {0, 0, 7}, {0, 0, 0}}, &context_,
      [](MulProblem* p, int) { p->lhs.gap = p->rhs.gap = p->dst.gap = 1; });
}

// Sums of products beyond 32 bits wrap; the zero points make the terms 9 bits
// wide.
TEST_P(MulTest, DeepSumsWrap) {
  for (const Types& types : IntegerTypes()) {
    if (types.dst != Scalar::kI32) continue;
    for (const Shape& shape :
         {Shape{1, 140000, 1}, Shape{3, 140000, 2}, Shape{20, 100003, 7}}) {
      MulProblem p = MakeProblem(types, shape);
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
    MulProblem p = MakeProblem(types, {64, 64, 64});
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
      return !Is16BitFloat(format.scalar) ||
             format.scalar == AsBFloat16(scalar);
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
  const auto check = [&](const MulProblem& problem) {
    ASSERT_TRUE(CheckProblem(problem, &context_));
    reached.insert(context_.last_used_kernel());
  };
  constexpr std::ptrdiff_t kSizes[] = {1, 3, 8, 16, 50};
  int count = 0;
  for (const Types& types : AllTypes()) {
    for (int orders = 0; orders < 8; ++orders) {
      for (const std::ptrdiff_t rows : kSizes) {
        for (const std::ptrdiff_t cols : kSizes) {
          if (HasFatalFailure()) return;
          // Deep enough for three columns of integers in place.
          MulProblem p = MakeProblem(types, {rows, 99, cols});
          if (IsPortables(p) && GetParam() != Path::kPortable) continue;
          SetOrders(orders, &p);
          // Six in a row, for all of what follows; of 25 sizes not the same
          // again.
          if (++count / 6 % kThinning != 0) continue;
          if (count % 2 == 0) SetZeroPoints(&p);
          if (count % 3 == 0) p.lhs.cache_policy = CachePolicy::kAlwaysCache;
          check(p);
          // Kernels for float sums in any order.
          if (!p.IsInteger()) {
            p.float_sums = FloatSums::kAnyOrder;
            check(p);
          }
          // Kernels for int7 on one side, on both.
          if (!Is8Bit(types.lhs) || !Is8Bit(types.rhs)) continue;
          p.lhs.int7 = Int7::kKept;
          if (count % 3 == 0) p.rhs.int7 = Int7::kKept;
          check(p);
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
            MakeProblem(types, {kRows, large.min_lhs_elements / kRows, cols});
        p.lhs.cache_policy = CachePolicy::kAlwaysCache;
        check(p);
      }
    }
  }
  for (int i = 0; i < table.count; ++i) {
    // Reached in group_weights_test.cc.
    if (table.kernels[i].family == Family::kGroupScaled) continue;
    EXPECT_EQ(reached.count(table.kernels[i].name), 1u)
        << table.kernels[i].name << " was not taken for any shape";
  }
}

}  // namespace
}  // namespace ruy_like
