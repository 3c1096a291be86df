// Public: element types, as values of an enumeration.
//
// Seen by every layer, the back-end included: plain data, no headers but C's.
// The back-end may call the functions in constant expressions only, since at
// run time an inline function could be emitted with an instruction set's flags
// (the test no_weak_symbols watches over that); it reads kScalars and
// kScalarBytes instead.
#ifndef RUY_LIKE_SCALAR_H_
#define RUY_LIKE_SCALAR_H_

#include <stddef.h>
#include <stdint.h>

namespace ruy_like {

// The one list of element types: what an operand, a packed panel or dst can
// have. Numbers of lines are written into files of packed matrices: append.
//
//   RUY_LIKE_SCALAR(Enum, type, bits, kind, "name", "kernel name")
//     kind         kSigned, kUnsigned or kFloat
//     name         in messages
//     kernel name  in names of kernels and packed layouts
#define RUY_LIKE_SCALARS(RUY_LIKE_SCALAR)                     \
  RUY_LIKE_SCALAR(kI8, int8_t, 8, kSigned, "int8", "S8")      \
  RUY_LIKE_SCALAR(kU8, uint8_t, 8, kUnsigned, "uint8", "U8")  \
  RUY_LIKE_SCALAR(kI16, int16_t, 16, kSigned, "int16", "S16") \
  RUY_LIKE_SCALAR(kI32, int32_t, 32, kSigned, "int32", "S32") \
  RUY_LIKE_SCALAR(kF32, float, 32, kFloat, "float", "F32")    \
  RUY_LIKE_SCALAR(kF64, double, 64, kFloat, "double", "F64")

enum class Scalar : uint8_t {
#define RUY_LIKE_SCALAR(Enum, type, bits, kind, name, kernel_name) Enum,
  RUY_LIKE_SCALARS(RUY_LIKE_SCALAR)
#undef RUY_LIKE_SCALAR
};

enum class ScalarKind : uint8_t { kSigned, kUnsigned, kFloat };

struct ScalarInfo {
  int bits;
  ScalarKind kind;
  const char* name;
  const char* kernel_name;
};

// Indexed by Scalar.
constexpr ScalarInfo kScalars[] = {
#define RUY_LIKE_SCALAR(Enum, type, bits, kind, name, kernel_name) \
  {bits, ScalarKind::kind, name, kernel_name},
    RUY_LIKE_SCALARS(RUY_LIKE_SCALAR)
#undef RUY_LIKE_SCALAR
};
constexpr int kNumScalars = sizeof(kScalars) / sizeof(kScalars[0]);

// Bytes of one element, indexed by Scalar.
constexpr ptrdiff_t kScalarBytes[] = {
#define RUY_LIKE_SCALAR(Enum, type, bits, kind, name, kernel_name) bits / 8,
    RUY_LIKE_SCALARS(RUY_LIKE_SCALAR)
#undef RUY_LIKE_SCALAR
};

constexpr const ScalarInfo& InfoOf(Scalar scalar) {
  return kScalars[static_cast<int>(scalar)];
}

constexpr ptrdiff_t ScalarBytes(Scalar scalar) {
  return kScalarBytes[static_cast<int>(scalar)];
}

// "int8", "uint8", "int16", "int32", "float", "double".
constexpr const char* ScalarName(Scalar scalar) { return InfoOf(scalar).name; }

// Sets of types, a bit each: tests of them are in the way of small products.
constexpr uint32_t kFloatScalars = 0
#define RUY_LIKE_SCALAR(Enum, type, bits, kind, name, kernel_name) \
  | (uint32_t{ScalarKind::kind == ScalarKind::kFloat}              \
     << static_cast<int>(Scalar::Enum))
    RUY_LIKE_SCALARS(RUY_LIKE_SCALAR)
#undef RUY_LIKE_SCALAR
    ;
constexpr uint32_t k8BitScalars = 0
#define RUY_LIKE_SCALAR(Enum, type, bits, kind, name, kernel_name)   \
  | (uint32_t{(bits) == 8 && ScalarKind::kind != ScalarKind::kFloat} \
     << static_cast<int>(Scalar::Enum))
    RUY_LIKE_SCALARS(RUY_LIKE_SCALAR)
#undef RUY_LIKE_SCALAR
    ;

constexpr bool IsFloat(Scalar scalar) {
  return (kFloatScalars >> static_cast<int>(scalar)) & 1;
}
constexpr bool Is8Bit(Scalar scalar) {
  return (k8BitScalars >> static_cast<int>(scalar)) & 1;
}
// The lowest value of an 8-bit type; the highest is 255 more.
constexpr int LowestOf8Bit(Scalar scalar) {
  return InfoOf(scalar).kind == ScalarKind::kSigned ? -128 : 0;
}
// The lowest int7 value of such an operand (ValueRange); the highest is 126
// more.
constexpr int LowestInt7(Scalar scalar) { return LowestOf8Bit(scalar) + 65; }

// Integer operands may have zero points, which the other side's sums correct
// for.
constexpr bool HasSums(Scalar scalar) { return !IsFloat(scalar); }

// The values that an 8-bit operand holds: any, or those of int7, which is
// [-63, 63] for an int8 operand and [65, 191] for a uint8 one. Symmetric, so
// that two products of any 8-bit value by an int7 one, or eight of int7 by
// int7, add up in 16 bits: 2 * 255 * 63 = 32130, 8 * 63 * 63 = 31752.
enum class ValueRange : uint8_t { kFull, kInt7 };

// What int8's 0 becomes in panels of 8-bit elements; uint8's 128 becomes the
// same. In uint8 panels of int7 values the elements lie in [1, 127].
constexpr int PackedZero(Scalar packed, ValueRange range) {
  return packed != Scalar::kU8 ? 0 : (range == ValueRange::kInt7 ? 64 : 128);
}

// What a kernel multiplies, lhs by rhs; the registry looks kernels up by it.
// 8-bit means int8 or uint8, told apart by a flip of the top bit in the pack
// routine, 16-bit int16; integers have int32 accumulators. kF64 is for all
// mixes of float and double, with double accumulators. Numbers of lines are
// written into files of packed matrices: append.
//
//   RUY_LIKE_FAMILY(Enum, "name")
#define RUY_LIKE_FAMILIES(RUY_LIKE_FAMILY) \
  RUY_LIKE_FAMILY(k8x8, "8x8")             \
  RUY_LIKE_FAMILY(k8x16, "8x16")           \
  RUY_LIKE_FAMILY(k16x8, "16x8")           \
  RUY_LIKE_FAMILY(kF32, "f32")             \
  RUY_LIKE_FAMILY(kF64, "f64")

enum class Family : uint8_t {
#define RUY_LIKE_FAMILY(Enum, name) Enum,
  RUY_LIKE_FAMILIES(RUY_LIKE_FAMILY)
#undef RUY_LIKE_FAMILY
};

// Indexed by Family.
constexpr const char* kFamilyNames[] = {
#define RUY_LIKE_FAMILY(Enum, name) name,
    RUY_LIKE_FAMILIES(RUY_LIKE_FAMILY)
#undef RUY_LIKE_FAMILY
};
constexpr int kNumFamilies = sizeof(kFamilyNames) / sizeof(kFamilyNames[0]);

// The family of a product of supported types; operands may be given in either
// order, which then is that of the family's sides.
constexpr Family FamilyOf(Scalar lhs, Scalar rhs, Scalar accum, Scalar dst) {
  if (IsFloat(lhs)) {
    return lhs == Scalar::kF32 && rhs == Scalar::kF32 &&
                   accum == Scalar::kF32 && dst == Scalar::kF32
               ? Family::kF32
               : Family::kF64;
  }
  if (lhs == Scalar::kI16) return Family::k16x8;
  if (rhs == Scalar::kI16) return Family::k8x16;
  return Family::k8x8;
}

// The same family with its sides swapped.
constexpr Family SwappedFamily(Family family) {
  if (family == Family::k8x16) return Family::k16x8;
  if (family == Family::k16x8) return Family::k8x16;
  return family;
}

// Bytes of one accumulator.
constexpr int AccumBytes(Family family) {
  return family == Family::kF64 ? 8 : 4;
}

}  // namespace ruy_like

#endif  // RUY_LIKE_SCALAR_H_
