// Python: the extension module ruy_like._core, over the C interface and the
// limited API of CPython 3.11, so that one file serves that and later versions.
//
// It turns arrays into rl_matrix: what has the buffer protocol, NumPy arrays of
// ml_dtypes' types, and what has __dlpack__. The C interface checks values;
// lengths of arrays, which it cannot see, are checked here.
#include "module.h"

#include <string.h>

State g_state;

static const char* const kChannels[] = {"rows", "cols", NULL};
static const char* const kRoundings[] = {"once", "twice", "float", NULL};
// RL_SUM_AS_CONTEXT is no one's name: mul has None.
static const char* const kSums[] = {"of_context", "any_order", "in_order",
                                    NULL};
static const char* const kScalings[] = {"per_column", "per_group", NULL};
static const char* const kActivationNames[] = {
    "none",    "relu", "gelu",       "gelu_tanh", "silu",
    "sigmoid", "tanh", "hard_swish", NULL};

// An operand, packed or not: its shape is in the matrix either way.
static int TakeOperand(const char* name, PyObject* object, Array* array,
                       rl_matrix* matrix, ptrdiff_t* count, ptrdiff_t* stride) {
  if (HasType(object, g_state.packed_type) ||
      HasType(object, g_state.groups_type)) {
    const PackedObject* packed = (const PackedObject*)object;
    matrix->size = sizeof *matrix;
    matrix->packed = packed->packed;
    matrix->zero_point = packed->zero_point;  // which the library does not read
    matrix->rows = packed->rows;
    matrix->cols = packed->cols;
    matrix->type = packed->type;
    return 1;
  }
  return Take(name, object, array) &&
         DescribeBatch(name, array, matrix, count, stride);
}

// ## mul

enum {
  kOut,
  kDtype,
  kBias,
  kChannelsOf,
  kMultiplier,
  kRounding,
  kClamp,
  kBeta,
  kLhsScale,
  kRhsScale,
  kLhsZero,
  kRhsZero,
  kOutZero,
  kCache,
  kInt7,
  kFloatSums,
  kActivations,
  kActivationZeros,
  kActivation,
  kSlope,
  kFactor,
  kResidual,
  kTable,
  kThreads,
  kContext,
  kNumKeywords
};
static const char* const kKeywords[] = {"out",
                                        "dtype",
                                        "bias",
                                        "channels",
                                        "multiplier",
                                        "rounding",
                                        "clamp",
                                        "beta",
                                        "lhs_scale",
                                        "rhs_scale",
                                        "lhs_zero_point",
                                        "rhs_zero_point",
                                        "out_zero_point",
                                        "cache",
                                        "int7",
                                        "float_sums",
                                        "activation_scales",
                                        "activation_zero_points",
                                        "activation",
                                        "slope",
                                        "factor",
                                        "residual",
                                        "table",
                                        "threads",
                                        "context"};
static PyObject* g_keywords[kNumKeywords];  // interned

static int ReadKeywords(PyObject* const* args, Py_ssize_t nargs,
                        PyObject* names, PyObject** values) {
  const Py_ssize_t count = names == NULL ? 0 : PyTuple_Size(names);
  Py_ssize_t i;
  int k;
  for (i = 0; i < count; ++i) {
    PyObject* const name = PyTuple_GetItem(names, i);
    for (k = 0; k < kNumKeywords && name != g_keywords[k]; ++k) {
    }
    if (k == kNumKeywords) {  // not interned, or unknown
      for (k = 0; k < kNumKeywords; ++k) {
        if (PyUnicode_Compare(name, g_keywords[k]) == 0) break;
      }
    }
    if (k == kNumKeywords) {
      PyErr_Format(PyExc_TypeError, "mul() has no argument %R", name);
      return 0;
    }
    if (values[k] != NULL) {
      PyErr_Format(PyExc_TypeError, "mul() has two arguments %R", name);
      return 0;
    }
    if (args[nargs + i] != Py_None) values[k] = args[nargs + i];
  }
  return 1;
}

enum {
  kLhs,
  kRhs,
  kDst,
  kBiasArray,
  kFixedpoints,
  kExponents,
  kLhsScales,
  kRhsScales,
  kZeroArray,
  kSlopes,
  kFactorArray,
  kResidualArray,
  kLhsZeros,
  kRhsZeros,
  kTableArray,
  kNumArrays
};

typedef struct {
  Array arrays[kNumArrays];
  rl_matrix lhs, rhs, dst, factor, residual;
  rl_params params;
  rl_post_ops post_ops;
  rl_batch batch;  // count -1: none
  int32_t fixedpoint, exponent;
  float lhs_scale, rhs_scale;
} Call;

static int IsDouble(const Call* call) {
  return call->lhs.type == RL_FLOAT64 || call->rhs.type == RL_FLOAT64 ||
         call->dst.type == RL_FLOAT64;
}

// A number of Python's or NumPy's, or an array without dimensions.
static int IsScalar(PyObject* object) {
  if (PyFloat_Check(object) || PyLong_Check(object)) return 1;
  if (PyObject_Size(object) >= 0) return 0;
  PyErr_Clear();
  return 1;
}

static int ReadScale(const char* name, PyObject* object, Py_ssize_t length,
                     Array* array, float* single, const float** scale,
                     int32_t* is_array) {
  if (object == NULL) return 1;
  if (IsScalar(object)) {
    *single = (float)PyFloat_AsDouble(object);
    *scale = single;
    return !PyErr_Occurred();
  }
  *is_array = 1;
  *scale = (const float*)Vector(name, object, RL_FLOAT32, length, array);
  return *scale != NULL;
}

static int ReadMultiplier(PyObject* object, Py_ssize_t channels, Call* call) {
  PyObject *fixedpoint, *exponent;
  if (!PyTuple_Check(object) || PyTuple_Size(object) != 2) {
    PyErr_SetString(PyExc_TypeError,
                    "multiplier is not a tuple (fixedpoint, exponent): "
                    "ruy_like.quantize.multiplier makes one of a float");
    return 0;
  }
  fixedpoint = PyTuple_GetItem(object, 0);
  exponent = PyTuple_GetItem(object, 1);
  if (IsScalar(fixedpoint)) {
    call->params.multiplier_fixedpoint = &call->fixedpoint;
    call->params.multiplier_exponent = &call->exponent;
    return ToInt32("fixedpoint", fixedpoint, &call->fixedpoint) &&
           ToInt32("exponent", exponent, &call->exponent);
  }
  call->params.multiplier_per_channel = 1;
  call->params.multiplier_fixedpoint =
      (const int32_t*)Vector("fixedpoint", fixedpoint, RL_INT32, channels,
                             &call->arrays[kFixedpoints]);
  if (call->params.multiplier_fixedpoint == NULL) return 0;
  call->params.multiplier_exponent = (const int32_t*)Vector(
      "exponent", exponent, RL_INT32, channels, &call->arrays[kExponents]);
  return call->params.multiplier_exponent != NULL;
}

// A matrix for each product or for all, or a vector of a float per channel.
static int ReadPostOperand(const char* name, PyObject* object,
                           Py_ssize_t channels, Call* call, Array* array,
                           rl_matrix* matrix, ptrdiff_t* stride,
                           const rl_matrix** as_matrix,
                           const float** as_channels) {
  if (object == NULL) return 1;
  call->params.post_ops = &call->post_ops;
  if (!Take(name, object, array)) return 0;
  if (array->ndim == 1) {
    *as_channels = (const float*)Elements(name, array, RL_FLOAT32, channels);
    return *as_channels != NULL;
  }
  *as_matrix = matrix;
  if (array->ndim == 3 && call->batch.count == -1) {
    PyErr_Format(PyExc_ValueError, "%s has 3 dimensions, and no operand has",
                 name);
    return 0;
  }
  return DescribeBatch(name, array, matrix, &call->batch.count, stride);
}

// A zero point, or one for each of `length` rows or columns.
static int ReadZeroPoint(const char* name, PyObject* object, Py_ssize_t length,
                         Call* call, Array* array, rl_matrix* matrix,
                         const int32_t** each) {
  int32_t value = 0;
  if (object == NULL) return 1;
  if (IsScalar(object)) {
    if (!ToInt32(name, object, &value)) return 0;
    if (matrix->packed == NULL) {
      matrix->zero_point = value;
    } else if (value != 0 && value != matrix->zero_point &&
               matrix->zero_point != kUnknownZeroPoint) {
      PyErr_Format(PyExc_ValueError, "%s is %d, and %.3s is packed with %d",
                   name, (int)value, name, (int)matrix->zero_point);
      return 0;
    }
    return 1;
  }
  call->params.post_ops = &call->post_ops;
  *each = (const int32_t*)Vector(name, object, RL_INT32, length, array);
  return *each != NULL;
}

static int ReadPostOps(PyObject* const* values, Py_ssize_t channels,
                       Call* call) {
  rl_post_ops* const ops = &call->post_ops;
  int32_t slope_per_channel = 0;
  const float* slope = NULL;
  float single = 0;
  ops->size = sizeof *ops;
  if (values[kActivation] != NULL) {
    call->params.post_ops = ops;
    if (!Choose("activation", values[kActivation], kActivationNames,
                &ops->activation)) {
      return 0;
    }
  }
  if (values[kSlope] != NULL && ops->activation != RL_LEAKY_RELU) {
    PyErr_SetString(PyExc_ValueError, "slope is for activation='relu'");
    return 0;
  }
  if (!ReadScale("slope", values[kSlope], channels, &call->arrays[kSlopes],
                 &single, &slope, &slope_per_channel)) {
    return 0;
  }
  if (values[kTable] != NULL) {
    call->params.post_ops = ops;
    ops->table = (const uint8_t*)Vector("table", values[kTable], RL_UINT8, 256,
                                        &call->arrays[kTableArray]);
    if (ops->table == NULL) return 0;
  }
  ops->slope = single;
  if (slope_per_channel) ops->slope_per_channel = slope;
  return ReadPostOperand("factor", values[kFactor], channels, call,
                         &call->arrays[kFactorArray], &call->factor,
                         &call->batch.factor_stride, &ops->factor,
                         &ops->factor_per_channel) &&
         ReadPostOperand("residual", values[kResidual], channels, call,
                         &call->arrays[kResidualArray], &call->residual,
                         &call->batch.residual_stride, &ops->residual,
                         &ops->residual_per_channel);
}

static int ReadParams(PyObject* const* values, int groups_are_lhs, Call* call) {
  rl_params* const params = &call->params;
  const int is_integer =
      call->lhs.type <= RL_INT32 && call->rhs.type <= RL_INT32;
  int bias_type = IsDouble(call) ? RL_FLOAT64 : RL_FLOAT32;
  Py_ssize_t channels;
  if (is_integer && call->dst.type <= RL_INT32) bias_type = RL_INT32;
  params->size = sizeof *params;
  params->channel_dim = RL_PER_COL;
  if (values[kChannelsOf] != NULL && !Choose("channels", values[kChannelsOf],
                                             kChannels, &params->channel_dim)) {
    return 0;
  }
  channels =
      params->channel_dim == RL_PER_COL ? call->dst.cols : call->dst.rows;
  if (values[kBias] != NULL) {
    params->bias = Vector("bias", values[kBias], bias_type, channels,
                          &call->arrays[kBiasArray]);
    if (params->bias == NULL) return 0;
  }
  if (values[kMultiplier] != NULL &&
      !ReadMultiplier(values[kMultiplier], channels, call)) {
    return 0;
  }
  if (values[kClamp] != NULL) {
    params->has_clamp = 1;
    if (!PyTuple_Check(values[kClamp])) {
      PyErr_SetString(PyExc_TypeError, "clamp is not a tuple (min, max)");
      return 0;
    }
    if (!PyArg_ParseTuple(values[kClamp], "dd;clamp is (min, max)",
                          &params->clamp_min, &params->clamp_max)) {
      return 0;
    }
  }
  if (values[kBeta] != NULL) {
    params->beta = PyFloat_AsDouble(values[kBeta]);
    if (PyErr_Occurred()) return 0;
    if (params->beta != 0 && values[kOut] == NULL) {
      PyErr_SetString(
          PyExc_ValueError,
          "beta is the factor of what out has, and there is no out");
      return 0;
    }
  }
  if (values[kActivationZeros] != NULL) {
    params->activation_zero_points = (const int8_t*)Vector(
        "activation_zero_points", values[kActivationZeros], RL_INT8,
        groups_are_lhs ? call->dst.cols : call->dst.rows,
        &call->arrays[kZeroArray]);
    if (params->activation_zero_points == NULL) return 0;
  }
  if (!ReadPostOps(values, channels, call)) return 0;
  return ReadScale("lhs_scale", values[kLhsScale], call->dst.rows,
                   &call->arrays[kLhsScales], &call->lhs_scale,
                   &params->lhs_scale, &params->lhs_scale_per_row) &&
         ReadScale("rhs_scale", values[kRhsScale], call->dst.cols,
                   &call->arrays[kRhsScales], &call->rhs_scale,
                   &params->rhs_scale, &params->rhs_scale_per_col) &&
         ReadZeroPoint("lhs_zero_point", values[kLhsZero], call->dst.rows, call,
                       &call->arrays[kLhsZeros], &call->lhs,
                       &call->post_ops.lhs_zero_points) &&
         ReadZeroPoint("rhs_zero_point", values[kRhsZero], call->dst.cols, call,
                       &call->arrays[kRhsZeros], &call->rhs,
                       &call->post_ops.rhs_zero_points) &&
         (values[kOutZero] == NULL ||
          ToInt32("out_zero_point", values[kOutZero], &call->dst.zero_point)) &&
         (values[kThreads] == NULL ||
          ToInt32("threads", values[kThreads], &params->max_num_threads)) &&
         (values[kRounding] == NULL ||
          Choose("rounding", values[kRounding], kRoundings,
                 &params->multiplier_rounding)) &&
         (values[kFloatSums] == NULL || Choose("float_sums", values[kFloatSums],
                                               kSums, &params->float_sums)) &&
         (values[kActivations] == NULL ||
          Choose("activation_scales", values[kActivations], kScalings,
                 &params->activation_scales));
}

static const char* const kOperands[] = {"none", "lhs", "rhs", "both", NULL};

// Operands that a setting names.
static int ReadOperands(const char* name, PyObject* value, int32_t* lhs,
                        int32_t* rhs, int32_t setting) {
  int32_t which = 0;
  if (value == NULL) return 1;
  if (!Choose(name, value, kOperands, &which)) return 0;
  if (which & 1) *lhs = setting;
  if (which & 2) *rhs = setting;
  return 1;
}

// A result of what `values` ask for: given, or new.
static PyObject* TakeDst(PyObject* const* values, Py_ssize_t rows,
                         Py_ssize_t cols, Call* call) {
  const Py_ssize_t shape[] = {call->batch.count, rows, cols};
  const int is_batch = call->batch.count != -1;
  PyObject* out = values[kOut];
  if (out != NULL) {
    Py_INCREF(out);
  } else {
    int type = IsDouble(call) ? RL_FLOAT64 : RL_FLOAT32;
    if (call->lhs.type <= RL_INT32 && call->rhs.type <= RL_INT32) {
      type = values[kLhsScale] != NULL || values[kRhsScale] != NULL ? RL_FLOAT32
                                                                    : RL_INT32;
    }
    if (values[kDtype] != NULL) {
      type = TypeOf(values[kDtype]);
      if (type == 0) return NULL;
    }
    out = NewArray(is_batch ? shape : shape + 1, is_batch ? 3 : 2, type);
    if (out == NULL) return NULL;
  }
  if (!Take("out", out, &call->arrays[kDst]) ||
      !DescribeBatch("out", &call->arrays[kDst], &call->dst, &call->batch.count,
                     &call->batch.dst_stride)) {
    Py_DECREF(out);
    return NULL;
  }
  if (is_batch != (call->arrays[kDst].ndim == 3)) {
    PyErr_SetString(PyExc_ValueError,
                    "out has 3 dimensions where an operand has, and else 2");
    Py_DECREF(out);
    return NULL;
  }
  if (values[kOut] != NULL && values[kDtype] != NULL) {
    PyErr_SetString(PyExc_TypeError, "mul() has out, which has a dtype");
    Py_DECREF(out);
    return NULL;
  }
  if (call->arrays[kDst].read_only) {
    PyErr_SetString(PyExc_ValueError, "out is read-only");
    Py_DECREF(out);
    return NULL;
  }
  return out;
}

static PyObject* MulCall(PyObject* const* args, PyObject** values, Call* call) {
  PyObject* out;
  rl_status status;
  Py_ssize_t cols;
  rl_context* const context = ContextOf(values[kContext]);
  if (context == NULL ||
      !TakeOperand("lhs", args[0], &call->arrays[kLhs], &call->lhs,
                   &call->batch.count, &call->batch.lhs_stride) ||
      !TakeOperand("rhs", args[1], &call->arrays[kRhs], &call->rhs,
                   &call->batch.count, &call->batch.rhs_stride)) {
    return NULL;
  }
  // Weights with group scales on the right stand for their transpose.
  cols =
      HasType(args[1], g_state.groups_type) ? call->rhs.rows : call->rhs.cols;
  out = TakeDst(values, call->lhs.rows, cols, call);
  if (out == NULL) return NULL;
  // The arrays of params have the lengths that `out` asks for, so it must have
  // the product's shape.
  if (call->dst.rows != call->lhs.rows || call->dst.cols != cols) {
    PyErr_Format(PyExc_ValueError, "out is %zdx%zd, the product %zdx%zd",
                 call->dst.rows, call->dst.cols, call->lhs.rows, cols);
    Py_DECREF(out);
    return NULL;
  }
  if (!ReadParams(values, HasType(args[0], g_state.groups_type), call) ||
      !ReadOperands("cache", values[kCache], &call->lhs.cache_policy,
                    &call->rhs.cache_policy, RL_ALWAYS_CACHE) ||
      !ReadOperands("int7", values[kInt7], &call->lhs.value_range,
                    &call->rhs.value_range, RL_INT7)) {
    Py_DECREF(out);
    return NULL;
  }
  Py_BEGIN_ALLOW_THREADS;
  status =
      call->batch.count == -1
          ? rl_mul(&call->lhs, &call->rhs, &call->params, context, &call->dst)
          : rl_mul_batch(&call->lhs, &call->rhs, &call->params, &call->batch,
                         context, &call->dst);
  Py_END_ALLOW_THREADS;
  if (status != RL_OK) {
    Py_DECREF(out);
    return RaiseStatus(status);
  }
  return out;
}

static PyObject* Mul(PyObject* self, PyObject* const* args, Py_ssize_t nargs,
                     PyObject* names) {
  PyObject* values[kNumKeywords] = {0};
  PyObject* result;
  Call call;
  int i;
  (void)self;
  if (nargs < 2 || nargs > 3) {
    PyErr_SetString(PyExc_TypeError,
                    "mul() takes lhs, rhs and out by position");
    return NULL;
  }
  if (nargs == 3 && args[2] != Py_None) values[kOut] = args[2];
  if (!ReadKeywords(args, nargs, names, values)) return NULL;
  memset(&call.lhs, 0, sizeof call - offsetof(Call, lhs));
  for (i = 0; i < kNumArrays; ++i) {
    call.arrays[i].buffer.obj = NULL;
    call.arrays[i].capsule = NULL;
    call.arrays[i].type = 0;
    call.arrays[i].read_only = 0;
  }
  call.batch.size = sizeof call.batch;
  call.batch.count = -1;
  result = MulCall(args, values, &call);
  for (i = 0; i < kNumArrays; ++i) Release(&call.arrays[i]);
  return result;
}

// ## Context

static PyObject* ContextNew(PyTypeObject* type, PyObject* args,
                            PyObject* kwargs) {
  static char* keywords[] = {"threads", "paths", "workers_of", NULL};
  int threads = 1;
  const char* paths = NULL;
  PyObject* other = NULL;
  ContextObject* self;
  rl_status status;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|izO:Context", keywords,
                                   &threads, &paths, &other)) {
    return NULL;
  }
  if (other == Py_None) other = NULL;
  if (other != NULL && ContextOf(other) == NULL) return NULL;
  self =
      (ContextObject*)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
  if (self == NULL) return NULL;
  status = other == NULL
               ? rl_context_create(&self->context)
               : rl_context_create_sharing(ContextOf(other), &self->context);
  if (status == RL_OK) status = rl_context_set_threads(self->context, threads);
  if (status == RL_OK && paths != NULL) {
    status = rl_context_set_paths(self->context, paths);
  }
  if (status != RL_OK) {
    Py_DECREF(self);
    return RaiseStatus(status);
  }
  return (PyObject*)self;
}

static void ContextFree(PyObject* self) {
  rl_context_destroy(((ContextObject*)self)->context);
  Free(self);
}

static PyObject* ContextClearCache(PyObject* self, PyObject* ignored) {
  (void)ignored;
  Py_BEGIN_ALLOW_THREADS;
  rl_context_clear_cache(((ContextObject*)self)->context);
  Py_END_ALLOW_THREADS;
  Py_RETURN_NONE;
}

static PyObject* ContextLast(PyObject* self, void* kernel) {
  rl_context* const context = ((ContextObject*)self)->context;
  return PyUnicode_FromString(kernel != NULL ? rl_context_last_kernel(context)
                                             : rl_context_last_path(context));
}

static const char* const kTunings[] = {"auto", "in_order", "out_of_order",
                                       NULL};

// The names of a setting's values; null: it is a number.
static const char* const* NamesOf(int32_t setting) {
  return setting == RL_FLOAT_SUMS ? kSums
         : setting == RL_TUNING   ? kTunings
                                  : NULL;
}

static PyObject* ContextGet(PyObject* self, void* setting_as_pointer) {
  const int32_t setting = (int32_t)(intptr_t)setting_as_pointer;
  int64_t value = 0;
  const rl_status status =
      rl_context_get(((ContextObject*)self)->context, setting, &value);
  if (status != RL_OK) return RaiseStatus(status);
  return NamesOf(setting) != NULL
             ? PyUnicode_FromString(NamesOf(setting)[value])
             : PyLong_FromLongLong(value);
}

static int ContextSet(PyObject* self, PyObject* object,
                      void* setting_as_pointer) {
  const int32_t setting = (int32_t)(intptr_t)setting_as_pointer;
  rl_context* const context = ((ContextObject*)self)->context;
  int64_t value = 0;
  int32_t index = 0;
  rl_status status;
  if (object == NULL) {
    PyErr_SetString(PyExc_AttributeError, "a setting cannot be deleted");
    return -1;
  }
  if (NamesOf(setting) == NULL) {
    value = PyLong_AsLongLong(object);
    if (value == -1 && PyErr_Occurred()) return -1;
  } else {
    if (!Choose("the setting", object, NamesOf(setting), &index)) return -1;
    value = index;
  }
  Py_BEGIN_ALLOW_THREADS;
  status = rl_context_set(context, setting, value);
  Py_END_ALLOW_THREADS;
  if (status == RL_OK) return 0;
  RaiseStatus(status);
  return -1;
}

static PyMethodDef context_methods[] = {
    {"clear_cache", ContextClearCache, METH_NOARGS,
     "clear_cache()\n--\n\nForgets cached operands: before their data "
     "changes."},
    {NULL, NULL, 0, NULL}};
static PyGetSetDef context_getset[] = {
    {"last_path", ContextLast, NULL, "The path of the last product.", NULL},
    {"last_kernel", ContextLast, NULL, "The kernel of the last product.",
     &g_state},
#define SETTING(name, number, text) \
  { name, ContextGet, ContextSet, text, (void*)(intptr_t)(number) }
    SETTING("threads", RL_MAX_THREADS, "At most so many threads."),
    SETTING("force_threads", RL_FORCE_THREADS,
            "1: always so many, also where fewer are faster."),
    SETTING("float_sums", RL_FLOAT_SUMS,
            "'in_order' or 'any_order', for calls that leave it open."),
    SETTING("tuning", RL_TUNING, "'auto', 'in_order' or 'out_of_order' cores."),
    SETTING("cache_limit_bytes", RL_CACHE_LIMIT_BYTES,
            "The limit of cached operands' packed forms."),
    SETTING("spin_microseconds", RL_SPIN_MICROSECONDS,
            "How long workers without work spin before they sleep."),
#undef SETTING
#define RESULT(name, number, text) \
  { name, ContextGet, NULL, text, (void*)(intptr_t)(number) }
    RESULT("cache_bytes", RL_CACHE_BYTES, "Bytes of cached operands."),
    RESULT("last_threads", RL_LAST_THREADS, "Threads of the last product."),
    RESULT("advisories", RL_ADVISORIES,
           "Advice since the last query, flags: 1 packs an operand in each "
           "call,\n2 a stride of 4096 bytes, 4 int7 was promised of others, 8 "
           "unaligned for AMX."),
#undef RESULT
    {NULL, NULL, NULL, NULL, NULL}};
static PyType_Slot context_slots[] = {
    {Py_tp_new, (void*)ContextNew},
    {Py_tp_dealloc, (void*)ContextFree},
    {Py_tp_methods, context_methods},
    {Py_tp_getset, context_getset},
    {Py_tp_doc,
     "Context(threads=1, paths=None, workers_of=None)\n--\n\n"
     "Threads, permitted paths (\"avx2,avx512vnni\"; None: all) and the cache\n"
     "of packed operands. Calls of mul with one Context take turns; use one "
     "per\n"
     "thread to run products side by side. workers_of: a Context whose worker\n"
     "threads serve this one, too. Attributes are its other settings."},
    {0, NULL}};
static PyType_Spec context_spec = {"ruy_like.Context", sizeof(ContextObject), 0,
                                   Py_TPFLAGS_DEFAULT, context_slots};

// ## The module

static PyObject* Info(PyObject* self, PyObject* ignored) {
  rl_info info = {0};
  rl_status status;
  (void)self;
  (void)ignored;
  info.size = sizeof info;
  status = rl_get_info(&info);
  if (status != RL_OK) return RaiseStatus(status);
  return Py_BuildValue(
      "{s:s,s:s,s:s,s:s,s:n,s:n,s:n,s:n}", "version", rl_version(), "features",
      info.features, "compiled_paths", info.compiled_paths, "paths", info.paths,
      "l1d_bytes", info.l1d_bytes, "l2_bytes", info.l2_bytes, "l3_bytes",
      info.l3_bytes, "default_threads", info.default_threads);
}

static PyMethodDef functions[] = {
    {"mul", (PyCFunction)(void (*)(void))Mul, METH_FASTCALL | METH_KEYWORDS,
     "mul(lhs, rhs, out=None, *, dtype=None, bias=None, channels='cols',\n"
     "    multiplier=None, rounding='once', clamp=None, beta=None, "
     "lhs_scale=None,\n"
     "    rhs_scale=None, lhs_zero_point=0, rhs_zero_point=0,\n"
     "    out_zero_point=0, cache='none', int7='none',\n"
     "    float_sums=None, activation_scales='per_column',\n"
     "    activation_zero_points=None, activation='none', slope=None, "
     "factor=None,\n"
     "    residual=None, table=None, threads=0, context=None)\n--\n\n"
     "The product of lhs (M x K) and rhs (K x N), as an M x N array.\n\n"
     "lhs, rhs: arrays of two dimensions whose rows or columns are "
     "contiguous, or\n"
     "of three, for a batch (with the other one for all products, or one "
     "each):\n"
     "NumPy's, other buffers, or what has __dlpack__; or a PackedMatrix, or\n"
     "GroupWeights (rows x depth; on the right they stand for their "
     "transpose).\n"
     "out: the array to write; else one of dtype, by default int32 for\n"
     "integers (float32 with scales), float64 if an operand is, else float32.\n"
     "Types: README.md. int8, uint8 and int16 results are requantized:\n"
     "multiplier is (fixedpoint, exponent), ints or int32 arrays of a value "
     "per\n"
     "channel; rounding 'twice' is gemmlowp's; with 'float' it is by scales.\n"
     "lhs_scale and rhs_scale: floats, or float32 arrays of a value per row "
     "and "
     "per\n"
     "column, for float32 results of integers and for rounding='float'.\n"
     "lhs_zero_point, rhs_zero_point: ints, or int32 arrays of a value per row "
     "and\n"
     "per column. table: 256 uint8, which the bits of int8 or uint8 results "
     "are\n"
     "replaced by.\n"
     "bias: a value per channel (int32, float32, float64); channels: 'cols' "
     "or\n"
     "'rows' of the result. clamp: (min, max). beta: out = beta * out + ...\n"
     "activation, factor, residual: float results are activation(...) * "
     "factor +\n"
     "residual; 'relu' (slope: a float, or float32 per channel), 'gelu',\n"
     "'gelu_tanh', 'silu', 'sigmoid', 'tanh' or 'hard_swish'; arrays of the\n"
     "result's shape, or of a float32 per channel. residual may be out.\n"
     "float_sums: 'in_order' or 'any_order'; None: the context's.\n"
     "activation_scales: 'per_column' or 'per_group', how GroupWeights' float\n"
     "activations are quantized; activation_zero_points: int8 ones' zero "
     "points.\n"
     "cache, int7: 'lhs', 'rhs', 'both' are constant, or within [-63, 63].\n"
     "ValueError with the reason for what cannot be multiplied; out is then\n"
     "untouched. The GIL is released."},
    {"pack_groups", (PyCFunction)(void (*)(void))PackGroups,
     METH_VARARGS | METH_KEYWORDS,
     "pack_groups(levels, scales, zero_points=None, bits=4, depth=-1,\n"
     "            group_size=0, table=None, context=None,\n"
     "            depth_order=None)\n--\n\n"
     "GroupWeights of levels (4 bits: uint8, rows x ceil(depth / 2), the even "
     "k\n"
     "in the low nibble; 2: uint8, rows x ceil(depth / 4); 8: int8, rows x "
     "depth)\n"
     "and scales (float32, float16 or bfloat16, rows x groups). table: 16 or, "
     "for\n"
     "2 bits, 4 int8 that the levels stand for. zero_points: rows x groups, "
     "uint8\n"
     "for 4 bits without a table, else int8; None: the middle. group_size: a "
     "multiple of 16, 0 for whole rows. depth_order: depth int32; level k of "
     "each\n"
     "row is multiplied by element depth_order[k] of the activations."},
    {"info", Info, METH_NOARGS,
     "info()\n--\n\nVersion, processor features, paths, cache sizes."},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef module_def = {PyModuleDef_HEAD_INIT,
                                        "_core",
                                        NULL,
                                        -1,
                                        functions,
                                        NULL,
                                        NULL,
                                        NULL,
                                        NULL};

// A new reference, added to the module under this name.
static PyObject* AddType(PyObject* module, const char* name,
                         PyType_Spec* spec) {
  PyObject* type = PyType_FromSpec(spec);
  if (type == NULL || PyModule_AddObjectRef(module, name, type) != 0) {
    return NULL;
  }
  return type;
}

static int AddNumpy(void) {
  PyObject* numpy = PyImport_ImportModule("numpy");
  PyObject* ml_dtypes;
  int i;
  if (numpy == NULL) return 0;
  g_state.empty = PyObject_GetAttrString(numpy, "empty");
  ml_dtypes = PyImport_ImportModule("ml_dtypes");
  PyErr_Clear();
  for (i = 1; i < kNumTypes; ++i) {
    const char* const name = kTypes[i].name;
    if (kTypes[i].format != NULL) {
      g_state.dtypes[i] = PyObject_CallMethod(numpy, "dtype", "s", name);
      if (g_state.dtypes[i] == NULL) return 0;
    } else if (ml_dtypes != NULL) {
      PyObject* type = PyObject_GetAttrString(ml_dtypes, name);
      if (type != NULL) {
        g_state.dtypes[i] = PyObject_CallMethod(numpy, "dtype", "O", type);
      }
      Py_XDECREF(type);
      PyErr_Clear();
    }
  }
  Py_XDECREF(ml_dtypes);
  Py_DECREF(numpy);
  return g_state.empty != NULL;
}

PyMODINIT_FUNC PyInit__core(void) {
  PyObject* module = PyModule_Create(&module_def);
  int i;
  if (module == NULL) return NULL;
  for (i = 0; i < kNumKeywords; ++i) {
    g_keywords[i] = PyUnicode_InternFromString(kKeywords[i]);
    if (g_keywords[i] == NULL) return NULL;
  }
  g_state.dlpack = PyUnicode_InternFromString("__dlpack__");
  g_state.context_type = AddType(module, "Context", &context_spec);
  g_state.packed_type = AddType(module, "PackedMatrix", &packed_spec);
  g_state.groups_type = AddType(module, "GroupWeights", &groups_spec);
  if (g_state.dlpack == NULL || g_state.context_type == NULL ||
      g_state.packed_type == NULL || g_state.groups_type == NULL ||
      !AddNumpy() ||
      PyModule_AddStringConstant(module, "__version__", rl_version()) != 0) {
    return NULL;
  }
  g_state.default_context =
      PyObject_CallFunctionObjArgs(g_state.context_type, NULL);
  return g_state.default_context == NULL ? NULL : module;
}
