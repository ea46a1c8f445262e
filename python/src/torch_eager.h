/* torch_eager.h: what the files of eager calls share: torch_call.c, a call, and torch_grad.c, its
 * gradient. Private to python/src. */
#pragma once
#include "python/src/torch_shim.h"

/* Objects that neoc.torch passes to torch_begin, in their order, and names of attributes. */
struct neo_py_torch {
  PyObject *tensor, *parameter; /* types */
  PyObject *is_grad_enabled, *is_autocast, *transform;
  PyObject *forward_ad, *compiler;  /* dictionaries of torch.autograd.forward_ad, torch.compiler */
  PyObject *vjp, *apply, *stand_in; /* functions of neoc.torch.functions */
  PyObject *mark, *gradients, *raise;
  PyObject *requires_grad, *dtype, *needs, *to_save, *saved, *materialize, *plan; /* names */
  PyObject *level, *compiling;
};

/* An operator; TorchCall of Python. */
typedef struct {
  PyObject_HEAD neo_py_torch *t;
  PyObject *door, *call, *number; /* call: the dispatcher's operator */
  PyObject *apply;                /* its autograd.Function.apply; null until a gradient is wanted */
  int64_t key;
  Py_ssize_t n_in, n_out;
  void *plans; /* torch_grad.c's plans for tensors without elements, which have no variant */
} neo_py_torch_call;

/* call(number, *args). */
PyObject *neo_py_torch_call_with(PyObject *call, PyObject *number, PyObject *args);
/* Whether a function without arguments says yes: 1, 0, or -1 with an exception. */
int neo_py_torch_asks(PyObject *f);
/* Whether a transform of torch.func or forward-mode AD is at work: as above. */
int neo_py_torch_in_transform(const neo_py_torch *t);

/* forward(ctx, *tensors) of the operator's autograd.Function; self is the TorchCall. */
PyObject *neo_py_torch_forward(PyObject *self, PyObject *args);
/* The type TorchPlan and the function torch_node of the module. -1 with an exception. */
int neo_py_add_torch_gradients(neo_py_state *s);
