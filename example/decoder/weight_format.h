// Example: what a decoder's weights may be stored as, and their products.
//
// A format is one row of AllFormats() and one class in weight_format.cc.
#ifndef EXAMPLE_DECODER_WEIGHT_FORMAT_H_
#define EXAMPLE_DECODER_WEIGHT_FORMAT_H_

#include <cstddef>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "example/decoder/model_file.h"
#include "ruy_like/ruy_like.h"

namespace decoder {

// A matrix of weights in one of the formats. Immutable, but for scratch memory:
// one thread at a time.
class Linear {
 public:
  virtual ~Linear() = default;
  Linear(const Linear&) = delete;
  Linear& operator=(const Linear&) = delete;

  // y = weights * x: depth elements in, rows elements out. `post_ops`, where
  // not null, follow in the same call.
  virtual absl::Status Multiply(const float* x,
                                const ruy_like::PostOps* post_ops,
                                ruy_like::Context* context, float* y) = 0;
  // Bytes of weights and scales that a product reads.
  virtual std::size_t weight_bytes() const = 0;

 protected:
  Linear() = default;
};

struct WeightFormat {
  const char* name;
  const char* description;
  // The loss against float that --check allows, in bits per character.
  double most_bits_lost;
  // Keeps no reference to the weights.
  absl::StatusOr<std::unique_ptr<Linear>> (*make)(const Weights& weights,
                                                  ruy_like::Context* context);
};

// Float, with which the others are compared, comes first.
absl::Span<const WeightFormat> AllFormats();

// Null if there is none of this name.
const WeightFormat* FindFormat(absl::string_view name);

}  // namespace decoder

#endif  // EXAMPLE_DECODER_WEIGHT_FORMAT_H_
