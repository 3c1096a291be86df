// Public: activation functions of float results, each as one sequence of IEEE
// 754 operations.
//
// The kernels' post-ops, the portable path and ReferenceMul instantiate the
// same templates, for vectors and for single floats, so that results have equal
// bits wherever they are computed. doc/numerics.md has the sequences in words
// and their errors. No operation may be contracted or reordered: not with
// -ffast-math.
#ifndef RUY_LIKE_ACTIVATION_H_
#define RUY_LIKE_ACTIVATION_H_

#include <stdint.h>
#include <string.h>

#include "ruy_like/fused_multiply_add.h"

namespace ruy_like {

enum class Activation : uint8_t {
  kNone,
  kLeakyRelu,  // x, or slope * x where the sign is negative: PReLU, ReLU
  kGelu,       // x * Phi(x), by the error function
  kGeluTanh,   // its approximation by tanh
  kSilu,       // x * sigmoid(x)
  kSigmoid,    // 1 / (1 + exp(-x))
  kTanh,
  kHardSwish,  // x * min(max(x + 3, 0), 6) / 6
};

namespace activations {

#define RUY_LIKE_ACTIVATION_INLINE __attribute__((always_inline)) static inline

// One float with the operations that the sequences consist of. The vector
// traits (simd/) have members of these names and meanings.
struct FloatLane {
  typedef float Float;

  RUY_LIKE_ACTIVATION_INLINE Float SetFloat(float x) { return x; }
  RUY_LIKE_ACTIVATION_INLINE Float AddFloat(Float a, Float b) { return a + b; }
  RUY_LIKE_ACTIVATION_INLINE Float MulFloat(Float a, Float b) {
    return Uncontracted(a * b);
  }
  RUY_LIKE_ACTIVATION_INLINE Float DivFloat(Float a, Float b) { return a / b; }
  RUY_LIKE_ACTIVATION_INLINE Float MulAddFloat(Float a, Float b, Float c) {
    return FusedMultiplyAdd(a, b, c);
  }
  // Both return `x` if it is a NaN, or if both are zeros.
  RUY_LIKE_ACTIVATION_INLINE Float AtLeast(Float bound, Float x) {
    return bound > x ? bound : x;
  }
  RUY_LIKE_ACTIVATION_INLINE Float AtMost(Float bound, Float x) {
    return bound < x ? bound : x;
  }
  // `if_negative` where x's sign bit is set, else `otherwise`.
  RUY_LIKE_ACTIVATION_INLINE Float IfNegative(Float x, Float if_negative,
                                              Float otherwise) {
    return (BitsOf(x) >> 31) != 0 ? if_negative : otherwise;
  }
  RUY_LIKE_ACTIVATION_INLINE Float CopySign(Float magnitude, Float sign) {
    return AsFloat((BitsOf(magnitude) & 0x7fffffff) |
                   (BitsOf(sign) & 0x80000000));
  }
  // The float whose bits are x's, shifted left by 23.
  RUY_LIKE_ACTIVATION_INLINE Float ShiftToExponent(Float x) {
    return AsFloat(BitsOf(x) << 23);
  }

 private:
  RUY_LIKE_ACTIVATION_INLINE uint32_t BitsOf(Float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return bits;
  }
  RUY_LIKE_ACTIVATION_INLINE Float AsFloat(uint32_t bits) {
    Float x;
    memcpy(&x, &bits, sizeof(x));
    return x;
  }
};

template <class V>
struct Sequences {
  typedef typename V::Float Float;

  // exp(m) in parts, for m in [-110, 0]: 2^(n + kShift) * (1 + r * q), with n
  // the integer next to m / ln 2 and r = m - n * ln 2.
  template <int kShift>
  struct Exp {
    Float power, r, q;

    // For m + rest; with kHasRest m is rounded.
    template <bool kHasRest = false>
    RUY_LIKE_ACTIVATION_INLINE Exp Of(Float m, Float rest = Float()) {
      // The sum's last bits are n and the exponent's bias.
      const Float magic = V::SetFloat(12582912.0f + 127 + kShift);
      const Float t = V::MulAddFloat(m, V::SetFloat(0x1.715476p+0f), magic);
      const Float n = V::AddFloat(t, V::SetFloat(-12582912.0f - 127 - kShift));
      Float r = V::MulAddFloat(n, V::SetFloat(-0x1.62e4p-1f), m);
      r = V::MulAddFloat(n, V::SetFloat(-0x1.7f7d1cp-20f), r);
      if constexpr (kHasRest) r = V::AddFloat(r, rest);
      Float q = V::MulAddFloat(V::SetFloat(0x1.6bea74p-10f), r,
                               V::SetFloat(0x1.122d0cp-7f));
      q = V::MulAddFloat(q, r, V::SetFloat(0x1.55568p-5f));
      q = V::MulAddFloat(q, r, V::SetFloat(0x1.5554aap-3f));
      q = V::MulAddFloat(q, r, V::SetFloat(0x1.fffffep-2f));
      q = V::MulAddFloat(q, r, V::SetFloat(1.0f));
      return {V::ShiftToExponent(t), r, q};
    }
    RUY_LIKE_ACTIVATION_INLINE Float Value(const Exp& e) {
      return V::MulFloat(V::MulAddFloat(e.q, e.r, V::SetFloat(1.0f)), e.power);
    }
  };

  // -|x|, at least `bound`; a NaN stays one.
  RUY_LIKE_ACTIVATION_INLINE Float NegativeMagnitude(Float x, float bound) {
    return V::AtLeast(V::SetFloat(bound), V::CopySign(x, V::SetFloat(-1.0f)));
  }

  // The x * sigmoid(v) of functions whose other half is x more, from m = -|x|
  // and s = exp(-|v|) * 2^64. Scaled by 2^64 nothing underflows before the end.
  RUY_LIKE_ACTIVATION_INLINE Float TimesSigmoid(Float x, Float m, Float s) {
    const Float divisor =
        V::MulAddFloat(s, V::SetFloat(0x1p-64f), V::SetFloat(1.0f));
    return AddTail(x, V::DivFloat(V::MulFloat(m, s), divisor));
  }
  // max(x, 0) + tail * 2^-64.
  RUY_LIKE_ACTIVATION_INLINE Float AddTail(Float x, Float tail) {
    return V::MulAddFloat(tail, V::SetFloat(0x1p-64f),
                          V::AtLeast(V::SetFloat(0.0f), x));
  }

  RUY_LIKE_ACTIVATION_INLINE Float LeakyRelu(Float x, Float slope) {
    return V::IfNegative(x, V::MulFloat(x, slope), x);
  }

  RUY_LIKE_ACTIVATION_INLINE Float Gelu(Float x) {
    // Below -14.5 the result is less than half of the least denormal.
    const Float m = NegativeMagnitude(x, -14.5f);
    // exp(-m * m / 2), with what the square's rounding loses.
    const Float square = V::MulFloat(m, m);
    const Float minus_half = V::SetFloat(-0.5f);
    const Float lost =
        V::MulAddFloat(m, m, V::MulFloat(square, V::SetFloat(-1.0f)));
    const Float s = Exp<64>::Value(Exp<64>::template Of<true>(
        V::MulFloat(square, minus_half), V::MulFloat(lost, minus_half)));
    // Phi(m) / exp(-m * m / 2) is a quotient of polynomials in -m.
    Float p = V::MulAddFloat(V::SetFloat(0x1.0dc2ecp-8f), m,
                             V::SetFloat(-0x1.4cdd6ap-5f));
    p = V::MulAddFloat(p, m, V::SetFloat(0x1.7743b2p-3f));
    p = V::MulAddFloat(p, m, V::SetFloat(-0x1.c0d056p-2f));
    p = V::MulAddFloat(p, m, V::SetFloat(0.5f));
    Float q = V::MulAddFloat(V::SetFloat(-0x1.521782p-7f), m,
                             V::SetFloat(0x1.a135f2p-4f));
    q = V::MulAddFloat(q, m, V::SetFloat(-0x1.e0bc8p-2f));
    q = V::MulAddFloat(q, m, V::SetFloat(0x1.33d72ap+0f));
    q = V::MulAddFloat(q, m, V::SetFloat(-0x1.acaa52p+0f));
    q = V::MulAddFloat(q, m, V::SetFloat(1.0f));
    return AddTail(x, V::DivFloat(V::MulFloat(V::MulFloat(m, s), p), q));
  }

  RUY_LIKE_ACTIVATION_INLINE Float GeluTanh(Float x) {
    const Float m = NegativeMagnitude(x, -11.0f);
    // x * sigmoid(2 * sqrt(2 / pi) * (x + 0.044715 * x^3))
    Float v = V::MulAddFloat(V::MulFloat(m, m), V::SetFloat(0x1.2444f2p-4f),
                             V::SetFloat(0x1.988454p+0f));
    v = V::MulFloat(m, v);
    return TimesSigmoid(x, m, Exp<64>::Value(Exp<64>::Of(v)));
  }

  RUY_LIKE_ACTIVATION_INLINE Float Silu(Float x) {
    const Float m = NegativeMagnitude(x, -110.0f);
    return TimesSigmoid(x, m, Exp<64>::Value(Exp<64>::Of(m)));
  }

  RUY_LIKE_ACTIVATION_INLINE Float Sigmoid(Float x) {
    const Float one = V::SetFloat(1.0f);
    const Float s = Exp<64>::Value(Exp<64>::Of(NegativeMagnitude(x, -110.0f)));
    const Float divisor = V::MulAddFloat(s, V::SetFloat(0x1p-64f), one);
    // 0 + quotient or 1 - quotient.
    return V::MulAddFloat(
        V::DivFloat(s, divisor),
        V::CopySign(V::SetFloat(-0x1p-64f), V::MulFloat(x, V::SetFloat(-1.0f))),
        V::IfNegative(x, V::SetFloat(0.0f), one));
  }

  RUY_LIKE_ACTIVATION_INLINE Float Tanh(Float x) {
    const Float m = NegativeMagnitude(x, -10.0f);
    const Exp<0> e = Exp<0>::Of(V::AddFloat(m, m));
    // exp(2m) - 1, without a sum where n is 0.
    const Float less_one =
        V::MulAddFloat(e.power, V::MulFloat(e.q, e.r),
                       V::AddFloat(e.power, V::SetFloat(-1.0f)));
    return V::CopySign(
        V::DivFloat(less_one, V::AddFloat(less_one, V::SetFloat(2.0f))), x);
  }

  RUY_LIKE_ACTIVATION_INLINE Float HardSwish(Float x) {
    const Float from_minus_3 = V::AtLeast(V::SetFloat(-3.0f), x);
    const Float factor = V::AtMost(
        V::SetFloat(6.0f), V::AddFloat(from_minus_3, V::SetFloat(3.0f)));
    return V::MulFloat(from_minus_3,
                       V::MulFloat(factor, V::SetFloat(0x1.555556p-3f)));
  }

  template <Activation kActivation>
  RUY_LIKE_ACTIVATION_INLINE Float Apply(Float x, Float slope) {
    switch (kActivation) {
      case Activation::kNone:
        return x;
      case Activation::kLeakyRelu:
        return LeakyRelu(x, slope);
      case Activation::kGelu:
        return Gelu(x);
      case Activation::kGeluTanh:
        return GeluTanh(x);
      case Activation::kSilu:
        return Silu(x);
      case Activation::kSigmoid:
        return Sigmoid(x);
      case Activation::kTanh:
        return Tanh(x);
      case Activation::kHardSwish:
        return HardSwish(x);
    }
    return x;
  }
};

// Returns run(constant) with the activation as a std::integral_constant-like
// value.
template <Activation kValue>
struct Constant {
  static constexpr Activation value = kValue;
};
template <typename Run>
RUY_LIKE_ACTIVATION_INLINE auto Visit(Activation activation, const Run& run) {
  switch (activation) {
    case Activation::kNone:
      break;
    case Activation::kLeakyRelu:
      return run(Constant<Activation::kLeakyRelu>());
    case Activation::kGelu:
      return run(Constant<Activation::kGelu>());
    case Activation::kGeluTanh:
      return run(Constant<Activation::kGeluTanh>());
    case Activation::kSilu:
      return run(Constant<Activation::kSilu>());
    case Activation::kSigmoid:
      return run(Constant<Activation::kSigmoid>());
    case Activation::kTanh:
      return run(Constant<Activation::kTanh>());
    case Activation::kHardSwish:
      return run(Constant<Activation::kHardSwish>());
  }
  return run(Constant<Activation::kNone>());
}

}  // namespace activations

// The function's value at x. `slope` is kLeakyRelu's.
inline float Activate(Activation activation, float x, float slope = 0) {
  return activations::Visit(activation, [&](auto constant) {
    return activations::Sequences<activations::FloatLane>::template Apply<
        decltype(constant)::value>(x, slope);
  });
}

}  // namespace ruy_like

#endif  // RUY_LIKE_ACTIVATION_H_
