/* A program taken through the whole compiler in this process, and run beside the reference
 * interpreter, which evaluates the program before any pass but those that it needs.
 *
 *   pairs_reference r = pairs_evaluate(arena, &program);      // or r.verdict says why not
 *   pairs_run x = pairs_compile_and_run(arena, &r, &how);     // as often as wanted
 */
#ifndef NEO_TESTS_PAIRS_MACHINE_H
#define NEO_TESTS_PAIRS_MACHINE_H
#include "fusion/group.h"
#include "schedule/schedule.h"
#include "tests/pairs/program.h"

typedef enum {
#define X(name, text, gpu, meaning) PAIRS_BY_##name,
#include "tests/pairs/strategies.def"
#undef X
  PAIRS_STRATEGIES
} pairs_strategy;
const char *pairs_strategy_text(uint32_t s);

enum { PAIRS_ALONE = NEO_FUSE_KINDS, PAIRS_KINDS }; /* ALONE: no fusion made the kernel */
const char *pairs_kind_text(uint32_t k);

/* How a program is compiled. */
typedef struct {
  const char *target, *mcpu; /* as neoc's options; null: this machine */
  uint32_t off;              /* kinds of fusion that are left out */
  uint64_t schedules;        /* 0: the model's; else random ones from this seed */
  neo_precision math, store;
  bool every_grid;
  bool every_loop; /* loops of recurrences are in the plan, and two threads run it */
  bool compose; /* bits are compared between numbers of threads, and between batches (compose.h) */
  bool reassociate;
  bool batch_kinds;
  uint64_t without; /* bit k: the k-th pass of those that may be left out is left out */
  uint32_t tile_iterations;  /* recurrences are tiled in blocks of so many; 0: as usual */
  uint32_t chunk_iterations; /* recurrences are checkpointed every so many rounds (ir/pass.h); 0: not at all */
  bool small; /* --memory=small */
  const char *folder, *prefix; /* what writes an object: <folder>/<prefix>.o; null: nothing does */
} pairs_how;

typedef enum {
  PAIRS_SAME,
  PAIRS_REJECTED, /* by the frontend: the generator's fault */
  PAIRS_DIFFERS,  /* machine code gives other values */
  PAIRS_FAILED    /* an error in the compiler, the interpreter or the runtime */
} pairs_verdict;

typedef struct { /* of an output of an entry; of a parameter or state, after it */
  const char *name, *entry;
  bool kept; /* a parameter or state */
  neo_type type;
  uint32_t rank;
  int64_t extent[16], n;
  const neo_value *at;
  const double *error; /* null: all 0 */
} pairs_result;

typedef struct pairs_reference {
  const pairs_program *program;
  const char *text;
  pairs_verdict verdict;
  const char *why;
  int rounds;
  NEO_VEC(pairs_result) inputs, results; /* results: call after call, outputs first */
} pairs_reference;

typedef struct { /* a kernel as it came out, or one inside of a recurrence's loops */
  pairs_set has;
  uint64_t recurs;     /* bit r: pairs_recurrence */
  uint32_t kinds;      /* bit k: neo_fuse_kind, or PAIRS_ALONE */
  uint32_t strategies; /* bit s: pairs_strategy */
} pairs_kernel;

typedef struct {
  pairs_verdict verdict;
  const char *why;
  int64_t compared, promised; /* elements; those of them for which the bound promised something */
  /* On the emulated device: loops of the plan, those that persistent kernels have, and launches of
   * persistent kernels. */
  uint32_t loops, grid_loops, grid_launches;
  NEO_VEC(pairs_kernel) kernels;
} pairs_run;

pairs_reference pairs_evaluate(neo_arena *a, const pairs_program *p, const pairs_how *how);
pairs_run pairs_compile_and_run(neo_arena *a, const pairs_reference *r, const pairs_how *how);
/* Appends one line of JSON: text, sizes, inputs and results, for another evaluator. (batch.c) */
void pairs_put_json(const pairs_reference *r, neo_str *out);

struct neo_compilation;
/* A kernel inside of a recurrence's loops. (observe.c) */
pairs_kernel pairs_observe_segment(neo_module *m, const pairs_program *p, const neo_group *g,
                                   const neo_schedule *s);
/* Features, kinds of fusion and strategies of the kernels of a compilation. (observe.c) */
void pairs_observe(struct neo_compilation *c, const pairs_program *p, neo_arena *a, pairs_run *out);

#endif
