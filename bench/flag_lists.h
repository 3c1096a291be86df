// Benchmarks: flags that hold several values, separated by commas.
#ifndef RUY_LIKE_BENCH_FLAG_LISTS_H_
#define RUY_LIKE_BENCH_FLAG_LISTS_H_

#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace ruy_like::bench {

inline std::vector<std::string> SplitList(const std::string& text) {
  return absl::StrSplit(text, ',', absl::SkipWhitespace());
}

// False unless all are whole numbers from 1 on, and there is at least one.
inline bool ParseThreadCounts(const std::string& text,
                              std::vector<int>* counts) {
  counts->clear();
  for (const std::string& item : SplitList(text)) {
    int count;
    if (!absl::SimpleAtoi(item, &count) || count < 1) return false;
    counts->push_back(count);
  }
  return !counts->empty();
}

}  // namespace ruy_like::bench

#endif  // RUY_LIKE_BENCH_FLAG_LISTS_H_
