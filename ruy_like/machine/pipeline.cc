#include "ruy_like/machine/pipeline.h"

#include <cstdio>
#include <new>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ruy_like/base/env.h"
#include "ruy_like/machine/processor.h"

namespace ruy_like {
namespace {

// Throws nothing: a worker may be the first to ask, in the middle of a product.
// Without memory it is kAny, whose loops serve everywhere.
Pipeline FindPipelineOfThisProcess() {
  try {
    std::string warning;
    const Pipeline pipeline =
        ParsePipeline(GetEnv(EnvVar::kPipeline),
                      PipelineOfCores(Microarchitectures()), &warning);
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
      case kCortexA55:
        break;
      case kCortexA35:
      case kCortexA53:
      case kCortexA55R0:
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
