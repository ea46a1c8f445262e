/* Changes of the state, and their rewards: what they take off the cost of the groups concerned. */
#include "base/hash.h"
#include "fusion/search/search.h"

enum { MOST_CONCERNED = 40 };

/* ---- a copy */

bool fuse_move_takes(const fuser *q, const fuse_move *x, size_t reader) {
  const fuse_edge e = q->def[x->a].readers.at[reader];
  if (fuse_read_of(q, e)->copied)
    return false;
  switch (x->b) {
  case FUSE_ALL:
    return true;
  case FUSE_BACKWARD:
    return q->def[e.def].backward;
  case FUSE_FORWARD:
    return !q->def[e.def].backward;
  default:
    return reader == x->b - FUSE_ONE;
  }
}

/* Marks the reads (or takes the marks off again): bit k of taken[] says which were. Returns whether
 * the definition still has a reader that does not copy it, or is wanted. */
static bool mark_reads(fuser *q, const fuse_move *x, uint8_t *taken, bool on) {
  fuse_def *d = &q->def[x->a];
  bool read = d->wanted;
  for (size_t k = 0; k < d->readers.n; k++) {
    if (on)
      taken[k] = fuse_move_takes(q, x, k);
    if (taken[k])
      fuse_read_of(q, d->readers.at[k])->copied = on;
    read = read || !fuse_read_of(q, d->readers.at[k])->copied;
  }
  return read;
}

static void add_group(fuser *q, uint32_t g, fuse_list *out) {
  for (size_t k = 0; k < out->n; k++)
    if (out->at[k] == g)
      return;
  NEO_PUSH(q->a, out, g);
}

/* Groups whose values d, and what it copies, reads: with a price on what is kept, who reads them
 * matters. */
static void add_producers(fuser *q, const fuse_def *d, fuse_list *out) {
  for (uint32_t k = 0; k < d->n_read; k++)
    if (d->read[k].copied)
      add_producers(q, &q->def[d->read[k].from], out);
    else if (d->read[k].from)
      add_group(q, q->def[d->read[k].from].home - 1, out);
}

/* Groups whose cost the move changes: where the value is made, then where it is used (*n groups so
 * far), then others. */
static bool concerned(fuser *q, const fuse_move *x, fuse_list *out, size_t *n) {
  out->n = 0;
  if (x->kind == FUSE_JOIN) {
    NEO_PUSH(q->a, out, x->a);
    NEO_PUSH(q->a, out, x->b);
    return true;
  }
  const fuse_def *d = &q->def[x->a];
  NEO_PUSH(q->a, out, d->home - 1);
  for (size_t k = 0; k < d->readers.n && out->n <= MOST_CONCERNED; k++)
    if (fuse_move_takes(q, x, k))
      fuse_places(q, d->readers.at[k].def, out);
  *n = out->n;
  if (q->price > 0)
    add_producers(q, d, out);
  return out->n <= MOST_CONCERNED;
}

uint64_t fuse_move_stamp(fuser *q, const fuse_move *x) {
  uint64_t h = 0;
  size_t n;
  if (x->kind == FUSE_COPY && !q->def[x->a].home)
    return 0;
  if (!concerned(q, x, &q->places, &n))
    return 1;
  for (size_t k = 0; k < q->places.n; k++) {
    uint32_t g = q->places.at[k];
    h = neo_hash_mix(h, (uint64_t)g << 32 | q->groups.at[g].version);
  }
  return h | 2;
}

/* Members of g without the definition that moves away; n of them. */
static size_t members_of(fuser *q, uint32_t g, uint32_t without, uint32_t *out) {
  const fuse_group *x = &q->groups.at[g];
  size_t n = 0;
  for (size_t k = 0; k < x->members.n && n < FUSE_MOST_PARTS; k++)
    if (x->members.at[k] != without)
      out[n++] = x->members.at[k];
  return n;
}

/* The cost of the groups concerned as they would be, into cost[]; the first n of them have the
 * value or read it. */
static bool price_copies(fuser *q, const fuse_move *x, uint32_t without, size_t n_users,
                         double *cost, const char **why) {
  uint32_t members[FUSE_MOST_PARTS];
  for (size_t k = 0; k < q->places.n; k++) {
    uint32_t g = q->places.at[k];
    size_t n = members_of(q, g, without, members);
    fuse_parts p;
    cost[k] = 0;
    if (!n)
      continue;
    if (!fuse_parts_of(q, members, n, &p, why))
      return false;
    cost[k] = fuse_cost(q, &p);
    if (k && k < n_users && !fuse_order_copies(q, x->a, g)) {
      *why = "it reads what has been updated by then";
      return false;
    }
  }
  return true;
}

static bool any_taken(const uint8_t *taken, size_t n) {
  for (size_t k = 0; k < n; k++)
    if (taken[k])
      return true;
  return false;
}

static bool price_copy(fuser *q, fuse_move *x, const char **why) {
  fuse_def *d = &q->def[x->a];
  double cost[MOST_CONCERNED + 2], old = 0, made = 0;
  uint8_t taken[256];
  size_t users;
  *why = "too many readers";
  if (d->readers.n > sizeof taken || !concerned(q, x, &q->places, &users))
    return false;
  uint32_t home = d->home;
  bool stays = mark_reads(q, x, taken, true);
  d->home = stays ? home : 0;
  bool ok =
      any_taken(taken, d->readers.n) && price_copies(q, x, stays ? 0 : x->a, users, cost, why);
  mark_reads(q, x, taken, false);
  d->home = home;
  for (size_t k = 0; ok && k < q->places.n; k++) {
    old += q->groups.at[q->places.at[k]].cost;
    made += cost[k];
  }
  x->reward = ok ? old - made : 0;
  return ok;
}

/* ---- joining */

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

static bool price_join(fuser *q, fuse_move *x, const char **why) {
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

/* ---- both */

bool fuse_move_price(fuser *q, fuse_move *x, const char **why) {
  x->stamp = fuse_move_stamp(q, x);
  x->reward = 0;
  if (x->kind == FUSE_COPY && !q->def[x->a].home) {
    *why = "copied by all that read it";
    return false;
  }
  bool ok = x->kind == FUSE_COPY ? price_copy(q, x, why) : price_join(q, x, why);
  if (ok && x->reward <= 1e-6 * q->profile->launch_s) {
    *why = "costs more";
    return false;
  }
  return ok;
}

static void renew(fuser *q, uint32_t g, fuse_list *changed) {
  fuse_group *x = &q->groups.at[g];
  fuse_parts p;
  const char *why;
  x->version++;
  x->cost = 0;
  if (!x->members.n)
    return;
  if (fuse_parts_of(q, x->members.at, x->members.n, &p, &why))
    x->cost = fuse_cost(q, &p);
  NEO_PUSH(q->a, changed, g);
}

static void make_copy(fuser *q, const fuse_move *x, fuse_list *changed) {
  fuse_def *d = &q->def[x->a];
  uint8_t taken[256];
  size_t users;
  concerned(q, x, &q->places, &users);
  if (!mark_reads(q, x, taken, true)) {
    fuse_group *g = &q->groups.at[d->home - 1];
    g->members.n = members_of(q, d->home - 1, x->a, g->members.at);
    if (!g->members.n)
      q->by_place[g->at] = 0;
    d->home = 0;
  }
  for (size_t k = 0; k < q->places.n; k++)
    renew(q, q->places.at[k], changed);
}

static bool make_join(fuser *q, const fuse_move *x, fuse_list *changed) {
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
  renew(q, x->a, changed);
  return true;
}

bool fuse_move_make(fuser *q, const fuse_move *x, fuse_list *changed) {
  changed->n = 0;
  if (x->kind == FUSE_JOIN)
    return make_join(q, x, changed);
  make_copy(q, x, changed);
  return true;
}
