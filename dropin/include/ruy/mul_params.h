// Drop-in for ruy: MulParams, a ruy_like::MulParams with ruy's rules for
// switching between one multiplier and one per channel.
#ifndef RUY_LIKE_DROPIN_RUY_MUL_PARAMS_H_
#define RUY_LIKE_DROPIN_RUY_MUL_PARAMS_H_

#include <cstdint>

#include "ruy/check_macros.h"
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

  const AccumScalar* bias() const { return params_.bias(); }
  void set_bias(const AccumScalar* bias) { params_.set_bias(bias); }

  ChannelDimension channel_dimension() const {
    return params_.channel_dimension();
  }
  void set_channel_dimension(ChannelDimension value) {
    params_.set_channel_dimension(value);
  }

  DstScalar clamp_min() const { return params_.clamp_min(); }
  DstScalar clamp_max() const { return params_.clamp_max(); }
  void set_clamp_min(DstScalar value) { params_.set_clamp_min(value); }
  void set_clamp_max(DstScalar value) { params_.set_clamp_max(value); }

  // One multiplier. Setting either part ends the use of both arrays; while
  // there are arrays, the getters give 0, as they do where dst is not
  // quantized.
  AccumScalar multiplier_fixedpoint() const {
    return HasScalarMultiplier() ? params_.multiplier_fixedpoint() : 0;
  }
  int multiplier_exponent() const {
    return HasScalarMultiplier() ? params_.multiplier_exponent() : 0;
  }
  void set_multiplier_fixedpoint(AccumScalar value) {
    LeavePerChannelMode();
    params_.set_multiplier_fixedpoint(value);
  }
  void set_multiplier_exponent(int value) {
    LeavePerChannelMode();
    params_.set_multiplier_exponent(value);
  }

  // One multiplier per channel; both arrays are needed then. Null leaves (or
  // goes back to) the single multiplier.
  const AccumScalar* multiplier_fixedpoint_perchannel() const {
    if constexpr (RuyLike::kQuantized) {
      return params_.multiplier_fixedpoint_perchannel();
    } else {
      return nullptr;
    }
  }
  const int* multiplier_exponent_perchannel() const {
    return params_.multiplier_exponent_perchannel();
  }
  void set_multiplier_fixedpoint_perchannel(const AccumScalar* values) {
    params_.set_multiplier_fixedpoint_perchannel(values);
  }
  void set_multiplier_exponent_perchannel(const int* values) {
    params_.set_multiplier_exponent_perchannel(values);
  }

  // To what multiple bias and per-channel arrays may be read past their end, a
  // power of two. Kept and ignored: ruy_like never reads past the end.
  int perchannel_buffers_capacity_rounding() const { return rounding_; }
  void set_perchannel_buffers_capacity_rounding(int value) {
    RUY_DCHECK(value > 0 && (value & (value - 1)) == 0);
    rounding_ = value;
  }

  // Not in ruy: the same for ruy_like's own functions.
  const RuyLike& ToRuyLike() const { return params_; }

 private:
  bool HasScalarMultiplier() const {
    return RuyLike::kQuantized && !params_.perchannel();
  }
  void LeavePerChannelMode() {
    params_.set_multiplier_fixedpoint_perchannel(nullptr);
    params_.set_multiplier_exponent_perchannel(nullptr);
  }

  RuyLike params_;
  int rounding_ = 1;
};

}  // namespace ruy

#endif  // RUY_LIKE_DROPIN_RUY_MUL_PARAMS_H_
