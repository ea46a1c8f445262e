/* torch_call.c: calls of operators in PyTorch's eager mode, with and without gradient.
 *
 * TorchCall is an operator as neoc.torch calls it: it looks at the arguments, and calls the
 * dispatcher's operator, or, where a gradient is wanted, a torch.autograd.Function of its own
 * (neoc/torch/functions.py makes it), whose forward and backward are here as well. What is not
 * usual, transforms of torch.func, autocast, gradients of gradients, is left to Python.
 *
 * What a backward pass reads is known once its program has been compiled. A plan remembers it for
 * the shapes and types of the forward call and the arguments that want gradients: after its first
 * backward pass no tensor is saved that the program does not read. A stand-in takes its place, a
 * tensor of the same shape and type with memory of one element. Where another program than the
 * plan's has run with stand-ins, the call fails.
 *
 * All here is under the interpreter's lock; a plan stays as long as the variant that it belongs to,
 * to the end of the process. */
#include "python/src/door.h"
#include "python/src/torch_shim.h"
#include <stddef.h>

enum { PLANNED = 64 }; /* arguments of an operator that has plans */

/* What neoc.torch gives (torch_begin), in its order, and names of attributes. */
struct neo_py_torch {
  PyObject *tensor, *parameter; /* types */
  PyObject *is_grad_enabled, *is_autocast, *transform;
  PyObject *forward_ad;            /* the dictionary of the module torch.autograd.forward_ad */
  PyObject *vjp, *apply, *stand_in; /* functions of neoc.torch.functions */
  PyObject *mark, *gradients, *raise;
  PyObject *requires_grad, *needs, *to_save, *saved, *materialize, *plan, *level; /* names */
};

enum { GIVEN = offsetof(neo_py_torch, requires_grad) / sizeof(PyObject *) };

typedef struct plan plan;

typedef struct {
  PyObject_HEAD
  neo_py_torch *t;
  PyObject *door, *call, *number; /* call: the dispatcher's operator */
  PyObject *apply;                /* of its autograd.Function; null until a gradient is wanted */
  int64_t key;
  Py_ssize_t n_in, n_out;
  plan *plans; /* for tensors without elements, which have no variant */
} torch_call;

struct plan {
  PyObject_HEAD
  plan *next; /* of the same variant */
  torch_call *op;
  uint64_t needs;                      /* a bit for each argument */
  const neo_py_door_variant *forward;  /* null for tensors without elements */
  const neo_py_door_variant *backward; /* null until stand-ins are known */
  PyObject *call, *number;             /* of the backward pass; null until it is asked for */
  int64_t key;
  PyObject *stand; /* for each argument its stand-in, or None where it is saved */
};

/* ------------------------------------------------------------ small things */

/* call(number, *args). */
static PyObject *call_with(PyObject *call, PyObject *number, PyObject *args) {
  Py_ssize_t n = PyTuple_Size(args);
  PyObject *all = PyTuple_New(n + 1);
  if (!all)
    return NULL;
  PyTuple_SetItem(all, 0, Py_NewRef(number));
  for (Py_ssize_t k = 0; k < n; k++)
    PyTuple_SetItem(all, k + 1, Py_NewRef(PyTuple_GetItem(args, k)));
  PyObject *made = PyObject_Call(call, all, NULL);
  Py_DECREF(all);
  return made;
}

/* 1, 0, or -1 with an exception. Takes the object. */
static int truth(PyObject *object) {
  int is = object == Py_True ? 1 : object == Py_False ? 0 : object ? PyObject_IsTrue(object) : -1;
  Py_XDECREF(object);
  return is;
}

/* Whether a function without arguments says yes. */
static int asks(PyObject *f) {
  return truth(PyObject_CallNoArgs(f));
}

/* Whether a transform of torch.func or forward-mode AD is at work. */
static int in_transform(const neo_py_torch *t) {
  PyObject *found = PyObject_CallNoArgs(t->transform);
  if (!found || found != Py_None) {
    Py_XDECREF(found);
    return found ? 1 : -1;
  }
  Py_DECREF(found);
  PyObject *level = PyDict_GetItemWithError(t->forward_ad, t->level);
  long at = level ? PyLong_AsLong(level) : -1;
  return PyErr_Occurred() ? -1 : at >= 0;
}

static PyTypeObject *type_of(PyObject *object) {
  return Py_TYPE(object);
}

static int is_tensor(const neo_py_torch *t, PyObject *object) {
  PyObject *type = (PyObject *)type_of(object);
  return type == t->tensor || type == t->parameter ? 1 : PyObject_IsInstance(object, t->tensor);
}

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
  plan **first = v ? (plan **)(void *)v->plans : &op->plans;
  for (plan *p = *first; p; p = p->next)
    if (p->needs == needs)
      return p;
  return add_plan(first, op, needs, v);
}

/* Asks neoc.torch for the operator of the backward pass: (call, number). */
static int ask_backward(plan *p) {
  torch_call *op = p->op;
  PyObject *call, *number;
  PyObject *made =
      PyObject_CallFunction(op->t->vjp, "OK", op->door, (unsigned long long)p->needs);
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
    PyObject *one = reads(v, (int32_t)k) ? Py_NewRef(Py_None)
                                         : PyObject_CallFunctionObjArgs(
                                               p->op->t->stand_in, PyTuple_GetItem(saved, k), NULL);
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

/* Those arguments that the backward pass reads. */
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
static PyObject *forward(PyObject *self, PyObject *args) {
  torch_call *op = (torch_call *)(void *)self;
  if (PyTuple_Size(args) != op->n_in + 1)
    return PyErr_Format(PyExc_TypeError, "forward takes a context and %zd tensors", op->n_in);
  PyObject *ctx = PyTuple_GetItem(args, 0), *tensors = PyTuple_GetSlice(args, 1, op->n_in + 1);
  neo_py_torch_forget();
  PyObject *made = tensors ? call_with(op->call, op->number, tensors) : NULL;
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
    found = call_with(p->call, p->number, args);
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
  int enabled = asks(t->is_grad_enabled);
  int transform = enabled ? 1 : in_transform(t);
  return enabled < 0 || transform < 0 ? -1 : !enabled && !transform;
}

/* The method `apply` of the Function's nodes, which the engine calls. */
static PyObject *apply(PyObject *ctx, PyObject *grads) {
  neo_py_state *s = neo_py_state_get();
  neo_py_torch *t = s ? s->torch : NULL;
  PyObject *object = t ? PyObject_GetAttr(ctx, t->plan) : NULL, *made = NULL;
  if (!object)
    return NULL;
  plan *p = type_of(object) == s->torch_plan ? (plan *)(void *)object : NULL;
  int usual = p && p->needs ? is_usual(t, grads) : 0;
  if (usual > 0)
    made = run(p, ctx, grads);
  else if (usual == 0)
    made = PyObject_CallFunctionObjArgs(t->gradients, ctx, grads, NULL);
  Py_DECREF(object);
  return made;
}

/* ------------------------------------------------------------ calls */

/* 1: a gradient is wanted; 0: none is; -1 with an exception; 2: this is no usual call. */
static int look_at(const torch_call *op, PyObject *args) {
  const neo_py_torch *t = op->t;
  int wants = 0;
  for (Py_ssize_t k = 0; k < op->n_in; k++) {
    PyObject *a = PyTuple_GetItem(args, k);
    int is = is_tensor(t, a);
    if (is <= 0)
      return is ? -1 : 2;
    int wants_this = wants ? 0 : truth(PyObject_GetAttr(a, t->requires_grad));
    if (wants_this < 0)
      return -1;
    wants |= wants_this;
  }
  int transform = in_transform(t);
  if (transform)
    return transform < 0 ? -1 : 2;
  return wants ? asks(t->is_grad_enabled) : 0;
}

static PyObject *with_gradient(torch_call *op, PyObject *args) {
  if (!op->apply)
    op->apply = PyObject_CallFunctionObjArgs(op->t->apply, op->door, NULL);
  return op->apply ? PyObject_Call(op->apply, args, NULL) : NULL;
}

/* Does not look whether autocast is on: `tensors` are what the operator is to take. */
static PyObject *call_on(PyObject *self, PyObject *tensors) {
  torch_call *op = (torch_call *)(void *)self;
  int how = PyTuple_Size(tensors) == op->n_in ? look_at(op, tensors) : 2;
  if (how < 0)
    return NULL;
  if (how == 2)
    return Py_NewRef(Py_NotImplemented);
  return how ? with_gradient(op, tensors) : call_with(op->call, op->number, tensors);
}

static PyObject *torch_call_call(PyObject *self, PyObject *args, PyObject *named) {
  int autocast = named ? 1 : asks(((torch_call *)(void *)self)->t->is_autocast);
  if (autocast)
    return autocast < 0 ? NULL : Py_NewRef(Py_NotImplemented);
  return call_on(self, args);
}

/* ------------------------------------------------------------ types */

static PyObject *get_forward(PyObject *self, void *none) {
  (void)none;
  static PyMethodDef definition = {"forward", forward, METH_VARARGS,
                                   "forward(ctx, *tensors): of the operator's Function."};
  return PyCFunction_New(&definition, self);
}

static int torch_call_init(PyObject *self, PyObject *args, PyObject *named) {
  torch_call *op = (torch_call *)(void *)self;
  neo_py_state *s = neo_py_state_get();
  PyObject *door, *call, *number;
  if (!s || !PyArg_ParseTuple(args, "OOO!nn:TorchCall", &door, &call, &PyLong_Type, &number,
                              &op->n_in, &op->n_out))
    return -1;
  if (!s->torch || op->door || named) {
    PyErr_SetString(PyExc_RuntimeError, "torch_begin has not been called");
    return -1;
  }
  op->t = s->torch;
  op->key = PyLong_AsLongLong(number);
  op->door = Py_NewRef(door);
  op->call = Py_NewRef(call);
  op->number = Py_NewRef(number);
  return 0;
}

static void torch_call_free(PyObject *self) {
  torch_call *op = (torch_call *)(void *)self;
  PyTypeObject *type = type_of(self);
  PyObject *held[] = {op->door, op->call, op->number, op->apply};
  for (size_t k = 0; k < sizeof held / sizeof *held; k++)
    Py_XDECREF(held[k]);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(self);
  Py_DECREF(type);
}

static PyObject *get_stand_ins(PyObject *self, void *none) {
  (void)none;
  plan *p = (plan *)(void *)self;
  return Py_NewRef(p->stand ? p->stand : Py_None);
}

static void plan_free(PyObject *self) {
  plan *p = (plan *)(void *)self;
  PyTypeObject *type = type_of(self);
  Py_XDECREF((PyObject *)p->op);
  Py_XDECREF(p->call);
  Py_XDECREF(p->number);
  Py_XDECREF(p->stand);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(self);
  Py_DECREF(type);
}

static int add_call_type(neo_py_state *s) {
  static PyMethodDef methods[] = {
      {"on", call_on, METH_VARARGS, "on(*tensors): a call that does not look at autocast."}, {0}};
  static PyGetSetDef members[] = {
      {"forward", get_forward, NULL, "of the operator's autograd.Function", NULL}, {0}};
  static PyType_Slot slots[] = {{Py_tp_new, PyType_GenericNew},
                                {Py_tp_init, torch_call_init},
                                {Py_tp_dealloc, torch_call_free},
                                {Py_tp_call, torch_call_call},
                                {Py_tp_methods, methods},
                                {Py_tp_getset, members},
                                {Py_tp_doc, "An operator, as PyTorch's eager mode calls it; "
                                            "NotImplemented where Python is to look."},
                                {0}};
  static PyType_Spec spec = {"neoc._core.TorchCall", sizeof(torch_call), 0, Py_TPFLAGS_DEFAULT,
                             slots};
  PyObject *type = PyType_FromSpec(&spec);
  int failed = !type || PyModule_AddObjectRef(s->module, "TorchCall", type);
  Py_XDECREF(type);
  return failed ? -1 : 0;
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

/* ------------------------------------------------------------ functions of the module */

static bool take_names(neo_py_torch *t) {
  const struct {
    PyObject **to;
    const char *text;
  } names[] = {{&t->requires_grad, "requires_grad"}, {&t->needs, "needs_input_grad"},
               {&t->to_save, "to_save"},             {&t->saved, "saved_tensors"},
               {&t->plan, "plan"},                   {&t->materialize, "materialize_grads"},
               {&t->level, "_current_level"}};
  for (size_t k = 0; k < sizeof names / sizeof *names; k++)
    if (!(*names[k].to = PyUnicode_InternFromString(names[k].text)))
      return false;
  return true;
}

static PyObject *torch_begin(PyObject *self, PyObject *args) {
  (void)self;
  neo_py_state *s = neo_py_state_get();
  if (!s || PyTuple_Size(args) != GIVEN)
    return PyErr_Format(PyExc_TypeError, "torch_begin takes %d arguments", (int)GIVEN);
  neo_py_torch *t = s->torch ? s->torch : PyMem_Calloc(1, sizeof *t);
  if (!t || !take_names(t))
    return PyErr_NoMemory();
  PyObject **to = &t->tensor;
  for (Py_ssize_t k = 0; k < GIVEN; k++)
    to[k] = Py_NewRef(PyTuple_GetItem(args, k));
  s->torch = t;
  Py_RETURN_NONE;
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

int neo_py_add_torch_calls(neo_py_state *s) {
  static PyMethodDef functions[] = {
      {"torch_begin", torch_begin, METH_VARARGS,
       "torch_begin(...): what of PyTorch and neoc.torch a TorchCall needs."},
      {"torch_node", torch_node, METH_O, "torch_node(type): gives its nodes their `apply`."},
      {0}};
  return add_call_type(s) || add_plan_type(s) ? -1 : PyModule_AddFunctions(s->module, functions);
}
