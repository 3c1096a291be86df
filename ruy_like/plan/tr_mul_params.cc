// Tested in test/mul_epilogue_test.cc.
#include "ruy_like/plan/tr_mul_params.h"

#include "absl/base/attributes.h"
#include "ruy_like/base/hot.h"
#include "ruy_like/registry/registry.h"

namespace ruy_like {
namespace {

// Swaps through general registers. The fields were stored one by one a moment
// ago; compilers swap neighbours, or a whole struct, as vectors, whose loads
// then stall on store forwarding (doc/tuning.md).
template <typename T>
ABSL_ATTRIBUTE_ALWAYS_INLINE inline void SwapField(T* a, T* b) {
  T from_a = *a;
  T from_b = *b;
  asm("" : "+r"(from_a), "+r"(from_b));
  *a = from_b;
  *b = from_a;
}

void SwapOperands(Operand* a, Operand* b) {
  SwapField(&a->data, &b->data);
  SwapField(&a->scalar, &b->scalar);
  SwapField(&a->cache_policy, &b->cache_policy);
  SwapField(&a->zero_point, &b->zero_point);
  SwapField(&a->depth_contiguous, &b->depth_contiguous);
  SwapField(&a->depth, &b->depth);
  SwapField(&a->width, &b->width);
  SwapField(&a->stride, &b->stride);
  SwapField(&a->packed, &b->packed);
  SwapField(&a->value_range, &b->value_range);
  SwapField(&a->broke_promise, &b->broke_promise);
}

}  // namespace

RUY_LIKE_HOT void SwapSides(TrMulParams* params) {
  SwapOperands(&params->side.lhs, &params->side.rhs);
  params->family = InfoOf(params->family).swapped;
  kernels::EpilogueArgs& epilogue = params->epilogue;
  SwapField(&epilogue.dst_row_stride, &epilogue.dst_col_stride);
  epilogue.channels_are_rows = !epilogue.channels_are_rows;
  if (params->post_op_needs != kernels::kNeedsNothing) {
    params->post_op_needs = SwappedNeeds(params->post_op_needs);
    SwapField(&params->zeros.lhs, &params->zeros.rhs);
    kernels::PostOpTerms& terms = params->post_ops;
    for (kernels::PostTerm* term :
         {&terms.slope, &terms.factor, &terms.residual}) {
      SwapField(&term->row_stride, &term->col_stride);
    }
  }
  if (params->scaled()) {
    kernels::ScaleArgs& scales = params->scales;
    SwapField(&scales.lhs, &scales.rhs);
    SwapField(&scales.lhs_per_row, &scales.rhs_per_col);
    // The order of rounding is the caller's.
    scales.rhs_first = !scales.rhs_first;
  }
}

kernels::EpilogueArgs EpilogueAt(const kernels::EpilogueArgs& args,
                                 std::ptrdiff_t row, std::ptrdiff_t col,
                                 EpilogueSides* sides) {
  kernels::EpilogueArgs at = args;
  at.dst = static_cast<char*>(args.dst) +
           BytesOf(args.dst_scalar,
                   row * args.dst_row_stride + col * args.dst_col_stride);
  const std::ptrdiff_t channel = args.channels_are_rows ? row : col;
  if (args.bias != nullptr) {
    at.bias = static_cast<const char*>(args.bias) +
              BytesOf(args.bias_scalar, channel);
  }
  if (args.per_channel) {
    at.fixedpoint = args.fixedpoint + channel;
    at.exponent = args.exponent + channel;
  }
  if (args.lhs_sums != nullptr) at.lhs_sums = args.lhs_sums + row;
  if (args.rhs_sums != nullptr) at.rhs_sums = args.rhs_sums + col;
  if (args.scales != nullptr) {
    kernels::ScaleArgs& scales = sides->scales = *args.scales;
    if (scales.lhs_per_row) scales.lhs += row;
    if (scales.rhs_per_col) scales.rhs += col;
    at.scales = &scales;
  }
  if (args.zeros != nullptr) {
    kernels::ZeroPointArgs& zeros = sides->zeros = *args.zeros;
    for (const std::int32_t** of_row : {&zeros.lhs, &zeros.lhs_sums}) {
      if (*of_row != nullptr) *of_row += row;
    }
    for (const std::int32_t** of_col : {&zeros.rhs, &zeros.rhs_sums}) {
      if (*of_col != nullptr) *of_col += col;
    }
    at.zeros = &zeros;
  }
  return at;
}

kernels::PostOpTerms PostOpsAt(const kernels::PostOpTerms& terms,
                               std::ptrdiff_t row, std::ptrdiff_t col) {
  kernels::PostOpTerms at = terms;
  for (kernels::PostTerm* term : {&at.slope, &at.factor, &at.residual}) {
    if (term->data == nullptr) continue;
    term->data =
        static_cast<const char*>(term->data) +
        BytesOf(term->scalar, row * term->row_stride + col * term->col_stride);
  }
  return at;
}

}  // namespace ruy_like
