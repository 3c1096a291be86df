#include "ruy_like/path.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace ruy_like {
namespace {

constexpr const char* kNames[path_internal::kNumPaths] = {
#define RUY_LIKE_PATH(Enum, name, arch, features, flags) #name,
#include "ruy_like/registry/paths.inc"
#undef RUY_LIKE_PATH
};

constexpr Path PathOfRank(int rank) {
  return static_cast<Path>(uint32_t{1} << rank);
}

// The path called `name`; kNone if there is none.
Path FindPath(absl::string_view name) {
  for (int rank = 0; rank < path_internal::kNumPaths; ++rank) {
    if (name == kNames[rank]) return PathOfRank(rank);
  }
  return Path::kNone;
}

}  // namespace

Path CompiledPaths() {
  return Path::kNone
#define RUY_LIKE_PATH(Enum, name, arch, features, flags) | Path::k##Enum
#include "ruy_like/compiled_paths.inc"
#undef RUY_LIKE_PATH
      ;
}

std::vector<Path> PathsBestFirst(Path paths) {
  std::vector<Path> result;
  for (int rank = path_internal::kNumPaths - 1; rank >= 0; --rank) {
    const Path path = PathOfRank(rank);
    if ((paths & path) != Path::kNone) result.push_back(path);
  }
  return result;
}

Path BestPath(Path paths) {
  for (int rank = path_internal::kNumPaths - 1; rank >= 0; --rank) {
    const Path path = PathOfRank(rank);
    if ((paths & path) != Path::kNone) return path;
  }
  return Path::kNone;
}

const char* PathName(Path path) {
  if (path == Path::kNone) return "none";
  for (int rank = 0; rank < path_internal::kNumPaths; ++rank) {
    if (path == PathOfRank(rank)) return kNames[rank];
  }
  return "unknown";
}

std::string PathNames(Path paths) {
  std::string names;
  for (int rank = 0; rank < path_internal::kNumPaths; ++rank) {
    if ((paths & PathOfRank(rank)) == Path::kNone) continue;
    absl::StrAppend(&names, names.empty() ? "" : ",", kNames[rank]);
  }
  return names;
}

absl::StatusOr<Path> ParsePaths(absl::string_view names) {
  Path paths = Path::kPortable;
  for (absl::string_view piece : absl::StrSplit(names, ',')) {
    const absl::string_view name = absl::StripAsciiWhitespace(piece);
    if (name.empty()) continue;
    const Path path = FindPath(name);
    if (path == Path::kNone) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", name, "' is no path; the paths are ", PathNames(kAllPaths)));
    }
    paths |= path;
  }
  return paths;
}

}  // namespace ruy_like
