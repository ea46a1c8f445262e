/* The interpreter of plans: the steps of an entry as the runtime walks them (runtime/cpu/run.c), with each kernel in the
 * loop IR's interpreter, in memory that the plan laid out (plan_memory.h). Slow, and checked: an access outside of a
 * tensor, a read of what nobody has written or something else has taken the place of, and units of a kernel that meet
 * end it. */
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
  bool fast;          /* kernels that have a fast variant are that */
  const char *kernel; /* the last one that was begun; null: none */
  neo_str *why;
} neo_plan_run;

/* sizes: by id. Nothing is given yet. Failures add their text to `why`. */
neo_plan_run neo_plan_run_new(neo_arena *a, neo_compilation *c, const neo_rt_entry *e,
                              const int64_t *sizes, uint64_t seed, neo_str *why);
/* The steps of one group, or a copy, from *step on, which becomes that of what follows. */
neo_status neo_plan_run_group(neo_plan_run *x, int32_t *step) NEO_MUST_CHECK;
