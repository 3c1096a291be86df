// Base: the one place that reads environment variables.
//
// Any layer asks here for a variable that is in the table below; none calls
// getenv itself. This file does not interpret values.
#ifndef RUY_LIKE_BASE_ENV_H_
#define RUY_LIKE_BASE_ENV_H_

#include <string>

#include "ruy_like/export.h"

namespace ruy_like {

enum class EnvVar {
  kPaths,         // RUY_LIKE_PATHS
  kRequirePaths,  // RUY_LIKE_REQUIRE_PATHS
  kRuyPaths,      // RUY_PATHS, for the drop-in for ruy
  kRuySums,       // RUY_LIKE_RUY_SUMS, likewise
  kVerbose,       // RUY_LIKE_VERBOSE
  kTrace,         // RUY_LIKE_TRACE
};

struct EnvVarInfo {
  EnvVar var;
  const char* name;
  const char* description;  // one line, for tools that list the variables
};

// The table of all variables, in the order of EnvVar; `count` entries.
const EnvVarInfo* EnvVars(int* count);

// The variable's value, read anew at every call; empty if it is not set, and in
// a process that has more rights than who started it (set-user-ID). Safe
// from any thread as long as no thread changes the environment.
RUY_LIKE_EXPORT std::string GetEnv(EnvVar var);

}  // namespace ruy_like

#endif  // RUY_LIKE_BASE_ENV_H_
