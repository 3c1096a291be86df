// Each allocation fails once, and each and all after it, in the functions that
// prepare a network: what comes back is the error without faults, OK or
// ResourceExhausted; outputs are untouched after an error, nothing leaks, and
// the next call works. (quantize_fault_injection_test.cc has the others.)
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ruy_like/quantize/quantize.h"
#include "test/quantize/lcg.h"
#include "test/support/call_of.h"
#include "test/support/fail_each.h"
#include "test/support/heap.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

constexpr auto kOk = absl::StatusCode::kOk;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr QuantParams kParams = {0.05f, 0, -127, 127};

// What calls read and write. Made without faults.
struct World {
  World()
      : w1(GaussVector(4 * 6, 1)),
        w2(GaussVector(5 * 4, 2)),
        bias(4, 0.5f),
        means(6, 1),
        first(MakeMatrix(w1.data(), 4, 6, Order::kRowMajor)),
        second(MakeMatrix(w2.data(), 5, 4, Order::kRowMajor)) {
    calibration.tensors = {{"a", {kParams}, {Observer()}}};
    escapes.tensors = {{std::string(60, '\n'), {}, {}}};
    EXPECT_TRUE(calibration.tensors[0].observers[0].Observe(w1).ok());
    one_channel = ChannelObserver(calibration.tensors[0].observers);
    report = ReportLayer("x", w1, {}, kParams).value();
    json = CalibrationToJson(calibration).value();
  }
  World(const World&) = delete;

  std::vector<float> w1, w2, bias, means;
  Matrix<float> first, second;
  Calibration calibration, escapes;
  MovingAverageObserver average;
  ChannelObserver channels, one_channel;
  LayerReport report;
  std::string json;
  const std::string path =
      testing::TempDir() + "calibration_fault_injection_test";
  const std::string no_file = path + ".none";
};

struct Kind {
  const char* name;
  absl::StatusCode code;  // without faults
  CallOf<World> call;
};

const Kind kKinds[] = {
    {"EqualizeLayers", kOk,
     [](World* w) {
       const EqualizedLayer layers[] = {
           {&w->first, absl::MakeSpan(w->bias), ChannelColumns::kInnermost},
           {&w->second, {}, ChannelColumns::kInnermost}};
       return EqualizeLayers(layers);
     }},
    {"EqualizeLayersOfNothing", kInvalid,
     [](World*) { return EqualizeLayers({}); }},
    {"CorrectBias", kOk,
     [](World* w) {
       return CorrectBias(w->first, {kParams}, w->means,
                          absl::MakeSpan(w->bias));
     }},
    {"CorrectBiasOfNothing", kInvalid,
     [](World* w) { return CorrectBias(w->first, {}, w->means, {}); }},
    {"CorrectMeasuredBias", kOk,
     [](World* w) {
       return CorrectMeasuredBias(w->second, w->second, ChannelDimension::kCol,
                                  absl::MakeSpan(w->bias));
     }},
    {"CorrectMeasuredBiasOfNothing", kInvalid,
     [](World* w) {
       return CorrectMeasuredBias(w->first, w->second, ChannelDimension::kRow,
                                  {});
     }},
};

const Kind kObservers[] = {
    {"MovingAverageObserve", kOk,
     [](World* w) { return w->average.Observe(w->w1); }},
    {"MovingAverageObserveMatrix", kOk,
     [](World* w) { return w->average.Observe(w->first); }},
    {"MovingAverageChooseParams", absl::StatusCode::kFailedPrecondition,
     [](World* w) { return w->average.ChooseParams({}); }},
    {"ChannelObserverRows", kOk,
     [](World* w) {
       return w->channels.Observe(w->first, ChannelDimension::kRow);
     }},
    {"ChannelObserverColumns", kOk,
     [](World* w) {
       return w->channels.Observe(w->first, ChannelDimension::kCol);
     }},
    {"ChannelObserverMerge", kOk,
     [](World* w) { return w->channels.Merge(w->one_channel); }},
    {"ChannelObserverChooseParams", absl::StatusCode::kFailedPrecondition,
     [](World* w) { return w->channels.ChooseParams({}); }},
    {"ChooseNcnnEntropyThreshold", kOk,
     [](World* w) {
       return ChooseNcnnEntropyThreshold(
           w->calibration.tensors[0].observers[0].histogram(), 128);
     }},
};

const Kind kFiles[] = {
    {"ReportLayer", kOk,
     [](World* w) { return ReportLayer("a layer", w->w1, {}, kParams); }},
    {"ReportLayerOfNoParams", kInvalid,
     [](World* w) {
       return ReportLayer("a layer", w->w1, {}, {0, 0, 0, 0});
     }},
    {"LayerReportTable", kOk,
     [](World* w) {
       return LayerReportTable(absl::MakeConstSpan(&w->report, 1));
     }},
    {"LayerReportJson", kOk,
     [](World* w) {
       return LayerReportJson(absl::MakeConstSpan(&w->report, 1));
     }},
    {"CalibrationToJson", kOk,
     [](World* w) { return CalibrationToJson(w->calibration); }},
    {"CalibrationToJsonOfEscapes", kOk,
     [](World* w) { return CalibrationToJson(w->escapes); }},
    {"CalibrationFromJson", kOk,
     [](World* w) { return CalibrationFromJson(w->json); }},
    {"CalibrationFromNoJson", kInvalid,
     [](World*) { return CalibrationFromJson("{\"x\": 1}"); }},
    {"CalibrationToNcnnTable", kOk,
     [](World* w) { return CalibrationToNcnnTable(w->calibration); }},
    {"CalibrationFromNcnnTable", kOk,
     [](World*) { return CalibrationFromNcnnTable("a_param_0 1 2\na 3\n"); }},
    {"CalibrationFromNoNcnnTable", kInvalid,
     [](World*) { return CalibrationFromNcnnTable("a\n"); }},
    {"SaveCalibration", kOk,
     [](World* w) { return SaveCalibration(w->calibration, w->path); }},
    {"SaveNcnnTable", kOk,
     [](World* w) { return SaveNcnnTable(w->calibration, w->path); }},
    {"LoadCalibrationOfNoFile", absl::StatusCode::kNotFound,
     [](World* w) { return LoadCalibration(w->no_file); }},
    {"LoadNcnnTableOfNoFile", absl::StatusCode::kNotFound,
     [](World* w) { return LoadNcnnTable(w->no_file); }},
};

class CalibrationFaultInjectionTest : public testing::TestWithParam<Kind> {};

INSTANTIATE_TEST_SUITE_P(Kinds, CalibrationFaultInjectionTest,
                         testing::ValuesIn(kKinds), [](const auto& info) {
                           return std::string(info.param.name);
                         });
INSTANTIATE_TEST_SUITE_P(Observers, CalibrationFaultInjectionTest,
                         testing::ValuesIn(kObservers), [](const auto& info) {
                           return std::string(info.param.name);
                         });
INSTANTIATE_TEST_SUITE_P(Files, CalibrationFaultInjectionTest,
                         testing::ValuesIn(kFiles), [](const auto& info) {
                           return std::string(info.param.name);
                         });

// False once nothing failed.
bool TryOnce(const Kind& kind, const Failures& failures) {
  World world;
  const World untouched;
  long failed = 0;
  const absl::Status status = CallWithFailures(kind, failures, &world, &failed);
  if (!status.ok()) {
    EXPECT_EQ(world.w1, untouched.w1);
    EXPECT_EQ(world.w2, untouched.w2);
    EXPECT_EQ(world.bias, untouched.bias);
    EXPECT_EQ(world.average.batches(), 0u);
    EXPECT_TRUE(world.channels.channels().empty());
    EXPECT_EQ(kind.call(&world).code(), kind.code) << "afterwards";
  }
  return failed > 0;
}

TEST_P(CalibrationFaultInjectionTest, EachAllocation) {
  if (!kTestOwnsHeap) GTEST_SKIP() << "nothing can be made to fail here";
  const Kind& kind = GetParam();
  for (const Failing failing : {Failing::kAllFrom, Failing::kOne}) {
    long n = 0;
    for (bool more = true; more && !HasFailure(); ++n) {
      SCOPED_TRACE(testing::Message() << "failure " << n);
      Failures failures;
      failures.first_allocation = n;
      failures.failing = failing;
      (void)TryOnce(kind, failures);  // what the C library keeps for ever
      const long live_bytes = LiveBytes();
      more = TryOnce(kind, failures);
      EXPECT_LE(LiveBytes(), live_bytes) << "leaks";
      ASSERT_LT(n, 100000);
    }
    EXPECT_GT(n, 1) << "no allocation failed";
  }
}

}  // namespace
}  // namespace ruy_like
