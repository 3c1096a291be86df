// Plan: plans that are kept for repeated products.
//
// Held by a Context for its own threads and by a MulPlan, filled by
// choose_plan.h. Searching the kernel tables takes a tenth of the time of a
// small product, making the block map more: a loop over the layers of a network
// repeats neither.
#ifndef RUY_LIKE_PLAN_KEPT_PLANS_H_
#define RUY_LIKE_PLAN_KEPT_PLANS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ruy_like/path.h"
#include "ruy_like/plan/plan.h"
#include "ruy_like/registry/registry.h"

namespace ruy_like {

struct KeptPlan {
  // Completes the plan, unless it is complete and was made for this limit; a
  // small one (Plan::is_small) serves every limit that does not force.
  void MakeFor(const ThreadLimit& wanted);
  bool IsFor(const QueryKey& wanted, Path permitted_paths) const {
    return permitted == permitted_paths && key == wanted;
  }
  // Starts a plan for this query; the caller sets plan.choice.
  void Begin(const KernelQuery& new_query, Path permitted_paths) {
    query = new_query;
    key = KeyOf(new_query);
    permitted = permitted_paths;
    plan.is_small = false;
    limit = {0, false};
  }

  KernelQuery query = {};
  QueryKey key = {};             // the query's
  Path permitted = Path::kNone;  // kNone: no plan is kept here
  // 0: the plan has a kernel and nothing else, and is not small yet.
  ThreadLimit limit = {0, false};
  Plan plan;
};

// A hash table. For a query it returns its plan, else a free place near its
// hash, else the place of another query, whose plan is then replaced.
class KeptPlans final {
 public:
  // 2^bits places. Throws std::bad_alloc.
  explicit KeptPlans(int bits = 3)
      : shift_(64 - bits),
        plans_(std::size_t{1} << bits),
        last_(plans_.data()) {}
  KeptPlans(const KeptPlans&) = delete;
  KeptPlans& operator=(const KeptPlans&) = delete;

  // Changes when a plan is begun, and when what plans are made for does: until
  // then whoever holds a small plan may use it without asking again.
  std::uint32_t generation() const { return generation_; }
  void StartGeneration() { ++generation_; }

  // For()'s last result. Callers try it first, which saves waiting for the
  // hash: some 3% of the time of a small repeated product (Zen 4).
  KeptPlan* last() { return last_; }
  KeptPlan* For(const QueryKey& key) {
    const std::uint64_t sizes = static_cast<std::uint64_t>(key.rows) * 5 +
                                static_cast<std::uint64_t>(key.cols) * 3 +
                                static_cast<std::uint64_t>(key.depth);
    constexpr std::uint64_t kGoldenRatio = 0x9e3779b97f4a7c15;
    const std::size_t home =
        ((sizes + key.small_fields) * kGoldenRatio) >> shift_;
    last_ = &plans_[home];
    for (std::size_t i = 0; i < kPlaces; ++i) {
      KeptPlan* const plan = &plans_[(home + i) & (plans_.size() - 1)];
      if (plan->permitted == Path::kNone || plan->key == key) {
        last_ = plan;
        break;
      }
    }
    return last_;
  }

 private:
  static constexpr std::size_t kPlaces = 8;  // probed for a query

  int shift_;
  std::uint32_t generation_ = 0;
  std::vector<KeptPlan> plans_;
  KeptPlan* last_;
};

}  // namespace ruy_like

#endif  // RUY_LIKE_PLAN_KEPT_PLANS_H_
