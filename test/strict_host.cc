// A host's source that is compiled with every warning as an error and without
// exceptions and RTTI: the public headers must not be what stops it.
// Instantiates what their templates make for each combination of types, and
// compares the products.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <utility>
#include <vector>

#include "ruy_like/ruy_like.h"

namespace {
bool next_allocation_fails = false;
}  // namespace

void* operator new(std::size_t bytes) {
  if (std::exchange(next_allocation_fails, false)) {
    // Throws std::length_error, as no `throw` can in this source.
    std::vector<char>().reserve(~std::size_t{0});
  }
  return std::malloc(bytes);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*bytes*/) noexcept {
  std::free(memory);
}

namespace {

using ruy_like::Matrix;
using ruy_like::Order;
using ruy_like::Side;

constexpr int kSize = 2;

// Each way to multiply; true if all results are right.
template <typename Lhs, typename Rhs, typename Accum, typename Dst>
bool Multiplies() {
  Lhs lhs_data[] = {1, 2, 3, 4};
  Rhs rhs_data[] = {5, 6, 7, 8};
  Dst dst_data[kSize * kSize] = {};
  const Matrix<Lhs> lhs = ruy_like::RowMajor(lhs_data, kSize, kSize);
  const Matrix<Rhs> rhs = ruy_like::RowMajor(rhs_data, kSize, kSize);
  Matrix<Dst> dst = ruy_like::RowMajor(dst_data, kSize, kSize);
  const ruy_like::MulParams<Accum, Dst> mul_params;
  std::ostringstream expected;
  ruy_like::ReferenceMul(lhs, rhs, mul_params, &dst);
  expected << dst;

  ruy_like::Context context;
  ruy_like::PackOptions lhs_options, rhs_options;
  lhs_options.dst_order = rhs_options.dst_order = Order::kRowMajor;
  if constexpr (sizeof(Lhs) + sizeof(Rhs) == 3) {  // 8 by 16 bits
    lhs_options.pack_for = sizeof(Lhs) == 1 ? ruy_like::PackFor::kInt16Operand
                                            : ruy_like::PackFor::kDefault;
    rhs_options.pack_for = sizeof(Rhs) == 1 ? ruy_like::PackFor::kInt16Operand
                                            : ruy_like::PackFor::kDefault;
  } else if constexpr (sizeof(Lhs) + sizeof(Rhs) + sizeof(Accum) + sizeof(Dst) >
                       16) {
    if (sizeof(Lhs) == 4) {
      lhs_options.pack_for = ruy_like::PackFor::kDoubleProduct;
    }
    if (sizeof(Rhs) == 4) {
      rhs_options.pack_for = ruy_like::PackFor::kDoubleProduct;
    }
  }
  const auto packed_lhs = Pack(lhs, Side::kLhs, lhs_options, &context);
  const auto packed_rhs = Pack(rhs, Side::kRhs, rhs_options, &context);
  if (!packed_lhs.ok() || !packed_rhs.ok()) return false;

  ruy_like::MulPlan plan;
  bool all_ok = true;
  const auto check = [&](const absl::Status& status) {
    std::ostringstream actual;
    actual << dst;
    all_ok = all_ok && status.ok() && actual.str() == expected.str();
    for (Dst& element : dst_data) element = 0;
  };
  check(Mul(lhs, rhs, mul_params, &context, &dst));
  check(Mul(*packed_lhs, rhs, mul_params, &context, &dst));
  check(Mul(lhs, *packed_rhs, mul_params, &context, &dst));
  check(Mul(*packed_lhs, *packed_rhs, mul_params, &context, &dst));
  absl::Status status = plan.Prepare(lhs, rhs, mul_params, 1, &context, &dst);
  status.Update(plan.Run(0));
  status.Update(plan.Finish());
  check(status);
  return all_ok;
}

template <typename Lhs, typename Rhs, typename... Dsts>
bool MultipliesIntegers() {
  return (Multiplies<Lhs, Rhs, std::int32_t, Dsts>() && ...);
}

template <typename Lhs, typename Rhs>
bool MultipliesBytes() {
  return MultipliesIntegers<Lhs, Rhs, std::int8_t, std::uint8_t, std::int16_t,
                            std::int32_t, float>();
}

template <typename Lhs, typename Rhs>
bool MultipliesFloats() {
  return Multiplies<Lhs, Rhs, float, float>() &&
         Multiplies<Lhs, Rhs, float, double>() &&
         Multiplies<Lhs, Rhs, double, float>() &&
         Multiplies<Lhs, Rhs, double, double>();
}

// The library catches exceptions that this source is compiled without.
bool ReportsMissingMemory() {
  const float data[] = {1, 2};
  ruy_like::Context context;
  next_allocation_fails = true;
  const auto packed = Pack(ruy_like::ColMajor(data, 2, 1), Side::kRhs,
                           ruy_like::PackOptions(), &context);
  return packed.status().code() == absl::StatusCode::kResourceExhausted;
}

}  // namespace

int main() {
  using I8 = std::int8_t;
  using U8 = std::uint8_t;
  using I16 = std::int16_t;
  using I32 = std::int32_t;
  const bool ok =
      MultipliesBytes<I8, I8>() && MultipliesBytes<I8, U8>() &&
      MultipliesBytes<U8, I8>() && MultipliesBytes<U8, U8>() &&
      MultipliesIntegers<I8, I16, I8, U8, I16, I32>() &&
      MultipliesIntegers<I16, I8, I8, U8, I16, I32>() &&
      MultipliesFloats<float, float>() && MultipliesFloats<float, double>() &&
      MultipliesFloats<double, float>() && MultipliesFloats<double, double>();
  if (!ok) std::cerr << "wrong result\n";
  const bool reports = ReportsMissingMemory();
  if (!reports) std::cerr << "missing memory is not reported\n";
  return ok && reports ? 0 : 1;
}
