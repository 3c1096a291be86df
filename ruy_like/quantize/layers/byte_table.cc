#include "ruy_like/quantize/byte_table.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "ruy_like/base/no_memory.h"
#include "ruy_like/quantize/checks/checks.h"
#include "ruy_like/quantize/layers/scratch.h"
#include "ruy_like/quantize/loops/rounding.h"
#include "ruy_like/quantize/multiplier.h"

namespace ruy_like {
namespace {

namespace qi = quantize_internal;

// The element of this type that a byte is.
std::int32_t ValueOf(std::uint8_t bits, Scalar scalar) {
  return scalar == Scalar::kI8 ? static_cast<std::int8_t>(bits) : bits;
}

}  // namespace

float Sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

float HardSwish(float x) {
  return x * std::min(std::max(x + 3, 0.0f), 6.0f) / 6;
}

float LeakyRelu(float x, float slope) { return x < 0 ? slope * x : x; }

absl::StatusOr<ByteTable> ByteTable::MakeErased(Scalar in,
                                                const QuantParams& input,
                                                Scalar out,
                                                const QuantParams& output,
                                                const float* results) {
  return CatchNoMemory([&]() -> absl::StatusOr<ByteTable> {
    RUY_LIKE_RETURN_IF_ERROR(qi::CheckParams("input", in, input));
    RUY_LIKE_RETURN_IF_ERROR(qi::CheckParams("output", out, output));
    if (results != nullptr) {
      RUY_LIKE_RETURN_IF_ERROR(qi::CheckInverse("output", output.scale));
    }
    RUY_LIKE_ASSIGN_OR_RETURN(
        const auto multiplier,
        QuantizeMultiplier(static_cast<double>(input.scale) /
                           static_cast<double>(output.scale)));
    ByteTable table;
    table.in_ = in;
    table.out_ = out;
    table.input_ = input;
    table.output_ = output;
    for (int bits = 0; bits < 256; ++bits) {
      const auto byte = static_cast<std::uint8_t>(bits);
      const std::int64_t value =
          results != nullptr
              ? qi::QuantizeOne(results[bits], qi::InverseScale(output), output)
              : std::int64_t{MultiplyByQuantizedMultiplierLegacy(
                    ValueOf(byte, in) - input.zero_point, multiplier)} +
                    output.zero_point;
      table.bytes_[byte] = static_cast<std::uint8_t>(
          std::clamp<std::int64_t>(value, output.qmin, output.qmax));
    }
    return table;
  });
}

namespace quantize_internal {
namespace {

absl::Status LookUp(const Erased& input, const ByteTable& table,
                    Context* context, const Erased& output) {
  return LookUpAll(table, input.data, ElementCount(input.shape), context,
                   const_cast<void*>(output.data));
}

}  // namespace

absl::Status ApplyTable(const Erased& input, const ByteTable& table,
                        Context* context, const Erased& output) {
  return CatchNoMemory([&]() -> absl::Status {
    RUY_LIKE_RETURN_IF_ERROR(
        CheckTensors(input, output, input.shape, /*in_place=*/true));
    if (input.scalar != table.in() || input.params != table.input() ||
        output.scalar != table.out() || output.params != table.output()) {
      return Invalid("the table was made for other types or parameters");
    }
    return LookUp(input, table, context, output);
  });
}

absl::Status RequantizeTensor(const Erased& input, Context* context,
                              const Erased& output) {
  return CatchNoMemory([&]() -> absl::Status {
    RUY_LIKE_RETURN_IF_ERROR(
        CheckTensors(input, output, input.shape, /*in_place=*/true));
    RUY_LIKE_ASSIGN_OR_RETURN(
        const auto table,
        ByteTable::MakeErased(input.scalar, input.params, output.scalar,
                              output.params, /*results=*/nullptr));
    return LookUp(input, table, context, output);
  });
}

}  // namespace quantize_internal
}  // namespace ruy_like
