// group_bench: products with group-scaled weights, next to those of int8 and of
// float weights in the same run. All weights are packed ahead; one thread.
//
//   group_bench [--shapes=llm_decode,deep] [--problems=4096x4096x1]
//   [--path=avx2]
//
// Prints GOP/s (2 * rows * depth * cols operations), the median of rounds in
// which all kinds of weights take turns. s4g32fr: weights of 4 bits in groups
// of 32 by activations that are floats (f) in row-major order (r); g: scales of
// activations per group; z: activations with zero points. m4: codes of MXFP4's
// table, i4: of IQ4_NL's, t2: ternary weights of 2 bits.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "bench/buffer.h"
#include "bench/level_tables.h"
#include "bench/shapes.h"
#include "bench/stopwatch.h"
#include "ruy_like/ruy_like.h"

ABSL_FLAG(std::vector<std::string>, shapes, {},
          "names of files in bench/shapes");
ABSL_FLAG(std::vector<std::string>, problems, {}, "rows x depth x cols");
ABSL_FLAG(std::string, path, "", "the path to take; the best one if empty");
ABSL_FLAG(int, rounds, 9, "rounds");
ABSL_FLAG(double, seconds, 0.004, "of each measurement");

namespace ruy_like::bench {
namespace {

struct Kind {
  std::string name;
  Way product;
  double gops = 0;
};

void CheckOk(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

// The other operand of group-scaled weights.
struct Activations {
  const char* suffix;  // of the column's name
  bool are_floats;     // else int8
  ActivationScales scales = ActivationScales::kPerColumn;  // of floats
  bool have_zero_points = false;                           // of int8
  Order order = Order::kColMajor;
};
constexpr Activations kInt8 = {"", false};
constexpr Activations kInt8ZeroPoint = {"z", false,
                                        ActivationScales::kPerColumn, true};
constexpr Activations kFloat = {"f", true};
constexpr Activations kFloatPerGroup = {"fg", true,
                                        ActivationScales::kPerGroup};
constexpr Activations kInt8RowMajor = {"r", false, ActivationScales::kPerColumn,
                                       false, Order::kRowMajor};
constexpr Activations kFloatRowMajor = {
    "fr", true, ActivationScales::kPerColumn, false, Order::kRowMajor};
constexpr Activations kFloatPerGroupRowMajor = {
    "fgr", true, ActivationScales::kPerGroup, false, Order::kRowMajor};

// Operands of one shape's products.
struct Problem {
  explicit Problem(const Shape& problem_shape, Context* its_context)
      : shape(problem_shape),
        context(its_context),
        int8s(RandomVector<std::int8_t>(shape.rows * shape.depth, -127, 127)),
        activations8(
            RandomVector<std::int8_t>(shape.depth * shape.cols, -127, 127)),
        activation_zero_points(RandomVector<std::int8_t>(shape.cols, 1, 9)),
        activations(RandomVector<float>(shape.depth * shape.cols, -127, 127)),
        scales(shape.rows * (shape.depth / 16 + 1),
               static_cast<Float16>(0.01f)),
        result(shape.rows * shape.cols),
        rhs8(ColMajor(static_cast<const std::int8_t*>(activations8.data()),
                      shape.depth, shape.cols)),
        rhs(ColMajor(static_cast<const float*>(activations.data()), shape.depth,
                     shape.cols)),
        dst(ColMajor(result.data(), shape.rows, shape.cols)) {}

  void AddInt8() {
    auto packed = Pack(RowMajor(static_cast<const std::int8_t*>(int8s.data()),
                                shape.rows, shape.depth),
                       Side::kLhs, PackOptions(), context);
    CheckOk(packed.status());
    kinds.push_back({"int8", [this, weights = *packed] {
                       CheckOk(Mul(weights, rhs8,
                                   MulParams<std::int32_t, float>(), context,
                                   &dst));
                     }});
  }
  void AddFloat() {
    const std::vector<float> floats(int8s.begin(), int8s.end());
    auto packed = Pack(RowMajor(floats.data(), shape.rows, shape.depth),
                       Side::kLhs, PackOptions(), context);
    CheckOk(packed.status());
    kinds.push_back(
        {"f32", [this, weights = *packed] {
           CheckOk(Mul(weights, rhs, MulParams<float, float>(), context, &dst));
         }});
  }
  void AddGroups(int bits, std::ptrdiff_t group_size, const Activations& kind,
                 const std::int8_t* table = nullptr, const char* letter = "s") {
    GroupWeights weights;
    weights.rows = shape.rows;
    weights.depth = shape.depth;
    weights.bits = bits;
    weights.group_size = group_size;
    weights.table = table;
    weights.levels = int8s.data();
    weights.set_scales(scales.data());
    auto packed = PackGroupWeights(weights, context);
    CheckOk(packed.status());
    kinds.push_back(
        {letter + std::to_string(bits) + "g" + std::to_string(group_size) +
             kind.suffix,
         [this, kind, packed_weights = *packed] {
           GroupMulParams params;
           params.quantize = kind.scales;
           if (kind.have_zero_points) {
             params.activation_zero_points = activation_zero_points.data();
           }
           CheckOk(kind.are_floats
                       ? Mul(packed_weights, InOrder(rhs, kind.order), params,
                             context, &dst)
                       : Mul(packed_weights, InOrder(rhs8, kind.order), params,
                             context, &dst));
         }});
  }
  // The same array as a matrix of this order.
  template <typename T>
  static Matrix<const T> InOrder(const Matrix<const T>& matrix, Order order) {
    const Layout& layout = matrix.layout();
    return order == Order::kColMajor
               ? matrix
               : RowMajor(matrix.data(), layout.rows(), layout.cols());
  }
  void Measure(int rounds, double turn_seconds) {
    std::vector<Way> ways;
    for (const Kind& kind : kinds) ways.push_back(kind.product);
    const auto seconds =
        TakeTurns(ways, rounds, turn_seconds, /*by_wall=*/false);
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      kinds[i].gops = 1e-9 * ShapeOps(shape) / Median(seconds[i]);
    }
  }

  Shape shape;
  Context* context;
  std::vector<std::int8_t> int8s, activations8, activation_zero_points;
  std::vector<float> activations;
  std::vector<Float16> scales;
  std::vector<float> result;
  Matrix<const std::int8_t> rhs8;
  Matrix<const float> rhs;
  Matrix<float> dst;
  std::vector<Kind> kinds;
};

void Run(const Shape& shape, Context* context, bool* has_header) {
  Problem problem(shape, context);
  problem.AddFloat();
  problem.AddInt8();
  for (const int bits : {4, 8}) {
    for (const std::ptrdiff_t group_size : {32, 128}) {
      problem.AddGroups(bits, group_size, kInt8);
    }
  }
  problem.AddGroups(4, 32, kInt8, kE2M1, "m");
  problem.AddGroups(4, 32, kInt8, kIq4Nl, "i");
  problem.AddGroups(2, 32, kInt8, kTernary, "t");
  problem.AddGroups(4, 32, kFloat);
  problem.AddGroups(4, 32, kFloatPerGroup);
  for (const Activations& kind :
       {kInt8RowMajor, kFloatRowMajor, kFloatPerGroupRowMajor}) {
    problem.AddGroups(4, 32, kind);
  }
  problem.AddGroups(4, 32, kInt8ZeroPoint);
  problem.AddGroups(8, 32, kInt8ZeroPoint);
  problem.Measure(absl::GetFlag(FLAGS_rounds), absl::GetFlag(FLAGS_seconds));
  if (!*has_header) {
    std::printf("%-16s", "GOP/s");
    for (const Kind& kind : problem.kinds) {
      std::printf("%9s", kind.name.c_str());
    }
    std::printf("\n");
    *has_header = true;
  }
  std::printf("%-16s", ShapeName(shape).c_str());
  for (const Kind& kind : problem.kinds) {
    std::printf("%9.1f", kind.gops);
  }
  std::printf("\n");
}

int Main() {
  Context context;
  context.set_max_num_threads(1);
  const std::string path = absl::GetFlag(FLAGS_path);
  if (!path.empty()) {
    const auto paths = ParsePaths(path);
    CheckOk(paths.status());
    context.set_runtime_enabled_paths(*paths);
  }
  bool has_header = false;
  for (const auto* flag : {&FLAGS_shapes, &FLAGS_problems}) {
    for (const std::string& name : absl::GetFlag(*flag)) {
      const auto shapes = ReadShapes(RUY_LIKE_BENCH_SHAPES_DIR, name);
      CheckOk(shapes.status());
      for (const Shape& shape : *shapes) Run(shape, &context, &has_header);
    }
  }
  return 0;
}

}  // namespace
}  // namespace ruy_like::bench

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  return ruy_like::bench::Main();
}
