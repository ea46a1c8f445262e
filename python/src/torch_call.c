/* torch_call.c: calls of operators in PyTorch's eager mode.
 *
 * TorchCall is an operator as neoc.torch calls it: it looks at the arguments, and calls the
 * dispatcher's operator, or, where a gradient is wanted, a torch.autograd.Function of its own
 * (neoc/torch/functions.py makes it), whose forward and backward are in torch_grad.c. What is not
 * usual, transforms of torch.func and autocast, is left to Python.
 *
 * All here is under the interpreter's lock. */
#include "python/src/torch_eager.h"
#include <stddef.h>

enum { GIVEN = offsetof(neo_py_torch, requires_grad) / sizeof(PyObject *) };

typedef neo_py_torch_call torch_call;

/* ------------------------------------------------------------ small things */

/* call(number, *args). */
PyObject *neo_py_torch_call_with(PyObject *call, PyObject *number, PyObject *args) {
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
int neo_py_torch_asks(PyObject *f) {
  return truth(PyObject_CallNoArgs(f));
}

/* Whether a transform of torch.func or forward-mode AD is at work. */
int neo_py_torch_in_transform(const neo_py_torch *t) {
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

static int is_tensor(const neo_py_torch *t, PyObject *object) {
  PyObject *type = (PyObject *)Py_TYPE(object);
  return type == t->tensor || type == t->parameter ? 1 : PyObject_IsInstance(object, t->tensor);
}

/* ------------------------------------------------------------ calls */

/* A description of the arguments of a call. */
typedef struct {
  int wants;       /* 1: a gradient is wanted */
  PyObject *dtype; /* the first argument's; borrowed, as PyTorch has one object for each type */
  bool mixed;      /* another has another type */
} looks;

/* 1: the argument is a tensor; 0: it is not; -1 with an exception. */
static int look_at(const neo_py_torch *t, PyObject *a, looks *found) {
  int is = is_tensor(t, a);
  if (is <= 0)
    return is;
  PyObject *dtype = PyObject_GetAttr(a, t->dtype);
  int wants = found->wants ? 1 : truth(PyObject_GetAttr(a, t->requires_grad));
  if (!found->dtype)
    found->dtype = dtype;
  found->mixed |= found->dtype != dtype;
  found->wants = wants;
  Py_XDECREF(dtype);
  return dtype && wants >= 0 ? 1 : -1;
}

/* Whether torch.compile or torch.export is at work, and not Dynamo, which Python asks for. */
static int is_compiling(const neo_py_torch *t) {
  PyObject *flag = PyDict_GetItemWithError(t->compiler, t->compiling);
  return flag ? PyObject_IsTrue(flag) : PyErr_Occurred() ? -1 : 0;
}

enum { PLAIN, WANTS_GRADIENT, UNUSUAL };

/* One of these, or -1 with an exception. Autocast changes the types of arguments that differ. */
static int kind_of(const torch_call *op, PyObject *args, bool may_cast) {
  const neo_py_torch *t = op->t;
  looks found = {0};
  for (Py_ssize_t k = 0; k < op->n_in; k++) {
    int is = look_at(t, PyTuple_GetItem(args, k), &found);
    if (is <= 0)
      return is ? -1 : UNUSUAL;
  }
  int unusual = neo_py_torch_in_transform(t);
  if (!unusual && may_cast)
    unusual = is_compiling(t);
  if (!unusual && may_cast && found.mixed)
    unusual = neo_py_torch_asks(t->is_autocast);
  if (unusual)
    return unusual < 0 ? -1 : UNUSUAL;
  return found.wants ? neo_py_torch_asks(t->is_grad_enabled) : PLAIN;
}

static PyObject *with_gradient(torch_call *op, PyObject *args) {
  if (!op->apply)
    op->apply = PyObject_CallFunctionObjArgs(op->t->apply, op->door, NULL);
  return op->apply ? PyObject_Call(op->apply, args, NULL) : NULL;
}

static PyObject *call_now(torch_call *op, PyObject *tensors, bool may_cast) {
  int kind = PyTuple_Size(tensors) == op->n_in ? kind_of(op, tensors, may_cast) : UNUSUAL;
  if (kind < 0)
    return NULL;
  if (kind == UNUSUAL)
    return Py_NewRef(Py_NotImplemented);
  return kind == WANTS_GRADIENT ? with_gradient(op, tensors)
                                : neo_py_torch_call_with(op->call, op->number, tensors);
}

/* Does not look whether autocast is on: `tensors` are what the operator is to take. */
static PyObject *call_on(PyObject *self, PyObject *tensors) {
  return call_now((torch_call *)(void *)self, tensors, false);
}

static PyObject *torch_call_call(PyObject *self, PyObject *args, PyObject *named) {
  return named ? Py_NewRef(Py_NotImplemented) : call_now((torch_call *)(void *)self, args, true);
}

/* ------------------------------------------------------------ types */

static PyObject *get_forward(PyObject *self, void *none) {
  (void)none;
  static PyMethodDef definition = {"forward", neo_py_torch_forward, METH_VARARGS,
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
  PyTypeObject *type = Py_TYPE(self);
  PyObject *held[] = {op->door, op->call, op->number, op->apply};
  for (size_t k = 0; k < sizeof held / sizeof *held; k++)
    Py_XDECREF(held[k]);
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

/* ------------------------------------------------------------ functions of the module */

static bool take_names(neo_py_torch *t) {
  const struct {
    PyObject **to;
    const char *text;
  } names[] = {{&t->requires_grad, "requires_grad"},
               {&t->needs, "needs_input_grad"},
               {&t->to_save, "to_save"},
               {&t->saved, "saved_tensors"},
               {&t->plan, "plan"},
               {&t->materialize, "materialize_grads"},
               {&t->level, "_current_level"},
               {&t->dtype, "dtype"},
               {&t->compiling, "_is_compiling_flag"}};
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

int neo_py_add_torch_calls(neo_py_state *s) {
  static PyMethodDef functions[] = {
      {"torch_begin", torch_begin, METH_VARARGS,
       "torch_begin(...): what of PyTorch and neoc.torch a TorchCall needs."},
      {0}};
  return add_call_type(s) || neo_py_add_torch_gradients(s)
             ? -1
             : PyModule_AddFunctions(s->module, functions);
}
