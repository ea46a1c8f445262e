/* torch_grad.c: gradients of operators in PyTorch's eager mode.
 *
 * The autograd.Function of an operator has its forward here, and its nodes their `apply`, which the
 * engine calls. Gradients of gradients, and those of some results alone, are left to Python.
 *
 * What a backward pass reads is known once its program has been compiled. A plan remembers it for
 * the shapes and types of the forward call and the arguments that want gradients: after its first
 * backward pass no tensor is saved that the program does not read. A stand-in takes its place, a
 * tensor of the same shape and type with memory of one element. Where another program than the
 * plan's has run with stand-ins, the backward pass fails.
 *
 * All here is under the interpreter's lock; a plan stays as long as the variant that it belongs to,
 * to the end of the process. */
#include "python/src/torch_eager.h"

enum { PLANNED = 64 }; /* arguments of an operator that has plans */

typedef neo_py_torch_call torch_call;

typedef struct plan plan;

struct plan {
  PyObject_HEAD plan *next; /* the next plan of the same variant */
  torch_call *op;
  uint64_t needs;                      /* a bit for each argument */
  const neo_py_door_variant *forward;  /* null for tensors without elements */
  const neo_py_door_variant *backward; /* null until stand-ins are known */
  PyObject *call, *number;             /* the backward pass's; null until it is asked for */
  int64_t key;
  PyObject *stand; /* for each argument its stand-in, or None where it is saved */
};

/* ------------------------------------------------------------ plans */

static PyObject *new_object(PyTypeObject *type) {
  allocfunc make = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  return make(type, 0);
}

/* A bit for each that wants a gradient; false where there are too many, or with an exception. */
static bool read_needs(const torch_call *op, PyObject *ctx, uint64_t *needs) {
  PyObject *list = op->n_in <= PLANNED ? PyObject_GetAttr(ctx, op->t->needs) : NULL;
  bool read = list && PyTuple_Check(list) && PyTuple_Size(list) == op->n_in;
  *needs = 0;
  for (Py_ssize_t k = 0; read && k < op->n_in; k++)
    if (PyTuple_GetItem(list, k) == Py_True)
      *needs |= (uint64_t)1 << k;
  Py_XDECREF(list);
  return read;
}

static plan *add_plan(plan **to, torch_call *op, uint64_t needs, const neo_py_door_variant *v) {
  neo_py_state *s = neo_py_state_get();
  plan *p = s ? (plan *)(void *)new_object(s->torch_plan) : NULL;
  if (!p)
    return NULL;
  Py_INCREF((PyObject *)op);
  p->op = op;
  p->needs = needs;
  p->forward = v;
  p->next = *to;
  *to = p;
  return p;
}

/* The plan of a forward call, borrowed; null where there is none, or with an exception. */
static plan *plan_of(torch_call *op, PyObject *ctx, const neo_py_door_variant *v) {
  uint64_t needs;
  if (!read_needs(op, ctx, &needs))
    return NULL;
  plan **first = v ? (plan **)(void *)v->plans : (plan **)(void *)&op->plans;
  for (plan *p = *first; p; p = p->next)
    if (p->needs == needs)
      return p;
  return add_plan(first, op, needs, v);
}

/* Asks neoc.torch for the operator of the backward pass: (call, number). */
static int ask_backward(plan *p) {
  torch_call *op = p->op;
  PyObject *call, *number;
  PyObject *made = PyObject_CallFunction(op->t->vjp, "OK", op->door, (unsigned long long)p->needs);
  int failed = !made || !PyArg_ParseTuple(made, "OO", &call, &number);
  if (!failed) {
    p->key = PyLong_AsLongLong(number);
    p->number = Py_NewRef(number);
    p->call = Py_NewRef(call);
  }
  Py_XDECREF(made);
  return failed ? -1 : 0;
}

static bool reads(const neo_py_door_variant *v, int32_t arg) {
  for (int32_t k = 0; k < v->n_in; k++)
    if (v->in[k] == arg)
      return true;
  for (int32_t k = 0; k < v->n_bound; k++)
    if (v->bound[2 * k + 1] == arg)
      return true;
  return false;
}

/* After the first backward pass: a stand-in for each argument that the program does not read. */
static int learn(plan *p, const neo_py_door_variant *v, PyObject *saved) {
  Py_ssize_t n = PyTuple_Size(saved);
  PyObject *stand = PyTuple_New(n);
  for (Py_ssize_t k = 0; stand && k < n; k++) {
    PyObject *one =
        reads(v, (int32_t)k)
            ? Py_NewRef(Py_None)
            : PyObject_CallFunctionObjArgs(p->op->t->stand_in, PyTuple_GetItem(saved, k), NULL);
    if (!one || PyTuple_SetItem(stand, k, one))
      Py_CLEAR(stand);
  }
  if (!stand)
    return -1;
  Py_XDECREF(p->stand);
  p->stand = stand;
  p->backward = v;
  return 0;
}

/* ------------------------------------------------------------ the Function's forward */

/* The arguments that the backward pass reads. */
static PyObject *to_save(const plan *p, PyObject *tensors) {
  if (!p || !p->stand)
    return Py_NewRef(tensors);
  Py_ssize_t n = PyTuple_Size(tensors), kept = 0, at = 0;
  for (Py_ssize_t k = 0; k < n; k++)
    kept += PyTuple_GetItem(p->stand, k) == Py_None;
  PyObject *made = PyTuple_New(kept);
  for (Py_ssize_t k = 0; made && k < n; k++)
    if (PyTuple_GetItem(p->stand, k) == Py_None)
      PyTuple_SetItem(made, at++, Py_NewRef(PyTuple_GetItem(tensors, k)));
  return made;
}

static int save(const torch_call *op, PyObject *ctx, const plan *p, PyObject *tensors) {
  PyObject *saved = to_save(p, tensors);
  int failed = !saved || (PyTuple_Size(saved) && PyObject_SetAttr(ctx, op->t->to_save, saved)) ||
               PyObject_SetAttr(ctx, op->t->materialize, Py_False) ||
               PyObject_SetAttr(ctx, op->t->plan, p ? (PyObject *)(uintptr_t)p : Py_None);
  Py_XDECREF(saved);
  return failed ? -1 : 0;
}

static bool all_floats(const neo_py_door_variant *v) {
  for (int32_t k = 0; k < v->n_out; k++)
    if (v->type[k] > NEO_RT_BF16)
      return false;
  return true;
}

/* args: the context, and the tensors. */
PyObject *neo_py_torch_forward(PyObject *self, PyObject *args) {
  torch_call *op = (torch_call *)(void *)self;
  if (PyTuple_Size(args) != op->n_in + 1)
    return PyErr_Format(PyExc_TypeError, "forward takes a context and %zd tensors", op->n_in);
  PyObject *ctx = PyTuple_GetItem(args, 0), *tensors = PyTuple_GetSlice(args, 1, op->n_in + 1);
  neo_py_torch_forget();
  PyObject *made = tensors ? neo_py_torch_call_with(op->call, op->number, tensors) : NULL;
  const neo_py_door_variant *v = neo_py_torch_last(op->key);
  plan *p = made ? plan_of(op, ctx, v) : NULL;
  bool failed = !made || PyErr_Occurred() || save(op, ctx, p, tensors);
  if (!failed && !(v && all_floats(v))) {
    PyObject *done = PyObject_CallFunctionObjArgs(op->t->mark, ctx, made, NULL);
    failed = !done;
    Py_XDECREF(done);
  }
  if (failed)
    Py_CLEAR(made);
  Py_XDECREF(tensors);
  return made;
}

/* ------------------------------------------------------------ the Function's backward */

/* All arguments of the forward call, and the cotangents. Takes `saved`. */
static PyObject *arguments_of(const plan *p, PyObject *saved, PyObject *grads) {
  Py_ssize_t n = p->op->n_in, n_grads = PyTuple_Size(grads), at = 0;
  bool whole = PyTuple_Size(saved) == n;
  PyObject *made = whole || p->stand ? PyTuple_New(n + n_grads) : NULL;
  if (!whole && !p->stand)
    PyErr_SetString(PyExc_RuntimeError, "the tensors that were saved are others");
  for (Py_ssize_t k = 0; made && k < n; k++) {
    PyObject *stand = whole ? Py_None : PyTuple_GetItem(p->stand, k);
    PyObject *one = stand == Py_None ? PyTuple_GetItem(saved, at++) : stand;
    if (!one)
      Py_CLEAR(made);
    else
      PyTuple_SetItem(made, k, Py_NewRef(one));
  }
  for (Py_ssize_t k = 0; made && k < n_grads; k++)
    PyTuple_SetItem(made, n + k, Py_NewRef(PyTuple_GetItem(grads, k)));
  return made;
}

/* A value for each argument: those that are found, else None. Takes `found`. */
static PyObject *spread(const plan *p, PyObject *found) {
  Py_ssize_t n = p->op->n_in, at = 0;
  bool one = !(p->needs & (p->needs - 1));
  PyObject *made = found ? PyTuple_New(n) : NULL;
  for (Py_ssize_t k = 0; made && k < n; k++) {
    PyObject *value = !(p->needs >> k & 1) ? Py_None : one ? found : PyTuple_GetItem(found, at++);
    if (!value)
      Py_CLEAR(made);
    else
      PyTuple_SetItem(made, k, Py_NewRef(value));
  }
  Py_XDECREF(found);
  return made;
}

/* The exception that is set becomes the one of neoc that it stands for. */
static void tell(const neo_py_torch *t, PyObject *args) {
  PyObject *type, *value, *trace;
  if (!PyErr_ExceptionMatches(PyExc_RuntimeError))
    return;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  Py_XDECREF(PyObject_CallFunctionObjArgs(t->raise, value, args, NULL));
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
}

/* A program that reads what a stand-in stands for must not give a result. */
static int check(plan *p, PyObject *saved, PyObject *args) {
  const neo_py_door_variant *v = neo_py_torch_last(p->key);
  Py_ssize_t n = p->op->n_in;
  if (PyTuple_Size(saved) != n && v != p->backward) {
    PyErr_SetString(PyExc_RuntimeError, "the backward pass has another program than before");
    return -1;
  }
  if (p->stand || !p->forward || !v || p->op->n_out != 1)
    return 0;
  PyObject *tensors = PyTuple_GetSlice(args, 0, n);
  int failed = !tensors || learn(p, v, tensors);
  Py_XDECREF(tensors);
  return failed ? -1 : 0;
}

static PyObject *run(plan *p, PyObject *ctx, PyObject *grads) {
  const neo_py_torch *t = p->op->t;
  if (!p->call && ask_backward(p))
    return NULL;
  PyObject *saved = PyObject_GetAttr(ctx, t->saved), *found = NULL;
  PyObject *args = saved ? arguments_of(p, saved, grads) : NULL;
  if (args) {
    neo_py_torch_forget();
    found = neo_py_torch_call_with(p->call, p->number, args);
    if (!found)
      tell(t, args);
    else if (check(p, saved, args))
      Py_CLEAR(found);
  }
  Py_XDECREF(saved);
  Py_XDECREF(args);
  return spread(p, found);
}

/* Whether the usual way is right: gradients of all results, and none of gradients. */
static int is_usual(const neo_py_torch *t, PyObject *grads) {
  for (Py_ssize_t k = 0; k < PyTuple_Size(grads); k++)
    if (PyTuple_GetItem(grads, k) == Py_None)
      return 0;
  int enabled = neo_py_torch_asks(t->is_grad_enabled);
  int transform = enabled ? 1 : neo_py_torch_in_transform(t);
  return enabled < 0 || transform < 0 ? -1 : !enabled && !transform;
}

/* The method `apply` of the Function's nodes, which the engine calls. */
static PyObject *apply(PyObject *ctx, PyObject *grads) {
  neo_py_state *s = neo_py_state_get();
  neo_py_torch *t = s ? s->torch : NULL;
  PyObject *object = t ? PyObject_GetAttr(ctx, t->plan) : NULL, *made = NULL;
  if (!object)
    return NULL;
  plan *p = Py_TYPE(object) == s->torch_plan ? (plan *)(void *)object : NULL;
  int usual = p && p->needs ? is_usual(t, grads) : 0;
  if (usual > 0)
    made = run(p, ctx, grads);
  else if (usual == 0)
    made = PyObject_CallFunctionObjArgs(t->gradients, ctx, grads, NULL);
  Py_DECREF(object);
  return made;
}

/* ------------------------------------------------------------ the module */

static PyObject *get_stand_ins(PyObject *self, void *none) {
  (void)none;
  plan *p = (plan *)(void *)self;
  return Py_NewRef(p->stand ? p->stand : Py_None);
}

static void plan_free(PyObject *self) {
  plan *p = (plan *)(void *)self;
  PyTypeObject *type = Py_TYPE(self);
  Py_XDECREF((PyObject *)p->op);
  Py_XDECREF(p->call);
  Py_XDECREF(p->number);
  Py_XDECREF(p->stand);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(self);
  Py_DECREF(type);
}

static int add_plan_type(neo_py_state *s) {
  static PyGetSetDef members[] = {
      {"stand_ins", get_stand_ins, NULL, "a tensor for each argument that is not saved", NULL},
      {0}};
  static PyType_Slot slots[] = {{Py_tp_dealloc, plan_free},
                                {Py_tp_getset, members},
                                {Py_tp_doc, "What the backward pass of a call reads."},
                                {0}};
  static PyType_Spec spec = {"neoc._core.TorchPlan", sizeof(plan), 0, Py_TPFLAGS_DEFAULT, slots};
  s->torch_plan = (PyTypeObject *)PyType_FromSpec(&spec);
  return s->torch_plan ? 0 : -1;
}

/* A class of the engine's nodes gets the method `apply`. */
static PyObject *torch_node(PyObject *self, PyObject *type) {
  (void)self;
  static PyMethodDef definition = {"apply", apply, METH_VARARGS,
                                   "apply(*grads): the backward pass."};
  PyObject *method = PyDescr_NewMethod((PyTypeObject *)(void *)type, &definition);
  int failed = !method || PyObject_SetAttrString(type, "apply", method);
  Py_XDECREF(method);
  return failed ? NULL : Py_NewRef(Py_None);
}

int neo_py_add_torch_gradients(neo_py_state *s) {
  static PyMethodDef functions[] = {
      {"torch_node", torch_node, METH_O, "torch_node(type): gives its nodes their `apply`."}, {0}};
  return add_plan_type(s) ? -1 : PyModule_AddFunctions(s->module, functions);
}
