// Tested in test/mul_experts_test.cc.
#include "ruy_like/mul_experts.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

#include "absl/strings/str_cat.h"
#include "ruy_like/base/allocator.h"
#include "ruy_like/base/checked_math.h"
#include "ruy_like/base/errors.h"
#include "ruy_like/base/no_memory.h"
#include "ruy_like/front/make_call.h"
#include "ruy_like/front/validate_batch.h"
#include "ruy_like/kernels/kernel_facts.h"
#include "ruy_like/packed/group_image.h"
#include "ruy_like/plan/context_impl.h"
#include "ruy_like/registry/registry.h"
#include "ruy_like/run/batch.h"
#include "ruy_like/run/experts.h"
#include "ruy_like/run/parallel.h"

namespace ruy_like::internal {
namespace {

using std::ptrdiff_t;

// The arguments of one call.
struct Experts {
  const void* arguments;
  ptrdiff_t count;
  EraseProductFn* erase;
  const ExpertRouting& routing;
  MulCall first;  // expert 0's product with all columns
  ptrdiff_t pairs = 0;
  ptrdiff_t used = 0;  // experts with pairs

  ptrdiff_t CountOf(ptrdiff_t expert) const {
    return routing.counts[static_cast<std::size_t>(expert)];
  }
  bool Gathers() const { return !routing.sources.empty(); }
  // Also the sums of no pairs.
  bool Sums() const {
    return !routing.targets.empty() || !routing.factors.empty() || pairs == 0;
  }
  bool Quantizes() const {
    return Gathers() && first.family == Family::kGroupScaled &&
           first.rhs.scalar != Scalar::kI8;
  }
  bool HasGroupScales() const {
    return Quantizes() &&
           first.activation_scales == ActivationScales::kPerGroup;
  }
  void Fill(ptrdiff_t expert, MulCall* call) const {
    erase(arguments, expert, call);
    call->columns_are_routed = true;
    if (call->bias == nullptr) return;
    call->bias = static_cast<const char*>(call->bias) +
                 BytesOf(call->accum_scalar, expert * routing.bias_stride);
  }
};

const kernels::GroupSizes& SizesOf(const MulCall& call) {
  return GroupImageOf(*call.lhs.packed).group_shape.sizes;
}

// Activations are quantized once for all experts. `call` is valid.
absl::Status CheckGroups(const Experts& experts, const MulCall& call) {
  if (!experts.HasGroupScales()) return absl::OkStatus();
  if (SizesOf(call).groups != SizesOf(experts.first).groups ||
      SizesOf(call).group_steps != SizesOf(experts.first).group_steps) {
    return Invalid("its groups have another size than those of expert 0, but ",
                   "activations are quantized once per group");
  }
  if (GroupImageOf(*call.lhs.packed).depth_order != nullptr) {
    return Invalid("its weights have a depth order, but activations are ",
                   "quantized once per group");
  }
  return absl::OkStatus();
}

absl::Status CheckLength(const char* name, std::size_t size, ptrdiff_t pairs) {
  if (size == 0 || static_cast<ptrdiff_t>(size) == pairs) {
    return absl::OkStatus();
  }
  return Invalid(name, " has ", size, " elements, not one for each of the ",
                 pairs, " pairs");
}

// The columns of a matrix that pairs name; without names, one for each.
absl::Status CheckColumns(const char* name,
                          absl::Span<const std::int32_t> of_pairs,
                          ptrdiff_t pairs, const char* matrix_name,
                          const ErasedMatrix& matrix, bool by_column) {
  const ptrdiff_t columns = matrix.layout.cols();
  RUY_LIKE_RETURN_IF_ERROR(CheckLength(name, of_pairs.size(), pairs));
  if (of_pairs.empty() && pairs != 0 && columns != pairs) {
    return Invalid(matrix_name, " has ", columns, " columns for ", pairs,
                   " pairs, and ", name, " is empty");
  }
  for (std::size_t i = 0; i < of_pairs.size(); ++i) {
    if (of_pairs[i] >= 0 && of_pairs[i] < columns) continue;
    return Invalid("element ", i, " of ", name, " is ", of_pairs[i], ", but ",
                   matrix_name, " has ", columns, " columns");
  }
  if (by_column && !IsColMajor(matrix.layout)) {
    return Invalid(matrix_name, " must be column-major with sources, targets ",
                   "or factors");
  }
  return absl::OkStatus();
}

absl::Status CheckRouting(Experts* experts) {
  const ExpertRouting& routing = experts->routing;
  if (static_cast<ptrdiff_t>(routing.counts.size()) != experts->count) {
    return Invalid("counts has ", routing.counts.size(),
                   " elements, not one for each of the ", experts->count,
                   " experts");
  }
  for (ptrdiff_t expert = 0; expert < experts->count; ++expert) {
    const ptrdiff_t count = experts->CountOf(expert);
    if (count < 0) {
      return Invalid("the count of expert ", expert, " is negative: ", count);
    }
    experts->pairs += count;
    experts->used += count == 0 ? 0 : 1;
  }
  const ptrdiff_t pairs = experts->pairs;
  if (pairs > std::numeric_limits<std::int32_t>::max()) {
    return absl::OutOfRangeError(absl::StrCat(pairs, " pairs are too many"));
  }
  if (routing.bias_stride < 0) {
    return Invalid("bias_stride is negative: ", routing.bias_stride);
  }
  RUY_LIKE_RETURN_IF_ERROR(
      CheckLength("factors", routing.factors.size(), pairs));
  RUY_LIKE_RETURN_IF_ERROR(CheckColumns("sources", routing.sources, pairs,
                                        "activations", experts->first.rhs,
                                        experts->Gathers()));
  const ErasedMatrix& dst = experts->first.dst;
  return CheckColumns("targets", routing.targets, pairs, "dst", dst,
                      experts->Sums() && !IsEmpty(dst.layout));
}

// Settings of Mul that experts do not have.
absl::Status CheckSettings(const Experts& experts) {
  const MulCall& call = experts.first;
  if (call.channel_dimension == ChannelDimension::kCol) {
    return Invalid("channels are along columns; those of experts are rows");
  }
  if (call.post_ops != nullptr) {
    if (!call.post_ops->lhs_zero_points.empty() ||
        !call.post_ops->rhs_zero_points.empty()) {
      return Invalid("zero points of rows and columns are not for experts");
    }
    for (const PostOperand* operand :
         {&call.post_ops->factor, &call.post_ops->residual}) {
      if (!operand->is_none() && !operand->is_per_channel()) {
        return Invalid(
            "the ", operand == &call.post_ops->factor ? "factor" : "residual",
            " of experts' post-ops is a matrix, not per channel");
      }
    }
  }
  if (!experts.Sums() || IsEmpty(call.dst.layout)) return absl::OkStatus();
  if (!IsFloat(call.dst.scalar) || call.family == Family::kF64) {
    return Invalid("sums of experts are for dst of float and 16-bit floats ",
                   "and accumulators other than double, not for ",
                   InfoOf(call.dst.scalar).name);
  }
  const ptrdiff_t bytes = experts.pairs * ptrdiff_t{sizeof(float)};
  if (!experts.routing.factors.empty() &&
      SharesBytes(call.dst, experts.routing.factors.data(), bytes)) {
    return Invalid("dst shares elements with factors");
  }
  return absl::OkStatus();
}

// Those after expert 0. Of experts without pairs the shape alone: nothing else
// of them is read.
absl::Status CheckOthers(const Experts& experts, std::int8_t* max_exponent) {
  const Layout& shape = experts.first.lhs.layout;
  for (ptrdiff_t expert = 1; expert < experts.count; ++expert) {
    MulCall call;
    experts.Fill(expert, &call);
    if (experts.CountOf(expert) == 0 &&
        call.lhs.layout.rows() == shape.rows() &&
        call.lhs.layout.cols() == shape.cols()) {
      continue;
    }
    std::int8_t exponent;
    absl::Status status = Validate(call, &exponent);
    *max_exponent = std::max(*max_exponent, exponent);
    if (status.ok()) status = CheckGroups(experts, call);
    if (!status.ok()) return WithPrefix(status, "expert ", expert, ": ");
  }
  return absl::OkStatus();
}

// All that a call needs until it returns, in the Context's memory.
struct ExpertsMemory {
  GroupCall* calls;  // of experts with pairs
  ptrdiff_t* starts;
  char *readers, *terms;
  ExpertGather gather = {};
  ExpertSum sum = {};
  std::int8_t* zero_points;  // of copies
  float* zeros;

  // take(&pointer, count) for each array.
  template <typename Take>
  void TakeAll(const Experts& experts, const Take& take) {
    const MulCall& first = experts.first;
    const auto pairs = static_cast<std::size_t>(experts.pairs);
    take(&calls, static_cast<std::size_t>(experts.used));
    take(&starts, static_cast<std::size_t>(experts.count + 1));
    if (experts.Gathers()) {
      take(&readers,
           PairsOfColumns::BytesFor(first.rhs.layout.cols(), experts.pairs));
      take(&gather.copies,
           SaturatingMul(pairs, static_cast<std::size_t>(gather.copy_bytes)));
      take(&gather.scales, pairs);
      take(&zero_points, pairs);
    }
    if (experts.Quantizes()) {
      take(&gather.scratch,
           SaturatingMul(static_cast<std::size_t>(gather.threads),
                         gather.ScratchBytes()));
    }
    if (experts.HasGroupScales()) {
      take(&gather.group_scales,
           SaturatingMul(pairs, static_cast<std::size_t>(gather.sizes.groups)));
    }
    if (experts.Sums()) {
      take(&terms,
           PairsOfColumns::BytesFor(first.dst.layout.cols(), experts.pairs));
      take(&sum.results,
           SaturatingMul(pairs, static_cast<std::size_t>(sum.stride)));
      take(&zeros, std::size_t{ExpertSum::kPart});
    }
  }
};

// The sizes of what is gathered and summed up.
void SetSizes(const Experts& experts, const ContextImpl& context,
              ExpertsMemory* memory) {
  const MulCall& call = experts.first;
  ExpertGather& gather = memory->gather;
  gather.src = static_cast<const char*>(call.rhs.data);
  gather.scalar = call.rhs.scalar;
  gather.stride = call.rhs.layout.stride();
  gather.depth = call.rhs.layout.rows();
  // Columns that are not a multiple of 4 KiB apart, which would share sets of
  // L1.
  gather.copy_bytes =
      RoundUpToPowerOf2(experts.Quantizes()
                            ? gather.depth
                            : BytesOf(gather.scalar, gather.depth),
                        kBufferAlignment) +
      ptrdiff_t{kBufferAlignment};
  gather.threads = ThreadsForColumns(
      call.rhs.layout.cols(),
      SaturatingMul(static_cast<std::size_t>(experts.pairs),
                    static_cast<std::size_t>(gather.copy_bytes)),
      call.max_num_threads, context);
  if (experts.Quantizes()) {
    gather.quantize = RoutinesOf(BestPath(context.permitted_paths)).quantize;
    gather.sizes = SizesOf(call);
  }
  ExpertSum& sum = memory->sum;
  sum.rows = call.dst.layout.rows();
  sum.stride = kernels::TileStride(sum.rows) + 16;
  sum.factors = experts.routing.factors.empty()
                    ? nullptr
                    : experts.routing.factors.data();
  sum.dst = static_cast<char*>(const_cast<void*>(call.dst.data));
  sum.dst_scalar = call.dst.scalar;
  sum.dst_stride = call.dst.layout.stride();
  sum.beta = call.beta;
  sum.threads = ThreadsForColumns(
      call.dst.layout.cols(),
      SaturatingMul(static_cast<std::size_t>(experts.pairs),
                    static_cast<std::size_t>(sum.stride) * sizeof(float)),
      call.max_num_threads, context);
}

bool TakeMemory(const Experts& experts, ScratchArena* arena,
                ExpertsMemory* memory) {
  std::size_t bytes = 0;
  memory->TakeAll(experts, [&bytes](auto** array, std::size_t count) {
    bytes = SaturatingAdd(
        bytes, ScratchArena::Footprint(SaturatingMul(count, sizeof(**array))));
  });
  if (!arena->Reserve(bytes)) return false;
  memory->TakeAll(experts, [arena](auto** array, std::size_t count) {
    *array = static_cast<std::remove_reference_t<decltype(*array)>>(
        arena->Take(count * sizeof(**array)));
  });
  return true;
}

// Columns from `first` on.
void UseColumns(ptrdiff_t first, ptrdiff_t count, ErasedMatrix* matrix) {
  matrix->data = static_cast<const char*>(matrix->data) +
                 BytesOf(matrix->scalar, first * (IsColMajor(matrix->layout)
                                                      ? matrix->layout.stride()
                                                      : 1));
  matrix->layout.set_cols(count);
}
void UseColumns(ptrdiff_t first, ptrdiff_t count, const void* data,
                Scalar scalar, ptrdiff_t stride, ErasedMatrix* matrix) {
  matrix->data = data;
  matrix->scalar = scalar;
  matrix->layout.set_order(Order::kColMajor);
  matrix->layout.set_stride(stride);
  UseColumns(first, count, matrix);
}

// An expert's product with its pairs, which are `first` and those after it.
void FillProduct(const Experts& experts, const ExpertsMemory& memory,
                 ptrdiff_t expert, ptrdiff_t first, MulCall* call) {
  experts.Fill(expert, call);
  const ptrdiff_t count = experts.CountOf(expert);
  const ExpertGather& gather = memory.gather;
  const float*& scales = call->rhs_scale_percol;
  const std::int8_t*& zero_points = call->activation_zero_points;
  if (experts.Gathers()) {
    const Scalar scalar = experts.Quantizes() ? Scalar::kI8 : gather.scalar;
    UseColumns(first, count, gather.copies, scalar,
               gather.copy_bytes / BytesOf(scalar, 1), &call->rhs);
    if (experts.HasGroupScales()) {
      call->activation_group_scales = gather.GroupScalesFrom(first);
    } else if (experts.Quantizes() || scales != nullptr) {
      scales = gather.scales;
    }
    if (zero_points != nullptr) zero_points = memory.zero_points;
  } else {
    UseColumns(first, count, &call->rhs);
  }
  if (scales != nullptr) scales += first;
  if (zero_points != nullptr) zero_points += first;
  if (experts.Sums()) {
    call->beta = 0;
    UseColumns(first, count, memory.sum.results, Scalar::kF32,
               memory.sum.stride, &call->dst);
  } else {
    UseColumns(first, count, &call->dst);
  }
}

// Fills in what was taken, before anything is multiplied.
void Prepare(const Experts& experts, std::int8_t max_exponent,
             ExpertsMemory* memory) {
  const ExpertRouting& routing = experts.routing;
  const MulCall& first = experts.first;
  GroupCall* call = memory->calls;
  memory->starts[0] = 0;
  for (ptrdiff_t expert = 0; expert < experts.count; ++expert) {
    const ptrdiff_t start = memory->starts[expert];
    memory->starts[expert + 1] = start + experts.CountOf(expert);
    if (experts.CountOf(expert) == 0) continue;
    new (call) GroupCall;
    FillProduct(experts, *memory, expert, start, &call->call);
    call->max_exponent = max_exponent;
    ++call;
  }
  if (experts.Gathers()) {
    ExpertGather& gather = memory->gather;
    gather.readers.Make(first.rhs.layout.cols(), experts.pairs, routing.sources,
                        memory->readers);
    gather.starts = absl::MakeConstSpan(
        memory->starts, static_cast<std::size_t>(experts.count + 1));
    for (std::size_t i = 0; i < routing.sources.size(); ++i) {
      const std::int32_t source = routing.sources[i];
      if (first.rhs_scale_percol != nullptr) {
        gather.scales[i] = first.rhs_scale_percol[source];
      }
      if (first.activation_zero_points != nullptr) {
        memory->zero_points[i] = first.activation_zero_points[source];
      }
    }
  }
  if (experts.Sums()) {
    memory->sum.terms.Make(first.dst.layout.cols(), experts.pairs,
                           routing.targets, memory->terms);
    std::fill_n(memory->zeros, ExpertSum::kPart, 0.0f);
    memory->sum.zeros = memory->zeros;
  }
}

absl::Status RunExperts(const Experts& experts, std::int8_t max_exponent,
                        ContextImpl* context)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex) {
  ExpertsMemory memory;
  SetSizes(experts, *context, &memory);
  if (!TakeMemory(experts, &context->calls_arena, &memory)) {
    return OutOfMemory("for ", experts.pairs, " pairs of experts");
  }
  Prepare(experts, max_exponent, &memory);
  if (experts.Gathers()) {
    RUY_LIKE_RETURN_IF_ERROR(memory.gather.Run(context));
  }
  RUY_LIKE_RETURN_IF_ERROR(RunGroup(&FillFromGroupCalls, memory.calls,
                                    experts.used, experts.first.max_num_threads,
                                    context));
  return experts.Sums() ? memory.sum.Run(context) : absl::OkStatus();
}

absl::Status ValidateAndMulExperts(Experts* experts, Context* context) {
  if (experts->count == 0) return Invalid("there are no experts");
  experts->Fill(0, &experts->first);
  std::int8_t max_exponent;
  absl::Status status = Validate(experts->first, &max_exponent);
  if (status.ok()) status = CheckGroups(*experts, experts->first);
  if (!status.ok()) return WithPrefix(status, "expert 0: ");
  RUY_LIKE_RETURN_IF_ERROR(CheckRouting(experts));
  RUY_LIKE_RETURN_IF_ERROR(CheckSettings(*experts));
  RUY_LIKE_RETURN_IF_ERROR(CheckOthers(*experts, &max_exponent));
  if (IsEmpty(experts->first.dst.layout)) return absl::OkStatus();
  ContextImpl* impl = context->impl();
  RUY_LIKE_LOCK_FOR_CALL(impl);
  return RunExperts(*experts, max_exponent, impl);
}

}  // namespace

absl::Status MulExpertsErased(const void* arguments, ptrdiff_t count,
                              EraseProductFn* erase,
                              const ExpertRouting& routing, Context* context) {
  return CatchNoMemory([&] {
    Experts experts = {arguments, count, erase, routing, {}};
    return ValidateAndMulExperts(&experts, context);
  });
}

}  // namespace ruy_like::internal
