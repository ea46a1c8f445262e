/* See memory.h. */
#define _GNU_SOURCE 1 /* RTLD_DEFAULT */
#include "tools/neoc/program/memory.h"
#include "codegen/llvm/emit.h"
#include "tools/neoc/neoc.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Prints the message and exits. Several threads may call this: the lock is never released, so that
 * only one prints. */
static _Noreturn void no_memory(void) {
  static const char text[] =
      "neoc: out of memory: each iteration of a `repeat` has its own definitions, so fewer "
      "iterations need less (-D NAME=N)\n";
  flockfile(stderr);
  ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
  (void)written; /* a failure to write cannot be reported */
  _exit(NEOC_DEVICE);
}

static void ended(void) {
  no_memory();
}

static void *allocate(size_t size_bytes) {
  void *p = malloc(size_bytes);
  if (!p)
    no_memory();
  return p;
}

static void *reallocate(void *p, size_t old_bytes, size_t size_bytes) {
  (void)old_bytes;
  void *wider = realloc(p, size_bytes);
  if (!wider)
    no_memory();
  return wider;
}

static void release(void *p, size_t size_bytes) {
  (void)size_bytes;
  free(p);
}

/* isl may have been built without GMP, and we do not link it ourselves. */
static void guard_gmp(void) {
  void (*set)(void *(*)(size_t), void *(*)(void *, size_t, size_t), void (*)(void *, size_t));
  void *symbol = dlsym(RTLD_DEFAULT, "__gmp_set_memory_functions");
  memcpy(&set, &symbol, sizeof set);
  if (symbol)
    set(allocate, reallocate, release);
}

void neoc_memory_guard(void) {
  neo_llvm_on_no_memory(ended);
  guard_gmp();
}
