// Packed matrices as bytes: what is written, and nothing but a Status from
// bytes that are not what they should be.
#include "ruy_like/packed/packed_image.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "ruy_like/base/checksum.h"
#include "ruy_like/float16.h"
#include "ruy_like/packed_matrix.h"
#include "test/packed/packed_product.h"
#include "test/support/guarded_buffer.h"
#include "test/support/test_util.h"
#include "test/support/unix.h"

#if RUY_LIKE_TEST_UNIX
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace ruy_like {
namespace {

using PackedImageTest = PackedProductTest;
RUY_LIKE_INSTANTIATE_PER_PATH(PackedImageTest);

TEST_P(PackedImageTest, SerializesAlike) {
  const PackedMatrix<std::int8_t> packed = PackLhs(&context_);
  EXPECT_EQ(packed.Serialize(), PackLhs(&context_).Serialize());
  Image image(packed.Serialize());
  for (const VerifyChecksum verify :
       {VerifyChecksum::kNo, VerifyChecksum::kYes}) {
    ASSERT_VALUE(auto read, PackedMatrix<std::int8_t>::FromBytes(
                                image.data(), image.size, verify));
    EXPECT_EQ(read.Serialize().data(), image.data()) << "not in place";
    EXPECT_EQ(read.rows(), packed.rows());
    EXPECT_EQ(read.cols(), packed.cols());
    EXPECT_EQ(read.zero_point(), packed.zero_point());
    EXPECT_EQ(read.path(), packed.path());
    EXPECT_EQ(read.layout_name(), packed.layout_name());
    EXPECT_EQ(ResultOf(read), Expected());
  }
}

#if RUY_LIKE_TEST_UNIX
TEST_P(PackedImageTest, MapsAFile) {
  const std::string name = testing::TempDir() + "/packed_matrix_" +
                           PathName(GetParam()) + std::to_string(getpid());
  {
    const PackedMatrix<std::int8_t> packed = PackLhs(&context_);
    std::ofstream file(name, std::ios::binary);
    file << packed.Serialize();
  }
  const int file = open(name.c_str(), O_RDONLY);
  ASSERT_GE(file, 0);
  const std::size_t size = static_cast<std::size_t>(lseek(file, 0, SEEK_END));
  void* const mapped = mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  close(file);
  unlink(name.c_str());
  ASSERT_VALUE(auto packed, PackedMatrix<std::int8_t>::FromBytes(mapped, size));
  EXPECT_EQ(ResultOf(packed), Expected());
  munmap(mapped, size);
}
#endif

TEST_P(PackedImageTest, EveryFlippedBitIsNoticed) {
  Image image(PackLhs(&context_).Serialize());
  for (std::size_t i = 0; i < image.size; ++i) {
    for (const int bit : {0, 3, 7}) {
      image.data()[i] ^= static_cast<char>(1 << bit);
      EXPECT_FALSE(StatusFrom(image.data(), image.size).ok()) << "byte " << i;
      // Unverified, the header still is, and the rest is but numbers.
      auto read = PackedMatrix<std::int8_t>::FromBytes(image.data(), image.size,
                                                       VerifyChecksum::kNo);
      EXPECT_EQ(read.ok(), i >= kImageHeaderBytes) << "byte " << i;
      if (read.ok() && i % 64 == 0) ResultOf(*read);
      image.data()[i] ^= static_cast<char>(1 << bit);
    }
  }
  EXPECT_OK(StatusFrom(image.data(), image.size));
}

TEST_P(PackedImageTest, EveryTruncationIsNoticed) {
  const PackedMatrix<std::int8_t> packed = PackLhs(&context_);
  const absl::string_view whole = packed.Serialize();
  for (std::size_t size = 0; size < whole.size();
       size += size < 2 * kImageHeaderBytes ? 1 : 61) {
    // What is there starts at a page, and nothing but a guard is behind the
    // last page.
    GuardedBuffer buffer(size, Flush::kStart);
    std::memcpy(buffer.data(), whole.data(), size);
    for (const VerifyChecksum verify :
         {VerifyChecksum::kNo, VerifyChecksum::kYes}) {
      EXPECT_CODE(kDataLoss, StatusFrom(buffer.data(), size, verify)) << size;
    }
  }
}

// With a good checksum over a header that tells nonsense.
TEST_P(PackedImageTest, HeadersThatNoLibraryWrites) {
  ImageHeader good;
  Image image(PackLhs(&context_).Serialize());
  ASSERT_OK(ReadImageHeader(image.data(), image.size, &good));
  const auto status_of = [&](auto change,
                             VerifyChecksum verify = VerifyChecksum::kYes) {
    ImageHeader header = good;
    change(&header);
    WriteImageHeader(header, image.data());
    return StatusFrom(image.data(), image.size, verify);
  };
  const auto expect_refused = [&](auto change) {
    EXPECT_FALSE(status_of(change, VerifyChecksum::kNo).ok());
    EXPECT_FALSE(status_of(change).ok());
  };
  constexpr std::ptrdiff_t kOdd[] = {
      -1,      0,           1,           kRows + 16,
      1 << 20, PTRDIFF_MAX, PTRDIFF_MIN, PTRDIFF_MAX >> 23};
  for (const std::ptrdiff_t value : kOdd) {
    expect_refused([=](ImageHeader* h) { h->width = value; });
    expect_refused([=](ImageHeader* h) { h->depth = value; });
    expect_refused([=](ImageHeader* h) {
      h->image_bytes = static_cast<std::size_t>(value);
    });
  }
  for (std::ptrdiff_t ImageHeader::*const size :
       {&ImageHeader::width, &ImageHeader::depth}) {
    // No memory holds it.
    EXPECT_CODE(kOutOfRange,
                status_of([=](ImageHeader* h) { h->*size = PTRDIFF_MAX; }));
  }
  for (int kernels::PanelFormat::*const number :
       {&kernels::PanelFormat::width, &kernels::PanelFormat::dot_width,
        &kernels::PanelFormat::depth_multiple}) {
    for (const int value : {-1, 0, 1, 5, 1 << 30}) {
      if (value == good.layout.format.*number) continue;
      expect_refused([=](ImageHeader* h) { h->layout.format.*number = value; });
    }
  }
  for (const Path path : PathsBestFirst(kAllPaths)) {
    const absl::Status status =
        status_of([=](ImageHeader* h) { h->layout.path = path; });
    // Another path may have the same layout; where it has not, or this machine
    // does not have it, that is told.
    if ((path & DetectedPaths()) == Path::kNone) {
      EXPECT_FALSE(status.ok());
    }
    if (!status.ok()) {
      EXPECT_CODE(kPrecondition, status);
    }
  }
  for (const Scalar scalar :
       {Scalar::kU8, Scalar::kI16, Scalar::kI32, Scalar::kF32, Scalar::kF64,
        Scalar::kBF16, Scalar::kF16}) {
    expect_refused([=](ImageHeader* h) { h->scalar = scalar; });
  }
  expect_refused(
      [](ImageHeader* h) { h->layout.format.scalar = Scalar::kF64; });
  expect_refused([](ImageHeader* h) { h->zero_point = 128; });
  EXPECT_CODE(kDataLoss, status_of([](ImageHeader* h) { ++h->data_checksum; }));
}

// Floats, whatever they were made of, have the same panels: what they are is
// the header's word.
TEST_P(PackedImageTest, ElementsAreOfTheTypeThatWasPacked) {
  const std::vector<BFloat16> values(12 * 7, BFloat16(3));
  ASSERT_VALUE(const auto packed,
               Pack(RowMajorOf(values, 12, 7), Side::kLhs, {}, &context_));
  Image image(packed.Serialize());
  EXPECT_OK(PackedMatrix<BFloat16>::FromBytes(image.data(), image.size));
  const absl::Status as_float16 =
      PackedMatrix<Float16>::FromBytes(image.data(), image.size).status();
  EXPECT_EQ(as_float16.message(), "a packed matrix of bfloat16, not float16");
  EXPECT_FALSE(PackedMatrix<float>::FromBytes(image.data(), image.size).ok());
  // No product with doubles takes it.
  const PackOptions options = {Order::kColMajor, PackFor::kDoubleProduct};
  EXPECT_CODE(kInvalid,
              Pack(RowMajorOf(values, 12, 7), Side::kLhs, options, &context_));
}

TEST_P(PackedImageTest, OtherPointersAndTypes) {
  Image image(PackLhs(&context_).Serialize());
  EXPECT_CODE(kInvalid, StatusFrom(nullptr, 1000));
  EXPECT_CODE(kInvalid, StatusFrom(image.data() + 8, image.size - 8));
  EXPECT_CODE(kInvalid, StatusFrom<float>(image.data(), image.size));
  EXPECT_CODE(kInvalid, StatusFrom<std::uint8_t>(image.data(), image.size));
  image.data()[0] = 'x';
  EXPECT_CODE(kInvalid, StatusFrom(image.data(), image.size));
}

// Byte order mark and version are looked at before the checksum, which another
// version may well make otherwise.
TEST_P(PackedImageTest, OtherVersionsAndByteOrders) {
  Image image(PackLhs(&context_).Serialize());
  std::swap(image.data()[8], image.data()[11]);
  std::swap(image.data()[9], image.data()[10]);
  ExpectStatus(StatusFrom(image.data(), image.size), kPrecondition,
               {"byte order"});
  std::swap(image.data()[8], image.data()[11]);
  std::swap(image.data()[9], image.data()[10]);
  const std::uint32_t version = 2;
  std::memcpy(image.data() + 12, &version, sizeof(version));
  ExpectStatus(StatusFrom(image.data(), image.size), kPrecondition,
               {"version 2"});
}

// A file may be of a machine whose pointers are wider.
TEST_P(PackedImageTest, SizesOfAWiderMachine) {
  constexpr std::size_t kChecksumAt = kImageHeaderBytes - 8;
  const auto header_checksum = [](const void* image) {
    return Checksum64(image, kChecksumAt, /*seed=*/0x68656164);
  };
  const auto number_at = [](const char* at) {
    std::uint64_t number;
    std::memcpy(&number, at, sizeof(number));
    return number;
  };
  constexpr std::size_t kImageBytesAt = 16, kDepthAt = 24, kWidthAt = 32;
  for (const std::size_t at : {kImageBytesAt, kDepthAt, kWidthAt}) {
    Image image(PackLhs(&context_).Serialize());
    ASSERT_EQ(number_at(image.data() + kChecksumAt),
              header_checksum(image.data()));
    ASSERT_EQ(number_at(image.data() + kImageBytesAt), image.size);
    ASSERT_EQ(number_at(image.data() + kDepthAt), std::uint64_t{kDepth});
    ASSERT_EQ(number_at(image.data() + kWidthAt), std::uint64_t{kRows});
    // With its upper half cut off, the number that was there.
    const std::uint64_t number =
        number_at(image.data() + at) + (std::uint64_t{1} << 32);
    std::memcpy(image.data() + at, &number, sizeof(number));
    const std::uint64_t checksum = header_checksum(image.data());
    std::memcpy(image.data() + kChecksumAt, &checksum, sizeof(checksum));
    EXPECT_EQ(StatusFrom(image.data(), image.size).code(),
              sizeof(void*) < 8 ? kOutOfRange : kDataLoss);
  }
}

// The bytes of a file are part of the format: those of another machine of this
// byte order, with pointers of 32 bits or 64, are the same.
TEST(PackedImageBytesTest, AreTheSameOnEveryMachineOfAByteOrder) {
  const auto weights = RandomVector<std::int16_t>(37 * 70, 1);
  const auto matrix = RowMajorOf(weights, 37, 70);
  Context context;
  context.set_runtime_enabled_paths(Path::kPortable);
  ASSERT_VALUE(auto packed, Pack(matrix, Side::kLhs, {}, &context));
  const absl::string_view bytes = packed.Serialize();
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  constexpr std::uint64_t kExpected = 0x42193bd11ffcf145;
#else
  constexpr std::uint64_t kExpected = 0xca2e1a3c0a85d62e;
#endif
  EXPECT_EQ(Checksum64(bytes.data(), bytes.size(), /*seed=*/1), kExpected);
}

}  // namespace
}  // namespace ruy_like
