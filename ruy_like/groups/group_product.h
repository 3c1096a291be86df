// Groups: one product with group-scaled weights: how it is cut, and the work of
// its threads.
//
// Used by group_mul.cc, which has checked the call. First the activations are
// packed, column panel by column panel; then blocks of dst are computed. Many
// columns share widened weights: each block widens its own, in its thread's
// scratch memory, where they stay in L2 while all its columns pass. Few columns
// read the packed nibbles themselves. Neither how it is cut nor the number of
// threads changes a result.
#ifndef RUY_LIKE_GROUPS_GROUP_PRODUCT_H_
#define RUY_LIKE_GROUPS_GROUP_PRODUCT_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "ruy_like/base/allocator.h"
#include "ruy_like/group_weights.h"
#include "ruy_like/groups/group_image.h"
#include "ruy_like/kernels/groups/group_kernel.h"

namespace ruy_like {

class BlockScaledProduct final {
 public:
  // The call must be valid, its dst not empty.
  BlockScaledProduct(const internal::GroupMulCall& call,
                     const kernels::GroupKernel& kernel);

  // The number of threads that pays off, at most `max`.
  int WorthThreads(int max) const;

  // Cuts the product for `threads` threads. Returns the bytes of memory that it
  // needs, or the largest size_t if they do not fit.
  std::size_t Cut(int threads);
  // Takes the memory from the arena. False without memory for the weights'
  // sums.
  [[nodiscard]] bool Take(ScratchArena* arena);

  // The work of each thread, first for activations, then for dst.
  void PackActivations(int thread);
  void Multiply(int thread);

 private:
  // An operand of the product as the kernels see it: the weights' rows by the
  // activations' columns.
  struct Strides {
    std::ptrdiff_t across, along;  // columns; depth, or rows of dst
  };

  // Columns `first` to `last` - 1: of one panel or, if they are copied, of any.
  void PackRange(std::ptrdiff_t first, std::ptrdiff_t last,
                 char* scratch) const;
  // Copies columns to contiguous ones, copy_stride_ elements of `to` apart;
  // floats of 16 bits are widened.
  void CopyColumns(const char* from, std::ptrdiff_t cols, void* to) const;
  // For columns from `first` to `last` - 1: scales as the caller gives them.
  void SetScales(std::ptrdiff_t first, std::ptrdiff_t last) const;
  // Quantizes column c of a panel and sets its scales.
  void QuantizeColumn(const float* values, std::ptrdiff_t panel, int c,
                      std::int8_t* quantized) const;
  // Pack `cols` columns, from column c of a panel on, and set what kernels need
  // to know of them. `scratch`: columns that are not packed at once.
  void PackFloats(const float* values, std::ptrdiff_t col_stride, int cols,
                  std::ptrdiff_t panel, int c, std::int8_t* scratch) const;
  void PackColumns(const std::int8_t* values, std::ptrdiff_t col_stride,
                   int cols, std::ptrdiff_t panel, int c) const;
  // For columns of a panel that holds panel_cols; without their places.
  kernels::GroupColumnArgs ColumnArgs(const std::int8_t* values,
                                      std::ptrdiff_t col_stride, int cols,
                                      int panel_cols) const;
  void Pack(const kernels::GroupColumnArgs& args) const;

  void MultiplyBlock(std::ptrdiff_t row_block, std::ptrdiff_t col_block,
                     char* scratch) const;
  void WidenPanel(std::ptrdiff_t panel, std::ptrdiff_t index,
                  char* scratch) const;
  kernels::GroupTileArgs CommonArgs() const;

  std::ptrdiff_t FirstCol(std::ptrdiff_t panel) const {
    return panel * panel_cols_ + std::min(panel, wider_panels_);
  }
  int ColsIn(std::ptrdiff_t panel) const {
    return static_cast<int>(FirstCol(panel + 1) - FirstCol(panel));
  }
  std::ptrdiff_t PanelOf(std::ptrdiff_t col) const {
    const std::ptrdiff_t in_wider = wider_panels_ * (panel_cols_ + 1);
    return col < in_wider ? col / (panel_cols_ + 1)
                          : wider_panels_ + (col - in_wider) / panel_cols_;
  }
  std::size_t PackedBytes() const;  // of all activations
  // Whether kernels are given a zero point of each row.
  bool HasRowZeros() const {
    return weights_.has_zero_points && (streams_ || weights_.bits == 8);
  }
  std::ptrdiff_t packed_col_stride() const {
    return kernel_.interleaves_columns
               ? std::ptrdiff_t{kernels::kGroupStepLevels} * activation_bytes_
               : static_cast<std::ptrdiff_t>(column_bytes_);
  }
  // The first byte of column c of a panel.
  char* PackedColumn(std::ptrdiff_t panel, int c) const;

  const internal::GroupMulCall& call_;
  const kernels::GroupKernel& kernel_;
  const GroupImage& weights_;
  std::ptrdiff_t cols_;
  Strides activation_strides_;
  Strides dst_strides_;

  bool streams_;
  const std::int8_t* activation_zeros_ = nullptr;  // null: all are 0
  bool scales_per_group_;
  int activation_bytes_;
  bool widens_;
  // The zero point of all widened levels, if it is the same for all.
  int zero_point_;

  // Panels of columns are as equal as possible: the first wider_panels_ have
  // panel_cols_ + 1, the others panel_cols_.
  std::ptrdiff_t col_panels_;
  std::ptrdiff_t panel_cols_;
  std::ptrdiff_t wider_panels_;
  // Kernels read the caller's int8 activations where they lie.
  bool in_place_;
  // What is quantized or copied becomes a packed column at once: each column
  // lies by itself, in bytes.
  bool makes_packed_;
  // Columns are copied first, since their values are apart or floats of 16
  // bits.
  bool copies_;

  // Set by Cut.
  std::ptrdiff_t block_panels_ = 0;  // of weights
  std::ptrdiff_t row_blocks_ = 0;
  std::ptrdiff_t block_col_panels_ = 0;
  std::ptrdiff_t col_blocks_ = 0;
  int threads_ = 1;
  std::size_t scratch_bytes_ = 0;   // of a thread
  std::size_t column_bytes_ = 0;    // of activations, packed
  std::ptrdiff_t copied_cols_ = 0;  // that a thread copies at once
  // A thread's scratch in PackActivations: copies, then what is quantized.
  std::size_t copy_bytes_ = 0;
  std::ptrdiff_t copy_stride_ = 0;  // elements

  // Set by Take.
  char* activations_ = nullptr;
  std::int32_t* starts_ = nullptr;
  float* column_group_scales_ = nullptr;
  float* column_scales_ = nullptr;
  const float* row_sums_ = nullptr;  // of the weights, if they are needed
  char* scratch_ = nullptr;

  std::atomic<std::ptrdiff_t> next_range_{0};
  std::atomic<std::ptrdiff_t> next_block_{0};
};

}  // namespace ruy_like

#endif  // RUY_LIKE_GROUPS_GROUP_PRODUCT_H_
