// Python: the extension module ruy_like._core, over the C interface and the
// limited API of CPython 3.11, so that one file serves that and later versions.
//
// It turns arrays into rl_matrix: what has the buffer protocol, NumPy arrays of
// ml_dtypes' bfloat16, and what has __dlpack__. The C interface checks values;
// lengths of arrays, which it cannot see, are checked here.
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000
#include <Python.h>
#include <stdlib.h>
#include <string.h>

#include "ruy_like/c/ruy_like.h"

// ## DLPack: a tensor in a capsule "dltensor" (version 0 of the standard).

typedef struct {
  void* data;
  struct {
    int32_t type, id;
  } device;
  int32_t ndim;
  struct {
    uint8_t code, bits;
    uint16_t lanes;
  } dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; null: row-major without gaps
  uint64_t byte_offset;
} DLTensor;

enum { kDLCpu = 1, kDLInt = 0, kDLUInt = 1, kDLFloat = 2, kDLBfloat = 4 };

// ## Types

static const struct {
  const char* name;    // NumPy's
  const char* format;  // of the buffer protocol; null: none
  int bytes, dl_code;
} kTypes[] = {
    {"", NULL, 0, 0},
    {"int8", "b", 1, kDLInt},
    {"uint8", "B", 1, kDLUInt},
    {"int16", "h", 2, kDLInt},
    {"int32", "i", 4, kDLInt},
    {"float32", "f", 4, kDLFloat},
    {"float64", "d", 8, kDLFloat},
    {"bfloat16", NULL, 2, kDLBfloat},
    {"float16", "e", 2, kDLFloat},
};
enum { kNumTypes = sizeof(kTypes) / sizeof(kTypes[0]) };

typedef struct {
  PyObject *context_type, *packed_type, *groups_type;
  PyObject *empty, *dtypes[kNumTypes];  // numpy.empty, numpy.dtype objects
  PyObject* default_context;
  PyObject* dlpack;  // "__dlpack__"
} State;

// One module, one interpreter: types and functions look here.
static State g_state;

typedef struct {
  PyObject ob_base;
  rl_context* context;
} ContextObject;

// A PackedMatrix or a GroupWeights.
typedef struct {
  PyObject ob_base;
  rl_packed* packed;
  void* bytes;  // that it refers to, or null
  Py_ssize_t rows, cols;
  int type;
} PackedObject;

static int HasType(PyObject* object, PyObject* type) {
  return (PyObject*)Py_TYPE(object) == type;
}

// ValueError, MemoryError or RuntimeError with the text of the C interface.
static PyObject* RaiseStatus(rl_status status) {
  PyObject* type = PyExc_RuntimeError;
  if (status == RL_INVALID_ARGUMENT || status == RL_OUT_OF_RANGE ||
      status == RL_DATA_LOSS) {
    type = PyExc_ValueError;
  } else if (status == RL_RESOURCE_EXHAUSTED) {
    type = PyExc_MemoryError;
  }
  PyErr_SetString(type, rl_last_error());
  return NULL;
}

// ## Arrays

// Memory of an object's that is held: by the buffer protocol or a capsule.
typedef struct {
  Py_buffer buffer;  // if buffer.obj is not null
  PyObject* capsule;
  void* data;
  int type;
  Py_ssize_t ndim, shape[2], strides[2];  // strides in bytes
  int read_only;
} Array;

static void Release(Array* array) {
  if (array->buffer.obj != NULL) PyBuffer_Release(&array->buffer);
  Py_CLEAR(array->capsule);
}

static int SetShape(const char* name, Array* array, Py_ssize_t ndim) {
  if (ndim == 1 || ndim == 2) {
    array->ndim = ndim;
    array->shape[1] = 1;
    array->strides[1] = kTypes[array->type].bytes;
    return 1;
  }
  PyErr_Format(PyExc_ValueError, "%s has %zd dimensions", name, ndim);
  return 0;
}

static int TakeDlpack(const char* name, PyObject* object, Array* array) {
  const DLTensor* tensor;
  int i;
  array->capsule = PyObject_CallMethodObjArgs(object, g_state.dlpack, NULL);
  if (array->capsule == NULL) return 0;
  // It stays "dltensor": its own destructor will free it.
  tensor = (const DLTensor*)PyCapsule_GetPointer(array->capsule, "dltensor");
  if (tensor == NULL) return 0;
  if (tensor->device.type != kDLCpu) {
    PyErr_Format(PyExc_ValueError, "%s is not in the CPU's memory", name);
    return 0;
  }
  for (i = 1; i < kNumTypes; ++i) {
    if (tensor->dtype.code == kTypes[i].dl_code && tensor->dtype.lanes == 1 &&
        tensor->dtype.bits == 8 * kTypes[i].bytes) {
      array->type = i;
    }
  }
  if (array->type == 0) {
    PyErr_Format(PyExc_TypeError, "%s has an unknown DLPack type", name);
    return 0;
  }
  if (!SetShape(name, array, tensor->ndim)) return 0;
  for (i = 0; i < tensor->ndim; ++i) {
    array->shape[i] = (Py_ssize_t)tensor->shape[i];
    if (tensor->strides != NULL) {
      array->strides[i] =
          (Py_ssize_t)tensor->strides[i] * kTypes[array->type].bytes;
    }
  }
  if (tensor->strides == NULL) {
    array->strides[0] = tensor->ndim == 2
                            ? array->shape[1] * kTypes[array->type].bytes
                            : kTypes[array->type].bytes;
  }
  array->data = (char*)tensor->data + tensor->byte_offset;
  return 1;
}

static int TakeBuffer(const char* name, PyObject* object, Array* array) {
  const char* format;
  int i;
  if (PyObject_GetBuffer(object, &array->buffer,
                         PyBUF_STRIDES | PyBUF_FORMAT) != 0) {
    array->buffer.obj = NULL;
    return 0;
  }
  format = array->buffer.format != NULL ? array->buffer.format : "B";
  if (array->type == 0) {
    for (i = 1; i < kNumTypes; ++i) {
      if (kTypes[i].format != NULL && strcmp(kTypes[i].format, format) == 0) {
        array->type = i;
      }
    }
  }
  if (array->type == 0) {
    PyErr_Format(PyExc_TypeError, "%s has elements of format '%s'", name,
                 format);
    return 0;
  }
  if (!SetShape(name, array, array->buffer.ndim)) return 0;
  for (i = 0; i < array->buffer.ndim; ++i) {
    array->shape[i] = array->buffer.shape[i];
    array->strides[i] = array->buffer.strides[i];
  }
  array->data = array->buffer.buf;
  array->read_only = array->buffer.readonly;
  return 1;
}

// A NumPy array of bfloat16 has no buffer; its view as uint16 has one.
static int TakeBfloat16(const char* name, PyObject* object, Array* array) {
  int result;
  PyObject* view = PyObject_CallMethod(object, "view", "s", "uint16");
  if (view == NULL) return 0;
  array->type = RL_BFLOAT16;
  result = TakeBuffer(name, view, array);  // refers to the view
  Py_DECREF(view);
  return result;
}

static int IsBfloat16(PyObject* object) {
  int result = 0;
  PyObject* dtype = PyObject_GetAttrString(object, "dtype");
  PyObject* text = dtype != NULL ? PyObject_Str(dtype) : NULL;
  if (text != NULL) {
    result = PyUnicode_CompareWithASCIIString(text, "bfloat16") == 0 &&
             PyObject_HasAttrString(object, "view");
  }
  Py_XDECREF(text);
  Py_XDECREF(dtype);
  PyErr_Clear();
  return result;
}

// Holds the memory of an array; false with an exception. Release() in any case.
static int Take(const char* name, PyObject* object, Array* array) {
  if (PyObject_CheckBuffer(object)) {
    if (TakeBuffer(name, object, array)) return 1;
    if (array->buffer.obj != NULL ||
        !PyErr_ExceptionMatches(PyExc_ValueError)) {
      return 0;
    }
    PyErr_Clear();
    if (IsBfloat16(object)) return TakeBfloat16(name, object, array);
  }
  if (PyObject_HasAttr(object, g_state.dlpack)) {
    return TakeDlpack(name, object, array);
  }
  PyErr_Format(PyExc_TypeError,
               "%s is no array: it has no buffer nor __dlpack__", name);
  return 0;
}

// A one-dimensional array without gaps, of `length` elements of this type.
static const void* Vector(const char* name, PyObject* object, int type,
                          Py_ssize_t length, Array* array) {
  if (!Take(name, object, array)) return NULL;
  if (array->ndim != 1 || array->type != type ||
      (array->shape[0] > 1 && array->strides[0] != kTypes[type].bytes)) {
    PyErr_Format(PyExc_ValueError,
                 "%s must be a contiguous array of one dimension of %s", name,
                 kTypes[type].name);
    return NULL;
  }
  if (array->shape[0] != length) {
    PyErr_Format(PyExc_ValueError, "%s has %zd elements, not %zd", name,
                 array->shape[0], length);
    return NULL;
  }
  return array->data;
}

// The layout of a held array.
static int Describe(const char* name, const Array* array, rl_matrix* matrix) {
  const Py_ssize_t bytes = kTypes[array->type].bytes;
  const Py_ssize_t rows = array->shape[0], cols = array->shape[1];
  Py_ssize_t row = array->strides[0], col = array->strides[1];
  if (array->ndim != 2) {
    PyErr_Format(PyExc_ValueError, "%s has one dimension: reshape it", name);
    return 0;
  }
  // A dimension of 1 has any stride.
  if (cols <= 1) col = bytes;
  if (rows <= 1) row = col == bytes ? cols * bytes : bytes;
  matrix->size = sizeof *matrix;
  matrix->data = array->data;
  matrix->type = array->type;
  matrix->rows = rows;
  matrix->cols = cols;
  if (col == bytes && row >= cols * bytes && row % bytes == 0) {
    matrix->order = RL_ROW_MAJOR;
    matrix->stride = row / bytes;
  } else if (row == bytes && col >= rows * bytes && col % bytes == 0) {
    matrix->order = RL_COL_MAJOR;
    matrix->stride = col / bytes;
  } else if (rows == 0 || cols == 0) {
    matrix->order = RL_ROW_MAJOR;
  } else {
    PyErr_Format(PyExc_ValueError,
                 "%s has strides (%zd, %zd): neither its rows nor its columns "
                 "are contiguous and apart; copy it with "
                 "numpy.ascontiguousarray",
                 name, array->strides[0], array->strides[1]);
    return 0;
  }
  return 1;
}

// An operand, packed or not: its shape is in the matrix either way.
static int TakeOperand(const char* name, PyObject* object, Array* array,
                       rl_matrix* matrix) {
  if (HasType(object, g_state.packed_type) ||
      HasType(object, g_state.groups_type)) {
    const PackedObject* packed = (const PackedObject*)object;
    matrix->size = sizeof *matrix;
    matrix->packed = packed->packed;
    matrix->rows = packed->rows;
    matrix->cols = packed->cols;
    matrix->type = packed->type;
    return 1;
  }
  return Take(name, object, array) && Describe(name, array, matrix);
}

// A new NumPy array, row-major.
static PyObject* NewArray(Py_ssize_t rows, Py_ssize_t cols, int type) {
  PyObject *shape, *array;
  if (g_state.dtypes[type] == NULL) {
    PyErr_Format(PyExc_TypeError, "%s needs the package ml_dtypes",
                 kTypes[type].name);
    return NULL;
  }
  shape = Py_BuildValue("(nn)", rows, cols);
  if (shape == NULL) return NULL;
  array = PyObject_CallFunctionObjArgs(g_state.empty, shape,
                                       g_state.dtypes[type], NULL);
  Py_DECREF(shape);
  return array;
}

// ## Arguments

// One of `names`, which end with null: *index becomes its position.
static int Choose(const char* name, PyObject* object, const char* const* names,
                  int32_t* index) {
  int i;
  if (PyUnicode_Check(object)) {
    for (i = 0; names[i] != NULL; ++i) {
      if (PyUnicode_CompareWithASCIIString(object, names[i]) == 0) {
        *index = i;
        return 1;
      }
    }
  }
  PyErr_Format(PyExc_ValueError,
               "%s is %R, not '%s' or another that is documented", name, object,
               names[0]);
  return 0;
}

static int ToInt32(const char* name, PyObject* object, int32_t* value) {
  const long long number = PyLong_AsLongLong(object);
  if (number == -1 && PyErr_Occurred()) return 0;
  if (number < INT32_MIN || number > INT32_MAX) {
    PyErr_Format(PyExc_ValueError, "%s = %lld is too large", name, number);
    return 0;
  }
  *value = (int32_t)number;
  return 1;
}

static const char* const kOrders[] = {"col", "row", NULL};
static const char* const kSides[] = {"lhs", "rhs", NULL};
static const char* const kChannels[] = {"rows", "cols", NULL};
static const char* const kSums[] = {"in_order", "any_order", NULL};
static const char* const kScalings[] = {"per_column", "per_group", NULL};
static const char* const kPackFor[] = {"default", "int16",    "double",
                                       "int7",    "bfloat16", NULL};

static rl_context* ContextOf(PyObject* object) {
  if (object == NULL || object == Py_None) object = g_state.default_context;
  if (HasType(object, g_state.context_type)) {
    return ((ContextObject*)object)->context;
  }
  PyErr_SetString(PyExc_TypeError, "context is no ruy_like.Context");
  return NULL;
}

// ## mul

enum {
  kOut,
  kDtype,
  kBias,
  kChannelsOf,
  kMultiplier,
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
  kThreads,
  kContext,
  kNumKeywords
};
static const char* const kKeywords[] = {
    "out",        "dtype",          "bias",           "channels",
    "multiplier", "clamp",          "beta",           "lhs_scale",
    "rhs_scale",  "lhs_zero_point", "rhs_zero_point", "out_zero_point",
    "cache",      "int7",           "float_sums",     "activation_scales",
    "threads",    "context"};
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
  kNumArrays
};

typedef struct {
  Array arrays[kNumArrays];
  rl_matrix lhs, rhs, dst;
  rl_params params;
  int32_t fixedpoint, exponent;
  float lhs_scale, rhs_scale;
} Call;

static int TypeOf(PyObject* dtype) {
  int i;
  for (i = 1; i < kNumTypes; ++i) {
    if (dtype == g_state.dtypes[i]) return i;
  }
  // "int8", numpy.int8, a dtype that is equal.
  PyObject* name = PyUnicode_Check(dtype)
                       ? Py_NewRef(dtype)
                       : PyObject_GetAttrString(
                             dtype, PyType_Check(dtype) ? "__name__" : "name");
  if (name != NULL && PyUnicode_Check(name)) {
    for (i = 1; i < kNumTypes; ++i) {
      if (PyUnicode_CompareWithASCIIString(name, kTypes[i].name) == 0) {
        Py_DECREF(name);
        return i;
      }
    }
  }
  Py_XDECREF(name);
  PyErr_Clear();
  PyErr_Format(PyExc_TypeError, "dtype %R is not one of an array's", dtype);
  return 0;
}

static int IsDouble(const Call* call) {
  return call->lhs.type == RL_FLOAT64 || call->rhs.type == RL_FLOAT64 ||
         call->dst.type == RL_FLOAT64;
}

static int ReadScale(const char* name, PyObject* object, Py_ssize_t length,
                     Array* array, float* single, const float** scale,
                     int32_t* is_array) {
  if (object == NULL) return 1;
  if (PyFloat_Check(object) || PyLong_Check(object)) {
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
  if (PyLong_Check(fixedpoint)) {
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

static int ReadParams(PyObject* const* values, Call* call) {
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
    if (!PyArg_ParseTuple(values[kClamp], "dd;clamp is (min, max)",
                          &params->clamp_min, &params->clamp_max)) {
      return 0;
    }
  }
  if (values[kBeta] != NULL) {
    params->beta = PyFloat_AsDouble(values[kBeta]);
    if (PyErr_Occurred()) return 0;
  }
  return ReadScale("lhs_scale", values[kLhsScale], call->dst.rows,
                   &call->arrays[kLhsScales], &call->lhs_scale,
                   &params->lhs_scale, &params->lhs_scale_per_row) &&
         ReadScale("rhs_scale", values[kRhsScale], call->dst.cols,
                   &call->arrays[kRhsScales], &call->rhs_scale,
                   &params->rhs_scale, &params->rhs_scale_per_col) &&
         (values[kLhsZero] == NULL ||
          ToInt32("lhs_zero_point", values[kLhsZero], &call->lhs.zero_point)) &&
         (values[kRhsZero] == NULL ||
          ToInt32("rhs_zero_point", values[kRhsZero], &call->rhs.zero_point)) &&
         (values[kOutZero] == NULL ||
          ToInt32("out_zero_point", values[kOutZero], &call->dst.zero_point)) &&
         (values[kThreads] == NULL ||
          ToInt32("threads", values[kThreads], &params->max_num_threads)) &&
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
    out = NewArray(rows, cols, type);
    if (out == NULL) return NULL;
  }
  if (!Take("out", out, &call->arrays[kDst]) ||
      !Describe("out", &call->arrays[kDst], &call->dst)) {
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
      !TakeOperand("lhs", args[0], &call->arrays[kLhs], &call->lhs) ||
      !TakeOperand("rhs", args[1], &call->arrays[kRhs], &call->rhs)) {
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
  if (!ReadParams(values, call) ||
      !ReadOperands("cache", values[kCache], &call->lhs.cache_policy,
                    &call->rhs.cache_policy, RL_ALWAYS_CACHE) ||
      !ReadOperands("int7", values[kInt7], &call->lhs.value_range,
                    &call->rhs.value_range, RL_INT7)) {
    Py_DECREF(out);
    return NULL;
  }
  Py_BEGIN_ALLOW_THREADS;
  status = rl_mul(&call->lhs, &call->rhs, &call->params, context, &call->dst);
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
  result = MulCall(args, values, &call);
  for (i = 0; i < kNumArrays; ++i) Release(&call.arrays[i]);
  return result;
}

// ## Context

static PyObject* ContextNew(PyTypeObject* type, PyObject* args,
                            PyObject* kwargs) {
  static char* keywords[] = {"threads", "paths", NULL};
  int threads = 1;
  const char* paths = NULL;
  ContextObject* self;
  rl_status status;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|iz:Context", keywords,
                                   &threads, &paths)) {
    return NULL;
  }
  self =
      (ContextObject*)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
  if (self == NULL) return NULL;
  status = rl_context_create(&self->context);
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

static void Free(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
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

static PyMethodDef context_methods[] = {
    {"clear_cache", ContextClearCache, METH_NOARGS,
     "clear_cache()\n--\n\nForgets cached operands: before their data "
     "changes."},
    {NULL, NULL, 0, NULL}};
static PyGetSetDef context_getset[] = {
    {"last_path", ContextLast, NULL, "The path of the last product.", NULL},
    {"last_kernel", ContextLast, NULL, "The kernel of the last product.",
     &g_state},
    {NULL, NULL, NULL, NULL, NULL}};
static PyType_Slot context_slots[] = {
    {Py_tp_new, (void*)ContextNew},
    {Py_tp_dealloc, (void*)ContextFree},
    {Py_tp_methods, context_methods},
    {Py_tp_getset, context_getset},
    {Py_tp_doc,
     "Context(threads=1, paths=None)\n--\n\n"
     "Threads, permitted paths (\"avx2,avx512vnni\"; None: all) and the cache\n"
     "of packed operands. Calls of mul with one Context take turns; use one "
     "per\n"
     "thread to run products side by side."},
    {0, NULL}};
static PyType_Spec context_spec = {"ruy_like.Context", sizeof(ContextObject), 0,
                                   Py_TPFLAGS_DEFAULT, context_slots};

// ## PackedMatrix, GroupWeights

static PackedObject* NewPacked(PyObject* type, int element_type) {
  PackedObject* self = (PackedObject*)((allocfunc)PyType_GetSlot(
      (PyTypeObject*)type, Py_tp_alloc))((PyTypeObject*)type, 0);
  if (self != NULL) {
    self->type = element_type;
  }
  return self;
}

static void PackedFree(PyObject* object) {
  PackedObject* self = (PackedObject*)object;
  rl_packed_destroy(self->packed);
  free(self->bytes);
  Free(object);
}

// Takes the handle's shape.
static PyObject* Finished(PackedObject* self, rl_status status) {
  ptrdiff_t rows = 0, cols = 0;
  if (status == RL_OK) status = rl_packed_shape(self->packed, &rows, &cols);
  if (status != RL_OK) {
    Py_DECREF(self);
    return RaiseStatus(status);
  }
  self->rows = rows;
  self->cols = cols;
  return (PyObject*)self;
}

static PyObject* PackedNew(PyTypeObject* type, PyObject* args,
                           PyObject* kwargs) {
  static char* keywords[] = {"matrix",     "side", "order",   "pack_for",
                             "zero_point", "int7", "context", NULL};
  PyObject *object, *side = NULL, *order = NULL, *pack_for = NULL;
  PyObject* context_object = NULL;
  int zero_point = 0, int7 = 0;
  rl_matrix matrix = {0};
  rl_pack_options options = {0};
  rl_context* context;
  Array array = {0};
  PackedObject* self = NULL;
  options.size = sizeof options;
  options.side = RL_RHS;
  options.dst_order = RL_ROW_MAJOR;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OOOipO:PackedMatrix",
                                   keywords, &object, &side, &order, &pack_for,
                                   &zero_point, &int7, &context_object)) {
    return NULL;
  }
  context = ContextOf(context_object);
  if (context == NULL ||
      (side != NULL && !Choose("side", side, kSides, &options.side)) ||
      (order != NULL && !Choose("order", order, kOrders, &options.dst_order)) ||
      (pack_for != NULL &&
       !Choose("pack_for", pack_for, kPackFor, &options.pack_for))) {
    return NULL;
  }
  if (Take("matrix", object, &array) && Describe("matrix", &array, &matrix)) {
    self = NewPacked((PyObject*)type, matrix.type);
  }
  if (self != NULL) {
    rl_status status;
    matrix.zero_point = zero_point;
    matrix.value_range = int7;
    Py_BEGIN_ALLOW_THREADS;
    status = rl_pack(&matrix, &options, context, &self->packed);
    Py_END_ALLOW_THREADS;
    self = (PackedObject*)Finished(self, status);
  }
  Release(&array);
  return (PyObject*)self;
}

static PyObject* PackedToBytes(PyObject* self, PyObject* ignored) {
  const void* data = NULL;
  size_t bytes = 0;
  const rl_status status =
      rl_packed_to_bytes(((PackedObject*)self)->packed, &data, &bytes);
  (void)ignored;
  if (status != RL_OK) return RaiseStatus(status);
  return PyBytes_FromStringAndSize((const char*)data, (Py_ssize_t)bytes);
}

static PyObject* PackedShape(PyObject* self, void* ignored) {
  (void)ignored;
  return Py_BuildValue("(nn)", ((PackedObject*)self)->rows,
                       ((PackedObject*)self)->cols);
}

// Of a PackedMatrix with its dtype.
static PyObject* PackedFromBytes(PyObject* type, PyObject* args) {
  const char* data;
  Py_ssize_t size;
  PyObject* dtype = NULL;
  PackedObject* self;
  int element_type = RL_GROUP_WEIGHTS;
  const int groups = type == g_state.groups_type;
  if (!PyArg_ParseTuple(args, groups ? "y#" : "y#O", &data, &size, &dtype)) {
    return NULL;
  }
  if (dtype != NULL) {
    element_type = TypeOf(dtype);
    if (element_type == 0) return NULL;
  }
  self = NewPacked(type, groups ? RL_FLOAT32 : element_type);
  if (self == NULL) return NULL;
  // Bytes objects are not aligned to 64 bytes: a copy is used.
  self->bytes = aligned_alloc(64, ((size_t)size + 64) / 64 * 64);
  if (self->bytes == NULL) {
    Py_DECREF(self);
    return PyErr_NoMemory();
  }
  memcpy(self->bytes, data, (size_t)size);
  return Finished(self, rl_packed_from_bytes(self->bytes, (size_t)size,
                                             element_type, 1, &self->packed));
}

static PyObject* PackGroups(PyObject* self_module, PyObject* args,
                            PyObject* kwargs) {
  static char* keywords[] = {"levels", "scales",     "zero_points", "bits",
                             "depth",  "group_size", "context",     NULL};
  PyObject *levels, *scales, *zeros = NULL, *context_object = NULL;
  Py_ssize_t depth = -1, group_size = 0, groups;
  int bits = 4;
  rl_group_weights weights = {0};
  rl_context* context;
  Array arrays[3];
  rl_matrix matrices[3];
  PyObject* result = NULL;
  int i;
  (void)self_module;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|OinnO:pack_groups",
                                   keywords, &levels, &scales, &zeros, &bits,
                                   &depth, &group_size, &context_object)) {
    return NULL;
  }
  context = ContextOf(context_object);
  if (context == NULL) return NULL;
  if (zeros == Py_None) zeros = NULL;
  memset(arrays, 0, sizeof arrays);
  memset(matrices, 0, sizeof matrices);
  if (!Take("levels", levels, &arrays[0]) ||
      !Describe("levels", &arrays[0], &matrices[0]) ||
      !Take("scales", scales, &arrays[1]) ||
      !Describe("scales", &arrays[1], &matrices[1]) ||
      (zeros != NULL && (!Take("zero_points", zeros, &arrays[2]) ||
                         !Describe("zero_points", &arrays[2], &matrices[2])))) {
    goto end;
  }
  if (depth < 0) depth = matrices[0].cols * (bits == 4 ? 2 : 1);
  groups = group_size <= 0 ? depth > 0 : (depth + group_size - 1) / group_size;
  // What the C interface reads must be there.
  for (i = 0; i < (zeros != NULL ? 3 : 2); ++i) {
    const Py_ssize_t cols =
        i == 0 ? (bits == 4 ? (depth + 1) / 2 : depth) : groups;
    if (matrices[i].order != RL_ROW_MAJOR || matrices[i].cols != cols ||
        matrices[i].rows != matrices[0].rows) {
      PyErr_Format(PyExc_ValueError,
                   "%s is %zdx%zd, and must be a row-major %zdx%zd",
                   i == 0   ? "levels"
                   : i == 1 ? "scales"
                            : "zero_points",
                   matrices[i].rows, matrices[i].cols, matrices[0].rows, cols);
      goto end;
    }
  }
  if (arrays[0].type != (bits == 4 ? RL_UINT8 : RL_INT8) ||
      (zeros != NULL && (arrays[2].type != arrays[0].type ||
                         matrices[2].stride != matrices[1].stride))) {
    PyErr_SetString(PyExc_ValueError,
                    "levels and zero_points are uint8 for 4 bits, int8 for 8");
    goto end;
  }
  weights.size = sizeof weights;
  weights.rows = matrices[0].rows;
  weights.depth = depth;
  weights.bits = bits;
  weights.group_size = group_size;
  weights.levels = arrays[0].data;
  weights.row_stride_bytes = matrices[0].stride;
  weights.scales = arrays[1].data;
  weights.scale_type = arrays[1].type;
  weights.scale_stride = matrices[1].stride;
  if (zeros != NULL) weights.zero_points = arrays[2].data;
  {
    rl_status status;
    PackedObject* packed = NewPacked(g_state.groups_type, RL_FLOAT32);
    if (packed == NULL) goto end;
    Py_BEGIN_ALLOW_THREADS;
    status = rl_pack_groups(&weights, context, &packed->packed);
    Py_END_ALLOW_THREADS;
    result = Finished(packed, status);
  }
end:
  for (i = 0; i < 3; ++i) Release(&arrays[i]);
  return result;
}

static PyMethodDef packed_methods[] = {
    {"to_bytes", PackedToBytes, METH_NOARGS,
     "to_bytes()\n--\n\nThe packed form, for a file and from_bytes."},
    {"from_bytes", PackedFromBytes, METH_VARARGS | METH_CLASS,
     "from_bytes(data, dtype)\n--\n\n"
     "From what to_bytes gave (GroupWeights: without dtype). ValueError for\n"
     "damaged data; RuntimeError if this machine lacks the path."},
    {NULL, NULL, 0, NULL}};
static PyGetSetDef packed_getset[] = {
    {"shape", PackedShape, NULL, "Rows and columns (or depth).", NULL},
    {NULL, NULL, NULL, NULL, NULL}};
static PyType_Slot packed_slots[] = {
    {Py_tp_new, (void*)PackedNew},
    {Py_tp_dealloc, (void*)PackedFree},
    {Py_tp_methods, packed_methods},
    {Py_tp_getset, packed_getset},
    {Py_tp_doc,
     "PackedMatrix(matrix, side='rhs', order='row', pack_for='default',\n"
     "             zero_point=0, int7=False, context=None)\n--\n\n"
     "An operand of mul that is packed once. side: 'lhs' or 'rhs'; order: of\n"
     "the products' results, 'row' as NumPy's, or 'col'; pack_for: 'default',\n"
     "'int16', 'double', 'int7' or 'bfloat16', for the other operand's type."},
    {0, NULL}};
static PyType_Spec packed_spec = {"ruy_like.PackedMatrix", sizeof(PackedObject),
                                  0, Py_TPFLAGS_DEFAULT, packed_slots};
static PyType_Slot groups_slots[] = {{Py_tp_dealloc, (void*)PackedFree},
                                     {Py_tp_methods, packed_methods},
                                     {Py_tp_getset, packed_getset},
                                     {Py_tp_doc,
                                      "Weights of 4 or 8 bits with group "
                                      "scales, rows x depth: see pack_groups."},
                                     {0, NULL}};
static PyType_Spec groups_spec = {
    "ruy_like.GroupWeights", sizeof(PackedObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, groups_slots};

// ## The module

static PyObject* Info(PyObject* self, PyObject* ignored) {
  rl_info info = {0};
  rl_status status;
  (void)self;
  (void)ignored;
  info.size = sizeof info;
  status = rl_get_info(&info);
  if (status != RL_OK) return RaiseStatus(status);
  return Py_BuildValue("{s:s,s:s,s:s,s:s,s:n,s:n,s:n}", "version", rl_version(),
                       "features", info.features, "compiled_paths",
                       info.compiled_paths, "paths", info.paths, "l1d_bytes",
                       info.l1d_bytes, "l2_bytes", info.l2_bytes, "l3_bytes",
                       info.l3_bytes);
}

static PyMethodDef functions[] = {
    {"mul", (PyCFunction)(void (*)(void))Mul, METH_FASTCALL | METH_KEYWORDS,
     "mul(lhs, rhs, out=None, *, dtype=None, bias=None, channels='cols',\n"
     "    multiplier=None, clamp=None, beta=None, lhs_scale=None,\n"
     "    rhs_scale=None, lhs_zero_point=0, rhs_zero_point=0,\n"
     "    out_zero_point=0, cache='none', int7='none',\n"
     "    float_sums='in_order', activation_scales='per_column', threads=0,\n"
     "    context=None)\n--\n\n"
     "The product of lhs (M x K) and rhs (K x N), as an M x N array.\n\n"
     "lhs, rhs: arrays of two dimensions whose rows or columns are "
     "contiguous:\n"
     "NumPy's, other buffers, or what has __dlpack__; or a PackedMatrix, or\n"
     "GroupWeights (rows x depth; on the right they stand for their "
     "transpose).\n"
     "out: the array to write; else one of dtype, by default int32 for\n"
     "integers (float32 with scales), float64 if an operand is, else float32.\n"
     "Types: README.md. int8, uint8 and int16 results are requantized:\n"
     "multiplier is (fixedpoint, exponent), ints or int32 arrays of a value "
     "per\n"
     "channel. lhs_scale and rhs_scale: floats, or float32 arrays of a value "
     "per\n"
     "row and per column, for float32 results of integers.\n"
     "bias: a value per channel (int32, float32, float64); channels: 'cols' "
     "or\n"
     "'rows' of the result. clamp: (min, max). beta: out = beta * out + ...\n"
     "cache, int7: 'lhs', 'rhs', 'both' are constant, or within [-63, 63].\n"
     "ValueError with the reason for what cannot be multiplied; out is then\n"
     "untouched. The GIL is released."},
    {"pack_groups", (PyCFunction)(void (*)(void))PackGroups,
     METH_VARARGS | METH_KEYWORDS,
     "pack_groups(levels, scales, zero_points=None, bits=4, depth=-1,\n"
     "            group_size=0, context=None)\n--\n\n"
     "GroupWeights of levels (4 bits: uint8, rows x ceil(depth / 2), the even "
     "k\n"
     "in the low nibble; 8: int8, rows x depth) and scales (float32, float16 "
     "or\n"
     "bfloat16, rows x groups). zero_points: as the levels' type, rows x "
     "groups;\n"
     "None: the middle. group_size: a multiple of 16, 0 for whole rows."},
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
  for (i = 1; i < kNumTypes; ++i) {
    if (i != RL_BFLOAT16) {
      g_state.dtypes[i] =
          PyObject_CallMethod(numpy, "dtype", "s", kTypes[i].name);
      if (g_state.dtypes[i] == NULL) return 0;
    }
  }
  ml_dtypes = PyImport_ImportModule("ml_dtypes");
  if (ml_dtypes != NULL) {
    PyObject* type = PyObject_GetAttrString(ml_dtypes, "bfloat16");
    if (type != NULL) {
      g_state.dtypes[RL_BFLOAT16] =
          PyObject_CallMethod(numpy, "dtype", "O", type);
    }
    Py_XDECREF(type);
    Py_DECREF(ml_dtypes);
  }
  PyErr_Clear();
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
