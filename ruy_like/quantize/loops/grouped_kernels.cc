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

// The offset that staging left in the inputs.
template <class Step>
std::int32_t OffsetOf(const GroupedArgs& args) {
  return Step::kRows == 2 ? 0 : args.UnsignedZeroPoint();
}

// Bytes of as many channels as a vector of D has, staged.
template <class Step, class D>
using Unstaged = std::conditional_t<Step::kRows == 4, D, hn::Half<D>>;

// Stages them; In is the type of the input.
template <class Step, typename In>
struct StageOp {
  explicit StageOp(const GroupedArgs& args)
      : flip(args.Flip()),
        zero_point(static_cast<std::int16_t>(args.input_zero_point)) {}

  template <class D>
  HWY_INLINE void operator()(D d, hn::Vec<Unstaged<Step, D>> bytes,
                             std::uint8_t* to) const {
    if constexpr (Step::kRows == 4) {
      hn::StoreU(hn::Xor(bytes, hn::Set(d, flip)), d, to);
    } else {
      const D16<D> d16;
      const auto wide = hn::PromoteTo(
          d16, hn::BitCast(hn::Rebind<In, Unstaged<Step, D>>(), bytes));
      hn::StoreU(hn::BitCast(d, hn::Sub(wide, hn::Set(d16, zero_point))), d,
                 to);
    }
  }

  std::uint8_t flip;
  std::int16_t zero_point;
};

// Input channels of the blocks of one vector of outputs, of as many pixels of a
// row as are called for. What follows the channels of a group has weights of 0:
// it may be anything that can be read.
template <class Step, typename In>
class PixelStager {
 public:
  PixelStager(const GroupedArgs& args, std::ptrdiff_t vector)
      : args_(args),
        layout_(args.layout),
        group_(vector * layout_.groups_of_vector),
        groups_(std::min(layout_.groups_of_vector, layout_.groups - group_)),
        part_(layout_.StepChannels()),
        is_whole_(layout_.in_channels == layout_.steps * part_ &&
                  groups_ == layout_.groups_of_vector) {
    if (layout_.groups_of_block == 1 || (is_whole_ && layout_.steps == 1)) {
      return;
    }
    for (std::ptrdiff_t i = 0, s = 0; i < 16; ++s) {
      for (std::ptrdiff_t g = 0; g < layout_.groups_of_block; ++g) {
        for (std::ptrdiff_t c = 0; c < part_; ++c, ++i) {
          order_[i] = static_cast<std::uint8_t>(std::min<std::ptrdiff_t>(
              g * layout_.in_channels + s * part_ + c, 15));
        }
      }
    }
  }

  void Stage(const std::uint8_t* pixel, std::ptrdiff_t count,
             std::uint8_t* to) const {
    const StageOp<Step, In> op(args_);
    const std::ptrdiff_t step = args_.input_channels;
    const std::ptrdiff_t inputs = layout_.inputs;
    pixel += group_ * layout_.in_channels;
    if (is_whole_ && layout_.steps == 1) {
      for (; count > 0; --count, pixel += step) {
        for (std::ptrdiff_t i = 0; i < inputs; ++i, to += kVectorBytes) {
          op(Tag(),
             hn::LoadU(Unstaged<Step, Tag>(), pixel + i * kVectorChannels), to);
        }
      }
      return;
    }
    if constexpr (Step::kRows == 2) {
      if (is_whole_ && layout_.lanes == 2) {
        for (; count > 0; --count, pixel += step) {
          for (std::ptrdiff_t i = 0; i < inputs; ++i, to += 2 * kVectorBytes) {
            StageTwoSteps(op, pixel + i * kVectorBytes, to);
          }
        }
        return;
      }
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

  // A vector of groups of two steps.
  HWY_INLINE void StageTwoSteps(const StageOp<Step, In>& op,
                                const std::uint8_t* from,
                                std::uint8_t* to) const {
    const Tag d;
    const hn::Repartition<std::uint64_t, Tag> d64;
    const Unstaged<Step, Tag> half;
    // Each block has its channels of one step, then those of the other one.
    const auto steps = hn::BitCast(
        d64,
        hn::TableLookupBytes(hn::LoadU(d, from), hn::LoadDup128(d, order_)));
    op(d,
       hn::LowerHalf(half, hn::BitCast(d, hn::ConcatEven(d64, steps, steps))),
       to);
    op(d, hn::LowerHalf(half, hn::BitCast(d, hn::ConcatOdd(d64, steps, steps))),
       to + kVectorBytes);
  }

  // The block of `step` that begins with this group, of `count` pixels.
  void StageBlock(const StageOp<Step, In>& op, const std::uint8_t* pixel,
                  std::ptrdiff_t group, std::ptrdiff_t step,
                  std::ptrdiff_t count, std::uint8_t* to) const {
    const Block d;
    const Unstaged<Step, Block> d8;
    const std::ptrdiff_t pixel_bytes = args_.PixelBytes();
    const std::ptrdiff_t pixel_step = args_.input_channels;
    const std::uint8_t* from =
        pixel + group * layout_.in_channels + step * part_;
    std::ptrdiff_t x = 0;
    if (group < groups_) {
      // Where 16 bytes can be read.
      const std::ptrdiff_t readable =
          args_.input + args_.input_bytes - from - 16;
      const std::ptrdiff_t end =
          readable < 0 ? 0 : std::min(count, readable / pixel_step + 1);
      const auto order = hn::Load(d8, order_);
      for (; x < end; ++x, from += pixel_step, to += pixel_bytes) {
        if (layout_.groups_of_block == 1) {
          op(d, hn::LoadU(d8, from), to);
        } else {
          op(d, hn::TableLookupBytes(hn::LoadU(d, from), order), to);
        }
      }
    }
    const std::ptrdiff_t rest =
        std::min(layout_.in_channels - step * part_, part_);
    const std::ptrdiff_t groups =
        std::min(layout_.groups_of_block, groups_ - group);
    alignas(16) std::uint8_t channels[16] = {};
    for (; x < count; ++x, from += pixel_step, to += pixel_bytes) {
      for (std::ptrdiff_t g = 0; g < groups; ++g) {
        std::memcpy(channels + g * part_, from + g * layout_.in_channels,
                    static_cast<std::size_t>(rest));
      }
      op(d, hn::Load(d8, channels), to);
    }
  }

  const GroupedArgs& args_;
  const GroupedLayout& layout_;
  // The first group and their number.
  const std::ptrdiff_t group_, groups_;
  // Channels of a group in a step.
  const std::ptrdiff_t part_;
  const bool is_whole_;
  // Where the channels of a block's groups come from, and behind them, if there
  // is room, those of the next step.
  alignas(16) std::uint8_t order_[16] = {};
};

template <class Step, typename In>
void StageRowsOf(const GroupedArgs& args, std::ptrdiff_t first,
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
      PixelStager<Step, In>(args, v).Stage(source.input,
                                           source.right - source.left,
                                           to + source.left * pixel_bytes);
      fill(to + source.right * pixel_bytes, args.staged_width - source.right);
    }
  }
}

template <class Step>
void StageRows(const GroupedArgs& args, std::ptrdiff_t first,
               std::ptrdiff_t last) {
  const auto stage = args.input_is_signed ? StageRowsOf<Step, std::int8_t>
                                          : StageRowsOf<Step, std::uint8_t>;
  stage(args, first, last);
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
// kInputs vectors of input channels, whose groups have kLanes lanes each.
template <class Step, RequantizeForm kForm, int kLanes, int kInputs>
class GroupedLoop {
 public:
  GroupedLoop(const GroupedArgs& args, std::ptrdiff_t vector,
              std::ptrdiff_t chunk)
      : args_(args),
        vector_(vector),
        chunk_(chunk),
        channels_(args.layout.groups * args.layout.out_channels),
        is_whole_(args.layout.chunk == args.layout.out_channels &&
                  (vector + 1) * args.layout.groups_of_vector <=
                      args.layout.groups) {
    const GroupedLayout& layout = args.layout;
    const Window& window = args.window;
    std::ptrdiff_t t = 0;
    for (std::ptrdiff_t i = 0; i < window.kernel_height; ++i) {
      for (std::ptrdiff_t j = 0; j < window.kernel_width; ++j) {
        for (std::ptrdiff_t s = 0; s < layout.steps; ++s) {
          offsets_[t++] = (i * window.dilation_height * args.staged_width +
                           j * window.dilation_width) *
                              args.PixelBytes() +
                          s * kVectorBytes;
        }
      }
    }
  }

  void Run(std::ptrdiff_t first, std::ptrdiff_t last) {
    std::int32_t memory[RequantizeConstants::kCount * kVectorBytes] = {};
    const RequantizeTable table = {memory, kVectorBytes, args_.table.form};
    Arrange(table);
    const Output<Tag, kForm> output(args_, table);
    const GroupedLayout& layout = args_.layout;
    const Steps steps = {
        layout.AllSteps(),
        offsets_,
        args_.weights + (vector_ * layout.chunks + chunk_) * layout.chunk_bytes,
        /*weight_bytes=*/4 * kLanes * kVectorBytes,
        start_,
        args_.window.stride_width * args_.PixelBytes(),
        /*input_bytes=*/layout.steps * kVectorBytes};
    std::uint8_t* const out =
        static_cast<std::uint8_t*>(args_.output) +
        vector_ * layout.groups_of_vector * layout.out_channels +
        chunk_ * layout.chunk;
    for (std::ptrdiff_t row = first; row < last; ++row) {
      const std::ptrdiff_t y = row % args_.output_height;
      ForTiles<kPixels>(
          args_.output_width,
          args_.StagedRow(row / args_.output_height, vector_,
                          y * args_.window.stride_height),
          steps.output_bytes, out + row * args_.output_width * channels_,
          channels_,
          [&](auto size, const std::uint8_t* from, std::uint8_t* to) HWY_ATTR {
            Tile<decltype(size)::value>(steps, from, output, to);
          });
    }
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
            const std::ptrdiff_t out =
                group * layout.out_channels + channel + j;
            table.Copy(args_.table, out,
                       result / 4 * (kVectorBytes / 4) + b * 4 + result % 4);
            // Modulo 2^32, as all sums. One lane of the group's begins with it.
            start_[(i * layout.chunk + j) * (kVectorBytes / 4) + b * 4 +
                   g * kLanes] =
                static_cast<std::int32_t>(
                    static_cast<std::uint32_t>(
                        args_.bias == nullptr ? 0 : args_.bias[out]) -
                    static_cast<std::uint32_t>(offset) *
                        static_cast<std::uint32_t>(args_.weight_sums[out]));
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

  template <int kCount>
  HWY_INLINE void Tile(const Steps& steps, const std::uint8_t* from,
                       const Output<Tag, kForm>& output,
                       std::uint8_t* out) const {
    const hn::Repartition<std::int32_t, Tag> d32;
    V results[kCount][4];
    for (int r = 0; r < 4; r += kResults) {
      V acc[kCount][kResults * kLanes];
      SumSteps<Step, kInputsAtOnce, /*kSteps=*/0>(
          Tag(), steps, from + r / kResultsOfInput * steps.input_bytes,
          r * kLanes, acc);
      for (int i = 0; i < kResults; ++i) {
        for (int p = 0; p < kCount; ++p) {
          results[p][r + i] = Reduce<kLanes>(d32, acc[p] + i * kLanes);
        }
      }
    }
    hn::Vec<Tag> bytes[kCount];
    output(results, bytes);
    for (int p = 0; p < kCount; ++p) Store(bytes[p], out + p * channels_);
  }

  HWY_INLINE void Store(hn::Vec<Tag> bytes, std::uint8_t* out) const {
    const Tag d;
    if constexpr (kLanes != 4) {
      bytes = hn::TableLookupBytes(bytes, hn::Load(d, order_));
    }
    if constexpr (kInputs > 1 && kVectorBytes > 16) {
      const D32<Tag> d32;
      bytes = hn::BitCast(
          d, hn::TableLookupLanes(hn::BitCast(d32, bytes),
                                  hn::SetTableIndices(d32, parts_)));
    }
    if (is_whole_) {
      hn::StoreU(bytes, d, out);
      return;
    }
    StoreInPieces(bytes, out);
  }

  HWY_NOINLINE void StoreInPieces(hn::Vec<Tag> bytes, std::uint8_t* out) const {
    alignas(64) std::uint8_t buffer[kVectorBytes];
    hn::Store(bytes, Tag(), buffer);
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
  HWY_INLINE void StorePieces(const std::uint8_t* buffer,
                              std::uint8_t* out) const {
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
  // All output channels.
  const std::ptrdiff_t channels_;
  // Outputs of the vector are all channels of its groups.
  const bool is_whole_;
  std::ptrdiff_t offsets_[kMaxGroupedSteps];
  // The first of a group's lanes begins with the bias, the others with 0.
  alignas(64) std::int32_t start_[kLanes * kVectorBytes] = {};
  // Where a block's outputs are among its results, for all blocks; then the
  // blocks' lanes, so that each input's outputs follow each other.
  alignas(64) std::uint8_t order_[kVectorBytes] = {};
  alignas(64) std::int32_t parts_[kVectorBytes / 4];
  std::ptrdiff_t piece_count_ = 0, piece_bytes_ = 0;
  Piece pieces_[kVectorBytes];
};

template <class Step, int kLanes, int kInputs>
HWY_NOINLINE void RowsOfLanes(const GroupedArgs& args, std::ptrdiff_t first,
                              std::ptrdiff_t last) {
  while (first < last) {
    const std::ptrdiff_t chunk = first / args.output_rows;
    const std::ptrdiff_t row = first % args.output_rows;
    const std::ptrdiff_t end = std::min(row + last - first, args.output_rows);
    WithForm<RequantizeForm::kMixed>(args.table.form, [&](auto form) HWY_ATTR {
      GroupedLoop<Step, decltype(form)::value, kLanes, kInputs>(
          args, chunk / args.layout.chunks, chunk % args.layout.chunks)
          .Run(row, end);
    });
    first += end - row;
  }
}

template <class Step, int kLanes>
void RowsOfInputs(const GroupedArgs& args, std::ptrdiff_t first,
                  std::ptrdiff_t last) {
  if constexpr (GroupedLayout::MostInputs(kLanes) == 4) {
    if (args.layout.inputs == 4) {
      return RowsOfLanes<Step, kLanes, 4>(args, first, last);
    }
  }
  if (args.layout.inputs == 2) {
    return RowsOfLanes<Step, kLanes, 2>(args, first, last);
  }
  RowsOfLanes<Step, kLanes, 1>(args, first, last);
}

template <class Step>
void GroupedRows(const GroupedArgs& args, std::ptrdiff_t first,
                 std::ptrdiff_t last) {
  switch (args.layout.lanes) {
    case 1:
      return RowsOfInputs<Step, 1>(args, first, last);
    case 2:
      return RowsOfInputs<Step, 2>(args, first, last);
    default:
      return RowsOfInputs<Step, 4>(args, first, last);
  }
}

template <class Step>
constexpr GroupedKernels kGroupedKernels = {
    {Step::kRows, kVectorBytes / 16}, StageRows<Step>, GroupedRows<Step>};

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
