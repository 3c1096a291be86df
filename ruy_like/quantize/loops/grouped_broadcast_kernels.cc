// Tested in test/quantize/layers/conv_test.cc.
//
// The loops of grouped_kernels.h whose form broadcasts (grouped_layout.h): a
// load that broadcasts gives VPMADDWD the channels of one group in all lanes,
// against weights with an output channel in each lane. No lane is empty, and
// there is nothing to add up across lanes.

#include <algorithm>
#include <cstring>

#include "ruy_like/base/checked_math.h"
#include "ruy_like/quantize/loops/grouped_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE \
  "ruy_like/quantize/loops/grouped_broadcast_kernels.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "hwy/highway.h"
#include "ruy_like/quantize/loops/dot_tiles-inl.h"
#include "ruy_like/quantize/loops/requantize-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ruy_like::quantize_internal::HWY_NAMESPACE {

// Wider vectors have enough lanes per instruction for the other form.
#if HWY_TARGET != HWY_AVX2

const GroupedKernels* GetGroupedBroadcastKernels() { return nullptr; }

#else

using Tag = hn::CappedTag<std::uint8_t, 32>;
using V = V32<Tag>;
constexpr std::ptrdiff_t kVectorBytes = 32;
// Lanes of 32 bits.
constexpr std::ptrdiff_t kLanes32 = kVectorBytes / 4;

// ## Staging

// Inputs less their zero point, in 16 bits: as many as D has lanes.
template <typename In, class D>
HWY_INLINE void Widen(D d, const std::uint8_t* from, hn::Vec<D> zero_point,
                      std::uint8_t* to) {
  const hn::Rebind<In, D> narrow;
  const auto bytes = hn::LoadU(narrow, reinterpret_cast<const In*>(from));
  hn::StoreU(hn::Sub(hn::PromoteTo(d, bytes), zero_point), d,
             reinterpret_cast<std::int16_t*>(to));
}

// Pixels of an input row, those of one group.
template <typename In>
void StagePixels(const GroupedArgs& args, const std::uint8_t* pixel,
                 std::ptrdiff_t vector, std::ptrdiff_t count,
                 std::uint8_t* to) {
  const hn::CappedTag<std::int16_t, 16> d;
  const hn::Half<decltype(d)> half;
  const GroupedLayout& layout = args.layout;
  const auto zero_point = static_cast<std::int16_t>(args.input_zero_point);
  const auto zero_points = hn::Set(d, zero_point);
  const auto half_zero_points = hn::Set(half, zero_point);
  const std::ptrdiff_t pixel_bytes = args.PixelBytes();
  const std::ptrdiff_t step = args.input_channels;
  const std::ptrdiff_t channels = pixel_bytes / 2;
  pixel += vector * layout.in_channels;
  std::ptrdiff_t x = 0;
  // Vectors read and write this much. What is behind the pixel there has
  // weights of 0, or is overwritten by the next pixel.
  const std::ptrdiff_t whole = RoundUpToPowerOf2(channels, 8);
  const std::ptrdiff_t readable = args.input + args.input_bytes - pixel - whole;
  const std::ptrdiff_t writable = count * pixel_bytes - 2 * whole;
  if (readable >= 0 && writable >= 0) {
    const std::ptrdiff_t end =
        std::min({count, readable / step + 1, writable / pixel_bytes + 1});
    if (whole == 8) {
      for (; x < end; ++x, pixel += step, to += pixel_bytes) {
        Widen<In>(half, pixel, half_zero_points, to);
      }
    }
    for (; x < end; ++x, pixel += step, to += pixel_bytes) {
      std::ptrdiff_t c = 0;
      for (; c + 16 <= whole; c += 16) {
        Widen<In>(d, pixel + c, zero_points, to + 2 * c);
      }
      if (c < whole) Widen<In>(half, pixel + c, half_zero_points, to + 2 * c);
    }
  }
  for (; x < count; ++x, pixel += step, to += pixel_bytes) {
    std::memset(to, 0, static_cast<std::size_t>(pixel_bytes));
    for (std::ptrdiff_t c = 0; c < layout.in_channels; ++c) {
      const auto value =
          static_cast<std::int16_t>(static_cast<In>(pixel[c]) - zero_point);
      std::memcpy(to + 2 * c, &value, sizeof(value));
    }
  }
}

// A vector's padded input row.
void StageRow(const GroupedArgs& args, std::ptrdiff_t image,
              std::ptrdiff_t vector, std::ptrdiff_t staged_row,
              std::uint8_t* to) {
  const std::ptrdiff_t pixel_bytes = args.PixelBytes();
  const auto fill = [&](std::ptrdiff_t first, std::ptrdiff_t end) {
    std::memset(to + first * pixel_bytes, 0,
                static_cast<std::size_t>((end - first) * pixel_bytes));
  };
  const auto source = args.SourceOf(image, staged_row);
  fill(0, source.left);
  if (source.right > source.left) {
    const auto stage = args.input_is_signed ? StagePixels<std::int8_t>
                                            : StagePixels<std::uint8_t>;
    stage(args, source.input, vector, source.right - source.left,
          to + source.left * pixel_bytes);
  }
  fill(source.right, args.staged_width);
}

// ## Output rows

// Output rows of kOutputs vectors of 8 output channels, chunks of one group.
template <typename Out, RequantizeForm kForm, int kOutputs>
class BroadcastLoop {
 public:
  BroadcastLoop(const GroupedArgs& args, std::ptrdiff_t vector,
                std::ptrdiff_t chunk)
      : args_(args) {
    const GroupedLayout& layout = args.layout;
    weights_ =
        args.weights + (vector * layout.chunks + chunk) * layout.chunk_bytes;
    const Window& window = args.window;
    const std::ptrdiff_t taps_of_run =
        window.dilation_width == 1 ? window.kernel_width : 1;
    run_ = layout.steps * taps_of_run;
    for (std::ptrdiff_t i = 0; i < window.kernel_height; ++i) {
      for (std::ptrdiff_t j = 0; j < window.kernel_width; j += taps_of_run) {
        offsets_[runs_++] = (i * window.dilation_height * args.staged_width +
                             j * window.dilation_width) *
                            args.PixelBytes();
      }
    }
    const std::ptrdiff_t channel =
        vector * layout.out_channels + chunk * layout.chunk;
    count_ = std::min(kOutputs * layout.chunk,
                      layout.out_channels - chunk * layout.chunk);
    for (int k = 0; k < kOutputs; ++k) {
      SetConstants(k, channel + k * kLanes32,
                   std::min(kLanes32, count_ - k * kLanes32));
    }
    is_whole_ = count_ == kOutputs * kLanes32;
    channel_ = channel;
  }

  // An output row whose first staged row is at `from`.
  HWY_NOINLINE void Row(const std::uint8_t* from, std::ptrdiff_t row) const {
    const std::ptrdiff_t channels =
        args_.layout.groups * args_.layout.out_channels;
    const std::ptrdiff_t step = args_.window.stride_width * args_.PixelBytes();
    const std::ptrdiff_t width = args_.output_width;
    Out* const out =
        static_cast<Out*>(args_.output) + row * width * channels + channel_;
    std::ptrdiff_t x = 0;
    if constexpr (kOutputs == 1) {
      for (; x + 8 <= width; x += 8) {
        Tile<8>(from + x * step, step, out + x * channels);
      }
    }
    // The last tile may reach back, so that none is partial.
    for (; width >= 4 && x < width; x += 4) {
      const std::ptrdiff_t at = std::min(x, width - 4);
      Tile<4>(from + at * step, step, out + at * channels);
    }
    for (; x < width; ++x) {
      Tile<1>(from + x * step, step, out + x * channels);
    }
  }

 private:
  // Those of a vector of sums: `count` channels from `channel` on.
  void SetConstants(int k, std::ptrdiff_t channel, std::ptrdiff_t count) {
    const RequantizeTable table = TableOf(k);
    for (std::ptrdiff_t j = 0; j < count; ++j) {
      table.Copy(args_.table, channel + j, j);
      if (args_.bias != nullptr) bias_[k][j] = args_.bias[channel + j];
    }
  }

  RequantizeTable TableOf(int k) const {
    // The loops only read.
    return {const_cast<std::int32_t*>(constants_[k]), kLanes32,
            args_.table.form};
  }

  template <int kPixels>
  HWY_INLINE void Tile(const std::uint8_t* from, std::ptrdiff_t step,
                       Out* out) const {
    V sums[kOutputs][kPixels];
    Multiply(from, step, sums);
    WriteOutputs<0>(sums[0], out);
    if constexpr (kOutputs == 2) WriteOutputs<1>(sums[1], out);
  }

  // Vector k of the outputs of some pixels. Not by dot_tiles-inl.h's Output,
  // whose four sets of constants gcc 12 copies in memory at each use.
  template <int k, int kPixels>
  HWY_INLINE void WriteOutputs(const V (&sums)[kPixels], Out* out) const {
    const D32<Tag> d32;
    const D16<Tag> d16;
    const hn::Rebind<Out, Tag> d;
    const std::ptrdiff_t channels =
        args_.layout.groups * args_.layout.out_channels;
    const RequantizeVectors<D32<Tag>> constants(d32, TableOf(k), 0);
    const V bias = hn::Load(d32, bias_[k]);
    const auto zero_point =
        hn::Set(d16, static_cast<std::int16_t>(args_.bounds.zero_point));
    const auto lowest = hn::Set(d, static_cast<Out>(args_.bounds.lowest));
    const auto highest = hn::Set(d, static_cast<Out>(args_.bounds.highest));
    const auto scaled = [&](int p) HWY_ATTR {
      return p < kPixels
                 ? Requantize(d32, hn::Add(sums[p], bias), constants, kForm)
                 : hn::Zero(d32);
    };
    for (int p = 0; p < kPixels; p += 4) {
      const auto low = hn::ReorderDemote2To(d16, scaled(p), scaled(p + 1));
      const auto high = hn::ReorderDemote2To(d16, scaled(p + 2), scaled(p + 3));
      const auto bytes = PackBytes(d, hn::SaturatedAdd(low, zero_point),
                                   hn::SaturatedAdd(high, zero_point));
      Store<std::min(kPixels, 4)>(hn::Min(hn::Max(bytes, lowest), highest), k,
                                  channels, out + p * channels);
    }
  }

  template <int kPixels>
  HWY_INLINE void Multiply(const std::uint8_t* from, std::ptrdiff_t step,
                           V (&sums)[kOutputs][kPixels]) const {
    const D32<Tag> d32;
    const hn::Repartition<std::int8_t, Tag> d8;
    const std::ptrdiff_t stride = args_.layout.chunk_bytes;
    const std::int8_t* weights = weights_;
    V acc[kOutputs][kPixels];
    for (auto& of_pixels : acc) {
      for (V& sum : of_pixels) sum = hn::Zero(d32);
    }
    for (std::ptrdiff_t i = 0; i < runs_; ++i) {
      const std::uint8_t* x = from + offsets_[i];
      for (std::ptrdiff_t t = 0; t < run_; ++t) {
        V w[kOutputs];
        for (int k = 0; k < kOutputs; ++k) {
          w[k] = hn::BitCast(d32, hn::Load(d8, weights + k * stride));
        }
        for (int p = 0; p < kPixels; ++p) {
          std::int32_t channels;
          std::memcpy(&channels, x + p * step, sizeof(channels));
          const V in = hn::Set(d32, channels);
          for (int k = 0; k < kOutputs; ++k) {
            acc[k][p] = Pairs::Dot(acc[k][p], in, w[k]);
          }
        }
        weights += kVectorBytes;
        x += 4;
      }
    }
    for (int k = 0; k < kOutputs; ++k) {
      for (int p = 0; p < kPixels; ++p) sums[k][p] = acc[k][p];
    }
  }

  // Vector k of the outputs of up to 4 pixels.
  template <int kPixels>
  HWY_INLINE void Store(hn::Vec<hn::Rebind<Out, Tag>> bytes, int k,
                        std::ptrdiff_t channels, Out* out) const {
    const hn::Rebind<Out, Tag> d;
    const D32<Tag> d32;
    // A pixel's outputs are in both blocks.
    alignas(32) static constexpr std::int32_t kOrder[] = {0, 4, 1, 5,
                                                          2, 6, 3, 7};
    bytes =
        hn::BitCast(d, hn::TableLookupLanes(hn::BitCast(d32, bytes),
                                            hn::SetTableIndices(d32, kOrder)));
    if (is_whole_ && kPixels == 4) {
      const hn::Half<decltype(d)> half;
      const hn::Half<decltype(half)> quarter;
      out += k * kLanes32;
      const auto low = hn::LowerHalf(half, bytes);
      const auto high = hn::UpperHalf(half, bytes);
      hn::StoreU(hn::LowerHalf(quarter, low), quarter, out);
      hn::StoreU(hn::UpperHalf(quarter, low), quarter, out + channels);
      hn::StoreU(hn::LowerHalf(quarter, high), quarter, out + 2 * channels);
      hn::StoreU(hn::UpperHalf(quarter, high), quarter, out + 3 * channels);
      return;
    }
    alignas(32) Out buffer[kVectorBytes];
    hn::Store(bytes, d, buffer);
    for (int p = 0; p < kPixels; ++p) {
      const Out* const from = buffer + p * kLanes32;
      Out* const to = out + p * channels;
      CopyFew<8>(from, std::min(kLanes32, count_ - k * kLanes32),
                 to + k * kLanes32);
    }
  }

  const GroupedArgs& args_;
  const std::int8_t* weights_;
  // Steps whose inputs follow each other, and such runs of a pixel.
  std::ptrdiff_t run_, runs_ = 0;
  std::ptrdiff_t offsets_[kMaxGroupedSteps];
  // The first output channel, and how many there are.
  std::ptrdiff_t channel_, count_;
  // No vector has less outputs than lanes.
  bool is_whole_;
  // Zeros where a lane has no output.
  alignas(kVectorBytes) std::int32_t bias_[kOutputs][kLanes32] = {};
  alignas(kVectorBytes) std::int32_t
      constants_[kOutputs][RequantizeConstants::kCount * kLanes32] = {};
};

// Output rows [first, end) of an image, counted through all images, whose
// staged rows are at `staged`.
struct RowBlock {
  std::ptrdiff_t first, end;
  const std::uint8_t* staged;
};

template <typename Out, RequantizeForm kForm, int kOutputs>
void RowsOfChunks(const GroupedArgs& args, std::ptrdiff_t vector,
                  std::ptrdiff_t chunk, const RowBlock& block) {
  const BroadcastLoop<Out, kForm, kOutputs> loop(args, vector, chunk);
  const std::uint8_t* from = block.staged;
  for (std::ptrdiff_t row = block.first; row < block.end; ++row) {
    loop.Row(from, row);
    from += args.window.stride_height * args.staged_width * args.PixelBytes();
  }
}

template <typename Out, RequantizeForm kForm>
void RowsOfVector(const GroupedArgs& args, std::ptrdiff_t vector,
                  const RowBlock& block) {
  std::ptrdiff_t c = 0;
  for (; c + 2 <= args.layout.chunks; c += 2) {
    RowsOfChunks<Out, kForm, 2>(args, vector, c, block);
  }
  if (c < args.layout.chunks) {
    RowsOfChunks<Out, kForm, 1>(args, vector, c, block);
  }
}

// Output rows whose staged rows of one vector fit the first-level cache, while
// the second has their input and output for all vectors.
std::ptrdiff_t RowsOfBlock(const GroupedArgs& args) {
  constexpr std::ptrdiff_t kStagedBytes = 24 * 1024;
  constexpr std::ptrdiff_t kImageBytes = 256 * 1024;
  const std::ptrdiff_t stride = args.window.stride_height;
  const std::ptrdiff_t row_bytes = args.staged_width * args.PixelBytes();
  const std::ptrdiff_t by_staged =
      (kStagedBytes / row_bytes - args.StagedSpan()) / stride + 1;
  const std::ptrdiff_t by_image =
      kImageBytes /
      (stride * args.input_width * args.input_channels +
       args.output_width * args.layout.groups * args.layout.out_channels);
  const std::ptrdiff_t most = std::max<std::ptrdiff_t>(
      1, std::min({by_staged, by_image, args.output_height}));
  // Blocks of the same size.
  return CeilDiv(args.output_height, CeilDiv(args.output_height, most));
}

template <typename Out, RequantizeForm kForm>
HWY_NOINLINE void RowsOfForm(const GroupedArgs& args, std::ptrdiff_t first,
                             std::ptrdiff_t last) {
  const std::ptrdiff_t row_bytes = args.staged_width * args.PixelBytes();
  const std::ptrdiff_t most = RowsOfBlock(args);
  // The memory that belongs to these rows.
  std::uint8_t* const staged = args.staged + first * args.RowSlotBytes();
  while (first < last) {
    const std::ptrdiff_t image = first / args.output_height;
    const std::ptrdiff_t y = first % args.output_height;
    const std::ptrdiff_t count =
        std::min({most, last - first, args.output_height - y});
    const std::ptrdiff_t staged_rows =
        (count - 1) * args.window.stride_height + args.StagedSpan();
    for (std::ptrdiff_t v = 0; v < args.layout.vectors; ++v) {
      for (std::ptrdiff_t i = 0; i < staged_rows; ++i) {
        StageRow(args, image, v, y * args.window.stride_height + i,
                 staged + i * row_bytes);
      }
      RowsOfVector<Out, kForm>(args, v, {first, first + count, staged});
    }
    first += count;
  }
}

template <typename Out>
void GroupedRows(const GroupedArgs& args, std::ptrdiff_t first,
                 std::ptrdiff_t last) {
  WithForm<RequantizeForm::kMixed>(args.table.form, [&](auto form) HWY_ATTR {
    RowsOfForm<Out, decltype(form)::value>(args, first, last);
  });
}

const GroupedKernels* GetGroupedBroadcastKernels() {
  static constexpr GroupedKernels kKernels = {
      {Pairs::kRows, kVectorBytes / 16, /*broadcasts=*/true},
      /*stage=*/nullptr,
      {GroupedRows<std::int8_t>, GroupedRows<std::uint8_t>}};
  return &kKernels;
}

#endif  // HWY_TARGET != HWY_AVX2

}  // namespace ruy_like::quantize_internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ruy_like::quantize_internal {

HWY_EXPORT(GetGroupedBroadcastKernels);

const GroupedKernels* GroupedBroadcastKernelsFor(const Context* context) {
  return HWY_DISPATCH_TABLE(
      GetGroupedBroadcastKernels)[TargetIndex(TargetsFor(context))]();
}

}  // namespace ruy_like::quantize_internal
#endif  // HWY_ONCE
