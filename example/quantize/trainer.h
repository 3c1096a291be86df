// Example: trains the network by stochastic gradient descent; every product of
// the forward and the backward pass is ruy_like::Mul's.
//
// The main program calls it once. Not a training library: one optimiser, one
// loss, one kind of layer.
#ifndef EXAMPLE_QUANTIZE_TRAINER_H_
#define EXAMPLE_QUANTIZE_TRAINER_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "example/quantize/digits.h"
#include "example/quantize/float_net.h"
#include "ruy_like/ruy_like.h"

namespace digits {

struct TrainOptions {
  int epochs = 60;
  int batch = 32;
  float learning_rate = 0.1f;  // at the start; falls to 0 along a half cosine
  float momentum = 0.9f;
  float weight_decay = 5e-4f;
  std::uint32_t seed = 1;
  // A quarter of the channels: a network that has nothing to spare.
  bool narrow = false;
};

// A new network of three convolutions and a fully connected layer, trained on
// `data`. On one path of Mul the result depends on data and options alone.
absl::StatusOr<FloatNet> Train(const DataSet& data, const TrainOptions& options,
                               ruy_like::Context* context);

}  // namespace digits

#endif  // EXAMPLE_QUANTIZE_TRAINER_H_
