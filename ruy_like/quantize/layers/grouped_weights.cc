// Tested in test/quantize/layers/conv_test.cc.
#include "ruy_like/quantize/layers/grouped_weights.h"

#include <cstring>
#include <new>
#include <utility>

namespace ruy_like::quantize_internal {
namespace {

// One per path and size of a kernel is what programs need.
constexpr int kMaxPacked = 4;

// Where the weights of an output channel are within their chunk.
struct WeightPlaces {
  std::ptrdiff_t first;             // byte of the first one
  std::ptrdiff_t step_bytes;        // from a step to the next
  std::ptrdiff_t channels_of_step;  // neighbours of 4 / per_lane bytes each
};

WeightPlaces PlacesOf(const GroupedLayout& layout, std::ptrdiff_t group,
                      std::ptrdiff_t out) {
  const std::ptrdiff_t group_of_vector = group % layout.groups_of_vector;
  const std::ptrdiff_t bytes = layout.VectorBytes();
  if (layout.form.broadcasts) {
    return {out % layout.chunk * 4, bytes, layout.form.per_lane};
  }
  const std::ptrdiff_t groups_of_input =
      layout.groups_of_vector / layout.inputs;
  return {
      (group_of_vector / groups_of_input * layout.chunk + out % layout.chunk) *
              bytes +
          group_of_vector % groups_of_input * layout.lanes * 4,
      4 * layout.lanes * bytes, layout.BlockChannels()};
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

const std::int8_t* GroupedWeights::For(const GroupedLayout& layout,
                                       TensorOrder order) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const Packed& packed : packed_) {
    if (packed.form == layout.form && packed.taps == layout.taps &&
        packed.order == order) {
      return packed.data;
    }
  }
  if (count_ == kMaxPacked) return nullptr;
  Workspace memory;
  auto* const to = static_cast<std::int8_t*>(
      memory.Reserve(static_cast<std::size_t>(layout.WeightBytes())));
  if (to == nullptr) return nullptr;
  try {
    packed_.push_front(
        {layout.form, layout.taps, order, std::move(memory), to});
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  ++count_;
  Pack(layout, order, to);
  return to;
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
  std::memset(to, 0, static_cast<std::size_t>(layout.WeightBytes()));
  const bool is_nhwc = order == TensorOrder::kNhwc;
  const std::ptrdiff_t weight_bytes = 4 / layout.form.per_lane;
  // Of a channel; the layout may have several groups as one.
  const std::ptrdiff_t inputs = depth_ / layout.taps;
  const std::ptrdiff_t outputs =
      layout.out_channels / (layout.in_channels / inputs);
  for (std::ptrdiff_t channel = 0;
       channel < layout.groups * layout.out_channels; ++channel) {
    const std::int8_t* const row = rows_.data() + channel * depth_;
    const std::ptrdiff_t group = channel / layout.out_channels;
    const std::ptrdiff_t out = channel % layout.out_channels;
    const std::ptrdiff_t vector = group / layout.groups_of_vector;
    std::int8_t* const chunk =
        to + (vector * layout.chunks + out / layout.chunk) * layout.chunk_bytes;
    const WeightPlaces places = PlacesOf(layout, group, out);
    for (std::ptrdiff_t tap = 0; tap < layout.taps; ++tap) {
      for (std::ptrdiff_t i = 0; i < inputs; ++i) {
        const std::int8_t value =
            row[is_nhwc ? tap * inputs + i : i * layout.taps + tap];
        const std::ptrdiff_t c = out / outputs * inputs + i;
        const std::ptrdiff_t step =
            tap * layout.steps + c / places.channels_of_step;
        std::int8_t* const weight = chunk + places.first +
                                    step * places.step_bytes +
                                    c % places.channels_of_step * weight_bytes;
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

}  // namespace ruy_like::quantize_internal
