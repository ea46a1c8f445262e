/* The conditions under which groups are needed (ir/needed.h). A kernel asks for those of its group, and does nothing
 * where one does not hold (codegen/guard.h). Definitions of a kernel are needed under the same ones. */
#include "fusion/search/search.h"

/* Kernels ask for a condition in memory. Nothing else is in the kernel that makes it, for that might need what they
 * make. */
static void want_flags(fuser *q, const neo_conditions *c) {
  bool negated;
  for (uint32_t k = 0; k < c->n; k++) {
    neo_tensor t = neo_condition_tensor(q->m, c->at[k], &negated);
    neo_list pieces = neo_tensor_at(q->m, t)->pieces;
    q->wanted[t.i] = true;
    for (uint32_t i = 0; i < pieces.n; i++)
      q->def[neo_list_at(q->m, pieces, i)].flag = true;
  }
}

void fuse_find_branches(fuser *q) {
  neo_arena scratch;
  neo_arena_init(&scratch, q->a->alloc, q->a->on_fail);
  neo_def *order = NEO_NEW_ARRAY(&scratch, neo_def, q->n_order + 1);
  for (size_t k = 0; k < q->n_order; k++)
    order[k].i = q->order[k];
  const neo_conditions *of = neo_needed_where(q->m, order, q->n_order, q->wanted, &scratch);
  for (size_t k = 0; k < q->n_order && of; k++) {
    q->def[order[k].i].when = of[order[k].i];
    want_flags(q, &of[order[k].i]);
  }
  neo_arena_free(&scratch);
}

bool fuse_same_branch(const fuser *q, uint32_t a, uint32_t b) {
  const neo_conditions *x = &q->def[a].when, *y = &q->def[b].when;
  bool same = x->n == y->n && !q->def[a].flag && !q->def[b].flag;
  for (uint32_t k = 0; k < x->n && same; k++)
    same = neo_conditions_have(y, x->at[k]);
  return same;
}

void fuse_set_branch(const fuser *q, const uint32_t *defs, size_t n, neo_group *g) {
  const neo_conditions *first = &q->def[defs[0]].when;
  for (uint32_t i = 0; i < first->n && !g->cached; i++) {
    bool all = true;
    for (size_t k = 1; k < n && all; k++)
      all = neo_conditions_have(&q->def[defs[k]].when, first->at[i]);
    if (all)
      NEO_PUSH(q->a, &g->when, first->at[i]);
  }
}
