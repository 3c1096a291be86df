// Back-end: packing for the narrow kernels, panels of one column.
//
// Included by pack/avx2.cc (anonymous namespace). Every x86 path takes these
// routines: at most 16 columns come this way, of a product that reads a whole
// other matrix, so that wider registers would gain nothing, while short columns
// gain from small units. They need AVX2 for the widening alone.
//
// A column becomes consecutive elements, flipped or widened, padded with zeros.
// It is made in units of 16 source bytes:
//
//   depth-contiguous: 16 bytes of a column                       \ flip, sum,
//   width-contiguous: a square of elements, 16 bytes wide,       / widen, store
//                     transposed: a unit for each of its columns
#ifndef RUY_LIKE_PACK_PACK_NARROW_H_
#define RUY_LIKE_PACK_PACK_NARROW_H_

#include "ruy_like/pack/pack.h"
#include "ruy_like/pack/pack_partial.h"

namespace ruy_like {
namespace kernels {
namespace {

// kBytes: the size of a source element.
template <int kBytes, Scalar kPacked>
struct NarrowColumns {
  static constexpr int kUnit = 16 / kBytes;  // elements
  static constexpr int kPackedBytes =
      kPacked == Scalar::kF32 ? 4 : (kPacked == Scalar::kI16 ? 2 : 1);
  static constexpr bool kHasSums = kPacked != Scalar::kF32;

  const PackArgs* args;
  bool flips;

  void Pack() const {
    if (args->depth_contiguous || args->src_stride == 1) {
      PackDepthContiguous();
    } else {
      PackWidthContiguous();
    }
    const ptrdiff_t units = (args->depth + kUnit - 1) / kUnit * kUnit;
    const ptrdiff_t written =
        units < args->padded_depth ? units : args->padded_depth;
    for (ptrdiff_t w = 0; w < args->width; ++w) {
      __builtin_memset(
          Dst(w, written), 0,
          static_cast<size_t>((args->padded_depth - written) * kPackedBytes));
    }
  }

 private:
  char* Dst(ptrdiff_t column, ptrdiff_t level) const {
    return static_cast<char*>(args->dst) +
           (column * args->padded_depth + level) * kPackedBytes;
  }

  void PackDepthContiguous() const {
    // A lone column whose levels are adjacent may be called either order.
    const ptrdiff_t stride = args->depth_contiguous ? args->src_stride : 1;
    for (ptrdiff_t w = 0; w < args->width; ++w) {
      const char* src =
          static_cast<const char*>(args->src) + w * stride * kBytes;
      char* dst = Dst(w, 0);
      __m128i sums = _mm_setzero_si128();
      ptrdiff_t k = 0;
      for (; k + kUnit <= args->depth; k += kUnit) {
        StoreUnit(Load16(src), kUnit, kUnit, &sums, dst);
        src += 16;
        dst += kUnit * kPackedBytes;
      }
      if (k < args->depth) {
        const int left = static_cast<int>(args->depth - k);
        alignas(16) char unit[16];
        CopyPadded<16>(unit, src, left * kBytes);
        StoreUnit(Load16(unit), left, args->padded_depth - k, &sums, dst);
      }
      if (kHasSums && args->sums != nullptr) args->sums[w] = LaneSum(sums);
    }
  }

  void PackWidthContiguous() const {
    for (ptrdiff_t w = 0; w < args->width; w += kUnit) {
      const ptrdiff_t columns_left = args->width - w;
      const int columns =
          columns_left < kUnit ? static_cast<int>(columns_left) : kUnit;
      __m128i sums[kUnit];
      for (int c = 0; c < kUnit; ++c) sums[c] = _mm_setzero_si128();
      for (ptrdiff_t k = 0; k < args->depth; k += kUnit) {
        const ptrdiff_t left = args->depth - k;
        const int levels = left < kUnit ? static_cast<int>(left) : kUnit;
        __m128i square[kUnit];
        LoadSquare(k, levels, w, columns, square);
        Transpose(square);
        for (int c = 0; c < columns; ++c) {
          StoreUnit(square[c], levels, args->padded_depth - k, &sums[c],
                    Dst(w + c, k));
        }
      }
      if (!kHasSums || args->sums == nullptr) continue;
      for (int c = 0; c < columns; ++c) args->sums[w + c] = LaneSum(sums[c]);
    }
  }

  // Rows of one level each, zeros where there are none.
  void LoadSquare(ptrdiff_t level, int levels, ptrdiff_t column, int columns,
                  __m128i square[kUnit]) const {
    const char* src = static_cast<const char*>(args->src) +
                      (level * args->src_stride + column) * kBytes;
    for (int k = 0; k < kUnit; ++k, src += args->src_stride * kBytes) {
      square[k] = _mm_setzero_si128();
      if (k < levels) {
        alignas(16) char row[16];
        CopyPadded<16>(row, src, columns * kBytes);
        square[k] = Load16(row);
      }
    }
  }

  static __m128i InterleaveLow(__m128i a, __m128i b) {
    return kBytes == 1   ? _mm_unpacklo_epi8(a, b)
           : kBytes == 2 ? _mm_unpacklo_epi16(a, b)
                         : _mm_unpacklo_epi32(a, b);
  }
  static __m128i InterleaveHigh(__m128i a, __m128i b) {
    return kBytes == 1   ? _mm_unpackhi_epi8(a, b)
           : kBytes == 2 ? _mm_unpackhi_epi16(a, b)
                         : _mm_unpackhi_epi32(a, b);
  }

  // Perfect shuffles of the rows, as many as halve their number down to one.
  static void Transpose(__m128i square[kUnit]) {
    for (int n = kUnit; n > 1; n /= 2) {
      __m128i shuffled[kUnit];
      for (int i = 0; i < kUnit / 2; ++i) {
        const __m128i a = square[i];
        const __m128i b = square[i + kUnit / 2];
        shuffled[2 * i] = InterleaveLow(a, b);
        shuffled[2 * i + 1] = InterleaveHigh(a, b);
      }
      for (int i = 0; i < kUnit; ++i) square[i] = shuffled[i];
    }
  }

  // Packs one unit, of which `levels` levels are there and the others zero, to
  // where there is room for `room` levels (not below `levels`) or more.
  void StoreUnit(__m128i unit, int levels, ptrdiff_t room, __m128i* sums,
                 char* dst) const {
    if (kBytes == 1 && flips) {
      const __m128i level =
          _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
      const __m128i present =
          _mm_cmpgt_epi8(_mm_set1_epi8(static_cast<char>(levels)), level);
      unit = _mm_xor_si128(
          unit, _mm_and_si128(present, _mm_set1_epi8(static_cast<char>(0x80))));
    }
    if constexpr (kHasSums) {
      if (args->sums != nullptr) {
        *sums = _mm_add_epi32(*sums, PartialSums(unit));
      }
    }
    if (room >= kUnit) {
      StoreWhole(unit, dst);
    } else {
      alignas(32) char whole[kUnit * kPackedBytes];
      StoreWhole(unit, whole);
      __builtin_memcpy(dst, whole, static_cast<size_t>(room * kPackedBytes));
    }
  }

  static void StoreWhole(__m128i unit, char* dst) {
    if constexpr (kBytes == 1 && kPackedBytes == 2) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst),
                          _mm256_cvtepi8_epi16(unit));
    } else {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(dst), unit);
    }
  }

  // Four 32-bit sums of a unit's elements. vpmaddubsw can't saturate with one
  // factor 1.
  static __m128i PartialSums(__m128i unit) {
    const __m128i one = _mm_set1_epi8(1);
    if constexpr (kBytes == 1 && kPacked == Scalar::kU8) {
      unit = _mm_maddubs_epi16(unit, one);
    } else if constexpr (kBytes == 1) {
      unit = _mm_maddubs_epi16(one, unit);
    }
    return _mm_madd_epi16(unit, _mm_set1_epi16(1));
  }

  static int32_t LaneSum(__m128i x) {
    x = _mm_add_epi32(x, _mm_unpackhi_epi64(x, x));
    return _mm_cvtsi128_si32(_mm_add_epi32(x, _mm_shuffle_epi32(x, 1)));
  }
};

template <int kBytes, Scalar kPacked>
void PackNarrow(const PackArgs* args) {
  // 16-bit elements made of bytes are signed, as packed S8 ones are.
  const Scalar unflipped = kPacked == Scalar::kU8 ? Scalar::kU8 : Scalar::kI8;
  NarrowColumns<kBytes, kPacked> columns;
  columns.args = args;
  columns.flips = kBytes == 1 && args->src_scalar != unflipped;
  columns.Pack();
}

}  // namespace
}  // namespace kernels
}  // namespace ruy_like

#endif  // RUY_LIKE_PACK_PACK_NARROW_H_
