// Tested in test/diagnostics/verbose_test.cc.
#include "ruy_like/plan/choose_plan.h"

#include "absl/base/attributes.h"
#include "absl/strings/str_cat.h"
#include "ruy_like/base/float_state.h"
#include "ruy_like/base/hot.h"
#include "ruy_like/kernels/kernel_facts.h"
#include "ruy_like/machine/cpu_features.h"
#include "ruy_like/packed/group_image.h"
#include "ruy_like/packed/packed_operand.h"
#include "ruy_like/packed/prepacked_cache.h"
#include "ruy_like/packed/value_range.h"

namespace ruy_like {
namespace {

// True if the operand's packed form is to be in the prepacked cache.
inline bool WantsCache(const TrMulParams& params, Side side) {
  const std::ptrdiff_t other_width = params.side[Other(side)].width;
  switch (params.side[side].cache_policy) {
    case CachePolicy::kNeverCache:
      return false;
    case CachePolicy::kCacheIfLargeSpeedup:
      return other_width <= 16;
    case CachePolicy::kCacheIfSignificantSpeedup:
      return other_width <= 128;
    case CachePolicy::kAlwaysCache:
      return true;
  }
  return false;
}

KernelChoice Select(const KernelQuery& query, const TrMulParams& params,
                    Path permitted, std::vector<Rejection>* rejections) {
  const PackedOperand* const lhs = params.side.lhs.packed;
  const PackedOperand* const rhs = params.side.rhs.packed;
  if (lhs == nullptr && rhs == nullptr) {
    return SelectKernel(query, permitted, rejections);
  }
  return SelectKernelForPacked(query,
                               {lhs == nullptr ? nullptr : &lhs->layout,
                                rhs == nullptr ? nullptr : &rhs->layout},
                               permitted, rejections);
}

// True if the kernel may count on what the caller promised of an operand, where
// it does. What is packed, or in the cache, for a range was looked at before it
// was packed.
bool PromiseHolds(const KernelChoice& choice, Side side,
                  const TrMulParams& params, ContextImpl* context)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex) {
  const kernels::PanelFormat& format =
      FormatOf(*choice.kernel, choice.swap_sides ? Other(side) : side);
  const Operand& operand = params.side[side];
  if (format.range == ValueRange::kFull || operand.packed != nullptr) {
    return true;
  }
  if (WantsCache(params, side) &&
      context->prepacked_cache.Find(KeyOf(operand, format)) != nullptr) {
    return true;
  }
  return HoldsInt7(operand);
}

// Adds the sizes of group scales, and that activations are gathered. Either
// side can be the weights.
void AddGroups(const TrMulParams& params, KernelQuery* query) {
  for (const Side side : kSides) {
    const PackedOperand* const weights = params.side[side].packed;
    if (weights == nullptr) continue;
    const GroupShape& shape = GroupImageOf(*weights).group_shape;
    query->group_depth = kernels::kGroupStepDepth * shape.sizes.group_steps;
    query->table_span = shape.table_span;
    // Activations that are gathered are not read in place.
    if (shape.has_depth_order) query->depth_contiguous[Other(side)] = false;
  }
}

// Inlined into ChooseKernel, which runs for every product.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline KernelQuery QueryFor(
    const TrMulParams& params) {
  KernelQuery query;
  query.family = params.family;
  query.float_sums = params.float_sums;
  query.rows = params.rows();
  query.cols = params.cols();
  query.depth = params.depth();
  query.dst_col_major = params.epilogue.dst_row_stride == 1;
  query.post_op_needs = params.post_op_needs;
  for (const Side side : kSides) {
    const Operand& operand = params.side[side];
    query.scalar[side] = operand.scalar;
    query.depth_contiguous[side] = operand.depth_contiguous;
    query.cached[side] = WantsCache(params, side);
    query.range[side] = operand.value_range;
    if (operand.packed != nullptr) {
      query.range[side] = operand.packed->layout.format.range;
      query.packed[side] = operand.packed->layout.kernel_format;
    }
  }
  if (query.family == Family::kGroupScaled) AddGroups(params, &query);
  return query;
}

// A plan of the product's query with the kernel alone.
void ChooseAnew(const TrMulParams& params, ContextImpl* context, KeptPlan* kept)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex) {
  // The choice estimates, in doubles, what pays off.
  const ScopedFloatState float_state(FloatState::kDefault);
  const KernelQuery query = QueryFor(params);
  Path permitted = context->permitted_paths;
  kept->plan.choice = SelectThatMayRun(query, params, &MayRun, &permitted);
  kept->Begin(query, permitted);
  context->permitted_paths = permitted;
}

}  // namespace

KernelQuery MakeKernelQuery(const TrMulParams& params) {
  return QueryFor(params);
}

KernelChoice SelectThatMayRun(const KernelQuery& query,
                              const TrMulParams& params, bool (*may_run)(Path),
                              Path* permitted) {
  for (;;) {
    const KernelChoice choice = Select(query, params, *permitted, nullptr);
    if (choice.kernel == nullptr) return choice;
    const Path owner = OwnerOf(*choice.kernel);
    if (may_run(owner)) return choice;
    *permitted = *permitted & ~owner;
  }
}

RUY_LIKE_HOT KeptPlan* ChooseKernel(TrMulParams* params, KeptPlans* plans,
                                    ContextImpl* context) {
  for (;;) {
    const QueryKey key = KeyOf(QueryFor(*params));
    KeptPlan* kept = plans->last();
    if (!kept->IsFor(key, context->permitted_paths)) {
      kept = plans->For(key);
      if (!kept->IsFor(key, context->permitted_paths)) {
        plans->StartGeneration();
        ChooseAnew(*params, context, kept);
      }
    }
    const KernelChoice& choice = kept->plan.choice;
    if (choice.kernel == nullptr) return nullptr;
    if (!ReliesOnRanges(*choice.kernel)) return kept;
    const auto promise_holds = [&](Side side) {
      return PromiseHolds(choice, side, *params, context);
    };
    const bool lhs_holds = promise_holds(Side::kLhs);
    if (lhs_holds && promise_holds(Side::kRhs)) return kept;
    Operand& broken = params->side[lhs_holds ? Side::kRhs : Side::kLhs];
    broken.value_range = ValueRange::kFull;
    broken.broke_promise = true;
  }
}

void KeptPlan::MakeFor(const ThreadLimit& wanted) {
  if (plan.is_small && !wanted.force) return;
  if (limit.most == wanted.most && limit.force == wanted.force) return;
  const ScopedFloatState float_state(FloatState::kDefault);
  const KernelChoice choice = plan.choice;
  MakePlan(query, choice, wanted, DetectedCacheSizes(), &plan);
  limit = wanted;
}

std::vector<Rejection> ExplainChoice(const TrMulParams& params,
                                     Path permitted) {
  std::vector<Rejection> rejections;
  Select(MakeKernelQuery(params), params, permitted, &rejections);
  return rejections;
}

absl::Status NoKernelError(const TrMulParams& params, Path permitted) {
  const bool is_lhs = params.side.lhs.packed != nullptr;
  const PackedLayout& layout =
      (is_lhs ? params.side.lhs : params.side.rhs).packed->layout;
  return absl::FailedPreconditionError(absl::StrCat(
      is_lhs ? "lhs" : "rhs", " is packed for path ", PathName(layout.path),
      " (", LayoutName(layout), "), whose kernels the permitted paths, ",
      PathNames(permitted), ", do not have"));
}

}  // namespace ruy_like
