// libFuzzer target: integer products of any shape, strides, orders, zero
// points, multipliers, bounds, paths, policies and threads, against an oracle
// that shares nothing with the library, ReferenceMul included: it adds up in
// 128 bits and wraps, divides and clamps on its own.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <vector>

#include "ruy_like/mul.h"
#include "ruy_like/packed_matrix.h"
#include "test/fuzz/fuzz_input.h"
#include "test/fuzz/fuzz_support.h"
#include "test/support/guarded_buffer.h"

namespace ruy_like {
namespace {

__extension__ typedef __int128 Wide;

// x modulo 2^32, as an int32.
Wide Wrapped(Wide x) {
  const Wide modulus = Wide{1} << 32;
  x %= modulus;
  if (x < 0) x += modulus;
  return x >= modulus / 2 ? x - modulus : x;
}

// The largest integer that is not above a / b; b is positive.
Wide FloorDivide(Wide a, Wide b) {
  const Wide quotient = a / b;
  return a % b < 0 ? quotient - 1 : quotient;
}

Wide Clamped(Wide x, Wide low, Wide high) {
  return x < low ? low : x > high ? high : x;
}

// x * fixedpoint / 2^31 * 2^exponent, to the nearest integer, half up.
Wide Multiplied(Wide x, std::int32_t fixedpoint, int exponent) {
  const Wide divisor = Wide{1} << (31 - exponent);
  return Clamped(FloorDivide(2 * x * fixedpoint + divisor, 2 * divisor),
                 INT32_MIN, INT32_MAX);
}

// A matrix whose elements' places are computed here.
template <typename T>
struct Operand {
  std::ptrdiff_t rows, cols, stride;
  bool row_major;
  T zero_point;
  GuardedArray<T> data;

  Operand(FuzzInput* input, std::ptrdiff_t rows_arg, std::ptrdiff_t cols_arg,
          bool may_have_zero_point)
      : rows(rows_arg),
        cols(cols_arg),
        stride(0),
        row_major(input->Below(2) == 1),
        zero_point(static_cast<T>(may_have_zero_point ? input->Byte() : 0)),
        data(Size(input)) {}

  std::size_t Size(FuzzInput* input) {
    const std::ptrdiff_t inner = row_major ? cols : rows;
    const std::ptrdiff_t outer = row_major ? rows : cols;
    stride = inner + input->Below(4);
    return static_cast<std::size_t>(
        inner == 0 || outer == 0 ? 0 : (outer - 1) * stride + inner);
  }
  std::ptrdiff_t At(std::ptrdiff_t row, std::ptrdiff_t col) const {
    return row_major ? row * stride + col : col * stride + row;
  }
  void Fill(std::uint32_t seed) {
    for (std::size_t i = 0; i < data.size(); ++i) {
      seed = seed * 1664525u + 1013904223u;
      const std::uint32_t draw = seed >> 16;
      // Extreme values often: what saturates does there.
      data[i] = draw % 4 == 0   ? std::numeric_limits<T>::lowest()
                : draw % 4 == 1 ? std::numeric_limits<T>::max()
                                : static_cast<T>(draw >> 2);
    }
  }
  Matrix<T> AsMatrix() {
    Matrix<T> matrix;
    MakeSimpleLayout(rows, cols,
                     row_major ? Order::kRowMajor : Order::kColMajor,
                     matrix.mutable_layout());
    matrix.mutable_layout()->set_stride(stride);
    matrix.set_data(data.data());
    matrix.set_zero_point(zero_point);
    return matrix;
  }
};

[[noreturn]] void Fail(const char* what, const Context& context) {
  std::fprintf(stderr, "%s by %s\n", what, context.last_used_kernel());
  std::abort();
}

template <typename Lhs, typename Rhs, typename Dst>
void Run(FuzzInput input) {
  using Params = MulParams<std::int32_t, Dst>;
  const std::ptrdiff_t rows = input.Below(70);
  const std::ptrdiff_t depth = input.Below(140);
  const std::ptrdiff_t cols = input.Below(70);
  Context* const context = AnyContext(&input);
  Operand<Lhs> lhs(&input, rows, depth, sizeof(Lhs) == 1);
  Operand<Rhs> rhs(&input, depth, cols, sizeof(Rhs) == 1);
  Operand<Dst> dst(&input, rows, cols, true);
  Params params;
  const bool by_row = input.Below(2) == 0;
  params.set_channel_dimension(by_row ? ChannelDimension::kRow
                                      : ChannelDimension::kCol);
  const std::size_t channels = static_cast<std::size_t>(by_row ? rows : cols);
  std::vector<std::int32_t> bias(channels + 1), fixedpoint(channels + 1);
  std::vector<int> exponent(channels + 1);
  for (std::size_t i = 0; i <= channels; ++i) {
    bias[i] = static_cast<std::int32_t>(input.Word());
    fixedpoint[i] = static_cast<std::int32_t>(input.Word() >> 1);
    exponent[i] = input.Below(62) - 31;
  }
  const bool has_bias = input.Below(2) == 0;
  if (has_bias) params.set_bias(bias.data());
  const int multipliers = Params::kQuantized ? input.Below(3) : 0;
  if constexpr (Params::kQuantized) {
    if (multipliers == 1) {
      params.set_multiplier_fixedpoint(fixedpoint[0]);
      params.set_multiplier_exponent(exponent[0]);
    } else if (multipliers == 2) {
      params.set_multiplier_fixedpoint_perchannel(fixedpoint.data());
      params.set_multiplier_exponent_perchannel(exponent.data());
    }
  }
  if (input.Below(2) == 0) {
    const Dst a = static_cast<Dst>(input.Word());
    const Dst b = static_cast<Dst>(input.Word());
    params.set_clamp_min(std::min(a, b));
    params.set_clamp_max(std::max(a, b));
  }
  lhs.Fill(input.Word());
  rhs.Fill(input.Word());
  const auto lhs_matrix = lhs.AsMatrix();
  auto rhs_matrix = rhs.AsMatrix();
  auto dst_matrix = dst.AsMatrix();
  absl::Status status;
  if (input.Below(4) == 0) {
    PackOptions options;
    options.dst_order =
        input.Below(2) == 0 ? Order::kColMajor : Order::kRowMajor;
    if (sizeof(Rhs) == 2) options.pack_for = PackFor::kInt16Operand;
    const auto packed = Pack(lhs_matrix, Side::kLhs, options, context);
    if (!packed.ok()) Fail("refused to pack", *context);
    status = Mul(*packed, rhs_matrix, params, context, &dst_matrix);
  } else {
    rhs_matrix.set_cache_policy(static_cast<CachePolicy>(input.Below(4)));
    status = Mul(lhs_matrix, rhs_matrix, params, context, &dst_matrix);
    context->ClearPrepackedCache();
  }
  if (!status.ok()) Fail(status.ToString().c_str(), *context);
  for (std::ptrdiff_t row = 0; row < rows; ++row) {
    for (std::ptrdiff_t col = 0; col < cols; ++col) {
      Wide sum = 0;
      for (std::ptrdiff_t k = 0; k < depth; ++k) {
        sum += (Wide{lhs.data[lhs.At(row, k)]} - lhs.zero_point) *
               (Wide{rhs.data[rhs.At(k, col)]} - rhs.zero_point);
      }
      const std::size_t channel = static_cast<std::size_t>(by_row ? row : col);
      if (has_bias) sum += bias[channel];
      Wide x = Wrapped(sum);
      if (multipliers == 1) x = Multiplied(x, fixedpoint[0], exponent[0]);
      if (multipliers == 2) {
        x = Multiplied(x, fixedpoint[channel], exponent[channel]);
      }
      x = Clamped(x + dst.zero_point, params.clamp_min(), params.clamp_max());
      if (dst.data[dst.At(row, col)] != x) Fail("wrong", *context);
    }
  }
}

}  // namespace
}  // namespace ruy_like

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using ruy_like::FuzzInput;
  using ruy_like::Run;
  FuzzInput input(data, size);
  // In this order, which the corpus counts on.
  void (*const runs[])(FuzzInput) = {
      Run<std::int8_t, std::int8_t, std::int8_t>,
      Run<std::int8_t, std::int8_t, std::int32_t>,
      Run<std::uint8_t, std::uint8_t, std::uint8_t>,
      Run<std::uint8_t, std::int8_t, std::int16_t>,
      Run<std::int8_t, std::uint8_t, std::int8_t>,
      Run<std::int8_t, std::int16_t, std::int16_t>,
      Run<std::int16_t, std::int8_t, std::int32_t>,
      Run<std::uint8_t, std::uint8_t, std::int32_t>};
  runs[input.Below(8)](input);
  return 0;
}
