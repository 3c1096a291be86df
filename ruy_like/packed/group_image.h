// Packed: weights with group scales: one run of bytes, in memory and in a file
// alike. kernels/groups/group_args.h draws the panels.
//
//    byte 0      header, 128 bytes: group_image.cc; has the table of values
//    byte 128    codes, panel by panel
//    then        scales: panel, group, row of the panel
//    then        zero points in the same order, one byte each, if each group
//                has its own
//    then        the depth order, four bytes each, if there is one
//
// each part from a multiple of 64 bytes on, with zeros up to the next one.
// Every byte is determined by the weights.
#ifndef RUY_LIKE_PACKED_GROUP_IMAGE_H_
#define RUY_LIKE_PACKED_GROUP_IMAGE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "ruy_like/base/allocator.h"
#include "ruy_like/base/mutex.h"
#include "ruy_like/kernels/groups/group_args.h"
#include "ruy_like/packed/packed_operand.h"
#include "ruy_like/scalar.h"

namespace ruy_like {

// Int8 values and their zero points have this added as they are packed.
enum { kAddedToInt8 = 128 };

// Fields that determine an image's size and how its bytes are read.
struct GroupShape {
  std::ptrdiff_t rows = 0;
  std::ptrdiff_t depth = 0;
  std::ptrdiff_t group_size = 0;  // 0: the whole row
  int bits = 4;
  // Codes are indices of `table`, of which 2 bits use the first four.
  bool by_table = false;
  std::int8_t table[16] = {};
  Scalar scale_type = Scalar::kF32;
  bool has_zero_points = false;
  bool has_depth_order = false;
  // As packed, also those of groups.
  int zero_point = 8;

  // Set by ComputeSizes.
  kernels::GroupSizes sizes = {0, 0, 0};
  std::ptrdiff_t panels = 0;
  std::ptrdiff_t panel_bytes = 0;    // of codes
  std::ptrdiff_t scales_offset = 0;  // from the image's first byte
  std::ptrdiff_t zeros_offset = 0;
  std::ptrdiff_t order_offset = 0;
  std::ptrdiff_t image_bytes = 0;
  std::int8_t least_value = 0;  // of the table
  std::uint8_t table_span = 0;  // from there to the greatest one

  std::ptrdiff_t groups() const { return sizes.groups; }
  bool ValuesAreInt8() const { return bits == 8 || by_table; }
  // Depth of a group; the last one of a row may have less.
  std::ptrdiff_t DepthOf(std::ptrdiff_t group) const {
    return group + 1 < sizes.groups
               ? 8 * sizes.group_steps
               : depth - 8 * (sizes.groups - 1) * sizes.group_steps;
  }
};

// As an operand of products it can be of either side, and of any path.
struct GroupImage : PackedOperand {
  ~GroupImage();
  GroupShape group_shape;
  const void* scales = nullptr;
  const std::uint8_t* zeros = nullptr;        // null without
  const std::int32_t* depth_order = nullptr;  // null without

  // Sets all fields but the memory from the shape and its `image`, which may be
  // null for weights of size 0.
  void PointInto(const void* image);
  // The sum of each row's weights, in float, by the rule of doc/numerics.md:
  // what activations' zero points are multiplied by. As many as panels have
  // rows, and a tile's more. Made by the first call, from any thread, in memory
  // of its own. std::bad_alloc without.
  const float* RowSums() const;

 private:
  std::ptrdiff_t counted_bytes_ = 0;  // by GroupImageBytes()
  mutable Mutex sums_mutex_;
  mutable AlignedBuffer sums_buffer_;
  mutable std::atomic<const float*> sums_{nullptr};
};

// The bytes of all images that exist: a model reads one after the other, so
// that the next pass finds none of them in a cache which all of them do not
// fit.
std::ptrdiff_t GroupImageBytes();

// Only for an operand whose format has codes.
inline const GroupImage& GroupImageOf(const PackedOperand& operand) {
  return static_cast<const GroupImage&>(operand);
}

// OutOfRange for sizes that overflow, InvalidArgument for values that are not
// valid.
absl::Status ComputeSizes(GroupShape* shape);

// InvalidArgument unless each of 0 to depth - 1 is in `order` once. May throw
// std::bad_alloc.
absl::Status CheckDepthOrder(const std::int32_t* order, std::ptrdiff_t depth);

// Scale `at` of an array.
float ScaleAt(Scalar type, const void* scales, std::ptrdiff_t at);

// The value of each code of up to 4 bits, and `added` to it.
void FillTable(const GroupShape& shape, int added, std::uint8_t* table);

// Completes an image whose data is written: adds the header, with its
// checksums.
void WriteGroupHeader(const GroupShape& shape, void* image);

// Reads the header; see PackedGroupWeights::FromBytes.
absl::Status ReadGroupHeader(const void* data, std::size_t bytes,
                             GroupShape* shape, std::uint64_t* data_checksum);

std::uint64_t GroupDataChecksum(const GroupShape& shape, const void* image);

}  // namespace ruy_like

#endif  // RUY_LIKE_PACKED_GROUP_IMAGE_H_
