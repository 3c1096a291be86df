// Tested in test/quantize/layers/depthwise_conv_test.cc.

#include "ruy_like/quantize/loops/depthwise_kernels.h"

#include <algorithm>
#include <cstring>

#include "ruy_like/base/checked_math.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ruy_like/quantize/loops/depthwise_kernels.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "hwy/highway.h"
#include "ruy_like/quantize/loops/dot_steps-inl.h"
#include "ruy_like/quantize/loops/requantize-inl.h"

// ## How a convolution is cut into tiles that fit buffers on the stack
//
// The same for all targets but for `rows_per_step`.

#ifndef RUY_LIKE_QUANTIZE_LOOPS_DEPTHWISE_KERNELS_ONCE_
#define RUY_LIKE_QUANTIZE_LOOPS_DEPTHWISE_KERNELS_ONCE_
namespace ruy_like::quantize_internal {

// The largest vector, in bytes; a step's products take four of them.
constexpr std::ptrdiff_t kDotBytes = 64;
// Kernel rows, and steps: kernel columns times groups of rows.
constexpr std::ptrdiff_t kMaxKernelRows = 32;
constexpr std::ptrdiff_t kMaxSteps = 256;
// On the stack: with offsets, 36 of the 64 KiB that threads have at least.
constexpr std::ptrdiff_t kColumnBytes = 16 * 1024;
constexpr std::ptrdiff_t kWeightBytes = 16 * 1024;

struct DepthwiseSteps {
  // Groups of kernel rows, and those times the kernel's columns.
  std::ptrdiff_t groups, steps;
  // Input columns from the first tap's to the last one's.
  std::ptrdiff_t col_span;
};

// Output columns of a tile for blocks of `lanes` channels; 0 if none fits.
inline std::ptrdiff_t RowTile(const DepthwiseSteps& steps, const Window& window,
                              std::ptrdiff_t lanes) {
  const std::ptrdiff_t cols = kColumnBytes / (4 * lanes * steps.groups);
  if (steps.steps * 4 * lanes > kWeightBytes || steps.col_span >= cols) {
    return 0;
  }
  return (cols - steps.col_span - 1) / window.stride_width + 1;
}

// False if the window is too large for blocks of `lanes` channels.
inline bool MakeSteps(const Window& window, std::ptrdiff_t rows_per_step,
                      std::ptrdiff_t lanes, DepthwiseSteps* result) {
  if (window.kernel_height > kMaxKernelRows ||
      window.kernel_width > kMaxSteps) {
    return false;
  }
  result->groups = CeilDiv(window.kernel_height, rows_per_step);
  result->steps = result->groups * window.kernel_width;
  // Sizes of windows are below 2^31.
  result->col_span = (window.kernel_width - 1) * window.dilation_width;
  return result->steps <= kMaxSteps && RowTile(*result, window, lanes) > 0;
}

}  // namespace ruy_like::quantize_internal
#endif  // RUY_LIKE_QUANTIZE_LOOPS_DEPTHWISE_KERNELS_ONCE_

// Where the loops for several outputs at once are faster.
#undef RUY_LIKE_NEIGHBOURS
#define RUY_LIKE_NEIGHBOURS (HWY_TARGET == HWY_AVX2)

HWY_BEFORE_NAMESPACE();
namespace ruy_like::quantize_internal::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR || HWY_HAVE_SCALABLE

const ByScalar<DepthwiseFunction>* GetDepthwiseKernels(bool) {
  static constexpr ByScalar<DepthwiseFunction> kKernels = {};
  return &kKernels;
}

#else

// Weights of all steps, and the bias with which sums of x, counted as unsigned,
// give those of x - zero point.
template <class Step, class D>
struct StepWeights {
  // Sums of `steps` steps of which step t's inputs are at x + offsets[t].
  template <std::ptrdiff_t kSteps>
  HWY_INLINE void Sum(const std::uint8_t* x, const std::ptrdiff_t* offsets,
                      std::ptrdiff_t steps, V32<D> (&acc)[4]) const {
    const D32<D> d32;
    const D d;
    constexpr std::ptrdiff_t kLanes = hn::MaxLanes(D());
    for (int k = 0; k < 4; ++k) acc[k] = hn::Load(d32, bias + k * kLanes / 4);
    const std::int8_t* w = weights;
    for (std::ptrdiff_t t = 0; t < (kSteps > 0 ? kSteps : steps); ++t) {
      const std::uint8_t* const at = x + offsets[t];
      for (int k = 0; k < 4; ++k) {
        acc[k] = Step::Dot(
            acc[k], hn::BitCast(d32, hn::LoadU(d, at + k * kLanes)),
            hn::BitCast(d32,
                        hn::Load(hn::RebindToSigned<D>(), w + k * kLanes)));
      }
      w += 4 * kLanes;
    }
  }

  // bias[k] becomes what makes up for inputs that count as `offset` too much.
  HWY_INLINE void Correct(const V32<D> (&offset)[4], std::ptrdiff_t steps) {
    const D32<D> d32;
    constexpr std::ptrdiff_t kLanes = hn::MaxLanes(D()) / 4;
    for (std::ptrdiff_t k = 0; k < 4; ++k) {
      auto sum = hn::Zero(d32);
      for (std::ptrdiff_t t = 0; t < steps; ++t) {
        sum = Step::Dot(sum, offset[k], At(t, k));
      }
      hn::Store(hn::Sub(hn::Load(d32, bias + k * kLanes), sum), d32,
                bias + k * kLanes);
    }
  }

  HWY_INLINE V32<D> At(std::ptrdiff_t step, std::ptrdiff_t k) const {
    constexpr std::ptrdiff_t kLanes = hn::MaxLanes(D());
    return hn::BitCast(D32<D>(), hn::Load(hn::RebindToSigned<D>(),
                                          weights + (step * 4 + k) * kLanes));
  }
  HWY_INLINE void Put(std::ptrdiff_t step, std::ptrdiff_t k, V32<D> v) {
    constexpr std::ptrdiff_t kLanes = hn::MaxLanes(D());
    hn::Store(hn::BitCast(hn::RebindToSigned<D>(), v), hn::RebindToSigned<D>(),
              weights + (step * 4 + k) * kLanes);
  }

  alignas(kDotBytes) std::int32_t bias[kDotBytes];
  alignas(kDotBytes) std::int8_t weights[kWeightBytes];
};

#if RUY_LIKE_NEIGHBOURS

// ## Sums of several outputs, for windows of kWidth neighbouring columns
//
// One output at a time takes two loads for each product. The sums of
// kOutputs neighbours are computed together instead, a quarter of the channels
// at a time: each weight of a group of rows is loaded once, and each input
// column, for all the outputs that see it.
template <class Step, class D, int kWidth, int kStride, int kCount>
struct NeighbourSums {
  static constexpr int kOutputs = kCount;
  static constexpr int kColumns = (kOutputs - 1) * kStride + kWidth;
  static constexpr std::ptrdiff_t kLanes = hn::MaxLanes(D());
  using V = V32<D>;

  // Quarter k. `group_bytes` lie between the columns of groups of rows.
  HWY_INLINE static void Sum(const StepWeights<Step, D>& weights,
                             std::ptrdiff_t k, const std::uint8_t* from,
                             std::ptrdiff_t groups, std::ptrdiff_t group_bytes,
                             V (&acc)[kOutputs]) {
    const V bias = hn::Load(D32<D>(), weights.bias + k * kLanes / 4);
    V sums[kOutputs];
    for (V& sum : sums) sum = bias;
    from += k * kLanes;
    for (std::ptrdiff_t g = 0; g < groups; ++g) {
      V w[kWidth];
      for (int j = 0; j < kWidth; ++j) {
        w[j] = InRegister(weights.At(g * kWidth + j, k));
      }
      AddColumns<0>(from, w, sums);
      for (V& sum : sums) sum = InRegister(sum);
      from += group_bytes;
    }
    for (int i = 0; i < kOutputs; ++i) acc[i] = sums[i];
  }

 private:
  template <int kColumn>
  HWY_INLINE static void AddColumns(const std::uint8_t* from,
                                    const V (&w)[kWidth], V (&acc)[kOutputs]) {
    if constexpr (kColumn < kColumns) {
      const V x =
          hn::BitCast(D32<D>(), hn::Load(D(), from + kColumn * 4 * kLanes));
      AddTo<kColumn, 0>(x, w, acc);
      AddColumns<kColumn + 1>(from, w, acc);
    }
  }
  template <int kColumn, int kOutput>
  HWY_INLINE static void AddTo(V x, const V (&w)[kWidth], V (&acc)[kOutputs]) {
    if constexpr (kOutput < kOutputs) {
      constexpr int kTap = kColumn - kOutput * kStride;
      if constexpr (kTap >= 0 && kTap < kWidth) {
        acc[kOutput] = Step::Dot(acc[kOutput], x, w[kTap]);
      }
      AddTo<kColumn, kOutput + 1>(x, w, acc);
    }
  }
};

#endif  // RUY_LIKE_NEIGHBOURS

// Inputs that all lie on padding.
template <class Step, class D>
HWY_INLINE void InterleavePadding(D d, const DepthwiseArgs& args,
                                  V32<D> (&out)[4]) {
  hn::Vec<D> rows[Step::kRows];
  for (auto& row : rows) row = hn::Set(d, args.UnsignedZeroPoint());
  Step::template Interleave<false>(d, rows, out);
}

// ## Output rows: vectors along channels

// As many channels as D has lanes, from c on.
template <class Step, class D, typename Out, RequantizeForm kForm>
class RowLoop {
 public:
  RowLoop(const DepthwiseArgs& args, std::ptrdiff_t channel)
      : args_(args),
        channel_(channel),
        multiplier_(args.channels / args.input_channels) {
    MakeSteps(args.window, Step::kRows, kLanes, &steps_);
    tile_ = RowTile(steps_, args.window, kLanes);
    if (multiplier_ > 1) FindRepeats();
    std::memset(padding_, args.input_zero_point & 0xff, sizeof(padding_));
    LoadWeights();
    const Window& window = args.window;
    const std::ptrdiff_t cols = ColumnsOf(tile_);
    for (std::ptrdiff_t g = 0, t = 0; g < steps_.groups; ++g) {
      for (std::ptrdiff_t j = 0; j < window.kernel_width; ++j, ++t) {
        offsets_[t] = (g * cols + j * window.dilation_width) * kColumn;
      }
    }
  }

  void Run(std::ptrdiff_t first, std::ptrdiff_t last) {
    std::int32_t memory[RequantizeConstants::kCount * kLanes];
    const RequantizeTable table = {memory, kLanes, args_.table.form};
    for (int i = 0; i < RequantizeConstants::kCount; ++i) {
      Permute(args_.table[i] + channel_, table[i]);
    }
#if RUY_LIKE_NEIGHBOURS
    const Window& window = args_.window;
    // Tiles of less than 4 outputs would read beyond the columns.
    if (window.dilation_width == 1 && tile_ >= 4) {
      const auto is = [&](std::ptrdiff_t width, std::ptrdiff_t stride) {
        return window.kernel_width == width && window.stride_width == stride;
      };
      if (is(3, 1)) return NeighbourRows<3, 1>(first, last, table);
      if (is(3, 2)) return NeighbourRows<3, 2>(first, last, table);
      if (is(5, 1)) return NeighbourRows<5, 1>(first, last, table);
    }
#endif
    const Output<D, Out, kForm> output(args_.bounds, table);
    switch (steps_.steps) {
      case 3:
        return Rows<3>(first, last, output);
      case 6:
        return Rows<6>(first, last, output);
      default:
        return Rows<0>(first, last, output);
    }
  }

 private:
  static constexpr std::ptrdiff_t kLanes = hn::MaxLanes(D());
  // Bytes of an input column.
  static constexpr std::ptrdiff_t kColumn = 4 * kLanes;

  // Input channels of 16 output channels: where their bytes begin behind those
  // of the first ones, and which of these each is.
  struct Repeats {
    alignas(16) std::uint8_t index[16];
    std::ptrdiff_t first;
  };
  void FindRepeats() {
    for (std::ptrdiff_t b = 0; b < kLanes / 16; ++b) {
      const std::ptrdiff_t channel = channel_ + 16 * b;
      const std::ptrdiff_t first = channel / multiplier_;
      repeats_[b].first = first - channel_ / multiplier_;
      for (std::ptrdiff_t i = 0; i < 16; ++i) {
        repeats_[b].index[i] =
            static_cast<std::uint8_t>((channel + i) / multiplier_ - first);
      }
    }
  }
  // The inputs of as many output channels as d has lanes.
  template <class DB>
  static HWY_INLINE hn::Vec<DB> LoadRepeated(DB d, const std::uint8_t* pixel,
                                             const Repeats* repeats) {
    if constexpr (hn::MaxLanes(DB()) > 16) {
      const hn::Half<DB> half;
      constexpr std::ptrdiff_t kBlocks = hn::MaxLanes(DB()) / 32;
      return hn::Combine(d, LoadRepeated(half, pixel, repeats + kBlocks),
                         LoadRepeated(half, pixel, repeats));
    } else {
      return hn::TableLookupBytes(hn::LoadU(d, pixel + repeats->first),
                                  hn::Load(d, repeats->index));
    }
  }

  // To the order of interleaved lanes.
  static void Permute(const std::int32_t* from, std::int32_t* to) {
    for (std::ptrdiff_t b = 0; b < kLanes / 16; ++b) {
      for (std::ptrdiff_t k = 0; k < 4; ++k) {
        std::memcpy(to + k * kLanes / 4 + 4 * b, from + 16 * b + 4 * k,
                    4 * sizeof(*to));
      }
    }
  }

  void LoadWeights() {
    const D d;
    const Window& window = args_.window;
    Permute(args_.bias + channel_, weights_.bias);
    for (std::ptrdiff_t g = 0, t = 0; g < steps_.groups; ++g) {
      for (std::ptrdiff_t j = 0; j < window.kernel_width; ++j, ++t) {
        hn::Vec<D> rows[Step::kRows];
        for (std::ptrdiff_t i = 0; i < Step::kRows; ++i) {
          const std::ptrdiff_t row = g * Step::kRows + i;
          const std::int8_t* const from =
              args_.weight_bytes +
              (row * window.kernel_width + j) * args_.weight_stride + channel_;
          rows[i] =
              row < window.kernel_height
                  ? hn::LoadU(d, reinterpret_cast<const std::uint8_t*>(from))
                  : hn::Zero(d);
        }
        V32<D> out[4];
        Step::template Interleave<true>(d, rows, out);
        for (std::ptrdiff_t k = 0; k < 4; ++k) weights_.Put(t, k, out[k]);
      }
    }
    V32<D> offset[4];
    InterleavePadding<Step>(d, args_, offset);
    weights_.Correct(offset, steps_.steps);
  }

  // Input columns that so many outputs see.
  std::ptrdiff_t ColumnsOf(std::ptrdiff_t outputs) const {
    return (outputs - 1) * args_.window.stride_width + steps_.col_span + 1;
  }

  // The input of a kernel row: where column 0 is, and the bytes to the next.
  struct InputRow {
    const std::uint8_t* data;
    std::ptrdiff_t step;
  };
  void SetRows(std::ptrdiff_t row) {
    const std::ptrdiff_t image = row / args_.output_height;
    const std::ptrdiff_t top =
        row % args_.output_height * args_.window.stride_height -
        args_.window.padding.top;
    const std::ptrdiff_t step = args_.input_channels;
    for (std::ptrdiff_t i = 0; i < steps_.groups * Step::kRows; ++i) {
      const std::ptrdiff_t y = top + i * args_.window.dilation_height;
      // Those behind the last one have weights of 0.
      if (i >= args_.window.kernel_height || y < 0 || y >= args_.input_height) {
        rows_[i] = {padding_, 0};
        continue;
      }
      const std::ptrdiff_t index = image * args_.input_height + y;
      const std::uint8_t* const data =
          args_.last_rows != nullptr && index >= args_.copied_from
              ? args_.last_rows +
                    (index - args_.copied_from) * args_.input_width * step
              : args_.input + index * args_.input_width * step;
      rows_[i] = {data + channel_ / multiplier_, step};
    }
    // From here on a whole vector would reach into the next row.
    if (args_.channels < kLanes) {
      no_vectors_from_ = static_cast<Out*>(args_.output) +
                         (row + 1) * args_.output_width * args_.channels -
                         kLanes + 1;
    }
  }

  // Input columns from `first` on, `count` of them, which may lie on padding.
  HWY_INLINE void MakeColumns(std::ptrdiff_t first, std::ptrdiff_t count) {
    if (multiplier_ > 1) return MakeRepeatedColumns(first, count);
    MakeColumnsOf<false>(first, count);
  }
  HWY_NOINLINE void MakeRepeatedColumns(std::ptrdiff_t first,
                                        std::ptrdiff_t count) {
    MakeColumnsOf<true>(first, count);
  }
  template <bool kRepeats>
  HWY_INLINE void MakeColumnsOf(std::ptrdiff_t first, std::ptrdiff_t count) {
    const D d;
    const Inside inside = PointsInside(first, 1, count, args_.input_width);
    const auto flip = hn::Set(d, args_.Flip());
    const std::ptrdiff_t cols = ColumnsOf(tile_);
    V32<D> out[4];
    for (std::ptrdiff_t g = 0; g < steps_.groups; ++g) {
      std::uint8_t* const to = columns_ + g * cols * kColumn;
      const auto store = [&](std::ptrdiff_t x) HWY_ATTR {
        for (std::ptrdiff_t k = 0; k < 4; ++k) {
          hn::Store(hn::BitCast(d, out[k]), d, to + x * kColumn + k * kLanes);
        }
      };
      InterleavePadding<Step>(d, args_, out);
      for (std::ptrdiff_t x = 0; x < inside.first; ++x) store(x);
      for (std::ptrdiff_t x = inside.end; x < count; ++x) store(x);
      // Copies, which stores cannot change.
      const std::uint8_t* from[Step::kRows];
      std::ptrdiff_t steps[Step::kRows];
      for (std::ptrdiff_t i = 0; i < Step::kRows; ++i) {
        const InputRow& row = rows_[g * Step::kRows + i];
        steps[i] = row.step;
        from[i] = row.data + (first + inside.first) * row.step;
      }
      for (std::ptrdiff_t x = inside.first; x < inside.end; ++x) {
        hn::Vec<D> rows[Step::kRows];
        for (std::ptrdiff_t i = 0; i < Step::kRows; ++i) {
          hn::Vec<D> values;
          if constexpr (kRepeats) {
            values = LoadRepeated(d, from[i], repeats_);
          } else {
            values = hn::LoadU(d, from[i]);
          }
          rows[i] = hn::Xor(values, flip);
          from[i] += steps[i];
        }
        Step::template Interleave<false>(d, rows, out);
        store(x);
      }
    }
  }

  // With less than 16 channels the lanes behind them go where the next output
  // will be.
  HWY_INLINE void Store(hn::Vec<hn::Rebind<Out, D>> bytes, Out* out) const {
    const hn::Rebind<Out, D> d;
    if (kLanes > 16 || no_vectors_from_ == nullptr || out < no_vectors_from_) {
      hn::StoreU(bytes, d, out);
      return;
    }
    alignas(16) Out buffer[kLanes];
    hn::Store(bytes, d, buffer);
    CopyFew<8>(buffer, args_.channels, out);
  }

#if RUY_LIKE_NEIGHBOURS

  template <int kWidth, int kStride>
  HWY_NOINLINE void NeighbourRows(std::ptrdiff_t first, std::ptrdiff_t last,
                                  const RequantizeTable& table) {
    constexpr int kOutputs = 4;
    const std::ptrdiff_t channels = args_.channels;
    for (std::ptrdiff_t row = first; row < last; ++row) {
      SetRows(row);
      for (std::ptrdiff_t x = 0; x < args_.output_width; x += tile_) {
        const std::ptrdiff_t count = std::min(tile_, args_.output_width - x);
        MakeColumns(x * args_.window.stride_width - args_.window.padding.left,
                    ColumnsOf(count));
        Out* const out = static_cast<Out*>(args_.output) +
                         (row * args_.output_width + x) * channels + channel_;
        const auto at = [&](std::ptrdiff_t i) {
          return columns_ + i * kStride * kColumn;
        };
        std::ptrdiff_t i = 0;
        for (; i < count && count - i != 3; i += kOutputs) {
          // The last ones may reach back. Of less than kOutputs the first are
          // computed from what is in the buffer, and not stored.
          const std::ptrdiff_t first =
              std::max<std::ptrdiff_t>(0, std::min(i, count - kOutputs));
          NeighbourOutputs<kWidth, kStride, kOutputs>(
              at(first), table, std::min<std::ptrdiff_t>(count, kOutputs),
              out + first * channels);
        }
        // Rows of 7 outputs are common.
        if (i < count) {
          NeighbourOutputs<kWidth, kStride, 3>(at(i), table, 3,
                                               out + i * channels);
        }
      }
    }
  }

  template <int kWidth, int kStride, int kOutputs>
  HWY_INLINE void NeighbourOutputs(const std::uint8_t* from,
                                   const RequantizeTable& table,
                                   std::ptrdiff_t count, Out* out) const {
    using Sums = NeighbourSums<Step, D, kWidth, kStride, kOutputs>;
    const hn::Rebind<Out, D> d;
    const std::ptrdiff_t group_bytes = ColumnsOf(tile_) * kColumn;
    // Results of quarters 0 and 1, and of 2 and 3.
    hn::Vec<D16<D>> halves[2][kOutputs];
    NeighbourHalf<Sums, 0>(from, group_bytes, table, halves[0]);
    NeighbourHalf<Sums, 2>(from, group_bytes, table, halves[1]);
    const auto lowest = hn::Set(d, static_cast<Out>(args_.bounds.lowest));
    const auto highest = hn::Set(d, static_cast<Out>(args_.bounds.highest));
    for (std::ptrdiff_t i = 0; i < kOutputs; ++i) {
      if (i == count) break;
      const auto bytes = PackBytes(d, halves[0][i], halves[1][i]);
      Store(hn::Min(hn::Max(bytes, lowest), highest), out + i * args_.channels);
    }
  }

  // Quarters k and k + 1.
  template <class Sums, int k>
  HWY_INLINE void NeighbourHalf(
      const std::uint8_t* from, std::ptrdiff_t group_bytes,
      const RequantizeTable& table,
      hn::Vec<D16<D>> (&result)[Sums::kOutputs]) const {
    const D16<D> d16;
    V32<D> low[Sums::kOutputs], high[Sums::kOutputs];
    NeighbourQuarter<Sums, k>(from, group_bytes, table, low);
    NeighbourQuarter<Sums, k + 1>(from, group_bytes, table, high);
    const auto zero_point =
        hn::Set(d16, static_cast<std::int16_t>(args_.bounds.zero_point));
    for (int i = 0; i < Sums::kOutputs; ++i) {
      result[i] = hn::SaturatedAdd(hn::ReorderDemote2To(d16, low[i], high[i]),
                                   zero_point);
    }
  }

  template <class Sums, int k>
  HWY_INLINE void NeighbourQuarter(const std::uint8_t* from,
                                   std::ptrdiff_t group_bytes,
                                   const RequantizeTable& table,
                                   V32<D> (&result)[Sums::kOutputs]) const {
    const D32<D> d32;
    V32<D> sums[Sums::kOutputs];
    Sums::Sum(weights_, k, from, steps_.groups, group_bytes, sums);
    const RequantizeVectors<D32<D>> constants(
        d32, table, static_cast<std::size_t>(k * kLanes / 4));
    for (int i = 0; i < Sums::kOutputs; ++i) {
      result[i] = Requantize(d32, sums[i], constants, kForm);
    }
  }

#endif  // RUY_LIKE_NEIGHBOURS

  template <std::ptrdiff_t kSteps>
  void Rows(std::ptrdiff_t first, std::ptrdiff_t last,
            const Output<D, Out, kForm>& shared_output) {
    // A copy, which stores cannot change.
    const Output<D, Out, kForm> output = shared_output;
    const std::ptrdiff_t channels = args_.channels;
    const std::ptrdiff_t step = args_.window.stride_width * kColumn;
    for (std::ptrdiff_t row = first; row < last; ++row) {
      SetRows(row);
      for (std::ptrdiff_t x = 0; x < args_.output_width; x += tile_) {
        const std::ptrdiff_t count = std::min(tile_, args_.output_width - x);
        MakeColumns(x * args_.window.stride_width - args_.window.padding.left,
                    ColumnsOf(count));
        Out* out = static_cast<Out*>(args_.output) +
                   (row * args_.output_width + x) * channels + channel_;
        const std::uint8_t* from = columns_;
        for (std::ptrdiff_t i = 0; i < count; ++i) {
          V32<D> acc[4];
          weights_.template Sum<kSteps>(from, offsets_, steps_.steps, acc);
          Store(output(acc), out);
          from += step;
          out += channels;
        }
      }
    }
  }

  const DepthwiseArgs& args_;
  const std::ptrdiff_t channel_;
  const std::ptrdiff_t multiplier_;
  const Out* no_vectors_from_ = nullptr;
  DepthwiseSteps steps_ = {};
  std::ptrdiff_t tile_;
  InputRow rows_[kMaxKernelRows + Step::kRows];
  std::ptrdiff_t offsets_[kMaxSteps];
  StepWeights<Step, D> weights_;
  Repeats repeats_[kDotBytes / 16];
  std::uint8_t padding_[kDotBytes];
  alignas(kDotBytes) std::uint8_t columns_[kColumnBytes];
};

template <class Step, class D, typename Out>
HWY_NOINLINE void RowsOfBlock(const DepthwiseArgs& args, std::ptrdiff_t channel,
                              std::ptrdiff_t first, std::ptrdiff_t last) {
  WithForm<RequantizeForm::kMixed>(args.table.form, [&](auto form) HWY_ATTR {
    RowLoop<Step, D, Out, decltype(form)::value>(args, channel)
        .Run(first, last);
  });
}

template <class Step, typename Out>
void DepthwiseRows(const DepthwiseArgs& args, std::ptrdiff_t first,
                   std::ptrdiff_t last) {
  const std::ptrdiff_t channels = args.channels;
  std::ptrdiff_t c = 0;
  // The last block of a size may reach back, so that none is partial, unless
  // there are less than 16 channels.
  const auto cover = [&](auto tag, std::ptrdiff_t least) HWY_ATTR {
    constexpr std::ptrdiff_t kLanes = hn::MaxLanes(decltype(tag)());
    DepthwiseSteps steps;
    if (!MakeSteps(args.window, Step::kRows, kLanes, &steps)) return;
    for (; c + kLanes <= channels; c += kLanes) {
      RowsOfBlock<Step, decltype(tag), Out>(args, c, first, last);
    }
    if (channels - c >= least && (channels >= kLanes || kLanes == 16)) {
      RowsOfBlock<Step, decltype(tag), Out>(
          args, std::max<std::ptrdiff_t>(channels - kLanes, 0), first, last);
      c = channels;
    }
  };
  constexpr std::ptrdiff_t kLanes = HWY_LANES(std::uint8_t);
  if constexpr (kLanes > 32) cover(hn::CappedTag<std::uint8_t, 64>(), 33);
  if constexpr (kLanes > 16) cover(hn::CappedTag<std::uint8_t, 32>(), 17);
  cover(hn::CappedTag<std::uint8_t, 16>(), 1);
}

template <class Step>
constexpr ByScalar<DepthwiseFunction> kDepthwiseKernels = {
    DepthwiseRows<Step, std::int8_t>, DepthwiseRows<Step, std::uint8_t>};

const ByScalar<DepthwiseFunction>* GetDepthwiseKernels(
    [[maybe_unused]] bool has_vnni) {
#if HWY_TARGET == HWY_AVX3
  if (has_vnni) return &kDepthwiseKernels<Quads>;
#endif
  return &kDepthwiseKernels<Pairs>;
}

#endif  // HWY_TARGET == HWY_SCALAR || HWY_HAVE_SCALABLE

}  // namespace ruy_like::quantize_internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ruy_like::quantize_internal {

HWY_EXPORT(GetDepthwiseKernels);

// All targets have steps of at least two rows, and the blocks of channels that
// fit the largest windows.
constexpr std::ptrdiff_t kLeastStepRows = 2, kLeastLanes = 16;

bool FitsDepthwiseKernels(const DepthwiseArgs& args) {
  DepthwiseSteps steps = {};
  return args.weight_bytes != nullptr &&
         MakeSteps(args.window, kLeastStepRows, kLeastLanes, &steps);
}

const ByScalar<DepthwiseFunction>& DepthwiseKernelsFor(const Context* context) {
  return *HWY_DISPATCH_TABLE(
      GetDepthwiseKernels)[TargetIndex(TargetsFor(context))](
      PermitsVnni(context));
}

}  // namespace ruy_like::quantize_internal
#endif  // HWY_ONCE
