// Public: what a matrix is (Layout, Matrix) and how it is printed.
//
// Callers describe their own buffers with these; nothing here owns or checks
// memory: Mul validates what it is given.
#ifndef RUY_LIKE_MATRIX_H_
#define RUY_LIKE_MATRIX_H_

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <type_traits>

#include "ruy_like/scalar.h"

namespace ruy_like {

// Memory order. In a column-major matrix the elements of a column are adjacent.
enum class Order : std::uint8_t { kColMajor, kRowMajor };

// Whether a constant operand's packed form is kept in the Context between calls
// of Mul. Valid only while the data does not change; see
// Context::ClearPrepackedCache.
enum class CachePolicy : std::uint8_t {
  kNeverCache,
  // Cached where packing costs a large part of the product: when the other
  // operand has at most 16 columns (for an lhs; rows for an rhs).
  kCacheIfLargeSpeedup,
  // The same with at most 128.
  kCacheIfSignificantSpeedup,
  kAlwaysCache,
};

// Shape and memory layout. All counts are elements, not bytes.
class Layout final {
 public:
  std::ptrdiff_t rows() const { return rows_; }
  std::ptrdiff_t cols() const { return cols_; }
  // Elements from the start of one column (column-major) or row (row-major) to
  // the next; at least the inner dimension (rows or cols respectively).
  std::ptrdiff_t stride() const { return stride_; }
  Order order() const { return order_; }
  void set_rows(std::ptrdiff_t value) { rows_ = value; }
  void set_cols(std::ptrdiff_t value) { cols_ = value; }
  void set_stride(std::ptrdiff_t value) { stride_ = value; }
  void set_order(Order value) { order_ = value; }

 private:
  std::ptrdiff_t rows_ = 0;
  std::ptrdiff_t cols_ = 0;
  std::ptrdiff_t stride_ = 0;
  Order order_ = Order::kColMajor;
};

// A layout without gaps.
inline void MakeSimpleLayout(std::ptrdiff_t rows, std::ptrdiff_t cols,
                             Order order, Layout* layout) {
  layout->set_rows(rows);
  layout->set_cols(cols);
  layout->set_order(order);
  layout->set_stride(order == Order::kColMajor ? rows : cols);
}

inline bool operator==(const Layout& a, const Layout& b) {
  return a.rows() == b.rows() && a.cols() == b.cols() &&
         a.stride() == b.stride() && a.order() == b.order();
}
inline bool operator!=(const Layout& a, const Layout& b) { return !(a == b); }

// A view of a caller-owned buffer. T is float, double, int8_t, uint8_t, int16_t
// or (dst only) int32_t. The buffer needs T's own alignment, no padding, and
// must outlive the calls that use it.
//
// Copying a Matrix copies the view. Distinct Matrix objects may be used from
// distinct threads.
template <typename T>
class Matrix final {
 public:
  static_assert(!std::is_const<T>::value, "use Matrix<T> with set_data(const)");

  // Element (0, 0). A matrix whose data was set from a pointer to const is not
  // a valid dst: Mul returns an error for it.
  T* data() { return const_cast<T*>(data_); }
  const T* data() const { return data_; }
  void set_data(T* data) {
    data_ = data;
    data_is_const_ = false;
  }
  void set_data(const T* data) {
    data_ = data;
    data_is_const_ = true;
  }
  void set_data(std::nullptr_t) { set_data(static_cast<T*>(nullptr)); }
  bool data_is_const() const { return data_is_const_; }

  const Layout& layout() const { return layout_; }
  Layout* mutable_layout() { return &layout_; }

  // The stored value that stands for 0. Must be 0 for float, double and int16
  // operands.
  T zero_point() const { return zero_point_; }
  void set_zero_point(T value) { zero_point_ = value; }

  // What the caller promises of an 8-bit operand's elements: kInt7 lets kernels
  // without VNNI or the like multiply faster, those for which the lhs or the
  // rhs is int7, and those for which both are. It never changes a result: Mul
  // looks whether the promise is kept (once, for a cached or packed operand),
  // also where the other operand is packed for it (PackFor::kInt7Operand).
  // RUY_LIKE_VERBOSE reports where it is not. Other types have kFull alone;
  // of dst it says nothing.
  ValueRange value_range() const { return value_range_; }
  void set_value_range(ValueRange value) { value_range_ = value; }

  CachePolicy cache_policy() const { return cache_policy_; }
  void set_cache_policy(CachePolicy value) { cache_policy_ = value; }

 private:
  const T* data_ = nullptr;
  bool data_is_const_ = false;
  CachePolicy cache_policy_ = CachePolicy::kNeverCache;
  ValueRange value_range_ = ValueRange::kFull;
  T zero_point_ = 0;
  Layout layout_;
};

// Offset in elements of element (row, col).
inline std::ptrdiff_t ElementOffset(const Layout& layout, std::ptrdiff_t row,
                                    std::ptrdiff_t col) {
  return layout.order() == Order::kColMajor ? row + col * layout.stride()
                                            : row * layout.stride() + col;
}

// Element (row, col); both must be in range.
template <typename T>
T Element(const Matrix<T>& matrix, std::ptrdiff_t row, std::ptrdiff_t col) {
  return matrix.data()[ElementOffset(matrix.layout(), row, col)];
}
template <typename T>
T* ElementPtr(Matrix<T>* matrix, std::ptrdiff_t row, std::ptrdiff_t col) {
  return matrix->data() + ElementOffset(matrix->layout(), row, col);
}

// One line per row, each element followed by a space; 8-bit elements as
// numbers.
template <typename T>
std::ostream& operator<<(std::ostream& stream, const Matrix<T>& matrix) {
  for (std::ptrdiff_t row = 0; row < matrix.layout().rows(); ++row) {
    for (std::ptrdiff_t col = 0; col < matrix.layout().cols(); ++col) {
      stream << +Element(matrix, row, col) << " ";
    }
    stream << "\n";
  }
  return stream;
}

}  // namespace ruy_like

#endif  // RUY_LIKE_MATRIX_H_
