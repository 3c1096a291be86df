// Run: what surrounds the products of MulExperts.
//
// Called by front/mul_experts.cc, which validates and finds memory. Before the
// products each column of activations is copied, or quantized once, to where
// the pairs that read it expect it; after them results are summed up. Columns
// are dealt out to the Context's threads.
#ifndef RUY_LIKE_RUN_EXPERTS_H_
#define RUY_LIKE_RUN_EXPERTS_H_

#include <cstddef>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "ruy_like/kernels/groups/group_args.h"
#include "ruy_like/kernels/kernel.h"
#include "ruy_like/plan/context_impl.h"
#include "ruy_like/scalar.h"

namespace ruy_like {

// The pairs of each of a matrix's columns, in order.
class PairsOfColumns final {
 public:
  static std::size_t BytesFor(std::ptrdiff_t columns, std::ptrdiff_t pairs);
  // `column_of`: the column of each pair, or empty if there is a pair for each
  // column. `memory`: of that size.
  void Make(std::ptrdiff_t columns, std::ptrdiff_t pairs,
            absl::Span<const std::int32_t> column_of, void* memory);
  std::ptrdiff_t columns() const { return columns_; }
  absl::Span<const std::int32_t> operator[](std::ptrdiff_t column) const {
    return {pairs_ + starts_[column],
            static_cast<std::size_t>(starts_[column + 1] - starts_[column])};
  }

 private:
  std::ptrdiff_t columns_ = 0;
  std::int32_t* starts_ = nullptr;  // one more than columns
  std::int32_t* pairs_ = nullptr;
};

// Threads for columns of so many bytes together.
int ThreadsForColumns(std::ptrdiff_t columns, std::size_t bytes, int call_limit,
                      const ContextImpl& context);

// Activations, column-major, and their copies, one for each pair.
struct ExpertGather {
  PairsOfColumns readers;
  const char* src;
  Scalar scalar;
  std::ptrdiff_t stride, depth;  // in elements
  char* copies;
  std::ptrdiff_t copy_bytes;  // from one to the next
  int threads;

  // Null: copies are made as they are. Else the other fields are set, too.
  kernels::PackFn* quantize;
  kernels::GroupSizes sizes;
  float* scales;  // of each pair
  // Null, or of each expert: groups by pairs. starts: an expert's first pair,
  // and the end.
  float* group_scales;
  absl::Span<const std::ptrdiff_t> starts;
  char* scratch;  // ScratchBytes for each thread

  std::size_t ScratchBytes() const;
  absl::Status Run(ContextImpl* context) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex);
  // An expert's scales.
  float* GroupScalesFrom(std::ptrdiff_t first_pair) const {
    return group_scales + first_pair * sizes.groups;
  }

 private:
  void Quantize(std::ptrdiff_t column, std::int32_t pair, char* scratch) const;
  void CopyGroupScales(std::int32_t from, std::int32_t to) const;
  std::ptrdiff_t PairsOfItsExpert(std::int32_t pair, float** scales) const;
};

// Results of pairs, which sums overwrite, and the columns of dst.
struct ExpertSum {
  // Elements of columns that stay in L1 while their terms are added.
  static constexpr std::ptrdiff_t kPart = 2048;

  PairsOfColumns terms;
  float* results;         // aligned as tiles of post-ops
  std::ptrdiff_t stride;  // of results
  const float* zeros;     // kPart of them, as aligned
  const float* factors;   // of each pair, or null
  std::ptrdiff_t rows;
  char* dst;
  Scalar dst_scalar;
  std::ptrdiff_t dst_stride;
  double beta;
  int threads;

  absl::Status Run(ContextImpl* context) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex);
};

}  // namespace ruy_like

#endif  // RUY_LIKE_RUN_EXPERTS_H_
