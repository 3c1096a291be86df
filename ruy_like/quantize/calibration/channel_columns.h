// Quantization toolkit, internal: which input channel a weight belongs to, and
// channels whose values are taken for normal.
#ifndef RUY_LIKE_QUANTIZE_CALIBRATION_CHANNEL_COLUMNS_H_
#define RUY_LIKE_QUANTIZE_CALIBRATION_CHANNEL_COLUMNS_H_

#include <cmath>
#include <cstddef>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "ruy_like/matrix.h"
#include "ruy_like/quantize/checks/checks.h"
#include "ruy_like/quantize/equalization.h"

namespace ruy_like::quantize_internal {

// The input channel of each weight: `layout` has a row for each output channel,
// `columns` says where the `channels` input channels are in it.
class InputChannels final {
 public:
  InputChannels(ChannelColumns columns, const Layout& layout,
                std::ptrdiff_t channels)
      : columns_(columns), layout_(layout), channels_(channels) {}

  absl::Status Check() const {
    bool fits = false;
    switch (columns_) {
      case ChannelColumns::kInnermost:
      case ChannelColumns::kOutermost:
        fits = channels_ == 0 ? layout_.cols() == 0
                              : layout_.cols() % channels_ == 0;
        break;
      case ChannelColumns::kDepthwise:
        fits = layout_.rows() == channels_;
        break;
      default:
        return Invalid("unknown channel columns ", static_cast<int>(columns_));
    }
    if (fits) return absl::OkStatus();
    return Invalid("weights of ", layout_.rows(), "x", layout_.cols(),
                   " do not fit ", channels_, " input channels");
  }

  // The input channel of a weight. Check has returned OK.
  std::size_t ChannelOf(std::ptrdiff_t row, std::ptrdiff_t col) const {
    switch (columns_) {
      case ChannelColumns::kInnermost:
        return static_cast<std::size_t>(col % channels_);
      case ChannelColumns::kOutermost:
        return static_cast<std::size_t>(col / (layout_.cols() / channels_));
      case ChannelColumns::kDepthwise:
        break;
    }
    return static_cast<std::size_t>(row);
  }

 private:
  const ChannelColumns columns_;
  const Layout layout_;
  const std::ptrdiff_t channels_;
};

inline absl::Status CheckNormals(absl::Span<const float> means,
                                 absl::Span<const float> deviations) {
  RUY_LIKE_RETURN_IF_ERROR(CheckData({"means", means}));
  RUY_LIKE_RETURN_IF_ERROR(CheckData({"deviations", deviations}));
  bool good = means.size() == deviations.size();
  for (std::size_t c = 0; good && c < means.size(); ++c) {
    good = std::isfinite(means[c]) && std::isfinite(deviations[c]) &&
           deviations[c] >= 0;
  }
  if (good) return absl::OkStatus();
  return Invalid(means.size(), " means with ", deviations.size(),
                 " deviations, or some are negative or not finite");
}

}  // namespace ruy_like::quantize_internal

#endif  // RUY_LIKE_QUANTIZE_CALIBRATION_CHANNEL_COLUMNS_H_
