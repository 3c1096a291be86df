#include "ruy_like/quantize/calibration_file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "test/quantize/calibration/expect_observer.h"
#include "test/quantize/lcg.h"
#include "test/support/json.h"
#include "test/support/sanitizers.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

Observer Seen(std::uint32_t seed, float scale, float range = 0) {
  Observer observer;
  if (range > 0) {
    EXPECT_OK(observer.SetRange(range));
  }
  std::vector<float> values = GaussVector(3000, seed);
  for (float& value : values) value *= scale;
  values[7] = 0;
  values[8] = kInf;
  EXPECT_OK(observer.Observe(values));
  return observer;
}

Calibration Example() {
  Observer zeros;
  const float zero[] = {0, -0.0f};
  EXPECT_OK(zeros.Observe(zero));
  MovingAverageObserver averages(0.3f);
  for (const std::uint32_t seed : {1, 2, 3}) {
    EXPECT_OK(averages.Observe(GaussVector(100, seed)));
  }
  Calibration calibration;
  calibration.tensors = {
      {"conv1/\"in\"\\\n\x01 \xc3\xa9 \xf0\x9f\x98\x80",
       {{0.1f, 3, 0, 255}},
       {Seen(1, 1), Seen(2, 1e-20f), Seen(3, 1e15f), Seen(4, 1, 2.5f)}},
      {"conv1_param_0",
       {{1.17549435e-38f, 0, -127, 127},
        {3.40282347e38f, 0, -63, 63},
        {1.0f / 3, INT32_MIN, INT32_MIN, INT32_MAX}},
       {}},
      {"nothing", {}, {}, {averages, MovingAverageObserver()}},
      {"empty observers", {}, {Observer(), zeros}}};
  return calibration;
}

void ExpectSameAverages(const MovingAverageObserver& a,
                        const MovingAverageObserver& b) {
  EXPECT_EQ(a.constant(), b.constant());
  EXPECT_EQ(a.batches(), b.batches());
  EXPECT_EQ(a.min(), b.min());
  EXPECT_EQ(a.max(), b.max());
}

TEST(CalibrationFileTest, JsonKeepsEachBit) {
  const Calibration calibration = Example();
  ASSERT_VALUE(const auto json, CalibrationToJson(calibration));
  ASSERT_VALUE(const auto again, CalibrationFromJson(json));
  ASSERT_EQ(again.tensors.size(), calibration.tensors.size());
  for (std::size_t i = 0; i < calibration.tensors.size(); ++i) {
    const CalibratedTensor& a = calibration.tensors[i];
    const CalibratedTensor& b = again.tensors[i];
    EXPECT_EQ(a.name, b.name);
    EXPECT_EQ(a.params, b.params);
    ASSERT_EQ(a.observers.size(), b.observers.size());
    for (std::size_t j = 0; j < a.observers.size(); ++j) {
      SCOPED_TRACE(absl::StrCat(a.name, " ", j));
      ExpectSame(a.observers[j], b.observers[j]);
    }
    ASSERT_EQ(a.moving_averages.size(), b.moving_averages.size());
    for (std::size_t j = 0; j < a.moving_averages.size(); ++j) {
      ExpectSameAverages(a.moving_averages[j], b.moving_averages[j]);
    }
  }
  // Nothing is lost in the text, either.
  EXPECT_EQ(*CalibrationToJson(again), json);
  EXPECT_EQ(again.Find("nothing"), &again.tensors[2]);
  EXPECT_EQ(again.Find("noth"), nullptr);
}

// One that was loaded goes on as the one that was saved.
TEST(CalibrationFileTest, ALoadedObserverGoesOn) {
  for (const float range : {0.0f, 2.5f}) {
    Calibration calibration;
    calibration.tensors = {{"x", {}, {Seen(1, 1, range)}}};
    ASSERT_VALUE(auto loaded,
                 CalibrationFromJson(CalibrationToJson(calibration).value()));
    Observer& a = calibration.tensors[0].observers[0];
    Observer& b = loaded.tensors[0].observers[0];
    const std::vector<float> more = GaussVector(500, 77);
    ASSERT_OK(a.Observe(more));
    ASSERT_OK(b.Observe(more));
    ExpectSame(a, b);
    ASSERT_OK(a.Merge(Seen(5, 9, range)));
    ASSERT_OK(b.Merge(Seen(5, 9, range)));
    ExpectSame(a, b);
    EXPECT_EQ(a.ChooseParams({}).value(), b.ChooseParams({}).value());
  }
}

TEST(CalibrationFileTest, LoadedAveragesGoOn) {
  Calibration calibration;
  calibration.tensors = {{"x", {}, {}, {MovingAverageObserver(0.25f)}}};
  MovingAverageObserver& a = calibration.tensors[0].moving_averages[0];
  ASSERT_OK(a.Observe(GaussVector(100, 1)));
  ASSERT_VALUE(auto loaded,
               CalibrationFromJson(CalibrationToJson(calibration).value()));
  MovingAverageObserver& b = loaded.tensors[0].moving_averages[0];
  ASSERT_OK(a.Observe(GaussVector(100, 2)));
  ASSERT_OK(b.Observe(GaussVector(100, 2)));
  ExpectSameAverages(a, b);
  EXPECT_EQ(b.batches(), 2u);
}

// What other writers of JSON may write.
TEST(CalibrationFileTest, ReadsOtherBlanksOrdersAndEscapes) {
  ASSERT_VALUE(
      const auto read,
      CalibrationFromJson(
          "\t{ \"tensors\":[{\"observers\":[ ],\"params\":[{\"qmax\":127,\r\n"
          "\"qmin\":-127,\"scale\":5E-1,\"zero_point\":-0}],"
          "\"name\":\"\\u0041\\u00e9\\ud83d\\ude00\\/\\t\"}],"
          "\"version\":1 , \"format\":\"ruy_like-calibration\"} "));
  ASSERT_EQ(read.tensors.size(), 1u);
  EXPECT_EQ(read.tensors[0].name, "A\xc3\xa9\xf0\x9f\x98\x80/\t");
  EXPECT_THAT(read.tensors[0].params,
              ElementsAre(QuantParams{0.5f, 0, -127, 127}));
}

TEST(CalibrationFileTest, WritesJsonThatOthersRead) {
  Calibration calibration;
  calibration.tensors = {{"x", {{0.25f, 3, 0, 255}}, {Seen(1, 1)}}};
  const std::string text = CalibrationToJson(calibration).value();
  Json json;
  ASSERT_TRUE(JsonReader(text).Read(&json));
  EXPECT_EQ(json["format"].string, "ruy_like-calibration");
  const Json& tensor = json["tensors"].array.at(0);
  EXPECT_EQ(tensor["params"].array.at(0)["scale"].number, 0.25);
  const Json& observer = tensor["observers"].array.at(0);
  double sum = observer["zeros"].number;
  for (const Json& bin : observer["bins"].array) sum += bin.number;
  EXPECT_EQ(sum, observer["finite"].number);
  EXPECT_EQ(observer["bins"].array.size(), 2048u);
  double value = 0;
  for (std::size_t i = 0; i < 23; ++i) {
    value += std::ldexp(observer["sum_of_squares"].array.at(i).number,
                        32 * static_cast<int>(i) - 384);
  }
  EXPECT_NEAR(value / observer["finite"].number, 1, 0.1);
}

std::string Tensors(const std::string& tensors) {
  return absl::StrCat(
      R"({"format":"ruy_like-calibration","version":1,"tensors":[)", tensors,
      "]}");
}
std::string Params(const std::string& params) {
  return Tensors(
      absl::StrCat(R"({"name":"x","observers":[],"params":[)", params, "]}"));
}

TEST(CalibrationFileTest, RefusesWrongText) {
  const std::string good = R"({"scale":1,"zero_point":0,"qmin":-1,"qmax":1})";
  ASSERT_OK(CalibrationFromJson(Params(good)));
  const auto with = [&](const char* from, const char* to) {
    return Params(absl::StrReplaceAll(good, {{from, to}}));
  };
  std::vector<std::string> cases = {
      "",
      " ",
      "{",
      "[]",
      "null",
      "{}",
      "\xef\xbb\xbf{}",
      Tensors("") + "x",
      Tensors("") + Tensors(""),
      Tensors(","),
      Tensors("{}"),
      Tensors("[]"),
      absl::StrReplaceAll(Tensors(""), {{"1", "2"}}),
      absl::StrReplaceAll(Tensors(""), {{"1", "01"}}),
      absl::StrReplaceAll(Tensors(""), {{"1", "1.0"}}),
      absl::StrReplaceAll(Tensors(""), {{"\"version\":1,", ""}}),
      absl::StrReplaceAll(Tensors(""), {{"ruy_like-", "other-"}}),
      absl::StrReplaceAll(Tensors(""), {{"\"version\"", "\"format\""}}),
      Params(good + ","),
      Params(good + good),
      Params("1"),
      Params("{}"),
      with("point\":0", "point\":0.5"),
      with("point\":0", "point\":4294967296"),
      with("qmax\":1", "qmax\":-2"),
      with("qmax", "qmin"),
      with("qmax", "more"),
      with("\"qmax\":1", ""),
      with(",\"qmax\":1", ""),
      absl::StrReplaceAll(Params(good), {{"\"x\"", "'x'"}}),
      Tensors(R"({"name":"x","params":[],"observers":[]},)"
              R"({"name":"x","params":[],"observers":[]})"),
  };
  for (const char* const scale :
       {"0,", "-1,", "1e39,", "1e-60,", "NaN,", "Infinity,", "+1,", ".5,",
        "1.,", "1e,", "0x1,", "\"1\",", "1,,", "1;"}) {
    cases.push_back(with("1,", scale));
  }
  const std::string names[] = {
      "",      "\x80",    "\xc0\x80",  "\xed\xa0\x80", "\n",
      R"(\x)", R"(\u12)", R"(\ud800)", R"(\udc00)",    std::string(5000, 'x')};
  for (const std::string& name : names) {
    cases.push_back(absl::StrReplaceAll(
        Params(good), {{"\"x\"", absl::StrCat("\"", name, "\"")}}));
  }
  for (const std::string& text : cases) {
    EXPECT_CODE(kInvalid, CalibrationFromJson(text)) << text;
  }
  EXPECT_THAT(CalibrationFromJson("{\n\n \"x\": 1}").status().message(),
              HasSubstr("line 3: unknown member \"x\""));
}

TEST(CalibrationFileTest, RefusesImpossibleAverages) {
  const std::string good = R"({"constant":1,"batches":2,"min":-1,"max":3})";
  const auto read = [](const std::string& averages) {
    return CalibrationFromJson(Tensors(absl::StrCat(
        R"({"name":"x","params":[],"observers":[],"moving_averages":[)",
        averages, "]}")));
  };
  ASSERT_OK(read(good));
  const std::pair<const char*, const char*> cases[] = {
      {"t\":1", "t\":0"},      {"t\":1", "t\":1.5"},  {"t\":1", "t\":-1"},
      {"s\":2", "s\":0"},      {"s\":2", "s\":-2"},   {"s\":2", "s\":2.5"},
      {"n\":-1", "n\":-1e39"}, {"x\":3", "x\":null"}, {"\"max", "\"min"},
      {",\"max\":3", ""},      {"\"max", "\"more"},
  };
  for (const auto& change : cases) {
    const std::string text = absl::StrReplaceAll(good, {change});
    EXPECT_CODE(kInvalid, read(text)) << text;
  }
  EXPECT_CODE(kInvalid, read(good + good));
  // And does not write them.
  Calibration calibration;
  calibration.tensors = {{"x", {}, {}, {MovingAverageObserver(2)}}};
  EXPECT_CODE(kInvalid, CalibrationToJson(calibration));
}

// Observers that contradict themselves.
TEST(CalibrationFileTest, RefusesImpossibleObservers) {
  Calibration calibration;
  Observer observer;
  const float values[] = {-3, 2, 0, 1};
  ASSERT_OK(observer.Observe(values));
  calibration.tensors = {{"x", {}, {observer}}};
  const std::string good = CalibrationToJson(calibration).value();
  ASSERT_OK(CalibrationFromJson(good));
  const char* const cases[][2] = {
      {"\"finite\": 4", "\"finite\": 5"},
      {"\"finite\": 4", "\"finite\": 18446744073709551615"},
      {"\"finite\": 4", "\"finite\": -4"},
      {"\"zeros\": 1", "\"zeros\": 9"},
      {"\"nonfinite\": 0", "\"nonfinite\": 9223372036854775808"},
      {"\"min\": -3", "\"min\": 3"},
      {"\"min\": -3", "\"min\": 1"},
      {"\"min\": -3", "\"min\": -4"},
      {"\"max\": 2", "\"max\": 1e300"},
      {"\"exponent\": 2", "\"exponent\": 1"},
      {"\"exponent\": 2", "\"exponent\": 200"},
      {"\"exponent\": 2", "\"exponent\": -2147483648"},
      {"\"exponent\": 2, ", ""},
      {"\"range\": 0", "\"range\": 4"},
      {"\"range\": 0", "\"range\": -4"},
      {"\"bins\": [0,", "\"bins\": ["},
      {"\"bins\": [0,", "\"bins\": [0,0,"},
      {"\"bins\": [0,", "\"bins\": [1,"},
      {"\"bins\": [0,", "\"bins\": [18446744073709551615,"},
      {"\"sum\": [0,", "\"sum\": [4294967296,"},
      {"\"sum\": [0,", "\"sum\": [-1,"},
      {"\"sum\": [0,", "\"sum\": ["},
      {",0], \"sum_of_magnitudes\"", ",-1], \"sum_of_magnitudes\""},
      {",0], \"bins\"", ",1], \"bins\""},
  };
  for (const auto& [from, to] : cases) {
    const std::string text = absl::StrReplaceAll(good, {{from, to}});
    ASSERT_NE(text, good) << from;
    EXPECT_CODE(kInvalid, CalibrationFromJson(text)) << from << " -> " << to;
  }
}

// Any text gives a Status, and what is read can be written and used.
void TryText(const std::string& text) {
  const auto read = CalibrationFromJson(text);
  if (!read.ok()) {
    EXPECT_CODE(kInvalid, read);
    return;
  }
  EXPECT_OK(CalibrationToJson(*read));
  Observer all;
  for (const CalibratedTensor& tensor : read->tensors) {
    for (const Observer& observer : tensor.observers) {
      (void)observer.standard_deviation();
      for (int method = 0;
           method <= static_cast<int>(CalibrationMethod::kEntropyNcnn);
           ++method) {
        CalibrationOptions options;
        options.method = static_cast<CalibrationMethod>(method);
        (void)observer.ChooseParams(options);
      }
      (void)all.Merge(observer);
    }
  }
}

TEST(CalibrationFileTest, SurvivesDamagedText) {
  Calibration calibration;
  calibration.tensors = {{"x\n", {{0.25f, 3, 0, 255}}, {Seen(1, 1)}}};
  const std::string good = CalibrationToJson(calibration).value();
  for (std::size_t bytes = 0; bytes < good.size(); ++bytes) {
    if (bytes > 400 && bytes % 97 != 0) continue;
    EXPECT_FALSE(CalibrationFromJson(good.substr(0, bytes)).ok()) << bytes;
  }
  Lcg lcg(1);
  const auto below = [&](std::size_t end) {
    return static_cast<std::size_t>(lcg.Uniform() * static_cast<double>(end));
  };
  constexpr char kLikely[] = "{}[],:\"\\u0123456789-+.eE \n\x80\xff";
  int changed_digits = 0;
  constexpr int kTexts = kSanitized ? 600 : 3000;
  for (int i = 0; i < kTexts; ++i) {
    std::string text = good;
    for (std::size_t changes = below(4) + 1; changes > 0; --changes) {
      const std::size_t at = i % 2 == 0 ? below(text.size()) : below(500);
      const char c = kLikely[below(sizeof(kLikely) - 1)];
      switch (below(3)) {
        case 0:
          text[at] = c;
          break;
        case 1:
          text.insert(at, 1, c);
          break;
        default:
          text.erase(at, below(9));
      }
    }
    changed_digits += CalibrationFromJson(text).ok();
    TryText(text);
  }
  EXPECT_GT(changed_digits, 0);  // or all of this tries the same error
  EXPECT_LT(changed_digits, kTexts - 20);
}

TEST(CalibrationFileTest, DepthTakesNoStack) {
  for (const char* const nest : {"[", "{\"tensors\":[", "{\"a\":", "[[{"}) {
    std::string deep;
    while (deep.size() < (std::size_t{8} << 20)) deep += nest;
    TryText(deep);
    TryText(Tensors(deep));
    TryText(Params(deep));
  }
  TryText(std::string(std::size_t{8} << 20, '"'));
  TryText(Params(std::string(std::size_t{8} << 20, '1')));
  TryText(std::string(std::size_t{8} << 20, '\0'));
}

TEST(CalibrationFileTest, RefusesWhatItCannotWrite) {
  const auto refused = [](CalibratedTensor tensor) {
    Calibration calibration;
    calibration.tensors = {std::move(tensor)};
    return CalibrationToJson(calibration).status().code() == kInvalid;
  };
  EXPECT_TRUE(refused({"", {}, {}}));
  EXPECT_TRUE(refused({"\xff", {}, {}}));
  EXPECT_TRUE(refused({std::string(4097, 'x'), {}, {}}));
  EXPECT_TRUE(refused({"x", {{kNan, 0, 0, 1}}, {}}));
  Calibration twice;
  twice.tensors = {{"x", {}, {}}, {"x", {}, {}}};
  EXPECT_CODE(kInvalid, CalibrationToJson(twice));
}

TEST(CalibrationFileTest, Files) {
  const std::string path = testing::TempDir() + "calibration_file_test.json";
  const Calibration calibration = Example();
  ASSERT_OK(SaveCalibration(calibration, path));
  ASSERT_VALUE(const auto loaded, LoadCalibration(path));
  EXPECT_EQ(*CalibrationToJson(loaded), *CalibrationToJson(calibration));
  Calibration table;
  table.tensors = {{"conv", {{0.5f, 0, -127, 127}}, {}}};
  ASSERT_OK(SaveNcnnTable(table, path));
  EXPECT_EQ(LoadNcnnTable(path)->tensors[0].params, table.tensors[0].params);
  const auto wrong = LoadCalibration(path);
  EXPECT_CODE(kInvalid, wrong);
  EXPECT_THAT(wrong.status().message(), HasSubstr(path));
  std::remove(path.c_str());
  EXPECT_CODE(kNotFound, LoadCalibration(path));
  EXPECT_CODE(kNotFound, LoadNcnnTable(path));
  EXPECT_FALSE(LoadCalibration(testing::TempDir()).ok());
  EXPECT_FALSE(SaveCalibration(calibration, testing::TempDir()).ok());
  EXPECT_FALSE(SaveNcnnTable(table, path + "/no/such").ok());
}

// ## ncnn

// As ncnn2table writes it: "%f " for each factor.
TEST(NcnnTableTest, ReadsWhatNcnnWrites) {
  ASSERT_VALUE(
      const auto read,
      CalibrationFromNcnnTable("conv1_param_0 156.640884 inf 31.000000 \r\n"
                               "fc_param_0 12.700000 \n"
                               "conv1 63.500000 \n\n"
                               "fc 127.000000 "));
  ASSERT_EQ(read.tensors.size(), 4u);
  EXPECT_EQ(read.tensors[0].name, "conv1_param_0");
  EXPECT_THAT(read.tensors[0].params,
              ElementsAre(QuantParams{1 / 156.640884f, 0, -127, 127},
                          QuantParams{1, 0, -127, 127},
                          QuantParams{1 / 31.0f, 0, -127, 127}));
  EXPECT_EQ(read.Find("fc")->params[0].scale, 1 / 127.0f);
  EXPECT_EQ(CalibrationFromNcnnTable("")->tensors.size(), 0u);
}

TEST(NcnnTableTest, WritesWhatItReads) {
  Calibration calibration;
  calibration.tensors = {
      {"conv1", {{0.0123456791f, 0, -127, 127}}, {}},
      {"observed alone", {}, {Observer()}},
      {"conv1_param_0", {{0.25f, 0, -63, 63}, {1e-7f, 0, -127, 127}}, {}}};
  ASSERT_VALUE(const auto table, CalibrationToNcnnTable(calibration));
  EXPECT_EQ(table, "conv1_param_0 4 1e+07\nconv1 81\n");
  ASSERT_VALUE(const auto again, CalibrationFromNcnnTable(table));
  ASSERT_EQ(again.tensors.size(), 2u);
  // An inverse and its inverse are each rounded once.
  EXPECT_FLOAT_EQ(again.Find("conv1")->params[0].scale, 0.0123456791f);
  EXPECT_FLOAT_EQ(again.Find("conv1_param_0")->params[1].scale, 1e-7f);
}

TEST(NcnnTableTest, Refuses) {
  for (const char* const table :
       {"conv", "conv ", "conv x", "conv 1 2x", "conv 0", "conv -1", "conv nan",
        "conv -inf", "conv 1e-45", "conv 1\nconv 2", "\xff 1"}) {
    EXPECT_CODE(kInvalid, CalibrationFromNcnnTable(table)) << table;
  }
  const auto refused = [](CalibratedTensor tensor) {
    Calibration calibration;
    calibration.tensors = {std::move(tensor)};
    return CalibrationToNcnnTable(calibration).status().code() == kInvalid;
  };
  EXPECT_TRUE(refused({"a b", {QuantParams()}, {}}));
  EXPECT_TRUE(refused({"a\nb", {QuantParams()}, {}}));
  EXPECT_TRUE(refused({std::string(256, 'x'), {QuantParams()}, {}}));
  EXPECT_TRUE(refused({"x", {{1, 3, -127, 127}}, {}}));
  EXPECT_TRUE(refused({"x", {{1e-39f, 0, -127, 127}}, {}}));
  EXPECT_FALSE(refused({"x", {{1e-37f, 0, -127, 127}}, {}}));
}

}  // namespace
}  // namespace ruy_like
