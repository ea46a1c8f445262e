/* For tools/library: an object in this process, linked by LLVM's LLJIT without a linker and without
 * a file. */
#pragma once
#include "base/arena.h"
#include "base/status.h"
#include <stddef.h>

typedef struct neo_jit neo_jit;

typedef void neo_jit_fn(void); /* a function of any type */
typedef struct {
  const char *name;
  neo_jit_fn *fn;
} neo_jit_symbol;

/* Links a copy of the object, and returns the address of its symbol `wanted`. The object may call
 * functions of `table` (which lives as long as the result), and the functions of libm and of the
 * compiler's library that machine code calls. The linker does not search the process, which may
 * contain another LLVM and other functions of these names. NEO_UNSUPPORTED for another machine's
 * object; after a failure *why has a text in the arena. */
neo_status neo_jit_load(neo_arena *a, const void *object, size_t size_bytes,
                        const neo_jit_symbol *table, size_t n_table, const char *wanted,
                        neo_jit **out, const void **address, const char **why) NEO_MUST_CHECK;
/* Its code ends with it. */
void neo_jit_free(neo_jit *j);
