// A Network (network.h) in int8, made once from calibrated activations.
#ifndef RUY_LIKE_EXAMPLE_DETECT_INT_NETWORK_H_
#define RUY_LIKE_EXAMPLE_DETECT_INT_NETWORK_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "example/detect/network.h"
#include "ruy_like/quantize/quantize.h"

namespace detect {

// Observers of a float network's activations: of its input, then of each step's
// output (Step::source).
struct Calibration {
  std::vector<ruy_like::Observer> observers;
  std::vector<std::vector<float>> channel_means;
};
bool Calibrate(const Network& network,
               const std::vector<std::vector<float>>& inputs,
               ruy_like::Context* context, Calibration* calibration,
               std::string* error);

struct IntOptions {
  ruy_like::CalibrationMethod method = ruy_like::CalibrationMethod::kMinMax;
  bool per_channel = true;
  int weight_bits = 8;
  // CorrectBias, with the calibration's means.
  bool correct_bias = false;
  const WeightScales* scales = nullptr;  // SearchScales'
};

class IntNetwork {
 public:
  // False with a message. The network must outlive this.
  bool Make(const Network& network, const Calibration& calibration,
            const IntOptions& options, ruy_like::Context* context,
            std::string* error);
  // The float outputs; none, with a message, on an error.
  Outputs Run(const std::vector<float>& input, ruy_like::Context* context,
              Times* times, std::string* error);
  // Weights, biases and scales; the two buffers of activations and the
  // operations' workspace.
  std::size_t weight_bytes() const { return weight_bytes_; }
  std::size_t activation_bytes() const {
    return buffers_[0].size() + buffers_[1].size() +
           workspace_.capacity_bytes();
  }

 private:
  absl::Status MakeStep(const Step& step, const std::vector<float>& input_means,
                        const ruy_like::QuantParams& output,
                        const WeightScales::value_type& scales,
                        const IntOptions& options, ruy_like::Context* context);

  const Network* network_ = nullptr;
  // As Step::source counts.
  std::vector<ruy_like::QuantParams> params_;
  std::vector<ruy_like::QuantizedLayer> layers_;  // one a step, some empty
  std::vector<ruy_like::ByteTable> tables_;       // one a kLeaky
  std::vector<std::int8_t> buffers_[2];
  ruy_like::Workspace workspace_;
  std::size_t weight_bytes_ = 0;
};

}  // namespace detect

#endif  // RUY_LIKE_EXAMPLE_DETECT_INT_NETWORK_H_
