/* For cooperative.c: the dependences between an entry's steps, and the phases in which a persistent
 * kernel runs them. Private to the plan.
 *
 * An item is a step outside of loops, or a whole loop; within a loop, the items are those of its
 * body. An item's phase is the one after the phases of the earlier items that it depends on. Its
 * level is the phase that it would have if each kernel waited for all blocks of another. A lone
 * item is a kernel of one block at most, or a loop around such kernels alone. Lone items need no
 * phases for each other: one block runs them in order. A loop that is not lone has a phase of its
 * own.
 *
 *   A (8 blocks)   phase 0
 *   B (8 blocks)   phase 0, independent of A
 *   C (1 block)    phase 1, reads A
 *   D (1 block)    phase 1, reads C: both are lone
 *   E (8 blocks)   phase 2, reads D */
#pragma once
#include "codegen/plan/internal.h"

enum { PLAN_MOST_ITEMS = 64 };

typedef struct { /* consecutive items */
  int32_t n, n_loops, n_lone, levels, phases;
  int32_t steps, words;          /* steps, with those in loops; words of parameters */
  int32_t item[PLAN_MOST_ITEMS]; /* steps of the entry */
  int32_t level[PLAN_MOST_ITEMS], phase[PLAN_MOST_ITEMS];
  bool lone[PLAN_MOST_ITEMS];
  double loops_separate_s,
      loops_joined_s; /* price of launches in its loops; price of barriers in them */
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
/* The first step after item i. */
static inline int32_t plan_item_end(const plan_steps *s, int32_t i) {
  return i + 1 + (plan_is_loop(s, i) ? plan_step(s, i)->n : 0);
}

/* Does item i depend on item k, which runs before it: does one of them write data that the other
 * reads or writes? Two steps that write different pieces of one tensor are independent, unless
 * other_iteration: then item k runs in the previous iteration. */
bool plan_needs(const plan_steps *s, int32_t i, int32_t k, bool other_iteration);
/* Appends an item. inner: the run of a loop's body. */
void plan_run_add(const plan_steps *s, plan_run *r, int32_t item, const plan_run *inner);
/* Are all items lone, so that a loop around them is lone, too? */
static inline bool plan_run_is_lone(const plan_run *r) {
  return r->n_lone == r->n;
}
