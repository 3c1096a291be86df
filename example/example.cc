// Six small products, from float to int8 times int16: how operands, parameters
// and results are described, and how errors come back.
//
// A test compares the output with a recorded text.
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <type_traits>

#include "ruy_like/ruy_like.h"

namespace {

using ruy_like::Matrix;
using ruy_like::MulParams;
using ruy_like::Order;

// A 2x2 view of data[0..3]. Matrices do not own their elements: the array must
// outlive the view. Pointers to const make operands, others make destinations
// too.
template <typename T>
Matrix<std::remove_const_t<T>> View2x2(T* data, Order order) {
  Matrix<std::remove_const_t<T>> matrix;
  ruy_like::MakeSimpleLayout(2, 2, order, matrix.mutable_layout());
  matrix.set_data(data);
  return matrix;
}

// Multiplies into *dst and prints operands and result.
template <typename Lhs, typename Rhs, typename Accum, typename Dst>
absl::Status MulAndPrint(const char* title, const Matrix<Lhs>& lhs,
                         const Matrix<Rhs>& rhs,
                         const MulParams<Accum, Dst>& mul_params,
                         ruy_like::Context* context, Matrix<Dst>* dst) {
  absl::Status status = ruy_like::Mul(lhs, rhs, mul_params, context, dst);
  if (!status.ok()) return status;
  std::cout << title << "\nLHS:\n"
            << lhs << "RHS:\n"
            << rhs << "Result:\n"
            << *dst << "\n";
  return status;
}

absl::Status FloatProduct(ruy_like::Context* context) {
  const float lhs_data[] = {1, 2, 3, 4};
  const float rhs_data[] = {1, 2, 3, 4};
  float dst_data[4];

  const Matrix<float> lhs = View2x2(lhs_data, Order::kRowMajor);
  const Matrix<float> rhs = View2x2(rhs_data, Order::kColMajor);
  Matrix<float> dst = View2x2(dst_data, Order::kColMajor);

  // Without parameters set: the plain product.
  const MulParams<float, float> mul_params;
  return MulAndPrint("Example Mul, float:", lhs, rhs, mul_params, context,
                     &dst);
}

absl::Status FloatProductWithBiasAndClamp(ruy_like::Context* context) {
  const float lhs_data[] = {1, 2, 3, 4};
  const float rhs_data[] = {1, 2, 3, 4};
  // One value per row of dst; set_channel_dimension() makes it per column.
  const float bias_data[] = {1, 0};
  float dst_data[4];

  const Matrix<float> lhs = View2x2(lhs_data, Order::kRowMajor);
  const Matrix<float> rhs = View2x2(rhs_data, Order::kColMajor);
  Matrix<float> dst = View2x2(dst_data, Order::kColMajor);

  MulParams<float, float> mul_params;
  mul_params.set_bias(bias_data);
  mul_params.set_clamp_min(0);
  mul_params.set_clamp_max(15);
  return MulAndPrint("Example Mul, float with bias addition and clamp:", lhs,
                     rhs, mul_params, context, &dst);
}

absl::Status Uint8ProductWithZeroPoints(ruy_like::Context* context) {
  const std::uint8_t lhs_data[] = {124, 125, 126, 127};
  const std::uint8_t rhs_data[] = {129, 130, 131, 132};
  std::uint8_t dst_data[4];

  // A zero point is the stored value that stands for 0: these operands are
  // {-1, 0; 1, 2} and {-3, -1; -2, 0}.
  Matrix<std::uint8_t> lhs = View2x2(lhs_data, Order::kRowMajor);
  lhs.set_zero_point(125);
  Matrix<std::uint8_t> rhs = View2x2(rhs_data, Order::kColMajor);
  rhs.set_zero_point(132);
  Matrix<std::uint8_t> dst = View2x2(dst_data, Order::kColMajor);
  dst.set_zero_point(129);

  // Accumulators are int32; the multiplier, here 2^30 / 2^31 * 2^0 = 1/2,
  // brings them to dst's scale.
  MulParams<std::int32_t, std::uint8_t> mul_params;
  mul_params.set_multiplier_fixedpoint(1 << 30);
  mul_params.set_multiplier_exponent(0);
  return MulAndPrint(
      "Example Mul, uint8 quantized with asymmetric zero points:", lhs, rhs,
      mul_params, context, &dst);
}

// Multipliers of the two rows of dst, 0.375 * 2 and 0.625 / 4.
constexpr std::int32_t kFixedpointPerRow[] = {3 << 28, 5 << 28};
constexpr int kExponentPerRow[] = {1, -2};

absl::Status Int8ProductWithPerChannelMultipliers(ruy_like::Context* context) {
  const std::int8_t lhs_data[] = {1, 2, 3, 4};
  const std::int8_t rhs_data[] = {1, 2, 3, 4};
  std::int8_t dst_data[4];

  const Matrix<std::int8_t> lhs = View2x2(lhs_data, Order::kRowMajor);
  const Matrix<std::int8_t> rhs = View2x2(rhs_data, Order::kColMajor);
  Matrix<std::int8_t> dst = View2x2(dst_data, Order::kColMajor);

  MulParams<std::int32_t, std::int8_t> mul_params;
  mul_params.set_multiplier_fixedpoint_perchannel(kFixedpointPerRow);
  mul_params.set_multiplier_exponent_perchannel(kExponentPerRow);
  return MulAndPrint("Example Mul, int8 quantized with per-channel multipliers",
                     lhs, rhs, mul_params, context, &dst);
}

absl::Status Int8ProductToRawAccumulators(ruy_like::Context* context) {
  const std::int8_t lhs_data[] = {1, 2, 3, 4};
  const std::int8_t rhs_data[] = {1, 2, 3, 4};
  std::int32_t dst_data[4];

  const Matrix<std::int8_t> lhs = View2x2(lhs_data, Order::kRowMajor);
  const Matrix<std::int8_t> rhs = View2x2(rhs_data, Order::kColMajor);
  Matrix<std::int32_t> dst = View2x2(dst_data, Order::kColMajor);

  // An int32 dst gets the accumulators as they are: multipliers do not apply,
  // and setting one would not compile.
  const MulParams<std::int32_t, std::int32_t> mul_params;
  return MulAndPrint("Example Mul, returning raw int32 accumulators:", lhs, rhs,
                     mul_params, context, &dst);
}

absl::Status Int8TimesInt16Product(ruy_like::Context* context) {
  const std::int8_t lhs_data[] = {1, 2, 3, 4};
  const std::int16_t rhs_data[] = {1000, 2000, 3000, 4000};
  std::int16_t dst_data[4];

  const Matrix<std::int8_t> lhs = View2x2(lhs_data, Order::kRowMajor);
  const Matrix<std::int16_t> rhs = View2x2(rhs_data, Order::kColMajor);
  Matrix<std::int16_t> dst = View2x2(dst_data, Order::kColMajor);

  MulParams<std::int32_t, std::int16_t> mul_params;
  mul_params.set_multiplier_fixedpoint_perchannel(kFixedpointPerRow);
  mul_params.set_multiplier_exponent_perchannel(kExponentPerRow);
  return MulAndPrint(
      "Example Mul, int8 times int16 quantized with per-channel multipliers",
      lhs, rhs, mul_params, context, &dst);
}

}  // namespace

int main() {
  // One Context for all calls: it keeps threads, scratch and packed operands.
  ruy_like::Context context;
  constexpr absl::Status (*kExamples[])(ruy_like::Context*) = {
      FloatProduct,
      FloatProductWithBiasAndClamp,
      Uint8ProductWithZeroPoints,
      Int8ProductWithPerChannelMultipliers,
      Int8ProductToRawAccumulators,
      Int8TimesInt16Product,
  };
  for (auto* example : kExamples) {
    const absl::Status status = example(&context);
    if (!status.ok()) {
      std::cerr << status << "\n";
      return EXIT_FAILURE;
    }
  }
  return EXIT_SUCCESS;
}
