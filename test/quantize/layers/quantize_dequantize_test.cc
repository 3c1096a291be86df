#include "ruy_like/quantize/quantize_dequantize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <type_traits>
#include <vector>

#include "ruy_like/base/float_state.h"
#include "ruy_like/float16.h"
#include "ruy_like/quantize/loops/dispatch.h"
#include "ruy_like/quantize/loops/element_kernels.h"
#include "ruy_like/quantize/loops/rounding.h"
#include "test/quantize/reference_conv.h"
#include "test/support/guarded_buffer.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

using quantize_internal::ElementKernels;

// The bits decide: -0 is not 0, and NaN is NaN.
std::uint32_t Bits(float x) { return float16_internal::BitsOfFloat(x); }

// Floats of all magnitudes, ties and their neighbours, and what is no number.
float AnyFloat(Rng* rng) {
  switch (rng->Between(0, 5)) {
    case 0:
      return float16_internal::FloatOfBits(
          static_cast<std::uint32_t>(rng->Next()));
    case 1: {
      const float special[] = {0.0f,  -0.0f,  kNan,        kInf,        -kInf,
                               1e30f, 1e-40f, 0.49999997f, -0.49999997f};
      return special[rng->Between(0, 8)];
    }
    case 2:
      return static_cast<float>(rng->Between(-300, 300)) + 0.5f;
    case 3:
      return std::nextafter(static_cast<float>(rng->Between(-300, 300)) + 0.5f,
                            rng->OneIn(2) ? kInf : -kInf);
    case 4:
      return static_cast<float>(rng->Signed() * 40000);
    default:
      return static_cast<float>(rng->Signed() * 200);
  }
}

// Any range and zero point, often those of most networks.
template <typename Q>
QuantParams SomeParams(Rng* rng) {
  QuantParams params = AnyParams<Q>(rng);
  if (rng->OneIn(3)) params.zero_point = std::is_signed_v<Q> ? 0 : 128;
  const float scales[] = {1, 0.0156862754f, 3.14159f, 1e-7f, 1e-38f, 3e38f};
  params.scale = scales[rng->Between(0, 5)];
  return params;
}

// 0 to 129; and some that are far enough to prefetch, and of several of the
// chunks that are written past the caches.
std::vector<std::size_t> Lengths() {
  std::vector<std::size_t> lengths(130);
  std::iota(lengths.begin(), lengths.end(), std::size_t{0});
  lengths.insert(lengths.end(), {2047, 2048, 2049, 2241, 9001});
  return lengths;
}

class KernelTest : public PathTest {
 protected:
  const ElementKernels& Kernels() const {
    return quantize_internal::ElementKernelsFor(
        quantize_internal::PermittedTargets(GetParam() | Path::kPortable));
  }

  template <typename Q>
  void QuantizeEqualsReference(Rounding rounding) {
    SCOPED_TRACE(InfoOf(internal::ScalarOf<Q>()).name);
    Rng rng(1);
    for (const std::size_t n : Lengths()) {
      for (std::size_t offset : {0, 1, 3}) {
        for (bool streaming : {false, true}) {
          GuardedArray<float> x(n + offset);
          GuardedArray<Q> q(n + offset);
          for (std::size_t i = 0; i < n; ++i) x[offset + i] = AnyFloat(&rng);
          const QuantParams params = SomeParams<Q>(&rng);
          Kernels()
              .quantize[static_cast<int>(rounding)][internal::ScalarOf<Q>()](
                  x.data() + offset, n, params, streaming, q.data() + offset);
          const float inverse = quantize_internal::InverseScale(params);
          for (std::size_t i = 0; i < n; ++i) {
            ASSERT_EQ(q[offset + i],
                      quantize_internal::QuantizeOne(x[offset + i], inverse,
                                                     params, rounding))
                << "x " << x[offset + i] << " scale " << params.scale
                << " zero point " << params.zero_point << " n " << n;
          }
          for (std::size_t i = 0; i < offset; ++i) ASSERT_EQ(q[i], 0);
        }
      }
    }
  }

  template <typename Q>
  void DequantizeEqualsReference() {
    SCOPED_TRACE(InfoOf(internal::ScalarOf<Q>()).name);
    Rng rng(2);
    for (const std::size_t n : Lengths()) {
      for (std::size_t offset : {0, 1, 3}) {
        for (bool streaming : {false, true}) {
          GuardedArray<Q> q(n + offset);
          GuardedArray<float> x(n + offset);
          for (std::size_t i = 0; i < n; ++i) {
            q[offset + i] = static_cast<Q>(rng.Next());
          }
          const QuantParams params = SomeParams<Q>(&rng);
          Kernels().dequantize[internal::ScalarOf<Q>()](
              q.data() + offset, n, params, streaming, x.data() + offset);
          for (std::size_t i = 0; i < n; ++i) {
            ASSERT_EQ(
                Bits(x[offset + i]),
                Bits(quantize_internal::DequantizeOne(q[offset + i], params)))
                << "q " << +q[offset + i] << " scale " << params.scale
                << " zero point " << params.zero_point << " n " << n;
          }
        }
      }
    }
  }
};

TEST_P(KernelTest, QuantizeEqualsReference) {
  for (const Rounding rounding :
       {Rounding::kHalfAwayFromZero, Rounding::kHalfToEven}) {
    QuantizeEqualsReference<std::int8_t>(rounding);
    QuantizeEqualsReference<std::uint8_t>(rounding);
    QuantizeEqualsReference<std::int16_t>(rounding);
    QuantizeEqualsReference<std::int32_t>(rounding);
  }
}
TEST_P(KernelTest, DequantizeEqualsReference) {
  DequantizeEqualsReference<std::int8_t>();
  DequantizeEqualsReference<std::uint8_t>();
  DequantizeEqualsReference<std::int16_t>();
  DequantizeEqualsReference<std::int32_t>();
}

// The rounding of every float that could be a tie, or next to one.
TEST_P(KernelTest, RoundsHalfAwayFromZero) {
  std::vector<float> x;
  for (int i = 0; i < 33000; ++i) {
    const float tie = static_cast<float>(i) + 0.5f;
    for (float sign : {1.0f, -1.0f}) {
      x.push_back(sign * tie);
      x.push_back(sign * std::nextafter(tie, 0.0f));
      x.push_back(sign * std::nextafter(tie, kInf));
    }
  }
  std::vector<std::int16_t> q(x.size());
  const QuantParams params = {1, 0, -32768, 32767};
  Kernels().quantize[0][Scalar::kI16](x.data(), x.size(), params, false,
                                      q.data());
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(q[i], std::clamp(std::round(x[i]), -32768.0f, 32767.0f)) << x[i];
  }
}

TEST_P(KernelTest, DequantizeAccEqualsReference) {
  Rng rng(3);
  for (std::size_t n = 0; n <= 129; ++n) {
    for (int kind = 0; kind < 8; ++kind) {
      GuardedArray<std::int32_t> acc(n);
      GuardedArray<float> scale(n), bias(n), x(n);
      for (std::size_t i = 0; i < n; ++i) {
        acc[i] = static_cast<std::int32_t>(rng.Next()) >> rng.Between(0, 31);
        scale[i] = static_cast<float>(rng.Signed());
        bias[i] = static_cast<float>(rng.Signed() * 1000);
      }
      const bool each_scale = kind & 1;
      const bool each_bias = kind & 2;
      Kernels().dequantize_acc(acc.data(), n,
                               {each_scale ? scale.data() : nullptr, 0.3f},
                               {each_bias ? bias.data() : nullptr, -0.0f},
                               (kind & 4) != 0, x.data());
      for (std::size_t i = 0; i < n; ++i) {
        ASSERT_EQ(Bits(x[i]), Bits(quantize_internal::DequantizeAccOne(
                                  acc[i], each_scale ? scale[i] : 0.3f,
                                  each_bias ? bias[i] : -0.0f)));
      }
    }
  }
}

RUY_LIKE_INSTANTIATE_PER_PATH(KernelTest);

// Every vector width of this machine has its own code, and it was run.
TEST(Dispatch, PathsNarrowTheTarget) {
  const auto target = [](Path paths) {
    return std::string(
        quantize_internal::ElementKernelsFor(
            quantize_internal::PermittedTargets(paths | Path::kPortable))
            .target);
  };
#if defined(__x86_64__) && !defined(__SSSE3__)
  const std::string portable = target(Path::kPortable);
  EXPECT_TRUE(portable == "EMU128" || portable == "SCALAR") << portable;
  const Path detected = DetectedPaths();
  if ((detected & Path::kAvx2) != Path::kNone) {
    EXPECT_EQ(target(Path::kAvx2), "AVX2");
    EXPECT_EQ(target(Path::kAvxVnni), "AVX2");
  }
  if ((detected & Path::kAvx512) != Path::kNone) {
    EXPECT_EQ(target(Path::kAvx512), "AVX3");
    EXPECT_EQ(target(kAllPaths), "AVX3");
  }
#else
  EXPECT_NE(target(Path::kPortable), "");
#endif
}

// ## Goldens

template <typename Q>
std::vector<int> Quantized(std::vector<float> x, const QuantParams& params) {
  std::vector<Q> q(x.size());
  EXPECT_OK(Quantize<Q>(x, params, absl::MakeSpan(q)));
  return std::vector<int>(q.begin(), q.end());
}

TEST(Quantize, GoldenAffine) {
  const QuantParams params = {0.0156862754f, -64, -128, 127};
  EXPECT_EQ(Quantized<std::int8_t>({-1, -0.5f, 0, 0.00784313f, 1, 3, 3.1f, -9,
                                    kInf, -kInf, kNan, 1e30f},
                                   params),
            (std::vector<int>{-128, -96, -64, -64, 0, 127, 127, -128, 127, -128,
                              -64, 127}));
}

TEST(Quantize, GoldenSymmetric) {
  const QuantParams params = {1, 0, -127, 127};
  EXPECT_EQ(Quantized<std::int8_t>({.5f, 1.5f, 2.5f, -.5f, -1.5f, -2.5f, 126.5f,
                                    127.4f, -128, 0.49999997f},
                                   params),
            (std::vector<int>{1, 2, 3, -1, -2, -3, 127, 127, -127, 0}));
}

// By hand: x / 0.5 is k + 1/2 each time.
TEST(Quantize, GoldenTiesToEven) {
  const std::vector<float> x = {0.25f,  0.75f,  1.25f, -0.25f,
                                -0.75f, -1.25f, kNan,  kInf};
  const QuantParams params = {0.5f, 10, -128, 127};
  std::vector<std::int8_t> q(x.size());
  ASSERT_OK(Quantize<std::int8_t>(x, params, absl::MakeSpan(q), nullptr,
                                  Rounding::kHalfToEven));
  EXPECT_EQ(q, (std::vector<std::int8_t>{10, 12, 12, 10, 8, 8, 10, 127}));
  EXPECT_EQ(Quantized<std::int8_t>(x, params),
            (std::vector<int>{11, 12, 13, 9, 8, 7, 10, 127}));
  // The quotient is a tie, whatever float(1 / 6) is.
  const std::vector<float> three = {3};
  q.resize(1);
  ASSERT_OK(Quantize<std::int8_t>(three, {6}, absl::MakeSpan(q), nullptr,
                                  Rounding::kHalfToEven));
  EXPECT_EQ(q[0], 0);
}

// The examples of ONNX's DynamicQuantizeLinear: scale = (max - min) / 255 with
// 0 in the range, zero point = round(-min / scale), y = round(x / scale) + zero
// point, all in floats and halves to even.
TEST(Quantize, GoldenDynamicQuantizeLinear) {
  const struct {
    std::vector<float> x;
    float scale;
    int zero_point;
    std::vector<std::uint8_t> q;
  } cases[] = {
      {{0, 2, -3, -2.5f, 1.34f, 0.5f},
       0.0196078438f,
       153,
       {153, 255, 0, 26, 221, 179}},
      {{-1, -2.1f, -1.3f, -2.5f, -3.34f, -4},
       0.0156862754f,
       255,
       {191, 121, 172, 96, 42, 0}},
      {{1, 2.1f, 1.3f, 2.5f, 3.34f, 4, 1.5f, 2.6f, 3.9f, 4, 3, 2.345f},
       0.0156862754f,
       0,
       {64, 134, 83, 159, 213, 255, 96, 166, 249, 255, 191, 149}},
      // Ties of steps of 1/2: 0.25 is half a step, 0.75 one and a half.
      {{127.5f, 0.25f, 0.75f, 1.25f}, 0.5f, 0, {255, 0, 2, 2}},
      // -min / scale is 127.5 and goes to 128.
      {{-63.75f, 63.75f, 0.25f}, 0.5f, 128, {0, 255, 128}},
      {{0, 0}, 1, 0, {0, 0}},
  };
  for (const auto& c : cases) {
    const auto [low, high] = std::minmax_element(c.x.begin(), c.x.end());
    ASSERT_VALUE(const auto params,
                 ChooseAffine(*low, *high, 0, 255, Rounding::kHalfToEven));
    EXPECT_EQ(params.scale, c.scale);
    EXPECT_EQ(params.zero_point, c.zero_point);
    std::vector<std::uint8_t> q(c.x.size());
    ASSERT_OK(Quantize<std::uint8_t>(c.x, params, absl::MakeSpan(q), nullptr,
                                     Rounding::kHalfToEven));
    EXPECT_EQ(q, c.q);
  }
}

// Accumulators become floats where they lie; the gap of the stride is kept.
TEST(Dequantize, InPlace) {
  for (const Order order : {Order::kRowMajor, Order::kColMajor}) {
    for (const std::ptrdiff_t stride : {37, 40}) {
      Context context;
      std::vector<std::int32_t> memory(37 * 40, -5);
      Matrix<std::int32_t> acc;
      MakeSimpleLayout(37, 37, order, acc.mutable_layout());
      acc.mutable_layout()->set_stride(stride);
      acc.set_data(memory.data());
      for (std::ptrdiff_t i = 0; i < 37; ++i) {
        for (std::ptrdiff_t j = 0; j < 37; ++j) {
          memory[ElementOffset(acc.layout(), i, j)] =
              static_cast<std::int32_t>(i * 1000 - j);
        }
      }
      const std::vector<std::int32_t> before = memory;
      Matrix<float> x;
      *x.mutable_layout() = acc.layout();
      x.set_data(reinterpret_cast<float*>(memory.data()));
      std::vector<float> scale(37);
      std::iota(scale.begin(), scale.end(), 1.0f);
      const std::vector<float> bias = {0.5f};
      const auto expect = [&](auto value_of) {
        for (std::size_t k = 0; k < memory.size(); ++k) {
          const auto line = static_cast<std::ptrdiff_t>(k) / stride;
          const auto inner = static_cast<std::ptrdiff_t>(k) % stride;
          if (line >= 37 || inner >= 37) {
            ASSERT_EQ(memory[k], -5);
            continue;
          }
          const auto row = order == Order::kRowMajor ? line : inner;
          ASSERT_EQ(static_cast<std::uint32_t>(memory[k]),
                    Bits(value_of(before[k], row)));
        }
      };
      ASSERT_OK(DequantizeAcc(acc, scale, bias, ChannelDimension::kRow, &x,
                              &context));
      expect([&](std::int32_t q, std::ptrdiff_t row) {
        return quantize_internal::DequantizeAccOne(q, scale[row], 0.5f);
      });
      memory = before;
      const QuantParams params = {0.25f, 3, -(1 << 30), 1 << 30};
      ASSERT_OK(Dequantize(acc, params, &x, &context));
      expect([&](std::int32_t q, std::ptrdiff_t) {
        return quantize_internal::DequantizeOne(q, params);
      });
      // Not the same place for each element.
      x.mutable_layout()->set_stride(stride == 37 ? 38 : 37);
      EXPECT_CODE(kInvalid, Dequantize(acc, params, &x, &context));
      *x.mutable_layout() = acc.layout();
      x.set_data(reinterpret_cast<float*>(memory.data()) + 1);
      EXPECT_CODE(kInvalid, Dequantize(acc, params, &x, &context));
    }
  }
}

TEST(Quantize, WideTypesSaturateExactly) {
  const QuantParams params = {1, 1000000000, -2147483647 - 1, 2147483647};
  EXPECT_EQ(
      Quantized<std::int32_t>({0, 1, -1, 3e9f, -3e9f, 1.5e9f, kInf, kNan},
                              params),
      (std::vector<int>{1000000000, 1000000001, 999999999, 2147483647,
                        -2000000000, 2147483647, 2147483647, 1000000000}));
}

// ## Properties

TEST(Quantize, ErrorIsAtMostHalfAStep) {
  Rng rng(4);
  for (int repeat = 0; repeat < 200; ++repeat) {
    float lo = static_cast<float>(rng.Signed() * 10);
    float hi = static_cast<float>(rng.Signed() * 10);
    if (lo > hi) std::swap(lo, hi);
    ASSERT_VALUE(const auto params, ChooseAffine(lo, hi, -128, 127));
    const double scale = params.scale;
    std::vector<float> x(200), back(x.size());
    for (float& value : x) {
      // Inside what the parameters represent.
      const double q = params.qmin + std::abs(rng.Signed()) * 255;
      value = static_cast<float>((q - params.zero_point) * scale);
    }
    std::sort(x.begin(), x.end());
    std::vector<std::int8_t> q(x.size()), again(x.size());
    ASSERT_OK(Quantize<std::int8_t>(x, params, absl::MakeSpan(q)));
    ASSERT_OK(Dequantize<std::int8_t>(q, params, absl::MakeSpan(back)));
    ASSERT_OK(Quantize<std::int8_t>(back, params, absl::MakeSpan(again)));
    EXPECT_TRUE(std::is_sorted(q.begin(), q.end()));
    EXPECT_EQ(q, again);  // idempotent on the grid
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_LE(std::abs(static_cast<double>(back[i]) - x[i]),
                scale / 2 * (1 + 0x1p-20) + 255 * scale * 0x1p-24);
    }
    const std::int8_t zero = static_cast<std::int8_t>(params.zero_point);
    float real = 1;
    ASSERT_OK(Dequantize<std::int8_t>(absl::MakeConstSpan(&zero, 1), params,
                                      absl::MakeSpan(&real, 1)));
    EXPECT_EQ(real, 0);
  }
}

// Neither the caller's rounding mode nor flushed denormals change a bit.
TEST(Quantize, TheCallersFloatStateDoesNotMatter) {
  const QuantParams params = {1.2e-38f, 0, -127, 127};
  const std::vector<float> x = {1.1e-38f, -1.1e-38f, 1e-36f, 2.5e-37f, 5e-39f};
  const std::vector<int> expected = Quantized<std::int8_t>(x, params);
  EXPECT_EQ(expected[0], 1);
  const ScopedFloatState suppressed(FloatState::kOnlyFlushDenormals);
  std::fesetround(FE_UPWARD);
  const std::vector<int> actual = Quantized<std::int8_t>(x, params);
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(actual, expected);
}

// ## Matrices

class MatrixTest : public PathTest {};

// All orders, with gaps, per tensor and per channel, against single elements.
TEST_P(MatrixTest, OrdersStridesAndChannels) {
  constexpr std::ptrdiff_t kRows = 37, kCols = 301, kGap = 3;
  const std::vector<float> data = [] {
    Rng rng(5);
    std::vector<float> values((kRows + kGap) * (kCols + kGap));
    for (float& value : values) value = AnyFloat(&rng);
    return values;
  }();
  Rng rng(6);
  std::vector<QuantParams> all_params(kCols);
  for (QuantParams& params : all_params) {
    params = SomeParams<std::uint8_t>(&rng);
  }
  for (Order x_order : {Order::kRowMajor, Order::kColMajor}) {
    for (Order q_order : {Order::kRowMajor, Order::kColMajor}) {
      for (int kind = 0; kind < 3; ++kind) {
        const auto channels =
            kind == 1 ? ChannelDimension::kRow : ChannelDimension::kCol;
        const std::size_t count = kind == 0 ? 1 : kind == 1 ? kRows : kCols;
        const auto params = absl::MakeConstSpan(all_params).subspan(0, count);
        const auto x = MakeMatrix(data.data(), kRows, kCols, x_order, kGap);
        std::vector<std::uint8_t> stored((kRows + kGap) * (kCols + kGap), 77);
        auto q = MakeMatrix(stored.data(), kRows, kCols, q_order, kGap);
        ASSERT_OK(QuantizeChannels(x, params, channels, &q, &context_));
        std::vector<float> real(data.size(), -7);
        auto back = MakeMatrix(real.data(), kRows, kCols, x_order, kGap);
        ASSERT_OK(DequantizeChannels(q, params, channels, &back, &context_));
        for (std::ptrdiff_t row = 0; row < kRows; ++row) {
          for (std::ptrdiff_t col = 0; col < kCols; ++col) {
            const QuantParams& p = params[kind == 0   ? 0
                                          : kind == 1 ? row
                                                      : col];
            const int expected = quantize_internal::QuantizeOne(
                Element(x, row, col), quantize_internal::InverseScale(p), p);
            ASSERT_EQ(Element(q, row, col), expected);
            ASSERT_EQ(Bits(Element(back, row, col)),
                      Bits(quantize_internal::DequantizeOne(expected, p)));
          }
        }
        EXPECT_EQ(std::count(stored.begin(), stored.end(), 77) >= kGap, true);
        const std::ptrdiff_t inner =
            q_order == Order::kRowMajor ? kCols : kRows;
        for (std::ptrdiff_t i = inner; i < inner + kGap; ++i) {
          EXPECT_EQ(stored[i], 77) << "the gap was written";
        }
      }
    }
  }
}

TEST_P(MatrixTest, DequantizeAccBroadcasts) {
  constexpr std::ptrdiff_t kRows = 5, kCols = 19;
  const auto acc_data =
      RandomVector<std::int32_t>(kRows * kCols, -100000, 100000, 7);
  std::vector<float> scale(kCols), bias(kCols);
  Rng rng(8);
  for (float& value : scale) {
    value = static_cast<float>(rng.Signed() + 1.001);
  }
  for (float& value : bias) value = static_cast<float>(rng.Signed() * 100);
  for (Order acc_order : {Order::kRowMajor, Order::kColMajor}) {
    for (Order x_order : {Order::kRowMajor, Order::kColMajor}) {
      for (auto channels : {ChannelDimension::kRow, ChannelDimension::kCol}) {
        const std::size_t c =
            channels == ChannelDimension::kRow ? kRows : kCols;
        for (std::size_t n_scale : {std::size_t{1}, c}) {
          for (std::size_t n_bias : {std::size_t{0}, std::size_t{1}, c}) {
            const auto acc =
                MakeMatrix(acc_data.data(), kRows, kCols, acc_order);
            std::vector<float> x_data(kRows * kCols);
            auto x = MakeMatrix(x_data.data(), kRows, kCols, x_order);
            ASSERT_OK(DequantizeAcc(
                acc, absl::MakeConstSpan(scale).subspan(0, n_scale),
                absl::MakeConstSpan(bias).subspan(0, n_bias), channels, &x,
                &context_));
            for (std::ptrdiff_t row = 0; row < kRows; ++row) {
              for (std::ptrdiff_t col = 0; col < kCols; ++col) {
                const std::size_t i =
                    channels == ChannelDimension::kRow ? row : col;
                float expected = static_cast<float>(Element(acc, row, col)) *
                                 scale[n_scale == 1 ? 0 : i];
                if (n_bias > 0) expected += bias[n_bias == 1 ? 0 : i];
                ASSERT_EQ(Bits(Element(x, row, col)), Bits(expected));
              }
            }
          }
        }
      }
    }
  }
}

// Large enough for several threads, and for stores past the caches.
TEST_P(MatrixTest, LargeTensorsOnThreads) {
  const std::size_t n = (5 << 20) + 13;
  std::vector<float> x(n);
  Rng rng(9);
  for (float& value : x) value = static_cast<float>(rng.Signed() * 3);
  const QuantParams params = {0.0156862754f, -64, -128, 127};
  context_.set_max_num_threads(3);
  std::vector<std::int8_t> q(n);
  ASSERT_OK(Quantize<std::int8_t>(x, params, absl::MakeSpan(q), &context_));
  const float inverse = quantize_internal::InverseScale(params);
  for (std::size_t i = 0; i < n; ++i) {
    ASSERT_EQ(q[i], quantize_internal::QuantizeOne(x[i], inverse, params));
  }
  std::vector<float> back(n);
  ASSERT_OK(
      Dequantize<std::int8_t>(q, params, absl::MakeSpan(back), &context_));
  for (std::size_t i = 0; i < n; ++i) {
    ASSERT_EQ(Bits(back[i]),
              Bits(quantize_internal::DequantizeOne(q[i], params)));
  }
}

RUY_LIKE_INSTANTIATE_PER_PATH(MatrixTest);

TEST(Quantize, SetsTheZeroPointThatAllChannelsShare) {
  const float data[] = {1, 2, 3, 4};
  const auto x = RowMajorOf(data, 2, 2);
  std::int8_t stored[4];
  auto q = RowMajorOf(stored, 2, 2);
  ASSERT_OK(Quantize(x, {1, -3, -128, 127}, &q));
  EXPECT_EQ(q.zero_point(), -3);
  const QuantParams rows[] = {{1, 5, -128, 127}, {2, 5, -128, 127}};
  ASSERT_OK(QuantizeRows(x, rows, &q));
  EXPECT_EQ(q.zero_point(), 5);
  const QuantParams differ[] = {{1, 5, -128, 127}, {2, 6, -128, 127}};
  ASSERT_OK(QuantizeColumns(x, differ, &q));
  EXPECT_EQ(q.zero_point(), 5);
}

TEST(ChooseSymmetricChannels, OptionsAreCheckedWithoutElementsToo) {
  Matrix<float> empty;
  EXPECT_FALSE(ChooseSymmetricChannels(empty, ChannelDimension::kRow, 99).ok());
  EXPECT_CODE(kInvalid,
              ChooseSymmetricChannels(empty, ChannelDimension::kRow, 8,
                                      static_cast<ScaleRounding>(5)));
  EXPECT_OK(ChooseSymmetricChannels(empty, ChannelDimension::kRow, 8));
}

TEST(ChooseSymmetricChannels, LargestMagnitudes) {
  const float data[] = {1, -4, 3, 0, 0, 0};
  const auto x = RowMajorOf(data, 2, 3);
  ASSERT_VALUE(const auto rows,
               ChooseSymmetricChannels(x, ChannelDimension::kRow, 8));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0], *ChooseSymmetric(4, 8));
  EXPECT_EQ(rows[1].scale, 1);
  const auto cols = ChooseSymmetricChannels(x, ChannelDimension::kCol, 7);
  ASSERT_EQ(cols->size(), 3u);
  EXPECT_EQ((*cols)[2], *ChooseSymmetric(3, 7));
  EXPECT_FALSE(ChooseSymmetricChannels(x, ChannelDimension::kCol, 1).ok());
  const float bad[] = {1, kNan};
  EXPECT_CODE(kInvalid, ChooseSymmetricChannels(RowMajorOf(bad, 1, 2),
                                                ChannelDimension::kCol, 8));
}

// ## Bad input

TEST(Quantize, BadInputLeavesTheOutputAlone) {
  const std::vector<float> x = {1, 2, 3};
  std::vector<std::int8_t> q = {9, 9, 9};
  const auto fails = [&](const QuantParams& params, std::size_t n) {
    const absl::Status status =
        Quantize<std::int8_t>(x, params, absl::MakeSpan(q.data(), n));
    EXPECT_EQ(q, (std::vector<std::int8_t>{9, 9, 9}));
    return status.code() == kInvalid;
  };
  EXPECT_TRUE(fails(QuantParams(), 2));
  EXPECT_TRUE(fails({0, 0, -128, 127}, 3));
  EXPECT_TRUE(fails({kNan, 0, -128, 127}, 3));
  EXPECT_TRUE(fails({1, 0, 5, 4}, 3));
  EXPECT_TRUE(fails({1, 0, 0, 255}, 3));
  EXPECT_TRUE(fails({1, 200, -128, 127}, 3));
  EXPECT_CODE(kInvalid,
              Quantize<std::int8_t>(absl::Span<const float>(nullptr, 3),
                                    QuantParams(), absl::MakeSpan(q)));
  EXPECT_CODE(kInvalid, Quantize<std::int8_t>(
                            x, QuantParams(),
                            absl::Span<std::int8_t>(
                                static_cast<std::int8_t*>(nullptr), 3)));
  EXPECT_OK(
      Quantize<std::int8_t>({}, QuantParams(), absl::Span<std::int8_t>()));
}

TEST(Quantize, BadMatrices) {
  float data[12] = {};
  std::int8_t stored[12] = {};
  const auto x = RowMajorOf(data, 3, 4);
  auto q = RowMajorOf(stored, 3, 4);
  const QuantParams params;
  EXPECT_OK(Quantize(x, params, &q));
  EXPECT_FALSE(
      Quantize(x, params, static_cast<Matrix<std::int8_t>*>(nullptr)).ok());
  auto transposed = RowMajorOf(stored, 4, 3);
  EXPECT_FALSE(Quantize(x, params, &transposed).ok());
  auto constant = q;
  constant.set_data(static_cast<const std::int8_t*>(stored));
  EXPECT_FALSE(Quantize(x, params, &constant).ok());
  auto huge = RowMajorOf(data, PTRDIFF_MAX / 2, 4);
  EXPECT_FALSE(Quantize(huge, params, &q).ok());
  auto overlapping = RowMajorOf(reinterpret_cast<std::int8_t*>(data) + 5, 3, 4);
  EXPECT_FALSE(Quantize(x, params, &overlapping).ok());
  const QuantParams two[2] = {};
  EXPECT_FALSE(QuantizeRows(x, two, &q).ok());
  EXPECT_FALSE(QuantizeRows(x, {}, &q).ok());
  Matrix<std::int8_t> empty;
  EXPECT_OK(Quantize(Matrix<float>(), params, &empty));
}

TEST(DequantizeAcc, BadInput) {
  const std::int32_t acc_data[6] = {};
  float x_data[6] = {};
  const auto acc = RowMajorOf(acc_data, 2, 3);
  auto x = RowMajorOf(x_data, 2, 3);
  const std::vector<float> one = {1}, two = {1, 1}, three = {1, 1, 1};
  EXPECT_OK(DequantizeAcc(acc, two, {}, ChannelDimension::kRow, &x));
  EXPECT_FALSE(DequantizeAcc(acc, three, {}, ChannelDimension::kRow, &x).ok());
  EXPECT_FALSE(DequantizeAcc(acc, {}, {}, ChannelDimension::kRow, &x).ok());
  EXPECT_FALSE(DequantizeAcc(acc, one, three, ChannelDimension::kRow, &x).ok());
  EXPECT_OK(DequantizeAcc(acc, one, three, ChannelDimension::kCol, &x));
  EXPECT_FALSE(
      DequantizeAcc(acc, one, {}, ChannelDimension::kRow, nullptr).ok());
}

TEST(DequantizeAcc, ScalesMustBePositiveNumbers) {
  const std::int32_t acc_data[6] = {};
  float x_data[6] = {7, 7, 7, 7, 7, 7};
  const auto acc = RowMajorOf(acc_data, 2, 3);
  auto x = RowMajorOf(x_data, 2, 3);
  for (const float bad : {kNan, kInf, -kInf, 0.0f, -1.0f}) {
    const std::vector<float> scales = {1, bad};
    const absl::Status status =
        DequantizeAcc(acc, scales, {}, ChannelDimension::kRow, &x);
    EXPECT_CODE(kInvalid, status) << bad;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("channel 1: scale is"));
  }
  EXPECT_THAT(x_data, Each(7));
}

TEST(DequantizeAcc, TheDestinationIsNoScaleAndNoBias) {
  const std::int32_t acc_data[6] = {};
  float x_data[8] = {1, 1, 1, 1, 1, 1, 1, 1};
  const auto acc = RowMajorOf(acc_data, 2, 3);
  auto x = RowMajorOf(x_data + 1, 2, 3);
  const std::vector<float> one = {1};
  for (const int offset : {0, 3, 6}) {
    const absl::Span<const float> inside(x_data + offset, 2);
    EXPECT_FALSE(
        DequantizeAcc(acc, inside, {}, ChannelDimension::kRow, &x).ok());
    EXPECT_FALSE(
        DequantizeAcc(acc, one, inside, ChannelDimension::kRow, &x).ok());
  }
  EXPECT_THAT(x_data, Each(1));
}

}  // namespace
}  // namespace ruy_like
