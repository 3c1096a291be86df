// Tests ruy_like/diagnostics/trace.h from outside: the file that a program
// leaves.
#include "ruy_like/diagnostics/trace.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "test/support/json.h"
#include "test/support/sanitizers.h"
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

// The first product alone has two threads.
TEST(TraceTest, TheCallerWaitsForTheOthers) {
  const Traced traced("");
  const std::vector<Json> products = traced.Spans("mul");
  int waits = 0;
  for (const Json& span : traced.Spans("wait")) {
    if (span["name"].string != "wait for threads") continue;
    ++waits;
    EXPECT_EQ(span["args"]["threads"].number, 1);
    EXPECT_EQ(span["tid"].number, products[0]["tid"].number);
    EXPECT_GE(span["ts"].number, products[0]["ts"].number);
    EXPECT_LE(span["ts"].number + span["dur"].number,
              products[0]["ts"].number + products[0]["dur"].number + 0.002);
  }
  EXPECT_EQ(waits, 1);
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

// Quantized activations are packed by the threads together, each column once.
TEST(TraceTest, ProductsWithGroupScales) {
  const Traced traced("--groups");
  const std::vector<Json> products = traced.Spans("mul");
  ASSERT_EQ(products.size(), 4u + 2);
  EXPECT_EQ(products[4]["args"]["rows"].number, 300);
  EXPECT_EQ(products[5]["args"]["rows"].number, 200);
  EXPECT_EQ(Area(traced.Spans("kernel")), Area(products) + 48 * 5);
  double columns = 0;
  for (const Json& span : traced.Spans("pack")) {
    if (span["name"].string != "pack rhs" ||
        span["ts"].number < products[4]["ts"].number) {
      continue;
    }
    columns += span["args"]["end"].number - span["args"]["start"].number;
  }
  EXPECT_EQ(columns, 1 + 200);
}

// A MulBatch is one span, also where its blocks are dealt out like a group's;
// so is a MulGroup. The numbers are the first product's. A MulPlan has none.
TEST(TraceTest, ABatchIsOneSpan) {
  const Traced plain(""), traced("--batches");
  const std::vector<Json> products = traced.Spans("mul");
  ASSERT_EQ(products.size(), 4u + 3);
  const struct {
    const char* name;
    double rows, depth, cols;
  } expected[] = {{"MulBatch", 24, 24, 24},
                  {"MulBatch", 80, 80, 80},
                  {"MulGroup", 10, 80, 30}};
  for (int i = 0; i < 3; ++i) {
    const Json& span = products[4 + i];
    EXPECT_EQ(span["name"].string, expected[i].name);
    EXPECT_EQ(span["args"]["rows"].number, expected[i].rows);
    EXPECT_EQ(span["args"]["depth"].number, expected[i].depth);
    EXPECT_EQ(span["args"]["cols"].number, expected[i].cols);
  }
  // Each element of each product's dst is one kernel call's.
  EXPECT_EQ(Area(traced.Spans("kernel")) - Area(plain.Spans("kernel")),
            (5 + 2) * 24 * 24 + 3 * 80 * 80 + (10 + 60) * 30);
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

// A name in a folder of its own, which goes with its files.
class TraceFileTest : public testing::Test {
 protected:
  // mkdtemp() replaces the six letters.
  TraceFileTest()
      : folder_(testing::TempDir() + "ruy_like_" + std::string(6, 'X')) {
    EXPECT_NE(mkdtemp(&folder_[0]), nullptr);
  }
  ~TraceFileTest() override {
    EXPECT_EQ(std::system(("rm -r " + folder_).c_str()), 0);
  }
  std::string Path(const std::string& name) const {
    return folder_ + "/" + name;
  }
  // Ten seconds are for what blocks.
  ProgramResult Run(const std::string& file, const std::string& arguments = "",
                    const std::string& before = "") {
    return RunProgram("{ " + before + " RUY_LIKE_TRACE=" + file +
                      " timeout 10 " OBSERVED_PROGRAM " " + arguments + "; }");
  }
  // The same, which is told once that the file cannot be written.
  void ExpectCannotWrite(const std::string& file, int error,
                         const std::string& arguments = "",
                         const std::string& before = "") {
    const ProgramResult result = Run(file, arguments, before);
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.err, "ruy_like: RUY_LIKE_TRACE: cannot write '" + file +
                              "': " + std::strerror(error) + "\n");
  }

 private:
  std::string folder_;
};

// When two run at the same time, the first one has the name and the other one
// adds its number.
TEST_F(TraceFileTest, ProcessesDoNotShareAFile) {
  const std::string file = Path("trace.json");
  const ProgramResult result = RunProgram(
      "{ cd " + Path("") +
      " && export RUY_LIKE_TRACE=trace.json && mkfifo hold && {"
      " " OBSERVED_PROGRAM
      " --many --hold < hold > /dev/null & } &&"
      " exec 3> hold && until [ -s trace.json ]; do sleep 0.01; done &&"
      " " OBSERVED_PROGRAM
      " --many > /dev/null &&"
      " " OBSERVED_PROGRAM
      " > /dev/null &&"
      " exec 3>&- && wait && rm hold && ls; }");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "");
  std::istringstream names(result.out);
  std::multiset<std::size_t> products;
  std::set<double> processes;
  for (std::string name; names >> name;) {
    SCOPED_TRACE(name);
    Json json;
    const std::string text = ReadFile(Path(name));
    ASSERT_TRUE(JsonReader(text).Read(&json)) << text.substr(0, 1000);
    ASSERT_FALSE(json.array.empty());
    const double process = json.array[0]["pid"].number;
    EXPECT_TRUE(processes.insert(process).second);
    if (name != "trace.json") {
      EXPECT_EQ(name,
                "trace.json." + std::to_string(static_cast<long>(process)));
    }
    std::size_t count = 0;
    for (const Json& event : json.array) {
      EXPECT_EQ(event["pid"].number, process);
      count += event["cat"].string == "mul";
    }
    products.insert(count);
  }
  EXPECT_EQ(products, (std::multiset<std::size_t>{4, 1504, 1504}));
  // One after the other, the last one has it.
  ASSERT_EQ(Run(file).exit_code, 0);
  Json json;
  ASSERT_TRUE(JsonReader(ReadFile(file)).Read(&json));
  EXPECT_EQ(processes.count(json.array[0]["pid"].number), 0u);
}

TEST_F(TraceFileTest, AFileThatCannotBeWrittenIsToldOf) {
  ExpectCannotWrite("/nowhere/trace.json", ENOENT);
}

// Once, however much is lost.
TEST_F(TraceFileTest, AFullDiskIsToldOf) {
  if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full";
  ExpectCannotWrite("/dev/full", ENOSPC, "--many");
}

TEST_F(TraceFileTest, LinksAreNotFollowed) {
  std::ofstream(Path("precious")) << "precious";
  ASSERT_EQ(symlink(Path("precious").c_str(), Path("link").c_str()), 0);
  ExpectCannotWrite(Path("link"), ELOOP);
  EXPECT_EQ(ReadFile(Path("precious")), "precious");
}

TEST_F(TraceFileTest, APipeNobodyReadsDoesNotBlock) {
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  ExpectCannotWrite(Path("pipe"), ENXIO);
}

// Its reader might stop to read, or close it, which would end the program.
TEST_F(TraceFileTest, APipeIsRefused) {
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  ExpectCannotWrite(Path("pipe"), ENOTSUP, "--many",
                    "exec 3<>" + Path("pipe") + ";");
}

TEST_F(TraceFileTest, ProgramsThatAreExecutedDoNotGetIt) {
  const ProgramResult result = Run(Path("trace.json"), "--many --descriptors");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, testing::HasSubstr("descriptors"));
  EXPECT_THAT(result.out, testing::Not(testing::HasSubstr("trace.json")));
  EXPECT_NE(ReadFile(Path("trace.json")), "");
}

// Nor does it obey RUY_LIKE_VERBOSE, or any other variable.
TEST_F(TraceFileTest, PrivilegedProgramsIgnoreTheEnvironment) {
#if defined(__linux__)
  if (kSanitized) {
    GTEST_SKIP() << "the sanitizers' runtimes refuse to run privileged";
  }
  if (geteuid() != 0) GTEST_SKIP() << "only root can set up such a program";
  const std::string program = Path("program");
  ASSERT_EQ(std::system(("cp " OBSERVED_PROGRAM " " + program +
                         " && chmod 755 " + Path("") + " && chown 65534 " +
                         Path("") + " " + program + " && chmod u+s " + program)
                            .c_str()),
            0);
  const ProgramResult result =
      RunProgram("RUY_LIKE_VERBOSE=1 RUY_LIKE_TRACE=" + Path("trace.json") +
                 " " + program + " --privileged");
  if (result.exit_code == 77) GTEST_SKIP() << "no set-user-ID programs here";
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_NE(access(Path("trace.json").c_str(), F_OK), 0);
#else
  GTEST_SKIP() << "for Linux";
#endif
}

TEST(TraceTest, OffByDefault) {
  if (std::getenv("RUY_LIKE_TRACE") != nullptr) GTEST_SKIP();
  EXPECT_FALSE(g_trace_is_on);
}

}  // namespace
}  // namespace ruy_like
