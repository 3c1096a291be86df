// Python: PackedMatrix and GroupWeights.
#include <stdlib.h>
#include <string.h>

#include "module.h"

static const char* const kOrders[] = {"col", "row", NULL};
static const char* const kSides[] = {"lhs", "rhs", NULL};
static const char* const kPackFor[] = {"default", "int16",    "double",
                                       "int7",    "bfloat16", NULL};

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
    self->zero_point = zero_point;
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

// from_bytes(data, dtype) of PackedMatrix, from_bytes(data) of
// PackedGroupWeights.
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
  if (!groups) self->zero_point = kUnknownZeroPoint;
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

// Takes an array of rows x cols elements of this type, all of which the C
// interface reads.
static int TakeRows(const char* name, PyObject* object, int type,
                    Py_ssize_t rows, Py_ssize_t cols, Array* array,
                    rl_matrix* matrix) {
  if (!Take(name, object, array) || !Describe(name, array, matrix)) return 0;
  if (rows < 0) rows = matrix->rows;
  if (type != 0 && array->type != type) {
    PyErr_Format(PyExc_ValueError, "%s are %s, and must be %s", name,
                 kTypes[array->type].name, kTypes[type].name);
    return 0;
  }
  if (matrix->order != RL_ROW_MAJOR || matrix->cols != cols ||
      matrix->rows != rows) {
    PyErr_Format(PyExc_ValueError,
                 "%s are %zdx%zd, and must be a row-major %zdx%zd", name,
                 matrix->rows, matrix->cols, rows, cols);
    return 0;
  }
  return 1;
}

enum { kLevels, kScales, kZeros, kTable, kDepthOrder, kNumGroupArrays };

static int ReadGroups(PyObject* const* objects, Array* arrays,
                      rl_group_weights* weights) {
  rl_matrix levels = {0}, scales = {0}, zeros = {0};
  const int bits = weights->bits;
  const Py_ssize_t codes = bits == 2 ? 4 : bits == 4 ? 2 : 1;  // in a byte
  const Py_ssize_t size = weights->group_size;
  Py_ssize_t depth = weights->depth, groups;
  if (depth < 0) {  // that of the levels
    Array array = {0};
    const int taken = Take("levels", objects[kLevels], &array) &&
                      Describe("levels", &array, &levels);
    Release(&array);
    if (!taken) return 0;
    depth = weights->depth = levels.cols * codes;
  }
  groups = size <= 0 ? depth > 0 : depth / size + (depth % size != 0);
  if (!TakeRows("levels", objects[kLevels],
                bits == 2 || bits == 4 ? RL_UINT8 : RL_INT8, -1,
                depth / codes + (depth % codes != 0), &arrays[kLevels],
                &levels) ||
      !TakeRows("scales", objects[kScales], 0, levels.rows, groups,
                &arrays[kScales], &scales)) {
    return 0;
  }
  if (objects[kTable] != NULL) {
    weights->table =
        (const int8_t*)Vector("table", objects[kTable], RL_INT8,
                              (Py_ssize_t)1 << (bits & 7), &arrays[kTable]);
    if (weights->table == NULL) return 0;
  }
  if (objects[kDepthOrder] != NULL) {
    weights->depth_order =
        (const int32_t*)Vector("depth_order", objects[kDepthOrder], RL_INT32,
                               depth, &arrays[kDepthOrder]);
    if (weights->depth_order == NULL) return 0;
  }
  if (objects[kZeros] != NULL) {
    const int is_int8 = bits != 4 || weights->table != NULL;
    if (!TakeRows("zero_points", objects[kZeros], is_int8 ? RL_INT8 : RL_UINT8,
                  levels.rows, groups, &arrays[kZeros], &zeros)) {
      return 0;
    }
    if (zeros.stride != scales.stride) {
      PyErr_SetString(PyExc_ValueError,
                      "zero_points and scales have rows of distinct strides");
      return 0;
    }
    weights->zero_points = arrays[kZeros].data;
  }
  weights->rows = levels.rows;
  weights->levels = arrays[kLevels].data;
  weights->row_stride_bytes = levels.stride;
  weights->scales = arrays[kScales].data;
  weights->scale_type = arrays[kScales].type;
  weights->scale_stride = scales.stride;
  return 1;
}

PyObject* PackGroups(PyObject* self_module, PyObject* args, PyObject* kwargs) {
  static char* keywords[] = {
      "levels",     "scales", "zero_points", "bits",        "depth",
      "group_size", "table",  "context",     "depth_order", NULL};
  PyObject *objects[kNumGroupArrays] = {0}, *context_object = NULL;
  rl_group_weights weights = {0};
  rl_context* context;
  Array arrays[kNumGroupArrays];
  PyObject* result = NULL;
  Py_ssize_t depth = -1, group_size = 0;
  int bits = 4, i;
  (void)self_module;
  if (!PyArg_ParseTupleAndKeywords(
          args, kwargs, "OO|OinnOOO:pack_groups", keywords, &objects[kLevels],
          &objects[kScales], &objects[kZeros], &bits, &depth, &group_size,
          &objects[kTable], &context_object, &objects[kDepthOrder])) {
    return NULL;
  }
  context = ContextOf(context_object);
  if (context == NULL) return NULL;
  for (i = 0; i < kNumGroupArrays; ++i) {
    if (objects[i] == Py_None) objects[i] = NULL;
  }
  memset(arrays, 0, sizeof arrays);
  weights.size = sizeof weights;
  weights.bits = bits;
  weights.depth = depth;
  weights.group_size = group_size;
  if (objects[kLevels] == NULL || objects[kScales] == NULL) {
    PyErr_SetString(PyExc_TypeError, "levels and scales must be arrays");
  } else if (ReadGroups(objects, arrays, &weights)) {
    PackedObject* packed = NewPacked(g_state.groups_type, RL_FLOAT32);
    if (packed != NULL) {
      rl_status status;
      Py_BEGIN_ALLOW_THREADS;
      status = rl_pack_groups(&weights, context, &packed->packed);
      Py_END_ALLOW_THREADS;
      result = Finished(packed, status);
    }
  }
  for (i = 0; i < kNumGroupArrays; ++i) Release(&arrays[i]);
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
PyType_Spec packed_spec = {"ruy_like.PackedMatrix", sizeof(PackedObject), 0,
                           Py_TPFLAGS_DEFAULT, packed_slots};
static PyType_Slot groups_slots[] = {{Py_tp_dealloc, (void*)PackedFree},
                                     {Py_tp_methods, packed_methods},
                                     {Py_tp_getset, packed_getset},
                                     {Py_tp_doc,
                                      "Weights of 4 or 8 bits with group "
                                      "scales, rows x depth: see pack_groups."},
                                     {0, NULL}};
PyType_Spec groups_spec = {
    "ruy_like.GroupWeights", sizeof(PackedObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, groups_slots};
