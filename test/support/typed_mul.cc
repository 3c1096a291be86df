#include "test/support/typed_mul.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <tuple>
#include <utility>

#include "ruy_like/mul.h"
#include "ruy_like/mul_plan.h"
#include "ruy_like/packed_matrix.h"
#include "ruy_like/reference_mul.h"
#include "test/support/guarded_buffer.h"
#include "test/support/test_util.h"
#include "test/support/visit_scalar.h"

namespace ruy_like {
namespace {

template <typename T>
Matrix<T> View(const MatrixSpec& spec, std::ptrdiff_t rows, std::ptrdiff_t cols,
               T* data) {
  Matrix<T> matrix = MakeMatrix(data, rows, cols, spec.order, spec.gap);
  matrix.set_zero_point(static_cast<T>(spec.zero_point));
  matrix.set_cache_policy(spec.cache_policy);
  if (spec.int7 != Int7::kNotPromised) {
    matrix.set_value_range(ValueRange::kInt7);
  }
  return matrix;
}

// A packed operand as a file would give it, with its end at a guard page.
template <typename T>
struct Mapped {
  std::unique_ptr<GuardedBuffer> buffer;
  PackedMatrix<T> matrix;

  // The first error on the way, or OK.
  absl::Status Make(const Matrix<T>& source, Side side, PackFor pack_for,
                    Order dst_order, Context* context) {
    const PackOptions options = {dst_order, pack_for};
    absl::StatusOr<PackedMatrix<T>> packed =
        Pack(source, side, options, context);
    if (!packed.ok()) return packed.status();
    const absl::string_view image = packed->Serialize();
    buffer = std::make_unique<GuardedBuffer>(image.size(), Flush::kEnd);
    std::memcpy(buffer->data(), image.data(), image.size());
    buffer->MakeReadOnly();
    packed = PackedMatrix<T>::FromBytes(buffer->data(), buffer->bytes());
    if (packed.ok()) matrix = *packed;
    return packed.status();
  }
};

template <typename Lhs, typename Rhs, typename Accum, typename Dst>
struct Typed {
  // What an operand of type T is packed for, beside one of type Other.
  template <typename T, typename Other>
  static PackFor PackForOther(const MatrixSpec& other) {
    if (Is8Bit(internal::ScalarOf<T>()) && other.int7 == Int7::kKept) {
      return PackFor::kInt7Operand;
    }
    if (std::is_same<T, float>::value && (std::is_same<Other, double>::value ||
                                          std::is_same<Accum, double>::value ||
                                          std::is_same<Dst, double>::value)) {
      return PackFor::kDoubleProduct;
    }
    return std::is_same<Other, std::int16_t>::value ? PackFor::kInt16Operand
                                                    : PackFor::kDefault;
  }

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
    if constexpr (internal::IsFloatType<Accum>()) {
      params.set_float_sums(p.float_sums);
    }
    if constexpr (MulParams<Accum, Dst>::kQuantized) {
      params.set_multiplier_rounding(p.rounding);
      if (p.multiplier == MultiplierKind::kPerTensor) {
        params.set_multiplier_fixedpoint(*call.fixedpoint);
        params.set_multiplier_exponent(*call.exponent);
      } else if (p.multiplier == MultiplierKind::kPerChannel) {
        params.set_multiplier_fixedpoint_perchannel(call.fixedpoint);
        params.set_multiplier_exponent_perchannel(call.exponent);
      }
    }
    if constexpr (MulParams<Accum, Dst>::kHasScales) {
      if (p.HasScales() && p.lhs_scale == ScaleKind::kPerTensor) {
        params.set_lhs_scale(*call.lhs_scales);
      } else if (p.HasScales() && p.lhs_scale == ScaleKind::kPerChannel) {
        params.set_lhs_scale_perrow(call.lhs_scales);
      }
      if (p.HasScales() && p.rhs_scale == ScaleKind::kPerTensor) {
        params.set_rhs_scale(*call.rhs_scales);
      } else if (p.HasScales() && p.rhs_scale == ScaleKind::kPerChannel) {
        params.set_rhs_scale_percol(call.rhs_scales);
      }
    }
    if constexpr (!MulParams<Accum, Dst>::kHasScales) {
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
  static absl::Status RunPacked(const Call& call, Context* context) {
    return With(call, [&](const auto& lhs, const auto& rhs, const auto& params,
                          auto* dst) {
      const EntryPoint entry_point = call.problem->entry_point;
      const Order dst_order = call.problem->packed_for;
      Mapped<Lhs> packed_lhs;
      Mapped<Rhs> packed_rhs;
      absl::Status status;
      if (entry_point != EntryPoint::kPackedRhs) {
        status = packed_lhs.Make(lhs, Side::kLhs,
                                 PackForOther<Lhs, Rhs>(call.problem->rhs),
                                 dst_order, context);
      }
      if (status.ok() && entry_point != EntryPoint::kPackedLhs) {
        status = packed_rhs.Make(rhs, Side::kRhs,
                                 PackForOther<Rhs, Lhs>(call.problem->lhs),
                                 dst_order, context);
      }
      if (!status.ok()) return status;
      if (entry_point == EntryPoint::kPackedLhs) {
        return Mul(packed_lhs.matrix, rhs, params, context, dst);
      }
      if (entry_point == EntryPoint::kPackedRhs) {
        return Mul(lhs, packed_rhs.matrix, params, context, dst);
      }
      return Mul(packed_lhs.matrix, packed_rhs.matrix, params, context, dst);
    });
  }
  static absl::Status RunPlan(const Call& call, Context* context) {
    return With(call, [&](const auto& lhs, const auto& rhs, const auto& params,
                          auto* dst) {
      MulPlan plan;
      const int threads = call.problem->num_threads;
      absl::Status status =
          plan.Prepare(lhs, rhs, params, threads, context, dst);
      for (int i = 0; i < threads && status.ok(); ++i) status = plan.Run(i);
      return status.ok() ? plan.Finish() : status;
    });
  }
  static absl::Status Run(const Call& call, Context* context) {
    switch (call.problem->entry_point) {
      case EntryPoint::kMul:
        return RunMul(call, context);
      case EntryPoint::kPlan:
        return RunPlan(call, context);
      default:
        return RunPacked(call, context);
    }
  }
  static void RunReferenceMul(const Call& call) {
    With(call, [](const auto& lhs, const auto& rhs, const auto& params,
                  auto* dst) { ReferenceMul(lhs, rhs, params, dst); });
  }
  static TypedProduct Line() {
    using internal::ScalarOf;
    return TypedProduct{
        {ScalarOf<Lhs>(), ScalarOf<Rhs>(), ScalarOf<Accum>(), ScalarOf<Dst>()},
        &Run,
        &RunReferenceMul};
  }
};

// The line of the index-th combination of four types, if there is such a
// product.
template <int kIndex>
void AddLine(std::vector<TypedProduct>* table) {
  constexpr auto scalar = [](int index) {
    return static_cast<Scalar>(index % kNumScalars);
  };
  constexpr Scalar kDst = scalar(kIndex);
  constexpr Scalar kAccum = scalar(kIndex / kNumScalars);
  constexpr Scalar kRhs = scalar(kIndex / kNumScalars / kNumScalars);
  constexpr Scalar kLhs =
      scalar(kIndex / kNumScalars / kNumScalars / kNumScalars);
  if constexpr (FindProduct(kLhs, kRhs, kAccum, kDst) != nullptr) {
    table->push_back(Typed<TypeOf<kLhs>, TypeOf<kRhs>, TypeOf<kAccum>,
                           TypeOf<kDst>>::Line());
  }
}

template <int... kIndices>
std::vector<TypedProduct> MakeTable(
    std::integer_sequence<int, kIndices...> /*all*/) {
  std::vector<TypedProduct> table;
  // Not a fold over the comma: clang nests those, 256 deep at most.
  (void)std::initializer_list<int>{(AddLine<kIndices>(&table), 0)...};
  // Integers, scaled integers, floats, each in the order of the list: the seeds
  // of random problems, recorded in products.txt, count on it.
  const auto key = [](const TypedProduct& line) {
    const Types& types = line.types;
    return std::make_tuple(
        IsFloat(types.lhs), IsFloat(types.dst),
        FindProduct(types.lhs, types.rhs, types.accum, types.dst) - kProducts);
  };
  std::stable_sort(table.begin(), table.end(),
                   [&](const TypedProduct& a, const TypedProduct& b) {
                     return key(a) < key(b);
                   });
  return table;
}

const std::vector<TypedProduct>& Table() {
  constexpr int kCombinations =
      kNumScalars * kNumScalars * kNumScalars * kNumScalars;
  static const auto* const table = new std::vector<TypedProduct>(
      MakeTable(std::make_integer_sequence<int, kCombinations>()));
  return *table;
}

std::vector<Types>* NewTypes(bool (*wanted)(const Types& types)) {
  auto* const result = new std::vector<Types>;
  for (const TypedProduct& line : Table()) {
    if (wanted(line.types)) result->push_back(line.types);
  }
  return result;
}

}  // namespace

const std::vector<Types>& AllTypes() {
  static const auto& types = *NewTypes([](const Types&) { return true; });
  return types;
}

const std::vector<Types>& IntegerTypes() {
  static const auto& types =
      *NewTypes([](const Types& t) { return !IsFloat(t.dst); });
  return types;
}

const std::vector<Types>& ScaledTypes() {
  static const auto& types = *NewTypes(
      [](const Types& t) { return !IsFloat(t.lhs) && IsFloat(t.dst); });
  return types;
}

const std::vector<Types>& FloatTypes() {
  static const auto& types =
      *NewTypes([](const Types& t) { return IsFloat(t.lhs); });
  return types;
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
