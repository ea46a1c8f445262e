/* For tests of kernels: text to kernel, the interpreter against machine code on guarded memory. */
#ifndef NEO_TESTS_LOOP_SUPPORT_H
#define NEO_TESTS_LOOP_SUPPORT_H
#include "codegen/llvm/emit.h"
#include "neo/neo_rt.h"

typedef struct {
  neo_arena arena;
  neo_diags *diags;
} loop_fix;

int loop_setup(void **state); /* cmocka: *state is a loop_fix */
int loop_teardown(void **state);

/* Parses; a failure fails the test with the message. loop_kernel verifies as well. */
neo_kernel *loop_parse(loop_fix *f, const char *text);
neo_kernel *loop_kernel(loop_fix *f, const char *text);
const char *loop_text(loop_fix *f, const neo_kernel *k);

/* Levels that this machine runs ("x86-64-v2", ...), null at the end. */
const char *const *loop_levels(void);

typedef struct {
  const int64_t *sizes;   /* run-time sizes */
  const int64_t *n_elems; /* of each buffer that is no scratch */
  double tolerance;       /* relative to max(1, |x|); 0: the same bits */
  int64_t index_below;    /* integer buffers named idx... hold values in [0, index_below) */
  uint64_t seed;
  uint64_t key[3];
  int64_t lo, hi; /* units; both 0: all of them */
  bool specials;  /* some floats are inf, NaN, -0, denormal */
} loop_case;
/* Runs the kernel interpreted and compiled for each level, on equal random contents, and compares
 * all buffers. Machine code gets memory that ends (or, if aligned, starts) at an unreadable
 * page. loop_check_all compiles once for n cases. */
void loop_check(loop_fix *f, const char *text, const loop_case *c);
void loop_check_all(loop_fix *f, const neo_kernel *k, const loop_case *c, size_t n);

/* Machine code of a kernel for a level; the module must be freed after use. */
neo_rt_fn *loop_compile(loop_fix *f, const neo_kernel *k, const char *mcpu, neo_llvm **out);

/* Its assembly, in the fixture's arena; any level will do. */
const char *loop_asm(loop_fix *f, const char *text, const char *mcpu);

/* Elements as bytes. */
neo_value loop_get(neo_type t, const void *p, int64_t i);
void loop_set(neo_type t, void *p, int64_t i, neo_value v);

#endif
