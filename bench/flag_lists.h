// Benchmarks: a flag of thread counts.
#ifndef RUY_LIKE_BENCH_FLAG_LISTS_H_
#define RUY_LIKE_BENCH_FLAG_LISTS_H_

#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace ruy_like::bench {

// Whole numbers from 1 on, at least one, separated by commas.
struct ThreadCounts {
  std::vector<int> values;
};

inline bool AbslParseFlag(absl::string_view text, ThreadCounts* counts,
                          std::string* error) {
  counts->values.clear();
  for (const absl::string_view item : absl::StrSplit(text, ',')) {
    counts->values.push_back(0);
    if (!absl::SimpleAtoi(item, &counts->values.back()) ||
        counts->values.back() < 1) {
      *error = "whole numbers from 1 on are wanted";
      return false;
    }
  }
  return true;
}
inline std::string AbslUnparseFlag(const ThreadCounts& counts) {
  return absl::StrJoin(counts.values, ",");
}

}  // namespace ruy_like::bench

#endif  // RUY_LIKE_BENCH_FLAG_LISTS_H_
