// A user's program: a product with types of its own, an error, a name.
#include <cstdint>
#include <iostream>

#include "ruy_like/ruy_like.h"

int main() {
  using ruy_like::Matrix;
  using ruy_like::Order;
  const std::int8_t lhs_data[] = {1, 2, 3, 4};
  const std::uint8_t rhs_data[] = {5, 6, 7, 8};
  std::int32_t dst_data[4] = {};
  Matrix<std::int8_t> lhs;
  Matrix<std::uint8_t> rhs;
  Matrix<std::int32_t> dst;
  MakeSimpleLayout(2, 2, Order::kRowMajor, lhs.mutable_layout());
  MakeSimpleLayout(2, 2, Order::kRowMajor, rhs.mutable_layout());
  MakeSimpleLayout(2, 2, Order::kRowMajor, dst.mutable_layout());
  lhs.set_data(lhs_data);
  rhs.set_data(rhs_data);
  dst.set_data(dst_data);
  ruy_like::Context context;
  context.set_max_num_threads(2);
  const ruy_like::MulParams<std::int32_t, std::int32_t> mul_params;
  absl::Status status = Mul(lhs, rhs, mul_params, &context, &dst);
  if (!status.ok()) {
    std::cerr << status << "\n";
    return 1;
  }
  const std::int32_t expected[] = {19, 22, 43, 50};
  for (int i = 0; i < 4; ++i) {
    if (dst_data[i] != expected[i]) return 2;
  }
  lhs.set_data(static_cast<const std::int8_t*>(nullptr));
  if (Mul(lhs, rhs, mul_params, &context, &dst).ok()) return 3;
  std::cout << "path " << PathName(context.last_used_path()) << "\n";
  return 0;
}
