/* Which sums of products are nested in those that read them (nested.h).
 *
 * A sum may be, if nothing wants its tensor, and all that read it, by way of elementwise values
 * that then are copied, are bodies of reductions whose kernels blocks of threads can run. All of
 * them compute it, so that the tensor is in no memory. That is one move, made before all others:
 * the steps on its way, copies of elementwise values into products, are no gain each by itself.
 *
 * Its reward is what the kernels cost now, less what they cost then, and the room: a byte of memory
 * has a price on targets that have kernels for it. Only tensors larger than what they are made from
 * are looked at. */
#include "fusion/search/search.h"
#include "fusion/nested.h"

enum { MOST_INNER = 12, MOST_HOSTS = 12 };

typedef struct {
  fuser *q;
  uint32_t inner[MOST_INNER], n_inner; /* the sum; elementwise values between it and the hosts */
  uint32_t host[MOST_HOSTS], n_hosts;
  NEO_VEC(fuse_edge) marked; /* reads that were made copies */
} nesting;

/* ---- who reads it */

typedef struct {
  const fuser *q;
  neo_tensor t;
  bool found;
} use;

static void find_use(void *ctx, neo_expr e) {
  use *u = ctx;
  const neo_node *n = neo_expr_node(u->q->m, e);
  u->found = u->found || ((n->op == NEO_OP_LOAD || n->op == NEO_OP_LOAD_ELSE) && n->attr == u->t.i);
}

/* Does the reduction read t elsewhere than in its body? */
static bool reads_outside(const fuser *q, uint32_t d, neo_tensor t) {
  const neo_def_rec *r = neo_def_at(q->m, (neo_def){d});
  use u = {q, t, false};
  neo_expr_visit(q->m, r->where, find_use, &u);
  for (uint32_t k = r->n_out; k < r->axes.n; k++) {
    neo_expr_visit(q->m, neo_def_axis(q->m, r, k)->lo, find_use, &u);
    neo_expr_visit(q->m, neo_def_axis(q->m, r, k)->hi, find_use, &u);
  }
  for (uint32_t k = 0; k < r->finish.n; k++)
    neo_expr_visit(q->m, neo_list_expr(q->m, r->finish, k), find_use, &u);
  return u.found;
}

static bool at_axes(const fuse_read *r) {
  for (uint32_t k = 0; k < r->rank; k++)
    if (r->axis[k] < 0)
      return false;
  return r->rank > 0;
}

static bool known(const uint32_t *list, uint32_t n, uint32_t d) {
  for (uint32_t k = 0; k < n; k++)
    if (list[k] == d)
      return true;
  return false;
}

static bool add(uint32_t *list, uint32_t *n, uint32_t most, uint32_t d) {
  if (known(list, *n, d))
    return true;
  if (*n == most)
    return false;
  list[(*n)++] = d;
  return true;
}

/* One that reads an inner definition: a host, or another inner one. */
static bool add_reader(nesting *x, fuse_edge e) {
  const fuser *q = x->q;
  const fuse_def *d = &q->def[e.def];
  const fuse_read *r = fuse_read_of(q, e);
  if (!at_axes(r) || d->lone || (!d->home && !d->plain))
    return false;
  if (d->plain)
    return d->readers.n && !d->wanted && add(x->inner, &x->n_inner, MOST_INNER, e.def);
  return fuse_is_reduction(d) && d->n_outs == 1 && d->slanted && !d->equation && !d->scans &&
         r->reduced && !reads_outside(q, e.def, r->t) &&
         add(x->host, &x->n_hosts, MOST_HOSTS, e.def);
}

static bool find_hosts(nesting *x) {
  for (uint32_t k = 0; k < x->n_inner; k++) {
    const fuse_def *d = &x->q->def[x->inner[k]];
    for (size_t i = 0; i < d->readers.n; i++)
      if (!add_reader(x, d->readers.at[i]))
        return false;
  }
  return x->n_hosts > 0;
}

/* ---- which sums */

/* Has it inner sums of its own? */
static bool is_host(const fuser *q, uint32_t id) {
  const fuse_def *d = &q->def[id];
  for (uint32_t k = 0; k < d->n_read; k++)
    if (d->read[k].copied &&
        (fuse_is_reduction(&q->def[d->read[k].from]) || is_host(q, d->read[k].from)))
      return true;
  return false;
}

static bool is_candidate(fuser *q, uint32_t id) {
  const fuse_def *d = &q->def[id];
  const neo_def_rec *r = neo_def_at(q->m, (neo_def){id});
  double from = 0;
  if (!d->product || r->reducer != NEO_RED_SUM || d->wanted || d->lone || !d->home || !d->ranged ||
      r->where.i || d->n_outs != 1 || d->readers.n == 0 || d->call_invariant || is_host(q, id) ||
      neo_tensor_at(q->m, fuse_out(q, id, 0))->role != NEO_ROLE_TEMP)
    return false;
  for (uint32_t k = 0; k < d->n_read; k++)
    from += fuse_bytes(q, d->read[k].t);
  return fuse_bytes(q, fuse_out(q, id, 0)) > from;
}

/* ---- making it so, and taking it back */

static void mark(nesting *x) {
  fuser *q = x->q;
  for (uint32_t k = 0; k < x->n_inner; k++) {
    fuse_def *d = &q->def[x->inner[k]];
    for (size_t i = 0; i < d->readers.n; i++) {
      fuse_edge e = d->readers.at[i];
      if (fuse_read_of(q, e)->copied)
        continue;
      fuse_read_of(q, e)->copied = true;
      NEO_PUSH(q->a, &x->marked, e);
    }
    d->home = 0;
  }
}

static void unmark(nesting *x, const uint32_t *home) {
  for (size_t k = 0; k < x->marked.n; k++)
    fuse_read_of(x->q, x->marked.at[k])->copied = false;
  for (uint32_t k = 0; k < x->n_inner; k++)
    x->q->def[x->inner[k]].home = home[k];
}

/* The cost of a host's kernel as it would be; negative: there is none. */
static double price_host(nesting *x, uint32_t host) {
  fuser *q = x->q;
  uint32_t g = q->def[host].home - 1;
  fuse_parts p;
  neo_nested shape;
  const char *why;
  for (uint32_t k = 0; k < x->n_inner; k++)
    if (!fuse_order_copies(q, x->inner[k], g))
      return -1;
  if (!fuse_parts_of(q, q->groups.at[g].members.at, q->groups.at[g].members.n, &p, &why))
    return -1;
  neo_group made = fuse_group_of(q, &q->groups.at[g]);
  if (!neo_nested_of(q->m, neo_group_form(q->m, &made), &shape))
    return -1;
  return fuse_cost(q, &p);
}

static void explain(const nesting *x, double reward) {
  const fuser *q = x->q;
  if (!q->explain)
    return;
  for (uint32_t k = 0; k <= x->n_hosts; k++) {
    uint32_t d = k ? x->host[k - 1] : x->inner[0];
    const char *name = neo_name_text(q->m->names, neo_tensor_at(q->m, fuse_out(q, d, 0))->name);
    neo_str_addf(q->explain, k == 0 ? "nested %s into" : k == 1 ? " %s" : ", %s", name);
  }
  neo_str_addf(q->explain, ": saves %.3g us\n", 1e6 * reward);
}

static void settle(nesting *x, const uint32_t *home, const double *cost) {
  fuser *q = x->q;
  for (uint32_t k = 0; k < x->n_inner; k++) {
    if (!home[k])
      continue;
    fuse_group *g = &q->groups.at[home[k] - 1];
    g->members.n = 0;
    g->cost = 0;
    g->version++;
    q->by_place[g->at] = 0;
  }
  for (uint32_t k = 0; k < x->n_hosts; k++) {
    fuse_group *g = &q->groups.at[q->def[x->host[k]].home - 1];
    g->cost = cost[k];
    g->version++;
  }
}

static void try(fuser *q, uint32_t id) {
  nesting x = {.q = q, .inner = {id}, .n_inner = 1};
  uint32_t home[MOST_INNER];
  double cost[MOST_HOSTS], reward = q->profile->room_s * fuse_bytes(q, fuse_out(q, id, 0));
  if (!find_hosts(&x))
    return;
  for (uint32_t k = 0; k < x.n_inner; k++) {
    home[k] = q->def[x.inner[k]].home;
    reward += home[k] ? q->groups.at[home[k] - 1].cost : 0;
  }
  mark(&x);
  bool ok = true;
  for (uint32_t k = 0; ok && k < x.n_hosts; k++) {
    cost[k] = price_host(&x, x.host[k]);
    ok = cost[k] >= 0;
    reward += q->groups.at[q->def[x.host[k]].home - 1].cost - cost[k];
  }
  if (!ok || reward <= 0) {
    unmark(&x, home);
    return;
  }
  explain(&x, reward);
  settle(&x, home, cost);
}

void fuse_nested(fuser *q) {
  if (q->profile->products_per_s <= 0 || q->off >> NEO_FUSE_NESTED & 1)
    return;
  for (size_t k = 0; k < q->n_order; k++)
    if (is_candidate(q, q->order[k]))
      try(q, q->order[k]);
}
