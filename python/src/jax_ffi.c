/* jax_ffi.c: the function that XLA calls for every operator of neoc.jax.
 *
 * XLA's foreign functions have a binary interface in C: structures that begin with their size, to
 * which later versions only add. Those that are read here are written down below, as facts of that
 * interface of version 0.0 to 0.3. XLA asks a function for the version that it speaks when it is
 * registered; neoc.jax tells which one to answer (jax_version).
 *
 * A call has attributes, which a compiled program of XLA stores with it:
 *
 *   spec     the operator, as text (python/neoc/jax/_operators.py), so that a program that was
 *            exported runs in another process
 *   hash     32 hexadecimal digits, of the text
 *   counter  if it is there, the first argument is no array of the operator, but i32[2]: the seed
 *            and the number of steps by which rand() draws; without it both are 0
 *
 * A table of the process finds the variant for the hash and the types and shapes of the arguments:
 * its program and which arguments that takes. Where there is none yet, neoc.jax._ffi.find compiles
 * it, under the interpreter's lock. Readers of the table take no lock: a variant is written before
 * its place is, and neither a variant nor a table is freed; XLA's threads may run to the very end.
 *
 * Failures become errors of XLA with a text that begins with the name of the exception. */
#include "python/src/core.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------ XLA's interface */

typedef struct extension {
  size_t size;
  int32_t kind; /* 1: metadata */
  struct extension *next;
} extension;

typedef struct {
  size_t size;
  extension *extensions;
  int32_t major, minor;
} version;

typedef struct {
  size_t size;
  version version;
  uint32_t traits;
} metadata;

typedef struct {
  extension base;
  metadata *metadata;
} metadata_extension;

typedef struct xla_error xla_error; /* XLA's */

typedef struct {
  size_t size;
  extension *extensions;
  const char *message;
  int32_t code;
} error_create_args;

typedef struct {
  size_t size;
  extension *extensions;
  version version;
  const void *internal;
  xla_error *(*error_create)(error_create_args *args);
} api; /* the beginning of it */

typedef struct {
  size_t size;
  extension *extensions;
  int32_t type;
  void *data;
  int64_t rank;
  const int64_t *extents;
} buffer;

typedef struct {
  size_t size;
  extension *extensions;
  int64_t n;
  const int32_t *kinds; /* 1: a buffer */
  buffer *const *at;
} buffers;

typedef struct {
  const char *at;
  size_t bytes;
} span;

typedef struct {
  size_t size;
  extension *extensions;
  int64_t n;
  const int32_t *kinds; /* 4: a string, a span */
  const span *const *names;
  const void *const *at;
} attributes;

typedef struct {
  size_t size;
  extension *extensions;
  const api *api;
  void *context;
  int32_t stage;
  buffers inputs, outputs;
  attributes attributes;
} call_frame;

enum { METADATA = 1, IS_BUFFER = 1, IS_STRING = 4, EXECUTE = 3 };

/* Codes of errors are those of absl::Status. */
enum {
  CODE_UNKNOWN = 2,
  CODE_INVALID_ARGUMENT = 3,
  CODE_RESOURCE_EXHAUSTED = 8,
  CODE_OUT_OF_RANGE = 11,
  CODE_UNIMPLEMENTED = 12,
  CODE_INTERNAL = 13
};

/* enum neo_rt_type of a type of XLA; -1: the language has none. */
static int type_of(int32_t type) {
  static const int8_t types[] = {
      [1] = NEO_RT_BOOL + 1, [2] = NEO_RT_I8 + 1,   [4] = NEO_RT_I32 + 1,
      [5] = NEO_RT_I64 + 1,  [6] = NEO_RT_U8 + 1,   [10] = NEO_RT_F16 + 1,
      [11] = NEO_RT_F32 + 1, [12] = NEO_RT_F64 + 1, [16] = NEO_RT_BF16 + 1};
  return type < 0 || type >= (int32_t)sizeof types ? -1 : types[type] - 1;
}

static xla_error *fail(const call_frame *f, int32_t code, const char *text) {
  error_create_args args = {sizeof args, NULL, text, code};
  return f->api->error_create(&args);
}

/* ------------------------------------------------------------ variants */

enum { HASH = 32, HASH_WORDS = HASH / 8, MOST_ARGS = 256, KEY = 1024 };

typedef struct {
  uint64_t hash;
  int32_t n_key;
  int64_t *key;
  neo_py_program *program;
  int32_t n_in, n_out;
  int32_t *in; /* numbers of XLA's arguments */
} variant;

typedef struct {
  uint64_t room; /* a power of two */
  _Atomic(variant *) at[];
} table;

/* The variants of the process; XLA's registry of functions belongs to the process, too. */
static struct {
  pthread_mutex_t lock; /* held by writers */
  _Atomic(table *) table;
  int64_t n;
  _Atomic int32_t minor; /* the version that is answered */
} known = {.lock = PTHREAD_MUTEX_INITIALIZER, .minor = 1};

typedef struct {
  const call_frame *frame;
  const span *spec;
  int32_t first; /* argument of the operator */
  int32_t n_key;
  uint64_t hash;
  int64_t key[KEY];
} call;

static variant *search(const table *t, const call *c) {
  for (uint64_t k = c->hash; t; k++) {
    variant *v = atomic_load_explicit(&t->at[k & (t->room - 1)], memory_order_acquire);
    if (!v || (v->hash == c->hash && v->n_key == c->n_key &&
               memcmp(v->key, c->key, (size_t)c->n_key * sizeof *c->key) == 0))
      return v;
  }
  return NULL;
}

static void put(table *t, variant *v) {
  uint64_t k = v->hash;
  while (atomic_load_explicit(&t->at[k & (t->room - 1)], memory_order_relaxed))
    k++;
  atomic_store_explicit(&t->at[k & (t->room - 1)], v, memory_order_release);
}

/* The table with place for one more; readers may still be in the one before. */
static table *table_with_room(void) {
  table *old = atomic_load(&known.table);
  if (old && 2 * (uint64_t)(known.n + 1) <= old->room)
    return old;
  uint64_t room = old ? 2 * old->room : 64;
  table *t = calloc(1, sizeof *t + room * sizeof t->at[0]);
  if (!t)
    return NULL;
  t->room = room;
  for (uint64_t k = 0; old && k < old->room; k++)
    if (old->at[k])
      put(t, old->at[k]);
  return t;
}

/* Adds a variant; where another thread was quicker, gives that one. Null: memory ended. */
static variant *add(variant *v, const call *c) {
  pthread_mutex_lock(&known.lock);
  variant *found = search(atomic_load(&known.table), c);
  table *t = found ? NULL : table_with_room();
  if (t) {
    put(t, v);
    known.n++;
    atomic_store(&known.table, t);
    found = v;
  }
  pthread_mutex_unlock(&known.lock);
  return found;
}

static void free_variant(variant *v) {
  if (!v)
    return;
  neo_py_program_drop(v->program);
  free(v->key);
  free(v->in);
  free(v);
}

/* ------------------------------------------------------------ the key of a call */

static const span *find_string(const attributes *a, const char *name) {
  size_t bytes = strlen(name);
  for (int64_t k = 0; k < a->n; k++)
    if (a->kinds[k] == IS_STRING && a->names[k]->bytes == bytes &&
        memcmp(a->names[k]->at, name, bytes) == 0)
      return a->at[k];
  return NULL;
}

static bool put_buffer(call *c, const buffer *b) {
  if (type_of(b->type) < 0 || b->rank > NEO_PY_RANK || c->n_key + 1 + b->rank > KEY)
    return false;
  c->key[c->n_key++] = b->type | b->rank << 8;
  for (int64_t d = 0; d < b->rank; d++)
    c->key[c->n_key++] = b->extents[d];
  return true;
}

static uint64_t mix(const int64_t *at, int32_t n) {
  uint64_t h = 0xcbf29ce484222325u;
  for (int32_t k = 0; k < n; k++)
    h = (h ^ (uint64_t)at[k]) * 0x9e3779b97f4a7c15u, h ^= h >> 29;
  return h;
}

static bool is_counter(const buffer *b) {
  return type_of(b->type) == NEO_RT_I32 && b->rank == 1 && b->extents[0] == 2;
}

/* The mistake in the call, or null. */
static const char *make_key(call *c) {
  const call_frame *f = c->frame;
  const span *hash = find_string(&f->attributes, "hash");
  c->spec = find_string(&f->attributes, "spec");
  if (!hash || !c->spec || hash->bytes != HASH)
    return "neoc.NeoError: a call of neoc without the attributes 'spec' and 'hash'";
  if (f->inputs.n + f->outputs.n > MOST_ARGS)
    return "neoc.Unsupported: an operator of more than 256 arguments and results";
  c->first = find_string(&f->attributes, "counter") ? 1 : 0;
  if (c->first && (f->inputs.n < 1 || !is_counter(f->inputs.at[0])))
    return "neoc.NeoError: the counter of a call is no i32[2]";
  memcpy(c->key, hash->at, HASH);
  c->n_key = HASH_WORDS;
  for (int64_t k = c->first; k < f->inputs.n; k++)
    if (f->inputs.kinds[k] != IS_BUFFER || !put_buffer(c, f->inputs.at[k]))
      return "neoc.DTypeError: an argument of a type that neoc does not have";
  c->hash = mix(c->key, c->n_key);
  return NULL;
}

/* ------------------------------------------------------------ compiling */

static PyObject *shape_of(const buffer *b) {
  PyObject *shape = PyTuple_New((Py_ssize_t)b->rank);
  for (int64_t d = 0; shape && d < b->rank; d++)
    PyTuple_SetItem(shape, (Py_ssize_t)d, PyLong_FromLongLong(b->extents[d]));
  return shape;
}

/* (("array", "f32", (3, 4)), ...): as keys of neoc.Op are. */
static PyObject *parts_of(const buffers *b, int32_t first) {
  PyObject *parts = PyTuple_New((Py_ssize_t)(b->n - first));
  for (int64_t k = first; parts && k < b->n; k++) {
    const char *word = neo_py_type_word(type_of(b->at[k]->type));
    PyObject *part = Py_BuildValue("(ssN)", "array", word, shape_of(b->at[k]));
    if (!part || PyTuple_SetItem(parts, (Py_ssize_t)(k - first), part))
      Py_CLEAR(parts);
  }
  return parts;
}

static int take_inputs(variant *v, const call *c, PyObject *inputs) {
  for (int32_t k = 0; k < v->n_in; k++) {
    long n = PyLong_AsLong(PyTuple_GetItem(inputs, k));
    if (n < 0 || n >= c->frame->inputs.n - c->first) {
      PyErr_SetString(PyExc_RuntimeError, "the operator's program has other inputs");
      return -1;
    }
    v->in[k] = (int32_t)n + c->first;
  }
  return 0;
}

static variant *new_variant(const call *c, neo_py_program *program, PyObject *inputs) {
  const neo_rt_model *m = neo_py_program_model(program);
  variant *v = calloc(1, sizeof *v);
  if (!v)
    return NULL;
  v->program = neo_py_program_keep(program);
  v->hash = c->hash;
  v->n_key = c->n_key;
  v->n_in = m->entries[0].n_inputs;
  v->n_out = m->entries[0].n_args - v->n_in;
  v->key = malloc((size_t)v->n_key * sizeof *v->key);
  v->in = calloc((size_t)v->n_in + 1, sizeof *v->in);
  if (v->key && v->in && PyTuple_Size(inputs) == v->n_in && take_inputs(v, c, inputs) == 0) {
    memcpy(v->key, c->key, (size_t)v->n_key * sizeof *v->key);
    return v;
  }
  free_variant(v);
  return NULL;
}

static bool is_shape(const neo_rt_model *m, const neo_rt_tensor *t, const buffer *b) {
  bool same = t->rank == b->rank && t->type == type_of(b->type);
  for (int32_t d = 0; same && d < t->rank; d++)
    same = neo_rt_eval(m, m->extents[t->extent + d], NULL) == b->extents[d];
  return same;
}

/* The program reads and writes memory of these sizes: another one must not get to run. */
static bool fits(const variant *v, const call_frame *f) {
  const neo_rt_model *m = neo_py_program_model(v->program);
  const int32_t *args = m->entry_args + m->entries[0].args;
  if (m->entries[0].n_sizes || v->n_out != f->outputs.n)
    return false;
  for (int32_t k = 0; k < v->n_in; k++)
    if (!is_shape(m, &m->tensors[args[k]], f->inputs.at[v->in[k]]))
      return false;
  for (int32_t k = 0; k < v->n_out; k++)
    if (f->outputs.kinds[k] != IS_BUFFER ||
        !is_shape(m, &m->tensors[args[v->n_in + k]], f->outputs.at[k]))
      return false;
  return true;
}

/* Needs the interpreter's lock. Null with an exception. */
static variant *compile(const call *c) {
  neo_py_state *s = neo_py_state_get();
  PyObject *find = s ? neo_py_import("neoc.jax._ffi", "find") : NULL;
  PyObject *parts = find ? parts_of(&c->frame->inputs, c->first) : NULL, *program, *inputs;
  PyObject *made =
      parts ? PyObject_CallFunction(find, "s#O", c->spec->at, (Py_ssize_t)c->spec->bytes, parts)
            : NULL;
  variant *v = NULL;
  if (made && PyArg_ParseTuple(made, "OO!", &program, &PyTuple_Type, &inputs)) {
    neo_py_program *p = neo_py_program_of(s, program);
    v = p ? new_variant(c, p, inputs) : NULL;
    variant *found = v ? add(v, c) : NULL;
    if (found != v)
      free_variant(v);
    v = found;
  }
  Py_XDECREF(made);
  Py_XDECREF(parts);
  Py_XDECREF(find);
  return v;
}

/* The exception that is set as (code, text), by neoc.jax._ffi.told. */
static void tell(int32_t *code, char **text) {
  PyObject *type, *value, *trace, *tell_it = NULL, *told = NULL;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (value)
    tell_it = neo_py_import("neoc.jax._ffi", "told");
  told = tell_it ? PyObject_CallFunctionObjArgs(tell_it, value, NULL) : NULL;
  const char *words;
  if (told && PyArg_ParseTuple(told, "is", code, &words))
    *text = strdup(words);
  PyErr_Clear();
  Py_XDECREF(told);
  Py_XDECREF(tell_it);
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
}

static variant *compile_for(const call *c, xla_error **error) {
  int32_t code = CODE_RESOURCE_EXHAUSTED;
  char *text = NULL;
  if (!Py_IsInitialized()) { /* the process ends */
    *error = fail(c->frame, CODE_UNKNOWN, "neoc.NeoError: Python has ended");
    return NULL;
  }
  PyGILState_STATE lock = PyGILState_Ensure();
  variant *v = compile(c);
  if (!v && PyErr_Occurred())
    tell(&code, &text);
  PyGILState_Release(lock);
  if (!v)
    *error = fail(c->frame, code, text ? text : "neoc.NeoError: memory ended");
  free(text);
  return v;
}

/* ------------------------------------------------------------ running */

static int32_t code_of(int32_t status) {
  switch (status) {
  case NEO_RT_E_RANGE:
    return CODE_OUT_OF_RANGE;
  case NEO_RT_E_MEMORY:
    return CODE_RESOURCE_EXHAUSTED;
  case NEO_RT_E_INTERNAL:
    return CODE_INTERNAL;
  default:
    return CODE_INVALID_ARGUMENT;
  }
}

/* An exception of neoc.errors. */
static const char *kind_of(int32_t status) {
  switch (status) {
  case NEO_RT_E_SHAPE:
    return "ShapeError";
  case NEO_RT_E_RANGE:
    return "RangeError";
  case NEO_RT_E_MEMORY:
    return "MemoryError_";
  case NEO_RT_E_UNSUPPORTED:
    return "Unsupported";
  default:
    return "NeoError";
  }
}

static xla_error *fail_status(const call_frame *f, int32_t status, const char *why) {
  char text[1024];
  snprintf(text, sizeof text, "neoc.%s: %s", kind_of(status),
           why && *why ? why : neo_rt_status_text(status));
  return fail(f, code_of(status), text);
}

/* Arrays without elements may have no memory; an entry takes no null. */
static void *data_of(const buffer *b, int64_t *nothing) {
  return b->data ? b->data : nothing;
}

/* Equal calls draw equal numbers, whichever context serves them. */
static int32_t seek(const call *c, neo_rt_ctx *ctx) {
  const int32_t *counter = c->first ? c->frame->inputs.at[0]->data : NULL;
  return counter ? neo_rt_seek(ctx, (uint32_t)counter[0], (uint32_t)counter[1])
                 : neo_rt_seek(ctx, 0, 0);
}

static xla_error *run(const variant *v, const call *c) {
  const call_frame *f = c->frame;
  void *args[MOST_ARGS];
  int64_t nothing[MOST_ARGS];
  for (int32_t k = 0; k < v->n_in; k++)
    args[k] = data_of(f->inputs.at[v->in[k]], &nothing[k]);
  for (int32_t k = 0; k < v->n_out; k++)
    args[v->n_in + k] = data_of(f->outputs.at[k], &nothing[v->n_in + k]);
  char why[512] = "";
  int32_t status;
  neo_py_worker *w = neo_py_program_take(v->program, &status, why, sizeof why);
  if (!w)
    return fail_status(f, status, why);
  status = seek(c, w->ctx);
  if (!status)
    status = neo_rt_call(w->ctx, 0, NULL, args);
  xla_error *error = status ? fail_status(f, status, neo_rt_error(w->ctx)) : NULL;
  neo_py_program_give(v->program, w);
  return error;
}

/* ------------------------------------------------------------ the function */

/* Whether XLA asks for the version instead of a call. */
static bool answer(const call_frame *f) {
  for (extension *e = f->extensions; e; e = e->next) {
    if (e->kind != METADATA)
      continue;
    metadata *m = ((metadata_extension *)e)->metadata;
    m->version.major = 0;
    m->version.minor = atomic_load(&known.minor);
    m->traits = 0;
    return true;
  }
  return false;
}

static xla_error *handle(call_frame *f) {
  if (answer(f) || f->stage != EXECUTE)
    return NULL;
  call c;
  c.frame = f;
  const char *wrong = make_key(&c);
  if (wrong)
    return fail(f, CODE_INVALID_ARGUMENT, wrong);
  xla_error *error = NULL;
  const variant *v = search(atomic_load_explicit(&known.table, memory_order_acquire), &c);
  if (!v)
    v = compile_for(&c, &error);
  if (!v)
    return error;
  if (!fits(v, f))
    return fail(f, CODE_INTERNAL, "neoc.NeoError: the results have other shapes than for XLA");
  return run(v, &c);
}

/* jax_handler() -> capsule with the function. */
PyObject *neo_py_jax_handler(PyObject *self, PyObject *none) {
  (void)self;
  (void)none;
  return PyCapsule_New((void *)(uintptr_t)handle, "xla._CUSTOM_CALL_TARGET", NULL);
}

/* jax_version(minor): which version of XLA's interface is answered from now on. */
PyObject *neo_py_jax_version(PyObject *self, PyObject *minor) {
  (void)self;
  long n = PyLong_AsLong(minor);
  if (PyErr_Occurred())
    return NULL;
  atomic_store(&known.minor, (int32_t)n);
  Py_RETURN_NONE;
}
