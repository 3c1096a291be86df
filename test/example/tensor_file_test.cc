// Tests example/quantize/tensor_file.h: what NumPy writes is read, and nothing
// that a file may hold does harm.
#include "example/quantize/tensor_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace ruy_like_calibrate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Parses from memory of just that size, so that AddressSanitizer sees a read
// beyond it.
absl::StatusOr<Tensor> Parse(const std::string& bytes) {
  const auto copy = std::make_unique<char[]>(bytes.size());
  std::memcpy(copy.get(), bytes.data(), bytes.size());
  return ParseNpy(absl::string_view(copy.get(), bytes.size()));
}

// The same of what must be right.
Tensor Parsed(const absl::StatusOr<Tensor>& tensor) {
  EXPECT_TRUE(tensor.ok()) << tensor.status();
  return tensor.value_or(Tensor());
}

template <typename T>
std::string Bytes(const std::vector<T>& values, bool swap = false) {
  std::string bytes;
  for (const T value : values) {
    char element[sizeof(T)];
    std::memcpy(element, &value, sizeof(T));
    if (swap) std::reverse(element, element + sizeof(T));
    bytes.append(element, sizeof(T));
  }
  return bytes;
}

// A file as NumPy writes it, with that header and data.
std::string Npy(int version, const std::string& header,
                const std::string& data) {
  std::string file = "\x93NUMPY";
  file += static_cast<char>(version);
  file += '\0';
  const auto length = static_cast<std::uint32_t>(header.size());
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) {
    file += static_cast<char>(length >> (8 * i) & 0xff);
  }
  return file + header + data;
}

std::string Header(const std::string& descr, bool fortran_order,
                   const std::string& shape) {
  return absl::StrCat("{'descr': '", descr,
                      "', 'fortran_order': ", fortran_order ? "True" : "False",
                      ", 'shape': ", shape, ", }      \n");
}

const char kSixFloats[] = "(2, 3)";

TEST(ParseNpy, AllVersions) {
  for (const int version : {1, 2, 3}) {
    const Tensor tensor =
        Parsed(Parse(Npy(version, Header("<f4", false, kSixFloats),
                         Bytes<float>({1, 2, 3, 4, 5, -6.5f}))));
    EXPECT_THAT(tensor.shape, ElementsAre(2, 3));
    EXPECT_THAT(tensor.values, ElementsAre(1, 2, 3, 4, 5, -6.5f));
  }
}

TEST(ParseNpy, Doubles) {
  const Tensor tensor = Parsed(Parse(Npy(
      1, Header("<f8", false, "(3,)"), Bytes<double>({0.1, 1e300, -1e-300}))));
  EXPECT_THAT(tensor.values,
              ElementsAre(0.1f, std::numeric_limits<float>::infinity(), 0));
}

TEST(ParseNpy, OtherByteOrder) {
  const Tensor floats = Parsed(Parse(
      Npy(1, Header(">f4", false, "(2,)"), Bytes<float>({1.25f, -3}, true))));
  EXPECT_THAT(floats.values, ElementsAre(1.25f, -3));
  const Tensor doubles = Parsed(Parse(
      Npy(2, Header(">f8", false, "(2,)"), Bytes<double>({1.25, -3}, true))));
  EXPECT_THAT(doubles.values, ElementsAre(1.25f, -3));
}

TEST(ParseNpy, FortranOrder) {
  // The same matrix, column by column.
  const Tensor matrix = Parsed(Parse(Npy(1, Header("<f4", true, kSixFloats),
                                         Bytes<float>({1, 4, 2, 5, 3, 6}))));
  EXPECT_THAT(matrix.values, ElementsAre(1, 2, 3, 4, 5, 6));
  // Element (i, j, k) of a 2x2x3 tensor is 100 i + 10 j + k.
  std::vector<float> stored, expected;
  for (int k = 0; k < 3; ++k) {
    for (int j = 0; j < 2; ++j) {
      for (int i = 0; i < 2; ++i) stored.push_back(100.0f * i + 10 * j + k);
    }
  }
  expected = stored;
  std::sort(expected.begin(), expected.end());
  const Tensor tensor =
      Parsed(Parse(Npy(1, Header("<f4", true, "(2, 2, 3)"), Bytes(stored))));
  EXPECT_EQ(tensor.values, expected);
}

TEST(ParseNpy, OddShapes) {
  const Tensor scalar =
      Parsed(Parse(Npy(1, Header("<f4", false, "()"), Bytes<float>({7}))));
  EXPECT_THAT(scalar.shape, IsEmpty());
  EXPECT_THAT(scalar.values, ElementsAre(7));
  // Sizes that overflow matter to nobody beside a 0.
  for (const bool fortran_order : {false, true}) {
    const Tensor empty = Parsed(
        Parse(Npy(1,
                  Header("<f8", fortran_order,
                         "(4611686018427387904, 0, 4611686018427387904)"),
                  "")));
    EXPECT_THAT(empty.values, IsEmpty());
  }
}

TEST(ParseNpy, EveryTruncationIsAnError) {
  for (const int version : {1, 2}) {
    const std::string file = Npy(version, Header("<f4", true, kSixFloats),
                                 Bytes<float>({1, 4, 2, 5, 3, 6}));
    ASSERT_TRUE(Parse(file).ok());
    for (std::size_t size = 0; size < file.size(); ++size) {
      EXPECT_FALSE(Parse(file.substr(0, size)).ok()) << size;
    }
    EXPECT_EQ(Parse(file + "x").status().code(), absl::StatusCode::kDataLoss);
  }
}

TEST(ParseNpy, BadHeaders) {
  const std::string data = Bytes<float>({1, 2, 3, 4, 5, 6});
  const struct {
    std::string header;
    const char* message;
  } cases[] = {
      {"", "nothing in place of '{'"},
      {"[1, 2]", "in place of '{'"},
      {"{}", "no 'descr'"},
      {"{'descr': '<f4', 'fortran_order': False}", "no 'shape'"},
      {"{'descr': '<f4', 'shape': (6,)}", "no 'fortran_order'"},
      {"{'descr': '<f4', 'descr': '<f4'}", "'descr' twice"},
      {"{'descr': [('a', '<f4')], 'shape': (6,)}", "a type in quotes"},
      {"{'descr': '<f4", "a type in quotes"},
      {"{'color': 'red'}", "unknown key 'color'"},
      {"{'fortran_order': Maybe}", "True or False"},
      {"{'descr': '<f4' 'shape': (6,)}", "',' or '}'"},
      {Header("<f4", false, "(6,)") + "}", "the header's end"},
      {Header("<f4", false, "6"), "a tuple"},
      {Header("<f4", false, "(-6,)"), "a dimension"},
      {Header("<f4", false, "(2 3)"), "',' or ')'"},
      {Header("<f4", false, "(6.0,)"), "',' or ')'"},
      {Header("<f4", false, "(99999999999999999999,)"), "a dimension"},
      {Header("<f4", false, "(4294967296, 4294967296)"), "more elements"},
      {Header("<f4", false, "(9223372036854775807,)"), "more elements"},
      {Header("<f4", false, "(1000000000000,)"), "the file has 24"},
      {Header("<f4", false, "(5,)"), "the file has 24"},
      {Header("<i4", false, "(6,)"), "type '<i4'"},
      {Header("|O", false, "(6,)"), "type '|O'"},
      {Header("<f2", false, "(6,)"), "type '<f2'"},
      {Header("", false, "(6,)"), "type ''"},
      {Header(std::string(1000, '\x01'), false, "(6,)"), "\\x01..."},
  };
  for (const auto& bad : cases) {
    const auto tensor = Parse(Npy(1, bad.header, data));
    ASSERT_FALSE(tensor.ok()) << bad.header;
    EXPECT_THAT(std::string(tensor.status().message()), HasSubstr(bad.message))
        << bad.header;
  }
  EXPECT_FALSE(Parse("").ok());
  EXPECT_FALSE(Parse(Npy(0, Header("<f4", false, "(6,)"), data)).ok());
  EXPECT_FALSE(Parse(Npy(4, Header("<f4", false, "(6,)"), data)).ok());
  // A header that says to be 4 GB long.
  std::string file = Npy(2, Header("<f4", false, "(6,)"), data);
  file.replace(8, 4, "\xff\xff\xff\xff");
  EXPECT_THAT(std::string(Parse(file).status().message()),
              HasSubstr("4294967295 bytes"));
}

// Random damage: whatever comes of it is no crash, and sizes that fit.
TEST(ParseNpy, Fuzz) {
  const std::string good =
      Npy(1, Header("<f4", true, kSixFloats), Bytes<float>({1, 4, 2, 5, 3, 6}));
  const std::string alphabet = "{}(),:'\"0123456789<>f48TrueFalse \n\xff";
  std::mt19937 random(1);
  int accepted = 0;
  constexpr int kRounds = 20000;
  for (int round = 0; round < kRounds; ++round) {
    std::string file = good;
    for (std::uint32_t edits = 1 + random() % 4; edits > 0; --edits) {
      const std::size_t at = random() % file.size();
      switch (random() % 3) {
        case 0:
          file[at] = alphabet[random() % alphabet.size()];
          break;
        case 1:
          file.insert(at, 1, alphabet[random() % alphabet.size()]);
          break;
        default:
          file.erase(at, 1 + random() % 4);
          break;
      }
      if (file.empty()) file = good;
    }
    const auto tensor = Parse(file);
    if (!tensor.ok()) continue;
    ++accepted;
    EXPECT_LE(tensor->values.size() * 4, file.size());
  }
  // Most damage is noticed; some changes a value or adds a blank.
  EXPECT_GT(accepted, 0);
  EXPECT_LT(accepted, kRounds / 2);
}

TEST(ParseCsv, Numbers) {
  const auto tensor = ParseCsv("a,b,c\n1, 2.5,-3e2\r\n\n4;5 6");
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_THAT(tensor->shape, ElementsAre(2, 3));
  EXPECT_THAT(tensor->values, ElementsAre(1, 2.5f, -300, 4, 5, 6));
  const Tensor special = Parsed(ParseCsv("nan,inf,-inf,1e99\n"));
  EXPECT_TRUE(std::isnan(special.values[0]));
  EXPECT_EQ(special.values[3], std::numeric_limits<float>::infinity());
  const Tensor empty = Parsed(ParseCsv(""));
  EXPECT_THAT(empty.shape, ElementsAre(0, 0));
}

TEST(ParseCsv, Errors) {
  EXPECT_THAT(std::string(ParseCsv("1,2\n3,x\n").status().message()),
              HasSubstr("line 2: 'x' is not a number"));
  EXPECT_THAT(std::string(ParseCsv("1,x\n").status().message()),
              HasSubstr("line 1: 'x' is not a number"));
  EXPECT_THAT(std::string(ParseCsv("a\nb\n").status().message()),
              HasSubstr("line 2: 'b' is not a number"));
  EXPECT_THAT(std::string(ParseCsv("1,2\n\n3\n").status().message()),
              HasSubstr("line 3: 1 numbers, the lines before have 2"));
  EXPECT_FALSE(ParseCsv(std::string("1,\0,2", 5)).ok());
}

TEST(ReadTensor, NpyByNameAlone) {
  const std::string name = testing::TempDir() + "ruy_like_no_tensor.npy";
  for (const char* contents : {"", "hello world", "1,2\n3,4\n"}) {
    std::ofstream(name, std::ios::binary) << contents;
    const auto tensor = ReadTensor(name);
    ASSERT_FALSE(tensor.ok()) << contents;
    EXPECT_THAT(std::string(tensor.status().message()),
                HasSubstr("does not begin with the format's magic string"));
  }
}

TEST(ReadTensor, Files) {
  const std::string name = testing::TempDir() + "ruy_like_tensor_file_test";
  std::ofstream(name, std::ios::binary)
      << Npy(1, Header("<f4", false, "(2,)"), Bytes<float>({1, 2}));
  EXPECT_THAT(Parsed(ReadTensor(name)).values, ElementsAre(1, 2));
  std::ofstream(name, std::ios::binary) << "1,2,3\n";
  EXPECT_THAT(Parsed(ReadTensor(name)).shape, ElementsAre(1, 3));
  std::remove(name.c_str());
  const auto tensor = ReadTensor(name);
  EXPECT_EQ(tensor.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(tensor.status().message()), HasSubstr(name));
  EXPECT_EQ(ReadTensor(testing::TempDir()).status().code(),
            absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace ruy_like_calibrate
