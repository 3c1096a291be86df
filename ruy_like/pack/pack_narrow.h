// Back-end: packing for the narrow kernels, panels of one column.
//
// Included by pack/avx2.cc and pack_neon.h (anonymous namespace), which give it
// the operations on units: a trait of 128-bit vectors (simd_128.h), which they
// complete. All paths of an architecture use these routines: a narrow kernel
// has at most 16 columns packed, for a product that reads the whole other
// matrix, so wider registers would gain nothing, and short columns gain from
// small units. Products with group scales have activations copied that are not
// contiguous.
//
// A column becomes consecutive elements, flipped or widened, padded with zeros.
// It is made in units of 16 source bytes:
//
//   depth-contiguous: 16 bytes of a column                       \ flip, sum,
//   width-contiguous: a square of elements, 16 bytes wide,       / widen, store
//                     transposed: a unit for each of its columns
#ifndef RUY_LIKE_PACK_PACK_NARROW_H_
#define RUY_LIKE_PACK_PACK_NARROW_H_

#include "ruy_like/pack/pack_common.h"

namespace ruy_like::kernels {
namespace {

// U: the operations on units. kBytes: the size of a source element.
template <class U, int kBytes, class Packed>
struct NarrowColumns {
  typedef typename U::Int Reg;
  static constexpr int kUnit = 16 / kBytes;  // elements
  static constexpr int kPackedBytes = Packed::kBytes;
  static constexpr bool kHasSums = Packed::kHasSums;

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
  char* Dst(ptrdiff_t column, ptrdiff_t k) const {
    return static_cast<char*>(args->dst) +
           (column * args->padded_depth + k) * kPackedBytes;
  }

  void PackDepthContiguous() const {
    // A single column of adjacent elements has both orders.
    const ptrdiff_t stride = args->depth_contiguous ? args->src_stride : 1;
    for (ptrdiff_t w = 0; w < args->width; ++w) {
      const char* src =
          static_cast<const char*>(args->src) + w * stride * kBytes;
      char* dst = Dst(w, 0);
      Reg sums = U::Zero();
      ptrdiff_t k = 0;
      for (; k + kUnit <= args->depth; k += kUnit) {
        StoreUnit(U::LoadBytes(src), kUnit, kUnit, &sums, dst);
        src += 16;
        dst += kUnit * kPackedBytes;
      }
      if (k < args->depth) {
        const int left = static_cast<int>(args->depth - k);
        alignas(16) char unit[16];
        CopyPadded<16>(unit, src, left * kBytes);
        StoreUnit(U::LoadBytes(unit), left, args->padded_depth - k, &sums, dst);
      }
      if (kHasSums && args->sums != nullptr) args->sums[w] = U::LaneSum(sums);
    }
  }

  // By blocks of depth, whose lines stay in L1 while all of their columns are
  // packed.
  void PackWidthContiguous() const {
    constexpr ptrdiff_t kBlock = 256;
    const bool has_sums = kHasSums && args->sums != nullptr;
    if (has_sums)
      __builtin_memset(args->sums, 0, args->width * sizeof(int32_t));
    for (ptrdiff_t k = 0; k < args->depth; k += kBlock) {
      const ptrdiff_t left = args->depth - k;
      const ptrdiff_t end = k + (left < kBlock ? left : kBlock);
      for (ptrdiff_t w = 0; w < args->width; w += kUnit) {
        PackSquares(k, end, w, Min(args->width - w, kUnit), has_sums);
      }
    }
  }

  // Elements `k` to `end` - 1 of `columns` columns, `w` the first.
  void PackSquares(ptrdiff_t k, ptrdiff_t end, ptrdiff_t w, int columns,
                   bool has_sums) const {
    Reg sums[kUnit];
    for (int c = 0; c < kUnit; ++c) sums[c] = U::Zero();
    for (; k < end; k += kUnit) {
      const int depth = Min(end - k, kUnit);
      Reg square[kUnit];
      LoadSquare(k, depth, w, columns, square);
      Transpose(square);
      if (columns == kUnit && depth == kUnit) {
        char* dst = Dst(w, k);
        RUY_LIKE_UNROLL
        for (int c = 0; c < kUnit; ++c) {
          StoreUnit(square[c], kUnit, kUnit, &sums[c], dst);
          dst += args->padded_depth * kPackedBytes;
        }
        continue;
      }
      for (int c = 0; c < columns; ++c) {
        StoreUnit(square[c], depth, args->padded_depth - k, &sums[c],
                  Dst(w + c, k));
      }
    }
    if (!has_sums) return;
    for (int c = 0; c < columns; ++c) {
      args->sums[w + c] =
          static_cast<int32_t>(static_cast<uint32_t>(args->sums[w + c]) +
                               static_cast<uint32_t>(U::LaneSum(sums[c])));
    }
  }

  // Rows of one depth each, zeros where there are none.
  void LoadSquare(ptrdiff_t first, int depth, ptrdiff_t column, int columns,
                  Reg square[kUnit]) const {
    const char* src = static_cast<const char*>(args->src) +
                      (first * args->src_stride + column) * kBytes;
    if (columns == kUnit && depth == kUnit) {
      RUY_LIKE_UNROLL
      for (int k = 0; k < kUnit; ++k, src += args->src_stride * kBytes) {
        square[k] = U::LoadBytes(src);
      }
      return;
    }
    for (int k = 0; k < kUnit; ++k, src += args->src_stride * kBytes) {
      square[k] = U::Zero();
      if (k < depth) {
        alignas(16) char row[16];
        CopyPadded<16>(row, src, columns * kBytes);
        square[k] = U::LoadBytes(row);
      }
    }
  }

  static void Transpose(Reg square[kUnit]) {
    constexpr int kShuffles = kBytes == 1 ? 4 : kBytes == 2 ? 3 : 2;
    ShufflePerfectly<kUnit, kShuffles>(square, [](Reg& a, Reg& b) {
      if constexpr (kBytes == 1) U::Zip8(a, b);
      if constexpr (kBytes == 2) U::Zip16(a, b);
      if constexpr (kBytes == 4) U::Zip32(a, b);
    });
  }

  // Packs one unit, whose first `depth` elements exist; the others are zero.
  // Writes at most `room` elements, which is `depth` or more.
  void StoreUnit(Reg unit, int depth, ptrdiff_t room, Reg* sums,
                 char* dst) const {
    if (kBytes == 1 && flips) {
      static constexpr int8_t kFlips[32] = {-128, -128, -128, -128, -128, -128,
                                            -128, -128, -128, -128, -128, -128,
                                            -128, -128, -128, -128};
      unit = U::Xor(unit, depth == kUnit ? U::Set8(-128)
                                         : U::LoadBytes(kFlips + 16 - depth));
    }
    if constexpr (kHasSums) {
      if (args->sums != nullptr) {
        *sums = U::template AddSums<kBytes, Packed::kScalar>(*sums, unit);
      }
    }
    if (room >= kUnit) {
      Store(dst, unit);
    } else {
      alignas(16) char whole[kUnit * kPackedBytes];
      Store(whole, unit);
      __builtin_memcpy(dst, whole, static_cast<size_t>(room * kPackedBytes));
    }
  }

  RUY_LIKE_ALWAYS_INLINE static void Store(char* dst, Reg unit) {
    if constexpr (kPackedBytes > kBytes) {
      U::template StoreWidened<Packed>(dst, unit);
    } else {
      // Pairs in reverse order (panel_format.h).
      if constexpr (Packed::kScalar == Scalar::kBF16) unit = U::SwapWords(unit);
      U::StoreBytes(dst, unit);
    }
  }
};

template <class U, int kBytes, class Packed>
void PackNarrow(const PackArgs* args) {
  // 16-bit elements made of bytes are signed, as packed S8 ones are.
  const Scalar unflipped =
      Packed::kScalar == Scalar::kU8 ? Scalar::kU8 : Scalar::kI8;
  NarrowColumns<U, kBytes, Packed> columns;
  columns.args = args;
  columns.flips = kBytes == 1 && args->src_scalar != unflipped;
  columns.Pack();
}

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_PACK_PACK_NARROW_H_
