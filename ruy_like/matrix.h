// Public: what a matrix is (Layout, Matrix), how one is made of a buffer
// (RowMajor, ColMajor) and how it is printed.
//
// Callers describe their own buffers with these; nothing here owns memory, and
// Mul validates what it is given.
#ifndef RUY_LIKE_MATRIX_H_
#define RUY_LIKE_MATRIX_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <ostream>
#include <type_traits>
#include <utility>

#include "ruy_like/scalar.h"

namespace ruy_like {

// Memory order. In a column-major matrix the elements of a column are adjacent.
enum class Order : std::uint8_t { kColMajor, kRowMajor };

// The policy by which a constant operand's packed form is kept in the Context
// between calls of Mul. Valid only while the data does not change; see
// Context::ClearPrepackedCache.
enum class CachePolicy : std::uint8_t {
  kNeverCache,
  // Cached where packing costs a large part of the product: when the other
  // operand has at most 16 columns (for an lhs; rows for an rhs).
  kCacheIfLargeSpeedup,
  // The same with at most 128 columns or rows.
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

// A view of a caller-owned buffer. T is float, double, BFloat16, Float16
// (float16.h), Float8E4M3, Float8E5M2 (float8.h), int8_t, uint8_t, int16_t or
// (dst only) int32_t. The buffer needs T's own alignment, no padding, and must
// outlive the calls that use it. Matrix<const T> (below) is the same of a
// buffer that cannot be written: an operand, and never dst.
//
// Copying a Matrix copies the view. Distinct Matrix objects may be used from
// distinct threads.
template <typename T>
class Matrix final {
 public:
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

  // The stored value that stands for 0. Must be 0 for all floating-point
  // matrices and for int16 operands.
  T zero_point() const { return zero_point_; }
  void set_zero_point(T value) { zero_point_ = value; }

  // A promise about an 8-bit operand's elements. With kInt7 for one operand or
  // both, paths without a 32-bit dot product (VNNI, SDOT) multiply faster. It
  // never changes a result: Mul checks it (once for a cached or packed
  // operand), also where the other operand is packed for it
  // (PackFor::kInt7Operand), and RUY_LIKE_VERBOSE reports a broken promise.
  // Other types must have kFull; for dst it is ignored.
  ValueRange value_range() const { return value_range_; }
  void set_value_range(ValueRange value) { value_range_ = value; }

  CachePolicy cache_policy() const { return cache_policy_; }
  void set_cache_policy(CachePolicy value) { cache_policy_ = value; }

 private:
  const T* data_ = nullptr;
  bool data_is_const_ = false;
  CachePolicy cache_policy_ = CachePolicy::kNeverCache;
  ValueRange value_range_ = ValueRange::kFull;
  T zero_point_ = T();
  Layout layout_;
};

// The same members, without those that write. Converts to const Matrix<T>&, for
// functions that read a matrix.
template <typename T>
class Matrix<const T> final {
 public:
  Matrix() { set_data(nullptr); }
  // From a Matrix<T>, as a pointer to const is made from any pointer.
  Matrix(const Matrix<T>& matrix) : view_(matrix) {  // NOLINT: implicit
    set_data(matrix.data());
  }
  operator const Matrix<T>&() const { return view_; }  // NOLINT: implicit

  const T* data() const { return view_.data(); }
  void set_data(const T* data) { view_.set_data(data); }
  void set_data(std::nullptr_t) { set_data(static_cast<const T*>(nullptr)); }
  bool data_is_const() const { return true; }

  const Layout& layout() const { return view_.layout(); }
  Layout* mutable_layout() { return view_.mutable_layout(); }

  T zero_point() const { return view_.zero_point(); }
  void set_zero_point(T value) { view_.set_zero_point(value); }

  ValueRange value_range() const { return view_.value_range(); }
  void set_value_range(ValueRange value) { view_.set_value_range(value); }

  CachePolicy cache_policy() const { return view_.cache_policy(); }
  void set_cache_policy(CachePolicy value) { view_.set_cache_policy(value); }

 private:
  Matrix<T> view_;
};

// The stride of a matrix without gaps between its rows or columns.
constexpr std::ptrdiff_t kNoGaps = std::numeric_limits<std::ptrdiff_t>::min();

namespace internal {

template <typename T>
Matrix<T> MakeMatrix(T* data, std::ptrdiff_t rows, std::ptrdiff_t cols,
                     Order order, std::ptrdiff_t stride) {
  Matrix<T> matrix;
  MakeSimpleLayout(rows, cols, order, matrix.mutable_layout());
  if (stride != kNoGaps) matrix.mutable_layout()->set_stride(stride);
  matrix.set_data(data);
  return matrix;
}

// True if `size` elements hold a matrix of this layout. True for a layout that
// Mul refuses.
inline bool Holds(std::size_t size, const Layout& layout) {
  const bool col_major = layout.order() == Order::kColMajor;
  const std::ptrdiff_t inner = col_major ? layout.rows() : layout.cols();
  const std::ptrdiff_t outer = col_major ? layout.cols() : layout.rows();
  if (inner <= 0 || outer <= 0 || layout.stride() < inner) return true;
  return size >= static_cast<std::size_t>(inner) &&
         static_cast<std::size_t>(outer - 1) <=
             (size - static_cast<std::size_t>(inner)) /
                 static_cast<std::size_t>(layout.stride());
}

// A pointer or array.
template <typename P,
          std::enable_if_t<std::is_pointer<std::decay_t<P>>::value, int> = 0>
auto MakeMatrixOf(P&& data, std::ptrdiff_t rows, std::ptrdiff_t cols,
                  Order order, std::ptrdiff_t stride) {
  const std::decay_t<P> pointer = data;
  auto matrix = MakeMatrix(pointer, rows, cols, order, stride);
  if constexpr (std::is_array<std::remove_reference_t<P>>::value) {
    constexpr std::size_t kSize =
        std::extent<std::remove_reference_t<P>>::value;
    if (!Holds(kSize, matrix.layout())) matrix.set_data(nullptr);
  }
  return matrix;
}

// A span, vector or the like.
template <typename C,
          std::enable_if_t<!std::is_pointer<std::decay_t<C>>::value, int> = 0>
auto MakeMatrixOf(C&& elements, std::ptrdiff_t rows, std::ptrdiff_t cols,
                  Order order, std::ptrdiff_t stride) {
  static_assert(
      std::is_lvalue_reference<C>::value ||
          std::is_same<decltype(std::declval<C&>().data()),
                       decltype(std::declval<const C&>().data())>::value,
      "a matrix is a view: its elements must outlive it");
  auto matrix = MakeMatrix(elements.data(), rows, cols, order, stride);
  if (!Holds(elements.size(), matrix.layout())) matrix.set_data(nullptr);
  return matrix;
}

}  // namespace internal

// A matrix of the elements of `data`: a pointer or an array of T, or what has
// data() and size(), such as a std::vector or absl::Span. Returns a Matrix<T>,
// for const elements a Matrix<const T>. `stride` is as in Layout.
//
//   const float x[] = {1, 2, 3, 4, 5, 6};
//   Mul(RowMajor(x, 2, 3), ...)
//
// Where an array, vector or span has too few elements the matrix has null data,
// for which Mul returns an error. A pointer's buffer is the caller's to check.
template <typename Data>
auto RowMajor(Data&& data, std::ptrdiff_t rows, std::ptrdiff_t cols,
              std::ptrdiff_t stride = kNoGaps) {
  return internal::MakeMatrixOf(std::forward<Data>(data), rows, cols,
                                Order::kRowMajor, stride);
}
template <typename Data>
auto ColMajor(Data&& data, std::ptrdiff_t rows, std::ptrdiff_t cols,
              std::ptrdiff_t stride = kNoGaps) {
  return internal::MakeMatrixOf(std::forward<Data>(data), rows, cols,
                                Order::kColMajor, stride);
}

// Offset in elements of element (row, col).
inline std::ptrdiff_t ElementOffset(const Layout& layout, std::ptrdiff_t row,
                                    std::ptrdiff_t col) {
  return layout.order() == Order::kColMajor ? row + col * layout.stride()
                                            : row * layout.stride() + col;
}

// Element (row, col); both must be in range.
template <typename T>
std::remove_const_t<T> Element(const Matrix<T>& matrix, std::ptrdiff_t row,
                               std::ptrdiff_t col) {
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
