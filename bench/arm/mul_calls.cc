// The same product a given number of times, for what counts its instructions:
//
//   mul_calls s8|f32 <rows> <depth> <cols> <calls>
//
// on one thread, row-major lhs, column-major rhs and dst; int8 with a
// multiplier and without zero points. The difference of two runs, divided by
// the difference of their calls, is what a call takes (instructions.py).
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "ruy_like/ruy_like.h"

namespace ruy_like {
namespace {

struct Arguments {
  std::ptrdiff_t rows, depth, cols;
  int calls;
};

template <typename T, typename Accum>
int Run(const Arguments& args, const MulParams<Accum, T>& mul_params) {
  std::vector<T> lhs_data(args.rows * args.depth);
  std::vector<T> rhs_data(args.depth * args.cols);
  std::vector<T> dst_data(args.rows * args.cols);
  unsigned state = 1;
  for (std::vector<T>* data : {&lhs_data, &rhs_data}) {
    for (T& x : *data) {
      state = state * 1664525 + 1013904223;
      x = static_cast<T>(static_cast<int>(state >> 24) - 128);
    }
  }
  Matrix<T> lhs, rhs, dst;
  MakeSimpleLayout(args.rows, args.depth, Order::kRowMajor,
                   lhs.mutable_layout());
  MakeSimpleLayout(args.depth, args.cols, Order::kColMajor,
                   rhs.mutable_layout());
  MakeSimpleLayout(args.rows, args.cols, Order::kColMajor,
                   dst.mutable_layout());
  lhs.set_data(lhs_data.data());
  rhs.set_data(rhs_data.data());
  dst.set_data(dst_data.data());
  Context context;
  for (int i = 0; i < args.calls; ++i) {
    const absl::Status status = Mul(lhs, rhs, mul_params, &context, &dst);
    if (!status.ok()) {
      std::fprintf(stderr, "%s\n", status.ToString().c_str());
      return 1;
    }
  }
  std::printf("%s\n", context.last_used_kernel());
  return 0;
}

int Main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: mul_calls s8|f32 rows depth cols calls\n");
    return 2;
  }
  const Arguments args = {std::atol(argv[2]), std::atol(argv[3]),
                          std::atol(argv[4]), std::atoi(argv[5])};
  if (std::strcmp(argv[1], "f32") == 0) {
    return Run<float, float>(args, MulParams<float, float>());
  }
  MulParams<std::int32_t, std::int8_t> mul_params;
  mul_params.set_multiplier_fixedpoint(1 << 30);
  mul_params.set_multiplier_exponent(-8);
  return Run<std::int8_t, std::int32_t>(args, mul_params);
}

}  // namespace
}  // namespace ruy_like

int main(int argc, char** argv) { return ruy_like::Main(argc, argv); }
