// One product described by flags: checks Mul against ReferenceMul, and times
// it.
//
//   ruy_like_parametrized_example --lhs=s8 --rhs=u8 --dst=s8 --rows=512
//       --depth=512 --cols=512 --rhs_zero_point=128 --bias --per_channel
//
// Exit codes: 0 all is well, 1 a result is wrong, 2 a flag or a value is.
// --help lists the flags.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/optional.h"
#include "example/command_line.h"
#include "ruy_like/ruy_like.h"

ABSL_FLAG(std::string, lhs, "f32",
          "lhs element type: f32, f64, bf16, f16, e4m3, e5m2, s8, u8 or s16");
ABSL_FLAG(std::string, rhs, "f32", "rhs element type");
ABSL_FLAG(std::string, dst, "f32", "dst element type: these or s32");
ABSL_FLAG(std::string, accum, "",
          "accumulators of f32 and f64 operands: f32 or f64; by default f64 "
          "where lhs, rhs or dst is f64");
ABSL_FLAG(int64_t, rows, 256, "rows of lhs and dst");
ABSL_FLAG(int64_t, depth, 256, "columns of lhs, rows of rhs");
ABSL_FLAG(int64_t, cols, 256, "columns of rhs and dst");
ABSL_FLAG(std::string, lhs_order, "row", "memory order: row or col (major)");
ABSL_FLAG(std::string, rhs_order, "col", "memory order: row or col (major)");
ABSL_FLAG(std::string, dst_order, "col", "memory order: row or col (major)");
ABSL_FLAG(int64_t, lhs_stride, 0, "elements between rows or columns; 0: tight");
ABSL_FLAG(int64_t, rhs_stride, 0, "elements between rows or columns; 0: tight");
ABSL_FLAG(int64_t, dst_stride, 0, "elements between rows or columns; 0: tight");
ABSL_FLAG(int, lhs_zero_point, 0, "stored value that stands for 0");
ABSL_FLAG(int, rhs_zero_point, 0, "stored value that stands for 0");
ABSL_FLAG(int, dst_zero_point, 0, "stored value that stands for 0");
ABSL_FLAG(bool, per_channel, false,
          "one multiplier per channel, for a quantized dst; for an f32 dst of "
          "integers one scale per row and column");
ABSL_FLAG(std::string, channels, "row",
          "what the channels of bias and multipliers are: row or col (of dst)");
ABSL_FLAG(bool, bias, false, "add a bias");
ABSL_FLAG(absl::optional<double>, clamp_min, absl::nullopt,
          "lower bound of dst; none by default");
ABSL_FLAG(absl::optional<double>, clamp_max, absl::nullopt,
          "upper bound of dst; none by default");
ABSL_FLAG(std::string, paths, "",
          "permitted paths, by name, separated by commas; none: all");
ABSL_FLAG(int, threads, 1, "threads to use at most");
ABSL_FLAG(int, repeat, 10, "how many times to multiply");
ABSL_FLAG(std::string, lhs_cache, "never",
          "cache policy: never, large, significant (speed-up) or always");
ABSL_FLAG(std::string, rhs_cache, "never",
          "cache policy: never, large, significant (speed-up) or always");
ABSL_FLAG(uint32_t, seed, 1, "seed of the random operands");
ABSL_FLAG(bool, check, true, "compare with ReferenceMul, which is slow");

namespace {

using ruy_like::CachePolicy;
using ruy_like::ChannelDimension;
using ruy_like::Context;
using ruy_like::Layout;
using ruy_like::Matrix;
using ruy_like::MulParams;
using ruy_like::Order;
using ruy_like::Path;

enum ExitCode { kOk = 0, kWrongResult = 1, kUsage = 2 };

// ## From flags to options

struct MatrixOptions {
  const char* name;
  std::string type;
  Order order;
  std::ptrdiff_t stride;  // 0: tight
  int zero_point;
  CachePolicy cache_policy = CachePolicy::kNeverCache;
};

struct Options {
  std::ptrdiff_t rows, depth, cols;
  MatrixOptions lhs, rhs, dst;
  std::string accum;  // "": the default
  bool per_channel, bias;
  ChannelDimension channels;
  absl::optional<double> clamp_min, clamp_max;
  Path paths;  // kNone: all
  int threads, repeat;
  std::uint32_t seed;
  bool check;
};

template <typename T>
using Choices = std::map<std::string, T>;

// Collects the first thing that is wrong with the flags.
class FlagReader {
 public:
  // The value that the flag's text stands for.
  template <typename T>
  T Choose(const char* flag, const std::string& text,
           const Choices<T>& choices) {
    const auto found = choices.find(text);
    if (found != choices.end()) return found->second;
    std::string names;
    for (const auto& choice : choices) {
      absl::StrAppend(&names, names.empty() ? "" : ", ", choice.first);
    }
    Refuse(absl::StrCat("--", flag, "=", text, ": must be one of ", names));
    return T{};
  }

  template <typename T>
  T AtLeast(T minimum, const char* flag, T value) {
    if (value < minimum) {
      Refuse(
          absl::StrCat("--", flag, "=", value, ": must be at least ", minimum));
    }
    return value;
  }

  Path Paths(const std::string& names) {
    if (names.empty()) return Path::kNone;
    const absl::StatusOr<Path> paths = ruy_like::ParsePaths(names);
    if (!paths.ok()) {
      Refuse(absl::StrCat("--paths=", names, ": ", paths.status().message()));
      return Path::kNone;
    }
    const Path available = Context().runtime_enabled_paths();
    if ((*paths & ~available) != Path::kNone) {
      Refuse(absl::StrCat(
          "--paths=", names, ": ", ruy_like::PathNames(*paths & ~available),
          " is not available here, only ", ruy_like::PathNames(available)));
    }
    return *paths;
  }

  const absl::Status& status() const { return status_; }

 private:
  void Refuse(const std::string& message) {
    status_.Update(absl::InvalidArgumentError(message));
  }
  absl::Status status_;
};

absl::StatusOr<Options> ReadOptions() {
  const Choices<Order> orders = {{"row", Order::kRowMajor},
                                 {"col", Order::kColMajor}};
  const Choices<ChannelDimension> channels = {{"row", ChannelDimension::kRow},
                                              {"col", ChannelDimension::kCol}};
  const Choices<CachePolicy> policies = {
      {"never", CachePolicy::kNeverCache},
      {"large", CachePolicy::kCacheIfLargeSpeedup},
      {"significant", CachePolicy::kCacheIfSignificantSpeedup},
      {"always", CachePolicy::kAlwaysCache}};
  FlagReader reader;
  Options options;
// Every matrix has these flags, under its own name.
#define READ_MATRIX(matrix)                                             \
  options.matrix.name = #matrix;                                        \
  options.matrix.type = absl::GetFlag(FLAGS_##matrix);                  \
  options.matrix.order = reader.Choose(                                 \
      #matrix "_order", absl::GetFlag(FLAGS_##matrix##_order), orders); \
  options.matrix.stride = reader.AtLeast<std::int64_t>(                 \
      0, #matrix "_stride", absl::GetFlag(FLAGS_##matrix##_stride));    \
  options.matrix.zero_point = absl::GetFlag(FLAGS_##matrix##_zero_point)
  READ_MATRIX(lhs);
  READ_MATRIX(rhs);
  READ_MATRIX(dst);
#undef READ_MATRIX
  options.accum = absl::GetFlag(FLAGS_accum);
  options.lhs.cache_policy =
      reader.Choose("lhs_cache", absl::GetFlag(FLAGS_lhs_cache), policies);
  options.rhs.cache_policy =
      reader.Choose("rhs_cache", absl::GetFlag(FLAGS_rhs_cache), policies);
  options.rows =
      reader.AtLeast<std::int64_t>(0, "rows", absl::GetFlag(FLAGS_rows));
  options.depth =
      reader.AtLeast<std::int64_t>(0, "depth", absl::GetFlag(FLAGS_depth));
  options.cols =
      reader.AtLeast<std::int64_t>(0, "cols", absl::GetFlag(FLAGS_cols));
  options.per_channel = absl::GetFlag(FLAGS_per_channel);
  options.bias = absl::GetFlag(FLAGS_bias);
  options.channels =
      reader.Choose("channels", absl::GetFlag(FLAGS_channels), channels);
  options.clamp_min = absl::GetFlag(FLAGS_clamp_min);
  options.clamp_max = absl::GetFlag(FLAGS_clamp_max);
  options.paths = reader.Paths(absl::GetFlag(FLAGS_paths));
  options.threads = reader.AtLeast(1, "threads", absl::GetFlag(FLAGS_threads));
  options.repeat = reader.AtLeast(1, "repeat", absl::GetFlag(FLAGS_repeat));
  options.seed = absl::GetFlag(FLAGS_seed);
  options.check = absl::GetFlag(FLAGS_check);
  if (!reader.status().ok()) return reader.status();
  return options;
}

// ## Random operands

using Random = std::mt19937;

// Integers over all that the type holds, floats in [-1, 1).
template <typename T>
T RandomElement(Random* random) {
  const std::uint32_t bits = (*random)();
  if constexpr (std::numeric_limits<T>::is_integer) {
    return static_cast<T>(bits);
  } else {
    // A double has such a quotient exactly, other types round it.
    return static_cast<T>(static_cast<double>(bits >> 8) / (1 << 23) - 1);
  }
}

// A view with the memory that it shows, gaps included.
template <typename T>
struct OwnedMatrix {
  std::unique_ptr<T[]> elements;
  std::ptrdiff_t size = 0;
  Matrix<T> view;
};

template <typename T>
absl::StatusOr<OwnedMatrix<T>> MakeRandomMatrix(const MatrixOptions& options,
                                                std::ptrdiff_t rows,
                                                std::ptrdiff_t cols,
                                                Random* random) {
  OwnedMatrix<T> matrix;
  Layout* layout = matrix.view.mutable_layout();
  ruy_like::MakeSimpleLayout(rows, cols, options.order, layout);
  const std::ptrdiff_t inner = layout->stride();
  const std::ptrdiff_t outer = options.order == Order::kColMajor ? cols : rows;
  if (options.stride != 0) layout->set_stride(options.stride);
  std::ptrdiff_t bytes;
  if (__builtin_mul_overflow(std::max(inner, options.stride), outer,
                             &matrix.size) ||
      __builtin_mul_overflow(matrix.size, std::ptrdiff_t{sizeof(T)}, &bytes)) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.name, " is too large"));
  }
  matrix.elements.reset(new (std::nothrow) T[matrix.size]);
  if (matrix.elements == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for ", options.name, ": ", bytes, " bytes"));
  }
  std::generate_n(matrix.elements.get(), matrix.size,
                  [random] { return RandomElement<T>(random); });
  matrix.view.set_data(matrix.elements.get());
  matrix.view.set_cache_policy(options.cache_policy);
  // Not every int fits every type; floats must have 0, which Mul itself tells.
  const T zero_point = static_cast<T>(options.zero_point);
  if (static_cast<double>(zero_point) != options.zero_point) {
    return absl::InvalidArgumentError(
        absl::StrCat("--", options.name, "_zero_point=", options.zero_point,
                     ": must be a value of type ", options.type));
  }
  matrix.view.set_zero_point(zero_point);
  return matrix;
}

// ## The epilogue

// Arrays that MulParams points to.
template <typename Params>
struct ChannelValues {
  std::vector<typename Params::BiasScalar> bias;
  std::vector<std::int32_t> fixedpoint;
  std::vector<int> exponent;
  std::vector<float> lhs_scales, rhs_scales;
};

// An exponent that brings typical accumulators of random operands to a quarter
// of dst's range, so that results are neither all 0 nor all clamped.
template <typename Lhs, typename Rhs, typename Dst>
int TypicalExponent(std::ptrdiff_t depth) {
  const auto bits = [](auto zero) { return 8.0 * sizeof(zero); };
  const double accumulator_bits = bits(Lhs{}) + bits(Rhs{}) - 3.6 +
                                  0.5 * std::log2(std::max(1.0, 1.0 * depth));
  return std::clamp(static_cast<int>(bits(Dst{}) - 2 - accumulator_bits), -31,
                    30);
}

// As a quantized tensor of magnitudes up to 1 or so has them.
std::vector<float> RandomScales(std::ptrdiff_t count, Random* random) {
  std::vector<float> scales(count);
  for (float& scale : scales) scale = (2 + RandomElement<float>(random)) / 127;
  return scales;
}

template <typename Dst>
absl::StatusOr<Dst> ClampBound(const char* flag, double value) {
  // Written so that NaN passes for floats (Mul refuses it) and not for
  // integers.
  if constexpr (std::numeric_limits<Dst>::is_integer) {
    if (!(value >= std::numeric_limits<Dst>::lowest() &&
          value <= std::numeric_limits<Dst>::max() &&
          value == std::floor(value))) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--", flag, "=", value, ": must be a value of dst's type, between ",
          +std::numeric_limits<Dst>::lowest(), " and ",
          +std::numeric_limits<Dst>::max()));
    }
  }
  return static_cast<Dst>(value);
}

template <typename Lhs, typename Rhs, typename Accum, typename Dst>
absl::Status SetMulParams(const Options& options, Random* random,
                          ChannelValues<MulParams<Accum, Dst>>* values,
                          MulParams<Accum, Dst>* mul_params) {
  using Bias = typename MulParams<Accum, Dst>::BiasScalar;
  const std::ptrdiff_t channels =
      options.channels == ChannelDimension::kRow ? options.rows : options.cols;
  mul_params->set_channel_dimension(options.channels);
  if (options.bias) {
    for (std::ptrdiff_t i = 0; i < channels; ++i) {
      // Integers of 16 bits: comparable to the products' sums.
      values->bias.push_back(
          std::is_integral<Bias>::value
              ? static_cast<Bias>(RandomElement<std::int16_t>(random))
              : RandomElement<Bias>(random));
    }
    mul_params->set_bias(values->bias.data());
  }
  if constexpr (MulParams<Accum, Dst>::kQuantized) {
    const int exponent = TypicalExponent<Lhs, Rhs, Dst>(options.depth);
    if (options.per_channel) {
      for (std::ptrdiff_t i = 0; i < channels; ++i) {
        const std::uint32_t bits = (*random)();
        values->fixedpoint.push_back((1 << 30) + (bits >> 2));
        values->exponent.push_back(std::max(exponent - int(bits & 1), -31));
      }
      mul_params->set_multiplier_fixedpoint_perchannel(
          values->fixedpoint.data());
      mul_params->set_multiplier_exponent_perchannel(values->exponent.data());
    } else {
      mul_params->set_multiplier_fixedpoint((1 << 30) + ((*random)() >> 2));
      mul_params->set_multiplier_exponent(exponent);
    }
  } else if constexpr (MulParams<Accum, Dst>::kScaled) {
    if (options.per_channel) {
      values->lhs_scales = RandomScales(options.rows, random);
      values->rhs_scales = RandomScales(options.cols, random);
      mul_params->set_lhs_scale_perrow(values->lhs_scales.data());
      mul_params->set_rhs_scale_percol(values->rhs_scales.data());
    } else {
      mul_params->set_lhs_scale(RandomScales(1, random)[0]);
      mul_params->set_rhs_scale(RandomScales(1, random)[0]);
    }
  } else if (options.per_channel) {
    return absl::InvalidArgumentError(
        "--per_channel: neither multipliers nor scales apply to a product of "
        "floats, or to an s32 dst");
  }
  if (options.clamp_min) {
    const auto bound = ClampBound<Dst>("clamp_min", *options.clamp_min);
    if (!bound.ok()) return bound.status();
    mul_params->set_clamp_min(*bound);
  }
  if (options.clamp_max) {
    const auto bound = ClampBound<Dst>("clamp_max", *options.clamp_max);
    if (!bound.ok()) return bound.status();
    mul_params->set_clamp_max(*bound);
  }
  return absl::OkStatus();
}

// ## Check and report

// How far apart two sums of `depth` products of floats in [-1, 1) may be. Their
// rounding errors add up like random steps, to about a tenth of this; a product
// that is left out shows as a difference of about 0.25.
template <typename Accum>
double Tolerance(std::ptrdiff_t depth) {
  if (std::numeric_limits<Accum>::is_integer) return 0;
  return std::numeric_limits<Accum>::epsilon() *
         (static_cast<double>(depth) + 16);
}

// Compares elements within the tolerance and, where that is not 0, a rounding
// to their type; and the gaps between rows or columns exactly: both matrices
// had the same content before the product.
template <typename T>
bool IsAsExpected(const OwnedMatrix<T>& actual, const OwnedMatrix<T>& expected,
                  double tolerance) {
  const Layout& layout = actual.view.layout();
  const bool col_major = layout.order() == Order::kColMajor;
  const std::ptrdiff_t inner = col_major ? layout.rows() : layout.cols();
  const double rounding =
      tolerance == 0 ? 0
                     : static_cast<double>(std::numeric_limits<T>::epsilon());
  for (std::ptrdiff_t i = 0; i < actual.size; ++i) {
    const T a = actual.elements[i];
    const T e = expected.elements[i];
    const std::ptrdiff_t inner_index = i % layout.stride();
    const bool in_gap = inner_index >= inner;
    if (a == e) continue;
    const double wanted = static_cast<double>(e);
    if (!in_gap && std::abs(static_cast<double>(a) - wanted) <=
                       tolerance + rounding * std::abs(wanted)) {
      continue;
    }
    const std::ptrdiff_t outer_index = i / layout.stride();
    std::cerr << "wrong result: dst(" << (col_major ? inner_index : outer_index)
              << ", " << (col_major ? outer_index : inner_index) << ")"
              << (in_gap ? ", outside of dst," : "") << " is " << +a
              << " and should be " << +e << "\n";
    return false;
  }
  return true;
}

void Report(const Options& options, std::vector<double> seconds,
            const Context& context) {
  std::sort(seconds.begin(), seconds.end());
  const double best = seconds.front();
  const double median = seconds[seconds.size() / 2];
  const double giga_ops = 2e-9 * options.rows * options.depth * options.cols;
  std::cout << absl::StreamFormat(
      "product  %s x %s -> %s, %d x %d x %d (rows x depth x cols)\n"
      "path     %s\n"
      "kernel   %s\n"
      "threads  %d\n"
      "time     best %.6f ms, median %.6f ms, of %d\n"
      "speed    best %.2f GOP/s, median %.2f GOP/s\n"
      "cached   %d bytes\n",
      options.lhs.type, options.rhs.type, options.dst.type, options.rows,
      options.depth, options.cols, ruy_like::PathName(context.last_used_path()),
      context.last_used_kernel(), context.last_used_num_threads(), best * 1e3,
      median * 1e3, seconds.size(), giga_ops / best, giga_ops / median,
      context.prepacked_cache_bytes());
}

// ## One product of given types

// The exit code; a status for what is wrong with the options.
template <typename Lhs, typename Rhs, typename Accum, typename Dst>
absl::StatusOr<ExitCode> Run(const Options& options) {
  Random random(options.seed);
  auto lhs =
      MakeRandomMatrix<Lhs>(options.lhs, options.rows, options.depth, &random);
  if (!lhs.ok()) return lhs.status();
  auto rhs =
      MakeRandomMatrix<Rhs>(options.rhs, options.depth, options.cols, &random);
  if (!rhs.ok()) return rhs.status();
  // The same seed for both: they start with the same content.
  Random dst_random(options.seed);
  auto dst = MakeRandomMatrix<Dst>(options.dst, options.rows, options.cols,
                                   &dst_random);
  if (!dst.ok()) return dst.status();
  ChannelValues<MulParams<Accum, Dst>> values;
  MulParams<Accum, Dst> mul_params;
  absl::Status status =
      SetMulParams<Lhs, Rhs>(options, &random, &values, &mul_params);
  if (!status.ok()) return status;

  Context context;
  context.set_runtime_enabled_paths(options.paths);
  context.set_max_num_threads(options.threads);
  std::vector<double> seconds;
  for (int i = 0; i < options.repeat; ++i) {
    const auto start = std::chrono::steady_clock::now();
    status =
        ruy_like::Mul(lhs->view, rhs->view, mul_params, &context, &dst->view);
    const std::chrono::duration<double> elapsed =
        std::chrono::steady_clock::now() - start;
    if (!status.ok()) return status;
    seconds.push_back(elapsed.count());
  }
  Report(options, std::move(seconds), context);
  if (!options.check) return kOk;

  Random expected_random(options.seed);
  auto expected = MakeRandomMatrix<Dst>(options.dst, options.rows, options.cols,
                                        &expected_random);
  if (!expected.ok()) return expected.status();
  ruy_like::ReferenceMul(lhs->view, rhs->view, mul_params, &expected->view);
  const double tolerance = Tolerance<Accum>(options.depth);
  if (!IsAsExpected(*dst, *expected, tolerance)) return kWrongResult;
  std::cout << "check    "
            << (tolerance == 0
                    ? "equal to ReferenceMul"
                    : absl::StrCat("within ", tolerance, " of ReferenceMul"))
            << "\n";
  return kOk;
}

// ## All types

using I8 = std::int8_t;
using U8 = std::uint8_t;
using I16 = std::int16_t;
using I32 = std::int32_t;
using F32 = float;
using F64 = double;
using BF16 = ruy_like::BFloat16;
using E4M3 = ruy_like::Float8E4M3;
using E5M2 = ruy_like::Float8E5M2;
using F16 = ruy_like::Float16;

using RunFn = absl::StatusOr<ExitCode>(const Options&);

struct Product {
  const char* types;  // lhs, rhs, dst
  const char* accum;
  RunFn* run;
};

// The type table of README.md. Of lines with equal types the first has the
// default accumulators.

constexpr Product kProducts[] = {
    {"f32 f32 f32", "f32", Run<F32, F32, F32, F32>},
    {"f32 f32 f32", "f64", Run<F32, F32, F64, F32>},
    {"f32 f32 f64", "f64", Run<F32, F32, F64, F64>},
    {"f32 f32 f64", "f32", Run<F32, F32, F32, F64>},
    {"f32 f64 f32", "f64", Run<F32, F64, F64, F32>},
    {"f32 f64 f32", "f32", Run<F32, F64, F32, F32>},
    {"f32 f64 f64", "f64", Run<F32, F64, F64, F64>},
    {"f32 f64 f64", "f32", Run<F32, F64, F32, F64>},
    {"f64 f32 f32", "f64", Run<F64, F32, F64, F32>},
    {"f64 f32 f32", "f32", Run<F64, F32, F32, F32>},
    {"f64 f32 f64", "f64", Run<F64, F32, F64, F64>},
    {"f64 f32 f64", "f32", Run<F64, F32, F32, F64>},
    {"f64 f64 f32", "f64", Run<F64, F64, F64, F32>},
    {"f64 f64 f32", "f32", Run<F64, F64, F32, F32>},
    {"f64 f64 f64", "f64", Run<F64, F64, F64, F64>},
    {"f64 f64 f64", "f32", Run<F64, F64, F32, F64>},
    {"bf16 bf16 f32", "f32", Run<BF16, BF16, F32, F32>},
    {"bf16 bf16 bf16", "f32", Run<BF16, BF16, F32, BF16>},
    {"bf16 f32 f32", "f32", Run<BF16, F32, F32, F32>},
    {"f32 bf16 f32", "f32", Run<F32, BF16, F32, F32>},
    {"e4m3 bf16 f32", "f32", Run<E4M3, BF16, F32, F32>},
    {"e4m3 bf16 bf16", "f32", Run<E4M3, BF16, F32, BF16>},
    {"bf16 e4m3 f32", "f32", Run<BF16, E4M3, F32, F32>},
    {"bf16 e4m3 bf16", "f32", Run<BF16, E4M3, F32, BF16>},
    {"e4m3 f32 f32", "f32", Run<E4M3, F32, F32, F32>},
    {"f32 e4m3 f32", "f32", Run<F32, E4M3, F32, F32>},
    {"e5m2 bf16 f32", "f32", Run<E5M2, BF16, F32, F32>},
    {"e5m2 bf16 bf16", "f32", Run<E5M2, BF16, F32, BF16>},
    {"bf16 e5m2 f32", "f32", Run<BF16, E5M2, F32, F32>},
    {"bf16 e5m2 bf16", "f32", Run<BF16, E5M2, F32, BF16>},
    {"e5m2 f32 f32", "f32", Run<E5M2, F32, F32, F32>},
    {"f32 e5m2 f32", "f32", Run<F32, E5M2, F32, F32>},
    {"f16 f16 f32", "f32", Run<F16, F16, F32, F32>},
    {"f16 f16 f16", "f32", Run<F16, F16, F32, F16>},
    {"f16 f32 f32", "f32", Run<F16, F32, F32, F32>},
    {"f32 f16 f32", "f32", Run<F32, F16, F32, F32>},
    {"s8 s8 s8", "s32", Run<I8, I8, I32, I8>},
    {"s8 s8 u8", "s32", Run<I8, I8, I32, U8>},
    {"s8 s8 s16", "s32", Run<I8, I8, I32, I16>},
    {"s8 s8 s32", "s32", Run<I8, I8, I32, I32>},
    {"s8 s8 f32", "s32", Run<I8, I8, I32, F32>},
    {"s8 u8 s8", "s32", Run<I8, U8, I32, I8>},
    {"s8 u8 u8", "s32", Run<I8, U8, I32, U8>},
    {"s8 u8 s16", "s32", Run<I8, U8, I32, I16>},
    {"s8 u8 s32", "s32", Run<I8, U8, I32, I32>},
    {"s8 u8 f32", "s32", Run<I8, U8, I32, F32>},
    {"u8 s8 s8", "s32", Run<U8, I8, I32, I8>},
    {"u8 s8 u8", "s32", Run<U8, I8, I32, U8>},
    {"u8 s8 s16", "s32", Run<U8, I8, I32, I16>},
    {"u8 s8 s32", "s32", Run<U8, I8, I32, I32>},
    {"u8 s8 f32", "s32", Run<U8, I8, I32, F32>},
    {"u8 u8 s8", "s32", Run<U8, U8, I32, I8>},
    {"u8 u8 u8", "s32", Run<U8, U8, I32, U8>},
    {"u8 u8 s16", "s32", Run<U8, U8, I32, I16>},
    {"u8 u8 s32", "s32", Run<U8, U8, I32, I32>},
    {"u8 u8 f32", "s32", Run<U8, U8, I32, F32>},
    {"s8 s16 s8", "s32", Run<I8, I16, I32, I8>},
    {"s8 s16 u8", "s32", Run<I8, I16, I32, U8>},
    {"s8 s16 s16", "s32", Run<I8, I16, I32, I16>},
    {"s8 s16 s32", "s32", Run<I8, I16, I32, I32>},
    {"s16 s8 s8", "s32", Run<I16, I8, I32, I8>},
    {"s16 s8 u8", "s32", Run<I16, I8, I32, U8>},
    {"s16 s8 s16", "s32", Run<I16, I8, I32, I16>},
    {"s16 s8 s32", "s32", Run<I16, I8, I32, I32>},
};

absl::StatusOr<ExitCode> RunAnyTypes(const Options& options) {
  const std::string types = absl::StrCat(
      options.lhs.type, " ", options.rhs.type, " ", options.dst.type);
  for (const Product& product : kProducts) {
    if (types == product.types &&
        (options.accum.empty() || options.accum == product.accum)) {
      return product.run(options);
    }
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "no product --lhs=", options.lhs.type, " --rhs=", options.rhs.type,
      " --dst=", options.dst.type,
      options.accum.empty() ? "" : absl::StrCat(" --accum=", options.accum),
      "; --help lists the products"));
}

// ## Command line

constexpr char kSource[] = "parametrized_example.cc";

void PrintHelp() {
  std::cout << "Multiplies random matrices, checks the result and prints the "
               "time.\n\nFlags:\n";
  command_line::PrintFlags(kSource);
  std::cout << "\nTypes of lhs, rhs and dst, and of the accumulators:\n";
  for (const Product& product : kProducts) {
    std::cout << absl::StreamFormat("  %-15s %s\n", product.types,
                                    product.accum);
  }
  std::cout << "\nExit codes: 0 all is well, 1 wrong result, 2 wrong flag or "
               "value.\n";
}

ExitCode Refuse(const absl::Status& status) {
  std::cerr << status.message() << "\n";
  return kUsage;
}

}  // namespace

int main(int argc, char** argv) {
  if (command_line::WantsHelp(argc, argv)) {
    PrintHelp();
    return kOk;
  }
  const absl::Status status =
      command_line::ParseFlags(argc, argv, kSource, nullptr);
  if (!status.ok()) return Refuse(status);
  const absl::StatusOr<Options> options = ReadOptions();
  if (!options.ok()) return Refuse(options.status());
  const absl::StatusOr<ExitCode> result = RunAnyTypes(*options);
  return result.ok() ? *result : Refuse(result.status());
}
