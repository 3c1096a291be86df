// Tested in test/mul_test.cc.
#include "ruy_like/run/tr_mul.h"

#include <atomic>
#include <memory>
#include <optional>

#include "absl/base/attributes.h"
#include "absl/strings/str_cat.h"
#include "ruy_like/base/hot.h"
#include "ruy_like/diagnostics/trace.h"
#include "ruy_like/diagnostics/verbose.h"
#include "ruy_like/plan/choose_kernel.h"
#include "ruy_like/registry/registry.h"
#include "ruy_like/run/parallel.h"
#include "ruy_like/run/product.h"
#include "ruy_like/run/unpack.h"

namespace ruy_like {
namespace {

void CallWork(void* product, int thread) {
  static_cast<Product*>(product)->Work(thread);
}

absl::Status NoMemoryError(const TrMulParams& params) {
  return absl::ResourceExhaustedError(
      absl::StrCat("no memory to pack a ", params.rows(), "x", params.depth(),
                   " by ", params.depth(), "x", params.cols(), " product"));
}

// The whole way: blocks, threads, the cache.
absl::Status RunBlocks(const TrMulParams& params, int call_limit,
                       Product* product, ContextImpl* context)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex) {
  if (!product->Prepare(MaxThreads(*context, call_limit), &context->arena,
                        context)) {
    return NoMemoryError(params);
  }
  // A host's pool may begin some calls late: nothing should be left to them.
  if (context->executor != nullptr) product->DealOutAllBlocks();
  int threads;
  absl::Status status = RunParallel(product->num_threads(), &CallWork, product,
                                    context, &threads);
  if (!status.ok()) return status;
  product->set_num_threads(threads);
  product->KeepPacked(context);
  return status;
}

// For the Context's last_used functions.
void Remember(const KernelChoice& choice, const Product& product,
              ContextImpl* context)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex) {
  context->last_path = choice.path;
  context->last_kernel = choice.kernel->name;
  context->last_num_threads = product.num_threads();
}

// After the product, for stderr.
void Report(const KernelChoice& choice, const TrMulParams& params,
            const Product& product, const VerboseCall& verbose,
            const ContextImpl& context)
    ABSL_SHARED_LOCKS_REQUIRED(context.mutex) {
  if (VerboseCall::IsOn()) {
    verbose.Print(params, product.Describe(choice), context.permitted_paths);
  }
}

// A product of operands that no kernel reads as they are packed.
ABSL_ATTRIBUTE_NOINLINE absl::Status MulUnpacked(TrMulParams* params,
                                                 int max_num_threads,
                                                 ContextImpl* context)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex) {
  SidePair<AlignedBuffer> unpacked;
  absl::Status status = UnpackOne(context->permitted_paths, params, &unpacked);
  if (!status.ok()) return status;
  return TrMul(params, max_num_threads, context);
}

}  // namespace

RUY_LIKE_HOT absl::Status TrMul(TrMulParams* params, int max_num_threads,
                                ContextImpl* context) {
  const TraceSpan span(TraceSpan::kMul, "Mul", params->rows(), params->depth(),
                       params->cols());
  const VerboseCall verbose(*params);
  const KernelChoice choice = ChooseKernel(params, context);
  if (choice.kernel == nullptr) {
    return MulUnpacked(params, max_num_threads, context);
  }
  if (choice.swap_sides) SwapSides(params);

  Product product(params, *choice.kernel, Product::Lifetime::kWithinLock);
  if (product.PrepareSingleBlock(&context->arena, context)) {
    product.RunSingleBlock();
  } else {
    absl::Status status =
        RunBlocks(*params, max_num_threads, &product, context);
    if (!status.ok()) return status;
  }
  Remember(choice, product, context);
  Report(choice, *params, product, verbose, *context);
  return absl::OkStatus();
}

struct TrMulPlan::Impl {
  TrMulParams params;
  KernelChoice choice;
  ScratchArena arena;
  SidePair<AlignedBuffer> unpacked;
  std::optional<Product> product;
  // The product is a single block, which nobody has run yet.
  bool is_single_block = false;
  std::atomic<bool> single_block_is_left{false};
  VerboseCall verbose;
};

TrMulPlan::TrMulPlan() : impl_(std::make_unique<Impl>()) {}
TrMulPlan::~TrMulPlan() = default;

TrMulParams* TrMulPlan::NewParams() {
  impl_->product.reset();
  return &impl_->params;
}

absl::Status TrMulPlan::Prepare(int max_threads, ContextImpl* context) {
  Impl& impl = *impl_;
  impl.verbose = VerboseCall(impl.params);
  // Threads of the caller's own read the operands later, when nobody would look
  // whether promises are still kept.
  for (const Side side : kSides) {
    impl.params.side[side].value_range = ValueRange::kFull;
  }
  impl.choice = ChooseKernel(&impl.params, context);
  while (impl.choice.kernel == nullptr) {
    absl::Status status =
        UnpackOne(context->permitted_paths, &impl.params, &impl.unpacked);
    if (!status.ok()) return status;
    impl.choice = ChooseKernel(&impl.params, context);
  }
  if (impl.choice.swap_sides) SwapSides(&impl.params);
  Product& product = impl.product.emplace(&impl.params, *impl.choice.kernel,
                                          Product::Lifetime::kBeyondLock);
  impl.is_single_block = product.PrepareSingleBlock(&impl.arena, context);
  impl.single_block_is_left.store(impl.is_single_block,
                                  std::memory_order_relaxed);
  if (!impl.is_single_block) {
    if (!product.Prepare(max_threads, &impl.arena, context)) {
      impl.product.reset();
      return NoMemoryError(impl.params);
    }
    product.DealOutAllBlocks();
  }
  Remember(impl.choice, product, context);
  return absl::OkStatus();
}

int TrMulPlan::num_threads() const { return impl_->product->num_threads(); }

void TrMulPlan::Work(int thread) {
  if (!impl_->is_single_block) {
    impl_->product->Work(thread);
  } else if (impl_->single_block_is_left.load(std::memory_order_relaxed) &&
             impl_->single_block_is_left.exchange(false)) {
    impl_->product->RunSingleBlock();
  }
}

bool TrMulPlan::HasReport() const {
  return impl_->product->HasPackedToKeep() || VerboseCall::IsOn();
}

void TrMulPlan::Report(ContextImpl* context) {
  impl_->product->KeepPacked(context);
  ruy_like::Report(impl_->choice, impl_->params, *impl_->product,
                   impl_->verbose, *context);
}

void TrMulPlan::Finish() {
  impl_->product.reset();
  for (const Side side : kSides) impl_->unpacked[side] = AlignedBuffer();
}

}  // namespace ruy_like
