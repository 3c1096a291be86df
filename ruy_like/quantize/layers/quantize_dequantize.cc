#include "ruy_like/quantize/quantize_dequantize.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "ruy_like/base/checked_math.h"
#include "ruy_like/base/no_memory.h"
#include "ruy_like/quantize/checks/checks.h"
#include "ruy_like/quantize/loops/blocks.h"
#include "ruy_like/quantize/loops/element_kernels.h"
#include "ruy_like/quantize/loops/rounding.h"

namespace ruy_like {
namespace quantize_internal {
namespace {

std::ptrdiff_t ChannelsOf(const Layout& layout, ChannelDimension channels) {
  return channels == ChannelDimension::kRow ? layout.rows() : layout.cols();
}

absl::Status ValidateParams(absl::Span<const QuantParams> params,
                            ChannelDimension channels, const Erased& q) {
  RUY_LIKE_RETURN_IF_ERROR(CheckDimension(channels));
  return CheckChannelParams("params", params, ChannelsOf(q.layout, channels),
                            q.scalar);
}

// A factor or summand of DequantizeAcc: per channel, and none of dst's memory.
absl::Status ValidateOperand(const char* name, absl::Span<const float> values,
                             ChannelDimension channels, const Erased& dst) {
  RUY_LIKE_RETURN_IF_ERROR(CheckMemory({{name, values}}, {"x", dst}));
  RUY_LIKE_RETURN_IF_ERROR(CheckDimension(channels));
  return CheckPerChannel(name, values.size(), ChannelsOf(dst.layout, channels));
}

absl::Status ValidateScales(absl::Span<const float> scale) {
  for (std::size_t c = 0; c < scale.size(); ++c) {
    if (scale[c] > 0 && std::isfinite(scale[c])) continue;
    return CheckScale(absl::StrCat("channel ", c).c_str(), scale[c]);
  }
  return absl::OkStatus();
}

// n elements of kBytes each, `from_step` and `to_step` elements apart.
template <int kBytes>
void CopyStrided(const char* from, std::ptrdiff_t from_step, std::ptrdiff_t n,
                 char* to, std::ptrdiff_t to_step) {
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    std::memcpy(to + i * to_step * kBytes, from + i * from_step * kBytes,
                kBytes);
  }
}

void CopyStrided(const char* from, std::ptrdiff_t from_step, std::ptrdiff_t n,
                 std::ptrdiff_t bytes, char* to, std::ptrdiff_t to_step) {
  const auto copy = bytes == 1   ? CopyStrided<1>
                    : bytes == 2 ? CopyStrided<2>
                                 : CopyStrided<4>;
  copy(from, from_step, n, to, to_step);
}

// Calls kernel(src, piece, streaming, dst) for all elements, by way of
// contiguous copies where a line is not contiguous itself.
template <typename Kernel>
absl::Status RunAlong(const PairWalk& walk, const Erased& src,
                      const Erased& dst, Context* context,
                      const Kernel& kernel) {
  const std::ptrdiff_t src_bytes = BytesOf(src.scalar, 1);
  const std::ptrdiff_t dst_bytes = BytesOf(dst.scalar, 1);
  const bool streaming = BypassesCaches(walk.lines.count * walk.lines.inner *
                                        (src_bytes + dst_bytes));
  const auto run = [&](const Piece& piece) {
    const char* const from = static_cast<const char*>(src.data) +
                             Offset(walk.src, piece) * src_bytes;
    char* const to = static_cast<char*>(const_cast<void*>(dst.data)) +
                     Offset(walk.dst, piece) * dst_bytes;
    if (walk.src.element == 1 && walk.dst.element == 1) {
      kernel(from, piece, streaming, to);
      return;
    }
    constexpr std::ptrdiff_t kChunk = 256;
    alignas(64) char src_copy[kChunk * 4];
    alignas(64) char dst_copy[kChunk * 4];
    for (std::ptrdiff_t i = 0; i < piece.count; i += kChunk) {
      const std::ptrdiff_t n = std::min(kChunk, piece.count - i);
      CopyStrided(from + i * walk.src.element * src_bytes, walk.src.element, n,
                  src_bytes, src_copy, 1);
      kernel(src_copy, Piece{piece.line, piece.begin + i, n},
             /*streaming=*/false, dst_copy);
      CopyStrided(dst_copy, 1, n, dst_bytes,
                  to + i * walk.dst.element * dst_bytes, walk.dst.element);
    }
  };
  return ForEachPiece(walk.lines, src_bytes + dst_bytes, context, run);
}

absl::Status Convert(const Erased& src, const Erased& dst,
                     absl::Span<const QuantParams> params,
                     ChannelDimension channels, Context* context,
                     ConvertFunction* kernel) {
  const bool is_one = params.size() == 1;
  const PairWalk walk = is_one ? WalkAlongDst(src.layout, dst.layout)
                               : WalkChannels(src.layout, dst.layout, channels);
  return RunAlong(
      walk, src, dst, context,
      [&](const char* from, const Piece& piece, bool streaming, char* to) {
        kernel(from, static_cast<std::size_t>(piece.count),
               params[is_one ? 0 : static_cast<std::size_t>(piece.line)],
               streaming, to);
      });
}

absl::StatusOr<std::vector<QuantParams>> ChooseForChannels(
    const Matrix<float>& x, ChannelDimension channels, int bits,
    ScaleRounding rounding) {
  const Layout& layout = x.layout();
  const bool by_row = channels == ChannelDimension::kRow;
  const std::ptrdiff_t count = ChannelsOf(layout, channels);
  std::ptrdiff_t bytes;
  if (!CheckedMul<std::ptrdiff_t>(count, sizeof(QuantParams), &bytes)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for parameters of ", count, " channels"));
  }
  std::vector<float> absmax(static_cast<std::size_t>(count));
  bool finite = true;
  ForEachElement(layout, [&](std::ptrdiff_t row, std::ptrdiff_t col) {
    const float magnitude = std::abs(Element(x, row, col));
    finite &= std::isfinite(magnitude);
    float* const largest = &absmax[by_row ? row : col];
    *largest = std::max(*largest, magnitude);
  });
  if (!finite) return Invalid("x has elements that are not finite");
  std::vector<QuantParams> params;
  params.reserve(absmax.size());
  for (float largest : absmax) {
    RUY_LIKE_ASSIGN_OR_RETURN(const auto chosen,
                              ChooseSymmetric(largest, bits, rounding));
    params.push_back(chosen);
  }
  return params;
}

}  // namespace

bool SameZeroPoints(absl::Span<const QuantParams> params) {
  return !params.empty() &&
         std::all_of(params.begin(), params.end(),
                     [&](const QuantParams& other) {
                       return other.zero_point == params[0].zero_point;
                     });
}

absl::Status Quantize(const Erased& x, absl::Span<const QuantParams> params,
                      ChannelDimension channels, const Erased& q,
                      Context* context, Rounding rounding) {
  return CatchNoMemory([&]() -> absl::Status {
    RUY_LIKE_RETURN_IF_ERROR(CheckPair("x", x, "q", q));
    RUY_LIKE_RETURN_IF_ERROR(
        CheckEnum("rounding", rounding, Rounding::kHalfToEven));
    RUY_LIKE_RETURN_IF_ERROR(ValidateParams(params, channels, q));
    for (const QuantParams& p : params) {
      RUY_LIKE_RETURN_IF_ERROR(CheckInverse("params", p.scale));
    }
    return Convert(x, q, params, channels, context,
                   ElementKernelsFor(TargetsFor(context))
                       .quantize[static_cast<int>(rounding)][q.scalar]);
  });
}

absl::Status Dequantize(const Erased& q, absl::Span<const QuantParams> params,
                        ChannelDimension channels, const Erased& x,
                        Context* context) {
  return CatchNoMemory([&]() -> absl::Status {
    RUY_LIKE_RETURN_IF_ERROR(CheckPair("q", q, "x", x, /*in_place=*/true));
    RUY_LIKE_RETURN_IF_ERROR(ValidateParams(params, channels, q));
    return Convert(q, x, params, channels, context,
                   ElementKernelsFor(TargetsFor(context)).dequantize[q.scalar]);
  });
}

}  // namespace quantize_internal

absl::StatusOr<std::vector<QuantParams>> ChooseSymmetricChannels(
    const Matrix<float>& x, ChannelDimension channels, int bits,
    ScaleRounding rounding) {
  return CatchNoMemory([&]() -> absl::StatusOr<std::vector<QuantParams>> {
    namespace qi = quantize_internal;
    RUY_LIKE_RETURN_IF_ERROR(qi::CheckOperand("x", x));
    RUY_LIKE_RETURN_IF_ERROR(qi::CheckDimension(channels));
    // Bits and rounding, also where there are no channels.
    RUY_LIKE_RETURN_IF_ERROR(ChooseSymmetric(0, bits, rounding).status());
    return qi::ChooseForChannels(x, channels, bits, rounding);
  });
}

absl::Status DequantizeAcc(const Matrix<std::int32_t>& acc,
                           absl::Span<const float> scale,
                           absl::Span<const float> bias,
                           ChannelDimension channels, Matrix<float>* x,
                           Context* context) {
  return CatchNoMemory([&]() -> absl::Status {
    namespace qi = quantize_internal;
    const qi::Erased src = acc;
    const qi::Erased dst = x;
    RUY_LIKE_RETURN_IF_ERROR(
        qi::CheckPair("acc", src, "x", dst, /*in_place=*/true));
    RUY_LIKE_RETURN_IF_ERROR(
        qi::ValidateOperand("scales", scale, channels, dst));
    if (!bias.empty()) {
      RUY_LIKE_RETURN_IF_ERROR(
          qi::ValidateOperand("biases", bias, channels, dst));
    }
    RUY_LIKE_RETURN_IF_ERROR(qi::ValidateScales(scale));
    const bool by_channel = scale.size() > 1 || bias.size() > 1;
    const bool channels_are_lines = (channels == ChannelDimension::kRow) ==
                                    (dst.layout.order() == Order::kRowMajor);
    // Along dst's lines in any case; those are channels or run across them.
    qi::PairWalk walk = qi::WalkAlongDst(src.layout, dst.layout);
    if (by_channel && walk.lines.count == 1) {
      walk = qi::WalkChannels(src.layout, dst.layout,
                              dst.layout.order() == Order::kRowMajor
                                  ? ChannelDimension::kRow
                                  : ChannelDimension::kCol);
    }
    // The values for elements from `begin` of a line on. No bias is -0, which
    // leaves every number as it is, 0 and -0 too.
    const auto operand = [&](absl::Span<const float> values,
                             std::ptrdiff_t line,
                             std::ptrdiff_t begin) -> qi::PerElement {
      if (values.empty()) return {nullptr, -0.0f};
      if (values.size() == 1) return {nullptr, values[0]};
      if (channels_are_lines) return {nullptr, values[line]};
      return {values.data() + begin, 0};
    };
    const qi::ElementKernels& kernels =
        qi::ElementKernelsFor(qi::TargetsFor(context));
    return qi::RunAlong(walk, src, dst, context,
                        [&](const char* from, const qi::Piece& piece,
                            bool streaming, char* to) {
                          kernels.dequantize_acc(
                              reinterpret_cast<const std::int32_t*>(from),
                              piece.count,
                              operand(scale, piece.line, piece.begin),
                              operand(bias, piece.line, piece.begin), streaming,
                              reinterpret_cast<float*>(to));
                        });
  });
}

}  // namespace ruy_like
