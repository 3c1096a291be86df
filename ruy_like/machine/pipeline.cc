#include "ruy_like/machine/pipeline.h"

#include <algorithm>
#include <new>

#include "ruy_like/machine/processor.h"

namespace ruy_like {
namespace {

// Throws nothing: a worker may be the first to ask, in the middle of a product.
// Without memory the usual loops run, which serve everywhere.
bool FindOut() {
  try {
    return AllIssueInOrder(Microarchitectures());
  } catch (const std::bad_alloc&) {
    return false;
  }
}

bool IssueInOrder(uint32_t microarchitecture) {
  return microarchitecture == kCortexA35 || microarchitecture == kCortexA53 ||
         microarchitecture == kCortexA55R0 || microarchitecture == kCortexA55;
}

}  // namespace

bool AllIssueInOrder(const std::vector<uint32_t>& microarchitectures) {
  return !microarchitectures.empty() &&
         std::all_of(microarchitectures.begin(), microarchitectures.end(),
                     IssueInOrder);
}

bool IssuesInOrder() {
  static const bool in_order = FindOut();
  return in_order;
}

}  // namespace ruy_like
