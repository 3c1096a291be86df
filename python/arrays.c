// Python: arrays become rl_matrix, and other arguments C values.
//
// An array is what has the buffer protocol, a NumPy array of one of ml_dtypes'
// types, or what has __dlpack__.
#include <string.h>

#include "module.h"

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

enum {
  kDLCpu = 1,
  kDLInt = 0,
  kDLUInt = 1,
  kDLFloat = 2,
  kDLBfloat = 4,
  kDLFloat8E4M3 = 10,
  kDLFloat8E5M2 = 12
};

// ## Types

const TypeInfo kTypes[kNumTypes] = {
    {"", NULL, 0, 0},
    {"int8", "b", 1, kDLInt},
    {"uint8", "B", 1, kDLUInt},
    {"int16", "h", 2, kDLInt},
    {"int32", "i", 4, kDLInt},
    {"float32", "f", 4, kDLFloat},
    {"float64", "d", 8, kDLFloat},
    {"bfloat16", NULL, 2, kDLBfloat},
    {"float16", "e", 2, kDLFloat},
    {"float8_e4m3fn", NULL, 1, kDLFloat8E4M3},
    {"float8_e5m2", NULL, 1, kDLFloat8E5M2},
};

// The type of a dtype, or of its name; 0 with an exception.
int TypeOf(PyObject* dtype) {
  PyObject* name;
  int i;
  for (i = 1; i < kNumTypes; ++i) {
    if (dtype == g_state.dtypes[i]) return i;
  }
  // "int8", numpy.int8, a dtype that is equal.
  name = PyUnicode_Check(dtype)
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

// ValueError, MemoryError or RuntimeError with the text of the C interface.
PyObject* RaiseStatus(rl_status status) {
  PyObject* type = PyExc_RuntimeError;
  if (status == RL_INVALID_ARGUMENT || status == RL_OUT_OF_RANGE ||
      status == RL_DATA_LOSS) {
    type = PyExc_ValueError;
  } else if (status == RL_RESOURCE_EXHAUSTED) {
    type = PyExc_MemoryError;
  }
  const char* const text = rl_last_error();
  // A long text is cut, perhaps within a character.
  PyObject* message =
      PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
  if (message != NULL) PyErr_SetObject(type, message);
  Py_XDECREF(message);
  return NULL;
}

// ## Arrays

void Release(Array* array) {
  if (array->buffer.obj != NULL) PyBuffer_Release(&array->buffer);
  Py_CLEAR(array->capsule);
}

static int SetShape(const char* name, Array* array, Py_ssize_t ndim) {
  if (ndim >= 1 && ndim <= 3) {
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
  for (i = tensor->ndim - 1; i >= 0; --i) {
    array->shape[i] = (Py_ssize_t)tensor->shape[i];
    array->strides[i] =
        tensor->strides != NULL
            ? (Py_ssize_t)tensor->strides[i] * kTypes[array->type].bytes
        : i == tensor->ndim - 1 ? kTypes[array->type].bytes
                                : array->strides[i + 1] * array->shape[i + 1];
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

// A NumPy array of one of ml_dtypes' types has no buffer; its view as integers
// has one.
static int TakeView(const char* name, PyObject* object, int type,
                    Array* array) {
  int result;
  PyObject* view = PyObject_CallMethod(
      object, "view", "s", kTypes[type].bytes == 1 ? "uint8" : "uint16");
  if (view == NULL) return 0;
  array->type = type;
  result = TakeBuffer(name, view, array);  // refers to the view
  Py_DECREF(view);
  return result;
}

// The type of ml_dtypes' that an object's elements have; 0: none.
static int ViewedType(PyObject* object) {
  int result = 0, i;
  PyObject* dtype = PyObject_GetAttrString(object, "dtype");
  PyObject* text = dtype != NULL ? PyObject_Str(dtype) : NULL;
  for (i = 1; i < kNumTypes && text != NULL; ++i) {
    if (kTypes[i].format == NULL &&
        PyUnicode_CompareWithASCIIString(text, kTypes[i].name) == 0 &&
        PyObject_HasAttrString(object, "view")) {
      result = i;
    }
  }
  Py_XDECREF(text);
  Py_XDECREF(dtype);
  PyErr_Clear();
  return result;
}

// Holds the memory of an array; false with an exception. Release() in any case.
int Take(const char* name, PyObject* object, Array* array) {
  int viewed;
  if (PyObject_CheckBuffer(object)) {
    if (TakeBuffer(name, object, array)) return 1;
    if (array->buffer.obj != NULL ||
        !PyErr_ExceptionMatches(PyExc_ValueError)) {
      return 0;
    }
    PyErr_Clear();
    viewed = ViewedType(object);
    if (viewed != 0) return TakeView(name, object, viewed, array);
  }
  if (PyObject_HasAttr(object, g_state.dlpack)) {
    return TakeDlpack(name, object, array);
  }
  PyErr_Format(PyExc_TypeError,
               "%s is no array: it has no buffer nor __dlpack__", name);
  return 0;
}

// The elements of an array of one dimension without gaps, `length` of this
// type.
const void* Elements(const char* name, const Array* array, int type,
                     Py_ssize_t length) {
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
  return array->data != NULL ? array->data : "";  // an empty one
}
const void* Vector(const char* name, PyObject* object, int type,
                   Py_ssize_t length, Array* array) {
  return Take(name, object, array) ? Elements(name, array, type, length) : NULL;
}

// A held array of two dimensions, or one of three that is a batch: sets *count,
// unless it is -1, where it must be the same, and *stride.
int DescribeBatch(const char* name, const Array* array, rl_matrix* matrix,
                  ptrdiff_t* count, ptrdiff_t* stride) {
  const Py_ssize_t bytes = kTypes[array->type].bytes;
  Array inner;
  if (array->ndim != 3) return Describe(name, array, matrix);
  if (*count != -1 && *count != array->shape[0]) {
    PyErr_Format(PyExc_ValueError, "%s has %zd matrices, not %zd", name,
                 array->shape[0], *count);
    return 0;
  }
  *count = array->shape[0];
  if (*count > 1 && array->strides[0] % bytes != 0) {
    PyErr_Format(PyExc_ValueError, "%s has matrices of odd strides", name);
    return 0;
  }
  *stride = *count > 1 ? array->strides[0] / bytes : 0;
  inner.data = array->data;
  inner.type = array->type;
  inner.ndim = 2;
  memcpy(inner.shape, array->shape + 1, 2 * sizeof inner.shape[0]);
  memcpy(inner.strides, array->strides + 1, 2 * sizeof inner.strides[0]);
  return Describe(name, &inner, matrix);
}

// The layout of a held array of two dimensions.
int Describe(const char* name, const Array* array, rl_matrix* matrix) {
  const Py_ssize_t bytes = kTypes[array->type].bytes;
  const Py_ssize_t rows = array->shape[0], cols = array->shape[1];
  Py_ssize_t row = array->strides[0], col = array->strides[1];
  if (array->ndim != 2) {
    PyErr_Format(PyExc_ValueError, "%s has %s: reshape it", name,
                 array->ndim == 1 ? "one dimension" : "3 dimensions");
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

// A new NumPy array, row-major.
PyObject* NewArray(const Py_ssize_t* shape_of, int ndim, int type) {
  PyObject *shape, *array;
  if (g_state.dtypes[type] == NULL) {
    PyErr_Format(PyExc_TypeError, "%s needs the package ml_dtypes",
                 kTypes[type].name);
    return NULL;
  }
  shape = ndim == 2
              ? Py_BuildValue("(nn)", shape_of[0], shape_of[1])
              : Py_BuildValue("(nnn)", shape_of[0], shape_of[1], shape_of[2]);
  if (shape == NULL) return NULL;
  array = PyObject_CallFunctionObjArgs(g_state.empty, shape,
                                       g_state.dtypes[type], NULL);
  Py_DECREF(shape);
  return array;
}

// ## Arguments

// One of `names`, which end with null: *index becomes its position.
int Choose(const char* name, PyObject* object, const char* const* names,
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

int ToInt32(const char* name, PyObject* object, int32_t* value) {
  const long long number = PyLong_AsLongLong(object);
  if (number == -1 && PyErr_Occurred()) return 0;
  if (number < INT32_MIN || number > INT32_MAX) {
    PyErr_Format(PyExc_ValueError, "%s = %lld is too large", name, number);
    return 0;
  }
  *value = (int32_t)number;
  return 1;
}

rl_context* ContextOf(PyObject* object) {
  if (object == NULL || object == Py_None) object = g_state.default_context;
  if (HasType(object, g_state.context_type)) {
    return ((ContextObject*)object)->context;
  }
  PyErr_SetString(PyExc_TypeError, "context is no ruy_like.Context");
  return NULL;
}
