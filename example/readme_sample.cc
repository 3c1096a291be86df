#include <cstdint>
#include <iostream>

#include "ruy_like/ruy_like.h"

using ruy_like::Order;

int main() {
  const std::int8_t weights[] = {1, 2, 3, 4, 5, 6};    // 2x3, row-major
  const std::uint8_t activations[] = {130, 131, 132};  // 3x1
  const std::int32_t bias[] = {10, -10};               // one per row of dst
  std::int8_t result[2];

  ruy_like::Matrix<std::int8_t> lhs, dst;
  ruy_like::Matrix<std::uint8_t> rhs;
  MakeSimpleLayout(2, 3, Order::kRowMajor, lhs.mutable_layout());
  MakeSimpleLayout(3, 1, Order::kColMajor, rhs.mutable_layout());
  MakeSimpleLayout(2, 1, Order::kColMajor, dst.mutable_layout());
  lhs.set_data(weights);
  rhs.set_data(activations);
  rhs.set_zero_point(128);
  dst.set_data(result);

  ruy_like::MulParams<std::int32_t, std::int8_t> mul_params;
  mul_params.set_bias(bias);
  mul_params.set_multiplier_fixedpoint(1 << 30);  // times 1/2
  ruy_like::Context context;
  absl::Status status = ruy_like::Mul(lhs, rhs, mul_params, &context, &dst);
  if (!status.ok()) {
    std::cerr << status << "\n";
    return 1;
  }
  std::cout << dst;  // 15, 19
}
