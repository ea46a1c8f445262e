/* The best move first.
 *
 * Moves are kept in a heap by their reward. Those of a pair of neighbours are put in at the start,
 * and again whenever one of their groups changes; one whose groups have changed since it was priced
 * is priced again when it comes to the top. Neighbours are a producer and its reader, and readers
 * of one tensor that are next to each other among its readers: never all pairs. Equal rewards are
 * taken in the order of kind and numbers, so the result depends on the module alone. */
#include "fusion/search/search.h"

enum { MOST_NEIGHBOURS = 24, MOST_BETWEEN = 4, MOST_READERS = 64, MOST_SINGLE = 4 };

typedef struct {
  fuser *q;
  NEO_VEC(fuse_move) heap;
  neo_map offered; /* move -> its stamp when it was last put in */
} greedy;

/* ---- the heap */

static bool before(const fuse_move *a, const fuse_move *b) {
  if (a->reward != b->reward)
    return a->reward > b->reward;
  if (a->kind != b->kind)
    return a->kind < b->kind;
  return a->a != b->a ? a->a < b->a : a->b < b->b;
}

static void push(greedy *s, fuse_move x) {
  NEO_PUSH(s->q->a, &s->heap, x);
  size_t k = s->heap.n - 1;
  for (; k && before(&x, &s->heap.at[(k - 1) / 2]); k = (k - 1) / 2)
    s->heap.at[k] = s->heap.at[(k - 1) / 2];
  s->heap.at[k] = x;
}

static fuse_move pop(greedy *s) {
  fuse_move top = s->heap.at[0], x = s->heap.at[--s->heap.n];
  size_t k = 0, c;
  for (; (c = 2 * k + 1) < s->heap.n; k = c) {
    c += c + 1 < s->heap.n && before(&s->heap.at[c + 1], &s->heap.at[c]);
    if (!before(&s->heap.at[c], &x))
      break;
    s->heap.at[k] = s->heap.at[c];
  }
  if (s->heap.n)
    s->heap.at[k] = x;
  return top;
}

/* ---- candidates */

static void offer(greedy *s, fuse_move x) {
  const char *why;
  uint64_t key = (uint64_t)x.kind << 63 | (uint64_t)x.a << 32 | x.b, old;
  x.stamp = fuse_move_stamp(s->q, &x);
  if (neo_map_get(&s->offered, key, &old) && old == x.stamp)
    return;
  neo_map_set(&s->offered, key, x.stamp);
  if (fuse_move_price(s->q, &x, &why))
    push(s, x);
}

static void offer_copies(greedy *s, uint32_t id) {
  const fuse_def *d = &s->q->def[id];
  uint32_t back = 0, n = (uint32_t)d->readers.n;
  if (!d->plain || !d->home || !n)
    return;
  for (uint32_t k = 0; k < n; k++)
    back += s->q->def[d->readers.at[k].def].backward;
  offer(s, (fuse_move){.kind = FUSE_COPY, .a = id, .b = FUSE_ALL});
  if (back && back < n) {
    offer(s, (fuse_move){.kind = FUSE_COPY, .a = id, .b = FUSE_BACKWARD});
    offer(s, (fuse_move){.kind = FUSE_COPY, .a = id, .b = FUSE_FORWARD});
  }
  for (uint32_t k = 0; n > 1 && n <= MOST_SINGLE && k < n; k++)
    offer(s, (fuse_move){.kind = FUSE_COPY, .a = id, .b = FUSE_ONE + k});
}

static void offer_join(greedy *s, uint32_t g, uint32_t h) {
  if (g != h)
    offer(s, (fuse_move){.kind = FUSE_JOIN, .a = g < h ? g : h, .b = g < h ? h : g});
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

/* The next readers of what part d of group g reads, before and after it, for the same entries. */
static void offer_siblings(greedy *s, uint32_t g, uint32_t id, const fuse_read *r) {
  const fuse_tensor *t = &s->q->tensor[r->t.i];
  if (!whole(r))
    return;
  for (int side = -1; side <= 1; side += 2)
    for (int64_t k = 1, met = 0; met < MOST_BETWEEN && k <= MOST_READERS; k++) {
      int64_t at = (int64_t)r->at + side * k;
      if (at < 0 || at >= (int64_t)t->readers.n)
        break;
      const fuse_def *d = &s->q->def[t->readers.at[at]];
      uint32_t home = d->home;
      if (d->entries != s->q->def[id].entries)
        continue;
      met++;
      if (!home || home == g + 1 || !whole(read_of(d, r->t)))
        continue;
      offer_join(s, g, home - 1);
      break;
    }
}

static void offer_reads(greedy *s, uint32_t g, uint32_t id) {
  const fuse_def *d = &s->q->def[id];
  offer_copies(s, id);
  for (uint32_t k = 0; k < d->n_read; k++) {
    const fuse_read *r = &d->read[k];
    offer_siblings(s, g, id, r);
    if (r->copied)
      offer_reads(s, g, r->from);
    else if (r->from)
      offer_copies(s, r->from);
  }
}

static void offer_group(greedy *s, uint32_t g) {
  fuse_list near = {0};
  for (int side = 0; side < 2; side++) {
    if (side)
      fuse_after(s->q, g, &near);
    else
      fuse_before(s->q, g, &near);
    for (size_t k = 0; k < near.n && k < MOST_NEIGHBOURS; k++)
      offer_join(s, g, near.at[k]);
  }
  const fuse_group *x = &s->q->groups.at[g];
  for (size_t k = 0; k < x->members.n; k++)
    offer_reads(s, g, x->members.at[k]);
}

/* ---- explaining */

static const char *name_of(const fuser *q, uint32_t d) {
  return neo_name_text(q->m->names, neo_tensor_at(q->m, fuse_out(q, d, 0))->name);
}

/* The first result of a group that leaves it, or the first one. */
static const char *group_name(const fuser *q, uint32_t g) {
  return name_of(q, q->groups.at[g].members.at[0]);
}

static const char *readers_text(uint32_t b) {
  return b == FUSE_ALL        ? "all readers"
         : b == FUSE_BACKWARD ? "the backward pass"
         : b == FUSE_FORWARD  ? "the forward pass"
                              : NULL;
}

/* Is the value wanted inside of a reduction? */
static bool in_reduction(const fuser *q, const fuse_move *x) {
  const fuse_def *d = &q->def[x->a];
  bool reduced = false;
  for (size_t k = 0; k < d->readers.n; k++)
    reduced = reduced || (fuse_move_takes(q, x, k) && fuse_read_of(q, d->readers.at[k])->reduced);
  return reduced;
}

static void explain_move(fuser *q, const fuse_move *x) {
  fuse_parts p;
  const char *why;
  if (!q->explain)
    return;
  double us = 1e6 * x->reward;
  if (x->kind == FUSE_COPY) {
    const char *who = readers_text(x->b);
    uint32_t only = who ? 0 : q->def[x->a].readers.at[x->b - FUSE_ONE].def;
    neo_fuse_kind kind = in_reduction(q, x) ? NEO_FUSE_PROLOGUE : NEO_FUSE_INLINE;
    neo_str_addf(q->explain, "%s %s into %s: saves %.3g us\n", neo_fuse_kind_text(kind),
                 name_of(q, x->a), who ? who : name_of(q, only), us);
    return;
  }
  uint32_t members[2 * FUSE_MOST_PARTS];
  size_t n = 0;
  for (int side = 0; side < 2; side++) {
    const fuse_group *g = &q->groups.at[side ? x->b : x->a];
    for (size_t k = 0; k < g->members.n; k++)
      members[n++] = g->members.at[k];
  }
  if (!fuse_parts_of(q, members, n, &p, &why))
    return;
  neo_str_addf(q->explain, "join %s to %s: %s, saves %.3g us\n", group_name(q, x->b),
               group_name(q, x->a), neo_fuse_kind_text(fuse_kind_of(q, &p)), us);
}

/* Groups that read one another's results and have not been joined. */
static void explain_rest(fuser *q) {
  fuse_list near = {0};
  for (uint32_t g = 0; q->explain && g < q->groups.n; g++) {
    if (!q->groups.at[g].members.n)
      continue;
    fuse_before(q, g, &near);
    for (size_t k = 0; k < near.n && k < MOST_NEIGHBOURS; k++) {
      uint32_t h = near.at[k];
      fuse_move x = {.kind = FUSE_JOIN, .a = g < h ? g : h, .b = g < h ? h : g};
      const char *why = "";
      if (!fuse_move_price(q, &x, &why))
        neo_str_addf(q->explain, "reject %s, %s: %s", group_name(q, g), group_name(q, h), why);
      else
        continue;
      if (x.reward < 0)
        neo_str_addf(q->explain, " (%.3g us)", -1e6 * x.reward);
      neo_str_addc(q->explain, '\n');
    }
  }
}

/* ---- the whole */

void fuse_greedy(fuser *q) {
  greedy s = {.q = q};
  fuse_list changed = {0};
  const char *why;
  neo_map_init(&s.offered, q->a);
  for (uint32_t g = 0; g < q->groups.n; g++)
    if (q->groups.at[g].members.n)
      offer_group(&s, g);
  while (s.heap.n) {
    fuse_move x = pop(&s);
    bool gone =
        x.kind == FUSE_JOIN && (!q->groups.at[x.a].members.n || !q->groups.at[x.b].members.n);
    if (gone || (x.kind == FUSE_COPY && !q->def[x.a].home))
      continue;
    if (fuse_move_stamp(q, &x) != x.stamp) {
      if (fuse_move_price(q, &x, &why))
        push(&s, x);
      continue;
    }
    size_t mark = q->explain ? q->explain->n : 0;
    explain_move(q, &x);
    if (!fuse_move_make(q, &x, &changed)) {
      if (q->explain)
        q->explain->at[q->explain->n = mark] = 0;
      continue;
    }
    for (size_t k = 0; k < changed.n; k++)
      offer_group(&s, changed.at[k]);
  }
  explain_rest(q);
}
