// Tested in test/group_weights_test.cc.
#include "ruy_like/groups/group_product.h"

#include <algorithm>
#include <cstring>

#include "ruy_like/base/checked_math.h"
#include "ruy_like/base/float_state.h"
#include "ruy_like/machine/cpu_features.h"
#include "ruy_like/pack/pack.h"

namespace ruy_like {
namespace {

using kernels::GroupTileArgs;
using kernels::kGroupPanelRows;
using kernels::kGroupStepLevels;

// Nibbles that are multiplied in place sum up to 16 times as much as levels.
constexpr std::ptrdiff_t kMaxStreamedGroup = 1 << 16;
// What 4-bit levels have added after their zero points were subtracted, so that
// they are at least 1.
constexpr int kShiftedZero = 16;

// Columns that are copied at once: such that rows of floats are 64 bytes long,
// those of bytes up to 64.
constexpr std::ptrdiff_t kCopiedCols = 16;
constexpr std::ptrdiff_t kMaxCopiedCols = 64;

// dst's or the activations' strides. `along_rows`: what runs along the kernels'
// depth (or rows of dst) runs along the matrix's rows.
void SetStrides(const Layout& layout, bool along_rows, std::ptrdiff_t* across,
                std::ptrdiff_t* along) {
  const std::ptrdiff_t row_step =
      layout.order() == Order::kColMajor ? 1 : layout.stride();
  const std::ptrdiff_t col_step =
      layout.order() == Order::kColMajor ? layout.stride() : 1;
  *along = along_rows ? row_step : col_step;
  *across = along_rows ? col_step : row_step;
}

std::size_t Product(std::ptrdiff_t a, std::ptrdiff_t b,
                    std::size_t c = sizeof(float)) {
  return SaturatingMul(SaturatingMul(a, b), c);
}

// Copies `cols` columns, of which element k of column c lies at from[k * along
// + c * across], to contiguous ones, `to_stride` elements apart and padded with
// zeros.
template <typename From, typename To>
void Gather(const void* from, std::ptrdiff_t across, std::ptrdiff_t along,
            std::ptrdiff_t depth, std::ptrdiff_t cols, std::ptrdiff_t to_stride,
            To* to) {
  for (std::ptrdiff_t k = 0; k < depth; ++k) {
    const From* const row = static_cast<const From*>(from) + k * along;
    for (std::ptrdiff_t c = 0; c < cols; ++c) {
      to[c * to_stride + k] = static_cast<To>(row[c * across]);
    }
  }
  for (std::ptrdiff_t c = 0; c < cols; ++c, to += to_stride) {
    std::fill(to + depth, to + to_stride, To{0});
  }
}

template <typename T>
T* TakeArray(ScratchArena* arena, std::size_t bytes) {
  return bytes == 0 ? nullptr : static_cast<T*>(arena->Take(bytes));
}

}  // namespace

BlockScaledProduct::BlockScaledProduct(const internal::GroupMulCall& call,
                                       const kernels::GroupKernel& kernel)
    : call_(call), kernel_(kernel), weights_(*call.weights) {
  const bool is_lhs = call.weights_are_lhs;
  cols_ = is_lhs ? call.dst.layout.cols() : call.dst.layout.rows();
  SetStrides(call.activations.layout, is_lhs, &activation_strides_.across,
             &activation_strides_.along);
  SetStrides(call.dst.layout, is_lhs, &dst_strides_.across,
             &dst_strides_.along);
  const bool is_int8 = call.activations.scalar == Scalar::kI8;
  if (is_int8 && call.params.activation_zero_points != nullptr) {
    const std::int8_t* const zeros = call.params.activation_zero_points;
    if (std::any_of(zeros, zeros + cols_,
                    [](std::int8_t z) { return z != 0; })) {
      activation_zeros_ = zeros;
    }
  }
  scales_per_group_ =
      !is_int8 && call.params.quantize == ActivationScales::kPerGroup;
  const bool has_zeros = weights_.has_zero_points;
  const int bits = weights_.bits;
  const std::ptrdiff_t max_stream_cols =
      bits == 4 ? kernel.max_stream_cols4 : kernel.max_stream_cols8;
  streams_ = cols_ <= max_stream_cols &&
             (bits == 8 ||
              kGroupStepLevels * weights_.group_steps <= kMaxStreamedGroup);
  widens_ = !streams_ && (bits == 4 || kernel.signed_levels);
  activation_bytes_ =
      bits == 4 ? kernel.activation_bytes4 : kernel.activation_bytes8;
  zero_point_ = weights_.zero_point;
  if (!streams_ && bits == 4 && has_zeros) zero_point_ = kShiftedZero;
  if (bits == 8 && kernel.signed_levels) zero_point_ -= 128;
  col_panels_ =
      CeilDiv(cols_, streams_ ? kernel.stream_cols : kernel.tile_cols);
  panel_cols_ = cols_ / col_panels_;
  wider_panels_ = cols_ % col_panels_;
  copies_ = activation_strides_.along != 1 ||
            call.activations.scalar == Scalar::kBF16;
  const bool packs_plain_columns =
      !kernel.interleaves_columns && activation_bytes_ == 1;
  in_place_ = packs_plain_columns && is_int8 && !copies_ &&
              weights_.depth % kGroupStepLevels == 0;
  makes_packed_ = packs_plain_columns && (!is_int8 || copies_);
}

int BlockScaledProduct::WorthThreads(int max) const {
  constexpr double kOpsPerNs = 200;
  constexpr double kBytesPerNs = 40;
  constexpr double kNsPerThread = 4000;
  const double levels =
      static_cast<double>(weights_.rows) * static_cast<double>(weights_.depth);
  const double ns =
      std::max(2 * levels * static_cast<double>(cols_) / kOpsPerNs,
               levels * weights_.bits / 8 / kBytesPerNs);
  return ns >= kNsPerThread * max
             ? max
             : std::max(1, static_cast<int>(ns / kNsPerThread));
}

std::size_t BlockScaledProduct::Cut(int threads) {
  threads_ = threads;
  const std::ptrdiff_t tile_panels =
      streams_ ? 4 : kernel_.tile_rows / kGroupPanelRows;
  const std::size_t group_values = Product(weights_.groups, kGroupPanelRows);
  const std::size_t widened =
      widens_ ? Product(weights_.steps(), 8 * kGroupPanelRows, 1) : 0;
  const std::size_t panel_bytes = std::max<std::size_t>(
      weights_.panel_bytes + group_values, widened + group_values);
  // Half of L2 for a block's weights, if they are read more than once; the
  // least that keeps all threads at work, in whole tiles.
  const std::ptrdiff_t fit =
      streams_ && col_panels_ == 1
          ? weights_.panels
          : static_cast<std::ptrdiff_t>(DetectedCacheSizes().l2_bytes / 2 /
                                        std::max<std::size_t>(panel_bytes, 1));
  const std::ptrdiff_t share =
      threads == 1 ? weights_.panels : CeilDiv(weights_.panels, 4 * threads);
  block_panels_ = std::max(std::min(fit, share), tile_panels);
  block_panels_ = std::min(CeilDiv(block_panels_, tile_panels) * tile_panels,
                           weights_.panels);
  row_blocks_ = CeilDiv(weights_.panels, block_panels_);
  col_blocks_ = 1;
  if (row_blocks_ < 2 * threads && threads > 1) {
    col_blocks_ = std::min(CeilDiv(std::ptrdiff_t{2} * threads, row_blocks_),
                           col_panels_);
  }
  block_col_panels_ = CeilDiv(col_panels_, col_blocks_);
  col_blocks_ = CeilDiv(col_panels_, block_col_panels_);

  const bool is_int8 = call_.activations.scalar == Scalar::kI8;
  column_bytes_ =
      Product(weights_.steps(), kGroupStepLevels, activation_bytes_);
  // Columns of 4 KiB, or a multiple, would share sets of L1.
  if (!kernel_.interleaves_columns && column_bytes_ % 4096 == 0) {
    column_bytes_ = SaturatingAdd(column_bytes_, 64);
  }
  copied_cols_ = kCopiedCols;
  if (is_int8) {
    // Enough for all threads.
    copied_cols_ *= CeilDiv(cols_, kCopiedCols * threads);
    copied_cols_ = std::min(copied_cols_, kMaxCopiedCols);
  }
  // Columns of copies should not share sets of L1, either.
  copy_stride_ = static_cast<std::ptrdiff_t>(
      is_int8 && makes_packed_ ? column_bytes_
                               : SaturatingAdd(weights_.depth, 16));
  copy_bytes_ =
      copies_ && !(is_int8 && makes_packed_)
          ? ScratchArena::Footprint(Product(copy_stride_, copied_cols_,
                                            is_int8 ? 1 : sizeof(float)))
          : 0;
  // Quantized columns that are not packed at once.
  const std::ptrdiff_t unpacked_cols =
      is_int8 || makes_packed_ ? 0 : panel_cols_ + 1;
  const std::size_t quantized_bytes = Product(weights_.depth, unpacked_cols, 1);
  const std::size_t packing_scratch =
      SaturatingAdd(copy_bytes_, ScratchArena::Footprint(quantized_bytes));
  const std::size_t multiply_scratch = SaturatingMul(block_panels_, widened);
  scratch_bytes_ =
      ScratchArena::Footprint(std::max(packing_scratch, multiply_scratch));
  std::size_t total = Product(threads, 1, scratch_bytes_);
  const std::size_t per_group =
      ScratchArena::Footprint(Product(weights_.groups, cols_));
  total = SaturatingAdd(total, ScratchArena::Footprint(PackedBytes()));
  total = SaturatingAdd(total, SaturatingMul(2, per_group));
  return SaturatingAdd(total, ScratchArena::Footprint(Product(cols_, 1)));
}

std::size_t BlockScaledProduct::PackedBytes() const {
  return in_place_ ? 0 : SaturatingMul(column_bytes_, cols_);
}

bool BlockScaledProduct::Take(ScratchArena* arena) {
  scratch_ = TakeArray<char>(arena, threads_ * scratch_bytes_);
  activations_ = TakeArray<char>(arena, PackedBytes());
  const std::size_t per_group = Product(weights_.groups, cols_);
  starts_ = TakeArray<std::int32_t>(arena, per_group);
  column_group_scales_ = TakeArray<float>(arena, per_group);
  column_scales_ = TakeArray<float>(arena, Product(cols_, 1));
  if (activation_zeros_ == nullptr) return true;
  row_sums_ = weights_.RowSums();
  return row_sums_ != nullptr;
}

char* BlockScaledProduct::PackedColumn(std::ptrdiff_t panel, int c) const {
  return activations_ + FirstCol(panel) * column_bytes_ +
         c * packed_col_stride();
}

void BlockScaledProduct::CopyColumns(const char* from, std::ptrdiff_t cols,
                                     void* to) const {
  const Scalar scalar = call_.activations.scalar;
  const std::ptrdiff_t along = activation_strides_.along;
  const std::ptrdiff_t across = activation_strides_.across;
  const bool is_int8 = scalar == Scalar::kI8;
  kernels::PackFn* const copy =
      is_int8 ? kernel_.copy_int8 : kernel_.copy_floats;
  // The routines transpose squares of 16 bytes: half of one must be there.
  const int least_cols = along == 1 ? 1 : is_int8 ? 8 : 4;
  if (copy != nullptr && cols >= least_cols) {
    kernels::PackArgs args = {};
    args.src = from;
    args.src_scalar = scalar;
    args.depth_contiguous = along == 1;
    args.src_stride = along == 1 ? across : along;
    args.depth = weights_.depth;
    args.width = cols;
    args.dst = to;
    args.padded_depth = copy_stride_;
    copy(&args);
  } else if (is_int8) {
    Gather<std::int8_t>(from, across, along, weights_.depth, cols, copy_stride_,
                        static_cast<std::int8_t*>(to));
  } else if (scalar == Scalar::kBF16) {
    Gather<BFloat16>(from, across, along, weights_.depth, cols, copy_stride_,
                     static_cast<float*>(to));
  } else {
    Gather<float>(from, across, along, weights_.depth, cols, copy_stride_,
                  static_cast<float*>(to));
  }
}

void BlockScaledProduct::QuantizeColumn(const float* values,
                                        std::ptrdiff_t panel, int c,
                                        std::int8_t* quantized) const {
  float* const scale = column_scales_ + FirstCol(panel) + c;
  if (!scales_per_group_) {
    *scale = kernel_.quantize(values, weights_.depth, quantized);
    return;
  }
  *scale = 1;
  float* group_scale = column_group_scales_ + FirstCol(panel) + c;
  for (std::ptrdiff_t group = 0; group < weights_.groups; ++group) {
    const std::ptrdiff_t levels = weights_.LevelsIn(group);
    *group_scale = kernel_.quantize(values, levels, quantized);
    values += levels;
    quantized += levels;
    group_scale += cols_;
  }
}

void BlockScaledProduct::SetScales(std::ptrdiff_t first,
                                   std::ptrdiff_t last) const {
  const float* const scales = call_.params.activation_scales;
  for (std::ptrdiff_t col = first; col < last; ++col) {
    column_scales_[col] = scales == nullptr ? 1.0f : scales[col];
  }
}

void BlockScaledProduct::PackFloats(const float* values,
                                    std::ptrdiff_t col_stride, int cols,
                                    std::ptrdiff_t panel, int c,
                                    std::int8_t* scratch) const {
  std::ptrdiff_t quantized_stride = weights_.depth;
  if (makes_packed_) {
    scratch = reinterpret_cast<std::int8_t*>(PackedColumn(panel, c));
    quantized_stride = static_cast<std::ptrdiff_t>(column_bytes_);
  }
  for (int i = 0; i < cols; ++i) {
    std::int8_t* const quantized = scratch + i * quantized_stride;
    QuantizeColumn(values + i * col_stride, panel, c + i, quantized);
    std::fill(quantized + weights_.depth, quantized + quantized_stride,
              std::int8_t{0});
  }
  PackColumns(scratch, quantized_stride, cols, panel, c);
}

kernels::GroupColumnArgs BlockScaledProduct::ColumnArgs(
    const std::int8_t* values, std::ptrdiff_t col_stride, int cols,
    int panel_cols) const {
  kernels::GroupColumnArgs args;
  args.values = values;
  args.col_stride = col_stride;
  args.cols = cols;
  args.depth = weights_.depth;
  args.group_levels = weights_.LevelsIn(0);
  args.packed_col_stride = packed_col_stride();
  args.step_stride = (kernel_.interleaves_columns ? panel_cols : 1) *
                     std::ptrdiff_t{kGroupStepLevels} * activation_bytes_;
  args.start_stride = cols_;
  args.factor = HasRowZeros() ? 1 : zero_point_;
  return args;
}

void BlockScaledProduct::Pack(const kernels::GroupColumnArgs& args) const {
  (weights_.bits == 4 ? kernel_.pack_columns4 : kernel_.pack_columns8)(args);
}

void BlockScaledProduct::PackColumns(const std::int8_t* values,
                                     std::ptrdiff_t col_stride, int cols,
                                     std::ptrdiff_t panel, int c) const {
  kernels::GroupColumnArgs args =
      ColumnArgs(values, col_stride, cols, ColsIn(panel));
  args.packed = in_place_ || makes_packed_ ? nullptr : PackedColumn(panel, c);
  args.starts = starts_ + FirstCol(panel) + c;
  Pack(args);
}

void BlockScaledProduct::PackRange(std::ptrdiff_t first, std::ptrdiff_t last,
                                   char* scratch) const {
  const bool is_int8 = call_.activations.scalar == Scalar::kI8;
  const char* values =
      static_cast<const char*>(call_.activations.data) +
      BytesOf(call_.activations.scalar, first * activation_strides_.across);
  std::ptrdiff_t col_stride = activation_strides_.across;
  if (copies_) {
    char* const copies = is_int8 && makes_packed_
                             ? activations_ + first * column_bytes_
                             : scratch;
    CopyColumns(values, last - first, copies);
    values = copies;
    col_stride = copy_stride_;
  }
  auto* const quantized = reinterpret_cast<std::int8_t*>(scratch + copy_bytes_);
  for (std::ptrdiff_t panel = PanelOf(first); first < last; ++panel) {
    const int c = static_cast<int>(first - FirstCol(panel));
    const int cols =
        static_cast<int>(std::min(last, FirstCol(panel + 1)) - first);
    SetScales(first, first + cols);
    if (is_int8) {
      PackColumns(reinterpret_cast<const std::int8_t*>(values), col_stride,
                  cols, panel, c);
      values += cols * col_stride;
    } else {
      const auto* const floats = reinterpret_cast<const float*>(values);
      PackFloats(floats, col_stride, cols, panel, c, quantized);
      values = reinterpret_cast<const char*>(floats + cols * col_stride);
    }
    first += cols;
  }
}

void BlockScaledProduct::PackActivations(int thread) {
  const ScopedFloatState float_state(FloatState::kDefault);
  char* const scratch = scratch_ + thread * scratch_bytes_;
  const std::ptrdiff_t ranges =
      copies_ ? CeilDiv(cols_, copied_cols_) : col_panels_;
  for (;;) {
    const std::ptrdiff_t range =
        next_range_.fetch_add(1, std::memory_order_relaxed);
    if (range >= ranges) return;
    if (copies_) {
      PackRange(range * copied_cols_,
                std::min((range + 1) * copied_cols_, cols_), scratch);
    } else {
      PackRange(FirstCol(range), FirstCol(range + 1), scratch);
    }
  }
}

// Panel `panel` as the `index`-th one of a block, as bytes.
void BlockScaledProduct::WidenPanel(std::ptrdiff_t panel, std::ptrdiff_t index,
                                    char* scratch) const {
  const std::ptrdiff_t values = weights_.groups * kGroupPanelRows;
  if (values == 0) return;  // no depth, and scratch may be null
  const std::uint8_t* levels = weights_.levels + panel * weights_.panel_bytes;
  std::uint8_t* to =
      reinterpret_cast<std::uint8_t*>(scratch) +
      index * weights_.steps() * kGroupStepLevels * kGroupPanelRows;
  if (weights_.bits == 8) {
    kernel_.widen8(levels, weights_.steps(), to);
  } else if (weights_.zeros == nullptr) {
    kernel_.widen4(levels, weights_.steps(), nullptr, to);
  } else {
    for (std::ptrdiff_t group = 0; group < weights_.groups; ++group) {
      const bool is_last = group + 1 == weights_.groups;
      const std::ptrdiff_t steps =
          is_last ? weights_.last_group_steps : weights_.group_steps;
      std::uint8_t shifts[kGroupPanelRows];
      for (int row = 0; row < kGroupPanelRows; ++row) {
        shifts[row] =
            kShiftedZero -
            weights_.zeros[panel * values + group * kGroupPanelRows + row];
      }
      kernel_.widen4(levels, steps, shifts, to);
      levels += steps * 4 * kGroupPanelRows;
      to += steps * 8 * kGroupPanelRows;
    }
  }
}

GroupTileArgs BlockScaledProduct::CommonArgs() const {
  GroupTileArgs args = {};
  args.scale_type = weights_.scale_type;
  args.groups = weights_.groups;
  args.group_steps = weights_.group_steps;
  args.last_group_steps = weights_.last_group_steps;
  args.activation_stride = in_place_
                               ? activation_strides_.across
                               : static_cast<std::ptrdiff_t>(column_bytes_);
  args.group_stride = cols_;
  args.dst_row_stride = dst_strides_.along;
  args.dst_col_stride = dst_strides_.across;
  args.dst_scalar = call_.dst.scalar;
  args.clamp_min = call_.params.clamp_min;
  args.clamp_max = call_.params.clamp_max;
  return args;
}

void BlockScaledProduct::MultiplyBlock(std::ptrdiff_t row_block,
                                       std::ptrdiff_t col_block,
                                       char* scratch) const {
  const std::ptrdiff_t first = row_block * block_panels_;
  const std::ptrdiff_t panels =
      std::min(block_panels_, weights_.panels - first);
  const std::ptrdiff_t row = first * kGroupPanelRows;
  const std::ptrdiff_t values = weights_.groups * kGroupPanelRows;
  GroupTileArgs args = CommonArgs();
  args.rows = std::min(panels * kGroupPanelRows, weights_.rows - row);
  args.codes = weights_.levels + first * weights_.panel_bytes;
  args.panel_bytes = weights_.panel_bytes;
  args.reads_apart =
      streams_ && col_panels_ == 1 &&
      panels * weights_.panel_bytes >
          static_cast<std::ptrdiff_t>(DetectedCacheSizes().l2_bytes / 2);
  args.scales = static_cast<const char*>(weights_.scales) +
                first * values * (InfoOf(weights_.scale_type).bits / 8);
  if (HasRowZeros()) args.zeros = weights_.zeros + first * values;
  if (row_sums_ != nullptr) args.row_sums = row_sums_ + row;
  if (widens_) {
    for (std::ptrdiff_t i = 0; i < panels; ++i) {
      WidenPanel(first + i, i, scratch);
    }
    args.codes = reinterpret_cast<const std::uint8_t*>(scratch);
    args.panel_bytes = weights_.steps() * kGroupStepLevels * kGroupPanelRows;
  }
  const float* const bias = call_.params.bias;
  const bool bias_along_rows =
      (call_.params.channel_dimension == ChannelDimension::kRow) ==
      call_.weights_are_lhs;
  if (bias != nullptr && bias_along_rows) args.row_bias = bias + row;
  const std::ptrdiff_t end =
      std::min(col_panels_, (col_block + 1) * block_col_panels_);
  for (std::ptrdiff_t panel = col_block * block_col_panels_; panel < end;
       ++panel) {
    const std::ptrdiff_t col = FirstCol(panel);
    args.cols = ColsIn(panel);
    args.activations =
        in_place_ ? static_cast<const std::int8_t*>(call_.activations.data) +
                        col * activation_strides_.across
                  : static_cast<void*>(PackedColumn(panel, 0));
    if (kernel_.interleaves_columns) {
      args.activation_stride = args.cols * kGroupStepLevels * activation_bytes_;
    }
    args.starts = starts_ + col;
    args.column_group_scales =
        scales_per_group_ ? column_group_scales_ + col : nullptr;
    args.column_zeros =
        activation_zeros_ == nullptr ? nullptr : activation_zeros_ + col;
    args.column_scales = column_scales_ + col;
    if (bias != nullptr && !bias_along_rows) args.col_bias = bias + col;
    args.dst = static_cast<char*>(const_cast<void*>(call_.dst.data)) +
               (row * dst_strides_.along + col * dst_strides_.across) *
                   (InfoOf(call_.dst.scalar).bits / 8);
    if (streams_) {
      (weights_.bits == 4 ? kernel_.stream4 : kernel_.stream8)(args);
    } else if (weights_.bits == 4) {
      kernel_.tile4(args);
    } else {
      kernel_.tile8(args);
    }
  }
}

void BlockScaledProduct::Multiply(int thread) {
  const ScopedFloatState float_state(FloatState::kDefault);
  char* const scratch = scratch_ + thread * scratch_bytes_;
  const std::ptrdiff_t blocks = row_blocks_ * col_blocks_;
  for (;;) {
    const std::ptrdiff_t block =
        next_block_.fetch_add(1, std::memory_order_relaxed);
    if (block >= blocks) return;
    MultiplyBlock(block / col_blocks_, block % col_blocks_, scratch);
  }
}

}  // namespace ruy_like
