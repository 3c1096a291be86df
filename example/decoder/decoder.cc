#include "example/decoder/decoder.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "example/decoder/model_file.h"
#include "example/decoder/weight_format.h"
#include "ruy_like/ruy_like.h"

namespace decoder {
namespace {

namespace rl = ruy_like;

// RMSNorm without gains: the matrices that follow hold them.
void Normalize(const std::vector<float>& x, std::vector<float>* normalized) {
  constexpr float kEpsilon = 1e-5f;
  float squares = 0;
  for (const float value : x) squares += value * value;
  const float factor =
      1 / std::sqrt(squares / static_cast<float>(x.size()) + kEpsilon);
  std::transform(x.begin(), x.end(), normalized->begin(),
                 [=](float value) { return value * factor; });
}

void Softmax(float scale, float* row, int count) {
  const float highest = *std::max_element(row, row + count);
  float sum = 0;
  for (int i = 0; i < count; ++i) {
    sum += row[i] = std::exp((row[i] - highest) * scale);
  }
  for (int i = 0; i < count; ++i) row[i] /= sum;
}

Weights Rows(const Weights& weights, int first, int count) {
  const auto row =
      weights.values.begin() + std::ptrdiff_t{1} * first * weights.depth;
  return {count,
          weights.depth,
          {row, row + std::ptrdiff_t{1} * count * weights.depth}};
}

absl::Status MakeLinear(const WeightFormat& format, const Weights& weights,
                        rl::Context* context, std::unique_ptr<Linear>* linear) {
  absl::StatusOr<std::unique_ptr<Linear>> made = format.make(weights, context);
  if (!made.ok()) return made.status();
  *linear = *std::move(made);
  return absl::OkStatus();
}

}  // namespace

Decoder::Decoder(const Model& model, rl::Context* context)
    : model_(model), context_(context) {
  const ModelShape& shape = model.shape;
  const std::size_t dim = shape.dim, tokens = shape.context;
  const int half = shape.head_dim() / 2;
  x_.resize(dim);
  normalized_.resize(dim);
  qkv_.resize(3 * dim);
  scores_.resize(tokens * shape.heads);
  heads_.resize(dim);
  up_.resize(shape.hidden);
  hidden_.resize(shape.hidden);
  result_.resize(shape.vocabulary);
  add_to_x_.residual = rl::ColMajor(x_.data(), shape.dim, 1);
  gate_up_.activation = rl::Activation::kSilu;
  gate_up_.factor = rl::ColMajor(up_.data(), shape.hidden, 1);
  for (std::size_t token = 0; token < tokens; ++token) {
    for (int i = 0; i < half; ++i) {
      const double angle =
          static_cast<double>(token) * std::pow(1e4, -double(i) / half);
      cos_.push_back(static_cast<float>(std::cos(angle)));
      sin_.push_back(static_cast<float>(std::sin(angle)));
    }
  }
}

absl::StatusOr<std::unique_ptr<Decoder>> Decoder::Create(
    const Model& model, const WeightFormat& format, rl::Context* context) {
  auto decoder = absl::WrapUnique(new Decoder(model, context));
  const std::size_t cache =
      std::size_t{1} * model.shape.context * model.shape.dim;
  absl::Status status =
      MakeLinear(format, model.logits, context, &decoder->logits_);
  for (const LayerWeights& weights : model.layers) {
    Layer& layer = decoder->layers_.emplace_back();
    layer.keys.resize(cache);
    layer.values.resize(cache);
    status.Update(MakeLinear(format, weights.qkv, context, &layer.qkv));
    status.Update(MakeLinear(format, weights.out, context, &layer.out));
    const int hidden = model.shape.hidden;
    status.Update(MakeLinear(format, Rows(weights.gate_up, 0, hidden), context,
                             &layer.gate));
    status.Update(MakeLinear(format, Rows(weights.gate_up, hidden, hidden),
                             context, &layer.up));
    status.Update(MakeLinear(format, weights.down, context, &layer.down));
  }
  if (!status.ok()) return status;
  return decoder;
}

absl::StatusOr<absl::Span<const float>> Decoder::Step(int token) {
  const ModelShape& shape = model_.shape;
  if (token < 0 || token >= shape.vocabulary) {
    return absl::InvalidArgumentError(
        absl::StrCat("token ", token, ", not 0 to ", shape.vocabulary - 1));
  }
  if (position_ == shape.context) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the context's ", shape.context, " tokens are taken"));
  }
  const auto row =
      model_.embedding.values.begin() + std::ptrdiff_t{1} * token * shape.dim;
  std::transform(row, row + shape.dim, x_.begin(),
                 [](rl::BFloat16 value) { return static_cast<float>(value); });
  for (Layer& layer : layers_) {
    absl::Status status = Attend(&layer);
    if (status.ok()) status = FeedForward(layer);
    if (!status.ok()) return status;
  }
  Normalize(x_, &normalized_);
  const absl::Status status =
      logits_->Multiply(normalized_.data(), nullptr, context_, result_.data());
  if (!status.ok()) return status;
  ++position_;
  return absl::MakeConstSpan(result_);
}

absl::Status Decoder::Attend(Layer* layer) {
  const int dim = model_.shape.dim, heads = model_.shape.heads;
  const int head_dim = model_.shape.head_dim(), tokens = position_ + 1;
  Normalize(x_, &normalized_);
  absl::Status status =
      layer->qkv->Multiply(normalized_.data(), nullptr, context_, qkv_.data());
  if (!status.ok()) return status;
  float* const q = qkv_.data();
  float* const k = q + dim;
  float* const v = k + dim;
  Rotate(q);
  Rotate(k);
  const std::ptrdiff_t row = std::ptrdiff_t{1} * position_ * dim;
  std::copy_n(k, dim, layer->keys.begin() + row);
  std::copy_n(v, dim, layer->values.begin() + row);

  // All heads at once: q (1 x head_dim) times the cached keys, transposed.
  const rl::MulParams<float, float> params;
  auto scores = rl::RowMajor(scores_.data(), 1, tokens);
  status = MulBatch(
      rl::RowMajor(q, 1, head_dim),
      rl::ColMajor(std::as_const(layer->keys).data(), head_dim, tokens, dim),
      params, {heads, head_dim, head_dim, tokens}, context_, &scores);
  if (!status.ok()) return status;
  const float scale = 1 / std::sqrt(static_cast<float>(head_dim));
  for (int head = 0; head < heads; ++head) {
    Softmax(scale, scores_.data() + std::ptrdiff_t{1} * head * tokens, tokens);
  }
  auto dst = rl::RowMajor(heads_.data(), 1, head_dim);
  status = MulBatch(
      scores,
      rl::RowMajor(std::as_const(layer->values).data(), tokens, head_dim, dim),
      params, {heads, tokens, head_dim, head_dim}, context_, &dst);
  if (!status.ok()) return status;
  return layer->out->Multiply(heads_.data(), &add_to_x_, context_, x_.data());
}

absl::Status Decoder::FeedForward(const Layer& layer) {
  Normalize(x_, &normalized_);
  absl::Status status =
      layer.up->Multiply(normalized_.data(), nullptr, context_, up_.data());
  if (!status.ok()) return status;
  status = layer.gate->Multiply(normalized_.data(), &gate_up_, context_,
                                hidden_.data());
  if (!status.ok()) return status;
  return layer.down->Multiply(hidden_.data(), &add_to_x_, context_, x_.data());
}

void Decoder::Rotate(float* heads) const {
  const int head_dim = model_.shape.head_dim(), half = head_dim / 2;
  const float* const cos = cos_.data() + std::ptrdiff_t{1} * position_ * half;
  const float* const sin = sin_.data() + std::ptrdiff_t{1} * position_ * half;
  for (float* head = heads; head != heads + model_.shape.dim;
       head += head_dim) {
    for (int i = 0; i < half; ++i) {
      const float first = head[i], second = head[i + half];
      head[i] = first * cos[i] - second * sin[i];
      head[i + half] = first * sin[i] + second * cos[i];
    }
  }
}

std::size_t Decoder::weight_bytes_per_token() const {
  std::size_t bytes =
      logits_->weight_bytes() + model_.shape.dim * sizeof(rl::BFloat16);
  for (const Layer& layer : layers_) {
    bytes += layer.qkv->weight_bytes() + layer.out->weight_bytes() +
             layer.gate->weight_bytes() + layer.up->weight_bytes() +
             layer.down->weight_bytes();
  }
  return bytes;
}

}  // namespace decoder
