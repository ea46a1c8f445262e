/* Private to the plan: what steps of an entry need of one another, and the phases in which a persistent
 * kernel (plan/cooperative.c) runs them.
 *
 * An item is a step that is in no loop of those at hand, or a loop with all that is in it. An item's
 * phase is the next after those of the items before it that it needs; its level is what the phase
 * would be if each kernel waited for all blocks of another. What is lone, a kernel of one block at most
 * or a loop around such kernels alone, needs no phase for what else is lone: one block runs these in
 * turn. A loop that is not is alone in its phase. */
#pragma once
#include "codegen/plan/internal.h"

enum { PLAN_MOST_ITEMS = 64 };

typedef struct { /* consecutive items */
  int32_t n, n_loops, n_lone, levels, phases;
  int32_t steps, words;          /* with those in loops; parameters */
  int32_t item[PLAN_MOST_ITEMS]; /* steps of the entry */
  int32_t level[PLAN_MOST_ITEMS], phase[PLAN_MOST_ITEMS];
  bool lone[PLAN_MOST_ITEMS];
  double loops_separate_s, loops_joined_s; /* what launches, and barriers, in its loops cost */
} plan_run;

typedef struct {
  const neo_plan *p;
  const neo_rt_entry *e;
} plan_steps;

static inline const neo_rt_step *plan_step(const plan_steps *s, int32_t i) {
  return &s->p->steps.at[s->e->first_step + i];
}
static inline bool plan_is_loop(const plan_steps *s, int32_t i) {
  return plan_step(s, i)->op == NEO_RT_STEP_LOOP;
}
/* The step behind item i. */
static inline int32_t plan_behind(const plan_steps *s, int32_t i) {
  return i + 1 + (plan_is_loop(s, i) ? plan_step(s, i)->n : 0);
}

/* Does an earlier item write what item i reads or writes, or read what it writes? Pieces of one tensor that
 * two steps write do not count, unless other_round: then item k runs in the round before. */
bool plan_needs(const plan_steps *s, int32_t i, int32_t k, bool other_round);
/* Blocks of a kernel's step at most, whatever the sizes and the round. */
int64_t plan_most_blocks(const plan_steps *s, int32_t i);
/* Appends an item. inner: of a loop, all that is in it. */
void plan_run_add(const plan_steps *s, plan_run *r, int32_t item, const plan_run *inner);
/* Must all blocks meet after a round of a loop around these? */
bool plan_run_meets(const plan_steps *s, const plan_run *inner);
/* Is everything lone, a loop around it too? */
static inline bool plan_run_is_lone(const plan_run *r) {
  return r->n_lone == r->n;
}
