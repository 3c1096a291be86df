// Tested in test/quantize/layers/conv_test.cc.

#include "ruy_like/quantize/loops/grouped_kernels.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ruy_like/quantize/loops/grouped_kernels.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "hwy/highway.h"
#include "ruy_like/quantize/loops/dot_steps-inl.h"
#include "ruy_like/quantize/loops/requantize-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ruy_like::quantize_internal::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR || HWY_HAVE_SCALABLE

const GroupedKernels* GetGroupedKernels(bool) { return nullptr; }

#else

using Tag = hn::CappedTag<std::uint8_t, 64>;
constexpr std::ptrdiff_t kVectorBytes = hn::MaxLanes(Tag());

// ## Staging

// What inputs are too large by.
template <class Step>
std::int32_t OffsetOf(const GroupedArgs& args) {
  return Step::kRows == 2 ? 0 : args.UnsignedZeroPoint();
}

// A vector of staged channels from the first ones at `from`.
template <class Step, class D>
HWY_INLINE void StageVector(D d, const GroupedArgs& args,
                            const std::uint8_t* from, std::uint8_t* to) {
  if constexpr (Step::kRows == 4) {
    hn::StoreU(hn::Xor(hn::LoadU(d, from), hn::Set(d, args.Flip())), d, to);
  } else {
    const D16<D> d16;
    const hn::Half<D> half;
    const hn::RebindToSigned<decltype(half)> signed_half;
    const auto bytes = hn::LoadU(half, from);
    const auto wide = args.input_is_signed
                          ? hn::PromoteTo(d16, hn::BitCast(signed_half, bytes))
                          : hn::PromoteTo(d16, bytes);
    const auto zero_point =
        hn::Set(d16, static_cast<std::int16_t>(args.input_zero_point));
    hn::StoreU(hn::BitCast(d, hn::Sub(wide, zero_point)), d, to);
  }
}

// The block's share of a pixel, whose first channel is at `pixel`. What follows
// the channels of a group has weights of 0: it may be anything that can be
// read.
template <class Step>
void StageBlock(const GroupedArgs& args, const std::uint8_t* pixel,
                std::ptrdiff_t block, std::ptrdiff_t step, std::uint8_t* to) {
  const hn::CappedTag<std::uint8_t, 16> d;
  const GroupedLayout& layout = args.layout;
  const std::ptrdiff_t size = layout.BlockChannels();
  const std::ptrdiff_t group = block * layout.groups_of_block;
  const std::ptrdiff_t part = layout.lanes * layout.form.per_lane;
  const std::ptrdiff_t count =
      std::min(layout.groups_of_block, layout.groups - group);
  const std::uint8_t* const from =
      pixel + group * layout.in_channels + step * size;
  const bool is_contiguous = part == layout.in_channels || part == size;
  if (is_contiguous && from + size <= args.input + args.input_bytes) {
    return StageVector<Step>(d, args, from, to);
  }
  std::uint8_t channels[16] = {};
  const std::ptrdiff_t rest = std::min(layout.in_channels - step * size, part);
  for (std::ptrdiff_t g = 0; g < count; ++g) {
    for (std::ptrdiff_t c = 0; c < rest; ++c) {
      channels[g * part + c] = from[g * layout.in_channels + c];
    }
  }
  StageVector<Step>(d, args, channels, to);
}

// `count` pixels of an input row: `vector` of them.
template <class Step>
void StagePixels(const GroupedArgs& args, const std::uint8_t* pixel,
                 std::ptrdiff_t vector, std::ptrdiff_t count,
                 std::uint8_t* to) {
  const GroupedLayout& layout = args.layout;
  const std::ptrdiff_t group = vector * layout.groups_of_vector;
  const bool is_whole =
      layout.steps == 1 &&
      layout.in_channels == layout.lanes * layout.form.per_lane &&
      group + layout.groups_of_vector <= layout.groups;
  for (; count > 0; --count, pixel += args.input_channels) {
    if (is_whole) {
      StageVector<Step>(Tag(), args, pixel + group * layout.in_channels, to);
      to += kVectorBytes;
      continue;
    }
    for (std::ptrdiff_t step = 0; step < layout.steps; ++step) {
      for (std::ptrdiff_t b = 0; b < layout.form.blocks; ++b, to += 16) {
        const std::ptrdiff_t block = vector * layout.form.blocks + b;
        if (block * layout.groups_of_block < layout.groups) {
          StageBlock<Step>(args, pixel, block, step, to);
        } else {
          std::memset(to, 0, 16);
        }
      }
    }
  }
}

template <class Step>
void StageRows(const GroupedArgs& args, std::ptrdiff_t first,
               std::ptrdiff_t last) {
  const std::ptrdiff_t pixel_bytes = args.PixelBytes();
  const auto fill = [&](std::uint8_t* to, std::ptrdiff_t pixels) {
    std::memset(to, OffsetOf<Step>(args),
                static_cast<std::size_t>(pixels * pixel_bytes));
  };
  for (std::ptrdiff_t row = first; row < last; ++row) {
    const std::ptrdiff_t image = row / args.staged_height;
    const std::ptrdiff_t staged_row = row % args.staged_height;
    const auto source = args.SourceOf(image, staged_row);
    for (std::ptrdiff_t v = 0; v < args.layout.vectors; ++v) {
      std::uint8_t* const to = args.StagedRow(image, v, staged_row);
      fill(to, source.left);
      StagePixels<Step>(args, source.input, v, source.right - source.left,
                        to + source.left * pixel_bytes);
      fill(to + source.right * pixel_bytes, args.staged_width - source.right);
    }
  }
}

// ## Output rows

// Lanes (2i, 2i + 1) of a and b, added up: a's sum, b's sum.
template <class V>
HWY_INLINE V AddPairs(V a, V b) {
  return hn::Add(hn::OddEven(b, a), hn::Shuffle2301(hn::OddEven(a, b)));
}

// Sums of kLanes vectors' neighbouring lanes, in the order of
// GroupedLayout::ResultOf.
template <int kLanes, class D32, class V>
HWY_INLINE V Reduce(D32 d, const V* acc) {
  if constexpr (kLanes == 1) return acc[0];
  if constexpr (kLanes == 2) return AddPairs(acc[0], acc[1]);
  if constexpr (kLanes == 4) {
    const hn::Repartition<std::int64_t, D32> d64;
    const auto low = hn::BitCast(d64, AddPairs(acc[0], acc[1]));
    const auto high = hn::BitCast(d64, AddPairs(acc[2], acc[3]));
    return hn::Add(hn::BitCast(d, hn::InterleaveLower(d64, low, high)),
                   hn::BitCast(d, hn::InterleaveUpper(d64, low, high)));
  }
}

// Output rows of a vector of groups and a chunk of their output channels.
template <class Step, typename Out, RequantizeForm kForm, int kLanes>
class GroupedLoop {
 public:
  GroupedLoop(const GroupedArgs& args, std::ptrdiff_t vector,
              std::ptrdiff_t chunk)
      : args_(args),
        vector_(vector),
        chunk_(chunk),
        weights_(args.weights + (vector * args.layout.chunks + chunk) *
                                    args.layout.chunk_bytes) {
    const GroupedLayout& layout = args.layout;
    const Window& window = args.window;
    for (std::ptrdiff_t i = 0, t = 0; i < window.kernel_height; ++i) {
      for (std::ptrdiff_t j = 0; j < window.kernel_width; ++j) {
        for (std::ptrdiff_t s = 0; s < layout.steps; ++s, ++t) {
          offsets_[t] = (i * window.dilation_height * args.staged_width +
                         j * window.dilation_width) *
                            args.PixelBytes() +
                        s * kVectorBytes;
        }
      }
    }
    for (std::ptrdiff_t b = 0; b < layout.form.blocks; ++b) {
      for (std::ptrdiff_t g = 0; g < layout.groups_of_block; ++g) {
        for (std::ptrdiff_t j = 0; j < layout.chunk; ++j) {
          order_[16 * b + layout.chunk * g + j] =
              static_cast<std::uint8_t>(layout.ResultOf(g, j));
        }
      }
    }
  }

  void Run(std::ptrdiff_t first, std::ptrdiff_t last) {
    std::int32_t memory[RequantizeConstants::kCount * kVectorBytes] = {};
    const RequantizeTable table = {memory, kVectorBytes};
    FillConstants(table);
    const Output<Tag, Out, kForm> output(args_.bounds, table);
    for (std::ptrdiff_t row = first; row < last; ++row) Row(row, output);
  }

 private:
  using V = V32<Tag>;
  // Accumulators that fit the registers, with operands.
  static constexpr int kAccumulators =
      kVectorBytes == 64 || HWY_ARCH_ARM_A64 ? 16 : 8;
  // Vectors of results that are computed at once, and for how many pixels.
  static constexpr int kResults = std::min(4, kAccumulators / kLanes);
  static constexpr int kPixels =
      std::max(1, kAccumulators / (kLanes * kResults));

  // Those of the channels in the order of results.
  void FillConstants(const RequantizeTable& table) {
    const GroupedLayout& layout = args_.layout;
    const std::int32_t offset = OffsetOf<Step>(args_);
    std::fill_n(bias_, kVectorBytes, 0);
    ForEachPiece([&](std::ptrdiff_t byte, std::ptrdiff_t channel,
                     std::ptrdiff_t count) {
      for (std::ptrdiff_t i = 0; i < count; ++i) {
        const std::ptrdiff_t result = order_[byte + i];
        const std::ptrdiff_t to =
            result / 4 * (kVectorBytes / 4) + byte / 16 * 4 + result % 4;
        const std::ptrdiff_t c = channel + i;
        // Modulo 2^32, as all sums.
        bias_[to] = static_cast<std::int32_t>(
            static_cast<std::uint32_t>(args_.bias == nullptr ? 0
                                                             : args_.bias[c]) -
            static_cast<std::uint32_t>(offset) *
                static_cast<std::uint32_t>(args_.weight_sums[c]));
        table.Copy(args_.table, c, to);
      }
    });
    is_whole_ = layout.chunk == layout.out_channels &&
                (vector_ + 1) * layout.groups_of_vector <= layout.groups;
  }

  // piece(byte, channel, count): `count` bytes of a vector of outputs, from
  // `byte` on, are output channels from `channel` on.
  template <typename Piece>
  HWY_INLINE void ForEachPiece(const Piece& piece) const {
    const GroupedLayout& layout = args_.layout;
    const std::ptrdiff_t first = vector_ * layout.groups_of_vector;
    const std::ptrdiff_t end =
        std::min(first + layout.groups_of_vector, layout.groups);
    const std::ptrdiff_t channel = chunk_ * layout.chunk;
    const std::ptrdiff_t count =
        std::min(layout.chunk, layout.out_channels - channel);
    for (std::ptrdiff_t group = first; group < end; ++group) {
      piece((group - first) * layout.chunk,
            group * layout.out_channels + channel, count);
    }
  }

  void Row(std::ptrdiff_t row, const Output<Tag, Out, kForm>& output) {
    const GroupedLayout& layout = args_.layout;
    const std::ptrdiff_t image = row / args_.output_height;
    const std::ptrdiff_t y = row % args_.output_height;
    const std::uint8_t* const from =
        args_.StagedRow(image, vector_, y * args_.window.stride_height);
    const std::ptrdiff_t channels = layout.groups * layout.out_channels;
    const std::ptrdiff_t step = args_.window.stride_width * args_.PixelBytes();
    Out* const out =
        static_cast<Out*>(args_.output) + row * args_.output_width * channels;
    std::ptrdiff_t x = 0;
    // The last tile may reach back, so that none is partial.
    for (; args_.output_width >= kPixels && x < args_.output_width;
         x += kPixels) {
      const std::ptrdiff_t at = std::min(x, args_.output_width - kPixels);
      Tile<kPixels>(from + at * step, step, output, out + at * channels);
    }
    for (; x < args_.output_width; ++x) {
      Tile<1>(from + x * step, step, output, out + x * channels);
    }
  }

  template <int kCount>
  HWY_INLINE void Tile(const std::uint8_t* from, std::ptrdiff_t step,
                       const Output<Tag, Out, kForm>& output, Out* out) {
    const hn::Repartition<std::int32_t, Tag> d32;
    V results[kCount][4];
    for (int r = 0; r < 4; r += kResults) {
      V acc[kCount][kResults * kLanes];
      Multiply(from, step, weights_ + r * kLanes * kVectorBytes, acc);
      for (int i = 0; i < kResults; ++i) {
        const V bias = hn::LoadU(d32, bias_ + (r + i) * (kVectorBytes / 4));
        for (int p = 0; p < kCount; ++p) {
          results[p][r + i] =
              hn::Add(Reduce<kLanes>(d32, acc[p] + i * kLanes), bias);
        }
      }
    }
    const std::ptrdiff_t channels =
        args_.layout.groups * args_.layout.out_channels;
    hn::Vec<hn::Rebind<Out, Tag>> bytes[kCount];
    output(results, bytes);
    for (int p = 0; p < kCount; ++p) Store(bytes[p], out + p * channels);
  }

  template <int kCount, int kAccs>
  HWY_INLINE void Multiply(const std::uint8_t* from, std::ptrdiff_t step,
                           const std::int8_t* weights,
                           V (&sums)[kCount][kAccs]) const {
    const Tag d;
    const hn::Repartition<std::int8_t, Tag> d8;
    const hn::Repartition<std::int32_t, Tag> d32;
    V acc[kCount][kAccs];
    for (int p = 0; p < kCount; ++p) {
      for (int a = 0; a < kAccs; ++a) acc[p][a] = hn::Zero(d32);
    }
    const std::ptrdiff_t steps = args_.layout.AllSteps();
    for (std::ptrdiff_t t = 0; t < steps; ++t) {
      const std::uint8_t* const at = from + offsets_[t];
      V x[kCount];
      for (int p = 0; p < kCount; ++p) {
        x[p] = hn::BitCast(d32, hn::LoadU(d, at + p * step));
      }
      for (int a = 0; a < kAccs; ++a) {
        const V w = hn::BitCast(d32, hn::Load(d8, weights + a * kVectorBytes));
        for (int p = 0; p < kCount; ++p) {
          acc[p][a] = Step::Dot(acc[p][a], x[p], w);
        }
      }
      weights += 4 * kLanes * kVectorBytes;
    }
    for (int p = 0; p < kCount; ++p) {
      for (int a = 0; a < kAccs; ++a) sums[p][a] = acc[p][a];
    }
  }

  HWY_INLINE void Store(hn::Vec<hn::Rebind<Out, Tag>> bytes, Out* out) const {
    const hn::Rebind<Out, Tag> d;
    const Tag d8;
    if constexpr (kLanes != 4) {
      bytes = hn::BitCast(d, hn::TableLookupBytes(hn::BitCast(d8, bytes),
                                                  hn::Load(d8, order_)));
    }
    if (is_whole_) {
      hn::StoreU(bytes, d,
                 out + vector_ * args_.layout.groups_of_vector *
                           args_.layout.out_channels);
      return;
    }
    alignas(64) Out buffer[kVectorBytes];
    hn::Store(bytes, d, buffer);
    ForEachPiece(
        [&](std::ptrdiff_t byte, std::ptrdiff_t channel, std::ptrdiff_t count) {
          if (count == 16) {
            std::memcpy(out + channel, buffer + byte, 16);
          } else {
            for (std::ptrdiff_t i = 0; i < count; ++i) {
              out[channel + i] = buffer[byte + i];
            }
          }
        });
  }

  const GroupedArgs& args_;
  const std::ptrdiff_t vector_, chunk_;
  const std::int8_t* const weights_;
  // Outputs of the vector are all channels of its groups.
  bool is_whole_ = false;
  std::ptrdiff_t offsets_[kMaxGroupedSteps];
  std::int32_t bias_[kVectorBytes];
  // Where a block's bytes are among its results, for all blocks.
  alignas(64) std::uint8_t order_[kVectorBytes];
};

template <class Step, typename Out, int kLanes>
HWY_NOINLINE void RowsOfLanes(const GroupedArgs& args, std::ptrdiff_t first,
                              std::ptrdiff_t last) {
  for (std::ptrdiff_t v = 0; v < args.layout.vectors; ++v) {
    for (std::ptrdiff_t c = 0; c < args.layout.chunks; ++c) {
      WithForm<RequantizeForm::kMixed>(
          args.table.form, [&](auto form) HWY_ATTR {
            GroupedLoop<Step, Out, decltype(form)::value, kLanes>(args, v, c)
                .Run(first, last);
          });
    }
  }
}

template <class Step, typename Out>
void GroupedRows(const GroupedArgs& args, std::ptrdiff_t first,
                 std::ptrdiff_t last) {
  switch (args.layout.lanes) {
    case 1:
      return RowsOfLanes<Step, Out, 1>(args, first, last);
    case 2:
      return RowsOfLanes<Step, Out, 2>(args, first, last);
    default:
      return RowsOfLanes<Step, Out, 4>(args, first, last);
  }
}

template <class Step>
constexpr GroupedKernels kGroupedKernels = {
    {Step::kRows, kVectorBytes / 16, /*broadcasts=*/false},
    StageRows<Step>,
    {GroupedRows<Step, std::int8_t>, GroupedRows<Step, std::uint8_t>}};

const GroupedKernels* GetGroupedKernels([[maybe_unused]] bool has_vnni) {
#if HWY_TARGET == HWY_AVX3
  if (has_vnni) return &kGroupedKernels<Quads>;
#endif
  return &kGroupedKernels<Pairs>;
}

#endif  // HWY_TARGET == HWY_SCALAR || HWY_HAVE_SCALABLE

}  // namespace ruy_like::quantize_internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ruy_like::quantize_internal {

HWY_EXPORT(GetGroupedKernels);

const GroupedKernels* GroupedKernelsFor(const Context* context) {
  return HWY_DISPATCH_TABLE(
      GetGroupedKernels)[TargetIndex(TargetsFor(context))](
      PermitsVnni(context));
}

}  // namespace ruy_like::quantize_internal
#endif  // HWY_ONCE
