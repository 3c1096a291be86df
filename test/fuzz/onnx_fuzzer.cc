// libFuzzer target: ONNX files of example/onnx. What can be read is run in
// float, equalized, and quantized and run in int8, within a small budget.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "example/onnx/int_network.h"
#include "example/onnx/model_file.h"
#include "example/onnx/network.h"

namespace onnx {
namespace {

void Run(absl::string_view bytes) {
  static auto& context = *new ruy_like::Context();
  auto model = ReadModel(bytes);
  if (!model.ok()) return;
  Budget budget;
  budget.elements = 1 << 14;
  budget.work = 1 << 20;
  auto network = MakeNetwork(*std::move(model), {}, budget, &context);
  if (!network.ok()) return;
  std::vector<float> input(
      static_cast<std::size_t>(CountOf(network->input.dims)));
  for (std::size_t i = 0; i < input.size(); ++i) {
    input[i] = static_cast<float>(i % 13) - 6;
  }
  if (!RunFloat(*network, input, nullptr, &context, nullptr).ok()) return;
  (void)Equalize(&*network, &context);
  const auto activations = Calibrate(*network, {input}, &context);
  if (!activations.ok()) return;
  IntOptions options;
  options.correct_bias = true;
  auto made = IntNetwork::Make(*network, *activations, options, &context);
  if (made.ok()) (void)made->Run(input, nullptr, &context, nullptr);
}

}  // namespace
}  // namespace onnx

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  // A copy of its own, so that AddressSanitizer sees what is read beyond.
  const std::vector<char> bytes(data, data + size);
  onnx::Run({bytes.data(), bytes.size()});
  return 0;
}
