// Tested in test/quantize/layers/layer_test.cc.
#include "ruy_like/quantize/layers/layer_data.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "ruy_like/base/no_memory.h"
#include "ruy_like/mul.h"
#include "ruy_like/packed_matrix.h"
#include "ruy_like/quantize/checks/checks.h"
#include "ruy_like/quantize/multiplier.h"

namespace ruy_like {
namespace quantize_internal {
namespace {

absl::Status CheckBias(const Erased& bias, std::ptrdiff_t channels,
                       std::int64_t largest_sum) {
  RUY_LIKE_RETURN_IF_ERROR(CheckOperand("bias", bias));
  const std::ptrdiff_t count = bias.layout.cols();
  if (count != 0) {
    RUY_LIKE_RETURN_IF_ERROR(
        CheckBiasCount(static_cast<std::size_t>(count), "weights", channels));
  }
  if (bias.scalar != Scalar::kI32) return absl::OkStatus();
  const auto* const values = static_cast<const std::int32_t*>(bias.data);
  // First without a branch per channel: this is done in each call.
  std::int32_t lowest = 0, highest = 0;
  for (std::ptrdiff_t c = 0; c < count; ++c) {
    lowest = std::min(lowest, values[c]);
    highest = std::max(highest, values[c]);
  }
  if (std::max(-std::int64_t{lowest}, std::int64_t{highest}) + largest_sum <=
      std::numeric_limits<std::int32_t>::max()) {
    return absl::OkStatus();
  }
  for (std::ptrdiff_t c = 0; c < count; ++c) {
    if (std::abs(std::int64_t{values[c]}) + largest_sum <=
        std::numeric_limits<std::int32_t>::max()) {
      continue;
    }
    return Invalid("bias ", values[c], " of channel ", c, " and sums up to ",
                   largest_sum, " may overflow int32");
  }
  return absl::OkStatus();
}

// The operand of a call, which has its type and zero point already.
void SetOperand(const Layer::Operand& operand, ErasedMatrix* matrix) {
  matrix->data = operand.data;
  matrix->layout.set_rows(operand.rows);
  matrix->layout.set_cols(operand.cols);
  matrix->layout.set_order(operand.order);
  matrix->layout.set_stride(operand.stride);
}

// The elements from `offset` on of an array that may be null.
template <typename T>
void Advance(std::ptrdiff_t offset, const T** array) {
  if (*array != nullptr) *array += offset;
}

// A QuantizedLayer's, with its own weights and arrays.
struct OwningLayer final : Layer {
  PackedWeights owned_packed;
  DepthwiseWeights owned_depthwise;
  std::optional<ByteTable> owned_lookup;
  Workspace memory;
};

}  // namespace

Layer::Layer(const Erased& input_tensor, const LayerSource& source,
             const Erased& output_tensor)
    : packed(source.packed),
      depthwise(source.depthwise),
      in(input_tensor.scalar),
      out(output_tensor.scalar),
      input(input_tensor.params),
      output(output_tensor.params) {}

std::ptrdiff_t Layer::Channels() const {
  return packed != nullptr ? packed->channels() : depthwise->channels();
}

absl::Span<const QuantParams> Layer::WeightParams() const {
  return packed != nullptr ? packed->params() : depthwise->params();
}

absl::Status Layer::Check(const Erased& given_bias) const {
  if (Channels() == 0) return Invalid("weights are empty");
  if (packed != nullptr && packed->for_int16() != (in == Scalar::kI16)) {
    return Invalid("the input is ", ScalarName(in), ", weights are packed for ",
                   packed->for_int16() ? "int16" : "8 bits");
  }
  RUY_LIKE_ASSIGN_OR_RETURN(
      const auto largest, LargestSum(packed != nullptr ? packed->magnitude()
                                                       : depthwise->magnitude(),
                                     in, input));
  return CheckBias(given_bias, Channels(), largest);
}

void Layer::Place(Carver* carver) {
  const std::ptrdiff_t padded =
      Channels() + static_cast<std::ptrdiff_t>(kChannelSlack);
  const bool is_float = out == Scalar::kF32;
  if (HasTable() || (is_made_once && !is_float)) {
    int_bias = carver->Take<std::int32_t>(padded);
  }
  if (is_float && (HasTable() || is_made_once)) {
    float_bias = carver->Take<float>(padded);
  }
  if (!IsActivation(out)) return;
  const auto multipliers = static_cast<std::ptrdiff_t>(WeightParams().size());
  if (rounding == MultiplierRounding::kFloat) {
    scales = carver->Take<float>(multipliers);
  } else {
    fixedpoint = carver->Take<std::int32_t>(multipliers);
    exponent = carver->Take<int>(multipliers);
  }
  if (!HasTable()) return;
  const auto channels = static_cast<std::size_t>(Channels());
  std::int32_t* const memory = carver->Take<std::int32_t>(
      static_cast<std::ptrdiff_t>(RequantizeTable::Elements(channels)));
  if (memory == nullptr) return;
  std::fill_n(memory, RequantizeTable::Elements(channels), 0);
  table = {memory, channels + kChannelSlack};
}

absl::Status Layer::Fill(const Erased& given_bias) {
  const auto channels = static_cast<std::size_t>(Channels());
  if (int_bias != nullptr) std::fill_n(int_bias, channels + kChannelSlack, 0);
  if (float_bias != nullptr) {
    std::fill_n(float_bias, channels + kChannelSlack, 0.0f);
  }
  if (given_bias.layout.cols() != 0) {
    void* const copy = float_bias != nullptr ? static_cast<void*>(float_bias)
                                             : static_cast<void*>(int_bias);
    if (copy != nullptr) {
      std::memcpy(copy, given_bias.data, BytesOf(given_bias).size());
    }
    bias = copy != nullptr ? copy : given_bias.data;
  }
  if (IsActivation(out)) {
    RUY_LIKE_RETURN_IF_ERROR(scales != nullptr ? FillScales()
                                               : FillMultipliers());
  }
  if (packed != nullptr) DescribeProduct();
  return absl::OkStatus();
}

absl::Status Layer::FillMultipliers() {
  const absl::Span<const QuantParams> weights = WeightParams();
  RUY_LIKE_RETURN_IF_ERROR(
      ProductMultipliers(weights, input, output, LowestOf(out), HighestOf(out),
                         absl::MakeSpan(fixedpoint, weights.size()),
                         absl::MakeSpan(exponent, weights.size())));
  for (std::size_t i = 0; in == Scalar::kI16 && i < weights.size(); ++i) {
    fixedpoint[i] = RoundTo15Bits({fixedpoint[i], exponent[i]}).fixedpoint;
  }
  if (!HasTable()) return absl::OkStatus();
  const auto channels = static_cast<std::size_t>(Channels());
  for (std::size_t c = 0; c < channels; ++c) {
    const std::size_t i = weights.size() == 1 ? 0 : c;
    table.Set(c, {fixedpoint[i], exponent[i]});
  }
  return absl::OkStatus();
}

absl::Status Layer::FillScales() {
  const absl::Span<const QuantParams> weights = WeightParams();
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const float product = input.scale * weights[i].scale;
    scales[i] = product / output.scale;
    if (!std::isfinite(scales[i])) {
      return Invalid("the scale of channel ", i, ", ", input.scale, " * ",
                     weights[i].scale, " / ", output.scale, ", is infinite");
    }
  }
  if (!HasTable()) return absl::OkStatus();
  for (std::ptrdiff_t c = 0; c < Channels(); ++c) {
    table.SetScale(static_cast<std::size_t>(c),
                   scales[weights.size() == 1 ? 0 : c]);
  }
  return absl::OkStatus();
}

absl::Status Layer::CheckTensorsFit(const Erased& input_tensor,
                                    const Erased& output_tensor) const {
  const bool input_fits = InputFits(input_tensor);
  if (input_fits && OutputFits(output_tensor)) return absl::OkStatus();
  return Invalid(
      "the layer was made for another type or other parameters of its ",
      input_fits ? "output" : "input");
}

void Layer::DescribeProduct() {
  const bool per_channel = packed->params().size() > 1;
  internal::Erase(packed->packed(0), &product_.lhs);
  product_.rhs.scalar = in;
  product_.rhs.zero_point = input.zero_point;
  if (in == Scalar::kI8) product_.rhs.value_range = RangeOfInt8(input);
  product_.dst.scalar = out;
  product_.float_sums = FloatSums::kOfContext;
  product_.family = FamilyOf(Scalar::kI8, in, Scalar::kI32, out);
  product_.accum_scalar = Scalar::kI32;
  product_.bias = bias;
  if (out == Scalar::kF32) {
    product_.lhs_scale = packed->scales()[0];
    if (per_channel) product_.lhs_scale_perrow = packed->scales();
    product_.rhs_scale = input.scale;
    product_.clamp_max = std::numeric_limits<double>::infinity();
    product_.clamp_min = -product_.clamp_max;
  } else if (out == Scalar::kI32) {
    product_.clamp_min = LowestOf(out);
    product_.clamp_max = HighestOf(out);
  } else {
    product_.quantized = true;
    product_.rounding = rounding;
    if (scales != nullptr) {
      product_.lhs_scale = scales[0];
      product_.rhs_scale = 1;
      if (per_channel) product_.lhs_scale_perrow = scales;
    } else {
      product_.fixedpoint = fixedpoint[0];
      product_.exponent = exponent[0];
      if (per_channel) {
        product_.fixedpoint_perchannel = fixedpoint;
        product_.exponent_perchannel = exponent;
      }
      product_.max_exponent = static_cast<std::int8_t>(
          *std::max_element(exponent, exponent + packed->params().size()));
    }
    product_.clamp_min = output.qmin;
    product_.clamp_max = output.qmax;
    product_.dst.zero_point = output.zero_point;
    if (lookup != nullptr) {
      post_ops_.table = lookup->bytes();
      product_.post_ops = &post_ops_;
    }
  }
}

absl::Status Layer::Multiply(std::ptrdiff_t group, const Operand& rhs,
                             Context* context, const Operand& dst,
                             bool is_valid) const {
  MulCall call = product_;
  call.is_valid = is_valid;
  if (group > 0) {
    const std::ptrdiff_t first =
        group * (packed->channels() / packed->groups());
    internal::Erase(packed->packed(group), &call.lhs);
    // int32 and float have equally many bytes.
    const auto* values = static_cast<const std::int32_t*>(call.bias);
    Advance(first, &values);
    call.bias = values;
    Advance(first, &call.fixedpoint_perchannel);
    Advance(first, &call.exponent_perchannel);
    Advance(first, &call.lhs_scale_perrow);
  }
  SetOperand(rhs, &call.rhs);
  SetOperand(dst, &call.dst);
  return internal::MulErased(call, context);
}

}  // namespace quantize_internal

absl::StatusOr<QuantizedLayer> QuantizedLayer::MakeErased(
    const quantize_internal::LayerSource& source, Scalar in,
    const QuantParams& input, Scalar out, const QuantParams& output,
    MultiplierRounding rounding, const ByteTable* table) {
  return CatchNoMemory([&]() -> absl::StatusOr<QuantizedLayer> {
    namespace qi = quantize_internal;
    auto layer = std::make_shared<qi::OwningLayer>();
    if (source.packed != nullptr) {
      layer->owned_packed = *source.packed;
      layer->packed = &layer->owned_packed;
    } else {
      layer->owned_depthwise = *source.depthwise;
      layer->depthwise = &layer->owned_depthwise;
    }
    layer->in = in;
    layer->input = input;
    layer->out = out;
    layer->output = output;
    layer->rounding = rounding;
    layer->is_made_once = true;
    if (rounding != MultiplierRounding::kOnce &&
        rounding != MultiplierRounding::kFloat) {
      return Invalid("layers have no rounding ", static_cast<int>(rounding),
                     ": kOnce and kFloat alone");
    }
    RUY_LIKE_RETURN_IF_ERROR(qi::CheckActivation("input", in, input));
    if (qi::IsActivation(out))
      RUY_LIKE_RETURN_IF_ERROR(qi::CheckActivation("output", out, output));
    if (table != nullptr) {
      if (table->out() != out || table->output() != output) {
        return Invalid("the table makes ", ScalarName(table->out()),
                       " with scale ", table->output().scale,
                       " and zero point ", table->output().zero_point,
                       ", the layer's output is ", ScalarName(out),
                       " with scale ", output.scale, " and zero point ",
                       output.zero_point, ", or their bounds differ");
      }
      layer->lookup = &layer->owned_lookup.emplace(*table);
      layer->out = table->in();
      layer->output = table->input();
    }
    RUY_LIKE_RETURN_IF_ERROR(layer->Check(source.bias));
    RUY_LIKE_RETURN_IF_ERROR(layer->Prepare(source.bias, &layer->memory,
                                            nullptr, [](qi::Carver*) {}));
    QuantizedLayer result;
    result.layer_ = std::move(layer);
    return result;
  });
}

}  // namespace ruy_like
