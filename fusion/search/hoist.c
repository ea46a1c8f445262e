/* Producers hoisted into a recurrence's group.
 *
 *     p[t, b, j] = sum[i] X[t, b, i]*W[i, j]
 *     h[t, b, j] = tanh(p[t, b, j] + sum[k] (h[t-1, b, k] else 0)*U[k, j])
 *
 * p joins the group of h if only h reads it, each position in its own iteration, and if it is
 * larger than the caches: it is then computed for blocks of iterations (fusion/recurrence/hoist.c).
 * A smaller p is computed as a whole, with more rows at a time and a schedule that can be tuned; so
 * is every p on a GPU, which blocks of few rows would leave idle. */
#include "fusion/recurrence.h"
#include "fusion/search/search.h"
#include "ir/component.h"

typedef struct {
  fuser *q;
  uint32_t number; /* the recurrence */
  uint32_t first;  /* position of its first definition */
  bool *read;      /* by tensor: read outside of the group */
  uint32_t *of;    /* by definition: the recurrence into which it is hoisted */
  neo_def *group;  /* its definitions, with hoisted ones */
  size_t n_group;
  neo_order_step loop;
  NEO_VEC(neo_order_member) taken;
} hoister;

static double bytes_of(const fuser *q, neo_tensor t) {
  double n = neo_type_bytes(neo_tensor_type(q->m, t));
  for (uint32_t k = 0; k < neo_tensor_rank(q->m, t); k++)
    n *= (double)neo_extent_most(q->m, neo_tensor_extent(q->m, t, k));
  return n;
}

/* ---- candidates */

static void look_read(void *ctx, neo_expr e) {
  hoister *l = ctx;
  const neo_node *n = neo_expr_node(l->q->m, e);
  if (neo_node_is_load(n))
    l->read[n->attr] = true;
}

static void note_readers(hoister *l) {
  fuser *q = l->q;
  l->read = NEO_NEW_ARRAY(q->a, bool, q->m->tensors.n);
  for (size_t k = 0; k < q->n_order; k++) {
    uint32_t d = q->order[k];
    if (q->def[d].recurrence != l->number && l->of[d] != l->number)
      neo_def_visit(q->m, (neo_def){d}, look_read, l);
  }
}

/* Is the tensor larger than the caches, and read by the group alone? */
static bool is_passing(const hoister *l, neo_tensor t) {
  const fuser *q = l->q;
  const neo_tensor_rec *r = neo_tensor_at(q->m, t);
  double cached = q->profile->level[NEO_MACHINE_CACHES - 2].bytes;
  return r->role == NEO_ROLE_TEMP && r->pieces.n == 1 && !q->wanted[t.i] && !l->read[t.i] &&
         (q->recurrences.tile_iterations || bytes_of(q, t) > cached);
}

static bool is_candidate(const hoister *l, uint32_t d) {
  const fuser *q = l->q;
  neo_list out = neo_def_at(q->m, (neo_def){d})->out;
  bool is = !q->def[d].recurrence && !l->of[d] && !q->def[d].call_invariant &&
            neo_conditions_same(&q->def[d].when, &q->def[l->group[0].i].when);
  for (uint32_t k = 0; k < out.n && is; k++)
    is = is_passing(l, neo_list_tensor(q->m, out, k));
  return is;
}

/* ---- hoisting */

static void take(hoister *l, uint32_t d) {
  fuser *q = l->q;
  neo_order_member x;
  if (!neo_recurrence_hoists(q->m, &l->loop, l->group, l->n_group, (neo_def){d}, &x))
    return;
  NEO_PUSH(q->a, &l->taken, x);
  l->loop.member[l->loop.n_members++] = x;
  l->group[l->n_group++] = x.def;
  l->of[d] = l->number;
  note_readers(l);
}

/* The recurrence's loop, with room for hoisted definitions. */
static bool find_loop(hoister *l) {
  fuser *q = l->q;
  neo_prover *p = neo_prover_new(q->m);
  size_t n = 0;
  neo_def *own = NEO_NEW_ARRAY(q->a, neo_def, q->n_order + 1);
  uint32_t *number = NEO_NEW_ARRAY(q->a, uint32_t, q->m->defs.n);
  (void)neo_recurrences(q->m, l->group, l->n_group, q->a, number);
  for (size_t k = 0; k < l->n_group; k++) /* recurrences of the group come after the producer */
    if (number[l->group[k].i])
      own[n++] = l->group[k];
  bool found = neo_order_find(p, own, n, q->a, &l->loop, NULL);
  neo_prover_free(p);
  neo_order_member *all = NEO_NEW_ARRAY(q->a, neo_order_member, l->loop.n_members + q->n_order);
  for (uint32_t k = 0; k < l->loop.n_members; k++)
    all[k] = l->loop.member[k];
  l->loop.member = all;
  return found;
}

static bool has_candidates(const hoister *l) {
  for (uint32_t k = 0; k < l->first; k++)
    if (is_candidate(l, l->q->order[k]))
      return true;
  return false;
}

static void hoist_into(hoister *l) {
  fuser *q = l->q;
  l->group = NEO_NEW_ARRAY(q->a, neo_def, q->n_order + 1);
  for (size_t k = 0; k < q->n_order; k++)
    if (q->def[q->order[k]].recurrence == l->number)
      l->group[l->n_group++].i = q->order[k];
  note_readers(l);
  if (!has_candidates(l) || !find_loop(l))
    return;
  for (uint32_t k = l->first; k-- > 0;) /* readers first */
    if (is_candidate(l, q->order[k]))
      take(l, q->order[k]);
  if (!neo_recurrence_block(q->m, l->taken.at, l->taken.n, q->recurrences.tile_iterations))
    for (size_t k = 0; k < l->taken.n; k++)
      l->of[l->taken.at[k].def.i] = 0;
}

/* Moves hoisted definitions before the first one of their recurrence. */
static void reorder(fuser *q, const uint32_t *of) {
  uint32_t *order = NEO_NEW_ARRAY(q->a, uint32_t, q->n_order + 1);
  size_t n = 0;
  for (size_t k = 0; k < q->n_order; k++) {
    uint32_t number = q->def[q->order[k]].recurrence;
    bool first = number && (!k || q->def[q->order[k - 1]].recurrence != number);
    for (size_t j = 0; first && j < k; j++)
      if (of[q->order[j]] == number)
        order[n++] = q->order[j];
    if (!of[q->order[k]])
      order[n++] = q->order[k];
  }
  q->order = order;
  for (size_t k = 0; k < n; k++) {
    q->def[order[k]].at = (uint32_t)k;
    if (of[order[k]])
      q->def[order[k]].recurrence = of[order[k]];
  }
}

void fuse_hoist(fuser *q) {
  uint32_t before = 0, *of = NEO_NEW_ARRAY(q->a, uint32_t, q->m->defs.n);
  if (q->profile->threads > 0) /* a GPU */
    return;
  for (uint32_t k = 0; k < q->n_order; k++) {
    hoister l = {.q = q, .number = q->def[q->order[k]].recurrence, .first = k, .of = of};
    if (l.number && l.number != before)
      hoist_into(&l);
    before = l.number;
  }
  reorder(q, of);
}
