// Drop-in for ruy: Matrix and Layout, with sizes in int.
//
// Views over ruy_like's; Mul checks them, nothing here does.
#ifndef RUY_LIKE_DROPIN_RUY_MATRIX_H_
#define RUY_LIKE_DROPIN_RUY_MATRIX_H_

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <type_traits>

#include "ruy/check_macros.h"
#include "ruy/dropin_visibility.h"
#include "ruy_like/matrix.h"

namespace ruy {

using CachePolicy = ruy_like::CachePolicy;
using Order = ruy_like::Order;

// Shape and memory layout; counts of elements.
class Layout final {
 public:
  RUY_LIKE_LOCAL Layout() = default;

  RUY_LIKE_LOCAL int rows() const { return rows_; }
  RUY_LIKE_LOCAL int cols() const { return cols_; }
  RUY_LIKE_LOCAL int stride() const { return stride_; }
  RUY_LIKE_LOCAL Order order() const { return order_; }
  RUY_LIKE_LOCAL void set_rows(int value) { rows_ = value; }
  RUY_LIKE_LOCAL void set_cols(int value) { cols_ = value; }
  RUY_LIKE_LOCAL void set_stride(int value) { stride_ = value; }
  RUY_LIKE_LOCAL void set_order(Order value) { order_ = value; }

 private:
  int rows_ = 0;
  int cols_ = 0;
  int stride_ = 0;
  Order order_ = Order::kColMajor;
};

RUY_LIKE_LOCAL inline void MakeSimpleLayout(int rows, int cols, Order order,
                                            Layout* layout) {
  layout->set_rows(rows);
  layout->set_cols(cols);
  layout->set_order(order);
  layout->set_stride(order == Order::kColMajor ? rows : cols);
}

namespace detail {

// A pointer that knows whether it was set from a pointer to const. For users'
// code: Matrix has the same rule, without it.
template <typename T>
class ConstCheckingPtr final {
 public:
  static_assert(!std::is_const<T>::value, "T, not const T");
  using element_type = T;

  RUY_LIKE_LOCAL ConstCheckingPtr() = default;

  RUY_LIKE_LOCAL void set(T* ptr) {
    ptr_ = ptr;
    is_const_ = false;
  }
  RUY_LIKE_LOCAL void set(const T* ptr) {
    ptr_ = ptr;
    is_const_ = true;
  }
  RUY_LIKE_LOCAL void set(std::nullptr_t) { ptr_ = nullptr; }

  // Not const: for writing. In debug builds the program ends if the pointer was
  // set from one to const.
  RUY_LIKE_LOCAL T* get() {
    RUY_DCHECK(!is_const_);
    return const_cast<T*>(ptr_);
  }
  RUY_LIKE_LOCAL const T* get() const { return ptr_; }

 private:
  const T* ptr_ = nullptr;
  bool is_const_ = false;
};

}  // namespace detail

// A view of a caller-owned buffer; see ruy_like::Matrix.
template <typename Scalar>
class Matrix final {
 public:
  RUY_LIKE_LOCAL Matrix() = default;

  // Not const: for writing, so in debug builds the program ends if the data
  // was set from a pointer to const.
  RUY_LIKE_LOCAL Scalar* data() {
    RUY_DCHECK(!matrix_.data_is_const());
    return matrix_.data();
  }
  RUY_LIKE_LOCAL const Scalar* data() const { return matrix_.data(); }
  RUY_LIKE_LOCAL void set_data(Scalar* data) { matrix_.set_data(data); }
  RUY_LIKE_LOCAL void set_data(const Scalar* data) { matrix_.set_data(data); }
  RUY_LIKE_LOCAL void set_data(std::nullptr_t) { matrix_.set_data(nullptr); }

  RUY_LIKE_LOCAL const Layout& layout() const { return layout_; }
  RUY_LIKE_LOCAL Layout* mutable_layout() { return &layout_; }

  RUY_LIKE_LOCAL Scalar zero_point() const { return matrix_.zero_point(); }
  RUY_LIKE_LOCAL void set_zero_point(Scalar value) {
    matrix_.set_zero_point(value);
  }
  RUY_LIKE_LOCAL CachePolicy cache_policy() const {
    return matrix_.cache_policy();
  }
  RUY_LIKE_LOCAL void set_cache_policy(CachePolicy value) {
    matrix_.set_cache_policy(value);
  }

  // Not in ruy: the same view for ruy_like's own functions.
  RUY_LIKE_LOCAL ruy_like::Matrix<Scalar> ToRuyLike() const {
    ruy_like::Matrix<Scalar> result = matrix_;
    result.mutable_layout()->set_rows(layout_.rows());
    result.mutable_layout()->set_cols(layout_.cols());
    result.mutable_layout()->set_stride(layout_.stride());
    result.mutable_layout()->set_order(layout_.order());
    return result;
  }

 private:
  ruy_like::Matrix<Scalar> matrix_;  // but for its layout
  Layout layout_;
};

// Offset in elements, as an int like the layout's numbers: in ruy's interface
// a matrix with more than 2^31 elements has no such offsets.
RUY_LIKE_LOCAL inline int Offset(const Layout& layout, int row, int col) {
  return layout.order() == Order::kColMajor ? row + col * layout.stride()
                                            : row * layout.stride() + col;
}

template <typename Scalar>
RUY_LIKE_LOCAL const Scalar* ElementPtr(const Matrix<Scalar>& matrix, int row,
                                        int col) {
  return matrix.data() + Offset(matrix.layout(), row, col);
}
template <typename Scalar>
RUY_LIKE_LOCAL Scalar* ElementPtr(Matrix<Scalar>* matrix, int row, int col) {
  return matrix->data() + Offset(matrix->layout(), row, col);
}
template <typename Scalar>
RUY_LIKE_LOCAL Scalar Element(const Matrix<Scalar>& matrix, int row, int col) {
  return *ElementPtr(matrix, row, col);
}

// One line per row, each element followed by a space.
template <typename Scalar>
RUY_LIKE_LOCAL std::ostream& operator<<(std::ostream& stream,
                                        const Matrix<Scalar>& matrix) {
  return stream << matrix.ToRuyLike();
}

}  // namespace ruy

#endif  // RUY_LIKE_DROPIN_RUY_MATRIX_H_
