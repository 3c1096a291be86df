// A program written for ruy, built with the drop-in (RUY_LIKE_RUY_DROPIN):
// first as it is, then with one thing that ruy has no name for.
#include <cstdint>
#include <iostream>

#include "ruy/ruy.h"

int main() {
  const std::int8_t weights[] = {1, 2, 3, 4, 5, 6};    // 2x3, row-major
  const std::uint8_t activations[] = {130, 131, 132};  // 3x1
  std::int32_t result[2];

  ruy::Matrix<std::int8_t> lhs;
  ruy::Matrix<std::uint8_t> rhs;
  ruy::Matrix<std::int32_t> dst;
  ruy::MakeSimpleLayout(2, 3, ruy::Order::kRowMajor, lhs.mutable_layout());
  ruy::MakeSimpleLayout(3, 1, ruy::Order::kColMajor, rhs.mutable_layout());
  ruy::MakeSimpleLayout(2, 1, ruy::Order::kColMajor, dst.mutable_layout());
  lhs.set_data(weights);
  rhs.set_data(activations);
  rhs.set_zero_point(128);
  dst.set_data(result);

  ruy::Context context;
  context.set_max_num_threads(2);
  ruy::MulParams<std::int32_t, std::int32_t> mul_params;
  ruy::Mul(lhs, rhs, mul_params, &context, &dst);
  std::cout << dst;  // 20, 47

  // The ruy_like::Context inside, and errors as values.
  ruy_like::Context* ruy_like_context =
      ruy::get_ctx(&context)->ruy_like_context();
  std::cerr << "kernel: " << ruy_like_context->last_used_kernel() << "\n";
  ruy_like::Matrix<std::int32_t> wrong_dst = dst.ToRuyLike();
  MakeSimpleLayout(3, 1, ruy_like::Order::kColMajor,
                   wrong_dst.mutable_layout());
  const absl::Status status =
      ruy_like::Mul(lhs.ToRuyLike(), rhs.ToRuyLike(), mul_params.ToRuyLike(),
                    ruy_like_context, &wrong_dst);
  std::cout << status.message() << "\n";
}
