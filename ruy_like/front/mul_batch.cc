// Tested in test/mul_batch_test.cc.
#include "ruy_like/mul_batch.h"

#include <cstdint>
#include <new>

#include "ruy_like/base/allocator.h"
#include "ruy_like/base/checked_math.h"
#include "ruy_like/base/errors.h"
#include "ruy_like/base/hot.h"
#include "ruy_like/base/no_memory.h"
#include "ruy_like/front/make_call.h"
#include "ruy_like/front/validate_batch.h"
#include "ruy_like/plan/context_impl.h"
#include "ruy_like/run/batch.h"
#include "ruy_like/run/parallel.h"

namespace ruy_like::internal {
namespace {

RUY_LIKE_HOT absl::Status ValidateAndMulBatch(const MulCall& call,
                                              const Batch& batch,
                                              Context* context) {
  std::int8_t max_exponent;
  absl::Status status = ValidateBatch(call, batch, &max_exponent);
  if (!status.ok() || ProductsOf(batch) == 0 || IsEmpty(call.dst.layout)) {
    return status;
  }
  TrMulParams first;
  MakeTrMulParams(call, max_exponent, &first);
  ContextImpl* impl = context->impl();
  RUY_LIKE_LOCK_FOR_CALL(impl);
  return RunBatch(first, StepsOf(call, batch), ProductsOf(batch),
                  call.max_num_threads, impl);
}

absl::Status ValidateAndMulGroup(const void* products, std::ptrdiff_t count,
                                 EraseProductFn* erase, int max_num_threads,
                                 ContextImpl* context)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex) {
  const auto size = static_cast<std::size_t>(count);
  const std::size_t calls_bytes = SaturatingMul(size, sizeof(GroupCall));
  const std::size_t spans_bytes = SaturatingMul(size, sizeof(DstSpan));
  ScratchArena& arena = context->calls_arena;
  if (!arena.Reserve(SaturatingAdd(ScratchArena::Footprint(calls_bytes),
                                   ScratchArena::Footprint(spans_bytes)))) {
    return OutOfMemory("for ", count, " products");
  }
  auto* const calls = static_cast<GroupCall*>(arena.Take(calls_bytes));
  auto* const spans = static_cast<DstSpan*>(arena.Take(spans_bytes));
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    erase(products, i, &(new (&calls[i]) GroupCall)->call);
    calls[i].call.max_num_threads = max_num_threads;
  }
  RUY_LIKE_RETURN_IF_ERROR(ValidateGroup(calls, count, spans));
  return RunGroup(&FillFromGroupCalls, calls, count, max_num_threads, context);
}

}  // namespace

RUY_LIKE_HOT absl::Status MulBatchErased(const MulCall& call,
                                         const Batch& batch, Context* context) {
  return CatchNoMemory(
      [&] { return ValidateAndMulBatch(call, batch, context); });
}

absl::Status MulGroupErased(const void* products, std::ptrdiff_t count,
                            EraseProductFn* erase, int max_num_threads,
                            Context* context) {
  return CatchNoMemory([&] {
    ContextImpl* impl = context->impl();
    if (count == 0) return absl::OkStatus();
    RUY_LIKE_LOCK_FOR_CALL(impl);
    return ValidateAndMulGroup(products, count, erase, max_num_threads, impl);
  });
}

}  // namespace ruy_like::internal
