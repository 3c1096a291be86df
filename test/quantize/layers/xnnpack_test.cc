// Layers with MultiplierRounding::kFloat against XNNPACK's operators, bit for
// bit: int8 with weights' scales per channel and per tensor, and uint8 with
// zero points.
#include <gtest/gtest.h>
#include <xnnpack.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <tuple>
#include <type_traits>
#include <vector>

#include "ruy_like/quantize/quantize.h"
#include "test/quantize/expect_conv.h"
#include "test/quantize/reference_conv.h"
#include "test/support/sanitizers.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

struct DeleteOperator {
  void operator()(xnn_operator_t op) const { xnn_delete_operator(op); }
};
using Operator =
    std::unique_ptr<std::remove_pointer_t<xnn_operator_t>, DeleteOperator>;

// XNNPACK's weights of uint8 are ours and 128 more.
template <typename Q>
constexpr int kOffset = std::is_same<Q, std::uint8_t>::value ? 128 : 0;

template <typename Q>
class XnnpackLayer {
 public:
  explicit XnnpackLayer(const ConvProblem<Q, Q>& p) : p_(p), input_(p.input) {
    input_.resize(input_.size() + XNN_EXTRA_BYTES);
    for (const std::int8_t w : p.weights) {
      weights_.push_back(static_cast<Q>(w + kOffset<Q>));
    }
    for (const QuantParams& w : p.weight_params) scales_.push_back(w.scale);
  }

  std::vector<Q> Conv() {
    const Window& w = p_.window;
    const std::size_t in = p_.in_shape.channels, out = p_.out_shape.channels;
    const auto size = [](std::ptrdiff_t value) {
      return static_cast<std::uint32_t>(value);
    };
    const auto geometry = std::make_tuple(
        size(w.padding.top), size(w.padding.right), size(w.padding.bottom),
        size(w.padding.left), size(w.kernel_height), size(w.kernel_width),
        size(w.stride_height), size(w.stride_width), size(w.dilation_height),
        size(w.dilation_width), size(p_.groups), in / p_.groups,
        out / p_.groups, in, out);
    const auto run = [&](auto setup) {
      return setup(op_.get(), p_.in_shape.batch, p_.in_shape.height,
                   p_.in_shape.width, input_.data(), output_.data(), nullptr);
    };
    if constexpr (std::is_same<Q, std::uint8_t>::value) {
      Create(xnn_create_convolution2d_nhwc_qu8, geometry, WeightZeroPoint(),
             scales_[0]);
      return Run([&] { return run(xnn_setup_convolution2d_nhwc_qu8); });
    } else if (scales_.size() > 1) {
      Create(xnn_create_convolution2d_nhwc_qc8, geometry, scales_.data());
      return Run([&] { return run(xnn_setup_convolution2d_nhwc_qc8); });
    } else {
      Create(xnn_create_convolution2d_nhwc_qs8, geometry, scales_[0]);
      return Run([&] { return run(xnn_setup_convolution2d_nhwc_qs8); });
    }
  }

  // Images have one pixel.
  std::vector<Q> FullyConnected() {
    const std::size_t in = p_.in_shape.channels, out = p_.out_shape.channels;
    const auto geometry = std::make_tuple(in, out, in, out);
    const auto run = [&](auto setup) {
      return setup(op_.get(), p_.in_shape.batch, input_.data(), output_.data(),
                   nullptr);
    };
    if constexpr (std::is_same<Q, std::uint8_t>::value) {
      Create(xnn_create_fully_connected_nc_qu8, geometry, WeightZeroPoint(),
             scales_[0]);
      return Run([&] { return run(xnn_setup_fully_connected_nc_qu8); });
    } else {
      Create(xnn_create_fully_connected_nc_qs8, geometry, scales_[0]);
      return Run([&] { return run(xnn_setup_fully_connected_nc_qs8); });
    }
  }

 private:
  Q WeightZeroPoint() const {
    return static_cast<Q>(p_.weight_params[0].zero_point + kOffset<Q>);
  }

  template <typename Function, typename Geometry, typename... Scales>
  void Create(Function* create, const Geometry& geometry, Scales... scales) {
    const auto value = [](std::int32_t q) { return static_cast<Q>(q); };
    const QuantParams &in = p_.in_params, &out = p_.out_params;
    xnn_operator_t op = nullptr;
    std::apply(
        [&](auto... sizes) {
          ASSERT_EQ(xnn_status_success,
                    create(sizes..., value(in.zero_point), in.scale, scales...,
                           weights_.data(),
                           p_.bias.empty() ? nullptr : p_.bias.data(),
                           value(out.zero_point), out.scale, value(out.qmin),
                           value(out.qmax), /*flags=*/0, &op));
        },
        geometry);
    op_.reset(op);
  }

  template <typename Setup>
  std::vector<Q> Run(const Setup& setup) {
    output_.resize(CountOf(p_.out_shape));
    if (op_ == nullptr) return {};
    EXPECT_EQ(xnn_status_success, setup());
    EXPECT_EQ(xnn_status_success, xnn_run_operator(op_.get(), nullptr));
    return output_;
  }

  const ConvProblem<Q, Q>& p_;
  std::vector<Q> input_, weights_, output_;
  std::vector<float> scales_;
  Operator op_;
};

float PowerOf2(float scale) { return std::exp2(std::round(std::log2(scale))); }

class XnnpackTest : public PathTest {
 protected:
  void SetUp() override {
    PathTest::SetUp();
    if (xnn_initialize(nullptr) != xnn_status_success) {
      GTEST_SKIP() << "XNNPACK does not support this processor";
    }
  }

  // The types' weights have one scale and any zero point, or are symmetric.
  template <typename Q>
  static void Draw(Rng* rng, bool per_channel, ConvProblem<Q, Q>* p) {
    p->in_shape.order = TensorOrder::kNhwc;
    p->window.round_up = false;
    FillConvProblem(rng, p);
    p->rounding = MultiplierRounding::kFloat;
    if (!per_channel) p->weight_params.resize(1);
    for (QuantParams& w : p->weight_params) {
      if (std::is_same<Q, std::int8_t>::value) w.zero_point = 0;
    }
    // By powers of 2 a part of the sums are ties.
    if (rng->OneIn(2)) {
      p->in_params.scale = PowerOf2(p->in_params.scale);
      p->out_params.scale = PowerOf2(p->out_params.scale);
      for (QuantParams& w : p->weight_params) w.scale = PowerOf2(w.scale);
    }
    // XNNPACK's bounds differ.
    if (p->out_params.qmin == p->out_params.qmax) --p->out_params.qmin;
  }

  template <typename Q, class Weights, class Operation>
  void ExpectEqual(const ConvProblem<Q, Q>& p, const std::vector<Q>& theirs,
                   const absl::StatusOr<Weights>& weights,
                   const Operation& operation) {
    ASSERT_OK(weights);
    ASSERT_VALUE(const auto layer,
                 (QuantizedLayer::Make<Q, Q>(*weights, p.bias, p.in_params,
                                             p.out_params, p.rounding)));
    std::vector<Q> ours(CountOf(p.out_shape));
    TensorView<Q> output{ours.data(), p.out_shape, p.out_params};
    ASSERT_OK(operation(layer, &output));
    ASSERT_TRUE(ours == theirs) << p.Describe();
  }

  // Groups of some channels, or of one.
  template <typename Q>
  void ConvEquals(std::uint64_t seed, bool is_depthwise) {
    Rng rng(seed);
    ConvProblem<Q, Q> p;
    p.window = RandomWindow(&rng);
    p.groups = is_depthwise ? rng.Between(2, 70) : rng.Between(1, 3);
    p.in_shape = RandomShape(
        p.window, p.groups * (is_depthwise ? 1 : rng.Between(1, 20)), &rng);
    p.out_shape.channels = p.groups * (is_depthwise ? 1 : rng.Between(1, 40));
    Draw(&rng, std::is_same<Q, std::int8_t>::value, &p);
    const std::vector<Q> theirs = XnnpackLayer<Q>(p).Conv();
    ExpectEqual(p, theirs, PackWeights(p, &context_),
                [&](const QuantizedLayer& layer, TensorView<Q>* output) {
                  return Conv2D(p.Input(), layer, p.window, nullptr, &context_,
                                output);
                });
    if (!is_depthwise) return;
    ExpectEqual(p, theirs,
                DepthwiseWeights::Pack(p.WeightMatrix(), p.weight_params),
                [&](const QuantizedLayer& layer, TensorView<Q>* output) {
                  return DepthwiseConv2D(p.Input(), layer, p.window, nullptr,
                                         &context_, output);
                });
  }

  template <typename Q>
  void FullyConnectedEquals(std::uint64_t seed) {
    Rng rng(seed);
    ConvProblem<Q, Q> p;
    p.in_shape = {rng.Between(1, 40), 1, 1, rng.Between(1, 200)};
    p.out_shape.channels = rng.Between(1, 60);
    Draw(&rng, /*per_channel=*/false, &p);
    ExpectEqual(p, XnnpackLayer<Q>(p).FullyConnected(),
                PackWeights(p, &context_),
                [&](const QuantizedLayer& layer, TensorView<Q>* output) {
                  return FullyConnected(p.Input(), layer, &context_, output);
                });
  }
};
RUY_LIKE_INSTANTIATE_PER_PATH(XnnpackTest);

TEST_P(XnnpackTest, GivesItsIntegers) {
  for (std::uint64_t seed = 0; seed < 60 / kThinning; ++seed) {
    SCOPED_TRACE(seed);
    for (const bool is_depthwise : {false, true}) {
      ConvEquals<std::int8_t>(seed, is_depthwise);
      ConvEquals<std::uint8_t>(seed, is_depthwise);
    }
    FullyConnectedEquals<std::int8_t>(seed);
    FullyConnectedEquals<std::uint8_t>(seed);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace ruy_like
