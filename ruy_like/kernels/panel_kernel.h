// Back-end: the kernel over packed panels, one source for all x86 paths.
//
// Included by the per-ISA files, which instantiate PanelKernel<> for their SIMD
// width and multiply instructions and list the result in their table; called by
// the middle-end through that table with whole blocks (kernels/kernel.h). It
// reads both sides packed; kernels that read a side in place are elsewhere.
//
// ## Register tile
//
// A lhs panel is as wide as a vector has 32-bit lanes: one row of dst per lane.
// A tile is up to kMaxVectors lhs panels by up to kRhsWidth columns, each of
// its accumulators one register. Per step of kGroup depth levels:
//
//                  rhs panel:  r0   r1   ...  r7     one 32-bit group of a
//                              |    |         |      column, broadcast
//     lhs panel p:     l0  ->  a00  a01  ...  a07
//     lhs panel p + 1: l1  ->  a10  a11  ...  a17
//     lhs panel p + 2: l2  ->  a20  a21  ...  a27
//
//    512 bits: 3 x 8 = 24 accumulators + 3 lhs + 1 rhs + 1 product = 29 of 32
//    256 bits: 2 x 6 = 12 accumulators + 2 lhs + 1 rhs + 1 product = 16 of 16
//
// A rhs panel stays in the L1 cache while the lhs panels of the block stream by
// from L2. Each element of dst is summed in order of depth in one accumulator,
// so that a float result depends on nothing but its own row and column.
//
// ## Saved accumulators
//
// Between passes over depth, tiles lie in `accum` in the order in which they
// are visited, each one column-major, as the epilogue wants it.
#ifndef RUY_LIKE_KERNELS_PANEL_KERNEL_H_
#define RUY_LIKE_KERNELS_PANEL_KERNEL_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/epilogue.h"
#include "ruy_like/kernels/kernel.h"

#ifdef __clang__
#define RUY_LIKE_UNROLL _Pragma("clang loop unroll(full)")
#else
#define RUY_LIKE_UNROLL _Pragma("GCC unroll 16")
#endif

namespace ruy_like {
namespace kernels {
namespace {

// ## Operations
//
// An operation says what one step of a tile does: element types, kGroup depth
// levels of a column in 32 bits, loads, the multiplication, the epilogue.

// float times float.
template <class V>
struct FloatOp {
  typedef V Simd;
  typedef float Lhs;
  typedef float Rhs;
  typedef float Accum;
  typedef typename V::Float Vector;
  static constexpr int kGroup = 1;
  static RUY_LIKE_ALWAYS_INLINE Vector Zero() { return V::ZeroFloat(); }
  static RUY_LIKE_ALWAYS_INLINE Vector LoadLhs(const float* p) {
    return V::LoadAligned(p);
  }
  static RUY_LIKE_ALWAYS_INLINE Vector LoadRhs(const float* p) {
    return V::SetFloat(*p);
  }
  static RUY_LIKE_ALWAYS_INLINE Vector MultiplyAdd(Vector acc, Vector lhs,
                                                   Vector rhs) {
    return V::MulAddFloat(lhs, rhs, acc);
  }
  static RUY_LIKE_ALWAYS_INLINE void Store(const float* acc,
                                           ptrdiff_t acc_col_stride, int rows,
                                           int cols, ptrdiff_t row0,
                                           ptrdiff_t col0,
                                           const EpilogueArgs& e) {
    StoreFloatTile<V>(acc, acc_col_stride, rows, cols, row0, col0, e);
  }
};

// What the integer operations have in common: 32 bits of a rhs column against
// vectors of 32-bit groups of the lhs.
template <class V>
struct IntOp {
  typedef V Simd;
  typedef int32_t Accum;
  typedef typename V::Int Vector;
  static RUY_LIKE_ALWAYS_INLINE Vector Zero() { return V::Zero(); }
  static RUY_LIKE_ALWAYS_INLINE Vector LoadRhs(const void* p) {
    int32_t group;
    __builtin_memcpy(&group, p, sizeof(group));
    return V::Set(group);
  }
  static RUY_LIKE_ALWAYS_INLINE void Store(const int32_t* acc,
                                           ptrdiff_t acc_col_stride, int rows,
                                           int cols, ptrdiff_t row0,
                                           ptrdiff_t col0,
                                           const EpilogueArgs& e) {
    StoreIntTile<V>(acc, acc_col_stride, rows, cols, row0, col0, e);
  }
};

// int8 times uint8, four levels a step. Dot::Quads(acc, u8, s8) must not
// saturate on the way.
template <class V, class Dot>
struct QuadsOp : IntOp<V> {
  typedef int8_t Lhs;
  typedef uint8_t Rhs;
  typedef typename V::Int Vector;
  static constexpr int kGroup = 4;
  static RUY_LIKE_ALWAYS_INLINE Vector LoadLhs(const int8_t* p) {
    return V::LoadAligned(reinterpret_cast<const int32_t*>(p));
  }
  static RUY_LIKE_ALWAYS_INLINE Vector MultiplyAdd(Vector acc, Vector lhs,
                                                   Vector rhs) {
    return Dot::Quads(acc, rhs, lhs);
  }
};

// int8 or int16 times int16, two levels a step. An int8 lhs is widened by the
// load: packed weights stay as small as they are, and a load is needed anyway.
template <class V, class Dot, typename LhsType>
struct PairsOp : IntOp<V> {
  typedef LhsType Lhs;
  typedef int16_t Rhs;
  typedef typename V::Int Vector;
  static constexpr int kGroup = 2;
  static RUY_LIKE_ALWAYS_INLINE Vector LoadLhs(const int8_t* p) {
    return V::LoadWidened(p);
  }
  static RUY_LIKE_ALWAYS_INLINE Vector LoadLhs(const int16_t* p) {
    return V::LoadAligned(reinterpret_cast<const int32_t*>(p));
  }
  static RUY_LIKE_ALWAYS_INLINE Vector MultiplyAdd(Vector acc, Vector lhs,
                                                   Vector rhs) {
    return Dot::Pairs(acc, lhs, rhs);
  }
};

// ## Tiles

struct TileArgs {
  const void* lhs;             // first of the tile's lhs panels
  ptrdiff_t lhs_stride_bytes;  // from one to the next
  const void* rhs;             // the rhs panel
  ptrdiff_t steps;             // depth / kGroup
  const void* start;           // saved accumulators, or null to start from 0
  void* result;                // column-major, columns one below the other
};

typedef void TileFn(const TileArgs& args);

template <class Op, int kRhsWidth, int kVectors, int kCols>
void RunTile(const TileArgs& args) {
  typedef typename Op::Vector Vector;
  typedef typename Op::Lhs Lhs;
  typedef typename Op::Rhs Rhs;
  typedef typename Op::Accum Accum;
  typedef typename Op::Simd V;
  Vector acc[kCols][kVectors];
  const Accum* start = static_cast<const Accum*>(args.start);
  if (start == nullptr) {
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; ++c) {
      RUY_LIKE_UNROLL
      for (int v = 0; v < kVectors; ++v) acc[c][v] = Op::Zero();
    }
  } else {
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; ++c) {
      RUY_LIKE_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        acc[c][v] = V::LoadAligned(start + (c * kVectors + v) * V::kLanes);
      }
    }
  }
  const char* lhs = static_cast<const char*>(args.lhs);
  const Rhs* rhs = static_cast<const Rhs*>(args.rhs);
  const ptrdiff_t lhs_stride = args.lhs_stride_bytes;
  for (ptrdiff_t step = args.steps; step > 0; --step) {
    Vector lhs_vectors[kVectors];
    RUY_LIKE_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      lhs_vectors[v] =
          Op::LoadLhs(reinterpret_cast<const Lhs*>(lhs + v * lhs_stride));
    }
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; ++c) {
      const Vector rhs_vector = Op::LoadRhs(rhs + c * Op::kGroup);
      RUY_LIKE_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        acc[c][v] = Op::MultiplyAdd(acc[c][v], lhs_vectors[v], rhs_vector);
      }
    }
    lhs += V::kLanes * Op::kGroup * sizeof(Lhs);
    rhs += kRhsWidth * Op::kGroup;
  }
  Accum* result = static_cast<Accum*>(args.result);
  RUY_LIKE_UNROLL
  for (int c = 0; c < kCols; ++c) {
    RUY_LIKE_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      V::StoreAligned(result + (c * kVectors + v) * V::kLanes, acc[c][v]);
    }
  }
}

// RunTile() for every size up to kMaxVectors x kRhsWidth.
template <int... kI>
struct Indices {};
template <int kN, int... kI>
struct MakeIndices : MakeIndices<kN - 1, kN - 1, kI...> {};
template <int... kI>
struct MakeIndices<0, kI...> {
  typedef Indices<kI...> Type;
};

template <class Op, int kRhsWidth, class CellIndices>
struct TileTable;
template <class Op, int kRhsWidth, int... kI>
struct TileTable<Op, kRhsWidth, Indices<kI...>> {
  static constexpr TileFn* kTiles[] = {
      RunTile<Op, kRhsWidth, kI / kRhsWidth + 1, kI % kRhsWidth + 1>...};
};

// ## Blocks

template <typename Element>
constexpr Scalar kScalarOf = Scalar::kI8;
template <>
constexpr Scalar kScalarOf<uint8_t> = Scalar::kU8;
template <>
constexpr Scalar kScalarOf<int16_t> = Scalar::kI16;
template <>
constexpr Scalar kScalarOf<float> = Scalar::kF32;

template <class Op, int kMaxVectors, int kRhsWidth>
struct PanelKernel {
  typedef typename Op::Accum Accum;
  static constexpr int kLanes = Op::Simd::kLanes;
  static constexpr int kTileRows = kMaxVectors * kLanes;
  static constexpr int kTileCols = kRhsWidth;
  typedef TileTable<Op, kRhsWidth,
                    typename MakeIndices<kMaxVectors * kRhsWidth>::Type>
      Table;

  // The kernel's line in its path's table.
  static constexpr Kernel Entry(const char* name, Family family,
                                PackFn* pack_lhs, PackFn* pack_rhs) {
    return {name,
            family,
            {kScalarOf<typename Op::Lhs>, /*in_place=*/false, kLanes,
             Op::kGroup, /*depth_multiple=*/Op::kGroup},
            {kScalarOf<typename Op::Rhs>, /*in_place=*/false, kRhsWidth,
             Op::kGroup, /*depth_multiple=*/Op::kGroup},
            kTileRows,
            kTileCols,
            /*max_cols=*/0,
            pack_lhs,
            pack_rhs,
            Run};
  }

  // How many of `left` lhs panels the next tile takes: as many as there are
  // registers for, unless that left one over alone, as 2 + 2 is faster than
  // 3 + 1.
  static RUY_LIKE_ALWAYS_INLINE int VectorsOfNextTile(ptrdiff_t left) {
    if (left <= kMaxVectors) return static_cast<int>(left);
    return left == kMaxVectors + 1 ? (kMaxVectors + 1) / 2 : kMaxVectors;
  }

  static void Run(const KernelArgs* args) {
    const ptrdiff_t vectors = (args->rows + kLanes - 1) / kLanes;
    const ptrdiff_t lhs_stride = args->lhs_stride_bytes;
    const char* rhs = static_cast<const char*>(args->rhs);
    Accum* accum = static_cast<Accum*>(args->accum);
    alignas(64) Accum spilled[kTileRows * kTileCols];
    TileArgs tile;
    tile.lhs_stride_bytes = lhs_stride;
    tile.steps = args->depth / Op::kGroup;
    for (ptrdiff_t col = 0; col < args->cols; col += kRhsWidth) {
      const ptrdiff_t cols_left = args->cols - col;
      const int cols =
          cols_left < kRhsWidth ? static_cast<int>(cols_left) : kRhsWidth;
      tile.rhs = rhs;
      rhs += args->rhs_stride_bytes;
      for (ptrdiff_t vector = 0; vector < vectors;) {
        const int tile_vectors = VectorsOfNextTile(vectors - vector);
        Accum* saved = accum + (col * vectors + vector * kRhsWidth) * kLanes;
        tile.lhs = static_cast<const char*>(args->lhs) + vector * lhs_stride;
        tile.start = args->first_pass ? nullptr : saved;
        tile.result = args->last_pass ? spilled : saved;
        Table::kTiles[(tile_vectors - 1) * kRhsWidth + cols - 1](tile);
        if (args->last_pass) {
          const ptrdiff_t rows_left = args->rows - vector * kLanes;
          const int tile_rows = tile_vectors * kLanes;
          Op::Store(
              spilled, tile_rows,
              rows_left < tile_rows ? static_cast<int>(rows_left) : tile_rows,
              cols, vector * kLanes, col, *args->epilogue);
        }
        vector += tile_vectors;
      }
    }
  }
};

}  // namespace
}  // namespace kernels
}  // namespace ruy_like

#undef RUY_LIKE_UNROLL

#endif  // RUY_LIKE_KERNELS_PANEL_KERNEL_H_
