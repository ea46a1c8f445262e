/* torch_shim.c: kernels of PyTorch's dispatcher that call operators of door.c.
 *
 * PyTorch's C shim (aoti_torch_*, stable from 2.8 on) is found by dlsym in the libtorch that the
 * process has: nothing of PyTorch is needed to build this. neoc.torch declares one operator for
 * each number of arguments and results,
 *
 *   neoc::call2_1(int number, Tensor a0, Tensor a1) -> Tensor
 *
 * and all have the same kernel. A kernel owns its arguments and deletes them; its results stand at
 * the stack's beginning. It returns nothing, so failures are thrown as std::runtime_error, as C++
 * would (Itanium ABI); PyTorch makes a RuntimeError of it, and neoc.torch asks door_failure for the
 * exception that it stands for. All that a kernel holds is released before it throws.
 *
 * Arguments that are not row-major are copied; PyTorch resolves conjugates and negatives before. */
#include "python/src/torch_shim.h"
#include "python/src/door.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef void *tensor;

static struct {
  int32_t (*init_impl)(const char *ns, const char *key, const char *file, uint32_t line, void **);
  int32_t (*impl)(void *library, const char *name, void (*f)(uint64_t *, uint64_t, uint64_t));
  int32_t (*get_dim)(tensor, int64_t *);
  int32_t (*get_sizes)(tensor, int64_t **);
  int32_t (*get_dtype)(tensor, int32_t *);
  int32_t (*get_data_ptr)(tensor, void **);
  int32_t (*is_contiguous)(tensor, bool *);
  int32_t (*empty_strided)(int64_t rank, const int64_t *sizes, const int64_t *strides,
                           int32_t dtype, int32_t device, int32_t index, tensor *);
  int32_t (*copy)(tensor to, tensor from, int32_t non_blocking);
  int32_t (*delete)(tensor);
  void *(*allocate_exception)(size_t);
  void (*throw)(void *, void *, void (*)(void *)) __attribute__((noreturn));
  void (*new_error)(void *, const char *);
  void (*delete_error)(void *);
  void *error_type;
  void *library;
  int32_t dtype[NEO_RT_BOOL + 1]; /* PyTorch's number of each type */
} torch;

/* ------------------------------------------------------------ finding PyTorch */

static const struct {
  const char *name;
  void **to;
} symbols[] = {{"aoti_torch_library_init_impl", (void **)&torch.init_impl},
               {"aoti_torch_library_impl", (void **)&torch.impl},
               {"aoti_torch_get_dim", (void **)&torch.get_dim},
               {"aoti_torch_get_sizes", (void **)&torch.get_sizes},
               {"aoti_torch_get_dtype", (void **)&torch.get_dtype},
               {"aoti_torch_get_data_ptr", (void **)&torch.get_data_ptr},
               {"aoti_torch_is_contiguous", (void **)&torch.is_contiguous},
               {"aoti_torch_empty_strided", (void **)&torch.empty_strided},
               {"aoti_torch_copy_", (void **)&torch.copy},
               {"aoti_torch_delete_tensor_object", (void **)&torch.delete}};

static const struct {
  const char *name;
  void **to;
} cxx_symbols[] = {{"__cxa_allocate_exception", (void **)&torch.allocate_exception},
                   {"__cxa_throw", (void **)&torch.throw},
                   {"_ZNSt13runtime_errorC1EPKc", (void **)&torch.new_error},
                   {"_ZNSt13runtime_errorD1Ev", (void **)&torch.delete_error},
                   {"_ZTISt13runtime_error", (void **)&torch.error_type}};

static const struct {
  int32_t type;
  const char *name;
} dtypes[] = {{NEO_RT_F64, "aoti_torch_dtype_float64"}, {NEO_RT_F32, "aoti_torch_dtype_float32"},
              {NEO_RT_F16, "aoti_torch_dtype_float16"}, {NEO_RT_BF16, "aoti_torch_dtype_bfloat16"},
              {NEO_RT_I64, "aoti_torch_dtype_int64"},   {NEO_RT_I32, "aoti_torch_dtype_int32"},
              {NEO_RT_I8, "aoti_torch_dtype_int8"},     {NEO_RT_U8, "aoti_torch_dtype_uint8"},
              {NEO_RT_BOOL, "aoti_torch_dtype_bool"}};

#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))

/* The first name that is not there; null: all are. */
static const char *take_symbols(void *lib, void *cxx) {
  for (int k = 0; k < COUNT(symbols); k++)
    if (!(*symbols[k].to = dlsym(lib, symbols[k].name)))
      return symbols[k].name;
  for (int k = 0; k < COUNT(cxx_symbols); k++)
    if (!(*cxx_symbols[k].to = dlsym(cxx, cxx_symbols[k].name)))
      return cxx_symbols[k].name;
  for (int k = 0; k < COUNT(dtypes); k++) {
    int32_t (*get)(void) = NULL;
    *(void **)&get = dlsym(lib, dtypes[k].name);
    if (!get)
      return dtypes[k].name;
    torch.dtype[dtypes[k].type] = get();
  }
  return NULL;
}

static const char *open_torch(void) {
  void *lib = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
  void *cxx = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
  if (!lib || !cxx)
    return lib ? "libstdc++.so.6" : "libtorch_cpu.so";
  const char *missing = take_symbols(lib, cxx);
  if (!missing && torch.init_impl("neoc", "CPU", "neoc", 1, &torch.library))
    missing = "a library of operators";
  return missing;
}

/* ------------------------------------------------------------ the kernel */

enum { FEW = 16 };

/* A call at work; what a few arguments need lies here. */
typedef struct {
  int32_t n_in, n_out; /* n_out: of results that are there */
  tensor *in, *out;
  neo_py_shape *shapes;
  void **args; /* the entry's arguments */
  tensor few_in[FEW], few_out[FEW];
  neo_py_shape few_shapes[FEW];
  void *few_args[3 * FEW];
  void *memory;
  char why[NEO_PY_WHY];
} call;

/* Memory for tensors without elements, whose address may be null. */
static _Alignas(64) char nothing[64];

static int told(call *c, const char *why) {
  snprintf(c->why, sizeof c->why, "%s", why);
  return -1;
}

static int make_room(call *c, int32_t n_in, int32_t n_out) {
  c->in = c->few_in;
  c->out = c->few_out;
  c->shapes = c->few_shapes;
  c->args = c->few_args;
  c->memory = NULL;
  if (n_in <= FEW && n_out <= FEW)
    return 0;
  size_t n = (size_t)(n_in + n_out) + 1;
  char *at = c->memory = calloc(n, 4 * sizeof(tensor) + sizeof *c->shapes);
  if (!at)
    return told(c, "memory ended");
  c->shapes = (neo_py_shape *)(void *)at;
  c->in = (tensor *)(void *)(at + n * sizeof *c->shapes);
  c->out = c->in + n;
  c->args = c->out + n;
  return 0;
}

static int32_t type_of(int32_t dtype) {
  for (int32_t k = 0; k <= NEO_RT_BOOL; k++)
    if (torch.dtype[k] == dtype)
      return k;
  return -1;
}

static int read_shape(call *c, int32_t k) {
  int64_t rank, *sizes;
  int32_t dtype;
  if (torch.get_dim(c->in[k], &rank) || torch.get_sizes(c->in[k], &sizes) ||
      torch.get_dtype(c->in[k], &dtype))
    return told(c, "this is no tensor with memory of its own");
  c->shapes[k] = (neo_py_shape){type_of(dtype), (int32_t)rank, sizes};
  if (rank > NEO_PY_RANK)
    return told(c, "a tensor has 16 dimensions at most");
  return c->shapes[k].type < 0 ? told(c, "neoc has no such element type") : 0;
}

static tensor new_tensor(int32_t type, int32_t rank, const int64_t *shape) {
  int64_t strides[NEO_PY_RANK], stride = 1;
  for (int32_t d = rank; d-- > 0; stride *= shape[d] > 1 ? shape[d] : 1)
    strides[d] = stride;
  tensor made = NULL;
  torch.empty_strided(rank, shape, strides, torch.dtype[type], 0, 0, &made);
  return made;
}

/* Argument k, row-major. */
static int make_contiguous(call *c, int32_t k) {
  bool is = false;
  if (torch.is_contiguous(c->in[k], &is))
    return told(c, "this is no tensor with memory of its own");
  if (is)
    return 0;
  neo_py_shape s = c->shapes[k];
  tensor made = new_tensor(s.type, s.rank, s.shape);
  if (!made || torch.copy(made, c->in[k], 0)) {
    if (made)
      torch.delete(made);
    return told(c, "a tensor cannot be copied");
  }
  torch.delete(c->in[k]);
  c->in[k] = made;
  return 0;
}

static int take_data(call *c, tensor t, void **to) {
  if (torch.get_data_ptr(t, to))
    return told(c, "a tensor has no memory");
  if (!*to)
    *to = nothing;
  return 0;
}

static int take_arguments(call *c, const neo_py_door_variant *v) {
  for (int32_t k = 0; k < v->n_in; k++)
    if (make_contiguous(c, v->in[k]) || take_data(c, c->in[v->in[k]], &c->args[k]))
      return -1;
  for (int32_t k = 0; k < v->n_out; k++) {
    c->out[k] = new_tensor(v->type[k], v->rank[k], v->extents + k * NEO_PY_RANK);
    if (!c->out[k])
      return told(c, "memory for a result is missing");
    c->n_out = k + 1;
    if (take_data(c, c->out[k], &c->args[v->n_in + k]))
      return -1;
  }
  void **bound = c->args + v->n_in + v->n_out;
  for (int32_t k = 0; k < v->n_bound; k++) {
    int32_t arg = v->bound[2 * k + 1];
    if (make_contiguous(c, arg) || take_data(c, c->in[arg], &bound[k]))
      return -1;
  }
  return 0;
}

/* The variant that ran last in a thread, for torch_call.c: a kernel has no other way to tell it. */
static _Thread_local struct {
  int64_t number;
  const neo_py_door_variant *v;
} last;

const neo_py_door_variant *neo_py_torch_last(int64_t number) {
  return last.number == number ? last.v : NULL;
}

void neo_py_torch_forget(void) {
  last.v = NULL;
}

static int run(call *c, int64_t number, int32_t n_out) {
  neo_py_door *door = neo_py_door_find(number);
  if (!door)
    return told(c, "this graph calls an operator of neoc that this process does not know: make "
                   "it first by neoc.torch.op of the same text, or read the file by "
                   "neoc.torch.load_exported");
  for (int32_t k = 0; k < c->n_in; k++)
    if (read_shape(c, k))
      return -1;
  const neo_py_door_variant *v = neo_py_door_variant_of(door, c->shapes, c->n_in, c->why);
  if (!v)
    return -1;
  if (v->n_out != n_out)
    return told(c, "the operator has another number of results");
  if (take_arguments(c, v))
    return -1;
  last.number = number;
  last.v = v;
  return neo_py_door_run(door, v, c->args, c->why);
}

static void release(call *c, bool with_results) {
  for (int32_t k = 0; k < c->n_in; k++)
    torch.delete(c->in[k]);
  for (int32_t k = 0; with_results && k < c->n_out; k++)
    torch.delete(c->out[k]);
  free(c->memory);
}

static void __attribute__((noreturn)) throw_error(const char *why) {
  void *e = torch.allocate_exception(64); /* a std::runtime_error has 16 bytes */
  torch.new_error(e, why);
  torch.throw(e, torch.error_type, torch.delete_error);
}

/* stack: the number, then the arguments. */
static void kernel(uint64_t *stack, uint64_t n_stack, uint64_t n_out) {
  call c;
  c.n_in = c.n_out = 0;
  int failed = make_room(&c, (int32_t)n_stack, (int32_t)n_out);
  for (uint64_t k = 1; !failed && k < n_stack; k++)
    c.in[c.n_in++] = (tensor)(uintptr_t)stack[k];
  if (!failed)
    failed = run(&c, (int64_t)stack[0], (int32_t)n_out);
  for (uint64_t k = 0; !failed && k < n_out; k++)
    stack[k] = (uint64_t)(uintptr_t)c.out[k];
  release(&c, failed);
  if (failed)
    throw_error(c.why);
}

/* ------------------------------------------------------------ functions of the module */

static PyObject *torch_open(PyObject *self, PyObject *none) {
  (void)self;
  (void)none;
  const char *missing = torch.library ? NULL : open_torch();
  if (missing)
    return PyUnicode_FromString(missing);
  Py_RETURN_NONE;
}

static PyObject *torch_implement(PyObject *self, PyObject *name) {
  (void)self;
  const char *text = PyUnicode_AsUTF8AndSize(name, NULL);
  if (!text)
    return NULL;
  if (!torch.library || torch.impl(torch.library, text, kernel))
    return PyErr_Format(PyExc_RuntimeError, "PyTorch takes no kernel for neoc::%s", text);
  Py_RETURN_NONE;
}

int neo_py_add_torch(neo_py_state *s) {
  static PyMethodDef functions[] = {
      {"torch_open", torch_open, METH_NOARGS,
       "torch_open() -> str or None: what PyTorch's C shim lacks; None: nothing."},
      {"torch_implement", torch_implement, METH_O,
       "torch_implement(name): the operator neoc::name has our kernel on the processor."},
      {0}};
  return PyModule_AddFunctions(s->module, functions);
}
