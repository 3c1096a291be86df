// Back-end: the wide tiles that multiply by lane (panel_lanes.h), for Arm cores
// that issue in order, at most two instructions a cycle: Cortex-A53 and A55.
//
// Template argument of PanelKernel<> (panel_kernel.h); neon.cc and neondot.cc
// list it as Kernel::run_in_order. Products, and their order in each
// accumulator, are the same as in the usual tiles; only loads and the order of
// instructions differ. doc/kernels.md has the rules' sources; no such core has
// run this.
//
// Both cores load 64 bits a cycle. A 128-bit load takes two cycles in which
// nothing else is issued. So each vector is
//
//    LDR Xt, [p, #8]         its upper half
//    LDR Dv, [p]             its lower half
//    INS Vv.D[1], Xt         once both have arrived
//
// and the loads of a depth position are spread over its multiplications: the
// A55 issues each of the three together with one.
//
// A register is loaded for the next position after its last use in this one,
// since all are in use. For lhs vectors l0, l1, l2 and rhs vectors r0, r1
// (columns 0-3 and 4-7), a slot being a multiplication by one lane:
//
//    slots               0-3  4-7  8-11        12-15  16-19  20-23
//    multiplied          l0   l1   l2          l0     l1     l2
//                        r0   r0   r0          r1     r1     r1
//    LDR D               2: l2  4: r1          15: r0  18: l0  21: l1
//
// where slots 2 and 4 load for this position and the others for the next one.
#ifndef RUY_LIKE_KERNELS_PANEL_PANEL_TILE_IN_ORDER_NEON_H_
#define RUY_LIKE_KERNELS_PANEL_PANEL_TILE_IN_ORDER_NEON_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/panel/panel_kernel.h"
#include "ruy_like/kernels/panel/panel_rhs.h"
#include "ruy_like/kernels/panel/panel_tile.h"
#include "ruy_like/simd/loops.h"
#include "ruy_like/simd/neon.h"

namespace ruy_like::kernels {
namespace {

// Every instruction of the loop is a volatile statement of its own: compilers
// allocate registers, and keep these in the order of the source.

// A vector of one of the operands, loaded in three steps.
struct LoadInHalves {
  uint64_t upper;
  uint64x2_t vector;

  template <int kOffset = 0>
  RUY_LIKE_ALWAYS_INLINE void LoadUpper(const char* p) {
    __asm__ volatile("ldr %0, [%1, %2]"
                     : "=r"(upper)
                     : "r"(p), "i"(kOffset + 8));
  }
  template <int kOffset = 0>
  RUY_LIKE_ALWAYS_INLINE void LoadLower(const char* p) {
    __asm__ volatile("ldr %d0, [%1, %2]" : "=w"(vector) : "r"(p), "i"(kOffset));
  }
  RUY_LIKE_ALWAYS_INLINE void Insert() {
    __asm__ volatile("ins %0.d[1], %1" : "+w"(vector) : "r"(upper));
  }
  RUY_LIKE_ALWAYS_INLINE void LoadAll(const char* p) {
    LoadUpper(p);
    LoadLower(p);
    Insert();
  }
};

// The multiplications, by one of four lanes of the rhs: FMLA, SDOT.
struct FloatsInOrder {
  template <int kLane>
  static RUY_LIKE_ALWAYS_INLINE void MultiplyAdd(float32x4_t& acc,
                                                 uint64x2_t lhs,
                                                 uint64x2_t rhs) {
    __asm__ volatile("fmla %0.4s, %1.4s, %2.s[%3]"
                     : "+w"(acc)
                     : "w"(lhs), "w"(rhs), "i"(kLane));
  }
};
struct QuadsInOrder {
  template <int kLane>
  static RUY_LIKE_ALWAYS_INLINE void MultiplyAdd(int32x4_t& acc, uint64x2_t lhs,
                                                 uint64x2_t rhs) {
    __asm__ volatile("sdot %0.4s, %1.16b, %2.4b[%3]"
                     : "+w"(acc)
                     : "w"(lhs), "w"(rhs), "i"(kLane));
  }
};

// The products of a tile of three lhs vectors and eight columns.
template <class Multiplication, typename Vector>
struct InOrderLoop {
  LoadInHalves l0, l1, l2, r0, r1;
  const char *lhs0, *lhs1, *lhs2, *rhs;
  ptrdiff_t left;  // positions after this one
  Vector acc[8][3];

  RUY_LIKE_ALWAYS_INLINE void Run(const TileArgs& args) {
    if (args.steps <= 0) return;
    lhs0 = static_cast<const char*>(args.lhs);
    lhs1 = lhs0 + args.lhs_stride_bytes;
    lhs2 = lhs1 + args.lhs_stride_bytes;
    rhs = static_cast<const char*>(args.rhs.data);
    left = args.steps - 1;
    __asm__ volatile("" : : : "memory");  // the panels are in memory
    l0.LoadAll(lhs0);
    l1.LoadAll(lhs1);
    r0.LoadAll(rhs);
    while (left != 0) DepthStep</*kAdvance=*/1>();
    // Its loads for the next position read this one again, and are not used.
    DepthStep</*kAdvance=*/0>();
  }

  // Multiplications, each with the instruction that is issued together with it.
  // The last one's is the loop's branch.
  template <int kAdvance>
  RUY_LIKE_ALWAYS_INLINE void DepthStep() {
    Multiply<0, 0>(l0, r0), l2.LoadUpper(lhs2);
    Multiply<1, 0>(l0, r0), l1.Insert();
    Multiply<2, 0>(l0, r0), l2.LoadLower(lhs2);
    Multiply<3, 0>(l0, r0), r1.LoadUpper<16>(rhs);
    Multiply<0, 1>(l1, r0), r1.LoadLower<16>(rhs);
    Multiply<1, 1>(l1, r0), l2.Insert();
    Multiply<2, 1>(l1, r0);
    Multiply<3, 1>(l1, r0), Add<-kAdvance>(left);
    Multiply<0, 2>(l2, r0), r1.Insert();
    Multiply<1, 2>(l2, r0), Add<32 * kAdvance>(rhs);
    Multiply<2, 2>(l2, r0), Add<16 * kAdvance>(lhs0);
    Multiply<3, 2>(l2, r0), Add<16 * kAdvance>(lhs1);
    Multiply<4, 0>(l0, r1), Add<16 * kAdvance>(lhs2);
    Multiply<5, 0>(l0, r1);
    Multiply<6, 0>(l0, r1), r0.LoadUpper(rhs);
    Multiply<7, 0>(l0, r1), r0.LoadLower(rhs);
    Multiply<4, 1>(l1, r1);
    Multiply<5, 1>(l1, r1), l0.LoadUpper(lhs0);
    Multiply<6, 1>(l1, r1), l0.LoadLower(lhs0);
    Multiply<7, 1>(l1, r1), r0.Insert();
    Multiply<4, 2>(l2, r1), l1.LoadUpper(lhs1);
    Multiply<5, 2>(l2, r1), l1.LoadLower(lhs1);
    Multiply<6, 2>(l2, r1), l0.Insert();
    Multiply<7, 2>(l2, r1);
  }

  template <int kColumn, int kVector>
  RUY_LIKE_ALWAYS_INLINE void Multiply(const LoadInHalves& l,
                                       const LoadInHalves& r) {
    Multiplication::template MultiplyAdd<kColumn % 4>(acc[kColumn][kVector],
                                                      l.vector, r.vector);
  }

  template <int kValue, typename T>
  static RUY_LIKE_ALWAYS_INLINE void Add(T& number) {
    __asm__ volatile("add %0, %0, %1" : "+r"(number) : "i"(kValue));
  }
};

// The operation Base, by lane, with that loop in full tiles.
template <class Base, class Multiplication>
struct InOrderOp : Base {
  static constexpr TileKind kTileKind = TileKind::kOwn;
  template <class RhsSource, int kVectors, int kCols>
  struct Tile {
    static void Run(const TileArgs& args) {
      if constexpr (kVectors == 3 && kCols == 8) {
        InOrderLoop<Multiplication, typename Base::Vector> loop;
        StartTile<Base, /*kOneStart=*/false>(args, loop.acc);
        loop.Run(args);
        EndTile<Base>(args, loop.acc);
      } else {
        RunTile<Base, RhsSource, kVectors, kCols>(args);
      }
    }
  };
};

// The kernel of PanelKernel<Base, 3, 8>, with that loop in addition.
template <class Base, class Multiplication>
constexpr Kernel WithInOrderLoop(Kernel kernel) {
  kernel.run_in_order = PanelKernel<InOrderOp<Base, Multiplication>, 3, 8,
                                    PackedRhs<Base, 8>>::Run;
  return kernel;
}

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_PANEL_PANEL_TILE_IN_ORDER_NEON_H_
