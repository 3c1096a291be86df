// The lists of element types and of products, and README.md's table of them.
#include "ruy_like/scalar.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "ruy_like/erased_call.h"
#include "ruy_like/float8.h"

namespace ruy_like {
namespace {

using internal::TypesAreSupported;

TEST(ScalarTest, BytesOfElements) {
  for (int i = 0; i < kNumScalars; ++i) {
    const Scalar scalar = static_cast<Scalar>(i);
    for (const std::ptrdiff_t count : {-3, 0, 1, 2, 7}) {
      EXPECT_EQ(BytesOf(scalar, count), count * InfoOf(scalar).bits / 8)
          << ScalarName(scalar) << " " << count;
    }
  }
  // No room for a factor more.
  EXPECT_EQ(BytesOf(Scalar::kF64, PTRDIFF_MAX / 8), PTRDIFF_MAX / 8 * 8);
}

TEST(ProductsTest, SomeAreSupportedAndOthersDoNotCompile) {
  using std::int16_t;
  using std::int32_t;
  using std::int8_t;
  using std::uint8_t;
  static_assert(TypesAreSupported<int8_t, uint8_t, int32_t, float>());
  static_assert(!TypesAreSupported<int8_t, uint8_t, int32_t, double>());
  static_assert(!TypesAreSupported<int8_t, uint8_t, float, float>());
  static_assert(TypesAreSupported<int8_t, int16_t, int32_t, uint8_t>());
  static_assert(!TypesAreSupported<int8_t, int16_t, int32_t, float>());
  static_assert(!TypesAreSupported<uint8_t, int16_t, int32_t, int32_t>());
  static_assert(!TypesAreSupported<int16_t, int16_t, int32_t, int32_t>());
  static_assert(!TypesAreSupported<int32_t, int8_t, int32_t, int32_t>());
  static_assert(TypesAreSupported<float, double, float, double>());
  static_assert(!TypesAreSupported<float, int8_t, float, float>());
  static_assert(!TypesAreSupported<float, float, float, int8_t>());
  static_assert(TypesAreSupported<BFloat16, BFloat16, float, BFloat16>());
  static_assert(TypesAreSupported<float, Float16, float, float>());
  static_assert(!TypesAreSupported<float, Float16, float, Float16>());
  static_assert(!TypesAreSupported<BFloat16, Float16, float, float>());
  static_assert(!TypesAreSupported<Float16, Float16, float, BFloat16>());
  static_assert(!TypesAreSupported<Float16, Float16, double, double>());
  static_assert(TypesAreSupported<Float8E4M3, BFloat16, float, BFloat16>());
  static_assert(!TypesAreSupported<Float8E4M3, Float8E4M3, float, float>());
  static_assert(!TypesAreSupported<float, float, float, Float8E5M2>());
}

TEST(ProductsTest, EveryProductHasAFamilyThatItsTransposeSwaps) {
  int products = 0;
  for (int i = 0; i < kNumScalars * kNumScalars; ++i) {
    const Scalar lhs = static_cast<Scalar>(i % kNumScalars);
    const Scalar rhs = static_cast<Scalar>(i / kNumScalars);
    for (int j = 0; j < kNumScalars * kNumScalars; ++j) {
      const Scalar accum = static_cast<Scalar>(j % kNumScalars);
      const Scalar dst = static_cast<Scalar>(j / kNumScalars);
      if (FindProduct(lhs, rhs, accum, dst) == nullptr) continue;
      ++products;
      ASSERT_NE(FindProduct(rhs, lhs, accum, dst), nullptr);
      EXPECT_EQ(InfoOf(FamilyOf(lhs, rhs, accum, dst)).swapped,
                FamilyOf(rhs, lhs, accum, dst));
      EXPECT_GE(InfoOf(dst).bits, 8) << "kernels store whole bytes";
    }
  }
  EXPECT_EQ(products, 24 + 4 + 16 + 4 + 4 + 12);
}

std::string Names(ScalarSet set) {
  std::string names;
  for (int i = 0; i < kNumScalars; ++i) {
    const Scalar scalar = static_cast<Scalar>(i);
    if (!Contains(set, scalar)) continue;
    absl::StrAppend(&names, names.empty() ? "" : ", ", ScalarName(scalar));
  }
  return names;
}

// README.md's rows are the list's lines, in their order, with a remark behind.
TEST(ProductsTest, TheReadmeSaysTheSame) {
  std::ifstream readme(README_FILE);
  std::vector<std::string> rows;
  for (std::string line; std::getline(readme, line);) {
    if (absl::StartsWith(line, "| lhs | rhs | accumulator | dst |")) {
      std::getline(readme, line);  // |---|
      while (std::getline(readme, line) && absl::StartsWith(line, "|")) {
        const std::vector<std::string> cells = absl::StrSplit(line, " | ");
        ASSERT_GE(cells.size(), 5u) << line;
        rows.push_back(absl::StrCat(cells[0], " | ", cells[1], " | ", cells[2],
                                    " | ", cells[3]));
      }
    }
  }
  std::vector<std::string> lines;
  for (const ProductTypes& types : kProducts) {
    lines.push_back(absl::StrCat("| ", Names(types.lhs), " | ",
                                 Names(types.rhs), " | ", Names(types.accum),
                                 " | ", Names(types.dst)));
  }
  EXPECT_EQ(rows, lines);
}

}  // namespace
}  // namespace ruy_like
