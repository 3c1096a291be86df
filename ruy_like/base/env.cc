#include "ruy_like/base/env.h"

#include <iterator>
#include <string>

#include "ruy_like/os/process.h"

namespace ruy_like {
namespace {

constexpr EnvVarInfo kEnvVars[] = {
    {EnvVar::kPaths, "RUY_LIKE_PATHS",
     "paths that may be used, by name, separated by commas; default: all that "
     "the machine has"},
    {EnvVar::kRequirePaths, "RUY_LIKE_REQUIRE_PATHS",
     "tests only: paths whose absence is a failure, not a skip; default: none"},
    {EnvVar::kRuyPaths, "RUY_PATHS",
     "drop-in for ruy only: paths that may be used, as ruy's bits in "
     "hexadecimal; default: all that the machine has"},
    {EnvVar::kRuySums, "RUY_LIKE_RUY_SUMS",
     "drop-in for ruy only: in_order or any_order, of float sums; default: as "
     "it was built, any_order"},
    {EnvVar::kVerbose, "RUY_LIKE_VERBOSE",
     "1: a line on stderr for each product; dispatch: and why better kernels "
     "were not taken; summary: a line for each shape at exit; default: 0"},
    {EnvVar::kTrace, "RUY_LIKE_TRACE",
     "file for a trace of packing and multiplying, to be opened with Perfetto; "
     "default: none"},
};

}  // namespace

const EnvVarInfo* EnvVars(int* count) {
  *count = static_cast<int>(std::size(kEnvVars));
  return kEnvVars;
}

std::string GetEnv(EnvVar var) {
  const char* value = os::GetEnvironment(kEnvVars[static_cast<int>(var)].name);
  return value == nullptr ? std::string() : std::string(value);
}

}  // namespace ruy_like
