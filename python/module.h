// Python: what the sources of the extension share.
#ifndef RUY_LIKE_PYTHON_MODULE_H_
#define RUY_LIKE_PYTHON_MODULE_H_

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000
#include <Python.h>
#include <limits.h>

#include "ruy_like/c/ruy_like.h"

typedef struct {
  const char* name;    // NumPy's
  const char* format;  // of the buffer protocol; null: none
  int bytes, dl_code;
} TypeInfo;
enum { kNumTypes = RL_FLOAT8_E5M2 + 1 };
extern const TypeInfo kTypes[kNumTypes];  // indexed by RL_INT8, ...

typedef struct {
  PyObject *context_type, *packed_type, *groups_type;
  PyObject *empty, *dtypes[kNumTypes];  // numpy.empty, numpy.dtype objects
  PyObject* default_context;
  PyObject* dlpack;  // "__dlpack__"
} State;

// One module, one interpreter: types and functions look here.
extern State g_state;

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
  int zero_point;  // that it was packed with, or kUnknownZeroPoint
} PackedObject;

// The zero point of a matrix from bytes: no element type has it.
enum { kUnknownZeroPoint = INT_MAX };

// Memory of an object's that is held: by the buffer protocol or a capsule.
typedef struct {
  Py_buffer buffer;  // if buffer.obj is not null
  PyObject* capsule;
  void* data;
  int type;
  Py_ssize_t ndim, shape[3], strides[3];  // strides in bytes
  int read_only;
} Array;

static inline int HasType(PyObject* object, PyObject* type) {
  return (PyObject*)Py_TYPE(object) == type;
}

static inline void Free(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

// ## arrays.c, which documents them

PyObject* RaiseStatus(rl_status status);
int TypeOf(PyObject* dtype);
void Release(Array* array);
int Take(const char* name, PyObject* object, Array* array);
const void* Elements(const char* name, const Array* array, int type,
                     Py_ssize_t length);
const void* Vector(const char* name, PyObject* object, int type,
                   Py_ssize_t length, Array* array);
int Describe(const char* name, const Array* array, rl_matrix* matrix);
int DescribeBatch(const char* name, const Array* array, rl_matrix* matrix,
                  ptrdiff_t* count, ptrdiff_t* stride);
PyObject* NewArray(const Py_ssize_t* shape, int ndim, int type);
int Choose(const char* name, PyObject* object, const char* const* names,
           int32_t* index);
int ToInt32(const char* name, PyObject* object, int32_t* value);
rl_context* ContextOf(PyObject* object);

// ## packed.c

extern PyType_Spec packed_spec, groups_spec;
PyObject* PackGroups(PyObject* self_module, PyObject* args, PyObject* kwargs);

#endif  // RUY_LIKE_PYTHON_MODULE_H_
