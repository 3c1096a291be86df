// Back-end: kernels of the portable path, in plain C++ for any processor.
//
// The path that everything falls back to and whose epilogue is the formula of
// kernels/kernel.h written down. It serves every family; the other paths leave
// double to it.
//
// Tiles are 4 x 4: four accumulators are one vector of any 128-bit instruction
// set, and 16 floats with their operands fit 16 registers. Panels are padded
// with zeros, so that a tile is always computed whole and stored in part.
//
// Tested in test/kernels/panel_kernel_test.cc.
#include <cfloat>

#include "ruy_like/float16.h"
#include "ruy_like/kernels/epilogue/post_loops.h"
#include "ruy_like/kernels/epilogue/requantize.h"
#include "ruy_like/kernels/groups/group_ops_portable.h"
#include "ruy_like/kernels/kernel_names.h"
#include "ruy_like/kernels/kernel_tables.h"
#include "ruy_like/pack/pack_routines.h"
#include "ruy_like/simd/loops.h"

namespace ruy_like::kernels {
namespace {

// The same float product must not depend on which sums the compiler keeps in
// registers, as it would with those of the x87 unit.
static_assert(FLT_EVAL_METHOD == 0,
              "float arithmetic must be rounded to float: build for 32-bit x86 "
              "with -msse2 -mfpmath=sse");

constexpr int kTile = 4;

// ## Epilogue

// Apart, like all that few calls ask for: else every element pays for it.
RUY_LIKE_NOINLINE uint32_t ZeroPointTerms(ptrdiff_t row, ptrdiff_t col,
                                          const ZeroPointArgs& z) {
  const uint32_t lhs = z.lhs == nullptr ? 0 : z.lhs[row];
  const uint32_t rhs = z.rhs == nullptr ? 0 : z.rhs[col];
  uint32_t sum = static_cast<uint32_t>(z.depth) * lhs * rhs;
  if (z.lhs != nullptr) {
    sum -= lhs * (static_cast<uint32_t>(z.rhs_sums[col]) -
                  static_cast<uint32_t>(z.rhs_base));
  }
  if (z.rhs != nullptr) {
    sum -= rhs * (static_cast<uint32_t>(z.lhs_sums[row]) -
                  static_cast<uint32_t>(z.lhs_base));
  }
  return sum;
}

// An accumulator with what zero points add to it.
RUY_LIKE_ALWAYS_INLINE uint32_t CorrectedSum(uint32_t raw, ptrdiff_t row,
                                             ptrdiff_t col,
                                             const EpilogueArgs& e) {
  uint32_t sum = raw + static_cast<uint32_t>(e.zero_point_product);
  if (e.rhs_sums != nullptr) {
    sum -= static_cast<uint32_t>(e.lhs_zero_point) *
           static_cast<uint32_t>(e.rhs_sums[col]);
  }
  if (e.lhs_sums != nullptr) {
    sum -= static_cast<uint32_t>(e.rhs_zero_point) *
           static_cast<uint32_t>(e.lhs_sums[row]);
  }
  if (e.zeros != nullptr) sum += ZeroPointTerms(row, col, *e.zeros);
  return sum;
}

// A NaN stays one.
template <typename Value>
Value ClampFloat(Value value, const EpilogueArgs& e) {
  if (value < e.clamp_min_f) return static_cast<Value>(e.clamp_min_f);
  if (value > e.clamp_max_f) return static_cast<Value>(e.clamp_max_f);
  return value;
}

// An accumulator times the scales of its row and column.
float ScaledSum(uint32_t sum, ptrdiff_t row, ptrdiff_t col,
                const ScaleArgs& scales) {
  const float lhs_scale = scales.lhs[scales.lhs_per_row ? row : 0];
  const float rhs_scale = scales.rhs[scales.rhs_per_col ? col : 0];
  float x = static_cast<float>(static_cast<int32_t>(sum));
  x *= scales.rhs_first ? rhs_scale : lhs_scale;
  x *= scales.rhs_first ? lhs_scale : rhs_scale;
  return x;
}

// The same, rounded to an integer, plus the zero point, within the bounds.
RUY_LIKE_NOINLINE int64_t RoundedSum(uint32_t sum, ptrdiff_t row, ptrdiff_t col,
                                     const EpilogueArgs& e) {
  const float x = ScaledSum(sum, row, col, *e.scales);
  const int low = e.clamp_min - e.dst_zero_point;
  const int high = e.clamp_max - e.dst_zero_point;
  // False for a NaN.
  if (!(x > static_cast<float>(low))) return e.clamp_min;
  if (x >= static_cast<float>(high)) return e.clamp_max;
  constexpr float k1p5x2p23 = 12582912;  // no float above it has a fraction
  return static_cast<int64_t>(x + k1p5x2p23 - k1p5x2p23) + e.dst_zero_point;
}

// DstValue() is the value of dst, of a pointer's type, at (row, col) of the
// block. It is chosen by the types of accumulators and dst: integers ...
template <typename Dst>
RUY_LIKE_ALWAYS_INLINE int64_t DstValue(uint32_t raw, const Dst*, ptrdiff_t row,
                                        ptrdiff_t col, const EpilogueArgs& e) {
  const ptrdiff_t channel = e.channels_are_rows ? row : col;
  uint32_t sum = CorrectedSum(raw, row, col, e);
  if (e.bias != nullptr) {
    sum += static_cast<uint32_t>(static_cast<const int32_t*>(e.bias)[channel]);
  }
  if (e.output == Output::kRounded) {
    return RoundedSum(sum, row, col, e);
  }
  int64_t value = static_cast<int32_t>(sum);
  if (e.output == Output::kFixedPoint) {
    const ptrdiff_t multiplier = e.per_channel ? channel : 0;
    value = ScaleOne(static_cast<int32_t>(sum), e.fixedpoint[multiplier],
                     e.exponent[multiplier], e.rounds_twice);
  }
  value += e.dst_zero_point;
  if (value < e.clamp_min) return e.clamp_min;
  if (value > e.clamp_max) return e.clamp_max;
  return value;
}

// ... integers scaled to float ...
float DstValue(uint32_t raw, const float*, ptrdiff_t row, ptrdiff_t col,
               const EpilogueArgs& e) {
  float x = ScaledSum(CorrectedSum(raw, row, col, e), row, col, *e.scales);
  if (e.bias != nullptr) {
    x += static_cast<const float*>(e.bias)[e.channels_are_rows ? row : col];
  }
  return ClampFloat(x, e);
}

// ... and float or double.
template <typename Dst, typename Accum>
Accum DstValue(Accum acc, const Dst*, ptrdiff_t row, ptrdiff_t col,
               const EpilogueArgs& e) {
  if (e.bias != nullptr) {
    const ptrdiff_t channel = e.channels_are_rows ? row : col;
    // Double accumulators may come with a float bias.
    acc += e.bias_scalar == Scalar::kF32
               ? static_cast<const float*>(e.bias)[channel]
               : static_cast<const Accum*>(e.bias)[channel];
  }
  return ClampFloat(acc, e);
}

template <typename Dst, typename Accum>
void StoreAs(const Accum* acc, int rows, int cols, ptrdiff_t row0,
             ptrdiff_t col0, const EpilogueArgs& e) {
  for (int c = 0; c < cols; ++c) {
    for (int r = 0; r < rows; ++r) {
      const ptrdiff_t row = row0 + r;
      const ptrdiff_t col = col0 + c;
      Dst* const element = static_cast<Dst*>(e.dst) + row * e.dst_row_stride +
                           col * e.dst_col_stride;
      *element =
          static_cast<Dst>(DstValue(acc[c * kTile + r], element, row, col, e));
    }
  }
}

// Only valid (accumulator, dst) pairs are instantiated: the others would be two
// thirds of this file's instructions.
void StoreTile(const uint32_t* acc, int rows, int cols, ptrdiff_t row0,
               ptrdiff_t col0, const EpilogueArgs& e) {
  switch (e.dst_scalar) {
    case Scalar::kI8:
      return StoreAs<int8_t>(acc, rows, cols, row0, col0, e);
    case Scalar::kU8:
      return StoreAs<uint8_t>(acc, rows, cols, row0, col0, e);
    case Scalar::kI16:
      return StoreAs<int16_t>(acc, rows, cols, row0, col0, e);
    case Scalar::kF32:
      return StoreAs<float>(acc, rows, cols, row0, col0, e);
    default:
      return StoreAs<int32_t>(acc, rows, cols, row0, col0, e);
  }
}
void StoreTile(const float* acc, int rows, int cols, ptrdiff_t row0,
               ptrdiff_t col0, const EpilogueArgs& e) {
  switch (e.dst_scalar) {
#define RUY_LIKE_FLOAT16(Enum, type) \
  case Scalar::Enum:                 \
    return StoreAs<type>(acc, rows, cols, row0, col0, e);
    RUY_LIKE_FLOAT16S(RUY_LIKE_FLOAT16)
#undef RUY_LIKE_FLOAT16
    default:
      return StoreAs<float>(acc, rows, cols, row0, col0, e);
  }
}
void StoreTile(const double* acc, int rows, int cols, ptrdiff_t row0,
               ptrdiff_t col0, const EpilogueArgs& e) {
  if (e.dst_scalar == Scalar::kF32) {
    StoreAs<float>(acc, rows, cols, row0, col0, e);
  } else {
    StoreAs<double>(acc, rows, cols, row0, col0, e);
  }
}

// ## Products

// Integers are summed as unsigned, to wrap modulo 2^32; one product always fits
// int32.
template <typename Accum>
struct Product {
  typedef Accum Type;
};
template <>
struct Product<uint32_t> {
  typedef int32_t Type;
};

template <typename Lhs, typename Rhs, typename Accum>
void RunTile(const Lhs* lhs, const Rhs* rhs, ptrdiff_t depth,
             const Accum* start, Accum* result) {
  Accum acc[kTile * kTile];
  for (int i = 0; i < kTile * kTile; ++i) {
    acc[i] = start == nullptr ? 0 : start[i];
  }
  const auto add_depth_step = [&]() __attribute__((always_inline)) {
    for (int c = 0; c < kTile; ++c) {
      for (int r = 0; r < kTile; ++r) {
        acc[c * kTile + r] += static_cast<Accum>(
            static_cast<typename Product<Accum>::Type>(lhs[r]) * rhs[c]);
      }
    }
    lhs += kTile;
    rhs += kTile;
  };
  if constexpr (Accum(1) / 2 != 0) {
    // With one step a turn, up to 18% of the speed of floats depends on where
    // the loop falls on cache lines. Integers would only get longer.
    RUY_LIKE_UNROLL_BY(4)
    for (ptrdiff_t k = 0; k < depth; ++k) add_depth_step();
  } else {
    for (ptrdiff_t k = 0; k < depth; ++k) add_depth_step();
  }
  for (int i = 0; i < kTile * kTile; ++i) result[i] = acc[i];
}

// Saved accumulators lie tile after tile, as they are visited.
template <typename Lhs, typename Rhs, typename Accum>
void Run(const KernelArgs* args) {
  const ptrdiff_t row_panels = (args->rows + kTile - 1) / kTile;
  Accum spilled[kTile * kTile];
  for (ptrdiff_t col = 0; col < args->cols; col += kTile) {
    const char* rhs = static_cast<const char*>(args->rhs) +
                      col / kTile * args->rhs_stride_bytes;
    for (ptrdiff_t row = 0; row < args->rows; row += kTile) {
      const char* lhs = static_cast<const char*>(args->lhs) +
                        row / kTile * args->lhs_stride_bytes;
      Accum* saved = static_cast<Accum*>(args->accum);
      if (saved != nullptr) saved += (col * row_panels + row) * kTile;
      RunTile(reinterpret_cast<const Lhs*>(lhs),
              reinterpret_cast<const Rhs*>(rhs), args->depth,
              args->first_pass ? nullptr : saved,
              args->last_pass ? spilled : saved);
      if (args->last_pass) {
        StoreTile(spilled, Min(args->rows - row, kTile),
                  Min(args->cols - col, kTile), row, col, *args->epilogue);
      }
    }
  }
}

// ## Post-ops

// One element as a vector.
struct Lane : activations::FloatLane {
  typedef int32_t Int;
  typedef int Mask;
  static constexpr int kLanes = 1;

  static Mask FirstLanes(int n) { return n; }
  static int32_t Set(int32_t x) { return x; }
  // Modulo 2^32.
  static int32_t Add(int32_t a, int32_t b) {
    return static_cast<int32_t>(static_cast<uint32_t>(a) +
                                static_cast<uint32_t>(b));
  }
  static int32_t Mul(int32_t a, int32_t b) {
    return static_cast<int32_t>(static_cast<uint32_t>(a) *
                                static_cast<uint32_t>(b));
  }
  static ptrdiff_t LookUpVectors(const uint8_t*, const uint8_t*, ptrdiff_t,
                                 ptrdiff_t, ptrdiff_t, uint8_t*) {
    return 0;
  }
  static int32_t Min(int32_t a, int32_t b) { return a < b ? a : b; }
  static int32_t Max(int32_t a, int32_t b) { return a > b ? a : b; }
  template <typename T>
  static T LoadVector(const T* p) {
    return *p;
  }
  template <typename T>
  static T LoadMasked(const T* p, Mask) {
    return *p;
  }
  template <typename To, typename T>
  static void Store(To* to, T x, int) {
    *to = static_cast<To>(x);
  }
  template <Scalar kFrom>
  static float LoadWidened(const uint16_t* p) {
    return float16_internal::FloatOfBits(
        kFrom == Scalar::kBF16 ? float16_internal::WidenBFloat16(*p)
                               : float16_internal::WidenFloat16(*p));
  }
  template <Scalar kTo>
  static int32_t Round(float x) {
    const uint32_t bits = float16_internal::BitsOfFloat(x);
    return kTo == Scalar::kBF16 ? float16_internal::RoundToBFloat16(bits)
                                : float16_internal::RoundToFloat16(bits);
  }
};

void RunPostOps(const PostOpArgs* args) {
  if (args->tile_scalar != Scalar::kF64) return PostLoops<Lane>::Run(args);
  const EpilogueArgs& e = *args->epilogue;
  const PostRuns<Lane> runs(*args);
  for (ptrdiff_t run = 0; run < runs.Count(); ++run) {
    for (ptrdiff_t i = 0; i < runs.Length(); ++i) {
      double x = *runs.Tile<double>(run, i);
      x += args->terms.beta * runs.Element(runs.old(), run, i);
      if (e.bias != nullptr) x += runs.Element(runs.bias(), run, i);
      x = ClampFloat(x, e);
      if (e.dst_scalar == Scalar::kF32) {
        *runs.Dst<float>(run, i) = static_cast<float>(x);
      } else {
        *runs.Dst<double>(run, i) = x;
      }
    }
  }
}

constexpr PanelFormat Panel(Scalar scalar) {
  return {scalar, /*in_place=*/false, kTile, /*dot_width=*/1,
          /*depth_multiple=*/1};
}

constexpr Kernel Entry(const char* name, Family family, Scalar lhs, Scalar rhs,
                       PackFn* pack_lhs, PackFn* pack_rhs, KernelFn* run) {
  Kernel kernel = {};
  kernel.name = name;
  kernel.family = family;
  kernel.kind = KernelKind::kPanels;
  kernel.lhs = Panel(lhs);
  kernel.rhs = Panel(rhs);
  kernel.tile_rows = kTile;
  kernel.tile_cols = kTile;
  kernel.row_granularity = kTile;
  kernel.macs_per_ns = 10;  // without instructions of its own to count on
  kernel.pack_lhs = pack_lhs;
  kernel.pack_rhs = pack_rhs;
  kernel.run = run;
  return kernel;
}

constexpr Kernel kList[] = {
    Entry("S8S8", Family::k8x8, Scalar::kI8, Scalar::kI8, PackPortable_8_S8_4x1,
          PackPortable_8_S8_4x1, Run<int8_t, int8_t, uint32_t>),
    Entry("S8S16", Family::k8x16, Scalar::kI8, Scalar::kI16,
          PackPortable_8_S8_4x1, PackPortable_16_S16_4x1,
          Run<int8_t, int16_t, uint32_t>),
    Entry("S16S8", Family::k16x8, Scalar::kI16, Scalar::kI8,
          PackPortable_16_S16_4x1, PackPortable_8_S8_4x1,
          Run<int16_t, int8_t, uint32_t>),
    Entry("F32F32", Family::kF32, Scalar::kF32, Scalar::kF32,
          PackPortable_F32_F32_4x1, PackPortable_F32_F32_4x1,
          Run<float, float, float>),
    Entry("F64F64", Family::kF64, Scalar::kF64, Scalar::kF64,
          PackPortable_F64_F64_4x1, PackPortable_F64_F64_4x1,
          Run<double, double, double>),
    GroupEntry<PortableGroupOps, PortableForm<PortableNibbles>>(
        "G4S8", kPackedCodes4, nullptr, 2, /*max_cols=*/2),
    GroupEntry<PortableGroupOps, PortableForm<PortableDot>>(
        "G4W8S8", kPackedCodes4, PackNibbles<>, 2),
    GroupEntry<PortableGroupOps, PortableForm<PortableDot>>(
        "G8S8", kPackedCodes8, nullptr, 2),
    GroupEntry<PortableGroupOps, PortableForm<PortableDot>>(
        "T4W8S8", kPackedTable4, PackByTable<PortableLookup<4>>, 2),
    GroupEntry<PortableGroupOps, PortableForm<PortableDot>>(
        "T2W8S8", kPackedTable2, PackByTable<PortableLookup<2>>, 2),
};
constexpr NamedKernels kTable("Portable", kList);

}  // namespace

KernelTable PortableKernels() {
  return TableOf(kTable.kernels, RunPostOps, QuantizeColumns<PortableGroupOps>);
}

}  // namespace ruy_like::kernels
