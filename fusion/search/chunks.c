/* Chunk loops: definitions that a pass wrote for one loop along their first axes
 * (neo_def_rec.chunk_loop), several recurrences among them.
 *
 *     again.u[q, r, j] = f(again.u[q, r-1, j], edge.u[q-1, r, j])             iterations r, up
 *     chunk.d[q, r, j] = g(again.u[q, r, j], chunk.d[q, r+1, j], ...)         iterations r, down
 *
 * They become one recurrence's group, with all that depends on one and is needed by another: in
 * iteration q their inner loops follow one another, and one slice q of again.u is enough
 * (fusion/recurrence/fold.c). If no order along the first axes is found, each recurrence has its
 * own group. */
#include "fusion/search/search.h"
#include "ir/order.h"

/* Is there an order along the first axes of all members? */
static bool has_order(const fuse_set *n) {
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

static void take_chunks(fuser *q, uint32_t mark) {
  fuse_set n = fuse_set_new(q);
  uint32_t number = 0;
  for (size_t k = 0; k < q->n_order; k++) {
    uint32_t d = q->order[k];
    n.member[d] = neo_def_at(q->m, (neo_def){d})->chunk_loop == mark;
    if (n.member[d] && !number)
      number = q->def[d].recurrence;
  }
  if (!number)
    return;
  fuse_set_find_after(&n);
  fuse_set_find_before(&n);
  for (size_t k = 0; k < q->n_order; k++)
    n.member[q->order[k]] = n.after[q->order[k]] && n.before[q->order[k]];
  if (has_order(&n))
    fuse_set_join(&n, number);
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
