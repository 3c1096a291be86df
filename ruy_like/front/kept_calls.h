// Front-end: small calls of Mul that are kept, to be made again.
//
// Held by the Context for mul.cc. Validating a call of a few elements, planning
// and setting up its product takes longer than its kernel. So the product stays
// as it is, and a call that differs from the kept one by addresses alone is
// compared with it, instead of all that: only the addresses are checked.
#ifndef RUY_LIKE_FRONT_KEPT_CALLS_H_
#define RUY_LIKE_FRONT_KEPT_CALLS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "ruy_like/erased_call.h"
#include "ruy_like/plan/context_impl.h"
#include "ruy_like/run/product.h"
#include "ruy_like/side.h"

namespace ruy_like {

class KeptCall final {
 public:
  // True if the call is the kept one at other, valid addresses; then it has
  // succeeded. False: nothing has been done.
  bool RunAgain(const MulCall& call, ContextImpl* context)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex);
  // Runs a validated call whose dst is not empty, and keeps it if it is small.
  absl::Status Run(const MulCall& call, std::int8_t max_exponent,
                   ContextImpl* context)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex);

 private:
  // In the order of ChannelArrayIndex.
  using Arrays = std::array<const void*, internal::kChannelArrayCount>;
  static Arrays ArraysOf(const MulCall& call) {
    return {call.bias, call.fixedpoint_perchannel, call.exponent_perchannel,
            call.lhs_scale_perrow, call.rhs_scale_percol};
  }

  void SetMask(const MulCall& call);
  bool IsLike(const MulCall& call) const;
  bool AddressesAreRight(const MulCall& call) const;

  bool is_kept_ = false;
  bool has_arrays_;
  std::uint32_t generation_;  // of the Context's plans
  // The first bytes of the call, and the bits of them that are compared.
  static constexpr std::size_t kWords =
      offsetof(MulCall, lengths) / sizeof(std::uint32_t);
  std::uint32_t words_[kWords], mask_[kWords];
  std::ptrdiff_t lengths_[internal::kChannelArrayCount];
  SidePair<std::uint64_t> packed_id_;
  std::uintptr_t lhs_bytes_, rhs_bytes_, dst_bytes_;
  std::array<std::uintptr_t, internal::kChannelArrayCount> array_bytes_;
  Product product_;
};

// A call's place is that of its sizes and bounds.
class KeptCalls final {
 public:
  KeptCall* PlaceOf(const MulCall& call);

 private:
  static constexpr int kBits = 3;
  KeptCall calls_[1 << kBits];
};

}  // namespace ruy_like

#endif  // RUY_LIKE_FRONT_KEPT_CALLS_H_
