/* Conditions under which groups are needed (ir/needed.h). A kernel tests those of its group, and
 * does nothing if one fails (codegen/guard.h). All definitions of a kernel have the same ones. */
#include "fusion/search/search.h"
#include "ir/choice.h"

/* Kernels test a condition in memory. The kernel that computes it has nothing else, which might
 * need their results. */
static void want_flag(void *ctx, neo_expr e) {
  fuser *q = ctx;
  const neo_node *n = neo_expr_node(q->m, e);
  if (n->op != NEO_OP_LOAD)
    return;
  neo_list pieces = neo_tensor_at(q->m, (neo_tensor){n->attr})->pieces;
  q->wanted[n->attr] = true;
  for (uint32_t i = 0; i < pieces.n; i++)
    q->def[neo_list_at(q->m, pieces, i)].flag = true;
}

/* By tensor: needed in all calls, since it is cached between calls. */
static bool *needed_always(const fuser *q) {
  bool *always = NEO_NEW_ARRAY(q->a, bool, q->m->tensors.n + 1);
  for (uint32_t t = 0; t < q->m->tensors.n; t++)
    always[t] = q->wanted[t];
  for (size_t k = 0; k < q->n_order; k++) {
    neo_list out = neo_def_at(q->m, (neo_def){q->order[k]})->out;
    for (uint32_t i = 0; i < out.n && q->def[q->order[k]].call_invariant; i++)
      always[neo_list_at(q->m, out, i)] = true;
  }
  return always;
}

static void set_conditions(fuser *q, uint32_t d, neo_conditions when) {
  q->def[d].when = when;
  q->has_branches = q->has_branches || when.n;
  for (uint32_t i = 0; i < when.n; i++)
    neo_expr_visit(q->m, when.at[i], want_flag, q);
}

const neo_conditions *fuse_conditions(fuser *q) {
  neo_def *order = NEO_NEW_ARRAY(q->a, neo_def, q->n_order + 1);
  uint32_t *together = NEO_NEW_ARRAY(q->a, uint32_t, q->m->defs.n + 1);
  for (size_t k = 0; k < q->n_order; k++) {
    order[k].i = q->order[k];
    together[q->order[k]] = q->def[q->order[k]].recurrence;
  }
  neo_needed_input in = {order, q->n_order, needed_always(q), together, NULL};
  return neo_needed_where(q->m, &in, q->a);
}

static void find_conditions(fuser *q) {
  const neo_program *p = q->program;
  for (size_t k = 0; p && p->when && k < p->n_defs; k++)
    set_conditions(q, p->defs[k].i, p->when[k]);
  if (p && p->when)
    return;
  const neo_conditions *of = fuse_conditions(q);
  for (size_t k = 0; k < q->n_order && of; k++)
    set_conditions(q, q->order[k], of[q->order[k]]);
  q->has_branches = of != NULL;
}

/* Finds the points at which definitions are needed, as conditions on iterations. */
static void find_points(fuser *q) {
  neo_def *order = NEO_NEW_ARRAY(q->a, neo_def, q->n_order + 1);
  bool recurs = false;
  for (size_t k = 0; k < q->n_order; k++) {
    order[k].i = q->order[k];
    recurs = recurs || q->def[q->order[k]].recurrence;
  }
  neo_prover *p = recurs ? neo_prover_new(q->m) : NULL;
  neo_needed_input in = {order, q->n_order, q->always, NULL, p};
  q->recurrences.needed = p ? neo_needed_where(q->m, &in, q->a) : NULL;
  neo_prover_free(p);
}

void fuse_find_flags(fuser *q) {
  q->always = needed_always(q);
  find_conditions(q);
}

/* Does the definition select one of several tensors, whose memory its result then shares
 * (codegen/plan/entry.c)? */
static bool is_choice(const fuser *q, uint32_t d, neo_choice *c, neo_conditions *when) {
  if (q->def[d].recurrence || q->def[d].call_invariant || !neo_choice_of(q->m, (neo_def){d}, c))
    return false;
  for (uint32_t k = 0; k < c->n; k++) {
    neo_list pieces = neo_tensor_at(q->m, c->from[k])->pieces;
    if (!pieces.n || q->always[c->from[k].i])
      return false;
    when[k] = q->def[neo_list_at(q->m, pieces, 0)].when;
    for (uint32_t i = 0; i < pieces.n; i++)
      if (!neo_conditions_same(&when[k], &q->def[neo_list_at(q->m, pieces, i)].when))
        return false;
  }
  return neo_choice_is_exclusive(q->m, c, when);
}

static void find_choices(fuser *q) {
  neo_choice *c = NEO_NEW(q->a, neo_choice);
  neo_conditions *when = NEO_NEW_ARRAY(q->a, neo_conditions, NEO_MOST_CHOICES);
  for (size_t k = 0; k < q->n_order; k++)
    q->def[q->order[k]].choice = is_choice(q, q->order[k], c, when);
}

void fuse_find_branches(fuser *q) {
  find_points(q);
  if (!q->has_branches)
    return;
  find_conditions(q);
  find_choices(q);
}

void fuse_set_branch(const fuser *q, const uint32_t *defs, size_t n, neo_group *g) {
  const neo_conditions *first = &q->def[defs[0]].when;
  for (size_t k = 1; k < n; k++)
    if (!neo_conditions_same(first, &q->def[defs[k]].when))
      return;
  for (uint32_t i = 0; i < first->n && !g->cached; i++)
    NEO_PUSH(q->a, &g->when, first->at[i]);
}
