// Operands where nobody would put them, and images of packed matrices that were
// forged with the right checksums. Runs under AddressSanitizer too.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "ruy_like/base/allocator.h"
#include "ruy_like/base/checksum.h"
#include "ruy_like/mul.h"
#include "ruy_like/packed/packed_image.h"
#include "ruy_like/packed_matrix.h"
#include "test/support/guarded_buffer.h"
#include "test/support/product.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

class HostileMemoryTest : public PathTest {
 protected:
  // A result of this shape with operands `shift` bytes off their alignment.
  template <typename Src, typename Accum, typename Dst>
  std::string ResultAt(std::ptrdiff_t shift, std::ptrdiff_t rows,
                       std::ptrdiff_t depth, std::ptrdiff_t cols, Order order) {
    const Product<Src, Src, Accum, Dst> product(rows, depth, cols);
    // Each ends at its guard page, from which `shift` bytes are left.
    const auto place = [shift](const auto& values, GuardedBuffer* buffer) {
      const std::size_t bytes = values.size() * sizeof(values[0]);
      char* const at = buffer->data() + buffer->bytes() - shift - bytes;
      std::memcpy(at, values.data(), bytes);
      return at;
    };
    const std::size_t dst_bytes = rows * cols * sizeof(Dst);
    GuardedBuffer lhs_buffer(rows * depth * sizeof(Src) + 8, Flush::kEnd);
    GuardedBuffer rhs_buffer(depth * cols * sizeof(Src) + 8, Flush::kEnd);
    GuardedBuffer dst_buffer(dst_bytes + 8, Flush::kEnd);
    auto lhs = product.lhs;
    auto rhs = product.rhs;
    auto dst = MakeMatrix(static_cast<Dst*>(nullptr), rows, cols, order);
    lhs.set_data(
        reinterpret_cast<Src*>(place(product.lhs_values, &lhs_buffer)));
    rhs.set_data(
        reinterpret_cast<Src*>(place(product.rhs_values, &rhs_buffer)));
    char* const result = place(product.dst_values, &dst_buffer);
    dst.set_data(reinterpret_cast<Dst*>(result));
    const absl::Status status = Mul(lhs, rhs, product.params, &context_, &dst);
    return status.ok() ? std::string(result, dst_bytes) : status.ToString();
  }

  template <typename Src, typename Accum, typename Dst>
  void ExpectTheSameAnywhere() {
    for (const std::ptrdiff_t cols : {1, 5, 37}) {
      for (const Order order : kOrders) {
        const std::string expected =
            ResultAt<Src, Accum, Dst>(0, 53, 67, cols, order);
        EXPECT_EQ(expected.size(), 53 * cols * sizeof(Dst)) << expected;
        // Multiples of an element: less is undefined in C++ itself.
        for (std::ptrdiff_t shift = sizeof(Src) < sizeof(Dst) ? sizeof(Dst)
                                                              : sizeof(Src);
             shift < 8; shift += sizeof(Dst)) {
          EXPECT_TRUE((ResultAt<Src, Accum, Dst>(shift, 53, 67, cols, order) ==
                       expected))
              << shift;
        }
      }
    }
  }
};
RUY_LIKE_INSTANTIATE_PER_PATH(HostileMemoryTest);

// Aligned to an element and no more, at the very end of a page.
TEST_P(HostileMemoryTest, OperandsAlignedToAnElement) {
  ExpectTheSameAnywhere<std::int8_t, std::int32_t, std::int8_t>();
  ExpectTheSameAnywhere<std::int8_t, std::int32_t, std::int32_t>();
  ExpectTheSameAnywhere<std::int8_t, std::int32_t, std::int16_t>();
  ExpectTheSameAnywhere<float, float, float>();
}

// Each byte of the header, some values each, with the header's checksum made
// right again: an error or, where it does not matter, a matrix that reads
// nothing beyond its image.
TEST_P(HostileMemoryTest, ForgedHeaders) {
  constexpr std::ptrdiff_t kRows = 33, kDepth = 21, kCols = 6;
  constexpr std::uint64_t kHeaderSeed = 0x68656164;
  constexpr std::size_t kCovered = kImageHeaderBytes - sizeof(std::uint64_t);
  const auto weights = RandomVector<std::int8_t>(kRows * kDepth, 1);
  const auto inputs = RandomVector<std::int8_t>(kDepth * kCols, 2);
  ASSERT_VALUE(const auto good, Pack(RowMajorOf(weights, kRows, kDepth),
                                     Side::kLhs, {}, &context_));
  const auto bytes = good.Serialize();
  // A whole number of 64 bytes: it starts on such a boundary before the page.
  GuardedBuffer image(bytes.size(), Flush::kEnd);
  ASSERT_EQ(reinterpret_cast<std::uintptr_t>(image.data()) % kBufferAlignment,
            0u);
  int accepted = 0;
  for (std::size_t at = 0; at < kCovered; ++at) {
    for (const int change : {1, 2, 0x80, 0xff}) {
      std::memcpy(image.data(), bytes.data(), bytes.size());
      image.data()[at] = static_cast<char>(image.data()[at] ^ change);
      const std::uint64_t checksum =
          Checksum64(image.data(), kCovered, kHeaderSeed);
      std::memcpy(image.data() + kCovered, &checksum, sizeof(checksum));
      const auto forged = PackedMatrix<std::int8_t>::FromBytes(
          image.data(), image.bytes(), VerifyChecksum::kNo);
      if (!forged.ok()) continue;
      ++accepted;
      EXPECT_LE(forged->Serialize().size(), image.bytes());
      const std::ptrdiff_t rows = forged->rows(), depth = forged->cols();
      ASSERT_LE(rows * depth, 1 << 16);
      const std::vector<std::int8_t> other(depth * kCols, 1);
      std::vector<std::int32_t> result(rows * kCols);
      auto dst = ColMajorOf(result, rows, kCols);
      // Whatever it says, it returns.
      Mul(*forged, ColMajorOf(other, depth, kCols),
          MulParams<std::int32_t, std::int32_t>(), &context_, &dst)
          .IgnoreError();
    }
  }
  // Such as another zero point, which nothing else in the image contradicts.
  EXPECT_GT(accepted, 0);
}

}  // namespace
}  // namespace ruy_like
