// Machine: whether its cores issue instructions in the order of the program.
//
// Used by Context, whose products take kernels' routines by it unless its
// Tuning says otherwise. Such a core depends far more on that order than one
// that looks for independent instructions by itself, so some kernels have a
// second loop for it (Kernel::run_in_order), with the same results. Which
// kernel serves a product does not depend on it.
#ifndef RUY_LIKE_MACHINE_PIPELINE_H_
#define RUY_LIKE_MACHINE_PIPELINE_H_

#include <cstdint>
#include <vector>

namespace ruy_like {

// True if all cores of a machine are Cortex-A35, A53 or A55;
// `microarchitectures` are its kinds of cores in cpuinfo's numbers
// (cpuinfo_uarch). False where there are larger cores as well, which do most of
// the work.
bool AllIssueInOrder(const std::vector<uint32_t>& microarchitectures);

// This machine's. Found out at the first call (false if that lacks memory);
// thread-safe, throws nothing.
bool IssuesInOrder();

}  // namespace ruy_like

#endif  // RUY_LIKE_MACHINE_PIPELINE_H_
