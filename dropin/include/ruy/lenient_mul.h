// Drop-in for ruy: a second try for products that ruy computes and ruy_like
// refuses. Not in ruy; called by Mul alone, after ruy_like's answer was an
// error, so that other products do not pay for it.
//
// What is accepted, at the cost of a copy:
//
//   - a stride below the inner dimension, from 0 on: rows or columns of an
//     operand that overlap each other (0: all of them are the same one)
//   - dst sharing elements with an operand: it is written last
//   - exponents below -31: by ruy_like's formula the scaled accumulator is 0
//
// and, without one, any stride where there is a single row or column to which
// it leads. Everything else stays the error that it was.
#ifndef RUY_LIKE_DROPIN_RUY_LENIENT_MUL_H_
#define RUY_LIKE_DROPIN_RUY_LENIENT_MUL_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "absl/status/status.h"
#include "ruy/dropin_visibility.h"
#include "ruy_like/matrix.h"
#include "ruy_like/mul.h"
#include "ruy_like/mul_params.h"

namespace ruy {
namespace detail {

// A layout by the order of its memory: `outer` runs of `inner` elements.
struct Runs {
  std::ptrdiff_t inner, outer, stride;
};

RUY_LIKE_LOCAL inline Runs RunsOf(const ruy_like::Layout& layout) {
  return layout.order() == ruy_like::Order::kColMajor
             ? Runs{layout.rows(), layout.cols(), layout.stride()}
             : Runs{layout.cols(), layout.rows(), layout.stride()};
}

template <typename T>
RUY_LIKE_LOCAL std::unique_ptr<T[]> NewArray(std::ptrdiff_t count) {
  return std::unique_ptr<T[]>(new (std::nothrow)
                                  T[static_cast<std::size_t>(count)]);
}

// A stride that is never used becomes one that ruy_like takes.
template <typename T>
RUY_LIKE_LOCAL void MendUnusedStride(ruy_like::Matrix<T>* matrix) {
  const Runs runs = RunsOf(matrix->layout());
  if (runs.outer <= 1 && runs.stride < runs.inner) {
    matrix->mutable_layout()->set_stride(runs.inner);
  }
}

// Where the runs overlap, the same matrix without overlaps, in *copy. False if
// there is no memory for it.
template <typename T>
RUY_LIKE_LOCAL bool CopyOverlappingRuns(ruy_like::Matrix<T>* matrix,
                                        std::unique_ptr<T[]>* copy) {
  const Runs runs = RunsOf(matrix->layout());
  if (matrix->layout().rows() <= 0 || matrix->layout().cols() <= 0 ||
      runs.stride < 0 || runs.stride >= runs.inner ||
      std::as_const(*matrix).data() == nullptr) {
    return true;
  }
  *copy = NewArray<T>(runs.inner * runs.outer);
  if (*copy == nullptr) return false;
  for (std::ptrdiff_t i = 0; i < runs.outer; ++i) {
    std::memcpy(copy->get() + i * runs.inner,
                std::as_const(*matrix).data() + i * runs.stride,
                static_cast<std::size_t>(runs.inner) * sizeof(T));
  }
  matrix->set_data(static_cast<const T*>(copy->get()));
  matrix->mutable_layout()->set_stride(runs.inner);
  // The cache knows operands by their address, and this one is not theirs.
  matrix->set_cache_policy(ruy_like::CachePolicy::kNeverCache);
  return true;
}

// Whether the two reach into the same stretch of memory.
template <typename A, typename B>
RUY_LIKE_LOCAL bool SpansMeet(const ruy_like::Matrix<A>& a,
                              const ruy_like::Matrix<B>& b) {
  const auto begin = [](const auto& matrix) {
    return reinterpret_cast<std::uintptr_t>(matrix.data());
  };
  const auto end = [&begin](const auto& matrix) {
    const Runs runs = RunsOf(matrix.layout());
    return begin(matrix) + static_cast<std::uintptr_t>(
                               (runs.outer - 1) * runs.stride + runs.inner) *
                               sizeof(*matrix.data());
  };
  return begin(a) < end(b) && begin(b) < end(a);
}

// dst's stand-in where dst shares memory with an operand.
template <typename T>
class DstCopy final {
 public:
  RUY_LIKE_LOCAL explicit DstCopy(const ruy_like::Matrix<T>& dst)
      : dst_(dst), stand_in_(dst) {}
  RUY_LIKE_LOCAL ~DstCopy() = default;

  // False if there is no memory for it.
  RUY_LIKE_LOCAL bool StandIn() {
    const Runs runs = RunsOf(dst_.layout());
    if (dst_.data_is_const() || runs.stride < runs.inner) return true;
    copy_ = NewArray<T>(runs.inner * runs.outer);
    stand_in_.set_data(copy_.get());
    stand_in_.mutable_layout()->set_stride(runs.inner);
    return copy_ != nullptr;
  }
  RUY_LIKE_LOCAL ruy_like::Matrix<T>* stand_in() { return &stand_in_; }
  RUY_LIKE_LOCAL void CopyBack() {
    if (copy_ == nullptr) return;
    const Runs runs = RunsOf(dst_.layout());
    for (std::ptrdiff_t i = 0; i < runs.outer; ++i) {
      std::memcpy(dst_.data() + i * runs.stride, copy_.get() + i * runs.inner,
                  static_cast<std::size_t>(runs.inner) * sizeof(T));
    }
  }

 private:
  ruy_like::Matrix<T> dst_, stand_in_;
  std::unique_ptr<T[]> copy_;
};

// The multipliers with exponents below -31 replaced by a multiplier of 0, which
// gives the same: (x * fixedpoint + 2^(30 - exponent)) >> (31 - exponent) is 0
// for every x and every fixedpoint >= 0.
template <typename Params>
class MendedMultipliers final {
 public:
  RUY_LIKE_LOCAL MendedMultipliers() = default;
  RUY_LIKE_LOCAL ~MendedMultipliers() = default;

  // False if there is no memory for it.
  RUY_LIKE_LOCAL bool Mend(std::ptrdiff_t channels, Params* params) {
    if constexpr (Params::kQuantized) {
      if (!params->perchannel()) {
        if (params->multiplier_exponent() < kLowestExponent &&
            params->multiplier_fixedpoint() >= 0) {
          params->set_multiplier_fixedpoint(0);
          params->set_multiplier_exponent(0);
        }
        return true;
      }
      const std::int32_t* const old_fixedpoints =
          params->multiplier_fixedpoint_perchannel();
      const int* const old_exponents = params->multiplier_exponent_perchannel();
      if (old_fixedpoints == nullptr || old_exponents == nullptr ||
          channels <= 0) {
        return true;
      }
      fixedpoints_ = NewArray<std::int32_t>(channels);
      exponents_ = NewArray<int>(channels);
      if (fixedpoints_ == nullptr || exponents_ == nullptr) return false;
      for (std::ptrdiff_t i = 0; i < channels; ++i) {
        const bool vanishes =
            old_exponents[i] < kLowestExponent && old_fixedpoints[i] >= 0;
        fixedpoints_.get()[i] = vanishes ? 0 : old_fixedpoints[i];
        exponents_.get()[i] = vanishes ? 0 : old_exponents[i];
      }
      params->set_multiplier_fixedpoint_perchannel(fixedpoints_.get());
      params->set_multiplier_exponent_perchannel(exponents_.get());
    } else {
      (void)channels;
      (void)params;
    }
    return true;
  }

 private:
  static constexpr int kLowestExponent = -31;
  std::unique_ptr<std::int32_t[]> fixedpoints_;
  std::unique_ptr<int[]> exponents_;
};

// The product that ruy_like refused, with what is harmless in it mended. Views
// come by value, to be changed here.
template <typename Lhs, typename Rhs, typename Accum, typename Dst>
RUY_LIKE_LOCAL absl::Status LenientMul(
    ruy_like::Matrix<Lhs> lhs, ruy_like::Matrix<Rhs> rhs,
    ruy_like::MulParams<Accum, Dst> mul_params, ruy_like::Context* context,
    ruy_like::Matrix<Dst> dst) {
  const absl::Status no_memory =
      absl::ResourceExhaustedError("no memory for copies of the matrices");
  MendUnusedStride(&lhs);
  MendUnusedStride(&rhs);
  MendUnusedStride(&dst);
  std::unique_ptr<Lhs[]> lhs_copy;
  std::unique_ptr<Rhs[]> rhs_copy;
  if (!CopyOverlappingRuns(&lhs, &lhs_copy) ||
      !CopyOverlappingRuns(&rhs, &rhs_copy)) {
    return no_memory;
  }
  MendedMultipliers<ruy_like::MulParams<Accum, Dst>> multipliers;
  const std::ptrdiff_t channels =
      mul_params.channel_dimension() == ruy_like::ChannelDimension::kRow
          ? dst.layout().rows()
          : dst.layout().cols();
  if (!multipliers.Mend(channels, &mul_params)) return no_memory;
  DstCopy<Dst> dst_copy(dst);
  const bool dst_has_elements = std::as_const(dst).data() != nullptr &&
                                dst.layout().rows() > 0 &&
                                dst.layout().cols() > 0;
  if (dst_has_elements && (SpansMeet(std::as_const(lhs), std::as_const(dst)) ||
                           SpansMeet(std::as_const(rhs), std::as_const(dst)))) {
    if (!dst_copy.StandIn()) return no_memory;
  }
  const absl::Status status =
      ruy_like::Mul(lhs, rhs, mul_params, context, dst_copy.stand_in());
  if (status.ok()) dst_copy.CopyBack();
  return status;
}

}  // namespace detail
}  // namespace ruy

#endif  // RUY_LIKE_DROPIN_RUY_LENIENT_MUL_H_
