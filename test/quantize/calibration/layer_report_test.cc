#include "ruy_like/quantize/layer_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "ruy_like/quantize/observer.h"
#include "test/quantize/lcg.h"
#include "test/support/json.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

constexpr QuantParams kParams = {0.5f, 1, -4, 3};  // [-2.5, 1]

TEST(LayerReportTest, ComparesTwoNetworks) {
  const std::vector<float> x = {3, -4, 0, 0, kInf}, y = {3, -3, 0, 0.5f, 7};
  ASSERT_VALUE(const auto report, ReportLayer("conv", x, y, kParams));
  EXPECT_EQ(report.name, "conv");
  EXPECT_EQ(report.params, kParams);
  EXPECT_EQ(report.count, 5u);
  EXPECT_EQ(report.nonfinite, 1u);
  EXPECT_EQ(report.min, -4);
  EXPECT_EQ(report.max, 3);
  EXPECT_DOUBLE_EQ(report.snr_db, 10 * std::log10(25 / 1.25));
  EXPECT_EQ(report.clipped_share, 0.5);
  Observer observer;
  ASSERT_OK(observer.Observe(x));
  EXPECT_EQ(observer.histogram().bins, report.bins);
  EXPECT_EQ(observer.histogram().bin_width, report.bin_width);
}

// Values that round to an end are not clipped, those beyond are.
TEST(LayerReportTest, QuantizesTheReference) {
  const std::vector<float> x = {1.25f, 1.26f, -2.75f, -2.76f, 0.2f};
  ASSERT_VALUE(const auto report, ReportLayer("x", x, {}, kParams));
  EXPECT_DOUBLE_EQ(report.clipped_share, 0.4);
  double signal = 0, noise = 0;
  const float restored[] = {1, 1, -2.5f, -2.5f, 0};
  for (std::size_t i = 0; i < x.size(); ++i) {
    signal += static_cast<double>(x[i]) * x[i];
    noise += std::pow(static_cast<double>(x[i]) - restored[i], 2);
  }
  EXPECT_NEAR(report.snr_db, 10 * std::log10(signal / noise), 1e-9);
}

// Student's t with 4 degrees of freedom, after a ReLU: relative entropy clips
// what MinMax and MSE keep.
TEST(LayerReportTest, WarnsOfClippingThatCostsMoreThanItGains) {
  const std::vector<float> gauss = GaussVector(5 * 65536, 1);
  std::vector<float> x;
  for (std::size_t i = 0; i < gauss.size(); i += 5) {
    double squares = 0;
    for (int j = 1; j < 5; ++j) squares += std::pow(gauss[i + j], 2);
    x.push_back(
        static_cast<float>(std::max(0.0, gauss[i] / std::sqrt(squares / 4))));
  }
  Observer observer;
  ASSERT_OK(observer.Observe(x));
  double snr_db[2];
  CalibrationOptions options;
  options.scheme = QuantScheme::kAffineSigned;
  for (const auto method : {CalibrationMethod::kMinMax, CalibrationMethod::kMse,
                            CalibrationMethod::kEntropy}) {
    options.method = method;
    ASSERT_VALUE(const auto params, observer.ChooseParams(options));
    ASSERT_VALUE(const auto report, ReportLayer("relu", x, {}, params));
    if (method != CalibrationMethod::kEntropy) {
      EXPECT_EQ(report.warning, "");
      snr_db[method == CalibrationMethod::kMse] = report.snr_db;
      continue;
    }
    EXPECT_LT(report.snr_db, snr_db[0] - 1);
    EXPECT_LT(report.snr_db, snr_db[1] - 1);
    char loss[16];
    std::snprintf(loss, sizeof(loss), "loses %.1f dB",
                  snr_db[0] - report.snr_db);
    EXPECT_THAT(report.warning, HasSubstr(loss));
    // The warning is of the range, not of what the layers before lost.
    EXPECT_EQ(ReportLayer("relu", x, x, params)->warning, report.warning);
    EXPECT_THAT(*LayerReportTable({report}),
                HasSubstr("\nrelu: " + report.warning + "\n"));
    EXPECT_THAT(*LayerReportJson({report}),
                HasSubstr("\"warning\": \"" + report.warning + "\""));
    LayerReport bad = report;
    bad.warning = "\xff";
    EXPECT_CODE(kInvalid, LayerReportJson({bad}));
  }
}

TEST(LayerReportTest, NothingLostAndNothingLeft) {
  const std::vector<float> exact = {0.5f, -1, 0}, zero = {0, 0}, noise = {1, 0};
  EXPECT_EQ(ReportLayer("", exact, {}, kParams)->snr_db, kInf);
  EXPECT_EQ(ReportLayer("", zero, noise, kParams)->snr_db, -kInf);
  ASSERT_VALUE(const auto none, ReportLayer("", {}, {}, kParams));
  EXPECT_EQ(none.clipped_share, 0);
  EXPECT_TRUE(none.bins.empty());
}

TEST(LayerReportTest, TableAndJson) {
  const std::vector<float> gauss = GaussVector(1000, 1), exact = {0.5f};
  const std::vector<LayerReport> layers = {
      ReportLayer("first \"layer\"", gauss, {}, {0.02f, 0, -127, 127}).value(),
      ReportLayer("b", exact, {}, kParams).value()};
  ASSERT_VALUE(const auto table, LayerReportTable(layers));
  EXPECT_THAT(table, HasSubstr("first \"layer\""));
  EXPECT_THAT(table, HasSubstr("clipped, %"));
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 4);  // one warning

  std::vector<LayerReport> plain = layers;
  plain[0].name = "a";
  plain[1].snr_db = 3;
  Json json;
  const std::string text = LayerReportJson(plain).value();
  ASSERT_TRUE(JsonReader(text).Read(&json)) << text;
  const Json& first = json["layers"].array.at(0);
  EXPECT_EQ(first["name"].string, "a");
  EXPECT_NEAR(first["snr_db"].number, plain[0].snr_db, 1e-6);
  EXPECT_NEAR(first["clipped_share"].number, plain[0].clipped_share, 1e-8);
  EXPECT_GT(plain[0].clipped_share, 0);
  EXPECT_EQ(first["bin_width"].number, plain[0].bin_width);
  EXPECT_EQ(first["bins"].array.size(), plain[0].bins.size());
  EXPECT_EQ(first["scale"].number, 0.02);
  EXPECT_THAT(LayerReportJson(layers).value(), HasSubstr("\"snr_db\": null"));
  EXPECT_THAT(LayerReportJson(layers).value(),
              HasSubstr(R"("first \"layer\"")"));
  EXPECT_EQ(LayerReportJson({}).value(), "{\"layers\": []}\n");
}

TEST(LayerReportTest, Errors) {
  const std::vector<float> x = {1, 2}, one = {1}, bad = {1, kNan};
  const auto code = [](const absl::StatusOr<LayerReport>& report) {
    return report.status().code();
  };
  EXPECT_EQ(code(ReportLayer("x", x, one, kParams)), kInvalid);
  EXPECT_EQ(code(ReportLayer("x", x, bad, kParams)), kInvalid);
  EXPECT_EQ(code(ReportLayer("x", x, {}, {0, 0, -1, 1})), kInvalid);
  EXPECT_EQ(code(ReportLayer("x", x, {}, {1, 0, 1, -1})), kInvalid);
  EXPECT_EQ(code(ReportLayer("\xff", x, {}, kParams)), kInvalid);
  const absl::Span<const float> null(static_cast<const float*>(nullptr), 2);
  EXPECT_EQ(code(ReportLayer("x", null, {}, kParams)), kInvalid);
  EXPECT_EQ(code(ReportLayer("x", x, null, kParams)), kInvalid);
}

}  // namespace
}  // namespace ruy_like
