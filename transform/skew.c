/* Loop skewing: a recurrence along two axes becomes one along a wavefront of independent elements.
 *
 *     D[n, i, j] = c[n, i, j] + min(D[n, i-1, j], D[n, i, j-1])           loops over i, j
 *     ->
 *     skewed.D[t, n, i] = select(0 <= t-i and t-i < M, c[n, i, t-i] + min(skewed.D[t-1, n, i-1],
 *                                skewed.D[t-1, n, i]), 0)                 loop over t = i + j
 *     D[n, i, j] = skewed.D[i+j, n, i]
 *
 * Iteration t has the elements with f*i + j = t, f so large that each reads earlier iterations.
 * There are f*N + M iterations in place of N*M, and lanes run along i. Elements without a position
 * j are 0, and nobody reads them; where f is 1 the shorter axis stays, so that they are few. The
 * dimension of iterations is the outermost, so an iteration's elements are contiguous, and a few
 * slices are enough where nobody else reads D (fusion/recurrence/fold.c). (L. Lamport, "The
 * parallel execution of DO loops"; M. Wolfe, "Loops skewing: the wavefront method revisited".) */
#include "ir/clone.h"
#include "ir/component.h"
#include "ir/define.h"
#include "ir/element.h"
#include "ir/limits.h"
#include "ir/order.h"
#include "transform/embed.h"
#include "transform/transform.h"

enum { MOST_FACTOR = 4, LEAST_EXTENT = 4, FULL_VECTOR = 16 };

typedef struct { /* a skewed tensor: iteration = lane_by*lane + dropped_by*dropped + shift */
  neo_tensor to; /* 0: not skewed */
  uint32_t lane, dropped;      /* dimensions of the original */
  int64_t lane_by, dropped_by; /* the latter is 1 or -1 */
  neo_expr shift;
  uint8_t place[16]; /* other dimensions in the skewed tensor; 0: the iteration */
} skew;

typedef struct {
  neo_module *m;
  neo_arena *a;
  neo_prover *p;
  const uint32_t *number; /* recurrences, by definition */
  skew *of;               /* by tensor */
  bool *moved;            /* by definition: its results are skewed */
  bool inside;            /* the current reader is skewed too */
  int64_t least;          /* least extent of an axis */
  uint32_t n_defs, n_tensors;
} skewing;

typedef struct { /* the two loops of a recurrence */
  skewing *s;
  const neo_order_step *outer, *inner;
  const neo_order_member *reader; /* current member, in the outer loop */
  bool good;
  int64_t factor; /* factor of the outer axis, so that all reads so far are of earlier iterations */
} loops;

static neo_expr number_of(const skewing *s, int64_t x) {
  return neo_const_i64(s->m, x);
}

static neo_expr times(const skewing *s, int64_t by, neo_expr e) {
  return neo_op2(s->m, NEO_OP_MUL, number_of(s, by), e);
}

static neo_expr plus(const skewing *s, neo_expr a, neo_expr b) {
  return neo_op2(s->m, NEO_OP_ADD, a, b);
}

static const neo_order_member *member_of(const neo_order_step *loop, uint32_t def) {
  for (uint32_t k = 0; k < loop->n_members; k++)
    if (loop->member[k].def.i == def)
      return &loop->member[k];
  return NULL;
}

/* ---- finding recurrences */

/* Iterations of the loop between the read and its reader; false: not a constant. */
static bool distance(const loops *l, const neo_order_step *loop, const neo_order_member *made,
                     neo_expr read, int64_t *iterations) {
  neo_module *m = l->s->m;
  neo_linear x;
  const neo_order_member *own = member_of(loop, l->reader->def.i),
                         *from = member_of(loop, made->def.i);
  neo_expr at =
      neo_op2(m, NEO_OP_SUB, neo_axis_ref(m, own->axis), neo_expr_arg(m, read, from->axis));
  if (!neo_linear_of(m, at, &x) || x.n)
    return false;
  *iterations = x.constant + own->delay - from->delay;
  *iterations = loop->down ? -*iterations : *iterations;
  return true;
}

static void look_read(void *ctx, neo_expr e) {
  loops *l = ctx;
  neo_module *m = l->s->m;
  const neo_node *n = neo_expr_node(m, e);
  int64_t outer, inner;
  if (!l->good || !neo_node_is_load(n))
    return;
  neo_list pieces = neo_tensor_at(m, (neo_tensor){n->attr})->pieces;
  const neo_order_member *made = pieces.n ? member_of(l->outer, neo_list_at(m, pieces, 0)) : NULL;
  if (!made)
    return;
  l->good = distance(l, l->outer, made, e, &outer) && distance(l, l->inner, made, e, &inner);
  if (!l->good || outer <= 0) {
    l->good = l->good && outer == 0 && inner >= 0;
    return;
  }
  int64_t least = inner >= 1 ? 0 : (outer - inner) / outer; /* least*outer + inner >= 1 */
  l->factor = least > l->factor ? least : l->factor;
}

/* Can all results of the definition be skewed? */
static bool can_move(const skewing *s, neo_def d) {
  const neo_module *m = s->m;
  const neo_def_rec *r = neo_def_at(m, d);
  bool can = !r->out_map.n && r->axes.n <= NEO_SET_AXES && r->n_out <= NEO_TENSOR_RANK;
  for (uint32_t k = 0; k < r->out.n && can; k++) {
    const neo_tensor_rec *t = neo_tensor_at(m, neo_list_tensor(m, r->out, k));
    can = t->role == NEO_ROLE_TEMP && t->pieces.n == 1 && !t->bound.i;
  }
  return can;
}

static bool range_of(const skewing *s, neo_def d, uint32_t axis, int64_t *lo, int64_t *hi) {
  neo_expr extent = neo_def_axis(s->m, neo_def_at(s->m, d), axis)->hi;
  return neo_interval(s->p, NULL, extent, lo, hi);
}

/* Has each of the two axes enough positions for lanes? None may be empty. */
static bool is_long(const skewing *s, const neo_order_member *x) {
  int64_t lo, hi;
  return range_of(s, x->def, x->axis, &lo, &hi) && lo > 0 && hi >= s->least;
}

/* Is it a perfect nest of two loops, with reads of constant distances? */
static bool is_skewable(loops *l) {
  skewing *s = l->s;
  if (l->outer->n_steps != 1 || l->outer->step[0].def.i ||
      l->outer->step[0].n_members != l->outer->n_members)
    return false;
  l->inner = &l->outer->step[0];
  l->good = true;
  l->factor = 1;
  for (uint32_t k = 0; k < l->outer->n_members && l->good; k++) {
    l->reader = &l->outer->member[k];
    l->good = can_move(s, l->reader->def) && is_long(s, l->reader) &&
              is_long(s, member_of(l->inner, l->reader->def.i));
    if (l->good)
      neo_def_visit(s->m, l->reader->def, look_read, l);
  }
  return l->good && l->factor <= MOST_FACTOR;
}

/* ---- iterations */

/* Is the outer loop's axis the shorter one, or the only one that can stay? */
static bool outer_stays(const loops *l) {
  int64_t lo, outer = 0, inner = 0;
  const neo_order_member *x = &l->outer->member[0];
  (void)range_of(l->s, x->def, x->axis, &lo, &outer);
  (void)range_of(l->s, x->def, member_of(l->inner, x->def.i)->axis, &lo, &inner);
  return l->factor > 1 || outer <= inner;
}

/* Orders dimensions: the iteration, then the others. If a loop's axis was innermost, another
 * dimension becomes so if it fills vectors: a wavefront begins and ends with few elements. */
static void place_dimensions(const loops *l, neo_def d, skew *x) {
  uint32_t n = neo_def_at(l->s->m, d)->n_out, at = 1, last = n;
  int64_t lo = 0, hi;
  for (uint32_t k = 0; k < n; k++)
    last = k != x->lane && k != x->dropped ? k : last;
  bool first = last < n && last + 1 < n && range_of(l->s, d, last, &lo, &hi) && lo >= FULL_VECTOR;
  if (first)
    x->place[x->lane] = (uint8_t)at++;
  for (uint32_t k = 0; k < n; k++)
    if (k != x->dropped && !(first && k == x->lane))
      x->place[k] = (uint8_t)at++;
}

static skew skew_of(const loops *l, neo_def d) {
  skewing *s = l->s;
  uint32_t outer = member_of(l->outer, d.i)->axis, inner = member_of(l->inner, d.i)->axis;
  bool against = l->outer->down != l->inner->down;
  skew x = {.lane = outer, .dropped = inner, .lane_by = l->factor, .dropped_by = against ? -1 : 1};
  x.shift = number_of(s, 0);
  if (against) /* the least iteration is 0 */
    x.shift = neo_op2(s->m, NEO_OP_SUB, neo_def_axis(s->m, neo_def_at(s->m, d), inner)->hi,
                      number_of(s, 1));
  if (!outer_stays(l)) {
    x.lane = inner;
    x.dropped = outer;
    x.lane_by = x.dropped_by;
    x.dropped_by = 1;
  }
  place_dimensions(l, d, &x);
  return x;
}

/* The iteration of an element. */
static neo_expr iteration_of(const skewing *s, const skew *x, neo_expr lane, neo_expr dropped) {
  neo_expr e = plus(s, times(s, x->lane_by, lane), times(s, x->dropped_by, dropped));
  return neo_linear_form(s->m, plus(s, e, x->shift));
}

/* The number of iterations: the last element's, and one. */
static neo_expr iterations_of(const skewing *s, const skew *x, neo_expr lanes, neo_expr dropped) {
  neo_module *m = s->m;
  neo_expr one = number_of(s, 1), zero = number_of(s, 0);
  neo_expr lane = x->lane_by > 0 ? neo_op2(m, NEO_OP_SUB, lanes, one) : zero;
  neo_expr other = x->dropped_by > 0 ? neo_op2(m, NEO_OP_SUB, dropped, one) : zero;
  return neo_linear_form(m, plus(s, iteration_of(s, x, lane, other), one));
}

/* ---- skewed definitions */

typedef struct {
  const skew *x;
  neo_expr by[NEO_DEF_AXES]; /* axis -> its expression in the skewed definition */
  neo_expr is;               /* the element exists */
} placement;

static placement place(const skewing *s, const neo_def_rec *d, const skew *x) {
  neo_module *m = s->m;
  placement p = {.x = x};
  for (uint32_t k = 0; k < d->axes.n; k++)
    p.by[k] = neo_axis_ref(m, k < d->n_out ? x->place[k] : k);
  neo_expr at = neo_op2(m, NEO_OP_SUB, neo_axis_ref(m, 0), x->shift);
  at = neo_op2(m, NEO_OP_SUB, at, times(s, x->lane_by, p.by[x->lane]));
  p.by[x->dropped] = neo_linear_form(s->m, times(s, x->dropped_by, at));
  p.is = neo_between(s->m, number_of(s, 0), p.by[x->dropped], neo_def_axis(m, d, x->dropped)->hi);
  return p;
}

static neo_list placed_axes(const skewing *s, const placement *p, const neo_def_rec *d) {
  neo_module *m = s->m;
  uint32_t id[NEO_DEF_AXES];
  neo_axis_rec first = *neo_def_axis(m, d, p->x->dropped);
  first.hi = iterations_of(s, p->x, neo_def_axis(m, d, p->x->lane)->hi, first.hi);
  id[0] = neo_axis_add(m, first).i;
  for (uint32_t k = 0; k < d->n_out; k++)
    if (k != p->x->dropped)
      id[p->x->place[k]] = neo_list_at(m, d->axes, k);
  for (uint32_t k = d->n_out; k < d->axes.n; k++) {
    neo_axis_rec axis = *neo_def_axis(m, d, k);
    axis.lo = neo_expr_subst_axes(s->m, axis.lo, p->by, d->axes.n);
    axis.hi = neo_expr_subst_axes(s->m, axis.hi, p->by, d->axes.n);
    id[k] = neo_axis_add(m, axis).i;
  }
  return neo_list_new(m, id, d->axes.n);
}

/* The definition's values, and 0 where the element does not exist. */
static neo_list placed_finish(const skewing *s, const placement *p, const neo_def_rec *d) {
  neo_module *m = s->m;
  uint32_t id[NEO_DEF_AXES];
  for (uint32_t k = 0; k < d->finish.n; k++) {
    neo_expr e = neo_expr_subst_axes(s->m, neo_list_expr(m, d->finish, k), p->by, d->axes.n);
    neo_type t = neo_expr_type(m, e);
    neo_expr zero = neo_const_int(m, t, 0);
    id[k] = neo_op3(m, NEO_OP_SELECT, p->is, e, zero).i;
  }
  return neo_list_new(m, id, d->finish.n);
}

/* Defines the tensor as a copy of the skewed one. */
static void define_copy(const skewing *s, const neo_def_rec *d, neo_def origin, neo_tensor t) {
  neo_module *m = s->m;
  const skew *x = &s->of[t.i];
  neo_expr at[NEO_DEF_AXES];
  for (uint32_t k = 0; k < d->n_out; k++)
    if (k != x->dropped)
      at[x->place[k]] = neo_axis_ref(m, k);
  at[0] = iteration_of(s, x, neo_axis_ref(m, x->lane), neo_axis_ref(m, x->dropped));
  neo_equation_define(m, origin, t, neo_list_first(d->axes, d->n_out),
                      neo_load(m, x->to, at, d->n_out, d->span));
}

/* Adds the skewed tensor as the definition's result. */
static neo_tensor add_skewed(const skewing *s, const neo_def_rec *d, neo_def id, neo_tensor t) {
  neo_module *m = s->m;
  const skew *x = &s->of[t.i];
  neo_tensor_rec r = *neo_tensor_at(m, t);
  uint32_t extent[NEO_DEF_AXES];
  extent[0] =
      iterations_of(s, x, neo_tensor_extent(m, t, x->lane), neo_tensor_extent(m, t, x->dropped)).i;
  for (uint32_t k = 0; k < d->n_out; k++)
    if (k != x->dropped)
      extent[x->place[k]] = neo_list_at(m, r.extent, k);
  r.extent = neo_list_new(m, extent, d->n_out);
  neo_element_ends_drop(&r);
  r.name = neo_tensor_fresh_name(m, "skewed", neo_name_text(m->names, r.name));
  r.pieces = neo_list_one(m, id.i);
  r.partial = true;
  return neo_tensor_add(m, r);
}

static void move(skewing *s, neo_def id, const skew *x) {
  neo_module *m = s->m;
  neo_def_rec d = *neo_def_at(m, id), to = d;
  placement p = place(s, &d, x);
  uint32_t out[4];
  to.axes = placed_axes(s, &p, &d);
  to.finish = placed_finish(s, &p, &d);
  to.body = neo_list_subst_axes(s->m, d.body, p.by, d.axes.n);
  to.where = neo_expr_subst_axes(s->m, d.where, p.by, d.axes.n);
  if (d.reducer != NEO_RED_NONE)
    to.where = to.where.i ? neo_op2(m, NEO_OP_AND, p.is, to.where) : p.is;
  for (uint32_t k = 0; k < d.out.n; k++) {
    neo_tensor t = {neo_list_at(m, d.out, k)};
    s->of[t.i] = *x;
    s->of[t.i].to = add_skewed(s, &d, id, t);
    out[k] = s->of[t.i].to.i;
  }
  to.out = neo_list_new(m, out, d.out.n);
  *neo_def_at(m, id) = to;
  s->moved[id.i] = true;
  for (uint32_t k = 0; k < d.out.n; k++)
    define_copy(s, &d, id, neo_list_tensor(m, d.out, k));
}

/* ---- reads of skewed definitions */

/* Does a reader outside read the skewed tensor? Only a single element, which may be of the last
 * iterations; others read the copy. */
static bool is_direct(const skewing *s, const skew *x, const neo_node *n) {
  neo_module *m = s->m;
  return s->inside || (!neo_expr_axes(m, neo_list_expr(m, n->arg, x->lane)) &&
                       !neo_expr_axes(m, neo_list_expr(m, n->arg, x->dropped)));
}

static neo_expr read_skewed(void *ctx, neo_module *m, neo_expr e) {
  const skewing *s = ctx;
  neo_node n = *neo_expr_node(m, e);
  bool read = neo_node_is_load(&n);
  const skew *x = read && n.attr < s->n_tensors ? &s->of[n.attr] : NULL;
  if (!x || !x->to.i || !is_direct(s, x, &n))
    return e;
  neo_tensor t = {n.attr};
  uint32_t rank = neo_tensor_rank(m, t);
  neo_expr at[NEO_NODE_ARGS], dropped = neo_list_expr(m, n.arg, x->dropped);
  for (uint32_t k = 0; k < rank; k++)
    if (k != x->dropped)
      at[x->place[k]] = neo_list_expr(m, n.arg, k);
  at[0] = iteration_of(s, x, neo_list_expr(m, n.arg, x->lane), dropped);
  if (n.op == NEO_OP_LOAD)
    return neo_load(m, x->to, at, rank, n.span);
  neo_expr other = neo_list_expr(m, n.arg, rank);
  neo_expr value = neo_load_else(m, x->to, at, rank, other, n.span);
  return neo_op3(m, NEO_OP_SELECT,
                 neo_between(s->m, number_of(s, 0), dropped, neo_tensor_extent(m, t, x->dropped)),
                 value, other);
}

/* ---- the pass */

static void skew_recurrence(skewing *s, const neo_def *own, size_t n) {
  neo_order_step order;
  loops l = {.s = s, .outer = &order};
  if (!neo_order_find(s->p, own, n, s->a, &order, NULL) || !is_skewable(&l))
    return;
  skew *x = NEO_NEW_ARRAY(s->a, skew, n);
  for (size_t k = 0; k < n; k++)
    x[k] = skew_of(&l, own[k]);
  for (size_t k = 0; k < n; k++)
    move(s, own[k], &x[k]);
}

neo_status neo_pass_skew(const neo_pass_context *pass) {
  neo_module *m = pass->m;
  skewing s = {.m = m,
               .a = pass->a,
               .p = pass->p,
               .n_defs = pass->n_defs,
               .n_tensors = (uint32_t)m->tensors.n};
  s.least = pass->target->tile_iterations ? 1 : LEAST_EXTENT;
  s.of = NEO_NEW_ARRAY(pass->a, skew, s.n_tensors);
  s.moved = NEO_NEW_ARRAY(pass->a, bool, s.n_defs);
  for (uint32_t r = 1; r <= pass->n_recurrences; r++) {
    size_t n;
    const neo_def *own = neo_recurrence_members(pass->number, s.n_defs, r, pass->a, &n);
    skew_recurrence(&s, own, n);
  }
  for (uint32_t k = 1; k < s.n_defs && pass->n_recurrences; k++) {
    s.inside = s.moved[k];
    neo_def_rewrite(m, (neo_def){k}, read_skewed, &s);
    if (s.moved[k])
      neo_embed_def(s.p, (neo_def){k});
  }
  return NEO_OK;
}
