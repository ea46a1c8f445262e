/* program.c: a build that is loaded into this process, with the contexts of its calls.
 *
 * A context serves one thread at a time, so a program has a stack of those that are free: a call
 * takes one and gives it back. There are as many as there were calls at the same time. */
#include "python/src/compiling.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

struct neo_py_program {
  _Atomic int64_t count;
  neo_code *code;
  const neo_rt_model *model;
  int32_t threads; /* threads of its contexts; 0: as neoc.set_threads says */
  pthread_mutex_t lock;
  neo_py_worker **free; /* workers that no call uses */
  int32_t n, room;
  uint32_t generation; /* that of the pools when these were made */
};

neo_py_program *neo_py_program_make(const neo_build *build, int32_t threads, int32_t *status,
                                    char **message) {
  neo_code *code = NULL;
  neo_py_stay stay;
  *status = NEO_RT_E_INTERRUPTED;
  if (neo_py_compiler_enter(&stay, NULL)) {
    *status = neo_code_load(build, &code, message);
    neo_py_compiler_leave(&stay);
  }
  if (*status)
    return NULL;
  neo_py_program *p = calloc(1, sizeof *p);
  if (!p) {
    neo_code_free(code);
    *status = NEO_RT_E_MEMORY;
    return NULL;
  }
  p->count = 1;
  p->code = code;
  p->model = neo_code_model(code);
  p->threads = threads;
  pthread_mutex_init(&p->lock, NULL);
  return p;
}

neo_py_program *neo_py_program_keep(neo_py_program *p) {
  atomic_fetch_add(&p->count, 1);
  return p;
}

static void worker_free(neo_py_worker *w) {
  neo_rt_destroy(w->ctx);
  free(w);
}

static void destroy_free(neo_py_program *p) {
  while (p->n > 0)
    worker_free(p->free[--p->n]);
}

void neo_py_program_drop(neo_py_program *p) {
  if (!p || atomic_fetch_sub(&p->count, 1) != 1)
    return;
  destroy_free(p);
  neo_code_free(p->code);
  pthread_mutex_destroy(&p->lock);
  free(p->free);
  free(p);
}

const neo_rt_model *neo_py_program_model(const neo_py_program *p) {
  return p->model;
}
int32_t neo_py_program_threads(const neo_py_program *p) {
  return p->threads;
}

/* ------------------------------------------------------------ contexts */

static neo_py_worker *take_free(neo_py_program *p) {
  neo_py_worker *w = NULL;
  pthread_mutex_lock(&p->lock);
  if (p->generation != neo_py_pool_generation())
    destroy_free(p);
  if (p->n > 0)
    w = p->free[--p->n];
  pthread_mutex_unlock(&p->lock);
  return w;
}

static int32_t create(neo_py_program *p, neo_py_worker *w) {
  neo_rt_config config = {.struct_size = sizeof config, .threads = 1, .cancel = &w->cancel};
  uint32_t generation;
  config.pool = neo_py_pool(p->threads, &generation);
  pthread_mutex_lock(&p->lock);
  p->generation = generation;
  pthread_mutex_unlock(&p->lock);
  return neo_rt_create(p->model, &config, &w->ctx);
}

neo_py_worker *neo_py_program_take(neo_py_program *p, int32_t *status, char *why, size_t n) {
  neo_py_worker *w = take_free(p);
  *status = NEO_RT_OK;
  if (w)
    return w;
  w = calloc(1, sizeof *w);
  *status = w ? create(p, w) : NEO_RT_E_MEMORY;
  if (*status == NEO_RT_OK)
    return w;
  snprintf(why, n, "%s", w && w->ctx ? neo_rt_error(w->ctx) : neo_rt_status_text(*status));
  if (w)
    worker_free(w);
  return NULL;
}

static bool has_room(neo_py_program *p) {
  if (p->n < p->room)
    return true;
  int32_t room = p->room ? 2 * p->room : 4;
  neo_py_worker **more = realloc(p->free, (size_t)room * sizeof *more);
  if (!more)
    return false;
  p->free = more;
  p->room = room;
  return true;
}

void neo_py_program_give(neo_py_program *p, neo_py_worker *w) {
  pthread_mutex_lock(&p->lock);
  bool kept = p->generation == neo_py_pool_generation() && has_room(p);
  if (kept)
    p->free[p->n++] = w;
  pthread_mutex_unlock(&p->lock);
  if (!kept)
    worker_free(w);
}

/* ------------------------------------------------------------ Program */

typedef struct {
  PyObject_HEAD neo_py_program *p;
} program_object;

static void program_free(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  neo_py_program *p = ((program_object *)self)->p;
  Py_BEGIN_ALLOW_THREADS;
  neo_py_program_drop(p);
  Py_END_ALLOW_THREADS;
  PyObject_Free(self);
  Py_DECREF(type);
}

neo_py_program *neo_py_program_of(neo_py_state *s, PyObject *object) {
  if (Py_TYPE(object) == s->program)
    return ((program_object *)object)->p;
  PyErr_SetString(PyExc_TypeError, "expected a neoc._core.Program");
  return NULL;
}

/* An extent: a number, the name of a size, or None for other expressions of sizes. */
static PyObject *extent_object(const neo_rt_model *m, int32_t program) {
  const int64_t *p = m->programs + program;
  if (p[0] == NEO_RT_OP_CONST && p[2] == NEO_RT_OP_END)
    return PyLong_FromLongLong(p[1]);
  if (p[0] == NEO_RT_OP_SIZE && p[2] == NEO_RT_OP_END)
    return PyUnicode_FromString(m->sizes[p[1]].name);
  for (; *p != NEO_RT_OP_END; p += *p == NEO_RT_OP_CONST || *p == NEO_RT_OP_SIZE ? 2 : 1)
    if (*p == NEO_RT_OP_SIZE)
      return Py_NewRef(Py_None);
  return PyLong_FromLongLong(neo_rt_eval(m, program, NULL));
}

static PyObject *extents(const neo_rt_model *m, const neo_rt_tensor *t) {
  PyObject *list = PyTuple_New(t->rank);
  for (int32_t k = 0; list && k < t->rank; k++)
    PyTuple_SetItem(list, k, extent_object(m, m->extents[t->extent + k]));
  return list;
}

static PyObject *tensor_row(const neo_rt_model *m, int32_t k) {
  const neo_rt_tensor *t = &m->tensors[k];
  return Py_BuildValue("(sissiiN)", t->name, t->role, t->place ? t->place : "",
                       neo_py_type_word(t->type), t->in_safetensors, t->optimizer, extents(m, t));
}

static PyObject *numbers(const int32_t *at, int32_t n) {
  PyObject *list = PyTuple_New(n);
  for (int32_t k = 0; list && k < n; k++)
    PyTuple_SetItem(list, k, PyLong_FromLong(at[k]));
  return list;
}

static PyObject *entry_row(const neo_rt_model *m, int32_t k) {
  const neo_rt_entry *e = &m->entries[k];
  const int32_t *args = m->entry_args + e->args;
  return Py_BuildValue("(siNN)", e->name, e->kind, numbers(args, e->n_inputs),
                       numbers(args + e->n_inputs, e->n_args - e->n_inputs));
}

typedef PyObject *row_maker(const neo_rt_model *m, int32_t k);

static PyObject *rows(const neo_rt_model *m, int32_t n, row_maker *make) {
  PyObject *list = PyList_New(n);
  for (int32_t k = 0; list && k < n; k++) {
    PyObject *row = make(m, k);
    if (!row || PyList_SetItem(list, k, row)) {
      Py_CLEAR(list);
      break;
    }
  }
  return list;
}

static PyObject *get_tensors(PyObject *self, void *none) {
  (void)none;
  const neo_rt_model *m = ((program_object *)self)->p->model;
  return rows(m, m->n_tensors, tensor_row);
}

static PyObject *get_entries(PyObject *self, void *none) {
  (void)none;
  const neo_rt_model *m = ((program_object *)self)->p->model;
  return rows(m, m->n_entries, entry_row);
}

static PyObject *size_row(const neo_rt_model *m, int32_t k) {
  const neo_rt_size *z = &m->sizes[k];
  return Py_BuildValue("(sLL)", z->name, (long long)z->lo, (long long)z->hi);
}

static PyObject *get_sizes(PyObject *self, void *none) {
  (void)none;
  const neo_rt_model *m = ((program_object *)self)->p->model;
  return rows(m, m->n_sizes, size_row);
}

static PyObject *describe(PyObject *self, PyObject *json) {
  const neo_rt_model *m = ((program_object *)self)->p->model;
  int wants = PyObject_IsTrue(json);
  size_t n = neo_rt_describe(m, wants, NULL, 0);
  char *text = PyMem_Malloc(n + 1);
  if (!text)
    return PyErr_NoMemory();
  neo_rt_describe(m, wants, text, n + 1);
  PyObject *result = PyUnicode_FromString(text);
  PyMem_Free(text);
  return result;
}

static PyObject *arena_size(PyObject *self, PyObject *threads) {
  long n = PyLong_AsLong(threads);
  if (PyErr_Occurred())
    return NULL;
  return PyLong_FromLongLong(neo_rt_arena_size(((program_object *)self)->p->model, (int32_t)n));
}

static PyObject *release(PyObject *self, PyObject *none) {
  (void)none;
  neo_py_program *p = ((program_object *)self)->p;
  pthread_mutex_lock(&p->lock);
  destroy_free(p);
  pthread_mutex_unlock(&p->lock);
  return Py_NewRef(Py_None);
}

static PyObject *get_model(PyObject *self, void *none) {
  (void)none;
  return PyLong_FromVoidPtr((void *)(uintptr_t)((program_object *)self)->p->model);
}

int neo_py_add_program(neo_py_state *s) {
  static PyGetSetDef members[] = {
      {"tensors", get_tensors, NULL,
       "[(name, role, place, type, in_safetensors, of an optimizer, extents)]", NULL},
      {"entries", get_entries, NULL, "[(name, kind, inputs, outputs)], numbers of tensors", NULL},
      {"sizes", get_sizes, NULL, "[(name, lowest, highest)]", NULL},
      {"model", get_model, NULL, "the address of its neo_rt_model", NULL},
      {0}};
  static PyMethodDef methods[] = {
      {"describe", describe, METH_O, "describe(json) -> str: tensors, entries, memory."},
      {"arena_size", arena_size, METH_O, "arena_size(threads) -> int: bytes of a context."},
      {"release", release, METH_NOARGS,
       "release(): gives back the memory of calls that are over; the next call allocates again."},
      {0}};
  static PyType_Slot slots[] = {{Py_tp_new, neo_py_refuse_new},
                                {Py_tp_dealloc, program_free},
                                {Py_tp_getset, members},
                                {Py_tp_methods, methods},
                                {Py_tp_doc, "A build that is loaded into this process."},
                                {0}};
  static PyType_Spec spec = {"neoc._core.Program", sizeof(program_object), 0, Py_TPFLAGS_DEFAULT,
                             slots};
  s->program = (PyTypeObject *)PyType_FromSpec(&spec);
  return s->program ? PyModule_AddObjectRef(s->module, "Program", (PyObject *)s->program) : -1;
}

PyObject *neo_py_program_wrap(neo_py_state *s, neo_py_program *p) {
  program_object *o = PyObject_New(program_object, s->program);
  if (!o)
    return NULL;
  o->p = p;
  return (PyObject *)o;
}
