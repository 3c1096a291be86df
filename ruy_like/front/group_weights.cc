// Tested in test/group_weights_test.cc.
#include "ruy_like/group_weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <mutex>

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
  int CodeAt(std::ptrdiff_t row, std::ptrdiff_t k) const {
    const std::uint8_t* const levels =
        static_cast<const std::uint8_t*>(weights.levels) +
        row * weights.row_stride_bytes;
    if (weights.bits == 8) return levels[k] ^ 0x80;
    const int codes = 8 / weights.bits;  // of a byte
    return levels[k / codes] >> (k % codes * weights.bits) &
           ((1 << weights.bits) - 1);
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

// One panel, into zeroed memory.
void PackPanel(const Source& source, std::ptrdiff_t panel, char* image) {
  const GroupShape& shape = source.shape;
  const std::ptrdiff_t first_row = panel * kGroupPanelRows;
  const std::ptrdiff_t rows =
      std::min<std::ptrdiff_t>(shape.rows - first_row, kGroupPanelRows);
  std::uint8_t* const levels = reinterpret_cast<std::uint8_t*>(image) +
                               kImageHeaderBytes + panel * shape.panel_bytes;
  for (std::ptrdiff_t row = 0; row < rows; ++row) {
    for (std::ptrdiff_t k = 0; k < shape.depth; ++k) {
      // 64 bytes have one code of each row's four bytes, or several.
      const std::ptrdiff_t quad = k / 4;
      const int codes = 8 / shape.bits;
      levels[quad / codes * 64 + 4 * row + k % 4] |=
          source.CodeAt(first_row + row, k) << (quad % codes * shape.bits);
    }
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

absl::Status NoMemoryFor(const GroupShape& shape) {
  return absl::ResourceExhaustedError(absl::StrCat(
      "no memory for ", shape.image_bytes, " bytes of packed weights"));
}

absl::StatusOr<PackedGroupWeights> PackChecked(const Source& source,
                                               ContextImpl* context) {
  auto result = std::make_shared<GroupImage>();
  result->group_shape = source.shape;
  if (!AlignedBuffer::Allocate(source.shape.image_bytes,
                               &result->data.storage)) {
    return NoMemoryFor(source.shape);
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
    if (!LockForCall(context)) return DeadlockError();
    MutexLock lock(&context->mutex, std::adopt_lock);
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
  if (data == nullptr) return internal::NullArgument("data");
  RUY_LIKE_RETURN_IF_ERROR(CheckImageAlignment(data));
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
  erased->zero_point_is_integer = true;
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
