// Validation refuses what the rules say: compared with a plain statement of
// them over calls that are disturbed at random.
#include "ruy_like/front/validate.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <set>
#include <vector>

#include "ruy_like/context.h"
#include "ruy_like/front/kept_calls.h"
#include "ruy_like/mul.h"
#include "ruy_like/packed/packed_operand.h"
#include "ruy_like/scalar.h"
#include "ruy_like/side.h"
#include "test/support/test_util.h"

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
  PackedOperand packed_lhs = Packed(Side::kLhs, &bytes[512]);
  PackedOperand packed_rhs = Packed(Side::kRhs, &bytes[1024]);

  static PackedOperand Packed(Side side, const void* image) {
    PackedOperand packed = {};  // errors name its layout
    packed.side = side;
    packed.layout.kernel_side = side;
    packed.layout.family = Family::k8x8;
    packed.layout.path = Path::kPortable;
    packed.image = image;
    packed.image_bytes = 64;
    return packed;
  }
};

MulCall ValidCall(Buffers* buffers) {
  const auto lhs = RowMajorOf(buffers->lhs(), kRows, kDepth);
  const auto rhs = ColMajorOf(buffers->rhs(), kDepth, kCols);
  const auto dst = ColMajorOf(buffers->dst(), kRows, kCols);
  MulParams<std::int32_t, std::int8_t> params;
  params.set_multiplier_fixedpoint(1 << 30);
  params.set_multiplier_exponent(-3);
  MulCall call;
  internal::Erase(lhs, &call.lhs);
  internal::Erase(rhs, &call.rhs);
  internal::CompleteCall<std::int8_t, std::int8_t>(
      params, dst, /*max_num_threads=*/0, &call);
  return call;
}

template <typename T>
T OneOf(Rng& random, std::initializer_list<T> values) {
  return values.begin()[random.Next() % values.size()];
}

// As ErasePacked does.
void Erase(const PackedOperand& packed, ErasedMatrix* erased) {
  erased->data = packed.image;
  erased->packed = &packed;
  Layout& layout = erased->layout;
  MakeSimpleLayout(layout.rows(), layout.cols(), Order::kColMajor, &layout);
}

void Disturb(Rng& random, Buffers* buffers, MulCall* call) {
  ErasedMatrix* const matrix =
      OneOf(random, {&call->lhs, &call->rhs, &call->dst});
  Layout& layout = matrix->layout;
  const std::ptrdiff_t size = OneOf<std::ptrdiff_t>(
      random, {-1, 0, 1, 3, 4, 5, 7, std::ptrdiff_t{1} << 27,
               (std::ptrdiff_t{1} << 27) + 1, PTRDIFF_MAX >> 23, PTRDIFF_MAX,
               PTRDIFF_MIN});
  switch (random.Next() % 16) {
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
      call->family = OneOf(random, {Family::k8x8, Family::k8x16, Family::kF32});
      break;
    case 6:
      matrix->zero_point = OneOf(random, {-5, 0, 5});
      break;
    case 7:
      matrix->zero_point = kNotZero;
      break;
    case 8:
      call->dst.data_is_const = true;
      break;
    case 9:
      (random.Next() % 2 == 0 ? call->clamp_min : call->clamp_max) =
          OneOf(random, {-1000.0, 0.0, 1000.0, std::nan("")});
      break;
    case 10:
      call->beta = 1;
      break;
    case 11:
      call->max_num_threads = OneOf(random, {-1, 3});
      break;
    case 12:
      switch (random.Next() % 4) {
        case 0:
          call->exponent = OneOf(random, {-32, -31, 30, 31});
          break;
        case 1:
          call->fixedpoint = -1;
          break;
        case 2:
          call->fixedpoint_perchannel = buffers->fixedpoint.data();
          if (random.Next() % 2 == 0) break;
          [[fallthrough]];
        default:
          call->exponent_perchannel = buffers->exponent.data();
          buffers->exponent[random.Next() % kRows] = OneOf(random, {-3, 31});
      }
      break;
    case 13:
      Erase(buffers->packed_lhs, &call->lhs);
      break;
    case 15:
      call->float_sums =
          OneOf(random, {FloatSums::kInOrder, FloatSums::kAnyOrder,
                         FloatSums::kOfContext, static_cast<FloatSums>(3),
                         static_cast<FloatSums>(255)});
      break;
    case 14: {
      PackedOperand* const packed =
          OneOf(random, {&buffers->packed_lhs, &buffers->packed_rhs});
      switch (random.Next() % 5) {
        case 0:
          packed->side = OneOf(random, {Side::kLhs, Side::kRhs});
          break;
        case 1:
          packed->layout.family = OneOf(random, {Family::k8x8, Family::k8x16});
          break;
        case 2:
          packed->layout.path = Path::kNone;
          break;
        case 3:
          packed->layout.kernel_side = Side::kRhs;
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

// The bytes of a matrix's elements.
std::set<std::uintptr_t> BytesOf(const ErasedMatrix& matrix) {
  std::set<std::uintptr_t> bytes;
  if (matrix.packed != nullptr) {
    for (std::size_t i = 0; i < matrix.packed->image_bytes; ++i) {
      bytes.insert(reinterpret_cast<std::uintptr_t>(matrix.packed->image) + i);
    }
    return bytes;
  }
  const Layout& layout = matrix.layout;
  const std::ptrdiff_t element = BytesOf(matrix.scalar, 1);
  for (std::ptrdiff_t row = 0; row < layout.rows(); ++row) {
    for (std::ptrdiff_t col = 0; col < layout.cols(); ++col) {
      for (std::ptrdiff_t i = 0; i < element; ++i) {
        bytes.insert(reinterpret_cast<std::uintptr_t>(matrix.data) +
                     ElementOffset(layout, row, col) * element + i);
      }
    }
  }
  return bytes;
}

bool ShareBytes(const ErasedMatrix& a, const ErasedMatrix& b) {
  const std::set<std::uintptr_t> of_a = BytesOf(a);
  for (const std::uintptr_t byte : BytesOf(b)) {
    if (of_a.count(byte) != 0) return true;
  }
  return false;
}

// What mul.h and packed_matrix.h say, without a thought of speed.
bool IsValid(const MulCall& call) {
  const ErasedMatrix* const matrices[] = {&call.lhs, &call.rhs, &call.dst};
  for (const ErasedMatrix* matrix : matrices) {
    const Layout& layout = matrix->layout;
    const bool col_major = layout.order() == Order::kColMajor;
    if (!col_major && layout.order() != Order::kRowMajor) return false;
    if (layout.rows() < 0 || layout.cols() < 0) return false;
    const std::ptrdiff_t inner = col_major ? layout.rows() : layout.cols();
    const std::ptrdiff_t outer = col_major ? layout.cols() : layout.rows();
    if (layout.stride() < inner) return false;
    // In floating point, for none of the sizes here is close to the limit.
    constexpr double kPad = sizeof(void*) < 8 ? 8 : 4096;
    if ((static_cast<double>(layout.stride()) + kPad) *
            (static_cast<double>(outer) + kPad) * 8 >
        static_cast<double>(PTRDIFF_MAX)) {
      return false;
    }
    const bool may_have_zero_point =
        Is8Bit(matrix->scalar) ||
        (matrix == &call.dst && !IsFloat(matrix->scalar));
    if (matrix->zero_point != 0 && !may_have_zero_point) return false;
  }
  if (call.lhs.layout.cols() != call.rhs.layout.rows() ||
      call.lhs.layout.rows() != call.dst.layout.rows() ||
      call.rhs.layout.cols() != call.dst.layout.cols()) {
    return false;
  }
  const PackedOperand* const lhs = call.lhs.packed;
  const PackedOperand* const rhs = call.rhs.packed;
  const auto fits = [&](const PackedOperand* packed, Side side) {
    return packed == nullptr ||
           (packed->side == side && packed->layout.family == call.family);
  };
  if (!fits(lhs, Side::kLhs) || !fits(rhs, Side::kRhs)) return false;
  if (lhs != nullptr && rhs != nullptr &&
      (lhs->layout.path != rhs->layout.path ||
       lhs->layout.kernel_side == rhs->layout.kernel_side)) {
    return false;
  }
  if (call.max_num_threads < 0 || !(call.clamp_min <= call.clamp_max) ||
      (call.beta != 0 && call.dst.zero_point != 0) ||
      static_cast<int>(call.float_sums) > 2) {
    return false;
  }
  if ((call.fixedpoint_perchannel == nullptr) !=
      (call.exponent_perchannel == nullptr)) {
    return false;
  }
  const bool per_channel = call.fixedpoint_perchannel != nullptr;
  const std::ptrdiff_t channels =
      !per_channel ? 1
      : call.channel_dimension == ChannelDimension::kRow
          ? call.dst.layout.rows()
          : call.dst.layout.cols();
  for (std::ptrdiff_t i = 0; i < channels; ++i) {
    const int fixedpoint =
        per_channel ? call.fixedpoint_perchannel[i] : call.fixedpoint;
    const int exponent =
        per_channel ? call.exponent_perchannel[i] : call.exponent;
    if (fixedpoint < 0 || exponent < -31 || exponent > 30) return false;
  }
  if (call.dst.layout.rows() == 0 || call.dst.layout.cols() == 0) return true;
  for (const ErasedMatrix* matrix : matrices) {
    const Layout& layout = matrix->layout;
    if (matrix->data == nullptr && layout.rows() != 0 && layout.cols() != 0) {
      return false;
    }
  }
  return !call.dst.data_is_const && !ShareBytes(call.lhs, call.dst) &&
         !ShareBytes(call.rhs, call.dst);
}

TEST(ValidateTest, TheCommonCallIsValid) {
  std::int8_t max_exponent;
  Buffers buffers;
  MulCall call = ValidCall(&buffers);
  EXPECT_OK(Validate(call, &max_exponent));
  Erase(buffers.packed_lhs, &call.lhs);
  EXPECT_OK(Validate(call, &max_exponent));
  call = ValidCall(&buffers);
  Erase(buffers.packed_rhs, &call.rhs);
  EXPECT_OK(Validate(call, &max_exponent));
}

TEST(ValidateTest, RefusesWhatTheRulesSayAndNothingElse) {
  Rng random(20261121);
  int valid = 0, kept_calls = 0;
  Context context;
  ContextImpl* const impl = context.impl();
  MutexLock lock(&impl->mutex);
  KeptCall kept;
  {
    Buffers buffers;
    ASSERT_OK(kept.Run(ValidCall(&buffers), -3, impl));
  }
  constexpr int kCalls = 100000;
  for (int i = 0; i < kCalls; ++i) {
    Buffers buffers;
    MulCall call = ValidCall(&buffers);
    for (int changes = 1 + random.Next() % 3; changes > 0; --changes) {
      Disturb(random, &buffers, &call);
    }
    std::int8_t max_exponent;
    const absl::Status status = Validate(call, &max_exponent);
    // More elements than can be listed.
    if (call.lhs.layout.rows() > 1000 || call.lhs.layout.cols() > 1000 ||
        call.rhs.layout.cols() > 1000) {
      continue;
    }
    ASSERT_EQ(status.ok(), IsValid(call)) << status;
    valid += status.ok();
    // Nor does a kept call serve another one that is wrong.
    if (kept.RunAgain(call, impl)) {
      ASSERT_TRUE(status.ok());
      ++kept_calls;
    }
  }
  EXPECT_GT(kept_calls, kCalls / 100);
  EXPECT_GT(valid, kCalls / 20);
  EXPECT_LT(valid, kCalls * 19 / 20);
}

}  // namespace
}  // namespace ruy_like
