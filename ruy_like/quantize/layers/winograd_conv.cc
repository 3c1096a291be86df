// Tested in test/quantize/layers/winograd_conv_test.cc.
#include "ruy_like/quantize/layers/winograd_conv.h"

#include <algorithm>
#include <cstring>

#include "ruy_like/quantize/checks/checks.h"
#include "ruy_like/quantize/layers/grouped_weights.h"
#include "ruy_like/quantize/layers/scratch.h"
#include "ruy_like/quantize/loops/blocks.h"
#include "ruy_like/quantize/loops/winograd_kernels.h"

namespace ruy_like::quantize_internal {
namespace {

bool Is3x3(const Window& window) {
  return window.kernel_height == 3 && window.kernel_width == 3 &&
         window.stride_height == 1 && window.stride_width == 1 &&
         window.dilation_height == 1 && window.dilation_width == 1;
}

// Tiles, those that fill the last group included.
std::ptrdiff_t TileCount(const TensorShape& out) {
  return CeilDiv(out.batch * CeilDiv(out.height, 2) * CeilDiv(out.width, 2),
                 kWinogradCols) *
         kWinogradCols;
}

// True if four times a sum without its bias stays within int32: with inputs
// within 255 of their zero point up to 1827 channels.
bool SumsFit(const LayerCall& call, const PackedWeights& weights) {
  const auto largest =
      LargestSum(weights.depth() * LargestWeight(weights.params()[0]),
                 call.input.scalar, call.input.params);
  return largest.ok() && *largest < std::int64_t{1} << 29;
}

// True if the loops save a tenth of the multiplications, those included that
// fill their tiles. Where L2 does not hold the weights, reading them costs as
// much as some tiles. Measured with AVX2 and AVX-512 (doc/tuning.md).
bool PaysOff(const LayerCall& call, std::ptrdiff_t block) {
  constexpr std::ptrdiff_t kTilesOfReading = 4, kWeightsInL2 = 512 * 1024;
  const TensorShape &in = call.input.shape, &out = call.output.shape;
  const std::ptrdiff_t points =
      CeilDiv(out.channels, block) * block * kWinogradPoints;
  const std::ptrdiff_t tiles =
      TileCount(out) +
      (points * in.channels > kWeightsInL2 ? kTilesOfReading : 0);
  return ElementCount(out) * kWinogradTaps * 10 > points * tiles * 11;
}

}  // namespace

const std::int16_t* WinogradWeights(const LayerCall& call, const Layer& layer,
                                    const Window& window) {
  const PackedWeights& packed = *layer.packed;
  if (packed.groups() != 1 || packed.grouped() == nullptr || !Is3x3(window)) {
    return nullptr;
  }
  const WinogradKernels* const kernels = WinogradKernelsFor(call.context);
  if (kernels == nullptr || kernels->tiles[layer.out] == nullptr ||
      call.output.shape.channels % (kernels->block / 2) != 0 ||
      packed.params()[0].zero_point != 0 || !SumsFit(call, packed) ||
      !PaysOff(call, kernels->block)) {
    return nullptr;
  }
  return packed.grouped()->Winograd(kernels->block, call.input.shape.order);
}

absl::Status RunWinograd(const LayerCall& call, const Layer& layer,
                         const Window& window, const std::int16_t* weights,
                         Layer* own) {
  const TensorShape &in = call.input.shape, &out = call.output.shape;
  Context* const context = call.context;
  // A part's transformed inputs stay in L2, with a block of weights. There is
  // memory for several parts of each of several threads, so that all end
  // together.
  constexpr std::ptrdiff_t kPartBytes = 256 * 1024, kPartsOfThread = 4;
  const std::ptrdiff_t tile_elements = kWinogradPoints * in.channels;
  const std::ptrdiff_t part =
      std::clamp<std::ptrdiff_t>(
          kPartBytes / (tile_elements * 2 * kWinogradCols), 4, 16) *
      kWinogradCols;
  const std::ptrdiff_t threads = context->max_num_threads();
  const std::ptrdiff_t tiles = TileCount(out);
  const std::ptrdiff_t most =
      std::min(tiles, part * (threads > 1 ? kPartsOfThread * threads : 1));
  Workspace spare;
  const Erased output = layer.BeforeLookup(call.output);
  NhwcTensors tensors(call.input, output);
  std::int16_t* transformed = nullptr;
  std::uint8_t* padding = nullptr;
  RUY_LIKE_RETURN_IF_ERROR(PrepareLayer(call, &spare, own, [&](Carver* carver) {
    tensors.Place(carver);
    transformed = carver->Take<std::int16_t>(most, tile_elements);
    padding = carver->Take<std::uint8_t>(in.channels);
  }));
  std::memset(padding, call.input.params.zero_point,
              static_cast<std::size_t>(in.channels));
  RUY_LIKE_RETURN_IF_ERROR(tensors.CopyInput(context));
  const WinogradArgs args = {
      tensors.Sliding(window), in.batch,    in.channels, weights,
      layer.int_bias,          layer.table, padding};
  WinogradFunction* const run = WinogradKernelsFor(context)->tiles[layer.out];
  // Of a tile: some 16 multiply-adds take as long as moving 2 bytes.
  constexpr double kLeastCost = 1024, kMostCost = 64 * 1024;
  const double cost = 2.0 * static_cast<double>(in.channels) *
                      static_cast<double>(out.channels);
  for (std::ptrdiff_t first = 0; first < tiles; first += most) {
    RUY_LIKE_RETURN_IF_ERROR(ForEachRange(
        std::min(most, tiles - first), /*grain=*/part,
        static_cast<std::ptrdiff_t>(std::clamp(cost, kLeastCost, kMostCost)),
        context, [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
          std::int16_t* const memory = transformed + begin * tile_elements;
          for (; begin < end; begin += part) {
            run(args, first + begin, first + std::min(begin + part, end),
                memory);
          }
        }));
  }
  return tensors.FinishResult(context, layer.lookup);
}

}  // namespace ruy_like::quantize_internal
