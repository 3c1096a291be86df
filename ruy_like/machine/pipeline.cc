#include "ruy_like/machine/pipeline.h"

#include <cpuinfo.h>

#include <cstdio>
#include <new>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ruy_like/base/env.h"

namespace ruy_like {
namespace {

std::vector<uint32_t> HostMicroarchitectures() {
  std::vector<uint32_t> result;
#if defined(__aarch64__)
  if (!cpuinfo_initialize()) return result;
  for (uint32_t i = 0; i < cpuinfo_get_uarchs_count(); ++i) {
    result.push_back(cpuinfo_get_uarch(i)->uarch);
  }
#endif
  return result;
}

// Throws nothing: a worker may be the first to ask, in the middle of a product.
// Without memory it is kAny, whose loops serve everywhere.
Pipeline FindPipelineOfThisProcess() {
  try {
    std::string warning;
    const Pipeline pipeline =
        ParsePipeline(GetEnv(EnvVar::kPipeline),
                      PipelineOfCores(HostMicroarchitectures()), &warning);
    if (!warning.empty()) {
      std::fprintf(stderr, "ruy_like: RUY_LIKE_PIPELINE: %s\n",
                   warning.c_str());
    }
    return pipeline;
  } catch (const std::bad_alloc&) {
    return Pipeline::kAny;
  }
}

}  // namespace

Pipeline PipelineOfCores(const std::vector<uint32_t>& microarchitectures) {
  if (microarchitectures.empty()) return Pipeline::kAny;
  Pipeline pipeline = Pipeline::kCortexA55;
  for (const uint32_t microarchitecture : microarchitectures) {
    switch (microarchitecture) {
      case cpuinfo_uarch_cortex_a55:
        break;
      case cpuinfo_uarch_cortex_a35:
      case cpuinfo_uarch_cortex_a53:
      case cpuinfo_uarch_cortex_a55r0:
        pipeline = Pipeline::kCortexA53;
        break;
      default:
        return Pipeline::kAny;
    }
  }
  return pipeline;
}

const char* PipelineName(Pipeline pipeline) {
  switch (pipeline) {
    case Pipeline::kAny:
      return "any";
    case Pipeline::kCortexA53:
      return "a53";
    case Pipeline::kCortexA55:
      return "a55";
  }
  return "?";
}

Pipeline ParsePipeline(const std::string& value, Pipeline fallback,
                       std::string* warning) {
  warning->clear();
  if (value.empty()) return fallback;
  for (const Pipeline pipeline :
       {Pipeline::kAny, Pipeline::kCortexA53, Pipeline::kCortexA55}) {
    if (value == PipelineName(pipeline)) return pipeline;
  }
  *warning = absl::StrCat("'", value, "' is none of any, a53 and a55");
  return fallback;
}

Pipeline DetectedPipeline() {
  static const Pipeline pipeline = FindPipelineOfThisProcess();
  return pipeline;
}

}  // namespace ruy_like
