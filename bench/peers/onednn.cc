// oneDNN, version 2 or 3: int8 matmul with per-channel scales, zero points and
// bias; float matmul or inner product, whichever is faster, or batched matmul.
// Its view of the product is transposed: activations are the left operand.
//
// Differences of the versions are in "Versions" below: how a primitive is
// described, and that version 3 takes scales and zero points when it runs,
// scales the weights instead of the result, and adds the bias, a float, after
// that.
//
// Weights are packed beforehand in the format of its choice if they may be;
// else they come as they lie. Saturation stands for the clamp.
// ONEDNN_MAX_CPU_ISA limits its instruction set.
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bench/peers/peer.h"
#include "dnnl.hpp"

namespace {

using dnnl::memory;
using ruy_like::bench::PeerProblem;
using ruy_like::bench::PeerRunner;
using ruy_like::bench::PeerTypes;

const dnnl::engine& Engine() {
  static const auto& engine = *new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

memory Wrap(const memory::desc& desc, const void* data) {
  return memory(desc, Engine(), const_cast<void*>(data));
}

// A vector in a buffer that the memory object owns.
template <typename T>
memory Vector(memory::data_type type, const std::vector<T>& values) {
  memory vector(memory::desc({static_cast<memory::dim>(values.size())}, type,
                             memory::format_tag::a),
                Engine());
  std::memcpy(vector.get_data_handle(), values.data(),
              values.size() * sizeof(T));
  return vector;
}

using Arguments = std::unordered_map<int, memory>;

// The multiplier of a row of ours, a column of theirs, as a float.
float ScaleOf(const PeerProblem& problem, std::ptrdiff_t row) {
  return std::ldexp(static_cast<float>(problem.fixedpoint[row]),
                    problem.exponent[row] - 31);
}

// ## Versions

#if DNNL_VERSION_MAJOR >= 3

dnnl::matmul::primitive_desc DescribeMatmul(const memory::desc& src,
                                            const memory::desc& weights,
                                            const memory::desc& bias,
                                            const memory::desc& dst,
                                            const dnnl::primitive_attr& attr) {
  return dnnl::matmul::primitive_desc(Engine(), src, weights, bias, dst, attr);
}

dnnl::inner_product_forward::primitive_desc DescribeInnerProduct(
    const memory::desc& src, const memory::desc& weights,
    const memory::desc& bias, const memory::desc& dst) {
  return dnnl::inner_product_forward::primitive_desc(
      Engine(), dnnl::prop_kind::forward_inference, src, weights, bias, dst);
}

// The type of the bias of integer products.
constexpr memory::data_type kBiasType = memory::data_type::f32;

// Sets what the attributes say of an integer product, and the arguments, bias
// included, that go with that.
void Quantize(const PeerProblem& problem, dnnl::primitive_attr* attr,
              Arguments* arguments) {
  std::vector<float> scales(problem.rows), bias(problem.rows);
  for (std::ptrdiff_t row = 0; row < problem.rows; ++row) {
    scales[row] = ScaleOf(problem, row);
    bias[row] = scales[row] * static_cast<float>(problem.bias[row]);
  }
  attr->set_scales_mask(DNNL_ARG_WEIGHTS, 1 << 1);  // along the columns
  attr->set_zero_points_mask(DNNL_ARG_SRC, 0);
  attr->set_zero_points_mask(DNNL_ARG_DST, 0);
  const auto zero_point = [](std::int32_t value) {
    return Vector(memory::data_type::s32, std::vector<std::int32_t>{value});
  };
  arguments->insert({DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS,
                     Vector(memory::data_type::f32, scales)});
  arguments->insert({DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC,
                     zero_point(problem.rhs_zero_point)});
  arguments->insert({DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_DST,
                     zero_point(problem.dst_zero_point)});
  // Their bias is a matrix of one row.
  memory row(memory::desc({1, problem.rows}, kBiasType, memory::format_tag::ab),
             Engine());
  std::memcpy(row.get_data_handle(), bias.data(), bias.size() * sizeof(float));
  arguments->insert({DNNL_ARG_BIAS, row});
}

#else

dnnl::matmul::primitive_desc DescribeMatmul(const memory::desc& src,
                                            const memory::desc& weights,
                                            const memory::desc& bias,
                                            const memory::desc& dst,
                                            const dnnl::primitive_attr& attr) {
  return dnnl::matmul::primitive_desc(
      dnnl::matmul::desc(src, weights, bias, dst), attr, Engine());
}

dnnl::inner_product_forward::primitive_desc DescribeInnerProduct(
    const memory::desc& src, const memory::desc& weights,
    const memory::desc& bias, const memory::desc& dst) {
  return dnnl::inner_product_forward::primitive_desc(
      dnnl::inner_product_forward::desc(dnnl::prop_kind::forward_inference, src,
                                        weights, bias, dst),
      Engine());
}

constexpr memory::data_type kBiasType = memory::data_type::s32;

void Quantize(const PeerProblem& problem, dnnl::primitive_attr* attr,
              Arguments* arguments) {
  std::vector<float> scales(problem.rows);
  for (std::ptrdiff_t row = 0; row < problem.rows; ++row) {
    scales[row] = ScaleOf(problem, row);
  }
  attr->set_output_scales(1 << 1, scales);
  attr->set_zero_points(DNNL_ARG_SRC, 0, {problem.rhs_zero_point});
  attr->set_zero_points(DNNL_ARG_DST, 0, {problem.dst_zero_point});
  const memory::desc bias({1, problem.rows}, kBiasType, memory::format_tag::ab);
  arguments->insert({DNNL_ARG_BIAS, Wrap(bias, problem.bias)});
}

#endif

// ## Products

class OneDnnRunner final : public PeerRunner {
 public:
  OneDnnRunner(dnnl::primitive primitive, Arguments arguments)
      : stream_(Engine()),
        primitive_(std::move(primitive)),
        arguments_(std::move(arguments)) {}

  void Run() override {
    primitive_.execute(stream_, arguments_);
    stream_.wait();
  }

  double Time(int calls) {
    Run();
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) Run();
    const std::chrono::duration<double> elapsed =
        std::chrono::steady_clock::now() - start;
    return elapsed.count();
  }

 private:
  dnnl::stream stream_;
  dnnl::primitive primitive_;
  Arguments arguments_;
};

// The weights where `wanted` says so: in a buffer of their own, or as they lie.
memory PackWeights(memory plain, const memory::desc& wanted) {
  if (plain.get_desc() == wanted) return plain;
  memory packed(wanted, Engine());
  dnnl::stream stream(Engine());
  dnnl::reorder(plain, packed).execute(stream, plain, packed);
  stream.wait();
  return packed;
}

// The bias of a float product; without one, the description of no memory.
memory::desc FloatBias(const PeerProblem& problem, const memory::dims& dims,
                       memory::format_tag tag) {
  if (problem.bias_f32 == nullptr) return memory::desc();
  return memory::desc(dims, memory::data_type::f32, tag);
}

void AddFloatBias(const PeerProblem& problem, const memory::desc& bias,
                  Arguments* arguments) {
  if (problem.bias_f32 == nullptr) return;
  arguments->insert({DNNL_ARG_BIAS, Wrap(bias, problem.bias_f32)});
}

// A batch of float products in one call.
std::unique_ptr<OneDnnRunner> MakeMatmul(const PeerProblem& problem) {
  using tag = memory::format_tag;
  using type = memory::data_type;
  const bool bf16 = problem.types == PeerTypes::kBF16;
  const bool f32 = problem.types == PeerTypes::kF32 || bf16;
  const type activations = bf16                              ? type::bf16
                           : f32                             ? type::f32
                           : problem.types == PeerTypes::kS8 ? type::s8
                                                             : type::u8;
  const type weights = bf16 ? type::bf16 : f32 ? type::f32 : type::s8;
  const bool batch = problem.count > 1;
  const auto dims_of = [&](memory::dim count, memory::dim rows,
                           memory::dim cols) {
    return batch ? memory::dims{count, rows, cols} : memory::dims{rows, cols};
  };
  const memory::dims src_dims =
      dims_of(problem.count, problem.cols, problem.depth);
  const memory::dims weight_dims =
      dims_of(problem.count, problem.depth, problem.rows);
  const memory::dims dst_dims =
      dims_of(problem.count, problem.cols, problem.rows);
  const memory::dims bias_dims = dims_of(1, 1, problem.rows);
  // Each is the transpose of ours.
  const auto tag_of = [batch](bool row_major) {
    return batch ? (row_major ? tag::acb : tag::abc)
                 : (row_major ? tag::ba : tag::ab);
  };
  const memory::desc src(src_dims, activations, tag_of(problem.rhs_row_major));
  const memory::desc plain_weights(weight_dims, weights,
                                   tag_of(problem.lhs_row_major));
  const memory::desc dst(dst_dims, f32 ? type::f32 : activations,
                         tag_of(problem.dst_row_major));
  const memory::desc bias =
      f32 ? FloatBias(problem, bias_dims, tag_of(false))
          : memory::desc(bias_dims, kBiasType, tag_of(false));
  dnnl::primitive_attr attr;
  Arguments arguments;
  if (f32) {
    AddFloatBias(problem, bias, &arguments);
  } else {
    Quantize(problem, &attr, &arguments);
  }
  const memory::desc any_weights(weight_dims, weights, tag::any);
  const dnnl::matmul::primitive_desc primitive_desc = DescribeMatmul(
      src, problem.prepack ? any_weights : plain_weights, bias, dst, attr);
  arguments.insert({DNNL_ARG_SRC, Wrap(src, problem.rhs)});
  arguments.insert(
      {DNNL_ARG_WEIGHTS, PackWeights(Wrap(plain_weights, problem.lhs),
                                     primitive_desc.weights_desc())});
  arguments.insert({DNNL_ARG_DST, Wrap(dst, problem.dst)});
  return std::make_unique<OneDnnRunner>(dnnl::matmul(primitive_desc),
                                        std::move(arguments));
}

std::unique_ptr<OneDnnRunner> MakeInnerProduct(const PeerProblem& problem) {
  using tag = memory::format_tag;
  const memory::data_type f32 = memory::data_type::f32;
  const memory::dims weight_dims = {problem.rows, problem.depth};
  const memory::desc src({problem.cols, problem.depth}, f32, tag::ab);
  const memory::desc plain_weights(weight_dims, f32, tag::ab);
  const memory::desc any_weights(weight_dims, f32, tag::any);
  const memory::desc bias = FloatBias(problem, {problem.rows}, tag::a);
  const memory::desc dst({problem.cols, problem.rows}, f32, tag::ab);
  const dnnl::inner_product_forward::primitive_desc primitive_desc =
      DescribeInnerProduct(src, problem.prepack ? any_weights : plain_weights,
                           bias, dst);
  Arguments arguments = {
      {DNNL_ARG_SRC, Wrap(src, problem.rhs)},
      {DNNL_ARG_WEIGHTS, PackWeights(Wrap(plain_weights, problem.lhs),
                                     primitive_desc.weights_desc())},
      {DNNL_ARG_DST, Wrap(dst, problem.dst)}};
  AddFloatBias(problem, bias, &arguments);
  return std::make_unique<OneDnnRunner>(
      dnnl::inner_product_forward(primitive_desc), std::move(arguments));
}

PeerRunner* Prepare(const PeerProblem& problem) {
  // Weights of integers are int8; those of other types have no product, or one
  // of the widened values.
  if (problem.types != PeerTypes::kS8 && problem.types != PeerTypes::kS8U8 &&
      problem.types != PeerTypes::kF32 && problem.types != PeerTypes::kBF16) {
    return nullptr;
  }
  if (problem.count > 1 && problem.types != PeerTypes::kF32) return nullptr;
  try {
    std::unique_ptr<OneDnnRunner> runner = MakeMatmul(problem);
    if (problem.types == PeerTypes::kF32 && problem.count == 1 &&
        HasUsualOrders(problem)) {
      std::unique_ptr<OneDnnRunner> other = MakeInnerProduct(problem);
      const int calls = runner->Time(1) < 1e-4 ? 50 : 3;
      if (other->Time(calls) < runner->Time(calls)) runner = std::move(other);
    }
    runner->Run();  // Version 2.6 finds out here that it can not.
    return runner.release();
  } catch (const dnnl::error&) {
    return nullptr;
  }
}

const char* IsaName(dnnl::cpu_isa isa) {
  using dnnl::cpu_isa;
  constexpr std::pair<cpu_isa, const char*> kNames[] = {
    {cpu_isa::sse41, "SSE4.1"},
    {cpu_isa::avx, "AVX"},
    {cpu_isa::avx2, "AVX2"},
    {cpu_isa::avx2_vnni, "AVX2-VNNI"},
    {cpu_isa::avx512_core, "AVX-512"},
    {cpu_isa::avx512_core_vnni, "AVX-512-VNNI"},
    {cpu_isa::avx512_core_bf16, "AVX-512-BF16"},
    {cpu_isa::avx512_core_amx, "AMX"},
#if DNNL_VERSION_MAJOR >= 3
    {cpu_isa::avx512_core_fp16, "AVX-512-FP16"},
    {cpu_isa::avx512_core_amx_fp16, "AMX-FP16"},
#endif
  };
  for (const auto& [known, name] : kNames) {
    if (isa == known) return name;
  }
  return "?";
}

const char* Describe() {
  const dnnl::version_t* version = dnnl::version();
  static const auto& text = *new std::string(
      std::to_string(version->major) + "." + std::to_string(version->minor) +
      "." + std::to_string(version->patch) + ", " +
      IsaName(dnnl::get_effective_cpu_isa()));
  return text.c_str();
}

const ruy_like::bench::Peer kPeer = {"onednn",
                                     Describe,
                                     /*adds_float_bias=*/true,
                                     Prepare,
                                     /*integer_tolerance=*/1,
                                     /*has_batches=*/true};

}  // namespace

const ruy_like::bench::Peer* RuyLikeBenchPeer() { return &kPeer; }
