// Back-end: what the pack files of all architectures share.
//
// Included by pack/<path>.cc and its headers, each of which gets its own copy
// (anonymous namespace). Such a file defines PackAs(), declared below, and
// hands RUY_LIKE_DEFINE_PACK_ROUTINE to its list in pack_routines.h.
#ifndef RUY_LIKE_PACK_PACK_COMMON_H_
#define RUY_LIKE_PACK_PACK_COMMON_H_

#include <stddef.h>

#include "ruy_like/pack/pack.h"
#include "ruy_like/pack/pack_routines.h"
#include "ruy_like/scalar.h"
#include "ruy_like/simd/loops.h"
#include "ruy_like/simd/widen_float8.h"

namespace ruy_like::kernels {
namespace {

constexpr int kSourceBytes8 = 1;
constexpr int kSourceBytes16 = 2;
constexpr int kSourceBytesF32 = 4;
constexpr int kSourceBytesBF16 = 2;
constexpr int kSourceBytesF16 = 2;

// The elements of a packed layout. kSource_: the type of which floats are made
// by widening; PackArgs::src_scalar has that of integers.
template <Scalar kScalar_, ValueRange kRange = ValueRange::kFull,
          Scalar kSource_ = kScalar_>
struct PackedAs {
  static constexpr Scalar kScalar = kScalar_;
  static constexpr Scalar kSource = kSource_;
  static constexpr bool kWidensFloats = kSource != kScalar;
  static constexpr int kBytes = static_cast<int>(BytesOf(kScalar, 1));
  static constexpr bool kHasSums = HasSums(kScalar);
  // For bytes: what int8's 0 becomes.
  static constexpr int kZero = PackedZero(kScalar, kRange);
};
typedef PackedAs<Scalar::kI8> PackedS8;
typedef PackedAs<Scalar::kU8> PackedU8;
typedef PackedAs<Scalar::kU8, ValueRange::kInt7> PackedU7;
typedef PackedAs<Scalar::kI16> PackedS16;
typedef PackedAs<Scalar::kF32> PackedF32;
typedef PackedAs<Scalar::kBF16> PackedBF16;
typedef PackedAs<Scalar::kF16> PackedF16;
template <Scalar kSource>
using PackedF32Of = PackedAs<Scalar::kF32, ValueRange::kFull, kSource>;

// Packs elements of kSourceBytes bytes.
template <int kSourceBytes, class Packed, int kWidth, int kDotWidth>
void PackAs(const PackArgs* args);

// Copies count <= kBytes bytes to dst and zeros behind them, kBytes in all.
// pack_partial.h has one for x86 from AVX2 on, pack_quads.h that of others.
template <int kBytes>
void CopyPadded(char* dst, const char* src, int count);

// Packs 8-bit floats by `pack`, a routine for bfloat16, to elements of
// kPackedBytes bytes: widened a piece of a panel at a time, which stays in L1.
template <Scalar kSource, int kPackedBytes, int kWidth>
RUY_LIKE_NOINLINE void PackFloat8(const PackArgs& args,
                                  void (*pack)(const PackArgs* args)) {
  constexpr int kDepth = 256;
  alignas(64) uint8_t bytes[kWidth * kDepth + kFloat8Step];
  alignas(64) uint16_t words[kWidth * kDepth + kFloat8Step];
  PackArgs piece = args;
  piece.src = words;
  piece.src_scalar = Scalar::kBF16;
  for (ptrdiff_t first = 0; first < args.width; first += kWidth) {
    piece.width = Min(args.width - first, kWidth);
    ptrdiff_t start = 0;
    do {
      piece.depth = Min(args.depth - start, kDepth);
      const bool is_last = start + piece.depth == args.depth;
      piece.padded_depth = is_last ? args.padded_depth - start : kDepth;
      const bool along = args.depth_contiguous;
      const ptrdiff_t rows = along ? piece.width : piece.depth;
      const ptrdiff_t row = along ? piece.depth : piece.width;
      const uint8_t* src = static_cast<const uint8_t*>(args.src) +
                           (along ? first * args.src_stride + start
                                  : start * args.src_stride + first);
      for (ptrdiff_t i = 0; i < rows; ++i, src += args.src_stride) {
        if (row == kWidth) {  // without a call
          __builtin_memcpy(bytes + i * row, src, kWidth);
        } else {
          __builtin_memcpy(bytes + i * row, src, static_cast<size_t>(row));
        }
      }
      WidenFloat8s<kSource>(bytes, rows * row, words);
      piece.src_stride = row;
      piece.dst = static_cast<char*>(args.dst) +
                  (first * args.padded_depth + start * kWidth) * kPackedBytes;
      pack(&piece);
      start += kDepth;
    } while (start < args.depth);
  }
}

// The same for all source types that the routine serves.
template <int kSourceBytes, class Packed, int kWidth, int kDotWidth>
RUY_LIKE_ALWAYS_INLINE void PackAny(const PackArgs* args) {
  constexpr bool kIsF32 = Packed::kScalar == Scalar::kF32;
  if constexpr (kIsF32 || Packed::kScalar == Scalar::kBF16) {
    typedef PackedAs<Packed::kScalar, ValueRange::kFull, Scalar::kBF16>
        FromBF16;
    switch (args->src_scalar) {
#define RUY_LIKE_FLOAT8(Enum, type)                          \
  case Scalar::Enum:                                         \
    return PackFloat8<Scalar::Enum, Packed::kBytes, kWidth>( \
        *args, PackAs<kSourceBytes16, FromBF16, kWidth, kDotWidth>);
      RUY_LIKE_FLOAT8S(RUY_LIKE_FLOAT8)
#undef RUY_LIKE_FLOAT8
      default:
        break;
    }
  }
  if constexpr (kIsF32) {
    switch (args->src_scalar) {
#define RUY_LIKE_FLOAT16(Enum, type)                                 \
  case Scalar::Enum:                                                 \
    return PackAs<kSourceBytes16, PackedF32Of<Scalar::Enum>, kWidth, \
                  kDotWidth>(args);
      RUY_LIKE_FLOAT16S(RUY_LIKE_FLOAT16)
#undef RUY_LIKE_FLOAT16
      default:
        break;
    }
  }
  PackAs<kSourceBytes, Packed, kWidth, kDotWidth>(args);
}

// Pads rhs panels of pairs of BFloat16 elements at the end of an odd depth with
// -0, which, multiplied by the lhs's 0, changes no sum. (0 * 0 would change a
// sum of -0 to 0.)
template <int kWidth>
RUY_LIKE_ALWAYS_INLINE void PadRhsPairs(const PackArgs* args) {
  if (args->depth % 2 == 0) return;
  uint16_t* pads =
      static_cast<uint16_t*>(args->dst) + (args->depth - 1) * kWidth;
  for (ptrdiff_t first = 0; first < args->width; first += kWidth) {
    for (int w = 0; w < kWidth; ++w) pads[2 * w] = 0x8000;
    pads += args->padded_depth * kWidth;
  }
}

// The same for panels of floats, whose depth is padded where the lhs has such
// pairs: all elements behind the depth.
template <int kWidth>
RUY_LIKE_ALWAYS_INLINE void PadFloats(const PackArgs* args) {
  if (args->depth == args->padded_depth) return;
  float* panel = static_cast<float*>(args->dst);
  for (ptrdiff_t first = 0; first < args->width; first += kWidth) {
    for (ptrdiff_t i = args->depth * kWidth; i < args->padded_depth * kWidth;
         ++i) {
      panel[i] = -0.0f;
    }
    panel += args->padded_depth * kWidth;
  }
}

// Zeros the bytes [written, size) of dst, if there are any.
RUY_LIKE_ALWAYS_INLINE void ZeroFrom(char* dst, ptrdiff_t written,
                                     ptrdiff_t size) {
  if (written < size) {
    // Else GCC, where it knows that they are few, writes them by `rep stos`,
    // which takes some 30 cycles.
    __asm__("" : "+r"(size));
    __builtin_memset(dst + written, 0, static_cast<size_t>(size - written));
  }
}

}  // namespace
}  // namespace ruy_like::kernels

#define RUY_LIKE_DEFINE_PACK_ROUTINE(Path, source, packed, width, dot_width) \
  void Pack##Path##_##source##_##packed##_##width##x##dot_width(             \
      const PackArgs* args) {                                                \
    PackAny<kSourceBytes##source, Packed##packed, width, dot_width>(args);   \
  }

#endif  // RUY_LIKE_PACK_PACK_COMMON_H_
