// Tested in test/quantize/layers/elementwise_test.cc.
#include "ruy_like/quantize/layers/element_pairs.h"

#include "absl/strings/str_cat.h"

namespace ruy_like::quantize_internal {
namespace {

absl::Status ChooseBroadcast(const TensorShape& a, const TensorShape& b,
                             Broadcast* broadcast) {
  const std::ptrdiff_t count = ElementCount(a);
  if (a == b) {
    *broadcast = {count, count, 1, count};
    return absl::OkStatus();
  }
  if (ElementCount(b) == 1) {
    *broadcast = {count, 1, 1, 1};
    return absl::OkStatus();
  }
  if (a.order == b.order && b.height == 1 && b.width == 1 &&
      b.channels == a.channels && (b.batch == 1 || b.batch == a.batch)) {
    const std::ptrdiff_t pixels = a.height * a.width;
    const std::ptrdiff_t b_count = b.batch * b.channels;
    if (a.order == TensorOrder::kNhwc) {
      *broadcast = {a.channels, a.channels,
                    b.batch == 1 ? a.batch * pixels : pixels, b_count};
    } else {
      *broadcast = {pixels, 1, 1, b_count};
    }
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "b is ", Describe(b), ", which does not go with a of ", Describe(a)));
}

// Disjoint, or the same elements.
absl::Status CheckAliasing(const char* name, const Erased& input,
                           const Erased& output) {
  if (input.data == output.data &&
      ElementCount(input.shape) == ElementCount(output.shape)) {
    return absl::OkStatus();
  }
  return CheckDisjoint(name, BytesOf(input), "output", BytesOf(output));
}

}  // namespace

absl::Status CheckElementPairs(const Erased& a, const Erased& b,
                               const Erased& output, Broadcast* broadcast) {
  absl::Status status = CheckOperand("a", a);
  if (status.ok()) status = CheckOperand("b", b);
  if (status.ok()) status = CheckOperand("output", output);
  if (!status.ok()) return status;
  if (output.shape != a.shape) {
    return absl::InvalidArgumentError(
        absl::StrCat("output is ", Describe(output), ", a is ", Describe(a)));
  }
  status = CheckAliasing("a", a, output);
  if (status.ok()) status = CheckAliasing("b", b, output);
  return status.ok() ? ChooseBroadcast(a.shape, b.shape, broadcast) : status;
}

}  // namespace ruy_like::quantize_internal
