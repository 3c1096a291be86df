// Tested in test/packed/value_range_test.cc.
#include "ruy_like/run/unpack.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "ruy_like/packed/packed_operand.h"
#include "ruy_like/plan/choose_plan.h"
#include "ruy_like/registry/registry.h"
#include "ruy_like/scalar.h"

namespace ruy_like {
namespace {

// Elements of T as packed, of 8 bits before and after.
template <typename T>
void UnpackElements(const PackedOperand& packed, std::uint8_t* dst) {
  const kernels::PanelFormat& format = packed.layout.format;
  const int shift = PackedZero(format.scalar, format.range) -
                    PackedZero(packed.scalar, ValueRange::kFull);
  const std::ptrdiff_t multiple = packed.layout.format.depth_multiple;
  const std::ptrdiff_t padded_depth =
      (packed.depth + multiple - 1) / multiple * multiple;
  const T* const panels = static_cast<const T*>(packed.data.panels);
  for (std::ptrdiff_t column = 0; column < packed.width; ++column) {
    // panel_format.h has the picture.
    const T* const first = panels +
                           column / format.width * format.width * padded_depth +
                           column % format.width * format.group;
    for (std::ptrdiff_t level = 0; level < packed.depth; ++level) {
      const std::ptrdiff_t group = level / format.group;
      const T value =
          first[group * format.width * format.group + level % format.group];
      *dst++ = static_cast<std::uint8_t>(value - shift);
    }
  }
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
      lhs.packed != nullptr && (rhs.packed == nullptr || lhs.width < rhs.width);
  const Side side = is_lhs ? Side::kLhs : Side::kRhs;
  Operand& operand = params->side[side];
  if (operand.packed == nullptr || !Is8Bit(operand.scalar)) {
    return NoKernelError(*params, permitted);
  }
  const PackedOperand& packed = *operand.packed;
  AlignedBuffer& buffer = (*unpacked)[side];
  // As an unpacked operand it was of a size that passed the checks.
  if (!AlignedBuffer::Allocate(packed.depth * packed.width, &buffer)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory to unpack ", is_lhs ? "lhs" : "rhs",
                     ", which is packed for an int7 operand"));
  }
  auto* const dst = static_cast<std::uint8_t*>(buffer.data());
  if (InfoOf(packed.layout.format.scalar).bits == 8) {
    if (packed.layout.format.scalar == Scalar::kU8) {
      UnpackElements<std::uint8_t>(packed, dst);
    } else {
      UnpackElements<std::int8_t>(packed, dst);
    }
  } else {
    UnpackElements<std::int16_t>(packed, dst);
  }
  operand.data = dst;
  operand.depth_contiguous = true;
  operand.stride = operand.depth;
  operand.value_range = packed.layout.format.range;
  operand.packed = nullptr;
  return absl::OkStatus();
}

}  // namespace ruy_like
