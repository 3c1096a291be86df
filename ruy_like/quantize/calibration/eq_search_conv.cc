// EqSearch for convolutions: the patches, in float.
//
// Tested in test/quantize/calibration/eq_search_test.cc.
#include <cstddef>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ruy_like/base/checked_math.h"
#include "ruy_like/base/no_memory.h"
#include "ruy_like/quantize/checks/checks.h"
#include "ruy_like/quantize/eq_search.h"

namespace ruy_like {
namespace {

namespace qi = quantize_internal;
using std::ptrdiff_t;

// Elements from one to the next, in an image and in a patch.
struct Strides {
  ptrdiff_t pixel, channel;    // of the image
  ptrdiff_t tap, tap_channel;  // of the patch

  Strides(const TensorShape& shape, ptrdiff_t taps) {
    if (shape.order == TensorOrder::kNhwc) {
      pixel = tap = shape.channels;
      channel = tap_channel = 1;
    } else {
      pixel = tap = 1;
      channel = shape.height * shape.width;
      tap_channel = taps;
    }
  }
};

// One output position's patch, which is zeros before.
void GatherPatch(const float* image, const TensorShape& shape,
                 const Window& window, ptrdiff_t y, ptrdiff_t x,
                 const Strides& strides, float* patch) {
  for (ptrdiff_t i = 0; i < window.kernel_height; ++i) {
    const ptrdiff_t row = y * window.stride_height +
                          i * window.dilation_height - window.padding.top;
    if (row < 0 || row >= shape.height) continue;
    for (ptrdiff_t j = 0; j < window.kernel_width; ++j) {
      const ptrdiff_t col = x * window.stride_width +
                            j * window.dilation_width - window.padding.left;
      if (col < 0 || col >= shape.width) continue;
      const float* const from =
          image + (row * shape.width + col) * strides.pixel;
      float* const to = patch + (i * window.kernel_width + j) * strides.tap;
      for (ptrdiff_t c = 0; c < shape.channels; ++c) {
        to[c * strides.tap_channel] = from[c * strides.channel];
      }
    }
  }
}

absl::Status GatherPatches(const TensorView<const float>& images,
                           const Window& window, std::vector<float>* patches,
                           Matrix<float>* matrix) {
  const TensorShape& shape = images.shape;
  RUY_LIKE_RETURN_IF_ERROR(qi::CheckOperand("images", qi::Erase(images)));
  RUY_LIKE_ASSIGN_OR_RETURN(const auto output,
                            OutputShape(shape, window, /*channels=*/1));
  const ptrdiff_t taps = window.kernel_height * window.kernel_width;
  const ptrdiff_t positions = output.height * output.width;
  ptrdiff_t depth, count, elements, bytes;
  if (!CheckedMul(taps, shape.channels, &depth) ||
      !CheckedMul(positions, shape.batch, &count) ||
      !CheckedMul(depth, count, &elements) ||
      !CheckedMul<ptrdiff_t>(elements, sizeof(float), &bytes)) {
    return absl::OutOfRangeError(
        absl::StrCat("the patches of ", qi::Describe(shape), " overflow"));
  }
  patches->assign(static_cast<std::size_t>(elements), 0);
  const Strides strides(shape, taps);
  const ptrdiff_t image_elements = shape.height * shape.width * shape.channels;
  for (ptrdiff_t i = 0; elements > 0 && i < count; ++i) {
    GatherPatch(images.data + i / positions * image_elements, shape, window,
                i % positions / output.width, i % output.width, strides,
                patches->data() + i * depth);
  }
  MakeSimpleLayout(depth, count, Order::kColMajor, matrix->mutable_layout());
  matrix->set_data(patches->data());
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<EqResult> EqSearchConv2D(
    const Matrix<float>& weights,
    absl::Span<const TensorView<const float>> images, const Window& window,
    const EqOptions& options, Context* context, absl::Span<const float> bias) {
  return CatchNoMemory([&]() -> absl::StatusOr<EqResult> {
    std::vector<std::vector<float>> patches(images.size());
    std::vector<Matrix<float>> activations(images.size());
    for (std::size_t i = 0; i < images.size(); ++i) {
      RUY_LIKE_RETURN_IF_ERROR(
          GatherPatches(images[i], window, &patches[i], &activations[i]));
    }
    return EqSearch(weights, activations, options, context, bias);
  });
}

}  // namespace ruy_like
