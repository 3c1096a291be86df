// Quantization toolkit, public: ChannelObserver, an Observer for each channel
// of a tensor.
//
// For scales per channel, and for the channels' means that CorrectBias takes.
#ifndef RUY_LIKE_QUANTIZE_CHANNEL_OBSERVER_H_
#define RUY_LIKE_QUANTIZE_CHANNEL_OBSERVER_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ruy_like/context.h"
#include "ruy_like/export.h"
#include "ruy_like/matrix.h"
#include "ruy_like/mul_params.h"
#include "ruy_like/quantize/observer.h"
#include "ruy_like/quantize/quant_params.h"

namespace ruy_like {

// Each channel is observed as an Observer alone would: about 17 KB a channel.
// Copyable; making and copying one may throw std::bad_alloc. Not for use from
// several threads at once: give each its own and merge them. The idea is that
// of PyTorch's PerChannelMinMaxObserver, with all of Observer's methods.
class RUY_LIKE_EXPORT ChannelObserver final {
 public:
  // Has no channels before the first Observe.
  ChannelObserver() = default;
  // From observers that were loaded, as CalibratedTensor::observers.
  explicit ChannelObserver(std::vector<Observer> channels)
      : channels_(std::move(channels)) {}

  // Adds the rows or columns of `values`, each to its channel. Pixels of an
  // NHWC tensor are the columns of a column-major matrix of channels x pixels.
  // With nothing observed: InvalidArgument for null data, a layout that is not
  // valid, an unknown dimension and a number of channels that differs from
  // before; OutOfRange; ResourceExhausted.
  absl::Status Observe(const Matrix<float>& values, ChannelDimension dimension,
                       Context* context = nullptr);

  // Adds what `other` has observed; either may be without channels.
  // FailedPrecondition, with nothing added, for other numbers of channels, and
  // where Observer::Merge refuses one.
  absl::Status Merge(const ChannelObserver& other);

  const std::vector<Observer>& channels() const { return channels_; }

  // Observer::ChooseParams of each channel, and its errors for the first one
  // that fails; FailedPrecondition without channels.
  absl::StatusOr<std::vector<QuantParams>> ChooseParams(
      const CalibrationOptions& options) const;

 private:
  std::vector<Observer> channels_;
};

}  // namespace ruy_like

#endif  // RUY_LIKE_QUANTIZE_CHANNEL_OBSERVER_H_
