// Public: ruy_like for C, and for languages that bind to C.
//
// A program links to libruy_like_c (CMake ruy_like::c, pkg-config ruy_like_c).
// The functions fill in the calls of mul.h, packed_matrix.h, group_weights.h,
// mul_batch.h and mul_plan.h, which describe the arithmetic; combinations of
// types that do not compile there are errors here.
//
// Structs. The first field is the struct's size, set by the caller to sizeof:
// later versions append fields, and a smaller struct of an older program still
// works. All other fields may be 0, which is the default; an array field that
// is null is not used. Structs, and what they point to, are only read during
// the call, unless a function says otherwise.
//
//   const rl_matrix lhs = {.size = sizeof lhs, .data = w, .type = RL_INT8,
//   ...};
//
// Errors. Every function that can fail returns a status; rl_last_error() has
// the text. After an error no dst and no result is written. Nothing throws or
// aborts; null handles and structs are errors (RL_INVALID_ARGUMENT), except
// that the destroy functions do nothing for null.
//
// Threads. Contexts and plans are used as in context.h and mul_plan.h: calls
// with one context take turns, those with distinct contexts run side by side.
// Packed operands are immutable: any number of threads may use one at once.
// No handle may be destroyed while another call uses it.
#ifndef RUY_LIKE_C_RUY_LIKE_H_
#define RUY_LIKE_C_RUY_LIKE_H_

#include <stddef.h>
#include <stdint.h>

#if defined(RUY_LIKE_C_BUILD) && defined(__GNUC__)
#define RL_API __attribute__((visibility("default")))
#else
#define RL_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

// The values are those of absl::StatusCode.
typedef int32_t rl_status;
enum {
  RL_OK = 0,
  RL_INVALID_ARGUMENT = 3,
  RL_RESOURCE_EXHAUSTED = 8,
  RL_FAILED_PRECONDITION = 9,
  RL_OUT_OF_RANGE = 11,
  RL_INTERNAL = 13,
  RL_DATA_LOSS = 15
};

// Element types; README.md has the table of products.
enum {
  RL_INT8 = 1,
  RL_UINT8 = 2,
  RL_INT16 = 3,
  RL_INT32 = 4,
  RL_FLOAT32 = 5,
  RL_FLOAT64 = 6,
  RL_BFLOAT16 = 7,     // uint16_t with the upper half of a float's bits
  RL_FLOAT16 = 8,      // uint16_t with IEEE 754's binary16
  RL_FLOAT8_E4M3 = 9,  // uint8_t with these formats of ruy_like/float8.h
  RL_FLOAT8_E5M2 = 10,
  // For rl_packed_from_bytes alone: bytes of weights with group scales.
  RL_GROUP_WEIGHTS = 64
};

enum { RL_COL_MAJOR = 0, RL_ROW_MAJOR = 1 };  // Order
enum { RL_LHS = 0, RL_RHS = 1 };              // Side
enum { RL_PER_ROW = 0, RL_PER_COL = 1 };      // ChannelDimension
// FloatSums; RL_SUM_AS_CONTEXT is the context's setting, by default in order.
enum { RL_SUM_AS_CONTEXT = 0, RL_SUM_IN_ANY_ORDER = 1, RL_SUM_IN_ORDER = 2 };
enum { RL_FULL_RANGE = 0, RL_INT7 = 1 };  // ValueRange
// MultiplierRounding. RL_ROUND_FLOAT: scales in place of multipliers.
enum { RL_ROUND_ONCE = 0, RL_ROUND_TWICE = 1, RL_ROUND_FLOAT = 2 };
enum { RL_SCALE_PER_COLUMN = 0, RL_SCALE_PER_GROUP = 1 };  // ActivationScales
enum {                                                     // CachePolicy
  RL_NEVER_CACHE = 0,
  RL_CACHE_IF_LARGE_SPEEDUP = 1,
  RL_CACHE_IF_SIGNIFICANT_SPEEDUP = 2,
  RL_ALWAYS_CACHE = 3
};
enum {  // PackFor
  RL_PACK_DEFAULT = 0,
  RL_PACK_FOR_INT16 = 1,
  RL_PACK_FOR_DOUBLE = 2,
  RL_PACK_FOR_INT7 = 3,
  RL_PACK_FOR_BFLOAT16 = 4
};
enum {  // Activation
  RL_NO_ACTIVATION = 0,
  RL_LEAKY_RELU = 1,
  RL_GELU = 2,
  RL_GELU_TANH = 3,
  RL_SILU = 4,
  RL_SIGMOID = 5,
  RL_TANH = 6,
  RL_HARD_SWISH = 7
};
enum { RL_TUNE_AUTO = 0, RL_TUNE_IN_ORDER = 1, RL_TUNE_OUT_OF_ORDER = 2 };
enum {  // Settings of a context (context.h), for rl_context_set and _get.
  RL_MAX_THREADS = 1,
  RL_FORCE_THREADS = 2,  // 1: NumThreadsStrategy::kForceMaxNumThreads
  RL_FLOAT_SUMS = 3,     // of params with RL_SUM_AS_CONTEXT
  RL_TUNING = 4,         // RL_TUNE_AUTO, ...
  RL_CACHE_LIMIT_BYTES = 5,
  RL_SPIN_MICROSECONDS = 6,  // ThreadPool::set_spin_milliseconds
  // Only to get:
  RL_CACHE_BYTES = 7,
  RL_LAST_THREADS = 8,  // of the last successful product
  RL_ADVISORIES = 9     // PerformanceAdvisory's flags since the last query
};

typedef struct rl_context rl_context;  // Context
typedef struct rl_packed rl_packed;    // PackedMatrix or PackedGroupWeights
typedef struct rl_plan rl_plan;        // MulPlan

// An operand or dst.
typedef struct rl_matrix {
  size_t size;
  void* data;  // aligned to an element; an operand's is only read
  int32_t type;
  int32_t order;
  ptrdiff_t rows, cols;
  ptrdiff_t stride;    // in elements; 0: no gaps
  int32_t zero_point;  // of 8-bit operands and of any integer dst
  int32_t cache_policy;
  int32_t value_range;
  // For an operand: used in place of all fields above but size.
  const rl_packed* packed;
} rl_matrix;

// PostOps: zero points of rows and columns, and what follows a product. With a
// dst of floats,
//
//   dst = clamp(activation(acc + beta * dst + bias) * factor + residual)
//
// factor and residual: a matrix of dst's shape, of floats or of dst's type; or
// one float per channel; or neither. The residual may be dst itself.
typedef struct rl_post_ops {
  size_t size;
  int32_t activation;
  float slope;                     // of RL_LEAKY_RELU; ReLU has 0
  const float* slope_per_channel;  // in place of it
  const rl_matrix* factor;
  const float* factor_per_channel;
  const rl_matrix* residual;
  const float* residual_per_channel;
  // Zero points of 8-bit operands whose own is 0: one per row of lhs, one per
  // column of rhs.
  const int32_t* lhs_zero_points;
  const int32_t* rhs_zero_points;
  const uint8_t* table;  // 256 bytes: an 8-bit quantized dst is table[dst]
} rl_post_ops;

// MulParams, MulOptions and GroupMulParams in one. A field that the types have
// no use for must be 0.
typedef struct rl_params {
  size_t size;
  // RL_INT32, RL_FLOAT32 or RL_FLOAT64; 0: int32 for integer operands, double
  // if an operand or dst is double, else float.
  int32_t accum_type;
  int32_t channel_dim;  // of the bias and of multipliers
  // One value per channel, of the accumulator's type; of dst's type, if dst is
  // scaled; float with group scales.
  const void* bias;
  // Quantized dst: one value each, or one per channel. Without them the
  // multiplier is 1.
  const int32_t* multiplier_fixedpoint;
  const int32_t* multiplier_exponent;
  int32_t multiplier_per_channel;  // 1: arrays
  // 1: dst is clamped to [clamp_min, clamp_max], for integers whole numbers
  // or, where they are beyond dst's type, without effect.
  int32_t has_clamp;
  double clamp_min, clamp_max;
  double beta;  // all but quantized dst accumulate beta * dst
  // Scaled dst, or RL_ROUND_FLOAT: one value, or one per row of lhs or column
  // of rhs. With group scales: those of int8 activations, one per row (lhs) or
  // column (rhs).
  const float* lhs_scale;
  const float* rhs_scale;
  int32_t lhs_scale_per_row;  // 1: an array
  int32_t rhs_scale_per_col;
  int32_t float_sums;
  int32_t max_num_threads;
  // Only with group scales.
  const int8_t* activation_zero_points;
  int32_t activation_scales;  // RL_SCALE_PER_COLUMN or RL_SCALE_PER_GROUP
  int32_t multiplier_rounding;
  const rl_post_ops* post_ops;  // since version 0.2 of the library
} rl_params;

typedef struct rl_pack_options {
  size_t size;
  int32_t side;  // RL_LHS or RL_RHS
  int32_t dst_order;
  int32_t pack_for;
  // Memory to pack into, aligned to 64 bytes, which must outlive the handle;
  // null: memory of the library's.
  void* buffer;
  size_t buffer_bytes;
} rl_pack_options;

// GroupWeights; rl_pack_groups reads the arrays.
typedef struct rl_group_weights {
  size_t size;
  ptrdiff_t rows, depth;
  int32_t bits;        // 2, 4 or 8
  int32_t scale_type;  // RL_FLOAT32, RL_BFLOAT16 or RL_FLOAT16
  ptrdiff_t group_size;
  const void* levels;  // the codes
  ptrdiff_t row_stride_bytes;
  const void* scales;
  ptrdiff_t scale_stride;
  // Without both, the zero point is the middle of the codes.
  const void* zero_points;
  const int32_t* zero_point;  // one for all groups
  const int8_t* table;        // of values by code, for 2 or 4 bits
  const int32_t* depth_order;
} rl_group_weights;

// Batch: strides in elements from one product to the next. 0 products: none. A
// second set of strides, between outer_count batches; 0: one.
typedef struct rl_batch {
  size_t size;
  ptrdiff_t count;
  ptrdiff_t lhs_stride, rhs_stride, dst_stride, bias_stride;
  ptrdiff_t outer_count;
  ptrdiff_t lhs_outer_stride, rhs_outer_stride;
  ptrdiff_t dst_outer_stride, bias_outer_stride;
  // Strides of the matrices in post-ops; since version 0.2.
  ptrdiff_t factor_stride, residual_stride;
  ptrdiff_t factor_outer_stride, residual_outer_stride;
} rl_batch;

// One product of rl_mul_group. In an array the next one begins where its size
// ends.
typedef struct rl_product {
  size_t size;
  const rl_matrix* lhs;
  const rl_matrix* rhs;
  const rl_params* params;  // null: the defaults
  const rl_matrix* dst;
} rl_product;

// Executor: the host's own threads. executor.h has the contract of both
// functions, which must not throw.
typedef struct rl_executor {
  size_t size;
  void* user;  // passed to both
  int (*max_concurrency)(void* user);
  void (*parallel_for)(void* user, int count,
                       void (*function)(void* argument, int i), void* argument);
} rl_executor;

// The machine. The strings stay valid.
typedef struct rl_info {
  size_t size;
  const char* features;        // "avx2 fma ..."
  const char* compiled_paths;  // "portable,avx2,..."
  const char* paths;           // those that products may take here
  ptrdiff_t l1d_bytes, l2_bytes, l3_bytes;
  ptrdiff_t default_threads;  // DefaultThreadCount(); since version 0.2
} rl_info;

// "0.2.0". From any thread.
RL_API const char* rl_version(void);
// The text of the last error on the calling thread, "" before the first one;
// valid until the next error on it.
RL_API const char* rl_last_error(void);
// Fills in the fields that info->size has room for. From any thread.
RL_API rl_status rl_get_info(rl_info* info);

RL_API rl_status rl_context_create(rl_context** context);
// On the workers of another context, which may be destroyed first.
RL_API rl_status rl_context_create_sharing(rl_context* other,
                                           rl_context** context);
RL_API void rl_context_destroy(rl_context* context);
// The setters wait for a running product of the context; rl_context_get does
// not.
RL_API rl_status rl_context_set(rl_context* context, int32_t setting,
                                int64_t value);
RL_API rl_status rl_context_get(rl_context* context, int32_t setting,
                                int64_t* value);
// Sets RL_MAX_THREADS.
RL_API rl_status rl_context_set_threads(rl_context* context, int32_t threads);
// Paths by name, "avx2,avx512vnni"; null: all.
RL_API rl_status rl_context_set_paths(rl_context* context, const char* paths);
// Copies *executor; null: the context's own threads. Not while another thread
// uses the context.
RL_API rl_status rl_context_set_executor(rl_context* context,
                                         const rl_executor* executor);
// Forgets cached operands: before their data changes or is freed.
RL_API rl_status rl_context_clear_cache(rl_context* context);
// Context::ParallelFor: calls function(argument, i) for each i below count on
// the context's threads. It must not throw, nor use the context.
RL_API rl_status rl_context_parallel_for(rl_context* context, int32_t count,
                                         void (*function)(void* argument,
                                                          int i),
                                         void* argument);
// Path and kernel of the last successful product, "none" and "" before it; ""
// for a null context. The strings stay valid. Never wait.
RL_API const char* rl_context_last_path(const rl_context* context);
RL_API const char* rl_context_last_kernel(const rl_context* context);

// Packs an operand once, for any number of products. options may be null.
RL_API rl_status rl_pack(const rl_matrix* matrix,
                         const rl_pack_options* options, rl_context* context,
                         rl_packed** packed);
// The bytes that rl_pack needs for a buffer; matrix->data may be null.
RL_API rl_status rl_packed_size(const rl_matrix* matrix,
                                const rl_pack_options* options,
                                rl_context* context, size_t* bytes);
// Packs weights with group scales, for either side of products.
RL_API rl_status rl_pack_groups(const rl_group_weights* weights,
                                rl_context* context, rl_packed** packed);
// Those of the matrix; of weights with group scales rows and depth.
RL_API rl_status rl_packed_shape(const rl_packed* packed, ptrdiff_t* rows,
                                 ptrdiff_t* cols);
// The packed form as bytes, to be stored; valid as long as the handle.
RL_API rl_status rl_packed_to_bytes(const rl_packed* packed, const void** data,
                                    size_t* bytes);
// Uses bytes of rl_packed_to_bytes in place: aligned to 64 bytes, they must
// outlive the handle. type is the elements', or RL_GROUP_WEIGHTS; verify != 0
// recognises damaged data.
RL_API rl_status rl_packed_from_bytes(const void* data, size_t bytes,
                                      int32_t type, int32_t verify,
                                      rl_packed** packed);
RL_API void rl_packed_destroy(rl_packed* packed);

// dst = epilogue(lhs * rhs). An operand with group scales is `depth` deep and,
// as the rhs, stands for its transpose (group_weights.h). params may be null.
RL_API rl_status rl_mul(const rl_matrix* lhs, const rl_matrix* rhs,
                        const rl_params* params, rl_context* context,
                        const rl_matrix* dst);
// Products of one shape; the matrices are those of the first one.
RL_API rl_status rl_mul_batch(const rl_matrix* lhs, const rl_matrix* rhs,
                              const rl_params* params, const rl_batch* batch,
                              rl_context* context, const rl_matrix* dst);
// Products of any shapes and of the same types, which the first one has. Their
// params' max_num_threads are not used.
RL_API rl_status rl_mul_group(const rl_product* products, ptrdiff_t count,
                              int32_t max_num_threads, rl_context* context);

// A product, or with `batch` a batch, that the caller's threads run:
//
//   one thread    rl_plan_prepare, later rl_plan_repeat
//   each thread   rl_plan_run(plan, i), i = 0, ..., num_threads - 1
//   one thread    rl_plan_finish
//
// The caller keeps them apart by barriers. Until the end the matrices' data,
// what params points to, packed operands and the context must stay valid; the
// structs need not.
RL_API rl_status rl_plan_create(rl_plan** plan);
RL_API void rl_plan_destroy(rl_plan* plan);
RL_API rl_status rl_plan_prepare(rl_plan* plan, const rl_matrix* lhs,
                                 const rl_matrix* rhs, const rl_params* params,
                                 const rl_batch* batch, int32_t num_threads,
                                 rl_context* context, const rl_matrix* dst);
RL_API rl_status rl_plan_repeat(rl_plan* plan);
// Threads that the prepared product has work for.
RL_API rl_status rl_plan_num_threads(const rl_plan* plan, int32_t* num_threads);
RL_API rl_status rl_plan_run(rl_plan* plan, int32_t thread);
RL_API rl_status rl_plan_finish(rl_plan* plan);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // RUY_LIKE_C_RUY_LIKE_H_
