#include <cstdint>
#include <iostream>

#include "ruy_like/ruy_like.h"

int main() {
  const std::int8_t weights[] = {1, 2, 3, 4, 5, 6};
  const std::uint8_t activations[] = {130, 131, 132};
  const std::int32_t bias[] = {10, -10};  // one per row of dst
  std::int8_t result[2];

  const auto lhs = ruy_like::RowMajor(weights, 2, 3);
  auto rhs = ruy_like::ColMajor(activations, 3, 1);
  rhs.set_zero_point(128);
  auto dst = ruy_like::ColMajor(result, 2, 1);

  ruy_like::MulParams<std::int32_t, std::int8_t> mul_params;
  mul_params.set_bias(bias);
  mul_params.set_multiplier_fixedpoint(1 << 30);  // times 1/2
  ruy_like::Context context;
  const absl::Status status =
      ruy_like::Mul(lhs, rhs, mul_params, &context, &dst);
  std::cout << status << "\n" << dst;
}
