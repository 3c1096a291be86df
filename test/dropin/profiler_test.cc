// Tests ScopeLabel and ScopeProfile as programs use them that define
// RUY_PROFILER: the tree of each thread, over ruy_like's spans.
#define RUY_PROFILER

#include "ruy/profiler/profiler.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "ruy/context_get_ctx.h"
#include "ruy/ctx.h"
#include "ruy/profiler/instrumentation.h"
#include "ruy/ruy.h"

namespace {

using ruy::profiler::ScopeLabel;
using ruy::profiler::ScopeProfile;

struct Line {
  double percent, ms;
  int depth;
  std::string label;
};

// The lines of each thread.
std::vector<std::vector<Line>> Parse(const std::string& text) {
  std::vector<std::vector<Line>> threads;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    double percent, ms;
    int length = 0;
    if (line.rfind("Profile of thread", 0) == 0) {
      threads.emplace_back();
    } else if (std::sscanf(line.c_str(), "%lf%% %lf ms%n", &percent, &ms,
                           &length) == 2) {
      const std::size_t label = line.find_first_not_of(' ', length);
      threads.back().push_back({percent, ms,
                                static_cast<int>(label - length) / 2 - 1,
                                line.substr(label)});
    } else {
      ADD_FAILURE() << line;
    }
  }
  return threads;
}

void Wait(int ms) {
  std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

template <typename Function>
std::string Printed(const Function& function) {
  testing::internal::CaptureStdout();
  function();
  std::fflush(stdout);
  return testing::internal::GetCapturedStdout();
}

TEST(ProfilerTest, PrintsATree) {
  const auto threads = Parse(Printed([] {
    ScopeLabel before("begun before the profile");
    ScopeProfile profile;
    for (int i = 0; i < 3; ++i) {
      ScopeLabel outer("layer %d of %s", 7, "net");
      Wait(2);
      ScopeLabel inner("inner");
      Wait(4);
    }
    ScopeLabel other("other");
    Wait(1);
  }));
  ASSERT_EQ(threads.size(), 1);
  ASSERT_EQ(threads[0].size(), 4);
  const char* const labels[] = {"layer 7 of net (3)", "inner (3)", "[other]",
                                "other (1)"};
  const int depths[] = {0, 1, 1, 0};
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(threads[0][i].label, labels[i]);
    EXPECT_EQ(threads[0][i].depth, depths[i]);
  }
  const auto& lines = threads[0];
  EXPECT_GE(lines[0].ms, 18);
  EXPECT_GE(lines[1].ms, 12);
  EXPECT_NEAR(lines[0].ms, lines[1].ms + lines[2].ms, 0.01);
  EXPECT_NEAR(lines[0].percent + lines[3].percent, 100, 0.02);
  EXPECT_NEAR(lines[1].percent / lines[0].percent, lines[1].ms / lines[0].ms,
              0.01);
}

TEST(ProfilerTest, HasTheSpansOfProductsOnEachThread) {
  const std::vector<float> data(300 * 300, 1.0f);
  std::vector<float> result(300 * 300);
  ruy::Matrix<float> lhs, rhs, dst;
  ruy::MakeSimpleLayout(300, 300, ruy::Order::kRowMajor, lhs.mutable_layout());
  ruy::MakeSimpleLayout(300, 300, ruy::Order::kColMajor, rhs.mutable_layout());
  ruy::MakeSimpleLayout(300, 300, ruy::Order::kColMajor, dst.mutable_layout());
  lhs.set_data(data.data());
  rhs.set_data(data.data());
  dst.set_data(result.data());
  ruy::Context context;
  context.set_max_num_threads(2);
  context.set_num_threads_strategy(
      ruy::NumThreadsStrategy::kForceMaxNumThreads);
  const auto multiply = [&] {
    ruy::Mul(lhs, rhs, ruy::MulParams<float, float>(), &context, &dst);
  };
  const std::string text = Printed([&] {
    ScopeProfile profile;
    ScopeLabel label("all");
    for (int i = 0; i < 20; ++i) multiply();
  });
  const std::string kernel =
      ruy::get_ctx(&context)->ruy_like_context()->last_used_kernel();
  const auto threads = Parse(text);
  ASSERT_GE(threads.size(), 1);
  // Below the label are the products.
  std::vector<std::string> above;
  bool has_kernel = false;
  for (const Line& line : threads[0]) {
    above.resize(line.depth);
    has_kernel |= line.label.rfind(kernel, 0) == 0 && above.size() == 2 &&
                  above[1] == "Mul (20)";
    above.push_back(line.label);
  }
  EXPECT_TRUE(has_kernel) << text;
  // Workers have kernels and no products. (They may have had no time.)
  for (std::size_t i = 1; i < threads.size(); ++i) {
    EXPECT_EQ(threads[i][0].depth, 0);
    EXPECT_EQ(text.find("Mul (20)"), text.rfind("Mul (20)"));
  }
}

TEST(ProfilerTest, OffIsOff) {
  const char* const no_text = nullptr;
  EXPECT_EQ(Printed([no_text] {
              ScopeProfile profile(false);
              ScopeLabel label("%s", no_text);  // not formatted
            }),
            "");
}

// A label that a thread opens in one profile and closes in the next.
TEST(ProfilerTest, LabelsMayOutliveTheirProfile) {
  std::optional<ScopeProfile> profile;
  const std::string text = Printed([&] {
    profile.emplace();
    auto label = std::make_unique<ScopeLabel>("first");
    profile.reset();
    profile.emplace();
    { ScopeLabel inner("second"); }
    label.reset();
    { ScopeLabel inner("third"); }
    profile.reset();
  });
  const auto threads = Parse(text);
  ASSERT_EQ(threads.size(), 2) << text;
  ASSERT_EQ(threads[1].size(), 2) << text;
  EXPECT_EQ(threads[1][0].label, "second (1)");
  EXPECT_EQ(threads[1][1].label, "third (1)");
}

}  // namespace
