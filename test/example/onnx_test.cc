// Tests what example/onnx computes, without a package's networks: small files
// of onnx_cases.py against ONNX Runtime, in float and in int8, and bad ones.
// The test `onnx` runs the whole program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "example/onnx/int_network.h"
#include "example/onnx/model_file.h"
#include "example/onnx/network.h"
#include "example/onnx/wire.h"

namespace onnx {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string CaseFile(const std::string& name) {
  return std::string(ONNX_CASES) + "/" + name + ".onnx";
}

// As onnx_cases.py has it, from value `first` on.
std::vector<float> InputOf(const Network& network, int first = 0) {
  std::vector<float> input(
      static_cast<std::size_t>(CountOf(network.input.dims)));
  int i = first;
  for (float& value : input) {
    value = static_cast<float>((i++ * 37 % 101) / 50.0 - 1);
  }
  return input;
}

std::vector<float> Joined(const std::vector<Tensor>& outputs) {
  std::vector<float> all;
  for (const Tensor& output : outputs) {
    all.insert(all.end(), output.values.begin(), output.values.end());
  }
  return all;
}

// The ratio of a signal to its difference from another, in dB.
double Snr(const std::vector<float>& signal, const std::vector<float>& other) {
  double energy = 0, noise = 0;
  for (std::size_t i = 0; i < signal.size(); ++i) {
    const auto value = static_cast<double>(signal[i]);
    const double error = value - static_cast<double>(other[i]);
    energy += value * value;
    noise += error * error;
  }
  return 10 * std::log10(energy / std::max(noise, 1e-30));
}

std::vector<std::pair<std::string, std::vector<float>>> Cases() {
  std::ifstream file(ONNX_EXPECTED);
  std::vector<std::pair<std::string, std::vector<float>>> cases;
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    cases.emplace_back();
    words >> cases.back().first;
    for (float value; words >> value;) cases.back().second.push_back(value);
  }
  return cases;
}

TEST(Onnx, FloatIsOnnxRuntimes) {
  ruy_like::Context context;
  std::size_t count = 0;
  for (const auto& [name, expected] : Cases()) {
    SCOPED_TRACE(name);
    auto model = LoadModel(CaseFile(name));
    ASSERT_TRUE(model.ok()) << model.status();
    const auto network = MakeNetwork(*std::move(model), {}, {}, &context);
    ASSERT_TRUE(network.ok()) << network.status();
    const auto outputs =
        RunFloat(*network, InputOf(*network), nullptr, &context, nullptr);
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    const std::vector<float> values = Joined(*outputs);
    ASSERT_EQ(values.size(), expected.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_NEAR(values[i], expected[i], 2e-5f) << i;
    }
    ++count;
  }
  EXPECT_EQ(count, 4u);
}

// All of it in int8, with and without what changes weights.
TEST(Onnx, Int8IsCloseToFloat) {
  ruy_like::Context context;
  for (const auto& [name, expected] : Cases()) {
    for (const bool equalized : {false, true}) {
      SCOPED_TRACE(name + (equalized ? ", equalized" : ""));
      auto network = MakeNetwork(*LoadModel(CaseFile(name)), {}, {}, &context);
      ASSERT_TRUE(network.ok()) << network.status();
      if (equalized) {
        const auto count = Equalize(&*network, &context);
        ASSERT_TRUE(count.ok()) << count.status();
        EXPECT_EQ(*count > 0, name == "tiny" || name == "image");
      }
      std::vector<std::vector<float>> inputs;
      for (int i = 0; i < 8; ++i) inputs.push_back(InputOf(*network, 5 * i));
      const auto activations = Calibrate(*network, inputs, &context);
      ASSERT_TRUE(activations.ok()) << activations.status();
      const auto scales =
          SearchScales(*network, inputs, std::chrono::seconds(1), &context);
      ASSERT_TRUE(scales.ok()) << scales.status();
      IntOptions options;
      options.correct_bias = equalized;
      if (!equalized) options.scales = &*scales;
      auto made = IntNetwork::Make(*network, *activations, options, &context);
      ASSERT_TRUE(made.ok()) << made.status();
      Times times;
      const auto outputs = made->Run(inputs[0], nullptr, &context, &times);
      ASSERT_TRUE(outputs.ok()) << outputs.status();
      EXPECT_EQ(times.size(), network->steps.size());
      EXPECT_GT(Snr(expected, Joined(*outputs)), 20) << name;
    }
  }
}

// Steps that are joined, folded, int8.
TEST(Onnx, StepsAreFew) {
  ruy_like::Context context;
  const auto network =
      MakeNetwork(*LoadModel(CaseFile("image")), {5, 3, 8, 8}, {}, &context);
  ASSERT_TRUE(network.ok()) << network.status();
  std::string ops;
  for (const Step& step : network->steps) ops += step.op + " ";
  EXPECT_EQ(ops,
            "Conv Div Conv GlobalAveragePool Conv Conv HardSigmoid Mul Conv "
            "Add BatchNormalization Conv Conv MaxPool LeakyRelu Mul Flatten "
            "Gemm Softmax ");
  EXPECT_EQ(network->dims.at(network->outputs[0]), (Dims{5, 5}));
}

// ## Bad files

TEST(Onnx, EachPrefixIsRefused) {
  ruy_like::Context context;
  const std::string whole = ReadFile(CaseFile("tiny"));
  ASSERT_FALSE(whole.empty());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    // A copy of its own, so that sanitizers see what is read beyond.
    const std::vector<char> part(whole.begin(),
                                 whole.begin() + static_cast<int>(size));
    auto model = ReadModel({part.data(), part.size()});
    if (!model.ok()) continue;
    const auto network = MakeNetwork(*std::move(model), {}, {}, &context);
    // Only the last field, the operators' version, may be missing.
    EXPECT_FALSE(network.ok()) << size;
  }
}

std::string Field(int number, const std::string& bytes) {
  std::string field;
  const auto varint = [&field](std::size_t value) {
    for (; value > 127; value >>= 7) {
      field += static_cast<char>(value % 128 + 128);
    }
    field += static_cast<char>(value);
  };
  varint(static_cast<std::size_t>(number) * 8 + 2);
  varint(bytes.size());
  return field + bytes;
}
std::string Number(int number, int value) {
  return {static_cast<char>(number * 8), static_cast<char>(value)};
}

// A node of two inputs.
std::string NodeBytes(const std::string& op, const std::string& a,
                      const std::string& b, const std::string& output) {
  std::string node = Field(1, a);
  if (!b.empty()) node += Field(1, b);
  return Field(
      1, node + Field(2, output) + Field(3, "node " + output) + Field(4, op));
}

// A file with an input "x" of 1x2x3x3.
std::string ModelBytes(const std::string& nodes, const std::string& output) {
  std::string shape;
  for (const int size : {1, 2, 3, 3}) shape += Field(1, Number(1, size));
  const std::string type = Field(1, Number(1, 1) + Field(2, shape));
  return Field(7, nodes + Field(11, Field(1, "x") + Field(2, type)) +
                      Field(12, Field(1, output))) +
         Field(8, Number(2, 13));
}

absl::Status StatusOf(const std::string& bytes, Budget budget = {}) {
  ruy_like::Context context;
  auto model = ReadModel(bytes);
  if (!model.ok()) return model.status();
  return MakeNetwork(*std::move(model), {}, budget, &context).status();
}

TEST(Onnx, BadGraphsAreNamed) {
  EXPECT_TRUE(StatusOf(ModelBytes(NodeBytes("Relu", "x", "", "y"), "y")).ok());
  const auto message = [](const std::string& nodes) {
    return std::string(StatusOf(ModelBytes(nodes, "y")).message());
  };
  EXPECT_THAT(
      message(NodeBytes("LSTM", "x", "", "z") + NodeBytes("If", "z", "", "y")),
      HasSubstr("does not know: If, LSTM"));
  // A cycle.
  EXPECT_THAT(message(NodeBytes("Add", "x", "z", "y") +
                      NodeBytes("Relu", "y", "", "z")),
              HasSubstr("Add 'node y': reads 'z', which nothing before it"));
  EXPECT_THAT(message(NodeBytes("Relu", "y", "", "y")), HasSubstr("reads 'y'"));
  EXPECT_THAT(
      message(NodeBytes("Relu", "x", "", "y") + NodeBytes("Abs", "x", "", "y")),
      HasSubstr("Abs 'node y': writes 'y', which is there"));
  EXPECT_THAT(message(NodeBytes("Relu", "x", "", "x")), HasSubstr("writes"));
  // An operand that is left out, though there is a constant without a name.
  EXPECT_THAT(message(Field(5, Number(2, 1) + Field(9, "1234")) +
                      Field(1, Field(1, "x") + Field(1, "") + Field(2, "y") +
                                   Field(4, "Add"))),
              HasSubstr("Add 'y': reads '', which nothing"));
  EXPECT_THAT(message(NodeBytes("Relu", "x", "x", "y")), HasSubstr("2 inputs"));
  EXPECT_THAT(message(NodeBytes("Relu", "x", "", "z")),
              HasSubstr("output 'y' is written by no node"));
  EXPECT_THAT(message(NodeBytes("MaxPool", "x", "", "y")),
              HasSubstr("windows are known of two dimensions"));
  EXPECT_THAT(message(NodeBytes("Conv", "x", "x", "y")),
              HasSubstr("weights that are computed"));
  EXPECT_THAT(message(NodeBytes("Reshape", "x", "", "y")),
              HasSubstr("shape [1x2x3x3] does not become []"));
}

TEST(Onnx, TensorsAreWhatTheySay) {
  const auto message = [](const std::string& tensor) {
    return std::string(
        StatusOf(ModelBytes(Field(5, Field(8, "w") + tensor), "y")).message());
  };
  const std::string four_bytes = Field(9, "1234");
  EXPECT_THAT(message(Number(1, 2) + Number(2, 1) + four_bytes),
              AllOf(HasSubstr("'w'"), HasSubstr("1 values")));
  EXPECT_THAT(message(Number(2, 1) + Field(9, "12345")), HasSubstr("'w'"));
  EXPECT_THAT(message(Number(2, 8) + four_bytes), HasSubstr("data type 8"));
  EXPECT_THAT(message(Number(2, 1) + Number(14, 1)),
              HasSubstr("in another file"));
  // 2^62 * 2^62 values, of which there are none.
  const std::string huge = "\x08\x80\x80\x80\x80\x80\x80\x80\x80\x40";
  EXPECT_THAT(message(huge + huge + Number(1, 0) + Number(2, 1)),
              HasSubstr("0 values"));
}

TEST(Onnx, KeepsToTheBudget) {
  Budget budget;
  budget.elements = 17;
  EXPECT_EQ(
      StatusOf(ModelBytes(NodeBytes("Relu", "x", "", "y"), "y"), budget).code(),
      absl::StatusCode::kResourceExhausted);
  budget.elements = 18;
  budget.work = 35;  // 18 for the input, as many for the output
  EXPECT_THAT(StatusOf(ModelBytes(NodeBytes("Relu", "x", "", "y"), "y"), budget)
                  .message(),
              HasSubstr("more work than is permitted, at Relu 'node y'"));
}

TEST(Wire, ReadsOnlyItsBytes) {
  for (const std::string& bytes :
       {std::string("\x80"), std::string("\x0a\x02z"), std::string("\x0d\1\2"),
        std::string("\x0b"), std::string("\0\0", 2),
        std::string(11, '\xff') + '\1'}) {
    const std::vector<char> copy(bytes.begin(), bytes.end());
    Wire wire({copy.data(), copy.size()});
    EXPECT_FALSE(wire.Next());
    EXPECT_FALSE(wire.ok());
  }
}

}  // namespace
}  // namespace onnx
