// Tested in test/quantize/layers/conv_test.cc.
#include "ruy_like/quantize/layers/grouped_weights.h"

#include <cstring>
#include <new>
#include <utility>

#include "ruy_like/quantize/loops/winograd_kernels.h"

namespace ruy_like::quantize_internal {
namespace {

// One per path and size of a kernel is what programs need.
constexpr int kMaxPacked = 4;

// 2 * G g.
void TransformColumn(const std::int32_t (&g)[3], std::int32_t (&to)[4]) {
  to[0] = 2 * g[0];
  to[1] = g[0] + g[1] + g[2];
  to[2] = g[0] - g[1] + g[2];
  to[3] = 2 * g[2];
}

}  // namespace

GroupedWeights::GroupedWeights(const Matrix<std::int8_t>& weights)
    : depth_(weights.layout().cols()) {
  const std::ptrdiff_t channels = weights.layout().rows();
  rows_.reserve(static_cast<std::size_t>(channels * depth_));
  sums_.reserve(static_cast<std::size_t>(channels));
  for (std::ptrdiff_t c = 0; c < channels; ++c) {
    std::uint32_t sum = 0;  // modulo 2^32, as all sums
    for (std::ptrdiff_t k = 0; k < depth_; ++k) {
      rows_.push_back(Element(weights, c, k));
      sum += static_cast<std::uint32_t>(std::int32_t{rows_.back()});
    }
    sums_.push_back(static_cast<std::int32_t>(sum));
  }
}

template <typename Function>
const std::int8_t* GroupedWeights::Keep(const GroupedForm& form,
                                        std::ptrdiff_t taps, TensorOrder order,
                                        std::ptrdiff_t bytes,
                                        const Function& pack) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const Packed& packed : packed_) {
    if (packed.form == form && packed.taps == taps && packed.order == order) {
      return packed.data;
    }
  }
  if (count_ == kMaxPacked) return nullptr;
  Workspace memory;
  auto* const to = static_cast<std::int8_t*>(
      memory.Reserve(static_cast<std::size_t>(bytes)));
  if (to == nullptr) return nullptr;
  try {
    packed_.push_front({form, taps, order, std::move(memory), to});
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  ++count_;
  std::memset(to, 0, static_cast<std::size_t>(bytes));
  pack(to);
  return to;
}

const std::int8_t* GroupedWeights::For(const GroupedLayout& layout,
                                       TensorOrder order) {
  return Keep(layout.form, layout.taps, order, layout.WeightBytes(),
              [&](std::int8_t* to) { Pack(layout, order, to); });
}

const std::int16_t* GroupedWeights::Winograd(std::ptrdiff_t block,
                                             TensorOrder order) {
  const auto rows = static_cast<std::ptrdiff_t>(sums_.size());
  return reinterpret_cast<const std::int16_t*>(
      Keep({block, /*blocks=*/0}, kWinogradTaps, order,
           CeilDiv(rows, block) * block * (depth_ / kWinogradTaps) *
               kWinogradPoints * 2,
           [&](std::int8_t* to) {
             Transform(block, order, reinterpret_cast<std::int16_t*>(to));
           }));
}

const DepthwiseWeights* GroupedWeights::Depthwise(
    absl::Span<const QuantParams> params) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (depthwise_.channels() == 0) {
    auto packed = DepthwiseWeights::Pack(
        RowMajor(rows_.data(), static_cast<std::ptrdiff_t>(sums_.size()),
                 depth_),
        params);
    if (!packed.ok()) return nullptr;
    depthwise_ = *std::move(packed);
  }
  return &depthwise_;
}

void GroupedWeights::Pack(const GroupedLayout& layout, TensorOrder order,
                          std::int8_t* to) const {
  const bool is_nhwc = order == TensorOrder::kNhwc;
  const std::ptrdiff_t weight_bytes = 4 / layout.form.per_lane;
  // A channel's; the layout may have several groups as one.
  const std::ptrdiff_t inputs = depth_ / layout.taps;
  const std::ptrdiff_t outputs =
      layout.out_channels / (layout.in_channels / inputs);
  const std::ptrdiff_t bytes = layout.VectorBytes();
  const std::ptrdiff_t groups_of_input =
      layout.groups_of_vector / layout.inputs;
  for (std::ptrdiff_t channel = 0;
       channel < layout.groups * layout.out_channels; ++channel) {
    const std::int8_t* const row = rows_.data() + channel * depth_;
    const std::ptrdiff_t group = channel / layout.out_channels;
    const std::ptrdiff_t out = channel % layout.out_channels;
    const std::ptrdiff_t vector = group / layout.groups_of_vector;
    const std::ptrdiff_t group_of_vector = group % layout.groups_of_vector;
    // The first weight.
    std::int8_t* const first =
        to +
        (vector * layout.chunks + out / layout.chunk) * layout.chunk_bytes +
        (group_of_vector / groups_of_input * layout.chunk +
         out % layout.chunk) *
            bytes +
        group_of_vector % groups_of_input * layout.lanes * 4;
    for (std::ptrdiff_t tap = 0; tap < layout.taps; ++tap) {
      for (std::ptrdiff_t i = 0; i < inputs; ++i) {
        const std::int8_t value =
            row[is_nhwc ? tap * inputs + i : i * layout.taps + tap];
        const std::ptrdiff_t c = out / outputs * inputs + i;
        const std::ptrdiff_t step =
            tap * layout.steps + c / layout.StepChannels();
        std::int8_t* const weight = first + step * 4 * layout.lanes * bytes +
                                    c % layout.StepChannels() * weight_bytes;
        if (weight_bytes == 1) {
          *weight = value;
        } else {
          const auto wide = static_cast<std::int16_t>(std::int32_t{value});
          std::memcpy(weight, &wide, sizeof(wide));
        }
      }
    }
  }
}

void GroupedWeights::Transform(std::ptrdiff_t block, TensorOrder order,
                               std::int16_t* to) const {
  const bool is_nhwc = order == TensorOrder::kNhwc;
  const std::ptrdiff_t channels = depth_ / kWinogradTaps;
  const std::ptrdiff_t step = is_nhwc ? channels : 1;
  const std::ptrdiff_t point = channels * block;
  for (std::ptrdiff_t i = 0;
       i < static_cast<std::ptrdiff_t>(sums_.size()) * channels; ++i) {
    const std::ptrdiff_t row = i / channels, c = i % channels;
    const std::int8_t* const g =
        rows_.data() + row * depth_ + (is_nhwc ? c : c * kWinogradTaps);
    std::int32_t lines[3][4];
    for (int y = 0; y < 3; ++y) {
      const std::int8_t* const line = g + 3 * y * step;
      TransformColumn({line[0], line[step], line[2 * step]}, lines[y]);
    }
    std::int16_t* const first = to + row / block * kWinogradPoints * point +
                                c / 2 * 2 * block + row % block * 2 + c % 2;
    for (int x = 0; x < 4; ++x) {
      std::int32_t points[4];
      TransformColumn({lines[0][x], lines[1][x], lines[2][x]}, points);
      for (int y = 0; y < 4; ++y) {
        first[(4 * y + x) * point] = static_cast<std::int16_t>(points[y]);
      }
    }
  }
}

}  // namespace ruy_like::quantize_internal
