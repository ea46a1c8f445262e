/* Sums over the iterations of a recurrence become running sums, so that the terms need not be
 * stored.
 *
 *     G[i] = sum[t: T] d[t, i] * x[t, i]                              d: a recurrence along t
 *     ->
 *     running.G[t, i] = (running.G[t-1, i] else 0) + d[t, i] * x[t, i],   G[i] = running.G[T-1, i]
 *
 * The running sum shares the loops of the recurrence (fusion/search/needs.c): each element of d is
 * added when it is computed, and a few slices of d and of the sum are stored. This saves writing
 * and reading d if each element is used once. A product that uses elements many times (the gradient
 * of a weight) is faster outside, over all iterations; and if another reader needs all of d,
 * nothing is saved. Readers of a tensor too large for the caches may use each element once, in the
 * same iteration: on a processor they share the loops, too (fusion/search/consumers.c). */
#include "ir/component.h"
#include "ir/define.h"
#include "ir/layout.h"
#include "ir/order.h"
#include "transform/transform.h"

enum { LARGE_BYTES = 32 << 20 };

typedef struct {
  neo_module *m;
  neo_arena *a;
  neo_prover *p;
  bool gpu, large;        /* every tensor counts as large */
  const uint32_t *number; /* recurrences, by definition; */
  uint32_t n_defs;        /* definitions before the pass */
  bool *named;            /* by tensor: visible to users */
  uint32_t own;           /* current recurrence */
  neo_order_step loop;
} runner;

typedef struct {
  runner *r;
  neo_def id;
  neo_def_rec d;
  uint32_t axis; /* reduction axis along the iterations; UINT32_MAX: not known yet */
  /* the axis' start if negative, else 0; element r of the running sum has the term at first
   * + r */
  int64_t first;
  bool good;
} sum_look;

static const neo_order_member *member_of(const runner *r, neo_tensor t) {
  neo_list pieces = neo_tensor_at(r->m, t)->pieces;
  for (uint32_t k = 0; pieces.n == 1 && k < r->loop.n_members; k++)
    if (r->loop.member[k].def.i == neo_list_at(r->m, pieces, 0))
      return &r->loop.member[k];
  return NULL;
}

static bool is_made(const runner *r, neo_tensor t) {
  neo_list pieces = neo_tensor_at(r->m, t)->pieces;
  bool is = false;
  for (uint32_t k = 0; k < pieces.n; k++)
    is = is || (neo_list_at(r->m, pieces, k) < r->n_defs &&
                r->number[neo_list_at(r->m, pieces, k)] == r->own);
  return is;
}

/* Looks at a read of the recurrence: at the iteration of one reduction axis, and one-to-one in all
 * others. */
static void look_term(void *ctx, neo_expr e) {
  sum_look *s = ctx;
  neo_module *m = s->r->m;
  neo_node n = *neo_expr_node(m, e);
  if (!neo_node_is_load(&n) || !is_made(s->r, (neo_tensor){n.attr}))
    return;
  const neo_order_member *made = member_of(s->r, (neo_tensor){n.attr});
  neo_linear l;
  uint64_t axes = 0, all = s->d.axes.n < 64 ? ((uint64_t)1 << s->d.axes.n) - 1 : 0;
  for (uint32_t k = 0; k < neo_tensor_rank(m, (neo_tensor){n.attr}); k++)
    axes |= neo_expr_axes(m, neo_list_expr(m, n.arg, k));
  s->good = s->good && made && axes == all &&
            neo_linear_of(m, neo_list_expr(m, n.arg, made->axis), &l) && l.n == 1 &&
            l.term[0].coef == 1 && neo_expr_node(m, l.term[0].atom)->op == NEO_OP_AXIS;
  if (!s->good)
    return;
  uint32_t axis = neo_expr_node(m, l.term[0].atom)->attr;
  s->good = axis >= s->d.n_out && (s->axis == UINT32_MAX || s->axis == axis);
  s->axis = axis;
}

static void look_none(void *ctx, neo_expr e) {
  sum_look *s = ctx;
  const neo_node *n = neo_expr_node(s->r->m, e);
  if (neo_node_is_load(n))
    s->good = s->good && !is_made(s->r, (neo_tensor){n->attr});
}

/* Is the axis' start known, if negative? */
static bool has_first(sum_look *s) {
  int64_t lo, hi;
  neo_expr start = neo_def_axis(s->r->m, &s->d, s->axis)->lo;
  (void)neo_interval(s->r->p, NULL, start, &lo, &hi);
  s->first = lo < 0 ? lo : 0;
  return lo >= 0 || lo == hi;
}

/* Are the axis' bounds invariant and in no other bound? A single iteration needs no running sum. */
static bool is_plain_range(const sum_look *s) {
  neo_module *m = s->r->m;
  const neo_axis_rec *x = neo_def_axis(m, &s->d, s->axis);
  int64_t iterations;
  if (neo_expr_is_int(m, neo_op2(m, NEO_OP_SUB, x->hi, x->lo), &iterations) && iterations <= 1)
    return false;
  uint64_t used = neo_expr_axes(m, x->lo) | neo_expr_axes(m, x->hi);
  for (uint32_t k = s->d.n_out; k < s->d.axes.n; k++) {
    const neo_axis_rec *y = neo_def_axis(m, &s->d, k);
    used |= (neo_expr_axes(m, y->lo) | neo_expr_axes(m, y->hi)) >> s->axis & 1;
  }
  return !used && !neo_expr_uses_op(m, x->lo, NEO_OP_LOAD) &&
         !neo_expr_uses_op(m, x->hi, NEO_OP_LOAD);
}

/* Is it a sum over the iterations that uses elements of the recurrence once? */
static bool is_sum(runner *r, neo_def id, sum_look *s) {
  neo_module *m = r->m;
  *s = (sum_look){.r = r, .id = id, .d = *neo_def_at(m, id), .axis = UINT32_MAX, .good = true};
  if (r->number[id.i] || s->d.reducer != NEO_RED_SUM || s->d.body.n != 1 || s->d.out_map.n ||
      s->d.axes.n >= 64)
    return false;
  neo_type type = neo_expr_type(m, neo_list_expr(m, s->d.body, 0));
  if (type != NEO_F32_T && type != NEO_F64_T) /* narrow sums are rounded only at the end */
    return false;
  neo_expr_visit(m, neo_list_expr(m, s->d.body, 0), look_term, s);
  if (s->d.where.i)
    neo_expr_visit(m, s->d.where, look_none, s);
  for (uint32_t k = 0; k < s->d.finish.n; k++)
    neo_expr_visit(m, neo_list_expr(m, s->d.finish, k), look_none, s);
  for (uint32_t k = s->d.n_out; k < s->d.axes.n; k++) {
    neo_expr_visit(m, neo_def_axis(m, &s->d, k)->lo, look_none, s);
    neo_expr_visit(m, neo_def_axis(m, &s->d, k)->hi, look_none, s);
  }
  return s->good && s->axis != UINT32_MAX && is_plain_range(s) && has_first(s);
}

/* ---- rewriting */

static neo_axis_rec placed_axis(const sum_look *s, uint32_t k, const neo_expr *by) {
  neo_axis_rec x = *neo_def_axis(s->r->m, &s->d, k);
  x.lo = neo_expr_subst_axes(s->r->m, x.lo, by, s->d.axes.n);
  x.hi = neo_expr_subst_axes(s->r->m, x.hi, by, s->d.axes.n);
  return x;
}

/* The running sum's value at the point of the axis. */
static neo_expr element_of(const sum_look *s, neo_expr point) {
  return neo_op2(s->r->m, NEO_OP_SUB, point, neo_const_i64(s->r->m, s->first));
}

/* Defines running.G; its axes are the iteration, G's, and the remaining reduction's. */
static neo_tensor running_sum(const sum_look *s, neo_axis_rec iteration) {
  neo_module *m = s->r->m;
  const neo_def_rec *d = &s->d;
  neo_expr by[NEO_DEF_AXES], at[NEO_DEF_AXES], where = {0}, body = neo_list_expr(m, d->body, 0);
  neo_type type = neo_expr_type(m, body);
  neo_def_rec r = {.n_out = d->n_out + 1, .span = d->span};
  uint32_t id[NEO_DEF_AXES], n = 0;
  by[s->axis] = neo_op2(m, NEO_OP_ADD, neo_axis_ref(m, 0), neo_const_i64(m, s->first));
  for (uint32_t k = 0, next = 1; k < d->axes.n; k++)
    if (k != s->axis)
      by[k] = neo_axis_ref(m, next++);
  neo_expr first = element_of(s, iteration.lo);
  int64_t lo;
  iteration.lo = neo_const_i64(m, 0);
  iteration.hi = element_of(s, iteration.hi);
  if (!neo_expr_is_int(m, first, &lo) || lo != 0)
    where = neo_op2(m, NEO_OP_LE, first, neo_axis_ref(m, 0));
  id[n++] = neo_axis_add(m, iteration).i;
  for (uint32_t k = 0; k < d->axes.n; k++)
    if (k != s->axis)
      id[n++] = neo_axis_add(m, placed_axis(s, k, by)).i;
  r.axes = neo_list_new(m, id, n);
  r.origin = d->origin ? d->origin : s->id.i;
  where = neo_both(m, where, neo_expr_subst_axes(s->r->m, d->where, by, s->d.axes.n));
  body = neo_expr_subst_axes(s->r->m, body, by, s->d.axes.n);
  neo_temp t = {.prefix = "running", .like = {neo_list_at(m, d->out, 0)}, .type = type};
  neo_tensor sum = neo_temp_define(m, &t, r);
  for (uint32_t k = 0; k < r.n_out; k++)
    at[k] = neo_axis_ref(m, k);
  at[0] = neo_op2(m, s->r->loop.down ? NEO_OP_ADD : NEO_OP_SUB, at[0], neo_const_i64(m, 1));
  neo_expr zero = neo_const_float(m, type, 0);
  neo_expr value = neo_load_else(m, sum, at, r.n_out, zero, d->span),
           term = neo_acc_ref(m, type, 0);
  neo_def_rec *to = neo_def_at(m, neo_tensor_piece(m, sum, 0));
  if (n > r.n_out) {
    to->reducer = NEO_RED_SUM;
    to->where = where;
    to->body = neo_list_one(m, body.i);
  } else {
    term = where.i ? neo_op3(m, NEO_OP_SELECT, where, body, zero) : body;
  }
  to->finish = neo_list_one(m, neo_op2(m, NEO_OP_ADD, value, term).i);
  return sum;
}

static void write(const sum_look *s) {
  neo_module *m = s->r->m;
  const neo_def_rec *d = &s->d;
  neo_expr at[NEO_DEF_AXES];
  neo_type type = neo_expr_type(m, neo_list_expr(m, d->body, 0));
  neo_axis_rec iteration = *neo_def_axis(m, d, s->axis);
  neo_tensor sum = running_sum(s, iteration);
  at[0] =
      s->r->loop.down ? iteration.lo : neo_op2(m, NEO_OP_SUB, iteration.hi, neo_const_i64(m, 1));
  at[0] = element_of(s, at[0]);
  for (uint32_t k = 0; k < d->n_out; k++)
    at[k + 1] = neo_axis_ref(m, k);
  neo_expr last = neo_load_else(m, sum, at, d->n_out + 1, neo_const_float(m, type, 0), d->span);
  neo_reduction_replace(m, s->id, last);
}

/* ---- recurrences */

static bool reads(runner *r, neo_def d, neo_tensor t) {
  neo_tensor *in;
  size_t n = neo_def_reads(r->m, d, r->a, &in);
  for (size_t k = 0; k < n; k++)
    if (in[k].i == t.i)
      return true;
  return false;
}

static void look_once(void *ctx, neo_expr e) {
  sum_look *s = ctx;
  neo_module *m = s->r->m;
  const neo_node *n = neo_expr_node(m, e);
  if (!neo_node_is_load(n) || !is_made(s->r, (neo_tensor){n->attr}))
    return;
  uint64_t axes = 0;
  for (uint32_t k = 0; k < neo_tensor_rank(m, (neo_tensor){n->attr}); k++)
    axes |= neo_expr_axes(m, neo_list_expr(m, n->arg, k));
  s->good = s->good && axes == ((uint64_t)1 << s->d.axes.n) - 1;
}

/* Does the definition run along the iterations, and use each element once? */
static bool follows_iterations(runner *r, neo_def d) {
  sum_look s = {.r = r, .d = *neo_def_at(r->m, d), .good = true};
  s.good = s.d.axes.n < 64 && neo_order_iteration_axis(r->m, &r->loop, d) >= 0;
  if (s.good)
    neo_def_visit(r->m, d, look_once, &s);
  return s.good;
}

static bool is_large(runner *r, neo_tensor t) {
  int64_t lo, hi, bytes = neo_type_bytes(neo_tensor_type(r->m, t));
  for (uint32_t k = 0; k < neo_tensor_rank(r->m, t); k++)
    if (!neo_interval(r->p, NULL, neo_tensor_extent(r->m, t, k), &lo, &hi) ||
        __builtin_mul_overflow(bytes, hi, &bytes))
      return true;
  return bytes >= LARGE_BYTES;
}

/* Rewrites the readers of t outside of its recurrence that are sums over its iterations, if all
 * others run along the iterations. */
static void run_readers(runner *r, neo_tensor t) {
  neo_module *m = r->m;
  sum_look s;
  uint32_t n = 0;
  if (neo_tensor_at(m, t)->role != NEO_ROLE_TEMP || r->named[t.i] || !member_of(r, t))
    return;
  for (uint32_t k = 1; k < r->n_defs; k++) {
    if (r->number[k] == r->own || !reads(r, (neo_def){k}, t))
      continue;
    if (is_sum(r, (neo_def){k}, &s))
      n++;
    else if (r->gpu || !follows_iterations(r, (neo_def){k}) || !(r->large || is_large(r, t)))
      return;
  }
  for (uint32_t k = 1; k < r->n_defs && n; k++)
    if (r->number[k] != r->own && reads(r, (neo_def){k}, t) && is_sum(r, (neo_def){k}, &s))
      write(&s);
}

neo_status neo_pass_running_sums(const neo_pass_context *pass) {
  neo_module *m = pass->m;
  uint32_t n_tensors = (uint32_t)m->tensors.n;
  runner r = {.m = m,
              .a = pass->a,
              .gpu = pass->target->gpu_threads,
              .large = pass->target->tile_iterations,
              .number = pass->number,
              .n_defs = pass->n_defs,
              .p = pass->p};
  r.named = neo_named_tensors(m, pass->a);
  for (r.own = 1; r.own <= pass->n_recurrences; r.own++) {
    size_t n;
    const neo_def *own = neo_recurrence_members(r.number, r.n_defs, r.own, pass->a, &n);
    if (!neo_order_find(r.p, own, n, pass->a, &r.loop, NULL))
      continue;
    for (uint32_t t = 1; t < n_tensors; t++)
      if (is_made(&r, (neo_tensor){t}))
        run_readers(&r, (neo_tensor){t});
  }
  return NEO_OK;
}
