// Tests example/decoder: no file does harm, the decoder's logits are PyTorch's,
// and every format of weights is near float. test/example/decoder_test.cmake
// runs the program.
#include "example/decoder/decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "example/decoder/evaluate.h"
#include "example/decoder/model_file.h"
#include "example/decoder/weight_format.h"
#include "ruy_like/ruy_like.h"

namespace decoder {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

// ## Files

constexpr int kHeaderBytes = 32;
// vocabulary, dim, layers, heads, hidden, context
const std::vector<std::uint32_t> kTinyShape = {8, 12, 2, 3, 5, 4};
constexpr int kTinyWeights = 2 * 8 * 12 + 2 * (4 * 12 * 12 + 3 * 12 * 5);

void Append(std::uint32_t value, int bytes, std::string* file) {
  for (int i = 0; i < bytes; ++i) {
    *file += static_cast<char>(value >> (8 * i) & 0xff);
  }
}

std::string Header(const std::vector<std::uint32_t>& shape,
                   std::uint32_t version = 1) {
  std::string file = "RLDC";
  Append(version, 4, &file);
  for (const std::uint32_t value : shape) Append(value, 4, &file);
  return file;
}

// With weights from -1 to 1.
std::string TinyFile() {
  std::string file = Header(kTinyShape);
  std::mt19937 random(7);
  for (int i = 0; i < kTinyWeights; ++i) {
    const double value = random() / 2147483648.0 - 1;
    Append(ruy_like::BFloat16(static_cast<float>(value)).bits, 2, &file);
  }
  return file;
}

// Parses from memory of just that size, so that AddressSanitizer sees a read
// beyond it.
absl::StatusOr<Model> Parse(const std::string& bytes) {
  const auto copy = std::make_unique<char[]>(bytes.size());
  std::memcpy(copy.get(), bytes.data(), bytes.size());
  return ParseModel(absl::string_view(copy.get(), bytes.size()));
}

void ExpectError(const absl::StatusOr<Model>& model, absl::StatusCode code,
                 const std::string& message) {
  EXPECT_EQ(model.status().code(), code) << model.status();
  EXPECT_THAT(std::string(model.status().message()), HasSubstr(message));
}

TEST(ModelFileTest, ReadsShapeAndMatrices) {
  std::string file = TinyFile();
  // The embedding's first weight, and the last one of all.
  file.replace(kHeaderBytes, 2, std::string("\x80\x3f", 2));     // 1
  file.replace(file.size() - 2, 2, std::string("\x20\xc0", 2));  // -2.5
  const absl::StatusOr<Model> model = Parse(file);
  ASSERT_TRUE(model.ok()) << model.status();
  const ModelShape& shape = model->shape;
  EXPECT_THAT((std::vector<int>{shape.vocabulary, shape.dim, shape.layers,
                                shape.heads, shape.hidden, shape.context}),
              ElementsAre(8, 12, 2, 3, 5, 4));
  ASSERT_THAT(model->layers, SizeIs(2));
  const LayerWeights& layer = model->layers[1];
  const auto expect_shape = [](const Weights& weights, int rows, int depth) {
    EXPECT_EQ(weights.rows, rows);
    EXPECT_EQ(weights.depth, depth);
    EXPECT_THAT(weights.values, SizeIs(rows * depth));
  };
  expect_shape(model->embedding, 8, 12);
  expect_shape(layer.qkv, 36, 12);
  expect_shape(layer.out, 12, 12);
  expect_shape(layer.gate_up, 10, 12);
  expect_shape(layer.down, 12, 5);
  expect_shape(model->logits, 8, 12);
  EXPECT_EQ(static_cast<float>(model->embedding.values.front()), 1);
  EXPECT_EQ(static_cast<float>(model->logits.values.back()), -2.5f);
}

TEST(ModelFileTest, RefusesEveryTruncation) {
  const std::string file = TinyFile();
  for (std::size_t size = 0; size < file.size(); ++size) {
    ASSERT_FALSE(Parse(file.substr(0, size)).ok()) << size;
  }
  ExpectError(Parse(""), absl::StatusCode::kInvalidArgument, "RLDC");
  ExpectError(Parse(file.substr(0, kHeaderBytes - 1)),
              absl::StatusCode::kDataLoss, "of which 31 are there");
  ExpectError(Parse(file.substr(0, file.size() - 1)),
              absl::StatusCode::kDataLoss, "the file has");
  ExpectError(Parse(file + '\0'), absl::StatusCode::kDataLoss, "the file has");
}

TEST(ModelFileTest, RefusesOtherMagicAndVersion) {
  std::string file = TinyFile();
  file[3] = 'X';
  ExpectError(Parse(file), absl::StatusCode::kInvalidArgument, "RLDC");
  file = TinyFile();
  file[4] = 2;
  ExpectError(Parse(file), absl::StatusCode::kInvalidArgument,
              "version is 2, not 1");
}

TEST(ModelFileTest, RefusesShapes) {
  const char* const names[] = {"vocabulary", "dim",    "layers",
                               "heads",      "hidden", "context"};
  for (std::size_t i = 0; i < kTinyShape.size(); ++i) {
    for (const std::uint32_t value : {0u, 0x80000000u, 0xffffffffu}) {
      std::vector<std::uint32_t> shape = kTinyShape;
      shape[i] = value;
      ExpectError(Parse(Header(shape)), absl::StatusCode::kInvalidArgument,
                  std::string(names[i]) + " is " + std::to_string(value));
    }
  }
  ExpectError(Parse(Header({8, 12, 2, 4, 5, 4})),
              absl::StatusCode::kInvalidArgument, "a multiple of 2 * 4 heads");
  // The largest that it would read: petabytes, for which no memory is asked.
  ExpectError(Parse(Header({1 << 20, 1 << 20, 1 << 10, 1, 1 << 20, 1 << 20})),
              absl::StatusCode::kDataLoss, "the file has 32");
}

TEST(ModelFileTest, RefusesWeightsThatAreNotFinite) {
  for (const char* const bits : {"\xc0\x7f", "\x80\xff"}) {  // NaN, -infinity
    std::string file = TinyFile();
    file.replace(file.size() - 2, 2, std::string(bits, 2));
    ExpectError(Parse(file), absl::StatusCode::kDataLoss,
                "weight 95 of logits");
  }
}

TEST(ModelFileTest, NamesFilesThatCannotBeRead) {
  ExpectError(ReadModel("no/such/file"), absl::StatusCode::kNotFound,
              "no/such/file");
  ExpectError(ReadModel(DECODER_FOLDER), absl::StatusCode::kDataLoss,
              DECODER_FOLDER);
  ExpectError(ReadModel(DECODER_FOLDER "/held_out.txt"),
              absl::StatusCode::kInvalidArgument, "held_out.txt: ");
}

// ## The decoder

// A decoder with these weights, and what it refers to.
struct Loaded {
  explicit Loaded(absl::StatusOr<Model> loaded,
                  const WeightFormat& format = AllFormats()[0])
      : model(std::move(loaded)) {
    EXPECT_TRUE(model.ok()) << model.status();
    auto created = Decoder::Create(*model, format, &context);
    EXPECT_TRUE(created.ok()) << created.status();
    if (created.ok()) decoder = *std::move(created);
  }

  absl::StatusOr<Model> model;
  ruy_like::Context context;
  std::unique_ptr<Decoder> decoder;
};

std::vector<float> Logits(const std::vector<int>& tokens, Decoder* decoder) {
  std::vector<float> logits;
  decoder->Reset();
  for (const int token : tokens) {
    const auto step = decoder->Step(token);
    EXPECT_TRUE(step.ok()) << step.status();
    if (step.ok()) logits.assign(step->begin(), step->end());
  }
  return logits;
}

TEST(DecoderTest, RefusesTokensAndAFullContext) {
  const Loaded loaded(Parse(TinyFile()));
  Decoder* const decoder = loaded.decoder.get();
  ASSERT_NE(decoder, nullptr);
  EXPECT_EQ(decoder->Step(-1).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(decoder->Step(8).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(decoder->position(), 0);
  const std::vector<float> first = Logits({1, 2, 3, 7}, decoder);
  EXPECT_EQ(decoder->Step(0).status().code(),
            absl::StatusCode::kResourceExhausted);
  // Nothing is left of the tokens before; and each of them matters.
  EXPECT_NE(Logits({4, 2, 3, 7}, decoder), first);
  EXPECT_EQ(Logits({1, 2, 3, 7}, decoder), first);
}

// Weights of numbers from -1 to 1 as bf16, of which row 1 is zeros.
Weights RandomWeights(int rows, int depth) {
  Weights weights = {rows, depth, {}};
  std::mt19937 random(rows + depth);
  for (int i = 0; i < rows * depth; ++i) {
    const double value = i / depth == 1 ? 0 : random() / 2147483648.0 - 1;
    weights.values.emplace_back(static_cast<float>(value));
  }
  return weights;
}

// A product's distance from the exact one, as a share of its length.
double RelativeError(const WeightFormat& format, int rows, int depth) {
  const Weights weights = RandomWeights(rows, depth);
  ruy_like::Context context;
  const auto linear = format.make(weights, &context);
  if (!linear.ok()) return INFINITY;
  std::vector<float> x(depth), y(rows, NAN);
  for (int k = 0; k < depth; ++k) x[k] = std::sin(1.0f + k);
  if (!(*linear)->Multiply(x.data(), nullptr, &context, y.data()).ok())
    return INFINITY;
  double errors = 0, squares = 0;
  for (int row = 0; row < rows; ++row) {
    double exact = 0;
    for (int k = 0; k < depth; ++k) {
      exact += static_cast<double>(weights.values[row * depth + k]) * x[k];
    }
    errors += (y[row] - exact) * (y[row] - exact);
    squares += exact * exact;
  }
  EXPECT_EQ(y[1], 0);
  return std::sqrt(errors / squares);
}

TEST(WeightFormatTest, ProductsAreNearTheExactOnes) {
  for (const WeightFormat& format : AllFormats()) {
    EXPECT_EQ(FindFormat(format.name), &format);
    const std::string name = format.name;
    const double most = name == "float" || name == "bf16" ? 1e-6
                        : name == "int8"                  ? 0.01
                        : name == "2b G32"                ? 0.5
                                                          : 0.12;
    for (const int depth : {12, 33, 128, 300}) {
      const double error = RelativeError(format, 64, depth);
      EXPECT_LE(error, most) << name << ", depth " << depth;
      // It is no other format.
      EXPECT_GT(error, most / 100) << name << ", depth " << depth;
    }
  }
  EXPECT_EQ(FindFormat("int1"), nullptr);
}

TEST(DecoderTest, CountsBytes) {
  const auto bytes = [](const char* format) {
    const Loaded loaded(Parse(TinyFile()), *FindFormat(format));
    return loaded.decoder->weight_bytes_per_token();
  };
  // All but the embedding, of which a row of 12.
  constexpr int kRead = kTinyWeights - 8 * 12, kRow = 12 * 2;
  EXPECT_EQ(bytes("float"), std::size_t{kRead * 4 + kRow});
  EXPECT_EQ(bytes("bf16"), std::size_t{kRead * 2 + kRow});
  constexpr int kScales = 2 * (36 + 12 + 10 + 12) + 8;
  EXPECT_EQ(bytes("int8"), std::size_t{kRead + kScales * 4 + kRow});
  // Rows of 12 and 5 levels are 6 and 3 bytes, with one scale each.
  constexpr int kLevels = 2 * ((36 + 12 + 10) * 6 + 12 * 3) + 8 * 6;
  EXPECT_EQ(bytes("4b G32"), std::size_t{kLevels + kScales * 2 + kRow});
}

// ## The model of the repository

TEST(DecoderTest, HasTheLogitsOfPyTorch) {
  const auto model = ReadModel(DECODER_FOLDER "/model.bf16");
  ASSERT_TRUE(model.ok()) << model.status();
  const auto text = ReadFile(DECODER_FOLDER "/held_out.txt");
  ASSERT_TRUE(text.ok()) << text.status();
  const auto file = ReadFile(DECODER_FOLDER "/logits.txt");
  ASSERT_TRUE(file.ok()) << file.status();
  auto table = ParseLogitsTable(*file);
  ASSERT_TRUE(table.ok()) << table.status();
  ASSERT_THAT(*table, SizeIs(5));
  EXPECT_EQ(table->back().first, model->shape.context - 1);
  for (const char* const format : {"float", "bf16"}) {
    const Loaded loaded(model, *FindFormat(format));
    const auto error = LargestDifference(*text, *table, loaded.decoder.get());
    ASSERT_TRUE(error.ok()) << error.status();
    EXPECT_LE(*error, 1e-4f) << format;
  }
  // A table that is wrong in one place is found out.
  const Loaded loaded(model);
  Decoder* const decoder = loaded.decoder.get();
  table->back().second.back() += 0.25f;
  EXPECT_NEAR(*LargestDifference(*text, *table, decoder), 0.25, 1e-3);
  table->back().second.pop_back();
  EXPECT_EQ(LargestDifference(*text, *table, decoder).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(LargestDifference("short", *table, decoder).status().code(),
            absl::StatusCode::kInvalidArgument);
}

// ## Texts

TEST(LogitsTableTest, ReadsLinesAndNamesBadOnes) {
  const auto table = ParseLogitsTable("# made by hand\n0: 1 -2.5\n\n7: 3\n");
  ASSERT_TRUE(table.ok()) << table.status();
  ASSERT_THAT(*table, SizeIs(2));
  EXPECT_EQ((*table)[1].first, 7);
  EXPECT_THAT((*table)[0].second, ElementsAre(1, -2.5f));
  for (const char* const bad :
       {"#\n1 2", "#\n-1: 2", "#\nx: 2", "1: 2\n1: 2", "#\n1: two"}) {
    EXPECT_THAT(std::string(ParseLogitsTable(bad).status().message()),
                HasSubstr("line 2"))
        << bad;
  }
}

// A model of which all weights are 0 gives all tokens the same probability.
TEST(EvaluateTest, AUniformModelTakesTheVocabularysBits) {
  std::string file = TinyFile();
  file.replace(kHeaderBytes, std::string::npos, 2 * kTinyWeights, '\0');
  const Loaded small(Parse(file));
  // A vocabulary of 8 does not have the newline before the text: parsed again
  // with one that has.
  std::vector<std::uint32_t> shape = kTinyShape;
  shape[0] = 16;
  file = Header(shape);
  file.append(2 * (kTinyWeights + 2 * 8 * 12), '\0');
  const Loaded larger(Parse(file));
  Decoder* const decoder = larger.decoder.get();
  // Two windows and a half.
  const auto bits = BitsPerCharacter("\1\2\3\4\5\6\7\n\t\1", 4, decoder);
  ASSERT_TRUE(bits.ok()) << bits.status();
  EXPECT_NEAR(*bits, 4, 1e-6);
  EXPECT_EQ(*BitsPerCharacter("", 4, decoder), 0);
  EXPECT_EQ(BitsPerCharacter("\1\x7f", 4, decoder).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(BitsPerCharacter("\1", 4, small.decoder.get()).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(EvaluateTest, SamplesGoOnBeyondTheContext) {
  const Loaded loaded(ReadModel(DECODER_FOLDER "/model.bf16"));
  const auto sample = [&](float temperature, std::uint32_t seed) {
    const auto text = Sample("The ", loaded.model->shape.context,
                             {300, temperature, seed}, loaded.decoder.get());
    EXPECT_TRUE(text.ok()) << text.status();
    return text.value_or("");
  };
  const std::string text = sample(1, 1);
  EXPECT_THAT(text, SizeIs(300));
  EXPECT_THAT(std::vector<int>(text.begin(), text.end()),
              Each(testing::AllOf(testing::Ge(0), testing::Lt(128))));
  EXPECT_EQ(sample(1, 1), text);
  EXPECT_NE(sample(1, 2), text);
  EXPECT_EQ(sample(0, 1), sample(0, 2));
}

}  // namespace
}  // namespace decoder
