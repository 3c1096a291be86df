// Public: MulExperts, the experts of a mixture in one call.
//
// Weights of one shape and type, each multiplied by those columns of the
// activations that a router gave it; results are stored in the order of experts
// or summed up for each column of dst.
#ifndef RUY_LIKE_MUL_EXPERTS_H_
#define RUY_LIKE_MUL_EXPERTS_H_

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "ruy_like/context.h"
#include "ruy_like/erased_call.h"
#include "ruy_like/export.h"
#include "ruy_like/matrix.h"
#include "ruy_like/mul.h"
#include "ruy_like/mul_batch.h"

namespace ruy_like {

// Assigns columns to experts. A pair is an expert and a column of
// activations; those of expert 0 come first, then those of expert 1.
struct ExpertRouting {
  // The number of pairs of each expert, which may be 0.
  absl::Span<const std::int32_t> counts;
  // For each pair the column of activations, which any number of pairs may
  // read. Empty: pair i reads column i, and there are as many as pairs.
  absl::Span<const std::int32_t> sources;
  // For each pair the column of dst that its result is added to. Empty: column
  // i of dst is that of pair i, and there are as many as pairs.
  absl::Span<const std::int32_t> targets;
  // For each pair the factor of its result in that sum. Empty: 1.
  absl::Span<const float> factors;
  // From one expert's bias to the next one's, in elements. 0: one for all.
  std::ptrdiff_t bias_stride = 0;
};

namespace internal {

RUY_LIKE_EXPORT absl::Status MulExpertsErased(const void* arguments,
                                              std::ptrdiff_t count,
                                              EraseProductFn* erase,
                                              const ExpertRouting& routing,
                                              Context* context);

}  // namespace internal

// Multiplies activations, depth x n, by experts: a std::vector, an array or an
// absl::Span of PackedGroupWeights, or of PackedMatrix packed as lhs, each rows
// x depth. dst has `rows` rows. (Tokens that are rows of a row-major matrix are
// columns of the same memory, seen as a column-major one.)
//
// With neither targets nor factors, dst gets the results of the pairs side by
// side, each with the bits that Mul gives its column with its expert. Else
//
//   dst[:, t] = beta * dst[:, t] + sum of factor[i] * result[:, i]
//
// over the pairs i whose target is t, in their order: the sum begins with 0,
// each product and each sum is rounded to float, beta * dst is added last, and
// the whole is rounded to dst's type. `result` is what Mul would give as
// floats, without beta. A column without pairs becomes beta * dst, or 0. Bits
// depend neither on threads nor on the other pairs, nor, where those of Mul do
// not, on the path.
//
// Bias and other arrays per channel of mul_params are along rows; scales and
// zero points of activations belong to the columns of the activations. A column
// of floats that group-scaled weights multiply is quantized once, whatever the
// number of experts that read it. Post-ops may have an activation and operands
// per channel.
//
// Threads, Executor and MulOptions are used as in MulGroup. Errors are those of
// Mul for each expert, with dst untouched; the message begins with "expert 3: "
// where one is wrong. Also InvalidArgument for no experts, for spans of another
// length than theirs, counts and strides that are negative, columns out of
// range, channels along columns, matrices and zero points in post-ops,
// activations with sources or a dst of sums that are not column-major, sums of
// a dst that is neither float nor a 16-bit float of float accumulators, and
// factors that share memory with dst.
template <typename Experts, typename Activation, typename Params, typename Dst>
absl::Status MulExperts(const Experts& experts,
                        const Matrix<Activation>& activations,
                        const ExpertRouting& routing, const Params& mul_params,
                        Context* context, Matrix<Dst>* dst,
                        const MulOptions& options = MulOptions()) {
  using Weights =
      std::remove_cv_t<std::remove_reference_t<decltype(*std::data(experts))>>;
  using Call = internal::CallOf<Params>;
  if constexpr (Call::template Check<Weights, Matrix<Activation>, Dst>()) {
    if (context == nullptr) return internal::NullArgument("context");
    if (dst == nullptr) return internal::NullArgument("dst");
    const auto fill = [&, first = std::data(experts)](std::ptrdiff_t expert,
                                                      MulCall* call) {
      Call::Fill(first[expert], activations, mul_params, *dst,
                 options.max_num_threads, call);
    };
    return internal::MulExpertsErased(
        &fill, static_cast<std::ptrdiff_t>(std::size(experts)),
        [](const void* arguments, std::ptrdiff_t expert, MulCall* call) {
          (*static_cast<decltype(&fill)>(arguments))(expert, call);
        },
        routing, context);
  } else {
    return absl::OkStatus();
  }
}

}  // namespace ruy_like

#endif  // RUY_LIKE_MUL_EXPERTS_H_
