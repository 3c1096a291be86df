#include "ruy_like/packed/packed_image.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "ruy_like/base/allocator.h"
#include "ruy_like/base/checksum.h"
#include "ruy_like/base/errors.h"

namespace ruy_like {
namespace {

// A piece fits a core's L2, so that it is summed up while it is there, and is
// worth handing to a thread. Part of the format: another size gives other
// checksums.
constexpr std::ptrdiff_t kPieceBytes = 256 * 1024;

constexpr ImageKind kKind = {
    {'r', 'u', 'y', '_', 'l', 'i', 'k', 'e'},
    1,  // also to be raised when a layout of the same name changes
    /*oldest_version=*/1,
    "a packed matrix",
    "packed matrices"};

struct RawHeader {
  ImageStart start;
  std::int64_t depth;
  std::int64_t width;
  std::int32_t zero_point;
  std::uint8_t scalar;
  std::uint8_t side;
  std::uint8_t kernel_side;
  std::uint8_t family;
  std::uint32_t packed_scalar;
  std::int32_t panel_width;
  std::int32_t panel_dot_width;
  std::int32_t depth_multiple;
  char path[24];  // its name, zeros behind
  std::uint8_t value_range;
  char reserved[23];  // zeros
  std::uint64_t data_checksum;
  std::uint64_t header_checksum;  // of all that is before it
};
static_assert(sizeof(RawHeader) == kImageHeaderBytes, "");
static_assert(kImageHeaderBytes % kBufferAlignment == 0, "panels are aligned");

// Enumerators are written as numbers.
static_assert(static_cast<int>(Scalar::kI8) == 0 &&
                  static_cast<int>(Scalar::kU8) == 1 &&
                  static_cast<int>(Scalar::kI16) == 2 &&
                  static_cast<int>(Scalar::kF32) == 4 &&
                  static_cast<int>(Scalar::kF64) == 5 &&
                  static_cast<int>(Scalar::kBF16) == 6 &&
                  static_cast<int>(Scalar::kF16) == 7 &&
                  static_cast<int>(Scalar::kE4M3) == 8 &&
                  static_cast<int>(Scalar::kE5M2) == 9,
              "a change needs a new version");
static_assert(static_cast<int>(ValueRange::kFull) == 0 &&
                  static_cast<int>(ValueRange::kInt7) == 1,
              "a change needs a new version");
static_assert(static_cast<int>(Side::kLhs) == 0 &&
                  static_cast<int>(Side::kRhs) == 1,
              "a change needs a new version");
static_assert(static_cast<int>(Family::k8x8) == 0 &&
                  static_cast<int>(Family::k8x16) == 1 &&
                  static_cast<int>(Family::k16x8) == 2 &&
                  static_cast<int>(Family::kF32) == 3 &&
                  static_cast<int>(Family::kF64) == 4,
              "a change needs a new version");

// kNone for a name that this version does not know.
Path PathNamed(const char (&name)[24]) {
  for (const Path path : PathsBestFirst(kAllPaths)) {
    char padded[24] = {};
    std::strncpy(padded, PathName(path), sizeof(padded) - 1);
    if (std::memcmp(name, padded, sizeof(padded)) == 0) return path;
  }
  return Path::kNone;
}

// False if the number does not fit: a machine's own sizes may have 32 bits,
// those of a header have 64.
template <typename From, typename To>
[[nodiscard]] bool Narrow(From from, To* to) {
  *to = static_cast<To>(from);
  return static_cast<From>(*to) == from;
}

}  // namespace

void WriteImageHeader(const ImageHeader& header, void* image) {
  RawHeader raw;
  std::memset(&raw, 0, sizeof(raw));
  raw.depth = header.depth;
  raw.width = header.width;
  raw.zero_point = header.zero_point;
  raw.scalar = static_cast<std::uint8_t>(header.scalar);
  raw.side = static_cast<std::uint8_t>(header.side);
  raw.kernel_side = static_cast<std::uint8_t>(header.layout.kernel_side);
  raw.family = static_cast<std::uint8_t>(header.layout.family);
  const kernels::PanelFormat& format = header.layout.format;
  raw.packed_scalar = static_cast<std::uint32_t>(format.scalar);
  raw.panel_width = format.width;
  raw.panel_dot_width = format.dot_width;
  raw.depth_multiple = format.depth_multiple;
  raw.value_range = static_cast<std::uint8_t>(format.range);
  std::strncpy(raw.path, PathName(header.layout.path), sizeof(raw.path) - 1);
  raw.data_checksum = header.data_checksum;
  CompleteImageHeader(kKind, kKind.version, header.image_bytes, &raw);
  std::memcpy(image, &raw, sizeof(raw));
}

absl::Status ReadImageHeader(const void* image, std::size_t bytes,
                             ImageHeader* header) {
  RawHeader raw;
  RUY_LIKE_RETURN_IF_ERROR(ReadImageHeader(kKind, image, bytes, &raw));
  // From here on it is what some library wrote; numbers may still be unknown.
  header->layout.path = PathNamed(raw.path);
  if (header->layout.path == Path::kNone) {
    return absl::FailedPreconditionError(absl::StrCat(
        "packed for path '", absl::string_view(raw.path, strnlen(raw.path, 24)),
        "', which this library does not know"));
  }
  if (raw.scalar >= kNumScalars || raw.packed_scalar >= kNumScalars ||
      raw.side > 1 || raw.kernel_side > 1 ||
      raw.value_range > static_cast<std::uint8_t>(ValueRange::kInt7) ||
      raw.family >= static_cast<std::uint8_t>(Family::kGroupScaled)) {
    return absl::DataLossError(
        "the header has an unknown type, side, family or range");
  }
  header->layout.family = static_cast<Family>(raw.family);
  header->layout.kernel_side = static_cast<Side>(raw.kernel_side);
  header->layout.format = {static_cast<Scalar>(raw.packed_scalar),
                           /*in_place=*/false,
                           raw.panel_width,
                           raw.panel_dot_width,
                           raw.depth_multiple,
                           static_cast<ValueRange>(raw.value_range)};
  header->layout.kernel_format = nullptr;
  header->side = static_cast<Side>(raw.side);
  header->scalar = static_cast<Scalar>(raw.scalar);
  header->zero_point = raw.zero_point;
  if (!Narrow(raw.depth, &header->depth) ||
      !Narrow(raw.width, &header->width) ||
      !Narrow(raw.start.image_bytes, &header->image_bytes)) {
    return absl::OutOfRangeError(
        absl::StrCat("a packed matrix of depth ", raw.depth, ", width ",
                     raw.width, ", of ", raw.start.image_bytes,
                     " bytes, is too large for this machine's pointers"));
  }
  header->data_checksum = raw.data_checksum;
  return absl::OkStatus();
}

ImagePieces::ImagePieces(const PackedSide& side) : side_(side) {
  if (side.shape->panels_bytes == 0) return;
  const std::ptrdiff_t width = side.shape->format->width;
  const std::ptrdiff_t panels = (side.shape->width + width - 1) / width;
  const std::ptrdiff_t panels_per_piece =
      std::max<std::ptrdiff_t>(kPieceBytes / side.stride_bytes, 1);
  columns_ = panels_per_piece * width;
  count_ = (panels + panels_per_piece - 1) / panels_per_piece;
}

std::uint64_t ImagePieces::Checksum(std::ptrdiff_t piece) const {
  const std::ptrdiff_t begin = side_.Offset(piece * columns_, 0);
  // The last one with the zeros behind it.
  const std::ptrdiff_t end =
      piece + 1 < count_ ? side_.Offset((piece + 1) * columns_, 0)
                         : ScratchArena::Footprint(side_.shape->panels_bytes);
  return Checksum64(side_.data + begin, end - begin, piece);
}

std::uint64_t ImagePieces::SumsChecksum() const {
  if (side_.sums == nullptr) return 0;
  return Checksum64(side_.sums,
                    ScratchArena::Footprint(side_.shape->SumsBytes()), count_);
}

}  // namespace ruy_like
