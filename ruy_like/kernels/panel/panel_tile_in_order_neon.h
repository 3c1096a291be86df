// Back-end: the wide tiles that multiply by lane (panel_lanes.h), for Arm cores
// that issue in order, at most two instructions a cycle: Cortex-A53 and A55.
//
// Template argument of PanelKernel<> (panel_kernel.h); chosen by neon.cc and
// neondot.cc as routines of kernels beside the usual ones
// (machine/pipeline.h). Products, and their order in each accumulator, are the
// same; only loads and the order of instructions differ. doc/kernels.md says
// from where the rules below are, and that none of this was run on such a core.
//
// Both cores load 64 bits a cycle. A 128-bit load takes two cycles in which
// nothing else is issued; one of a general register costs nothing if it follows
// a 128-bit multiplication. So each vector is
//
//    LDR Xt, [p, #8]         its upper half
//    LDR Dv, [p]             its lower half
//    INS Vv.D[1], Xt         once both have arrived
//
// and the loads of a level are spread over its multiplications. The A55 issues
// each of the three beside a multiplication. On the A53 an LDR D pairs with an
// INS, but neither with a multiplication, so that the INS of one vector comes
// right after the LDR D of the next.
//
// A register is loaded for the next level after its last use in this one; there
// is none to spare. For lhs vectors l0, l1, l2 and rhs vectors r0, r1 (columns
// 0-3 and 4-7), a slot being a multiplication by one lane:
//
//    slots               0-3  4-7  8-11        12-15  16-19  20-23
//                        l0   l1   l2          l0     l1     l2
//                        r0   r0   r0          r1     r1     r1
//    LDR D in, A53         2: r1                14: r0  17: l0  20: l1  23: l2
//              A55         2: l2  4: r1         15: r0  18: l0  21: l1
//
// where those of slots 0 to 4 are this level's and the others the next one's.
#ifndef RUY_LIKE_KERNELS_PANEL_PANEL_TILE_IN_ORDER_NEON_H_
#define RUY_LIKE_KERNELS_PANEL_PANEL_TILE_IN_ORDER_NEON_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/panel/indices.h"
#include "ruy_like/kernels/panel/panel_kernel.h"
#include "ruy_like/kernels/panel/panel_rhs.h"
#include "ruy_like/kernels/panel/panel_tile.h"
#include "ruy_like/simd/loops.h"
#include "ruy_like/simd/neon.h"

namespace ruy_like {
namespace kernels {
namespace {

// Computes `done` before anything that takes `next`. Chains of these keep
// instructions in the order of the source: a compiler may move what an empty
// statement does not depend on, volatile or not.
template <typename Done, typename Next>
RUY_LIKE_ALWAYS_INLINE void Order(Done& done, Next& next) {
  __asm__("" : "+w"(done), "+w"(next));
}
template <typename Done, typename Next>
RUY_LIKE_ALWAYS_INLINE void OrderBeforeScalar(Done& done, Next& next) {
  __asm__("" : "+w"(done), "+r"(next));
}
template <typename Done, typename Next>
RUY_LIKE_ALWAYS_INLINE void OrderAfterScalar(Done& done, Next& next) {
  __asm__("" : "+r"(done), "+w"(next));
}

// A vector of one of the operands, loaded in three steps.
struct LoadInHalves {
  uint64_t upper;
  uint64x2_t vector;

  RUY_LIKE_ALWAYS_INLINE void LoadUpper(const char* p) {
    __builtin_memcpy(&upper, p + 8, sizeof(upper));
    // Else a compiler makes one load of both.
    __asm__("" : "+r"(upper));
  }
  RUY_LIKE_ALWAYS_INLINE void LoadLower(const char* p) {
    const uint64x1_t lower = vld1_u64(reinterpret_cast<const uint64_t*>(p));
    // Either makes the other's way two instructions.
#if defined(__clang__)
    vector = __builtin_shufflevector(lower, lower, 0, -1);
#else
    vector = vcombine_u64(lower, vcreate_u64(0));
#endif
    __asm__("" : "+w"(vector));
  }
  RUY_LIKE_ALWAYS_INLINE void Insert() {
    vector = vsetq_lane_u64(upper, vector, 1);
    __asm__("" : "+w"(vector));
  }
};

// In which slot of the level before its own each vector is loaded; from the
// number of slots on, of its own. In the order of loading: r0, the lhs's, r1.
template <int kVectors>
struct InOrderSchedule {
  int upper[kVectors + 2];  // LDR X
  int lower[kVectors + 2];  // LDR D
  int insert[kVectors + 2];
  // Slots of the level before in which the rhs and lhs pointers advance.
  int advance[kVectors + 1];
  int count;  // and the number of levels that are left
};
// The loads are three multiplications apart, for the A53 is said to hold up a
// vector load in the fourth cycle after a multiplication, not after a load.
constexpr InOrderSchedule<3> kScheduleOnA53 = {{13, 16, 19, 22, 25},
                                               {14, 17, 20, 23, 26},
                                               {17, 20, 23, 26, 29},
                                               {7, 8, 9, 10},
                                               11};
// A slot has one of these, the last one none: that is for the branch.
constexpr InOrderSchedule<3> kScheduleOnA55 = {{14, 17, 20, 24, 27},
                                               {15, 18, 21, 26, 28},
                                               {19, 22, 25, 29, 32},
                                               {9, 10, 11, 12},
                                               7};
// On both: a level of sixteen slots is too short for another order.
constexpr InOrderSchedule<2> kScheduleOfTwo = {
    {8, 11, 14, 17}, {9, 12, 15, 18}, {12, 15, 18, 21}, {7, 7, 7}, 4};

// A tile's products over depth.
template <class Op, int kVectors, const InOrderSchedule<kVectors>& kSchedule>
class InOrderLoop {
 public:
  static constexpr int kCols = 8;
  typedef typename Op::Vector Vector;
  typedef Vector Accumulators[kCols][kVectors];

  RUY_LIKE_ALWAYS_INLINE explicit InOrderLoop(const TileArgs& args)
      : left_(args.steps - 1) {
    pointers_[0] = static_cast<const char*>(args.rhs.data);
    const char* const lhs = static_cast<const char*>(args.lhs);
    RUY_LIKE_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      pointers_[1 + v] = lhs + v * args.lhs_stride_bytes;
    }
  }

  RUY_LIKE_ALWAYS_INLINE void Run(Accumulators& acc) {
    typedef typename MakeIndices<kSlots>::Type Slots;
    if (left_ < 0) return;
    // What a level before would have done.
    RUY_LIKE_UNROLL
    for (int i = 0; i < kLoads; ++i) {
      if (kSchedule.upper[i] < kSlots) loads_[i].LoadUpper(pointers_[i]);
      if (kSchedule.lower[i] < kSlots) loads_[i].LoadLower(pointers_[i]);
      if (kSchedule.insert[i] < kSlots) loads_[i].Insert();
    }
    while (left_ != 0) Level</*kLoadsNext=*/true>(acc, Slots());
    Level</*kLoadsNext=*/false>(acc, Slots());
  }

 private:
  static constexpr int kSlots = kCols * kVectors;
  static constexpr int kLoads = kVectors + 2;
  static constexpr int kR1 = kLoads - 1;

  // The first and the last slot of a vector's level that use it.
  static constexpr int FirstUse(int i) {
    return i == 0 ? 0 : i == kR1 ? kSlots / 2 : 4 * (i - 1);
  }
  static constexpr int LastUse(int i) {
    return i == 0     ? kSlots / 2 - 1
           : i == kR1 ? kSlots - 1
                      : kSlots / 2 + 4 * i - 1;
  }
  static constexpr bool IsInTime() {
    for (int i = 0; i < kLoads; ++i) {
      if (kSchedule.lower[i] < LastUse(i) ||
          kSchedule.insert[i] <= kSchedule.lower[i] ||
          kSchedule.insert[i] <= kSchedule.upper[i] ||
          kSchedule.insert[i] >= kSlots + FirstUse(i)) {
        return false;
      }
    }
    return true;
  }
  static_assert(IsInTime(), "a vector is overwritten or used at a wrong time");

  template <bool kLoadsNext, int... kSlot>
  RUY_LIKE_ALWAYS_INLINE void Level(Accumulators& acc, Indices<kSlot...>) {
    (Slot<kLoadsNext, kSlot>(acc, typename MakeIndices<kLoads>::Type()), ...);
  }

  template <int kSlot>
  static RUY_LIKE_ALWAYS_INLINE Vector& Sum(Accumulators& acc) {
    return acc[kSlot / (4 * kVectors) * 4 + kSlot % 4]
              [kSlot % (4 * kVectors) / 4];
  }

  // A multiplication, and what is done between it and the next one.
  template <bool kLoadsNext, int kSlot, int... kI>
  RUY_LIKE_ALWAYS_INLINE void Slot(Accumulators& acc, Indices<kI...>) {
    const uint64x2_t& lhs = loads_[1 + kSlot % (4 * kVectors) / 4].vector;
    uint64x2_t& rhs = loads_[kSlot / (4 * kVectors) * kR1].vector;
    Vector& sum = Sum<kSlot>(acc);
    Vector& next = Sum<(kSlot + 1) % kSlots>(acc);
    sum = Op::template MultiplyAddLane<kSlot % 4>(
        sum, reinterpret_cast<typename Op::LhsVector>(lhs),
        reinterpret_cast<typename Op::RhsVector>(rhs));
    (Load<kLoadsNext, kSlot, kI>(sum, next), ...);
    if constexpr (kLoadsNext) Advance<kSlot>(sum, next);
    if constexpr (kSlot % 4 == 3) {
      // The rhs as well: else gcc keeps each of its lanes in a vector of its
      // own for the multiplications of the next vector of the lhs.
      __asm__("" : "+w"(sum), "+w"(next), "+w"(rhs));
    } else {
      Order(sum, next);
    }
  }

  // Whether something that is done in `slot`, of the level before or of the
  // vector's own, is done in this one.
  template <bool kLoadsNext, int kSlot>
  static constexpr bool IsNow(int slot) {
    return (kLoadsNext && slot == kSlot) || slot == kSlot + kSlots;
  }

  template <bool kLoadsNext, int kSlot, int i>
  RUY_LIKE_ALWAYS_INLINE void Load(Vector& sum, Vector& next) {
    LoadInHalves& load = loads_[i];
    const char*& p = pointers_[i % kR1];
    constexpr int kOffset = i == kR1 ? 16 : 0;  // r1 lies behind r0
    if constexpr (IsNow<kLoadsNext, kSlot>(kSchedule.upper[i])) {
      OrderBeforeScalar(sum, p);
      load.LoadUpper(p + kOffset);
      OrderAfterScalar(load.upper, next);
    }
    if constexpr (IsNow<kLoadsNext, kSlot>(kSchedule.lower[i])) {
      OrderBeforeScalar(sum, p);
      load.LoadLower(p + kOffset);
      Order(load.vector, next);
    }
    if constexpr (IsNow<kLoadsNext, kSlot>(kSchedule.insert[i])) {
      Order(sum, load.vector);
      load.Insert();
      Order(load.vector, next);
    }
  }

  template <int kSlot>
  RUY_LIKE_ALWAYS_INLINE void Advance(Vector& sum, Vector& next) {
    RUY_LIKE_UNROLL
    for (int i = 0; i <= kVectors; ++i) {
      if (kSlot != kSchedule.advance[i]) continue;
      OrderBeforeScalar(sum, pointers_[i]);
      pointers_[i] += i == 0 ? 32 : 16;
      OrderAfterScalar(pointers_[i], next);
    }
    if constexpr (kSlot == kSchedule.count) {
      OrderBeforeScalar(sum, left_);
      --left_;
      OrderAfterScalar(left_, next);
    }
  }

  LoadInHalves loads_[kLoads];
  const char* pointers_[1 + kVectors];  // into the rhs, into the lhs's panels
  ptrdiff_t left_;                      // levels after this one
};

// The operation Base, by lane, with that loop in tiles of all eight columns.
template <class Base, const InOrderSchedule<3>& kSchedule>
struct InOrderOp : Base {
  static constexpr TileKind kTileKind = TileKind::kOwn;
  template <class RhsSource, int kVectors, int kCols>
  struct Tile {
    static void Run(const TileArgs& args) {
      if constexpr (kCols != 8) {
        RunTile<Base, RhsSource, kVectors, kCols>(args);
      } else if constexpr (kVectors == 3) {
        RunLoop<InOrderLoop<Base, 3, kSchedule>>(args);
      } else if constexpr (kVectors == 2) {
        RunLoop<InOrderLoop<Base, 2, kScheduleOfTwo>>(args);
      } else {
        RunTile<Base, RhsSource, kVectors, kCols>(args);
      }
    }
  };

 private:
  template <class Loop>
  static RUY_LIKE_ALWAYS_INLINE void RunLoop(const TileArgs& args) {
    typename Loop::Accumulators acc;
    StartTile<Base, /*kOneStart=*/false>(args, acc);
    Loop(args).Run(acc);
    EndTile<Base>(args, acc);
  }
};

// PanelKernel<Op, 3, 8> for these cores: its routine alone, whose Kernel is the
// same.
template <class Op>
using PanelKernelOnA53 =
    PanelKernel<InOrderOp<Op, kScheduleOnA53>, 3, 8, PackedRhs<Op, 8>>;
template <class Op>
using PanelKernelOnA55 =
    PanelKernel<InOrderOp<Op, kScheduleOnA55>, 3, 8, PackedRhs<Op, 8>>;

constexpr Kernel WithInOrderRoutines(Kernel kernel, KernelFn* run_on_a53,
                                     KernelFn* run_on_a55) {
  kernel.run_on_a53 = run_on_a53;
  kernel.run_on_a55 = run_on_a55;
  return kernel;
}

}  // namespace
}  // namespace kernels
}  // namespace ruy_like

#endif  // RUY_LIKE_KERNELS_PANEL_PANEL_TILE_IN_ORDER_NEON_H_
