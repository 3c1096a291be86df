// Tests ruy::Context, get_ctx and ruy::Mul<Path>.
#include "ruy/context.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "matrices.h"
#include "ruy/context_get_ctx.h"
#include "ruy/cpuinfo.h"
#include "ruy/ctx.h"
#include "ruy/path.h"
#include "ruy/performance_advisory.h"
#include "ruy/prepacked_cache.h"
#include "ruy/ruy.h"
#include "ruy/strategy_controls.h"
#include "ruy/thread_pool.h"
#include "ruy/tune.h"

namespace {

using dropin_test::RandomValues;
using dropin_test::View;

// An int8 product for trying a Context; its results are in `dst_data`.
struct Product {
  static constexpr int kSize = 160;
  void Run(ruy::Context* context) {
    ruy::Mul(lhs, rhs, mul_params, context, &dst);
  }
  template <ruy::Path kPaths>
  void Run(ruy::Context* context) {
    ruy::Mul<kPaths>(lhs, rhs, mul_params, context, &dst);
  }

  std::vector<std::int8_t> lhs_data =
      RandomValues<std::int8_t>(kSize * kSize, 1);
  std::vector<std::int8_t> rhs_data =
      RandomValues<std::int8_t>(kSize * kSize, 2);
  std::vector<std::int32_t> dst_data = std::vector<std::int32_t>(kSize * kSize);
  ruy::Matrix<std::int8_t> lhs =
      View(lhs_data.data(), kSize, kSize, ruy::Order::kRowMajor);
  ruy::Matrix<std::int8_t> rhs =
      View(rhs_data.data(), kSize, kSize, ruy::Order::kColMajor);
  ruy::Matrix<std::int32_t> dst =
      View(dst_data.data(), kSize, kSize, ruy::Order::kColMajor);
  ruy::MulParams<std::int32_t, std::int32_t> mul_params;
};

TEST(ContextTest, DefaultsAndSetters) {
  ruy::Context context;
  EXPECT_EQ(context.last_used_path(), ruy::Path::kNone);
  EXPECT_EQ(context.explicit_tuning(), ruy::Tuning::kAuto);
  EXPECT_EQ(&context.thread_pool(), context.mutable_thread_pool());
  EXPECT_NE(context.mutable_thread_pool(), nullptr);
  EXPECT_EQ(context.max_num_threads(), 1);
  EXPECT_EQ(context.num_threads_strategy(), ruy::NumThreadsStrategy::kDefault);
  EXPECT_FALSE(context.performance_advisory(
      ruy::PerformanceAdvisory::kReallocatedPerChannelBuffer));

  context.set_explicit_tuning(ruy::Tuning::kGeneric);
  context.set_max_num_threads(2);
  context.set_num_threads_strategy(
      ruy::NumThreadsStrategy::kForceMaxNumThreads);
  EXPECT_EQ(context.explicit_tuning(), ruy::Tuning::kGeneric);
  EXPECT_EQ(context.max_num_threads(), 2);
  EXPECT_EQ(context.num_threads_strategy(),
            ruy::NumThreadsStrategy::kForceMaxNumThreads);

  Product().Run(&context);
  EXPECT_EQ(ruy::get_ctx(&context)->ruy_like_context()->last_used_num_threads(),
            2);
  EXPECT_NE(context.last_used_path(), ruy::Path::kNone);
  EXPECT_FALSE(context.performance_advisory(
      ruy::PerformanceAdvisory::kReallocatedPerChannelBuffer));
}

TEST(ContextTest, OrderOfFloatSums) {
  const auto order = [](const char* value) {
    if (value == nullptr) {
      unsetenv("RUY_LIKE_RUY_SUMS");
    } else {
      setenv("RUY_LIKE_RUY_SUMS", value, 1);
    }
    ruy::Context context;
    return ruy::get_ctx(&context)->ruy_like_context()->float_sums();
  };
  EXPECT_EQ(order("in_order"), ruy_like::FloatSums::kInOrder);
  EXPECT_EQ(order("any_order"), ruy_like::FloatSums::kAnyOrder);
  EXPECT_EQ(order(nullptr), ruy_like::FloatSums::kAnyOrder);
  testing::internal::CaptureStderr();
  EXPECT_EQ(order("backwards"), ruy_like::FloatSums::kAnyOrder);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("'backwards'"),
            std::string::npos);
  unsetenv("RUY_LIKE_RUY_SUMS");
}

TEST(ContextTest, CtxIsTheSameContext) {
  ruy::Context context;
  context.set_max_num_threads(3);
  ruy::Ctx* const ctx = ruy::get_ctx(&context);
  EXPECT_EQ(ctx->max_num_threads(), 3);
  ctx->set_max_num_threads(1);
  EXPECT_EQ(context.max_num_threads(), 1);
  EXPECT_EQ(ctx->mutable_thread_pool(), context.mutable_thread_pool());
  const ruy::Context& const_context = context;
  EXPECT_EQ(ruy::get_ctx(&const_context), ctx);
  EXPECT_EQ(ctx->last_used_path(), ruy::Path::kNone);
}

TEST(ContextTest, EachThreadHasATuningResolver) {
  ruy::Context context;
  ruy::Ctx* const ctx = ruy::get_ctx(&context);
  ctx->EnsureThreadSpecificResources(2);
  ruy::TuningResolver* const first = ctx->GetThreadSpecificTuningResolver(0);
  ASSERT_NE(first, nullptr);
  EXPECT_NE(ctx->GetThreadSpecificTuningResolver(1), first);
  first->SetTuning(ruy::Tuning::kX1);
  // They stay where they are when more threads come.
  ctx->EnsureThreadSpecificResources(40);
  ctx->EnsureThreadSpecificResources(1);
  EXPECT_EQ(ctx->GetThreadSpecificTuningResolver(0), first);
  EXPECT_EQ(first->Resolve(ctx->mutable_cpuinfo()), ruy::Tuning::kX1);
  EXPECT_NE(ctx->GetThreadSpecificTuningResolver(39), nullptr);
}

TEST(ContextTest, MainThreadTuningIsTheExplicitOne) {
  ruy::Context context;
  ruy::Ctx* const ctx = ruy::get_ctx(&context);
  EXPECT_NE(ctx->GetMainThreadTuning(), ruy::Tuning::kAuto);
  context.set_explicit_tuning(ruy::Tuning::kA55ish);
  EXPECT_EQ(ctx->GetMainThreadTuning(), ruy::Tuning::kA55ish);
  EXPECT_EQ(ctx->ruy_like_context()->tuning(), ruy_like::Tuning::kInOrder);
  context.set_explicit_tuning(ruy::Tuning::kX1);
  EXPECT_EQ(ctx->ruy_like_context()->tuning(), ruy_like::Tuning::kOutOfOrder);
  context.set_explicit_tuning(ruy::Tuning::kAuto);
  EXPECT_EQ(ctx->ruy_like_context()->tuning(), ruy_like::Tuning::kAuto);
  EXPECT_NE(ctx->GetMainThreadTuning(), ruy::Tuning::kAuto);
}

TEST(ContextTest, PrepackedCache) {
  ruy::Context context;
  // A path that packs.
  context.set_runtime_enabled_paths(ruy::Path::kStandardCpp);
  const ruy::PrepackedCache* const cache =
      ruy::get_ctx(&context)->GetPrepackedCache();
  Product product;
  product.Run(&context);
  EXPECT_EQ(cache->BuffersBytes(), 0);
  product.lhs.set_cache_policy(ruy::CachePolicy::kAlwaysCache);
  product.Run(&context);
  const std::ptrdiff_t bytes = cache->BuffersBytes();
  EXPECT_GE(bytes, Product::kSize * Product::kSize);
  product.Run(&context);
  EXPECT_EQ(cache->BuffersBytes(), bytes);
  context.ClearPrepackedCache();
  EXPECT_EQ(cache->BuffersBytes(), 0);
  EXPECT_EQ(
      ruy::get_ctx(&context)->ruy_like_context()->prepacked_cache_limit_bytes(),
      std::size_t{ruy::PrepackedCache::kDefaultMaxBuffersBytes});
}

// What ruy would find on this processor: the internal variants of kStandardCpp
// are part of it.
ruy::Path PathsOfProcessor() {
  ruy::CpuInfo cpuinfo;
  ruy::Path paths = ruy::kNonArchPathsIncludingInternalVariants;
#if RUY_PLATFORM_X86
  if (cpuinfo.Avx()) paths = paths | ruy::Path::kAvx;
  if (cpuinfo.Avx2Fma()) paths = paths | ruy::Path::kAvx2Fma;
  if (cpuinfo.Avx512()) paths = paths | ruy::Path::kAvx512;
#elif RUY_PLATFORM_NEON_64
  paths = paths | ruy::Path::kNeon;
  if (cpuinfo.NeonDotprod()) paths = paths | ruy::Path::kNeonDotprod;
#endif
  return paths;
}

ruy::Path BestPath(ruy::Path enabled) {
  return GetMostSignificantPath(enabled);
}

TEST(PathTest, EnabledPathsAreThoseOfRuy) {
  ruy::Context context;
  const ruy::Path enabled = context.get_runtime_enabled_paths();
  EXPECT_EQ(enabled, PathsOfProcessor());
  EXPECT_FALSE(Disjoint(enabled, ruy::Path::kStandardCpp));
  EXPECT_TRUE(Disjoint(enabled, ~ruy::kAllPathsIncludingInternalVariants));
  EXPECT_EQ(ruy::get_ctx(&context)->GetRuntimeEnabledPaths(), enabled);
}

// Goes through the paths in the way of ruy's own tests: each one is set, and is
// the last used one after any product; internal variants, too.
TEST(PathTest, EachPathIsTakenAndGivesTheSame) {
  ruy::Context context;
  const ruy::Path enabled = context.get_runtime_enabled_paths();
  Product product;
  product.Run(&context);
  EXPECT_EQ(context.last_used_path(), BestPath(enabled));
  const std::vector<std::int32_t> expected = product.dst_data;
  for (int bit = 0; bit < 8; ++bit) {
    const auto path = static_cast<ruy::Path>(1 << bit);
    if (Disjoint(path, enabled)) continue;
    ruy::get_ctx(&context)->SetRuntimeEnabledPaths(path);
    EXPECT_EQ(context.get_runtime_enabled_paths(),
              path | ruy::Path::kStandardCpp);
    product.dst_data.assign(expected.size(), 0);
    product.Run<ruy::kAllPathsIncludingInternalVariants>(&context);
    EXPECT_EQ(product.dst_data, expected);
    EXPECT_EQ(context.last_used_path(), path);
  }
  context.set_runtime_enabled_paths(ruy::Path::kNone);
  EXPECT_EQ(context.get_runtime_enabled_paths(), enabled);
  product.Run(&context);
  EXPECT_EQ(context.last_used_path(), BestPath(enabled));
}

// ruy_like has doubles on its portable path alone; of ruy's paths, ruy tells
// the one that was selected.
TEST(PathTest, LastUsedPathDoesNotDependOnTypes) {
  const double data[] = {2};
  double result = 0;
  const auto operand = View(data, 1, 1, ruy::Order::kColMajor);
  auto dst = View(&result, 1, 1, ruy::Order::kColMajor);
  ruy::Context context;
  ruy::Mul(operand, operand, ruy::MulParams<double, double>(), &context, &dst);
  EXPECT_EQ(result, 4);
  EXPECT_EQ(context.last_used_path(),
            BestPath(context.get_runtime_enabled_paths()));
}

TEST(PathTest, MulOfPathsTakesOneOfThem) {
  ruy::Context context;
  const ruy::Path enabled = context.get_runtime_enabled_paths();
  const ruy::Path best = BestPath(enabled);
  Product product;
  product.Run<ruy::kAllPaths>(&context);
  EXPECT_EQ(context.last_used_path(), best);
  product.Run<ruy::Path::kStandardCpp>(&context);
  EXPECT_EQ(context.last_used_path(), ruy::Path::kStandardCpp);
  // That was for the one product.
  product.Run(&context);
  EXPECT_EQ(context.last_used_path(), best);
#if RUY_PLATFORM_X86
  product.Run<ruy::Path::kStandardCpp | ruy::Path::kAvx2Fma>(&context);
  EXPECT_EQ(context.last_used_path(), Disjoint(enabled, ruy::Path::kAvx2Fma)
                                          ? ruy::Path::kStandardCpp
                                          : ruy::Path::kAvx2Fma);
  product.Run<ruy::Path::kStandardCpp | ruy::Path::kAvx>(&context);
  EXPECT_EQ(context.last_used_path(), Disjoint(enabled, ruy::Path::kAvx)
                                          ? ruy::Path::kStandardCpp
                                          : ruy::Path::kAvx);
#elif RUY_PLATFORM_NEON_64
  product.Run<ruy::Path::kStandardCpp | ruy::Path::kNeon>(&context);
  EXPECT_EQ(context.last_used_path(), ruy::Path::kNeon);
#endif
}

class RuyPathsTest : public testing::Test {
 protected:
  void TearDown() override { unsetenv("RUY_PATHS"); }

  static ruy::Path PathsWith(const char* value) {
    setenv("RUY_PATHS", value, 1);
    ruy::Context context;
    return context.get_runtime_enabled_paths();
  }
};

TEST_F(RuyPathsTest, NarrowsTheDefault) {
  const ruy::Path detected = ruy::Context().get_runtime_enabled_paths();
  EXPECT_EQ(PathsWith("1"), ruy::Path::kStandardCpp);
  EXPECT_EQ(PathsWith("0x1"), ruy::Path::kStandardCpp);
  EXPECT_EQ(PathsWith("21"), (static_cast<ruy::Path>(0x21) & detected));
  EXPECT_EQ(PathsWith("ff"), detected);
  EXPECT_EQ(PathsWith("2"), ruy::Path::kInternalStandardCppVariant1);
  EXPECT_EQ(PathsWith("0"), detected);
  EXPECT_EQ(PathsWith(""), detected);
}

TEST_F(RuyPathsTest, HoldsForMul) {
  setenv("RUY_PATHS", "1", 1);
  ruy::Context context;
  Product product;
  product.Run(&context);
  EXPECT_EQ(context.last_used_path(), ruy::Path::kStandardCpp);
  // What is set explicitly goes before it, until it is taken back.
  context.set_runtime_enabled_paths(ruy::kAllPaths);
  const ruy::Path all = context.get_runtime_enabled_paths();
  product.Run(&context);
  EXPECT_EQ(context.last_used_path(), BestPath(all));
  context.set_runtime_enabled_paths(ruy::Path::kNone);
  EXPECT_EQ(context.get_runtime_enabled_paths(), ruy::Path::kStandardCpp);
}

TEST_F(RuyPathsTest, BadValueWarnsAndIsPassedOver) {
  const ruy::Path detected = ruy::Context().get_runtime_enabled_paths();
  for (const char* value : {"avx2", "0x21,", "100"}) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(PathsWith(value), detected);
    const std::string text = testing::internal::GetCapturedStderr();
    EXPECT_NE(text.find("RUY_PATHS: '" + std::string(value) + "'"),
              std::string::npos)
        << text;
  }
}

}  // namespace
