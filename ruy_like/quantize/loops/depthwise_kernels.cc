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
#include "ruy_like/quantize/loops/dot_tiles-inl.h"
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

// For blocks of `lanes` channels.
struct DepthwiseTiling {
  DepthwiseTiling(const Window& window, std::ptrdiff_t rows_per_step,
                  std::ptrdiff_t lanes) {
    if (window.kernel_height > kMaxKernelRows ||
        window.kernel_width > kMaxSteps) {
      return;
    }
    groups = CeilDiv(window.kernel_height, rows_per_step);
    steps = groups * window.kernel_width;
    // Sizes of windows are below 2^31.
    const std::ptrdiff_t col_span =
        (window.kernel_width - 1) * window.dilation_width;
    const std::ptrdiff_t cols = kColumnBytes / (4 * lanes * groups);
    if (steps > kMaxSteps || steps * 4 * lanes > kWeightBytes ||
        col_span >= cols) {
      return;
    }
    outputs = (cols - col_span - 1) / window.stride_width + 1;
    columns = ColumnsOf(window, outputs);
  }

  // Input columns that so many outputs see.
  static std::ptrdiff_t ColumnsOf(const Window& window,
                                  std::ptrdiff_t outputs) {
    return (outputs - 1) * window.stride_width +
           (window.kernel_width - 1) * window.dilation_width + 1;
  }

  // Groups of kernel rows, and those times the kernel's columns.
  std::ptrdiff_t groups = 0, steps = 0;
  // Output columns of a tile, 0 if the window is too large, and the input
  // columns that they see.
  std::ptrdiff_t outputs = 0, columns = 0;
};

}  // namespace ruy_like::quantize_internal
#endif  // RUY_LIKE_QUANTIZE_LOOPS_DEPTHWISE_KERNELS_ONCE_

HWY_BEFORE_NAMESPACE();
namespace ruy_like::quantize_internal::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR || HWY_HAVE_SCALABLE

DepthwiseFunction* GetDepthwiseKernel(bool) { return nullptr; }

#else

// Inputs that all lie on padding.
template <class Step, class D>
HWY_INLINE void InterleavePadding(D d, const DepthwiseArgs& args,
                                  V32<D> (&out)[4]) {
  hn::Vec<D> rows[Step::kRows];
  for (auto& row : rows) row = hn::Set(d, args.UnsignedZeroPoint());
  Step::template Interleave<false>(d, rows, out);
}

// ## Output rows: vectors along channels

// Computes a block of channels, as many as DB has lanes, from `channel` on. A
// vector of D holds the block of kRowsAtOnce output rows, side by side.
template <class Step, class D, class DB, RequantizeForm kForm>
class RowLoop {
 public:
  RowLoop(const DepthwiseArgs& args, std::ptrdiff_t channel)
      : args_(args),
        channel_(channel),
        multiplier_(args.channels / args.input_channels),
        tiling_(args.window, Step::kRows, kLanes) {
    if (multiplier_ > 1) FindRepeats();
    std::memset(padding_, args.input_zero_point & 0xff, sizeof(padding_));
    LoadWeights();
  }

  void Run(std::ptrdiff_t first, std::ptrdiff_t last) {
    std::int32_t memory[RequantizeConstants::kCount * kLanes];
    const RequantizeTable table = {memory, kLanes, args_.table.form};
    for (int i = 0; i < RequantizeConstants::kCount; ++i) {
      Permute(args_.table[i] + channel_, table[i]);
    }
    const Output<D, kForm> output(args_, table);
    if constexpr (kLanes < HWY_LANES(std::uint8_t)) {
      Rows<AnyWindow<0>>(first, last, output);
    } else {
      RowsOfWindow(first, last, output);
    }
  }

 private:
  static constexpr std::ptrdiff_t kLanes = hn::MaxLanes(D());
  static constexpr std::ptrdiff_t kBlock = hn::MaxLanes(DB());
  static constexpr std::ptrdiff_t kRowsAtOnce = kLanes / kBlock;
  // Bytes of an input column.
  static constexpr std::ptrdiff_t kColumn = 4 * kLanes;

  using Bytes = hn::Vec<D>;

  // Tiles of outputs of kSteps steps, or of any number of them.
  template <int kSteps>
  struct AnyWindow {
    // Two at a time where a step does much, or registers are few.
    static constexpr int kOutputs =
        Step::kRows == 4 || HWY_TARGET == HWY_AVX2 ? 2 : 1;
    template <int kCount>
    static HWY_INLINE void Run(const Steps& steps, const std::uint8_t* from,
                               const Output<D, kForm>& output,
                               Bytes (&bytes)[kCount]) {
      V32<D> sums[kCount][4];
      SumSteps<Step, 4, kSteps>(D(), steps, from, 0, sums);
      output(sums, bytes);
    }
  };

  // The same for windows of kWidth neighbouring columns. Requantizing a vector
  // of sums runs along with computing the next one.
  template <int kWidth, int kStride>
  struct Neighbours {
    static constexpr int kOutputs = 4;
    template <int kCount>
    static HWY_INLINE void Run(const Steps& steps, const std::uint8_t* from,
                               const Output<D, kForm>& output,
                               Bytes (&bytes)[kCount]) {
      V32<D> sums[kCount][4];
      Vector<0>(steps, from, output, sums);
      Vector<1>(steps, from, output, sums);
      Vector<2>(steps, from, output, sums);
      Vector<3>(steps, from, output, sums);
      output.Pack(sums, bytes);
    }
    template <int k, int kCount>
    static HWY_INLINE void Vector(const Steps& steps, const std::uint8_t* from,
                                  const Output<D, kForm>& output,
                                  V32<D> (&sums)[kCount][4]) {
      SumNeighbours<Step, kWidth, kStride, k>(D(), steps, from, sums);
      output.template Scale<k>(sums);
    }
  };

  // By the form that suits the window best.
  HWY_INLINE void RowsOfWindow(std::ptrdiff_t first, std::ptrdiff_t last,
                               const Output<D, kForm>& output) {
#if HWY_TARGET == HWY_AVX2
    const Window& window = args_.window;
    if (window.dilation_width == 1) {
      const auto is = [&](std::ptrdiff_t width, std::ptrdiff_t stride) {
        return window.kernel_width == width && window.stride_width == stride;
      };
      if (is(3, 1)) return Rows<Neighbours<3, 1>>(first, last, output);
      if (is(3, 2)) return Rows<Neighbours<3, 2>>(first, last, output);
      if (is(5, 1)) return Rows<Neighbours<5, 1>>(first, last, output);
    }
#endif
    switch (tiling_.steps) {
      case 3:
        return Rows<AnyWindow<3>>(first, last, output);
      case 6:
        return Rows<AnyWindow<6>>(first, last, output);
      default:
        return Rows<AnyWindow<0>>(first, last, output);
    }
  }

  template <class Tiles>
  HWY_NOINLINE void Rows(std::ptrdiff_t first, std::ptrdiff_t last,
                         const Output<D, kForm>& shared_output) {
    // A copy, which stores cannot change.
    const Output<D, kForm> output = shared_output;
    const Window& window = args_.window;
    const std::ptrdiff_t channels = args_.channels;
    const Steps steps = {tiling_.steps, offsets_, weights_,
                         kColumn,       bias_,    window.stride_width * kColumn,
                         kLanes};
    for (std::ptrdiff_t row = first; row < last; row += kRowsAtOnce) {
      // The last group may have fewer rows: then it repeats the last one.
      std::ptrdiff_t behind[kRowsAtOnce];
      for (std::ptrdiff_t r = 0; r < kRowsAtOnce; ++r) {
        const std::ptrdiff_t ahead = std::min(r, last - 1 - row);
        behind[r] = ahead * args_.output_width * channels;
        SetRows(r, row + ahead);
      }
      for (std::ptrdiff_t x = 0; x < args_.output_width; x += tiling_.outputs) {
        const std::ptrdiff_t count =
            std::min(tiling_.outputs, args_.output_width - x);
        MakeColumns(x * window.stride_width - window.padding.left,
                    DepthwiseTiling::ColumnsOf(window, count));
        std::uint8_t* const out = static_cast<std::uint8_t*>(args_.output) +
                                  (row * args_.output_width + x) * channels +
                                  channel_;
        ForTiles<Tiles::kOutputs>(
            count, columns_, steps.output_bytes, out, channels,
            [&](auto size, const std::uint8_t* from, std::uint8_t* to)
                HWY_ATTR {
                  constexpr int kOutputs = decltype(size)::value;
                  Bytes bytes[kOutputs];
                  Tiles::Run(steps, from, output, bytes);
                  for (int p = 0; p < kOutputs; ++p) {
                    StoreRows(bytes[p], to + p * channels, behind);
                  }
                });
      }
    }
  }

  // Input channels of 16 output channels: where their bytes begin behind those
  // of the first ones, and which of these each is.
  struct Repeats {
    alignas(16) std::uint8_t index[16];
    std::ptrdiff_t first;
  };
  void FindRepeats() {
    for (std::ptrdiff_t b = 0; b < kBlock / 16; ++b) {
      const std::ptrdiff_t channel = channel_ + 16 * b;
      const std::ptrdiff_t first = channel / multiplier_;
      repeats_[b].first = first - channel_ / multiplier_;
      for (std::ptrdiff_t i = 0; i < 16; ++i) {
        repeats_[b].index[i] =
            static_cast<std::uint8_t>((channel + i) / multiplier_ - first);
      }
    }
  }
  // A vector whose parts of kPart lanes are load(0), load(1), ...
  template <std::ptrdiff_t kPart, class DJ, class Load>
  static HWY_INLINE hn::Vec<DJ> Join(DJ d, const Load& load,
                                     std::ptrdiff_t first = 0) {
    if constexpr (hn::MaxLanes(DJ()) > kPart) {
      const hn::Half<DJ> half;
      constexpr std::ptrdiff_t kParts = hn::MaxLanes(DJ()) / kPart / 2;
      return hn::Combine(d, Join<kPart>(half, load, first + kParts),
                         Join<kPart>(half, load, first));
    } else {
      return load(first);
    }
  }

  // The inputs of a block of output channels.
  HWY_INLINE hn::Vec<DB> LoadRepeated(const std::uint8_t* pixel) const {
    return Join<16>(DB(), [&](std::ptrdiff_t b) HWY_ATTR {
      const hn::CappedTag<std::uint8_t, 16> d;
      return hn::TableLookupBytes(hn::LoadU(d, pixel + repeats_[b].first),
                                  hn::Load(d, repeats_[b].index));
    });
  }

  // To the order of interleaved lanes.
  static void Permute(const std::int32_t* from, std::int32_t* to) {
    for (std::ptrdiff_t b = 0; b < kLanes / 16; ++b) {
      for (std::ptrdiff_t k = 0; k < 4; ++k) {
        std::memcpy(to + k * kLanes / 4 + 4 * b,
                    from + (16 * b) % kBlock + 4 * k, 4 * sizeof(*to));
      }
    }
  }

  // Weights of all steps, and the bias with which sums of inputs that count as
  // unsigned give those of inputs less their zero point.
  void LoadWeights() {
    const D d;
    const D32<D> d32;
    const Window& window = args_.window;
    Permute(args_.bias + channel_, bias_);
    V32<D> offset[4], weights[4];
    V32<D> sums[4] = {hn::Zero(d32), hn::Zero(d32), hn::Zero(d32),
                      hn::Zero(d32)};
    InterleavePadding<Step>(d, args_, offset);
    std::int8_t* to = weights_;
    for (std::ptrdiff_t g = 0, t = 0; g < tiling_.groups; ++g) {
      for (std::ptrdiff_t j = 0; j < window.kernel_width; ++j, ++t) {
        offsets_[t] =
            (g * tiling_.columns + j * window.dilation_width) * kColumn;
        hn::Vec<D> rows[Step::kRows];
        for (std::ptrdiff_t i = 0; i < Step::kRows; ++i) {
          const std::ptrdiff_t row = g * Step::kRows + i;
          const std::int8_t* const from =
              args_.weight_bytes +
              (row * window.kernel_width + j) * args_.weight_stride + channel_;
          rows[i] = hn::Zero(d);
          if (row >= window.kernel_height) continue;
          rows[i] = Join<kBlock>(d, [&](std::ptrdiff_t) HWY_ATTR {
            return hn::LoadU(DB(), reinterpret_cast<const std::uint8_t*>(from));
          });
        }
        Step::template Interleave<true>(d, rows, weights);
        for (std::ptrdiff_t k = 0; k < 4; ++k, to += kLanes) {
          const hn::RebindToSigned<D> d8;
          hn::Store(hn::BitCast(d8, weights[k]), d8, to);
          sums[k] = Step::Dot(sums[k], offset[k], weights[k]);
        }
      }
    }
    for (std::ptrdiff_t k = 0; k < 4; ++k) {
      std::int32_t* const bias = bias_ + k * kLanes / 4;
      hn::Store(hn::Sub(hn::Load(d32, bias), sums[k]), d32, bias);
    }
  }

  // The input of a kernel row: where column 0 is, and the bytes to the next.
  struct InputRow {
    const std::uint8_t* data;
    std::ptrdiff_t step;
  };
  // Those of output row `row`, the r-th of the rows that are computed at once.
  void SetRows(std::ptrdiff_t r, std::ptrdiff_t row) {
    const std::ptrdiff_t image = row / args_.output_height;
    const std::ptrdiff_t top =
        row % args_.output_height * args_.window.stride_height -
        args_.window.padding.top;
    const std::ptrdiff_t step = args_.input_channels;
    for (std::ptrdiff_t i = 0; i < tiling_.groups * Step::kRows; ++i) {
      const std::ptrdiff_t y = top + i * args_.window.dilation_height;
      // Those behind the last one have weights of 0.
      if (i >= args_.window.kernel_height || y < 0 || y >= args_.input_height) {
        rows_[r][i] = {padding_, 0};
        continue;
      }
      const std::ptrdiff_t index = image * args_.input_height + y;
      const std::uint8_t* const data =
          args_.last_rows != nullptr && index >= args_.copied_from
              ? args_.last_rows +
                    (index - args_.copied_from) * args_.input_width * step
              : args_.input + index * args_.input_width * step;
      rows_[r][i] = {data + channel_ / multiplier_, step};
    }
    // From here on a whole vector would reach into the next row.
    if (args_.channels < kBlock) {
      no_vectors_from_[r] = static_cast<std::uint8_t*>(args_.output) +
                            (row + 1) * args_.output_width * args_.channels -
                            kBlock + 1;
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
    V32<D> out[4];
    for (std::ptrdiff_t g = 0; g < tiling_.groups; ++g) {
      std::uint8_t* const to = columns_ + g * tiling_.columns * kColumn;
      const auto store = [&](std::ptrdiff_t x) HWY_ATTR {
        for (std::ptrdiff_t k = 0; k < 4; ++k) {
          hn::Store(hn::BitCast(d, out[k]), d, to + x * kColumn + k * kLanes);
        }
      };
      InterleavePadding<Step>(d, args_, out);
      for (std::ptrdiff_t x = 0; x < inside.first; ++x) store(x);
      for (std::ptrdiff_t x = inside.end; x < count; ++x) store(x);
      // Copies, which stores cannot change.
      const std::uint8_t* from[Step::kRows][kRowsAtOnce];
      std::ptrdiff_t steps[Step::kRows][kRowsAtOnce];
      for (std::ptrdiff_t i = 0; i < Step::kRows; ++i) {
        for (std::ptrdiff_t r = 0; r < kRowsAtOnce; ++r) {
          const InputRow& row = rows_[r][g * Step::kRows + i];
          steps[i][r] = row.step;
          from[i][r] = row.data + (first + inside.first) * row.step;
        }
      }
      for (std::ptrdiff_t x = inside.first; x < inside.end; ++x) {
        hn::Vec<D> rows[Step::kRows];
        for (std::ptrdiff_t i = 0; i < Step::kRows; ++i) {
          const auto load = [&](std::ptrdiff_t r) HWY_ATTR {
            const std::uint8_t* const pixel = from[i][r];
            from[i][r] += steps[i][r];
            if constexpr (kRepeats) {
              return LoadRepeated(pixel);
            } else {
              return hn::LoadU(DB(), pixel);
            }
          };
          rows[i] = hn::Xor(Join<kBlock>(d, load), flip);
        }
        Step::template Interleave<false>(d, rows, out);
        store(x);
      }
    }
  }

  // An output of each row, `behind` elements behind `out`.
  template <class V>
  HWY_INLINE void StoreRows(V bytes, std::uint8_t* out,
                            const std::ptrdiff_t* behind,
                            std::ptrdiff_t first = 0) const {
    const hn::DFromV<V> d;
    if constexpr (hn::MaxLanes(hn::DFromV<V>()) > kBlock) {
      const hn::Half<hn::DFromV<V>> half;
      constexpr std::ptrdiff_t kHalf =
          hn::MaxLanes(hn::DFromV<V>()) / kBlock / 2;
      StoreRows(hn::LowerHalf(half, bytes), out, behind, first);
      StoreRows(hn::UpperHalf(half, bytes), out, behind, first + kHalf);
    } else {
      std::uint8_t* const to = out + behind[first];
      // With less than 16 channels the lanes behind them go where the next
      // output will be.
      if (kBlock > 16 || no_vectors_from_[first] == nullptr ||
          to < no_vectors_from_[first]) {
        hn::StoreU(bytes, d, to);
        return;
      }
      alignas(16) std::uint8_t buffer[kBlock];
      hn::Store(bytes, d, buffer);
      CopyFew<8>(buffer, args_.channels, to);
    }
  }

  const DepthwiseArgs& args_;
  const std::ptrdiff_t channel_;
  const std::ptrdiff_t multiplier_;
  const std::uint8_t* no_vectors_from_[kRowsAtOnce] = {};
  const DepthwiseTiling tiling_;
  InputRow rows_[kRowsAtOnce][kMaxKernelRows + Step::kRows];
  std::ptrdiff_t offsets_[kMaxSteps];
  alignas(kDotBytes) std::int32_t bias_[kLanes];
  alignas(kDotBytes) std::int8_t weights_[kWeightBytes];
  Repeats repeats_[kDotBytes / 16];
  std::uint8_t padding_[kDotBytes];
  alignas(kDotBytes) std::uint8_t columns_[kColumnBytes];
};

template <class Step, class D, class DB>
HWY_NOINLINE void RowsOfBlock(const DepthwiseArgs& args, std::ptrdiff_t channel,
                              std::ptrdiff_t first, std::ptrdiff_t last) {
  WithForm<RequantizeForm::kMixed>(args.table.form, [&](auto form) HWY_ATTR {
    RowLoop<Step, D, DB, decltype(form)::value>(args, channel).Run(first, last);
  });
}

template <class Step>
void DepthwiseRows(const DepthwiseArgs& args, std::ptrdiff_t first,
                   std::ptrdiff_t last) {
  const std::ptrdiff_t channels = args.channels;
  std::ptrdiff_t c = 0;
  // Blocks of as many channels as `block` has lanes, in vectors of `vector`.
  // The last one of a size may reach back, so that none is partial, unless
  // there are less than 16 channels.
  const auto cover = [&](auto vector, auto block,
                         std::ptrdiff_t least) HWY_ATTR {
    using D = decltype(vector);
    using DB = decltype(block);
    constexpr std::ptrdiff_t kBlock = hn::MaxLanes(DB());
    for (; c + kBlock <= channels; c += kBlock) {
      RowsOfBlock<Step, D, DB>(args, c, first, last);
    }
    if (channels - c >= least && (channels >= kBlock || kBlock == 16)) {
      RowsOfBlock<Step, D, DB>(
          args, std::max<std::ptrdiff_t>(channels - kBlock, 0), first, last);
      c = channels;
    }
  };
  const hn::CappedTag<std::uint8_t, kDotBytes> vector;
  const hn::CappedTag<std::uint8_t, 16> least;
  constexpr std::ptrdiff_t kLanes = HWY_LANES(std::uint8_t);
  if (DepthwiseTiling(args.window, Step::kRows, kLanes).outputs == 0) {
    return cover(least, least, 1);
  }
  if constexpr (kLanes > 32) cover(vector, vector, 33);
  if constexpr (kLanes > 16) {
    cover(vector, hn::CappedTag<std::uint8_t, 32>(), 17);
  }
  cover(vector, least, 1);
}

DepthwiseFunction* GetDepthwiseKernel([[maybe_unused]] bool has_vnni) {
#if HWY_TARGET == HWY_AVX3
  if (has_vnni) return DepthwiseRows<Quads>;
#endif
  return DepthwiseRows<Pairs>;
}

#endif  // HWY_TARGET == HWY_SCALAR || HWY_HAVE_SCALABLE

}  // namespace ruy_like::quantize_internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ruy_like::quantize_internal {

HWY_EXPORT(GetDepthwiseKernel);

// All targets have steps of at least two rows, and the blocks of channels that
// fit the largest windows.
constexpr std::ptrdiff_t kLeastStepRows = 2, kLeastLanes = 16;

bool FitsDepthwiseKernels(const DepthwiseArgs& args) {
  return args.weight_bytes != nullptr &&
         DepthwiseTiling(args.window, kLeastStepRows, kLeastLanes).outputs > 0;
}

DepthwiseFunction* DepthwiseKernelFor(const Context* context) {
  return HWY_DISPATCH_TABLE(
      GetDepthwiseKernel)[TargetIndex(TargetsFor(context))](
      PermitsVnni(context));
}

}  // namespace ruy_like::quantize_internal
#endif  // HWY_ONCE
