/* wait.h: work that takes long, which Ctrl-C can end. Private to python/src. */
#pragma once
#include "python/src/core.h"

/* Runs work(user) without the interpreter's lock. In Python's main thread, handlers of signals run
 * meanwhile; where one raises, *cancel becomes 1, and when the work has ended the result is -1
 * with that exception, KeyboardInterrupt as neoc.Cancelled. */
int neo_py_wait(void (*work)(void *user), void *user, volatile int32_t *cancel);

/* Is this the thread that runs handlers of signals? */
bool neo_py_in_main_thread(void);
