// Quantization toolkit, internal: the steps of direct convolutions of bytes:
// dot products of neighbouring bytes within lanes of 32 bits.
//
// Included once for each of Highway's targets that has vectors, by
// dot_tiles-inl.h.
#if defined(RUY_LIKE_QUANTIZE_LOOPS_DOT_STEPS_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef RUY_LIKE_QUANTIZE_LOOPS_DOT_STEPS_INL_H_
#undef RUY_LIKE_QUANTIZE_LOOPS_DOT_STEPS_INL_H_
#else
#define RUY_LIKE_QUANTIZE_LOOPS_DOT_STEPS_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "ruy_like/quantize/loops/requantize-inl.h"

#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE

HWY_BEFORE_NAMESPACE();
namespace ruy_like::quantize_internal::HWY_NAMESPACE {

// D is the tag of a vector of bytes throughout, from which the others follow.
template <class D>
using D16 = hn::Repartition<std::int16_t, D>;
template <class D>
using D32 = hn::Repartition<std::int32_t, D>;
template <class D>
using V32 = hn::Vec<D32<D>>;

// ## A step: products of the taps of some neighbouring rows
//
// The bytes of a vector, interleaved with those of the other rows, become four
// vectors of 32-bit lanes, each of which has the taps of one byte's position.
// Interleaving stays within blocks of 16 bytes: lanes 4b to 4b+3 of vector k
// are positions 16b + 4k to 16b + 4k + 3. Packing results into bytes undoes
// that.

// VPMADDWD, or what computes the same: two rows, of 16 bits.
struct Pairs {
  static constexpr std::ptrdiff_t kRows = 2;

  template <class V>
  static HWY_INLINE V Dot(V acc, V x, V w) {
    const hn::DFromV<V> d;
    const hn::Repartition<std::int16_t, decltype(d)> d16;
#if HWY_ARCH_X86 && HWY_TARGET != HWY_EMU128
    // Pairs are neighbours here, and sum1 is not touched.
    V sum1 = acc;
    return hn::ReorderWidenMulAccumulate(d, hn::BitCast(d16, x),
                                         hn::BitCast(d16, w), acc, sum1);
#else
    (void)d16;
    const V even = hn::Mul(hn::ShiftRight<16>(hn::ShiftLeft<16>(x)),
                           hn::ShiftRight<16>(hn::ShiftLeft<16>(w)));
    const V odd = hn::Mul(hn::ShiftRight<16>(x), hn::ShiftRight<16>(w));
    return hn::Add(acc, hn::Add(even, odd));
#endif
  }

  // Inputs are widened with zeros, weights with their signs.
  template <bool kSigned, class D, class V = hn::Vec<D>>
  static HWY_INLINE void Interleave(D d, const V (&rows)[kRows],
                                    V32<D> (&out)[4]) {
    const V low = hn::InterleaveLower(d, rows[0], rows[1]);
    const V high = hn::InterleaveUpper(d, rows[0], rows[1]);
    out[0] = WidenLower<kSigned>(d, low);
    out[1] = WidenUpper<kSigned>(d, low);
    out[2] = WidenLower<kSigned>(d, high);
    out[3] = WidenUpper<kSigned>(d, high);
  }

 private:
  template <bool kSigned, class D>
  static HWY_INLINE V32<D> WidenLower(D d, hn::Vec<D> v) {
    const auto zero = hn::Zero(d);
    if (!kSigned) return hn::BitCast(D32<D>(), hn::InterleaveLower(d, v, zero));
    const auto high = hn::BitCast(D16<D>(), hn::InterleaveLower(d, zero, v));
    return hn::BitCast(D32<D>(), hn::ShiftRight<8>(high));
  }
  template <bool kSigned, class D>
  static HWY_INLINE V32<D> WidenUpper(D d, hn::Vec<D> v) {
    const auto zero = hn::Zero(d);
    if (!kSigned) return hn::BitCast(D32<D>(), hn::InterleaveUpper(d, v, zero));
    const auto high = hn::BitCast(D16<D>(), hn::InterleaveUpper(d, zero, v));
    return hn::BitCast(D32<D>(), hn::ShiftRight<8>(high));
  }
};

#if HWY_TARGET == HWY_AVX3

// VPDPBUSD: four rows, of 8 bits. In assembly, since Highway 1.0.3's target
// with VNNI would let compilers use AVX-VNNI, too, which not all such machines
// have.
struct Quads {
  static constexpr std::ptrdiff_t kRows = 4;

  template <class V>
  static HWY_INLINE V Dot(V acc, V x, V w) {
    asm("vpdpbusd %2, %1, %0" : "+v"(acc.raw) : "v"(x.raw), "v"(w.raw));
    return acc;
  }

  template <bool kSigned, class D, class V = hn::Vec<D>>
  static HWY_INLINE void Interleave(D d, const V (&rows)[kRows],
                                    V32<D> (&out)[4]) {
    const D16<D> d16;
    const D32<D> d32;
    const auto low = hn::BitCast(d16, hn::InterleaveLower(d, rows[0], rows[1]));
    const auto high =
        hn::BitCast(d16, hn::InterleaveUpper(d, rows[0], rows[1]));
    const auto low2 =
        hn::BitCast(d16, hn::InterleaveLower(d, rows[2], rows[3]));
    const auto high2 =
        hn::BitCast(d16, hn::InterleaveUpper(d, rows[2], rows[3]));
    out[0] = hn::BitCast(d32, hn::InterleaveLower(d16, low, low2));
    out[1] = hn::BitCast(d32, hn::InterleaveUpper(d16, low, low2));
    out[2] = hn::BitCast(d32, hn::InterleaveLower(d16, high, high2));
    out[3] = hn::BitCast(d32, hn::InterleaveUpper(d16, high, high2));
  }
};

#endif  // HWY_TARGET == HWY_AVX3

// v, in a register: gcc would load it again for each use, or add sums up in
// trees and spill them.
template <class V>
HWY_INLINE V InRegister(V v) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_EMU128
  auto raw = v.raw;
  asm("" : "+v"(raw));
  return V{raw};
#else
  return v;
#endif
}

// The same for the pointer that a step's loads have in common: their distances
// stay in registers, too.
HWY_INLINE const std::uint8_t* InRegister(const std::uint8_t* at) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_EMU128
  asm("" : "+r"(at));
#endif
  return at;
}

}  // namespace ruy_like::quantize_internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE

#endif  // RUY_LIKE_QUANTIZE_LOOPS_DOT_STEPS_INL_H_
