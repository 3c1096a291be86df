// Diagnostics: RUY_LIKE_TRACE, a file of spans for Perfetto or
// chrome://tracing.
//
// Used by run/ and packed_side.cc, which open a span around each product,
// packing, kernel call and wait, and by the drop-in's profiler, which listens.
// doc/observing.md shows a trace. It is not a profiler of hosts: nothing but
// the library's own work is in it.
#ifndef RUY_LIKE_DIAGNOSTICS_TRACE_H_
#define RUY_LIKE_DIAGNOSTICS_TRACE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "ruy_like/export.h"

namespace ruy_like {

// Functions that are told of spans, on their threads.
struct SpanListener {
  void (*begin)(const char* name);
  void (*end)();
};
// Replaces the one before; null for none. Must live as long as the process.
RUY_LIKE_EXPORT void SetSpanListener(const SpanListener* listener);

// True if RUY_LIKE_TRACE, read from the environment before main, names a file,
// or if there is a listener. Not to be written.
extern std::atomic<bool> g_trace_is_on;

// A span of time on this thread, from here to the end of the scope. Off, it
// costs a branch at either end.
//
// It goes to the thread's own memory, and from there to the file when there are
// some thousand spans, when the thread ends, or when the process exits. If
// memory can not be allocated or the file can not be written, spans are lost,
// but no products.
class TraceSpan final {
 public:
  // Names the numbers of a span in the trace.
  enum Kind : std::uint8_t {
    kMul,     // rows, depth, cols
    kPack,    // start, end, depth
    kKernel,  // rows, depth, cols
    kWait,    // threads that are waited for
  };

  // `name` must live as long as the process.
  TraceSpan(Kind kind, const char* name, std::ptrdiff_t a, std::ptrdiff_t b = 0,
            std::ptrdiff_t c = 0)
      : is_on_(g_trace_is_on.load(std::memory_order_relaxed)) {
    if (is_on_) Begin(kind, name, a, b, c);
  }
  ~TraceSpan() {
    if (is_on_) End();
  }
  TraceSpan(const TraceSpan&) = delete;
  TraceSpan& operator=(const TraceSpan&) = delete;

 private:
  void Begin(Kind kind, const char* name, std::ptrdiff_t a, std::ptrdiff_t b,
             std::ptrdiff_t c);
  void End();

  const bool is_on_;
  // Set by Begin.
  const SpanListener* listener_;
  Kind kind_;
  const char* name_;
  std::ptrdiff_t numbers_[3];
  std::int64_t start_ns_;
};

}  // namespace ruy_like

#endif  // RUY_LIKE_DIAGNOSTICS_TRACE_H_
