/* Chunk loops: definitions that a pass wrote for one loop along their first axes (neo_def_rec.chunk_loop), several recurrences
 * among them.
 *
 *     again.u[q, r, j] = f(again.u[q, r-1, j], edge.u[q-1, r, j])             rounds r, up
 *     chunk.d[q, r, j] = g(again.u[q, r, j], chunk.d[q, r+1, j], ...)         rounds r, down
 *
 * They become one group, as a recurrence is, with all that lies between them: in a round q of its loop those of r
 * follow one another, and of again.u one q is enough (fusion/recurrence/ring.c). If no order along the first axes
 * is found, each recurrence has its own group. */
#include "fusion/search/search.h"
#include "ir/order.h"

typedef struct {
  fuser *q;
  bool *member;         /* by definition */
  bool *after, *before; /* by definition: it needs a member; a member needs it */
} chunk_loop;

/* ---- what lies between members */

typedef struct {
  const chunk_loop *n;
  const bool *marked;
  bool is;
} chunk_look;

static void look_marked(void *ctx, neo_expr e) {
  chunk_look *l = ctx;
  const neo_module *m = l->n->q->m;
  const neo_node *n = neo_expr_node(m, e);
  if (n->op != NEO_OP_LOAD && n->op != NEO_OP_LOAD_ELSE)
    return;
  neo_list pieces = neo_tensor_at(m, (neo_tensor){n->attr})->pieces;
  for (uint32_t k = 0; k < pieces.n; k++)
    l->is = l->is || l->marked[neo_list_at(m, pieces, k)];
}

/* Recurrences are one: what holds for a definition holds for all of its group. */
static bool spread_over_recurrences(chunk_loop *n, bool *marked) {
  fuser *q = n->q;
  bool changed = false;
  bool *of = NEO_NEW_ARRAY(q->a, bool, q->n_order + 2);
  for (size_t k = 0; k < q->n_order; k++)
    of[q->def[q->order[k]].recurrence] |= marked[q->order[k]];
  for (size_t k = 0; k < q->n_order; k++) {
    uint32_t d = q->order[k], number = q->def[d].recurrence;
    bool is = marked[d] || (number && of[number]);
    changed = changed || is != marked[d];
    marked[d] = is;
  }
  return changed;
}

static void find_after(chunk_loop *n) {
  fuser *q = n->q;
  for (size_t k = 0; k < q->n_order; k++)
    n->after[q->order[k]] = n->member[q->order[k]];
  do
    for (size_t k = 0; k < q->n_order; k++) {
      chunk_look l = {n, n->after, n->after[q->order[k]]};
      neo_def_visit(q->m, (neo_def){q->order[k]}, look_marked, &l);
      n->after[q->order[k]] = l.is;
    }
  while (spread_over_recurrences(n, n->after));
}

static void mark_needed(chunk_loop *n, uint32_t d) {
  neo_tensor *in;
  size_t count = neo_def_reads(n->q->m, (neo_def){d}, n->q->a, &in);
  for (size_t k = 0; k < count; k++) {
    neo_list pieces = neo_tensor_at(n->q->m, in[k])->pieces;
    for (uint32_t i = 0; i < pieces.n; i++)
      n->before[neo_list_at(n->q->m, pieces, i)] = true;
  }
}

static void find_before(chunk_loop *n) {
  fuser *q = n->q;
  for (size_t k = 0; k < q->n_order; k++)
    n->before[q->order[k]] = n->member[q->order[k]];
  do
    for (size_t k = q->n_order; k-- > 0;)
      if (n->before[q->order[k]])
        mark_needed(n, q->order[k]);
  while (spread_over_recurrences(n, n->before));
}

/* ---- the group */

/* Is there an order along the first axes of all members? */
static bool has_order(const chunk_loop *n) {
  fuser *q = n->q;
  neo_def *own = NEO_NEW_ARRAY(q->a, neo_def, q->n_order + 1);
  neo_order_step loop;
  size_t count = 0;
  for (size_t k = 0; k < q->n_order; k++)
    if (n->member[q->order[k]])
      own[count++].i = q->order[k];
  neo_prover *p = neo_prover_new(q->m);
  bool is = neo_order_find(p, own, count, q->a, &loop, NULL);
  neo_prover_free(p);
  for (uint32_t k = 0; k < loop.n_members && is; k++)
    is = loop.member[k].axis == 0;
  return is;
}

/* Members stand together: before them comes what does not need them, behind them what does. */
static void reorder(chunk_loop *n, uint32_t number) {
  fuser *q = n->q;
  uint32_t *order = NEO_NEW_ARRAY(q->a, uint32_t, q->n_order + 1);
  size_t at = 0;
  for (int part = 0; part < 3; part++)
    for (size_t k = 0; k < q->n_order; k++) {
      uint32_t d = q->order[k];
      if (part == (n->member[d] ? 1 : n->after[d] ? 2 : 0))
        order[at++] = d;
    }
  q->order = order;
  for (size_t k = 0; k < at; k++) {
    q->def[order[k]].at = (uint32_t)k;
    if (n->member[order[k]])
      q->def[order[k]].recurrence = number;
  }
}

static void take_chunks(fuser *q, uint32_t mark) {
  chunk_loop n = {.q = q};
  uint32_t number = 0;
  n.member = NEO_NEW_ARRAY(q->a, bool, q->m->defs.n);
  n.after = NEO_NEW_ARRAY(q->a, bool, q->m->defs.n);
  n.before = NEO_NEW_ARRAY(q->a, bool, q->m->defs.n);
  for (size_t k = 0; k < q->n_order; k++) {
    uint32_t d = q->order[k];
    n.member[d] = neo_def_at(q->m, (neo_def){d})->chunk_loop == mark;
    if (n.member[d] && !number)
      number = q->def[d].recurrence;
  }
  if (!number)
    return;
  find_after(&n);
  find_before(&n);
  for (size_t k = 0; k < q->n_order; k++)
    n.member[q->order[k]] = n.after[q->order[k]] && n.before[q->order[k]];
  if (has_order(&n))
    reorder(&n, number);
}

void fuse_take_chunks(fuser *q) {
  uint32_t most = 0;
  for (size_t k = 0; k < q->n_order; k++) {
    uint32_t mark = neo_def_at(q->m, (neo_def){q->order[k]})->chunk_loop;
    most = mark > most ? mark : most;
  }
  for (uint32_t mark = 1; mark <= most; mark++)
    take_chunks(q, mark);
}
