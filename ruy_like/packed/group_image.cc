// Tested in test/group_weights_test.cc.
#include "ruy_like/packed/group_image.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <new>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ruy_like/base/checked_math.h"
#include "ruy_like/base/checksum.h"
#include "ruy_like/base/errors.h"
#include "ruy_like/base/float_state.h"
#include "ruy_like/float16.h"
#include "ruy_like/fused_multiply_add.h"
#include "ruy_like/packed/image_header.h"

namespace ruy_like {
namespace {

std::atomic<std::ptrdiff_t> g_image_bytes{0};

constexpr ImageKind kKind = {{'r', 'u', 'y', '_', 'g', 'r', 'p', 's'},
                             /*version=*/3,
                             /*oldest_version=*/1,
                             "packed group weights",
                             "packed group weights"};
constexpr std::uint64_t kDataSeed = 0;

struct RawHeader {
  ImageStart start;
  std::int64_t rows;
  std::int64_t depth;
  std::int64_t group_size;
  std::int32_t bits;
  std::int32_t zero_point;
  std::uint8_t scale_type;
  std::uint8_t has_zero_points;
  std::uint8_t by_table;
  std::int8_t table[16];
  std::uint8_t has_depth_order;
  char reserved[36];  // zeros
  std::uint64_t data_checksum;
  std::uint64_t header_checksum;  // of all that is before it
};
static_assert(sizeof(RawHeader) == kImageHeaderBytes, "");

static_assert(static_cast<int>(Scalar::kF32) == 4 &&
                  static_cast<int>(Scalar::kBF16) == 6 &&
                  static_cast<int>(Scalar::kF16) == 7,
              "a change needs a new version");

// *offset += a * b, rounded up to 64 bytes.
[[nodiscard]] bool AddPart(std::ptrdiff_t a, std::ptrdiff_t b,
                           std::ptrdiff_t* offset) {
  std::ptrdiff_t bytes;
  std::ptrdiff_t end;
  if (!CheckedMul(a, b, &bytes) || !CheckedAdd(*offset, bytes, &end) ||
      end > std::numeric_limits<std::ptrdiff_t>::max() - 64) {
    return false;
  }
  *offset = RoundUpToPowerOf2(end, 64);
  return true;
}

// Adds a group's codes, in `steps` steps, to the totals of the panel's rows.
// Those of padding are of code 0.
void AddCodes(const GroupShape& shape, std::ptrdiff_t steps,
              const std::uint8_t* byte,
              std::uint32_t (&totals)[kernels::kGroupPanelRows]) {
  std::uint8_t table[16];
  FillTable(shape, kAddedToInt8, table);
  const int bits = shape.bits;
  const int mask = (1 << bits) - 1;
  for (const std::uint8_t* const end = byte + steps * 16 * bits; byte < end;
       byte += 64) {
    for (int i = 0; i < 64; ++i) {
      if (bits == 8) {
        totals[i / 4] += byte[i];
        continue;
      }
      for (int shift = 0; shift < 8; shift += bits) {
        totals[i / 4] += table[byte[i] >> shift & mask];
      }
    }
  }
}

}  // namespace

absl::Status CheckDepthOrder(const std::int32_t* order, std::ptrdiff_t depth) {
  std::vector<bool> is_there(static_cast<std::size_t>(depth));
  for (std::ptrdiff_t k = 0; k < depth; ++k) {
    const std::int32_t at = order[k];
    if (at < 0 || at >= depth) {
      return Invalid("depth_order[", k, "] = ", at, " is not in [0, ", depth,
                     ")");
    }
    if (is_there[static_cast<std::size_t>(at)]) {
      return Invalid("depth_order[", k, "] = ", at, " is there twice");
    }
    is_there[static_cast<std::size_t>(at)] = true;
  }
  return absl::OkStatus();
}

float ScaleAt(Scalar type, const void* scales, std::ptrdiff_t at) {
  switch (type) {
    case Scalar::kBF16:
      return static_cast<float>(static_cast<const BFloat16*>(scales)[at]);
    case Scalar::kF16:
      return static_cast<float>(static_cast<const Float16*>(scales)[at]);
    default:
      return static_cast<const float*>(scales)[at];
  }
}

void FillTable(const GroupShape& shape, int added, std::uint8_t* table) {
  for (int code = 0; code < 16; ++code) {
    table[code] = static_cast<std::uint8_t>(
        shape.by_table ? shape.table[code] + added : code);
  }
}

absl::Status ComputeSizes(GroupShape* shape) {
  if (shape->rows < 0 || shape->depth < 0) {
    return Invalid("weights of ", shape->rows, "x", shape->depth);
  }
  if (shape->bits != 2 && shape->bits != 4 && shape->bits != 8) {
    return Invalid("weights of ", shape->bits,
                   " bits; 2, 4 and 8 are possible");
  }
  if (shape->bits != 4 && shape->by_table != (shape->bits == 2)) {
    return Invalid("table is ", shape->by_table ? "not null" : "null",
                   " of weights of ", shape->bits,
                   " bits; those of 2 bits need one, of 8 bits have none");
  }
  if (shape->group_size < 0 || shape->group_size % 16 != 0) {
    return Invalid(
        "group_size = ", shape->group_size,
        " is neither a positive multiple of 16 nor 0, the whole row");
  }
  if (shape->scale_type != Scalar::kF32 && shape->scale_type != Scalar::kBF16 &&
      shape->scale_type != Scalar::kF16) {
    return Invalid("scale_type = ", static_cast<int>(shape->scale_type),
                   "; scales are float, BFloat16 or Float16");
  }
  if (shape->by_table) {
    const auto [least, greatest] =
        std::minmax_element(shape->table, shape->table + (1 << shape->bits));
    shape->least_value = *least;
    shape->table_span = static_cast<std::uint8_t>(*greatest - *least);
  }
  kernels::GroupSizes& sizes = shape->sizes;
  std::ptrdiff_t steps = CeilDiv(shape->depth, kernels::kGroupStepDepth);
  if (shape->bits == 2) steps += steps % 2;
  if (shape->group_size == 0 || shape->group_size >= shape->depth) {
    sizes = {shape->depth == 0 ? 0 : 1, steps, steps};
  } else {
    sizes.groups = CeilDiv(shape->depth, shape->group_size);
    sizes.group_steps = shape->group_size / kernels::kGroupStepDepth;
    sizes.last_group_steps = steps - (sizes.groups - 1) * sizes.group_steps;
  }
  shape->panels = CeilDiv(shape->rows, kernels::kGroupPanelRows);
  std::ptrdiff_t values;  // scales
  std::ptrdiff_t offset = kImageHeaderBytes;
  bool fits = CheckedMul<std::ptrdiff_t>(steps, 16 * shape->bits,
                                         &shape->panel_bytes) &&
              AddPart(shape->panels, shape->panel_bytes, &offset);
  shape->scales_offset = offset;
  fits = fits &&
         CheckedMul<std::ptrdiff_t>(shape->panels, kernels::kGroupPanelRows,
                                    &values) &&
         CheckedMul(values, sizes.groups, &values) &&
         AddPart(values, InfoOf(shape->scale_type).bits / 8, &offset);
  shape->zeros_offset = offset;
  if (shape->has_zero_points) fits = fits && AddPart(values, 1, &offset);
  shape->order_offset = offset;
  if (shape->has_depth_order) {
    fits = fits && AddPart(shape->depth, sizeof(std::int32_t), &offset);
  }
  shape->image_bytes = offset;
  if (fits) return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat("weights of ", shape->rows, "x",
                                            shape->depth,
                                            " are larger than any memory"));
}

std::ptrdiff_t GroupImageBytes() {
  return g_image_bytes.load(std::memory_order_relaxed);
}

GroupImage::~GroupImage() { g_image_bytes -= counted_bytes_; }

void GroupImage::PointInto(const void* data_image) {
  const GroupShape& shape = group_shape;
  counted_bytes_ = shape.image_bytes;
  g_image_bytes += counted_bytes_;
  side = Side::kLhs;
  layout.path = Path::kNone;
  layout.family = Family::kGroupScaled;
  layout.kernel_side = Side::kLhs;
  // The same for all images of these bits: it is in the keys of kept plans.
  layout.kernel_format = shape.bits == 8   ? &kernels::kPackedCodes8
                         : shape.bits == 2 ? &kernels::kPackedTable2
                         : shape.by_table  ? &kernels::kPackedTable4
                                           : &kernels::kPackedCodes4;
  layout.format = *layout.kernel_format;
  scalar = Scalar::kI8;
  zero_point = 0;
  depth = shape.depth;
  width = shape.rows;
  image = data_image;
  image_bytes = shape.image_bytes;
  if (data_image == nullptr) return;
  const auto* const bytes = static_cast<const std::uint8_t*>(data_image);
  data.panels = bytes + kImageHeaderBytes;
  scales = bytes + shape.scales_offset;
  zeros = shape.has_zero_points ? bytes + shape.zeros_offset : nullptr;
  if (shape.has_depth_order) {
    depth_order =
        reinterpret_cast<const std::int32_t*>(bytes + shape.order_offset);
  }
}

const float* GroupImage::RowSums() const {
  const float* made = sums_.load(std::memory_order_acquire);
  if (made != nullptr) return made;
  MutexLock lock(&sums_mutex_);
  made = sums_.load(std::memory_order_relaxed);
  if (made != nullptr) return made;
  const GroupShape& shape = group_shape;
  const std::ptrdiff_t groups = shape.groups();
  const auto* const codes = static_cast<const std::uint8_t*>(data.panels);
  const auto padding_value =
      shape.by_table ? static_cast<std::uint32_t>(shape.table[0] + kAddedToInt8)
                     : 0;
  constexpr int kRows = kernels::kGroupPanelRows;
  constexpr std::ptrdiff_t kTileRows = 64;
  const std::size_t bytes = (shape.panels * kRows + kTileRows) * sizeof(float);
  if (!AlignedBuffer::Allocate(bytes, &sums_buffer_)) throw std::bad_alloc();
  const ScopedFloatState float_state(FloatState::kDefault);
  auto* const sums = static_cast<float*>(sums_buffer_.data());
  std::memset(sums, 0, bytes);
  for (std::ptrdiff_t panel = 0; panel < shape.panels; ++panel) {
    for (std::ptrdiff_t group = 0; group < groups; ++group) {
      const std::ptrdiff_t steps = group + 1 < groups
                                       ? shape.sizes.group_steps
                                       : shape.sizes.last_group_steps;
      const auto padding = static_cast<std::uint32_t>(
          steps * kernels::kGroupStepDepth - shape.DepthOf(group));
      std::uint32_t totals[kRows] = {};
      AddCodes(shape, steps,
               codes + panel * shape.panel_bytes +
                   group * shape.sizes.group_steps * 16 * shape.bits,
               totals);
      for (int row = 0; row < kRows; ++row) {
        const std::ptrdiff_t at = (panel * groups + group) * kRows + row;
        const int zero = zeros == nullptr ? shape.zero_point : zeros[at];
        const std::uint32_t sum =
            totals[row] - padding * padding_value -
            static_cast<std::uint32_t>(shape.DepthOf(group)) *
                static_cast<std::uint32_t>(zero);
        float* const f = sums + panel * kRows + row;
        *f =
            FusedMultiplyAdd(static_cast<float>(static_cast<std::int32_t>(sum)),
                             ScaleAt(shape.scale_type, scales, at), *f);
      }
    }
  }
  sums_.store(sums, std::memory_order_release);
  return sums;
}

std::uint64_t GroupDataChecksum(const GroupShape& shape, const void* image) {
  return Checksum64(static_cast<const char*>(image) + kImageHeaderBytes,
                    shape.image_bytes - kImageHeaderBytes, kDataSeed);
}

void WriteGroupHeader(const GroupShape& shape, void* image) {
  RawHeader raw;
  std::memset(&raw, 0, sizeof(raw));
  raw.rows = shape.rows;
  raw.depth = shape.depth;
  raw.group_size = shape.group_size;
  raw.bits = shape.bits;
  raw.zero_point = shape.zero_point;
  raw.scale_type = static_cast<std::uint8_t>(shape.scale_type);
  raw.has_zero_points = shape.has_zero_points ? 1 : 0;
  raw.by_table = shape.by_table ? 1 : 0;
  std::memcpy(raw.table, shape.table, sizeof(raw.table));
  raw.has_depth_order = shape.has_depth_order ? 1 : 0;
  raw.data_checksum = GroupDataChecksum(shape, image);
  // Version 1 had no tables, version 2 no depth order.
  const int version = shape.has_depth_order ? 3 : shape.by_table ? 2 : 1;
  CompleteImageHeader(kKind, version, shape.image_bytes, &raw);
  std::memcpy(image, &raw, sizeof(raw));
}

absl::Status ReadGroupHeader(const void* data, std::size_t bytes,
                             GroupShape* shape, std::uint64_t* data_checksum) {
  RawHeader raw;
  RUY_LIKE_RETURN_IF_ERROR(ReadImageHeader(kKind, data, bytes, &raw));
  shape->rows = static_cast<std::ptrdiff_t>(raw.rows);
  shape->depth = static_cast<std::ptrdiff_t>(raw.depth);
  shape->group_size = static_cast<std::ptrdiff_t>(raw.group_size);
  if (shape->rows != raw.rows || shape->depth != raw.depth ||
      shape->group_size != raw.group_size) {
    return absl::OutOfRangeError(
        absl::StrCat("packed weights of ", raw.rows, "x", raw.depth,
                     " are too large for this machine's pointers"));
  }
  shape->bits = raw.bits;
  shape->scale_type = static_cast<Scalar>(raw.scale_type);
  shape->has_zero_points = raw.has_zero_points != 0;
  shape->by_table = raw.by_table != 0;
  std::memcpy(shape->table, raw.table, sizeof(raw.table));
  shape->has_depth_order = raw.has_depth_order != 0;
  shape->zero_point = raw.zero_point;
  absl::Status status = ComputeSizes(shape);
  if (status.code() == absl::StatusCode::kInvalidArgument) {
    return absl::DataLossError(
        absl::StrCat("the header is wrong: ", status.message()));
  }
  if (!status.ok()) return status;
  if (raw.zero_point < 0 ||
      raw.zero_point >= (shape->ValuesAreInt8() ? 256 : 16)) {
    return absl::DataLossError("the header's zero point is out of range");
  }
  if (raw.start.image_bytes != static_cast<std::uint64_t>(shape->image_bytes) ||
      raw.start.image_bytes > bytes) {
    return absl::DataLossError(absl::StrCat(
        "truncated: ", bytes, " bytes instead of ", shape->image_bytes));
  }
  *data_checksum = raw.data_checksum;
  return absl::OkStatus();
}

}  // namespace ruy_like
