#include "ruy_like/quantize/elementwise_mul.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "ruy_like/base/no_memory.h"
#include "ruy_like/quantize/blocks.h"
#include "ruy_like/quantize/dispatch.h"
#include "ruy_like/quantize/layer_kernels.h"
#include "ruy_like/quantize/multiplier.h"
#include "ruy_like/quantize/tensor_checks.h"

namespace ruy_like {
namespace quantize_internal {
namespace {

// Elements of b for so many elements of a; the next ones of a have the next
// ones of b, or the same.
struct Broadcast {
  std::ptrdiff_t line;      // elements of a that see a contiguous part of b
  std::ptrdiff_t b_line;    // 1: one element for the whole line
  std::ptrdiff_t repeated;  // lines in a row that see the same part of b
};

absl::Status ChooseBroadcast(const TensorShape& a, const TensorShape& b,
                             Broadcast* broadcast) {
  const std::ptrdiff_t count = ElementCount(a);
  if (a == b) {
    *broadcast = {count, count, 1};
    return absl::OkStatus();
  }
  if (ElementCount(b) == 1) {
    *broadcast = {count, 1, 1};
    return absl::OkStatus();
  }
  if (a.order == TensorOrder::kNhwc && b.order == TensorOrder::kNhwc &&
      b.height == 1 && b.width == 1 && b.channels == a.channels &&
      (b.batch == 1 || b.batch == a.batch)) {
    const std::ptrdiff_t pixels = a.height * a.width;
    *broadcast = {a.channels, a.channels,
                  b.batch == 1 ? a.batch * pixels : pixels};
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("b is ", DescribeShape(b), ", which does not go with a of ",
                   DescribeShape(a)));
}

// Disjoint, or the same elements.
absl::Status CheckAliasing(const ErasedTensor& input,
                           const ErasedTensor& output) {
  if (input.data == output.data &&
      ElementCount(input.shape) == ElementCount(output.shape)) {
    return absl::OkStatus();
  }
  return CheckDisjoint(input, output);
}

absl::Status CheckOperands(const ErasedTensor& a, const ErasedTensor& b,
                           const ErasedTensor& output) {
  absl::Status status = CheckTensor(a);
  if (status.ok()) status = CheckTensor(b);
  if (status.ok()) status = CheckTensor(output);
  if (!status.ok()) return status;
  if (output.shape != a.shape) {
    return absl::InvalidArgumentError(
        absl::StrCat("output is ", DescribeShape(output.shape), ", a is ",
                     DescribeShape(a.shape)));
  }
  status = CheckAliasing(a, output);
  if (status.ok()) status = CheckAliasing(b, output);
  return status;
}

}  // namespace

template <typename T>
absl::Status QuantizedMulTyped(const TensorView<const T>& a,
                               const TensorView<const T>& b, Context* context,
                               const TensorView<T>& output) {
  return CatchNoMemory([&]() -> absl::Status {
    absl::Status status =
        CheckOperands(EraseTensor("a", a), EraseTensor("b", b),
                      EraseTensor("output", output));
    Broadcast broadcast;
    if (status.ok()) status = ChooseBroadcast(a.shape, b.shape, &broadcast);
    if (!status.ok()) return status;
    const absl::StatusOr<QuantizedMultiplier> multiplier = ProductMultiplier(
        a.params, b.params, output.params, std::numeric_limits<T>::lowest(),
        std::numeric_limits<T>::max());
    if (!multiplier.ok()) return multiplier.status();
    if (ElementCount(a.shape) == 0) return absl::OkStatus();

    std::int32_t constants[RequantizeTable::kArrays * (1 + kChannelSlack)];
    MulArgs args;
    args.a_zero_point = a.params.zero_point;
    args.b_zero_point = b.params.zero_point;
    args.zero_point = output.params.zero_point;
    args.lowest = output.params.qmin;
    args.highest = output.params.qmax;
    args.table = RequantizeTable(constants, 1);
    args.table.Set(0, *multiplier);
    const LayerKernels& kernels =
        LayerKernelsFor(PermittedTargets(PermittedPaths(context)));
    const auto kernel =
        kernels.mul[std::is_same<T, std::int8_t>::value ? kLayerI8 : kLayerU8];
    const Lines lines = {ElementCount(a.shape) / broadcast.line,
                         broadcast.line};
    return ForEachPiece(lines, 3, context, [&](const Piece& piece) {
      const std::ptrdiff_t offset = piece.line * lines.inner + piece.begin;
      if (broadcast.b_line > 1 || broadcast.line == 1) {
        const std::ptrdiff_t b_offset =
            piece.line / broadcast.repeated * broadcast.b_line + piece.begin;
        kernel(a.data + offset, b.data + b_offset,
               static_cast<std::size_t>(piece.count), args,
               output.data + offset);
        return;
      }
      // One element of b for all.
      constexpr std::ptrdiff_t kChunk = 512;
      T same[kChunk];
      std::memset(same, static_cast<unsigned char>(*b.data), kChunk);
      for (std::ptrdiff_t i = 0; i < piece.count; i += kChunk) {
        kernel(a.data + offset + i, same,
               static_cast<std::size_t>(std::min(kChunk, piece.count - i)),
               args, output.data + offset + i);
      }
    });
  });
}

template absl::Status QuantizedMulTyped<std::int8_t>(
    const TensorView<const std::int8_t>&, const TensorView<const std::int8_t>&,
    Context*, const TensorView<std::int8_t>&);
template absl::Status QuantizedMulTyped<std::uint8_t>(
    const TensorView<const std::uint8_t>&,
    const TensorView<const std::uint8_t>&, Context*,
    const TensorView<std::uint8_t>&);

}  // namespace quantize_internal
}  // namespace ruy_like
