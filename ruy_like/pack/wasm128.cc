// Tested in test/pack/pack_test.cc.
//
// Panels of four columns: pairs of levels of integers, single levels of floats.
// Whole panels are packed 16 source bytes of each column at a time, or 16 of
// consecutive levels; the edges of depth and width element by element.
#include <stddef.h>
#include <stdint.h>
#include <wasm_simd128.h>

#include "ruy_like/float16.h"
#include "ruy_like/pack/pack_common.h"
#include "ruy_like/simd/loops.h"
#include "ruy_like/simd/simd_wasm.h"

namespace ruy_like::kernels {
namespace {

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

// kBytes: the size of a source element.
template <int kBytes, class Packed>
struct PairsPacker {
  static constexpr int kLevelBytes = kColumns * Packed::kBytes;

  const v128_t flip;  // exclusive or of source bytes
  v128_t sums = wasm_i32x4_const_splat(0);
  char* dst;

  explicit PairsPacker(const PackArgs& args)
      : flip(wasm_i8x16_splat(
            static_cast<int8_t>(args.src_scalar == Scalar::kU8 ? 0x80 : 0))),
        dst(static_cast<char*>(args.dst)) {}

  // One pair of levels, as words.
  RUY_LIKE_ALWAYS_INLINE void AddWords(v128_t words) {
    if (Packed::kHasSums) {
      sums = wasm_i32x4_add(
          sums, wasm_i32x4_dot_i16x8(words, wasm_i16x8_const_splat(1)));
    }
    if (Packed::kBytes == 2) {
      wasm_v128_store(dst, words);
      dst += 16;
    }
  }
  // Source elements in the panel's order.
  RUY_LIKE_ALWAYS_INLINE void Emit(v128_t elements) {
    if constexpr (kBytes == 2) {
      AddWords(elements);
    } else {
      elements = wasm_v128_xor(elements, flip);
      AddWords(wasm_i16x8_extend_low_i8x16(elements));
      AddWords(wasm_i16x8_extend_high_i8x16(elements));
      if (Packed::kBytes == 1) {
        wasm_v128_store(dst, elements);
        dst += 16;
      }
    }
  }

  // 16 bytes of each column.
  RUY_LIKE_ALWAYS_INLINE void PackColumns(const char* p, ptrdiff_t stride) {
    v128_t x[kColumns];
    for (int c = 0; c < kColumns; ++c) x[c] = wasm_v128_load(p + c * stride);
    if constexpr (kBytes == 1) {
      const v128_t a = wasm_i16x8_shuffle(x[0], x[1], 0, 8, 1, 9, 2, 10, 3, 11);
      const v128_t b =
          wasm_i16x8_shuffle(x[0], x[1], 4, 12, 5, 13, 6, 14, 7, 15);
      const v128_t c = wasm_i16x8_shuffle(x[2], x[3], 0, 8, 1, 9, 2, 10, 3, 11);
      const v128_t d =
          wasm_i16x8_shuffle(x[2], x[3], 4, 12, 5, 13, 6, 14, 7, 15);
      Emit(wasm_i32x4_shuffle(a, c, 0, 4, 1, 5));
      Emit(wasm_i32x4_shuffle(a, c, 2, 6, 3, 7));
      Emit(wasm_i32x4_shuffle(b, d, 0, 4, 1, 5));
      Emit(wasm_i32x4_shuffle(b, d, 2, 6, 3, 7));
    } else {
      SimdWasm::Transpose(x);
      for (int i = 0; i < kColumns; ++i) Emit(x[i]);
    }
  }
  // 16 bytes of consecutive levels.
  RUY_LIKE_ALWAYS_INLINE void PackLevels(const char* p, ptrdiff_t stride) {
    if constexpr (kBytes == 1) {
      v128_t x = wasm_v128_load32_zero(p);
      x = wasm_v128_load32_lane(p + stride, x, 1);
      x = wasm_v128_load32_lane(p + 2 * stride, x, 2);
      x = wasm_v128_load32_lane(p + 3 * stride, x, 3);
      Emit(wasm_i8x16_shuffle(x, x, 0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10,
                              14, 11, 15));
    } else {
      const v128_t x =
          wasm_v128_load64_lane(p + stride, wasm_v128_load64_zero(p), 1);
      Emit(wasm_i16x8_shuffle(x, x, 0, 4, 1, 5, 2, 6, 3, 7));
    }
  }

  // Levels from `level` to `end`, of `columns` columns; zeros elsewhere.
  void PackEdge(const Source& source, ptrdiff_t level, ptrdiff_t end,
                int columns) {
    for (; level < end; level += 2) {
      alignas(16) int16_t words[2 * kColumns] = {};
      for (int c = 0; c < columns; ++c) {
        for (int i = 0; i < 2 && level + i < end; ++i) {
          const char* const p = source.At(level + i, c);
          if constexpr (kBytes == 1) {
            words[2 * c + i] = static_cast<int8_t>(
                Load<int8_t>(p) ^ wasm_i8x16_extract_lane(flip, 0));
          } else {
            words[2 * c + i] = Load<int16_t>(p);
          }
        }
      }
      const v128_t pair = wasm_v128_load(words);
      AddWords(pair);
      if (Packed::kBytes == 1) {
        wasm_v128_store64_lane(dst, wasm_i8x16_narrow_i16x8(pair, pair), 0);
        dst += 8;
      }
    }
  }

  void PackPanel(const PackArgs& args, const Source& source, int columns) {
    char* const end = dst + args.padded_depth * kLevelBytes;
    sums = wasm_i32x4_const_splat(0);
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
      v128_t x[kColumns];
      for (int c = 0; c < kColumns; ++c) {
        x[c] = wasm_v128_load(source.At(level, c));
      }
      SimdWasm::Transpose(x);
      for (int i = 0; i < 4; ++i) wasm_v128_store(dst + 4 * i, x[i]);
      dst += 4 * kColumns;
    }
  } else if (kSource == Scalar::kF32 && columns == kColumns) {
    for (; level < args.depth; ++level, dst += kColumns) {
      wasm_v128_store(dst, wasm_v128_load(source.At(level, 0)));
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
    static_assert(kDepthGroup == 2);
    PairsPacker<kSourceBytes, Packed> packer(args);
    for_each_panel([&](ptrdiff_t first, int columns) {
      packer.PackPanel(args, source, columns);
      if (args.sums != nullptr) {
        SimdWasm::Store(args.sums + first, packer.sums, columns);
      }
    });
  }
}

}  // namespace

RUY_LIKE_PACK_ROUTINES_Wasm128(RUY_LIKE_DEFINE_PACK_ROUTINE)

}  // namespace ruy_like::kernels
