// Back-end: the AMX kernel of weights with group scales.
//
// Included by kernels/amx.cc; doc/amx.md has its bounds. Multiplies widened
// panels of weights by columns of activations that lie by themselves; few
// columns are left to AVX-512-VNNI (kMinGroupCols4 and 8). Both operands are
// tiles as they lie: 64 bytes of a panel are 4 codes of each of its 16 rows,
// a row of the tile product's second operand B, and up to 64 elements of a
// column are a row of its first one, A.
//
//                       panels of weights
//                       B0 (rows 0..15)     B1 (rows 16..31)
//   A0 (first columns)  C00                 C01
//   A1 (last columns)   C10                 C11
//
// A0 and A1 have equally many columns, so that one shape of tile serves both;
// of an odd number both have the middle one, whose sums are the same. Up to 16
// columns are multiplied by 64 rows: one A tile, four B tiles.
//
// ## Chunks of a group
//
// A tile product takes a chunk: a depth of up to 64, the same for each chunk
// if it can be. Else a group ends in rests of another number, which need tiles
// of another shape, as tiles can not be configured anew before the accumulators
// are stored.
//
//   tile number           0    1    2    3    4        5        6        7
//   17 to 32 columns      C00  C01  C10  C11  A0       A1       B0       B1
//   up to 16 columns      C00  C01  C02  C03  A0       -        B0, B2   B1, B3
//   either, with rests    (the same four)     A chunk  A rest   B chunk  B rest
//
// ## A stream of groups
//
// A group's sums leave the tiles during the first chunk of the next group, each
// accumulator right before its first product, and become float sums during the
// next but one, between products (amx_block.h does so with an epilogue). Blocks
// of rows follow each other without a pause.
//
//   tile unit:     group g
//   first chunk:   stores the accumulators of group g - 1
//   vector units:  float sums of group g - 2
#ifndef RUY_LIKE_KERNELS_AMX_AMX_GROUPS_H_
#define RUY_LIKE_KERNELS_AMX_AMX_GROUPS_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/amx/amx_tile.h"
#include "ruy_like/kernels/groups/group_ops_x86.h"
#include "ruy_like/kernels/groups/group_panels.h"
#include "ruy_like/kernels/groups/group_store.h"
#include "ruy_like/kernels/groups/group_tile.h"
#include "ruy_like/simd/loops.h"
#include "ruy_like/simd/simd_avx512.h"

namespace ruy_like::kernels {
namespace {

// Fewer columns are faster as AVX-512-VNNI multiplies them, by codes of 4 bits
// and of 8; by 4 bits also short groups of few columns: of depth 32, 64
// columns are equally fast, of depth 128, 16 (doc/amx.md has the table).
constexpr int kMinGroupCols4 = 17;
constexpr int kMinGroupCols8 = 9;
constexpr int kMinGroupElements4 = 2176;  // columns times depth of a group

constexpr int kGroupMaxCols = 32, kGroupMaxRows = 64;  // of a block
constexpr int kGroupBlockElements = 1024;  // 32 x 32, or 64 rows x 16 columns
constexpr int kPanelDepthBytes = kGroupPanelRows;  // of a widened panel

// How groups are cut into chunks and rests.
struct GroupChunks {
  int depth, rest_depth;  // no rests: rest_depth is 0
  // In each group but the last one, and in the last one.
  ptrdiff_t chunks[2], rests[2];
};

inline GroupChunks CutGroups(const GroupTileArgs& args) {
  constexpr int kMaxSteps = kStepBytes / kGroupStepDepth;
  const ptrdiff_t group_steps[2] = {args.sizes.groups > 1
                                        ? args.sizes.group_steps
                                        : args.sizes.last_group_steps,
                                    args.sizes.last_group_steps};
  // Chunks of the same size, where that takes no more of them.
  const ptrdiff_t least = (group_steps[0] + kMaxSteps - 1) / kMaxSteps;
  const int steps = group_steps[0] % least == 0
                        ? static_cast<int>(group_steps[0] / least)
                        : kMaxSteps;
  // The greatest common divisor of the rests, so that one shape of tile serves
  // both kinds of groups.
  int divisor = static_cast<int>(group_steps[0] % steps);
  int other = static_cast<int>(group_steps[1] % steps);
  while (other != 0) {
    const int remainder = divisor % other;
    divisor = other;
    other = remainder;
  }
  GroupChunks cut = {};
  cut.depth = steps * kGroupStepDepth;
  cut.rest_depth = divisor * kGroupStepDepth;
  for (int is_last = 0; is_last < 2; ++is_last) {
    cut.chunks[is_last] = group_steps[is_last] / steps;
    cut.rests[is_last] =
        divisor == 0 ? 0 : group_steps[is_last] % steps / divisor;
  }
  return cut;
}

// Tiles for A tiles of `cols` columns, numbered as drawn above.
inline TileConfig GroupTileConfig(int cols, const GroupChunks& cut) {
  TileConfig config = {};
  config.palette = 1;
  for (int tile = 0; tile < 8; ++tile) {
    const bool is_a = tile == 4 || tile == 5;
    const bool is_b = tile >= 6;
    const int depth =
        tile % 2 == 1 && cut.rest_depth != 0 ? cut.rest_depth : cut.depth;
    config.row_bytes[tile] = static_cast<uint16_t>(is_a ? depth : 64);
    config.rows[tile] = static_cast<uint8_t>(is_b ? depth / 4 : cols);
  }
  return config;
}

// A block of rows and one of its groups.
struct BlockGroup {
  ptrdiff_t row, group;
  RUY_LIKE_ALWAYS_INLINE void Advance(ptrdiff_t groups, int block_rows) {
    if (++group < groups) return;
    group = 0;
    row += block_rows;
  }
};

// Adds a group's integer sums to a block's float ones. Both lie in columns of
// 16 * kPanels rows.
template <int kPanels>
struct GroupAdder {
  typedef Simd512 V;
  typedef RowLanes<GroupForm<V, X86Dot<V>>> Lanes;
  static constexpr int kRows = kPanels * kGroupPanelRows;
  // The group's, of the block's rows.
  alignas(64) float scales[kRows];
  const GroupTileArgs* args;
  float* sums;
  const int32_t* accumulators;
  ptrdiff_t columns;        // where the group's values of columns begin
  ptrdiff_t rows[kPanels];  // and those of a panel's rows
  int col;                  // the first one that is not added yet
  int cols;                 // 0 if there is no group to be added

  RUY_LIKE_ALWAYS_INLINE bool IsDone() const { return col == cols; }

  RUY_LIKE_ALWAYS_INLINE void Begin(const BlockGroup& at,
                                    const int32_t* group_accumulators) {
    const GroupPanels<kPanels> panels(*args, at.row, /*apart=*/1);
    RUY_LIKE_UNROLL
    for (int p = 0; p < kPanels; ++p) {
      rows[p] = panels.group_values[p] + at.group * kGroupPanelRows;
    }
    V::Float loaded[kPanels];
    Lanes::LoadScales(*args, rows, loaded);
    RUY_LIKE_UNROLL
    for (int p = 0; p < kPanels; ++p) {
      V::StoreAligned(scales + p * kGroupPanelRows, loaded[p]);
    }
    accumulators = group_accumulators;
    columns = at.group * args->group_stride;
    col = 0;
    cols = args->cols;
    if (at.group != 0) return;
    for (int i = 0; i < cols * kRows; i += V::kLanes) {
      V::StoreAligned(sums + i, V::SetFloat(0));
    }
  }

  // Adds the next `count` columns, or what is left of them. Not inlined: it
  // follows each product.
  RUY_LIKE_NOINLINE void Add(int count) {
    const int end = Min(cols - col, count) + col;
    if (args->zeros != nullptr) {
      AddTo<kGroupRowZeros>(end);
    } else if (args->group_scales != nullptr) {
      AddTo<kGroupColumnScales>(end);
    } else {
      AddTo<kGroupPlain>(end);
    }
    col = end;
  }

 private:
  // Copies stay in registers: to the compiler, sums may lie in what points to
  // them.
  template <GroupKind kKind>
  RUY_LIKE_ALWAYS_INLINE void AddTo(int end) const {
    float* const to = sums;
    const int32_t* const from = accumulators;
    const ptrdiff_t of_columns = columns;
    const GroupTileArgs tile = *args;
    V::Float of_rows[kPanels];
    V::Int zeros[kPanels];
    RUY_LIKE_UNROLL
    for (int p = 0; p < kPanels; ++p) {
      of_rows[p] = V::LoadAligned(scales + p * kGroupPanelRows);
      zeros[p] = LoadZeros<Lanes, kKind>(tile, rows[p]);
    }
    for (int c = col; c < end; ++c) {
      RUY_LIKE_UNROLL
      for (int p = 0; p < kPanels; ++p) {
        const int at = c * kRows + p * kGroupPanelRows;
        V::Int sum = V::LoadAligned(from + at);
        if constexpr (kKind != kGroupRowZeros) {
          sum = V::Add(sum, Lanes::OfColumns(tile.starts + of_columns, c));
        }
        V::StoreAligned(to + at, AddGroup<Lanes, kKind>(
                                     tile, of_columns, c, zeros[p], of_rows[p],
                                     sum, V::LoadAligned(to + at)));
      }
    }
  }
};

// All blocks of rows by up to 16 * kATiles columns.
template <int kATiles, bool kHasRests>
struct GroupBlocks {
  static constexpr int kBTiles = 4 / kATiles;
  static constexpr int kRows = kBTiles * kGroupPanelRows;
  typedef GroupAdder<kBTiles> Adder;

  // A chunk's i-th product is that of A tile A(i) and B tile B(i), into
  // accumulator C(i). Operands stay in their tiles until the next one comes;
  // with rests there is one tile for both A tiles, and A0 comes again.
  static constexpr int A(int i) { return kATiles == 2 ? (i + 1) / 2 % 2 : 0; }
  static constexpr int B(int i) { return i / kATiles; }
  static constexpr int C(int i) { return A(i) * kBTiles + B(i); }
  static constexpr bool LoadsA(int i) {
    return i < kATiles || (kATiles == 2 && kHasRests && i == 3);
  }
  static constexpr bool LoadsB(int i) { return i % kATiles == 0; }
  static constexpr int ATile(int a, bool is_rest) {
    return 4 + (kHasRests ? (is_rest ? 1 : 0) : a);
  }
  static constexpr int BTile(int b, bool is_rest) {
    return 6 + (kHasRests ? (is_rest ? 1 : 0) : b % 2);
  }

  struct Operands {
    const char* columns;  // the next chunk of A0
    ptrdiff_t col_bytes, a1_bytes;
    const uint8_t* panels[kBTiles];

    RUY_LIKE_ALWAYS_INLINE void Advance(int depth) {
      columns += depth;
      RUY_LIKE_UNROLL
      for (int b = 0; b < kBTiles; ++b) panels[b] += depth * kPanelDepthBytes;
    }
  };

  template <int i>
  static RUY_LIKE_ALWAYS_INLINE void StoreAccumulator(int32_t* to, int a1_col) {
    Tiles::Store<C(i)>(to + A(i) * a1_col * kRows + B(i) * kGroupPanelRows,
                       kRows * sizeof(int32_t));
  }

  // The i-th product of a chunk, then `cols_per_product` columns of an earlier
  // group. Unless `previous` is null, the accumulator is stored there and
  // zeroed. Weights bypass L1: they are not read again before other columns'
  // turn.
  template <int i, bool kIsRest>
  static RUY_LIKE_ALWAYS_INLINE void Product(const Operands& at,
                                             int32_t* previous, int a1_col,
                                             int cols_per_product,
                                             Adder* adder) {
    if constexpr (LoadsA(i)) {
      Tiles::Load<ATile(A(i), kIsRest)>(at.columns + A(i) * at.a1_bytes,
                                        at.col_bytes);
    }
    if constexpr (LoadsB(i)) {
      Tiles::Load<BTile(B(i), kIsRest), /*kStreams=*/true>(at.panels[B(i)], 64);
    }
    if (previous != nullptr) {
      StoreAccumulator<i>(previous, a1_col);
      Tiles::Zero<C(i)>();
    }
    Tiles::Multiply<TileElements::kS8U8, C(i), ATile(A(i), kIsRest),
                    BTile(B(i), kIsRest)>();
    if (!adder->IsDone()) adder->Add(cols_per_product);
  }

  template <bool kIsRest>
  static RUY_LIKE_ALWAYS_INLINE void Chunk(const Operands& at,
                                           int32_t* previous, int a1_col,
                                           int cols_per_product, Adder* adder) {
    Product<0, kIsRest>(at, previous, a1_col, cols_per_product, adder);
    Product<1, kIsRest>(at, previous, a1_col, cols_per_product, adder);
    Product<2, kIsRest>(at, previous, a1_col, cols_per_product, adder);
    Product<3, kIsRest>(at, previous, a1_col, cols_per_product, adder);
  }

  // Columns of an earlier group after each product of a group of `chunks`
  // chunks: as many as amx_block.h has units of epilogue there.
  static RUY_LIKE_ALWAYS_INLINE int ColsPerProduct(int cols, ptrdiff_t chunks) {
    const int products = chunks == 1 ? 4 : chunks <= 3 ? 8 : 16;
    return (cols + products - 1) / products;
  }

  static RUY_LIKE_NOINLINE void Run(const GroupTileArgs& args) {
    alignas(64) int32_t accumulators[2][kGroupBlockElements];
    alignas(64) float sums[kGroupBlockElements];
    const GroupChunks cut = CutGroups(args);
    const int tile_cols = (args.cols + kATiles - 1) / kATiles;
    const int a1_col = args.cols - tile_cols;
    const TileConfig config = GroupTileConfig(tile_cols, cut);
    Tiles::Configure(config);  // zeroes the accumulators

    Operands at = {};
    at.col_bytes = args.activation_stride;
    at.a1_bytes = a1_col * args.activation_stride;
    Adder adder = {};
    adder.args = &args;
    adder.sums = sums;
    BlockGroup multiplied = {0, 0};
    BlockGroup added = {0, 0};
    const ptrdiff_t count = (args.rows + kRows - 1) / kRows * args.sizes.groups;
    for (ptrdiff_t i = 0; i < count + 2; ++i) {
      int32_t* previous = i == 0 ? nullptr : accumulators[(i - 1) % 2];
      if (i >= 2) adder.Begin(added, accumulators[i % 2]);
      if (i < count) {
        if (multiplied.group == 0) {
          const GroupPanels<kBTiles> panels(args, multiplied.row, /*apart=*/1);
          RUY_LIKE_UNROLL
          for (int b = 0; b < kBTiles; ++b) at.panels[b] = panels.codes[b];
          at.columns = args.activations;
        }
        const bool is_last = multiplied.group + 1 == args.sizes.groups;
        const ptrdiff_t chunks = cut.chunks[is_last];
        const ptrdiff_t rests = cut.rests[is_last];
        const int cols_per_product = ColsPerProduct(args.cols, chunks + rests);
        for (ptrdiff_t chunk = 0; chunk < chunks; ++chunk) {
          Chunk<false>(at, previous, a1_col, cols_per_product, &adder);
          at.Advance(cut.depth);
          previous = nullptr;
        }
        for (ptrdiff_t rest = 0; kHasRests && rest < rests; ++rest) {
          Chunk<true>(at, previous, a1_col, cols_per_product, &adder);
          at.Advance(cut.rest_depth);
          previous = nullptr;
        }
        multiplied.Advance(args.sizes.groups, kRows);
      } else if (i == count) {
        StoreAccumulator<0>(previous, a1_col);
        StoreAccumulator<1>(previous, a1_col);
        StoreAccumulator<2>(previous, a1_col);
        StoreAccumulator<3>(previous, a1_col);
      }
      if (i < 2) continue;
      if (!adder.IsDone()) adder.Add(args.cols);
      if (added.group + 1 == args.sizes.groups) {
        StoreGroupTile<Simd512, kRows>(args, added.row, sums);
      }
      added.Advance(args.sizes.groups, kRows);
    }
    Tiles::Release();
  }
};

// Results of depth 0.
RUY_LIKE_NOINLINE void StoreNoGroups(const GroupTileArgs& args) {
  constexpr int kRows = kGroupBlockElements / kGroupMaxCols;
  for (ptrdiff_t row = 0; row < args.rows; row += kRows) {
    alignas(64) float sums[kGroupBlockElements] = {};
    StoreGroupTile<Simd512, kRows>(args, row, sums);
  }
}

// Multiplies panels of bytes, widened from 4 bits or packed.
struct AmxGroupForm : GroupForm<Simd512, X86Dot<Simd512>, kGroupMaxCols> {
  static constexpr bool kInterleavesColumns = false;
  static constexpr int Panels(int /*cols*/) {
    return kGroupMaxRows / kGroupPanelRows;
  }
};

inline void RunAmxPanel(const GroupTileArgs& args) {
  if (args.sizes.groups == 0) {
    StoreNoGroups(args);
    return;
  }
  const bool has_rests = CutGroups(args).rest_depth != 0;
  if (args.cols > 16) {
    (has_rests ? GroupBlocks<2, true>::Run : GroupBlocks<2, false>::Run)(args);
  } else {
    (has_rests ? GroupBlocks<1, true>::Run : GroupBlocks<1, false>::Run)(args);
  }
}

inline void RunAmxGroups(const KernelArgs* args) {
  ForGroupPanels<AmxGroupForm>(
      *args, [](const GroupTileArgs& tile) { RunAmxPanel(tile); });
}

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_AMX_AMX_GROUPS_H_
