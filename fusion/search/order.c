/* A topological order of the groups, maintained while groups join.
 *
 * A group also comes after the readers of the old version of a tensor that it updates, so that the
 * new one can be written in place. Pairs that make a cycle from the start are left out (`late`),
 * and the new version is copied when the entry ends.
 *
 * Joining g and h, g before h, makes a cycle if and only if a path leads from g by a third group to
 * h; all of it lies between their positions, so only these are searched. Otherwise what h needs
 * moves before the joined group, and what needs g after it (Pearce, Kelly: A dynamic topological
 * sort algorithm for directed acyclic graphs, 2006). */
#include "fusion/search/search.h"
#include <assert.h>
#include <stdlib.h>

enum { MOST_SEARCHED = 1000 };

/* ---- neighbours */

static void begin_list(fuser *q, fuse_list *out) {
  q->listing++;
  out->n = 0;
}

static void add_group(fuse_list *out, fuser *q, uint32_t g) {
  if (q->listed[g] == q->listing)
    return;
  q->listed[g] = q->listing;
  NEO_PUSH(q->a, out, g);
}

static uint64_t pair_key(uint32_t reader, uint32_t writer) {
  return (uint64_t)reader << 32 | writer;
}

static void add_places(fuser *q, uint32_t d, fuse_list *out) {
  if (q->seen[d] == q->walk)
    return;
  q->seen[d] = q->walk;
  const fuse_def *x = &q->def[d];
  if (x->home)
    add_group(out, q, x->home - 1);
  for (size_t k = 0; k < x->readers.n; k++)
    if (fuse_read_of(q, x->readers.at[k])->copied)
      add_places(q, x->readers.at[k].def, out);
}

void fuse_places(fuser *q, uint32_t d, fuse_list *out) {
  q->listing++;
  for (size_t k = 0; k < out->n; k++)
    q->listed[out->at[k]] = q->listing;
  q->walk++;
  add_places(q, d, out);
}

static void need_pieces(fuser *q, const fuse_read *r, uint32_t g, fuse_list *out) {
  neo_list pieces = neo_tensor_at(q->m, r->t)->pieces;
  for (uint32_t i = 0; i < pieces.n; i++) {
    uint32_t home = q->def[neo_list_at(q->m, pieces, i)].home;
    if (home && home != g + 1)
      add_group(out, q, home - 1);
  }
}

static void before_part(fuser *q, uint32_t d, uint32_t g, fuse_list *out) {
  if (q->seen[d] == q->walk)
    return;
  q->seen[d] = q->walk;
  const fuse_def *x = &q->def[d];
  for (uint32_t i = 0; i < x->n_read; i++)
    if (x->read[i].copied)
      before_part(q, x->read[i].from, g, out);
    else
      need_pieces(q, &x->read[i], g, out);
}

static void drop(fuse_list *l, uint32_t g) {
  size_t n = 0;
  for (size_t k = 0; k < l->n; k++)
    if (l->at[k] != g)
      l->at[n++] = l->at[k];
  l->n = n;
}

static void before_update(fuser *q, uint32_t d, fuse_list *out) {
  for (uint32_t i = 0; i < q->def[d].n_outs; i++) {
    neo_tensor old = neo_tensor_at(q->m, fuse_out(q, d, i))->updates;
    const fuse_tensor *t = &q->tensor[old.i];
    for (size_t k = 0; old.i && k < t->readers.n; k++)
      if (!neo_map_get(&q->late, pair_key(t->readers.at[k], d), NULL))
        add_places(q, t->readers.at[k], out);
  }
}

void fuse_before(fuser *q, uint32_t g, fuse_list *out) {
  const fuse_group *x = &q->groups.at[g];
  begin_list(q, out);
  q->walk++;
  for (size_t k = 0; k < x->members.n; k++)
    before_part(q, x->members.at[k], g, out);
  q->walk++;
  for (size_t k = 0; k < x->members.n; k++)
    before_update(q, x->members.at[k], out);
  drop(out, g);
}

/* Adds groups that write new versions of tensors that d, or its copies, reads. */
static void after_reader(fuser *q, uint32_t d, fuse_list *out) {
  if (q->seen[d] == q->walk)
    return;
  q->seen[d] = q->walk;
  const fuse_def *x = &q->def[d];
  for (uint32_t i = 0; i < x->n_read; i++) {
    const fuse_tensor *t = &q->tensor[x->read[i].t.i];
    for (size_t k = 0; k < t->updaters.n; k++)
      if (q->def[t->updaters.at[k]].home &&
          !neo_map_get(&q->late, pair_key(d, t->updaters.at[k]), NULL))
        add_group(out, q, q->def[t->updaters.at[k]].home - 1);
    if (x->read[i].copied)
      after_reader(q, x->read[i].from, out);
  }
}

void fuse_after(fuser *q, uint32_t g, fuse_list *out) {
  const fuse_group *x = &q->groups.at[g];
  begin_list(q, out);
  q->walk++;
  for (size_t k = 0; k < x->members.n; k++)
    after_reader(q, x->members.at[k], out);
  q->walk++;
  for (size_t k = 0; k < x->members.n; k++) {
    const fuse_def *d = &q->def[x->members.at[k]];
    for (size_t i = 0; i < d->readers.n; i++)
      if (!fuse_read_of(q, d->readers.at[i])->copied)
        add_places(q, d->readers.at[i].def, out);
  }
  drop(out, g);
}

/* ---- joining */

typedef struct {
  fuser *q;
  uint32_t lo, hi;  /* positions */
  fuse_list *found; /* groups strictly between */
  bool meets, far;
} search;

/* Searches groups between the positions that are reached from `from` (or reach it). A direct edge
 * to `other` does not count. */
static void look(search *c, uint32_t from, uint32_t other, bool forward) {
  fuser *q = c->q;
  fuse_list *next = &q->next;
  c->found->n = 0;
  q->finding++;
  for (size_t i = 0; i <= c->found->n && !c->meets && !c->far; i++) {
    uint32_t g = i ? c->found->at[i - 1] : from;
    q->n_searched++;
    if (forward)
      fuse_after(q, g, next);
    else
      fuse_before(q, g, next);
    for (size_t k = 0; k < next->n; k++) {
      uint32_t x = next->at[k], at = q->groups.at[x].at;
      c->meets = c->meets || (i && x == other);
      if (at <= c->lo || at >= c->hi || q->found[x] == q->finding)
        continue;
      q->found[x] = q->finding;
      NEO_PUSH(q->a, c->found, x);
    }
    c->far = c->found->n > MOST_SEARCHED;
  }
}

static int by_number(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

static uint32_t *places_of(fuser *q, const fuse_list *l, uint32_t *out) {
  for (size_t k = 0; k < l->n; k++)
    *out++ = q->groups.at[l->at[k]].at;
  return out;
}

static int by_place(const void *a, const void *b) {
  const uint32_t *x = a, *y = b; /* (position, group) */
  return (x[0] > y[0]) - (x[0] < y[0]);
}

/* Puts the groups of a list, in order, at the next positions. */
static const uint32_t *settle(fuser *q, const fuse_list *l, const uint32_t *place) {
  uint32_t *pairs = NEO_NEW_ARRAY(q->a, uint32_t, 2 * l->n + 1);
  for (size_t k = 0; k < l->n; k++) {
    pairs[2 * k] = q->groups.at[l->at[k]].at;
    pairs[2 * k + 1] = l->at[k];
  }
  qsort(pairs, l->n, 2 * sizeof *pairs, by_place);
  for (size_t k = 0; k < l->n; k++, place++) {
    q->groups.at[pairs[2 * k + 1]].at = *place;
    q->by_place[*place] = pairs[2 * k + 1] + 1;
  }
  return place;
}

/* Reorders: what the later group needs, the joined group g, what needs the earlier one. */
static void reorder(fuser *q, uint32_t g, uint32_t first, uint32_t last, const fuse_list *needed,
                    const fuse_list *needing) {
  size_t n = needed->n + needing->n + 2;
  uint32_t *place = NEO_NEW_ARRAY(q->a, uint32_t, n + 1);
  uint32_t *end = places_of(q, needing, places_of(q, needed, place));
  *end++ = q->groups.at[first].at;
  *end = q->groups.at[last].at;
  qsort(place, n, sizeof *place, by_number);
  for (size_t k = 0; k < n; k++)
    q->by_place[place[k]] = 0;
  const uint32_t *next = settle(q, needed, place);
  q->groups.at[g].at = *next;
  q->by_place[*next] = g + 1;
  settle(q, needing, next + 1);
}

bool fuse_order_joins(fuser *q, uint32_t g, uint32_t h, bool change, const char **why) {
  uint32_t first = q->groups.at[g].at < q->groups.at[h].at ? g : h, last = first == g ? h : g;
  search after = {q, q->groups.at[first].at, q->groups.at[last].at, &q->forth, false, false};
  look(&after, first, last, true);
  if (after.meets || after.far) {
    *why = after.far ? "too far apart" : "another kernel comes between";
    return false;
  }
  if (!change)
    return true;
  search before = {q, after.lo, after.hi, &q->back, false, false};
  look(&before, last, first, false);
  *why = "too far apart";
  if (before.far)
    return false;
  assert(!before.meets && "found from the other side");
  reorder(q, g, first, last, &q->back, &q->forth);
  return true;
}

bool fuse_order_copies(fuser *q, uint32_t d, uint32_t g) {
  fuse_list *writers = &q->next;
  begin_list(q, writers);
  q->walk++;
  after_reader(q, d, writers);
  for (size_t k = 0; k < writers->n; k++)
    if (writers->at[k] != g && q->groups.at[writers->at[k]].at < q->groups.at[g].at)
      return false;
  return true;
}

/* ---- the first order: definition by definition */

typedef struct {
  fuser *q;
  uint32_t *data, *old; /* by definition: producers, and readers of old versions, that are left */
  bool *done;
  fuse_list ready, half; /* heaps, by position in the order of definitions */
  uint32_t n;
} starter;

static bool sooner(const fuser *q, uint32_t a, uint32_t b) {
  return q->def[a].at < q->def[b].at;
}

static void heap_push(fuser *q, fuse_list *h, uint32_t d) {
  NEO_PUSH(q->a, h, d);
  for (size_t k = h->n - 1; k && sooner(q, h->at[k], h->at[(k - 1) / 2]); k = (k - 1) / 2) {
    uint32_t t = h->at[k];
    h->at[k] = h->at[(k - 1) / 2];
    h->at[(k - 1) / 2] = t;
  }
}

static uint32_t heap_pop(fuser *q, fuse_list *h) {
  uint32_t top = h->at[0], x = h->at[--h->n];
  size_t k = 0;
  for (;;) {
    size_t c = 2 * k + 1;
    if (c >= h->n)
      break;
    c += c + 1 < h->n && sooner(q, h->at[c + 1], h->at[c]);
    if (!sooner(q, h->at[c], x))
      break;
    h->at[k] = h->at[c];
    k = c;
  }
  if (h->n)
    h->at[k] = x;
  return top;
}

/* The first definition of d's group: a recurrence is one group from the start. */
static uint32_t unit_of(const fuser *q, uint32_t d) {
  return q->groups.at[q->def[d].home - 1].members.at[0];
}

static void offer(starter *s, uint32_t d) {
  if (!s->data[d])
    heap_push(s->q, s->old[d] ? &s->half : &s->ready, d);
}

/* Counts the updaters of tensors that d reads, except d. */
static void count_old(starter *s, uint32_t d, int change) {
  const fuse_def *x = &s->q->def[d];
  for (uint32_t i = 0; i < x->n_read; i++) {
    const fuse_tensor *t = &s->q->tensor[x->read[i].t.i];
    for (size_t k = 0; k < t->updaters.n; k++) {
      uint32_t u = t->updaters.at[k];
      if (u == d || neo_map_get(&s->q->late, pair_key(d, u), NULL))
        continue;
      s->old[u] += (uint32_t)change;
      if (change < 0 && !s->old[u])
        offer(s, u);
    }
  }
}

static void release_readers(starter *s, uint32_t d) {
  fuser *q = s->q;
  const fuse_def *x = &q->def[d];
  for (size_t k = 0; k < x->readers.n; k++) {
    uint32_t r = unit_of(q, x->readers.at[k].def);
    if (r != unit_of(q, d) && !--s->data[r])
      offer(s, r);
  }
  count_old(s, d, -1);
}

static void put_next(starter *s, uint32_t d) {
  fuser *q = s->q;
  uint32_t g = q->def[d].home - 1;
  const fuse_group *x = &q->groups.at[g];
  for (size_t k = 0; k < x->members.n; k++)
    s->done[x->members.at[k]] = true;
  q->groups.at[g].at = s->n;
  q->by_place[s->n++] = g + 1;
  for (size_t k = 0; k < x->members.n; k++)
    release_readers(s, x->members.at[k]);
}

/* Drops the remaining readers of old versions that d replaces: they read a copy. */
static void leave_out(starter *s, uint32_t d) {
  for (uint32_t i = 0; i < s->q->def[d].n_outs; i++) {
    neo_tensor old = neo_tensor_at(s->q->m, fuse_out(s->q, d, i))->updates;
    const fuse_tensor *t = &s->q->tensor[old.i];
    for (size_t k = 0; old.i && k < t->readers.n; k++)
      if (!s->done[t->readers.at[k]] && t->readers.at[k] != d)
        neo_map_set(&s->q->late, pair_key(t->readers.at[k], d), 1);
  }
}

void fuse_order(fuser *q) {
  starter s = {.q = q};
  s.data = NEO_NEW_ARRAY(q->a, uint32_t, q->m->defs.n + 1);
  s.old = NEO_NEW_ARRAY(q->a, uint32_t, q->m->defs.n + 1);
  s.done = NEO_NEW_ARRAY(q->a, bool, q->m->defs.n + 1);
  q->by_place = NEO_NEW_ARRAY(q->a, uint32_t, q->n_order + 1);
  neo_map_init(&q->late, q->a);
  for (size_t k = 0; k < q->n_order; k++) {
    const fuse_def *x = &q->def[q->order[k]];
    for (size_t i = 0; i < x->readers.n; i++) {
      uint32_t r = unit_of(q, x->readers.at[i].def);
      s.data[r] += r != unit_of(q, q->order[k]);
    }
    count_old(&s, q->order[k], 1);
  }
  for (size_t k = 0; k < q->n_order; k++)
    if (unit_of(q, q->order[k]) == q->order[k])
      offer(&s, q->order[k]);
  while (s.n < q->groups.n) {
    fuse_list *from = s.ready.n ? &s.ready : &s.half;
    assert(from->n && "definitions have no cycle");
    uint32_t d = heap_pop(q, from);
    if (s.done[d])
      continue;
    if (from == &s.half && s.old[d])
      leave_out(&s, d);
    put_next(&s, d);
  }
}
