/* door.c: operators that another framework calls by number.
 *
 * A framework's kernel gets no pointer of ours, so an operator has a number, which Python makes
 * from its text (neoc.torch): a graph that the framework stored means the same operator in another
 * process. A table finds the operator of a number, and in the operator a table finds the variant of
 * shapes and types, as op.c does. What has been added stays, since a compiled graph may call it, so
 * both are read without a lock: a table that has become too small is replaced by a larger one and
 * left as it is.
 *
 * Where a variant is missing, the object that was registered is asked, with the interpreter's lock:
 *
 *   _specialize(key) -> (program, inputs)      key: (("array", "f32", (3, 4)), ...)
 *                    or (program, inputs, entry, bound)
 *   _fail(status, message)                     raises what a call's status means
 *
 * inputs[k] is the argument that is the entry's k-th input. A model's entry has a number, run-time
 * sizes, which are found from shapes, and parameters that are bound to arguments' memory in each
 * call: bound is (tensor, argument, tensor, argument, ...).
 *
 * An exception waits in the thread's dictionary of the interpreter until neoc asks for it
 * (door_failure), since kernels can tell a text alone. */
#include "python/src/door.h"
#include <neo/dlpack.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  neo_py_door_variant v;
  void *plans; /* v.plans points here */
  uint64_t hash;
  int32_t n_key;
  int64_t key[];
} variant;

/* Open addressing; the number of places is a power of two. */
typedef struct {
  int64_t room;
  _Atomic(void *) at[];
} table;

struct neo_py_door {
  int64_t number;
  PyObject *object;
  pthread_mutex_t lock; /* held while a variant is added */
  _Atomic(table *) variants;
  int64_t n_variants;
};

typedef struct {
  int64_t few[64];
  int64_t *at;
  int32_t n;
  uint64_t hash;
} key;

/* Numbers are of the process, as the framework's kernels are. */
static struct {
  pthread_mutex_t lock;
  _Atomic(table *) at;
  int64_t n;
} doors = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ------------------------------------------------------------ tables */

static uint64_t mixed(uint64_t h) {
  h *= 0x9e3779b97f4a7c15u;
  return h ^ h >> 29;
}

static void *place(const table *t, uint64_t k) {
  return atomic_load_explicit(&t->at[k & (uint64_t)(t->room - 1)], memory_order_acquire);
}

static void put(table *t, uint64_t hash, void *what) {
  uint64_t k = hash;
  while (place(t, k))
    k++;
  atomic_store_explicit(&t->at[k & (uint64_t)(t->room - 1)], what, memory_order_release);
}

/* Under the lock of those who add: makes room for one more. */
static table *grown(_Atomic(table *) *at, int64_t n, uint64_t (*hash_of)(const void *)) {
  table *old = atomic_load(at);
  if (old && 2 * (n + 1) <= old->room)
    return old;
  int64_t room = old ? 2 * old->room : 8;
  table *made = calloc(1, sizeof *made + (size_t)room * sizeof made->at[0]);
  if (!made)
    return NULL;
  made->room = room;
  for (int64_t k = 0; old && k < old->room; k++)
    if (old->at[k])
      put(made, hash_of(old->at[k]), old->at[k]);
  atomic_store_explicit(at, made, memory_order_release);
  return made;
}

static uint64_t hash_of_door(const void *door) {
  return mixed((uint64_t)((const neo_py_door *)door)->number);
}

static uint64_t hash_of_variant(const void *v) {
  return ((const variant *)v)->hash;
}

neo_py_door *neo_py_door_find(int64_t number) {
  const table *t = atomic_load_explicit(&doors.at, memory_order_acquire);
  if (!t)
    return NULL;
  for (uint64_t k = mixed((uint64_t)number);; k++) {
    neo_py_door *d = place(t, k);
    if (!d || d->number == number)
      return d;
  }
}

/* ------------------------------------------------------------ failures */

static const char waiting[] = "neoc.failure";

/* The exception that is set waits for door_failure; its text is the message. */
static void keep_exception(char *why) {
  PyObject *type, *value, *trace, *dict = PyThreadState_GetDict();
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  PyObject *text = value ? PyObject_Str(value) : NULL;
  const char *bytes = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
  snprintf(why, NEO_PY_WHY, "%s", bytes ? bytes : "neoc: an exception without a text");
  if (dict && value)
    PyDict_SetItemString(dict, waiting, value);
  Py_XDECREF(text);
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
  PyErr_Clear();
}

static void fail(neo_py_door *d, int32_t status, const char *message, char *why) {
  PyGILState_STATE held = PyGILState_Ensure();
  PyObject *done = PyObject_CallMethod(d->object, "_fail", "is", (int)status, message);
  if (done)
    PyErr_SetString(PyExc_RuntimeError, message);
  Py_XDECREF(done);
  keep_exception(why);
  PyGILState_Release(held);
}

/* ------------------------------------------------------------ variants */

static bool make_key(key *k, const neo_py_shape *in, int32_t n) {
  int32_t room = n;
  for (int32_t i = 0; i < n; i++)
    room += in[i].rank;
  k->at = room <= 64 ? k->few : malloc((size_t)room * sizeof *k->at);
  if (!k->at)
    return false;
  int64_t *p = k->at;
  uint64_t h = (uint64_t)n;
  for (int32_t i = 0; i < n; i++) {
    *p++ = in[i].type | in[i].rank << 8;
    for (int32_t d = 0; d < in[i].rank; d++)
      *p++ = in[i].shape[d];
  }
  k->n = (int32_t)(p - k->at);
  for (int32_t i = 0; i < k->n; i++)
    h = mixed(h ^ (uint64_t)k->at[i]);
  k->hash = h;
  return true;
}

static variant *find_variant(neo_py_door *d, const key *k) {
  const table *t = atomic_load_explicit(&d->variants, memory_order_acquire);
  for (uint64_t i = k->hash; t; i++) {
    variant *v = place(t, i);
    if (!v || (v->hash == k->hash && v->n_key == k->n &&
               memcmp(v->key, k->at, (size_t)k->n * sizeof *k->at) == 0))
      return v;
  }
  return NULL;
}

static PyObject *shape_object(const int64_t *shape, int32_t rank) {
  PyObject *made = PyTuple_New(rank);
  for (int32_t d = 0; made && d < rank; d++)
    PyTuple_SetItem(made, d, PyLong_FromLongLong(shape[d]));
  return made;
}

static PyObject *key_object(const neo_py_shape *in, int32_t n) {
  PyObject *made = PyTuple_New(n);
  for (int32_t k = 0; made && k < n; k++) {
    PyObject *part = Py_BuildValue("(ssN)", "array", neo_py_type_word(in[k].type),
                                   shape_object(in[k].shape, in[k].rank));
    if (!part || PyTuple_SetItem(made, k, part))
      Py_CLEAR(made);
  }
  return made;
}

static const neo_rt_entry *entry_of(const neo_py_door_variant *v) {
  return &v->model->entries[v->entry];
}

static const neo_rt_tensor *argument_of(const neo_py_door_variant *v, int32_t k) {
  return &v->model->tensors[v->model->entry_args[entry_of(v)->args + k]];
}

/* The program's record of a tensor. */
static neo_py_shape shape_of(const neo_rt_model *m, const neo_rt_tensor *t, const int64_t *sizes,
                             int64_t *extents) {
  for (int32_t d = 0; d < t->rank; d++)
    extents[d] = neo_rt_eval(m, m->extents[t->extent + d], sizes);
  return (neo_py_shape){t->type, t->rank, extents};
}

static bool is_same(neo_py_shape a, neo_py_shape b) {
  return a.type == b.type && a.rank == b.rank &&
         (!a.rank || memcmp(a.shape, b.shape, (size_t)a.rank * sizeof *a.shape) == 0);
}

/* A variant while it is made. */
typedef struct {
  neo_py_door_variant *v;
  const neo_py_shape *given;
  int32_t n_given;
  int64_t *sizes; /* the model's sizes */
  int32_t *in, *bound, *rank, *type;
  int64_t *call_sizes, *extents;
} maker;

static void free_maker(maker *m) {
  free(m->sizes);
  free(m->in);
  free(m->bound);
  free(m->rank);
  free(m->type);
  free(m->call_sizes);
  free(m->extents);
}

static int32_t *numbers(int64_t n) {
  return calloc((size_t)n + 1, sizeof(int32_t));
}

static bool make_memory(maker *m) {
  neo_py_door_variant *v = m->v;
  m->sizes = calloc((size_t)v->model->n_sizes + 1, sizeof *m->sizes);
  m->call_sizes = calloc((size_t)entry_of(v)->n_sizes + 1, sizeof *m->call_sizes);
  m->extents = calloc((size_t)v->n_out + 1, NEO_PY_RANK * sizeof *m->extents);
  m->in = numbers(v->n_in);
  m->bound = numbers(2 * (int64_t)v->n_bound);
  m->rank = numbers(v->n_out);
  m->type = numbers(v->n_out);
  if (m->sizes && m->call_sizes && m->extents && m->in && m->bound && m->rank && m->type)
    return true;
  PyErr_NoMemory();
  return false;
}

static bool read_numbers(PyObject *list, int32_t *to, Py_ssize_t n) {
  for (Py_ssize_t k = 0; k < n; k++)
    to[k] = (int32_t)PyLong_AsLong(PyTuple_GetItem(list, k));
  return !PyErr_Occurred();
}

/* A run-time size is the whole extent of a dimension of some input. */
static void find_sizes(maker *m) {
  const neo_rt_model *model = m->v->model;
  for (int32_t k = 0; k < m->v->n_in; k++) {
    const neo_rt_tensor *t = argument_of(m->v, k);
    for (int32_t d = 0; d < t->rank && d < m->given[m->in[k]].rank; d++) {
      const int64_t *p = model->programs + model->extents[t->extent + d];
      if (p[0] == NEO_RT_OP_SIZE && p[2] == NEO_RT_OP_END)
        m->sizes[p[1]] = m->given[m->in[k]].shape[d];
    }
  }
  const int32_t *order = model->entry_sizes + entry_of(m->v)->sizes;
  for (int32_t k = 0; k < entry_of(m->v)->n_sizes; k++)
    m->call_sizes[k] = m->sizes[order[k]];
}

static bool fits(const maker *m, const neo_rt_tensor *t, int32_t arg) {
  int64_t extents[NEO_PY_RANK];
  return is_same(m->given[arg], shape_of(m->v->model, t, m->sizes, extents));
}

/* The program reads memory of these sizes: a specialization that is wrong must not get to run. */
static bool all_fit(const maker *m) {
  bool fit = true;
  for (int32_t k = 0; fit && k < m->v->n_in; k++)
    fit = fits(m, argument_of(m->v, k), m->in[k]);
  for (int32_t k = 0; fit && k < m->v->n_bound; k++)
    fit = fits(m, &m->v->model->tensors[m->bound[2 * k]], m->bound[2 * k + 1]);
  if (!fit)
    PyErr_SetString(PyExc_RuntimeError, "the operator's variant has other arguments");
  return fit;
}

static bool are_arguments(const maker *m) {
  for (int32_t k = 0; k < m->v->n_in; k++)
    if (m->in[k] < 0 || m->in[k] >= m->n_given)
      return false;
  for (int32_t k = 0; k < m->v->n_bound; k++)
    if (m->bound[2 * k] < 0 || m->bound[2 * k] >= m->v->model->n_tensors ||
        m->bound[2 * k + 1] < 0 || m->bound[2 * k + 1] >= m->n_given)
      return false;
  return true;
}

static void finish(maker *m) {
  neo_py_door_variant *v = m->v;
  for (int32_t k = 0; k < v->n_out; k++) {
    neo_py_shape s =
        shape_of(v->model, argument_of(v, v->n_in + k), m->sizes, m->extents + k * NEO_PY_RANK);
    m->rank[k] = s.rank;
    m->type[k] = s.type;
  }
  v->in = m->in;
  v->bound = m->bound;
  v->sizes = m->call_sizes;
  v->rank = m->rank;
  v->type = m->type;
  v->extents = m->extents;
  free(m->sizes);
}

static bool fill_variant(neo_py_door_variant *v, PyObject *inputs, PyObject *bound,
                         const neo_py_shape *given, int32_t n) {
  maker m = {.v = v, .given = given, .n_given = n};
  v->n_bound = bound ? (int32_t)(PyTuple_Size(bound) / 2) : 0;
  bool filled = make_memory(&m) && read_numbers(inputs, m.in, v->n_in) &&
                read_numbers(bound, m.bound, 2 * (Py_ssize_t)v->n_bound);
  if (filled && are_arguments(&m)) {
    find_sizes(&m);
    if (all_fit(&m)) {
      finish(&m);
      return true;
    }
  }
  if (!PyErr_Occurred())
    PyErr_SetString(PyExc_RuntimeError, "the operator's variant has other arguments");
  free_maker(&m);
  return false;
}

/* The value that `_specialize` returned. */
typedef struct {
  PyObject *program, *inputs, *bound;
  int entry;
} special;

static variant *new_variant(neo_py_program *p, const special *made, const neo_py_shape *in,
                            int32_t n, const key *k) {
  variant *v = calloc(1, sizeof *v + (size_t)k->n * sizeof *v->key);
  if (!v) {
    PyErr_NoMemory();
    return NULL;
  }
  v->v.program = p;
  v->v.model = neo_py_program_model(p);
  v->v.entry = made->entry;
  v->v.n_in = entry_of(&v->v)->n_inputs;
  v->v.n_out = entry_of(&v->v)->n_args - v->v.n_in;
  v->v.plans = &v->plans;
  v->hash = k->hash;
  v->n_key = k->n;
  memcpy(v->key, k->at, (size_t)k->n * sizeof *k->at);
  if (PyTuple_Size(made->inputs) != v->v.n_in)
    PyErr_SetString(PyExc_RuntimeError, "the operator's variant has other inputs");
  else if (fill_variant(&v->v, made->inputs, made->bound, in, n)) {
    neo_py_program_keep(p);
    return v;
  }
  free(v);
  return NULL;
}

/* Another thread may have been quicker: then its variant is taken, and v is left over. */
static variant *add_variant(neo_py_door *d, variant *v, const key *k) {
  pthread_mutex_lock(&d->lock);
  variant *found = find_variant(d, k);
  table *t = found ? NULL : grown(&d->variants, d->n_variants, hash_of_variant);
  if (t) {
    put(t, v->hash, v);
    d->n_variants++;
    found = v;
  }
  pthread_mutex_unlock(&d->lock);
  return found;
}

static variant *specialize(neo_py_door *d, const neo_py_shape *in, int32_t n, const key *k) {
  neo_py_state *s = neo_py_state_get();
  PyObject *object = s ? key_object(in, n) : NULL;
  PyObject *made = object ? PyObject_CallMethod(d->object, "_specialize", "(O)", object) : NULL;
  special f = {0};
  variant *v = NULL;
  if (made && PyArg_ParseTuple(made, "OO!|iO!", &f.program, &PyTuple_Type, &f.inputs, &f.entry,
                               &PyTuple_Type, &f.bound)) {
    neo_py_program *p = neo_py_program_of(s, f.program);
    v = p ? new_variant(p, &f, in, n, k) : NULL;
    if (v && !(v = add_variant(d, v, k)))
      PyErr_NoMemory();
  }
  Py_XDECREF(made);
  Py_XDECREF(object);
  return v;
}

const neo_py_door_variant *neo_py_door_variant_of(neo_py_door *door, const neo_py_shape *in,
                                                  int32_t n, char *why) {
  key k;
  if (!make_key(&k, in, n)) {
    snprintf(why, NEO_PY_WHY, "memory ended");
    return NULL;
  }
  variant *v = find_variant(door, &k);
  if (!v) {
    PyGILState_STATE held = PyGILState_Ensure();
    v = specialize(door, in, n, &k);
    if (!v)
      keep_exception(why);
    PyGILState_Release(held);
  }
  if (k.at != k.few)
    free(k.at);
  return v ? &v->v : NULL;
}

static int32_t bind_one(neo_rt_ctx *ctx, const neo_py_door_variant *v, int32_t tensor, void *data) {
  static const neo_dl_type types[] = {
      [NEO_RT_F64] = {NEO_DL_FLOAT, 64, 1}, [NEO_RT_F32] = {NEO_DL_FLOAT, 32, 1},
      [NEO_RT_F16] = {NEO_DL_FLOAT, 16, 1}, [NEO_RT_BF16] = {NEO_DL_BFLOAT, 16, 1},
      [NEO_RT_I64] = {NEO_DL_INT, 64, 1},   [NEO_RT_I32] = {NEO_DL_INT, 32, 1},
      [NEO_RT_I8] = {NEO_DL_INT, 8, 1},     [NEO_RT_U8] = {NEO_DL_UINT, 8, 1},
      [NEO_RT_BOOL] = {NEO_DL_BOOL, 8, 1}};
  int64_t extents[NEO_PY_RANK];
  neo_py_shape s = shape_of(v->model, &v->model->tensors[tensor], NULL, extents);
  neo_dl_tensor dl = {.data = data,
                      .device = {NEO_DL_CPU, 0},
                      .ndim = s.rank,
                      .dtype = types[s.type],
                      .shape = extents};
  return neo_rt_bind(ctx, tensor, &dl);
}

/* Parameters are the caller's memory during this call. */
static int32_t bind_all(neo_rt_ctx *ctx, const neo_py_door_variant *v, void *const *data) {
  int32_t status = NEO_RT_OK;
  for (int32_t k = 0; status == NEO_RT_OK && k < v->n_bound; k++)
    status = bind_one(ctx, v, v->bound[2 * k], data[k]);
  return status;
}

int neo_py_door_run(neo_py_door *door, const neo_py_door_variant *v, void *const *args, char *why) {
  char text[512] = "";
  int32_t status;
  neo_py_worker *w = neo_py_program_take(v->program, &status, text, sizeof text);
  if (w) {
    w->cancel = 0;
    status = bind_all(w->ctx, v, args + v->n_in + v->n_out);
    if (status == NEO_RT_OK)
      status = neo_rt_call(w->ctx, v->entry, v->sizes, args);
    if (status)
      snprintf(text, sizeof text, "%s", neo_rt_error(w->ctx));
    neo_py_program_give(v->program, w);
  }
  if (status)
    fail(door, status, text, why);
  return status ? -1 : 0;
}

/* ------------------------------------------------------------ functions of the module */

/* Takes the object. */
static int add_door(int64_t number, PyObject *object) {
  neo_py_door *d = calloc(1, sizeof *d);
  pthread_mutex_lock(&doors.lock);
  table *t = d ? grown(&doors.at, doors.n, hash_of_door) : NULL;
  if (t) {
    d->number = number;
    d->object = object;
    pthread_mutex_init(&d->lock, NULL);
    put(t, hash_of_door(d), d);
    doors.n++;
  }
  pthread_mutex_unlock(&doors.lock);
  if (t)
    return 0;
  free(d);
  Py_DECREF(object);
  PyErr_NoMemory();
  return -1;
}

static PyObject *door_add(PyObject *self, PyObject *args) {
  (void)self;
  long long number;
  PyObject *object;
  if (!PyArg_ParseTuple(args, "LO:door_add", &number, &object))
    return NULL;
  if (neo_py_door_find(number)) {
    PyErr_Format(PyExc_RuntimeError, "an operator has the number %lld already", number);
    return NULL;
  }
  if (add_door(number, Py_NewRef(object)))
    return NULL;
  Py_RETURN_NONE;
}

static PyObject *door_failure(PyObject *self, PyObject *none) {
  (void)self;
  (void)none;
  PyObject *dict = PyThreadState_GetDict();
  PyObject *name = PyUnicode_FromString(waiting);
  PyObject *found = dict && name ? PyDict_GetItemWithError(dict, name) : NULL;
  PyObject *result = found ? Py_NewRef(found) : PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
  if (found)
    PyDict_DelItem(dict, name);
  Py_XDECREF(name);
  return result;
}

/* An argument as Python has it: (type, shape). */
static bool read_shape(PyObject *part, neo_py_shape *to, int64_t *extents) {
  PyObject *shape;
  int type;
  if (!PyArg_ParseTuple(part, "iO!", &type, &PyTuple_Type, &shape))
    return false;
  Py_ssize_t rank = PyTuple_Size(shape);
  if (rank > NEO_PY_RANK || type < 0 || type > NEO_RT_BOOL) {
    PyErr_Format(PyExc_ValueError, "a tensor has %d dimensions at most", (int)NEO_PY_RANK);
    return false;
  }
  for (Py_ssize_t d = 0; d < rank; d++)
    extents[d] = PyLong_AsLongLong(PyTuple_GetItem(shape, d));
  *to = (neo_py_shape){type, (int32_t)rank, extents};
  return !PyErr_Occurred();
}

/* Raises what waits. */
static PyObject *raise_failure(const char *why) {
  PyObject *waits = door_failure(NULL, NULL);
  if (waits && waits != Py_None)
    PyErr_SetObject((PyObject *)Py_TYPE(waits), waits);
  else if (waits)
    PyErr_SetString(PyExc_RuntimeError, why);
  Py_XDECREF(waits);
  return NULL;
}

typedef struct {
  neo_py_door *door;
  const neo_py_door_variant *v;
} found;

/* The variant for (type, shape) of each argument; false with an exception. */
static bool find_for(long long number, PyObject *parts, found *f) {
  Py_ssize_t n = PyTuple_Size(parts);
  neo_py_shape *in = PyMem_Calloc((size_t)n + 1, sizeof *in);
  int64_t *extents = PyMem_Calloc((size_t)n + 1, NEO_PY_RANK * sizeof *extents);
  f->door = neo_py_door_find(number);
  f->v = NULL;
  bool read = in && extents;
  for (Py_ssize_t k = 0; read && k < n; k++)
    read = read_shape(PyTuple_GetItem(parts, k), &in[k], extents + k * NEO_PY_RANK);
  char why[NEO_PY_WHY] = "";
  if (read && !f->door)
    PyErr_Format(PyExc_KeyError, "no operator has the number %lld", number);
  else if (read && !(f->v = neo_py_door_variant_of(f->door, in, (int32_t)n, why)))
    raise_failure(why);
  else if (!read && !PyErr_Occurred())
    PyErr_NoMemory();
  PyMem_Free(in);
  PyMem_Free(extents);
  return f->v;
}

static PyObject *door_results(PyObject *self, PyObject *args) {
  (void)self;
  long long number;
  PyObject *parts;
  found f;
  if (!PyArg_ParseTuple(args, "LO!:door_results", &number, &PyTuple_Type, &parts) ||
      !find_for(number, parts, &f))
    return NULL;
  PyObject *made = PyTuple_New(f.v->n_out);
  for (int32_t k = 0; made && k < f.v->n_out; k++)
    PyTuple_SetItem(made, k,
                    Py_BuildValue("(iN)", (int)f.v->type[k],
                                  shape_object(f.v->extents + k * NEO_PY_RANK, f.v->rank[k])));
  return made;
}

static void *address_at(PyObject *list, Py_ssize_t k) {
  PyObject *number = PyTuple_GetItem(list, k);
  return number ? PyLong_AsVoidPtr(number) : NULL;
}

static PyObject *door_run(PyObject *self, PyObject *args) {
  (void)self;
  long long number;
  PyObject *parts, *from, *to;
  found f;
  if (!PyArg_ParseTuple(args, "LO!O!O!:door_run", &number, &PyTuple_Type, &parts, &PyTuple_Type,
                        &from, &PyTuple_Type, &to) ||
      !find_for(number, parts, &f))
    return NULL;
  void **at = PyMem_Calloc((size_t)(f.v->n_in + f.v->n_out + f.v->n_bound) + 1, sizeof *at);
  for (int32_t k = 0; at && k < f.v->n_in; k++)
    at[k] = address_at(from, f.v->in[k]);
  for (int32_t k = 0; at && k < f.v->n_out; k++)
    at[f.v->n_in + k] = address_at(to, k);
  for (int32_t k = 0; at && k < f.v->n_bound; k++)
    at[f.v->n_in + f.v->n_out + k] = address_at(from, f.v->bound[2 * k + 1]);
  char why[NEO_PY_WHY] = "";
  int failed = -1;
  if (at && !PyErr_Occurred()) {
    Py_BEGIN_ALLOW_THREADS;
    failed = neo_py_door_run(f.door, f.v, at, why);
    Py_END_ALLOW_THREADS;
    if (failed)
      raise_failure(why);
  }
  PyMem_Free(at);
  return failed ? NULL : Py_NewRef(Py_None);
}

int neo_py_add_doors(neo_py_state *s) {
  static PyMethodDef functions[] = {
      {"door_add", door_add, METH_VARARGS,
       "door_add(number, object): from now on the number means this operator."},
      {"door_failure", door_failure, METH_NOARGS,
       "door_failure() -> exception or None: why a call of this thread failed."},
      {"door_results", door_results, METH_VARARGS,
       "door_results(number, ((type, shape), ...)) -> the same of the results."},
      {"door_run", door_run, METH_VARARGS,
       "door_run(number, ((type, shape), ...), addresses, addresses of results): computes."},
      {0}};
  return PyModule_AddFunctions(s->module, functions);
}
