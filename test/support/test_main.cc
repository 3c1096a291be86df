// main() of every test program: GoogleTest's, plus --path and --emulate_amx.
//
//   <program>                 all tests
//   <program> --path=avx2     the tests of that path: those whose instance is
//                             called avx2 or avx2_<something>, as in
//                             "Paths/KernelTest.Edges/avx2_s8s8", and no others
//   <program> --path=rest     the tests that belong to no path
//   <program> [--path=amx] --emulate_amx
//                             as if the machine had AMX
//                             (amx_emulation/amx_emulation.h); skipped where
//                             that can not be
//
// CTest runs each path by itself (test/CMakeLists.txt), so that its list of
// tests tells which paths were covered. A path that this machine lacks gives
// exit code kSkipped, unless the variable RUY_LIKE_REQUIRE_PATHS names it: then
// it is a failure. So is a path that is there and has no test.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "ruy_like/base/env.h"
#include "ruy_like/machine/cpu_features.h"
#include "ruy_like/path.h"
#include "test/amx_emulation/amx_emulation.h"

namespace {

using ruy_like::Path;

constexpr int kSkipped = 77;  // SKIP_RETURN_CODE in cmake/Tests.cmake
constexpr int kUsageError = 2;

// The filter of the tests of the paths in `paths`.
std::string FilterOf(Path paths) {
  std::string filter;
  for (Path path : ruy_like::PathsBestFirst(paths)) {
    const std::string name = ruy_like::PathName(path);
    if (!filter.empty()) filter += ':';
    filter += "*/" + name + ":*/" + name + "_*";
  }
  return filter;
}

// The tests that the caller's filter leaves out: "-Some.Test*" or nothing.
std::string Exclusions() {
  const std::string filter = testing::GTEST_FLAG(filter);
  const std::size_t minus = filter.find('-');
  return minus == std::string::npos ? "" : filter.substr(minus + 1);
}

// Reads RUY_LIKE_REQUIRE_PATHS; on a name that is none, ends the program: a
// typing error must not make a requirement vanish.
Path RequiredPaths() {
  const auto paths =
      ruy_like::ParsePaths(ruy_like::GetEnv(ruy_like::EnvVar::kRequirePaths));
  if (!paths.ok()) {
    std::fprintf(stderr, "RUY_LIKE_REQUIRE_PATHS: %s\n",
                 std::string(paths.status().message()).c_str());
    std::exit(kUsageError);
  }
  return *paths;
}

int RunPath(const std::string& name) {
  if (name == "rest") {
    testing::GTEST_FLAG(filter) =
        "-" + FilterOf(ruy_like::kAllPaths) + ':' + Exclusions();
    return RUN_ALL_TESTS();
  }
  const auto parsed = ruy_like::ParsePaths(name);
  if (!parsed.ok()) {
    std::fprintf(stderr, "--path: %s\n",
                 std::string(parsed.status().message()).c_str());
    return kUsageError;
  }
  const Path path = ruy_like::BestPath(*parsed);
  if ((ruy_like::DetectedPaths() & path) == Path::kNone) {
    const bool required = (RequiredPaths() & path) != Path::kNone;
    std::printf("path %s: not on this machine%s\n", name.c_str(),
                required ? ", but RUY_LIKE_REQUIRE_PATHS asks for it" : "");
    return required ? 1 : kSkipped;
  }
  testing::GTEST_FLAG(filter) = FilterOf(path) + '-' + Exclusions();
  const int result = RUN_ALL_TESTS();
  if (testing::UnitTest::GetInstance()->test_to_run_count() == 0) {
    std::fprintf(stderr, "path %s: has no test here\n", name.c_str());
    return 1;
  }
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  // Suites are instantiated for the paths that are there by then.
  if (ruy_like::TakeEmulateAmxFlag(&argc, argv)) {
    const std::string obstacle = ruy_like::EmulateAmx();
    if (!obstacle.empty()) {
      std::printf("AMX is not emulated: %s\n", obstacle.c_str());
      return kSkipped;
    }
  }
  testing::InitGoogleTest(&argc, argv);
  const std::string flag = "--path=";
  if (argc == 2 && std::string(argv[1]).rfind(flag, 0) == 0) {
    return RunPath(std::string(argv[1]).substr(flag.size()));
  }
  if (argc != 1) {
    std::fprintf(stderr, "unknown argument: %s\n", argv[argc - 1]);
    return kUsageError;
  }
  return RUN_ALL_TESTS();
}
