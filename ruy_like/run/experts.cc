// Tested in test/mul_experts_test.cc.
#include "ruy_like/run/experts.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include "ruy_like/base/checked_math.h"
#include "ruy_like/base/float_state.h"
#include "ruy_like/kernels/kernel_facts.h"
#include "ruy_like/kernels/post_ops.h"
#include "ruy_like/pack/pack.h"
#include "ruy_like/registry/registry.h"
#include "ruy_like/run/parallel.h"

namespace ruy_like {
namespace {

using std::ptrdiff_t;

// Calls work(column, thread) for all columns.
template <typename Work>
absl::Status ForColumns(ptrdiff_t columns, int threads, const Work& work,
                        ContextImpl* context)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex) {
  const auto share = [&](int thread) {
    const ScopedFloatState float_state(FloatState::kDefault);
    for (ptrdiff_t c = thread; c < columns; c += threads) work(c, thread);
  };
  return RunParallel(threads, share, context);
}

}  // namespace

int ThreadsForColumns(ptrdiff_t columns, std::size_t bytes, int call_limit,
                      const ContextImpl& context) {
  // Waking a thread takes as long as copying some of that.
  constexpr std::size_t kThreadBytes = 1 << 16;
  ptrdiff_t most =
      std::min<ptrdiff_t>(MaxThreads(context, call_limit), columns);
  if (context.num_threads_strategy != NumThreadsStrategy::kForceMaxNumThreads) {
    most = std::min(most, static_cast<ptrdiff_t>(bytes / kThreadBytes));
  }
  return static_cast<int>(std::max<ptrdiff_t>(most, 1));
}

std::size_t PairsOfColumns::BytesFor(ptrdiff_t columns, ptrdiff_t pairs) {
  return (static_cast<std::size_t>(columns) + 1 +
          static_cast<std::size_t>(pairs)) *
         sizeof(std::int32_t);
}

void PairsOfColumns::Make(ptrdiff_t columns, ptrdiff_t pairs,
                          absl::Span<const std::int32_t> column_of,
                          void* memory) {
  columns_ = columns;
  starts_ = static_cast<std::int32_t*>(memory);
  pairs_ = starts_ + columns + 1;
  if (column_of.empty() && pairs == columns) {
    std::iota(starts_, starts_ + columns + 1, 0);
    std::iota(pairs_, pairs_ + pairs, 0);
    return;
  }
  std::fill_n(starts_, columns + 1, 0);
  for (const std::int32_t column : column_of) ++starts_[column];
  // From each column's number of pairs to the end of them, then back to their
  // start while they are put in their places, the last one first.
  for (ptrdiff_t c = 1; c <= columns; ++c) starts_[c] += starts_[c - 1];
  for (std::size_t i = column_of.size(); i-- > 0;) {
    pairs_[--starts_[column_of[i]]] = static_cast<std::int32_t>(i);
  }
}

std::size_t ExpertGather::ScratchBytes() const {
  return SaturatingMul(static_cast<std::size_t>(depth) + kernels::kGroupColGap,
                       kernels::kGroupFloatCols * sizeof(float));
}

ptrdiff_t ExpertGather::PairsOfItsExpert(std::int32_t pair,
                                         float** its_scales) const {
  const auto end = std::upper_bound(starts.begin(), starts.end(), pair);
  *its_scales = GroupScalesFrom(end[-1]) + (pair - end[-1]);
  return end[0] - end[-1];
}

void ExpertGather::Quantize(ptrdiff_t column, std::int32_t pair,
                            char* its_scratch) const {
  kernels::GroupPackArgs groups = {};
  groups.sizes = sizes;
  groups.scales = scales + pair;
  groups.has_group_scales = group_scales != nullptr;
  if (groups.has_group_scales) {
    groups.group_stride = PairsOfItsExpert(pair, &groups.group_scales);
  }
  groups.panel_bytes = copy_bytes;
  groups.scratch = its_scratch;
  kernels::PackArgs args = {};
  args.src = src + BytesOf(scalar, column * stride);
  args.src_scalar = scalar;
  args.depth_contiguous = true;
  args.src_stride = stride;
  args.depth = depth;
  args.width = 1;
  args.dst = copies + pair * copy_bytes;
  args.padded_depth = copy_bytes;
  args.groups = &groups;
  quantize(&args);
}

void ExpertGather::CopyGroupScales(std::int32_t from, std::int32_t to) const {
  float *read, *written;
  const ptrdiff_t read_stride = PairsOfItsExpert(from, &read);
  const ptrdiff_t written_stride = PairsOfItsExpert(to, &written);
  for (ptrdiff_t group = 0; group < sizes.groups; ++group) {
    written[group * written_stride] = read[group * read_stride];
  }
}

absl::Status ExpertGather::Run(ContextImpl* context) const {
  const auto copy = [this](ptrdiff_t column, int thread) {
    const absl::Span<const std::int32_t> pairs = readers[column];
    if (pairs.empty()) return;
    const char* from = src + BytesOf(scalar, column * stride);
    std::size_t bytes = static_cast<std::size_t>(BytesOf(scalar, depth));
    if (quantize != nullptr) {
      Quantize(column, pairs[0],
               scratch + static_cast<std::size_t>(thread) * ScratchBytes());
      from = copies + pairs[0] * copy_bytes;
      bytes = static_cast<std::size_t>(depth);
    }
    for (const std::int32_t pair : pairs) {
      if (quantize != nullptr) {
        if (pair == pairs[0]) continue;
        scales[pair] = scales[pairs[0]];
        if (group_scales != nullptr) CopyGroupScales(pairs[0], pair);
      }
      std::memcpy(copies + pair * copy_bytes, from, bytes);
    }
  };
  return ForColumns(readers.columns(), threads, copy, context);
}

absl::Status ExpertSum::Run(ContextImpl* context) const {
  kernels::PostOpFn* const post_ops =
      RoutinesOf(BestPath(context->permitted_paths)).post_ops;
  const auto sum_column = [&](ptrdiff_t column, int /*thread*/) {
    kernels::EpilogueArgs epilogue = {};
    epilogue.dst_row_stride = 1;
    epilogue.clamp_min_f = -std::numeric_limits<double>::infinity();
    epilogue.clamp_max_f = std::numeric_limits<double>::infinity();
    kernels::PostOpArgs args = {};
    args.cols = 1;
    args.tile_scalar = Scalar::kF32;
    args.epilogue = &epilogue;
    args.terms.activation = Activation::kNone;
    for (ptrdiff_t row = 0; row < rows; row += kPart) {
      args.rows = std::min(kPart, rows - row);
      args.tile_stride = kernels::TileStride(args.rows);
      // Each step makes `tile + beta * dst` of dst: the sum so far of the next
      // result, and in the end of dst itself.
      args.tile = zeros;
      epilogue.dst_scalar = Scalar::kF32;
      args.terms.accumulates = true;
      for (const std::int32_t pair : terms[column]) {
        float* const result = results + pair * stride + row;
        epilogue.dst = result;
        args.terms.beta = factors == nullptr ? 1 : double{factors[pair]};
        post_ops(&args);
        args.tile = result;
      }
      epilogue.dst = dst + BytesOf(dst_scalar, column * dst_stride + row);
      epilogue.dst_scalar = dst_scalar;
      args.terms.beta = beta;
      args.terms.accumulates = beta != 0;
      post_ops(&args);
    }
  };
  return ForColumns(terms.columns(), threads, sum_column, context);
}

}  // namespace ruy_like
