// Quantization toolkit, internal: how grouped_kernels.h lays out the input and
// the weights of a grouped convolution.
//
// Pure arithmetic, shared by the kernels, by what packs weights for them
// (layers/grouped_weights.h) and by the plan of a call (layers/conv.cc).
//
// A vector is made of blocks of 16 bytes, a block of 4 lanes of 32 bits, a lane
// of `per_lane` input channels of one group. A group has `lanes` lanes of a
// block: 1 or 2, where its channels fit in there, so that the block is shared
// with the next groups; else 4, in as many vectors, called steps, as it takes.
// Up to 8 channels that would fill a block have 2 lanes in each of two steps:
// adding up four lanes costs as much as some taps.
//
//   per_lane 4, 8 channels a group:   | g0 c0-3 | g0 c4-7 | g1 c0-3 | g1 c4-7 |
//   per_lane 4, 32 channels, step 1:  | c16-19  | c20-23  | c24-27  | c28-31  |
//
// A product of an input vector with a vector of weights gives one output
// channel of each of the vector's groups; 4 * lanes of them fill a vector of
// bytes once the lanes of a group are added up. Where a group has fewer output
// channels, 2 or 4 input vectors, `inputs`, fill it together.
//
#ifndef RUY_LIKE_QUANTIZE_LOOPS_GROUPED_LAYOUT_H_
#define RUY_LIKE_QUANTIZE_LOOPS_GROUPED_LAYOUT_H_

#include <cstddef>

#include "ruy_like/base/checked_math.h"

namespace ruy_like::quantize_internal {

// The facts of a kernel that determine the layout: input channels in a lane of
// 32 bits, 4 as bytes or 2 of 16 bits, and blocks of 16 bytes in a vector.
struct GroupedForm {
  std::ptrdiff_t per_lane, blocks;

  bool operator==(const GroupedForm& other) const {
    return per_lane == other.per_lane && blocks == other.blocks;
  }
};

struct GroupedLayout {
  GroupedLayout() = default;
  // Channels are those of one group.
  GroupedLayout(const GroupedForm& kernel_form, std::ptrdiff_t group_count,
                std::ptrdiff_t in, std::ptrdiff_t out, std::ptrdiff_t tap_count)
      : form(kernel_form),
        groups(group_count),
        in_channels(in),
        out_channels(out),
        taps(tap_count) {
    const std::ptrdiff_t all_lanes = CeilDiv(in, form.per_lane);
    lanes = all_lanes <= 2 ? all_lanes : all_lanes <= 4 && in <= 8 ? 2 : 4;
    steps = CeilDiv(all_lanes, lanes);
    groups_of_block = 4 / lanes;
    Divide(1);
    GroupedLayout best = *this;
    for (std::ptrdiff_t i = 2; i <= MostInputs(lanes); i *= 2) {
      Divide(i);
      if (ShareOfLanes() > best.ShareOfLanes()) best = *this;
    }
    *this = best;
  }

  // The kernels' largest number of inputs.
  static constexpr std::ptrdiff_t MostInputs(std::ptrdiff_t lanes) {
    return lanes == 1 ? 4 : 2;
  }

  std::ptrdiff_t VectorBytes() const { return 16 * form.blocks; }
  // Input channels of a step of a group.
  std::ptrdiff_t StepChannels() const { return lanes * form.per_lane; }
  // Steps of all taps.
  std::ptrdiff_t AllSteps() const { return taps * steps; }
  std::ptrdiff_t WeightBytes() const { return vectors * chunks * chunk_bytes; }
  // The part of the loops' multiplications that is not by zeros that fill
  // lanes.
  double ShareOfLanes() const {
    const auto share = [](std::ptrdiff_t used, std::ptrdiff_t all) {
      return static_cast<double>(used) / static_cast<double>(all);
    };
    return share(groups, vectors * groups_of_vector) *
           share(in_channels, steps * StepChannels()) *
           share(out_channels, chunks * chunk);
  }

  // Where the sum for output channel `j` of a chunk is among a block's four
  // vectors of results, for group `g` of the block of input `i`: lane result %
  // 4 of vector result / 4.
  std::ptrdiff_t ResultOf(std::ptrdiff_t i, std::ptrdiff_t g,
                          std::ptrdiff_t j) const {
    return 16 / inputs * i + 4 * (j / lanes) + lanes * g + j % lanes;
  }
  // The bytes of a block's results that are one input's.
  std::ptrdiff_t ResultsOfInput() const { return 16 / inputs; }

  GroupedForm form = {};
  std::ptrdiff_t groups = 0, in_channels = 0, out_channels = 0, taps = 0;
  // Lanes that a group has in a block, and vectors that its channels take; the
  // input vectors that share a vector of outputs.
  std::ptrdiff_t lanes = 0, steps = 0, inputs = 1;
  // Groups in a block, and in all of a vector of outputs.
  std::ptrdiff_t groups_of_block = 0, groups_of_vector = 0;
  // Vectors of outputs that all groups take.
  std::ptrdiff_t vectors = 0;
  // A staged pixel of one vector.
  std::ptrdiff_t pixel_bytes = 0;
  // Output channels of a group that one vector of outputs has, and how many
  // such chunks a group has.
  std::ptrdiff_t chunk = 0, chunks = 0;
  // Weights of one vector and chunk, in the order (tap, step, input, output
  // channel of the chunk, block, lane, input channel of the lane).
  std::ptrdiff_t chunk_bytes = 0;

 private:
  void Divide(std::ptrdiff_t number_of_inputs) {
    inputs = number_of_inputs;
    groups_of_vector = groups_of_block * form.blocks * inputs;
    vectors = CeilDiv(groups, groups_of_vector);
    pixel_bytes = inputs * steps * VectorBytes();
    chunk = 4 * lanes / inputs;
    chunks = CeilDiv(out_channels, chunk);
    chunk_bytes = AllSteps() * 4 * lanes * VectorBytes();
  }
};

}  // namespace ruy_like::quantize_internal

#endif  // RUY_LIKE_QUANTIZE_LOOPS_GROUPED_LAYOUT_H_
