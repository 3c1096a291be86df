// Back-end: the loops of post_ops.h, once per SIMD width.
//
// Used by the one file of each width that exports them (KernelTable::post_ops).
// A tile is made run by run, along the contiguous dimension of dst. What is not
// floats that lie along a run is first gathered and widened, a part of the run
// at a time, so that each activation has a single loop, over floats in order.
#ifndef RUY_LIKE_KERNELS_EPILOGUE_POST_LOOPS_H_
#define RUY_LIKE_KERNELS_EPILOGUE_POST_LOOPS_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/activation.h"
#include "ruy_like/float16.h"
#include "ruy_like/kernels/epilogue/float_output.h"
#include "ruy_like/kernels/post_ops.h"
#include "ruy_like/simd/loops.h"

namespace ruy_like::kernels {
namespace {

// Elements of a run that are gathered at a time.
constexpr int kPostPart = 256;

// The elements of a part of a run; null for no term.
template <typename T>
struct PostParts {
  const T *old, *bias, *slope, *factor, *residual;
};

// Elements from each run's part to the next run's.
struct PostSteps {
  ptrdiff_t old, bias, slope, factor, residual;

  // A null pointer's step is 0.
  template <typename T>
  RUY_LIKE_ALWAYS_INLINE void Move(PostParts<T>* parts) const {
    parts->old += old;
    parts->bias += bias;
    parts->slope += slope;
    parts->factor += factor;
    parts->residual += residual;
  }
};

// A call's terms as runs see them: `along` from element to element of a run,
// `across` from run to run.
template <class V>
class PostRuns {
 public:
  explicit PostRuns(const PostOpArgs& args)
      : args_(args), col_major_(args.epilogue->dst_row_stride == 1) {
    const EpilogueArgs& e = *args.epilogue;
    if (args.terms.accumulates) {
      old_ = {e.dst, e.dst_scalar, e.dst_row_stride, e.dst_col_stride};
    }
    if (e.bias != nullptr) {
      bias_ = {e.bias, e.bias_scalar, e.channels_are_rows ? 1 : 0,
               e.channels_are_rows ? 0 : 1};
    }
  }

  ptrdiff_t Count() const { return col_major_ ? args_.cols : args_.rows; }
  ptrdiff_t Length() const { return col_major_ ? args_.rows : args_.cols; }
  template <typename T>
  const T* Tile(ptrdiff_t run, ptrdiff_t at) const {
    return static_cast<const T*>(args_.tile) + run * args_.tile_stride + at;
  }
  template <typename T>
  T* Dst(ptrdiff_t run, ptrdiff_t at) const {
    const EpilogueArgs& e = *args_.epilogue;
    return static_cast<T*>(e.dst) + at +
           run * (col_major_ ? e.dst_col_stride : e.dst_row_stride);
  }
  // n elements from element `at` of a run on, of a term of 32 bits or of a
  // 16-bit float, whose values are floats then. `buffers` has a row for each
  // term.
  template <typename T>
  PostParts<T> Parts(ptrdiff_t run, ptrdiff_t at, int n,
                     T (*buffers)[kPostPart]) const {
    return {Part(old_, run, at, n, buffers[0]),
            Part(bias_, run, at, n, buffers[1]),
            Part(args_.terms.slope, run, at, n, buffers[2]),
            Part(args_.terms.factor, run, at, n, buffers[3]),
            Part(args_.terms.residual, run, at, n, buffers[4])};
  }
  // The first run's elements, if those of every term lie along runs as T, so
  // that runs need no buffers but one for a single slope; *steps are from run
  // to run.
  template <typename T>
  bool LieAlong(T* buffer, PostParts<T>* parts, PostSteps* steps) const {
    const PostTerm& slope = args_.terms.slope;
    if (slope.data != nullptr && Along(slope) == 0 && Across(slope) == 0 &&
        Length() <= kPostPart) {
      Gather(static_cast<const T*>(slope.data), 0, kPostPart, buffer);
      parts->slope = buffer;
      steps->slope = 0;
    } else if (!LiesAlong(slope, &parts->slope, &steps->slope)) {
      return false;
    }
    return LiesAlong(old_, &parts->old, &steps->old) &&
           LiesAlong(bias_, &parts->bias, &steps->bias) &&
           LiesAlong(args_.terms.factor, &parts->factor, &steps->factor) &&
           LiesAlong(args_.terms.residual, &parts->residual, &steps->residual);
  }
  // Element `at` of a run.
  double Element(const PostTerm& term, ptrdiff_t run, ptrdiff_t at) const {
    const ptrdiff_t offset = run * Across(term) + at * Along(term);
    return term.scalar == Scalar::kF64
               ? static_cast<const double*>(term.data)[offset]
               : static_cast<double>(
                     static_cast<const float*>(term.data)[offset]);
  }
  const PostTerm& old() const { return old_; }
  const PostTerm& bias() const { return bias_; }

 private:
  ptrdiff_t Along(const PostTerm& term) const {
    return col_major_ ? term.row_stride : term.col_stride;
  }
  ptrdiff_t Across(const PostTerm& term) const {
    return col_major_ ? term.col_stride : term.row_stride;
  }

  template <typename T>
  RUY_LIKE_ALWAYS_INLINE bool LiesAlong(const PostTerm& term, const T** part,
                                        ptrdiff_t* step) const {
    *part = static_cast<const T*>(term.data);
    *step = term.data == nullptr ? 0 : Across(term);
    return term.data == nullptr ||
           (Along(term) == 1 &&
            kScalarBytes[static_cast<int>(term.scalar)] == sizeof(T));
  }
  template <typename T>
  RUY_LIKE_ALWAYS_INLINE const T* Part(const PostTerm& term, ptrdiff_t run,
                                       ptrdiff_t at, int n, T* buffer) const {
    if (term.data == nullptr) return nullptr;
    const ptrdiff_t along = Along(term);
    const ptrdiff_t offset = run * Across(term) + at * along;
    if (term.scalar == Scalar::kBF16 || term.scalar == Scalar::kF16) {
      Widen(static_cast<const uint16_t*>(term.data) + offset, term.scalar,
            along, n, reinterpret_cast<float*>(buffer));
      return buffer;
    }
    const T* const from = static_cast<const T*>(term.data) + offset;
    if (along == 1) return from;
    Gather(from, along, n, buffer);
    return buffer;
  }
  template <typename T>
  static RUY_LIKE_NOINLINE void Gather(const T* from, ptrdiff_t stride, int n,
                                       T* to) {
    if (stride == 0) {
      const T value = *from;
      for (int i = 0; i < n; ++i) to[i] = value;
      return;
    }
    for (int i = 0; i < n; ++i) to[i] = from[i * stride];
  }
  static void Widen(const uint16_t* from, Scalar scalar, ptrdiff_t stride,
                    int n, float* to) {
    if (scalar == Scalar::kBF16) {
      WidenAs<Scalar::kBF16>(from, stride, n, to);
    } else {
      WidenAs<Scalar::kF16>(from, stride, n, to);
    }
  }
  template <Scalar kFrom>
  static RUY_LIKE_NOINLINE void WidenAs(const uint16_t* from, ptrdiff_t stride,
                                        int n, float* to) {
    int i = 0;
    for (; stride == 1 && i + V::kLanes <= n; i += V::kLanes) {
      V::Store(to + i, V::template LoadWidened<kFrom>(from + i), V::kLanes);
    }
    for (; i < n; ++i) {
      const uint16_t x = from[i * stride];
      to[i] = float16_internal::FloatOfBits(
          kFrom == Scalar::kBF16 ? float16_internal::WidenBFloat16(x)
                                 : float16_internal::WidenFloat16(x));
    }
  }

  const PostOpArgs& args_;
  const bool col_major_;
  PostTerm old_ = {}, bias_ = {};
};

// Rounds n floats to dst's type.
template <class V, Scalar kDst>
RUY_LIKE_NOINLINE void StoreRounded(const float* from, int n, uint16_t* to) {
  for (int i = 0; i < n; i += V::kLanes) {
    V::Store(reinterpret_cast<int16_t*>(to) + i,
             V::template Round<kDst>(V::LoadVector(from + i)),
             Min(n - i, V::kLanes));
  }
}

template <class V>
struct PostLoops {
  typedef typename V::Float Float;
  typedef typename V::Int Int;

  // Elements [i, n) of a part, at most a vector of them.
  template <bool kWhole, typename T>
  static RUY_LIKE_ALWAYS_INLINE auto Load(const T* p, int n) {
    if constexpr (kWhole) {
      return V::LoadVector(p);
    } else {
      return V::LoadMasked(p, V::FirstLanes(n));
    }
  }

  template <Activation kActivation, bool kWhole>
  static RUY_LIKE_ALWAYS_INLINE void RunVector(const float* tile, int i, int n,
                                               const PostParts<float>& parts,
                                               Float beta,
                                               const FloatOutput<V>& output,
                                               float* to) {
    Float x = Load<kWhole>(tile + i, n);
    if (parts.old != nullptr) {
      x = V::AddFloat(x, V::MulFloat(beta, Load<kWhole>(parts.old + i, n)));
    }
    if (parts.bias != nullptr) {
      x = V::AddFloat(x, Load<kWhole>(parts.bias + i, n));
    }
    Float slope = V::SetFloat(0.0f);
    if constexpr (kActivation == Activation::kLeakyRelu) {
      slope = Load<kWhole>(parts.slope + i, n);
    }
    x = activations::Sequences<V>::template Apply<kActivation>(x, slope);
    if (parts.factor != nullptr) {
      x = V::MulFloat(x, Load<kWhole>(parts.factor + i, n));
    }
    if (parts.residual != nullptr) {
      x = V::AddFloat(x, Load<kWhole>(parts.residual + i, n));
    }
    V::Store(to + i, output.Apply(x), kWhole ? V::kLanes : n);
  }

  template <Activation kActivation>
  static RUY_LIKE_NOINLINE void RunPart(const float* tile, int n,
                                        const PostParts<float>& parts,
                                        float beta_value,
                                        const FloatBounds& bounds, float* to) {
    const Float beta = V::SetFloat(beta_value);
    const FloatOutput<V> output(bounds);
    const PostParts<float> p = parts;
    int i = 0;
    for (; i + V::kLanes <= n; i += V::kLanes) {
      RunVector<kActivation, true>(tile, i, V::kLanes, p, beta, output, to);
    }
    if (i < n) {
      RunVector<kActivation, false>(tile, i, n - i, p, beta, output, to);
    }
  }

  typedef void RunPartFn(const float* tile, int n, const PostParts<float>&,
                         float beta, const FloatBounds&, float* to);

  static void RunFloats(const PostOpArgs& args) {
    const EpilogueArgs& e = *args.epilogue;
    const PostRuns<V> runs(args);
    const float beta = static_cast<float>(args.terms.beta);
    const FloatBounds bounds = FloatBounds::Of(e);
    RunPartFn* const run_part = activations::Visit(
        args.terms.activation,
        [](auto constant) { return &RunPart<decltype(constant)::value>; });
    float buffers[5][kPostPart];
    float rounded[kPostPart];
    const ptrdiff_t count = runs.Count();
    const ptrdiff_t length = runs.Length();
    PostParts<float> all;
    PostSteps steps;
    if (e.dst_scalar == Scalar::kF32 &&
        runs.LieAlong(buffers[0], &all, &steps)) {
      for (ptrdiff_t run = 0; run < count; ++run) {
        run_part(runs.template Tile<float>(run, 0), static_cast<int>(length),
                 all, beta, bounds, runs.template Dst<float>(run, 0));
        steps.Move(&all);
      }
      return;
    }
    for (ptrdiff_t run = 0; run < count; ++run) {
      for (ptrdiff_t at = 0; at < length; at += kPostPart) {
        const int n = Min(length - at, kPostPart);
        const PostParts<float> parts = runs.Parts(run, at, n, buffers);
        const float* const tile = runs.template Tile<float>(run, at);
        if (e.dst_scalar == Scalar::kF32) {
          run_part(tile, n, parts, beta, bounds,
                   runs.template Dst<float>(run, at));
          continue;
        }
        run_part(tile, n, parts, beta, bounds, rounded);
        uint16_t* const dst = runs.template Dst<uint16_t>(run, at);
        if (e.dst_scalar == Scalar::kBF16) {
          StoreRounded<V, Scalar::kBF16>(rounded, n, dst);
        } else {
          StoreRounded<V, Scalar::kF16>(rounded, n, dst);
        }
      }
    }
  }

  template <bool kWhole>
  static RUY_LIKE_ALWAYS_INLINE void RunIntVector(
      const int32_t* tile, int i, int n, const PostParts<int32_t>& parts,
      const EpilogueArgs& e, Int beta, int32_t* to) {
    Int x = Load<kWhole>(tile + i, n);
    if (parts.old != nullptr) {
      x = V::Add(x, V::Mul(beta, Load<kWhole>(parts.old + i, n)));
    }
    if (parts.bias != nullptr) {
      x = V::Add(x, Load<kWhole>(parts.bias + i, n));
    }
    x = V::Min(V::Max(x, V::Set(e.clamp_min)), V::Set(e.clamp_max));
    V::Store(to + i, x, kWhole ? V::kLanes : n);
  }

  static void RunInts(const PostOpArgs& args) {
    const EpilogueArgs& e = *args.epilogue;
    const PostRuns<V> runs(args);
    const Int beta = V::Set(static_cast<int32_t>(args.terms.beta));
    int32_t buffers[5][kPostPart];
    for (ptrdiff_t run = 0; run < runs.Count(); ++run) {
      for (ptrdiff_t at = 0; at < runs.Length(); at += kPostPart) {
        const int n = Min(runs.Length() - at, kPostPart);
        const PostParts<int32_t> parts = runs.Parts(run, at, n, buffers);
        const int32_t* const tile = runs.template Tile<int32_t>(run, at);
        int32_t* const to = runs.template Dst<int32_t>(run, at);
        int i = 0;
        for (; i + V::kLanes <= n; i += V::kLanes) {
          RunIntVector<true>(tile, i, V::kLanes, parts, e, beta, to);
        }
        if (i < n) RunIntVector<false>(tile, i, n - i, parts, e, beta, to);
      }
    }
  }

  // Makes bytes of dst those of the table.
  static void LookUp(const PostOpArgs& args) {
    const EpilogueArgs& e = *args.epilogue;
    const uint8_t* const table = args.terms.table;
    const bool col_major = e.dst_row_stride == 1;
    ptrdiff_t length = col_major ? args.rows : args.cols;
    ptrdiff_t runs = col_major ? args.cols : args.rows;
    const ptrdiff_t step = col_major ? e.dst_col_stride : e.dst_row_stride;
    if (step == length) {
      length *= runs;
      runs = 1;
    }
    uint8_t* to = static_cast<uint8_t*>(e.dst);
    const uint8_t* from =
        args.tile == nullptr ? to : static_cast<const uint8_t*>(args.tile);
    auto look_up = &V::LookUpVectors;
    if constexpr (V::kLanes == 16) {
      if (args.permutes_bytes) look_up = &V::LookUpPermuted;
    }
    const ptrdiff_t done = look_up(table, from, length, step, runs, to);
    for (; runs > 0; --runs, from += step, to += step) {
      for (ptrdiff_t i = done; i < length; ++i) to[i] = table[from[i]];
    }
  }

  // A PostOpFn; not for doubles.
  static void Run(const PostOpArgs* args) {
    if (args->terms.table != nullptr) {
      LookUp(*args);
    } else if (args->tile_scalar == Scalar::kI32) {
      RunInts(*args);
    } else {
      RunFloats(*args);
    }
  }
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_EPILOGUE_POST_LOOPS_H_
