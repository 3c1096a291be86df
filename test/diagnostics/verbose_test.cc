// Tests ruy_like/diagnostics/verbose.h: the lines, and what a program writes to
// stderr.
#include "ruy_like/diagnostics/verbose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "ruy_like/machine/cpu_features.h"
#include "ruy_like/plan/choose_plan.h"
#include "test/support/on_threads.h"
#include "test/support/subprocess.h"

namespace ruy_like {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  EXPECT_EQ(lines.back(), "") << "the last line has no end";
  lines.pop_back();
  return lines;
}

using Row = std::map<std::string, std::string>;

// The fields of a line by the names of their columns.
Row ReadRow(const std::string& header, const std::string& line) {
  const std::vector<std::string> names = absl::StrSplit(header, ',');
  const std::vector<std::string> fields = absl::StrSplit(line, ',');
  EXPECT_EQ(names.size(), fields.size()) << line;
  Row row;
  for (std::size_t i = 0; i < names.size() && i < fields.size(); ++i) {
    row[names[i]] = fields[i];
  }
  return row;
}

// `expected` is as "lhs=int8 rows=20".
void ExpectFields(const Row& row, absl::string_view expected) {
  for (const absl::string_view field : absl::StrSplit(expected, ' ')) {
    const std::pair<std::string, std::string> pair = absl::StrSplit(field, '=');
    ASSERT_EQ(row.count(pair.first), 1u) << pair.first;
    EXPECT_EQ(row.at(pair.first), pair.second) << pair.first;
  }
}

TEST(VerboseLevelTest, Values) {
  std::string warning;
  EXPECT_EQ(ParseVerboseLevel("", &warning), VerboseLevel::kOff);
  EXPECT_EQ(ParseVerboseLevel("0", &warning), VerboseLevel::kOff);
  EXPECT_EQ(ParseVerboseLevel("1", &warning), VerboseLevel::kCalls);
  EXPECT_EQ(ParseVerboseLevel("dispatch", &warning), VerboseLevel::kDispatch);
  EXPECT_EQ(ParseVerboseLevel("summary", &warning), VerboseLevel::kSummary);
  EXPECT_EQ(warning, "");
  EXPECT_EQ(ParseVerboseLevel("yes", &warning), VerboseLevel::kOff);
  EXPECT_EQ(warning, "'yes' is none of 0, 1, dispatch, summary");
}

// A product of the portable path, 20 x 40 x 30.
struct Example {
  Example() {
    params.side.lhs = {
        nullptr, Scalar::kF32, CachePolicy::kNeverCache, 0, true, 40, 20, 40};
    params.side.rhs = {
        nullptr, Scalar::kF32, CachePolicy::kNeverCache, 0, false, 40, 30, 30};
    params.family = kernels::Family::kF32;
    params.epilogue = {};
    params.epilogue.dst_scalar = Scalar::kF32;
    params.epilogue.dst_row_stride = 1;
    params.epilogue.dst_col_stride = 20;
    plan.choice = SelectKernel(MakeKernelQuery(params), Path::kPortable);
    plan.threads = 3;
    plan.map.row_blocks = 4;
    plan.map.col_blocks = 5;
    plan.padded_depth = 40;
    plan.map.depth_block = 7;
    plan.side.lhs.source = SideSource::kPackedByBlock;
    plan.side.rhs.source = SideSource::kCached;
  }

  // Its line after 12 us, and that line's fields.
  std::string Line() const {
    return CallLine(params, plan, std::chrono::microseconds(12));
  }
  Row CallRow() const {
    return ReadRow(Lines(kVerboseHeader)[0], Lines(Line())[0]);
  }

  TrMulParams params = {};
  Plan plan = {};
};

TEST(CallLineTest, Fields) {
  const Example example;
  ExpectFields(example.CallRow(),
               "ruy_like_mul=ruy_like_mul path=portable "
               "kernel=Portable_F32F32_4x4x1 lhs=float rhs=float dst=float "
               "lhs_order=row rhs_order=row dst_order=col rows=20 depth=40 "
               "cols=30 bias=none multiplier=none beta=0 threads=3 "
               "row_blocks=4 col_blocks=5 depth_blocks=6 lhs_source=packed "
               "rhs_source=cached microseconds=12.000 gops=4.000");
}

TEST(CallLineTest, APromiseThatIsNotKept) {
  Example example;
  example.params.side.rhs.scalar = Scalar::kI8;
  example.params.side.rhs.broke_promise = true;
  ExpectFields(example.CallRow(), "lhs=float rhs=int8:not_int7");
}

TEST(CallLineTest, ScalesAndBeta) {
  Example example;
  const float scale = 2;
  kernels::EpilogueArgs& epilogue = example.params.epilogue;
  epilogue.output = kernels::Output::kScaled;
  kernels::ScaleArgs& scales = example.params.scales;
  epilogue.bias = &scale;
  scales = {&scale, &scale,
            /*lhs_per_row=*/false,
            /*rhs_per_col=*/true,
            /*rhs_first=*/false};
  epilogue.channels_are_rows = true;
  example.params.post_op_needs = kernels::kNeedsTile;
  example.params.post_ops.beta = 0.5;
  ExpectFields(example.CallRow(),
               "bias=per_row multiplier=scales_per_col beta=0.5");
  scales.lhs_per_row = true;
  EXPECT_THAT(example.Line(), HasSubstr(",scales_per_row_and_col,"));
}

// The line speaks of the caller's sides, whichever the kernel's are.
TEST(CallLineTest, SwappedSidesReadTheSame) {
  Example example;
  const std::string line = example.Line();
  SwapSides(&example.params);
  example.plan.choice.swap_sides = true;
  std::swap(example.plan.map.row_blocks, example.plan.map.col_blocks);
  std::swap(example.plan.side.lhs.source, example.plan.side.rhs.source);
  EXPECT_EQ(example.Line(), line);
}

using std::chrono::microseconds;

TEST(CallSummaryTest, AddsUpByShape) {
  CallSummary summary;
  EXPECT_EQ(summary.Lines(), "");
  Example example;
  summary.Add(example.params, example.plan, microseconds(10), microseconds(3));
  summary.Add(example.params, example.plan, microseconds(14), microseconds(0));
  // The same seen by the kernel with its sides swapped.
  SwapSides(&example.params);
  example.plan.choice.swap_sides = true;
  summary.Add(example.params, example.plan, microseconds(24), microseconds(1));
  Example other;
  other.params.side.rhs.width = 31;
  summary.Add(other.params, other.plan, microseconds(1000), microseconds(0));
  const std::vector<std::string> lines = Lines(summary.Lines());
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0] + "\n", kSummaryHeader);
  // The longest time first. 3 * 48000 operations in 48 us.
  ExpectFields(ReadRow(lines[0], lines[1]), "calls=1 cols=31");
  ExpectFields(ReadRow(lines[0], lines[2]),
               "ruy_like_summary=ruy_like_summary calls=3 milliseconds=0.048 "
               "packing_milliseconds=0.004 gops=3.000 path=portable "
               "kernel=Portable_F32F32_4x4x1 lhs=float dst_order=col rows=20 "
               "depth=40 cols=30");
}

TEST(CallSummaryTest, HoldsSoManyShapes) {
  CallSummary summary;
  Example example;
  const int shapes = static_cast<int>(CallSummary::kMaxShapes) + 5;
  for (int repeat = 0; repeat < 2; ++repeat) {
    for (int i = 0; i < shapes; ++i) {
      example.params.side.rhs.width = i + 1;
      summary.Add(example.params, example.plan, microseconds(1),
                  microseconds(0));
    }
  }
  const std::vector<std::string> lines = Lines(summary.Lines());
  ASSERT_EQ(lines.size(), CallSummary::kMaxShapes + 2);
  ExpectFields(ReadRow(lines[0], lines[1]), "calls=2");
  ExpectFields(ReadRow(lines[0], lines.back()), "calls=10 path=others cols=");
}

TEST(CallSummaryTest, FromManyThreads) {
  CallSummary summary;
  OnThreads(4, [&summary](int thread) {
    Example example;
    for (int i = 0; i < 1000; ++i) {
      example.params.side.rhs.width = 1 + (i + thread) % 10;
      summary.Add(example.params, example.plan, microseconds(1),
                  microseconds(0));
    }
  });
  const std::vector<std::string> lines = Lines(summary.Lines());
  ASSERT_EQ(lines.size(), 11u);
  for (int i = 1; i < 11; ++i) {
    ExpectFields(ReadRow(lines[0], lines[i]), "calls=400");
  }
}

TEST(AdviceLinesTest, NamesTheCallersSide) {
  constexpr auto kNone = PerformanceAdvisory::kNone;
  const SidePair<PerformanceAdvisory> advice = {
      PerformanceAdvisory::kRepeatedPacking |
          PerformanceAdvisory::kBrokenPromise,
      PerformanceAdvisory::kStrideOf4KiB};
  const std::vector<std::string> lines = Lines(AdviceLines(advice, false));
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_THAT(lines[0], testing::StartsWith("ruy_like_advice,lhs,\"packed in"));
  EXPECT_THAT(lines[1], testing::StartsWith("ruy_like_advice,lhs,\"promised"));
  EXPECT_THAT(lines[2], testing::StartsWith("ruy_like_advice,rhs,\"its str"));
  EXPECT_THAT(Lines(AdviceLines(advice, true))[2],
              testing::StartsWith("ruy_like_advice,lhs,\"its str"));
  EXPECT_EQ(AdviceLines({kNone, kNone}, false), "");
}

// Runs observed_program with this value of RUY_LIKE_VERBOSE.
ProgramResult Observe(const std::string& verbose,
                      const std::string& arguments = "") {
  ProgramResult result = RunProgram(absl::StrCat(
      "RUY_LIKE_VERBOSE=", verbose, " " OBSERVED_PROGRAM " ", arguments));
  EXPECT_EQ(result.exit_code, 0);
  return result;
}

TEST(VerboseTest, OffByDefault) {
  const ProgramResult result = RunProgram(OBSERVED_PROGRAM);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "");
}

TEST(VerboseTest, ALineForEachProduct) {
  const ProgramResult result = Observe("1");
  const std::vector<std::string> told = Lines(result.out);
  const std::vector<std::string> lines = Lines(result.err);
  ASSERT_EQ(told.size(), 5u);
  ASSERT_EQ(lines.size(), 1 + told.size());
  EXPECT_EQ(lines[0] + "\n", kVerboseHeader);
  std::vector<Row> rows;
  for (std::size_t i = 0; i < told.size(); ++i) {
    rows.push_back(ReadRow(lines[0], lines[i + 1]));
    const Row& row = rows.back();
    // As the Context says.
    EXPECT_EQ(absl::StrCat(row.at("path"), ",", row.at("kernel"), ",",
                           row.at("threads")),
              told[i]);
    EXPECT_GT(std::stod(row.at("microseconds")), 0);
    const double ops = 2 * std::stod(row.at("rows")) *
                       std::stod(row.at("depth")) * std::stod(row.at("cols"));
    EXPECT_NEAR(std::stod(row.at("gops")) * std::stod(row.at("microseconds")),
                ops * 1e-3, ops * 1e-4 + std::stod(row.at("microseconds")));
  }
  ExpectFields(rows[0],
               "lhs=int8 rhs=uint8 dst=int8 lhs_order=row rhs_order=row "
               "dst_order=col rows=200 depth=150 cols=300 lhs_zero_point=1 "
               "rhs_zero_point=128 dst_zero_point=-4 bias=per_col "
               "multiplier=per_col threads=2 depth_blocks=1 lhs_source=packed "
               "rhs_source=packed");
  EXPECT_GE(
      std::stoi(rows[0].at("row_blocks")) * std::stoi(rows[0].at("col_blocks")),
      2);
  // The same product twice; the first keeps the packed lhs.
  for (const int i : {1, 2}) {
    ExpectFields(rows[i],
                 "lhs=float dst_order=row rows=60 depth=50 cols=40 threads=1 "
                 "rhs_source=packed");
    EXPECT_EQ(rows[i].at("lhs_source"), i == 1 ? "packed_and_kept" : "cached");
  }
  // Packed by the caller; by Mul and by a MulPlan.
  for (const int i : {3, 4}) {
    ExpectFields(rows[i],
                 "lhs_order=packed rhs_order=col lhs_source=prepacked rows=48 "
                 "depth=64 cols=5 multiplier=none");
  }
}

// Each product of a MulBatch or MulGroup that is not empty.
TEST(VerboseTest, ALineForEachProductOfABatch) {
  const ProgramResult result = Observe("1", "--batches");
  const std::vector<std::string> calls = Lines(result.out);
  const std::vector<std::string> lines = Lines(result.err);
  ASSERT_EQ(calls.size(), 5u + 4);
  ASSERT_EQ(lines.size(), 1u + 5 + 5 + 3 + 2 + 2) << result.err;
  std::vector<Row> rows;
  for (std::size_t i = 6; i < lines.size(); ++i) {
    rows.push_back(ReadRow(lines[0], lines[i]));
    const Row& row = rows.back();
    // As the Context says of the whole call.
    const int call = rows.size() <= 5    ? 5
                     : rows.size() <= 8  ? 6
                     : rows.size() <= 10 ? 7
                                         : 8;
    EXPECT_EQ(absl::StrCat(row.at("path"), ",", row.at("kernel"), ",",
                           row.at("threads")),
              calls[call]);
    const char* const size = call == 5 || call == 8 ? "24" : "80";
    EXPECT_EQ(row.at("depth"), size);
    EXPECT_EQ(row.at("threads"), call == 5 ? "1" : "2");
    EXPECT_EQ(row.at("cols"), call == 7 ? "30" : size);
    if (call != 7) {
      EXPECT_EQ(row.at("rows"), size);
    }
    EXPECT_GT(std::stod(row.at("microseconds")), 0);
  }
  // Products of one shape have equal shares of the time.
  for (const int i : {1, 2, 3, 4, 6, 7}) {
    EXPECT_EQ(rows[i].at("microseconds"),
              rows[i < 5 ? 0 : 5].at("microseconds"));
  }
  ExpectFields(rows[8], "rows=10");
  ExpectFields(rows[9], "rows=60");
  EXPECT_GT(std::stod(rows[9].at("microseconds")),
            std::stod(rows[8].at("microseconds")));
}

TEST(VerboseTest, ALineForEachProductWithGroupScales) {
  const ProgramResult result = Observe("1", "--groups");
  const std::vector<std::string> calls = Lines(result.out);
  const std::vector<std::string> lines = Lines(result.err);
  ASSERT_EQ(calls.size(), 5u + 2);
  ASSERT_EQ(lines.size(), 1u + 5 + 2) << result.err;
  for (const int i : {5, 6}) {
    const Row row = ReadRow(lines[0], lines[i + 1]);
    EXPECT_EQ(absl::StrCat(row.at("path"), ",", row.at("kernel"), ",",
                           row.at("threads")),
              calls[i]);
    ExpectFields(row, i == 5 ? "lhs=uint4:groups_of_32 rhs=int8 dst=float "
                               "lhs_order=packed rhs_order=col rows=300 "
                               "depth=256 cols=1 multiplier=scales "
                               "lhs_source=prepacked depth_blocks=1"
                             : "lhs=float rhs=int8:groups_of_256 lhs_order=row "
                               "rhs_order=packed rows=200 depth=256 cols=300 "
                               "multiplier=scales_per_row threads=2 "
                               "lhs_source=packed rhs_source=prepacked");
  }
}

// The kernels of the same bits that were passed over.
TEST(VerboseTest, DispatchOfProductsWithGroupScales) {
  const ProgramResult result =
      Observe("dispatch RUY_LIKE_PATHS=portable", "--groups");
  EXPECT_EQ(result.exit_code, 0);
  // 8 bits by any columns, 4 bits by one: the first of their kind. Few columns
  // are the only limit, which is tested where it is not kept.
  EXPECT_THAT(result.err, HasSubstr("portable,Portable_G4S8_16x2x8,uint4"));
  EXPECT_THAT(result.err, HasSubstr("portable,Portable_G8S8_16x2x8,float"));
}

TEST(VerboseTest, ASummaryOfBatches) {
  const ProgramResult result = Observe("summary", "--batches");
  const std::vector<std::string> lines = Lines(result.err);
  std::map<std::string, std::string> calls;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const Row row = ReadRow(lines[0], lines[i]);
    calls[absl::StrCat(row.at("rows"), "x", row.at("depth"), "x",
                       row.at("cols"))] = row.at("calls");
  }
  EXPECT_EQ(calls["24x24x24"], "7");
  EXPECT_EQ(calls["80x80x80"], "3");
  EXPECT_EQ(calls["10x80x30"], "1");
  EXPECT_EQ(calls["60x80x30"], "1");
  EXPECT_EQ(calls.count("0x80x30"), 0u);
}

TEST(VerboseTest, DispatchTellsOfBetterPaths) {
  const ProgramResult result = Observe("dispatch RUY_LIKE_PATHS=portable");
  const std::vector<std::string> lines = Lines(result.err);
  // For each product a line for each path of this architecture but the portable
  // one.
  const std::size_t better =
      PathsBestFirst(PathsOfThisArchitecture()).size() - 1;
  ASSERT_EQ(lines.size(), 1 + 5 * (better + 1));
  std::map<std::string, int> paths;
  for (std::size_t i = 1; i <= better; ++i) {
    const std::vector<std::string> fields =
        absl::StrSplit(lines[i], absl::MaxSplits(',', 3));
    ASSERT_EQ(fields.size(), 4u) << lines[i];
    EXPECT_EQ(fields[0], "ruy_like_not_taken");
    EXPECT_EQ(fields[2], "");
    const Path path = ParsePaths(fields[1]).value();
    const bool is_there =
        (DetectedPaths() & path & ~Path::kPortable) != Path::kNone;
    EXPECT_THAT(fields[3],
                is_there ? testing::StrEq("\"RUY_LIKE_PATHS leaves it out\"")
                         : testing::StrNe("\"\""));
    ++paths[fields[1]];
  }
  EXPECT_EQ(paths.size(), better);
  EXPECT_TRUE(absl::StartsWith(lines[better + 1], "ruy_like_mul,portable,"));
}

// A kernel for few columns is passed over for a product with many.
TEST(DispatchLinesTest, TellsOfKernels) {
  Example example;
  for (const Path path : PathsBestFirst(CompiledPaths())) {
    const KernelQuery query = MakeKernelQuery(example.params);
    example.plan.choice = SelectKernel(query, path | Path::kPortable);
    TrMulParams params = example.params;
    if (example.plan.choice.swap_sides) SwapSides(&params);
    const std::string lines =
        DispatchLines(params, example.plan, path | Path::kPortable);
    const kernels::KernelTable table = KernelsOf(path);
    for (int i = 0; i < table.count; ++i) {
      const kernels::Kernel& kernel = table.kernels[i];
      if (kernel.family != query.family || kernel.max_cols == kernels::kNoLimit)
        continue;
      EXPECT_THAT(lines, HasSubstr(absl::StrCat(PathName(path), ",",
                                                kernel.name, ",\"")));
    }
    // Nothing is said of what was taken.
    EXPECT_THAT(lines, testing::Not(HasSubstr(absl::StrCat(
                           ",", example.plan.choice.kernel->name, ","))));
  }
}

// --fork: the child says nothing, of its own products or the parent's.
TEST(VerboseTest, ASummaryAtTheEnd) {
  const ProgramResult result = Observe("summary", "--many --fork");
  const std::vector<std::string> lines = Lines(result.err);
  // 48x64x5 twice, 60x50x40 twice, one of 200x150x300, 1500 of 5x6x7.
  ASSERT_EQ(lines.size(), 5u) << result.err;
  EXPECT_EQ(lines[0] + "\n", kSummaryHeader);
  std::map<std::string, Row> by_depth;
  double longest = std::numeric_limits<double>::infinity();
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const Row row = ReadRow(lines[0], lines[i]);
    by_depth[row.at("depth")] = row;
    EXPECT_LE(std::stod(row.at("milliseconds")), longest);
    longest = std::stod(row.at("milliseconds"));
    EXPECT_LE(std::stod(row.at("packing_milliseconds")), longest);
  }
  ASSERT_EQ(by_depth.size(), 4u);
  ExpectFields(by_depth["64"], "calls=2 lhs_order=packed");
  ExpectFields(by_depth["50"], "calls=2 rows=60");
  ExpectFields(by_depth["6"], "calls=1500 cols=7");
  ExpectFields(by_depth["150"], "calls=1 lhs=int8 rhs=uint8");
  // At least one operand of this one is packed.
  EXPECT_GT(std::stod(by_depth["150"].at("packing_milliseconds")), 0);
}

TEST(VerboseTest, AValueThatIsNoneWarns) {
  const ProgramResult result = Observe("loud");
  EXPECT_EQ(result.err,
            "ruy_like: RUY_LIKE_VERBOSE: 'loud' is none of 0, 1, dispatch, "
            "summary\n");
}

}  // namespace
}  // namespace ruy_like
