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
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

class HostileMemoryTest : public PathTest {
 protected:
  // A result of this shape with operands `shift` bytes off their alignment.
  template <typename Src, typename Accum, typename Dst>
  std::string ResultAt(std::ptrdiff_t shift, std::ptrdiff_t rows,
                       std::ptrdiff_t depth, std::ptrdiff_t cols, Order order) {
    const auto lhs_values = RandomVector<Src>(rows * depth, -50, 50, 1);
    const auto rhs_values = RandomVector<Src>(depth * cols, -50, 50, 2);
    // Each ends at its guard page, from which `shift` bytes are left.
    const auto place = [shift](GuardedBuffer* buffer, const void* data,
                               std::size_t bytes) {
      char* const at = buffer->data() + buffer->bytes() - shift - bytes;
      if (data != nullptr) std::memcpy(at, data, bytes);
      return at;
    };
    const std::size_t dst_bytes = rows * cols * sizeof(Dst);
    GuardedBuffer lhs_buffer(lhs_values.size() * sizeof(Src) + 8, Flush::kEnd);
    GuardedBuffer rhs_buffer(rhs_values.size() * sizeof(Src) + 8, Flush::kEnd);
    GuardedBuffer dst_buffer(dst_bytes + 8, Flush::kEnd);
    const auto lhs = MakeMatrix(
        reinterpret_cast<Src*>(place(&lhs_buffer, lhs_values.data(),
                                     lhs_values.size() * sizeof(Src))),
        rows, depth, Order::kRowMajor);
    const auto rhs = MakeMatrix(
        reinterpret_cast<Src*>(place(&rhs_buffer, rhs_values.data(),
                                     rhs_values.size() * sizeof(Src))),
        depth, cols, Order::kColMajor);
    char* const result = place(&dst_buffer, nullptr, dst_bytes);
    auto dst = MakeMatrix(reinterpret_cast<Dst*>(result), rows, cols, order);
    const absl::Status status =
        Mul(lhs, rhs, MulParams<Accum, Dst>(), &context_, &dst);
    return status.ok() ? std::string(result, dst_bytes) : status.ToString();
  }

  template <typename Src, typename Accum, typename Dst>
  void ExpectTheSameAnywhere() {
    for (const std::ptrdiff_t cols : {1, 5, 37}) {
      for (const Order order : {Order::kColMajor, Order::kRowMajor}) {
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
  const auto weights = RandomVector<std::int8_t>(kRows * kDepth, -128, 127, 1);
  const auto inputs = RandomVector<std::int8_t>(kDepth * kCols, -128, 127, 2);
  const auto good =
      Pack(MakeMatrix(weights.data(), kRows, kDepth, Order::kRowMajor),
           Side::kLhs, PackOptions(), &context_);
  ASSERT_TRUE(good.ok());
  const auto bytes = good->Serialize();
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
      auto dst = MakeMatrix(result.data(), rows, kCols, Order::kColMajor);
      // Whatever it says, it returns.
      Mul(*forged, MakeMatrix(other.data(), depth, kCols, Order::kColMajor),
          MulParams<std::int32_t, std::int32_t>(), &context_, &dst)
          .IgnoreError();
    }
  }
  // Such as another zero point, which nothing else in the image contradicts.
  EXPECT_GT(accepted, 0);
}

}  // namespace
}  // namespace ruy_like
