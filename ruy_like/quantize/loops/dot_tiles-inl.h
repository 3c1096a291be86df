// Quantization toolkit, internal: the walk over the steps (dot_steps-inl.h) of
// all direct convolutions of bytes: their sums for a tile of neighbouring
// outputs, requantized to bytes.
//
// Depthwise and grouped convolutions differ in how they lay out inputs and
// weights (depthwise_kernels.cc, grouped_layout.h). Included once for each of
// Highway's targets that has vectors, by these files of kernels.
#if defined(RUY_LIKE_QUANTIZE_LOOPS_DOT_TILES_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef RUY_LIKE_QUANTIZE_LOOPS_DOT_TILES_INL_H_
#undef RUY_LIKE_QUANTIZE_LOOPS_DOT_TILES_INL_H_
#else
#define RUY_LIKE_QUANTIZE_LOOPS_DOT_TILES_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "hwy/highway.h"
#include "ruy_like/quantize/loops/dot_steps-inl.h"
#include "ruy_like/quantize/loops/layer_kernels.h"
#include "ruy_like/quantize/loops/requantize-inl.h"

#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE

HWY_BEFORE_NAMESPACE();
namespace ruy_like::quantize_internal::HWY_NAMESPACE {

// ## Tiles: the sums of all steps, of some neighbouring outputs

// Steps of an output, which are those of its neighbours further along.
struct Steps {
  std::ptrdiff_t count;
  // Where the inputs of each step are, from those of the first one.
  const std::ptrdiff_t* offsets;
  // Weights of the first step, and the bytes to those of the next one.
  const std::int8_t* weights;
  std::ptrdiff_t weight_bytes;
  // Start values of the sums, a vector for each of a step's vectors of weights.
  const std::int32_t* start;
  // From the inputs of an output to those of the next one, and from a vector of
  // inputs of a step to the next one.
  std::ptrdiff_t output_bytes, input_bytes;
};

// sums[p][a]: of output p and of the vector of weights first + a of each step.
// The first kAccs / kInputs of those have the vector of inputs at `from`, the
// next ones the next one.
template <class Step, int kInputs, int kSteps, class D, int kOutputs, int kAccs>
HWY_INLINE void SumSteps(D d, const Steps& steps, const std::uint8_t* from,
                         std::ptrdiff_t first,
                         V32<D> (&sums)[kOutputs][kAccs]) {
  const D32<D> d32;
  const hn::RebindToSigned<D> d8;
  constexpr std::ptrdiff_t kBytes = hn::MaxLanes(D());
  V32<D> acc[kOutputs][kAccs];
  for (int a = 0; a < kAccs; ++a) {
    const V32<D> start =
        hn::Load(d32, steps.start + (first + a) * (kBytes / 4));
    for (int p = 0; p < kOutputs; ++p) acc[p][a] = start;
  }
  const std::int8_t* weights = steps.weights + first * kBytes;
  for (std::ptrdiff_t t = 0; t < (kSteps > 0 ? kSteps : steps.count); ++t) {
    const std::uint8_t* const at = InRegister(from + steps.offsets[t]);
    V32<D> x[kOutputs];
    // One loop, with bounds that are constants: in nested ones, gcc 12 has the
    // sums of VPMADDWD in memory.
    for (int a = 0; a < kAccs; ++a) {
      constexpr int kAccsOfInput = kAccs / kInputs;
      for (int p = 0; a % kAccsOfInput == 0 && p < kOutputs; ++p) {
        x[p] = hn::BitCast(
            d32, hn::LoadU(d, at + p * steps.output_bytes +
                                  a / kAccsOfInput * steps.input_bytes));
      }
      V32<D> w = hn::BitCast(d32, hn::Load(d8, weights + a * kBytes));
      // Assembly has sums in registers by itself, VPMADDWD may have weights in
      // memory.
      constexpr bool kInAssembly = Step::kRows == 4;
      if constexpr (kInAssembly) w = InRegister(w);
      for (int p = 0; p < kOutputs; ++p) {
        acc[p][a] = Step::Dot(acc[p][a], x[p], w);
        if constexpr (!kInAssembly) acc[p][a] = InRegister(acc[p][a]);
      }
    }
    weights += steps.weight_bytes;
  }
  for (int p = 0; p < kOutputs; ++p) {
    for (int a = 0; a < kAccs; ++a) sums[p][a] = acc[p][a];
  }
}

// The same for vector k of each step, of windows of kWidth neighbouring
// columns, a step each, of which outputs see every kStride-th one: a group of
// rows has its weights and columns loaded once for all outputs.
template <class Step, int kWidth, int kStride, int k, class D, int kOutputs>
HWY_INLINE void SumNeighbours(D d, const Steps& steps, const std::uint8_t* from,
                              V32<D> (&sums)[kOutputs][4]) {
  const D32<D> d32;
  const hn::RebindToSigned<D> d8;
  constexpr std::ptrdiff_t kBytes = hn::MaxLanes(D());
  constexpr int kColumns = (kOutputs - 1) * kStride + kWidth;
  V32<D> acc[kOutputs];
  for (V32<D>& sum : acc) sum = hn::Load(d32, steps.start + k * (kBytes / 4));
  const std::int8_t* weights = steps.weights + k * kBytes;
  from += k * kBytes;
  for (std::ptrdiff_t t = 0; t < steps.count; t += kWidth) {
    const std::uint8_t* const at = from + steps.offsets[t];
    V32<D> w[kWidth];
    for (int j = 0; j < kWidth; ++j) {
      w[j] = InRegister(hn::BitCast(d32, hn::Load(d8, weights)));
      weights += steps.weight_bytes;
    }
    for (int c = 0; c < kColumns; ++c) {
      const V32<D> x = hn::BitCast(
          d32, hn::Load(d, at + c * (steps.output_bytes / kStride)));
      for (int p = 0; p < kOutputs; ++p) {
        const int tap = c - p * kStride;
        if (tap >= 0 && tap < kWidth) acc[p] = Step::Dot(acc[p], x, w[tap]);
      }
    }
    for (V32<D>& sum : acc) sum = InRegister(sum);
  }
  for (int p = 0; p < kOutputs; ++p) sums[p][k] = acc[p];
}

// tile(size, from, out) for tiles that cover `count` outputs, which are written
// from `out` on, `out_step` apart: `size`, as a type, is kMost, or less for
// what is left of fewer than that. Tiles may reach back, so that few of them
// are small.
template <int kMost, class Tile>
HWY_INLINE void ForTiles(std::ptrdiff_t count, const std::uint8_t* from,
                         std::ptrdiff_t from_step, std::uint8_t* out,
                         std::ptrdiff_t out_step, const Tile& tile,
                         std::ptrdiff_t done = 0) {
  constexpr int kNext = kMost > 4 ? 4 : kMost == 4 ? 3 : kMost > 1 ? 1 : 0;
  for (; count > kNext; count -= kMost) {
    if (count < kMost) {
      const std::ptrdiff_t back = kMost - count;
      if (back > done) break;
      from -= back * from_step;
      out -= back * out_step;
    }
    tile(std::integral_constant<int, kMost>(), from, out);
    from += kMost * from_step;
    out += kMost * out_step;
    done += kMost;
  }
  if constexpr (kNext > 0) {
    if (count > 0) {
      ForTiles<kNext>(count, from, from_step, out, out_step, tile, done);
    }
  }
}

// Packs a's block of 128 bits and then b's into each block of the result, with
// saturation. For D of int8.
template <class D, class V16 = hn::Vec<D16<D>>>
HWY_INLINE hn::Vec<D> PackBytes(D d, V16 a, V16 b) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  if constexpr (hn::MaxLanes(D()) == 64) {
    return hn::Vec<D>{_mm512_packs_epi16(a.raw, b.raw)};
  }
#endif
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
  if constexpr (hn::MaxLanes(D()) == 32) {
    return hn::Vec<D>{_mm256_packs_epi16(a.raw, b.raw)};
  }
#endif
  if constexpr (hn::MaxLanes(D()) == 16) {
    const hn::Half<D> half;
    return hn::Combine(d, hn::DemoteTo(half, b), hn::DemoteTo(half, a));
  }
}

// Copies `count` bytes, fewer than 2 * kMost, a power of two.
template <std::ptrdiff_t kMost>
HWY_INLINE void CopyFew(const std::uint8_t* from, std::ptrdiff_t count,
                        std::uint8_t* to) {
  if ((count & kMost) != 0) {
    std::memcpy(to, from, kMost);
    from += kMost;
    to += kMost;
  }
  if constexpr (kMost > 1) CopyFew<kMost / 2>(from, count, to);
}

// Requantizes accumulators to the bytes of a vector of D.
template <class D, RequantizeForm kForm>
struct Output {
  using R = RequantizeVectors<D32<D>>;

  // The table has the channels in the order of the four vectors.
  HWY_INLINE Output(const SlidingArgs& args, const RequantizeTable& constants)
      : table(constants),
        held{Load(0), Load(1), Load(2), Load(3)},
        bounds(args.SignedBounds()),
        flip(args.OutputFlip()) {}

  // Sums of several outputs at once, so that constants are loaded once.
  template <int kCount>
  HWY_INLINE void operator()(V32<D> (&sums)[kCount][4],
                             hn::Vec<D> (&bytes)[kCount]) const {
    Scale<0>(sums);
    Scale<1>(sums);
    Scale<2>(sums);
    Scale<3>(sums);
    Pack(sums, bytes);
  }

  // The same in steps: requantizes vector k of each output, in place ...
  template <int k, int kCount>
  HWY_INLINE void Scale(V32<D> (&sums)[kCount][4]) const {
    const R r = kHolds ? held[k] : Load(k);
    for (int i = 0; i < kCount; ++i) {
      sums[i][k] = Requantize(D32<D>(), sums[i][k], r, kForm);
    }
  }

  // ... and makes bytes of all four. Saturation to 16 bits keeps what
  // saturation to 8 bits does to the sum with a zero point.
  template <int kCount>
  HWY_INLINE void Pack(const V32<D> (&scaled)[kCount][4],
                       hn::Vec<D> (&bytes)[kCount]) const {
    const D d;
    const hn::RebindToSigned<D> d8;
    const D16<D> d16;
    const auto zero_point =
        hn::Set(d16, static_cast<std::int16_t>(bounds.zero_point));
    const auto lowest = hn::Set(d8, static_cast<std::int8_t>(bounds.lowest));
    const auto highest = hn::Set(d8, static_cast<std::int8_t>(bounds.highest));
    for (int i = 0; i < kCount; ++i) {
      const auto low = hn::ReorderDemote2To(d16, scaled[i][0], scaled[i][1]);
      const auto high = hn::ReorderDemote2To(d16, scaled[i][2], scaled[i][3]);
      const auto all = PackBytes(d8, hn::SaturatedAdd(low, zero_point),
                                 hn::SaturatedAdd(high, zero_point));
      const auto bounded = hn::Min(hn::Max(all, lowest), highest);
      bytes[i] = hn::Xor(hn::BitCast(d, bounded), hn::Set(d, flip));
    }
  }

 private:
  // Where registers are few, gcc would copy constants in memory: they are
  // loaded at each use instead.
  static constexpr bool kHolds = HWY_TARGET != HWY_AVX2;

  HWY_INLINE R Load(std::size_t k) const {
    return R(D32<D>(), table, k * hn::MaxLanes(D32<D>()));
  }

  const RequantizeTable table;
  const R held[4];
  const QuantizedOutput bounds;
  const std::uint8_t flip;
};

}  // namespace ruy_like::quantize_internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE

#endif  // RUY_LIKE_QUANTIZE_LOOPS_DOT_TILES_INL_H_
