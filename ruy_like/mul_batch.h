// Public: MulBatch and MulGroup, many products in one call.
//
// For products of activations: attention heads, mixtures of experts. All
// products of a call are validated once, share scratch memory and run in one
// parallel region: threads take whole products, or blocks of large ones.
// Results have the bits of one Mul for each product.
#ifndef RUY_LIKE_MUL_BATCH_H_
#define RUY_LIKE_MUL_BATCH_H_

#include <cstddef>
#include <iterator>
#include <type_traits>

#include "absl/status/status.h"
#include "ruy_like/context.h"
#include "ruy_like/erased_call.h"
#include "ruy_like/export.h"
#include "ruy_like/matrix.h"
#include "ruy_like/mul.h"
#include "ruy_like/mul_params.h"
#include "ruy_like/packed_matrix.h"

namespace ruy_like {

// Products of one shape. Product i, from 0 to count - 1, has the matrices that
// begin i strides after those of product 0; with a second set of strides,
// product i, from 0 to count * outer_count - 1, those that begin i % count
// strides and i / count outer strides after. Strides are in elements and not
// negative.
struct Batch {
  std::ptrdiff_t count = 1;
  // 0: all products have the same operand; so for a PackedMatrix.
  std::ptrdiff_t lhs_stride = 0;
  std::ptrdiff_t rhs_stride = 0;
  // Must keep the products' elements apart. They may lie one matrix after the
  // other or, as the heads of a token do, side by side in the rows of a larger
  // one.
  std::ptrdiff_t dst_stride = 0;
  // For MulParams' bias, where there is one; 0: one bias for all. The other
  // arrays of MulParams serve all products.
  std::ptrdiff_t bias_stride = 0;

  // The second set: `count` heads of each of outer_count sequences, say.
  std::ptrdiff_t outer_count = 1;
  std::ptrdiff_t lhs_outer_stride = 0;
  std::ptrdiff_t rhs_outer_stride = 0;
  std::ptrdiff_t dst_outer_stride = 0;
  std::ptrdiff_t bias_outer_stride = 0;

  // For the factor and the residual of PostOps.
  std::ptrdiff_t factor_stride = 0;
  std::ptrdiff_t residual_stride = 0;
  std::ptrdiff_t factor_outer_stride = 0;
  std::ptrdiff_t residual_outer_stride = 0;
};

namespace internal {

// The parameters of products of these operands.
template <typename LhsMatrix, typename RhsMatrix, typename Accum, typename Dst>
struct ItemParams {
  using Type = MulParams<Accum, Dst>;
};

}  // namespace internal

// One product of a MulGroup. What it points to must stay valid during the call.
// LhsMatrix and RhsMatrix are a Matrix or a PackedMatrix, or one of them
// PackedGroupWeights; mul_params are then GroupMulParams.
template <typename LhsMatrix, typename RhsMatrix, typename Accum, typename Dst>
struct BatchItem {
  LhsMatrix lhs;
  RhsMatrix rhs;
  typename internal::ItemParams<LhsMatrix, RhsMatrix, Accum, Dst>::Type
      mul_params;
  Matrix<Dst> dst;
};
// Its earlier name, until the next release.
template <typename LhsMatrix, typename RhsMatrix, typename Accum, typename Dst>
using GroupProduct = BatchItem<LhsMatrix, RhsMatrix, Accum, Dst>;

namespace internal {

// Fills in *call for product `index` of the caller's array.
using EraseProductFn = void(const void* products, std::ptrdiff_t index,
                            MulCall* call);

// `call` is product 0.
RUY_LIKE_EXPORT absl::Status MulBatchErased(const MulCall& call,
                                            const Batch& batch,
                                            Context* context);
RUY_LIKE_EXPORT absl::Status MulGroupErased(const void* products,
                                            std::ptrdiff_t count,
                                            EraseProductFn* erase,
                                            int max_num_threads,
                                            Context* context);

template <typename Product>
struct ItemCall;
template <typename Lhs, typename Rhs, typename Accum, typename Dst>
struct ItemCall<BatchItem<Lhs, Rhs, Accum, Dst>> {
  using Call = CallOf<typename ItemParams<Lhs, Rhs, Accum, Dst>::Type>;
  static constexpr bool Check() {
    return Call::template Check<Lhs, Rhs, Dst>();
  }
  static void Fill(const BatchItem<Lhs, Rhs, Accum, Dst>& item, MulCall* call) {
    Call::Fill(item.lhs, item.rhs, item.mul_params, item.dst,
               /*max_num_threads=*/0, call);
  }
};

}  // namespace internal

// Computes the products of a batch; lhs, rhs and dst are those of the first
// one. Either operand may be a Matrix or a PackedMatrix, or one of them
// PackedGroupWeights, with GroupMulParams. Each result has the bits
// that Mul would give (with FloatSums::kAnyOrder: Mul without caching); the
// Context's last_used functions report the batch. Cache policies are ignored:
// an operand that all products share is packed once by each thread that needs
// it; pack weights ahead (Pack).
//
// Errors are those of Mul, with nothing written; the message begins with the
// product that is wrong, "product 3: ". Also InvalidArgument for a negative
// count or stride, strides of packed operands, for products whose dst share
// elements with each other, and for a dst that shares elements with any
// product's operands, bias, multipliers or scales; OutOfRange where count *
// stride overflows. A count of 0 is OK and a no-op. The overlap check takes
// constant time where the memory of all dst, seen as one range, is apart from
// that of each operand; else it compares all pairs of products.
//
// Threads, Executor and MulOptions are used as in Mul. Products that are too
// short to be split among threads are run whole, several at a time if they are
// tiny.
template <typename LhsMatrix, typename RhsMatrix, typename Params, typename Dst>
absl::Status MulBatch(const LhsMatrix& lhs, const RhsMatrix& rhs,
                      const Params& mul_params, const Batch& batch,
                      Context* context, Matrix<Dst>* dst,
                      const MulOptions& options = MulOptions()) {
  return internal::WithCall(lhs, rhs, mul_params, options.max_num_threads,
                            context, dst, [&](const auto& erase) {
                              MulCall call;
                              erase(&call);
                              return internal::MulBatchErased(call, batch,
                                                              context);
                            });
}

// Multiplies products of any shapes and of one set of types. `products` is a
// std::vector, an array or an absl::Span of BatchItem; its dst are written
// to. Bits, cache policies, errors and threads are those of MulBatch; the
// overlap check sorts the dst by address, and compares all pairs of products
// only where the ranges of two dst meet. An empty group is OK.
template <typename Products>
absl::Status MulGroup(const Products& products, Context* context,
                      const MulOptions& options = MulOptions()) {
  using Product =
      std::remove_cv_t<std::remove_reference_t<decltype(*std::data(products))>>;
  if constexpr (internal::ItemCall<Product>::Check()) {
    if (context == nullptr) return internal::NullArgument("context");
    const Product* const first = std::data(products);
    return internal::MulGroupErased(
        first, static_cast<std::ptrdiff_t>(std::size(products)),
        [](const void* all, std::ptrdiff_t index, MulCall* call) {
          internal::ItemCall<Product>::Fill(
              static_cast<const Product*>(all)[index], call);
        },
        options.max_num_threads, context);
  } else {
    return absl::OkStatus();
  }
}

}  // namespace ruy_like

#endif  // RUY_LIKE_MUL_BATCH_H_
