/* Joining: the move that makes one group of two, whose definitions then share a kernel: as an
 * epilogue of a reduction, as siblings, as reductions over the same axes, or as work on the rows of
 * a reduction.
 *
 *     group 1   S[i] = sum[j] X[i, j]                 group   S[i] = sum[j] X[i, j]
 *     group 2   Y[i] = sqrt(S[i])               ->            Y[i] = sqrt(S[i])
 *
 * Pairs are neighbours: a producer and its reader, or consecutive readers of one tensor. Their
 * number is linear in the graph. */
#include "fusion/search/search.h"

enum { MOST_NEIGHBOURS = 24, MOST_BETWEEN = 4, MOST_READERS = 64 };

static fuse_move move_of(uint32_t g, uint32_t h) {
  return (fuse_move){.a = g < h ? g : h, .b = g < h ? h : g};
}

static uint64_t stamp(fuser *q, const fuse_move *x) {
  if (!q->groups.at[x->a].members.n || !q->groups.at[x->b].members.n)
    return FUSE_GONE;
  q->places.n = 0;
  NEO_PUSH(q->a, &q->places, x->a);
  NEO_PUSH(q->a, &q->places, x->b);
  return fuse_stamp_of(q, &q->places);
}

/* ---- price */

/* Members of both, in the order of definitions. */
static size_t both_members(fuser *q, uint32_t g, uint32_t h, uint32_t *out) {
  const fuse_group *x = &q->groups.at[g], *y = &q->groups.at[h];
  size_t i = 0, j = 0, n = 0;
  if (x->members.n + y->members.n > FUSE_MOST_PARTS)
    return 0;
  while (i < x->members.n || j < y->members.n) {
    bool first = j == y->members.n ||
                 (i < x->members.n && q->def[x->members.at[i]].at < q->def[y->members.at[j]].at);
    out[n++] = first ? x->members.at[i++] : y->members.at[j++];
  }
  return n;
}

static bool price(fuser *q, fuse_move *x, const char **why) {
  uint32_t members[FUSE_MOST_PARTS];
  fuse_parts p;
  size_t n = both_members(q, x->a, x->b, members);
  x->reward = 0;
  *why = "too many definitions";
  if (!n || !fuse_parts_of(q, members, n, &p, why))
    return false;
  double cost = fuse_cost(q, &p);
  x->reward = q->groups.at[x->a].cost + q->groups.at[x->b].cost - cost;
  return x->reward <= 0 || fuse_order_joins(q, x->a, x->b, false, why);
}

/* ---- making the move */

static bool apply(fuser *q, const fuse_move *x, fuse_list *changed) {
  uint32_t members[FUSE_MOST_PARTS];
  const char *why;
  if (!fuse_order_joins(q, x->a, x->b, true, &why))
    return false;
  size_t n = both_members(q, x->a, x->b, members);
  fuse_group *g = &q->groups.at[x->a], *h = &q->groups.at[x->b];
  g->members.n = h->members.n = 0;
  for (size_t k = 0; k < n; k++) {
    NEO_PUSH(q->a, &g->members, members[k]);
    q->def[members[k]].home = x->a + 1;
  }
  h->version++;
  h->cost = 0;
  fuse_renew(q, x->a, changed);
  return true;
}

/* ---- neighbours */

static void offer(fuser *q, uint32_t g, uint32_t h, fuse_moves *out) {
  if (g != h)
    NEO_PUSH(q->a, out, move_of(g, h));
}

static const fuse_read *read_of(const fuse_def *d, neo_tensor t) {
  for (uint32_t k = 0; k < d->n_read; k++)
    if (d->read[k].t.i == t.i)
      return &d->read[k];
  return NULL;
}

/* Slices of one tensor have nothing in common. */
static bool whole(const fuse_read *r) {
  for (uint32_t k = 0; k < r->rank; k++)
    if (r->axis[k] < 0)
      return false;
  return true;
}

/* Offers the next readers, before and after part d of group g, of the tensor that it reads, for the
 * same entries. */
static void offer_siblings(fuser *q, uint32_t g, uint32_t id, const fuse_read *r, fuse_moves *out) {
  const fuse_tensor *t = &q->tensor[r->t.i];
  if (!whole(r))
    return;
  for (int side = -1; side <= 1; side += 2)
    for (int64_t k = 1, met = 0; met < MOST_BETWEEN && k <= MOST_READERS; k++) {
      int64_t at = (int64_t)r->at + side * k;
      if (at < 0 || at >= (int64_t)t->readers.n)
        break;
      const fuse_def *d = &q->def[t->readers.at[at]];
      uint32_t home = d->home;
      if (d->entries != q->def[id].entries)
        continue;
      met++;
      if (!home || home == g + 1 || !whole(read_of(d, r->t)))
        continue;
      offer(q, g, home - 1, out);
      break;
    }
}

static void offer_readers(fuser *q, uint32_t g, uint32_t id, fuse_moves *out) {
  const fuse_def *d = &q->def[id];
  for (uint32_t k = 0; k < d->n_read; k++) {
    offer_siblings(q, g, id, &d->read[k], out);
    if (d->read[k].copied)
      offer_readers(q, g, d->read[k].from, out);
  }
}

static void offer_near(fuser *q, uint32_t g, const fuse_list *near, fuse_moves *out) {
  for (size_t k = 0; k < near->n && k < MOST_NEIGHBOURS; k++)
    offer(q, g, near->at[k], out);
}

static void match(fuser *q, uint32_t g, fuse_moves *out) {
  fuse_list near = {0};
  const fuse_group *x = &q->groups.at[g];
  fuse_before(q, g, &near);
  offer_near(q, g, &near, out);
  fuse_after(q, g, &near);
  offer_near(q, g, &near, out);
  for (size_t k = 0; k < x->members.n; k++)
    offer_readers(q, g, x->members.at[k], out);
}

/* ---- as a decision */

/* The tensor that names a group in decisions: the first result of its first member. */
static neo_tensor group_tensor(const fuser *q, uint32_t g) {
  return fuse_out(q, q->groups.at[g].members.at[0], 0);
}

static neo_decision decision_of(fuser *q, neo_decision_verb verb, uint32_t g, uint32_t h) {
  return (neo_decision){.verb = verb,
                        .of = group_tensor(q, g),
                        .with = fuse_with(q, group_tensor(q, h)),
                        .n_with = 1};
}

static neo_decision describe(fuser *q, const fuse_move *x) {
  uint32_t members[FUSE_MOST_PARTS];
  fuse_parts p;
  const char *why;
  neo_decision d = decision_of(q, NEO_DECISION_JOIN, x->b, x->a);
  size_t n = both_members(q, x->a, x->b, members);
  if (n && fuse_parts_of(q, members, n, &p, &why))
    d.kind = fuse_kind_of(q, &p);
  return d;
}

/* Groups that read each other's results and were not joined. */
static void refusals(fuser *q, uint32_t g, fuse_moves *out) {
  fuse_list near = {0};
  fuse_before(q, g, &near);
  offer_near(q, g, &near, out);
}

static neo_decision describe_refusal(fuser *q, uint32_t g, const fuse_move *x) {
  return decision_of(q, NEO_DECISION_REJECT, g, x->a == g ? x->b : x->a);
}

const fuse_rules fuse_join_rules = {.when = FUSE_BEST_FIRST,
                                    .match = match,
                                    .price = price,
                                    .apply = apply,
                                    .stamp = stamp,
                                    .describe = describe,
                                    .refusals = refusals,
                                    .describe_refusal = describe_refusal};
