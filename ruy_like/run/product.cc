// Tested in test/threads_test.cc.
#include "ruy_like/run/product.h"

#include <new>
#include <utility>

#include "ruy_like/base/checked_math.h"
#include "ruy_like/base/errors.h"
#include "ruy_like/base/float_state.h"
#include "ruy_like/base/hot.h"
#include "ruy_like/diagnostics/trace.h"
#include "ruy_like/kernels/kernel_facts.h"
#include "ruy_like/packed/group_image.h"
#include "ruy_like/packed/packed_operand.h"
#include "ruy_like/plan/choose_plan.h"
#include "ruy_like/run/parallel.h"
#include "ruy_like/run/unpack.h"

namespace ruy_like {
namespace {

// The shift of pack.h moves an 8-bit zero point alike.
std::int32_t PackedZeroPoint(const Operand& operand, const SideShape& shape) {
  // Operands of depth 0 have no sums, and need none.
  if (operand.depth == 0) return 0;
  if (!Is8Bit(operand.scalar)) return operand.zero_point;
  return operand.zero_point +
         PackedZero(shape.format->scalar, shape.format->range) -
         PackedZero(operand.scalar, ValueRange::kFull);
}

}  // namespace

RUY_LIKE_HOT absl::Status Product::Choose(KeptPlans* plans,
                                          ContextImpl* context,
                                          KeptPlan** kept) {
  params_.in_order = context->in_order;
  if (params_.float_sums == FloatSums::kOfContext) {
    params_.float_sums = context->float_sums;
  }
  while ((*kept = ChooseKernel(&params_, plans, context)) == nullptr) {
    // An operand that no kernel reads as it is packed becomes a plain one.
    if (unpacked_ == nullptr) {
      unpacked_ = std::make_unique<SidePair<AlignedBuffer>>();
    }
    RUY_LIKE_RETURN_IF_ERROR(
        UnpackOne(context->permitted_paths, &params_, unpacked_.get()));
  }
  return absl::OkStatus();
}

RUY_LIKE_HOT absl::Status Product::ChoosePlan(Workers workers, int thread_limit,
                                              KeptPlans* plans,
                                              ContextImpl* context) {
  if (workers == Workers::kCallers) {
    for (const Side side : kSides) {
      params_.side[side].value_range = ValueRange::kFull;
    }
  }
  KeptPlan* kept;
  RUY_LIKE_RETURN_IF_ERROR(Choose(plans, context, &kept));
  const bool force =
      context->num_threads_strategy == NumThreadsStrategy::kForceMaxNumThreads;
  if (force || !kept->plan.is_small) {
    kept->MakeFor({workers == Workers::kCallers
                       ? thread_limit
                       : MaxThreads(*context, thread_limit),
                   force});
  }
  plan_ = &kept->plan;
  if (plan_->choice.swap_sides) SwapSides(&params_);
  return absl::OkStatus();
}

RUY_LIKE_HOT void Product::InitEpilogue() {
  const std::int32_t lhs_zero_point =
      PackedZeroPoint(params_.side.lhs, plan_->side.lhs.shape);
  const std::int32_t rhs_zero_point =
      PackedZeroPoint(params_.side.rhs, plan_->side.rhs.shape);
  kernels::EpilogueArgs& epilogue = params_.epilogue;
  epilogue.scales = params_.scaled() ? &params_.scales : nullptr;
  epilogue.lhs_zero_point = lhs_zero_point;
  epilogue.rhs_zero_point = rhs_zero_point;
  epilogue.zero_point_product =
      static_cast<std::int32_t>(static_cast<std::uint32_t>(params_.depth()) *
                                static_cast<std::uint32_t>(lhs_zero_point) *
                                static_cast<std::uint32_t>(rhs_zero_point));
  epilogue.zeros = nullptr;
  // Sums of depth 0 are not there, and zero points of rows change none.
  if (params_.post_op_needs > kernels::kNeedsTile && params_.depth() > 0) {
    InitZeroPoints();
  }
}

ABSL_ATTRIBUTE_NOINLINE void Product::InitZeroPoints() {
  kernels::EpilogueArgs& epilogue = params_.epilogue;
  kernels::ZeroPointArgs& zeros = params_.zeros;
  const auto depth = static_cast<std::uint32_t>(params_.depth());
  const auto times_depth = [depth](std::int32_t zero_point) {
    return static_cast<std::int32_t>(depth *
                                     static_cast<std::uint32_t>(zero_point));
  };
  zeros.depth = static_cast<std::int32_t>(depth);
  zeros.lhs_base = times_depth(epilogue.lhs_zero_point);
  zeros.rhs_base = times_depth(epilogue.rhs_zero_point);
  epilogue.zeros = &zeros;
}

// Uses the cache's packed form, or a new buffer, to be packed into and then
// kept. False: no memory for that.
RUY_LIKE_HOT bool Product::FindOrAllocate(Side side, Workers workers,
                                          ContextImpl* context) {
  PackedSide& packed = side_[side];
  const PrepackedCache::Value& found = context->prepacked_cache.Find(
      KeyOf(*packed.operand, *packed.shape->format));
  if (found != nullptr) {
    packed.Use(*found);
    if (workers == Workers::kCallers) entry_[side] = found;
    return true;
  }
  auto data = std::make_shared<PackedData>();
  if (!AlignedBuffer::Allocate(packed.shape->PackedBytes(), &data->storage)) {
    return false;
  }
  packed.PackTo(data->storage.data(), data.get());
  entry_[side] = std::move(data);
  source_[side] = SideSource::kKept;
  return true;
}

// The side's panels, or where they are to be; those of a cached side are not
// known yet.
RUY_LIKE_HOT void Product::InitSide(Side side, char* scratch) {
  const SidePlan& plan = plan_->side[side];
  PackedSide& packed = side_[side];
  packed.Init(params_.side[side], plan.shape);
  source_[side] = plan.source;
  if (plan.source == SideSource::kPackedOnce) {
    packed.data = scratch + plan.panels_at;
    if (SumsAreWanted(side)) {
      packed.writable_sums =
          reinterpret_cast<std::int32_t*>(scratch + plan.sums_at);
      packed.sums = packed.writable_sums;
    }
  } else if (plan.source == SideSource::kPrepacked) {
    packed.Use(params_.side[side].packed->data);
  }
  if (IsReadInPlace(side)) packed.ReadInPlace();
}

RUY_LIKE_HOT void Product::InitPacking(Side side) {
  const BlockMap& map = plan_->map;
  if (IsPackedOnce(side) && BlockCount(map) > 1) {
    const SidePlan& plan = plan_->side[side];
    const std::ptrdiff_t blocks =
        side == Side::kLhs ? map.row_blocks : map.col_blocks;
    const std::ptrdiff_t parts =
        plan.part_columns == 0 ? blocks
                               : CeilDiv(plan.shape.width, plan.part_columns);
    pack_status_[side] = reinterpret_cast<std::atomic<std::uint8_t>*>(
        shared_scratch_ + plan.status_at);
    for (std::ptrdiff_t i = 0; i < parts; ++i) {
      new (&pack_status_[side][i]) std::atomic<std::uint8_t>(kNotStarted);
    }
  }
}

// A cached side has sums whether they are wanted or not.
RUY_LIKE_HOT void Product::InitSums() {
  kernels::EpilogueArgs& epilogue = params_.epilogue;
  epilogue.lhs_sums = SumsAreWanted(Side::kLhs) ? side_.lhs.sums : nullptr;
  epilogue.rhs_sums = SumsAreWanted(Side::kRhs) ? side_.rhs.sums : nullptr;
  if (epilogue.zeros == nullptr) return;
  kernels::ZeroPointArgs& zeros = params_.zeros;
  zeros.lhs_sums = zeros.rhs == nullptr ? nullptr : epilogue.lhs_sums;
  zeros.rhs_sums = zeros.lhs == nullptr ? nullptr : epilogue.rhs_sums;
}

// Where kernels and pack routines find what group scales ask for.
void Product::InitGroups() {
  if (!HasGroups()) return;
  const kernels::Kernel& kernel = *plan_->choice.kernel;
  const GroupImage& weights = GroupImageOf(*params_.side.lhs.packed);
  const GroupShape& shape = weights.group_shape;
  const bool widens_nibbles = !shape.ValuesAreInt8() && WidensLhs(kernel);
  // The number that is added to values as the kernel multiplies them.
  const bool is_signed = kernel.lhs.scalar == Scalar::kI8;
  const int added = kernel.max_table_span != kernels::kNoLimit
                        ? -shape.least_value - (is_signed ? 127 : 0)
                    : is_signed ? 0
                                : kAddedToInt8;
  groups_ = {};
  groups_.sizes = shape.sizes;
  groups_.scales = weights.scales;
  groups_.scale_type = shape.scale_type;
  groups_.zeros = widens_nibbles ? nullptr : weights.zeros;
  groups_.zero_excess = shape.ValuesAreInt8() ? kAddedToInt8 - added : 0;
  groups_.table = group_packing_.table;
  groups_.word_steps = kernels::WordStepsOf(shape.by_table ? shape.table_span
                                            : widens_nibbles && weights.zeros
                                                ? kernels::kGroupGreatestShifted
                                                : 15);
  groups_.row_sums = params_.row_sums;
  groups_.column_zeros = params_.column_zeros;
  group_packing_ = {};
  group_packing_.sizes = shape.sizes;
  group_packing_.zeros = weights.zeros;
  group_packing_.depth_order = weights.depth_order;
  FillTable(shape, added, group_packing_.table);
  side_.lhs.groups = &group_packing_;
  side_.rhs.groups = &group_packing_;
  if (shape.groups() == 0) return;
  const SideShape& columns = plan_->side.rhs.shape;
  auto* const starts = reinterpret_cast<std::int32_t*>(shared_scratch_ +
                                                       plan_->side.rhs.sums_at);
  const std::ptrdiff_t values = columns.groups * columns.width;
  group_packing_.factor = groups_.zeros != nullptr ? 1
                          : weights.zeros != nullptr
                              ? kernels::kGroupShiftedZero
                              : shape.zero_point - groups_.zero_excess;
  group_packing_.starts = starts;
  group_packing_.group_scales = reinterpret_cast<float*>(starts + values);
  group_packing_.scales = group_packing_.group_scales + values;
  group_packing_.group_stride = columns.width;
  group_packing_.panel_cols = columns.panel_width;
  group_packing_.panel_bytes = columns.stride_bytes;
  groups_.starts = starts;
  groups_.group_stride = columns.width;
  groups_.group_scales = params_.group_scales;
  if (columns.scalar == Scalar::kI8) return;
  // Activations are quantized by the pack routine, which makes their scales.
  group_packing_.has_group_scales = params_.scales_per_group;
  if (params_.scales_per_group) {
    groups_.group_scales = group_packing_.group_scales;
  }
  params_.scales.rhs = group_packing_.scales;
  params_.scales.rhs_per_col = true;
}

// All but what the cache has.
RUY_LIKE_HOT void Product::InitSides(char* shared) {
  shared_scratch_ = shared;
  for (const Side side : kSides) InitSide(side, shared);
}

RUY_LIKE_HOT void Product::CompleteSides() {
  for (const Side side : kSides) InitPacking(side);
  InitSums();
  InitGroups();
}

RUY_LIKE_HOT bool Product::TakeSides(char* scratch, Workers workers,
                                     ContextImpl* context) {
  InitSides(scratch);
  thread_scratch_ = scratch + plan_->shared_bytes;
  for (const Side side : kSides) {
    if (source_[side] == SideSource::kCached &&
        !FindOrAllocate(side, workers, context)) {
      return false;
    }
  }
  CompleteSides();
  return true;
}

RUY_LIKE_HOT void Product::Adopt(const Plan* plan) {
  plan_ = plan;
  if (plan_->choice.swap_sides) SwapSides(&params_);
  InitEpilogue();
}

RUY_LIKE_HOT void Product::UseScratch(char* shared) {
  InitSides(shared);
  CompleteSides();
}

RUY_LIKE_HOT void Product::MoveTo(const Addresses& addresses) {
  for (const Side side : kSides) {
    if (plan_->side[side].source != SideSource::kPackedOnce) continue;
    const bool stays = params_.side[side].data == addresses[TermOf(side)];
    source_[side] = stays ? SideSource::kPrepacked : SideSource::kPackedOnce;
  }
  SetAddresses(addresses, &params_);
  for (const Side side : kSides) {
    if (IsReadInPlace(side)) side_[side].ReadInPlace();
    InitPacking(side);
  }
}

RUY_LIKE_HOT Addresses AddressesOf(const TrMulParams& params) {
  const kernels::PostOpTerms& post_ops = params.post_ops;
  return {params.side.lhs.data,
          params.side.rhs.data,
          params.epilogue.dst,
          params.epilogue.bias,
          params.post_op_needs != 0 ? post_ops.factor.data : nullptr,
          params.post_op_needs != 0 ? post_ops.residual.data : nullptr};
}

RUY_LIKE_HOT void SetAddresses(const Addresses& addresses,
                               TrMulParams* params) {
  for (const Side side : kSides) {
    params->side[side].data = addresses[TermOf(side)];
  }
  params->epilogue.dst = const_cast<void*>(addresses[kDstTerm]);
  params->epilogue.bias = addresses[kBiasTerm];
  if (params->post_op_needs == kernels::kNeedsNothing) return;
  params->post_ops.factor.data = addresses[kFactorTerm];
  params->post_ops.residual.data = addresses[kResidualTerm];
}

RUY_LIKE_HOT absl::Status Product::Prepare(Workers workers, int thread_limit,
                                           KeptPlans* plans,
                                           ScratchArena* arena,
                                           ContextImpl* context) {
  verbose_.Start();
  absl::Status status = ChoosePlan(workers, thread_limit, plans, context);
  if (!status.ok()) return status;
  InitEpilogue();
  const std::size_t bytes = plan_->scratch_bytes;
  if (!arena->Reserve(bytes) ||
      !TakeSides(static_cast<char*>(arena->Take(bytes)), workers, context)) {
    Finish();
    return OutOfMemory("to pack a ", params_.rows(), "x", params_.depth(),
                       " by ", params_.depth(), "x", params_.cols(),
                       " product");
  }
  threads_ = plan_->threads;
  // A host's threads may begin late or not at all: nothing is left to them.
  first_dealt_ = workers == Workers::kCallers || context->executor != nullptr
                     ? 0
                     : threads_;
  DealOut();
  if (workers == Workers::kCallers) {
    context->SetLastUsed(plan_->choice, threads_);
  }
  return status;
}

// Start here: the whole of a product. Prepare asks the registry for a kernel
// (ChoosePlan), has its operands and epilogue follow the kernel's sides, and
// finds memory. Then each thread runs this loop (Work, in blocks.cc):
//
//   for each block of dst that is left:
//     pack what it reads and nobody has packed    (EnsurePacked, PackPiece)
//     for each pass over depth, for each piece:   (RunInPieces)
//       the kernel multiplies, and in the last pass stores    (RunPiece)
//
// At the end new packed operands go to the cache, and lines to the log
// (Report). A small call like one before, on the product that was kept of that,
// does no more than the loop's body (RunAgain); the products of a batch go from
// address to address (MoveTo, batch.cc).
//
// Flattened: calls of functions are 5% of the instructions of a tiny product.
__attribute__((flatten)) RUY_LIKE_HOT absl::Status Product::Run(
    int call_limit, ContextImpl* context) {
  const TraceSpan span(TraceSpan::kMul, "Mul", params_.rows(), params_.depth(),
                       params_.cols());
  absl::Status status = Prepare(Workers::kContexts, call_limit, &context->plans,
                                &context->arena, context);
  if (!status.ok()) return status;
  if (threads_ == 1) {
    Work(0);
  } else {
    const auto work = [this](int thread) { Work(thread); };
    status = RunParallel(threads_, work, context, &threads_);
    if (!status.ok()) return status;
  }
  context->SetLastUsed(plan_->choice, threads_);
  if (HasReport()) Report(context);
  if (!plan_->is_small) {
    const SidePair<PerformanceAdvisory> news =
        context->advisor.Note(params_, source_, *plan_->choice.kernel);
    if (VerboseCall::IsOn()) PrintAdvice(news, plan_->choice.swap_sides);
  }
  return status;
}

bool Product::KeepCalls() {
  if (VerboseCall::IsOn() || !plan_->is_small || unpacked_ != nullptr ||
      params_.depth() == 0 || HasGroups() ||
      params_.post_op_needs != kernels::kNeedsNothing ||
      ReliesOnRanges(*plan_->choice.kernel) || params_.side.lhs.broke_promise ||
      params_.side.rhs.broke_promise) {
    return false;
  }
  SetCalls();
  return true;
}

// False where a cached operand is no longer, or not yet, in the cache.
bool Product::FindAgain(ContextImpl* context) {
  PrepackedCache& cache = context->prepacked_cache;
  const bool cache_is_same = cache.changes() == found_at_;
  bool found = true, finds_another = false;
  ForBothSides([&](Side side) {
    PackedSide& packed = side_[side];
    if (plan_->side[side].source != SideSource::kCached ||
        (cache_is_same && found_for_[side] == packed.operand->data)) {
      return;
    }
    const PrepackedCache::Value& value =
        cache.Find(KeyOf(*packed.operand, *packed.shape->format));
    found = found && value != nullptr;
    if (!found) return;
    packed.Use(*value);
    found_for_[side] = packed.operand->data;
    source_[side] = SideSource::kCached;
    finds_another = true;
  });
  if (found && finds_another) {
    found_at_ = cache.changes();
    InitSums();
    kernel_args_.lhs = side_.lhs.data;
    kernel_args_.rhs = side_.rhs.data;
  }
  return found;
}

ABSL_ATTRIBUTE_ALWAYS_INLINE inline void Product::RunCalls() {
  std::optional<ScopedFloatState> float_state;
  EnterFloatState(params_, &float_state);
  ForBothSides([&](Side side) {
    if (IsPackedOnce(side)) side_[side].shape->pack(&pack_args_[side]);
  });
  run_(&kernel_args_);
}

RUY_LIKE_HOT void Product::WorkByCalls() {
  if (g_trace_is_on.load(std::memory_order_relaxed)) return Work(0);
  RunCalls();
}

// The last run's state stays valid as long as the scratch memory does.
RUY_LIKE_HOT bool Product::RunAgain(ContextImpl* context) {
  if (g_trace_is_on.load(std::memory_order_relaxed)) return false;
  const Plan& plan = *plan_;
  ScratchArena& arena = context->arena;
  if (!arena.Reserve(plan.scratch_bytes)) return false;
  char* const scratch = static_cast<char*>(arena.Take(plan.scratch_bytes));
  if (scratch != shared_scratch_ || (finds_again_ && !FindAgain(context))) {
    if (!TakeSides(scratch, Workers::kContexts, context)) return false;
    SetCalls();
  }
  ForBothSides([&](Side side) {
    const void* const data = params_.side[side].data;
    pack_args_[side].src = data;
    if (source_[side] == SideSource::kInPlace) {
      (side == Side::kLhs ? kernel_args_.lhs : kernel_args_.rhs) = data;
    }
  });
  RunCalls();
  context->SetLastUsed(plan.choice, 1);
  if (finds_again_ && HasPackedToKeep()) Report(context);
  return true;
}

bool Product::CanRepeat() const {
  return plan_->side.lhs.source != SideSource::kCached &&
         plan_->side.rhs.source != SideSource::kCached && unpacked_ == nullptr;
}

RUY_LIKE_HOT void Product::Repeat(ContextImpl* context) {
  verbose_.Start();
  for (const Side side : kSides) {
    side_[side].pack_ns.store(0, std::memory_order_relaxed);
    InitPacking(side);
  }
  DealOut();
  context->SetLastUsed(plan_->choice, threads_);
}

void Product::Report(ContextImpl* context) {
  // The hash table's load factor is a float.
  const ScopedFloatState float_state(FloatState::kDefault);
  for (const Side side : kSides) {
    if (source_[side] == SideSource::kKept) {
      context->prepacked_cache.Insert(
          KeyOf(*side_[side].operand, *side_[side].shape->format),
          entry_[side]);
    }
  }
  if (!VerboseCall::IsOn()) return;
  Plan done = *plan_;
  done.threads = threads_;
  for (const Side side : kSides) done.side[side].source = source_[side];
  verbose_.Print(params_, done, context->permitted_paths, packing_time());
}

void Product::Finish() {
  for (const Side side : kSides) {
    if (entry_[side] != nullptr) entry_[side] = nullptr;
  }
  unpacked_ = nullptr;
}

}  // namespace ruy_like
