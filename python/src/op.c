/* op.c: Op, the base of neoc.Op: a text that is compiled for the shapes and types of its arguments.
 *
 * A call reads its arguments (value.c) and makes a key of their kinds, types and shapes, and of the
 * values of static ones. A table finds the variant of that key. Where there is none yet, the method
 * `_specialize(key)` of the subclass writes the text, compiles it, and returns
 *
 *   (program, inputs)      inputs[k]: the number of the argument that is the entry's k-th input
 *
 * with the key as a tuple of ("array", "f32", (3, 4)), ("int",), ("float",), ("bool",) for each
 * argument and ("static", value). The variant's results are those of the program's first entry;
 * their shapes are known, so a call finds them in the variant.
 *
 * All here is under the interpreter's lock but neo_rt_call itself. */
#include "python/src/core.h"
#include <stdlib.h>
#include <string.h>

typedef struct variant {
  struct variant *retired; /* the next one that is found no more */
  uint64_t hash;
  int32_t n_key;
  int64_t *key;
  neo_py_program *program;
  const neo_rt_model *model;
  int32_t n_in, n_out;
  int32_t *in;      /* numbers of arguments */
  int64_t *extents; /* NEO_PY_RANK of each result */
  int64_t last_ns;  /* how long the last call took */
} variant;

typedef struct {
  PyObject_HEAD neo_py_state *s;
  PyObject *names; /* names of arguments: a tuple of interned strings */
  int32_t n;
  uint8_t *is_static;
  variant **at, *last;
  variant *retired; /* another thread may be in a call of one */
  int32_t n_variants, room;
} op_object;

/* A call at work; what it needs for a few arguments lies here. */
typedef struct {
  op_object *op;
  PyObject **objects;
  neo_py_value *values;
  int64_t *key;
  int32_t n_key;
  uint64_t hash;
  PyObject *out;
  PyObject *few_objects[NEO_PY_FEW];
  neo_py_value few_values[NEO_PY_FEW];
  int64_t few_key[4 * NEO_PY_FEW];
} call;

/* ------------------------------------------------------------ arguments */

static PyObject *op_name(op_object *o) {
  return PyObject_GetAttrString((PyObject *)o, "__name__");
}

static int complain(op_object *o, const char *format, PyObject *what) {
  PyObject *name = op_name(o);
  PyObject *text = name ? PyUnicode_FromFormat(format, what) : NULL;
  if (text)
    PyErr_Format(PyExc_TypeError, "%U() %U", name, text);
  Py_XDECREF(text);
  Py_XDECREF(name);
  return -1;
}

static int32_t find_name(const op_object *o, PyObject *word) {
  for (int32_t k = 0; k < o->n; k++)
    if (PyTuple_GetItem(o->names, k) == word)
      return k;
  for (int32_t k = 0; k < o->n; k++)
    if (PyUnicode_Compare(PyTuple_GetItem(o->names, k), word) == 0)
      return k;
  return -1;
}

/* The arguments are not those of the operator; the method `_misfit` has the words for it. */
static int refuse_call(op_object *o, PyObject *args, PyObject *named) {
  PyObject *words = named ? PyDict_Keys(named) : PyList_New(0);
  PyObject *why =
      words ? PyObject_CallMethod((PyObject *)o, "_misfit", "nO", PyTuple_Size(args), words) : NULL;
  if (why)
    PyErr_SetObject(PyExc_TypeError, why);
  Py_XDECREF(why);
  Py_XDECREF(words);
  return -1;
}

static bool take_named(call *c, PyObject *named) {
  PyObject *word, *value;
  Py_ssize_t at = 0;
  while (PyDict_Next(named, &at, &word, &value)) {
    int32_t k = find_name(c->op, word);
    if (k < 0 && PyUnicode_CompareWithASCIIString(word, "out") == 0)
      c->out = value;
    else if (k < 0 || c->objects[k])
      return false;
    else
      c->objects[k] = value;
  }
  return true;
}

static int take_objects(call *c, PyObject *args, PyObject *named) {
  op_object *o = c->op;
  Py_ssize_t n = PyTuple_Size(args);
  if (n > o->n)
    return refuse_call(o, args, named);
  for (Py_ssize_t k = 0; k < n; k++)
    c->objects[k] = PyTuple_GetItem(args, k);
  if (named && !take_named(c, named))
    return refuse_call(o, args, named);
  for (int32_t k = 0; k < o->n; k++)
    if (!c->objects[k])
      return refuse_call(o, args, named);
  return 0;
}

static int refuse_static(const call *c, int32_t k) {
  PyObject *name = op_name(c->op);
  if (name)
    PyErr_Format(PyExc_TypeError, "%U(): %U is static: expected a number of Python, given %.200R",
                 name, PyTuple_GetItem(c->op->names, k), c->objects[k]);
  Py_XDECREF(name);
  return -1;
}

/* A number of numpy, such as numpy.int64(3), is as good as Python's. */
static int read_static(call *c, int32_t k) {
  PyObject *object = c->objects[k], *name = PyTuple_GetItem(c->op->names, k);
  neo_py_value *v = &c->values[k];
  if (!PyFloat_CheckExact(object) && !PyBool_Check(object)) {
    object = PyNumber_Index(object);
    if (!object) {
      PyErr_Clear();
      return refuse_static(c, k);
    }
  } else {
    Py_INCREF(object);
  }
  int status = neo_py_value_read(c->op->s, object, name, -1, v);
  Py_DECREF(object);
  v->object = c->objects[k];
  if (status || v->kind != NEO_PY_ARRAY)
    return status;
  return complain(c->op, "takes no such large number for '%U'", name);
}

static int read_values(call *c) {
  op_object *o = c->op;
  for (int32_t k = 0; k < o->n; k++) {
    PyObject *name = PyTuple_GetItem(o->names, k);
    int failed = o->is_static[k] ? read_static(c, k)
                                 : neo_py_value_read(o->s, c->objects[k], name, -1, &c->values[k]);
    if (failed)
      return -1;
  }
  return 0;
}

/* ------------------------------------------------------------ keys */

static int make_key_room(call *c) {
  int32_t n = 0;
  for (int32_t k = 0; k < c->op->n; k++)
    n += 2 + c->values[k].rank;
  c->key = n <= 4 * NEO_PY_FEW ? c->few_key : malloc((size_t)n * sizeof *c->key);
  return c->key ? 0 : (PyErr_NoMemory(), -1);
}

static int make_key(call *c) {
  if (make_key_room(c))
    return -1;
  int64_t *p = c->key;
  for (int32_t k = 0; k < c->op->n; k++) {
    const neo_py_value *v = &c->values[k];
    *p++ = v->kind | v->type << 8 | v->rank << 16;
    if (c->op->is_static[k])
      *p++ = v->number.i;
    for (int32_t d = 0; d < v->rank; d++)
      *p++ = v->shape[d];
  }
  c->n_key = (int32_t)(p - c->key);
  uint64_t h = 0xcbf29ce484222325u;
  for (const int64_t *q = c->key; q < p; q++)
    h = (h ^ (uint64_t)*q) * 0x9e3779b97f4a7c15u, h ^= h >> 29;
  c->hash = h;
  return 0;
}

static bool is_of(const variant *v, const call *c) {
  return v->hash == c->hash && v->n_key == c->n_key &&
         memcmp(v->key, c->key, (size_t)c->n_key * sizeof *c->key) == 0;
}

static variant *find(op_object *o, const call *c) {
  if (o->last && is_of(o->last, c))
    return o->last;
  for (uint64_t k = c->hash; o->room; k++) {
    variant *v = o->at[k & (uint64_t)(o->room - 1)];
    if (!v || is_of(v, c))
      return v ? (o->last = v) : NULL;
  }
  return NULL;
}

static PyObject *shape_of(const neo_py_value *v) {
  PyObject *shape = PyTuple_New(v->rank);
  for (int32_t d = 0; shape && d < v->rank; d++)
    PyTuple_SetItem(shape, d, PyLong_FromSsize_t(v->shape[d]));
  return shape;
}

static PyObject *key_part(const call *c, int32_t k) {
  const neo_py_value *v = &c->values[k];
  if (c->op->is_static[k])
    return Py_BuildValue("(sO)", "static", v->object);
  switch (v->kind) {
  case NEO_PY_INT:
    return Py_BuildValue("(s)", "int");
  case NEO_PY_FLOAT:
    return Py_BuildValue("(s)", "float");
  case NEO_PY_TRUTH:
    return Py_BuildValue("(s)", "bool");
  default:
    return Py_BuildValue("(ssN)", "array", neo_py_type_word(v->type), shape_of(v));
  }
}

static PyObject *key_object(const call *c) {
  PyObject *key = PyTuple_New(c->op->n);
  for (int32_t k = 0; key && k < c->op->n; k++) {
    PyObject *part = key_part(c, k);
    if (!part || PyTuple_SetItem(key, k, part))
      Py_CLEAR(key);
  }
  return key;
}

/* ------------------------------------------------------------ variants */

static void free_variant(variant *v) {
  if (!v)
    return;
  neo_py_program_drop(v->program);
  free(v->key);
  free(v->in);
  free(v->extents);
  free(v);
}

static const neo_rt_entry *entry_of(const variant *v) {
  return &v->model->entries[0];
}

static const neo_rt_tensor *argument_of(const variant *v, int32_t k) {
  return &v->model->tensors[v->model->entry_args[entry_of(v)->args + k]];
}

static int32_t extents_of(const variant *v, int32_t arg, int64_t *extent) {
  const neo_rt_tensor *t = argument_of(v, arg);
  for (int32_t d = 0; d < t->rank; d++)
    extent[d] = neo_rt_eval(v->model, v->model->extents[t->extent + d], NULL);
  return t->rank;
}

/* The program reads memory of this size: a specialization that is wrong must not get to run. */
static bool fits(const variant *v, int32_t input, const neo_py_value *value) {
  int64_t extent[NEO_PY_RANK];
  int32_t rank = extents_of(v, input, extent);
  bool same = rank == value->rank;
  for (int32_t d = 0; same && d < rank; d++)
    same = extent[d] == value->shape[d];
  return same && (value->kind != NEO_PY_ARRAY || value->type == argument_of(v, input)->type);
}

static int fill_inputs(variant *v, const call *c, PyObject *inputs) {
  for (int32_t k = 0; k < v->n_in; k++) {
    long arg = PyLong_AsLong(PyTuple_GetItem(inputs, k));
    if (arg < 0 || arg >= c->op->n || !fits(v, k, &c->values[arg])) {
      PyErr_SetString(PyExc_RuntimeError, "the operator's variant has other inputs");
      return -1;
    }
    v->in[k] = (int32_t)arg;
  }
  for (int32_t k = 0; k < v->n_out; k++)
    extents_of(v, v->n_in + k, v->extents + k * NEO_PY_RANK);
  return 0;
}

static variant *new_variant(const call *c, neo_py_program *program, PyObject *inputs) {
  variant *v = calloc(1, sizeof *v);
  if (!v)
    return NULL;
  v->program = neo_py_program_keep(program);
  v->model = neo_py_program_model(program);
  v->hash = c->hash;
  v->n_key = c->n_key;
  v->n_in = entry_of(v)->n_inputs;
  v->n_out = entry_of(v)->n_args - v->n_in;
  v->key = malloc((size_t)(v->n_key + 1) * sizeof *v->key);
  v->in = calloc((size_t)v->n_in + 1, sizeof *v->in);
  v->extents = calloc((size_t)v->n_out + 1, NEO_PY_RANK * sizeof *v->extents);
  if (!v->key || !v->in || !v->extents || PyTuple_Size(inputs) != v->n_in ||
      v->model->n_entries < 1 || entry_of(v)->n_sizes || fill_inputs(v, c, inputs)) {
    free_variant(v);
    return NULL;
  }
  memcpy(v->key, c->key, (size_t)v->n_key * sizeof *v->key);
  return v;
}

static void put(variant **at, int32_t room, variant *v) {
  uint64_t k = v->hash;
  while (at[k & (uint64_t)(room - 1)])
    k++;
  at[k & (uint64_t)(room - 1)] = v;
}

static int add(op_object *o, variant *v) {
  if (2 * (o->n_variants + 1) > o->room) {
    int32_t room = o->room ? 2 * o->room : 8;
    variant **at = calloc((size_t)room, sizeof *at);
    if (!at)
      return -1;
    for (int32_t k = 0; k < o->room; k++)
      if (o->at[k])
        put(at, room, o->at[k]);
    free(o->at);
    o->at = at;
    o->room = room;
  }
  put(o->at, o->room, v);
  o->n_variants++;
  o->last = v;
  return 0;
}

static variant *specialize(call *c) {
  PyObject *key = key_object(c), *program, *inputs;
  PyObject *made = key ? PyObject_CallMethod((PyObject *)c->op, "_specialize", "(O)", key) : NULL;
  variant *v = NULL;
  if (made && PyArg_ParseTuple(made, "OO!", &program, &PyTuple_Type, &inputs)) {
    neo_py_program *p = neo_py_program_of(c->op->s, program);
    v = find(c->op, c); /* another thread may have been quicker */
    if (p && !v) {
      v = new_variant(c, p, inputs);
      if (v && add(c->op, v)) {
        free_variant(v);
        v = NULL;
      }
      if (!v && !PyErr_Occurred())
        PyErr_NoMemory();
    }
  }
  Py_XDECREF(made);
  Py_XDECREF(key);
  return v;
}

/* ------------------------------------------------------------ running */

typedef struct {
  void **args;
  neo_py_result *results;
  int64_t *numbers; /* a place for each argument that is a number of Python */
  void *few_args[2 * NEO_PY_FEW];
  neo_py_result few_results[NEO_PY_FEW];
  int64_t few_numbers[NEO_PY_FEW];
} frame;

static int frame_make(frame *f, const variant *v) {
  int32_t n = v->n_in + v->n_out;
  bool few = v->n_in <= NEO_PY_FEW && v->n_out <= NEO_PY_FEW;
  f->args = few ? f->few_args : malloc((size_t)n * sizeof *f->args);
  f->results = few ? f->few_results : malloc((size_t)v->n_out * sizeof *f->results);
  f->numbers = few ? f->few_numbers : malloc(((size_t)v->n_in + 1) * sizeof *f->numbers);
  if (!f->args || !f->results || !f->numbers) {
    PyErr_NoMemory();
    return -1;
  }
  memset(f->results, 0, (size_t)v->n_out * sizeof *f->results);
  return 0;
}

static void frame_free(frame *f, const variant *v) {
  for (int32_t k = 0; f->results && k < v->n_out; k++)
    neo_py_result_release(&f->results[k]);
  if (f->args != f->few_args)
    free(f->args);
  if (f->results != f->few_results)
    free(f->results);
  if (f->numbers != f->few_numbers)
    free(f->numbers);
}

static int frame_inputs(frame *f, const variant *v, const call *c) {
  for (int32_t k = 0; k < v->n_in; k++) {
    const neo_py_value *value = &c->values[v->in[k]];
    f->args[k] = value->kind == NEO_PY_ARRAY ? value->data : &f->numbers[k];
    if (value->kind != NEO_PY_ARRAY &&
        neo_py_value_store(c->op->s, value, PyTuple_GetItem(c->op->names, v->in[k]),
                           argument_of(v, k)->type, &f->numbers[k]))
      return -1;
  }
  return 0;
}

/* `out`: an array, or a tuple of one for each result. */
static PyObject *given_of(const call *c, const variant *v, int32_t k) {
  if (!c->out || c->out == Py_None || (v->n_out == 1 && !PyTuple_Check(c->out)))
    return c->out;
  if (PyTuple_Check(c->out) && PyTuple_Size(c->out) == v->n_out)
    return PyTuple_GetItem(c->out, k);
  PyObject *name = op_name(c->op);
  if (name)
    PyErr_Format(PyExc_TypeError, "%U(): out: expected a tuple of %d arrays, given %.200R", name,
                 (int)v->n_out, c->out);
  Py_XDECREF(name);
  return NULL;
}

static int frame_outputs(frame *f, const variant *v, const call *c) {
  for (int32_t k = 0; k < v->n_out; k++) {
    const neo_rt_tensor *t = argument_of(v, v->n_in + k);
    PyObject *given = given_of(c, v, k);
    if (!given && c->out)
      return -1;
    if (neo_py_result_make(c->op->s, t, t->rank, v->extents + k * NEO_PY_RANK, given, c->values,
                           c->op->n, &f->results[k]))
      return -1;
    f->args[v->n_in + k] = f->results[k].data;
  }
  return neo_py_results_disjoint(c->out);
}

static int fail(const call *c, int32_t status, const char *why) {
  PyObject *done = PyObject_CallMethod((PyObject *)c->op, "_fail", "is", (int)status, why);
  Py_XDECREF(done);
  if (done)
    neo_py_raise(c->op->s, status, why);
  return -1;
}

static int run(frame *f, variant *v, const call *c) {
  char why[512] = "";
  int32_t status;
  neo_py_worker *w = neo_py_program_take(v->program, &status, why, sizeof why);
  if (!w)
    return fail(c, status, why);
  status = neo_py_call(w->ctx, &w->cancel, 0, NULL, f->args, &v->last_ns);
  int failed = PyErr_Occurred() ? -1 : status ? fail(c, status, neo_rt_error(w->ctx)) : 0;
  neo_py_program_give(v->program, w);
  return failed;
}

static PyObject *call_variant(const call *c, variant *v) {
  frame f;
  PyObject *made = NULL;
  if (frame_make(&f, v) == 0 && frame_inputs(&f, v, c) == 0 && frame_outputs(&f, v, c) == 0 &&
      run(&f, v, c) == 0)
    made = neo_py_results_take(c->op->s, f.results, v->n_out);
  frame_free(&f, v);
  return made;
}

/* ------------------------------------------------------------ calls */

static int call_open(call *c, op_object *o) {
  c->op = o;
  c->out = NULL;
  c->key = NULL;
  bool few = o->n <= NEO_PY_FEW;
  c->objects = few ? c->few_objects : malloc((size_t)o->n * sizeof *c->objects);
  c->values = few ? c->few_values : calloc((size_t)o->n, sizeof *c->values);
  if (!c->objects || !c->values) {
    PyErr_NoMemory();
    return -1;
  }
  if (!o->s) {
    PyErr_SetString(PyExc_RuntimeError, "this operator was not made: call neoc.op");
    return -1;
  }
  memset(c->objects, 0, (size_t)o->n * sizeof *c->objects);
  for (int32_t k = 0; k < o->n; k++) {
    c->values[k].made = NULL;
    c->values[k].has_buffer = false;
  }
  return neo_py_numpy(o->s);
}

static void call_close(call *c) {
  for (int32_t k = 0; c->values && k < c->op->n; k++)
    neo_py_value_release(&c->values[k]);
  if (c->objects != c->few_objects)
    free(c->objects);
  if (c->values != c->few_values)
    free(c->values);
  if (c->key != c->few_key)
    free(c->key);
}

static variant *variant_of(call *c, PyObject *args, PyObject *named) {
  if (take_objects(c, args, named) || read_values(c) || make_key(c))
    return NULL;
  variant *v = find(c->op, c);
  return v ? v : specialize(c);
}

static PyObject *op_call(PyObject *self, PyObject *args, PyObject *named) {
  call c;
  PyObject *result = NULL;
  if (call_open(&c, (op_object *)self) == 0) {
    variant *v = variant_of(&c, args, named);
    result = v ? call_variant(&c, v) : NULL;
  }
  call_close(&c);
  return result;
}

/* Compiles for arguments such as these, and runs nothing. */
static PyObject *op_prepare(PyObject *self, PyObject *args, PyObject *named) {
  call c;
  variant *v = NULL;
  if (call_open(&c, (op_object *)self) == 0)
    v = variant_of(&c, args, named);
  call_close(&c);
  if (v)
    Py_RETURN_NONE;
  return NULL;
}

/* ------------------------------------------------------------ life */

static int take_static(op_object *o, PyObject *statics) {
  o->is_static = calloc((size_t)o->n + 1, 1);
  for (Py_ssize_t k = 0; o->is_static && k < PyTuple_Size(statics); k++) {
    int32_t at = find_name(o, PyTuple_GetItem(statics, k));
    if (at >= 0)
      o->is_static[at] = 1;
  }
  return o->is_static ? 0 : (PyErr_NoMemory(), -1);
}

static void retire_variants(op_object *o) {
  for (int32_t k = 0; k < o->room; k++) {
    variant *v = o->at[k];
    if (v) {
      v->retired = o->retired;
      o->retired = v;
    }
  }
  free(o->at);
  o->at = NULL;
  o->last = NULL;
  o->room = o->n_variants = 0;
}

static void free_variants(op_object *o) {
  retire_variants(o);
  while (o->retired) {
    variant *v = o->retired;
    o->retired = v->retired;
    free_variant(v);
  }
}

static int check_names(PyObject *names) {
  for (Py_ssize_t k = 0; k < PyTuple_Size(names); k++)
    if (!PyUnicode_Check(PyTuple_GetItem(names, k))) {
      PyErr_SetString(PyExc_TypeError, "Op(): names of arguments are str");
      return -1;
    }
  return 0;
}

/* Again where it is to forget what it was compiled for. */
static int op_init(PyObject *self, PyObject *args, PyObject *named) {
  op_object *o = (op_object *)self;
  PyObject *names, *statics;
  static char *words[] = {"names", "static", NULL};
  if (!PyArg_ParseTupleAndKeywords(args, named, "O!O!:Op", words, &PyTuple_Type, &names,
                                   &PyTuple_Type, &statics) ||
      check_names(names) || check_names(statics))
    return -1;
  o->s = neo_py_state_get();
  if (!o->s)
    return -1;
  retire_variants(o);
  Py_INCREF(names);
  Py_XDECREF(o->names);
  o->names = names;
  o->n = (int32_t)PyTuple_Size(names);
  free(o->is_static);
  return take_static(o, statics);
}

static void op_free(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  op_object *o = (op_object *)self;
  free_variants(o);
  free(o->is_static);
  Py_XDECREF(o->names);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(self);
  Py_DECREF(type);
}

static PyObject *get_variants(PyObject *self, void *none) {
  (void)none;
  return PyLong_FromLong(((op_object *)self)->n_variants);
}

int neo_py_add_op(neo_py_state *s) {
  static PyGetSetDef members[] = {
      {"_variants", get_variants, NULL, "for how many shapes and types it is compiled", NULL}, {0}};
  static PyMethodDef methods[] = {{"_prepare", (PyCFunction)(void (*)(void))op_prepare,
                                   METH_VARARGS | METH_KEYWORDS,
                                   "_prepare(...): compiles for these arguments."},
                                  {0}};
  static PyType_Slot slots[] = {{Py_tp_new, PyType_GenericNew},
                                {Py_tp_init, op_init},
                                {Py_tp_dealloc, op_free},
                                {Py_tp_call, op_call},
                                {Py_tp_getset, members},
                                {Py_tp_methods, methods},
                                {Py_tp_doc, "The part of neoc.Op that a call goes through."},
                                {0}};
  static PyType_Spec spec = {"neoc._core.Op", sizeof(op_object), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  s->op = (PyTypeObject *)PyType_FromSpec(&spec);
  return s->op ? PyModule_AddObjectRef(s->module, "Op", (PyObject *)s->op) : -1;
}
