/* module.c: the module neoc._core, and what it takes of numpy. numpy is imported when an array is
 * needed first, so that `import neoc` is quick. */
#include "python/src/compiling.h"
#include "python/src/door.h"
#include "python/src/torch_shim.h"
#include <neo/neo_graph.h>
#include <stdlib.h>

static struct PyModuleDef definition;

neo_py_state *neo_py_state_get(void) {
  PyObject *module = PyState_FindModule(&definition);
  if (module)
    return PyModule_GetState(module);
  PyErr_SetString(PyExc_RuntimeError, "the module neoc._core has been unloaded");
  return NULL;
}

/* ------------------------------------------------------------ types */

static const struct {
  const char *numpy, *word;
  size_t bytes;
} types[] = {[NEO_RT_F64] = {"float64", "f64", 8},    [NEO_RT_F32] = {"float32", "f32", 4},
             [NEO_RT_F16] = {"float16", "f16", 2},    [NEO_RT_BF16] = {"bfloat16", "bf16", 2},
             [NEO_RT_I64] = {"int64", "i64", 8},      [NEO_RT_I32] = {"int32", "i32", 4},
             [NEO_RT_I8] = {"int8", "i8", 1},         [NEO_RT_U8] = {"uint8", "u8", 1},
             [NEO_RT_BOOL] = {"bool", "bool", 1}};

const char *neo_py_type_name(int type) {
  return types[type].numpy;
}
const char *neo_py_type_word(int type) {
  return types[type].word;
}
size_t neo_py_type_bytes(int type) {
  return types[type].bytes;
}

/* ------------------------------------------------------------ numpy */

PyObject *neo_py_import(const char *module, const char *name) {
  PyObject *m = PyImport_ImportModule(module);
  PyObject *found = m ? PyObject_GetAttrString(m, name) : NULL;
  Py_XDECREF(m);
  return found;
}

static int take_types(neo_py_state *s) {
  PyObject *dtype = PyObject_GetAttrString(s->numpy, "dtype");
  for (int k = 0; dtype && k <= NEO_RT_BOOL; k++) {
    if (k == NEO_RT_BF16)
      continue;
    s->dtypes[k] = PyObject_CallFunction(dtype, "s", types[k].numpy);
    if (!s->dtypes[k])
      break;
  }
  Py_XDECREF(dtype);
  return dtype && s->dtypes[NEO_RT_BOOL] ? 0 : -1;
}

/* bf16 is a type of another package, which may be missing. */
static int take_bf16(neo_py_state *s) {
  PyObject *find = neo_py_import("neoc.arrays", "find_bfloat16");
  PyObject *found = find ? PyObject_CallObject(find, NULL) : NULL;
  Py_XDECREF(find);
  if (found && found != Py_None)
    s->dtypes[NEO_RT_BF16] = Py_NewRef(found);
  Py_XDECREF(found);
  return found ? 0 : -1;
}

int neo_py_array_layout(neo_py_state *s);

int neo_py_numpy(neo_py_state *s) {
  if (s->ndarray)
    return 0;
  s->numpy = PyImport_ImportModule("numpy");
  if (!s->numpy)
    return -1;
  s->empty = PyObject_GetAttrString(s->numpy, "empty");
  s->copyto = PyObject_GetAttrString(s->numpy, "copyto");
  s->nothing = PyTuple_New(0);
  s->as_input = neo_py_import("neoc.arrays", "as_input");
  if (!s->empty || !s->copyto || !s->nothing || !s->as_input || take_types(s) || take_bf16(s))
    return -1;
  s->ndarray = PyObject_GetAttrString(s->numpy, "ndarray");
  return s->ndarray ? neo_py_array_layout(s) : -1;
}

/* ------------------------------------------------------------ errors */

PyObject *neo_py_raise(neo_py_state *s, int32_t status, const char *message) {
  if (!s->raise)
    s->raise = neo_py_import("neoc.errors", "raise_status");
  PyObject *r =
      s->raise ? PyObject_CallFunction(s->raise, "is", (int)status, message ? message : "") : NULL;
  Py_XDECREF(r);
  return NULL;
}

PyObject *neo_py_refuse_new(PyTypeObject *type, PyObject *args, PyObject *named) {
  (void)args;
  (void)named;
  return PyErr_Format(PyExc_TypeError, "%R is made by others of its module alone", type);
}

/* ------------------------------------------------------------ functions */

static PyObject *version(PyObject *self, PyObject *none) {
  (void)self;
  (void)none;
  return PyUnicode_FromString(neo_version());
}

static PyObject *status_text(PyObject *self, PyObject *status) {
  (void)self;
  long n = PyLong_AsLong(status);
  return PyErr_Occurred() ? NULL : PyUnicode_FromString(neo_rt_status_text((int32_t)n));
}

static PyObject *set_threads(PyObject *self, PyObject *n) {
  (void)self;
  long threads = PyLong_AsLong(n);
  if (PyErr_Occurred())
    return NULL;
  neo_py_pool_set_threads((int32_t)threads);
  Py_RETURN_NONE;
}

static PyObject *threads(PyObject *self, PyObject *none) {
  (void)self;
  (void)none;
  return PyLong_FromLong(neo_py_pool_threads());
}

/* shuffle(seed, epoch, n) -> array of int64: an epoch's order, as `neoc train` has it. */
static PyObject *shuffle(PyObject *self, PyObject *args) {
  (void)self;
  neo_py_state *s = neo_py_state_get();
  unsigned long long seed, epoch;
  long long n;
  if (!s || !PyArg_ParseTuple(args, "KKL:shuffle", &seed, &epoch, &n) || neo_py_numpy(s))
    return NULL;
  PyObject *length = PyLong_FromLongLong(n < 0 ? 0 : n);
  PyObject *order =
      length ? PyObject_CallFunctionObjArgs(s->empty, length, s->dtypes[NEO_RT_I64], NULL) : NULL;
  int64_t *data = order ? neo_py_array_data(s, order) : NULL;
  Py_XDECREF(length);
  if (data)
    neo_rt_shuffle(seed, epoch, n < 0 ? 0 : n, data);
  return order;
}

/* An array of n elements; null with an exception. */
static PyObject *new_array(neo_py_state *s, long long n, int type) {
  PyObject *length = PyLong_FromLongLong(n);
  PyObject *made =
      length ? PyObject_CallFunctionObjArgs(s->empty, length, s->dtypes[type], NULL) : NULL;
  Py_XDECREF(length);
  return made;
}

static neo_rt_status find_order(long long n, const void *first, const void *child, void *order,
                                void *work, char *why, size_t bytes) {
  neo_rt_status status;
  Py_BEGIN_ALLOW_THREADS;
  neo_rt_graph graph = {.vertices = n, .first = first, .child = child};
  status = neo_rt_graph_order(&graph, order, work, why, bytes);
  Py_END_ALLOW_THREADS;
  return status;
}

/* graph_order(n, first, child) -> array of int32. The arrays are row-major, of int64 and int32. */
static PyObject *graph_order(PyObject *self, PyObject *args) {
  (void)self;
  neo_py_state *s = neo_py_state_get();
  PyObject *first, *child;
  char why[512] = "";
  long long n;
  if (!s || !PyArg_ParseTuple(args, "LOO:graph_order", &n, &first, &child) || neo_py_numpy(s))
    return NULL;
  void *at[4] = {neo_py_array_data(s, first), NULL, NULL, NULL};
  at[1] = at[0] ? neo_py_array_data(s, child) : NULL;
  PyObject *order = at[1] ? new_array(s, n, NEO_RT_I32) : NULL;
  PyObject *work = order ? new_array(s, n, NEO_RT_I32) : NULL;
  at[2] = work ? neo_py_array_data(s, order) : NULL;
  at[3] = at[2] ? neo_py_array_data(s, work) : NULL;
  if (at[0] && at[1] && at[2] && at[3]) {
    neo_rt_status status = find_order(n, at[0], at[1], at[2], at[3], why, sizeof why);
    if (status) {
      Py_CLEAR(order);
      neo_py_raise(s, status, why);
    }
  } else {
    Py_CLEAR(order);
  }
  Py_XDECREF(work);
  return order;
}

static PyObject *before_fork(PyObject *self, PyObject *none) {
  (void)self;
  (void)none;
  Py_BEGIN_ALLOW_THREADS;
  neo_py_compiler_before_fork();
  Py_END_ALLOW_THREADS;
  Py_RETURN_NONE;
}

static PyObject *after_fork(PyObject *self, PyObject *in_child) {
  (void)self;
  int child = PyObject_IsTrue(in_child);
  neo_py_compiler_after_fork(child);
  if (child)
    neo_py_pool_after_fork();
  Py_RETURN_NONE;
}

static PyObject *end(PyObject *self, PyObject *none) {
  (void)self;
  (void)none;
  Py_BEGIN_ALLOW_THREADS;
  neo_py_compiler_end();
  Py_END_ALLOW_THREADS;
  Py_RETURN_NONE;
}

/* The words as C has them, in one piece of memory; null with an exception. */
static const char **words_of(PyObject *list, Py_ssize_t *n) {
  *n = PySequence_Size(list);
  const char **at = *n < 0 ? NULL : PyMem_Calloc((size_t)*n + 1, sizeof *at);
  for (Py_ssize_t k = 0; at && k < *n; k++) {
    PyObject *word = PySequence_GetItem(list, k);
    at[k] = word ? PyUnicode_AsUTF8AndSize(word, NULL) : NULL;
    Py_XDECREF(word); /* the list holds it */
    if (!at[k]) {
      PyMem_Free(at);
      return NULL;
    }
  }
  return at;
}

static PyObject *command(PyObject *self, PyObject *list) {
  (void)self;
  Py_ssize_t n;
  PyObject *tuple = PySequence_Tuple(list);
  const char **words = tuple ? words_of(tuple, &n) : NULL;
  int code = 0;
  if (words) {
    Py_BEGIN_ALLOW_THREADS;
    code = neo_command((int)n, words);
    Py_END_ALLOW_THREADS;
  }
  PyMem_Free(words);
  Py_XDECREF(tuple);
  return words ? PyLong_FromLong(code) : NULL;
}

static PyMethodDef functions[] = {
    {"version", version, METH_NOARGS, "version() -> str: of libneo."},
    {"status_text", status_text, METH_O, "status_text(status) -> str: what a status code means."},
    {"set_threads", set_threads, METH_O, "set_threads(n): of pools that are asked for later."},
    {"threads", threads, METH_NOARGS, "threads() -> int: how many compute."},
    {"shuffle", shuffle, METH_VARARGS,
     "shuffle(seed, epoch, n) -> array: an epoch's order, as `neoc train` has it."},
    {"graph_order", graph_order, METH_VARARGS,
     "graph_order(n, first, child) -> array: vertices, children first (neo_rt_graph_order)."},
    {"before_fork", before_fork, METH_NOARGS, "before_fork(): waits for compilations."},
    {"after_fork", after_fork, METH_O,
     "after_fork(child): lets compilations go on; in a child starts the pools anew."},
    {"end", end, METH_NOARGS, "end(): ends compilations, as the process does; none may begin."},
    {"write_files", (PyCFunction)(void (*)(void))neo_py_write_files, METH_VARARGS | METH_KEYWORDS,
     "write_files(...) -> (status, messages): neo_compile; takes what Build does."},
    {"check", (PyCFunction)(void (*)(void))neo_py_check, METH_VARARGS | METH_KEYWORDS,
     "check(...) -> (status, JSON): neo_check; takes what Build does."},
    {"jax_handler", neo_py_jax_handler, METH_NOARGS,
     "jax_handler() -> capsule: the function that XLA calls (jax_ffi.c)."},
    {"jax_version", neo_py_jax_version, METH_O,
     "jax_version(minor): the version of XLA's interface that it answers."},
    {"command", command, METH_O, "command(words) -> int: runs the program neoc; its exit code."},
    {0}};

/* ------------------------------------------------------------ the module */

static void release(void *module) {
  neo_py_state *s = PyModule_GetState(module);
  PyObject **held[] = {&s->numpy,   &s->ndarray,  &s->empty, &s->copyto,
                       &s->nothing, &s->as_input, &s->raise, &s->out};
  for (size_t k = 0; k < sizeof held / sizeof *held; k++)
    Py_CLEAR(*held[k]);
  for (int k = 0; k <= NEO_RT_BOOL; k++)
    Py_CLEAR(s->dtypes[k]);
}

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                        .m_name = "neoc._core",
                                        .m_doc = "The part of neoc that is written in C.",
                                        .m_size = sizeof(neo_py_state),
                                        .m_methods = functions,
                                        .m_free = release};

static int fill(neo_py_state *s) {
  s->out = PyUnicode_InternFromString("out");
  if (!s->out || neo_py_add_build(s) || neo_py_add_program(s) || neo_py_add_op(s))
    return -1;
  if (neo_py_add_context(s) || neo_py_add_entry(s))
    return -1;
  if (neo_py_add_tree(s) || neo_py_add_doors(s))
    return -1;
  return neo_py_add_torch(s) || neo_py_add_torch_calls(s) ? -1 : 0;
}

PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void) {
  PyObject *module = PyModule_Create(&definition);
  neo_py_state *s = module ? PyModule_GetState(module) : NULL;
  if (!s)
    return NULL;
  s->module = module; /* no reference is counted: the module holds the state */
  if (fill(s) == 0)
    return module;
  Py_DECREF(module);
  return NULL;
}
