// The common part of the four examples of this folder: a product on an
// Executor, compared with ReferenceMul.
#ifndef RUY_LIKE_EXAMPLE_EXECUTORS_TRY_EXECUTOR_H_
#define RUY_LIKE_EXAMPLE_EXECUTORS_TRY_EXECUTOR_H_

#include <cstddef>
#include <cstdint>
#include <iostream>
#include <vector>

#include "ruy_like/ruy_like.h"

// An exit code. Prints one line.
inline int TryExecutor(const char* name, ruy_like::Executor* executor) {
  using ruy_like::Order;
  constexpr std::ptrdiff_t kSize = 400;
  std::vector<std::int8_t> values(kSize * kSize);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<std::int8_t>(i * 37);
  }
  std::vector<std::int32_t> expected(kSize * kSize), actual(kSize * kSize);
  ruy_like::Matrix<std::int8_t> lhs, rhs;
  ruy_like::Matrix<std::int32_t> dst;
  MakeSimpleLayout(kSize, kSize, Order::kRowMajor, lhs.mutable_layout());
  MakeSimpleLayout(kSize, kSize, Order::kColMajor, rhs.mutable_layout());
  MakeSimpleLayout(kSize, kSize, Order::kColMajor, dst.mutable_layout());
  lhs.set_data(values.data());
  rhs.set_data(values.data());
  const ruy_like::MulParams<std::int32_t, std::int32_t> mul_params;
  dst.set_data(expected.data());
  ReferenceMul(lhs, rhs, mul_params, &dst);

  ruy_like::Context context;
  context.set_executor(executor);
  // Threads even where they do not pay off: this shows that they work.
  context.set_num_threads_strategy(
      ruy_like::NumThreadsStrategy::kForceMaxNumThreads);
  dst.set_data(actual.data());
  for (int repeat = 0; repeat < 20; ++repeat) {
    actual.assign(actual.size(), 0);
    const absl::Status status =
        ruy_like::Mul(lhs, rhs, mul_params, &context, &dst);
    if (!status.ok() || actual != expected) {
      std::cout << name << ": " << status << ", wrong result\n";
      return 1;
    }
  }
  std::cout << name << ": right, " << context.last_used_num_threads()
            << " threads\n";
  return 0;
}

#endif  // RUY_LIKE_EXAMPLE_EXECUTORS_TRY_EXECUTOR_H_
