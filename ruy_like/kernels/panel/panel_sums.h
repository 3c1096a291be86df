// Back-end: how one step of a panel kernel's tile adds its products up.
//
// Used by MultiplyTile() (panel_tile.h), inlined into it. Knows neither where
// the operands come from nor what becomes of the sums.
//
// ## Additions that lag
//
// Where multiply-add is two instructions, vpmaddwd and vpaddd, two of four
// vector ports must do nothing but multiply to reach vpmaddwd's rate, but an
// addition that still waits for its product is often dealt to one of those.
// Register loops on a Zen 5, share of vpmaddwd alone, by how many products
// come between a product and its addition:
//
//    lag      0    1    2    3    5    6
//    percent  89   91.5 93   94   96   97
//
//      products   p0 p1 p2 p3 p4 ...        lag 2: three products at a time are
//      additions        a0 a1 a2 ...        in registers, of which the 24
//                                           accumulators of 512 bits leave six
//
// With its loads, an int8 product on AVX-512 of 512^3 to 3072x768x128 reaches
// 80.2-81.7% without lag, 81.0-82.2% with 1, 81.2-82.9% with 2. 16 registers of
// 256 bits have no room for any: 53%, since accumulators are spilled.
#ifndef RUY_LIKE_KERNELS_PANEL_PANEL_SUMS_H_
#define RUY_LIKE_KERNELS_PANEL_PANEL_SUMS_H_

#include "ruy_like/kernels/simd/always_inline.h"

namespace ruy_like {
namespace kernels {
namespace {

template <class Op, int kCols, int kVectors, int kLag = Op::kAddLag>
struct StepSums {
  typedef typename Op::Vector Vector;
  static constexpr int kTotal = kCols * kVectors;
  static constexpr int kProducts = kLag + 1;

  explicit RUY_LIKE_ALWAYS_INLINE StepSums(Vector (&sums)[kCols][kVectors])
      : acc(sums) {}

  Vector (&acc)[kCols][kVectors];
  Vector products[kProducts];

  // To be called in order of c, and of v within it.
  RUY_LIKE_ALWAYS_INLINE void MultiplyAdd(int c, int v, Vector lhs,
                                          Vector rhs) {
    const int i = c * kVectors + v;
    products[i % kProducts] = Op::Multiply(lhs, rhs);
    // No instruction: it makes the compiler, which would bring product and
    // addition together again, multiply before here and add after.
    asm volatile("" : : "v"(products[i % kProducts]));
    if (i >= kLag) Add(i - kLag);
  }
  // Adds the i-th product from the end.
  RUY_LIKE_ALWAYS_INLINE void AddLast(int i) {
    if (i <= kTotal) Add(kTotal - i);
  }
  RUY_LIKE_ALWAYS_INLINE void Add(int i) {
    Vector& sum = acc[i / kVectors][i % kVectors];
    sum = Op::Simd::Add(sum, products[i % kProducts]);
  }
};

// One instruction, or two in the order that the compiler likes.
template <class Op, int kCols, int kVectors>
struct StepSums<Op, kCols, kVectors, 0> {
  typedef typename Op::Vector Vector;

  explicit RUY_LIKE_ALWAYS_INLINE StepSums(Vector (&sums)[kCols][kVectors])
      : acc(sums) {}

  Vector (&acc)[kCols][kVectors];

  RUY_LIKE_ALWAYS_INLINE void MultiplyAdd(int c, int v,
                                          const typename Op::LhsVector& lhs,
                                          const typename Op::RhsVector& rhs) {
    acc[c][v] = Op::MultiplyAdd(acc[c][v], lhs, rhs);
  }
  RUY_LIKE_ALWAYS_INLINE void AddLast(int) {}
};

}  // namespace
}  // namespace kernels
}  // namespace ruy_like

#endif  // RUY_LIKE_KERNELS_PANEL_PANEL_SUMS_H_
