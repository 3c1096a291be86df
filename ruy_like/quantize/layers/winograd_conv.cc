// Tested in test/quantize/layers/winograd_conv_test.cc.
#include <algorithm>
#include <cstring>

#include "ruy_like/quantize/checks/checks.h"
#include "ruy_like/quantize/layers/direct_conv.h"
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

// How a call is cut.
struct Plan {
  // Tiles in all, whole groups, and at most so many in a call of the kernel.
  std::ptrdiff_t tiles, part;
  std::ptrdiff_t threads;
  // A tile's, for ForEachRange: some 16 multiply-adds take as long as moving 4
  // bytes; a part is enough for a thread.
  std::ptrdiff_t cost;
};

std::ptrdiff_t WholeGroups(std::ptrdiff_t tiles) {
  return CeilDiv(tiles, kWinogradCols) * kWinogradCols;
}

Plan PlanOf(const LayerCall& call) {
  const TensorShape &in = call.input.shape, &out = call.output.shape;
  // Transformed inputs that stay in L2, with a block of weights.
  constexpr std::ptrdiff_t kPartBytes = 256 * 1024, kMostCost = 64 * 1024;
  constexpr std::ptrdiff_t kRangeBytes = 256 * 1024;  // ForEachRange's
  Plan plan;
  plan.tiles =
      WholeGroups(out.batch * CeilDiv(out.height, 2) * CeilDiv(out.width, 2));
  plan.part =
      std::clamp<std::ptrdiff_t>(
          kPartBytes / (2 * kWinogradPoints * kWinogradCols * in.channels), 4,
          16) *
      kWinogradCols;
  plan.cost = std::clamp(
      4 * std::min(in.channels, kMostCost) * std::min(out.channels, kMostCost),
      kRangeBytes / plan.part, kMostCost);
  plan.threads = ThreadsFor(plan.tiles, plan.cost, call.context);
  // As many parts for each thread.
  const std::ptrdiff_t rounds = CeilDiv(plan.tiles, plan.part * plan.threads);
  plan.part = std::min(plan.part,
                       WholeGroups(CeilDiv(plan.tiles, rounds * plan.threads)));
  return plan;
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
// much as some tiles. Products by int7 weights take 0.7 of the time. Measured
// with AVX2 and AVX-512 (doc/tuning.md).
bool PaysOff(const LayerCall& call, const QuantParams& weights,
             std::ptrdiff_t block) {
  constexpr std::ptrdiff_t kTilesOfReading = 4, kWeightsInL2 = 512 * 1024;
  const int least = RangeOfInt8(weights) == ValueRange::kInt7 ? 15 : 11;
  const TensorShape &in = call.input.shape, &out = call.output.shape;
  const Plan plan = PlanOf(call);
  const std::ptrdiff_t points =
      CeilDiv(out.channels, block) * block * kWinogradPoints;
  // A thread's tiles, whose outputs products share out evenly.
  const std::ptrdiff_t tiles =
      WholeGroups(CeilDiv(plan.tiles, plan.threads)) +
      (points * in.channels > kWeightsInL2 ? kTilesOfReading : 0);
  return ElementCount(out) / plan.threads * kWinogradTaps * 10 >
         points * tiles * least;
}

// The transformed weights, if the loops can run it, and faster than products;
// else, or without memory for them, null.
const std::int16_t* WinogradWeights(const LayerCall& call,
                                    const Window& window) {
  const Layer& layer = call.layer();
  const PackedWeights& packed = *layer.packed;
  if (packed.groups() != 1 || packed.grouped() == nullptr || !Is3x3(window)) {
    return nullptr;
  }
  const WinogradKernels* const kernels = WinogradKernelsFor(call.context);
  if (kernels == nullptr || !Is8Bit(layer.out) ||
      call.output.shape.channels % (kernels->block / 2) != 0 ||
      packed.params()[0].zero_point != 0 || !SumsFit(call, packed) ||
      !PaysOff(call, packed.params()[0], kernels->block)) {
    return nullptr;
  }
  return packed.grouped()->Winograd(kernels->block, call.input.shape.order);
}

}  // namespace

std::optional<absl::Status> TryWinograd(const Window& window, LayerCall* call) {
  const std::int16_t* const weights = WinogradWeights(*call, window);
  if (weights == nullptr) return std::nullopt;
  const Layer& layer = call->layer();
  const TensorShape& in = call->input.shape;
  Context* const context = call->context;
  const Plan plan = PlanOf(*call);
  const std::ptrdiff_t tile_elements = kWinogradPoints * in.channels;
  // There is memory for several parts of each of several threads, which wait
  // for each other then.
  constexpr std::ptrdiff_t kPartsOfThread = 4;
  const std::ptrdiff_t most = std::min(
      plan.tiles,
      plan.part * (plan.threads > 1 ? kPartsOfThread * plan.threads : 1));
  NhwcTensors tensors(call->input, layer.BeforeLookup(call->output));
  std::int16_t* transformed = nullptr;
  std::uint8_t* padding = nullptr;
  RUY_LIKE_RETURN_IF_ERROR(call->Prepare([&](Carver* carver) {
    tensors.Place(carver);
    transformed = carver->Take<std::int16_t>(most, tile_elements);
    padding = carver->Take<std::uint8_t>(in.channels);
  }));
  std::memset(padding, call->input.params.zero_point,
              static_cast<std::size_t>(in.channels));
  RUY_LIKE_RETURN_IF_ERROR(tensors.CopyInput(context));
  const WinogradArgs args = {
      tensors.Sliding(window), in.batch,    in.channels, weights,
      layer.int_bias,          layer.table, padding};
  WinogradFunction* const run = WinogradKernelsFor(context)->tiles;
  for (std::ptrdiff_t first = 0; first < plan.tiles; first += most) {
    RUY_LIKE_RETURN_IF_ERROR(ForEachRange(
        std::min(most, plan.tiles - first), /*grain=*/plan.part, plan.cost,
        context, [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
          std::int16_t* const memory = transformed + begin * tile_elements;
          for (; begin < end; begin += plan.part) {
            run(args, first + begin, first + std::min(begin + plan.part, end),
                memory);
          }
        }));
  }
  return tensors.FinishResult(context, layer.lookup);
}

}  // namespace ruy_like::quantize_internal
