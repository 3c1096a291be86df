// Everything that Mul must refuse: the code, a message that names the operand
// and the values, and dst as it was. Overlaps are overlap_test.cc's subject.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "ruy_like/float16.h"
#include "ruy_like/mul.h"
#include "ruy_like/packed_matrix.h"
#include "test/support/product.h"
#include "test/support/sanitizers.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

constexpr std::ptrdiff_t kHuge = std::numeric_limits<std::ptrdiff_t>::max();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// A good product of 3x4 by 4x5, all ones, for a test to spoil.
template <typename Lhs, typename Rhs, typename Accum, typename Dst>
struct GoodCall : Product<Lhs, Rhs, Accum, Dst> {
  GoodCall() : Product<Lhs, Rhs, Accum, Dst>(3, 4, 5, Order::kColMajor, 1, 1) {
    this->dst_values.assign(3 * 5, Dst{42});
  }

  absl::Status Run() { return Product<Lhs, Rhs, Accum, Dst>::Run(&context); }
  // That of lhs, rhs or dst: 0 to 2.
  Layout* MutableLayout(int matrix) {
    return matrix == 0   ? this->lhs.mutable_layout()
           : matrix == 1 ? this->rhs.mutable_layout()
                         : this->dst.mutable_layout();
  }

  void ExpectOk() { EXPECT_OK(Run()); }
  void ExpectError(absl::StatusCode code,
                   const std::vector<std::string>& parts) {
    const std::vector<Dst> before = this->dst_values;
    ExpectStatus(Run(), code, parts);
    EXPECT_EQ(this->dst_values, before) << "dst was written to";
  }
  void ExpectInvalid(const std::vector<std::string>& parts) {
    ExpectError(kInvalid, parts);
  }

  Context context;
};
constexpr const char* kNames[] = {"lhs", "rhs", "dst"};

using Int8Call = GoodCall<std::int8_t, std::int8_t, std::int32_t, std::int8_t>;
using FloatCall = GoodCall<float, float, float, float>;

using BFloat16Call = GoodCall<BFloat16, BFloat16, float, BFloat16>;
using Float16Call = GoodCall<Float16, Float16, float, Float16>;

// Expects this error of a good call once it is spoiled.
template <typename Call, typename Spoil>
void ExpectError(const Spoil& spoil, absl::StatusCode code,
                 const std::vector<std::string>& parts) {
  Call c;
  spoil(&c);
  c.ExpectError(code, parts);
}
template <typename Call, typename Spoil>
void ExpectInvalid(const Spoil& spoil, const std::vector<std::string>& parts) {
  ExpectError<Call>(spoil, kInvalid, parts);
}

TEST(ErrorsTest, TheGoodCallsAreGood) {
  Int8Call().ExpectOk();
  FloatCall().ExpectOk();
  BFloat16Call().ExpectOk();
  Float16Call().ExpectOk();
}

// For the 3 rows and 5 columns of dst; pointers are not checked.
TEST(ErrorsTest, SpansOfAnotherLength) {
  const std::vector<std::int32_t> values(5, 1);
  const std::vector<float> scales(5, 1.f);
  const auto check = [](auto* call, const auto& set, const char* name) {
    set(&call->params, 5);
    call->ExpectInvalid({name, " has 5 elements", "3 rows of dst"});
    set(&call->params, 3);
    call->ExpectOk();
    set(&call->params, 0);
    call->ExpectInvalid({name, " has 0 elements", "3 rows of dst"});
    call->params.set_channel_dimension(ChannelDimension::kCol);
    set(&call->params, 3);
    call->ExpectInvalid({name, "3 elements", "5 columns of"});
    set(&call->params, 5);
    call->ExpectOk();
    call->params.set_channel_dimension(ChannelDimension::kRow);
    set(&call->params, 3);
  };
  Int8Call c;
  check(
      &c,
      [&](auto* params, std::size_t n) {
        params->set_bias(absl::MakeConstSpan(values.data(), n));
      },
      "bias");
  c.params.set_bias(values.data());
  c.params.set_multiplier_exponent_perchannel(values.data());
  check(
      &c,
      [&](auto* params, std::size_t n) {
        params->set_multiplier_fixedpoint_perchannel(
            absl::MakeConstSpan(values.data(), n));
      },
      "multiplier_fixedpoint_perchannel");
  c.params.set_multiplier_fixedpoint_perchannel(values.data());
  check(
      &c,
      [&](auto* params, std::size_t n) {
        params->set_multiplier_exponent_perchannel(
            absl::MakeConstSpan(values.data(), n));
      },
      "multiplier_exponent_perchannel");
  // An array that is set again is not checked by its former length.
  c.params.set_multiplier_fixedpoint_perchannel(values.data());
  c.params.set_bias(values);
  c.ExpectInvalid({"bias has 5 elements"});
  c.params.set_bias(values.data());
  c.params.set_multiplier_fixedpoint_perchannel(values);
  c.params.set_multiplier_fixedpoint(1);
  c.params.set_multiplier_exponent(1);
  c.ExpectOk();
  using ScaledCall = GoodCall<std::int8_t, std::int8_t, std::int32_t, float>;
  ScaledCall scaled;
  scaled.params.set_lhs_scale_perrow(scales);
  scaled.ExpectInvalid({"lhs_scale_perrow has 5 elements", "3 rows of dst"});
  scaled.params.set_lhs_scale(2);
  scaled.params.set_rhs_scale_percol(absl::MakeConstSpan(scales.data(), 3));
  scaled.ExpectInvalid({"rhs_scale_percol has 3 elements", "5 columns of dst"});
  scaled.params.set_rhs_scale_percol(scales);
  scaled.ExpectOk();
}

TEST(ErrorsTest, NullArguments) {
  Int8Call c;
  const std::vector<std::int8_t> before = c.dst_values;
  ExpectStatus(Mul(c.lhs, c.rhs, c.params, nullptr, &c.dst), kInvalid,
               {"context"});
  ExpectStatus(Mul(c.lhs, c.rhs, c.params, &c.context,
                   static_cast<Matrix<std::int8_t>*>(nullptr)),
               kInvalid, {"dst"});
  EXPECT_EQ(c.dst_values, before);
}

TEST(ErrorsTest, NullData) {
  ExpectInvalid<Int8Call>([](auto* c) { c->lhs.set_data(nullptr); },
                          {"lhs", "null", "3x4"});
  ExpectInvalid<Int8Call>([](auto* c) { c->rhs.set_data(nullptr); },
                          {"rhs", "null", "4x5"});
  ExpectInvalid<FloatCall>([](auto* c) { c->dst.set_data(nullptr); },
                           {"dst", "null", "3x5"});
}

TEST(ErrorsTest, DstOfConstData) {
  Int8Call c;
  c.dst.set_data(static_cast<const std::int8_t*>(c.dst_values.data()));
  c.ExpectInvalid({"dst", "const"});
  // Operands may be const or not.
  Int8Call good;
  good.lhs.set_data(static_cast<const std::int8_t*>(good.lhs_values.data()));
  good.ExpectOk();
}

TEST(ErrorsTest, UnknownOrderOfFloatSums) {
  for (const int value : {3, 255}) {
    FloatCall c;
    c.params.set_float_sums(static_cast<FloatSums>(value));
    c.ExpectInvalid({"float sums", std::to_string(value)});
    c.params.set_float_sums(FloatSums::kAnyOrder);
    c.ExpectOk();
    GoodCall<double, double, double, double> d;
    d.params.set_float_sums(static_cast<FloatSums>(value));
    d.ExpectInvalid({"float sums", std::to_string(value)});
  }
}

TEST(ErrorsTest, NegativeDimensions) {
  const std::ptrdiff_t kValues[] = {-1, -1000,
                                    std::numeric_limits<std::ptrdiff_t>::min()};
  for (const std::ptrdiff_t value : kValues) {
    const std::string text = std::to_string(value);
    for (int matrix = 0; matrix < 3; ++matrix) {
      Int8Call rows, cols;
      rows.MutableLayout(matrix)->set_rows(value);
      rows.ExpectInvalid({kNames[matrix], "negative", text});
      cols.MutableLayout(matrix)->set_cols(value);
      cols.ExpectInvalid({kNames[matrix], "negative", text});
    }
  }
}

TEST(ErrorsTest, DimensionsThatDoNotMatch) {
  ExpectInvalid<Int8Call>([](auto* c) { c->lhs.mutable_layout()->set_cols(2); },
                          {"lhs columns = 2", "rhs rows = 4"});
  ExpectInvalid<Int8Call>(
      [](auto* c) { c->dst.mutable_layout()->set_rows(2); },
      {"dst rows = 2", "lhs rows = 3", "lhs is 3x4, rhs is 4x5, dst is 2x5"});
  ExpectInvalid<Int8Call>([](auto* c) { c->dst.mutable_layout()->set_cols(4); },
                          {"dst columns = 4", "rhs columns = 5"});
  // An empty dst excuses nothing.
  ExpectInvalid<Int8Call>([](auto* c) { c->dst.mutable_layout()->set_cols(0); },
                          {"dst columns = 0", "rhs columns = 5"});
}

TEST(ErrorsTest, EmptyPackedMatrices) {
  Int8Call c;
  const PackedMatrix<std::int8_t> empty;
  const auto expect_invalid = [](const absl::Status& status,
                                 const std::string& text) {
    ExpectStatus(status, kInvalid, {text});
  };
  const std::string lhs_is_empty = "lhs is an empty PackedMatrix";
  const std::string rhs_is_empty = "rhs is an empty PackedMatrix";
  expect_invalid(Mul(empty, c.rhs, c.params, &c.context, &c.dst), lhs_is_empty);
  expect_invalid(Mul(c.lhs, empty, c.params, &c.context, &c.dst), rhs_is_empty);
  expect_invalid(Mul(empty, empty, c.params, &c.context, &c.dst), lhs_is_empty);
  // Also where all dimensions match.
  c.lhs.mutable_layout()->set_cols(0);
  c.dst.mutable_layout()->set_cols(0);
  expect_invalid(Mul(c.lhs, empty, c.params, &c.context, &c.dst), rhs_is_empty);
}

TEST(ErrorsTest, StridesBelowTheInnerDimension) {
  for (const std::ptrdiff_t stride :
       {std::ptrdiff_t{2}, std::ptrdiff_t{0}, std::ptrdiff_t{-4},
        std::numeric_limits<std::ptrdiff_t>::min()}) {
    const std::string text = "stride " + std::to_string(stride);
    const char* const inner[][2] = {
        {"columns", "4"}, {"rows", "4"}, {"rows", "3"}};
    for (int matrix = 0; matrix < 3; ++matrix) {
      Int8Call c;
      c.MutableLayout(matrix)->set_stride(stride);
      c.ExpectInvalid(
          {kNames[matrix], text, inner[matrix][0], inner[matrix][1]});
    }
  }
}

TEST(ErrorsTest, UnknownOrders) {
  Int8Call c;
  c.rhs.mutable_layout()->set_order(static_cast<Order>(7));
  c.ExpectInvalid({"rhs", "order", "7"});
}

TEST(ErrorsTest, SizesWhoseByteCountOverflows) {
  ExpectError<FloatCall>(
      [](auto* c) {
        c->lhs.mutable_layout()->set_rows(kHuge / 8);
        c->dst.mutable_layout()->set_rows(kHuge / 8);
        c->dst.mutable_layout()->set_stride(kHuge / 8);
      },
      kOutOfRange, {"lhs", std::to_string(kHuge / 8), "overflow"});
  ExpectError<Int8Call>(
      [](auto* c) { c->lhs.mutable_layout()->set_stride(kHuge); }, kOutOfRange,
      {"lhs", std::to_string(kHuge), "overflow"});
  ExpectError<Int8Call>(
      [](auto* c) {
        c->rhs.mutable_layout()->set_cols(kHuge);
        c->dst.mutable_layout()->set_cols(kHuge);
      },
      kOutOfRange, {"rhs", "overflow"});
  ExpectError<Int8Call>(
      [](auto* c) { c->dst.mutable_layout()->set_stride(kHuge); }, kOutOfRange,
      {"dst", "overflow"});
}

// One byte more than a ptrdiff_t counts: 2 GiB, where pointers have 32 bits.
TEST(ErrorsTest, OneByteTooMany) {
  constexpr std::ptrdiff_t kRows = 1 << 15;
  constexpr std::ptrdiff_t kCols = kHuge / (4 * kRows) + 1;  // 4-byte elements
  for (int matrix = 0; matrix < 3; ++matrix) {
    FloatCall c;
    MakeSimpleLayout(kRows, kCols, Order::kRowMajor, c.MutableLayout(matrix));
    c.ExpectError(kOutOfRange,
                  {kNames[matrix], std::to_string(kCols), "overflow"});
    for (const Side side : {Side::kLhs, Side::kRhs}) {
      if (matrix != 0) continue;
      EXPECT_CODE(kOutOfRange, PackedMatrixBytes(c.lhs, side, {}, &c.context));
      EXPECT_CODE(kOutOfRange, Pack(c.lhs, side, {}, &c.context));
    }
  }
}

// The room that is kept for padding leaves long vectors what they need.
TEST(ErrorsTest, LongVectorsAreNotTooLarge) {
  constexpr std::ptrdiff_t kDepth = 1 << 20;
  const std::vector<float> ones(kDepth, 1);
  const auto lhs = RowMajorOf(ones, 1, kDepth);
  const auto rhs = ColMajorOf(ones, kDepth, 1);
  Context context;
  EXPECT_EQ(MulTo<float>(lhs, rhs, &context)[0], kDepth);
  EXPECT_OK(PackedMatrixBytes(lhs, Side::kLhs, {}, &context));
}

// Tebibytes to pack for the cache, which no machine has; unless it promises
// anything. (What is packed for the one product needs little memory.)
TEST(ErrorsTest, MemoryThatCanNotBeHad) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer ends the program";
  if constexpr (sizeof(void*) < 8) {
    GTEST_SKIP() << "what pointers have room for may well be had";
  }
  constexpr std::ptrdiff_t kSize = 1 << 22;
  if (void* memory = std::malloc(SIZE_MAX >> 20)) {
    std::free(memory);
    GTEST_SKIP() << "this system promises memory that it does not have";
  }
  FloatCall c;
  for (int matrix = 0; matrix < 3; ++matrix) {
    MakeSimpleLayout(kSize, kSize, Order::kRowMajor, c.MutableLayout(matrix));
  }
  // Far from each other, so that they do not overlap.
  c.lhs.set_data(reinterpret_cast<float*>((UINTPTR_MAX >> 8) + 1));
  c.rhs.set_data(reinterpret_cast<float*>(((UINTPTR_MAX >> 8) + 1) * 2));
  c.lhs.set_cache_policy(CachePolicy::kAlwaysCache);
  c.ExpectError(kExhausted, {"memory", "4194304"});
  // The Context is none the worse for it.
  FloatCall good;
  EXPECT_OK(Mul(good.lhs, good.rhs, good.params, &c.context, &good.dst));
}

// ## Zero points

template <typename Call, typename T>
void ExpectBadOperandZeroPoints(T value, const std::string& text) {
  Call lhs_call, rhs_call;
  lhs_call.lhs.set_zero_point(value);
  lhs_call.ExpectInvalid({"lhs", "zero point", text});
  rhs_call.rhs.set_zero_point(value);
  rhs_call.ExpectInvalid({"rhs", "zero point", text});
}

TEST(ErrorsTest, ZeroPointsOfFloats) {
  for (const float value :
       {1.f, -3.f, 0.25f, 1e30f, static_cast<float>(kNan)}) {
    ExpectBadOperandZeroPoints<FloatCall>(value, "zero point");
    FloatCall c;
    c.dst.set_zero_point(value);
    c.ExpectInvalid({"dst", "zero point", "float"});
  }
  ExpectBadOperandZeroPoints<GoodCall<double, double, double, double>>(
      2.0, "double");
  ExpectBadOperandZeroPoints<BFloat16Call>(BFloat16(2), "bfloat16");
  ExpectBadOperandZeroPoints<Float16Call>(Float16(0.5f), "float16");
  ExpectBadOperandZeroPoints<Float16Call>(
      std::numeric_limits<Float16>::signaling_NaN(), "float16");
  Float16Call c;
  c.dst.set_zero_point(std::numeric_limits<Float16>::denorm_min());
  c.ExpectInvalid({"dst", "zero point", "float16"});
  // As with floats, -0 is 0.
  BFloat16Call d;
  d.lhs.set_zero_point(-BFloat16());
  d.ExpectOk();
}

TEST(ErrorsTest, ZeroPointsOfInt16Operands) {
  ExpectInvalid<
      GoodCall<std::int8_t, std::int16_t, std::int32_t, std::int16_t>>(
      [](auto* c) { c->rhs.set_zero_point(3); },
      {"rhs", "int16", "zero point", "3"});
  ExpectInvalid<
      GoodCall<std::int16_t, std::int8_t, std::int32_t, std::int16_t>>(
      [](auto* c) { c->lhs.set_zero_point(-7); },
      {"lhs", "int16", "zero point", "-7"});
  {
    // An int16 dst may have it.
    GoodCall<std::int8_t, std::int8_t, std::int32_t, std::int16_t> c;
    c.dst.set_zero_point(1000);
    c.ExpectOk();
    EXPECT_EQ(c.dst_values[0], 1004);
  }
}

// ## Multipliers

TEST(ErrorsTest, UnknownRounding) {
  Int8Call c;
  c.params.set_multiplier_rounding(static_cast<MultiplierRounding>(3));
  c.ExpectInvalid({"multiplier rounding", "3"});
  c.params.set_multiplier_rounding(MultiplierRounding::kTwice);
  c.ExpectOk();
}

TEST(ErrorsTest, ExponentsOutOfRange) {
  for (const int exponent : {31, 32, -32, 1000, std::numeric_limits<int>::min(),
                             std::numeric_limits<int>::max()}) {
    const std::string text = std::to_string(exponent);
    Int8Call c;
    c.params.set_multiplier_exponent(exponent);
    c.ExpectInvalid({"exponent", text, "[-31, 30]"});

    for (const ChannelDimension dimension : kDimensions) {
      const int channels = dimension == ChannelDimension::kRow ? 3 : 5;
      for (int bad = 0; bad < channels; ++bad) {
        const std::vector<std::int32_t> fixedpoints(channels, 1 << 30);
        std::vector<int> exponents(channels, 0);
        exponents[bad] = exponent;
        Int8Call d;
        d.params.set_channel_dimension(dimension);
        d.params.set_multiplier_fixedpoint_perchannel(fixedpoints.data());
        d.params.set_multiplier_exponent_perchannel(exponents.data());
        d.ExpectInvalid({"exponent", "channel " + std::to_string(bad), text});
      }
    }
  }
  for (const int exponent : {-31, 30}) {
    Int8Call c;
    c.params.set_multiplier_exponent(exponent);
    c.ExpectOk();
  }
}

TEST(ErrorsTest, NegativeFixedpoints) {
  for (const std::int32_t value :
       {-1, std::numeric_limits<std::int32_t>::min()}) {
    const std::string text = std::to_string(value);
    Int8Call c;
    c.params.set_multiplier_fixedpoint(value);
    c.ExpectInvalid({"fixedpoint", text});

    const std::vector<int> exponents(3, 0);
    const std::vector<std::int32_t> fixedpoints = {0, 1 << 30, value};
    Int8Call d;
    d.params.set_multiplier_fixedpoint_perchannel(fixedpoints.data());
    d.params.set_multiplier_exponent_perchannel(exponents.data());
    d.ExpectInvalid({"fixedpoint", "channel 2", text});
  }
}

TEST(ErrorsTest, HalfSetPerChannelMultipliers) {
  const std::vector<std::int32_t> fixedpoints(3, 1 << 30);
  const std::vector<int> exponents(3, 0);
  ExpectInvalid<Int8Call>(
      [&](auto* c) {
        c->params.set_multiplier_fixedpoint_perchannel(fixedpoints.data());
      },
      {"multiplier_exponent_perchannel", "null"});
  ExpectInvalid<Int8Call>(
      [&](auto* c) {
        c->params.set_multiplier_exponent_perchannel(exponents.data());
      },
      {"multiplier_fixedpoint_perchannel", "null"});
  // A scalar setter undoes its own array and leaves the other one.
  Int8Call c;
  c.params.set_multiplier_fixedpoint_perchannel(fixedpoints.data());
  c.params.set_multiplier_exponent_perchannel(exponents.data());
  c.params.set_multiplier_exponent(0);
  c.ExpectInvalid({"multiplier_exponent_perchannel", "null"});
  c.params.set_multiplier_fixedpoint(1 << 30);
  c.ExpectOk();
}

// ## Clamp bounds

TEST(ErrorsTest, ClampBoundsTheWrongWayRound) {
  Int8Call c;
  c.params.set_clamp_min(5);
  c.params.set_clamp_max(4);
  c.ExpectInvalid({"clamp_min", "5", "clamp_max", "4"});
  FloatCall d;
  d.params.set_clamp_min(0.5f);
  d.params.set_clamp_max(0.25f);
  d.ExpectInvalid({"clamp_min", "0.5", "clamp_max", "0.25"});
  d.params.set_clamp_max(0.5f);
  d.ExpectOk();
  Float16Call e;
  e.params.set_clamp_min(Float16(0.5f));
  e.params.set_clamp_max(Float16(0.25f));
  e.ExpectInvalid({"clamp_min", "0.5", "clamp_max", "0.25"});
}

TEST(ErrorsTest, ClampBoundsThatAreNotNumbers) {
  ExpectInvalid<FloatCall>(
      [](auto* c) { c->params.set_clamp_min(static_cast<float>(kNan)); },
      {"clamp_min", "nan"});
  ExpectInvalid<GoodCall<double, float, double, double>>(
      [](auto* c) { c->params.set_clamp_max(kNan); }, {"clamp_max", "nan"});
  ExpectInvalid<BFloat16Call>(
      [](auto* c) {
        c->params.set_clamp_max(std::numeric_limits<BFloat16>::signaling_NaN());
      },
      {"clamp_max", "nan"});
}

// An error leaves the Context as it was, and says nothing of a kernel.
TEST(ErrorsTest, BetaWithAZeroPointOfDst) {
  GoodCall<std::int8_t, std::int8_t, std::int32_t, std::int32_t> c;
  c.dst.set_zero_point(5);
  c.ExpectOk();
  c.params.set_beta(3);
  c.ExpectInvalid({"dst", "zero point 5", "beta = 3"});
  c.dst.set_zero_point(0);
  c.ExpectOk();
  GoodCall<std::int8_t, std::uint8_t, std::int32_t, float> d;
  d.ExpectOk();
  d.dst.set_zero_point(0.5f);
  d.ExpectInvalid({"dst", "zero point 0"});
}

TEST(ErrorsTest, AnErrorChangesNothingInTheContext) {
  Int8Call c;
  c.params.set_multiplier_fixedpoint(-1);
  EXPECT_FALSE(c.Run().ok());
  EXPECT_STREQ(c.context.last_used_kernel(), "");
  c.params.set_multiplier_fixedpoint(1);
  c.ExpectOk();
  EXPECT_STRNE(c.context.last_used_kernel(), "");
}

}  // namespace
}  // namespace ruy_like
