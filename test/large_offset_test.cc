// Elements more than 2^31, and 2^32, elements away from the first one.
//
// Few rows, far apart, in address space that is reserved but not backed: only
// the pages that are touched cost memory.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "ruy_like/mul.h"
#include "ruy_like/reference_mul.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

// How a far matrix lies: so many rows (columns, if it is column-major), so many
// elements apart.
struct Far {
  std::ptrdiff_t count, stride;
};
// The stride itself is beyond 2^31, the third row beyond 2^32.
constexpr Far kFewRows = {3, 2200000001};
// Enough rows for several blocks, of which the last begin beyond 2^31.
constexpr Far kManyRows = {800, 8000001};

// Address space for the larger of these; null if there is none.
template <typename T>
class SparseBuffer final {
 public:
  SparseBuffer() {
    void* mapped = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    data_ = mapped == MAP_FAILED ? nullptr : static_cast<T*>(mapped);
  }
  ~SparseBuffer() {
    if (data_ != nullptr) munmap(data_, kBytes);
  }
  SparseBuffer(const SparseBuffer&) = delete;
  SparseBuffer& operator=(const SparseBuffer&) = delete;
  T* data() { return data_; }

 private:
  static constexpr std::size_t kBytes =
      kFewRows.count * kFewRows.stride * sizeof(T);
  static_assert(kFewRows.count * kFewRows.stride >=
                    kManyRows.count * kManyRows.stride,
                "a buffer serves both");
  T* data_;
};

template <typename T>
Matrix<T> FarMatrix(T* data, std::ptrdiff_t rows, std::ptrdiff_t cols,
                    Order order, const Far& far) {
  Matrix<T> matrix = MakeMatrix(data, rows, cols, order);
  matrix.mutable_layout()->set_stride(far.stride);
  return matrix;
}

class LargeOffsetTest : public PathTest {
 protected:
  LargeOffsetTest() {
    // Threads make for more blocks.
    UseThreads(4, &context_);
  }

  // A product whose lhs, rhs and dst are far matrices or not.
  template <typename Lhs, typename Rhs, typename Accum, typename Dst>
  void Check(const Far& far, bool far_lhs, bool far_rhs, bool far_dst,
             int orders) {
    const auto order = [orders](int bit) { return OrderOf(orders, bit); };
    // As many as a far matrix has, elsewhere 20.
    std::ptrdiff_t rows = 20, depth = 20, cols = 20;
    if (far_lhs) (order(0) == Order::kRowMajor ? rows : depth) = far.count;
    if (far_rhs) (order(1) == Order::kRowMajor ? depth : cols) = far.count;
    if (far_dst) (order(2) == Order::kRowMajor ? rows : cols) = far.count;

    std::vector<Lhs> near_lhs(rows * depth);
    std::vector<Rhs> near_rhs(depth * cols);
    std::vector<Dst> near_dst(rows * cols), expected_values(rows * cols);
    SparseBuffer<Lhs> lhs_space;
    SparseBuffer<Rhs> rhs_space;
    SparseBuffer<Dst> dst_space;
    if (lhs_space.data() == nullptr || rhs_space.data() == nullptr ||
        dst_space.data() == nullptr) {
      std::fprintf(stderr,
                   "\n*** LargeOffsetTest is NOT RUN: no address space to "
                   "reserve ***\n\n");
      GTEST_SKIP() << "can not reserve the address space";
    }
    auto lhs = far_lhs ? FarMatrix(lhs_space.data(), rows, depth, order(0), far)
                       : MakeMatrix(near_lhs.data(), rows, depth, order(0));
    auto rhs = far_rhs ? FarMatrix(rhs_space.data(), depth, cols, order(1), far)
                       : MakeMatrix(near_rhs.data(), depth, cols, order(1));
    auto dst = far_dst ? FarMatrix(dst_space.data(), rows, cols, order(2), far)
                       : MakeMatrix(near_dst.data(), rows, cols, order(2));
    auto expected = MakeMatrix(expected_values.data(), rows, cols, order(2));
    // Small enough for sums of floats to be exact.
    Rng rng(1);
    const auto draw = [&rng] { return rng.Between(0, 100); };
    FillElements(&lhs, draw);
    FillElements(&rhs, draw);
    MulParams<Accum, Dst> params;
    if constexpr (MulParams<Accum, Dst>::kQuantized) {
      params.set_multiplier_fixedpoint(1 << 30);
      params.set_multiplier_exponent(-9);
    }
    ASSERT_OK(Mul(lhs, rhs, params, &context_, &dst));
    ReferenceMul(lhs, rhs, params, &expected);
    for (std::ptrdiff_t row = 0; row < rows; ++row) {
      for (std::ptrdiff_t col = 0; col < cols; ++col) {
        ASSERT_EQ(Element(dst, row, col), Element(expected, row, col))
            << row << ", " << col << "; orders " << orders << ", kernel "
            << context_.last_used_kernel();
      }
    }
  }

  template <typename Lhs, typename Rhs, typename Accum, typename Dst>
  void CheckAll() {
    for (int orders = 0; orders < 8; ++orders) {
      for (int far = 1; far < 8; ++far) {
        Check<Lhs, Rhs, Accum, Dst>(kFewRows, far & 1, far & 2, far & 4,
                                    orders);
        if (IsSkipped() || HasFatalFailure()) return;
      }
      // One at a time, or the product becomes a large one.
      for (int far = 1; far < 8; far *= 2) {
        Check<Lhs, Rhs, Accum, Dst>(kManyRows, far & 1, far & 2, far & 4,
                                    orders);
        if (HasFatalFailure()) return;
      }
    }
  }
};
RUY_LIKE_INSTANTIATE_PER_PATH(LargeOffsetTest);

TEST_P(LargeOffsetTest, Int8) {
  CheckAll<std::int8_t, std::int8_t, std::int32_t, std::int8_t>();
}
TEST_P(LargeOffsetTest, Uint8ToInt32) {
  CheckAll<std::uint8_t, std::uint8_t, std::int32_t, std::int32_t>();
}
TEST_P(LargeOffsetTest, Int8ByInt16) {
  CheckAll<std::int8_t, std::int16_t, std::int32_t, std::int16_t>();
}
TEST_P(LargeOffsetTest, Int16ByInt8) {
  CheckAll<std::int16_t, std::int8_t, std::int32_t, std::uint8_t>();
}
TEST_P(LargeOffsetTest, Float) { CheckAll<float, float, float, float>(); }
TEST_P(LargeOffsetTest, Double) { CheckAll<double, double, double, double>(); }

}  // namespace
}  // namespace ruy_like
