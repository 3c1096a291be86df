#include "lenient_mul.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

#include "ruy_like/base/checked_math.h"
#include "ruy_like/mul.h"
#include "ruy_like/scalar.h"

namespace ruy::detail {
namespace {

using ruy_like::ErasedMatrix;
using ruy_like::MulCall;

constexpr int kLowestExponent = -31;

// A matrix by the order of its memory: `outer` runs of `inner_bytes`, each one
// `stride_bytes` after the one before.
struct Runs {
  std::ptrdiff_t outer, inner_bytes, stride_bytes;
};

Runs RunsOf(const ErasedMatrix& matrix) {
  const ruy_like::Layout& layout = matrix.layout;
  const bool columns = layout.order() == ruy_like::Order::kColMajor;
  return {
      columns ? layout.cols() : layout.rows(),
      ruy_like::BytesOf(matrix.scalar, columns ? layout.rows() : layout.cols()),
      ruy_like::BytesOf(matrix.scalar, layout.stride())};
}

bool HasElements(const ErasedMatrix& matrix) {
  return matrix.data != nullptr && matrix.layout.rows() > 0 &&
         matrix.layout.cols() > 0;
}

// Makes the runs lie one after the other.
void SetPackedStride(ErasedMatrix* matrix) {
  ruy_like::Layout& layout = matrix->layout;
  layout.set_stride(layout.order() == ruy_like::Order::kColMajor
                        ? layout.rows()
                        : layout.cols());
}

using Bytes = std::unique_ptr<unsigned char[]>;

// Room for all runs, one after the other; null if there is no memory for it.
Bytes NewRuns(const Runs& runs) {
  std::ptrdiff_t bytes = 0;
  if (!ruy_like::CheckedMul(runs.outer, runs.inner_bytes, &bytes)) {
    return nullptr;
  }
  return Bytes(
      new (std::nothrow) unsigned char[static_cast<std::size_t>(bytes)]);
}

void CopyRuns(const Runs& runs, const void* from, std::ptrdiff_t from_stride,
              void* to, std::ptrdiff_t to_stride) {
  for (std::ptrdiff_t i = 0; i < runs.outer; ++i) {
    std::memcpy(static_cast<unsigned char*>(to) + i * to_stride,
                static_cast<const unsigned char*>(from) + i * from_stride,
                static_cast<std::size_t>(runs.inner_bytes));
  }
}

// A stride that is never used becomes one that ruy_like takes.
void MendUnusedStride(ErasedMatrix* matrix) {
  const Runs runs = RunsOf(*matrix);
  if (runs.outer <= 1 && runs.stride_bytes < runs.inner_bytes) {
    SetPackedStride(matrix);
  }
}

// Where the runs overlap, the same matrix without overlaps, in *copy. False if
// there is no memory for it.
bool CopyOverlappingRuns(ErasedMatrix* matrix, Bytes* copy) {
  const Runs runs = RunsOf(*matrix);
  if (!HasElements(*matrix) || runs.stride_bytes < 0 ||
      runs.stride_bytes >= runs.inner_bytes) {
    return true;
  }
  *copy = NewRuns(runs);
  if (*copy == nullptr) return false;
  CopyRuns(runs, matrix->data, runs.stride_bytes, copy->get(),
           runs.inner_bytes);
  matrix->data = copy->get();
  SetPackedStride(matrix);
  // The cache knows operands by their address, and this one is not theirs.
  matrix->cache_policy = ruy_like::CachePolicy::kNeverCache;
  return true;
}

// True if the two matrices' memory overlaps.
bool SpansMeet(const ErasedMatrix& a, const ErasedMatrix& b) {
  if (!HasElements(a) || !HasElements(b)) return false;
  const auto begin = [](const ErasedMatrix& matrix) {
    return reinterpret_cast<std::uintptr_t>(matrix.data);
  };
  const auto end = [&begin](const ErasedMatrix& matrix) {
    const Runs runs = RunsOf(matrix);
    return begin(matrix) +
           static_cast<std::uintptr_t>((runs.outer - 1) * runs.stride_bytes +
                                       runs.inner_bytes);
  };
  return begin(a) < end(b) && begin(b) < end(a);
}

// Memory for dst's stand-in where dst shares memory with an operand.
class DstCopy final {
 public:
  // False if there is no memory for it.
  bool StandInFor(ErasedMatrix* dst) {
    runs_ = RunsOf(*dst);
    if (dst->data_is_const || runs_.stride_bytes < runs_.inner_bytes) {
      return true;  // an error
    }
    copy_ = NewRuns(runs_);
    if (copy_ == nullptr) return false;
    dst_data_ = const_cast<void*>(dst->data);
    dst->data = copy_.get();
    SetPackedStride(dst);
    return true;
  }
  void CopyBack() const {
    if (copy_ == nullptr) return;
    CopyRuns(runs_, copy_.get(), runs_.inner_bytes, dst_data_,
             runs_.stride_bytes);
  }

 private:
  Runs runs_ = {};
  void* dst_data_ = nullptr;
  Bytes copy_;
};

// Replaces multipliers with exponents below -31 by a multiplier of 0, which
// gives the same: (x * fixedpoint + 2^(30 - exponent)) >> (31 - exponent) is 0
// for every x and every fixedpoint >= 0.
class MendedMultipliers final {
 public:
  // False if there is no memory for it.
  bool Mend(MulCall* call) {
    if (!call->quantized) return true;
    const std::int32_t* const fixedpoints = call->fixedpoint_perchannel;
    const std::int32_t* const exponents = call->exponent_perchannel;
    if (fixedpoints == nullptr && exponents == nullptr) {
      if (Vanishes(call->fixedpoint, call->exponent)) {
        call->fixedpoint = 0;
        call->exponent = 0;
      }
      return true;
    }
    const ruy_like::Layout& dst = call->dst.layout;
    const std::ptrdiff_t channels =
        call->channel_dimension == ruy_like::ChannelDimension::kRow
            ? dst.rows()
            : dst.cols();
    if (fixedpoints == nullptr || exponents == nullptr || channels <= 0) {
      return true;
    }
    const auto count = static_cast<std::size_t>(channels);
    fixedpoints_.reset(new (std::nothrow) std::int32_t[count]);
    exponents_.reset(new (std::nothrow) std::int32_t[count]);
    if (fixedpoints_ == nullptr || exponents_ == nullptr) return false;
    for (std::size_t i = 0; i < count; ++i) {
      const bool vanishes = Vanishes(fixedpoints[i], exponents[i]);
      fixedpoints_[i] = vanishes ? 0 : fixedpoints[i];
      exponents_[i] = vanishes ? 0 : exponents[i];
    }
    call->fixedpoint_perchannel = fixedpoints_.get();
    call->exponent_perchannel = exponents_.get();
    return true;
  }

 private:
  static bool Vanishes(std::int32_t fixedpoint, std::int32_t exponent) {
    return exponent < kLowestExponent && fixedpoint >= 0;
  }

  std::unique_ptr<std::int32_t[]> fixedpoints_, exponents_;
};

}  // namespace

absl::Status LenientMul(const MulCall& refused, ruy_like::Context* context) {
  MulCall call = refused;
  MendUnusedStride(&call.lhs);
  MendUnusedStride(&call.rhs);
  MendUnusedStride(&call.dst);
  Bytes lhs_copy, rhs_copy;
  MendedMultipliers multipliers;
  if (!CopyOverlappingRuns(&call.lhs, &lhs_copy) ||
      !CopyOverlappingRuns(&call.rhs, &rhs_copy) || !multipliers.Mend(&call)) {
    return absl::ResourceExhaustedError("no memory for copies of the matrices");
  }
  DstCopy dst_copy;
  if ((SpansMeet(call.lhs, call.dst) || SpansMeet(call.rhs, call.dst)) &&
      !dst_copy.StandInFor(&call.dst)) {
    return absl::ResourceExhaustedError("no memory for a copy of dst");
  }
  absl::Status status = ruy_like::internal::MulErased(call, context);
  if (status.ok()) dst_copy.CopyBack();
  return status;
}

}  // namespace ruy::detail
