// Tested in test/quantize/layers/conv_test.cc.

#include "ruy_like/quantize/loops/grouped_kernels.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ruy_like/quantize/loops/grouped_kernels.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "hwy/highway.h"
#include "ruy_like/quantize/loops/dot_tiles-inl.h"
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

// Stages a vector of channels from the first ones at `from`.
template <class Step>
struct StageOp {
  explicit StageOp(const GroupedArgs& args)
      : is_signed(args.input_is_signed),
        flip(args.Flip()),
        zero_point(static_cast<std::int16_t>(args.input_zero_point)) {}

  template <class D>
  HWY_INLINE void operator()(D d, const std::uint8_t* from,
                             std::uint8_t* to) const {
    if constexpr (Step::kRows == 4) {
      hn::StoreU(hn::Xor(hn::LoadU(d, from), hn::Set(d, flip)), d, to);
    } else {
      const D16<D> d16;
      const hn::Half<D> half;
      const hn::RebindToSigned<decltype(half)> signed_half;
      const auto bytes = hn::LoadU(half, from);
      const auto wide =
          is_signed ? hn::PromoteTo(d16, hn::BitCast(signed_half, bytes))
                    : hn::PromoteTo(d16, bytes);
      hn::StoreU(hn::BitCast(d, hn::Sub(wide, hn::Set(d16, zero_point))), d,
                 to);
    }
  }

  bool is_signed;
  std::uint8_t flip;
  std::int16_t zero_point;
};

// Input channels of the blocks of one vector of outputs, of as many pixels of a
// row as are called for. What follows the channels of a group has weights of 0:
// it may be anything that can be read.
template <class Step>
class PixelStager {
 public:
  PixelStager(const GroupedArgs& args, std::ptrdiff_t vector)
      : args_(args),
        layout_(args.layout),
        group_(vector * layout_.groups_of_vector),
        groups_(std::min(layout_.groups_of_vector, layout_.groups - group_)),
        part_(layout_.lanes * layout_.form.per_lane),
        is_whole_(layout_.steps == 1 && layout_.in_channels == part_ &&
                  groups_ == layout_.groups_of_vector) {
    if (is_whole_ || layout_.groups_of_block == 1) return;
    for (std::ptrdiff_t g = 0; g < layout_.groups_of_block; ++g) {
      for (std::ptrdiff_t c = 0; c < part_; ++c) {
        order_[g * part_ + c] = static_cast<std::uint8_t>(
            std::min<std::ptrdiff_t>(g * layout_.in_channels + c, 15));
      }
    }
  }

  void Stage(const std::uint8_t* pixel, std::ptrdiff_t count,
             std::uint8_t* to) const {
    const StageOp<Step> op(args_);
    const std::ptrdiff_t step = args_.input_channels;
    const std::ptrdiff_t inputs = layout_.inputs;
    pixel += group_ * layout_.in_channels;
    if (is_whole_) {
      for (; count > 0; --count, pixel += step) {
        for (std::ptrdiff_t i = 0; i < inputs; ++i, to += kVectorBytes) {
          op(Tag(), pixel + i * kVectorChannels, to);
        }
      }
      return;
    }
    for (std::ptrdiff_t i = 0; i < inputs; ++i) {
      for (std::ptrdiff_t s = 0; s < layout_.steps; ++s) {
        for (std::ptrdiff_t b = 0; b < layout_.form.blocks; ++b, to += 16) {
          StageBlock(op, pixel,
                     (i * layout_.form.blocks + b) * layout_.groups_of_block, s,
                     count, to);
        }
      }
    }
  }

 private:
  using Block = hn::CappedTag<std::uint8_t, 16>;
  static constexpr std::ptrdiff_t kVectorChannels =
      kVectorBytes / 4 * Step::kRows;

  // The block of `step` that begins with this group, of `count` pixels.
  void StageBlock(const StageOp<Step>& op, const std::uint8_t* pixel,
                  std::ptrdiff_t group, std::ptrdiff_t step,
                  std::ptrdiff_t count, std::uint8_t* to) const {
    const Block d;
    const std::ptrdiff_t pixel_bytes = args_.PixelBytes();
    const std::ptrdiff_t pixel_step = args_.input_channels;
    const std::uint8_t* from =
        pixel + group * layout_.in_channels + step * layout_.BlockChannels();
    std::ptrdiff_t x = 0;
    alignas(16) std::uint8_t channels[16] = {};
    if (group < groups_) {
      // Where 16 bytes can be read.
      const std::ptrdiff_t readable =
          args_.input + args_.input_bytes - from - 16;
      const std::ptrdiff_t end =
          readable < 0 ? 0 : std::min(count, readable / pixel_step + 1);
      const auto order = hn::Load(d, order_);
      for (; x < end; ++x, from += pixel_step, to += pixel_bytes) {
        if (layout_.groups_of_block == 1) {
          op(d, from, to);
        } else {
          hn::Store(hn::TableLookupBytes(hn::LoadU(d, from), order), d,
                    channels);
          op(d, channels, to);
        }
      }
    }
    const std::ptrdiff_t rest =
        std::min(layout_.in_channels - step * layout_.BlockChannels(), part_);
    const std::ptrdiff_t groups =
        std::min(layout_.groups_of_block, groups_ - group);
    for (; x < count; ++x, from += pixel_step, to += pixel_bytes) {
      for (std::ptrdiff_t g = 0; g < groups; ++g) {
        std::memcpy(channels + g * part_, from + g * layout_.in_channels,
                    static_cast<std::size_t>(rest));
      }
      op(d, channels, to);
    }
  }

  const GroupedArgs& args_;
  const GroupedLayout& layout_;
  // The first group and their number.
  const std::ptrdiff_t group_, groups_;
  // Channels of a group in a block.
  const std::ptrdiff_t part_;
  const bool is_whole_;
  // Where the channels of a block's groups come from.
  alignas(16) std::uint8_t order_[16] = {};
};

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
      PixelStager<Step>(args, v).Stage(source.input, source.right - source.left,
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

// Output rows of a vector of groups and a chunk of their output channels, from
// kInputs vectors of input channels.
template <class Step, typename Out, RequantizeForm kForm, int kLanes,
          int kInputs>
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
    std::fill_n(bias_, kVectorBytes, 0);
    is_whole_ = layout.chunk == layout.out_channels &&
                (vector + 1) * layout.groups_of_vector <= layout.groups;
  }

  void Run(std::ptrdiff_t first, std::ptrdiff_t last) {
    std::int32_t memory[RequantizeConstants::kCount * kVectorBytes] = {};
    const RequantizeTable table = {memory, kVectorBytes, args_.table.form};
    Arrange(table);
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
  // Vectors of results of one input, and inputs of those computed at once.
  static constexpr int kResultsOfInput = 4 / kInputs;
  static constexpr int kInputsAtOnce = std::max(1, kResults / kResultsOfInput);

  // Bytes of a vector of outputs, from `from` on, that are stored `to` bytes
  // from the vector's first output; at least `count` of them are outputs.
  struct Piece {
    std::ptrdiff_t from, to, count;
  };

  // The constants of output channels in the order of results, the order of
  // results in memory, and the pieces in which they are stored.
  void Arrange(const RequantizeTable& table) {
    const GroupedLayout& layout = args_.layout;
    const std::int32_t offset = OffsetOf<Step>(args_);
    const std::ptrdiff_t blocks = layout.form.blocks;
    const std::ptrdiff_t channel = chunk_ * layout.chunk;
    const std::ptrdiff_t count =
        std::min(layout.chunk, layout.out_channels - channel);
    // Outputs of neighbouring groups follow each other, unless other chunks'
    // are between them.
    const bool is_dense = layout.chunks == 1;
    const std::ptrdiff_t step = is_dense ? count : layout.chunk;
    piece_bytes_ = is_dense ? layout.ResultsOfInput() : layout.chunk;
    first_ = vector_ * layout.groups_of_vector * layout.out_channels + channel;
    for (std::ptrdiff_t i = 0; i < kInputs; ++i) {
      for (std::ptrdiff_t b = 0; b < blocks; ++b) {
        const std::ptrdiff_t first = (i * blocks + b) * layout.groups_of_block;
        const std::ptrdiff_t part = (i * blocks + b) * layout.ResultsOfInput();
        std::ptrdiff_t groups = 0;
        for (std::ptrdiff_t g = 0; g < layout.groups_of_block; ++g) {
          const std::ptrdiff_t group =
              vector_ * layout.groups_of_vector + first + g;
          if (group >= layout.groups) break;
          ++groups;
          for (std::ptrdiff_t j = 0; j < count; ++j) {
            const std::ptrdiff_t result = layout.ResultOf(i, g, j);
            order_[16 * b + i * layout.ResultsOfInput() + g * step + j] =
                static_cast<std::uint8_t>(result);
            SetConstants(group * layout.out_channels + channel + j, offset,
                         result / 4 * (kVectorBytes / 4) + b * 4 + result % 4,
                         table);
          }
          if (!is_dense) {
            AddPiece(
                {part + g * step, (first + g) * layout.out_channels, count});
          }
        }
        if (is_dense && groups > 0) {
          AddPiece({part, first * count, groups * count});
        }
        for (std::ptrdiff_t k = 0; k < 4 / kInputs; ++k) {
          parts_[(i * blocks + b) * (4 / kInputs) + k] =
              static_cast<std::int32_t>(b * 4 + i * (4 / kInputs) + k);
        }
      }
    }
    // Whole ones may reach into those that follow.
    const Piece& last = pieces_[piece_count_ - 1];
    for (std::ptrdiff_t p = 0; is_dense && p < piece_count_; ++p) {
      if (pieces_[p].to + piece_bytes_ <= last.to + last.count) {
        pieces_[p].count = piece_bytes_;
      }
    }
  }

  void AddPiece(const Piece& piece) { pieces_[piece_count_++] = piece; }

  void SetConstants(std::ptrdiff_t channel, std::int32_t offset,
                    std::ptrdiff_t to, const RequantizeTable& table) {
    // Modulo 2^32, as all sums.
    bias_[to] = static_cast<std::int32_t>(
        static_cast<std::uint32_t>(
            args_.bias == nullptr ? 0 : args_.bias[channel]) -
        static_cast<std::uint32_t>(offset) *
            static_cast<std::uint32_t>(args_.weight_sums[channel]));
    table.Copy(args_.table, channel, to);
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
      Multiply(from + r / kResultsOfInput * InputBytes(), step,
               weights_ + r * kLanes * kVectorBytes, acc);
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
      V x[kCount][kInputsAtOnce];
      for (int p = 0; p < kCount; ++p) {
        for (int i = 0; i < kInputsAtOnce; ++i) {
          x[p][i] =
              hn::BitCast(d32, hn::LoadU(d, at + p * step + i * InputBytes()));
        }
      }
      for (int a = 0; a < kAccs; ++a) {
        const V w = hn::BitCast(d32, hn::Load(d8, weights + a * kVectorBytes));
        for (int p = 0; p < kCount; ++p) {
          acc[p][a] = Step::Dot(acc[p][a], x[p][a * kInputsAtOnce / kAccs], w);
        }
      }
      weights += 4 * kLanes * kVectorBytes;
    }
    for (int p = 0; p < kCount; ++p) {
      for (int a = 0; a < kAccs; ++a) sums[p][a] = acc[p][a];
    }
  }

  // From one input of a staged pixel to the next.
  std::ptrdiff_t InputBytes() const {
    return args_.layout.steps * kVectorBytes;
  }

  HWY_INLINE void Store(hn::Vec<hn::Rebind<Out, Tag>> bytes, Out* out) const {
    const hn::Rebind<Out, Tag> d;
    const Tag d8;
    if constexpr (kLanes != 4) {
      bytes = hn::BitCast(d, hn::TableLookupBytes(hn::BitCast(d8, bytes),
                                                  hn::Load(d8, order_)));
    }
    if constexpr (kInputs > 1 && kVectorBytes > 16) {
      const D32<Tag> d32;
      bytes = hn::BitCast(
          d, hn::TableLookupLanes(hn::BitCast(d32, bytes),
                                  hn::SetTableIndices(d32, parts_)));
    }
    out += first_;
    if (is_whole_) {
      hn::StoreU(bytes, d, out);
      return;
    }
    StoreInPieces(bytes, out);
  }

  HWY_NOINLINE void StoreInPieces(hn::Vec<hn::Rebind<Out, Tag>> bytes,
                                  Out* out) const {
    alignas(64) Out buffer[kVectorBytes];
    hn::Store(bytes, hn::Rebind<Out, Tag>(), buffer);
    switch (piece_bytes_) {
      case 1:
        return StorePieces<1>(buffer, out);
      case 2:
        return StorePieces<2>(buffer, out);
      case 4:
        return StorePieces<4>(buffer, out);
      case 8:
        return StorePieces<8>(buffer, out);
      default:
        return StorePieces<16>(buffer, out);
    }
  }

  template <int kBytes>
  HWY_INLINE void StorePieces(const Out* buffer, Out* out) const {
    for (std::ptrdiff_t p = 0; p < piece_count_; ++p) {
      const Piece& piece = pieces_[p];
      if (piece.count == kBytes) {
        std::memcpy(out + piece.to, buffer + piece.from, kBytes);
      } else {
        CopyFew<kBytes>(buffer + piece.from, piece.count, out + piece.to);
      }
    }
  }

  const GroupedArgs& args_;
  const std::ptrdiff_t vector_, chunk_;
  const std::int8_t* const weights_;
  // Outputs of the vector are all channels of its groups.
  bool is_whole_ = false;
  std::ptrdiff_t offsets_[kMaxGroupedSteps];
  std::int32_t bias_[kVectorBytes];
  // Where a block's outputs are among its results, for all blocks; then the
  // blocks' lanes, so that each input's outputs follow each other.
  alignas(64) std::uint8_t order_[kVectorBytes] = {};
  alignas(64) std::int32_t parts_[kVectorBytes / 4];
  // The output channel of the first output of all.
  std::ptrdiff_t first_ = 0;
  std::ptrdiff_t piece_count_ = 0, piece_bytes_ = 0;
  Piece pieces_[kVectorBytes];
};

template <class Step, typename Out, int kLanes, int kInputs>
HWY_NOINLINE void RowsOfLanes(const GroupedArgs& args, std::ptrdiff_t first,
                              std::ptrdiff_t last) {
  for (std::ptrdiff_t v = 0; v < args.layout.vectors; ++v) {
    for (std::ptrdiff_t c = 0; c < args.layout.chunks; ++c) {
      WithForm<RequantizeForm::kMixed>(
          args.table.form, [&](auto form) HWY_ATTR {
            GroupedLoop<Step, Out, decltype(form)::value, kLanes, kInputs>(args,
                                                                           v, c)
                .Run(first, last);
          });
    }
  }
}

template <class Step, typename Out, int kLanes>
void RowsOfInputs(const GroupedArgs& args, std::ptrdiff_t first,
                  std::ptrdiff_t last) {
  if constexpr (GroupedLayout::MostInputs(kLanes) == 4) {
    if (args.layout.inputs == 4) {
      return RowsOfLanes<Step, Out, kLanes, 4>(args, first, last);
    }
  }
  if (args.layout.inputs == 2) {
    return RowsOfLanes<Step, Out, kLanes, 2>(args, first, last);
  }
  RowsOfLanes<Step, Out, kLanes, 1>(args, first, last);
}

template <class Step, typename Out>
void GroupedRows(const GroupedArgs& args, std::ptrdiff_t first,
                 std::ptrdiff_t last) {
  switch (args.layout.lanes) {
    case 1:
      return RowsOfInputs<Step, Out, 1>(args, first, last);
    case 2:
      return RowsOfInputs<Step, Out, 2>(args, first, last);
    default:
      return RowsOfInputs<Step, Out, 4>(args, first, last);
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
