/* A compilation of a text, and comparing what its machine code gives: for those who run it, in this
 * process (machine.c) or elsewhere (cross.c). */
#ifndef NEO_TESTS_PAIRS_COMPILATION_H
#define NEO_TESTS_PAIRS_COMPILATION_H
#include "tests/pairs/machine.h"
#include "tools/pipeline/compile.h"

enum {
  PAIRS_PASSES = 0
#define X(name, function, required, when, needs, breaks, meaning) +1
#include "tools/pipeline/passes.def"
#undef X
};

typedef struct {
  neo_compilation c;
  const char
      *optional[PAIRS_PASSES + 1]; /* passes that a reference does without; null-terminated */
  int file;                        /* in memory: the text */
  char path[40];
  uint64_t draw;
  const pairs_program *program;
  NEO_VEC(pairs_kernel) segments; /* kernels inside of recurrences */
} pairs_compilation;

/* reference: without the passes that may be left out. The compilation may not move. `p`: of the text. */
bool pairs_open(pairs_compilation *x, const pairs_program *p, const char *text,
                const pairs_how *how, bool reference);
void pairs_close(pairs_compilation *x);
/* Diagnostics and `why`, in the arena, for it outlives the compilation. */
const char *pairs_reason(pairs_compilation *x, neo_arena *a, const char *what);
/* Values of all sizes, by number. */
int64_t *pairs_sizes(pairs_compilation *x, const pairs_program *p);
/* Gives the interpreter an input's elements. (reference.c) */
void pairs_fill(pairs_compilation *x, neo_interp *p, neo_tensor t, const int64_t *sizes,
                uint64_t seed);
/* A parameter or a state. */
bool pairs_is_kept(const neo_module *m, uint32_t tensor);
/* The entry of outputs. */
uint32_t pairs_entry(const neo_module *m);

/* `got` has want->n elements; a difference goes to *out. (compare.c) */
bool pairs_same(const pairs_result *want, const void *got, pairs_run *out, neo_arena *a);
const pairs_result *pairs_input_named(const pairs_reference *r, const char *name);
/* Its elements as memory has them. */
void *pairs_input_bytes(neo_arena *a, const pairs_result *x);

#endif
