// Plan: Context::performance_advisories(), what calls of Mul could do for
// speed.
//
// Held by ContextImpl; product.cc notes each product that is worth it. Looks at
// what a product did, and changes nothing.
#ifndef RUY_LIKE_PLAN_ADVISOR_H_
#define RUY_LIKE_PLAN_ADVISOR_H_

#include <atomic>
#include <cstdint>

#include "ruy_like/context.h"
#include "ruy_like/packed/operand.h"
#include "ruy_like/plan/plan.h"
#include "ruy_like/plan/tr_mul_params.h"
#include "ruy_like/side.h"

namespace ruy_like {

class Advisor final {
 public:
  // A product that the kernel has run, its sides as it saw them, packed or not.
  // Returns what is new since Take(), for each of these sides. For one thread
  // at a time.
  SidePair<PerformanceAdvisory> Note(const TrMulParams& params,
                                     const SidePair<SideSource>& source,
                                     const kernels::Kernel& kernel);
  // All since the last call. From any thread.
  PerformanceAdvisory Take() {
    return static_cast<PerformanceAdvisory>(
        found_.exchange(0, std::memory_order_relaxed));
  }

 private:
  // An operand that products pack, by a hash of its address; another one with
  // that hash takes its place.
  struct Seen {
    const void* data;
    std::uint32_t shape;   // hashed, with stride, order and type
    std::uint32_t values;  // a hash of some, when it was packed so often:
    std::uint32_t times;
  };
  static constexpr std::uint32_t kFirstLook = 4, kSecondLook = 8;
  static constexpr int kPlaces = 64;

  bool IsPackedAgain(const Operand& operand);

  Seen seen_[kPlaces] = {};
  std::atomic<unsigned> found_{0};
};

}  // namespace ruy_like

#endif  // RUY_LIKE_PLAN_ADVISOR_H_
