// The two ways of validation agree: what passes all conditions at once passes
// them one after the other.
#include "ruy_like/front/validate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <random>
#include <vector>

#include "ruy_like/mul.h"
#include "ruy_like/scalar.h"

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
  // Packed forms of them, elsewhere in the buffer.
  PackedFacts packed_lhs = Packed(Side::kLhs, &bytes[512]);
  PackedFacts packed_rhs = Packed(Side::kRhs, &bytes[1024]);

  static PackedFacts Packed(Side side, const void* image) {
    PackedFacts packed;
    packed.side = side;
    packed.kernel_side = side;
    packed.family = Family::k8x8;
    packed.path = Path::kPortable;
    packed.image = image;
    packed.image_bytes = 64;
    return packed;
  }
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

// As ErasePacked does.
void Erase(const PackedFacts& packed, ErasedMatrix* erased) {
  erased->data = packed.image;
  erased->packed = &packed;
  Layout& layout = erased->layout;
  MakeSimpleLayout(layout.rows(), layout.cols(), Order::kColMajor, &layout);
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
  switch (random() % 15) {
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
      break;
    case 13:
      Erase(buffers->packed_lhs, &call->lhs);
      break;
    case 14: {
      PackedFacts* const packed =
          OneOf(random, {&buffers->packed_lhs, &buffers->packed_rhs});
      switch (random() % 5) {
        case 0:
          packed->side = OneOf(random, {Side::kLhs, Side::kRhs});
          break;
        case 1:
          packed->family = OneOf(random, {Family::k8x8, Family::k8x16});
          break;
        case 2:
          packed->path = Path::kNone;
          break;
        case 3:
          packed->kernel_side = Side::kRhs;
          break;
        case 4:
          packed->image = buffers->dst() + OneOf(random, {-64, -63, 14, 15});
      }
      if (packed == &buffers->packed_lhs) {
        Erase(*packed, &call->lhs);
      } else {
        Erase(*packed, &call->rhs);
      }
    }
  }
}

TEST(ValidateTest, TheCommonCallIsPlain) {
  Buffers buffers;
  const MulCall call = ValidCall(&buffers);
  EXPECT_TRUE(IsPlainlyValid(call));
  EXPECT_TRUE(ValidateInFull(call).ok());
}

TEST(ValidateTest, OnePackedFactsIsPlain) {
  Buffers buffers;
  MulCall call = ValidCall(&buffers);
  Erase(buffers.packed_lhs, &call.lhs);
  EXPECT_TRUE(IsPlainlyValid(call));
  call = ValidCall(&buffers);
  Erase(buffers.packed_rhs, &call.rhs);
  EXPECT_TRUE(IsPlainlyValid(call));
  buffers.packed_rhs.side = Side::kLhs;
  EXPECT_FALSE(IsPlainlyValid(call));
  buffers.packed_rhs.side = Side::kRhs;
  buffers.packed_rhs.family = Family::kF32;
  EXPECT_FALSE(IsPlainlyValid(call));
  buffers.packed_rhs.family = Family::k8x8;
  buffers.packed_rhs.image = buffers.dst() + 14;
  EXPECT_FALSE(IsPlainlyValid(call));
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
