// Tests ruy_like/base/trace.h from outside: the file that a program leaves.
#include "ruy_like/base/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "test/support/json.h"
#include "test/support/subprocess.h"

namespace ruy_like {
namespace {

// Runs observed_program with a trace and reads that.
struct Traced {
  explicit Traced(const std::string& arguments) {
    const std::string file =
        testing::TempDir() + "ruy_like_trace_test_" +
        testing::UnitTest::GetInstance()->current_test_info()->name() + ".json";
    std::remove(file.c_str());
    const ProgramResult result = RunProgram(
        "RUY_LIKE_TRACE=" + file + " " OBSERVED_PROGRAM " " + arguments);
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.err, "");
    text = ReadFile(file);
    EXPECT_TRUE(JsonReader(text).Read(&json)) << text;
    EXPECT_EQ(json.type, Json::kArray);
    std::remove(file.c_str());
  }

  // The spans of a category.
  std::vector<Json> Spans(const std::string& category) const {
    std::vector<Json> spans;
    for (const Json& event : json.array) {
      if (event["cat"].string == category) spans.push_back(event);
    }
    return spans;
  }

  std::string text;
  Json json;
};

double Area(const std::vector<Json>& spans) {
  double area = 0;
  for (const Json& span : spans) {
    area += span["args"]["rows"].number * span["args"]["cols"].number;
  }
  return area;
}

TEST(TraceTest, KernelsCoverTheProducts) {
  const Traced traced("");
  const std::vector<Json> products = traced.Spans("mul");
  ASSERT_EQ(products.size(), 4u);
  EXPECT_EQ(products[0]["args"]["rows"].number, 200);
  EXPECT_EQ(products[0]["args"]["depth"].number, 150);
  EXPECT_EQ(products[0]["args"]["cols"].number, 300);
  EXPECT_EQ(Area(products), 200 * 300 + 2 * 60 * 40 + 48 * 5);
  // Each element of dst is some kernel call's, and of one alone. The last
  // product is a MulPlan's, which has no span as a whole.
  EXPECT_EQ(Area(traced.Spans("kernel")), Area(products) + 48 * 5);
}

TEST(TraceTest, PackingIsThere) {
  const Traced traced("");
  std::map<std::string, double> columns;
  for (const Json& span : traced.Spans("pack")) {
    columns[span["name"].string] +=
        span["args"]["end"].number - span["args"]["start"].number;
  }
  EXPECT_EQ(columns.size(), 2u);
  // The first product packs both its sides, and each of two threads for itself
  // what it shares with the other. Of the second and third, which are
  // alike and swapped, one keeps what the other finds in the cache. Then there
  // is an lhs that is packed for two products, and the rhs of each, unless that
  // is read in place.
  EXPECT_THAT(columns["pack lhs"] - (40 + 40 + 48), testing::AnyOf(200, 400));
  EXPECT_THAT(columns["pack rhs"] - 60,
              testing::AnyOf(300, 600, 300 + 5 + 5, 600 + 5 + 5));
}

TEST(TraceTest, SpansLieInTheirProduct) {
  const Traced traced("");
  const std::vector<Json> products = traced.Spans("mul");
  ASSERT_EQ(products.size(), 4u);
  // After the last one comes the MulPlan.
  const double end_of_products =
      products[3]["ts"].number + products[3]["dur"].number;
  std::vector<Json> parts;
  for (const char* const category : {"kernel", "pack"}) {
    for (const Json& span : traced.Spans(category)) {
      // Packing for PackedMatrix is no product's either.
      const bool is_ahead =
          span["name"].string == "pack lhs" && span["args"]["end"].number == 48;
      if (!is_ahead && span["ts"].number < end_of_products) {
        parts.push_back(span);
      }
    }
  }
  std::set<double> threads;
  for (const Json& part : parts) {
    const double start = part["ts"].number;
    const double end = start + part["dur"].number;
    EXPECT_GE(part["dur"].number, 0);
    threads.insert(part["tid"].number);
    bool found = false;
    for (const Json& product : products) {
      // Times have three decimals.
      found |= start >= product["ts"].number - 0.002 &&
               end <= product["ts"].number + product["dur"].number + 0.002;
    }
    EXPECT_TRUE(found) << start << " to " << end;
  }
  EXPECT_GE(threads.size(), 1u);
  EXPECT_LE(threads.size(), 2u);
}

TEST(TraceTest, EveryThreadHasAName) {
  const Traced traced("");
  std::set<double> named, seen;
  for (const Json& event : traced.json.array) {
    const bool is_name = event["ph"].string == "M";
    (is_name ? named : seen).insert(event["tid"].number);
  }
  EXPECT_EQ(named, seen);
}

// More than a thread keeps in memory.
TEST(TraceTest, ManySpans) {
  const Traced traced("--many");
  EXPECT_EQ(traced.Spans("mul").size(), 1504u);
}

TEST(TraceTest, AForkedChildLeavesTheFileAlone) {
  const Traced traced("--many --fork");
  EXPECT_EQ(traced.Spans("mul").size(), 1504u);
  std::set<double> processes;
  for (const Json& event : traced.json.array) {
    processes.insert(event["pid"].number);
  }
  EXPECT_EQ(processes.size(), 1u);
}

TEST(TraceTest, AFileThatCannotBeWrittenIsToldOf) {
  const ProgramResult result =
      RunProgram("RUY_LIKE_TRACE=/nowhere/trace.json " OBSERVED_PROGRAM);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err,
            "ruy_like: RUY_LIKE_TRACE: cannot write '/nowhere/trace.json'\n");
}

TEST(TraceTest, OffByDefault) {
  if (std::getenv("RUY_LIKE_TRACE") != nullptr) GTEST_SKIP();
  EXPECT_FALSE(g_trace_is_on);
}

}  // namespace
}  // namespace ruy_like
