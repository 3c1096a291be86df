#include "ruy_like/quantize/concat.h"

#include <cstring>

#include "ruy_like/base/checked_math.h"
#include "ruy_like/base/no_memory.h"
#include "ruy_like/quantize/byte_table.h"
#include "ruy_like/quantize/checks/checks.h"
#include "ruy_like/quantize/loops/blocks.h"

namespace ruy_like::quantize_internal {
namespace {

// By TensorAxis.
constexpr std::ptrdiff_t TensorShape::*kSizes[] = {
    &TensorShape::batch, &TensorShape::height, &TensorShape::width,
    &TensorShape::channels};

std::ptrdiff_t SizeAlong(TensorAxis axis, const TensorShape& shape) {
  return shape.*kSizes[static_cast<int>(axis)];
}

absl::Status CheckInput(const Erased& input, const Erased& output,
                        TensorAxis axis, std::ptrdiff_t* sum) {
  RUY_LIKE_RETURN_IF_ERROR(CheckOperand("input", input));
  const std::ptrdiff_t size = SizeAlong(axis, input.shape);
  if (!CheckedAdd(*sum, size, sum)) {
    return absl::OutOfRangeError("the sum of the inputs' sizes overflows");
  }
  TensorShape expected = output.shape;
  expected.*kSizes[static_cast<int>(axis)] = size;
  if (input.shape != expected) {
    return Invalid("input is ", Describe(input), ", output is ",
                   Describe(output), ": they differ along other axes");
  }
  return CheckDisjoint({"input", input}, {"output", output});
}

absl::Status Check(const ErasedList& inputs, TensorAxis axis,
                   const Erased& output) {
  RUY_LIKE_RETURN_IF_ERROR(CheckEnum("axis", axis, TensorAxis::kChannels));
  if (inputs.count == 0 || inputs.tensors == nullptr) {
    return Invalid("no inputs");
  }
  RUY_LIKE_RETURN_IF_ERROR(CheckOperand("output", output));
  std::ptrdiff_t sum = 0;
  for (std::size_t i = 0; i < inputs.count; ++i) {
    RUY_LIKE_RETURN_IF_ERROR(
        CheckInput(inputs.erase(inputs.tensors, i), output, axis, &sum));
  }
  if (sum == SizeAlong(axis, output.shape)) return absl::OkStatus();
  return Invalid("inputs of ", sum, " in all along the axis, output is ",
                 Describe(output));
}

// Elements that lie together: from one index along the axis to the next.
std::ptrdiff_t ElementsBelow(TensorAxis axis, const TensorShape& shape) {
  using Axis = TensorAxis;
  constexpr Axis kOuterToInner[][4] = {
      {Axis::kBatch, Axis::kHeight, Axis::kWidth, Axis::kChannels},  // kNhwc
      {Axis::kBatch, Axis::kChannels, Axis::kHeight, Axis::kWidth}};
  const Axis* inner = &kOuterToInner[static_cast<int>(shape.order)][3];
  std::ptrdiff_t elements = 1;
  for (; *inner != axis; --inner) elements *= SizeAlong(*inner, shape);
  return elements;
}

// Every value of `input` may stay as it is.
bool IsCopied(const QuantParams& input, const QuantParams& output) {
  return input.scale == output.scale && input.zero_point == output.zero_point &&
         output.qmin <= input.qmin && output.qmax >= input.qmax;
}

// The runs of an input, and where they go.
struct Strip {
  std::ptrdiff_t runs, run, to_first, to_step;
};

absl::Status Write(const Erased& input, const Strip& strip, Context* context,
                   const Erased& output) {
  const auto* const from = static_cast<const std::uint8_t*>(input.data);
  auto* const to = static_cast<std::uint8_t*>(const_cast<void*>(output.data));
  const bool copied = IsCopied(input.params, output.params);
  RUY_LIKE_ASSIGN_OR_RETURN(
      const auto table,
      ByteTable::MakeErased(input.scalar, input.params, output.scalar,
                            output.params, /*results=*/nullptr));
  return ForEachPiece(
      {strip.runs, strip.run}, 2, context, [&](const Piece& piece) {
        const std::uint8_t* const source =
            from + piece.line * strip.run + piece.begin;
        std::uint8_t* const destination =
            to + strip.to_first + piece.line * strip.to_step + piece.begin;
        if (copied) {
          std::memcpy(destination, source,
                      static_cast<std::size_t>(piece.count));
          return;
        }
        for (std::ptrdiff_t i = 0; i < piece.count; ++i) {
          destination[i] = table[source[i]];
        }
      });
}

}  // namespace

absl::Status Concat(const ErasedList& inputs, TensorAxis axis, Context* context,
                    const Erased& output) {
  return CatchNoMemory([&]() -> absl::Status {
    RUY_LIKE_RETURN_IF_ERROR(Check(inputs, axis, output));
    if (ElementCount(output.shape) == 0) return absl::OkStatus();
    const std::ptrdiff_t below = ElementsBelow(axis, output.shape);
    const std::ptrdiff_t step = SizeAlong(axis, output.shape) * below;
    std::ptrdiff_t first = 0;
    for (std::size_t i = 0; i < inputs.count; ++i) {
      const Erased part = inputs.erase(inputs.tensors, i);
      const std::ptrdiff_t run = SizeAlong(axis, part.shape) * below;
      if (run == 0) continue;
      RUY_LIKE_RETURN_IF_ERROR(
          Write(part, {ElementCount(output.shape) / step, run, first, step},
                context, output));
      first += run;
    }
    return absl::OkStatus();
  });
}

}  // namespace ruy_like::quantize_internal
