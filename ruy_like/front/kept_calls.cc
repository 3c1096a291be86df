// Tested in test/front/kept_calls_test.cc.
#include "ruy_like/front/kept_calls.h"

#include <cstring>
#include <type_traits>

#include "ruy_like/base/hot.h"
#include "ruy_like/front/make_call.h"
#include "ruy_like/front/validate.h"
#include "ruy_like/packed/packed_operand.h"

namespace ruy_like {
namespace {

// Collects the bits in which fields differ. Not && of comparisons: compilers
// merge those of neighbouring fields into wide loads, which stall on store
// forwarding since the fields were stored one by one a moment ago.
class Difference final {
 public:
  template <typename T>
  void Add(T a, T b) {
    if constexpr (sizeof(T) == 1) {
      small_ |= static_cast<std::uint8_t>(a) ^ static_cast<std::uint8_t>(b);
    } else {
      large_ |= BitsOf(a) ^ BitsOf(b);
    }
  }
  void AddUnlessNull(const void* pointer) {
    large_ |= reinterpret_cast<std::uintptr_t>(pointer);
  }
  bool IsNone() const { return (large_ | small_) == 0; }

 private:
  template <typename T>
  static std::uint64_t BitsOf(T value) {
    if constexpr (std::is_same<T, double>::value) {
      std::uint64_t bits;
      std::memcpy(&bits, &value, sizeof(bits));
      return bits;
    } else {
      return static_cast<std::uint64_t>(value);
    }
  }

  std::uint64_t large_ = 0;
  std::uint8_t small_ = 0;
};

std::uint64_t IdOf(const PackedOperand* packed) {
  return packed == nullptr ? 0 : packed->id;
}

// A dst needs neither a cache policy nor a value range, and an operand may be
// const.
inline void AddMatrix(const ErasedMatrix& a, const ErasedMatrix& kept,
                      std::uint64_t kept_id, bool is_dst,
                      Difference* difference) {
  // Names all members, so that a new one does not compile until it is compared.
  const auto& [data, scalar, data_is_const, cache_policy, value_range,
               zero_point, layout, packed] = a;
  difference->Add(scalar, kept.scalar);
  if (is_dst) {
    difference->Add(data_is_const, false);
  } else {
    difference->Add(cache_policy, kept.cache_policy);
    difference->Add(value_range, kept.value_range);
    difference->Add(IdOf(packed), kept_id);
  }
  difference->Add(zero_point, kept.zero_point);
  difference->Add(layout.rows(), kept.layout.rows());
  difference->Add(layout.cols(), kept.layout.cols());
  difference->Add(layout.stride(), kept.layout.stride());
  difference->Add(layout.order(), kept.layout.order());
}

}  // namespace

// True if the call differs from the kept one by addresses, multipliers and
// scales alone; AddressesAreRight looks at these.
inline bool KeptCall::IsLike(const MulCall& call) const {
  const auto& [lhs, rhs, dst, channel_dimension, float_sums, quantized, family,
               accum_scalar, bias, fixedpoint, exponent, fixedpoint_perchannel,
               exponent_perchannel, post_ops, factor, residual, has_lengths,
               lengths, rounding, is_valid, max_exponent, lhs_scale, rhs_scale,
               lhs_scale_perrow, rhs_scale_percol, beta, clamp_min, clamp_max,
               max_num_threads, activation_scales, activation_zero_points,
               activation_group_scales, columns_are_routed] = call;
  Difference difference;
  AddMatrix(lhs, call_.lhs, packed_id_.lhs, /*is_dst=*/false, &difference);
  AddMatrix(rhs, call_.rhs, packed_id_.rhs, /*is_dst=*/false, &difference);
  AddMatrix(dst, call_.dst, 0, /*is_dst=*/true, &difference);
  difference.Add(channel_dimension, call_.channel_dimension);
  difference.Add(float_sums, call_.float_sums);
  difference.Add(quantized, call_.quantized);
  difference.Add(family, call_.family);
  difference.Add(accum_scalar, call_.accum_scalar);
  difference.AddUnlessNull(post_ops);
  difference.Add(has_lengths, call_.has_lengths);
  difference.Add(rounding, call_.rounding);
  difference.Add(is_valid, call_.is_valid);
  difference.Add(beta, call_.beta);
  difference.Add(clamp_min, call_.clamp_min);
  difference.Add(clamp_max, call_.clamp_max);
  difference.Add(max_num_threads, call_.max_num_threads);
  if (!has_arrays_) {
    for (const void* const array : ArraysOf(call)) {
      difference.AddUnlessNull(array);
    }
  }
  return difference.IsNone() &&
         (!has_lengths ||
          std::memcmp(lengths, call_.lengths, sizeof(call_.lengths)) == 0);
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
  if (status.ok() && product_.KeepCalls()) {
    is_kept_ = true;
    packed_id_ = {IdOf(call.lhs.packed), IdOf(call.rhs.packed)};
    generation_ = context->plans.generation();
    call_ = call;
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
