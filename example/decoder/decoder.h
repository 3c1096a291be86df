// Example: a decoder, run token by token with a key-value cache.
#ifndef EXAMPLE_DECODER_DECODER_H_
#define EXAMPLE_DECODER_DECODER_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "example/decoder/model_file.h"
#include "example/decoder/weight_format.h"
#include "ruy_like/ruy_like.h"

namespace decoder {

class Decoder {
 public:
  // Keeps references to the model and the Context, and none to the format.
  static absl::StatusOr<std::unique_ptr<Decoder>> Create(
      const Model& model, const WeightFormat& format,
      ruy_like::Context* context);

  // Adds a token behind those so far. The result has a logit for each token
  // that may come next, and is valid until the next call. InvalidArgument for a
  // token outside the vocabulary, ResourceExhausted where the context is full.
  absl::StatusOr<absl::Span<const float>> Step(int token);

  // Forgets all tokens.
  void Reset() { position_ = 0; }

  // Tokens since the beginning or the last Reset().
  int position() const { return position_; }

  // Bytes of weights that a Step reads: each matrix once, and a row of the
  // embedding.
  std::size_t weight_bytes_per_token() const;

 private:
  // The rows of `keys` and `values` are tokens, their columns heads side by
  // side.
  struct Layer {
    std::unique_ptr<Linear> qkv, out, gate, up, down;
    std::vector<float> keys, values;
  };

  Decoder(const Model& model, ruy_like::Context* context);

  absl::Status Attend(Layer* layer);
  absl::Status FeedForward(const Layer& layer);
  // Turns each head of q or k to this token's position.
  void Rotate(float* heads) const;

  const Model& model_;
  ruy_like::Context* const context_;
  std::vector<Layer> layers_;
  std::unique_ptr<Linear> logits_;
  int position_ = 0;
  // Rotations: a row for each position, an element for each of half a head.
  std::vector<float> cos_, sin_;
  // The token's vector, to which each branch's last product adds; the same
  // normalized, and what lies between products.
  std::vector<float> x_, normalized_, qkv_, scores_, heads_, up_, hidden_,
      result_;
  ruy_like::PostOps add_to_x_, gate_up_;
};

}  // namespace decoder

#endif  // EXAMPLE_DECODER_DECODER_H_
