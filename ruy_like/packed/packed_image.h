// Packed: a packed operand as one run of bytes, in memory and in a file
// alike.
//
// Used by packed_matrix.cc. Nothing in an image depends on where it lies, and
// every byte of it is determined by the operand and the layout, so that equal
// weights give equal files.
//
//    byte 0      header, 128 bytes: packed_image.cc
//    byte 128    panels and sums: packed_operand.h
//
// An image is checked before it is used. The header has a checksum of its own,
// which is always verified.
#ifndef RUY_LIKE_PACKED_PACKED_IMAGE_H_
#define RUY_LIKE_PACKED_PACKED_IMAGE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "ruy_like/packed/image_header.h"
#include "ruy_like/packed/packed_operand.h"
#include "ruy_like/packed/packed_side.h"

namespace ruy_like {

// Writes kImageHeaderBytes.
void WriteImageHeader(const ImageHeader& header, void* image);

// Reads it back. An error if there are too few bytes, if it is damaged or not a
// header of this version, byte order and software, or if its sizes do not fit
// this machine's pointers. The caller checks the values: the shape may
// overflow, the path may not be compiled, no kernel may have the layout.
absl::Status ReadImageHeader(const void* image, std::size_t bytes,
                             ImageHeader* header);

// Pieces in which an image's data is packed and its checksum made, on several
// threads and in any order: the checksum is the sum of those of the pieces.
class ImagePieces final {
 public:
  // `side` must outlive this, and its panels' place must be set for checksums.
  explicit ImagePieces(const PackedSide& side);

  std::ptrdiff_t count() const { return count_; }
  // The first column of a piece, which is that of a panel.
  std::ptrdiff_t Start(std::ptrdiff_t piece) const {
    return std::min(piece * columns_, side_.shape->width);
  }
  // Checksum of a packed piece.
  std::uint64_t Checksum(std::ptrdiff_t piece) const;
  // Checksum of the sums, once all pieces are packed; 0 where there are none.
  std::uint64_t SumsChecksum() const;

 private:
  const PackedSide& side_;
  std::ptrdiff_t columns_ = 0;  // in each piece but the last
  std::ptrdiff_t count_ = 0;
};

}  // namespace ruy_like

#endif  // RUY_LIKE_PACKED_PACKED_IMAGE_H_
