/* context.h: Context, what an Entry is called on. Private to python/src. */
#pragma once
#include "python/src/core.h"

typedef struct {
  PyObject_HEAD neo_py_state *s;
  neo_py_program *program;
  const neo_rt_model *model;
  neo_rt_ctx *ctx;
  volatile int32_t cancel; /* `cancel` of its configuration */
  PyThread_type_lock lock; /* a context serves one thread at a time */
} neo_py_context;

/* Waits for the context, without the interpreter's lock. */
void neo_py_context_enter(neo_py_context *c);
void neo_py_context_leave(neo_py_context *c);
/* Raises what the context says of a failure. Returns null. */
PyObject *neo_py_context_fail(neo_py_context *c, int32_t status);
