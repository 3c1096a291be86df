// Diagnostics: RUY_LIKE_VERBOSE, what ran, on stderr: a line for each product,
// or one for each shape at the end of the process.
//
// Used by product.cc, which hands it the plan that was carried out. Text and
// columns are made here and nowhere else; doc/observing.md describes them. Does
// not say what happens inside a product: that is trace.h's.
//
//   RUY_LIKE_VERBOSE=1         one CSV line a product, after a header line
//   RUY_LIKE_VERBOSE=dispatch  and before it, a line for each path and kernel
//                              that came first and was not taken, with the
//                              reason
//   all of them                a line for each advisory (Context) that is new
//   RUY_LIKE_VERBOSE=summary   at the end, a CSV line for each shape and kernel
#ifndef RUY_LIKE_DIAGNOSTICS_VERBOSE_H_
#define RUY_LIKE_DIAGNOSTICS_VERBOSE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "absl/strings/string_view.h"
#include "ruy_like/path.h"
#include "ruy_like/plan/advisor.h"
#include "ruy_like/plan/plan.h"
#include "ruy_like/plan/tr_mul_params.h"
#include "ruy_like/side.h"

namespace ruy_like {

enum class VerboseLevel : std::uint8_t { kOff, kCalls, kDispatch, kSummary };

// The level for a value of RUY_LIKE_VERBOSE. For an unknown value kOff, and
// `warning` says so; else `warning` is empty.
VerboseLevel ParseVerboseLevel(absl::string_view value, std::string* warning);

// Read from the environment once, before main. Not to be written.
extern VerboseLevel g_verbose_level;

// The lines that one product gives, each with its line feed. `params` is as the
// kernel saw it: with its sides swapped if the plan says so.
std::string CallLine(const TrMulParams& params, const Plan& plan,
                     std::chrono::nanoseconds time);
std::string DispatchLines(const TrMulParams& params, const Plan& plan,
                          Path permitted);
// A line for each advisory on the kernel's sides; and printed.
std::string AdviceLines(const SidePair<PerformanceAdvisory>& advice,
                        bool swapped);
void PrintAdvice(const SidePair<PerformanceAdvisory>& advice, bool swapped);
// The names of CallLine's columns, and of CallSummary's.
extern const char kVerboseHeader[];
extern const char kSummaryHeader[];

// Counts and times, by shape and kernel. Safe from any thread.
class CallSummary final {
 public:
  // One more product. `packing`: of each of its threads, on average.
  // Products of further shapes than kMaxShapes, and those that there is no
  // memory for, are counted together.
  void Add(const TrMulParams& params, const Plan& plan,
           std::chrono::nanoseconds time, std::chrono::nanoseconds packing);

  // A header and a line for each shape, longest time first; empty without
  // products. May throw std::bad_alloc.
  std::string Lines() const;

  static constexpr std::size_t kMaxShapes = 1000;

 private:
  struct Totals {
    std::int64_t calls = 0;
    double nanoseconds = 0, packing_nanoseconds = 0, ops = 0;
  };

  mutable std::mutex mutex_;
  // Keyed by the line's path, kernel, types, orders and shape.
  std::map<std::string, Totals> shapes_;
  Totals others_;
};

// Measures one product. Costs a branch in each of its functions when off.
class VerboseCall final {
 public:
  static bool IsOn() { return g_verbose_level != VerboseLevel::kOff; }

  // At the beginning.
  void Start() {
    if (IsOn()) start_ = std::chrono::steady_clock::now();
    stop_ = {};
  }
  // At the end, and only if IsOn(): writes the lines, or adds to the summary.
  // `permitted` is what the Context permits; `packing` the time of packing of
  // all threads together; `share` the product's part of the time, where several
  // were measured together.
  void Print(const TrMulParams& params, const Plan& plan, Path permitted,
             std::chrono::nanoseconds packing, double share = 1) const;
  // The same with the time until Stop, for one product after the other.
  void Stop() { stop_ = std::chrono::steady_clock::now(); }

 private:
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point stop_;  // the epoch: not stopped
};

}  // namespace ruy_like

#endif  // RUY_LIKE_DIAGNOSTICS_VERBOSE_H_
