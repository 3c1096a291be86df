#include "example/onnx/operators.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace onnx {
namespace {

using Result = absl::StatusOr<Tensor>;

// Negative axes count from the end. -1 for what is no axis.
std::ptrdiff_t AxisOf(std::int64_t axis, std::size_t rank) {
  const auto n = static_cast<std::int64_t>(rank);
  if (axis < 0) axis += n;
  return axis >= 0 && axis < n ? static_cast<std::ptrdiff_t>(axis) : -1;
}

std::ptrdiff_t Product(const Dims& dims, std::size_t first, std::size_t end) {
  return std::accumulate(dims.begin() + static_cast<std::ptrdiff_t>(first),
                         dims.begin() + static_cast<std::ptrdiff_t>(end),
                         std::ptrdiff_t{1}, std::multiplies<>());
}

// For each axis what its indices add to a position.
using Offsets = std::vector<Dims>;

// 0, step, 2 * step, ...
Dims Multiples(std::ptrdiff_t count, std::ptrdiff_t step) {
  Dims multiples(static_cast<std::size_t>(count));
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    multiples[static_cast<std::size_t>(i)] = i * step;
  }
  return multiples;
}

// Calls visit(positions) for all indices, the last axis running fastest.
template <std::size_t n, typename Visit>
void ForEachIndex(const Offsets (&offsets)[n], const Visit& visit,
                  std::size_t axis = 0,
                  const std::array<std::size_t, n>& at = {}) {
  if (axis == offsets[0].size()) return visit(at);
  for (std::size_t i = 0; i < offsets[0][axis].size(); ++i) {
    std::array<std::size_t, n> next = at;
    for (std::size_t k = 0; k < n; ++k) {
      next[k] += static_cast<std::size_t>(offsets[k][axis][i]);
    }
    ForEachIndex(offsets, visit, axis + 1, next);
  }
}

Dims StepsOf(const Dims& dims) {
  Dims steps(dims.size(), 1);
  for (std::size_t d = dims.size(); d-- > 1;) steps[d - 1] = steps[d] * dims[d];
  return steps;
}

// ## Element by element

template <float (*function)(float x, const Node& node)>
Result Each(const Call& call) {
  auto y = call.Make(call.inputs[0]->dims);
  if (!y.ok()) return y;
  const std::vector<float>& x = call.inputs[0]->values;
  for (std::size_t i = 0; i < x.size(); ++i) {
    y->values[i] = function(x[i], call.node);
  }
  return y;
}

float Relu(float x, const Node&) { return std::max(x, 0.0f); }
float LeakyRelu(float x, const Node& node) {
  return ruy_like::LeakyRelu(x, node.Float("alpha", 0.01f));
}
float HardSigmoid(float x, const Node& node) {
  const float y = node.Float("alpha", 0.2f) * x + node.Float("beta", 0.5f);
  return std::min(std::max(y, 0.0f), 1.0f);
}
float HardSwish(float x, const Node&) { return ruy_like::HardSwish(x); }
float Sigmoid(float x, const Node&) { return ruy_like::Sigmoid(x); }
float Tanh(float x, const Node&) { return std::tanh(x); }
float Sqrt(float x, const Node&) { return std::sqrt(x); }
float Exp(float x, const Node&) { return std::exp(x); }
float Log(float x, const Node&) { return std::log(x); }
float Erf(float x, const Node&) { return std::erf(x); }
float Abs(float x, const Node&) { return std::abs(x); }
float Neg(float x, const Node&) { return -x; }

Result Clip(const Call& call) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  float bounds[] = {call.node.Float("min", -kInfinity),
                    call.node.Float("max", kInfinity)};
  for (std::size_t i = 0; i < 2; ++i) {
    const Tensor* const bound = call.Get(1 + i);
    if (bound == nullptr) continue;
    if (bound->values.size() != 1)
      return call.Error("bounds are single values");
    bounds[i] = bound->values[0];
  }
  auto y = call.Make(call.inputs[0]->dims);
  for (std::size_t i = 0; y.ok() && i < y->values.size(); ++i) {
    y->values[i] =
        std::min(std::max(call.inputs[0]->values[i], bounds[0]), bounds[1]);
  }
  return y;
}

// Sizes of 1 are repeated, missing ones in front are 1.
template <float (*function)(float a, float b)>
Result Pairs(const Call& call) {
  const Tensor& a = *call.inputs[0];
  const Tensor& b = *call.inputs[1];
  const std::size_t rank = std::max(a.dims.size(), b.dims.size());
  Dims wide[2] = {Dims(rank - a.dims.size(), 1), Dims(rank - b.dims.size(), 1)};
  wide[0].insert(wide[0].end(), a.dims.begin(), a.dims.end());
  wide[1].insert(wide[1].end(), b.dims.begin(), b.dims.end());
  Dims dims;
  Offsets offsets[2];
  for (std::size_t d = 0; d < rank; ++d) {
    const std::ptrdiff_t sizes[2] = {wide[0][d], wide[1][d]};
    dims.push_back(sizes[0] == 1 ? sizes[1] : sizes[0]);
    for (std::size_t k = 0; k < 2; ++k) {
      if (sizes[k] != 1 && sizes[k] != dims[d]) {
        return call.Error(absl::StrCat("shapes ", ToString(a.dims), " and ",
                                       ToString(b.dims), " do not agree"));
      }
      const std::ptrdiff_t step = sizes[k] == 1 ? 0 : StepsOf(wide[k])[d];
      offsets[k].push_back(Multiples(dims[d], step));
    }
  }
  auto y = call.Make(dims);
  if (!y.ok()) return y;
  y->is_integer = a.is_integer && b.is_integer;
  float* to = y->values.data();
  ForEachIndex(offsets, [&](const std::array<std::size_t, 2>& at) {
    const float value = function(a.values[at[0]], b.values[at[1]]);
    *to++ = y->is_integer ? std::trunc(value) : value;
  });
  return y;
}

float Plus(float a, float b) { return a + b; }
float Minus(float a, float b) { return a - b; }
float Times(float a, float b) { return a * b; }
float Over(float a, float b) { return a / b; }
float Power(float a, float b) { return b == 2 ? a * a : std::pow(a, b); }
float Larger(float a, float b) { return std::max(a, b); }
float Smaller(float a, float b) { return std::min(a, b); }

// ## Values that only move

Result WithDims(const Call& call, Dims dims) {
  const Tensor& x = *call.inputs[0];
  if (CountOf(dims) != CountOf(x.dims)) {
    return call.Error(absl::StrCat("shape ", ToString(x.dims),
                                   " does not become ", ToString(dims)));
  }
  auto y = call.Make(std::move(dims));
  if (y.ok()) {
    y->values = x.values;
    y->is_integer = x.is_integer;
  }
  return y;
}

Result Identity(const Call& call) {
  return WithDims(call, call.inputs[0]->dims);
}

Result Cast(const Call& call) {
  auto y = Identity(call);
  if (!y.ok()) return y;
  const std::int64_t to = call.node.Int("to", 0);
  if (to != 1 && to != 6 && to != 7) {
    return call.Error(absl::StrCat("data type ", to, " is none of 1, 6, 7"));
  }
  y->is_integer = to != 1;
  for (float& value : y->values) {
    if (y->is_integer) value = std::trunc(value);
  }
  return y;
}

Result Reshape(const Call& call) {
  const Dims& from = call.inputs[0]->dims;
  Dims dims;
  std::ptrdiff_t known = 1, open = -1;
  for (const std::int64_t n : call.Integers("shape", 1)) {
    auto size = static_cast<std::ptrdiff_t>(n);
    if (size == 0 && call.node.Int("allowzero", 0) == 0) {
      if (dims.size() >= from.size()) return call.Error("no size to keep");
      size = from[dims.size()];
    }
    if (size < -1 || size > call.budget->elements || (size < 0 && open >= 0)) {
      return call.Error(absl::StrCat("size ", n));
    }
    if (size < 0) {
      open = static_cast<std::ptrdiff_t>(dims.size());
    } else {
      known *= size;
      if (known > call.budget->elements) return call.Error("large sizes");
    }
    dims.push_back(size);
  }
  if (open >= 0) {
    dims[static_cast<std::size_t>(open)] =
        known == 0 ? 0 : CountOf(from) / known;
  }
  return WithDims(call, std::move(dims));
}

Result Flatten(const Call& call) {
  const Dims& dims = call.inputs[0]->dims;
  std::int64_t axis = call.node.Int("axis", 1);
  const auto rank = static_cast<std::int64_t>(dims.size());
  if (axis < 0) axis += rank;
  if (axis < 0 || axis > rank) return call.Error("no such axis");
  const auto split = static_cast<std::size_t>(axis);
  return WithDims(call,
                  {Product(dims, 0, split), Product(dims, split, dims.size())});
}

Result Squeeze(const Call& call) {
  const Dims& from = call.inputs[0]->dims;
  const std::vector<std::int64_t> axes = call.Integers("axes", 1);
  std::vector<bool> goes(from.size(), false);
  for (std::size_t d = 0; d < from.size(); ++d) {
    goes[d] = axes.empty() && from[d] == 1;
  }
  for (const std::int64_t axis : axes) {
    const std::ptrdiff_t d = AxisOf(axis, from.size());
    if (d < 0 || from[static_cast<std::size_t>(d)] != 1) {
      return call.Error(absl::StrCat("no size of 1 at axis ", axis));
    }
    goes[static_cast<std::size_t>(d)] = true;
  }
  Dims dims;
  for (std::size_t d = 0; d < from.size(); ++d) {
    if (!goes[d]) dims.push_back(from[d]);
  }
  return WithDims(call, std::move(dims));
}

Result Unsqueeze(const Call& call) {
  const Dims& from = call.inputs[0]->dims;
  const std::vector<std::int64_t> axes = call.Integers("axes", 1);
  Dims dims(from.size() + axes.size(), 0);
  for (const std::int64_t axis : axes) {
    const std::ptrdiff_t d = AxisOf(axis, dims.size());
    if (d < 0) return call.Error(absl::StrCat("no axis ", axis));
    dims[static_cast<std::size_t>(d)] = 1;
  }
  std::size_t at = 0;
  for (std::ptrdiff_t& size : dims) {
    if (size == 0 && at < from.size()) size = from[at++];
  }
  return WithDims(call, std::move(dims));
}

// Each output is the input at the sum of its indices' offsets.
Result Pick(const Call& call, const Offsets& offsets) {
  Dims dims;
  for (const Dims& one : offsets) {
    dims.push_back(static_cast<std::ptrdiff_t>(one.size()));
  }
  auto y = call.Make(std::move(dims));
  if (!y.ok()) return y;
  y->is_integer = call.inputs[0]->is_integer;
  float* to = y->values.data();
  ForEachIndex({offsets}, [&](const std::array<std::size_t, 1>& at) {
    *to++ = call.inputs[0]->values[at[0]];
  });
  return y;
}

// All of a tensor, in order.
Offsets AllOf(const Dims& dims) {
  Offsets offsets;
  const Dims steps = StepsOf(dims);
  for (std::size_t d = 0; d < dims.size(); ++d) {
    offsets.push_back(Multiples(dims[d], steps[d]));
  }
  return offsets;
}

Result Transpose(const Call& call) {
  const Dims& from = call.inputs[0]->dims;
  std::vector<std::int64_t> order = call.node.Ints("perm");
  if (order.empty()) {
    for (std::size_t d = from.size(); d-- > 0;) {
      order.push_back(static_cast<std::int64_t>(d));
    }
  }
  Offsets all = AllOf(from), offsets;
  for (const std::int64_t axis : order) {
    const std::ptrdiff_t d = AxisOf(axis, from.size());
    if (d < 0 || order.size() != from.size()) return call.Error("bad perm");
    // An axis that is there twice is empty then, and the shape another.
    offsets.push_back(std::move(all[static_cast<std::size_t>(d)]));
  }
  auto y = Pick(call, offsets);
  if (y.ok() && y->values.size() != call.inputs[0]->values.size()) {
    return call.Error("perm is no permutation");
  }
  return y;
}

Result Slice(const Call& call) {
  Offsets offsets = AllOf(call.inputs[0]->dims);
  const std::vector<std::int64_t> starts = call.Integers("starts", 1),
                                  ends = call.Integers("ends", 2),
                                  steps = call.Integers("steps", 4);
  std::vector<std::int64_t> axes = call.Integers("axes", 3);
  for (std::size_t i = axes.size(); i < starts.size(); ++i) {
    axes.push_back(static_cast<std::int64_t>(i));
  }
  if (ends.size() != starts.size() || axes.size() != starts.size() ||
      (!steps.empty() && steps.size() != starts.size())) {
    return call.Error("starts, ends, axes and steps differ in number");
  }
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::ptrdiff_t axis = AxisOf(axes[i], offsets.size());
    const std::int64_t step = steps.empty() ? 1 : steps[i];
    if (axis < 0 || step < 1) {
      return call.Error(absl::StrCat("axis ", axes[i], ", step ", step));
    }
    Dims& all = offsets[static_cast<std::size_t>(axis)];
    const auto size = static_cast<std::int64_t>(all.size());
    const auto clamp = [size](std::int64_t at) {
      return std::min(std::max<std::int64_t>(at < 0 ? at + size : at, 0), size);
    };
    Dims kept;
    for (std::int64_t at = clamp(starts[i]); at < clamp(ends[i]);
         at += std::min(step, size)) {
      kept.push_back(all[static_cast<std::size_t>(at)]);
    }
    all = std::move(kept);
  }
  return Pick(call, offsets);
}

Result Gather(const Call& call) {
  const Dims& from = call.inputs[0]->dims;
  const Tensor& indices = *call.inputs[1];
  const std::ptrdiff_t axis = AxisOf(call.node.Int("axis", 0), from.size());
  if (axis < 0) return call.Error("no such axis");
  Offsets offsets = AllOf(from);
  Dims& all = offsets[static_cast<std::size_t>(axis)];
  const auto size = static_cast<float>(all.size());
  Dims kept;
  for (const float value : indices.values) {
    const float at = value < 0 ? value + size : value;
    if (!(at >= 0 && at < size)) return call.Error("an index is outside");
    kept.push_back(all[static_cast<std::size_t>(at)]);
  }
  all = std::move(kept);
  auto y = Pick(call, offsets);
  if (!y.ok()) return y;
  const auto place = y->dims.erase(y->dims.begin() + axis);
  y->dims.insert(place, indices.dims.begin(), indices.dims.end());
  return y;
}

// Nearest elements at floor(i / scale), axis by axis.
Result Resize(const Call& call) {
  const bool is_old = call.node.op == "Upsample" || call.opset < 11;
  if (call.node.Text("mode") != "nearest" ||
      (!is_old &&
       (call.node.Text("coordinate_transformation_mode") != "asymmetric" ||
        call.node.Text("nearest_mode") != "floor"))) {
    return call.Error("is known as nearest, asymmetric, floor alone");
  }
  const Dims& dims = call.inputs[0]->dims;
  const Tensor* const scales = call.Get(is_old ? 1 : 2);
  const Tensor* const sizes = is_old ? nullptr : call.Get(3);
  const bool by_scale = scales != nullptr && !scales->values.empty();
  const Tensor* const given = by_scale ? scales : sizes;
  if (given == nullptr || given->values.size() != dims.size()) {
    return call.Error("neither scales nor sizes fit the input");
  }
  Offsets offsets;
  const Dims steps = StepsOf(dims);
  for (std::size_t d = 0; d < dims.size(); ++d) {
    const auto n = static_cast<float>(dims[d]);
    const float value = given->values[d];
    const float size = std::floor(by_scale ? n * value : value);
    const float scale = by_scale ? value : size / n;
    if (!(n >= 1 && size >= 1 &&
          size <= static_cast<float>(call.budget->elements))) {
      return call.Error(absl::StrCat("size ", size));
    }
    offsets.emplace_back();
    for (std::ptrdiff_t i = 0; i < static_cast<std::ptrdiff_t>(size); ++i) {
      const float from = std::floor(static_cast<float>(i) / scale);
      offsets[d].push_back(static_cast<std::ptrdiff_t>(std::min(from, n - 1)) *
                           steps[d]);
    }
  }
  return Pick(call, offsets);
}

Result DepthToSpace(const Call& call) {
  const Dims& from = call.inputs[0]->dims;
  const std::ptrdiff_t n = call.node.Int("blocksize", 0);
  if (from.size() != 4 || n < 1 || n > 64 || from[1] % (n * n) != 0) {
    return call.Error(absl::StrCat("blocks of ", n, " in ", ToString(from)));
  }
  // channels = (channel, row, column) or, for DCR, (row, column, channel).
  const std::ptrdiff_t channels = from[1] / (n * n), plane = from[2] * from[3];
  const bool crd = call.node.Text("mode") == "CRD";
  auto y = Pick(call, {Multiples(from[0], from[1] * plane),
                       Multiples(channels, crd ? n * n * plane : plane),
                       Multiples(from[2], from[3]),
                       Multiples(n, (crd ? n : n * channels) * plane),
                       Multiples(from[3], 1),
                       Multiples(n, (crd ? 1 : channels) * plane)});
  if (y.ok()) y->dims = {from[0], channels, from[2] * n, from[3] * n};
  return y;
}

Result Concat(const Call& call) {
  Dims dims = call.inputs[0]->dims;
  const std::ptrdiff_t axis = AxisOf(call.node.Int("axis", 0), dims.size());
  if (axis < 0) return call.Error("no such axis");
  const auto d = static_cast<std::size_t>(axis);
  dims[d] = 0;
  bool is_integer = true;
  for (const Tensor* const x : call.inputs) {
    Dims expected = dims;
    if (x != nullptr && x->dims.size() == dims.size()) expected[d] = x->dims[d];
    if (x == nullptr || x->dims != expected) {
      return call.Error(absl::StrCat(
          "shape ", x == nullptr ? "" : ToString(x->dims), " among others"));
    }
    dims[d] += x->dims[d];
    is_integer = is_integer && x->is_integer;
  }
  auto y = call.Make(dims);
  if (!y.ok()) return y;
  y->is_integer = is_integer;
  const std::ptrdiff_t inner = Product(dims, d + 1, dims.size());
  float* to = y->values.data();
  for (std::ptrdiff_t o = 0; o < Product(dims, 0, d); ++o) {
    for (const Tensor* const x : call.inputs) {
      const std::ptrdiff_t n = x->dims[d] * inner;
      to = std::copy_n(x->values.data() + o * n, n, to);
    }
  }
  return y;
}

// ## Others

Result Pool(const Call& call) {
  const Tensor& x = *call.inputs[0];
  if (x.dims.size() != 4) return call.Error("is known for 4 dimensions alone");
  const bool is_global = call.node.op == "GlobalAveragePool";
  const bool is_max = call.node.op == "MaxPool";
  const auto window = WindowOf(call.node, x.dims, is_global ? x.dims[2] : 0,
                               is_global ? x.dims[3] : 0);
  if (!window.ok()) return window.status();
  const auto shape = OutputShape(ImageShape(x.dims), *window, x.dims[1]);
  if (!shape.ok()) return call.Error(shape.status().message());
  auto y =
      call.Make({shape->batch, shape->channels, shape->height, shape->width},
                std::int64_t{window->kernel_height} * window->kernel_width);
  if (!y.ok()) return y;
  const bool counts_padding = call.node.Int("count_include_pad", 0) != 0;
  float* to = y->values.data();
  for (std::ptrdiff_t plane = 0; plane < x.dims[0] * x.dims[1]; ++plane) {
    const float* const from = x.values.data() + plane * x.dims[2] * x.dims[3];
    for (std::ptrdiff_t oy = 0; oy < shape->height; ++oy) {
      for (std::ptrdiff_t ox = 0; ox < shape->width; ++ox) {
        float sum = is_max ? -std::numeric_limits<float>::infinity() : 0.0f;
        std::ptrdiff_t count = 0;
        for (std::ptrdiff_t i = 0; i < window->kernel_height; ++i) {
          const std::ptrdiff_t sy = oy * window->stride_height +
                                    i * window->dilation_height -
                                    window->padding.top;
          for (std::ptrdiff_t j = 0; j < window->kernel_width; ++j) {
            const std::ptrdiff_t sx = ox * window->stride_width +
                                      j * window->dilation_width -
                                      window->padding.left;
            if (sy >= 0 && sy < x.dims[2] && sx >= 0 && sx < x.dims[3]) {
              const float value = from[sy * x.dims[3] + sx];
              sum = is_max ? std::max(sum, value) : sum + value;
              ++count;
            } else if (counts_padding &&
                       sy < x.dims[2] + window->padding.bottom &&
                       sx < x.dims[3] + window->padding.right) {
              ++count;
            }
          }
        }
        *to++ = is_max || count == 0 ? sum : sum / static_cast<float>(count);
      }
    }
  }
  return y;
}

// Matrices in the last two dimensions, as many as the first operand has.
Result MatMul(const Call& call) {
  const Tensor& a = *call.inputs[0];
  const Tensor& b = *call.inputs[1];
  const std::size_t rank = a.dims.size();
  if (rank < 2 || (b.dims.size() != 2 && b.dims.size() != rank) ||
      a.dims[rank - 1] != b.dims[b.dims.size() - 2] ||
      !std::equal(b.dims.begin(), b.dims.end() - 2, a.dims.begin())) {
    return call.Error(
        absl::StrCat("shapes ", ToString(a.dims), " and ", ToString(b.dims)));
  }
  const std::ptrdiff_t rows = a.dims[rank - 2], depth = a.dims[rank - 1],
                       cols = b.dims.back();
  Dims dims = a.dims;
  dims.back() = cols;
  auto y = call.Make(std::move(dims), depth);
  if (!y.ok()) return y;
  for (std::ptrdiff_t i = 0; i < Product(a.dims, 0, rank - 2); ++i) {
    const std::ptrdiff_t from = b.dims.size() == 2 ? 0 : i * depth * cols;
    auto dst =
        ruy_like::RowMajor(y->values.data() + i * rows * cols, rows, cols);
    const absl::Status status =
        Mul(ruy_like::RowMajor(a.values.data() + i * rows * depth, rows, depth),
            ruy_like::RowMajor(b.values.data() + from, depth, cols),
            ruy_like::MulParams<float, float>(), call.context, &dst);
    if (!status.ok()) return call.Error(status.message());
  }
  return y;
}

// Before version 13 all axes from the given one on are one.
Result Softmax(const Call& call) {
  const Tensor& x = *call.inputs[0];
  const bool is_old = call.opset < 13;
  const std::ptrdiff_t axis =
      AxisOf(call.node.Int("axis", is_old ? 1 : -1), x.dims.size());
  if (axis < 0) return call.Error("no such axis");
  const auto d = static_cast<std::size_t>(axis);
  const std::ptrdiff_t outer = Product(x.dims, 0, d),
                       size = is_old ? Product(x.dims, d, x.dims.size())
                                     : x.dims[d],
                       inner =
                           is_old ? 1 : Product(x.dims, d + 1, x.dims.size());
  auto y = call.Make(x.dims);
  for (std::ptrdiff_t i = 0; y.ok() && i < outer * inner; ++i) {
    const std::ptrdiff_t first = i / inner * size * inner + i % inner;
    const auto at = [&](std::ptrdiff_t k) {
      return static_cast<std::size_t>(first + k * inner);
    };
    float largest = -std::numeric_limits<float>::infinity(), sum = 0;
    for (std::ptrdiff_t k = 0; k < size; ++k) {
      largest = std::max(largest, x.values[at(k)]);
    }
    for (std::ptrdiff_t k = 0; k < size; ++k) {
      sum += y->values[at(k)] = std::exp(x.values[at(k)] - largest);
    }
    for (std::ptrdiff_t k = 0; k < size; ++k) y->values[at(k)] /= sum;
  }
  return y;
}

Result ReduceMean(const Call& call) {
  const Tensor& x = *call.inputs[0];
  const std::vector<std::int64_t> axes = call.Integers("axes", 1);
  std::vector<bool> goes(x.dims.size(), axes.empty());
  for (const std::int64_t axis : axes) {
    const std::ptrdiff_t d = AxisOf(axis, x.dims.size());
    if (d < 0) return call.Error(absl::StrCat("no axis ", axis));
    goes[static_cast<std::size_t>(d)] = true;
  }
  Dims kept = x.dims, dims;
  for (std::size_t d = 0; d < kept.size(); ++d) {
    if (goes[d]) kept[d] = 1;
    if (!goes[d] || call.node.Int("keepdims", 1) != 0) dims.push_back(kept[d]);
  }
  auto y = call.Make(kept);
  if (!y.ok() || y->values.empty()) return y;
  Offsets offsets;
  for (std::size_t d = 0; d < kept.size(); ++d) {
    offsets.push_back(Multiples(x.dims[d], goes[d] ? 0 : StepsOf(kept)[d]));
  }
  const float* from = x.values.data();
  ForEachIndex({offsets}, [&](const std::array<std::size_t, 1>& at) {
    y->values[at[0]] += *from++;
  });
  const auto count = static_cast<float>(x.values.size() / y->values.size());
  for (float& value : y->values) value /= count;
  y->dims = std::move(dims);
  return y;
}

// clang-format off
constexpr Operator kOperators[] = {
    // name, kind, inputs, element by element, in float
    {"Conv", Kind::kProduct, 2, 3, false, nullptr},
    {"ConvTranspose", Kind::kProduct, 2, 3, false, nullptr},
    {"Gemm", Kind::kProduct, 2, 3, false, nullptr},
    {"MatMul", Kind::kProduct, 2, 2, false, MatMul},
    {"BatchNormalization", Kind::kProduct, 5, 5, false, nullptr},

    {"Relu", Kind::kFunction, 1, 1, true, Each<Relu>},
    {"LeakyRelu", Kind::kFunction, 1, 1, true, Each<LeakyRelu>},
    {"Clip", Kind::kFunction, 1, 3, true, Clip},
    {"HardSwish", Kind::kFunction, 1, 1, true, Each<HardSwish>},
    {"HardSigmoid", Kind::kFunction, 1, 1, true, Each<HardSigmoid>},
    {"Sigmoid", Kind::kFunction, 1, 1, true, Each<Sigmoid>},
    {"Tanh", Kind::kFunction, 1, 1, true, Each<Tanh>},
    {"Sqrt", Kind::kFunction, 1, 1, true, Each<Sqrt>},
    {"Exp", Kind::kFunction, 1, 1, true, Each<Exp>},
    {"Log", Kind::kFunction, 1, 1, true, Each<Log>},
    {"Erf", Kind::kFunction, 1, 1, true, Each<Erf>},
    {"Abs", Kind::kFunction, 1, 1, true, Each<Abs>},
    {"Neg", Kind::kFunction, 1, 1, true, Each<Neg>},

    // These are functions, too, where one operand is a constant.
    {"Add", Kind::kAdd, 2, 2, true, Pairs<Plus>},
    {"Mul", Kind::kMul, 2, 2, true, Pairs<Times>},
    {"Sub", Kind::kFloat, 2, 2, true, Pairs<Minus>},
    {"Div", Kind::kFloat, 2, 2, true, Pairs<Over>},
    {"Pow", Kind::kFloat, 2, 2, true, Pairs<Power>},
    {"Max", Kind::kFloat, 2, 2, true, Pairs<Larger>},
    {"Min", Kind::kFloat, 2, 2, true, Pairs<Smaller>},

    {"Identity", Kind::kMove, 1, 1, false, Identity},
    {"Dropout", Kind::kMove, 1, 3, false, Identity},
    {"Cast", Kind::kMove, 1, 1, false, Cast},
    {"Reshape", Kind::kMove, 1, 2, false, Reshape},
    {"Flatten", Kind::kMove, 1, 1, false, Flatten},
    {"Squeeze", Kind::kMove, 1, 2, false, Squeeze},
    {"Unsqueeze", Kind::kMove, 1, 2, false, Unsqueeze},
    {"Transpose", Kind::kMove, 1, 1, false, Transpose},
    {"Slice", Kind::kMove, 1, 5, false, Slice},
    {"Gather", Kind::kMove, 2, 2, false, Gather},
    {"Resize", Kind::kMove, 1, 4, false, Resize},
    {"Upsample", Kind::kMove, 2, 2, false, Resize},
    {"DepthToSpace", Kind::kMove, 1, 1, false, DepthToSpace},

    {"MaxPool", Kind::kPool, 1, 1, false, Pool},
    {"AveragePool", Kind::kPool, 1, 1, false, Pool},
    {"GlobalAveragePool", Kind::kPool, 1, 1, false, Pool},
    {"Concat", Kind::kConcat, 1, 1024, false, Concat},
    {"Softmax", Kind::kFloat, 1, 1, false, Softmax},
    {"ReduceMean", Kind::kFloat, 1, 2, false, ReduceMean},

    {"Constant", Kind::kFloat, 0, 0, false, nullptr},
    {"Shape", Kind::kFloat, 1, 1, false, nullptr},
};
// clang-format on

}  // namespace

absl::StatusOr<Tensor> Call::Make(Dims dims, std::int64_t work) const {
  // Sizes of 0 count as 1, so that no part of a shape has a product that
  // overflows.
  std::int64_t count = 1;
  bool is_empty = false;
  if (dims.size() > kMaxRank) return Error("more dimensions than are known");
  for (const std::ptrdiff_t dim : dims) {
    if (dim < 0) return Error(absl::StrCat("shape ", ToString(dims)));
    is_empty = is_empty || dim == 0;
    if (dim > 0 && count > budget->elements / dim) {
      return absl::ResourceExhaustedError(absl::StrCat(
          node.op, " '", node.name, "' makes a tensor of more than ",
          budget->elements, " elements"));
    }
    count *= std::max<std::ptrdiff_t>(dim, 1);
  }
  if (is_empty) count = 0;
  if (count > 0 && work > budget->work / count) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "more work than is permitted, at ", node.op, " '", node.name, "'"));
  }
  budget->work -= count * work;
  Tensor tensor;
  tensor.values.resize(static_cast<std::size_t>(count));
  tensor.dims = std::move(dims);
  return tensor;
}

std::vector<std::int64_t> Call::Integers(const std::string& attribute,
                                         std::size_t input) const {
  const Tensor* const tensor = Get(input);
  if (tensor == nullptr) return node.Ints(attribute);
  std::vector<std::int64_t> integers;
  for (const float value : tensor->values) {
    // "To the end" is more than any size; beyond 2^62 there is no integer.
    constexpr float kMost = 4611686018427387904.0f;
    integers.push_back(static_cast<std::int64_t>(
        std::isnan(value) ? 0 : std::min(std::max(value, -kMost), kMost)));
  }
  return integers;
}

absl::Status Call::Error(absl::string_view what) const {
  return absl::InvalidArgumentError(
      absl::StrCat(node.op, " '", node.name, "': ", what));
}

const Operator* FindOperator(const Node& node) {
  if (!node.domain.empty() && node.domain != "ai.onnx") return nullptr;
  for (const Operator& one : kOperators) {
    if (node.op == one.name) return &one;
  }
  return nullptr;
}

std::ptrdiff_t CountOf(const Dims& dims) {
  return Product(dims, 0, dims.size());
}

std::string ToString(const Dims& dims) {
  return absl::StrCat("[", absl::StrJoin(dims, "x"), "]");
}

ruy_like::TensorShape ImageShape(const Dims& dims) {
  return {dims[0], dims[2], dims[3], dims[1], ruy_like::TensorOrder::kNchw};
}

absl::StatusOr<ruy_like::Window> WindowOf(const Node& node, const Dims& dims,
                                          std::ptrdiff_t kernel_height,
                                          std::ptrdiff_t kernel_width) {
  ruy_like::Window window;
  const std::vector<std::int64_t> kernel = node.Ints("kernel_shape"),
                                  strides = node.Ints("strides"),
                                  dilations = node.Ints("dilations"),
                                  pads = node.Ints("pads");
  const bool two = (kernel.empty() || kernel.size() == 2) &&
                   (strides.empty() || strides.size() == 2) &&
                   (dilations.empty() || dilations.size() == 2) &&
                   (pads.empty() || pads.size() == 4);
  if (!two || dims.size() != 4 || (kernel_height == 0 && kernel.empty())) {
    return absl::InvalidArgumentError(absl::StrCat(
        node.op, " '", node.name, "': windows are known of two dimensions"));
  }
  window.kernel_height = kernel_height > 0 ? kernel_height : kernel[0];
  window.kernel_width = kernel_width > 0 ? kernel_width : kernel[1];
  if (!strides.empty()) {
    window.stride_height = strides[0];
    window.stride_width = strides[1];
  }
  if (!dilations.empty()) {
    window.dilation_height = dilations[0];
    window.dilation_width = dilations[1];
  }
  window.round_up = node.Int("ceil_mode", 0) != 0;
  const std::string automatic = node.Text("auto_pad");
  if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
    auto padding = SamePadding(ImageShape(dims), window);
    if (!padding.ok()) return padding.status();
    window.padding = *padding;
    if (automatic == "SAME_LOWER") {
      std::swap(window.padding.top, window.padding.bottom);
      std::swap(window.padding.left, window.padding.right);
    }
  } else if (automatic != "VALID" && !pads.empty()) {
    window.padding.top = pads[0];
    window.padding.left = pads[1];
    window.padding.bottom = pads[2];
    window.padding.right = pads[3];
  }
  return window;
}

}  // namespace onnx
