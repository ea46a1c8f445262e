/* torch_shim.h: PyTorch calls operators of door.c. Private to python/src. */
#ifndef NEO_PYTHON_TORCH_SHIM_H
#define NEO_PYTHON_TORCH_SHIM_H
#include "python/src/core.h"

/* The functions torch_* of the module. -1 with an exception. */
int neo_py_add_torch(neo_py_state *s);
#endif
