#include "test/typed_mul.h"

#include <cstdio>
#include <cstdlib>

#include "ruy_like/mul.h"
#include "ruy_like/reference_mul.h"
#include "test/test_util.h"

namespace ruy_like {
namespace {

template <typename T>
Matrix<T> View(const MatrixSpec& spec, std::ptrdiff_t rows, std::ptrdiff_t cols,
               T* data) {
  Matrix<T> matrix = MakeMatrix(data, rows, cols, spec.order, spec.gap);
  matrix.set_zero_point(static_cast<T>(spec.zero_point));
  matrix.set_cache_policy(spec.cache_policy);
  return matrix;
}

template <typename Lhs, typename Rhs, typename Accum, typename Dst>
struct Typed {
  // `run` gets (lhs, rhs, mul_params, &dst).
  template <typename Fn>
  static auto With(const Call& call, Fn run) {
    const MulProblem& p = *call.problem;
    Matrix<Lhs> lhs = View<Lhs>(p.lhs, p.rows, p.depth, nullptr);
    lhs.set_data(static_cast<const Lhs*>(call.lhs));
    Matrix<Rhs> rhs = View<Rhs>(p.rhs, p.depth, p.cols, nullptr);
    rhs.set_data(static_cast<const Rhs*>(call.rhs));
    Matrix<Dst> dst = View(p.dst, p.rows, p.cols, static_cast<Dst*>(call.dst));
    MulParams<Accum, Dst> params;
    using BiasScalar = typename MulParams<Accum, Dst>::BiasScalar;
    params.set_bias(static_cast<const BiasScalar*>(call.bias));
    params.set_channel_dimension(p.channel_dimension);
    if (p.clamp) {
      params.set_clamp_min(static_cast<Dst>(p.clamp_min));
      params.set_clamp_max(static_cast<Dst>(p.clamp_max));
    }
    if constexpr (MulParams<Accum, Dst>::kQuantized) {
      if (p.multiplier == MultiplierKind::kPerTensor) {
        params.set_multiplier_fixedpoint(*call.fixedpoint);
        params.set_multiplier_exponent(*call.exponent);
      } else if (p.multiplier == MultiplierKind::kPerChannel) {
        params.set_multiplier_fixedpoint_perchannel(call.fixedpoint);
        params.set_multiplier_exponent_perchannel(call.exponent);
      }
    }
    if constexpr (MulParams<Accum, Dst>::kScaled) {
      if (p.lhs_scale == ScaleKind::kPerTensor) {
        params.set_lhs_scale(*call.lhs_scales);
      } else if (p.lhs_scale == ScaleKind::kPerChannel) {
        params.set_lhs_scale_perrow(call.lhs_scales);
      }
      if (p.rhs_scale == ScaleKind::kPerTensor) {
        params.set_rhs_scale(*call.rhs_scales);
      } else if (p.rhs_scale == ScaleKind::kPerChannel) {
        params.set_rhs_scale_percol(call.rhs_scales);
      }
    } else if constexpr (!MulParams<Accum, Dst>::kQuantized) {
      params.set_beta(static_cast<Dst>(p.beta));
    }
    return run(lhs, rhs, params, &dst);
  }
  static absl::Status RunMul(const Call& call, Context* context) {
    return With(call, [context](const auto& lhs, const auto& rhs,
                                const auto& params, auto* dst) {
      return Mul(lhs, rhs, params, context, dst);
    });
  }
  static void RunReferenceMul(const Call& call) {
    With(call, [](const auto& lhs, const auto& rhs, const auto& params,
                  auto* dst) { ReferenceMul(lhs, rhs, params, dst); });
  }
  static TypedProduct Line() {
    using internal::ScalarOf;
    return TypedProduct{
        {ScalarOf<Lhs>(), ScalarOf<Rhs>(), ScalarOf<Accum>(), ScalarOf<Dst>()},
        &RunMul,
        &RunReferenceMul};
  }
};

template <typename Lhs, typename Rhs>
void AddIntegers(std::vector<TypedProduct>* table) {
  table->push_back(Typed<Lhs, Rhs, std::int32_t, std::int8_t>::Line());
  table->push_back(Typed<Lhs, Rhs, std::int32_t, std::uint8_t>::Line());
  table->push_back(Typed<Lhs, Rhs, std::int32_t, std::int16_t>::Line());
  table->push_back(Typed<Lhs, Rhs, std::int32_t, std::int32_t>::Line());
}

template <typename Lhs, typename Rhs>
void AddScaled(std::vector<TypedProduct>* table) {
  table->push_back(Typed<Lhs, Rhs, std::int32_t, float>::Line());
}

template <typename Lhs, typename Rhs>
void AddFloats(std::vector<TypedProduct>* table) {
  table->push_back(Typed<Lhs, Rhs, float, float>::Line());
  table->push_back(Typed<Lhs, Rhs, float, double>::Line());
  table->push_back(Typed<Lhs, Rhs, double, float>::Line());
  table->push_back(Typed<Lhs, Rhs, double, double>::Line());
}

const std::vector<TypedProduct>& Table() {
  static const std::vector<TypedProduct>* const table = [] {
    auto* lines = new std::vector<TypedProduct>;
    AddIntegers<std::int8_t, std::int8_t>(lines);
    AddIntegers<std::int8_t, std::uint8_t>(lines);
    AddIntegers<std::uint8_t, std::int8_t>(lines);
    AddIntegers<std::uint8_t, std::uint8_t>(lines);
    AddIntegers<std::int8_t, std::int16_t>(lines);
    AddIntegers<std::int16_t, std::int8_t>(lines);
    AddScaled<std::int8_t, std::int8_t>(lines);
    AddScaled<std::int8_t, std::uint8_t>(lines);
    AddScaled<std::uint8_t, std::int8_t>(lines);
    AddScaled<std::uint8_t, std::uint8_t>(lines);
    AddFloats<float, float>(lines);
    AddFloats<float, double>(lines);
    AddFloats<double, float>(lines);
    AddFloats<double, double>(lines);
    return lines;
  }();
  return *table;
}

std::vector<Types> TypesWhere(bool integer_operands, bool float_dst) {
  std::vector<Types> result;
  for (const TypedProduct& line : Table()) {
    if (IsFloat(line.types.lhs) != integer_operands &&
        IsFloat(line.types.dst) == float_dst) {
      result.push_back(line.types);
    }
  }
  return result;
}

}  // namespace

const std::vector<Types>& AllTypes() {
  static const auto* const types = [] {
    auto* all = new std::vector<Types>;
    for (const TypedProduct& line : Table()) all->push_back(line.types);
    return all;
  }();
  return *types;
}

const std::vector<Types>& IntegerTypes() {
  static const auto* const types = new std::vector<Types>(
      TypesWhere(/*integer_operands=*/true, /*float_dst=*/false));
  return *types;
}

const std::vector<Types>& ScaledTypes() {
  static const auto* const types = new std::vector<Types>(
      TypesWhere(/*integer_operands=*/true, /*float_dst=*/true));
  return *types;
}

const std::vector<Types>& FloatTypes() {
  static const auto* const types = new std::vector<Types>(
      TypesWhere(/*integer_operands=*/false, /*float_dst=*/true));
  return *types;
}

const TypedProduct& FindTypedProduct(const MulProblem& problem) {
  for (const TypedProduct& line : Table()) {
    if (line.types.lhs == problem.lhs.scalar &&
        line.types.rhs == problem.rhs.scalar &&
        line.types.accum == problem.accum &&
        line.types.dst == problem.dst.scalar) {
      return line;
    }
  }
  std::fprintf(stderr, "no such types: %s\n", TypesName(problem).c_str());
  std::abort();
}

}  // namespace ruy_like
