// Tested in test/packed/packed_image_test.cc.
#include "ruy_like/packed/image_header.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "ruy_like/base/allocator.h"
#include "ruy_like/base/checksum.h"
#include "ruy_like/base/errors.h"

namespace ruy_like {
namespace {

constexpr std::uint32_t kByteOrderMark = 0x01020304;
constexpr std::uint32_t kSwappedByteOrderMark = 0x04030201;
constexpr std::uint64_t kHeaderSeed = 0x68656164;  // unlike a piece's number
constexpr std::size_t kCheckedBytes = kImageHeaderBytes - sizeof(std::uint64_t);

std::uint64_t HeaderChecksum(const void* header) {
  return Checksum64(header, kCheckedBytes, kHeaderSeed);
}

}  // namespace

void CompleteImageHeader(const ImageKind& kind, std::uint32_t version,
                         std::uint64_t image_bytes, void* header) {
  ImageStart start;
  std::memcpy(start.magic, kind.magic, sizeof(start.magic));
  start.byte_order_mark = kByteOrderMark;
  start.version = version;
  start.image_bytes = image_bytes;
  std::memcpy(header, &start, sizeof(start));
  const std::uint64_t checksum = HeaderChecksum(header);
  std::memcpy(static_cast<char*>(header) + kCheckedBytes, &checksum,
              sizeof(checksum));
}

absl::Status CheckImageAlignment(const void* image) {
  const auto address = reinterpret_cast<std::uintptr_t>(image);
  if (address % kBufferAlignment == 0) return absl::OkStatus();
  return Invalid("the buffer at 0x", absl::Hex(address), " is not aligned to ",
                 kBufferAlignment, " bytes");
}

absl::Status ReadImageHeader(const ImageKind& kind, const void* image,
                             std::size_t bytes, void* header) {
  if (image == nullptr) return Invalid("data is null");
  RUY_LIKE_RETURN_IF_ERROR(CheckImageAlignment(image));
  if (bytes < kImageHeaderBytes) {
    return absl::DataLossError(
        absl::StrCat("truncated: ", bytes, " bytes are less than a header"));
  }
  std::memcpy(header, image, kImageHeaderBytes);
  ImageStart start;
  std::memcpy(&start, header, sizeof(start));
  if (std::memcmp(start.magic, kind.magic, sizeof(start.magic)) != 0) {
    return Invalid("not ", kind.one);
  }
  if (start.byte_order_mark == kSwappedByteOrderMark) {
    return absl::FailedPreconditionError(
        "packed on a machine of the other byte order");
  }
  if (start.byte_order_mark != kByteOrderMark) {
    return absl::DataLossError("the header's byte order mark is damaged");
  }
  if (start.version < kind.oldest_version || start.version > kind.version) {
    return absl::FailedPreconditionError(
        absl::StrCat("version ", start.version, " of ", kind.many, ", not ",
                     kind.version, ", which this library reads"));
  }
  std::uint64_t checksum;
  std::memcpy(&checksum, static_cast<const char*>(header) + kCheckedBytes,
              sizeof(checksum));
  if (checksum != HeaderChecksum(header)) {
    return absl::DataLossError("the header is damaged");
  }
  return absl::OkStatus();
}

}  // namespace ruy_like
