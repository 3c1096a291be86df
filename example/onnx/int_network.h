// A Network in int8, made once from calibrated activations: each step by the
// toolkit's operation for its Kind, the others in float between them.
#ifndef RUY_LIKE_EXAMPLE_ONNX_INT_NETWORK_H_
#define RUY_LIKE_EXAMPLE_ONNX_INT_NETWORK_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "example/onnx/network.h"
#include "ruy_like/quantize/quantize.h"

namespace onnx {

// By what is written.
struct Activations {
  std::map<std::string, ruy_like::Observer> observers;
  std::map<std::string, std::vector<float>> channel_means;
};
absl::StatusOr<Activations> Calibrate(
    const Network& network, const std::vector<std::vector<float>>& inputs,
    ruy_like::Context* context);

// The scales of products' weights by EqSearchConv2D and EqSearch, each on what
// the float network makes of the inputs, for as many seconds in all. Grouped
// convolutions have none.
using WeightScales = std::map<std::string, std::vector<ruy_like::QuantParams>>;
absl::StatusOr<WeightScales> SearchScales(
    const Network& network, const std::vector<std::vector<float>>& inputs,
    std::chrono::seconds limit, ruy_like::Context* context);

struct IntOptions {
  ruy_like::CalibrationMethod method = ruy_like::CalibrationMethod::kMinMax;
  double percentile = 99.99;
  bool per_channel = true;
  bool correct_bias = false;             // CorrectBias
  const WeightScales* scales = nullptr;  // SearchScales'
};

class IntNetwork {
 public:
  // The network must outlive this.
  static absl::StatusOr<IntNetwork> Make(const Network& network,
                                         const Activations& activations,
                                         const IntOptions& options,
                                         ruy_like::Context* context);

  // The float outputs. `watch`, where not null, is given what each step writes,
  // dequantized; nothing of products that a function follows in their layers.
  absl::StatusOr<std::vector<Tensor>> Run(const std::vector<float>& input,
                                          const Watch& watch,
                                          ruy_like::Context* context,
                                          Times* times);

  // Scales and zero points of activations; those of weights have "/weights"
  // behind the name.
  const std::map<std::string, std::vector<ruy_like::QuantParams>>& params()
      const {
    return params_;
  }
  // True if a step runs in int8, as every product does.
  bool IsInt(std::size_t step) const { return steps_[step].is_int; }

 private:
  struct IntStep {
    bool is_int = false;
    bool writes_float = true;        // a product or what is not int8
    ruy_like::QuantizedLayer layer;  // kProduct
    // kProduct: the function that its layer ends in, or null.
    const Step* ends_in = nullptr;
    bool is_in_layer = false;  // kFunction: a product's layer ends in it
    std::vector<ruy_like::ByteTable> table;  // of functions: one
    std::vector<std::int32_t> from;          // kMove, where not in order
    ruy_like::Window window;                 // kPool
  };
  using Bytes = std::vector<std::int8_t>;
  // Activations of a run, in either form or both.
  struct Run_;

  void ChooseSteps();
  void JoinFunctions();
  absl::StatusOr<ruy_like::ByteTable> MakeTable(
      const Step& step, ruy_like::Context* context) const;
  absl::Status MakeStep(std::size_t i, const Activations& activations,
                        const IntOptions& options, ruy_like::Context* context);
  absl::Status MakeProduct(const Step& step, const Activations& activations,
                           const IntOptions& options,
                           ruy_like::Context* context, IntStep* made);
  absl::Status RunIntStep(std::size_t i, Run_* run);
  const ruy_like::QuantParams& ParamsOf(const std::string& name) const {
    return params_.at(name)[0];
  }

  const Network* network_ = nullptr;
  std::vector<IntStep> steps_;
  std::map<std::string, std::vector<ruy_like::QuantParams>> params_;
  ruy_like::Workspace workspace_;
  std::map<std::string, Bytes> spare_;  // activations of the run before
};

}  // namespace onnx

#endif  // RUY_LIKE_EXAMPLE_ONNX_INT_NETWORK_H_
