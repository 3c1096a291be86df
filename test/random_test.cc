// Random problems on every path of this machine.
//
//   random_test [--num_problems=N] [--seed=S] [--emulate_amx]
//
// Problem i is RandomProblem(S + i), so that the seed in a failure message,
// with --num_problems=1, reproduces it; as many products with group-scaled
// weights, calls of experts, batches and products with post-ops follow, from
// the same seeds. The defaults suit CI; a release wants 100,000 and more. Ends
// with what was covered.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "ruy_like/base/env.h"
#include "ruy_like/context.h"
#include "ruy_like/path.h"
#include "test/amx_emulation/amx_emulation.h"
#include "test/support/expert_problem.h"
#include "test/support/group_problem.h"
#include "test/support/mul_problem.h"
#include "test/support/mul_runner.h"
#include "test/support/post_problem.h"
#include "test/support/random_batch.h"
#include "test/support/sanitizers.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

std::int64_t num_problems = 4000 / kThinning;
std::uint64_t first_seed = 1;

void Print(const char* title, const std::map<std::string, std::int64_t>& map) {
  std::printf("%s:\n", title);
  for (const auto& entry : map) {
    std::printf("  %9lld  %s\n", static_cast<long long>(entry.second),
                entry.first.c_str());
  }
}

bool IsCached(const MulProblem& problem) {
  return problem.lhs.cache_policy != CachePolicy::kNeverCache ||
         problem.rhs.cache_policy != CachePolicy::kNeverCache;
}

// One for each path, which uses as many threads as it is told.
std::vector<std::unique_ptr<Context>> ContextsOfPaths() {
  // The other paths' turn is without the emulation.
  const std::vector<Path> paths = IsAmxEmulated()
                                      ? std::vector<Path>{Path::kAmx}
                                      : PathsBestFirst(DetectedPaths());
  std::vector<std::unique_ptr<Context>> contexts;
  for (const Path path : paths) {
    contexts.push_back(std::make_unique<Context>());
    contexts.back()->set_runtime_enabled_paths(path | Path::kPortable);
    contexts.back()->set_num_threads_strategy(
        NumThreadsStrategy::kForceMaxNumThreads);
  }
  return contexts;
}

std::vector<Context*> WithThreads(
    int max_num_threads,
    const std::vector<std::unique_ptr<Context>>& contexts) {
  std::vector<Context*> result;
  for (const std::unique_ptr<Context>& context : contexts) {
    context->set_max_num_threads(max_num_threads);
    result.push_back(context.get());
  }
  return result;
}

std::string KernelUsed(const Context& context) {
  return std::string(PathName(context.last_used_path())) + " " +
         context.last_used_kernel();
}

TEST(RandomTest, AllPathsGiveTheReferencesResult) {
  const std::vector<std::unique_ptr<Context>> contexts = ContextsOfPaths();
  std::map<std::string, std::int64_t> kernels, types, threads;
  for (std::int64_t i = 0; i < num_problems; ++i) {
    const MulProblem problem = RandomProblem(first_seed + i);
    MulRunner runner(problem);
    ++types[TypesName(problem)];
    for (std::size_t c = 0; c < contexts.size(); ++c) {
      // By way of the portable path, the last, and of one of the others.
      if (IsPortables(problem) && c + 1 != contexts.size() &&
          c != (first_seed + i) % contexts.size()) {
        continue;
      }
      Context* const context = contexts[c].get();
      context->set_max_num_threads(problem.num_threads);
      // A cached operand once more, out of the cache; which must be empty for
      // the next problem, whose data may lie at the same address.
      const int runs = IsCached(problem) ? 2 : 1;
      for (int run = 0; run < runs; ++run) {
        ASSERT_TRUE(runner.Check(context))
            << "\nagain: --num_problems=1 --seed=" << first_seed + i;
      }
      if (IsCached(problem)) context->ClearPrepackedCache();
      ++kernels[KernelUsed(*context)];
      ++threads[std::to_string(context->last_used_num_threads())];
      if (problem.IsInteger()) continue;
      // Whatever the order of the sums, it is the same at any number of
      // threads.
      const std::vector<char> first = runner.DstBytes();
      context->set_max_num_threads(problem.num_threads % 4 + 1);
      ASSERT_TRUE(runner.Check(context));
      ASSERT_EQ(first, runner.DstBytes())
          << "other bits on " << context->last_used_num_threads()
          << " threads than on " << problem.num_threads << ", kernel "
          << context->last_used_kernel()
          << "\nagain: --num_problems=1 --seed=" << first_seed + i;
      if (IsCached(problem)) context->ClearPrepackedCache();
    }
  }
  std::printf("%lld problems on paths %s\n",
              static_cast<long long>(num_problems),
              PathNames(DetectedPaths()).c_str());
  Print("kernels", kernels);
  Print("types", types);
  Print("threads", threads);
  if (num_problems >= 1000) {
    EXPECT_EQ(types.size(), AllTypes().size());
  }
}

TEST(RandomTest, AllPathsGiveTheReferencesGroupSums) {
  // The bits are the oracle's with one thread and with several.
  const auto with_one = ContextsOfPaths(), with_several = ContextsOfPaths();
  std::vector<Context*> contexts = WithThreads(1, with_one);
  for (Context* const context : WithThreads(4, with_several)) {
    contexts.push_back(context);
  }
  std::map<std::string, std::int64_t> kernels, types, threads;
  for (std::int64_t i = 0; i < num_problems; ++i) {
    const std::uint64_t seed = first_seed + i;
    std::string name;
    CheckGroupProduct(RandomGroupShape(seed), seed, contexts, &name);
    ASSERT_FALSE(HasFatalFailure())
        << "\nagain: --num_problems=1 --seed=" << seed;
    for (Context* const context : contexts) {
      ++threads[std::to_string(context->last_used_num_threads())];
      ++kernels[KernelUsed(*context)];
    }
    ++types[name];
  }
  std::printf("%lld products with group-scaled weights\n",
              static_cast<long long>(num_problems));
  Print("kernels", kernels);
  Print("types", types);
  Print("threads", threads);
  if (num_problems >= 1000) {
    // 4 and 8 bits, tables of 4 and 2 bits; types of scales, of activations and
    // of dst.
    EXPECT_EQ(types.size(), 4u * 3 * 3 * 2);
  }
}

TEST(RandomTest, AllPathsGiveTheSumsOfExperts) {
  const std::vector<std::unique_ptr<Context>> contexts = ContextsOfPaths();
  std::map<std::string, std::int64_t> drawn;
  for (std::int64_t i = 0; i < num_problems; ++i) {
    const std::uint64_t seed = first_seed + i;
    std::string what;
    CheckExperts(seed, WithThreads(1 + static_cast<int>(seed % 3), contexts),
                 &what);
    ASSERT_FALSE(HasFatalFailure())
        << "\nagain: --num_problems=1 --seed=" << seed;
    ++drawn[what];
  }
  Print("experts", drawn);
  if (num_problems >= 1000) {
    EXPECT_EQ(drawn.size(), 6u * 6);  // types; gathered or not; kinds of sums
  }
}

TEST(RandomTest, AllPathsGiveBatchesTheBitsOfSingleCalls) {
  const std::vector<std::unique_ptr<Context>> contexts = ContextsOfPaths();
  std::map<std::string, std::int64_t> drawn;
  for (std::int64_t i = 0; i < num_problems; ++i) {
    const std::uint64_t seed = first_seed + i;
    std::string types;
    CheckBatch(seed, WithThreads(1 + static_cast<int>(seed % 3), contexts),
               &types);
    ASSERT_FALSE(HasFailure()) << "\nagain: --num_problems=1 --seed=" << seed;
    ++drawn[types];
  }
  Print("batches", drawn);
  if (num_problems >= 1000) {
    EXPECT_EQ(drawn.size(), 13u);
  }
}

TEST(RandomTest, AllPathsGiveTheReferencesPostOps) {
  const std::vector<std::unique_ptr<Context>> contexts = ContextsOfPaths();
  std::map<std::string, std::int64_t> drawn;
  for (std::int64_t i = 0; i < num_problems; ++i) {
    const std::uint64_t seed = first_seed + i;
    std::string what;
    for (const std::unique_ptr<Context>& context : contexts) {
      context->set_max_num_threads(1 + static_cast<int>(seed % 3));
      CheckPostOps(RandomGroupShape(seed), seed, context.get(), &what);
      ASSERT_FALSE(HasFatalFailure())
          << "\nagain: --num_problems=1 --seed=" << seed;
    }
    ++drawn[what];
  }
  Print("post-ops", drawn);
  if (num_problems >= 1000) {
    // Activations by types of dst, and those of integers.
    EXPECT_EQ(drawn.size(), 8u * 3 + 4);
  }
}

TEST(RandomTest, RequiredPathsAreHere) {
  ASSERT_VALUE(const auto required, ParsePaths(GetEnv(EnvVar::kRequirePaths)));
  EXPECT_EQ(PathNames(required & ~DetectedPaths()), "");
}

// True if `argument` is --<name>=<value>.
template <typename T>
bool ParseFlag(absl::string_view argument, absl::string_view name, T* value) {
  return absl::ConsumePrefix(&argument, "--") &&
         absl::ConsumePrefix(&argument, name) &&
         absl::ConsumePrefix(&argument, "=") &&
         absl::SimpleAtoi(argument, value);
}

}  // namespace
}  // namespace ruy_like

int main(int argc, char** argv) {
  if (ruy_like::TakeEmulateAmxFlag(&argc, argv)) {
    const std::string obstacle = ruy_like::EmulateAmx();
    if (!obstacle.empty()) {
      std::printf("AMX is not emulated: %s\n", obstacle.c_str());
      return 77;  // SKIP_RETURN_CODE in cmake/Tests.cmake
    }
  }
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    if (!ruy_like::ParseFlag(argv[i], "num_problems",
                             &ruy_like::num_problems) &&
        !ruy_like::ParseFlag(argv[i], "seed", &ruy_like::first_seed)) {
      std::fprintf(stderr, "unknown argument: %s\n", argv[i]);
      return 2;
    }
  }
  return RUN_ALL_TESTS();
}
