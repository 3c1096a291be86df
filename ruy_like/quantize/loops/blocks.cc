// Tested in test/quantize/layers/quantize_dequantize_test.cc.
#include "ruy_like/quantize/loops/blocks.h"

#include <atomic>

#include "ruy_like/base/checked_math.h"
#include "ruy_like/base/float_state.h"

namespace ruy_like::quantize_internal {
namespace {

constexpr std::ptrdiff_t kMinBytesPerThread = 256 << 10;
// Bytes that a thread takes at a time: few against a thread's share, so that
// all end together, and many against the cost of taking it.
constexpr std::ptrdiff_t kRangeBytes = 256 << 10;

struct Work {
  std::atomic<std::ptrdiff_t> next{0};
  std::ptrdiff_t total;
  std::ptrdiff_t step;
  void (*body)(void* argument, std::ptrdiff_t first, std::ptrdiff_t last,
               int thread);
  void* argument;
};

void RunRanges(void* argument, int thread) {
  Work* const work = static_cast<Work*>(argument);
  const ScopedFloatState float_state(FloatState::kDefault);
  while (true) {
    const std::ptrdiff_t first =
        work->next.fetch_add(work->step, std::memory_order_relaxed);
    if (first >= work->total) return;
    work->body(work->argument, first, std::min(first + work->step, work->total),
               thread);
  }
}

}  // namespace

std::ptrdiff_t ThreadsFor(std::ptrdiff_t total,
                          std::ptrdiff_t bytes_per_element, Context* context) {
  const std::ptrdiff_t threads =
      total /
      std::max<std::ptrdiff_t>(kMinBytesPerThread / bytes_per_element, 1);
  if (context == nullptr || threads < 2) return 1;
  return std::min<std::ptrdiff_t>(threads, context->max_num_threads());
}

absl::Status ForEachRange(std::ptrdiff_t total, std::ptrdiff_t grain,
                          std::ptrdiff_t bytes_per_element, Context* context,
                          void (*body)(void* argument, std::ptrdiff_t first,
                                       std::ptrdiff_t last, int thread),
                          void* argument) {
  if (total <= 0) return absl::OkStatus();
  const std::ptrdiff_t threads = ThreadsFor(total, bytes_per_element, context);
  Work work;
  work.total = total;
  // As many for each thread, as large as each other.
  const std::ptrdiff_t ranges =
      CeilDiv(CeilDiv(total, std::max<std::ptrdiff_t>(
                                 kRangeBytes / bytes_per_element, 1)),
              threads) *
      threads;
  work.step =
      threads <= 1 ? total : CeilDiv(CeilDiv(total, ranges), grain) * grain;
  work.body = body;
  work.argument = argument;
  if (threads > 1) {
    absl::Status status =
        context->ParallelFor(static_cast<int>(threads), RunRanges, &work);
    if (!absl::IsResourceExhausted(status)) return status;
    // Without memory for that, nothing was called.
  }
  RunRanges(&work, 0);
  return absl::OkStatus();
}

bool BypassesCaches(std::ptrdiff_t bytes) { return bytes > (16 << 20); }

}  // namespace ruy_like::quantize_internal
