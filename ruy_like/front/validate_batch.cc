// Tested in test/mul_batch_test.cc.
#include "ruy_like/front/validate_batch.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "absl/strings/str_cat.h"
#include "ruy_like/base/checked_math.h"
#include "ruy_like/base/errors.h"
#include "ruy_like/front/make_call.h"
#include "ruy_like/scalar.h"

namespace ruy_like {
namespace {

using std::ptrdiff_t;

absl::Status SharedDstError(ptrdiff_t product, ptrdiff_t other) {
  return Invalid("product ", product,
                 ": dst shares elements with the dst of product ", other);
}

// OK unless `reader` reads what `writer` writes.
absl::Status ValidatePair(const MulCall& reader, ptrdiff_t reading,
                          const MulCall& writer, ptrdiff_t writing) {
  const char* const shared = SharedInput(reader, writer.dst);
  return shared == nullptr
             ? absl::OkStatus()
             : Invalid("product ", writing, ": dst shares elements with ",
                       shared, " of product ", reading);
}

// Layouts are valid here, so their own sizes do not overflow.
absl::Status ValidateExtent(const char* name, ptrdiff_t stride, ptrdiff_t outer,
                            const Layout& layout, const Batch& batch) {
  constexpr ptrdiff_t kMaxElements =
      std::numeric_limits<ptrdiff_t>::max() / 8;  // of at most 8 bytes each
  const ptrdiff_t elements = OuterSize(layout) * layout.stride();
  ptrdiff_t last, outer_last;
  if (CheckedMul(stride, batch.count - 1, &last) &&
      CheckedMul(outer, batch.outer_count - 1, &outer_last) &&
      CheckedAdd(last, outer_last, &last) && last <= kMaxElements - elements) {
    return absl::OkStatus();
  }
  return absl::OutOfRangeError(
      absl::StrCat(batch.count, " products with ", name, "_stride = ", stride,
                   batch.outer_count == 1
                       ? ""
                       : absl::StrCat(", ", batch.outer_count, " times with ",
                                      name, "_outer_stride = ", outer),
                   ", are too large: their byte count overflows"));
}

absl::Status ValidateStrides(const MulCall& call, const Batch& batch) {
  constexpr const char* kNames[kTerms] = {"lhs",  "rhs",    "dst",
                                          "bias", "factor", "residual"};
  // Null: of dst's shape, or less.
  const ErasedMatrix* const matrices[kTerms] = {&call.lhs, &call.rhs};
  const ProductStep strides = StridesOf(batch), outer = OuterStridesOf(batch);
  for (int term = 0; term < kTerms; ++term) {
    const char* const name = kNames[term];
    const ErasedMatrix* const matrix = matrices[term];
    if (strides[term] < 0) {
      return Invalid(name, "_stride is negative: ", strides[term]);
    }
    if (outer[term] < 0) {
      return Invalid(name, "_outer_stride is negative: ", outer[term]);
    }
    if (matrix != nullptr && matrix->packed != nullptr &&
        (strides[term] | outer[term]) != 0) {
      return Invalid(name,
                     strides[term] != 0 ? "_stride is " : "_outer_stride is ",
                     strides[term] != 0 ? strides[term] : outer[term],
                     "; all products share a PackedMatrix, with stride 0");
    }
    RUY_LIKE_RETURN_IF_ERROR(ValidateExtent(
        name, strides[term], outer[term],
        matrix != nullptr ? matrix->layout : call.dst.layout, batch));
  }
  if (ResidualIsDst(call) &&
      ((batch.count > 1 && batch.residual_stride != batch.dst_stride) ||
       (batch.outer_count > 1 &&
        batch.residual_outer_stride != batch.dst_outer_stride))) {
    return Invalid("the residual of product 0 is its dst, but residual_stride ",
                   batch.residual_stride, " or residual_outer_stride ",
                   batch.residual_outer_stride, " is not dst's");
  }
  return absl::OkStatus();
}

// One dimension of what the dst of a batch are made of: adjacent elements, a
// matrix's rows or columns, a stride of the batch.
struct Repeated {
  ptrdiff_t count, stride;
};

// True if all elements are at addresses of their own: each dimension's stride,
// from the smallest on, reaches beyond what the smaller ones span. False also
// where that is not so and they are apart nevertheless.
bool AreNested(Repeated (&dimensions)[4]) {
  std::sort(
      std::begin(dimensions), std::end(dimensions),
      [](const Repeated& a, const Repeated& b) { return a.stride < b.stride; });
  ptrdiff_t extent = 1;
  for (const Repeated& dimension : dimensions) {
    if (dimension.count == 1) continue;
    if (dimension.stride < extent) return false;
    extent += (dimension.count - 1) * dimension.stride;
  }
  return true;
}

// Checks that the dst of all products are apart. Exact; constant time where
// they lie one after the other, or side by side in the rows of a larger matrix.
absl::Status ValidateDstStride(const Layout& dst, const Batch& batch) {
  const ptrdiff_t run = InnerSize(dst);
  const ptrdiff_t runs = OuterSize(dst);
  Repeated dimensions[] = {{run, 1},
                           {runs, dst.stride()},
                           {batch.count, batch.dst_stride},
                           {batch.outer_count, batch.dst_outer_stride}};
  if (AreNested(dimensions)) return absl::OkStatus();
  const ptrdiff_t extent = (runs - 1) * dst.stride() + run;
  const auto meet = [&](ptrdiff_t offset) {
    if (offset < 0) offset = -offset;
    if (offset >= extent) return false;
    const ptrdiff_t before = offset / dst.stride();
    const ptrdiff_t past = offset - before * dst.stride();
    return past < run || (before + 1 < runs && dst.stride() - past < run);
  };
  // Only the difference of two products' places counts.
  for (ptrdiff_t outer = 0; outer < batch.outer_count; ++outer) {
    for (ptrdiff_t inner = 1 - batch.count; inner < batch.count; ++inner) {
      const ptrdiff_t apart = outer * batch.count + inner;
      const ptrdiff_t offset =
          outer * batch.dst_outer_stride + inner * batch.dst_stride;
      if (inner > 0 && offset >= extent) break;
      if (apart > 0 && meet(offset)) {
        return inner >= 0 ? SharedDstError(apart, 0)
                          : SharedDstError(outer * batch.count, -inner);
      }
    }
  }
  return absl::OkStatus();
}

// Each product with each: the memory of operands and dst lies mixed.
absl::Status ValidateMixedBatch(const MulCall& call, const Batch& batch) {
  MulCall reader = call;
  MulCall writer = call;
  for (ptrdiff_t writing = 0; writing < ProductsOf(batch); ++writing) {
    MoveCall(call, batch, writing, &writer);
    for (ptrdiff_t reading = 0; reading < ProductsOf(batch); ++reading) {
      MoveCall(call, batch, reading, &reader);
      RUY_LIKE_RETURN_IF_ERROR(ValidatePair(reader, reading, writer, writing));
    }
  }
  return absl::OkStatus();
}

}  // namespace

void MoveCall(const MulCall& first, const Batch& batch, ptrdiff_t product,
              MulCall* call) {
  const Addresses at =
      Moved(AddressesOf(first), StepBetween(StepsOf(first, batch), 0, product));
  call->lhs.data = at[kLhsTerm];
  call->rhs.data = at[kRhsTerm];
  call->dst.data = at[kDstTerm];
  call->bias = at[kBiasTerm];
  call->factor = at[kFactorTerm];
  call->residual = at[kResidualTerm];
}

absl::Status ValidateBatch(const MulCall& call, const Batch& batch,
                           std::int8_t* max_exponent) {
  *max_exponent = 0;
  if (batch.count < 0) {
    return Invalid("count is negative: ", batch.count);
  }
  if (batch.outer_count < 0) {
    return Invalid("outer_count is negative: ", batch.outer_count);
  }
  if (batch.count == 0 || batch.outer_count == 0) return absl::OkStatus();
  ptrdiff_t products;
  if (!CheckedMul(batch.count, batch.outer_count, &products)) {
    return absl::OutOfRangeError(absl::StrCat(
        batch.count, " times ", batch.outer_count, " products overflow"));
  }
  absl::Status status = Validate(call, max_exponent);
  if (!status.ok()) return WithPrefix(status, "product 0: ");
  RUY_LIKE_RETURN_IF_ERROR(ValidateStrides(call, batch));
  if (IsEmpty(call.dst.layout) || products == 1) return status;
  RUY_LIKE_RETURN_IF_ERROR(ValidateDstStride(call.dst.layout, batch));
  MulCall last = call;
  MoveCall(call, batch, products - 1, &last);
  const ByteSpan dst = {SpanOf(call.dst).begin, SpanOf(last.dst).end};
  ByteSpan first_inputs[kInputs];
  ByteSpan last_inputs[kInputs];
  InputSpans(call, &first_inputs);
  InputSpans(last, &last_inputs);
  // The residual of the last product alone is its dst: that of the others, too.
  const bool others_read_dst = ResidualIsDst(last) && !ResidualIsDst(call);
  for (int i = 0; i < kInputs; ++i) {
    if (others_read_dst ||
        Meet(dst, {first_inputs[i].begin, last_inputs[i].end})) {
      return ValidateMixedBatch(call, batch);
    }
  }
  return status;
}

absl::Status ValidateGroup(GroupCall* calls, ptrdiff_t count,
                           DstSpan* scratch) {
  ptrdiff_t spans = 0;
  for (ptrdiff_t i = 0; i < count; ++i) {
    const MulCall& call = calls[i].call;
    absl::Status status = Validate(call, &calls[i].max_exponent);
    if (!status.ok()) return WithPrefix(status, "product ", i, ": ");
    if (!IsEmpty(call.dst.layout)) scratch[spans++] = {SpanOf(call.dst), i};
  }
  DstSpan* const end = scratch + spans;
  std::sort(scratch, end, [](const DstSpan& a, const DstSpan& b) {
    return a.span.begin < b.span.begin;
  });
  bool are_apart = true;
  for (ptrdiff_t i = 1; i < spans; ++i) {
    are_apart = are_apart && scratch[i].span.begin >= scratch[i - 1].span.end;
  }
  for (const DstSpan* reading = scratch; reading < end; ++reading) {
    const ptrdiff_t reader = reading->product;
    const MulCall& call = calls[reader].call;
    ByteSpan inputs[kInputs];
    InputSpans(call, &inputs);
    for (const ByteSpan& input : inputs) {
      const DstSpan* writing = scratch;
      if (are_apart) {
        writing = std::partition_point(scratch, end, [&](const DstSpan& dst) {
          return dst.span.end <= input.begin;
        });
      }
      for (; writing < end && writing->span.begin < input.end; ++writing) {
        if (writing->product == reader) continue;
        RUY_LIKE_RETURN_IF_ERROR(ValidatePair(
            call, reader, calls[writing->product].call, writing->product));
      }
    }
    if (are_apart) continue;
    for (const DstSpan* other = reading + 1;
         other < end && other->span.begin < reading->span.end; ++other) {
      if (SharesElements(call.dst, calls[other->product].call.dst)) {
        return SharedDstError(std::max(reader, other->product),
                              std::min(reader, other->product));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace ruy_like
