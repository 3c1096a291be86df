// Matrices and their random contents, for the tests of the drop-in.
#ifndef RUY_LIKE_TEST_DROPIN_MATRICES_H_
#define RUY_LIKE_TEST_DROPIN_MATRICES_H_

#include <cstddef>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "ruy/matrix.h"

namespace dropin_test {

// `count` values: all that a small integer type holds, +-1000 of an int32,
// [-1, 1] of a floating type. The same for the same `seed`.
template <typename T>
std::vector<T> RandomValues(std::size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<T> values(count);
  if constexpr (std::is_floating_point<T>::value) {
    std::uniform_real_distribution<T> distribution(-1, 1);
    for (T& value : values) value = distribution(engine);
  } else {
    const bool is_small = sizeof(T) < sizeof(int);
    std::uniform_int_distribution<int> distribution(
        is_small ? std::numeric_limits<T>::lowest() : -1000,
        is_small ? std::numeric_limits<T>::max() : 1000);
    for (T& value : values) value = static_cast<T>(distribution(engine));
  }
  return values;
}

// A matrix without gaps over data that may be const.
template <typename T>
ruy::Matrix<std::remove_const_t<T>> View(T* data, int rows, int cols,
                                         ruy::Order order) {
  ruy::Matrix<std::remove_const_t<T>> matrix;
  ruy::MakeSimpleLayout(rows, cols, order, matrix.mutable_layout());
  matrix.set_data(data);
  return matrix;
}

}  // namespace dropin_test

#endif  // RUY_LIKE_TEST_DROPIN_MATRICES_H_
