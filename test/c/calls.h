// The common part of the tests of the C interface: structs with their sizes,
// matrices of the C++ tests' specifications, and owners of handles.
#ifndef RUY_LIKE_TEST_C_CALLS_H_
#define RUY_LIKE_TEST_C_CALLS_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "ruy_like/c/ruy_like.h"
#include "ruy_like/ruy_like.h"
#include "test/support/mul_problem.h"

namespace ruy_like {

template <typename T>
T Struct() {
  T result = {};
  result.size = sizeof(T);
  return result;
}

inline absl::Status StatusOf(rl_status code) {
  return code == RL_OK ? absl::OkStatus()
                       : absl::Status(static_cast<absl::StatusCode>(code),
                                      rl_last_error());
}

inline std::int32_t TypeOf(Scalar scalar) {
  return static_cast<int>(scalar) + 1;
}

inline rl_matrix MatrixOf(const MatrixSpec& spec, std::ptrdiff_t rows,
                          std::ptrdiff_t cols, const void* data) {
  rl_matrix matrix = Struct<rl_matrix>();
  matrix.data = const_cast<void*>(data);
  matrix.type = TypeOf(spec.scalar);
  matrix.order = static_cast<int>(spec.order);
  matrix.rows = rows;
  matrix.cols = cols;
  if (spec.gap != 0) {
    matrix.stride = (spec.order == Order::kColMajor ? rows : cols) + spec.gap;
  }
  matrix.zero_point = spec.zero_point;
  matrix.cache_policy = static_cast<int>(spec.cache_policy);
  matrix.value_range = spec.int7 != Int7::kNotPromised ? RL_INT7 : 0;
  return matrix;
}
struct Free {
  void operator()(rl_context* context) const { rl_context_destroy(context); }
  void operator()(rl_packed* packed) const { rl_packed_destroy(packed); }
  void operator()(rl_plan* plan) const { rl_plan_destroy(plan); }
};
using ContextPtr = std::unique_ptr<rl_context, Free>;
using PackedPtr = std::unique_ptr<rl_packed, Free>;
using PlanPtr = std::unique_ptr<rl_plan, Free>;

inline ContextPtr NewContext(int threads = 1) {
  rl_context* context = nullptr;
  EXPECT_EQ(rl_context_create(&context), RL_OK);
  EXPECT_EQ(rl_context_set_threads(context, threads), RL_OK);
  return ContextPtr(context);
}

}  // namespace ruy_like

#endif  // RUY_LIKE_TEST_C_CALLS_H_
