// Tested in test/executor_test.cc.
#include "ruy_like/base/parallel_calls.h"

#include <chrono>
#include <new>

#include "absl/strings/str_cat.h"
#include "ruy_like/base/no_memory.h"
#include "ruy_like/base/wait.h"

namespace ruy_like {

void ParallelCalls::Make(int i) noexcept {
  try {
    function_(argument_, i);
  } catch (...) {
    if (!has_thrown_.exchange(true)) exception_ = std::current_exception();
  }
}

void ParallelCalls::Draw() {
  // Mostly nothing is left: reading does not take the line from other threads.
  while (next_.load(std::memory_order_relaxed) < count_) {
    const std::int64_t i = next_.fetch_add(1, std::memory_order_relaxed);
    if (i < count_) Make(static_cast<int>(i));
  }
}

absl::Status ParallelCalls::status() const {
  if (exception_ == nullptr) return absl::OkStatus();
  const auto internal = [](const char* what) {
    return CatchNoMemory(
        [what] {
          return absl::InternalError(
              absl::StrCat("a parallel function threw: ", what));
        },
        absl::StatusCode::kInternal);
  };
  try {
    std::rethrow_exception(exception_);
  } catch (const std::bad_alloc&) {
    return ErrorWithoutMessage(absl::StatusCode::kResourceExhausted);
  } catch (const std::exception& exception) {
    return internal(exception.what());
  } catch (...) {
    return internal("no std::exception");
  }
}

// The order of the two sides' accesses is that of Dekker's algorithm, hence
// sequentially consistent: either Close() waits for this thread or this thread
// finds the gate closed.
void ExecutorGate::Enter(void* gate, int /*i*/) {
  ExecutorGate* const self = static_cast<ExecutorGate*>(gate);
  self->inside_.fetch_add(1);
  ParallelCalls* const calls = self->calls_.load();
  if (calls != nullptr) calls->Draw();
  self->inside_.fetch_sub(1);
}

void ExecutorGate::Close() {
  calls_.store(nullptr);
  SpinPacer pacer(std::chrono::hours(1));
  while (inside_.load() != 0) pacer.Pause();
}

}  // namespace ruy_like
