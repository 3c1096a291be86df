// Back-end: the operations of group_tile.h in portable C++, for
// kernels/portable.cc.
#ifndef RUY_LIKE_KERNELS_GROUPS_GROUP_OPS_PORTABLE_H_
#define RUY_LIKE_KERNELS_GROUPS_GROUP_OPS_PORTABLE_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/float16.h"
#include "ruy_like/fused_multiply_add.h"
#include "ruy_like/kernels/groups/group_table.h"
#include "ruy_like/simd/loops.h"

namespace ruy_like::kernels {
namespace {

// Four lanes, which most compilers make a vector.
struct PortableSimd {
  static constexpr int kLanes = 4;
  struct Int {
    int32_t lane[kLanes];
  };
  struct Float {
    float lane[kLanes];
  };
  template <class Vector, class Function>
  static RUY_LIKE_ALWAYS_INLINE Vector Make(Function function) {
    Vector result;
    for (int i = 0; i < kLanes; ++i) result.lane[i] = function(i);
    return result;
  }
  static Int Set(int32_t x) {
    return Make<Int>([x](int) { return x; });
  }
  static Float SetFloat(float x) {
    return Make<Float>([x](int) { return x; });
  }
  static Int LoadAligned(const int32_t* p) {
    return Make<Int>([p](int i) { return p[i]; });
  }
  static Float LoadAligned(const float* p) {
    return Make<Float>([p](int i) { return p[i]; });
  }
  static void StoreAligned(float* p, const Float& x) {
    for (int i = 0; i < kLanes; ++i) p[i] = x.lane[i];
  }
  template <Scalar kFrom>
  static Float LoadWidened(const uint16_t* p) {
    return Make<Float>([p](int i) {
      return float16_internal::FloatOfBits(
          kFrom == Scalar::kF16 ? float16_internal::WidenFloat16(p[i])
                                : float16_internal::WidenBFloat16(p[i]));
    });
  }
  // Modulo 2^32.
  static Int Add(const Int& a, const Int& b) {
    return Make<Int>([&](int i) {
      return static_cast<int32_t>(static_cast<uint32_t>(a.lane[i]) +
                                  static_cast<uint32_t>(b.lane[i]));
    });
  }
  static Int Sub(const Int& a, const Int& b) {
    return Make<Int>([&](int i) {
      return static_cast<int32_t>(static_cast<uint32_t>(a.lane[i]) -
                                  static_cast<uint32_t>(b.lane[i]));
    });
  }
  static Int Mul(const Int& a, const Int& b) {
    return Make<Int>([&](int i) {
      return static_cast<int32_t>(static_cast<uint32_t>(a.lane[i]) *
                                  static_cast<uint32_t>(b.lane[i]));
    });
  }
  static Float ToFloat(const Int& x) {
    return Make<Float>([&](int i) { return static_cast<float>(x.lane[i]); });
  }
  static Float AddFloat(const Float& a, const Float& b) {
    return Make<Float>([&](int i) { return a.lane[i] + b.lane[i]; });
  }
  static Float MulFloat(const Float& a, const Float& b) {
    return Make<Float>([&](int i) { return a.lane[i] * b.lane[i]; });
  }
  // Both return `x` if it is a NaN, or if both are zeros.
  static Float AtLeast(const Float& bound, const Float& x) {
    return Make<Float>([&](int i) {
      return x.lane[i] < bound.lane[i] ? bound.lane[i] : x.lane[i];
    });
  }
  static Float AtMost(const Float& bound, const Float& x) {
    return Make<Float>([&](int i) {
      return x.lane[i] > bound.lane[i] ? bound.lane[i] : x.lane[i];
    });
  }
  static Float MulAddFloat(const Float& a, const Float& b, const Float& c) {
    return Make<Float>([&](int i) {
      return FusedMultiplyAdd(a.lane[i], b.lane[i], c.lane[i]);
    });
  }
};

struct PortableDot : WithoutTable {
  static constexpr int kParts = 2;
  typedef PortableSimd::Int Acc;
  struct Weights {
    uint8_t value[4 * PortableSimd::kLanes];
  };
  struct Activations {
    int8_t value[4];
  };
  static constexpr int kActivationBytes = 1;
  static Acc Start(int32_t x) { return PortableSimd::Set(x); }
  static Acc Finish(const Acc& acc) { return acc; }
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
    for (int r = 0; r < PortableSimd::kLanes; ++r) {
      int32_t sum = 0;
      for (int i = 0; i < 4; ++i) {
        sum += weights.value[4 * r + i] * activations.value[i];
      }
      acc.lane[r] = static_cast<int32_t>(static_cast<uint32_t>(acc.lane[r]) +
                                         static_cast<uint32_t>(sum));
    }
  }
};

struct PortableNibbles : PortableDot {
  static constexpr int kParts = 1;
  struct Weights {
    PortableDot::Weights low, high;
  };
  struct Activations {
    PortableDot::Activations low, high;
  };
  static Weights LoadWeights(const uint8_t* p) {
    Weights weights;
    for (int i = 0; i < 4 * PortableSimd::kLanes; ++i) {
      weights.low.value[i] = p[i] & 15;
      weights.high.value[i] = p[i] >> 4;
    }
    return weights;
  }
  static Activations LoadActivations(const char* p) {
    return {PortableDot::LoadActivations(p),
            PortableDot::LoadActivations(p + 4)};
  }
  static RUY_LIKE_ALWAYS_INLINE void Step(Acc& acc, const Weights& weights,
                                          const Activations& activations) {
    PortableDot::Step(acc, weights.low, activations.low);
    PortableDot::Step(acc, weights.high, activations.high);
  }
};

template <class CodesT>
struct PortableForm {
  typedef PortableSimd Simd;
  typedef CodesT Codes;
  typedef CodesT OneColumnCodes;
  static constexpr int kMaxCols = 2;
  static constexpr bool kFloatsInRegisters = false;
  static constexpr bool kReadsApart = false;
  static constexpr bool kInterleavesColumns = true;
  static constexpr bool kIsSigned = false;
  static constexpr int Panels(int /*cols*/) { return 1; }
  static constexpr bool Prefetches(int /*cols*/) { return false; }
  static PortableSimd::Int LoadBytes(const uint8_t* p) {
    return PortableSimd::Make<PortableSimd::Int>([p](int i) { return p[i]; });
  }
};

// For PackActivations.
struct PortableGroupOps : PlainGroupStarts {
  static constexpr PackFn* kCopyInt8 = nullptr;
  static constexpr PackFn* kCopyFloats = nullptr;
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_GROUPS_GROUP_OPS_PORTABLE_H_
