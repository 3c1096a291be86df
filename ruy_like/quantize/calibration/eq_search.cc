#include "ruy_like/quantize/eq_search.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "ruy_like/base/checked_math.h"
#include "ruy_like/base/no_memory.h"
#include "ruy_like/mul.h"
#include "ruy_like/packed_matrix.h"
#include "ruy_like/quantize/checks/checks.h"
#include "ruy_like/quantize/loops/blocks.h"
#include "ruy_like/quantize/loops/calibration_kernels.h"
#include "ruy_like/quantize/loops/dispatch.h"
#include "ruy_like/quantize/quantize_dequantize.h"
#include "ruy_like/quantize/workspace.h"

namespace ruy_like {
namespace {

namespace qi = quantize_internal;

constexpr double kLeastImprovement = 1e-12;
constexpr double kLeastGainOfRound = 1e-7;
// Accumulators are looked at while they are in L2.
constexpr std::ptrdiff_t kBlockBytes = 256 * 1024;
// So many are not cut in two: weights that are multiplied once cost less.
constexpr std::ptrdiff_t kOneBlockBytes = 512 * 1024;
constexpr std::ptrdiff_t kMinBlockCols = 64;

// A quantized operand of Mul, with its value range.
Matrix<std::int8_t> Operand(std::int8_t* data, const Layout& like, int bits) {
  Matrix<std::int8_t> operand = like.order() == Order::kColMajor
                                    ? ColMajor(data, like.rows(), like.cols())
                                    : RowMajor(data, like.rows(), like.cols());
  operand.set_value_range(bits <= 7 ? ValueRange::kInt7 : ValueRange::kFull);
  return operand;
}

double Cosine(double dot, double square_a, double square_b) {
  if (square_a == 0 && square_b == 0) return 1;
  if (square_a == 0 || square_b == 0) return 0;
  return dot / (std::sqrt(square_a) * std::sqrt(square_b));
}

bool IsUsable(double scale) {
  return scale >= std::numeric_limits<float>::min() &&
         scale <= std::numeric_limits<float>::max();
}

absl::Status CheckOptions(const EqOptions& options) {
  if (!(options.alpha > 0) || !(options.beta >= options.alpha) ||
      !std::isfinite(options.beta) || options.steps < 1 ||
      options.max_rounds < 0 || options.bits < 2 || options.bits > 8) {
    return Invalid("alpha ", options.alpha, ", beta ", options.beta, ", steps ",
                   options.steps, ", max_rounds ", options.max_rounds,
                   ", bits ", options.bits,
                   ": must have 0 < alpha <= beta, steps >= 1, "
                   "max_rounds >= 0, bits in [2, 8]");
  }
  if (options.activation_scale != 0 && !IsUsable(options.activation_scale)) {
    return Invalid("activation_scale is ", options.activation_scale,
                   ", must be 0 or positive, finite and normal");
  }
  return absl::OkStatus();
}

absl::StatusOr<QuantParams> StartOf(const Observer& observer, const char* name,
                                    const EqOptions& options) {
  if (observer.nonfinite_count() > 0) {
    return Invalid(name, " have values that are not finite");
  }
  CalibrationOptions calibration;
  calibration.method = options.start;
  calibration.bits = options.bits;
  return observer.ChooseParams(calibration);
}

// Sums over all outputs of each row; y is float, q are accumulators.
struct RowSums {
  std::vector<double> dot, square;
};

class EqSearcher final {
 public:
  EqSearcher(const Matrix<float>& weights,
             absl::Span<const Matrix<float>> activations,
             const EqOptions& options, Context* context,
             absl::Span<const float> bias)
      : weights_(weights),
        activations_(activations),
        options_(options),
        context_(context),
        bias_(bias),
        rows_(weights.layout().rows()),
        depth_(weights.layout().cols()),
        kernels_(qi::CalibrationKernelsFor(qi::TargetsFor(context))) {}

  absl::StatusOr<EqResult> Run() {
    RUY_LIKE_RETURN_IF_ERROR(Check());
    RUY_LIKE_RETURN_IF_ERROR(ChooseStart());
    RUY_LIKE_RETURN_IF_ERROR(ComputeFloatProducts());
    RUY_LIKE_RETURN_IF_ERROR(AllocateOperands());
    EqResult result;
    RUY_LIKE_ASSIGN_OR_RETURN(result.cos_init, StartCosine());
    result.weights = start_weights_;
    result.activations = start_activations_;
    result.cos_final = result.cos_init;
    // A round's scales may be worse than the best so far: rows that improve can
    // make the whole layer worse until the activations follow.
    EqResult current = result;
    double cosine = result.cos_init;
    while (result.rounds < options_.max_rounds && !TimeIsUp()) {
      ++result.rounds;
      const double before = cosine;
      RUY_LIKE_RETURN_IF_ERROR(ImproveWeights(&current, &cosine));
      if (!HoldsActivations()) {
        RUY_LIKE_RETURN_IF_ERROR(ImproveActivations(&current, &cosine));
      }
      if (cosine > result.cos_final + kLeastImprovement) {
        result.cos_final = cosine;
        result.weights = current.weights;
        result.activations = current.activations;
      }
      if (cosine - before < kLeastGainOfRound) break;
    }
    result.products = products_;
    result.timed_out = timed_out_;
    return result;
  }

 private:
  bool HoldsActivations() const { return options_.activation_scale != 0; }

  bool TimeIsUp() {
    timed_out_ =
        timed_out_ || std::chrono::steady_clock::now() >= options_.deadline;
    return timed_out_;
  }

  // ## Once

  absl::Status Check() const {
    RUY_LIKE_RETURN_IF_ERROR(CheckOptions(options_));
    if (rows_ < 1 || depth_ < 1 || activations_.empty()) {
      return Invalid("weights are ", rows_, "x", depth_, ", with ",
                     activations_.size(), " activations");
    }
    const std::int64_t qmax = (std::int64_t{1} << (options_.bits - 1)) - 1;
    if (depth_ > std::numeric_limits<std::int32_t>::max() / (qmax * qmax)) {
      return Invalid("sums of ", depth_, " products of ", options_.bits,
                     "-bit values may overflow int32");
    }
    if (!bias_.empty()) {
      RUY_LIKE_RETURN_IF_ERROR(
          qi::CheckBiasCount(bias_.size(), "weights", rows_));
    }
    RUY_LIKE_RETURN_IF_ERROR(qi::CheckData({"bias", bias_}));
    RUY_LIKE_RETURN_IF_ERROR(qi::CheckFinite("a bias", bias_));
    RUY_LIKE_RETURN_IF_ERROR(qi::CheckData({"activations", activations_}));
    bool all_empty = true;
    for (const Matrix<float>& a : activations_) {
      all_empty &= a.layout().cols() == 0;
      if (a.layout().rows() != depth_ || a.layout().cols() < 0) {
        return Invalid("activations are ", a.layout().rows(), "x",
                       a.layout().cols(), " for weights of depth ", depth_);
      }
    }
    const auto references = options_.references;
    RUY_LIKE_RETURN_IF_ERROR(qi::CheckData({"references", references}));
    bool fit = references.empty() || references.size() == activations_.size();
    for (std::size_t i = 0; fit && i < references.size(); ++i) {
      const Layout &a = activations_[i].layout(), &b = references[i].layout();
      fit = a.rows() == b.rows() && a.cols() == b.cols();
    }
    if (!fit) return Invalid("references have other shapes than activations");
    if (all_empty) return Invalid("all activations are empty");
    return absl::OkStatus();
  }

  absl::Status ChooseStart() {
    RUY_LIKE_RETURN_IF_ERROR(qi::CheckOperand("weights", weights_));
    for (std::ptrdiff_t row = 0; row < rows_; ++row) {
      Observer observer;
      RUY_LIKE_RETURN_IF_ERROR(
          observer.Observe(qi::PartOf(weights_, row, 1, 0, depth_)));
      RUY_LIKE_ASSIGN_OR_RETURN(const auto params,
                                StartOf(observer, "weights", options_));
      start_weights_.push_back(params);
    }
    Observer observer;
    for (const Matrix<float>& a : activations_) {
      RUY_LIKE_RETURN_IF_ERROR(observer.Observe(a, context_));
    }
    RUY_LIKE_ASSIGN_OR_RETURN(start_activations_,
                              StartOf(observer, "activations", options_));
    if (HoldsActivations()) {
      start_activations_.scale = options_.activation_scale;
    }
    EnlargeStart();
    return absl::OkStatus();
  }

  // Rows of hardly anything but a bias, those of dead filters, begin with a
  // scale in which the bias fits, as MakeConv2D gives them; with all candidates
  // of the activations, so that these do not depend on such rows.
  void EnlargeStart() {
    const double least_scale =
        start_activations_.scale / std::max(1.0f, options_.beta);
    for (std::size_t row = 0; row < bias_.size(); ++row) {
      float& scale = start_weights_[row].scale;
      const double needed = std::abs(static_cast<double>(bias_[row])) /
                            (least_scale * BiasRoom(start_activations_));
      if (needed <= scale || needed >= std::numeric_limits<float>::max()) {
        continue;
      }
      scale = std::nextafter(static_cast<float>(needed),
                             std::numeric_limits<float>::infinity());
    }
  }

  absl::Status ComputeFloatProducts() {
    y_square_.assign(static_cast<std::size_t>(rows_), 0);
    MulParams<float, float> params;
    if (!bias_.empty()) params.set_bias(bias_.data());
    for (const Matrix<float>& a :
         options_.references.empty() ? activations_ : options_.references) {
      const std::ptrdiff_t cols = a.layout().cols();
      std::ptrdiff_t elements;
      if (!CheckedMul(rows_, cols, &elements)) {
        return absl::ResourceExhaustedError("the outputs are too many");
      }
      y_.emplace_back(static_cast<std::size_t>(elements));
      Matrix<float> y = ColMajor(y_.back().data(), rows_, cols);
      RUY_LIKE_RETURN_IF_ERROR(Mul(weights_, a, params, context_, &y));
      for (std::ptrdiff_t col = 0; col < cols; ++col) {
        for (std::ptrdiff_t row = 0; row < rows_; ++row) {
          const double value = Element(y, row, col);
          y_square_[static_cast<std::size_t>(row)] += value * value;
        }
      }
    }
    y_square_all_ = 0;
    for (const double square : y_square_) y_square_all_ += square;
    if (!std::isfinite(y_square_all_)) {
      return Invalid("the float outputs are not finite");
    }
    return absl::OkStatus();
  }

  absl::Status AllocateOperands() {
    quantized_weights_.resize(static_cast<std::size_t>(rows_ * depth_));
    std::ptrdiff_t most_cols = 0;
    for (const Matrix<float>& a : activations_) {
      quantized_activations_.emplace_back(
          static_cast<std::size_t>(depth_ * a.layout().cols()));
      most_cols = std::max(most_cols, a.layout().cols());
    }
    const std::ptrdiff_t column_bytes =
        static_cast<std::ptrdiff_t>(sizeof(std::int32_t)) * rows_;
    block_cols_ = std::max(kMinBlockCols, kBlockBytes / column_bytes);
    if (most_cols <= kOneBlockBytes / column_bytes) block_cols_ = most_cols;
    accumulators_.resize(static_cast<std::size_t>(rows_ * block_cols_));
    if (!bias_.empty()) {
      quantized_bias_.resize(static_cast<std::size_t>(rows_));
    }
    bias_fits_.assign(static_cast<std::size_t>(rows_), 1);
    sums_.dot.resize(static_cast<std::size_t>(rows_));
    sums_.square.resize(static_cast<std::size_t>(rows_));
    RUY_LIKE_ASSIGN_OR_RETURN(packed_bytes_,
                              PackedMatrixBytes(QuantizedWeights(), Side::kLhs,
                                                PackingOptions(), context_));
    if (packed_memory_.Reserve(packed_bytes_) == nullptr) {
      return absl::ResourceExhaustedError("no memory for packed weights");
    }
    return absl::OkStatus();
  }

  // ## For each candidate

  Matrix<std::int8_t> QuantizedWeights() {
    return Operand(quantized_weights_.data(), weights_.layout(), options_.bits);
  }
  Matrix<std::int8_t> QuantizedActivations(std::size_t i) {
    return Operand(quantized_activations_[i].data(), activations_[i].layout(),
                   options_.bits);
  }
  PackOptions PackingOptions() const {
    PackOptions options;
    if (options_.bits <= 7) options.pack_for = PackFor::kInt7Operand;
    return options;
  }

  absl::Status SetWeights(absl::Span<const QuantParams> params) {
    Matrix<std::int8_t> q = QuantizedWeights();
    RUY_LIKE_RETURN_IF_ERROR(QuantizeRows(weights_, params, &q, context_));
    if (WeightsAreUsedOnce()) return absl::OkStatus();
    RUY_LIKE_ASSIGN_OR_RETURN(
        packed_weights_,
        PackInto(packed_memory_.Reserve(packed_bytes_), packed_bytes_, q,
                 Side::kLhs, PackingOptions(), context_));
    return absl::OkStatus();
  }

  // While the weights' candidates change: Mul then packs them itself, piece by
  // piece, next to the product.
  bool WeightsAreUsedOnce() const { return packed_activations_.size() == 1; }

  // Once for all candidates of the weights, in the blocks that are multiplied.
  absl::Status PackActivations() {
    packed_activations_.clear();
    for (std::size_t i = 0; i < activations_.size(); ++i) {
      const Matrix<std::int8_t> rhs = QuantizedActivations(i);
      const std::ptrdiff_t cols = rhs.layout().cols();
      for (std::ptrdiff_t first = 0; first < cols; first += block_cols_) {
        RUY_LIKE_ASSIGN_OR_RETURN(
            auto packed, Pack(qi::PartOf(rhs, 0, depth_, first,
                                         std::min(block_cols_, cols - first)),
                              Side::kRhs, PackingOptions(), context_));
        packed_activations_.push_back(std::move(packed));
      }
    }
    return absl::OkStatus();
  }

  absl::Status SetActivations(const QuantParams& params) {
    for (std::size_t i = 0; i < activations_.size(); ++i) {
      Matrix<std::int8_t> q = QuantizedActivations(i);
      RUY_LIKE_RETURN_IF_ERROR(Quantize(activations_[i], params, &q, context_));
    }
    return absl::OkStatus();
  }

  // The largest bias that leaves int32 room for a sum of products.
  double BiasRoom(const QuantParams& activations) const {
    return std::numeric_limits<std::int32_t>::max() -
           static_cast<double>(depth_) * activations.qmax *
               start_weights_[0].qmax;
  }

  // Bias of a row; bias_fits_ says if it leaves room for the sum of products.
  void SetBias(absl::Span<const QuantParams> weights,
               const QuantParams& activations) {
    const double room = BiasRoom(activations);
    for (std::size_t row = 0; row < bias_.size(); ++row) {
      const double value =
          std::round(bias_[row] / (static_cast<double>(weights[row].scale) *
                                   activations.scale));
      bias_fits_[row] = std::abs(value) <= room;
      quantized_bias_[row] =
          bias_fits_[row] ? static_cast<std::int32_t>(value) : 0;
    }
  }

  // For the weights, activations and bias that are set.
  absl::Status ComputeSums() {
    std::fill(sums_.dot.begin(), sums_.dot.end(), 0);
    std::fill(sums_.square.begin(), sums_.square.end(), 0);
    std::size_t block = 0;
    for (std::size_t i = 0; i < activations_.size(); ++i) {
      const std::ptrdiff_t cols = activations_[i].layout().cols();
      for (std::ptrdiff_t first = 0; first < cols; first += block_cols_) {
        const std::ptrdiff_t count = std::min(block_cols_, cols - first);
        RUY_LIKE_RETURN_IF_ERROR(MultiplyBlock(i, first, count, block++));
        RUY_LIKE_RETURN_IF_ERROR(AddSums(y_[i].data() + first * rows_, count));
      }
      ++products_;
    }
    return absl::OkStatus();
  }

  // Columns [first, first + count) of activations i, the block-th block of all.
  absl::Status MultiplyBlock(std::size_t i, std::ptrdiff_t first,
                             std::ptrdiff_t count, std::size_t block) {
    MulParams<std::int32_t, std::int32_t> params;
    if (!bias_.empty()) params.set_bias(quantized_bias_.data());
    Matrix<std::int32_t> acc = ColMajor(accumulators_.data(), rows_, count);
    if (packed_activations_.empty()) {
      return Mul(packed_weights_,
                 qi::PartOf(QuantizedActivations(i), 0, depth_, first, count),
                 params, context_, &acc);
    }
    const PackedMatrix<std::int8_t>& rhs = packed_activations_[block];
    return WeightsAreUsedOnce()
               ? Mul(QuantizedWeights(), rhs, params, context_, &acc)
               : Mul(packed_weights_, rhs, params, context_, &acc);
  }

  absl::Status AddSums(const float* y, std::ptrdiff_t cols) {
    // Some cache lines of rows at a time, so that threads do not share them.
    constexpr std::ptrdiff_t kGrain = 32;
    constexpr std::ptrdiff_t kMaxBytes = 64 * 1024;
    return qi::ForEachRange(
        rows_, kGrain, std::min(8 * cols, kMaxBytes), context_,
        [&](std::ptrdiff_t first, std::ptrdiff_t last) {
          kernels_.row_sums(y, accumulators_.data(), rows_, cols, first, last,
                            sums_.dot.data(), sums_.square.data());
        });
  }

  double RowCosine(std::size_t row) const {
    if (!bias_fits_[row]) return -2;
    return Cosine(sums_.dot[row], y_square_[row], sums_.square[row]);
  }

  // The activations' scale does not matter to it.
  double LayerCosineOfSums(absl::Span<const QuantParams> weights) const {
    double dot = 0, square = 0;
    for (std::size_t row = 0; row < weights.size(); ++row) {
      if (!bias_fits_[row]) return -2;
      const double scale = weights[row].scale;
      dot += scale * sums_.dot[row];
      square += scale * scale * sums_.square[row];
    }
    return Cosine(dot, y_square_all_, square);
  }

  absl::StatusOr<double> StartCosine() {
    RUY_LIKE_RETURN_IF_ERROR(SetWeights(start_weights_));
    RUY_LIKE_RETURN_IF_ERROR(SetActivations(start_activations_));
    SetBias(start_weights_, start_activations_);
    if (std::find(bias_fits_.begin(), bias_fits_.end(), 0) !=
        bias_fits_.end()) {
      return Invalid(
          "a bias is too large for int32 in the scale of the outputs");
    }
    RUY_LIKE_RETURN_IF_ERROR(ComputeSums());
    return LayerCosineOfSums(start_weights_);
  }

  // ## Rounds

  // False where no float holds the candidate's scale.
  bool Candidate(const QuantParams& start, int k,
                 QuantParams* candidate) const {
    const double z =
        options_.alpha + (static_cast<double>(options_.beta) - options_.alpha) *
                             k / options_.steps;
    const double scale = start.scale / z;
    if (!IsUsable(scale)) return false;
    *candidate = start;
    candidate->scale = static_cast<float>(scale);
    return true;
  }

  // One product serves a candidate of every row.
  absl::Status ImproveWeights(EqResult* result, double* cosine_of_layer) {
    RUY_LIKE_RETURN_IF_ERROR(SetActivations(result->activations));
    RUY_LIKE_RETURN_IF_ERROR(PackActivations());
    const auto evaluate = [&](absl::Span<const QuantParams> weights) {
      RUY_LIKE_RETURN_IF_ERROR(SetWeights(weights));
      SetBias(weights, result->activations);
      return ComputeSums();
    };
    RUY_LIKE_RETURN_IF_ERROR(evaluate(result->weights));
    std::vector<QuantParams> chosen = result->weights;
    std::vector<double> cosine(chosen.size());
    for (std::size_t row = 0; row < chosen.size(); ++row) {
      cosine[row] = RowCosine(row);
    }
    std::vector<QuantParams> candidates = chosen;
    for (int k = 0; k <= options_.steps && !TimeIsUp(); ++k) {
      for (std::size_t row = 0; row < chosen.size(); ++row) {
        if (!Candidate(start_weights_[row], k, &candidates[row])) {
          candidates[row] = result->weights[row];
        }
      }
      RUY_LIKE_RETURN_IF_ERROR(evaluate(candidates));
      for (std::size_t row = 0; row < chosen.size(); ++row) {
        const double candidate = RowCosine(row);
        if (candidate > cosine[row] + kLeastImprovement) {
          cosine[row] = candidate;
          chosen[row] = candidates[row];
        }
      }
    }
    RUY_LIKE_RETURN_IF_ERROR(evaluate(chosen));
    *cosine_of_layer = LayerCosineOfSums(chosen);
    result->weights = std::move(chosen);
    return absl::OkStatus();
  }

  absl::Status ImproveActivations(EqResult* result, double* best) {
    packed_activations_.clear();  // which change now
    RUY_LIKE_RETURN_IF_ERROR(SetWeights(result->weights));
    for (int k = 0; k <= options_.steps && !TimeIsUp(); ++k) {
      QuantParams candidate;
      if (!Candidate(start_activations_, k, &candidate)) continue;
      RUY_LIKE_RETURN_IF_ERROR(SetActivations(candidate));
      SetBias(result->weights, candidate);
      RUY_LIKE_RETURN_IF_ERROR(ComputeSums());
      const double layer = LayerCosineOfSums(result->weights);
      if (layer > *best + kLeastImprovement) {
        *best = layer;
        result->activations = candidate;
      }
    }
    return absl::OkStatus();
  }

  const Matrix<float>& weights_;
  const absl::Span<const Matrix<float>> activations_;
  const EqOptions& options_;
  Context* const context_;
  const absl::Span<const float> bias_;
  const std::ptrdiff_t rows_, depth_;
  const qi::CalibrationKernels& kernels_;

  std::vector<QuantParams> start_weights_;
  QuantParams start_activations_;
  // Float outputs of each of the activations, column-major, and the sums of
  // their squares.
  std::vector<std::vector<float>> y_;
  std::vector<double> y_square_;
  double y_square_all_ = 0;

  std::vector<std::int8_t> quantized_weights_;
  std::vector<std::vector<std::int8_t>> quantized_activations_;
  std::vector<std::int32_t> quantized_bias_;
  std::vector<char> bias_fits_;
  std::size_t packed_bytes_ = 0;
  Workspace packed_memory_;
  PackedMatrix<std::int8_t> packed_weights_;
  // Filled while the weights' candidates change.
  std::vector<PackedMatrix<std::int8_t>> packed_activations_;
  std::ptrdiff_t block_cols_ = 0;
  std::vector<std::int32_t> accumulators_;
  RowSums sums_;
  std::ptrdiff_t products_ = 0;
  bool timed_out_ = false;
};

}  // namespace

absl::StatusOr<EqResult> EqSearch(const Matrix<float>& weights,
                                  absl::Span<const Matrix<float>> activations,
                                  const EqOptions& options, Context* context,
                                  absl::Span<const float> bias) {
  return CatchNoMemory([&]() -> absl::StatusOr<EqResult> {
    RUY_LIKE_RETURN_IF_ERROR(qi::CheckNotNull("context", context));
    return EqSearcher(weights, activations, options, context, bias).Run();
  });
}

}  // namespace ruy_like
