// Tests the program example/quantize/calibrate.cc from outside: what it prints
// and writes, and how it refuses wrong files and flags.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "test/support/json.h"
#include "test/support/subprocess.h"

namespace ruy_like {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::StartsWith;

const char kProgram[] = CALIBRATE_PROGRAM;

// A file that is removed at the end.
class TempFile {
 public:
  TempFile(const std::string& name, const std::string& contents)
      : name_(testing::TempDir() + "ruy_like_calibrate_test_" + name) {
    std::ofstream(name_, std::ios::binary) << contents;
  }
  ~TempFile() { std::remove(name_.c_str()); }
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;

  const std::string& name() const { return name_; }

 private:
  const std::string name_;
};

ProgramResult Calibrate(const std::string& arguments) {
  return RunProgram(absl::StrCat(kProgram, " ", arguments));
}

// 0, 1, ... 127 / 16 and as many negative: a scale of 1/16 loses nothing.
std::string GridCsv() {
  std::string csv;
  for (int i = -127; i <= 127; ++i) absl::StrAppend(&csv, i / 16.0, "\n");
  return csv;
}

const Json& Method(const Json& tensor, const std::string& name) {
  static const Json null;
  for (const Json& method : tensor["methods"].array) {
    if (method["name"].string == name) return method;
  }
  ADD_FAILURE() << "no method " << name;
  return null;
}

TEST(CalibrateTest, PrintsAndWritesAllMethods) {
  // The standard normal distribution's quantiles, in float, with an outlier.
  std::string csv = "40\n";
  for (int i = 1; i < 20000; ++i) {
    // Close enough to the inverse of the distribution function.
    const double p = i / 20000.0;
    absl::StrAppend(
        &csv, (std::pow(p, 0.135) - std::pow(1 - p, 0.135)) / 0.1975, "\n");
  }
  const TempFile input("normal.csv", csv);
  const TempFile output("normal.json", "");
  const ProgramResult result =
      Calibrate(absl::StrCat("--json=", output.name(), " ", input.name()));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, HasSubstr("20000 values (20000 x 1), 1 zeros"));
  Json json;
  const std::string text = ReadFile(output.name());
  ASSERT_TRUE(JsonReader(text).Read(&json)) << text;
  ASSERT_EQ(json["tensors"].array.size(), 1u);
  const Json& tensor = json["tensors"].array[0];
  EXPECT_EQ(tensor["file"].string, input.name());
  EXPECT_EQ(tensor["max"].number, 40);
  const char* const methods[] = {"minmax",     "percentile",   "mse",
                                 "aciq-gauss", "aciq-laplace", "aciq-range",
                                 "entropy"};
  EXPECT_EQ(tensor["methods"].array.size(), std::size(methods));
  for (const char* const name : methods) {
    EXPECT_THAT(result.out, ContainsRegex(absl::StrCat("\n", name, " +[0-9]")));
    const Json& method = Method(tensor, name);
    EXPECT_GT(method["threshold"].number, 1) << name;
    EXPECT_LE(method["threshold"].number, 40) << name;
    EXPECT_NEAR(method["scale"].number, method["threshold"].number / 127, 1e-6)
        << name;
    EXPECT_EQ(method["zero_point"].number, 0);
    EXPECT_EQ(method["qmin"].number, -127);
    EXPECT_GT(method["cosine"].number, 0.9);
    EXPECT_LE(method["cosine"].number, 1);
  }
  EXPECT_EQ(Method(tensor, "minmax")["threshold"].number, 40);
  // The outlier is cut off by all that look at the distribution.
  EXPECT_LT(Method(tensor, "entropy")["threshold"].number, 10);
  EXPECT_LT(Method(tensor, "aciq-gauss")["threshold"].number, 10);
  EXPECT_LT(Method(tensor, "percentile")["threshold"].number, 10);
  // MSE is by definition no worse than MinMax.
  EXPECT_GE(Method(tensor, "mse")["snr_db"].number,
            Method(tensor, "minmax")["snr_db"].number - 0.1);
  double counted = 0;
  for (const Json& bin : tensor["histogram"]["bins"].array) {
    counted += bin.number;
  }
  EXPECT_EQ(counted, 19999);  // all but the zero
}

TEST(CalibrateTest, NothingLostOnTheGrid) {
  const TempFile input("grid.csv", GridCsv());
  const TempFile output("grid.json", "");
  const ProgramResult result = Calibrate(absl::StrCat(
      "--methods=minmax --json ", output.name(), " ", input.name()));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out,
              ContainsRegex("minmax +7.9375 +0.0625 +0 +inf +1.0000000"));
  // JSON has no infinity: null, which test/support/json.h does not know.
  EXPECT_THAT(ReadFile(output.name()), HasSubstr("\"snr_db\": null"));
}

TEST(CalibrateTest, BitsAndAffineRange) {
  const TempFile input("positive.csv", "0\n1\n2\n3\n");
  ProgramResult result = Calibrate("--methods=minmax --bits=7 " + input.name());
  EXPECT_THAT(result.out, ContainsRegex("minmax +3 +0.04761904[0-9] +0 "));
  result = Calibrate("--methods=minmax --range=affine " + input.name());
  EXPECT_THAT(result.out, ContainsRegex("minmax +3 +0.011764706 +-128 "));
  result = Calibrate("--methods=minmax --bits=16 " + input.name());
  EXPECT_THAT(result.out, ContainsRegex("minmax +3 +9.1555[0-9]*e-05 +0 "));
}

TEST(CalibrateTest, OddTensors) {
  const TempFile zeros("zeros.csv", "0,0,0\n");
  ProgramResult result = Calibrate(zeros.name());
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, ContainsRegex("minmax +0 +1 +0 +inf +1.0000000"));
  const TempFile special("special.csv", "1,nan,inf,-2\n");
  result = Calibrate("--methods=minmax " + special.name());
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("2 not finite, from -2 to 1"));
  const TempFile nothing("nothing.csv", "");
  result = Calibrate(nothing.name());
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr(nothing.name()));
  const TempFile not_finite("not_finite.csv", "nan\n");
  result = Calibrate(not_finite.name());
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr(not_finite.name()));
}

TEST(CalibrateTest, OddFileNames) {
  const TempFile input("a \"quoted\\name\" $(false); x.csv", "1\n2\n");
  const TempFile output("odd.json", "");
  const ProgramResult result = RunProgram(absl::StrCat(
      kProgram, " --json=", output.name(), " '", input.name(), "'"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(ReadFile(output.name()),
              HasSubstr("_a \\\"quoted\\\\name\\\" $(false); x.csv\""));
}

TEST(CalibrateTest, WrongFlagsAndFiles) {
  const TempFile input("some.csv", "1\n2\n");
  const TempFile bad("bad.npy", "\x93NUMPY\x01");
  const TempFile text("text.csv", "1,2\n3,x\n");
  const struct {
    std::string arguments, message;
  } cases[] = {
      {"", "no file is given"},
      {"--bit=3 " + input.name(), "unknown flag: --bit=3"},
      {"--bits=many " + input.name(), "Illegal value 'many'"},
      {"--bits=1 " + input.name(), "must be from 2 to 16"},
      {"--bits=17 " + input.name(), "must be from 2 to 16"},
      {input.name() + " --bits", "--bits needs a value"},
      {"--methods=guess " + input.name(), "'guess' is not one of all, minmax"},
      {"--methods= " + input.name(), "'' is not one of"},
      {"--range=half " + input.name(), "must be one of symmetric, affine"},
      {"--percentile=0 " + input.name(), "above 0 and at most 100"},
      {"--percentile=nan " + input.name(), "above 0 and at most 100"},
      {"--json=/no/such/directory/x " + input.name(), "cannot be written"},
      {"/no/such/file", "/no/such/file: cannot be opened"},
      {input.name() + " /no/such/file", "/no/such/file: cannot be opened"},
      {testing::TempDir(), "cannot be read"},
      {bad.name(), "bad.npy: bad .npy file: truncated"},
      {text.name(), "text.csv: line 2: 'x' is not a number"},
  };
  for (const auto& wrong : cases) {
    const ProgramResult result = Calibrate(wrong.arguments);
    EXPECT_EQ(result.exit_code, 2) << wrong.arguments;
    EXPECT_THAT(result.err, StartsWith("ruy_like_calibrate: "));
    EXPECT_THAT(result.err, HasSubstr(wrong.message)) << wrong.arguments;
  }
}

TEST(CalibrateTest, Help) {
  const ProgramResult result = Calibrate("--help");
  EXPECT_EQ(result.exit_code, 0);
  for (const char* const flag :
       {"--bits", "--methods", "--range", "--json", "--plot"}) {
    EXPECT_THAT(result.out, HasSubstr(flag));
  }
}

TEST(CalibrateTest, Plot) {
  const TempFile input("plot.csv", GridCsv());
  const std::string directory =
      testing::TempDir() + "ruy_like_calibrate_test_plots";
  // A script that fails is an error of the output, not of the input.
  ProgramResult result = Calibrate(absl::StrCat(
      "--plot_script=/no/such/script --plot=", directory, " ", input.name()));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("/no/such/script failed"));
  result = Calibrate(absl::StrCat("--plot=", directory, " ", input.name()));
  if (result.err.find("needs matplotlib") != std::string::npos) {
    EXPECT_EQ(result.exit_code, 1);
    GTEST_SKIP() << result.err;
  }
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const std::string picture = directory + "/histogram.png";
  EXPECT_THAT(ReadFile(picture), StartsWith("\x89PNG"));
  std::remove(picture.c_str());
  std::remove(directory.c_str());
}

}  // namespace
}  // namespace ruy_like
