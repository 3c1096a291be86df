// Back-end: how a panel kernel's tiles begin and how they end.
//
// Used by panel_kernel.h through its operation (panel_ops.h). An object serves
// the rows of a block, or some hundreds of them; what belongs to rows is
// prepared once and then serves every column. It knows nothing of the
// multiplication.
//
// In the common calls tiles of floats are finished in registers. The epilogue
// of a tile of integers is deferred on x86: its steps run between those of the
// next tile's product. The two need different execution ports, but a processor
// overlaps little of them by itself (doc/tuning.md).
#ifndef RUY_LIKE_KERNELS_PANEL_PANEL_EPILOGUE_H_
#define RUY_LIKE_KERNELS_PANEL_PANEL_EPILOGUE_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/epilogue/epilogue.h"
#include "ruy_like/kernels/epilogue/epilogue_bytes.h"
#include "ruy_like/kernels/epilogue/epilogue_columns.h"
#include "ruy_like/kernels/epilogue/float_output.h"
#include "ruy_like/kernels/kernel.h"
#include "ruy_like/simd/loops.h"

namespace ruy_like::kernels {
namespace {

// The most vectors of rows that an object serves by default: 13 KiB of scales
// and addends at 512 bits, of which each is used once per panel of columns.
constexpr int kMaxEpilogueVectors = 50;
// The most vectors of rows, and the most columns, of a tile.
constexpr int kMaxTileVectors = 8;
constexpr int kMaxTileCols = 16;

// Start values of integer accumulators, and the multipliers of rows, in calls
// whose tiles are finished without epilogue.h.
template <class V, int kMostVectors>
class IntPanelTerms {
 public:
  static constexpr bool kHasColumnStart = true;
  static constexpr bool kColumnStartInEveryPass = false;

  // Start values of a column's accumulators, from row `row` on.
  RUY_LIKE_ALWAYS_INLINE const int32_t* Start(ptrdiff_t row) const {
    return is_general_ ? kZeros : addends_ + (row - row0_);
  }
  // Addends of all accumulators of a column, for `cols` columns from `col` on;
  // or null. Valid until the next call.
  RUY_LIKE_ALWAYS_INLINE const int32_t* ColumnStart(ptrdiff_t col, int cols) {
    return has_column_start_ ? PrepareColumns(col, cols) : nullptr;
  }
  // From a tile's Start() to that of the tile `vectors` vectors of rows below.
  static RUY_LIKE_ALWAYS_INLINE const void* StartBelow(const void* start,
                                                       int vectors) {
    return static_cast<const int32_t*>(start) + vectors * V::kLanes;
  }

 protected:
  // is_general: PrepareRows() is not called.
  RUY_LIKE_ALWAYS_INLINE IntPanelTerms(const EpilogueArgs& e, ptrdiff_t row0,
                                       bool is_general)
      : e_(e), row0_(row0), is_general_(is_general) {}

  RUY_LIKE_HOT_KERNEL __attribute__((noinline)) void PrepareRows(
      ptrdiff_t rows, bool scales_rows) {
    const int32_t* const bias = static_cast<const int32_t*>(e_.bias);
    const int32_t* const row_bias = e_.channels_are_rows ? bias : nullptr;
    column_bias_ = e_.channels_are_rows ? nullptr : bias;
    has_column_start_ = column_bias_ != nullptr || e_.rhs_sums != nullptr;
    if (row_bias == nullptr && e_.lhs_sums == nullptr &&
        !(scales_rows && e_.per_channel)) {
      return PrepareEqualRows(rows, scales_rows);
    }
    for (ptrdiff_t row = 0; row < rows; row += V::kLanes) {
      const int n = Min(rows - row, V::kLanes);
      const ptrdiff_t from = row0_ + row;
      V::StoreAligned(addends_ + row,
                      Addends<V>(e_.zero_point_product, row_bias,
                                 e_.rhs_zero_point, e_.lhs_sums, from, n));
      if (!scales_rows) continue;
      ByteScale<V>& scale = scales_[row / V::kLanes];
      if (e_.per_channel) {
        const typename V::Mask mask = V::FirstLanes(n);
        scale.Set(V::LoadMasked(e_.fixedpoint + from, mask),
                  V::LoadMasked(e_.exponent + from, mask));
      } else {
        scale.Set(V::Set(*e_.fixedpoint), V::Set(*e_.exponent));
      }
    }
  }
  // The multipliers of the vectors of rows from row `row` on.
  RUY_LIKE_ALWAYS_INLINE const ByteScale<V>* Scales(ptrdiff_t row) const {
    return scales_ + (row - row0_) / V::kLanes;
  }

  const EpilogueArgs& e_;
  const ptrdiff_t row0_;
  const bool is_general_;

 private:
  // All rows have the same terms.
  RUY_LIKE_ALWAYS_INLINE void PrepareEqualRows(ptrdiff_t rows,
                                               bool scales_rows) {
    const typename V::Int addends = V::Set(e_.zero_point_product);
    for (ptrdiff_t row = 0; row < rows; row += V::kLanes) {
      V::StoreAligned(addends_ + row, addends);
    }
    if (!scales_rows) return;
    const typename V::Int fixedpoint = V::Set(*e_.fixedpoint);
    const typename V::Int exponent = V::Set(*e_.exponent);
    ByteScale<V>* scale = scales_;
    for (ptrdiff_t row = 0; row < rows; row += V::kLanes) {
      scale->Set(fixedpoint, exponent);
      ++scale;
    }
  }

  __attribute__((noinline)) const int32_t* PrepareColumns(ptrdiff_t col,
                                                          int cols) {
    for (int i = 0; i < cols; i += V::kLanes) {
      const int n = Min(cols - i, V::kLanes);
      V::StoreAligned(column_addends_ + i,
                      Addends<V>(0, column_bias_, e_.lhs_zero_point,
                                 e_.rhs_sums, col + i, n));
    }
    return column_addends_;
  }

  alignas(64) static constexpr int32_t kZeros[kMaxTileVectors * V::kLanes] = {};

  bool has_column_start_ = false;
  // Set unless is_general_.
  const int32_t* column_bias_;
  alignas(64) int32_t column_addends_[kMaxTileCols];
  alignas(64) int32_t addends_[kMostVectors * V::kLanes];
  ByteScale<V> scales_[kMostVectors];
};

// Integer accumulators.
template <class V, int kMostVectors = kMaxEpilogueVectors>
class IntPanelEpilogue : public IntPanelTerms<V, kMostVectors> {
  typedef IntPanelTerms<V, kMostVectors> Terms;
  using Terms::e_;
  using Terms::is_general_;
  using Terms::row0_;

 public:
  static constexpr bool kDefers = V::kInterleavesEpilogue;
  // Two vectors of rows, column-major without gaps.
  typedef ByteTile<V> DeferredTile;

  // The steps of its epilogue. Multipliers of rows stay in registers, since
  // loads bound the product that it is interleaved with.
  class EpilogueSteps {
   public:
    // Steps of a tile of that many columns, an even number.
    static constexpr int Count(int cols) { return cols / 2; }
    static constexpr bool kOneStart = true;

    explicit RUY_LIKE_ALWAYS_INLINE EpilogueSteps(const DeferredTile& deferred)
        : tile_(deferred), low_(deferred.scale[0]), high_(deferred.scale[1]) {}
    RUY_LIKE_ALWAYS_INLINE void Run(int epilogue_step) const {
      tile_.StoreTwoByTwo(low_, high_, 0, tile_.rows, 2 * epilogue_step,
                          /*last=*/false);
    }

   private:
    const DeferredTile& tile_;
    const ByteScaler<V> low_, high_;
  };

  // True if the epilogues of a call can be deferred.
  static RUY_LIKE_ALWAYS_INLINE bool CanDefer(const EpilogueArgs& e) {
    return ByteBounds<V>::CanServe(e) && !e.needs_general &&
           e.dst_row_stride == 1 && e.max_exponent <= -2 &&
           (e.channels_are_rows || !e.per_channel);
  }

  // For `rows` rows of the block, at most kMostVectors vectors, from row0 on.
  // With several passes over depth the first one lacks the sums that
  // accumulators could start from.
  IntPanelEpilogue(const KernelArgs& args, ptrdiff_t row0, ptrdiff_t rows)
      : Terms(
            *args.epilogue, row0,
            !(args.first_pass && args.last_pass && CanDefer(*args.epilogue))) {
    if (is_general_) return;
    bounds_.Set(e_);
    Terms::PrepareRows(rows, /*scales_rows=*/true);
  }

  // Finishes a tile whose first row and column in the block are given.
  RUY_LIKE_ALWAYS_INLINE void Store(int32_t* acc, ptrdiff_t acc_col_stride,
                                    int rows, int cols, ptrdiff_t row,
                                    ptrdiff_t col) const {
    if (is_general_) {
      StoreTile<V>({acc, acc_col_stride, rows, cols, row, col}, e_);
    } else {
      StoreByteTile<V>(Tile(acc, acc_col_stride, rows, row, col), cols);
    }
  }

  // To be called before Defer().
  RUY_LIKE_ALWAYS_INLINE DeferredTile NoDeferredTile() const {
    return Tile(nullptr, 0, /*rows=*/0, row0_, 0);
  }
  RUY_LIKE_ALWAYS_INLINE DeferredTile Defer(const int32_t* acc, int rows,
                                            ptrdiff_t row,
                                            ptrdiff_t col) const {
    return Tile(acc, 2 * V::kLanes, rows, row, col);
  }

 private:
  RUY_LIKE_ALWAYS_INLINE ByteTile<V> Tile(const int32_t* acc,
                                          ptrdiff_t acc_col_stride, int rows,
                                          ptrdiff_t row, ptrdiff_t col) const {
    return {acc,
            acc_col_stride,
            rows,
            Terms::Scales(row),
            &bounds_,
            static_cast<int8_t*>(e_.dst) + row + col * e_.dst_col_stride,
            e_.dst_col_stride};
  }

  ByteBounds<V> bounds_;  // set unless is_general_
};

// Float accumulators: tiles are finished in registers, none is deferred.
template <class V>
class FloatPanelEpilogue {
 public:
  typedef FloatTile<V> Finish;
  static constexpr bool kHasColumnStart = false;
  static constexpr bool kDefers = false;

  RUY_LIKE_ALWAYS_INLINE FloatPanelEpilogue(const KernelArgs& args,
                                            ptrdiff_t /*row0*/,
                                            ptrdiff_t /*rows*/)
      : e_(*args.epilogue) {}

  RUY_LIKE_ALWAYS_INLINE const float* Start(ptrdiff_t) const { return kZeros; }
  static RUY_LIKE_ALWAYS_INLINE const void* StartBelow(const void* start, int) {
    return start;
  }
  RUY_LIKE_ALWAYS_INLINE void Store(float* acc, ptrdiff_t acc_col_stride,
                                    int rows, int cols, ptrdiff_t row,
                                    ptrdiff_t col) const {
    StoreTile<V>({acc, acc_col_stride, rows, cols, row, col}, e_);
  }

  // True if whole tiles may be finished in registers; and where one goes then.
  RUY_LIKE_ALWAYS_INLINE bool FinishesTiles() const {
    return e_.dst_row_stride == 1 && !e_.needs_general &&
           (e_.bias == nullptr || e_.channels_are_rows);
  }
  RUY_LIKE_ALWAYS_INLINE Finish FinishAt(ptrdiff_t row, ptrdiff_t col) const {
    const float* const bias = static_cast<const float*>(e_.bias);
    return {static_cast<float*>(e_.dst) + row + col * e_.dst_col_stride,
            e_.dst_col_stride, bias == nullptr ? nullptr : bias + row,
            FloatBounds::Of(e_), bias == nullptr && FloatBounds::AreNone(e_)};
  }
  // Moves `finish` by so many vectors of rows and columns.
  static RUY_LIKE_ALWAYS_INLINE void Move(ptrdiff_t vectors, ptrdiff_t cols,
                                          Finish* finish) {
    finish->dst += vectors * V::kLanes + cols * finish->dst_col_stride;
    if (finish->row_bias != nullptr) finish->row_bias += vectors * V::kLanes;
  }

 private:
  alignas(64) static constexpr float kZeros[kMaxTileVectors * V::kLanes] = {};

  const EpilogueArgs& e_;
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_PANEL_PANEL_EPILOGUE_H_
