#include "test/support/mul_problem.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "test/support/visit_scalar.h"

namespace ruy_like {
namespace {

const char* OrderName(Order order) {
  return order == Order::kColMajor ? "col" : "row";
}

std::string MatrixName(const char* name, const MatrixSpec& spec,
                       bool is_operand) {
  static constexpr const char* kFills[] = {"random", "lowest", "highest",
                                           "alternating", "all-values"};
  static constexpr const char* kPolicies[] = {"never", "large", "significant",
                                              "always"};
  std::ostringstream s;
  s << "; " << name << " " << OrderName(spec.order) << " gap " << spec.gap
    << " zp " << spec.zero_point;
  if (is_operand) {
    s << " " << kFills[static_cast<int>(spec.fill)] << " cache "
      << kPolicies[static_cast<int>(spec.cache_policy)];
    if (spec.int7 == Int7::kKept) s << " int7";
    if (spec.int7 == Int7::kBroken) s << " not int7 as promised";
  }
  s << (spec.flush == Flush::kStart ? " at-start" : " at-end");
  return s.str();
}

// The most multiplications that one problem may take.
constexpr std::ptrdiff_t kMaxOps = std::ptrdiff_t{1} << 21;

std::ptrdiff_t RandomSize(Rng* rng) {
  switch (rng->Between(0, 15)) {
    case 0:
      return rng->Between(100, 700);
    case 1:
    case 2:
    case 3:
    case 4:
      return rng->Between(20, 100);
    case 5:
    case 6:
      return rng->Between(1, 4);
    default:
      return rng->Between(1, 24);
  }
}

Shape RandomShape(Rng* rng) {
  Shape s = {RandomSize(rng), RandomSize(rng), RandomSize(rng)};
  if (rng->OneIn(64)) s.depth = rng->Between(1000, 20000);
  if (rng->OneIn(64)) s.depth = 0;
  if (rng->OneIn(200)) s.rows = 0;
  if (rng->OneIn(200)) s.cols = 0;
  while (s.rows * s.depth * s.cols > kMaxOps) {
    std::ptrdiff_t* const larger = s.rows > s.cols ? &s.rows : &s.cols;
    if (*larger > 1) {
      *larger = (*larger + 1) / 2;
    } else {
      s.depth /= 2;
    }
  }
  return s;
}

void RandomizeMatrix(MatrixSpec* spec, bool is_dst, Rng* rng) {
  if (rng->OneIn(2)) spec->gap = rng->Between(1, 40);
  spec->flush = rng->OneIn(3) ? Flush::kStart : Flush::kEnd;
  if (!is_dst) {
    if (rng->OneIn(4)) spec->fill = static_cast<Fill>(rng->Between(1, 4));
    if (rng->OneIn(8)) {
      spec->cache_policy = static_cast<CachePolicy>(rng->Between(1, 3));
    }
    if (Is8Bit(spec->scalar) && rng->OneIn(3)) {
      spec->int7 = rng->OneIn(4) ? Int7::kBroken : Int7::kKept;
    }
  }
  if (IsFloat(spec->scalar) || (!Is8Bit(spec->scalar) && !is_dst) ||
      rng->OneIn(3)) {
    return;
  }
  const std::int64_t low = LowestOf(spec->scalar);
  const std::int64_t high = HighestOf(spec->scalar);
  spec->zero_point = static_cast<std::int32_t>(
      rng->OneIn(4) ? (rng->OneIn(2) ? low : high) : rng->Between(low, high));
}

// Rows or columns of a matrix that are a multiple of 4096 bytes apart: lines of
// all of them share one set of a first-level cache.
void AlignStride(std::ptrdiff_t rows, std::ptrdiff_t cols, MatrixSpec* spec,
                 Rng* rng) {
  constexpr std::ptrdiff_t kMostVectors = 300;
  const bool by_rows = spec->order == Order::kRowMajor;
  if ((by_rows ? rows : cols) > kMostVectors || !rng->OneIn(12)) return;
  const std::ptrdiff_t multiple = 4096 / BytesOf(spec->scalar, 1);
  const std::ptrdiff_t inner = by_rows ? cols : rows;
  spec->gap = (multiple - inner % multiple) % multiple;
}

void RandomizeClamp(MulProblem* p, Rng* rng) {
  p->clamp = true;
  if (!IsFloat(p->dst.scalar)) {
    const std::int64_t low = LowestOf(p->dst.scalar);
    const std::int64_t high = HighestOf(p->dst.scalar);
    p->clamp_min = rng->Between(low, high);
    p->clamp_max = rng->Between(static_cast<std::int64_t>(p->clamp_min), high);
  } else {
    // Exact in a float, which dst may be of.
    p->clamp_min = static_cast<double>(rng->Between(-64, 16)) / 16;
    p->clamp_max = p->clamp_min + static_cast<double>(rng->Between(0, 64)) / 16;
  }
}

void RandomizeScales(MulProblem* p, Rng* rng) {
  p->lhs_scale = static_cast<ScaleKind>(rng->Between(0, 2));
  p->rhs_scale = static_cast<ScaleKind>(rng->Between(0, 2));
  if (!p->Accumulates() || !rng->OneIn(4)) return;
  p->dst.zero_point = 0;
  p->beta = p->IsInteger()
                ? static_cast<double>(
                      rng->OneIn(2) ? 1 : rng->Between(-100000, 100000))
                : static_cast<double>(rng->Between(-32, 32)) / 16;
}

}  // namespace

std::int64_t LowestOf(Scalar scalar) {
  if (IsFloat(scalar)) return -1;
  return VisitScalar(scalar, [](auto zero) {
    return static_cast<std::int64_t>(
        std::numeric_limits<decltype(zero)>::lowest());
  });
}

std::int64_t HighestOf(Scalar scalar) {
  if (IsFloat(scalar)) return 1;
  return VisitScalar(scalar, [](auto zero) {
    return static_cast<std::int64_t>(
        std::numeric_limits<decltype(zero)>::max());
  });
}

MulProblem MakeProblem(const Types& types, const Shape& shape) {
  MulProblem p;
  p.rows = shape.rows;
  p.depth = shape.depth;
  p.cols = shape.cols;
  p.lhs.scalar = types.lhs;
  p.lhs.order = Order::kRowMajor;
  p.rhs.scalar = types.rhs;
  p.dst.scalar = types.dst;
  p.accum = types.accum;
  // Random 8-bit products have a deviation near 2^12.4, their sum 2^(lg/2) more
  // of it; 16-bit ones 2^8 more.
  const int log2_depth = static_cast<int>(
      std::lround(std::log2(static_cast<double>(shape.depth) + 1)));
  const auto is_16bit = [](Scalar scalar) { return InfoOf(scalar).bits == 16; };
  const int sum_bits =
      13 + log2_depth / 2 + 8 * is_16bit(types.lhs) + 8 * is_16bit(types.rhs);
  const int dst_bits = types.dst == Scalar::kI16 ? 14 : 6;
  p.min_exponent = p.max_exponent = std::min(dst_bits - sum_bits + 1, 30);
  return p;
}

void SetOrders(int bits, MulProblem* problem) {
  problem->lhs.order = OrderOf(bits, 0);
  problem->rhs.order = OrderOf(bits, 1);
  problem->dst.order = OrderOf(bits, 2);
}

std::string TypesName(const MulProblem& problem) {
  std::string name = ScalarName(problem.lhs.scalar);
  name += std::string(" x ") + ScalarName(problem.rhs.scalar) + " -> " +
          ScalarName(problem.dst.scalar);
  if (problem.accum == Scalar::kF64) name += " by double";
  if (problem.accum == Scalar::kF32) name += " by float";
  return name;
}

std::string Describe(const MulProblem& p) {
  static constexpr const char* kBiases[] = {"none", "moderate", "extreme"};
  static constexpr const char* kMultipliers[] = {"default", "per-tensor",
                                                 "per-channel"};
  std::ostringstream s;
  s << p.rows << "x" << p.depth << "x" << p.cols << " " << TypesName(p)
    << MatrixName("lhs", p.lhs, true) << MatrixName("rhs", p.rhs, true)
    << MatrixName("dst", p.dst, false) << "; channels "
    << (p.channel_dimension == ChannelDimension::kRow ? "rows" : "cols")
    << " bias " << kBiases[static_cast<int>(p.bias)];
  if (p.IsQuantized()) {
    s << " multiplier " << kMultipliers[static_cast<int>(p.multiplier)]
      << " exponents " << p.min_exponent << ".." << p.max_exponent
      << " fixedpoints " << p.min_fixedpoint << ".." << p.max_fixedpoint;
    if (p.rounding == MultiplierRounding::kTwice) s << " rounded twice";
    if (p.rounding == MultiplierRounding::kFloat) s << " in float";
  }
  if (p.HasScales()) {
    s << " scales " << kMultipliers[static_cast<int>(p.lhs_scale)] << ", "
      << kMultipliers[static_cast<int>(p.rhs_scale)];
  }
  if (p.beta != 0) s << "; beta " << p.beta;
  if (p.float_sums == FloatSums::kAnyOrder) s << "; sums in any order";
  if (p.clamp) s << "; clamp " << p.clamp_min << ".." << p.clamp_max;
  static constexpr const char* kEntryPoints[] = {
      "Mul", "packed lhs", "packed rhs", "both packed", "MulPlan"};
  s << "; by " << kEntryPoints[static_cast<int>(p.entry_point)] << " for dst "
    << OrderName(p.packed_for) << "; threads " << p.num_threads
    << "; data seed " << p.data_seed;
  return s.str();
}

// ## RandomProblem

MulProblem RandomProblem(std::uint64_t seed) {
  Rng rng(seed);
  const std::vector<Types>& types = AllTypes();
  // Half of the problems are 8-bit ones, a quarter float: they have the most
  // kernels.
  Types chosen = types[rng.Between(0, types.size() - 1)];
  if (rng.OneIn(4)) chosen = FloatTypes()[0];
  if (rng.OneIn(3)) chosen = IntegerTypes()[rng.Between(0, 15)];
  MulProblem p = MakeProblem(chosen, RandomShape(&rng));
  SetOrders(static_cast<int>(rng.Between(0, 7)), &p);
  for (MatrixSpec* spec : {&p.lhs, &p.rhs, &p.dst}) {
    RandomizeMatrix(spec, spec == &p.dst, &rng);
  }
  AlignStride(p.rows, p.depth, &p.lhs, &rng);
  AlignStride(p.depth, p.cols, &p.rhs, &rng);
  AlignStride(p.rows, p.cols, &p.dst, &rng);
  // An operand without elements keeps any promise.
  if (p.rows * p.depth == 0 && p.lhs.int7 == Int7::kBroken) {
    p.lhs.int7 = Int7::kKept;
  }
  if (p.depth * p.cols == 0 && p.rhs.int7 == Int7::kBroken) {
    p.rhs.int7 = Int7::kKept;
  }
  p.channel_dimension =
      rng.OneIn(2) ? ChannelDimension::kRow : ChannelDimension::kCol;
  p.bias = static_cast<BiasKind>(rng.Between(0, 2));
  p.multiplier = static_cast<MultiplierKind>(rng.Between(0, 2));
  if (rng.OneIn(3)) {
    p.min_exponent = -31;
    p.max_exponent = 30;
    p.min_fixedpoint = 0;
  } else {
    p.min_exponent -= 2;
    p.max_exponent = std::min(p.max_exponent + 2, 30);
  }
  RandomizeScales(&p, &rng);
  if (rng.OneIn(3)) RandomizeClamp(&p, &rng);
  p.num_threads = rng.OneIn(4) ? static_cast<int>(rng.Between(2, 4)) : 1;
  p.data_seed = rng.Next();
  if (rng.OneIn(4)) {
    p.entry_point = static_cast<EntryPoint>(rng.Between(1, 4));
    p.packed_for = rng.OneIn(2) ? Order::kColMajor : Order::kRowMajor;
  }
  if (!p.IsInteger() && rng.OneIn(2)) p.float_sums = FloatSums::kAnyOrder;
  if (rng.OneIn(4)) p.rounding = MultiplierRounding::kTwice;
  if (rng.OneIn(4)) p.rounding = MultiplierRounding::kFloat;
  return p;
}

}  // namespace ruy_like
