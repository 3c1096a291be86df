// Back-end: the operations of group_tile.h in portable C++, for
// kernels/portable.cc.
#ifndef RUY_LIKE_KERNELS_GROUPS_GROUP_OPS_PORTABLE_H_
#define RUY_LIKE_KERNELS_GROUPS_GROUP_OPS_PORTABLE_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/fused_multiply_add.h"
#include "ruy_like/kernels/groups/group_table.h"
#include "ruy_like/simd/loops.h"
#include "ruy_like/simd/simd_vectors.h"

namespace ruy_like::kernels {
namespace {

// Four lanes, in vectors of the compiler's.
struct PortableSimd : SimdVectors<PortableSimd> {
  static Int LoadTo32(const uint8_t* p) { return Int{p[0], p[1], p[2], p[3]}; }
  static RUY_LIKE_ALWAYS_INLINE Float MulAddFloat(Float a, Float b, Float c) {
    for (int i = 0; i < kLanes; ++i) c[i] = FusedMultiplyAdd(a[i], b[i], c[i]);
    return c;
  }
};

struct PortableDot : WithoutTable {
  static constexpr int kParts = 2;
  struct Acc {
    alignas(16) int32_t lane[PortableSimd::kLanes];
  };
  struct Weights {
    uint8_t value[4 * PortableSimd::kLanes];
  };
  struct Activations {
    int8_t value[4];
  };
  static constexpr int kActivationBytes = 1;
  static Acc Start(int32_t x) { return {{x, x, x, x}}; }
  static PortableSimd::Int Finish(const Acc& acc) {
    return PortableSimd::LoadAligned(acc.lane);
  }
  static Weights LoadWeights(const uint8_t* p) {
    Weights weights;
    __builtin_memcpy(&weights, p, sizeof(weights));
    return weights;
  }
  static Activations LoadActivations(const char* p) {
    Activations activations;
    __builtin_memcpy(&activations, p, sizeof(activations));
    return activations;
  }
  static RUY_LIKE_ALWAYS_INLINE void Step(Acc& acc, const Weights& weights,
                                          const Activations& activations) {
    int32_t sums[PortableSimd::kLanes];
    for (int r = 0; r < PortableSimd::kLanes; ++r) {
      sums[r] = 0;
      for (int i = 0; i < 4; ++i) {
        sums[r] += weights.value[4 * r + i] * activations.value[i];
      }
    }
    for (int r = 0; r < PortableSimd::kLanes; ++r) {
      acc.lane[r] = static_cast<int32_t>(static_cast<uint32_t>(acc.lane[r]) +
                                         static_cast<uint32_t>(sums[r]));
    }
  }
};

struct PortableNibbles : HalvesOf<PortableDot> {
  static Weights LoadWeights(const uint8_t* p) {
    Weights weights;
    for (int i = 0; i < 4 * PortableSimd::kLanes; ++i) {
      weights.low.value[i] = p[i] & 15;
      weights.high.value[i] = p[i] >> 4;
    }
    return weights;
  }
};

// PackByTable's Codes.
template <int kBits>
struct PortableLookup : PortableNibbles {
  static constexpr int kSteps = 4 / kBits;
  static const uint8_t* LoadTable(const uint8_t* table) { return table; }
  template <int kStep>
  static Weights LoadWeights(const uint8_t* p, const uint8_t* table) {
    constexpr int kMask = (1 << kBits) - 1;
    Weights weights;
    for (int i = 0; i < 4 * PortableSimd::kLanes; ++i) {
      const int both = p[i] >> (2 * kBits * kStep);
      weights.low.value[i] = table[both & kMask];
      weights.high.value[i] = table[both >> kBits & kMask];
    }
    return weights;
  }
};

template <class CodesT>
using PortableForm = GroupForm<PortableSimd, CodesT>;

// For PackActivations.
struct PortableGroupOps : PlainGroupStarts {
  static constexpr PackFn* kCopyInt8 = nullptr;
  static constexpr PackFn* kCopyFloats = nullptr;
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_GROUPS_GROUP_OPS_PORTABLE_H_
