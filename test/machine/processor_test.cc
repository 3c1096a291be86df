// Tests ruy_like/machine/processor.h: on recorded lists of cores, which kernels
// have loops for cores that issue in order, and the Tuning that chooses them.
// The kernel tests run them.
#include "ruy_like/machine/processor.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "ruy_like/path.h"
#include "ruy_like/plan/context_impl.h"
#include "ruy_like/registry/registry.h"
#include "test/support/heap.h"
#include "test/support/product.h"

namespace ruy_like {
namespace {

// cpuinfo's numbers, written out: they are what a machine was recorded as.
constexpr uint32_t kA35 = 0x00300335, kA53 = 0x00300353, kA55r0 = 0x00300354,
                   kA55 = 0x00300355, kA57 = 0x00300357, kA73 = 0x00300373,
                   kA76 = 0x00300376, kUnknown = 0;

// The first call of the process, as a worker may make it in the middle of a
// product, where nothing may be thrown.
TEST(PipelineTest, FoundOutWithoutMemory) {
  if (!kTestOwnsHeap) GTEST_SKIP() << "no allocation fails here";
  Failures failures;
  failures.first_allocation = 0;
  failures.failing = Failing::kAllFrom;
  FailureScope scope(failures);
  EXPECT_FALSE(IssuesInOrder());
}

TEST(PipelineTest, OfRecordedMachines) {
  const struct {
    const char* name;
    std::vector<uint32_t> cores;
    bool in_order;
  } machines[] = {
      {"BCM2837: 4 A53", {kA53}, true},
      {"RK3326: 4 A35", {kA35}, true},
      {"RK3566: 4 A55", {kA55}, true},
      {"A55 of the first revision", {kA55r0}, true},
      {"both revisions", {kA55, kA55r0}, true},
      {"Kirin 960: A73 and A53", {kA73, kA53}, false},
      {"the same, small ones first", {kA53, kA73}, false},
      {"RK3588: A76 and A55", {kA76, kA55}, false},
      {"Jetson TX1: 4 A57", {kA57}, false},
      {"a core that cpuinfo does not know", {kUnknown}, false},
      {"nothing found", {}, false},
  };
  for (const auto& machine : machines) {
    EXPECT_EQ(AllIssueInOrder(machine.cores), machine.in_order) << machine.name;
  }
}

// Wide tiles of floats, and of bytes where there are dot products.
TEST(PipelineTest, KernelsWithLoopsOfTheirOwn) {
  std::vector<std::string> names, expected;
  for (const Path path : PathsBestFirst(CompiledPaths())) {
    const kernels::KernelTable table = KernelsOf(path);
    for (int i = 0; i < table.count; ++i) {
      if (table.kernels[i].run_in_order == nullptr) continue;
      names.push_back(table.kernels[i].name);
    }
  }
  if ((CompiledPaths() & Path::kNeonDot) != Path::kNone) {
    expected.push_back("NeonDot_S8S8_12x8x4");
  }
  if ((CompiledPaths() & Path::kNeon) != Path::kNone) {
    expected.push_back("Neon_F32F32_12x8x1");
  }
  EXPECT_EQ(names, expected);
}

// The second loop of a float kernel that has none: counts, and runs the first.
int calls_in_order = 0;
kernels::KernelFn* loop = nullptr;
void CountAndRun(const kernels::KernelArgs* args) {
  ++calls_in_order;
  loop(args);
}

TEST(PipelineTest, TuningChoosesTheLoop) {
  const auto values = RandomVector<float>(9 * 9, -9, 9, 1);
  const Matrix<float> operand = RowMajorOf(values, 9, 9);
  const auto expected = ReferenceMulTo<float>(operand, operand);
  Context context;
  EXPECT_EQ(context.tuning(), Tuning::kAuto);
  MulTo<float>(operand, operand, &context);
  // The next product of this shape takes the kept plan.
  KeptPlan* const kept = context.impl()->plans.last();
  kernels::Kernel kernel = *kept->plan.choice.kernel;
  loop = kernel.run;
  kernel.run_in_order = &CountAndRun;
  kept->plan.choice.kernel = &kernel;
  for (const Tuning tuning :
       {Tuning::kAuto, Tuning::kInOrder, Tuning::kOutOfOrder}) {
    context.set_tuning(tuning);
    EXPECT_EQ(context.tuning(), tuning);
    calls_in_order = 0;
    EXPECT_EQ(MulTo<float>(operand, operand, &context), expected);
    EXPECT_EQ(calls_in_order, tuning == Tuning::kAuto
                                  ? IssuesInOrder()
                                  : tuning == Tuning::kInOrder);
  }
}

}  // namespace
}  // namespace ruy_like
