/* Inlining: the move that copies an elementwise value into its readers, each of which computes it
 * where it uses it, also as a prologue inside of a reduction.
 *
 *     H[i, j] = relu(X[i, j])
 *     Y[i] = sum[j] H[i, j] * W[j]        ->        Y[i] = sum[j] relu(X[i, j]) * W[j]
 *
 * A copy is for all readers, for those of one pass, or for a single one. The definition is not
 * stored once all of its readers have a copy. */
#include "fusion/search/search.h"

/* readers of a copy (fuse_move.b); ONE + k: the k-th */
enum { ALL, BACKWARD, FORWARD, ONE };
enum { MOST_CONCERNED = 40, MOST_ONE_BY_ONE = 4, MOST_COPIES = 256 };

/* Is the copy for this reader, which has none yet? */
static bool takes(const fuser *q, const fuse_move *x, size_t reader) {
  const fuse_edge e = q->def[x->a].readers.at[reader];
  const fuse_read *r = fuse_read_of(q, e);
  if (r->copied || r->ordered)
    return false;
  switch (x->b) {
  case ALL:
    return true;
  case BACKWARD:
    return q->def[e.def].backward;
  case FORWARD:
    return !q->def[e.def].backward;
  default:
    return reader == x->b - ONE;
  }
}

/* Marks the reads of those readers, or unmarks them; taken[k] says whether reader k was marked.
 * True: the definition is still wanted, or has a reader without a copy. */
static bool mark_reads(fuser *q, const fuse_move *x, uint8_t *taken, bool on) {
  fuse_def *d = &q->def[x->a];
  bool read = d->wanted;
  for (size_t k = 0; k < d->readers.n; k++) {
    if (on)
      taken[k] = takes(q, x, k);
    if (taken[k])
      fuse_read_of(q, d->readers.at[k])->copied = on;
    read = read || !fuse_read_of(q, d->readers.at[k])->copied;
  }
  return read;
}

/* ---- groups whose cost changes */

static void add_once(fuser *q, uint32_t g, fuse_list *out) {
  for (size_t k = 0; k < out->n; k++)
    if (out->at[k] == g)
      return;
  NEO_PUSH(q->a, out, g);
}

/* Adds the groups of operands of d and its copies. Their readers matter when saved activations have
 * a price. */
static void add_producers(fuser *q, const fuse_def *d, fuse_list *out) {
  for (uint32_t k = 0; k < d->n_read; k++)
    if (d->read[k].copied)
      add_producers(q, &q->def[d->read[k].from], out);
    else if (d->read[k].from)
      add_once(q, q->def[d->read[k].from].home - 1, out);
}

/* Lists the group of the value, those that use it (*n groups so far), then others. False: too
 * many. */
static bool concerned(fuser *q, const fuse_move *x, fuse_list *out, size_t *n) {
  const fuse_def *d = &q->def[x->a];
  out->n = 0;
  NEO_PUSH(q->a, out, d->home - 1);
  for (size_t k = 0; k < d->readers.n && out->n <= MOST_CONCERNED; k++)
    if (takes(q, x, k))
      fuse_places(q, d->readers.at[k].def, out);
  *n = out->n;
  if (q->price > 0)
    add_producers(q, d, out);
  return out->n <= MOST_CONCERNED;
}

static uint64_t stamp(fuser *q, const fuse_move *x) {
  size_t n;
  if (!q->def[x->a].home)
    return FUSE_GONE;
  return concerned(q, x, &q->places, &n) ? fuse_stamp_of(q, &q->places) : 1;
}

/* ---- price */

/* Members of g except the definition that moves away; returns how many. */
static size_t members_of(fuser *q, uint32_t g, uint32_t without, uint32_t *out) {
  const fuse_group *x = &q->groups.at[g];
  size_t n = 0;
  for (size_t k = 0; k < x->members.n && n < FUSE_MOST_PARTS; k++)
    if (x->members.at[k] != without)
      out[n++] = x->members.at[k];
  return n;
}

/* The cost of the concerned groups after the move, into cost[]; the first n of them have the value
 * or read it. */
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

static bool price(fuser *q, fuse_move *x, const char **why) {
  fuse_def *d = &q->def[x->a];
  double cost[MOST_CONCERNED + 2], old = 0, made = 0;
  uint8_t taken[MOST_COPIES];
  size_t users;
  *why = "copied by all that read it";
  if (!d->home)
    return false;
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

/* ---- making the move */

static bool apply(fuser *q, const fuse_move *x, fuse_list *changed) {
  fuse_def *d = &q->def[x->a];
  uint8_t taken[MOST_COPIES];
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
    fuse_renew(q, q->places.at[k], changed);
  return true;
}

/* ---- candidates */

static void offer(fuser *q, uint32_t id, uint32_t readers, fuse_moves *out) {
  NEO_PUSH(q->a, out, (fuse_move){.a = id, .b = readers});
}

static void offer_copies(fuser *q, uint32_t id, fuse_moves *out) {
  const fuse_def *d = &q->def[id];
  uint32_t back = 0, n = (uint32_t)d->readers.n;
  if (!d->plain || !d->home || !n || d->flag) /* kernels test the value that others read */
    return;
  for (uint32_t k = 0; k < n; k++) {
    const fuse_def *reader = &q->def[d->readers.at[k].def];
    if (reader->concat) /* written in place for that one */
      return;
    back += reader->backward;
  }
  offer(q, id, ALL, out);
  if (back && back < n) {
    offer(q, id, BACKWARD, out);
    offer(q, id, FORWARD, out);
  }
  for (uint32_t k = 0; n > 1 && n <= MOST_ONE_BY_ONE && k < n; k++)
    offer(q, id, ONE + k, out);
}

static void offer_reads(fuser *q, uint32_t id, fuse_moves *out) {
  const fuse_def *d = &q->def[id];
  offer_copies(q, id, out);
  for (uint32_t k = 0; k < d->n_read; k++) {
    const fuse_read *r = &d->read[k];
    if (r->copied)
      offer_reads(q, r->from, out);
    else if (r->from)
      offer_copies(q, r->from, out);
  }
}

/* Offers copies of the group's definitions, and of their operands. */
static void match(fuser *q, uint32_t g, fuse_moves *out) {
  const fuse_group *x = &q->groups.at[g];
  for (size_t k = 0; k < x->members.n; k++)
    offer_reads(q, x->members.at[k], out);
}

/* ---- as a decision */

/* Is the value wanted inside of a reduction? */
static bool in_reduction(const fuser *q, const fuse_move *x) {
  const fuse_def *d = &q->def[x->a];
  bool reduced = false;
  for (size_t k = 0; k < d->readers.n; k++)
    reduced = reduced || (takes(q, x, k) && fuse_read_of(q, d->readers.at[k])->reduced);
  return reduced;
}

static neo_decision describe(fuser *q, const fuse_move *x) {
  static const neo_copy_readers readers[] = {
      [ALL] = NEO_COPY_ALL, [BACKWARD] = NEO_COPY_BACKWARD, [FORWARD] = NEO_COPY_FORWARD};
  neo_decision d = {.verb = NEO_DECISION_COPY,
                    .kind = in_reduction(q, x) ? NEO_FUSE_PROLOGUE : NEO_FUSE_INLINE,
                    .readers = x->b < ONE ? readers[x->b] : NEO_COPY_NAMED,
                    .of = fuse_out(q, x->a, 0)};
  if (d.readers == NEO_COPY_NAMED) {
    d.with = fuse_with(q, fuse_out(q, q->def[x->a].readers.at[x->b - ONE].def, 0));
    d.n_with = 1;
  }
  return d;
}

const fuse_rules fuse_copy_rules = {.when = FUSE_BEST_FIRST,
                                    .match = match,
                                    .price = price,
                                    .apply = apply,
                                    .stamp = stamp,
                                    .describe = describe};
