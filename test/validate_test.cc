// The two ways of validation agree: what passes all conditions at once passes
// them one after the other.
#include "ruy_like/validate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <random>
#include <vector>

#include "ruy_like/mul.h"

namespace ruy_like {
namespace {

constexpr std::ptrdiff_t kRows = 3, kDepth = 4, kCols = 5;

// Operands and dst in one buffer, one behind the other with a byte between.
struct Buffers {
  std::vector<std::int8_t> bytes = std::vector<std::int8_t>(2048);
  std::vector<std::int32_t> fixedpoint = std::vector<std::int32_t>(8, 1 << 30);
  std::vector<std::int32_t> exponent = std::vector<std::int32_t>(8, -3);
  std::int8_t* lhs() { return &bytes[0]; }
  std::int8_t* rhs() { return &bytes[64]; }
  std::int8_t* dst() { return &bytes[128]; }
};

MulCall ValidCall(Buffers* buffers) {
  Matrix<std::int8_t> lhs, rhs, dst;
  MakeSimpleLayout(kRows, kDepth, Order::kRowMajor, lhs.mutable_layout());
  MakeSimpleLayout(kDepth, kCols, Order::kColMajor, rhs.mutable_layout());
  MakeSimpleLayout(kRows, kCols, Order::kColMajor, dst.mutable_layout());
  lhs.set_data(buffers->lhs());
  rhs.set_data(buffers->rhs());
  dst.set_data(buffers->dst());
  MulParams<std::int32_t, std::int8_t> params;
  params.set_multiplier_fixedpoint(1 << 30);
  params.set_multiplier_exponent(-3);
  MulCall call;
  internal::Erase(lhs, &call.lhs);
  internal::Erase(rhs, &call.rhs);
  internal::CompleteCall(params, dst, /*max_num_threads=*/0, &call);
  return call;
}

using Random = std::mt19937;

template <typename T>
T OneOf(Random& random, std::initializer_list<T> values) {
  return values.begin()[random() % values.size()];
}

void Disturb(Random& random, Buffers* buffers, MulCall* call) {
  ErasedMatrix* const matrix =
      OneOf(random, {&call->lhs, &call->rhs, &call->dst});
  Layout& layout = matrix->layout;
  const std::ptrdiff_t size = OneOf<std::ptrdiff_t>(
      random, {-1, 0, 1, 3, 4, 5, 7, std::ptrdiff_t{1} << 27,
               (std::ptrdiff_t{1} << 27) + 1, std::ptrdiff_t{1} << 40,
               std::numeric_limits<std::ptrdiff_t>::max(),
               std::numeric_limits<std::ptrdiff_t>::min()});
  switch (random() % 13) {
    case 0:
      layout.set_rows(size);
      break;
    case 1:
      layout.set_cols(size);
      break;
    case 2:
      layout.set_stride(size);
      break;
    case 3:
      layout.set_order(OneOf(random, {Order::kColMajor, Order::kRowMajor,
                                      static_cast<Order>(77)}));
      break;
    case 4:
      matrix->data = OneOf<const void*>(
          random,
          {nullptr, buffers->lhs(), buffers->lhs() + 11, buffers->lhs() + 12,
           buffers->rhs() + 19, buffers->rhs() + 20, buffers->dst() - 20});
      break;
    case 5:
      matrix->scalar = OneOf(random, {Scalar::kU8, Scalar::kI16, Scalar::kF32});
      break;
    case 6:
      matrix->zero_point = OneOf(random, {-5, 0, 5});
      break;
    case 7:
      matrix->zero_point_is_integer = false;
      break;
    case 8:
      call->dst.data_is_const = true;
      break;
    case 9:
      (random() % 2 == 0 ? call->clamp_min : call->clamp_max) =
          OneOf(random, {-1000.0, 0.0, 1000.0, std::nan("")});
      break;
    case 10:
      call->beta = 1;
      break;
    case 11:
      call->max_num_threads = OneOf(random, {-1, 3});
      break;
    case 12:
      switch (random() % 4) {
        case 0:
          call->exponent = OneOf(random, {-32, -31, 30, 31});
          break;
        case 1:
          call->fixedpoint = -1;
          break;
        case 2:
          call->fixedpoint_perchannel = buffers->fixedpoint.data();
          if (random() % 2 == 0) break;
          [[fallthrough]];
        default:
          call->exponent_perchannel = buffers->exponent.data();
          buffers->exponent[random() % kRows] = OneOf(random, {-3, 31});
      }
  }
}

TEST(ValidateTest, TheCommonCallIsPlain) {
  Buffers buffers;
  const MulCall call = ValidCall(&buffers);
  EXPECT_TRUE(IsPlainlyValid(call));
  EXPECT_TRUE(ValidateInFull(call).ok());
}

TEST(ValidateTest, WhatIsPlainIsValid) {
  Random random(20261121);
  int plain = 0, valid = 0;
  constexpr int kCalls = 200000;
  for (int i = 0; i < kCalls; ++i) {
    Buffers buffers;
    MulCall call = ValidCall(&buffers);
    for (int changes = 1 + random() % 3; changes > 0; --changes) {
      Disturb(random, &buffers, &call);
    }
    const absl::Status status = ValidateInFull(call);
    valid += status.ok();
    if (!IsPlainlyValid(call)) continue;
    ++plain;
    ASSERT_TRUE(status.ok()) << status;
  }
  // Neither of them says the same of everything.
  EXPECT_GT(plain, kCalls / 20);
  EXPECT_GT(valid, plain);
  EXPECT_LT(valid, kCalls * 19 / 20);
}

}  // namespace
}  // namespace ruy_like
