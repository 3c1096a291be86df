// Tested in test/quantize/layers/pooling_test.cc.
#include "ruy_like/quantize/loops/layer_kernels.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "ruy_like/quantize/loops/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ruy_like/quantize/loops/layer_kernels.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "hwy/highway.h"
#include "ruy_like/quantize/loops/map_lanes-inl.h"
#include "ruy_like/quantize/loops/requantize-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ruy_like::quantize_internal::HWY_NAMESPACE {

// ## Sliding windows

// Calls body(d, channel, n) for blocks of channels that cover [0, channels):
// n is the number of d's lanes, or fewer where there are fewer channels in all.
// Blocks may overlap, so that the last one is a whole one.
template <typename T, std::size_t kSmallLanes, class Body>
HWY_INLINE void ForChannels(std::ptrdiff_t count, const Body& body) {
  const auto channels = static_cast<std::size_t>(count);
  const hn::ScalableTag<T> d;
  const hn::CappedTag<T, kSmallLanes> small;
  const auto all = [&](auto tag) HWY_ATTR {
    const std::size_t lanes = hn::Lanes(tag);
    std::size_t c = 0;
    for (; c + lanes <= channels; c += lanes) body(tag, c, lanes);
    if (c < channels) body(tag, channels - lanes, lanes);
  };
  if (channels >= hn::Lanes(d)) {
    all(d);
  } else if (channels >= hn::Lanes(small)) {
    all(small);
  } else {
    body(small, 0, channels);
  }
}

// Lanes of D from n elements of T, without reading beyond them.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> LoadFew(D d, const T* from, std::size_t n) {
  if (hn::MaxLanes(D()) == 1 || n == hn::Lanes(d)) return hn::LoadU(d, from);
  T few[hn::MaxLanes(D())] = {};
  std::memcpy(few, from, n * sizeof(T));
  return hn::LoadU(d, few);
}
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void StoreFew(hn::Vec<D> v, D d, T* to, std::size_t n) {
  if (hn::MaxLanes(D()) == 1 || n == hn::Lanes(d)) {
    hn::StoreU(v, d, to);
    return;
  }
  T few[hn::MaxLanes(D())];
  hn::StoreU(v, d, few);
  std::memcpy(to, few, n * sizeof(T));
}

// The part of the image under one output element's window.
struct WindowView {
  // Taps inside the image, and the input element of the first of them.
  Inside rows, cols;
  std::ptrdiff_t offset;
  // Where the window begins, on the image or before it.
  std::ptrdiff_t top, left;

  std::ptrdiff_t Count() const {
    return rows.first < rows.end && cols.first < cols.end
               ? (rows.end - rows.first) * (cols.end - cols.first)
               : 0;
  }
};

// Calls body(view, output offset) for the output elements of the rows
// [first, last); offsets are of channel 0.
template <class Body>
HWY_INLINE void ForOutputs(const SlidingArgs& args, std::ptrdiff_t first,
                           std::ptrdiff_t last, const Body& body) {
  const Window& window = args.window;
  const std::ptrdiff_t channels = args.channels;
  for (std::ptrdiff_t row = first; row < last; ++row) {
    const std::ptrdiff_t image = row / args.output_height;
    const std::ptrdiff_t y = row % args.output_height;
    WindowView view;
    view.top = y * window.stride_height - window.padding.top;
    view.rows = PointsInside(view.top, window.dilation_height,
                             window.kernel_height, args.input_height);
    const std::ptrdiff_t input_row = image * args.input_height + view.top +
                                     view.rows.first * window.dilation_height;
    for (std::ptrdiff_t x = 0; x < args.output_width; ++x) {
      view.left = x * window.stride_width - window.padding.left;
      view.cols = PointsInside(view.left, window.dilation_width,
                               window.kernel_width, args.input_width);
      view.offset = (input_row * args.input_width + view.left +
                     view.cols.first * window.dilation_width) *
                    channels;
      body(view, (row * args.output_width + x) * channels);
    }
  }
}

// Calls body(input of the tap, tap) for the taps inside the image.
template <typename T, class Body>
HWY_INLINE void ForTaps(const SlidingArgs& args, const WindowView& view,
                        const Body& body) {
  const Window& window = args.window;
  const std::ptrdiff_t channels = args.channels;
  const std::ptrdiff_t row_step =
      window.dilation_height * args.input_width * channels;
  const std::ptrdiff_t col_step = window.dilation_width * channels;
  const T* const input = reinterpret_cast<const T*>(args.input);
  for (std::ptrdiff_t i = view.rows.first; i < view.rows.end; ++i) {
    std::ptrdiff_t offset = view.offset + (i - view.rows.first) * row_step;
    for (std::ptrdiff_t j = view.cols.first; j < view.cols.end; ++j) {
      body(input + offset, i * window.kernel_width + j);
      offset += col_step;
    }
  }
}

// ## Depthwise convolution

// Accumulators of the channels from c on to n output elements.
template <typename Out, class D>
HWY_INLINE void Finish(D d, hn::Vec<D> acc, const DepthwiseArgs& args,
                       std::size_t c, Out* out, std::size_t n) {
  if constexpr (std::is_same<Out, std::int32_t>::value) {
    StoreFew(acc, d, out, n);
  } else if constexpr (std::is_same<Out, float>::value) {
    const hn::RebindToFloat<D> df;
    const auto scaled = hn::Mul(
        hn::Mul(hn::ConvertTo(df, acc), hn::LoadU(df, args.weight_scale + c)),
        hn::Set(df, args.input_scale));
    StoreFew(hn::Add(scaled, hn::LoadU(df, args.float_bias + c)), df, out, n);
  } else {
    const hn::Rebind<Out, D> db;
    const auto q =
        RequantizeToOutput(d, acc, RequantizeVectors<D>(d, args.table, c),
                           args.table.form, args.bounds);
    StoreFew(hn::DemoteTo(db, q), db, out, n);
  }
}

template <typename In, typename Out>
void Depthwise(const DepthwiseArgs& args, std::ptrdiff_t first,
               std::ptrdiff_t last) {
  ForOutputs(
      args, first, last,
      [&](const WindowView& view, std::ptrdiff_t offset) HWY_ATTR {
        Out* const out = static_cast<Out*>(args.output) + offset;
        const auto block = [&](auto d, std::size_t c, std::size_t n) HWY_ATTR {
          using D = decltype(d);
          const hn::Rebind<In, D> db;
          const auto zero = hn::Set(d, args.input_zero_point);
          auto acc = hn::LoadU(d, args.bias + c);
          ForTaps<In>(
              args, view, [&](const In* in, std::ptrdiff_t tap) HWY_ATTR {
                const auto x =
                    hn::Sub(hn::PromoteTo(d, LoadFew(db, in + c, n)), zero);
                const auto w =
                    hn::LoadU(d, args.weights + tap * args.weight_stride + c);
                acc = hn::Add(acc, hn::Mul(x, w));
              });
          Finish(d, acc, args, c, out + c, n);
        };
        ForChannels<std::int32_t, 4>(args.channels, block);
      });
}

// ## Pooling

template <typename T>
void MaxPool(const PoolArgs& args, std::ptrdiff_t first, std::ptrdiff_t last) {
  ForOutputs(
      args, first, last,
      [&](const WindowView& view, std::ptrdiff_t offset) HWY_ATTR {
        T* const out = static_cast<T*>(args.output) + offset;
        const auto block = [&](auto d, std::size_t c, std::size_t n) HWY_ATTR {
          auto max = hn::Set(d, static_cast<T>(args.bounds.lowest));
          ForTaps<T>(args, view, [&](const T* in, std::ptrdiff_t) HWY_ATTR {
            max = hn::Max(max, LoadFew(d, in + c, n));
          });
          max = hn::Min(max, hn::Set(d, static_cast<T>(args.bounds.highest)));
          StoreFew(max, d, out + c, n);
        };
        ForChannels<T, 16>(args.channels, block);
      });
}

// sum / count, half away from zero, of |sum| + count < 2^31.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V DivideRounded(D d, V sum, std::int32_t count) {
  const hn::RebindToFloat<D> df;
  const V divisor = hn::Set(d, count);
  const V magnitude = hn::Add(hn::Abs(sum), hn::Set(d, count / 2));
  // Within 1 of the quotient, which is at most 255.
  V quotient = hn::ConvertTo(
      d, hn::Div(hn::ConvertTo(df, magnitude), hn::ConvertTo(df, divisor)));
  const V rest = hn::Sub(magnitude, hn::Mul(quotient, divisor));
  const V one = hn::Set(d, 1);
  quotient =
      hn::Sub(quotient, hn::IfThenElseZero(hn::Lt(rest, hn::Zero(d)), one));
  quotient = hn::Add(
      quotient, hn::IfThenElseZero(hn::Gt(rest, hn::Set(d, count - 1)), one));
  return hn::IfThenElse(hn::Lt(sum, hn::Zero(d)), hn::Neg(quotient), quotient);
}

// Taps along one axis that lie on the image or its padding.
inline std::ptrdiff_t TapsOnPadded(std::ptrdiff_t start, std::ptrdiff_t step,
                                   std::ptrdiff_t count, std::ptrdiff_t size,
                                   std::ptrdiff_t before,
                                   std::ptrdiff_t after) {
  const Inside inside =
      PointsInside(start + before, step, count, before + size + after);
  return inside.end - inside.first;
}

template <typename T>
void AveragePool(const PoolArgs& args, std::ptrdiff_t first,
                 std::ptrdiff_t last) {
  const Window& window = args.window;
  const Padding& padding = window.padding;
  ForOutputs(
      args, first, last,
      [&](const WindowView& view, std::ptrdiff_t offset) HWY_ATTR {
        T* const out = static_cast<T*>(args.output) + offset;
        std::ptrdiff_t count = view.Count();
        std::ptrdiff_t padded = 0;
        if (args.include_padding) {
          const std::ptrdiff_t all =
              TapsOnPadded(view.top, window.dilation_height,
                           window.kernel_height, args.input_height, padding.top,
                           padding.bottom) *
              TapsOnPadded(view.left, window.dilation_width,
                           window.kernel_width, args.input_width, padding.left,
                           padding.right);
          padded = all - count;
          count = all;
        }
        // On padding alone there is nothing to average but zero.
        if (count == 0) count = padded = 1;
        const auto of_padding =
            static_cast<std::int32_t>(padded * args.input_zero_point);
        const auto block = [&](auto d, std::size_t c, std::size_t n) HWY_ATTR {
          const hn::Rebind<T, decltype(d)> db;
          auto sum = hn::Set(d, of_padding);
          ForTaps<T>(args, view, [&](const T* in, std::ptrdiff_t) HWY_ATTR {
            sum = hn::Add(sum, hn::PromoteTo(d, LoadFew(db, in + c, n)));
          });
          const auto average =
              DivideRounded(d, sum, static_cast<std::int32_t>(count));
          const auto clamped =
              hn::Min(hn::Max(average, hn::Set(d, args.bounds.lowest)),
                      hn::Set(d, args.bounds.highest));
          StoreFew(hn::DemoteTo(db, clamped), db, out + c, n);
        };
        ForChannels<std::int32_t, 4>(args.channels, block);
      });
}

// ## Transposition of bytes

#if HWY_TARGET != HWY_SCALAR

// A tile of 16 x 16: each of four rounds interleaves row i with row i + 8.
HWY_INLINE void TransposeTile(const std::uint8_t* from, std::ptrdiff_t cols,
                              std::ptrdiff_t rows, std::uint8_t* to) {
  const hn::FixedTag<std::uint8_t, 16> d;
  using V = hn::Vec<decltype(d)>;
  V a[16], b[16];
  for (int i = 0; i < 16; ++i) a[i] = hn::LoadU(d, from + i * cols);
  const auto round = [d](const V(&x)[16], V(&y)[16]) HWY_ATTR {
    for (int i = 0; i < 8; ++i) {
      y[2 * i] = hn::InterleaveLower(d, x[i], x[i + 8]);
      y[2 * i + 1] = hn::InterleaveUpper(d, x[i], x[i + 8]);
    }
  };
  round(a, b);
  round(b, a);
  round(a, b);
  round(b, a);
  for (int i = 0; i < 16; ++i) hn::StoreU(a[i], d, to + i * rows);
}

void Transpose(const std::uint8_t* from, std::ptrdiff_t rows,
               std::ptrdiff_t cols, std::uint8_t* to) {
  constexpr std::ptrdiff_t kTile = 16;
  if (rows < kTile || cols < kTile) {
    return TransposeTiles(from, rows, cols, to);
  }
  // Lines of both are used whole within four tiles by four.
  constexpr std::ptrdiff_t kBlock = 64;
  for (std::ptrdiff_t r0 = 0; r0 < rows; r0 += kBlock) {
    const std::ptrdiff_t r1 = std::min(rows, r0 + kBlock);
    for (std::ptrdiff_t c0 = 0; c0 < cols; c0 += kBlock) {
      const std::ptrdiff_t c1 = std::min(cols, c0 + kBlock);
      // The last tiles reach back.
      for (std::ptrdiff_t c = c0; c < c1; c += kTile) {
        const std::ptrdiff_t col = std::min(c, cols - kTile);
        for (std::ptrdiff_t r = r0; r < r1; r += kTile) {
          const std::ptrdiff_t row = std::min(r, rows - kTile);
          TransposeTile(from + row * cols + col, cols, rows,
                        to + col * rows + row);
        }
      }
    }
  }
}

#else

constexpr TransposeFunction* Transpose = TransposeTiles<std::uint8_t>;

#endif  // HWY_TARGET != HWY_SCALAR

template <typename In>
constexpr ByScalar<DepthwiseFunction> kDepthwiseOf = {
    Depthwise<In, std::int8_t>, Depthwise<In, std::uint8_t>, /*i16=*/nullptr,
    Depthwise<In, std::int32_t>, Depthwise<In, float>};

const LayerKernels* GetLayerKernels() {
  static constexpr LayerKernels kKernels = {
      {kDepthwiseOf<std::int8_t>,
       kDepthwiseOf<std::uint8_t>,
       {nullptr, nullptr, Depthwise<std::int16_t, std::int16_t>,
        Depthwise<std::int16_t, std::int32_t>}},
      {MaxPool<std::int8_t>, MaxPool<std::uint8_t>},
      {AveragePool<std::int8_t>, AveragePool<std::uint8_t>},
      Transpose};
  return &kKernels;
}

}  // namespace ruy_like::quantize_internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ruy_like::quantize_internal {

HWY_EXPORT(GetLayerKernels);

std::ptrdiff_t SlidingCost(const Window& window, std::ptrdiff_t outputs) {
  // More than that is worth a thread for every few rows anyway.
  constexpr double kMost = 64 * 1024;
  const double cost = static_cast<double>(window.kernel_height) *
                      static_cast<double>(window.kernel_width) *
                      static_cast<double>(outputs);
  return static_cast<std::ptrdiff_t>(std::clamp(cost, 1.0, kMost));
}

const LayerKernels& LayerKernelsFor(std::int64_t targets) {
  return *HWY_DISPATCH_TABLE(GetLayerKernels)[TargetIndex(targets)]();
}

}  // namespace ruy_like::quantize_internal
#endif  // HWY_ONCE
