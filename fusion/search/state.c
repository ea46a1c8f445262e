/* Groups of the state: the first ones, their prices, and their public form. */
#include "base/hash.h"
#include "fusion/search/search.h"
#include <assert.h>

uint64_t fuse_stamp_of(fuser *q, const fuse_list *groups) {
  uint64_t h = 0;
  for (size_t k = 0; k < groups->n; k++) {
    uint32_t g = groups->at[k];
    h = neo_hash_mix(h, (uint64_t)g << 32 | q->groups.at[g].version);
  }
  return h | 2;
}

const neo_tensor *fuse_with(fuser *q, neo_tensor t) {
  return neo_arena_copy(q->a, &t, sizeof t);
}

void fuse_price(fuser *q, double price) {
  fuse_parts p;
  const char *why;
  q->price = price;
  for (size_t k = 0; k < q->groups.n; k++) {
    fuse_group *g = &q->groups.at[k];
    if (fuse_parts_of(q, g->members.at, g->members.n, &p, &why))
      g->cost = fuse_cost(q, &p);
  }
}

void fuse_renew(fuser *q, uint32_t g, fuse_list *changed) {
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

double fuse_total(const fuser *q) {
  double t = 0;
  for (size_t k = 0; k < q->groups.n; k++)
    t += q->groups.at[k].cost;
  return t;
}

static const int8_t *shared_of(fuser *q, const fuse_parts *p, uint32_t k) {
  bool first = true;
  for (uint32_t s = 0; s < p->n_shared; s++)
    first = first && p->shared[k][s] == (int8_t)s;
  return first ? NULL : neo_arena_copy(q->a, p->shared[k], sizeof p->shared[k]);
}

/* Is t wanted, or read outside of group `home`? */
static bool leaves(const fuser *q, neo_tensor t, uint32_t home) {
  const fuse_tensor *x = &q->tensor[t.i];
  bool found = q->wanted[t.i];
  for (size_t k = 0; k < x->readers.n && !found; k++)
    found = q->def[x->readers.at[k]].home != home;
  return found;
}

/* The price of the group's definitions, each alone and over all of its points, without the cost of
 * their order: for reports only. */
static neo_group_cost members_cost(fuser *q, const fuse_group *x) {
  neo_group_cost sum = {.launch_s = q->profile->launch_s};
  fuse_parts p;
  const char *why;
  for (size_t k = 0; k < x->members.n; k++) {
    fuse_def *d = &q->def[x->members.at[k]];
    uint32_t number = d->recurrence;
    d->recurrence = 0; /* priced as a kernel of its own */
    bool has_parts = fuse_parts_of(q, &x->members.at[k], 1, &p, &why);
    neo_group_cost c = has_parts ? fuse_cost_of(q, &p) : (neo_group_cost){0};
    d->recurrence = number;
    sum = fuse_cost_sum(sum, c);
    sum.total_s += c.total_s - c.launch_s;
  }
  sum.total_s += sum.launch_s;
  return sum;
}

static neo_group recurrence_of(fuser *q, const fuse_group *x) {
  neo_group g = {.entry = q->entry, .cached = q->caches};
  bool *outside = NEO_NEW_ARRAY(q->a, bool, q->m->tensors.n);
  for (size_t k = 0; k < x->members.n; k++) {
    uint32_t d = x->members.at[k];
    neo_member y = {{d}, NEO_PLACE_ROOT, NULL, false};
    NEO_PUSH(q->a, &g.members, y);
    g.cached = g.cached && q->def[d].call_invariant;
    for (uint32_t i = 0; i < q->def[d].n_outs; i++)
      outside[fuse_out(q, d, i).i] = leaves(q, fuse_out(q, d, i), q->def[d].home);
  }
  fuse_set_branch(q, x->members.at, x->members.n, &g);
  g.cost = members_cost(q, x);
  neo_group_finish_recurrence(q->m, q->a, &g, outside, &q->recurrences);
  return g;
}

static neo_group levels_of(fuser *q, const fuse_group *x) {
  uint32_t d = x->members.at[0];
  neo_group g = {.entry = q->entry, .cached = q->caches && q->def[d].call_invariant};
  bool *outside = NEO_NEW_ARRAY(q->a, bool, q->m->tensors.n);
  NEO_PUSH(q->a, &g.members, ((neo_member){{d}, NEO_PLACE_ROOT, NULL, false}));
  for (uint32_t i = 0; i < q->def[d].n_outs; i++)
    outside[fuse_out(q, d, i).i] = leaves(q, fuse_out(q, d, i), q->def[d].home);
  fuse_set_branch(q, &d, 1, &g);
  g.cost = (neo_group_cost){.launch_s = q->profile->launch_s, .total_s = q->profile->launch_s};
  neo_group_finish_levels(q->m, q->a, &g, outside);
  return g;
}

neo_group fuse_group_of(fuser *q, const fuse_group *x) {
  if (q->def[x->members.at[0]].recurrence)
    return recurrence_of(q, x);
  if (neo_def_is_levels(neo_def_at(q->m, (neo_def){x->members.at[0]})))
    return levels_of(q, x);
  neo_group g = {.entry = q->entry};
  fuse_parts p;
  const char *why;
  bool ok = fuse_parts_of(q, x->members.at, x->members.n, &p, &why);
  assert(ok && "groups have a form");
  (void)ok;
  g.cached = fuse_is_cached(q, &p);
  for (uint32_t k = 0; k < p.n; k++) {
    neo_member y = {{p.def[k]}, NEO_PLACE_INLINE, NULL, false};
    if (p.member[k]) {
      y.place = fuse_leaves(q, &p, k) ? NEO_PLACE_ROOT : NEO_PLACE_REGISTER;
      y.shared = shared_of(q, &p, k);
    }
    NEO_PUSH(q->a, &g.members, y);
  }
  fuse_set_branch(q, x->members.at, x->members.n, &g);
  g.cost = fuse_cost_of(q, &p);
  neo_group_finish(q->m, q->a, &g);
  return g;
}
