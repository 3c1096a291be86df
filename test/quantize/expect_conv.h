// Test support: what the tests of layers do for each operation and for each
// pair of element types.
#ifndef RUY_LIKE_TEST_QUANTIZE_EXPECT_CONV_H_
#define RUY_LIKE_TEST_QUANTIZE_EXPECT_CONV_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "absl/status/statusor.h"
#include "ruy_like/quantize/byte_table.h"
#include "ruy_like/quantize/layer.h"
#include "ruy_like/quantize/workspace.h"
#include "test/quantize/reference_conv.h"
#include "test/support/guarded_buffer.h"

namespace ruy_like {

inline QuantParams ParamsOf(float scale, std::int32_t zero_point) {
  return {scale, zero_point};
}

// check(In(), Out(), i) for each pair of inputs of 8 bits and these outputs.
template <class Check, typename... Outs>
void ForEachPair(const Check& check, Outs... outs) {
  int i = 0;
  ((check(std::int8_t{}, outs, i++), check(std::uint8_t{}, outs, i++)), ...);
}

// The same for all pairs of a layer's types, and for those of 8 bits.
template <class Check>
void ForEachLayerType(const Check& check) {
  ForEachPair(check, std::int8_t{}, std::uint8_t{}, std::int32_t{}, float{});
}
template <class Check>
void ForEachByteType(const Check& check) {
  ForEachPair(check, std::int8_t{}, std::uint8_t{});
}

// A hard swish of what p's outputs stand for, in steps of the same size.
template <typename In, typename Out>
absl::StatusOr<ByteTable> HardSwishBehind(const ConvProblem<In, Out>& p) {
  return ByteTable::Make<Out, std::int8_t>(
      p.out_params, QuantParams{p.out_params.scale, -20, -100, 127}, HardSwish);
}

// That a layer that ends in a table, run(layer, &output), gives the bytes of
// ApplyTable after one that does not, whose outputs are `expected`.
template <typename In, typename Out, class Weights, class Run>
void ExpectEndsInTable(const ConvProblem<In, Out>& p, const Weights& weights,
                       const std::vector<Out>& expected, const Run& run) {
  if constexpr (sizeof(Out) == 1) {
    ASSERT_VALUE(const auto table, HardSwishBehind(p));
    ASSERT_VALUE(const auto layer,
                 (QuantizedLayer::Make<In, std::int8_t>(
                     weights, p.bias, p.in_params, table.output(),
                     MultiplierRounding::kOnce, &table)));
    std::vector<std::int8_t> looked_up(expected.size()), out(expected.size());
    TensorView<std::int8_t> output{looked_up.data(), p.out_shape,
                                   table.output()};
    ASSERT_OK(ApplyTable(
        TensorView<const Out>{expected.data(), p.out_shape, p.out_params},
        table, nullptr, &output));
    output.data = out.data();
    ASSERT_OK(run(layer, &output));
    ASSERT_TRUE(out == looked_up) << "with a table, " << p.Describe();
  }
}

template <typename In, typename Out>
absl::StatusOr<PackedWeights> PackWeights(const ConvProblem<In, Out>& p,
                                          Context* context) {
  PackWeightsOptions options;
  options.groups = p.groups;
  options.for_int16 = std::is_same<In, std::int16_t>::value;
  return PackedWeights::Pack(p.WeightMatrix(), p.weight_params, context,
                             options);
}

// That the operation, Conv2D or DepthwiseConv2D, gives the problem's reference,
// from weights and from a layer made of them, and reads and writes nothing
// beyond its tensors.
template <typename In, typename Out, class Weights, class Operation>
void ExpectEqualsReference(const ConvProblem<In, Out>& p,
                           const absl::StatusOr<Weights>& weights,
                           const Operation& operation, Workspace* workspace,
                           Context* context) {
  ASSERT_OK(weights) << p.Describe();
  GuardedBuffer guarded(p.input.size() * sizeof(In), Flush::kEnd);
  std::copy(p.input.begin(), p.input.end(), guarded.as<In>());
  const TensorView<const In> input{guarded.as<In>(), p.in_shape, p.in_params};
  std::vector<Out> out(CountOf(p.out_shape) + 2, Out{99});
  TensorView<Out> output{out.data() + 1, p.out_shape, p.out_params};
  ASSERT_OK(operation(input, *weights, BiasSpan<Out>(p.bias), p.window,
                      workspace, context, &output))
      << p.Describe();
  std::vector<Out> expected = p.Reference();
  expected.insert(expected.begin(), Out{99});
  expected.push_back(Out{99});
  ASSERT_TRUE(out == expected) << p.Describe();

  ExpectEndsInTable(p, *weights, {expected.begin() + 1, expected.end() - 1},
                    [&](const QuantizedLayer& layer, auto* of_table) {
                      return operation(p.Input(), layer, p.window, workspace,
                                       context, of_table);
                    });

  for (const auto rounding :
       {MultiplierRounding::kOnce, MultiplierRounding::kFloat}) {
    ASSERT_VALUE(const auto layer,
                 QuantizedLayer::Make<In, Out>(*weights, p.bias, p.in_params,
                                               p.out_params, rounding));
    std::fill(out.begin(), out.end(), Out{99});
    ASSERT_OK(
        operation(p.Input(), layer, p.window, workspace, context, &output));
    if (rounding == MultiplierRounding::kFloat && sizeof(Out) < 4) {
      ConvProblem<In, Out> in_float = p;
      in_float.rounding = rounding;
      const std::vector<Out> results = in_float.Reference();
      std::copy(results.begin(), results.end(), expected.begin() + 1);
    }
    ASSERT_TRUE(out == expected)
        << "of a layer made once with rounding " << static_cast<int>(rounding)
        << ", " << p.Describe();
  }
}

}  // namespace ruy_like

#endif  // RUY_LIKE_TEST_QUANTIZE_EXPECT_CONV_H_
