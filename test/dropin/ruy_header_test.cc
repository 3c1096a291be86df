// What users of ruy find after including ruy/ruy.h and nothing else of it: they
// were never made to name the headers that it includes.
#include <gtest/gtest.h>

#include "ruy/ruy.h"

namespace {

TEST(RuyHeaderTest, BringsTheTimeTypes) {
  const ruy::Duration duration = ruy::DurationFromMilliseconds(1.5);
  EXPECT_EQ(ruy::ToInt64Nanoseconds(duration), 1500000);
  const ruy::TimePoint start = ruy::Now();
  EXPECT_GE(ruy::Now() - start, ruy::Duration::zero());
}

TEST(RuyHeaderTest, BringsCpuInfo) {
  ruy::CpuInfo cpuinfo;
  EXPECT_GT(cpuinfo.CacheParams().local_cache_size, 0);
}

TEST(RuyHeaderTest, BringsChecksPathsTuningAndLabels) {
  ruy::profiler::ScopeLabel label("RuyHeaderTest");
  RUY_CHECK_EQ(ruy::Path::kNone & ruy::Path::kStandardCpp, ruy::Path::kNone);
  EXPECT_NE(ruy::Tuning::kAuto, ruy::Tuning::kInOrder);
}

TEST(RuyHeaderTest, BringsThreadPools) {
  struct CountTask final : ruy::Task {
    void Run() override { ++count; }
    int count = 0;
  };
  ruy::Context context;
  CountTask tasks[2];
  context.mutable_thread_pool()->Execute(2, tasks);
  EXPECT_EQ(tasks[0].count + tasks[1].count, 2);
}

}  // namespace
