/* Random well-typed modules, for comparing passes, schedules and machine code with the interpreter.
 *
 *   neo_gen_program g = neo_gen_make(arena, seed, &neo_gen_default);
 *   neo_interp *p = neo_gen_interp(arena, &g);            // inputs set, errors tracked
 *   neo_interp_run(p, 0, &why);                           // entry "forward" with all roots
 *   ... run the same entry elsewhere on neo_gen_element(&g, tensor, k) ...
 *   neo_gen_same(type, want, error, got)
 *
 * Every read is in range by construction, for all values that the run-time sizes may have. Inputs
 * are small multiples of 1/4 (a function of seed, name and element), so that what is exact in the
 * reals is exact in the machine; the interpreter's error bounds say where two implementations may
 * differ. Same seed and options, same module. */
#ifndef NEO_TESTS_RANDOM_GEN_H
#define NEO_TESTS_RANDOM_GEN_H
#include "ir/interp/interp.h"

/* Features that programs may have. */
enum {
  NEO_GEN_TYPES = 1 << 0, /* all of them; else f32, i32 for indices, and bool */
  NEO_GEN_RUNTIME_SIZES = 1 << 1,
  NEO_GEN_REDUCTIONS = 1 << 2,
  NEO_GEN_PIECES = 1 << 3,
  NEO_GEN_LOOKUPS = 1 << 4,
  NEO_GEN_GUARDS = 1 << 5,
  NEO_GEN_MULTI_OUTPUT = 1 << 6,
  NEO_GEN_TRANSCENDENTAL = 1 << 7, /* functions that are not exact */
  NEO_GEN_NARROWING =
      1 << 8,              /* to tf32: a staircase, whose gradient is that of the line it follows */
  NEO_GEN_RANDOM = 1 << 9, /* rand() */
  NEO_GEN_SPECIAL = 1 << 10, /* now and then inputs with NaN, infinities, extreme integers */
  NEO_GEN_PARAMS = 1 << 11,  /* parameters with initialisers, states with updates */
  NEO_GEN_ALL = (1 << 12) - 1,
};

typedef struct {
  uint32_t max_defs; /* definitions in a chain: 1 to this */
  int64_t max_work;  /* iterations of all loops of one definition, about */
  uint32_t has;      /* NEO_GEN_ bits */
} neo_gen_options;
extern const neo_gen_options neo_gen_default; /* everything, 6 definitions, work 20,000 */
extern const neo_gen_options neo_gen_plans;   /* no special inputs, 8 definitions, work 800 */

typedef struct {
  neo_module *m;
  uint64_t seed;
  int64_t *sizes; /* values of all sizes, by id */
  bool special;   /* inputs hold special values */
} neo_gen_program;

neo_gen_program neo_gen_make(neo_arena *a, uint64_t seed, const neo_gen_options *o);

/* The k-th element of an input. */
neo_value neo_gen_element(const neo_gen_program *g, neo_tensor t, uint64_t k);
/* An interpreter with the inputs set and errors tracked. */
neo_interp *neo_gen_interp(neo_arena *a, const neo_gen_program *g);
/* Do the two agree as far as the bound promises? NaN agrees with NaN, zeros agree. */
bool neo_gen_same(neo_type t, neo_value want, double error, neo_value got);
/* Compares all elements; false with the first difference in *why. `error` may be null (all 0).
 * *n_compared counts the elements for which the bound promised something; may be null. */
bool neo_gen_compare(neo_type t, const neo_values *want, const double *error, const neo_value *got,
                     size_t *n_compared, neo_str *why);

/* The program as text: a comment with the seed and the sizes, then the module. */
void neo_gen_print(const neo_gen_program *g, neo_str *out);
/* The reverse, for a program kept as a file; null module when the text is wrong. */
neo_gen_program neo_gen_parse(neo_arena *a, const char *text, size_t n);

/* Makes a failing program smaller as long as `fails` says that it still fails: drops outputs and
 * definitions, replaces subexpressions by leaves, shrinks extents and sizes. The programs that
 * `fails` sees are verified and evaluate without error. At most `budget` calls. */
typedef bool neo_gen_fails(void *ctx, const neo_gen_program *g);
neo_gen_program neo_gen_shrink(neo_arena *a, const neo_gen_program *g, neo_gen_fails *fails,
                               void *ctx, size_t budget);

#endif
