/* entry.c: Entry, an entry of a model: model.step(X=x, Y=y).
 *
 * Run-time sizes follow from the shapes: the language has each as the whole extent of a dimension
 * of some input. Where an entry does not take that input, the size is a keyword of the call. All
 * extents are then checked against the shapes. Keywords may also be settings: they are set once all
 * arguments are known to be good, in the call's own turn of the context, and stay so. A call that
 * fails leaves all settings as they were. */
#include "python/src/context.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
  PyObject_HEAD neo_py_context *c;
  const neo_rt_entry *e;
  int32_t number;
  PyObject *names, *sizes; /* names of inputs and of sizes: tuples of interned strings */
  PyObject *setting; /* setting(name, value) -> (tensor, array), or None where there is none */
  int64_t last_ns;
} entry_object;

/* A setting that a call is given: its tensor, the value, and that from before. */
typedef struct {
  int32_t tensor;
  PyObject *array;
  size_t bytes;
  void *data, *before;
} setting;

typedef struct {
  entry_object *o;
  PyObject **objects;
  setting *settings;
  int32_t n_settings, n_set;
  neo_py_value *values;
  int64_t *numbers;
  void **args;
  neo_py_result *results;
  PyObject *out;
  int64_t size[NEO_RT_MOST_SIZES], call_size[NEO_RT_MOST_SIZES];
  bool known[NEO_RT_MOST_SIZES];
} call;

static int32_t n_in(const call *c) {
  return c->o->e->n_inputs;
}
static int32_t n_out(const call *c) {
  return c->o->e->n_args - c->o->e->n_inputs;
}
static const neo_rt_model *model_of(const call *c) {
  return c->o->c->model;
}
static const neo_rt_tensor *tensor_of(const call *c, int32_t arg) {
  return &model_of(c)->tensors[model_of(c)->entry_args[c->o->e->args + arg]];
}
static PyObject *name_of(const call *c, int32_t input) {
  return PyTuple_GetItem(c->o->names, input);
}

/* ------------------------------------------------------------ arguments */

/* A TypeError; the method `_misfit(text, word)` adds what the entry takes. */
static int complain(const call *c, const char *format, PyObject *word) {
  PyObject *text = PyUnicode_FromFormat(format, word);
  PyObject *why = text ? PyObject_CallMethod((PyObject *)c->o, "_misfit", "OO", text, word) : NULL;
  if (why)
    PyErr_SetObject(PyExc_TypeError, why);
  Py_XDECREF(why);
  Py_XDECREF(text);
  return -1;
}

static int32_t find_in(PyObject *names, PyObject *word) {
  for (Py_ssize_t k = 0; k < PyTuple_Size(names); k++)
    if (PyUnicode_Compare(PyTuple_GetItem(names, k), word) == 0)
      return (int32_t)k;
  return -1;
}

static int refuse_size(const call *c, int32_t k, PyObject *value) {
  PyErr_Clear();
  PyErr_Format(PyExc_TypeError, "%s(): %U: expected a size, a whole number, given %.200R",
               c->o->e->name, PyTuple_GetItem(c->o->sizes, k), value);
  return -1;
}

static int take_size(call *c, int32_t k, PyObject *value) {
  PyObject *whole = PyBool_Check(value) ? NULL : PyNumber_Index(value);
  if (!whole)
    return refuse_size(c, k, value);
  int beyond;
  int64_t n = PyLong_AsLongLongAndOverflow(whole, &beyond);
  Py_DECREF(whole);
  if (beyond)
    n = beyond < 0 ? INT64_MIN : INT64_MAX; /* check_bounds reports it */
  int32_t number = model_of(c)->entry_sizes[c->o->e->sizes + k];
  c->size[number] = n;
  c->known[number] = true;
  return 0;
}

/* row: (tensor, array), an array of the tensor's type and shape. */
static int add_setting(call *c, PyObject *row) {
  setting *v = &c->settings[c->n_settings];
  PyObject *held = NULL;
  if (!PyArg_ParseTuple(row, "iO:setting", &v->tensor, &v->array))
    return -1;
  Py_INCREF(v->array);
  c->n_settings++;
  v->data = neo_py_array_data(c->o->c->s, v->array);
  if (v->data)
    held = PyObject_GetAttrString(v->array, "nbytes");
  v->bytes = held ? PyLong_AsSize_t(held) : 0;
  Py_XDECREF(held);
  if (PyErr_Occurred())
    return -1;
  v->before = malloc(v->bytes + 1);
  if (!v->before)
    PyErr_NoMemory();
  return v->before ? 0 : -1;
}

static int take_setting(call *c, PyObject *word, PyObject *value) {
  PyObject *row = PyObject_CallFunctionObjArgs(c->o->setting, word, value, NULL);
  if (!row)
    return -1;
  int failed =
      row == Py_None ? complain(c, "got an unexpected argument '%U'", word) : add_setting(c, row);
  Py_DECREF(row);
  return failed;
}

static int take_word(call *c, PyObject *word, PyObject *value) {
  int32_t input = find_in(c->o->names, word), size = find_in(c->o->sizes, word);
  if (input >= 0 && c->objects[input])
    return complain(c, "got two values for the argument '%U'", word);
  if (input >= 0)
    c->objects[input] = value;
  else if (PyUnicode_CompareWithASCIIString(word, "out") == 0)
    c->out = value;
  else
    return size >= 0 ? take_size(c, size, value) : take_setting(c, word, value);
  return 0;
}

static int take_objects(call *c, PyObject *args, PyObject *named) {
  PyObject *word, *value;
  Py_ssize_t at = 0, n = PyTuple_Size(args);
  if (n > n_in(c)) {
    PyErr_Format(PyExc_TypeError, "%s() takes %d inputs, %zd were given", c->o->e->name, n_in(c),
                 n);
    return -1;
  }
  for (Py_ssize_t k = 0; k < n; k++)
    c->objects[k] = PyTuple_GetItem(args, k);
  while (named && PyDict_Next(named, &at, &word, &value))
    if (take_word(c, word, value))
      return -1;
  for (int32_t k = 0; k < n_in(c); k++)
    if (!c->objects[k])
      return complain(c, "needs the input '%U'", name_of(c, k));
  return 0;
}

/* ------------------------------------------------------------ shapes */

static int refuse_type(const call *c, int32_t k) {
  const neo_rt_tensor *t = tensor_of(c, k);
  const char *wanted = neo_py_type_name(t->type), *given = neo_py_type_name(c->values[k].type);
  PyObject *text = PyUnicode_FromFormat(
      "%s: expected %s, given %s; pass %s.astype(\"%s\") if that is meant (%s)", t->name, wanted,
      given, t->name, wanted, t->place);
  if (text)
    neo_py_raise(c->o->c->s, NEO_RT_E_TYPE, PyUnicode_AsUTF8AndSize(text, NULL));
  Py_XDECREF(text);
  return -1;
}

static int refuse_rank(const call *c, int32_t k) {
  const neo_rt_tensor *t = tensor_of(c, k);
  PyObject *text = PyUnicode_FromFormat("%s: expected %d dimensions, given %d (%s)", t->name,
                                        t->rank, c->values[k].rank, t->place);
  if (text)
    neo_py_raise(c->o->c->s, NEO_RT_E_SHAPE, PyUnicode_AsUTF8AndSize(text, NULL));
  Py_XDECREF(text);
  return -1;
}

static int refuse_extent(const call *c, int32_t k, int32_t d, int64_t expected) {
  const neo_rt_tensor *t = tensor_of(c, k);
  PyObject *text = PyUnicode_FromFormat("%s: dim %d is %zd, expected %lld (%s)", t->name, d,
                                        c->values[k].shape[d], (long long)expected, t->place);
  if (text)
    neo_py_raise(c->o->c->s, NEO_RT_E_SHAPE, PyUnicode_AsUTF8AndSize(text, NULL));
  Py_XDECREF(text);
  return -1;
}

static int read_values(call *c) {
  for (int32_t k = 0; k < n_in(c); k++) {
    const neo_rt_tensor *t = tensor_of(c, k);
    neo_py_value *v = &c->values[k];
    if (neo_py_value_read(c->o->c->s, c->objects[k], name_of(c, k), t->type, v))
      return -1;
    if (v->rank != t->rank)
      return refuse_rank(c, k);
    if (v->kind == NEO_PY_ARRAY && v->type != t->type)
      return refuse_type(c, k);
  }
  return 0;
}

/* The number of the size that an extent is; -1: it is something else. */
static int32_t size_of(const call *c, int32_t program) {
  const int64_t *p = model_of(c)->programs + program;
  return p[0] == NEO_RT_OP_SIZE && p[2] == NEO_RT_OP_END ? (int32_t)p[1] : -1;
}

static void find_sizes(call *c) {
  const neo_rt_model *m = model_of(c);
  for (int32_t k = 0; k < n_in(c); k++) {
    const neo_rt_tensor *t = tensor_of(c, k);
    for (int32_t d = 0; d < t->rank; d++) {
      int32_t size = size_of(c, m->extents[t->extent + d]);
      if (size >= 0 && !c->known[size]) {
        c->size[size] = c->values[k].shape[d];
        c->known[size] = true;
      }
    }
  }
}

static int check_extents(const call *c) {
  const neo_rt_model *m = model_of(c);
  for (int32_t k = 0; k < n_in(c); k++) {
    const neo_rt_tensor *t = tensor_of(c, k);
    for (int32_t d = 0; d < t->rank; d++) {
      int64_t n = neo_rt_eval(m, m->extents[t->extent + d], c->size);
      if (n != c->values[k].shape[d])
        return refuse_extent(c, k, d, n);
    }
  }
  return 0;
}

/* A size out of its bounds is the runtime's to tell, but no memory is made for it before. */
static int check_bounds(const call *c) {
  const neo_rt_model *m = model_of(c);
  for (int32_t k = 0; k < c->o->e->n_sizes; k++) {
    const neo_rt_size *z = &m->sizes[m->entry_sizes[c->o->e->sizes + k]];
    if (c->call_size[k] >= z->lo && c->call_size[k] <= z->hi)
      continue;
    PyObject *text =
        PyUnicode_FromFormat("%s: %lld is not in [%lld, %lld]", z->name, (long long)c->call_size[k],
                             (long long)z->lo, (long long)z->hi);
    if (text)
      neo_py_raise(c->o->c->s, NEO_RT_E_SHAPE, PyUnicode_AsUTF8AndSize(text, NULL));
    Py_XDECREF(text);
    return -1;
  }
  return 0;
}

static int take_sizes(call *c) {
  const neo_rt_model *m = model_of(c);
  find_sizes(c);
  for (int32_t k = 0; k < c->o->e->n_sizes; k++) {
    int32_t size = m->entry_sizes[c->o->e->sizes + k];
    if (!c->known[size])
      return complain(c, "needs the size '%U'", PyTuple_GetItem(c->o->sizes, k));
    c->call_size[k] = c->size[size];
  }
  return check_bounds(c) || check_extents(c) ? -1 : 0;
}

/* ------------------------------------------------------------ running */

static int fill_inputs(call *c) {
  for (int32_t k = 0; k < n_in(c); k++) {
    const neo_py_value *v = &c->values[k];
    c->args[k] = v->kind == NEO_PY_ARRAY ? v->data : &c->numbers[k];
    if (v->kind != NEO_PY_ARRAY &&
        neo_py_value_store(c->o->c->s, v, name_of(c, k), tensor_of(c, k)->type, &c->numbers[k]))
      return -1;
  }
  return 0;
}

static PyObject *given_of(const call *c, int32_t k) {
  if (!c->out || c->out == Py_None || (n_out(c) == 1 && !PyTuple_Check(c->out)))
    return c->out;
  if (PyTuple_Check(c->out) && PyTuple_Size(c->out) == n_out(c))
    return PyTuple_GetItem(c->out, k);
  PyErr_Format(PyExc_TypeError, "%s(): out: expected a tuple of %d arrays, given %.200R",
               c->o->e->name, (int)n_out(c), c->out);
  return NULL;
}

static int fill_outputs(call *c) {
  const neo_rt_model *m = model_of(c);
  for (int32_t k = 0; k < n_out(c); k++) {
    const neo_rt_tensor *t = tensor_of(c, n_in(c) + k);
    PyObject *given = given_of(c, k);
    int64_t extent[NEO_PY_RANK];
    for (int32_t d = 0; d < t->rank; d++)
      extent[d] = neo_rt_eval(m, m->extents[t->extent + d], c->size);
    if ((!given && c->out) || neo_py_result_make(c->o->c->s, t, t->rank, extent, given, c->values,
                                                 n_in(c), &c->results[k]))
      return -1;
    c->args[n_in(c) + k] = c->results[k].data;
  }
  return neo_py_results_disjoint(c->out);
}

static int32_t set_settings(call *c) {
  neo_rt_ctx *x = c->o->c->ctx;
  int32_t status = 0;
  while (!status && c->n_set < c->n_settings) {
    setting *v = &c->settings[c->n_set++];
    status = neo_rt_get(x, v->tensor, v->before, v->bytes);
    if (status)
      c->n_set--;
    else
      status = neo_rt_set(x, v->tensor, v->data, v->bytes);
  }
  return status;
}

static void unset_settings(call *c) {
  while (c->n_set > 0) {
    setting *v = &c->settings[--c->n_set];
    neo_rt_set(c->o->c->ctx, v->tensor, v->before, v->bytes);
  }
}

static int run(call *c) {
  neo_py_context *x = c->o->c;
  neo_py_context_enter(x);
  int32_t status = set_settings(c);
  if (!status)
    status = neo_py_call(x->ctx, &x->cancel, c->o->number, c->call_size, c->args, &c->o->last_ns);
  if (status && !PyErr_Occurred())
    neo_py_context_fail(x, status);
  if (PyErr_Occurred())
    unset_settings(c);
  neo_py_context_leave(x);
  return PyErr_Occurred() ? -1 : 0;
}

static int open_call(call *c, entry_object *o, PyObject *named) {
  memset(c, 0, sizeof *c);
  c->o = o;
  const neo_rt_model *m = o->c->model;
  for (int32_t k = 0; k < m->n_sizes && k < NEO_RT_MOST_SIZES; k++)
    c->size[k] = m->sizes[k].hi;
  size_t n = (size_t)o->e->n_args + 1;
  c->objects = calloc(n, sizeof *c->objects);
  c->values = calloc(n, sizeof *c->values);
  c->numbers = calloc(n, sizeof *c->numbers);
  c->args = calloc(n, sizeof *c->args);
  c->results = calloc(n, sizeof *c->results);
  c->settings = calloc(named ? (size_t)PyDict_Size(named) + 1 : 1, sizeof *c->settings);
  if (c->objects && c->values && c->numbers && c->args && c->results && c->settings)
    return neo_py_numpy(o->c->s);
  PyErr_NoMemory();
  return -1;
}

static void close_call(call *c) {
  for (int32_t k = 0; c->values && k < n_in(c); k++)
    neo_py_value_release(&c->values[k]);
  for (int32_t k = 0; c->results && k < n_out(c); k++)
    neo_py_result_release(&c->results[k]);
  for (int32_t k = 0; k < c->n_settings; k++) {
    Py_XDECREF(c->settings[k].array);
    free(c->settings[k].before);
  }
  free(c->settings);
  free(c->objects);
  free(c->values);
  free(c->numbers);
  free(c->args);
  free(c->results);
}

static PyObject *entry_call(PyObject *self, PyObject *args, PyObject *named) {
  call c;
  PyObject *made = NULL;
  if (open_call(&c, (entry_object *)self, named) == 0 && take_objects(&c, args, named) == 0 &&
      read_values(&c) == 0 && take_sizes(&c) == 0 && fill_inputs(&c) == 0 &&
      fill_outputs(&c) == 0 && run(&c) == 0)
    made = n_out(&c) ? neo_py_results_take(c.o->c->s, c.results, n_out(&c)) : Py_NewRef(Py_None);
  close_call(&c);
  return made;
}

/* ------------------------------------------------------------ life */

static PyObject *interned(const char *word) {
  return PyUnicode_InternFromString(word);
}

static PyObject *input_names(const entry_object *o) {
  const neo_rt_model *m = o->c->model;
  PyObject *names = PyTuple_New(o->e->n_inputs);
  for (int32_t k = 0; names && k < o->e->n_inputs; k++)
    PyTuple_SetItem(names, k, interned(m->tensors[m->entry_args[o->e->args + k]].name));
  return names;
}

static PyObject *size_names(const entry_object *o) {
  const neo_rt_model *m = o->c->model;
  PyObject *names = PyTuple_New(o->e->n_sizes);
  for (int32_t k = 0; names && k < o->e->n_sizes; k++)
    PyTuple_SetItem(names, k, interned(m->sizes[m->entry_sizes[o->e->sizes + k]].name));
  return names;
}

static PyObject *entry_new(PyTypeObject *type, PyObject *args, PyObject *named) {
  static char *words[] = {"context", "number", "setting", NULL};
  neo_py_state *s = neo_py_state_get();
  PyObject *context, *take;
  int number;
  if (!s || !PyArg_ParseTupleAndKeywords(args, named, "O!iO:Entry", words, s->context, &context,
                                         &number, &take))
    return NULL;
  neo_py_context *c = (neo_py_context *)context;
  if (number < 0 || number >= c->model->n_entries) {
    PyErr_SetString(PyExc_IndexError, "the model has no such entry");
    return NULL;
  }
  entry_object *o = (entry_object *)PyType_GenericAlloc(type, 0);
  if (!o)
    return NULL;
  o->c = (neo_py_context *)Py_NewRef(context);
  o->setting = Py_NewRef(take);
  o->e = &c->model->entries[number];
  o->number = number;
  o->names = input_names(o);
  o->sizes = size_names(o);
  if (o->names && o->sizes)
    return (PyObject *)o;
  Py_DECREF(o);
  return NULL;
}

static void entry_free(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  entry_object *o = (entry_object *)self;
  Py_XDECREF(o->names);
  Py_XDECREF(o->sizes);
  Py_XDECREF(o->setting);
  Py_XDECREF((PyObject *)o->c);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(self);
  Py_DECREF(type);
}

static PyObject *get_name(PyObject *self, void *none) {
  (void)none;
  return PyUnicode_FromString(((entry_object *)self)->e->name);
}

static PyObject *get_inputs(PyObject *self, void *none) {
  (void)none;
  return Py_NewRef(((entry_object *)self)->names);
}

static PyObject *get_sizes(PyObject *self, void *none) {
  (void)none;
  return Py_NewRef(((entry_object *)self)->sizes);
}

int neo_py_add_entry(neo_py_state *s) {
  static PyGetSetDef members[] = {{"__name__", get_name, NULL, "the entry's name", NULL},
                                  {"inputs", get_inputs, NULL, "names of inputs", NULL},
                                  {"sizes", get_sizes, NULL, "names of run-time sizes", NULL},
                                  {0}};
  static PyType_Slot slots[] = {{Py_tp_new, entry_new},
                                {Py_tp_dealloc, entry_free},
                                {Py_tp_call, entry_call},
                                {Py_tp_getset, members},
                                {Py_tp_doc, "Entry(context, number, setting): an entry, to be "
                                            "called with keywords."},
                                {0}};
  static PyType_Spec spec = {"neoc._core.Entry", sizeof(entry_object), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  s->entry = (PyTypeObject *)PyType_FromSpec(&spec);
  return s->entry ? PyModule_AddObjectRef(s->module, "Entry", (PyObject *)s->entry) : -1;
}
