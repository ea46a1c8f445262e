/* For facts_plan.c: the interpreter of plans: runs the steps of an entry in the order of the
 * runtime (runtime/cpu/run.c), each kernel in the loop IR's interpreter, in the memory that the
 * plan laid out (plan_memory.h). Slow, and checked: a run ends at an access outside of a tensor, a
 * read of an element that was not written or was overwritten, and a conflict between units of a
 * kernel. */
#pragma once
#include "tools/pipeline/plan_memory.h"

typedef struct {
  neo_compilation *c; /* with a plan */
  neo_rt_model model;
  const neo_rt_entry *entry;
  neo_plan_memory memory;
  int64_t *size, *size_of; /* by number; by id */
  uint64_t key[3];
  uint32_t runs;
  bool fast;          /* run the fast variants of kernels */
  const char *kernel; /* the last kernel begun; null: none */
  neo_str *why;
} neo_plan_run;

/* sizes: by id. Inputs are not set. Failures add their text to `why`. */
neo_plan_run neo_plan_run_new(neo_arena *a, neo_compilation *c, const neo_rt_entry *e,
                              const int64_t *sizes, uint64_t seed, neo_str *why);
/* Runs the steps of one group, or a copy, from *step on; *step becomes the next step. A failure of
 * a kernel has its text in x->why. */
neo_status neo_plan_run_group(neo_plan_run *x, int32_t *step) NEO_MUST_CHECK;
