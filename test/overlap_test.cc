// dst and an operand in one buffer: refused if, and only if, they share an
// element.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ruy_like/float16.h"
#include "ruy_like/mul.h"
#include "ruy_like/reference_mul.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

using Bytes = std::vector<std::int8_t>;

// True if bytes are shared, the plain way.
template <typename A, typename B>
bool ShareBytes(const Matrix<A>& a, const Matrix<B>& b) {
  const auto bytes_of = [](const auto& matrix, std::vector<const char*>* out) {
    for (std::ptrdiff_t row = 0; row < matrix.layout().rows(); ++row) {
      for (std::ptrdiff_t col = 0; col < matrix.layout().cols(); ++col) {
        const auto* element =
            matrix.data() + ElementOffset(matrix.layout(), row, col);
        for (std::size_t i = 0; i < sizeof(*element); ++i) {
          out->push_back(reinterpret_cast<const char*>(element) + i);
        }
      }
    }
    std::sort(out->begin(), out->end());
  };
  std::vector<const char*> in_a, in_b, shared;
  bytes_of(a, &in_a);
  bytes_of(b, &in_b);
  std::set_intersection(in_a.begin(), in_a.end(), in_b.begin(), in_b.end(),
                        std::back_inserter(shared));
  return !shared.empty();
}

// Runs lhs * rhs -> dst where dst may lie in lhs's or rhs's buffer, and expects
// what ShareBytes says: an error with the buffer as it was, or a right result.
template <typename Accum = std::int32_t, typename Lhs, typename Rhs,
          typename Dst>
void ExpectByBytes(const Matrix<Lhs>& lhs, const Matrix<Rhs>& rhs,
                   Matrix<Dst> dst, Bytes* buffer) {
  const MulParams<Accum, Dst> params;
  const bool with_lhs = ShareBytes(lhs, dst);
  const bool with_rhs = ShareBytes(rhs, dst);
  std::vector<Dst> right(dst.layout().rows() * dst.layout().cols());
  auto right_dst = RowMajorOf(right, dst.layout().rows(), dst.layout().cols());
  right_dst.set_zero_point(dst.zero_point());
  ReferenceMul(lhs, rhs, params, &right_dst);
  const Bytes before = *buffer;
  Context context;
  const absl::Status status = Mul(lhs, rhs, params, &context, &dst);
  ASSERT_EQ(status.ok(), !with_lhs && !with_rhs) << status;
  if (!status.ok()) {
    EXPECT_CODE(kInvalid, status);
    const std::string message(status.message());
    EXPECT_NE(message.find("dst"), std::string::npos) << message;
    EXPECT_NE(message.find(with_lhs ? "lhs" : "rhs"), std::string::npos)
        << message;
    EXPECT_EQ(*buffer, before);
    return;
  }
  for (std::ptrdiff_t row = 0; row < dst.layout().rows(); ++row) {
    for (std::ptrdiff_t col = 0; col < dst.layout().cols(); ++col) {
      ASSERT_EQ(Element(dst, row, col), Element(right_dst, row, col));
    }
  }
}

class OverlapTest : public testing::Test {
 protected:
  OverlapTest()
      : buffer_(RandomVector<std::int8_t>(1000, 1)),
        other_(RandomVector<std::int8_t>(1000, 2)) {}
  // lhs is 3x4 at the start of buffer_, dst 3x5 in it at `offset`.
  void LhsAndDst(Order lhs_order, std::ptrdiff_t lhs_gap, Order dst_order,
                 std::ptrdiff_t dst_gap, std::ptrdiff_t offset) {
    ExpectByBytes(MakeMatrix(buffer_.data(), 3, 4, lhs_order, lhs_gap),
                  ColMajorOf(other_, 4, 5),
                  MakeMatrix(buffer_.data() + offset, 3, 5, dst_order, dst_gap),
                  &buffer_);
  }

  Bytes buffer_, other_;
};

TEST_F(OverlapTest, AllOfIt) {
  Bytes square = RandomVector<std::int8_t>(16, 3);
  const auto a = RowMajorOf(square, 4, 4);
  const auto b = ColMajorOf(other_, 4, 4);
  ExpectByBytes(a, b, a, &square);
  ExpectByBytes(b, a, a, &square);
  ExpectByBytes(a, a, a, &square);
}

TEST_F(OverlapTest, NeighboursShareNothing) {
  for (std::ptrdiff_t offset : {11, 12}) {  // lhs ends at 12
    LhsAndDst(Order::kRowMajor, 0, Order::kColMajor, 0, offset);
  }
  // And the other way round: dst right before lhs.
  for (std::ptrdiff_t lhs_offset : {14, 15}) {
    ExpectByBytes(RowMajorOf(buffer_.data() + lhs_offset, 3, 4),
                  ColMajorOf(other_, 4, 5), ColMajorOf(buffer_, 3, 5),
                  &buffer_);
  }
}

// Columns 0..3 and columns 4.. of one row-major buffer, 10 wide.
TEST_F(OverlapTest, InterleavedSubMatricesMayShareNothing) {
  for (std::ptrdiff_t offset = 0; offset < 10; ++offset) {
    LhsAndDst(Order::kRowMajor, 6, Order::kRowMajor, 5, offset);
  }
  Context context;
  const auto lhs = MakeMatrix(buffer_.data(), 3, 4, Order::kRowMajor, 6);
  const auto rhs = ColMajorOf(other_, 4, 5);
  auto dst = MakeMatrix(buffer_.data() + 4, 3, 5, Order::kRowMajor, 5);
  const MulParams<std::int32_t, std::int8_t> params;
  EXPECT_OK(Mul(lhs, rhs, params, &context, &dst));
  dst.set_data(buffer_.data() + 3);
  EXPECT_FALSE(Mul(lhs, rhs, params, &context, &dst).ok());
}

// A lhs of two bytes an element, 24 in all, and a dst of two or four.
TEST_F(OverlapTest, Floats) {
  alignas(4) std::int8_t zeros[200] = {};  // which any type has
  Bytes buffer(zeros, zeros + 200);
  BFloat16* const elements = reinterpret_cast<BFloat16*>(buffer.data());
  const std::vector<BFloat16> other(20, BFloat16(1));
  const auto lhs = RowMajorOf(elements, 3, 4);
  const auto rhs = ColMajorOf(other, 4, 5);
  for (const std::ptrdiff_t offset : {0, 10, 11, 12, 13, 20}) {
    ExpectByBytes<float>(lhs, rhs, RowMajorOf(elements + offset, 3, 5),
                         &buffer);
    if (offset % 2 != 0) continue;
    ExpectByBytes<float>(
        lhs, rhs, ColMajorOf(reinterpret_cast<float*>(elements + offset), 3, 5),
        &buffer);
  }
}

TEST_F(OverlapTest, DstInsideAGapOfTheOperand) {
  for (const Order order : kOrders) {
    for (std::ptrdiff_t offset = 0; offset < 60; ++offset) {
      LhsAndDst(order, 40, Order::kRowMajor, 0, offset);
    }
  }
}

TEST_F(OverlapTest, RandomLayouts) {
  Rng rng(1);
  const auto order = [&rng] {
    return rng.OneIn(2) ? Order::kColMajor : Order::kRowMajor;
  };
  int shared = 0;
  constexpr int kRounds = 3000;
  for (int round = 0; round < kRounds; ++round) {
    const std::ptrdiff_t rows = rng.Between(1, 6), depth = rng.Between(1, 6),
                         cols = rng.Between(1, 6);
    const auto lhs = MakeMatrix(buffer_.data() + rng.Between(0, 60), rows,
                                depth, order(), rng.Between(0, 20));
    const auto rhs = MakeMatrix(other_.data() + rng.Between(0, 60), depth, cols,
                                order(), rng.Between(0, 20));
    // In lhs's buffer or in rhs's, of wider elements or not.
    Bytes* const home = rng.OneIn(2) ? &buffer_ : &other_;
    if (rng.OneIn(2)) {
      const auto dst = MakeMatrix(home->data() + rng.Between(0, 100), rows,
                                  cols, order(), rng.Between(0, 20));
      shared += ShareBytes(lhs, dst) || ShareBytes(rhs, dst);
      ExpectByBytes(lhs, rhs, dst, home);
    } else {
      auto* const data = reinterpret_cast<std::int32_t*>(home->data());
      const auto dst = MakeMatrix(data + rng.Between(0, 30), rows, cols,
                                  order(), rng.Between(0, 5));
      shared += ShareBytes(lhs, dst) || ShareBytes(rhs, dst);
      ExpectByBytes(lhs, rhs, dst, home);
    }
    if (HasFatalFailure()) return;
  }
  // Both outcomes were seen often.
  EXPECT_GT(shared, kRounds / 10);
  EXPECT_LT(shared, kRounds * 9 / 10);
}

// Operands may overlap each other, and may be one.
TEST_F(OverlapTest, OperandsMayShareElements) {
  std::vector<std::int32_t> result(16);
  const auto a = RowMajorOf(buffer_, 4, 4);
  ExpectByBytes(a, a, ColMajorOf(result, 4, 4), &buffer_);
}

}  // namespace
}  // namespace ruy_like
