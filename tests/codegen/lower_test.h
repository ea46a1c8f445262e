/* Checks lowering: for every group of a module and several schedules, the reference interpreter,
 * the loop interpreter and machine code agree. */
#ifndef NEO_TESTS_LOWER_TEST_H
#define NEO_TESTS_LOWER_TEST_H
#include "base/str.h"
#include "fusion/group.h"
#include "ir/interp/interp.h"
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
  uint64_t seed;
  int n_random;         /* schedules besides the plain one and the model's: neo_test_draws of them */
  bool jit;             /* machine code too */
  const int64_t *sizes; /* by size id; [0] unused; null: drawn */
  neo_fuse_options fusion;
  const char *mcpu; /* null: this machine */
  bool gpu;         /* schedules of a GPU, interpreted with threads in a random order */
  bool narrow;      /* operands of contractions become bf16 first */
  bool split;       /* products may be three of tf32 */
  int *tiled;    /* kernels that use tile registers (of a GPU: blocks that compute a contraction's
                 tile) are counted here; may be null */
  int *by_warps; /* of these, with products of warps: counted; may be null */
  int *kept, *wide;   /* kernels that keep values of a row, or that have lanes: counted too */
  int *warps;         /* and those whose products are warps' */
  int *staged;        /* and those of a GPU whose operands come in stages */
  neo_interp *interp; /* with its inputs set, errors tracked; null: made and filled here */
} lower_options;

/* The number of differences; *why describes the first. */
int lower_check_module(neo_arena *a, neo_module *m, const lower_options *o, neo_str *why);
/* Parses and checks; fails the test on a difference. `text` without its first two lines. */
void lower_check(const char *text, const lower_options *o);

#endif
