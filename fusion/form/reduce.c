/* Stages of reductions: reducers as accumulators, bounds over shared axes as conditions, and inner
 * sums as stages. */
#include "fusion/form/builder.h"
#include <assert.h>

static neo_expr wide(neo_module *m, neo_expr e) {
  neo_type t = neo_expr_type(m, e);
  return t == NEO_F16_T || t == NEO_BF16_T ? neo_cast(m, NEO_F32_T, e) : e;
}

/* Adds an accumulator and returns its ACC. */
static neo_expr add_acc(neo_form_builder *b, neo_stage *s, neo_reducer kind, neo_expr body) {
  neo_type t = neo_expr_type(b->m, body);
  neo_form_acc acc = {(uint8_t)kind, (uint8_t)t, neo_form_flatten(b, s, body)};
  NEO_PUSH(b->m->arena, &s->accs, acc);
  return neo_acc_ref(b->m, t, b->f->n_accs++);
}

/* cond and each bound <= AXIS (below), or AXIS < each bound, for a maximum (minimum) of bounds. */
static neo_expr and_bounds(neo_module *m, neo_expr cond, neo_expr bound, neo_expr axis,
                           bool below) {
  neo_op op = (neo_op)neo_expr_node(m, bound)->op;
  if (op == (below ? NEO_OP_MAX : NEO_OP_MIN)) {
    neo_expr first = neo_expr_arg(m, bound, 0), second = neo_expr_arg(m, bound, 1);
    return and_bounds(m, and_bounds(m, cond, first, axis, below), second, axis, below);
  }
  if (neo_expr_is_int(m, bound, &(int64_t){0}))
    return cond; /* implied by the constant range */
  neo_expr c = below ? neo_op2(m, NEO_OP_LE, bound, axis) : neo_op2(m, NEO_OP_LT, axis, bound);
  return cond.i ? neo_op2(m, NEO_OP_AND, cond, c) : c;
}

/* Relaxes bounds over shared axes to a condition on a constant range, so that those axes may be
 * lanes; the lowering makes bounds of conditions again where they are not:
 *
 *     r in max(0, h - 13)..min(3, h + 2)   ->   r in 0..3 where h - 13 <= r and r < h + 2 */
static neo_expr relax(neo_form_builder *b, const neo_stage *s, neo_axis_rec *x, uint32_t position,
                      neo_expr cond) {
  neo_module *m = b->m;
  uint64_t axes = neo_form_axes(m, b->f, x->lo) | neo_form_axes(m, b->f, x->hi);
  uint64_t shared = (1ULL << b->f->axes.n) - 1;
  int64_t lo, hi, unused;
  neo_axis_rec all[NEO_FORM_MAX_AXES];
  neo_facts facts = {all, neo_stage_axes(b->f, s, all), NULL, 0};
  bool reads = neo_form_reads(m, x->lo) || neo_form_reads(m, x->hi);
  if (!(axes & shared) || axes & ~shared || reads)
    return cond;
  if (!neo_interval(b->p, &facts, x->lo, &lo, &unused) ||
      !neo_interval(b->p, &facts, x->hi, &unused, &hi) || hi - lo > 1 << 20)
    return cond;
  neo_expr axis = neo_axis_ref(m, position);
  cond = and_bounds(m, cond, x->lo, axis, true);
  cond = and_bounds(m, cond, x->hi, axis, false);
  x->lo = neo_const_i64(m, lo);
  x->hi = neo_const_i64(m, hi);
  return cond;
}

/* Does a range inside of axis k read memory, which is in range only where the outer ranges hold? */
static bool protects(const neo_form_builder *b, const neo_def_rec *d, uint32_t k) {
  for (uint32_t i = k + 1; i < d->axes.n; i++) {
    const neo_axis_rec *x = neo_def_axis(b->m, d, i);
    if (neo_expr_uses_op(b->m, x->lo, NEO_OP_LOAD) || neo_expr_uses_op(b->m, x->hi, NEO_OP_LOAD))
      return true;
  }
  return false;
}

/* A stage over the definition's reduction axes. */
static neo_stage begin_stage(neo_form_builder *b, const neo_def_rec *d) {
  neo_stage s = {.first_acc = b->f->n_accs};
  neo_expr cond = {0};
  int64_t c;
  for (uint32_t k = d->n_out; k < d->axes.n; k++) {
    neo_axis_rec x = *neo_def_axis(b->m, d, k);
    x.lo = neo_form_flatten(b, &s, neo_form_put_in(b, x.lo));
    x.hi = neo_form_flatten(b, &s, neo_form_put_in(b, x.hi));
    if (!protects(b, d, k))
      cond = relax(b, &s, &x, k, cond);
    NEO_PUSH(b->m->arena, &s.axes, x);
  }
  s.where = cond; /* the condition may rely on the bounds */
  neo_expr where = neo_form_flatten(b, &s, neo_form_put_in(b, d->where));
  if (where.i && !(neo_expr_is_int(b->m, where, &c) && c))
    s.where = cond.i ? neo_op2(b->m, NEO_OP_AND, cond, where) : where;
  return s;
}

/* logsumexp x = m + log(sum exp(x - m)), m = max x */
static void add_logsumexp(neo_form_builder *b, const neo_def_rec *d, neo_expr body) {
  neo_module *m = b->m;
  neo_stage s = begin_stage(b, d);
  neo_expr x = wide(m, body), top = add_acc(b, &s, NEO_RED_MAX, x);
  neo_form_end_stage(b, s);
  s = begin_stage(b, d);
  neo_expr base = neo_finite_or_zero(m, top);
  neo_expr y = neo_op1(m, NEO_OP_EXP, neo_op2(m, NEO_OP_SUB, x, base));
  neo_expr sum = add_acc(b, &s, NEO_RED_SUM, y);
  neo_form_end_stage(b, s);
  y = neo_op2(m, NEO_OP_ADD, base, neo_op1(m, NEO_OP_LOG, sum));
  b->acc[0] = neo_cast(m, neo_expr_type(m, body), y);
}

/* Points of the definition's reduction, if its axes have independent bounds and no condition; else
 * 0. */
static neo_expr plain_count(neo_form_builder *b, const neo_def_rec *d) {
  neo_module *m = b->m;
  neo_expr n = neo_const_i64(m, 1);
  if (d->where.i)
    return (neo_expr){0};
  for (uint32_t k = d->n_out; k < d->axes.n; k++) {
    neo_axis_rec x = *neo_def_axis(m, d, k);
    x.lo = neo_form_put_in(b, x.lo);
    x.hi = neo_form_put_in(b, x.hi);
    neo_expr points = neo_axis_points(m, &x);
    if (neo_expr_axes(m, points) >> d->n_out)
      return (neo_expr){0};
    n = neo_op2(m, NEO_OP_MUL, n, points);
  }
  return n;
}

static void add_mean(neo_form_builder *b, const neo_def_rec *d, neo_expr body) {
  neo_module *m = b->m;
  neo_stage s = begin_stage(b, d);
  neo_expr sum = add_acc(b, &s, NEO_RED_SUM, wide(m, body)), n = plain_count(b, d);
  if (!n.i)
    n = add_acc(b, &s, NEO_RED_SUM, neo_const_i64(m, 1));
  neo_form_end_stage(b, s);
  neo_expr mean = neo_op2(m, NEO_OP_DIV, sum, neo_cast(m, neo_expr_type(m, sum), n));
  b->acc[0] = neo_cast(m, neo_expr_type(m, body), mean);
  b->acc[1] = n;
}

/* Does a result use the winner's position? If not, one accumulator for the winner's value is
 * enough. */
static bool wants_payload(const neo_form_builder *b, const neo_def_rec *d) {
  bool wants = false;
  for (uint32_t k = 0; k < d->finish.n; k++)
    wants = wants || neo_expr_accs(b->m, neo_list_expr(b->m, d->finish, k)) & 2;
  return wants;
}

static void add_simple(neo_form_builder *b, const neo_def_rec *d, const neo_expr *body) {
  neo_stage s = begin_stage(b, d);
  neo_expr acc = add_acc(b, &s, (neo_reducer)d->reducer, wide(b->m, body[0]));
  b->acc[0] = neo_cast(b->m, neo_expr_type(b->m, body[0]), acc);
  if (d->body.n > 1 && wants_payload(b, d))
    b->acc[1] = add_acc(b, &s, NEO_RED_NONE, body[1]);
  neo_form_end_stage(b, s);
}

/* ---- inner sums */

/* Adds the stage of an inner sum in the current body: over the axes of that reduction, then its
 * own. Returns its value. */
static neo_expr inner_sum(neo_form_builder *b, const neo_def_rec *host, const neo_def_rec *d,
                          const neo_expr *index) {
  neo_module *m = b->m;
  neo_expr by[NEO_DEF_AXES];
  neo_stage s = {.first_acc = b->f->n_accs, .over = host->axes.n - host->n_out};
  assert(d->axes.n <= NEO_DEF_AXES && host->n_out == b->f->axes.n);
  for (uint32_t k = 0; k < d->axes.n; k++)
    by[k] = k < d->n_out ? index[k] : neo_axis_ref(m, host->axes.n + k - d->n_out);
  for (uint32_t k = host->n_out; k < host->axes.n + d->axes.n - d->n_out; k++) {
    bool own = k < host->axes.n;
    neo_axis_rec x =
        own ? *neo_def_axis(m, host, k) : *neo_def_axis(m, d, d->n_out + k - host->axes.n);
    neo_expr lo = neo_form_put_in(b, x.lo), hi = neo_form_put_in(b, x.hi);
    x.lo = neo_form_flatten(b, &s, own ? lo : neo_expr_subst_axes(m, lo, by, d->axes.n));
    x.hi = neo_form_flatten(b, &s, own ? hi : neo_expr_subst_axes(m, hi, by, d->axes.n));
    if (own && !protects(b, host, k))
      relax(b, &s, &x, k, (neo_expr){0}); /* as in the outer reduction, which has the condition */
    NEO_PUSH(m->arena, &s.axes, x);
  }
  neo_expr body = wide(m, neo_form_put_in(b, neo_list_expr(m, d->body, 0)));
  neo_expr acc = add_acc(b, &s, NEO_RED_SUM, neo_expr_subst_axes(m, body, by, d->axes.n));
  neo_form_end_stage(b, s);
  b->acc[0] = neo_cast(m, neo_expr_type(m, neo_list_expr(m, d->body, 0)), acc);
  neo_expr y = neo_form_put_in(b, neo_list_expr(m, d->finish, 0));
  b->acc[0] = (neo_expr){0};
  return neo_expr_subst_axes(m, y, by, d->axes.n);
}

typedef struct {
  neo_form_builder *b;
  const neo_def_rec *host;
} nesting;

static neo_expr nested_node(void *ctx, neo_module *m, neo_expr e) {
  const nesting *c = ctx;
  neo_node n = *neo_expr_node(m, e);
  uint64_t def, value;
  neo_expr index[NEO_DEF_AXES];
  if (n.op != NEO_OP_LOAD || !neo_map_get(&c->b->nested, n.attr, &def))
    return e;
  if (neo_map_get(&c->b->inner, e.i, &value))
    return (neo_expr){(uint32_t)value};
  for (uint32_t k = 0; k < n.arg.n; k++)
    index[k] = neo_list_expr(m, n.arg, k);
  neo_def_rec d = *neo_def_at(m, (neo_def){(uint32_t)def});
  neo_expr y = inner_sum(c->b, c->host, &d, index);
  neo_map_set(&c->b->inner, e.i, y.i);
  return y;
}

/* The body, with stages for its inner sums. */
static neo_expr put_nested(neo_form_builder *b, const neo_def_rec *host, neo_expr body) {
  nesting c = {b, host};
  return b->nested.n ? neo_expr_rewrite(b->m, body, nested_node, &c) : body;
}

void neo_form_reduce(neo_form_builder *b, const neo_def_rec *d) {
  neo_expr body[2] = {{0}, {0}};
  assert(d->body.n <= 2);
  neo_map_init(&b->inner, b->m->arena);
  for (uint32_t k = 0; k < d->body.n; k++)
    body[k] = put_nested(b, d, neo_form_put_in(b, neo_list_expr(b->m, d->body, k)));
  switch (d->reducer) {
  case NEO_RED_NONE:
    break;
  case NEO_RED_LOGSUMEXP:
    add_logsumexp(b, d, body[0]);
    break;
  case NEO_RED_MEAN:
    add_mean(b, d, body[0]);
    break;
  default:
    add_simple(b, d, body);
  }
}
