// Tested in test/mul_batch_test.cc.
#include "ruy_like/run/batch.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "ruy_like/base/allocator.h"
#include "ruy_like/base/checked_math.h"
#include "ruy_like/base/errors.h"
#include "ruy_like/base/float_state.h"
#include "ruy_like/base/hot.h"
#include "ruy_like/diagnostics/trace.h"
#include "ruy_like/diagnostics/verbose.h"
#include "ruy_like/kernels/kernel_facts.h"
#include "ruy_like/machine/cpu_features.h"
#include "ruy_like/packed/value_range.h"
#include "ruy_like/plan/block_map.h"
#include "ruy_like/plan/choose_plan.h"
#include "ruy_like/plan/plan.h"
#include "ruy_like/run/parallel.h"
#include "ruy_like/run/product.h"

namespace ruy_like {

using std::ptrdiff_t;

ProductStep StepBetween(const BatchSteps& steps, ptrdiff_t from, ptrdiff_t to) {
  const ptrdiff_t rows = to / steps.inner_count - from / steps.inner_count;
  const ptrdiff_t places = to - from - rows * steps.inner_count;
  ProductStep step;
  for (int term = 0; term < kTerms; ++term) {
    step[term] = places * steps.inner[term] + rows * steps.outer[term];
  }
  return step;
}

namespace {

// Time of a product without its multiply-adds, within a factor of 2 or 3.
constexpr double kProductNs = 50;
// Drawing from the counter takes some 20 ns, more where threads meet: several
// tiny products at a time make this much.
constexpr double kDrawNs = 1000;

bool IsForced(const ContextImpl& context) {
  return context.num_threads_strategy ==
         NumThreadsStrategy::kForceMaxNumThreads;
}

// Threads that so much work pays for, at most `most`.
int ThreadsFor(double ns, int most, const ContextImpl& context) {
  return IsForced(context) ? most : ThreadsWorth(ns, most);
}

void NeverCache(TrMulParams* params) {
  for (const Side side : kSides) {
    params->side[side].cache_policy = CachePolicy::kNeverCache;
  }
}

// --- One plan for all ---

void MoveParams(const BatchSteps& steps, ptrdiff_t product,
                TrMulParams* params) {
  SetAddresses(Moved(AddressesOf(*params), StepBetween(steps, 0, product)),
               params);
}

void RunWhole(const Plan& plan, char* scratch, Product* product) {
  const ptrdiff_t blocks = BlockCount(plan.map);
  for (ptrdiff_t index = 0; index < blocks; ++index) {
    product->RunBlock(index, scratch + plan.shared_bytes);
  }
}

// A thread's part: products, until none is left.
RUY_LIKE_HOT void RunProducts(void* argument, int thread) {
  auto* const batch = static_cast<UniformBatch*>(argument);
  const Plan& plan = *batch->plan;
  ptrdiff_t i = batch->next.fetch_add(batch->at_a_time);
  if (i >= batch->count) return;
  std::optional<ScopedFloatState> float_state;
  EnterFloatState(batch->first, &float_state);
  char* const scratch =
      batch->scratch + static_cast<std::size_t>(thread) * plan.scratch_bytes;
  Product product;
  *product.params() = batch->first;
  MoveParams(batch->steps, i, product.params());
  product.Adopt(&plan);
  product.UseScratch(scratch);
  // From here on by steps from this one.
  const Addresses origin = AddressesOf(*product.params());
  const ptrdiff_t first = i;
  const BatchSteps& steps = batch->kernel_steps;
  const auto addresses = [&] {
    return Moved(origin, StepBetween(steps, first, i));
  };
  const bool is_one_call = product.IsOneCall();
  do {
    const ptrdiff_t end = std::min(i + batch->at_a_time, batch->count);
    while (is_one_call && i < end) {
      const ptrdiff_t row_end = (i / steps.inner_count + 1) * steps.inner_count;
      const ptrdiff_t count = std::min(end, row_end) - i;
      product.RunSeries(addresses(), steps.inner, count);
      i += count;
    }
    for (; i < end; ++i) {
      if (i != first) product.MoveTo(addresses());
      RunWhole(plan, scratch, &product);
    }
    i = batch->next.fetch_add(batch->at_a_time);
  } while (i < batch->count);
}

// True if all products keep a promise that the kernel relies on; ChooseKernel
// has looked at the first one.
bool PromiseHoldsForOthers(const UniformBatch& batch,
                           const KernelChoice& choice, Side side) {
  Operand operand = batch.first.side[side];
  const Term term = TermOf(side);
  if ((batch.steps.inner[term] | batch.steps.outer[term]) == 0 ||
      operand.packed != nullptr ||
      FormatOf(*choice.kernel, choice.swap_sides ? Other(side) : side).range ==
          ValueRange::kFull) {
    return true;
  }
  for (ptrdiff_t i = 1; i < batch.count; ++i) {
    operand.data = static_cast<const char*>(batch.first.side[side].data) +
                   StepBetween(batch.steps, 0, i)[term];
    if (!HoldsInt7(operand)) return false;
  }
  return true;
}

// A plan for one thread that is right for all products. `head` is the first
// one, and keeps what it unpacked.
absl::Status ChooseForAll(Product* head, UniformBatch* batch, KeptPlans* plans,
                          ContextImpl* context)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex) {
  for (;;) {
    KeptPlan* kept;
    RUY_LIKE_RETURN_IF_ERROR(head->Choose(plans, context, &kept));
    batch->first = *head->params();
    bool promises_hold = true;
    for (const Side side : kSides) {
      if (PromiseHoldsForOthers(*batch, kept->plan.choice, side)) continue;
      Operand& operand = head->params()->side[side];
      operand.value_range = ValueRange::kFull;
      operand.broke_promise = true;
      promises_hold = false;
    }
    if (!promises_hold) continue;
    kept->MakeFor({1, false});
    batch->plan = &kept->plan;
    return absl::OkStatus();
  }
}

// True if threads would wait for each other's last whole product.
bool DealsOutEvenly(const UniformBatch& batch, int threads) {
  const ptrdiff_t rounds = CeilDiv(batch.count, threads);
  return threads == 1 || batch.plan->is_small ||
         rounds * threads - batch.count <= batch.count / 10;
}

void FillFromBatch(const void* source, ptrdiff_t product, TrMulParams* params) {
  const auto* const batch = static_cast<const UniformBatch*>(source);
  *params = batch->first;
  MoveParams(batch->steps, product, params);
}

void PrintBatch(const UniformBatch& batch, int threads,
                const VerboseCall& verbose, const ContextImpl& context) {
  Plan done = *batch.plan;
  done.threads = threads;
  TrMulParams params = batch.first;
  if (done.choice.swap_sides) SwapSides(&params);
  for (ptrdiff_t i = 0; i < batch.count; ++i) {
    verbose.Print(params, done, context.permitted_paths, /*packing=*/{},
                  1.0 / static_cast<double>(batch.count));
  }
}

// --- A plan for each ---

void RunUnits(void* argument, int thread) {
  auto* const group = static_cast<MixedBatch*>(argument);
  char* const scratch =
      group->scratch + static_cast<std::size_t>(thread) * group->thread_bytes;
  std::optional<ScopedFloatState> float_state;
  GroupItem* item = group->begin();
  for (ptrdiff_t unit; (unit = group->next.fetch_add(1)) < group->units;) {
    while (unit >= item->first_unit + item->units) ++item;
    Product& product = item->product;
    if (!float_state) EnterFloatState(*product.params(), &float_state);
    if (item->IsCut()) {
      product.RunBlock(unit - item->first_unit, scratch);
    } else {
      product.UseScratch(scratch);
      RunWhole(item->plan, scratch, &product);
    }
  }
}

// A plan for one thread of each product; *ns is what all of them take.
absl::Status PlanEach(KeptPlans* plans, MixedBatch* group, double* ns,
                      ContextImpl* context)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex) {
  *ns = 0;
  for (GroupItem& item : *group) {
    TrMulParams* const params = item.product.params();
    if (params->rows() == 0 || params->cols() == 0) continue;
    NeverCache(params);
    KeptPlan* kept;
    RUY_LIKE_RETURN_IF_ERROR(item.product.Choose(plans, context, &kept));
    kept->MakeFor({1, false});
    item.plan = kept->plan;
    const ScopedFloatState float_state(FloatState::kDefault);
    item.ns = EstimateNs(item.plan, DetectedCacheSizes()) + kProductNs;
    item.units = 1;
    group->lhs_bytes += item.plan.side.lhs.shape.panels_bytes;
    *ns += item.ns;
  }
  return absl::OkStatus();
}

// Cuts products that would keep a thread waiting at the end, and finds memory.
bool TakeMemory(int threads, double all_ns, bool force, MixedBatch* group,
                ScratchArena* arena) {
  std::size_t shared_bytes = 0;
  for (GroupItem& item : *group) {
    if (item.units == 0) continue;
    if (threads > 1 && item.ns * threads * 4 > all_ns) {
      const ScopedFloatState float_state(FloatState::kDefault);
      const KernelChoice choice = item.plan.choice;
      MakePlan(MakeKernelQuery(*item.product.params()), choice,
               {threads, force}, DetectedCacheSizes(), &item.plan);
    }
    item.product.Adopt(&item.plan);
    item.product.SetGroupBytes(group->lhs_bytes);
    item.first_unit = group->units;
    if (item.IsCut()) {
      item.units = BlockCount(item.plan.map);
      item.shared_at = shared_bytes;
      shared_bytes = SaturatingAdd(shared_bytes, item.plan.shared_bytes);
    }
    group->units += item.units;
    group->thread_bytes =
        std::max(group->thread_bytes, item.IsCut() ? item.plan.thread_bytes
                                                   : item.plan.scratch_bytes);
  }
  const std::size_t bytes = SaturatingAdd(
      shared_bytes,
      SaturatingMul(group->thread_bytes, static_cast<std::size_t>(threads)));
  if (!arena->Reserve(bytes)) return false;
  group->shared = static_cast<char*>(arena->Take(bytes));
  group->scratch = group->shared + shared_bytes;
  return true;
}

// Before the blocks are dealt out, for the first time or again.
void StartGroup(MixedBatch* group) {
  for (GroupItem& item : *group) {
    if (item.units != 0 && item.IsCut()) {
      item.product.UseScratch(group->shared + item.shared_at);
    }
  }
  group->next.store(0, std::memory_order_relaxed);
}

}  // namespace

MixedBatch::~MixedBatch() {
  for (ptrdiff_t i = 0; i < count_; ++i) items_[i].~GroupItem();
}

bool MixedBatch::Make(ptrdiff_t count, ScratchArena* arena) {
  const std::size_t bytes =
      SaturatingMul(static_cast<std::size_t>(count), sizeof(GroupItem));
  if (!arena->Reserve(ScratchArena::Footprint(bytes))) return false;
  items_ = static_cast<GroupItem*>(arena->Take(bytes));
  for (; count_ < count; ++count_) new (&items_[count_]) GroupItem;
  return true;
}

// --- Both ---

void BatchRun::Work(int thread) {
  if (is_group_) {
    RunUnits(&group_, thread);
  } else {
    RunProducts(&batch_, thread);
  }
}

RUY_LIKE_HOT absl::Status BatchRun::Prepare(const TrMulParams& first,
                                            const BatchSteps& steps,
                                            ptrdiff_t count, int most,
                                            const BatchMemory& memory,
                                            ContextImpl* context) {
  *head_.params() = first;
  verbose_.Start();
  NeverCache(head_.params());
  batch_.steps = steps;
  batch_.count = count;
  RUY_LIKE_RETURN_IF_ERROR(
      ChooseForAll(&head_, &batch_, memory.plans, context));
  const Plan& plan = *batch_.plan;
  threads_ = 1;
  batch_.at_a_time = count;
  if (most > 1) {
    const ScopedFloatState float_state(FloatState::kDefault);
    const double ns = EstimateNs(plan, DetectedCacheSizes()) + kProductNs;
    threads_ = ThreadsFor(ns * static_cast<double>(count), most, *context);
    if (count == 1 || !DealsOutEvenly(batch_, threads_)) {
      return PrepareGroup(&FillFromBatch, &batch_, count, most, memory,
                          context);
    }
    threads_ = static_cast<int>(std::min<ptrdiff_t>(threads_, count));
    batch_.at_a_time = std::max<ptrdiff_t>(
        1, std::min<ptrdiff_t>(static_cast<ptrdiff_t>(kDrawNs / ns),
                               count / (4 * threads_)));
  }
  batch_.kernel_steps = steps;
  if (plan.choice.swap_sides) {
    for (ProductStep* step :
         {&batch_.kernel_steps.inner, &batch_.kernel_steps.outer}) {
      std::swap((*step)[kLhsTerm], (*step)[kRhsTerm]);
    }
  }
  const std::size_t bytes =
      SaturatingMul(plan.scratch_bytes, static_cast<std::size_t>(threads_));
  if (!memory.scratch->Reserve(bytes))
    return OutOfMemory("for ", count, " products");
  batch_.scratch = static_cast<char*>(memory.scratch->Take(bytes));
  return absl::OkStatus();
}

absl::Status BatchRun::PrepareGroup(FillProductFn* fill, const void* source,
                                    ptrdiff_t count, int most,
                                    const BatchMemory& memory,
                                    ContextImpl* context) {
  is_group_ = true;
  if (!group_.Make(count, memory.items))
    return OutOfMemory("for ", count, " products");
  ptrdiff_t filled = 0;
  for (GroupItem& item : group_) fill(source, filled++, item.product.params());
  verbose_.Start();
  RUY_LIKE_RETURN_IF_ERROR(PlanEach(memory.plans, &group_, &ns_, context));
  threads_ = ThreadsFor(ns_, most, *context);
  if (!TakeMemory(threads_, ns_, IsForced(*context), &group_, memory.scratch)) {
    return OutOfMemory("for ", count, " products");
  }
  threads_ = static_cast<int>(std::min<ptrdiff_t>(threads_, group_.units));
  StartGroup(&group_);
  return absl::OkStatus();
}

void BatchRun::Restart() {
  verbose_.Start();
  if (is_group_) {
    StartGroup(&group_);
  } else {
    batch_.next.store(0, std::memory_order_relaxed);
  }
}

RUY_LIKE_HOT absl::Status BatchRun::RunOn(ContextImpl* context) {
  if (threads_ == 0) return absl::OkStatus();  // all products are empty
  if (threads_ == 1) {
    Work(0);
  } else {
    const auto work = [this](int thread) { Work(thread); };
    RUY_LIKE_RETURN_IF_ERROR(RunParallel(threads_, work, context, &threads_));
  }
  Remember(context);
  if (HasReport()) Print(*context);
  return absl::OkStatus();
}

RUY_LIKE_HOT void BatchRun::Remember(ContextImpl* context) {
  if (!is_group_) return context->SetLastUsed(batch_.plan->choice, threads_);
  for (const GroupItem& item : group_) {
    if (item.units != 0) context->SetLastUsed(item.plan.choice, threads_);
  }
}

void BatchRun::Print(const ContextImpl& context) {
  verbose_.Stop();
  if (!is_group_) {
    PrintBatch(batch_, threads_, verbose_, context);
    return;
  }
  for (GroupItem& item : group_) {
    if (item.units == 0) continue;
    Plan done = item.plan;
    done.threads = threads_;
    verbose_.Print(*item.product.params(), done, context.permitted_paths,
                   item.product.packing_time(), item.ns / ns_);
  }
}

RUY_LIKE_HOT absl::Status RunBatch(const TrMulParams& first,
                                   const BatchSteps& steps, ptrdiff_t count,
                                   int call_limit, ContextImpl* context) {
  const TraceSpan span(TraceSpan::kMul, "MulBatch", first.rows(), first.depth(),
                       first.cols());
  BatchRun run;
  RUY_LIKE_RETURN_IF_ERROR(run.Prepare(
      first, steps, count, MaxThreads(*context, call_limit),
      {&context->plans, &context->products_arena, &context->arena}, context));
  return run.RunOn(context);
}

namespace {

// Where kernels are chosen for so many products, once for each shape: the
// Context's own plans have places for few.
KeptPlans* PlansFor(ptrdiff_t count, ContextImpl* context)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex) {
  constexpr ptrdiff_t kFew = 4;
  constexpr int kGroupBits = 7;
  if (count <= kFew) return &context->plans;
  if (context->group_plans == nullptr) {
    context->group_plans = std::make_unique<KeptPlans>(kGroupBits);
  }
  return context->group_plans.get();
}

}  // namespace

absl::Status RunGroup(FillProductFn* fill, const void* source, ptrdiff_t count,
                      int call_limit, ContextImpl* context) {
  if (count == 0) return absl::OkStatus();
  TrMulParams first;
  fill(source, 0, &first);
  const TraceSpan span(TraceSpan::kMul, "MulGroup", first.rows(), first.depth(),
                       first.cols());
  BatchRun run;
  RUY_LIKE_RETURN_IF_ERROR(run.PrepareGroup(
      fill, source, count, MaxThreads(*context, call_limit),
      {PlansFor(count, context), &context->products_arena, &context->arena},
      context));
  return run.RunOn(context);
}

}  // namespace ruy_like
