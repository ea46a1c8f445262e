/* The paths from y to a `wrt`, for a request per point of a batch. Tensors on a path are copied;
 * this file finds them, and decides which copies need dimensions for the points.
 *
 * A tensor of an iteration has them already: Z[t, j] is read where t is the present iteration. It
 * is not lifted if all its readers on the path read it so, each at the point that it belongs to.
 * The set of such tensors is the largest one for which this is true. */
#include "autodiff/batch.h"
#include "ir/out_map.h"

bool ad_batch_is_own(const ad_batch_state *b, uint32_t k) {
  neo_tensor x = {neo_list_at(b->m, b->request.wrt, k)},
             dx = {neo_list_at(b->m, b->request.out, k)};
  return neo_tensor_rank(b->m, x) == neo_tensor_rank(b->m, dx);
}

neo_expr ad_batch_extent(const ad_batch_state *b, uint32_t k) {
  return neo_tensor_extent(b->m, b->request.y, k);
}

/* ---- tensors that y needs, up to those of `hold` */

typedef struct {
  ad_batch_state *b;
  bool *seen;        /* by tensor */
  neo_map of_def;    /* definitions that were met */
  neo_map custom_of; /* result of a function with its own gradient -> row of m->customs */
  NEO_VEC(neo_tensor) open;
} look;

static void push(look *l, neo_tensor t) {
  if (!t.i || l->seen[t.i] || l->b->is[t.i] & AD_HELD)
    return;
  l->seen[t.i] = true;
  NEO_PUSH(l->b->scratch, &l->open, t);
}

static void push_list(look *l, neo_list tensors) {
  for (uint32_t k = 0; k < tensors.n; k++)
    push(l, neo_list_tensor(l->b->m, tensors, k));
}

static void meet_custom(look *l, uint32_t row) {
  for (size_t k = 0; k < l->b->customs.n; k++)
    if (l->b->customs.at[k] == row)
      return;
  NEO_PUSH(l->b->scratch, &l->b->customs, row);
  push_list(l, l->b->m->customs.at[row].ins);
}

static void meet_def(look *l, neo_def d) {
  ad_path_def x = {.d = d};
  if (neo_map_get(&l->of_def, d.i, NULL))
    return;
  neo_map_set(&l->of_def, d.i, 1);
  x.n_reads = neo_def_reads(l->b->m, d, l->b->scratch, &x.read);
  NEO_PUSH(l->b->scratch, &l->b->defs, x);
  for (size_t k = 0; k < x.n_reads; k++)
    push(l, x.read[k]);
}

static void meet_all(ad_batch_state *b) {
  look l = {.b = b, .seen = NEO_NEW_ARRAY(b->scratch, bool, b->m->tensors.n)};
  neo_map_init(&l.of_def, b->scratch);
  neo_map_init(&l.custom_of, b->scratch);
  for (uint32_t c = 0; c < b->m->customs.n; c++)
    for (uint32_t k = 0; k < b->m->customs.at[c].outs.n; k++)
      neo_map_set(&l.custom_of, neo_list_at(b->m, b->m->customs.at[c].outs, k), c);
  push(&l, b->request.y);
  while (l.open.n) {
    neo_tensor t = l.open.at[--l.open.n];
    neo_list pieces = neo_tensor_at(b->m, t)->pieces;
    uint64_t row;
    if (neo_map_get(&l.custom_of, t.i, &row)) {
      meet_custom(&l, (uint32_t)row);
      continue;
    }
    for (uint32_t k = 0; k < pieces.n; k++)
      meet_def(&l, neo_list_def(b->m, pieces, k));
  }
}

/* ---- tensors among them that depend on a `wrt` */

static bool any_is(const ad_batch_state *b, neo_list tensors, int bits) {
  for (uint32_t k = 0; k < tensors.n; k++)
    if (b->is[neo_list_at(b->m, tensors, k)] & bits)
      return true;
  return false;
}

/* Sets `bits` for each float tensor of the list that has all bits of `where`. Returns whether
 * something changed. */
static bool mark(ad_batch_state *b, neo_list tensors, int where, int bits) {
  bool more = false;
  for (uint32_t k = 0; k < tensors.n; k++) {
    uint32_t t = neo_list_at(b->m, tensors, k);
    if ((b->is[t] & where) != where || (b->is[t] & bits) == bits ||
        !neo_type_is_float((neo_type)b->m->tensors.at[t].type))
      continue;
    b->is[t] = (uint8_t)(b->is[t] | bits);
    more = true;
  }
  return more;
}

static bool mark_path_once(ad_batch_state *b) {
  bool more = false;
  for (size_t k = b->defs.n; k-- > 0;) {
    bool reads = false;
    for (size_t i = 0; i < b->defs.at[k].n_reads; i++)
      reads = reads || b->is[b->defs.at[k].read[i].i] & (AD_ASKED | AD_PATH);
    more = (reads && mark(b, neo_def_at(b->m, b->defs.at[k].d)->out, 0, AD_PATH)) || more;
  }
  for (size_t k = b->customs.n; k-- > 0;) {
    const neo_custom_rec *c = &b->m->customs.at[b->customs.at[k]];
    more = (any_is(b, c->ins, AD_ASKED | AD_PATH) && mark(b, c->outs, 0, AD_PATH)) || more;
  }
  return more;
}

static void keep_path(ad_batch_state *b) {
  size_t n = 0;
  for (size_t k = 0; k < b->defs.n; k++)
    if (any_is(b, neo_def_at(b->m, b->defs.at[k].d)->out, AD_PATH))
      b->defs.at[n++] = b->defs.at[k];
  b->defs.n = n;
  n = 0;
  for (size_t k = 0; k < b->customs.n; k++)
    if (any_is(b, b->m->customs.at[b->customs.at[k]].outs, AD_PATH))
      b->customs.at[n++] = b->customs.at[k];
  b->customs.n = n;
}

/* ---- which copies are lifted */

static bool has_points(const ad_batch_state *b, neo_tensor t) {
  bool has = neo_tensor_rank(b->m, t) >= b->n;
  for (uint32_t k = 0; has && k < b->n; k++)
    has = neo_tensor_extent(b->m, t, k).i == ad_batch_extent(b, k).i;
  return has;
}

/* Whether the first axes of the definition run over the points. */
static bool runs_over_points(const ad_batch_state *b, const neo_def_rec *d) {
  int64_t lo;
  bool runs = d->n_out >= b->n;
  for (uint32_t k = 0; runs && k < b->n; k++) {
    const neo_axis_rec *a = neo_def_axis(b->m, d, k);
    neo_out_dim at = neo_out_map_at(b->m, d->out_map, k);
    runs = neo_expr_is_int(b->m, a->lo, &lo) && lo == 0 && a->hi.i == ad_batch_extent(b, k).i &&
           at.stride == 1 && at.offset == 0;
  }
  return runs;
}

typedef struct {
  ad_batch_state *b;
  bool lifted; /* the reader's copy is lifted */
  bool more;
} read_look;

static void lift(ad_batch_state *b, uint32_t t, bool *more) {
  *more = *more || !(b->is[t] & AD_LIFTED);
  b->is[t] |= AD_LIFTED;
}

static void look_read(void *ctx, neo_expr e) {
  read_look *l = ctx;
  const neo_module *m = l->b->m;
  const neo_node *n = neo_expr_node(m, e);
  if (!neo_node_is_load(n) || !(l->b->is[n->attr] & AD_PATH))
    return;
  bool here = !l->lifted;
  for (uint32_t k = 0; here && k < l->b->n && !(l->b->is[n->attr] & AD_LIFTED); k++) {
    const neo_node *at = neo_expr_node(m, neo_list_expr(m, n->arg, k));
    here = at->op == NEO_OP_AXIS && at->attr == k;
  }
  if (!here)
    lift(l->b, n->attr, &l->more);
}

static bool lift_def(ad_batch_state *b, const ad_path_def *x) {
  const neo_def_rec *d = neo_def_at(b->m, x->d);
  read_look l = {.b = b, .lifted = any_is(b, d->out, AD_LIFTED) || !runs_over_points(b, d)};
  bool more = l.lifted && mark(b, d->out, AD_PATH, AD_LIFTED);
  neo_def_visit(b->m, x->d, look_read, &l);
  return more || l.more;
}

/* Whether the custom gradient can be used unchanged at each point. */
static bool is_of_points(const ad_batch_state *b, const neo_custom_rec *c) {
  bool is = !any_is(b, c->ins, AD_LIFTED) && !any_is(b, c->outs, AD_LIFTED);
  for (uint32_t k = 0; k < c->ins.n; k++) {
    neo_tensor in = {neo_list_at(b->m, c->ins, k)};
    is = is && (!(b->is[in.i] & AD_ASKED) || has_points(b, in));
  }
  return is;
}

static bool lift_custom(ad_batch_state *b, uint32_t row) {
  const neo_custom_rec *c = &b->m->customs.at[row];
  if (is_of_points(b, c))
    return false;
  bool more = mark(b, c->ins, AD_PATH, AD_LIFTED);
  return mark(b, c->outs, AD_PATH, AD_LIFTED) || more;
}

static bool lift_once(ad_batch_state *b) {
  bool more = false;
  for (size_t k = 0; k < b->defs.n; k++)
    more = lift_def(b, &b->defs.at[k]) || more;
  for (size_t k = 0; k < b->customs.n; k++)
    more = lift_custom(b, b->customs.at[k]) || more;
  return more;
}

void ad_batch_path(ad_batch_state *b) {
  for (uint32_t k = 0; k < b->request.hold.n; k++)
    b->is[neo_list_at(b->m, b->request.hold, k)] |= AD_HELD;
  for (uint32_t k = 0; k < b->request.wrt.n; k++)
    b->is[neo_list_at(b->m, b->request.wrt, k)] |= AD_ASKED;
  meet_all(b);
  while (mark_path_once(b))
    ;
  keep_path(b);
  for (uint32_t t = 1; t < b->m->tensors.n; t++)
    if (b->is[t] & AD_PATH && !has_points(b, (neo_tensor){t}))
      b->is[t] |= AD_LIFTED;
  for (uint32_t k = 0; k < b->request.wrt.n; k++) {
    uint32_t t = neo_list_at(b->m, b->request.wrt, k);
    if (b->is[t] & AD_PATH && !ad_batch_is_own(b, k))
      b->is[t] |= AD_LIFTED;
  }
  while (lift_once(b))
    ;
}
