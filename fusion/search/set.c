/* Sets of definitions that become the group of a recurrence, with what needs them and what they
 * need. */
#include "fusion/search/search.h"

fuse_set fuse_set_new(fuser *q) {
  size_t n = q->m->defs.n;
  return (fuse_set){q, NEO_NEW_ARRAY(q->a, bool, n), NEO_NEW_ARRAY(q->a, bool, n),
                    NEO_NEW_ARRAY(q->a, bool, n)};
}

typedef struct {
  const fuse_set *n;
  const bool *marked;
  bool is;
} marked_look;

static void need_tensor(marked_look *l, neo_tensor t) {
  const neo_module *m = l->n->q->m;
  neo_list pieces = neo_tensor_at(m, t)->pieces;
  for (uint32_t k = 0; k < pieces.n; k++)
    l->is = l->is || l->marked[neo_list_at(m, pieces, k)];
}

static void look_marked(void *ctx, neo_expr e) {
  marked_look *l = ctx;
  const neo_node *n = neo_expr_node(l->n->q->m, e);
  if (neo_node_is_load(n))
    need_tensor(l, (neo_tensor){n->attr});
}

/* Spreads marks over recurrences: each is one unit. */
static bool spread_over_recurrences(fuse_set *n, bool *marked) {
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

void fuse_set_find_after(fuse_set *n) {
  fuser *q = n->q;
  for (size_t k = 0; k < q->n_order; k++)
    n->after[q->order[k]] = n->member[q->order[k]];
  do
    for (size_t k = 0; k < q->n_order; k++) {
      marked_look l = {n, n->after, n->after[q->order[k]]};
      neo_def_visit(q->m, (neo_def){q->order[k]}, look_marked, &l);
      need_tensor(&l, neo_def_at(q->m, (neo_def){q->order[k]})->after);
      n->after[q->order[k]] = l.is;
    }
  while (spread_over_recurrences(n, n->after));
}

static void mark_needed(fuse_set *n, uint32_t d) {
  neo_tensor *in;
  size_t count = neo_def_reads(n->q->m, (neo_def){d}, n->q->a, &in);
  for (size_t k = 0; k < count; k++) {
    neo_list pieces = neo_tensor_at(n->q->m, in[k])->pieces;
    for (uint32_t i = 0; i < pieces.n; i++)
      n->before[neo_list_at(n->q->m, pieces, i)] = true;
  }
}

void fuse_set_find_before(fuse_set *n) {
  fuser *q = n->q;
  for (size_t k = 0; k < q->n_order; k++)
    n->before[q->order[k]] = n->member[q->order[k]];
  do
    for (size_t k = q->n_order; k-- > 0;)
      if (n->before[q->order[k]])
        mark_needed(n, q->order[k]);
  while (spread_over_recurrences(n, n->before));
}

void fuse_set_join(const fuse_set *n, uint32_t number) {
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

void fuse_take_into(fuser *q, const uint32_t *of) {
  uint32_t *order = NEO_NEW_ARRAY(q->a, uint32_t, q->n_order + 1);
  size_t n = 0;
  for (size_t k = 0; k < q->n_order; k++) {
    uint32_t number = q->def[q->order[k]].recurrence;
    bool last = number && (k + 1 == q->n_order || q->def[q->order[k + 1]].recurrence != number);
    if (!of[q->order[k]])
      order[n++] = q->order[k];
    for (size_t j = k; last && j < q->n_order; j++)
      if (of[q->order[j]] == number)
        order[n++] = q->order[j];
  }
  q->order = order;
  for (size_t k = 0; k < n; k++) {
    fuse_def *d = &q->def[order[k]];
    d->at = (uint32_t)k;
    d->recurrence = of[order[k]] ? of[order[k]] : d->recurrence;
  }
}
