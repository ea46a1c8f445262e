/* Nested reductions: the move that computes a sum of products inside of the sums that read it
 * (fusion/nested.h).
 *
 * A sum may be nested if nothing wants its tensor, and if every reader is the body of a
 * reduction whose kernel blocks of threads can run. Elementwise values in between are copied.
 * Every host computes the sum, and the tensor is not stored. The move comes first, because its
 * single steps (copies of elementwise values into products) gain nothing.
 *
 * The reward is the price of the kernels before, less that after, plus the memory saved: targets
 * with such kernels have a price for a byte. Only a tensor larger than all of its sources is
 * tried. */
#include "fusion/nested.h"
#include "fusion/search/search.h"

enum { MOST_INNER = 12, MOST_HOSTS = 12 };

typedef struct {
  fuser *q;
  uint32_t inner[MOST_INNER], n_inner; /* the sum; elementwise values between it and the hosts */
  uint32_t home[MOST_INNER];           /* their groups before the move */
  uint32_t host[MOST_HOSTS], n_hosts;
  NEO_VEC(fuse_edge) marked; /* reads that became copies */
} nesting;

/* ---- readers */

typedef struct {
  const fuser *q;
  neo_tensor t;
  bool found;
} use;

static void find_use(void *ctx, neo_expr e) {
  use *u = ctx;
  const neo_node *n = neo_expr_node(u->q->m, e);
  u->found = u->found || (neo_node_is_load(n) && n->attr == u->t.i);
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

static bool listed(const uint32_t *list, uint32_t n, uint32_t d) {
  for (uint32_t k = 0; k < n; k++)
    if (list[k] == d)
      return true;
  return false;
}

static bool add(uint32_t *list, uint32_t *n, uint32_t most, uint32_t d) {
  if (listed(list, *n, d))
    return true;
  if (*n == most)
    return false;
  list[(*n)++] = d;
  return true;
}

/* Adds a reader of an inner definition: a host, or another inner one. */
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

/* ---- finding sums */

/* Has the reduction inner sums? */
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

/* ---- marking copies, and unmarking them */

static void mark(nesting *x) {
  fuser *q = x->q;
  for (uint32_t k = 0; k < x->n_inner; k++) {
    fuse_def *d = &q->def[x->inner[k]];
    x->home[k] = d->home;
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

static void unmark(nesting *x) {
  for (size_t k = 0; k < x->marked.n; k++)
    fuse_read_of(x->q, x->marked.at[k])->copied = false;
  for (uint32_t k = 0; k < x->n_inner; k++)
    x->q->def[x->inner[k]].home = x->home[k];
}

/* The cost of a host's kernel after the move; negative: it has none. */
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

/* Price and memory of the sum and the values between it and the hosts before the move. */
static double saved(const nesting *x) {
  double s = x->q->profile->room_s * fuse_bytes(x->q, fuse_out(x->q, x->inner[0], 0));
  for (uint32_t k = 0; k < x->n_inner; k++)
    s += x->home[k] ? x->q->groups.at[x->home[k] - 1].cost : 0;
  return s;
}

static bool price_hosts(nesting *x, double *reward) {
  for (uint32_t k = 0; k < x->n_hosts; k++) {
    double cost = price_host(x, x->host[k]);
    if (cost < 0)
      return false;
    *reward += x->q->groups.at[x->q->def[x->host[k]].home - 1].cost - cost;
  }
  return true;
}

static bool price(fuser *q, fuse_move *x, const char **why) {
  nesting n = {.q = q, .inner = {x->a}, .n_inner = 1};
  *why = "not all of its readers are reductions of blocks";
  if (!find_hosts(&n))
    return false;
  mark(&n);
  x->reward = saved(&n);
  bool ok = price_hosts(&n, &x->reward);
  unmark(&n);
  return ok;
}

/* ---- making the move */

static void leave_group(fuser *q, uint32_t g) {
  fuse_group *x = &q->groups.at[g];
  x->members.n = 0;
  x->cost = 0;
  x->version++;
  q->by_place[x->at] = 0;
}

static bool apply(fuser *q, const fuse_move *x, fuse_list *changed) {
  nesting n = {.q = q, .inner = {x->a}, .n_inner = 1};
  if (!find_hosts(&n))
    return false;
  mark(&n);
  for (uint32_t k = 0; k < n.n_inner; k++)
    if (n.home[k])
      leave_group(q, n.home[k] - 1);
  for (uint32_t k = 0; k < n.n_hosts; k++)
    fuse_renew(q, q->def[n.host[k]].home - 1, changed);
  return true;
}

/* ---- the row of the table */

static void match(fuser *q, uint32_t g, fuse_moves *out) {
  const fuse_group *x = &q->groups.at[g];
  bool may = q->profile->products_per_s > 0 && x->members.n == 1;
  if (may && is_candidate(q, x->members.at[0]))
    NEO_PUSH(q->a, out, (fuse_move){.a = x->members.at[0]});
}

static neo_decision describe(fuser *q, const fuse_move *x) {
  nesting n = {.q = q, .inner = {x->a}, .n_inner = 1};
  neo_tensor *hosts = NEO_NEW_ARRAY(q->a, neo_tensor, MOST_HOSTS);
  bool found = find_hosts(&n);
  for (uint32_t k = 0; found && k < n.n_hosts; k++)
    hosts[k] = fuse_out(q, n.host[k], 0);
  return (neo_decision){.verb = NEO_DECISION_COPY,
                        .kind = NEO_FUSE_NESTED,
                        .readers = NEO_COPY_NAMED,
                        .of = fuse_out(q, x->a, 0),
                        .with = hosts,
                        .n_with = found ? n.n_hosts : 0};
}

const fuse_rules fuse_nested_rules = {
    .when = FUSE_FIRST, .match = match, .price = price, .apply = apply, .describe = describe};
