// Tested in test/packed/value_range_test.cc.
#include "ruy_like/run/unpack.h"

#include <cstddef>
#include <cstdint>

#include "ruy_like/base/errors.h"
#include "ruy_like/packed/packed_operand.h"
#include "ruy_like/plan/choose_plan.h"
#include "ruy_like/registry/registry.h"
#include "ruy_like/scalar.h"

namespace ruy_like {
namespace {

// Elements of T as packed, converted to those of To.
template <typename T, typename To, typename Convert>
void UnpackElements(const PackedOperand& packed, Convert convert, To* dst) {
  const kernels::PanelFormat& format = packed.layout.format;
  const std::ptrdiff_t swap = SwapsPairs(format) ? 1 : 0;
  const std::ptrdiff_t multiple = packed.layout.format.depth_multiple;
  const std::ptrdiff_t padded_depth =
      (packed.depth + multiple - 1) / multiple * multiple;
  const T* const panels = static_cast<const T*>(packed.data.panels);
  for (std::ptrdiff_t column = 0; column < packed.width; ++column) {
    // panel_format.h has the picture.
    const T* const first = panels +
                           column / format.width * format.width * padded_depth +
                           column % format.width * format.dot_width;
    for (std::ptrdiff_t k = 0; k < packed.depth; ++k) {
      const std::ptrdiff_t dot = k / format.dot_width;
      const std::ptrdiff_t in_dot = k % format.dot_width;
      const T value =
          first[dot * format.width * format.dot_width + (in_dot ^ swap)];
      *dst++ = static_cast<To>(convert(value));
    }
  }
}

void Unpack(const PackedOperand& packed, void* dst) {
  const kernels::PanelFormat& format = packed.layout.format;
  if (AsBFloat16(packed.scalar) == Scalar::kBF16) {
    auto* const bits = static_cast<std::uint16_t*>(dst);
    if (format.scalar == Scalar::kBF16) {
      return UnpackElements<std::uint16_t>(
          packed, [](std::uint16_t element) { return element; }, bits);
    }
    return UnpackElements<std::uint32_t>(
        packed, [](std::uint32_t widened) { return widened >> 16; }, bits);
  }
  const int shift = PackedZero(format.scalar, format.range) -
                    PackedZero(packed.scalar, ValueRange::kFull);
  const auto shifted = [shift](int value) { return value - shift; };
  auto* const bytes = static_cast<std::uint8_t*>(dst);
  if (format.scalar == Scalar::kU8) {
    UnpackElements<std::uint8_t>(packed, shifted, bytes);
  } else if (format.scalar == Scalar::kI8) {
    UnpackElements<std::int8_t>(packed, shifted, bytes);
  } else {
    UnpackElements<std::int16_t>(packed, shifted, bytes);
  }
}

// True if its panels may be for some types or ranges of the other operand alone
// and still hold each element of the matrix.
bool CanBeUnpacked(const Operand& operand) {
  return operand.packed != nullptr &&
         operand.packed->layout.format.code_bits == 0 &&
         (Is8Bit(operand.scalar) ||
          AsBFloat16(operand.scalar) == Scalar::kBF16);
}

bool IsOfPermittedPath(const Operand& operand, Path permitted) {
  return operand.packed == nullptr ||
         HasKernelsOf(permitted, operand.packed->layout.path);
}

}  // namespace

absl::Status UnpackOne(Path permitted, TrMulParams* params,
                       SidePair<AlignedBuffer>* unpacked) {
  const Operand& lhs = params->side.lhs;
  const Operand& rhs = params->side.rhs;
  if (!IsOfPermittedPath(lhs, permitted) ||
      !IsOfPermittedPath(rhs, permitted)) {
    return NoKernelError(*params, permitted);
  }
  const bool is_lhs =
      CanBeUnpacked(lhs) && (!CanBeUnpacked(rhs) || lhs.width < rhs.width);
  const Side side = is_lhs ? Side::kLhs : Side::kRhs;
  Operand& operand = params->side[side];
  if (!CanBeUnpacked(operand)) return NoKernelError(*params, permitted);
  const PackedOperand& packed = *operand.packed;
  AlignedBuffer& buffer = (*unpacked)[side];
  operand.scalar = AsBFloat16(operand.scalar);
  // As an unpacked operand it was of a size that passed the checks.
  if (!AlignedBuffer::Allocate(
          BytesOf(operand.scalar, packed.depth * packed.width), &buffer)) {
    return OutOfMemory("to unpack ", is_lhs ? "lhs" : "rhs",
                       ", which is packed for another type of operand");
  }
  Unpack(packed, buffer.data());
  operand.data = buffer.data();
  operand.depth_contiguous = true;
  operand.stride = operand.depth;
  operand.value_range = packed.layout.format.range;
  operand.packed = nullptr;
  return absl::OkStatus();
}

}  // namespace ruy_like
