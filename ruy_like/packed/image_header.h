// Packed: what the headers of all kinds of images have in common.
//
// An image is something packed as one run of bytes, in memory and in a file
// alike. Used by packed_image.cc and group_image.cc, whose headers are
// plain structs that begin with ImageStart and end with the checksum.
#ifndef RUY_LIKE_PACKED_IMAGE_HEADER_H_
#define RUY_LIKE_PACKED_IMAGE_HEADER_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"

namespace ruy_like {

constexpr std::size_t kImageHeaderBytes = 128;

// The first bytes of a header. Its last eight are the checksum of all others.
struct ImageStart {
  char magic[8];
  std::uint32_t byte_order_mark;
  std::uint32_t version;
  std::uint64_t image_bytes;
};

struct ImageKind {
  char magic[8];
  std::uint32_t version;  // the newest one that is read
  std::uint32_t oldest_version;
  // For messages: "a packed matrix", "packed matrices".
  const char* one;
  const char* many;
};

// Sets a header's start and its checksum; the caller has set all fields in
// between. `version` is the oldest one whose readers understand the image.
void CompleteImageHeader(const ImageKind& kind, std::uint32_t version,
                         std::uint64_t image_bytes, void* header);

// InvalidArgument unless `image` is aligned as images are.
absl::Status CheckImageAlignment(const void* image);

// Copies the header of an image of `bytes` bytes and checks it. DataLoss if
// there are fewer bytes than a header has, or it is damaged; InvalidArgument
// for null, a misaligned pointer or what is no image of the kind;
// FailedPrecondition for another version or byte order.
absl::Status ReadImageHeader(const ImageKind& kind, const void* image,
                             std::size_t bytes, void* header);

}  // namespace ruy_like

#endif  // RUY_LIKE_PACKED_IMAGE_HEADER_H_
