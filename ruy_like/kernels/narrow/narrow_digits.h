// Back-end: one column of 8-bit elements, the lhs read in place, on paths
// without VNNI.
//
// Included by tables_x86.h, which lists NarrowDigitsKernel<> in front of
// NarrowDotsKernel<>, whose rhs panels it takes too. It handles a single
// column, depth-contiguous lhs and depth that is not split into passes.
//
// ## Digits
//
// Widening bytes for vpmaddwd takes more time than multiplying them. vpmaddubsw
// multiplies bytes, unsigned by signed, and adds two products; but it saturates
// at 16 bits. So each rhs element w, its zero point subtracted, is cut into two
// digits, w = weight[0] * d[0] + weight[1] * d[1], small enough that four
// results of vpmaddubsw can be added in 16 bits:
//
//    lhs int8,  -128 .. 127    d unsigned, 0 .. 31: w = 16 d[0] - 17 d[1]
//                              4 * 2 * 128 * 31 = 31744 < 2^15
//    lhs uint8, 0 .. 255       d signed, -16 .. 16: w = 16 d[0] + d[1]
//                              4 * 2 * 255 * 16 = 32640 < 2^15
//
// (31 is the least that represents all of -255 .. 255 with unsigned digits.)
// Since w is without its zero point, no sums of the lhs are needed. For four
// vectors of a row, of 16-bit lanes t and 32-bit lanes s:
//
//    t[j] = vpmaddubsw(x0, d[j]0) + vpmaddubsw(x1, d[j]1) + ... x3    8 mul,
//    s[j] += vpmaddwd(t[j], 1)                                        6 + 4 op
//
// that is, 4.5 instructions a vector in addition to its loads, 2.5 of which
// multiply; widening takes 6 and, for sums, 2.
//
// The digits of kMaxDepth elements are in a buffer, in L1 (n = kStep):
//
//    | d[0], depth 0 .. n-1 | d[1], depth 0 .. n-1 | d[0], depth n .. 2n-1 |
#ifndef RUY_LIKE_KERNELS_NARROW_NARROW_DIGITS_H_
#define RUY_LIKE_KERNELS_NARROW_NARROW_DIGITS_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/kernel.h"
#include "ruy_like/kernels/narrow/narrow_common.h"
#include "ruy_like/kernels/narrow/narrow_dots.h"
#include "ruy_like/kernels/narrow/narrow_row_streams.h"
#include "ruy_like/simd/loops.h"
namespace ruy_like::kernels {
namespace {

// How an rhs element in [-255, 255] becomes digits, by the type of the lhs.
template <typename Lhs>
struct DigitsFor;

template <>
struct DigitsFor<int8_t> {
  static constexpr int kWeights[2] = {16, -17};
  // The lower of the two d[1] that are -w modulo 16, unless d[0] would be
  // negative.
  static RUY_LIKE_ALWAYS_INLINE void Make(int16_t w, char* d0, char* d1) {
    int16_t low = static_cast<int16_t>(-w & 15);
    if (w + 17 * low < 0) low = static_cast<int16_t>(low + 16);
    *d0 = static_cast<char>((w + 17 * low) >> 4);
    *d1 = static_cast<char>(low);
  }
  template <class V>
  static RUY_LIKE_ALWAYS_INLINE typename V::Int Multiply(
      typename V::Int lhs, typename V::Int digits) {
    return V::MultiplyBytes(digits, lhs);
  }
};

template <>
struct DigitsFor<uint8_t> {
  static constexpr int kWeights[2] = {16, 1};
  static RUY_LIKE_ALWAYS_INLINE void Make(int16_t w, char* d0, char* d1) {
    const int16_t low = static_cast<int16_t>(((w + 8) & 15) - 8);
    *d0 = static_cast<char>((w - low) >> 4);
    *d1 = static_cast<char>(low);
  }
  template <class V>
  static RUY_LIKE_ALWAYS_INLINE typename V::Int Multiply(
      typename V::Int lhs, typename V::Int digits) {
    return V::MultiplyBytes(lhs, digits);
  }
};

template <class V, class Dot, typename Lhs>
struct NarrowDigitsKernel {
  typedef NarrowDotsKernel<NarrowPairsOp<V, Dot, Lhs>> AnyZeroPoint;
  typedef typename V::Int Vector;
  typedef DigitsFor<Lhs> Digits;
  static constexpr int kStep = 4 * V::kLanes;
  // vpmaddubsw results that are added in 16 bits; see above.
  static constexpr int kStepsPerStretch = 4;
  static constexpr int kMaxDepth = 8192;

  static constexpr Kernel Entry(const char* name, PackFn* pack_rhs) {
    Kernel kernel = AnyZeroPoint::Entry(name, Family::k8x8, pack_rhs);
    kernel.rhs.depth_multiple = kStep;
    kernel.tile_cols = 1;
    kernel.max_cols = 1;
    kernel.run = Run;
    return kernel;
  }

  static void Run(const KernelArgs* args) {
    const int32_t zero_point = args->epilogue->rhs_zero_point;
    if (zero_point < -128 || zero_point > 127) {
      AnyZeroPoint::RunPadded(args);
      return;
    }
    Tiles tiles(*args);
    RowStreamRunner<V, int32_t, Tiles>(*args, &tiles).Run();
  }

 private:
  // For RowStreamRunner<>.
  class Tiles {
   public:
    explicit Tiles(const KernelArgs& args) : args_(args), first_depth_(-1) {}

    RUY_LIKE_ALWAYS_INLINE void Run(const StreamTiles& tiles, int32_t* sums) {
      for (ptrdiff_t first = 0; first < args_.depth; first += kMaxDepth) {
        if (first != first_depth_) MakeDigits(first);
        RunDepth(tiles, first, sums);
      }
    }

   private:
    RUY_LIKE_ALWAYS_INLINE ptrdiff_t DepthFrom(ptrdiff_t first) const {
      return Min(args_.depth - first, kMaxDepth);
    }

    RUY_LIKE_NOINLINE void MakeDigits(ptrdiff_t first) {
      first_depth_ = first;
      const int16_t zero_point =
          static_cast<int16_t>(args_.epilogue->rhs_zero_point);
      const int16_t* rhs = static_cast<const int16_t*>(args_.rhs) + first;
      char* digits = digits_;
      for (ptrdiff_t left = DepthFrom(first); left > 0; left -= kStep) {
        for (int i = 0; i < kStep; ++i) {
          Digits::Make(static_cast<int16_t>(rhs[i] - zero_point), digits + i,
                       digits + kStep + i);
        }
        rhs += kStep;
        digits += 2 * kStep;
      }
    }

    // Multiplies the elements whose digits have been made.
    RUY_LIKE_NOINLINE void RunDepth(const StreamTiles& tiles, ptrdiff_t first,
                                    int32_t* sums) const {
      const ptrdiff_t depth = DepthFrom(first);
      const char* rows[kStreams];
      for (int r = 0; r < kStreams; ++r) rows[r] = tiles.rows[r] + first;
      for (int i = 0; i < tiles.count; ++i, ++sums) {
        alignas(16) int32_t products[kStreams];
        MultiplyTile(rows, depth, products);
        for (int r = 0; r < kStreams; ++r) {
          int32_t* const sum = sums + r * tiles.segment_rows;
          const uint32_t before = first == 0 ? 0 : static_cast<uint32_t>(*sum);
          *sum =
              static_cast<int32_t>(before + static_cast<uint32_t>(products[r]));
          rows[r] += args_.lhs_stride_bytes;
        }
      }
    }

    RUY_LIKE_ALWAYS_INLINE void MultiplyTile(const char* const* rows,
                                             ptrdiff_t depth,
                                             int32_t* products) const {
      constexpr int kStretch = kStepsPerStretch * kStep;
      Vector acc[kStreams][2];
      RUY_LIKE_UNROLL
      for (int r = 0; r < kStreams; ++r) acc[r][0] = acc[r][1] = V::Zero();
      const ptrdiff_t whole = depth / kStretch * kStretch;
      for (ptrdiff_t k = 0; k < whole; k += kStretch) {
        RUY_LIKE_UNROLL
        for (int r = 0; r < kStreams; ++r) {
          Vector in16[2];
          RUY_LIKE_UNROLL
          for (int i = 0; i < kStepsPerStretch; ++i) {
            Step(V::Load(rows[r] + k + i * kStep), k + i * kStep, i == 0, in16);
          }
          Flush(in16, acc[r]);
        }
      }
      if (whole < depth) {
        RUY_LIKE_UNROLL
        for (int r = 0; r < kStreams; ++r) {
          Vector in16[2];
          for (ptrdiff_t k = whole; k < depth; k += kStep) {
            const ptrdiff_t left = depth - k;
            const Vector lhs =
                left >= kStep
                    ? V::Load(rows[r] + k)
                    : V::LoadFirst(rows[r] + k, static_cast<int>(left));
            Step(lhs, k, k == whole, in16);
          }
          Flush(in16, acc[r]);
        }
      }
      Vector sums[kStreams];
      RUY_LIKE_UNROLL
      for (int r = 0; r < kStreams; ++r) {
        sums[r] = V::Add(V::Mul(acc[r][0], V::Set(Digits::kWeights[0])),
                         V::Mul(acc[r][1], V::Set(Digits::kWeights[1])));
      }
      V::StoreLaneSums(products, sums[0], sums[1], sums[2], sums[3]);
    }

    RUY_LIKE_ALWAYS_INLINE void Step(Vector lhs, ptrdiff_t k, bool is_first,
                                     Vector in16[2]) const {
      V::HoldInRegister(lhs);
      RUY_LIKE_UNROLL
      for (int j = 0; j < 2; ++j) {
        const Vector product = Digits::template Multiply<V>(
            lhs, V::Load(digits_ + 2 * k + j * kStep));
        in16[j] = is_first ? product : V::Add16(in16[j], product);
        V::HoldInRegister(in16[j]);
      }
    }

    static RUY_LIKE_ALWAYS_INLINE void Flush(const Vector in16[2],
                                             Vector acc[2]) {
      RUY_LIKE_UNROLL
      for (int j = 0; j < 2; ++j) {
        acc[j] = Dot::Pairs(acc[j], in16[j], V::Set16(1));
        V::HoldInRegister(acc[j]);
      }
    }

    alignas(64) char digits_[2 * kMaxDepth];
    const KernelArgs& args_;
    ptrdiff_t first_depth_;  // of the digits in digits_, or -1
  };
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_NARROW_NARROW_DIGITS_H_
