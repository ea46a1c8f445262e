/* Loops with an early exit (early_exit.h). Inner loops come first, so that an outer loop's skipped
 * iterations include the exits of inner ones.
 *
 *     band t                                     band t in 0..T
 *       band r                        ->           exit unless alive.t[t - n]
 *                                                  band r
 *                                                    exit unless alive.r[t, r - n] */
#include "fusion/recurrence/early_exit/early_exit.h"
#include "ir/clone.h"
#include "ir/component.h"

static const neo_tree *exit_loop(early_exit *q, const neo_tree *t) {
  outliner *o = q->o;
  if (!early_exit_find_skipped(q, t))
    return t;
  o->stored[q->alive.i] = o->stored[q->alive.i] || o->own[q->alive.i];
  if (q->maker.i)
    outline_set_slices(o, q->alive, early_exit_loop(q), q->n + q->predicated);
  early_exit_note_last(q);
  bool down = early_exit_loop(q)->down;
  q->any = q->most = (neo_tensor){0};
  if (q->batches)
    q->any = early_exit_cell(q, "any", NEO_BOOL_T, down ? 0 : q->n + q->predicated);
  q->unneeded = NULL;
  if (q->batches && down)
    early_exit_find_unneeded(q);
  if (q->batches && down)
    q->most = early_exit_cell(q, "most", NEO_I64_T, 1);
  return early_exit_with_ends(q, early_exit_guarded(q, t));
}

static const neo_tree *exit_loops(early_exit *q, const neo_order_step *loop, const neo_tree *t) {
  if (q->n_loops == OUTLINE_FOLDS)
    return t;
  q->loop[q->n_loops++] = loop;
  for (uint32_t k = 0; k < loop->n_steps; k++)
    if (!loop->step[k].def.i)
      t = exit_loops(q, &loop->step[k], t);
  t = exit_loop(q, t);
  q->n_loops--;
  return t;
}

static void find_ending(early_exit *q, const neo_order_step *loop, outline_loops *found) {
  if (q->n_loops == OUTLINE_FOLDS)
    return;
  q->loop[q->n_loops++] = loop;
  if (early_exit_find_condition(q))
    NEO_PUSH(q->o->a, found, loop);
  for (uint32_t k = 0; k < loop->n_steps; k++)
    if (!loop->step[k].def.i)
      find_ending(q, &loop->step[k], found);
  q->n_loops--;
}

outline_loops outline_ending_loops(outliner *o, const neo_order_step *order) {
  early_exit q = {.o = o};
  outline_loops found = {0};
  find_ending(&q, order, &found);
  return found;
}

/* Loops in the plan ask for elements that kernels of the group write. Where the group's conditions
 * fail these do nothing: the whole tree is under a guard that reads whether they hold.
 *
 *     band r                      leaf taken = k == 0
 *       exit unless ..     ->     guard taken
 *       ..                          band r .. */
static const neo_tree *under_conditions(outliner *o, const neo_tree *t) {
  neo_module *m = o->m;
  const neo_conditions *when = &o->options->when;
  neo_span at = neo_def_at(m, o->defs[0])->span;
  neo_expr all = neo_const_bool(m, true), none[1] = {{0}};
  neo_trees both = {0};
  neo_tensor_rec r = {.role = NEO_ROLE_TEMP, .type = NEO_BOOL_T, .span = at};
  for (uint32_t k = 0; k < when->n; k++)
    all = k ? neo_op2(m, NEO_OP_AND, all, when->at[k]) : when->at[k];
  const neo_tensor_rec *first = neo_tensor_at(m, neo_def_out(m, o->defs[0], 0));
  r.name = neo_tensor_fresh_name(m, "taken", neo_name_text(m->names, first->name));
  neo_tensor taken = neo_tensor_add(m, r);
  outline_grow(o);
  o->own[taken.i] = o->stored[taken.i] = true;
  outline_instance *x = NEO_NEW(o->a, outline_instance);
  x->rec = (neo_def_rec){.span = at};
  x->rec.out = neo_list_one(m, taken.i);
  x->rec.finish = neo_list_one(m, all.i);
  x->added = x->always = true;
  outline_push(o, &both, x);
  neo_expr holds = neo_load(m, taken, none, 0, at);
  NEO_PUSH(o->a, &both, neo_tree_guard(o->a, holds, t));
  return neo_tree_sequence(o->a, &both);
}

const neo_tree *outline_early_exits(outliner *o, const neo_order_step *order, const neo_tree *t) {
  early_exit q = {.o = o};
  if (neo_order_has_lists(order))
    return t;
  bool *outside = NEO_NEW_ARRAY(o->a, bool, o->m->tensors.n + 1);
  for (uint32_t k = 0; k < o->n_tensors; k++)
    outside[k] = o->stored[k];
  q.outside = outside;
  q.n_needed = neo_needed_defs(o->m, true, o->a, &q.needed);
  q.recurrence = NEO_NEW_ARRAY(o->a, uint32_t, o->m->defs.n);
  (void)neo_recurrences(o->m, q.needed, q.n_needed, o->a, q.recurrence);
  q.readers = NEO_NEW_ARRAY(o->a, early_exit_defs, o->m->tensors.n + 1);
  for (size_t k = 0; k < q.n_needed; k++) {
    neo_tensor *in;
    for (size_t i = neo_def_reads(o->m, q.needed[k], o->a, &in); i-- > 0;)
      NEO_PUSH(o->a, &q.readers[in[i].i], q.needed[k]);
  }
  q.steers = neo_steering_tensors(o->m, q.needed, q.n_needed, o->a);
  const neo_tree *exits = exit_loops(&q, order, t);
  return exits == t || !o->options->when.n ? exits : under_conditions(o, exits);
}
