// Public: Mul. Its templates store a call without its element types
// (erased_call.h); the layers below are not templated on them.
#ifndef RUY_LIKE_MUL_H_
#define RUY_LIKE_MUL_H_

#include <type_traits>

#include "absl/status/status.h"
#include "ruy_like/context.h"
#include "ruy_like/erased_call.h"
#include "ruy_like/export.h"
#include "ruy_like/matrix.h"
#include "ruy_like/mul_params.h"

namespace ruy_like {

// Options of one call of Mul that do not change its result.
struct MulOptions {
  // Threads that this call may use, the caller included; 0: no limit but the
  // Context's.
  int max_num_threads = 0;
};

namespace internal {

// T of a Matrix<T> or PackedMatrix<T>.
template <typename M>
struct ElementOf;
template <template <typename> class M, typename T>
struct ElementOf<M<T>> {
  using Type = T;
};

// True; if there is no product of these types, one compile error that says so.
template <typename Lhs, typename Rhs, typename Accum, typename ParamsDst,
          typename Dst>
constexpr bool CheckTypes() {
  constexpr bool kWritable = !std::is_const<Dst>::value;
  static_assert(kWritable, "dst is a Matrix of const elements");
  constexpr bool kSameDst = !kWritable || std::is_same<ParamsDst, Dst>::value;
  static_assert(kSameDst,
                "the DstScalar of MulParams is not dst's element type");
  if constexpr (kWritable && kSameDst) {
    constexpr bool kSupported = TypesAreSupported<Lhs, Rhs, Accum, Dst>();
    static_assert(kSupported, "no such product: see the README's type table");
    return kSupported;
  } else {
    return false;
  }
}

// Validates and runs a call.
RUY_LIKE_EXPORT absl::Status MulErased(const MulCall& call, Context* context);

// Errors; without a message if there is no memory for it.
RUY_LIKE_EXPORT absl::Status NullArgument(const char* name);
RUY_LIKE_EXPORT absl::Status NoMemory();

// How a call with these parameters is checked and written down. Specialised for
// each kind of parameters: here, and in group_weights.h.
template <typename Params>
struct CallOf;

template <typename Accum, typename ParamsDst>
struct CallOf<MulParams<Accum, ParamsDst>> {
  template <typename LhsMatrix, typename RhsMatrix, typename Dst>
  static constexpr bool Check() {
    return CheckTypes<typename ElementOf<LhsMatrix>::Type,
                      typename ElementOf<RhsMatrix>::Type, Accum, ParamsDst,
                      Dst>();
  }
  template <typename LhsMatrix, typename RhsMatrix, typename Dst>
  static void Fill(const LhsMatrix& lhs, const RhsMatrix& rhs,
                   const MulParams<Accum, ParamsDst>& mul_params,
                   const Matrix<Dst>& dst, int max_num_threads, MulCall* call) {
    Erase(lhs, &call->lhs);
    Erase(rhs, &call->rhs);
    CompleteCall<typename ElementOf<LhsMatrix>::Type,
                 typename ElementOf<RhsMatrix>::Type>(mul_params, dst,
                                                      max_num_threads, call);
  }
};

// Returns run(erase), where erase(&call) fills in a MulCall; an error for a
// null argument.
template <typename LhsMatrix, typename RhsMatrix, typename Params, typename Dst,
          typename Run>
absl::Status WithCall(const LhsMatrix& lhs, const RhsMatrix& rhs,
                      const Params& params, int max_num_threads,
                      Context* context, Matrix<Dst>* dst, const Run& run) {
  // With wrong types the rest is left out: its errors would hide that one.
  if constexpr (CallOf<Params>::template Check<LhsMatrix, RhsMatrix, Dst>()) {
    if (context == nullptr) return NullArgument("context");
    if (dst == nullptr) return NullArgument("dst");
    return run([&](MulCall* call) {
      CallOf<Params>::Fill(lhs, rhs, params, *dst, max_num_threads, call);
    });
  } else {
    return absl::OkStatus();
  }
}

template <typename LhsMatrix, typename RhsMatrix, typename Params, typename Dst>
absl::Status MulOperands(const LhsMatrix& lhs, const RhsMatrix& rhs,
                         const Params& params, Context* context,
                         Matrix<Dst>* dst, const MulOptions& options) {
  return WithCall(lhs, rhs, params, options.max_num_threads, context, dst,
                  [context](const auto& erase) {
                    MulCall call;
                    erase(&call);
                    return MulErased(call, context);
                  });
}

}  // namespace internal

// dst = epilogue((lhs - lhs zero point) * (rhs - rhs zero point)), where
// MulParams describes the epilogue. lhs is M x K, rhs K x N, dst M x N; each in
// either memory order with any stride. Operands may be of const elements. Types
// as in the README's table, DstScalar of MulParams as in dst; any other
// combination does not compile.
//
// Returns InvalidArgument or OutOfRange, with dst untouched, for bad arguments
// (the message names the operand and the values), ResourceExhausted when memory
// cannot be allocated, for packing or for a message. Never aborts and never
// throws. An empty dst is OK and a no-op; K = 0 gives the epilogue of zero
// accumulators.
//
// The caller's floating-point environment has no effect and is left as it was:
// all threads round to nearest and nothing traps, whatever is unmasked; no
// exception flag is raised (doc/numerics.md).
//
// Several threads may call Mul with one Context: the calls then take turns.
// With distinct Contexts they run side by side. FailedPrecondition where
// waiting for the turn could deadlock (Context::mutable_thread_pool).
template <typename Lhs, typename Rhs, typename Accum, typename ParamsDst,
          typename Dst>
absl::Status Mul(const Matrix<Lhs>& lhs, const Matrix<Rhs>& rhs,
                 const MulParams<Accum, ParamsDst>& mul_params,
                 Context* context, Matrix<Dst>* dst,
                 const MulOptions& options = MulOptions()) {
  return internal::MulOperands(lhs, rhs, mul_params, context, dst, options);
}

}  // namespace ruy_like

#endif  // RUY_LIKE_MUL_H_
