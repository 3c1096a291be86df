// Tested in test/quantize/layers/winograd_conv_test.cc.
#include "ruy_like/quantize/loops/winograd_kernels.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ruy_like/quantize/loops/winograd_kernels.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "hwy/highway.h"
#include "ruy_like/quantize/loops/dot_steps-inl.h"
#include "ruy_like/quantize/loops/requantize-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ruy_like::quantize_internal::HWY_NAMESPACE {

#if !HWY_ARCH_X86 || HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

const WinogradKernels* GetWinogradKernels() { return nullptr; }

#else

using Tag = hn::ScalableTag<std::int32_t>;
using V = hn::Vec<Tag>;
constexpr std::ptrdiff_t kLanes = hn::MaxLanes(Tag());
constexpr std::ptrdiff_t kBlock = 2 * kLanes;
// The sums of a point, in the order (tile of a group, channel of the block).
constexpr std::ptrdiff_t kPointSums = kWinogradCols * kBlock;

// Bt d B of a tile, at `to`, the next point being `point` elements away.
template <typename In>
HWY_INLINE void TransformTile(const WinogradArgs& args, std::ptrdiff_t tile,
                              std::ptrdiff_t point, std::int16_t* to) {
  const hn::CappedTag<std::int16_t, kWinogradMinChannels> d;
  const hn::Rebind<In, decltype(d)> narrow;
  const auto lanes = static_cast<std::ptrdiff_t>(hn::Lanes(d));
  const auto place = args.PlaceOf(tile);
  const In* pixels[4][4];
  for (int i = 0; i < 4; ++i) {
    const std::ptrdiff_t y = place.y + i - args.window.padding.top;
    const bool has_row =
        place.image < args.images && y >= 0 && y < args.input_height;
    for (int j = 0; j < 4; ++j) {
      const std::ptrdiff_t x = place.x + j - args.window.padding.left;
      const std::ptrdiff_t pixel =
          (place.image * args.input_height + y) * args.input_width + x;
      const bool is_inside = has_row && x >= 0 && x < args.input_width;
      pixels[i][j] = reinterpret_cast<const In*>(
          is_inside ? args.input + pixel * args.input_channels : args.padding);
    }
  }
  const auto transform = [](auto& a, auto& b, auto& c, auto& e) HWY_ATTR {
    a = hn::Sub(a, c);
    e = hn::Sub(b, e);
    const auto sum = hn::Add(b, c);
    c = hn::Sub(c, b);
    b = sum;
  };
  const auto zero =
      hn::Set(d, static_cast<std::int16_t>(args.input_zero_point));
  for (std::ptrdiff_t next = 0; next < args.input_channels; next += lanes) {
    const std::ptrdiff_t c = std::min(next, args.input_channels - lanes);
    hn::Vec<decltype(d)> v[4][4];
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < 4; ++j) {
        v[i][j] = hn::Sub(hn::PromoteTo(d, hn::LoadU(narrow, pixels[i][j] + c)),
                          zero);
      }
      transform(v[i][0], v[i][1], v[i][2], v[i][3]);
    }
    for (int j = 0; j < 4; ++j) {
      transform(v[0][j], v[1][j], v[2][j], v[3][j]);
      for (int i = 0; i < 4; ++i) {
        hn::StoreU(v[i][j], d, to + (4 * i + j) * point + c);
      }
    }
  }
}

// One point's sums over all channels of a group of tiles, for a block.
HWY_INLINE void MultiplyPoint(const std::int16_t* weights,
                              const std::int16_t* inputs,
                              std::ptrdiff_t channels, std::int32_t* sums) {
  const Tag d;
  const hn::Repartition<std::int16_t, Tag> d16;
  V acc[kWinogradCols][2];
  for (V(&of_tile)[2] : acc) of_tile[0] = of_tile[1] = hn::Zero(d);
  for (std::ptrdiff_t c = 0; c < channels; c += 2, weights += 2 * kBlock) {
    const V w0 = hn::BitCast(d, hn::Load(d16, weights));
    const V w1 = hn::BitCast(d, hn::Load(d16, weights + kBlock));
    for (std::ptrdiff_t p = 0; p < kWinogradCols; ++p) {
      std::int32_t pair;
      std::memcpy(&pair, inputs + p * channels + c, sizeof(pair));
      const V x = hn::Set(d, pair);
      acc[p][0] = InRegister(Pairs::Dot(acc[p][0], x, w0));
      acc[p][1] = InRegister(Pairs::Dot(acc[p][1], x, w1));
    }
  }
  for (std::ptrdiff_t p = 0; p < kWinogradCols; ++p) {
    hn::Store(acc[p][0], d, sums + p * kBlock);
    hn::Store(acc[p][1], d, sums + p * kBlock + kLanes);
  }
}

// At m A / 4 of a tile, requantized: a vector of channels from `channel` on.
template <RequantizeForm kForm>
HWY_INLINE void StoreTile(const WinogradArgs& args,
                          const WinogradArgs::Place& place, std::size_t channel,
                          const std::int32_t* sums) {
  const Tag d;
  const hn::Rebind<std::int8_t, Tag> narrow;
  const hn::Rebind<std::uint8_t, Tag> bytes;
  V lines[4][2];
  const auto transform = [](V a, V b, V c, V e, V(&to)[2]) HWY_ATTR {
    to[0] = hn::Add(hn::Add(a, b), c);
    to[1] = hn::Sub(hn::Sub(b, c), e);
  };
  for (int i = 0; i < 4; ++i) {
    const std::int32_t* const m = sums + 4 * i * kPointSums;
    transform(hn::Load(d, m), hn::Load(d, m + kPointSums),
              hn::Load(d, m + 2 * kPointSums), hn::Load(d, m + 3 * kPointSums),
              lines[i]);
  }
  const RequantizeVectors<Tag> constants(d, args.table, channel);
  const V bias = hn::LoadU(d, args.bias + channel);
  const QuantizedOutput bounds = args.SignedBounds();
  const auto flip = hn::Set(bytes, args.OutputFlip());
  for (std::ptrdiff_t j = 0; j < 2 && place.x + j < args.output_width; ++j) {
    V outputs[2];
    transform(lines[0][j], lines[1][j], lines[2][j], lines[3][j], outputs);
    for (std::ptrdiff_t i = 0; i < 2 && place.y + i < args.output_height; ++i) {
      const V sum = hn::Add(hn::ShiftRight<2>(outputs[i]), bias);
      const std::ptrdiff_t pixel =
          (place.image * args.output_height + place.y + i) * args.output_width +
          place.x + j;
      const auto output = hn::DemoteTo(
          narrow, RequantizeToOutput(d, sum, constants, kForm, bounds));
      hn::StoreU(hn::Xor(hn::BitCast(bytes, output), flip), bytes,
                 static_cast<std::uint8_t*>(args.output) +
                     pixel * args.channels + channel);
    }
  }
}

template <typename In, RequantizeForm kForm>
void TilesOfForm(const WinogradArgs& args, std::ptrdiff_t first,
                 std::ptrdiff_t last, std::int16_t* transformed) {
  const std::ptrdiff_t channels = args.input_channels;
  const std::ptrdiff_t point = (last - first) * channels;
  for (std::ptrdiff_t tile = first; tile < last; ++tile) {
    TransformTile<In>(args, tile, point,
                      transformed + (tile - first) * channels);
  }
  alignas(64) std::int32_t sums[kWinogradPoints * kPointSums];
  const std::int16_t* weights = args.weights;
  for (std::ptrdiff_t c = 0; c < args.channels; c += kBlock) {
    for (std::ptrdiff_t tile = first; tile < last; tile += kWinogradCols) {
      for (std::ptrdiff_t k = 0; k < kWinogradPoints; ++k) {
        MultiplyPoint(weights + k * channels * kBlock,
                      transformed + k * point + (tile - first) * channels,
                      channels, sums + k * kPointSums);
      }
      for (std::ptrdiff_t t = 0; t < kWinogradCols; ++t) {
        const auto place = args.PlaceOf(tile + t);
        if (place.image == args.images) break;
        for (std::ptrdiff_t v = 0; v < kBlock && c + v < args.channels;
             v += kLanes) {
          StoreTile<kForm>(args, place, static_cast<std::size_t>(c + v),
                           sums + t * kBlock + v);
        }
      }
    }
    weights += kWinogradPoints * channels * kBlock;
  }
}

void Tiles(const WinogradArgs& args, std::ptrdiff_t first, std::ptrdiff_t last,
           std::int16_t* transformed) {
  WithForm<RequantizeForm::kMixed>(args.table.form, [&](auto form) HWY_ATTR {
    constexpr RequantizeForm kForm = decltype(form)::value;
    const auto run = args.input_is_signed ? TilesOfForm<std::int8_t, kForm>
                                          : TilesOfForm<std::uint8_t, kForm>;
    run(args, first, last, transformed);
  });
}

const WinogradKernels* GetWinogradKernels() {
  static constexpr WinogradKernels kKernels = {kBlock, Tiles};
  return &kKernels;
}

#endif

}  // namespace ruy_like::quantize_internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ruy_like::quantize_internal {

HWY_EXPORT(GetWinogradKernels);

const WinogradKernels* WinogradKernelsFor(const Context* context) {
  const Path paths = PermittedPaths(context);
  if ((paths & Path::kAvxVnni) != Path::kNone || PermitsVnni(context)) {
    return nullptr;
  }
  return HWY_DISPATCH_TABLE(
      GetWinogradKernels)[TargetIndex(PermittedTargets(paths))]();
}

}  // namespace ruy_like::quantize_internal
#endif  // HWY_ONCE
