// Tests ruy_like/machine/pipeline.h: on recorded lists of cores, and that
// every kernel has a routine for every pipeline.
#include "ruy_like/machine/pipeline.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "ruy_like/path.h"
#include "ruy_like/registry/registry.h"
#include "test/support/environment.h"
#include "test/support/heap.h"

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
  SetEnvironment("RUY_LIKE_PIPELINE",
                 "not a name, and longer than a short string");
  Pipeline pipeline;
  {
    Failures failures;
    failures.first_allocation = 0;
    failures.failing = Failing::kAllFrom;
    FailureScope scope(failures);
    pipeline = DetectedPipeline();
    EXPECT_GT(scope.failed(), 0);
  }
  UnsetEnvironment("RUY_LIKE_PIPELINE");
  EXPECT_EQ(pipeline, Pipeline::kAny);
}

TEST(PipelineTest, OfRecordedMachines) {
  const struct {
    const char* name;
    std::vector<uint32_t> cores;
    Pipeline pipeline;
  } machines[] = {
      {"BCM2837: 4 A53", {kA53}, Pipeline::kCortexA53},
      {"RK3326: 4 A35", {kA35}, Pipeline::kCortexA53},
      {"RK3566: 4 A55", {kA55}, Pipeline::kCortexA55},
      {"A55 of the first revision", {kA55r0}, Pipeline::kCortexA53},
      {"both revisions", {kA55, kA55r0}, Pipeline::kCortexA53},
      {"Kirin 960: A73 and A53", {kA73, kA53}, Pipeline::kAny},
      {"the same, small ones first", {kA53, kA73}, Pipeline::kAny},
      {"RK3588: A76 and A55", {kA76, kA55}, Pipeline::kAny},
      {"Jetson TX1: 4 A57", {kA57}, Pipeline::kAny},
      {"a core that cpuinfo does not know", {kUnknown}, Pipeline::kAny},
      {"nothing found", {}, Pipeline::kAny},
  };
  for (const auto& machine : machines) {
    EXPECT_EQ(PipelineOfCores(machine.cores), machine.pipeline) << machine.name;
  }
}

TEST(PipelineTest, ValuesOfTheVariable) {
  std::string warning = "of before";
  EXPECT_EQ(ParsePipeline("", Pipeline::kCortexA53, &warning),
            Pipeline::kCortexA53);
  EXPECT_EQ(warning, "");
  EXPECT_EQ(ParsePipeline("any", Pipeline::kCortexA53, &warning),
            Pipeline::kAny);
  EXPECT_EQ(ParsePipeline("a53", Pipeline::kAny, &warning),
            Pipeline::kCortexA53);
  EXPECT_EQ(ParsePipeline("a55", Pipeline::kAny, &warning),
            Pipeline::kCortexA55);
  EXPECT_EQ(warning, "");
  EXPECT_EQ(ParsePipeline("cortex", Pipeline::kCortexA55, &warning),
            Pipeline::kCortexA55);
  EXPECT_EQ(warning, "'cortex' is none of any, a53 and a55");
}

TEST(PipelineTest, RoutinesOfKernels) {
  kernels::Kernel kernel = {};
  const auto one = [](const kernels::KernelArgs*) {};
  const auto other = [](const kernels::KernelArgs*) {};
  kernel.run = one;
  for (const Pipeline pipeline :
       {Pipeline::kAny, Pipeline::kCortexA53, Pipeline::kCortexA55}) {
    EXPECT_EQ(RunOn(pipeline, kernel), kernel.run);
  }
  kernel.run_on_a55 = other;
  EXPECT_EQ(RunOn(Pipeline::kCortexA53, kernel), kernel.run);
  EXPECT_EQ(RunOn(Pipeline::kCortexA55, kernel), kernel.run_on_a55);
}

// Wide tiles of floats on both cores, of bytes where there are dot products.
TEST(PipelineTest, KernelsWithLoopsOfTheirOwn) {
  std::vector<std::string> a53, a55;
  for (const Path path : PathsBestFirst(CompiledPaths())) {
    const kernels::KernelTable table = KernelsOf(path);
    for (int i = 0; i < table.count; ++i) {
      const kernels::Kernel& kernel = table.kernels[i];
      if (kernel.run_on_a53 != nullptr) a53.push_back(kernel.name);
      if (kernel.run_on_a55 != nullptr) a55.push_back(kernel.name);
    }
  }
  std::vector<std::string> floats, all;
  if ((CompiledPaths() & Path::kNeonDot) != Path::kNone) {
    all.push_back("NeonDot_S8S8_12x8x4");
  }
  if ((CompiledPaths() & Path::kNeon) != Path::kNone) {
    floats.push_back("Neon_F32F32_12x8x1");
    all.push_back("Neon_F32F32_12x8x1");
  }
  EXPECT_EQ(a53, floats);
  EXPECT_EQ(a55, all);
}

}  // namespace
}  // namespace ruy_like
