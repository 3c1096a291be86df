// Paths: the sets of machine instructions that kernels are written for.
//
// Public. Used by Context (which paths are permitted), by the registry (which
// one is taken) and by tests and benchmarks (which ones are there). This header
// names paths and makes sets of them; cpu_features.h has what this machine can
// run, the registry the kernels of a path.
#ifndef RUY_LIKE_PATH_H_
#define RUY_LIKE_PATH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ruy_like/export.h"

namespace ruy_like {

namespace path_internal {
// The position of each line of paths.inc: its rank, and its bit in Path.
enum Rank : int {
#define RUY_LIKE_PATH(Enum, name, arch, features, flags) k##Enum,
#include "ruy_like/registry/paths.inc"
#undef RUY_LIKE_PATH
  kNumPaths
};
static_assert(kNumPaths <= 32, "Path has run out of bits");
}  // namespace path_internal

// A path, or a set of them: one bit each, a higher bit for a path that is
// preferred. kPortable is in every usable set, since it serves all types.
enum class Path : uint32_t {
  kNone = 0,
#define RUY_LIKE_PATH(Enum, name, arch, features, flags) \
  k##Enum = uint32_t{1} << path_internal::k##Enum,
#include "ruy_like/registry/paths.inc"
#undef RUY_LIKE_PATH
};

constexpr Path operator|(Path a, Path b) {
  return static_cast<Path>(static_cast<uint32_t>(a) | static_cast<uint32_t>(b));
}
constexpr Path operator&(Path a, Path b) {
  return static_cast<Path>(static_cast<uint32_t>(a) & static_cast<uint32_t>(b));
}

// All paths that this version knows, compiled and runnable here or not.
constexpr Path kAllPaths =
    static_cast<Path>((uint64_t{1} << path_internal::kNumPaths) - 1);

// The complement within kAllPaths.
constexpr Path operator~(Path a) {
  return static_cast<Path>(~static_cast<uint32_t>(a) &
                           static_cast<uint32_t>(kAllPaths));
}
inline Path& operator|=(Path& a, Path b) { return a = a | b; }
inline Path& operator&=(Path& a, Path b) { return a = a & b; }

// The paths that this build of the library holds kernels for.
RUY_LIKE_EXPORT Path CompiledPaths();

// The members of `paths`, best first: the order of preference.
RUY_LIKE_EXPORT std::vector<Path> PathsBestFirst(Path paths);

// The best member of `paths`; kNone of kNone.
RUY_LIKE_EXPORT Path BestPath(Path paths);

// The name of a single path, as in RUY_LIKE_PATHS and in kernel names:
// "avx512vnni". "none" and "unknown" for what is not a single known path.
RUY_LIKE_EXPORT const char* PathName(Path path);

// The names of the members of `paths`, worst first, separated by commas:
// "portable,avx2". Empty for kNone. ParsePaths reads it back.
RUY_LIKE_EXPORT std::string PathNames(Path paths);

// The set that a comma-separated list of names stands for; kPortable is always
// in it. Blanks around names and empty names are passed over. An unknown name
// gives InvalidArgument, with a message that names it and the known ones.
RUY_LIKE_EXPORT absl::StatusOr<Path> ParsePaths(absl::string_view names);

}  // namespace ruy_like

#endif  // RUY_LIKE_PATH_H_
