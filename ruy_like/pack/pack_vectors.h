// Back-end: packing for the paths whose trait is made of the compiler's vector
// types.
//
// Included by pack/avx.cc, wasm128.cc and rvv128.cc, behind the trait. Panels
// of four columns: of integers, pairs of levels or single ones, of floats
// single ones. Whole panels are packed 16 source bytes of each column at a
// time, or 16 of consecutive levels; the edges of depth and width element by
// element.
#ifndef RUY_LIKE_PACK_PACK_VECTORS_H_
#define RUY_LIKE_PACK_PACK_VECTORS_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/float16.h"
#include "ruy_like/pack/pack_common.h"
#include "ruy_like/simd/loops.h"

namespace ruy_like::kernels {
namespace {

typedef SimdOfPath::Int Vector;
typedef int8_t PackedBytes __attribute__((vector_size(16)));
typedef int16_t PackedWords __attribute__((vector_size(16)));

constexpr int kColumns = 4;

// Where a panel's elements are, in bytes.
struct Source {
  const char* data;
  ptrdiff_t level_step, column_step;

  const char* At(ptrdiff_t level, ptrdiff_t column) const {
    return data + level * level_step + column * column_step;
  }
};

template <typename Element>
RUY_LIKE_ALWAYS_INLINE Element Load(const char* p) {
  Element element;
  __builtin_memcpy(&element, p, sizeof(element));
  return element;
}

// ## Integers

// kBytes: the size of a source element. kDepthGroup: 1 or 2.
template <int kBytes, class Packed, int kDepthGroup>
struct IntegersPacker {
  static constexpr int kLevelBytes = kColumns * Packed::kBytes;

  const Vector flip;  // exclusive or of source bytes
  Vector sums = SimdOfPath::Zero();
  char* dst;

  explicit IntegersPacker(const PackArgs& args)
      : flip(SimdOfPath::Set8(
            static_cast<int8_t>(args.src_scalar == Scalar::kU8 ? 0x80 : 0))),
        dst(static_cast<char*>(args.dst)) {}

  // Two levels, as words; with depth groups of 1 the second may be zeros.
  RUY_LIKE_ALWAYS_INLINE void AddToSums(Vector words) {
    if (!Packed::kHasSums) return;
    const Vector both_levels =
        kDepthGroup == 2
            ? SimdOfPath::MultiplyWords(words, SimdOfPath::Set16(1))
            : SimdOfPath::Add(SimdOfPath::WidenWords<0>(words),
                              SimdOfPath::WidenWords<1>(words));
    sums = SimdOfPath::Add(sums, both_levels);
  }
  RUY_LIKE_ALWAYS_INLINE void AddWords(Vector words) {
    AddToSums(words);
    if (Packed::kBytes == 2) {
      SimdOfPath::StoreBytes(dst, words);
      dst += 16;
    }
  }
  // Source elements in the panel's order.
  RUY_LIKE_ALWAYS_INLINE void Emit(Vector elements) {
    if constexpr (kBytes == 2) {
      AddWords(elements);
    } else {
      elements = SimdOfPath::Xor(elements, flip);
      AddWords(SimdOfPath::WidenBytes<0>(elements));
      AddWords(SimdOfPath::WidenBytes<1>(elements));
      if (Packed::kBytes == 1) {
        SimdOfPath::StoreBytes(dst, elements);
        dst += 16;
      }
    }
  }

  // Interleaves depth groups, and pairs of them.
  static RUY_LIKE_ALWAYS_INLINE void ZipGroups(Vector& a, Vector& b) {
    if constexpr (kBytes * kDepthGroup == 1) SimdOfPath::Zip8(a, b);
    if constexpr (kBytes * kDepthGroup == 2) SimdOfPath::Zip16(a, b);
    if constexpr (kBytes * kDepthGroup == 4) SimdOfPath::Zip32(a, b);
  }
  static RUY_LIKE_ALWAYS_INLINE void ZipPairs(Vector& a, Vector& b) {
    if constexpr (kBytes * kDepthGroup == 1) SimdOfPath::Zip16(a, b);
    if constexpr (kBytes * kDepthGroup == 2) SimdOfPath::Zip32(a, b);
    if constexpr (kBytes * kDepthGroup == 4) SimdOfPath::Zip64(a, b);
  }
  // 16 bytes of each column.
  RUY_LIKE_ALWAYS_INLINE void PackColumns(const char* p, ptrdiff_t stride) {
    Vector x[kColumns];
    for (int c = 0; c < kColumns; ++c) {
      x[c] = SimdOfPath::LoadBytes(p + c * stride);
    }
    ZipGroups(x[0], x[1]);
    ZipGroups(x[2], x[3]);
    ZipPairs(x[0], x[2]);
    ZipPairs(x[1], x[3]);
    Emit(x[0]);
    Emit(x[2]);
    Emit(x[1]);
    Emit(x[3]);
  }
  // 16 bytes of consecutive levels.
  RUY_LIKE_ALWAYS_INLINE void PackLevels(const char* p, ptrdiff_t stride) {
    if constexpr (kBytes == 1) {
      const Vector x = SimdOfPath::LoadQuarters(p, stride);
      const PackedBytes bytes = reinterpret_cast<PackedBytes>(x);
      Emit(kDepthGroup == 1 ? x
                            : reinterpret_cast<Vector>(__builtin_shufflevector(
                                  bytes, bytes, 0, 4, 1, 5, 2, 6, 3, 7, 8, 12,
                                  9, 13, 10, 14, 11, 15)));
    } else {
      const Vector x = SimdOfPath::LoadHalves(p, stride);
      const PackedWords words = reinterpret_cast<PackedWords>(x);
      Emit(kDepthGroup == 1 ? x
                            : reinterpret_cast<Vector>(__builtin_shufflevector(
                                  words, words, 0, 4, 1, 5, 2, 6, 3, 7)));
    }
  }

  // Levels from `level` to `end`, of `columns` columns; zeros elsewhere.
  void PackEdge(const Source& source, ptrdiff_t level, ptrdiff_t end,
                int columns) {
    for (; level < end; level += kDepthGroup) {
      alignas(16) int16_t group[2 * kColumns] = {};
      for (int c = 0; c < columns; ++c) {
        for (int i = 0; i < kDepthGroup && level + i < end; ++i) {
          const char* const p = source.At(level + i, c);
          int16_t& element = group[kDepthGroup * c + i];
          if constexpr (kBytes == 1) {
            element = static_cast<int8_t>(Load<int8_t>(p) ^
                                          static_cast<int8_t>(flip[0]));
          } else {
            element = Load<int16_t>(p);
          }
        }
      }
      const Vector words = SimdOfPath::LoadBytes(group);
      AddToSums(words);
      const Vector packed = Packed::kBytes == 2
                                ? words
                                : SimdOfPath::SaturateToInt8(words, words);
      constexpr int kGroupBytes = kDepthGroup * kLevelBytes;
      if constexpr (kGroupBytes == 16) SimdOfPath::StoreBytes(dst, packed);
      if constexpr (kGroupBytes == 8) SimdOfPath::StoreHalf<0>(dst, packed);
      if constexpr (kGroupBytes == 4) SimdOfPath::StoreQuarter<0>(dst, packed);
      dst += kGroupBytes;
    }
  }

  void PackPanel(const PackArgs& args, const Source& source, int columns) {
    char* const end = dst + args.padded_depth * kLevelBytes;
    sums = SimdOfPath::Zero();
    ptrdiff_t level = 0;
    if (columns == kColumns && args.depth_contiguous) {
      constexpr int kStep = 16 / kBytes;
      for (; level + kStep <= args.depth; level += kStep) {
        PackColumns(source.At(level, 0), source.column_step);
      }
    } else if (columns == kColumns) {
      constexpr int kStep = 4 / kBytes;
      for (; level + kStep <= args.depth; level += kStep) {
        PackLevels(source.At(level, 0), source.level_step);
      }
    }
    PackEdge(source, level, args.depth, columns);
    ZeroFrom(dst, 0, end - dst);
    dst = end;
  }
};

// ## Floats

template <Scalar kSource>
RUY_LIKE_ALWAYS_INLINE float LoadFloat(const char* p) {
  if constexpr (kSource == Scalar::kF16) {
    return float16_internal::FloatOfBits(
        float16_internal::WidenFloat16(Load<uint16_t>(p)));
  } else if constexpr (kSource == Scalar::kBF16) {
    return float16_internal::FloatOfBits(
        float16_internal::WidenBFloat16(Load<uint16_t>(p)));
  } else {
    return Load<float>(p);
  }
}

template <Scalar kSource>
void PackFloatPanel(const PackArgs& args, const Source& source, int columns,
                    float* dst) {
  ptrdiff_t level = 0;
  if (kSource == Scalar::kF32 && columns == kColumns && args.depth_contiguous) {
    for (; level + 4 <= args.depth; level += 4) {
      Vector x[kColumns];
      for (int c = 0; c < kColumns; ++c) {
        x[c] = SimdOfPath::LoadBytes(source.At(level, c));
      }
      SimdOfPath::Transpose(x);
      for (int i = 0; i < 4; ++i) SimdOfPath::StoreBytes(dst + 4 * i, x[i]);
      dst += 4 * kColumns;
    }
  } else if (kSource == Scalar::kF32 && columns == kColumns) {
    for (; level < args.depth; ++level, dst += kColumns) {
      SimdOfPath::StoreBytes(dst, SimdOfPath::LoadBytes(source.At(level, 0)));
    }
  }
  for (; level < args.depth; ++level, dst += kColumns) {
    for (int c = 0; c < kColumns; ++c) {
      dst[c] = c < columns ? LoadFloat<kSource>(source.At(level, c)) : 0.0f;
    }
  }
  ZeroFrom(reinterpret_cast<char*>(dst), 0,
           (args.padded_depth - level) * kColumns *
               static_cast<ptrdiff_t>(sizeof(float)));
}

template <int kSourceBytes, class Packed, int kWidth, int kDepthGroup>
void PackAs(const PackArgs* args_in) {
  static_assert(kWidth == kColumns);
  const PackArgs args = *args_in;
  const ptrdiff_t stride = args.src_stride * kSourceBytes;
  Source source = {static_cast<const char*>(args.src),
                   args.depth_contiguous ? kSourceBytes : stride,
                   args.depth_contiguous ? stride : kSourceBytes};
  const auto for_each_panel = [&](auto pack_panel) {
    for (ptrdiff_t first = 0; first < args.width; first += kColumns) {
      pack_panel(first, Min(args.width - first, kColumns));
      source.data += kColumns * source.column_step;
    }
  };
  if constexpr (Packed::kScalar == Scalar::kF32) {
    static_assert(kDepthGroup == 1);
    float* const dst = static_cast<float*>(args.dst);
    for_each_panel([&](ptrdiff_t first, int columns) {
      PackFloatPanel<Packed::kSource>(args, source, columns,
                                      dst + first * args.padded_depth);
    });
  } else {
    static_assert(kDepthGroup <= 2);
    IntegersPacker<kSourceBytes, Packed, kDepthGroup> packer(args);
    for_each_panel([&](ptrdiff_t first, int columns) {
      packer.PackPanel(args, source, columns);
      if (args.sums != nullptr) {
        SimdOfPath::Store(args.sums + first, packer.sums, columns);
      }
    });
  }
}

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_PACK_PACK_VECTORS_H_
