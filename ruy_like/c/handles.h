// The C interface's handles, and what its functions have in common: how errors
// come to C, and how structs are opened and their fields checked.
#ifndef RUY_LIKE_C_HANDLES_H_
#define RUY_LIKE_C_HANDLES_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <memory>
#include <utility>

#include "absl/base/attributes.h"
#include "absl/base/optimization.h"
#include "absl/status/status.h"
#include "ruy_like/base/errors.h"
#include "ruy_like/base/no_memory.h"
#include "ruy_like/c/ruy_like.h"
#include "ruy_like/ruy_like.h"
#include "ruy_like/thread_pool.h"

struct rl_context {
  struct Host final : public ruy_like::Executor {
    explicit Host(const rl_executor& given) : functions(given) {}
    int max_concurrency() const override {
      return functions.max_concurrency(functions.user);
    }
    void ParallelFor(int count, void (*function)(void* argument, int i),
                     void* argument) override {
      functions.parallel_for(functions.user, count, function, argument);
    }
    const rl_executor functions;
  };

  explicit rl_context(std::shared_ptr<ruy_like::ThreadPool> workers)
      : pool(std::move(workers)), context(pool) {}

  std::shared_ptr<ruy_like::ThreadPool> pool;
  std::unique_ptr<Host> host;  // outlives the Context
  ruy_like::Context context;
};

struct rl_packed final : public ruy_like::internal::PackedMatrixBase {
  rl_packed(std::shared_ptr<const ruy_like::PackedOperand> operand,
            ruy_like::Scalar type)
      : PackedMatrixBase(std::move(operand)), scalar(type) {}
  explicit rl_packed(ruy_like::PackedGroupWeights packed)
      : has_groups(true), weights(std::move(packed)) {}

  ruy_like::Scalar scalar = ruy_like::Scalar::kF32;
  bool has_groups = false;
  ruy_like::PackedGroupWeights weights;
};

struct rl_plan {
  ruy_like::MulCall* NewCall() { return plan.NewCall(); }
  absl::Status Prepare(const ruy_like::Batch* batch, int num_threads,
                       ruy_like::Context* context) {
    return plan.PrepareCall(batch, num_threads, context);
  }

  ruy_like::MulPlan plan;
  ruy_like::PostOps post_ops;  // of the prepared call, if it has any
};

namespace ruy_like::c_interface {

using internal::NullArgument;

// ## Errors

// Makes it the thread's last error; returns its code.
rl_status StoreError(const absl::Status& status);

struct Pointer {
  const char* name;
  const void* value;
};

// The status of function(), an absl::Status, whose error becomes the thread's
// last one; that of a null among `pointers`, which are then not used. Nothing
// is thrown into C.
template <typename Function>
rl_status Call(std::initializer_list<Pointer> pointers,
               const Function& function) {
  absl::Status status;
  try {
    status = CatchNoMemory([&]() -> absl::Status {
      for (const Pointer& pointer : pointers) {
        if (pointer.value == nullptr) return NullArgument(pointer.name);
      }
      return function();
    });
  } catch (...) {
    status = ErrorWithoutMessage(absl::StatusCode::kInternal);
  }
  return status.ok() ? RL_OK : StoreError(status);
}

// A new handle of `arguments`.
template <typename T, typename... Arguments>
absl::Status Make(T** handle, const Arguments&... arguments) {
  *handle = new T(arguments...);
  return absl::OkStatus();
}

// ## Structs

// A struct of another version of the header: *copy gets the fields that it has,
// and 0 for the others. `first` is the size in the first version.
absl::Status CopyStruct(const char* name, const void* given, std::size_t size,
                        std::size_t first, std::size_t known, void* copy);

// Makes *given point to a struct of our size: the caller's, or *copy.
template <typename T>
RUY_LIKE_INLINE absl::Status Open(const char* name, const T** given, T* copy,
                                  std::size_t first = sizeof(T)) {
  if (ABSL_PREDICT_FALSE(*given == nullptr)) return NullArgument(name);
  const std::size_t size = (*given)->size;
  if (ABSL_PREDICT_TRUE(size == sizeof(T))) return absl::OkStatus();
  const T* const from = *given;
  *given = copy;
  return CopyStruct(name, from, size, first, sizeof(T), copy);
}

// Products by how accumulators become dst (mul_params.h).
enum Kind : unsigned {
  kFloatDst = 1,
  kRawDst = 2,
  kQuantizedDst = 4,
  kScaledDst = 8,
  kGroupScales = 16,
  kQuantizedByFloats = 32,  // RL_ROUND_FLOAT
  kAnyKind = 63,
};

constexpr std::int32_t kMisaligned = std::numeric_limits<std::int32_t>::min();

// A field that may be 0, the default, to `max`, but 0 alone for products of
// other kinds. Doubles and pointers count as 1 unless they are 0, a pointer to
// misaligned elements as kMisaligned.
struct Field {
  const char* name;
  std::int32_t value;
  std::uint32_t max = 1;
  unsigned kinds = kAnyKind;

  bool IsKnown() const { return static_cast<std::uint32_t>(value) <= max; }
  bool IsGood(unsigned kind) const {
    return value == 0 || (IsKnown() && (kinds & kind) != 0);
  }
};
// check() of a field of *given.
#define RUY_LIKE_IS_GOOD(field, ...) \
  check(Field{#field, ValueOf(given->field), __VA_ARGS__})

RUY_LIKE_INLINE std::int32_t ValueOf(std::int32_t value) { return value; }
RUY_LIKE_INLINE std::int32_t ValueOf(double value) {  // NaN compared may trap
  std::uint64_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits << 1 != 0;
}
template <typename T>
RUY_LIKE_INLINE std::int32_t ValueOf(const T* array) {
  const auto address = reinterpret_cast<std::uintptr_t>(array);
  return (address & (alignof(T) - 1)) != 0 ? kMisaligned : address != 0;
}

// The error of the first bad one of some fields.
template <typename Fields>
ABSL_ATTRIBUTE_COLD ABSL_ATTRIBUTE_NOINLINE absl::Status FieldError(
    const char* of, unsigned kind, Fields fields) {
  Field bad = {};
  fields([&](const Field& field) {
    bad = field;
    return field.IsGood(kind);
  });
  if (bad.value == kMisaligned) return Wrong(bad.name, " is not aligned");
  return bad.IsKnown()
             ? Wrong(of, " sets ", bad.name,
                     ", which has no meaning for this product")
             : Wrong(of, " has an unknown ", bad.name, " ", bad.value);
}

// fields(check) returns whether check(field) holds for each.
template <typename Fields>
RUY_LIKE_INLINE absl::Status CheckFields(const char* of, unsigned kind,
                                         Fields fields) {
  return ABSL_PREDICT_TRUE(
             fields([kind](const Field& field) { return field.IsGood(kind); }))
             ? absl::OkStatus()
             : FieldError(of, kind, fields);
}

// 0 is the default here, which is C++'s last one.
inline FloatSums SumsOf(std::int64_t value) {
  static_assert(
      RL_SUM_AS_CONTEXT == 2 - static_cast<int>(FloatSums::kOfContext) &&
          RL_SUM_IN_ORDER == 2 - static_cast<int>(FloatSums::kInOrder),
      "and so in between");
  return static_cast<FloatSums>(2 - value);
}

}  // namespace ruy_like::c_interface

#endif  // RUY_LIKE_C_HANDLES_H_
