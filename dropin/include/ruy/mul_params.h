// Drop-in for ruy: MulParams, a ruy_like::MulParams with ruy's rules for
// switching between one multiplier and one per channel.
#ifndef RUY_LIKE_DROPIN_RUY_MUL_PARAMS_H_
#define RUY_LIKE_DROPIN_RUY_MUL_PARAMS_H_

#include <cstdint>

#include "ruy/check_macros.h"
#include "ruy/dropin_visibility.h"
#include "ruy_like/mul_params.h"

namespace ruy {

using ChannelDimension = ruy_like::ChannelDimension;

// How accumulators become dst elements: see ruy_like::MulParams, which also
// says what the multiplier is while none is set (1).
template <typename AccumScalar_, typename DstScalar_>
class MulParams final {
 public:
  using AccumScalar = AccumScalar_;
  using DstScalar = DstScalar_;
  using RuyLike = ruy_like::MulParams<AccumScalar, DstScalar>;

  RUY_LIKE_LOCAL MulParams() = default;

  RUY_LIKE_LOCAL const AccumScalar* bias() const { return params_.bias(); }
  RUY_LIKE_LOCAL void set_bias(const AccumScalar* bias) {
    params_.set_bias(bias);
  }

  RUY_LIKE_LOCAL ChannelDimension channel_dimension() const {
    return params_.channel_dimension();
  }
  RUY_LIKE_LOCAL void set_channel_dimension(ChannelDimension value) {
    params_.set_channel_dimension(value);
  }

  RUY_LIKE_LOCAL DstScalar clamp_min() const { return params_.clamp_min(); }
  RUY_LIKE_LOCAL DstScalar clamp_max() const { return params_.clamp_max(); }
  RUY_LIKE_LOCAL void set_clamp_min(DstScalar value) {
    params_.set_clamp_min(value);
  }
  RUY_LIKE_LOCAL void set_clamp_max(DstScalar value) {
    params_.set_clamp_max(value);
  }

  // One multiplier. Setting either part ends the use of both arrays. The
  // getters give what was set, and 0 for a part that was not or while there are
  // arrays.
  RUY_LIKE_LOCAL AccumScalar multiplier_fixedpoint() const {
    return params_.perchannel() ? 0 : fixedpoint_;
  }
  RUY_LIKE_LOCAL int multiplier_exponent() const {
    return params_.perchannel() ? 0 : exponent_;
  }
  RUY_LIKE_LOCAL void set_multiplier_fixedpoint(AccumScalar value) {
    LeavePerChannelMode();
    params_.set_multiplier_fixedpoint(value);
    fixedpoint_ = value;
  }
  RUY_LIKE_LOCAL void set_multiplier_exponent(int value) {
    LeavePerChannelMode();
    params_.set_multiplier_exponent(value);
    exponent_ = value;
  }

  // One multiplier per channel; both arrays are needed then. Null leaves (or
  // goes back to) the single multiplier.
  RUY_LIKE_LOCAL const AccumScalar* multiplier_fixedpoint_perchannel() const {
    if constexpr (RuyLike::kQuantized) {
      return params_.multiplier_fixedpoint_perchannel();
    } else {
      return nullptr;
    }
  }
  RUY_LIKE_LOCAL const int* multiplier_exponent_perchannel() const {
    return params_.multiplier_exponent_perchannel();
  }
  RUY_LIKE_LOCAL void set_multiplier_fixedpoint_perchannel(
      const AccumScalar* values) {
    params_.set_multiplier_fixedpoint_perchannel(values);
  }
  RUY_LIKE_LOCAL void set_multiplier_exponent_perchannel(const int* values) {
    params_.set_multiplier_exponent_perchannel(values);
  }

  // To what multiple bias and per-channel arrays may be read past their end, a
  // power of two. Kept and ignored: ruy_like never reads past the end.
  RUY_LIKE_LOCAL int perchannel_buffers_capacity_rounding() const {
    return rounding_;
  }
  RUY_LIKE_LOCAL void set_perchannel_buffers_capacity_rounding(int value) {
    RUY_DCHECK(value > 0 && (value & (value - 1)) == 0);
    rounding_ = value;
  }

  // Not in ruy: the same for ruy_like's own functions.
  RUY_LIKE_LOCAL const RuyLike& ToRuyLike() const { return params_; }

 private:
  RUY_LIKE_LOCAL void LeavePerChannelMode() {
    params_.set_multiplier_fixedpoint_perchannel(nullptr);
    params_.set_multiplier_exponent_perchannel(nullptr);
  }

  RuyLike params_;
  AccumScalar fixedpoint_ = 0;
  int exponent_ = 0;
  int rounding_ = 1;
};

}  // namespace ruy

#endif  // RUY_LIKE_DROPIN_RUY_MUL_PARAMS_H_
