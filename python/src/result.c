/* result.c: what a call returns: new arrays of numpy, or those of `out`. */
#include "python/src/core.h"
#include <string.h>

/* ------------------------------------------------------------ new arrays */

static PyObject *shape_of(int32_t rank, const int64_t *extent) {
  PyObject *shape = PyTuple_New(rank);
  for (int32_t k = 0; shape && k < rank; k++) {
    PyObject *n = PyLong_FromLongLong(extent[k]);
    if (!n || PyTuple_SetItem(shape, k, n)) {
      Py_DECREF(shape);
      return NULL;
    }
  }
  return shape;
}

static PyObject *type_of(neo_py_state *s, const neo_rt_tensor *t) {
  if (!s->dtypes[t->type])
    neo_py_raise(s, NEO_RT_E_UNSUPPORTED,
                 "numpy has no bfloat16 of its own: install the package ml_dtypes");
  return s->dtypes[t->type];
}

static int make_new(neo_py_state *s, const neo_rt_tensor *t, int32_t rank, const int64_t *extent,
                    neo_py_result *r) {
  PyObject *dtype = type_of(s, t), *shape = dtype ? shape_of(rank, extent) : NULL;
  r->array = shape ? PyObject_CallFunctionObjArgs(s->empty, shape, dtype, NULL) : NULL;
  Py_XDECREF(shape);
  r->data = r->array ? neo_py_array_data(s, r->array) : NULL;
  return r->data ? 0 : -1;
}

/* ------------------------------------------------------------ the caller's */

static bool has_shape(const neo_py_value *v, int32_t rank, const int64_t *extent) {
  bool same = v->rank == rank;
  for (int32_t k = 0; same && k < rank; k++)
    same = v->shape[k] == extent[k];
  return same;
}

static size_t bytes_of(const neo_py_value *v) {
  size_t n = neo_py_type_bytes(v->type);
  for (int32_t k = 0; k < v->rank; k++)
    n *= (size_t)v->shape[k];
  return n;
}

static bool overlaps(const neo_py_value *a, const neo_py_value *b) {
  const char *p = a->data, *q = b->data;
  return b->kind == NEO_PY_ARRAY && p < q + bytes_of(b) && q < p + bytes_of(a);
}

/* An array as the caller gave it, of any layout: what the call makes is copied there. */
static int check_given(neo_py_state *s, const neo_rt_tensor *t, int32_t rank, const int64_t *extent,
                       PyObject *given) {
  PyObject *check = neo_py_import("neoc.arrays", "check_out"), *shape = shape_of(rank, extent);
  PyObject *dtype = type_of(s, t);
  PyObject *done = check && shape && dtype
                       ? PyObject_CallFunction(check, "sOOO", t->name, given, shape, dtype)
                       : NULL;
  Py_XDECREF(check);
  Py_XDECREF(shape);
  Py_XDECREF(done);
  return done ? 0 : -1;
}

/* Can the kernels write to it? */
static bool is_usable(neo_py_state *s, const neo_rt_tensor *t, int32_t rank, const int64_t *extent,
                      const neo_py_value *inputs, int32_t n, PyObject *given, neo_py_value *v) {
  if ((PyObject *)Py_TYPE(given) != s->ndarray || neo_py_value_read(s, given, s->out, -1, v)) {
    PyErr_Clear();
    return false;
  }
  bool good = !v->made && v->writable && v->type == t->type && has_shape(v, rank, extent);
  for (int32_t k = 0; good && k < n; k++)
    good = !overlaps(v, &inputs[k]);
  neo_py_value_release(v);
  return good;
}

static int take_given(neo_py_state *s, const neo_rt_tensor *t, int32_t rank, const int64_t *extent,
                      PyObject *given, const neo_py_value *inputs, int32_t n, neo_py_result *r) {
  neo_py_value v = {0};
  if (is_usable(s, t, rank, extent, inputs, n, given, &v)) {
    r->array = Py_NewRef(given);
    r->data = v.data;
    return 0;
  }
  if (check_given(s, t, rank, extent, given))
    return -1;
  r->given = Py_NewRef(given);
  return make_new(s, t, rank, extent, r);
}

int neo_py_result_make(neo_py_state *s, const neo_rt_tensor *t, int32_t rank, const int64_t *extent,
                       PyObject *given, const neo_py_value *inputs, int32_t n_inputs,
                       neo_py_result *r) {
  memset(r, 0, sizeof *r);
  if (given && given != Py_None)
    return take_given(s, t, rank, extent, given, inputs, n_inputs, r);
  r->scalar = rank == 0;
  return make_new(s, t, rank, extent, r);
}

int neo_py_results_disjoint(PyObject *out) {
  if (!out || !PyTuple_Check(out) || PyTuple_Size(out) < 2)
    return 0;
  PyObject *check = neo_py_import("neoc.arrays", "check_apart");
  PyObject *done = check ? PyObject_CallFunctionObjArgs(check, out, NULL) : NULL;
  Py_XDECREF(check);
  Py_XDECREF(done);
  return done ? 0 : -1;
}

/* ------------------------------------------------------------ returning */

void neo_py_result_release(neo_py_result *r) {
  Py_CLEAR(r->array);
  Py_CLEAR(r->given);
}

PyObject *neo_py_result_take(neo_py_state *s, neo_py_result *r) {
  PyObject *made = r->array, *given = r->given;
  r->array = r->given = NULL;
  if (given) {
    PyObject *done = PyObject_CallFunctionObjArgs(s->copyto, given, made, NULL);
    Py_DECREF(made);
    Py_XDECREF(done);
    if (!done)
      Py_CLEAR(given);
    return given;
  }
  if (!r->scalar)
    return made;
  PyObject *number = PyObject_GetItem(made, s->nothing);
  Py_DECREF(made);
  return number;
}

PyObject *neo_py_results_take(neo_py_state *s, neo_py_result *r, int32_t n) {
  if (n == 1)
    return neo_py_result_take(s, r);
  PyObject *all = PyTuple_New(n);
  for (int32_t k = 0; all && k < n; k++) {
    PyObject *one = neo_py_result_take(s, &r[k]);
    if (!one || PyTuple_SetItem(all, k, one))
      Py_CLEAR(all);
  }
  return all;
}
