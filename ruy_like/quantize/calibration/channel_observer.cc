#include "ruy_like/quantize/channel_observer.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "ruy_like/base/no_memory.h"
#include "ruy_like/quantize/checks/checks.h"
#include "ruy_like/quantize/loops/blocks.h"

namespace ruy_like {
namespace {

namespace qi = quantize_internal;

// So many channels, and values of each, are brought together at a time where a
// channel's values do not lie side by side: a block that stays in the L1 cache.
constexpr std::ptrdiff_t kBlockChannels = 16, kBlockValues = 256;

// The same memory, with rows for columns.
Matrix<float> Transposed(const Matrix<float>& matrix) {
  Matrix<float> result = matrix;
  const Layout& layout = matrix.layout();
  result.mutable_layout()->set_rows(layout.cols());
  result.mutable_layout()->set_cols(layout.rows());
  result.mutable_layout()->set_order(
      layout.order() == Order::kRowMajor ? Order::kColMajor : Order::kRowMajor);
  return result;
}

// Rows are channels, and their values lie side by side.
absl::Status ObserveRows(const Matrix<float>& values, Context* context,
                         std::vector<Observer>* channels) {
  const Layout& layout = values.layout();
  for (std::ptrdiff_t row = 0; row < layout.rows(); ++row) {
    RUY_LIKE_RETURN_IF_ERROR((*channels)[static_cast<std::size_t>(row)].Observe(
        qi::PartOf(values, row, 1, 0, layout.cols()), context));
  }
  return absl::OkStatus();
}

// Rows are channels; columns lie side by side.
absl::Status ObserveColMajorRows(const Matrix<float>& values,
                                 std::vector<Observer>* channels) {
  const Layout& layout = values.layout();
  std::vector<float> block(kBlockChannels * kBlockValues);
  for (std::ptrdiff_t row = 0; row < layout.rows(); row += kBlockChannels) {
    const std::ptrdiff_t rows = std::min(kBlockChannels, layout.rows() - row);
    for (std::ptrdiff_t col = 0; col < layout.cols(); col += kBlockValues) {
      const std::ptrdiff_t cols = std::min(kBlockValues, layout.cols() - col);
      for (std::ptrdiff_t c = 0; c < cols; ++c) {
        const float* const from =
            values.data() + ElementOffset(layout, row, col + c);
        for (std::ptrdiff_t r = 0; r < rows; ++r) {
          block[static_cast<std::size_t>(r * cols + c)] = from[r];
        }
      }
      for (std::ptrdiff_t r = 0; r < rows; ++r) {
        RUY_LIKE_RETURN_IF_ERROR(
            (*channels)[static_cast<std::size_t>(row + r)].Observe(
                absl::MakeConstSpan(&block[static_cast<std::size_t>(r * cols)],
                                    static_cast<std::size_t>(cols))));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ChannelObserver::Observe(const Matrix<float>& values,
                                      ChannelDimension dimension,
                                      Context* context) {
  return CatchNoMemory([&]() -> absl::Status {
    RUY_LIKE_RETURN_IF_ERROR(qi::CheckOperand("values", values));
    RUY_LIKE_RETURN_IF_ERROR(qi::CheckDimension(dimension));
    const Matrix<float> rows =
        dimension == ChannelDimension::kRow ? values : Transposed(values);
    const auto count = static_cast<std::size_t>(rows.layout().rows());
    if (!channels_.empty() && count != channels_.size()) {
      return Invalid(count, " channels, before there were ", channels_.size());
    }
    // In a copy: an error in the last channel leaves the first as they were.
    std::vector<Observer> channels = channels_;
    channels.resize(count);
    RUY_LIKE_RETURN_IF_ERROR(rows.layout().order() == Order::kRowMajor
                                 ? ObserveRows(rows, context, &channels)
                                 : ObserveColMajorRows(rows, &channels));
    channels_ = std::move(channels);
    return absl::OkStatus();
  });
}

absl::Status ChannelObserver::Merge(const ChannelObserver& other) {
  return CatchNoMemory([&]() -> absl::Status {
    if (other.channels_.empty()) return absl::OkStatus();
    std::vector<Observer> channels = channels_;
    if (channels.empty()) {
      channels = other.channels_;
    } else if (channels.size() != other.channels_.size()) {
      return absl::FailedPreconditionError(
          absl::StrCat("observers of ", channels.size(), " and ",
                       other.channels_.size(), " channels"));
    } else {
      for (std::size_t c = 0; c < channels.size(); ++c) {
        RUY_LIKE_RETURN_IF_ERROR(channels[c].Merge(other.channels_[c]));
      }
    }
    channels_ = std::move(channels);
    return absl::OkStatus();
  });
}

absl::StatusOr<std::vector<QuantParams>> ChannelObserver::ChooseParams(
    const CalibrationOptions& options) const {
  return CatchNoMemory([&]() -> absl::StatusOr<std::vector<QuantParams>> {
    if (channels_.empty()) {
      return absl::FailedPreconditionError("no channel was observed");
    }
    std::vector<QuantParams> params;
    for (std::size_t c = 0; c < channels_.size(); ++c) {
      const absl::StatusOr<QuantParams> one =
          channels_[c].ChooseParams(options);
      if (!one.ok()) {
        return WithPrefix(one.status(), "channel ", c, ": ");
      }
      params.push_back(*one);
    }
    return params;
  });
}

}  // namespace ruy_like
