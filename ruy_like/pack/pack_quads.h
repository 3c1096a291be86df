// Back-end: the register operations that packing is made of, in 128-bit
// vectors.
//
// Included by pack_neon.h and pack_vectors.h (anonymous namespace), which give
// it their path's trait (simd_128.h); used by the templates of pack_panels.h.
// The counterpart of pack_ymm.h, which explains the terms. A "register" is
// kRegs vectors here: it holds the quads of 4 * kRegs adjacent columns, 4 in
// each vector, so that a panel of 8 columns is written at once.
#ifndef RUY_LIKE_PACK_PACK_QUADS_H_
#define RUY_LIKE_PACK_PACK_QUADS_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/pack/pack_common.h"

namespace ruy_like::kernels {
namespace {

template <int kBytes>
void CopyPadded(char* dst, const char* src, int count) {
  if (count == kBytes) {  // without a call
    __builtin_memcpy(dst, src, kBytes);
    return;
  }
  __builtin_memset(dst, 0, kBytes);
  __builtin_memcpy(dst, src, static_cast<size_t>(count));
}

// Writes 16 bytes of elements, widened to twice as many.
template <class Simd, class Packed>
RUY_LIKE_ALWAYS_INLINE void StoreWidened(char* dst, typename Simd::Int x) {
  if constexpr (Packed::kWidensFloats) {
    const auto low = Simd::template WidenFloats<Packed::kSource, 0>(x);
    const auto high = Simd::template WidenFloats<Packed::kSource, 1>(x);
    Simd::StoreBytes(dst, Simd::BitsOf(low));
    Simd::StoreBytes(dst + 16, Simd::BitsOf(high));
  } else {
    Simd::StoreBytes(dst, Simd::template WidenBytes<0>(x));
    Simd::StoreBytes(dst + 16, Simd::template WidenBytes<1>(x));
  }
}

template <class Simd, int kRegs>
struct Quads {
  static_assert(kRegs <= 2);
  typedef typename Simd::Int Vector;
  struct Reg {
    Vector v[kRegs];
  };
  static constexpr int kColumns = 4 * kRegs;
  static constexpr int kBlocksPerStep = 1;

  RUY_LIKE_ALWAYS_INLINE static Reg Zero() { return Set(0); }
  RUY_LIKE_ALWAYS_INLINE static Reg Set(int32_t quad) {
    Reg a;
    for (int r = 0; r < kRegs; ++r) a.v[r] = Simd::Set(quad);
    return a;
  }
  RUY_LIKE_ALWAYS_INLINE static Reg And(Reg a, const Reg& b) {
    for (int r = 0; r < kRegs; ++r) a.v[r] = a.v[r] & b.v[r];
    return a;
  }
  // The first `columns` quads all ones, the others zero.
  RUY_LIKE_ALWAYS_INLINE static Reg ColumnMask(int columns) {
    static constexpr int32_t kOnes[] = {-1, -1, -1, -1, -1, -1, -1, -1};
    return LoadSums(kOnes, columns);
  }

  // 16 bytes of columns i and 4 + i, one in each vector.
  template <int kWidth, typename Columns>
  RUY_LIKE_ALWAYS_INLINE static Reg LoadColumns(const Columns& columns, int i,
                                                ptrdiff_t offset) {
    static_assert(kWidth == kColumns);
    Reg a;
    for (int r = 0; r < kRegs; ++r) {
      a.v[r] = Simd::LoadBytes(columns.At(4 * r + i) + offset);
    }
    return a;
  }
  // In: v[i] from LoadColumns(i). Out: v[j] holds quad j of all columns.
  RUY_LIKE_ALWAYS_INLINE static void Transpose(Reg v[4]) {
    for (int r = 0; r < kRegs; ++r) {
      Vector m[4] = {v[0].v[r], v[1].v[r], v[2].v[r], v[3].v[r]};
      Simd::Transpose(m);
      for (int i = 0; i < 4; ++i) v[i].v[r] = m[i];
    }
  }

  // Quads of kColumns columns from 4 / kSrcBytes rows of one depth each.
  template <int kSrcBytes>
  RUY_LIKE_ALWAYS_INLINE static Reg LoadRows(const char* src,
                                             ptrdiff_t stride) {
    Reg a;
    if constexpr (kSrcBytes == 4) {
      for (int r = 0; r < kRegs; ++r) a.v[r] = Simd::LoadBytes(src + 16 * r);
    } else if constexpr (kSrcBytes == 1 && kRegs == 1) {
      // Transposed, be it from rows to quads or back.
      a.v[0] = Simd::template SplitDepth<1>(Simd::LoadQuarters(src, stride));
    } else {
      Vector even = LoadRow<kSrcBytes>(src);
      Vector odd = LoadRow<kSrcBytes>(src + stride);
      if constexpr (kSrcBytes == 1) {
        Vector third = LoadRow<1>(src + 2 * stride);
        Vector fourth = LoadRow<1>(src + 3 * stride);
        Simd::Zip8(even, third);
        Simd::Zip8(odd, fourth);
        Simd::Zip8(even, odd);
      } else {
        Simd::Zip16(even, odd);
      }
      a.v[0] = even;
      a.v[kRegs - 1] = kRegs == 1 ? even : odd;
    }
    return a;
  }

  // Writes a block in the layout F.
  template <typename F>
  RUY_LIKE_ALWAYS_INLINE static void StoreBlock(char* dst, const Reg quads[4]) {
    static_assert(F::kWidth == kColumns);
    constexpr int kDotBytes = F::kDotWidth * F::kSrcBytes;
    if constexpr (kDotBytes == 16) {
      Reg columns[4] = {quads[0], quads[1], quads[2], quads[3]};
      Transpose(columns);
      for (int i = 0; i < 4 * kRegs; ++i) {
        Simd::StoreBytes(dst + 16 * i, columns[i % 4].v[i / 4]);
      }
    } else if constexpr (kDotBytes == 8) {
      for (int half = 0; half < 2; ++half) {
        for (int r = 0; r < kRegs; ++r) {
          Vector even = quads[2 * half].v[r], odd = quads[2 * half + 1].v[r];
          Simd::Zip32(even, odd);
          char* const to = dst + 32 * (half * kRegs + r);
          Simd::StoreBytes(to, even);
          Simd::StoreBytes(to + 16, odd);
        }
      }
    } else {
      for (int q = 0; q < 4; ++q) {
        StoreQuad<F>(dst + q * F::kBlockBytes / 4, quads[q]);
      }
    }
  }
  // The same of one quad of each column, of whole dots.
  template <typename F>
  RUY_LIKE_ALWAYS_INLINE static void StoreQuad(char* dst, const Reg& quad) {
    const Reg split = SplitDepth<F::kDotWidth * F::kSrcBytes>(quad);
    for (int r = 0; r < kRegs; ++r) {
      StoreElements<F>(dst + r * 16 / F::kSrcBytes * F::kPackedBytes,
                       split.v[r]);
    }
  }

  // Sums over depth: one 32-bit sum for each column, made of 16-bit halves of a
  // quad where its elements are bytes (pack_ymm.h).
  RUY_LIKE_ALWAYS_INLINE static Reg SumHalvesS8(Reg quads) {
    for (int r = 0; r < kRegs; ++r) quads.v[r] = Simd::SumBytePairs(quads.v[r]);
    return quads;
  }
  RUY_LIKE_ALWAYS_INLINE static Reg SumWords(Reg quads) {
    for (int r = 0; r < kRegs; ++r) quads.v[r] = Simd::SumWordPairs(quads.v[r]);
    return quads;
  }
  RUY_LIKE_ALWAYS_INLINE static Reg Add8(Reg a, const Reg& b) {
    for (int r = 0; r < kRegs; ++r) a.v[r] = Simd::Add8(a.v[r], b.v[r]);
    return a;
  }
  RUY_LIKE_ALWAYS_INLINE static Reg Add16(Reg a, const Reg& b) {
    for (int r = 0; r < kRegs; ++r) a.v[r] = Simd::Add16(a.v[r], b.v[r]);
    return a;
  }
  RUY_LIKE_ALWAYS_INLINE static Reg Add(Reg a, const Reg& b) {
    for (int r = 0; r < kRegs; ++r) a.v[r] = Simd::Add(a.v[r], b.v[r]);
    return a;
  }

  RUY_LIKE_ALWAYS_INLINE static Reg LoadSums(const int32_t* sums, int columns) {
    alignas(16) int32_t all[kColumns];
    CopyPadded<sizeof(all)>(reinterpret_cast<char*>(all),
                            reinterpret_cast<const char*>(sums), 4 * columns);
    Reg a;
    for (int r = 0; r < kRegs; ++r) a.v[r] = Simd::LoadAligned(all + 4 * r);
    return a;
  }
  RUY_LIKE_ALWAYS_INLINE static void StoreSums(int32_t* sums, int columns,
                                               const Reg& a) {
    if (columns == kColumns) {
      for (int r = 0; r < kRegs; ++r) Simd::StoreBytes(sums + 4 * r, a.v[r]);
      return;
    }
    alignas(16) int32_t all[kColumns];
    for (int r = 0; r < kRegs; ++r) Simd::StoreAligned(all + 4 * r, a.v[r]);
    __builtin_memcpy(sums, all, sizeof(int32_t) * static_cast<size_t>(columns));
  }

 private:
  // kColumns elements, as 8 bytes or 16.
  template <int kBytes>
  RUY_LIKE_ALWAYS_INLINE static Vector LoadRow(const char* src) {
    return kColumns * kBytes == 8 ? Simd::LoadLow(src) : Simd::LoadBytes(src);
  }

  // Dots of fewer than four bytes: those of all columns side by side,
  // in order of depth.
  template <int kDotBytes>
  RUY_LIKE_ALWAYS_INLINE static Reg SplitDepth(Reg a) {
    if constexpr (kDotBytes == 4) {
      return a;
    } else if constexpr (kDotBytes == 2 && kRegs == 2) {
      Simd::Unzip16(a.v[0], a.v[1]);
    } else {
      for (int r = 0; r < kRegs; ++r) {
        a.v[r] = Simd::template SplitDepth<kDotBytes>(a.v[r]);
      }
      if constexpr (kRegs == 2) Simd::Zip32(a.v[0], a.v[1]);
    }
    return a;
  }
  // Writes 16 bytes of source elements as they are packed.
  template <typename F>
  RUY_LIKE_ALWAYS_INLINE static void StoreElements(char* dst, Vector x) {
    if constexpr (F::kPackedBytes > F::kSrcBytes) {
      StoreWidened<Simd, typename F::Packed>(dst, x);
    } else {
      Simd::StoreBytes(dst, x);
    }
  }
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_PACK_PACK_QUADS_H_
