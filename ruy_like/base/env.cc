#include "ruy_like/base/env.h"

#if !defined(__linux__)
#include <unistd.h>
#endif

#include <cstdlib>
#include <iterator>
#include <string>

namespace ruy_like {
namespace {

constexpr EnvVarInfo kEnvVars[] = {
    {EnvVar::kPaths, "RUY_LIKE_PATHS",
     "paths that may be used, by name, separated by commas; default: all that "
     "the machine has"},
    {EnvVar::kRequirePaths, "RUY_LIKE_REQUIRE_PATHS",
     "tests only: paths whose absence is a failure, not a skip; default: none"},
    {EnvVar::kPipeline, "RUY_LIKE_PIPELINE",
     "Arm only: core whose order of instructions loops have, a53, a55 or any; "
     "default: that of the machine's cores where they are alike"},
    {EnvVar::kRuyPaths, "RUY_PATHS",
     "drop-in for ruy only: paths that may be used, as ruy's bits in "
     "hexadecimal; default: all that the machine has"},
    {EnvVar::kVerbose, "RUY_LIKE_VERBOSE",
     "1: a line on stderr for each product; dispatch: and why better kernels "
     "were not taken; summary: a line for each shape at exit; default: 0"},
    {EnvVar::kTrace, "RUY_LIKE_TRACE",
     "file for a trace of packing and multiplying, to be opened with Perfetto; "
     "default: none"},
};

// Whoever starts a program that has more rights than he, a set-user-ID one for
// instance, must not choose by a variable what files it writes.
const char* GetUnlessPrivileged(const char* name) {
#if defined(__linux__)
  return secure_getenv(name);
#else
  return issetugid() ? nullptr : std::getenv(name);
#endif
}

}  // namespace

const EnvVarInfo* EnvVars(int* count) {
  *count = static_cast<int>(std::size(kEnvVars));
  return kEnvVars;
}

std::string GetEnv(EnvVar var) {
  const char* value = GetUnlessPrivileged(kEnvVars[static_cast<int>(var)].name);
  return value == nullptr ? std::string() : std::string(value);
}

}  // namespace ruy_like
