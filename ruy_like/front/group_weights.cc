// Tested in test/group_weights_test.cc.
#include "ruy_like/group_weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"
#include "ruy_like/base/allocator.h"
#include "ruy_like/base/checked_math.h"
#include "ruy_like/base/errors.h"
#include "ruy_like/base/no_memory.h"
#include "ruy_like/kernels/groups/group_args.h"
#include "ruy_like/packed/group_image.h"
#include "ruy_like/packed/image_header.h"
#include "ruy_like/plan/context_impl.h"
#include "ruy_like/run/parallel.h"

namespace ruy_like {
namespace {

using kernels::kGroupPanelRows;

// Weights with strides filled in, and their shape.
struct Source {
  GroupWeights weights;
  GroupShape shape;

  std::ptrdiff_t ValueAt(std::ptrdiff_t row, std::ptrdiff_t group) const {
    return row * weights.scale_stride + group;
  }
  float ScaleAt(std::ptrdiff_t row, std::ptrdiff_t group) const {
    return ruy_like::ScaleAt(weights.scale_type, weights.scales,
                             ValueAt(row, group));
  }
  // As packed: without a sign.
  int ZeroAt(std::ptrdiff_t row, std::ptrdiff_t group) const {
    const std::ptrdiff_t at = ValueAt(row, group);
    if (weights.LevelsAreInt8()) {
      return static_cast<const std::int8_t*>(weights.zero_points)[at] + 128;
    }
    return static_cast<const std::uint8_t*>(weights.zero_points)[at];
  }
  const std::uint8_t* CodesOf(std::ptrdiff_t row) const {
    return static_cast<const std::uint8_t*>(weights.levels) +
           row * weights.row_stride_bytes;
  }
};

absl::Status CheckStrides(Source* source) {
  GroupWeights& weights = source->weights;
  const std::ptrdiff_t row_bytes = weights.RowBytes();
  if (weights.row_stride_bytes == 0) weights.row_stride_bytes = row_bytes;
  if (weights.row_stride_bytes < row_bytes) {
    return Invalid("row_stride_bytes = ", weights.row_stride_bytes,
                   " is less than the ", row_bytes, " bytes of a row");
  }
  if (weights.scale_stride == 0) weights.scale_stride = source->shape.groups();
  if (weights.scale_stride < source->shape.groups()) {
    return Invalid("scale_stride = ", weights.scale_stride,
                   " is less than the ", source->shape.groups(),
                   " groups of a row");
  }
  std::ptrdiff_t bytes;
  if (!CheckedMul(weights.rows, weights.row_stride_bytes, &bytes) ||
      !CheckedMul(weights.rows, weights.scale_stride, &bytes) ||
      !CheckedMul<std::ptrdiff_t>(bytes, sizeof(float), &bytes)) {
    return absl::OutOfRangeError(absl::StrCat(
        weights.rows, " rows of strides ", weights.row_stride_bytes,
        " (levels) and ", weights.scale_stride, " (scales) overflow"));
  }
  return absl::OkStatus();
}

absl::Status CheckZeroPoint(const GroupWeights& weights) {
  const int zero_point = weights.CommonZeroPoint();
  const int low = weights.LevelsAreInt8() ? -128 : 0;
  const int high = weights.LevelsAreInt8() ? 127 : 15;
  if (zero_point >= low && zero_point <= high) return absl::OkStatus();
  return Invalid("zero_point = ", zero_point, " of ", weights.bits,
                 "-bit weights is not in [", low, ", ", high, "]");
}

absl::Status CheckValues(const Source& source) {
  const GroupWeights& weights = source.weights;
  if (weights.rows == 0 || weights.depth == 0) return absl::OkStatus();
  if (weights.levels == nullptr) {
    return Invalid("levels is null");
  }
  if (weights.scales == nullptr) {
    return Invalid("scales is null");
  }
  if (weights.depth_order != nullptr) {
    RUY_LIKE_RETURN_IF_ERROR(
        CheckDepthOrder(weights.depth_order, weights.depth));
  }
  for (std::ptrdiff_t row = 0; row < weights.rows; ++row) {
    for (std::ptrdiff_t group = 0; group < source.shape.groups(); ++group) {
      const float scale = source.ScaleAt(row, group);
      if (!std::isfinite(scale)) {
        return Invalid("the scale of row ", row, ", group ", group, " is ",
                       scale);
      }
      if (weights.zero_points != nullptr && !weights.LevelsAreInt8() &&
          source.ZeroAt(row, group) > 15) {
        return Invalid("the zero point of row ", row, ", group ", group, " is ",
                       source.ZeroAt(row, group), ", not in [0, 15]");
      }
    }
  }
  return absl::OkStatus();
}

absl::Status CheckWeights(Source* source) {
  const GroupWeights& weights = source->weights;
  GroupShape& shape = source->shape;
  shape.rows = weights.rows;
  shape.depth = weights.depth;
  shape.group_size = weights.group_size;
  shape.bits = weights.bits;
  shape.scale_type = weights.scale_type;
  shape.by_table = weights.table != nullptr;
  if (shape.by_table && (shape.bits == 2 || shape.bits == 4)) {
    std::memcpy(shape.table, weights.table, std::size_t{1} << shape.bits);
  }
  shape.has_zero_points = weights.zero_points != nullptr;
  shape.has_depth_order =
      weights.depth_order != nullptr && weights.rows > 0 && weights.depth > 0;
  shape.zero_point = 0;
  RUY_LIKE_RETURN_IF_ERROR(ComputeSizes(&shape));
  if (!shape.has_zero_points) {
    RUY_LIKE_RETURN_IF_ERROR(CheckZeroPoint(weights));
    shape.zero_point =
        weights.CommonZeroPoint() + (weights.LevelsAreInt8() ? 128 : 0);
  }
  RUY_LIKE_RETURN_IF_ERROR(CheckStrides(source));
  return CheckValues(*source);
}

// Bytes as a number, the first lowest, in whichever order the machine has.
std::uint32_t LoadWord(const std::uint8_t* bytes) {
  return bytes[0] | bytes[1] << 8 | bytes[2] << 16 |
         std::uint32_t{bytes[3]} << 24;
}
void StoreWord(std::uint32_t word, std::uint8_t* bytes) {
  for (int i = 0; i < 4; ++i) {
    bytes[i] = static_cast<std::uint8_t>(word >> 8 * i);
  }
}

// The lowest four codes of kBits, which lie side by side, each in a byte.
template <int kBits>
std::uint32_t Spread(std::uint32_t codes) {
  constexpr std::uint32_t kMask = (1 << kBits) - 1;
  constexpr std::uint32_t kPairMask = (1 << 2 * kBits) - 1;
  codes &= 0xffffffff >> (32 - 4 * kBits);
  codes = (codes | codes << (16 - 2 * kBits)) & kPairMask * 0x00010001;
  return (codes | codes << (8 - kBits)) & kMask * 0x01010101;
}

// A word of a row's codes as it is packed: bytes of one code of each quad of
// neighbours.
template <int kBits>
std::uint32_t PackWord(std::uint32_t codes) {
  std::uint32_t packed = 0;
  for (int quad = 0; quad < 8 / kBits; ++quad) {
    packed |= Spread<kBits>(codes >> 4 * quad * kBits) << quad * kBits;
  }
  return packed;
}

// The codes of a panel's rows, into zeroed memory of which 64 bytes have a word
// of each row. Goes from line to line of the cache in each row: L1 may not hold
// a line of all rows at once, where they are 4 KiB apart.
template <int kBits>
void PackCodes(const Source& source, std::ptrdiff_t first_row,
               std::ptrdiff_t rows, std::uint8_t* packed) {
  constexpr std::ptrdiff_t kLineWords = 16;
  constexpr std::uint32_t kSigns = kBits == 8 ? 0x80808080 : 0;
  const std::ptrdiff_t bits = source.shape.depth * kBits;
  const std::ptrdiff_t words = bits / 32;
  for (std::ptrdiff_t line = 0; line < words; line += kLineWords) {
    const std::ptrdiff_t end = std::min(line + kLineWords, words);
    for (std::ptrdiff_t row = 0; row < rows; ++row) {
      const std::uint8_t* const codes = source.CodesOf(first_row + row);
      for (std::ptrdiff_t word = line; word < end; ++word) {
        StoreWord(PackWord<kBits>(LoadWord(codes + 4 * word) ^ kSigns),
                  packed + 64 * word + 4 * row);
      }
    }
  }
  const auto rest = static_cast<int>(bits % 32);
  if (rest == 0) return;
  for (std::ptrdiff_t row = 0; row < rows; ++row) {
    std::uint8_t last[4] = {};
    std::memcpy(last, source.CodesOf(first_row + row) + 4 * words,
                static_cast<std::size_t>(rest + 7) / 8);
    const std::uint32_t mask = (std::uint32_t{1} << rest) - 1;
    StoreWord(PackWord<kBits>((LoadWord(last) ^ kSigns) & mask),
              packed + 64 * words + 4 * row);
  }
}

// One panel, into zeroed memory.
void PackPanel(const Source& source, std::ptrdiff_t panel, char* image) {
  const GroupShape& shape = source.shape;
  const std::ptrdiff_t first_row = panel * kGroupPanelRows;
  const std::ptrdiff_t rows =
      std::min<std::ptrdiff_t>(shape.rows - first_row, kGroupPanelRows);
  const auto pack_codes = shape.bits == 2   ? &PackCodes<2>
                          : shape.bits == 4 ? &PackCodes<4>
                                            : &PackCodes<8>;
  pack_codes(source, first_row, rows,
             reinterpret_cast<std::uint8_t*>(image) + kImageHeaderBytes +
                 panel * shape.panel_bytes);
  for (std::ptrdiff_t row = 0; row < rows; ++row) {
    const int scale_bytes = InfoOf(shape.scale_type).bits / 8;
    for (std::ptrdiff_t group = 0; group < shape.groups(); ++group) {
      const std::ptrdiff_t at =
          (panel * shape.groups() + group) * kGroupPanelRows + row;
      std::memcpy(image + shape.scales_offset + at * scale_bytes,
                  static_cast<const char*>(source.weights.scales) +
                      source.ValueAt(first_row + row, group) * scale_bytes,
                  scale_bytes);
      if (shape.has_zero_points) {
        image[shape.zeros_offset + at] =
            static_cast<char>(source.ZeroAt(first_row + row, group));
      }
    }
  }
}

absl::StatusOr<PackedGroupWeights> PackChecked(const Source& source,
                                               ContextImpl* context) {
  auto result = std::make_shared<GroupImage>();
  result->group_shape = source.shape;
  if (!AlignedBuffer::Allocate(source.shape.image_bytes,
                               &result->data.storage)) {
    return OutOfMemory("for ", source.shape.image_bytes,
                       " bytes of packed weights");
  }
  char* const image = static_cast<char*>(result->data.storage.data());
  std::memset(image, 0, source.shape.image_bytes);
  // How many panels a call packs.
  constexpr std::ptrdiff_t kCallPanels = 16;
  // Panels without depth take no memory: there may be any number of them.
  const std::ptrdiff_t panels =
      source.shape.depth == 0 ? 0 : source.shape.panels;
  const std::ptrdiff_t calls = CeilDiv(panels, kCallPanels);
  // RunParallel counts in int.
  if (calls > 1 && calls < (1 << 30)) {
    RUY_LIKE_LOCK_FOR_CALL(context);
    const auto pack_panels = [&](int i) {
      const std::ptrdiff_t end = std::min(panels, (i + 1) * kCallPanels);
      for (std::ptrdiff_t panel = i * kCallPanels; panel < end; ++panel) {
        PackPanel(source, panel, image);
      }
    };
    RUY_LIKE_RETURN_IF_ERROR(
        RunParallel(static_cast<int>(calls), pack_panels, context));
  } else {
    for (std::ptrdiff_t panel = 0; panel < panels; ++panel) {
      PackPanel(source, panel, image);
    }
  }
  if (source.shape.has_depth_order) {
    std::memcpy(image + source.shape.order_offset, source.weights.depth_order,
                source.shape.depth * sizeof(std::int32_t));
  }
  WriteGroupHeader(source.shape, image);
  result->PointInto(image);
  return PackedGroupWeights(std::move(result));
}

absl::StatusOr<PackedGroupWeights> ReadImage(const void* data,
                                             std::size_t bytes,
                                             VerifyChecksum verify) {
  auto result = std::make_shared<GroupImage>();
  std::uint64_t checksum;
  RUY_LIKE_RETURN_IF_ERROR(
      ReadGroupHeader(data, bytes, &result->group_shape, &checksum));
  if (verify == VerifyChecksum::kYes &&
      GroupDataChecksum(result->group_shape, data) != checksum) {
    return absl::DataLossError("the packed weights' data is damaged");
  }
  result->PointInto(data);
  if (result->depth_order != nullptr) {
    const absl::Status status =
        CheckDepthOrder(result->depth_order, result->group_shape.depth);
    if (!status.ok()) return absl::DataLossError(status.message());
  }
  return PackedGroupWeights(std::move(result));
}

}  // namespace

absl::StatusOr<PackedGroupWeights> PackGroupWeights(const GroupWeights& weights,
                                                    Context* context) {
  if (context == nullptr) return internal::NullArgument("context");
  return CatchNoMemory([&]() -> absl::StatusOr<PackedGroupWeights> {
    Source source;
    source.weights = weights;
    RUY_LIKE_RETURN_IF_ERROR(CheckWeights(&source));
    return PackChecked(source, context->impl());
  });
}

absl::StatusOr<PackedGroupWeights> PackedGroupWeights::FromBytes(
    const void* data, std::size_t bytes, VerifyChecksum verify) {
  return CatchNoMemory([&] { return ReadImage(data, bytes, verify); });
}

std::ptrdiff_t PackedGroupWeights::rows() const {
  return image_ == nullptr ? 0 : image_->group_shape.rows;
}
std::ptrdiff_t PackedGroupWeights::depth() const {
  return image_ == nullptr ? 0 : image_->group_shape.depth;
}
int PackedGroupWeights::bits() const {
  return image_ == nullptr ? 4 : image_->group_shape.bits;
}
std::ptrdiff_t PackedGroupWeights::group_size() const {
  return image_ == nullptr ? 0 : image_->group_shape.group_size;
}
absl::string_view PackedGroupWeights::Serialize() const {
  if (image_ == nullptr) return absl::string_view();
  return absl::string_view(static_cast<const char*>(image_->image),
                           image_->image_bytes);
}

namespace internal {

void EraseWeights(const PackedGroupWeights& weights, Side side,
                  ErasedMatrix* erased) {
  static const GroupImage* const kNone = [] {
    auto* const image = new GroupImage;
    image->PointInto(nullptr);
    return image;
  }();
  const GroupImage* const image =
      weights.image() == nullptr ? kNone : weights.image();
  *erased = {};
  erased->data = image->image;
  erased->scalar = image->scalar;
  erased->data_is_const = true;
  erased->cache_policy = CachePolicy::kNeverCache;
  MakeSimpleLayout(side == Side::kLhs ? image->width : image->depth,
                   side == Side::kLhs ? image->depth : image->width,
                   Order::kColMajor, &erased->layout);
  erased->packed = image;
}

// As of a product of integers with a float dst, but for the family.
void CallOf<GroupMulParams>::Complete(const GroupMulParams& params,
                                      bool weights_are_lhs, int max_num_threads,
                                      MulCall* call) {
  call->channel_dimension = params.channel_dimension;
  call->float_sums = FloatSums::kInOrder;
  call->quantized = false;
  call->family = Family::kGroupScaled;
  call->accum_scalar = Scalar::kF32;
  call->bias = params.bias;
  call->fixedpoint = call->exponent = 0;
  call->fixedpoint_perchannel = call->exponent_perchannel = nullptr;
  call->lhs_scale = call->rhs_scale = 1;
  call->lhs_scale_perrow = weights_are_lhs ? nullptr : params.activation_scales;
  call->rhs_scale_percol = weights_are_lhs ? params.activation_scales : nullptr;
  call->beta = ExactDouble(params.beta);
  call->has_lengths = false;
  SetPostOps(params.post_ops, call);
  call->clamp_min = ExactDouble(params.clamp_min);
  call->clamp_max = ExactDouble(params.clamp_max);
  call->max_num_threads = max_num_threads;
  call->activation_scales = params.quantize;
  call->activation_zero_points = params.activation_zero_points;
}

}  // namespace internal

}  // namespace ruy_like
