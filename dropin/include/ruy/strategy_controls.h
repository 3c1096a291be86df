// Drop-in for ruy: NumThreadsStrategy.
#ifndef RUY_LIKE_DROPIN_RUY_STRATEGY_CONTROLS_H_
#define RUY_LIKE_DROPIN_RUY_STRATEGY_CONTROLS_H_

#include <cstdint>

namespace ruy {

// As ruy_like::NumThreadsStrategy.
enum class NumThreadsStrategy : std::uint8_t {
  kDefault,
  kForceMaxNumThreads,
};

}  // namespace ruy

#endif  // RUY_LIKE_DROPIN_RUY_STRATEGY_CONTROLS_H_
