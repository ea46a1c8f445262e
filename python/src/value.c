/* value.c: what a call is given, as memory.
 *
 * Arrays of numpy are read by their fields: those of its public interface for C, which have been at
 * these places in all of its versions from 1.7 on. A pointer costs nothing so; asking for a buffer
 * costs 0.1 us or more for each array. When numpy is imported, arrays are looked at both ways; if
 * that ever shows another layout, buffers are asked for. */
#include "python/src/core.h"
#include <string.h>

typedef struct {
  PyObject_HEAD char *data;
  int nd;
  Py_ssize_t *dimensions, *strides;
  PyObject *base, *descr;
  int flags;
} fields;

enum { ROW_MAJOR = 1, ALIGNED = 0x100, WRITEABLE = 0x400 };

/* ------------------------------------------------------------ arrays */

static int type_of(const neo_py_state *s, const PyObject *descr) {
  for (int k = 0; k <= NEO_RT_BOOL; k++)
    if (s->dtypes[k] == descr)
      return k;
  return -1;
}

static bool read_fields(const neo_py_state *s, PyObject *object, neo_py_value *v) {
  const fields *a = (const fields *)object;
  int type = type_of(s, a->descr);
  const int needed = ROW_MAJOR | ALIGNED;
  if (type < 0 || (a->flags & needed) != needed || a->nd > NEO_PY_RANK)
    return false;
  v->type = (uint8_t)type;
  v->rank = a->nd;
  v->shape = a->dimensions;
  v->data = a->data;
  v->writable = a->flags & WRITEABLE;
  return true;
}

/* The buffer of an array of bf16 is refused by numpy: it is that of a view as 16 bits. */
static bool read_buffer(const neo_py_state *s, PyObject *object, neo_py_value *v) {
  PyObject *descr = PyObject_GetAttrString(object, "dtype");
  int type = descr ? type_of(s, descr) : -1;
  Py_XDECREF(descr);
  PyObject *bits = type == NEO_RT_BF16 ? PyObject_CallMethod(object, "view", "s", "uint16") : NULL;
  bool good = type >= 0 && (type != NEO_RT_BF16 || bits) &&
              PyObject_GetBuffer(bits ? bits : object, &v->buffer, PyBUF_C_CONTIGUOUS) == 0;
  Py_XDECREF(bits); /* the buffer holds it */
  PyErr_Clear();
  if (!good)
    return false;
  v->has_buffer = true;
  v->type = (uint8_t)type;
  v->rank = v->buffer.ndim;
  v->shape = v->buffer.shape;
  v->data = v->buffer.buf;
  v->writable = !v->buffer.readonly;
  return v->rank <= NEO_PY_RANK && (uintptr_t)v->data % neo_py_type_bytes(type) == 0;
}

static bool read_array(const neo_py_state *s, PyObject *object, neo_py_value *v) {
  v->object = object;
  v->kind = NEO_PY_ARRAY;
  return s->fields ? read_fields(s, object, v) : read_buffer(s, object, v);
}

/* ------------------------------------------------------------ the layout, when numpy is
 * imported */

static bool same_array(const neo_py_state *s, PyObject *array) {
  neo_py_value a = {0}, b = {0};
  bool same = read_buffer(s, array, &b) && read_fields(s, array, &a) && a.data == b.data &&
              a.type == b.type && a.rank == b.rank;
  for (int k = 0; same && k < a.rank; k++)
    same = a.shape[k] == b.shape[k];
  neo_py_value_release(&b);
  return same;
}

static bool same_of(neo_py_state *s, int type, PyObject *shape) {
  PyObject *array = PyObject_CallFunctionObjArgs(s->empty, shape, s->dtypes[type], NULL);
  bool same = array && same_array(s, array);
  Py_XDECREF(array);
  PyErr_Clear();
  return same;
}

int neo_py_array_layout(neo_py_state *s);
int neo_py_array_layout(neo_py_state *s) {
  PyObject *shape = Py_BuildValue("(iii)", 3, 5, 7);
  if (!shape)
    return -1;
  s->fields = same_of(s, NEO_RT_F64, shape) && same_of(s, NEO_RT_I8, shape) &&
              same_of(s, NEO_RT_BOOL, s->nothing);
  Py_DECREF(shape);
  return 0;
}

/* ------------------------------------------------------------ numbers */

static bool read_number(PyObject *object, neo_py_value *v) {
  v->object = object;
  v->rank = 0;
  if (PyFloat_CheckExact(object)) {
    v->kind = NEO_PY_FLOAT;
    v->type = NEO_RT_F64;
    v->number.f = PyFloat_AsDouble(object);
    return true;
  }
  if (PyBool_Check(object)) {
    v->kind = NEO_PY_TRUTH;
    v->type = NEO_RT_BOOL;
    v->number.i = object == Py_True;
    return true;
  }
  if (!PyLong_CheckExact(object))
    return false;
  int beyond = 0;
  v->kind = NEO_PY_INT;
  v->type = NEO_RT_I64;
  v->number.i = PyLong_AsLongLongAndOverflow(object, &beyond);
  return !beyond;
}

/* ------------------------------------------------------------ reading */

static int read_other(neo_py_state *s, PyObject *object, PyObject *name, int like,
                      neo_py_value *v) {
  PyObject *type = like < 0 ? Py_None : s->dtypes[like];
  v->made = PyObject_CallFunctionObjArgs(s->as_input, name, object, type ? type : Py_None, NULL);
  if (!v->made)
    return -1;
  if (read_array(s, v->made, v))
    return 0;
  PyErr_Format(PyExc_TypeError, "%U: this array has no memory that can be read", name);
  neo_py_value_release(v);
  return -1;
}

int neo_py_value_read(neo_py_state *s, PyObject *object, PyObject *name, int like,
                      neo_py_value *v) {
  v->made = NULL;
  v->has_buffer = false;
  if ((PyObject *)Py_TYPE(object) == s->ndarray) {
    if (read_array(s, object, v))
      return 0;
    neo_py_value_release(v);
  } else if (read_number(object, v)) {
    return 0;
  }
  return read_other(s, object, name, like, v);
}

void neo_py_value_release(neo_py_value *v) {
  if (v->has_buffer)
    PyBuffer_Release(&v->buffer);
  v->has_buffer = false;
  Py_CLEAR(v->made);
}

void *neo_py_array_data(neo_py_state *s, PyObject *array) {
  neo_py_value v = {0};
  if (!PyType_IsSubtype(Py_TYPE(array), (PyTypeObject *)s->ndarray)) {
    PyErr_Format(PyExc_TypeError, "expected an array of numpy, given %R", Py_TYPE(array));
    return NULL;
  }
  if (!read_array(s, array, &v))
    PyErr_SetString(PyExc_RuntimeError, "numpy made an array that cannot be used");
  neo_py_value_release(&v); /* the array itself keeps its memory */
  return PyErr_Occurred() ? NULL : v.data;
}

/* ------------------------------------------------------------ elements */

/* The 16 bits of f16 or bf16 nearest to x, by numpy or its package, which round once. */
static int store_half(neo_py_state *s, double x, int type, void *to) {
  PyObject *number = PyFloat_FromDouble(x), *array = NULL, *shape = s->nothing;
  array = number ? PyObject_CallFunctionObjArgs(s->empty, shape, s->dtypes[type], NULL) : NULL;
  PyObject *set = array ? PyObject_CallMethod(array, "fill", "O", number) : NULL;
  void *data = set ? neo_py_array_data(s, array) : NULL;
  if (data)
    memcpy(to, data, 2);
  Py_XDECREF(set);
  Py_XDECREF(array);
  Py_XDECREF(number);
  return data ? 0 : -1;
}

static int store_float(neo_py_state *s, double x, int type, void *to) {
  if (type == NEO_RT_F64)
    memcpy(to, &x, 8);
  else if (type == NEO_RT_F32)
    memcpy(to, &(float){(float)x}, 4);
  else
    return store_half(s, x, type, to);
  return 0;
}

static int refuse(neo_py_state *s, PyObject *name, PyObject *number, int type) {
  PyObject *text = PyUnicode_FromFormat("%U: %R is no number of the type %s", name, number,
                                        neo_py_type_name(type));
  if (text)
    neo_py_raise(s, NEO_RT_E_RANGE, PyUnicode_AsUTF8AndSize(text, NULL));
  Py_XDECREF(text);
  return -1;
}

static bool store_int(int64_t x, int type, void *to) {
  switch (type) {
  case NEO_RT_I64:
    memcpy(to, &x, 8);
    return true;
  case NEO_RT_I32:
    memcpy(to, &(int32_t){(int32_t)x}, 4);
    return x == (int32_t)x;
  case NEO_RT_I8:
    memcpy(to, &(int8_t){(int8_t)x}, 1);
    return x == (int8_t)x;
  default: /* u8, bool */
    memcpy(to, &(uint8_t){(uint8_t)x}, 1);
    return x >= 0 && x <= (type == NEO_RT_BOOL ? 1 : UINT8_MAX);
  }
}

static bool is_float(int type) {
  return type <= NEO_RT_BF16;
}

int neo_py_value_store(neo_py_state *s, const neo_py_value *v, PyObject *name, int type, void *to) {
  bool whole = v->kind != NEO_PY_FLOAT;
  if (is_float(type))
    return store_float(s, whole ? (double)v->number.i : v->number.f, type, to);
  return whole && store_int(v->number.i, type, to) ? 0 : refuse(s, name, v->object, type);
}
