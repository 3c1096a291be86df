// Products for what counts their instructions (record.py, arm/instructions.py):
//
//   mul_calls <path> < cases
//
// Each line of the input is a case:
//
//   <type> <orders> <cached> <rows> <depth> <cols>
//
// type    s8     int8, one multiplier, no zero points
//         s8pc   the same with a bias and multipliers per row
//         u8     uint8 with zero points, a bias and one multiplier
//         u8pc   the same with multipliers per row
//         s32    int8 to raw int32
//         f32    float
//         s8s16, f64, bf16, f16   int8 by int16 to int32, double, 16-bit floats
//                to float; not with ruy
//         s4g32, s4g128, s8g32, s8g128   weights of 4 or 8 bits in groups of 32
//                or 128 levels by int8 columns; not with ruy
// orders  r or c (row- or column-major) for lhs, rhs and dst: rcc
// cached  none, lhs or rhs: the operand with CachePolicy::kAlwaysCache
//
// On one thread. Two calls come before those that are counted: kCalls between
// two system calls that nothing else makes, getppid(), at which the emulator's
// plugin reports, and two requests of Callgrind, whose file has them alone. A
// line of the output names the kernel that ran.
//
// Built with MUL_CALLS_OF_RUY it calls the library ruy instead, whose interface
// is the same here.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <type_traits>
#include <vector>

#if __has_include(<valgrind/callgrind.h>) && !defined(__riscv)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_ZERO_STATS
#define CALLGRIND_DUMP_STATS
#endif

#ifdef MUL_CALLS_OF_RUY
#include "ruy/ruy.h"
#else
#include "ruy_like/ruy_like.h"
#endif

namespace {

#ifdef MUL_CALLS_OF_RUY
namespace library = ruy;
constexpr struct {
  const char* name;
  library::Path path;
} kPaths[] = {{"neon", library::Path::kNeon},
              {"neondot", library::Path::kNeonDotprod},
              {"neon32", library::Path::kNeon}};

void Configure(library::Path path, library::Context* context) {
  context->set_runtime_enabled_paths(path);
  // Else it measures which one to take.
  context->set_explicit_tuning(library::Tuning::kGeneric);
}
const char* KernelOf(const library::Context&) { return "ruy"; }
template <typename... Args>
bool Multiply(const Args&... args) {
  library::Mul(args...);
  return true;
}
#else
namespace library = ruy_like;
constexpr struct {
  const char* name;
  library::Path path;
} kPaths[] = {
#define RUY_LIKE_PATH(Enum, name, arch, features, flags) \
  {#name, library::Path::k##Enum},
#include "ruy_like/registry/paths.inc"
#undef RUY_LIKE_PATH
};

void Configure(library::Path path, library::Context* context) {
  context->set_runtime_enabled_paths(path);
}
const char* KernelOf(const library::Context& context) {
  return context.last_used_kernel();
}
template <typename... Args>
bool Multiply(const Args&... args) {
  return library::Mul(args...).ok();
}
#endif

constexpr int kCalls = 4;

struct Case {
  char type[8], orders[8], cached[8];
  int rows, depth, cols;

  bool Is(const char* name) const { return std::strcmp(type, name) == 0; }
};

library::Order OrderOf(char letter) {
  return letter == 'r' ? library::Order::kRowMajor : library::Order::kColMajor;
}

template <typename T>
std::vector<T> RandomData(std::ptrdiff_t size) {
  std::vector<T> data(static_cast<std::size_t>(size));
  unsigned state = 1;
  for (T& x : data) {
    state = state * 1664525 + 1013904223;
    const int value =
        static_cast<int>(state >> 24) - (std::is_unsigned<T>::value ? 0 : 128);
    x = static_cast<T>(static_cast<float>(value));
  }
  return data;
}

template <typename T>
void Describe(int rows, int cols, char order, T* data,
              library::Matrix<T>* matrix) {
  library::MakeSimpleLayout(rows, cols, OrderOf(order),
                            matrix->mutable_layout());
  matrix->set_data(data);
}

// multiply(context), two times and then kCalls times, which are counted.
template <typename MultiplyOnce>
bool Count(library::Path path, const MultiplyOnce& multiply) {
  library::Context context;
  context.set_max_num_threads(1);
  Configure(path, &context);
  bool ok = true;
  for (int i = 0; i < 2; ++i) ok = multiply(&context) && ok;
  getppid();
  CALLGRIND_ZERO_STATS;
  for (int i = 0; i < kCalls; ++i) ok = multiply(&context) && ok;
  CALLGRIND_DUMP_STATS;
  getppid();
  std::printf("%d %s\n", kCalls, KernelOf(context));
  return ok;
}

template <typename T, typename Rhs = T, typename Accum, typename Dst>
bool Run(const Case& c, library::Path path,
         const library::MulParams<Accum, Dst>& mul_params) {
  std::vector<T> lhs_data = RandomData<T>(std::ptrdiff_t{c.rows} * c.depth);
  std::vector<Rhs> rhs_data = RandomData<Rhs>(std::ptrdiff_t{c.depth} * c.cols);
  std::vector<Dst> dst_data(static_cast<std::size_t>(c.rows) * c.cols);
  library::Matrix<T> lhs;
  library::Matrix<Rhs> rhs;
  library::Matrix<Dst> dst;
  Describe(c.rows, c.depth, c.orders[0], lhs_data.data(), &lhs);
  Describe(c.depth, c.cols, c.orders[1], rhs_data.data(), &rhs);
  Describe(c.rows, c.cols, c.orders[2], dst_data.data(), &dst);
  if (std::is_same<T, std::uint8_t>::value) {
    lhs.set_zero_point(static_cast<T>(128));
    rhs.set_zero_point(static_cast<Rhs>(120));
    dst.set_zero_point(static_cast<Dst>(128));
  }
  if (std::strcmp(c.cached, "lhs") == 0) {
    lhs.set_cache_policy(library::CachePolicy::kAlwaysCache);
  } else if (std::strcmp(c.cached, "rhs") == 0) {
    rhs.set_cache_policy(library::CachePolicy::kAlwaysCache);
  }
  return Count(path, [&](library::Context* context) {
    return Multiply(lhs, rhs, mul_params, context, &dst);
  });
}

template <typename T>
bool RunQuantized(const Case& c, library::Path path, bool per_channel,
                  bool biased) {
  library::MulParams<std::int32_t, T> mul_params;
  const std::vector<std::int32_t> bias(static_cast<std::size_t>(c.rows), 100);
  const std::vector<std::int32_t> fixedpoints(bias.size(), 1 << 30);
  const std::vector<int> exponents(bias.size(), -8);
  if (biased) mul_params.set_bias(bias.data());
  if (per_channel) {
    mul_params.set_multiplier_fixedpoint_perchannel(fixedpoints.data());
    mul_params.set_multiplier_exponent_perchannel(exponents.data());
  } else {
    mul_params.set_multiplier_fixedpoint(fixedpoints[0]);
    mul_params.set_multiplier_exponent(exponents[0]);
  }
  return Run<T>(c, path, mul_params);
}

#ifndef MUL_CALLS_OF_RUY
// Weights of `bits` bits in groups of `group` levels, packed ahead, by int8
// columns; orders and cached operands are as they are.
bool RunGroups(const Case& c, library::Path path, int bits, int group) {
  const std::ptrdiff_t levels = std::ptrdiff_t{c.rows} * c.depth;
  const auto data = RandomData<std::uint8_t>(levels);
  const std::vector<float> scales(static_cast<std::size_t>(levels / group),
                                  0.5f);
  library::GroupWeights weights;
  weights.rows = c.rows;
  weights.depth = c.depth;
  weights.bits = bits;
  weights.levels = data.data();
  weights.group_size = group;
  weights.set_scales(scales.data());
  library::Context packing;
  const auto packed = library::PackGroupWeights(weights, &packing);
  if (!packed.ok()) return false;
  std::vector<std::int8_t> rhs_data =
      RandomData<std::int8_t>(std::ptrdiff_t{c.depth} * c.cols);
  std::vector<float> dst_data(static_cast<std::size_t>(c.rows) * c.cols);
  library::Matrix<std::int8_t> rhs;
  library::Matrix<float> dst;
  Describe(c.depth, c.cols, 'c', rhs_data.data(), &rhs);
  Describe(c.rows, c.cols, 'c', dst_data.data(), &dst);
  return Count(path, [&](library::Context* context) {
    return library::Mul(*packed, rhs, library::GroupMulParams(), context, &dst)
        .ok();
  });
}
#endif

bool RunCase(const Case& c, library::Path path) {
#ifndef MUL_CALLS_OF_RUY
  int bits, group;
  if (std::sscanf(c.type, "s%dg%d", &bits, &group) == 2) {
    return RunGroups(c, path, bits, group);
  }
#endif
  if (c.Is("s8") || c.Is("s8pc")) {
    return RunQuantized<std::int8_t>(c, path, c.Is("s8pc"), c.Is("s8pc"));
  }
  if (c.Is("u8") || c.Is("u8pc")) {
    return RunQuantized<std::uint8_t>(c, path, c.Is("u8pc"), /*biased=*/true);
  }
  if (c.Is("s32")) {
    return Run<std::int8_t>(c, path,
                            library::MulParams<std::int32_t, std::int32_t>());
  }
  const auto float_params = library::MulParams<float, float>();
#ifndef MUL_CALLS_OF_RUY
  if (c.Is("bf16")) return Run<library::BFloat16>(c, path, float_params);
  if (c.Is("f16")) return Run<library::Float16>(c, path, float_params);
  if (c.Is("f64")) {
    return Run<double>(c, path, library::MulParams<double, double>());
  }
  if (c.Is("s8s16")) {
    return Run<std::int8_t, std::int16_t>(
        c, path, library::MulParams<std::int32_t, std::int32_t>());
  }
#endif
  return c.Is("f32") && Run<float>(c, path, float_params);
}

int Main(int argc, char** argv) {
  for (const auto& candidate : kPaths) {
    if (argc != 2 || std::strcmp(argv[1], candidate.name) != 0) continue;
    Case c;
    while (std::scanf("%7s %7s %7s %d %d %d", c.type, c.orders, c.cached,
                      &c.rows, &c.depth, &c.cols) == 6) {
      if (!RunCase(c, candidate.path)) {
        std::fprintf(stderr, "%s %dx%dx%d failed\n", c.type, c.rows, c.depth,
                     c.cols);
        return 1;
      }
    }
    return 0;
  }
  std::fprintf(stderr, "usage: mul_calls <path> < cases\n");
  return 2;
}

}  // namespace

int main(int argc, char** argv) { return Main(argc, argv); }
