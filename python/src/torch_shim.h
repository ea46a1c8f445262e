/* torch_shim.h: PyTorch calls operators of door.c. Private to python/src. */
#pragma once
#include "python/src/door.h"

/* The functions torch_* of the module. -1 with an exception. */
int neo_py_add_torch(neo_py_state *s);
/* TorchCall and what belongs to it (torch_call.c). -1 with an exception. */
int neo_py_add_torch_calls(neo_py_state *s);

/* The variant of the operator `number` that the kernel ran last in this thread, since
 * neo_py_torch_forget; null where it was another operator's, or none. */
const neo_py_door_variant *neo_py_torch_last(int64_t number);
void neo_py_torch_forget(void);
