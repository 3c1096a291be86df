// Tests the small headers: platform, path, denormal, profiler, check macros,
// wait, aligned memory, tuning.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "ruy/check_macros.h"
#include "ruy/cpuinfo.h"
#include "ruy/denormal.h"
#include "ruy/path.h"
#include "ruy/performance_advisory.h"
#include "ruy/profiler/instrumentation.h"
#include "ruy/profiler/profiler.h"
#include "ruy/system_aligned_alloc.h"
#include "ruy/time.h"
#include "ruy/tune.h"
#include "ruy/wait.h"

namespace {

// Arrives through path.h; defined for every platform, so that -Wundef is
// content.
#if RUY_PLATFORM_X86 + RUY_PLATFORM_ARM_32 + RUY_PLATFORM_ARM_64 + \
        RUY_PLATFORM_PPC >                                         \
    1
#error "processors exclude each other"
#endif
#if RUY_PLATFORM_NEON_64 && !RUY_PLATFORM_ARM
#error "NEON is Arm's"
#endif
#if RUY_PLATFORM_AVX512 && !RUY_PLATFORM_AVX2_FMA
#error "AVX-512 includes AVX2"
#endif

TEST(PlatformTest, IsThatOfTheCompiler) {
#ifdef __x86_64__
  EXPECT_EQ(RUY_PLATFORM_X86, 1);
#else
  EXPECT_EQ(RUY_PLATFORM_X86, 0);
#endif
#ifdef __AVX2__
  EXPECT_EQ(RUY_PLATFORM_AVX, 1);
#endif
  EXPECT_EQ(RUY_PLATFORM_APPLE + RUY_PLATFORM_FUCHSIA + RUY_PLATFORM_EMSCRIPTEN,
            0);
}

TEST(PathTest, IsASetOfBits) {
  using ruy::Path;
  EXPECT_EQ(static_cast<int>(Path::kStandardCpp), 1);
#if RUY_PLATFORM_X86
  EXPECT_EQ(static_cast<int>(Path::kAvx2Fma), 0x20);
  EXPECT_EQ(static_cast<int>(Path::kAvx512), 0x40);
  static_assert((ruy::kDefaultPaths & Path::kAvx512) == Path::kAvx512, "");
#endif
  static_assert(Disjoint(ruy::kDefaultArchPaths, ruy::kNonArchPaths), "");
  static_assert(
      (ruy::kAllPaths & ~ruy::kDefaultArchPaths) == Path::kStandardCpp, "");
  EXPECT_EQ((Path::kStandardCpp ^ ruy::kAllPaths) | Path::kStandardCpp,
            ruy::kAllPaths);
  EXPECT_EQ(GetMostSignificantPath(Path::kNone), Path::kNone);
  EXPECT_EQ(GetMostSignificantPath(Path::kStandardCpp), Path::kStandardCpp);
  EXPECT_EQ(static_cast<int>(GetMostSignificantPath(static_cast<Path>(0x61))),
            0x40);
}

TEST(DenormalTest, ScopeSuppressesAndRestores) {
  volatile float smallest = std::numeric_limits<float>::min();
  EXPECT_NE(smallest / 2, 0.0f);
  {
    ruy::ScopedSuppressDenormals suppress_denormals;
#if defined(__SSE2__) || defined(__aarch64__)
    EXPECT_EQ(smallest / 2, 0.0f);
#endif
  }
  EXPECT_NE(smallest / 2, 0.0f);
}

TEST(ProfilerTest, LabelsNestAndTakeFormats) {
  auto profile = std::make_unique<ruy::profiler::ScopeProfile>();
  ruy::profiler::ScopeProfile disabled(false);
  const int rows = 3;
  ruy::profiler::ScopeLabel outer("Mul");
  {
    ruy::profiler::ScopeLabel inner("matmul shape: %dx%dx%d", rows, 4, 5);
    ruy::profiler::ScopeLabel text("%s in %.1f ms", std::string("a").c_str(),
                                   0.5f);
  }
  profile.reset();
}

enum class Color : std::uint8_t { kRed, kGreen };
struct Opaque {
  bool operator==(const Opaque&) const { return false; }
};

TEST(CheckMacrosTest, PassingChecksDoNothing) {
  int evaluations = 0;
  RUY_CHECK(true);
  RUY_CHECK_EQ(++evaluations, 1);
  RUY_CHECK_NE(1, 2);
  RUY_CHECK_LT(1, 2);
  RUY_CHECK_LE(2, 2);
  RUY_CHECK_GT(2, 1);
  RUY_CHECK_GE(2, 2);
  RUY_CHECK_EQ(Color::kRed, Color::kRed);
  const char* null = nullptr;
  RUY_CHECK_EQ(null, nullptr);
  // Different signs, compared as C++ does: the test is built with
  // -Wsign-compare and -Werror.
  const std::vector<int> three = {1, 2, 3};
  RUY_CHECK_EQ(three.size(), 3);
  RUY_CHECK_LT(2, three.size());
  const int minus_one = -1;
  RUY_CHECK_GT(minus_one, three.size());
  RUY_CHECK_EQ(std::uint8_t{200}, 200);
  RUY_CHECK_LT(std::int8_t{-1}, 1.5f);
  RUY_CHECK_EQ(three.empty(), false);
  // An else that must be the caller's.
  if (evaluations == 0)
    RUY_CHECK(true);
  else
    ++evaluations;
  EXPECT_EQ(evaluations, 2);
}

TEST(CheckMacrosTest, DchecksAreForDebugBuilds) {
  int evaluations = 0;
  RUY_DCHECK(++evaluations > 0);
  RUY_DCHECK_EQ(1, 1);
  RUY_DCHECK_NE(1, 2);
  RUY_DCHECK_LT(1, 2);
  RUY_DCHECK_LE(1, 1);
  RUY_DCHECK_GT(2, 1);
  RUY_DCHECK_GE(1, 1);
  EXPECT_EQ(evaluations, RUY_DCHECK_IS_ENABLED ? 1 : 0);
}

TEST(CheckMacrosDeathTest, FailingChecksTellAndAbort) {
  const int one = 1;
  EXPECT_DEATH(RUY_CHECK(one == 2),
               "utilities_test.cc:.+: RUY_CHECK\\(one == 2\\) failed");
  EXPECT_DEATH(RUY_CHECK_GE(one, 2),
               "RUY_CHECK_GE\\(one >= 2\\) failed: 1 vs\\. 2");
  EXPECT_DEATH(RUY_CHECK_LT(1.5f, std::int8_t{-3}), "1\\.5 vs\\. -3");
  EXPECT_DEATH(RUY_CHECK_EQ(Color::kRed, Color::kGreen),
               "enumerator 0 vs\\. enumerator 1");
  EXPECT_DEATH(RUY_CHECK_EQ(Opaque(), Opaque()), "\\(\\?\\) vs\\. \\(\\?\\)");
  EXPECT_DEATH(RUY_CHECK_EQ(&one, nullptr), "0x.+ vs\\. nullptr");
}

TEST(WaitTest, ReturnsWhenTheConditionHolds) {
  std::mutex mutex;
  std::condition_variable condvar;
  ruy::Wait([] { return true; }, &condvar, &mutex);
  for (ruy::Duration spin :
       {ruy::DurationFromNanoseconds(0), ruy::DurationFromMilliseconds(1),
        ruy::DurationFromSeconds(1)}) {
    std::atomic<bool> done{false};
    std::thread thread([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      std::lock_guard<std::mutex> lock(mutex);
      done = true;
      condvar.notify_all();
    });
    ruy::Wait([&] { return done.load(); }, spin, &condvar, &mutex);
    EXPECT_TRUE(done);
    thread.join();
  }
}

TEST(SystemAlignedAllocTest, IsAlignedAndWritable) {
  for (int bytes : {1, 63, 64, 1000}) {
    char* const memory =
        static_cast<char*>(ruy::detail::SystemAlignedAlloc(bytes));
    ASSERT_NE(memory, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) %
                  ruy::detail::kMinimumBlockAlignment,
              0u);
    memory[bytes - 1] = 1;
    ruy::detail::SystemAlignedFree(memory);
  }
  ruy::detail::SystemAlignedFree(nullptr);
}

TEST(CpuInfoTest, IsThatOfTheProcessor) {
  ruy::CpuInfo cpuinfo;
#if RUY_PLATFORM_X86
  EXPECT_EQ(cpuinfo.Sse42(), __builtin_cpu_supports("sse4.2") != 0);
  // In spite of its name: ruy asks for this one.
  EXPECT_EQ(cpuinfo.AvxVnni(), __builtin_cpu_supports("avx512vnni") != 0);
  EXPECT_EQ(cpuinfo.Avx(), __builtin_cpu_supports("avx") != 0);
  EXPECT_EQ(cpuinfo.Avx2Fma(), __builtin_cpu_supports("avx2") != 0 &&
                                   __builtin_cpu_supports("fma") != 0);
  EXPECT_EQ(cpuinfo.Avx512(), __builtin_cpu_supports("avx512f") != 0 &&
                                  __builtin_cpu_supports("avx512bw") != 0 &&
                                  __builtin_cpu_supports("avx512cd") != 0 &&
                                  __builtin_cpu_supports("avx512dq") != 0 &&
                                  __builtin_cpu_supports("avx512vl") != 0);
  EXPECT_FALSE(cpuinfo.NeonDotprod());
  EXPECT_FALSE(cpuinfo.CurrentCpuIsA55ish());
  EXPECT_FALSE(cpuinfo.CurrentCpuIsX1());
#else
  EXPECT_FALSE(cpuinfo.Sse42());
  EXPECT_FALSE(cpuinfo.AvxVnni());
  EXPECT_FALSE(cpuinfo.CurrentCpuIsA55ish() && cpuinfo.CurrentCpuIsX1());
#endif
  const ruy::CpuCacheParams& caches = cpuinfo.CacheParams();
  EXPECT_GE(caches.local_cache_size, 4 << 10);
  EXPECT_GE(caches.last_level_cache_size, caches.local_cache_size);
}

TEST(TuneTest, OldAndNewNames) {
  EXPECT_EQ(ruy::Tuning::kOutOfOrder, ruy::Tuning::kGeneric);
  EXPECT_NE(ruy::Tuning::kX1, ruy::Tuning::kAuto);
}

TEST(TuneTest, ResolverSaysWhatWasSetOrTheProcessors) {
  ruy::CpuInfo cpuinfo;
  ruy::TuningResolver resolver;
  ruy::Tuning of_processor = ruy::Tuning::kGeneric;
  if (cpuinfo.CurrentCpuIsA55ish()) of_processor = ruy::Tuning::kA55ish;
  if (cpuinfo.CurrentCpuIsX1()) of_processor = ruy::Tuning::kX1;
  EXPECT_EQ(resolver.Resolve(&cpuinfo), of_processor);
  for (auto tuning :
       {ruy::Tuning::kA55ish, ruy::Tuning::kX1, ruy::Tuning::kGeneric}) {
    resolver.SetTuning(tuning);
    EXPECT_EQ(resolver.Resolve(&cpuinfo), tuning);
  }
  resolver.SetTuning(ruy::Tuning::kAuto);
  EXPECT_EQ(resolver.Resolve(&cpuinfo), of_processor);
}

TEST(TimeTest, CoarseNowIsTheSameClockUpToItsTick) {
  const ruy::TimePoint before = ruy::Now();
  const ruy::TimePoint coarse = ruy::CoarseNow();
  const ruy::TimePoint after = ruy::Now();
  EXPECT_LE(coarse, after);
  EXPECT_GT(coarse, before - ruy::DurationFromMilliseconds(100));
}

TEST(PerformanceAdvisoryTest, IsASetOfBits) {
  using ruy::PerformanceAdvisory;
  EXPECT_EQ(PerformanceAdvisory::kNone |
                PerformanceAdvisory::kReallocatedPerChannelBuffer,
            PerformanceAdvisory::kReallocatedPerChannelBuffer);
  EXPECT_EQ(PerformanceAdvisory::kNone &
                PerformanceAdvisory::kReallocatedPerChannelBuffer,
            PerformanceAdvisory::kNone);
}

}  // namespace
