/* context.c: Context, the parameters, states and settings of a model (neo_rt_ctx), and View, memory
 * of one of these as a buffer of Python that keeps the context alive. */
#include "python/src/context.h"
#include <neo/dlpack.h>
#include <string.h>

/* ------------------------------------------------------------ one thread at a time */

void neo_py_context_enter(neo_py_context *c) {
  if (PyThread_acquire_lock(c->lock, NOWAIT_LOCK))
    return;
  Py_BEGIN_ALLOW_THREADS;
  PyThread_acquire_lock(c->lock, WAIT_LOCK);
  Py_END_ALLOW_THREADS;
}

void neo_py_context_leave(neo_py_context *c) {
  PyThread_release_lock(c->lock);
}

PyObject *neo_py_context_fail(neo_py_context *c, int32_t status) {
  return neo_py_raise(c->s, status, neo_rt_error(c->ctx));
}

static PyObject *done(neo_py_context *c, int32_t status) {
  PyObject *result = NULL;
  if (status)
    neo_py_context_fail(c, status);
  else
    result = Py_NewRef(Py_None);
  neo_py_context_leave(c);
  return result;
}

/* ------------------------------------------------------------ life */

static int create(neo_py_context *c, uint64_t seed) {
  neo_rt_config config = {
      .struct_size = sizeof config, .threads = 1, .seed = seed, .cancel = &c->cancel};
  uint32_t generation;
  int32_t status;
  Py_BEGIN_ALLOW_THREADS;
  config.pool = neo_py_pool(neo_py_program_threads(c->program), &generation);
  status = neo_rt_create(c->model, &config, &c->ctx);
  Py_END_ALLOW_THREADS;
  if (!status)
    return 0;
  neo_py_raise(c->s, status, c->ctx ? neo_rt_error(c->ctx) : neo_rt_status_text(status));
  return -1;
}

static PyObject *context_new(PyTypeObject *type, PyObject *args, PyObject *named) {
  static char *words[] = {"program", "seed", NULL};
  neo_py_state *s = neo_py_state_get();
  PyObject *program;
  unsigned long long seed = 0;
  if (!s || !PyArg_ParseTupleAndKeywords(args, named, "O|K:Context", words, &program, &seed))
    return NULL;
  neo_py_program *p = neo_py_program_of(s, program);
  neo_py_context *c = p ? (neo_py_context *)PyType_GenericAlloc(type, 0) : NULL;
  if (!c)
    return NULL;
  c->s = s;
  c->program = neo_py_program_keep(p);
  c->model = neo_py_program_model(p);
  c->lock = PyThread_allocate_lock();
  if (c->lock && create(c, seed) == 0)
    return (PyObject *)c;
  Py_DECREF(c);
  return PyErr_Occurred() ? NULL : PyErr_NoMemory();
}

static void context_free(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  neo_py_context *c = (neo_py_context *)self;
  Py_BEGIN_ALLOW_THREADS;
  neo_rt_destroy(c->ctx);
  neo_py_program_drop(c->program);
  Py_END_ALLOW_THREADS;
  if (c->lock)
    PyThread_free_lock(c->lock);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(self);
  Py_DECREF(type);
}

/* ------------------------------------------------------------ tensors */

static const neo_rt_tensor *tensor_of(neo_py_context *c, int k) {
  if (k >= 0 && k < c->model->n_tensors)
    return &c->model->tensors[k];
  PyErr_SetString(PyExc_IndexError, "the model has no such tensor");
  return NULL;
}

static void extents_of(neo_py_context *c, const neo_rt_tensor *t, int64_t *extent) {
  for (int d = 0; d < t->rank; d++)
    extent[d] = neo_rt_eval(c->model, c->model->extents[t->extent + d], NULL);
}

static size_t bytes_of(neo_py_context *c, const neo_rt_tensor *t) {
  int64_t extent[NEO_PY_RANK];
  size_t n = neo_py_type_bytes(t->type);
  extents_of(c, t, extent);
  for (int d = 0; d < t->rank; d++)
    n *= (size_t)extent[d];
  return n;
}

/* get(k) -> array: a copy. */
static PyObject *get(PyObject *self, PyObject *number) {
  neo_py_context *c = (neo_py_context *)self;
  const neo_rt_tensor *t = tensor_of(c, (int)PyLong_AsLong(number));
  int64_t extent[NEO_PY_RANK];
  neo_py_result r = {0};
  if (PyErr_Occurred() || neo_py_numpy(c->s))
    return NULL;
  extents_of(c, t, extent);
  if (neo_py_result_make(c->s, t, t->rank, extent, NULL, NULL, 0, &r)) {
    neo_py_result_release(&r);
    return NULL;
  }
  r.scalar = false;
  neo_py_context_enter(c);
  int32_t status = neo_rt_get(c->ctx, (int32_t)(t - c->model->tensors), r.data, bytes_of(c, t));
  PyObject *ok = done(c, status);
  Py_XDECREF(ok);
  if (ok)
    return neo_py_result_take(c->s, &r);
  neo_py_result_release(&r);
  return NULL;
}

/* set(k, array): of the tensor's type and shape, which Python has seen to. */
static PyObject *set(PyObject *self, PyObject *args) {
  neo_py_context *c = (neo_py_context *)self;
  PyObject *array;
  int k;
  if (!PyArg_ParseTuple(args, "iO:set", &k, &array) || neo_py_numpy(c->s))
    return NULL;
  const neo_rt_tensor *t = tensor_of(c, k);
  void *data = t ? neo_py_array_data(c->s, array) : NULL;
  if (!data)
    return NULL;
  PyObject *held = PyObject_GetAttrString(array, "nbytes");
  size_t bytes = held ? PyLong_AsSize_t(held) : 0;
  Py_XDECREF(held);
  if (PyErr_Occurred())
    return NULL;
  neo_py_context_enter(c);
  return done(c, neo_rt_set(c->ctx, k, data, bytes));
}

static PyObject *set_scalar(PyObject *self, PyObject *args) {
  neo_py_context *c = (neo_py_context *)self;
  const char *name;
  double value;
  if (!PyArg_ParseTuple(args, "sd:set_scalar", &name, &value))
    return NULL;
  neo_py_context_enter(c);
  return done(c, neo_rt_set_scalar(c->ctx, name, value));
}

/* ------------------------------------------------------------ views */

typedef struct {
  PyObject_HEAD PyObject *context;
  neo_dl_tensor dl;
  int64_t shape[NEO_PY_RANK];
  Py_ssize_t length[NEO_PY_RANK], strides[NEO_PY_RANK];
  uint8_t type;
} view_object;

static const char *const formats[] = {[NEO_RT_F64] = "d",  [NEO_RT_F32] = "f", [NEO_RT_F16] = "e",
                                      [NEO_RT_BF16] = "H", [NEO_RT_I64] = "q", [NEO_RT_I32] = "i",
                                      [NEO_RT_I8] = "b",   [NEO_RT_U8] = "B",  [NEO_RT_BOOL] = "?"};

static int view_buffer(PyObject *self, Py_buffer *b, int flags) {
  view_object *v = (view_object *)self;
  int32_t rank = v->dl.ndim;
  memset(b, 0, sizeof *b);
  b->obj = Py_NewRef(self);
  b->buf = (char *)v->dl.data + v->dl.byte_offset;
  b->itemsize = (Py_ssize_t)neo_py_type_bytes(v->type);
  b->len = b->itemsize;
  for (int32_t d = rank; d-- > 0;) {
    v->length[d] = (Py_ssize_t)v->shape[d];
    v->strides[d] = b->len;
    b->len *= v->length[d];
  }
  b->ndim = rank;
  b->format = flags & PyBUF_FORMAT ? (char *)(uintptr_t)formats[v->type] : NULL;
  b->shape = flags & PyBUF_ND ? v->length : NULL;
  b->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? v->strides : NULL;
  return 0;
}

static void view_free(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  Py_XDECREF(((view_object *)self)->context);
  PyObject_Free(self);
  Py_DECREF(type);
}

/* view(k) -> View: the tensor's own memory. */
static PyObject *view(PyObject *self, PyObject *number) {
  neo_py_context *c = (neo_py_context *)self;
  int k = (int)PyLong_AsLong(number);
  const neo_rt_tensor *t = PyErr_Occurred() ? NULL : tensor_of(c, k);
  view_object *v = t ? PyObject_New(view_object, c->s->view) : NULL;
  if (!v)
    return NULL;
  v->context = Py_NewRef(self);
  v->type = t->type;
  neo_py_context_enter(c);
  PyObject *ok = done(c, neo_rt_view(c->ctx, k, &v->dl, v->shape));
  Py_XDECREF(ok);
  if (!ok) {
    Py_CLEAR(v);
  } else if (v->dl.device.type != NEO_DL_CPU) {
    Py_CLEAR(v);
    neo_py_raise(c->s, NEO_RT_E_UNSUPPORTED, "the tensor lies in the memory of a GPU");
  }
  return (PyObject *)v;
}

/* ------------------------------------------------------------ files, seeds */

static PyObject *reset(PyObject *self, PyObject *seed) {
  neo_py_context *c = (neo_py_context *)self;
  unsigned long long n = PyLong_AsUnsignedLongLong(seed);
  if (PyErr_Occurred())
    return NULL;
  neo_py_context_enter(c);
  int32_t status;
  Py_BEGIN_ALLOW_THREADS;
  status = neo_rt_reset(c->ctx, n);
  Py_END_ALLOW_THREADS;
  return done(c, status);
}

static PyObject *save(PyObject *self, PyObject *args) {
  neo_py_context *c = (neo_py_context *)self;
  neo_rt_pair pairs[16];
  const char *path;
  PyObject *extra;
  int32_t n = 0, status;
  if (!PyArg_ParseTuple(args, "sO!:save", &path, &PyTuple_Type, &extra))
    return NULL;
  for (; n < PyTuple_Size(extra) && n < 16; n++)
    if (!PyArg_ParseTuple(PyTuple_GetItem(extra, n), "ss", &pairs[n].key, &pairs[n].value))
      return NULL;
  neo_py_context_enter(c);
  Py_BEGIN_ALLOW_THREADS;
  status = neo_rt_save(c->ctx, path, pairs, n);
  Py_END_ALLOW_THREADS;
  return done(c, status);
}

static PyObject *load(PyObject *self, PyObject *args) {
  neo_py_context *c = (neo_py_context *)self;
  const char *path;
  int32_t status;
  if (!PyArg_ParseTuple(args, "s:load", &path))
    return NULL;
  neo_py_context_enter(c);
  Py_BEGIN_ALLOW_THREADS;
  status = neo_rt_load(c->ctx, path);
  Py_END_ALLOW_THREADS;
  return done(c, status);
}

static PyObject *load_weights(PyObject *self, PyObject *args) {
  neo_py_context *c = (neo_py_context *)self;
  neo_rt_weights w = {.struct_size = sizeof w};
  const char *path;
  int32_t status;
  if (!PyArg_ParseTuple(args, "szzI:load_weights", &path, &w.only, &w.rename, &w.flags))
    return NULL;
  neo_py_context_enter(c);
  Py_BEGIN_ALLOW_THREADS;
  status = neo_rt_load_weights(c->ctx, path, &w);
  Py_END_ALLOW_THREADS;
  return done(c, status);
}

static PyObject *loaded(PyObject *self, PyObject *args) {
  const char *key;
  if (!PyArg_ParseTuple(args, "s:loaded", &key))
    return NULL;
  const char *value = neo_rt_loaded(((neo_py_context *)self)->ctx, key);
  return value ? PyUnicode_FromString(value) : Py_NewRef(Py_None);
}

static PyObject *trace(PyObject *self, PyObject *args) {
  neo_py_context *c = (neo_py_context *)self;
  const char *path;
  if (!PyArg_ParseTuple(args, "z:trace", &path))
    return NULL;
  neo_py_context_enter(c);
  return done(c, neo_rt_trace(c->ctx, path));
}

static PyObject *step_count(PyObject *self, PyObject *none) {
  (void)none;
  return PyLong_FromUnsignedLongLong(neo_rt_step_count(((neo_py_context *)self)->ctx));
}

static int add_view(neo_py_state *s) {
  static PyType_Slot slots[] = {{Py_tp_new, neo_py_refuse_new},
                                {Py_tp_dealloc, view_free},
                                {Py_bf_getbuffer, view_buffer},
                                {Py_tp_doc, "Memory of a tensor of a Context."},
                                {0}};
  static PyType_Spec spec = {"neoc._core.View", sizeof(view_object), 0, Py_TPFLAGS_DEFAULT, slots};
  s->view = (PyTypeObject *)PyType_FromSpec(&spec);
  return s->view ? PyModule_AddObjectRef(s->module, "View", (PyObject *)s->view) : -1;
}

int neo_py_add_context(neo_py_state *s) {
  static PyMethodDef methods[] = {
      {"get", get, METH_O, "get(k) -> array: a copy of tensor number k."},
      {"set", set, METH_VARARGS, "set(k, array)."},
      {"set_scalar", set_scalar, METH_VARARGS, "set_scalar(name, value): a setting."},
      {"view", view, METH_O, "view(k) -> View: the memory of tensor number k."},
      {"reset", reset, METH_O, "reset(seed): initial values."},
      {"save", save, METH_VARARGS, "save(path, ((key, value), ...)): safetensors."},
      {"load", load, METH_VARARGS, "load(path)."},
      {"load_weights", load_weights, METH_VARARGS, "load_weights(path, only, rename, flags)."},
      {"loaded", loaded, METH_VARARGS, "loaded(key) -> str or None: metadata of the last load."},
      {"trace", trace, METH_VARARGS, "trace(path): None ends it."},
      {"step_count", step_count, METH_NOARGS, "step_count() -> int: finished training steps."},
      {0}};
  static PyType_Slot slots[] = {{Py_tp_new, context_new},
                                {Py_tp_dealloc, context_free},
                                {Py_tp_methods, methods},
                                {Py_tp_doc, "Context(program, seed=0): parameters and states."},
                                {0}};
  static PyType_Spec spec = {"neoc._core.Context", sizeof(neo_py_context), 0, Py_TPFLAGS_DEFAULT,
                             slots};
  s->context = (PyTypeObject *)PyType_FromSpec(&spec);
  if (!s->context || add_view(s))
    return -1;
  return PyModule_AddObjectRef(s->module, "Context", (PyObject *)s->context);
}
