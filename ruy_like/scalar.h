// Public: element types, as values of an enumeration, and which of them can be
// multiplied.
//
// Seen by every layer, the back-end included: plain data, no headers but C's.
// The back-end may call the functions in constant expressions only, since at
// run time an inline function could be emitted with an instruction set's flags
// (the test no_weak_symbols watches over that); it reads kScalars,
// kScalarBytes and kFamilies instead.
#ifndef RUY_LIKE_SCALAR_H_
#define RUY_LIKE_SCALAR_H_

#include <stddef.h>
#include <stdint.h>

namespace ruy_like {

struct BFloat16;  // float16.h
struct Float16;
struct Float8E4M3;  // float8.h
struct Float8E5M2;

// The one list of element types: what an operand, a packed panel or dst can
// have. Files of packed matrices store a line's number: append only.
//
//   RUY_LIKE_SCALAR(Enum, type, bits, kind, "name", "kernel name")
//     kind         kSigned, kUnsigned or kFloat
//     name         in messages
//     kernel name  in names of kernels and packed layouts
#define RUY_LIKE_SCALARS(RUY_LIKE_SCALAR)                              \
  RUY_LIKE_SCALAR(kI8, int8_t, 8, kSigned, "int8", "S8")               \
  RUY_LIKE_SCALAR(kU8, uint8_t, 8, kUnsigned, "uint8", "U8")           \
  RUY_LIKE_SCALAR(kI16, int16_t, 16, kSigned, "int16", "S16")          \
  RUY_LIKE_SCALAR(kI32, int32_t, 32, kSigned, "int32", "S32")          \
  RUY_LIKE_SCALAR(kF32, float, 32, kFloat, "float", "F32")             \
  RUY_LIKE_SCALAR(kF64, double, 64, kFloat, "double", "F64")           \
  RUY_LIKE_SCALAR(kBF16, BFloat16, 16, kFloat, "bfloat16", "BF16")     \
  RUY_LIKE_SCALAR(kF16, Float16, 16, kFloat, "float16", "F16")         \
  RUY_LIKE_SCALAR(kE4M3, Float8E4M3, 8, kFloat, "float8_e4m3", "E4M3") \
  RUY_LIKE_SCALAR(kE5M2, Float8E5M2, 8, kFloat, "float8_e5m2", "E5M2")

// The list's 16-bit floats: operands are widened to float in packing or in a
// kernel's registers, results are rounded.
#define RUY_LIKE_FLOAT16S(RUY_LIKE_FLOAT16) \
  RUY_LIKE_FLOAT16(kBF16, BFloat16)         \
  RUY_LIKE_FLOAT16(kF16, Float16)

// Its 8-bit floats, operands alone: widened to bfloat16, which is exact.
#define RUY_LIKE_FLOAT8S(RUY_LIKE_FLOAT8) \
  RUY_LIKE_FLOAT8(kE4M3, Float8E4M3)      \
  RUY_LIKE_FLOAT8(kE5M2, Float8E5M2)

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

constexpr const ScalarInfo& InfoOf(Scalar scalar) {
  return kScalars[static_cast<int>(scalar)];
}

// Bytes of one element, indexed by Scalar; 0 for types of 4 bits (see BytesOf).
constexpr ptrdiff_t kScalarBytes[] = {
#define RUY_LIKE_SCALAR(Enum, type, bits, kind, name, kernel_name) bits / 8,
    RUY_LIKE_SCALARS(RUY_LIKE_SCALAR)
#undef RUY_LIKE_SCALAR
};

// Bytes of `elements` adjacent elements, and so the offset in bytes of the
// element of that number. Two elements of 4 bits share a byte; the last of an
// odd number of them has one for itself.
constexpr ptrdiff_t BytesOf(Scalar scalar, ptrdiff_t elements) {
  const ptrdiff_t bytes = kScalarBytes[static_cast<int>(scalar)];
  return bytes != 0 ? elements * bytes : (elements + 1) / 2;
}
#define RUY_LIKE_SCALAR(Enum, type, bits, kind, name, kernel_name) \
  static_assert((bits) == 4 || (bits) % 8 == 0, "see BytesOf");
RUY_LIKE_SCALARS(RUY_LIKE_SCALAR)
#undef RUY_LIKE_SCALAR

// "int8", "uint8", "int16", "int32", "float", "double", "bfloat16", "float16",
// "float8_e4m3", "float8_e5m2".
constexpr const char* ScalarName(Scalar scalar) { return InfoOf(scalar).name; }

// Sets of types, a bit each.
using ScalarSet = uint32_t;

constexpr bool Contains(ScalarSet set, Scalar scalar) {
  return (set >> static_cast<int>(scalar)) & 1;
}

constexpr ScalarSet kFloatScalars = 0
#define RUY_LIKE_SCALAR(Enum, type, bits, kind, name, kernel_name) \
  | (ScalarSet{ScalarKind::kind == ScalarKind::kFloat}             \
     << static_cast<int>(Scalar::Enum))
    RUY_LIKE_SCALARS(RUY_LIKE_SCALAR)
#undef RUY_LIKE_SCALAR
    ;
constexpr ScalarSet k16BitFloats = 0
#define RUY_LIKE_SCALAR(Enum, type, bits, kind, name, kernel_name)     \
  | (ScalarSet{(bits) == 16 && ScalarKind::kind == ScalarKind::kFloat} \
     << static_cast<int>(Scalar::Enum))
    RUY_LIKE_SCALARS(RUY_LIKE_SCALAR)
#undef RUY_LIKE_SCALAR
    ;
static_assert(k16BitFloats == (0
#define RUY_LIKE_FLOAT16(Enum, type) \
  | (ScalarSet{1} << static_cast<int>(Scalar::Enum))
                               RUY_LIKE_FLOAT16S(RUY_LIKE_FLOAT16)
#undef RUY_LIKE_FLOAT16
                                   ),
              "RUY_LIKE_FLOAT16S lists all 16-bit floats");
constexpr ScalarSet k8BitScalars = 0
#define RUY_LIKE_SCALAR(Enum, type, bits, kind, name, kernel_name)    \
  | (ScalarSet{(bits) == 8 && ScalarKind::kind != ScalarKind::kFloat} \
     << static_cast<int>(Scalar::Enum))
    RUY_LIKE_SCALARS(RUY_LIKE_SCALAR)
#undef RUY_LIKE_SCALAR
    ;

constexpr bool IsFloat(Scalar scalar) {
  return Contains(kFloatScalars, scalar);
}
constexpr bool Is16BitFloat(Scalar scalar) {
  return Contains(k16BitFloats, scalar);
}
// 8 bits, too.
constexpr bool IsNarrowFloat(Scalar scalar) {
  return IsFloat(scalar) && InfoOf(scalar).bits <= 16;
}
// The type that 8-bit floats are widened to; other types are their own.
constexpr Scalar AsBFloat16(Scalar scalar) {
  return IsFloat(scalar) && InfoOf(scalar).bits == 8 ? Scalar::kBF16 : scalar;
}
constexpr bool Is8Bit(Scalar scalar) { return Contains(k8BitScalars, scalar); }
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

// The value of int8's 0 in panels of 8-bit elements, which uint8's 128 has,
// too. In uint8 panels of int7 values the elements lie in [1, 127].
constexpr int PackedZero(Scalar packed, ValueRange range) {
  return packed != Scalar::kU8 ? 0 : (range == ValueRange::kInt7 ? 64 : 128);
}

// The types that a kernel multiplies, lhs by rhs; keys of the registry.
// kGroupScaled has weights with group scales on one side, which kernels read as
// their lhs. 8-bit means int8 or uint8, which pack routines convert into each
// other by flipping the top bit; 16-bit means int16. Files of packed matrices
// store a line's number: append only.
//
//   RUY_LIKE_FAMILY(Enum, swapped, accum, "name")
//     swapped  the family of the transposed product, rhs^T by lhs^T
//     accum    the type of the kernels' accumulators
#define RUY_LIKE_FAMILIES(RUY_LIKE_FAMILY)    \
  RUY_LIKE_FAMILY(k8x8, k8x8, kI32, "8x8")    \
  RUY_LIKE_FAMILY(k8x16, k16x8, kI32, "8x16") \
  RUY_LIKE_FAMILY(k16x8, k8x16, kI32, "16x8") \
  RUY_LIKE_FAMILY(kF32, kF32, kF32, "f32")    \
  RUY_LIKE_FAMILY(kF64, kF64, kF64, "f64")    \
  RUY_LIKE_FAMILY(kGroupScaled, kGroupScaled, kF32, "group_scaled")

enum class Family : uint8_t {
#define RUY_LIKE_FAMILY(Enum, swapped, accum, name) Enum,
  RUY_LIKE_FAMILIES(RUY_LIKE_FAMILY)
#undef RUY_LIKE_FAMILY
};

struct FamilyInfo {
  Family swapped;
  Scalar accum;
  const char* name;
};

// Indexed by Family.
constexpr FamilyInfo kFamilies[] = {
#define RUY_LIKE_FAMILY(Enum, swapped, accum, name) \
  {Family::swapped, Scalar::accum, name},
    RUY_LIKE_FAMILIES(RUY_LIKE_FAMILY)
#undef RUY_LIKE_FAMILY
};

constexpr const FamilyInfo& InfoOf(Family family) {
  return kFamilies[static_cast<int>(family)];
}

// Types of products: any lhs by any rhs of these sets, with any accumulator and
// dst.
struct ProductTypes {
  Family family;
  ScalarSet lhs, rhs, accum, dst;
};

namespace product_list {

enum : ScalarSet {
#define RUY_LIKE_SCALAR(Enum, type, bits, kind, name, kernel_name) \
  Enum = ScalarSet{1} << static_cast<int>(Scalar::Enum),
  RUY_LIKE_SCALARS(RUY_LIKE_SCALAR)
#undef RUY_LIKE_SCALAR
};

// The one list of products, which is README.md's type table: what is not in it
// does not compile. The first line that has a product's types counts. An
// operand is packed for the first line that has its type, unless
// PackOptions::pack_for names another.
constexpr ProductTypes kProducts[] = {
    // family, lhs, rhs, accumulator, dst
    {Family::k8x8, kI8 | kU8, kI8 | kU8, kI32, kI8 | kU8 | kI16 | kI32 | kF32},
    {Family::k8x16, kI8, kI16, kI32, kI8 | kU8 | kI16 | kI32},
    {Family::k16x8, kI16, kI8, kI32, kI8 | kU8 | kI16 | kI32},
    {Family::kF32, kF32, kF32, kF32, kF32},
    {Family::kF32, kBF16 | kE4M3 | kE5M2, kBF16, kF32, kF32 | kBF16},
    {Family::kF32, kBF16, kE4M3 | kE5M2, kF32, kF32 | kBF16},
    {Family::kF32, kF16, kF16, kF32, kF32 | kF16},
    {Family::kF32, kBF16 | kF16 | kE4M3 | kE5M2, kF32, kF32, kF32},
    {Family::kF32, kF32, kBF16 | kF16 | kE4M3 | kE5M2, kF32, kF32},
    {Family::kF64, kF32 | kF64, kF32 | kF64, kF32 | kF64, kF32 | kF64},
};

}  // namespace product_list

using product_list::kProducts;

// Null if there is no such product.
constexpr const ProductTypes* FindProduct(Scalar lhs, Scalar rhs, Scalar accum,
                                          Scalar dst) {
  for (const ProductTypes& types : kProducts) {
    if (Contains(types.lhs, lhs) && Contains(types.rhs, rhs) &&
        Contains(types.accum, accum) && Contains(types.dst, dst)) {
      return &types;
    }
  }
  return nullptr;
}

// The family of a product that is in the list.
constexpr Family FamilyOf(Scalar lhs, Scalar rhs, Scalar accum, Scalar dst) {
  return FindProduct(lhs, rhs, accum, dst)->family;
}

namespace internal {

// The enumerator of an element type; elements of other types do not compile.
template <typename T>
struct ScalarTypeTraits {
  static_assert(sizeof(T) == 0, "not an element type: see RUY_LIKE_SCALARS");
};
#define RUY_LIKE_SCALAR(Enum, type, bits, kind, name, kernel_name) \
  template <>                                                      \
  struct ScalarTypeTraits<type> {                                  \
    static constexpr Scalar kScalar = Scalar::Enum;                \
  };
RUY_LIKE_SCALARS(RUY_LIKE_SCALAR)
#undef RUY_LIKE_SCALAR
template <typename T>
struct ScalarTypeTraits<const T> : ScalarTypeTraits<T> {};

template <typename T>
constexpr Scalar ScalarOf() {
  return ScalarTypeTraits<T>::kScalar;
}

template <typename T>
constexpr bool IsFloatType() {
  return IsFloat(ScalarOf<T>());
}

// True if the list has the product.
template <typename Lhs, typename Rhs, typename Accum, typename Dst>
constexpr bool TypesAreSupported() {
  return FindProduct(ScalarOf<Lhs>(), ScalarOf<Rhs>(), ScalarOf<Accum>(),
                     ScalarOf<Dst>()) != nullptr;
}

}  // namespace internal

}  // namespace ruy_like

#endif  // RUY_LIKE_SCALAR_H_
