/* compiling.h: who is within the compiler. Private to python/src. */
#pragma once
#include "python/src/core.h"

/* A stay in the compiler; lies on the stack of who is there. */
typedef struct neo_py_stay {
  volatile int32_t *cancel; /* null: it cannot be ended */
  struct neo_py_stay *next, *before;
} neo_py_stay;

/* Begins a stay, after a fork at work if there is one. False: the process is ending, and nothing
 * may begin any more. Without the interpreter's lock. */
bool neo_py_compiler_enter(neo_py_stay *stay, volatile int32_t *cancel);
void neo_py_compiler_leave(neo_py_stay *stay);

/* The process ends: cancels all stays, refuses new ones, and waits until nobody is there. */
void neo_py_compiler_end(void);
/* In a daemon's thread of an ending process: waits for the end, as Python lets such threads
 * do at its next instruction. Else returns. Without the interpreter's lock. */
void neo_py_compiler_rest(void);
/* Before a fork: waits until nobody is there, and keeps others out until it is done. */
void neo_py_compiler_before_fork(void);
void neo_py_compiler_after_fork(bool child);
