#include "bench/problem.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "bench/level_tables.h"
#include "ruy_like/float8.h"
#include "ruy_like/scalar.h"

namespace ruy_like::bench {
namespace {

// xorshift64*: fills gigabytes without being noticed.
class Random final {
 public:
  std::uint64_t Next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545f4914f6cdd1dull;
  }

 private:
  std::uint64_t state_ = 0x9e3779b97f4a7c15ull;
};

float RandomFloat(Random* random) {
  return static_cast<float>(random->Next() >> 40) / (1 << 23) - 1.0f;
}

template <typename T>
void FillFloats(std::ptrdiff_t count, Random* random, Buffer* buffer) {
  T* const values = static_cast<T*>(buffer->data());
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    values[i] = static_cast<T>(RandomFloat(random));
  }
}

void Fill(Scalar scalar, std::ptrdiff_t count, Random* random, Buffer* buffer) {
  switch (scalar) {
    case Scalar::kF32:
      return FillFloats<float>(count, random, buffer);
    case Scalar::kBF16:
      return FillFloats<BFloat16>(count, random, buffer);
    case Scalar::kF16:
      return FillFloats<Float16>(count, random, buffer);
    case Scalar::kE4M3:
      return FillFloats<Float8E4M3>(count, random, buffer);
    case Scalar::kE5M2:
      return FillFloats<Float8E5M2>(count, random, buffer);
    default:
      break;
  }
  char* bytes = static_cast<char*>(buffer->data());
  const std::ptrdiff_t size = BytesOf(scalar, count);
  for (std::ptrdiff_t i = 0; i < size; i += 8) {
    const std::uint64_t bits = random->Next();
    std::memcpy(bytes + i, &bits, std::min<std::ptrdiff_t>(8, size - i));
  }
}

// Standard deviation of elements spread evenly over all values of a type.
double Deviation(Scalar scalar) {
  return std::ldexp(1.0, InfoOf(scalar).bits) / std::sqrt(12.0);
}

template <typename T>
Matrix<T> MakeView(const Buffer& buffer, std::ptrdiff_t rows,
                   std::ptrdiff_t cols, Order order, std::int32_t zero_point) {
  Matrix<T> view;
  MakeSimpleLayout(rows, cols, order, view.mutable_layout());
  view.set_data(static_cast<const T*>(buffer.data()));
  view.set_zero_point(static_cast<T>(zero_point));
  return view;
}

CachePolicy PolicyOf(bool is_cached) {
  return is_cached ? CachePolicy::kAlwaysCache : CachePolicy::kNeverCache;
}

// The problem's matrices, of its first product, and how they are multiplied.
template <typename Lhs, typename Rhs, typename Accum, typename Dst,
          FloatSums kSums = FloatSums::kInOrder>
class TypedProblem final : public BoundProblem {
 public:
  explicit TypedProblem(const Problem& problem);

  absl::Status Mul(Context* context) override {
    return batch_.count == 1
               ? ruy_like::Mul(lhs_, rhs_, mul_params_, context, &dst_)
               : MulBatch(lhs_, rhs_, mul_params_, batch_, context, &dst_);
  }
  absl::Status Calls(void* to, Context* context) override {
    Product product(*this);
    absl::Status status;
    for (std::ptrdiff_t i = 0; i < batch_.count && status.ok(); ++i) {
      product.MoveTo(i, *this, to);
      status = ruy_like::Mul(product.lhs, product.rhs, mul_params_, context,
                             &product.dst);
    }
    return status;
  }
  void Reference(void* to) override {
    Product product(*this);
    for (std::ptrdiff_t i = 0; i < batch_.count; ++i) {
      product.MoveTo(i, *this, to);
      ReferenceMul(product.lhs, product.rhs, mul_params_, &product.dst);
    }
  }

 private:
  // One of the batch's.
  struct Product {
    explicit Product(const TypedProblem& batch)
        : lhs(batch.lhs_), rhs(batch.rhs_), dst(batch.dst_) {}
    void MoveTo(std::ptrdiff_t index, const TypedProblem& batch, void* to) {
      const Batch& strides = batch.batch_;
      lhs.set_data(batch.lhs_.data() + index * strides.lhs_stride);
      rhs.set_data(batch.rhs_.data() + index * strides.rhs_stride);
      dst.set_data(static_cast<Dst*>(to) + index * strides.dst_stride);
    }

    Matrix<Lhs> lhs;
    Matrix<Rhs> rhs;
    Matrix<Dst> dst;
  };

  Matrix<Lhs> lhs_;
  Matrix<Rhs> rhs_;
  Matrix<Dst> dst_;
  MulParams<Accum, Dst> mul_params_;
  Batch batch_;
};

template <typename Lhs, typename Rhs, typename Accum, typename Dst,
          FloatSums kSums>
TypedProblem<Lhs, Rhs, Accum, Dst, kSums>::TypedProblem(
    const Problem& problem) {
  const Types& types = *problem.types;
  const Shape& shape = problem.shape;
  lhs_ = MakeView<Lhs>(problem.lhs, shape.rows, shape.depth, problem.orders.lhs,
                       types.lhs_zero_point);
  lhs_.mutable_layout()->set_stride(
      lhs_.layout().stride() +
      problem.orders.lhs_gap_bytes / static_cast<std::ptrdiff_t>(sizeof(Lhs)));
  lhs_.set_cache_policy(PolicyOf(problem.cached == Cached::kLhs));
  rhs_ = MakeView<Rhs>(problem.rhs, shape.depth, shape.cols, problem.orders.rhs,
                       types.rhs_zero_point);
  rhs_.set_cache_policy(PolicyOf(problem.cached == Cached::kRhs));
  dst_ = MakeView<Dst>(problem.dst, shape.rows, shape.cols, problem.orders.dst,
                       types.dst_zero_point);
  // A Problem stays as it is but for dst's elements.
  dst_.set_data(static_cast<Dst*>(const_cast<void*>(problem.dst.data())));
  batch_ = {shape.count, shape.rows * shape.depth, shape.depth * shape.cols,
            shape.rows * shape.cols};
  if constexpr (std::is_floating_point<Dst>::value) {
    mul_params_.set_float_sums(kSums);
    if (!types.has_epilogue) return;
    mul_params_.set_bias(problem.bias_f32.data());
    mul_params_.set_clamp_min(Dst{-1e6});
    mul_params_.set_clamp_max(Dst{1e6});
  } else {
    mul_params_.set_bias(problem.bias.data());
    mul_params_.set_multiplier_fixedpoint_perchannel(problem.fixedpoint.data());
    mul_params_.set_multiplier_exponent_perchannel(problem.exponent.data());
    mul_params_.set_clamp_min(std::numeric_limits<Dst>::lowest() + 1);
    mul_params_.set_clamp_max(std::numeric_limits<Dst>::max() - 1);
  }
}

// The table's rows without their functions, which are those of the types.
template <typename Typed>
Types With(Types types) {
  types.bind = [](const Problem& problem) -> std::unique_ptr<BoundProblem> {
    return std::make_unique<Typed>(problem);
  };
  return types;
}

using I8 = std::int8_t;
using U8 = std::uint8_t;
using I16 = std::int16_t;
using I32 = std::int32_t;

// ## Weights with a scale for each group

// Ternary weights use three codes of four: ggml's quantizers make no others.
int CodesUsed(const Types& types) { return types.level_bits == 2 ? 3 : 16; }

// A group's first level, the one by which others find its scale.
int FirstLevel(const Types& types) {
  if (types.table == nullptr) return types.level_bits == 4 ? -8 : -127;
  return *std::max_element(
      types.table, types.table + CodesUsed(types),
      [](int a, int b) { return std::abs(a) < std::abs(b); });
}

// The same for all groups, so that the levels are known by the values.
float GroupScale(const Types& types) {
  return std::ldexp(1.0f, types.table == nullptr
                              ? 1 - types.level_bits
                              : -1 - std::ilogb(FirstLevel(types)));
}

void FillGroups(const Problem& problem, Random* random, Buffer* buffer) {
  const Types& types = *problem.types;
  const int first = FirstLevel(types);
  const float scale = GroupScale(types);
  float* value = static_cast<float*>(buffer->data());
  for (std::ptrdiff_t row = 0; row < problem.shape.rows; ++row) {
    for (std::ptrdiff_t k = 0; k < problem.shape.depth; ++k) {
      int level = first;
      if (k % types.group_size != 0) {
        const std::uint64_t bits = random->Next() >> 32;
        level = types.table == nullptr ? static_cast<int>(bits) % first
                                       : types.table[bits % CodesUsed(types)];
      }
      *value++ = static_cast<float>(level) * scale;
    }
  }
}

class GroupProblem final : public BoundProblem {
 public:
  explicit GroupProblem(const Problem& problem) {
    const Types& types = *problem.types;
    const Shape& shape = problem.shape;
    lhs_ = MakeView<float>(problem.lhs, shape.rows, shape.depth,
                           Order::kRowMajor, 0);
    rhs_ = MakeView<float>(problem.rhs, shape.depth, shape.cols,
                           problem.orders.rhs, 0);
    dst_ = MakeView<float>(problem.dst, shape.rows, shape.cols,
                           problem.orders.dst, 0);
    dst_.set_data(static_cast<float*>(const_cast<void*>(problem.dst.data())));
    if (shape.count > 1 || problem.orders.lhs != Order::kRowMajor) {
      status_ = absl::UnimplementedError(
          "weights with groups are one matrix, row-major");
      return;
    }
    std::vector<std::uint8_t> levels;
    const std::ptrdiff_t step = 8 / types.level_bits;
    for (std::ptrdiff_t row = 0; row < shape.rows; ++row) {
      for (std::ptrdiff_t k = 0; k < shape.depth; k += step) {
        int byte = 0;
        for (std::ptrdiff_t i = 0; i < std::min(step, shape.depth - k); ++i) {
          byte |= Code(types, row, k + i) << (i * types.level_bits);
        }
        levels.push_back(static_cast<std::uint8_t>(byte));
      }
    }
    const std::ptrdiff_t groups =
        (shape.depth + types.group_size - 1) / types.group_size;
    const std::vector<Float16> scales(shape.rows * groups,
                                      static_cast<Float16>(GroupScale(types)));
    GroupWeights weights;
    weights.rows = shape.rows;
    weights.depth = shape.depth;
    weights.bits = types.level_bits;
    weights.group_size = types.group_size;
    weights.levels = levels.data();
    weights.table = types.table;
    weights.set_scales(scales.data());
    Context context;
    absl::StatusOr<PackedGroupWeights> packed =
        PackGroupWeights(weights, &context);
    status_ = packed.status();
    if (packed.ok()) weights_ = *std::move(packed);
  }

  absl::Status Mul(Context* context) override { return MulTo(&dst_, context); }
  absl::Status Calls(void* to, Context* context) override {
    Matrix<float> dst = dst_;
    dst.set_data(static_cast<float*>(to));
    return MulTo(&dst, context);
  }
  // With the weights as floats, and activations that are not rounded.
  void Reference(void* to) override {
    Matrix<float> dst = dst_;
    dst.set_data(static_cast<float*>(to));
    ReferenceMul(lhs_, rhs_, MulParams<float, float>(), &dst);
  }

 private:
  // The code of the weight at (row, k), as GroupWeights::levels stores it.
  int Code(const Types& types, std::ptrdiff_t row, std::ptrdiff_t k) const {
    const int level = static_cast<int>(
        lhs_.data()[row * lhs_.layout().cols() + k] / GroupScale(types));
    if (types.table == nullptr) {
      return types.level_bits == 4 ? level + 8 : level & 0xff;
    }
    return static_cast<int>(
        std::find(types.table, types.table + CodesUsed(types), level) -
        types.table);
  }
  absl::Status MulTo(Matrix<float>* dst, Context* context) const {
    if (!status_.ok()) return status_;
    return ruy_like::Mul(weights_, rhs_, GroupMulParams(), context, dst);
  }

  Matrix<float> lhs_, rhs_, dst_;
  PackedGroupWeights weights_;
  absl::Status status_;
};

Types GroupTypes(const char* name, const char* description, int level_bits,
                 std::ptrdiff_t group_size, const I8* table = nullptr) {
  Types types = {name,         description,  kernels::Family::k8x8,
                 Scalar::kF32, Scalar::kF32, Scalar::kF32};
  types.has_epilogue = false;
  types.level_bits = level_bits;
  types.group_size = group_size;
  types.table = table;
  return With<GroupProblem>(types);
}

// Fills bias and multipliers.
void FillIntegerEpilogue(Random* random, Problem* problem) {
  // Three deviations of the sums to a half of dst's range.
  const double sums = Deviation(problem->types->lhs) *
                      Deviation(problem->types->rhs) *
                      std::sqrt(static_cast<double>(problem->shape.depth));
  const double half_range = std::ldexp(0.5, InfoOf(problem->types->dst).bits);
  int scale_exponent;
  std::frexp(half_range / (3 * sums), &scale_exponent);
  for (std::ptrdiff_t row = 0; row < problem->shape.rows; ++row) {
    const std::uint64_t bits = random->Next();
    problem->bias.push_back(static_cast<std::int32_t>(
        sums * static_cast<std::int8_t>(bits >> 56) / 128));
    problem->fixedpoint.push_back(
        (1 << 30) + static_cast<std::int32_t>(bits >> 2 & 0x3fffffff));
    problem->exponent.push_back(
        std::clamp(scale_exponent - static_cast<int>(bits & 1), -31, 0));
  }
}

}  // namespace

const std::vector<Types>& AllTypes() {
  using kernels::Family;
  static const auto& types = *new std::vector<Types>{
      With<TypedProblem<I8, I8, I32, I8>>({"s8", "int8 weights and activations",
                                           Family::k8x8, Scalar::kI8,
                                           Scalar::kI8, Scalar::kI8, 0, 3, -5}),
      With<TypedProblem<I8, U8, I32, U8>>(
          {"s8u8", "int8 weights, uint8 activations", Family::k8x8, Scalar::kI8,
           Scalar::kU8, Scalar::kU8, 0, 120, 130}),
      With<TypedProblem<U8, U8, I32, U8>>(
          {"u8", "uint8 weights and activations", Family::k8x8, Scalar::kU8,
           Scalar::kU8, Scalar::kU8, 125, 120, 130}),
      With<TypedProblem<I8, I16, I32, I16>>(
          {"s8s16", "int8 weights, int16 activations", Family::k8x16,
           Scalar::kI8, Scalar::kI16, Scalar::kI16}),
      With<TypedProblem<float, float, float, float>>(
          {"f32", "float", Family::kF32, Scalar::kF32, Scalar::kF32,
           Scalar::kF32}),
      With<TypedProblem<float, float, float, float, FloatSums::kAnyOrder>>(
          {"f32any", "float, sums in any order", Family::kF32, Scalar::kF32,
           Scalar::kF32, Scalar::kF32}),
      With<TypedProblem<float, float, float, float>>(
          {"f32plain", "float without bias and clamp", Family::kF32,
           Scalar::kF32, Scalar::kF32, Scalar::kF32, 0, 0, 0,
           /*bind=*/nullptr, /*has_epilogue=*/false}),
      With<TypedProblem<BFloat16, BFloat16, float, float>>(
          {"bf16", "bfloat16 weights and activations, into float", Family::kF32,
           Scalar::kBF16, Scalar::kBF16, Scalar::kF32}),
      With<TypedProblem<BFloat16, float, float, float>>(
          {"bf16f32", "bfloat16 weights, float activations", Family::kF32,
           Scalar::kBF16, Scalar::kF32, Scalar::kF32}),
      With<TypedProblem<Float16, Float16, float, float>>(
          {"f16", "float16 weights and activations, into float", Family::kF32,
           Scalar::kF16, Scalar::kF16, Scalar::kF32}),
      With<TypedProblem<Float16, float, float, float>>(
          {"f16f32", "float16 weights, float activations", Family::kF32,
           Scalar::kF16, Scalar::kF32, Scalar::kF32}),
      With<TypedProblem<Float8E4M3, float, float, float>>(
          {"e4m3f32", "8-bit float weights (E4M3), float activations",
           Family::kF32, Scalar::kE4M3, Scalar::kF32, Scalar::kF32}),
      With<TypedProblem<Float8E4M3, BFloat16, float, float>>(
          {"e4m3bf16", "8-bit float weights (E4M3), bfloat16 activations",
           Family::kF32, Scalar::kE4M3, Scalar::kBF16, Scalar::kF32}),
      GroupTypes("s4g32", "4-bit weights in groups of 32, float activations", 4,
                 32),
      GroupTypes("s4g128", "4-bit weights in groups of 128, float activations",
                 4, 128),
      GroupTypes("s8g32", "8-bit weights in groups of 32, float activations", 8,
                 32),
      GroupTypes("s2g64", "ternary weights in groups of 64, float activations",
                 2, 64, kTernary),
      GroupTypes("s2g256",
                 "ternary weights in groups of 256, float activations", 2, 256,
                 kTernary),
      GroupTypes("iq4nl", "weights by IQ4_NL's table, float activations", 4, 32,
                 kIq4Nl),
      GroupTypes("mxfp4", "weights of E2M1 in groups of 32, float activations",
                 4, 32, kE2M1),
      GroupTypes("nvfp4", "weights of E2M1 in groups of 16, float activations",
                 4, 16, kE2M1),
  };
  return types;
}

const Types* FindTypes(const std::string& name) {
  for (const Types& types : AllTypes()) {
    if (name == types.name) return &types;
  }
  return nullptr;
}

Problem::Problem(const Types& types_arg, const Shape& shape_arg,
                 Cached cached_arg, const Orders& orders_arg)
    : types(&types_arg),
      shape(shape_arg),
      cached(cached_arg),
      orders(orders_arg),
      lhs(LhsBytes()),
      rhs(BytesOf(types->rhs, shape.count * shape.depth * shape.cols)),
      dst(DstBytes()) {
  Random random;
  if (types->level_bits > 0) {
    FillGroups(*this, &random, &lhs);
  } else {
    Fill(types->lhs, LhsBytes() / BytesOf(types->lhs, 1), &random, &lhs);
  }
  Fill(types->rhs, shape.count * shape.depth * shape.cols, &random, &rhs);
  std::memset(dst.data(), 0, DstBytes());
  if (types->dst != Scalar::kF32) {
    FillIntegerEpilogue(&random, this);
  } else if (types->has_epilogue) {
    for (std::ptrdiff_t row = 0; row < shape.rows; ++row) {
      bias_f32.push_back(RandomFloat(&random));
    }
  }
  bound_ = types->bind(*this);
}

double Problem::Bytes() const {
  const auto bytes = [this](std::ptrdiff_t rows, std::ptrdiff_t cols,
                            Scalar scalar) {
    return static_cast<double>(BytesOf(scalar, shape.count * rows * cols));
  };
  const double lhs_bytes =
      types->level_bits > 0
          ? static_cast<double>(shape.rows * shape.depth) *
                (types->level_bits +
                 16.0 / static_cast<double>(types->group_size)) /
                8
          : bytes(shape.rows, shape.depth, types->lhs);
  return lhs_bytes + bytes(shape.depth, shape.cols, types->rhs) +
         bytes(shape.rows, shape.cols, types->dst);
}

}  // namespace ruy_like::bench
