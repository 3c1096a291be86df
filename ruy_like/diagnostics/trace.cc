#include "ruy_like/diagnostics/trace.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "ruy_like/base/env.h"
#include "ruy_like/base/float_state.h"
#include "ruy_like/os/process.h"

namespace ruy_like {
namespace {

struct Event {
  TraceSpan::Kind kind;
  const char* name;
  std::ptrdiff_t numbers[3];
  std::int64_t start_ns, end_ns;
};

struct KindInfo {
  const char* category;
  const char* numbers[3];
};
constexpr KindInfo kKinds[] = {
    {"mul", {"rows", "depth", "cols"}},
    {"pack", {"start", "end", "depth"}},
    {"kernel", {"rows", "depth", "cols"}},
    {"wait", {"threads", nullptr, nullptr}},
};

// Events gathered before a thread writes: 64 KiB, some milliseconds' worth.
constexpr std::size_t kEventsPerWrite = 1024;

std::int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// The spans of one thread. Its mutex is the thread's but for the end of the
// process, when workers may still be there.
struct ThreadEvents {
  std::mutex mutex;
  int number = 0;  // 1, 2, ... in the order of first spans
  bool is_named = false;
  std::vector<Event> events;
};

// The file. Written as a JSON array that is closed when the process exits;
// Perfetto and Chrome also read one that was cut short by a crash.
class TraceFile final {
 public:
  explicit TraceFile(std::string name)
      : name_(std::move(name)),
        second_name_(name_ + "." + std::to_string(os::ProcessId())),
        process_(os::ProcessId()) {}

  // Memory for this thread's spans; null if there is none.
  std::shared_ptr<ThreadEvents> Register() {
    if (IsForked()) return nullptr;
    try {
      auto thread = std::make_shared<ThreadEvents>();
      thread->events.reserve(kEventsPerWrite);
      const std::lock_guard<std::mutex> lock(mutex_);
      threads_.push_back(thread);
      thread->number = ++thread_count_;
      return thread;
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  }

  // For a thread that ends.
  void Unregister(const std::shared_ptr<ThreadEvents>& thread) {
    if (IsForked()) return;
    {
      const std::lock_guard<std::mutex> lock(thread->mutex);
      Write(thread.get());
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    for (auto& other : threads_) {
      if (other != thread) continue;
      other = threads_.back();
      threads_.pop_back();
      break;
    }
  }

  // Writes a thread's spans and forgets them. Needs thread->mutex.
  void Write(ThreadEvents* thread) {
    if (IsForked()) {
      thread->events.clear();
      return;
    }
    // For the times, in doubles.
    const ScopedFloatState float_state(FloatState::kDefault);
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!is_closed_ && Open()) {
      if (!thread->is_named) {
        std::fprintf(file_,
                     "%s{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%ld,"
                     "\"tid\":%d,\"args\":{\"name\":\"ruy_like thread %d\"}}",
                     separator_, process_, thread->number, thread->number);
        separator_ = ",\n";
        thread->is_named = true;
      }
      for (const Event& event : thread->events) WriteEvent(*thread, event);
      // A child that is forked now must not find anything to write.
      if (std::fflush(file_) != 0 || std::ferror(file_) != 0) {
        const int error = errno;
        std::fclose(file_);
        file_ = nullptr;
        Fail(error);
      }
    }
    thread->events.clear();
  }

  // At the end of the process.
  void Close() {
    if (IsForked()) return;
    std::vector<std::shared_ptr<ThreadEvents>> threads;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      threads.swap(threads_);
    }
    for (const auto& thread : threads) {
      const std::lock_guard<std::mutex> lock(thread->mutex);
      Write(thread.get());
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    is_closed_ = true;
    if (file_ == nullptr) return;
    std::fputs("\n]\n", file_);
    if (std::fclose(file_) != 0) Fail(errno);
    file_ = nullptr;
  }

 private:
  // The child of a fork has the parent's spans but not its file, and the locks
  // as they were at that moment: nothing is traced there.
  bool IsForked() const { return os::ProcessId() != process_; }

  // Reports it, once; nothing more is written.
  void Fail(int error) {
    has_failed_ = true;
    std::fprintf(stderr, "ruy_like: RUY_LIKE_TRACE: cannot write '%s': %s\n",
                 name_.c_str(), std::strerror(error));
  }

  // With the first span, so that a process without any leaves the file of
  // another alone.
  bool Open() {
    if (file_ != nullptr) return true;
    if (has_failed_) return false;
    file_ = os::OpenForWriting(name_.c_str());
    if (file_ == nullptr && errno == EWOULDBLOCK) {
      // Another process is writing it.
      name_.swap(second_name_);
      file_ = os::OpenForWriting(name_.c_str());
    }
    if (file_ == nullptr) {
      Fail(errno);
      return false;
    }
    std::fputs("[\n", file_);
    return true;
  }

  // "X": a complete event. Times are in microseconds. Names are those of
  // kernels and string literals: nothing to escape.
  void WriteEvent(const ThreadEvents& thread, const Event& event) {
    const KindInfo& kind = kKinds[event.kind];
    std::fprintf(file_,
                 "%s{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":%ld,"
                 "\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f,\"args\":",
                 separator_, kind.category, event.name, process_, thread.number,
                 static_cast<double>(event.start_ns) * 1e-3,
                 static_cast<double>(event.end_ns - event.start_ns) * 1e-3);
    for (int i = 0; i < 3 && kind.numbers[i] != nullptr; ++i) {
      std::fprintf(file_, "%c\"%s\":%td", i == 0 ? '{' : ',', kind.numbers[i],
                   event.numbers[i]);
    }
    std::fputs("}}", file_);
    separator_ = ",\n";
  }

  std::string name_;
  std::string second_name_;  // made while memory may be taken
  const long process_;
  std::mutex mutex_;  // of all below; locked after a ThreadEvents::mutex
  std::vector<std::shared_ptr<ThreadEvents>> threads_;
  int thread_count_ = 0;
  std::FILE* file_ = nullptr;
  const char* separator_ = "";
  bool has_failed_ = false;
  bool is_closed_ = false;
};

// Never destroyed: threads may outlive static objects. Null when off.
TraceFile* MakeTraceFile() {
  std::string name = GetEnv(EnvVar::kTrace);
  return name.empty() ? nullptr : new TraceFile(std::move(name));
}
TraceFile* const g_trace_file = MakeTraceFile();

// Its destructor runs when the process exits or unloads the library.
struct Closer {
  ~Closer() {
    if (g_trace_file != nullptr) g_trace_file->Close();
  }
};
const Closer g_closer;

// Set where a static object's destructor may still call Mul.
thread_local bool thread_has_ended = false;

struct ThisThread {
  ThisThread() : events(g_trace_file->Register()) {}
  ~ThisThread() {
    if (events != nullptr) g_trace_file->Unregister(events);
    thread_has_ended = true;
  }
  const std::shared_ptr<ThreadEvents> events;
};

std::atomic<const SpanListener*> g_listener{nullptr};

}  // namespace

std::atomic<bool> g_trace_is_on{g_trace_file != nullptr};

void SetSpanListener(const SpanListener* listener) {
  g_listener = listener;
  g_trace_is_on = listener != nullptr || g_trace_file != nullptr;
}

void TraceSpan::Begin(Kind kind, const char* name, std::ptrdiff_t a,
                      std::ptrdiff_t b, std::ptrdiff_t c) {
  kind_ = kind;
  name_ = name;
  numbers_[0] = a;
  numbers_[1] = b;
  numbers_[2] = c;
  listener_ = g_listener;
  if (listener_ != nullptr) listener_->begin(name);
  start_ns_ = NowNs();
}

void TraceSpan::End() {
  const std::int64_t end_ns = NowNs();
  if (listener_ != nullptr) listener_->end();
  if (g_trace_file == nullptr || thread_has_ended) return;
  thread_local const ThisThread this_thread;
  ThreadEvents* const thread = this_thread.events.get();
  if (thread == nullptr) return;
  const std::lock_guard<std::mutex> lock(thread->mutex);
  // Never more than were reserved: this allocates nothing.
  thread->events.push_back(Event{kind_,
                                 name_,
                                 {numbers_[0], numbers_[1], numbers_[2]},
                                 start_ns_,
                                 end_ns});
  if (thread->events.size() == kEventsPerWrite) g_trace_file->Write(thread);
}

}  // namespace ruy_like
