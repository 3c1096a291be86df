// Which core's order of instructions the loops of kernels should have.
//
// Asked by the registry, whose RunHere takes a kernel's loops by it. A core
// that issues instructions in the order of the program depends on that order
// far more than one that looks for them by itself, so some kernels have their
// loops again for some cores (Kernel::run_on_a53, run_on_a55), with the same
// results. Which kernel serves a product does not depend on it.
#ifndef RUY_LIKE_MACHINE_PIPELINE_H_
#define RUY_LIKE_MACHINE_PIPELINE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace ruy_like {

enum class Pipeline {
  kAny,  // out of order, or nothing better is known
  kCortexA53,
  kCortexA55
};

// That of a machine whose kinds of cores are these, in cpuinfo's numbers
// (cpuinfo_uarch). Where there are large cores beside small ones it is theirs:
// they do most of the work. The A35 and the A55's first revision, which can not
// issue a load of a vector register beside a multiplication, count as A53.
Pipeline PipelineOfCores(const std::vector<uint32_t>& microarchitectures);

// "any", "a53" or "a55".
const char* PipelineName(Pipeline pipeline);

// That of the name, the value of RUY_LIKE_PIPELINE; `fallback` if it is empty,
// or no name, which is reported in `warning` (else empty).
Pipeline ParsePipeline(const std::string& value, Pipeline fallback,
                       std::string* warning);

// This machine's, unless RUY_LIKE_PIPELINE says otherwise. Found out at the
// first call (kAny if that lacks memory); thread-safe, throws nothing.
Pipeline DetectedPipeline();

}  // namespace ruy_like

#endif  // RUY_LIKE_MACHINE_PIPELINE_H_
