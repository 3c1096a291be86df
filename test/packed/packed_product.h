// Test support: a small product with one operand to be packed, and images of
// packed matrices that can be changed.
#ifndef RUY_LIKE_TEST_PACKED_PACKED_PRODUCT_H_
#define RUY_LIKE_TEST_PACKED_PACKED_PRODUCT_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "absl/strings/string_view.h"
#include "ruy_like/base/allocator.h"
#include "ruy_like/packed_matrix.h"
#include "test/support/product.h"
#include "test/support/test_util.h"

namespace ruy_like {

constexpr std::ptrdiff_t kRows = 37, kDepth = 70, kCols = 11;

class PackedProductTest : public PathTest {
 protected:
  PackedProductTest()
      : weights_(RandomVector<std::int8_t>(kRows * kDepth, 1)),
        inputs_(RandomVector<std::uint8_t>(kDepth * kCols, 2)),
        lhs_(RowMajorOf(weights_, kRows, kDepth)),
        rhs_(ColMajorOf(inputs_, kDepth, kCols)) {
    lhs_.set_zero_point(3);
    rhs_.set_zero_point(128);
  }

  PackedMatrix<std::int8_t> PackLhs(Context* context,
                                    const PackOptions& options = {}) {
    auto packed = Pack(lhs_, Side::kLhs, options, context);
    EXPECT_OK(packed);
    return packed.ok() ? *packed : PackedMatrix<std::int8_t>();
  }

  std::vector<std::int32_t> ResultOf(const PackedMatrix<std::int8_t>& packed) {
    return MulTo<std::int32_t>(packed, rhs_, &context_);
  }
  std::vector<std::int32_t> Expected() {
    return ReferenceMulTo<std::int32_t>(lhs_, rhs_);
  }

  std::vector<std::int8_t> weights_;
  std::vector<std::uint8_t> inputs_;
  Matrix<std::int8_t> lhs_;
  Matrix<std::uint8_t> rhs_;
};

// An image in memory that can be changed.
struct Image {
  explicit Image(absl::string_view bytes) : size(bytes.size()) {
    EXPECT_TRUE(AlignedBuffer::Allocate(size, &buffer));
    std::memcpy(buffer.data(), bytes.data(), size);
  }
  char* data() { return static_cast<char*>(buffer.data()); }
  AlignedBuffer buffer;
  std::size_t size;
};

template <typename T = std::int8_t>
absl::Status StatusFrom(const void* data, std::size_t size,
                        VerifyChecksum verify = VerifyChecksum::kYes) {
  return PackedMatrix<T>::FromBytes(data, size, verify).status();
}

}  // namespace ruy_like

#endif  // RUY_LIKE_TEST_PACKED_PACKED_PRODUCT_H_
