/* core.h: what the files of the module neoc._core share. Private to python/src.
 *
 *   module.c    the module: its state, functions, what numpy gives
 *   build.c     Build: a compilation (neo_build), which Ctrl-C ends (wait.c)
 *   compiling.c who is within the compiler: a fork and the end of the process wait for them
 *   program.c   Program: a build that is loaded, with contexts for its calls
 *   pools.c     pools of threads, shared by all contexts; fork
 *   value.c     an argument of a call: an array's memory, or a number of Python
 *   result.c    results of a call: new arrays of numpy, or the caller's
 *   op.c        Op: an operator; finds the program for the shapes and types of a call
 *   context.c   Context: parameters and states of a model
 *   entry.c     Entry: an entry of a model that is called with keywords
 *   tree.c      arguments and results of traced functions, taken apart and put together
 *   call.c      neo_rt_call without the interpreter's lock
 *   door.c      operators that another framework calls by number (door.h)
 *   torch_shim.c  kernels of PyTorch that call them
 *   torch_call.c  calls of these in PyTorch's eager mode
 *   torch_grad.c  and their gradients
 *   jax_ffi.c   the function that XLA calls for the operators of neoc.jax
 *
 * How doors (torch, JAX) call a program without Python:
 *
 *   neo_py_program *p = neo_py_program_of(object);      a Program; neo_py_program_keep for longer
 *   neo_py_worker *w = neo_py_program_take(p, &status, why, n);       from any thread
 *   status = neo_rt_call(w->ctx, entry, sizes, args);
 *   neo_py_program_give(p, w);
 *
 * Python's limited API from 3.11 on (one binary for all later versions); before, it lacks
 * Py_buffer, and the module is built for one version. */
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <neo/neo.h>
#include <neo/neo_rt.h>
#include <stdbool.h>

#if PY_VERSION_HEX < 0x030a0000 /* these came with 3.10 */
static inline PyObject *neo_py_new_ref(PyObject *o) {
  Py_INCREF(o);
  return o;
}
#define Py_NewRef(o) neo_py_new_ref((PyObject *)(o))
static inline PyObject *neo_py_new_ref_or_null(PyObject *o) {
  Py_XINCREF(o);
  return o;
}
#define Py_XNewRef(o) neo_py_new_ref_or_null((PyObject *)(o))
static inline int neo_py_add_ref(PyObject *module, const char *name, PyObject *o) {
  Py_INCREF(o);
  int failed = PyModule_AddObject(module, name, o);
  if (failed)
    Py_DECREF(o);
  return failed;
}
#define PyModule_AddObjectRef neo_py_add_ref
#endif

enum {
  NEO_PY_RANK = 16, /* most dimensions of a tensor */
  NEO_PY_FEW = 16   /* arguments for which a call needs no memory of its own */
};

/* ------------------------------------------------------------ module */

typedef struct neo_py_torch neo_py_torch;

typedef struct {
  PyObject *module;
  PyTypeObject *build, *program, *op, *spec, *context, *entry, *view;
  /* numpy, once an array is needed; else null */
  PyObject *numpy, *ndarray, *empty, *copyto, *nothing; /* nothing: () */
  PyObject *dtypes[NEO_RT_BOOL + 1]; /* by enum neo_rt_type; bf16 is null without ml_dtypes */
  bool fields; /* arrays have the layout of value.c; else their buffers are asked for */
  PyObject *as_input, *raise; /* neoc.arrays.as_input, neoc.errors.raise_status */
  PyObject *out;              /* "out" */
  /* torch_call.c's; null until neoc.torch is imported. */
  neo_py_torch *torch;
  PyTypeObject *torch_plan;
} neo_py_state;

/* The state of the module; null with an exception where it is gone. */
neo_py_state *neo_py_state_get(void);
/* Imports numpy if that has not happened. -1 with an exception. */
int neo_py_numpy(neo_py_state *s);
/* A function of a module of the package: neo_py_import("neoc.arrays", "as_input"). */
PyObject *neo_py_import(const char *module, const char *name);
/* "float32", the name that numpy has for a type. */
const char *neo_py_type_name(int type);
/* "f32", the language's name. */
const char *neo_py_type_word(int type);
size_t neo_py_type_bytes(int type);

/* Each adds its type to the module and to the state. -1 with an exception. */
int neo_py_add_build(neo_py_state *s);
int neo_py_add_program(neo_py_state *s);
int neo_py_add_op(neo_py_state *s);
int neo_py_add_context(neo_py_state *s);
int neo_py_add_entry(neo_py_state *s);

/* The functions write_files and check of the module; they take what Build does. */
PyObject *neo_py_write_files(PyObject *self, PyObject *args, PyObject *named);
PyObject *neo_py_check(PyObject *self, PyObject *args, PyObject *named);

/* The functions tree_leaves and tree_made of the module. -1 with an exception. */
int neo_py_add_tree(neo_py_state *s);

/* The functions jax_handler and jax_version of the module (jax_ffi.c). */
PyObject *neo_py_jax_handler(PyObject *self, PyObject *none);
PyObject *neo_py_jax_version(PyObject *self, PyObject *minor);

/* Py_tp_new of types that C alone makes: a TypeError. */
PyObject *neo_py_refuse_new(PyTypeObject *type, PyObject *args, PyObject *named);

/* Raises the exception of a status with the message. Returns null. */
PyObject *neo_py_raise(neo_py_state *s, int32_t status, const char *message);

/* ------------------------------------------------------------ programs */

/* Counted, independent of Python: neo_py_program_keep adds to the count, _drop takes away. */
typedef struct neo_py_program neo_py_program;

/* Loads a build. Null: *message says why, to be given to neo_messages_free. threads: of its
 * contexts; 0: those of neoc.set_threads. */
neo_py_program *neo_py_program_make(const neo_build *build, int32_t threads, int32_t *status,
                                    char **message);
PyObject *neo_py_program_wrap(neo_py_state *s, neo_py_program *p); /* takes p */
neo_py_program *neo_py_program_keep(neo_py_program *p);
void neo_py_program_drop(neo_py_program *p);
const neo_rt_model *neo_py_program_model(const neo_py_program *p);
int32_t neo_py_program_threads(const neo_py_program *p);
/* A context for the calls of one thread at a time. */
typedef struct {
  neo_rt_ctx *ctx;
  volatile int32_t cancel; /* 1 ends the call at work (neo_rt_config.cancel) */
} neo_py_worker;
/* One that is free, else a new one. Null: *status and `why` (n bytes) say why. From any thread,
 * with or without the interpreter's lock. */
neo_py_worker *neo_py_program_take(neo_py_program *p, int32_t *status, char *why, size_t n);
void neo_py_program_give(neo_py_program *p, neo_py_worker *w);
/* The program of an object of the type Program, borrowed; null with an exception for another
 * object. */
neo_py_program *neo_py_program_of(neo_py_state *s, PyObject *object);

/* ------------------------------------------------------------ pools */

/* The pool of `threads` workers (0: as many as neoc.set_threads says), shared by all who ask for
 * as many; it lives to the end of the process. Null: one thread computes. *generation changes
 * where contexts that were made before must not be used any more. */
neo_rt_pool *neo_py_pool(int32_t threads, uint32_t *generation);
uint32_t neo_py_pool_generation(void);
void neo_py_pool_set_threads(int32_t threads);
int32_t neo_py_pool_threads(void);
/* In a child after fork: the workers of the parent are not here. */
void neo_py_pool_after_fork(void);

/* ------------------------------------------------------------ values */

typedef enum {
  NEO_PY_ARRAY,
  NEO_PY_INT, /* numbers of Python */
  NEO_PY_FLOAT,
  NEO_PY_TRUTH
} neo_py_kind;

typedef struct {
  PyObject *object; /* the object that is read: the argument, or an array made from it */
  PyObject *made;   /* to be released; null where it is the argument itself */
  Py_buffer buffer; /* held if has_buffer */
  bool has_buffer, writable;
  uint8_t kind, type; /* type: of an array, an enum neo_rt_type */
  int32_t rank;
  const Py_ssize_t *shape;
  void *data;
  union {
    int64_t i;
    double f;
  } number;
} neo_py_value;

/* Reads an argument: arrays of numpy as they are; those that are strided, in another byte order
 * and so on, and everything else that neoc.arrays.as_input takes, as a copy. `like`: the type for
 * what has none, such as a list; -1: numpy decides. -1 with an exception that names `name`. */
int neo_py_value_read(neo_py_state *s, PyObject *object, PyObject *name, int like, neo_py_value *v);
void neo_py_value_release(neo_py_value *v);
/* A number of Python as an element of the type, into 8 bytes at `to`. -1 with a RangeError. */
int neo_py_value_store(neo_py_state *s, const neo_py_value *v, PyObject *name, int type, void *to);
/* Memory of an array of numpy that is row-major; null with an exception. */
void *neo_py_array_data(neo_py_state *s, PyObject *array);

/* ------------------------------------------------------------ results */

typedef struct {
  PyObject *array; /* the array that kernels write to */
  PyObject *given; /* the caller's, to which it is copied afterwards; null: nothing is copied */
  void *data;
  bool scalar; /* is returned as a number of numpy */
} neo_py_result;

/* A new array, or the caller's where `given` is one. */
int neo_py_result_make(neo_py_state *s, const neo_rt_tensor *t, int32_t rank, const int64_t *extent,
                       PyObject *given, const neo_py_value *inputs, int32_t n_inputs,
                       neo_py_result *r);
/* Raises where two arrays of `out` share memory: one result would be written over the other. */
int neo_py_results_disjoint(PyObject *out);
/* Steals the array: what the call returns for it. */
PyObject *neo_py_result_take(neo_py_state *s, neo_py_result *r);
void neo_py_result_release(neo_py_result *r);
/* One as it is, several as a tuple; takes them. */
PyObject *neo_py_results_take(neo_py_state *s, neo_py_result *r, int32_t n);

/* ------------------------------------------------------------ calls */

/* neo_rt_call without the interpreter's lock; Ctrl-C ends one that takes long, by `cancel` of the
 * context's configuration: then an exception is set. *last_ns: how long the last call took. */
int32_t neo_py_call(neo_rt_ctx *c, volatile int32_t *cancel, int32_t entry, const int64_t *sizes,
                    void *const *args, int64_t *last_ns);
