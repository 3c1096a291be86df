// Tested in test/front/kept_calls_test.cc.
#include "ruy_like/front/kept_calls.h"

#include <cstring>

#include "ruy_like/base/hot.h"
#include "ruy_like/front/make_call.h"
#include "ruy_like/front/validate.h"
#include "ruy_like/packed/packed_operand.h"

namespace ruy_like {
namespace {

std::uint64_t IdOf(const PackedOperand* packed) {
  return packed == nullptr ? 0 : packed->id;
}

// Sets all bits of fields of the mask, of which some are pointers.
template <typename... T>
void Mark(T*... fields) {
  // NOLINTNEXTLINE(bugprone-sizeof-expression)
  (std::memset(static_cast<void*>(fields), 0xff, sizeof(T)), ...);
}
template <typename T>
void MarkIfNull(const T* pointer, const T** field) {
  if (pointer == nullptr) Mark(field);
}

// A dst needs neither a cache policy nor a value range, and an operand may be
// const.
void MarkMatrix(bool is_dst, ErasedMatrix* mask) {
  // Names all members, so that a new one does not compile until it is here.
  auto& [data, scalar, data_is_const, cache_policy, value_range, zero_point,
         layout, packed] = *mask;
  Mark(&scalar, &zero_point);
  if (is_dst) {
    Mark(&data_is_const);
  } else {
    Mark(&cache_policy, &value_range);
  }
  layout.set_rows(-1);
  layout.set_cols(-1);
  layout.set_stride(-1);
  layout.set_order(static_cast<Order>(0xff));
}

}  // namespace

// Marks what may not differ from the call: all but addresses, multipliers and
// scales, at which AddressesAreRight looks, and lengths.
void KeptCall::SetMask(const MulCall& call) {
  MulCall mask;
  std::memset(static_cast<void*>(&mask), 0, sizeof(mask));
  auto& [lhs, rhs, dst, channel_dimension, float_sums, quantized, family,
         accum_scalar, rounding, has_lengths, is_valid, max_exponent,
         max_num_threads, beta, clamp_min, clamp_max, post_ops, bias,
         fixedpoint_perchannel, exponent_perchannel, lhs_scale_perrow,
         rhs_scale_percol, lengths, fixedpoint, exponent, lhs_scale, rhs_scale,
         factor, residual, activation_scales, activation_zero_points,
         activation_group_scales, columns_are_routed] = mask;
  MarkMatrix(/*is_dst=*/false, &lhs);
  MarkMatrix(/*is_dst=*/false, &rhs);
  MarkMatrix(/*is_dst=*/true, &dst);
  Mark(&channel_dimension, &float_sums, &quantized, &family, &accum_scalar,
       &rounding, &has_lengths, &is_valid, &max_num_threads, &beta, &clamp_min,
       &clamp_max, &post_ops);
  MarkIfNull(call.bias, &bias);
  MarkIfNull(call.fixedpoint_perchannel, &fixedpoint_perchannel);
  MarkIfNull(call.exponent_perchannel, &exponent_perchannel);
  MarkIfNull(call.lhs_scale_perrow, &lhs_scale_perrow);
  MarkIfNull(call.rhs_scale_percol, &rhs_scale_percol);
  std::memcpy(mask_, &mask, sizeof(mask_));
}

// Without branches, and in vectors: the fields, which were stored one by one a
// moment ago, are in the cache since the Context was locked.
inline bool KeptCall::IsLike(const MulCall& call) const {
  std::uint32_t difference = 0;
  for (std::size_t i = 0; i < kWords; ++i) {
    std::uint32_t word;
    std::memcpy(&word, reinterpret_cast<const char*>(&call) + i * sizeof(word),
                sizeof(word));
    difference |= (word ^ words_[i]) & mask_[i];
  }
  return difference == 0 && IdOf(call.lhs.packed) == packed_id_.lhs &&
         IdOf(call.rhs.packed) == packed_id_.rhs &&
         (!call.has_lengths ||
          std::memcmp(call.lengths, lengths_, sizeof(lengths_)) == 0);
}

// False also where spans meet, without looking closer.
inline bool KeptCall::AddressesAreRight(const MulCall& call) const {
  if (call.lhs.data == nullptr || call.rhs.data == nullptr ||
      call.dst.data == nullptr) {
    return false;
  }
  const std::uintptr_t dst = reinterpret_cast<std::uintptr_t>(call.dst.data);
  const auto meets = [&](const void* input, std::uintptr_t bytes) {
    const std::uintptr_t at = reinterpret_cast<std::uintptr_t>(input);
    return dst - at < bytes || at - dst < dst_bytes_;
  };
  if (meets(call.lhs.data, lhs_bytes_) || meets(call.rhs.data, rhs_bytes_)) {
    return false;
  }
  if (!has_arrays_) return true;
  const Arrays arrays = ArraysOf(call);
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if ((arrays[i] == nullptr) != (array_bytes_[i] == 0) ||
        (arrays[i] != nullptr && meets(arrays[i], array_bytes_[i]))) {
      return false;
    }
  }
  return true;
}

RUY_LIKE_HOT bool KeptCall::RunAgain(const MulCall& call,
                                     ContextImpl* context) {
  if (!is_kept_ || generation_ != context->plans.generation() ||
      !IsLike(call) || !AddressesAreRight(call)) {
    return false;
  }
  TrMulParams& params = *product_.params();
  if (call.quantized) {
    std::int8_t& max_exponent = params.epilogue.max_exponent;
    if (call.is_valid) {
      max_exponent = call.max_exponent;
    } else if (!params.epilogue.per_channel &&
               SignsOfMultiplier(call.fixedpoint, call.exponent) >= 0) {
      max_exponent = kOrdinaryExponent;
    } else if (!ValidateMultipliers(call, &max_exponent).ok()) {
      return false;
    }
  }
  SetAddresses(call, product_.plan().choice.swap_sides, &params);
  return product_.RunAgain(context);
}

RUY_LIKE_HOT absl::Status KeptCall::Run(const MulCall& call,
                                        std::int8_t max_exponent,
                                        ContextImpl* context) {
  is_kept_ = false;
  MakeTrMulParams(call, max_exponent, product_.params());
  absl::Status status = product_.Run(call.max_num_threads, context);
  // Post-ops may have changed where they are.
  if (status.ok() && call.post_ops == nullptr && product_.KeepCalls()) {
    is_kept_ = true;
    packed_id_ = {IdOf(call.lhs.packed), IdOf(call.rhs.packed)};
    generation_ = context->plans.generation();
    SetMask(call);
    std::memcpy(words_, &call, sizeof(words_));
    std::memcpy(lengths_, call.lengths, sizeof(lengths_));
    ByteSpan spans[kInputs];
    InputSpans(call, &spans);
    const auto bytes = [](const ByteSpan& span) {
      return span.end - span.begin;
    };
    lhs_bytes_ = bytes(spans[0]);
    rhs_bytes_ = bytes(spans[1]);
    dst_bytes_ = bytes(SpanOf(call.dst));
    has_arrays_ = false;
    for (std::size_t i = 0; i < array_bytes_.size(); ++i) {
      array_bytes_[i] = bytes(spans[i + 2]);
      has_arrays_ = has_arrays_ || array_bytes_[i] != 0;
    }
  }
  product_.Finish();
  return status;
}

RUY_LIKE_HOT KeptCall* KeptCalls::PlaceOf(const MulCall& call) {
  // The bounds tell calls with an activation from those without.
  std::uint64_t low, high;
  std::memcpy(&low, &call.clamp_min, sizeof(low));
  std::memcpy(&high, &call.clamp_max, sizeof(high));
  const std::uint64_t sum =
      static_cast<std::uint64_t>(call.lhs.layout.rows()) * 5 +
      static_cast<std::uint64_t>(call.rhs.layout.cols()) * 3 +
      static_cast<std::uint64_t>(call.lhs.layout.cols()) + (low >> 32) +
      (high >> 32);
  constexpr std::uint64_t kGoldenRatio = 0x9e3779b97f4a7c15;
  return &calls_[(sum * kGoldenRatio) >> (64 - kBits)];
}

}  // namespace ruy_like
