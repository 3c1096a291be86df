// Groups: weights with group scales, packed: one run of bytes, in memory and in
// a file alike. kernels/groups/group_kernel.h draws the panels.
//
//    byte 0      header, 128 bytes: group_image.cc
//    byte 128    levels, panel by panel
//    then        scales: panel, group, row of the panel
//    then        zero points in the same order, one byte each, if each group
//                has its own
//
// each part from a multiple of 64 bytes on, with zeros up to the next one.
// Every byte is determined by the weights.
#ifndef RUY_LIKE_GROUPS_GROUP_IMAGE_H_
#define RUY_LIKE_GROUPS_GROUP_IMAGE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "ruy_like/base/allocator.h"
#include "ruy_like/base/mutex.h"
#include "ruy_like/scalar.h"

namespace ruy_like {

// What determines an image's size and how its bytes are read.
struct GroupShape {
  std::ptrdiff_t rows = 0;
  std::ptrdiff_t depth = 0;
  std::ptrdiff_t group_size = 0;  // 0: the whole row
  int bits = 4;
  Scalar scale_type = Scalar::kF32;
  bool has_zero_points = false;
  // That of packed levels: for 8-bit weights 128 more than the caller's.
  int zero_point = 8;

  // Set by ComputeSizes.
  std::ptrdiff_t groups = 0;
  std::ptrdiff_t group_steps = 0;  // of 8 levels, of each but the last one
  std::ptrdiff_t last_group_steps = 0;
  std::ptrdiff_t panels = 0;
  std::ptrdiff_t panel_bytes = 0;    // of levels
  std::ptrdiff_t scales_offset = 0;  // from the image's first byte
  std::ptrdiff_t zeros_offset = 0;
  std::ptrdiff_t image_bytes = 0;

  std::ptrdiff_t steps() const {
    return groups == 0 ? 0 : (groups - 1) * group_steps + last_group_steps;
  }
  // Levels of a group; the last one of a row may have fewer.
  std::ptrdiff_t LevelsIn(std::ptrdiff_t group) const {
    return group + 1 < groups ? 8 * group_steps
                              : depth - 8 * (groups - 1) * group_steps;
  }
};

struct GroupImage : GroupShape {
  const std::uint8_t* levels = nullptr;
  const void* scales = nullptr;
  const std::uint8_t* zeros = nullptr;  // null without
  const void* image = nullptr;
  AlignedBuffer buffer;  // empty where the image is the caller's

  // Sets the pointers from `data`.
  void PointInto(const void* data);
  // The sum of each row's weights, in float, by the rule of doc/numerics.md:
  // what activations' zero points are multiplied by. As many as panels have
  // rows, and a tile's more.
  // Made by the first call, in memory of its own; null without memory. From any
  // threads.
  const float* RowSums() const;

 private:
  mutable Mutex sums_mutex_;
  mutable AlignedBuffer sums_buffer_;
  mutable std::atomic<const float*> sums_{nullptr};
};

// OutOfRange for sizes that overflow, InvalidArgument for values that are not
// valid.
absl::Status ComputeSizes(GroupShape* shape);

// Completes an image whose data is written: adds the header, with its
// checksums.
void WriteGroupHeader(const GroupShape& shape, void* image);

// Reads the header; see PackedGroupWeights::FromBytes.
absl::Status ReadGroupHeader(const void* data, std::size_t bytes,
                             GroupShape* shape, std::uint64_t* data_checksum);

std::uint64_t GroupDataChecksum(const GroupShape& shape, const void* image);

}  // namespace ruy_like

#endif  // RUY_LIKE_GROUPS_GROUP_IMAGE_H_
